(** A mechanism of (ε, δ) on Poisson samples: it costs no more than geometric noise of scale 1/ε, moved by 1, that
    fails with probability δ; samples/Failing.v says what that costs on a sample. *)
Require Import Reals ZArith Lra Lia Psatz List.
From DP.base Require Import Laws Sums.
From DP Require Import Definitions Meaning.
From DP.samples Require Import Poisson Failing Geometric Pure.
Import ListNotations.
Open Scope R_scope.

(** (ε, δ) in both orders. *)
Definition within {A} (e delta : R) (L K : law A) : Prop := forall f, test f ->
  L f <= exp e * K f + delta /\ K f <= exp e * L f + delta.

Section Numbers.
  Variables x delta p k c : R.
  Hypothesis Hx : 1 < x.
  Hypothesis Hdelta : 0 <= delta <= 1.
  Hypothesis Hp : 0 <= p <= 1.
  Hypothesis Hk : 0 <= k <= 1.
  Hypothesis H1 : p <= x * k + delta.
  Hypothesis H2 : 1 - k <= x * (1 - p) + delta.

  Lemma middle : 1 <= c * x -> c <= x -> (1 + x) * (p - c * k) <= (1 - delta) * (x - c) + delta * (1 + x).
  Proof.
    intros C1 C2. assert (A1 : 0 <= c * x - 1) by lra. assert (A2 : 0 <= x - c) by lra.
    pose proof (Rmult_le_compat_l _ _ _ A1 H1) as B1. pose proof (Rmult_le_compat_l _ _ _ A2 H2) as B2.
    apply Rmult_le_reg_r with (x - 1); [lra|]. nra.
  Qed.

  Lemma small : 0 <= c -> c * x <= 1 -> p - c * k <= delta + (1 - delta) * (1 - c).
  Proof.
    intros C0 C1. destruct (Rle_dec (1 - delta) k) as [H|H].
    - assert (c * (1 - delta) <= c * k) by (apply Rmult_le_compat_l; auto). lra.
    - assert (G : c * x * (1 - delta - k) <= 1 * (1 - delta - k)) by (apply Rmult_le_compat_r; lra).
      apply Rmult_le_reg_l with x; [lra|]. nra.
  Qed.
End Numbers.

Section Approximate.
  Variables (e delta : R) (D : law Z).
  Hypothesis He : 0 < e.
  Hypothesis Hdelta : 0 <= delta <= 1.
  Hypothesis HD : discrete_laplace (/ e) D.
  Local Notation U := (moved D 1).
  Local Notation O := (moved D 0).

  Theorem within_dominated {A} (L K : law A) : within e delta L K ->
    dominated L K (fail Z delta Hdelta true U) (fail Z delta Hdelta false O).
  Proof.
    intros HW c d Hc Hd f Hf. assert (Hx : 1 < exp e) by (rewrite <- exp_0; apply exp_increasing; auto).
    pose proof (E_test L f Hf) as Hp. pose proof (E_test K f Hf) as Hk.
    destruct (HW f Hf) as [H1 _]. destruct (HW _ (test_minus f Hf)) as [_ H2]. rewrite !E_minus in H2 by auto.
    assert (Ask : forall g, test g -> delta + (1 - delta) * (U g - c * O g) <= d).
    { intros g Hg. assert (T : test (extend Z g 1 0)) by (apply extend_test; auto; lra). specialize (Hd _ T).
      rewrite !fail_E, !image_extend in Hd. cbn [extend] in Hd. lra. }
    destruct (Rle_dec c (exp e)) as [C2|C2].
    - destruct (Rle_dec 1 (c * exp e)) as [C1|C1].
      + pose proof (middle _ _ _ _ c Hx H1 H2 C1 C2) as G. specialize (Ask _ (starting_test 1)).
        destruct (positive e D He HD) as [EO [EU _]]. rewrite EO, EU in Ask. apply Rle_trans with (2 := Ask).
        apply Rmult_le_reg_l with (1 + exp e); [lra|]. apply Rle_trans with (1 := G). right. field. lra.
      + specialize (Ask _ test_1). rewrite !E_1 in Ask.
        pose proof (small (exp e) delta (L f) (K f) c Hx) as G. specialize (G Hp Hk H2 Hc ltac:(lra)). lra.
    - specialize (Ask _ test_0). rewrite !E_0 in Ask.
      assert (exp e * K f <= c * K f) by (apply Rmult_le_compat_r; lra). lra.
  Qed.

  (** The theorem, in both directions. *)
  Theorem poisson_approximate {row A} (q : R) (Hq : 0 <= q <= 1) (M : list row -> law A) u l m : 0 < q ->
    (forall s s', within e delta (M (s ++ u :: s')) (M (s ++ s'))) ->
    forall c f, 0 <= c -> test f ->
    bind (sample q Hq (l ++ u :: m)) M f - c * bind (sample q Hq (l ++ m)) M f
      <= (1 - delta) * curve (mix q Hq U O) O c + (q * delta + delta * Rmax 0 (1 - q - c)) /\
    bind (sample q Hq (l ++ m)) M f - c * bind (sample q Hq (l ++ u :: m)) M f
      <= (1 - delta) * curve O (mix q Hq U O) c + delta * Rmax 0 (1 - c * (1 - q)).
  Proof. intros Hpos H. apply (poisson_failing Z delta Hdelta); auto. intros s s'. apply within_dominated, H. Qed.
End Approximate.
