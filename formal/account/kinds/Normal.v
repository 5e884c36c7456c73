(** The hockey-stick of μ-GDP. *)
Require Import Reals Lra Psatz.
From DP.base Require Import Laws Normal.
From DP Require Import Definitions.
From DP.conversions Require Import Points.
Open Scope R_scope.

Definition normal_stick (mu c : R) : R := (1 - Phi (ln c / mu - mu / 2)) - c * (1 - Phi (ln c / mu + mu / 2)).

Lemma normal_line mu c z : 0 < mu -> 0 < c -> Phi (z + mu) <= normal_stick mu c + c * Phi z.
Proof.
  intros Hmu Hc. pose proof (gaussian_point mu (ln c) z Hmu) as G. rewrite !Phi_opp, exp_ln in G by auto.
  unfold normal_stick. lra.
Qed.

Theorem gdp_stick {A} m (P Q : law A) f c : 0 < m -> gdp_cost m P Q -> test f -> 0 < c ->
  P f <= normal_stick (sqrt m) c + c * Q f.
Proof.
  intros Hm H Hf Hc. assert (Hmu : 0 < sqrt m) by (apply sqrt_lt_R0; auto). set (mu := sqrt m) in *.
  pose proof (E_test P f Hf) as Hp. pose proof (E_test Q f Hf) as Hq.
  apply le_epsilon. intros t Ht. destruct (Rle_dec 1 (Q f)) as [Hq1|Hq1].
  - destruct (Phi_to_1 t Ht) as [z [_ Hz]]. specialize (Hz (z + mu) ltac:(lra)).
    pose proof (normal_line mu c z Hmu Hc). pose proof (Phi_range z). assert (Q f = 1) as -> by lra. nra.
  - set (x := Rmin (Q f + t / c) ((Q f + 1) / 2)).
    assert (Htc : 0 < t / c) by (apply Rdiv_lt_0_compat; auto).
    assert (X : Q f <= x /\ 0 < x < 1 /\ x <= Q f + t / c).
    { unfold x. split; [apply Rmin_glb; lra|]. split; [split|apply Rmin_l].
      - apply Rmin_glb_lt; lra.
      - apply Rle_lt_trans with (1 := Rmin_r _ _). lra. }
    destruct X as [X1 [X2 X3]]. destruct (Phi_onto x X2) as [z Hz]. specialize (H f z Hf ltac:(lra)).
    pose proof (normal_line mu c z Hmu Hc) as G. rewrite Hz in G.
    assert (c * x <= c * Q f + t).
    { apply Rmult_le_compat_l with (r := c) in X3; [|lra].
      replace (c * (Q f + t / c)) with (c * Q f + t) in X3 by (field; lra). auto. }
    fold mu in H. lra.
Qed.
