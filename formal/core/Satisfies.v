(** Privacy curves of parts, of larger amounts, of other names for the same releases, and of two together. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String.
From DP.base Require Import Laws Normal.
From DP Require Import Facts Steps Definitions.
From DP.core Require Import Bounds Powers Chance Costs Numbers.
From DP.composition Require Import Infer.
Import ListNotations.
Open Scope R_scope.

Section Pairs.
  Context {message : Type}.
  Local Notation H := (history message).
  Implicit Types (K g : H -> bool) (k l : H -> law message).

  (** What a curve that speaks of pairs of laws says of one pair. *)
  Definition pair_ok (law : curve) g k l : Prop :=
    match law with
    | Pure e => adds_up pure_cost (Q2R e) g k l
    | Approximate e d => approximate (Q2R e) (Q2R d) g k l
    | Zcdp r => adds_up zcdp_cost (Q2R r) g k l
    | Gdp m => adds_up gdp_cost (Q2R m) g k l
    | BoundedRange e => adds_up (range_cost (Q2R e)) 1 g k l
    | Renyi points => forall order bound, In (order, bound) points ->
        adds_up (renyi_cost (Q2R order / (Q2R order - 1))) (Q2R bound) g k l
    | _ => False
    end.

  (** Of a pair of programs and of ideal ones. *)
  Definition near_pair (m d : R) g k l ki li : Prop :=
    exists c t : H -> R, (forall h, 0 <= c h /\ 0 <= t h) /\
      (forall h, g h = true ->
         (same (k h) (l h) /\ same (ki h) (li h)) \/
         (gdp_cost (c h) (ki h) (li h) /\ near_cost (t h) (k h) (ki h) /\ near_cost (t h) (l h) (li h))) /\
      forall h, spent c h <= m /\ spent t h <= d.

  Definition is_pairwise (law : curve) : bool := match law with NearGdp _ _ | Lattice _ _ _ => false | _ => true end.

  Lemma approximate_less e d K g k l : (forall h, g h = true -> K h = true) -> approximate e d K k l ->
    forall h p q, fresh K h -> chance g k l h p q -> p <= exp e * q + d.
  Proof. intros HK HA h p q Hf Hc. apply (HA h); auto. eapply chance_less; eauto. Qed.

  Lemma fresh_less g K h : (forall h, g h = true -> K h = true) -> @fresh message K h -> fresh g h.
  Proof. intros HK HF m before He. destruct (g before) eqn:E; auto. rewrite <- (HF m before He). symmetry; auto. Qed.

  Lemma fresh_or K1 K2 h : @fresh message (fun h => K1 h || K2 h) h -> fresh K1 h /\ fresh K2 h.
  Proof. intros HF. split; intros m before He; specialize (HF m before He); apply orb_false_iff in HF; tauto. Qed.

  Lemma approximate_both e1 d1 e2 d2 K1 K2 k l : approximate e1 d1 K1 k l -> approximate e2 d2 K2 k l ->
    approximate (e1 + e2) (d1 + d2) (fun h => K1 h || K2 h) k l.
  Proof.
    intros H1 H2 h p q HF Hc. destruct (fresh_or _ _ _ HF) as [F1 F2].
    assert (G1 : excess K1 k l (exp e1) h <= d1) by (apply excess_least; intros; apply (H1 h); auto).
    assert (G2 : excess K2 k l (exp e2) h <= d2) by (apply excess_least; intros; apply (H2 h); auto).
    pose proof (chance_composed K1 K2 k l h p q Hc (exp e1) (exp e2) (Rlt_le _ _ (exp_pos e1)) (Rlt_le _ _ (exp_pos e2))).
    rewrite exp_plus. lra.
  Qed.

  Lemma approximate_same e d K k l k' l' : (forall h, K h = true -> same (k h) (k' h) /\ same (l h) (l' h)) ->
    approximate e d K k l -> approximate e d K k' l'.
  Proof.
    intros HK HA h p q HF Hc. apply (HA h); auto. apply (chance_same _ k' l' k l); auto.
    intros h' Hh. destruct (HK h' Hh). split; apply same_sym; auto.
  Qed.

  Lemma approximate_more e d e' d' K k l : e <= e' -> d <= d' -> approximate e d K k l -> approximate e' d' K k l.
  Proof.
    intros He Hd HA h p q HF Hc. specialize (HA h p q HF Hc). destruct (chance_range _ _ _ _ _ _ Hc).
    pose proof (exp_le _ _ He). nra.
  Qed.

  Lemma approximate_free e d K F k l : (forall h, F h = true -> same (k h) (l h)) -> approximate e d K k l ->
    approximate e d (fun h => K h || F h) k l.
  Proof.
    intros HF HA h p q Hfr Hc. destruct (fresh_or _ _ _ Hfr). apply (HA h); auto. eapply chance_free; eauto.
  Qed.

  Lemma approximate_none e d k l : 0 <= e -> 0 <= d -> approximate e d (fun _ : H => false) k l.
  Proof.
    intros He Hd h p q _ Hc. assert (A : adds_up pure_cost e (fun _ : H => false) k l) by (apply adds_up_none; auto).
    pose proof (adds_up_pure e _ k l h p q A Hc). lra.
  Qed.

  Lemma approximate_ext e d K K' k l : (forall h, K h = K' h) -> approximate e d K k l -> approximate e d K' k l.
  Proof. intros E. replace K' with K; auto. apply FunctionalExtensionality.functional_extensionality; auto. Qed.

  (* -------------------------------------------------------------- all of them *)

  Lemma pair_ok_same law g k l k' l' : (forall h, g h = true -> same (k h) (k' h) /\ same (l h) (l' h)) ->
    (match law with Renyi points => forall o b, In (o, b) points -> 1 < Q2R o | _ => True end) ->
    pair_ok law g k l -> pair_ok law g k' l'.
  Proof.
    intros E Ho. destruct law; simpl; auto; try (apply adds_up_same; auto using pure_laws, zcdp_laws, gdp_laws, range_laws).
    - apply approximate_same; auto.
    - intros HR o b Hin. eapply adds_up_same; eauto. apply renyi_laws.
      specialize (Ho o b Hin). apply Rmult_lt_reg_r with (Q2R o - 1); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
  Qed.

  Lemma near_pair_same m d g k l ki li k' l' : (forall h, g h = true -> same (k h) (k' h) /\ same (l h) (l' h)) ->
    near_pair m d g k l ki li -> near_pair m d g k' l' ki li.
  Proof.
    intros E [c [t [H1 [H2 H3]]]]. exists c, t. repeat split; try apply H1; try apply H3.
    intros h Hh. destruct (E h Hh) as [Ek El]. destruct (H2 h Hh) as [[A B]|[A [B C]]].
    - left. split; auto. eapply same_trans; [apply same_sym; eauto|]. eapply same_trans; eauto.
    - right. split; [auto|split]; intros f Hf.
      + rewrite <- (Ek f Hf). apply B; auto.
      + rewrite <- (El f Hf). apply C; auto.
  Qed.

  Lemma near_cost_grows {A} (P Q : law A) a b : a <= b -> near_cost a P Q -> near_cost b P Q.
  Proof. intros Hab HN f Hf. specialize (HN f Hf). lra. Qed.

  Lemma near_cost_refl {A} (P : law A) : near_cost 0 P P.
  Proof. intros f Hf. lra. Qed.

  Lemma near_pair_more m d m' d' g k l ki li : m <= m' -> d <= d' -> near_pair m d g k l ki li -> near_pair m' d' g k l ki li.
  Proof.
    intros Hm Hd [c [t [H1 [H2 H3]]]]. exists c, t. repeat split; try apply H1; auto; specialize (H3 h); lra.
  Qed.

  Lemma near_pair_less m d g g' k l ki li : (forall h, g' h = true -> g h = true) -> near_pair m d g k l ki li -> near_pair m d g' k l ki li.
  Proof. intros Hg [c [t [H1 [H2 H3]]]]. exists c, t. repeat split; try apply H1; auto; apply H3. Qed.

  Lemma near_pair_none m d k l ki li : 0 <= m -> 0 <= d -> near_pair m d (fun _ => false) k l ki li.
  Proof.
    intros. exists (fun _ => 0), (fun _ => 0). repeat split; try lra; try discriminate;
      (apply Rle_trans with 0; [right; apply spent_zero | auto]).
  Qed.

  Lemma near_pair_free m d g F k l ki li : (forall h, F h = true -> same (k h) (l h) /\ same (ki h) (li h)) ->
    near_pair m d g k l ki li -> near_pair m d (fun h => g h || F h) k l ki li.
  Proof.
    intros HF [c [t [H1 [H2 H3]]]]. exists c, t. repeat split; try apply H1; try apply H3.
    intros h Hh. destruct (g h) eqn:E; auto.
  Qed.

  (** Two parts with ideals of their own: where both are asked, the first one counts. *)
  Lemma near_pair_both m1 d1 m2 d2 g1 g2 k l ki li ki' li' :
    near_pair m1 d1 g1 k l ki li -> near_pair m2 d2 g2 k l ki' li' ->
    near_pair (m1 + m2) (d1 + d2) (fun h => g1 h || g2 h) k l
      (fun h => if g1 h then ki h else ki' h) (fun h => if g1 h then li h else li' h).
  Proof.
    intros [c [t [H1 [H2 H3]]]] [c' [t' [H1' [H2' H3']]]].
    exists (fun h => c h + c' h), (fun h => t h + t' h). repeat split.
    - destruct (H1 h), (H1' h); lra.
    - destruct (H1 h), (H1' h); lra.
    - intros h Hh. destruct (H1 h), (H1' h). destruct (g1 h) eqn:E; simpl in Hh.
      + destruct (H2 h E) as [A|[A [B C]]]; auto. right. split; [|split].
        * apply (gdp_grows (c h)); auto; lra.
        * apply (near_cost_grows _ _ (t h)); auto; lra.
        * apply (near_cost_grows _ _ (t h)); auto; lra.
      + destruct (H2' h Hh) as [A|[A [B C]]]; auto. right. split; [|split].
        * apply (gdp_grows (c' h)); auto; lra.
        * apply (near_cost_grows _ _ (t' h)); auto; lra.
        * apply (near_cost_grows _ _ (t' h)); auto; lra.
    - rewrite spent_plus. destruct (H3 h), (H3' h). lra.
    - rewrite spent_plus. destruct (H3 h), (H3' h). lra.
  Qed.
End Pairs.

(* ---------------------------------------------------------------- families *)

Section Families.
  Context {message : Type}.
  Local Notation H := (history message).

  Definition one_group (g : H -> bool) : (H -> bool) -> Prop := fun g' => g' = g.

  Lemma satisfies_pairwise {X} (near : X -> X -> Prop) draw law asks group : is_pairwise law = true ->
    (satisfies near draw law asks group <-> forall g : H -> bool, group g -> forall x x', near x x' -> pair_ok law g (draw x) (draw x')).
  Proof.
    intros E. unfold satisfies, always. destruct law; try discriminate; simpl; split; auto.
  Qed.

  Lemma satisfies_near {X} (near : X -> X -> Prop) (draw : X -> H -> law message) m d asks group :
    satisfies near draw (NearGdp m d) asks group <->
    forall g, group g -> exists ideal : X -> H -> law message, forall x x', near x x' ->
      near_pair (Q2R m) (Q2R d) g (draw x) (draw x') (ideal x) (ideal x').
  Proof. unfold satisfies, nearly_gaussian, near_pair. split; auto. Qed.
End Families.
