(** Discrete Laplace noise: the knots of its hockey-stick, in closed form.

    Noise of scale b is t or more with probability α^t/(1 + α), t >= 0, where α = e^{-1/b}; the odds against noise that
    is moved by k pass e^{(2t - k)/b} at t, from 0 to k. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List.
From DP.base Require Import Laws Sums.
From DP Require Import Definitions Meaning.
From DP.core Require Import Costs.
From DP.decide Require Import Fixed Functions.
From DP.account Require Import Kinds.
From DP.account.kinds Require Import Lists Integers Values Walk.
Import ListNotations.
Open Scope R_scope.

Section Law.
  Variables (b : R) (N : law Z).
  Hypothesis Hb : 0 < b.
  Hypothesis HN : discrete_laplace b N.

  Definition slope (z : Z) : R := exp (- Rabs (IZR z) / b).

  Lemma slope_pos z : 0 < slope z.
  Proof. apply exp_pos. Qed.

  Lemma slope_even z : slope (- z) = slope z.
  Proof. unfold slope. rewrite opp_IZR, Rabs_Ropp. auto. Qed.

  Lemma over_b x y : x <= y -> x / b <= y / b.
  Proof. intros H. apply Rmult_le_compat_r; auto. left. apply Rinv_0_lt_compat. auto. Qed.

  Lemma slope_rising j x y : (0 <= j)%Z -> (x <= y)%Z -> slope (x - j) * slope y <= slope (y - j) * slope x.
  Proof.
    intros Hj Hxy. unfold slope. rewrite <- !exp_plus. apply exp_le. unfold Rdiv. rewrite <- !Rmult_plus_distr_r.
    apply over_b. apply IZR_le in Hj. apply IZR_le in Hxy. rewrite !minus_IZR.
    unfold Rabs. repeat destruct Rcase_abs; lra.
  Qed.

  Let alpha := exp (- (1) / b).

  Lemma beyond_next t : (0 <= t)%Z -> beyond N (t + 1) = alpha * beyond N t.
  Proof.
    intros Ht. assert (S : forall z, (t <= z)%Z -> slope (z + 1) = alpha * slope z).
    { intros z Hz. unfold slope, alpha. rewrite <- exp_plus. f_equal. rewrite plus_IZR.
      assert (0 <= IZR z) by (apply IZR_le; lia). rewrite !Rabs_pos_eq by lra. field. lra. }
    assert (Ha : 0 <= alpha) by (left; apply exp_pos).
    apply Rle_antisym.
    - apply (beyond_shrinks slope N slope_pos HN); auto. intros z Hz. rewrite S by auto. lra.
    - apply (beyond_shrinks_slowly slope N slope_pos HN); auto. intros z Hz. rewrite S by auto. lra.
  Qed.

  Lemma beyond_geometric t : (0 <= t)%Z -> beyond N t = exp (- IZR t / b) / (1 + alpha).
  Proof.
    assert (Ha : 0 < alpha) by apply exp_pos.
    revert t. apply natlike_ind.
    - pose proof (beyond_flip slope N slope_even HN 0) as F. pose proof (beyond_next 0 ltac:(lia)) as S.
      change (1 - 0)%Z with (0 + 1)%Z in F. rewrite S in F. replace (- 0 / b) with 0 by (field; lra). rewrite exp_0.
      apply Rmult_eq_reg_r with (1 + alpha); [|lra]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
    - intros t Ht IH. unfold Z.succ. rewrite beyond_next, IH, plus_IZR by auto. unfold Rdiv at 1. rewrite <- Rmult_assoc.
      unfold alpha at 1. rewrite <- exp_plus. unfold Rdiv at 3. f_equal. f_equal. field. lra.
  Qed.

  (** The odds against noise that is moved by k. *)
  Lemma odds_from k t x : (1 <= t <= k)%Z -> (t <= x)%Z -> exp (IZR (2 * t - k) / b) * slope x <= slope (x - k).
  Proof.
    intros Ht Hx. unfold slope. rewrite <- exp_plus. apply exp_le. unfold Rdiv. rewrite <- Rmult_plus_distr_r. apply over_b.
    destruct Ht as [H1 H2]. apply IZR_le in H1, H2, Hx. rewrite !minus_IZR, mult_IZR.
    unfold Rabs. repeat destruct Rcase_abs; lra.
  Qed.

  Lemma odds_upto k t x : (1 <= t <= k)%Z -> (x < t)%Z -> slope (x - k) <= exp (IZR (2 * t - 2 - k) / b) * slope x.
  Proof.
    intros Ht Hx. unfold slope. rewrite <- exp_plus. apply exp_le. unfold Rdiv. rewrite <- Rmult_plus_distr_r. apply over_b.
    assert (Hx' : (x <= t - 1)%Z) by lia. destruct Ht as [H1 H2]. apply IZR_le in H1, H2, Hx'.
    rewrite !minus_IZR, mult_IZR in *. unfold Rabs. repeat destruct Rcase_abs; lra.
  Qed.
End Law.

(* ---------------------------------------------------------------- what is decided *)

Section Geometric.
Variable p : positive.
Let one : Z := (2 ^ Zpos p)%Z.
Local Notation u := (unit_of p).
Variable scale : Q.
Hypothesis Hscale : (0 < Qnum scale)%Z.

(** e^{z/b}, enclosed. *)
Definition exp_over (scale : Q) (z : Z) : ends :=
  exponential p (of_Q p (Qmake (z * Zpos (Qden scale)) (Z.to_pos (Qnum scale)))).

Lemma scale_pos : 0 < Q2R scale.
Proof. unfold Q2R. apply Rmult_lt_0_compat; [apply IZR_lt; auto | apply Rinv_0_lt_compat, IZR_lt; lia]. Qed.

Lemma exp_over_inside z : inside p (exp_over scale z) (exp (IZR z / Q2R scale)).
Proof.
  replace (IZR z / Q2R scale) with (Q2R (Qmake (z * Zpos (Qden scale)) (Z.to_pos (Qnum scale)))).
  - apply exponential_inside, of_Q_inside.
  - unfold Q2R. cbn [Qnum Qden]. rewrite Z2Pos.id, mult_IZR by auto. field.
    repeat split; apply Rgt_not_eq, IZR_lt; lia.
Qed.

(** At least how likely noise of t or more is, t >= 0; [whole] encloses 1 + α. *)
Definition least_beyond (scale : Q) (whole : ends) (t : Z) : Z :=
  match fst (div p (exp_over scale (- t)) whole) with Some z => Z.max 0 z | None => 0%Z end.

Definition geometric_knot (scale : Q) (whole : ends) (k t : Z) : knot :=
  match snd (exp_over scale (2 * t - 2 - k)), fst (exp_over scale (2 * t - k)) with
  | Some low, Some high => Knot low high (one - least_beyond scale whole (1 - t + k)) (least_beyond scale whole t)
  | _, _ => no_knot p
  end.

Definition geometric_values (scale : Q) (k : Z) (cs : list Z) : list Z :=
  let knots := if (k <=? 2 ^ 17)%Z
    then let whole := add (Some one, Some one) (exp_over scale (-1)) in
         tabled (geometric_knot scale whole k) (Z.to_nat k) k []
    else [] in
  walked p knots cs.

Lemma least_beyond_right whole t N : discrete_laplace (Q2R scale) N -> inside p whole (1 + exp (- (1) / Q2R scale)) ->
  (0 <= t)%Z -> 0 <= IZR (least_beyond scale whole t) <= beyond N t * u.
Proof.
  intros HN Hw Ht. pose proof (unit_pos p) as Hu. pose proof scale_pos as Hs.
  assert (B0 : 0 <= beyond N t) by (apply E_test, Geometric.starting_test).
  unfold least_beyond. pose proof (div_inside p _ _ _ _ (exp_over_inside (- t)) Hw) as [D _]. unfold above in D.
  rewrite opp_IZR, <- (beyond_geometric (Q2R scale) N Hs HN t Ht) in D.
  destruct (fst (div p (exp_over scale (- t)) whole)) as [z|]; [|split; [lra | apply Rmult_le_pos; lra]].
  split; [apply IZR_le; lia|]. destruct (Z.max_spec 0 z) as [[_ ->]|[_ ->]]; auto. apply Rmult_le_pos; lra.
Qed.

Lemma geometric_knot_right whole k t N : discrete_laplace (Q2R scale) N ->
  inside p whole (1 + exp (- (1) / Q2R scale)) -> (1 <= t <= k)%Z ->
  knot_right p (slope (Q2R scale)) N k (geometric_knot scale whole k t).
Proof.
  intros HN Hw Ht. pose proof (unit_pos p) as Hu. pose proof scale_pos as Hs. unfold geometric_knot.
  destruct (exp_over_inside (2 * t - 2 - k)) as [_ L]. destruct (exp_over_inside (2 * t - k)) as [H _].
  unfold below, above in *. destruct (snd (exp_over scale (2 * t - 2 - k))) as [low|]; auto using no_knot_right.
  destruct (fst (exp_over scale (2 * t - k))) as [high|]; auto using no_knot_right. right. exists t. cbn [Walk.low Walk.high most least].
  split; [|split; [|split; [|apply least_beyond_right; auto; lia]]].
  - intros x Hx. pose proof (odds_from (Q2R scale) Hs k t x Ht Hx) as O.
    pose proof (slope_pos (Q2R scale) x). apply Rmult_le_compat_r with (r := slope (Q2R scale) x) in H; [|lra]. nra.
  - intros x Hx. pose proof (odds_upto (Q2R scale) Hs k t x Ht Hx) as O.
    pose proof (slope_pos (Q2R scale) x). apply Rmult_le_compat_r with (r := slope (Q2R scale) x) in L; [|lra]. nra.
  - rewrite minus_IZR. change (IZR one) with u.
    pose proof (beyond_flip (slope (Q2R scale)) N (slope_even (Q2R scale)) HN (t - k)) as F.
    replace (1 - (t - k))%Z with (1 - t + k)%Z in F by lia.
    pose proof (least_beyond_right whole (1 - t + k) N HN Hw ltac:(lia)). nra.
Qed.

Theorem geometric_values_right k cs {A} (P Q : law A) : integer_pair (discrete_laplace (Q2R scale)) k P Q ->
  Forall (fun c => 0 <= c)%Z cs -> Forall2 (bounds p P Q) cs (geometric_values scale k cs).
Proof.
  intros [N [numbers [post [HN [Hk [HP HQ]]]]]] Hcs. pose proof scale_pos as Hs. unfold geometric_values.
  apply (walk_right p (slope (Q2R scale)) N k (slope_pos (Q2R scale)) (slope_even (Q2R scale)) HN (slope_rising (Q2R scale) Hs)
    numbers P Q post cs); auto.
  destruct (k <=? 2 ^ 17)%Z; [|constructor]. apply Forall_forall. intros knot Hin. apply tabled_in in Hin.
  destruct Hin as [t [Ht ->]].
  apply geometric_knot_right; auto; [|lia].
  apply add_inside; [|apply (exp_over_inside (-1))].
  split; unfold above, below; cbn [fst snd]; change (IZR one) with u; lra.
Qed.
End Geometric.
