(** Hockey-sticks of noise on the integers, which are straight between knots: the factors that odds pass.

    A knot holds what is needed between two factors: the best half-line and its two chances.  Whichever knot is asked,
    its value is a bound at every factor; the one around the factor is the tight one. *)
Require Import Reals ZArith Lra Lia Psatz List.
From DP.base Require Import Laws Sums.
From DP Require Import Definitions Meaning.
From DP.decide Require Import Fixed.
From DP.account Require Import Kinds.
From DP.account.kinds Require Import Lists Integers Values.
Import ListNotations.
Open Scope R_scope.

Section Knots.
Variable p : positive.
Let one : Z := (2 ^ Zpos p)%Z.
Local Notation u := (unit_of p).

(** From one factor to another, in units, a half-line is best; at most how likely it is on the one side, and at least
    how likely on the other. *)
Record knot := Knot { low : Z; high : Z; most : Z; least : Z }.

Definition no_knot : knot := Knot one 0 0 0.

Definition knot_value (k : knot) (c : Z) : Z :=
  if (low k <=? high k)%Z then
    let near := Z.min (Z.max c (low k)) (high k) in
    Z.min one (most k - near * least k / one + Z.max 0 (near - c))
  else one.

(** Factors that rise are answered in one walk. *)
Fixpoint advance (c : Z) (knots : list knot) : list knot :=
  match knots with
  | k :: (_ :: _) as rest => if (high k <=? c)%Z then advance c rest else knots
  | _ => knots
  end.

Fixpoint walk (knots : list knot) (cs : list Z) : list Z :=
  match cs with
  | [] => []
  | c :: cs =>
    let knots := advance c knots in
    match knots with k :: _ => knot_value k c | [] => one end :: walk knots cs
  end.

Fixpoint walk_onto (knots : list knot) (cs acc : list Z) : list Z :=
  match cs with
  | [] => rev_append acc []
  | c :: cs =>
    let knots := advance c knots in
    walk_onto knots cs (match knots with k :: _ => knot_value k c | [] => one end :: acc)
  end.

Definition walked (knots : list knot) (cs : list Z) : list Z := walk_onto knots cs [].

Lemma walked_walk knots cs : walked knots cs = walk knots cs.
Proof.
  assert (G : forall cs knots acc, walk_onto knots cs acc = rev acc ++ walk knots cs).
  { induction cs0 as [|c l IH]; intros ks acc; cbn [walk_onto walk]; [apply rev_append_rev|].
    rewrite IH. cbn [rev]. rewrite <- app_assoc. reflexivity. }
  apply (G cs knots []).
Qed.

Lemma length_walk cs : forall knots, length (walk knots cs) = length cs.
Proof. induction cs; intros knots; cbn [walk length]; auto. Qed.

Section Right.
  Variables (w : Z -> R) (N : law Z) (shift : Z).
  Hypothesis w_pos : forall z, 0 < w z.
  Hypothesis w_even : forall z, w (- z) = w z.
  Hypothesis HN : proportional w N.
  Hypothesis rising : forall j x y, (0 <= j)%Z -> (x <= y)%Z -> w (x - j) * w y <= w (y - j) * w x.

  Definition knot_right (k : knot) : Prop := (high k < low k)%Z \/ exists t,     (* or it says nothing *)
    (forall x, (t <= x)%Z -> IZR (high k) * w x <= u * w (x - shift)) /\
    (forall x, (x < t)%Z -> u * w (x - shift) <= IZR (low k) * w x) /\
    beyond N (t - shift) * u <= IZR (most k) /\ 0 <= IZR (least k) <= beyond N t * u.

  Lemma knot_value_right k c numbers {A} (P Q : law A) (post : list Z -> law A) : knot_right k -> (0 <= c)%Z ->
    (apart numbers <= shift)%Z -> same P (bind (each (map (fun n => drawn_at N (fst n)) numbers)) post) ->
    same Q (bind (each (map (fun n => drawn_at N (snd n)) numbers)) post) ->
    bounds p P Q c (knot_value k c).
  Proof.
    intros HK Hc Hxy HP HQ. unfold knot_value. pose proof (unit_pos p) as Hu. pose proof (one_pos p) as Ho.
    fold one in Ho. destruct (Z.leb_spec (low k) (high k)) as [L|L]; [|apply bounds_one; auto].
    destruct HK as [HK|[t [T1 [T2 [T3 T4]]]]]; [lia|].
    set (near := Z.min (Z.max c (low k)) (high k)). set (z := (most k - near * least k / one + Z.max 0 (near - c))%Z).
    destruct (Z.min_spec one z) as [[_ ->]|[_ ->]]; [apply bounds_one; auto|].
    assert (Hlow : 0 <= IZR (low k)).
    { specialize (T2 (t - 1)%Z ltac:(lia)). pose proof (w_pos (t - 1)). pose proof (w_pos (t - 1 - shift)). nra. }
    assert (Hnear : (low k <= near <= high k)%Z) by (unfold near; lia).
    assert (Hn : IZR (low k) <= IZR near <= IZR (high k)) by (split; apply IZR_le; lia).
    assert (Pass : passes w shift (IZR near / u) t).
    { split; intros i Hi; pose proof (w_pos i); apply Rmult_le_reg_l with u; auto.
      - replace (u * (IZR near / u * w i)) with (IZR near * w i) by (field; lra). specialize (T1 i Hi). nra.
      - replace (u * (IZR near / u * w i)) with (IZR near * w i) by (field; lra). specialize (T2 i Hi). nra. }
    intros f Hf. rewrite (HP f Hf), (HQ f Hf). cbn [bind E]. set (h := fun a => post a f).
    assert (Hh : test h) by (intros a; apply E_test; auto).
    assert (Hcn : 0 <= IZR near / u) by (apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; auto]).
    pose proof (vectors_line w N w_pos w_even HN rising numbers shift (IZR near / u) t h Hxy Hcn Pass Hh) as G.
    set (K := each (map (fun n => drawn_at N (snd n)) numbers)) in *. pose proof (E_test K h Hh) as Hy.
    apply Rmult_le_compat_r with (r := u) in G; [|lra].
    replace ((beyond N (t - shift) - IZR near / u * beyond N t + IZR near / u * K h) * u)
      with (beyond N (t - shift) * u - IZR near * beyond N t + IZR near * K h) in G by (field; lra).
    unfold z. rewrite plus_IZR, minus_IZR. pose proof (div_le (near * least k) one Ho) as D. rewrite mult_IZR in D.
    change (IZR one) with u in D.
    assert (D2 : IZR (near * least k / one) <= IZR near * beyond N t).
    { apply Rmult_le_reg_r with u; auto. apply Rle_trans with (1 := D). rewrite Rmult_assoc. apply Rmult_le_compat_l; lra. }
    assert (M0 : 0 <= IZR (Z.max 0 (near - c))) by (apply IZR_le; lia).
    assert (M1 : IZR near - IZR c <= IZR (Z.max 0 (near - c))) by (rewrite <- minus_IZR; apply IZR_le; lia).
    apply IZR_le in Hc.
    assert (IZR near * K h <= IZR (Z.max 0 (near - c)) + IZR c * K h); [|lra].
    destruct (Rle_dec (IZR near) (IZR c)); nra.
  Qed.

  Lemma no_knot_right : knot_right no_knot.
  Proof. left. apply one_pos. Qed.

  Lemma advance_right c knots : Forall knot_right knots -> Forall knot_right (advance c knots).
  Proof.
    induction 1 as [|k rest Hk Hrest IH]; cbn [advance]; auto. destruct rest; auto.
    destruct (high k <=? c)%Z; auto.
  Qed.

  Theorem walk_right numbers {A} (P Q : law A) (post : list Z -> law A) cs : (apart numbers <= shift)%Z ->
    same P (bind (each (map (fun n => drawn_at N (fst n)) numbers)) post) ->
    same Q (bind (each (map (fun n => drawn_at N (snd n)) numbers)) post) ->
    forall knots, Forall knot_right knots -> Forall (fun c => 0 <= c)%Z cs -> Forall2 (bounds p P Q) cs (walked knots cs).
  Proof.
    intros Hxy HP HQ knots. rewrite walked_walk. revert knots. induction cs as [|c cs IH]; intros knots Hk Hcs; cbn [walk]; [constructor|].
    inversion Hcs; subst. pose proof (advance_right c knots Hk) as Ha. constructor; auto.
    destruct (advance c knots) as [|k rest]; [apply bounds_one; auto|]. inversion Ha; subst.
    apply knot_value_right with numbers post; auto.
  Qed.
End Right.
End Knots.
