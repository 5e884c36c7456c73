(** Matrix and vector of a rank-one contribution, stacked into one vector. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.noise Require Import Infer Triangles.
From DP.sensitivity Require Import Infer Moves.
From DP.hypotheses Require Import Infer.
From DP.composition Require Import Infer.
From DP.conversions Require Import Relations.
From DP.refutations Require Import Proofs.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Lemma square_least x : 0 <= square x. Proof. unfold square. apply Rle_0_sqr. Qed.

Section Numbers.
  Variables (n : nat) (f g : nat -> R).
  Let places := seq 0 n.
  Let p := total (fun j => square (f j)) places.
  Let s := total (fun j => square (g j)) places.
  Let c := total (fun j => f j * g j) places.

  Lemma all_entries : total (fun a => total (fun b => square (f a * f b - g a * g b)) places) places = p * p + s * s - 2 * c * c.
  Proof.
    rewrite (total_ext _ (fun a => (p * square (f a) + s * square (g a)) - 2 * c * (f a * g a))).
    - rewrite total_minus, total_plus, !total_scale. fold p s c. ring.
    - intros a _. rewrite (total_ext _ (fun b => (square (f a) * square (f b) + square (g a) * square (g b)) - 2 * (f a * g a) * (f b * g b))) by (intros; unfold square; ring).
      rewrite total_minus, total_plus, !total_scale. fold p s c. ring.
  Qed.

  Lemma upper_entries : total (fun a => total (fun b => square (f a * f b - g a * g b)) (seq a (n - a))) places <= p * p + s * s - 2 * c * c.
  Proof.
    rewrite <- all_entries. apply total_le. intros a Ha. unfold places in Ha. apply in_seq in Ha. rewrite total_from by lia.
    apply total_le. intros b _. pose proof (square_least (f a * f b - g a * g b)). destruct (a <=? b)%nat; lra.
  Qed.

  Lemma products_bound : p <= 1 -> s <= 1 -> Rabs c <= 1.
  Proof.
    intros Hp Hs. apply Rabs_le. assert (H1 : 2 * c <= p + s).
    { unfold c, p, s. rewrite <- total_scale, <- total_plus. apply total_le. intros j _. pose proof (square_least (f j - g j)). unfold square in *. lra. }
    assert (H2 : - (p + s) <= 2 * c).
    { assert (0 <= p + s + 2 * c); [|lra]. unfold c, p, s. rewrite <- total_scale, <- !total_plus. apply total_nonneg. intros j _. pose proof (square_least (f j + g j)). unfold square in *. lra. }
    lra.
  Qed.

  Lemma weighed_bound y x w B : p <= 1 -> s <= 1 -> Rabs y <= B -> Rabs x <= B -> 0 < w ->
    p * p + s * s - 2 * c * c + total (fun a => square (sqrt w * (f a * y - g a * x))) places
    <= if Rle_dec (B * B * w) 2 then 2 + 2 * (B * B * w) + (B * B * w) * (B * B * w) / 2 else 4 * (B * B * w).
  Proof.
    intros Hp Hs Hy Hx Hw. pose proof (products_bound Hp Hs) as Hc.
    assert (E : total (fun a => square (sqrt w * (f a * y - g a * x))) places = w * (y * y * p + x * x * s - 2 * (x * y) * c)).
    { rewrite (total_ext _ (fun a => w * ((y * y * square (f a) + x * x * square (g a)) - 2 * (x * y) * (f a * g a)))).
      - rewrite total_scale, total_minus, total_plus, !total_scale. fold p s c. ring.
      - intros a _. pose proof (sqrt_def w ltac:(lra)) as Q. unfold square.
        replace (sqrt w * (f a * y - g a * x) * (sqrt w * (f a * y - g a * x))) with ((sqrt w * sqrt w) * ((f a * y - g a * x) * (f a * y - g a * x))) by ring.
        rewrite Q. ring. }
    rewrite E. clear E. set (k := Rabs c) in *.
    assert (P0 : 0 <= p) by (apply total_nonneg; intros; apply square_least). assert (S0 : 0 <= s) by (apply total_nonneg; intros; apply square_least).
    assert (K0 : 0 <= k) by apply Rabs_pos. assert (Kc : k * k = c * c) by (unfold k; rewrite <- Rabs_mult, Rabs_right; [auto | apply Rle_ge, Rle_0_sqr]).
    assert (B0 : 0 <= B) by (pose proof (Rabs_pos y); lra).
    assert (Y2 : y * y <= B * B).
    { replace (y * y) with (Rabs y * Rabs y) by (rewrite <- Rabs_mult, Rabs_right; [auto | apply Rle_ge, Rle_0_sqr]). pose proof (Rabs_pos y). nra. }
    assert (X2 : x * x <= B * B).
    { replace (x * x) with (Rabs x * Rabs x) by (rewrite <- Rabs_mult, Rabs_right; [auto | apply Rle_ge, Rle_0_sqr]). pose proof (Rabs_pos x). nra. }
    assert (XY : - (x * y) * c <= B * B * k).
    { apply Rle_trans with (Rabs (- (x * y) * c)); [apply Rle_abs|]. rewrite Rabs_mult, Rabs_Ropp, Rabs_mult. apply Rmult_le_compat_r; auto.
      pose proof (Rabs_pos x). pose proof (Rabs_pos y). nra. }
    assert (V : y * y * p + x * x * s - 2 * (x * y) * c <= 2 * (B * B) + 2 * (B * B * k)).
    { assert (0 <= y * y) by apply Rle_0_sqr. assert (0 <= x * x) by apply Rle_0_sqr. assert (y * y * p <= B * B * 1) by (apply Rmult_le_compat; auto). assert (x * x * s <= B * B * 1) by (apply Rmult_le_compat; auto). lra. }
    assert (M : p * p + s * s - 2 * c * c <= 2 - 2 * (k * k)) by nra.
    set (reach := B * B * w) in *.
    assert (VW : w * (y * y * p + x * x * s - 2 * (x * y) * c) <= 2 * reach + 2 * reach * k).
    { apply Rle_trans with (w * (2 * (B * B) + 2 * (B * B * k))); [apply Rmult_le_compat_l; lra|]. unfold reach. right. ring. }
    assert (R0 : 0 <= reach) by (unfold reach; apply Rmult_le_pos; [apply Rmult_le_pos; auto | lra]).
    destruct (Rle_dec reach 2) as [L|L].
    - assert (0 <= (k - reach / 2) * (k - reach / 2)) by apply Rle_0_sqr. nra.
    - assert ((1 - k) * (1 + k) <= (1 - k) * reach) by (apply Rmult_le_compat_l; lra). nra.
  Qed.

  Lemma stacked_bound y x w B : p <= 1 -> s <= 1 -> Rabs y <= B -> Rabs x <= B -> 0 < w ->
    total (fun a => total (fun b => square (f a * f b - g a * g b)) (seq a (n - a))) places
    + total (fun a => square (sqrt w * (f a * y - g a * x))) places
    <= if Rle_dec (B * B * w) 2 then 2 + 2 * (B * B * w) + (B * B * w) * (B * B * w) / 2 else 4 * (B * B * w).
  Proof. intros Hp Hs Hy Hx Hw. pose proof (weighed_bound y x w B Hp Hs Hy Hx Hw). pose proof upper_entries. lra. Qed.
End Numbers.

Theorem joint_sound : sound_rule "joint".
Proof.
  intros st HR. destruct st; try discriminate HR. clear HR. intros W found n HW HH HM HF _.
  one_premise found l. pose proof (Forall_inv HH) as Hl. pose proof (Forall_inv HM) as Ml.
  destruct (restated (ByJoint weight) l n eq_refl I HF) as [ds [gone [Ei [Ea [Eg [Ep [Ev [_ [_ Ech]]]]]]]]].
  cbn [infer sensitivity] in Ei. unfold joint in Ei.
  destruct (says l) as [| |q set0 low high points rel source| | | | | | | | | | | |] eqn:Hs; try discriminate. destruct set0; try discriminate.
  destruct (Steps.below 0 weight) eqn:Hw; [|discriminate]. apply q_positive in Hw.
  match type of Ei with Some (Stable _ _ ?x _ _) = _ => set (bound := x) in Ei end.
  assert (Ei' : says n = Stable q L2Squared bound rel None) by congruence. clear Ei.
  assert (Hb : bare n) by (apply (bare_line l n); auto; apply Ml; rewrite Hs; auto).
  destruct Ml as [_ [_ Ml]]. rewrite Hs in Ml. destruct Ml as [Hchl [Hsimple [Hlow [Hzero _]]]].
  assert (Hch : changes n = [Stacked weight]) by (rewrite Ech; unfold changed; cbn [first_changes]; rewrite Hchl; reflexivity).
  specialize (Hzero ltac:(discriminate)).
  assert (Hhigh : 0 <= Q2R high) by lra. set (B := Q2R high) in *. set (w := Q2R weight) in *.
  assert (Ebound : Q2R bound = if Rle_dec (B * B * w) 2 then 2 + 2 * (B * B * w) + (B * B * w) * (B * B * w) / 2 else 4 * (B * B * w)).
  { unfold bound. assert (ER : Q2R (times (times high high) weight) = B * B * w) by (rewrite !times_R; auto).
    destruct (Qle_bool (times (times high high) weight) two) eqn:E.
    - apply le_R in E. rewrite ER in E. unfold two in E. rewrite two_R in E. destruct (Rle_dec (B * B * w) 2); [|lra].
      rewrite !plus_R, over_R, !times_R by (unfold two; rewrite two_R; lra). unfold two. rewrite two_R. fold B w. lra.
    - destruct (Rle_dec (B * B * w) 2) as [L|L].
      + exfalso. assert (Qle_bool (times (times high high) weight) two = true); [|congruence]. apply le_R. rewrite ER. unfold two. rewrite two_R. auto.
      + rewrite times_R, ER. unfold four. rewrite four_R. auto. }
  assert (Hb0 : 0 <= Q2R bound).
  { rewrite Ebound. assert (0 <= B * B * w) by (apply Rmult_le_pos; [apply Rmult_le_pos; auto | lra]). destruct (Rle_dec (B * B * w) 2); nra. }
  split.
  2: { unfold well_made. rewrite Ei'. split; [auto|]. split; [destruct Hb as [_ [-> _]]; intros k []|]. split; auto.
       destruct rel; auto; discriminate. }
  unfold holds in Hl. rewrite Hs in Hl. destruct Hl as [Hsum [Hset _]].
  unfold holds. rewrite Ei', Hch. split; [discriminate|]. split; [reflexivity|].
  intros Hsteady k pl o i h d d' Hd. cbn [within].
  assert (Hpair : exists u, only_at u d d' /\ (d u <> None \/ d' u <> None)).
  { destruct rel; cbn [simple_relation] in Hsimple; try discriminate.
    - destruct Hd as [u [r [r' [E1 [E2 HO]]]]]. exists u. rewrite E1. split; auto. left; congruence.
    - destruct Hd as [[u [r [E1 [E2 HO]]]]|[u [r [E1 [E2 HO]]]]]; exists u; rewrite E1, ?E2; split; auto; try (left; congruence); try (right; congruence).
      apply only_at_sym; auto. }
  destruct Hpair as [u [HO Hxy]].
  set (there := match in_dec Z.eq_dec u (units_there W) with
    | left _ => match d u, d' u with Some r, _ => takes_part W q o i h u r | None, Some r => takes_part W q o i h u r | None, None => false end
    | right _ => false end).
  set (A := fun (e : data (record W)) j => match e u with Some r => adds W q o i h u r j | None => 0 end).
  assert (Hj : forall j, value W q o i h d j - value W q o i h d' j = if there then A d j - A d' j else 0).
  { intros j. rewrite !Hsum.
    rewrite (total_unit _ _ (units_there W) u) by (try apply HW; intros v Hv; rewrite (HO v Hv); auto).
    cbv beta. unfold there, A. destruct (in_dec Z.eq_dec u (units_there W)); auto.
    destruct (d u) as [r1|]; destruct (d' u) as [r2|].
    - rewrite (Hsteady o i h u r2 r1). destruct (takes_part W q o i h u r1); lra.
    - destruct (takes_part W q o i h u r1); lra.
    - destruct (takes_part W q o i h u r2); lra.
    - lra. }
  set (side0 := side W q) in *. set (m := pred side0) in *.
  (* the sum, number by number *)
  assert (Esum : total square (differences W (numbers_of W k pl q [Stacked weight] o i h) d d') =
    total (fun a => total (fun b => square (value W q o i h d (a * side0 + b)%nat - value W q o i h d' (a * side0 + b)%nat)) (seq a (m - a))) (seq 0 m)
    + total (fun a => square (sqrt w * (value W q o i h d (a * side0 + m)%nat - value W q o i h d' (a * side0 + m)%nat))) (seq 0 m)).
  { unfold differences. cbn [numbers_of]. fold side0. fold m. fold w. rewrite map_app, total_app. f_equal.
    - rewrite total_map, total_flat_map. apply total_ext. intros a _. rewrite total_map. auto.
    - rewrite map_map, total_map. apply total_ext. intros a _. f_equal. ring. }
  rewrite Esum. clear Esum.
  destruct there eqn:Et.
  2: { rewrite !total_zero; [lra | |]; intros a _; [rewrite Hj; unfold square; ring|]. apply total_zero. intros b _. rewrite Hj. unfold square. ring. }
  assert (Hvec : forall e : data (record W), (e u = d u \/ e u = d' u) -> exists v : nat -> R, total (fun j => square (v j)) (seq 0 m) <= 1 /\ Rabs (v m) <= B /\
    (side0 <> 0%nat -> forall a b, (a < m)%nat -> (b <= m)%nat -> A e (a * side0 + b)%nat = v a * v b)).
  { intros e He. unfold A. destruct (e u) as [r|] eqn:Er.
    - assert (Ht : takes_part W q o i h u r = true).
      { unfold there in Et. destruct (in_dec Z.eq_dec u (units_there W)); [|discriminate].
        destruct (d u) as [r1|]; destruct (d' u) as [r2|]; destruct He as [He|He]; try discriminate; injection He as ->; auto; rewrite (Hsteady o i h u _ r1); auto. }
      destruct (Hset o i h u r Ht) as [_ [Hne [v [V1 [V2 V3]]]]]. fold side0 in Hne, V1, V2, V3. fold m in V1, V2, V3. exists v. split; [auto|split; [auto|]].
      intros _ a b Ha Hbm. rewrite V3 by (unfold m in *; lia). destruct (Nat.eqb_spec a m); [lia|]. auto.
    - exists (fun _ => 0). split; [rewrite total_zero; [lra | intros; unfold square; ring]|]. split; [rewrite Rabs_R0; auto|]. intros _ a b _ _. ring. }
  assert (Hside : side0 <> 0%nat).
  { unfold there in Et. destruct (in_dec Z.eq_dec u (units_there W)); [|discriminate].
    destruct (d u) as [r1|]; [destruct (Hset o i h u r1 Et) as [_ [Hne _]]; exact Hne|]. destruct (d' u) as [r2|]; [destruct (Hset o i h u r2 Et) as [_ [Hne _]]; exact Hne | discriminate]. }
  destruct (Hvec d (or_introl eq_refl)) as [f [F1 [F2 F3]]]. destruct (Hvec d' (or_intror eq_refl)) as [g [G1 [G2 G3]]].
  rewrite Ebound. apply Rle_trans with (2 := stacked_bound m f g (f m) (g m) w B F1 G1 F2 G2 Hw). right. f_equal.
  - apply total_ext. intros a Ha. apply in_seq in Ha. apply total_ext. intros b Hb'. apply in_seq in Hb'. rewrite Hj, F3, G3 by (auto; lia). auto.
  - apply total_ext. intros a Ha. apply in_seq in Ha. rewrite Hj, F3, G3 by (auto; lia). auto.
Qed.
