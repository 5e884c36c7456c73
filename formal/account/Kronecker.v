(** The convolution of two lists of natural numbers by one product of two large integers.

    Numbers are packed as digits of so many bits that no sum overflows; the digits of the product are the
    convolution.  Packing and unpacking halve, so that they take little more than the product.
    Main theorem: `convolve_sound`. *)
Require Import Reals ZArith Lra Lia Psatz List Bool.
From DP.account Require Import Lattice.
Import ListNotations.
Open Scope Z_scope.

(* ---------------------------------------------------------------- the convolution, as it is defined *)

Fixpoint plus (a b : list Z) : list Z :=
  match a, b with
  | [], _ => b
  | _, [] => a
  | x :: a, y :: b => x + y :: plus a b
  end.

Fixpoint conv (a b : list Z) : list Z :=
  match a with [] => [] | x :: a => plus (map (Z.mul x) b) (0 :: conv a b) end.

Lemma along_plus g a b : forall s, (along g s (plus a b) = along g s a + along g s b)%R.
Proof.
  revert b. induction a as [|x a IH]; intros [|y b] s; cbn [plus along]; try lra.
  rewrite IH, plus_IZR. ring.
Qed.

Lemma along_map g x b : forall s, (along g s (map (Z.mul x) b) = IZR x * along g s b)%R.
Proof. induction b as [|y b IH]; intros s; cbn [map along]; [lra|]. rewrite IH, mult_IZR. ring. Qed.

Lemma along_conv g a b : forall s t,
  (along g (s + t) (conv a b) = along (fun i => along (fun j => g (i + j)%Z) t b) s a)%R.
Proof.
  induction a as [|x a IH]; intros s t; [reflexivity|]. cbn [conv]. rewrite along_plus, along_map.
  cbn [along]. rewrite Rmult_0_l, Rplus_0_l. replace (s + t + 1) with ((s + 1) + t) by lia. rewrite IH. f_equal. f_equal.
  apply along_ext. intros i _. f_equal. lia.
Qed.

Lemma nonneg_conv a b : nonneg_all a -> nonneg_all b -> nonneg_all (conv a b).
Proof.
  intros Ha Hb. induction Ha as [|x a Hx Ha IH]; cbn [conv]; [constructor|].
  assert (P : forall l m, nonneg_all l -> nonneg_all m -> nonneg_all (plus l m)).
  { intros l m Hl. revert m. induction Hl as [|y l Hy Hl IHl]; intros m Hm; cbn [plus]; auto.
    destruct Hm; constructor; auto; [lia|]. apply IHl; auto. }
  apply P; [|constructor; auto; lia].
  clear - Hx Hb. induction Hb; cbn [map]; constructor; auto. nia.
Qed.

Lemma length_conv a b : (length (conv a b) <= length a + length b)%nat.
Proof.
  assert (P : forall l m, (length (plus l m) = Nat.max (length l) (length m))%nat).
  { induction l; intros [|y m]; cbn [plus length]; auto. rewrite IHl. auto. }
  induction a; cbn [conv length]; [lia|]. rewrite P, map_length. cbn [length]. lia.
Qed.

Lemma sum_conv a b : sum (conv a b) = sum a * sum b.
Proof.
  apply eq_IZR. rewrite <- (along_1 (0 + 0)), along_conv, mult_IZR, <- (along_1 0 a), Rmult_comm, <- along_scale.
  apply along_ext. intros i _. rewrite along_1. ring.
Qed.

(* ---------------------------------------------------------------- digits *)

Fixpoint pack (w : Z) (l : list Z) : Z := match l with [] => 0 | x :: l => x + 2 ^ w * pack w l end.

Definition digits (w : Z) (l : list Z) := Forall (fun x => 0 <= x < 2 ^ w) l.

Lemma digits_nonneg w l : digits w l -> nonneg_all l.
Proof. apply Forall_impl. intros; lia. Qed.

Section Width.
  Context (w : Z).
  Hypothesis w_pos : 0 <= w.
  Let B_pos : 0 < 2 ^ w. Proof. apply Z.pow_pos_nonneg; lia. Qed.

  Lemma pack_plus a b : pack w (plus a b) = pack w a + pack w b.
  Proof. revert b. induction a as [|x a IH]; intros [|y b]; cbn [plus pack]; try lia. rewrite IH. ring. Qed.

  Lemma pack_map x b : pack w (map (Z.mul x) b) = x * pack w b.
  Proof. induction b as [|y b IH]; cbn [map pack]; [lia|]. rewrite IH. ring. Qed.

  Lemma pack_conv a b : pack w (conv a b) = pack w a * pack w b.
  Proof. induction a as [|x a IH]; cbn [conv pack]; [lia|]. rewrite pack_plus, pack_map. cbn [pack]. rewrite IH. ring. Qed.

  Lemma pack_range l : digits w l -> 0 <= pack w l < 2 ^ (w * Z.of_nat (length l)).
  Proof.
    induction 1 as [|x l Hx Hl IH]; cbn [pack length]; [rewrite Z.mul_0_r; lia|].
    replace (w * Z.of_nat (S (length l))) with (w + w * Z.of_nat (length l)) by lia.
    rewrite Z.pow_add_r by lia. nia.
  Qed.

  (** Digits are unique, up to zeros at the end. *)
  Lemma pack_unique g a b : digits w a -> digits w b -> pack w a = pack w b ->
    forall s, along g s a = along g s b.
  Proof.
    assert (Z0 : forall l s, digits w l -> pack w l = 0 -> along g s l = 0%R).
    { intros l s Hl. revert s. induction Hl as [|x l Hx Hl IH]; intros s; cbn [pack along]; auto.
      intros H. pose proof (pack_range l Hl). assert (x = 0) by nia. assert (pack w l = 0) by nia.
      subst. rewrite IH by auto. ring. }
    intros Ha. revert b. induction Ha as [|x a Hx Ha IH]; intros b Hb H s.
    - symmetry. apply Z0; auto.
    - destruct Hb as [|y b Hy Hb]; [apply Z0; auto; constructor; auto|].
      cbn [pack] in H. assert (E : pack w a = pack w b) by nia. assert (x = y) by nia. subst.
      cbn [along]. rewrite (IH b); auto.
  Qed.
End Width.

(* ---------------------------------------------------------------- packing by halves *)

Fixpoint joined (w : Z) (l : list Z) : list Z :=
  match l with
  | x :: y :: rest => x + Z.shiftl y w :: joined w rest
  | _ => l
  end.

Fixpoint joined' (w : Z) (l done : list Z) : list Z :=           (* tail-recursive *)
  match l with
  | x :: y :: rest => joined' w rest (x + Z.shiftl y w :: done)
  | _ => rev_append done l
  end.

Fixpoint pack_by_halves (fuel : nat) (w : Z) (l : list Z) : Z :=
  match l with
  | [] => 0
  | [x] => x
  | _ => match fuel with O => pack w l | S less => pack_by_halves less (2 * w) (joined' w l []) end
  end.

Lemma joined'_joined w : forall n l done, (length l <= n)%nat -> joined' w l done = rev done ++ joined w l.
Proof.
  induction n as [|n IH]; intros [|x [|y l]] done Hn; cbn [joined joined' length] in *; rewrite ?rev_append_rev; auto; try lia.
  rewrite IH by lia. cbn [rev]. rewrite <- app_assoc. reflexivity.
Qed.

Lemma pack_joined w l : 0 <= w -> pack (2 * w) (joined w l) = pack w l.
Proof.
  intros Hw. assert (G : forall n l, (length l <= n)%nat -> pack (2 * w) (joined w l) = pack w l).
  { induction n as [|n IH]; intros [|x [|y m]] Hn; cbn [joined pack length] in *; try lia.
    rewrite IH by lia. rewrite Z.shiftl_mul_pow2 by lia. replace (2 * w) with (w + w) by lia.
    rewrite Z.pow_add_r by lia. ring. }
  apply (G (length l)); auto.
Qed.

Lemma pack_by_halves_correct fuel : forall w l, 0 <= w -> pack_by_halves fuel w l = pack w l.
Proof.
  induction fuel as [|fuel IH]; intros w [|x [|y l]] Hw; cbn [pack_by_halves]; auto; try (cbn [pack]; lia).
  rewrite IH, (joined'_joined w _ _ [] (le_n _)) by lia. apply pack_joined; auto.
Qed.

(** The digits of z, of which there are at most 2^k in [wide] bits together, before [after]; zeros at the end are left out. *)
Fixpoint unpack (k : nat) (wide z : Z) (after : list Z) : list Z :=
  if (z =? 0) && (match after with [] => true | _ => false end) then [] else
  match k with
  | O => z :: after
  | S less =>
    let half := Z.shiftr wide 1 in
    let high := Z.shiftr z half in
    unpack less half (z - Z.shiftl high half) (unpack less half high after)
  end.

Lemma unpack_correct w k : 0 <= w -> forall z after, digits w after -> 0 <= z < 2 ^ (w * 2 ^ Z.of_nat k) ->
  digits w (unpack k (w * 2 ^ Z.of_nat k) z after) /\
  pack w (unpack k (w * 2 ^ Z.of_nat k) z after) = z + 2 ^ (w * 2 ^ Z.of_nat k) * pack w after.
Proof.
  intros Hw. induction k as [|k IH]; intros z after Ha Hz.
  - cbn [unpack]. change (2 ^ Z.of_nat 0) with 1 in *. rewrite Z.mul_1_r in *.
    destruct ((z =? 0) && _) eqn:E.
    + apply andb_prop in E. destruct E as [E1 E2]. apply Z.eqb_eq in E1. destruct after; [|discriminate].
      cbn [pack]. split; [constructor|lia].
    + split; [constructor; auto|]. cbn [pack]. reflexivity.
  - cbn [unpack]. destruct ((z =? 0) && _) eqn:E.
    + apply andb_prop in E. destruct E as [E1 E2]. apply Z.eqb_eq in E1. destruct after; [|discriminate].
      cbn [pack]. split; [constructor|lia].
    + assert (Hk : 0 <= 2 ^ Z.of_nat k) by (apply Z.pow_nonneg; lia).
      assert (Hhalf : Z.shiftr (w * 2 ^ Z.of_nat (S k)) 1 = w * 2 ^ Z.of_nat k).
      { rewrite Z.shiftr_div_pow2 by lia. rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia.
        replace (w * (2 * 2 ^ Z.of_nat k)) with (w * 2 ^ Z.of_nat k * 2 ^ 1) by (change (2 ^ 1) with 2; ring).
        apply Z.div_mul. cbn; lia. }
      rewrite Hhalf. set (half := w * 2 ^ Z.of_nat k) in *.
      assert (Hwide : w * 2 ^ Z.of_nat (S k) = half + half).
      { unfold half. rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. ring. }
      rewrite Hwide in *. assert (0 <= half) by nia. rewrite Z.pow_add_r in * by lia.
      assert (HB : 0 < 2 ^ half) by (apply Z.pow_pos_nonneg; lia).
      rewrite Z.shiftr_div_pow2, Z.shiftl_mul_pow2 by lia.
      pose proof (Z.div_mod z (2 ^ half) ltac:(lia)) as Hdm. pose proof (Z.mod_pos_bound z (2 ^ half) HB).
      assert (Hhigh : 0 <= z / 2 ^ half < 2 ^ half).
      { split; [apply Z.div_pos; lia|]. apply Z.div_lt_upper_bound; lia. }
      destruct (IH (z / 2 ^ half) after Ha Hhigh) as [D1 P1].
      destruct (IH (z - z / 2 ^ half * 2 ^ half) _ D1 ltac:(lia)) as [D2 P2].
      split; [exact D2|]. rewrite P2, P1. lia.
Qed.

(* ---------------------------------------------------------------- the product *)

Definition halvings (n : Z) : nat := Z.to_nat (Z.log2_up n).

Definition count (l : list Z) : Z := fold_left (fun n _ => n + 1) l 0.

Lemma count_length l : count l = Z.of_nat (length l).
Proof.
  unfold count. assert (G : forall n, fold_left (fun n _ => n + 1) l n = n + Z.of_nat (length l)).
  { induction l; intros n; cbn [fold_left length]; [lia|]. rewrite IHl. lia. }
  apply G.
Qed.

(** One more bit than the largest possible sum has. *)
Definition convolve (a b : list Z) : list Z :=
  let w := Z.log2 (sum a * sum b) + 1 in
  let k := halvings (count a + count b) in
  unpack k (Z.shiftl w (Z.of_nat k)) (pack_by_halves k w a * pack_by_halves k w b) [].

Lemma in_le_sum l x : nonneg_all l -> In x l -> x <= sum l.
Proof.
  induction 1 as [|y l Hy Hl IH]; [intros []|]. rewrite sum_cons. pose proof (sum_nonneg l Hl).
  intros [<-|Hx]; [lia|]. specialize (IH Hx). lia.
Qed.

Theorem convolve_sound a b : nonneg_all a -> nonneg_all b ->
  nonneg_all (convolve a b) /\ forall g s, along g s (convolve a b) = along g s (conv a b).
Proof.
  intros Ha Hb. unfold convolve. set (w := Z.log2 (sum a * sum b) + 1). set (k := halvings _).
  assert (Hw : 0 <= w) by (unfold w; pose proof (Z.log2_nonneg (sum a * sum b)); lia).
  assert (Hd : digits w (conv a b)).
  { pose proof (nonneg_conv a b Ha Hb) as Hn. apply Forall_forall. intros x Hx.
    pose proof (in_le_sum _ x Hn Hx). rewrite sum_conv in H. split.
    - unfold nonneg_all in Hn. rewrite Forall_forall in Hn. auto.
    - apply Z.le_lt_trans with (1 := H). unfold w. destruct (Z.lt_ge_cases 0 (sum a * sum b)) as [P|P].
      + destruct (Z.log2_spec _ P) as [_ L]. rewrite Z.add_1_r. exact L.
      + apply Z.le_lt_trans with (1 := P). apply Z.pow_pos_nonneg; lia. }
  rewrite !pack_by_halves_correct, <- pack_conv, Z.shiftl_mul_pow2 by lia.
  destruct (unpack_correct w k Hw (pack w (conv a b)) []) as [D P].
  - constructor.
  - pose proof (pack_range w Hw _ Hd) as [H0 H1]. split; auto. apply Z.lt_le_trans with (1 := H1).
    apply Z.pow_le_mono_r; [lia|]. apply Z.mul_le_mono_nonneg_l; auto.
    pose proof (length_conv a b). unfold k, halvings. rewrite !count_length, Z2Nat.id by apply Z.log2_up_nonneg.
    apply Z.le_trans with (Z.of_nat (length a) + Z.of_nat (length b)); [lia|].
    set (n := Z.of_nat (length a) + Z.of_nat (length b)). destruct (Z.lt_ge_cases 1 n) as [L|L].
    + apply Z.log2_up_spec; auto.
    + apply Z.le_trans with (1 := L). pose proof (Z.log2_up_nonneg n). apply (Z.pow_le_mono_r 2 0); lia.
  - split; [eapply digits_nonneg; eauto|]. intros g s. apply (pack_unique w Hw); auto.
    rewrite P. cbn [pack]. lia.
Qed.
