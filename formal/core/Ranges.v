(** Bounded range costs η²/8 in zCDP, by Hoeffding's lemma; so does a pure pair, whose range is the sum of both bounds. *)
Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From DP.base Require Import Laws Normal.
From DP Require Import Definitions.
From DP.core Require Import Powers Costs.
Open Scope R_scope.

Section Hoeffding.
  Variable p : R.
  Hypothesis Hp : 0 <= p <= 1.
  Let m x := 1 - p + p * exp x.
  Let tilted x := p * exp x / m x.

  Lemma mass_pos x : 0 < m x.
  Proof. unfold m. pose proof (exp_pos x). destruct (Req_dec p 1) as [->|]; nra. Qed.

  Lemma tilted_derive x : is_derive tilted x (tilted x * (1 - tilted x)).
  Proof.
    pose proof (mass_pos x) as Hm. unfold tilted, m in *. auto_derive; [lra|]. field. lra.
  Qed.

  Lemma hoeffding_slope x : is_derive (fun x => p + x / 4 - tilted x) x (1 / 4 - tilted x * (1 - tilted x)).
  Proof.
    apply (derive_eq _ _ (0 + / 4 - tilted x * (1 - tilted x))); [|lra].
    apply (is_derive_minus (fun x => p + x / 4) tilted); [|apply tilted_derive].
    auto_derive; auto. lra.
  Qed.

  Lemma hoeffding_gap x : is_derive (fun x => p * x + x * x / 8 - ln (m x)) x (p + x / 4 - tilted x).
  Proof.
    pose proof (mass_pos x) as Hm. unfold tilted, m in *. auto_derive; [lra|]. field. lra.
  Qed.

  Lemma slope_zero : p + 0 / 4 - tilted 0 = 0.
  Proof. unfold tilted, m. rewrite exp_0. field. lra. Qed.

  Lemma gap_zero : p * 0 + 0 * 0 / 8 - ln (m 0) = 0.
  Proof. unfold m. rewrite exp_0. replace (1 - p + p * 1) with 1 by ring. rewrite ln_1. lra. Qed.

  Lemma slope_up x y : x <= y -> p + x / 4 - tilted x <= p + y / 4 - tilted y.
  Proof.
    intros Hxy. apply (grows (fun x => p + x / 4 - tilted x) (fun x => 1 / 4 - tilted x * (1 - tilted x)) x y); auto.
    - intros z _. apply hoeffding_slope.
    - intros z _. assert (0 <= (tilted z - 1 / 2) * (tilted z - 1 / 2)) by apply Rle_0_sqr. lra.
  Qed.

  Lemma hoeffding_ln x : ln (m x) <= p * x + x * x / 8.
  Proof.
    assert (0 <= p * x + x * x / 8 - ln (m x)); [|lra]. rewrite <- gap_zero.
    destruct (Rle_dec 0 x) as [Hx|Hx].
    - apply (grows (fun x => p * x + x * x / 8 - ln (m x)) (fun x => p + x / 4 - tilted x) 0 x); auto.
      + intros z _. apply hoeffding_gap.
      + intros z Hz. rewrite <- slope_zero. apply slope_up; lra.
    - assert (G : - (p * x + x * x / 8 - ln (m x)) <= - (p * 0 + 0 * 0 / 8 - ln (m 0))); [|lra].
      apply (grows (fun x => - (p * x + x * x / 8 - ln (m x))) (fun x => - (p + x / 4 - tilted x)) x 0); [|intros z Hz|lra].
      + intros z _. apply (is_derive_opp (fun x => p * x + x * x / 8 - ln (m x))). apply hoeffding_gap.
      + pose proof (slope_up z 0 ltac:(lra)). rewrite slope_zero in H. lra.
  Qed.

  Lemma hoeffding x : 1 - p + p * exp x <= exp (p * x + x * x / 8).
  Proof. fold (m x). rewrite <- (exp_ln (m x)) by apply mass_pos. apply exp_le, hoeffding_ln. Qed.
End Hoeffding.

(* ---------------------------------------------------------------- two points *)

Lemma two_holder theta x1 x2 q1 q2 t1 t2 : 1 < theta -> 0 <= x1 -> 0 <= x2 -> 0 < q1 -> 0 < q2 -> 0 < t1 -> 0 < t2 ->
  let alpha := theta / (theta - 1) in
  q1 * x1 * t1 + q2 * x2 * t2 <=
  power (q1 * power x1 theta + q2 * power x2 theta) (1 / theta) * power (q1 * power t1 alpha + q2 * power t2 alpha) (1 - 1 / theta).
Proof.
  intros Ht H1 H2 Hq1 Hq2 Ht1 Ht2 alpha. pose proof (one_minus_inv theta Ht) as Hi.
  set (S := q1 * power x1 theta + q2 * power x2 theta). set (M := q1 * power t1 alpha + q2 * power t2 alpha).
  pose proof (power_nonneg x1 theta). pose proof (power_nonneg x2 theta).
  pose proof (power_gt0 t1 alpha Ht1) as T1. pose proof (power_gt0 t2 alpha Ht2) as T2.
  assert (HM : 0 < M) by (unfold M; nra).
  assert (HS : 0 <= S) by (unfold S; nra). destruct HS as [HS|HS].
  2: { assert (power x1 theta = 0) by (unfold S in HS; nra). assert (power x2 theta = 0) by (unfold S in HS; nra).
       assert (Z : forall x, 0 <= x -> power x theta = 0 -> x = 0).
       { intros x Hx Hz. rewrite <- (power_inv x theta) by lra. rewrite Hz. apply power_0. }
       rewrite (Z x1), (Z x2) by auto. rewrite <- HS, power_0. lra. }
  set (i := 1 / theta) in *.
  assert (Hone : forall q x t, 0 <= x -> 0 < q -> 0 < t -> 0 < power t alpha ->
    q * x * t <= power (S / M) i * (i * (q * power x theta * (M / S)) + (1 - i) * (q * power t alpha))).
  { intros q x t Hx Hq Htt HT. pose proof (power_nonneg x theta).
    assert (Hs : 0 < S / M * power t alpha) by (apply Rmult_lt_0_compat; [apply Rdiv_lt_0_compat|]; auto).
    pose proof (young theta (power x theta) (S / M * power t alpha) Ht ltac:(auto) Hs) as Y. fold i in Y.
    replace (power (power x theta) i) with x in Y by (unfold i; rewrite power_inv; auto; lra).
    rewrite power_mult in Y by (try (left; apply Rdiv_lt_0_compat); lra).
    replace (power (power t alpha) i) with (power t alpha / t) in Y.
    2: { rewrite power_power. rewrite !power_pos by auto. replace (alpha * i) with (alpha + - (1)).
         2: { unfold alpha, i. field. lra. }
         rewrite Rpower_plus, Rpower_Ropp, Rpower_1 by auto. reflexivity. }
    apply Rmult_le_compat_l with (r := q * t) in Y; [|nra].
    replace (q * t * x) with (q * x * t) in Y by ring. apply Rle_trans with (1 := Y). right. field. lra. }
  pose proof (Hone q1 x1 t1 H1 Hq1 Ht1 T1) as A. pose proof (Hone q2 x2 t2 H2 Hq2 Ht2 T2) as B.
  apply Rle_trans with (power (S / M) i * M).
  - apply Rle_trans with (power (S / M) i * (i * (S * (M / S)) + (1 - i) * M)).
    + set (K := power (S / M) i) in *. set (R0 := M / S) in *. unfold S, M. lra.
    + right. f_equal. field. lra.
  - right. rewrite !power_pos by (auto; apply Rdiv_lt_0_compat; auto). unfold Rdiv.
    rewrite <- Rpower_mult_distr by (auto; apply Rinv_0_lt_compat; auto).
    rewrite <- (Rpower_1 M HM) at 2. rewrite Rmult_assoc. f_equal.
    replace (Rpower (/ M) i) with (Rpower M (- i)).
    + rewrite <- Rpower_plus. f_equal. lra.
    + unfold Rpower. rewrite ln_Rinv by auto. f_equal. ring.
Qed.

(* ---------------------------------------------------------------- laws between two *)

Program Definition between {A} (P Q : law A) (a b : R) (Hab : a + b = 1) (Hpos : forall f, test f -> 0 <= a * P f + b * Q f) : law A :=
  {| E := fun f => a * P f + b * Q f |}.
Next Obligation.
  assert (T : test (fun x => g x - f x)) by (intros x; specialize (H x); specialize (H0 x); specialize (H1 x); lra).
  assert (D : forall L : law A, L g = L f + L (fun x => g x - f x)).
  { intros L. rewrite <- E_plus; auto.
    - apply E_ext. intros; ring.
    - intros x. replace (f x + (g x - f x)) with (g x) by ring. auto. }
  rewrite !(D P), !(D Q). specialize (Hpos _ T). lra.
Qed.
Next Obligation. rewrite !E_const by auto. rewrite <- Rmult_plus_distr_r, Hab. ring. Qed.
Next Obligation. rewrite !E_plus by auto. ring. Qed.
Next Obligation. rewrite !E_scale by auto. ring. Qed.

Section Range.
  Context {A : Type} (P Q : law A) (c eta : R).
  Hypothesis Hr : forall f, test f -> exp c * P f <= Q f <= exp (c + eta) * P f.

  Lemma range_ends : c <= 0 <= c + eta.
  Proof.
    pose proof (Hr (fun _ => 1) ltac:(intros x; lra)) as H. rewrite !E_const in H by lra. rewrite !Rmult_1_r in H.
    split; apply Rnot_lt_le; intros N.
    - apply exp_increasing in N. rewrite exp_0 in N. lra.
    - apply exp_increasing in N. rewrite exp_0 in N. lra.
  Qed.

  (** One that is never less likely is as likely. *)
  Lemma dominated_same : (forall f, test f -> P f <= Q f) -> same P Q.
  Proof.
    intros H f Hf. pose proof (H f Hf). pose proof (H _ (test_minus f Hf)). rewrite !E_minus in H1 by auto. lra.
  Qed.

  Lemma range_renyi theta : 1 < theta -> renyi_cost theta (theta / (theta - 1) * (eta * eta / 8)) P Q.
  Proof.
    intros Ht. destruct range_ends as [[Hc|Hc] [He|He]].
    2: { apply (renyi_grows theta Ht 0).
         - split; [lra|]. apply Rmult_le_pos; [left; apply Rdiv_lt_0_compat; lra | nra].
         - apply renyi_free; auto. intros f Hf. symmetry. revert f Hf. 
           assert (forall f, test f -> Q f <= P f).
           { intros f Hf. pose proof (Hr f Hf). rewrite <- He, exp_0 in H. lra. }
           intros f Hf. pose proof (H f Hf). pose proof (H _ (test_minus f Hf)). rewrite !E_minus in H1 by auto. lra. }
    2, 3: (apply (renyi_grows theta Ht 0);
         [split; [lra|]; apply Rmult_le_pos; [left; apply Rdiv_lt_0_compat; lra | nra] |
          apply renyi_free; auto; apply dominated_same; intros f Hf; pose proof (Hr f Hf) as H; rewrite Hc, exp_0 in H; lra]).
    intros f Hf.
    assert (Ec : exp c < 1) by (rewrite <- exp_0; apply exp_increasing; auto).
    assert (Ee : 1 < exp (c + eta)) by (rewrite <- exp_0; apply exp_increasing; auto).
    pose proof (exp_pos c) as Pc.
    assert (HA0 : forall g, test g -> 0 <= - exp c / (1 - exp c) * P g + 1 / (1 - exp c) * Q g).
    { intros g Hg. destruct (Hr g Hg). replace (- exp c / (1 - exp c) * P g + 1 / (1 - exp c) * Q g) with ((Q g - exp c * P g) / (1 - exp c)) by (field; lra).
      apply Rdiv_le_0_compat; lra. }
    assert (HB0 : forall g, test g -> 0 <= exp (c + eta) / (exp (c + eta) - 1) * P g + - (1) / (exp (c + eta) - 1) * Q g).
    { intros g Hg. destruct (Hr g Hg). replace (exp (c + eta) / (exp (c + eta) - 1) * P g + - (1) / (exp (c + eta) - 1) * Q g) with ((exp (c + eta) * P g - Q g) / (exp (c + eta) - 1)) by (field; lra).
      apply Rdiv_le_0_compat; lra. }
    set (LA := between P Q (- exp c / (1 - exp c)) (1 / (1 - exp c)) ltac:(field; lra) HA0).
    set (LB := between P Q (exp (c + eta) / (exp (c + eta) - 1)) (- (1) / (exp (c + eta) - 1)) ltac:(field; lra) HB0).
    set (w := (1 - exp c) / (exp (c + eta) - exp c)).
    assert (Hw : 0 < w < 1).
    { unfold w. split; [apply Rdiv_lt_0_compat; lra|]. apply Rmult_lt_reg_r with (exp (c + eta) - exp c); [lra|].
      unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    assert (DP : forall g, P g = w * LA g + (1 - w) * LB g) by (intros g; simpl; unfold w; field; lra).
    assert (DQ : forall g, Q g = w * exp (c + eta) * LA g + (1 - w) * exp c * LB g) by (intros g; simpl; unfold w; field; lra).
    pose proof (E_test LA f Hf) as HA. pose proof (E_test LB f Hf) as HB.
    assert (Hft : test (fun a => power (f a) theta)) by (apply power_test; auto; lra).
    assert (J : forall L : law A, power (L f) theta <= L (fun a => power (f a) theta)).
    { intros L. pose proof (E_test L f Hf). pose proof (E_test L _ Hft). pose proof (mean_le L f theta Ht Hf).
      rewrite <- (power_inv' (L (fun a => power (f a) theta)) theta) by lra. apply power_mono; lra. }
    set (alpha := theta / (theta - 1)). set (s := 1 / (theta - 1)).
    assert (Hs : 0 < s) by (apply Rdiv_lt_0_compat; lra).
    assert (Has : alpha = s + 1) by (unfold alpha, s; field; lra).
    pose proof (one_minus_inv theta Ht) as Hi.
    assert (Hia : 1 - 1 / theta = 1 / alpha) by (unfold alpha; field; lra).
    pose proof (exp_pos (c + eta)) as Pe.
    pose proof (two_holder theta (LA f) (LB f) (w * exp (c + eta)) ((1 - w) * exp c) (exp (- (c + eta))) (exp (- c)) Ht
      ltac:(lra) ltac:(lra) ltac:(nra) ltac:(nra) (exp_pos _) (exp_pos _)) as Hold. cbv zeta in Hold. fold alpha in Hold.
    assert (E1 : exp (c + eta) * exp (- (c + eta)) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
    assert (E2 : exp c * exp (- c) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
    replace (w * exp (c + eta) * LA f * exp (- (c + eta)) + (1 - w) * exp c * LB f * exp (- c)) with (P f) in Hold.
    2: { rewrite DP. replace (w * exp (c + eta) * LA f * exp (- (c + eta))) with (w * LA f * (exp (c + eta) * exp (- (c + eta)))) by ring.
         replace ((1 - w) * exp c * LB f * exp (- c)) with ((1 - w) * LB f * (exp c * exp (- c))) by ring. rewrite E1, E2. ring. }
    apply Rle_trans with (1 := Hold). rewrite Rmult_comm.
    apply Rmult_le_compat; try apply power_nonneg.
    - (* the moment *)
      assert (HM : w * exp (c + eta) * power (exp (- (c + eta))) alpha + (1 - w) * exp c * power (exp (- c)) alpha
        <= exp (s * alpha * (eta * eta / 8))).
      { rewrite !power_exp.
        replace (w * exp (c + eta) * exp (alpha * - (c + eta)) + (1 - w) * exp c * exp (alpha * - c))
          with (exp (- (s * c)) * (1 - w + w * exp (- (s * eta)))).
        2: { rewrite Has.
             replace (w * exp (c + eta) * exp ((s + 1) * - (c + eta))) with (w * (exp (c + eta) * exp ((s + 1) * - (c + eta)))) by ring.
             replace ((1 - w) * exp c * exp ((s + 1) * - c)) with ((1 - w) * (exp c * exp ((s + 1) * - c))) by ring.
             rewrite <- !exp_plus. replace (c + eta + (s + 1) * - (c + eta)) with (- (s * c) + - (s * eta)) by ring.
             replace (c + (s + 1) * - c) with (- (s * c)) by ring. rewrite exp_plus. ring. }
        pose proof (hoeffding w ltac:(lra) (- (s * eta))) as H1. pose proof (hoeffding w ltac:(lra) eta) as H2.
        assert (Hn : exp (- c) <= exp (w * eta + eta * eta / 8)).
        { apply Rle_trans with (2 := H2). right. apply Rmult_eq_reg_l with (exp c); [|lra]. rewrite E2.
          replace (exp c * (1 - w + w * exp eta)) with (exp c - w * exp c + w * (exp c * exp eta)) by ring.
          rewrite <- exp_plus. unfold w. field. lra. }
        assert (Hc' : - c <= w * eta + eta * eta / 8).
        { apply Rnot_lt_le. intros N. apply exp_increasing in N. lra. }
        apply Rle_trans with (exp (- (s * c)) * exp (w * - (s * eta) + - (s * eta) * - (s * eta) / 8)).
        - apply Rmult_le_compat_l; [left; apply exp_pos | auto].
        - rewrite <- exp_plus. apply exp_le. rewrite Has. nra. }
      rewrite Hia. apply Rle_trans with (power (exp (s * alpha * (eta * eta / 8))) (1 / alpha)).
      + apply power_mono; [rewrite <- Hia; lra|]. split; auto.
        apply Rplus_le_le_0_compat; apply Rmult_le_pos; try apply power_nonneg; nra.
      + rewrite power_exp. apply exp_le. right. fold alpha. unfold s, alpha. field. lra.
    - apply power_mono; [lra|]. rewrite DQ. pose proof (J LA). pose proof (J LB).
      pose proof (power_nonneg (LA f) theta). pose proof (power_nonneg (LB f) theta).
      assert (0 < w * exp (c + eta)) by nra. assert (0 < (1 - w) * exp c) by nra. split; nra.
  Qed.
End Range.

Lemma range_zcdp {A} (P Q : law A) c eta : (forall f, test f -> exp c * P f <= Q f <= exp (c + eta) * P f) -> zcdp_cost (eta * eta / 8) P Q.
Proof. intros Hr theta Ht. apply (range_renyi P Q c eta Hr theta Ht). Qed.

Lemma pure_zcdp {A} (P Q : law A) a b : pure_cost a P Q -> pure_cost b Q P -> zcdp_cost ((a + b) * (a + b) / 8) P Q.
Proof.
  intros H1 H2. apply (range_zcdp P Q (- a)). intros f Hf. replace (- a + (a + b)) with b by ring. split; [|apply H2; auto].
  specialize (H1 f Hf). apply Rmult_le_compat_l with (r := exp (- a)) in H1; [|left; apply exp_pos].
  rewrite <- Rmult_assoc, <- exp_plus, Rplus_opp_l, exp_0 in H1. lra.
Qed.
