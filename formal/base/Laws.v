(** Laws as expectations: a law on A gives every test f : A -> [0, 1] its expectation.

    Nothing here knows whether A is finite, countable or real, so there is no measure theory.
    A law need only be finitely additive, which asks for less than countable additivity does. *)
Require Import Reals Lra Psatz FunctionalExtensionality List.
Import ListNotations.
Open Scope R_scope.

Definition test {A} (f : A -> R) := forall a, 0 <= f a <= 1.

Record law (A : Type) := Law {
  E :> (A -> R) -> R;
  E_mono : forall f g, test f -> test g -> (forall a, f a <= g a) -> E f <= E g;
  E_const : forall c, 0 <= c <= 1 -> E (fun _ => c) = c;
  E_plus : forall f g, test f -> test g -> test (fun a => f a + g a) ->
             E (fun a => f a + g a) = E f + E g;
  E_scale : forall c f, 0 <= c -> test f -> test (fun a => c * f a) ->
             E (fun a => c * f a) = c * E f
}.
Arguments E {A}. Arguments E_mono {A}. Arguments E_const {A}. Arguments E_plus {A}. Arguments E_scale {A}.

Lemma E_test {A} (P : law A) f : test f -> 0 <= P f <= 1.
Proof.
  intros Hf. split.
  - rewrite <- (E_const P 0) by lra. apply E_mono; auto; intros a; try lra; apply Hf.
  - rewrite <- (E_const P 1) by lra. apply E_mono; auto; intros a; try lra; apply Hf.
Qed.

(** Pointwise equal tests have one expectation; this is functional extensionality. *)
Lemma E_ext {A} (P : law A) f g : (forall a, f a = g a) -> P f = P g.
Proof. intros H. f_equal. apply functional_extensionality. exact H. Qed.

Lemma E_range {A} (P : law A) f a b : 0 <= a -> b <= 1 -> (forall x, a <= f x <= b) -> a <= P f <= b.
Proof.
  intros Ha Hb H.
  destruct (Rle_dec a b) as [Hab|Hab].
  2: { exfalso. apply Hab. assert (test f -> False).
       { intros Hf. pose proof (E_mono P f (fun _ => 0)). assert (forall x : A, False) as No.
         { intros x. specialize (H x). lra. }
         pose proof (E_const P 0 ltac:(lra)). pose proof (E_const P 1 ltac:(lra)).
         assert (P (fun _ => 0) = P (fun _ => 1)) by (apply E_ext; intros x; destruct (No x)). lra. }
       exfalso. apply H0. intros x. specialize (H x). lra. }
  assert (test f) by (intros x; specialize (H x); lra). split.
  - rewrite <- (E_const P a) by lra. apply E_mono; auto; intros x; specialize (H x); lra.
  - rewrite <- (E_const P b) by lra. apply E_mono; auto; intros x; specialize (H x); lra.
Qed.

Program Definition point {A} (a : A) : law A := {| E := fun f => f a |}.

Lemma E_inner {A B} (k : A -> law B) f : test f -> test (fun a => k a f).
Proof. intros Hf a. apply E_test; auto. Qed.
#[export] Hint Resolve E_inner : core.

(** First one law, then another that may depend on what the first one gave. *)
Program Definition bind {A B} (P : law A) (k : A -> law B) : law B := {| E := fun f => P (fun a => k a f) |}.
Next Obligation. apply E_mono; auto. intros a. apply E_mono; auto. Qed.
Next Obligation.
  transitivity (P (fun _ => c)); [|apply E_const; lra].
  apply E_ext. intros a. apply E_const; lra.
Qed.
Next Obligation.
  rewrite <- E_plus; auto.
  - apply E_ext. intros a; apply E_plus; auto.
  - intros a. rewrite <- E_plus; auto. apply E_test; auto.
Qed.
Next Obligation.
  rewrite <- E_scale; auto.
  - apply E_ext. intros a; apply E_scale; auto.
  - intros a. rewrite <- E_scale; auto. apply E_test; auto.
Qed.

(** The law of a function of the outcome. *)
Definition image {A B} (g : A -> B) (P : law A) : law B := bind P (fun a => point (g a)).

(** A coin that shows a with probability t, else b. *)
Program Definition coin {A} (t : R) (Ht : 0 <= t <= 1) (a b : A) : law A :=
  {| E := fun f => t * f a + (1 - t) * f b |}.
Next Obligation. pose proof (H1 a). pose proof (H1 b). nra. Qed.
Next Obligation. ring. Qed.
Next Obligation. ring. Qed.
Next Obligation. ring. Qed.

(** Laws are equal where they give every test the same. *)
Definition same {A} (P Q : law A) := forall f, test f -> P f = Q f.

Lemma same_refl {A} (P : law A) : same P P. Proof. intros f _; reflexivity. Qed.
Lemma same_sym {A} (P Q : law A) : same P Q -> same Q P. Proof. intros H f Hf; symmetry; auto. Qed.
Lemma same_trans {A} (P Q S : law A) : same P Q -> same Q S -> same P S.
Proof. intros H1 H2 f Hf. rewrite H1, H2; auto. Qed.
Lemma same_bind {A B} (P Q : law A) (k l : A -> law B) :
  same P Q -> (forall a, same (k a) (l a)) -> same (bind P k) (bind Q l).
Proof.
  intros H1 H2 f Hf. simpl. rewrite H1 by auto. apply E_ext. intros a. apply H2; auto.
Qed.

(* ---------------------------------------------------------------- tests *)

Lemma test_const {A} c : 0 <= c <= 1 -> test (fun _ : A => c).
Proof. intros H a; auto. Qed.

Lemma test_scale {A} c (f : A -> R) : 0 <= c <= 1 -> test f -> test (fun a => c * f a).
Proof. intros Hc Hf a. specialize (Hf a). nra. Qed.

Lemma test_mult {A} (f g : A -> R) : test f -> test g -> test (fun a => f a * g a).
Proof. intros Hf Hg a. specialize (Hf a). specialize (Hg a). nra. Qed.

Lemma test_minus {A} (f : A -> R) : test f -> test (fun a => 1 - f a).
Proof. intros Hf a. specialize (Hf a). lra. Qed.

Lemma test_min {A} (f : A -> R) c : 0 <= c -> (forall a, 0 <= f a) -> test (fun a => Rmin 1 (c * f a)).
Proof.
  intros Hc Hf a. specialize (Hf a). split; [|apply Rmin_l]. apply Rmin_glb; [lra|nra].
Qed.

Lemma E_minus {A} (P : law A) f : test f -> P (fun a => 1 - f a) = 1 - P f.
Proof.
  intros Hf. assert (P (fun a => (1 - f a) + f a) = P (fun a => 1 - f a) + P f).
  { apply E_plus; auto using test_minus. intros a. specialize (Hf a). lra. }
  assert (P (fun a => (1 - f a) + f a) = 1).
  { transitivity (P (fun _ => 1)); [apply E_ext; intros; ring | apply E_const; lra]. }
  lra.
Qed.

(** The expectation of a test is at most c times that of another where this holds pointwise; c is any number. *)
Lemma E_le_scale {A} (P : law A) f g c : test f -> test g -> 0 <= c ->
  (forall a, f a <= c * g a) -> P f <= c * P g.
Proof.
  intros Hf Hg Hc H. pose proof (E_test P f Hf). pose proof (E_test P g Hg).
  destruct (Rle_dec c 1).
  - rewrite <- E_scale; auto using test_scale. apply E_mono; auto using test_scale.
  - apply Rmult_le_reg_l with (/ c); [apply Rinv_0_lt_compat; lra|].
    rewrite <- Rmult_assoc, Rinv_l, Rmult_1_l by lra.
    assert (0 <= / c <= 1).
    { split; [left; apply Rinv_0_lt_compat; lra|]. rewrite <- Rinv_1. apply Rinv_le_contravar; lra. }
    rewrite <- E_scale; auto using test_scale; [|lra].
    apply E_mono; auto using test_scale. intros a. specialize (H a).
    apply Rmult_le_reg_l with c; [lra|]. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. auto.
Qed.

Lemma E_ge_scale {A} (P : law A) f g c : test f -> test g -> 0 <= c ->
  (forall a, c * g a <= f a) -> c * P g <= P f.
Proof.
  intros Hf Hg Hc H. destruct Hc as [Hc|<-].
  2: { rewrite Rmult_0_l. apply E_test; auto. }
  assert (P g <= / c * P f).
  { apply E_le_scale; auto. left; apply Rinv_0_lt_compat; auto.
    intros a. apply Rmult_le_reg_l with c; auto. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. auto. }
  apply Rmult_le_reg_l with (/ c); [apply Rinv_0_lt_compat; auto|].
  rewrite <- Rmult_assoc, Rinv_l, Rmult_1_l by lra. auto.
Qed.

Lemma share c d : 0 <= c -> 0 <= d -> 0 <= c / (c + d + 1) <= 1.
Proof.
  intros. split.
  - apply Rmult_le_pos; auto. left; apply Rinv_0_lt_compat; lra.
  - apply Rmult_le_reg_r with (c + d + 1); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.

Lemma E_shares {A} (P : law A) g c d : test g -> 0 <= c -> 0 <= d ->
  test (fun a => (c * g a + d) / (c + d + 1)) /\
  P (fun a => (c * g a + d) / (c + d + 1)) = (c * P g + d) / (c + d + 1).
Proof.
  intros Hg Hc Hd. pose proof (share c d Hc Hd). pose proof (share d c Hd Hc).
  replace (d + c + 1) with (c + d + 1) in H0 by ring.
  assert (Heq : forall a, (c * g a + d) / (c + d + 1) = c / (c + d + 1) * g a + d / (c + d + 1))
    by (intros; field; lra).
  assert (Hs : c / (c + d + 1) + d / (c + d + 1) <= 1).
  { replace (c / (c + d + 1) + d / (c + d + 1)) with (1 - / (c + d + 1)) by (field; lra).
    assert (0 < / (c + d + 1)) by (apply Rinv_0_lt_compat; lra). lra. }
  assert (Ht : test (fun a => c / (c + d + 1) * g a + d / (c + d + 1))).
  { intros a. specialize (Hg a). nra. }
  split.
  - intros a. rewrite Heq. apply Ht.
  - transitivity (P (fun a => c / (c + d + 1) * g a + d / (c + d + 1))); [apply E_ext, Heq|].
    rewrite (E_plus P (fun a => c / (c + d + 1) * g a) (fun _ => d / (c + d + 1))); auto using test_const.
    + rewrite E_scale, E_const; auto; try lra; try (apply test_scale; auto); try (field; lra).
    + apply test_scale; auto.
Qed.

(** f ≤ c·g + d pointwise, so in expectation. *)
Lemma E_le_affine {A} (P : law A) f g c d : test f -> test g -> 0 <= c -> 0 <= d ->
  (forall a, f a <= c * g a + d) -> P f <= c * P g + d.
Proof.
  intros Hf Hg Hc Hd H. destruct (E_shares P g c d Hg Hc Hd) as [Ht Hh].
  assert (P f <= (c + d + 1) * P (fun a => (c * g a + d) / (c + d + 1))).
  { apply E_le_scale; auto; [lra|]. intros a. specialize (H a).
    replace ((c + d + 1) * ((c * g a + d) / (c + d + 1))) with (c * g a + d) by (field; lra). auto. }
  rewrite Hh in H0. replace ((c + d + 1) * ((c * P g + d) / (c + d + 1))) with (c * P g + d) in H0 by (field; lra).
  auto.
Qed.

Lemma E_affine {A} (P : law A) g c d : test g -> 0 <= c -> 0 <= d -> test (fun a => c * g a + d) ->
  P (fun a => c * g a + d) = c * P g + d.
Proof.
  intros Hg Hc Hd Ht. destruct (E_shares P g c d Hg Hc Hd) as [Hs Hh].
  transitivity (P (fun a => (c + d + 1) * ((c * g a + d) / (c + d + 1)))).
  - apply E_ext. intros a. field. lra.
  - rewrite E_scale; auto; [|lra|].
    + rewrite Hh. field. lra.
    + intros a. replace ((c + d + 1) * ((c * g a + d) / (c + d + 1))) with (c * g a + d) by (field; lra). auto.
Qed.

Lemma E_mix {A} (P : law A) f g t : 0 <= t <= 1 -> test f -> test g ->
  P (fun a => t * f a + (1 - t) * g a) = t * P f + (1 - t) * P g.
Proof.
  intros Ht Hf Hg. rewrite (E_plus P (fun a => t * f a) (fun a => (1 - t) * g a)).
  - rewrite !E_scale; auto; try lra; apply test_scale; auto; lra.
  - apply test_scale; auto; lra.
  - apply test_scale; auto; lra.
  - intros a. specialize (Hf a). specialize (Hg a). nra.
Qed.

(* ---------------------------------------------------------------- lists of independent draws *)

Fixpoint each {A} (Ps : list (law A)) : law (list A) :=
  match Ps with
  | [] => point []
  | P :: rest => bind P (fun a => bind (each rest) (fun l => point (a :: l)))
  end.
