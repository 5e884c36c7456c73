(** The rule `buffered`: decaying buffers beside a stream where a unit enters one round.

    The rule counts the floors of [width] numbers of a row; it takes for granted that a row has no more. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String FunctionalExtensionality.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.decide Require Import Decide.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.noise Require Import Infer Triangles.
From DP.sensitivity Require Import Infer Streams Rows Factors Buffers.
From DP.composition Require Import Infer Views Parts Spread.
From DP.conversions Require Import Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- what the rule computes *)

Lemma geometric_total rho n : total (fun m => rho ^ m) (seq 0 n) * (1 - rho) = 1 - rho ^ n.
Proof. induction n as [|n IH]; [cbn; ring|]. rewrite seq_S, total_app, Rmult_plus_distr_r, IH.
  cbn [total Nat.add pow]. ring. Qed.

Lemma eval_added {A} (e : A -> expr) l : forall s, eval (fold_left (fun t a => Plus t (e a)) l s)
  = eval s + total (fun a => eval (e a)) l.
Proof. induction l as [|a l IH]; intros s; cbn [fold_left total]; [lra|]. rewrite IH. cbn [eval]. lra. Qed.

Section Computed.
  Variables (before : Q) (found : list (Q * Q)) (later : Z).
  Hypotheses (Hok : forall vf, In vf found -> pair_ok vf) (Hlater : (0 <= later)%Z).

  Definition term (vf wg : Q * Q) : expr :=
    Times (Num (over (times (times before (fst vf)) (fst wg)) (minus 1 (times (snd vf) (snd wg)))))
      (Minus (Num 1) (Pow (Num (times (snd vf) (snd wg))) (Z.to_N later))).

  Lemma term_R vf wg : In vf found -> In wg found -> eval (term vf wg)
    = Q2R before * total (fun m => (Q2R (fst vf) * Q2R (snd vf) ^ m) * (Q2R (fst wg) * Q2R (snd wg) ^ m)) (seq 0
      (Z.to_nat later)).
  Proof.
    intros H1 H2. apply Hok in H1, H2. unfold pair_ok in H1, H2. unfold term. cbn [eval].
    assert (Hr : Q2R (snd vf) * Q2R (snd wg) < 1) by nra.
    rewrite over_R by (rewrite minus_R, times_R, one_R; lra). rewrite minus_R, !times_R, one_R.
    set (v := Q2R (fst vf)) in *. set (w := Q2R (fst wg)) in *. set (f := Q2R (snd vf)) in *.
    set (g := Q2R (snd wg)) in *.
    assert (En : N.to_nat (Z.to_N later) = Z.to_nat later) by apply Z_N_nat. rewrite En, <- (geometric_total (f * g)).
    rewrite (total_ext (fun m => v * f ^ m * (w * g ^ m)) (fun m => v * w * (f * g) ^ m)) by (intros m _;
      rewrite Rpow_mult_distr; ring).
    rewrite (total_scale (v * w) (fun m => (f * g) ^ m)). set (G := total _ _). field. lra.
  Qed.

  Lemma decaying_R : eval (decaying before found later)
    = Q2R before * (1 + total (fun m => square (decayed found m)) (seq 0 (Z.to_nat later))).
  Proof.
    assert (E : forall l s, eval (fold_left (fun t vf => fold_left (fun t wg => Plus t (term vf wg)) found t) l s)
      = eval s + total (fun vf => total (fun wg => eval (term vf wg)) found) l).
    { induction l as [|vf l IH]; intros s; cbn [fold_left total]; [lra|]. rewrite IH, eval_added. lra. }
    unfold decaying. change (fold_left _ found (Num before)) with
      (fold_left (fun t vf => fold_left (fun t wg => Plus t (term vf wg)) found t) found (Num before)). rewrite E.
      cbn [eval].
    rewrite (total_ext _ (fun vf => Q2R before * total (fun wg => total (fun m => (Q2R (fst vf) * Q2R (snd vf) ^ m) *
      (Q2R (fst wg) * Q2R (snd wg) ^ m)) (seq 0 (Z.to_nat later))) found)).
    - rewrite total_scale, Rmult_plus_distr_l, Rmult_1_r. f_equal. f_equal.
      transitivity (total (fun vf => total (fun m => total (fun wg => (Q2R (fst vf) * Q2R (snd vf) ^ m) * (Q2R (fst
        wg) * Q2R (snd wg) ^ m)) found) (seq 0 (Z.to_nat later))) found).
      + apply total_ext. intros vf _. apply total_swap.
      + rewrite total_swap. apply total_ext. intros m _. unfold square, decayed. rewrite total_double. auto.
    - intros vf Hv. rewrite <- total_scale. apply total_ext. intros wg Hw. apply term_R; auto.
  Qed.

  Lemma lost_R step : Q2R (times step (sum_of (map (fun vf => over 1 (minus 1 (snd vf))) found)))
    = lost found (Q2R step).
  Proof.
    rewrite times_R, sum_of_R, total_map, <- total_scale. unfold lost. apply total_ext. intros vf Hv. apply Hok in Hv.
    unfold pair_ok in Hv.
    rewrite over_R by (rewrite minus_R, one_R; lra). rewrite minus_R, one_R. field. lra.
  Qed.
End Computed.

Lemma buffered_parts width pairs bits step most a b f : buffered width pairs bits step most a b = Some f ->
  exists q before rel n apart last found, a = Stable q L2Squared before rel None /\ b = Rounds q n 1 apart last /\
    (1 <= width)%Z /\ 0 < Q2R step /\ buffers_of pairs bits = Some found
      /\ f = Stable q L2Squared most rel (Some (1%Z, last)) /\
    ((1 <= n)%Z -> square (sqrt (Q2R before * (1 + total (fun m => square (decayed found m)) (seq 0 (Z.to_nat (n -
      1)))))
      + sqrt (lost found (Q2R step) * lost found (Q2R step) * INR (Z.to_nat (n - 1)) * IZR width)) <= Q2R most).
Proof.
  unfold buffered, untransformed. destruct a as [| | |q how before rel reads| | | | | | | | | | |]; try discriminate.
  destruct how; try discriminate. destruct reads; try discriminate.
  destruct b as [| | | | | | |q' n many apart last| | | | | | |]; try discriminate.
  destruct (String.eqb q q') eqn:Eq; [|discriminate]. apply String.eqb_eq in Eq. subst q'.
  destruct (_ && _)%bool eqn:E; [|discriminate]. apply andb_prop in E. destruct E as [E E3]. apply andb_prop in E.
  destruct E as [E1 E2].
  apply Z.eqb_eq in E1. apply Z.leb_le in E2. apply q_positive in E3. subst many.
  destruct (buffers_of pairs bits) as [found|] eqn:EB; [|discriminate].
  destruct (at_most _ most) eqn:EM; [|discriminate].
  intros HF. exists q, before, rel, n, apart, last, found. do 5 (split; auto). split; [congruence|]. intros Hn.
  destruct (buffers_found _ _ _ EB) as [Hok _]. apply at_most_sound in EM. cbn [eval] in EM.
  rewrite decaying_R in EM by (auto; lia). rewrite !times_R, !of_Z_R in EM.
  pose proof (lost_R found Hok step) as EL. rewrite times_R in EL. rewrite EL in EM.
  rewrite INR_IZR_INZ, Z2Nat.id by lia. unfold square at 1. exact EM.
Qed.

(* ---------------------------------------------------------------- the stream *)

Section Buffered.
  Variable W : world.
  Hypothesis HW : lawful W.
  Local Notation H := (history (message W)).
  Local Notation D := (data (record W)).
  Variables (k q : string) (chs : list change) (law : noise_law) (width : Z) (pairs : list (list Z)) (bits : Z) (step
    : Q) (n times apart last : Z).
  Variable found : list (Q * Q).
  Hypothesis Hchs : is_stream chs = false.
  Hypothesis Hfound : buffers_of pairs bits = Some found.
  Let P := Place q (Buffered width pairs bits step n times apart last :: chs) law Once.
  Hypothesis Hindex : forall h l, next W h = Some l -> at_place l = P -> (index l <= n)%Z.
  Let x := cell_at W k q P chs.

  Definition beside (h : H) (i : Z) (j : nat) (d : D) : R :=
    x i h j d + sum_of_buffers found (Q2R step) (fun t => x (Z.of_nat t + 1)%Z h j d) (Z.to_nat (i - 1)).

  Lemma buffered_numbers l h : key l = k -> at_place l = P -> numbers_at W l h =
    map (fun j d => beside h (index l) j d) (seq 0 (width_of W k q P chs)).
  Proof.
    intros Hk Hp. unfold numbers_at. rewrite Hp, Hk. unfold P at 1. cbn [made query over numbers_of].
    rewrite <- (width_is W k q P chs Hchs (index l) h). fold P. apply map_ext. intros j.
    apply functional_extensionality. intros d.
    unfold beside, sum_of_buffers. rewrite <- (proj2 (buffers_found _ _ _ Hfound)). reflexivity.
  Qed.

  Lemma beside_same h h' i j d d' : (1 <= i)%Z -> (forall s, (1 <= s <= i)%Z -> x s h j d = x s h' j d') ->
    beside h i j d = beside h' i j d'.
  Proof.
    intros Hi HX. unfold beside. rewrite (HX i) by lia. f_equal. apply total_ext. intros vf _. apply buffer_ext.
    intros s Hs. apply HX. lia.
  Qed.

  Lemma buffered_spent d d' b :
    (forall h, total (fun i => total (fun j => square (beside h i j d - beside h i j d')) (seq 0 (width_of W k q P
      chs))) (one_to n) <= b) ->
    forall h, spent (fun h => if on_place W k P h
      then match next W h with Some l => total square (differences W (numbers_at W l h) d d') | None => 0 end else 0)
        h <= b.
  Proof.
    intros HB. apply (stream_bound W HW k P n _ (fun h i => total (fun j => square (beside h i j d - beside h i j d'))
      (seq 0 (width_of W k q P chs)))); auto.
    - intros h i. apply total_nonneg. intros. apply square_nonneg.
    - intros h E. rewrite E. auto.
    - intros h g l He Hl Hk Hp. assert (Eon : on_place W k P g = true) by (apply on_place_spec; eauto). rewrite Eon, Hl.
      rewrite (buffered_numbers l g Hk Hp). unfold differences. rewrite map_map, total_map. right. apply total_ext.
      intros j _. f_equal.
      assert (Hi : (1 <= index l)%Z) by (destruct HW as [_ [_ [_ [_ [_ [HR _]]]]]];
        destruct (HR g l Hl ltac:(rewrite Hp; auto)) as [_ [G _]]; auto).
      rewrite (beside_same g h (index l) j d d), (beside_same g h (index l) j d' d'); auto;
        intros s Hs; unfold x; rewrite (cell_fixed W HW k q P chs g h l Hl Hk Hp eq_refl He s Hs); auto.
  Qed.
End Buffered.

(** Sound of queries that have at most [width] numbers. *)
Theorem buffered_of_width W a b fin width pairs bits step most : lawful W -> holds W a -> holds W b -> well_made a ->
  well_made b ->
  (forall q how bound rel reads, says a = Stable q how bound rel reads ->
    forall k p o i h, (Z.of_nat (List.length (numbers_of W k p q (changes a) o i h)) <= width)%Z) ->
  follow (ByBuffered width pairs bits step most) [a; b] = Some fin -> holds W fin /\ well_made fin.
Proof.
  intros HW Ha Hb Ma Mb Hwidth HF.
  assert (Hi : exists f, buffered width pairs bits step most (says a) (says b) = Some f).
  { unfold follow in HF. cbn [map infer sensitivity] in HF.
    destruct (buffered width pairs bits step most (says a) (says b)); [eauto | discriminate]. }
  destruct Hi as [f Hf]. destruct (buffered_parts _ _ _ _ _ _ _ _ Hf) as [q [before [rel [n [apart [last [found [Hsa
    [Hsb [Hw1 [Hstep [HB [Ef Hmost]]]]]]]]]]]]].
  specialize (Hwidth _ _ _ _ _ Hsa).
  pose proof (stable_bare a _ _ _ _ _ Ma Hsa) as Ba. assert (Bb : bare b) by (apply Mb; rewrite Hsb; auto).
  destruct (follow_two (ByBuffered width pairs bits step most) a b fin eq_refl I Ba Bb HF) as [Ei [Bf Ech]].
  cbn [infer sensitivity] in Ei. rewrite Hf in Ei. assert (Ei' : says fin = f) by congruence. rewrite Ef in Ei'.
  clear Ei Hf Ef HF f. rename Ei' into Ei.
  unfold changed in Ech. rewrite Hsb in Ech. cbn [first_changes] in Ech. set (chs := changes a) in *.
  destruct Ma as [_ [_ Ma]]. rewrite Hsa in Ma. destruct Ma as [Hb0 Hsingle]. destruct Mb as [_ [_ Mb]].
  rewrite Hsb in Mb. destruct Mb as [Hn _]. specialize (Hmost Hn).
  unfold holds in Ha, Hb. rewrite Hsa in Ha. rewrite Hsb in Hb. destruct Ha as [_ [Hnostream Hstable]].
  destruct Hb as [Hindex [Hone _]]. destruct (Hone eq_refl) as [Hsteady [enters [Hent Hval]]].
  specialize (Hstable Hsteady).
  destruct (buffers_found _ _ _ HB) as [Hok _].
  assert (Hm0 : 0 <= Q2R most) by (apply Rle_trans with (2 := Hmost); apply square_nonneg).
  split.
  2: { unfold well_made. rewrite Ei. split; [auto|]. split; [destruct Bf as [_ [-> _]]; intros ? []|]. auto. }
  unfold holds. rewrite Ei, Ech. split; [auto|split; [auto|]]. intros k law. change (counted L2Squared) with square.
  set (P := Place q (Buffered width pairs bits step n 1 apart last :: chs) law Once).
  assert (Hidx : forall h l, next W h = Some l -> at_place l = P -> (index l <= n)%Z).
  { intros h l Hl Hp. apply (Hindex h l Hl); rewrite Hp; auto. }
  split.
  - intros h0 d d' Hd. destruct (near_at (distance W) rel Hsingle d d' Hd) as [u [HO _]]. set (s0 := enters u).
    revert h0.
    apply (buffered_spent W HW k q chs law width pairs bits step n 1 apart last found Hnostream HB Hidx). intros h.
    fold P.
    set (N := width_of W k q P chs). set (x := cell_at W k q P chs).
    assert (Hquiet : forall s j, s <> s0 -> x s h j d = x s h j d').
    { intros s j Hs. apply (cell_quiet W k q P chs Hnostream). intros h' j'. apply Hval. intros v Hv. apply HO.
      intros ->. auto. }
    assert (HN : INR N <= IZR width) by (rewrite INR_IZR_INZ; apply IZR_le, Hwidth).
    set (put := beside W k q chs law width pairs bits step n 1 apart last found).
    assert (Hround : (1 <= s0 <= n)%Z \/ ~ (1 <= s0 <= n)%Z) by lia. destruct Hround as [Hin|Hout].
    + apply Rle_trans with (2 := Hmost).
      apply Rle_trans with (square (sqrt (Q2R before * (1
        + total (fun m => square (decayed found m)) (seq 0 (Z.to_nat (n - 1)))))
        + sqrt (lost found (Q2R step) * lost found (Q2R step) * INR (Z.to_nat (n - 1)) * INR N))).
      * apply (rows_moved found (Q2R step) n N s0 (fun j => x s0 h j d - x s0 h j d') (fun i j => put h i j d - put h
          i j d') (Q2R before) Hok Hstep Hin).
        -- intros i j Hi. apply Rminus_diag_eq. apply beside_same; [lia|]. intros s Hs. apply Hquiet. lia.
        -- intros j. unfold put, beside. fold P. fold x.
           rewrite (buffers_until found (Q2R step) (fun t => x (Z.of_nat t + 1)%Z h j d) (fun t => x (Z.of_nat t
             + 1)%Z h j d') (Z.to_nat (s0 - 1))); auto; [ring|].
           intros s Hs. apply Hquiet. lia.
        -- intros m j Hm. unfold put, beside. fold P. fold x. rewrite (Hquiet (s0 + 1 + Z.of_nat m)%Z) by lia.
           pose proof (buffers_after found (Q2R step) Hok Hstep (fun t => x (Z.of_nat t
             + 1)%Z h j d) (fun t => x (Z.of_nat t + 1)%Z h j d') (Z.to_nat (s0 - 1)) m) as G.
           cbv beta in G. replace (Z.of_nat (Z.to_nat (s0 - 1)) + 1)%Z with s0 in G by lia.
           replace (Z.to_nat (s0 + 1 + Z.of_nat m - 1)) with (Z.to_nat (s0 - 1) + 1 + m)%nat by lia.
           specialize (G ltac:(intros s Hs; apply Hquiet; lia)). apply Rle_trans with (2 := G). right. f_equal. ring.
        -- unfold N, x. rewrite (cells_moved W k q P chs Hnostream).
           exact (Hstable k P Once s0 (moment W (Label k P s0) h) d d' Hd).
      * assert (Hsum : sqrt (lost found (Q2R step) * lost found (Q2R step) * INR (Z.to_nat (n - 1)) * INR N)
          <= sqrt (lost found (Q2R step) * lost found (Q2R step) * INR (Z.to_nat (n - 1)) * IZR width)).
        { apply sqrt_le_1_alt. apply Rmult_le_compat_l; auto. apply Rmult_le_pos; [apply Rle_0_sqr | apply pos_INR]. }
        unfold square at 1 3. set (r1 := sqrt (Q2R before * _)).
        pose proof (sqrt_pos (Q2R before * (1 + total (fun m => square (decayed found m)) (seq 0 (Z.to_nat (n -
          1)))))) as S1. fold r1 in S1.
        pose proof (sqrt_pos (lost found (Q2R step) * lost found (Q2R step) * INR (Z.to_nat (n - 1)) * INR N)) as S2.
        apply Rmult_le_compat; lra.
    + apply Rle_trans with 0; auto. right. apply total_zero. intros i Hi. apply one_to_in in Hi. apply total_zero.
      intros j _.
      unfold put. rewrite (beside_same W k q chs law width pairs bits step n 1 apart last found h h i j d d');
        [unfold square; ring | lia |].
      intros s Hs. apply Hquiet. lia.
  - intros now l d d' c Hl Hp Hag Hc.
    assert (Hk : exists k', key l = k') by eauto. destruct Hk as [k' Hk'].
    rewrite (buffered_numbers W k' q chs law width pairs bits step n 1 apart last found Hnostream HB l now Hk' Hp) in
      Hc.
    apply in_map_iff in Hc. destruct Hc as [j [<- _]].
    assert (Hi1 : (1 <= index l)%Z) by (destruct HW as [_ [_ [_ [_ [_ [HR _]]]]]];
      destruct (HR now l Hl ltac:(rewrite Hp; auto)) as [_ [G _]]; auto).
    apply beside_same; auto. intros s Hs. apply (cell_quiet W k' q P chs Hnostream). intros h' j'. apply Hval.
    intros v Hv. apply Hag. destruct (Hent v) as [E|E]; lia.
Qed.

Theorem buffered_sound : sound_rule "buffered".
Proof.
  intros st HR. destruct st; try discriminate HR. clear HR. intros W found fin HW HH HM HF HG.
  assert (exists a b, found = [a; b]) as [a [b ->]].
  { unfold follow in HF. destruct (infer (ByBuffered width pairs bits step most) (map says found)) eqn:Ei;
      [|discriminate].
    destruct found as [|a [|b [|]]]; try discriminate Ei; eauto. }
  inversion HH as [|? ? Ha HH1]. inversion HH1 as [|? ? Hb _]. inversion HM as [|? ? Ma HM1].
  inversion HM1 as [|? ? Mb _]. subst.
  apply (buffered_of_width W a b fin width pairs bits step most); auto.
  intros q how bound rel reads Hsa k p o i h. pose proof (stable_bare a _ _ _ _ _ Ma Hsa) as Ba.
  assert (Hsb : exists q' n times apart last, says b = Rounds q' n times apart last
    /\ infer (ByBuffered width pairs bits step most) [says a; says b] <> None).
  { unfold follow in HF. cbn [map] in HF. destruct (infer _ [says a; says b]) as [f|] eqn:Ei; [|discriminate].
    cbn [infer sensitivity] in Ei.
    destruct (buffered_parts _ _ _ _ _ _ _ _ Ei) as [q' [? [? [n [apart [last [? [_ [E _]]]]]]]]]. do 5 eexists.
    split; [exact E | congruence]. }
  destruct Hsb as [q' [n [times [apart [last [Hsb _]]]]]]. assert (Bb : bare b) by (apply Mb; rewrite Hsb; auto).
  destruct (follow_two (ByBuffered width pairs bits step most) a b fin eq_refl I Ba Bb HF) as [Ei [_ Ech]].
  cbn [infer sensitivity] in Ei. destruct (buffered_parts _ _ _ _ _ _ _ _ Ei) as [q0 [? [? [? [? [? [? [E0 [_ [_ [_ [_
    [E1 _]]]]]]]]]]]]].
  cbn [takes_for_granted] in HG. rewrite E1, Ech in HG. unfold changed in HG. rewrite Hsb in HG.
  cbn [tl first_changes] in HG.
  assert (q0 = q) by congruence. subst q0. apply HG.
Qed.
