(** Poisson samples: the hockey-stick of what is sampled bounds that of the whole, in either direction. *)
Require Import Reals Lra Psatz.
From DP.base Require Import Laws.
From DP Require Import Definitions.
From DP.account Require Import Kinds.
Open Scope R_scope.

Section Sampled.
  Context {A S : Type} (q : R) (others : law S) (present absent : S -> law A) (with_unit without : law A).
  Hypothesis Hq : 0 < q <= 1.
  Hypothesis drawn : forall f, test f ->
    with_unit f = others (fun s => q * present s f + (1 - q) * absent s f) /\ without f = others (fun s => absent s f).

  Lemma sampled_line f c d : test f -> 0 <= c -> 0 <= d ->
    (forall s, q * present s f + (1 - q) * absent s f <= c * absent s f + d) ->
    with_unit f <= d + c * without f.
  Proof.
    intros Hf Hc Hd H. destruct (drawn f Hf) as [-> ->]. rewrite Rplus_comm. apply E_le_affine; auto. intros s.
    pose proof (E_test (present s) f Hf). pose proof (E_test (absent s) f Hf). nra.
  Qed.

  (** Below 1 - q the whole space is the best test, *)
  Lemma there_low f c : test f -> 0 <= c <= 1 - q -> with_unit f <= 1 - c + c * without f.
  Proof.
    intros Hf Hc. apply sampled_line; auto; try lra. intros s.
    pose proof (E_test (present s) f Hf). pose proof (E_test (absent s) f Hf). nra.
  Qed.

  (** and from there on what is sampled decides, at (c - 1 + q)/q. *)
  Lemma there_high f c d : test f -> 0 <= c -> 0 <= d ->
    (forall s, present s f <= d + (c - 1 + q) / q * absent s f) -> with_unit f <= q * d + c * without f.
  Proof.
    intros Hf Hc Hd H. apply sampled_line; auto; [nra|]. intros s. specialize (H s).
    apply Rmult_le_compat_l with (r := q) in H; [|lra].
    replace (q * (d + (c - 1 + q) / q * absent s f)) with (q * d + (c - 1 + q) * absent s f) in H by (field; lra). lra.
  Qed.

  Lemma back_line f c d : test f -> 0 <= c -> 0 <= d ->
    (forall s, absent s f <= c * (q * present s f + (1 - q) * absent s f) + d) ->
    without f <= d + c * with_unit f.
  Proof.
    intros Hf Hc Hd H. destruct (drawn f Hf) as [-> ->]. rewrite Rplus_comm. apply E_le_affine; auto. intros s.
    pose proof (E_test (present s) f Hf). pose proof (E_test (absent s) f Hf). nra.
  Qed.

  (** The other way round nothing is gained from 1/(1 - q) on, *)
  Lemma back_high f c : test f -> 0 <= c -> 1 <= (1 - q) * c -> without f <= 0 + c * with_unit f.
  Proof.
    intros Hf Hc H. apply back_line; auto; try lra. intros s.
    pose proof (E_test (present s) f Hf). pose proof (E_test (absent s) f Hf).
    assert (0 <= c * (q * present s f)) by (repeat apply Rmult_le_pos; lra). nra.
  Qed.

  (** and below it what is sampled decides, at qc/r where r = 1 - (1 - q)c. *)
  Lemma back_low f c d : test f -> 0 <= c -> 0 < 1 - (1 - q) * c -> 0 <= d ->
    (forall s, absent s f <= d + q * c / (1 - (1 - q) * c) * present s f) ->
    without f <= (1 - (1 - q) * c) * d + c * with_unit f.
  Proof.
    intros Hf Hc Hr Hd H. set (r := 1 - (1 - q) * c) in *. apply back_line; auto; [nra|]. intros s. specialize (H s).
    apply Rmult_le_compat_l with (r := r) in H; [|lra].
    replace (r * (d + q * c / r * present s f)) with (r * d + q * c * present s f) in H by (field; lra).
    unfold r in H at 1. lra.
  Qed.
End Sampled.
