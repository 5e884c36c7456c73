(** A row of a Poisson sample is replaced, for any mechanism that costs no more than noise on the line.

    L and L' are the results with either row, K without.  Where (L, K) and (L', K) cost no more than noise at s against
    noise at 0, and (L, L') no more than noise at s against noise at -s, in both orders, the noise is the worst case:
    the gain of one test against both other laws is split so that each part of the noise is greatest at one event.
    Gaussian and Laplace noise split so at every c >= 1; so vectors with such noise are no worse than numbers. *)
Require Import Reals Lra Psatz List.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Definitions Meaning.
From DP.core Require Import Costs.
From DP.noise Require Import Laws Normals.
From DP.samples Require Import Poisson Replaced Worst WorstLaplace.
Import ListNotations.
Open Scope R_scope.

Section Triple.
  Context {B : Type} (U Z V : law B) (q : R) (Hq : 0 <= q <= 1).
  Local Notation part x m := (mix q Hq x m).

  (** q is split: one event g is best for U against Z with one share, and for U against V with the other. *)
  Definition splits (c : R) : Prop := exists l1 l2 g, test g /\ 0 <= l1 /\ 0 <= l2 /\ q = l1 + l2 /\
    (forall h, test h -> l1 * U h - (1 - q) * (c - 1) * Z h <= l1 * U g - (1 - q) * (c - 1) * Z g) /\
    (forall h, test h -> l2 * U h - c * q * V h <= l2 * U g - c * q * V g).

  (** One share of a gain. *)
  Lemma share_gain {A} (L K : law A) (X Y : law B) l k g f : 0 <= l -> 0 <= k -> dominated L K X Y -> test f ->
    (forall h, test h -> l * X h - k * Y h <= l * X g - k * Y g) -> l * L f - k * K f <= l * X g - k * Y g.
  Proof.
    intros Hl Hk HD Hf Hg. destruct Hl as [Hl|<-].
    - assert (Hkl : 0 <= k / l) by (apply Rmult_le_pos; [auto | left; apply Rinv_0_lt_compat; auto]).
      assert (G : L f - k / l * K f <= X g - k / l * Y g).
      { apply HD; auto. intros h Hh. apply Rmult_le_reg_l with l; auto. specialize (Hg h Hh).
        replace (l * (X h - k / l * Y h)) with (l * X h - k * Y h) by (field; lra).
        replace (l * (X g - k / l * Y g)) with (l * X g - k * Y g) by (field; lra). auto. }
      apply Rmult_le_compat_l with (r := l) in G; [|lra].
      replace (l * (L f - k / l * K f)) with (l * L f - k * K f) in G by (field; lra).
      replace (l * (X g - k / l * Y g)) with (l * X g - k * Y g) in G by (field; lra). auto.
    - specialize (Hg _ test_0). rewrite !E_0 in Hg. pose proof (E_test K f Hf).
      assert (0 <= k * K f) by (apply Rmult_le_pos; lra). lra.
  Qed.

  Lemma split_gain {A} (L L' K : law A) c f : 1 <= c -> splits c -> dominated L K U Z ->
    dominated L L' U V -> test f -> part L K f - c * part L' K f <= curve (part U Z) (part V Z) c.
  Proof.
    intros Hc [l1 [l2 [g [Hg [H1 [H2 [E [G1 G2]]]]]]]] D1 D2 Hf.
    assert (Hk : 0 <= (1 - q) * (c - 1)) by (apply Rmult_le_pos; lra).
    pose proof (share_gain L K U Z l1 _ g f H1 Hk D1 Hf G1) as A1.
    pose proof (share_gain L L' U V l2 (c * q) g f H2 ltac:(nra) D2 Hf G2) as A2.
    apply Rle_trans with (2 := curve_above _ _ c ltac:(lra) g Hg). rewrite !mix_E.
    replace (q * L f) with (l1 * L f + l2 * L f) by (rewrite E; ring).
    replace (q * U g) with (l1 * U g + l2 * U g) by (rewrite E; ring). lra.
  Qed.

  Hypothesis split : forall c, 1 <= c -> splits c.
  Hypothesis mirror : forall c, 0 < c -> curve (part U Z) (part V Z) c = curve (part V Z) (part U Z) c.

  Theorem replaced_triple {A} (L L' K : law A) :
    dominated L K U Z -> dominated L' K U Z -> dominated L L' U V -> dominated L' L U V ->
    dominated (part L K) (part L' K) (part U Z) (part V Z).
  Proof.
    intros D1 D2 D3 D4. apply dominated_from_one; intros c Hc; apply curve_least; intros f Hf.
    - apply split_gain; auto.
    - rewrite <- mirror by lra. apply split_gain; auto.
  Qed.

  (** On a sample of rows. *)
  Theorem replaced_mechanism {row A} (M : list row -> law A) r r' l m :
    (forall s s', let L := M (s ++ r :: s') in let L' := M (s ++ r' :: s') in let K := M (s ++ s') in
      dominated L K U Z /\ dominated L' K U Z /\ dominated L L' U V /\ dominated L' L U V) ->
    dominated (bind (sample q Hq (l ++ r :: m)) M) (bind (sample q Hq (l ++ r' :: m)) M) (part U Z) (part V Z).
  Proof.
    intros H. eapply dominated_same; [apply sample_with | apply sample_with|].
    apply dominated_bind. intros [s s']. destruct (H s s') as [D1 [D2 [D3 D4]]]. apply replaced_triple; auto.
  Qed.
End Triple.

(** Noise whose likelihood ratios rise splits where a half-line of nil gain ends. *)
Lemma noise_splits (N : R -> law R) (F n : R -> R) q u c t : (forall m a, N m (upto a) = F (a - m)) ->
  likelihood N (fun m x => n (x - m)) -> (forall x, 0 < n x) ->
  (forall m' m x y, m' <= m -> x <= y -> n (x - m) / n (x - m') <= n (y - m) / n (y - m')) ->
  0 <= q <= 1 -> 0 <= u -> 1 <= c ->
  q * n (t - u) = c * q * n (t + u) + (1 - q) * (c - 1) * n t -> splits (N u) (N 0) (N (- u)) q c.
Proof.
  intros half odds n_pos rising Hq Hu Hc He.
  pose proof (n_pos (t - u)) as P0. pose proof (n_pos (t + u)) as P1. pose proof (n_pos t) as P2.
  assert (Hk : 0 <= (1 - q) * (c - 1)) by (apply Rmult_le_pos; lra).
  set (k := (1 - q) * (c - 1)) in *. set (l1 := k * n t / n (t - u)). set (l2 := c * q * n (t + u) / n (t - u)).
  assert (H1 : 0 <= l1) by (apply Rmult_le_pos; [nra | left; apply Rinv_0_lt_compat; auto]).
  assert (H2 : 0 <= l2) by (apply Rmult_le_pos; [repeat apply Rmult_le_pos; lra | left; apply Rinv_0_lt_compat; auto]).
  exists l1, l2, (from t). repeat split; auto; try apply from_test.
  - unfold l1, l2. apply Rmult_eq_reg_r with (n (t - u)); [|lra]. rewrite He. field. lra.
  - intros h Hh. fold k. pose proof (best_from N F n half odds n_pos rising u 0 t h Hu Hh) as B.
    rewrite <- !(from_E N F half) in B. rewrite Rminus_0_r in B. apply Rmult_le_compat_l with (r := l1) in B; auto.
    rewrite !Rmult_minus_distr_l, <- !Rmult_assoc in B.
    replace (l1 * (n (t - u) / n t)) with k in B by (unfold l1; field; lra). auto.
  - intros h Hh. pose proof (best_from N F n half odds n_pos rising u (- u) t h ltac:(lra) Hh) as B.
    rewrite <- !(from_E N F half) in B. replace (t - - u) with (t + u) in B by ring.
    apply Rmult_le_compat_l with (r := l2) in B; auto. rewrite !Rmult_minus_distr_l, <- !Rmult_assoc in B.
    replace (l2 * (n (t - u) / n (t + u))) with (c * q) in B by (unfold l2; field; lra). auto.
Qed.

Theorem gaussian_splits s N q u c : 0 < s -> normal_law s N -> 0 < q <= 1 -> 0 < u -> 1 <= c ->
  splits (N u) (N 0) (N (- u)) q c.
Proof.
  intros Hs [H1 H2] Hq Hu Hc. apply noise_splits with (F := fun z => Phi (z / s)) (n := bell_of s)
    (t := s * cut s q u c); auto using bell_pos, bell_rising; try lra. apply gaussian_crosses; lra.
Qed.

(** Any mechanism that costs no more than Gaussian noise of these shifts. *)
Theorem replaced_as_gaussian s N q (Hq : 0 <= q <= 1) u {row A} (M : list row -> law A) r r' l m :
  0 < s -> normal_law s N -> 0 < q -> 0 < u ->
  (forall s s', let L := M (s ++ r :: s') in let L' := M (s ++ r' :: s') in let K := M (s ++ s') in
    dominated L K (N u) (N 0) /\ dominated L' K (N u) (N 0) /\
    dominated L L' (N u) (N (- u)) /\ dominated L' L (N u) (N (- u))) ->
  dominated (bind (sample q Hq (l ++ r :: m)) M) (bind (sample q Hq (l ++ r' :: m)) M)
    (mix q Hq (N u) (N 0)) (mix q Hq (N (- u)) (N 0)).
Proof.
  intros Hs HN Hpos Hu H. apply replaced_mechanism; auto.
  - intros c Hc. apply gaussian_splits with s; auto. lra.
  - intros c Hc. apply replaced_gaussian_symmetric with s; auto; lra.
Qed.

Theorem laplace_splits b N q u c : 0 < b -> laplace_law b N -> 0 < q <= 1 -> 0 <= u -> 1 <= c ->
  splits (N u) (N 0) (N (- u)) q c.
Proof.
  intros Hb HN Hq Hu Hc. set (e := exp (u / b)). assert (He : 0 < e) by apply exp_pos.
  set (k := (1 - q) * (c - 1)). assert (Hk : 0 <= k) by (apply Rmult_le_pos; lra).
  destruct (Rle_dec (c * q + k * e) (q * (e * e))) as [H|H].
  - destruct (laplace_crosses b Hb q ltac:(lra) u ltac:(lra) Hu c Hc H) as [t Ht]. destruct HN as [H1 H2].
    apply noise_splits with (F := fun z => laplace_below (z / b)) (n := tent b) (t := t);
      auto using tent_pos, tent_rising; lra.
  - pose proof (Rmin_l q (k / e)) as M1. pose proof (Rmin_r q (k / e)) as M2.
    assert (M0 : 0 <= Rmin q (k / e)).
    { apply Rmin_glb; [lra|]. apply Rmult_le_pos; auto. left. apply Rinv_0_lt_compat; auto. }
    assert (Ek : k / e * e = k) by (field; lra).
    exists (Rmin q (k / e)), (q - Rmin q (k / e)), (fun _ => 0). repeat split; auto using test_0; try lra; intros h Hh;
      rewrite !E_0; fold k.
    + pose proof (pure_within b N Hb HN u 0 u h ltac:(rewrite Rminus_0_r, Rabs_pos_eq; lra) Hh) as A. fold e in A.
      pose proof (E_test (N 0) h Hh). apply Rmult_le_compat_l with (r := Rmin q (k / e)) in A; auto.
      assert (Rmin q (k / e) * e <= k) by (apply Rle_trans with (k / e * e); [apply Rmult_le_compat_r|]; lra).
      assert (Rmin q (k / e) * e * N 0 h <= k * N 0 h) by (apply Rmult_le_compat_r; lra). lra.
    + pose proof (pure_within b N Hb HN u (- u) (u + u) h
        ltac:(replace (u - - u) with (u + u) by ring; rewrite Rabs_pos_eq; lra) Hh) as A.
      replace ((u + u) / b) with (u / b + u / b) in A by (field; lra). rewrite exp_plus in A. fold e in A.
      pose proof (E_test (N (- u)) h Hh). set (l := q - Rmin q (k / e)) in *.
      assert (Hl : 0 <= l) by (unfold l; lra). apply Rmult_le_compat_l with (r := l) in A; auto.
      assert (l * (e * e) <= c * q).
      { assert (Hmin : Rmin q (k / e) = q \/ Rmin q (k / e) = k / e) by (unfold Rmin; destruct Rle_dec; auto).
        destruct Hmin as [E|E].
        - unfold l. rewrite E. nra.
        - unfold l. rewrite E. replace ((q - k / e) * (e * e)) with (q * (e * e) - k / e * e * e) by ring.
          rewrite Ek. lra. }
      assert (l * (e * e) * N (- u) h <= c * q * N (- u) h) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(** Any mechanism that costs no more than Laplace noise of these shifts. *)
Theorem replaced_as_laplace b N q (Hq : 0 <= q <= 1) u {row A} (M : list row -> law A) r r' l m :
  0 < b -> laplace_law b N -> 0 < q -> 0 <= u ->
  (forall s s', let L := M (s ++ r :: s') in let L' := M (s ++ r' :: s') in let K := M (s ++ s') in
    dominated L K (N u) (N 0) /\ dominated L' K (N u) (N 0) /\
    dominated L L' (N u) (N (- u)) /\ dominated L' L (N u) (N (- u))) ->
  dominated (bind (sample q Hq (l ++ r :: m)) M) (bind (sample q Hq (l ++ r' :: m)) M)
    (mix q Hq (N u) (N 0)) (mix q Hq (N (- u)) (N 0)).
Proof.
  intros Hb HN Hpos Hu H. apply replaced_mechanism; auto.
  - intros c Hc. apply laplace_splits with b; auto. lra.
  - intros c Hc. apply replaced_laplace_symmetric with b; auto; lra.
Qed.
