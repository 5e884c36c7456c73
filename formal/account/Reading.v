(** Whether the hockey-stick of a lattice at e^ε is at most δ: `at_most_delta_sound`. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List.
From DP.base Require Import Laws Sums.
From DP.decide Require Import Fixed Functions.
From DP.account Require Import Pairs Lattice Product Dots.
Import ListNotations.
Open Scope R_scope.

(** Masses of the nodes from s downward, as far as [stop]: their sum, their sum where each is multiplied by a lower
    bound of e^-(its distance from the last node), and that node. *)
Fixpoint read (p : positive) (lo stop s a b : Z) (l : list Z) : Z * Z * Z :=
  match l with
  | [] => (a, b, s + 1)%Z
  | m :: rest => if (s <? stop)%Z then (a, b, s + 1)%Z
                 else read p lo stop (s - 1) (a + m) (m + Z.shiftr (b * lo) (Zpos p)) rest
  end.

(** The first node above ε. *)
Definition first_above (step epsilon : Q) : Z :=
  ((Qnum epsilon * Zpos (Qden step)) / (Qnum step * Zpos (Qden epsilon)) + 1)%Z.

Definition at_most_delta (p : positive) (lo : Z) (step : Q) (L : lattice) (epsilon delta : Q) : bool :=
  let top := (low L + Kronecker.count (masses L) - 1)%Z in
  let '(a, b, last) := read p lo (first_above step epsilon) top 0 0 (rev' (masses L)) in
  match fst (exponential p (of_Q p (epsilon - (last # 1) * step))) with
  | Some e => ((lost L + a - Z.shiftr (b * Z.max 0 e) (Zpos p)) * Zpos (Qden delta) <=? Qnum delta * 2 ^ Zpos p)%Z
  | None => false
  end.

Section Soundness.
  Context (p : positive) (step : Q) (lo : Z).
  Hypothesis step_pos : (0 < Qnum step)%Z.
  Hypothesis lo_nonneg : (0 <= lo)%Z.
  Local Notation h := (Q2R step).
  Local Notation S := (unit_of p).
  Hypothesis decayed : IZR lo <= exp (- h) * S.

  Let S_pos : 0 < S. Proof. apply unit_pos. Qed.

  Lemma h_pos : 0 < h.
  Proof. unfold Q2R. apply Rmult_lt_0_compat; [apply IZR_lt; auto|]. apply Rinv_0_lt_compat, IZR_lt. lia. Qed.

  (** i·h against ε, without fractions. *)
  Let difference epsilon i := (i * (Qnum step * Zpos (Qden epsilon)) - Qnum epsilon * Zpos (Qden step))%Z.

  Let scaled epsilon i : exists c, 0 < c /\ IZR (difference epsilon i) = (IZR i * h - Q2R epsilon) * c.
  Proof.
    exists (IZR (Zpos (Qden step)) * IZR (Zpos (Qden epsilon))).
    assert (P1 : 0 < IZR (Zpos (Qden step))) by (apply IZR_lt; lia).
    assert (P2 : 0 < IZR (Zpos (Qden epsilon))) by (apply IZR_lt; lia).
    split; [nra|]. unfold difference, Q2R. rewrite minus_IZR, !mult_IZR. field. lra.
  Qed.

  Lemma below_first epsilon i : (i < first_above step epsilon)%Z -> IZR i * h <= Q2R epsilon.
  Proof.
    intros Hi. destruct (scaled epsilon i) as [c [Hc E]].
    assert (Hle : (difference epsilon i <= 0)%Z).
    { unfold difference, first_above in *. assert (Hd : (0 < Qnum step * Zpos (Qden epsilon))%Z) by lia.
      pose proof (Z.mul_div_le (Qnum epsilon * Zpos (Qden step)) _ Hd). nia. }
    apply IZR_le in Hle. rewrite E in Hle. nra.
  Qed.

  Lemma above_first epsilon i : (first_above step epsilon <= i)%Z -> Q2R epsilon <= IZR i * h.
  Proof.
    intros Hi. destruct (scaled epsilon i) as [c [Hc E]].
    assert (Hle : (0 <= difference epsilon i)%Z).
    { unfold difference, first_above in *. assert (Hd : (0 < Qnum step * Zpos (Qden epsilon))%Z) by lia.
      pose proof (Z.mul_succ_div_gt (Qnum epsilon * Zpos (Qden step)) _ Hd). nia. }
    apply IZR_le in Hle. rewrite E in Hle. nra.
  Qed.

  (** [done]: masses of the nodes above s. *)
  Lemma read_sound stop l : forall s a b done, nonneg_all l -> nonneg_all done ->
    a = sum done -> (0 <= b)%Z -> IZR b <= weighed step (s + 1) (s + 1) done ->
    let '(a', b', last) := read p lo stop s a b l in
    exists kept left, rev kept ++ left = l /\ a' = sum (kept ++ done) /\ (0 <= b')%Z /\
      last = (s + 1 - Z.of_nat (length kept))%Z /\ IZR b' <= weighed step last last (kept ++ done) /\
      (left = [] \/ (last <= stop)%Z) /\ (kept = [] \/ (stop <= last)%Z).
  Proof.
    induction l as [|m l IH]; intros s a b done Hl Hdone Ha Hb Hw; cbn [read].
    - exists [], []. cbn [rev app length]. replace (s + 1 - Z.of_nat 0)%Z with (s + 1)%Z by lia. repeat split; auto.
    - destruct (Z.ltb_spec s stop) as [Hs|Hs].
      + exists [], (m :: l). cbn [rev app length]. replace (s + 1 - Z.of_nat 0)%Z with (s + 1)%Z by lia. repeat split; auto.
        right. lia.
      + inversion Hl; subst. assert (Hone : (0 < 2 ^ Zpos p)%Z) by (apply Z.pow_pos_nonneg; lia).
        specialize (IH (s - 1)%Z (sum done + m)%Z (m + Z.shiftr (b * lo) (Zpos p))%Z (m :: done)).
        replace (s - 1 + 1)%Z with s in IH by lia. rewrite Z.shiftr_div_pow2 in * by lia.
        assert (N : (0 <= b * lo / 2 ^ Zpos p)%Z) by (apply Z.div_pos; nia).
        assert (W : IZR (m + b * lo / 2 ^ Zpos p) <= weighed step s s (m :: done)).
        { unfold weighed. cbn [along]. replace (s - s)%Z with 0%Z by lia. rewrite Rmult_0_l, Ropp_0, exp_0, plus_IZR.
          fold (weighed step s (s + 1) done). replace s with (s + 1 - 1)%Z at 1 by lia. rewrite weighed_down, Rmult_1_l.
          pose proof (div_le (b * lo) _ Hone) as D. rewrite mult_IZR in D. change (IZR (2 ^ Zpos p)) with S in D.
          apply IZR_le in Hb, lo_nonneg. pose proof (exp_pos (- h)).
          assert (IZR b * IZR lo <= weighed step (s + 1) (s + 1) done * (exp (- h) * S)) by (apply Rmult_le_compat; auto).
          assert (IZR (b * lo / 2 ^ Zpos p) <= weighed step (s + 1) (s + 1) done * exp (- h)); [|lra].
          apply Rmult_le_reg_r with S; auto. lra. }
        specialize (IH H2 ltac:(constructor; auto) ltac:(rewrite sum_cons; lia) ltac:(lia) W).
        destruct (read p lo stop (s - 1) (sum done + m) (m + b * lo / 2 ^ Zpos p) l) as [[a' b'] last].
        destruct IH as [kept [left [E [A [B [L [Wt [Lf Kf]]]]]]]]. exists (kept ++ [m]), left.
        rewrite rev_app_distr. cbn [rev app]. rewrite E, <- !app_assoc. cbn [app].
        rewrite app_length. cbn [length]. repeat split; auto; try lia.
        right. destruct Kf as [->|Kf]; [cbn [length] in L; lia|auto].
  Qed.

  Theorem at_most_delta_sound L epsilon delta : good L -> at_most_delta p lo step L epsilon delta = true ->
    stick (pair_of p h L) (exp (Q2R epsilon)) <= Q2R delta.
  Proof.
    intros G. unfold at_most_delta. rewrite rev'_rev, Kronecker.count_length.
    set (top := (low L + Z.of_nat (length (masses L)) - 1)%Z). pose proof h_pos as Hh.
    assert (G' := G). destruct G' as [G0 Gm].
    pose proof (read_sound (first_above step epsilon) (rev (masses L)) top 0 0 []) as R.
    assert (Gr : nonneg_all (rev (masses L))).
    { apply Forall_rev. exact Gm. }
    specialize (R Gr (Forall_nil _) eq_refl (Z.le_refl 0) (Rle_refl 0)).
    destruct (read p lo (first_above step epsilon) top 0 0 (rev (masses L))) as [[a b] last].
    destruct R as [kept [left [E [Ha [Hb [Hlast [Hw [Hleft Hkept]]]]]]]]. rewrite app_nil_r in *.
    assert (HM : masses L = rev left ++ kept).
    { rewrite <- (rev_involutive (masses L)), <- E, rev_app_distr, rev_involutive. reflexivity. }
    rewrite HM in Gm. apply Forall_app in Gm. destruct Gm as [Gleft Gkept].
    pose proof (exponential_inside p _ _ (of_Q_inside p (epsilon - (last # 1) * step))) as [X _].
    destruct (fst (exponential p _)) as [e|]; [|discriminate]. intros Hle. apply Z.leb_le in Hle.
    set (x := exp (Q2R (epsilon - (last # 1) * step))) in *. unfold above in X.
    assert (Hx : x = exp (Q2R epsilon) * exp (- (IZR last * h))).
    { unfold x. rewrite Q2R_minus, Q2R_mult, <- exp_plus. f_equal. unfold Rminus. f_equal. f_equal. f_equal.
      unfold Q2R. cbn [Qnum Qden]. rewrite Rinv_1. ring. }
    assert (Hlow : (low L + Z.of_nat (length (rev left)) = last)%Z).
    { rewrite Hlast. unfold top. rewrite HM, app_length, rev_length. lia. }
    apply Rmult_le_reg_r with S; auto. rewrite stick_lattice by auto. rewrite HM, along_app, Hlow.
    assert (Below : along (gain h (exp (Q2R epsilon))) (low L) (rev left) = 0).
    { destruct Hleft as [->|Hstop]; [reflexivity|].
      assert (Z0 : forall ms s, (s + Z.of_nat (length ms) <= last)%Z -> along (gain h (exp (Q2R epsilon))) s ms = 0).
      { induction ms as [|y ms IH]; intros s Hs; cbn [along length] in *; auto. rewrite IH by lia.
        assert (gain h (exp (Q2R epsilon)) s = 0) as ->; [|ring].
        unfold gain. rewrite <- exp_plus. apply Rmax_left.
        assert (exp 0 <= exp (Q2R epsilon + - (IZR s * h))); [|rewrite exp_0 in *; lra].
        apply exp_mono. pose proof (below_first epsilon s ltac:(lia)). lra. }
      apply Z0. lia. }
    rewrite Below.
    assert (Kept : along (gain h (exp (Q2R epsilon))) last kept = IZR a - x * weighed step last last kept).
    { destruct Hkept as [->|Hstop]; [subst a; cbn; unfold weighed; cbn; lra|].
      subst a. rewrite <- (along_1 last). unfold weighed. rewrite <- along_scale.
      assert (G1 : forall ms s, (last <= s)%Z -> along (gain h (exp (Q2R epsilon))) s ms =
        along (fun _ => 1) s ms - along (fun i => x * exp (- (IZR (i - last) * h))) s ms).
      { induction ms as [|y ms IH]; intros s Hs; cbn [along]; [lra|]. rewrite IH by lia.
        assert (gain h (exp (Q2R epsilon)) s = 1 - x * exp (- (IZR (s - last) * h))) as ->; [|ring].
        rewrite Hx, Rmult_assoc, <- exp_plus.
        replace (- (IZR last * h) + - (IZR (s - last) * h)) with (- (IZR s * h)) by (rewrite minus_IZR; ring).
        unfold gain. apply Rmax_right. rewrite <- exp_plus.
        assert (exp (Q2R epsilon + - (IZR s * h)) <= exp 0); [|rewrite exp_0 in *; lra].
        apply exp_mono. pose proof (above_first epsilon s ltac:(lia)). lra. }
      apply G1. lia. }
    rewrite Kept. set (q := Z.shiftr (b * Z.max 0 e) (Zpos p)) in *.
    assert (Hone : (0 < 2 ^ Zpos p)%Z) by (apply Z.pow_pos_nonneg; lia).
    assert (Hq : IZR q <= x * weighed step last last kept).
    { apply Rmult_le_reg_r with S; auto. unfold q. rewrite Z.shiftr_div_pow2 by lia.
      pose proof (div_le (b * Z.max 0 e) _ Hone) as D. rewrite mult_IZR in D. change (IZR (2 ^ Zpos p)) with S in D.
      apply Rle_trans with (1 := D). replace (x * weighed step last last kept * S) with (weighed step last last kept * (x * S)) by ring.
      apply IZR_le in Hb. apply Rmult_le_compat; auto; [apply IZR_le; lia|].
      destruct (Z.max_spec 0 e) as [[_ ->]|[_ ->]]; auto. assert (0 < x) by apply exp_pos. nra. }
    apply IZR_le in Hle. rewrite !mult_IZR, minus_IZR, plus_IZR in Hle. change (IZR (2 ^ Zpos p)) with S in Hle.
    assert (Pd : 0 < IZR (Zpos (Qden delta))) by (apply IZR_lt; lia).
    apply Rle_trans with (IZR (lost L) + IZR a - IZR q); [lra|].
    apply Rmult_le_reg_r with (IZR (Zpos (Qden delta))); auto.
    replace (Q2R delta * S * IZR (Zpos (Qden delta))) with (IZR (Qnum delta) * S) by (unfold Q2R; field; lra). exact Hle.
  Qed.
End Soundness.
