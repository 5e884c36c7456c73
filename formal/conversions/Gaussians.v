(** Pure privacy and bounded range under Gaussian differential privacy: at the μ of their own pair of two points.

    What a release may cost in ε it may cost in μ² in the same proportion (core/Odds.v). *)
Require Import Reals QArith Qreals ZArith Lra Psatz List Bool String.
From Coquelicot Require Import Rcomplements.
From DP.base Require Import Laws Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps Ranges Odds.
From DP.decide Require Import Decide.
From DP.conversions Require Import Infer Relations Measures.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Lemma odds_above e t : (1 - Phi t) * (1 + exp e) <= 1 -> e <= odds t.
Proof.
  intros H. pose proof (Phi_range t) as F. pose proof (exp_pos e) as E. unfold odds.
  assert (G : ln (exp e * (1 - Phi t)) <= ln (Phi t)).
  { assert (exp e * (1 - Phi t) <= Phi t) as [L|L] by lra; [|rewrite L; lra]. left. apply ln_increasing; auto.
    apply Rmult_lt_0_compat; lra. }
  rewrite ln_mult, ln_exp in G by lra. lra.
Qed.

Lemma odds_nonneg t : 0 <= t -> 0 <= odds t.
Proof. intros Ht. rewrite <- odds_0. apply (grows odds rise_of); auto; intros z _; [apply odds_derive | left;
  apply rise_of_pos]. Qed.

(** A pair that is pure both ways, at its share of a budget. *)
Lemma pure_gdp {A} (P Q : law A) c d e m : 0 <= c <= e -> 0 <= d <= e -> 0 < e -> 0 <= m -> e <= odds (sqrt m / 2) ->
  pure_cost c P Q -> pure_cost d Q P -> gdp_cost (m * ((c + d) / (2 * e))) P Q.
Proof.
  intros Hc Hd He Hm Ho H1 H2. set (l := (c + d) / (2 * e)).
  assert (El : c + d = l * (2 * e)) by (unfold l; field; lra).
  assert (Hl : 0 <= l <= 1).
  { split; [apply Rdiv_le_0_compat; lra|]. apply Rmult_le_reg_r with (2 * e); lra. }
  pose proof (sqrt_pos m) as Hs. apply (range_gdp P Q (- c) (c + d)).
  - apply Rmult_le_pos; lra.
  - destruct Hl as [[Hl|Hl] Hl1]; [|rewrite El, <- Hl, Rmult_0_r, sqrt_0; unfold Rdiv; rewrite !Rmult_0_l, odds_0;
    lra].
    replace (sqrt (m * l) / 2) with (sqrt l * (sqrt m / 2)) by (rewrite sqrt_mult by lra; field).
    pose proof (odds_share l (sqrt m / 2) (conj Hl Hl1) ltac:(lra)). nra.
  - intros f Hf. replace (- c + (c + d)) with d by ring. split; [|apply H2; auto].
    specialize (H1 f Hf). apply Rmult_le_compat_l with (r := exp (- c)) in H1; [|left; apply exp_pos].
    rewrite <- Rmult_assoc, <- exp_plus, Rplus_opp_l, exp_0 in H1. lra.
Qed.

Section Laws.
  Variable W : world.

  Lemma pure_to_gdp e m : 0 <= Q2R e -> 0 <= Q2R m -> Q2R e <= odds (sqrt (Q2R m) / 2) -> follows W (Pure e) (Gdp m).
  Proof.
    intros He Hm Ho X near draw asks group Hsym _ HS g Hg x x' Hx.
    destruct (HS g Hg x x' Hx) as [c [C1 [C2 C3]]]. destruct (HS g Hg x' x (Hsym _ _ Hx)) as [d [D1 [D2 D3]]].
    assert (CE : forall h, c h <= Q2R e) by (intros h; specialize (C3 h); pose proof (spent_here c h C1); lra).
    assert (DE : forall h, d h <= Q2R e) by (intros h; specialize (D3 h); pose proof (spent_here d h D1); lra).
    destruct He as [He|He].
    - exists (fun h => Q2R m / (2 * Q2R e) * (c h + d h)).
      assert (HK : 0 <= Q2R m / (2 * Q2R e)) by (apply Rdiv_le_0_compat; lra).
      repeat split.
      + intros h. specialize (C1 h). specialize (D1 h). nra.
      + intros h Hh. replace (Q2R m / (2 * Q2R e) * (c h + d h)) with (Q2R m * ((c h + d h) / (2 * Q2R e)))
        by (field; lra).
        apply pure_gdp; auto.
      + intros h. rewrite spent_scale, spent_plus. specialize (C3 h). specialize (D3 h).
        replace (Q2R m) with (Q2R m / (2 * Q2R e) * (2 * Q2R e)) at 2 by (field; lra).
          apply Rmult_le_compat_l; auto; lra.
    - exists (fun _ => 0). repeat split; [intros; lra | | intros; rewrite spent_zero; auto]. intros h Hh.
      assert (Ec : c h = 0) by (specialize (C1 h); specialize (CE h); lra).
      assert (Ed : d h = 0) by (specialize (D1 h); specialize (DE h); lra).
      specialize (C2 h Hh). specialize (D2 h Hh). rewrite Ec in C2. rewrite Ed in D2. apply gdp_free. intros f Hf.
      specialize (C2 f Hf). specialize (D2 f Hf). rewrite exp_0 in C2, D2. lra.
  Qed.

  Lemma range_to_gdp eta m : 0 <= Q2R m -> Q2R eta <= 2 * odds (sqrt (Q2R m) / 2) ->
    follows W (BoundedRange eta) (Gdp m).
  Proof.
    intros Hm Ho X near draw asks group _ _ HS g Hg x x' Hx. rewrite <- (Rmult_1_r (Q2R m)).
    apply (adds_up_in (range_cost (Q2R eta))); [auto | | apply (HS g Hg x x' Hx)]. intros c P Q Hc [HR|[H1 [a HR]]].
    - apply (gdp_grows 0); [split; [lra|]; nra|]. apply gdp_free; auto.
    - apply (gdp_grows (Q2R m)); [nra|]. apply (range_gdp P Q a (Q2R eta)); auto.
  Qed.
End Laws.

Theorem to_gdp_sound : sound_rule "to_gdp".
Proof.
  intros s HR. destruct s; try discriminate HR. clear HR. intros W found n HW HH HM HF _.
  one_premise found l. inversion HH; inversion HM; subst.
  destruct (says l) as [s c rel o reads| | | | | | | | | | | | | |] eqn:Hs;
    try (unfold follow in HF; cbn [map] in HF; rewrite Hs in HF; discriminate HF).
  assert (HC : curve_sane c) by (apply (sane_of l s c rel o reads); auto).
  assert (Hi : forall gives, to_gdp mu_squared (Private s c rel o reads) = Some gives ->
    gives = Private s (Gdp mu_squared) rel o reads /\ 0 <= Q2R mu_squared /\ follows W c (Gdp mu_squared)).
  { intros gives Et. unfold to_gdp in Et. cbn [law_in] in Et. pose proof (sqrt_pos (Q2R mu_squared)).
    assert (Hodds : forall e, Qeq_bool e 0
        || at_most (Times (Tail (Over (Root (Num mu_squared)) (Num 2))) (Plus (Num 1) (Exp (Num e)))) 1 = true ->
      Q2R e <= odds (sqrt (Q2R mu_squared) / 2)).
    { intros e HE. apply orb_prop in HE. destruct HE as [HE|HE].
      - apply eq_R in HE. rewrite HE, zero_R. apply odds_nonneg. lra.
      - apply at_most_sound in HE. cbn [eval] in HE. rewrite two_R, one_R in HE. apply odds_above; auto. }
    destruct c as [e|e d|rho|m|m d|eta|variance shifts count|points]; cbn [with_law] in Et; try discriminate;
      simpl in HC;
      (destruct (_ && _)%bool eqn:Ec in Et; [|discriminate]); apply andb_prop in Ec; destruct Ec as [Em Eo];
      apply q_nonneg in Em; apply Hodds in Eo; injection Et as <-; (split; [auto|split; [auto|]]).
    - apply pure_to_gdp; auto.
    - rewrite over_R, of_Z_R in Eo by (rewrite of_Z_R; lra). apply range_to_gdp; auto. lra. }
  assert (Hsome : exists gives, to_gdp mu_squared (Private s c rel o reads) = Some gives).
  { unfold follow in HF. cbn [map infer conversion] in HF. rewrite Hs in HF.
    destruct (to_gdp mu_squared (Private s c rel o reads)) as [gives|]; [eauto | discriminate]. }
  destruct Hsome as [gives0 Hg0]. destruct (Hi gives0 Hg0) as [_ [Hm Hf]].
  apply (with_law_sound W (ByToGdp mu_squared) l n s c rel o reads (Gdp mu_squared)); simpl; auto.
  rewrite Hs. intros gives E. apply Hi; auto.
Qed.
