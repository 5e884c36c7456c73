(** Poisson samples under add-remove: the pair of what is sampled, mixed with its second law.

    A mechanism reads a sample that holds every row with probability q.  Where, on every sample, its results with and
    without one unit are dominated by a pair (P, Q), the results on the whole are dominated by (qP + (1 - q)Q, Q),
    and those of the other direction by the reverse.  The curve of that pair is computed from the curve of (P, Q) as
    dpaccount/numerics/closed/sampled_curves.py does.  samples/Failing.v adds failures. *)
Require Import Reals Lra Psatz List FunctionalExtensionality.
From DP.base Require Import Laws.
From DP.core Require Import Bounds.
Import ListNotations.
Open Scope R_scope.

(** One of two laws, the first with probability q. *)
Definition mix {A} (q : R) (Hq : 0 <= q <= 1) (P Q : law A) : law A := bind (coin q Hq P Q) (fun L => L).

(** The curve of a pair at c = e^ε: the most that c times the second law falls short of the first. *)
Definition curve {A} (P Q : law A) (c : R) : R := sup (fun x => exists f, test f /\ x = P f - c * Q f).

(** At every c, tests of L against L' gain no more than tests of P against Q. *)
Definition dominated {A B} (L L' : law A) (P Q : law B) : Prop := forall c delta, 0 <= c ->
  (forall g, test g -> P g - c * Q g <= delta) -> forall f, test f -> L f - c * L' f <= delta.

Lemma mix_E {A} q Hq (P Q : law A) f : mix q Hq P Q f = q * P f + (1 - q) * Q f.
Proof. reflexivity. Qed.

Lemma test_1 {A} : test (fun _ : A => 1).
Proof. intros a; lra. Qed.

Lemma test_0 {A} : test (fun _ : A => 0).
Proof. intros a; lra. Qed.

Lemma E_1 {A} (P : law A) : P (fun _ => 1) = 1.
Proof. apply E_const; lra. Qed.

Lemma E_0 {A} (P : law A) : P (fun _ => 0) = 0.
Proof. apply E_const; lra. Qed.

(* ---------------------------------------------------------------- curves *)

Section Curve.
  Context {A : Type} (P Q : law A) (c : R).
  Hypothesis Hc : 0 <= c.

  Lemma gain_most f : test f -> P f - c * Q f <= 1.
  Proof. intros Hf. pose proof (E_test P f Hf). pose proof (E_test Q f Hf). nra. Qed.

  Lemma curve_above f : test f -> P f - c * Q f <= curve P Q c.
  Proof.
    intros Hf. unfold curve. apply sup_above with (P (fun _ => 0) - c * Q (fun _ => 0)) 1.
    - exists (fun _ => 0). split; auto using test_0.
    - intros x [g [Hg ->]]. apply gain_most; auto.
    - exists f; auto.
  Qed.

  Lemma curve_least d : (forall f, test f -> P f - c * Q f <= d) -> curve P Q c <= d.
  Proof.
    intros H. unfold curve. apply sup_least with (P (fun _ => 0) - c * Q (fun _ => 0)).
    - exists (fun _ => 0). split; auto using test_0.
    - intros x [g [Hg ->]]. auto.
  Qed.

  Lemma curve_nonneg : 0 <= curve P Q c.
  Proof. pose proof (curve_above _ test_0). rewrite !E_0 in H. lra. Qed.

  Lemma curve_all : 1 - c <= curve P Q c.
  Proof. pose proof (curve_above _ test_1). rewrite !E_1 in H. lra. Qed.
End Curve.

(** What is attained, or approached, by tests is the curve. *)
Lemma curve_is {A} (P Q : law A) c d : 0 <= c -> (forall f, test f -> P f - c * Q f <= d) ->
  (exists f, test f /\ P f - c * Q f = d) -> curve P Q c = d.
Proof.
  intros Hc H [f [Hf <-]]. apply Rle_antisym; [apply curve_least; auto | apply curve_above; auto].
Qed.

Theorem dominated_curves {A B} (L L' : law A) (P Q : law B) :
  dominated L L' P Q <-> forall c, 0 <= c -> curve L L' c <= curve P Q c.
Proof.
  split.
  - intros H c Hc. apply curve_least; auto. apply H; auto. apply curve_above; auto.
  - intros H c d Hc Hd f Hf. specialize (H c Hc). pose proof (curve_above L L' c Hc f Hf).
    pose proof (curve_least P Q c d Hd). lra.
Qed.

(** δ(x) = 1 - x + x·δ of the reverse at 1/x. *)
Theorem curve_complement {A} (P Q : law A) x : 0 < x -> curve P Q x = 1 - x + x * curve Q P (/ x).
Proof.
  intros Hx. assert (Hi : 0 < / x) by (apply Rinv_0_lt_compat; auto).
  apply Rle_antisym.
  - apply curve_least. intros f Hf.
    pose proof (curve_above Q P (/ x) ltac:(lra) _ (test_minus f Hf)) as G. rewrite !E_minus in G by auto.
    apply Rmult_le_compat_l with (r := x) in G; [|lra].
    replace (x * (1 - Q f - / x * (1 - P f))) with (x - x * Q f - (1 - P f)) in G by (field; lra). lra.
  - assert (G : curve Q P (/ x) <= (curve P Q x - (1 - x)) * / x).
    { apply curve_least. intros f Hf.
      pose proof (curve_above P Q x ltac:(lra) _ (test_minus f Hf)) as G. rewrite !E_minus in G by auto.
      apply Rmult_le_reg_l with x; auto.
      replace (x * ((curve P Q x - (1 - x)) * / x)) with (curve P Q x - (1 - x)) by (field; lra).
      replace (x * (Q f - / x * P f)) with (x * Q f - P f) by (field; lra). lra. }
    apply Rmult_le_compat_l with (r := x) in G; [|lra].
    replace (x * ((curve P Q x - (1 - x)) * / x)) with (curve P Q x - (1 - x)) in G by (field; lra). lra.
Qed.

(** What is dominated at c >= 1 in both directions is dominated, and so is the reverse. *)
Theorem dominated_from_one {A B} (L L' : law A) (P Q : law B) :
  (forall c, 1 <= c -> curve L L' c <= curve P Q c) -> (forall c, 1 <= c -> curve L' L c <= curve Q P c) ->
  dominated L L' P Q.
Proof.
  intros H1 H2. apply dominated_curves. intros c Hc. destruct (Rle_dec 1 c) as [H|H]; auto.
  destruct Hc as [Hc|<-].
  - rewrite (curve_complement L L' c), (curve_complement P Q c) by auto. specialize (H2 (/ c)).
    apply Rplus_le_compat_l, Rmult_le_compat_l; [lra|].
    apply H2. rewrite <- Rinv_1. apply Rinv_le_contravar; lra.
  - apply curve_least. intros f Hf. pose proof (curve_all P Q 0 ltac:(lra)).
    pose proof (E_test L f Hf). lra.
Qed.

Theorem dominated_reverse {A B} (L L' : law A) (P Q : law B) : dominated L L' P Q -> dominated L' L Q P.
Proof.
  intros H. pose proof (proj1 (dominated_curves L L' P Q) H) as HC. apply dominated_from_one; intros c Hc.
  2: apply HC; lra.
  rewrite (curve_complement L' L c), (curve_complement Q P c) by lra.
  apply Rplus_le_compat_l, Rmult_le_compat_l; [lra|]. apply HC.
  left. apply Rinv_0_lt_compat. lra.
Qed.

(** Whatever else is drawn before: a mixture gains no more than its worst part. *)
Theorem dominated_bind {S A B} (W : law S) (k l : S -> law A) (P Q : law B) :
  (forall s, dominated (k s) (l s) P Q) -> dominated (bind W k) (bind W l) P Q.
Proof.
  intros H c d Hc Hd f Hf. assert (H0 : 0 <= d).
  { specialize (Hd _ test_0). rewrite !E_0 in Hd. lra. }
  pose proof (E_le_affine W (fun s => k s f) (fun s => l s f) c d (E_inner k f Hf) (E_inner l f Hf) Hc H0) as G.
  assert (W (fun s => k s f) <= c * W (fun s => l s f) + d); [|simpl; lra].
  apply G. intros s. specialize (H s c d Hc Hd f Hf). lra.
Qed.

Lemma dominated_same {A B} (K K' L L' : law A) (P Q : law B) :
  same K L -> same K' L' -> dominated L L' P Q -> dominated K K' P Q.
Proof. intros H H' HD c d Hc Hd f Hf. rewrite H, H' by auto. apply (HD c d); auto. Qed.

(* ---------------------------------------------------------------- a unit that is in the sample with probability q *)

Section Rate.
  Variable q : R.
  Hypothesis Hq : 0 <= q <= 1.
  Hypothesis Hpos : 0 < q.
  Local Notation part := (mix q Hq).

  Lemma part_gain {A} (P Q : law A) x f : part P Q f - x * Q f = q * (P f - (x - 1 + q) / q * Q f).
  Proof. rewrite mix_E. field. lra. Qed.

  (** The curve where a unit is removed: q·δ_in(y), y = (x - 1 + q)/q. *)
  Theorem removed_curve {A} (P Q : law A) x : 1 - q <= x -> curve (part P Q) Q x = q * curve P Q ((x - 1 + q) / q).
  Proof.
    intros Hx. assert (Hy : 0 <= (x - 1 + q) / q) by (apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra]).
    apply Rle_antisym.
    - apply curve_least. intros f Hf. rewrite part_gain. apply Rmult_le_compat_l; [lra|].
      apply curve_above; auto.
    - assert (G : curve P Q ((x - 1 + q) / q) <= curve (part P Q) Q x * / q).
      { apply curve_least. intros f Hf. pose proof (curve_above (part P Q) Q x ltac:(lra) f Hf) as G.
        rewrite part_gain in G. apply Rmult_le_reg_l with q; auto.
        replace (q * (curve (part P Q) Q x * / q)) with (curve (part P Q) Q x) by (field; lra). auto. }
      apply Rmult_le_compat_l with (r := q) in G; [|lra].
      replace (q * (curve (part P Q) Q x * / q)) with (curve (part P Q) Q x) in G by (field; lra). auto.
  Qed.

  (** Below it is 1 - x. *)
  Theorem removed_curve_low {A} (P Q : law A) x : 0 <= x <= 1 - q -> curve (part P Q) Q x = 1 - x.
  Proof.
    intros Hx. apply curve_is; [lra| |].
    - intros f Hf. rewrite mix_E. pose proof (E_test P f Hf). pose proof (E_test Q f Hf). nra.
    - exists (fun _ => 1). split; [apply test_1|]. rewrite !E_1. lra.
  Qed.

  (** The curve where a unit is added: r·δ_rev(qx/r), r = 1 - (1 - q)x, *)
  Theorem added_curve {A} (P Q : law A) x : 0 <= x -> 0 < 1 - (1 - q) * x ->
    curve Q (part P Q) x = (1 - (1 - q) * x) * curve Q P (q * x / (1 - (1 - q) * x)).
  Proof.
    intros Hx Hr. set (r := 1 - (1 - q) * x) in *.
    assert (Hy : 0 <= q * x / r) by (apply Rmult_le_pos; [nra | left; apply Rinv_0_lt_compat; auto]).
    assert (Gain : forall f, Q f - x * part P Q f = r * (Q f - q * x / r * P f)).
    { intros f. rewrite mix_E. replace (r * (Q f - q * x / r * P f)) with (r * Q f - q * x * P f) by (field; lra).
      unfold r. ring. }
    apply Rle_antisym.
    - apply curve_least. intros f Hf. rewrite Gain. apply Rmult_le_compat_l; [lra|]. apply curve_above; auto.
    - assert (G : curve Q P (q * x / r) <= curve Q (part P Q) x * / r).
      { apply curve_least. intros f Hf. pose proof (curve_above Q (part P Q) x Hx f Hf) as G.
        rewrite Gain in G. apply Rmult_le_reg_l with r; auto.
        replace (r * (curve Q (part P Q) x * / r)) with (curve Q (part P Q) x) by (field; lra). auto. }
      apply Rmult_le_compat_l with (r := r) in G; [|lra].
      replace (r * (curve Q (part P Q) x * / r)) with (curve Q (part P Q) x) in G by (field; lra). auto.
  Qed.

  (** and 0 from 1/(1 - q) on: no loss exceeds - ln(1 - q), whatever the mechanism does. *)
  Theorem added_curve_high {A} (P Q : law A) x : 1 <= (1 - q) * x -> curve Q (part P Q) x = 0.
  Proof.
    intros Hr. assert (Hx : 0 <= x) by nra. apply curve_is; auto.
    - intros f Hf. rewrite mix_E. pose proof (E_test P f Hf). pose proof (E_test Q f Hf).
      assert (0 <= x * (q * P f)) by (repeat apply Rmult_le_pos; lra). nra.
    - exists (fun _ => 0). split; [apply test_0|]. rewrite !E_0. lra.
  Qed.

  (** The largest losses: e^m becomes 1 - q + q e^m, and 1/(1 - q + q e^-m) in the other direction. *)
  Theorem removed_largest {A} (P Q : law A) m : (forall f, test f -> P f <= exp m * Q f) ->
    forall f, test f -> part P Q f <= (1 - q + q * exp m) * Q f.
  Proof. intros H f Hf. rewrite mix_E. specialize (H f Hf). nra. Qed.

  Theorem added_largest {A} (P Q : law A) m : (forall f, test f -> Q f <= exp m * P f) ->
    forall f, test f -> Q f <= / (1 - q + q * exp (- m)) * part P Q f.
  Proof.
    intros H f Hf. rewrite mix_E. specialize (H f Hf). pose proof (exp_pos (- m)) as He.
    assert (Hw : 0 < 1 - q + q * exp (- m)) by nra.
    apply Rmult_le_reg_l with (1 - q + q * exp (- m)); auto.
    rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
    apply Rmult_le_compat_l with (r := exp (- m)) in H; [|lra].
    rewrite <- Rmult_assoc, <- exp_plus, Rplus_opp_l, exp_0 in H. nra.
  Qed.

  (** A mechanism that gains no more than (P, Q) with a unit in its sample gains no more than the mixed pair. *)
  Lemma dominated_part {A B} (k l : law A) (P Q : law B) : dominated k l P Q -> dominated (part k l) l (part P Q) Q.
  Proof.
    intros H. apply dominated_curves. intros c Hc. destruct (Rle_dec (1 - q) c) as [Hle|Hgt].
    - rewrite !removed_curve by auto. apply Rmult_le_compat_l; [lra|].
      apply (proj1 (dominated_curves k l P Q) H). apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra].
    - rewrite !removed_curve_low by lra. lra.
  Qed.

  (* -------------------------------------------------------------- samples of rows *)

  (** Every row is in the sample with probability q, each by itself. *)
  Fixpoint sample {row} (rows : list row) : law (list row) :=
    match rows with
    | [] => point []
    | r :: rest => bind (sample rest) (fun s => coin q Hq (r :: s) s)
    end.

  Lemma sample_app {row} (l m : list row) f : sample (l ++ m) f = sample m (fun s' => sample l (fun s => f (s ++ s'))).
  Proof.
    revert f. induction l as [|r l IH]; intros f; [reflexivity|].
    cbn [app sample]. change (bind (sample (l ++ m)) (fun s => coin q Hq (r :: s) s) f)
      with (sample (l ++ m) (fun s => q * f (r :: s) + (1 - q) * f s)). rewrite IH. reflexivity.
  Qed.

  (** With one row alone the result is such a mixture, so the bounds of this folder are attained. *)
  Theorem one_row {row A} (M : list row -> law A) u : same (bind (sample [u]) M) (part (M [u]) (M [])).
  Proof. intros f _. reflexivity. Qed.

  (** What the sample holds of the rows before and after one row. *)
  Definition others {row} (l m : list row) : law (list row * list row) :=
    bind (sample m) (fun s' => bind (sample l) (fun s => point (s, s'))).

  Lemma sample_without {row A} (l m : list row) (M : list row -> law A) :
    same (bind (sample (l ++ m)) M) (bind (others l m) (fun s => M (fst s ++ snd s))).
  Proof. intros f Hf. simpl. rewrite sample_app. reflexivity. Qed.

  Lemma sample_with {row A} (l m : list row) u (M : list row -> law A) :
    same (bind (sample (l ++ u :: m)) M)
      (bind (others l m) (fun s => part (M (fst s ++ u :: snd s)) (M (fst s ++ snd s)))).
  Proof.
    intros f Hf. simpl. rewrite sample_app. cbn [sample]. simpl. apply E_ext. intros s'.
    symmetry. apply E_mix; auto; intros s; apply E_test; auto.
  Qed.

  (** The theorem of this file. *)
  Theorem poisson_sampled {row A B} (M : list row -> law A) (P Q : law B) u l m :
    (forall s s', dominated (M (s ++ u :: s')) (M (s ++ s')) P Q) ->
    dominated (bind (sample (l ++ u :: m)) M) (bind (sample (l ++ m)) M) (part P Q) Q /\
    dominated (bind (sample (l ++ m)) M) (bind (sample (l ++ u :: m)) M) Q (part P Q).
  Proof.
    intros H. assert (G : dominated (bind (sample (l ++ u :: m)) M) (bind (sample (l ++ m)) M) (part P Q) Q).
    2: split; auto; apply dominated_reverse; auto.
    eapply dominated_same; [apply sample_with | apply sample_without|].
    apply dominated_bind. intros [s s']. apply dominated_part. apply H.
  Qed.
End Rate.
