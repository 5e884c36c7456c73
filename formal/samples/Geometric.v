(** A row of a Poisson sample is replaced: geometric noise on the integers, and mechanisms of pure ε.

    Noise on integers splits like noise on the line (samples/Mechanisms.v), but the odds jump: the shares lie between
    the values on either side of the first integer of the best half-line.  A mechanism of pure ε costs no more than
    geometric noise of scale 1/ε that is moved by 1. *)
Require Import Reals ZArith Lra Lia Psatz List.
From DP.base Require Import Laws Sums.
From DP Require Import Definitions Meaning.
From DP.core Require Import Costs.
From DP.samples Require Import Poisson Mechanisms.
Import ListNotations.
Open Scope R_scope.

Definition starting (t : Z) (x : Z) : R := if Z_le_dec t x then 1 else 0.

Lemma starting_test t : test (starting t).
Proof. intros x. unfold starting. destruct Z_le_dec; lra. Qed.

Section Geometric.
  Variables (b : R) (D : law Z).
  Hypothesis Hb : 0 < b.
  Hypothesis HD : discrete_laplace b D.

  Definition weight (z : Z) : R := exp (- Rabs (IZR z) / b).
  Definition moved (k : Z) : law Z := image (Z.add k) D.

  Lemma weight_pos z : 0 < weight z.
  Proof. apply exp_pos. Qed.

  Lemma weight_even z : weight (- z) = weight z.
  Proof. unfold weight. rewrite opp_IZR, Rabs_Ropp. auto. Qed.

  Lemma moved_summable k f : test f -> summable (fun x => weight (x - k) * f x).
  Proof.
    intros Hf. destruct HD as [Hw _].
    apply summable_ext with (fun x => weight (x - k) * f (k + (x - k))%Z); [intros x; do 2 f_equal; lia|].
    apply (summable_rename (fun z => weight z * f (k + z)%Z) (fun x => (x - k)%Z) (fun z => (z + k)%Z));
      try (intros; lia).
    apply (summable_test weight (fun z => f (k + z)%Z)); auto. intros z. apply Hf.
  Qed.

  Lemma moved_E k f : test f -> moved k f * usum weight = usum (fun x => weight (x - k) * f x).
  Proof.
    intros Hf. destruct HD as [Hw [Hp HE]]. unfold moved. simpl.
    assert (E : D (fun z => f (k + z)%Z) * usum weight = usum (fun z => weight z * f (k + z)%Z)).
    { apply (HE (fun z => f (k + z)%Z)). intros z. apply Hf. }
    rewrite E.
    rewrite <- (usum_rename (fun x => weight (x - k)%Z * f x) (fun z => (k + z)%Z) (fun x => (x - k)%Z));
      try (intros; lia); [|apply moved_summable; auto].
    apply usum_ext. intros z. unfold weight. repeat f_equal. lia.
  Qed.

  Lemma total_weight : 0 < usum weight.
  Proof. apply HD. Qed.

  Lemma moved_mirror k f : test f -> moved (- k) f = moved k (fun x => f (- x)%Z).
  Proof.
    intros Hf. pose proof total_weight as Hp. apply Rmult_eq_reg_r with (usum weight); [|lra].
    rewrite !moved_E by (auto; intros x; apply Hf).
    rewrite <- (usum_rename (fun x => weight (x - - k)%Z * f x) Z.opp Z.opp); try (intros; lia);
      [|apply moved_summable; auto].
    apply usum_ext. intros x. f_equal. rewrite <- weight_even. f_equal. lia.
  Qed.

  (** What the weights say of the integers from t on. *)
  Lemma best_starting u v l k t : 0 <= l -> 0 <= k ->
    (forall x, (t <= x)%Z -> k * weight (x - v) <= l * weight (x - u)) ->
    (forall x, (x < t)%Z -> l * weight (x - u) <= k * weight (x - v)) ->
    forall h, test h -> l * moved u h - k * moved v h <= l * moved u (starting t) - k * moved v (starting t).
  Proof.
    intros Hl Hk Hup Hlow h Hh. pose proof total_weight as Hp. pose proof (starting_test t) as Hg.
    assert (G : l * usum (fun x => weight (x - u) * h x) + k * usum (fun x => weight (x - v) * starting t x)
             <= l * usum (fun x => weight (x - u) * starting t x) + k * usum (fun x => weight (x - v) * h x)).
    { rewrite <- !usum_scale by auto using moved_summable.
      rewrite <- !usum_plus by auto using summable_scale, moved_summable.
      apply usum_le; [auto using summable_plus, summable_scale, moved_summable|].
      intros x. pose proof (weight_pos (x - u)). pose proof (weight_pos (x - v)). specialize (Hh x). specialize (Hg x).
      split.
      - apply Rplus_le_le_0_compat; repeat apply Rmult_le_pos; lra.
      - unfold starting. destruct (Z_le_dec t x) as [Hx|Hx].
        + specialize (Hup x Hx). nra.
        + specialize (Hlow x ltac:(lia)). nra. }
    rewrite <- !moved_E in G by auto. apply Rmult_le_reg_r with (usum weight); auto. lra.
  Qed.

  Variables (q : R) (Hq : 0 <= q <= 1) (u : nat).
  Hypothesis Hpos : 0 < q.
  Local Notation U := (moved (Z.of_nat u)).
  Local Notation V := (moved (- Z.of_nat u)).
  Local Notation O := (moved 0).

  (** Odds of noise at 0 and at -u to noise at u: they fall along the line, and stay as they are beyond u. *)
  Definition odds0 (x : Z) : R := exp ((Rabs (IZR x - INR u) - Rabs (IZR x)) / b).
  Definition odds1 (x : Z) : R := exp ((Rabs (IZR x - INR u) - Rabs (IZR x + INR u)) / b).

  Lemma odds0_weight x : weight (x - 0) = odds0 x * weight (x - Z.of_nat u).
  Proof.
    unfold weight, odds0. rewrite <- exp_plus, Z.sub_0_r, minus_IZR, <- INR_IZR_INZ. f_equal. field. lra.
  Qed.

  Lemma odds1_weight x : weight (x - - Z.of_nat u) = odds1 x * weight (x - Z.of_nat u).
  Proof.
    unfold weight, odds1. rewrite <- exp_plus, !minus_IZR, opp_IZR, <- INR_IZR_INZ. f_equal.
    replace (IZR x - - INR u) with (IZR x + INR u) by ring. field. lra.
  Qed.

  Lemma ratio_le p r : p <= r -> exp (p / b) <= exp (r / b).
  Proof. intros H. apply exp_le. apply Rmult_le_compat_r; auto. left. apply Rinv_0_lt_compat; auto. Qed.

  Lemma odds0_falls x y : (x <= y)%Z -> odds0 y <= odds0 x.
  Proof.
    intros H. apply IZR_le in H. pose proof (pos_INR u). apply ratio_le. unfold Rabs. repeat destruct Rcase_abs; lra.
  Qed.

  Lemma odds1_falls x y : (x <= y)%Z -> odds1 y <= odds1 x.
  Proof.
    intros H. apply IZR_le in H. pose proof (pos_INR u). apply ratio_le. unfold Rabs. repeat destruct Rcase_abs; lra.
  Qed.

  Lemma odds0_least x : odds0 (Z.of_nat u) <= odds0 x.
  Proof.
    pose proof (pos_INR u). apply ratio_le. rewrite <- INR_IZR_INZ. unfold Rabs. repeat destruct Rcase_abs; lra.
  Qed.

  Lemma odds1_least x : odds1 (Z.of_nat u) <= odds1 x.
  Proof.
    pose proof (pos_INR u). apply ratio_le. rewrite <- INR_IZR_INZ. unfold Rabs. repeat destruct Rcase_abs; lra.
  Qed.

  Lemma odds_at_0 : 1 <= odds1 0 /\ 0 < odds0 0.
  Proof.
    split; [|apply exp_pos]. unfold odds1. rewrite Rminus_0_l, Rplus_0_l, Rabs_Ropp, Rminus_diag_eq by auto.
    unfold Rdiv. rewrite Rmult_0_l, exp_0. lra.
  Qed.

  (** A sum that starts at q or above passes it at one of the first n steps, or not at all. *)
  Lemma passes (S : Z -> R) n : q <= S 0%Z ->
    (exists t, S (t + 1)%Z <= q <= S t) \/ q <= S (Z.of_nat n).
  Proof.
    intros H0. induction n as [|n [IH|IH]]; auto. destruct (Rle_dec q (S (Z.of_nat (Datatypes.S n)))) as [H|H]; auto.
    left. exists (Z.of_nat n). replace (Z.of_nat n + 1)%Z with (Z.of_nat (Datatypes.S n)) by lia. lra.
  Qed.

  (** Shares between two sums. *)
  Lemma between a a' d d' : 0 <= a <= a' -> 0 <= d <= d' -> a + d <= q <= a' + d' ->
    exists l1 l2, a <= l1 <= a' /\ d <= l2 <= d' /\ q = l1 + l2.
  Proof.
    intros Ha Hd H. exists (Rmin a' (q - d)), (q - Rmin a' (q - d)). unfold Rmin. destruct Rle_dec; repeat split; lra.
  Qed.

  Theorem geometric_splits c : 1 <= c -> splits U O V q c.
  Proof.
    intros Hc. set (k := (1 - q) * (c - 1)). assert (Hk : 0 <= k) by (apply Rmult_le_pos; lra).
    assert (Hcq : 0 <= c * q) by nra. destruct odds_at_0 as [H1 H0].
    set (S := fun x => k * odds0 x + c * q * odds1 x).
    assert (Start : q <= S 0%Z).
    { unfold S. assert (0 <= k * odds0 0) by (apply Rmult_le_pos; lra). nra. }
    assert (P0 : forall x, 0 <= k * odds0 x) by (intros; apply Rmult_le_pos; [auto | left; apply exp_pos]).
    assert (P1 : forall x, 0 <= c * q * odds1 x) by (intros; apply Rmult_le_pos; [auto | left; apply exp_pos]).
    assert (F0 : forall x y, (x <= y)%Z -> k * odds0 y <= k * odds0 x)
      by (intros; apply Rmult_le_compat_l, odds0_falls; auto).
    assert (F1 : forall x y, (x <= y)%Z -> c * q * odds1 y <= c * q * odds1 x)
      by (intros; apply Rmult_le_compat_l, odds1_falls; auto).
    pose proof (fun x => weight_pos (x - Z.of_nat u)) as HW.
    destruct (passes S u Start) as [[t Ht]|H].
    - unfold S in Ht. pose proof (F0 t (t + 1)%Z ltac:(lia)) as T0. pose proof (F1 t (t + 1)%Z ltac:(lia)) as T1.
      destruct (between _ _ _ _ (conj (P0 (t + 1)%Z) T0) (conj (P1 (t + 1)%Z) T1) Ht) as [l1 [l2 [L1 [L2 E]]]].
      pose proof (P0 (t + 1)%Z). pose proof (P1 (t + 1)%Z).
      exists l1, l2, (starting (t + 1)). refine (conj (starting_test _) (conj _ (conj _ (conj E (conj _ _))))); try lra;
        fold k; apply best_starting; auto; try lra; intros x Hx; specialize (HW x).
      + rewrite odds0_weight, <- Rmult_assoc. apply Rmult_le_compat_r; [lra|]. pose proof (F0 _ _ Hx). lra.
      + rewrite odds0_weight, <- Rmult_assoc. apply Rmult_le_compat_r; [lra|]. pose proof (F0 x t ltac:(lia)). lra.
      + rewrite odds1_weight, <- Rmult_assoc. apply Rmult_le_compat_r; [lra|]. pose proof (F1 _ _ Hx). lra.
      + rewrite odds1_weight, <- Rmult_assoc. apply Rmult_le_compat_r; [lra|]. pose proof (F1 x t ltac:(lia)). lra.
    - unfold S in H. destruct (between 0 (k * odds0 (Z.of_nat u)) 0 (c * q * odds1 (Z.of_nat u)))
        as [l1 [l2 [L1 [L2 E]]]]; auto using Rle_refl; try lra.
      exists l1, l2, (fun _ => 0). refine (conj test_0 (conj _ (conj _ (conj E (conj _ _))))); try lra;
        intros h Hh; rewrite !E_0; fold k.
      + assert (G : moved (Z.of_nat u) h * l1 <= moved 0 h * k).
        { pose proof total_weight as Hp. apply Rmult_le_reg_r with (usum weight); auto.
          replace (U h * l1 * usum weight) with (l1 * (U h * usum weight)) by ring.
          replace (O h * k * usum weight) with (k * (O h * usum weight)) by ring.
          rewrite !moved_E, <- !usum_scale by (auto using moved_summable; lra).
          apply usum_le; [auto using summable_scale, moved_summable|]. intros x. specialize (HW x). specialize (Hh x).
          split; [repeat apply Rmult_le_pos; lra|]. rewrite odds0_weight.
          pose proof (Rmult_le_compat_l k _ _ Hk (odds0_least x)) as M.
          assert (0 <= weight (x - Z.of_nat u) * h x) by (apply Rmult_le_pos; lra). nra. }
        lra.
      + assert (G : moved (Z.of_nat u) h * l2 <= moved (- Z.of_nat u) h * (c * q)).
        { pose proof total_weight as Hp. apply Rmult_le_reg_r with (usum weight); auto.
          replace (U h * l2 * usum weight) with (l2 * (U h * usum weight)) by ring.
          replace (V h * (c * q) * usum weight) with (c * q * (V h * usum weight)) by ring.
          rewrite !moved_E, <- !usum_scale by (auto using moved_summable; lra).
          apply usum_le; [auto using summable_scale, moved_summable|]. intros x. specialize (HW x). specialize (Hh x).
          split; [repeat apply Rmult_le_pos; lra|]. rewrite odds1_weight.
          pose proof (Rmult_le_compat_l (c * q) _ _ Hcq (odds1_least x)) as M.
          assert (0 <= weight (x - Z.of_nat u) * h x) by (apply Rmult_le_pos; lra). nra. }
        lra.
  Qed.

  (** Turned round, the pair is its own reverse. *)
  Lemma turned {A B} (L L' : law A) (K K' : law B) (to : (A -> R) -> B -> R) c : 0 <= c ->
    (forall f, test f -> test (to f) /\ L f = K (to f) /\ L' f = K' (to f)) -> curve L L' c <= curve K K' c.
  Proof.
    intros Hc H. apply curve_least. intros f Hf. destruct (H f Hf) as [Ht [-> ->]]. apply curve_above; auto.
  Qed.

  Lemma opposite_test (f : Z -> R) : test f -> test (fun x => f (- x)%Z).
  Proof. intros Hf x. apply Hf. Qed.

  Lemma V_turned f : test f -> V f = U (fun x => f (- x)%Z).
  Proof. apply moved_mirror. Qed.

  Lemma U_turned f : test f -> U f = V (fun x => f (- x)%Z).
  Proof. intros Hf. rewrite <- (Z.opp_involutive (Z.of_nat u)) at 1. apply moved_mirror. auto. Qed.

  Lemma O_turned f : test f -> O f = O (fun x => f (- x)%Z).
  Proof. intros Hf. apply (moved_mirror 0 f Hf). Qed.

  Theorem geometric_symmetric c : 0 < c ->
    curve (mix q Hq U O) (mix q Hq V O) c = curve (mix q Hq V O) (mix q Hq U O) c.
  Proof.
    intros Hc. apply Rle_antisym; apply (turned _ _ _ _ (fun f x => f (- x)%Z)); try lra; intros f Hf;
      (split; [apply opposite_test; auto|]); rewrite !mix_E;
      rewrite <- ?V_turned, <- ?U_turned, <- ?O_turned by auto; auto.
  Qed.

  Theorem geometric_pair_symmetric c : 0 < c -> curve U V c = curve V U c.
  Proof.
    intros Hc. apply Rle_antisym; apply (turned _ _ _ _ (fun f x => f (- x)%Z)); try lra; intros f Hf;
      (split; [apply opposite_test; auto|]); rewrite <- ?V_turned, <- ?U_turned by auto; auto.
  Qed.

  (** Any mechanism that costs no more than geometric noise of these shifts. *)
  Theorem replaced_as_geometric {row A} (M : list row -> law A) r r' l m :
    (forall s s', let L := M (s ++ r :: s') in let L' := M (s ++ r' :: s') in let K := M (s ++ s') in
      dominated L K U O /\ dominated L' K U O /\ dominated L L' U V /\ dominated L' L U V) ->
    dominated (bind (sample q Hq (l ++ r :: m)) M) (bind (sample q Hq (l ++ r' :: m)) M) (mix q Hq U O) (mix q Hq V O).
  Proof. intros H. apply replaced_mechanism; auto using geometric_splits, geometric_symmetric. Qed.
End Geometric.
