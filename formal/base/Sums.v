(** Unordered sums of weights that are not negative, and the laws that are proportional to weights.

    The sum of f over a type is the least upper bound of its sums over finite lists without repetition:
    no order, no limit, and a change of names is a change of names. *)
Require Import Reals Lra Psatz List FinFun Classical FunctionalExtensionality.
From Coquelicot Require Import Rbar Lub.
From DP.base Require Import Laws.
Import ListNotations.
Open Scope R_scope.

Fixpoint total {A} (f : A -> R) (l : list A) : R :=
  match l with [] => 0 | a :: rest => f a + total f rest end.

Definition summable {A} (f : A -> R) :=
  (forall a, 0 <= f a) /\ exists M, forall l, NoDup l -> total f l <= M.

Definition usum {A} (f : A -> R) : R := real (Lub_Rbar (fun x => exists l, NoDup l /\ x = total f l)).

(** P is the law whose probabilities are proportional to these weights. *)
Definition proportional {A} (w : A -> R) (P : law A) :=
  summable w /\ 0 < usum w /\ forall f, test f -> P f * usum w = usum (fun a => w a * f a).

(* ---------------------------------------------------------------- finite sums *)

Lemma total_app {A} (f : A -> R) l m : total f (l ++ m) = total f l + total f m.
Proof. induction l; simpl; lra. Qed.

Lemma total_nonneg {A} (f : A -> R) l : (forall a, In a l -> 0 <= f a) -> 0 <= total f l.
Proof.
  induction l; simpl; intros; [lra|]. assert (0 <= f a) by auto. assert (0 <= total f l) by auto. lra.
Qed.

Lemma total_le {A} (f g : A -> R) l : (forall a, In a l -> f a <= g a) -> total f l <= total g l.
Proof.
  induction l; simpl; intros; [lra|]. assert (f a <= g a) by auto. assert (total f l <= total g l) by auto. lra.
Qed.

Lemma total_ext {A} (f g : A -> R) l : (forall a, In a l -> f a = g a) -> total f l = total g l.
Proof. induction l; simpl; intros; auto. rewrite (H a), IHl; auto. Qed.

Lemma total_plus {A} (f g : A -> R) l : total (fun a => f a + g a) l = total f l + total g l.
Proof. induction l; simpl; lra. Qed.

Lemma total_minus {A} (f g : A -> R) l : total (fun a => f a - g a) l = total f l - total g l.
Proof. induction l; simpl; lra. Qed.

Lemma total_scale {A} c (f : A -> R) l : total (fun a => c * f a) l = c * total f l.
Proof. induction l; simpl; lra. Qed.

Lemma total_zero {A} (f : A -> R) l : (forall a, In a l -> f a = 0) -> total f l = 0.
Proof. induction l; simpl; intros; auto. rewrite (H a), IHl; auto; lra. Qed.

Lemma total_const {A} c (l : list A) : total (fun _ => c) l = INR (length l) * c.
Proof. induction l; [simpl; lra|]. cbn [total length]. rewrite IHl, S_INR. lra. Qed.

Lemma total_map {A B} (g : A -> B) (f : B -> R) l : total f (map g l) = total (fun a => f (g a)) l.
Proof. induction l; simpl; auto. rewrite IHl; auto. Qed.

Lemma total_rev {A} (f : A -> R) l : total f (rev l) = total f l.
Proof. induction l; simpl; auto. rewrite total_app. simpl. lra. Qed.

Lemma total_swap {A B} (f : A -> B -> R) l m :
  total (fun a => total (f a) m) l = total (fun b => total (fun a => f a b) l) m.
Proof.
  induction l; simpl.
  - symmetry. apply total_zero. auto.
  - rewrite IHl, <- total_plus. reflexivity.
Qed.

Lemma total_incl {A} (f : A -> R) l m : (forall a, 0 <= f a) -> NoDup l -> incl l m -> total f l <= total f m.
Proof.
  intros Hf Hl. revert m. induction Hl as [|a l Ha Hl IH]; intros m Hm; simpl.
  - apply total_nonneg; auto.
  - destruct (in_split a m (Hm a (or_introl eq_refl))) as [m1 [m2 ->]].
    assert (total f l <= total f (m1 ++ m2)).
    { apply IH. intros b Hb. assert (In b (m1 ++ a :: m2)) by (apply Hm; right; auto).
      apply in_app_or in H. apply in_or_app. destruct H as [|[->|]]; auto. contradiction. }
    rewrite total_app in *. simpl. lra.
Qed.

Lemma list_total_in {A} (f : A -> R) l a : (forall a, 0 <= f a) -> In a l -> f a <= total f l.
Proof.
  intros Hf Ha. assert (total f [a] <= total f l).
  { apply total_incl; auto. constructor; [intros []|constructor]. intros b [<-|[]]; auto. }
  simpl in H. lra.
Qed.

(** Every list has the same elements without repetition. *)
Lemma without_repetition {A} (l : list A) : exists m, NoDup m /\ forall a, In a m <-> In a l.
Proof.
  induction l as [|a l [m [Hm IH]]].
  - exists []. split; [constructor|]. tauto.
  - destruct (classic (In a l)) as [Ha|Ha].
    + exists m. split; auto. intros b. rewrite IH. simpl. split; [tauto|]. intros [<-|]; auto.
    + exists (a :: m). split.
      * constructor; auto. rewrite IH; auto.
      * intros b. simpl. rewrite IH. tauto.
Qed.

(* ---------------------------------------------------------------- unordered sums *)

Lemma usum_lub {A} (f : A -> R) : summable f ->
  (forall l, NoDup l -> total f l <= usum f) /\ (forall M, (forall l, NoDup l -> total f l <= M) -> usum f <= M).
Proof.
  intros [Hf [M HM]]. unfold usum.
  set (S := fun x => exists l, NoDup l /\ x = total f l).
  destruct (Lub_Rbar_correct S) as [Hub Hleast].
  assert (HbM : Rbar_le (Lub_Rbar S) M).
  { apply Hleast. intros x [l [Hl ->]]. simpl. auto. }
  assert (Hb0 : Rbar_le 0 (Lub_Rbar S)).
  { apply Hub. exists []. split; [constructor|reflexivity]. }
  destruct (Lub_Rbar S) as [s| |]; simpl in *; try tauto. split.
  - intros l Hl. apply (Hub (total f l)). exists l. auto.
  - intros N HN. apply (Hleast N). intros x [l [Hl ->]]. simpl. auto.
Qed.

Lemma usum_ub {A} (f : A -> R) l : summable f -> NoDup l -> total f l <= usum f.
Proof. intros H. apply (usum_lub f H). Qed.

Lemma usum_least {A} (f : A -> R) M : summable f -> (forall l, NoDup l -> total f l <= M) -> usum f <= M.
Proof. intros H. apply (usum_lub f H). Qed.

Lemma usum_approx {A} (f : A -> R) t : summable f -> 0 < t -> exists l, NoDup l /\ usum f - t < total f l.
Proof.
  intros Hf Ht. apply NNPP. intros H.
  assert (usum f <= usum f - t); [|lra].
  apply usum_least; auto. intros l Hl. destruct (Rle_dec (total f l) (usum f - t)); auto.
  exfalso. apply H. exists l. split; auto. lra.
Qed.

Lemma usum_nonneg {A} (f : A -> R) : summable f -> 0 <= usum f.
Proof. intros H. apply (usum_ub f [] H). constructor. Qed.

Lemma usum_at {A} (f : A -> R) a : summable f -> f a <= usum f.
Proof.
  intros H. replace (f a) with (total f [a]) by (simpl; lra). apply usum_ub; auto.
  constructor; [intros []|constructor].
Qed.

Lemma summable_le {A} (f g : A -> R) : summable g -> (forall a, 0 <= f a <= g a) -> summable f.
Proof.
  intros [Hg [M HM]] H. split; [apply H|]. exists M. intros l Hl.
  apply Rle_trans with (total g l); auto. apply total_le. intros; apply H.
Qed.

Lemma usum_le {A} (f g : A -> R) : summable g -> (forall a, 0 <= f a <= g a) -> usum f <= usum g.
Proof.
  intros Hg H. apply usum_least; [eapply summable_le; eauto|]. intros l Hl.
  apply Rle_trans with (total g l); [apply total_le; intros; apply H | apply usum_ub; auto].
Qed.

Lemma summable_plus {A} (f g : A -> R) : summable f -> summable g -> summable (fun a => f a + g a).
Proof.
  intros [Hf [M HM]] [Hg [N HN]]. split.
  - intros a. specialize (Hf a). specialize (Hg a). lra.
  - exists (M + N). intros l Hl. rewrite total_plus. specialize (HM l Hl). specialize (HN l Hl). lra.
Qed.

Lemma usum_plus {A} (f g : A -> R) : summable f -> summable g ->
  usum (fun a => f a + g a) = usum f + usum g.
Proof.
  intros Hf Hg. pose proof (summable_plus f g Hf Hg) as Hfg. apply Rle_antisym.
  - apply usum_least; auto. intros l Hl. rewrite total_plus.
    pose proof (usum_ub f l Hf Hl). pose proof (usum_ub g l Hg Hl). lra.
  - apply le_epsilon. intros t Ht.
    destruct (usum_approx f (t / 2) Hf ltac:(lra)) as [l [Hl Hlf]].
    destruct (usum_approx g (t / 2) Hg ltac:(lra)) as [m [Hm Hmg]].
    destruct (without_repetition (l ++ m)) as [n [Hn Hin]].
    assert (total f l <= total f n).
    { apply total_incl; [apply Hf|auto|]. intros a Ha. apply Hin, in_or_app; auto. }
    assert (total g m <= total g n).
    { apply total_incl; [apply Hg|auto|]. intros a Ha. apply Hin, in_or_app; auto. }
    pose proof (usum_ub _ n Hfg Hn). rewrite total_plus in H1. lra.
Qed.

Lemma summable_scale {A} c (f : A -> R) : 0 <= c -> summable f -> summable (fun a => c * f a).
Proof.
  intros Hc [Hf [M HM]]. split.
  - intros a. specialize (Hf a). nra.
  - exists (c * M). intros l Hl. rewrite total_scale. specialize (HM l Hl). nra.
Qed.

Lemma usum_scale {A} c (f : A -> R) : 0 <= c -> summable f -> usum (fun a => c * f a) = c * usum f.
Proof.
  intros Hc Hf. pose proof (summable_scale c f Hc Hf) as Hs. apply Rle_antisym.
  - apply usum_least; auto. intros l Hl. rewrite total_scale. pose proof (usum_ub f l Hf Hl). nra.
  - destruct Hc as [Hc|<-].
    + apply Rmult_le_reg_l with (/ c); [apply Rinv_0_lt_compat; auto|].
      rewrite <- Rmult_assoc, Rinv_l, Rmult_1_l by lra. apply usum_least; auto. intros l Hl.
      pose proof (usum_ub _ l Hs Hl). rewrite total_scale in H.
      apply Rmult_le_reg_l with c; auto. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. auto.
    + rewrite Rmult_0_l. apply usum_nonneg; auto.
Qed.

Lemma usum_ext {A} (f g : A -> R) : (forall a, f a = g a) -> usum f = usum g.
Proof. intros H. f_equal. apply functional_extensionality; auto. Qed.

Lemma summable_ext {A} (f g : A -> R) : (forall a, f a = g a) -> summable f -> summable g.
Proof. intros H Hf. replace g with f; auto. apply functional_extensionality; auto. Qed.

(** A change of names that can be undone changes no sum. *)
Lemma summable_rename {A B} (f : A -> R) (to : B -> A) (back : A -> B) :
  (forall a, to (back a) = a) -> (forall b, back (to b) = b) -> summable f -> summable (fun b => f (to b)).
Proof.
  intros H1 H2 [Hf [M HM]]. split; auto. exists M. intros l Hl. rewrite <- total_map. apply HM.
  apply Injective_map_NoDup; auto. intros x y Hxy. rewrite <- (H2 x), <- (H2 y), Hxy; auto.
Qed.

Lemma usum_rename {A B} (f : A -> R) (to : B -> A) (back : A -> B) :
  (forall a, to (back a) = a) -> (forall b, back (to b) = b) -> summable f ->
  usum (fun b => f (to b)) = usum f.
Proof.
  intros H1 H2 Hf. pose proof (summable_rename f to back H1 H2 Hf) as Hg. apply Rle_antisym.
  - apply usum_least; auto. intros l Hl. rewrite <- total_map. apply usum_ub; auto.
    apply Injective_map_NoDup; auto. intros x y Hxy. rewrite <- (H2 x), <- (H2 y), Hxy; auto.
  - apply usum_least; auto. intros l Hl.
    replace (total f l) with (total (fun b => f (to b)) (map back l)).
    + apply usum_ub; auto. apply Injective_map_NoDup; auto.
      intros x y Hxy. rewrite <- (H1 x), <- (H1 y), Hxy; auto.
    + rewrite total_map. apply total_ext. intros a _. rewrite H1; auto.
Qed.

Lemma usum_finite {A} (f : A -> R) l : NoDup l -> (forall a, 0 <= f a) -> (forall a, ~ In a l -> f a = 0) ->
  summable f /\ usum f = total f l.
Proof.
  intros Hl Hf H0.
  assert (Hb : forall m, NoDup m -> total f m <= total f l).
  { intros m Hm. assert (exists n, NoDup n /\ incl n l /\ incl n m /\ total f m = total f n).
    { induction Hm as [|a m Ha Hm [n [Hn [Hin [Hnm He]]]]].
      - exists []. repeat split; [constructor | intros ? [] | intros ? []].
      - destruct (classic (In a l)) as [Hal|Hal].
        + exists (a :: n). repeat split.
          * constructor; auto.
          * intros b [<-|]; auto.
          * intros b [<-|]; [left; auto | right; auto].
          * simpl. lra.
        + exists n. repeat split; auto.
          * intros b Hb. right; auto.
          * simpl. rewrite (H0 a Hal). lra. }
    destruct H as [n [Hn [Hin [_ ->]]]]. apply total_incl; auto. }
  assert (Hs : summable f) by (split; eauto). split; auto. apply Rle_antisym.
  - apply usum_least; auto.
  - apply usum_ub; auto.
Qed.

(* ---------------------------------------------------------------- laws from weights *)

Lemma summable_test {A} (w f : A -> R) : summable w -> test f -> summable (fun a => w a * f a).
Proof.
  intros Hw Hf. apply summable_le with w; auto. intros a. specialize (Hf a). destruct Hw as [Hw _].
  specialize (Hw a). nra.
Qed.

(** Such a law is there. *)
Program Definition weighted {A} (w : A -> R) (Hw : summable w) (Hp : 0 < usum w) : law A :=
  {| E := fun f => usum (fun a => w a * f a) / usum w |}.
Next Obligation.
  unfold Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; auto|].
  apply usum_le; auto using summable_test. intros a. destruct Hw as [Hw0 _].
  specialize (Hw0 a). specialize (H a). specialize (H1 a). nra.
Qed.
Next Obligation.
  rewrite (usum_ext _ (fun a => c * w a)) by (intros; ring). rewrite usum_scale by auto. field. lra.
Qed.
Next Obligation.
  rewrite (usum_ext _ (fun a => w a * f a + w a * g a)) by (intros; ring).
  rewrite usum_plus by auto using summable_test. field. lra.
Qed.
Next Obligation.
  rewrite (usum_ext _ (fun a => c * (w a * f a))) by (intros; ring).
  rewrite usum_scale by auto using summable_test. field. lra.
Qed.

Lemma weighted_proportional {A} (w : A -> R) Hw Hp : proportional w (weighted w Hw Hp).
Proof. repeat split; auto; try apply Hw. intros f Hf. simpl. field. lra. Qed.

(** Two laws with weights on one type: what holds of the weights with one factor holds of the laws. *)
Lemma proportional_le {A} (w v : A -> R) (P Q : law A) c : 0 <= c ->
  proportional w P -> proportional v Q -> (forall a, w a * usum v <= c * (v a * usum w)) ->
  forall f, test f -> P f <= c * Q f.
Proof.
  intros Hc [Hw [Hw0 HP]] [Hv [Hv0 HQ]] H f Hf.
  assert (Hwv : usum (fun a => usum v * (w a * f a)) <= usum (fun a => c * usum w * (v a * f a))).
  { apply usum_le.
    - apply summable_scale; [nra | apply summable_test; auto].
    - intros a. specialize (H a). specialize (Hf a). destruct Hw as [Hw1 _]. specialize (Hw1 a). split.
      + apply Rmult_le_pos; nra.
      + apply Rmult_le_reg_r with 1; [lra|]. nra. }
  rewrite !usum_scale in Hwv; try (apply summable_test; auto); try nra.
  rewrite <- HP, <- HQ in Hwv by auto.
  apply Rmult_le_reg_r with (usum v * usum w); [nra|]. nra.
Qed.
