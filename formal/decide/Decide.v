(** Whether a real number, written as an expression, is at most a rational one. *)
Require Import Reals ZArith QArith Qreals Lra Lia Psatz List Bool.
From DP.base Require Import Normal Sums.
From DP.decide Require Import Fixed Functions Tail.
Import ListNotations.
Open Scope R_scope.

Inductive expr :=
  | Num (q : Q)
  | Plus (a b : expr) | Minus (a b : expr) | Times (a b : expr) | Over (a b : expr)
  | Exp (a : expr) | Ln (a : expr) | Root (a : expr)
  | Pow (a : expr) (n : N)
  | Geometric (a : expr) (n : positive)           (* 1 + a + … + a^(n-1) *)
  | Tail (a : expr).                              (* the chance that a normal number is above a *)

Fixpoint geometric (r : R) (n : nat) : R := match n with O => 0 | S m => geometric r m + r ^ m end.

Fixpoint eval (e : expr) : R :=
  match e with
  | Num q => Q2R q
  | Plus a b => eval a + eval b
  | Minus a b => eval a - eval b
  | Times a b => eval a * eval b
  | Over a b => eval a / eval b
  | Exp a => exp (eval a)
  | Ln a => ln (eval a)
  | Root a => sqrt (eval a)
  | Pow a n => eval a ^ N.to_nat n
  | Geometric a n => geometric (eval a) (Pos.to_nat n)
  | Tail a => 1 - Phi (eval a)
  end.

Section Enclosing.
Variable p : positive.
Let one : Z := (2 ^ Zpos p)%Z.

(** Numbers that grow beyond use are said to be large, and no more. *)
Definition capped (a : ends) : ends :=
  let long z := (2 ^ 22 <? Z.log2 z)%Z in
  (match fst a with Some z => if long z then Some (2 ^ (2 ^ 22))%Z else Some z | None => None end,
   match snd a with Some z => if long z then None else Some z | None => None end).

(** Apart from [capped_inside], so that no tactic there computes its power. *)
Lemma pow_below k z : (0 <= k < Z.log2 z)%Z -> (2 ^ k <= z)%Z.
Proof.
  intros H. assert (0 < z)%Z by (destruct z; cbn in H; lia).
  destruct (Z.log2_spec z) as [L _]; auto. apply Z.le_trans with (2 := L). apply Z.pow_le_mono_r; lia.
Qed.

Lemma capped_inside a x : inside p a x -> inside p (capped a) x.
Proof.
  unfold inside, above, below, capped. generalize (2 ^ 22)%Z (eq_refl : (0 <=? 2 ^ 22)%Z = true). intros most Hm.
  destruct a as [a b]; cbn [fst snd]. intros [Ha Hb]. split.
  - destruct a as [z|]; auto. destruct (Z.ltb_spec most (Z.log2 z)) as [H|H]; auto.
    apply Rle_trans with (IZR z); auto. apply IZR_le, pow_below. split; [apply Z.leb_le|]; auto.
  - destruct b as [z|]; auto. destruct (most <? Z.log2 z)%Z; auto.
Qed.

Fixpoint pow_pos (a : ends) (n : positive) : ends :=
  match n with
  | xH => a
  | xO m => let h := pow_pos a m in capped (mul p h h)
  | xI m => let h := pow_pos a m in capped (mul p a (mul p h h))
  end.

Lemma pow_pos_inside a x n : inside p a x -> inside p (pow_pos a n) (x ^ Pos.to_nat n).
Proof.
  intros Ha. induction n; cbn [pow_pos].
  - apply capped_inside. replace (Pos.to_nat n~1) with (S (Pos.to_nat n + Pos.to_nat n)) by lia.
    cbn [pow]. rewrite pow_add. repeat apply mul_inside; auto.
  - apply capped_inside. replace (Pos.to_nat n~0) with (Pos.to_nat n + Pos.to_nat n)%nat by lia.
    rewrite pow_add. apply mul_inside; auto.
  - change (Pos.to_nat 1) with 1%nat. rewrite pow_1. auto.
Qed.

Definition power_n (a : ends) (n : N) : ends := match n with N0 => (Some one, Some one) | Npos m => pow_pos a m end.

Lemma one_inside : inside p (Some one, Some one) 1.
Proof. split; unfold above, below; cbn [fst snd]; change (IZR one) with (unit_of p); lra. Qed.

(** The sum below n, and the n-th power. *)
Fixpoint sum_pos (a : ends) (n : positive) : ends * ends :=
  match n with
  | xH => ((Some one, Some one), a)
  | xO m => let (s, h) := sum_pos a m in (capped (mul p s (add (Some one, Some one) h)), capped (mul p h h))
  | xI m => let (s, h) := sum_pos a m in
            let h2 := capped (mul p h h) in (add (capped (mul p s (add (Some one, Some one) h))) h2, capped (mul p h2 a))
  end.

Lemma geometric_add r m n : geometric r (m + n) = geometric r n + r ^ n * geometric r m.
Proof.
  induction m; cbn [geometric Nat.add]; [ring|]. rewrite IHm. rewrite pow_add. ring.
Qed.

Lemma sum_pos_inside a x n : inside p a x ->
  inside p (fst (sum_pos a n)) (geometric x (Pos.to_nat n)) /\ inside p (snd (sum_pos a n)) (x ^ Pos.to_nat n).
Proof.
  intros Ha. induction n; cbn [sum_pos].
  - destruct (sum_pos a n) as [s h]; cbn [fst snd] in *. destruct IHn as [Hs Hh].
    assert (H2 : inside p (capped (mul p h h)) (x ^ (Pos.to_nat n + Pos.to_nat n))).
    { rewrite pow_add. apply capped_inside, mul_inside; auto. }
    replace (Pos.to_nat n~1) with (S (Pos.to_nat n + Pos.to_nat n)) by lia. split.
    + cbn [geometric]. apply add_inside; auto. rewrite geometric_add.
      replace (geometric x (Pos.to_nat n) + x ^ Pos.to_nat n * geometric x (Pos.to_nat n))
        with (geometric x (Pos.to_nat n) * (1 + x ^ Pos.to_nat n)) by ring.
      apply capped_inside, mul_inside; auto. apply add_inside; auto using one_inside.
    + cbn [pow]. rewrite (Rmult_comm x). apply capped_inside, mul_inside; auto.
  - destruct (sum_pos a n) as [s h]; cbn [fst snd] in *. destruct IHn as [Hs Hh].
    replace (Pos.to_nat n~0) with (Pos.to_nat n + Pos.to_nat n)%nat by lia. split.
    + rewrite geometric_add.
      replace (geometric x (Pos.to_nat n) + x ^ Pos.to_nat n * geometric x (Pos.to_nat n))
        with (geometric x (Pos.to_nat n) * (1 + x ^ Pos.to_nat n)) by ring.
      apply capped_inside, mul_inside; auto. apply add_inside; auto using one_inside.
    + rewrite pow_add. apply capped_inside, mul_inside; auto.
  - change (Pos.to_nat 1) with 1%nat. cbn [fst snd]. rewrite pow_1. split; auto.
    cbn [geometric]. rewrite Rplus_0_l. apply one_inside.
Qed.

Fixpoint enclose (e : expr) : ends :=
  match e with
  | Num q => of_Q p q
  | Plus a b => add (enclose a) (enclose b)
  | Minus a b => sub (enclose a) (enclose b)
  | Times a b => mul p (enclose a) (enclose b)
  | Over a b => div p (enclose a) (enclose b)
  | Exp a => exponential p (enclose a)
  | Ln a => logarithm p (enclose a)
  | Root a => let r := enclose a in if nonneg r then root p r else (None, None)
  | Pow a n => power_n (enclose a) n
  | Geometric a n => fst (sum_pos (enclose a) n)
  | Tail a => upper_tail p (enclose a)
  end.

Lemma enclose_inside e : inside p (enclose e) (eval e).
Proof.
  induction e; cbn [enclose eval].
  - apply of_Q_inside.
  - apply add_inside; auto.
  - apply sub_inside; auto.
  - apply mul_inside; auto.
  - apply div_inside; auto.
  - apply exponential_inside; auto.
  - apply logarithm_inside; auto.
  - destruct (nonneg (enclose e)) eqn:H; [|split; exact I]. apply root_inside; auto.
    eapply nonneg_inside; eauto.
  - destruct n; cbn [power_n N.to_nat]; [apply one_inside | apply pow_pos_inside; auto].
  - apply sum_pos_inside; auto.
  - apply upper_tail_inside; auto.
Qed.
End Enclosing.

(** Precision is doubled until the number lies on one side; what is not decided is refused. *)
Fixpoint try (precisions : list positive) (e : expr) (q : Q) : bool :=
  match precisions with
  | [] => false
  | p :: rest =>
    let (low, high) := enclose p e in
    let (qlow, qhigh) := of_Q p q in
    if match high, qlow with Some h, Some l => (h <=? l)%Z | _, _ => false end then true
    else if match low, qhigh with Some l, Some h => (h <? l)%Z | _, _ => false end then false
    else try rest e q
  end.

Definition at_most (e : expr) (q : Q) : bool := try [128; 256; 512; 1024; 2048; 4096; 8192]%positive e q.

Theorem at_most_sound e q : at_most e q = true -> eval e <= Q2R q.
Proof.
  unfold at_most. generalize ([128; 256; 512; 1024; 2048; 4096; 8192]%positive).
  induction l as [|p l IH]; cbn [try]; [discriminate|].
  pose proof (enclose_inside p e) as [_ He]. pose proof (of_Q_inside p q) as [Hq _].
  destruct (enclose p e) as [low high], (of_Q p q) as [qlow qhigh]. cbn [fst snd] in *.
  destruct high as [h|], qlow as [l'|].
  1: destruct (Z.leb_spec h l') as [H|H].
  1: { intros _. apply IZR_le in H. unfold below in He. unfold above in Hq.
       pose proof (unit_pos p). apply Rmult_le_reg_r with (unit_of p); lra. }
  all: destruct low as [lo|], qhigh as [hi|]; try (destruct (hi <? lo)%Z; [discriminate|]); auto.
Qed.
