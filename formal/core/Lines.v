(** Lines of a derivation: their draws, how they hold of the same releases under other names, and two put together. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String FunctionalExtensionality.
From DP.base Require Import Laws Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Bounds Powers Chance Costs Numbers Satisfies.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- partial functions *)

(** Take apart what an inference needed. *)
Ltac needed := repeat match goal with
  | H : (if ?b then _ else None) = Some _ |- _ => let E := fresh "Need" in destruct b eqn:E; [|discriminate H]
  | H : match ?x with Some _ => _ | None => None end = Some _ |- _ => let E := fresh "Some" in destruct x eqn:E; [|discriminate H]
  | H : match ?x with _ => _ end = Some _ |- _ => let E := fresh "Is" in destruct x eqn:E; try discriminate H
  | H : Some _ = Some _ |- _ => injection H; clear H; intros
  | H : (_ && _)%bool = true |- _ => apply andb_prop in H; destruct H
  end.

(* ---------------------------------------------------------------- draws *)

Lemma find_lookup k ds : find_place k ds = lookup k ds.
Proof. induction ds as [|[k' p] ds IH]; simpl; auto. rewrite IH. reflexivity. Qed.

Lemma lookup_in {A} k (ds : list (string * A)) p : lookup k ds = Some p -> In (k, p) ds.
Proof.
  induction ds as [|[k' p'] ds IH]; simpl; [discriminate|]. destruct (String.eqb_spec k k').
  - intros E. injection E as <-. subst. auto.
  - auto.
Qed.

Lemma in_lookup {A} k (ds : list (string * A)) : In k (map fst ds) -> exists p, lookup k ds = Some p.
Proof.
  induction ds as [|[k' p'] ds IH]; simpl; [tauto|]. intros Hin. destruct (String.eqb_spec k k'); eauto.
  destruct Hin; [congruence | auto].
Qed.

Lemma lookup_app {A} k (a b : list (string * A)) :
  lookup k (a ++ b) = match lookup k a with Some p => Some p | None => lookup k b end.
Proof. induction a as [|[k' p] a IH]; simpl; auto. destruct (String.eqb k k'); auto. Qed.

Lemma lookup_spread o k ds :
  lookup k (spread_over o ds) = match lookup k ds with Some p => Some (Place (query p) (made p) (how p) o) | None => None end.
Proof. induction ds as [|[k' p] ds IH]; simpl; auto. destruct (String.eqb k k'); auto. Qed.

Lemma spread_over_covers o ds : over_covers o ds = spread_over o ds.
Proof. reflexivity. Qed.

Lemma spread_twice o o' ds : spread_over o (spread_over o' ds) = spread_over o ds.
Proof. unfold spread_over. rewrite map_map. reflexivity. Qed.

Lemma keys_spread o ds : map fst (spread_over o ds) = map fst ds.
Proof. unfold spread_over. rewrite map_map. reflexivity. Qed.

Lemma merged_lookup b : forall a c, merged a b = Some c ->
  (forall k p, lookup k a = Some p -> lookup k c = Some p) /\
  (forall k p, lookup k b = Some p -> lookup k c = Some p) /\
  (forall k p, lookup k c = Some p -> lookup k a = Some p \/ lookup k b = Some p) /\
  incl (map fst a) (map fst c) /\ incl (map fst b) (map fst c).
Proof.
  induction b as [|[k' p'] b IH]; intros a c Hm; cbn [merged] in Hm.
  - injection Hm as <-. split; [auto|split; [discriminate|split; [auto|split; [intros x; auto | intros x []]]]].
  - rewrite find_lookup in Hm. destruct (lookup k' a) as [p''|] eqn:E.
    + destruct (place_eqb p' p'') eqn:Ep; [|discriminate]. apply place_eqb_eq in Ep. subst p''.
      destruct (IH a c Hm) as [H1 [H2 [H3 [H4 H5]]]]. repeat split; auto.
      * intros k p. simpl. destruct (String.eqb_spec k k'); [|auto]. subst. intros Eq. injection Eq as <-. auto.
      * intros k p Hk. simpl. destruct (H3 k p Hk) as [|Hb]; auto. destruct (String.eqb_spec k k'); auto.
        subst. left. rewrite (H1 _ _ E) in Hk. congruence.
      * intros k [<-|Hk]; auto. simpl. apply H4. apply lookup_in in E. apply in_map with (f := fst) in E. auto.
    + destruct (IH _ c Hm) as [H1 [H2 [H3 [H4 H5]]]]. repeat split.
      * intros k p Hk. apply H1. rewrite lookup_app, Hk. auto.
      * intros k p. simpl. destruct (String.eqb_spec k k'); [|auto]. subst. intros Eq. injection Eq as <-.
        apply H1. rewrite lookup_app, E. simpl. rewrite String.eqb_refl. auto.
      * intros k p Hk. destruct (H3 k p Hk) as [Ha|Hb].
        -- rewrite lookup_app in Ha. destruct (lookup k a); auto. right. simpl in *. destruct (String.eqb k k'); auto. discriminate.
        -- simpl. destruct (String.eqb_spec k k'); auto. subst. right.
           assert (lookup k' c = Some p'); [|congruence]. apply H1. rewrite lookup_app, E. simpl. rewrite String.eqb_refl. auto.
      * intros k Hk. apply H4. rewrite map_app. apply in_or_app. auto.
      * intros k [<-|Hk]; auto. apply H4. rewrite map_app. apply in_or_app. right. simpl. auto.
Qed.

Lemma merged_none a c : merged a [] = Some c -> c = a.
Proof. simpl. congruence. Qed.

Lemma union_in a b k : In k (union a b) <-> In k a \/ In k b.
Proof.
  unfold union. rewrite in_app_iff, filter_In. split; [tauto|]. intros [H|H]; auto.
  destruct (existsb (String.eqb k) a) eqn:E.
  - left. apply existsb_exists in E. destruct E as [x [Hx E]]. apply String.eqb_eq in E. congruence.
  - right. split; auto.
Qed.

Lemma key_in_spec k l : existsb (String.eqb k) l = true <-> In k l.
Proof.
  rewrite existsb_exists. split.
  - intros [x [Hx E]]. apply String.eqb_eq in E. congruence.
  - intros Hk. exists k. split; auto. apply String.eqb_refl.
Qed.

(* ---------------------------------------------------------------- releases *)

Section World.
  Variable W : world.
  Local Notation H := (history (message W)).
  Local Notation D := (data (record W)).

  Lemma of_draws_spec ds h : of_draws W ds h = true <-> exists l, next W h = Some l /\ lookup (key l) ds = Some (at_place l).
  Proof.
    unfold of_draws. split.
    - destruct (next W h) as [l|]; [|discriminate]. destruct (lookup (key l) ds) as [p|] eqn:E; [|discriminate].
      destruct (Definitions.place_dec p (at_place l)); [|discriminate]. intros _. exists l. split; auto. congruence.
    - intros [l [-> ->]]. destruct (Definitions.place_dec (at_place l) (at_place l)); auto.
  Qed.

  Lemma instance_spec ds i h : instance W ds i h = true <-> exists l, next W h = Some l /\ lookup (key l) ds = Some (at_place l) /\ index l = i.
  Proof.
    unfold instance. split.
    - intros E. apply andb_prop in E. destruct E as [E1 E2]. apply of_draws_spec in E1. destruct E1 as [l [Hl Hk]].
      rewrite Hl in E2. apply Z.eqb_eq in E2. eauto.
    - intros [l [Hl [Hk <-]]]. apply andb_true_iff. split; [apply of_draws_spec; eauto|]. rewrite Hl. apply Z.eqb_refl.
  Qed.

  Lemma instance_of_draws ds i h : instance W ds i h = true -> of_draws W ds h = true.
  Proof. unfold instance. intros E. apply andb_prop in E. tauto. Qed.

  Lemma bool_ext (a b : bool) : (a = true <-> b = true) -> a = b.
  Proof. destruct a, b; intros [H1 H2]; auto. symmetry; auto. Qed.

  Lemma of_draws_merged a b c h : merged a b = Some c -> of_draws W c h = (of_draws W a h || of_draws W b h)%bool.
  Proof.
    intros Hm. destruct (merged_lookup _ _ _ Hm) as [H1 [H2 [H3 _]]]. apply bool_ext. rewrite orb_true_iff, !of_draws_spec. split.
    - intros [l [Hl Hk]]. destruct (H3 _ _ Hk); [left|right]; eauto.
    - intros [[l [Hl Hk]]|[l [Hl Hk]]]; eauto.
  Qed.

  Lemma merged_spread o a b c : merged a b = Some c ->
    (forall k p, lookup k (spread_over o a) = Some p -> lookup k (spread_over o c) = Some p) /\
    (forall k p, lookup k (spread_over o b) = Some p -> lookup k (spread_over o c) = Some p) /\
    (forall k p, lookup k (spread_over o c) = Some p -> lookup k (spread_over o a) = Some p \/ lookup k (spread_over o b) = Some p).
  Proof.
    intros Hm. destruct (merged_lookup _ _ _ Hm) as [H1 [H2 [H3 _]]]. repeat split; intros k p; rewrite !lookup_spread.
    - destruct (lookup k a) as [q|] eqn:E; [|discriminate]. rewrite (H1 _ _ E). auto.
    - destruct (lookup k b) as [q|] eqn:E; [|discriminate]. rewrite (H2 _ _ E). auto.
    - destruct (lookup k c) as [q|] eqn:E; [|discriminate]. destruct (H3 _ _ E) as [->| ->]; auto.
  Qed.

  Lemma instance_merged o a b c i h : merged a b = Some c ->
    instance W (spread_over o c) i h = (instance W (spread_over o a) i h || instance W (spread_over o b) i h)%bool.
  Proof.
    intros Hm. destruct (merged_spread o _ _ _ Hm) as [H1 [H2 H3]]. apply bool_ext. rewrite orb_true_iff, !instance_spec. split.
    - intros [l [Hl [Hk Hi]]]. destruct (H3 _ _ Hk); [left|right]; eauto.
    - intros [[l [Hl [Hk Hi]]]|[l [Hl [Hk Hi]]]]; exists l; auto.
  Qed.

  Lemma exclusive_less a c : (forall k p, lookup k a = Some p -> lookup k c = Some p) -> exclusive W c -> exclusive W a.
  Proof. intros Ha HE h l p Hl Hk. apply (HE h l p Hl). auto. Qed.

  Lemma exclusive_in ds h l p : exclusive W ds -> next W h = Some l -> lookup (key l) ds = Some p -> of_draws W ds h = true.
  Proof. intros HE Hl Hk. apply of_draws_spec. exists l. split; auto. rewrite Hk. f_equal. apply (HE h l); auto. Qed.

  (* -------------------------------------------------------------- departures *)

  Lemma draw_same gone gone' d h :
    (forall l, next W h = Some l -> In (key l) gone <-> In (key l) gone') -> draw W gone d h = draw W gone' d h.
  Proof.
    intros E. unfold draw. destruct (next W h) as [l|]; auto. specialize (E l eq_refl).
    replace (existsb (String.eqb (key l)) gone') with (existsb (String.eqb (key l)) gone); auto.
    apply bool_ext. rewrite !key_in_spec. auto.
  Qed.

  Lemma draw_of_same gone gone' d h :
    (forall l, next W h = Some l -> In (key l) gone <-> In (key l) gone') -> draw_of W gone d h = draw_of W gone' d h.
  Proof.
    intros E. unfold draw_of. destruct (next W h) as [l|] eqn:El; apply draw_same; intros l' Hl; rewrite El in Hl; [|discriminate].
    injection Hl as <-. apply E; auto.
  Qed.
End World.
