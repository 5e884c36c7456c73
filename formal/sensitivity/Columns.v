(** What [stretch] computes bounds the inner products of the columns that a unit meets, all added up.

    For a Toeplitz matrix the inner product of two columns is a partial sum of products of coefficients at their lag;
    every round meets the later ones at lags that stand apart ([toeplitz_bounds]).  For a triangular one [richest] is
    taken twice, or every inner product is at most the longest column's square ([triangle_bounds]). *)
Require Import ZArith Lia Psatz List Bool.
From DP Require Import Steps Definitions.
From DP.sensitivity Require Import Infer Richest.
Import ListNotations.
Open Scope Z_scope.

Definition whole_entry (matrix : list (list Z)) (t s : Z) : Z :=
  match matrix with
  | [c] => if s <=? t then nth (Z.to_nat (t - s)) c 0 else 0
  | _ => nth (Z.to_nat (s - 1)) (nth (Z.to_nat (t - 1)) matrix []) 0
  end.

(** The inner product of two columns. *)
Definition inner (matrix : list (list Z)) (n s s' : Z) : Z :=
  zsum (fun t => whole_entry matrix t s * whole_entry matrix t s') (one_to n).

Definition met_by (matrix : list (list Z)) (n : Z) (S : list Z) : Z :=
  zsum (fun s => zsum (fun s' => Z.abs (inner matrix n s s')) S) S.

Lemma inner_turned matrix n s s' : inner matrix n s s' = inner matrix n s' s.
Proof. apply zsum_ext. intros t _. apply Z.mul_comm. Qed.

(** Of every pair, the later one is counted twice. *)
Lemma met_by_cons matrix n s S : met_by matrix n (s :: S)
  = Z.abs (inner matrix n s s) + 2 * zsum (fun s' => Z.abs (inner matrix n s s')) S + met_by matrix n S.
Proof.
  unfold met_by. cbn [zsum]. rewrite zsum_plus.
  rewrite (zsum_ext (fun a => Z.abs (inner matrix n a s)) (fun a => Z.abs (inner matrix n s a))); [lia|].
  intros a _. rewrite inner_turned. auto.
Qed.

(* ---------------------------------------------------------------- partial sums *)

Lemma partial_in l : forall part m, firstn m l <> [] -> In (part + zsum (fun z => z) (firstn m l)) (prefix_sums part l).
Proof.
  induction l as [|a l IH]; intros part m HN; [destruct m; cbn in HN; congruence|].
  destruct m; [cbn in HN; congruence|].
  cbn [firstn zsum prefix_sums]. rewrite Z.add_assoc. destruct (firstn m l) eqn:E.
  - left. cbn. lia.
  - right. rewrite <- E. apply IH. rewrite E. discriminate.
Qed.

Lemma partial_below l m : Z.abs (zsum (fun z => z) (firstn m l)) <= fold_left Z.max (map Z.abs (prefix_sums 0 l)) 0.
Proof.
  destruct (firstn m l) eqn:E; [cbn; apply fold_max_start|]. rewrite <- E. apply fold_max_in.
  apply in_map_iff. eexists. split; [reflexivity|]. pose proof (partial_in l 0 m ltac:(rewrite E; discriminate)) as G.
  rewrite Z.add_0_l in G. auto.
Qed.

Lemma products_sum m : forall a b, zsum (fun i => nth i a 0 * nth i b 0) (seq 0 m)
  = zsum (fun z => z) (firstn m (map (fun p => fst p * snd p) (combine a b))).
Proof.
  induction m as [|m IH]; intros a b; auto. destruct a as [|x a].
  { cbn [combine map]. rewrite firstn_nil. apply zsum_zero. intros i _. destruct i; auto. }
  destruct b as [|y b].
  { cbn [combine map]. rewrite firstn_nil. apply zsum_zero. intros i _. destruct i; cbn [nth]; lia. }
  cbn [seq combine map firstn zsum nth fst snd]. rewrite <- IH, <- seq_shift, zsum_map. auto.
Qed.

Lemma overlap_bounds c lag m : Z.abs (zsum (fun i => nth i c 0 * nth (lag + i) c 0) (seq 0 m)) <= overlap c lag.
Proof.
  unfold overlap. rewrite (zsum_ext _ (fun i => nth i c 0 * nth i (skipn lag c) 0)).
  - rewrite products_sum. apply partial_below.
  - intros i _. rewrite nth_of_skipn. auto.
Qed.

Lemma seq_from a m : seq a m = map (fun i => (a + i)%nat) (seq 0 m).
Proof.
  induction a as [|a IH]; [rewrite map_id; auto|]. rewrite <- seq_shift, IH, map_map. apply map_ext. auto.
Qed.

Section Toeplitz.
  Variables (c : list Z) (n : Z).
  Let c' := if n <? Z.of_nat (length c) then firstn (Z.to_nat n) c else c.

  Lemma cut_nth i : Z.of_nat i < n -> nth i c' 0 = nth i c 0.
  Proof. intros Hi. unfold c'. destruct (n <? _); auto. apply nth_of_firstn. lia. Qed.

  Lemma inner_lag s s' : 1 <= s -> s <= s' -> s' <= n -> Z.abs (inner [c] n s s') <= overlap c' (Z.to_nat (s' - s)).
  Proof.
    intros H1 H2 H3. set (m := Z.to_nat (n - s' + 1)). set (lag := Z.to_nat (s' - s)).
    replace (inner [c] n s s') with (zsum (fun i => nth i c' 0 * nth (lag + i) c' 0) (seq 0 m));
      [apply overlap_bounds|].
    unfold inner, one_to. rewrite zsum_map. replace (Z.to_nat n) with (Z.to_nat (s' - 1) + m)%nat by lia.
    rewrite seq_app, zsum_app. rewrite (zsum_zero _ (seq 1 _)).
    - rewrite Z.add_0_l, (seq_from (1 + _)), zsum_map. apply zsum_ext. intros i Hi. apply in_seq in Hi.
      unfold whole_entry.
      destruct (Z.leb_spec s (Z.of_nat (1 + Z.to_nat (s' - 1) + i))); [|lia].
      destruct (Z.leb_spec s' (Z.of_nat (1 + Z.to_nat (s' - 1) + i))); [|lia].
      rewrite !cut_nth by lia. rewrite Z.mul_comm. f_equal; f_equal; lia.
    - intros i Hi. apply in_seq in Hi. unfold whole_entry. destruct (Z.leb_spec s' (Z.of_nat i)); lia.
  Qed.

  Variables (times apart : Z).
  Hypotheses (Htimes : 1 <= times) (Hapart : 1 <= apart) (Hc : c <> []) (Hn : 1 <= n).
  Let overlaps := map (overlap c') (seq 0 (if 1 <? times then length c' else 1)).
  Let sums := richest (skipn (Z.to_nat apart) overlaps) (times - 1) apart.

  Lemma cut_some : (0 < length c')%nat.
  Proof. unfold c'. destruct c as [|x l]; [congruence|].
  destruct (n <? _); [rewrite firstn_length|]; cbn [length]; lia. Qed.

  Lemma overlap_beyond lag : (length c' <= lag)%nat -> overlap c' lag = 0.
  Proof. intros L. unfold overlap. rewrite skipn_all2 by auto. destruct c'; auto. Qed.

  Lemma overlap_nonneg lag : 0 <= overlap c' lag.
  Proof. apply fold_max_start. Qed.

  Lemma overlaps_nth lag : 1 < times -> nth lag overlaps 0 = overlap c' lag.
  Proof.
    intros Ht. unfold overlaps. destruct (Z.ltb_spec 1 times); [|lia].
    destruct (Nat.lt_ge_cases lag (length c')) as [L|L].
    - rewrite (nth_indep _ 0 (overlap c' 0%nat)) by (rewrite map_length, seq_length; auto).
      rewrite map_nth, seq_nth by auto. auto.
    - rewrite overlap_beyond by auto. apply nth_overflow. rewrite map_length, seq_length. auto.
  Qed.

  Lemma overlaps_first : hd 0 overlaps = overlap c' 0.
  Proof. unfold overlaps. pose proof cut_some. destruct (1 <? times); [|auto]. destruct (length c'); [lia | auto]. Qed.

  (** What a round and all later ones meet. *)
  Lemma later_rounds s S : 1 <= s -> standing_apart apart (s :: S) -> (forall s', In s' (s :: S) -> s' <= n) ->
    Z.of_nat (length S) + 1 <= times ->
    zsum (fun s' => Z.abs (inner [c] n s s')) S <= match S with [] => 0 | _ => sum_at sums (pred (length S)) end.
  Proof.
    intros H1 [HA HS] HL HT. destruct S as [|s1 S'] eqn:ES; [cbn; lia|]. rewrite <- ES in *.
    assert (HT' : 1 < times) by (rewrite ES in HT; cbn [length] in HT; lia).
    apply Z.le_trans with (zsum (fun p => nth p (skipn (Z.to_nat apart) overlaps) 0) (map (fun s' => Z.to_nat (s' - (s
      + apart))) S)).
    - rewrite zsum_map. apply zsum_le. intros s' Hs'. specialize (HA s' Hs').
      rewrite nth_of_skipn, overlaps_nth by auto.
      replace (Z.to_nat apart + Z.to_nat (s' - (s + apart)))%nat with (Z.to_nat (s' - s)) by lia.
      apply inner_lag; try lia. apply HL. right. auto.
    - unfold sums. apply richest_at; auto.
      + rewrite map_length. auto.
      + rewrite ES. cbn. lia.
      + lia.
      + change 0%nat with (Z.to_nat 0). apply rising_spaced; auto; [lia|]. intros s' Hs'. specialize (HA s' Hs'). lia.
  Qed.

  Definition all_later (m : nat) : Z := zsum (sum_at sums) (seq 0 m).

  Lemma all_later_next m : all_later (S m) = all_later m + sum_at sums m.
  Proof. unfold all_later. rewrite seq_S, zsum_app. cbn. lia. Qed.

  Lemma all_later_grows m k : (m <= k)%nat -> 0 <= all_later m <= all_later k.
  Proof.
    intros H. split; [apply zsum_nonneg; intros; apply sum_at_nonneg|].
    induction H as [|k H IH]; [lia|]. rewrite all_later_next.
    pose proof (sum_at_nonneg (skipn (Z.to_nat apart) overlaps) (times - 1) apart k) as G. fold sums in G. lia.
  Qed.

  Lemma rounds_meet S : standing_apart apart S -> (forall s, In s S -> 1 <= s <= n) -> Z.of_nat (length S) <= times ->
    met_by [c] n S <= Z.of_nat (length S) * overlap c' 0 + 2 * all_later (pred (length S)).
  Proof.
    induction S as [|s S IH]; intros HR HI HT; [cbn; lia|]. rewrite met_by_cons. cbn [length] in *.
    specialize (IH (proj2 HR) (fun s' Hs' => HI s' (or_intror Hs')) ltac:(lia)).
    pose proof (HI s (or_introl eq_refl)) as Hs. pose proof (inner_lag s s ltac:(lia) ltac:(lia) ltac:(lia)) as G0.
    rewrite Z.sub_diag in G0.
    change (Z.to_nat 0) with 0%nat in G0.
    pose proof (later_rounds s S ltac:(lia) HR (fun s' Hs' => proj2 (HI s' Hs')) ltac:(lia)) as G1.
    cbn [pred]. destruct S as [|s1 S']; [cbn [length pred] in *; lia|]. cbn [length pred] in *.
    rewrite all_later_next. lia.
  Qed.

  Lemma toeplitz_bounds S : standing_apart apart S -> (forall s, In s S -> 1 <= s <= n) ->
    Z.of_nat (length S) <= times ->
    met_by [c] n S <= toeplitz c' times apart.
  Proof.
    intros HR HI HT. apply Z.le_trans with (1 := rounds_meet S HR HI HT). unfold toeplitz. fold overlaps. fold sums.
    rewrite overlaps_first.
    pose proof (sums_added sums (Z.to_nat (times - 1))) as E. fold (all_later (Z.to_nat (times - 1))) in E.
    rewrite Z2Nat.id in E by lia. pose proof (overlap_nonneg 0).
    pose proof (all_later_grows (pred (length S)) (Z.to_nat (times - 1)) ltac:(lia)). nia.
  Qed.
End Toeplitz.

(* ---------------------------------------------------------------- triangles *)

Lemma nth_sums k row : forall sums, nth k (add_squares sums row) 0 = nth k sums 0 + nth k row 0 * nth k row 0.
Proof.
  assert (E : forall k, nth k (@nil Z) 0 = 0) by (intros []; auto).
  revert k. induction row as [|c row IH]; intros k sums; [rewrite (E k); destruct sums; cbn [add_squares]; lia|].
  destruct sums as [|s sums]; cbn [add_squares]; destruct k as [|k]; cbn [nth]; try lia; rewrite IH, ?E; lia.
Qed.

Lemma all_squares k rows : forall sums, nth k (fold_left add_squares rows sums) 0
  = nth k sums 0 + zsum (fun row => nth k row 0 * nth k row 0) rows.
Proof. induction rows as [|row rows IH]; intros sums; cbn [fold_left zsum]; [lia|]. rewrite IH, nth_sums. lia. Qed.

Lemma nth_below l k : nth k l 0 <= fold_left Z.max l 0.
Proof.
  destruct (Nat.lt_ge_cases k (length l)) as [L|L]; [apply fold_max_in, nth_In; auto|].
  rewrite nth_overflow by auto. apply fold_max_start.
Qed.

Lemma inner_below {A} (f g : A -> Z) l m : zsum (fun a => f a * f a) l <= m -> zsum (fun a => g a * g a) l <= m ->
  Z.abs (zsum (fun a => f a * g a) l) <= m.
Proof.
  intros H1 H2. assert (2 * Z.abs (zsum (fun a => f a * g a) l)
    <= zsum (fun a => f a * f a) l + zsum (fun a => g a * g a) l); [|lia].
  clear. induction l as [|a l IH]; cbn [zsum]; [lia|].
  pose proof (Z.square_nonneg (f a - g a)). pose proof (Z.square_nonneg (f a + g a)). lia.
Qed.

Lemma zsum_places {A} (f : A -> Z) d l : zsum f l = zsum (fun i => f (nth i l d)) (seq 0 (length l)).
Proof. induction l as [|a l IH]; auto. cbn [zsum length seq nth]. rewrite IH, <- seq_shift, zsum_map. auto. Qed.

Lemma zsum_twice_below {A} (f : A -> A -> Z) l m : (forall a b, In a l -> In b l -> f a b <= m) ->
  zsum (fun a => zsum (f a) l) l <= Z.of_nat (length l) * Z.of_nat (length l) * m.
Proof.
  intros H. apply Z.le_trans with (zsum (fun _ => Z.of_nat (length l) * m) l); [|rewrite zsum_const; lia].
  apply zsum_le. intros a Ha. apply Z.le_trans with (zsum (fun _ => m) l); [|rewrite zsum_const; lia]. apply zsum_le.
  auto.
Qed.

Lemma skipn_twice {A} a b : forall l : list A, skipn a (skipn b l) = skipn (b + a) l.
Proof. induction b as [|b IH]; intros [|x l]; cbn; auto; destruct a; auto. Qed.

Section Triangle.
  Variables (rows : list (list Z)) (n : Z).
  Hypotheses (HT : is_triangle rows n = true) (Hn : 1 <= n) (Hmany : match rows with [_] => False | _ => True end).

  Lemma triangle_rows : Z.of_nat (length rows) = n /\ forall k, (k < length rows)%nat -> length (nth k rows []) = S k.
  Proof.
    unfold is_triangle in HT. apply andb_prop in HT. destruct HT as [H1 H2]. apply Z.eqb_eq in H1. split; auto.
    intros k Hk. rewrite forallb_forall in H2.
    assert (Hin : In (nth k (combine rows (seq 0 (length rows))) ([], 0%nat)) (combine rows (seq 0 (length rows)))).
    { apply nth_In. rewrite combine_length, seq_length. lia. }
    apply H2 in Hin. rewrite combine_nth in Hin by (rewrite seq_length; auto). cbn [fst snd] in Hin.
    rewrite seq_nth in Hin by auto. apply Nat.eqb_eq in Hin. auto.
  Qed.

  Lemma entry_triangle t s : whole_entry rows t s = nth (Z.to_nat (s - 1)) (nth (Z.to_nat (t - 1)) rows []) 0.
  Proof. clear HT. unfold whole_entry. destruct rows as [|a [|]]; auto. destruct Hmany. Qed.

  Lemma above_diagonal t s : 1 <= t -> t < s -> whole_entry rows t s = 0.
  Proof.
    intros H1 H2. rewrite entry_triangle. destruct triangle_rows as [_ L].
    destruct (Nat.lt_ge_cases (Z.to_nat (t - 1)) (length rows)) as [Lt|Ge].
    - apply nth_overflow. rewrite L by auto. lia.
    - rewrite (nth_overflow rows) by auto. destruct (Z.to_nat (s - 1)); auto.
  Qed.

  Lemma inner_rows s s' : inner rows n s s' = zsum (fun row => nth (Z.to_nat (s - 1)) row 0 * nth (Z.to_nat (s' - 1))
    row 0) rows.
  Proof.
    destruct triangle_rows as [L _]. unfold inner, one_to. rewrite zsum_map, (seq_from 1), zsum_map, (zsum_places _ []).
    replace (Z.to_nat n) with (length rows) by lia. apply zsum_ext. intros i _. rewrite !entry_triangle.
    replace (Z.to_nat (Z.of_nat (1 + i) - 1)) with i by lia. auto.
  Qed.

  Lemma longest_bounds s s' : Z.abs (inner rows n s s') <= fold_left Z.max (fold_left add_squares rows []) 0.
  Proof.
    rewrite inner_rows. apply inner_below.
    - pose proof (all_squares (Z.to_nat (s - 1)) rows []) as E.
      pose proof (nth_below (fold_left add_squares rows []) (Z.to_nat (s - 1))) as B.
      rewrite E in B. destruct (Z.to_nat (s - 1)); cbn [nth] in B; lia.
    - pose proof (all_squares (Z.to_nat (s' - 1)) rows []) as E.
      pose proof (nth_below (fold_left add_squares rows []) (Z.to_nat (s' - 1))) as B.
      rewrite E in B. destruct (Z.to_nat (s' - 1)); cbn [nth] in B; lia.
  Qed.

  Lemma meeting_spec u v : meeting u v = zsum (fun p => fst p * snd p) (combine u v).
  Proof. unfold meeting. rewrite fold_add, zsum_map. lia. Qed.

  Lemma column_skip i j : (i <= j)%nat -> skipn (j - i) (column rows i) = map (fun row => nth i row 0) (skipn j rows).
  Proof.
    intros H. unfold column. rewrite skipn_map, skipn_twice. f_equal. f_equal. lia.
  Qed.

  Lemma combine_maps {A} (f g : A -> Z) l : combine (map f l) (map g l) = map (fun a => (f a, g a)) l.
  Proof. induction l as [|a l IH]; cbn; auto. rewrite IH. auto. Qed.

  (** An inner product of two columns, as the rule computes it. *)
  Lemma meeting_inner i j : (i <= j)%nat -> (j < length rows)%nat ->
    meeting (skipn (j - i) (column rows i)) (column rows j) = inner rows n (Z.of_nat i + 1) (Z.of_nat j + 1).
  Proof.
    intros Hij Hj. rewrite inner_rows. replace (Z.to_nat (Z.of_nat i + 1 - 1)) with i by lia.
    replace (Z.to_nat (Z.of_nat j + 1 - 1)) with j by lia.
    rewrite column_skip by auto. unfold column. rewrite meeting_spec, combine_maps, zsum_map. cbn [fst snd].
    rewrite <- (firstn_skipn j rows) at 2. rewrite zsum_app, (zsum_zero _ (firstn j rows)); [lia|].
    intros row Hr. destruct (In_nth _ _ [] Hr) as [k [Hk <-]]. rewrite firstn_length in Hk.
    rewrite nth_of_firstn by lia.
    destruct triangle_rows as [_ L]. rewrite (nth_overflow (nth k rows []) 0 (n:=j)); [ring|]. rewrite L by lia. lia.
  Qed.

  Lemma long_bounds times S : Z.of_nat (length S) <= times ->
    met_by rows n S <= times * times * fold_left Z.max (fold_left add_squares rows []) 0.
  Proof.
    intros HS. set (m := fold_left Z.max (fold_left add_squares rows []) 0). assert (0 <= m) by apply fold_max_start.
    apply Z.le_trans with (Z.of_nat (length S) * Z.of_nat (length S) * m); [|apply Z.mul_le_mono_nonneg_r; auto; nia].
    apply (zsum_twice_below (fun s s' => Z.abs (inner rows n s s'))). intros s s' _ _. apply longest_bounds.
  Qed.

  Let columns := map (column rows) (seq 0 (length rows)).
  Let size i j := let i' := Nat.min i j in let j' := Nat.max i j in
    Z.abs (meeting (skipn (j' - i') (nth i' columns [])) (nth j' columns [])).

  Lemma size_inner s s' : 1 <= s <= n -> 1 <= s' <= n ->
    size (Z.to_nat (s - 1)) (Z.to_nat (s' - 1)) = Z.abs (inner rows n s s').
  Proof.
    intros H1 H2. destruct triangle_rows as [L _]. unfold size.
    assert (E : forall i, (i < length rows)%nat -> nth i columns [] = column rows i).
    { intros i Hi. unfold columns. rewrite (nth_indep _ [] (column rows 0)) by (rewrite map_length, seq_length; auto).
      rewrite map_nth, seq_nth by auto. auto. }
    set (i := Z.to_nat (s - 1)). set (j := Z.to_nat (s' - 1)). assert (Hi : (i < length rows)%nat) by lia.
    assert (Hj : (j < length rows)%nat) by lia.
    rewrite !E by lia. rewrite meeting_inner by lia. f_equal. destruct (Nat.le_ge_cases i j).
    - rewrite Nat.min_l, Nat.max_r by auto. f_equal; lia.
    - rewrite Nat.min_r, Nat.max_l, inner_turned by auto. f_equal; lia.
  Qed.

  Variables (times apart : Z).
  Hypothesis Hapart : 1 <= apart.

  Lemma richest_rounds (f : nat -> Z) S : standing_apart apart S -> (forall s, In s S -> 1 <= s <= n) ->
    Z.of_nat (length S) <= times ->
    zsum (fun s => f (Z.to_nat (s - 1))) S <= last (richest (map f (seq 0 (length rows))) times apart) 0.
  Proof.
    intros HR HI HS. destruct triangle_rows as [L _].
    apply Z.le_trans with (zsum (fun p => nth p (map f (seq 0 (length rows))) 0) (map (fun s => Z.to_nat (s - 1)) S)).
    - rewrite zsum_map. apply zsum_le. intros s Hs. specialize (HI s Hs).
      rewrite (nth_indep _ 0 (f 0%nat)) by (rewrite map_length, seq_length; lia). rewrite map_nth, seq_nth by lia.
      cbn. lia.
    - apply richest_last; auto; [rewrite map_length; auto|]. change 0%nat with (Z.to_nat 0).
      apply rising_spaced; auto; [lia|].
      intros s Hs. specialize (HI s Hs). lia.
  Qed.

  Let reach := map (fun i => last (richest (map (size i) (seq 0 (length rows))) times apart) 0) (seq 0 (length rows)).

  Lemma triangle_bounds S : standing_apart apart S -> (forall s, In s S -> 1 <= s <= n) ->
    Z.of_nat (length S) <= times ->
    met_by rows n S <= last (richest reach times apart) 0.
  Proof.
    intros HR HI HS. unfold met_by, reach.
    apply Z.le_trans with (2 := richest_rounds (fun i => last (richest (map (size i) (seq 0 (length rows))) times
      apart) 0) S HR HI HS).
    apply zsum_le. intros s Hs. apply Z.le_trans with (2 := richest_rounds (size (Z.to_nat (s - 1))) S HR HI HS).
    apply zsum_le. intros s' Hs'. rewrite size_inner by auto. lia.
  Qed.
End Triangle.

Theorem stretch_bounds rows n times apart square : stretch rows n times apart = Some square -> 1 <= times ->
  1 <= apart -> 1 <= n ->
  (forall t s, 1 <= t -> t < s -> whole_entry rows t s = 0) /\
  forall S, standing_apart apart S -> (forall s, In s S -> 1 <= s <= n) -> Z.of_nat (length S) <= times ->
    met_by rows n S <= square.
Proof.
  unfold stretch. intros HS H1 H2 H3. destruct (forallb (forallb small_entry) rows); [|discriminate].
  assert (Hcase : (exists c, rows = [c]) \/ match rows with [_] => False | _ => True end) by (destruct rows as [|c
    [|]]; eauto).
  destruct Hcase as [[c ->]|Hmany].
  - destruct (_ && _) eqn:E in HS; [|discriminate]. apply andb_prop in E. destruct E as [E _]. apply Z.ltb_lt in E.
    assert (Hc : c <> []) by (intros ->; cbn in E; lia). injection HS as <-. split.
    + intros t s _ Hts. unfold whole_entry. destruct (Z.leb_spec s t); lia.
    + intros S HR HI HT. apply toeplitz_bounds; auto.
  - assert (HS' : (if is_triangle rows n && (0 <? n)
      then if (times =? 1) || (256 <? n) then Some (times * times * fold_left Z.max (fold_left add_squares rows []) 0)
        else Some (last (richest (map (fun i => last (richest (map (fun j => Z.abs (meeting
            (skipn (Nat.max i j - Nat.min i j) (nth (Nat.min i j) (map (column rows) (seq 0 (length rows))) []))
            (nth (Nat.max i j) (map (column rows) (seq 0 (length rows))) []))) (seq 0 (length rows))) times apart) 0)
          (seq 0 (length rows))) times apart) 0)
      else None) = Some square).
    { destruct rows as [|c [|c2 rest]]; [exact HS | destruct Hmany | exact HS]. }
    clear HS. destruct (is_triangle rows n) eqn:ET; [|discriminate]. cbn [andb] in HS'.
    destruct (0 <? n); [|discriminate]. split.
    + intros t s. apply (above_diagonal rows n ET Hmany).
    + intros S HR HI HT. destruct ((times =? 1) || (256 <? n)); injection HS' as <-.
      * apply long_bounds; auto.
      * apply (triangle_bounds rows n ET H3 Hmany times apart H2 S HR HI HT).
Qed.
