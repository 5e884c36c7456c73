(** Discrete Gaussian noise: the knots of its hockey-stick, from sums of its weights.

    The weights from 1 to a cut are added up from the outside in, with what is beyond the cut bounded by a geometric
    series; the whole is the weight at 0 and twice their sum.  The odds against noise that is moved by k pass
    e^{(2tk - k²)/2v} at t. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List.
From DP.base Require Import Laws Sums.
From DP Require Import Definitions.
From DP.core Require Import Costs.
From DP.decide Require Import Fixed Functions.
From DP.account Require Import Kinds.
From DP.account.kinds Require Import Lists Integers Values Walk.
Import ListNotations.
Open Scope R_scope.

Section Law.
  Variables (v : R) (N : law Z).
  Hypothesis Hv : 0 < v.

  Definition bell (z : Z) : R := exp (- (IZR z * IZR z) / (2 * v)).
  Hypothesis HN : proportional bell N.

  Lemma bell_pos z : 0 < bell z.
  Proof. apply exp_pos. Qed.

  Lemma bell_even z : bell (- z) = bell z.
  Proof. unfold bell. rewrite opp_IZR. do 2 f_equal. ring. Qed.

  Lemma over_2v x y : x <= y -> x / (2 * v) <= y / (2 * v).
  Proof. intros H. apply Rmult_le_compat_r; auto. left. apply Rinv_0_lt_compat. lra. Qed.

  Lemma bell_rising j x y : (0 <= j)%Z -> (x <= y)%Z -> bell (x - j) * bell y <= bell (y - j) * bell x.
  Proof.
    intros Hj Hxy. unfold bell. rewrite <- !exp_plus. apply exp_le. unfold Rdiv. rewrite <- !Rmult_plus_distr_r.
    apply over_2v. apply IZR_le in Hj. apply IZR_le in Hxy. rewrite !minus_IZR. nra.
  Qed.

  (** The odds against noise that is moved by k. *)
  Lemma bell_odds k x : bell (x - k) = exp (IZR (2 * x * k - k * k) / (2 * v)) * bell x.
  Proof.
    unfold bell. rewrite <- exp_plus. f_equal. rewrite !minus_IZR, !mult_IZR. field. lra.
  Qed.

  Lemma odds_rise k x y : (0 <= k)%Z -> (x <= y)%Z ->
    exp (IZR (2 * x * k - k * k) / (2 * v)) <= exp (IZR (2 * y * k - k * k) / (2 * v)).
  Proof. intros Hk H. apply exp_le, over_2v, IZR_le. nia. Qed.

  Lemma bell_falls t z : (t <= z)%Z -> bell (z + 1) <= exp (- IZR (2 * t + 1) / (2 * v)) * bell z.
  Proof.
    intros H. unfold bell. rewrite <- exp_plus. apply exp_le. unfold Rdiv. rewrite <- Rmult_plus_distr_r. apply over_2v.
    apply IZR_le in H. rewrite !plus_IZR, mult_IZR. nra.
  Qed.

  (** What is beyond a cut. *)
  Lemma beyond_cut t r : exp (- IZR (2 * t + 1) / (2 * v)) <= r -> beyond N t * usum bell * (1 - r) <= bell t.
  Proof.
    intros Hr. pose proof (exp_pos (- IZR (2 * t + 1) / (2 * v))).
    pose proof (beyond_step bell N bell_pos HN t) as S.
    assert (G : beyond N (t + 1) <= r * beyond N t).
    { apply (beyond_shrinks bell N bell_pos HN); [lra|]. intros z Hz. apply Rle_trans with (1 := bell_falls t z Hz).
      apply Rmult_le_compat_r; auto. left. apply bell_pos. }
    pose proof (whole_pos bell N HN). nra.
  Qed.

  Lemma whole_sum : usum bell = 1 + 2 * (beyond N 1 * usum bell).
  Proof.
    pose proof (beyond_flip bell N bell_even HN 0) as F. change (1 - 0)%Z with 1%Z in F.
    pose proof (beyond_step bell N bell_pos HN 0) as S. change (0 + 1)%Z with 1%Z in S.
    assert (E : bell 0 = 1) by (unfold bell; replace (- (0 * 0) / (2 * v)) with 0 by (field; lra); apply exp_0).
    rewrite E in S. assert (usum bell = (beyond N 0 + beyond N 1) * usum bell) by (rewrite F; ring). lra.
  Qed.
End Law.

(* ---------------------------------------------------------------- what is decided *)

Section Discrete.
Variable p : positive.
Let one : Z := (2 ^ Zpos p)%Z.
Local Notation u := (unit_of p).
Variable variance : Q.
Hypothesis Hvariance : (0 < Qnum variance)%Z.

(** e^{z/2v}, enclosed. *)
Definition exp_of (variance : Q) (z : Z) : ends :=
  exponential p (of_Q p (Qmake (z * Zpos (Qden variance)) (Z.to_pos (2 * Qnum variance)))).

Lemma variance_pos : 0 < Q2R variance.
Proof. unfold Q2R. apply Rmult_lt_0_compat; [apply IZR_lt; auto | apply Rinv_0_lt_compat, IZR_lt; lia]. Qed.

Lemma exp_of_inside z : inside p (exp_of variance z) (exp (IZR z / (2 * Q2R variance))).
Proof.
  replace (IZR z / (2 * Q2R variance)) with (Q2R (Qmake (z * Zpos (Qden variance)) (Z.to_pos (2 * Qnum variance)))).
  - apply exponential_inside, of_Q_inside.
  - unfold Q2R. cbn [Qnum Qden]. rewrite Z2Pos.id, !mult_IZR by lia. field.
    repeat split; apply Rgt_not_eq, IZR_lt; lia.
Qed.

Lemma bell_inside z : inside p (exp_of variance (- (z * z))) (bell (Q2R variance) z).
Proof. unfold bell. rewrite <- mult_IZR, <- opp_IZR. apply exp_of_inside. Qed.

(** How likely t or more is, between two ends; first in weight, then in units. *)
Record row := Row { from : Z; lower : Z; upper : Z }.

Definition known (e : option Z) (otherwise : Z) : Z := match e with Some z => z | None => otherwise end.

(** Rows of n, n - 1, ..., 1, where the sum beyond n is known and so are the rows of more. *)
Fixpoint sums (variance : Q) (n : nat) (z lo hi : Z) (rows : list row) : option (list row) :=
  match n with
  | O => Some rows
  | S n =>
    let e := exp_of variance (- (z * z)) in
    match fst e, snd e with
    | Some a, Some b => let lo := (lo + a)%Z in let hi := (hi + b)%Z in
        sums variance n (z - 1) lo hi (Row z lo hi :: rows)
    | _, _ => None
    end
  end.

Definition all_sums (variance : Q) (cut : Z) : option (list row) :=
  match snd (exp_of variance (- ((cut + 1) * (cut + 1)))), snd (exp_of variance (- (2 * (cut + 1) + 1))) with
  | Some a, Some r =>
    if (r <? one)%Z then
      let rest := up_div (a * one) (one - r) in
      sums variance (Z.to_nat cut) cut 0 rest [Row (cut + 1) 0 rest]
    else None
  | _, _ => None
  end.

Definition shared (whole_lo whole_hi : Z) (r : row) : row :=
  Row (from r) (lower r * one / whole_hi) (up_div (upper r * one) whole_lo).
Definition turned (r : row) : row := Row (1 - from r) (one - upper r) (one - lower r).

(** Rows from -cut to cut + 1. *)
Definition table (variance : Q) (cut : Z) : list row :=
  match all_sums variance cut with
  | Some ((first :: _) as rows) =>
    let lo := (one + 2 * lower first)%Z in
    let hi := (one + 2 * upper first)%Z in
    if (from first =? 1)%Z && (0 <? lo)%Z && (0 <? hi)%Z then
      let rows := mapped (shared lo hi) rows in rev_append (mapped turned rows) rows
    else []
  | _ => []
  end.

Definition normal_knot (variance : Q) (k : Z) (s r : row) : knot :=
  let t := from r in
  match snd (exp_of variance (2 * (t - 1) * k - k * k)), fst (exp_of variance (2 * t * k - k * k)) with
  | Some low, Some high => if (from s =? t - k)%Z then Knot low high (upper s) (Z.max 0 (lower r)) else no_knot p
  | _, _ => no_knot p
  end.

Definition discrete_normal_values (variance : Q) (k : Z) (cs : list Z) : list Z :=
  let cut := (Z.sqrt (2 * Zpos p * Qnum variance / Zpos (Qden variance)) + 3 + k)%Z in
  let knots := if (cut <=? 2 ^ 19)%Z
    then let rows := table variance cut in zipped (normal_knot variance k) rows (skipn (Z.to_nat k) rows)
    else [] in
  walked p knots cs.

Section Right.
Variable N : law Z.
Hypothesis HN : proportional (bell (Q2R variance)) N.
Local Notation W := (usum (bell (Q2R variance))).

(** In weight, and in units. *)
Definition sum_right (r : row) : Prop := IZR (lower r) <= beyond N (from r) * W * u <= IZR (upper r).
Definition row_right (r : row) : Prop := IZR (lower r) <= beyond N (from r) * u <= IZR (upper r).

Lemma sums_right n : forall z lo hi rows found, z = Z.of_nat n ->
  IZR lo <= beyond N (z + 1) * W * u <= IZR hi -> Forall sum_right rows ->
  sums variance n z lo hi rows = Some found -> Forall sum_right found.
Proof.
  induction n as [|n IH]; intros z lo hi rows found Hz H Hrows Hf; cbn [sums] in Hf; [injection Hf as <-; auto|].
  destruct (bell_inside z) as [A B]. unfold above, below in A, B.
  destruct (fst (exp_of variance (- (z * z)))) as [a|]; [|discriminate].
  destruct (snd (exp_of variance (- (z * z)))) as [b|]; [|discriminate].
  assert (G : IZR (lo + a) <= beyond N z * W * u <= IZR (hi + b)).
  { pose proof (beyond_step (bell (Q2R variance)) N (bell_pos (Q2R variance)) HN z) as S. rewrite S, !plus_IZR. lra. }
  apply IH in Hf; auto; [lia|]. replace (z - 1 + 1)%Z with z by lia. auto.
Qed.

Lemma all_sums_right cut found : (0 <= cut)%Z -> all_sums variance cut = Some found -> Forall sum_right found.
Proof.
  intros Hc H. pose proof variance_pos as Hv. pose proof (unit_pos p) as Hu. unfold all_sums in H.
  destruct (bell_inside (cut + 1)) as [_ A]. destruct (exp_of_inside (- (2 * (cut + 1) + 1))) as [_ R]. unfold below in A, R.
  destruct (snd (exp_of variance (- ((cut + 1) * (cut + 1))))) as [a|]; [|discriminate].
  destruct (snd (exp_of variance (- (2 * (cut + 1) + 1)))) as [r|]; [|discriminate].
  destruct (Z.ltb_spec r one) as [L|]; [|discriminate]. set (rest := up_div (a * one) (one - r)) in *.
  assert (G : IZR 0 <= beyond N (cut + 1) * W * u <= IZR rest).
  { pose proof (whole_pos _ N HN) as Hw. assert (B0 : 0 <= beyond N (cut + 1)) by (apply E_test, Geometric.starting_test).
    split; [repeat apply Rmult_le_pos; lra|].
    pose proof (beyond_cut (Q2R variance) N Hv HN (cut + 1) (IZR r / u)) as C.
    assert (C1 : beyond N (cut + 1) * W * (1 - IZR r / u) <= bell (Q2R variance) (cut + 1)).
    { apply C. rewrite opp_IZR in R. apply Rmult_le_reg_r with u; auto. unfold Rdiv at 2. rewrite Rmult_assoc, Rinv_l; lra. }
    pose proof (up_div_le (a * one) (one - r) ltac:(lia)) as D. fold rest in D. rewrite mult_IZR, minus_IZR in D.
    change (IZR one) with u in D. apply IZR_lt in L. change (IZR one) with u in L.
    apply Rmult_le_reg_r with (u - IZR r); [lra|]. apply Rle_trans with (2 := D).
    replace (beyond N (cut + 1) * W * u * (u - IZR r)) with (beyond N (cut + 1) * W * (1 - IZR r / u) * u * u) by (field; lra).
    apply Rmult_le_compat_r; [lra|]. apply Rle_trans with (2 := A). apply Rmult_le_compat_r; lra. }
  apply sums_right in H; auto. rewrite Z2Nat.id; lia.
Qed.

Lemma shared_right lo hi r : (0 < lo)%Z -> (0 < hi)%Z -> IZR lo <= W * u <= IZR hi -> sum_right r -> row_right (shared lo hi r).
Proof.
  intros Hl Hh HW [R1 R2]. unfold row_right, shared. cbn [from lower upper]. pose proof (unit_pos p) as Hu.
  pose proof (div_le (lower r * one) hi Hh) as D1. pose proof (up_div_le (upper r * one) lo Hl) as D2.
  rewrite mult_IZR in D1, D2. change (IZR one) with u in *. apply IZR_lt in Hl. apply IZR_lt in Hh.
  assert (B0 : 0 <= beyond N (from r)) by (apply E_test, Geometric.starting_test). set (b := beyond N (from r)) in *.
  pose proof (whole_pos _ N HN) as Hw. assert (0 < W * u) by nra. split.
  - apply Rmult_le_reg_r with (IZR hi); auto. apply Rle_trans with (1 := D1).
    apply Rle_trans with (b * W * u * u); [apply Rmult_le_compat_r; lra|].
    replace (b * W * u * u) with (b * u * (W * u)) by ring. apply Rmult_le_compat_l; [apply Rmult_le_pos; lra | lra].
  - apply Rmult_le_reg_r with (IZR lo); auto. apply Rle_trans with (2 := D2).
    apply Rle_trans with (b * W * u * u); [|apply Rmult_le_compat_r; lra].
    replace (b * W * u * u) with (b * u * (W * u)) by ring. apply Rmult_le_compat_l; [apply Rmult_le_pos; lra | lra].
Qed.

Lemma turned_right r : row_right r -> row_right (turned r).
Proof.
  intros [R1 R2]. unfold row_right, turned. cbn [from lower upper]. rewrite !minus_IZR. change (IZR one) with u.
  pose proof (beyond_flip (bell (Q2R variance)) N (bell_even (Q2R variance)) HN (from r)). nra.
Qed.

Lemma table_right cut : (0 <= cut)%Z -> Forall row_right (table variance cut).
Proof.
  intros Hc. unfold table. pose proof (all_sums_right cut) as A. destruct (all_sums variance cut) as [[|first rows]|]; auto.
  specialize (A _ Hc eq_refl). destruct (_ && _)%bool eqn:E; auto.
  apply andb_prop in E. destruct E as [E E3]. apply andb_prop in E. destruct E as [E1 E2].
  apply Z.eqb_eq in E1. apply Z.ltb_lt in E2. apply Z.ltb_lt in E3.
  assert (HW : IZR (one + 2 * lower first) <= W * u <= IZR (one + 2 * upper first)).
  { inversion A as [|? ? F _]. destruct F as [F1 F2]. rewrite E1 in F1, F2. rewrite !plus_IZR, !mult_IZR.
    change (IZR one) with u. pose proof (whole_sum (Q2R variance) N variance_pos HN) as S.
    assert (SW : W * u = u + 2 * (beyond N 1 * W * u)) by (rewrite S at 1; ring). rewrite SW. lra. }
  assert (B : Forall row_right (map (shared (one + 2 * lower first) (one + 2 * upper first)) (first :: rows))).
  { apply Forall_map. eapply Forall_impl; [|exact A]. intros r Hr. apply shared_right; auto. }
  rewrite !mapped_map, rev_append_rev. apply Forall_app. split; auto. apply Forall_rev, Forall_map.
  eapply Forall_impl; [|exact B]. apply turned_right.
Qed.

Lemma normal_knot_right k s r : (0 <= k)%Z -> row_right s -> row_right r ->
  knot_right p (bell (Q2R variance)) N k (normal_knot variance k s r).
Proof.
  intros Hk Hs Hr. pose proof (unit_pos p) as Hu. pose proof variance_pos as Hv. unfold normal_knot.
  destruct (exp_of_inside (2 * (from r - 1) * k - k * k)) as [_ L]. destruct (exp_of_inside (2 * from r * k - k * k)) as [H _].
  unfold below, above in *. destruct (snd (exp_of variance (2 * (from r - 1) * k - k * k))) as [low|]; auto using no_knot_right.
  destruct (fst (exp_of variance (2 * from r * k - k * k))) as [high|]; auto using no_knot_right.
  destruct (Z.eqb_spec (from s) (from r - k)) as [E|]; auto using no_knot_right. right. exists (from r).
  cbn [Walk.low Walk.high most least]. split; [|split; [|split]].
  - intros x Hx. rewrite (bell_odds (Q2R variance) Hv). pose proof (bell_pos (Q2R variance) x).
    pose proof (odds_rise (Q2R variance) Hv k (from r) x Hk Hx) as O.
    rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra|]. apply Rle_trans with (1 := H). nra.
  - intros x Hx. rewrite (bell_odds (Q2R variance) Hv). pose proof (bell_pos (Q2R variance) x).
    pose proof (odds_rise (Q2R variance) Hv k x (from r - 1) Hk ltac:(lia)) as O.
    rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra|]. apply Rle_trans with (2 := L). nra.
  - rewrite <- E. apply Hs.
  - destruct Hr as [R1 R2]. assert (B0 : 0 <= beyond N (from r)) by (apply E_test, Geometric.starting_test).
    split; [apply IZR_le; lia|]. destruct (Z.max_spec 0 (lower r)) as [[_ ->]|[_ ->]]; auto. apply Rmult_le_pos; lra.
Qed.
End Right.

Theorem discrete_normal_values_right k cs {A} (P Q : law A) : (0 <= k)%Z ->
  integer_pair (discrete_normal (Q2R variance)) k P Q ->
  Forall (fun c => 0 <= c)%Z cs -> Forall2 (bounds p P Q) cs (discrete_normal_values variance k cs).
Proof.
  intros Hk0 [N [numbers [post [HN [Hk [HP HQ]]]]]] Hcs. pose proof variance_pos as Hv. unfold discrete_normal_values.
  set (cut := (Z.sqrt _ + 3 + k)%Z). pose proof (Z.sqrt_nonneg (2 * Zpos p * Qnum variance / Zpos (Qden variance))).
  apply (walk_right p (bell (Q2R variance)) N k (bell_pos (Q2R variance)) (bell_even (Q2R variance)) HN
    (bell_rising (Q2R variance) Hv) numbers P Q post cs); auto.
  destruct (cut <=? 2 ^ 19)%Z; [|constructor]. apply Forall_forall. intros knot Hin. rewrite zipped_zip in Hin.
  apply zip_with_in in Hin. destruct Hin as [s [r [Hs [Hr ->]]]].
  pose proof (table_right N HN cut ltac:(unfold cut; lia)) as T. rewrite Forall_forall in T.
  apply normal_knot_right; auto; apply T; auto.
  rewrite <- (firstn_skipn (Z.to_nat k)). apply in_or_app. auto.
Qed.
End Discrete.
