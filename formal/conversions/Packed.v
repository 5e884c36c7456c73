(** Products of polynomials by one product of long numbers, and what they do to functions of integers.

    [mass l i f] is the sum of f at i, i + 1, … with weights l.  A product of polynomials has the mass of one after
    the other ([mass_conv]); [multiply] is that product ([multiply_conv]), since digits that are small enough are
    the only ones of their number. *)
Require Import Reals ZArith Lra Lia Psatz List Bool.
From DP.conversions Require Import Lattices.
Import ListNotations.
Open Scope Z_scope.

(* ---------------------------------------------------------------- digits *)

Fixpoint value (b : Z) (l : list Z) : Z := match l with [] => 0 | a :: rest => a + b * value b rest end.

Definition digits (b : Z) (l : list Z) := Forall (fun a => 0 <= a < b) l.

Lemma two_pow w : 0 <= w -> 2 ^ (2 * w) = 2 ^ w * 2 ^ w.
Proof. intros Hw. replace (2 * w) with (w + w) by lia. apply Z.pow_add_r; auto. Qed.

Lemma pow_positive w : 0 <= w -> 0 < 2 ^ w.
Proof. intros. apply Z.pow_pos_nonneg; lia. Qed.

Lemma pairs_up_value w : 0 <= w -> forall n l, (length l <= n)%nat ->
  value (2 ^ (2 * w)) (pairs_up w l) = value (2 ^ w) l /\
  forall m, (length l <= 2 * m)%nat -> (length (pairs_up w l) <= m)%nat.
Proof.
  intros Hw. induction n as [|n IH]; intros l Hl.
  - destruct l; [|simpl in Hl; lia]. split; auto. intros m Hm. cbn in *. lia.
  - destruct l as [|a [|b l]].
    + split; auto. intros m Hm. cbn in *. lia.
    + split; [cbn [pairs_up value]; lia|]. intros m Hm. cbn in *. lia.
    + destruct (IH l) as [E L]; [simpl in Hl; lia|]. split.
      * cbn [pairs_up value]. rewrite E, (two_pow w Hw). ring.
      * intros m Hm. cbn [pairs_up length] in *. destruct m as [|m]; [lia|]. specialize (L m). lia.
Qed.

Lemma pack_value levels : forall w l, 0 <= w -> (length l <= 2 ^ levels)%nat -> pack levels w l = value (2 ^ w) l.
Proof.
  induction levels as [|levels IH]; intros w l Hw Hl.
  - destruct l as [|a [|b l]]; simpl in *; try lia.
  - cbn [pack]. destruct (pairs_up_value w Hw (length l) l (le_n _)) as [E L]. rewrite IH; [auto | lia|].
    apply L. rewrite Nat.pow_succ_r' in Hl. auto.
Qed.

Lemma pairs_down_spec w : 0 <= w -> forall l, digits (2 ^ (2 * w)) l ->
  value (2 ^ w) (pairs_down w l) = value (2 ^ (2 * w)) l /\ digits (2 ^ w) (pairs_down w l) /\
  length (pairs_down w l) = (2 * length l)%nat.
Proof.
  intros Hw. pose proof (pow_positive w Hw) as P. induction 1 as [|a l Ha Hl [E [D L]]].
  - repeat split; auto. constructor.
  - cbn [pairs_down value length]. rewrite E, L. rewrite (two_pow w Hw) in *.
    repeat split; [|constructor; [|constructor; auto]|lia].
    + pose proof (Z.div_mod a (2 ^ w) ltac:(lia)). nia.
    + apply Z.mod_pos_bound; auto.
    + split; [apply Z.div_pos; lia | apply Z.div_lt_upper_bound; lia].
Qed.

Lemma unpack_spec levels : forall w z, 0 <= w -> 0 <= z < 2 ^ (w * 2 ^ Z.of_nat levels) ->
  value (2 ^ w) (unpack levels w z) = z /\ digits (2 ^ w) (unpack levels w z) /\
  length (unpack levels w z) = (2 ^ levels)%nat.
Proof.
  induction levels as [|levels IH]; intros w z Hw Hz.
  - cbn [unpack]. replace (w * 2 ^ Z.of_nat 0) with w in Hz by (simpl; lia). cbn [value length]. repeat split; [lia|].
    constructor; auto.
  - change (unpack (S levels) w z) with (pairs_down w (unpack levels (2 * w) z)).
    assert (HZ : 0 <= z < 2 ^ (2 * w * 2 ^ Z.of_nat levels)).
    { replace (2 * w * 2 ^ Z.of_nat levels) with (w * 2 ^ Z.of_nat (S levels)); [auto|].
      rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. ring. }
    assert (Hw2 : 0 <= 2 * w) by lia. destruct (IH (2 * w) z Hw2 HZ) as [E [D L]].
    destruct (pairs_down_spec w Hw _ D) as [E' [D' L']]. rewrite Nat.pow_succ_r', L', L, E', E. auto.
Qed.

Lemma digits_unique b : 0 < b -> forall l m, length l = length m -> digits b l -> digits b m ->
  value b l = value b m -> l = m.
Proof.
  intros Hb. induction l as [|x l IH]; intros [|y m] HL Hl Hm E; try discriminate; auto.
  inversion Hl; inversion Hm; subst. cbn [value] in E.
  assert (x = y).
  { apply (f_equal (fun z => z mod b)) in E. rewrite !(Z.mul_comm b), !Z.mod_add, !Z.mod_small in E by lia. auto. }
  subst y. f_equal. apply IH; auto. apply Z.mul_reg_l with b; lia.
Qed.

Lemma value_app b l m : value b (l ++ m) = value b l + b ^ Z.of_nat (length l) * value b m.
Proof.
  induction l as [|a l IH]; [cbn [app length value]; rewrite Z.pow_0_r; lia|].
  cbn [app length value]. rewrite IH, Nat2Z.inj_succ, Z.pow_succ_r by lia. ring.
Qed.

Lemma value_zeros b n : value b (repeat 0 n) = 0.
Proof. induction n; simpl; auto. rewrite IHn. ring. Qed.

Lemma value_range b l : 0 < b -> digits b l -> 0 <= value b l < b ^ Z.of_nat (length l).
Proof.
  intros Hb. induction 1 as [|a l Ha Hl IH]; [simpl; lia|].
  cbn [value length]. rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. nia.
Qed.

Lemma unpack_value levels w c : 0 <= w -> (length c <= 2 ^ levels)%nat -> digits (2 ^ w) c ->
  unpack levels w (value (2 ^ w) c) = c ++ repeat 0 (2 ^ levels - length c).
Proof.
  intros Hw HL Hc. pose proof (pow_positive w Hw) as P.
  assert (HZ : 0 <= value (2 ^ w) c < 2 ^ (w * 2 ^ Z.of_nat levels)).
  { pose proof (value_range _ c P Hc) as R. split; [lia|]. apply Z.lt_le_trans with (1 := proj2 R).
    rewrite <- Z.pow_mul_r by lia. apply Z.pow_le_mono_r; [lia|]. apply Z.mul_le_mono_nonneg_l; auto.
    apply Nat2Z.inj_le in HL. rewrite Nat2Z.inj_pow in HL. apply HL. }
  destruct (unpack_spec levels w _ Hw HZ) as [E [D L]]. apply (digits_unique (2 ^ w)); auto.
  - rewrite L, app_length, repeat_length. lia.
  - apply Forall_app. split; auto. apply Forall_forall. intros a Ha. apply repeat_spec in Ha. lia.
  - rewrite E, value_app, value_zeros. ring.
Qed.

(* ---------------------------------------------------------------- products *)

Fixpoint added (l m : list Z) : list Z :=
  match l, m with [], _ => m | _, [] => l | x :: l, y :: m => (x + y) :: added l m end.

Fixpoint conv (a b : list Z) : list Z :=
  match a with [] => [] | x :: rest => added (map (Z.mul x) b) (0 :: conv rest b) end.

Lemma added_length l : forall m, length (added l m) = Nat.max (length l) (length m).
Proof. induction l as [|x l IH]; intros [|y m]; simpl; auto. Qed.

Lemma conv_length a b : a <> [] -> b <> [] -> length (conv a b) = pred (length a + length b).
Proof.
  intros Ha Hb. induction a as [|x a IH]; [congruence|]. cbn [conv]. rewrite added_length, map_length. cbn [length].
  destruct a as [|y a].
  - cbn [conv length]. destruct b; [congruence|]. simpl. lia.
  - rewrite IH by discriminate. destruct b; [congruence|]. cbn [length]. lia.
Qed.

Lemma value_added b l : forall m, value b (added l m) = value b l + value b m.
Proof. induction l as [|x l IH]; intros [|y m]; cbn [added value]; try lia. rewrite IH. ring. Qed.

Lemma value_scaled b x l : value b (map (Z.mul x) l) = x * value b l.
Proof. induction l as [|y l IH]; cbn [map value]; [lia|]. rewrite IH. ring. Qed.

Lemma value_conv b l m : value b (conv l m) = value b l * value b m.
Proof.
  induction l as [|x l IH]; auto. cbn [conv]. rewrite value_added, value_scaled. cbn [value]. rewrite IH. ring.
Qed.

Definition up_to (b : Z) (l : list Z) := Forall (fun a => 0 <= a <= b) l.

Lemma added_up_to s t l : 0 <= s -> 0 <= t -> forall m, up_to s l -> up_to t m -> up_to (s + t) (added l m).
Proof.
  intros Hs Ht. induction l as [|x l IH]; intros [|y m] Hl Hm; cbn [added].
  - constructor.
  - eapply Forall_impl; [|exact Hm]. cbv beta. intros; lia.
  - eapply Forall_impl; [|exact Hl]. cbv beta. intros; lia.
  - inversion Hl; inversion Hm; subst. constructor; [lia|]. apply IH; auto.
Qed.

Lemma conv_up_to s t a b : 0 <= s -> 0 <= t -> up_to s a -> up_to t b ->
  up_to (Z.of_nat (length a) * (s * t)) (conv a b).
Proof.
  intros Hs Ht Ha Hb. assert (0 <= s * t) by nia. induction Ha as [|x a Hx Ha IH]; [constructor|].
  cbn [conv length]. replace (Z.of_nat (S (length a)) * (s * t)) with (s * t + Z.of_nat (length a) * (s * t)) by lia.
  apply added_up_to; [nia | nia | |].
  - apply Forall_map. eapply Forall_impl; [|exact Hb]. cbv beta. intros y Hy. nia.
  - constructor; auto. nia.
Qed.

Lemma max_up_to l : Forall (fun a => 0 <= a) l -> up_to (fold_left Z.max l 1) l /\ 1 <= fold_left Z.max l 1.
Proof.
  assert (G : forall l a, a <= fold_left Z.max l a /\ forall z, In z l -> z <= fold_left Z.max l a).
  { clear. induction l as [|x l IH]; intros a; simpl; [split; [lia | tauto]|]. destruct (IH (Z.max a x)) as [H1 H2].
    split; [lia|]. intros z [<-|Hz]; [lia | auto]. }
  intros Hl. destruct (G l 1) as [G1 G2]. split; auto. apply Forall_forall. intros z Hz. rewrite Forall_forall in Hl.
  split; auto.
Qed.

Lemma bits_of_most l : fold_left Z.max l 1 < 2 ^ bits_of l /\ 0 <= bits_of l.
Proof.
  unfold bits_of. set (m := fold_left Z.max l 1). pose proof (Z.log2_nonneg m). split; [|lia].
  destruct (Z.le_gt_cases m 0) as [Hm|Hm].
  - pose proof (pow_positive (Z.log2 m + 1) ltac:(lia)). lia.
  - replace (Z.log2 m + 1) with (Z.succ (Z.log2 m)) by lia. apply Z.log2_spec; auto.
Qed.

Definition nonneg (l : list Z) := Forall (fun a => 0 <= a) l.

Theorem multiply_conv a b : a <> [] -> b <> [] -> nonneg a -> nonneg b -> multiply a b = conv a b.
Proof.
  intros Na Nb Ha Hb. unfold multiply. set (n := (length a + length b)%nat).
  assert (Hla : (1 <= length a)%nat) by (destruct a; [congruence | simpl; lia]).
  assert (Hlb : (1 <= length b)%nat) by (destruct b; [congruence | simpl; lia]).
  assert (Hn : 0 < Z.of_nat n) by lia. destruct (Z.log2_spec _ Hn) as [_ Hlog].
    pose proof (Z.log2_nonneg (Z.of_nat n)) as L0.
  set (levels := levels_for n). set (w := bits_of a + bits_of b + Z.log2 (Z.of_nat n) + 2).
  assert (Hlev : (n <= 2 ^ levels)%nat).
  { apply Nat2Z.inj_le. rewrite Nat2Z.inj_pow. unfold levels, levels_for. rewrite Z2Nat.id by lia.
    replace (Z.log2 (Z.of_nat n) + 1) with (Z.succ (Z.log2 (Z.of_nat n))) by lia. simpl (Z.of_nat 2). lia. }
  destruct (max_up_to a Ha) as [Ua Ma]. destruct (max_up_to b Hb) as [Ub Mb].
  destruct (bits_of_most a) as [Ba Wa]. destruct (bits_of_most b) as [Bb Wb].
  set (s := fold_left Z.max a 1) in *. set (t := fold_left Z.max b 1) in *.
  assert (Hw : 0 <= w) by lia.
  assert (Hd : digits (2 ^ w) (conv a b)).
  { eapply Forall_impl; [|apply (conv_up_to s t a b); auto; lia]. cbv beta. intros x Hx. split; [lia|].
    apply Z.le_lt_trans with (1 := proj2 Hx).
    assert (E : 2 ^ w = 2 ^ bits_of a * 2 ^ bits_of b * (2 * 2 ^ Z.succ (Z.log2 (Z.of_nat n)))).
    { unfold w. rewrite <- Z.pow_succ_r by lia. rewrite <- !Z.pow_add_r by lia. f_equal. lia. }
    rewrite E. assert (s * t < 2 ^ bits_of a * 2 ^ bits_of b) by nia.
    assert (Z.of_nat (length a) < 2 * 2 ^ Z.succ (Z.log2 (Z.of_nat n))) by lia. nia. }
  rewrite !pack_value by lia. rewrite <- value_conv. rewrite unpack_value; auto.
  2: { rewrite conv_length by auto. fold n. lia. }
  pose proof (conv_length a b Na Nb) as EL. fold n in EL. rewrite <- EL.
  rewrite firstn_app, Nat.sub_diag, firstn_O, app_nil_r. apply firstn_all.
Qed.

Lemma conv_nonneg a b : nonneg a -> nonneg b -> nonneg (conv a b).
Proof.
  intros Ha Hb. destruct (max_up_to a Ha) as [Ua Ma]. destruct (max_up_to b Hb) as [Ub Mb].
  eapply Forall_impl; [|apply (conv_up_to (fold_left Z.max a 1) (fold_left Z.max b 1) a b); auto; lia]. cbv beta.
    intros; lia.
Qed.

Lemma conv_full a b : a <> [] -> b <> [] -> conv a b <> [].
Proof.
  intros Ha Hb E. pose proof (conv_length a b Ha Hb) as L. rewrite E in L. destruct a, b; try congruence.
    simpl in L. lia.
Qed.

(* ---------------------------------------------------------------- what they do to functions *)

Open Scope R_scope.

Fixpoint mass (l : list Z) (i : Z) (f : Z -> R) : R :=
  match l with [] => 0 | a :: rest => IZR a * f i + mass rest (i + 1) f end.

Lemma mass_ext l : forall i f g, (forall t, f t = g t) -> mass l i f = mass l i g.
Proof. induction l as [|a l IH]; intros i f g E; simpl; auto. rewrite E, (IH _ f g); auto. Qed.

Lemma mass_app l m : forall i f, mass (l ++ m) i f = mass l i f + mass m (i + Z.of_nat (length l)) f.
Proof.
  induction l as [|a l IH]; intros i f; cbn [app mass length].
  - replace (i + Z.of_nat 0)%Z with i by lia. ring.
  - rewrite IH. replace (i + 1 + Z.of_nat (length l))%Z with (i + Z.of_nat (S (length l)))%Z by lia. ring.
Qed.

Lemma mass_added l : forall m i f, mass (added l m) i f = mass l i f + mass m i f.
Proof. induction l as [|x l IH]; intros [|y m] i f; cbn [added mass]; try lra. rewrite IH, plus_IZR. ring. Qed.

Lemma mass_scaled x l : forall i f, mass (map (Z.mul x) l) i f = IZR x * mass l i f.
Proof. induction l as [|y l IH]; intros i f; cbn [map mass]; [lra|]. rewrite IH, mult_IZR. ring. Qed.

Lemma mass_moved l : forall i j f, mass l (i + j) f = mass l i (fun s => f (s + j)%Z).
Proof.
  induction l as [|a l IH]; intros i j f; cbn [mass]; auto.
  rewrite <- IH. do 2 f_equal. lia.
Qed.

Lemma mass_conv a b : forall i j f, mass (conv a b) (i + j) f = mass a i (fun s => mass b (s + j) f).
Proof.
  induction a as [|x a IH]; intros i j f; auto. cbn [conv]. rewrite mass_added, mass_scaled. cbn [mass].
  rewrite <- IH. replace (i + 1 + j)%Z with (i + j + 1)%Z by lia. ring.
Qed.

Lemma mass_zeros n : forall i f, mass (repeat 0%Z n) i f = 0.
Proof. induction n; intros i f; cbn [repeat mass]; auto. rewrite IHn. lra. Qed.

Lemma mass_nonneg l f : nonneg l -> (forall t, 0 <= f t) -> forall i, 0 <= mass l i f.
Proof.
  intros Hl Hf. induction Hl as [|a l Ha Hl IH]; intros i; cbn [mass]; [lra|]. specialize (IH (i + 1)%Z).
    specialize (Hf i).
  apply IZR_le in Ha. nra.
Qed.

Lemma mass_one l : forall i, mass l i (fun _ => 1) = IZR (sum_z l).
Proof.
  unfold sum_z. assert (G : forall l a, IZR (fold_left Z.add l a) = IZR a + IZR (fold_left Z.add l 0%Z)).
  { clear. induction l as [|x l IH]; intros a; cbn [fold_left]; [lra|].
    rewrite (IH (a + x)%Z), (IH (0 + x)%Z), !plus_IZR. lra. }
  induction l as [|a l IH]; intros i; cbn [mass fold_left]; auto. rewrite IH, (G l (0 + a)%Z), plus_IZR. lra.
Qed.

Lemma mass_part l f : forall n i, mass (firstn n l) i f + mass (skipn n l) (i + Z.of_nat (Nat.min n
  (length l))) f = mass l i f.
Proof.
  intros n i. rewrite <- (firstn_skipn n l) at 4. rewrite mass_app, firstn_length. auto.
Qed.
