(** Least upper and greatest lower bounds of sets of numbers between 0 and 1, without any choice. *)
Require Import Reals Lra Psatz Classical.
From Coquelicot Require Import Rcomplements Rbar Lub.
Open Scope R_scope.

Definition sup (S : R -> Prop) : R := real (Lub_Rbar S).

Lemma sup_lub (S : R -> Prop) a b : S a -> (forall x, S x -> x <= b) -> (forall x, S x -> x <= sup S) /\ (forall c, (forall x, S x -> x <= c) -> sup S <= c).
Proof.
  intros Ha Hb. unfold sup. destruct (Lub_Rbar_correct S) as [Hub Hleast].
  assert (L : Rbar_le (Lub_Rbar S) b) by (apply Hleast; intros x Hx; simpl; auto).
  assert (U : Rbar_le a (Lub_Rbar S)) by (apply Hub; auto).
  destruct (Lub_Rbar S) as [s| |]; simpl in *; try tauto. split.
  - intros x Hx. apply (Hub x Hx).
  - intros c Hc. apply (Hleast c). intros x Hx; simpl; auto.
Qed.

Lemma sup_above (S : R -> Prop) a b : S a -> (forall x, S x -> x <= b) -> forall x, S x -> x <= sup S.
Proof. intros Ha Hb. apply (sup_lub S a b Ha Hb). Qed.

Lemma sup_least (S : R -> Prop) a c : S a -> (forall x, S x -> x <= c) -> sup S <= c.
Proof. intros Ha Hc. apply (sup_lub S a c Ha Hc). auto. Qed.

Lemma sup_near (S : R -> Prop) a b t : S a -> (forall x, S x -> x <= b) -> 0 < t -> exists x, S x /\ sup S - t < x.
Proof.
  intros Ha Hb Ht. apply NNPP. intros No.
  assert (sup S <= sup S - t); [|lra]. apply sup_least with a; auto. intros x Hx.
  destruct (Rle_dec x (sup S - t)); auto. exfalso. apply No. exists x. split; auto. lra.
Qed.

Definition inf (S : R -> Prop) : R := - sup (fun x => S (- x)).

Lemma inf_below (S : R -> Prop) a b : S a -> (forall x, S x -> b <= x) -> forall x, S x -> inf S <= x.
Proof.
  intros Ha Hb x Hx. unfold inf. assert (- x <= sup (fun y => S (- y))); [|lra].
  apply sup_above with (- a) (- b).
  - rewrite Ropp_involutive; auto.
  - intros y Hy. specialize (Hb _ Hy). lra.
  - rewrite Ropp_involutive; auto.
Qed.

Lemma inf_most (S : R -> Prop) a c : S a -> (forall x, S x -> c <= x) -> c <= inf S.
Proof.
  intros Ha Hc. unfold inf. assert (sup (fun y => S (- y)) <= - c); [|lra].
  apply sup_least with (- a).
  - rewrite Ropp_involutive; auto.
  - intros y Hy. specialize (Hc _ Hy). lra.
Qed.

Lemma inf_near (S : R -> Prop) a b t : S a -> (forall x, S x -> b <= x) -> 0 < t -> exists x, S x /\ x < inf S + t.
Proof.
  intros Ha Hb Ht. apply NNPP. intros No.
  assert (inf S + t <= inf S); [|lra]. apply inf_most with a; auto. intros x Hx.
  destruct (Rle_dec (inf S + t) x); auto. exfalso. apply No. exists x. split; auto. lra.
Qed.

(** A number that is below c + d·t for every t > 0 is at most c. *)
Lemma le_all x c d : 0 <= d -> (forall t, 0 < t -> x <= c + d * t) -> x <= c.
Proof.
  intros Hd H. apply le_epsilon. intros e He. specialize (H (e / (d + 1))).
  assert (0 < e / (d + 1)) by (apply Rdiv_lt_0_compat; lra). specialize (H H0).
  assert (d * (e / (d + 1)) <= e); [|lra].
  apply Rmult_le_reg_r with (d + 1); [lra|]. replace (d * (e / (d + 1)) * (d + 1)) with (d * e) by (field; lra). nra.
Qed.

(** A convex set of pairs in the unit square, with its corners (0, 0) and (1, 1): if no line separates a point from
    what lies above and to the left of it, then points of the set come as near as one likes. *)
Lemma no_line (S : R -> R -> Prop) a b :
  (forall p q, S p q -> 0 <= p <= 1 /\ 0 <= q <= 1) -> S 0 0 -> S 1 1 ->
  (forall p q p' q' t, 0 <= t <= 1 -> S p q -> S p' q' -> S (t * p + (1 - t) * p') (t * q + (1 - t) * q')) ->
  0 <= a -> b <= 1 ->
  (forall x, 0 <= x -> forall d, 0 < d -> exists p q, S p q /\ b - x * a - d <= p - x * q) ->
  forall t, 0 < t -> exists p q, S p q /\ b - t <= p /\ q <= a + t.
Proof.
  intros HS S0 S1 Hmix Ha Hb Hline t Ht. apply NNPP. intros No.
  assert (HB : forall p q, S p q -> q <= a + t -> p < b - t).
  { intros p q Hpq Hq. destruct (Rlt_dec p (b - t)); auto. exfalso. apply No. exists p, q. repeat split; auto; lra. }
  set (B := b - t) in *. set (c := a + t) in *.
  assert (Hc : 0 < c) by (unfold c; lra).
  assert (HB0 : 0 < B) by (apply (HB 0 0); auto; lra).
  assert (Hc1 : c < 1).
  { destruct (Rlt_dec c 1); auto. assert (1 < B) by (apply (HB 1 1); auto; lra). unfold B in *. lra. }
  (* slopes of points to the right *)
  assert (Hslope : forall p q p' q', S p q -> S p' q' -> c < q -> q' < c -> (p - B) * (c - q') <= (B - p') * (q - c)).
  { intros p q p' q' H H' Hq Hq'. set (s := (c - q') / (q - q')).
    assert (Hs : 0 <= s <= 1).
    { unfold s. split; [apply Rdiv_le_0_compat; lra|]. apply Rmult_le_reg_r with (q - q'); [lra|].
      unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    assert (Hm : s * p + (1 - s) * p' < B).
    { apply (HB _ (s * q + (1 - s) * q')); auto. right. unfold s. field. lra. }
    assert (E : (s * p + (1 - s) * p') * (q - q') = (c - q') * p + (q - c) * p') by (unfold s; field; lra).
    assert (0 < q - q') by lra. nra. }
  set (Q := fun x => exists p q, S p q /\ c < q /\ x * (q - c) = p - B).
  assert (HQ1 : Q ((1 - B) / (1 - c))).
  { exists 1, 1. repeat split; auto. field. lra. }
  assert (HQb : forall x, Q x -> x <= B / c).
  { intros x [p [q [H [Hq Hx]]]]. pose proof (Hslope p q 0 0 H S0 Hq Hc) as Hsl.
    apply Rmult_le_reg_r with ((q - c) * c); [nra|].
    replace (B / c * ((q - c) * c)) with (B * (q - c)) by (field; lra). nra. }
  set (x := Rmax 0 (sup Q)).
  assert (Hx0 : 0 <= x) by apply Rmax_l.
  assert (Hall : forall p q, S p q -> p - B <= x * (q - c)).
  { intros p q H. destruct (Rtotal_order q c) as [Hq|[Hq|Hq]].
    - pose proof (HB p q H ltac:(lra)).
      assert (x <= (B - p) / (c - q)).
      { apply Rmax_lub; [apply Rdiv_le_0_compat; lra|]. apply sup_least with ((1 - B) / (1 - c)); auto.
        intros y [p2 [q2 [H2 [Hq2 Hy]]]]. pose proof (Hslope p2 q2 p q H2 H Hq2 Hq) as Hsl.
        apply Rmult_le_reg_r with ((q2 - c) * (c - q)); [nra|].
        replace ((B - p) / (c - q) * ((q2 - c) * (c - q))) with ((B - p) * (q2 - c)) by (field; lra). nra. }
      assert (x * (c - q) <= B - p); [|nra].
      apply Rmult_le_compat_r with (r := c - q) in H1; [|lra]. unfold Rdiv in H1. rewrite Rmult_assoc, Rinv_l in H1 by lra. lra.
    - subst q. pose proof (HB p c H ltac:(lra)). nra.
    - assert ((p - B) / (q - c) <= sup Q).
      { apply sup_above with ((1 - B) / (1 - c)) (B / c); auto. exists p, q. repeat split; auto. field. lra. }
      assert ((p - B) / (q - c) <= x) by (apply Rle_trans with (sup Q); auto; apply Rmax_r).
      apply Rmult_le_compat_r with (r := q - c) in H1; [|lra]. unfold Rdiv in H1. rewrite Rmult_assoc, Rinv_l in H1 by lra. lra. }
  destruct (Hline x Hx0 (t / 2) ltac:(lra)) as [p [q [H Hpq]]]. specialize (Hall p q H). unfold B, c in *. nra.
Qed.
