(** Rank-one matrices with their corner: how far two of them are apart where the last number may be above 1.

    Between vectors whose last numbers are at most B in size, the squared distance is at most [height t] for some t in
    [0, B]: the vectors before the last numbers may be taken of length 1, and one of these numbers to be B.  The slope
    of [height] is four times the cubic polynomial that [outer_supremum] follows: where it is negative at all, it is so
    between two roots, of which the first is bracketed by bisection. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool.
From Coquelicot Require Import Hierarchy Derive AutoDerive.
From DP.base Require Import Sums Normal.
From DP Require Import Facts Steps Definitions.
From DP.core Require Import Numbers.
From DP.sensitivity Require Import Infer.
Import ListNotations.
Open Scope R_scope.

Section Heights.
  Variable B : R.
  Hypothesis B1 : 1 < B.

  Definition height t := (1 + B * B) * (1 + B * B) + (1 + t * t) * (1 + t * t) - 2 * ((B * t - 1) * (B * t - 1)).
  Definition slope t := t * (t * t) + (1 - B * B) * t + B.

  Lemma height_tangent s t : height t - height s - 4 * slope s * (t - s)
    = (t - s) * (t - s) * (t * t + 2 * t * s + 3 * (s * s) + 2 - 2 * (B * B)).
  Proof. unfold height, slope. ring. Qed.

  Lemma slope_tangent s t : slope t - slope s - (3 * (s * s) + 1 - B * B) * (t - s) = (t - s) * (t - s) * (t + 2 * s).
  Proof. unfold slope. ring. Qed.

  Lemma height_last : height B = 8 * (B * B). Proof. unfold height. ring. Qed.

  (** Below the turn of the slope the height lies under its tangents, above it over them. *)
  Lemma under_tangent s t : 0 <= s -> 0 <= t -> 3 * (s * s) <= B * B - 1 -> 3 * (t * t) <= B * B - 1 ->
    height t <= height s + 4 * slope s * (t - s).
  Proof.
    intros Hs Ht Es Et. pose proof (height_tangent s t) as E.
    assert (2 * (t * s) <= t * t + s * s) by (pose proof (Rle_0_sqr (t - s)) as Q; unfold Rsqr in Q; lra).
    assert (0 <= (t - s) * (t - s) * (2 * (B * B) - 2 - (t * t + 2 * t * s + 3 * (s * s)))).
    { apply Rmult_le_pos; [apply Rle_0_sqr | lra]. }
    lra.
  Qed.

  Lemma over_tangent s t : 0 <= s -> 0 <= t -> B * B - 1 <= 3 * (s * s) -> B * B - 1 <= 3 * (t * t) ->
    height s + 4 * slope s * (t - s) <= height t.
  Proof.
    intros Hs Ht Es Et. pose proof (height_tangent s t) as E.
    set (m := (B * B - 1) / 3) in *. assert (M : B * B = 3 * m + 1) by (unfold m; field). rewrite M in *.
    assert (m <= t * s).
    { destruct (Rle_dec s t); [assert (s * s <= t * s) by nra; lra | assert (t * t <= t * s) by nra; lra]. }
    assert (0 <= (t - s) * (t - s) * (t * t + 2 * t * s + 3 * (s * s) + 2 - 2 * (3 * m + 1))).
    { apply Rmult_le_pos; [apply Rle_0_sqr | lra]. }
    lra.
  Qed.

  Lemma height_grows s : 0 <= s <= B -> (forall t, s <= t <= B -> 0 <= slope t) -> height s <= height B.
  Proof.
    intros Hs HS. apply (grows height (fun t => 4 * slope t)); [| |lra].
    - intros t _. unfold height, slope. auto_derive; auto. ring.
    - intros t Ht. specialize (HS t Ht). lra.
  Qed.

  (** The flat case: a slope that is nowhere negative. *)
  Lemma flat_height least : 0 <= least <= B -> Rabs (3 * (least * least) + 1 - B * B) * B <= slope least ->
    forall t, 0 <= t <= B -> height t <= 8 * (B * B).
  Proof.
    intros HL HS t Ht. rewrite <- height_last. apply height_grows; auto. intros u Hu.
    pose proof (slope_tangent least u) as E. set (k := 3 * (least * least) + 1 - B * B) in *.
    assert (0 <= (u - least) * (u - least) * (u + 2 * least)) by (apply Rmult_le_pos; [apply Rle_0_sqr | lra]).
    assert (Rabs (k * (u - least)) <= Rabs k * B).
    { rewrite Rabs_mult. apply Rmult_le_compat_l; [apply Rabs_pos|]. apply Rabs_le. lra. }
    pose proof (Rle_abs (- (k * (u - least)))) as Q. rewrite Rabs_Ropp in Q. lra.
  Qed.

  (** The other case: a bracket of the first root of the slope, and a number below the turn where it is negative. *)
  Lemma bracketed_height least low high : 0 <= least -> 3 * (least * least) <= B * B - 1 ->
    0 <= low <= least -> 0 <= high <= least -> 0 <= slope low -> slope high < 0 -> slope least < 0 ->
    forall t, 0 <= t <= B -> height t <= Rmax (8 * (B * B)) (height low + 4 * (slope low * (high - low))).
  Proof.
    intros HL0 HL Hlow Hhigh Slow Shigh Sleast t Ht.
    assert (Below : forall x, 0 <= x <= least -> 3 * (x * x) <= B * B - 1) by (intros x Hx; nra).
    assert (T : forall s x, 0 <= s <= least -> 0 <= x <= least -> height x <= height s + 4 * slope s * (x - s)).
    { intros s x Hs Hx. apply under_tangent; auto; lra. }
    assert (Order : low <= high).
    { destruct (Rle_dec low high) as [|N]; auto. exfalso.
      pose proof (slope_tangent low high) as E.
      assert (3 * (low * low) + 1 - B * B <= 0) by (specialize (Below low Hlow); lra).
      assert (0 <= (high - low) * (high - low) * (high + 2 * low)) by (apply Rmult_le_pos; [apply Rle_0_sqr | lra]).
      assert (0 <= (3 * (low * low) + 1 - B * B) * (high - low)) by nra. lra. }
    set (top := height low + 4 * (slope low * (high - low))).
    assert (Hbetween : forall x, 0 <= x <= high -> height x <= top).
    { intros x Hx. pose proof (T low x Hlow ltac:(lra)). unfold top.
      assert (slope low * (x - low) <= slope low * (high - low)) by (apply Rmult_le_compat_l; lra). lra. }
    assert (Hleft : forall x, 0 <= x <= least -> height x <= top).
    { intros x Hx. destruct (Rle_dec x high) as [L|N]; [apply Hbetween; lra|].
      pose proof (T high x Hhigh Hx). pose proof (Hbetween high ltac:(lra)).
      assert (slope high * (x - high) <= 0) by nra. lra. }
    destruct (Rle_dec t least) as [L|N]; [apply Rle_trans with (2 := Rmax_r _ _); apply Hleft; lra|].
    set (turn := sqrt ((B * B - 1) / 3)).
    assert (B2 : 0 <= (B * B - 1) / 3) by nra.
    assert (Hturn0 : 0 <= turn) by apply sqrt_pos.
    assert (Hturn : turn * turn = (B * B - 1) / 3) by (apply sqrt_sqrt; auto).
    assert (Hlt : least <= turn) by (apply Rnot_lt_le; intros X; nra).
    assert (Hpast : forall x, least <= x <= turn -> height x <= top).
    { intros x Hx. pose proof (Hleft least ltac:(lra)).
      assert (height x <= height least + 4 * slope least * (x - least)) by (apply under_tangent; try lra; nra).
      assert (slope least * (x - least) <= 0) by nra. lra. }
    destruct (Rle_dec t turn) as [L|N2]; [apply Rle_trans with (2 := Rmax_r _ _); apply Hpast; lra|].
    assert (Ot : B * B - 1 <= 3 * (t * t)) by nra.
    destruct (Rle_dec 0 (slope t)) as [Up|Down].
    - apply Rle_trans with (2 := Rmax_l _ _). rewrite <- height_last.
      pose proof (over_tangent t B ltac:(lra) ltac:(lra) Ot ltac:(nra)).
      assert (0 <= slope t * (B - t)) by (apply Rmult_le_pos; lra). lra.
    - apply Rle_trans with (2 := Rmax_r _ _). pose proof (Hpast turn ltac:(lra)).
      pose proof (over_tangent t turn ltac:(lra) ltac:(lra) Ot ltac:(lra)). assert (0 <= slope t * (turn - t)) by nra.
      lra.
  Qed.

  (** Two vectors: p and s are their squared lengths before the last numbers x and y, c their product there. *)
  Lemma corners_apart p s c x y : 0 <= p <= 1 -> 0 <= s <= 1 -> Rabs c <= 1 -> Rabs x <= B -> Rabs y <= B ->
    exists t, 0 <= t <= B /\
      (p + x * x) * (p + x * x) + (s + y * y) * (s + y * y) - 2 * (c + x * y) * (c + x * y) <= height t.
  Proof.
    assert (Main : forall X Y, 0 <= X <= Y -> Y <= B -> exists t, 0 <= t <= B /\
      (1 + X * X) * (1 + X * X) + (1 + Y * Y) * (1 + Y * Y) - 2 * (if Rle_dec 1 (X * Y) then (X * Y - 1) * (X * Y - 1)
        else 0) <= height t).
    { intros X Y HX HY. assert (YB : Y * Y <= B * B) by nra.
      assert (LY : (1 + Y * Y) * (1 + Y * Y) <= (1 + B * B) * (1 + B * B)) by (apply Rmult_le_compat; nra).
      assert (XY : X * X <= Y * Y) by nra.
      destruct (Rle_dec (B * X) 1) as [L|N].
      - assert (B0 : 0 < / B) by (apply Rinv_0_lt_compat; lra). assert (BI : B * / B = 1) by (apply Rinv_r; lra).
        exists (/ B). split; [split; [lra | nra]|]. unfold height. rewrite BI.
        assert (X <= / B) by (apply Rmult_le_reg_l with B; lra).
        assert (X * X <= / B * / B) by nra.
        assert ((1 + X * X) * (1 + X * X) <= (1 + / B * / B) * (1 + / B * / B)) by (apply Rmult_le_compat; nra).
        assert (0 <= (if Rle_dec 1 (X * Y) then (X * Y - 1) * (X * Y - 1) else 0)) by (destruct (Rle_dec 1 (X * Y));
          [apply Rle_0_sqr | lra]).
        lra.
      - exists X. split; [lra|]. unfold height.
        assert (G : (B * B - Y * Y) * (2 * (X * X)) <= (B * B - Y * Y) * (2 + B * B + Y * Y)) by (apply
          Rmult_le_compat_l; lra).
        assert (K : 0 <= (B - Y) * (X * X)) by (apply Rmult_le_pos; nra).
        destruct (Rle_dec 1 (X * Y)) as [L1|N1].
        + assert ((B * X - 1) * (B * X - 1) - (X * Y - 1) * (X * Y - 1) <= (B * B - Y * Y) * (X * X)).
          { assert (0 <= (B - Y) * X) by (apply Rmult_le_pos; lra). nra. }
          nra.
        + assert (D0 : 0 <= B * X - 1 <= (B - Y) * X) by lra.
          assert ((B * X - 1) * (B * X - 1) <= ((B - Y) * X) * (B * X)) by (apply Rmult_le_compat; lra).
          assert (((B - Y) * X) * (B * X) <= (B * B - Y * Y) * (X * X)) by nra. nra. }
    intros Hp Hs Hc Hx Hy.
    assert (G : forall X Y, X = Rabs x -> Y = Rabs y ->
      (p + x * x) * (p + x * x) + (s + y * y) * (s + y * y) - 2 * (c + x * y) * (c + x * y)
      <= (1 + X * X) * (1 + X * X) + (1 + Y * Y) * (1 + Y * Y) - 2 * (if Rle_dec 1 (X * Y) then (X * Y - 1) * (X * Y -
        1) else 0)).
    { intros X Y EX EY. assert (X * X = x * x) by (rewrite EX, <- Rabs_mult; apply Rabs_right, Rle_ge, Rle_0_sqr).
      assert (Y * Y = y * y) by (rewrite EY, <- Rabs_mult; apply Rabs_right, Rle_ge, Rle_0_sqr). rewrite H, H0.
      assert ((p + x * x) * (p + x * x) <= (1 + x * x) * (1 + x * x)) by (pose proof (Rle_0_sqr x) as Q;
        unfold Rsqr in Q; apply Rmult_le_compat; lra).
      assert ((s + y * y) * (s + y * y) <= (1 + y * y) * (1 + y * y)) by (pose proof (Rle_0_sqr y) as Q;
        unfold Rsqr in Q; apply Rmult_le_compat; lra).
      assert ((if Rle_dec 1 (X * Y) then (X * Y - 1) * (X * Y - 1) else 0) <= (c + x * y) * (c + x * y)).
      { destruct (Rle_dec 1 (X * Y)) as [L|_]; [|apply Rle_0_sqr].
        assert (EXY : X * Y = Rabs (x * y)) by (rewrite Rabs_mult, EX, EY; auto).
        assert (XY1 : X * Y - 1 <= Rabs (c + x * y)).
        { rewrite EXY. pose proof (Rabs_triang (c + x * y) (- c)) as T.
        replace (c + x * y + - c) with (x * y) in T by ring. rewrite Rabs_Ropp in T. lra. }
        replace ((c + x * y) * (c + x * y)) with (Rabs (c + x * y) * Rabs (c + x * y)); [apply Rmult_le_compat; lra|].
        rewrite <- Rabs_mult. apply Rabs_right, Rle_ge, Rle_0_sqr. }
      lra. }
    specialize (G _ _ eq_refl eq_refl). pose proof (Rabs_pos x). pose proof (Rabs_pos y).
    destruct (Rle_dec (Rabs x) (Rabs y)) as [L|N].
    - destruct (Main (Rabs x) (Rabs y)) as [t [T1 T2]]; try lra. exists t. split; auto. lra.
    - destruct (Main (Rabs y) (Rabs x)) as [t [T1 T2]]; try lra. exists t. split; auto.
      rewrite (Rmult_comm (Rabs y) (Rabs x)) in T2. lra.
  Qed.
End Heights.

(* ---------------------------------------------------------------- with exact numbers *)

Lemma cubic_R b t : Q2R (cubic b t) = slope (Q2R b) (Q2R t).
Proof. unfold cubic, slope. rewrite !plus_R, !times_R, minus_R, times_R, one_R. ring. Qed.

Lemma floor_below q : IZR (floor_of q) <= Q2R q.
Proof.
  unfold floor_of, Q2R. assert (D : 0 < IZR (Zpos (Qden q))) by (apply IZR_lt; reflexivity).
  apply Rmult_le_reg_r with (IZR (Zpos (Qden q))); auto. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  rewrite <- mult_IZR. apply IZR_le. rewrite Z.mul_comm. apply Z.mul_div_le. reflexivity.
Qed.

Lemma floor_nonneg q : 0 <= Q2R q -> (0 <= floor_of q)%Z.
Proof.
  intros Hq. unfold floor_of. apply Z.div_pos; [|reflexivity]. apply le_IZR. unfold Q2R in Hq.
  assert (D : 0 < IZR (Zpos (Qden q))) by (apply IZR_lt; reflexivity).
  apply Rmult_le_reg_r with (/ IZR (Zpos (Qden q))); [apply Rinv_0_lt_compat; auto | lra].
Qed.

Lemma fraction_R z d N : Zpos d = N -> Q2R (Qred (z # d)) = IZR z / IZR N.
Proof. intros <-. rewrite Q2R_red. reflexivity. Qed.

Lemma steps_double : Zpos (2 ^ 100)%positive = (2 * 2 ^ 99)%Z. Proof. reflexivity. Qed.
Lemma steps_least : Zpos (10 ^ 20)%positive = (10 ^ 20)%Z. Proof. reflexivity. Qed.
Lemma steps_squared : (10 ^ 40 = 10 ^ 20 * 10 ^ 20)%Z. Proof. reflexivity. Qed.

Lemma halved_spec b least : forall n low high low' high', halved b n low high = (low', high') ->
  0 <= Q2R low <= least -> 0 <= Q2R high <= least -> 0 <= slope (Q2R b) (Q2R low) -> slope (Q2R b) (Q2R high) < 0 ->
  (0 <= Q2R low' <= least) /\ (0 <= Q2R high' <= least) /\ 0 <= slope (Q2R b) (Q2R low') /\ slope (Q2R b) (Q2R high')
    < 0.
Proof.
  induction n as [|n IH]; intros low high low' high' E Hl Hh Sl Sh; cbn [halved] in E.
  - injection E as <- <-. auto.
  - set (middle := Qred (floor_of (times (plus low high) (of_Z (2 ^ 99))) # (2 ^ 100)%positive)) in E.
    assert (M : 0 <= Q2R middle <= least).
    { unfold middle. rewrite (fraction_R _ _ _ steps_double), mult_IZR.
    set (x := times (plus low high) (of_Z (2 ^ 99))).
      assert (X : Q2R x = (Q2R low + Q2R high) * IZR (2 ^ 99)) by (unfold x; rewrite times_R, plus_R, of_Z_R; auto).
      assert (P : 0 < IZR (2 ^ 99)) by (apply IZR_lt; reflexivity).
      assert (X0 : 0 <= Q2R x) by (rewrite X; apply Rmult_le_pos; lra).
      pose proof (floor_below x) as F1. pose proof (IZR_le _ _ (floor_nonneg x X0)) as F0.
      revert P X F0 F1. generalize (IZR (2 ^ 99)). intros N P X F0 F1. split.
      - apply Rmult_le_pos; [lra|]. left. apply Rinv_0_lt_compat. lra.
      - apply Rmult_le_reg_r with (2 * N); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra. }
    destruct (Qle_bool 0 (cubic b middle)) eqn:Em.
    + apply (IH _ _ _ _ E); auto. rewrite <- cubic_R. apply q_nonneg. auto.
    + apply (IH _ _ _ _ E); auto. rewrite <- cubic_R. apply Rnot_le_lt. intros N.
      assert (Qle_bool 0 (cubic b middle) = true) by (apply le_R; rewrite zero_R; auto). congruence.
Qed.

(** The number below the turn of the slope, where it may be least. *)
Definition near_turn (b : Q) : Q :=
  Qred (Z.sqrt (floor_of (times (over (minus (times b b) 1) (of_Z 3)) (of_Z (10 ^ 40)))) # (10 ^ 20)%positive).

Lemma near_turn_spec b : 1 < Q2R b ->
  0 <= Q2R (near_turn b) /\ 3 * (Q2R (near_turn b) * Q2R (near_turn b)) <= Q2R b * Q2R b - 1.
Proof.
  intros B1. set (wide := times (over (minus (times b b) 1) (of_Z 3)) (of_Z (10 ^ 40))).
  unfold near_turn. fold wide. rewrite (fraction_R _ _ _ steps_least). set (B := Q2R b) in *.
  assert (N0 : 0 < IZR (10 ^ 20)) by (apply IZR_lt; reflexivity).
    assert (N2 : IZR (10 ^ 40) = IZR (10 ^ 20) * IZR (10 ^ 20)) by (rewrite steps_squared; apply mult_IZR).
    assert (X : Q2R wide = (B * B - 1) / 3 * (IZR (10 ^ 20) * IZR (10 ^ 20))).
    { unfold wide. rewrite times_R, over_R, minus_R, times_R, one_R, !of_Z_R, N2 by (rewrite of_Z_R; lra). auto. }
    assert (X0 : 0 <= Q2R wide) by (rewrite X; apply Rmult_le_pos; [nra | apply Rmult_le_pos; lra]).
    pose proof (floor_below wide) as F1. pose proof (floor_nonneg wide X0) as F0.
    destruct (Z.sqrt_spec _ F0) as [Q _]. pose proof (Z.sqrt_nonneg (floor_of wide)) as Q0.
    apply IZR_le in Q, Q0. rewrite mult_IZR in Q.
    revert N0 N2 X F1 Q Q0. generalize (IZR (10 ^ 20)) (IZR (Z.sqrt (floor_of wide))). intros N r N0 _ X F1 Q Q0.
    assert (I : 0 < / N) by (apply Rinv_0_lt_compat; auto). assert (NI : N * / N = 1) by (apply Rinv_r; lra).
    split; [apply Rmult_le_pos; lra|]. unfold Rdiv.
    replace (r * / N * (r * / N)) with (r * r * (/ N * / N)) by ring.
    assert (r * r * (/ N * / N) <= (B * B - 1) / 3 * (N * N) * (/ N * / N)) by (apply Rmult_le_compat_r;
      [apply Rmult_le_pos; lra | lra]).
    replace ((B * B - 1) / 3 * (N * N) * (/ N * / N)) with ((B * B - 1) / 3 * ((N * / N) * (N * / N))) in H by ring.
    rewrite NI in H. lra.
Qed.

Lemma outer_supremum_eq b : outer_supremum b =
  if Qle_bool 0 (cubic b (near_turn b)) then
    if Qle_bool (times (absolute (minus (plus (times (of_Z 3) (times (near_turn b) (near_turn b))) 1) (times b b))) b)
      (cubic b (near_turn b))
    then Some (times (of_Z 8) (times b b)) else None
  else let (low, high) := halved b 80 (over 1 b) (near_turn b) in
    Some (larger (times (of_Z 8) (times b b)) (plus
      (minus (plus (times (plus 1 (times b b)) (plus 1 (times b b))) (times (plus 1 (times low low)) (plus 1 (times
        low low))))
             (times two (times (minus (times b low) 1) (minus (times b low) 1))))
      (times four (times (cubic b low) (minus high low))))).
Proof. reflexivity. Qed.

Theorem outer_supremum_spec b bound : 1 < Q2R b -> outer_supremum b = Some bound ->
  forall t, 0 <= t <= Q2R b -> height (Q2R b) t <= Q2R bound.
Proof.
  intros B1 E. rewrite outer_supremum_eq in E. destruct (near_turn_spec b B1) as [L0 L1].
  revert E L0 L1. generalize (near_turn b). intros least E L0 L1. set (B := Q2R b) in *.
  assert (LB : Q2R least <= B) by nra.
  assert (Flat : Q2R (times (of_Z 8) (times b b)) = 8 * (B * B)) by (rewrite !times_R, of_Z_R; auto).
  destruct (Qle_bool 0 (cubic b least)) eqn:Ec.
  - destruct (Qle_bool _ _) eqn:Ed in E; [|discriminate]. injection E as <-. rewrite Flat. apply le_R in Ed.
    rewrite cubic_R, times_R, absolute_R, minus_R, plus_R, !times_R, of_Z_R, one_R in Ed. fold B in Ed.
    apply (flat_height B (Q2R least)); auto.
  - assert (S1 : slope B (Q2R least) < 0).
    { unfold B. rewrite <- cubic_R. apply Rnot_le_lt. intros N.
      assert (Qle_bool 0 (cubic b least) = true) by (apply le_R; rewrite zero_R; auto). congruence. }
    destruct (halved b 80 (over 1 b) least) as [low high] eqn:Eh.
    assert (O : Q2R (over 1 b) = / B) by (rewrite over_R by (fold B; lra); rewrite one_R; unfold Rdiv; apply Rmult_1_l).
    assert (B0 : 0 < / B) by (apply Rinv_0_lt_compat; lra). assert (BI : B * / B = 1) by (apply Rinv_r; lra).
    assert (Early : forall x, 0 <= x <= / B -> 0 <= slope B x).
    { intros x Hx. unfold slope.
    assert (B * B * x <= B) by (assert (B * (B * x) <= B * (B * / B)) by (apply Rmult_le_compat_l;
      [lra | apply Rmult_le_compat_l; lra]); rewrite BI in *; lra).
      assert (0 <= x * (x * x)) by (apply Rmult_le_pos; [lra | apply Rle_0_sqr]). lra. }
    assert (OL : / B <= Q2R least) by (apply Rnot_lt_le; intros N; specialize (Early (Q2R least) ltac:(lra)); lra).
    destruct (halved_spec b (Q2R least) 80 (over 1 b) least low high Eh) as [H1 [H2 [H3 H4]]]; rewrite ?O; fold B;
      auto; try lra.
    { apply Early. lra. }
    fold B in H3, H4. match type of E with Some ?x = _ => assert (Eb : x = bound) by congruence end. clear E.
    subst bound.
    rewrite larger_R, Flat, plus_R, minus_R, plus_R, !times_R, !minus_R, !plus_R, !times_R, cubic_R, one_R. fold B.
    unfold two, four. rewrite two_R, four_R. intros t Ht.
    apply Rle_trans with (1 := bracketed_height B B1 (Q2R least) (Q2R low) (Q2R high) L0 L1 H1 H2 H3 H4 S1 t Ht).
    right. unfold height. f_equal; ring.
Qed.
