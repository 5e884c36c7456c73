(** Lines made of several others: their draws, what departs, and what the whole line needs. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String FunctionalExtensionality.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Bounds Powers Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.noise Require Import Infer.
From DP.composition Require Import Infer Compose.
From DP.conversions Require Import Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- draws of all parts *)

Lemma all_draws_lookup found : forall a ds, all_draws a found = Some ds ->
  (forall k p, lookup k a = Some p -> lookup k ds = Some p) /\
  (forall l, In l found -> forall k p, lookup k (drawn l) = Some p -> lookup k ds = Some p) /\
  (forall k p, lookup k ds = Some p -> lookup k a = Some p \/ exists l, In l found /\ lookup k (drawn l) = Some p) /\
  incl (map fst a) (map fst ds) /\ (forall l, In l found -> incl (map fst (drawn l)) (map fst ds)).
Proof.
  induction found as [|l found IH]; intros a ds HA; cbn [all_draws] in HA.
  - injection HA as <-. split; [auto|split; [intros ? []|split; [auto|split; [intros x; auto | intros ? []]]]].
  - destruct (merged a (drawn l)) as [b|] eqn:Em; [|discriminate].
    destruct (merged_lookup _ _ _ Em) as [M1 [M2 [M3 [M4 M5]]]]. destruct (IH b ds HA) as [I1 [I2 [I3 [I4 I5]]]].
    split; [auto|split; [|split; [|split]]].
    + intros l' [<-|Hl] k p Hk; [apply I1, M2; auto | apply (I2 l'); auto].
    + intros k p Hk. destruct (I3 k p Hk) as [Hb|[l' [Hl Hk']]].
      * destruct (M3 k p Hb); [auto | right; exists l; split; auto; left; auto].
      * right. exists l'. split; auto. right; auto.
    + intros k Hk. apply I4, M4; auto.
    + intros l' [<-|Hl] k Hk; [apply I4, M5; auto | apply (I5 l'); auto].
Qed.

Lemma gone_in found : forall g k, In k (fold_left union (map departed found) g) <-> In k g \/ exists l, In l found /\ In k (departed l).
Proof.
  induction found as [|l found IH]; intros g k; cbn [map fold_left].
  - split; [auto|]. intros [|[l [[] _]]]; auto.
  - rewrite IH, union_in. split.
    + intros [[Hk|Hk]|[l' [Hl Hk]]]; auto; right; [exists l | exists l']; split; auto; [left; auto | right; auto].
    + intros [Hk|[l' [[<-|Hl] Hk]]]; auto. right. exists l'. auto.
Qed.

Lemma same_table (found : list line) : (forallb (fun l => negb (of_persons l)) found || forallb of_persons found)%bool = true ->
  forall l, In l found -> of_persons l = existsb of_persons found.
Proof.
  intros HT l Hl. apply orb_true_iff in HT. destruct HT as [HT|HT]; rewrite forallb_forall in HT.
  - specialize (HT l Hl) as Hn. apply negb_true_iff in Hn. rewrite Hn. symmetry. apply not_true_is_false. intros E.
    apply existsb_exists in E. destruct E as [l' [Hl' E]]. specialize (HT l' Hl'). rewrite E in HT. discriminate.
  - rewrite (HT l Hl). symmetry. apply existsb_exists. eauto.
Qed.

(* ---------------------------------------------------------------- larger curves *)

(** At least as large in every number. *)
Definition covers_curve (a b : curve) : Prop :=
  match a, b with
  | Pure x, Pure y | Zcdp x, Zcdp y | Gdp x, Gdp y | BoundedRange x, BoundedRange y => Q2R x <= Q2R y
  | Approximate x d, Approximate y e | NearGdp x d, NearGdp y e => Q2R x <= Q2R y /\ Q2R d <= Q2R e
  | Renyi p, Renyi q => forall o y, In (o, y) q -> exists x, In (o, x) p /\ Q2R x <= Q2R y
  | _, _ => False
  end.

Lemma covers_trans a b c : covers_curve a b -> covers_curve b c -> covers_curve a c.
Proof.
  destruct a, b; simpl; try tauto; destruct c; simpl; try tauto; try lra.
  intros H1 H2 o y Hy. destruct (H2 o y Hy) as [x [Hx Hxy]]. destruct (H1 o x Hx) as [w [Hw Hwx]]. exists w. split; auto. lra.
Qed.

Lemma covers_refl a : amounts a <> None -> covers_curve a a.
Proof. destruct a; simpl; intros; try lra; try congruence. exists y. split; auto; lra. Qed.

Lemma combine_larger (p p' : list (Q * Q)) : list_eqb q_eqb (map fst p) (map fst p') = true ->
  forall o b, In (o, b) (combine (map fst p) (zip_with larger (map snd p) (map snd p'))) ->
  exists b1 b2, In (o, b1) p /\ In (o, b2) p' /\ b = larger b1 b2.
Proof.
  revert p'. induction p as [|[a x] p IH]; intros [|[a' x'] p'] E o b Hin; simpl in *; try tauto; try discriminate.
  apply andb_prop in E. destruct E as [E1 E2]. apply q_eqb_eq in E1. subst a'. destruct Hin as [Eq|Hin].
  - injection Eq as <- <-. eauto 10.
  - destruct (IH p' E2 o b Hin) as [b1 [b2 [B1 [B2 B3]]]]. eauto 10.
Qed.

Lemma joined_larger a b c : joined larger a b = Some c -> amounts c <> None /\ covers_curve a c /\ covers_curve b c /\
  (curve_sane a -> curve_sane b -> curve_sane c).
Proof.
  unfold joined. destruct (alike a b) eqn:E; [|discriminate].
  assert (L : forall x y, Q2R x <= Q2R (larger x y) /\ Q2R y <= Q2R (larger x y)).
  { intros x y. rewrite larger_R. split; [apply Rmax_l | apply Rmax_r]. }
  assert (P : forall x y, 0 <= Q2R x -> 0 <= Q2R (larger x y)) by (intros x y Hx; destruct (L x y); lra).
  destruct a, b; try discriminate; cbn [amounts zip_with rebuilt]; intros Hc.
  1-6: injection Hc as <-; cbn [curve_sane amounts covers_curve]; split; [congruence|]; split; [|split]; try (split; apply L); try apply L;
    intuition auto.
  simpl in E. destruct (_ =? _)%nat; [|discriminate]. injection Hc as <-. split; [simpl; congruence|]. split; [|split].
  - intros o y Hin. destruct (combine_larger _ _ E o y Hin) as [b1 [b2 [B1 [B2 ->]]]]. exists b1. split; auto. apply L.
  - intros o y Hin. destruct (combine_larger _ _ E o y Hin) as [b1 [b2 [B1 [B2 ->]]]]. exists b2. split; auto. apply L.
  - intros S1 S2 o y Hin. destruct (combine_larger _ _ E o y Hin) as [b1 [b2 [B1 [B2 ->]]]]. destruct (S1 o b1 B1). split; auto.
Qed.

Lemma satisfies_covers {M X} (near : X -> X -> Prop) (draw : X -> history M -> law M) a b asks group :
  curve_sane a -> covers_curve a b -> satisfies near draw a asks group -> satisfies near draw b asks group.
Proof.
  intros HA HC HS. destruct a, b; simpl in HC; try tauto; intros g Hg.
  - intros x x' Hx. apply (adds_up_more _ _ _ _ _ _ HC). apply (HS g Hg); auto.
  - intros x x' Hx. apply (approximate_more (Q2R epsilon) (Q2R delta)); try apply HC. apply (HS g Hg); auto.
  - intros x x' Hx. apply (adds_up_more _ _ _ _ _ _ HC). apply (HS g Hg); auto.
  - intros x x' Hx. apply (adds_up_more _ _ _ _ _ _ HC). apply (HS g Hg); auto.
  - destruct (HS g Hg) as [ideal HI]. exists ideal. intros x x' Hx.
    apply (near_pair_more (Q2R mu_squared) (Q2R distance)); try apply HC. apply (HI x x' Hx).
  - intros x x' Hx. destruct (HS g Hg x x' Hx) as [c [C1 [C2 C3]]]. exists c. repeat split; auto. intros h Hh.
    destruct (C2 h Hh) as [S|[H1 [e He]]]; [left; auto | right; split; auto]. exists e. intros f Hf. destruct (He f Hf) as [L U]. split; auto.
    apply Rle_trans with (1 := U). pose proof (E_test (draw x h) f Hf). apply Rmult_le_compat_r; [lra|]. apply exp_le. lra.
  - intros o y Hin x x' Hx. destruct (HC o y Hin) as [z [Hz Hle]]. apply (adds_up_more _ _ _ _ _ _ Hle). apply (HS g Hg o z Hz); auto.
Qed.

(** What can be brought about later can be from the start. *)
Lemma from_start {M} (g : history M -> bool) k l h p q : chance g k l h p q -> chance g k l [] p q.
Proof. induction h as [|m h IH]; auto. intros HC. apply IH. eapply tell; eauto. Qed.

(** Fewer releases, drawn as well. *)
Lemma satisfies_fewer_asks {M X} (near : X -> X -> Prop) (draw draw' : X -> history M -> law M) c g g' : amounts c <> None ->
  (forall h, g' h = true -> g h = true) -> (forall h x, g' h = true -> draw' x h = draw x h) ->
  satisfies near draw c g (only g) -> satisfies near draw' c g' (only g').
Proof.
  intros Hc Hg Hd HS. unfold satisfies, only in *.
  assert (A : forall cost b x x', adds_up cost b g (draw x) (draw x') -> adds_up cost b g' (draw' x) (draw' x')).
  { intros cost b x x' [s [S1 [S2 S3]]]. exists s. repeat split; auto. intros h Hh. rewrite !Hd by auto. auto. }
  destruct c; try (simpl in Hc; congruence); intros g0 ->.
  - intros x x' Hx. apply A, (HS g); auto.
  - intros x x' Hx h p q HF HC. assert (HC' : chance g' (draw x) (draw x') h p q).
    { apply (chance_equal g' (draw' x) (draw' x')); auto. }
    apply (HS g eq_refl x x' Hx []); [intros m b [y E]; destruct y; discriminate|].
    apply (chance_less g'); auto. apply (from_start g' (draw x) (draw x') h); auto.
  - intros x x' Hx. apply A, (HS g); auto.
  - intros x x' Hx. apply A, (HS g); auto.
  - destruct (HS g eq_refl) as [ideal HI]. exists ideal. intros x x' Hx. destruct (HI x x' Hx) as [c [t [H1 [H2 H3]]]].
    exists c, t. split; [auto|split; auto]. intros h Hh. rewrite !Hd by auto. auto.
  - intros x x' Hx. apply A, (HS g); auto.
  - intros o r Hin x x' Hx. apply A, (HS g eq_refl o r Hin); auto.
Qed.

(** What the fold of statements gives, the larger curve: every part has the whole's relation and observer, and a smaller curve. *)
Definition part_of (rel : relation) (o : observer) (total : curve) (reads : interval) (part : fact) : Prop :=
  exists s c r, part = Private s c rel o r /\ covers_curve c total /\
    match reads with
    | None => r = None
    | Some (f, l) => (f <= fst (reads_or r))%Z /\ (snd (reads_or r) <= l)%Z
    end.

Lemma together_larger sign : In sign [" + "; " | "; " or "]%string -> forall rest s c rel o reads gives, amounts c <> None ->
  together sign larger (Private s c rel o reads) rest = Some gives ->
  exists s' c' reads', gives = Private s' c' rel o reads' /\ amounts c' <> None /\
    Forall (part_of rel o c' reads') (Private s c rel o reads :: rest) /\
    (forall W, lawful W -> forall l, (exists p s'', In p (Private s c rel o reads :: rest) /\ subject_of p = s'' /\ names W s'' l = true) -> names W s' l = true) /\
    ((forall p, In p (Private s c rel o reads :: rest) -> match p with Private _ c _ _ _ => curve_sane c | _ => True end) -> curve_sane c').
Proof.
  intros Hsign. induction rest as [|p rest IH]; intros s c rel o reads gives Hc HT; cbn [together] in HT.
  - injection HT as <-. exists s, c, reads. split; [auto|split; [auto|split; [|split]]].
    + constructor; [|constructor]. exists s, c, reads. split; [auto|split; [apply covers_refl; auto|]].
      destruct reads as [[f l]|]; simpl; auto; lia.
    + intros W HW l [p [s'' [[<-|[]] [<- Hn]]]]. auto.
    + intros HS. apply (HS _ (or_introl eq_refl)).
  - destruct (both sign larger (Private s c rel o reads) p) as [acc|] eqn:Eb; [|discriminate].
    unfold both in Eb. destruct p as [s2 c2 rel2 o2 reads2| | | | | | | | | | | | | |]; try discriminate.
    destruct (relation_eqb rel rel2) eqn:Er; [|discriminate]. destruct (observer_eqb o o2) eqn:Eo; [|discriminate]. cbn [andb] in Eb.
    apply relation_eqb_eq in Er. apply observer_eqb_eq in Eo. subst rel2 o2.
    destruct (joined larger c c2) as [total|] eqn:Ej; [|discriminate]. injection Eb as <-.
    destruct (joined_larger _ _ _ Ej) as [J1 [J2 [J3 J4]]].
    destruct (IH _ _ _ _ _ _ J1 HT) as [s' [c' [reads' [-> [H1 [H2 [H3 H4]]]]]]].
    inversion H2 as [|? ? Hacc Hrest]; subst. destruct Hacc as [s0 [c0 [r0 [E0 [C0 R0]]]]]. injection E0 as <- <- <-.
    assert (HH : forall r, r = reads \/ r = reads2 -> match reads' with
        | None => r = None | Some (f, l) => (f <= fst (reads_or r))%Z /\ (snd (reads_or r) <= l)%Z end).
    { intros r Hr. destruct reads' as [[f l]|].
      - unfold hull, reads_or, anyone in *. generalize dependent (2 ^ 63)%Z. intros top R0.
        destruct reads as [[f1 l1]|], reads2 as [[f2 l2]|]; cbn [fst snd] in *; destruct Hr as [->| ->]; cbn [fst snd]; lia.
      - unfold hull in R0. destruct reads as [[]|], reads2 as [[]|]; try discriminate; destruct Hr; subst; auto. }
    exists s', c', reads'. split; [auto|split; [auto|split; [|split]]].
    + constructor; [|constructor; auto].
      * exists s, c, reads. split; [auto|split; [eapply covers_trans; eauto | apply HH; auto]].
      * exists s2, c2, reads2. split; [auto|split; [eapply covers_trans; eauto | apply HH; auto]].
    + intros W HW l [p [s'' [Hin [<- Hn]]]]. apply (H3 W HW).
      destruct Hin as [<-|[<-|Hin]].
      * eexists. eexists. split; [left; reflexivity|split; [reflexivity|]]. cbn [subject_of] in *.
        destruct HW as [_ [_ [_ [_ [_ [_ [_ [HN _]]]]]]]]. apply HN; auto.
      * eexists. eexists. split; [left; reflexivity|split; [reflexivity|]]. cbn [subject_of] in *.
        destruct HW as [_ [_ [_ [_ [_ [_ [_ [HN _]]]]]]]]. apply HN; auto.
      * exists p. eexists. split; [right; auto|split; [reflexivity | auto]].
    + intros HS. apply H4. intros p [<-|Hin].
      * apply J4; [apply (HS _ (or_introl eq_refl)) | apply (HS _ (or_intror (or_introl eq_refl)))].
      * apply (HS p). right. right. auto.
Qed.

Lemma amounts_part c cl : covers_curve cl c -> amounts cl <> None.
Proof. destruct cl, c; simpl; try tauto; congruence. Qed.

(* ---------------------------------------------------------------- the whole line *)

Section Whole.
  Variable W : world.
  Hypothesis HW : lawful W.
  Local Notation H := (history (message W)).

  Variables (parts : list line) (rels : line -> relation) (rel : relation) (o : observer) (c : curve) (reads : interval) (persons : bool).
  Hypothesis holding : Forall (holds W) parts.
  Hypothesis making : Forall well_made parts.
  Hypothesis tables : forall l, In l parts -> of_persons l = persons.
  Hypothesis saying : forall l, In l parts -> part_of (rels l) o c reads (says l).
  Variables (ds : draws) (gone : list string).
  Hypothesis of_parts : forall l, In l parts -> forall k p, lookup k (drawn l) = Some p -> lookup k ds = Some p.
  Hypothesis in_parts : forall k p, lookup k ds = Some p -> exists l, In l parts /\ lookup k (drawn l) = Some p.
  Hypothesis leaving : forall k, In k gone <-> exists l, In l parts /\ In k (departed l).

  Lemma key_parts l : In l parts -> incl (map fst (drawn l)) (map fst ds).
  Proof.
    intros Hl k Hk. apply in_lookup in Hk. destruct Hk as [p Hp]. apply of_parts with (l := l) in Hp; auto. apply lookup_in in Hp.
    apply in_map with (f := fst) in Hp. auto.
  Qed.

  Lemma whole_of_part l : In l parts -> exists s cl r, says l = Private s cl (rels l) o r /\ covers_curve cl c /\
    part W s cl (rels l) o r (drawn l) (departed l) persons (views l).
  Proof.
    intros Hl. destruct (saying l Hl) as [s [cl [r [E [HC _]]]]]. exists s, cl, r. split; [auto|split; [auto|]].
    rewrite <- (tables l Hl). rewrite Forall_forall in holding, making. apply line_part; auto; intros k; tauto.
  Qed.

  (** Every release of the whole is one of some part, drawn as that part says. *)
  Lemma some_part F : (forall a b h, (forall k p, lookup k a = Some p -> lookup k b = Some p) -> F a h = true -> F b h = true) ->
    (forall l h lab, F ds h = true -> next W h = Some lab -> In l parts -> In (key lab) (map fst (drawn l)) -> F (drawn l) h = true) ->
    (forall h, F ds h = true -> exists lab, next W h = Some lab /\ In (key lab) (map fst ds)) ->
    forall h, F ds h = true -> exists l, In l parts /\ F (drawn l) h = true /\ as_said W (departed l) gone h = true.
  Proof.
    intros _ HF HN h Hh. destruct (HN h Hh) as [lab [Hlab Hk]].
    assert (G : exists l, In l parts /\ In (key lab) (map fst (drawn l)) /\ (In (key lab) (departed l) <-> In (key lab) gone)).
    { destruct (in_dec string_dec (key lab) gone) as [Hg|Hg].
      - destruct (proj1 (leaving _) Hg) as [l [Hl Hd]]. exists l. split; [auto|split; [|tauto]].
        rewrite Forall_forall in making. destruct (making l Hl) as [_ [M _]]. apply M; auto.
      - apply in_lookup in Hk. destruct Hk as [p Hp]. destruct (in_parts _ _ Hp) as [l [Hl Hk]]. exists l. split; [auto|split].
        + apply lookup_in in Hk. apply in_map with (f := fst) in Hk. auto.
        + split; [|tauto]. intros Hd. exfalso. apply Hg, leaving. eauto. }
    destruct G as [l [Hl [Hk' E]]]. exists l. split; [auto|split; [apply (HF l h lab); auto|]].
    unfold as_said. rewrite Hlab. apply eqb_true_iff. apply bool_ext. rewrite !key_in_spec. auto.
  Qed.

  Lemma some_of_draws h : of_draws W ds h = true ->
    exists l, In l parts /\ of_draws W (drawn l) h = true /\ as_said W (departed l) gone h = true.
  Proof.
    apply (some_part (of_draws W)).
    - intros a b h' Hab Hh. apply of_draws_spec in Hh. apply of_draws_spec. destruct Hh as [lab [H1 H2]]. eauto.
    - intros l h' lab Hh Hlab Hl Hk. apply of_draws_spec in Hh. destruct Hh as [lab' [Hlab' Hk']]. rewrite Hlab in Hlab'. injection Hlab' as <-.
      apply in_lookup in Hk. destruct Hk as [p Hp]. apply of_draws_spec. exists lab. split; auto.
      rewrite Hp. rewrite <- Hk'. symmetry. apply (of_parts l Hl); auto.
    - intros h' Hh. apply of_draws_spec in Hh. destruct Hh as [lab [Hlab Hk]]. exists lab. split; auto.
      apply lookup_in in Hk. apply in_map with (f := fst) in Hk. auto.
  Qed.

  Lemma spread_parts ov l : In l parts -> forall k p, lookup k (spread_over ov (drawn l)) = Some p -> lookup k (spread_over ov ds) = Some p.
  Proof.
    intros Hl k p. rewrite !lookup_spread. destruct (lookup k (drawn l)) as [q|] eqn:E; [|discriminate]. rewrite (of_parts l Hl _ _ E). auto.
  Qed.

  Lemma some_instance ov i h : instance W (spread_over ov ds) i h = true ->
    exists l, In l parts /\ instance W (spread_over ov (drawn l)) i h = true /\ as_said W (departed l) gone h = true.
  Proof.
    apply (some_part (fun a => instance W (spread_over ov a) i)).
    - intros a b h' Hab Hh. apply instance_spec in Hh. apply instance_spec. destruct Hh as [lab [H1 [H2 H3]]]. exists lab. split; [auto|split; auto].
      rewrite lookup_spread in *. destruct (lookup (key lab) a) as [p|] eqn:E; [|discriminate]. rewrite (Hab _ _ E). auto.
    - intros l h' lab Hh Hlab Hl Hk. apply instance_spec in Hh. destruct Hh as [lab' [Hlab' [Hk' Hi]]]. rewrite Hlab in Hlab'. injection Hlab' as <-.
      rewrite <- (keys_spread ov) in Hk. apply in_lookup in Hk. destruct Hk as [p Hp]. apply instance_spec. exists lab. split; [auto|split; auto].
      rewrite Hp. rewrite <- Hk'. symmetry. apply (spread_parts ov l Hl); auto.
    - intros h' Hh. apply instance_spec in Hh. destruct Hh as [lab [Hlab [Hk _]]]. exists lab. split; auto.
      apply lookup_in in Hk. apply in_map with (f := fst) in Hk. rewrite keys_spread in Hk. auto.
  Qed.

  Hypothesis measured : amounts c <> None.
  Hypothesis sane : curve_sane c.
  Variable s : string.
  Hypothesis named : forall l, (exists p, In p parts /\ names W (subject_of (says p)) l = true) -> names W s l = true.

  (** All parts at once, where every one of them has been drawn as it says. *)
  Theorem whole_holds :
    (forall f l, reads = Some (f, l) -> exclusive W ds ->
       satisfied W persons rel gone c (of_draws W ds) (only (of_draws W ds))) ->
    (reads = None -> forall ov i, exclusive W (spread_over ov ds) ->
       satisfied W persons rel gone c (instance W (spread_over ov ds) i) (only (instance W (spread_over ov ds) i))) ->
    forall vs, (forall v, In v vs -> exists l, In l parts /\ In v (views l)) ->
    holds W (Line (Private s c rel o reads) ds [] Once gone persons vs) /\ well_made (Line (Private s c rel o reads) ds [] Once gone persons vs).
  Proof.
    intros HS HN vs Hvs.
    pose proof whole_of_part as WP. pose proof some_of_draws as SD. pose proof some_instance as SI. pose proof spread_parts as SP. pose proof key_parts as KP.
    assert (Hnone : reads = None -> forall k p, lookup k ds = Some p -> Facts.over p = Once /\ is_stream (made p) = false).
    { intros HR k p Hk. destruct (in_parts _ _ Hk) as [l [Hl Hk']]. destruct (saying l Hl) as [sl [cl [r [E [_ Hr]]]]].
      rewrite HR in Hr. subst r. rewrite Forall_forall in making. destruct (making l Hl) as [_ [_ M]]. rewrite E in M. apply (proj2 M eq_refl k p Hk'). }
    split.
    - unfold holds; cbn [says drawn departed of_persons views]. split; [|split].
      + intros h lab p Hlab Hk Hp. destruct (in_parts _ _ Hk) as [l [Hl Hk']]. apply named. exists l. split; auto.
        destruct (WP l Hl) as [sl [cl [r [E [_ [[HNm _] _]]]]]]. rewrite E. cbn [subject_of]. apply (HNm h lab p); auto.
      + intros v Hv. destruct (Hvs v Hv) as [l [Hl Hvl]]. destruct (WP l Hl) as [sl [cl [r [E [_ [[_ [HV _]] _]]]]]].
        destruct (HV v Hvl) as [Hi Ho]. split; [intros k Hk; apply (KP l Hl); auto|]. destruct o; exact Ho.
      + destruct reads as [[f la]|].
        * intros HE. split; [apply (HS f la); auto|]. split.
          -- intros Ho h Hh. destruct (SD h Hh) as [l [Hl [Hg _]]]. destruct (WP l Hl) as [sl [cl [r [E [HC P]]]]].
             assert (El : exclusive W (drawn l)) by (apply (exclusive_less W (drawn l) ds); [exact (of_parts l Hl) | exact HE]).
             destruct (whole_part W HW _ _ _ _ _ _ _ _ _ (amounts_part _ _ HC) P El) as [_ [L _]]. apply (L Ho h Hg).
          -- intros Hp h d d' Hh Ha. destruct (SD h Hh) as [l [Hl [Hg Hs]]]. destruct (WP l Hl) as [sl [cl [r [E [HC P]]]]].
             assert (El : exclusive W (drawn l)) by (apply (exclusive_less W (drawn l) ds); [exact (of_parts l Hl) | exact HE]).
             destruct (whole_part W HW _ _ _ _ _ _ _ _ _ (amounts_part _ _ HC) P El) as [_ [_ R]]. rewrite !(as_said_draw W _ _ _ Hs). apply R; auto.
             destruct (saying l Hl) as [sl' [cl' [r' [E' [_ [R1 R2]]]]]]. rewrite E in E'. injection E' as <- <- <-. intros u Hu. apply Ha. lia.
        * intros ov HE. split.
          -- change (satisfied W persons rel gone c (of_draws W (spread_over ov ds)) (fun g => exists i, g = instance W (spread_over ov ds) i)).
             unfold satisfied in *. destruct persons; (apply (satisfies_each _ _ _ _ _ measured); intros g [i ->];
               apply (satisfies_each _ _ _ _ _ measured); intros g' ->; apply (satisfies_each _ _ _ _ _ measured) with (1 := HN eq_refl ov i HE); reflexivity).
          -- intros Ho h Hh.
             assert (Hh' : exists i, instance W (spread_over ov ds) i h = true).
             { apply of_draws_spec in Hh. destruct Hh as [lab [Hlab Hk]]. exists (index lab). apply instance_spec. eauto. }
             destruct Hh' as [i Hi]. destruct (SI ov i h Hi) as [l [Hl [Hg _]]]. destruct (WP l Hl) as [sl [cl [r [E [HC P]]]]].
             destruct (saying l Hl) as [sl' [cl' [r' [E' [_ R1]]]]]. rewrite E in E'. injection E' as <- <- <-. cbv beta iota in R1. subst r.
             destruct P as [[_ [_ P]] _]. assert (El : exclusive W (spread_over ov (drawn l))) by (apply (exclusive_less W _ (spread_over ov ds)); [apply SP; auto | exact HE]).
             destruct (P ov El) as [_ L]. apply (L Ho h). apply instance_of_draws in Hg. auto.
    - unfold well_made; cbn [says drawn departed is_private]. split; [discriminate|]. split; [|auto].
      intros k Hk. apply leaving in Hk. destruct Hk as [l [Hl Hd]]. apply (KP l Hl). rewrite Forall_forall in making. apply (making l Hl); auto.
  Qed.
End Whole.
