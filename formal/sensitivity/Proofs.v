(** How far queries move. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.noise Require Import Infer.
From DP.sensitivity Require Import Infer.
From DP.composition Require Import Infer.
From DP.conversions Require Import Relations.
From DP.refutations Require Import Proofs.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Lemma square_le a b : 0 <= a <= b -> square a <= square b.
Proof. unfold square. intros. nra. Qed.

Theorem moved_sound : sound_rule "moved".
Proof.
  intros s HR. destruct s; try discriminate HR. clear HR. intros W found n HW HH HM HF _.
  assert (exists l, found = [l]) as [l ->].
  { unfold follow in HF. destruct (infer (ByMoved radius) (map says found)) eqn:Ei; [|discriminate].
    destruct found as [|a [|b rest]]; [discriminate | eauto | discriminate]. }
  inversion HH as [|? ? Hl HH1]. inversion HM as [|? ? Ml HM1]. subst.
  destruct (restated (ByMoved radius) l n eq_refl I HF) as [ds [gone [Ei [Ea [Eg [Ep [Ev [_ [_ Ech]]]]]]]]].
  cbn [infer sensitivity] in Ei. unfold moved in Ei.
  destruct (says l) as [| | | |q factor slack reach| | | | | | | | | |] eqn:Hs; try discriminate.
  unfold holds in Hl. rewrite Hs in Hl. destruct Hl as [H1 [H2 [H3 HL]]].
  assert (Hch : changes n = []) by (rewrite Ech; reflexivity).
  assert (Hb : bare n) by (apply (bare_line l n); auto; apply Ml; rewrite Hs; auto).
  assert (Hdist : forall x y, 0 <= distance W x y).
  { intros x y. destruct HW as [_ [_ [_ [_ [_ [_ [_ [_ [HD _]]]]]]]]]. apply HD. }
  assert (Hmin : forall t, 0 <= t -> forall u, Q2R factor * t + Q2R slack <= u ->
    0 <= Rmin (Q2R factor * t + Q2R slack) (Q2R reach) <= Rmin u (Q2R reach)).
  { intros t Ht u Hu. split; [apply Rmin_glb; [nra | auto]|]. apply Rle_min_compat_r; auto. }
  assert (G : exists b rel, says n = Stable q L2Squared b rel None /\ (0 <= Q2R b /\ of_groups rel = false) /\
    forall k p o i h d d', neighbours (distance W) rel d d' ->
      total square (differences W (numbers_of W k p q [] o i h) d d') <= Q2R b).
  { destruct radius as [r|].
    - destruct (Steps.below 0 r) eqn:Er; [|discriminate]. injection Ei as Ei. apply q_positive in Er.
      set (far := Steps.plus slack (times r factor)) in *.
      assert (Hfar : Q2R far = Q2R factor * Q2R r + Q2R slack) by (unfold far; rewrite plus_R, times_R; ring).
      assert (Hb0 : Q2R (if Steps.below reach far then squared reach else squared far) = square (Rmin (Q2R far) (Q2R reach))).
      { unfold squared. destruct (Steps.below reach far) eqn:Eb; rewrite times_R; unfold square.
        - apply below_R in Eb. rewrite Rmin_right by lra. auto.
        - rewrite Rmin_left; auto. apply Rnot_lt_le. intros N. apply below_R in N. congruence. }
      eexists. eexists. split; [symmetry; exact Ei|]. rewrite Hb0. split; [split; [unfold square; nra | auto]|].
      intros k p o i h d d' [u [x [x' [E1 [E2 [E3 E4]]]]]].
      apply Rle_trans with (1 := HL k p o i h u x x' d d' E1 E2 E4). apply square_le. apply Hmin; auto. rewrite Hfar. nra.
    - injection Ei as Ei. eexists. eexists. split; [symmetry; exact Ei|]. unfold squared. rewrite times_R. split; [split; [nra | auto]|].
      intros k p o i h d d' [u [x [x' [E1 [E2 E3]]]]].
      apply Rle_trans with (1 := HL k p o i h u x x' d d' E1 E2 E3). change (Q2R reach * Q2R reach) with (square (Q2R reach)). apply square_le.
      destruct (Hmin _ (Hdist x x') _ (Rle_refl _)) as [M _]. split; auto. apply Rmin_r. }
  destruct G as [b [rel [Hn [Hb0 G]]]]. split.
  - unfold holds. rewrite Hn, Hch. split; [discriminate|]. split; auto.
  - unfold well_made. rewrite Hn. split; [auto|]. split; auto. destruct Hb as [_ [-> _]]. intros k [].
Qed.
