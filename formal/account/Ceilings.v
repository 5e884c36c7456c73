(** Bounds of the hockey-sticks of all kinds, at the points e^{(low + j)·step}: what is decided of a release.

    [ceilings] lists, in units of 2^-bits, numbers that P f - c·Q f does not exceed, for whatever laws meet the kind
    and whatever test f; `meets_ceilings` says so.  Points are rounded down, which only makes hockey-sticks higher. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Definitions Meaning.
From DP.decide Require Import Fixed Functions.
From DP.core Require Import Numbers.
From DP.account Require Import Kinds.
From DP.account.kinds Require Import Lists Samples Values Answers Walk Geometric DiscreteNormal.
Import ListNotations.
Open Scope R_scope.

(** Kinds that both ways are one for. *)
Definition symmetric (k : kind) : bool := match k with Sampled _ _ => false | _ => true end.

Lemma symmetric_meets k {A} (P Q : law A) w w' : symmetric k = true -> meets k w P Q -> meets k w' P Q.
Proof. destruct k; auto. discriminate. Qed.

Section Ceilings.
Variable p : positive.
Let one : Z := (2 ^ Zpos p)%Z.
Local Notation u := (unit_of p).

(** Of a sample of rate n/d: where what is sampled is looked at, and what its value there says of the whole. *)
Definition there_inner (n d c : Z) : Z := Z.max 0 ((c * d - (d - n) * one) / n).
Definition there_outer (n d c z : Z) : Z := if (c * d <=? (d - n) * one)%Z then (one - c)%Z else up_div (n * z) d.

Definition back_rest (n d c : Z) : Z := (d * one - (d - n) * c)%Z.
Definition back_inner (n d c : Z) : Z := let r := back_rest n d c in if (0 <? r)%Z then (n * c * one / r)%Z else 0%Z.
Definition back_outer (n d c z : Z) : Z :=
  let r := back_rest n d c in if (0 <? r)%Z then up_div (r * z) (d * one) else 0%Z.

Fixpoint values (k : kind) (w : way) (cs : list Z) : list Z :=
  match k with
  | Response epsilon => failing_values p epsilon 0 cs
  | Failing epsilon delta => failing_values p epsilon delta cs
  | LaplaceNoise moved => laplace_values p moved cs
  | NormalNoise mu_squared => normal_values p mu_squared cs
  | GeometricNoise scale shift => geometric_values p scale shift cs
  | DiscreteNormalNoise variance shift => discrete_normal_values p variance shift cs
  | Answers epsilon number => answers_values p epsilon number cs
  | Sampled rate k =>
      let n := Qnum rate in let d := Zpos (Qden rate) in
      match w with
      | There => zipped (there_outer n d) cs (values k There (mapped (there_inner n d) cs))
      | Back => zipped (back_outer n d) cs (values k Back (mapped (back_inner n d) cs))
      end
  end.

Section Rate.
  Variable rate : Q.
  Let n := Qnum rate.
  Let d := Zpos (Qden rate).
  Hypothesis Hrate : 0 < Q2R rate <= 1.
  Context {A S : Type} (others : law S) (present absent : S -> law A) (with_unit without : law A).
  Hypothesis drawn : forall f, test f -> with_unit f = others (fun s => Q2R rate * present s f + (1 - Q2R rate) * absent s f) /\
    without f = others (fun s => absent s f).

  Lemma rate_parts : (0 < n <= d)%Z /\ Q2R rate = IZR n / IZR d /\ 0 < IZR n <= IZR d.
  Proof.
    assert (Hd : 0 < IZR d) by (apply IZR_lt; unfold d; lia).
    assert (E : Q2R rate * IZR d = IZR n) by (unfold Q2R, n, d; field; apply Rgt_not_eq, IZR_lt; lia).
    assert (H : 0 < IZR n <= IZR d) by nra. split; [split; [apply lt_IZR | apply le_IZR]; apply H|].
    split; auto.
  Qed.

  Lemma there_right c z : (0 <= c)%Z -> (forall s, bounds p (present s) (absent s) (there_inner n d c) z) -> (0 <= z)%Z ->
    bounds p with_unit without c (there_outer n d c z).
  Proof.
    intros Hc Hz Hz0. destruct rate_parts as [Hnd [Hq Hr]]. pose proof (unit_pos p) as Hu. pose proof (one_pos p) as Ho.
    fold one in Ho. pose proof (factor p c Hc) as Hcu. unfold there_outer.
    destruct (Z.leb_spec (c * d) ((d - n) * one)) as [L|L].
    - apply IZR_le in L. rewrite !mult_IZR, minus_IZR in L. change (IZR one) with u in L.
      eapply bounds_scaled; [intros f Hf; apply (there_low (Q2R rate) others present absent with_unit without Hrate drawn f (IZR c / u) Hf)|].
      + split; auto. rewrite Hq. apply Rmult_le_reg_r with (IZR d * u); [nra|].
        replace (IZR c / u * (IZR d * u)) with (IZR c * IZR d) by (field; lra).
        replace ((1 - IZR n / IZR d) * (IZR d * u)) with ((IZR d - IZR n) * u) by (field; lra). auto.
      + rewrite minus_IZR. change (IZR one) with u. apply Req_le. field. lra.
    - set (c' := there_inner n d c) in *. apply IZR_le in Hz0.
      assert (Hc' : IZR c' / u <= (IZR c / u - 1 + Q2R rate) / Q2R rate).
      { assert (E : (0 <= (c * d - (d - n) * one) / n)%Z) by (apply Z.div_pos; lia).
        unfold c', there_inner. rewrite Z.max_r by auto.
        pose proof (div_le (c * d - (d - n) * one) n ltac:(lia)) as D.
        rewrite minus_IZR, !mult_IZR, minus_IZR in D. change (IZR one) with u in D. rewrite Hq.
        apply Rmult_le_reg_r with (IZR n * u); [nra|].
        replace (IZR ((c * d - (d - n) * one) / n) / u * (IZR n * u)) with (IZR ((c * d - (d - n) * one) / n) * IZR n) by (field; lra).
        replace ((IZR c / u - 1 + IZR n / IZR d) / (IZR n / IZR d) * (IZR n * u))
          with (IZR c * IZR d - (IZR d - IZR n) * u) by (field; lra). auto. }
      eapply bounds_scaled; [intros f Hf; apply (there_high (Q2R rate) others present absent with_unit without Hrate drawn f (IZR c / u) (IZR z / u)); auto|].
      + apply Rmult_le_pos; auto. left. apply Rinv_0_lt_compat. auto.
      + intros s. specialize (Hz s f Hf). pose proof (E_test (absent s) f Hf).
        apply Rle_trans with (IZR z / u + IZR c' / u * absent s f); [|nra].
        apply Rmult_le_reg_r with u; auto.
        replace ((IZR z / u + IZR c' / u * absent s f) * u) with (IZR z + IZR c' * absent s f) by (field; lra). auto.
      + pose proof (up_div_le (n * z) d ltac:(lia)) as D. rewrite mult_IZR in D. rewrite Hq.
        apply Rmult_le_reg_r with (IZR d); [lra|].
        replace (IZR n / IZR d * (IZR z / u) * u * IZR d) with (IZR n * IZR z) by (field; lra). auto.
  Qed.

  Lemma back_right c z : (0 <= c)%Z -> (forall s, bounds p (absent s) (present s) (back_inner n d c) z) -> (0 <= z)%Z ->
    bounds p without with_unit c (back_outer n d c z).
  Proof.
    intros Hc Hz Hz0. destruct rate_parts as [Hnd [Hq Hr]]. pose proof (unit_pos p) as Hu. pose proof (one_pos p) as Ho.
    fold one in Ho. pose proof (factor p c Hc) as Hcu. unfold back_outer, back_inner in *. set (r := back_rest n d c) in *.
    assert (Er : (1 - (1 - Q2R rate) * (IZR c / u)) * (IZR d * u) = IZR r).
    { unfold r, back_rest. rewrite minus_IZR, !mult_IZR, minus_IZR. change (IZR one) with u. rewrite Hq. field. lra. }
    assert (Hdu : 0 < IZR d * u) by nra.
    destruct (Z.ltb_spec 0 r) as [L|L].
    - apply IZR_lt in L as LR. apply IZR_le in Hz0. set (x := 1 - (1 - Q2R rate) * (IZR c / u)) in *.
      assert (Hx : 0 < x) by nra.
      assert (Hc' : IZR (n * c * one / r) / u <= Q2R rate * (IZR c / u) / x).
      { pose proof (div_le (n * c * one) r L) as D. rewrite !mult_IZR in D. change (IZR one) with u in D.
        apply Rmult_le_reg_r with (u * IZR r); [nra|].
        replace (IZR (n * c * one / r) / u * (u * IZR r)) with (IZR (n * c * one / r) * IZR r) by (field; lra).
        rewrite <- Er at 2. rewrite Hq.
        replace (IZR n / IZR d * (IZR c / u) / x * (u * (x * (IZR d * u)))) with (IZR n * IZR c * u) by (field; lra). auto. }
      eapply bounds_scaled; [intros f Hf; apply (back_low (Q2R rate) others present absent with_unit without Hrate drawn f (IZR c / u) (IZR z / u)); auto|].
      + apply Rmult_le_pos; auto. left. apply Rinv_0_lt_compat. auto.
      + intros s. specialize (Hz s f Hf). pose proof (E_test (present s) f Hf). fold x.
        apply Rle_trans with (IZR z / u + IZR (n * c * one / r) / u * present s f); [|nra].
        apply Rmult_le_reg_r with u; auto.
        replace ((IZR z / u + IZR (n * c * one / r) / u * present s f) * u)
          with (IZR z + IZR (n * c * one / r) * present s f) by (field; lra). auto.
      + fold x. pose proof (up_div_le (r * z) (d * one) ltac:(nia)) as D. rewrite !mult_IZR in D. change (IZR one) with u in D.
        apply Rmult_le_reg_r with (IZR d * u); auto. apply Rle_trans with (2 := D). rewrite <- Er. apply Req_le. field. lra.
    - apply IZR_le in L. eapply bounds_scaled;
        [intros f Hf; apply (back_high (Q2R rate) others present absent with_unit without Hrate drawn f (IZR c / u)); auto|lra].
      nra.
  Qed.
End Rate.

(* ---------------------------------------------------------------- all kinds *)

Lemma q_positive' q : positive_rational q = true -> 0 < Q2R q.
Proof.
  unfold positive_rational. intros H. apply Z.ltb_lt, IZR_lt in H. unfold Q2R. apply Rmult_lt_0_compat; auto.
  apply Rinv_0_lt_compat, IZR_lt. lia.
Qed.

Lemma q_nonneg' q : (0 <=? Qnum q)%Z = true -> 0 <= Q2R q.
Proof.
  intros H. apply Z.leb_le, IZR_le in H. unfold Q2R. apply Rmult_le_pos; auto. left. apply Rinv_0_lt_compat, IZR_lt. lia.
Qed.

Lemma q_most q : Qle_bool q 1 = true -> Q2R q <= 1.
Proof. intros H. apply Qle_bool_iff, Qle_Rle in H. replace (Q2R 1) with 1 in H by (unfold Q2R; simpl; field). auto. Qed.

Definition nonnegative (c : Z) : Prop := (0 <= c)%Z.

(** Hockey-sticks are not negative, so values are not. *)
Lemma bounds_nonneg {A} (P Q : law A) c z : bounds p P Q c z -> (0 <= z)%Z.
Proof.
  intros H. specialize (H (fun _ => 0) ltac:(intros a; lra)). rewrite !E_const in H by lra. apply le_IZR. lra.
Qed.

Lemma values_of_sample (outer : Z -> Z -> Z) (inner : Z -> Z) k w cs {A S} (K L : S -> law A) (P Q : law A) :
  (forall c z, (0 <= c)%Z -> (forall s, bounds p (K s) (L s) (inner c) z) -> (0 <= z)%Z -> bounds p P Q c (outer c z)) ->
  inhabited S -> (forall s, Forall2 (bounds p (K s) (L s)) (map inner cs) (values k w (map inner cs))) ->
  Forall nonnegative cs -> Forall2 (bounds p P Q) cs (zip_with outer cs (values k w (map inner cs))).
Proof.
  intros H [s0] Hin Hcs. generalize dependent (values k w (map inner cs)). induction Hcs as [|c cs Hc Hcs IH]; intros zs Hin.
  - specialize (Hin s0). inversion Hin. constructor.
  - pose proof (Hin s0) as H0. cbn [map] in *. inversion H0 as [|? z ? zs' Hz Hzs]. subst. cbn [zip_with]. constructor.
    + apply H; auto.
      * intros s. specialize (Hin s). inversion Hin. auto.
      * apply bounds_nonneg in Hz. auto.
    + apply IH. intros s. specialize (Hin s). inversion Hin. auto.
Qed.

(** A law on nothing does not exist. *)
Lemma law_inhabited {S} (P : law S) : inhabited S.
Proof.
  destruct (Classical_Prop.classic (inhabited S)) as [H|H]; auto. exfalso.
  assert (E : P (fun _ => 0) = P (fun _ => 1)) by (apply E_ext; intros s; destruct H; constructor; auto).
  rewrite !E_const in E by lra. lra.
Qed.

Theorem values_right k {A} : forall w (P Q : law A) cs, well_formed k = true -> meets k w P Q ->
  Forall nonnegative cs -> Forall2 (bounds p P Q) cs (values k w cs).
Proof.
  induction k as [epsilon|epsilon delta|moved|scale shift|mu_squared|variance shift|epsilon number|rate k IH];
    intros w P Q cs Hk HM Hcs; cbn [values meets well_formed] in *;
    repeat match goal with H : (_ && _)%bool = true |- _ => apply andb_prop in H; destruct H end.
  - destruct HM as [HP HQ]. assert (E0 : Q2R 0 = 0) by (unfold Q2R; simpl; field).
    apply failing_values_right; auto; rewrite ?E0; try lra; [apply q_nonneg'; auto | |]; apply Pure.pure_failing; auto.
  - destruct HM as [HP HQ]. apply failing_values_right; auto; [apply q_nonneg'; auto|].
    split; [apply q_nonneg' | apply q_most]; auto.
  - apply laplace_values_right; auto.
  - apply geometric_values_right; auto. apply Z.ltb_lt; auto.
  - apply normal_values_right; auto. apply q_positive'; auto.
  - apply discrete_normal_values_right; auto; [apply Z.ltb_lt | apply Z.leb_le]; auto.
  - apply answers_values_right; auto; [apply q_nonneg' | apply Z.leb_le]; auto.
  - assert (Hr : 0 < Q2R rate <= 1) by (split; [apply q_positive' | apply q_most]; auto).
    assert (N1 : Forall nonnegative (map (there_inner (Qnum rate) (Zpos (Qden rate))) cs)).
    { apply Forall_map, Forall_forall. intros c _. unfold nonnegative, there_inner. lia. }
    assert (N2 : Forall nonnegative (map (back_inner (Qnum rate) (Zpos (Qden rate))) cs)).
    { apply Forall_map. eapply Forall_impl; [|exact Hcs]. intros c Hc. unfold nonnegative, back_inner in *.
      destruct (Z.ltb_spec 0 (back_rest (Qnum rate) (Zpos (Qden rate)) c)); [|lia]. pose proof (one_pos p).
      destruct (rate_parts rate Hr) as [? _]. apply Z.div_pos; auto. fold one. nia. }
    destruct w; rewrite ?zipped_zip, ?mapped_map; destruct HM as [S [others [present [absent [HM Hdrawn]]]]]; pose proof (law_inhabited others) as HS.
    + apply (values_of_sample _ _ k There cs present absent P Q); auto.
      intros c z Hc Hz Hz0. apply (there_right rate Hr others present absent P Q Hdrawn); auto.
    + apply (values_of_sample _ _ k Back cs absent present P Q); auto.
      intros c z Hc Hz Hz0. apply (back_right rate Hr others present absent Q P Hdrawn); auto.
Qed.

Lemma length_values k : forall w cs, length (values k w cs) = length cs.
Proof.
  induction k; intros w cs; cbn [values]; unfold failing_values, laplace_values, normal_values, geometric_values, discrete_normal_values,
    answers_values;
    repeat match goal with |- context [match ?x with _ => _ end] => destruct x end;
    rewrite ?zipped_zip, ?length_zip_with, ?mapped_map, ?map_length, ?walked_walk, ?length_walk; auto; rewrite IHk, ?mapped_map, map_length; auto.
Qed.

Lemma values_symmetric k w w' cs : symmetric k = true -> values k w cs = values k w' cs.
Proof. destruct k; auto. discriminate. Qed.
End Ceilings.

(* ---------------------------------------------------------------- points *)

(** The j-th point, of n. *)
Definition node (step : Q) (low : Z) (j : nat) : R := exp (IZR (low + Z.of_nat j) * Q2R step).

(** e^{i·step}, or less. *)
Definition node_below (p : positive) (step : Q) (i : Z) : Z :=
  match fst (exponential p (of_Q p (Qmake (i * Qnum step) (Qden step)))) with Some z => z | None => 0%Z end.

Definition nodes_below (p : positive) (step : Q) (low : Z) (n : nat) : list Z :=
  tabled (node_below p step) n (low + Z.of_nat n - 1) [].

Definition ceilings (bits : positive) (step : Q) (k : kind) (w : way) (low : Z) (n : nat) : list Z :=
  values bits k w (nodes_below bits step low n).

Lemma exponential_nonneg p a : match fst (exponential p a) with Some z => (0 <= z)%Z | None => True end.
Proof. unfold exponential, at_least_0, wider. cbn [fst]. destruct opt; lia. Qed.

Lemma node_below_right p step i : nonnegative (node_below p step i) /\
  IZR (node_below p step i) <= exp (IZR i * Q2R step) * unit_of p.
Proof.
  unfold node_below. set (x := Qmake (i * Qnum step) (Qden step)).
  pose proof (exponential_nonneg p (of_Q p x)) as N. destruct (exponential_inside p _ _ (of_Q_inside p x)) as [B _].
  unfold above in B. replace (IZR i * Q2R step) with (Q2R x).
  2: { unfold x, Q2R. cbn [Qnum Qden]. rewrite mult_IZR. ring. }
  destruct (fst (exponential p (of_Q p x))) as [e|]; unfold nonnegative; split; auto; [lia|].
  pose proof (unit_pos p). pose proof (exp_pos (Q2R x)). nra.
Qed.

Lemma nodes_below_right p step n low :
  Forall nonnegative (nodes_below p step low n) /\
  forall j c, nth_error (nodes_below p step low n) j = Some c -> IZR c <= node step low j * unit_of p.
Proof.
  split.
  - apply Forall_forall. intros c H. apply tabled_in in H. destruct H as [z [_ ->]]. apply node_below_right.
  - intros j c H. apply tabled_nth in H. destruct H as [_ ->]. unfold node.
    replace (low + Z.of_nat n - 1 - Z.of_nat n + 1 + Z.of_nat j)%Z with (low + Z.of_nat j)%Z by lia. apply node_below_right.
Qed.

Lemma length_ceilings bits step k w low n : length (ceilings bits step k w low n) = n.
Proof. unfold ceilings, nodes_below. rewrite length_values, length_tabled. cbn [length]. apply Nat.add_0_r. Qed.

Lemma Forall2_nth {X Y} (R : X -> Y -> Prop) l m j y : Forall2 R l m -> nth_error m j = Some y ->
  exists x, nth_error l j = Some x /\ R x y.
Proof.
  intros H. revert j. induction H as [|a b l m Hab H IH]; intros [|j] Hj; cbn [nth_error] in *; try discriminate; eauto.
  injection Hj as <-. eauto.
Qed.

(** The theorem of this file. *)
Theorem meets_ceilings bits step k w low n j z {A} (P Q : law A) f : well_formed k = true ->
  nth_error (ceilings bits step k w low n) j = Some z -> meets k w P Q -> test f ->
  P f <= IZR z / unit_of bits + node step low j * Q f.
Proof.
  intros Hk Hj HM Hf. destruct (nodes_below_right bits step n low) as [Hn Hnodes].
  pose proof (values_right bits k w P Q _ Hk HM Hn) as HV. destruct (Forall2_nth _ _ _ _ _ HV Hj) as [c [Hc B]].
  apply Hnodes in Hc. specialize (B f Hf). pose proof (unit_pos bits) as Hu. pose proof (E_test Q f Hf).
  apply Rmult_le_reg_r with (unit_of bits); auto.
  replace ((IZR z / unit_of bits + node step low j * Q f) * unit_of bits)
    with (IZR z + node step low j * unit_of bits * Q f) by (field; lra). nra.
Qed.

Lemma symmetric_ceilings bits step k w w' low n : symmetric k = true ->
  ceilings bits step k w low n = ceilings bits step k w' low n.
Proof. intros H. apply values_symmetric. auto. Qed.
