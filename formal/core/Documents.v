(** The checker that is extracted reads steps under the names of their rules, and accepts only what is derived:
    where all rules that a document names are sound, all that it says holds. *)
Require Import QArith ZArith Lia String List Bool.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Sound.
From DP.check Require Import Follow Json.
Import ListNotations.
Open Scope string_scope.
Open Scope list_scope.

(** A step is read under the name of its rule. *)
Theorem read_step_rule given name s : read_step given name = Some s -> rule_of s = name.
Proof.
  assert (C : forall (a b : option step) (c : bool), (if c then a else b) = Some s ->
    (c = true /\ a = Some s) \/ (c = false /\ b = Some s)) by (intros a b []; auto).
  intros H. unfold read_step, read_hypothesis, of_members, hypothesis_members in H.
  repeat match type of H with
  | (if String.prefix _ _ then _ else _) = Some _ => apply C in H; destruct H as [[_ H]|[_ H]]
  | (if (?n =? ?x) then _ else _) = Some _ => destruct (String.eqb_spec n x) as [->|]
  | (if (?a || ?b)%bool then _ else _) = Some _ =>
      destruct (String.eqb_spec name "assume_range") as [->|];
      [|destruct (String.eqb_spec name "assume_each") as [->|]];
      cbn [orb] in H
  | match ?x with _ => _ end = Some _ => destruct x; try discriminate H
  | Some _ = Some _ => injection H as <-
  end; try discriminate H; try reflexivity.
Qed.

Fixpoint json_eqb_eq a : forall b, json_eqb a b = true -> a = b.
Proof.
  destruct a as [|x|x|x|x|l|l]; intros [|y|y|y|y|m|m]; simpl; try discriminate; intros H.
  - reflexivity.
  - apply eqb_prop in H. congruence.
  - apply Z.eqb_eq in H. congruence.
  - apply String.eqb_eq in H. congruence.
  - apply String.eqb_eq in H. congruence.
  - f_equal. revert m H. induction l as [|a l IH]; intros [|b m] H; try discriminate; auto.
    apply andb_prop in H. destruct H as [H1 H2]. f_equal; auto.
  - f_equal. revert m H. induction l as [|[k a] l IH]; intros [|[k' b] m] H; try discriminate; auto.
    apply andb_prop in H. destruct H as [H H2]. apply andb_prop in H. destruct H as [H0 H1].
    apply String.eqb_eq in H0. f_equal; auto. f_equal; auto.
Qed.

Definition says_so (e : entry) (l : line) : Prop := wire (says l) = gives e.

Lemma checked_spec e lines size s n : checked e lines size = Some (s, n) ->
  rule_of s = rule e /\ says_so e n /\
  exists found, all_some (nth_line lines size) (before e) = Some found /\ follow s found = Some n.
Proof.
  unfold checked. destruct (_ && _)%bool; [|discriminate].
  destruct (read_step (witness e) (rule e)) as [s'|] eqn:Er; [|discriminate].
  destruct (all_some (nth_line lines size) (before e)) as [found|]; [|discriminate].
  destruct (follow s' found) as [n'|] eqn:Ef; [|discriminate].
  destruct (_ && _)%bool eqn:Ec; [|discriminate]. intros H. injection H as <- <-.
  apply andb_prop in Ec. destruct Ec as [_ Ec]. split; [eapply read_step_rule; eauto|].
  split; [apply json_eqb_eq; auto | eauto].
Qed.

Lemma check_entries_spec entries : forall size steps lines steps' lines',
  check_entries entries size steps lines = inl (steps', lines') -> exists new added,
    steps' = rev steps ++ new /\ lines' = rev added ++ lines /\ derived new size lines = Some lines' /\
    Forall2 says_so entries added /\ Forall2 (fun e s => rule_of (fst s) = rule e) entries new.
Proof.
  induction entries as [|e entries IH]; intros size steps lines steps' lines'; simpl.
  - intros H. injection H as <- <-. exists [], []. rewrite app_nil_r. repeat split; constructor.
  - destruct (checked e lines size) as [[s n]|] eqn:Ec; [|discriminate]. intros H.
    destruct (checked_spec _ _ _ _ _ Ec) as [Hr [Hs [found [Hf Hn]]]].
    destruct (IH _ _ _ _ _ H) as [new [added [-> [-> [Hd [H1 H2]]]]]].
    exists ((s, before e) :: new), (n :: added). simpl. rewrite <- !app_assoc. simpl. repeat split; auto.
    rewrite Hf, Hn. exact Hd.
Qed.

(** What the checker accepts is derived, step by step, by the rules that it names; and its lines say what it says. *)
Theorem check_document_derived entries steps lines : check_document entries = inl (steps, lines) ->
  derived steps 0 [] = Some lines /\ Forall2 says_so entries (rev lines) /\
  Forall2 (fun e s => rule_of (fst s) = rule e) entries steps.
Proof.
  unfold check_document. destruct (_ && _)%bool; [|discriminate]. intros H.
  destruct (check_entries_spec _ _ _ _ _ _ H) as [new [added [-> [-> [Hd [H1 H2]]]]]].
  rewrite app_nil_r in *. rewrite rev_involutive. simpl. auto.
Qed.

(** All that an accepted document says, holds of a program for which it takes for granted what is true. *)
Theorem check_document_sound W entries steps lines : lawful W -> check_document entries = inl (steps, lines) ->
  (forall e, In e entries -> sound_rule (rule e)) -> granted W steps 0 [] ->
  Forall2 (fun e l => says_so e l /\ holds W l) entries (rev lines).
Proof.
  intros HW HC HS HG. destruct (check_document_derived _ _ _ HC) as [Hd [Hsays Hrules]].
  assert (Hh : Forall (holds W) lines).
  { refine (derivation_sound W HW steps 0 [] _ (Forall_nil _) (Forall_nil _) HG lines Hd).
    intros s b Hin. clear - Hin HS Hrules. induction Hrules as [|e [s' b'] es ss Hr _ IH]; [destruct Hin|].
    destruct Hin as [H|H]; [|apply IH; auto; intros; apply HS; right; auto].
    injection H as -> ->. apply (HS e (or_introl eq_refl)). exact Hr. }
  apply Forall_rev in Hh. clear - Hsays Hh. induction Hsays; constructor.
  - inversion Hh; auto.
  - inversion Hh; auto.
Qed.
