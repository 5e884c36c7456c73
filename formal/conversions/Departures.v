(** After a rare departure: what it costs in (ε, δ). *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String FunctionalExtensionality.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Bounds Powers Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.noise Require Import Infer.
From DP.decide Require Import Decide.
From DP.composition Require Import Infer Views Compose Parts.
From DP.conversions Require Import Infer Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Section Departure.
  Variable W : world.
  Local Notation H := (history (message W)).
  Local Notation D := (data (record W)).

  (** With tables that may depend on what was said: one dataset throughout, or what persons' tables become. *)
  Lemma departs_by_distance (asks : H -> bool) (k l k' l' : H -> law (message W)) e d p0 h : 0 <= p0 -> fresh asks h ->
    (forall p p', chance asks k k' h p p' -> p <= p' + p0) -> (forall p p', chance asks l l' h p p' -> p <= p' + p0) ->
    (forall p q, chance asks k' l' h p q -> p <= exp e * q + d) ->
    forall p q, chance asks k l h p q -> p <= exp e * q + (d + p0 * (1 + exp e)).
  Proof.
    intros Hp HF Hk Hl HA p q HC. apply le_all with (1 + 2 * exp e); [pose proof (exp_pos e); lra|]. intros t Ht.
    destruct (chance_middle asks k k' l h p q t HC Ht) as [s [s' [C1 [C2 Hs]]]].
    destruct (chance_middle asks k' l' l h s' q t C2 Ht) as [r [r' [C3 [C4 Hr]]]].
    pose proof (Hk _ _ C1). pose proof (HA _ _ C3).
    pose proof (Hl _ _ (chance_not _ _ _ _ _ _ C4)) as HL.
    pose proof (exp_pos e). assert (r' <= q + p0) by lra. nra.
  Qed.
End Departure.

Theorem despite_sound : sound_rule "despite".
Proof.
  intros st HR. destruct st; try discriminate HR. clear HR. intros W found n HW HH HM HF _.
  unfold follow in HF. cbn [infer conversion] in HF.
  destruct found as [|l [|b [|]]]; try discriminate HF.
  cbn [map] in HF. destruct (despite delta (says l) (says b)) as [gives|] eqn:Ep; [|discriminate].
  cbn [noise_is_named one_table andb] in HF.
  assert (Hn : law_of (ByDespite delta) (says l) = None) by reflexivity. rewrite Hn in HF.
  destruct (all_draws [] [l; b]) as [ds|] eqn:Ed; [|discriminate].
  set (gone := fold_left union (map departed [l; b]) []) in *.
  assert (En : n = Line gives ds [] Once (union gone (map fst ds)) (existsb of_persons [l; b]) (flat_map views [l; b])) by (injection HF as <-; reflexivity).
  clear HF.
  pose proof (Forall_inv HH) as Hl. pose proof (Forall_inv (Forall_inv_tail HH)) as Hb.
  pose proof (Forall_inv HM) as Ml. pose proof (Forall_inv (Forall_inv_tail HM)) as Mb.
  unfold despite in Ep.
  destruct (says l) as [s c rel o reads| | | | | | | | | | | | | |] eqn:Hs; try discriminate.
  destruct c as [|epsilon spent0| | | | | |]; try discriminate.
  destruct (says b) as [| | | | | | | | | | | |q how chance0| |] eqn:Hsb; try discriminate.
  destruct (_ && _)%bool eqn:Ec in Ep; [|discriminate]. injection Ep as <-.
  apply andb_prop in Ec. destruct Ec as [Ec Hcover]. apply andb_prop in Ec. destruct Ec as [Eq Hd1].
  apply String.eqb_eq in Eq. subst q. apply le_R in Hd1. rewrite one_R in Hd1.
  assert (Hbare : bare b) by (apply Mb; rewrite Hsb; reflexivity).
  pose proof (bare_alike l b ds Hbare Ed) as Ea. pose proof (bare_gone l b Hbare) as Eg. fold gone in Eg.
  assert (Ev : flat_map views [l; b] = views l) by (cbn [flat_map]; destruct Hbare as [_ [_ [-> _]]]; rewrite !app_nil_r; auto).
  assert (Eper : existsb of_persons [l; b] = of_persons l) by (cbn [existsb]; destruct Hbare as [_ [_ [_ ->]]]; rewrite !orb_false_r; auto).
  rewrite En, Ev, Eper. clear En Ev Eper.
  pose proof (line_part W l s (Approximate epsilon spent0) rel o reads ds gone Hl Ml Hs Ea Eg) as P.
  unfold holds in Hb. rewrite Hsb in Hb.
  assert (Hsane : 0 <= Q2R epsilon /\ 0 <= Q2R spent0) by (destruct Ml as [_ [_ M]]; rewrite Hs in M; apply M).
  pose proof (exp_pos (Q2R epsilon)) as Pe.
  pose proof P as [[PN [PV _]] _].
  split.
  - unfold holds; cbn [says drawn departed of_persons views]. split; [exact PN|split].
    { intros v Hv. destruct (PV v Hv) as [Hi Ho]. split; auto. }
    assert (Ham : amounts (Approximate epsilon spent0) <> None) by (cbn; discriminate).
    intros HE. destruct (whole_part W HW _ _ _ _ _ _ _ _ _ Ham P HE) as [S [L R]].
    assert (Hnames : forall h lab, next W h = Some lab -> of_draws W ds h = true -> names W s lab = true).
    { intros h lab Hlab Hh. apply of_draws_spec in Hh. destruct Hh as [lab' [Hlab' Hk]]. rewrite Hlab in Hlab'. injection Hlab' as <-.
      apply (PN h lab (at_place lab)); auto. destruct (at_place lab); auto. }
    assert (Hreal : forall d h, of_draws W ds h = true -> draw W (union gone (map fst ds)) d h = draw W (map fst ds ++ gone) d h).
    { intros d h _. apply draw_same. intros lab _. rewrite union_in, in_app_iff. tauto. }
    split; [|split].
    + (* the point *)
      assert (HT : forall T T' h, fresh (of_draws W ds) h ->
        (forall p q, chance (of_draws W ds) (fun h => draw W gone (T h) h) (fun h => draw W gone (T' h) h) h p q -> p <= exp (Q2R epsilon) * q + Q2R spent0) ->
        forall p q, chance (of_draws W ds) (fun h => draw W (union gone (map fst ds)) (T h) h) (fun h => draw W (union gone (map fst ds)) (T' h) h) h p q ->
        p <= exp (Q2R epsilon) * q + Q2R delta).
      { intros T T' h HFr HA p q HC.
        apply (chance_equal (of_draws W ds) _ _ (fun h => draw W (map fst ds ++ gone) (T h) h) (fun h => draw W (map fst ds ++ gone) (T' h) h)) in HC;
          [|intros h' Hh; rewrite !Hreal by auto; auto].
        destruct (chance_range _ _ _ _ _ _ HC) as [Rp Rq].
        destruct how.
        - (* an event *)
          apply le_R in Hcover. rewrite plus_R in Hcover.
          destruct (Hb ds gone T T' h Hnames HFr) as [e0 [[E1 E2] [E3 E4]]].
          apply le_all with (1 + exp (Q2R epsilon)); [lra|]. intros t Ht.
          destruct (E4 p q HC t Ht) as [p' [q' [C1 [C2 C3]]]]. pose proof (HA p' q' C1).
          apply Rle_trans with ((1 - e0) * (exp (Q2R epsilon) * q' + Q2R spent0) + e0 + t); [apply Rle_trans with (1 := C2); nra|]. nra.
        - (* a distance *)
          apply at_most_sound in Hcover. cbn [eval] in Hcover. rewrite one_R in Hcover.
          assert (Hp0 : 0 <= Q2R chance0).
          { pose proof (Hb ds gone T T h Hnames HFr 0 0 ltac:(apply bet; lra)). lra. }
          apply Rle_trans with (exp (Q2R epsilon) * q + (Q2R spent0 + Q2R chance0 * (1 + exp (Q2R epsilon)))); [|lra].
          apply (departs_by_distance W (of_draws W ds) (fun h => draw W (map fst ds ++ gone) (T h) h) (fun h => draw W (map fst ds ++ gone) (T' h) h)
            (fun h => draw W gone (T h) h) (fun h => draw W gone (T' h) h)) with (h := h); auto.
          + intros p1 p2. apply (Hb ds gone T T h); auto.
          + intros p1 p2. apply (Hb ds gone T' T' h); auto. }
      destruct (of_persons l).
      * intros g -> x x' Hx h p q HFr HC. 
        set (T := fun (y : data (person W)) (h : history (message W)) => match next W h with Some lab => table W lab y | None => fun _ => None end).
        assert (ET : forall g0 y, draw_of W g0 y = fun h => draw W g0 (T y h) h).
        { intros g0 y. apply functional_extensionality. intros h0. unfold draw_of, T. destruct (next W h0) eqn:E; auto. }
        rewrite !ET in HC. apply (HT (T x) (T x') h); auto. intros p' q' HC'.
        unfold satisfied, only in S. apply (S _ eq_refl x x' Hx h); auto. rewrite !ET. auto.
      * intros g -> x x' Hx h p q HFr HC. apply (HT (fun _ => x) (fun _ => x') h); auto.
        intros p' q' HC'. unfold satisfied, only in S. apply (S _ eq_refl x x' Hx h); auto.
    + exact L.
    + intros _ h d d' _ Ha. destruct HW as [_ [HU [HRd _]]].
      assert (Hd : forall u, In u (units_there W) -> d u = d' u).
      { intros u Hu. apply Ha. specialize (HU u Hu). simpl. lia. }
      destruct (HRd h d d' Hd) as [R1 R2]. unfold draw. destruct (next W h); auto. destruct (existsb _ _); auto.
  - unfold well_made; cbn [says drawn departed is_private]. split; [discriminate|]. split; [|split].
    + intros k Hk. apply union_in in Hk. destruct Hk as [Hk|]; auto. apply (alike_keys _ _ Ea). destruct Ml as [_ [M _]]. apply M. apply Eg; auto.
    + cbn [curve_sane]. split; [tauto|]. destruct how.
      * apply le_R in Hcover. rewrite plus_R in Hcover. 
        assert (0 <= Q2R chance0); [|lra].
        destruct (Hb [] [] (fun _ _ => None) (fun _ _ => None) []) as [e0 [E _]]; [intros h lab _ E; unfold of_draws in E; destruct (next W h); discriminate | intros m b0 [y E]; destruct y; discriminate|]. lra.
      * apply at_most_sound in Hcover. cbn [eval] in Hcover. rewrite one_R in Hcover.
        assert (0 <= Q2R chance0); [|nra].
        pose proof (Hb [] [] (fun _ _ => None) (fun _ _ => None) [] ltac:(intros h lab _ E; unfold of_draws in E; destruct (next W h); discriminate)
          ltac:(intros m b0 [y E]; destruct y; discriminate) 0 0 ltac:(apply bet; lra)). lra.
    + discriminate.
Qed.
