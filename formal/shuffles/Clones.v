(** Answers of which is shown how many are which: how others' answers hide one.

    An answer has weights: a function of its outcome, which lies below [width].  What is shown is a symmetric function
    of all outcomes, and is summed over them.  One unit's answer has the weights x on one dataset and y on the other, with
    ratios of at most p.  Both are made of the same parts, x = pA + B + pJ and y = A + pB + pJ, and the weights of anybody
    else are at least max(x, y)/p = A + B + J in every outcome (Feldman, McMillan & Talwar 2023): with some probability
    the others draw from A + B + J, as clones of the unit.

    To be bounded is the sum over x - ty = uA - vB - zJ with u = p - t, v = pt - 1 and z = p(t - 1).  Given who draws from
    A + B + J, all of them and the unit may change places; so the sum is the mean over who the unit is, in which the
    numbers u, -v and -z of all outcomes add up: at most the positive part of a walk's end ([accumulate]). *)
Require Import Reals Lra Lia Psatz List Permutation FunctionalExtensionality.
From DP.base Require Import Sums.
Import ListNotations.
Open Scope R_scope.

Definition positive_part (x : R) : R := Rmax 0 x.

Section Sums.
  Variable width : nat.

  Definition weigh (v f : nat -> R) : R := total (fun j => v j * f j) (seq 0 width).

  Fixpoint over_all (vs : list (nat -> R)) (g : list nat -> R) : R :=
    match vs with [] => g [] | v :: rest => weigh v (fun j => over_all rest (fun l => g (j :: l))) end.

  Definition symmetric (g : list nat -> R) := forall l l', Permutation l l' -> g l = g l'.

  Definition mass (v : nat -> R) : R := total v (seq 0 width).

  Lemma symmetric_cons g j : symmetric g -> symmetric (fun l => g (j :: l)).
  Proof. intros Hg l l' Hl. apply Hg. auto. Qed.

  Lemma over_all_permuted vs vs' : Permutation vs vs' -> forall g, symmetric g -> over_all vs g = over_all vs' g.
  Proof.
    induction 1 as [|v vs vs' _ IH | v w vs | vs vs' vs'' _ IH1 _ IH2]; intros g Hg; auto.
    - cbn [over_all]. unfold weigh. apply total_ext. intros j _. f_equal. apply IH, symmetric_cons; auto.
    - cbn [over_all]. unfold weigh. rewrite (total_ext _ (fun j => total (fun k => w j * (v k * over_all vs (fun l => g (j :: k :: l)))) (seq 0 width))).
      2: { intros j _. rewrite total_scale. reflexivity. }
      rewrite total_swap. apply total_ext. intros j _. rewrite <- total_scale. apply total_ext. intros k _.
      rewrite (functional_extensionality (fun l => g (k :: j :: l)) (fun l => g (j :: k :: l))); [ring|].
      intros l. apply Hg. constructor.
    - rewrite IH1, IH2; auto.
  Qed.

  Lemma weigh_le v f b : (forall j, 0 <= v j) -> (forall j, f j <= b) -> weigh v f <= mass v * b.
  Proof.
    intros Hv Hf. unfold weigh, mass. rewrite Rmult_comm, <- total_scale. apply total_le. intros j _. rewrite (Rmult_comm b).
    apply Rmult_le_compat_l; auto.
  Qed.

  (* ---------------------------------------------------------------- what both are made of *)

  Variables (A B J : nat -> R) (a b u v z : R).
  Hypothesis HA : forall j, 0 <= A j.
  Hypothesis HB : forall j, 0 <= B j.
  Hypothesis HJ : forall j, 0 <= J j.
  Hypothesis MA : mass A = a.
  Hypothesis MB : mass B = a.
  Hypothesis MJ : mass J = b.

  Definition common (j : nat) : R := A j + B j + J j.
  Definition moved (j : nat) : R := u * A j - v * B j - z * J j.

  Definition step (phi : R -> R) (s : R) : R := a * phi (s + u) + a * phi (s - v) + b * phi (s - z).

  Fixpoint walk (n : nat) (phi : R -> R) : R -> R := match n with O => phi | S m => step (walk m phi) end.

  Definition bounded (M : R) (g : list nat -> R) := forall l, 0 <= g l <= M.

  Lemma weigh_common f : weigh common f = weigh A f + weigh B f + weigh J f.
  Proof. unfold weigh, common. rewrite <- !total_plus. apply total_ext. intros j _. ring. Qed.

  Lemma weigh_moved f : weigh moved f = u * weigh A f - v * weigh B f - z * weigh J f.
  Proof. unfold weigh, moved. rewrite <- !total_scale, <- !total_minus. apply total_ext. intros j _. ring. Qed.

  Lemma accumulate n : forall g s M, symmetric g -> bounded M g ->
    s * over_all (repeat common n) g + INR n * over_all (moved :: repeat common (n - 1)) g <= M * walk n positive_part s.
  Proof.
    induction n as [|n IH]; intros g s M Hg HM.
    - pose proof (HM []) as H. cbn [repeat over_all walk]. change (INR 0) with 0. unfold positive_part.
      pose proof (Rmax_l 0 s). pose proof (Rmax_r 0 s). nra.
    - assert (HM0 : 0 <= M) by (specialize (HM []); lra).
      set (one := fun j => over_all (repeat common n) (fun l => g (j :: l))).
      set (two := fun j => INR n * over_all (moved :: repeat common (n - 1)) (fun l => g (j :: l))).
      assert (E1 : over_all (repeat common (S n)) g = weigh common one) by reflexivity.
      assert (E2 : over_all (moved :: repeat common (S n - 1)) g = weigh moved one) by (replace (S n - 1)%nat with n by lia; reflexivity).
      assert (E3 : INR n * over_all (moved :: repeat common (S n - 1)) g = weigh common two).
      { unfold two. transitivity (INR n * weigh common (fun j => over_all (moved :: repeat common (n - 1)) (fun l => g (j :: l)))).
        2: { unfold weigh at 1 2. rewrite <- total_scale. apply total_ext. intros; ring. }
        destruct n as [|m]; [simpl; ring|]. f_equal.
        replace (S (S m) - 1)%nat with (S m) by lia. replace (S m - 1)%nat with m by lia.
        apply (over_all_permuted (moved :: common :: repeat common m) (common :: moved :: repeat common m)); auto. constructor. }
      rewrite S_INR, Rmult_plus_distr_r, Rmult_1_l, E3, E2, E1, !weigh_common, weigh_moved.
      assert (K : forall (w : nat -> R) c, (forall j, 0 <= w j) ->
        (s + c) * weigh w one + weigh w two <= mass w * (M * walk n positive_part (s + c))).
      { intros w c Hw. replace ((s + c) * weigh w one + weigh w two) with (weigh w (fun j => (s + c) * one j + two j)).
        - apply weigh_le; auto. intros j. apply IH; [apply symmetric_cons; auto | intros l; apply HM].
        - unfold weigh. rewrite <- total_scale, <- total_plus. apply total_ext. intros j _. ring. }
      pose proof (K A u HA) as KA. pose proof (K B (- v) HB) as KB. pose proof (K J (- z) HJ) as KJ. rewrite MA in KA. rewrite MB in KB. rewrite MJ in KJ.
      cbn [walk]. unfold step. change (s - v) with (s + - v). change (s - z) with (s + - z). lra.
  Qed.

  (* ---------------------------------------------------------------- others, who draw from it at times *)

  Variable rho : R.

  Definition covers_common (w : nat -> R) := exists rest : nat -> R, (forall j, 0 <= rest j) /\ (forall j, w j = common j + rest j) /\ mass rest = rho.

  (** Of m others, each draws from it or not; c more do. *)
  Fixpoint mixed (alpha : nat -> R) (m c : nat) : R :=
    match m with O => alpha (S c) / INR (S c) | S m => mixed alpha m (S c) + rho * mixed alpha m c end.

  Lemma hidden_by ws : Forall covers_common ws -> forall c g M, symmetric g -> bounded M g ->
    over_all (moved :: repeat common c ++ ws) g <= M * mixed (fun n => walk n positive_part 0) (length ws) c.
  Proof.
    induction 1 as [|w ws [rest [Hr [Ew Mr]]] Hws IH]; intros c g M Hg HM.
    - rewrite app_nil_r. cbn [length mixed]. pose proof (accumulate (S c) g 0 M Hg HM) as H.
      replace (S c - 1)%nat with c in H by lia. rewrite Rmult_0_l, Rplus_0_l in H.
      assert (0 < INR (S c)) by (apply lt_0_INR; lia). apply Rmult_le_reg_l with (INR (S c)); auto.
      replace (INR (S c) * (M * (walk (S c) positive_part 0 / INR (S c)))) with (M * walk (S c) positive_part 0) by (field; lra). exact H.
    - assert (HM0 : 0 <= M) by (specialize (HM []); lra).
      assert (P : Permutation (moved :: repeat common c ++ w :: ws) (w :: moved :: repeat common c ++ ws)).
      { symmetry. apply (Permutation_middle (moved :: repeat common c)). }
      rewrite (over_all_permuted _ _ P g Hg).
      set (f := fun j => over_all (moved :: repeat common c ++ ws) (fun l => g (j :: l))).
      change (weigh w f <= M * mixed (fun n => walk n positive_part 0) (S (length ws)) c). cbn [mixed].
      replace (weigh w f) with (weigh common f + weigh rest f).
      2: { unfold weigh. rewrite <- total_plus. apply total_ext. intros j _. rewrite Ew. ring. }
      assert (C : weigh common f <= M * mixed (fun n => walk n positive_part 0) (length ws) (S c)).
      { change (weigh common f) with (over_all (common :: moved :: repeat common c ++ ws) g).
        rewrite (over_all_permuted _ (moved :: common :: repeat common c ++ ws)) by (auto; constructor). apply (IH (S c)); auto. }
      assert (D : weigh rest f <= mass rest * (M * mixed (fun n => walk n positive_part 0) (length ws) c)).
      { apply weigh_le; auto. intros j. apply IH; [apply symmetric_cons; auto | intros l; apply HM]. }
      rewrite Mr in D. lra.
  Qed.

  (** Whoever else answers may be known. *)
  Lemma more_known zs : (forall w, In w zs -> (forall j, 0 <= w j) /\ mass w = 1) -> forall vs bound,
    (forall g, symmetric g -> bounded 1 g -> over_all vs g <= bound) -> forall g, symmetric g -> bounded 1 g -> over_all (zs ++ vs) g <= bound.
  Proof.
    induction zs as [|w zs IH]; intros Hz vs bound HV g Hg HM; [apply HV; auto|].
    destruct (Hz w (or_introl eq_refl)) as [Hw Mw]. cbn [app over_all].
    apply Rle_trans with (mass w * bound); [|rewrite Mw; lra]. apply weigh_le; auto. intros j.
    apply IH; auto; [intros; apply Hz; right; auto | apply symmetric_cons; auto | intros l; apply HM].
  Qed.
End Sums.
