(** Powers of numbers from 0 on, and Jensen's inequality for them. *)
Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From DP.base Require Import Laws Normal.
From DP Require Import Definitions.
Open Scope R_scope.

Lemma power_pos t p : 0 < t -> power t p = Rpower t p.
Proof. intros. unfold power. destruct (Rlt_dec 0 t); [auto|lra]. Qed.

Lemma power_0 p : power 0 p = 0.
Proof. unfold power. destruct (Rlt_dec 0 0); lra. Qed.

Lemma power_nonneg t p : 0 <= power t p.
Proof. unfold power. destruct (Rlt_dec 0 t); [left; apply exp_pos | lra]. Qed.

Lemma power_gt0 t p : 0 < t -> 0 < power t p.
Proof. intros. rewrite power_pos by auto. apply exp_pos. Qed.

Lemma Rpower_base_1 p : Rpower 1 p = 1.
Proof. unfold Rpower. rewrite ln_1, Rmult_0_r. apply exp_0. Qed.

Lemma power_base_1 p : power 1 p = 1.
Proof. rewrite power_pos by lra. apply Rpower_base_1. Qed.

Lemma power_mono s t p : 0 <= p -> 0 <= s <= t -> power s p <= power t p.
Proof.
  intros Hp [Hs Hst]. destruct Hs as [Hs|<-].
  - rewrite !power_pos by lra. apply Rle_Rpower_l; lra.
  - rewrite power_0. apply power_nonneg.
Qed.

Lemma power_range t p : 0 <= p -> 0 <= t <= 1 -> 0 <= power t p <= 1.
Proof.
  intros Hp Ht. split; [apply power_nonneg|]. rewrite <- (power_base_1 p). apply power_mono; lra.
Qed.

Lemma power_test {A} (f : A -> R) p : 0 <= p -> test f -> test (fun a => power (f a) p).
Proof. intros Hp Hf a. apply power_range; auto. Qed.

Lemma power_mult s t p : 0 <= s -> 0 <= t -> power (s * t) p = power s p * power t p.
Proof.
  intros [Hs|<-] [Ht|<-].
  - rewrite !power_pos by (auto; nra). rewrite Rpower_mult_distr; auto.
  - rewrite Rmult_0_r, power_0. ring.
  - rewrite Rmult_0_l, power_0. ring.
  - rewrite Rmult_0_l, power_0. ring.
Qed.

Lemma power_power t p q : power (power t p) q = power t (p * q).
Proof.
  unfold power at 2 3. destruct (Rlt_dec 0 t).
  - rewrite power_pos by apply exp_pos. apply Rpower_mult.
  - apply power_0.
Qed.

Lemma power_1 t : 0 <= t -> power t 1 = t.
Proof. intros [H|<-]; [rewrite power_pos by auto; apply Rpower_1; auto | apply power_0]. Qed.

Lemma power_inv t p : 0 <= t -> p <> 0 -> power (power t p) (1 / p) = t.
Proof. intros. rewrite power_power. replace (p * (1 / p)) with 1 by (field; auto). apply power_1; auto. Qed.

Lemma power_inv' t p : 0 <= t -> p <> 0 -> power (power t (1 / p)) p = t.
Proof. intros. rewrite power_power. replace (1 / p * p) with 1 by (field; auto). apply power_1; auto. Qed.

Lemma power_exp x p : power (exp x) p = exp (p * x).
Proof. rewrite power_pos by apply exp_pos. unfold Rpower. rewrite ln_exp. auto. Qed.

Lemma power_below t p : 1 <= p -> 0 <= t <= 1 -> power t p <= t.
Proof.
  intros Hp [[Ht|<-] Ht1]; [|rewrite power_0; lra]. rewrite power_pos by auto.
  unfold Rpower. rewrite <- (exp_ln t Ht) at 2.
  assert (ln t <= 0) by (rewrite <- ln_1; destruct Ht1 as [ | -> ]; [left; apply ln_increasing; lra | lra]).
  destruct (Req_dec (p * ln t) (ln t)) as [-> | ]; [lra|]. left. apply exp_increasing. nra.
Qed.

(** The tangent of a concave power lies above it. *)
Lemma exp_tangent x : 1 + x <= exp x.
Proof. destruct (Req_dec x 0) as [-> | ]; [rewrite exp_0; lra|]. left. apply exp_ineq1; auto. Qed.

Lemma exp_convex t a b : 0 <= t <= 1 -> exp (t * a + (1 - t) * b) <= t * exp a + (1 - t) * exp b.
Proof.
  intros Ht. set (m := t * a + (1 - t) * b).
  assert (exp m * (1 + (a - m)) <= exp a).
  { replace (exp a) with (exp m * exp (a - m)) by (rewrite <- exp_plus; f_equal; ring).
    apply Rmult_le_compat_l; [left; apply exp_pos | apply exp_tangent]. }
  assert (exp m * (1 + (b - m)) <= exp b).
  { replace (exp b) with (exp m * exp (b - m)) by (rewrite <- exp_plus; f_equal; ring).
    apply Rmult_le_compat_l; [left; apply exp_pos | apply exp_tangent]. }
  assert (t * (exp m * (1 + (a - m))) + (1 - t) * (exp m * (1 + (b - m))) = exp m).
  { unfold m. ring. }
  nra.
Qed.

(** Young's inequality: a^(1/θ) s^(1−1/θ) is at most its weighted mean. *)
Lemma young theta a s : 1 < theta -> 0 <= a -> 0 < s ->
  power a (1 / theta) <= power s (1 / theta) * (1 / theta * (a / s) + (1 - 1 / theta)).
Proof.
  intros Ht Ha Hs. assert (Hi : 0 < 1 / theta < 1).
  { split; [apply Rdiv_lt_0_compat; lra|]. apply Rmult_lt_reg_r with theta; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  destruct Ha as [Ha|<-].
  2: { rewrite power_0. unfold Rdiv at 3. rewrite Rmult_0_l, Rmult_0_r, Rplus_0_l.
       apply Rmult_le_pos; [apply power_nonneg | lra]. }
  replace a with (s * (a / s)) at 1 by (field; lra).
  assert (Has : 0 < a / s) by (apply Rdiv_lt_0_compat; auto).
  rewrite power_mult by lra. apply Rmult_le_compat_l; [apply power_nonneg|].
  rewrite power_pos by auto. unfold Rpower. set (i := 1 / theta) in *.
  pose proof (exp_convex i (ln (a / s)) 0 ltac:(lra)). rewrite exp_0, (exp_ln (a / s)) in H by auto.
  replace (i * ln (a / s) + (1 - i) * 0) with (i * ln (a / s)) in H by ring. lra.
Qed.

Lemma one_minus_inv theta : 1 < theta -> 0 < 1 / theta < 1.
Proof.
  intros. split; [apply Rdiv_lt_0_compat; lra|]. apply Rmult_lt_reg_r with theta; [lra|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.

Lemma jensen_at {A} (P : law A) v theta s : 1 < theta -> test v -> 0 < s ->
  P (fun a => power (v a) (1 / theta)) <= power s (1 / theta) * (1 / theta * (P v / s) + (1 - 1 / theta)).
Proof.
  intros Ht Hv Hs. pose proof (one_minus_inv theta Ht) as Hi.
  assert (Htest : test (fun a => power (v a) (1 / theta))) by (apply power_test; auto; lra).
  set (i := 1 / theta) in *.
  replace (power s i * (i * (P v / s) + (1 - i))) with (power s i * i / s * P v + power s i * (1 - i)) by (field; lra).
  apply E_le_affine; auto.
  - apply Rmult_le_pos; [apply Rmult_le_pos; [apply power_nonneg | lra] | left; apply Rinv_0_lt_compat; auto].
  - apply Rmult_le_pos; [apply power_nonneg | lra].
  - intros a. pose proof (young theta (v a) s Ht (proj1 (Hv a)) Hs) as Y. fold i in Y.
    replace (power s i * i / s * v a + power s i * (1 - i)) with (power s i * (i * (v a / s) + (1 - i))) by (field; lra). auto.
Qed.

(** Jensen: a concave power of the mean is at least the mean of the powers. *)
Lemma jensen {A} (P : law A) v theta : 1 < theta -> test v ->
  P (fun a => power (v a) (1 / theta)) <= power (P v) (1 / theta).
Proof.
  intros Ht Hv. pose proof (one_minus_inv theta Ht) as Hi.
  destruct (E_test P v Hv) as [[H0|H0] H1].
  - pose proof (jensen_at P v theta (P v) Ht Hv H0) as J.
    replace (P v / P v) with 1 in J by (field; lra). lra.
  - (* a mean of 0: every small s bounds it *)
    rewrite <- H0, power_0. apply le_epsilon. intros e He.
    assert (Hmin : 0 < Rmin e 1 <= 1) by (split; [apply Rmin_glb_lt; lra | apply Rmin_r]).
    assert (Hs : 0 < power (Rmin e 1) theta) by (apply power_gt0; lra).
    pose proof (jensen_at P v theta _ Ht Hv Hs) as J.
    rewrite power_inv, <- H0 in J by lra. unfold Rdiv at 3 in J. rewrite Rmult_0_l in J.
    pose proof (Rmin_l e 1). nra.
Qed.

(** The mean of u is at most the θ-mean. *)
Lemma mean_le {A} (P : law A) u theta : 1 < theta -> test u ->
  P u <= power (P (fun a => power (u a) theta)) (1 / theta).
Proof.
  intros Ht Hu. assert (Hp : test (fun a => power (u a) theta)) by (apply power_test; auto; lra).
  pose proof (jensen P _ theta Ht Hp) as J. cbv beta in J.
  rewrite (E_ext P (fun a => power (power (u a) theta) (1 / theta)) u) in J; auto.
  intros a. apply power_inv; [apply Hu | lra].
Qed.
