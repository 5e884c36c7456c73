(** Where every person has at most so many rows, that many steps of rows lead from one table to another in which one
    person has other rows, has left, or is new: what the hypothesis of the rule `persons` says of a program. *)
Require Import Reals QArith Qreals ZArith Lra Lia Bool String List FunctionalExtensionality.
From DP Require Import Facts Steps Definitions.
From DP.core Require Import Maps.
From DP.check Require Import Certificate.
Import ListNotations.
Open Scope R_scope.

(** Every row has an owner: it depends on nobody else, and is there only if its owner is.  A person has at most [most]
    rows; where rows are only replaced, he has all of his places filled. *)
Definition rows_of_persons {one row : Type} (most : Z) (rows : relation) (rows_of : data one -> data row) : Prop :=
  exists owner : Z -> Z,
    (forall d u, d (owner u) = None -> rows_of d u = None) /\
    (forall d d' u, d (owner u) = d' (owner u) -> rows_of d u = rows_of d' u) /\
    (forall d p, exists places, (Z.of_nat (length places) <= most)%Z /\
       forall u, owner u = p -> rows_of d u <> None -> In u places) /\
    (rows = ReplaceOne -> forall d u, d (owner u) <> None -> rows_of d u <> None).

(** Place by place a table becomes another one, if every such step is one. *)
Lemma steps_by_places {row} (next : data row -> data row -> Prop) after places : forall before,
  (forall d u, (forall v, d v = before v \/ d v = after v) ->
     d = (fun v => if (v =? u)%Z then after v else d v) \/ next d (fun v => if (v =? u)%Z then after v else d v)) ->
  (forall v, ~ In v places -> before v = after v) -> steps next (length places) before after.
Proof.
  induction places as [|u places IH]; intros before HS HE.
  - apply functional_extensionality. intros v. apply HE. auto.
  - exists (fun v => if (v =? u)%Z then after v else before v). split; [apply HS; auto|]. apply IH.
    + intros d w Hd. apply HS. intros v. destruct (Hd v) as [->|]; auto. destruct (v =? u)%Z; auto.
    + intros v Hv. destruct (Z.eqb_spec v u) as [->|N]; auto. apply HE. intros [E|E]; congruence.
Qed.

Lemma steps_more {row} (next : data row -> data row -> Prop) (n m : nat) a b :
  (n <= m)%nat -> steps next n a b -> steps next m a b.
Proof. intros Hn. revert a. induction Hn as [|m Hn IH]; auto. intros a Hs. exists a. split; auto. Qed.

Section Persons.
  Context {one row : Type} (distance : row -> row -> R) (rows_of : data one -> data row) (most : Z) (rows : relation).
  Hypothesis mine : rows_of_persons most rows rows_of.

  (** Rows leave one by one, where nothing comes in their place. *)
  Lemma rows_leave (d d' : data one) p : only_at p d d' -> d' p = None ->
    steps (neighbours distance AddRemove) (Z.to_nat most) (rows_of d) (rows_of d').
  Proof.
    intros Ho Hp. destruct mine as [owner [H1 [H2 [H3 _]]]]. destruct (H3 d p) as [places [Hl Hin]].
    apply steps_more with (n := length places); [lia|]. 
    assert (Out : forall v, owner v <> p -> rows_of d v = rows_of d' v) by (intros v Hv; apply H2, Ho; auto).
    assert (Gone : forall v, owner v = p -> rows_of d' v = None) by (intros v Hv; apply H1; congruence).
    assert (Some_row : forall v, rows_of d v = rows_of d' v \/ rows_of d' v = None).
    { intros v. destruct (Z.eq_dec (owner v) p); auto. }
    apply steps_by_places.
    - intros e u He. destruct (e u) as [r|] eqn:Eu.
      + destruct (He u) as [E|E].
        * destruct (Some_row u) as [F|F].
          -- left. apply functional_extensionality. intros v. destruct (Z.eqb_spec v u) as [->|]; congruence.
          -- right. left. exists u, r. repeat split; auto; [rewrite Z.eqb_refl; auto|].
             intros v Hv. destruct (Z.eqb_spec v u); congruence.
        * left. apply functional_extensionality. intros v. destruct (Z.eqb_spec v u) as [->|]; congruence.
      + left. apply functional_extensionality. intros v. destruct (Z.eqb_spec v u) as [->|]; auto.
        rewrite Eu. destruct (He u) as [E|E]; destruct (Some_row u) as [F|F]; congruence.
    - intros v Hv. destruct (Z.eq_dec (owner v) p) as [E|E]; auto. rewrite (Gone v E).
      destruct (rows_of d v) eqn:Ev; auto. exfalso. apply Hv, Hin; auto. congruence.
  Qed.

  (** Rows are replaced one by one, where all of them stay. *)
  Lemma rows_replaced (d d' : data one) p : rows = ReplaceOne -> only_at p d d' -> d p <> None -> d' p <> None ->
    steps (neighbours distance ReplaceOne) (Z.to_nat most) (rows_of d) (rows_of d').
  Proof.
    intros Hr Ho Hp Hp'. destruct mine as [owner [H1 [H2 [H3 H4]]]]. destruct (H3 d p) as [places [Hl Hin]].
    apply steps_more with (n := length places); [lia|].
    assert (Out : forall v, owner v <> p -> rows_of d v = rows_of d' v) by (intros v Hv; apply H2, Ho; auto).
    assert (Full : forall v, owner v = p -> rows_of d v <> None /\ rows_of d' v <> None).
    { intros v <-. split; apply H4; auto. }
    apply steps_by_places.
    - intros e u He. destruct (Z.eq_dec (owner u) p) as [E|E].
      + destruct (Full u E) as [F F']. destruct (rows_of d u) as [r|] eqn:Er; [|congruence].
        destruct (rows_of d' u) as [r'|] eqn:Er'; [|congruence].
        right. destruct (e u) as [r''|] eqn:Eu; [|destruct (He u); congruence].
        exists u, r'', r'. repeat split; auto; [rewrite Z.eqb_refl; auto|].
        intros v Hv. destruct (Z.eqb_spec v u); congruence.
      + left. apply functional_extensionality. intros v. destruct (Z.eqb_spec v u) as [->|]; auto.
        destruct (He u) as [-> | ->]; auto.
    - intros v Hv. destruct (Z.eq_dec (owner v) p) as [E|E]; auto. exfalso. apply Hv, Hin; auto. apply Full; auto.
  Qed.

  Theorem steps_between_persons rel d d' : 
    rel = ReplaceOne /\ (rows = ReplaceOne \/ rows = AddRemove) \/ rel = AddRemove /\ rows = AddRemove ->
    neighbours (fun _ _ => 0) rel d d' ->
    steps (neighbours distance rows) (Z.to_nat (steps_of_rows most rel rows)) (rows_of d) (rows_of d').
  Proof.
    assert (Hm : (0 <= most)%Z).
    { destruct mine as [owner [_ [_ [H3 _]]]]. destruct (H3 (fun _ => None) 0%Z) as [places [Hl _]]. lia. }
    assert (Back : forall n a b, steps (neighbours distance AddRemove) n a b -> steps (neighbours distance AddRemove) n b a).
    { intros n. apply steps_sym. intros a b [Hab|Hab]; [right | left]; auto. }
    assert (Sym : forall p (a b : data one), only_at p a b -> only_at p b a) by (intros p a b Hab v Hv; symmetry; auto).
    intros [[-> Hr]|[-> Hr]].
    - intros [p [r [r' [E1 [E2 Ho]]]]]. destruct Hr as [Hr|Hr]; rewrite Hr; unfold steps_of_rows; cbn [relation_eqb].
      + apply (rows_replaced d d' p); auto; congruence.
      + set (none := fun v => if (v =? p)%Z then None else d v : option one).
        replace (Z.to_nat (2 * most)) with (Z.to_nat most + Z.to_nat most)%nat by lia.
        apply steps_app with (b := rows_of none).
        * apply (rows_leave d none p); [|unfold none; rewrite Z.eqb_refl; auto].
          intros v Hv. unfold none. destruct (Z.eqb_spec v p); congruence.
        * apply Back, (rows_leave d' none p); [|unfold none; rewrite Z.eqb_refl; auto].
          intros v Hv. unfold none. destruct (Z.eqb_spec v p); [congruence|]. symmetry. apply Ho; auto.
    - rewrite Hr. unfold steps_of_rows. cbn [relation_eqb]. intros [[p [r [E1 [E2 Ho]]]]|[p [r [E1 [E2 Ho]]]]].
      + apply (rows_leave d d' p); auto.
      + apply Back, (rows_leave d' d p); auto.
  Qed.
End Persons.
