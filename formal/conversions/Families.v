(** Groups of units: costs from neighbour to neighbour. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String FunctionalExtensionality.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Bounds Powers Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.noise Require Import Infer.
From DP.decide Require Import Decide.
From DP.conversions Require Import Infer Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- from P to Q to S *)

Section Three.
  Context {A : Type} (P Q S : law A).

  Lemma pure_between a b : pure_cost a P Q -> pure_cost b Q S -> pure_cost (a + b) P S.
  Proof.
    intros H1 H2 f Hf. rewrite exp_plus, Rmult_assoc. apply Rle_trans with (1 := H1 f Hf).
    apply Rmult_le_compat_l; [left; apply exp_pos | apply H2; auto].
  Qed.

  (** Of Rényi divergences of all orders: with a share s of the way from order 1 for the one, and the rest for the other. *)
  Lemma zcdp_between a b s : 0 < s < 1 -> zcdp_cost a P Q -> zcdp_cost b Q S -> zcdp_cost (a / s + b / (1 - s)) P S.
  Proof.
    intros Hs H1 H2 theta Ht f Hf. set (t1 := 1 + s * (theta - 1)). set (t2 := theta / t1).
    assert (T1 : 1 < t1) by (unfold t1; nra). assert (T1' : t1 < theta) by (unfold t1; nra).
    assert (T2 : 1 < t2) by (unfold t2; apply Rmult_lt_reg_r with t1; [lra|]; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra).
    assert (Hg : test (fun x => power (f x) t1)) by (apply power_test; auto; lra).
    pose proof (H1 t1 T1 f Hf) as R1. pose proof (H2 t2 T2 _ Hg) as R2. cbv beta in R2.
    assert (E : S (fun x => power (power (f x) t1) t2) = S (fun x => power (f x) theta)).
    { apply E_ext. intros x. rewrite power_power. f_equal. unfold t2. field. lra. }
    rewrite E in R2. apply Rle_trans with (1 := R1).
    apply Rle_trans with (exp (t1 / (t1 - 1) * a / t1) * power (exp (t2 / (t2 - 1) * b / t2) * power (S (fun x => power (f x) theta)) (1 / t2)) (1 / t1)).
    - apply Rmult_le_compat_l; [left; apply exp_pos|]. apply power_mono.
      + left. apply Rdiv_lt_0_compat; lra.
      + split; auto. apply E_test; auto.
    - rewrite power_mult by (try apply power_nonneg; left; apply exp_pos). rewrite power_exp, power_power, <- Rmult_assoc, <- exp_plus.
      right. f_equal; [f_equal|f_equal].
      + unfold t2, t1. assert (1 + s * (theta - 1) <> 0) by (fold t1; lra). field.
        repeat split; try lra; fold t1; try lra; nra.
      + unfold t2. field. split; lra.
  Qed.

  Lemma sqrt_share a b s : 0 < s < 1 -> 0 <= a -> 0 <= b -> sqrt a + sqrt b <= sqrt (a / s + b / (1 - s)).
  Proof.
    intros Hs Ha Hb. pose proof (sqrt_pos a). pose proof (sqrt_pos b).
    rewrite <- (sqrt_square (sqrt a + sqrt b)) by lra. apply sqrt_le_1_alt.
    pose proof (sqrt_def a Ha) as Ea. pose proof (sqrt_def b Hb) as Eb. set (x := sqrt a) in *. set (y := sqrt b) in *.
    rewrite <- Ea, <- Eb. apply Rmult_le_reg_r with (s * (1 - s)); [nra|].
    replace ((x * x / s + y * y / (1 - s)) * (s * (1 - s))) with (x * x * (1 - s) + y * y * s) by (field; lra).
    assert (0 <= (x * (1 - s) - y * s) * (x * (1 - s) - y * s)) by (apply Rle_0_sqr). nra.
  Qed.

  Lemma gdp_between a b s : 0 < s < 1 -> 0 <= a -> 0 <= b -> gdp_cost a P Q -> gdp_cost b Q S -> gdp_cost (a / s + b / (1 - s)) P S.
  Proof.
    intros Hs Ha Hb H1 H2 f z Hf Hz. pose proof (H1 f _ Hf (H2 f z Hf Hz)) as H. apply Rle_trans with (1 := H). apply Phi_le.
    pose proof (sqrt_share a b s Hs Ha Hb). lra.
  Qed.
End Three.

(* ---------------------------------------------------------------- along a chain of datasets *)

Section Chains.
  Context {M R0 : Type} (next : data R0 -> data R0 -> Prop) (draw : data R0 -> history M -> law M).
  Local Notation H := (history M).

  (** Shares of a chain of n steps after the first one. *)
  Lemma share_of n : (0 < n)%nat -> 0 < / (INR n + 1) < 1.
  Proof.
    intros Hn. assert (0 < INR n) by (apply lt_0_INR; auto). split; [apply Rinv_0_lt_compat; lra|].
    rewrite <- Rinv_1. apply Rinv_lt_contravar; lra.
  Qed.

  Lemma adds_up_chain (cost : R -> law M -> law M -> Prop) b g (E : forall a b s (P Q S : law M), 0 < s < 1 -> 0 <= a -> 0 <= b -> cost a P Q -> cost b Q S -> cost (a / s + b / (1 - s)) P S) :
    grows_with cost -> free_of_charge cost -> 0 <= b -> always next draw (adds_up cost b g) ->
    forall n d d', steps next n d d' -> adds_up cost (INR n * INR n * b) g (draw d) (draw d').
  Proof.
    intros HG HF Hb HA. assert (Z : forall d, adds_up cost 0 g (draw d) (draw d)).
    { intros d. exists (fun _ => 0). repeat split; [intros; lra | intros; apply HF, same_refl | intros; rewrite spent_zero; lra]. }
    induction n as [|n IH]; intros d d' Hs; cbn [steps] in Hs.
    - subst. simpl. rewrite Rmult_0_l, Rmult_0_l. apply Z.
    - destruct Hs as [e [He Hs]]. specialize (IH e d' Hs). rewrite S_INR. pose proof (pos_INR n) as Pn.
      destruct He as [<-|He].
      { apply (adds_up_more cost (INR n * INR n * b)); auto. nra. }
      specialize (HA _ _ He). destruct n as [|n].
      { cbn [steps] in Hs. subst. simpl. replace ((0 + 1) * (0 + 1) * b) with b by ring. auto. }
      set (N := INR (S n)) in *. pose proof (share_of (S n) ltac:(lia)) as Hsh. fold N in Hsh.
      assert (HN : 0 < N) by (apply lt_0_INR; lia).
      destruct HA as [c [C1 [C2 C3]]]. destruct IH as [c' [C1' [C2' C3']]].
      exists (fun h => (N + 1) * c h + (N + 1) / N * c' h). repeat split.
      + intros h. specialize (C1 h). specialize (C1' h). assert (0 <= (N + 1) / N) by (left; apply Rdiv_lt_0_compat; lra). nra.
      + intros h Hh. replace ((N + 1) * c h + (N + 1) / N * c' h) with (c h / (/ (N + 1)) + c' h / (1 - / (N + 1))) by (field; lra).
        apply (E _ _ _ _ (draw e h)); auto.
      + intros h. rewrite spent_plus, !spent_scale. specialize (C3 h). specialize (C3' h).
        apply Rmult_le_compat_l with (r := N + 1) in C3; [|lra].
        apply Rmult_le_compat_l with (r := (N + 1) / N) in C3'; [|left; apply Rdiv_lt_0_compat; lra].
        replace ((N + 1) / N * (N * N * b)) with ((N + 1) * (N * b)) in C3' by (field; lra). nra.
  Qed.

  Lemma pure_chain b g : 0 <= b -> always next draw (adds_up pure_cost b g) ->
    forall n d d', steps next n d d' -> adds_up pure_cost (INR n * b) g (draw d) (draw d').
  Proof.
    intros Hb HA. induction n as [|n IH]; intros d d' Hs; cbn [steps] in Hs.
    - subst. simpl. rewrite Rmult_0_l. exists (fun _ => 0). repeat split; [intros; lra | intros; apply pure_free, same_refl | intros; rewrite spent_zero; lra].
    - destruct Hs as [e [He Hs]]. specialize (IH e d' Hs). rewrite S_INR. destruct He as [<-|He].
      { apply (adds_up_more pure_cost (INR n * b)); auto. nra. }
      destruct (HA _ _ He) as [c [C1 [C2 C3]]]. destruct IH as [c' [C1' [C2' C3']]].
      exists (fun h => c h + c' h). repeat split.
      + intros h. specialize (C1 h). specialize (C1' h). lra.
      + intros h Hh. apply (pure_between _ (draw e h)); auto.
      + intros h. rewrite spent_plus. specialize (C3 h). specialize (C3' h). lra.
  Qed.

  Lemma geometric_more r n : 0 <= r -> geometric r n <= geometric r (S n) /\ geometric r (S n) = 1 + r * geometric r n.
  Proof.
    intros Hr. split; [simpl; pose proof (pow_le r n Hr); lra|].
    induction n as [|n IH]; [simpl; lra|]. change (geometric r (S (S n))) with (geometric r (S n) + r ^ S n). rewrite IH at 1.
    change (geometric r (S n)) with (geometric r n + r ^ n). simpl. ring.
  Qed.

  Lemma geometric_nonneg r n : 0 <= r -> 0 <= geometric r n.
  Proof. intros Hr. induction n; simpl; [lra|]. pose proof (pow_le r n Hr). lra. Qed.

  Lemma approximate_chain e d g : 0 <= e -> 0 <= d -> always next draw (approximate e d g) ->
    forall n x x', steps next n x x' -> approximate (INR n * e) (d * geometric (exp e) n) g (draw x) (draw x').
  Proof.
    intros He Hd HA. pose proof (exp_pos e) as Pe. assert (1 <= exp e) by (rewrite <- exp_0; apply exp_le; auto).
    induction n as [|n IH]; intros x x' Hs; cbn [steps] in Hs.
    - subst. simpl. rewrite Rmult_0_l, Rmult_0_r. apply approximate_same with (k := draw x') (l := draw x'); [intros; split; apply same_refl|].
      intros h p q _ HC. apply (chance_free (fun _ => false) g) in HC; [|intros; apply same_refl].
      apply (approximate_none 0 0 (draw x') (draw x') ltac:(lra) ltac:(lra) h p q); auto. intros m b _. auto.
    - destruct Hs as [y [Hy Hs]]. specialize (IH y x' Hs). rewrite S_INR. destruct (geometric_more (exp e) n ltac:(lra)) as [G1 G2].
      destruct Hy as [<-|Hy].
      { apply (approximate_more (INR n * e) (d * geometric (exp e) n)); auto; [nra|]. apply Rmult_le_compat_l; auto. }
      intros h p q HF HC. apply le_all with (exp e); [lra|]. intros t Ht.
      destruct (chance_middle g (draw x) (draw y) (draw x') h p q t HC Ht) as [s [s' [C1 [C2 Hst]]]].
      pose proof (HA x y Hy h p s HF C1). pose proof (IH h s' q HF C2) as HI.
      rewrite G2. replace ((INR n + 1) * e) with (e + INR n * e) by ring. rewrite exp_plus.
      pose proof (geometric_nonneg (exp e) n ltac:(lra)).
      assert (exp e * s <= exp e * (exp (INR n * e) * q + d * geometric (exp e) n + t)) by (apply Rmult_le_compat_l; lra). nra.
  Qed.

  Lemma near_chain m t g (ideal : data R0 -> history M -> law M) : 0 <= m -> 0 <= t ->
    (forall x x', next x x' -> near_pair m t g (draw x) (draw x') (ideal x) (ideal x')) ->
    forall n x x', steps next n x x' -> near_pair (INR n * INR n * m) (INR n * t) g (draw x) (draw x') (ideal x) (ideal x').
  Proof.
    intros Hm Ht HA. induction n as [|n IH]; intros x x' Hs; cbn [steps] in Hs.
    - subst. simpl. exists (fun _ => 0), (fun _ => 0). repeat split; try lra; try (rewrite spent_zero; lra).
      intros h _. left. split; apply same_refl.
    - destruct Hs as [y [Hy Hs]]. specialize (IH y x' Hs). rewrite S_INR. pose proof (pos_INR n) as Pn. destruct Hy as [<-|Hy].
      { apply (near_pair_more (INR n * INR n * m) (INR n * t)); auto; nra. }
      specialize (HA x y Hy). destruct n as [|n].
      { cbn [steps] in Hs. subst. simpl. replace ((0 + 1) * (0 + 1) * m) with m by ring. replace ((0 + 1) * t) with t by ring. auto. }
      set (N := INR (S n)) in *. pose proof (share_of (S n) ltac:(lia)) as Hsh. fold N in Hsh.
      assert (HN : 0 < N) by (apply lt_0_INR; lia).
      assert (HNN : 1 <= (N + 1) / N).
      { replace ((N + 1) / N) with (1 + / N) by (field; lra). assert (0 < / N) by (apply Rinv_0_lt_compat; auto). lra. }
      destruct HA as [c [u [A1 [A2 A3]]]]. destruct IH as [c' [u' [B1 [B2 B3]]]].
      exists (fun h => (N + 1) * c h + (N + 1) / N * c' h), (fun h => u h + u' h). split; [|split].
      + intros h. specialize (A1 h). specialize (B1 h). split; [|lra]. nra.
      + intros h Hh. specialize (A1 h). specialize (B1 h). destruct A1 as [A1 A1'], B1 as [B1 B1'].
        destruct (A2 h Hh) as [[S1 S2]|[G1 [N1 N2]]]; destruct (B2 h Hh) as [[T1 T2]|[G2 [N3 N4]]].
        * left. split; eapply same_trans; eauto.
        * right. split; [|split].
          -- apply (gdp_grows (c' h)); [nra|]. apply (gdp_laws (c' h) (ideal y h) (ideal x' h)); auto; [apply same_sym; auto | apply same_refl].
          -- apply (near_cost_grows _ _ (u' h)); [lra|]. intros f Hf. rewrite (S1 f Hf), (S2 f Hf). apply N3; auto.
          -- apply (near_cost_grows _ _ (u' h)); auto; lra.
        * right. split; [|split].
          -- apply (gdp_grows (c h)); [nra|]. apply (gdp_laws (c h) (ideal x h) (ideal y h)); auto. apply same_refl.
          -- apply (near_cost_grows _ _ (u h)); auto; lra.
          -- apply (near_cost_grows _ _ (u h)); [lra|]. intros f Hf. rewrite <- (T1 f Hf), <- (T2 f Hf). apply N2; auto.
        * right. split; [|split].
          -- replace ((N + 1) * c h + (N + 1) / N * c' h) with (c h / (/ (N + 1)) + c' h / (1 - / (N + 1))) by (field; lra).
             apply (gdp_between _ (ideal y h)); auto.
          -- apply (near_cost_grows _ _ (u h)); auto; lra.
          -- apply (near_cost_grows _ _ (u' h)); auto; lra.
      + intros h. rewrite !spent_plus, !spent_scale. destruct (A3 h) as [X1 X2], (B3 h) as [Y1 Y2]. split; [|lra].
        apply Rmult_le_compat_l with (r := N + 1) in X1; [|lra].
        apply Rmult_le_compat_l with (r := (N + 1) / N) in Y1; [|lra].
        replace ((N + 1) / N * (N * N * m)) with ((N + 1) * (N * m)) in Y1 by (field; lra). nra.
  Qed.

  Lemma grown_satisfies size delta c c' asks (group : (H -> bool) -> Prop) : (2 <= size)%Z -> curve_sane c -> grown c size delta = Some c' ->
    curve_sane c' /\ (satisfies next draw c asks group -> satisfies (steps next (Z.to_nat size)) draw c' asks group).
  Proof.
    intros Hsize HS HG.
    assert (EN : INR (Z.to_nat size) = IZR size) by (rewrite INR_IZR_INZ, Z2Nat.id; auto; lia).
    assert (PN : 0 <= IZR size) by (apply IZR_le; lia).
    destruct c, delta; cbn [grown] in HG; try discriminate; simpl in HS.
    - injection HG as <-. cbn [curve_sane]. rewrite times_R, of_Z_R. split; [nra|]. intros HA g Hg x x' Hx.
      rewrite times_R, of_Z_R, <- EN. apply (pure_chain (Q2R epsilon) g); [auto | exact (HA g Hg) | auto].
    - destruct (at_most _ q) eqn:Ea in HG; [|discriminate]. injection HG as <-. apply at_most_sound in Ea. cbn [eval] in Ea.
      assert (EP : Pos.to_nat (Z.to_pos size) = Z.to_nat size) by (destruct size; auto; lia). rewrite EP in Ea.
      assert (0 <= Q2R delta0 * geometric (exp (Q2R epsilon)) (Z.to_nat size)).
      { apply Rmult_le_pos; [tauto|]. apply geometric_nonneg. left; apply exp_pos. }
      cbn [curve_sane]. rewrite times_R, of_Z_R. split; [split; [nra | lra]|]. intros HA g Hg x x' Hx.
      rewrite times_R, of_Z_R, <- EN. apply (approximate_more (INR (Z.to_nat size) * Q2R epsilon) (Q2R delta0 * geometric (exp (Q2R epsilon)) (Z.to_nat size))); [lra | auto|].
      apply approximate_chain; [tauto | tauto | exact (HA g Hg) | auto].
    - injection HG as <-. cbn [curve_sane]. rewrite !times_R, of_Z_R. split; [nra|]. intros HA g Hg x x' Hx.
      rewrite !times_R, of_Z_R, <- EN. apply (adds_up_chain zcdp_cost (Q2R rho) g); [| apply zcdp_grows | apply zcdp_free | auto | exact (HA g Hg) | auto].
      intros a b s P Q S Hs _ _. apply zcdp_between; auto.
    - injection HG as <-. cbn [curve_sane]. rewrite !times_R, of_Z_R. split; [nra|]. intros HA g Hg x x' Hx.
      rewrite !times_R, of_Z_R, <- EN. apply (adds_up_chain gdp_cost (Q2R mu_squared) g); [| apply gdp_grows | apply gdp_free | auto | exact (HA g Hg) | auto].
      intros a b s P Q S Hs Ha Hb. apply gdp_between; auto.
    - injection HG as <-. cbn [curve_sane]. rewrite !times_R, of_Z_R. split; [split; nra|]. intros HA g Hg.
      destruct (HA g Hg) as [ideal HI]. exists ideal. intros x x' Hx. rewrite !times_R, of_Z_R, <- EN.
      apply (near_chain (Q2R mu_squared) (Q2R distance) g ideal); try tauto.
  Qed.
End Chains.

Theorem group_sound : sound_rule "group".
Proof.
  intros st HR. destruct st; try discriminate HR. clear HR. intros W found n HW HH HM HF _.
  one_premise found l. pose proof (Forall_inv HH) as Hl. pose proof (Forall_inv HM) as Ml.
  assert (Hi : exists s c rel o reads c', says l = Private s c rel o reads /\ (2 <= size)%Z /\ grown c size delta = Some c' /\
    (forall gives, group size delta (says l) = Some gives -> gives = Private s c' (Groups rel size) o reads)).
  { unfold follow in HF. cbn [map infer conversion] in HF. destruct (group size delta (says l)) as [f|] eqn:Ew; [|discriminate].
    unfold group in Ew. destruct (says l) as [s c rel o reads| | | | | | | | | | | | | |]; try discriminate.
    destruct (2 <=? size)%Z eqn:E2; [|discriminate]. destruct (grown c size delta) as [c'|] eqn:Eg; [|discriminate].
    exists s, c, rel, o, reads, c'. split; [auto|split; [apply Z.leb_le; auto|split; [auto|]]]. intros gives E. congruence. }
  destruct Hi as [s [c [rel [o [reads [c' [Hs [H2 [Hg Hgives]]]]]]]]].
  assert (HC : curve_sane c) by (destruct Ml as [_ [_ M]]; rewrite Hs in M; apply M).
  apply (restated_sound W (ByGroup size delta) l n s c rel o reads s c' (Groups rel size) o); simpl; auto.
  - apply (grown_satisfies (fun _ _ : data unit => True) (fun _ _ => point tt) size delta c c' (fun _ => true) (fun _ => True)); auto.
  - intros ds gone persons views [P1 [P2 P3]]. unfold private_holds. split; [auto|split; [auto|]].
    destruct reads as [[f la]|].
    + intros HE. destruct (P3 HE) as [G R]. split; auto.
      destruct persons; apply (proj2 (grown_satisfies _ _ size delta c c' _ _ H2 HC Hg)); auto.
    + intros ov HE. destruct (P3 ov HE) as [G R]. split; auto.
      destruct persons; apply (proj2 (grown_satisfies _ _ size delta c c' _ _ H2 HC Hg)); auto.
Qed.
