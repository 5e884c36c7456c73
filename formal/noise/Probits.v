(** What Phi(a + bX) is on average where X is normal: what somebody knows who adds a noisy number to what he saw before.

    Of X only the chances of half-lines are known, and expectations need only be finitely additive.  So the mean of
    phi(a + bX) is found first: up to a number x it is an integral with a known antiderivative. *)
Require Import Reals Lra Lia Psatz List.
From Coquelicot Require Import Hierarchy Derive AutoDerive Rcomplements.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Definitions Meaning.
From DP.core Require Import Costs.
From DP.noise Require Import Normals.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- the density *)

Lemma phi_below_one z : phi z < 1.
Proof.
  unfold phi. pose proof root_pos. assert (1 < sqrt (2 * PI)).
  { rewrite <- sqrt_1. apply sqrt_lt_1; try lra; pose proof PI2_3_2; unfold PI2 in *; lra. }
  assert (exp (- (z * z) / 2) <= 1) by (rewrite <- exp_0; apply exp_le; nra).
  apply Rmult_lt_reg_r with (sqrt (2 * PI)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Lemma slope_small z : Rabs (- z * phi z) <= 1.
Proof.
  rewrite Rabs_mult, Rabs_Ropp, (Rabs_right (phi z)) by (left; apply phi_pos).
  unfold phi. pose proof root_pos. assert (1 < sqrt (2 * PI)).
  { rewrite <- sqrt_1. apply sqrt_lt_1; try lra; pose proof PI2_3_2; unfold PI2 in *; lra. }
  assert (E : Rabs z * exp (- (z * z) / 2) <= 1).
  { assert (exp (- (z * z) / 2) * exp (z * z / 2) = 1) by (rewrite <- exp_plus, <- exp_0; f_equal; lra).
    assert (1 + z * z / 2 <= exp (z * z / 2)).
    { destruct (Req_dec (z * z / 2) 0) as [->|N]; [rewrite exp_0; lra | left; apply exp_ineq1; auto]. }
    assert (Z : Rabs z * Rabs z = z * z) by (rewrite <- Rabs_mult; apply Rabs_right, Rle_ge, Rle_0_sqr).
    pose proof (exp_pos (- (z * z) / 2)). pose proof (Rabs_pos z).
    assert (Rabs z <= 1 + z * z / 2) by (rewrite <- Z; pose proof (Rle_0_sqr (Rabs z - 1)) as Q; unfold Rsqr in Q; lra).
    assert (Rabs z * exp (- (z * z) / 2) <= (1 + z * z / 2) * exp (- (z * z) / 2)) by (apply Rmult_le_compat_r; lra).
    assert ((1 + z * z / 2) * exp (- (z * z) / 2) <= exp (z * z / 2) * exp (- (z * z) / 2)) by (apply
      Rmult_le_compat_r; lra). lra. }
  pose proof (Rabs_pos z). pose proof (exp_pos (- (z * z) / 2)).
  apply Rmult_le_reg_r with (sqrt (2 * PI)); [lra|]. unfold Rdiv.
  rewrite !Rmult_assoc, Rinv_l, Rmult_1_r by lra. fold (Rdiv (- (z * z)) 2). lra.
Qed.

Lemma phi_steady u v : Rabs (phi u - phi v) <= Rabs (u - v).
Proof.
  destruct (MVT_gen phi v u (fun z => - z * phi z)) as [c [_ E]].
  - intros z _. apply phi_derive.
  - intros z _. apply continuity_pt_filterlim, phi_continuous.
  - rewrite E, Rabs_mult. pose proof (slope_small c). pose proof (Rabs_pos (u - v)). nra.
Qed.

Lemma Phi_step u h : Rabs (Phi (u + h) - Phi u - h * phi u) <= h * h.
Proof.
  destruct (MVT_gen Phi u (u + h) phi) as [c [Hc E]].
  - intros z _. apply Phi_derive.
  - intros z _. apply continuity_pt_filterlim, Phi_continuous.
  - rewrite E. replace (phi c * (u + h - u) - h * phi u) with (h * (phi c - phi u)) by ring. rewrite Rabs_mult.
    pose proof (phi_steady c u). assert (Rabs (c - u) <= Rabs h).
    { unfold Rmin, Rmax in Hc.
    destruct (Rle_dec u (u + h)); unfold Rabs; destruct (Rcase_abs (c - u)), (Rcase_abs h); lra. }
    replace (h * h) with (Rabs h * Rabs h) by (rewrite <- Rabs_mult; apply Rabs_right, Rle_ge, Rle_0_sqr).
    apply Rmult_le_compat_l; [apply Rabs_pos | lra].
Qed.

Lemma Phi_slow u v : Rabs (Phi u - Phi v) <= Rabs (u - v).
Proof.
  destruct (MVT_gen Phi v u phi) as [c [_ E]].
  - intros z _. apply Phi_derive.
  - intros z _. apply continuity_pt_filterlim, Phi_continuous.
  - rewrite E, Rabs_mult, (Rabs_right (phi c)) by (left; apply phi_pos). pose proof (phi_below_one c).
    pose proof (phi_pos c).
    pose proof (Rabs_pos (u - v)). nra.
Qed.

Lemma Phi_test {A} (f : A -> R) : test (fun x => Phi (f x)).
Proof. intros x. destruct (Phi_range (f x)). lra. Qed.

Lemma phi_test {A} (f : A -> R) : test (fun x => phi (f x)).
Proof. intros x. pose proof (phi_pos (f x)). pose proof (phi_below_one (f x)). lra. Qed.

(** A derivative, from an error that is of second order. *)
Lemma derive_by_squares f x l c : 0 <= c -> (forall h,
  Rabs h <= 1 -> Rabs (f (x + h) - f x - h * l) <= c * (h * h)) -> is_derive f x l.
Proof.
  intros Hc HE. apply is_derive_Reals. intros e He.
  assert (D : 0 < Rmin 1 (e / (c + 1))) by (apply Rmin_pos; [lra | apply Rdiv_lt_0_compat; lra]).
  exists (mkposreal _ D). intros h Hh Hs. simpl in Hs.
  pose proof (Rmin_l 1 (e / (c + 1))). pose proof (Rmin_r 1 (e / (c + 1))). specialize (HE h ltac:(lra)).
  replace ((f (x + h) - f x) / h - l) with ((f (x + h) - f x - h * l) / h) by (field; auto).
  unfold Rdiv. rewrite Rabs_mult, Rabs_inv. assert (P : 0 < Rabs h) by (apply Rabs_pos_lt; auto).
  assert (HH : h * h = Rabs h * Rabs h) by (rewrite <- Rabs_mult; symmetry; apply Rabs_right, Rle_ge, Rle_0_sqr).
  rewrite HH in HE.
  apply Rmult_lt_reg_r with (Rabs h); auto. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  assert ((c + 1) * Rabs h < e).
  { apply Rmult_lt_reg_r with (/ (c + 1)); [apply Rinv_0_lt_compat; lra|].
  replace ((c + 1) * Rabs h * / (c + 1)) with (Rabs h) by (field; lra).
    apply Rlt_le_trans with (1 := Hs). exact H0. }
  nra.
Qed.

(* ---------------------------------------------------------------- means *)

Section Standard.
  Variable X : law R.
  Hypothesis HX : forall a, X (upto a) = Phi a.

  Definition mean_upto (f : R -> R) x := X (fun t => f t * upto x t).

  Lemma parted f x : test f -> X f = mean_upto f x + X (fun t => f t * (1 - upto x t)).
  Proof.
    intros Hf. unfold mean_upto.
    rewrite <- E_plus; auto using test_mult, test_minus, upto_test; [apply E_ext; intros; ring|].
    intros t. pose proof (Hf t). unfold upto. destruct (Rle_dec t x); lra.
  Qed.

  (** Between two numbers a test that keeps near c has that mean, but for so much. *)
  Lemma between f c e x y : test f -> 0 <= c <= 1 -> 0 <= e -> x <= y -> (forall t,
    x <= t <= y -> Rabs (f t - c) <= e) ->
    Rabs (mean_upto f y - mean_upto f x - c * (Phi y - Phi x)) <= e * (Phi y - Phi x).
  Proof.
    intros Hf Hc He Hxy HN. set (g := fun t => upto y t - upto x t).
    assert (G01 : forall t, (g t = 0) \/ (g t = 1 /\ x <= t <= y)).
    { intros t. unfold g, upto. destruct (Rle_dec t y), (Rle_dec t x); lra. }
    assert (Tg : test g) by (intros t; destruct (G01 t) as [->|[-> _]]; lra).
    assert (Add : forall k,
      test k -> X (fun t => k t * upto y t) = X (fun t => k t * upto x t) + X (fun t => k t * g t)).
    { intros k Hk. rewrite <- E_plus; auto using test_mult, upto_test; [apply E_ext; intros; unfold g; ring|].
      intros t. pose proof (Hk t). unfold g, upto. destruct (Rle_dec t y), (Rle_dec t x); lra. }
    assert (EG : X g = Phi y - Phi x).
    { pose proof (Add (fun _ => 1) ltac:(intros t; lra)) as A. cbv beta in A. rewrite <- !HX.
      rewrite (E_ext X (fun t => 1 * upto y t) (upto y)), (E_ext X (fun t => 1 * upto x t) (upto x)) in A by (intros;
        ring).
      rewrite (E_ext X (fun t => 1 * g t) g) in A by (intros; ring). lra. }
    unfold mean_upto. rewrite (Add f Hf), <- EG.
    assert (U : X (fun t => f t * g t) <= (c + e) * X g).
    { apply E_le_scale; auto using test_mult; [lra|]. intros t. destruct (G01 t) as [->|[-> Ht]]; [lra|].
      specialize (HN t Ht). apply Rabs_le_between in HN. lra. }
    assert (L : X (fun t => (1 - f t) * g t) <= ((1 - c) + e) * X g).
    { apply E_le_scale; auto using test_mult, test_minus; [lra|]. intros t. destruct (G01 t) as [->|[-> Ht]]; [lra|].
      specialize (HN t Ht). apply Rabs_le_between in HN. lra. }
    assert (S : X g = X (fun t => f t * g t) + X (fun t => (1 - f t) * g t)).
    { rewrite <- E_plus; auto using test_mult, test_minus; [apply E_ext; intros; ring|].
      intros t. replace (f t * g t + (1 - f t) * g t) with (g t) by ring. auto. }
    apply Rabs_le. lra.
  Qed.

  Lemma mean_upto_derive f L x : test f -> 0 <= L -> (forall t u, Rabs (f t - f u) <= L * Rabs (t - u)) ->
    is_derive (mean_upto f) x (f x * phi x).
  Proof.
    intros Hf HL HS. apply derive_by_squares with (L + 1); [lra|]. intros h _.
    pose proof (Phi_step x h) as P. pose proof (Phi_slow (x + h) x) as Q. replace (x + h - x) with h in Q by ring.
    assert (M : Rabs (mean_upto f (x + h) - mean_upto f x - f x * (Phi (x + h) - Phi x)) <= L * (h * h)).
    { assert (HH : h * h = Rabs h * Rabs h) by (rewrite <- Rabs_mult; symmetry; apply Rabs_right, Rle_ge, Rle_0_sqr).
      destruct (Rle_dec 0 h) as [H0|H0].
      - apply Rle_trans with (L * h * (Phi (x + h) - Phi x)).
        + apply between; auto; [nra | lra|]. intros t Ht. apply Rle_trans with (1 := HS t x).
          apply Rmult_le_compat_l; auto. apply Rabs_le. lra.
        + apply Rabs_le_between in Q. rewrite (Rabs_right h) in Q by lra. rewrite Rmult_assoc.
          apply Rmult_le_compat_l; auto. nra.
      - rewrite <- Rabs_Ropp. replace (- (mean_upto f (x + h) - mean_upto f x - f x * (Phi (x + h) - Phi x)))
          with (mean_upto f x - mean_upto f (x + h) - f x * (Phi x - Phi (x + h))) by ring.
        apply Rle_trans with (L * (- h) * (Phi x - Phi (x + h))).
        + apply between; auto; [nra | lra|]. intros t Ht. apply Rle_trans with (1 := HS t x).
          apply Rmult_le_compat_l; auto. apply Rabs_le. lra.
        + apply Rabs_le_between in Q. rewrite (Rabs_left h) in Q by lra. rewrite Rmult_assoc.
          apply Rmult_le_compat_l; auto. nra. }
    replace (mean_upto f (x + h) - mean_upto f x - h * (f x * phi x)) with
      ((mean_upto f (x + h) - mean_upto f x - f x * (Phi (x + h) - Phi x)) + f x * (Phi (x + h) - Phi x - h * phi x))
        by ring.
    apply Rle_trans with (1 := Rabs_triang _ _). rewrite (Rabs_mult (f x)), (Rabs_right (f x)) by (apply Rle_ge, Hf).
    pose proof (Hf x). pose proof (Rabs_pos (Phi (x + h) - Phi x - h * phi x)). nra.
  Qed.

  Lemma small_is_zero x k : 0 <= k -> (forall t, 0 < t -> Rabs x <= k * t) -> x = 0.
  Proof.
    intros Hk HT. destruct (Req_dec x 0) as [|N]; auto. exfalso. assert (P : 0 < Rabs x) by (apply Rabs_pos_lt; auto).
    specialize (HT (Rabs x / (2 * (k + 1))) ltac:(apply Rdiv_lt_0_compat; lra)).
    assert (k * (Rabs x / (2 * (k + 1))) < Rabs x); [|lra]. apply Rmult_lt_reg_r with (2 * (k + 1)); [lra|].
    replace (k * (Rabs x / (2 * (k + 1))) * (2 * (k + 1))) with (k * Rabs x) by (field; lra). nra.
  Qed.

  (** The mean of the density at a + bX. *)
  Lemma mean_density a b : let D := sqrt (1 + b * b) in X (fun x => phi (a + b * x)) = phi (a / D) / D.
  Proof.
    intros D. set (f := fun x => phi (a + b * x)). set (C := phi (a / D) / D). set (w := a * b / D).
    assert (D2 : D * D = 1 + b * b) by (apply sqrt_sqrt; nra). assert (D0 : 0 < D) by (apply sqrt_lt_R0; nra).
    assert (Tf : test f) by apply phi_test.
    assert (C0 : 0 < C) by (apply Rdiv_lt_0_compat; [apply phi_pos | auto]).
    assert (HK : forall x y, mean_upto f x - C * Phi (D * x + w) = mean_upto f y - C * Phi (D * y + w)).
    { intros x y. apply (constant (fun x => mean_upto f x - C * Phi (D * x + w))). intros z.
      apply derive_eq with (f z * phi z - C * (D * phi (D * z + w))).
      - apply (is_derive_minus (V := R_NormedModule) (mean_upto f) (fun x => C * Phi (D * x + w))).
        + apply mean_upto_derive with (Rabs b); auto; [apply Rabs_pos|]. intros t u. unfold f.
          apply Rle_trans with (1 := phi_steady _ _). replace (a + b * t - (a + b * u)) with (b * (t - u)) by ring.
          rewrite Rabs_mult. lra.
        + apply (is_derive_scal (fun x => Phi (D * x + w))).
          apply (is_derive_comp Phi (fun x => D * x + w)); [apply Phi_derive|].
          auto_derive; auto. ring.
      - unfold f, C, phi. replace (exp (- ((a + b * z) * (a + b * z)) / 2) / sqrt (2 * PI) * (exp (- (z * z) / 2) /
          sqrt (2 * PI)))
          with (exp (- ((a + b * z) * (a + b * z)) / 2 + - (z * z) / 2) / sqrt (2 * PI) / sqrt (2 * PI)) by (rewrite
            exp_plus; field; pose proof root_pos; lra).
        replace (exp (- (a / D * (a / D)) / 2) / sqrt (2 * PI) / D * (D * (exp (- ((D * z + w) * (D * z + w)) / 2) /
          sqrt (2 * PI))))
          with (exp (- (a / D * (a / D)) / 2 + - ((D * z + w) * (D * z + w)) / 2) / sqrt (2 * PI) / sqrt (2 * PI))
          by (rewrite exp_plus; field; pose proof root_pos; lra).
        replace (- (a / D * (a / D)) / 2 + - ((D * z + w) * (D * z + w)) / 2) with (- ((a + b * z) * (a + b * z)) / 2
          + - (z * z) / 2); [inR; ring|].
        unfold w. assert (E : a / D * (a / D) + (D * z + a * b / D) * (D * z + a * b / D) = D * D * (z * z) + 2 * (a *
          b * z) + a * a * (1 + b * b) / (D * D)) by (field; lra).
        rewrite D2 in E. replace (a * a * (1 + b * b) / (1 + b * b)) with (a * a) in E by (field; nra). lra. }
    assert (Small : forall x, 0 <= mean_upto f x <= Phi x).
    { intros x. unfold mean_upto. split; [apply E_test; auto using test_mult, upto_test|]. rewrite <- HX.
    apply E_mono; auto using test_mult, upto_test.
      intros t. pose proof (Tf t). pose proof (upto_test x t). nra. }
    assert (Large : forall x, 0 <= X f - mean_upto f x <= 1 - Phi x).
    { intros x. rewrite (parted f x Tf).
    replace (mean_upto f x + X (fun t => f t * (1 - upto x t)) - mean_upto f x) with (X (fun t => f t * (1 - upto x
      t))) by ring.
      split; [apply E_test; auto using test_mult, test_minus, upto_test|]. rewrite <- HX, <- E_minus by apply upto_test.
      apply E_mono; auto using test_mult, test_minus, upto_test. intros t. pose proof (Tf t).
      pose proof (upto_test x t). nra. }
    (* far to the left both are nothing *)
    assert (Left : forall x, mean_upto f x = C * Phi (D * x + w)).
    { intros x. apply Rminus_diag_uniq. apply (small_is_zero _ (1 + C)); [lra|]. intros t Ht.
      destruct (Phi_to_0 t Ht) as [z [Hz HP]]. set (y := Rmin (- z) ((- z - w) / D)).
      assert (Y1 : y <= - z) by apply Rmin_l. assert (Y2 : D * y + w <= - z).
      { assert (y <= (- z - w) / D) by apply Rmin_r. apply Rmult_le_compat_l with (r := D) in H; [|lra].
      replace (D * ((- z - w) / D)) with (- z - w) in H by (field; lra). lra. }
      rewrite (HK x y). pose proof (HP _ Y1). pose proof (HP _ Y2). pose proof (Small y).
      destruct (Phi_range (D * y + w)).
      apply Rabs_le. assert (C * Phi (D * y + w) <= C * t) by (apply Rmult_le_compat_l; lra).
      assert (0 <= C * Phi (D * y + w)) by (apply Rmult_le_pos; lra). lra. }
    fold f. fold C. apply Rminus_diag_uniq. apply (small_is_zero _ (1 + C)); [lra|]. intros t Ht.
    destruct (Phi_to_1 t Ht) as [z [Hz HP]]. set (y := Rmax z ((z - w) / D)).
    assert (Y1 : z <= y) by apply Rmax_l. assert (Y2 : z <= D * y + w).
    { assert ((z - w) / D <= y) by apply Rmax_r. apply Rmult_le_compat_l with (r := D) in H; [|lra].
    replace (D * ((z - w) / D)) with (z - w) in H by (field; lra). lra. }
    pose proof (HP _ Y1). pose proof (HP _ Y2). pose proof (Large y) as HL. rewrite (Left y) in HL.
    destruct (Phi_range (D * y + w)).
    assert (C * (1 - t) <= C * Phi (D * y + w)) by (apply Rmult_le_compat_l; lra).
    assert (C * Phi (D * y + w) <= C * 1) by (apply Rmult_le_compat_l; lra).
    apply Rabs_le. lra.
  Qed.

  (** The mean of Phi there: its derivative in a is that mean. *)
  Lemma mean_chance a b : X (fun x => Phi (a + b * x)) = Phi (a / sqrt (1 + b * b)).
  Proof.
    set (D := sqrt (1 + b * b)). assert (D0 : 0 < D) by (apply sqrt_lt_R0; nra).
    set (G := fun a => X (fun x => Phi (a + b * x))).
    assert (HG : forall c, is_derive G c (phi (c / D) / D)).
    { intros c. replace (phi (c / D) / D) with (X (fun x => phi (c + b * x))) by apply (mean_density c b).
    apply derive_by_squares with 1; [lra|]. intros h Hh.
      set (f := fun x => Phi (c + h + b * x)). set (g := fun x => Phi (c + b * x)). set (k := fun x => phi (c + b * x)).
      assert (Tf : test f) by apply Phi_test. assert (Tg : test g) by apply Phi_test.
      assert (Tk : test k) by apply phi_test.
      assert (HH : 0 <= h * h <= 1).
      { replace (h * h) with (Rabs h * Rabs h) by (rewrite <- Rabs_mult; apply Rabs_right, Rle_ge, Rle_0_sqr).
      pose proof (Rabs_pos h). nra. }
      assert (Step : forall x, Rabs (f x - g x - h * k x) <= h * h).
      { intros x. unfold f, g, k. replace (c + h + b * x) with (c + b * x + h) by ring. apply Phi_step. }
      assert (Three : forall (p q : R -> R) e s, test p -> test q -> 0 <= e <= 1 -> 0 <= s <= 1 ->
        test (fun x => / 4 * p x + (/ 4 * e * q x + / 4 * s)) /\ X (fun x => / 4 * p x + (/ 4 * e * q x + / 4 * s)) =
          / 4 * X p + (/ 4 * e * X q + / 4 * s)).
      { intros p q e s Tp Tq He Hs. assert (T1 : test (fun x => / 4 * p x)) by (intros x; pose proof (Tp x); lra).
        assert (T2 : test (fun x => / 4 * e * q x)) by (intros x; pose proof (Tq x); nra).
        assert (T3 : test (fun _ : R => / 4 * s)) by (intros x; lra).
        assert (B : forall x, 0 <= e * q x <= 1) by (intros x; pose proof (Tq x); nra).
        assert (T4 : test (fun x => / 4 * e * q x + / 4 * s)) by (intros x; specialize (B x); lra).
        assert (T5 : test (fun x => / 4 * p x + (/ 4 * e * q x + / 4 * s))) by (intros x; specialize (B x);
          pose proof (Tp x); lra).
        split; auto. rewrite (E_plus X (fun x => / 4 * p x)), (E_plus X (fun x => / 4 * e * q x)); auto.
        rewrite (E_scale X (/ 4) p), (E_scale X (/ 4 * e) q), (E_const X (/ 4 * s)); auto; lra. }
      fold G. change (G (c + h)) with (X f). change (G c) with (X g). fold k.
      assert (Sides : forall (p q : R -> R) e, test p -> test q -> 0 <= e <= 1 -> (forall x,
        Rabs (p x - q x - e * k x) <= h * h) ->
        Rabs (X p - X q - e * X k) <= h * h).
      { intros p q e Tp Tq He HS. destruct (Three p k 0 (h * h) Tp Tk ltac:(lra) HH) as [A1 A2].
      destruct (Three q k e 0 Tq Tk He ltac:(lra)) as [A3 A4].
        destruct (Three p k 0 0 Tp Tk ltac:(lra) ltac:(lra)) as [A5 A6].
        destruct (Three q k e (h * h) Tq Tk He HH) as [A7 A8].
        pose proof (E_mono X _ _ A3 A1) as M1. pose proof (E_mono X _ _ A5 A7) as M2. rewrite A2, A4 in M1.
        rewrite A6, A8 in M2.
        assert (N1 : / 4 * X q + (/ 4 * e * X k + / 4 * 0) <= / 4 * X p + (/ 4 * 0 * X k + / 4 * (h * h))).
        { apply M1. intros x. specialize (HS x). apply Rabs_le_between in HS. lra. }
        assert (N2 : / 4 * X p + (/ 4 * 0 * X k + / 4 * 0) <= / 4 * X q + (/ 4 * e * X k + / 4 * (h * h))).
        { apply M2. intros x. specialize (HS x). apply Rabs_le_between in HS. lra. }
        apply Rabs_le. lra. }
      rewrite Rmult_1_l. destruct (Rle_dec 0 h) as [H0|H0].
      - rewrite Rabs_right in Hh by lra. apply Sides; auto.
      - rewrite Rabs_left in Hh by lra. rewrite <- Rabs_Ropp.
        replace (- (X f - X g - h * X k)) with (X g - X f - (- h) * X k) by ring.
        apply Sides; auto; [lra|]. intros x. rewrite <- Rabs_Ropp.
        replace (- (g x - f x - - h * k x)) with (f x - g x - h * k x) by ring. auto. }
    assert (HK : forall c e, G c - Phi (c / D) = G e - Phi (e / D)).
    { intros c e. apply (constant (fun c => G c - Phi (c / D))). intros z.
    apply derive_eq with (phi (z / D) / D - / D * phi (z / D)).
      - apply (is_derive_minus (V := R_NormedModule) G (fun c => Phi (c / D))); [apply HG|].
        apply (is_derive_comp Phi (fun c => c / D)); [apply Phi_derive|]. auto_derive; auto. field. lra.
      - inR; field; lra. }
    change (X (fun x => Phi (a + b * x))) with (G a). apply Rminus_diag_uniq. apply (small_is_zero _ 4); [lra|].
    intros t Ht.
    destruct (Phi_to_0 t Ht) as [z [Hz HP]]. set (e := Rmin (- z - Rabs b * z) (- z * D)). rewrite (HK a e).
    assert (E1 : e + Rabs b * z <= - z) by (pose proof (Rmin_l (- z - Rabs b * z) (- z * D)); unfold e; lra).
    assert (E2 : e / D <= - z).
    { apply Rmult_le_reg_r with D; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. apply Rmin_r. }
    assert (U : G e <= 3 * t).
    { unfold G. pose proof (HP _ E1) as P1. pose proof (HP (- z) ltac:(lra)) as P2.
      set (far := fun x => upto (- z) x + (1 - upto z x)).
      assert (Tfar : test far) by (intros x; unfold far, upto; destruct (Rle_dec x (- z)), (Rle_dec x z); lra).
      assert (EF : X far = 2 * Phi (- z)).
      { unfold far. rewrite E_plus, E_minus, !HX; auto using upto_test, test_minus. rewrite Phi_opp. ring. }
      apply Rle_trans with (1 * X far + Phi (e + Rabs b * z)); [|rewrite EF; lra].
      destruct (Phi_range (e + Rabs b * z)). apply E_le_affine; auto using Phi_test; try lra. intros x.
      destruct (Phi_range (e + b * x)). unfold far, upto. destruct (Rle_dec x (- z)), (Rle_dec x z); try lra.
      assert (Phi (e + b * x) <= Phi (e + Rabs b * z)); [|lra]. apply Phi_le. pose proof (Rle_abs (b * x)) as Q.
      rewrite Rabs_mult in Q.
      assert (Rabs x <= z) by (apply Rabs_le; lra). pose proof (Rabs_pos b).
      assert (Rabs b * Rabs x <= Rabs b * z) by (apply Rmult_le_compat_l; auto). lra. }
    assert (L : 0 <= G e) by (apply E_test, Phi_test). pose proof (HP _ E2). destruct (Phi_range (e / D)).
    apply Rabs_le. lra.
  Qed.
End Standard.

(** Of a normal number of any mean and deviation. *)
Theorem normal_chance s N m a b : 0 < s -> normal_law s N -> N m (fun x => Phi (a + b * x)) = Phi ((a + b * m) / sqrt
  (1 + b * s * (b * s))).
Proof.
  intros Hs [HN _]. set (X := image (fun x => (x - m) / s) (N m)).
  assert (HX : forall c, X (upto c) = Phi c).
  { intros c. unfold X. simpl. rewrite (E_ext (N m) _ (upto (m + s * c))).
    - rewrite HN. f_equal. field. lra.
    - intros x. unfold upto. assert ((x - m) / s <= c <-> x <= m + s * c) as HI.
      { split; intros L.
        - apply Rmult_le_compat_r with (r := s) in L; [|lra].
          replace ((x - m) / s * s) with (x - m) in L by (field; lra). lra.
        - apply Rmult_le_reg_r with s; auto. replace ((x - m) / s * s) with (x - m) by (field; lra). lra. }
      destruct (Rle_dec ((x - m) / s) c), (Rle_dec x (m + s * c)); tauto. }
  pose proof (mean_chance X HX (a + b * m) (b * s)) as M. rewrite <- M. unfold X. simpl. apply E_ext. intros x.
  f_equal. field. lra.
Qed.
