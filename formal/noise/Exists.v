(** The noise that Meaning.v describes exists, so that no program is without reason taken to draw it: two-sided geometric
    and discrete Gaussian noise of every variance, choices by their scores and by permute-and-flip, rows of a table, and
    integers whose weights fall with their length; sparse answers, shown cells and shuffled answers are made of these.
    [noise_exists] puts this together by the cases of [drawn_by].

    Not shown here: that there are laws on all tests of the real line, of all means at once, with the half-lines and
    likelihood ratios of the normal and of the Laplace distribution ([normal_law], [laplace_law]).  Mathematics has
    them: Lebesgue's integral extends to all bounded functions, by the axiom of choice, which Coq's reals do without. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz Bool String List.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Definitions Meaning.
From DP.core Require Import Instance.
From DP.noise Require Import Flips Triangles.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- integers *)

Theorem discrete_laplace_exists b : 0 < b -> exists P, discrete_laplace b P.
Proof. intros Hb. exists (geometric b Hb). apply geometric_law. Qed.

Section Gaussian.
  Variable v : R.
  Hypothesis Hv : 0 < v.
  Let w (z : Z) := exp (- (IZR z * IZR z) / (2 * v)).

  (** |z| is at most z², so geometric weights are above. *)
  Lemma normal_weights : summable w /\ 0 < usum w.
  Proof.
    assert (S : summable w).
    { apply summable_le with (fun z => exp (- Rabs (IZR z) / (2 * v))); [apply geometric_summable; lra|].
      intros z. split; [left; apply exp_pos|]. unfold w. apply Costs.exp_le. unfold Rdiv.
      apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|]. rewrite <- mult_IZR, <- abs_IZR, <- !opp_IZR.
      apply IZR_le. nia. }
    split; auto. apply Rlt_le_trans with (w 0%Z); [apply exp_pos | apply usum_at; auto].
  Qed.

  Definition normal_integers : law Z := weighted w (proj1 normal_weights) (proj2 normal_weights).
  Lemma normal_integers_law : discrete_normal v normal_integers.
  Proof. apply weighted_proportional. Qed.
End Gaussian.

Theorem discrete_normal_exists v : 0 < v -> exists N, discrete_normal v N.
Proof. intros Hv. exists (normal_integers v Hv). apply normal_integers_law. Qed.

(** Of all variances at once. *)
Theorem discrete_normals_exist c : 0 < c -> exists N : R -> law Z, forall v, 0 < v -> discrete_normal (v * c) (N v).
Proof.
  intros Hc. exists (fun v => match Rlt_dec 0 (v * c) with left H => normal_integers (v * c) H | right _ => point 0%Z end).
  intros v Hv. destruct (Rlt_dec 0 (v * c)) as [H|H]; [apply normal_integers_law|]. exfalso. apply H. nra.
Qed.

(* ---------------------------------------------------------------- finitely many outcomes *)

(** Weights of finitely many outcomes, one of them positive. *)
Lemma few_weights (w : nat -> R) n : (forall j, 0 <= w j) -> (forall j, (n <= j)%nat -> w j = 0) -> (exists j, 0 < w j) ->
  summable w /\ 0 < usum w.
Proof.
  intros Hw H0 [j Hj]. destruct (usum_finite w (seq 0 n)) as [S _]; auto using seq_NoDup.
  - intros a Ha. apply H0. rewrite in_seq in Ha. lia.
  - split; auto. apply Rlt_le_trans with (w j); auto. apply usum_at; auto.
Qed.

(** So there is a law for every dataset: it is written down, not chosen. *)
Lemma proportional_exists {I A} (w : I -> A -> R) : (forall i, summable (w i) /\ 0 < usum (w i)) ->
  exists P : I -> law A, forall i, proportional (w i) (P i).
Proof.
  intros Hw. exists (fun i => weighted (w i) (proj1 (Hw i)) (proj2 (Hw i))). intros i. apply weighted_proportional.
Qed.

Theorem choices_exist {I} rate n (scores : I -> nat -> R) : (0 < n)%nat ->
  exists P : I -> law nat, forall i, proportional (fun j => if (j <? n)%nat then exp (rate * scores i j) else 0) (P i).
Proof.
  intros Hn. apply (proportional_exists (fun i j => if (j <? n)%nat then exp (rate * scores i j) else 0)). intros i.
  apply few_weights with n.
  - intros j. destruct (j <? n)%nat; [left; apply exp_pos | lra].
  - intros j Hj. apply Nat.ltb_ge in Hj. rewrite Hj. auto.
  - exists 0%nat. destruct (Nat.ltb_spec 0 n); [apply exp_pos | lia].
Qed.

Theorem flipped_choices_exist {I} rate (scores : I -> list R) : 0 < rate -> (forall i, scores i <> []) ->
  exists P : I -> law nat, forall i, proportional (taken_with rate (scores i)) (P i).
Proof.
  intros Hr Hn. apply (proportional_exists (fun i => taken_with rate (scores i))). intros i. split.
  - apply (usum_finite (taken_with rate (scores i)) (seq 0 (length (scores i)))).
    + apply seq_NoDup.
    + intros o. apply taken_nonneg; auto.
    + intros o Ho. unfold taken_with. destruct (Nat.ltb_spec o (length (scores i))); auto. exfalso. apply Ho, in_seq. lia.
  - rewrite taken_sum; auto. lra.
Qed.

Definition is_row (row : list Q) : Prop := (forall x, In x row -> 0 <= Q2R x) /\ exists x, In x row /\ 0 < Q2R x.

Theorem row_exists row : is_row row -> exists P, proportional (fun j => Q2R (nth j row 0%Q)) P.
Proof.
  intros [H0 [x [Hx Hp]]]. destruct (few_weights (fun j => Q2R (nth j row 0%Q)) (length row)) as [S P].
  - intros j. destruct (Nat.lt_ge_cases j (length row)) as [Hj|Hj]; [apply H0, nth_In; auto|].
    rewrite nth_overflow by auto. unfold Q2R. simpl. lra.
  - intros j Hj. rewrite nth_overflow by auto. unfold Q2R. simpl. lra.
  - destruct (In_nth row x 0%Q Hx) as [j [_ <-]]. eauto.
  - exists (weighted _ S P). apply weighted_proportional.
Qed.

Lemma table_exists (table : list (list Q)) : (forall row, In row table -> is_row row) ->
  exists row : Z -> law nat, forall k, In k (map Z.of_nat (seq 0 (length table))) ->
    proportional (fun j => Q2R (nth j (nth (Z.to_nat k) table []) 0%Q)) (row k).
Proof.
  intros HT. assert (G : forall n, (n <= length table)%nat -> exists row : Z -> law nat,
    forall k, In k (map Z.of_nat (seq 0 n)) -> proportional (fun j => Q2R (nth j (nth (Z.to_nat k) table []) 0%Q)) (row k)).
  { induction n as [|n IH]; intros Hn; [exists (fun _ => point 0%nat); intros k []|].
    destruct IH as [row Hrow]; [lia|].
    destruct (row_exists (nth n table [])) as [P HP]; [apply HT, nth_In; lia|].
    exists (fun k => if (k =? Z.of_nat n)%Z then P else row k). intros k Hk.
    destruct (Z.eqb_spec k (Z.of_nat n)) as [->|N]; [rewrite Nat2Z.id; auto|]. apply Hrow.
    rewrite seq_S, map_app in Hk. apply in_app_or in Hk. destruct Hk as [Hk|[Hk|[]]]; auto. simpl in Hk. congruence. }
  apply (G (length table)). auto.
Qed.

(* ---------------------------------------------------------------- integers of one length *)

Section Lengths.
  Variable b : R.
  Hypothesis Hb : 0 < b.
  Let g (z : Z) := exp (- Rabs (IZR z) / b).

  Fixpoint along (v : list Z) : R := match v with [] => 1 | z :: rest => g z * along rest end.
  Definition of_length (n : nat) (v : list Z) : R := if (length v =? n)%nat then along v else 0.

  Lemma along_positive v : 0 < along v.
  Proof. induction v; simpl; [lra|]. apply Rmult_lt_0_compat; auto. apply exp_pos. Qed.

  Lemma of_length_nonneg n v : 0 <= of_length n v.
  Proof. unfold of_length. destruct (_ =? _)%nat; [left; apply along_positive | lra]. Qed.

  Lemma of_length_summable n : summable (of_length n).
  Proof.
    split; [apply of_length_nonneg|]. destruct (geometric_summable b Hb) as [_ [M HM]]. change (forall l, NoDup l -> total g l <= M) in HM.
    assert (M0 : 0 <= M) by (apply (HM []); constructor).
    induction n as [|n [K HK]].
    - exists 1. intros l Hl. apply Rle_trans with (total (of_length 0) [[]]); [|simpl; unfold of_length; simpl; lra].
      assert (E : total (of_length 0) l = total (of_length 0) (filter (fun v => (length v =? 0)%nat) l)).
      { clear Hl. induction l as [|v l IH]; simpl; auto. unfold of_length at 1. destruct (length v =? 0)%nat eqn:Ev; simpl; rewrite IH.
        - unfold of_length at 2. rewrite Ev. auto.
        - lra. }
      rewrite E. apply total_incl; [apply of_length_nonneg | apply NoDup_filter; auto|].
      intros v Hv. apply filter_In in Hv. destruct Hv as [_ Hv]. apply Nat.eqb_eq in Hv. destruct v; [left; auto | discriminate].
    - assert (K0 : 0 <= K) by (apply (HK []); constructor).
      exists (M * K). intros l Hl. set (fits := filter (fun v => (length v =? S n)%nat) l).
      set (heads := nodup Z.eq_dec (map (hd 0%Z) l)). set (tails := nodup (list_eq_dec Z.eq_dec) (map (@tl Z) l)).
      assert (E : total (of_length (S n)) l = total (of_length (S n)) fits).
      { unfold fits. clear Hl fits heads tails. induction l as [|v l IH]; simpl; auto. unfold of_length at 1.
        destruct (length v =? S n)%nat eqn:Ev; simpl; rewrite IH.
        - unfold of_length at 2. rewrite Ev. auto.
        - lra. }
      rewrite E. apply Rle_trans with (total (of_length (S n)) (flat_map (fun z => map (cons z) tails) heads)).
      + apply total_incl; [apply of_length_nonneg | apply NoDup_filter; auto|].
        intros v Hv. apply filter_In in Hv. destruct Hv as [Hv HL]. apply Nat.eqb_eq in HL.
        destruct v as [|z v]; [discriminate|]. apply in_flat_map. exists z. split.
        * apply nodup_In. apply in_map with (f := hd 0%Z) in Hv. exact Hv.
        * apply in_map. apply nodup_In. apply in_map with (f := @tl Z) in Hv. exact Hv.
      + rewrite total_flat_map. rewrite (total_ext _ (fun z => total (of_length n) tails * g z)).
        2: { intros z _. rewrite total_map. rewrite <- (Rmult_comm (g z)), <- total_scale. apply total_ext. intros v _.
             unfold of_length. simpl. destruct (length v =? n)%nat; [reflexivity | ring]. }
        rewrite total_scale, Rmult_comm. apply Rmult_le_compat.
        * apply total_nonneg. intros; left; apply exp_pos.
        * apply total_nonneg. intros; apply of_length_nonneg.
        * apply HM, NoDup_nodup.
        * apply HK, NoDup_nodup.
  Qed.
End Lengths.

Lemma along_exp b v : along b v = exp (- total (fun z => Rabs (IZR z)) v / b).
Proof.
  induction v as [|z v IH]; simpl.
  - rewrite <- exp_0. f_equal. unfold Rdiv. ring.
  - rewrite IH, <- exp_plus. f_equal. unfold Rdiv. ring.
Qed.

Theorem length_noise_exists rate grid n : 0 < rate -> 0 < grid -> exists V,
  proportional (fun v : list Z => if (length v =? n)%nat
    then exp (- rate * sqrt (total (fun z => (grid * IZR z) ^ 2) v)) else 0) V.
Proof.
  intros Hr Hg. set (w := fun v : list Z => if (length v =? n)%nat then exp (- rate * sqrt (total (fun z => (grid * IZR z) ^ 2) v)) else 0).
  set (b := INR (S n) / (rate * grid)). assert (HS : 0 < INR (S n)) by (apply lt_0_INR; lia).
  assert (Hb : 0 < b) by (apply Rdiv_lt_0_compat; nra).
  assert (S : summable w).
  { apply summable_le with (of_length b n); [apply of_length_summable; auto|]. intros v. unfold w, of_length.
    destruct (Nat.eqb_spec (length v) n) as [E|]; [|lra]. split; [left; apply exp_pos|]. rewrite along_exp. apply Costs.exp_le.
    set (s := sqrt (total (fun z => (grid * IZR z) ^ 2) v)).
    assert (G : forall z, In z v -> grid * Rabs (IZR z) <= s).
    { intros z Hz. replace (grid * Rabs (IZR z)) with (sqrt ((grid * IZR z) ^ 2)).
      - apply sqrt_le_1_alt. clear E s. induction v as [|y v IH]; [destruct Hz|]. cbn [total].
        pose proof (pow2_ge_0 (grid * IZR y)).
        assert (0 <= total (fun z => (grid * IZR z) ^ 2) v) by (apply total_nonneg; intros; apply pow2_ge_0).
        destruct Hz as [->|Hz]; [lra|]. specialize (IH Hz). lra.
      - rewrite <- Rsqr_pow2, sqrt_Rsqr_abs, Rabs_mult, (Rabs_right grid) by lra. auto. }
    assert (T : grid * total (fun z => Rabs (IZR z)) v <= INR (S n) * s).
    { rewrite <- total_scale. apply Rle_trans with (total (fun _ => s) v); [apply total_le; auto|].
      rewrite total_const, E, S_INR. assert (0 <= s) by apply sqrt_pos. nra. }
    unfold b. replace (- total (fun z => Rabs (IZR z)) v / (INR (S n) / (rate * grid)))
      with (- (rate * ((grid * total (fun z => Rabs (IZR z)) v) / INR (S n)))) by (field; repeat split; lra).
    rewrite Ropp_mult_distr_l_reverse. apply Ropp_le_contravar. apply Rmult_le_compat_l; [lra|].
    apply Rmult_le_reg_r with (INR (S n)); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  assert (P : 0 < usum w).
  { apply Rlt_le_trans with (w (repeat 0%Z n)); [|apply usum_at; auto]. unfold w. rewrite repeat_length, Nat.eqb_refl. apply exp_pos. }
  exists (weighted w S P). apply weighted_proportional.
Qed.

(* ---------------------------------------------------------------- what a release draws *)

Section World.
  Variable W : world.
  Local Notation H := (history (message W)).
  Local Notation D := (data (record W)).

  (** Numbers as the noise needs them: on its grid, or some to choose from; and parameters in their ranges. *)
  Definition fits (law : noise_law) (numbers : list (D -> R)) : Prop :=
    let gridded grid := exists whole, on_grid W grid numbers whole in
    match law with
    | NormalNoise _ _ | LaplaceNoise _ None => False                          (* continuous: not shown here *)
    | DiscreteNormal v g _ | FineNormal v g _ _ => 0 < Q2R v /\ 0 < Q2R g /\ gridded (Q2R g)
    | LatticeNormal v => 0 < Q2R v /\ gridded 1
    | LaplaceNoise b (Some g) => 0 < Q2R b /\ 0 < Q2R g /\ gridded (Q2R g)
    | ExponentialChoice _ => numbers <> []
    | FlippedChoice rate => 0 < Q2R rate /\ numbers <> []
    | LengthNoise rate g => 0 < Q2R rate /\ 0 < Q2R g /\ gridded (Q2R g)
    | SparseAnswers t b _ g => 0 < Q2R t /\ 0 < Q2R b /\ 0 < Q2R g /\ gridded (Q2R g)
    | TableAnswer table | ShuffledAnswers table _ _ => forall row, In row table -> is_row row
    | CellsShown b _ _ => 0 < Q2R b /\ gridded 1
    | FilterCharges => True
    end.

  (** What the release says may be any function of this sample of noise, which exists. *)
  Theorem noise_exists law q o i numbers : fits law numbers ->
    exists A (sample : H -> D -> Laws.law A), forall h, made_of W h (sample h) -> drawn_by W law q o i h numbers.
  Proof.
    destruct law as [v g c s|v|v g s|v s|b [g|]|rate|rate|rate g|t b limit g|table|b threshold delta|table size delta|]; simpl.
    - intros [Hv [Hg [whole Hw]]]. destruct (discrete_normals_exist (Q2R v / (Q2R g * Q2R g))) as [N HN].
      { apply Rdiv_lt_0_compat; nra. }
      do 2 eexists. intros h Hm. exists N, whole. split; [auto|]. split; [|exact Hm].
      intros x Hx. specialize (HN x Hx). unfold Rdiv in *. rewrite Rmult_assoc. exact HN.
    - intros [Hv [whole Hw]]. destruct (discrete_normal_exists (Q2R v) Hv) as [N HN].
      do 2 eexists. intros h Hm. exists N, whole. split; [auto|]. split; [auto | exact Hm].
    - intros [Hv [Hg [whole Hw]]]. destruct (discrete_normals_exist (Q2R v / (Q2R g * Q2R g))) as [N HN].
      { apply Rdiv_lt_0_compat; nra. }
      do 2 eexists. intros h Hm. exists N, whole. split; [auto|]. split; [|exact Hm].
      intros x Hx. specialize (HN x Hx). unfold Rdiv in *. rewrite Rmult_assoc. exact HN.
    - intros [].
    - intros [Hb [Hg [whole Hw]]]. destruct (discrete_laplace_exists (Q2R b / Q2R g)) as [L HL]; [apply Rdiv_lt_0_compat; auto|].
      do 2 eexists. intros h Hm. exists L, whole. split; [auto|]. split; [auto | exact Hm].
    - intros [].
    - intros Hn. destruct (choices_exist (Q2R rate) (length numbers) (fun (d : D) j => nth j numbers (fun _ => 0) d)) as [P HP].
      { destruct numbers; [congruence | simpl; lia]. }
      do 2 eexists. intros h Hm. exists P. split; [exact HP | exact Hm].
    - intros [Hr Hn]. destruct (flipped_choices_exist (Q2R rate) (fun d : D => map (fun c => c d) numbers) Hr) as [P HP].
      { intros d. destruct numbers; [congruence | discriminate]. }
      do 2 eexists. intros h Hm. exists P. split; [|exact Hm]. intros d. specialize (HP d). unfold taken_with in HP.
      rewrite map_length in HP. exact HP.
    - intros [Hr [Hg [whole Hw]]]. destruct (length_noise_exists (Q2R rate) (Q2R g) (length numbers) Hr Hg) as [V HV].
      do 2 eexists. intros h Hm. exists V, whole. split; [auto|]. split; [exact HV | exact Hm].
    - intros [Ht [Hb [Hg [whole Hw]]]].
      destruct (discrete_laplace_exists (Q2R t / Q2R g)) as [T HT]; [apply Rdiv_lt_0_compat; auto|].
      destruct (discrete_laplace_exists (Q2R b / Q2R g)) as [X HX]; [apply Rdiv_lt_0_compat; auto|].
      do 2 eexists. intros h Hm. exists T, X, whole. do 3 (split; [auto|]). exact Hm.
    - intros Ht. destruct (table_exists table Ht) as [row Hrow].
      do 2 eexists. intros h Hm. exists row. split; [exact Hrow | exact Hm].
    - intros [Hb [whole Hw]]. destruct (discrete_laplace_exists (Q2R b) Hb) as [X HX].
      do 2 eexists. intros h Hm. exists X, whole. do 2 (split; [auto|]). exact Hm.
    - intros Ht. destruct (table_exists table Ht) as [row Hrow].
      do 2 eexists. intros h Hm. exists row. split; [exact Hrow | exact Hm].
    - intros _. exists nat, (fun _ _ => point 0%nat). auto.
  Qed.
End World.
