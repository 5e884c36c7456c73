(** Permute-and-flip: outcomes in random order, each with a coin; the first one whose coin falls right is taken.

    Of outcomes with chances p, o is taken with chance p o · ∫ over v from 0 to 1 of the product of 1 - v · p j over
    all others j, by induction on their number.  Let scores move by a to a + r, and t = e^(how the highest moves), where
    all are moved by -a first: then t ≤ 1 and t · p' j ≤ p j for all j, so that the integral shrinks to t times itself
    at most, as substitution shows; and p o ≤ e^(rate · r) · t · p' o. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String.
From Coquelicot Require Import Hierarchy Continuity Derive RInt RInt_analysis AutoDerive.
From DP.base Require Import Laws Sums.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps Products.
From DP.noise Require Import Infer Releases Proofs Choices.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

(** The product of 1 - v · p j. *)
Definition missed (p : nat -> R) (S : list nat) (v : R) : R := fold_right (fun j rest => (1 - v * p j) * rest) 1 S.

Local Notation without j S := (remove Nat.eq_dec j S).

Lemma without_absent j S : ~ In j S -> without j S = S.
Proof. apply notin_remove. Qed.

Lemma without_nodup j S : NoDup S -> NoDup (without j S).
Proof.
  induction 1 as [|a S Ha HS IH]; simpl; [constructor|]. destruct (Nat.eq_dec j a); auto. constructor; auto.
  intros Hin. apply in_remove in Hin. tauto.
Qed.

Lemma without_length j S : NoDup S -> In j S -> List.length S = Datatypes.S (List.length (without j S)).
Proof.
  induction 1 as [|a S Ha HS IH]; simpl; [tauto|]. intros Hin. destruct (Nat.eq_dec j a) as [->|N].
  - rewrite without_absent; auto.
  - simpl. rewrite IH; auto. destruct Hin; congruence.
Qed.

Lemma without_swap i j S : without i (without j S) = without j (without i S).
Proof. apply remove_remove_comm. Qed.

Lemma total_without (f : nat -> R) j S : NoDup S -> In j S -> total f S = f j + total f (without j S).
Proof.
  induction 1 as [|a S Ha HS IH]; simpl; [tauto|]. intros Hin. destruct (Nat.eq_dec j a) as [->|N].
  - rewrite without_absent; auto.
  - simpl. rewrite IH by (destruct Hin; congruence). ring.
Qed.

Lemma missed_without p j S v : NoDup S -> In j S -> missed p S v = (1 - v * p j) * missed p (without j S) v.
Proof.
  induction 1 as [|a S Ha HS IH]; simpl; [tauto|]. intros Hin. destruct (Nat.eq_dec j a) as [->|N].
  - rewrite without_absent; auto.
  - simpl. rewrite IH by (destruct Hin; congruence). ring.
Qed.

Lemma missed_derive p S v : NoDup S ->
  is_derive (missed p S) v (- total (fun j => p j * missed p (without j S) v) S).
Proof.
  induction 1 as [|a S Ha HS IH].
  - simpl. rewrite Ropp_0. apply (is_derive_const 1).
  - assert (E : total (fun j => p j * missed p (without j (a :: S)) v) (a :: S)
      = p a * missed p S v + (1 - v * p a) * total (fun j => p j * missed p (without j S) v) S).
    { cbn [total]. f_equal.
      - simpl. destruct (Nat.eq_dec a a); [|congruence]. rewrite without_absent; auto.
      - rewrite <- total_scale. apply total_ext. intros j Hj.
        simpl. destruct (Nat.eq_dec j a) as [->|N]; [contradiction|]. simpl. ring. }
    rewrite E. replace (- _)
      with ((0 - 1 * p a) * missed p S v
        + (1 - v * p a) * (- total (fun j => p j * missed p (without j S) v) S)) by ring.
    apply (is_derive_mult (fun v => 1 - v * p a) (missed p S)); [|exact IH].
    auto_derive; auto; ring.
Qed.

Lemma missed_continuous p S v : NoDup S -> continuous (missed p S) v.
Proof. intros HS. apply (ex_derive_continuous (missed p S)). eexists. apply missed_derive; auto. Qed.

Definition area p S : R := RInt (missed p S) 0 1.

Lemma missed_integrable p S a b : NoDup S -> ex_RInt (missed p S) a b.
Proof. intros HS. apply (ex_RInt_continuous (missed p S)). intros z _. apply missed_continuous; auto. Qed.

Lemma total_integral (c : nat -> R) (f : nat -> R -> R) S : (forall j, In j S -> ex_RInt (f j) 0 1) ->
  is_RInt (fun v => total (fun j => c j * f j v) S) 0 1 (total (fun j => c j * RInt (f j) 0 1) S).
Proof.
  induction S as [|a S IH]; intros HI; simpl.
  - cut (is_RInt (fun _ : R => 0) 0 1 ((1 - 0) * 0)); [intros X; rewrite Rmult_0_r in X; exact X|].
    apply (is_RInt_const 0 1 (0 : R)).
  - apply (is_RInt_plus (fun v => c a * f a v)); [|apply IH; intros; apply HI; right; auto].
    apply (is_RInt_scal (f a)). apply (RInt_correct (V := R_CompleteNormedModule)). apply HI. left; auto.
Qed.

Lemma total_continuous (c : nat -> R) (f : nat -> R -> R) S v : (forall j, In j S -> continuous (f j) v) ->
  continuous (fun v => total (fun j => c j * f j v) S) v.
Proof.
  induction S as [|a S IH]; intros HC; simpl; [apply continuous_const|].
  apply (continuous_plus (fun v => c a * f a v)); [|apply IH; intros; apply HC; right; auto].
  apply (continuous_scal_r (c a) (f a)). apply HC. left; auto.
Qed.

Lemma area_correct p S : NoDup S -> is_RInt (missed p S) 0 1 (area p S).
Proof. intros HS. apply (RInt_correct (V := R_CompleteNormedModule)), missed_integrable; auto. Qed.

Lemma missed_zero p S : missed p S 0 = 1.
Proof. induction S; simpl; auto. rewrite IHS. ring. Qed.

(** What the integrals of a set and of the sets that lack one element have to do with each other. *)
Lemma area_step p S : NoDup S ->
  (INR (List.length S) + 1) * area p S = 1 + total (fun j => (1 - p j) * area p (without j S)) S.
Proof.
  intros HS.
  set (slope := fun v =>
    (INR (List.length S) + 1) * missed p S v - total (fun j => (1 - p j) * missed p (without j S) v) S).
  assert (D : forall v, is_derive (fun v => (v - 1) * missed p S v) v (slope v)).
  { intros v. replace (slope v)
      with (1 * missed p S v + (v - 1) * (- total (fun j => p j * missed p (without j S) v) S)).
    - apply (is_derive_mult (fun v => v - 1) (missed p S)); [|apply missed_derive; auto].
      auto_derive; auto; ring.
    - unfold slope. assert (E : INR (List.length S) * missed p S v
        = total (fun j => (1 - p j) * missed p (without j S) v + (1 - v) * (p j * missed p (without j S) v)) S).
      { rewrite <- total_const. apply total_ext. intros j Hj. rewrite (missed_without p j S v HS Hj). ring. }
      rewrite total_plus, total_scale in E. lra. }
  assert (A : is_RInt slope 0 1
    ((INR (List.length S) + 1) * area p S - total (fun j => (1 - p j) * area p (without j S)) S)).
  { apply (is_RInt_minus (fun v => (INR (List.length S) + 1) * missed p S v)).
    - apply (is_RInt_scal (missed p S)). apply area_correct; auto.
    - apply (total_integral (fun j => 1 - p j) (fun j => missed p (without j S))). intros j _.
      apply missed_integrable, without_nodup; auto. }
  assert (B : is_RInt slope 0 1 (Hierarchy.minus ((1 - 1) * missed p S 1) ((0 - 1) * missed p S 0))).
  { apply (is_RInt_derive (fun v => (v - 1) * missed p S v)); [intros v _; apply D|]. intros v _.
    apply (continuous_minus (fun v => (INR (List.length S) + 1) * missed p S v)).
    - apply (continuous_scal_r (INR (List.length S) + 1) (missed p S)). apply missed_continuous; auto.
    - apply (total_continuous (fun j => 1 - p j) (fun j => missed p (without j S))). intros j _.
      apply missed_continuous, without_nodup; auto. }
  apply (is_RInt_unique (V := R_CompleteNormedModule)) in A, B. rewrite A, missed_zero in B.
  unfold Hierarchy.minus, Hierarchy.plus, opp in B. simpl in B. lra.
Qed.

(** What the recursion of the mechanism gives. *)
Theorem flips_area p o : forall n rest, List.length rest = n -> NoDup rest -> In o rest ->
  permute_and_flip n p rest o = p o * area p (without o rest).
Proof.
  assert (Z : forall n rest, ~ In o rest -> permute_and_flip n p rest o = 0).
  { induction n as [|n IH]; intros rest Ho; simpl; auto. apply total_zero. intros j Hj.
    destruct (Nat.eqb_spec j o) as [->|N]; [contradiction|].
    rewrite IH; [ring|]. intros Hin. apply in_remove in Hin. tauto. }
  induction n as [|n IH]; intros rest HL HN Ho; [destruct rest; [destruct Ho | discriminate]|]. simpl.
  set (S := without o rest).
  assert (HS : NoDup S) by (apply without_nodup; auto).
  assert (LS : List.length S = n) by (pose proof (without_length o rest HN Ho); unfold S; lia).
  rewrite total_scale, (total_without _ o rest HN Ho). fold S.
  rewrite Nat.eqb_refl, Z by (intros Hin; apply in_remove in Hin; tauto).
  rewrite (total_ext _ (fun j => p o * ((1 - p j) * area p (without j S)))).
  - rewrite total_scale. pose proof (area_step p S HS) as A. rewrite LS in A. rewrite HL, S_INR.
    replace (p o + (1 - p o) * 0 + p o * total (fun j => (1 - p j) * area p (without j S)) S)
      with (p o * (1 + total (fun j => (1 - p j) * area p (without j S)) S)) by ring.
    rewrite <- A. field. pose proof (pos_INR n). lra.
  - intros j Hj. pose proof (in_remove _ _ _ _ Hj) as [Hj1 Hj2].
    destruct (Nat.eqb_spec j o) as [|_]; [congruence|]. rewrite IH; auto.
    + unfold S. rewrite (without_swap o j). ring.
    + pose proof (without_length j rest HN Hj1). lia.
    + apply without_nodup; auto.
    + apply in_in_remove; auto.
Qed.

(** One outcome comes out where one of them always does. *)
Theorem flips_sum p : forall n rest all, List.length rest = n -> NoDup rest -> NoDup all -> incl rest all ->
  (exists j, In j rest /\ p j = 1) -> total (permute_and_flip n p rest) all = 1.
Proof.
  induction n as [|n IH]; intros rest all HL HN HA HI [top [Ht Hp]]; [destruct rest; [destruct Ht | discriminate]|].
  simpl. rewrite total_swap.
  rewrite (total_ext _ (fun j => / INR (List.length rest))).
  - rewrite total_const. apply Rinv_r. rewrite HL. apply not_0_INR. lia.
  - intros j Hj. rewrite total_scale, total_plus, total_scale.
    assert (E : total (fun a => if (j =? a)%nat then p j else 0) all = p j).
    { rewrite (total_without _ j all HA (HI j Hj)), Nat.eqb_refl, total_zero; [ring|]. intros a Ha.
      apply in_remove in Ha. destruct (Nat.eqb_spec j a); intuition congruence. }
    rewrite E. destruct (Nat.eq_dec j top) as [->|N]; [rewrite Hp; ring|].
    rewrite IH; auto; [ring|..].
    + pose proof (without_length j rest HN Hj). lia.
    + apply without_nodup; auto.
    + intros a Ha. apply in_remove in Ha. apply HI. tauto.
    + exists top. split; auto. apply in_in_remove; auto.
Qed.

(* ---------------------------------------------------------------- chances that are near *)

Lemma missed_between p S v : 0 <= v <= 1 -> (forall j, In j S -> 0 <= p j <= 1) -> 0 <= missed p S v.
Proof.
  intros Hv. induction S as [|a S IH]; simpl; intros Hp; [lra|].
  apply Rmult_le_pos; auto. specialize (Hp a (or_introl eq_refl)). nra.
Qed.

Lemma missed_le p p' S v v' : (forall j, In j S -> 0 <= v' * p' j <= v * p j /\ v * p j <= 1) ->
  0 <= missed p S v <= missed p' S v'.
Proof.
  induction S as [|a S IH]; simpl; intros Hp; [lra|]. destruct (Hp a (or_introl eq_refl)).
  destruct IH; auto. split; [apply Rmult_le_pos | apply Rmult_le_compat]; lra.
Qed.

(** All chances are at least so many times smaller: the integral shrinks by no more. *)
Lemma area_shrunk p p' S t : NoDup S -> 0 <= t <= 1 ->
  (forall j, In j S -> 0 <= p j <= 1) -> (forall j, In j S -> 0 <= p' j <= 1) ->
  (forall j, In j S -> t * p' j <= p j) -> t * area p S <= area p' S.
Proof.
  intros HS Ht Hp Hp' Hle. unfold area.
  assert (C : RInt (missed p' S) 0 1 = RInt (missed p' S) 0 t + RInt (missed p' S) t 1).
  { symmetry. apply (RInt_Chasles (V := R_CompleteNormedModule)); apply missed_integrable; auto. }
  assert (N : 0 <= RInt (missed p' S) t 1).
  { apply RInt_ge_0; [lra | apply missed_integrable; auto|]. intros x Hx. apply missed_between; auto. lra. }
  assert (L : is_RInt (fun w => t * missed p' S (t * w + 0)) 0 1 (RInt (missed p' S) 0 t)).
  { apply (is_RInt_comp_lin (missed p' S) t 0 0 1).
    replace (t * 0 + 0) with 0 by ring. replace (t * 1 + 0) with t by ring.
    apply (RInt_correct (V := R_CompleteNormedModule)), missed_integrable; auto. }
  assert (K : is_RInt (fun w => t * missed p S w) 0 1 (t * RInt (missed p S) 0 1)).
  { apply (is_RInt_scal (missed p S)). apply area_correct; auto. }
  assert (t * RInt (missed p S) 0 1 <= RInt (missed p' S) 0 t); [|lra].
  apply (is_RInt_le _ _ 0 1 _ _ Rle_0_1 K L). intros w Hw. apply Rmult_le_compat_l; [lra|].
  apply missed_le. intros j Hj. specialize (Hp j Hj). specialize (Hp' j Hj). specialize (Hle j Hj). rewrite Rplus_0_r.
  assert (0 <= t * p' j) by (apply Rmult_le_pos; lra). split; [split|]; nra.
Qed.

Lemma flips_near p p' n o t r : (o < n)%nat -> 0 <= t <= 1 -> (forall j, (j < n)%nat -> 0 <= p j <= 1) ->
  (forall j, (j < n)%nat -> 0 <= p' j <= 1) -> (forall j, (j < n)%nat -> t * p' j <= p j) ->
  p o <= exp r * (t * p' o) ->
  permute_and_flip n p (seq 0 n) o <= exp r * permute_and_flip n p' (seq 0 n) o.
Proof.
  intros Ho Ht Hp Hp' Hle Hr. pose proof (seq_NoDup n 0) as HN.
  assert (Hin : In o (seq 0 n)) by (apply in_seq; lia).
  rewrite !flips_area by (auto; apply seq_length). pose proof (without_nodup o _ HN) as HS.
  assert (HI : forall j, In j (without o (seq 0 n)) -> (j < n)%nat).
  { intros j Hj. apply in_remove in Hj. destruct Hj as [Hj _]. apply in_seq in Hj. lia. }
  pose proof (area_shrunk p p' (without o (seq 0 n)) t HS Ht ltac:(auto) ltac:(auto) ltac:(auto)) as A.
  assert (A0 : 0 <= area p (without o (seq 0 n))).
  { apply RInt_ge_0; [lra | apply missed_integrable; auto|]. intros x Hx. apply missed_between; auto. lra. }
  set (a := area p _) in *. set (a' := area p' _) in *.
  apply Rle_trans with (exp r * (t * p' o) * a); [apply Rmult_le_compat_r; auto|].
  replace (exp r * (t * p' o) * a) with (exp r * p' o * (t * a)) by ring.
  replace (exp r * (p' o * a')) with (exp r * p' o * a') by ring.
  apply Rmult_le_compat_l; auto. apply Rmult_le_pos; [left; apply exp_pos | apply Hp'; auto].
Qed.

(* ---------------------------------------------------------------- scores *)

Lemma highest_above l x : In x l -> x <= highest l.
Proof.
  unfold highest. generalize (hd 0 l). intros z. induction l as [|a l IH]; simpl; [tauto|].
  intros [<-|Hx]; [apply Rmax_l | apply Rle_trans with (1 := IH Hx), Rmax_r].
Qed.

Lemma highest_in l : l <> [] -> In (highest l) l.
Proof.
  intros Hl. unfold highest. assert (G : forall z m, fold_right Rmax z m = z \/ In (fold_right Rmax z m) m).
  { intros z. induction m as [|a m IH]; simpl; auto.
    destruct (Rle_dec a (fold_right Rmax z m)); [rewrite Rmax_right by auto; tauto | rewrite Rmax_left by lra; auto]. }
  destruct (G (hd 0 l) l) as [->|]; auto. destruct l; [congruence | left; auto].
Qed.

Lemma highest_nth l : l <> [] -> exists j, (j < List.length l)%nat /\ nth j l 0 = highest l.
Proof. intros Hl. apply (In_nth l (highest l) 0 (highest_in l Hl)). Qed.

(** Outcomes whose chances grow with their scores. *)
Definition chosen (rate : R) (scores : list R) (j : nat) : R := exp (rate * (nth j scores 0 - highest scores)).
Definition taken_with (rate : R) (scores : list R) (o : nat) : R :=
  if (o <? List.length scores)%nat
  then permute_and_flip (List.length scores) (chosen rate scores) (seq 0 (List.length scores)) o else 0.

Lemma chosen_range rate l j : 0 < rate -> (j < List.length l)%nat -> 0 <= chosen rate l j <= 1.
Proof.
  intros Hr Hj. unfold chosen. split; [left; apply exp_pos|]. rewrite <- exp_0. apply exp_le.
  pose proof (highest_above l (nth j l 0) (nth_In l 0 Hj)). nra.
Qed.

Lemma taken_nonneg rate l o : 0 < rate -> 0 <= taken_with rate l o.
Proof.
  intros Hr. unfold taken_with. destruct (Nat.ltb_spec o (List.length l)) as [Ho|]; [|lra].
  rewrite flips_area; [|apply seq_length | apply seq_NoDup | apply in_seq; lia].
  pose proof (without_nodup o _ (seq_NoDup (List.length l) 0)) as HS.
  apply Rmult_le_pos; [left; apply exp_pos|].
  apply RInt_ge_0; [lra | apply missed_integrable; auto|]. intros x Hx. apply missed_between; [lra|]. intros j Hj.
  apply chosen_range; auto. apply in_remove in Hj. destruct Hj as [Hj _]. apply in_seq in Hj. lia.
Qed.

Lemma taken_sum rate l : 0 < rate -> l <> [] -> usum (taken_with rate l) = 1.
Proof.
  intros Hr Hl. destruct (usum_finite (taken_with rate l) (seq 0 (List.length l))) as [_ ->].
  - apply seq_NoDup.
  - intros o. apply taken_nonneg; auto.
  - intros o Ho. unfold taken_with. destruct (Nat.ltb_spec o (List.length l)); auto. exfalso. apply Ho, in_seq. lia.
  - rewrite (total_ext _ (permute_and_flip (List.length l) (chosen rate l) (seq 0 (List.length l)))).
    + apply flips_sum; auto using seq_length, seq_NoDup, incl_refl. destruct (highest_nth l Hl) as [j [Hj E]].
      exists j. split; [apply in_seq; lia|]. unfold chosen. rewrite E, Rminus_diag_eq, Rmult_0_r, exp_0; auto.
    + intros o Ho. apply in_seq in Ho. unfold taken_with. destruct (Nat.ltb_spec o (List.length l)); auto. lia.
Qed.

(** Where scores move by a, up to r and not below, chances change by rate · r at most. *)
Lemma taken_near rate l l' a r o : 0 < rate -> List.length l = List.length l' ->
  (forall j, (j < List.length l)%nat -> a <= nth j l 0 - nth j l' 0 <= a + r) ->
  taken_with rate l o <= exp (rate * r) * taken_with rate l' o.
Proof.
  intros Hr HL HD. unfold taken_with. rewrite <- HL. destruct (Nat.ltb_spec o (List.length l)) as [Ho|]; [|lra].
  assert (Hne : l' <> []) by (intros ->; rewrite HL in Ho; simpl in Ho; lia).
  apply (flips_near _ _ _ _ (exp (rate * (highest l' + a - highest l)))); auto.
  - split; [left; apply exp_pos|]. rewrite <- exp_0. apply exp_le. destruct (highest_nth l' Hne) as [j [Hj E]].
    rewrite <- HL in Hj. specialize (HD j Hj). pose proof (highest_above l (nth j l 0) (nth_In l 0 Hj)).
    rewrite E in HD. nra.
  - intros j Hj. apply chosen_range; auto.
  - intros j Hj. apply chosen_range; auto. rewrite <- HL. auto.
  - intros j Hj. specialize (HD j Hj). unfold chosen. rewrite <- exp_plus. apply exp_le. nra.
  - specialize (HD o Ho). unfold chosen. rewrite <- !exp_plus. apply exp_le. nra.
Qed.

Theorem permute_and_flip_sound : sound_rule "permute_and_flip".
Proof.
  intros s HR. destruct s; try discriminate HR. clear HR. intros W found n HW HH HM HF HT.
  one_query found l. inversion HH as [|? ? Hl HH0]. inversion HM as [|? ? Ml HM0]. subst. clear HH HH0 HM HM0.
  destruct (noise_line (ByPermuteAndFlip rate key) l n key (FlippedChoice rate) eq_refl HF)
    as [q [c [rel [o [reads [Hi ->]]]]]].
  cbn [infer noise] in Hi.
  destruct (says l) as [| | |q0 how b rel0 reads0| | | | | | | | | | |] eqn:Hs; try discriminate.
  destruct how; try discriminate.
  destruct (Steps.below 0 rate) eqn:Hc in Hi; [|discriminate].
  unfold drawn_on in Hi. injection Hi as <- <- <- <- <-. apply q_positive in Hc.
  pose proof (stable_line l _ _ _ _ _ Ml Hs) as Hb0.
  unfold holds in Hl. rewrite Hs in Hl.
  destruct reads0 as [[f0 l0]|]; [destruct Hl as [[E|E] _]; discriminate|].
  destruct Hl as [_ [Hstream Hstable]].
  assert (E : Q2R (times rate b) = Q2R rate * Q2R b) by apply times_R.
  assert (HE : 0 <= Q2R rate * Q2R b) by nra.
  split; [|apply drawn_once_well_made; auto; simpl; rewrite E; auto].
  destruct (HT key (Place q0 (changes l) (FlippedChoice rate) Once) (or_introl eq_refl)) as [Hsteady Hdrawn].
  cbn [query made how] in *. specialize (Hsteady Hstream).
  unfold holds; cbn [says drawn departed of_persons views].
  apply (once_holds W HW q0 (changes l) (FlippedChoice rate) key rel0 _ (@pure_cost) (Q2R rate * Q2R b));
    auto using pure_free.
  { intros X near draw asks group HA. rewrite <- E in HA. exact HA. }
  intros o Hplace h lab d d' Hlab Hkey Hd.
  pose proof (Hdrawn o Hplace h lab Hlab Hkey) as HD. pose proof (Hplace h lab Hlab Hkey) as Hp.
  pose proof (Hstable Hsteady (Definitions.key lab) (at_place lab) (Facts.over (at_place lab)) (index lab) h d d' Hd)
    as HL1.
  assert (HN : numbers_at W lab h
    = numbers_of W (Definitions.key lab) (at_place lab) q0 (changes l) (Facts.over (at_place lab)) (index lab) h).
  { unfold numbers_at. rewrite Hp. reflexivity. }
  rewrite <- HN in HL1. unfold within in HL1. set (numbers := numbers_at W lab h) in *.
  destruct HD as [P [HP HM]]. apply (made_pure W h _ P _ d d' HM).
  set (scores := fun e : data (record W) => map (fun c => c e) numbers).
  assert (Len : forall e, List.length (scores e) = List.length numbers) by (intros e; apply map_length).
  assert (HP' : forall e, proportional (taken_with (Q2R rate) (scores e)) (P e)).
  { intros e. unfold taken_with. rewrite Len. exact (HP e). }
  clear HP. assert (Hne : numbers <> []).
  { intros En. destruct (HP' d) as [HS [Hpos _]]. assert (usum (taken_with (Q2R rate) (scores d)) <= 0); [|lra].
    apply usum_least; auto. intros m _. right. apply total_zero. intros j _. unfold taken_with. rewrite Len, En. auto. }
  assert (Hne' : forall e, scores e <> []) by (intros e Es; apply map_eq_nil in Es; auto).
  assert (Hnd : differences W numbers d d' <> []) by (intros En; apply map_eq_nil in En; auto).
  destruct (least_move _ Hnd) as [a [Ha Hmin]].
  intros f Hf. apply (proportional_le _ _ _ _ _ ltac:(left; apply exp_pos) (HP' d) (HP' d')); auto.
  intros j. rewrite !taken_sum, !Rmult_1_r by auto. apply (taken_near _ _ _ a); auto.
  - rewrite !Len. auto.
  - intros i Hi. rewrite Len in Hi.
    assert (N : forall e, nth i (scores e) 0 = nth i numbers (fun _ => 0) e).
    { intros e. exact (map_nth (fun c : data (record W) -> R => c e) numbers (fun _ => 0) i). }
    rewrite !N. set (x := nth i numbers (fun _ => 0)).
    assert (Hin : In (x d - x d') (differences W numbers d d')).
    { apply in_map_iff. exists x. split; auto. apply nth_In; auto. }
    pose proof (Hmin _ Hin). pose proof (HL1 _ _ Hin Ha). lra.
Qed.
