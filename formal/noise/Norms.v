(** Noise on vectors, as likely as its length says. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String.
From Coquelicot Require Import Rcomplements.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Bounds Chance Costs Numbers Satisfies Lines Sound Maps Products.
From DP.sensitivity Require Import Infer.
From DP.noise Require Import Infer Releases Laws Proofs.
From DP.conversions Require Import Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Lemma minkowski x y a b : 0 <= a -> 0 <= b -> sqrt (square (x + y) + square (a + b)) <= sqrt (square x + square a) + sqrt (square y + square b).
Proof.
  intros Ha Hb. unfold square.
  assert (P1 : 0 <= x * x + a * a) by nra. assert (P2 : 0 <= y * y + b * b) by nra.
  pose proof (sqrt_pos (x * x + a * a)) as S1. pose proof (sqrt_pos (y * y + b * b)) as S2.
  pose proof (sqrt_def _ P1) as E1. pose proof (sqrt_def _ P2) as E2.
  set (p := sqrt (x * x + a * a)) in *. set (q := sqrt (y * y + b * b)) in *.
  assert (C : x * y + a * b <= p * q).
  { apply Rnot_lt_le. intros N. assert (0 <= p * q) by nra.
    assert ((p * q) * (p * q) < (x * y + a * b) * (x * y + a * b)) by nra.
    assert ((p * q) * (p * q) = (x * x + a * a) * (y * y + b * b)) by (rewrite <- E1, <- E2; ring).
    assert (0 <= (x * b - y * a) * (x * b - y * a)) by (apply Rle_0_sqr). nra. }
  rewrite <- (sqrt_square (p + q)) by lra. apply sqrt_le_1_alt. nra.
Qed.

Section Length.
  Variable grid : R.
  Definition long (l : list Z) : R := sqrt (total (fun z => (grid * IZR z) ^ 2) l).

  Lemma long_nonneg l : 0 <= total (fun z => (grid * IZR z) ^ 2) l.
  Proof. apply total_nonneg. intros z _. rewrite <- Rsqr_pow2. apply Rle_0_sqr. Qed.

  Definition taken (delta a : list Z) : list Z := map (fun p => (snd p - fst p)%Z) (combine delta a).
  Definition added (delta a : list Z) : list Z := map (fun p => (snd p + fst p)%Z) (combine delta a).

  Lemma taken_length delta a : List.length delta = List.length a -> List.length (taken delta a) = List.length a.
  Proof. intros E. unfold taken. rewrite map_length, combine_length. lia. Qed.
  Lemma added_length delta a : List.length delta = List.length a -> List.length (added delta a) = List.length a.
  Proof. intros E. unfold added. rewrite map_length, combine_length. lia. Qed.

  Lemma taken_added delta : forall a, List.length delta = List.length a -> taken delta (added delta a) = a.
  Proof.
    induction delta as [|x delta IH]; intros [|y a] E; try discriminate; auto. unfold taken, added in *. cbn [combine map fst snd].
    f_equal; [lia | apply IH; simpl in E; lia].
  Qed.
  Lemma added_taken delta : forall a, List.length delta = List.length a -> added delta (taken delta a) = a.
  Proof.
    induction delta as [|x delta IH]; intros [|y a] E; try discriminate; auto. unfold taken, added in *. cbn [combine map fst snd].
    f_equal; [lia | apply IH; simpl in E; lia].
  Qed.

  Lemma long_triangle delta : forall a, List.length delta = List.length a -> long a <= long (taken delta a) + long delta.
  Proof.
    induction delta as [|x delta IH]; intros [|y a] E; try discriminate.
    - unfold long; simpl. rewrite sqrt_0. lra.
    - specialize (IH a ltac:(simpl in E; lia)). unfold long in *. unfold taken in *. cbn [combine map fst snd total].
      set (T := total (fun z => (grid * IZR z) ^ 2)) in *.
      pose proof (long_nonneg a) as N1. pose proof (long_nonneg (map (fun p => (snd p - fst p)%Z) (combine delta a))) as N2. pose proof (long_nonneg delta) as N3.
      fold T in N1, N2, N3. set (A := T a) in *. set (B := T (map _ _)) in *. set (C := T delta) in *.
      pose proof (minkowski (grid * IZR (y - x)) (grid * IZR x) (sqrt B) (sqrt C) (sqrt_pos _) (sqrt_pos _)) as M. unfold square in M.
      rewrite !sqrt_sqrt in M by auto. replace (grid * IZR (y - x) * (grid * IZR (y - x)) + B) with ((grid * IZR (y - x)) ^ 2 + B) in M by ring.
      replace (grid * IZR x * (grid * IZR x) + C) with ((grid * IZR x) ^ 2 + C) in M by ring.
      apply Rle_trans with (2 := M). apply sqrt_le_1_alt. rewrite minus_IZR.
      replace (grid * (IZR y - IZR x) + grid * IZR x) with (grid * IZR y) by ring.
      assert (A <= (sqrt B + sqrt C) * (sqrt B + sqrt C)).
      { rewrite <- (sqrt_sqrt A) by auto. apply Rmult_le_compat; auto; apply sqrt_pos. }
      replace ((grid * IZR y) ^ 2) with (grid * IZR y * (grid * IZR y)) by ring. lra.
  Qed.
End Length.

Theorem k_norm_sound : sound_rule "k_norm".
Proof.
  intros st HR. destruct st; try discriminate HR. clear HR. intros W found n HW HH HM HF HT.
  one_query found l. pose proof (Forall_inv HH) as Hl. pose proof (Forall_inv HM) as Ml.
  destruct (noise_line (ByKNorm rate bound grid key) l n key (LengthNoise rate grid) eq_refl HF) as [q [c [rel [o [reads [Hi ->]]]]]].
  cbn [infer noise] in Hi.
  destruct (says l) as [| | |q0 how b rel0 reads0| | | | | | | | | | |] eqn:Hs; try discriminate. destruct how; try discriminate. destruct reads0; try discriminate.
  destruct (_ && _)%bool eqn:Hc in Hi; [|discriminate]. unfold drawn_on in Hi. injection Hi as <- <- <- <- <-.
  apply andb_prop in Hc. destruct Hc as [Hc Hmv]. apply andb_prop in Hc. destruct Hc as [Hc Hbd]. apply andb_prop in Hc. destruct Hc as [Hrt Hg].
  apply q_positive in Hrt, Hg. apply q_nonneg in Hbd. apply le_R in Hmv. rewrite times_R in Hmv.
  unfold holds in Hl. rewrite Hs in Hl. destruct Hl as [_ [Hstream Hstable]].
  assert (E : Q2R (times rate bound) = Q2R rate * Q2R bound) by apply times_R.
  assert (HE : 0 <= Q2R rate * Q2R bound) by nra.
  split; [|apply drawn_once_well_made; auto; simpl; rewrite E; auto].
  destruct (HT key (Place q0 (changes l) (LengthNoise rate grid) Once) (or_introl eq_refl)) as [Hsteady Hdrawn].
  cbn [query made how] in *. specialize (Hsteady Hstream).
  unfold holds; cbn [says drawn departed of_persons views].
  apply (once_holds W HW q0 (changes l) (LengthNoise rate grid) key rel0 _ (@pure_cost) (Q2R rate * Q2R bound)); auto using pure_free.
  { intros X near draw asks group HA. rewrite <- E in HA. exact HA. }
  intros ov Hplace h lab d d' Hlab Hkey Hd.
  pose proof (Hdrawn ov Hplace h lab Hlab Hkey) as HD. pose proof (Hplace h lab Hlab Hkey) as Hp.
  pose proof (Hstable Hsteady (Definitions.key lab) (at_place lab) (Facts.over (at_place lab)) (index lab) h d d' Hd) as HL2.
  assert (HN : numbers_at W lab h = numbers_of W (Definitions.key lab) (at_place lab) q0 (changes l) (Facts.over (at_place lab)) (index lab) h).
  { unfold numbers_at. rewrite Hp. reflexivity. }
  rewrite <- HN in HL2. unfold within in HL2. set (numbers := numbers_at W lab h) in *.
  destruct HD as [V [whole [HG [[Hw [Hw0 HV]] HP]]]]. apply (made_pure W h _ _ _ d d' HP).
  set (w := fun v : list Z => if (List.length v =? List.length numbers)%nat then exp (- Q2R rate * sqrt (total (fun z => (Q2R grid * IZR z) ^ 2) v)) else 0) in *.
  set (delta := map (fun z => (z d - z d')%Z) whole). set (m := List.length numbers) in *.
  assert (Lw : List.length whole = m) by (destruct HG as [L _]; auto). assert (Ld : List.length delta = m) by (unfold delta; rewrite map_length; auto).
  assert (Hlong : long (Q2R grid) delta <= Q2R bound).
  { unfold long. rewrite <- (sqrt_square (Q2R bound)) by auto. apply sqrt_le_1_alt. apply Rle_trans with (2 := Hmv). apply Rle_trans with (2 := HL2). right.
    rewrite (on_grid_total W _ _ _ d d' square HG). unfold delta. rewrite total_map. apply total_ext. intros z _. rewrite minus_IZR. unfold square. ring. }
  set (put := fun e v => map (fun p : (data (record W) -> Z) * Z => (fst p e + snd p)%Z) (combine whole v)).
  intros f Hf. change (V (fun v => f (put d v)) <= exp (Q2R rate * Q2R bound) * V (fun v => f (put d' v))).
  assert (T : forall e, test (fun v => f (put e v))) by (intros e v; apply Hf).
  apply Rmult_le_reg_r with (usum w); auto. rewrite Rmult_assoc, !HV by auto.
  change (usum (fun v => w v * f (put d v)) <= exp (Q2R rate * Q2R bound) * usum (fun v => w v * f (put d' v))).
  set (back := fun a : list Z => if (List.length a =? m)%nat then taken delta a else a).
  set (ahead := fun a : list Z => if (List.length a =? m)%nat then added delta a else a).
  assert (B1 : forall a, back (ahead a) = a).
  { intros a. unfold back, ahead. destruct (Nat.eqb_spec (List.length a) m) as [L|L].
    - rewrite added_length by congruence. rewrite L, Nat.eqb_refl. apply taken_added. congruence.
    - apply Nat.eqb_neq in L. rewrite L. auto. }
  assert (B2 : forall a, ahead (back a) = a).
  { intros a. unfold back, ahead. destruct (Nat.eqb_spec (List.length a) m) as [L|L].
    - rewrite taken_length by congruence. rewrite L, Nat.eqb_refl. apply added_taken. congruence.
    - apply Nat.eqb_neq in L. rewrite L. auto. }
  rewrite <- (usum_rename (fun v => w v * f (put d v)) back ahead B1 B2) by (apply (summable_test w (fun v => f (put d v))); auto).
  rewrite <- usum_scale; [|left; apply exp_pos | apply (summable_test w (fun v => f (put d' v))); auto].
  apply usum_le.
  { apply summable_scale; [left; apply exp_pos | apply (summable_test w (fun v => f (put d' v))); auto]. }
  intros a. pose proof (Hf (put d (back a))) as F1. pose proof (Hf (put d' a)) as F2.
  assert (W0 : forall v, 0 <= w v) by (intros v; unfold w; destruct (_ =? _)%nat; [left; apply exp_pos | lra]).
  pose proof (W0 (back a)) as W1. pose proof (W0 a) as W2. pose proof (exp_pos (Q2R rate * Q2R bound)).
  split; [apply Rmult_le_pos; lra|].
  destruct (Nat.eq_dec (List.length a) m) as [L|L].
  - assert (Eput : put d (back a) = put d' a).
    { unfold back. rewrite L, Nat.eqb_refl. unfold put, delta, taken. clear - L Lw. revert a L. generalize m Lw. clear.
      induction whole as [|z ws IH]; intros m Lw [|x a] L; auto. cbn [map combine fst snd]. f_equal; [lia|]. destruct m; [discriminate|]. apply (IH m); simpl in *; lia. }
    rewrite Eput. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [lra|].
    unfold w, back. rewrite L, Nat.eqb_refl. rewrite taken_length by congruence. rewrite L, Nat.eqb_refl. rewrite <- exp_plus. apply exp_le.
    pose proof (long_triangle (Q2R grid) delta a ltac:(congruence)) as TR. unfold long in *. nra.
  - unfold w, back. apply Nat.eqb_neq in L. rewrite L. rewrite L. lra.
Qed.
