(** What two draws of one kind of noise cost, around two values. *)
Require Import Reals ZArith Lra Lia Psatz List.
From Coquelicot Require Import Rcomplements.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Definitions Meaning.
From DP.core Require Import Costs Products.
Import ListNotations.
Open Scope R_scope.

Lemma triangle_from a x y : Rabs (x - a) - Rabs (y - a) <= Rabs (x - y).
Proof.
  pose proof (Rabs_triang (x - y) (y - a)) as T. replace (x - y + (y - a)) with (x - a) in T by ring. lra.
Qed.

Lemma laplace_pure b L m m' : 0 < b -> laplace_law b L -> pure_cost (Rabs (m - m') / b) (L m) (L m').
Proof.
  intros Hb [_ HL] f Hf. set (c := exp (Rabs (m - m') / b)).
  assert (Hc : 0 < c) by apply exp_pos.
  assert (Hratio : forall x, 0 <= exp (- Rabs (x - m) / b) / exp (- Rabs (x - m') / b) / c <= 1).
  { intros x. replace (exp (- Rabs (x - m) / b) / exp (- Rabs (x - m') / b) / c)
      with (exp ((Rabs (m' - x) - Rabs (m - x) - Rabs (m - m')) / b)).
    2: { unfold c, Rdiv. rewrite <- !exp_Ropp, <- !exp_plus. f_equal. rewrite (Rabs_minus_sym x m), (Rabs_minus_sym x m'). field. lra. }
    split; [left; apply exp_pos|]. rewrite <- exp_0. apply exp_le.
    pose proof (triangle_from x m' m) as T. rewrite (Rabs_minus_sym m' m) in T.
    apply Rmult_le_reg_r with b; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  assert (Hin : forall x, f x * (exp (- Rabs (x - m) / b) / exp (- Rabs (x - m') / b)) / c
    = f x * (exp (- Rabs (x - m) / b) / exp (- Rabs (x - m') / b) / c)) by (intros; unfold Rdiv; ring).
  assert (Ht : test (fun x => f x * (exp (- Rabs (x - m) / b) / exp (- Rabs (x - m') / b)) / c)).
  { intros x. rewrite Hin. specialize (Hratio x). specialize (Hf x). nra. }
  rewrite (HL m m' c f Hc Hf Ht). apply Rmult_le_compat_l; [lra|]. apply E_mono; auto.
  intros x. rewrite Hin. specialize (Hratio x). specialize (Hf x). nra.
Qed.

Lemma discrete_laplace_pure b N x y : 0 < b -> discrete_laplace b N ->
  pure_cost (Rabs (IZR x - IZR y) / b) (image (Z.add x) N) (image (Z.add y) N).
Proof.
  intros Hb [Hw [Hpos HN]] f Hf. simpl.
  set (w := fun z => exp (- Rabs (IZR z) / b)) in *.
  assert (Hm : forall k, test (fun z => f (k + z)%Z)) by (intros k z; apply Hf).
  assert (Hshift : forall k, usum (fun z => w z * f (k + z)%Z) = usum (fun z => w (z - k)%Z * f z)).
  { intros k. rewrite <- (usum_rename (fun z => w (z - k)%Z * f z) (fun z => (k + z)%Z) (fun z => (z - k)%Z)); try (intros; lia).
    - apply usum_ext. intros z. do 2 f_equal. lia.
    - apply summable_ext with (fun z => w (z - k)%Z * f (k + (z - k))%Z); [intros z; do 2 f_equal; lia|].
      apply (summable_rename (fun z => w z * f (k + z)%Z) (fun z => (z - k)%Z) (fun z => (z + k)%Z)); try (intros; lia).
      apply (summable_test w (fun z => f (k + z)%Z)); auto. }
  apply Rmult_le_reg_r with (usum w); auto. rewrite Rmult_assoc, !HN by auto. rewrite !Hshift.
  rewrite <- usum_scale.
  - assert (Hs : summable (fun z => exp (Rabs (IZR x - IZR y) / b) * (w (z - y)%Z * f z))).
    { apply summable_scale; [left; apply exp_pos|].
      apply summable_ext with (fun z => w (z - y)%Z * f (y + (z - y))%Z); [intros z; do 2 f_equal; lia|].
      apply (summable_rename (fun z => w z * f (y + z)%Z) (fun z => (z - y)%Z) (fun z => (z + y)%Z)); try (intros; lia).
      apply (summable_test w (fun z => f (y + z)%Z)); auto. }
    apply usum_le; auto. intros z. pose proof (Hf z). unfold w. split; [apply Rmult_le_pos; [left; apply exp_pos | lra]|].
    rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra|]. rewrite <- exp_plus. apply exp_le.
    rewrite !minus_IZR. pose proof (triangle_from (IZR z) (IZR y) (IZR x)) as T. rewrite (Rabs_minus_sym (IZR y) (IZR x)) in T.
    rewrite (Rabs_minus_sym (IZR y) (IZR z)), (Rabs_minus_sym (IZR x) (IZR z)) in T.
    apply Rmult_le_reg_r with b; auto. unfold Rdiv. rewrite Rmult_plus_distr_r, !Rmult_assoc, !Rinv_l by lra. lra.
  - left; apply exp_pos.
  - apply summable_ext with (fun z => w (z - y)%Z * f (y + (z - y))%Z); [intros z; do 2 f_equal; lia|].
    apply (summable_rename (fun z => w z * f (y + z)%Z) (fun z => (z - y)%Z) (fun z => (z + y)%Z)); try (intros; lia).
    apply (summable_test w (fun z => f (y + z)%Z)); auto.
Qed.
