(** What the lattice rule decides is so: V_n(e^ε) ≤ δ ([lattice_right]). *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool Permutation.
From DP.base Require Import Laws Sums.
From DP Require Import Facts Steps Definitions.
From DP.core Require Import Costs Numbers.
From DP.decide Require Import Fixed Functions Decide.
From DP.conversions Require Import Lattices Packed Shifted Cells Repeats Weights Measures.
Import ListNotations.
Open Scope R_scope.

Definition cells_of p variance radius steps count : list Z :=
  fold_left (fun cells step => multiply cells (raised (spread_out step (ones p variance radius)) count)) steps [1%Z].

Lemma lattice_law_is p variance radius steps count : lattice_law p variance radius steps count =
  match beyond p variance radius with
  | Some tail => Some (cells_of p variance radius steps count, (radius * sum_z steps * Zpos count)%Z,
                       sum_z (ones p variance radius), (tops p variance radius + tail)%Z)
  | None => None
  end.
Proof.
  unfold lattice_law, cells_of, ones, tops, both. cbv zeta. rewrite !map_map.
  cbn [seq map tl]. rewrite !map_map. reflexivity.
Qed.

Lemma times_length l n : length (times_over l n) = (n * length l)%nat.
Proof. induction n as [|n IH]; cbn [times_over]; auto. rewrite app_length, IH. lia. Qed.

Lemma half_times l n : half (times_over l n) = INR n * half l.
Proof.
  induction n as [|n IH]; [unfold half; simpl; lra|]. cbn [times_over]. unfold half in *.
    rewrite total_app, IH, S_INR. lra.
Qed.

Lemma sum_squares l : IZR (sum_z (map (fun v => v * v)%Z l)) = total sq l.
Proof.
  induction l as [|a l IH]; auto. cbn [map total]. rewrite sum_z_cons, plus_IZR, mult_IZR, IH. reflexivity.
Qed.

Lemma ceiling_above q : Q2R q <= IZR (ceiling_q q).
Proof.
  unfold ceiling_q, Q2R. assert (Hd : 0 < IZR (Zpos (Qden q))) by (apply IZR_lt; lia).
  pose proof (up_div_le (Qnum q) (Zpos (Qden q)) ltac:(lia)) as H.
    apply Rmult_le_reg_r with (IZR (Zpos (Qden q))); auto.
  rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

Lemma floor_below q : Q2R q < IZR (floor_q q + 1).
Proof.
  unfold floor_q, Q2R. assert (Hd : 0 < IZR (Zpos (Qden q))) by (apply IZR_lt; lia).
  apply Rmult_lt_reg_r with (IZR (Zpos (Qden q))); auto. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  rewrite <- mult_IZR. apply IZR_lt. pose proof (Z.mul_succ_div_gt (Qnum q) (Zpos (Qden q)) ltac:(lia)). lia.
Qed.

Section Right.
  Variables (p : positive) (variance : Q) (radius tail : Z) (steps : list Z) (count : positive) (N : law Z).
  Hypotheses (Hv : 0 < Q2R variance) (HN : discrete_normal (Q2R variance) N) (Hr : (0 <= radius)%Z).
  Hypothesis Htail : beyond p variance radius = Some tail.
  Hypothesis Hsteps : Forall (fun a => (1 <= a)%Z) steps.

  Let s := Q2R variance.
  Let n := Pos.to_nat count.
  Let L := times_over steps n.
  Let cells := cells_of p variance radius steps count.
  Let reach := (radius * sum_z steps * Zpos count)%Z.
  Let low := sum_z (ones p variance radius).
  Let high := (tops p variance radius + tail)%Z.

  Lemma cells_layered f : mass cells (- reach) f = layered (ones p variance radius) radius L f 0.
  Proof.
    destruct (ones_good p variance Hv radius) as [G1 G2].
    pose proof (cells_mass _ radius G1 G2 count steps Hsteps [1%Z] ltac:(discriminate) ltac:(repeat constructor;
      lia) f 0) as H.
    replace (0 - radius * sum_z steps * Z.pos count)%Z with (- reach)%Z in H by (unfold reach; lia).
    unfold cells, cells_of. rewrite H. cbn [mass].
      rewrite <- (layered_permuted _ radius _ _ f (grouped_permuted steps count)).
    unfold L, n. ring.
  Qed.

  Lemma cells_below f : test f -> mass cells (- reach) f / IZR high ^ length L <= dot N L f.
  Proof.
    intros Hf. destruct (ones_good p variance Hv radius) as [G1 G2].
    destruct (low_enough p variance Hv N HN radius tail Hr Htail) as [H1 H2]. rewrite cells_layered.
    pose proof (layered_below _ radius G1 N (IZR high) H1 H2 L f 0 Hf) as [_ H]. exact H.
  Qed.

  Lemma cells_total : IZR (sum_z cells) = IZR low ^ length L.
  Proof. rewrite <- (mass_one cells (- reach)), cells_layered. apply layered_one. Qed.

  Lemma high_pos : 0 < IZR high.
  Proof. apply (low_enough p variance Hv N HN radius tail Hr Htail). Qed.

  Lemma least_most : 0 <= IZR low ^ length L <= IZR high ^ length L.
  Proof.
    destruct (ones_good p variance Hv radius) as [G1 G2]. pose proof high_pos as Hh.
    destruct (low_enough p variance Hv N HN radius tail Hr Htail) as [_ H2].
    assert (T1 : test (fun _ : Z => 1)) by (intros z; lra).
    specialize (H2 _ T1). rewrite E_const, mass_one in H2 by lra. fold low high in H2.
    assert (H0 : 0 <= IZR low) by (unfold low; rewrite <- (mass_one _ 0); apply mass_nonneg; auto; intros; lra).
    split; [apply pow_le; auto|]. apply pow_incr. split; auto.
    apply Rmult_le_compat_r with (r := IZR high) in H2; [|lra]. unfold Rdiv in H2.
      rewrite Rmult_assoc, Rinv_l in H2; lra.
  Qed.

  Lemma V_decided e b a : 0 < IZR low ^ length L -> half L - s * e <= IZR b -> s * e + half L < IZR a ->
    V s N steps n (exp e) <=
      IZR (sum_z (firstn (Z.to_nat (Z.max 0 (b + reach))) cells)) / IZR low ^ length L
      + (IZR high ^ length L - IZR low ^ length L) / IZR low ^ length L
      - exp e * (IZR (sum_z (skipn (Z.to_nat (Z.max 0 (a + reach))) cells)) / IZR high ^ length L).
  Proof.
    intros Hl Hb Ha. pose proof least_most as [_ HM]. pose proof high_pos as Hh.
    set (least := IZR low ^ length L) in *. set (most := IZR high ^ length L) in *.
    apply Rle_trans with (1 := excess_of_events s N Hv HN steps n e). fold L.
    assert (Hmiss : IZR (sum_z (skipn (Z.to_nat (Z.max 0 (a + reach))) cells)) / most <=
      dot N L (above_of (s * e + half L))).
    { replace (a + reach)%Z with (a - - reach)%Z by lia. rewrite <- mass_from.
      apply Rle_trans with (1 := cells_below _ (from_test a)). apply E_mono; auto using from_test, above_of_test.
      intros t. unfold from, above_of. destruct (Z.leb_spec a t) as [H|H], (Rlt_dec (s * e + half L) (IZR t));
        try lra.
      apply IZR_le in H. lra. }
    assert (Hhit : dot N L (above_of (s * e - half L)) <=
      1 - IZR (sum_z (skipn (Z.to_nat (Z.max 0 (b + reach))) cells)) / most).
    { rewrite <- (dot_even s N HN) by apply above_of_test.
      assert (TE : test (fun t => above_of (s * e - half L) (- t)%Z)) by (intros t; apply above_of_test).
      assert (G : IZR (sum_z (skipn (Z.to_nat (Z.max 0 (b + reach))) cells)) / most <=
        dot N L (fun t => 1 - above_of (s * e - half L) (- t)%Z)).
      { replace (b + reach)%Z with (b - - reach)%Z by lia. rewrite <- mass_from.
        apply Rle_trans with (1 := cells_below _ (from_test b)). apply E_mono; auto using from_test, test_minus.
        intros t. unfold from, above_of. destruct (Z.leb_spec b t) as [H|H], (Rlt_dec (s * e - half L) (IZR
          (- t))) as [H'|H']; try lra.
        apply IZR_le in H. rewrite opp_IZR in H'. lra. }
      rewrite E_minus in G by auto. lra. }
    pose proof (sum_parts (Z.to_nat (Z.max 0 (b + reach))) cells) as SP. rewrite cells_total in SP. fold least in SP.
    set (f := IZR (sum_z (firstn (Z.to_nat (Z.max 0 (b + reach))) cells))) in *.
    set (r := IZR (sum_z (skipn (Z.to_nat (Z.max 0 (b + reach))) cells))) in *.
    assert (Hf : 0 <= f).
    { unfold f. rewrite <- (mass_one _ 0). apply mass_nonneg; [|intros; lra].
      assert (HC : nonneg cells).
      { destruct (ones_good p variance Hv radius) as [G1 G2]. unfold cells, cells_of.
        assert (GG : forall l c, c <> [] -> nonneg c ->
          nonneg (fold_left (fun cells step => multiply cells (raised (spread_out step
            (ones p variance radius)) count)) l c)).
        { induction l as [|x l IH]; intros c C1 C2; cbn [fold_left]; auto.
          destruct (raised_good (spread_out x (ones p variance radius)) count (spread_full _ G1 G2 x)
            (spread_nonneg x _ G1)) as [R1 R2].
          rewrite multiply_conv by auto. apply IH; auto using conv_full, conv_nonneg. }
        apply GG; [discriminate | repeat constructor; lia]. }
      apply Forall_forall. intros z Hz. unfold nonneg in HC. rewrite Forall_forall in HC. apply HC.
      rewrite <- (firstn_skipn (Z.to_nat (Z.max 0 (b + reach))) cells). apply in_or_app. auto. }
    assert (Hr1 : 1 - r / most <= f / least + (most - least) / least).
    { replace (1 - r / most) with ((f + (most - least)) / most) by (replace r with (least - f) by lra; field; lra).
      replace (f / least + (most - least) / least) with ((f + (most - least)) / least) by (field; lra).
      unfold Rdiv. apply Rmult_le_compat_l; [lra|]. apply Rinv_le_contravar; lra. }
    pose proof (exp_pos e). nra.
  Qed.
End Right.

Lemma moving_steps u : Forall (fun a => (1 <= a)%Z) (moving u).
Proof.
  apply Forall_forall. intros a Ha. unfold moving in Ha. apply filter_In in Ha. destruct Ha as [Ha H0].
  apply in_map_iff in Ha. destruct Ha as [b [<- _]]. destruct (Z.eqb_spec (Z.abs b) 0); [discriminate | lia].
Qed.

Lemma V_nothing s N n e : 0 < s -> 0 <= e -> V s N [] n (exp e) = 0.
Proof.
  intros Hs He. unfold V. assert (E : times_over [] n = []) by (induction n; auto). rewrite E. unfold half; simpl.
  replace ((0 + 0) / s) with 0 by (field; lra). rewrite Ropp_0, exp_0, Rmult_1_r. unfold missed.
  pose proof (exp_le _ _ He) as H. rewrite exp_0 in H. rewrite Rmin_right, Rmax_left; lra.
Qed.

Theorem lattice_right variance shift count epsilon delta N : 0 < Q2R variance -> discrete_normal (Q2R variance) N ->
  0 <= Q2R epsilon -> 0 <= Q2R delta -> lattice_at_most variance shift count epsilon delta = true ->
  V (Q2R variance) N (moving shift) (Z.to_nat count) (exp (Q2R epsilon)) <= Q2R delta.
Proof.
  intros Hv HN He Hd. unfold lattice_at_most. fold (moving shift). pose proof (moving_steps shift) as HS.
  destruct (moving shift) as [|a0 rest] eqn:Em; [intros _; rewrite V_nothing; auto|]. rewrite <- Em in *.
    clear Em a0 rest.
  set (steps := moving shift) in *. cbv zeta.
  set (halfQ := Qred ((count * sum_z (map (fun v => v * v)%Z steps)) # 2)).
  set (b := ceiling_q (minus halfQ (times variance epsilon))).
  set (a := floor_q (plus halfQ (times variance epsilon))).
  set (dg := (24 + 2 * digits10 (Qinv delta))%Z).
  set (radius := (Z.sqrt (floor_q (times (times 2 variance) (of_Z (dg * 3)))) + 2)%Z).
  set (p := Z.to_pos (dg * 4)). rewrite lattice_law_is.
  destruct (_ && _)%bool eqn:Ec; [|discriminate]. repeat (apply andb_prop in Ec; destruct Ec as [Ec ?]).
  assert (Hcount : (1 <= count)%Z) by (apply Z.leb_le; auto). clear Ec.
  assert (Hr : (0 <= radius)%Z) by (unfold radius;
    pose proof (Z.sqrt_nonneg (floor_q (times (times 2 variance) (of_Z (dg * 3))))); lia).
  destruct (beyond p variance radius) as [tail|] eqn:Eb; [|discriminate].
  assert (Ecount : Pos.to_nat (Z.to_pos count) = Z.to_nat count) by (destruct count; auto; lia).
  assert (Epos : Z.pos (Z.to_pos count) = count) by (destruct count; auto; lia).
  set (cells := cells_of p variance radius steps (Z.to_pos count)).
  set (reach := (radius * sum_z steps * Z.pos (Z.to_pos count))%Z).
  set (low := sum_z (ones p variance radius)). set (high := (tops p variance radius + tail)%Z).
  set (L := times_over steps (Z.to_nat count)).
  assert (EL : (Z.of_nat (length steps) * count)%Z = Z.of_nat (length L)) by (unfold L; rewrite times_length; lia).
  rewrite EL. destruct (Z.ltb_spec 0 (low ^ Z.of_nat (length L))) as [Hl|]; [|discriminate]. intros HA.
  apply at_most_sound in HA. cbn [eval] in HA. apply Rle_trans with (2 := HA). clear HA.
  assert (Hl' : 0 < IZR low ^ length L) by (rewrite pow_IZR; apply IZR_lt; auto).
  assert (Ehalf : Q2R halfQ = half L).
  { unfold halfQ, L. rewrite Q2R_red, half_times, half_sq, <- sum_squares. unfold Q2R; simpl. rewrite mult_IZR.
    rewrite INR_IZR_INZ, Z2Nat.id by lia. field. }
  pose proof (V_decided p variance radius tail steps (Z.to_pos count) N Hv HN Hr Eb HS (Q2R epsilon) b (a + 1)) as G.
  rewrite Ecount in G. fold L in G. fold low high cells reach in G.
  pose proof (least_most p variance radius tail steps (Z.to_pos count) N Hv HN Hr Eb) as LM. rewrite Ecount in LM.
    fold L low high in LM.
  pose proof (ceiling_above (minus halfQ (times variance epsilon))) as HB. rewrite minus_R, times_R, Ehalf in HB.
    fold b in HB.
  pose proof (floor_below (plus halfQ (times variance epsilon))) as HF. rewrite plus_R, times_R, Ehalf in HF.
    fold a in HF.
  specialize (G Hl' ltac:(lra) ltac:(lra)).
  assert (Hm : (0 < high ^ Z.of_nat (length L))%Z) by (apply lt_IZR; rewrite <- pow_IZR; lra).
  assert (EQ : forall x y, (0 < y)%Z -> Q2R (x # Z.to_pos y) = IZR x / IZR y).
  { intros x y Hy. unfold Q2R; simpl. rewrite Z2Pos.id by auto. reflexivity. }
  rewrite !EQ by auto. rewrite plus_IZR, minus_IZR, <- !pow_IZR. apply Rle_trans with (1 := G). right. field.
    split; apply Rgt_not_eq; lra.
Qed.
