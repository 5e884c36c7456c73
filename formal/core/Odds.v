(** The logarithm of the odds of a normal number below t; bounded range under Gaussian differential privacy.

    A pair of bounded range η moves the logarithm of the odds of an event by at most η.  A Gaussian pair moves it
    least where the event is as likely on the one side as it is unlikely on the other ([odds_gap]): so the pair is μ-GDP
    where η/2 is at most the odds at μ/2 ([range_gdp]).  Squares of μ bear being shared out in proportion to η
    ([odds_share]): so a budget of η is a budget of μ². *)
Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From DP.base Require Import Laws Normal.
From DP Require Import Definitions.
From DP.core Require Import Costs.
Open Scope R_scope.

Definition odds (t : R) : R := ln (Phi t) - ln (1 - Phi t).
Definition rise_of (t : R) : R := phi t / (Phi t * (1 - Phi t)).
Definition rise_of' (t : R) : R := rise_of t * (- t + phi t * (2 * Phi t - 1) / (Phi t * (1 - Phi t))).

Lemma spread_pos t : 0 < Phi t * (1 - Phi t).
Proof. pose proof (Phi_range t). apply Rmult_lt_0_compat; lra. Qed.

Lemma rise_of_pos t : 0 < rise_of t.
Proof. apply Rdiv_lt_0_compat; [apply phi_pos | apply spread_pos]. Qed.

Lemma rise_of_even t : rise_of (- t) = rise_of t.
Proof. unfold rise_of. rewrite phi_even, Phi_opp. f_equal. ring. Qed.

Lemma odds_odd t : odds (- t) = - odds t.
Proof. unfold odds. rewrite Phi_opp. replace (1 - (1 - Phi t)) with (Phi t) by ring. ring. Qed.

Lemma odds_0 : odds 0 = 0.
Proof. unfold odds. rewrite Phi_0. replace (1 - 1 / 2) with (1 / 2) by lra. ring. Qed.

Lemma odds_derive t : is_derive odds t (rise_of t).
Proof.
  pose proof (Phi_range t) as R. unfold odds.
  apply (derive_eq _ _ (phi t * / Phi t - (- phi t) * / (1 - Phi t))).
  - apply (is_derive_minus (fun t => ln (Phi t)) (fun t => ln (1 - Phi t))).
    + apply (is_derive_comp ln Phi); [apply is_derive_ln; lra | apply Phi_derive].
    + apply (is_derive_comp ln (fun t => 1 - Phi t)); [apply is_derive_ln; lra|].
      apply (derive_eq _ _ (0 - phi t)); [|inR; ring].
      apply (is_derive_minus (fun _ => 1) Phi); [apply (is_derive_const (V := R_NormedModule)) | apply Phi_derive].
  - unfold rise_of. inR. field. lra.
Qed.

Lemma spread_derive t : is_derive (fun t => Phi t * (1 - Phi t)) t (phi t * (1 - 2 * Phi t)).
Proof.
  apply (derive_eq _ _ (phi t * (1 - Phi t) + Phi t * (0 - phi t))); [|inR; ring].
  apply (is_derive_mult Phi (fun t => 1 - Phi t)); [apply Phi_derive | | intros; apply Rmult_comm].
  apply (is_derive_minus (fun _ => 1) Phi); [apply (is_derive_const (V := R_NormedModule)) | apply Phi_derive].
Qed.

Lemma rise_of_derive t : is_derive rise_of t (rise_of' t).
Proof.
  pose proof (spread_pos t) as HS. pose proof (Phi_range t) as HP. unfold rise_of.
  apply (derive_eq _ _ ((- t * phi t * (Phi t * (1 - Phi t)) - phi t * (phi t * (1 - 2 * Phi t))) / (Phi t *
    (1 - Phi t)) ^ 2)).
  - apply (is_derive_div phi (fun t => Phi t * (1 - Phi t))); [apply phi_derive | apply spread_derive | lra].
  - unfold rise_of', rise_of. inR. field. lra.
Qed.

(* ---------------------------------------------------------------- what fades is above 0 if it falls *)

Lemma phi_hill y : phi y <= hill y.
Proof.
  assert (1 <= sqrt (2 * PI)).
  { rewrite <- sqrt_1. apply sqrt_le_1_alt. pose proof PI2_3_2. lra. }
  assert (0 < hill y) by apply exp_pos. unfold phi. fold (hill y).
  apply Rmult_le_reg_r with (sqrt (2 * PI)); [apply root_pos|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra.
Qed.

Lemma fading f t : 0 <= t -> (forall y, t <= y -> f y <= f t) -> (forall y, t <= y -> - hill y <= f y) -> 0 <= f t.
Proof.
  intros Ht Hd Hl. apply le_epsilon. intros e He. destruct (hill_small e He) as [z [Hz Hs]].
  pose proof (Rmax_l t z). pose proof (Rmax_r t z). specialize (Hd (Rmax t z) ltac:(auto)).
  specialize (Hl (Rmax t z) ltac:(auto)). specialize (Hs (Rmax t z) ltac:(auto)). lra.
Qed.

Lemma falls f g a b : (forall z, a <= z <= b -> is_derive f z (g z)) -> (forall z, a <= z <= b -> g z <= 0) ->
  a <= b -> f b <= f a.
Proof.
  intros Hf Hg Hab. assert (- f a <= - f b); [|lra].
  apply (grows (fun z => - f z) (fun z => - g z)); auto.
  - intros z Hz. apply (is_derive_opp f z). auto.
  - intros z Hz. specialize (Hg z Hz). lra.
Qed.

(** Mills' ratio from below. *)
Lemma mills_low t : 0 <= t -> phi t * t <= (1 + t * t) * (1 - Phi t).
Proof.
  intros Ht. assert (H : 0 <= 1 - Phi t - phi t * (t / (1 + t * t))).
  2: { apply Rmult_le_compat_l with (r := 1 + t * t) in H; [|nra].
       replace ((1 + t * t) * (1 - Phi t - phi t * (t / (1 + t * t)))) with ((1 + t * t) *
         (1 - Phi t) - phi t * t) in H by (field; nra). lra. }
  apply (fading (fun t => 1 - Phi t - phi t * (t / (1 + t * t)))); auto.
  - intros y Hy. apply (falls (fun t => 1 - Phi t - phi t * (t / (1 + t * t))) (fun t => - (2 * phi t /
    (1 + t * t) ^ 2))); auto.
    + intros z _. assert (0 < 1 + z * z) by nra.
      apply (derive_eq _ _ (0 - phi z - (- z * phi z * (z / (1 + z * z)) + phi z * ((1 * (1 + z * z) - z *
        (2 * z)) / (1 + z * z) ^ 2)))).
      * apply (is_derive_minus (fun t => 1 - Phi t) (fun t => phi t * (t / (1 + t * t)))).
        -- apply (is_derive_minus (fun _ => 1) Phi);
          [apply (is_derive_const (V := R_NormedModule)) | apply Phi_derive].
        -- apply (is_derive_mult phi (fun t => t / (1 + t * t))); [apply phi_derive | | intros; apply Rmult_comm].
           apply (is_derive_div (fun t => t) (fun t => 1 + t * t));
             [apply (is_derive_id (K := R_AbsRing)) | auto_derive; auto; inR; ring | lra].
      * inR. field. lra.
    + intros z _. pose proof (phi_pos z). assert (0 < (1 + z * z) ^ 2) by (apply pow_lt; nra).
      assert (0 < 2 * phi z / (1 + z * z) ^ 2) by (apply Rdiv_lt_0_compat; lra). lra.
  - intros y Hy. pose proof (Phi_range y). pose proof (phi_hill y). pose proof (phi_pos y).
    assert (y / (1 + y * y) <= 1).
    { apply Rmult_le_reg_r with (1 + y * y); [nra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by nra. nra. }
    assert (phi y * (y / (1 + y * y)) <= phi y) by nra. lra.
Qed.

Lemma Phi_above t : 0 <= t -> t * phi t <= Phi t - 1 / 2.
Proof.
  intros Ht. assert (Phi 0 - 0 * phi 0 <= Phi t - t * phi t); [|rewrite Phi_0 in H; lra].
  apply (grows (fun t => Phi t - t * phi t) (fun t => t * t * phi t)); auto.
  - intros z _. apply (derive_eq _ _ (phi z - (1 * phi z + z * (- z * phi z)))); [|inR; ring].
    apply (is_derive_minus Phi (fun t => t * phi t)); [apply Phi_derive|].
    apply (is_derive_mult (fun t => t) phi); [apply (is_derive_id (K := R_AbsRing)) | apply phi_derive | intros;
      apply Rmult_comm].
  - intros z _. pose proof (phi_pos z). assert (0 <= z * z) by apply Rle_0_sqr. nra.
Qed.

Lemma Phi_half t : 0 <= t -> 1 / 2 <= Phi t.
Proof. intros Ht. rewrite <- Phi_0. apply Phi_le; auto. Qed.

Lemma spread_most t : 0 < t -> t * (Phi t * (1 - Phi t)) <= phi t * (2 * Phi t - 1).
Proof.
  intros Ht. assert (H : 0 <= phi t * (2 * Phi t - 1) / t - Phi t * (1 - Phi t)).
  2: { apply Rmult_le_compat_l with (r := t) in H; [|lra].
       replace (t * (phi t * (2 * Phi t - 1) / t - Phi t * (1 - Phi t))) with (phi t * (2 * Phi t - 1) - t *
         (Phi t * (1 - Phi t))) in H by (field; lra). lra. }
  apply (fading (fun t => phi t * (2 * Phi t - 1) / t - Phi t * (1 - Phi t))); [lra| |].
  - intros y Hy. apply (falls (fun t => phi t * (2 * Phi t - 1) / t - Phi t * (1 - Phi t))
      (fun t => 2 * phi t * (t * phi t - (Phi t - 1 / 2)) / (t * t))); auto.
    + intros z Hz.
      apply (derive_eq _ _ (((- z * phi z * (2 * Phi z - 1) + phi z * (2 * phi z - 0)) * z - phi z *
        (2 * Phi z - 1) * 1) / z ^ 2 - phi z * (1 - 2 * Phi z))).
      * apply (is_derive_minus (fun t => phi t * (2 * Phi t - 1) / t) (fun t => Phi t * (1 - Phi t)));
        [|apply spread_derive].
        apply (is_derive_div (fun t => phi t * (2 * Phi t - 1)) (fun t => t));
          [|apply (is_derive_id (K := R_AbsRing)) | lra].
        apply (is_derive_mult phi (fun t => 2 * Phi t - 1)); [apply phi_derive | | intros; apply Rmult_comm].
        apply (is_derive_minus (fun t => 2 * Phi t) (fun _ => 1)); [|apply (is_derive_const (V := R_NormedModule))].
        apply is_derive_scal, Phi_derive.
      * inR. field. lra.
    + intros z Hz. pose proof (Phi_above z ltac:(lra)). pose proof (phi_pos z).
      apply Rmult_le_reg_r with (z * z); [nra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by nra. nra.
  - intros y Hy. pose proof (Phi_range y). pose proof (Phi_upper y ltac:(lra)). pose proof (phi_pos y).
    pose proof (Phi_half y ltac:(lra)).
    assert (0 <= phi y * (2 * Phi y - 1) / y) by (apply Rdiv_le_0_compat; [nra | lra]). nra.
Qed.

Lemma rise_of_up x y : 0 <= x <= y -> rise_of x <= rise_of y.
Proof.
  intros [Hx Hxy]. apply (grows rise_of rise_of'); auto; intros z Hz; [apply rise_of_derive|].
  unfold rise_of'. pose proof (rise_of_pos z). apply Rmult_le_pos; [lra|].
  assert (Hz0 : 0 <= z) by lra. pose proof (Phi_half z Hz0). pose proof (phi_pos z).
    pose proof (spread_pos z) as HS. destruct Hz0 as [Hz0|<-].
  - pose proof (spread_most z Hz0) as HM. assert (z <= phi z * (2 * Phi z - 1) / (Phi z * (1 - Phi z))); [|lra].
    apply Rmult_le_reg_r with (Phi z * (1 - Phi z)); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
  - rewrite Ropp_0, Rplus_0_l. apply Rdiv_le_0_compat; [|auto]. nra.
Qed.

(* ---------------------------------------------------------------- the least rise over a stretch *)

Lemma odds_moved_derive s w : is_derive (fun w => odds (w + s)) w (rise_of (w + s)).
Proof.
  apply (derive_eq _ _ (1 * rise_of (w + s))); [|inR; ring].
  apply (is_derive_comp odds (fun w => w + s)); [apply odds_derive | auto_derive; auto].
Qed.

Lemma odds_gap_up t w : 0 <= t -> 0 <= w -> 2 * odds t <= odds (w + t) - odds (w + - t).
Proof.
  intros Ht Hw. assert (G : odds (0 + t) - odds (0 + - t) <= odds (w + t) - odds (w + - t)).
  2: { rewrite !Rplus_0_l, odds_odd in G. lra. }
  apply (grows (fun w => odds (w + t) - odds (w + - t)) (fun w => rise_of (w + t) - rise_of (w + - t))); auto;
    intros z Hz.
  - apply (is_derive_minus (fun w => odds (w + t)) (fun w => odds (w + - t))); apply odds_moved_derive.
  - assert (rise_of (z + - t) <= rise_of (z + t)); [|lra]. destruct (Rle_dec 0 (z + - t)).
    + apply rise_of_up; lra.
    + rewrite <- (rise_of_even (z + - t)). apply rise_of_up; lra.
Qed.

Lemma odds_gap t z : 0 <= t -> 2 * odds t <= odds (z + 2 * t) - odds z.
Proof.
  intros Ht. destruct (Rle_dec 0 (z + t)) as [H|H].
  - pose proof (odds_gap_up t (z + t) Ht H) as G. replace (z + t + t) with (z + 2 * t) in G by ring.
    replace (z + t + - t) with z in G by ring. auto.
  - pose proof (odds_gap_up t (- (z + t)) Ht ltac:(lra)) as G.
    replace (- (z + t) + t) with (- z) in G by ring. replace (- (z + t) + - t) with (- (z + 2 * t)) in G by ring.
    rewrite !odds_odd in G. lra.
Qed.

(* ---------------------------------------------------------------- shares *)

Lemma odds_twice t : 0 <= t -> t * rise_of t <= 2 * odds t.
Proof.
  intros Ht. assert (H : 2 * odds 0 - 0 * rise_of 0 <= 2 * odds t - t * rise_of t); [|rewrite odds_0 in H; lra].
  apply (grows (fun t => 2 * odds t - t * rise_of t) (fun t => rise_of t - t * rise_of' t)); auto; intros z Hz.
  - apply (derive_eq _ _ (2 * rise_of z - (1 * rise_of z + z * rise_of' z))); [|inR; ring].
    apply (is_derive_minus (fun t => 2 * odds t) (fun t => t * rise_of t)); [apply is_derive_scal, odds_derive|].
    apply (is_derive_mult (fun t => t) rise_of);
      [apply (is_derive_id (K := R_AbsRing)) | apply rise_of_derive | intros; apply Rmult_comm].
  - unfold rise_of'. pose proof (rise_of_pos z) as HR. pose proof (Phi_range z) as HP.
    pose proof (spread_pos z) as HS.
    pose proof (mills_low z ltac:(lra)) as HM. pose proof (phi_pos z).
    set (F := Phi z) in *. set (f := phi z) in *.
    replace (rise_of z - z * (rise_of z * (- z + f * (2 * F - 1) / (F * (1 - F)))))
      with (rise_of z * (((1 + z * z) * (1 - F) * F - f * z * (2 * F - 1)) / (F * (1 - F)))) by (field; lra).
    apply Rmult_le_pos; [lra|]. apply Rdiv_le_0_compat; auto.
    apply Rmult_le_compat_r with (r := F) in HM; [|lra]. assert (0 <= f * z) by nra. nra.
Qed.

Lemma odds_share l t : 0 < l <= 1 -> 0 <= t -> l * odds t <= odds (sqrt l * t).
Proof.
  intros Hl [Ht|<-]. 2: { rewrite Rmult_0_r, odds_0. lra. }
  assert (Hs : 0 < sqrt l) by (apply sqrt_lt_R0; lra). assert (Hss : sqrt l * sqrt l = l) by (apply sqrt_sqrt; lra).
  assert (Hs1 : sqrt l <= 1) by (rewrite <- sqrt_1; apply sqrt_le_1; lra).
  assert (Ha : 0 < sqrt l * t) by (apply Rmult_lt_0_compat; auto).
  assert (G : odds t / (t * t) <= odds (sqrt l * t) / (sqrt l * t * (sqrt l * t))).
  { apply (falls (fun t => odds t / (t * t)) (fun t => (t * rise_of t - 2 * odds t) / (t * t * t))); [| |nra].
    - intros z Hz. assert (0 < z) by lra.
      apply (derive_eq _ _ ((rise_of z * (z * z) - odds z * (1 * z + z * 1)) / (z * z) ^ 2)); [|inR; field; lra].
      apply (is_derive_div odds (fun t => t * t)); [apply odds_derive | | nra].
      auto_derive; auto.
    - intros z Hz. assert (0 < z) by lra. pose proof (odds_twice z ltac:(lra)).
      assert (0 < z * z * z) by (repeat apply Rmult_lt_0_compat; auto).
      apply Rmult_le_reg_r with (z * z * z); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  apply Rmult_le_compat_r with (r := l * (t * t)) in G; [|nra].
  replace (odds t / (t * t) * (l * (t * t))) with (l * odds t) in G by (field; lra).
  replace (sqrt l * t * (sqrt l * t)) with (sqrt l * sqrt l * (t * t)) in G by ring. rewrite Hss in G.
  replace (odds (sqrt l * t) / (l * (t * t)) * (l * (t * t))) with (odds (sqrt l * t)) in G by (field; split; lra).
    auto.
Qed.

(* ---------------------------------------------------------------- pairs of bounded range *)

Lemma odds_less x y : 0 < x < 1 -> 0 < y < 1 -> ln x - ln (1 - x) < ln y - ln (1 - y) -> x < y.
Proof.
  intros Hx Hy H. apply Rnot_le_lt. intros N.
  assert (L : forall a b, 0 < a -> a <= b -> ln a <= ln b) by (intros a b Ha [Hab|<-]; [left; apply ln_increasing;
    auto | lra]).
  pose proof (L y x ltac:(lra) N). pose proof (L (1 - x) (1 - y) ltac:(lra) ltac:(lra)). lra.
Qed.

Theorem range_gdp {A} (P Q : law A) c eta m : 0 <= m -> eta <= 2 * odds (sqrt m / 2) ->
  (forall f, test f -> exp c * P f <= Q f <= exp (c + eta) * P f) -> gdp_cost m P Q.
Proof.
  intros Hm He HR f z Hf Hz. apply Rnot_lt_le. intros N.
  pose proof (sqrt_pos m) as Hmu. set (mu := sqrt m) in *.
  pose proof (HR f Hf) as [R1 _]. pose proof (HR _ (test_minus f Hf)) as [_ R2]. rewrite !E_minus in R2 by auto.
  pose proof (E_test P f Hf) as TP. pose proof (E_test Q f Hf) as TQ.
  pose proof (Phi_range z) as F1. pose proof (Phi_range (z + mu)) as F2.
  pose proof (exp_pos c) as E1. pose proof (exp_pos (c + eta)) as E2.
  set (y := P f) in *. set (x := Q f) in *.
  assert (Hx : 0 < x < 1) by nra. assert (Hy : 0 < y).
  { lra. }
  assert (Hy1 : y < 1) by nra.
  assert (L1 : c + ln y <= ln x).
  { rewrite <- (ln_exp c), <- ln_mult by (auto; lra).
    destruct R1 as [R1| <-]; [left; apply ln_increasing; [nra | auto] | lra]. }
  assert (L2 : ln (1 - x) <= c + eta + ln (1 - y)).
  { rewrite <- (ln_exp (c + eta)), <- ln_mult by (auto; lra).
    destruct R2 as [R2| <-]; [left; apply ln_increasing; [lra | auto] | lra]. }
  pose proof (odds_gap (mu / 2) z ltac:(lra)) as G. replace (z + 2 * (mu / 2)) with (z + mu) in G by field.
  unfold odds in G at 2 3.
  assert (L : forall a b, 0 < a -> a <= b -> ln a <= ln b) by (intros a b Ha [Hab|<-]; [left; apply ln_increasing;
    auto | lra]).
  pose proof (L x (Phi z) ltac:(lra) Hz) as G1. pose proof (L (1 - Phi z) (1 - x) ltac:(lra) ltac:(lra)) as G2.
  assert (G3 : ln (Phi (z + mu)) < ln y) by (apply ln_increasing; lra).
  assert (G4 : ln (1 - y) < ln (1 - Phi (z + mu))) by (apply ln_increasing; lra). lra.
Qed.
