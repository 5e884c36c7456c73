(** The normal law on a line: its density, its distribution function, and that all of it is 1. *)
Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
Open Scope R_scope.

Definition phi (z : R) := exp (- (z * z) / 2) / sqrt (2 * PI).

(** The chance that a standard normal number is at most z: one half is below 0. *)
Definition Phi (z : R) := 1 / 2 + RInt phi 0 z.

(** Say that an equation is one between real numbers, which Coquelicot hides. *)
Ltac inR := match goal with |- @eq _ ?a ?b => change (@eq R a b) end.

Lemma derive_eq (f : R -> R) x a b : is_derive f x a -> a = b -> is_derive f x b.
Proof. intros H <-. exact H. Qed.

Lemma RInt_mul c f a b : ex_RInt f a b -> RInt (fun t => c * f t) a b = c * RInt f a b.
Proof. intros H. apply (RInt_scal (V := R_CompleteNormedModule) f a b c H). Qed.

Lemma RInt_eq (f g : R -> R) a b : (forall t, f t = g t) -> RInt f a b = RInt g a b.
Proof. intros H. apply RInt_ext. intros t _. apply H. Qed.

(* ---------------------------------------------------------------- density *)

Lemma root_pos : 0 < sqrt (2 * PI).
Proof. apply sqrt_lt_R0. pose proof PI_RGT_0. lra. Qed.

Lemma phi_pos z : 0 < phi z.
Proof. unfold phi. apply Rdiv_lt_0_compat; [apply exp_pos | apply root_pos]. Qed.

Lemma phi_even z : phi (- z) = phi z.
Proof. unfold phi. do 2 f_equal. lra. Qed.

Lemma phi_derive z : is_derive phi z (- z * phi z).
Proof.
  unfold phi. auto_derive; auto. unfold Rdiv. ring_simplify. pose proof root_pos. field. lra.
Qed.

Lemma phi_continuous z : continuous phi z.
Proof. apply (ex_derive_continuous (V := R_NormedModule)). eexists. apply phi_derive. Qed.

Lemma phi_ex_RInt a b : ex_RInt phi a b.
Proof. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros; apply phi_continuous. Qed.

Lemma Phi_derive z : is_derive Phi z (phi z).
Proof.
  unfold Phi. replace (phi z) with (0 + phi z) by lra. apply (is_derive_plus (fun _ => 1 / 2)).
  - apply (is_derive_const (V := R_NormedModule)).
  - apply (is_derive_RInt phi (RInt phi 0) 0 z).
    + apply filter_forall. intros y. apply (RInt_correct (V := R_CompleteNormedModule)), phi_ex_RInt.
    + apply phi_continuous.
Qed.

Lemma Phi_continuous z : continuous Phi z.
Proof. apply (ex_derive_continuous (V := R_NormedModule)). eexists. apply Phi_derive. Qed.

Lemma Phi_0 : Phi 0 = 1 / 2.
Proof. unfold Phi. rewrite RInt_point. unfold zero; simpl. lra. Qed.

(** A function that grows where its derivative is not negative. *)
Lemma grows f g a b : (forall z, a <= z <= b -> is_derive f z (g z)) ->
  (forall z, a <= z <= b -> 0 <= g z) -> a <= b -> f a <= f b.
Proof.
  intros Hf Hg Hab. destruct Hab as [Hab|<-]; [|lra].
  destruct (MVT_gen f a b g) as [c [Hc He]].
  - intros z Hz. rewrite Rmin_left, Rmax_right in Hz by lra. apply Hf; lra.
  - intros z Hz. rewrite Rmin_left, Rmax_right in Hz by lra.
    apply continuity_pt_filterlim. apply (ex_derive_continuous (V := R_NormedModule)). eexists. apply Hf; lra.
  - rewrite Rmin_left, Rmax_right in Hc by lra. specialize (Hg c Hc). nra.
Qed.

Lemma grows_strictly f g a b : (forall z, a <= z <= b -> is_derive f z (g z)) ->
  (forall z, a <= z <= b -> 0 < g z) -> a < b -> f a < f b.
Proof.
  intros Hf Hg Hab.
  destruct (MVT_gen f a b g) as [c [Hc He]].
  - intros z Hz. rewrite Rmin_left, Rmax_right in Hz by lra. apply Hf; lra.
  - intros z Hz. rewrite Rmin_left, Rmax_right in Hz by lra.
    apply continuity_pt_filterlim. apply (ex_derive_continuous (V := R_NormedModule)). eexists. apply Hf; lra.
  - rewrite Rmin_left, Rmax_right in Hc by lra. specialize (Hg c Hc). nra.
Qed.

(** Two functions with one derivative, and one value, are one. *)
Lemma constant f a b : (forall z, is_derive f z 0) -> f a = f b.
Proof.
  intros Hf. destruct (Rle_dec a b).
  - apply Rle_antisym.
    + apply (grows f (fun _ => 0)); auto; intros; lra.
    + assert (- f a <= - f b); [|lra]. apply (grows (fun z => - f z) (fun _ => - 0)); auto.
      * intros. apply (is_derive_opp f z 0); auto.
      * intros; lra.
  - apply Rle_antisym.
    + assert (- f b <= - f a); [|lra]. apply (grows (fun z => - f z) (fun _ => - 0)); try lra.
      * intros. apply (is_derive_opp f z 0); auto.
      * intros; lra.
    + apply (grows f (fun _ => 0)); try lra; auto. intros; lra.
Qed.

Lemma Phi_lt a b : a < b -> Phi a < Phi b.
Proof.
  apply grows_strictly with phi; intros; [apply Phi_derive | apply phi_pos].
Qed.

Lemma Phi_le a b : a <= b -> Phi a <= Phi b.
Proof. intros [H|<-]; [left; apply Phi_lt; auto | lra]. Qed.

Lemma Phi_opp z : Phi (- z) = 1 - Phi z.
Proof.
  assert (H : Phi (- z) + Phi z = Phi (- 0) + Phi 0).
  { apply (constant (fun t => Phi (- t) + Phi t)). intros t.
    replace 0 with (- 1 * phi (- t) + phi t) by (rewrite phi_even; ring).
    apply (is_derive_plus (fun t => Phi (- t)) Phi); [|apply Phi_derive].
    apply (is_derive_comp Phi (fun t => - t)); [apply Phi_derive|].
    auto_derive; auto. }
  rewrite Ropp_0, Phi_0 in H. lra.
Qed.

(* ---------------------------------------------------------------- all of it is 1 *)

Definition hill (t : R) := exp (- (t * t) / 2).

Lemma hill_continuous t : continuous hill t.
Proof. apply (ex_derive_continuous (V := R_NormedModule)). unfold hill. auto_derive; auto. Qed.

Lemma hill_ex a b : ex_RInt hill a b.
Proof. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros; apply hill_continuous. Qed.

Definition slope (x t : R) := 2 * exp (- (x * x * (1 + t * t)) / 2) / (1 + t * t).
Definition slope' (x t : R) := - (2 * x * exp (- (x * x * (1 + t * t)) / 2)).

Lemma slope_derive x t : is_derive (fun x => slope x t) x (slope' x t).
Proof.
  unfold slope, slope', Rdiv. auto_derive; auto. field. nra.
Qed.

Lemma slope_ex x : ex_RInt (slope x) 0 1.
Proof.
  apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros t _.
  apply (ex_derive_continuous (V := R_NormedModule)). unfold slope. auto_derive. nra.
Qed.

Lemma around_derive x : is_derive (fun x => RInt (slope x) 0 1) x (RInt (slope' x) 0 1).
Proof.
  apply (is_derive_ext (fun x => RInt (fun t => slope x t) 0 1)); [reflexivity|].
  replace (RInt (slope' x) 0 1) with (RInt (fun t => Derive (fun u => slope u t) x) 0 1).
  2: { apply RInt_ext. intros t _. apply is_derive_unique, slope_derive. }
  apply is_derive_RInt_param.
  - apply filter_forall. intros y t _. eexists. apply slope_derive.
  - intros t _. apply continuity_2d_pt_ext with slope'.
    + intros u v. symmetry. apply is_derive_unique, slope_derive.
    + unfold slope'. apply continuity_2d_pt_opp. apply continuity_2d_pt_mult.
      * apply continuity_2d_pt_mult; [apply continuity_2d_pt_const | apply continuity_2d_pt_id1].
      * apply (continuity_1d_2d_pt_comp exp); [apply derivable_continuous_pt, derivable_pt_exp|].
        unfold Rdiv. apply continuity_2d_pt_mult; [|apply continuity_2d_pt_const].
        apply continuity_2d_pt_opp. apply continuity_2d_pt_mult.
        -- apply continuity_2d_pt_mult; apply continuity_2d_pt_id1.
        -- apply continuity_2d_pt_plus; [apply continuity_2d_pt_const|].
           apply continuity_2d_pt_mult; apply continuity_2d_pt_id2.
  - apply filter_forall. intros y. apply slope_ex.
Qed.

Lemma slope'_RInt x : RInt (slope' x) 0 1 = - (2 * hill x * RInt hill 0 x).
Proof.
  assert (RInt (fun t => x * hill (x * t + 0)) 0 1 = RInt hill (x * 0 + 0) (x * 1 + 0)).
  { apply (RInt_comp_lin hill x 0 0 1). apply hill_ex. }
  rewrite Rmult_0_r, Rmult_1_r, !Rplus_0_r in H. rewrite <- H.
  replace (- (2 * hill x * RInt (fun t => x * hill (x * t + 0)) 0 1))
    with (RInt (fun t => (- (2 * hill x)) * (x * hill (x * t + 0))) 0 1).
  - apply RInt_eq. intros t. unfold slope', hill.
    replace (- (x * x * (1 + t * t)) / 2) with (- (x * x) / 2 + - ((x * t + 0) * (x * t + 0)) / 2) by field.
    rewrite exp_plus. ring.
  - rewrite RInt_mul.
    + inR. ring.
    + apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros t _.
      apply (ex_derive_continuous (V := R_NormedModule)). unfold hill. auto_derive; auto.
Qed.

Lemma hill_derive x : is_derive (fun x => RInt hill 0 x) x (hill x).
Proof.
  apply (is_derive_RInt hill (RInt hill 0) 0 x).
  - apply filter_forall. intros y. apply (RInt_correct (V := R_CompleteNormedModule)), hill_ex.
  - apply hill_continuous.
Qed.

Lemma square_of_integral x : RInt hill 0 x * RInt hill 0 x + RInt (slope x) 0 1 = PI / 2.
Proof.
  transitivity (RInt hill 0 0 * RInt hill 0 0 + RInt (slope 0) 0 1).
  - apply (constant (fun x => RInt hill 0 x * RInt hill 0 x + RInt (slope x) 0 1)). intros t.
    apply derive_eq with ((hill t * RInt hill 0 t + RInt hill 0 t * hill t) + RInt (slope' t) 0 1);
      [|rewrite slope'_RInt; inR; ring].
    refine (is_derive_plus (V := R_NormedModule) (fun x => RInt hill 0 x * RInt hill 0 x)
      (fun x => RInt (slope x) 0 1) t _ _ _ (around_derive t)).
    refine (is_derive_mult (fun x => RInt hill 0 x) (fun x => RInt hill 0 x) t _ _ (hill_derive t) (hill_derive t) _).
    intros; apply Rmult_comm.
  - rewrite RInt_point. unfold zero; simpl. rewrite Rmult_0_l, Rplus_0_l.
    replace (RInt (slope 0) 0 1) with (2 * atan 1 - 2 * atan 0); [rewrite atan_1, atan_0; field|].
    symmetry. apply is_RInt_unique. apply (is_RInt_derive (fun t => 2 * atan t)).
    + intros t _. unfold slope. auto_derive; auto. rewrite !Rmult_0_l.
      replace (-0 / 2) with 0 by field. rewrite exp_0. field. nra.
    + intros t _. apply (ex_derive_continuous (V := R_NormedModule)). unfold slope. auto_derive. nra.
Qed.

Lemma hill_bound x : 0 <= x -> 0 <= PI / 2 - RInt hill 0 x * RInt hill 0 x <= 2 * hill x.
Proof.
  intros Hx. cut (0 <= RInt (slope x) 0 1 <= 2 * hill x).
  { pose proof (square_of_integral x) as H. revert H. generalize (RInt hill 0 x) (RInt (slope x) 0 1).
    intros a b Hab Hb. lra. }
  split.
  - apply RInt_ge_0; [lra | apply slope_ex|]. intros t _. unfold slope.
    apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat; nra]. pose proof (exp_pos (- (x * x * (1 + t * t)) / 2)). lra.
  - replace (2 * hill x) with (RInt (fun _ => 2 * hill x) 0 1).
    + apply RInt_le; [lra | apply slope_ex | apply ex_RInt_const|]. intros t Ht. unfold slope, hill.
      assert (exp (- (x * x * (1 + t * t)) / 2) <= exp (- (x * x) / 2)).
      { destruct (Rle_lt_or_eq_dec 0 (x * x * (t * t))); [nra| |].
        - left. apply exp_increasing. nra.
        - right. f_equal. nra. }
      pose proof (exp_pos (- (x * x * (1 + t * t)) / 2)).
      apply Rmult_le_reg_r with (1 + t * t); [nra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by nra. nra.
    + rewrite RInt_const. unfold scal; simpl; unfold mult; simpl. ring.
Qed.

Lemma hill_RInt_nonneg x : 0 <= x -> 0 <= RInt hill 0 x.
Proof. intros. apply RInt_ge_0; auto; [apply hill_ex|]. intros. left; apply exp_pos. Qed.

Lemma Phi_hill z : Phi z = 1 / 2 + RInt hill 0 z / sqrt (2 * PI).
Proof.
  unfold Phi. f_equal. replace (RInt hill 0 z / sqrt (2 * PI)) with (RInt (fun t => (/ sqrt (2 * PI)) * hill t) 0 z).
  - apply RInt_eq. intros t. unfold phi, hill. field. pose proof root_pos; lra.
  - rewrite RInt_mul by apply hill_ex. inR; field. pose proof root_pos; lra.
Qed.

Lemma sqrt_2PI : sqrt (2 * PI) = 2 * sqrt (PI / 2).
Proof.
  pose proof PI_RGT_0. replace (2 * PI) with (2 * 2 * (PI / 2)) by field.
  rewrite sqrt_mult by lra. rewrite sqrt_square by lra. reflexivity.
Qed.

(** How much is missing from 1 above z. *)
Lemma Phi_upper z : 0 <= z -> 0 <= 1 - Phi z <= hill z.
Proof.
  intros Hz. pose proof (hill_bound z Hz) as [H1 H2]. pose proof (hill_RInt_nonneg z Hz).
  rewrite Phi_hill, sqrt_2PI. pose proof PI_RGT_0. set (s := sqrt (PI / 2)) in *.
  assert (Hs : s * s = PI / 2) by (apply sqrt_sqrt; lra).
  assert (1 < s). { unfold s. rewrite <- sqrt_1. apply sqrt_lt_1; try lra. pose proof PI2_3_2. unfold PI2 in *. lra. }
  set (x := RInt hill 0 z) in *.
  replace (1 - (1 / 2 + x / (2 * s))) with ((s - x) / (2 * s)) by (field; lra).
  assert (0 <= s - x) by nra. split.
  - apply Rmult_le_pos; auto. left; apply Rinv_0_lt_compat; lra.
  - apply Rmult_le_reg_r with (2 * s); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
    pose proof (exp_pos (- (z * z) / 2)). fold (hill z) in H5. nra.
Qed.

Lemma hill_small t : 0 < t -> exists z, 0 < z /\ forall y, z <= y -> hill y <= t.
Proof.
  intros Ht. exists (1 + Rmax 0 (- 2 * ln t)).
  pose proof (Rmax_l 0 (- 2 * ln t)). pose proof (Rmax_r 0 (- 2 * ln t)). split; [lra|].
  intros y Hy. unfold hill. rewrite <- (exp_ln t) at 1 by auto.
  destruct (Rle_lt_or_eq_dec (- (y * y) / 2) (ln t)) as [Hlt|He]; [nra| |].
  - left. apply exp_increasing. auto.
  - right. f_equal. auto.
Qed.

Lemma Phi_to_1 t : 0 < t -> exists z, 0 < z /\ forall y, z <= y -> 1 - t < Phi y.
Proof.
  intros Ht. destruct (hill_small (t / 2)) as [z [Hz H]]; [lra|]. exists z. split; auto. intros y Hy.
  specialize (H y Hy). destruct (Phi_upper y ltac:(lra)). lra.
Qed.

Lemma Phi_range z : 0 < Phi z < 1.
Proof.
  assert (H : forall z, Phi z < 1).
  { intros y. destruct (Rle_dec 0 y) as [Hy|Hy].
    - pose proof (Phi_lt y (y + 1) ltac:(lra)). destruct (Phi_upper (y + 1) ltac:(lra)). lra.
    - pose proof (Phi_lt y 0 ltac:(lra)). rewrite Phi_0 in H. lra. }
  split; auto. specialize (H (- z)). rewrite Phi_opp in H. lra.
Qed.

Lemma Phi_to_0 t : 0 < t -> exists z, 0 < z /\ forall y, y <= - z -> Phi y < t.
Proof.
  intros Ht. destruct (Phi_to_1 t Ht) as [z [Hz H]]. exists z. split; auto. intros y Hy.
  specialize (H (- y) ltac:(lra)). rewrite Phi_opp in H. lra.
Qed.

Lemma Phi_onto u : 0 < u < 1 -> exists z, Phi z = u.
Proof.
  intros [H0 H1]. destruct (Phi_to_0 u H0) as [a [Ha HA]]. destruct (Phi_to_1 (1 - u) ltac:(lra)) as [b [Hb HB]].
  specialize (HA (- a) ltac:(lra)). specialize (HB b ltac:(lra)).
  destruct (IVT_gen Phi (- a) b u) as [z [_ Hz]]; eauto.
  - intros z. apply continuity_pt_filterlim, Phi_continuous.
  - split; [eapply Rle_trans; [apply Rmin_l|]; lra | eapply Rle_trans; [|apply Rmax_r]; lra].
Qed.

Lemma Phi_lt_inv a b : Phi a < Phi b -> a < b.
Proof. intros H. destruct (Rlt_dec a b); auto. pose proof (Phi_le b a ltac:(lra)). lra. Qed.

Lemma Phi_le_inv a b : Phi a <= Phi b -> a <= b.
Proof. intros H. destruct (Rle_dec a b); auto. pose proof (Phi_lt b a ltac:(lra)). lra. Qed.
