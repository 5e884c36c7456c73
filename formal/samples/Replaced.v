(** A row of a Poisson sample is replaced, under noise on the line whose likelihood ratios rise: Gaussian and Laplace.

    One row moves the noise by a where it is in the sample, the other one by b, and neither by more than Δ.  The worst
    rows lie at +Δ and -Δ, at every c at once: the results are dominated by the mixtures with noise at Δ and at -Δ.

    How: at a half-line from t on where αn(t - Δ) = βn(t + Δ) + γn(t), α is split into the parts that γ and β use up
    there.  Either part is most at that half-line, for the farthest shift, by the lemma of Neyman and Pearson. *)
Require Import Reals Lra Psatz List.
From DP.base Require Import Laws Sums.
From DP Require Import Definitions Meaning.
From DP.noise Require Import Normals.
From DP.samples Require Import Poisson.
Import ListNotations.
Open Scope R_scope.

Section Noise.
  Variables (N : R -> law R) (F n : R -> R).
  Hypothesis half : forall m a, N m (upto a) = F (a - m).
  Hypothesis odds : likelihood N (fun m x => n (x - m)).
  Hypothesis n_pos : forall x, 0 < n x.
  Hypothesis rising : forall m' m x y, m' <= m -> x <= y -> n (x - m) / n (x - m') <= n (y - m) / n (y - m').
  Hypothesis F_even : forall x, F (- x) = 1 - F x.
  Hypothesis F_up : forall x y, x <= y -> F x <= F y.
  Hypothesis F_onto : forall u, 0 < u < 1 -> exists z, F z = u.

  Definition from (a : R) (x : R) : R := 1 - upto a x.

  Lemma from_test a : test (from a).
  Proof. intros x. unfold from. pose proof (upto_test a x). lra. Qed.

  Lemma from_E m a : N m (from a) = 1 - F (a - m).
  Proof. unfold from. rewrite E_minus by apply upto_test. rewrite half. auto. Qed.

  Lemma F_range z : 0 <= F z <= 1.
  Proof. pose proof (E_test (N 0) _ (upto_test z)) as H. rewrite half, Rminus_0_r in H. auto. Qed.

  (** The half-line above t is best at the ratio there, *)
  Lemma best_from m m' t f : m' <= m -> test f ->
    N m f - n (t - m) / n (t - m') * N m' f <= (1 - F (t - m)) - n (t - m) / n (t - m') * (1 - F (t - m')).
  Proof.
    intros Hm Hf. rewrite <- !from_E.
    apply (most_powerful N (fun m x => n (x - m)) m m' (n (t - m) / n (t - m')) (from t) odds); auto.
    - apply Rdiv_lt_0_compat; auto.
    - intros x. unfold from, upto. destruct (Rle_dec x t); lra.
    - intros x E. apply rising; auto. unfold from, upto in E. destruct (Rle_dec x t); lra.
    - intros x E. apply rising; auto. unfold from, upto in E. destruct (Rle_dec x t); lra.
  Qed.

  (** and the half-line up to t where the noise lies to the left. *)
  Lemma best_upto m m' t f : m <= m' -> test f ->
    N m f - n (t - m) / n (t - m') * N m' f <= F (t - m) - n (t - m) / n (t - m') * F (t - m').
  Proof.
    assert (Inv : forall x, n (x - m) / n (x - m') = / (n (x - m') / n (x - m))).
    { intros x. pose proof (n_pos (x - m)). pose proof (n_pos (x - m')). field. lra. }
    assert (Pos : forall x, 0 < n (x - m') / n (x - m)) by (intros; apply Rdiv_lt_0_compat; auto).
    intros Hm Hf. rewrite <- !half.
    apply (most_powerful N (fun m x => n (x - m)) m m' (n (t - m) / n (t - m')) (upto t) odds); auto.
    - apply Rdiv_lt_0_compat; auto.
    - intros x. unfold upto. destruct (Rle_dec x t); lra.
    - intros x E. rewrite !Inv. apply Rinv_le_contravar; auto. apply rising; auto.
      unfold upto in E. destruct (Rle_dec x t); lra.
    - intros x E. rewrite !Inv. apply Rinv_le_contravar; auto. apply rising; auto.
      unfold upto in E. destruct (Rle_dec x t); lra.
  Qed.

  (** Power against level, for any shift up to d. *)
  Lemma power_up x y d f z : Rabs (x - y) <= d -> test f -> N y f <= 1 - F z -> N x f <= 1 - F (z - d).
  Proof.
    intros Hd Hf Hy. destruct (Rle_dec y x) as [H|H].
    - rewrite Rabs_pos_eq in Hd by lra. pose proof (best_from x y (z + y) f H Hf) as B.
      replace (z + y - y) with z in B by ring. assert (0 < n (z + y - x) / n z) by (apply Rdiv_lt_0_compat; auto).
      pose proof (F_up (z - d) (z + y - x) ltac:(lra)). nra.
    - rewrite Rabs_left in Hd by lra. pose proof (best_upto x y (y - z) f ltac:(lra) Hf) as B.
      replace (y - z - y) with (- z) in B by ring. rewrite F_even in B.
      assert (0 < n (y - z - x) / n (- z)) by (apply Rdiv_lt_0_compat; auto).
      pose proof (F_up (y - z - x) (- (z - d)) ltac:(lra)). rewrite F_even in H1. nra.
  Qed.

  (** A gain over any shift is at most that over the farthest one, at the half-line where that one is best. *)
  Lemma farthest x y u v t l g f : v <= u -> Rabs (x - y) <= u - v -> 0 <= l ->
    g * n (t - v) = l * n (t - u) -> test f ->
    l * N x f - g * N y f <= l * (1 - F (t - u)) - g * (1 - F (t - v)).
  Proof.
    intros Huv Hxy Hl Hg Hf. set (r := n (t - u) / n (t - v)).
    pose proof (n_pos (t - u)) as Pu. pose proof (n_pos (t - v)) as Pv.
    assert (Er : g = l * r).
    { unfold r. apply Rmult_eq_reg_r with (n (t - v)); [|lra]. rewrite Hg. field. lra. }
    assert (Hr : 0 < r) by (apply Rdiv_lt_0_compat; auto).
    assert (Best : forall h, test h -> N u h - r * N v h <= (1 - F (t - u)) - r * (1 - F (t - v)))
      by (intros; apply best_from; auto).
    assert (Goal : N x f - r * N y f <= (1 - F (t - u)) - r * (1 - F (t - v))).
    2: { subst g. apply Rmult_le_compat_l with (r := l) in Goal; auto. lra. }
    pose proof (E_test (N x) f Hf) as Hx. pose proof (E_test (N y) f Hf) as [[Hy|Hy] Hy1].
    - destruct Hy1 as [Hy1|Hy1].
      + destruct (F_onto (1 - N y f) ltac:(lra)) as [z Hz].
        pose proof (power_up x y (u - v) f z Hxy Hf ltac:(lra)) as Hp.
        pose proof (Best _ (from_test (z + v))) as B. rewrite !from_E in B.
        replace (z + v - u) with (z - (u - v)) in B by ring. replace (z + v - v) with z in B by ring. nra.
      + pose proof (Best _ test_1) as B. rewrite !E_1 in B. rewrite Hy1. lra.
    - assert (N x f <= 0).
      { apply Rnot_lt_le. intros Hgt. destruct (F_onto (1 - N x f / 2)) as [z Hz]; [lra|].
        pose proof (power_up x y (u - v) f (z + (u - v)) Hxy Hf) as Hp. rewrite <- Hy in Hp.
        replace (z + (u - v) - (u - v)) with z in Hp by ring. pose proof (F_range (z + (u - v))). lra. }
      pose proof (Best _ test_0) as B. rewrite !E_0 in B. rewrite <- Hy. lra.
  Qed.

  (** Three noises. *)
  Lemma crossed x y m u t alpha beta gamma f : 0 <= u -> Rabs (x - m) <= u -> Rabs (y - m) <= u -> test f ->
    0 <= alpha -> 0 <= beta -> 0 <= gamma ->
    alpha * n (t - u) = beta * n (t + u) + gamma * n t ->
    alpha * N x f - beta * N y f - gamma * N m f
      <= alpha * (1 - F (t - u)) - beta * (1 - F (t + u)) - gamma * (1 - F t).
  Proof.
    intros Hu Hx Hy Hf Ha Hb Hg He.
    pose proof (n_pos (t - u)) as P0. pose proof (n_pos (t + u)) as P1. pose proof (n_pos t) as P2.
    set (l1 := gamma * n t / n (t - u)). set (l2 := beta * n (t + u) / n (t - u)).
    assert (E : alpha = l1 + l2).
    { unfold l1, l2. apply Rmult_eq_reg_r with (n (t - u)); [|lra]. rewrite He. field. lra. }
    assert (H1 : 0 <= l1) by (apply Rmult_le_pos; [nra | left; apply Rinv_0_lt_compat; auto]).
    assert (H2 : 0 <= l2) by (apply Rmult_le_pos; [nra | left; apply Rinv_0_lt_compat; auto]).
    assert (Hxy : Rabs (x - y) <= u - - u).
    { replace (x - y) with ((x - m) + - (y - m)) by ring.
      apply Rle_trans with (1 := Rabs_triang _ _). rewrite Rabs_Ropp. lra. }
    pose proof (farthest x m u 0 t l1 gamma f Hu ltac:(lra) H1) as A1. rewrite Rminus_0_r in A1.
    pose proof (farthest x y u (- u) t l2 beta f ltac:(lra) Hxy H2) as A2. replace (t - - u) with (t + u) in A2 by ring.
    specialize (A1 ltac:(unfold l1; field; lra) Hf). specialize (A2 ltac:(unfold l2; field; lra) Hf). subst alpha. lra.
  Qed.

  (* -------------------------------------------------------------- on a sample *)

  Variables (q : R) (Hq : 0 <= q <= 1) (u : R).
  Hypothesis Hpos : 0 < q.
  Hypothesis Hu : 0 <= u.

  Local Notation part x m := (mix q Hq (N x) (N m)).

  Lemma part_gain3 x y m c f : part x m f - c * part y m f = q * N x f - c * q * N y f - (1 - q) * (c - 1) * N m f.
  Proof. rewrite !mix_E. ring. Qed.

  (** What the half-line from t on gains between the worst rows. *)
  Definition gained (c t : R) : R := q * (1 - F (t - u)) - c * q * (1 - F (t + u)) - (1 - q) * (c - 1) * (1 - F t).

  (** At every c >= 1 there is a half-line at whose end the gain is nil, or nothing is gained by anything. *)
  Hypothesis crossing : forall c, 1 <= c ->
    (exists t, q * n (t - u) = c * q * n (t + u) + (1 - q) * (c - 1) * n t) \/
    (forall x y m f, Rabs (x - m) <= u -> Rabs (y - m) <= u -> test f ->
      q * N x f <= c * q * N y f + (1 - q) * (c - 1) * N m f).

  Lemma gained_from c t : part u 0 (from t) - c * part (- u) 0 (from t) = gained c t.
  Proof. rewrite part_gain3, !from_E, Rminus_0_r. unfold gained. replace (t - - u) with (t + u) by ring. auto. Qed.

  Lemma gained_upto c t : part (- u) 0 (upto (- t)) - c * part u 0 (upto (- t)) = gained c t.
  Proof.
    rewrite part_gain3, !half, Rminus_0_r. unfold gained. replace (- t - - u) with (- (t - u)) by ring.
    replace (- t - u) with (- (t + u)) by ring. rewrite !F_even. auto.
  Qed.

  (** The curve of the pair is what the half-line gains where αn(t - Δ) = βn(t + Δ) + γn(t). *)
  Theorem replaced_curve c t : 1 <= c -> q * n (t - u) = c * q * n (t + u) + (1 - q) * (c - 1) * n t ->
    curve (part u 0) (part (- u) 0) c = gained c t.
  Proof.
    intros Hc Ht. apply curve_is; [lra| |].
    - intros f Hf. rewrite part_gain3. unfold gained. apply crossed; auto; try nra.
      + rewrite Rminus_0_r, Rabs_pos_eq; lra.
      + rewrite Rminus_0_r, Rabs_Ropp, Rabs_pos_eq; lra.
    - exists (from t). split; [apply from_test | apply gained_from].
  Qed.

  Lemma replaced_gain x y m c f : 1 <= c -> Rabs (x - m) <= u -> Rabs (y - m) <= u -> test f ->
    part x m f - c * part y m f <= curve (part u 0) (part (- u) 0) c /\
    part x m f - c * part y m f <= curve (part (- u) 0) (part u 0) c.
  Proof.
    intros Hc Hx Hy Hf. rewrite part_gain3. destruct (crossing c Hc) as [[t Ht]|H].
    - assert (G : q * N x f - c * q * N y f - (1 - q) * (c - 1) * N m f <= gained c t)
        by (unfold gained; apply crossed; auto; nra).
      split; apply Rle_trans with (1 := G).
      + rewrite <- gained_from. apply curve_above; [lra | apply from_test].
      + rewrite <- gained_upto. apply curve_above; [lra | apply upto_test].
    - specialize (H x y m f Hx Hy Hf).
      split; (eapply Rle_trans; [|apply curve_nonneg; lra]); lra.
  Qed.

  Lemma replaced_dominated x y m : Rabs (x - m) <= u -> Rabs (y - m) <= u ->
    dominated (part x m) (part y m) (part u 0) (part (- u) 0).
  Proof.
    intros Hx Hy. apply dominated_from_one; intros c Hc; apply curve_least; intros f Hf; apply replaced_gain; auto.
  Qed.

  (** Both directions have one curve. *)
  Theorem replaced_symmetric c : 0 < c -> curve (part u 0) (part (- u) 0) c = curve (part (- u) 0) (part u 0) c.
  Proof.
    assert (H0 : Rabs (u - 0) <= u) by (rewrite Rminus_0_r, Rabs_pos_eq; lra).
    assert (H1 : Rabs (- u - 0) <= u) by (rewrite Rminus_0_r, Rabs_Ropp, Rabs_pos_eq; lra).
    assert (One : forall c, 1 <= c -> curve (part u 0) (part (- u) 0) c = curve (part (- u) 0) (part u 0) c).
    { intros d Hd. apply Rle_antisym; apply curve_least; intros f Hf; apply replaced_gain; auto. }
    intros Hc. destruct (Rle_dec 1 c) as [H|H]; auto.
    rewrite (curve_complement (part u 0) _ c), (curve_complement (part (- u) 0) _ c) by auto. rewrite One; auto.
    rewrite <- Rinv_1. apply Rinv_le_contravar; lra.
  Qed.

  (** The theorem: rows have numbers of at most Δ, their sum over the sample is released with noise, and one row is
      replaced. *)
  Theorem replaced_sampled {row} (number : row -> R) r r' l m :
    Rabs (number r) <= u -> Rabs (number r') <= u ->
    let M := fun s => N (total number s) in
    dominated (bind (sample q Hq (l ++ r :: m)) M) (bind (sample q Hq (l ++ r' :: m)) M) (part u 0) (part (- u) 0).
  Proof.
    intros Hr Hr' M. eapply dominated_same; [apply sample_with | apply sample_with|].
    apply dominated_bind. intros [s s']. unfold M. cbn [fst snd].
    assert (E : forall a, total number (s ++ a :: s') = total number (s ++ s') + number a).
    { intros a. induction s as [|b s IH]; cbn [app total]; [ring | rewrite IH; ring]. }
    rewrite !E. apply replaced_dominated.
    - replace (total number (s ++ s') + number r - total number (s ++ s')) with (number r) by ring. auto.
    - replace (total number (s ++ s') + number r' - total number (s ++ s')) with (number r') by ring. auto.
  Qed.

  (** Rows at +Δ and -Δ attain it. *)
  Theorem replaced_attained {row} (number : row -> R) r :
    same (bind (sample q Hq [r]) (fun s => N (total number s))) (part (number r) 0).
  Proof. intros f Hf. rewrite (one_row q Hq _ r f Hf), !mix_E. simpl. rewrite Rplus_0_r. auto. Qed.
End Noise.
