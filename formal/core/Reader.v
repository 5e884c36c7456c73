(** What the reader of a conclusion gets, in full: of a program that makes no other releases than the line's, each as
    the line says, whoever sees all releases and all that views show learns no more than (ε, δ).

    One theorem for both kinds of tables: of rows, of which one changes, and of persons, of whom one changes with all
    of his rows. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String FunctionalExtensionality.
From DP.base Require Import Laws.
From DP Require Import Facts Definitions.
From DP.core Require Import Chance Costs Satisfies Lines Sound.
From DP.composition Require Import Infer.
Import ListNotations.
Open Scope R_scope.

Section Reader.
  Variable W : world.
  Local Notation H := (history (message W)).

  (** A kind of tables: what a unit has in one, which of them are neighbours, what the program says after a history, and
      what views show to somebody.  The program runs as it is, with all departures. *)
  Record tables := Tables {
    record_of : Type;
    near : relation -> data record_of -> data record_of -> Prop;
    heard : H -> data record_of -> law (message W);
    shown_to : string -> Z -> H -> data record_of -> law (message W)
  }.

  Definition tables_of_rows : tables := Tables (record W) (neighbours (distance W)) (actual W) (shows W).

  (** Persons are replaced, added or removed: no distance is between them. *)
  Definition tables_of_persons : tables := Tables (person W) (neighbours (fun _ _ => 0))
    (fun h d => actual W h match next W h with Some l => table W l d | None => fun _ => None end) (shows_of W).

  Definition tables_of (persons : bool) : tables := if persons then tables_of_persons else tables_of_rows.

  Section Tables.
    Variable T : tables.
    Variables (views : list string) (o : observer) (d d' : data (record_of T)).

    (** As [chance], where the adversary hears whatever the program says next, be it a release or not, and may also look
        at what views show: freshly made after what was said so far, to everyone, or to persons whose data are the same. *)
    Inductive seen : H -> R -> R -> Prop :=
      | seen_bet h t : 0 <= t <= 1 -> seen h t t
      | seen_settle h p q p' q' : seen h p q -> 0 <= p' <= p -> q <= q' <= 1 -> seen h p' q'
      | seen_toss h p q p' q' t : 0 <= t <= 1 -> seen h p q -> seen h p' q' ->
          seen h (t * p + (1 - t) * p') (t * q + (1 - t) * q')
      | seen_tell h m p q : seen (m :: h) p q -> seen h p q
      | seen_say h (P : law (message W)) u v : test u -> test v -> (forall m, seen (m :: h) (u m) (v m)) -> seen h (P u) (P v)
      | seen_next h u v : test u -> test v -> (forall m, seen (m :: h) (u m) (v m)) ->
          seen h (heard T h d u) (heard T h d' v)
      | seen_look s person h u v : In s views -> (o = Central \/ d person = d' person) -> test u -> test v ->
          (forall m, seen (m :: h) (u m) (v m)) -> seen h (shown_to T s person h d u) (shown_to T s person h d' v).

    Lemma seen_range h p q : seen h p q -> 0 <= p <= 1 /\ 0 <= q <= 1.
    Proof. induction 1; try (split; auto using E_test; fail); auto; nra. Qed.
  End Tables.

  (** All releases that the program makes. *)
  Definition releases (h : H) : bool := match next W h with Some _ => true | None => false end.

  (** Where no release comes next, what is said does not depend on the data. *)
  Definition quiet := forall h d d', next W h = None -> same (actual W h d) (actual W h d').

  Lemma seen_chance (persons : bool) views o (d d' : data (record_of (tables_of persons))) h p q : quiet ->
    (forall s, In s views -> seen_by W o releases s) -> seen (tables_of persons) views o d d' h p q ->
    chance releases (fun h => heard (tables_of persons) h d) (fun h => heard (tables_of persons) h d') h p q.
  Proof.
    intros HQ HV. induction 1.
    - apply bet; auto.
    - eapply settle; eauto.
    - apply toss; auto.
    - eapply tell; eauto.
    - apply say; auto.
    - destruct (next W h) eqn:En.
      + apply (ask releases (fun h => heard (tables_of persons) h d) (fun h => heard (tables_of persons) h d') h u v); auto.
        unfold releases. rewrite En. auto.
      + assert (S : same (heard (tables_of persons) h d) (heard (tables_of persons) h d')) by (destruct persons; apply (HQ h); auto).
        rewrite (S u) by auto. apply say; auto.
    - assert (S : same (shown_to (tables_of persons) s person h d) (shown_to (tables_of persons) s person h d')).
      { match goal with I : In s views, A : _ \/ _ |- _ => specialize (HV s I); rename A into Ha end.
        destruct persons; destruct o; simpl in HV; destruct HV as [V V']; simpl; auto; destruct Ha as [Ha|Ha]; auto; discriminate. }
      rewrite (S u) by auto. apply say; auto.
  Qed.

  Variable l : line.
  Variables (subject : string) (e d : Q) (rel : relation) (o : observer) (reads : interval).
  Hypothesis lawfulness : lawful W.
  Hypothesis holding : holds W l.
  Hypothesis making : well_made l.
  Hypothesis saying : says l = Private subject (Approximate e d) rel o reads.
  Local Notation T := (tables_of (of_persons l)).

  (** Every release is one of the line's, on its place; so no key is drawn on two places.  Nothing else is told. *)
  Definition complete := (forall h lab, next W h = Some lab -> lookup (key lab) (drawn l) = Some (at_place lab)) /\ quiet.

  (** What is not counted as departing, does not. *)
  Definition steadfast := forall h lab x, next W h = Some lab -> ~ In (key lab) (departed l) ->
    same (actual W h x) (ideal W h x).

  Hypothesis completeness : complete.
  Hypothesis steadiness : steadfast.

  Lemma all_drawn h : releases h = true <-> of_draws W (drawn l) h = true.
  Proof.
    rewrite of_draws_spec. unfold releases. split.
    - destruct (next W h) as [lab|] eqn:E; [|discriminate]. intros _. exists lab.
      split; [auto | apply (proj1 completeness h lab E)].
    - intros [k [Hk _]]. rewrite Hk. auto.
  Qed.

  Lemma all_actual x h : releases h = true -> same (draw W (departed l) x h) (actual W h x).
  Proof.
    unfold releases, draw. destruct (next W h) as [lab|] eqn:E; [|discriminate]. intros _.
    destruct (existsb (String.eqb (key lab)) (departed l)) eqn:Ek; [apply same_refl|].
    apply same_sym, (steadiness h lab x E).
    intros Hin. assert (existsb (String.eqb (key lab)) (departed l) = true); [|congruence].
    apply existsb_exists. exists (key lab). split; auto. apply String.eqb_refl.
  Qed.

  Lemma all_exclusive : exclusive W (drawn l).
  Proof. intros h lab p Hl Hk. rewrite (proj1 completeness h lab Hl) in Hk. congruence. Qed.

  (** A line that may read any units is drawn once: its releases are one group. *)
  Lemma one_group : reads = None -> exclusive W (spread_over Once (drawn l)) /\
    instance W (spread_over Once (drawn l)) 0 = of_draws W (drawn l).
  Proof.
    intros Hr. destruct making as [_ [_ HM]]. rewrite saying in HM. destruct HM as [_ HM]. specialize (HM Hr).
    assert (E : alike_draws (spread_over Once (drawn l)) (drawn l)).
    { intros k. rewrite lookup_spread. destruct (lookup k (drawn l)) as [p|] eqn:Ek; auto.
      destruct (HM k p Ek) as [Ho _]. destruct p; simpl in *. congruence. }
    split.
    - apply (alike_exclusive W (drawn l)); [intros k; symmetry; apply E | apply all_exclusive].
    - apply functional_extensionality. intros h. rewrite (alike_instance W _ _ 0 E). apply bool_ext.
      rewrite instance_spec, of_draws_spec. split.
      + intros [lab [H1 [H2 _]]]. eauto.
      + intros [lab [H1 H2]]. exists lab. repeat split; auto. destruct (HM _ _ H2) as [Ho Hs].
        destruct lawfulness as [_ [_ [_ [_ [Hi _]]]]]. apply (Hi h lab); auto.
  Qed.

  Lemma all_heard {input} (close : input -> input -> Prop) (drawing actually : input -> H -> law (message W)) x x' :
    close x x' -> (forall y h, releases h = true -> same (drawing y h) (actually y h)) ->
    (exists group, satisfies close drawing (Approximate e d) (of_draws W (drawn l)) group /\ group (of_draws W (drawn l))) ->
    approximate (Q2R e) (Q2R d) releases (actually x) (actually x').
  Proof.
    intros Hx HA [group [S Hg]]. apply (approximate_ext _ _ (of_draws W (drawn l))).
    - intros h. apply bool_ext. symmetry. apply all_drawn.
    - apply (approximate_same _ _ _ (drawing x) (drawing x')).
      + intros h Hh. apply all_drawn in Hh. split; apply HA; auto.
      + exact (S _ Hg x x' Hx).
  Qed.

  Theorem reader x x' : near T rel x x' ->
    approximate (Q2R e) (Q2R d) releases (fun h => heard T h x) (fun h => heard T h x').
  Proof.
    intros Hx. pose proof holding as HH. unfold holds in HH. rewrite saying in HH. destruct HH as [_ [_ HH]].
    assert (G : exists group, group (of_draws W (drawn l)) /\
      if of_persons l then satisfies (neighbours (fun _ _ => 0) rel) (draw_of W (departed l)) (Approximate e d) (of_draws W (drawn l)) group
      else satisfies (neighbours (distance W) rel) (draw W (departed l)) (Approximate e d) (of_draws W (drawn l)) group).
    { pose proof one_group as HO. pose proof all_exclusive as HX. destruct reads as [[first last]|].
      - exists (fun g => g = of_draws W (drawn l)). split; auto. apply HH, HX.
      - destruct (HO eq_refl) as [HE HI]. exists (fun g => g = instance W (spread_over Once (drawn l)) 0).
        split; [auto|]. destruct (HH Once HE) as [S _].
        destruct (of_persons l); intros g ->; apply S; eauto. }
    clear HH. destruct G as [group [Hg S]]. destruct (of_persons l).
    - apply (all_heard _ (draw_of W (departed l)) (fun x h => heard tables_of_persons h x) x x' Hx); eauto.
      intros y h Hh. unfold draw_of, releases in *. simpl. destruct (next W h) eqn:En; [|discriminate].
      apply all_actual. unfold releases. rewrite En. auto.
    - apply (all_heard _ (draw W (departed l)) (fun x h => heard tables_of_rows h x) x x' Hx); eauto.
      intros y h Hh. apply all_actual; auto.
  Qed.

  (** Central: all views.  Joint and local: the views of all units but those in which the datasets differ. *)
  Theorem reader_sees x x' p q : near T rel x x' -> seen T (views l) o x x' [] p q ->
    p <= exp (Q2R e) * q + Q2R d.
  Proof.
    intros Hx Hs. apply (reader x x' Hx []); [intros m b [between E]; destruct between; discriminate|].
    apply (seen_chance (of_persons l) (views l) o); [apply completeness| |auto].
    intros s Hin. pose proof holding as HH. unfold holds in HH. rewrite saying in HH. destruct HH as [_ [HV _]].
    destruct (HV s Hin) as [_ Hb]. destruct o; auto.
  Qed.
End Reader.
