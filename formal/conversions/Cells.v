(** What the cells of a lattice curve are: weighted sums over the integers, one coordinate after another. *)
Require Import Reals ZArith Lra Lia Psatz List Bool Permutation.
From DP.base Require Import Laws Sums.
From DP Require Import Definitions.
From DP.conversions Require Import Lattices Packed Shifted.
Import ListNotations.
Open Scope R_scope.

Lemma mass_const l c : forall i, mass l i (fun _ => c) = c * mass l i (fun _ => 1).
Proof. induction l as [|a l IH]; intros i; cbn [mass]; [lra|]. rewrite IH. lra. Qed.

Lemma mass_times l c f : forall i, mass l i (fun t => c * f t) = c * mass l i f.
Proof. induction l as [|a l IH]; intros i; cbn [mass]; [lra|]. rewrite IH. lra. Qed.

Lemma mass_plus l f h : forall i, mass l i (fun t => f t + h t) = mass l i f + mass l i h.
Proof. induction l as [|a l IH]; intros i; cbn [mass]; [lra|]. rewrite IH. lra. Qed.

Lemma mass_swap l m F : forall i j, mass l i (fun x => mass m j (fun y => F x y)) = mass m j (fun y => mass l i
  (fun x => F x y)).
Proof.
  induction l as [|a l IH]; intros i j; cbn [mass].
  - symmetry. rewrite (mass_ext m j _ (fun _ => 0 * 1)) by (intros; ring). rewrite mass_times. lra.
  - rewrite IH, mass_plus, mass_times. auto.
Qed.

Lemma mass_le l f h : nonneg l -> (forall t, f t <= h t) -> forall i, mass l i f <= mass l i h.
Proof.
  intros Hl H. induction Hl as [|a l Ha Hl IH]; intros i; cbn [mass]; [lra|]. specialize (IH (i + 1)%Z).
    specialize (H i).
  apply IZR_le in Ha. nra.
Qed.

(** Sums from b on. *)
Definition from (b t : Z) : R := if (b <=? t)%Z then 1 else 0.

Lemma from_test b : test (from b).
Proof. intros t. unfold from. destruct (b <=? t)%Z; lra. Qed.

Lemma mass_from l b : forall i, mass l i (from b) = IZR (sum_z (skipn (Z.to_nat (Z.max 0 (b - i))) l)).
Proof.
  induction l as [|a l IH]; intros i; cbn [mass].
  - rewrite skipn_nil. reflexivity.
  - rewrite IH. unfold from. destruct (Z.leb_spec b i) as [H|H].
    + replace (Z.to_nat (Z.max 0 (b - i))) with O by lia. replace (Z.to_nat (Z.max 0 (b - (i + 1)))) with O by lia.
      cbn [skipn].
      rewrite <- (mass_one (a :: l) 0), <- (mass_one l (0 + 1)). cbn [mass]. ring.
    + replace (Z.to_nat (Z.max 0 (b - i))) with (S (Z.to_nat (Z.max 0 (b - (i + 1))))) by lia. cbn [skipn]. ring.
Qed.

Lemma sum_parts n l : IZR (sum_z l) = IZR (sum_z (firstn n l)) + IZR (sum_z (skipn n l)).
Proof.
  rewrite <- (mass_one l 0), <- (firstn_skipn n l) at 1. rewrite mass_app, !mass_one. auto.
Qed.

(* ---------------------------------------------------------------- one coordinate *)

Lemma spread_flat step l : (1 <= step)%Z -> forall i t f,
  mass (flat_map (fun b => repeat 0%Z (Z.to_nat (step - 1)) ++ [b]) l) (step * i + t - (step - 1)) f
  = mass l i (fun y => f (step * y + t)%Z).
Proof.
  intros Hs. induction l as [|a l IH]; intros i t f; auto. cbn [flat_map mass].
    rewrite <- app_assoc, mass_app, mass_zeros, repeat_length.
  cbn [app mass]. rewrite <- IH.
  replace (step * i + t - (step - 1) + Z.of_nat (Z.to_nat (step - 1)))%Z with (step * i + t)%Z by lia.
  replace (step * i + t + 1)%Z with (step * (i + 1) + t - (step - 1))%Z by lia. ring.
Qed.

Lemma spread_mass step l : (1 <= step)%Z -> forall i t f,
  mass (spread_out step l) (step * i + t) f = mass l i (fun y => f (step * y + t)%Z).
Proof.
  intros Hs i t f. destruct l as [|a l]; auto. cbn [spread_out mass].
  rewrite <- (spread_flat step l Hs). do 2 f_equal. lia.
Qed.

Lemma spread_nonneg step l : nonneg l -> nonneg (spread_out step l).
Proof.
  intros Hl. destruct Hl as [|a l Ha Hl]; [constructor|]. constructor; auto.
  induction Hl as [|b l Hb Hl IH]; cbn [flat_map]; [constructor|]. apply Forall_app. split; auto. apply Forall_app.
    split.
  - apply Forall_forall. intros z Hz. apply repeat_spec in Hz. lia.
  - constructor; auto.
Qed.

(* ---------------------------------------------------------------- several coordinates *)

Section Cells.
  Variables (one : list Z) (radius : Z).
  Hypotheses (Hone : nonneg one) (Hfull : one <> []).

  Fixpoint layered (l : list Z) (f : Z -> R) (t : Z) : R :=
    match l with
    | [] => f t
    | a :: rest => mass one (- radius) (fun y => layered rest f (t + a * y)%Z)
    end.

  Lemma layered_ext l f h : (forall t, f t = h t) -> forall t, layered l f t = layered l h t.
  Proof. intros E. induction l as [|a l IH]; intros t; cbn [layered]; auto. apply mass_ext. intros; apply IH. Qed.

  Lemma layered_app l m f : forall t, layered (l ++ m) f t = layered l (layered m f) t.
  Proof. induction l as [|a l IH]; intros t; cbn [app layered]; auto. apply mass_ext. intros; apply IH. Qed.

  Lemma layered_permuted l m f : Permutation l m -> forall t, layered l f t = layered m f t.
  Proof.
    induction 1 as [|a l m HP IH|a b l|l m n H1 IH1 H2 IH2]; intros t; cbn [layered]; auto.
    - apply mass_ext. intros; apply IH.
    - rewrite mass_swap. apply mass_ext. intros y. apply mass_ext. intros x. f_equal. lia.
    - rewrite IH1. auto.
  Qed.

  Lemma layered_one l t : layered l (fun _ => 1) t = IZR (sum_z one) ^ length l.
  Proof.
    revert t. induction l as [|a l IH]; intros t; cbn [layered length]; [simpl; auto|].
    rewrite (mass_ext one _ _ (fun _ => IZR (sum_z one) ^ length l)) by (intros; apply IH).
    rewrite mass_const, mass_one. simpl. ring.
  Qed.

  Lemma layered_nonneg l f t : (forall t, 0 <= f t) -> 0 <= layered l f t.
  Proof.
    intros Hf. revert t. induction l as [|a l IH]; intros t; cbn [layered]; auto. apply mass_nonneg; auto.
  Qed.

  Lemma base_mass a f t : (1 <= a)%Z -> mass (spread_out a one) (t - radius * a) f = layered [a] f t.
  Proof.
    intros Ha. cbn [layered]. replace (t - radius * a)%Z with (a * - radius + t)%Z by lia.
      rewrite spread_mass by auto.
    apply mass_ext. intros y. f_equal. lia.
  Qed.

  Lemma spread_full a : spread_out a one <> [].
  Proof. destruct one; [congruence | discriminate]. Qed.

  Lemma raised_good base n : base <> [] -> nonneg base -> raised base n <> [] /\ nonneg (raised base n).
  Proof.
    intros H1 H2. induction n as [n [I1 I2]|n [I1 I2]|]; cbn [raised]; auto.
    - assert (E : multiply (raised base n) (raised base n) = conv (raised base n) (raised base n))
      by (apply multiply_conv; auto).
      rewrite E. rewrite multiply_conv; auto using conv_full, conv_nonneg.
    - rewrite multiply_conv by auto. auto using conv_full, conv_nonneg.
  Qed.

  Lemma raised_mass a n : (1 <= a)%Z -> forall f t,
    mass (raised (spread_out a one) n) (t - radius * a * Zpos n) f = layered (repeat a (Pos.to_nat n)) f t.
  Proof.
    intros Ha. pose proof (spread_full a) as H1. pose proof (spread_nonneg a one Hone) as H2.
    induction n as [n IH|n IH|]; intros f t; cbn [raised].
    - destruct (raised_good _ n H1 H2) as [G1 G2].
      assert (E : multiply (raised (spread_out a one) n) (raised (spread_out a one) n) = conv (raised
        (spread_out a one) n) (raised (spread_out a one) n)) by (apply multiply_conv; auto).
      rewrite E, multiply_conv; auto using conv_full, conv_nonneg. set (h := raised (spread_out a one) n) in *.
      replace (t - radius * a * Z.pos n~1)%Z with ((t - radius * a) + (- (radius * a * Z.pos n) + -
        (radius * a * Z.pos n)))%Z by lia.
      rewrite mass_conv, base_mass by auto.
      replace (Pos.to_nat n~1) with (1 + (Pos.to_nat n + Pos.to_nat n))%nat by lia. rewrite !repeat_app, layered_app.
      apply layered_ext. intros u. rewrite layered_app.
      replace (u + (- (radius * a * Z.pos n) + - (radius * a * Z.pos n)))%Z with ((u - radius * a * Z.pos n) + -
        (radius * a * Z.pos n))%Z by lia.
      rewrite mass_conv, IH. apply layered_ext. intros v. rewrite <- IH. f_equal.
    - destruct (raised_good _ n H1 H2) as [G1 G2]. rewrite multiply_conv by auto.
      set (h := raised (spread_out a one) n) in *.
      replace (t - radius * a * Z.pos n~0)%Z with ((t - radius * a * Z.pos n) + - (radius * a * Z.pos n))%Z by lia.
      rewrite mass_conv, IH. replace (Pos.to_nat n~0) with (Pos.to_nat n + Pos.to_nat n)%nat by lia.
        rewrite repeat_app, layered_app.
      apply layered_ext. intros u. rewrite <- IH. f_equal.
    - replace (t - radius * a * 1)%Z with (t - radius * a)%Z by lia. change (Pos.to_nat 1) with 1%nat.
      cbn [repeat]. apply base_mass; auto.
  Qed.

  Definition grouped (l : list Z) (n : positive) : list Z := concat (map (fun a => repeat a (Pos.to_nat n)) l).

  Lemma sum_z_cons a l : sum_z (a :: l) = (a + sum_z l)%Z.
  Proof.
    apply eq_IZR. rewrite plus_IZR. rewrite <- (mass_one (a :: l) 0), <- (mass_one l (0 + 1)). cbn [mass]. ring.
  Qed.

  Lemma cells_mass n steps : Forall (fun a => (1 <= a)%Z) steps -> forall cells, cells <> [] -> nonneg cells ->
    forall f i,
    mass (fold_left (fun cells step => multiply cells (raised (spread_out step one) n)) steps cells)
      (i - radius * sum_z steps * Zpos n) f
    = mass cells i (layered (grouped steps n) f).
  Proof.
    induction 1 as [|a steps Ha Hsteps IH]; intros cells C1 C2 f i.
    - cbn [fold_left]. replace (i - radius * sum_z [] * Z.pos n)%Z with i by (cbn; lia). reflexivity.
    - cbn [fold_left]. pose proof (spread_full a) as H1. pose proof (spread_nonneg a one Hone) as H2.
      destruct (raised_good _ n H1 H2) as [G1 G2]. rewrite multiply_conv by auto.
      rewrite sum_z_cons. replace (i - radius * (a + sum_z steps) * Z.pos n)%Z with
        (i - radius * a * Z.pos n - radius * sum_z steps * Z.pos n)%Z by lia.
      rewrite IH by auto using conv_full, conv_nonneg.
      replace (i - radius * a * Z.pos n)%Z with (i + - (radius * a * Z.pos n))%Z by lia. rewrite mass_conv.
      apply mass_ext. intros t. unfold grouped. cbn [map concat]. rewrite layered_app.
      replace (t + - (radius * a * Z.pos n))%Z with (t - radius * a * Z.pos n)%Z by lia. apply raised_mass; auto.
  Qed.

  Lemma grouped_permuted l n : Permutation (times_over l (Pos.to_nat n)) (grouped l n).
  Proof.
    unfold grouped. induction (Pos.to_nat n) as [|m IH].
    - cbn [times_over repeat]. induction l; simpl; auto.
    - cbn [times_over]. eapply Permutation_trans; [apply Permutation_app_head; exact IH|]. clear IH.
      induction l as [|a l IH]; cbn [map concat app]; auto. cbn [repeat app]. constructor.
      eapply Permutation_trans; [|apply Permutation_app_head; exact IH].
      rewrite !app_assoc. apply Permutation_app_tail. apply Permutation_app_comm.
  Qed.

  (* -------------------------------------------------------------- below the law *)

  Variables (N : law Z) (high : R).
  Hypothesis Hhigh : 0 < high.
  Hypothesis Hlow : forall f, test f -> mass one (- radius) f / high <= N f.

  Lemma layered_below l : forall f t, test f ->
    0 <= layered l f t / high ^ length l <= dot N l (fun u => f (t + u)%Z).
  Proof.
    induction l as [|a l IH]; intros f t Hf.
    - simpl. replace (t + 0)%Z with t by lia. specialize (Hf t). lra.
    - rewrite dot_cons. assert (HP : 0 < high ^ length l) by (apply pow_lt; auto). split.
      + apply Rcomplements.Rdiv_le_0_compat; [apply layered_nonneg; intros; apply Hf | apply pow_lt; auto].
      + cbn [layered length]. set (F := fun y => layered l f (t + a * y)%Z / high ^ length l).
        assert (HF : forall y, 0 <= F y <= dot N l (fun u => f (t + (a * y + u))%Z)).
        { intros y. unfold F. replace (fun u => f (t + (a * y + u))%Z) with (fun u => f (t + a * y + u)%Z); auto.
          apply FunctionalExtensionality.functional_extensionality. intros u. f_equal. lia. }
        assert (TF : test F).
        { intros y. specialize (HF y). pose proof (E_test (dot N l) (fun u => f (t +
          (a * y + u))%Z) ltac:(intros u; apply Hf)). lra. }
        apply Rle_trans with (N F).
        * apply Rle_trans with (2 := Hlow F TF). unfold F. right.
          rewrite (mass_ext one (- radius) (fun y => layered l f (t + a * y)%Z / high ^ length l)
            (fun y => / high ^ length l * layered l f (t + a * y)%Z)) by (intros; unfold Rdiv; ring).
          rewrite mass_times. simpl. field. lra.
        * apply E_mono; auto; [|intros y; apply HF]. intros y. apply E_test. intros u. apply Hf.
  Qed.
End Cells.
