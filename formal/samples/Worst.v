(** The worst rows of a Poisson sample under Gaussian and under Laplace noise, and the curves that are computed.

    samples/Replaced.v has the proof for noise whose likelihood ratios rise; here both kinds are shown to be such, and
    where the half-line ends on which the worst rows are told apart best. *)
Require Import Reals Lra Psatz List.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Definitions Meaning.
From DP.core Require Import Costs.
From DP.noise Require Import Laws Normals.
From DP.samples Require Import Poisson Replaced.
Import ListNotations.
Open Scope R_scope.

Lemma exp_div x y : exp x / exp y = exp (x - y).
Proof. unfold Rdiv. rewrite <- exp_Ropp, <- exp_plus. f_equal. Qed.

(* ---------------------------------------------------------------- Gaussian noise *)

Section Gaussian.
  Variables (s : R) (N : R -> law R).
  Hypothesis Hs : 0 < s.
  Hypothesis HN : normal_law s N.

  Definition bell_of (x : R) := exp (- (x / s) ^ 2 / 2).

  Lemma bell_pos x : 0 < bell_of x.
  Proof. apply exp_pos. Qed.

  Lemma bell_rising m' m x y : m' <= m -> x <= y ->
    bell_of (x - m) / bell_of (x - m') <= bell_of (y - m) / bell_of (y - m').
  Proof.
    intros Hm Hx. unfold bell_of. rewrite !normal_ratio by auto. apply exp_le.
    apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; nra|]. nra.
  Qed.

  Lemma below_even x : Phi (- x / s) = 1 - Phi (x / s).
  Proof. rewrite <- Phi_opp. f_equal. field. lra. Qed.

  Lemma below_up x y : x <= y -> Phi (x / s) <= Phi (y / s).
  Proof. intros H. apply Phi_le. apply Rmult_le_compat_r; auto. left. apply Rinv_0_lt_compat; auto. Qed.

  Lemma below_onto v : 0 < v < 1 -> exists z, Phi (z / s) = v.
  Proof. intros H. destruct (Phi_onto v H) as [z Hz]. exists (s * z). rewrite <- Hz. f_equal. field. lra. Qed.

  Variables (q : R) (Hq : 0 <= q <= 1) (u : R).
  Hypothesis Hpos : 0 < q.
  Hypothesis Hu : 0 <= u.

  (** Where the best half-line starts, in deviations. *)
  Definition cut_odds (c : R) : R := (1 - q) / q * (c - 1) * exp (u / s * (u / s) / 2).
  Definition cut_root (c : R) : R := (cut_odds c + sqrt (cut_odds c * cut_odds c + 4 * c)) / 2.
  Definition cut (c : R) : R := ln (cut_root c) / (u / s).

  Lemma cut_root_square c : 1 <= c -> 0 < cut_root c /\ cut_root c * cut_root c = cut_odds c * cut_root c + c.
  Proof.
    intros Hc. assert (Ho : 0 <= cut_odds c).
    { unfold cut_odds. repeat apply Rmult_le_pos; try lra; [left; apply Rinv_0_lt_compat; auto | left; apply exp_pos]. }
    unfold cut_root. assert (Hr : 0 < cut_odds c * cut_odds c + 4 * c) by nra.
    pose proof (sqrt_lt_R0 _ Hr) as Hp. pose proof (sqrt_sqrt _ (Rlt_le _ _ Hr)) as Hsq. split; [lra | nra].
  Qed.

  Lemma gaussian_crosses c : 1 <= c -> 0 < u ->
    q * bell_of (s * cut c - u) = c * q * bell_of (s * cut c + u) + (1 - q) * (c - 1) * bell_of (s * cut c).
  Proof.
    intros Hc Hu0. destruct (cut_root_square c Hc) as [Hw Hsq]. set (w := cut_root c) in *. set (k := cut c).
    set (mu := u / s). assert (Hmu : 0 < mu) by (apply Rdiv_lt_0_compat; auto).
    assert (Ew : exp (k * mu) = w).
    { unfold k, cut. fold mu w. replace (ln w / mu * mu) with (ln w) by (field; lra). apply exp_ln; auto. }
    set (e := exp (mu * mu / 2)). assert (He : 0 < e) by apply exp_pos.
    assert (B0 : bell_of (s * k) = exp (- k ^ 2 / 2)) by (unfold bell_of; f_equal; field; lra).
    assert (B1 : bell_of (s * k - u) = exp (- k ^ 2 / 2) * w / e).
    { rewrite <- Ew. unfold e, Rdiv. rewrite <- exp_Ropp, <- !exp_plus. unfold bell_of, mu. f_equal. field. lra. }
    assert (B2 : bell_of (s * k + u) = exp (- k ^ 2 / 2) / w / e).
    { rewrite <- Ew. unfold e, Rdiv. rewrite <- !exp_Ropp, <- !exp_plus. unfold bell_of, mu. f_equal. field. lra. }
    rewrite B0, B1, B2. set (h := exp (- k ^ 2 / 2)). unfold cut_odds in Hsq. fold mu e in Hsq.
    apply Rmult_eq_reg_r with (w * e); [|apply Rgt_not_eq, Rmult_lt_0_compat; auto].
    replace (q * (h * w / e) * (w * e)) with (h * q * (w * w)) by (field; lra). rewrite Hsq. field. lra.
  Qed.

  Lemma gaussian_crossing c : 1 <= c ->
    (exists t, q * bell_of (t - u) = c * q * bell_of (t + u) + (1 - q) * (c - 1) * bell_of t) \/
    (forall x y m f, Rabs (x - m) <= u -> Rabs (y - m) <= u -> test f ->
      q * N x f <= c * q * N y f + (1 - q) * (c - 1) * N m f).
  Proof.
    intros Hc. destruct Hu as [Hu0|Hu0].
    - left. exists (s * cut c). apply gaussian_crosses; auto.
    - right. intros x y m f Hx Hy Hf. rewrite <- Hu0 in Hx, Hy.
      assert (forall z, Rabs (z - m) <= 0 -> z = m) as E.
      { intros z Hz. pose proof (Rabs_pos (z - m)). assert (H0 : Rabs (z - m) = 0) by lra.
        destruct (Req_dec (z - m) 0) as [|H1]; [lra|]. apply Rabs_no_R0 in H1. lra. }
      rewrite (E x Hx), (E y Hy). pose proof (E_test (N m) f Hf).
      assert (0 <= q * (c - 1) * N m f) by (repeat apply Rmult_le_pos; lra).
      assert (0 <= (1 - q) * (c - 1) * N m f) by (repeat apply Rmult_le_pos; lra). lra.
  Qed.

  Local Notation part x := (mix q Hq (N x) (N 0)).

  (** Rows at ±Δ are worst, at every c. *)
  Theorem replaced_gaussian {row} (number : row -> R) r r' l m :
    Rabs (number r) <= u -> Rabs (number r') <= u ->
    let M := fun s => N (total number s) in
    dominated (bind (sample q Hq (l ++ r :: m)) M) (bind (sample q Hq (l ++ r' :: m)) M) (part u) (part (- u)).
  Proof.
    destruct HN as [H1 H2]. apply replaced_sampled with (F := fun z => Phi (z / s)) (n := bell_of);
      auto using bell_pos, bell_rising, below_even, below_up, below_onto, gaussian_crossing.
  Qed.

  Theorem replaced_gaussian_symmetric c : 0 < c -> curve (part u) (part (- u)) c = curve (part (- u)) (part u) c.
  Proof.
    destruct HN as [H1 H2]. apply replaced_symmetric with (F := fun z => Phi (z / s)) (n := bell_of);
      auto using bell_pos, bell_rising, below_even, below_up, below_onto, gaussian_crossing.
  Qed.

  (** Their curve in closed form, as numerics/closed/sampled_curves.py computes it; below 1 by the complement. *)
  Theorem replaced_gaussian_curve c : 1 <= c -> 0 < u -> curve (part u) (part (- u)) c =
    q * (1 - Phi (cut c - u / s)) - (1 - q) * (c - 1) * (1 - Phi (cut c)) - c * q * (1 - Phi (cut c + u / s)).
  Proof.
    intros Hc Hu0. destruct HN as [H1 H2].
    rewrite (replaced_curve N (fun z => Phi (z / s)) bell_of) with (t := s * cut c);
      auto using bell_pos, bell_rising, below_even, below_up, below_onto, gaussian_crossing, gaussian_crosses.
    unfold gained. replace ((s * cut c - u) / s) with (cut c - u / s) by (field; lra).
    replace ((s * cut c + u) / s) with (cut c + u / s) by (field; lra).
    replace (s * cut c / s) with (cut c) by (field; lra). ring.
  Qed.
End Gaussian.
