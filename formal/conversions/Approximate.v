(** From any privacy curve to one of its points: to_approximate. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.decide Require Import Decide.
From DP.conversions Require Import Infer Relations Measures Points Shifted Repeats Decided.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- what is decided *)

Lemma pure_delta_R b e : eval (pure_delta b e) = (exp (Q2R b) - exp (Q2R e)) / (1 + exp (Q2R b)).
Proof. cbn [pure_delta eval]. rewrite one_R. reflexivity. Qed.

Lemma range_delta_R n e : eval (range_delta n e) =
  (exp ((Q2R n - Q2R e) / 2) - 1) * (exp ((Q2R n - Q2R e) / 2) - 1) / (exp (Q2R n - Q2R e) - exp (0 - Q2R e)).
Proof.
  unfold range_delta. cbv zeta. cbn [eval]. rewrite over_R, !minus_R, two_R, one_R, zero_R by (rewrite two_R; lra).
    reflexivity.
Qed.

Lemma gdp_delta_R m e : eval (gdp_delta m e) =
  Phi (- (Q2R e / sqrt (Q2R m) - sqrt (Q2R m) / 2)) - exp (Q2R e) * Phi (- (Q2R e / sqrt (Q2R m) + sqrt (Q2R m) / 2)).
Proof. unfold gdp_delta. cbv zeta. cbn [eval]. rewrite two_R, !Phi_opp. reflexivity. Qed.

Lemma near_delta_R m d e : eval (near_delta m d e) =
  (if Req_EM_T (Q2R m) 0 then 0 else
     Phi (- (Q2R e / sqrt (Q2R m) - sqrt (Q2R m) / 2)) - exp (Q2R e) * Phi (- (Q2R e / sqrt (Q2R m) + sqrt
       (Q2R m) / 2)))
  + Q2R d * (1 + exp (Q2R e)).
Proof.
  unfold near_delta. cbv zeta. destruct (Qeq_bool m 0) eqn:E; destruct (Req_EM_T (Q2R m) 0) as [H|H].
  - cbn [eval]. rewrite one_R. lra.
  - apply eq_R in E. rewrite zero_R in E. contradiction.
  - assert (Qeq_bool m 0 = true) by (apply eq_R; rewrite zero_R; auto). congruence.
  - cbn [eval]. rewrite gdp_delta_R, one_R. reflexivity.
Qed.

Lemma of_order_R a D e d : of_order a D e d = true -> 1 < Q2R a /\ 0 < Q2R d /\
  (Q2R a - 1) * (Q2R D - Q2R e) + (Q2R a - 1) * ln (1 - 1 / Q2R a) - ln (Q2R a) - ln (Q2R d) <= 0.
Proof.
  unfold of_order. intros H. apply andb_prop in H. destruct H as [H H3]. apply andb_prop in H. destruct H as [H1 H2].
  apply below_R in H1. apply below_R in H2. rewrite one_R in H1. rewrite zero_R in H2. split; [auto|split; auto].
  apply at_most_sound in H3. unfold renyi_excess in H3. cbv zeta in H3. cbn [eval] in H3.
  rewrite times_R, !minus_R, over_R, one_R, zero_R in H3 by lra. exact H3.
Qed.

(* ---------------------------------------------------------------- every family *)

Section Laws.
  Variable W : world.
  Variables (epsilon delta : Q).
  Hypotheses (He : 0 <= Q2R epsilon) (Hd : 0 <= Q2R delta <= 1).

  Lemma pure_to_point b : (Qle_bool b epsilon || at_most (pure_delta b epsilon) delta)%bool = true ->
    follows W (Pure b) (Approximate epsilon delta).
  Proof.
    intros HC X near draw asks group Hsym _ HS g Hg x x' Hx. apply (pure_approximate (Q2R b)); auto; try lra.
    - apply orb_prop in HC. destruct HC as [HC|HC]; [left; apply le_R; auto | right].
      apply at_most_sound in HC. rewrite pure_delta_R in HC. auto.
    - apply (HS g Hg x x' Hx).
    - apply (HS g Hg x' x (Hsym _ _ Hx)).
  Qed.

  Lemma approximate_to_point b d : Q2R b <= Q2R epsilon -> Q2R d <= Q2R delta ->
    follows W (Approximate b d) (Approximate epsilon delta).
  Proof.
    intros Hb Hd' X near draw asks group _ _ HS g Hg x x' Hx. apply (approximate_more (Q2R b) (Q2R d)); auto.
      apply (HS g Hg x x' Hx).
  Qed.

  Lemma range_to_point n : (Qle_bool n epsilon || at_most (range_delta n epsilon) delta)%bool = true ->
    follows W (BoundedRange n) (Approximate epsilon delta).
  Proof.
    intros HC X near draw asks group _ _ HS g Hg x x' Hx. apply (range_approximate (Q2R n)); auto; try lra.
    - apply orb_prop in HC. destruct HC as [HC|HC]; [left; apply le_R; auto | right].
      apply at_most_sound in HC. rewrite range_delta_R in HC. auto.
    - apply (HS g Hg x x' Hx).
  Qed.

  Lemma gdp_to_point m : 0 <= Q2R m -> (Qeq_bool m 0 || at_most (gdp_delta m epsilon) delta)%bool = true ->
    follows W (Gdp m) (Approximate epsilon delta).
  Proof.
    intros Hm HC X near draw asks group _ _ HS g Hg x x' Hx. destruct (HS g Hg x x' Hx) as [c [C1 [C2 C3]]].
    apply (near_approximate (Q2R m) 0 _ _ _ _ _ (draw x) (draw x')); auto; try lra.
    - rewrite Rmult_0_l, Rplus_0_r. destruct (Req_EM_T (Q2R m) 0) as [H|H]; [lra|].
      apply orb_prop in HC. destruct HC as [HC|HC]; [apply eq_R in HC; rewrite zero_R in HC; contradiction|].
      apply at_most_sound in HC. rewrite gdp_delta_R in HC. auto.
    - exists c, (fun _ => 0). repeat split; auto; try lra.
      + intros h Hh. right. split; [auto|]. split; apply near_cost_refl.
      + rewrite spent_zero. lra.
  Qed.

  Lemma near_to_point m d : 0 <= Q2R m -> 0 <= Q2R d -> at_most (near_delta m d epsilon) delta = true ->
    follows W (NearGdp m d) (Approximate epsilon delta).
  Proof.
    intros Hm Hd' HC X near draw asks group _ _ HS g Hg x x' Hx. destruct (HS g Hg) as [ideal HI].
    apply (near_approximate (Q2R m) (Q2R d) _ _ _ _ _ (ideal x) (ideal x')); auto; try lra; [|apply (HI x x' Hx)].
    apply at_most_sound in HC. rewrite near_delta_R in HC. auto.
  Qed.

  Lemma renyi_to_point points o a D : In (o, D) points -> Q2R o = Q2R a -> of_order a D epsilon delta = true ->
    follows W (Renyi points) (Approximate epsilon delta).
  Proof.
    intros Hin Eo HC X near draw asks group _ _ HS g Hg x x' Hx. apply of_order_R in HC. destruct HC as [H1 [H2 H3]].
    apply (renyi_approximate (Q2R a) (Q2R D)); auto. rewrite <- Eo. apply (HS g Hg o D Hin x x' Hx).
  Qed.

  Lemma nothing_to_point rho : Q2R rho = 0 -> follows W (Zcdp rho) (Approximate epsilon delta).
  Proof.
    intros E X near draw asks group _ _ HS g Hg x x' Hx. apply nothing_approximate; auto; [lra|].
    rewrite <- E. apply (HS g Hg x x' Hx).
  Qed.

  Lemma lattice_to_point variance shifts count : 0 < Q2R variance -> (0 <= count)%Z ->
    forallb (fun shift => Lattices.lattice_at_most variance shift count epsilon delta) shifts = true ->
    follows W (Lattice variance shifts count) (Approximate epsilon delta).
  Proof.
    intros Hv Hk HC X near draw asks group _ HGA HS g Hg x x' Hx. destruct (HS x x' Hx) as [S [H1 [H2 H3]]].
    intros h p q _ Hch. rewrite forallb_forall in HC.
    apply (before (Q2R variance) g (draw x) (draw x') S (IZR count) Hv) with (shifts := shifts)
      (n := Z.to_nat count) (h := h); auto.
    - intros h0 Hh0. specialize (H1 h0 (HGA g h0 Hg Hh0)). destruct (S h0); [apply H1 | auto].
    - rewrite INR_IZR_INZ, Z2Nat.id by auto. lra.
    - intros h0 Hh0. specialize (H1 h0 (HGA g h0 Hg Hh0)). destruct (S h0); [apply H1 | auto].
    - intros h0 h1 u u' G0 G1. apply H2; eapply HGA; eauto.
    - intros u N Hu HN. apply lattice_right; auto. lra.
  Qed.
End Laws.

Theorem to_approximate_sound : sound_rule "to_approximate".
Proof.
  intros s HR. destruct s; try discriminate HR. clear HR. intros W found n HW HH HM HF _.
  one_premise found l. inversion HH; inversion HM; subst.
  destruct (says l) as [s c rel o reads| | | | | | | | | | | | | |] eqn:Hs;
    try (unfold follow in HF; cbn [map] in HF; rewrite Hs in HF; discriminate HF).
  assert (HC : curve_sane c) by (apply (sane_of l s c rel o reads); auto).
  assert (Hi : forall gives, to_approximate epsilon delta order (Private s c rel o reads) = Some gives ->
    gives = Private s (Approximate epsilon delta) rel o reads /\ (0 <= Q2R epsilon /\ 0 <= Q2R delta) /\
    follows W c (Approximate epsilon delta)).
  { intros gives Et. unfold to_approximate in Et. cbn [law_in] in Et.
    destruct (_ && _)%bool eqn:Ec in Et; [|discriminate]. apply andb_prop in Ec. destruct Ec as [Ec Himp].
    apply andb_prop in Ec. destruct Ec as [Ec E3]. apply andb_prop in Ec. destruct Ec as [E1 E2].
    apply q_nonneg in E1. apply q_nonneg in E2. apply le_R in E3. rewrite one_R in E3.
    cbn [with_law] in Et. injection Et as <-. split; [auto|split; [auto|]].
    unfold implies in Himp. cbv zeta in Himp.
    destruct c as [b|b d|rho|m|m d|eta|variance shifts count|points]; simpl in HC.
    - apply andb_prop in Himp. destruct Himp as [_ Himp]. apply pure_to_point; auto.
    - apply andb_prop in Himp. destruct Himp as [Himp I2]. apply andb_prop in Himp. destruct Himp as [_ I1].
      apply approximate_to_point; apply le_R; auto.
    - destruct (Qeq_bool rho 0) eqn:E0.
      + apply eq_R in E0. rewrite zero_R in E0. apply nothing_to_point; auto.
      + destruct order as [a|]; [|discriminate]. destruct (of_order_R _ _ _ _ Himp) as [Ha _].
        assert (F1 : follows W (Zcdp rho) (Renyi (map (fun a => (a, times a rho)) [a]))).
        { apply zcdp_to_renyi; auto. intros a' [<-|[]]. auto. }
        assert (F2 : follows W (Renyi (map (fun a => (a, times a rho)) [a])) (Approximate epsilon delta)).
        { apply (renyi_to_point W epsilon delta _ a a (times a rho)); auto. left; auto. }
        intros X near draw asks group Hsym HGA HS. apply F2; auto.
    - apply andb_prop in Himp. destruct Himp as [_ Himp]. apply gdp_to_point; auto.
    - apply andb_prop in Himp. destruct Himp as [_ Himp]. apply near_to_point; tauto.
    - apply andb_prop in Himp. destruct Himp as [_ Himp]. apply range_to_point; auto.
    - apply andb_prop in Himp. destruct Himp as [_ Himp]. destruct HC as [Hv Hk]. apply lattice_to_point; auto.
    - destruct order as [a|]; [|discriminate].
      destruct (filter (fun p => q_eqb (fst p) a) points) as [|[o' D] [|]] eqn:Ef; try discriminate.
      assert (Hin : In (o', D) (filter (fun p => q_eqb (fst p) a) points)) by (rewrite Ef; left; auto).
      apply filter_In in Hin. destruct Hin as [Hin Eq]. cbn [fst] in Eq.
      apply (renyi_to_point W epsilon delta points o' a D); auto.
      unfold q_eqb in Eq. apply andb_prop in Eq. destruct Eq as [Q1 Q2]. apply Z.eqb_eq in Q1. apply Pos.eqb_eq in Q2.
      unfold Q2R. rewrite Q1, Q2. auto. }
  assert (Hsome : exists gives, to_approximate epsilon delta order (Private s c rel o reads) = Some gives).
  { unfold follow in HF. cbn [map infer conversion] in HF. rewrite Hs in HF.
    destruct (to_approximate epsilon delta order (Private s c rel o reads)) as [gives|]; [eauto | discriminate]. }
  destruct Hsome as [gives0 Hg0]. destruct (Hi gives0 Hg0) as [_ [Hm Hf]].
  apply (with_law_sound W (ByToApproximate epsilon delta order) l n s c rel o reads (Approximate epsilon delta));
    simpl; auto.
  rewrite Hs. intros gives E. apply Hi; auto.
Qed.
