(** The exact numbers of derivations as real numbers. *)
Require Import Reals QArith Qreals Qreduction ZArith Lra Lia Psatz List Bool.
From DP Require Import Facts Steps.
From DP.base Require Import Sums.
Import ListNotations.
Open Scope R_scope.

Lemma Q2R_red q : Q2R (Qred q) = Q2R q.
Proof. apply Qeq_eqR, Qred_correct. Qed.

Lemma plus_R a b : Q2R (plus a b) = Q2R a + Q2R b.
Proof. unfold plus. rewrite Q2R_red. apply Q2R_plus. Qed.

Lemma minus_R a b : Q2R (minus a b) = Q2R a - Q2R b.
Proof. unfold minus. rewrite Q2R_red. apply Q2R_minus. Qed.

Lemma times_R a b : Q2R (times a b) = Q2R a * Q2R b.
Proof. unfold times. rewrite Q2R_red. apply Q2R_mult. Qed.

Lemma over_R a b : Q2R b <> 0 -> Q2R (over a b) = Q2R a / Q2R b.
Proof.
  intros H. unfold over. rewrite Q2R_red. apply Q2R_div. intros E. apply H. rewrite (Qeq_eqR _ _ E). unfold Q2R; simpl; field.
Qed.

Lemma of_Z_R z : Q2R (of_Z z) = IZR z.
Proof. unfold of_Z, Q2R; simpl. field. Qed.

Lemma two_R : Q2R 2 = 2. Proof. unfold Q2R; simpl; field. Qed.
Lemma one_R : Q2R 1 = 1. Proof. unfold Q2R; simpl; field. Qed.
Lemma zero_R : Q2R 0 = 0. Proof. unfold Q2R; simpl; field. Qed.
Lemma four_R : Q2R 4 = 4. Proof. unfold Q2R; simpl; field. Qed.

Lemma le_R a b : Qle_bool a b = true <-> Q2R a <= Q2R b.
Proof. rewrite Qle_bool_iff. split; [apply Qle_Rle | apply Rle_Qle]. Qed.

Lemma below_R a b : below a b = true <-> Q2R a < Q2R b.
Proof.
  unfold below. rewrite negb_true_iff. split; intros H.
  - destruct (Rlt_dec (Q2R a) (Q2R b)) as [|N]; auto. exfalso.
    assert (Qle_bool b a = true) by (apply le_R; lra). congruence.
  - apply Bool.not_true_is_false. intros E. apply le_R in E. lra.
Qed.

Lemma eq_R a b : Qeq_bool a b = true <-> Q2R a = Q2R b.
Proof. rewrite Qeq_bool_iff. split; [apply Qeq_eqR | apply eqR_Qeq]. Qed.

Lemma larger_R a b : Q2R (larger a b) = Rmax (Q2R a) (Q2R b).
Proof.
  unfold larger. destruct (Qle_bool a b) eqn:E.
  - apply le_R in E. rewrite Rmax_right; auto.
  - rewrite Rmax_left; auto. destruct (Rle_dec (Q2R b) (Q2R a)); auto.
    assert (Qle_bool a b = true) by (apply le_R; lra). congruence.
Qed.

Lemma absolute_R a : Q2R (absolute a) = Rabs (Q2R a).
Proof.
  unfold absolute, Q2R; simpl. rewrite Rabs_mult, abs_IZR. f_equal. symmetry. apply Rabs_right.
  apply Rle_ge. left. apply Rinv_0_lt_compat, IZR_lt. lia.
Qed.

Lemma sum_of_R l : Q2R (sum_of l) = total Q2R l.
Proof.
  unfold sum_of. assert (forall a, Q2R (fold_left plus l a) = Q2R a + total Q2R l).
  { induction l; intros b; simpl; [lra|]. rewrite IHl, plus_R. lra. }
  rewrite H, zero_R. lra.
Qed.

Lemma largest_R l a : In a l -> Q2R a <= Q2R (largest l).
Proof.
  assert (G : forall l b, (Q2R b <= Q2R (fold_left larger l b)) /\ forall a, In a l -> Q2R a <= Q2R (fold_left larger l b)).
  { induction l0 as [|c l0 IH]; intros b; simpl; [split; [lra | tauto]|].
    destruct (IH (larger b c)) as [H1 H2]. rewrite larger_R in H1.
    pose proof (Rmax_l (Q2R b) (Q2R c)). pose proof (Rmax_r (Q2R b) (Q2R c)). split; [lra|].
    intros x [<-|Hx]; [lra | auto]. }
  destruct l as [|b l]; simpl; [tauto|]. destruct (G l b) as [H1 H2]. intros [<-|Ha]; auto.
Qed.

Lemma largest_in l : l <> [] -> In (largest l) l.
Proof.
  destruct l as [|b l]; [congruence|]. intros _. simpl. revert b.
  induction l as [|c l IH]; intros b; simpl; auto.
  destruct (IH (larger b c)) as [E|E]; auto. rewrite <- E. unfold larger. destruct (Qle_bool b c); auto.
Qed.

Lemma q_nonneg q : Qle_bool 0 q = true -> 0 <= Q2R q.
Proof. intros H. apply le_R in H. rewrite zero_R in H. auto. Qed.

Lemma q_positive q : below 0 q = true -> 0 < Q2R q.
Proof. intros H. apply below_R in H. rewrite zero_R in H. auto. Qed.
