(** One number with Gaussian noise: the lemma of Neyman and Pearson. *)
Require Import Reals ZArith Lra Lia Psatz List.
From Coquelicot Require Import Rcomplements.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Definitions Meaning.
From DP.core Require Import Costs Products Squares.
Import ListNotations.
Open Scope R_scope.

(** No test beats the one that decides by the likelihood ratio: [g] where it is at least t. *)
Lemma most_powerful (L : R -> law R) density m m' t (g : R -> R) : likelihood L density -> 0 < t ->
  (forall x, 0 < density m x /\ 0 < density m' x) -> (forall x, g x = 0 \/ g x = 1) ->
  (forall x, g x = 1 -> t <= density m x / density m' x) -> (forall x, g x = 0 -> density m x / density m' x <= t) ->
  forall f, test f -> L m f - t * L m' f <= L m g - t * L m' g.
Proof.
  intros HL Ht Hd Hg H1 H0 f Hf.
  assert (Tg : test g) by (intros x; destruct (Hg x) as [-> | ->]; lra).
  assert (Ta : test (fun x => f x * (1 - g x))) by (apply test_mult; auto using test_minus).
  assert (Tb : test (fun x => (1 - f x) * g x)) by (apply test_mult; auto using test_minus).
  assert (Tc : test (fun x => f x * g x)) by (apply test_mult; auto).
  (* where the ratio is small *)
  assert (A : L m (fun x => f x * (1 - g x)) <= t * L m' (fun x => f x * (1 - g x))).
  { assert (HP : forall x, 0 <= f x * (1 - g x) * (density m x / density m' x) / t <= f x * (1 - g x)).
    { intros x. destruct (Hd x). pose proof (Hf x). destruct (Hg x) as [E|E]; rewrite E.
      - specialize (H0 x E). assert (0 < density m x / density m' x) by (apply Rdiv_lt_0_compat; auto).
        replace (f x * (1 - 0) * (density m x / density m' x) / t) with (f x * (density m x / density m' x / t)) by (field; lra).
        assert (0 <= density m x / density m' x / t <= 1).
        { split; [apply Rdiv_le_0_compat; lra|]. apply Rmult_le_reg_r with t; auto. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l; lra. }
        nra.
      - replace (f x * (1 - 1) * (density m x / density m' x) / t) with 0 by (field; lra). lra. }
    rewrite (HL m m' t _ Ht Ta).
    - apply Rmult_le_compat_l; [lra|]. apply E_mono; auto.
      + intros x. specialize (HP x). specialize (Ta x). cbv beta in Ta. lra.
      + intros x. apply HP.
    - intros x. specialize (HP x). specialize (Ta x). cbv beta in Ta. lra. }
  (* where it is large *)
  assert (B : t * L m' (fun x => (1 - f x) * g x) <= L m (fun x => (1 - f x) * g x)).
  { assert (Hit : 0 < / t) by (apply Rinv_0_lt_compat; auto).
    assert (HP : forall x, 0 <= (1 - f x) * g x * (density m' x / density m x) / / t <= (1 - f x) * g x).
    { intros x. destruct (Hd x) as [D1 D2]. pose proof (Hf x). destruct (Hg x) as [E|E]; rewrite E.
      - replace ((1 - f x) * 0 * (density m' x / density m x) / / t) with 0 by (field; lra). lra.
      - specialize (H1 x E).
        replace ((1 - f x) * 1 * (density m' x / density m x) / / t) with ((1 - f x) * (t * (density m' x / density m x))) by (field; lra).
        assert (0 <= t * (density m' x / density m x) <= 1).
        { split; [apply Rmult_le_pos; [lra | apply Rdiv_le_0_compat; lra]|].
          apply Rmult_le_reg_r with (density m x / density m' x); [apply Rdiv_lt_0_compat; auto|].
          replace (t * (density m' x / density m x) * (density m x / density m' x)) with t by (field; lra). lra. }
        nra. }
    rewrite (HL m' m (/ t) _ Hit Tb).
    - rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. apply E_mono; auto.
      + intros x. specialize (HP x). specialize (Tb x). cbv beta in Tb. lra.
      + intros x. apply HP.
    - intros x. specialize (HP x). specialize (Tb x). cbv beta in Tb. lra. }
  assert (Sf : forall P : law R, P f = P (fun x => f x * (1 - g x)) + P (fun x => f x * g x)).
  { intros P. rewrite <- E_plus; auto; [apply E_ext; intros; ring|]. intros x. replace (f x * (1 - g x) + f x * g x) with (f x) by ring. auto. }
  assert (Sg : forall P : law R, P g = P (fun x => (1 - f x) * g x) + P (fun x => f x * g x)).
  { intros P. rewrite <- E_plus; auto; [apply E_ext; intros; ring|]. intros x. replace ((1 - f x) * g x + f x * g x) with (g x) by ring. auto. }
  rewrite (Sf (L m)), (Sf (L m')), (Sg (L m)), (Sg (L m')). nra.
Qed.

Lemma normal_ratio s m m' x : 0 < s ->
  exp (- ((x - m) / s) ^ 2 / 2) / exp (- ((x - m') / s) ^ 2 / 2) = exp ((m - m') * (2 * x - m - m') / (2 * (s * s))).
Proof. intros Hs. unfold Rdiv at 1. rewrite <- exp_Ropp, <- exp_plus. f_equal. field. lra. Qed.

Lemma upto_test a : test (upto a).
Proof. intros x. unfold upto. destruct (Rle_dec x a); lra. Qed.

Lemma exp_le_inv x y : exp x <= exp y -> x <= y.
Proof. intros H. apply Rnot_lt_le. intros N. apply exp_increasing in N. lra. Qed.

Lemma normal_gdp s N m m' : 0 < s -> normal_law s N -> gdp_cost ((m - m') * (m - m') / (s * s)) (N m) (N m').
Proof.
  intros Hs [HP HL] f z Hf Hz. set (density := fun m x => exp (- ((x - m) / s) ^ 2 / 2)) in *.
  assert (Hss : 0 < s * s) by nra.
  assert (Hmu : sqrt ((m - m') * (m - m') / (s * s)) = Rabs (m - m') / s).
  { replace ((m - m') * (m - m') / (s * s)) with (Rsqr ((m - m') / s)) by (unfold Rsqr; field; lra).
    rewrite sqrt_Rsqr_abs. unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ s)); auto.
    apply Rle_ge. left. apply Rinv_0_lt_compat; auto. }
  rewrite Hmu. destruct (Rtotal_order m m') as [Hm|[Hm|Hm]].
  - (* m < m': reject for small values *)
    rewrite Rabs_left by lra. set (a := m' + s * z).
    set (t := exp ((m - m') * (2 * a - m - m') / (2 * (s * s)))).
    assert (Ht : 0 < t) by apply exp_pos.
    pose proof (most_powerful N density m m' t (upto a) HL Ht) as NP.
    assert (G : N m f - t * N m' f <= N m (upto a) - t * N m' (upto a)).
    { apply NP; auto.
      - intros x. split; apply exp_pos.
      - intros x. unfold upto. destruct (Rle_dec x a); auto.
      - intros x E. unfold upto in E. destruct (Rle_dec x a) as [Hx|]; [|lra]. unfold density. rewrite normal_ratio by auto.
        unfold t. apply exp_le. unfold Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|]. nra.
      - intros x E. unfold upto in E. destruct (Rle_dec x a) as [|Hx]; [lra|]. unfold density. rewrite normal_ratio by auto.
        unfold t. apply exp_le. unfold Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|]. nra. }
    rewrite !HP in G. replace ((a - m') / s) with z in G by (unfold a; field; lra).
    replace ((a - m) / s) with (z + - (m - m') / s) in G by (unfold a; field; lra). nra.
  - subst. replace (Rabs (m' - m') / s) with 0 by (rewrite Rminus_diag_eq, Rabs_R0 by auto; field; lra). rewrite Rplus_0_r; auto.
  - (* m > m': reject for large values *)
    rewrite Rabs_right by lra. set (a := m' - s * z).
    set (t := exp ((m - m') * (2 * a - m - m') / (2 * (s * s)))).
    assert (Ht : 0 < t) by apply exp_pos.
    assert (G : N m f - t * N m' f <= N m (fun x => 1 - upto a x) - t * N m' (fun x => 1 - upto a x)).
    { apply (most_powerful N density m m' t (fun x => 1 - upto a x) HL Ht); auto.
      - intros x. split; apply exp_pos.
      - intros x. unfold upto. destruct (Rle_dec x a); lra.
      - intros x E. unfold upto in E. destruct (Rle_dec x a) as [|Hx]; [lra|]. unfold density. rewrite normal_ratio by auto.
        unfold t. apply exp_le. unfold Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|]. nra.
      - intros x E. unfold upto in E. destruct (Rle_dec x a) as [Hx|]; [|lra]. unfold density. rewrite normal_ratio by auto.
        unfold t. apply exp_le. unfold Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|]. nra. }
    rewrite !E_minus in G by apply upto_test. rewrite !HP, <- !Phi_opp in G.
    replace (- ((a - m') / s)) with z in G by (unfold a; field; lra).
    replace (- ((a - m) / s)) with (z + (m - m') / s) in G by (unfold a; field; lra). nra.
Qed.

Lemma gdp_nothing A (P : law A) : gdp_cost 0 P P.
Proof. apply gdp_free, same_refl. Qed.

Lemma gdp_each {T A} (F G : T -> law A) c l : (forall t, In t l -> 0 <= c t /\ gdp_cost (c t) (F t) (G t)) ->
  gdp_cost (total c l) (each (map F l)) (each (map G l)).
Proof.
  induction l as [|t l IH]; intros HC; cbn [map each total]; [apply gdp_nothing|].
  apply gdp_composes; [apply HC; left; auto | apply total_nonneg; intros a Ha; apply HC; right; auto | apply HC; left; auto|].
  intros x. apply gdp_post. apply IH. intros; apply HC; right; auto.
Qed.
