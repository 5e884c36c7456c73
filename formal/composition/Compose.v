(** Releases on the same units, adaptively and interleaved: their costs add. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String FunctionalExtensionality.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Bounds Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.noise Require Import Infer Releases.
From DP.composition Require Import Infer.
From DP.conversions Require Import Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Definition only {M} (g : history M -> bool) : (history M -> bool) -> Prop := fun g' => g' = g.

Lemma satisfies_each {M X} (near : X -> X -> Prop) (draw : X -> history M -> law M) c asks (group : (history M -> bool) -> Prop) :
  amounts c <> None -> (satisfies near draw c asks group <-> forall g, group g -> satisfies near draw c g (only g)).
Proof.
  intros Hc. unfold satisfies, only. destruct c; try (simpl in Hc; congruence);
    (split; [intros HS g Hg g' ->; apply HS; auto | intros HS g Hg; apply (HS g Hg g); auto]).
Qed.

(* ---------------------------------------------------------------- two curves *)

Section Two.
  Context {M X : Type} (near : X -> X -> Prop) (draw draw1 draw2 : X -> history M -> law M).
  Variables g1 g2 g1' g2' : history M -> bool.
  Hypothesis H1 : forall h, g1' h = true -> g1 h = true /\ forall x, draw x h = draw1 x h.
  Hypothesis H2 : forall h, g2' h = true -> g2 h = true /\ forall x, draw x h = draw2 x h.
  Hypothesis H12 : forall h, (g1 h || g2 h)%bool = true -> (g1' h || g2' h)%bool = true.
  Let g := fun h => (g1 h || g2 h)%bool.

  Lemma adds_up_two cost b1 b2 x x' : grows_with cost ->
    adds_up cost b1 g1 (draw1 x) (draw1 x') -> adds_up cost b2 g2 (draw2 x) (draw2 x') ->
    adds_up cost (b1 + b2) g (draw x) (draw x').
  Proof.
    intros HG [c [C1 [C2 C3]]] [d [D1 [D2 D3]]].
    apply (adds_up_less cost (b1 + b2) g (fun h => g1' h || g2' h)%bool); [exact H12|]. apply adds_up_both; auto.
    - exists c. repeat split; auto. intros h Hh. destruct (H1 h Hh) as [E1 E2]. rewrite !E2. auto.
    - exists d. repeat split; auto. intros h Hh. destruct (H2 h Hh) as [E1 E2]. rewrite !E2. auto.
  Qed.

  Lemma approximate_two e1 d1 e2 d2 x x' :
    approximate e1 d1 g1 (draw1 x) (draw1 x') -> approximate e2 d2 g2 (draw2 x) (draw2 x') ->
    approximate (e1 + e2) (d1 + d2) g (draw x) (draw x').
  Proof.
    intros A1 A2 h p q HF HC. destruct (fresh_or _ _ _ HF) as [F1 F2].
    assert (G1 : excess g1' (draw x) (draw x') (exp e1) h <= d1).
    { apply excess_least. intros p' q' HC'. apply (A1 h); auto. apply (chance_less g1'); [intros; apply H1; auto|].
      apply (chance_equal g1' (draw x) (draw x')); auto. intros h' Hh'. destruct (H1 h' Hh') as [_ E]. rewrite !E. auto. }
    assert (G2 : excess g2' (draw x) (draw x') (exp e2) h <= d2).
    { apply excess_least. intros p' q' HC'. apply (A2 h); auto. apply (chance_less g2'); [intros; apply H2; auto|].
      apply (chance_equal g2' (draw x) (draw x')); auto. intros h' Hh'. destruct (H2 h' Hh') as [_ E]. rewrite !E. auto. }
    pose proof (chance_composed g1' g2' (draw x) (draw x') h p q (chance_less _ _ _ _ _ _ _ H12 HC) (exp e1) (exp e2)
      (Rlt_le _ _ (exp_pos e1)) (Rlt_le _ _ (exp_pos e2))).
    rewrite exp_plus. lra.
  Qed.

  Lemma near_two m1 d1 m2 d2 : nearly_gaussian near draw1 m1 d1 g1 -> nearly_gaussian near draw2 m2 d2 g2 ->
    nearly_gaussian near draw (m1 + m2) (d1 + d2) g.
  Proof.
    intros [i1 N1] [i2 N2]. exists (fun x h => if g1' h then i1 x h else i2 x h). intros x x' Hx.
    assert (P1 : near_pair m1 d1 g1' (draw x) (draw x') (i1 x) (i1 x')).
    { destruct (N1 x x' Hx) as [c [t [A [B C]]]]. exists c, t. split; [exact A|split; [|exact C]].
      intros h Hh. destruct (H1 h Hh) as [E1 E2]. rewrite !E2. auto. }
    assert (P2 : near_pair m2 d2 g2' (draw x) (draw x') (i2 x) (i2 x')).
    { destruct (N2 x x' Hx) as [c [t [A [B C]]]]. exists c, t. split; [exact A|split; [|exact C]].
      intros h Hh. destruct (H2 h Hh) as [E1 E2]. rewrite !E2. auto. }
    destruct (near_pair_less _ _ _ g _ _ _ _ H12 (near_pair_both _ _ _ _ _ _ _ _ _ _ _ _ P1 P2)) as [c [t [A [B C]]]].
    exists c, t. auto.
  Qed.
End Two.

Lemma combine_plus (p p' : list (Q * Q)) : list_eqb q_eqb (map fst p) (map fst p') = true ->
  forall o b, In (o, b) (combine (map fst p) (zip_with plus (map snd p) (map snd p'))) ->
  exists b1 b2, In (o, b1) p /\ In (o, b2) p' /\ b = plus b1 b2.
Proof.
  revert p'. induction p as [|[a x] p IH]; intros [|[a' x'] p'] E o b Hin; simpl in *; try tauto; try discriminate.
  apply andb_prop in E. destruct E as [E1 E2]. apply q_eqb_eq in E1. subst a'. destruct Hin as [Eq|Hin].
  - injection Eq as <- <-. eauto 10.
  - destruct (IH p' E2 o b Hin) as [b1 [b2 [B1 [B2 B3]]]]. eauto 10.
Qed.

Lemma joined_cases a b c : joined plus a b = Some c -> amounts c <> None /\ amounts a <> None /\ amounts b <> None /\
  (curve_sane a -> curve_sane b -> curve_sane c).
Proof.
  unfold joined. destruct (alike a b) eqn:E; [|discriminate].
  destruct a, b; try discriminate; cbn [amounts zip_with rebuilt]; intros Hc.
  1-6: injection Hc as <-; cbn [curve_sane amounts]; rewrite ?plus_R; repeat split; try congruence; lra.
  simpl in E. destruct (_ =? _)%nat; [|discriminate]. injection Hc as <-. split; [simpl; congruence|split; [simpl; congruence|split; [simpl; congruence|]]].
  intros S1 S2 o b Hin. destruct (combine_plus _ _ E o b Hin) as [b1 [b2 [B1 [B2 ->]]]]. rewrite plus_R.
  destruct (S1 o b1 B1), (S2 o b2 B2). split; lra.
Qed.

Lemma satisfies_two {M X} (near : X -> X -> Prop) (draw draw1 draw2 : X -> history M -> law M) g1 g2 g1' g2' a b c :
  (forall h, g1' h = true -> g1 h = true /\ forall x, draw x h = draw1 x h) ->
  (forall h, g2' h = true -> g2 h = true /\ forall x, draw x h = draw2 x h) ->
  (forall h, (g1 h || g2 h)%bool = true -> (g1' h || g2' h)%bool = true) ->
  joined plus a b = Some c -> is_range (Private "" a ReplaceOne Central None) = false ->
  (match a with Renyi points => forall o r, In (o, r) points -> 1 < Q2R o | _ => True end) ->
  satisfies near draw1 a g1 (only g1) -> satisfies near draw2 b g2 (only g2) ->
  satisfies near draw c (fun h => g1 h || g2 h)%bool (only (fun h => g1 h || g2 h)%bool).
Proof.
  intros H1 H2 H12 HJ HR HO S1 S2. unfold joined in HJ. destruct (alike a b) eqn:E; [|discriminate].
  destruct a, b; try discriminate; cbn [amounts zip_with rebuilt] in HJ; unfold satisfies, only in *.
  1-5: injection HJ as <-; cbv beta iota; intros g ->.
  - intros x x' Hx. rewrite plus_R. apply (adds_up_two draw draw1 draw2 g1 g2 g1' g2'); auto using pure_grows; try (apply (S1 g1); auto; fail); try (apply (S2 g2); auto; fail).
  - intros x x' Hx. rewrite !plus_R. apply (approximate_two draw draw1 draw2 g1 g2 g1' g2'); auto; try (apply (S1 g1); auto; fail); try (apply (S2 g2); auto; fail).
  - intros x x' Hx. rewrite plus_R. apply (adds_up_two draw draw1 draw2 g1 g2 g1' g2'); auto using zcdp_grows; try (apply (S1 g1); auto; fail); try (apply (S2 g2); auto; fail).
  - intros x x' Hx. rewrite plus_R. apply (adds_up_two draw draw1 draw2 g1 g2 g1' g2'); auto using gdp_grows; try (apply (S1 g1); auto; fail); try (apply (S2 g2); auto; fail).
  - rewrite !plus_R. apply (near_two near draw draw1 draw2 g1 g2 g1' g2'); auto; try (apply (S1 g1); auto; fail); try (apply (S2 g2); auto; fail).
  - simpl in E. destruct (_ =? _)%nat in HJ; [|discriminate]. injection HJ as <-. cbv beta iota. intros g -> o r Hin x x' Hx.
    destruct (combine_plus _ _ E o r Hin) as [r1 [r2 [B1 [B2 ->]]]]. rewrite plus_R.
    apply (adds_up_two draw draw1 draw2 g1 g2 g1' g2'); auto.
    1: apply renyi_grows; specialize (HO o r1 B1); apply Rmult_lt_reg_r with (Q2R o - 1); [lra|]; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra.
    all: try (apply (S1 g1 eq_refl o r1); auto; fail); try (apply (S2 g2 eq_refl o r2); auto; fail).
Qed.

(* ---------------------------------------------------------------- two statements *)

Section World.
  Variable W : world.
  Hypothesis HW : lawful W.
  Local Notation H := (history (message W)).

  (** A statement with all that is kept of it. *)
  Definition part (s : string) (c : curve) rel o (reads : interval) (ds : draws) gone persons views : Prop :=
    private_holds W s c rel o reads ds gone persons views /\ curve_sane c /\
    (reads = None -> forall k p, lookup k ds = Some p -> Facts.over p = Once /\ is_stream (made p) = false) /\
    incl gone (map fst ds).

  Definition satisfied (persons : bool) rel gone c (asks : H -> bool) (group : (H -> bool) -> Prop) : Prop :=
    if persons then satisfies (neighbours (fun _ _ => 0) rel) (draw_of W gone) c asks group
    else satisfies (neighbours (distance W) rel) (draw W gone) c asks group.

  Definition reads_or (reads : interval) : Z * Z := match reads with Some s => s | None => anyone end.

  (** A statement of all releases at once, also where each may be drawn over any units. *)
  Lemma whole_part s c rel o reads ds gone persons views : amounts c <> None -> part s c rel o reads ds gone persons views -> exclusive W ds ->
    satisfied persons rel gone c (of_draws W ds) (only (of_draws W ds)) /\ (o = Local -> one_unit W (of_draws W ds)) /\
    (persons = false -> forall h d d', of_draws W ds h = true -> agree W (fst (reads_or reads)) (snd (reads_or reads)) d d' ->
       same (draw W gone d h) (draw W gone d' h)).
  Proof.
    intros Hc [[_ [_ HP]] [_ [HO _]]] HE. destruct reads as [[f l]|].
    - destruct (HP HE) as [A [B C]]. auto.
    - assert (Ea : alike_draws (spread_over Once ds) ds).
      { intros k. rewrite lookup_spread. destruct (lookup k ds) as [p|] eqn:E; auto. destruct (HO eq_refl k p E) as [Eo _].
        destruct p; simpl in *; subst; auto. }
      destruct (HP Once) as [A B]. { apply (alike_exclusive W ds); auto. intros k; symmetry; apply Ea. }
      rewrite (alike_of W _ _ Ea) in A, B.
      assert (Ei : instance W (spread_over Once ds) 0 = of_draws W ds).
      { apply functional_extensionality. intros h. unfold instance. rewrite (alike_of W _ _ Ea).
        destruct (of_draws W ds h) eqn:E; auto. simpl. apply of_draws_spec in E. destruct E as [l [Hl Hk]]. rewrite Hl.
        apply Z.eqb_eq. destruct (HO eq_refl _ _ Hk) as [Eo Es].
        destruct HW as [_ [_ [_ [_ [HI _]]]]]. apply (HI h l Hl); auto. }
      split; [|split]; auto.
      + unfold satisfied. destruct persons; (apply (satisfies_each _ _ _ _ _ Hc); intros g ->; apply (satisfies_each _ _ _ _ _ Hc) with (1 := A) ; exists 0%Z; auto).
      + intros _ h d d' _ Ha. destruct HW as [_ [HU [HR _]]].
        assert (Hd : forall u, In u (units_there W) -> d u = d' u).
        { intros u Hu. apply Ha. specialize (HU u Hu). simpl. lia. }
        destruct (HR h d d' Hd) as [R1 R2]. unfold draw. destruct (next W h); auto. destruct (existsb _ _); auto.
  Qed.

  (** Where a release is drawn as both say, or as this one says of it. *)
  Definition as_said (gone1 gone : list string) (h : H) : bool :=
    match next W h with Some l => Bool.eqb (existsb (String.eqb (key l)) gone1) (existsb (String.eqb (key l)) gone) | None => true end.

  Lemma as_said_draw gone1 gone h : as_said gone1 gone h = true -> forall d, draw W gone d h = draw W gone1 d h.
  Proof.
    unfold as_said, draw. intros E d. destruct (next W h) as [l|]; auto. apply eqb_prop in E. rewrite E. auto.
  Qed.

  Lemma as_said_draw_of gone1 gone h : as_said gone1 gone h = true -> forall d, draw_of W gone d h = draw_of W gone1 d h.
  Proof.
    unfold draw_of. intros E d. destruct (next W h) as [l|] eqn:El; apply as_said_draw; auto.
  Qed.

  (** Groups of two lists of draws that are one list together. *)
  Lemma groups_cover (g1 g2 : H -> bool) (ds1 ds2 : draws) gone1 gone2 : incl gone1 (map fst ds1) -> incl gone2 (map fst ds2) ->
    (forall h, g1 h = true -> exists l, next W h = Some l) -> (forall h, g2 h = true -> exists l, next W h = Some l) ->
    (forall h l, g1 h = true -> next W h = Some l -> In (key l) (map fst ds2) -> g2 h = true) ->
    (forall h l, g2 h = true -> next W h = Some l -> In (key l) (map fst ds1) -> g1 h = true) ->
    forall h, (g1 h || g2 h)%bool = true ->
      (g1 h && as_said gone1 (union gone1 gone2) h || g2 h && as_said gone2 (union gone1 gone2) h)%bool = true.
  Proof.
    intros I1 I2 N1 N2 G12 G21 h Hh.
    assert (K : forall l, next W h = Some l -> forall gone, (In (key l) gone <-> In (key l) (union gone1 gone2)) -> as_said gone (union gone1 gone2) h = true).
    { intros l Hl gone E. unfold as_said. rewrite Hl. apply eqb_true_iff. apply bool_ext. rewrite !key_in_spec. auto. }
    apply orb_true_iff in Hh. apply orb_true_iff. destruct Hh as [Hh|Hh].
    - destruct (N1 h Hh) as [l Hl]. destruct (in_dec string_dec (key l) gone2) as [Hin|Hn].
      + destruct (in_dec string_dec (key l) gone1) as [Hin1|Hn1].
        * left. rewrite Hh. simpl. apply (K l Hl). rewrite union_in. tauto.
        * right. rewrite (G12 h l Hh Hl (I2 _ Hin)). simpl. apply (K l Hl). rewrite union_in. tauto.
      + left. rewrite Hh. simpl. apply (K l Hl). rewrite union_in. tauto.
    - destruct (N2 h Hh) as [l Hl]. destruct (in_dec string_dec (key l) gone1) as [Hin|Hn].
      + destruct (in_dec string_dec (key l) gone2) as [Hin2|Hn2].
        * right. rewrite Hh. simpl. apply (K l Hl). rewrite union_in. tauto.
        * left. rewrite (G21 h l Hh Hl (I1 _ Hin)). simpl. apply (K l Hl). rewrite union_in. tauto.
      + right. rewrite Hh. simpl. apply (K l Hl). rewrite union_in. tauto.
  Qed.

  Lemma satisfied_two persons rel a b c gone1 gone2 (ds1 ds2 : draws) (g1 g2 : H -> bool) :
    joined plus a b = Some c -> is_range (Private "" a ReplaceOne Central None) = false -> curve_sane a ->
    incl gone1 (map fst ds1) -> incl gone2 (map fst ds2) ->
    (forall h, g1 h = true -> exists l, next W h = Some l) -> (forall h, g2 h = true -> exists l, next W h = Some l) ->
    (forall h l, g1 h = true -> next W h = Some l -> In (key l) (map fst ds2) -> g2 h = true) ->
    (forall h l, g2 h = true -> next W h = Some l -> In (key l) (map fst ds1) -> g1 h = true) ->
    satisfied persons rel gone1 a g1 (only g1) -> satisfied persons rel gone2 b g2 (only g2) ->
    satisfied persons rel (union gone1 gone2) c (fun h => g1 h || g2 h)%bool (only (fun h => g1 h || g2 h)%bool).
  Proof.
    intros HJ HR HS I1 I2 N1 N2 G12 G21 S1 S2.
    pose proof (groups_cover g1 g2 ds1 ds2 gone1 gone2 I1 I2 N1 N2 G12 G21) as GC.
    assert (HO : match a with Renyi points => forall o r, In (o, r) points -> 1 < Q2R o | _ => True end).
    { destruct a; auto. intros o r Hin. apply (HS o r Hin). }
    unfold satisfied in *. destruct persons.
    - apply (satisfies_two _ _ (draw_of W gone1) (draw_of W gone2) g1 g2 (fun h => g1 h && as_said gone1 (union gone1 gone2) h)%bool
        (fun h => g2 h && as_said gone2 (union gone1 gone2) h)%bool a b); auto;
        intros h Hh; apply andb_prop in Hh; destruct Hh; split; auto; apply as_said_draw_of; auto.
    - apply (satisfies_two _ _ (draw W gone1) (draw W gone2) g1 g2 (fun h => g1 h && as_said gone1 (union gone1 gone2) h)%bool
        (fun h => g2 h && as_said gone2 (union gone1 gone2) h)%bool a b); auto;
        intros h Hh; apply andb_prop in Hh; destruct Hh; split; auto; apply as_said_draw; auto.
  Qed.

  Lemma in_keys_lookup k (ds : draws) p : lookup k ds = Some p -> In k (map fst ds).
  Proof. intros E. apply lookup_in in E. apply in_map with (f := fst) in E. auto. Qed.

  Lemma part_both s1 s2 a b c rel o reads1 reads2 ds1 ds2 ds gone1 gone2 persons views1 views2 sign :
    In sign [" + "; " | "; " or "]%string ->
    joined plus a b = Some c -> is_range (Private "" a ReplaceOne Central None) = false -> merged ds1 ds2 = Some ds ->
    part s1 a rel o reads1 ds1 gone1 persons views1 -> part s2 b rel o reads2 ds2 gone2 persons views2 ->
    part (s1 ++ sign ++ s2) c rel o (hull reads1 reads2) ds (union gone1 gone2) persons (views1 ++ views2).
  Proof.
    intros Hsign HJ HR Hm P1 P2. destruct (joined_cases a b c HJ) as [Hc [Ha [Hb Hsane]]].
    destruct (merged_lookup _ _ _ Hm) as [M1 [M2 [M3 [M4 M5]]]].
    pose proof P1 as P1'. pose proof P2 as P2'.
    destruct P1 as [[A1 [A2 A3]] [A4 [A5 A6]]]. destruct P2 as [[B1 [B2 B3]] [B4 [B5 B6]]].
    split; [|split; [auto|split]].
    - unfold private_holds. split; [|split].
      + intros h l p Hl Hk Hp. destruct HW as [_ [_ [_ [_ [_ [_ [_ [HN _]]]]]]]]. apply HN; auto.
        destruct (M3 _ _ Hk) as [Hk'|Hk']; [left; apply (A1 h l p) | right; apply (B1 h l p)]; auto.
      + intros v Hv. apply in_app_or in Hv. destruct Hv as [Hv|Hv].
        * destruct (A2 v Hv) as [Hi Hs]. split; [intros k Hk; apply M4; auto|]. destruct o; exact Hs.
        * destruct (B2 v Hv) as [Hi Hs]. split; [intros k Hk; apply M5; auto|]. destruct o; exact Hs.
      + destruct (hull reads1 reads2) as [[f l]|] eqn:Eh.
        * intros HE.
          assert (E1 : exclusive W ds1) by (apply (exclusive_less W ds1 ds); auto).
          assert (E2 : exclusive W ds2) by (apply (exclusive_less W ds2 ds); auto).
          destruct (whole_part _ _ _ _ _ _ _ _ _ Ha P1' E1) as [S1 [L1 R1]].
          destruct (whole_part _ _ _ _ _ _ _ _ _ Hb P2' E2) as [S2 [L2 R2]].
          assert (Eg : of_draws W ds = fun h => (of_draws W ds1 h || of_draws W ds2 h)%bool).
          { apply functional_extensionality. intros h. apply of_draws_merged; auto. }
          assert (N : forall ds' h, of_draws W ds' h = true -> exists l, next W h = Some l).
          { intros ds' h Hh. apply of_draws_spec in Hh. destruct Hh as [l' [Hl _]]. eauto. }
          assert (G12 : forall h l, of_draws W ds1 h = true -> next W h = Some l -> In (key l) (map fst ds2) -> of_draws W ds2 h = true).
          { intros h l' Hh Hl Hin. apply of_draws_spec in Hh. destruct Hh as [l2 [Hl2 Hk]]. rewrite Hl in Hl2. injection Hl2 as <-.
            apply in_lookup in Hin. destruct Hin as [p Hp]. apply of_draws_spec. exists l'. split; auto.
            rewrite Hp. rewrite <- (M1 _ _ Hk). symmetry. auto. }
          assert (G21 : forall h l, of_draws W ds2 h = true -> next W h = Some l -> In (key l) (map fst ds1) -> of_draws W ds1 h = true).
          { intros h l' Hh Hl Hin. apply of_draws_spec in Hh. destruct Hh as [l2 [Hl2 Hk]]. rewrite Hl in Hl2. injection Hl2 as <-.
            apply in_lookup in Hin. destruct Hin as [p Hp]. apply of_draws_spec. exists l'. split; auto.
            rewrite Hp. rewrite <- (M2 _ _ Hk). symmetry. auto. }
          split; [|split].
          -- rewrite Eg. apply (satisfied_two persons rel a b c gone1 gone2 ds1 ds2); auto; apply N.
          -- intros Ho h Hh. rewrite Eg in Hh. apply orb_true_iff in Hh. destruct Hh as [Hh|Hh]; [apply (L1 Ho h Hh) | apply (L2 Ho h Hh)].
          -- intros Hp h d d' Hh Hag. rewrite Eg in Hh.
             assert (Hag1 : agree W (fst (reads_or reads1)) (snd (reads_or reads1)) d d').
             { intros u Hu. apply Hag. unfold hull, reads_or in *. destruct reads1 as [[f1 l1]|], reads2 as [[f2 l2]|]; try discriminate; injection Eh as <- <-; simpl in *; lia. }
             assert (Hag2 : agree W (fst (reads_or reads2)) (snd (reads_or reads2)) d d').
             { intros u Hu. apply Hag. unfold hull, reads_or in *. destruct reads1 as [[f1 l1]|], reads2 as [[f2 l2]|]; try discriminate; injection Eh as <- <-; simpl in *; lia. }
             pose proof (groups_cover _ _ ds1 ds2 gone1 gone2 A6 B6 (N ds1) (N ds2) G12 G21 h Hh) as GC.
             apply orb_true_iff in GC. destruct GC as [GC|GC]; apply andb_prop in GC; destruct GC as [Hg Hs]; rewrite !(as_said_draw _ _ _ Hs); auto.
        * assert (reads1 = None /\ reads2 = None) as [-> ->] by (unfold hull in Eh; destruct reads1 as [[]|], reads2 as [[]|]; auto; discriminate).
          intros ov HE. destruct (merged_spread ov _ _ _ Hm) as [V1 [V2 V3]].
          assert (E1 : exclusive W (spread_over ov ds1)) by (apply (exclusive_less W _ (spread_over ov ds)); auto).
          assert (E2 : exclusive W (spread_over ov ds2)) by (apply (exclusive_less W _ (spread_over ov ds)); auto).
          destruct (A3 ov E1) as [S1 L1]. destruct (B3 ov E2) as [S2 L2]. split.
          -- assert (G : forall i, satisfied persons rel (union gone1 gone2) c (fun h => instance W (spread_over ov ds1) i h || instance W (spread_over ov ds2) i h)%bool
               (only (fun h => instance W (spread_over ov ds1) i h || instance W (spread_over ov ds2) i h)%bool)).
             { intros i. apply (satisfied_two persons rel a b c gone1 gone2 ds1 ds2); auto.
               - intros h Hh. apply instance_spec in Hh. destruct Hh as [l' [Hl _]]. eauto.
               - intros h Hh. apply instance_spec in Hh. destruct Hh as [l' [Hl _]]. eauto.
               - intros h l' Hh Hl Hin. apply instance_spec in Hh. destruct Hh as [l2 [Hl2 [Hk Hi]]]. rewrite Hl in Hl2. injection Hl2 as <-.
                 rewrite <- (keys_spread ov) in Hin. apply in_lookup in Hin. destruct Hin as [p Hp]. apply instance_spec. exists l'. repeat split; auto.
                 rewrite Hp. rewrite <- (V1 _ _ Hk). symmetry. auto.
               - intros h l' Hh Hl Hin. apply instance_spec in Hh. destruct Hh as [l2 [Hl2 [Hk Hi]]]. rewrite Hl in Hl2. injection Hl2 as <-.
                 rewrite <- (keys_spread ov) in Hin. apply in_lookup in Hin. destruct Hin as [p Hp]. apply instance_spec. exists l'. repeat split; auto.
                 rewrite Hp. rewrite <- (V2 _ _ Hk). symmetry. auto.
               - unfold satisfied. destruct persons; (apply (satisfies_each _ _ _ _ _ Ha); intros g ->; apply (satisfies_each _ _ _ _ _ Ha) with (1 := S1); eauto).
               - unfold satisfied. destruct persons; (apply (satisfies_each _ _ _ _ _ Hb); intros g ->; apply (satisfies_each _ _ _ _ _ Hb) with (1 := S2); eauto). }
             assert (G' : satisfied persons rel (union gone1 gone2) c (of_draws W (spread_over ov ds)) (fun g => exists i, g = instance W (spread_over ov ds) i)).
             { unfold satisfied in *. destruct persons; (apply (satisfies_each _ _ _ _ _ Hc); intros g [i ->];
                 replace (instance W (spread_over ov ds) i) with (fun h => (instance W (spread_over ov ds1) i h || instance W (spread_over ov ds2) i h)%bool);
                 [apply (satisfies_each _ _ _ _ _ Hc); intros g' ->; apply (satisfies_each _ _ _ _ _ Hc) with (1 := G i); reflexivity |
                  apply functional_extensionality; intros h; symmetry; apply instance_merged; auto]). }
             exact G'.
          -- intros Ho h Hh. assert (Hh' : of_draws W (spread_over ov ds1) h = true \/ of_draws W (spread_over ov ds2) h = true).
             { apply of_draws_spec in Hh. destruct Hh as [l' [Hl Hk]]. destruct (V3 _ _ Hk); [left|right]; apply of_draws_spec; eauto. }
             destruct Hh' as [Hh'|Hh']; [apply (L1 Ho h Hh') | apply (L2 Ho h Hh')].
    - intros E. assert (reads1 = None /\ reads2 = None) as [-> ->] by (unfold hull in E; destruct reads1 as [[]|], reads2 as [[]|]; auto; discriminate).
      intros k p Hk. destruct (M3 _ _ Hk) as [Hk'|Hk']; [apply (A5 eq_refl k p Hk') | apply (B5 eq_refl k p Hk')].
    - intros k Hk. apply union_in in Hk. destruct Hk; auto.
  Qed.
End World.

(* ---------------------------------------------------------------- any number of them *)

Lemma line_part W l s c rel o reads ds gone : holds W l -> well_made l -> says l = Private s c rel o reads ->
  alike_draws (drawn l) ds -> same_keys (departed l) gone ->
  part W s c rel o reads ds gone (of_persons l) (views l).
Proof.
  intros Hl [_ [M1 M2]] Hs Ea Eg. unfold holds in Hl. rewrite Hs in *. destruct M2 as [M2 M3]. split; [|split; [auto|split]].
  - apply (private_alike W) with (a := drawn l) (gone := departed l); auto.
  - intros HR k p Hk. apply (M3 HR k). rewrite Ea. auto.
  - intros k Hk. apply (alike_keys _ _ Ea), M1, Eg. auto.
Qed.

Lemma joined_not_range a b c : joined plus a b = Some c -> is_range (Private "" a ReplaceOne Central None) = false ->
  is_range (Private "" c ReplaceOne Central None) = false.
Proof.
  unfold joined. destruct (alike a b) eqn:E; [|discriminate].
  destruct a, b; try discriminate; cbn [amounts zip_with rebuilt]; intros HJ HR; try (injection HJ as <-; auto; fail).
  destruct (_ =? _)%nat in HJ; [|discriminate]. injection HJ as <-. auto.
Qed.

Lemma together_part W (HW : lawful W) sign persons : In sign [" + "; " | "; " or "]%string -> forall rest s c rel o reads ds gone vs gives ds',
  part W s c rel o reads ds gone persons vs -> is_range (Private "" c ReplaceOne Central None) = false ->
  Forall (holds W) rest -> Forall well_made rest -> (forall l, In l rest -> of_persons l = persons) ->
  together sign plus (Private s c rel o reads) (map says rest) = Some gives -> all_draws ds rest = Some ds' ->
  exists s' c' reads', gives = Private s' c' rel o reads' /\
    part W s' c' rel o reads' ds' (fold_left union (map departed rest) gone) persons (vs ++ flat_map views rest).
Proof.
  intros Hsign. induction rest as [|l rest IH]; intros s c rel o reads ds gone vs gives ds' HP HR HH HM HE HT HD.
  - cbn in HT, HD. injection HT as <-. injection HD as <-. exists s, c, reads. split; auto. cbn [map fold_left flat_map].
    rewrite app_nil_r. auto.
  - inversion HH as [|? ? Hl HH1]. inversion HM as [|? ? Ml HM1]. subst.
    cbn [map together] in HT. destruct (both sign plus (Private s c rel o reads) (says l)) as [acc|] eqn:Eb; [|discriminate].
    unfold both in Eb. destruct (says l) as [s2 c2 rel2 o2 reads2| | | | | | | | | | | | | |] eqn:Es; try discriminate.
    destruct (relation_eqb rel rel2) eqn:Er; [|discriminate]. destruct (observer_eqb o o2) eqn:Eo; [|discriminate]. cbn [andb] in Eb.
    apply relation_eqb_eq in Er. apply observer_eqb_eq in Eo. subst rel2 o2.
    destruct (joined plus c c2) as [total|] eqn:Ej; [|discriminate]. injection Eb as <-.
    cbn [all_draws] in HD. destruct (merged ds (drawn l)) as [more|] eqn:Em; [|discriminate].
    assert (P2 : part W s2 c2 rel o reads2 (drawn l) (departed l) persons (views l)).
    { rewrite <- (HE l (or_introl eq_refl)). apply line_part; auto; intros k; tauto. }
    pose proof (part_both W HW s s2 c c2 total rel o reads reads2 ds (drawn l) more gone (departed l) persons vs (views l) sign Hsign Ej HR Em HP P2) as P.
    destruct (IH _ _ _ _ _ _ _ _ _ _ P (joined_not_range _ _ _ Ej HR) HH1 HM1 (fun l' Hin => HE l' (or_intror Hin)) HT HD) as [s' [c' [reads' [Hg HP']]]].
    exists s', c', reads'. split; auto. cbn [map fold_left flat_map]. rewrite app_assoc. auto.
Qed.

Theorem compose_sound : sound_rule "compose".
Proof.
  intros s HR. destruct s; try discriminate HR. clear HR. intros W found n HW HH HM HF _.
  unfold follow in HF. cbn [infer composition] in HF.
  destruct (compose (map says found)) as [gives|] eqn:Ec; [|discriminate]. cbn [noise_is_named one_table andb] in HF.
  destruct (forallb (fun l => negb (of_persons l)) found || forallb of_persons found)%bool eqn:Et; [|discriminate].
  assert (Hn : law_of ByCompose (match found with l :: _ => says l | [] => gives end) = None) by reflexivity. rewrite Hn in HF.
  destruct (all_draws [] found) as [ds|] eqn:Ed; [|discriminate].
  destruct found as [|l rest]; [unfold compose in Ec; discriminate Ec|].
  unfold compose in Ec. destruct (existsb is_range (map says (l :: rest))) eqn:Ern; [discriminate|]. cbn [negb map combined] in Ec.
  destruct (has_amounts (says l)) eqn:Eh; [|discriminate].
  destruct (says l) as [s c rel o reads| | | | | | | | | | | | | |] eqn:Es; try discriminate.
  assert (HR : is_range (Private "" c ReplaceOne Central None) = false).
  { cbn [map existsb] in Ern. rewrite Es in Ern. apply orb_false_iff in Ern. destruct c; auto; destruct Ern; auto. }
  inversion HH as [|? ? Hl HH1]. inversion HM as [|? ? Ml HM1]. subst.
  assert (HE : forall l', In l' rest -> of_persons l' = of_persons l).
  { intros l' Hin. apply orb_true_iff in Et. destruct Et as [Et|Et]; cbn [forallb] in Et; apply andb_prop in Et; destruct Et as [E1 E2];
      rewrite forallb_forall in E2; specialize (E2 l' Hin); destruct (of_persons l), (of_persons l'); auto; discriminate. }
  cbn [all_draws] in Ed. destruct (merged [] (drawn l)) as [ds0|] eqn:Em; [|discriminate].
  assert (P0 : part W s c rel o reads ds0 (union [] (departed l)) (of_persons l) (views l)).
  { apply line_part; auto; [apply merged_alike; auto | intros k; rewrite union_in; simpl; tauto]. }
  destruct (together_part W HW " + " (of_persons l) (or_introl eq_refl) rest s c rel o reads ds0 _ _ gives ds P0 HR HH1 HM1 HE Ec Ed) as [s' [c' [reads' [-> HP]]]].
  injection HF as <-.
  assert (Ep : existsb of_persons (l :: rest) = of_persons l).
  { cbn [existsb]. destruct (of_persons l) eqn:E; auto. cbn [orb]. apply not_true_is_false. intros Ex.
    apply existsb_exists in Ex. destruct Ex as [l' [Hin Hp]]. rewrite (HE l' Hin) in Hp. congruence. }
  destruct HP as [H1 [H2 [H3 H4]]]. split.
  - pose proof Ep as Ep'. cbn [existsb] in Ep'. unfold holds. cbn [says drawn departed of_persons views].
    first [rewrite Ep | rewrite Ep' | idtac "other"]. exact H1.
  - unfold well_made. cbn [says drawn departed is_private]. split; [discriminate|]. split; [exact H4 | split; auto].
Qed.
