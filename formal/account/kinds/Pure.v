(** The hockey-stick of (ε, δ)-privacy in both directions: a failure, or else randomised response. *)
Require Import Reals Lra Psatz.
From DP.base Require Import Laws.
From DP Require Import Definitions.
From DP.core Require Import Costs.
From DP.account Require Import Kinds.
Open Scope R_scope.

(** Of randomised response, where e = e^ε. *)
Definition response (e c : R) : R := Rmax 0 (Rmax (1 - c) ((e - c) / (1 + e))).

Lemma response_up e e' c : 0 <= e <= e' -> 0 <= c -> response e c <= response e' c.
Proof.
  intros He Hc. unfold response. apply Rmax_lub; [apply Rmax_l|]. apply Rle_trans with (2 := Rmax_r _ _).
  apply Rmax_lub; [apply Rmax_l|]. apply Rle_trans with (2 := Rmax_r _ _).
  replace ((e - c) / (1 + e)) with (1 - (1 + c) * / (1 + e)) by (field; lra).
  replace ((e' - c) / (1 + e')) with (1 - (1 + c) * / (1 + e')) by (field; lra).
  assert (/ (1 + e') <= / (1 + e)) by (apply Rinv_le_contravar; lra). nra.
Qed.

(** Two numbers: how likely an event is on either side. *)
Lemma failing_point e d c x y : 1 <= e -> 0 <= d <= 1 -> 0 <= c -> 0 <= x <= 1 -> 0 <= y <= 1 ->
  x <= e * y + d -> 1 - y <= e * (1 - x) + d -> x <= d + (1 - d) * response e c + c * y.
Proof.
  intros He Hd Hc Hx Hy H1 H2.
  assert (M0 : 0 <= response e c) by apply Rmax_l.
  assert (M1 : 1 - c <= response e c) by (eapply Rle_trans; [apply Rmax_l | apply Rmax_r]).
  assert (M2 : (e - c) / (1 + e) <= response e c) by (eapply Rle_trans; [apply Rmax_r | apply Rmax_r]).
  destruct (Rle_dec e c) as [L|L].
  { assert (e * y <= c * y) by nra. nra. }
  assert (G1 : (1 - d) * (1 - c) <= (1 - d) * response e c) by (apply Rmult_le_compat_l; lra).
  destruct (Rle_dec (c * e) 1) as [L1|L1].
  { assert (c * (e * (1 - x)) <= 1 - x) by nra. assert (c * (1 - y) <= c * (e * (1 - x) + d)) by nra. nra. }
  assert (G2 : (1 - d) * ((e - c) / (1 + e)) <= (1 - d) * response e c) by (apply Rmult_le_compat_l; lra).
  assert (e <> 1) by (intros ->; lra).
  assert (A : (c * e - 1) * (x - e * y - d) <= 0) by nra.
  assert (B : (e - c) * (1 - y - e + e * x - d) <= 0) by nra.
  assert (G : x - c * y <= d + (1 - d) * ((e - c) / (1 + e))); [|lra].
  apply Rmult_le_reg_r with (e * e - 1); [nra|].
  replace ((d + (1 - d) * ((e - c) / (1 + e))) * (e * e - 1)) with (d * (e * e - 1) + (1 - d) * (e - c) * (e - 1))
    by (field; lra). nra.
Qed.

Lemma failing_stick {A} epsilon delta (P Q : law A) : 0 <= epsilon -> 0 <= delta <= 1 ->
  failing_cost epsilon delta P Q -> failing_cost epsilon delta Q P ->
  forall f c, test f -> 0 <= c -> P f <= delta + (1 - delta) * response (exp epsilon) c + c * Q f.
Proof.
  intros He Hd HP HQ f c Hf Hc. apply failing_point; auto using E_test.
  - rewrite <- exp_0. apply exp_le. auto.
  - specialize (HQ _ (test_minus f Hf)). rewrite !E_minus in HQ by auto. auto.
Qed.

Lemma pure_failing {A} epsilon (P Q : law A) : pure_cost epsilon P Q -> failing_cost epsilon 0 P Q.
Proof. intros H f Hf. rewrite Rplus_0_r. auto. Qed.
