(** The densities at the integers of a normal law of deviation at least 1 sum to 1, but for very little ([theta_one]).

    Let X be their sum and Y that at the halves.
      At twice the variance, the squares of both are the mean of X² and Y² and
    the product XY.  So X falls to 1 and Y rises to 1, and the difference of both is squared each time, and divided by
    at least 2.8: three times from a variance of 1/8 to 1/4 it is very small. *)
Require Import Reals ZArith Lra Lia Psatz List.
From Coquelicot Require Import Coquelicot.
From DP.base Require Import Laws Sums Normal.
From DP.core Require Import Costs Odds Layers.
From DP.conversions Require Import Weights.
From DP.noise Require Import Discrete Middles Figures.
Import ListNotations.
Open Scope R_scope.

Definition step (v : R) : R := / sqrt v.
Definition error (v : R) : R := step v * step v * step v * most_of (step v) / 24.
Definition theta (v a : R) : R := usum (hills v a) * (step v / sqrt (2 * PI)).

Lemma step_pos v : 0 < v -> 0 < step v.
Proof. intros Hv. apply Rinv_0_lt_compat, sqrt_lt_R0; auto. Qed.

Lemma step_square v : 0 < v -> step v * step v = / v.
Proof. intros Hv. unfold step. rewrite <- Rinv_mult, sqrt_sqrt by lra. auto. Qed.

Lemma weight_pos v : 0 < v -> 0 < step v / sqrt (2 * PI).
Proof. intros Hv. apply Rdiv_lt_0_compat; [apply step_pos; auto | apply root_pos]. Qed.

Lemma hills_density v a k : 0 < v -> step v * phi (step v * (IZR k + - a)) = hills v a k * (step v / sqrt (2 * PI)).
Proof.
  intros Hv. unfold phi, hills, bell. pose proof root_pos.
  replace (- (step v * (IZR k + - a) * (step v * (IZR k + - a))) / 2) with (- ((IZR k - a) * (IZR k - a)) / (2 * v)).
  - field. lra.
  - replace (step v * (IZR k + - a) * (step v * (IZR k + - a))) with (step v * step v * ((IZR k - a) *
    (IZR k - a))) by ring.
    rewrite step_square by auto. field. lra.
Qed.

Definition covers_to (d u : R) (r : nat) : R := Phi (d * (INR r + u + 1 / 2)) - Phi (d * (- INR r + u - 1 / 2)).

Lemma cells_sum d u r : total (fun k => cell d (IZR k + u)) (around r) = covers_to d u r.
Proof. unfold cell. apply (around_telescope (fun x => Phi (d * x)) u r). Qed.

Lemma covers_most d u r : covers_to d u r <= 1.
Proof. unfold covers_to. pose proof (Phi_range (d * (INR r + u + 1 / 2))).
  pose proof (Phi_range (d * (- INR r + u - 1 / 2))). lra. Qed.

Lemma covers_near d u t : 0 < d -> 0 < t -> exists r, forall r', (r <= r')%nat -> 1 - t <= covers_to d u r'.
Proof.
  intros Hd Ht. destruct (Phi_to_1 (t / 2) ltac:(lra)) as [b [Hb HB]].
    destruct (Phi_to_0 (t / 2) ltac:(lra)) as [c [Hc HC]].
  destruct (some_number (b / d + c / d + Rabs u)) as [r Hr]. exists r. intros r' Hrr.
  apply le_INR in Hrr. assert (0 < b / d) by (apply Rdiv_lt_0_compat; auto).
    assert (0 < c / d) by (apply Rdiv_lt_0_compat; auto).
  pose proof (Rle_abs u). pose proof (Rabs_maj2 u). unfold covers_to.
  assert (Hup : b <= d * (INR r' + u + 1 / 2)).
  { replace b with (d * (b / d)) by (field; lra). apply Rmult_le_compat_l; lra. }
  assert (Hlow : d * (- INR r' + u - 1 / 2) <= - c).
  { replace (- c) with (d * (- (c / d))) by (field; lra). apply Rmult_le_compat_l; lra. }
  specialize (HB _ Hup). specialize (HC _ Hlow). lra.
Qed.

Lemma densities_near v a r : 0 < v ->
  Rabs (total (hills v a) (around r) * (step v / sqrt (2 * PI)) - covers_to (step v) (- a) r) <= error v.
Proof.
  intros Hv. apply Rle_trans with (2 := cells_near (step v) (- a) r (step_pos v Hv)). rewrite <- cells_sum.
  rewrite (Rmult_comm (total (hills v a) (around r))), <- total_scale, <- total_minus.
  assert (G : forall (f g : Z -> R) l, (forall k, f k = - g k) -> Rabs (total f l) <= total (fun k => Rabs (g k)) l).
  { clear. intros f g l H. induction l as [|k l IH]; cbn [total]; [rewrite Rabs_R0; lra|].
    apply Rle_trans with (1 := Rabs_triang _ _). rewrite (H k), Rabs_Ropp. lra. }
  apply G. intros k. rewrite hills_density by auto. ring.
Qed.

Lemma hills_all v a : 0 < v -> summable (hills v a).
Proof.
  intros Hv. pose proof (weight_pos v Hv) as Hc. split; [intros; left; apply exp_pos|].
  exists ((1 + error v) / (step v / sqrt (2 * PI))). intros l Hl. destruct (covered l) as [r Hr].
  apply Rle_trans with (total (hills v a) (around r)); [apply total_incl; auto; intros; left; apply exp_pos|].
  apply Rmult_le_reg_r with (step v / sqrt (2 * PI)); auto. unfold Rdiv at 2.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  pose proof (densities_near v a r Hv) as H. pose proof (covers_most (step v) (- a) r). apply Rabs_le_between in H.
    lra.
Qed.

Lemma theta_part v a r : 0 < v -> total (hills v a) (around r) * (step v / sqrt (2 * PI)) <= theta v a.
Proof.
  intros Hv. apply Rmult_le_compat_r; [left; apply weight_pos; auto|].
    apply usum_ub; [apply hills_all; auto | apply around_once].
Qed.

Lemma theta_near v a : 0 < v -> 1 - error v <= theta v a <= 1 + error v.
Proof.
  intros Hv. pose proof (weight_pos v Hv) as Hc. split.
  - apply le_epsilon. intros t Ht. destruct (covers_near (step v) (- a) t (step_pos v Hv) Ht) as [r Hr].
    specialize (Hr r (le_n r)). pose proof (densities_near v a r Hv) as H. apply Rabs_le_between in H.
      pose proof (theta_part v a r Hv). lra.
  - unfold theta. apply Rmult_le_reg_r with (/ (step v / sqrt (2 * PI))); [apply Rinv_0_lt_compat; auto|].
    rewrite Rmult_assoc, Rinv_r, Rmult_1_r by lra. apply usum_least; [apply hills_all; auto|]. intros l Hl.
    destruct (covered l) as [r Hr]. apply Rle_trans with (total (hills v a) (around r)); [apply total_incl; auto;
      intros; left; apply exp_pos|].
    apply Rmult_le_reg_r with (step v / sqrt (2 * PI)); auto. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    pose proof (densities_near v a r Hv) as H. pose proof (covers_most (step v) (- a) r).
      apply Rabs_le_between in H. lra.
Qed.

Lemma theta_pos v a : 0 < v -> 0 <= theta v a.
Proof. intros Hv. apply Rmult_le_pos; [apply usum_nonneg, hills_all; auto | left; apply weight_pos; auto]. Qed.

(* ---------------------------------------------------------------- twice the variance *)

Lemma theta_half v : 0 < v -> theta v (- (1 / 2)) = theta v (1 / 2).
Proof.
  intros Hv. unfold theta. f_equal.
  rewrite <- (usum_rename (hills v (1 / 2)) Z.opp Z.opp) by (try (intros; lia); apply hills_all; auto).
  apply usum_ext. intros z. unfold hills, bell. rewrite opp_IZR. do 2 f_equal. f_equal. ring.
Qed.

Lemma doubled_weight v : 0 < v -> let c := step v / sqrt (2 * PI) in let c2 := step (2 * v) / sqrt (2 * PI) in 2 *
  (c2 * c2) = c * c.
Proof.
  intros Hv c c2. unfold c, c2. pose proof root_pos.
  replace (step (2 * v) / sqrt (2 * PI) * (step (2 * v) / sqrt (2 * PI))) with (step (2 * v) * step (2 * v) /
    (sqrt (2 * PI) * sqrt (2 * PI))) by (field; lra).
  replace (step v / sqrt (2 * PI) * (step v / sqrt (2 * PI))) with (step v * step v / (sqrt (2 * PI) * sqrt
    (2 * PI))) by (field; lra).
  rewrite !step_square by lra. field. split; lra.
Qed.

Lemma theta_mean v : 0 < v -> 2 * (theta (2 * v) 0 * theta (2 * v) 0) = theta v 0 * theta v 0 + theta v
  (1 / 2) * theta v (1 / 2).
Proof.
  intros Hv. rewrite <- (theta_half v Hv) at 1. rewrite <- (theta_half v Hv).
  pose proof (hills_product (2 * v) 0 0 ltac:(lra) (hills_all (2 * v) 0 ltac:(lra))) as E.
  replace (2 * v / 2) with v in E by lra. replace ((0 + 0) / 2) with 0 in E by lra.
    replace ((0 - 0) / 2) with 0 in E by lra.
  replace ((0 + 0 - 1) / 2) with (- (1 / 2)) in E by lra. replace ((0 - 0 - 1) / 2) with (- (1 / 2)) in E by lra.
  pose proof (doubled_weight v Hv) as D. cbv zeta in D. unfold theta.
  set (c := step v / sqrt (2 * PI)) in *. set (c2 := step (2 * v) / sqrt (2 * PI)) in *.
  replace (2 * (usum (hills (2 * v) 0) * c2 * (usum (hills (2 * v) 0) * c2))) with (usum (hills (2 * v) 0) * usum
    (hills (2 * v) 0) * (2 * (c2 * c2))) by ring.
  rewrite E, D. ring.
Qed.

Lemma theta_product v : 0 < v -> theta (2 * v) (1 / 2) * theta (2 * v) (1 / 2) = theta v 0 * theta v (1 / 2).
Proof.
  intros Hv.
  pose proof (hills_product (2 * v) (1 / 2) (1 / 2) ltac:(lra) (hills_all (2 * v) 0 ltac:(lra))) as E.
  replace (2 * v / 2) with v in E by lra. replace ((1 / 2 + 1 / 2) / 2) with (1 / 2) in E by lra.
    replace ((1 / 2 - 1 / 2) / 2) with 0 in E by lra.
  replace ((1 / 2 + 1 / 2 - 1) / 2) with 0 in E by lra.
    replace ((1 / 2 - 1 / 2 - 1) / 2) with (- (1 / 2)) in E by lra.
  pose proof (doubled_weight v Hv) as D. cbv zeta in D. pose proof (theta_half v Hv) as Hh. unfold theta in *.
  set (c := step v / sqrt (2 * PI)) in *. set (c2 := step (2 * v) / sqrt (2 * PI)) in *.
  assert (Hc : 0 < c) by (apply weight_pos; auto).
  apply Rmult_eq_reg_r in Hh; [|lra]. rewrite Hh in E.
  replace (usum (hills (2 * v) (1 / 2)) * c2 * (usum (hills (2 * v) (1 / 2)) * c2)) with (usum (hills (2 * v)
    (1 / 2)) * usum (hills (2 * v) (1 / 2)) * (c2 * c2)) by ring.
  rewrite E. replace (c2 * c2) with (c * c / 2) by lra. field.
Qed.

Lemma theta_order v : 0 < v -> theta v (1 / 2) <= theta v 0.
Proof. intros Hv. apply Rmult_le_compat_r; [left; apply weight_pos; auto|]. apply hills_most; auto.
  apply hills_all; auto. Qed.

Lemma theta_falls v : 0 < v -> theta (2 * v) 0 <= theta v 0.
Proof.
  intros Hv. pose proof (theta_mean v Hv). pose proof (theta_order v Hv). pose proof (theta_pos v 0 Hv).
    pose proof (theta_pos v (1 / 2) Hv).
  pose proof (theta_pos (2 * v) 0 ltac:(lra)). apply Rnot_lt_le. intros N. nra.
Qed.

Lemma theta_rises v : 0 < v -> theta v (1 / 2) <= theta (2 * v) (1 / 2).
Proof.
  intros Hv. pose proof (theta_product v Hv). pose proof (theta_order v Hv). pose proof (theta_pos v 0 Hv).
    pose proof (theta_pos v (1 / 2) Hv).
  pose proof (theta_pos (2 * v) (1 / 2) ltac:(lra)). apply Rnot_lt_le. intros N. nra.
Qed.

Lemma error_small v : 1 <= v -> error v <= / v.
Proof.
  intros Hv. unfold error, most_of. pose proof (step_pos v ltac:(lra)) as Hd.
    pose proof (step_square v ltac:(lra)) as E.
  set (d := step v) in *. assert (Hd1 : d <= 1).
  { unfold d, step. rewrite <- Rinv_1. apply Rinv_le_contravar; [lra|]. rewrite <- sqrt_1.
    apply sqrt_le_1_alt; auto. }
  assert (P : forall z, 0 < phi z <= 1 / 2).
  { intros z. split; [apply phi_pos|]. apply Rle_trans with (phi 0).
    - unfold phi. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, root_pos|]. apply exp_le. nra.
    - apply phi_0_half. }
  pose proof (P 1). pose proof (P 0). pose proof (P (sqrt 3)).
  replace (d * d * d * (4 * phi 1 / d + (phi 0 + 4 * phi (sqrt 3))) / 24) with (d * d * ((4 * phi 1 + d *
    (phi 0 + 4 * phi (sqrt 3))) / 24)) by (field; lra).
  rewrite E. rewrite <- (Rmult_1_r (/ v)) at 2. apply Rmult_le_compat_l; [left; apply Rinv_0_lt_compat; lra|]. nra.
Qed.

Lemma theta_bounds v : 0 < v -> 1 <= theta v 0 /\ theta v (1 / 2) <= 1.
Proof.
  intros Hv.
  assert (G : forall n, theta (2 ^ n * v) 0 <= theta v 0 /\ theta v (1 / 2) <= theta (2 ^ n * v) (1 / 2)).
  { induction n as [|n [I1 I2]]; [simpl; rewrite Rmult_1_l; lra|].
    assert (P : 0 < 2 ^ n * v) by (apply Rmult_lt_0_compat; auto; apply pow_lt; lra).
    replace (2 ^ S n * v) with (2 * (2 ^ n * v)) by (simpl; ring). pose proof (theta_falls _ P).
      pose proof (theta_rises _ P). lra. }
  assert (S0 : forall t, 0 < t -> exists n, error (2 ^ n * v) <= t).
  { intros t Ht. destruct (some_number (/ v + / (t * v))) as [n Hn]. exists n.
    assert (Hp : INR n <= 2 ^ n).
    { clear. induction n as [|n IH]; [simpl; lra|]. rewrite S_INR. simpl.
      assert (1 <= 2 ^ n) by (apply pow_R1_Rle; lra). lra. }
    assert (0 < / v) by (apply Rinv_0_lt_compat; auto).
      assert (0 < / (t * v)) by (apply Rinv_0_lt_compat, Rmult_lt_0_compat; auto).
    assert (H1 : 1 <= 2 ^ n * v).
    { replace 1 with (/ v * v) by (field; lra). apply Rmult_le_compat_r; lra. }
    apply Rle_trans with (1 := error_small _ H1). rewrite <- (Rinv_inv t).
      apply Rinv_le_contravar; [apply Rinv_0_lt_compat; auto|].
    replace (/ t) with (/ (t * v) * v) by (field; lra). apply Rmult_le_compat_r; lra. }
  split; apply le_epsilon; intros t Ht; destruct (S0 t Ht) as [n Hn]; destruct (G n) as [G1 G2];
    assert (P : 0 < 2 ^ n * v) by (apply Rmult_lt_0_compat; auto; apply pow_lt; lra).
  - pose proof (theta_near (2 ^ n * v) 0 P). lra.
  - pose proof (theta_near (2 ^ n * v) (1 / 2) P). lra.
Qed.

Definition apart (v : R) : R := theta v 0 - theta v (1 / 2).

Lemma apart_next v : 0 < v -> 0 <= apart v /\ 28 / 10 * apart (2 * v) <= apart v * apart v.
Proof.
  intros Hv. split; [unfold apart; pose proof (theta_order v Hv); lra|].
  pose proof (theta_mean v Hv) as M. pose proof (theta_product v Hv) as P.
  pose proof (theta_mean (2 * v) ltac:(lra)) as M2. destruct (theta_bounds (2 * (2 * v)) ltac:(lra)) as [B _].
  pose proof (theta_order (2 * v) ltac:(lra)) as O. pose proof (theta_pos (2 * v) 0 ltac:(lra)).
    pose proof (theta_pos (2 * v) (1 / 2) ltac:(lra)).
  unfold apart. set (x := theta (2 * v) 0) in *. set (y := theta (2 * v) (1 / 2)) in *.
  set (x' := theta v 0) in *. set (y' := theta v (1 / 2)) in *. set (b := theta (2 * (2 * v)) 0) in *.
  assert (H2 : 2 <= x * x + y * y) by nra.
  assert (H3 : 14 / 10 <= x + y) by nra.
  replace ((x' - y') * (x' - y')) with (2 * ((x - y) * (x + y))) by nra. nra.
Qed.

(* ---------------------------------------------------------------- small variances *)

Lemma apart_small v : 1 / 8 <= v <= 1 / 4 -> apart v <= 345 / 1000.
Proof.
  intros Hv. set (x := / (2 * v)). assert (Hx : 2 <= x <= 4).
  { unfold x. split.
    - replace 2 with (/ (1 / 2)) at 1 by field. apply Rinv_le_contravar; lra.
    - replace 4 with (/ (1 / 4)) by field. apply Rinv_le_contravar; lra. }
  set (rho := exp (- (2 * x))). assert (Hr : 0 < rho < 1).
  { split; [apply exp_pos|]. unfold rho. rewrite <- exp_0. apply exp_increasing. lra. }
  assert (Hk : forall k, hills v 0 k = exp (- (x * (IZR k * IZR k)))).
  { intros k. unfold hills, bell, x. f_equal. field. lra. }
  assert (Hup : usum (hills v 0) <= 1 + 2 * exp (- x) / (1 - rho)).
  { apply usum_least; [apply hills_all; lra|]. intros l Hl. destruct (covered l) as [r Hr'].
    apply Rle_trans with (total (hills v 0) (around r)); [apply total_incl; auto; intros; left; apply exp_pos|].
    assert (G : total (hills v 0) (around r) + 2 * exp (- x) * (rho ^ r / (1 - rho)) <=
      1 + 2 * exp (- x) / (1 - rho)).
    { clear Hr'. induction r as [|r IH].
      - simpl. rewrite Hk. replace (- (x * (0 * 0))) with 0 by ring. rewrite exp_0. lra.
      - apply Rle_trans with (2 := IH). cbn [around total]. rewrite !Hk, opp_IZR.
        replace (- IZR (Z.of_nat (S r)) * - IZR (Z.of_nat (S r))) with (IZR (Z.of_nat (S r)) * IZR (Z.of_nat
          (S r))) by ring.
        assert (HE : exp (- (x * (IZR (Z.of_nat (S r)) * IZR (Z.of_nat (S r))))) <= exp (- x) * rho ^ r).
        { replace (rho ^ r) with (exp (INR r * (- (2 * x)))).
          - rewrite <- exp_plus. apply exp_le. rewrite <- INR_IZR_INZ, S_INR. pose proof (pos_INR r). nra.
          - unfold rho. clear. induction r as [|r IH]; [simpl; rewrite Rmult_0_l; apply exp_0|]. cbn [pow].
            rewrite <- IH, <- exp_plus, S_INR. f_equal. ring. }
        cbn [pow]. assert (E : rho ^ r / (1 - rho) = rho ^ r + rho * rho ^ r / (1 - rho)) by (field; lra). rewrite E.
        pose proof (exp_pos (- x)). nra. }
    assert (0 <= 2 * exp (- x) * (rho ^ r / (1 - rho))).
    { pose proof (exp_pos (- x)). apply Rmult_le_pos; [lra|]. apply Rdiv_le_0_compat; [apply pow_le|]; lra. }
    lra. }
  assert (Hlow : 2 * exp (- (x / 4)) <= usum (hills v (1 / 2))).
  { apply Rle_trans with (total (hills v (1 / 2)) [0%Z; 1%Z]).
    - cbn [total]. unfold hills, bell.
      replace (- ((0 - 1 / 2) * (0 - 1 / 2)) / (2 * v)) with (- (x / 4)) by (unfold x; field; lra).
      replace (- ((1 - 1 / 2) * (1 - 1 / 2)) / (2 * v)) with (- (x / 4)) by (unfold x; field; lra). lra.
    - apply usum_ub; [apply hills_all; lra|].
      constructor; [intros [H|[]]; discriminate | constructor; [intros [] | constructor]]. }
  assert (Hc : step v / sqrt (2 * PI) = sqrt (x / PI)).
  { pose proof PI_RGT_0. symmetry. apply sqrt_lem_1.
    - apply Rlt_le, Rdiv_lt_0_compat; lra.
    - left. apply weight_pos; lra.
    - replace (step v / sqrt (2 * PI) * (step v / sqrt (2 * PI))) with (step v * step v / (sqrt (2 * PI) * sqrt
      (2 * PI))) by (field; apply Rgt_not_eq, root_pos).
      rewrite step_square, sqrt_sqrt by lra. unfold x. field. split; lra. }
  unfold apart, theta. rewrite Hc. rewrite <- Rmult_minus_distr_r.
  apply Rle_trans with ((1 + 2 * exp (- x) / (1 - rho) - 2 * exp (- (x / 4))) * sqrt (x / PI)).
  - apply Rmult_le_compat_r; [apply sqrt_pos | lra].
  - unfold rho. apply height_small; auto.
Qed.

Lemma apart_large : forall n v, 1 <= v <= 2 * 2 ^ n -> apart v <= 6 / 10000000 / (v * v).
Proof.
  induction n as [|n IH]; intros v Hv.
  - simpl in Hv. pose proof (apart_small (v / 8) ltac:(lra)) as A0.
    destruct (apart_next (v / 8) ltac:(lra)) as [N0 A1]. replace (2 * (v / 8)) with (v / 4) in A1 by lra.
    destruct (apart_next (v / 4) ltac:(lra)) as [N1 A2]. replace (2 * (v / 4)) with (v / 2) in A2 by lra.
    destruct (apart_next (v / 2) ltac:(lra)) as [N2 A3]. replace (2 * (v / 2)) with v in A3 by lra.
    assert (B1 : apart (v / 4) <= 4252 / 100000) by nra.
    assert (B2 : apart (v / 2) <= 6458 / 10000000) by nra.
    assert (B3 : apart v <= 1495 / 10000000000) by nra.
    apply Rle_trans with (1 := B3). apply Rmult_le_reg_r with (v * v); [nra|]. unfold Rdiv at 2.
      rewrite Rmult_assoc, Rinv_l by nra. nra.
  - destruct (Rle_dec v 2) as [H|H]; [apply IH; assert (1 <= 2 ^ n) by (apply pow_R1_Rle; lra); lra|].
    cbn [pow] in Hv. specialize (IH (v / 2) ltac:(lra)).
    destruct (apart_next (v / 2) ltac:(lra)) as [N A]. replace (2 * (v / 2)) with v in A by lra.
    replace (6 / 10000000 / (v / 2 * (v / 2))) with (24 / 10000000 / (v * v)) in IH by (field; lra).
    assert (HI : 0 < / (v * v) <= 1 / 4).
    { split; [apply Rinv_0_lt_compat; nra|]. replace (1 / 4) with (/ 4) by field. apply Rinv_le_contravar; nra. }
    unfold Rdiv in *. set (i := / (v * v)) in *. nra.
Qed.

Theorem theta_one v : 1 <= v -> 1 <= theta v 0 <= 1 + 6 / 10000000 / (v * v).
Proof.
  intros Hv. destruct (theta_bounds v ltac:(lra)) as [B1 B2]. split; auto.
  destruct (some_number v) as [n Hn].
  assert (Hp : INR n <= 2 ^ n).
  { clear. induction n as [|n IH]; [simpl; lra|]. rewrite S_INR. simpl.
    assert (1 <= 2 ^ n) by (apply pow_R1_Rle; lra). lra. }
  pose proof (apart_large n v ltac:(lra)) as A. unfold apart in A. lra.
Qed.
