(** Gaussian noise, discrete and not: what squares of movements cost. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String.
From Coquelicot Require Import Rcomplements.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps Products.
From DP.noise Require Import Infer Releases Laws Triangles Normals Discrete Proofs.
From DP.conversions Require Import Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Definition is_frobenius (how : norm) : bool := match how with FrobeniusSquared => true | _ => false end.

(** The numbers of a symmetric matrix: as many as it has entries, and mirrored ones alike. *)
Definition mirrored W (n : nat) (numbers : list (data (record W) -> R)) : Prop :=
  List.length numbers = (n * n)%nat /\
  forall i j d, (i < n)%nat -> (j < n)%nat -> nth (i * n + j) numbers (fun _ => 0) d = nth (j * n + i) numbers (fun _ => 0) d.

Lemma numbers_mirrored W q n k p o i h : size W q = (n * n)%nat ->
  (forall d a b, (a < n)%nat -> (b < n)%nat -> value W q o i h d (a * n + b)%nat = value W q o i h d (b * n + a)%nat) ->
  mirrored W n (numbers_of W k p q [] o i h).
Proof.
  intros HS HV. cbn [numbers_of]. split; [rewrite map_length, seq_length; auto|].
  intros a b d Ha Hb. rewrite HS.
  assert (G : forall j, (j < n * n)%nat -> nth j (map (fun j d => value W q o i h d j) (seq 0 (n * n))) (fun _ => 0) = fun d => value W q o i h d j).
  { intros j Hj. rewrite nth_indep with (d' := fun d => value W q o i h d 0%nat) by (rewrite map_length, seq_length; auto).
    rewrite (map_nth (fun j d => value W q o i h d j)). rewrite seq_nth by auto. auto. }
  rewrite !G by nia. auto.
Qed.

Lemma squares_line W (HW : lawful W) l q how b rel reads (c : curve) key (noisy : noise_law) (cost : forall A, R -> Laws.law A -> Laws.law A -> Prop) K :
  holds W l -> well_made l -> says l = Stable q how b rel reads -> how = L2Squared \/ how = FrobeniusSquared -> 0 <= K ->
  grows_with (cost (message W)) -> free_of_charge (cost (message W)) ->
  let K' := if is_frobenius how then K / 2 else K in
  (forall (X : Type) (near : X -> X -> Prop) (draw : X -> history (message W) -> Laws.law (message W)) asks (group : (history (message W) -> bool) -> Prop),
     (forall g, group g -> always near draw (adds_up (cost (message W)) (K' * Q2R b) g)) -> satisfies near draw c asks group) ->
  draws_as_said W key (Place q (changes l) noisy Once) ->
  (forall o i h d d' numbers, drawn_by W noisy q o i h numbers -> (is_frobenius how = true -> mirrored W (side W q) numbers) ->
     cost (message W) (K' * total square (differences W numbers d d')) (ideal W h d) (ideal W h d')) ->
  (forall o i h d d' numbers, drawn_by W noisy q o i h numbers -> (is_frobenius how = true -> mirrored W (side W q) numbers) ->
     (forall n, In n numbers -> n d = n d') -> same (ideal W h d) (ideal W h d')) ->
  private_holds W q c rel Central reads [(key, Place q (changes l) noisy Once)] [] false [].
Proof.
  intros Hl Ml Hs Hhow HK Hgrow Hfree K' Hsat [Hsteady Hdrawn] Hcost Hsame.
  pose proof (stable_line l _ _ _ _ _ Ml Hs) as Hb0. cbn [query made Facts.how] in *.
  assert (HK' : 0 <= K') by (unfold K'; destruct (is_frobenius how); lra).
  unfold holds in Hl. rewrite Hs in Hl. destruct reads as [[first last]|].
  - destruct Hl as [Hsums [Hstream Hl]]. assert (how = L2Squared) as -> by (destruct Hhow, Hsums; congruence).
    destruct (Hl key noisy) as [Hspent Hagree].
    apply (stream_holds W HW q (changes l) noisy key rel c first last cost square (Q2R b) K'); auto.
    + intros x. unfold square. nra.
    + intros Hplace h lab d d' Hlab Hkey. pose proof (Hdrawn Once Hplace h lab Hlab Hkey) as HD. split.
      * apply (Hcost _ _ _ d d' _ HD). discriminate.
      * apply (Hsame _ _ _ d d' _ HD). discriminate.
  - destruct Hl as [Hfrob [Hstream Hstable]]. specialize (Hsteady Hstream).
    apply (once_holds W HW q (changes l) noisy key rel c cost (K' * Q2R b)); auto; [apply Rmult_le_pos; auto|].
    intros o Hplace h lab d d' Hlab Hkey Hd.
    pose proof (Hdrawn o Hplace h lab Hlab Hkey) as HD. pose proof (Hplace h lab Hlab Hkey) as Hp.
    assert (HN : numbers_at W lab h = numbers_of W (Definitions.key lab) (at_place lab) q (changes l) (Facts.over (at_place lab)) (index lab) h).
    { unfold numbers_at. rewrite Hp. reflexivity. }
    pose proof (Hstable Hsteady (Definitions.key lab) (at_place lab) (Facts.over (at_place lab)) (index lab) h d d' Hd) as HL. rewrite <- HN in HL.
    apply (Hgrow (K' * total square (differences W (numbers_at W lab h) d d'))).
    + split; [apply Rmult_le_pos; auto; apply total_nonneg; intros x _; unfold square; nra|].
      apply Rmult_le_compat_l; auto. destruct Hhow; subst how; exact HL.
    + apply (Hcost _ _ _ d d' _ HD). intros E. destruct how; try discriminate. destruct (Hfrob eq_refl) as [Hch [Hsize Hval]].
      rewrite HN, Hch. apply numbers_mirrored; auto.
Qed.

Lemma weighed_cost W symmetric n (numbers : list (data (record W) -> R)) d d' v : 0 < v ->
  (symmetric = true -> mirrored W n numbers) ->
  total (fun cw => (fst cw d - fst cw d') * (fst cw d - fst cw d') / (snd cw * v)) (weighed symmetric n numbers (fun _ => 0))
  = (if symmetric then / v / 2 else / v) * total square (differences W numbers d d').
Proof.
  intros Hv HM. rewrite (total_ext _ (fun cw => / v * ((fun c => (c d - c d') * (c d - c d')) (fst cw) / snd cw))).
  2: { intros cw Hin. apply weighed_positive in Hin. field. lra. }
  rewrite total_scale, (weighed_total symmetric n numbers (fun _ => 0) (fun c => (c d - c d') * (c d - c d'))).
  - unfold differences, square. rewrite total_map. destruct symmetric; field; lra.
  - intros E. destruct (HM E) as [H1 H2]. split; auto. intros i j Hi Hj. rewrite !(H2 i j) by auto. auto.
Qed.

Lemma mu_squared_cases how b variance sq : mu_squared how b variance = Some sq -> 0 < Q2R variance ->
  (how = L2Squared \/ how = FrobeniusSquared) /\
  Q2R sq = (if is_frobenius how then / Q2R variance / 2 else / Q2R variance) * Q2R b.
Proof.
  intros E Hv. destruct how; try discriminate; injection E as <-; (split; [auto|]); cbn [is_frobenius].
  - rewrite over_R by lra. field. lra.
  - rewrite over_R by (unfold DP.sensitivity.Infer.two; rewrite ?two_R; lra). rewrite over_R by lra. unfold DP.sensitivity.Infer.two. rewrite two_R. field. lra.
Qed.

Theorem gaussian_sound : sound_rule "gaussian".
Proof.
  intros s HR. destruct s; try discriminate HR. clear HR. intros W found n HW HH HM HF HT.
  one_query found l. inversion HH as [|? ? Hl HH0]. inversion HM as [|? ? Ml HM0]. subst. clear HH HH0 HM HM0.
  set (symmetric := match says l with Stable _ FrobeniusSquared _ _ _ => true | _ => false end).
  destruct (noise_line (ByGaussianNoise variance key) l n key (NormalNoise variance symmetric) eq_refl HF) as [q [c [rel [o [reads [Hi ->]]]]]].
  cbn [infer noise] in Hi.
  destruct (says l) as [| | |q0 how b rel0 reads0| | | | | | | | | | |] eqn:Hs; try discriminate.
  destruct (mu_squared how b variance) as [sq|] eqn:Hmu; [|discriminate].
  destruct (Steps.below 0 variance) eqn:Hc in Hi; [|discriminate]. unfold drawn_on in Hi. injection Hi as <- <- <- <- <-.
  apply q_positive in Hc. destruct (mu_squared_cases _ _ _ _ Hmu Hc) as [Hhow HQ].
  assert (Hsym : symmetric = is_frobenius how) by (unfold symmetric; destruct how; auto).
  pose proof (stable_line l _ _ _ _ _ Ml Hs) as Hb0.
  assert (Hiv : 0 < / Q2R variance) by (apply Rinv_0_lt_compat; auto).
  assert (Hsq : 0 <= Q2R sq) by (rewrite HQ; apply Rmult_le_pos; auto; destruct (is_frobenius how); lra).
  split.
  - unfold holds; cbn [says drawn departed of_persons views].
    assert (Hcost : forall o i h d d' numbers, drawn_by W (NormalNoise variance symmetric) q0 o i h numbers ->
      (is_frobenius how = true -> mirrored W (side W q0) numbers) ->
      gdp_cost ((if is_frobenius how then / Q2R variance / 2 else / Q2R variance) * total square (differences W numbers d d')) (ideal W h d) (ideal W h d')).
    { intros o i h d d' numbers [N [HN [post HP]]] HMi. rewrite Hsym in HP.
      apply (gdp_laws _ (bind (each (map (fun cw => N (sqrt (snd cw * Q2R variance)) (fst cw d)) (weighed (is_frobenius how) (side W q0) numbers (fun _ => 0)))) post)
                        (bind (each (map (fun cw => N (sqrt (snd cw * Q2R variance)) (fst cw d')) (weighed (is_frobenius how) (side W q0) numbers (fun _ => 0)))) post));
        try (apply same_sym; auto).
      apply gdp_post. rewrite <- (weighed_cost W (is_frobenius how) (side W q0) numbers d d' (Q2R variance)) by auto.
      apply gdp_each. intros cw Hin. apply weighed_positive in Hin.
      assert (Hw : 0 < snd cw * Q2R variance) by (apply Rmult_lt_0_compat; auto). split; [apply Rdiv_le_0_compat; [exact (Rle_0_sqr (fst cw d - fst cw d')) | auto]|].
      pose proof (normal_gdp (sqrt (snd cw * Q2R variance)) (N (sqrt (snd cw * Q2R variance))) (fst cw d) (fst cw d') (sqrt_lt_R0 _ Hw) (HN _ (sqrt_lt_R0 _ Hw))) as G.
      rewrite sqrt_sqrt in G by lra. exact G. }
    apply (squares_line W HW l q0 how b rel0 reads0 (Gdp sq) key (NormalNoise variance symmetric) (@gdp_cost) (/ Q2R variance)); auto using gdp_grows, gdp_free.
    + lra.
    + intros X near draw asks group HA. simpl. rewrite HQ. exact HA.
    + apply HT. left. auto.
    + intros o i h d d' numbers [N [HN [post HP]]] HMi Heq. rewrite Hsym in HP.
      eapply same_trans; [apply HP|]. eapply same_trans; [|apply same_sym, HP].
      replace (map (fun cw => N (sqrt (snd cw * Q2R variance)) (fst cw d)) (weighed (is_frobenius how) (side W q0) numbers (fun _ => 0)))
        with (map (fun cw => N (sqrt (snd cw * Q2R variance)) (fst cw d')) (weighed (is_frobenius how) (side W q0) numbers (fun _ => 0))); [apply same_refl|].
      apply map_ext_in. intros cw Hin. f_equal.
      assert (G : In (fst cw) numbers \/ fst cw = (fun _ => 0)).
      { unfold weighed, triangle in Hin. destruct (is_frobenius how).
        - apply in_flat_map in Hin. destruct Hin as [a [_ Hin]]. apply in_map_iff in Hin. destruct Hin as [j [<- _]]. simpl.
          destruct (nth_in_or_default (a * side W q0 + j) numbers (fun _ => 0)); auto.
        - apply in_map_iff in Hin. destruct Hin as [a [<- Ha]]. auto. }
      destruct G as [G| ->]; auto. symmetry; auto.
  - apply drawn_once_well_made; auto. intros ->. unfold holds in Hl. rewrite Hs in Hl. tauto.
Qed.

Theorem discrete_gaussian_sound : sound_rule "discrete_gaussian".
Proof.
  intros s HR. destruct s; try discriminate HR. clear HR. intros W found n HW HH HM HF HT.
  one_query found l. inversion HH as [|? ? Hl HH0]. inversion HM as [|? ? Ml HM0]. subst. clear HH HH0 HM HM0.
  set (symmetric := match says l with Stable _ FrobeniusSquared _ _ _ => true | _ => false end).
  destruct (noise_line (ByDiscreteGaussian variance grid key) l n key (DiscreteNormal variance grid symmetric) eq_refl HF) as [q [c [rel [o [reads [Hi ->]]]]]].
  cbn [infer noise] in Hi.
  destruct (says l) as [| | |q0 how b rel0 reads0| | | | | | | | | | |] eqn:Hs; try discriminate.
  destruct (mu_squared how b variance) as [sq|] eqn:Hmu; [|discriminate].
  destruct (_ && _)%bool eqn:Hc in Hi; [|discriminate]. unfold drawn_on in Hi. injection Hi as <- <- <- <- <-.
  apply andb_prop in Hc. destruct Hc as [Hc Hg]. apply q_positive in Hc, Hg. destruct (mu_squared_cases _ _ _ _ Hmu Hc) as [Hhow HQ].
  assert (Hsym : symmetric = is_frobenius how) by (unfold symmetric; destruct how; auto).
  pose proof (stable_line l _ _ _ _ _ Ml Hs) as Hb0.
  assert (Hiv : 0 < / Q2R variance) by (apply Rinv_0_lt_compat; auto).
  assert (Hrho : Q2R (Steps.over sq DP.sensitivity.Infer.two) = (if is_frobenius how then / Q2R variance / 2 / 2 else / Q2R variance / 2) * Q2R b).
  { rewrite over_R by (unfold DP.sensitivity.Infer.two; rewrite two_R; lra). unfold DP.sensitivity.Infer.two. rewrite two_R, HQ. destruct (is_frobenius how); field; lra. }
  split.
  - unfold holds; cbn [says drawn departed of_persons views].
    apply (squares_line W HW l q0 how b rel0 reads0 (Zcdp (Steps.over sq DP.sensitivity.Infer.two)) key (DiscreteNormal variance grid symmetric) (@zcdp_cost) (/ Q2R variance / 2)); auto using zcdp_grows, zcdp_free.
    + lra.
    + intros X near draw asks group HA. simpl. rewrite Hrho. exact HA.
    + apply HT. left. auto.
    + intros o i h d d' numbers [N [whole [HG [HN HP]]]] HMi. rewrite Hsym in HP.
      apply (made_zcdp W h _ _ _ d d' HP).
      replace ((if is_frobenius how then / Q2R variance / 2 / 2 else / Q2R variance / 2) * total square (differences W numbers d d'))
        with (total (fun zw => (IZR (fst zw d) - IZR (fst zw d')) * (IZR (fst zw d) - IZR (fst zw d')) / (2 * (snd zw * Q2R variance / (Q2R grid * Q2R grid))))
               (weighed (is_frobenius how) (side W q0) whole (fun _ => 0%Z))).
      * apply zcdp_each. intros zw Hin. apply weighed_positive in Hin. apply discrete_normal_zcdp; [|apply HN; auto].
        apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat; auto | nra].
      * rewrite (total_ext _ (fun zw => Q2R grid * Q2R grid / (2 * Q2R variance) *
          ((fun z : data (record W) -> Z => (IZR (z d) - IZR (z d')) * (IZR (z d) - IZR (z d'))) (fst zw) / snd zw))).
        2: { intros zw Hin. apply weighed_positive in Hin. field. repeat split; lra. }
        rewrite total_scale, (weighed_total (is_frobenius how) (side W q0) whole (fun _ => 0%Z)
          (fun z : data (record W) -> Z => (IZR (z d) - IZR (z d')) * (IZR (z d) - IZR (z d')))).
        -- rewrite (on_grid_total W _ _ _ d d' square HG).
           rewrite (total_ext (fun z => square (Q2R grid * (IZR (z d) - IZR (z d')))) (fun z => Q2R grid * Q2R grid * ((IZR (z d) - IZR (z d')) * (IZR (z d) - IZR (z d')))))
             by (intros; unfold square; ring).
           rewrite total_scale. destruct (is_frobenius how); field; lra.
        -- intros E. destruct (HMi E) as [H1 H2]. destruct HG as [HGl HGv]. split; [rewrite <- HGl; auto|]. intros a j Ha Hj.
           assert (V : forall k d0, (k < side W q0 * side W q0)%nat -> Q2R grid * IZR (nth k whole (fun _ => 0%Z) d0) = nth k numbers (fun _ => 0) d0).
           { intros k d0 Hk. symmetry. apply HGv.
             rewrite <- (combine_nth numbers whole k (fun _ => 0) (fun _ => 0%Z)) by auto. apply nth_In.
             rewrite combine_length, <- HGl, H1. lia. }
           assert (V' : forall d0, IZR (nth (a * side W q0 + j) whole (fun _ => 0%Z) d0) = IZR (nth (j * side W q0 + a) whole (fun _ => 0%Z) d0)).
           { intros d0. apply Rmult_eq_reg_l with (Q2R grid); [|lra]. rewrite !V by nia. apply H2; auto. }
           rewrite !V'. auto.
    + intros o i h d d' numbers [N [whole [HG [HN [post HP]]]]] HMi Heq.
      eapply same_trans; [apply HP|]. eapply same_trans; [|apply same_sym, HP].
      assert (Hwhole : forall z, In z whole -> z d = z d').
      { intros z Hz. destruct HG as [HGl HGv]. destruct (In_nth whole z (fun _ => 0%Z) Hz) as [k [Hk <-]].
        assert (Hin : In (nth k numbers (fun _ => 0), nth k whole (fun _ => 0%Z)) (combine numbers whole)).
        { rewrite <- combine_nth by auto. apply nth_In. rewrite combine_length, HGl, Nat.min_id. auto. }
        apply eq_IZR. apply Rmult_eq_reg_l with (Q2R grid); [|lra]. rewrite <- !(HGv _ _ Hin). apply Heq, nth_In. rewrite HGl. auto. }
      replace (map (fun zw => image (Z.add (fst zw d)) (N (snd zw))) (weighed symmetric (side W q0) whole (fun _ => 0%Z)))
        with (map (fun zw => image (Z.add (fst zw d')) (N (snd zw))) (weighed symmetric (side W q0) whole (fun _ => 0%Z))); [apply same_refl|].
      apply map_ext_in. intros zw Hin. do 2 f_equal.
      assert (G : In (fst zw) whole \/ fst zw = (fun _ => 0%Z)).
      { unfold weighed, triangle in Hin. destruct symmetric.
        - apply in_flat_map in Hin. destruct Hin as [a [_ Hin]]. apply in_map_iff in Hin. destruct Hin as [j [<- _]]. simpl.
          destruct (nth_in_or_default (a * side W q0 + j) whole (fun _ => 0%Z)); auto.
        - apply in_map_iff in Hin. destruct Hin as [a [<- Ha]]. auto. }
      destruct G as [G| ->]; auto. symmetry; auto.
  - apply drawn_once_well_made.
    + simpl. rewrite Hrho. apply Rmult_le_pos; auto. destruct (is_frobenius how); lra.
    + intros ->. unfold holds in Hl. rewrite Hs in Hl. tauto.
Qed.
