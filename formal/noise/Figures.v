(** Some numbers, enclosed by the proved arithmetic of decide/. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List.
From DP.base Require Import Normal.
From DP.core Require Import Costs.
From DP.decide Require Import Fixed Functions Tail Decide.
Import ListNotations.
Open Scope R_scope.

Lemma pi_low : 3141592 / 1000000 <= PI.
Proof.
  pose proof (pi_inside 32) as [L _]. unfold above in L.
  destruct (fst (pi 32)) as [z|] eqn:E; [|vm_compute in E; discriminate].
  vm_compute in E. injection E as <-. unfold unit_of in L. change (2 ^ 32)%Z with 4294967296%Z in L. lra.
Qed.

Lemma root_low : 25066 / 10000 <= sqrt (2 * PI) /\ 25066272 / 10000000 <= sqrt (2 * PI).
Proof.
  pose proof pi_low. assert (25066272 / 10000000 <= sqrt (2 * PI)); [|lra].
  apply Rsqr_incr_0_var; [|apply sqrt_pos]. rewrite Rsqr_sqrt by lra. unfold Rsqr. lra.
Qed.

Lemma exp_half : exp (- (1 / 2)) <= 6065307 / 10000000.
Proof.
  assert (H : at_most (Exp (Num (-1 # 2))) (6065307 # 10000000) = true) by (vm_compute; reflexivity).
  apply at_most_sound in H. cbn [eval] in H. unfold Q2R in H; simpl in H.
  replace (- (1 / 2)) with (-1 * / 2) by lra. lra.
Qed.

Lemma exp_three_halves : exp (- (3 / 2)) <= 2231302 / 10000000.
Proof.
  assert (H : at_most (Exp (Num (-3 # 2))) (2231302 # 10000000) = true) by (vm_compute; reflexivity).
  apply at_most_sound in H. cbn [eval] in H. unfold Q2R in H; simpl in H.
  replace (- (3 / 2)) with (-3 * / 2) by lra. lra.
Qed.

Lemma phi_0_half : phi 0 <= 1 / 2.
Proof.
  destruct root_low as [R _]. unfold phi. replace (- (0 * 0) / 2) with 0 by lra. rewrite exp_0.
  apply Rmult_le_reg_r with (sqrt (2 * PI)); [lra|]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l; lra.
Qed.

Lemma phi_1_twelfth : phi 1 / 12 <= 201643 / 10000000.
Proof.
  destruct root_low as [_ R]. pose proof exp_half as E. unfold phi. replace (- (1 * 1) / 2) with (- (1 / 2)) by lra.
  apply Rmult_le_reg_r with (sqrt (2 * PI)); [lra|].
  replace (exp (- (1 / 2)) / sqrt (2 * PI) / 12 * sqrt (2 * PI)) with (exp (- (1 / 2)) / 12) by (field; lra). lra.
Qed.

Lemma phi_root_3 : (phi 0 + 4 * phi (sqrt 3)) / 48 + 3 / 10000000 <= 1573 / 100000.
Proof.
  destruct root_low as [_ R]. pose proof exp_three_halves as E. unfold phi. rewrite sqrt_sqrt by lra.
  replace (- (0 * 0) / 2) with 0 by lra. replace (- (3) / 2) with (- (3 / 2)) by lra. rewrite exp_0.
  apply Rmult_le_reg_r with (sqrt (2 * PI)); [lra|].
  replace (((1 / sqrt (2 * PI) + 4 * (exp (- (3 / 2)) / sqrt (2 * PI))) / 48 + 3 / 10000000) * sqrt (2 * PI))
    with ((1 + 4 * exp (- (3 / 2))) / 48 + 3 / 10000000 * sqrt (2 * PI)) by (field; lra). lra.
Qed.

(** On [a, b], where the ends say so. *)
Definition height (a b : Q) : expr :=
  Minus (Plus (Num 1) (Over (Times (Num 2) (Exp (Num (- a)))) (Minus (Num 1) (Exp (Num (- (2 * a)))))))
        (Times (Num 2) (Exp (Num (- (b / 4))))).

Lemma piece (a b : Q) x : 0 < Q2R a -> Q2R a <= x <= Q2R b ->
  at_most (Minus (Num 0) (height a b)) 0 = true ->
  at_most (Times (Root (Num (b / (3141592 # 1000000)))) (height a b)) (345 # 1000) = true ->
  (1 + 2 * exp (- x) / (1 - exp (- (2 * x))) - 2 * exp (- (x / 4))) * sqrt (x / PI) <= 345 / 1000.
Proof.
  intros Ha Hx H0 H. apply at_most_sound in H0. apply at_most_sound in H. unfold height in H0, H. cbn [eval] in H0, H.
  rewrite !Q2R_opp, !Q2R_mult in H0, H. rewrite (Q2R_div b 4) in H0, H by (intros E; discriminate E).
  rewrite (Q2R_div b (3141592 # 1000000)) in H by (intros E; discriminate E).
  replace (Q2R 0) with 0 in * by (unfold Q2R; simpl; lra). replace (Q2R 1) with 1 in * by (unfold Q2R; simpl; lra).
  replace (Q2R 2) with 2 in * by (unfold Q2R; simpl; lra). replace (Q2R 4) with 4 in * by (unfold Q2R; simpl; lra).
  replace (Q2R (3141592 # 1000000)) with (3141592 / 1000000) in * by (unfold Q2R; simpl; lra).
  replace (Q2R (345 # 1000)) with (345 / 1000) in * by (unfold Q2R; simpl; lra).
  set (A := Q2R a) in *. set (B := Q2R b) in *. pose proof pi_low as HP.
  assert (E1 : exp (- x) <= exp (- A)) by (apply exp_le; lra).
    assert (E2 : exp (- (2 * x)) <= exp (- (2 * A))) by (apply exp_le; lra).
  assert (E3 : exp (- (B / 4)) <= exp (- (x / 4))) by (apply exp_le; lra).
  assert (E4 : exp (- (2 * A)) < 1) by (rewrite <- exp_0; apply exp_increasing; lra).
  pose proof (exp_pos (- x)) as P1.
  assert (E5 : 2 * exp (- x) / (1 - exp (- (2 * x))) <= 2 * exp (- A) / (1 - exp (- (2 * A)))).
  { unfold Rdiv. apply Rmult_le_compat; [lra | left; apply Rinv_0_lt_compat; lra | lra | apply Rinv_le_contravar;
    lra]. }
  assert (E6 : sqrt (x / PI) <= sqrt (B / (3141592 / 1000000))).
  { apply sqrt_le_1_alt. unfold Rdiv at 1 2.
    apply Rmult_le_compat; [lra | left; apply Rinv_0_lt_compat; lra | lra | apply Rinv_le_contravar; lra]. }
  pose proof (sqrt_pos (x / PI)).
  apply Rle_trans with ((1 + 2 * exp (- A) / (1 - exp (- (2 * A))) - 2 * exp (- (B / 4))) * sqrt (x / PI)).
  - apply Rmult_le_compat_r; lra.
  - apply Rle_trans with (2 := H). rewrite (Rmult_comm (sqrt _)). apply Rmult_le_compat_l; lra.
Qed.

(** The computations are done once, when the proof is checked. *)
Ltac shown := lazymatch goal with
  | |- at_most _ _ = true => vm_cast_no_check (eq_refl true)
  | |- _ => unfold Q2R; simpl; lra
  end.

Lemma height_small x : 2 <= x <= 4 ->
  (1 + 2 * exp (- x) / (1 - exp (- (2 * x))) - 2 * exp (- (x / 4))) * sqrt (x / PI) <= 345 / 1000.
Proof.
  intros Hx.
  destruct (Rle_dec x 3) as [H1|H1].
  { apply (piece 2 3); shown. }
  destruct (Rle_dec x (36 / 10)) as [H2|H2].
  { apply (piece 3 (36 # 10)); shown. }
  destruct (Rle_dec x (38 / 10)) as [H3|H3].
  { apply (piece (36 # 10) (38 # 10)); shown. }
  destruct (Rle_dec x (39 / 10)) as [H4|H4].
  { apply (piece (38 # 10) (39 # 10)); shown. }
  apply (piece (39 # 10) 4); shown.
Qed.
