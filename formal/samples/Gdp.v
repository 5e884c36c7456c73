(** A row of a Poisson sample is replaced, for a mechanism of μ-GDP: Gaussian noise in any number of dimensions.

    μ-GDP against the result without the row is what Gaussian noise moved by μ deviations costs, and two results that
    are both μ-GDP against a third are 2μ-GDP against each other. *)
Require Import Reals Lra Psatz List.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Definitions Meaning.
From DP.noise Require Import Normals.
From DP.samples Require Import Poisson Replaced Mechanisms.
Import ListNotations.
Open Scope R_scope.

Section Gdp.
  Variables (s : R) (N : R -> law R).
  Hypothesis Hs : 0 < s.
  Hypothesis HN : normal_law s N.

  Lemma half_line m a : N m (from a) = Phi ((m - a) / s).
  Proof.
    unfold from. rewrite E_minus by apply upto_test. destruct HN as [-> _]. rewrite <- Phi_opp. f_equal. field. lra.
  Qed.

  (** Where K f <= Φ(z) implies L f <= Φ(z + μ), the noise at x against the noise at y is the worst, x - y = μ·s. *)
  Lemma gdp_dominated {A} (L K : law A) mu x y : x - y = s * mu ->
    (forall f z, test f -> K f <= Phi z -> L f <= Phi (z + mu)) -> dominated L K (N x) (N y).
  Proof.
    intros Hxy H c d Hc Hd f Hf. pose proof (E_test L f Hf) as HL. pose proof (E_test K f Hf) as [[H0|H0] H1].
    - destruct H1 as [H1|H1].
      + destruct (Phi_onto (K f) (conj H0 H1)) as [z Hz]. specialize (H f z Hf ltac:(lra)).
        specialize (Hd _ (from_test (y - s * z))). rewrite !half_line in Hd.
        replace ((x - (y - s * z)) / s) with (z + mu) in Hd
          by (replace (x - (y - s * z)) with (x - y + s * z) by ring; rewrite Hxy; field; lra).
        replace ((y - (y - s * z)) / s) with z in Hd by (field; lra). rewrite Hz in Hd. lra.
      + specialize (Hd _ test_1). rewrite !E_1 in Hd. rewrite H1. lra.
    - specialize (Hd _ test_0). rewrite !E_0 in Hd. rewrite <- H0. apply Rle_trans with (2 := Hd).
      assert (L f <= 0); [|lra]. apply Rnot_lt_le. intros Hgt. destruct (Phi_to_0 (L f) Hgt) as [z [_ Hz]].
      specialize (Hz (- z) ltac:(lra)). specialize (H f (- z - mu) Hf).
      replace (- z - mu + mu) with (- z) in H by ring. pose proof (Phi_range (- z - mu)). lra.
  Qed.

  (** The theorem: with either row and without, the results on every sample are μ-GDP, in both orders. *)
  Theorem replaced_gdp {row A} (q : R) (Hq : 0 <= q <= 1) (M : list row -> law A) mu_squared r r' l m :
    0 < q -> 0 < mu_squared ->
    (forall s s', let K := M (s ++ s') in
      gdp_cost mu_squared (M (s ++ r :: s')) K /\ gdp_cost mu_squared K (M (s ++ r :: s')) /\
      gdp_cost mu_squared (M (s ++ r' :: s')) K /\ gdp_cost mu_squared K (M (s ++ r' :: s'))) ->
    let u := s * sqrt mu_squared in
    dominated (bind (sample q Hq (l ++ r :: m)) M) (bind (sample q Hq (l ++ r' :: m)) M)
      (mix q Hq (N u) (N 0)) (mix q Hq (N (- u)) (N 0)).
  Proof.
    intros Hpos Hmu H u. assert (Hu : 0 < u) by (apply Rmult_lt_0_compat; auto using sqrt_lt_R0).
    apply replaced_as_gaussian with s; auto. intros v w L L' K. destruct (H v w) as [G1 [G2 [G3 G4]]].
    fold L K in G1, G2. fold L' K in G3, G4.
    assert (Two : forall X Y : law A, gdp_cost mu_squared X K -> gdp_cost mu_squared K Y ->
      dominated X Y (N u) (N (- u))).
    { intros X Y GX GY. apply gdp_dominated with (mu := 2 * sqrt mu_squared); [unfold u; ring|].
      intros f z Hf Hz. replace (z + 2 * sqrt mu_squared) with (z + sqrt mu_squared + sqrt mu_squared) by ring.
      apply GX; auto. }
    repeat split; auto; apply gdp_dominated with (mu := sqrt mu_squared); auto; unfold u; ring.
  Qed.
End Gdp.
