(** What holds of some neighbours holds of fewer, and of what is made from them. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String FunctionalExtensionality.
From DP.base Require Import Laws Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Bounds Powers Chance Costs Numbers Satisfies Lines Sound.
Import ListNotations.
Open Scope R_scope.

Section Maps.
  Context {message : Type}.
  Local Notation H := (history message).

  Lemma chance_equal (g : H -> bool) (k l k' l' : H -> law message) h p q :
    (forall h, g h = true -> k h = k' h /\ l h = l' h) -> chance g k l h p q -> chance g k' l' h p q.
  Proof. intros E. apply chance_same. intros h' Hh. destruct (E h' Hh) as [-> ->]. split; apply same_refl. Qed.

  Lemma satisfies_map {X X'} (near : X -> X -> Prop) (near' : X' -> X' -> Prop) (f : X' -> X)
      (draw : X -> H -> law message) (draw' : X' -> H -> law message) c asks (group : (H -> bool) -> Prop) :
    (forall x x', near' x x' -> near (f x) (f x')) ->
    (forall x h, asks h = true -> draw' x h = draw (f x) h) ->
    (forall g h, group g -> g h = true -> asks h = true) ->
    satisfies near draw c asks group -> satisfies near' draw' c asks group.
  Proof.
    intros HN HD HG. unfold satisfies.
    assert (A : forall (P : (H -> law message) -> (H -> law message) -> Prop) g, group g ->
      (forall k l k' l', (forall h, g h = true -> k h = k' h /\ l h = l' h) -> P k l -> P k' l') ->
      always near draw P -> always near' draw' P).
    { intros P g Hg HP HA x x' Hx. apply (HP (draw (f x)) (draw (f x'))); [|apply HA; auto].
      intros h Hh. rewrite !HD by eauto. auto. }
    assert (B : forall cost b g, group g -> always near draw (adds_up cost b g) -> always near' draw' (adds_up cost b g)).
    { intros cost b g Hg. apply (A _ g Hg). intros k l k' l' E [s [S1 [S2 S3]]]. exists s. repeat split; auto.
      intros h Hh. destruct (E h Hh) as [<- <-]. auto. }
    destruct c; intros HS.
    - intros g Hg. apply B; auto.
    - intros g Hg. apply (A _ g Hg); auto. intros k l k' l' E HA h p q HF HC. apply (HA h); auto.
      apply (chance_equal g k' l' k l); auto. intros h' Hh. destruct (E h' Hh); auto.
    - intros g Hg. apply B; auto.
    - intros g Hg. apply B; auto.
    - intros g Hg. destruct (HS g Hg) as [ideal HI]. exists (fun x => ideal (f x)). intros x x' Hx.
      destruct (HI _ _ (HN _ _ Hx)) as [c [t [H1 [H2 H3]]]]. exists c, t. split; [auto|split]; auto.
      intros h Hh. rewrite !HD by eauto. auto.
    - intros g Hg. apply B; auto.
    - intros x x' Hx. destruct (HS _ _ (HN _ _ Hx)) as [S [H1 [H2 H3]]]. exists S. split; [|split; auto].
      intros h Hh. rewrite !HD by auto. exact (H1 h Hh).
    - intros g Hg o b Hin. apply B; auto; apply (HS g Hg o b Hin).
  Qed.

  Lemma satisfies_fewer {X} (near near' : X -> X -> Prop) (draw : X -> H -> law message) c asks (group : (H -> bool) -> Prop) :
    (forall x x', near' x x' -> near x x') -> satisfies near draw c asks group -> satisfies near' draw c asks group.
  Proof.
    intros HN. unfold satisfies, always, nearly_gaussian. destruct c; intros HS; try (intros g Hg x x' Hx; apply (HS g Hg); auto).
    - intros g Hg. destruct (HS g Hg) as [ideal HI]. exists ideal. auto.
    - intros x x' Hx. apply HS; auto.
    - intros g Hg o b Hin x x' Hx. apply (HS g Hg o b Hin); auto.
  Qed.
End Maps.

(* ---------------------------------------------------------------- neighbours *)

Section Neighbours.
  Context {record : Type} (distance : record -> record -> R).
  Hypothesis symmetric : forall x y, distance x y = distance y x.
  Local Notation D := (data record).

  Lemma only_at_sym u (d d' : D) : only_at u d d' -> only_at u d' d.
  Proof. intros HO v Hv. symmetry; auto. Qed.

  Lemma steps_app next (n m : nat) : forall (a b c : D), steps next n a b -> steps next m b c -> steps next (n + m) a c.
  Proof.
    induction n as [|n IH]; simpl; intros a b c H1 H2.
    - subst; auto.
    - destruct H1 as [e [H0 H1]]. exists e. split; eauto.
  Qed.

  Lemma steps_sym (next : D -> D -> Prop) : (forall a b, next a b -> next b a) -> forall n a b, steps next n a b -> steps next n b a.
  Proof.
    intros HS. induction n as [|n IH]; simpl; intros a b Hs.
    - auto.
    - destruct Hs as [e [H0 H1]]. apply IH in H1.
      assert (H2 : steps next 1 e a) by (simpl; exists a; split; auto; destruct H0 as [->|H0]; auto).
      pose proof (steps_app next n 1 _ _ _ H1 H2) as H3. rewrite Nat.add_1_r in H3. exact H3.
  Qed.

  Lemma neighbours_sym rel : forall d d', neighbours distance rel d d' -> neighbours distance rel d' d.
  Proof.
    induction rel; simpl; auto.
    - intros d d' [u [r [r' [H1 [H2 H3]]]]]. exists u, r', r. auto using only_at_sym.
    - intros d d' [H1|H1]; auto.
    - intros d d' [u [r [r' [H1 [H2 [H3 H4]]]]]]. exists u, r', r. rewrite symmetric. auto using only_at_sym.
    - apply steps_sym; auto.
  Qed.
End Neighbours.

(* ---------------------------------------------------------------- lines of fewer neighbours *)

Section World.
  Variable W : world.

  Lemma private_fewer s c rel rel' o reads ds gone persons views :
    (forall d d', neighbours (distance W) rel' d d' -> neighbours (distance W) rel d d') ->
    (forall d d' : data (person W), neighbours (fun _ _ => 0) rel' d d' -> neighbours (fun _ _ => 0) rel d d') ->
    private_holds W s c rel o reads ds gone persons views -> private_holds W s c rel' o reads ds gone persons views.
  Proof.
    intros HN HN' [H1 [H2 H3]]. unfold private_holds. split; [auto|split; [auto|]].
    destruct reads as [[f l]|].
    - intros Hx. destruct (H3 Hx) as [G R]. split; auto. destruct persons; (eapply satisfies_fewer; [|exact G]; auto).
    - intros ov Hx. destruct (H3 ov Hx) as [G R]. split; auto. destruct persons; (eapply satisfies_fewer; [|exact G]; auto).
  Qed.
  (** A curve that follows from another one, of neighbours either way. *)
  Definition follows (c c' : curve) : Prop :=
    forall (X : Type) (near : X -> X -> Prop) (draw : X -> history (message W) -> law (message W)) asks (group : (history (message W) -> bool) -> Prop),
      (forall x x', near x x' -> near x' x) -> (forall g h, group g -> g h = true -> asks h = true) ->
      satisfies near draw c asks group -> satisfies near draw c' asks group.

  Lemma private_follows subject law law' rel o reads ds gone persons views : lawful W -> follows law law' ->
    private_holds W subject law rel o reads ds gone persons views -> private_holds W subject law' rel o reads ds gone persons views.
  Proof.
    intros HW F [HN [HV HP]]. unfold private_holds. split; [|split]; auto.
    - destruct reads as [[f l]|].
      + intros HE. destruct (HP HE) as [G R]. split; auto.
        assert (Hg : forall (g : history (message W) -> bool) h, g = of_draws W ds -> g h = true -> of_draws W ds h = true) by (intros; subst; auto).
        destruct persons; apply F; auto; apply neighbours_sym; auto; apply HW.
      + intros ov HE. destruct (HP ov HE) as [G R]. split; auto.
        assert (Hg : forall (g : history (message W) -> bool) h, (exists i, g = instance W (spread_over ov ds) i) -> g h = true -> of_draws W (spread_over ov ds) h = true).
        { intros g h [i ->]. apply instance_of_draws. }
        destruct persons; apply F; auto; apply neighbours_sym; auto; apply HW.
  Qed.
End World.
