(** A stream of rows times a public lower triangular matrix: what all rows together move by.

    The rows that a unit enters are a list S; the stream moves by at most the squared length of one addition times all
    inner products of the columns S, which [stretch] bounds (Columns.v).
    With several participations the additions before
    and after a replacement are bounded one by one, as they may stand in other rounds. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String FunctionalExtensionality.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.noise Require Import Infer Triangles.
From DP.sensitivity Require Import Infer Streams Moves Rows Richest Columns.
From DP.hypotheses Require Import Infer.
From DP.composition Require Import Infer Views Parts Spread.
From DP.conversions Require Import Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- from whole numbers to reals *)

Lemma total_whole {A} (f : A -> Z) l : total (fun a => IZR (f a)) l = IZR (zsum f l).
Proof. induction l as [|a l IH]; cbn [total zsum]; auto. rewrite IH, plus_IZR. auto. Qed.

Lemma entry_whole m t s : entry m t s = IZR (whole_entry m t s).
Proof. unfold entry, whole_entry. destruct m as [|c [|]]; auto. destruct (s <=? t)%Z; auto. Qed.

Lemma scale_squared bits : (0 <= bits)%Z -> scale bits * scale bits = / IZR (4 ^ bits).
Proof.
  intros Hb. unfold scale. assert (E : powerRZ 2 bits = IZR (2 ^ bits)).
  { rewrite <- (Z2Nat.id bits) by lia. rewrite <- pow_powerRZ, <- pow_IZR. auto. }
  rewrite E, <- Rinv_mult by (apply IZR_lt, Z.pow_pos_nonneg; lia). f_equal. rewrite <- mult_IZR. f_equal.
  change 4%Z with (2 * 2)%Z. rewrite Z.pow_mul_l. auto.
Qed.

Section Bounded.
  Variables (m : list (list Z)) (bits n square0 : Z) (p : Z -> bool) (y : Z -> nat -> R) (places : list nat) (r : R).
  Hypotheses (Hbits : (0 <= bits)%Z) (Habove : forall t s, (1 <= t)%Z -> (t < s)%Z -> whole_entry m t s = 0%Z)
    (Hmet : (met_by m n (filter p (one_to n)) <= square0)%Z) (Hr : 0 <= r)
    (Hoff : forall s j, (1 <= s <= n)%Z -> p s = false -> In j places -> y s j = 0)
    (Hshort : forall s, (1 <= s <= n)%Z -> p s = true -> total (fun j => square (y s j)) places <= r).

  Lemma rows_bounded :
    total (fun i => total (fun j => square (total (fun s => entry m i s * scale bits * y s j) (one_to i))) places)
      (one_to n)
    <= r * (IZR square0 * / IZR (4 ^ bits)).
  Proof.
    set (S := filter p (one_to n)) in *. set (e := fun t s => IZR (whole_entry m t s) * scale bits).
    apply Rle_trans with (total (fun i => total (fun j => square (total (fun s => e i s * y s j) S)) places) (one_to
      n)).
    - right. apply total_ext. intros i Hi. apply one_to_in in Hi. apply total_ext. intros j Hj. f_equal. unfold S.
      rewrite total_filter, <- (total_one_to n i); [|lia|].
      + apply total_ext. intros s Hs. apply one_to_in in Hs. unfold e. rewrite entry_whole. destruct (p s) eqn:E; auto.
        rewrite (Hoff s j); auto. ring.
      + intros s Hs. rewrite entry_whole, Habove by lia. ring.
    - assert (Hin : forall s, In s S -> (1 <= s <= n)%Z /\ p s = true).
      { intros s Hs. apply filter_In in Hs. destruct Hs as [Hs Hp]. apply one_to_in in Hs. auto. }
      apply Rle_trans with (1 := stretched e (one_to n) S y places r (fun s Hs => Hshort s (proj1 (Hin s Hs)) (proj2
        (Hin s Hs)))).
      apply Rmult_le_compat_l; auto. rewrite <- scale_squared by auto.
      apply Rle_trans with (IZR (met_by m n S) * (scale bits * scale bits)).
      + right. unfold met_by. rewrite <- total_whole, Rmult_comm, <- total_scale. apply total_ext. intros s _.
        rewrite <- total_whole, <- total_scale. apply total_ext. intros s' _. unfold gram, e, inner.
        rewrite (total_ext _ (fun t => scale bits * scale bits * IZR (whole_entry m t s * whole_entry m t s'))) by
          (intros; rewrite mult_IZR; ring).
        rewrite total_scale, total_whole, Rabs_mult, abs_IZR. f_equal. apply Rabs_right, Rle_ge, Rle_0_sqr.
      + apply Rmult_le_compat_r; [apply Rle_0_sqr | apply IZR_le; auto].
  Qed.
End Bounded.

(* ---------------------------------------------------------------- rounds that a unit enters *)

Lemma rising_filter apart p m : forall a, (forall s s', In s (filter p (map Z.of_nat (seq a m))) ->
  In s' (filter p (map Z.of_nat (seq a m))) ->
    (s < s' -> apart <= s' - s)%Z) -> standing_apart apart (filter p (map Z.of_nat (seq a m))).
Proof.
  induction m as [|m IH]; intros a HA; cbn [seq map filter] in *; [exact I|].
  assert (HT : standing_apart apart (filter p (map Z.of_nat (seq (Datatypes.S a) m)))).
  { apply IH. intros s s' Hs Hs'. apply HA; destruct (p (Z.of_nat a)); auto; right; auto. }
  destruct (p (Z.of_nat a)); auto. cbn [standing_apart]. split; auto. intros s' Hs'.
  assert (Z.of_nat a < s')%Z. { apply filter_In in Hs'. destruct Hs' as [Hs' _]. apply in_map_iff in Hs'.
  destruct Hs' as [i [<- Hi]]. apply in_seq in Hi. lia. }
  specialize (HA (Z.of_nat a) s' (or_introl eq_refl) (or_intror Hs') ltac:(lia)). lia.
Qed.

Lemma rising_few apart n S : forall low, (1 <= apart)%Z -> standing_apart apart S -> (forall s, In s S ->
  low <= s <= n)%Z -> S <> [] ->
  (low + (Z.of_nat (List.length S) - 1) * apart <= n)%Z.
Proof.
  induction S as [|s T IH]; intros low Ha HR HI HN; [congruence|]. destruct HR as [H1 H2].
  pose proof (HI s (or_introl eq_refl)).
  destruct T as [|s' T]; [cbn; lia|].
  specialize (IH (s + apart)%Z Ha H2 ltac:(intros x Hx; specialize (H1 x Hx); specialize (HI x (or_intror Hx));
    lia) ltac:(discriminate)).
  cbn [List.length] in *. lia.
Qed.

Lemma entered_enough apart n many S : (1 <= apart)%Z -> (1 <= n)%Z -> (1 <= many)%Z -> standing_apart apart S ->
  (forall s, In s S -> 1 <= s <= n)%Z ->
  (Z.of_nat (List.length S) <= many)%Z -> (Z.of_nat (List.length S) <= Z.min many ((n - 1) / apart + 1))%Z.
Proof.
  intros Ha Hn Hm HR HI HS. apply Z.min_glb; auto. assert (0 <= (n - 1) / apart)%Z by (apply Z.div_pos; lia).
  destruct S as [|s T] eqn:E; [cbn; lia|]. rewrite <- E in *.
  pose proof (rising_few apart n S 1 Ha HR HI ltac:(rewrite E; discriminate)) as F.
  assert (Z.of_nat (List.length S) - 1 <= (n - 1) / apart)%Z; [|lia]. apply Z.div_le_lower_bound; lia.
Qed.

(* ---------------------------------------------------------------- a stream and its rows *)

Section Stream.
  Variable W : world.
  Hypothesis HW : lawful W.
  Local Notation H := (history (message W)).
  Local Notation D := (data (record W)).
  Variables (k q : string) (P : place) (chs : list change).
  Hypothesis Hchs : is_stream chs = false.

  Definition cell_at (s : Z) (h : H) (j : nat) : D -> R := nth j (numbers_of W k P q chs Once s (moment W (Label k P
    s) h)) (fun _ => 0).
  Definition width_of : nat := List.length (numbers_of W k P q chs Once 1 []).

  Lemma width_is s h : List.length (numbers_of W k P q chs Once s h) = width_of.
  Proof. apply numbers_length. auto. Qed.

  (** Rows of rounds where nothing changes. *)
  Lemma cell_quiet d d' s h : (forall h j, value W q Once s h d j = value W q Once s h d' j) ->
    forall j, cell_at s h j d = cell_at s h j d'.
  Proof.
    intros HV j. unfold cell_at. set (now := moment W (Label k P s) h).
    destruct (Nat.lt_ge_cases j (List.length (numbers_of W k P q chs Once s now))) as [L|L].
    - apply (numbers_read W k P q chs Once s now Hchs d d'); [|apply nth_In; auto]. auto.
    - rewrite nth_overflow by auto. auto.
  Qed.

  Lemma cells_moved d d' s h : total (fun j => square (cell_at s h j d - cell_at s h j d')) (seq 0 width_of)
    = total square (differences W (numbers_of W k P q chs Once s (moment W (Label k P s) h)) d d').
  Proof.
    unfold differences. rewrite total_map, (total_nth _ (fun _ => 0)), width_is. auto.
  Qed.

  Lemma cell_fixed g h l : next W g = Some l -> key l = k -> at_place l = P -> is_stream (made P) = true ->
    earlier g h ->
    forall s, (1 <= s <= index l)%Z -> cell_at s g = cell_at s h.
  Proof.
    intros Hg Hk Hp HS He s Hs. unfold cell_at. pose proof (moment_fixed W HW l g h s Hg ltac:(rewrite Hp;
      auto) He Hs) as E.
    rewrite Hk, Hp in E. rewrite E. auto.
  Qed.
End Stream.

Section Factored.
  Variable W : world.
  Hypothesis HW : lawful W.
  Local Notation H := (history (message W)).
  Local Notation D := (data (record W)).
  Variables (k q : string) (chs : list change) (law : noise_law) (m : list (list Z)) (bits n times apart last : Z).
  Hypothesis Hchs : is_stream chs = false.
  Let P := Place q (Factorised m bits n times apart last :: chs) law Once.
  Hypothesis Hindex : forall h l, next W h = Some l -> at_place l = P -> (index l <= n)%Z.
  Let x := cell_at W k q P chs.

  Lemma factored_numbers l h : key l = k -> at_place l = P -> numbers_at W l h =
    map (fun j d => total (fun s => entry m (index l) s * scale bits * x s h j d) (one_to (index l))) (seq 0 (width_of
      W k q P chs)).
  Proof.
    intros Hk Hp. unfold numbers_at. rewrite Hp, Hk. unfold P at 1. cbn [made query over numbers_of].
    rewrite <- (width_is W k q P chs Hchs (index l) h). reflexivity.
  Qed.

  Lemma factored_spent (size : R -> R) (Hsize : forall x, 0 <= size x) d d' b :
    (forall h, total (fun i => total (fun j => size (total (fun s => entry m i s * scale bits * (x s h j d - x s h j
      d')) (one_to i)))
       (seq 0 (width_of W k q P chs))) (one_to n) <= b) ->
    forall h, spent (fun h => if on_place W k P h
      then match next W h with Some l => total size (differences W (numbers_at W l h) d d') | None => 0 end else 0)
        h <= b.
  Proof.
    intros HB. apply (stream_bound W HW k P n _ (fun h i => total (fun j => size (total (fun s => entry m i s *
      scale bits * (x s h j d - x s h j d')) (one_to i)))
       (seq 0 (width_of W k q P chs)))); auto.
    - intros h i. apply total_nonneg. auto.
    - intros h E. rewrite E. auto.
    - intros h g l He Hl Hk Hp. assert (Eon : on_place W k P g = true) by (apply on_place_spec; eauto). rewrite Eon, Hl.
      rewrite (factored_numbers l g Hk Hp). unfold differences. rewrite map_map, total_map. right. apply total_ext.
      intros j _. f_equal.
      rewrite <- total_minus. apply total_ext. intros s Hs. apply one_to_in in Hs.
      unfold x. rewrite (cell_fixed W HW k q P chs g h l Hl Hk Hp eq_refl He s Hs). ring.
  Qed.

  Lemma factored_reads l h d d' : at_place l = P -> key l = k -> (forall s j, (1 <= s)%Z -> x s h j d = x s h j d') ->
    forall c, In c (numbers_at W l h) -> c d = c d'.
  Proof.
    intros Hp Hk HX c Hc. rewrite (factored_numbers l h Hk Hp) in Hc. apply in_map_iff in Hc. destruct Hc as [j [<- _]].
    apply total_ext. intros s Hs. apply one_to_in in Hs. rewrite HX; auto. lia.
  Qed.
End Factored.
