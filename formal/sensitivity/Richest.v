(** The richest sums of values that stand apart, and what they bound: the inner products of the columns of a matrix.

    [best] k holds, from every place on, the largest sum of up to k values; a list of places that are [gap] apart has
    at most that sum ([best_spaced]).  The rounds that a unit enters are such places ([standing_apart]). *)
Require Import ZArith Lia Psatz List Bool.
From DP.sensitivity Require Import Infer.
Import ListNotations.
Open Scope Z_scope.

Fixpoint zsum {A} (f : A -> Z) (l : list A) : Z := match l with [] => 0 | a :: rest => f a + zsum f rest end.

Lemma zsum_le {A} (f g : A -> Z) l : (forall a, In a l -> f a <= g a) -> zsum f l <= zsum g l.
Proof. induction l as [|a l IH]; cbn; intros E; [lia|]. pose proof (E a (or_introl eq_refl)).
  specialize (IH (fun b Hb => E b (or_intror Hb))). lia. Qed.

Lemma zsum_ext {A} (f g : A -> Z) l : (forall a, In a l -> f a = g a) -> zsum f l = zsum g l.
Proof. induction l as [|a l IH]; cbn; intros E; auto. rewrite (E a), IH; auto. Qed.

Lemma zsum_zero {A} (f : A -> Z) l : (forall a, In a l -> f a = 0) -> zsum f l = 0.
Proof. induction l as [|a l IH]; cbn; intros E; auto. rewrite (E a), IH; auto. Qed.

Lemma zsum_nonneg {A} (f : A -> Z) l : (forall a, In a l -> 0 <= f a) -> 0 <= zsum f l.
Proof. induction l as [|a l IH]; cbn; intros E; [lia|]. pose proof (E a (or_introl eq_refl)).
  specialize (IH (fun b Hb => E b (or_intror Hb))). lia. Qed.

Lemma zsum_app {A} (f : A -> Z) l m : zsum f (l ++ m) = zsum f l + zsum f m.
Proof. induction l as [|a l IH]; cbn; auto. rewrite IH. lia. Qed.

Lemma zsum_map {A B} (f : B -> Z) (g : A -> B) l : zsum f (map g l) = zsum (fun a => f (g a)) l.
Proof. induction l as [|a l IH]; cbn; auto. rewrite IH. auto. Qed.

Lemma zsum_plus {A} (f g : A -> Z) l : zsum (fun a => f a + g a) l = zsum f l + zsum g l.
Proof. induction l as [|a l IH]; cbn; auto. rewrite IH. lia. Qed.

Lemma zsum_const {A} c (l : list A) : zsum (fun _ => c) l = Z.of_nat (length l) * c.
Proof. induction l as [|a l IH]; cbn [zsum length]; [lia|]. rewrite IH. lia. Qed.

Lemma fold_add l : forall s, fold_left Z.add l s = s + zsum (fun z => z) l.
Proof. induction l as [|a l IH]; intros s; cbn; [lia|]. rewrite IH. lia. Qed.

Lemma fold_max_start l : forall s, s <= fold_left Z.max l s.
Proof. induction l as [|a l IH]; intros s; cbn; [lia|]. specialize (IH (Z.max s a)). lia. Qed.

Lemma fold_max_in l : forall s a, In a l -> a <= fold_left Z.max l s.
Proof.
  induction l as [|b l IH]; intros s a []; cbn; [|apply IH; auto]. subst. pose proof (fold_max_start l (Z.max s a)).
  lia.
Qed.

Lemma nth_of_skipn {A} (d : A) k : forall l i, nth i (skipn k l) d = nth (k + i) l d.
Proof. induction k as [|k IH]; intros l i; auto. destruct l as [|a l]; [destruct i; auto | apply IH]. Qed.

Lemma nth_of_firstn {A} (d : A) k : forall l i, (i < k)%nat -> nth i (firstn k l) d = nth i l d.
Proof. induction k as [|k IH]; intros l i Hi; [lia|]. destruct l as [|a l]; auto. destruct i; cbn; auto. apply IH.
  lia. Qed.

Lemma last_nth {A} (d : A) l : last l d = nth (pred (length l)) l d.
Proof. induction l as [|a [|b l] IH]; auto. Qed.

(* ---------------------------------------------------------------- values that stand apart *)

Fixpoint spaced (gap low : nat) (l : list nat) : Prop :=
  match l with [] => True | p :: rest => (low <= p)%nat /\ spaced gap (p + gap) rest end.

Lemma spaced_lower gap l : forall low low', (low' <= low)%nat -> spaced gap low l -> spaced gap low' l.
Proof. destruct l as [|p l]; cbn; auto. intros low low' H1 [H2 H3]. split; auto. lia. Qed.

Lemma spaced_filter gap f l : forall low, spaced gap low l -> spaced gap low (filter f l).
Proof.
  induction l as [|p l IH]; cbn; auto. intros low [H1 H2]. specialize (IH _ H2). destruct (f p); [split; auto|].
  apply (spaced_lower gap _ (p + gap)); auto. lia.
Qed.

Lemma spaced_few gap len l : forall low, spaced gap low l -> (forall p, In p l -> (p < len)%nat) -> l <> [] ->
  (low + length l * gap < len + gap)%nat.
Proof.
  induction l as [|p l IH]; intros low HS HL HN; [congruence|]. destruct HS as [H1 H2].
  specialize (HL p (or_introl eq_refl)) as Hp. destruct l as [|p' l].
  - cbn. lia.
  - specialize (IH _ H2 (fun q Hq => HL q (or_intror Hq)) ltac:(discriminate)). cbn [length] in *. lia.
Qed.

Section Values.
  Variables (values : list Z) (gap : nat).

  Lemma take_from_length after : length (take_from values after) = length values.
  Proof. clear gap. revert after. induction values as [|v l IH]; intros after; cbn; auto. Qed.

  Lemma take_from_nonneg after i : 0 <= nth i (take_from values after) 0.
  Proof.
    clear gap. revert after i. induction values as [|v l IH]; intros after i; cbn [take_from]; [destruct i; cbn; lia|].
    destruct i; cbn [nth]; [|apply IH]. pose proof (IH (tl after) 0%nat) as G.
    destruct (take_from l (tl after)); cbn in *; lia.
  Qed.

  Lemma take_from_falls after i j : (i <= j)%nat -> nth j (take_from values after) 0
    <= nth i (take_from values after) 0.
  Proof.
    clear gap. revert after i j. induction values as [|v l IH]; intros after i j Hij; cbn [take_from]; [destruct i, j;
      cbn; lia|].
    destruct i, j; cbn [nth]; try lia; [|apply IH; lia]. pose proof (IH (tl after) 0%nat j ltac:(lia)) as G.
    destruct (take_from l (tl after)); cbn in *; [destruct j|]; lia.
  Qed.

  Lemma take_from_takes after i : (i < length values)%nat ->
    nth i values 0 + nth i after 0 <= nth i (take_from values after) 0.
  Proof.
    clear gap. revert after i. induction values as [|v l IH]; intros after i Hi; cbn in Hi; [lia|]. cbn [take_from].
    destruct i; cbn [nth]; [destruct after; cbn; lia|]. specialize (IH (tl after) i ltac:(lia)).
    destruct after; cbn in *; [destruct i|]; auto.
  Qed.

  Fixpoint best (k : nat) : list Z := match k with O => [] | S less => take_from values (skipn gap (best less)) end.

  Lemma best_nonneg k i : 0 <= nth i (best k) 0.
  Proof. destruct k; [destruct i; cbn; lia | apply take_from_nonneg]. Qed.

  Lemma best_beyond k i : (length values <= i)%nat -> nth i (best k) 0 = 0.
  Proof. intros Hi. apply nth_overflow. destruct k; cbn [best]; [cbn; lia|]. rewrite take_from_length. auto. Qed.

  Lemma best_spaced k : forall l low, (length l <= k)%nat -> spaced gap low l ->
    zsum (fun p => nth p values 0) l <= nth low (best k) 0.
  Proof.
    induction k as [|k IH]; intros l low HL HS.
    - destruct l; [|cbn in HL; lia]. apply best_nonneg.
    - destruct l as [|p l]; [apply best_nonneg|]. destruct HS as [H1 H2]. cbn [length] in HL.
      specialize (IH l _ ltac:(lia) H2). cbn [zsum].
      destruct (Nat.lt_ge_cases p (length values)) as [L|L].
      + pose proof (take_from_takes (skipn gap (best k)) p L) as T. rewrite nth_of_skipn, Nat.add_comm in T.
        pose proof (take_from_falls (skipn gap (best k)) low p H1). cbn [best]. lia.
      + rewrite (best_beyond k) in IH by lia. rewrite (nth_overflow values) by lia.
        pose proof (best_nonneg (S k) low). lia.
  Qed.

  Lemma rows_length count b : length (richest_rows count values b gap) = count.
  Proof. revert b. induction count as [|m IH]; intros b; cbn; auto. Qed.

  Lemma rows_best count : forall k i, (i < count)%nat ->
    nth i (richest_rows count values (best k) gap) 0 = nth 0 (best (S (k + i))) 0.
  Proof.
    induction count as [|m IH]; intros k i Hi; [lia|]. cbn [richest_rows].
    change (take_from values (skipn gap (best k))) with (best (S k)). destruct i; cbn [nth].
    - rewrite Nat.add_0_r. destruct (best (S k)); auto.
    - rewrite IH by lia. f_equal. f_equal. lia.
  Qed.

  Lemma rows_nonneg count i : 0 <= nth i (richest_rows count values [] gap) 0.
  Proof.
    destruct (Nat.lt_ge_cases i count) as [L|L].
    - change (@nil Z) with (best 0). rewrite rows_best by auto. apply best_nonneg.
    - rewrite nth_overflow; [lia | rewrite rows_length; auto].
  Qed.
End Values.

Section Richest.
  Variables (values : list Z) (count gap : Z).
  Hypothesis Hgap : 1 <= gap.
  Let g := Z.to_nat gap.
  Let sums := richest values count gap.

  Lemma richest_here l m : (length l <= m)%nat -> (0 < m)%nat -> (m <= length sums)%nat -> spaced g 0 l ->
    zsum (fun p => nth p values 0) l <= nth (pred m) sums 0.
  Proof.
    unfold sums, richest. intros HL H0 Hm HS. rewrite rows_length in Hm. rewrite (rows_best _ _ _ 0) by lia.
    replace (S (0 + pred m)) with m by lia. apply best_spaced; auto.
  Qed.

  (** What lies beyond the values adds nothing. *)
  Lemma richest_last l : Z.of_nat (length l) <= count -> spaced g 0 l ->
    zsum (fun p => nth p values 0) l <= last sums 0.
  Proof.
    intros HL HS. set (near := filter (fun p => (p <? length values)%nat) l).
    assert (E : zsum (fun p => nth p values 0) l = zsum (fun p => nth p values 0) near).
    { unfold near. clear. induction l as [|p l IH]; auto. cbn [filter].
      destruct (Nat.ltb_spec p (length values)); cbn [zsum]; rewrite IH; auto.
      rewrite nth_overflow by lia. auto. }
    rewrite E. clear E. assert (HN : spaced g 0 near) by (apply spaced_filter; auto).
    assert (HF : (length near <= length l)%nat) by (unfold near; clear; induction l as [|p l IH]; cbn [filter length];
      [lia|]; destruct (p <? length values)%nat; cbn [length]; lia).
    assert (HI : forall p, In p near -> (p < length values)%nat) by (intros p Hp; apply filter_In in Hp;
      apply Nat.ltb_lt; tauto).
    assert (HS' : length sums = Z.to_nat (Z.min count (Z.of_nat (length values) / gap + 1))) by apply rows_length.
    destruct near as [|p near'] eqn:En.
    - cbn [zsum]. rewrite last_nth. apply rows_nonneg.
    - rewrite <- En in *. rewrite last_nth. pose proof (spaced_few g (length values) near 0 HN HI ltac:(rewrite En;
        discriminate)) as F.
      assert (Q : Z.of_nat (length near) - 1 <= Z.of_nat (length values) / gap).
      { apply Z.div_le_lower_bound; [lia|]. assert (Hg : Z.of_nat g = gap) by (unfold g; lia).
        rewrite Nat.add_0_l in F. apply Nat2Z.inj_lt in F. rewrite Nat2Z.inj_mul, Nat2Z.inj_add, Hg in F. nia. }
      assert (0 < length near)%nat by (rewrite En; cbn; lia). apply richest_here; auto; lia.
  Qed.

  Lemma richest_at l m : (length l <= m)%nat -> (0 < m)%nat -> Z.of_nat m <= count -> spaced g 0 l ->
    zsum (fun p => nth p values 0) l <= sum_at sums (pred m).
  Proof.
    intros HL H0 Hm HS. unfold sum_at. destruct (Nat.le_gt_cases m (length sums)) as [L|L].
    - rewrite Nat.min_l by lia. apply richest_here; auto.
    - rewrite Nat.min_r by lia. rewrite <- last_nth. apply richest_last; auto. lia.
  Qed.

  Lemma sum_at_nonneg m : 0 <= sum_at sums m.
  Proof. apply rows_nonneg. Qed.
End Richest.

Lemma sums_added sums k : zsum (sum_at sums) (seq 0 k)
  = fold_left Z.add (firstn k sums) 0 + Z.max 0 (Z.of_nat k - Z.of_nat (length sums)) * last sums 0.
Proof.
  rewrite fold_add, Z.add_0_l.
  assert (A : forall k, (k <= length sums)%nat -> zsum (sum_at sums) (seq 0 k) = zsum (fun z => z) (firstn k sums)).
  { clear. intros k Hk. rewrite (zsum_ext _ (fun i => nth i sums 0)).
    - revert sums Hk. induction k as [|k IH]; intros [|a l] Hk; cbn in Hk; try lia; auto. cbn [seq zsum firstn nth].
      rewrite <- seq_shift, zsum_map. f_equal. apply IH. lia.
    - intros i Hi. apply in_seq in Hi. unfold sum_at. f_equal. lia. }
  destruct (Nat.le_gt_cases k (length sums)) as [L|L].
  - rewrite A by auto. lia.
  - replace k with (length sums + (k - length sums))%nat at 1 by lia. rewrite seq_app, zsum_app, A, firstn_all by lia.
    rewrite firstn_all2 by lia. f_equal. rewrite (zsum_ext _ (fun _ => last sums 0)).
    + rewrite zsum_const, seq_length. f_equal. lia.
    + intros i Hi. apply in_seq in Hi. unfold sum_at. rewrite last_nth. f_equal. lia.
Qed.

(* ---------------------------------------------------------------- rounds that stand apart *)

Fixpoint standing_apart (b : Z) (S : list Z) : Prop :=
  match S with [] => True | s :: rest => (forall s', In s' rest -> s + b <= s') /\ standing_apart b rest end.

Lemma rising_spaced b low S : 1 <= b -> forall i, 0 <= i -> (forall s, In s S -> low + i <= s) -> standing_apart b S ->
  spaced (Z.to_nat b) (Z.to_nat i) (map (fun s => Z.to_nat (s - low)) S).
Proof.
  intros Hb. induction S as [|s S IH]; intros i Hi HL HS; cbn; auto. destruct HS as [H1 H2].
  pose proof (HL s (or_introl eq_refl)). split; [lia|].
  replace (Z.to_nat (s - low) + Z.to_nat b)%nat with (Z.to_nat (s - low + b)) by lia. apply IH; auto; [lia|].
  intros s' Hs'. specialize (H1 s' Hs'). lia.
Qed.
