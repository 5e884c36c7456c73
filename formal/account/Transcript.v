(** What an accepted plan says of all that a program says: `transcript_private`.

    `follows` (Plan.v) speaks of releases alone.  Of a program that says nothing of its data in between, whoever reads
    its first n messages, releases and others, learns at most (ε, δ). *)
Require Import Reals QArith Qreals Lra List Bool.
From DP.base Require Import Laws.
From DP Require Import Facts Definitions.
From DP.account Require Import Kinds Plan Check.
Import ListNotations.
Open Scope R_scope.

(** All that is said, n messages after h. *)
Fixpoint said {message} (n : nat) (draw : history message -> law message) (h : history message) : law (history message) :=
  match n with O => point h | S less => bind (draw h) (fun m => said less draw (m :: h)) end.

(** Where no release comes next, what is said does not depend on the data. *)
Definition quiet_between {record message} (asks : history message -> bool)
    (draw : data record -> history message -> law message) :=
  forall h, asks h = false -> forall d d', same (draw d h) (draw d' h).

Lemma said_chance {message} asks (k l : history message -> law message) :
  (forall h, asks h = false -> same (k h) (l h)) ->
  forall n h f, test f -> chance asks k l h (said n k h f) (said n l h f).
Proof.
  intros Q n. induction n as [|n IH]; intros h f Hf; cbn [said bind point E].
  - apply bet. apply Hf.
  - set (u := fun m => said n k (m :: h) f). set (v := fun m => said n l (m :: h) f).
    assert (Tu : test u) by (intros m; apply E_test; auto). assert (Tv : test v) by (intros m; apply E_test; auto).
    assert (Next : forall m, chance asks k l (m :: h) (u m) (v m)) by (intros m; apply IH; auto).
    destruct (asks h) eqn:Ha.
    + apply (ask asks k l h u v); auto.
    + change (chance asks k l h (k h u) (l h v)). rewrite <- (Q h Ha v Tv). apply (say asks k l h (k h) u v); auto.
Qed.

Theorem transcript_private par p epsilon delta : check_account par p epsilon delta = true ->
  forall record message (distance : record -> record -> R) (asks : history message -> bool)
    (draw : data record -> history message -> law message) (event_of : history message -> nat),
  follows asks draw event_of p -> quiet_between asks draw ->
  always (neighbours distance (between p)) draw (fun k l =>
    forall n f, test f -> said n k [] f <= exp (Q2R epsilon) * said n l [] f + Q2R delta).
Proof.
  intros Hc record message distance asks draw event_of Hf Q d d' Hn n f Tf.
  apply (check_account_sound par p epsilon delta Hc record message distance asks draw event_of Hf d d' Hn []).
  - intros m before [later E]. destruct later; discriminate E.
  - apply said_chance; auto.
Qed.
