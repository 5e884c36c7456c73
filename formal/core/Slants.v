(** The chance that one normal number is below a linear function of another: ∫ Φ(c − ρv) φ(v) dv = Φ(c/√(1 + ρ²)).

    From x to y the integral is at most this, and lacks no more than what is beyond x and y.  Its derivative by c is the
    integral of φ(c − ρv) φ(v), which is φ(c/σ) φ(σv − cρ/σ) with σ² = 1 + ρ². *)
Require Import Reals Lra Lia Psatz.
From Coquelicot Require Import Coquelicot.
From DP.base Require Import Laws Normal.
From DP Require Import Definitions.
From DP.core Require Import Powers Costs Layers.
Open Scope R_scope.

Lemma phi_moved c s z : is_derive (fun x => Phi (c * x + s)) z (c * phi (c * z + s)).
Proof.
  apply (is_derive_comp Phi (fun x => c * x + s)); [apply Phi_derive|]. auto_derive; auto. ring.
Qed.

Lemma phi_linear_continuous c s z : continuous (fun x => phi (c * x + s)) z.
Proof.
  apply (ex_derive_continuous (V := R_NormedModule)). unfold phi. pose proof root_pos. auto_derive. lra.
Qed.

Section Mixed.
  Variables (rho x y : R).
  Hypothesis Hxy : x <= y.
  Let sigma := sqrt (1 + rho * rho).

  Lemma sigma_pos : 1 <= sigma /\ sigma * sigma = 1 + rho * rho.
  Proof.
    assert (0 <= rho * rho) by apply Rle_0_sqr. split; [|apply sqrt_sqrt; lra].
    unfold sigma. rewrite <- sqrt_1 at 1. apply sqrt_le_1; lra.
  Qed.

  Let f c v := Phi (c - rho * v) * phi v.
  Let f' c v := phi (c - rho * v) * phi v.
  Let I c := RInt (f c) x y.

  Lemma f_derive c v : is_derive (fun c => f c v) c (f' c v).
  Proof.
    unfold f, f'. apply derive_eq with (phi v * phi (c - rho * v)); [|inR; ring].
    apply (is_derive_ext (fun c => phi v * Phi (c + - (rho * v)))).
    - intros u. inR. unfold Rminus. ring.
    - apply Phi_moved_derive.
  Qed.

  Lemma f_continuous c v : continuous (f c) v.
  Proof.
    apply (continuous_mult (K := R_AbsRing) (fun v => Phi (c - rho * v)) phi); [|apply phi_continuous].
    apply (ex_derive_continuous (V := R_NormedModule)). eexists.
    apply (is_derive_ext (fun v => Phi ((- rho) * v + c))); [|apply phi_moved].
    intros u. inR. f_equal. ring.
  Qed.

  Lemma f_ex c : ex_RInt (f c) x y.
  Proof. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros; apply f_continuous. Qed.

  Lemma I_derive c : is_derive I c (RInt (f' c) x y).
  Proof.
    unfold I. apply (is_derive_ext (fun c => RInt (fun v => f c v) x y)); [reflexivity|].
    replace (RInt (f' c) x y) with (RInt (fun v => Derive (fun u => f u v) c) x y).
    2: { apply RInt_ext. intros v _. apply is_derive_unique, f_derive. }
    apply is_derive_RInt_param.
    - apply filter_forall. intros u v _. eexists. apply f_derive.
    - intros v _. apply continuity_2d_pt_ext with f'.
      + intros u w. symmetry. apply is_derive_unique, f_derive.
      + unfold f'. apply continuity_2d_pt_mult.
        * apply (continuity_1d_2d_pt_comp phi (fun u w => u - rho * w)).
          -- apply continuity_pt_filterlim, phi_continuous.
          -- apply continuity_2d_pt_minus; [apply continuity_2d_pt_id1|].
             apply continuity_2d_pt_mult; [apply continuity_2d_pt_const | apply continuity_2d_pt_id2].
        * apply (continuity_1d_2d_pt_comp phi (fun u w => w)); [|apply continuity_2d_pt_id2].
          apply continuity_pt_filterlim, phi_continuous.
    - apply filter_forall. intros u. apply f_ex.
  Qed.

  Lemma f'_split c v : f' c v = phi (c / sigma) * phi (sigma * v + - (c * rho / sigma)).
  Proof.
    destruct sigma_pos as [H1 H2]. unfold f', phi. pose proof root_pos.
    replace (exp (- ((c - rho * v) * (c - rho * v)) / 2) / sqrt (2 * PI) * (exp (- (v * v) / 2) / sqrt (2 * PI)))
      with (exp (- ((c - rho * v) * (c - rho * v)) / 2 + - (v * v) / 2) / (sqrt (2 * PI) * sqrt (2 * PI))).
    2: { rewrite exp_plus. field. lra. }
    replace (- ((c - rho * v) * (c - rho * v)) / 2 + - (v * v) / 2) with
      (- (c / sigma * (c / sigma)) / 2
       + - ((sigma * v + - (c * rho / sigma)) * (sigma * v + - (c * rho / sigma))) / 2).
    - rewrite exp_plus. field. lra.
    - assert (E : c * c * (1 + rho * rho) / (sigma * sigma) = c * c) by (rewrite H2; field; nra).
      replace (- (c / sigma * (c / sigma)) / 2
               + - ((sigma * v + - (c * rho / sigma)) * (sigma * v + - (c * rho / sigma))) / 2)
        with (- (c * c * (1 + rho * rho) / (sigma * sigma)) / 2 - sigma * sigma * (v * v) / 2 + c * rho * v)
        by (field; lra).
      rewrite E, H2. field.
  Qed.

  Lemma f'_sum c : RInt (f' c) x y <= phi (c / sigma) / sigma.
  Proof.
    destruct sigma_pos as [H1 H2]. set (r := - (c * rho / sigma)).
    assert (E : is_RInt (f' c) x y (phi (c / sigma) / sigma * Phi (sigma * y + r) - phi (c / sigma) / sigma * Phi
      (sigma * x + r))).
    { apply (is_RInt_derive (fun v => phi (c / sigma) / sigma * Phi (sigma * v + r)) (f' c)).
      - intros v _. apply derive_eq with (phi (c / sigma) / sigma * (sigma * phi (sigma * v + r))).
        + apply is_derive_scal, phi_moved.
        + inR. rewrite f'_split. fold r. field. lra.
      - intros v _. apply (continuous_ext (fun v => scal (phi (c / sigma)) (phi (sigma * v + r)))).
        + intros u. unfold scal; simpl; unfold mult; simpl. symmetry. apply f'_split.
        + apply (continuous_scal_r (V := R_NormedModule)). apply phi_linear_continuous. }
    rewrite (is_RInt_unique _ _ _ _ E).
    pose proof (phi_pos (c / sigma)). assert (0 < phi (c / sigma) / sigma) by (apply Rdiv_lt_0_compat; lra).
    pose proof (Phi_range (sigma * y + r)). pose proof (Phi_range (sigma * x + r)). nra.
  Qed.

  Lemma phi_at_most z : phi z <= 1.
  Proof.
    unfold phi. pose proof PI_RGT_0. pose proof PI2_3_2. unfold PI2 in *.
    assert (1 < sqrt (2 * PI)) by (rewrite <- sqrt_1; apply sqrt_lt_1; lra).
    assert (exp (- (z * z) / 2) <= 1).
    { rewrite <- exp_0. apply exp_le. pose proof (Rle_0_sqr z). unfold Rsqr in *. lra. }
    apply Rmult_le_reg_r with (sqrt (2 * PI)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
  Qed.

  Lemma I_small t : 0 < t -> exists b, forall c, c <= b -> I c <= t.
  Proof.
    intros Ht. destruct (Phi_to_0 (t / (y - x + 1))) as [b [_ Hb]]; [apply Rdiv_lt_0_compat; lra|].
    exists (- b - Rabs rho * (Rabs x + Rabs y)). intros c Hc.
    apply Rle_trans with (RInt (fun _ => t / (y - x + 1)) x y).
    - apply RInt_le; auto; [apply f_ex | apply ex_RInt_const|]. intros v Hv. unfold f.
      assert (Hv' : - (rho * v) <= Rabs rho * (Rabs x + Rabs y)).
      { apply Rle_trans with (Rabs (rho * v)); [rewrite <- Rabs_Ropp; apply Rle_abs|]. rewrite Rabs_mult.
        apply Rmult_le_compat_l; [apply Rabs_pos|]. unfold Rabs.
        destruct (Rcase_abs v), (Rcase_abs x), (Rcase_abs y); lra. }
      specialize (Hb (c - rho * v) ltac:(lra)). pose proof (phi_at_most v). pose proof (phi_pos v).
      pose proof (Phi_range (c - rho * v)). nra.
    - rewrite RInt_const. unfold scal; simpl; unfold mult; simpl.
      apply Rmult_le_reg_r with (y - x + 1); [lra|].
      replace ((y - x) * (t / (y - x + 1)) * (y - x + 1)) with ((y - x) * t) by (field; lra). nra.
  Qed.

  Lemma mixed c : RInt (f c) x y <= Phi (c / sigma).
  Proof.
    destruct sigma_pos as [H1 H2]. change (I c <= Phi (c / sigma)).
    assert (G : forall b, b <= c -> Phi (b / sigma) - I b <= Phi (c / sigma) - I c).
    { intros b Hb. apply (grows (fun c => Phi (c / sigma) - I c) (fun c => phi (c / sigma) / sigma - RInt (f' c) x
        y)); auto.
      - intros z _. apply (is_derive_minus (fun c => Phi (c / sigma)) I); [|apply I_derive].
        apply (is_derive_ext (fun c => Phi (/ sigma * c + 0))); [intros u; inR; f_equal; field; lra|].
        apply derive_eq with (/ sigma * phi (/ sigma * z + 0)); [apply phi_moved|]. inR.
        replace (/ sigma * z + 0) with (z / sigma) by (field; lra). field. lra.
      - intros z _. pose proof (f'_sum z). lra. }
    apply le_epsilon. intros t Ht. destruct (I_small t Ht) as [b Hb].
    specialize (G (Rmin b c) (Rmin_r _ _)). specialize (Hb (Rmin b c) (Rmin_l _ _)).
    pose proof (Phi_range (Rmin b c / sigma)). lra.
  Qed.
End Mixed.

Lemma phi_RInt x y : RInt phi x y = Phi y - Phi x.
Proof.
  apply is_RInt_unique. apply (is_RInt_derive Phi phi); intros; [apply Phi_derive | apply phi_continuous].
Qed.

(** Nothing is missing but what is beyond x and y. *)
Lemma mixed_low rho x y c : x <= y ->
  Phi (c / sqrt (1 + rho * rho)) - (Phi x + (1 - Phi y)) <= RInt (fun v => Phi (c - rho * v) * phi v) x y.
Proof.
  intros Hxy. pose proof (mixed (- rho) x y Hxy (- c)) as M. replace (- rho * - rho) with (rho * rho) in M by ring.
  replace (- c / sqrt (1 + rho * rho)) with (- (c / sqrt (1 + rho * rho))) in M by (unfold Rdiv; ring).
  rewrite Phi_opp in M.
  replace (RInt (fun v => Phi (- c - - rho * v) * phi v) x y)
    with (Phi y - Phi x - RInt (fun v => Phi (c - rho * v) * phi v) x y) in M; [lra|].
  rewrite <- phi_RInt, <- (RInt_minus (V := R_CompleteNormedModule) phi);
    [|apply phi_ex_RInt | apply (f_ex rho x y c)].
  apply RInt_eq. intros v. unfold minus, plus, opp; simpl.
  replace (- c - - rho * v) with (- (c - rho * v)) by ring. rewrite Phi_opp. ring.
Qed.
