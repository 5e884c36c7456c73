(** What the reader of a conclusion gets, in full: of a program that makes no other releases than the line's, each as
    the line says, whoever sees all releases and all that views show learns no more than (ε, δ). *)
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
  Local Notation D := (data (record W)).

  (** As [chance], where the adversary may also look at what views show: freshly made after what was said so far, to
      everyone, or to persons whose data are the same.  The program runs as it is, with all departures. *)
  Inductive seen (views : list string) (o : observer) (d d' : D) : H -> R -> R -> Prop :=
    | seen_bet h t : 0 <= t <= 1 -> seen views o d d' h t t
    | seen_settle h p q p' q' : seen views o d d' h p q -> 0 <= p' <= p -> q <= q' <= 1 -> seen views o d d' h p' q'
    | seen_toss h p q p' q' t : 0 <= t <= 1 -> seen views o d d' h p q -> seen views o d d' h p' q' ->
        seen views o d d' h (t * p + (1 - t) * p') (t * q + (1 - t) * q')
    | seen_tell h m p q : seen views o d d' (m :: h) p q -> seen views o d d' h p q
    | seen_say h (P : law (message W)) u v : test u -> test v -> (forall m, seen views o d d' (m :: h) (u m) (v m)) ->
        seen views o d d' h (P u) (P v)
    | seen_ask h u v : next W h <> None -> test u -> test v -> (forall m, seen views o d d' (m :: h) (u m) (v m)) ->
        seen views o d d' h (actual W h d u) (actual W h d' v)
    | seen_look s person h u v : In s views -> (o = Central \/ d person = d' person) -> test u -> test v ->
        (forall m, seen views o d d' (m :: h) (u m) (v m)) ->
        seen views o d d' h (shows W s person h d u) (shows W s person h d' v).

  (** All releases that the program makes. *)
  Definition releases (h : H) : bool := match next W h with Some _ => true | None => false end.

  Lemma seen_chance views o d d' h p q : (forall s, In s views -> seen_by W o releases s) ->
    seen views o d d' h p q -> chance releases (fun h => actual W h d) (fun h => actual W h d') h p q.
  Proof.
    intros HV. induction 1.
    - apply bet; auto.
    - eapply settle; eauto.
    - apply toss; auto.
    - eapply tell; eauto.
    - apply say; auto.
    - apply (ask releases (fun h => actual W h d) (fun h => actual W h d') h u v); auto.
      unfold releases. destruct (next W h); congruence.
    - assert (S : same (shows W s person h d) (shows W s person h d')).
      { match goal with I : In s views, A : _ \/ _ |- _ => specialize (HV s I); rename A into Ha end.
        destruct o; simpl in HV; destruct HV as [V _]; auto; destruct Ha as [Ha|Ha]; auto; discriminate. }
      rewrite (S u) by auto. apply say; auto.
  Qed.

  Variable l : line.
  Variables (subject : string) (e d : Q) (rel : relation) (o : observer) (reads : interval).
  Hypothesis lawfulness : lawful W.
  Hypothesis holding : holds W l.
  Hypothesis making : well_made l.
  Hypothesis saying : says l = Private subject (Approximate e d) rel o reads.
  Hypothesis of_rows : of_persons l = false.

  (** Every release is one of the line's, on its place; so no key is drawn on two places, and nothing else is told. *)
  Hypothesis complete : forall h lab, next W h = Some lab -> lookup (key lab) (drawn l) = Some (at_place lab).

  (** What is not counted as departing, does not. *)
  Hypothesis steadfast : forall h lab x, next W h = Some lab -> ~ In (key lab) (departed l) ->
    same (actual W h x) (ideal W h x).

  Lemma all_drawn h : releases h = true <-> of_draws W (drawn l) h = true.
  Proof.
    rewrite of_draws_spec. unfold releases. split.
    - destruct (next W h) as [lab|] eqn:E; [|discriminate]. intros _. exists lab.
      split; [auto | apply (complete h lab E)].
    - intros [k [Hk _]]. rewrite Hk. auto.
  Qed.

  Lemma all_actual x h : releases h = true -> same (draw W (departed l) x h) (actual W h x).
  Proof.
    unfold releases, draw. destruct (next W h) as [lab|] eqn:E; [|discriminate]. intros _.
    destruct (existsb (String.eqb (key lab)) (departed l)) eqn:Ek; [apply same_refl|].
    apply same_sym, (steadfast h lab x E).
    intros Hin. assert (existsb (String.eqb (key lab)) (departed l) = true); [|congruence].
    apply existsb_exists. exists (key lab). split; auto. apply String.eqb_refl.
  Qed.

  Lemma all_exclusive : exclusive W (drawn l).
  Proof. intros h lab p Hl Hk. rewrite (complete h lab Hl) in Hk. congruence. Qed.

  Theorem reader x x' : neighbours (distance W) rel x x' ->
    approximate (Q2R e) (Q2R d) releases (fun h => actual W h x) (fun h => actual W h x').
  Proof.
    intros Hx.
    assert (G : approximate (Q2R e) (Q2R d) (of_draws W (drawn l)) (draw W (departed l) x) (draw W (departed l) x')).
    { pose proof holding as HH. unfold holds in HH. rewrite saying in HH. destruct HH as [_ [_ HH]].
      rewrite of_rows in HH.
      destruct making as [_ [_ HM]]. rewrite saying in HM. destruct HM as [_ HM].
      destruct reads as [[first last]|].
      - destruct (HH all_exclusive) as [S _]. apply (S _ eq_refl); auto.
      - specialize (HM eq_refl). assert (E : alike_draws (spread_over Once (drawn l)) (drawn l)).
        { intros k. rewrite lookup_spread. destruct (lookup k (drawn l)) as [p|] eqn:Ek; auto.
          destruct (HM k p Ek) as [Ho _]. destruct p; simpl in *. congruence. }
        assert (HE : exclusive W (spread_over Once (drawn l))).
        { apply (alike_exclusive W (drawn l)); [intros k; symmetry; apply E | apply all_exclusive]. }
        destruct (HH Once HE) as [S _]. specialize (S _ (ex_intro _ 0%Z eq_refl) x x' Hx).
        apply (approximate_ext _ _ (instance W (spread_over Once (drawn l)) 0)); auto.
        intros h. rewrite (alike_instance W _ _ 0 E). apply bool_ext. rewrite instance_spec, of_draws_spec. split.
        + intros [lab [H1 [H2 _]]]. eauto.
        + intros [lab [H1 H2]]. exists lab. repeat split; auto. destruct (HM _ _ H2) as [Ho Hs].
          destruct lawfulness as [_ [_ [_ [_ [Hi _]]]]]. apply (Hi h lab); auto. }
    apply (approximate_ext _ _ (of_draws W (drawn l))).
    - intros h. apply bool_ext. symmetry. apply all_drawn.
    - apply (approximate_same _ _ _ (draw W (departed l) x) (draw W (departed l) x')); auto.
      intros h Hh. apply all_drawn in Hh. split; apply all_actual; auto.
  Qed.

  (** Central: all views.  Joint and local: the views of all persons but those in whom the datasets differ. *)
  Theorem reader_sees x x' p q : neighbours (distance W) rel x x' -> seen (views l) o x x' [] p q ->
    p <= exp (Q2R e) * q + Q2R d.
  Proof.
    intros Hx Hs. apply (reader x x' Hx []); [intros m b [between E]; destruct between; discriminate|].
    apply (seen_chance (views l) o); auto.
    intros s Hin. pose proof holding as HH. unfold holds in HH. rewrite saying in HH. destruct HH as [_ [HV _]].
    destruct (HV s Hin) as [_ Hb]. destruct o; auto.
  Qed.
End Reader.
