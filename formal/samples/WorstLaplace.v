(** The worst rows of a Poisson sample under Laplace noise; their curve, computed from that of Laplace noise. *)
Require Import Reals Lra Psatz List.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Definitions Meaning.
From DP.core Require Import Costs.
From DP.noise Require Import Laws Normals.
From DP.samples Require Import Poisson Replaced Worst.
Import ListNotations.
Open Scope R_scope.

Lemma laplace_below_even x : laplace_below (- x) = 1 - laplace_below x.
Proof.
  unfold laplace_below. destruct (Rle_dec (- x) 0), (Rle_dec x 0); rewrite ?Ropp_involutive; try lra.
  replace x with 0 by lra. rewrite Ropp_0, exp_0. lra.
Qed.

Lemma laplace_below_up x y : x <= y -> laplace_below x <= laplace_below y.
Proof.
  intros H. unfold laplace_below. destruct (Rle_dec x 0), (Rle_dec y 0); try lra.
  - pose proof (exp_le x y H). lra.
  - pose proof (exp_le x 0 ltac:(lra)). pose proof (exp_le (- y) 0 ltac:(lra)). rewrite exp_0 in *. lra.
  - pose proof (exp_le (- y) (- x) ltac:(lra)). lra.
Qed.

Lemma laplace_below_onto v : 0 < v < 1 -> exists z, laplace_below z = v.
Proof.
  intros H. destruct (Rle_dec v (1 / 2)) as [Hv|Hv].
  - exists (ln (2 * v)). unfold laplace_below. destruct Rle_dec as [_|No].
    + rewrite exp_ln; lra.
    + exfalso. apply No. rewrite <- ln_1. apply Rcomplements.ln_le; lra.
  - exists (- ln (2 * (1 - v))). unfold laplace_below. destruct Rle_dec as [Yes|_].
    + exfalso. assert (ln (2 * (1 - v)) < ln 1) by (apply ln_increasing; lra). rewrite ln_1 in *. lra.
    + rewrite Ropp_involutive, exp_ln; lra.
Qed.

Lemma laplace_above x : 0 <= x -> 1 - laplace_below x = exp (- x) / 2.
Proof.
  intros H. unfold laplace_below. destruct (Rle_dec x 0); [|lra].
  replace x with 0 by lra. rewrite Ropp_0, exp_0. lra.
Qed.

Section Laplace.
  Variables (b : R) (N : R -> law R).
  Hypothesis Hb : 0 < b.
  Hypothesis HN : laplace_law b N.

  Definition tent (x : R) := exp (- Rabs x / b).
  Local Notation F := (fun z => laplace_below (z / b)).

  Lemma b_inv : 0 < / b.
  Proof. apply Rinv_0_lt_compat; auto. Qed.

  Lemma tent_pos x : 0 < tent x.
  Proof. apply exp_pos. Qed.

  Lemma tent_right x : 0 <= x -> tent x = exp (- x / b).
  Proof. intros H. unfold tent. rewrite Rabs_pos_eq; auto. Qed.

  Lemma tent_left x : x <= 0 -> tent x = exp (x / b).
  Proof. intros H. unfold tent. rewrite <- Rabs_Ropp, Rabs_pos_eq by lra. f_equal. unfold Rdiv. ring. Qed.

  Lemma tent_rising m' m x y : m' <= m -> x <= y -> tent (x - m) / tent (x - m') <= tent (y - m) / tent (y - m').
  Proof.
    intros Hm Hx. unfold tent. rewrite !exp_div. apply exp_le. pose proof b_inv.
    unfold Rdiv. rewrite <- !Rmult_minus_distr_r. apply Rmult_le_compat_r; [lra|].
    unfold Rabs. repeat destruct Rcase_abs; lra.
  Qed.

  Lemma low_even x : F (- x) = 1 - F x.
  Proof. cbv beta. rewrite <- laplace_below_even. f_equal. unfold Rdiv. ring. Qed.

  Lemma low_up x y : x <= y -> F x <= F y.
  Proof. intros H. cbv beta. apply laplace_below_up. apply Rmult_le_compat_r; auto. left. apply b_inv. Qed.

  Lemma low_onto v : 0 < v < 1 -> exists z, F z = v.
  Proof.
    intros H. destruct (laplace_below_onto v H) as [z Hz]. exists (b * z). rewrite <- Hz. f_equal. field. lra.
  Qed.

  Lemma pure_within x y d f : Rabs (x - y) <= d -> test f -> N x f <= exp (d / b) * N y f.
  Proof.
    intros Hd Hf. apply Rle_trans with (1 := laplace_pure b N x y Hb HN f Hf).
    apply Rmult_le_compat_r; [apply E_test; auto|]. apply exp_le. apply Rmult_le_compat_r; auto. left. apply b_inv.
  Qed.

  Variables (q : R) (Hq : 0 <= q <= 1) (u : R).
  Hypothesis Hpos : 0 < q.
  Hypothesis Hu : 0 <= u.
  Local Notation part x := (mix q Hq (N x) (N 0)).

  Lemma laplace_crosses c : 1 <= c ->
    c * q + (1 - q) * (c - 1) * exp (u / b) <= q * (exp (u / b) * exp (u / b)) ->
    exists t, q * tent (t - u) = c * q * tent (t + u) + (1 - q) * (c - 1) * tent t.
  Proof.
    intros Hc. set (e := exp (u / b)). intros H. assert (He : 0 < e) by apply exp_pos. pose proof b_inv as Hi.
    assert (H1 : 1 <= e).
    { rewrite <- exp_0. apply exp_le. apply Rmult_le_pos; lra. }
    assert (Hcc : 0 <= (1 - q) * (c - 1)) by (apply Rmult_le_pos; lra).
    set (w := (c * q + (1 - q) * (c - 1) * e) / q).
    assert (Eq : q * w = c * q + (1 - q) * (c - 1) * e) by (unfold w; field; lra).
    assert (Hw : 1 <= w <= e * e).
    { split; apply Rmult_le_reg_l with q; auto; rewrite Eq; nra. }
    set (t := b / 2 * ln w). assert (Ew : exp (t / b) * exp (t / b) = w).
    { rewrite <- exp_plus. unfold t. replace (b / 2 * ln w / b + b / 2 * ln w / b) with (ln w) by (field; lra).
      apply exp_ln. lra. }
    assert (Ht : 0 <= t <= u).
    { assert (L1 : 0 <= ln w) by (rewrite <- ln_1; apply Rcomplements.ln_le; lra).
      assert (L2 : ln w <= u / b + u / b).
      { rewrite <- (ln_exp (u / b + u / b)), exp_plus. apply Rcomplements.ln_le; [lra | apply Hw]. }
      unfold t. split; [apply Rmult_le_pos; lra|].
      apply Rmult_le_compat_l with (r := b / 2) in L2; [|lra].
      replace (b / 2 * (u / b + u / b)) with u in L2 by (field; lra). auto. }
    exists t. rewrite tent_left, !tent_right by lra. set (k := exp (t / b)) in *.
    assert (Hk : 0 < k) by apply exp_pos.
    assert (T0 : exp (- t / b) = / k) by (unfold k; rewrite <- exp_Ropp; f_equal; field; lra).
    assert (T1 : exp ((t - u) / b) = k / e) by (unfold k, e; rewrite exp_div; f_equal; field; lra).
    assert (T2 : exp (- (t + u) / b) = / k / e).
    { unfold k, e. rewrite <- exp_Ropp, exp_div. f_equal. field. lra. }
    rewrite T0, T1, T2. apply Rmult_eq_reg_r with (k * e); [|apply Rgt_not_eq, Rmult_lt_0_compat; auto].
    replace (q * (k / e) * (k * e)) with (q * (k * k)) by (field; lra). rewrite Ew, Eq. field. lra.
  Qed.

  Lemma laplace_crossing c : 1 <= c ->
    (exists t, q * tent (t - u) = c * q * tent (t + u) + (1 - q) * (c - 1) * tent t) \/
    (forall x y m f, Rabs (x - m) <= u -> Rabs (y - m) <= u -> test f ->
      q * N x f <= c * q * N y f + (1 - q) * (c - 1) * N m f).
  Proof.
    intros Hc. set (e := exp (u / b)). assert (He : 0 < e) by apply exp_pos. pose proof b_inv as Hi.
    assert (H1 : 1 <= e).
    { rewrite <- exp_0. apply exp_le. apply Rmult_le_pos; lra. }
    assert (Hcc : 0 <= (1 - q) * (c - 1)) by (apply Rmult_le_pos; lra).
    destruct (Rle_dec (c * q + (1 - q) * (c - 1) * e) (q * (e * e))) as [H|H].
    - left. apply laplace_crosses; auto.
    - right. intros x y m f Hx Hy Hf. pose proof (E_test (N x) f Hf).
      assert (Hxy : Rabs (x - y) <= u + u).
      { replace (x - y) with ((x - m) + - (y - m)) by ring.
        apply Rle_trans with (1 := Rabs_triang _ _). rewrite Rabs_Ropp. lra. }
      pose proof (pure_within x y (u + u) f Hxy Hf) as A. pose proof (pure_within x m u f Hx Hf) as B.
      replace ((u + u) / b) with (u / b + u / b) in A by (field; lra). rewrite exp_plus in A. fold e in A, B.
      apply Rmult_le_compat_l with (r := c * q) in A; [|nra].
      apply Rmult_le_compat_l with (r := (1 - q) * (c - 1) * e) in B; [|nra].
      apply Rmult_le_reg_l with (e * e); [nra|].
      assert (q * (e * e) * N x f <= (c * q + (1 - q) * (c - 1) * e) * N x f) by (apply Rmult_le_compat_r; lra).
      lra.
  Qed.

  (** Rows at ±Δ are worst, at every c. *)
  Theorem replaced_laplace {row} (number : row -> R) r r' l m :
    Rabs (number r) <= u -> Rabs (number r') <= u ->
    let M := fun s => N (total number s) in
    dominated (bind (sample q Hq (l ++ r :: m)) M) (bind (sample q Hq (l ++ r' :: m)) M) (part u) (part (- u)).
  Proof.
    destruct HN as [H1 H2]. apply replaced_sampled with (F := F) (n := tent);
      auto using tent_pos, tent_rising, low_even, low_up, low_onto, laplace_crossing.
  Qed.

  Theorem replaced_laplace_symmetric c : 0 < c -> curve (part u) (part (- u)) c = curve (part (- u)) (part u) c.
  Proof.
    destruct HN as [H1 H2]. apply replaced_symmetric with (F := F) (n := tent);
      auto using tent_pos, tent_rising, low_even, low_up, low_onto, laplace_crossing.
  Qed.

  (** The least odds of the row at -Δ. *)
  Definition least : R := 1 - q + q * exp (- (u / b)).

  Lemma least_odds f : test f -> least * N 0 f <= part (- u) f.
  Proof.
    intros Hf. rewrite mix_E. unfold least.
    pose proof (pure_within 0 (- u) u f ltac:(rewrite Rminus_0_l, Ropp_involutive, Rabs_pos_eq; lra) Hf) as A.
    pose proof (exp_pos (- (u / b))). apply Rmult_le_compat_l with (r := exp (- (u / b))) in A; [|lra].
    rewrite <- Rmult_assoc, <- exp_plus, Rplus_opp_l, exp_0, Rmult_1_l in A.
    apply Rmult_le_compat_l with (r := q) in A; lra.
  Qed.

  Lemma least_from t : 0 <= t -> part (- u) (from t) = least * N 0 (from t).
  Proof.
    intros Ht. destruct HN as [H1 H2]. rewrite mix_E. unfold least, from. rewrite !E_minus by apply upto_test.
    rewrite !H1. replace ((t - - u) / b) with (t / b + u / b) by (field; lra).
    rewrite Rminus_0_r. pose proof b_inv as Hi.
    assert (0 <= t / b) by (apply Rmult_le_pos; lra). assert (0 <= u / b) by (apply Rmult_le_pos; lra).
    rewrite !laplace_above by lra. rewrite Ropp_plus_distr, exp_plus. field.
  Qed.

  (** The curve is that of a removed row at c times the least odds; below 1 by the complement. *)
  Theorem replaced_laplace_curve c : 1 <= c -> curve (part u) (part (- u)) c = curve (part u) (N 0) (c * least).
  Proof.
    intros Hc. pose proof (exp_pos (- (u / b))) as He. assert (Hl : 0 < least) by (unfold least; nra).
    assert (Hcl : 0 <= c * least) by (apply Rmult_le_pos; lra). apply Rle_antisym.
    - apply curve_least. intros f Hf. apply Rle_trans with (2 := curve_above _ _ _ Hcl f Hf).
      pose proof (least_odds f Hf). apply Rmult_le_compat_l with (r := c) in H; lra.
    - assert (Hce : exp (- (u / b)) * q <= c * least - (1 - q)).
      { assert (1 * least <= c * least) by (apply Rmult_le_compat_r; lra).
        assert (least = 1 - q + q * exp (- (u / b))) by reflexivity. lra. }
      set (y := (c * least - (1 - q)) / q).
      assert (Ey : q * y = c * least - (1 - q)) by (unfold y; field; lra).
      assert (Hy : exp (- (u / b)) <= y) by (apply Rmult_le_reg_l with q; auto; rewrite Ey; lra).
      assert (Gain : forall f, part u f - c * least * N 0 f = q * (N u f - y * N 0 f)).
      { intros f. rewrite mix_E. replace (q * (N u f - y * N 0 f)) with (q * N u f - q * y * N 0 f) by ring.
        rewrite Ey. ring. }
      pose proof b_inv as Hi. apply curve_least. intros f Hf.
      destruct (Rle_dec y (exp (u / b))) as [Hle|Hgt].
      + (* the half-line from t on *)
        set (t := (b * ln y + u) / 2).
        assert (L1 : - (u / b) <= ln y) by (rewrite <- (ln_exp (- (u / b))); apply Rcomplements.ln_le; auto).
        assert (L2 : ln y <= u / b) by (rewrite <- (ln_exp (u / b)); apply Rcomplements.ln_le; lra).
        apply Rmult_le_compat_l with (r := b) in L1; [|lra]. apply Rmult_le_compat_l with (r := b) in L2; [|lra].
        replace (b * - (u / b)) with (- u) in L1 by (field; lra). replace (b * (u / b)) with u in L2 by (field; lra).
        assert (Ht : 0 <= t <= u) by (unfold t; lra).
        assert (Ry : tent (t - u) / tent (t - 0) = y).
        { rewrite tent_left, tent_right, exp_div by lra.
          replace ((t - u) / b - - (t - 0) / b) with (ln y) by (unfold t; field; lra).
          apply exp_ln. lra. }
        destruct HN as [H1 H2].
        pose proof (best_from N F tent H1 H2 tent_pos tent_rising u 0 t f Hu Hf) as B. rewrite Ry in B.
        apply Rle_trans with (2 := curve_above (part u) (part (- u)) c ltac:(lra) _ (from_test t)).
        rewrite least_from by lra. rewrite <- Rmult_assoc, !Gain. apply Rmult_le_compat_l; [lra|].
        rewrite !(from_E N F H1). exact B.
      + rewrite Gain. apply Rle_trans with (2 := curve_nonneg _ _ c ltac:(lra)).
        pose proof (pure_within u 0 u f ltac:(rewrite Rminus_0_r, Rabs_pos_eq; lra) Hf) as A.
        pose proof (E_test (N 0) f Hf).
        assert (exp (u / b) * N 0 f <= y * N 0 f) by (apply Rmult_le_compat_r; lra). nra.
  Qed.
End Laplace.

(** The largest loss of a pure mechanism: (1 - q + q e^ε)/(1 - q + q e^-ε). *)
Theorem replaced_largest {A} (q : R) (Hq : 0 <= q <= 1) (L L' K : law A) e :
  (forall f, test f -> L f <= exp e * K f) -> (forall f, test f -> K f <= exp e * L' f) ->
  forall f, test f -> mix q Hq L K f <= (1 - q + q * exp e) / (1 - q + q * exp (- e)) * mix q Hq L' K f.
Proof.
  intros H1 H2 f Hf. rewrite !mix_E. specialize (H1 f Hf). specialize (H2 f Hf).
  pose proof (exp_pos e). pose proof (exp_pos (- e)).
  apply Rmult_le_compat_l with (r := exp (- e)) in H2; [|lra].
  rewrite <- Rmult_assoc, <- exp_plus, Rplus_opp_l, exp_0, Rmult_1_l in H2. pose proof (E_test K f Hf).
  assert (Hw : 0 < 1 - q + q * exp (- e)) by nra. assert (Hz : 0 < 1 - q + q * exp e) by nra.
  set (w := 1 - q + q * exp (- e)) in *. set (z := 1 - q + q * exp e) in *.
  assert (A1 : q * L f + (1 - q) * K f <= z * K f) by (unfold z; nra).
  assert (A2 : w * K f <= q * L' f + (1 - q) * K f) by (unfold w; nra).
  apply Rle_trans with (1 := A1). unfold Rdiv. rewrite Rmult_assoc. apply Rmult_le_compat_l; [lra|].
  apply Rmult_le_reg_l with w; auto. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. auto.
Qed.
