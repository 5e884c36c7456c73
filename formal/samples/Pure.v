(** A row of a Poisson sample is replaced, for a mechanism of pure ε: geometric noise of scale 1/ε, moved
    by 1, is worst.

    For c from 1 to e^(2ε) two results that are both within ε of a third gain at most (e^ε - c e^-ε)/(1 + e^ε), which
    is what the positive integers gain; beyond they gain nothing. *)
Require Import Reals ZArith Lra Lia Psatz List.
From DP.base Require Import Laws Sums.
From DP Require Import Definitions Meaning.
From DP.core Require Import Costs.
From DP.samples Require Import Poisson Mechanisms Geometric.
Import ListNotations.
Open Scope R_scope.

(** Within ε, in both orders. *)
Definition near {A} (e : R) (L K : law A) : Prop := pure_cost e L K /\ pure_cost e K L.

(** What two results within ε gain at c <= e^ε. *)
Lemma near_gain {A} (L K : law A) e c f : 0 < e -> near e L K -> exp (- e) <= c <= exp e -> test f ->
  (1 + exp e) * (L f - c * K f) <= exp e - c.
Proof.
  intros He [H1 H2] Hc Hf. specialize (H1 f Hf). specialize (H2 _ (test_minus f Hf)). rewrite !E_minus in H2 by auto.
  pose proof (exp_pos e) as Pe. assert (Pi : exp (- e) * exp e = 1) by (rewrite <- exp_plus, Rplus_opp_l; apply exp_0).
  assert (E1 : 1 < exp e) by (rewrite <- exp_0; apply exp_increasing; auto).
  set (x := exp e) in *. set (y := exp (- e)) in *. set (p := L f) in *. set (k := K f) in *.
  (* p <= x k and 1 - k <= x (1 - p): the first (c x - 1) times, the second x (x - c) times, over x x - 1 *)
  assert (C1 : 0 <= c * x - 1) by nra. assert (C2 : 0 <= x - c) by lra.
  assert (G : (x * x - 1) * (p - c * k) <= (x - c) * (x - 1)).
  { pose proof (Rmult_le_compat_l _ _ _ C1 H1). pose proof (Rmult_le_compat_l _ _ _ C2 H2). nra. }
  apply Rmult_le_reg_r with (x - 1); [lra|]. nra.
Qed.

Lemma near_nothing {A} (L K : law A) e c f : near e L K -> exp e <= c -> test f -> L f - c * K f <= 0.
Proof. intros [H1 _] Hc Hf. specialize (H1 f Hf). pose proof (E_test K f Hf). nra. Qed.

Section Pure.
  Variables (e : R) (D : law Z).
  Hypothesis He : 0 < e.
  Hypothesis HD : discrete_laplace (/ e) D.
  Local Notation U := (moved D 1).
  Local Notation V := (moved D (- 1)).
  Local Notation O := (moved D 0).
  Local Notation g := (starting 1).

  Lemma scale_pos : 0 < / e.
  Proof. apply Rinv_0_lt_compat; auto. Qed.

  Lemma from_weights u v c f : 0 <= c -> test f ->
    (forall x, weight (/ e) (x - u) * f x = c * (weight (/ e) (x - v) * f x)) -> moved D u f = c * moved D v f.
  Proof.
    intros Hc Hf H. pose proof (total_weight (/ e) D HD) as Hp. apply Rmult_eq_reg_r with (usum (weight (/ e))); [|lra].
    rewrite Rmult_assoc, !(moved_E (/ e) D HD) by auto.
    rewrite <- usum_scale by (auto using (moved_summable (/ e) D HD)). apply usum_ext, H.
  Qed.

  Lemma step_up x : (1 <= x)%Z -> weight (/ e) (x - 1) = exp e * weight (/ e) (x - 0) /\
    weight (/ e) (x - - 1) = exp (- e) * weight (/ e) (x - 0).
  Proof.
    intros H. apply IZR_le in H. unfold weight. rewrite <- !exp_plus, !minus_IZR.
    rewrite !Rabs_pos_eq by lra. split; f_equal; field; lra.
  Qed.

  Lemma step_down x : (x < 1)%Z -> weight (/ e) (x - 1) = exp (- e) * weight (/ e) (x - 0).
  Proof.
    intros H. assert (H0 : (x <= 0)%Z) by lia. apply IZR_le in H0. unfold weight. rewrite <- !exp_plus, !minus_IZR.
    rewrite <- Rabs_Ropp, <- (Rabs_Ropp (IZR x - 0)), !Rabs_pos_eq by lra. f_equal. field. lra.
  Qed.

  (** The probabilities of the positive integers. *)
  Lemma positive : O g = / (1 + exp e) /\ U g = exp e / (1 + exp e) /\ V g = exp (- e) / (1 + exp e).
  Proof.
    pose proof (exp_pos e) as Pe. pose proof (exp_pos (- e)) as Pn. pose proof (starting_test 1) as Hg.
    assert (Pi : exp (- e) * exp e = 1) by (rewrite <- exp_plus, Rplus_opp_l; apply exp_0).
    assert (E1 : U g = exp e * O g).
    { apply from_weights; auto; [lra|]. intros x. unfold starting. destruct Z_le_dec as [H|H]; [|ring].
      rewrite (proj1 (step_up x H)). ring. }
    assert (E2 : V g = exp (- e) * O g).
    { apply from_weights; auto; [lra|]. intros x. unfold starting. destruct Z_le_dec as [H|H]; [|ring].
      rewrite (proj2 (step_up x H)). ring. }
    assert (E3 : U (fun x => 1 - g x) = exp (- e) * O (fun x => 1 - g x)).
    { apply from_weights; auto using test_minus; [lra|]. intros x. unfold starting. destruct Z_le_dec as [H|H]; [ring|].
      rewrite (step_down x ltac:(lia)). ring. }
    rewrite !E_minus in E3 by auto. rewrite E1 in E3.
    assert (H1 : 1 < exp e) by (rewrite <- exp_0; apply exp_increasing; auto).
    assert (EO : O g = / (1 + exp e)).
    { apply Rmult_eq_reg_r with ((1 + exp e) * (exp e - 1)); [|apply Rgt_not_eq, Rmult_lt_0_compat; lra].
      replace (/ (1 + exp e) * ((1 + exp e) * (exp e - 1))) with (exp e - 1) by (field; lra).
      apply Rmult_eq_compat_l with (r := exp e) in E3. rewrite <- (Rmult_assoc (exp e) (exp (- e))) in E3.
      rewrite (Rmult_comm (exp e) (exp (- e))), Pi in E3. lra. }
    rewrite E1, E2, EO. repeat split; unfold Rdiv; ring.
  Qed.

  (** Results within ε of each other cost no more than the noise and the same moved by 1, *)
  Lemma near_dominated {A} (L K : law A) : near e L K -> dominated L K U O.
  Proof.
    intros HN c d Hc Hd f Hf. pose proof (exp_pos e) as Pe. pose proof (exp_pos (- e)) as Pn.
    destruct (Rle_dec c (exp e)) as [H1|H1].
    - destruct (Rle_dec (exp (- e)) c) as [H0|H0].
      + pose proof (near_gain L K e c f He HN ltac:(lra) Hf) as G. specialize (Hd _ (starting_test 1)).
        destruct positive as [-> [-> _]] in Hd. apply Rle_trans with (2 := Hd).
        apply Rmult_le_reg_l with (1 + exp e); [lra|]. apply Rle_trans with (1 := G). right. field. lra.
      + specialize (Hd _ test_1). rewrite !E_1 in Hd. apply Rle_trans with (2 := Hd).
        destruct HN as [_ H2]. specialize (H2 _ (test_minus f Hf)). rewrite !E_minus in H2 by auto.
        pose proof (E_test L f Hf). pose proof (E_test K f Hf).
        assert (Pi : exp (- e) * exp e = 1) by (rewrite <- exp_plus, Rplus_opp_l; apply exp_0).
        apply Rmult_le_compat_l with (r := exp (- e)) in H2; [|lra].
        rewrite <- Rmult_assoc, Pi, Rmult_1_l in H2. nra.
    - specialize (Hd _ test_0). rewrite !E_0 in Hd. pose proof (near_nothing L K e c f HN ltac:(lra) Hf). lra.
  Qed.

  (** and results that are both within ε of a third no more than the noise moved by 1 either way. *)
  Lemma both_gain {A} (L L' K : law A) c f : near e L K -> near e L' K -> 1 <= c -> test f ->
    L f - c * L' f <= curve U V c.
  Proof.
    intros HN HN' Hc Hf. pose proof (exp_pos e) as Pe. pose proof (exp_pos (- e)) as Pn.
    assert (Pi : exp (- e) * exp e = 1) by (rewrite <- exp_plus, Rplus_opp_l; apply exp_0).
    assert (G : L f - c * L' f <= L f - c * exp (- e) * K f).
    { destruct HN' as [_ H2]. specialize (H2 f Hf). apply Rmult_le_compat_l with (r := exp (- e)) in H2; [|lra].
      rewrite <- Rmult_assoc, Pi, Rmult_1_l in H2. nra. }
    apply Rle_trans with (1 := G). destruct (Rle_dec (c * exp (- e)) (exp e)) as [H|H].
    - pose proof (near_gain L K e (c * exp (- e)) f He HN ltac:(nra) Hf) as G1.
      apply Rle_trans with (2 := curve_above U V c ltac:(lra) _ (starting_test 1)).
      destruct positive as [_ [-> ->]]. apply Rmult_le_reg_l with (1 + exp e); [lra|].
      apply Rle_trans with (1 := G1). right. field. lra.
    - pose proof (near_nothing L K e (c * exp (- e)) f HN ltac:(lra) Hf).
      pose proof (curve_nonneg U V c ltac:(lra)). lra.
  Qed.

  Lemma both_dominated {A} (L L' K : law A) : near e L K -> near e L' K -> dominated L L' U V.
  Proof.
    intros HN HN'. apply dominated_from_one; intros c Hc; apply curve_least; intros f Hf.
    - apply both_gain with K; auto.
    - assert (E : curve V U c = curve U V c) by (symmetry; apply (geometric_pair_symmetric (/ e) D HD 1); lra).
      rewrite E. apply both_gain with K; auto.
  Qed.

  (** The theorem: with either row and without, the results on every sample are within ε. *)
  Theorem replaced_pure {row A} (q : R) (Hq : 0 <= q <= 1) (M : list row -> law A) r r' l m : 0 < q ->
    (forall s s', near e (M (s ++ r :: s')) (M (s ++ s')) /\ near e (M (s ++ r' :: s')) (M (s ++ s'))) ->
    dominated (bind (sample q Hq (l ++ r :: m)) M) (bind (sample q Hq (l ++ r' :: m)) M) (mix q Hq U O) (mix q Hq V O).
  Proof.
    intros Hpos H. apply (replaced_as_geometric (/ e) D scale_pos HD q Hq 1 Hpos). intros s s' L L' K.
    destruct (H s s') as [H1 H2]. fold L K in H1. fold L' K in H2.
    repeat split; try (apply near_dominated; auto); apply both_dominated with K; auto.
  Qed.
End Pure.
