(** Rules of noise. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String.
From Coquelicot Require Import Rcomplements.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps Products.
From DP.noise Require Import Infer Releases Laws.
From DP.conversions Require Import Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Lemma total_combine {A} (f : A -> R) (l : list A) (g : A -> R) : (forall a, In a l -> f a = g a) -> total f l = total g l.
Proof. apply total_ext. Qed.

Lemma on_grid_in W grid numbers whole c z : on_grid W grid numbers whole -> In (c, z) (combine numbers whole) -> forall d, c d = grid * IZR (z d).
Proof. intros [_ H] Hin. apply H; auto. Qed.

(** Sums over numbers are sums over whole numbers on their grid. *)
Lemma on_grid_total W grid numbers whole d d' (f : R -> R) : on_grid W grid numbers whole ->
  total f (differences W numbers d d') = total (fun z => f (grid * (IZR (z d) - IZR (z d')))) whole.
Proof.
  intros [HL HG]. unfold differences. rewrite total_map. revert whole HL HG.
  induction numbers as [|c numbers IH]; intros [|z whole] HL HG; try discriminate; auto.
  cbn [total]. rewrite (IH whole); [|simpl in HL; lia|].
  - rewrite (HG c z (or_introl eq_refl) d), (HG c z (or_introl eq_refl) d'). f_equal. f_equal. ring.
  - intros c' z' Hin. apply HG. right; auto.
Qed.

Lemma made_pure W h A (sample : data (record W) -> law A) a d d' : made_of W h sample -> pure_cost a (sample d) (sample d') ->
  pure_cost a (ideal W h d) (ideal W h d').
Proof.
  intros [post HP] HC. apply (pure_laws a (bind (sample d) post) (bind (sample d') post)); try (apply same_sym; auto).
  apply pure_post; auto.
Qed.

Lemma made_zcdp W h A (sample : data (record W) -> law A) a d d' : made_of W h sample -> zcdp_cost a (sample d) (sample d') ->
  zcdp_cost a (ideal W h d) (ideal W h d').
Proof.
  intros [post HP] HC. apply (zcdp_laws a (bind (sample d) post) (bind (sample d') post)); try (apply same_sym; auto).
  apply zcdp_post; auto.
Qed.

Lemma made_range W h A (sample : data (record W) -> law A) eta a d d' : made_of W h sample -> range_cost eta a (sample d) (sample d') ->
  range_cost eta a (ideal W h d) (ideal W h d').
Proof.
  intros [post HP] HC. apply (range_laws eta a (bind (sample d) post) (bind (sample d') post)); try (apply same_sym; auto).
  destruct HC as [HS|[H1 [c HR]]]; [left; apply same_bind; auto; intros; apply same_refl | right; split; auto].
  exists c. intros f Hf. simpl. apply HR; auto.
Qed.

Lemma satisfies_pure M X (near : X -> X -> Prop) (draw : X -> history M -> law M) e asks (group : (history M -> bool) -> Prop) :
  (forall g, group g -> always near draw (adds_up pure_cost (Q2R e) g)) -> satisfies near draw (Pure e) asks group.
Proof. auto. Qed.

Lemma stable_line l q how b rel reads : well_made l -> says l = Stable q how b rel reads -> 0 <= Q2R b.
Proof. intros [_ [_ M]] E. rewrite E in M. apply M. Qed.

Lemma premise_of st l n f : (forall g, infer st [g] <> None -> exists q how b rel reads, g = Stable q how b rel reads) ->
  infer st [says l] = Some f -> follow st [l] = Some n -> exists q how b rel reads, says l = Stable q how b rel reads.
Proof. intros HI Hf _. apply HI. congruence. Qed.

Ltac one_query found l :=
  match goal with HF : follow ?s found = Some _ |- _ =>
    assert (exists l, found = [l]) as [l ->] by
      (unfold follow in HF; destruct (infer s (map says found)) eqn:?Ei; [|discriminate];
       clear HF; destruct found as [|a [|b rest]]; [discriminate | eauto | exfalso];
       cbn [map infer noise] in *; destruct (says a); try discriminate;
       repeat match goal with H : match ?x with _ => _ end = Some _ |- _ => destruct x; try discriminate end)
  end.

(** What one release with Laplace noise costs, by how far its numbers move. *)
Lemma laplace_cost W scale grid q o i h numbers d d' : 0 < Q2R scale -> match grid with Some g => 0 < Q2R g | None => True end ->
  drawn_by W (LaplaceNoise scale grid) q o i h numbers ->
  pure_cost (/ Q2R scale * total Rabs (differences W numbers d d')) (ideal W h d) (ideal W h d').
Proof.
  intros Hb Hg HD. unfold drawn_by in HD. destruct grid as [g|].
  - destruct HD as [L [whole [HG [HDL HP]]]]. apply (made_pure W h _ _ _ d d' HP).
    replace (/ Q2R scale * total Rabs (differences W numbers d d'))
      with (total (fun z => Rabs (IZR (z d) - IZR (z d')) / (Q2R scale / Q2R g)) whole).
    + apply pure_each. intros z _. apply discrete_laplace_pure; auto. apply Rdiv_lt_0_compat; auto.
    + rewrite (on_grid_total W _ _ _ d d' Rabs HG), <- total_scale. apply total_ext. intros z _.
      rewrite Rabs_mult, (Rabs_right (Q2R g)) by lra. field. lra.
  - destruct HD as [L [HDL HP]]. apply (made_pure W h _ _ _ d d' HP).
    replace (/ Q2R scale * total Rabs (differences W numbers d d')) with (total (fun c => Rabs (c d - c d') / Q2R scale) numbers).
    + apply pure_each. intros c _. apply laplace_pure; auto.
    + unfold differences. rewrite total_map, <- total_scale. apply total_ext. intros; unfold Rdiv; ring.
Qed.

(** It is the same where its numbers are. *)
Lemma laplace_alike W scale grid q o i h numbers d d' : match grid with Some g => 0 < Q2R g | None => True end ->
  drawn_by W (LaplaceNoise scale grid) q o i h numbers -> (forall n, In n numbers -> n d = n d') -> same (ideal W h d) (ideal W h d').
Proof.
  intros Hg HD Heq. unfold drawn_by in HD. destruct grid as [g|].
  - destruct HD as [L [whole [HG [_ [post HP]]]]]. eapply same_trans; [apply HP|]. eapply same_trans; [|apply same_sym, HP].
    replace (map (fun z => image (Z.add (z d)) L) whole) with (map (fun z => image (Z.add (z d')) L) whole); [apply same_refl|].
    apply map_ext_in. intros z Hz. do 2 f_equal. destruct HG as [HGl HGv]. destruct (In_nth whole z (fun _ => 0%Z) Hz) as [k [Hk <-]].
    assert (Hin : In (nth k numbers (fun _ => 0), nth k whole (fun _ => 0%Z)) (combine numbers whole)).
    { rewrite <- combine_nth by auto. apply nth_In. rewrite combine_length, HGl, Nat.min_id. auto. }
    apply eq_IZR. apply Rmult_eq_reg_l with (Q2R g); [|lra]. rewrite <- !(HGv _ _ Hin). symmetry. apply Heq, nth_In. rewrite HGl. auto.
  - destruct HD as [L [_ [post HP]]]. eapply same_trans; [apply HP|]. eapply same_trans; [|apply same_sym, HP].
    replace (map (fun c => L (c d)) numbers) with (map (fun c => L (c d')) numbers); [apply same_refl|].
    apply map_ext_in. intros c Hc. f_equal. symmetry. auto.
Qed.

Theorem laplace_sound : sound_rule "laplace".
Proof.
  intros s HR. destruct s; try discriminate HR. clear HR. intros W found n HW HH HM HF HT.
  one_query found l. inversion HH as [|? ? Hl HH0]. inversion HM as [|? ? Ml HM0]. subst. clear HH HH0 HM HM0.
  destruct (noise_line (ByLaplaceNoise scale grid key) l n key (LaplaceNoise scale grid) eq_refl HF) as [q [c [rel [o [reads [Hi ->]]]]]].
  cbn [infer noise] in Hi.
  destruct (says l) as [| | |q0 how b rel0 reads0| | | | | | | | | | |] eqn:Hs; try discriminate. destruct how; try discriminate.
  destruct (_ && _)%bool eqn:Hc in Hi; [|discriminate].
  unfold drawn_on in Hi. injection Hi as <- <- <- <- <-.
  apply andb_prop in Hc. destruct Hc as [Hb Hg]. apply q_positive in Hb.
  pose proof (stable_line l _ _ _ _ _ Ml Hs) as Hb0.
  unfold holds in Hl. rewrite Hs in Hl.
  assert (E : Q2R (Steps.over b scale) = / Q2R scale * Q2R b) by (rewrite over_R by lra; unfold Rdiv; ring).
  assert (Hscale : 0 <= / Q2R scale) by (left; apply Rinv_0_lt_compat; auto).
  assert (HE : 0 <= / Q2R scale * Q2R b) by (apply Rmult_le_pos; auto).
  assert (Hsat : forall X (near : X -> X -> Prop) (draw : X -> history (message W) -> law (message W)) asks (group : (history (message W) -> bool) -> Prop),
    (forall g, group g -> always near draw (adds_up pure_cost (/ Q2R scale * Q2R b) g)) -> satisfies near draw (Pure (Steps.over b scale)) asks group).
  { intros X near draw asks group HA. rewrite <- E in HA. exact HA. }
  destruct (HT key (Place q0 (changes l) (LaplaceNoise scale grid) Once) (or_introl eq_refl)) as [Hsteady Hdrawn].
  cbn [query made how] in *.
  assert (Hgrid : match grid with Some g => 0 < Q2R g | None => True end) by (destruct grid; [apply q_positive|]; auto).
  split; [|apply drawn_once_well_made; [simpl; rewrite E; auto | intros ->; tauto]].
  unfold holds; cbn [says drawn departed of_persons views]. destruct reads0 as [[first last]|].
  - destruct Hl as [_ [_ Hl]]. destruct (Hl key (LaplaceNoise scale grid)) as [Hspent Hagree].
    apply (stream_holds W HW q0 (changes l) (LaplaceNoise scale grid) key rel0 _ first last (@pure_cost) Rabs (Q2R b) (/ Q2R scale)); auto using Rabs_pos.
    intros Hplace h lab d d' Hlab Hkey. pose proof (Hdrawn Once Hplace h lab Hlab Hkey) as HD. split.
    + apply (laplace_cost W _ _ _ _ _ _ _ _ _ Hb Hgrid HD).
    + apply (laplace_alike W _ _ _ _ _ _ _ _ _ Hgrid HD).
  - destruct Hl as [_ [Hstream Hstable]]. specialize (Hsteady Hstream).
    apply (once_holds W HW q0 (changes l) (LaplaceNoise scale grid) key rel0 _ (@pure_cost) (/ Q2R scale * Q2R b)); auto using pure_free.
    intros o Hplace h lab d d' Hlab Hkey Hd.
    pose proof (Hdrawn o Hplace h lab Hlab Hkey) as HD. pose proof (Hplace h lab Hlab Hkey) as Hp.
    pose proof (Hstable Hsteady (Definitions.key lab) (at_place lab) (Facts.over (at_place lab)) (index lab) h d d' Hd) as HL1.
    assert (HN : numbers_at W lab h = numbers_of W (Definitions.key lab) (at_place lab) q0 (changes l) (Facts.over (at_place lab)) (index lab) h).
    { unfold numbers_at. rewrite Hp. reflexivity. }
    rewrite <- HN in HL1. unfold within in HL1.
    apply (pure_grows (/ Q2R scale * total Rabs (differences W (numbers_at W lab h) d d'))).
    + split; [|apply Rmult_le_compat_l; auto]. apply Rmult_le_pos; auto. apply total_nonneg. intros x _. apply Rabs_pos.
    + apply (laplace_cost W _ _ _ _ _ _ _ _ _ Hb Hgrid HD).
Qed.
