(** A lattice from bounds at single points: from the top down, each mass is the least natural number that lifts the
    hockey-stick above the next bound.  Main theorem: `dots_sound`.

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
  Context (p : positive) (lo hi : Z).                   (* units of 2^-p; lo <= e^(-step) <= hi *)
  Let one := (2 ^ Zpos p)%Z.

  (** Bounds of the nodes from s downward.  [done]: masses of the nodes above s + 1; a: their sum; b: at least their
      sum where each is multiplied by e^-(its distance from s + 1); e: at most the point at s + 1. *)
  Fixpoint connect (lost a b e s : Z) (bounds done : list Z) : lattice :=
    match bounds with
    | [] => Lattice (s + 1) (Z.max 0 (one - lost - a) :: done) lost
    | z :: rest =>
      let e := if (0 <=? s)%Z then one else Z.shiftr (e * lo) (Zpos p) in
      let d := Z.max z (one - e) in
      let m := Z.max 0 (up_div ((d - lost - a + shift_up p (b * hi) + 1) * one) (one - hi)) in
      connect lost (a + m) (shift_up p ((b + m) * hi)) e (s - 1) rest (m :: done)
    end.

  Definition dots (low : Z) (bounds : list Z) : lattice :=
    match rev' bounds with
    | [] => all_lost p
    | z :: rest =>
      if ((0 <=? lo) && (0 <? hi) && (hi <? one))%Z%bool then
        let top := (low + Kronecker.count bounds - 1)%Z in
        let e := if (0 <=? top)%Z then one else 0%Z in
        connect (Z.max z (one - e)) 0 0 e (top - 1) rest []
      else all_lost p
    end.
End Executable.

Lemma nth_error_rev {A} (l : list A) j : (j < length l)%nat -> nth_error (rev l) j = nth_error l (length l - 1 - j).
Proof.
  intros Hj. destruct l as [|a l0] eqn:E; [cbn in Hj; lia|]. rewrite <- E in *.
  rewrite (nth_error_nth' l a) by lia. rewrite (nth_error_nth' (rev l) a) by (rewrite rev_length; lia).
  rewrite rev_nth by lia. f_equal. f_equal. lia.
Qed.

Section Soundness.
  Context (p : positive) (h : R) (lo hi : Z).
  Hypothesis h_pos : 0 < h.
  Hypothesis decayed : IZR lo <= exp (- h) * unit_of p <= IZR hi.
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

  Lemma weighed_next s t l : weighed (s - 1) t l = weighed s t l * exp (- h).
  Proof.
    unfold weighed. rewrite Rmult_comm, <- along_scale. apply along_ext. intros i _.
    rewrite <- exp_plus. f_equal. rewrite !minus_IZR. ring.
  Qed.

  Lemma lifted d l a b : (0 < hi < one)%Z -> (0 <= b)%Z ->
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

  Lemma node_down s e : (0 <= lo)%Z -> (0 <= e)%Z -> IZR e <= S * node (s + 1) ->
    let e' := if (0 <=? s)%Z then one else Z.shiftr (e * lo) (Zpos p) in (0 <= e')%Z /\ IZR e' <= S * node s.
  Proof.
    intros Hlo He Hle e'. unfold e'. destruct (Z.leb_spec 0 s) as [Hs|Hs].
    - split; [apply Z.pow_nonneg; lia|]. rewrite one_S. assert (1 <= node s); [|nra].
      rewrite <- exp_0. apply exp_mono. apply IZR_le in Hs. nra.
    - rewrite Z.shiftr_div_pow2 by lia. assert (Hone : (0 < one)%Z) by (apply Z.pow_pos_nonneg; lia).
      split; [apply Z.div_pos; nia|]. pose proof (div_le (e * lo) one Hone) as D. rewrite mult_IZR, one_S in D.
      apply Rmult_le_reg_r with S; auto. apply Rle_trans with (1 := D).
      replace (IZR (s + 1) * h) with (IZR s * h + h) in Hle by (rewrite plus_IZR; ring). rewrite exp_plus in Hle.
      assert (E : exp h * exp (- h) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
      apply IZR_le in He. apply IZR_le in Hlo. pose proof (exp_pos (- h)).
      apply Rle_trans with (S * (node s * exp h) * (exp (- h) * S)); [apply Rmult_le_compat; lra|].
      replace (S * (node s * exp h) * (exp (- h) * S)) with (S * node s * S * (exp h * exp (- h))) by ring.
      rewrite E. lra.
  Qed.

  Lemma connect_sound (Hlo : (0 <= lo)%Z) (Hhi : (0 < hi < one)%Z) bounds : forall l a b e s done,
    (0 <= l)%Z -> nonneg_all done -> a = sum done -> (0 <= b)%Z -> weighed (s + 1) (s + 2) done <= IZR b ->
    (0 <= e)%Z -> IZR e <= S * node (s + 1) ->
    let L := connect p lo hi l a b e s bounds done in
    good L /\ lost L = l /\ low L = (s + 1 - Z.of_nat (length bounds))%Z /\
    length (masses L) = (1 + length bounds + length done)%nat /\
    (one <= lost L + sum (masses L))%Z /\
    (exists front, masses L = front ++ done) /\
    forall j z, nth_error bounds j = Some z ->
      raised_to L (s - Z.of_nat j) z /\ S - S * node (s - Z.of_nat j) <= IZR (lost L) + along (gain h (node (s - Z.of_nat j))) (low L) (masses L).
  Proof.
    induction bounds as [|z bounds IH]; intros l a b e s done Hl Hdone Ha Hb Hw He Hse; cbn [connect].
    - cbn [lost masses low length]. assert (Hlast : (0 <= Z.max 0 (one - l - a))%Z) by lia.
      split; [split; cbn [lost masses]; [lia|constructor; auto]|]. split; [reflexivity|]. split; [lia|]. split; [lia|].
      split; [rewrite sum_cons; lia|]. split; [exists [Z.max 0 (one - l - a)]; reflexivity|].
      intros [|j]; discriminate.
    - pose proof (node_down s e Hlo He Hse) as Hnode. cbv zeta in Hnode.
      set (e' := if (0 <=? s)%Z then one else Z.shiftr (e * lo) (Zpos p)) in *. destruct Hnode as [He' Hse'].
      set (d := Z.max z (one - e')).
      pose proof (lifted d l a b Hhi Hb) as Hlift. cbv zeta in Hlift.
      set (m := Z.max 0 (up_div ((d - l - a + shift_up p (b * hi) + 1) * one) (one - hi))) in *.
      set (b' := shift_up p ((b + m) * hi)) in *.
      assert (Hm : (0 <= m)%Z) by (unfold m; lia).
      assert (Hb' : (0 <= b')%Z) by (apply shift_up_nonneg; nia).
      assert (Hw' : weighed s (s + 1) (m :: done) <= IZR b').
      { assert (W : weighed (s + 1) (s + 1) (m :: done) <= IZR (b + m)).
        { unfold weighed in *. cbn [along]. replace (s + 1 - (s + 1))%Z with 0%Z by lia.
          replace (s + 1 + 1)%Z with (s + 2)%Z by lia. rewrite Rmult_0_l, Ropp_0, exp_0, plus_IZR. lra. }
        replace s with (s + 1 - 1)%Z at 1 by lia. rewrite weighed_next.
        apply Rmult_le_reg_r with S; auto. unfold b'. apply Rle_trans with (2 := shift_up_le p _). rewrite mult_IZR.
        pose proof (exp_pos (- h)).
        assert (0 <= weighed (s + 1) (s + 1) (m :: done)).
        { apply along_nonneg; [constructor; auto|]. intros. left. apply exp_pos. }
        rewrite Rmult_assoc. apply Rmult_le_compat; auto; [nra|lra]. }
      specialize (IH l (a + m)%Z b' e' (s - 1)%Z (m :: done)).
      replace (s - 1 + 1)%Z with s in IH by lia. replace (s - 1 + 2)%Z with (s + 1)%Z in IH by lia.
      destruct IH as [G [L0 [Low [Len [Tot [[front Hf] Hat]]]]]]; auto.
      { constructor; auto. }
      { rewrite sum_cons. lia. }
      set (L := connect p lo hi l (a + m) b' e' (s - 1) bounds (m :: done)) in *.
      split; auto. split; auto. split; [cbn [length]; lia|]. split; [cbn [length] in *; lia|]. split; auto.
      split; [exists (front ++ [m]); rewrite <- app_assoc; exact Hf|].
      assert (Here : IZR d <= IZR (lost L) + along (gain h (node s)) (low L) (masses L)).
      { apply IZR_le in Hlift. apply Rle_trans with (1 := Hlift). rewrite L0, Hf, along_app.
        assert (Hlow : (low L + Z.of_nat (length front) = s + 1)%Z).
        { rewrite Hf, app_length in Len. cbn [length] in Len. lia. }
        rewrite Hlow. destruct G as [_ G]. rewrite Hf in G. apply Forall_app in G. destruct G as [G1 G2].
        pose proof (along_nonneg (gain h (node s)) (low L) front G1 (fun i => gain_nonneg h (node s) i)) as N.
        assert (E : along (gain h (node s)) (s + 1) (m :: done) = IZR (a + m) - weighed s (s + 1) (m :: done)).
        { assert (E1 : along (gain h (node s)) (s + 1) (m :: done) + weighed s (s + 1) (m :: done) = along (fun _ => 1) (s + 1) (m :: done)).
          { unfold weighed.
            assert (G : forall ms t, (s <= t)%Z ->
              along (gain h (node s)) t ms + along (fun i => exp (- (IZR (i - s) * h))) t ms = along (fun _ => 1) t ms).
            { induction ms as [|x ms IHms]; intros t Ht; cbn [along]; [lra|]. rewrite gain_node by auto.
              specialize (IHms (t + 1)%Z ltac:(lia)). lra. }
            apply G. lia. }
          rewrite along_1, sum_cons in E1. replace (a + m)%Z with (m + sum done)%Z by lia. lra. }
        rewrite E. rewrite minus_IZR, plus_IZR. lra. }
      intros [|j] z' Hz; cbn [nth_error] in Hz.
      + injection Hz as <-. replace (s - Z.of_nat 0)%Z with s by lia. split.
        * apply Rle_trans with (2 := Here). apply IZR_le. unfold d. lia.
        * apply Rle_trans with (2 := Here). apply Rle_trans with (IZR (one - e')).
          { rewrite minus_IZR, one_S. lra. }
          apply IZR_le. unfold d. lia.
      + specialize (Hat j z' Hz). replace (s - Z.of_nat (Datatypes.S j))%Z with (s - 1 - Z.of_nat j)%Z by lia. exact Hat.
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
    snd a = 0 \/ exists j, (j < length ms)%nat /\ quotient a = node (s + Z.of_nat j).
  Proof.
    intros Hms. revert s. induction Hms as [|m ms Hm Hms IH]; intros s; cbn [atoms_at length]; [intros []|].
    intros [<-|Ha].
    - unfold quotient. cbn [fst snd]. destruct (Z.eq_dec m 0) as [->|N]; [left; unfold Rdiv; ring|right].
      exists 0%nat. split; [lia|]. rewrite Z.add_0_r, exp_Ropp. pose proof (exp_pos (IZR s * h)).
      assert (0 < IZR m) by (apply IZR_lt; lia). field. repeat split; lra.
    - destruct (IH (s + 1)%Z Ha) as [Z0|[j [Hj Hq]]]; [left; auto|right].
      exists (Datatypes.S j). split; [lia|]. rewrite Hq. f_equal. f_equal. f_equal. lia.
  Qed.

  (** Bounds at the nodes and a total of at least 1 are all that a lattice needs. *)
  Lemma lattice_dominates L {A} (P Q : law A) : good L -> (one <= lost L + sum (masses L))%Z ->
    (forall j, (j < length (masses L))%nat -> forall f, test f ->
       P f <= stick (pair_of p h L) (node (low L + Z.of_nat j)) + node (low L + Z.of_nat j) * Q f) ->
    dominates (pair_of p h L) P Q.
  Proof.
    intros G Htot Hat. assert (G' := G). destruct G' as [G0 Gm].
    apply dominates_at_knots with (0 :: map (fun j => node (low L + Z.of_nat j)) (seq 0 (length (masses L)))).
    - apply atoms_nonneg; auto.
    - intros a Ha. destruct (atom_quotient a _ _ Gm Ha) as [Z0|[j [Hj ->]]]; [left; auto|right; right].
      apply (in_map (fun j => node (low L + Z.of_nat j))). apply in_seq. lia.
    - left. reflexivity.
    - intros c [<-|Hc] f Hf.
      + pose proof (E_test P f Hf). assert (1 <= stick (pair_of p h L) 0); [|lra].
        apply Rmult_le_reg_r with S; auto. rewrite stick_lattice by auto. rewrite Rmult_1_l, <- one_S.
        apply IZR_le in Htot. rewrite plus_IZR, <- (along_1 (low L)) in Htot.
        apply Rle_trans with (1 := Htot). apply Rplus_le_compat_l. apply along_le; auto.
        intros i _. unfold gain. rewrite Rmult_0_l, Rminus_0_r. apply part_ge.
      + apply in_map_iff in Hc. destruct Hc as [j [<- Hj]]. apply in_seq in Hj. apply Hat; auto. lia.
  Qed.

  Theorem dots_sound low0 bounds : let L := dots p lo hi low0 bounds in
    good L /\ proper (pair_of p h L) /\
    forall A (P Q : law A),
      (forall j z, nth_error bounds j = Some z -> forall f, test f ->
         P f <= IZR z / S + node (low0 + Z.of_nat j) * Q f) ->
      dominates (pair_of p h L) P Q.
  Proof.
    unfold dots. pose proof all_lost_sound as Lost.
    destruct (rev' bounds) as [|z rest] eqn:Hrev.
    { destruct Lost as [L1 [L2 L3]]. repeat split; try apply L1; try apply L2; auto. }
    destruct ((0 <=? lo) && (0 <? hi) && (hi <? one))%Z%bool eqn:Hrange.
    2: { destruct Lost as [L1 [L2 L3]]. repeat split; try apply L1; try apply L2; auto. }
    apply andb_prop in Hrange. destruct Hrange as [Hr H3]. apply andb_prop in Hr. destruct Hr as [H1 H2].
    apply Z.leb_le in H1. apply Z.ltb_lt in H2, H3. rewrite rev'_rev in Hrev.
    assert (Hb : bounds = rev rest ++ [z]) by (rewrite <- (rev_involutive bounds), Hrev; reflexivity).
    rewrite Kronecker.count_length.
    assert (Hlen : length bounds = Datatypes.S (length rest)).
    { rewrite Hb, app_length, rev_length. cbn [length]. lia. }
    set (top := (low0 + Z.of_nat (length bounds) - 1)%Z). set (e := if (0 <=? top)%Z then one else 0%Z).
    set (d := Z.max z (one - e)).
    assert (He : (0 <= e)%Z /\ IZR e <= S * node top).
    { unfold e. destruct (Z.leb_spec 0 top) as [Ht|Ht].
      - split; [apply Z.pow_nonneg; lia|]. rewrite one_S. assert (1 <= node top); [|nra].
        rewrite <- exp_0. apply exp_mono. apply IZR_le in Ht. nra.
      - split; [lia|]. pose proof (exp_pos (IZR top * h)). nra. }
    assert (He1 : (e <= one)%Z).
    { unfold e. destruct (0 <=? top)%Z; [lia|apply Z.pow_nonneg; lia]. }
    pose proof (connect_sound H1 (conj H2 H3) rest d 0 0 e (top - 1) []) as C.
    replace (top - 1 + 1)%Z with top in C by lia.
    assert (Hd : (0 <= d)%Z) by (unfold d; lia).
    specialize (C Hd (Forall_nil _) eq_refl (Z.le_refl 0) (Rle_refl 0) (proj1 He) (proj2 He)).
    destruct C as [G [L0 [Low [Len [Tot [_ Hat]]]]]].
    set (L := connect p lo hi d 0 0 e (top - 1) rest []) in *.
    assert (Hlow : low L = low0) by (rewrite Low; unfold top; lia).
    assert (Hmasses : length (masses L) = length bounds) by (rewrite Len; cbn [length]; lia).
    assert (Nodes : forall j z', nth_error bounds j = Some z' ->
      IZR z' <= stick (pair_of p h L) (node (low0 + Z.of_nat j)) * S /\
      S - S * node (low0 + Z.of_nat j) <= stick (pair_of p h L) (node (low0 + Z.of_nat j)) * S).
    { intros j z' Hz. rewrite stick_lattice by auto.
      assert (Hj : (j < length bounds)%nat) by (apply nth_error_Some; congruence).
      destruct (Nat.eq_dec j (length rest)) as [->|N].
      - rewrite Hb, nth_error_app2 in Hz; rewrite rev_length in *; [|lia]. rewrite Nat.sub_diag in Hz.
        injection Hz as <-. replace (low0 + Z.of_nat (length rest))%Z with top by (unfold top; lia).
        assert (N : 0 <= along (gain h (node top)) (low L) (masses L)).
        { apply along_nonneg; [apply G|]. intros; apply gain_nonneg. }
        rewrite L0. split.
        + apply Rle_trans with (IZR d); [apply IZR_le; unfold d; lia|lra].
        + apply Rle_trans with (IZR (one - e)); [rewrite minus_IZR, one_S; lra|].
          apply Rle_trans with (IZR d); [apply IZR_le; unfold d; lia|lra].
      - assert (Hnth : nth_error rest (length rest - 1 - j) = Some z').
        { rewrite Hb, nth_error_app1 in Hz by (rewrite rev_length; lia).
          rewrite nth_error_rev in Hz by lia. exact Hz. }
        destruct (Hat _ _ Hnth) as [R1 R2].
        replace (top - 1 - Z.of_nat (length rest - 1 - j))%Z with (low0 + Z.of_nat j)%Z in R1, R2 by (unfold top; lia).
        split; auto. }
    split; auto. split.
    - apply dominates_proper with (point tt) (point tt).
      + apply lattice_dominates; auto. intros j Hj f Hf. rewrite Hmasses in Hj. rewrite Hlow.
        destruct (nth_error bounds j) as [z'|] eqn:Hz; [|apply nth_error_None in Hz; lia].
        destruct (Nodes j z' Hz) as [_ N]. cbn. specialize (Hf tt).
        assert (1 - node (low0 + Z.of_nat j) <= stick (pair_of p h L) (node (low0 + Z.of_nat j))).
        { apply Rmult_le_reg_r with S; auto. lra. }
        pose proof (exp_pos (IZR (low0 + Z.of_nat j) * h)).
        assert (0 <= stick (pair_of p h L) (node (low0 + Z.of_nat j))).
        { apply Rmult_le_reg_r with S; auto. rewrite Rmult_0_l, stick_lattice by auto. destruct G as [G0 Gm].
          apply IZR_le in G0. pose proof (along_nonneg (gain h (node (low0 + Z.of_nat j))) (low L) _ Gm (fun i => gain_nonneg h _ i)). lra. }
        nra.
      + cbn [beyond pair_of]. destruct G as [G0 _]. apply IZR_le in G0.
        apply Rmult_le_pos; auto. left. apply Rinv_0_lt_compat; auto.
      + cbn [atoms pair_of]. apply atoms_nonneg. apply G.
    - intros A P Q H. apply lattice_dominates; auto. intros j Hj f Hf. rewrite Hmasses in Hj. rewrite Hlow.
      destruct (nth_error bounds j) as [z'|] eqn:Hz; [|apply nth_error_None in Hz; lia].
      destruct (Nodes j z' Hz) as [N _]. specialize (H j z' Hz f Hf).
      assert (IZR z' / S <= stick (pair_of p h L) (node (low0 + Z.of_nat j))); [|lra].
      apply Rmult_le_reg_r with S; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. auto.
  Qed.
End Soundness.
