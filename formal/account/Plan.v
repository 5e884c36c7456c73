(** Plans of releases, and what it means that a program follows one.

    Read this file, and account/Kinds.v, to judge `check_account_sound` (account/Check.v).  A plan says which releases
    there may be: of what kind, how many, and which units they read.  The order is free: a program may choose each
    release, and whatever it says in between, by all that was said before. *)
Require Import Reals ZArith QArith List Bool.
From DP.base Require Import Laws.
From DP Require Import Facts Definitions.
From DP.account Require Import Kinds.
Import ListNotations.

Record event := Event {
  what : Kinds.kind;
  limit : N;                                  (* at most so many releases *)
  cover : option (Z * Z)                      (* of units first..last; None: of all *)
}.

Record plan := Plan { between : relation; events : list event }.

Definition reads (e : event) (u : Z) : bool :=
  match cover e with None => true | Some (first, last) => (first <=? u)%Z && (u <=? last)%Z end.

Section Program.
  Context {record message : Type}.
  Context (asks : history message -> bool).                             (* where a release comes next, *)
  Context (draw : data record -> history message -> law message).      (* its law on every dataset, *)
  Context (event_of : history message -> nat).                         (* and which event of the plan it belongs to *)

  (** So many releases of event i are made up to the one after h. *)
  Fixpoint made (i : nat) (h : history message) : nat :=
    (if asks h && (event_of h =? i)%nat then 1 else 0) + match h with [] => 0 | _ :: before => made i before end.

  (** Datasets that differ in unit u alone: replaced, or there in the first one, or back in the second one. *)
  Definition differ (rel : relation) (w : way) (u : Z) (d d' : data record) : Prop :=
    only_at u d d' /\
    match rel, w with
    | ReplaceOne, _ => exists r r', d u = Some r /\ d' u = Some r'
    | AddRemove, There => exists r, d u = Some r /\ d' u = None
    | AddRemove, Back => exists r, d u = None /\ d' u = Some r
    | _, _ => False
    end.

  (** Every release belongs to an event that is not used up; its laws are a pair of the event's kind where the unit
      that differs is one that the event reads, and the same where it is not. *)
  Definition follows (p : plan) : Prop :=
    forall h, asks h = true -> exists e, nth_error (events p) (event_of h) = Some e /\
      (made (event_of h) h <= N.to_nat (limit e))%nat /\
      forall w u d d', differ (between p) w u d d' ->
        if reads e u then meets (what e) w (draw d h) (draw d' h) else same (draw d h) (draw d' h).
End Program.
