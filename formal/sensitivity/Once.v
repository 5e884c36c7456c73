(** The rule `stream_l1`: sums of numbers, one a round, where a unit enters one round that its own data may choose.

    Its number leaves one sum and the number in its place enters one, wherever these stand; so both are bounded alone.
    Every row is that of its round: a stream with the matrix that has ones on its diagonal. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String FunctionalExtensionality.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.noise Require Import Infer Triangles.
From DP.sensitivity Require Import Infer Streams Moves Rows Richest Columns Factors Factorised.
From DP.hypotheses Require Import Infer.
From DP.composition Require Import Infer Views Parts Spread.
From DP.conversions Require Import Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Lemma stream_l1_parts a b f : stream_l1 a b = Some f -> exists q low high points rel source n many apart last,
  a = Contribution q Interval low high points rel source /\ b = Rounds q n many apart last /\
  (1 < many)%Z /\ (n <= apart)%Z /\
  f = Stable q L1 (let largest := larger (absolute low) (absolute high) in
    if replaces rel then times two largest else largest) rel (Some anyone).
Proof.
  unfold stream_l1. destruct a as [| |q set low high points rel source| | | | | | | | | | | |]; try discriminate.
  destruct set; try discriminate. destruct b as [| | | | | | |q' n many apart last| | | | | | |]; try discriminate.
  destruct (_ && _)%bool eqn:E; [|discriminate]. apply andb_prop in E. destruct E as [E E3]. apply andb_prop in E.
  destruct E as [E1 E2]. apply String.eqb_eq in E1. apply Z.ltb_lt in E2. apply Z.leb_le in E3. subst q'.
  intros HF. injection HF as <-. exists q, low, high, points, rel, source, n, many, apart, last. auto.
Qed.

(** A row of the matrix with ones on its diagonal. *)
Lemma own_row (y : Z -> R) i : (1 <= i)%Z -> total (fun s => entry [[1%Z]] i s * scale 0 * y s) (one_to i) = y i.
Proof.
  intros Hi. rewrite (total_split_one _ (fun _ => 0) (one_to i) i); [|apply one_to_once | apply one_to_in; lia |].
  - rewrite (total_zero (fun _ => 0) (one_to i)) by auto. unfold entry, scale. rewrite Z.leb_refl, Z.sub_diag. cbn. field.
  - intros s Hs Hne. apply one_to_in in Hs. unfold entry. destruct (Z.leb_spec s i); [|ring].
    rewrite (nth_overflow _ 0%Z); [ring|]. cbn. lia.
Qed.

(** What a unit adds, over all rounds, if it stands in one at most. *)
Section Once.
  Variable W : world.
  Local Notation H := (history (message W)).
  Local Notation D := (data (record W)).
  Variables (k q : string) (P : place) (low high : Q) (points : list (list Z)) (n many apart : Z) (m : R).
  Hypothesis Hset : forall o i h u r, takes_part W q o i h u r = true ->
    in_set W q Interval (Q2R low) (Q2R high) points (adds W q o i h u r).
  Hypothesis Hrounds : forall k p h u r, let entered := filter (fun s =>
      takes_part W q Once s (moment W (Label k p s) h) u r) (one_to n) in
    (Z.of_nat (List.length entered) <= many)%Z /\
    forall s s', In s entered -> In s' entered -> (s < s' -> apart <= s' - s)%Z.
  Hypothesis Hfar : (n <= apart)%Z.
  Hypothesis Hm : Rmax (Rabs (Q2R low)) (Rabs (Q2R high)) <= m.

  Lemma largest_nonneg : 0 <= m.
  Proof. apply Rle_trans with (2 := Hm), Rle_trans with (2 := Rmax_l _ _), Rabs_pos. Qed.

  (** Two rounds of one unit are one. *)
  Lemma one_round x u h s s' : In s (one_to n) -> In s' (one_to n) ->
    here W k q P x u s h = true -> here W k q P x u s' h = true -> s = s'.
  Proof.
    intros Hs Hs' E E'. unfold here in E, E'. destruct x as [r|]; [|discriminate].
    destruct (Hrounds k P h u r) as [_ HA]. cbv zeta in HA.
    pose proof (HA s s') as A. pose proof (HA s' s) as B. rewrite !filter_In in A, B.
    specialize (A (conj Hs E) (conj Hs' E')). specialize (B (conj Hs' E') (conj Hs E)).
    apply one_to_in in Hs, Hs'. lia.
  Qed.

  Definition row x u h s : R := total (fun j => Rabs (part W k q P x u s h j)) (seq 0 (size W q)).

  Lemma row_off x u h s : here W k q P x u s h = false -> row x u h s = 0.
  Proof. intros E. apply total_zero. intros j _. rewrite part_off by auto. apply Rabs_R0. Qed.

  Lemma row_on x u h s : here W k q P x u s h = true -> row x u h s <= m.
  Proof.
    intros E. unfold row, part. destruct x as [r|]; [|discriminate]. rewrite E. unfold here in E. apply Hset in E.
    destruct E as [-> E]. cbn [seq total]. rewrite Rplus_0_r. apply Rle_trans with (2 := Hm).
    pose proof (Rmax_l (Rabs (Q2R low)) (Rabs (Q2R high))). pose proof (Rmax_r (Rabs (Q2R low)) (Rabs (Q2R high))).
    pose proof (Rle_abs (Q2R high)). pose proof (Rle_abs (- Q2R low)) as L. rewrite Rabs_Ropp in L.
    apply Rabs_le. lra.
  Qed.

  Lemma rows_once x u h : total (row x u h) (one_to n) <= m.
  Proof.
    destruct (existsb (fun s => here W k q P x u s h) (one_to n)) eqn:E.
    - apply existsb_exists in E. destruct E as [s [Hs E]].
      apply Rle_trans with (Rmax 0 (row x u h s)); [|apply Rmax_lub; [apply largest_nonneg | apply row_on; auto]].
      apply total_one; [apply one_to_once|]. intros i Hi Hne. apply row_off, not_true_is_false. intros E'.
      apply Hne, (one_round x u h); auto.
    - rewrite total_zero; [apply largest_nonneg|]. intros i Hi. apply row_off, not_true_is_false. intros E'.
      rewrite <- not_true_iff_false in E. apply E. apply existsb_exists. eauto.
  Qed.

  Lemma row_none u h s : row None u h s = 0.
  Proof. apply row_off. auto. Qed.
End Once.

Theorem stream_l1_sound : sound_rule "stream_l1".
Proof.
  intros st HR. destruct st; try discriminate HR. clear HR. intros W found fin HW HH HM HF _.
  assert (exists a b, found = [a; b]) as [a [b ->]].
  { unfold follow in HF. destruct (infer ByStreamL1 (map says found)) eqn:Ei; [|discriminate].
    destruct found as [|a [|b [|]]]; try discriminate Ei; eauto. }
  pose proof (Forall_inv HH) as Ha. pose proof (Forall_inv (Forall_inv_tail HH)) as Hb.
  pose proof (Forall_inv HM) as Ma. pose proof (Forall_inv (Forall_inv_tail HM)) as Mb.
  assert (Hi : exists f, stream_l1 (says a) (says b) = Some f).
  { unfold follow in HF. cbn [map infer sensitivity] in HF.
    destruct (stream_l1 (says a) (says b)); [eauto | discriminate]. }
  destruct Hi as [f Hf].
  destruct (stream_l1_parts _ _ _ Hf) as [q [low [high [points [rel [source [n [many [apart [last
    [Hsa [Hsb [Hmany [Hfar Ef]]]]]]]]]]]]]].
  assert (Ba : bare a) by (apply Ma; rewrite Hsa; auto). assert (Bb : bare b) by (apply Mb; rewrite Hsb; auto).
  destruct (follow_two ByStreamL1 a b fin eq_refl I Ba Bb HF) as [Ei [Bf Ech]].
  cbn [infer sensitivity] in Ei. rewrite Hf in Ei. assert (Ei' : says fin = f) by congruence. rewrite Ef in Ei'.
  clear Ei Hf Ef HF f. rename Ei' into Ei. cbv zeta in Ei.
  destruct Ma as [_ [_ Ma]]. rewrite Hsa in Ma. destruct Ma as [Hch [Hsimple _]].
  unfold changed in Ech. rewrite Hsb in Ech. cbn [first_changes] in Ech. rewrite Hch in Ech.
  unfold holds in Ha, Hb. rewrite Hsa in Ha. rewrite Hsb in Hb. destruct Ha as [Hsum [Hset _]].
  destruct Hb as [Hindex [_ Hrounds]]. specialize (Hrounds ltac:(lia)).
  set (m := Q2R (larger (absolute low) (absolute high))).
  assert (Hm : Rmax (Rabs (Q2R low)) (Rabs (Q2R high)) <= m).
  { unfold m. rewrite larger_R, !absolute_R. apply Rle_refl. }
  pose proof (largest_nonneg low high m Hm) as Hm0.
  set (bound := if replaces rel then times two _ else _) in Ei.
  assert (Eb : Q2R bound = (if replaces rel then 2 else 1) * m).
  { unfold bound, m. destruct (replaces rel); [rewrite times_R; f_equal; apply two_R | ring]. }
  split.
  2: { unfold well_made. rewrite Ei. split; [auto|]. split; [destruct Bf as [_ [-> _]]; intros ? []|]. rewrite Eb.
       split; [destruct (replaces rel); lra|]. destruct rel; try discriminate Hsimple; auto. }
  unfold holds. rewrite Ei, Ech. split; [auto|split; [auto|]]. intros k law. change (counted L1) with Rabs.
  set (P := Place q (Factorised [[1%Z]] 0 n many apart last :: []) law Once).
  assert (Hidx : forall h l, next W h = Some l -> at_place l = P -> (index l <= n)%Z).
  { intros h l Hl Hp. apply (Hindex h l Hl); rewrite Hp; auto. }
  split.
  - intros h0 d d' Hd. revert h0.
    apply (factored_spent W HW k q [] law [[1%Z]] 0 n many apart last eq_refl Hidx Rabs Rabs_pos). intros h. fold P.
    assert (Hpair : exists u, only_at u d d' /\ (replaces rel = true \/ d u = None \/ d' u = None)).
    { destruct rel; try discriminate Hsimple; cbn in Hd.
      - destruct Hd as [u [r [r' [E1 [E2 HO]]]]]. exists u. auto.
      - destruct Hd as [[u [r [E1 [E2 HO]]]]|[u [r [E1 [E2 HO]]]]]; exists u; split; auto. apply only_at_sym; auto. }
    destruct Hpair as [u [HO Hnone]]. clear Hd. rewrite plain_width.
    set (A := fun x => total (row W k q P x u h) (one_to n)).
    assert (HA : forall x, A x <= m) by (intros x; apply (rows_once W k q P low high points n many apart); auto).
    assert (Hone : A None = 0) by (apply total_zero; intros; apply row_none).
    apply Rle_trans with (A (d u) + A (d' u)).
    + unfold A. rewrite <- total_plus. apply total_le. intros i Hi. apply one_to_in in Hi. unfold row.
      rewrite <- total_plus. apply total_le. intros j Hj. apply in_seq in Hj.
      rewrite (own_row (fun s => cell_at W k q P [] s h j d - cell_at W k q P [] s h j d')) by lia.
      rewrite (cells_differ W HW k q P Hsum d d' u i h j HO) by lia.
      destruct (in_dec Z.eq_dec u (units_there W)).
      * unfold Rminus. rewrite <- (Rabs_Ropp (part W k q P (d' u) u i h j)). apply Rabs_triang.
      * rewrite Rabs_R0. apply Rplus_le_le_0_compat; apply Rabs_pos.
    + rewrite Eb. pose proof (HA (d u)). pose proof (HA (d' u)).
      destruct Hnone as [->|[E|E]]; [lra | |]; rewrite E in *; destruct (replaces rel); lra.
  - intros now l d d' x Hl Hp Hag.
    assert (Hk : exists k', key l = k') by eauto. destruct Hk as [k' Hk'].
    apply (factored_reads W k' q [] law [[1%Z]] 0 n many apart last eq_refl l now d d' Hp Hk'). intros s j _.
    apply (cell_quiet W k' q P [] eq_refl). intros h' j'. rewrite !Hsum. apply total_ext. intros v Hv.
    rewrite (Hag v); auto.
    destruct HW as [_ [HU _]]. specialize (HU v Hv). unfold anyone. cbn. lia.
Qed.
