(** Releases that read units of their own: a unit pays for those that read it. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String FunctionalExtensionality.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Bounds Powers Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.noise Require Import Infer.
From DP.composition Require Import Infer Views Compose Parts.
From DP.conversions Require Import Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

(** The units of an interval alone. *)
Definition restrict {R0} (span : Z * Z) (d : data R0) : data R0 := fun v => if holds_unit v span then d v else None.

(** Neighbours that are no groups differ at one unit. *)
Lemma near_at {R0} (distance : R0 -> R0 -> R) rel : of_groups rel = false -> forall d d', neighbours distance rel d d' ->
  exists u, only_at u d d' /\ forall span, holds_unit u span = true -> neighbours distance rel (restrict span d) (restrict span d').
Proof.
  induction rel as [| |radius|of IH times apart|of IH size]; intros HG d d' Hd; cbn [of_groups] in HG; try discriminate.
  - destruct Hd as [u [r [r' [E1 [E2 E3]]]]]. exists u. split; auto. intros span Hs. exists u, r, r'. unfold restrict. rewrite Hs.
    repeat split; auto. intros v Hv. rewrite (E3 v Hv). auto.
  - destruct Hd as [[u [r [E1 [E2 E3]]]]|[u [r [E1 [E2 E3]]]]]; exists u.
    + split; auto. intros span Hs. left. exists u, r. unfold restrict. rewrite Hs. repeat split; auto. intros v Hv. rewrite (E3 v Hv). auto.
    + split; [apply only_at_sym; auto|]. intros span Hs. right. exists u, r. unfold restrict. rewrite Hs. repeat split; auto. intros v Hv. rewrite (E3 v Hv). auto.
  - destruct Hd as [u [r [r' [E1 [E2 [E3 E4]]]]]]. exists u. split; auto. intros span Hs. exists u, r, r'. unfold restrict. rewrite Hs.
    repeat split; auto. intros v Hv. rewrite (E4 v Hv). auto.
  - apply IH; auto.
Qed.

Lemma restrict_same {R0} span u (d d' : data R0) : only_at u d d' -> holds_unit u span = false -> restrict span d = restrict span d'.
Proof.
  intros HO Hs. apply functional_extensionality. intros v. unfold restrict. destruct (holds_unit v span) eqn:E; auto.
  apply HO. intros ->. congruence.
Qed.

(** Numbers that are at least m times as large. *)
Definition times_curve (m : R) (c c' : curve) : Prop :=
  match c, c' with
  | Pure x, Pure y | Zcdp x, Zcdp y | Gdp x, Gdp y => m * Q2R x <= Q2R y
  | Approximate x d, Approximate y e | NearGdp x d, NearGdp y e => m * Q2R x <= Q2R y /\ m * Q2R d <= Q2R e
  | BoundedRange x, BoundedRange y => Q2R x <= Q2R y /\ m <= 1
  | Renyi p, Renyi q => forall o y, In (o, y) q -> exists x, In (o, x) p /\ m * Q2R x <= Q2R y
  | _, _ => False
  end.

Section Spread.
  Context {M R0 : Type} (distance : R0 -> R0 -> R) (rel : relation) (draw : data R0 -> history M -> law M).
  Hypothesis single : of_groups rel = false.
  Local Notation H := (history M).
  Local Notation near := (neighbours distance rel).

  (** Groups of releases, each with the units that it reads. *)
  Definition reads_span (p : (H -> bool) * (Z * Z)) :=
    forall h d d', fst p h = true -> (forall u, holds_unit u (snd p) = true -> d u = d' u) -> same (draw d h) (draw d' h).

  Definition any_of (ps : list ((H -> bool) * (Z * Z))) : H -> bool := fun h => existsb (fun p => fst p h) ps.
  Definition reading (u : Z) (ps : list ((H -> bool) * (Z * Z))) : nat := List.length (filter (fun p => holds_unit u (snd p)) ps).

  Lemma free_of p u d d' h : reads_span p -> only_at u d d' -> holds_unit u (snd p) = false -> fst p h = true -> same (draw d h) (draw d' h).
  Proof. intros HR HO Hu Hh. apply (HR h d d' Hh). intros v Hv. apply HO. intros ->. congruence. Qed.

  Lemma adds_up_spread cost b u d d' : grows_with cost -> free_of_charge cost -> 0 <= b -> only_at u d d' ->
    forall ps, Forall reads_span ps -> (forall p, In p ps -> adds_up cost b (fst p) (draw d) (draw d')) ->
    adds_up cost (INR (reading u ps) * b) (any_of ps) (draw d) (draw d').
  Proof.
    intros HG HF Hb HO. induction ps as [|p ps IH]; intros HR HA.
    - unfold reading; simpl. rewrite Rmult_0_l. apply adds_up_none. lra.
    - inversion HR as [|? ? Hp Hps]; subst. specialize (IH Hps (fun q Hq => HA q (or_intror Hq))).
      unfold reading in *. cbn [filter]. destruct (holds_unit u (snd p)) eqn:E.
      + cbn [List.length]. rewrite S_INR. replace ((INR (List.length (filter (fun p => holds_unit u (snd p)) ps)) + 1) * b) with
          (b + INR (List.length (filter (fun p => holds_unit u (snd p)) ps)) * b) by ring.
        apply (adds_up_both cost b _ (fst p) (any_of ps)); auto. apply HA. left; auto.
      + apply (adds_up_less cost _ _ (fun h => any_of ps h || fst p h)%bool).
        * intros h Hh. unfold any_of in *. cbn [existsb] in Hh. rewrite orb_comm. auto.
        * apply adds_up_free; auto. intros h Hh. apply (free_of p u); auto.
  Qed.

  Lemma approximate_spread e b u d d' : 0 <= e -> 0 <= b -> only_at u d d' ->
    forall ps, Forall reads_span ps -> (forall p, In p ps -> approximate e b (fst p) (draw d) (draw d')) ->
    approximate (INR (reading u ps) * e) (INR (reading u ps) * b) (any_of ps) (draw d) (draw d').
  Proof.
    intros He Hb HO. induction ps as [|p ps IH]; intros HR HA.
    - unfold reading; simpl. rewrite !Rmult_0_l. apply approximate_none; lra.
    - inversion HR as [|? ? Hp Hps]; subst. specialize (IH Hps (fun q Hq => HA q (or_intror Hq))).
      unfold reading in *. cbn [filter]. destruct (holds_unit u (snd p)) eqn:E.
      + cbn [List.length]. rewrite S_INR. set (n := INR (List.length (filter (fun p => holds_unit u (snd p)) ps))) in *.
        replace ((n + 1) * e) with (e + n * e) by ring. replace ((n + 1) * b) with (b + n * b) by ring.
        apply (approximate_both e b _ _ (fst p) (any_of ps)); auto. apply HA. left; auto.
      + apply (approximate_ext _ _ (fun h => any_of ps h || fst p h)%bool).
        * intros h. unfold any_of. cbn [existsb]. apply orb_comm.
        * apply approximate_free; auto. intros h Hh. apply (free_of p u); auto.
  Qed.

  (** Ideal programs that read the same, for groups of releases that read a part [view t] of the data each. *)
  Lemma near_parts {T} (view : T -> data R0 -> data R0) m t (ps : list ((H -> bool) * T)) : 0 <= m -> 0 <= t ->
    (forall p, In p ps -> forall h d, fst p h = true -> same (draw (view (snd p) d) h) (draw d h)) ->
    (forall p, In p ps -> nearly_gaussian near draw m t (fst p)) ->
    exists ideal : data R0 -> H -> law M,
      (forall d d', (forall p, In p ps -> view (snd p) d = view (snd p) d') -> forall h, same (ideal d h) (ideal d' h)) /\
      forall d d' (b : T -> bool), (forall p, In p ps -> if b (snd p) then near (view (snd p) d) (view (snd p) d') else view (snd p) d = view (snd p) d') ->
        near_pair (INR (List.length (filter (fun p => b (snd p)) ps)) * m) (INR (List.length (filter (fun p => b (snd p)) ps)) * t)
          (fun h => existsb (fun p => fst p h) ps) (draw d) (draw d') (ideal d) (ideal d').
  Proof.
    intros Hm Ht. induction ps as [|p ps IH]; intros HR HA.
    - exists (fun _ _ => draw (fun _ => None) []). split; [intros; apply same_refl|]. intros. apply near_pair_none; simpl; lra.
    - destruct (IH (fun q Hq => HR q (or_intror Hq)) (fun q Hq => HA q (or_intror Hq))) as [ideal [I1 I2]].
      pose proof (HR p (or_introl eq_refl)) as Hp.
      destruct (HA p (or_introl eq_refl)) as [mine HI].
      exists (fun d h => if fst p h then mine (view (snd p) d) h else ideal d h). split.
      + intros d d' Hv h. rewrite (Hv p (or_introl eq_refl)). destruct (fst p h); [apply same_refl|]. apply I1. intros q Hq. apply Hv. right; auto.
      + intros d d' b Hb. destruct (I2 d d' b (fun q Hq => Hb q (or_intror Hq))) as [c [s [A1 [A2 A3]]]].
        pose proof (Hb p (or_introl eq_refl)) as Hbp. cbn [filter]. destruct (b (snd p)) eqn:E.
        * destruct (HI _ _ Hbp) as [c' [s' [B1 [B2 B3]]]].
          exists (fun h => c h + c' h), (fun h => s h + s' h). split; [|split].
          -- intros h. destruct (A1 h), (B1 h). lra.
          -- intros h Hh. destruct (A1 h), (B1 h). cbn [existsb] in Hh. destruct (fst p h) eqn:Eh.
             ++ pose proof (Hp h d Eh) as S1. pose proof (Hp h d' Eh) as S2.
                destruct (B2 h Eh) as [[T1 T2]|[G [N1 N2]]].
                ** left. split; auto. eapply same_trans; [apply same_sym; eauto|]. eapply same_trans; eauto.
                ** right. split; [apply (gdp_grows (c' h)); auto; lra|]. split; intros f Hf.
                   --- rewrite <- (S1 f Hf). specialize (N1 f Hf). lra.
                   --- rewrite <- (S2 f Hf). specialize (N2 f Hf). lra.
             ++ destruct (A2 h Hh) as [[T1 T2]|[G [N1 N2]]]; [left; auto|].
                right. split; [apply (gdp_grows (c h)); auto; lra|]. split; intros f Hf; [specialize (N1 f Hf) | specialize (N2 f Hf)]; lra.
          -- intros h. cbn [List.length]. rewrite S_INR, !spent_plus. destruct (A3 h), (B3 h). split; lra.
        * exists c, s. split; [auto|split; auto]. intros h Hh. cbn [existsb] in Hh. destruct (fst p h) eqn:Eh.
          -- left. rewrite Hbp. split; [|apply same_refl]. intros f Hf. rewrite <- (Hp h d Eh f Hf), <- (Hp h d' Eh f Hf), Hbp. auto.
          -- apply A2. auto.
  Qed.

  Lemma near_spread m t : 0 <= m -> 0 <= t -> forall ps, Forall reads_span ps ->
    (forall p, In p ps -> nearly_gaussian near draw m t (fst p)) ->
    exists ideal : data R0 -> H -> law M, forall u d d', only_at u d d' -> (forall span, holds_unit u span = true -> near (restrict span d) (restrict span d')) ->
        near_pair (INR (reading u ps) * m) (INR (reading u ps) * t) (any_of ps) (draw d) (draw d') (ideal d) (ideal d').
  Proof.
    intros Hm Ht ps HR HA. destruct (near_parts restrict m t ps Hm Ht) as [ideal [_ HI]]; auto.
    - intros p Hp h d Hh. rewrite Forall_forall in HR. apply (HR p Hp h); auto. intros v Hv. unfold restrict. rewrite Hv. auto.
    - exists ideal. intros u d d' HO Hn. apply (HI d d' (holds_unit u)). intros p Hp. destruct (holds_unit u (snd p)) eqn:E; auto.
      apply (restrict_same _ u); auto.
  Qed.

  Theorem satisfies_spread c c' m ps : curve_sane c -> times_curve (INR m) c c' -> Forall reads_span ps ->
    (forall u, (reading u ps <= m)%nat) -> (forall p, In p ps -> satisfies near draw c (fst p) (only (fst p))) ->
    satisfies near draw c' (any_of ps) (only (any_of ps)).
  Proof.
    intros HS HC HR Hm HA.
    assert (A : forall cost b b', grows_with cost -> free_of_charge cost -> 0 <= b -> INR m * b <= b' ->
      (forall p, In p ps -> always near draw (adds_up cost b (fst p))) -> always near draw (adds_up cost b' (any_of ps))).
    { intros cost b b' HG HF Hb Hbb HP x x' Hx. destruct (near_at distance rel single x x' Hx) as [u [HO _]].
      apply (adds_up_more cost (INR (reading u ps) * b)).
      - apply Rle_trans with (2 := Hbb). apply Rmult_le_compat_r; auto. apply le_INR, Hm.
      - apply adds_up_spread; auto. intros p Hp. apply (HP p Hp); auto. }
    unfold satisfies, only in *. destruct c, c'; simpl in HC; try tauto; simpl in HS; try (intros g ->).
    - apply (A pure_cost (Q2R epsilon)); auto using pure_grows, pure_free; intros p Hp; apply (HA p Hp (fst p)); auto.
    - intros x x' Hx. destruct (near_at distance rel single x x' Hx) as [u [HO _]]. pose proof (le_INR _ _ (Hm u)).
      apply (approximate_more (INR (reading u ps) * Q2R epsilon) (INR (reading u ps) * Q2R delta)); try nra.
      apply approximate_spread; try tauto. intros p Hp. apply (HA p Hp (fst p)); auto.
    - apply (A zcdp_cost (Q2R rho)); auto using zcdp_grows, zcdp_free; intros p Hp; apply (HA p Hp (fst p)); auto.
    - apply (A gdp_cost (Q2R mu_squared)); auto using gdp_grows, gdp_free; intros p Hp; apply (HA p Hp (fst p)); auto.
    - destruct (near_spread (Q2R mu_squared) (Q2R distance0) ltac:(tauto) ltac:(tauto) ps HR) as [ideal HI].
      { intros p Hp. apply (HA p Hp (fst p)); auto. }
      exists ideal. intros x x' Hx. destruct (near_at distance rel single x x' Hx) as [u [HO Hr]]. pose proof (le_INR _ _ (Hm u)).
      apply (near_pair_more (INR (reading u ps) * Q2R mu_squared) (INR (reading u ps) * Q2R distance0)); try nra. apply (HI u); auto.
    - destruct HC as [Heta HC]. apply (A (range_cost (Q2R eta0)) 1); auto using range_free, range_grows; try lra. intros p Hp.
      apply (satisfies_covers near draw (BoundedRange eta) (BoundedRange eta0) (fst p) (only (fst p)) HS Heta (HA p Hp) (fst p)). reflexivity.
    - intros o y Hin. destruct (HC o y Hin) as [z [Hz Hle]]. destruct (HS o z Hz) as [Ho Hb].
      assert (Ht : 1 < Q2R o / (Q2R o - 1)).
      { apply Rmult_lt_reg_r with (Q2R o - 1); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
      apply (A (renyi_cost (Q2R o / (Q2R o - 1))) (Q2R z)); auto using renyi_grows, renyi_free. intros p Hp. apply (HA p Hp (fst p) eq_refl o z Hz).
  Qed.
End Spread.

Lemma times_one c : amounts c <> None -> times_curve (INR 1) c c.
Proof. destruct c; simpl; intros; try lra; try congruence; try (split; [auto | lra]). exists y. split; auto. lra. Qed.

Lemma disjoint_units spans : disjoint spans = true -> forall u, (List.length (filter (fun r => holds_unit u (reads_or r)) spans) <= 1)%nat.
Proof.
  induction spans as [|r spans IH]; intros HD u; cbn [filter]; [simpl; lia|]. cbn [disjoint] in HD.
  destruct r as [[f l]|]; [|discriminate]. apply andb_prop in HD. destruct HD as [H1 H2]. specialize (IH H2 u).
  destruct (holds_unit u (reads_or (Some (f, l)))) eqn:E; auto. cbn [List.length].
  assert (N : filter (fun r => holds_unit u (reads_or r)) spans = []).
  { rewrite forallb_forall in H1. clear - H1 E. induction spans as [|r spans IH]; auto. cbn [filter].
    assert (Hr := H1 r (or_introl eq_refl)). rewrite IH by (intros x Hx; apply H1; right; auto).
    destruct r as [[f' l']|]; [|discriminate]. unfold holds_unit, reads_or in *. cbn [fst snd] in *.
    destruct (Z.leb_spec f u), (Z.leb_spec u l), (Z.leb_spec f' u), (Z.leb_spec u l'); simpl in *; try discriminate; auto.
    exfalso. apply orb_true_iff in Hr. rewrite !Z.ltb_lt in Hr. lia. }
  rewrite N. simpl. lia.
Qed.

Theorem parallel_sound : sound_rule "parallel".
Proof.
  intros st HR. destruct st; try discriminate HR. clear HR. intros W found n HW HH HM HF _.
  unfold follow in HF. cbn [infer composition] in HF.
  destruct (parallel (map says found)) as [gives|] eqn:Em; [|discriminate].
  cbn [noise_is_named one_table andb] in HF.
  destruct (forallb (fun l => negb (of_persons l)) found) eqn:Et; [|discriminate].
  assert (Hn : forall f, law_of ByParallel f = None) by reflexivity. rewrite Hn in HF.
  destruct (all_draws [] found) as [ds|] eqn:Ed; [|discriminate].
  unfold parallel in Em. destruct (disjoint (map reads_of (map says found)) && forallb of_one_unit (map says found))%bool eqn:Edis; [|discriminate].
  apply andb_prop in Edis. destruct Edis as [Edis Eone].
  destruct found as [|lead rest]; [discriminate|]. set (found := lead :: rest) in *.
  assert (Htab : forall l, In l found -> of_persons l = false).
  { intros l Hl. rewrite forallb_forall in Et. apply negb_true_iff, Et; auto. }
  assert (Hper : existsb of_persons found = false).
  { apply not_true_is_false. intros E. apply existsb_exists in E. destruct E as [l [Hl E]]. rewrite (Htab l Hl) in E. discriminate. }
  set (gone := fold_left union (map departed found) []) in *.
  assert (En : n = Line gives ds [] Once gone false (flat_map views found)).
  { assert (Hcg : changed ByParallel found = []) by (unfold changed, found; destruct rest as [|x ?]; [|destruct (says x)]; reflexivity).
    rewrite Hcg in HF. rewrite <- Hper. injection HF as <-. reflexivity. }
  clear HF. unfold found in Em. cbn [map combined] in Em.
  destruct (has_amounts (says lead)) eqn:Eh; [|discriminate].
  destruct (says lead) as [s0 c0 rel0 o0 reads0| | | | | | | | | | | | | |] eqn:E0; try discriminate.
  assert (Hc0 : amounts c0 <> None) by (intros E; cbn [has_amounts] in Eh; rewrite E in Eh; discriminate).
  destruct (together_larger " | " ltac:(simpl; auto) _ _ _ _ _ _ _ Hc0 Em) as [s [c [reads [E' [Hca [Hall [Hnames Hsane]]]]]]].
  rewrite <- E0 in Hall, Hnames, Hsane. change (says lead :: map says rest) with (map says found) in Hall, Hnames, Hsane.
  assert (Hsay : forall l, In l found -> part_of rel0 o0 c reads (says l)).
  { intros l Hl. rewrite Forall_forall in Hall. apply Hall, in_map; auto. }
  destruct (all_draws_lookup _ _ _ Ed) as [_ [A2 [A3 _]]].
  assert (Hin : forall k p, lookup k ds = Some p -> exists l, In l found /\ lookup k (drawn l) = Some p).
  { intros k p Hk. destruct (A3 k p Hk) as [E|E]; [discriminate | auto]. }
  assert (Hgone : forall k, In k gone <-> exists l, In l found /\ In k (departed l)).
  { intros k. unfold gone. rewrite gone_in. split; [intros [[]|E]; auto | auto]. }
  assert (Hsc : curve_sane c).
  { apply Hsane. intros p Hp. apply in_map_iff in Hp. destruct Hp as [l [<- Hl]]. rewrite Forall_forall in HM. destruct (HM l Hl) as [_ [_ M]].
    destruct (says l); auto. apply M. }
  assert (Hsome : forall l, In l found -> exists f la, reads_of (says l) = Some (f, la)).
  { intros l Hl. assert (D : forall r, In r (map reads_of (map says found)) -> exists f la, r = Some (f, la)).
    { clear - Edis. induction (map reads_of (map says found)) as [|r rs IH]; intros r0 Hr0; [destruct Hr0|]. cbn [disjoint] in Edis.
      destruct r as [[f la]|]; [|discriminate]. apply andb_prop in Edis. destruct Hr0 as [<-|Hr0]; [eauto | apply IH; tauto]. }
    apply D. apply in_map, in_map; auto. }
  rewrite En, E'.
  apply (whole_holds W HW found (fun _ => rel0) rel0 o0 c reads false HH HM Htab Hsay ds gone A2 Hin Hgone Hca Hsc s); auto.
  - intros l [p [Hp Hnm]]. apply (Hnames W HW). exists (says p), (subject_of (says p)). split; [apply in_map; auto | auto].
  - intros f la Hr HE. unfold satisfied.
    set (ps := map (fun l => (fun h => of_draws W (drawn l) h && as_said W (departed l) gone h, reads_or (reads_of (says l))))%bool found).
    assert (Eg : of_draws W ds = any_of ps).
    { apply functional_extensionality. intros h. apply bool_ext. split; intros Hh.
      - destruct (some_of_draws W found HM ds gone A2 Hin Hgone h Hh) as [l [Hl [H1 H2]]]. apply existsb_exists.
        eexists. split; [unfold ps; apply in_map_iff; exists l; split; [reflexivity | auto]|]. cbn [fst]. rewrite H1, H2. auto.
      - apply existsb_exists in Hh. destruct Hh as [p [Hp Hh]]. unfold ps in Hp. apply in_map_iff in Hp. destruct Hp as [l [<- Hl]].
        cbn [fst] in Hh. apply andb_prop in Hh. destruct Hh as [Hh _]. apply of_draws_spec in Hh. destruct Hh as [lab [H1 H2]].
        apply of_draws_spec. exists lab. split; auto. apply (A2 l Hl); auto. }
    rewrite Eg.
    assert (Hpart : forall p, In p ps -> exists l, In l found /\ p = (fun h => of_draws W (drawn l) h && as_said W (departed l) gone h, reads_or (reads_of (says l)))%bool /\
      exists sl cl r, says l = Private sl cl rel0 o0 r /\ covers_curve cl c /\ curve_sane cl /\
        satisfied W false rel0 (departed l) cl (of_draws W (drawn l)) (only (of_draws W (drawn l))) /\
        (forall h d d', of_draws W (drawn l) h = true -> agree W (fst (reads_or r)) (snd (reads_or r)) d d' -> same (draw W (departed l) d h) (draw W (departed l) d' h))).
    { intros p Hp. unfold ps in Hp. apply in_map_iff in Hp. destruct Hp as [l [<- Hl]]. exists l. split; [auto|split; auto].
      destruct (whole_of_part W found (fun _ => rel0) o0 c reads false HH HM Htab Hsay l Hl) as [sl [cl [r [E [HC P]]]]]. exists sl, cl, r.
      assert (El : exclusive W (drawn l)) by (apply (exclusive_less W (drawn l) ds); [exact (A2 l Hl) | exact HE]).
      destruct (whole_part W HW _ _ _ _ _ _ _ _ _ (amounts_part _ _ HC) P El) as [G [_ R]]. destruct P as [_ [Sc _]]. auto 10. }
    apply (satisfies_spread (distance W) rel0 (draw W gone)) with (c := c) (m := 1%nat); auto using times_one.
    + rewrite forallb_forall in Eone. assert (E1 := Eone (says lead) (in_map says found lead (or_introl eq_refl))). rewrite E0 in E1.
      cbn [of_one_unit] in E1. apply negb_true_iff; auto.
    + apply Forall_forall. intros p Hp. destruct (Hpart p Hp) as [l [Hl [-> [sl [cl [r [E [HC [Sc [G R]]]]]]]]]].
      intros h d d' Hh Ha. cbn [fst snd] in *. apply andb_prop in Hh. destruct Hh as [H1 H2]. rewrite !(as_said_draw W _ _ _ H2).
      apply R; auto. intros u Hu. apply Ha. rewrite E. cbn [reads_of]. unfold holds_unit. apply andb_true_iff. rewrite !Z.leb_le. auto.
    + intros u. apply Nat.le_trans with (2 := disjoint_units _ Edis u). unfold reading, ps. rewrite !map_map. clearbody gone found. clear. induction found as [|l ls IH]; [auto|]. cbn [map filter snd]. destruct (holds_unit u (reads_or (reads_of (says l)))); cbn [List.length]; lia.
    + intros p Hp. destruct (Hpart p Hp) as [l [Hl [-> [sl [cl [r [E [HC [Sc [G R]]]]]]]]]]. cbn [fst].
      unfold satisfied in G.
      apply (satisfies_fewer_asks _ (draw W (departed l)) (draw W gone) c (of_draws W (drawn l))); auto.
      * intros h Hh. apply andb_prop in Hh. tauto.
      * intros h x Hh. apply andb_prop in Hh. apply as_said_draw. tauto.
      * apply (satisfies_covers _ _ cl); auto.
  - intros Hr. exfalso. destruct (Hsome lead (or_introl eq_refl)) as [f [la E]]. destruct (Hsay lead (or_introl eq_refl)) as [sl [cl [r [E2 [_ E3]]]]].
    rewrite Hr in E3. subst r. rewrite E2 in E. discriminate.
  - intros v Hv. apply in_flat_map in Hv. destruct Hv as [l [Hl Hv]]. eauto.
Qed.
