(** A claim on rows is a claim on persons, where each has at most one: what is learnt of a row is then what is learnt of
    its owner, who has another row, leaves, or is new. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz Bool String List.
From DP.base Require Import Laws.
From DP Require Import Facts Steps Definitions.
From DP.core Require Import Costs Reader RowsOfPersons.
From DP.check Require Import Certificate.
Import ListNotations.
Open Scope R_scope.

Section OneRow.
  Variable W : world.
  Context {one : Type}.
  Variables (rows_of : data one -> data (record W)) (place : Z -> Z) (rel : relation).
  Hypothesis mine : rows_of_persons 1 rel rows_of.
  Hypothesis simple : rel = ReplaceOne \/ rel = AddRemove.

  (** A person sees what is shown at the place of his row, which depends on nobody else. *)
  Hypothesis his_own : forall d d' p, d p = d' p -> rows_of d (place p) = rows_of d' (place p).

  Definition tables_of_owners : tables W := Tables W one (neighbours (fun _ _ => 0))
    (fun h d => actual W h (rows_of d)) (fun s p h d => shows W s (place p) h (rows_of d)).

  Lemma owners_seen views o (d d' : data one) h p q : seen W tables_of_owners views o d d' h p q ->
    seen W (tables_of_rows W) views o (rows_of d) (rows_of d') h p q.
  Proof.
    induction 1.
    - apply seen_bet; auto.
    - eapply seen_settle; eauto.
    - apply seen_toss; auto.
    - eapply seen_tell; eauto.
    - apply seen_say; auto.
    - apply (seen_next W (tables_of_rows W) views o (rows_of d) (rows_of d') h u v); auto.
    - apply (seen_look W (tables_of_rows W) views o (rows_of d) (rows_of d') s (place person) h u v); auto.
      match goal with A : _ \/ _ |- _ => destruct A as [A|A]; [left; exact A | right; apply his_own; exact A] end.
  Qed.

  (** Nothing is learnt of what is not there. *)
  Lemma alike_seen (T : tables W) views o d h p q : seen W T views o d d h p q -> p <= q.
  Proof. induction 1; try lra; try nra; try (apply E_mono; auto; fail). Qed.

  Theorem rows_are_persons views o e c : 0 <= e -> 0 <= c ->
    (forall x x' p q, near W (tables_of_rows W) rel x x' -> seen W (tables_of_rows W) views o x x' [] p q -> p <= exp e * q + c) ->
    forall x x' p q, near W tables_of_owners rel x x' -> seen W tables_of_owners views o x x' [] p q -> p <= exp e * q + c.
  Proof.
    intros He Hc HR x x' p q Hx Hs. apply owners_seen in Hs.
    assert (S : steps (neighbours (distance W) rel) 1 (rows_of x) (rows_of x')).
    { replace 1%nat with (Z.to_nat (steps_of_rows 1 rel rel)) by (unfold steps_of_rows; destruct simple as [-> | ->]; reflexivity).
      apply (steps_between_persons (distance W) rows_of 1 rel mine rel); auto. destruct simple as [-> | ->]; auto. }
    destruct S as [y [[<- | Hy] E]]; simpl in E.
    - rewrite E in Hs. pose proof (alike_seen _ _ _ _ _ _ _ Hs). destruct (seen_range _ _ _ _ _ _ _ _ _ Hs).
      assert (1 <= exp e) by (rewrite <- exp_0; apply exp_le; auto). nra.
    - subst y. apply (HR _ _ _ _ Hy Hs).
  Qed.
End OneRow.
