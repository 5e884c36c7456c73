(** The bound of Convex.v, counted in whole numbers and rounded up.

    Each of m others is a fair coin with probability 2/(p + 1).  A walk of c + 1 coins, k of which are heads, ends at
    ku - (c + 1 - k)v.  The mean of its positive part is (c + 1)/2 · (u·P(heads ≥ f) - v·P(heads > f)), of c coins; f + 1
    is the least k whose end is above 0 ([heads_told]).  With a coin more, f is the same or larger by one, so that
    binomials and their tails follow from those before ([told]). *)
Require Import Reals ZArith Lra Lia Psatz List.
From DP.base Require Import Sums.
From DP.decide Require Import Fixed.
From DP.shuffles Require Import Clones.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- the count *)

Section Counting.
  Variables (p_up p_down t_up t_down m : Z).           (* p = p_up / p_down, t = t_up / t_down *)

  Definition right : Z := p_up * t_down - t_up * p_down.          (* u, in parts of p_down * t_down *)
  Definition wrong : Z := p_up * t_up - p_down * t_down.          (* v *)
  Definition least_but_one (c : Z) : Z := ((c + 1) * wrong / (right + wrong))%Z.

  (** From c coins on, of m; [b] of their 2^c sides have k heads, and [h] have more. *)
  Fixpoint told (left : nat) (c k b h : Z) : Z :=
    let here := (right * (h + b) - wrong * h)%Z in
    match left with
    | O => here
    | S less =>
        let k' := least_but_one (c + 1) in
        let b' := if (k' =? k)%Z then (b * (c + 1) / (c + 1 - k))%Z else (b * (c + 1) / (k + 1))%Z in
        let h' := if (k' =? k)%Z then (2 * h + b)%Z else (2 * h + b - b')%Z in
        (here + up_div ((m - c) * p_down * told less (c + 1) k' b' h') ((c + 1) * (p_up - p_down)))%Z
    end.
End Counting.

(* ---------------------------------------------------------------- binomials *)

Fixpoint choose (n k : nat) : Z :=
  match n, k with
  | _, O => 1
  | O, S _ => 0
  | S n, S k => choose n k + choose n (S k)
  end%Z.

Lemma choose_0 n : choose n 0 = 1%Z. Proof. destruct n; auto. Qed.

Lemma choose_above n : forall k, (n < k)%nat -> choose n k = 0%Z.
Proof. induction n as [|n IH]; intros [|k] H; try lia; cbn [choose]; auto. rewrite !IH; lia. Qed.

Lemma choose_nonneg n : forall k, (0 <= choose n k)%Z.
Proof. induction n as [|n IH]; intros [|k]; cbn [choose]; try lia. pose proof (IH k). pose proof (IH (S k)). lia. Qed.

Lemma choose_both n : forall k, (Z.of_nat (S n) * choose n k = Z.of_nat (S k) * choose (S n) (S k))%Z.
Proof.
  induction n as [|n IH]; intros k.
  - destruct k; cbn [choose]; lia.
  - cbn [choose]. destruct k as [|k].
    + pose proof (IH 0%nat) as H. cbn [choose] in H. rewrite !choose_0 in *. lia.
    + pose proof (IH k) as H1. pose proof (IH (S k)) as H2. cbn [choose] in H1, H2. cbn [choose]. nia.
Qed.

Lemma choose_one n k : ((Z.of_nat (S n) - Z.of_nat k) * choose (S n) k = Z.of_nat (S n) * choose n k)%Z.
Proof.
  destruct k as [|k]; [rewrite !choose_0; lia|]. pose proof (choose_both n k) as H. cbn [choose] in *. nia.
Qed.

Lemma total_first (f : nat -> R) n : total f (seq 0 (S n)) = f 0%nat + total (fun k => f (S k)) (seq 0 n).
Proof. cbn [seq total]. rewrite <- seq_shift, total_map. reflexivity. Qed.

Lemma total_last (f : nat -> R) a n : total f (seq a (S n)) = total f (seq a n) + f (a + n)%nat.
Proof. rewrite seq_S, total_app. simpl. lra. Qed.

Lemma total_single (f : nat -> R) k n : (k < n)%nat -> total (fun j => if (j =? k)%nat then f j else 0) (seq 0 n) = f k.
Proof.
  induction n as [|n IH]; [lia|]. intros H. rewrite total_last. simpl (0 + n)%nat. destruct (Nat.eq_dec k n) as [->|N].
  - rewrite Nat.eqb_refl, total_zero; [lra|]. intros j Hj. apply in_seq in Hj. rewrite (proj2 (Nat.eqb_neq j n)) by lia. auto.
  - rewrite IH by lia. rewrite (proj2 (Nat.eqb_neq n k)) by lia. lra.
Qed.

(** The sum over all k of n, k times of one kind. *)
Definition binomial (n : nat) (f : nat -> R) : R := total (fun k => IZR (choose n k) * f k) (seq 0 (S n)).

Lemma binomial_next n f : binomial (S n) f = binomial n f + binomial n (fun k => f (S k)).
Proof.
  unfold binomial. rewrite (total_first _ (S n)), choose_0.
  rewrite (total_ext _ (fun k => IZR (choose n (S k)) * f (S k) + IZR (choose n k) * f (S k))).
  2: { intros k _. cbn [choose]. rewrite plus_IZR. ring. }
  rewrite total_plus, (total_last (fun k => IZR (choose n (S k)) * f (S k))), (total_first (fun k => IZR (choose n k) * f k)), choose_0.
  rewrite choose_above by lia. lra.
Qed.

Lemma binomial_ext n f g : (forall k, (k <= n)%nat -> f k = g k) -> binomial n f = binomial n g.
Proof. intros H. apply total_ext. intros k Hk. apply in_seq in Hk. rewrite H by lia. auto. Qed.

Lemma binomial_scale n c f : binomial n (fun k => c * f k) = c * binomial n f.
Proof. unfold binomial. rewrite <- total_scale. apply total_ext. intros; ring. Qed.

Lemma walk_binomial a u v z phi n : forall s, walk a 0 u v z n phi s = a ^ n * binomial n (fun k => phi (s + INR k * u - (INR n - INR k) * v)).
Proof.
  induction n as [|n IH]; intros s.
  - unfold binomial. simpl. replace (s + 0 * u - (0 - 0) * v) with s by ring. ring.
  - cbn [walk]. unfold step. rewrite !IH, binomial_next.
    rewrite (binomial_ext n (fun k => phi (s + INR k * u - (INR (S n) - INR k) * v)) (fun k => phi (s - v + INR k * u - (INR n - INR k) * v))).
    2: { intros k _. f_equal. rewrite S_INR. ring. }
    rewrite (binomial_ext n (fun k => phi (s + INR (S k) * u - (INR (S n) - INR (S k)) * v)) (fun k => phi (s + u + INR k * u - (INR n - INR k) * v))).
    2: { intros k _. f_equal. rewrite !S_INR. ring. }
    simpl pow. ring.
Qed.

Lemma mixed_binomial rho alpha m : forall c, mixed rho alpha m c = binomial m (fun i => rho ^ (m - i) * (alpha (S (c + i)) / INR (S (c + i)))).
Proof.
  induction m as [|m IH]; intros c.
  - unfold binomial. cbn [mixed seq total Nat.sub pow choose]. rewrite Nat.add_0_r. ring.
  - cbn [mixed]. rewrite !IH, binomial_next, <- binomial_scale, Rplus_comm. f_equal; apply binomial_ext; intros k Hk.
    + replace (S m - k)%nat with (S (m - k)) by lia. simpl pow. ring.
    + replace (c + S k)%nat with (S c + k)%nat by lia. reflexivity.
Qed.

(* ---------------------------------------------------------------- heads *)

Definition tail (c k : nat) : R := binomial c (fun j => if (k <=? j)%nat then 1 else 0).

Lemma tail_here c k : (k <= c)%nat -> tail c k = IZR (choose c k) + tail c (S k).
Proof.
  intros H. unfold tail, binomial. rewrite <- (total_single (fun j => IZR (choose c j)) k (S c)) by lia. rewrite <- total_plus.
  apply total_ext. intros j _. destruct (Nat.eqb_spec j k) as [->|N].
  - rewrite (proj2 (Nat.leb_le k k)), (proj2 (Nat.leb_gt (S k) k)) by lia. ring.
  - destruct (Nat.leb_spec k j), (Nat.leb_spec (S k) j); try lia; ring.
Qed.

Lemma tail_next c k : (k <= c)%nat -> tail (S c) (S k) = 2 * tail c (S k) + IZR (choose c k).
Proof. intros H. unfold tail at 1. rewrite binomial_next. fold (tail c (S k)). change (tail c (S k) + tail c k = 2 * tail c (S k) + IZR (choose c k)). rewrite (tail_here c k H). ring. Qed.

Section Told.
  Variables (p_up p_down t_up t_down : Z).
  Let U := right p_up p_down t_up t_down.
  Let V := wrong p_up p_down t_up t_down.
  Let first (c : nat) : nat := Z.to_nat (least_but_one p_up p_down t_up t_down (Z.of_nat c)).
  Hypothesis HU : (0 < U)%Z.
  Hypothesis HV : (0 <= V)%Z.

  Lemma first_is c : Z.of_nat (first c) = least_but_one p_up p_down t_up t_down (Z.of_nat c).
  Proof. unfold first. apply Z2Nat.id. unfold least_but_one. fold U V. apply Z.div_pos; nia. Qed.

  Lemma first_bounds c : (Z.of_nat (first c) * (U + V) <= (Z.of_nat c + 1) * V < (Z.of_nat (first c) + 1) * (U + V))%Z.
  Proof.
    rewrite first_is. unfold least_but_one. fold U V. pose proof (Z.div_mod ((Z.of_nat c + 1) * V) (U + V) ltac:(lia)) as E.
    pose proof (Z.mod_pos_bound ((Z.of_nat c + 1) * V) (U + V) ltac:(lia)). nia.
  Qed.

  Lemma first_below c : (first c <= c)%nat.
  Proof. pose proof (first_bounds c). nia. Qed.

  Lemma first_next c : first (S c) = first c \/ first (S c) = S (first c).
  Proof.
    pose proof (first_bounds c) as H1. pose proof (first_bounds (S c)) as H2. rewrite Nat2Z.inj_succ in H2.
    assert (first c <= first (S c))%nat by nia. assert (first (S c) <= S (first c))%nat by nia. lia.
  Qed.

  Definition here (c : nat) : R := IZR U * tail c (first c) - IZR V * tail c (S (first c)).

  Lemma heads_told c : binomial (S c) (fun k => positive_part (INR k * IZR U - (INR (S c) - INR k) * IZR V)) = INR (S c) * here c.
  Proof.
    unfold here. set (f := first c).
    transitivity (total (fun k => if (f <? k)%nat then INR (S c) * (IZR U * IZR (choose c (pred k)) - IZR V * IZR (choose c k)) else 0) (seq 0 (S (S c)))).
    - apply total_ext. intros k _. pose proof (first_bounds c) as HB. fold f in HB. destruct HB as [HB1 HB2].
      assert (E : INR k * IZR U - (INR (S c) - INR k) * IZR V = IZR (Z.of_nat k * (U + V) - (Z.of_nat c + 1) * V)).
      { rewrite minus_IZR, !mult_IZR, !plus_IZR, <- !INR_IZR_INZ, S_INR. ring. }
      rewrite E. unfold positive_part. destruct (Nat.ltb_spec f k) as [L|L].
      + pose proof (Z.mul_le_mono_nonneg_r (Z.of_nat f + 1) (Z.of_nat k) (U + V) ltac:(lia) ltac:(lia)). rewrite Rmax_right by (apply IZR_le; lia). rewrite INR_IZR_INZ, <- !mult_IZR, <- minus_IZR, <- mult_IZR. apply (f_equal IZR).
        destruct k as [|k]; [lia|]. cbn [pred]. pose proof (choose_both c k) as C1. pose proof (choose_one c (S k)) as C2. nia.
      + pose proof (Z.mul_le_mono_nonneg_r (Z.of_nat k) (Z.of_nat f) (U + V) ltac:(lia) ltac:(lia)). rewrite Rmax_left by (apply IZR_le; lia). ring.
    - rewrite total_first. simpl (f <? 0)%nat. replace (f <? 0)%nat with false by (symmetry; apply Nat.ltb_ge; lia). rewrite Rplus_0_l.
      unfold tail, binomial. rewrite Rmult_minus_distr_l, <- !Rmult_assoc, <- !total_scale.
      set (g := fun k => IZR (choose c k) * (if (S f <=? k)%nat then 1 else 0)).
      assert (Eg : total g (seq 0 (S c)) = total (fun k => g (S k)) (seq 0 (S c))).
      { assert (G0 : g 0%nat = 0) by (unfold g; simpl; ring).
        assert (Gc : g (S c) = 0) by (unfold g; rewrite choose_above by lia; ring).
        rewrite total_first, (total_last (fun k => g (S k))), G0. simpl (0 + c)%nat. rewrite Gc. ring. }
      rewrite (total_scale _ g), Eg, <- total_scale, <- total_minus. apply total_ext. intros k _. unfold g. cbn [pred].
      change (f <? S k)%nat with (f <=? k)%nat. change (S f <=? S k)%nat with (f <=? k)%nat. destruct (f <=? k)%nat; ring.
  Qed.
  (* ---------------------------------------------------------------- over numbers of coins *)

  Variable m : nat.
  Hypothesis HD : (0 < p_down)%Z.
  Hypothesis HP : (p_down < p_up)%Z.

  Let rho : R := IZR (p_up - p_down) / IZR (p_up + p_down).
  Let a1 : R := IZR p_down / IZR (p_up + p_down).
  Let share (c : nat) : R := IZR (choose m c) * (rho ^ (m - c) * a1 ^ c).

  Lemma rho_a1 : 0 < rho /\ 0 < a1 /\ a1 / rho = IZR p_down / IZR (p_up - p_down).
  Proof.
    assert (0 < IZR p_down) by (apply IZR_lt; lia). assert (0 < IZR (p_up - p_down)) by (apply IZR_lt; lia).
    assert (0 < IZR (p_up + p_down)) by (apply IZR_lt; lia).
    unfold rho, a1. split; [|split]; try (apply Rdiv_lt_0_compat; auto). field. split; lra.
  Qed.

  Lemma share_nonneg c : 0 <= share c.
  Proof.
    destruct rho_a1 as [H1 [H2 _]]. unfold share. apply Rmult_le_pos; [apply IZR_le, choose_nonneg|].
    apply Rmult_le_pos; apply pow_le; lra.
  Qed.

  Lemma share_next c : (c < m)%nat -> share (S c) * (IZR (Z.of_nat c + 1) * IZR (p_up - p_down)) = share c * (IZR (Z.of_nat m - Z.of_nat c) * IZR p_down).
  Proof.
    intros H. destruct rho_a1 as [H1 [H2 H3]]. unfold share. replace (m - c)%nat with (S (m - S c)) by lia. simpl pow.
    assert (HR : 0 < IZR (p_up - p_down)) by (apply IZR_lt; lia).
    assert (E : a1 * IZR (p_up - p_down) = rho * IZR p_down).
    { replace a1 with (a1 / rho * rho) by (field; lra). rewrite H3. field. lra. }
    assert (C : IZR (choose m (S c)) * IZR (Z.of_nat c + 1) = IZR (choose m c) * IZR (Z.of_nat m - Z.of_nat c)).
    { rewrite <- !mult_IZR. apply (f_equal IZR). pose proof (choose_both m c) as C1. pose proof (choose_one m (S c)) as C2. nia. }
    transitivity (IZR (choose m (S c)) * IZR (Z.of_nat c + 1) * (rho ^ (m - S c) * a1 ^ c) * (a1 * IZR (p_up - p_down))); [ring|].
    rewrite C, E. ring.
  Qed.

  Lemma told_at_least left : forall c b h, (c + left = m)%nat -> b = choose c (first c) -> IZR h = tail c (S (first c)) ->
    total (fun i => share i * here i) (seq c (S left)) <=
    share c * IZR (told p_up p_down t_up t_down (Z.of_nat m) left (Z.of_nat c) (Z.of_nat (first c)) b h).
  Proof.
    induction left as [|less IH]; intros c b h Hc Hb Hh.
    all: assert (Hhere : here c = IZR (U * (h + b) - V * h)) by
      (rewrite minus_IZR, !mult_IZR, plus_IZR; unfold here; rewrite tail_here by apply first_below; rewrite Hb, Hh; ring).
    - cbn [told seq total]. fold U V. rewrite Hhere. lra.
    - cbn [told]. fold U V. set (k := first c) in *.
      replace (Z.of_nat c + 1)%Z with (Z.of_nat (S c)) by lia. rewrite <- first_is.
      set (b' := if (Z.of_nat (first (S c)) =? Z.of_nat k)%Z then _ else _).
      set (h' := if (Z.of_nat (first (S c)) =? Z.of_nat k)%Z then (2 * h + b)%Z else _).
      assert (Hk : (k <= c)%nat) by apply first_below.
      assert (Next : b' = choose (S c) (first (S c)) /\ IZR h' = tail (S c) (S (first (S c)))).
      { pose proof (tail_next c k Hk) as T. rewrite <- Hh, <- Hb in T.
        unfold h', b'. clear h' b'. destruct (first_next c) as [E|E]; fold k in E; rewrite E.
        - rewrite Z.eqb_refl. split; [|rewrite plus_IZR, mult_IZR; auto].
          pose proof (choose_one c k) as C. rewrite <- Hb in C. symmetry. apply Z.div_unique_exact; lia.
        - rewrite (proj2 (Z.eqb_neq (Z.of_nat (S k)) (Z.of_nat k))) by lia.
          assert (Eb : (b * Z.of_nat (S c) / (Z.of_nat k + 1))%Z = choose (S c) (S k)).
          { pose proof (choose_both c k) as C. rewrite <- Hb in C. symmetry. apply Z.div_unique_exact; lia. }
          rewrite Eb. split; auto. rewrite minus_IZR, plus_IZR, mult_IZR, <- T, (tail_here (S c) (S k)) by lia. ring. }
      destruct Next as [Hb' Hh'].
      specialize (IH (S c) b' h' ltac:(lia) Hb' Hh').
      set (rest := told _ _ _ _ _ less _ _ b' h') in *.
      set (below := ((Z.of_nat m - Z.of_nat c) * p_down * rest)%Z).
      set (per := (Z.of_nat (S c) * (p_up - p_down))%Z).
      assert (Hper : (0 < per)%Z) by (unfold per; nia).
      pose proof (up_div_le below per Hper) as HD'.
      rewrite plus_IZR, Rmult_plus_distr_l, <- Hhere.
      change (seq c (S (S less))) with (c :: seq (S c) (S less)). cbn [total]. apply Rplus_le_compat_l.
      apply Rle_trans with (1 := IH). pose proof (share_next c ltac:(lia)) as N. replace (Z.of_nat c + 1)%Z with (Z.of_nat (S c)) in N by lia.
      assert (0 < IZR per) by (apply IZR_lt; auto).
      apply Rmult_le_reg_r with (IZR per); auto. rewrite !Rmult_assoc.
      apply Rle_trans with (share c * IZR below); [right | apply Rmult_le_compat_l; auto; apply share_nonneg].
      unfold below, per. rewrite !mult_IZR. transitivity (share (S c) * (IZR (Z.of_nat (S c)) * IZR (p_up - p_down)) * IZR rest); [ring|]. rewrite N. ring.
  Qed.

  Definition all_told : Z := told p_up p_down t_up t_down (Z.of_nat m) m 0 0 1 0.

  Lemma first_zero : first 0 = 0%nat.
  Proof. pose proof (first_below 0). lia. Qed.

  Hypothesis HT : (0 < t_down)%Z.

  (** The bound of Convex.v, where others hide one least, is at most what is counted. *)
  Theorem told_bound (p t z : R) : p = IZR p_up / IZR p_down -> t = IZR t_up / IZR t_down ->
    mixed (1 - 2 * / (p + 1)) (fun n => walk (/ (p + 1)) 0 (p - t) (p * t - 1) z n positive_part 0) m 0 <=
    rho ^ m * IZR all_told / (IZR (p_up + p_down) * IZR t_down).
  Proof.
    intros Ep Et. destruct rho_a1 as [R1 [R2 _]].
    assert (D0 : 0 < IZR p_down) by (apply IZR_lt; lia). assert (T0 : 0 < IZR t_down) by (apply IZR_lt; lia).
    assert (S0 : 0 < IZR (p_up + p_down)) by (apply IZR_lt; lia).
    assert (Ea : / (p + 1) = a1) by (rewrite Ep; unfold a1; rewrite plus_IZR in *; field; split; lra).
    assert (Er : 1 - 2 * / (p + 1) = rho) by (rewrite Ea; unfold a1, rho; rewrite minus_IZR, plus_IZR in *; field; lra).
    rewrite Er, Ea, mixed_binomial. set (d := IZR p_down * IZR t_down). assert (Hd : 0 < d) by (unfold d; nra).
    assert (Eu : p - t = / d * IZR U) by (rewrite Ep, Et; unfold U, right, d; rewrite minus_IZR, !mult_IZR; field; lra).
    assert (Ev : p * t - 1 = / d * IZR V) by (rewrite Ep, Et; unfold V, wrong, d; rewrite minus_IZR, !mult_IZR; field; lra).
    rewrite (binomial_ext m _ (fun i => a1 / d * ((rho ^ (m - i) * a1 ^ i) * here i))).
    2: { intros i _. rewrite Nat.add_0_l, walk_binomial.
         rewrite (binomial_ext (S i) _ (fun k => / d * positive_part (INR k * IZR U - (INR (S i) - INR k) * IZR V))).
         - rewrite binomial_scale, heads_told. simpl pow. field. split; [lra|]. apply not_0_INR. lia.
         - intros k _. rewrite Eu, Ev. unfold positive_part.
           assert (0 <= / d) by (left; apply Rinv_0_lt_compat; auto).
           replace (0 + INR k * (/ d * IZR U) - (INR (S i) - INR k) * (/ d * IZR V)) with (/ d * (INR k * IZR U - (INR (S i) - INR k) * IZR V)) by ring.
           rewrite <- (Rmult_0_r (/ d)) at 1. apply RmaxRmult; auto. }
    rewrite binomial_scale.
    assert (B : binomial m (fun i => (rho ^ (m - i) * a1 ^ i) * here i) <= rho ^ m * IZR all_told).
    { pose proof (told_at_least m 0%nat 1%Z 0%Z eq_refl) as H. rewrite first_zero in H.
      assert (E0 : share 0 = rho ^ m) by (unfold share; rewrite choose_0, Nat.sub_0_r; simpl; ring). rewrite E0 in H.
      unfold binomial. rewrite (total_ext _ (fun i => share i * here i)) by (intros; unfold share; ring).
      apply H; auto. unfold tail, binomial. simpl. ring. }
    assert (Q : 0 < a1 / d) by (apply Rdiv_lt_0_compat; auto).
    apply Rle_trans with (a1 / d * (rho ^ m * IZR all_told)); [apply Rmult_le_compat_l; lra|]. right.
    unfold a1, d. field. repeat split; lra.
  Qed.
End Told.
