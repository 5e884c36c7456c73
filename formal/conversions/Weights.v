(** Enclosed weights of discrete Gaussian noise, and what the lattice rule decides: V_n(e^ε) ≤ δ ([lattice_right]). *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool Permutation.
From DP.base Require Import Laws Sums.
From DP Require Import Facts Steps Definitions.
From DP.core Require Import Costs Numbers.
From DP.decide Require Import Fixed Functions Decide.
From DP.conversions Require Import Lattices Packed Shifted Cells Repeats.
Import ListNotations.
Open Scope R_scope.

(** −r … r *)
Fixpoint around (r : nat) : list Z :=
  match r with O => [0%Z] | S m => Z.of_nat (S m) :: (- Z.of_nat (S m))%Z :: around m end.

Lemma around_in r z : In z (around r) <-> (Z.abs z <= Z.of_nat r)%Z.
Proof.
  induction r as [|r IH]; cbn [around In]; [split; [intros [<-|[]]; lia | intros; left; lia]|]. rewrite IH. split.
  - intros [<-|[<-|H]]; lia.
  - intros H. destruct (Z.eq_dec z (Z.of_nat (S r))) as [->|N1]; auto.
    destruct (Z.eq_dec z (- Z.of_nat (S r))) as [->|N2]; auto. right; right. lia.
Qed.

Lemma around_once r : NoDup (around r).
Proof.
  induction r as [|r IH]; cbn [around].
  - constructor; [intros [] | constructor].
  - constructor; [|constructor; auto].
    + intros [H|H]; [lia|]. apply around_in in H. lia.
    + intros H. apply around_in in H. lia.
Qed.

Lemma covered l : exists r, incl l (around r).
Proof.
  induction l as [|a l [r IH]]; [exists O; intros z []|].
  exists (Nat.max r (Z.to_nat (Z.abs a))). intros z [<-|Hz]; apply around_in; [lia|]. apply IH, around_in in Hz. lia.
Qed.

Section Weights.
  Variables (p : positive) (variance : Q).
  Hypothesis Hv : 0 < Q2R variance.
  Let s := Q2R variance.
  Let u := unit_of p.

  Lemma square_over x : Q2R (Qopp ((x * x) # 1) / (variance * 2)) = - (IZR x * IZR x) / (2 * s).
  Proof.
    assert (Hn : ~ (variance * 2 == 0)%Q).
    { intros E. apply Qeq_eqR in E. rewrite Q2R_mult, two_R in E. unfold Q2R in E at 2. simpl in E. lra. }
    rewrite Q2R_div by auto. rewrite Q2R_opp, Q2R_mult, two_R.
    replace (Q2R ((x * x) # 1)) with (IZR x * IZR x) by (unfold Q2R; simpl; rewrite mult_IZR; field). unfold s.
      field. lra.
  Qed.

  Lemma heap_range x : 0 < heap s x <= 1.
  Proof.
    split; [apply exp_pos|]. rewrite <- exp_0. apply exp_le.
    assert (0 <= (IZR x * IZR x) / (2 * s)) by (apply Rcomplements.Rdiv_le_0_compat; [apply Rle_0_sqr | unfold s;
      lra]).
    unfold Rdiv in *. lra.
  Qed.

  Lemma weight_inside x : (0 <= fst (weight_at p variance x))%Z /\
    IZR (fst (weight_at p variance x)) <= heap s x * u <= IZR (snd (weight_at p variance x)).
  Proof.
    unfold weight_at. pose proof (exponential_inside p _ _ (of_Q_inside p (Qopp ((x * x) # 1) /
      (variance * 2)))) as HE.
    rewrite square_over in HE. fold (heap s x) in HE. pose proof (heap_range x). pose proof (unit_pos p) as Hu.
      fold u in Hu.
    assert (HP : forall e a b, exponential p e = (Some a, b) -> (0 <= a)%Z).
    { intros e a b E. unfold exponential, at_least_0 in E.
      destruct (fst (wider _)) in E; injection E as <- <-; lia. }
    destruct (exponential p _) as [[a|] [b|]] eqn:E; unfold inside, above, Fixed.below in HE; cbn [fst snd] in *;
      fold u in HE;
      (split; [try lia; eapply HP; eauto|]); try exact HE; (split;
        [try nra | try (change (IZR (2 ^ Z.pos p)) with u; nra)]).
  Qed.

  Definition halves (radius : Z) : list (Z * Z) :=
    map (weight_at p variance) (map Z.of_nat (seq 0 (S (Z.to_nat radius)))).
  Definition both (f : nat -> Z) (r : nat) : list Z := rev (map f (seq 1 r)) ++ map f (seq 0 (S r)).

  Lemma both_next f r : both f (S r) = f (S r) :: both f r ++ [f (S r)].
  Proof.
    unfold both. rewrite (seq_S r 1), (seq_S (S r) 0), !map_app, rev_app_distr. cbn [map rev app Nat.add].
    rewrite <- app_assoc. reflexivity.
  Qed.

  Lemma both_length f r : length (both f r) = (2 * r + 1)%nat.
  Proof. unfold both. rewrite app_length, rev_length, !map_length, !seq_length. lia. Qed.

  Lemma both_mass f r g : mass (both f r) (- Z.of_nat r) g = total (fun z => IZR (f (Z.to_nat (Z.abs z))) * g z)
    (around r).
  Proof.
    induction r as [|r IH].
    - unfold both. cbn. lra.
    - rewrite both_next. cbn [mass around total]. rewrite mass_app, both_length. cbn [mass].
      replace (- Z.of_nat (S r) + 1)%Z with (- Z.of_nat r)%Z by lia. rewrite IH.
      replace (- Z.of_nat r + Z.of_nat (2 * r + 1))%Z with (Z.of_nat (S r)) by lia.
      replace (Z.to_nat (Z.abs (Z.of_nat (S r)))) with (S r) by lia.
      replace (Z.to_nat (Z.abs (- Z.of_nat (S r)))) with (S r) by lia. lra.
  Qed.

  Lemma both_nonneg f r : (forall n, (0 <= f n)%Z) -> nonneg (both f r).
  Proof.
    intros Hf. apply Forall_app. split; [apply Forall_rev|]; apply Forall_map, Forall_forall; auto.
  Qed.

  (** Twice the sum of one half, but for the middle. *)
  Lemma high_total f r : IZR (sum_z (map f (seq 0 (S r)))) + IZR (sum_z (map f (seq 1 r))) =
    total (fun z => IZR (f (Z.to_nat (Z.abs z)))) (around r).
  Proof.
    induction r as [|r IH].
    - cbn. lra.
    - rewrite (seq_S (S r) 0), (seq_S r 1), !map_app.
      assert (EA : forall l a, IZR (sum_z (l ++ [a])) = IZR (sum_z l) + IZR a).
      { intros l a. rewrite <- (mass_one (l ++ [a]) 0), mass_app, mass_one. cbn [mass]. ring. }
      cbn [map Nat.add]. rewrite !EA. cbn [around total].
      replace (Z.to_nat (Z.abs (Z.of_nat (S r)))) with (S r) by lia.
      replace (Z.to_nat (Z.abs (- Z.of_nat (S r)))) with (S r) by lia. lra.
  Qed.

  Lemma heap_even z : heap s (- z) = heap s z.
  Proof. unfold heap. rewrite opp_IZR. do 2 f_equal. f_equal. ring. Qed.

  Lemma heap_total_next r : total (heap s) (around (S r)) = 2 * heap s (Z.of_nat (S r)) + total (heap s) (around r).
  Proof. cbn [around total]. rewrite heap_even. lra. Qed.

  (** Beyond the radius, below a geometric series. *)
  Lemma heap_far r : let first := heap s (Z.of_nat (S r)) in let ratio := exp (- IZR (Z.of_nat (S r)) / s) in
    forall k, total (heap s) (around (r + k)) + 2 * first * (ratio ^ k / (1 - ratio))
      <= total (heap s) (around r) + 2 * first * (1 / (1 - ratio)).
  Proof.
    intros first ratio. assert (Hfirst : 0 < first) by apply exp_pos. assert (H0 : 0 < ratio) by apply exp_pos.
    assert (HR : 1 <= IZR (Z.of_nat (S r))) by (apply IZR_le; lia).
    assert (H1 : ratio < 1).
    { unfold ratio. rewrite <- exp_0. apply exp_increasing. unfold Rdiv. rewrite Ropp_mult_distr_l_reverse.
      assert (0 < IZR (Z.of_nat (S r)) * / s) by (apply Rmult_lt_0_compat; [lra | apply Rinv_0_lt_compat; auto]).
        lra. }
    induction k as [|k IH].
    - rewrite Nat.add_0_r. simpl. lra.
    - replace (r + S k)%nat with (S (r + k)) by lia. rewrite heap_total_next. apply Rle_trans with (2 := IH).
      assert (HG : heap s (Z.of_nat (S (r + k))) <= first * ratio ^ k).
      { unfold first, ratio, heap. replace (exp (- IZR (Z.of_nat (S r)) / s) ^ k) with (exp (INR k * (- IZR
        (Z.of_nat (S r)) / s))).
        - rewrite <- exp_plus. apply exp_le.
          replace (Z.of_nat (S (r + k))) with (Z.of_nat (S r) + Z.of_nat k)%Z by lia.
            rewrite plus_IZR, (INR_IZR_INZ k).
          set (R := IZR (Z.of_nat (S r))). set (K := IZR (Z.of_nat k)).
          replace (- (R * R) / (2 * s) + K * (- R / s)) with ((- (R * R) - 2 * K * R) / (2 * s)) by (field;
            unfold s; lra).
          unfold Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; unfold s; lra|]. nra.
        - clear. induction k as [|k IH]; [simpl; rewrite Rmult_0_l; apply exp_0|]. cbn [pow].
          rewrite <- IH, <- exp_plus, S_INR. f_equal. ring. }
      cbn [pow]. assert (E : ratio ^ k / (1 - ratio) = ratio ^ k + ratio * ratio ^ k / (1 - ratio)) by (field; lra).
      rewrite E. assert (2 * heap s (Z.of_nat (S (r + k))) <= 2 * first * ratio ^ k) by lra. lra.
  Qed.

  Lemma heap_bound (radius : Z) tail : (0 <= radius)%Z -> beyond p variance radius = Some tail -> summable (heap s) ->
    usum (heap s) * u <= total (heap s) (around (Z.to_nat radius)) * u + IZR tail.
  Proof.
    intros Hr HB Hsum. set (r := Z.to_nat radius). set (first := heap s (Z.of_nat (S r))).
    set (ratio := exp (- IZR (Z.of_nat (S r)) / s)).
    assert (Hu : 0 < u) by apply unit_pos.
    assert (HR : 1 <= IZR (Z.of_nat (S r))) by (apply IZR_le; lia).
    assert (H1 : ratio < 1).
    { unfold ratio. rewrite <- exp_0. apply exp_increasing. unfold Rdiv. rewrite Ropp_mult_distr_l_reverse.
      assert (0 < IZR (Z.of_nat (S r)) * / s) by (apply Rmult_lt_0_compat; [lra | apply Rinv_0_lt_compat; auto]).
        lra. }
    assert (HT : (first + first) / (1 - ratio) * u <= IZR tail).
    { unfold beyond in HB. cbv zeta in HB.
      replace (radius + 1)%Z with (Z.of_nat (S r)) in HB by lia.
      pose proof (exponential_inside p _ _ (of_Q_inside p (Qopp ((Z.of_nat (S r) * Z.of_nat (S r)) # 1) /
        (variance * 2)))) as I1.
      rewrite square_over in I1. fold (heap s (Z.of_nat (S r))) in I1. fold first in I1.
      pose proof (exponential_inside p _ _ (of_Q_inside p (Qopp (Z.of_nat (S r) # 1) / variance))) as I2.
      replace (Q2R (Qopp (Z.of_nat (S r) # 1) / variance)) with (- IZR (Z.of_nat (S r)) / s) in I2.
      2: { rewrite Q2R_div, Q2R_opp.
           - replace (Q2R (Z.of_nat (S r) # 1)) with (IZR (Z.of_nat (S r))) by (unfold Q2R; simpl; field).
             reflexivity.
           - intros E. apply Qeq_eqR in E. unfold Q2R in E at 2. simpl in E. lra. }
      fold ratio in I2. pose proof (of_Q_inside p 1) as I0. rewrite one_R in I0.
      pose proof (div_inside p _ _ _ _ (add_inside p _ _ _ _ I1 I1) (sub_inside p _ _ _ _ I0 I2)) as I3.
      destruct I3 as [_ I3]. unfold Fixed.below in I3. rewrite HB in I3. exact I3. }
    assert (HS : usum (heap s) <= total (heap s) (around r) + (first + first) / (1 - ratio)).
    { apply usum_least; auto. intros l Hl. destruct (covered l) as [m Hm].
      apply Rle_trans with (total (heap s) (around (r + m))).
      - apply total_incl; auto; [intros a; left; apply exp_pos|]. intros z Hz. apply Hm, around_in in Hz.
        apply around_in. lia.
      - pose proof (heap_far r m) as F. cbv zeta in F. fold first in F. fold ratio in F.
        assert (0 < first) by apply exp_pos. assert (0 < ratio) by apply exp_pos.
        assert (0 <= 2 * first * (ratio ^ m / (1 - ratio))).
        { apply Rmult_le_pos; [lra|]. apply Rcomplements.Rdiv_le_0_compat; [apply pow_le|]; lra. }
        unfold Rdiv in *. lra. }
    apply Rmult_le_compat_r with (r := u) in HS; [|lra]. lra.
  Qed.

  Variable N : law Z.
  Hypothesis HN : discrete_normal s N.

  Definition ones (radius : Z) : list Z := both (fun n => fst (weight_at p variance (Z.of_nat n))) (Z.to_nat radius).
  Definition tops (radius : Z) : Z :=
    (sum_z (map (fun n => snd (weight_at p variance (Z.of_nat n))) (seq 0 (S (Z.to_nat radius)))) +
     sum_z (map (fun n => snd (weight_at p variance (Z.of_nat n))) (seq 1 (Z.to_nat radius))))%Z.

  Lemma ones_good radius : nonneg (ones radius) /\ ones radius <> [].
  Proof.
    split; [apply both_nonneg; intros; apply weight_inside|].
    unfold ones, both. intros E. apply app_eq_nil in E. destruct E as [_ E]. discriminate.
  Qed.

  Lemma high_enough radius tail : (0 <= radius)%Z -> beyond p variance radius = Some tail ->
    usum (heap s) * u <= IZR (tops radius + tail).
  Proof.
    intros Hr HB. apply Rle_trans with (1 := heap_bound radius tail Hr HB (proj1 HN)).
    unfold tops. rewrite !plus_IZR, (high_total (fun n => snd (weight_at p variance (Z.of_nat n)))).
    apply Rplus_le_compat_r. rewrite Rmult_comm, <- total_scale. apply total_le. intros z _.
    replace (heap s z) with (heap s (Z.of_nat (Z.to_nat (Z.abs z)))).
    - rewrite Rmult_comm. apply weight_inside.
    - rewrite Z2Nat.id by lia. destruct (Z.abs_eq_or_opp z) as [->| ->]; auto using heap_even.
  Qed.

  Lemma low_enough radius tail : (0 <= radius)%Z -> beyond p variance radius = Some tail ->
    0 < IZR (tops radius + tail) /\
    forall f, test f -> mass (ones radius) (- radius) f / IZR (tops radius + tail) <= N f.
  Proof.
    intros Hr HB. pose proof (high_enough radius tail Hr HB) as HH. assert (Hu : 0 < u) by apply unit_pos.
    assert (HZ : 0 < usum (heap s)) by apply HN.
    assert (Hp : 0 < IZR (tops radius + tail)) by nra. split; auto. intros f Hf.
    set (high := IZR (tops radius + tail)) in *. apply Rmult_le_reg_r with high; auto.
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    apply Rle_trans with (usum (fun z => heap s z * f z) * u).
    - apply Rle_trans with (total (fun z => heap s z * f z) (around (Z.to_nat radius)) * u).
      + rewrite <- (Z2Nat.id radius Hr) at 2. unfold ones. rewrite both_mass.
        rewrite Rmult_comm, <- total_scale. apply total_le. intros z _.
        replace (heap s z) with (heap s (Z.of_nat (Z.to_nat (Z.abs z)))).
        * pose proof (proj2 (weight_inside (Z.of_nat (Z.to_nat (Z.abs z))))). specialize (Hf z). nra.
        * rewrite Z2Nat.id by lia. destruct (Z.abs_eq_or_opp z) as [->| ->]; auto using heap_even.
      + apply Rmult_le_compat_r; [lra|]. apply usum_ub; [apply summable_test; auto; apply HN | apply around_once].
    - assert (HM : N f * usum (heap s) = usum (fun z => heap s z * f z)) by (apply HN; auto).
      rewrite <- HM, Rmult_assoc. apply Rmult_le_compat_l; [apply E_test; auto | exact HH].
  Qed.
End Weights.
