(** The hockey-stick of numbers with Laplace noise, where they are at most m scales apart in L1. *)
Require Import Reals Lra Psatz List.
From DP.base Require Import Laws Sums.
From DP Require Import Definitions Meaning.
From DP.core Require Import Costs.
From DP.noise Require Import Laws Normals.
From DP.samples Require Import Poisson Replaced Worst WorstLaplace.
From DP.account Require Import Kinds.
Import ListNotations.
Open Scope R_scope.

Definition laplace_stick (m c : R) : R := 1 - Rmin 1 (Rmin c (sqrt (c * exp (- m)))).

Lemma laplace_stick_up m m' c : m <= m' -> 0 <= c -> laplace_stick m c <= laplace_stick m' c.
Proof.
  intros Hm Hc. unfold laplace_stick. assert (sqrt (c * exp (- m')) <= sqrt (c * exp (- m))).
  { apply sqrt_le_1_alt. apply Rmult_le_compat_l; auto. apply exp_le. lra. }
  assert (Rmin 1 (Rmin c (sqrt (c * exp (- m')))) <= Rmin 1 (Rmin c (sqrt (c * exp (- m))))); [|lra].
  apply Rmin_glb; [apply Rmin_l|]. apply Rle_trans with (1 := Rmin_r _ _).
  apply Rmin_glb; [apply Rmin_l|]. apply Rle_trans with (1 := Rmin_r _ _). auto.
Qed.

Lemma laplace_stick_ge m c : 0 <= laplace_stick m c /\ 1 - c <= laplace_stick m c /\
  1 - sqrt (c * exp (- m)) <= laplace_stick m c.
Proof.
  unfold laplace_stick. pose proof (Rmin_l 1 (Rmin c (sqrt (c * exp (- m))))).
  pose proof (Rmin_r 1 (Rmin c (sqrt (c * exp (- m))))). pose proof (Rmin_l c (sqrt (c * exp (- m)))).
  pose proof (Rmin_r c (sqrt (c * exp (- m)))). lra.
Qed.

(** Between e^-m and e^m. *)
Lemma laplace_middle m c : 0 < c -> - m <= ln c <= m -> sqrt (c * exp (- m)) = exp ((ln c - m) / 2).
Proof.
  intros Hc _. rewrite <- (exp_ln c) at 1 by auto. rewrite <- exp_plus.
  replace (exp (ln c + - m)) with (Rsqr (exp ((ln c - m) / 2))).
  - apply sqrt_Rsqr. left. apply exp_pos.
  - unfold Rsqr. rewrite <- exp_plus. f_equal. field.
Qed.

(** One number. *)
Lemma laplace_one b L x y f c : 0 < b -> laplace_law b L -> test f -> 0 <= c ->
  L x f <= laplace_stick (Rabs (x - y) / b) c + c * L y f.
Proof.
  intros Hb HL Hf Hc. set (m := Rabs (x - y) / b). destruct (laplace_stick_ge m c) as [G0 [G1 G2]].
  assert (Hm : 0 <= m) by (apply Rmult_le_pos; [apply Rabs_pos | left; apply Rinv_0_lt_compat; auto]).
  assert (Em : m * b = Rabs (x - y)) by (unfold m; field; lra).
  pose proof (E_test (L x) f Hf) as Tx. pose proof (E_test (L y) f Hf) as Ty.
  destruct Hc as [Hc|<-]; [|lra].
  destruct (Rle_dec m (ln c)) as [Hhigh|Hhigh].
  { pose proof (laplace_pure b L x y Hb HL f Hf) as HP. fold m in HP.
    assert (exp m <= c) by (rewrite <- (exp_ln c) by auto; apply exp_le; auto). nra. }
  destruct (Rle_dec (ln c) (- m)) as [Hlow|Hlow].
  { pose proof (laplace_pure b L y x Hb HL _ (test_minus f Hf)) as HP. rewrite Rabs_minus_sym in HP. fold m in HP.
    rewrite !E_minus in HP by auto.
    assert (He : c * exp m <= 1).
    { rewrite <- (exp_ln c), <- exp_plus, <- exp_0 by auto. apply exp_le. lra. }
    assert (c * (1 - L y f) <= c * (exp m * (1 - L x f))) by (apply Rmult_le_compat_l; lra). nra. }
  rewrite laplace_middle in G2 by lra. set (u := m * b). set (t := (ln c + m) / 2 * b).
  assert (Ht : 0 <= t <= u).
  { unfold t, u. split; [apply Rmult_le_pos; lra | apply Rmult_le_compat_r; lra]. }
  assert (Hu : Rabs (x - y) <= u - 0) by (unfold u; lra).
  assert (Cross : c * tent b (t - 0) = 1 * tent b (t - u)).
  { rewrite Rminus_0_r, (tent_right b t), (tent_left b (t - u)) by lra. rewrite Rmult_1_l.
    rewrite <- (exp_ln c) at 1 by auto. rewrite <- exp_plus. f_equal. unfold t, u. field. lra. }
  destruct HL as [H1 H2].
  pose proof (farthest L (fun z => laplace_below (z / b)) (tent b) ltac:(intros; apply H1) H2
    (tent_pos b) (tent_rising b Hb) (low_even b) (low_up b Hb) (low_onto b Hb) x y u 0 t 1 c f
    ltac:(lra) Hu ltac:(lra) Cross Hf) as G.
  cbv beta in G. rewrite Rminus_0_r, (laplace_above (t / b)) in G by (apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; auto]).
  replace ((t - u) / b) with (- ((m - ln c) / 2)) in G by (unfold t, u; field; lra).
  rewrite laplace_below_even in G.
  rewrite (laplace_above ((m - ln c) / 2)) in G by lra.
  assert (E : c * (exp (- (t / b)) / 2) = exp ((ln c - m) / 2) / 2).
  { transitivity (exp (ln c) * exp (- (t / b)) / 2); [rewrite exp_ln by auto; field|].
    rewrite <- exp_plus. do 2 f_equal. unfold t. field. lra. }
  replace (exp (- ((m - ln c) / 2))) with (exp ((ln c - m) / 2)) in G by (f_equal; field). lra.
Qed.

(** What is m scales apart, and then n, is m + n apart. *)
Lemma laplace_chain m n c p q r : 0 <= m -> 0 <= n -> 0 <= c -> 0 <= p <= 1 -> 0 <= r <= 1 ->
  (forall a, 0 <= a -> p <= laplace_stick m a + a * q) -> (forall b, 0 <= b -> q <= laplace_stick n b + b * r) ->
  p <= laplace_stick (m + n) c + c * r.
Proof.
  intros Hm Hn Hc Hp Hr H1 H2. destruct (laplace_stick_ge (m + n) c) as [G0 [G1 G2]].
  destruct Hc as [Hc|<-]; [|lra].
  assert (Pos : forall x, 0 < exp x) by apply exp_pos.
  assert (Ec : exp (ln c) = c) by (apply exp_ln; auto).
  assert (Top : forall m, 0 <= m -> laplace_stick m (exp m) = 0).
  { intros k Hk. unfold laplace_stick. rewrite <- exp_plus, Rplus_opp_r, exp_0, sqrt_1.
    rewrite (Rmin_right (exp k)) by (rewrite <- exp_0 at 1; apply exp_le; auto). rewrite Rmin_left; lra. }
  assert (Low : forall m, 0 <= m -> laplace_stick m (exp (- m)) = 1 - exp (- m)).
  { intros k Hk. unfold laplace_stick. fold (Rsqr (exp (- k))). rewrite sqrt_Rsqr by (left; auto).
    rewrite (Rmin_left (exp (- k)) (exp (- k))) by lra. rewrite Rmin_right; auto.
    rewrite <- exp_0. apply exp_le. lra. }
  assert (Mid : forall m c, 0 <= m -> 0 < c -> - m <= ln c <= m -> laplace_stick m c = 1 - exp ((ln c - m) / 2)).
  { intros k c' Hk Hc' Hl. unfold laplace_stick. rewrite (laplace_middle k c') by auto.
    rewrite Rmin_assoc, (Rmin_comm 1), <- Rmin_assoc. rewrite (Rmin_right 1).
    - rewrite Rmin_right; auto. rewrite <- (exp_ln c') at 2 by auto. apply exp_le. lra.
    - rewrite <- exp_0. apply exp_le. lra. }
  assert (Ln : forall x, ln (exp x) = x) by apply ln_exp.
  destruct (Rle_dec (m + n) (ln c)) as [A|A].
  { specialize (H1 (exp m) ltac:(left; auto)). specialize (H2 (exp n) ltac:(left; auto)). rewrite Top in * by auto.
    assert (exp m * exp n <= c) by (rewrite <- exp_plus, <- Ec; apply exp_le; lra).
    assert (p <= exp m * (exp n * r)) by (specialize (Pos m); nra). nra. }
  destruct (Rle_dec (ln c) (- (m + n))) as [B|B].
  { specialize (H1 (exp (- m)) ltac:(left; auto)). specialize (H2 (exp (- n)) ltac:(left; auto)). rewrite Low in * by auto.
    assert (c <= exp (- m) * exp (- n)) by (rewrite <- exp_plus, <- Ec; apply exp_le; lra).
    assert (p <= 1 - exp (- m) + exp (- m) * (1 - exp (- n) + exp (- n) * r)) by (specialize (Pos (- m)); nra). nra. }
  rewrite laplace_middle in G2 by lra.
  destruct (Rle_dec (ln c) (n - m)) as [C|C].
  - specialize (H1 (exp (- m)) ltac:(left; auto)). specialize (H2 (exp (ln c + m)) ltac:(left; auto)).
    rewrite Low in H1 by auto. rewrite Mid in H2 by (rewrite ?Ln; auto; lra). rewrite Ln in H2.
    assert (E1 : exp (- m) * exp (ln c + m) = c).
    { rewrite <- exp_plus. replace (- m + (ln c + m)) with (ln c) by ring. auto. }
    assert (E2 : exp (- m) * exp ((ln c + m - n) / 2) = exp ((ln c - (m + n)) / 2)) by (rewrite <- exp_plus; f_equal; field).
    apply Rmult_le_compat_l with (r := exp (- m)) in H2; [|left; auto].
    rewrite Rmult_plus_distr_l, Rmult_minus_distr_l, E2, <- Rmult_assoc, E1 in H2. lra.
  - specialize (H1 (exp (ln c - n)) ltac:(left; auto)). specialize (H2 (exp n) ltac:(left; auto)).
    rewrite Top in H2 by auto. rewrite Mid in H1 by (rewrite ?Ln; auto; lra). rewrite Ln in H1.
    assert (E1 : exp (ln c - n) * exp n = c).
    { rewrite <- exp_plus. replace (ln c - n + n) with (ln c) by ring. auto. }
    replace ((ln c - n - m) / 2) with ((ln c - (m + n)) / 2) in H1 by field.
    apply Rmult_le_compat_l with (r := exp (ln c - n)) in H2; [|left; auto].
    rewrite Rplus_0_l, <- Rmult_assoc, E1 in H2. lra.
Qed.

Lemma laplace_each b L (numbers : list (R * R)) : 0 < b -> laplace_law b L -> forall f c, test f -> 0 <= c ->
  each (map (fun n => L (fst n)) numbers) f
  <= laplace_stick (total (fun n => Rabs (fst n - snd n)) numbers / b) c + c * each (map (fun n => L (snd n)) numbers) f.
Proof.
  intros Hb HL. assert (Hib : 0 < / b) by (apply Rinv_0_lt_compat; auto).
  induction numbers as [|[x y] rest IH]; intros f c Hf Hc.
  - cbn [map each total]. destruct (laplace_stick_ge (0 / b) c) as [G0 [G1 _]]. simpl. specialize (Hf []). nra.
  - cbn [map each total fst snd].
    replace ((Rabs (x - y) + total (fun n => Rabs (fst n - snd n)) rest) / b)
      with (Rabs (x - y) / b + total (fun n => Rabs (fst n - snd n)) rest / b) by (field; lra).
    set (P := each (map (fun n => L (fst n)) rest)) in *. set (Q := each (map (fun n => L (snd n)) rest)) in *.
    assert (Tl : forall a, test (fun l => f (a :: l))) by (intros a l; apply Hf).
    set (g := fun a => P (fun l => f (a :: l))). set (h := fun a => Q (fun l => f (a :: l))).
    assert (Tg : test g) by (intros a; apply E_test; auto). assert (Th : test h) by (intros a; apply E_test; auto).
    change (L x g <= laplace_stick (Rabs (x - y) / b + total (fun n => Rabs (fst n - snd n)) rest / b) c + c * L y h).
    apply laplace_chain with (L y g); auto using E_test.
    + apply Rmult_le_pos; [apply Rabs_pos | lra].
    + apply Rmult_le_pos; [apply total_nonneg; intros; apply Rabs_pos | lra].
    + intros a Ha. apply laplace_one; auto.
    + intros a Ha. destruct (laplace_stick_ge (total (fun n => Rabs (fst n - snd n)) rest / b) a) as [G0 _].
      pose proof (E_le_affine (L y) g h a _ Tg Th Ha G0) as G. rewrite Rplus_comm. apply G. intros z. unfold g, h.
      rewrite Rplus_comm. apply IH; auto.
Qed.

Theorem laplace_pair_stick {A} m (P Q : law A) f c : laplace_pair m P Q -> test f -> 0 <= c ->
  P f <= laplace_stick m c + c * Q f.
Proof.
  intros [b [L [numbers [post [Hb [HL [Hm [HP HQ]]]]]]]] Hf Hc. rewrite (HP f Hf), (HQ f Hf).
  apply Rle_trans with (1 := laplace_each b L numbers Hb HL (fun a => post a f) c (fun a => E_test (post a) f Hf) Hc).
  apply Rplus_le_compat_r, laplace_stick_up; auto.
  apply Rmult_le_reg_r with b; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.
