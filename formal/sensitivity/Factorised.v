(** The rule `factorised`: of streams where a unit enters one round, and of sums where it enters several.

    With several participations the rule reads what a unit adds; the vector is a plain sum, which nothing changed. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String FunctionalExtensionality.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.noise Require Import Infer Triangles.
From DP.sensitivity Require Import Infer Streams Moves Rows Richest Columns Factors.
From DP.hypotheses Require Import Infer.
From DP.composition Require Import Infer Views Parts Spread.
From DP.conversions Require Import Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Lemma factorised_parts matrix bits a b person f : factorised matrix bits a b person = Some f ->
  exists q before rel n many apart last square0, a = Stable q L2Squared before rel None
    /\ b = Rounds q n many apart last /\
    (0 <= bits)%Z /\ (1 <= apart)%Z /\ stretch matrix n (Z.min many ((n - 1) / apart + 1)) apart = Some square0 /\
    let factor := Qred (square0 # Z.to_pos (4 ^ bits)) in
    match person with
    | None => many = 1%Z /\ f = Stable q L2Squared (times before factor) rel (Some (1%Z, last))
    | Some p => (1 < many)%Z /\ exists added, each_addition a p = Some added /\
        f = Stable q L2Squared (times added factor) (entering rel (Z.min many ((n - 1) / apart
          + 1)) apart) (Some anyone)
    end.
Proof.
  unfold factorised, untransformed. destruct a as [| | |q how before rel reads| | | | | | | | | | |]; try discriminate.
  destruct how; try discriminate. destruct reads; try discriminate.
  destruct b as [| | | | | | |q' n many apart last| | | | | | |]; try discriminate.
  destruct (String.eqb q q') eqn:Eq; [|discriminate]. apply String.eqb_eq in Eq. subst q'.
  destruct (_ && _)%bool eqn:E; [|discriminate]. apply andb_prop in E. destruct E as [E E3]. apply andb_prop in E.
  destruct E as [E1 E2].
  apply Z.leb_le in E1, E3. destruct (stretch matrix n _ apart) as [square0|] eqn:ES; [|discriminate]. intros HF.
  exists q, before, rel, n, many, apart, last, square0. do 5 (split; auto). cbv zeta. destruct person as [p|].
  - destruct (1 <? many)%Z eqn:E4; [|discriminate]. apply Z.ltb_lt in E4.
    destruct (each_addition _ p) as [added|]; [|discriminate].
    injection HF as <-. split; eauto.
  - destruct (many =? 1)%Z eqn:E4; [|discriminate]. apply Z.eqb_eq in E4. injection HF as <-. auto.
Qed.

Lemma factor_R square0 bits : (0 <= bits)%Z -> Q2R (Qred (square0 # Z.to_pos (4 ^ bits)))
  = IZR square0 * / IZR (4 ^ bits).
Proof.
  intros Hb. rewrite Q2R_red. unfold Q2R. cbn [Qnum Qden]. rewrite Z2Pos.id; auto. apply Z.pow_pos_nonneg; lia.
Qed.

Lemma factor_nonneg square0 bits : (0 <= bits)%Z -> (0 <= square0)%Z -> 0 <= IZR square0 * / IZR (4 ^ bits).
Proof.
  intros Hb Hs. apply Rmult_le_pos; [apply IZR_le; auto|]. left. apply Rinv_0_lt_compat, IZR_lt, Z.pow_pos_nonneg; lia.
Qed.

Lemma entering_same R far rel k b (d d' : data R) : neighbours far (entering rel k b) d d' = neighbours far rel d d'.
Proof. unfold entering. destruct (k =? 1)%Z; auto. Qed.

Lemma entered_some n many apart : (1 <= many)%Z -> (1 <= apart)%Z -> (1 <= n)%Z ->
  (1 <= Z.min many ((n - 1) / apart + 1))%Z.
Proof. intros. assert (0 <= (n - 1) / apart)%Z by (apply Z.div_pos; lia). lia. Qed.

Lemma only_one s0 n : (List.length (filter (fun s => (s =? s0)%Z) (one_to n)) <= 1)%nat.
Proof.
  pose proof (NoDup_filter (fun s => (s =? s0)%Z) (one_to_once n)) as HN.
  assert (HA : forall s, In s (filter (fun s => (s =? s0)%Z) (one_to n)) -> s = s0) by (intros s Hs;
    apply filter_In in Hs; apply Z.eqb_eq; tauto).
  destruct (filter _ _) as [|s [|s' rest]]; cbn; auto. inversion HN as [|? ? N1 N2]; subst. exfalso. apply N1. left.
  rewrite (HA s), (HA s'); auto; [right; left; auto | left; auto].
Qed.

(* ---------------------------------------------------------------- one participation *)

Lemma factorised_one W a b fin matrix bits : lawful W -> holds W a -> holds W b -> well_made a -> well_made b ->
  follow (ByFactorised matrix bits) [a; b] = Some fin -> holds W fin /\ well_made fin.
Proof.
  intros HW Ha Hb Ma Mb HF.
  assert (Hi : exists f, factorised matrix bits (says a) (says b) None = Some f).
  { unfold follow in HF. cbn [map infer sensitivity] in HF.
    destruct (factorised matrix bits (says a) (says b) None); [eauto | discriminate]. }
  destruct Hi as [f Hf]. destruct (factorised_parts _ _ _ _ _ _ Hf) as [q [before [rel [n [many [apart [last [square0
    [Hsa [Hsb [Hbits [Hapart [HS [-> Ef]]]]]]]]]]]]]].
  pose proof (stable_bare a _ _ _ _ _ Ma Hsa) as Ba. assert (Bb : bare b) by (apply Mb; rewrite Hsb; auto).
  destruct (follow_two (ByFactorised matrix bits) a b fin eq_refl I Ba Bb HF) as [Ei [Bf Ech]].
  cbn [infer sensitivity] in Ei. rewrite Hf in Ei. assert (Ei' : says fin = f) by congruence. rewrite Ef in Ei'.
  clear Ei Hf Ef HF f. rename Ei' into Ei.
  unfold changed in Ech. rewrite Hsb in Ech. cbn [first_changes] in Ech. set (chs := changes a) in *.
  destruct Ma as [_ [_ Ma]]. rewrite Hsa in Ma. destruct Ma as [Hb0 Hsingle]. destruct Mb as [_ [_ Mb]].
  rewrite Hsb in Mb. destruct Mb as [Hn _].
  unfold holds in Ha, Hb. rewrite Hsa in Ha. rewrite Hsb in Hb. destruct Ha as [_ [Hnostream Hstable]].
  destruct Hb as [Hindex [Hone _]]. destruct (Hone eq_refl) as [Hsteady [enters [Hent Hval]]].
  specialize (Hstable Hsteady).
  destruct (stretch_bounds _ _ _ _ _ HS ltac:(apply entered_some; lia) Hapart Hn) as [Habove Hmet].
  assert (Hsq : (0 <= square0)%Z) by (apply (Hmet []); cbn; auto; try tauto; pose proof (entered_some n 1 apart); lia).
  pose proof (factor_nonneg square0 bits Hbits Hsq) as Hfac.
  assert (Eb : Q2R (times before (Qred (square0 # Z.to_pos (4 ^ bits))))
    = Q2R before * (IZR square0 * / IZR (4 ^ bits))) by (rewrite times_R, factor_R; auto).
  split.
  2: { unfold well_made. rewrite Ei. split; [auto|]. split; [destruct Bf as [_ [-> _]]; intros ? []|]. rewrite Eb.
       split; [apply Rmult_le_pos; auto | auto]. }
  unfold holds. rewrite Ei, Ech. split; [auto|split; [auto|]]. intros k law. change (counted L2Squared) with square.
  set (P := Place q (Factorised matrix bits n 1 apart last :: chs) law Once).
  assert (Hidx : forall h l, next W h = Some l -> at_place l = P -> (index l <= n)%Z).
  { intros h l Hl Hp. apply (Hindex h l Hl); rewrite Hp; auto. }
  split.
  - intros h0 d d' Hd. destruct (near_at (distance W) rel Hsingle d d' Hd) as [u [HO _]]. set (s0 := enters u).
    revert h0.
    apply (factored_spent W HW k q chs law matrix bits n 1 apart last Hnostream Hidx square square_nonneg). intros h. rewrite Eb. fold P.
    apply (rows_bounded matrix bits n square0 (fun s => (s =? s0)%Z) (fun s j => cell_at W k q P chs s h j d - cell_at
      W k q P chs s h j d')); auto.
    + apply Hmet.
      * apply rising_filter. intros s s' Hs Hs'. apply filter_In in Hs, Hs'. destruct Hs as [_ Hs], Hs' as [_ Hs'].
        apply Z.eqb_eq in Hs, Hs'. lia.
      * intros s Hs. apply filter_In in Hs. apply one_to_in. tauto.
      * pose proof (only_one s0 n). pose proof (entered_some n 1 apart ltac:(lia) Hapart Hn). lia.
    + intros s j _ Hs _. apply Z.eqb_neq in Hs. rewrite (cell_quiet W k q P chs Hnostream d d' s h); [ring|].
      intros h' j'. apply Hval. intros v Hv. apply HO. intros ->. auto.
    + intros s _ _. rewrite (cells_moved W k q P chs Hnostream).
      exact (Hstable k P Once s (moment W (Label k P s) h) d d' Hd).
  - intros now l d d' c Hl Hp Hag.
    assert (Hk : exists k', key l = k') by eauto. destruct Hk as [k' Hk'].
    apply (factored_reads W k' q chs law matrix bits n 1 apart last Hnostream l now d d' Hp Hk'). intros s j Hs.
    apply (cell_quiet W k' q P chs Hnostream). intros h' j'. apply Hval. intros v Hv. apply Hag.
    destruct (Hent v) as [E|E]; lia.
Qed.

(* ---------------------------------------------------------------- several participations *)

Lemma follow_three st a b c n : law_of st (says a) = None -> match st with ByFactorised _ _ => True | _ => False end ->
  bare a -> bare b -> bare c -> follow st [a; b; c] = Some n ->
  infer st [says a; says b; says c] = Some (says n) /\ bare n /\ changes n = changed st [a; b; c].
Proof.
  intros HL HS [A1 [A2 [A3 A4]]] [B1 [B2 [B3 B4]]] [C1 [C2 [C3 C4]]] HF. unfold follow in HF. cbn [map] in HF.
  destruct (infer st [says a; says b; says c]) as [gives|] eqn:Ei; [|discriminate].
  destruct (noise_is_named st [a; b; c] && one_table st [a; b; c])%bool; [|discriminate].
  rewrite HL in HF. cbn [all_draws] in HF. rewrite A1 in HF. cbn [merged] in HF. rewrite B1 in HF. cbn [merged] in HF.
  rewrite C1 in HF. cbn [merged] in HF.
  cbn [map fold_left flat_map existsb] in HF. rewrite A2, B2, C2, A3, B3, C3, A4, B4, C4 in HF. cbn in HF.
  destruct st; try contradiction; injection HF as <-; unfold bare; cbn [says drawn departed of_persons views changes];
    auto 10.
Qed.

Lemma squares_total l : IZR (squares l) = total square (map IZR l).
Proof.
  unfold squares. assert (G : forall s, IZR (fold_left (fun s v => (s + v * v)%Z) l s)
    = IZR s + total square (map IZR l)).
  { induction l as [|v l IH]; intros s; cbn [fold_left map total]; [lra|]. rewrite IH, plus_IZR, mult_IZR.
    unfold square. lra. }
  rewrite G. lra.
Qed.

Lemma longest_in points p : In p points -> (squares p <= longest points)%Z.
Proof. intros Hp. apply fold_max_in, in_map. auto. Qed.

(** What the rule takes as the square of the longest addition. *)
Definition addition (set : kind) (high : Q) (points : list (list Z)) : option Q :=
  match set with Ball => Some high | Points => Some (of_Z (longest points)) | _ => None end.

Lemma relation_simple a b : simple_relation b = true -> relation_eqb b a = true -> a = b.
Proof. destruct b, a; cbn; intros; try discriminate; auto. Qed.

Lemma each_parts q before rel person added : each_addition (Stable q L2Squared before rel None) person = Some added ->
  exists set low high points rel' source length0, person = Contribution q set low high points rel' source /\
    (simple_relation rel' = true -> rel = rel') /\ addition set high points = Some length0 /\
    added = if replaces rel' then times four length0 else length0.
Proof.
  unfold each_addition. destruct (sums_it person _) eqn:ES; [|discriminate]. unfold sums_it in ES.
  destruct person as [| |q' set low high points rel' source| | | | | | | | | | | |]; try (cbn in ES; discriminate).
  destruct (linear None _) as [f|] eqn:EL; [|discriminate]. unfold linear in EL.
  destruct (furthest_sum set low high points rel') as [[how b]|]; [|discriminate]. cbn [fst snd] in EL.
  destruct (negb _); [|discriminate]. injection EL as <-.
  apply andb_prop in ES. destruct ES as [ES _]. apply andb_prop in ES. destruct ES as [ES Er]. apply andb_prop in ES.
  destruct ES as [ES _].
  apply andb_prop in ES. destruct ES as [Eq _]. apply String.eqb_eq in Eq. subst q'.
  fold (addition set high points). destruct (addition set high points) as [length0|] eqn:EA; [|discriminate].
  intros E. injection E as <-.
  exists set, low, high, points, rel', source, length0. repeat split; auto. intros Hs. apply relation_simple; auto.
Qed.

Section Sums.
  Variable W : world.
  Hypothesis HW : lawful W.
  Local Notation H := (history (message W)).
  Local Notation D := (data (record W)).
  Variables (k q : string) (P : place) (set : kind) (low high : Q) (points : list (list Z)) (length0 : Q).
  Hypothesis Hset : forall o i h u r, takes_part W q o i h u r = true ->
    in_set W q set (Q2R low) (Q2R high) points (adds W q o i h u r).
  Hypothesis Hsum : forall o i h d j, value W q o i h d j = total (fun u =>
    match d u with Some r => if takes_part W q o i h u r then adds W q o i h u r j else 0 | None => 0 end)
      (units_there W).
  Hypothesis Hlength : addition set high points = Some length0.

  Definition here (x : option (record W)) (u s : Z) (h : H) : bool :=
    match x with Some r => takes_part W q Once s (moment W (Label k P s) h) u r | None => false end.
  Definition part (x : option (record W)) (u s : Z) (h : H) (j : nat) : R :=
    match x with Some r => if here x u s h then adds W q Once s (moment W (Label k P s) h) u r j else 0 | None => 0 end.

  Lemma part_off x u s h j : here x u s h = false -> part x u s h j = 0.
  Proof. intros E. unfold part. destruct x; auto. rewrite E. auto. Qed.

  Lemma part_short x u s h : here x u s h = true -> total (fun j => square (part x u s h j)) (seq 0 (size W q))
    <= Q2R length0.
  Proof.
    intros E. unfold part. destruct x as [r|]; [|discriminate]. rewrite E. unfold here in E. apply Hset in E.
    unfold addition in Hlength.
    destruct set; try discriminate.
    - injection Hlength as <-. exact E.
    - injection Hlength as <-. destruct E as [p [Hp [HL Ha]]]. rewrite of_Z_R.
      apply Rle_trans with (IZR (squares p)); [|apply IZR_le, longest_in; auto]. right.
      rewrite squares_total, total_map, (total_nth _ 0%Z), HL.
      apply total_ext. intros j Hj. rewrite (Ha j Hj). auto.
  Qed.

  Lemma plain_width : width_of W k q P [] = size W q.
  Proof. unfold width_of. cbn [numbers_of]. rewrite map_length, seq_length. auto. Qed.

  Lemma plain_cell s h j d : (j < size W q)%nat -> cell_at W k q P [] s h j d
    = value W q Once s (moment W (Label k P s) h) d j.
  Proof.
    intros Hj. set (f := fun (j : nat) (d : D) => value W q Once s (moment W (Label k P s) h) d j).
    change (nth j (map f (seq 0 (size W q))) (fun _ => 0) d = f j d).
    rewrite (nth_indep _ (fun _ => 0) (f 0%nat)) by (rewrite map_length, seq_length; auto).
    rewrite map_nth, seq_nth by auto. auto.
  Qed.

  Lemma cells_differ d d' u s h j : only_at u d d' -> (j < size W q)%nat ->
    cell_at W k q P [] s h j d - cell_at W k q P [] s h j d'
      = if in_dec Z.eq_dec u (units_there W) then part (d u) u s h j - part (d' u) u s h j else 0.
  Proof.
    intros HO Hj. rewrite !plain_cell, !Hsum by auto.
    rewrite (total_unit _ _ (units_there W) u); [|apply HW | intros v Hv; rewrite (HO v Hv); auto].
    destruct (in_dec Z.eq_dec u (units_there W)); auto. unfold part, here. destruct (d u), (d' u); auto.
  Qed.
End Sums.

Lemma square_apart a b : square (a - b) <= 2 * square a + 2 * square b.
Proof. unfold square. pose proof (Rle_0_sqr (a + b)) as Q. unfold Rsqr in Q. lra. Qed.

(** Rows of a plain sum, where what a unit adds may stand in several rounds, before and after. *)
Lemma factorised_many W a b c fin matrix bits : lawful W -> changes a = [] -> holds W b -> holds W c ->
  well_made a -> well_made b -> well_made c -> follow (ByFactorised matrix bits) [a; b;
    c] = Some fin -> holds W fin /\ well_made fin.
Proof.
  intros HW Hch Hb Hc Ma Mb Mc HF.
  assert (Hi : exists f, factorised matrix bits (says a) (says b) (Some (says c)) = Some f).
  { unfold follow in HF. cbn [map infer sensitivity] in HF.
    destruct (factorised matrix bits (says a) (says b) (Some (says c))); [eauto | discriminate]. }
  destruct Hi as [f Hf].
  destruct (factorised_parts _ _ _ _ _ _ Hf) as [q [before [rel [n [many [apart [last [square0 [Hsa [Hsb [Hbits
    [Hapart [HS [Hmany [added [Hadd Ef]]]]]]]]]]]]]]]].
  rewrite Hsa in Hadd. destruct (each_parts _ _ _ _ _ Hadd) as [set [low [high [points [rel' [source [length0 [Hsc
    [Hrel [HL Hadded]]]]]]]]]].
  pose proof (stable_bare a _ _ _ _ _ Ma Hsa) as Ba. assert (Bb : bare b) by (apply Mb; rewrite Hsb; auto).
  assert (Bc : bare c) by (apply Mc; rewrite Hsc; auto).
  destruct (follow_three (ByFactorised matrix bits) a b c fin eq_refl I Ba Bb Bc HF) as [Ei [Bf Ech]].
  cbn [infer sensitivity] in Ei. rewrite Hf in Ei. assert (Ei' : says fin = f) by congruence. rewrite Ef in Ei'.
  clear Ei Hf Ef HF f Hadd. rename Ei' into Ei.
  unfold changed in Ech. rewrite Hsb in Ech. cbn [first_changes] in Ech. rewrite Hch in Ech.
  destruct Mb as [_ [_ Mb]]. rewrite Hsb in Mb. destruct Mb as [Hn _]. destruct Mc as [_ [_ Mc]]. rewrite Hsc in Mc.
  destruct Mc as [_ [Hsimple [Hlow [Hlow0 _]]]].
  rewrite (Hrel Hsimple) in *. clear Hrel rel. rename rel' into rel.
  unfold holds in Hb, Hc. rewrite Hsb in Hb. rewrite Hsc in Hc. destruct Hb as [Hindex [_ Hrounds]].
  specialize (Hrounds ltac:(lia)).
  destruct Hc as [Hsum [Hset _]].
  pose proof (entered_some n many apart ltac:(lia) Hapart Hn) as Hent.
  set (entered := Z.min many ((n - 1) / apart + 1)) in *.
  destruct (stretch_bounds _ _ _ _ _ HS Hent Hapart Hn) as [Habove Hmet].
  assert (Hsq : (0 <= square0)%Z) by (apply (Hmet []); cbn; auto; try tauto; lia).
  pose proof (factor_nonneg square0 bits Hbits Hsq) as Hfac.
  assert (HL0 : 0 <= Q2R length0).
  { unfold addition in HL. destruct set; try discriminate; injection HL as <-.
    - rewrite Hlow0 in Hlow by discriminate. auto.
    - rewrite of_Z_R. apply IZR_le, fold_max_start. }
  assert (Ea : Q2R added = (if replaces rel then 4 else 1) * Q2R length0).
  { rewrite Hadded. destruct (replaces rel); [rewrite times_R; f_equal; apply four_R | ring]. }
  assert (Eb : Q2R (times added (Qred (square0 # Z.to_pos (4 ^ bits))))
    = (if replaces rel then 4 else 1) * (Q2R length0 * (IZR square0 * / IZR (4 ^ bits)))) by (rewrite times_R,
    factor_R, Ea; auto; ring).
  assert (Hb0 : 0 <= Q2R length0 * (IZR square0 * / IZR (4 ^ bits))) by (apply Rmult_le_pos; auto).
  split.
  2: { unfold well_made. rewrite Ei. split; [auto|]. split; [destruct Bf as [_ [-> _]]; intros ? []|]. rewrite Eb.
       split; [destruct (replaces rel); lra|].
       unfold entering. destruct (entered =? 1)%Z; destruct rel; try discriminate Hsimple; auto. }
  unfold holds. rewrite Ei, Ech. split; [auto|split; [auto|]]. intros k law. change (counted L2Squared) with square.
  set (P := Place q (Factorised matrix bits n many apart last :: []) law Once).
  assert (Hidx : forall h l, next W h = Some l -> at_place l = P -> (index l <= n)%Z).
  { intros h l Hl Hp. apply (Hindex h l Hl); rewrite Hp; auto. }
  split.
  - intros h0 d d' Hd. rewrite entering_same in Hd. revert h0. apply (factored_spent W HW k q [] law matrix bits n many apart last eq_refl Hidx square square_nonneg).
    intros h. rewrite Eb. fold P.
    assert (Hpair : exists u, only_at u d d' /\ (replaces rel = true \/ d u = None \/ d' u = None)).
    { destruct rel; try discriminate Hsimple; cbn in Hd.
      - destruct Hd as [u [r [r' [E1 [E2 HO]]]]]. exists u. auto.
      - destruct Hd as [[u [r [E1 [E2 HO]]]]|[u [r [E1 [E2 HO]]]]]; exists u; split; auto. apply only_at_sym; auto. }
    destruct Hpair as [u [HO Hnone]]. clear Hd.
    set (N := width_of W k q P []). assert (EN : N = size W q) by apply plain_width.
    set (A := fun y : Z -> nat -> R => total (fun i => total (fun j => square (total (fun s => entry matrix i s *
      scale bits * y s j) (one_to i))) (seq 0 N)) (one_to n)).
    assert (HA : forall x, A (fun s j => part W k q P x u s h j) <= Q2R length0 * (IZR square0 * / IZR (4 ^ bits))).
    { intros x. unfold A.
      assert (Hwhere : standing_apart apart (filter (fun s => here W k q P x u s h) (one_to n))
        /\ (Z.of_nat (List.length (filter (fun s => here W k q P x u s h) (one_to n))) <= many)%Z).
      { unfold here. destruct x as [r|].
        - destruct (Hrounds k P h u r) as [H1 H2]. split; auto. apply rising_filter. intros s s' Hs Hs'. apply H2; auto.
        - assert (En : forall l : list Z, filter (fun _ => false) l = []) by (induction l; auto). rewrite En. cbn.
          split; auto. lia. }
      destruct Hwhere as [H1 H2].
      assert (H3 : forall s, In s (filter (fun s => here W k q P x u s h) (one_to n)) ->
        (1 <= s <= n)%Z) by (intros s Hs; apply filter_In in Hs; apply one_to_in; tauto).
      apply (rows_bounded matrix bits n square0 (fun s => here W k q P x u s h)); auto.
      - apply Hmet; auto. apply entered_enough; auto. lia.
      - intros s j _ E _. apply part_off; auto.
      - intros s _ E. rewrite EN. apply (part_short W k q P set low high points length0 Hset HL); auto. }
    assert (E : total (fun i => total (fun j => square (total (fun s => entry matrix i s * scale bits *
        (cell_at W k q P [] s h j d - cell_at W k q P [] s h j d')) (one_to i))) (seq 0 N)) (one_to n)
      = A (fun s j => if in_dec Z.eq_dec u (units_there W) then part W k q P (d u) u s h j - part W k q P (d' u) u s h
        j else 0)).
    { unfold A. apply total_ext. intros i _. apply total_ext. intros j Hj. f_equal. apply total_ext. intros s _.
      f_equal.
      apply in_seq in Hj. apply (cells_differ W HW k q P Hsum); auto. lia. }
    rewrite E. clear E. destruct (in_dec Z.eq_dec u (units_there W)) as [_|_].
    + destruct Hnone as [Hr|[Hx|Hx]].
      * rewrite Hr. apply Rle_trans with (2 * A (fun s j => part W k q P (d u) u s h j)
          + 2 * A (fun s j => part W k q P (d' u) u s h j)).
        -- unfold A. rewrite <- !total_scale, <- total_plus. apply total_le. intros i _.
           rewrite <- !total_scale, <- total_plus. apply total_le. intros j _.
           apply Rle_trans with (2 := square_apart _ _). right. f_equal. rewrite <- total_minus. apply total_ext.
           intros s _. ring.
        -- pose proof (HA (d u)). pose proof (HA (d' u)). lra.
      * rewrite Hx. apply Rle_trans with (A (fun s j => part W k q P (d' u) u s h j)).
        -- right. unfold A. apply total_ext. intros i _. apply total_ext. intros j _.
           replace (total _ (one_to i)) with (- total (fun s => entry matrix i s * scale bits * part W k q P (d' u) u
             s h j) (one_to i)); [unfold square; ring|].
           replace (- total (fun s => entry matrix i s * scale bits * part W k q P (d' u) u s h j) (one_to i)) with
             (-1 * total (fun s => entry matrix i s * scale bits * part W k q P (d' u) u s h j) (one_to i)) by ring.
             rewrite <- total_scale. apply total_ext. intros s _. unfold part at 2. ring.
        -- pose proof (HA (d' u)). destruct (replaces rel); lra.
      * rewrite Hx. apply Rle_trans with (A (fun s j => part W k q P (d u) u s h j)).
        -- right. unfold A. apply total_ext. intros i _. apply total_ext. intros j _. f_equal. apply total_ext.
           intros s _. unfold part at 2. ring.
        -- pose proof (HA (d u)). destruct (replaces rel); lra.
    + apply Rle_trans with 0; [|destruct (replaces rel); lra]. right. unfold A. apply total_zero. intros i _.
      apply total_zero. intros j _.
      rewrite (total_zero _ (one_to i)); [unfold square; ring|]. intros s _. ring.
  - intros now l d d' x Hl Hp Hag.
    assert (Hk : exists k', key l = k') by eauto. destruct Hk as [k' Hk'].
    apply (factored_reads W k' q [] law matrix bits n many apart last eq_refl l now d d' Hp Hk'). intros s j _.
    apply (cell_quiet W k' q P [] eq_refl). intros h' j'. rewrite !Hsum. apply total_ext. intros v Hv.
    rewrite (Hag v); auto.
    destruct HW as [_ [HU _]]. specialize (HU v Hv). unfold anyone. cbn. lia.
Qed.

Theorem factorised_sound : sound_rule "factorised".
Proof.
  intros st HR. destruct st; try discriminate HR. clear HR. intros W found fin HW HH HM HF _.
  assert (Hfound : (exists a b, found = [a; b]) \/ exists a b c, found = [a; b; c] /\ changes a = []).
  { unfold follow in HF. destruct (infer (ByFactorised matrix bits) (map says found)) eqn:Ei; [|discriminate].
    destruct found as [|a [|b [|c [|]]]]; try discriminate Ei; eauto. right. exists a, b, c. split; auto.
    cbn [noise_is_named] in HF. destruct (changes a); [auto | discriminate]. }
  destruct Hfound as [[a [b ->]]|[a [b [c [-> Hch]]]]]; inversion HH as [|? ? Ha HH1]; inversion HH1 as [|? ? Hb HH2];
    inversion HM as [|? ? Ma HM1]; inversion HM1 as [|? ? Mb HM2]; subst.
  - apply (factorised_one W a b fin matrix bits); auto.
  - inversion HH2; inversion HM2; subst. apply (factorised_many W a b c fin matrix bits); auto.
Qed.
