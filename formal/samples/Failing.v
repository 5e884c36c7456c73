(** What failures cost on Poisson samples.

    A mechanism that fails with probability β may then say on which dataset it ran: the outcome [inr true] has
    probability β with the unit and 0 without it, [inr false] the other way round.  On a sample of rate q, removing a
    unit, the first has an infinite loss and probability qβ; the second has the loss ln(1 - q) and probability β
    without the unit, (1 - q)β with it.  Adding a unit no loss is infinite: the second has the loss - ln(1 - q). *)
Require Import Reals Lra Psatz List FunctionalExtensionality.
From DP.base Require Import Laws.
From DP.samples Require Import Poisson.
Open Scope R_scope.

Section Failing.
  Variables (A : Type) (beta : R).
  Hypothesis Hb : 0 <= beta <= 1.

  (** P, but with probability β a failure that names its side. *)
  Definition fail (side : bool) (P : law A) : law (A + bool) := mix beta Hb (point (inr side)) (image inl P).

  Lemma fail_E side P f : fail side P f = beta * f (inr side) + (1 - beta) * P (fun a => f (inl a)).
  Proof. reflexivity. Qed.

  (** Tests that know one of the two laws, and what to say at a failure. *)
  Lemma inner_test (f : A + bool -> R) : test f -> test (fun a => f (inl a)).
  Proof. intros Hf a. apply Hf. Qed.

  Definition extend (g : A -> R) (u v : R) (o : A + bool) : R :=
    match o with inl a => g a | inr true => u | inr false => v end.

  Lemma extend_test g u v : test g -> 0 <= u <= 1 -> 0 <= v <= 1 -> test (extend g u v).
  Proof. intros Hg Hu Hv [a|[|]]; simpl; auto. Qed.

  Lemma image_extend (P : law A) g u v : P (fun a => extend g u v (inl a)) = P g.
  Proof. reflexivity. Qed.

  (** A gain that is a multiple of an inner gain, and something that failures add: what the supremum is. *)
  Lemma curve_with (L L' : law (A + bool)) (K K' : law A) c d s u v : 0 <= c -> 0 <= d ->
    (forall f, test f -> L f - c * L' f <= s * (K (fun a => f (inl a)) - c * K' (fun a => f (inl a))) + d) ->
    0 <= s -> 0 <= u <= 1 -> 0 <= v <= 1 ->
    (forall g, test g -> L (extend g u v) - c * L' (extend g u v) = s * (K g - c * K' g) + d) ->
    curve L L' c = s * curve K K' c + d.
  Proof.
    intros Hc Hd Hup Hs Hu Hv Hat. apply Rle_antisym.
    - apply curve_least. intros f Hf. apply Rle_trans with (1 := Hup f Hf).
      apply Rplus_le_compat_r, Rmult_le_compat_l; auto.
      apply curve_above; auto using inner_test.
    - destruct Hs as [Hs|<-].
      + assert (G : curve K K' c <= (curve L L' c - d) * / s).
        { apply curve_least. intros g Hg. pose proof (curve_above L L' c Hc _ (extend_test g u v Hg Hu Hv)) as G.
          rewrite (Hat g Hg) in G. apply Rmult_le_reg_l with s; auto.
          replace (s * ((curve L L' c - d) * / s)) with (curve L L' c - d) by (field; lra). lra. }
        apply Rmult_le_compat_l with (r := s) in G; [|lra].
        replace (s * ((curve L L' c - d) * / s)) with (curve L L' c - d) in G by (field; lra). lra.
      + pose proof (curve_above L L' c Hc _ (extend_test (fun _ => 0) u v test_0 Hu Hv)) as G.
        rewrite (Hat _ test_0) in G. lra.
  Qed.

  (** Beside a curve: β + (1 - β)·δ, at every c and in both directions. *)
  Theorem failing_curve (P Q : law A) side c : 0 <= c ->
    curve (fail side P) (fail (negb side) Q) c = (1 - beta) * curve P Q c + beta.
  Proof.
    intros Hc. apply curve_with with (u := if side then 1 else 0) (v := if side then 0 else 1); try lra.
    - intros f Hf. rewrite !fail_E. pose proof (Hf (inr side)). pose proof (Hf (inr (negb side))).
      assert (0 <= c * (beta * f (inr (negb side)))) by (repeat apply Rmult_le_pos; lra). nra.
    - destruct side; lra.
    - destruct side; lra.
    - intros g Hg. rewrite !fail_E, !image_extend. destruct side; simpl; ring.
  Qed.

  Section Sampled.
    Variables (P Q : law A) (q : R).
    Hypothesis Hq : 0 <= q <= 1.
    Local Notation P' := (fail true P).
    Local Notation Q' := (fail false Q).
    Local Notation part := (mix q Hq).

    (** What every test gains, removing and adding. *)
    Theorem removed_gain f c : part P' Q' f - c * Q' f =
      (1 - beta) * (part P Q (fun a => f (inl a)) - c * Q (fun a => f (inl a)))
      + q * beta * f (inr true) + (1 - q - c) * beta * f (inr false).
    Proof. rewrite !mix_E, !fail_E. ring. Qed.

    Theorem added_gain f c : Q' f - c * part P' Q' f =
      (1 - beta) * (Q (fun a => f (inl a)) - c * part P Q (fun a => f (inl a)))
      + (1 - c * (1 - q)) * beta * f (inr false) - c * q * beta * f (inr true).
    Proof. rewrite !mix_E, !fail_E. ring. Qed.

    (** The probabilities of the two failures, with the unit and without it. *)
    Theorem failure_masses :
      part P' Q' (extend (fun _ => 0) 1 0) = q * beta /\ Q' (extend (fun _ => 0) 1 0) = 0 /\
      part P' Q' (extend (fun _ => 0) 0 1) = (1 - q) * beta /\ Q' (extend (fun _ => 0) 0 1) = beta.
    Proof. rewrite !mix_E, !fail_E. unfold extend. rewrite !E_0. repeat split; ring. Qed.

    (** Removing a unit: the finite losses of the whole, an infinite one of probability qβ, and the loss ln(1 - q). *)
    Theorem removed_failing c : 0 <= c ->
      curve (part P' Q') Q' c = (1 - beta) * curve (part P Q) Q c + (q * beta + beta * Rmax 0 (1 - q - c)).
    Proof.
      intros Hc. pose proof (Rmax_l 0 (1 - q - c)) as M1. pose proof (Rmax_r 0 (1 - q - c)) as M2.
      apply curve_with with (u := 1) (v := if Rle_dec c (1 - q) then 1 else 0); try lra; auto.
      - nra.
      - intros f Hf. rewrite removed_gain. pose proof (Hf (inr true)). pose proof (Hf (inr false)).
        assert (q * beta * f (inr true) <= q * beta * 1) by (apply Rmult_le_compat_l; nra).
        assert (beta * ((1 - q - c) * f (inr false)) <= beta * Rmax 0 (1 - q - c)) by (apply Rmult_le_compat_l; nra).
        nra.
      - destruct Rle_dec; lra.
      - intros g Hg. rewrite removed_gain, !image_extend. simpl. destruct Rle_dec.
        + rewrite Rmax_right by lra. ring.
        + rewrite Rmax_left by lra. ring.
    Qed.

    (** Adding one: no infinite loss, and β at the loss - ln(1 - q), the largest there is. *)
    Theorem added_failing c : 0 <= c ->
      curve Q' (part P' Q') c = (1 - beta) * curve Q (part P Q) c + beta * Rmax 0 (1 - c * (1 - q)).
    Proof.
      intros Hc. pose proof (Rmax_l 0 (1 - c * (1 - q))) as M1. pose proof (Rmax_r 0 (1 - c * (1 - q))) as M2.
      apply curve_with with (u := 0) (v := if Rle_dec (c * (1 - q)) 1 then 1 else 0); try lra; auto.
      - nra.
      - intros f Hf. rewrite added_gain. pose proof (Hf (inr true)). pose proof (Hf (inr false)).
        assert (0 <= c * q * beta * f (inr true)) by (repeat apply Rmult_le_pos; lra).
        assert (beta * ((1 - c * (1 - q)) * f (inr false)) <= beta * Rmax 0 (1 - c * (1 - q)))
          by (apply Rmult_le_compat_l; nra).
        nra.
      - destruct Rle_dec; lra.
      - intros g Hg. rewrite added_gain, !image_extend. simpl. destruct Rle_dec.
        + rewrite Rmax_right by lra. ring.
        + rewrite Rmax_left by lra. ring.
    Qed.

    (** So, where a unit is added, everything is within the factor 1/(1 - q), failures too. *)
    Theorem added_finite : q < 1 -> forall f, test f -> Q' f <= / (1 - q) * part P' Q' f.
    Proof.
      intros H f Hf. pose proof (added_gain f (/ (1 - q))) as G. pose proof (E_test P' f Hf).
      rewrite mix_E. apply Rmult_le_reg_l with (1 - q); [lra|]. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. nra.
    Qed.

    (** The failures of the removed direction apart: qβ + (1 - qβ)·δ of the finite losses of the sample without any
        failure is a bound. *)
    Theorem removed_apart c : 0 <= c ->
      curve (part P' Q') Q' c <= q * beta + (1 - q * beta) * curve (part P Q) Q c.
    Proof.
      intros Hc. rewrite removed_failing by auto. pose proof (curve_nonneg (part P Q) Q c Hc) as H0.
      pose proof (curve_all (part P Q) Q c Hc) as H1.
      assert (Rmax 0 (1 - q - c) <= (1 - q) * curve (part P Q) Q c).
      { apply Rmax_lub; [nra|].
        assert ((1 - q) * (1 - c) <= (1 - q) * curve (part P Q) Q c) by (apply Rmult_le_compat_l; lra). nra. }
      assert (beta * Rmax 0 (1 - q - c) <= beta * ((1 - q) * curve (part P Q) Q c)) by (apply Rmult_le_compat_l; lra).
      nra.
    Qed.
  End Sampled.

  (** Both directions of a mechanism on samples of rows that fails with probability β. *)
  Corollary poisson_failing {row B} (q : R) (Hq : 0 <= q <= 1) (M : list row -> law B) (P Q : law A) u l m : 0 < q ->
    (forall s s', dominated (M (s ++ u :: s')%list) (M (s ++ s')%list) (fail true P) (fail false Q)) ->
    forall c f, 0 <= c -> test f ->
    bind (sample q Hq (l ++ u :: m)%list) M f - c * bind (sample q Hq (l ++ m)%list) M f
      <= (1 - beta) * curve (mix q Hq P Q) Q c + (q * beta + beta * Rmax 0 (1 - q - c)) /\
    bind (sample q Hq (l ++ m)%list) M f - c * bind (sample q Hq (l ++ u :: m)%list) M f
      <= (1 - beta) * curve Q (mix q Hq P Q) c + beta * Rmax 0 (1 - c * (1 - q)).
  Proof.
    intros Hpos H c f Hc Hf. destruct (poisson_sampled q Hq Hpos M _ _ u l m H) as [H1 H2].
    rewrite <- removed_failing, <- added_failing by auto.
    split; [apply (H1 c) | apply (H2 c)]; auto; intros g Hg; apply curve_above; auto.
  Qed.
End Failing.
