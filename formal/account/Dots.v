(** A lattice from bounds at single nodes, its knots: from the top down, each mass is the least natural number that
    lifts the hockey-stick above the next bound.  Main theorem: `dots_sound`.

    Where bounds wobble, the lattice costs a little more, and stays above them. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List.
From DP.base Require Import Laws Sums.
From DP.decide Require Import Fixed Functions.
From DP.account Require Import Pairs Knots Lattice Product.
Import ListNotations.
Open Scope R_scope.

(** e^(-step), enclosed. *)
Definition decay (p : positive) (step : Q) : option (Z * Z) :=
  match exponential p (neg (of_Q p step)) with (Some lo, Some hi) => Some (lo, hi) | _ => None end.

Lemma decay_sound p step lo hi : decay p step = Some (lo, hi) ->
  IZR lo <= exp (- Q2R step) * unit_of p <= IZR hi.
Proof.
  unfold decay. pose proof (exponential_inside p _ _ (neg_inside p _ _ (of_Q_inside p step))) as [L U].
  destruct (exponential p _) as [[l|] [u|]]; try discriminate. intros [= <- <-]. split; auto.
Qed.

(** What nobody can be wrong with: all is lost. *)
Definition all_lost (p : positive) : lattice := Lattice 0 [] (2 ^ Zpos p).

Section Executable.
  Context (p : positive) (step : Q).
  Let one := (2 ^ Zpos p)%Z.

  (** Knots below t, from the top down, each with its bound.  [gap], [lo], [hi]: e^(-gap step), enclosed, of the last
      distance of two knots; [done]: masses of the nodes above t; a: their sum; b: at least their sum where each is
      multiplied by e^-(its distance from t); e: at most the point at t. *)
  Fixpoint connect (gap lo hi lost a b e t : Z) (knots : list (Z * Z)) (done : list Z) : option lattice :=
    match knots with
    | [] => Some (Lattice t (Z.max 0 (one - lost - a) :: done) lost)
    | (s, z) :: rest =>
      let gap' := (t - s)%Z in
      match (if (gap' =? gap)%Z then Some (lo, hi) else decay p ((gap' # 1) * step)) with
      | Some (lo, hi) =>
        if ((0 <? gap') && (0 <=? lo) && (0 <? hi) && (hi <? one))%Z%bool then
          let e := if (0 <=? s)%Z then one else Z.shiftr (e * lo) (Zpos p) in
          let d := Z.max z (one - e) in
          let m := Z.max 0 (up_div ((d - lost - a + shift_up p (b * hi) + 1) * one) (one - hi)) in
          connect gap' lo hi lost (a + m) (shift_up p ((b + m) * hi)) e s rest
            (repeat 0%Z (Z.to_nat (gap' - 1)) ++ m :: done)
        else None
      | None => None
      end
    end.

  Definition dots (knots : list (Z * Z)) : lattice :=
    match knots with
    | [] => all_lost p
    | (t, z) :: rest =>
      let e := if (0 <=? t)%Z then one else 0%Z in
      match connect 0 one one (Z.max z (one - e)) 0 0 e t rest [] with
      | Some L => L
      | None => all_lost p
      end
    end.
End Executable.

Section Soundness.
  Context (p : positive) (step : Q).
  Local Notation h := (Q2R step).
  Hypothesis h_pos : 0 < h.
  Local Notation S := (unit_of p).
  Local Notation one := (2 ^ Zpos p)%Z.
  Local Notation node s := (exp (IZR s * h)).

  Let S_pos : 0 < S. Proof. apply unit_pos. Qed.
  Let one_S : IZR one = S. Proof. reflexivity. Qed.

  Lemma gain_node s i : (s <= i)%Z -> gain h (node s) i = 1 - exp (- (IZR (i - s) * h)).
  Proof.
    intros H. unfold gain. rewrite <- exp_plus, minus_IZR.
    replace (IZR s * h + - (IZR i * h)) with (- ((IZR i - IZR s) * h)) by ring.
    apply Rmax_right. apply IZR_le in H.
    assert (exp (- ((IZR i - IZR s) * h)) <= exp 0); [|rewrite exp_0 in *; lra].
    apply exp_mono. assert (0 <= (IZR i - IZR s) * h) by (apply Rmult_le_pos; lra). lra.
  Qed.

  Definition raised_to (L : lattice) (s z : Z) :=
    IZR z <= IZR (lost L) + along (gain h (node s)) (low L) (masses L).

  (** How masses weigh at a node further down. *)
  Definition weighed (s t : Z) (l : list Z) := along (fun i => exp (- (IZR (i - s) * h))) t l.

  Lemma weighed_down g s t l : weighed (s - g) t l = weighed s t l * exp (- (IZR g * h)).
  Proof.
    unfold weighed. rewrite Rmult_comm, <- along_scale. apply along_ext. intros i _.
    rewrite <- exp_plus. f_equal. rewrite !minus_IZR. ring.
  Qed.

  Lemma lifted hi d l a b : (0 < hi < one)%Z -> (0 <= b)%Z ->
    let m := Z.max 0 (up_div ((d - l - a + shift_up p (b * hi) + 1) * one) (one - hi)) in
    (d <= l + (a + m) - shift_up p ((b + m) * hi))%Z.
  Proof.
    intros Hhi Hb m. set (u := shift_up p (b * hi)) in *. set (need := (d - l - a + u + 1)%Z) in *.
    assert (Hone : (0 < one)%Z) by lia.
    assert (Hm : (need * one <= m * (one - hi))%Z).
    { apply le_IZR. rewrite (mult_IZR m). apply Rle_trans with (1 := up_div_le (need * one) (one - hi) ltac:(lia)).
      apply Rmult_le_compat_r; [apply IZR_le; lia|]. apply IZR_le. unfold m. lia. }
    assert (Hw : (shift_up p ((b + m) * hi) <= u + (m - need) + 1)%Z).
    { unfold shift_up at 1. rewrite Z.shiftr_div_pow2 by lia.
      assert (((- u - (m - need) - 1) <= - ((b + m) * hi) / one)%Z); [|lia].
      apply Z.div_le_lower_bound; auto.
      assert ((b * hi <= u * one)%Z).
      { apply le_IZR. rewrite (mult_IZR u). apply shift_up_le. }
      nia. }
    unfold need in Hw. lia.
  Qed.

  Definition enclosed (gap lo hi : Z) := IZR lo <= exp (- (IZR gap * h)) * S <= IZR hi.

  Lemma decay_gap gap lo hi : decay p ((gap # 1) * step) = Some (lo, hi) -> enclosed gap lo hi.
  Proof.
    intros H. apply decay_sound in H. rewrite Q2R_mult in H. unfold enclosed.
    replace (Q2R (gap # 1)) with (IZR gap) in H by (unfold Q2R; cbn [Qnum Qden]; rewrite Rinv_1; ring). exact H.
  Qed.

  Lemma node_down lo hi s t e : enclosed (t - s) lo hi -> (0 <= lo)%Z -> (0 <= e)%Z -> IZR e <= S * node t ->
    let e' := if (0 <=? s)%Z then one else Z.shiftr (e * lo) (Zpos p) in (0 <= e')%Z /\ IZR e' <= S * node s.
  Proof.
    intros [Hd _] Hlo He Hle e'. unfold e'. destruct (Z.leb_spec 0 s) as [Hs|Hs].
    - split; [apply Z.pow_nonneg; lia|]. rewrite one_S. assert (1 <= node s); [|nra].
      rewrite <- exp_0. apply exp_mono. apply IZR_le in Hs. nra.
    - rewrite Z.shiftr_div_pow2 by lia. assert (Hone : (0 < one)%Z) by (apply Z.pow_pos_nonneg; lia).
      split; [apply Z.div_pos; nia|]. pose proof (div_le (e * lo) one Hone) as D. rewrite mult_IZR, one_S in D.
      apply Rmult_le_reg_r with S; auto. apply Rle_trans with (1 := D).
      assert (E : node t * exp (- (IZR (t - s) * h)) = node s).
      { rewrite <- exp_plus. f_equal. rewrite minus_IZR. ring. }
      rewrite <- E. apply IZR_le in He. apply IZR_le in Hlo.
      apply Rle_trans with (S * node t * (exp (- (IZR (t - s) * h)) * S)); [apply Rmult_le_compat; lra|].
      right. ring.
  Qed.

  Lemma along_zeros g s n l : along g s (repeat 0%Z n ++ l) = along g (s + Z.of_nat n)%Z l.
  Proof.
    rewrite along_app, repeat_length. assert (Z0 : forall s, along g s (repeat 0%Z n) = 0).
    { induction n; intros t; cbn [repeat along]; [reflexivity|]. rewrite IHn. ring. }
    rewrite Z0. ring.
  Qed.

  (** The gain at s of what stands above it, where nothing stands below. *)
  Lemma along_gain s t l : (s <= t)%Z -> along (gain h (node s)) t l = IZR (sum l) - weighed s t l.
  Proof.
    rewrite <- (along_1 t). unfold weighed. revert t. induction l as [|x l IH]; intros t Ht; cbn [along]; [lra|].
    rewrite gain_node by auto. specialize (IH (t + 1)%Z ltac:(lia)). lra.
  Qed.

  Definition at_knots (L : lattice) (from : Z) (knots : list Z) :=
    forall j m, nth_error (masses L) j = Some m -> m <> 0%Z -> In (low L + Z.of_nat j)%Z knots \/ (from < low L + Z.of_nat j)%Z.

  Definition lifts (L : lattice) (s z : Z) :=
    let H := IZR (lost L) + along (gain h (node s)) (low L) (masses L) in IZR z <= H /\ S - S * node s <= H.

  Lemma connect_sound knots : forall gap lo hi l a b e t done L,
    connect p step gap lo hi l a b e t knots done = Some L -> enclosed gap lo hi ->
    (0 <= l)%Z -> nonneg_all done -> a = sum done -> (0 <= b)%Z -> weighed t (t + 1) done <= IZR b ->
    (0 <= e)%Z -> IZR e <= S * node t ->
    good L /\ lost L = l /\ (one <= lost L + sum (masses L))%Z /\
    (exists front, masses L = front ++ done /\ (low L + Z.of_nat (length front) = t + 1)%Z) /\
    at_knots L t (t :: map fst knots) /\ forall s z, In (s, z) knots -> lifts L s z.
  Proof.
    induction knots as [|[s z] knots IH]; intros gap lo0 hi0 l a b e t done L HL Hgap Hl Hdone Ha Hb Hw He Hte; cbn [connect] in HL.
    - injection HL as <-. unfold at_knots. cbn [lost masses low]. assert (Hlast : (0 <= Z.max 0 (one - l - a))%Z) by lia.
      split; [split; cbn [lost masses]; [lia|constructor; auto]|]. split; [reflexivity|].
      split; [rewrite sum_cons; lia|]. split; [exists [Z.max 0 (one - l - a)]; split; [reflexivity|cbn; lia]|].
      split; [|intros s z []]. intros [|j] m _ _; [left; left; lia|right; lia].
    - assert (Henc : exists lo hi, enclosed (t - s) lo hi /\ (if (t - s =? gap)%Z then Some (lo0, hi0) else decay p ((t - s # 1) * step)) = Some (lo, hi)).
      { destruct (Z.eqb_spec (t - s) gap) as [E|N].
        - exists lo0, hi0. rewrite E. auto.
        - destruct (decay p ((t - s # 1) * step)) as [[lo hi]|] eqn:Hd; [|discriminate].
          exists lo, hi. split; auto using decay_gap. }
      destruct Henc as [lo [hi [Henc Hdec]]]. rewrite Hdec in HL. clear Hdec lo0 hi0 Hgap gap.
      destruct ((0 <? t - s) && (0 <=? lo) && (0 <? hi) && (hi <? one))%Z%bool eqn:Hr; [|discriminate].
      apply andb_prop in Hr. destruct Hr as [Hr H4]. apply andb_prop in Hr. destruct Hr as [Hr H3].
      apply andb_prop in Hr. destruct Hr as [H1 H2]. apply Z.ltb_lt in H1, H3, H4. apply Z.leb_le in H2.
      pose proof (node_down lo hi s t e Henc H2 He Hte) as Hnode. cbv zeta in Hnode.
      set (e' := if (0 <=? s)%Z then one else Z.shiftr (e * lo) (Zpos p)) in *. destruct Hnode as [He' Hse'].
      set (d := Z.max z (one - e')) in *.
      pose proof (lifted hi d l a b (conj H3 H4) Hb) as Hlift. cbv zeta in Hlift.
      set (m := Z.max 0 (up_div ((d - l - a + shift_up p (b * hi) + 1) * one) (one - hi))) in *.
      set (b' := shift_up p ((b + m) * hi)) in *.
      set (done' := repeat 0%Z (Z.to_nat (t - s - 1)) ++ m :: done) in *.
      assert (Hm : (0 <= m)%Z) by (unfold m; lia).
      assert (Hb' : (0 <= b')%Z) by (apply shift_up_nonneg; nia).
      assert (Hlen : (s + 1 + Z.of_nat (Z.to_nat (t - s - 1)) = t)%Z) by lia.
      assert (Hdone' : nonneg_all done').
      { apply Forall_app. split; [|constructor; auto]. apply Forall_forall. intros x Hx. apply repeat_spec in Hx. lia. }
      assert (Hsum' : (a + m)%Z = sum done').
      { unfold done'. rewrite sum_app, sum_cons. assert (Z0 : forall n, sum (repeat 0%Z n) = 0%Z).
        { induction n; [reflexivity|]. cbn [repeat]. rewrite sum_cons, IHn. reflexivity. }
        rewrite Z0. lia. }
      assert (Hw' : weighed s (s + 1) done' <= IZR b').
      { unfold done', weighed. rewrite along_zeros, Hlen. fold (weighed s t (m :: done)).
        assert (W : weighed t t (m :: done) <= IZR (b + m)).
        { unfold weighed in *. cbn [along]. rewrite Z.sub_diag, Rmult_0_l, Ropp_0, exp_0, plus_IZR. lra. }
        replace s with (t - (t - s))%Z at 1 by lia. rewrite weighed_down. destruct Henc as [_ Henc].
        apply Rmult_le_reg_r with S; auto. unfold b'. apply Rle_trans with (2 := shift_up_le p _). rewrite mult_IZR.
        pose proof (exp_pos (- (IZR (t - s) * h))).
        assert (0 <= weighed t t (m :: done)).
        { apply along_nonneg; [constructor; auto|]. intros. left. apply exp_pos. }
        rewrite Rmult_assoc. apply Rmult_le_compat; auto; nra. }
      destruct (IH (t - s)%Z lo hi l (a + m)%Z b' e' s done' L HL Henc Hl Hdone' Hsum' Hb' Hw' He' Hse')
        as [G [L0 [Tot [[front [Hf Hlow]] [Knots Hat]]]]].
      split; auto. split; auto. split; auto.
      split.
      { exists (front ++ repeat 0%Z (Z.to_nat (t - s - 1)) ++ [m]). split.
        - rewrite Hf. unfold done'. rewrite <- !app_assoc. reflexivity.
        - rewrite !app_length, repeat_length. cbn [length]. lia. }
      split.
      { intros j x Hx Nx. cbn [map fst]. destruct (Knots j x Hx Nx) as [Hin|Hin].
        - left. right. exact Hin.
        - destruct (Z.lt_total (low L + Z.of_nat j) t) as [Lt|[Eq|Gt]]; [|left; left; lia|right; lia].
          exfalso. apply Nx. rewrite Hf, nth_error_app2 in Hx by lia. unfold done' in Hx.
          rewrite nth_error_app1 in Hx by (rewrite repeat_length; lia). apply nth_error_In, repeat_spec in Hx. auto. }
      assert (Here : IZR d <= IZR (lost L) + along (gain h (node s)) (low L) (masses L)).
      { apply IZR_le in Hlift. apply Rle_trans with (1 := Hlift). rewrite L0, Hf, along_app, Hlow.
        destruct G as [_ G]. rewrite Hf in G. apply Forall_app in G. destruct G as [G1 _].
        pose proof (along_nonneg (gain h (node s)) (low L) front G1 (fun i => gain_nonneg h (node s) i)) as N.
        rewrite (along_gain s (s + 1)), <- Hsum' by lia. rewrite minus_IZR, !plus_IZR. lra. }
      intros s' z' [[= <- <-]|Hin]; [|auto]. split; apply Rle_trans with (2 := Here).
      + apply IZR_le. unfold d. lia.
      + apply Rle_trans with (IZR (one - e')); [rewrite minus_IZR, one_S; lra|]. apply IZR_le. unfold d. lia.
  Qed.

  Lemma all_lost_sound : good (all_lost p) /\ proper (pair_of p h (all_lost p)) /\
    forall A (P Q : law A), dominates (pair_of p h (all_lost p)) P Q.
  Proof.
    assert (G : good (all_lost p)).
    { split; [cbn [lost all_lost]; apply Z.pow_nonneg; lia|constructor]. }
    assert (D : forall A (P Q : law A), dominates (pair_of p h (all_lost p)) P Q).
    { intros A P Q f Hf c Hc. unfold stick. cbn [beyond atoms pair_of all_lost lost low masses atoms_at total].
      rewrite one_S. unfold Rdiv. rewrite Rinv_r by lra. pose proof (E_test P f Hf). pose proof (E_test Q f Hf). nra. }
    split; auto. split; auto. apply dominates_proper with (point tt) (point tt); auto; cbn [beyond atoms pair_of].
    - unfold all_lost; cbn [lost]. rewrite one_S. unfold Rdiv. rewrite Rinv_r; lra.
    - intros a [].
  Qed.

  Lemma atom_quotient a s ms : nonneg_all ms -> In a (atoms_at p h s ms) ->
    snd a = 0 \/ exists j m, nth_error ms j = Some m /\ m <> 0%Z /\ quotient a = node (s + Z.of_nat j).
  Proof.
    intros Hms. revert s. induction Hms as [|m ms Hm Hms IH]; intros s; cbn [atoms_at]; [intros []|].
    intros [<-|Ha].
    - unfold quotient. cbn [fst snd]. destruct (Z.eq_dec m 0) as [->|N]; [left; unfold Rdiv; ring|right].
      exists 0%nat, m. split; [reflexivity|]. split; auto. rewrite Z.add_0_r, exp_Ropp. pose proof (exp_pos (IZR s * h)).
      assert (0 < IZR m) by (apply IZR_lt; lia). field. repeat split; lra.
    - destruct (IH (s + 1)%Z Ha) as [Z0|[j [x [Hj [Nx Hq]]]]]; [left; auto|right].
      exists (Datatypes.S j), x. split; auto. split; auto. rewrite Hq. f_equal. f_equal. f_equal. lia.
  Qed.

  (** Bounds at the knots and a total of at least 1 are all that a lattice needs. *)
  Lemma lattice_dominates L knots {A} (P Q : law A) : good L -> (one <= lost L + sum (masses L))%Z ->
    (forall j m, nth_error (masses L) j = Some m -> m <> 0%Z -> In (low L + Z.of_nat j)%Z knots) ->
    (forall s, In s knots -> forall f, test f -> P f <= stick (pair_of p h L) (node s) + node s * Q f) ->
    dominates (pair_of p h L) P Q.
  Proof.
    intros G Htot Hin Hat. assert (G' := G). destruct G' as [G0 Gm].
    apply dominates_at_knots with (0 :: map (fun s => node s) knots).
    - apply atoms_nonneg; auto.
    - intros a Ha. destruct (atom_quotient a _ _ Gm Ha) as [Z0|[j [m [Hj [Nm ->]]]]]; [left; auto|right; right].
      apply (in_map (fun s => node s)). eauto.
    - left. reflexivity.
    - intros c [<-|Hc] f Hf.
      + pose proof (E_test P f Hf). assert (1 <= stick (pair_of p h L) 0); [|lra].
        apply Rmult_le_reg_r with S; auto. rewrite stick_lattice by auto. rewrite Rmult_1_l, <- one_S.
        apply IZR_le in Htot. rewrite plus_IZR, <- (along_1 (low L)) in Htot.
        apply Rle_trans with (1 := Htot). apply Rplus_le_compat_l. apply along_le; auto.
        intros i _. unfold gain. rewrite Rmult_0_l, Rminus_0_r. apply part_ge.
      + apply in_map_iff in Hc. destruct Hc as [s [<- Hs]]. apply Hat; auto.
  Qed.

  Theorem dots_sound knots : let L := dots p step knots in
    good L /\ proper (pair_of p h L) /\
    forall A (P Q : law A),
      (forall s z, In (s, z) knots -> forall f, test f -> P f <= IZR z / S + node s * Q f) ->
      dominates (pair_of p h L) P Q.
  Proof.
    unfold dots. pose proof all_lost_sound as Lost.
    assert (Fallback : forall Any : forall A (P Q : law A), Prop, good (all_lost p) /\ proper (pair_of p h (all_lost p)) /\
      forall A (P Q : law A), Any A P Q -> dominates (pair_of p h (all_lost p)) P Q).
    { intros Any. destruct Lost as [L1 [L2 L3]]. split; auto. }
    destruct knots as [|[t z] rest]; [apply Fallback|].
    set (e := if (0 <=? t)%Z then one else 0%Z). set (d := Z.max z (one - e)).
    destruct (connect p step 0 one one d 0 0 e t rest []) as [L|] eqn:HL; [|apply Fallback].
    assert (He : (0 <= e)%Z /\ IZR e <= S * node t).
    { unfold e. destruct (Z.leb_spec 0 t) as [Ht|Ht].
      - split; [apply Z.pow_nonneg; lia|]. rewrite one_S. assert (1 <= node t); [|nra].
        rewrite <- exp_0. apply exp_mono. apply IZR_le in Ht. nra.
      - split; [lia|]. pose proof (exp_pos (IZR t * h)). nra. }
    assert (He1 : (e <= one)%Z) by (unfold e; destruct (0 <=? t)%Z; [lia|apply Z.pow_nonneg; lia]).
    assert (Hd : (0 <= d)%Z) by (unfold d; lia).
    assert (Henc : enclosed 0 one one) by (unfold enclosed; rewrite Rmult_0_l, Ropp_0, exp_0, one_S; lra).
    destruct (connect_sound rest 0%Z one one d 0%Z 0%Z e t [] L HL Henc Hd (Forall_nil _) eq_refl (Z.le_refl 0) (Rle_refl 0) (proj1 He) (proj2 He))
      as [G [L0 [Tot [[front [Hf Hlow]] [Knots Hat]]]]].
    assert (Lift : forall s z', In (s, z') ((t, z) :: rest) -> lifts L s z').
    { intros s z' [[= <- <-]|Hin]; [|auto].
      assert (N : 0 <= along (gain h (node t)) (low L) (masses L)).
      { apply along_nonneg; [apply G|]. intros; apply gain_nonneg. }
      unfold lifts. rewrite L0. split.
      - apply Rle_trans with (IZR d); [apply IZR_le; unfold d; lia|lra].
      - apply Rle_trans with (IZR (one - e)); [rewrite minus_IZR, one_S; lra|].
        apply Rle_trans with (IZR d); [apply IZR_le; unfold d; lia|lra]. }
    assert (Known : forall j m, nth_error (masses L) j = Some m -> m <> 0%Z -> In (low L + Z.of_nat j)%Z (map fst ((t, z) :: rest))).
    { intros j m Hj Nm. destruct (Knots j m Hj Nm) as [Hin|Hin]; [exact Hin|].
      assert (j < length (masses L))%nat by (apply nth_error_Some; congruence).
      rewrite Hf, app_nil_r in H. lia. }
    assert (Stick : forall s z', In (s, z') ((t, z) :: rest) ->
      IZR z' / S <= stick (pair_of p h L) (node s) /\ 1 - node s <= stick (pair_of p h L) (node s) /\ 0 <= stick (pair_of p h L) (node s)).
    { intros s z' Hin. destruct (Lift s z' Hin) as [N1 N2]. rewrite <- (stick_lattice p h L) in N1, N2 by auto.
      assert (N0 : 0 <= stick (pair_of p h L) (node s) * S).
      { rewrite stick_lattice by auto. destruct G as [G0 Gm]. apply IZR_le in G0.
        pose proof (along_nonneg (gain h (node s)) (low L) _ Gm (fun i => gain_nonneg h _ i)). lra. }
      repeat split; apply Rmult_le_reg_r with S; auto; [unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra|..]; lra. }
    split; auto. split.
    - apply dominates_proper with (point tt) (point tt).
      + apply (lattice_dominates L _ _ _ G Tot Known). intros s Hs f Hf'. apply in_map_iff in Hs.
        destruct Hs as [[s' z'] [<- Hin]]. destruct (Stick s' z' Hin) as [_ [N1 N0]]. cbn [fst E point]. specialize (Hf' tt).
        pose proof (exp_pos (IZR s' * h)). nra.
      + cbn [beyond pair_of]. destruct G as [G0 _]. apply IZR_le in G0.
        apply Rmult_le_pos; auto. left. apply Rinv_0_lt_compat; auto.
      + cbn [atoms pair_of]. apply atoms_nonneg. apply G.
    - intros A P Q H. apply (lattice_dominates L _ _ _ G Tot Known). intros s Hs f Hf'. apply in_map_iff in Hs.
      destruct Hs as [[s' z'] [<- Hin]]. destruct (Stick s' z' Hin) as [N _]. specialize (H s' z' Hin f Hf').
      cbn [fst]. lra.
  Qed.
End Soundness.
