(** A normal number of variance v, rounded to an integer: Gaussian private between integer shifts ([rounded_gdp]), and
    near the discrete Gaussian of the same variance ([rounded_near]). *)
Require Import Reals ZArith Lra Lia Psatz List.
From Coquelicot Require Import Coquelicot.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Definitions.
From DP.core Require Import Costs Odds Layers Squares.
From DP.conversions Require Import Weights.
From DP.noise Require Import Discrete Middles Thetas Figures.
Import ListNotations.
Open Scope R_scope.

Section Rounded.
  Variable v : R.
  Hypothesis Hv : 0 < v.
  Let d := step v.
  Definition part (k : Z) : R := cell d (IZR k).

  Lemma d_pos : 0 < d.
  Proof. apply step_pos; auto. Qed.

  Lemma part_nonneg k : 0 <= part k.
  Proof.
    pose proof d_pos. unfold part, cell. assert (Phi (d * (IZR k - 1 / 2)) <= Phi (d * (IZR k + 1 / 2))); [|lra].
    apply Phi_le. apply Rmult_le_compat_l; lra.
  Qed.

  Lemma parts_moved x r : total (fun k => part (k - x)) (around r) = covers_to d (- IZR x) r.
  Proof. rewrite <- cells_sum. apply total_ext. intros k _. unfold part. rewrite minus_IZR. reflexivity. Qed.

  Lemma parts_sum r : total part (around r) = covers_to d 0 r.
  Proof. rewrite <- cells_sum. apply total_ext. intros k _. unfold part. rewrite Rplus_0_r. reflexivity. Qed.

  Lemma part_summable : summable part.
  Proof.
    split; [apply part_nonneg|]. exists 1. intros l Hl. destruct (covered l) as [r Hr].
    apply Rle_trans with (total part (around r)); [apply total_incl; auto; apply part_nonneg|].
    rewrite parts_sum. apply covers_most.
  Qed.

  Lemma part_one : usum part = 1.
  Proof.
    apply Rle_antisym.
    - apply usum_least; [apply part_summable|]. intros l Hl. destruct (covered l) as [r Hr].
      apply Rle_trans with (total part (around r)); [apply total_incl; auto; apply part_nonneg|].
      rewrite parts_sum. apply covers_most.
    - apply le_epsilon. intros t Ht. destruct (covers_near d 0 t d_pos Ht) as [r Hr]. specialize (Hr r (le_n r)).
      pose proof (usum_ub part (around r) part_summable (around_once r)) as U. rewrite parts_sum in U. lra.
  Qed.

  Lemma part_pos : 0 < usum part.
  Proof. rewrite part_one. lra. Qed.

  Definition rounded : law Z := weighted part part_summable part_pos.

  Lemma rounded_mean f : rounded f = usum (fun k => part k * f k).
  Proof. simpl. rewrite part_one. field. Qed.

  Lemma rounded_low f L : test f -> NoDup L -> total (fun k => part k * f k) L <= rounded f.
  Proof. intros Hf HL. rewrite rounded_mean. apply usum_ub; auto. apply summable_test; auto. apply part_summable. Qed.

  Lemma rounded_even f : test f -> rounded (fun k => f (- k)%Z) = rounded f.
  Proof.
    intros Hf. rewrite !rounded_mean.
    rewrite <- (usum_rename (fun k => part k * f k) Z.opp Z.opp) by (try (intros; lia); apply summable_test; auto;
      apply part_summable).
    apply usum_ext. intros k. f_equal. unfold part, cell. rewrite opp_IZR.
    replace (d * (- IZR k + 1 / 2)) with (- (d * (IZR k - 1 / 2))) by ring.
    replace (d * (- IZR k - 1 / 2)) with (- (d * (IZR k + 1 / 2))) by ring. rewrite !Phi_opp. ring.
  Qed.

  Lemma rounded_moved f x : test f -> image (Z.add x) rounded f = usum (fun k => part (k - x) * f k).
  Proof.
    intros Hf. change (image (Z.add x) rounded f) with (rounded (fun k => f (x + k)%Z)). rewrite rounded_mean.
    rewrite <- (usum_rename (fun k => part k * f (x + k)%Z) (fun k => (k - x)%Z) (fun k => (k + x)%Z)).
    - apply usum_ext. intros k. do 2 f_equal. lia.
    - intros; lia.
    - intros; lia.
    - apply (summable_test part (fun k => f (x + k)%Z)); [apply part_summable | intros k; apply Hf].
  Qed.

  Lemma moved_summable f x : test f -> summable (fun k => part (k - x) * f k).
  Proof.
    intros Hf. apply summable_test; auto.
    apply (summable_rename part (fun k => (k - x)%Z) (fun k => (k + x)%Z)); try (intros; lia). apply part_summable.
  Qed.

  Lemma moved_low f x r : test f -> total (fun k => part (k - x) * f k) (around r) <= image (Z.add x) rounded f.
  Proof. intros Hf. rewrite rounded_moved by auto. apply usum_ub; [apply moved_summable; auto | apply around_once].
    Qed.

  Lemma moved_high f x r t : test f -> 1 - t <= covers_to d (- IZR x) r ->
    image (Z.add x) rounded f <= total (fun k => part (k - x) * f k) (around r) + t.
  Proof.
    intros Hf Hr. pose proof (moved_low _ x r (test_minus f Hf)) as G. rewrite E_minus in G by auto.
    rewrite (total_ext _ (fun k => part (k - x) - part (k - x) * f k)) in G by (intros; ring).
    rewrite total_minus, parts_moved in G. lra.
  Qed.

  (* -------------------------------------------------------------- Neyman and Pearson *)

  Section Larger.
    Variables (mu z : R).
    Hypothesis Hmu : 0 < mu.
    Let t := exp (- (mu * z + mu * mu / 2)).
    Let Psi w := Phi (w - mu) - t * Phi w.
    Let up w := Psi (Rmax w (- z)).

    Lemma Psi_derive w : is_derive Psi w (phi w * (exp (w * mu - mu * mu / 2) - t)).
    Proof.
      unfold Psi. apply (derive_eq _ _ (1 * phi (w + - mu) - t * phi w)).
      - apply (is_derive_minus (fun w => Phi (w - mu)) (fun w => t * Phi w)); [|apply is_derive_scal, Phi_derive].
        apply (is_derive_ext (fun w => 1 * Phi (w + - mu))); [intros; inR; unfold Rminus;
          ring | apply Layers.Phi_moved_derive].
      - rewrite phi_shift. replace (- (w * - mu + - mu * - mu / 2)) with (w * mu - mu * mu / 2) by field. inR. ring.
    Qed.

    Lemma Psi_up x y : - z <= x <= y -> Psi x <= Psi y.
    Proof.
      intros [Hx Hxy]. apply (grows Psi (fun w => phi w * (exp (w * mu - mu * mu / 2) - t))); auto; intros w Hw;
        [apply Psi_derive|].
      pose proof (phi_pos w). apply Rmult_le_pos; [lra|]. assert (t <= exp (w * mu - mu * mu / 2)); [|lra].
        apply exp_le. nra.
    Qed.

    Lemma Psi_down x y : x <= y <= - z -> Psi y <= Psi x.
    Proof.
      intros [Hxy Hy]. apply (falls Psi (fun w => phi w * (exp (w * mu - mu * mu / 2) - t))); auto; intros w Hw;
        [apply Psi_derive|].
      pose proof (phi_pos w). assert (exp (w * mu - mu * mu / 2) <= t) by (apply exp_le; nra). nra.
    Qed.

    Lemma up_least w : Psi (- z) <= up w.
    Proof. unfold up. apply Psi_up. split; [lra | apply Rmax_r]. Qed.

    Lemma up_most w : up w <= 1 - t.
    Proof.
      assert (Ht : 0 < t) by apply exp_pos. unfold up. apply le_epsilon. intros e He.
      destruct (Phi_to_1 (e / t)) as [b [Hb HB]]; [apply Rdiv_lt_0_compat; auto|].
      apply Rle_trans with (Psi (Rmax (Rmax w (- z)) b)).
      - apply Psi_up. split; [apply Rmax_r | apply Rmax_l].
      - specialize (HB (Rmax (Rmax w (- z)) b) (Rmax_r _ _)). unfold Psi.
        pose proof (Phi_range (Rmax (Rmax w (- z)) b - mu)). apply Rmult_lt_compat_l with (r := t) in HB; auto.
        replace (t * (1 - e / t)) with (t - e) in HB by (field; lra). lra.
    Qed.

    Lemma up_cell x y : x <= y -> 0 <= up y - up x /\ Psi y - Psi x <= up y - up x.
    Proof.
      intros Hxy. unfold up. split.
      - assert (Psi (Rmax x (- z)) <= Psi (Rmax y (- z))); [|lra]. apply Psi_up. split; [apply Rmax_r|].
        apply Rmax_lub; [apply Rle_trans with y; auto; apply Rmax_l | apply Rmax_r].
      - destruct (Rle_dec x (- z)) as [Hx|Hx]; destruct (Rle_dec y (- z)) as [Hy|Hy].
        + rewrite !Rmax_right by lra. pose proof (Psi_down x y ltac:(lra)). lra.
        + rewrite (Rmax_right x), (Rmax_left y) by lra. pose proof (Psi_down x (- z) ltac:(lra)). lra.
        + lra.
        + rewrite !Rmax_left by lra. lra.
    Qed.

    Lemma larger_gdp f x y : test f -> mu = d * (IZR x - IZR y) -> image (Z.add y) rounded f <= Phi z ->
      image (Z.add x) rounded f <= Phi (z + mu).
    Proof.
      intros Hf Emu HQ. assert (Ht : 0 < t) by apply exp_pos. pose proof d_pos as Hd. apply le_epsilon. intros e He.
      destruct (covers_near d (- IZR x) e Hd He) as [r Hr]. specialize (Hr r (le_n r)).
      pose proof (moved_high f x r e Hf Hr) as HP. pose proof (moved_low f y r Hf) as HQ'.
      assert (G : total (fun k => part (k - x) * f k) (around r) - t * total (fun k => part (k - y) * f k)
        (around r) <= 1 - t - Psi (- z)).
      { rewrite <- total_scale, <- total_minus.
        apply Rle_trans with (total (fun k => up (d * (IZR k + - IZR y + 1 / 2)) - up (d *
          (IZR k + - IZR y - 1 / 2))) (around r)).
        - apply total_le. intros k _.
          destruct (up_cell (d * (IZR k + - IZR y - 1 / 2)) (d * (IZR k + - IZR y + 1 / 2))) as [U1 U2];
            [apply Rmult_le_compat_l; lra|].
          replace (part (k - x) * f k - t * (part (k - y) * f k)) with (f k * (part (k - x) - t * part (k - y)))
            by ring.
          replace (part (k - x) - t * part (k - y)) with (Psi (d * (IZR k + - IZR y + 1 / 2)) - Psi (d *
            (IZR k + - IZR y - 1 / 2))).
          + specialize (Hf k). nra.
          + unfold Psi, part, cell. rewrite !minus_IZR, Emu.
            replace (d * (IZR k + - IZR y + 1 / 2) - d * (IZR x - IZR y)) with (d * (IZR k - IZR x + 1 / 2)) by ring.
            replace (d * (IZR k + - IZR y - 1 / 2) - d * (IZR x - IZR y)) with (d * (IZR k - IZR x - 1 / 2)) by ring.
            unfold Rminus. ring.
        - rewrite (around_telescope (fun s => up (d * s)) (- IZR y) r).
          pose proof (up_most (d * (INR r + - IZR y + 1 / 2))).
            pose proof (up_least (d * (- INR r + - IZR y - 1 / 2))). lra. }
      unfold Psi in G. replace (- z - mu) with (- (z + mu)) in G by ring. rewrite !Phi_opp in G. nra.
    Qed.
  End Larger.

  Theorem rounded_gdp x y : gdp_cost ((IZR x - IZR y) * (IZR x - IZR y) / v) (image (Z.add x) rounded) (image
    (Z.add y) rounded).
  Proof.
    intros f z Hf HQ. pose proof d_pos as Hd.
    assert (Hmu : sqrt ((IZR x - IZR y) * (IZR x - IZR y) / v) = d * Rabs (IZR x - IZR y)).
    { apply sqrt_lem_1.
      - apply Rdiv_le_0_compat; auto. apply Rle_0_sqr.
      - apply Rmult_le_pos; [lra | apply Rabs_pos].
      - replace (d * Rabs (IZR x - IZR y) * (d * Rabs (IZR x - IZR y))) with (d * d * (Rabs (IZR x - IZR y) * Rabs
        (IZR x - IZR y))) by ring.
        unfold d. rewrite step_square by auto. rewrite <- Rabs_mult, Rabs_right by (apply Rle_ge, Rle_0_sqr).
          field. lra. }
    rewrite Hmu. destruct (Rtotal_order (IZR x) (IZR y)) as [H|[H|H]].
    - rewrite Rabs_left by lra.
      assert (E : forall u, image (Z.add u) rounded f = image (Z.add (- u)) rounded (fun k => f (- k)%Z)).
      { intros u. change (rounded (fun k => f (u + k)%Z) = rounded (fun k => f (- (- u + k))%Z)).
        rewrite <- (rounded_even (fun k => f (u + k)%Z)) by (intros k; apply Hf). apply E_ext. intros k. f_equal.
          lia. }
      rewrite E in HQ |- *. apply (larger_gdp (d * - (IZR x - IZR y)) z ltac:(nra)) with (y := (- y)%Z); auto.
      + intros k; apply Hf.
      + rewrite !opp_IZR. ring.
    - rewrite H, Rminus_diag_eq, Rabs_R0, Rmult_0_r, Rplus_0_r by auto. apply eq_IZR in H. subst. auto.
    - rewrite Rabs_right by lra. apply (larger_gdp (d * (IZR x - IZR y)) z ltac:(nra)) with (y := y); auto.
  Qed.

  (* -------------------------------------------------------------- near the discrete one *)

  Definition off : R := (error v + 6 / 10000000 / (v * v)) / 2.

  Lemma above_rounded N f : 1 <= v -> discrete_normal v N -> test f -> N f <= rounded f + off.
  Proof.
    intros Hv1 [Hw [HW HN]] Hf. pose proof d_pos as Hd. pose proof (weight_pos v Hv) as Hc.
    assert (Ew : forall k, exp (- (IZR k * IZR k) / (2 * v)) = hills v 0 k) by (intros k; unfold hills, bell;
      rewrite !Rminus_0_r; auto).
    rewrite (usum_ext _ _ Ew) in HW, HN. apply (summable_ext _ _ Ew) in Hw.
    set (W := usum (hills v 0)) in *. set (c := step v / sqrt (2 * PI)) in *.
    destruct (theta_one v Hv1) as [T1 T2]. unfold theta in T1, T2. fold W c in T1, T2.
    apply le_epsilon. intros e He. set (t := e / 2).
    destruct (usum_approx (hills v 0) (t * W) Hw) as [L [HL HLW]]; [apply Rmult_lt_0_compat; auto; unfold t; lra|].
    destruct (covered L) as [r1 Hr1]. destruct (covers_near d 0 t Hd ltac:(unfold t; lra)) as [r2 Hr2].
    set (r := Nat.max r1 r2). specialize (Hr2 r ltac:(lia)).
    assert (HWr : W - t * W <= total (hills v 0) (around r)).
    { left. apply Rlt_le_trans with (1 := HLW). apply total_incl; auto; [intros; left; apply exp_pos|].
      intros k Hk. apply Hr1, around_in in Hk. apply around_in. lia. }
    assert (A : N f <= t + total (fun k => hills v 0 k * f k) (around r) * c).
    { pose proof (HN _ (test_minus f Hf)) as H1. rewrite E_minus in H1 by auto.
      assert (U : total (fun k => hills v 0 k * (1 - f k)) (around r) <=
        usum (fun a => exp (- (IZR a * IZR a) / (2 * v)) * (1 - f a))).
      { rewrite (usum_ext _ (fun a => hills v 0 a * (1 - f a))) by (intros; rewrite Ew; auto).
        apply usum_ub; [apply (summable_test (hills v 0)); auto using test_minus | apply around_once]. }
      rewrite <- H1 in U. rewrite (total_ext _ (fun k => hills v 0 k - hills v 0 k * f k)) in U by (intros; ring).
        rewrite total_minus in U.
      set (S := total (fun k => hills v 0 k * f k) (around r)) in *.
      assert (HS : 0 <= S) by (apply total_nonneg; intros k _; specialize (Hf k); pose proof (hills_pos v 0 k); nra).
      apply Rmult_le_reg_r with W; auto. nra. }
    assert (B : total (fun k => part k * f k) (around r) <= rounded f) by (apply rounded_low; auto;
      apply around_once).
    assert (C : total (fun k => hills v 0 k * f k) (around r) * c - total (fun k => part k * f k) (around r)
      <= / 2 * (total (fun k => Rabs (cell d (IZR k + 0) - d * phi (d * (IZR k + 0)))) (around r)
           + (total (hills v 0) (around r) * c - total part (around r)))).
    { rewrite !(Rmult_comm _ c), <- !total_scale, <- !total_minus, <- total_plus, <- total_scale. apply total_le.
      intros k _.
      specialize (Hf k). pose proof (hills_density v 0 k Hv) as HD. fold c in HD. rewrite Ropp_0 in HD.
        fold d in HD. rewrite HD.
      rewrite !Rplus_0_r. fold (part k).
      pose proof (Rle_abs (part k - hills v 0 k * c)). pose proof (Rabs_maj2 (part k - hills v 0 k * c)).
      set (x := Rabs (part k - hills v 0 k * c)) in *. set (h := hills v 0 k * c) in *.
      replace (c * (hills v 0 k * f k)) with (h * f k) by (unfold h; ring).
        replace (c * hills v 0 k) with h by (unfold h; ring). nra. }
    pose proof (cells_near d 0 r Hd) as D. fold (error v) in D.
    pose proof (theta_part v 0 r Hv) as E1. unfold theta in E1. fold W c in E1. rewrite parts_sum in C.
    change (d * d * d * most_of d / 24) with (error v) in D. unfold off, t in *. lra.
  Qed.

  Theorem rounded_near N : 1 <= v -> discrete_normal v N -> near_cost off N rounded.
  Proof.
    intros Hv1 HN f Hf. pose proof (above_rounded N f Hv1 HN Hf).
      pose proof (above_rounded N _ Hv1 HN (test_minus f Hf)) as G.
    rewrite !E_minus in G by auto. lra.
  Qed.

  Theorem off_small : 1 <= v -> off <= 201643 / 10000000 / v + 1573 / 100000 / (v * sqrt v).
  Proof.
    intros Hv1. unfold off, error, most_of. fold d. pose proof d_pos as Hd.
      assert (Hs : 0 < sqrt v) by (apply sqrt_lt_R0; auto).
    assert (E2 : / v = d * d) by (unfold d; rewrite step_square; auto).
    assert (E3 : / (v * sqrt v) = d * d * d) by (rewrite Rinv_mult, E2; unfold d, step; ring).
    assert (E4 : / (v * v) = d * d * d * d) by (rewrite Rinv_mult, E2; ring).
    assert (Hd1 : d <= 1).
    { unfold d, step. rewrite <- Rinv_1. apply Rinv_le_contravar; [lra|]. rewrite <- sqrt_1.
      apply sqrt_le_1_alt; auto. }
    unfold Rdiv. rewrite E2, E3, E4.
    pose proof phi_1_twelfth as P1. pose proof phi_root_3 as P3.
    set (a := phi 1) in *. set (b := phi 0 + 4 * phi (sqrt 3)) in *.
    replace (d * d * d * (4 * a * / d + b) * / 24) with (d * d * (a / 6) + d * d * d * (b / 24)) by (field; lra).
    assert (0 < d * d) by nra. assert (0 < d * d * d) by nra. assert (d * d * d * d <= d * d * d) by nra. nra.
  Qed.
End Rounded.
