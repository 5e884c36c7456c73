(** Noise on the integers whose odds rise: draws that are at most k apart, in L1, against half-lines.

    Where the weight of the noise is even and the odds of the moved noise rise along the line, the half-line that begins
    where they pass c is the best test at c (Neyman and Pearson), and no smaller move gains more.  Two moves together gain
    what one after the other does, so vectors gain no more than numbers. *)
Require Import Reals ZArith Lra Lia Psatz List Classical.
From DP.base Require Import Laws Sums.
From DP Require Import Definitions.
From DP.samples Require Import Poisson Geometric.
Import ListNotations.
Open Scope R_scope.

Section Integers.
  Variables (w : Z -> R) (N : law Z).
  Hypothesis w_pos : forall z, 0 < w z.
  Hypothesis w_even : forall z, w (- z) = w z.
  Hypothesis HN : proportional w N.
  Hypothesis rising : forall j x y, (0 <= j)%Z -> (x <= y)%Z -> w (x - j) * w y <= w (y - j) * w x.

  Definition drawn_at (k : Z) : law Z := image (Z.add k) N.

  (** The chance that the noise is t or more. *)
  Definition beyond (t : Z) : R := N (starting t).

  Lemma weight_summable k f : test f -> summable (fun x => w (x - k) * f x).
  Proof.
    intros Hf. destruct HN as [Hw _].
    apply summable_ext with (fun x => w (x - k) * f (k + (x - k))%Z); [intros x; do 2 f_equal; lia|].
    apply (summable_rename (fun z => w z * f (k + z)%Z) (fun x => (x - k)%Z) (fun z => (z + k)%Z)); try (intros; lia).
    apply (summable_test w (fun z => f (k + z)%Z)); auto. intros z. apply Hf.
  Qed.

  Lemma drawn_E k f : test f -> drawn_at k f * usum w = usum (fun x => w (x - k) * f x).
  Proof.
    intros Hf. destruct HN as [Hw [Hp HE]]. unfold drawn_at. simpl.
    assert (E : N (fun z => f (k + z)%Z) * usum w = usum (fun z => w z * f (k + z)%Z)).
    { apply (HE (fun z => f (k + z)%Z)). intros z. apply Hf. }
    rewrite E. rewrite <- (usum_rename (fun x => w (x - k)%Z * f x) (fun z => (k + z)%Z) (fun x => (x - k)%Z));
      try (intros; lia); [|apply weight_summable; auto].
    apply usum_ext. intros z. do 2 f_equal. lia.
  Qed.

  Lemma whole_pos : 0 < usum w.
  Proof. apply HN. Qed.

  Lemma drawn_mirror k f : test f -> drawn_at (- k) f = drawn_at k (fun x => f (- x)%Z).
  Proof.
    intros Hf. pose proof whole_pos as Hp. apply Rmult_eq_reg_r with (usum w); [|lra].
    rewrite !drawn_E by (auto; intros x; apply Hf).
    rewrite <- (usum_rename (fun x => w (x - - k)%Z * f x) Z.opp Z.opp); try (intros; lia); [|apply weight_summable; auto].
    apply usum_ext. intros x. f_equal. rewrite <- w_even. f_equal. lia.
  Qed.

  Lemma drawn_further k j f : drawn_at (k + j) f = drawn_at j (fun x => f (k + x)%Z).
  Proof. unfold drawn_at. simpl. apply E_ext. intros z. f_equal. lia. Qed.

  Lemma drawn_starting k t : drawn_at k (starting t) = beyond (t - k).
  Proof. unfold drawn_at, beyond. simpl. apply E_ext. intros z. unfold starting. do 2 destruct Z_le_dec; auto; lia. Qed.

  (* -------------------------------------------------------------- tests *)

  (** No test gains more than one that takes what is gained. *)
  Lemma best_test k c g : 0 <= c -> test g -> (forall x, g x = 0 \/ g x = 1) ->
    (forall x, g x = 1 -> c * w x <= w (x - k)) -> (forall x, g x = 0 -> w (x - k) <= c * w x) ->
    forall h, test h -> drawn_at k h - c * drawn_at 0 h <= drawn_at k g - c * drawn_at 0 g.
  Proof.
    intros Hc Hg Hg01 H1 H0 h Hh. pose proof whole_pos as Hp.
    assert (G : usum (fun x => w (x - k) * h x) + c * usum (fun x => w (x - 0) * g x)
             <= usum (fun x => w (x - k) * g x) + c * usum (fun x => w (x - 0) * h x)).
    { rewrite <- !usum_scale by auto using weight_summable.
      rewrite <- !usum_plus by auto using summable_scale, weight_summable.
      apply usum_le; [auto using summable_plus, summable_scale, weight_summable|].
      intros x. rewrite Z.sub_0_r. pose proof (w_pos (x - k)). pose proof (w_pos x). pose proof (Hh x). pose proof (Hg x).
      split.
      - apply Rplus_le_le_0_compat; repeat apply Rmult_le_pos; lra.
      - destruct (Hg01 x) as [E|E]; rewrite E; [specialize (H0 x E) | specialize (H1 x E)]; nra. }
    rewrite <- !drawn_E in G by auto. apply Rmult_le_reg_r with (usum w); auto. lra.
  Qed.

  Lemma starting_01 t x : starting t x = 0 \/ starting t x = 1.
  Proof. unfold starting. destruct Z_le_dec; auto. Qed.

  (** The odds pass c at t. *)
  Definition passes (k : Z) (c : R) (t : Z) : Prop :=
    (forall x, (t <= x)%Z -> c * w x <= w (x - k)) /\ (forall x, (x < t)%Z -> w (x - k) <= c * w x).

  Lemma best_half k c t h : 0 <= c -> passes k c t -> test h ->
    drawn_at k h - c * drawn_at 0 h <= beyond (t - k) - c * beyond t.
  Proof.
    intros Hc [H1 H2] Hh. pose proof (best_test k c (starting t) Hc (starting_test t) (starting_01 t)) as B.
    rewrite !drawn_starting, Z.sub_0_r in B. apply B; auto; intros x; unfold starting; destruct Z_le_dec; intros; try lra.
    - apply H1; auto.
    - apply H2. lia.
  Qed.

  (** They rise, so they pass c somewhere, or everywhere, or nowhere. *)
  Lemma somewhere j c : (0 <= j)%Z -> 0 <= c -> (exists t, passes j c t) \/
    (forall x, c * w x <= w (x - j)) \/ (forall x, w (x - j) <= c * w x).
  Proof.
    intros Hj Hc. set (above := fun x => c * w x <= w (x - j)).
    assert (Up : forall x y, (x <= y)%Z -> above x -> above y).
    { unfold above. intros x y Hxy Hx. pose proof (rising j x y Hj Hxy). pose proof (w_pos x). pose proof (w_pos y).
      apply Rmult_le_reg_r with (w x); auto. nra. }
    destruct (classic (exists a, above a)) as [[a Ha]|No]; [|right; right].
    2: { intros x. apply Rnot_lt_le. intros H. apply No. exists x. unfold above. lra. }
    destruct (classic (exists b, ~ above b)) as [[b Hb]|No]; [|right; left].
    2: { intros x. apply NNPP. intros H. apply No. exists x. auto. }
    left. assert (Hba : (b < a)%Z) by (destruct (Z_lt_le_dec b a); auto; exfalso; apply Hb, (Up a); auto).
    assert (G : forall n, above (b + Z.of_nat n)%Z -> exists t, above t /\ ~ above (t - 1)%Z).
    { induction n; intros H; [rewrite Z.add_0_r in H; contradiction|].
      destruct (classic (above (b + Z.of_nat n)%Z)) as [Y|Y]; auto.
      exists (b + Z.of_nat (S n))%Z. split; auto. replace (b + Z.of_nat (S n) - 1)%Z with (b + Z.of_nat n)%Z by lia. auto. }
    destruct (G (Z.to_nat (a - b))) as [t [T1 T2]]; [replace (b + Z.of_nat (Z.to_nat (a - b)))%Z with a by lia; auto|].
    exists t. split.
    - intros x Hx. apply (Up t); auto.
    - intros x Hx. apply Rnot_lt_le. intros H. apply T2, (Up x); [lia | unfold above; lra].
  Qed.

  Lemma beyond_falls s t : (s <= t)%Z -> beyond t <= beyond s.
  Proof.
    intros H. apply E_mono; auto using starting_test. intros x. unfold starting. do 2 destruct Z_le_dec; try lra; exfalso; lia.
  Qed.

  (** A smaller move gains no more. *)
  Lemma smaller j k c t h : (0 <= j <= k)%Z -> 0 <= c -> passes k c t -> test h ->
    drawn_at j h - c * drawn_at 0 h <= beyond (t - k) - c * beyond t.
  Proof.
    intros Hj Hc Ht Hh. destruct (somewhere j c ltac:(lia) Hc) as [[s Hs]|[H|H]].
    - apply Rle_trans with (1 := best_half j c s h Hc Hs Hh). pose proof (best_half k c t _ Hc Ht (starting_test s)) as B.
      rewrite !drawn_starting, Z.sub_0_r in B. pose proof (beyond_falls (s - k) (s - j) ltac:(lia)). lra.
    - pose proof (best_half k c t _ Hc Ht test_1) as B. rewrite !E_1 in B.
      pose proof (best_test j c (fun _ => 1) Hc test_1 ltac:(auto) ltac:(auto) ltac:(intros; lra) h Hh) as G.
      rewrite !E_1 in G. lra.
    - pose proof (best_half k c t _ Hc Ht test_0) as B. rewrite !E_0 in B.
      pose proof (best_test j c (fun _ => 0) Hc test_0 ltac:(auto) ltac:(intros; lra) ltac:(auto) h Hh) as G.
      rewrite !E_0 in G. lra.
  Qed.

  Theorem integers_line x y k c t h : (Z.abs (x - y) <= k)%Z -> 0 <= c -> passes k c t -> test h ->
    drawn_at x h <= beyond (t - k) - c * beyond t + c * drawn_at y h.
  Proof.
    intros Hk Hc Ht Hh. set (g := fun z => h (y + z)%Z). assert (Hg : test g) by (intros z; apply Hh).
    assert (Hgm : test (fun z => g (- z)%Z)) by (intros z; apply Hg).
    assert (Ex : drawn_at x h = drawn_at (x - y) g) by (replace x with (y + (x - y))%Z at 1 by lia; apply drawn_further).
    assert (Ey : drawn_at y h = drawn_at 0 g) by (replace y with (y + 0)%Z at 1 by lia; apply drawn_further).
    rewrite Ex, Ey. destruct (Z_le_gt_dec y x) as [H|H].
    - pose proof (smaller (x - y) k c t g ltac:(lia) Hc Ht Hg). lra.
    - replace (x - y)%Z with (- (y - x))%Z by lia. rewrite drawn_mirror by auto.
      assert (E0 : drawn_at 0 g = drawn_at 0 (fun z => g (- z)%Z)) by apply (drawn_mirror 0 g Hg).
      rewrite E0. pose proof (smaller (y - x) k c t _ ltac:(lia) Hc Ht Hgm). lra.
  Qed.

  (* -------------------------------------------------------------- several integers *)

  Definition apart (numbers : list (Z * Z)) : Z := fold_right (fun n sum => (Z.abs (fst n - snd n) + sum)%Z) 0%Z numbers.

  Lemma apart_nonneg numbers : (0 <= apart numbers)%Z.
  Proof. induction numbers; cbn [apart fold_right]; [lia|]. fold (apart numbers). lia. Qed.

  Definition odds (j x : Z) : R := w (x - j) / w x.

  Lemma odds_pos j x : 0 < odds j x.
  Proof. apply Rdiv_lt_0_compat; auto. Qed.

  Lemma odds_rising j x y : (0 <= j)%Z -> (x <= y)%Z -> odds j x <= odds j y.
  Proof.
    intros Hj Hxy. unfold odds. pose proof (w_pos x). pose proof (w_pos y). pose proof (rising j x y Hj Hxy).
    apply Rmult_le_reg_r with (w x * w y); [nra|].
    replace (w (x - j) / w x * (w x * w y)) with (w (x - j) * w y) by (field; lra).
    replace (w (y - j) / w y * (w x * w y)) with (w (y - j) * w x) by (field; lra). auto.
  Qed.

  Lemma odds_pass j c t : (0 <= j)%Z -> passes j c t <-> odds j (t - 1) <= c <= odds j t.
  Proof.
    intros Hj. assert (E : forall x, w (x - j) = odds j x * w x) by (intros x; pose proof (w_pos x); unfold odds; field; lra).
    split.
    - intros [H1 H2]. specialize (H1 t ltac:(lia)). specialize (H2 (t - 1)%Z ltac:(lia)). rewrite E in H1, H2.
      pose proof (w_pos t). pose proof (w_pos (t - 1)). split; [apply Rmult_le_reg_r with (w (t - 1)) | apply Rmult_le_reg_r with (w t)]; auto.
    - intros [H1 H2]. split; intros x Hx; rewrite E; apply Rmult_le_compat_r; try (left; apply w_pos).
      + pose proof (odds_rising j t x Hj Hx). lra.
      + pose proof (odds_rising j x (t - 1) Hj ltac:(lia)). lra.
  Qed.

  (** What two moves together make of odds, one after the other does. *)
  Lemma passes_split j k c t : (0 <= j)%Z -> (0 <= k)%Z -> passes (j + k) c t ->
    exists a b, 0 <= a /\ 0 <= b /\ c = a * b /\ passes j a (t - k) /\ passes k b t.
  Proof.
    intros Hj Hk Hp. apply odds_pass in Hp; [|lia]. destruct Hp as [H1 H2].
    assert (E : forall x, odds (j + k) x = odds j (x - k) * odds k x).
    { intros x. unfold odds. replace (x - (j + k))%Z with (x - k - j)%Z by lia. pose proof (w_pos x).
      pose proof (w_pos (x - k)). field. lra. }
    rewrite E in H1, H2. replace (t - 1 - k)%Z with (t - k - 1)%Z in H1 by lia.
    pose proof (odds_pos j (t - k - 1)) as A1. pose proof (odds_rising j (t - k - 1) (t - k) Hj ltac:(lia)) as A.
    pose proof (odds_pos k (t - 1)) as B1. pose proof (odds_rising k (t - 1) t Hk ltac:(lia)) as B.
    destruct (Rle_dec c (odds j (t - k) * odds k (t - 1))) as [L|L].
    - exists (c / odds k (t - 1)), (odds k (t - 1)).
      assert (Ec : c / odds k (t - 1) * odds k (t - 1) = c) by (field; lra).
      assert (R1 : odds j (t - k - 1) <= c / odds k (t - 1) <= odds j (t - k)).
      { split; apply Rmult_le_reg_r with (odds k (t - 1)); lra. }
      do 3 (split; [lra|]). split; apply odds_pass; auto; split; lra.
    - exists (odds j (t - k)), (c / odds j (t - k)).
      assert (Ec : odds j (t - k) * (c / odds j (t - k)) = c) by (field; lra).
      assert (R1 : odds k (t - 1) <= c / odds j (t - k) <= odds k t).
      { split; apply Rmult_le_reg_l with (odds j (t - k)); lra. }
      do 3 (split; [lra|]). split; apply odds_pass; auto; split; lra.
  Qed.

  Lemma half_gains k c t v : 0 <= c -> passes k c t -> 0 <= v <= 1 -> (1 - c) * v <= beyond (t - k) - c * beyond t.
  Proof.
    intros Hc Ht Hv. pose proof (best_half k c t (fun _ => v) Hc Ht ltac:(intros z; auto)) as B.
    rewrite !E_const in B by auto. lra.
  Qed.

  Theorem vectors_line numbers : forall k c t f, (apart numbers <= k)%Z -> 0 <= c -> passes k c t -> test f ->
    each (map (fun n => drawn_at (fst n)) numbers) f
    <= beyond (t - k) - c * beyond t + c * each (map (fun n => drawn_at (snd n)) numbers) f.
  Proof.
    induction numbers as [|[x y] rest IH]; intros k c t f Hk Hc Ht Hf.
    - cbn [map each point E]. pose proof (half_gains k c t (f []) Hc Ht (Hf [])). lra.
    - cbn [apart fold_right fst snd] in Hk. fold (apart rest) in Hk. pose proof (apart_nonneg rest) as Hr.
      cbn [map each fst snd].
      set (P := each (map (fun n => drawn_at (fst n)) rest)) in *. set (Q := each (map (fun n => drawn_at (snd n)) rest)) in *.
      set (g := fun a => P (fun l => f (a :: l))). set (h := fun a => Q (fun l => f (a :: l))).
      assert (Tl : forall a, test (fun l => f (a :: l))) by (intros a l; apply Hf).
      assert (Tg : test g) by (intros a; apply E_test; auto). assert (Th : test h) by (intros a; apply E_test; auto).
      change (drawn_at x g <= beyond (t - k) - c * beyond t + c * drawn_at y h).
      replace k with (k - apart rest + apart rest)%Z in Ht by lia.
      destruct (passes_split (k - apart rest) (apart rest) c t ltac:(lia) Hr Ht) as [a [b [Ha [Hb [Ec [Pa Pb]]]]]].
      pose proof (integers_line x y (k - apart rest) a (t - apart rest) g ltac:(lia) Ha Pa Tg) as L1.
      pose proof (half_gains (apart rest) b t 0 Hb Pb ltac:(lra)) as G0.
      assert (L2 : drawn_at y g <= b * drawn_at y h + (beyond (t - apart rest) - b * beyond t)).
      { apply E_le_affine; auto; [lra|]. intros z. unfold g, h. specialize (IH (apart rest) b t _ ltac:(lia) Hb Pb (Tl z)). lra. }
      replace (t - apart rest - (k - apart rest))%Z with (t - k)%Z in L1 by lia.
      apply Rmult_le_compat_l with (r := a) in L2; auto. rewrite Ec. lra.
  Qed.

  (* -------------------------------------------------------------- chances of half-lines *)

  Lemma beyond_E t : beyond t * usum w = usum (fun x => w x * starting t x).
  Proof. destruct HN as [_ [_ HE]]. apply HE. apply starting_test. Qed.

  Lemma beyond_flip t : beyond t + beyond (1 - t) = 1.
  Proof.
    assert (E : beyond (1 - t) = 1 - beyond t); [|lra]. unfold beyond at 2. rewrite <- E_minus by apply starting_test.
    pose proof (drawn_mirror 0 (starting (1 - t)) (starting_test _)) as M. rewrite Z.opp_0 in M.
    rewrite drawn_starting, Z.sub_0_r in M. rewrite M. cbn [drawn_at image bind point E]. apply E_ext. intros z. unfold starting.
    do 2 destruct Z_le_dec; try lra; exfalso; lia.
  Qed.

  Lemma starting_summable t : summable (fun x => w x * starting t x).
  Proof. apply summable_test; [apply HN | apply starting_test]. Qed.

  Lemma beyond_step t : beyond t * usum w = w t + beyond (t + 1) * usum w.
  Proof.
    rewrite !beyond_E. set (at_t := fun x => if Z.eq_dec x t then w t else 0).
    assert (A : summable at_t /\ usum at_t = total at_t [t]).
    { apply usum_finite; [repeat constructor; auto| |].
      - intros x. unfold at_t. destruct Z.eq_dec; [left; auto | lra].
      - intros x H. unfold at_t. destruct Z.eq_dec; auto. subst. destruct H. left. auto. }
    destruct A as [A1 A2]. replace (w t) with (usum at_t).
    2: { rewrite A2. unfold at_t. cbn [total]. destruct Z.eq_dec; [lra | contradiction]. }
    rewrite <- usum_plus by auto using starting_summable. apply usum_ext. intros x. unfold at_t, starting.
    destruct Z.eq_dec as [->|]; do 2 destruct Z_le_dec; try lra; exfalso; lia.
  Qed.

  (** Where the weight falls by a factor at every step, so do the chances. *)
  Lemma beyond_shrinks t r : 0 <= r -> (forall z, (t <= z)%Z -> w (z + 1) <= r * w z) -> beyond (t + 1) <= r * beyond t.
  Proof.
    intros Hr H. pose proof whole_pos as Hp. apply Rmult_le_reg_r with (usum w); auto. rewrite Rmult_assoc, !beyond_E.
    rewrite <- (usum_rename (fun x => w x * starting (t + 1) x) (fun z => (z + 1)%Z) (fun z => (z - 1)%Z));
      try (intros; lia); [|apply starting_summable].
    rewrite <- usum_scale by (auto; apply starting_summable).
    apply usum_le; [apply summable_scale; [auto | apply starting_summable]|]. intros z. pose proof (w_pos (z + 1)).
    unfold starting. do 2 destruct Z_le_dec; try lia; [|lra]. specialize (H z ltac:(lia)). lra.
  Qed.

  Lemma beyond_shrinks_slowly t r : 0 <= r -> (forall z, (t <= z)%Z -> r * w z <= w (z + 1)) -> r * beyond t <= beyond (t + 1).
  Proof.
    intros Hr H. pose proof whole_pos as Hp. apply Rmult_le_reg_r with (usum w); auto. rewrite Rmult_assoc, !beyond_E.
    rewrite <- (usum_rename (fun x => w x * starting (t + 1) x) (fun z => (z + 1)%Z) (fun z => (z - 1)%Z));
      try (intros; lia); [|apply starting_summable].
    rewrite <- usum_scale by (auto; apply starting_summable).
    apply usum_le.
    - apply (summable_rename (fun x => w x * starting (t + 1) x) (fun z => (z + 1)%Z) (fun z => (z - 1)%Z));
        try (intros; lia). apply starting_summable.
    - intros z. pose proof (w_pos z). unfold starting. do 2 destruct Z_le_dec; try lia; [|lra].
      specialize (H z ltac:(lia)). split; [|lra]. repeat apply Rmult_le_pos; lra.
  Qed.
End Integers.
