(** One of several parts, which a public coin chooses before anything of them is released. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String FunctionalExtensionality.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Bounds Powers Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.noise Require Import Infer.
From DP.composition Require Import Infer Views Compose Parts.
From DP.conversions Require Import Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

(** Real numbers tell what is true: a least upper bound of {0} or {0, 1}. *)
Definition truth (P : Prop) : bool := if Rlt_dec 0 (sup (fun x => x = 0 \/ (x = 1 /\ P))) then true else false.

Lemma truth_spec P : truth P = true <-> P.
Proof.
  unfold truth. assert (B : forall x, x = 0 \/ (x = 1 /\ P) -> x <= 1) by (intros x [->|[-> _]]; lra).
  destruct (Rlt_dec _ _) as [Hs|Hs]; split; auto; try discriminate.
  - intros _. apply Classical_Prop.NNPP. intros N.
    assert (sup (fun x => x = 0 \/ (x = 1 /\ P)) <= 0); [|lra]. apply sup_least with 0; auto. intros x [->|[_ HP]]; [lra | tauto].
  - intros HP. exfalso. apply Hs. apply Rlt_le_trans with 1; [lra|]. apply sup_above with 0 1; auto.
Qed.

(* ---------------------------------------------------------------- either of two *)

Section Either.
  Context {M X : Type} (near : X -> X -> Prop) (draw : X -> history M -> law M) (g1 g2 : history M -> bool).
  Local Notation H := (history M).

  (** No release of one stands before or after one of the other. *)
  Definition paths_apart := forall h h', earlier h' h -> (g1 h = true -> g2 h' = true -> False) /\ (g2 h = true -> g1 h' = true -> False).
  Hypothesis HE : paths_apart.
  Let g := fun h : H => (g1 h || g2 h)%bool.

  Lemma earlier_refl {A} (h : list A) : earlier h h. Proof. exists []. auto. Qed.
  Lemma earlier_cons {A} m (h h' : list A) : earlier h' h -> earlier h' (m :: h).
  Proof. intros [b ->]. exists (m :: b). auto. Qed.
  Lemma earlier_tail {A} m (h h' : list A) : earlier (m :: h') h -> earlier h' h.
  Proof. intros [b ->]. exists (b ++ [m])%list. rewrite <- app_assoc. auto. Qed.

  (** Along one path only one of them asks. *)
  Lemma only_one h : (forall h', earlier h' h -> g2 h' = false) \/ (forall h', earlier h' h -> g1 h' = false).
  Proof.
    induction h as [|m h IH].
    - destruct (g1 []) eqn:E1.
      + left. intros h' [b E]. symmetry in E. apply app_eq_nil in E. destruct E as [_ ->]. destruct (g2 []) eqn:E2; auto.
        destruct (HE [] [] (earlier_refl [])) as [A _]. destruct (A E1 E2).
      + right. intros h' [b E]. symmetry in E. apply app_eq_nil in E. destruct E as [_ ->]. auto.
    - assert (S : forall h', earlier h' (m :: h) -> h' = m :: h \/ earlier h' h).
      { intros h' [[|x b] E]; [left; simpl in E; congruence|]. injection E as _ E. right. exists b; auto. }
      destruct (g1 (m :: h)) eqn:E1; [|destruct (g2 (m :: h)) eqn:E2].
      + left. intros h' He. destruct (g2 h') eqn:E2; auto. destruct (HE _ _ He) as [A _]. destruct (A E1 E2).
      + right. intros h' He. destruct (g1 h') eqn:E3; auto. destruct (HE _ _ He) as [_ A]. destruct (A E2 E3).
      + destruct IH as [IH|IH]; [left|right]; intros h' He; destruct (S h' He) as [->|He']; auto.
  Qed.

  Lemma spent_either (c d : H -> R) b h : 0 <= b -> (forall h, 0 <= c h) -> (forall h, 0 <= d h) ->
    (forall h, spent c h <= b) -> (forall h, spent d h <= b) ->
    spent (fun h => if g1 h then c h else if g2 h then d h else 0) h <= b.
  Proof.
    intros Hb Hc Hd Sc Sd. destruct (only_one h) as [N|N].
    - apply Rle_trans with (spent c h); auto. clear Sc Sd. induction h as [|m h IH]; cbn [spent].
      + rewrite (N []) by apply earlier_refl. specialize (Hc []). destruct (g1 []); lra.
      + rewrite (N (m :: h)) by apply earlier_refl. specialize (IH (fun h' He => N h' (earlier_cons m h h' He))). specialize (Hc (m :: h)). destruct (g1 (m :: h)); lra.
    - apply Rle_trans with (spent d h); auto. clear Sc Sd. induction h as [|m h IH]; cbn [spent].
      + rewrite (N []) by apply earlier_refl. specialize (Hd []). destruct (g2 []); lra.
      + rewrite (N (m :: h)) by apply earlier_refl. specialize (IH (fun h' He => N h' (earlier_cons m h h' He))). specialize (Hd (m :: h)). destruct (g2 (m :: h)); lra.
  Qed.

  Lemma adds_up_either cost b k l : adds_up cost b g1 k l -> adds_up cost b g2 k l -> adds_up cost b g k l.
  Proof.
    intros [c [C1 [C2 C3]]] [d [D1 [D2 D3]]]. exists (fun h => if g1 h then c h else if g2 h then d h else 0). split; [|split].
    - intros h. destruct (g1 h); auto. destruct (g2 h); auto. lra.
    - intros h Hh. unfold g in Hh. destruct (g1 h) eqn:E1; auto. destruct (g2 h) eqn:E2; auto. discriminate.
    - intros h. apply spent_either; auto. pose proof (spent_nonneg c [] C1). specialize (C3 []). lra.
  Qed.

  (** What is released later than a release of the first is of the first. *)
  Lemma chance_later (k l : H -> law M) (a b : H -> bool) h p q : (forall h', earlier h h' -> a h' = true -> b h' = true) ->
    chance a k l h p q -> chance b k l h p q.
  Proof.
    intros HA HC. induction HC as [h t Ht0 | h p q p' q' Hc IH Hp0 Hq0 | h p q p' q' t Ht0 Hc1 IH1 Hc2 IH2 | h m0 p q Hc IH | h P u v Hu Hv Hc IH | h u v Ha Hu Hv Hc IH].
    - apply bet; auto.
    - eapply settle; eauto.
    - apply toss; auto.
    - eapply tell. apply IH. intros h' He. apply HA. apply earlier_tail in He. auto.
    - apply say; auto. intros m. apply IH. intros h' He. apply HA. apply earlier_tail in He. auto.
    - apply ask; auto; [apply HA; auto; apply earlier_refl|]. intros m. apply IH. intros h' He. apply HA. apply earlier_tail in He. auto.
  Qed.

  Lemma approximate_either e d k l : approximate e d g1 k l -> approximate e d g2 k l -> approximate e d g k l.
  Proof.
    intros A1 A2 h p q HF HC.
    assert (Hd : 0 <= d). { specialize (A1 [] 0 0). assert (0 <= exp e * 0 + d); [|lra]. apply A1; [intros m b [x E]; destruct x; discriminate | apply bet; lra]. }
    assert (He : 1 <= exp e + d). { specialize (A1 [] 1 1). assert (1 <= exp e * 1 + d); [|lra]. apply A1; [intros m b [x E]; destruct x; discriminate | apply bet; lra]. }
    assert (C : forall h p q, chance g k l h p q -> g h = true -> fresh g h -> p <= exp e * q + d).
    { clear - A1 A2 HE. intros h p q HC Hg HF. destruct (fresh_or g1 g2 h HF) as [F1 F2]. unfold g in Hg. apply orb_true_iff in Hg. destruct Hg as [Hg|Hg].
      - apply (A1 h); auto. apply (chance_later k l g g1); auto. intros h' He Hh. unfold g in Hh. apply orb_true_iff in Hh. destruct Hh as [Hh|Hh]; auto.
        destruct (HE _ _ He) as [_ A]. destruct (A Hh Hg).
      - apply (A2 h); auto. apply (chance_later k l g g2); auto. intros h' He Hh. unfold g in Hh. apply orb_true_iff in Hh. destruct Hh as [Hh|Hh]; auto.
        destruct (HE _ _ He) as [A _]. destruct (A Hh Hg). }
    assert (FN : forall h m, fresh g h -> g h = false -> fresh g (m :: h)).
    { intros h0 m F0 G0 m' b [[|x y] E]; [injection E as <- <-; auto|]. injection E as _ E. apply (F0 m'). exists y; auto. }
    pose proof (exp_pos e) as Pe. revert HF.
    induction HC as [h t Ht0 | h p q p' q' Hc IH Hp0 Hq0 | h p q p' q' t Ht0 Hc1 IH1 Hc2 IH2 | h m0 p q Hc IH | h P u v Hu Hv Hc IH | h u v Ha Hu Hv Hc IH]; intros HF.
    - nra.
    - specialize (IH HF). nra.
    - specialize (IH1 HF). specialize (IH2 HF). nra.
    - destruct (g h) eqn:E; [apply (C h); auto; eapply tell; eauto|]. apply IH, FN; auto.
    - destruct (g h) eqn:E; [apply (C h); auto; apply say; auto|]. apply E_le_affine; auto; lra.
    - apply (C h); auto. apply ask; auto.
  Qed.

  Lemma satisfies_either c : amounts c <> None ->
    satisfies near draw c g1 (only g1) -> satisfies near draw c g2 (only g2) -> satisfies near draw c g (only g).
  Proof.
    intros Hc S1 S2. unfold satisfies, only in *. destruct c; try (simpl in Hc; congruence); intros g0 ->.
    - intros x x' Hx. apply adds_up_either; [apply (S1 g1) | apply (S2 g2)]; auto.
    - intros x x' Hx. apply approximate_either; [apply (S1 g1) | apply (S2 g2)]; auto.
    - intros x x' Hx. apply adds_up_either; [apply (S1 g1) | apply (S2 g2)]; auto.
    - intros x x' Hx. apply adds_up_either; [apply (S1 g1) | apply (S2 g2)]; auto.
    - destruct (S1 g1 eq_refl) as [i1 N1]. destruct (S2 g2 eq_refl) as [i2 N2].
      exists (fun x h => if g1 h then i1 x h else i2 x h). intros x x' Hx.
      destruct (N1 x x' Hx) as [c [t [H1 [H2 H3]]]]. destruct (N2 x x' Hx) as [c' [t' [H1' [H2' H3']]]].
      exists (fun h => if g1 h then c h else if g2 h then c' h else 0), (fun h => if g1 h then t h else if g2 h then t' h else 0).
      assert (Pm : 0 <= Q2R mu_squared) by (pose proof (spent_nonneg c [] (fun h => proj1 (H1 h))); destruct (H3 []); lra).
      assert (Pd : 0 <= Q2R distance) by (pose proof (spent_nonneg t [] (fun h => proj2 (H1 h))); destruct (H3 []); lra).
      split; [|split].
      + intros h. specialize (H1 h). specialize (H1' h). destruct (g1 h), (g2 h); auto; lra.
      + intros h Hh. unfold g in Hh. destruct (g1 h) eqn:E1; auto. destruct (g2 h) eqn:E2; auto. discriminate.
      + intros h. split; apply spent_either; auto; try (intros h0; first [apply H1 | apply H1' | apply H3 | apply H3']).
    - intros x x' Hx. apply adds_up_either; [apply (S1 g1) | apply (S2 g2)]; auto.
    - intros o r Hin x x' Hx. apply adds_up_either; [apply (S1 g1 eq_refl o r Hin) | apply (S2 g2 eq_refl o r Hin)]; auto.
  Qed.
End Either.

(* ---------------------------------------------------------------- one of many *)

Lemma classic_fresh {M} (a : history M -> bool) h : fresh a h \/ exists m b, earlier (m :: b) h /\ a b = true.
Proof.
  destruct (Classical_Prop.classic (exists m b, earlier (m :: b) h /\ a b = true)) as [E|N]; auto.
  left. intros m b He. destruct (a b) eqn:E; auto. exfalso. eauto.
Qed.

Lemma first_asked {M} (a : history M -> bool) h : a h = true -> exists h0, earlier h0 h /\ a h0 = true /\ fresh a h0.
Proof.
  assert (G : forall n h, (List.length h <= n)%nat -> a h = true -> exists h0, earlier h0 h /\ a h0 = true /\ fresh a h0).
  2: { apply (G (List.length h)); auto. }
  clear h. induction n as [|n IH]; intros h Hn Ha.
  - destruct h; [|simpl in Hn; lia]. exists []. split; [apply earlier_refl|split; auto]. intros m b [x E]. destruct x; discriminate.
  - destruct (classic_fresh a h) as [F|[m [b [He Hb]]]].
    + exists h. split; [apply earlier_refl | auto].
    + destruct He as [x He]. destruct (IH b) as [h0 [H1 H2]]; auto.
      { rewrite He in Hn. rewrite app_length in Hn. simpl in Hn. lia. }
      exists h0. split; auto. destruct H1 as [y ->]. exists (x ++ m :: y)%list. rewrite He, <- app_assoc. auto.
Qed.

(** Two histories on one path. *)
Lemma earlier_either {A} (a b h : list A) : earlier a h -> earlier b h -> earlier a b \/ exists m, earlier (m :: b) a.
Proof.
  intros [x E1] [y E2]. subst h. revert y E2. induction x as [|c x IH]; intros y E2; simpl in E2.
  - destruct y as [|m y]; [left; exists []; simpl in *; auto|]. right. destruct (@exists_last _ (m :: y)) as [y' [m' E]]; [discriminate|].
    exists m', y'. rewrite E2, E, <- app_assoc. auto.
  - destruct y as [|d y]; simpl in E2.
    + left. exists (c :: x). auto.
    + injection E2 as _ E2. apply (IH y E2).
Qed.

Lemma first_once {M} (a : history M -> bool) h0 h1 h : earlier h0 h -> earlier h1 h -> a h0 = true -> a h1 = true ->
  fresh a h0 -> fresh a h1 -> h0 = h1.
Proof.
  intros E0 E1 A0 A1 F0 F1. destruct (earlier_either h0 h1 h E0 E1) as [[x E]|[m E]].
  - destruct (earlier_either h1 h0 h E1 E0) as [[y E']|[m E']].
    + assert (L : List.length x = 0%nat).
      { apply (f_equal (@List.length M)) in E, E'. rewrite app_length in E, E'. lia. }
      destruct x; [auto | discriminate].
    + specialize (F1 m h0 E'). congruence.
  - specialize (F0 m h1 E). congruence.
Qed.

(** Groups that never mix on a path all have the curve, so together. *)
Lemma satisfies_one_of {M X} (near : X -> X -> Prop) (draw : X -> history M -> law M) c (gs : list (history M -> bool)) :
  amounts c <> None -> curve_sane c ->
  (forall i j g g', i <> j -> nth_error gs i = Some g -> nth_error gs j = Some g' ->
     forall h h', earlier h' h -> g h = true -> g' h' = true -> False) ->
  (forall g, In g gs -> satisfies near draw c g (only g)) ->
  let g := fun h => existsb (fun g => g h) gs in gs <> [] -> satisfies near draw c g (only g).
Proof.
  intros Hc HS. induction gs as [|a gs IH]; intros HP HA g Hne; [congruence|].
  destruct gs as [|b gs].
  - replace g with a; [apply HA; left; auto|]. apply functional_extensionality. intros h. unfold g. simpl. rewrite orb_false_r. auto.
  - apply (satisfies_either near draw a (fun h => existsb (fun g => g h) (b :: gs))); auto.
    + intros h h' He. split; intros H1 H2.
      * apply existsb_exists in H2. destruct H2 as [g' [Hin Hg']]. apply In_nth_error in Hin. destruct Hin as [j Hj].
        apply (HP 0%nat (S j) a g') with (h := h) (h' := h'); auto.
      * apply existsb_exists in H1. destruct H1 as [g' [Hin Hg']]. apply In_nth_error in Hin. destruct Hin as [j Hj].
        apply (HP (S j) 0%nat g' a) with (h := h) (h' := h'); auto.
    + apply HA. left; auto.
    + apply IH.
      * intros i j g1 g2 Hij H1 H2. apply (HP (S i) (S j)); auto.
      * intros g1 Hg. apply HA. right; auto.
      * discriminate.
Qed.

Lemma keys_apart_spec parts : keys_apart parts = true -> forall i j a b k, i <> j ->
  nth_error parts i = Some a -> nth_error parts j = Some b -> In k a -> In k b -> False.
Proof.
  induction parts as [|p parts IH]; intros HK i j a b k Hij Ha Hb Hka Hkb; [destruct i; discriminate|].
  cbn [keys_apart] in HK. apply andb_prop in HK. destruct HK as [H1 H2]. rewrite forallb_forall in H1.
  assert (G : forall x, In x parts -> forall k, In k p -> In k x -> False).
  { intros x Hx k' Hp Hk'. specialize (H1 x Hx). rewrite forallb_forall in H1. specialize (H1 k' Hp). apply negb_true_iff in H1.
    apply (proj2 (key_in_spec k' x)) in Hk'. congruence. }
  destruct i, j; simpl in *; try congruence.
  - injection Ha as <-. apply nth_error_In in Hb. eapply G; eauto.
  - injection Hb as <-. apply nth_error_In in Ha. eapply G; eauto.
  - apply (IH H2 i j a b k); auto.
Qed.

Lemma listed_keys l : incl (map fst (drawn l)) (keys_of l) /\ incl (keys_of l) (map fst (drawn l)).
Proof. split; intros k Hk; apply keys_of_in; auto. Qed.

Theorem mixture_sound : sound_rule "mixture".
Proof.
  intros st HR. destruct st; try discriminate HR. clear HR. intros W found n HW HH HM HF _.
  unfold follow in HF. cbn [infer composition] in HF.
  destruct found as [|choice parts]; [discriminate|]. cbn [map composition] in HF.
  destruct (mixture (says choice) (map says parts)) as [gives|] eqn:Em; [|discriminate].
  cbn [noise_is_named one_table tl] in HF.
  destruct (says choice) as [| | | | | | | | |q listed| | | | |] eqn:Hch; try (cbn [andb] in HF; discriminate).
  destruct (list_eqb texts_eqb listed (map keys_of parts) && (forallb stays parts || keys_apart listed))%bool eqn:Elist; [|discriminate].
  destruct (forallb (fun l => negb (of_persons l)) parts || forallb of_persons parts)%bool eqn:Et; [|cbn [andb] in HF; discriminate HF]. cbn [andb] in HF.
  assert (Hn : forall f, law_of ByMixture f = None) by reflexivity. rewrite Hn in HF.
  destruct (all_draws [] (choice :: parts)) as [ds|] eqn:Ed; [|discriminate].
  assert (En : n = Line gives ds [] Once (fold_left union (map departed (choice :: parts)) []) (existsb of_persons (choice :: parts))
    (flat_map views (choice :: parts))).
  { assert (Hcg : changed ByMixture (choice :: parts) = []) by (unfold changed; destruct parts as [|l ?]; [|destruct (says l)]; reflexivity).
    rewrite Hcg in HF. injection HF as <-. reflexivity. }
  clear HF.
  apply andb_prop in Elist. destruct Elist as [Elist Estay]. apply (list_eqb_eq texts_eqb texts_eqb_eq) in Elist.
  pose proof (Forall_inv HH) as Hc. pose proof (Forall_inv_tail HH) as HH1. pose proof (Forall_inv HM) as Mc. pose proof (Forall_inv_tail HM) as HM1. subst listed.
  assert (Hbare : bare choice) by (apply Mc; rewrite Hch; reflexivity). destruct Hbare as [B1 [B2 [B3 B4]]].
  unfold mixture in Em. destruct (combined " or " larger (map says parts)) as [whole|] eqn:Ew; [|discriminate].
  destruct whole as [s c rel o reads| | | | | | | | | | | | | |] eqn:Ewh; try discriminate.
  destruct (String.eqb q s && _)%bool eqn:Eq; [|discriminate]. injection Em as <-. apply andb_prop in Eq. destruct Eq as [Eq _]. apply String.eqb_eq in Eq. subst q.
  unfold combined in Ew. destruct parts as [|lead rest]; [discriminate|]. cbn [map] in Ew.
  destruct (has_amounts (says lead)) eqn:Eh; [|discriminate].
  destruct (says lead) as [s0 c0 rel0 o0 reads0| | | | | | | | | | | | | |] eqn:E0; try discriminate.
  assert (Hc0 : amounts c0 <> None) by (intros E; cbn [has_amounts] in Eh; rewrite E in Eh; discriminate).
  destruct (together_larger " or " ltac:(simpl; auto) _ _ _ _ _ _ _ Hc0 Ew) as [s' [c' [reads' [E' [Hca [Hall [Hnames Hsane]]]]]]].
  injection E' as <- <- <- <- <-.
  set (parts := lead :: rest) in *.
  assert (Hall' : Forall (part_of rel o c reads) (map says parts)) by (unfold parts; cbn [map]; rewrite E0; exact Hall).
  rewrite <- E0 in Hnames, Hsane. change (says lead :: map says rest) with (map says parts) in Hnames, Hsane.
  assert (Hsay : forall l, In l parts -> part_of rel o c reads (says l)).
  { intros l Hl. rewrite Forall_forall in Hall'. apply Hall', in_map; auto. }
  destruct (all_draws_lookup _ _ _ Ed) as [_ [A2 [A3 _]]].
  assert (Hof : forall l, In l parts -> forall k p, lookup k (drawn l) = Some p -> lookup k ds = Some p) by (intros l Hl; apply A2; right; auto).
  assert (Hin : forall k p, lookup k ds = Some p -> exists l, In l parts /\ lookup k (drawn l) = Some p).
  { intros k p Hk. destruct (A3 k p Hk) as [E|[l [[<-|Hl] Hk']]]; [discriminate | rewrite B1 in Hk'; discriminate | eauto]. }
  set (gone := fold_left union (map departed (choice :: parts)) []).
  assert (Hgone : forall k, In k gone <-> exists l, In l parts /\ In k (departed l)).
  { intros k. unfold gone. rewrite gone_in. split.
    - intros [[]|[l [[<-|Hl] Hk]]]; [rewrite B2 in Hk; destruct Hk | eauto].
    - intros [l [Hl Hk]]. right. exists l. split; auto. right; auto. }
  assert (Hper : existsb of_persons (choice :: parts) = existsb of_persons parts) by (cbn [existsb]; rewrite B4; auto).
  rewrite En, Hper. set (persons := existsb of_persons parts) in *.
  assert (Htab : forall l, In l parts -> of_persons l = persons) by (apply same_table; auto).
  assert (Hsc : curve_sane c).
  { apply Hsane. intros p Hp. apply in_map_iff in Hp. destruct Hp as [l [<- Hl]]. rewrite Forall_forall in HM1. destruct (HM1 l Hl) as [_ [_ M]].
    destruct (says l); auto. apply M. }
  (* what departs in one part does so in all that draw it *)
  assert (Hshare : forall l k, In l parts -> In k (map fst (drawn l)) -> (In k (departed l) <-> In k gone)).
  { intros l k Hl Hk. split; [intros Hd; apply Hgone; eauto|]. intros Hg. apply Hgone in Hg. destruct Hg as [l' [Hl' Hd]].
    apply orb_true_iff in Estay. destruct Estay as [Es|Es].
    - rewrite forallb_forall in Es. specialize (Es l' Hl'). unfold stays in Es. destruct (departed l'); [destruct Hd | discriminate].
    - destruct (In_nth_error parts l Hl) as [i Hi]. destruct (In_nth_error parts l' Hl') as [j Hj].
      destruct (Nat.eq_dec i j) as [->|Hij]; [congruence|]. exfalso.
      apply (keys_apart_spec _ Es i j (keys_of l) (keys_of l') k Hij); try (apply map_nth_error; auto).
      + apply listed_keys; auto.
      + apply listed_keys. rewrite Forall_forall in HM1. destruct (HM1 l' Hl') as [_ [M _]]. apply M; auto. }
  (* which part was chosen *)
  unfold holds in Hc. rewrite Hch in Hc.
  set (a := fun h : history (message W) => match next W h with Some l => existsb (String.eqb (key l)) (List.concat (map keys_of parts)) | None => false end) in *.
  set (fits := fun (h0 : history (message W)) j => exists l, nth_error parts j = Some l /\
    forall h' lab, earlier h0 h' -> next W h' = Some lab -> existsb (String.eqb (key lab)) (List.concat (map keys_of parts)) = true -> In (key lab) (map fst (drawn l))).
  set (chosen := fun j h => exists h0, earlier h0 h /\ a h0 = true /\ fresh a h0 /\ fits h0 j /\ forall i, (i < j)%nat -> ~ fits h0 i).
  assert (Hunique : forall i j h h', earlier h' h -> chosen i h -> chosen j h' -> i = j).
  { intros i j h h' [x E] [h0 [P1 [P2 [P3 [P4 P5]]]]] [h1 [Q1 [Q2 [Q3 [Q4 Q5]]]]].
    assert (earlier h1 h) by (destruct Q1 as [y ->]; exists (x ++ y)%list; rewrite E, <- app_assoc; auto).
    assert (h0 = h1) by (apply (first_once a h0 h1 h); auto). subst h1.
    destruct (Nat.lt_trichotomy i j) as [L|[->|L]]; auto; exfalso; [apply (Q5 i L P4) | apply (P5 j L Q4)]. }
  assert (Hsome : forall h, a h = true -> exists j l, chosen j h /\ nth_error parts j = Some l /\
    forall lab, next W h = Some lab -> In (key lab) (map fst (drawn l))).
  { intros h Hh. destruct (first_asked a h Hh) as [h0 [P1 [P2 P3]]].
    assert (F : exists j, fits h0 j).
    { unfold a in P2. destruct (next W h0) as [lab|] eqn:El; [|discriminate].
      destruct (Hc h0 lab El P2 P3) as [part [Hpart Hlater]]. apply in_map_iff in Hpart. destruct Hpart as [l [<- Hl]].
      destruct (In_nth_error parts l Hl) as [j Hj]. exists j, l. split; auto. intros h' lab' He Hn' Hk'. apply keys_of_in. apply (Hlater h' lab'); auto. }
    assert (L : exists j, fits h0 j /\ forall i, (i < j)%nat -> ~ fits h0 i).
    { destruct F as [j0 F]. revert F. induction j0 as [j0 IH] using (well_founded_induction lt_wf). intros F.
      destruct (Classical_Prop.classic (exists i, (i < j0)%nat /\ fits h0 i)) as [[i [Hi Fi]]|N]; [apply (IH i Hi Fi)|].
      exists j0. split; auto. intros i Hi Fi. apply N. eauto. }
    destruct L as [j [Fj Lj]]. pose proof Fj as [l [Hj Hlater]]. exists j, l. split; [exists h0; auto|split; auto].
    intros lab Hlab. apply (Hlater h lab); auto. unfold a in Hh. rewrite Hlab in Hh. auto. }
  assert (Hkeys : forall l k, In l parts -> In k (map fst (drawn l)) -> existsb (String.eqb k) (List.concat (map keys_of parts)) = true).
  { intros l k Hl Hk. apply key_in_spec. apply in_concat. exists (keys_of l). split; [apply in_map; auto | apply keys_of_in; auto]. }
  (* any list of groups, one of each part *)
  assert (HS : forall (F : draws -> history (message W) -> bool),
    (forall l h lab, In l parts -> F ds h = true -> next W h = Some lab -> In (key lab) (map fst (drawn l)) -> F (drawn l) h = true) ->
    (forall l h, In l parts -> F (drawn l) h = true -> exists lab, next W h = Some lab /\ In (key lab) (map fst (drawn l))) ->
    (forall h, F ds h = true -> exists l lab, In l parts /\ next W h = Some lab /\ In (key lab) (map fst (drawn l))) ->
    (forall l, In l parts -> satisfied W persons rel (departed l) c (F (drawn l)) (only (F (drawn l)))) ->
    satisfied W persons rel gone c (F ds) (only (F ds))).
  { intros F F1 F2 F3 F4.
    set (gs := map (fun j h => F (drawn (nth j parts lead)) h && truth (chosen j h))%bool (seq 0 (List.length parts))).
    assert (Hnth : forall j g, nth_error gs j = Some g -> (j < List.length parts)%nat /\
      g = fun h => (F (drawn (nth j parts lead)) h && truth (chosen j h))%bool).
    { intros j g Hg. assert (Hj : (j < List.length parts)%nat).
      { assert (j < List.length gs)%nat by (apply nth_error_Some; congruence). unfold gs in H. rewrite map_length, seq_length in H. auto. }
      split; auto. unfold gs in Hg. rewrite nth_error_map in Hg. rewrite (nth_error_nth' _ 0%nat) in Hg by (rewrite seq_length; auto).
      rewrite seq_nth in Hg by auto. cbn [option_map Nat.add] in Hg. injection Hg as <-. reflexivity. }
    assert (Hnear : forall g, In g gs -> satisfied W persons rel gone c g (only g)).
    { intros g Hg. destruct (In_nth_error _ _ Hg) as [j Hj]. destruct (Hnth j g Hj) as [Hlt ->].
      set (l := nth j parts lead). assert (Hl : In l parts) by (apply nth_In; auto).
      specialize (F4 l Hl).
      assert (HE : forall h, F (drawn l) h = true -> as_said W (departed l) gone h = true).
      { intros h Hh. destruct (F2 l h Hl Hh) as [lab [Hlab Hk]]. unfold as_said. rewrite Hlab. apply eqb_true_iff, bool_ext.
        rewrite !key_in_spec. apply Hshare; auto. }
      set (g' := fun h => (F (drawn l) h && truth (chosen j h))%bool).
      assert (Hsub : forall h, g' h = true -> F (drawn l) h = true) by (intros h Hh; apply andb_prop in Hh; tauto).
      unfold satisfied in *. destruct persons.
      - apply (satisfies_fewer_asks _ (draw_of W (departed l))) with (g := F (drawn l)); auto. intros h d Hh. apply as_said_draw_of; auto.
      - apply (satisfies_fewer_asks _ (draw W (departed l))) with (g := F (drawn l)); auto. intros h d Hh. apply as_said_draw; auto. }
    assert (Eg : F ds = fun h => (F ds h && existsb (fun g => g h) gs)%bool).
    { apply functional_extensionality. intros h. destruct (F ds h) eqn:E; auto. symmetry. cbn [andb]. apply existsb_exists.
      destruct (F3 h E) as [l1 [lab [Hl1 [Hlab Hk1]]]].
      assert (Ha : a h = true) by (unfold a; rewrite Hlab; apply (Hkeys l1); auto).
      destruct (Hsome h Ha) as [j [l [Hcj [Hj Hk]]]].
      assert (Hlt : (j < List.length parts)%nat) by (apply nth_error_Some; congruence).
      exists (fun h => (F (drawn (nth j parts lead)) h && truth (chosen j h))%bool). split.
      - unfold gs. apply in_map_iff. exists j. split; auto. apply in_seq. lia.
      - apply andb_true_iff. split; [|apply truth_spec; auto]. rewrite (nth_error_nth _ _ _ Hj).
        apply (F1 l h lab); auto. apply nth_error_In in Hj. auto. }
    assert (Hpaths : forall i j g g', i <> j -> nth_error gs i = Some g -> nth_error gs j = Some g' ->
      forall h h', earlier h' h -> g h = true -> g' h' = true -> False).
    { intros i j g g' Hij Hg Hg' h h' He G1 G2. destruct (Hnth i g Hg) as [_ ->]. destruct (Hnth j g' Hg') as [_ ->].
      apply andb_prop in G1, G2. destruct G1 as [_ G1], G2 as [_ G2]. rewrite truth_spec in G1, G2. apply Hij. apply (Hunique i j h h'); auto. }
    assert (Hgs : gs <> []) by (unfold gs, parts; discriminate).
    assert (Hle : forall h, (F ds h && existsb (fun g => g h) gs)%bool = true -> existsb (fun g => g h) gs = true) by (intros h Hh; apply andb_prop in Hh; tauto).
    unfold satisfied in *. rewrite Eg. destruct persons.
    - apply (satisfies_fewer_asks _ (draw_of W gone) (draw_of W gone) c (fun h => existsb (fun g => g h) gs)); auto. apply satisfies_one_of; auto.
    - apply (satisfies_fewer_asks _ (draw W gone) (draw W gone) c (fun h => existsb (fun g => g h) gs)); auto. apply satisfies_one_of; auto. }
  apply (whole_holds W HW parts (fun _ => rel) rel o c reads persons HH1 HM1 Htab Hsay ds gone Hof Hin Hgone Hca Hsc s); auto.
  - intros l [p [Hp Hnm]]. apply (Hnames W HW). exists (says p), (subject_of (says p)). split; [apply in_map; auto | auto].
  - intros f la Hr HE. apply (HS (of_draws W)).
    + intros l h lab Hl Hh Hlab Hk. apply of_draws_spec in Hh. destruct Hh as [lab' [Hlab' Hk']]. rewrite Hlab in Hlab'. injection Hlab' as <-.
      apply in_lookup in Hk. destruct Hk as [p Hp]. apply of_draws_spec. exists lab. split; auto. rewrite Hp, <- Hk'. symmetry. apply (Hof l Hl); auto.
    + intros l h Hl Hh. apply of_draws_spec in Hh. destruct Hh as [lab [Hlab Hk]]. exists lab. split; auto. apply in_keys_lookup in Hk. auto.
    + intros h Hh. apply of_draws_spec in Hh. destruct Hh as [lab [Hlab Hk]]. destruct (Hin _ _ Hk) as [l [Hl Hk']]. exists l, lab.
      split; [auto|split; auto]. apply in_keys_lookup in Hk'. auto.
    + intros l Hl. destruct (whole_of_part W parts (fun _ => rel) o c reads persons HH1 HM1 Htab Hsay l Hl) as [sl [cl [r [E [HC P]]]]].
      assert (El : exclusive W (drawn l)) by (apply (exclusive_less W (drawn l) ds); [apply Hof; auto | exact HE]).
      destruct (whole_part W HW _ _ _ _ _ _ _ _ _ (amounts_part c cl HC) P El) as [G _]. destruct P as [_ [Sc _]].
      unfold satisfied in *. destruct persons; apply (satisfies_covers _ _ cl); auto.
  - intros Hr ov i HE. apply (HS (fun b => instance W (spread_over ov b) i)).
    + intros l h lab Hl Hh Hlab Hk. apply instance_spec in Hh. destruct Hh as [lab' [Hlab' [Hk' Hi]]]. rewrite Hlab in Hlab'. injection Hlab' as <-.
      rewrite <- (keys_spread ov) in Hk. apply in_lookup in Hk. destruct Hk as [p Hp]. apply instance_spec. exists lab. split; [auto|split; auto].
      rewrite Hp, <- Hk'. symmetry. apply (spread_parts parts ds Hof ov l Hl); auto.
    + intros l h Hl Hh. apply instance_spec in Hh. destruct Hh as [lab [Hlab [Hk Hi]]]. exists lab. split; auto. apply in_keys_lookup in Hk.
      rewrite keys_spread in Hk. auto.
    + intros h Hh. apply instance_spec in Hh. destruct Hh as [lab [Hlab [Hk Hi]]]. rewrite lookup_spread in Hk.
      destruct (lookup (key lab) ds) as [p|] eqn:E; [|discriminate]. destruct (Hin _ _ E) as [l [Hl Hk']]. exists l, lab.
      split; [auto|split; auto]. apply in_keys_lookup in Hk'. auto.
    + intros l Hl. destruct (whole_of_part W parts (fun _ => rel) o c reads persons HH1 HM1 Htab Hsay l Hl) as [sl [cl [r [E [HC P]]]]].
      destruct (Hsay l Hl) as [sl' [cl' [r' [E' [_ Hr']]]]]. rewrite E in E'. injection E' as <- <- <-. rewrite Hr in Hr'. cbv beta iota in Hr'. subst r.
      destruct P as [[_ [_ P]] [Sc _]].
      assert (El : exclusive W (spread_over ov (drawn l))).
      { apply (exclusive_less W _ (spread_over ov ds)); [apply spread_parts with (parts := parts); auto | exact HE]. }
      destruct (P ov El) as [G _]. pose proof (amounts_part c cl HC) as Hcl.
      unfold satisfied. destruct persons; apply (satisfies_covers _ _ cl); auto; apply (satisfies_each _ _ _ _ _ Hcl); intros g ->;
        apply (satisfies_each _ _ _ _ _ Hcl) with (1 := G); eauto.
  - intros v Hv. cbn [flat_map] in Hv. rewrite B3 in Hv. cbn [app] in Hv. apply in_flat_map in Hv. destruct Hv as [l [Hl Hv]]. eauto.
Qed.
