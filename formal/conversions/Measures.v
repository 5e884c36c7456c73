(** One measure of privacy in another: pure of bounded range, zCDP of all, Rényi divergences of zCDP. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String.
From Coquelicot Require Import Rcomplements.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps Ranges Products Layers.
From DP.noise Require Import Infer Discrete.
From DP.conversions Require Import Infer Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Section Laws.
  Variable W : world.

  Lemma range_to_pure eta : 0 <= Q2R eta -> follows W (BoundedRange eta) (Pure eta).
  Proof.
    intros He X near draw asks group _ _ HS g Hg x x' Hx. specialize (HS g Hg x x' Hx).
    replace (Q2R eta) with (Q2R eta * 1) by ring. apply (adds_up_in (range_cost (Q2R eta))); auto.
    intros c P Q Hc [HR|[H1 [a HR]]].
    - apply (pure_grows 0); [nra|]. apply pure_free; auto.
    - apply (pure_grows (Q2R eta)); [nra|]. intros f Hf. destruct (range_ends P Q a _ HR) as [Ha Hb].
      pose proof (E_test P f Hf). pose proof (E_test Q f Hf). destruct (HR f Hf) as [H2 _].
      apply Rmult_le_compat_l with (r := exp (Q2R eta)) in H2; [|left; apply exp_pos].
      rewrite <- Rmult_assoc, <- exp_plus in H2.
      assert (1 <= exp (Q2R eta + a)) by (rewrite <- exp_0; apply exp_le; lra). nra.
  Qed.

  Lemma zcdp_to_renyi rho orders : 0 <= Q2R rho -> (forall a, In a orders -> 1 < Q2R a) ->
    follows W (Zcdp rho) (Renyi (map (fun a => (a, times a rho)) orders)).
  Proof.
    intros Hr Ho X near draw asks group _ _ HS g Hg order bound Hin x x' Hx.
    apply in_map_iff in Hin. destruct Hin as [a [E Ha]]. injection E as <- <-. specialize (Ho a Ha).
    rewrite times_R. apply (adds_up_in zcdp_cost); [lra | | apply (HS g Hg x x' Hx)].
    intros c P Q Hc HZ.
    assert (Ht : 1 < Q2R a / (Q2R a - 1)).
    { apply Rmult_lt_reg_r with (Q2R a - 1); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
    specialize (HZ _ Ht). replace (Q2R a / (Q2R a - 1) / (Q2R a / (Q2R a - 1) - 1)) with (Q2R a) in HZ; auto.
    field. split; lra.
  Qed.

  Lemma spent_square {M} (c : history M -> R) h : (forall h, 0 <= c h) -> spent (fun h => c h * c h) h <= spent c h * spent c h.
  Proof.
    intros Hc. induction h as [|m h IH]; simpl; [lra|]. pose proof (spent_nonneg c h Hc). pose proof (Hc (m :: h)). nra.
  Qed.

  Lemma pure_to_zcdp e rho : Q2R rho = Q2R e * Q2R e / 2 -> follows W (Pure e) (Zcdp rho).
  Proof.
    intros Hr X near draw asks group Hsym _ HS g Hg x x' Hx.
    destruct (HS g Hg x x' Hx) as [c [C1 [C2 C3]]]. destruct (HS g Hg x' x (Hsym _ _ Hx)) as [d [D1 [D2 D3]]].
    exists (fun h => / 8 * ((c h + d h) * (c h + d h))). repeat split.
    - intros h. specialize (C1 h). specialize (D1 h). nra.
    - intros h Hh. replace (/ 8 * ((c h + d h) * (c h + d h))) with ((c h + d h) * (c h + d h) / 8) by lra. apply pure_zcdp; auto.
    - intros h. rewrite spent_scale. 
      assert (HN : forall h, 0 <= c h + d h) by (intros h0; specialize (C1 h0); specialize (D1 h0); lra).
      pose proof (spent_square (fun h => c h + d h) h HN) as HQ. cbv beta in HQ. rewrite spent_plus in HQ.
      pose proof (spent_nonneg c h C1). pose proof (spent_nonneg d h D1). specialize (C3 h). specialize (D3 h). rewrite Hr.
      assert ((spent c h + spent d h) * (spent c h + spent d h) <= (2 * Q2R e) * (2 * Q2R e)) by (apply Rmult_le_compat; lra). unfold history in *. lra.
  Qed.

  Lemma gdp_to_zcdp m rho : Q2R rho = Q2R m / 2 -> follows W (Gdp m) (Zcdp rho).
  Proof.
    intros Hr X near draw asks group Hsym _ HS g Hg x x' Hx. rewrite Hr. unfold Rdiv. rewrite Rmult_comm.
    apply (adds_up_in gdp_cost); [lra | | apply (HS g Hg x x' Hx)].
    intros c P Q Hc HG. rewrite Rmult_comm. apply gdp_is_zcdp; auto.
  Qed.

  (** A Gaussian program is its own ideal. *)
  Lemma gdp_to_near m : follows W (Gdp m) (NearGdp m 0).
  Proof.
    intros X near draw asks group _ _ HS g Hg. exists draw. intros x x' Hx.
    destruct (HS g Hg x x' Hx) as [c [C1 [C2 C3]]]. exists c, (fun _ => 0). split; [|split].
    - intros h. split; [auto | lra].
    - intros h Hh. right. split; [auto | split; apply near_cost_refl].
    - intros h. split; [apply C3|]. rewrite zero_R. right. apply spent_zero.
  Qed.

  Lemma range_to_zcdp e rho : Q2R rho = Q2R e * Q2R e / 8 -> follows W (BoundedRange e) (Zcdp rho).
  Proof.
    intros Hr X near draw asks group Hsym _ HS g Hg x x' Hx. rewrite Hr. rewrite <- (Rmult_1_r (_ / 8)).
    apply (adds_up_in (range_cost (Q2R e))); [nra | | apply (HS g Hg x x' Hx)].
    intros c P Q Hc [HR|[H1 [a HR]]].
    - apply (zcdp_grows 0); [split; [lra|]; nra|]. apply zcdp_free; auto.
    - apply (zcdp_grows (Q2R e * Q2R e / 8)); [nra|]. apply (range_zcdp P Q a); auto.
  Qed.
End Laws.

Lemma symmetric_shift (x : R) : (x * x) = (- x) * (- x). Proof. ring. Qed.

(* ---------------------------------------------------------------- lines *)

Lemma with_law_sound W st l n s c rel o reads c' :
  says l = Private s c rel o reads -> lawful W -> (forall f, law_of st f = None) ->
  match st with
  | AssumeFilter _ _ _ | ByNodes | ByLocal | ByPostProcess | ByBillboard | ByLocalView | ByDespite _ | ByPersons => False
  | _ => True
  end ->
  follow st [l] = Some n -> (forall gives, infer st [says l] = Some gives -> gives = Private s c' rel o reads) ->
  holds W l -> well_made l -> curve_sane c' -> follows W c c' -> holds W n /\ well_made n.
Proof.
  intros HP HW HL HS HF HI HH HM HC HFo.
  apply (restated_sound W st l n s c rel o reads s c' rel o); auto.
  intros ds gone persons views. apply private_follows; auto.
Qed.

Lemma sane_of l s c rel o reads : says l = Private s c rel o reads -> well_made l -> curve_sane c.
Proof. intros Hs [_ [_ M]]. rewrite Hs in M. apply M. Qed.

Theorem to_pure_sound : sound_rule "to_pure".
Proof.
  intros s HR. destruct s; try discriminate HR. clear HR. intros W found n HW HH HM HF _.
  one_premise found l. inversion HH; inversion HM; subst.
  assert (Hi : exists s eta rel o reads, says l = Private s (BoundedRange eta) rel o reads).
  { unfold follow in HF. cbn [map infer conversion] in HF. unfold to_pure in HF.
    destruct (says l) as [s c rel o reads| | | | | | | | | | | | | |]; try discriminate. destruct c; try discriminate. eauto 10. }
  destruct Hi as [s [eta [rel [o [reads Hs]]]]].
  assert (He : 0 <= Q2R eta) by (apply (sane_of l s (BoundedRange eta) rel o reads); auto).
  apply (with_law_sound W ByToPure l n s (BoundedRange eta) rel o reads (Pure eta)); simpl; auto using range_to_pure.
  rewrite Hs. intros gives E. cbn in E. congruence.
Qed.

Theorem to_near_gdp_sound : sound_rule "to_near_gdp".
Proof.
  intros s HR. destruct s; try discriminate HR. clear HR. intros W found n HW HH HM HF _.
  one_premise found l. inversion HH; inversion HM; subst.
  assert (Hi : exists s m rel o reads, says l = Private s (Gdp m) rel o reads).
  { unfold follow in HF. cbn [map infer conversion] in HF. unfold to_near_gdp in HF.
    destruct (says l) as [s c rel o reads| | | | | | | | | | | | | |]; try discriminate. destruct c; try discriminate. eauto 10. }
  destruct Hi as [s [m [rel [o [reads Hs]]]]].
  assert (Hm : 0 <= Q2R m) by (apply (sane_of l s (Gdp m) rel o reads); auto).
  apply (with_law_sound W ByToNearGdp l n s (Gdp m) rel o reads (NearGdp m 0)); simpl; auto using gdp_to_near.
  - rewrite Hs. intros gives E. cbn in E. congruence.
  - rewrite zero_R. lra.
Qed.

Lemma rising_above l : forall b, rising b l = true -> forall a, In a l -> Q2R b < Q2R a.
Proof.
  induction l as [|x l IH]; simpl; intros b E a Ha; [tauto|]. apply andb_prop in E. destruct E as [E1 E2].
  apply below_R in E1. destruct Ha as [<-|Ha]; auto. specialize (IH x E2 a Ha). lra.
Qed.

Theorem to_renyi_sound : sound_rule "to_renyi".
Proof.
  intros s HR. destruct s; try discriminate HR. clear HR. intros W found n HW HH HM HF _.
  one_premise found l. inversion HH; inversion HM; subst.
  assert (Hi : exists s rho rel o reads, says l = Private s (Zcdp rho) rel o reads /\ rising 1 orders = true).
  { unfold follow in HF. cbn [map infer conversion] in HF. unfold to_renyi in HF.
    destruct (law_in (says l)) as [c|] eqn:El; [|discriminate].
    destruct (says l) as [s c' rel o reads| | | | | | | | | | | | | |]; try discriminate. injection El as ->. destruct c; try discriminate.
    destruct (_ && rising 1 orders)%bool eqn:Er; [|discriminate]. apply andb_prop in Er. destruct Er. eauto 10. }
  destruct Hi as [s [rho [rel [o [reads [Hs Hr]]]]]].
  assert (He : 0 <= Q2R rho) by (apply (sane_of l s (Zcdp rho) rel o reads); auto).
  assert (Ho : forall a, In a orders -> 1 < Q2R a) by (intros a Ha; rewrite <- one_R; apply (rising_above orders); auto).
  apply (with_law_sound W (ByToRenyi orders) l n s (Zcdp rho) rel o reads (Renyi (map (fun a => (a, times a rho)) orders))); simpl; auto using zcdp_to_renyi.
  - rewrite Hs. intros gives E. unfold to_renyi in E. cbn [law_in with_law] in E.
    destruct (_ && _)%bool in E; congruence.
  - intros a b Hin. apply in_map_iff in Hin. destruct Hin as [a' [E Ha]]. injection E as <- <-. specialize (Ho a' Ha).
    rewrite times_R. split; auto. nra.
Qed.

(* ---------------------------------------------------------------- lattices *)

Definition sq (z : Z) : R := IZR z * IZR z.

Lemma total_permuted {A} (f : A -> R) l m : Permutation.Permutation l m -> total f l = total f m.
Proof. induction 1; simpl; lra. Qed.

Lemma total_shape l : total sq (filter (fun z => negb (z =? 0)%Z) (map Z.abs l)) = total sq l.
Proof.
  induction l as [|z l IH]; simpl; auto. destruct (Z.eqb_spec (Z.abs z) 0); simpl.
  - rewrite IH. assert (z = 0%Z) by lia. subst. unfold sq. lra.
  - rewrite IH. unfold sq. f_equal. rewrite <- !mult_IZR. f_equal. lia.
Qed.

Lemma squares_total s : IZR (squares s) = total sq s.
Proof.
  unfold squares. assert (G : forall a, IZR (fold_left (fun s v => s + v * v)%Z s a) = IZR a + total sq s).
  { induction s as [|z s IH]; intros a; simpl; [lra|]. rewrite IH, plus_IZR, mult_IZR. unfold sq. lra. }
  rewrite G. lra.
Qed.

Lemma longest_most shifts s : In s shifts -> (squares s <= longest shifts)%Z /\ (0 <= longest shifts)%Z.
Proof.
  unfold longest. assert (G : forall l a, (a <= fold_left Z.max l a)%Z /\ forall z, In z l -> (z <= fold_left Z.max l a)%Z).
  { induction l as [|x l IH]; intros a; simpl; [split; [lia | tauto]|]. destruct (IH (Z.max a x)) as [H1 H2]. split; [lia|].
    intros z [<-|Hz]; [lia | auto]. }
  intros Hs. destruct (G (map squares shifts) 0%Z) as [H1 H2]. split; auto. apply H2, in_map; auto.
Qed.

Lemma lattice_zcdp {A} variance s (P Q : law A) : 0 < variance -> lattice_pair variance s P Q ->
  zcdp_cost (IZR (squares s) / (2 * variance)) P Q.
Proof.
  intros Hv [v [N [post [Hs [HN [HP HQ]]]]]].
  assert (HZ : zcdp_cost (total (fun z => sq z / (2 * variance)) v) P Q).
  { apply (zcdp_laws _ (bind (each (map (fun z => image (Z.add z) N) v)) post) (bind (each (map (fun _ => N) v)) post));
      try (apply same_sym; auto).
    apply zcdp_post. apply zcdp_each. intros z _.
    pose proof (discrete_normal_zcdp variance N z 0 Hv HN) as HD. rewrite Rminus_0_r in HD.
    apply (zcdp_laws _ _ _ _ _ (same_refl _) (fun f Hf => eq_refl) ) in HD. exact HD. }
  replace (IZR (squares s) / (2 * variance)) with (total (fun z => sq z / (2 * variance)) v); auto.
  rewrite squares_total, <- (total_shape s), <- (total_permuted _ _ _ Hs), total_shape.
  rewrite (total_ext _ (fun z => / (2 * variance) * sq z)) by (intros; unfold Rdiv; ring). rewrite total_scale. field. lra.
Qed.

Lemma lattice_to_zcdp W variance shifts count rho : 0 < Q2R variance ->
  Q2R rho = IZR count * IZR (longest shifts) / Q2R variance / 2 -> follows W (Lattice variance shifts count) (Zcdp rho).
Proof.
  intros Hv Hr X near draw asks group Hsym HGA HS g Hg x x' Hx. destruct (HS x x' Hx) as [S [H1 [H2 H3]]].
  set (K := IZR (longest shifts) / (2 * Q2R variance)).
  assert (HK : 0 <= K).
  { apply Rdiv_le_0_compat; [|lra]. apply IZR_le. clear. unfold longest.
    assert (G : forall l a, (a <= fold_left Z.max l a)%Z) by (induction l as [|y l IH]; intros a; simpl; [lia | specialize (IH (Z.max a y)); lia]).
    apply G. }
  exists (fun h => K * match S h with Some _ => if g h then 1 else 0 | None => 0 end). split; [|split].
  - intros h. destruct (S h); [destruct (g h)|]; lra.
  - intros h Hh. specialize (H1 h (HGA g h Hg Hh)). destruct (S h) as [s|].
    + destruct H1 as [Hin HL]. rewrite Hh, Rmult_1_r. apply (zcdp_grows (IZR (squares s) / (2 * Q2R variance))).
      * destruct (longest_most shifts s Hin) as [L1 L2]. split.
        -- apply Rdiv_le_0_compat; [|lra]. rewrite squares_total. apply total_nonneg. intros z _. unfold sq. nra.
        -- unfold K, Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra | apply IZR_le; auto].
      * apply lattice_zcdp; auto.
    + rewrite Rmult_0_r. apply zcdp_free; auto.
  - intros h. rewrite spent_scale. specialize (H3 g Hg h). rewrite Hr. unfold K.
    replace (IZR count * IZR (longest shifts) / Q2R variance / 2) with (IZR (longest shifts) / (2 * Q2R variance) * IZR count) by (field; lra).
    apply Rmult_le_compat_l; auto.
Qed.

Theorem to_zcdp_sound : sound_rule "to_zcdp".
Proof.
  intros s HR. destruct s; try discriminate HR. clear HR. intros W found n HW HH HM HF _.
  one_premise found l. inversion HH; inversion HM; subst.
  destruct (says l) as [s c rel o reads| | | | | | | | | | | | | |] eqn:Hs;
    try (unfold follow in HF; cbn [map] in HF; rewrite Hs in HF; discriminate HF).
  assert (HC : curve_sane c) by (apply (sane_of l s c rel o reads); auto).
  assert (Hi : exists rho, to_zcdp (Private s c rel o reads) = Some (Private s (Zcdp rho) rel o reads) /\ 0 <= Q2R rho /\ follows W c (Zcdp rho)).
  { unfold follow in HF. cbn [map infer conversion] in HF. rewrite Hs in HF.
    destruct (to_zcdp (Private s c rel o reads)) as [gives|] eqn:Et; [|discriminate]. clear HF.
    unfold to_zcdp in Et. cbn [law_in] in Et.
    destruct c as [e|e d|rho|m|m d|eta|variance shifts count|points]; cbn [with_law] in Et; try discriminate; simpl in HC.
    - injection Et as <-. eexists. split; [reflexivity|].
      assert (E : Q2R (Steps.over (times e e) (of_Z 2)) = Q2R e * Q2R e / 2) by (rewrite over_R, times_R, of_Z_R; [auto | rewrite of_Z_R; lra]).
      split; [rewrite E; nra | apply pure_to_zcdp; auto].
    - injection Et as <-. eexists. split; [reflexivity|].
      assert (E : Q2R (Steps.over m (of_Z 2)) = Q2R m / 2) by (rewrite over_R, of_Z_R; [auto | rewrite of_Z_R; lra]).
      split; [rewrite E; lra | apply gdp_to_zcdp; auto].
    - injection Et as <-. eexists. split; [reflexivity|].
      assert (E : Q2R (Steps.over (times eta eta) (of_Z 8)) = Q2R eta * Q2R eta / 8) by (rewrite over_R, times_R, of_Z_R; [auto | rewrite of_Z_R; lra]).
      split; [rewrite E; nra | apply range_to_zcdp; auto].
    - destruct HC as [Hv Hk]. destruct shifts as [|s0 shifts0]; [discriminate|]. set (shifts := s0 :: shifts0) in *. injection Et as <-. eexists. split; [reflexivity|].
      assert (E : Q2R (Steps.over (Steps.over (times (of_Z count) (of_Z (longest shifts))) variance) (of_Z 2)) = IZR count * IZR (longest shifts) / Q2R variance / 2).
      { rewrite over_R by (rewrite of_Z_R; lra). rewrite over_R by lra. rewrite times_R, !of_Z_R. auto. }
      split; [|apply lattice_to_zcdp; auto]. rewrite E.
      destruct (longest_most shifts s0 (or_introl eq_refl)) as [_ L]. apply IZR_le in L. apply IZR_le in Hk.
      apply Rdiv_le_0_compat; [|lra]. apply Rdiv_le_0_compat; auto. nra. }
  destruct Hi as [rho [Ht [Hr Hf]]].
  apply (with_law_sound W ByToZcdp l n s c rel o reads (Zcdp rho)); simpl; auto.
  rewrite Hs. intros gives E. congruence.
Qed.
