(** Randomised response among many answers: the sum over all answers of what each gains. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool.
From DP.base Require Import Laws Sums.
From DP Require Import Definitions.
From DP.core Require Import Costs.
From DP.decide Require Import Fixed Functions.
From DP.account Require Import Kinds.
From DP.account.kinds Require Import Lists Values.
Import ListNotations.
Open Scope R_scope.

Section Answers.
  Variables (e : R) (number : Z).
  Hypothesis He : 1 <= e.
  Hypothesis Hnumber : (2 <= number)%Z.

  Definition weight (truth answer : Z) : R :=
    if ((0 <=? answer) && (answer <? number))%Z then if (answer =? truth)%Z then e else 1 else 0.

  Definition all : list Z := map Z.of_nat (seq 0 (Z.to_nat number)).

  Lemma all_in x : In x all <-> (0 <= x < number)%Z.
  Proof.
    unfold all. rewrite in_map_iff. split.
    - intros [n [<- H]]. apply in_seq in H. lia.
    - intros H. exists (Z.to_nat x). split; [lia|]. apply in_seq. lia.
  Qed.

  Lemma all_once : NoDup all.
  Proof. apply FinFun.Injective_map_NoDup; [intros x y H; lia | apply seq_NoDup]. Qed.

  Lemma inside_all x : ((0 <=? x) && (x <? number))%Z = true <-> In x all.
  Proof. rewrite all_in, andb_true_iff, Z.leb_le, Z.ltb_lt. tauto. Qed.

  Lemma weight_pos i x : 0 <= weight i x.
  Proof. unfold weight. destruct (_ && _)%bool; [destruct (x =? i)%Z|]; lra. Qed.

  Lemma answers_E i (R : law Z) f : proportional (weight i) R -> test f ->
    R f * usum (weight i) = total (fun x => weight i x * f x) all.
  Proof.
    intros [_ [_ HE]] Hf. rewrite HE by auto. apply usum_finite.
    - apply all_once.
    - intros x. apply Rmult_le_pos; [apply weight_pos | apply Hf].
    - intros x Hx. unfold weight. destruct ((0 <=? x) && (x <? number))%Z eqn:H; [|ring].
      apply inside_all in H. contradiction.
  Qed.

  (** One number more at one answer. *)
  Lemma total_at i a (f : Z -> R) l : NoDup l -> In i l ->
    total (fun x => f x + (if (x =? i)%Z then a else 0)) l = total f l + a.
  Proof.
    intros Hl. induction Hl as [|x l Hx Hl IH]; intros Hi; [contradiction|]. cbn [total].
    destruct (Z.eqb_spec x i) as [->|N].
    - assert (Z : total (fun x => f x + (if (x =? i)%Z then a else 0)) l = total f l); [|lra].
      apply total_ext. intros y Hy. destruct (Z.eqb_spec y i) as [->|]; [contradiction | lra].
    - destruct Hi as [Hi|Hi]; [contradiction|]. rewrite IH by auto. lra.
  Qed.

  Lemma whole_all i : (0 <= i < number)%Z -> usum (weight i) = e - 1 + IZR number.
  Proof.
    intros Hi. assert (E : usum (weight i) = total (weight i) all).
    { apply usum_finite; [apply all_once | apply weight_pos|]. intros x Hx. unfold weight.
      destruct ((0 <=? x) && (x <? number))%Z eqn:H; auto. apply inside_all in H. contradiction. }
    rewrite E, (total_ext _ (fun x => 1 + (if (x =? i)%Z then e - 1 else 0))).
    2: { intros x Hx. apply inside_all in Hx. unfold weight. rewrite Hx. destruct (x =? i)%Z; lra. }
    rewrite (total_at i (e - 1) (fun _ => 1)); [|apply all_once | apply all_in; auto].
    rewrite total_const. unfold all. rewrite map_length, seq_length, INR_IZR_INZ, Z2Nat.id by lia. lra.
  Qed.

  Definition answers_stick (c : R) : R :=
    (Rmax 0 (e - c) + Rmax 0 (1 - c * e) + (IZR number - 2) * Rmax 0 (1 - c)) / (e - 1 + IZR number).

  Theorem answer_pair_stick {A} (P Q : law A) f c : answer_pair e number P Q -> test f -> 0 <= c ->
    P f <= answers_stick c + c * Q f.
  Proof.
    intros [i [j [R [S [post [Hi [Hj [HR [HS [HP HQ]]]]]]]]]] Hf Hc. rewrite (HP f Hf), (HQ f Hf). cbn [bind E].
    set (h := fun a => post a f). assert (Hh : test h) by (intros a; apply E_test; auto).
    assert (Hn : 2 <= IZR number) by (apply IZR_le; auto).
    pose proof (answers_E i R h HR Hh) as ER. pose proof (answers_E j S h HS Hh) as ES.
    rewrite whole_all in ER, ES by auto. set (W := e - 1 + IZR number) in *. assert (HW : 0 < W) by (unfold W; lra).
    set (m := Rmax 0 (1 - c)). set (a := Rmax 0 (e - c)). set (b := Rmax 0 (1 - c * e)).
    assert (Hm : 0 <= m /\ 1 - c <= m) by (split; [apply Rmax_l | apply Rmax_r]).
    assert (Ha : 0 <= a /\ e - c <= a) by (split; [apply Rmax_l | apply Rmax_r]).
    assert (Hb : 0 <= b /\ 1 - c * e <= b) by (split; [apply Rmax_l | apply Rmax_r]).
    assert (Hab : 2 * m <= a + b).
    { unfold m, Rmax at 1. destruct Rle_dec; [|lra]. assert (e - c + 1 - c * e <= a + b) by lra. nra. }
    assert (G : R h * W - c * (S h * W) <= a + b + (IZR number - 2) * m).
    { rewrite ER, ES, <- total_scale, <- total_minus. destruct (Z.eq_dec i j) as [<-|N].
      - apply Rle_trans with (total (fun x => m + (if (x =? i)%Z then e * m - m else 0)) all).
        + apply total_le. intros x Hx. apply inside_all in Hx. unfold weight. rewrite Hx. specialize (Hh x).
          destruct (x =? i)%Z; [|nra]. assert ((1 - c) * h x <= m) by nra. nra.
        + rewrite (total_at i _ (fun _ => m)); [|apply all_once | apply all_in; auto].
          rewrite total_const. unfold all. rewrite map_length, seq_length, INR_IZR_INZ, Z2Nat.id by lia.
          assert (e * m + m <= a + b); [|lra]. unfold m, Rmax at 1 2. destruct (Rle_dec 0 (1 - c)); nra.
      - apply Rle_trans with (total (fun x => m + (if (x =? i)%Z then a - m else 0) + (if (x =? j)%Z then b - m else 0)) all).
        + apply total_le. intros x Hx. apply inside_all in Hx. unfold weight. rewrite Hx. specialize (Hh x).
          destruct (Z.eqb_spec x i), (Z.eqb_spec x j); subst; try contradiction; nra.
        + rewrite (total_at j _ (fun x => m + (if (x =? i)%Z then a - m else 0))); [|apply all_once | apply all_in; auto].
          rewrite (total_at i _ (fun _ => m)); [|apply all_once | apply all_in; auto].
          rewrite total_const. unfold all. rewrite map_length, seq_length, INR_IZR_INZ, Z2Nat.id by lia. lra. }
    unfold answers_stick. fold W m a b. apply Rmult_le_reg_r with W; auto.
    replace (((a + b + (IZR number - 2) * m) / W + c * S h) * W) with (a + b + (IZR number - 2) * m + c * (S h * W))
      by (field; lra). lra.
  Qed.
End Answers.

Section Values.
Variable p : positive.
Let one : Z := (2 ^ Zpos p)%Z.
Local Notation u := (unit_of p).

(** e between two whole numbers of units. *)
Definition answers_value (low high number c : Z) : Z :=
  up_div ((Z.max 0 (high - c) + Z.max 0 (one - c * low / one) + (number - 2) * Z.max 0 (one - c)) * one)
    (low + (number - 1) * one).

Definition answers_values (epsilon : Q) (number : Z) (cs : list Z) : list Z :=
  match exponential p (of_Q p epsilon) with
  | (Some low, Some high) => mapped (answers_value (Z.max one low) high number) cs
  | _ => mapped (fun _ => one) cs
  end.

Lemma answers_right e low high number c : 1 <= e -> (2 <= number)%Z -> (0 <= c)%Z -> (one <= low)%Z ->
  IZR low <= e * u <= IZR high ->
  answers_stick e number (IZR c / u) * u <= IZR (answers_value low high number c).
Proof.
  intros He Hn Hc Hlow Hlh. pose proof (unit_pos p) as Hu. pose proof (one_pos p) as Ho. fold one in Ho.
  unfold answers_value, answers_stick. set (d := (low + (number - 1) * one)%Z). assert (Hd : (0 < d)%Z) by (unfold d; nia).
  apply IZR_le in Hc as Hc'. apply IZR_le in Hn as Hn'. apply IZR_le in Hlow as Hl. change (IZR one) with u in Hl.
  set (a := Z.max 0 (high - c)). set (b := Z.max 0 (one - c * low / one)). set (m := Z.max 0 (one - c)).
  pose proof (up_div_le ((a + b + (number - 2) * m) * one) d Hd) as D. set (v := up_div _ d) in *.
  assert (Ed : IZR d <= (e - 1 + IZR number) * u).
  { unfold d. rewrite plus_IZR, mult_IZR, minus_IZR. change (IZR one) with u. lra. }
  assert (A : Rmax 0 (e - IZR c / u) * u <= IZR a).
  { assert (0 <= IZR a) by (apply IZR_le; unfold a; lia).
    assert (IZR high - IZR c <= IZR a) by (rewrite <- minus_IZR; apply IZR_le; unfold a; lia).
    unfold Rmax. destruct Rle_dec; [|lra]. replace ((e - IZR c / u) * u) with (e * u - IZR c) by (field; lra). lra. }
  assert (B : Rmax 0 (1 - IZR c / u * e) * u <= IZR b).
  { assert (0 <= IZR b) by (apply IZR_le; unfold b; lia).
    assert (u - IZR (c * low / one) <= IZR b).
    { change u with (IZR one). rewrite <- minus_IZR. apply IZR_le. unfold b. lia. }
    unfold Rmax. destruct Rle_dec; [|lra]. replace ((1 - IZR c / u * e) * u) with (u - IZR c * e) by (field; lra).
    pose proof (div_le (c * low) one Ho) as L. rewrite mult_IZR in L. change (IZR one) with u in L.
    assert (IZR (c * low / one) <= IZR c * e); [|lra]. apply Rmult_le_reg_r with u; auto. nra. }
  assert (M : Rmax 0 (1 - IZR c / u) * u <= IZR m).
  { assert (0 <= IZR m) by (apply IZR_le; unfold m; lia).
    assert (u - IZR c <= IZR m) by (change u with (IZR one); rewrite <- minus_IZR; apply IZR_le; unfold m; lia).
    unfold Rmax. destruct Rle_dec; [|lra]. replace ((1 - IZR c / u) * u) with (u - IZR c) by (field; lra). lra. }
  rewrite mult_IZR, !plus_IZR, mult_IZR, minus_IZR in D. change (IZR one) with u in D.
  set (x := Rmax 0 (e - IZR c / u)) in *. set (y := Rmax 0 (1 - IZR c / u * e)) in *. set (z := Rmax 0 (1 - IZR c / u)) in *.
  assert (HW : 0 < e - 1 + IZR number) by lra. apply IZR_lt in Hd.
  assert (V0 : 0 <= IZR v).
  { assert (0 <= IZR a) by (apply IZR_le; unfold a; lia). assert (0 <= IZR b) by (apply IZR_le; unfold b; lia).
    assert (0 <= IZR m) by (apply IZR_le; unfold m; lia).
    assert (0 <= (IZR number - 2) * IZR m) by (apply Rmult_le_pos; lra).
    assert (0 <= (IZR a + IZR b + (IZR number - 2) * IZR m) * u) by (apply Rmult_le_pos; lra).
    apply Rnot_lt_le. intros N. assert (IZR v * IZR d < 0 * IZR d) by (apply Rmult_lt_compat_r; auto). lra. }
  apply Rmult_le_reg_r with ((e - 1 + IZR number) * u); [nra|].
  replace ((x + y + (IZR number - 2) * z) / (e - 1 + IZR number) * u * ((e - 1 + IZR number) * u))
    with ((x * u + y * u + (IZR number - 2) * (z * u)) * u) by (field; lra).
  apply Rle_trans with (IZR v * IZR d); [|apply Rmult_le_compat_l; auto]. apply Rle_trans with (2 := D).
  apply Rmult_le_compat_r; [lra|]. assert ((IZR number - 2) * (z * u) <= (IZR number - 2) * IZR m) by (apply Rmult_le_compat_l; lra).
  lra.
Qed.

Theorem answers_values_right epsilon number cs {A} (P Q : law A) : 0 <= Q2R epsilon -> (2 <= number)%Z ->
  answer_pair (exp (Q2R epsilon)) number P Q ->
  Forall (fun c => 0 <= c)%Z cs -> Forall2 (bounds p P Q) cs (answers_values epsilon number cs).
Proof.
  intros He Hn H Hcs. assert (HE : 1 <= exp (Q2R epsilon)) by (rewrite <- exp_0; apply exp_le; auto).
  unfold answers_values. pose proof (exponential_inside p _ _ (of_Q_inside p epsilon)) as [L U]. unfold above, below in L, U.
  destruct (exponential p (of_Q p epsilon)) as [[low|] [high|]]; rewrite mapped_map; cbn [fst snd] in *;
    induction Hcs as [|c cs Hc Hcs IH]; cbn [map]; constructor; auto; try (apply bounds_one; auto; fail).
  eapply bounds_scaled; [intros f Hf; apply (answer_pair_stick _ number HE Hn P Q f (IZR c / u) H Hf (factor p c Hc))|].
  apply answers_right; auto; [lia|]. split; auto. pose proof (unit_pos p).
  destruct (Z.max_spec one low) as [[_ ->]|[_ ->]]; auto. change (IZR one) with u. nra.
Qed.
End Values.
