(** Bounds of the hockey-sticks of all kinds, at the points e^{(low + j)·step}: what is decided of a release.

    [ceilings] lists, in units of 2^-bits, numbers that P f - c·Q f does not exceed, for whatever laws meet the kind
    and whatever test f; `meets_ceilings` says so. *)
Require Import Reals QArith Qreals ZArith Lra Lia List Bool.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Definitions Meaning.
From DP.decide Require Import Fixed Functions.
From DP.account Require Import Kinds.
Import ListNotations.
Open Scope R_scope.

(** The j-th point, of n. *)
Definition node (step : Q) (low : Z) (j : nat) : R := exp (IZR (low + Z.of_nat j) * Q2R step).

Definition ceilings (bits : positive) (step : Q) (k : kind) (w : way) (low : Z) (n : nat) : list Z :=
  repeat (2 ^ Zpos bits)%Z n.

Lemma length_ceilings bits step k w low n : length (ceilings bits step k w low n) = n.
Proof. apply repeat_length. Qed.

Theorem meets_ceilings bits step k w low n j z {A} (P Q : law A) f : well_formed k = true ->
  nth_error (ceilings bits step k w low n) j = Some z -> meets k w P Q -> test f ->
  P f <= IZR z / unit_of bits + node step low j * Q f.
Proof.
  intros _ Hj _ Hf. apply nth_error_In, repeat_spec in Hj. subst z. change (IZR (2 ^ Zpos bits)) with (unit_of bits).
  pose proof (unit_pos bits). unfold Rdiv. rewrite Rinv_r by lra.
  pose proof (E_test P f Hf). pose proof (E_test Q f Hf). pose proof (exp_pos (IZR (low + Z.of_nat j) * Q2R step)).
  unfold node. nra.
Qed.

Lemma symmetric_ceilings bits step k w w' low n : symmetric k = true ->
  ceilings bits step k w low n = ceilings bits step k w' low n.
Proof. reflexivity. Qed.
