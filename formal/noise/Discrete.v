(** The discrete Gaussian between two integer shifts is as far apart as the continuous one is, in zCDP.

    The sum of exp(−(z−a)²/2σ²) over the integers z, for any real a, is largest at a = 0: a product of two such sums
    is a sum of products of such sums of half the variance, by z = i + j + e and w = i − j with e in {0, 1}.
    So the ratio r(a) of the sum at a to the sum at 0 has r(a)⁴ ≤ r(2a), by the inequality of Cauchy and Schwarz.
    The ratio is bounded, so it is at most 1.  The rest is Young's inequality at every integer. *)
Require Import Reals ZArith Lra Lia Psatz List Bool FinFun.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Definitions.
From DP.core Require Import Powers Costs Layers.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- products of sums *)


Lemma total_pairs {A B} (f : A -> R) (g : B -> R) l m :
  total (fun p => f (fst p) * g (snd p)) (list_prod l m) = total f l * total g m.
Proof.
  induction l as [|a l IH]; simpl; [lra|]. rewrite total_app, IH, total_map. cbn [fst snd].
  rewrite total_scale. lra.
Qed.

Lemma NoDup_pairs {A B} (l : list A) (m : list B) : NoDup l -> NoDup m -> NoDup (list_prod l m).
Proof.
  intros Hl Hm. induction Hl as [|a l Ha Hl IH]; simpl; [constructor|].
  assert (G : forall n (q : list (A * B)), NoDup n -> NoDup q -> (forall b, ~ In (a, b) q) ->
    NoDup (map (fun b => (a, b)) n ++ q)).
  { clear. intros n q Hn Hq Hout. induction Hn as [|b n Hb Hn IH]; simpl; auto. constructor; auto.
    intros Hin. apply in_app_or in Hin. destruct Hin as [Hin|Hin]; [|apply (Hout b); auto].
    apply in_map_iff in Hin. destruct Hin as [c [E Hc]]. injection E as ->. auto. }
  apply G; auto. intros b Hb. apply in_prod_iff in Hb. tauto.
Qed.

Lemma summable_pairs {A B} (f : A -> R) (g : B -> R) : summable f -> summable g ->
  summable (fun p => f (fst p) * g (snd p)) /\ usum (fun p => f (fst p) * g (snd p)) = usum f * usum g.
Proof.
  intros Hf Hg. pose proof (usum_nonneg f Hf) as Nf. pose proof (usum_nonneg g Hg) as Ng.
  destruct Hf as [Hf0 HfM] eqn:Ef. destruct Hg as [Hg0 HgM] eqn:Eg. clear HfM HgM Ef Eg.
  assert (Hpos : forall p : A * B, 0 <= f (fst p) * g (snd p)) by (intros p; apply Rmult_le_pos; auto).
  assert (Hup : forall l, NoDup l -> total (fun p => f (fst p) * g (snd p)) l <= usum f * usum g).
  { intros l Hl. destruct (without_repetition (map fst l)) as [m [Hm Im]].
    destruct (without_repetition (map snd l)) as [n [Hn In_]].
    apply Rle_trans with (total (fun p => f (fst p) * g (snd p)) (list_prod m n)).
    - apply total_incl; auto. intros [a b] Hab. apply in_prod_iff. rewrite Im, In_. split.
      + apply (in_map fst) in Hab. auto.
      + apply (in_map snd) in Hab. auto.
    - rewrite total_pairs. apply Rmult_le_compat; try (apply total_nonneg; auto); apply usum_ub; auto. }
  assert (Hs : summable (fun p : A * B => f (fst p) * g (snd p))) by (split; eauto).
  split; auto. apply Rle_antisym; [apply usum_least; auto|].
  apply le_epsilon. intros t Ht. set (M := usum f + usum g + 1).
  assert (HM : 0 < M) by (unfold M; lra).
  destruct (usum_approx f (t / M) Hf) as [l [Hl HlF]]; [apply Rdiv_lt_0_compat; auto|].
  destruct (usum_approx g (t / M) Hg) as [m [Hm HmG]]; [apply Rdiv_lt_0_compat; auto|].
  pose proof (usum_ub _ _ Hs (NoDup_pairs l m Hl Hm)) as U. rewrite total_pairs in U.
  pose proof (usum_ub f l Hf Hl). pose proof (usum_ub g m Hg Hm).
  assert (0 <= total f l) by (apply total_nonneg; auto). assert (0 <= total g m) by (apply total_nonneg; auto).
  assert (Ht' : t / M * M = t) by (field; lra). assert (0 < t / M) by (apply Rdiv_lt_0_compat; auto).
  set (e := t / M) in *. apply Rle_trans with (total f l * total g m + e * (usum f + usum g)); [nra|].
  unfold M in Ht'. nra.
Qed.

Lemma usum_bool {A} (f : bool * A -> R) : summable f ->
  summable (fun a => f (false, a)) /\ summable (fun a => f (true, a)) /\
  usum f = usum (fun a => f (false, a)) + usum (fun a => f (true, a)).
Proof.
  intros Hf.
  assert (Hb : forall b, summable (fun a => f (b, a))).
  { intros b. split; [intros; apply Hf|]. exists (usum f). intros l Hl. rewrite <- (total_map (fun a => (b, a)) f).
    apply usum_ub; auto. apply Injective_map_NoDup; auto. intros x y E; congruence. }
  repeat split; auto; try apply Hf; try apply (Hb false); try apply (Hb true).
  apply Rle_antisym.
  - apply usum_least; auto. intros l Hl.
    assert (G : forall l, NoDup l -> exists m n, NoDup m /\ NoDup n /\
      (forall a, In a m -> In (false, a) l) /\ (forall a, In a n -> In (true, a) l) /\
      total f l = total (fun a => f (false, a)) m + total (fun a => f (true, a)) n).
    { clear. induction 1 as [|[b a] l Ha Hl [m [n [Hm [Hn [Im [In_ IH]]]]]]].
      - exists [], []. simpl. repeat split; try constructor; try tauto. lra.
      - destruct b.
        + exists m, (a :: n). repeat split; auto.
          * constructor; auto.
          * intros c Hc. right; auto.
          * intros c [<-|Hc]; [left | right]; auto.
          * simpl. lra.
        + exists (a :: m), n. repeat split; auto.
          * constructor; auto.
          * intros c [<-|Hc]; [left | right]; auto.
          * intros c Hc. right; auto.
          * simpl. lra. }
    destruct (G l Hl) as [m [n [Hm [Hn [_ [_ ->]]]]]].
    pose proof (usum_ub _ m (Hb false) Hm). pose proof (usum_ub _ n (Hb true) Hn). lra.
  - apply le_epsilon. intros t Ht.
    destruct (usum_approx _ (t / 2) (Hb false) ltac:(lra)) as [m [Hm HmF]].
    destruct (usum_approx _ (t / 2) (Hb true) ltac:(lra)) as [n [Hn HnF]].
    assert (ND : NoDup (map (fun a => (false, a)) m ++ map (fun a => (true, a)) n)).
    { clear HmF HnF. induction Hm as [|a m Ha Hm IH]; simpl.
      - apply Injective_map_NoDup; auto. intros x y E; congruence.
      - constructor; auto. intros Hin. apply in_app_or in Hin.
        destruct Hin as [Hin|Hin]; apply in_map_iff in Hin; destruct Hin as [c [E Hc]]; [|discriminate].
        injection E as ->. auto. }
    pose proof (usum_ub f _ Hf ND) as U. rewrite total_app, !total_map in U. lra.
Qed.

(* ---------------------------------------------------------------- the sum around a *)

Definition hills (s a : R) (z : Z) : R := bell s a (IZR z).

Lemma hills_pos s a z : 0 < hills s a z.
Proof. apply exp_pos. Qed.

Lemma hills_shift s a k z : hills s a (z - k) = hills s (a + IZR k) z.
Proof. unfold hills, bell. rewrite minus_IZR. do 2 f_equal. f_equal. ring. Qed.

Lemma over_le s x y : 0 < s -> y <= x -> exp (- x / (2 * s)) <= exp (- y / (2 * s)).
Proof.
  intros Hs H. apply exp_le. unfold Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat|]; lra.
Qed.

(** A sum around any a is at most twice the sum around 0. *)
Lemma hills_unit s a : 0 < s -> summable (hills s 0) -> 0 <= a <= 1 ->
  summable (hills s a) /\ usum (hills s a) <= 2 * usum (hills s 0).
Proof.
  intros Hs H0 Ha.
  assert (H1 : summable (fun z => hills s 0 (z - 1))).
  { apply (summable_rename (hills s 0) (fun z => (z - 1)%Z) (fun z => (z + 1)%Z)); auto; intros; lia. }
  assert (E1 : usum (fun z => hills s 0 (z - 1)) = usum (hills s 0)).
  { apply (usum_rename (hills s 0) (fun z => (z - 1)%Z) (fun z => (z + 1)%Z)); auto; intros; lia. }
  assert (Hle : forall z, 0 <= hills s a z <= hills s 0 z + hills s 0 (z - 1)).
  { intros z. pose proof (hills_pos s a z). pose proof (hills_pos s 0 z). pose proof (hills_pos s 0 (z - 1)).
    split; [lra|].
    destruct (Z_le_gt_dec z 0) as [Hz|Hz].
    - apply IZR_le in Hz. assert (hills s a z <= hills s 0 z); [|lra]. unfold hills, bell. apply over_le; auto. nra.
    - assert (Hz1 : (1 <= z)%Z) by lia. apply IZR_le in Hz1.
      assert (hills s a z <= hills s 0 (z - 1)); [|lra]. unfold hills, bell. apply over_le; auto.
      rewrite minus_IZR. nra. }
  pose proof (summable_plus _ _ H0 H1) as H2. split; [apply (summable_le _ _ H2); auto|].
  replace (2 * usum (hills s 0)) with (usum (fun z => hills s 0 z + hills s 0 (z - 1))).
  - apply usum_le; auto.
  - rewrite usum_plus by auto. rewrite E1. lra.
Qed.

Lemma hills_summable s a : 0 < s -> summable (hills s 0) -> summable (hills s a) /\ usum (hills s a) <= 2 * usum
  (hills s 0).
Proof.
  intros Hs H0. set (k := Int_part a).
  assert (Hk : 0 <= a - IZR k <= 1) by (destruct (base_Int_part a); unfold k; lra).
  destruct (hills_unit s (a - IZR k) Hs H0 Hk) as [H1 H2].
  assert (E : forall z, hills s (a - IZR k) (z - k) = hills s a z).
  { intros z. rewrite hills_shift. f_equal. ring. }
  split.
  - apply (summable_ext _ _ E).
    apply (summable_rename _ (fun z => (z - k)%Z) (fun z => (z + k)%Z)); auto; intros; lia.
  - rewrite <- (usum_ext _ _ E).
    rewrite (usum_rename _ (fun z => (z - k)%Z) (fun z => (z + k)%Z)); auto; intros; lia.
Qed.

Lemma hills_half s a : 0 < s -> summable (hills s 0) -> summable (hills (s / 2) a).
Proof.
  intros Hs H0. assert (summable (hills (s / 2) 0)).
  { apply (summable_le _ _ H0). intros z. split; [left; apply exp_pos|]. unfold hills, bell. apply exp_le.
    apply Rmult_le_reg_r with (2 * s); [lra|]. replace (- ((IZR z - 0) * (IZR z - 0)) / (2 * (s / 2)) * (2 * s)) with
      (- 2 * ((IZR z - 0) * (IZR z - 0))) by (field; lra).
    replace (- ((IZR z - 0) * (IZR z - 0)) / (2 * s) * (2 * s)) with (- ((IZR z - 0) * (IZR z - 0))) by (field; lra).
    pose proof (Rle_0_sqr (IZR z - 0)). unfold Rsqr in *. lra. }
  apply hills_summable; auto; lra.
Qed.

(** z = i + j + e and w = i − j: every pair of integers is one such triple. *)
Definition bit (b : bool) : Z := if b then 1%Z else 0%Z.
Definition sides (t : bool * (Z * Z)) : Z * Z :=
  let '(b, (i, j)) := t in ((i + j + bit b)%Z, (i - j)%Z).
Definition middle (p : Z * Z) : bool * (Z * Z) :=
  let '(z, w) := p in (Z.odd (z + w), ((z + w) / 2, (z - w) / 2)%Z).

Lemma sides_middle p : sides (middle p) = p.
Proof.
  destruct p as [z w]. unfold sides, middle, bit. pose proof (Zmod_odd (z + w)) as Ho.
  pose proof (Z_div_mod_eq_full (z + w) 2). pose proof (Z_div_mod_eq_full (z - w) 2).
  pose proof (Z.mod_pos_bound (z - w) 2). destruct (Z.odd (z + w)); f_equal; lia.
Qed.

Lemma middle_sides t : middle (sides t) = t.
Proof.
  destruct t as [b [i j]]. unfold sides, middle, bit.
  assert (Z.odd (i + j + (if b then 1 else 0) + (i - j)) = b).
  { pose proof (Zmod_odd (i + j + (if b then 1 else 0) + (i - j))) as Ho.
    pose proof (Z_div_mod_eq_full (i + j + (if b then 1 else 0) + (i - j)) 2).
    destruct (Z.odd _), b; auto; lia. }
  rewrite H. f_equal. f_equal; symmetry.
  - apply Z.div_unique with (bit b); unfold bit; destruct b; lia.
  - apply Z.div_unique with (bit b); unfold bit; destruct b; lia.
Qed.

Lemma hills_product s a b : 0 < s -> summable (hills s 0) ->
  usum (hills s a) * usum (hills s b) =
  usum (hills (s / 2) ((a + b) / 2)) * usum (hills (s / 2) ((a - b) / 2)) +
  usum (hills (s / 2) ((a + b - 1) / 2)) * usum (hills (s / 2) ((a - b - 1) / 2)).
Proof.
  intros Hs H0. destruct (hills_summable s a Hs H0) as [Ha _]. destruct (hills_summable s b Hs H0) as [Hb _].
  destruct (summable_pairs _ _ Ha Hb) as [Hab <-].
  rewrite <- (usum_rename _ sides middle sides_middle middle_sides Hab).
  pose proof (summable_rename _ sides middle sides_middle middle_sides Hab) as Ht.
  destruct (usum_bool _ Ht) as [_ [_ ->]]. f_equal.
  - destruct (summable_pairs (hills (s / 2) ((a + b) / 2)) (hills (s / 2) ((a - b) / 2))) as [_ <-];
      auto using hills_half.
    apply usum_ext. intros [i j]. unfold sides, bit, hills, bell. cbn [fst snd]. rewrite <- !exp_plus. f_equal.
    rewrite !plus_IZR, minus_IZR. field. lra.
  - destruct (summable_pairs (hills (s / 2) ((a + b - 1) / 2)) (hills (s / 2) ((a - b - 1) / 2))) as [_ <-];
      auto using hills_half.
    apply usum_ext. intros [i j]. unfold sides, bit, hills, bell. cbn [fst snd]. rewrite <- !exp_plus. f_equal.
    rewrite !plus_IZR, minus_IZR. field. lra.
Qed.

Lemma cauchy_schwarz x y p q : (x * p + y * q) * (x * p + y * q) <= (x * x + y * y) * (p * p + q * q).
Proof. pose proof (Rle_0_sqr (x * q - y * p)). unfold Rsqr in *. nra. Qed.

Lemma hills_doubled s a : 0 < s -> summable (hills s 0) ->
  let g := fun a => usum (hills s a) in
  (g a * g a) * (g a * g a) <= (g (2 * a) * g 0) * (g 0 * g 0).
Proof.
  intros Hs H0 g. unfold g.
  rewrite (hills_product s a a), (hills_product s (2 * a) 0), (hills_product s 0 0) by auto.
  replace ((a + a) / 2) with a by field. replace ((a - a) / 2) with 0 by field.
  replace ((a + a - 1) / 2) with (a - 1 / 2) by field. replace ((a - a - 1) / 2) with (- (1 / 2)) by field.
  replace ((2 * a + 0) / 2) with a by field. replace ((2 * a - 0) / 2) with a by field.
  replace ((2 * a + 0 - 1) / 2) with (a - 1 / 2) by field. replace ((2 * a - 0 - 1) / 2) with (a - 1 / 2) by field.
  replace ((0 + 0) / 2) with 0 by field. replace ((0 - 0) / 2) with 0 by field.
  replace ((0 + 0 - 1) / 2) with (- (1 / 2)) by field. replace ((0 - 0 - 1) / 2) with (- (1 / 2)) by field.
  apply cauchy_schwarz.
Qed.

Lemma some_number x : exists n, x < INR n.
Proof.
  exists (Z.to_nat (up x)). destruct (archimed x) as [Hx _]. destruct (Z_le_gt_dec 0 (up x)) as [H|H].
  - rewrite INR_IZR_INZ, Z2Nat.id by auto. auto.
  - assert (IZR (up x) < 0) by (apply IZR_lt; lia). pose proof (pos_INR (Z.to_nat (up x))). lra.
Qed.

(** What is bounded, and grows to its fourth power where its argument doubles, is at most 1. *)
Lemma at_most_one (r : R -> R) M : (forall a, 0 <= r a <= M) -> (forall a, (r a * r a) * (r a * r a) <= r (2 * a)) ->
  forall a, r a <= 1.
Proof.
  intros HM H2 a. apply Rnot_lt_le. intros Ha.
  assert (G : forall n, exists b, 1 + (INR n + 1) * (r a - 1) <= r b).
  { induction n as [|n [b Hb]]; [exists a; simpl; lra|].
    exists (2 * b). specialize (H2 b). rewrite S_INR. pose proof (pos_INR n). revert H2 Hb.
    generalize (r b) (r (2 * b)). intros x y H2 Hb. apply Rle_trans with (2 := H2). set (h := r a - 1) in *.
    assert (Hh : 0 < h) by (unfold h; lra). assert (Hn : 0 <= INR n * h) by (apply Rmult_le_pos; lra).
    assert (1 + (INR n + 1) * h + (INR n * h + h) <= x * x) by nra.
    assert (1 <= x * x) by nra. nra. }
  destruct (some_number (M / (r a - 1))) as [n Hn]. destruct (G n) as [b Hb]. destruct (HM b).
  apply Rmult_lt_compat_r with (r := r a - 1) in Hn; [|lra]. unfold Rdiv in Hn.
  rewrite Rmult_assoc, Rinv_l in Hn by lra. lra.
Qed.

Lemma hills_most s a : 0 < s -> summable (hills s 0) -> usum (hills s a) <= usum (hills s 0).
Proof.
  intros Hs H0. set (g := fun a => usum (hills s a)). change (g a <= g 0).
  assert (Hp : 0 < g 0).
  { apply Rlt_le_trans with (hills s 0 0); [apply hills_pos|]. apply usum_at; auto. }
  assert (Hn : forall b, 0 <= g b <= 2 * g 0).
  { intros b. destruct (hills_summable s b Hs H0) as [Hb1 Hb2]. split; auto. apply usum_nonneg; auto. }
  assert (Hr : g a / g 0 <= 1).
  { apply (at_most_one (fun a => g a / g 0) 2).
    - intros b. specialize (Hn b). split.
      + unfold Rdiv. apply Rmult_le_pos; [lra|]. left; apply Rinv_0_lt_compat; auto.
      + apply Rmult_le_reg_r with (g 0); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
    - intros b. pose proof (hills_doubled s b Hs H0) as D. cbv zeta in D. fold (g b) (g (2 * b)) (g 0) in D.
      apply Rmult_le_reg_r with ((g 0 * g 0) * (g 0 * g 0)).
      { apply Rmult_lt_0_compat; apply Rmult_lt_0_compat; auto. }
      replace (g b / g 0 * (g b / g 0) * (g b / g 0 * (g b / g 0)) * (g 0 * g 0 * (g 0 * g 0)))
        with ((g b * g b) * (g b * g b)) by (field; lra).
      replace (g (2 * b) / g 0 * (g 0 * g 0 * (g 0 * g 0))) with ((g (2 * b) * g 0) * (g 0 * g 0)) by (field; lra).
      auto. }
  apply Rmult_le_compat_r with (r := g 0) in Hr; [|lra]. unfold Rdiv in Hr. rewrite Rmult_assoc, Rinv_l in Hr by lra.
  lra.
Qed.

(* ---------------------------------------------------------------- zCDP *)

(** Canonne, Kamath and Steinke 2020, proposition 5: between two shifts of the discrete Gaussian. *)
Lemma discrete_normal_zcdp (variance : R) (N : law Z) (x y : Z) : 0 < variance -> discrete_normal variance N ->
  zcdp_cost ((IZR x - IZR y) * (IZR x - IZR y) / (2 * variance)) (image (Z.add x) N) (image (Z.add y) N).
Proof.
  intros Hs [Hw [Hpos HN]] theta Ht f Hf. set (s := variance) in *. set (alpha := theta / (theta - 1)).
  pose proof (one_minus_inv theta Ht) as Hi.
  assert (Hw0 : forall z, exp (- (IZR z * IZR z) / (2 * s)) = hills s 0 z).
  { intros z. unfold hills, bell. rewrite !Rminus_0_r. auto. }
  rewrite (usum_ext _ _ Hw0) in Hpos, HN. apply (summable_ext _ _ Hw0) in Hw.
  set (S := usum (hills s 0)) in *.
  assert (Hmove : forall k g, test g -> image (Z.add k) N g * S = usum (fun z => hills s (IZR k) z * g z)).
  { intros k g Hg. simpl. rewrite HN by (intros z; apply Hg).
    rewrite <- (usum_rename (fun z => hills s (IZR k) z * g z) (fun z => (k + z)%Z) (fun z => (z - k)%Z));
      try (intros; lia).
    - apply usum_ext. intros z. rewrite Hw0. f_equal. replace z with (k + z - k)%Z at 1 by lia. rewrite hills_shift.
      f_equal. ring.
    - apply summable_test; auto. apply hills_summable; auto. }
  assert (Hft : test (fun z => power (f z) theta)) by (apply power_test; auto; lra).
  set (rho := (IZR x - IZR y) * (IZR x - IZR y) / (2 * s)).
  replace (alpha * rho / theta) with ((alpha - 1) * rho) by (unfold alpha; field; lra).
  set (C := exp ((alpha - 1) * rho)). assert (HC : 0 < C) by apply exp_pos.
  set (Q := image (Z.add y) N (fun z => power (f z) theta)).
  apply best_mean; auto; [apply E_test; auto|]. fold Q.
  intros A HA. apply Rmult_le_reg_r with S; auto. rewrite Hmove by auto.
  set (K := power A (1 / theta) * C). assert (HK : 0 < K) by (apply Rmult_lt_0_compat; auto; apply power_gt0; auto).
  set (m := alpha * IZR x + (1 - alpha) * IZR y). destruct (hills_summable s m Hs Hw) as [Hm _].
  destruct (hills_summable s (IZR y) Hs Hw) as [Hy _].
  assert (Hyf : summable (fun z => hills s (IZR y) z * power (f z) theta)).
  { apply (summable_test (hills s (IZR y))); auto. }
  assert (Ha : 0 <= K * (1 / theta) / A).
  { apply Rmult_le_pos; [apply Rmult_le_pos; lra | left; apply Rinv_0_lt_compat; auto]. }
  assert (Hb : 0 <= K * (1 - 1 / theta)) by (apply Rmult_le_pos; lra).
  apply Rle_trans with (usum (fun z => K * (1 / theta) / A * (hills s (IZR y) z * power (f z) theta)
                                       + K * (1 - 1 / theta) * hills s m z)).
  - apply usum_le.
    + apply summable_plus; apply summable_scale; auto.
    + intros z. split; [apply Rmult_le_pos; [left; apply hills_pos | apply Hf]|].
      pose proof (bell_young s (IZR x) (IZR y) (IZR z) theta (f z) A Hs Ht (proj1 (Hf z)) HA) as Y. cbv zeta in Y.
      fold alpha in Y. fold rho in Y. fold C in Y. fold K in Y. fold m in Y.
      apply Rle_trans with (1 := Y). right. unfold hills. field. split; lra.
  - rewrite usum_plus, !usum_scale by (auto; apply summable_scale; auto). rewrite <- (Hmove y) by auto. fold Q.
    pose proof (hills_most s m Hs Hw) as Hmost. fold S in Hmost.
    apply Rle_trans with (K * (1 / theta) / A * (Q * S) + K * (1 - 1 / theta) * S);
      [apply Rplus_le_compat_l, Rmult_le_compat_l; auto|].
    right. field. split; lra.
Qed.
