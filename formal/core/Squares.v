(** Squares of μ add where one μ-GDP release follows another.

    What the second release gives is a test of the first.  Its layers are compared with those of two normal laws
    ([layers]); the likeliest answer of the second release at every point x of the first follows from the lemma of
    Neyman and Pearson: it rejects where ζ ≤ ζ*(x), and ζ* is linear.  So what is left is the chance that one normal
    number is below a linear function of another (Slants.v). *)
Require Import Reals Lra Lia Psatz.
From Coquelicot Require Import Coquelicot.
From DP.base Require Import Laws Normal.
From DP Require Import Definitions.
From DP.core Require Import Powers Costs Layers Slants.
Open Scope R_scope.

(* ---------------------------------------------------------------- the smallest error of the first kind *)

Definition quantile (c : R) : R := real (Lub_Rbar (fun z => Phi z <= c)).

Lemma quantile_Phi z : quantile (Phi z) = z.
Proof.
  unfold quantile. rewrite (is_lub_Rbar_unique _ z); auto. split.
  - intros y Hy. simpl. apply Phi_le_inv; auto.
  - intros [b| |] Hb; simpl; auto; [|specialize (Hb z (Rle_refl _)); auto]. apply (Hb z). lra.
Qed.

Lemma quantile_cases c : 0 <= c <= 1 -> c = 0 \/ c = 1 \/ exists z, c = Phi z.
Proof.
  intros [H0 H1]. destruct (Req_dec c 0) as [|N0]; auto. destruct (Req_dec c 1) as [|N1]; auto.
  right; right. destruct (Phi_onto c) as [z Hz]; [lra|]. exists z; auto.
Qed.

(** A test of power c has at least this error, where one law is μ-GDP to the other. *)
Definition lowered (mu c : R) : R :=
  if Rle_dec c 0 then 0 else if Rle_dec 1 c then 1 else Phi (quantile c - mu).

Lemma lowered_0 mu : lowered mu 0 = 0.
Proof. unfold lowered. destruct (Rle_dec 0 0); lra. Qed.

Lemma lowered_1 mu : lowered mu 1 = 1.
Proof. unfold lowered. destruct (Rle_dec 1 0); [lra|]. destruct (Rle_dec 1 1); lra. Qed.

Lemma lowered_Phi mu z : lowered mu (Phi z) = Phi (z - mu).
Proof.
  unfold lowered. pose proof (Phi_range z). destruct (Rle_dec (Phi z) 0); [lra|].
  destruct (Rle_dec 1 (Phi z)); [lra|].
  rewrite quantile_Phi. auto.
Qed.

Lemma lowered_up mu c d : 0 <= c <= d -> d <= 1 -> lowered mu c <= lowered mu d.
Proof.
  intros [H0 Hcd] H1.
  destruct (quantile_cases c ltac:(lra)) as [-> |[-> |[z ->]]];
    destruct (quantile_cases d ltac:(lra)) as [-> |[-> |[y ->]]];
    rewrite ?lowered_0, ?lowered_1, ?lowered_Phi; try lra.
  - pose proof (Phi_range (y - mu)). lra.
  - pose proof (Phi_range y). lra.
  - pose proof (Phi_range z). lra.
  - pose proof (Phi_range (z - mu)). lra.
  - apply Phi_le_inv in Hcd. apply Phi_le. lra.
Qed.

Lemma lowered_gdp {A} b (P Q : law A) f : gdp_cost b P Q -> test f -> lowered (sqrt b) (P f) <= Q f.
Proof.
  intros HG Hf. apply Rnot_lt_le. intros N. pose proof (E_test P f Hf) as HP. pose proof (E_test Q f Hf) as HQ.
  assert (E : exists z, Q f <= Phi z /\ Phi z < lowered (sqrt b) (P f)).
  { assert (HL : lowered (sqrt b) (P f) <= 1).
    { rewrite <- (lowered_1 (sqrt b)). apply lowered_up; lra. }
    destruct (Phi_onto ((Q f + lowered (sqrt b) (P f)) / 2)) as [z Hz]; [lra|]. exists z. lra. }
  destruct E as [z [H1 H2]]. specialize (HG f z Hf H1).
  apply Rlt_not_le with (1 := H2). replace (Phi z) with (lowered (sqrt b) (Phi (z + sqrt b))).
  - apply lowered_up; [lra|]. pose proof (Phi_range (z + sqrt b)). lra.
  - rewrite lowered_Phi. f_equal. ring.
Qed.

(* ---------------------------------------------------------------- two releases *)

Lemma phi_shift x d : phi (x + d) = phi x * exp (- (x * d + d * d / 2)).
Proof.
  unfold phi. pose proof root_pos.
  replace (- ((x + d) * (x + d)) / 2) with (- (x * x) / 2 + - (x * d + d * d / 2)) by field. rewrite exp_plus. field.
  lra.
Qed.

Section Two.
  Variables (alpha beta s z : R).
  Hypotheses (Hb : 0 < beta) (Hs : 0 < s) (Hss : s * s = alpha * alpha + beta * beta).

  Let t := exp (- (s * z + s * s / 2)).
  Let zeta x := s * z / beta - alpha / beta * x.
  Let gain x y := Phi (y + beta) * phi (x + alpha) - t * Phi y * phi x.
  Let w x := gain x (zeta x).

  Lemma gain_derive x y : is_derive (gain x) y (phi (y + beta) * phi (x + alpha) - t * phi y * phi x).
  Proof.
    unfold gain. apply (is_derive_minus (fun y => Phi (y + beta) * phi (x + alpha)) (fun y => t * Phi y * phi x)).
    - apply (is_derive_ext (fun y => phi (x + alpha) * Phi (y + beta))); [intros u; inR; ring|].
      apply derive_eq with (phi (x + alpha) * phi (y + beta)); [apply Phi_moved_derive | inR; ring].
    - apply (is_derive_ext (fun y => (t * phi x) * Phi y)); [intros u; inR; ring|].
      apply derive_eq with ((t * phi x) * phi y); [apply is_derive_scal, Phi_derive | inR; ring].
  Qed.

  Lemma gain_slope x y : phi (y + beta) * phi (x + alpha) - t * phi y * phi x =
    phi y * phi x * (exp (- (y * beta + x * alpha + s * s / 2)) - t).
  Proof.
    rewrite !phi_shift. replace (- (y * beta + x * alpha + s * s / 2))
      with (- (y * beta + beta * beta / 2) + - (x * alpha + alpha * alpha / 2)) by (rewrite Hss; field).
    rewrite exp_plus. ring.
  Qed.

  (** Neyman and Pearson. *)
  Lemma gain_most x y : gain x y <= w x.
  Proof.
    unfold w. pose proof (phi_pos x) as Hx.
    assert (Hz : zeta x * beta + x * alpha = s * z) by (unfold zeta; field; lra).
    destruct (Rle_dec y (zeta x)) as [Hy|Hy].
    - apply (grows (gain x) (fun y => phi (y + beta) * phi (x + alpha) - t * phi y * phi x)); auto; intros v Hv.
      + apply gain_derive.
      + rewrite gain_slope. pose proof (phi_pos v). apply Rmult_le_pos; [nra|].
        assert (t <= exp (- (v * beta + x * alpha + s * s / 2))); [|lra]. apply exp_le. nra.
    - assert (- gain x (zeta x) <= - gain x y); [|lra].
      apply (grows (fun y => - gain x y) (fun y => - (phi (y + beta) * phi (x + alpha) - t * phi y * phi x)));
        [| |lra]; intros v Hv.
      + apply (is_derive_opp (gain x)), gain_derive.
      + rewrite gain_slope. pose proof (phi_pos v).
        assert (exp (- (v * beta + x * alpha + s * s / 2)) <= t) by (apply exp_le; nra).
        assert (0 < phi v * phi x) by nra. nra.
  Qed.

  Lemma t_pos : 0 < t.
  Proof. apply exp_pos. Qed.

  Lemma w_low x : 0 <= w x.
  Proof.
    pose proof (phi_pos x) as Hx. pose proof (phi_pos (x + alpha)) as Ha. pose proof t_pos as Ht.
    apply le_epsilon. intros e He.
    destruct (Phi_to_0 (e / (t * phi x))) as [y [Hy0 Hy]]; [apply Rdiv_lt_0_compat; nra|].
    specialize (Hy (- y) ltac:(lra)). pose proof (gain_most x (- y)) as G. unfold gain in G.
    pose proof (Phi_range (- y + beta)). apply Rmult_lt_compat_r with (r := t * phi x) in Hy; [|nra].
    unfold Rdiv in Hy. rewrite Rmult_assoc, Rinv_l in Hy by nra. nra.
  Qed.

  Lemma w_high x : phi (x + alpha) - t * phi x <= w x.
  Proof.
    pose proof (phi_pos x) as Hx. pose proof (phi_pos (x + alpha)) as Ha. pose proof t_pos as Ht.
    apply le_epsilon. intros e He.
    destruct (Phi_to_1 (e / phi (x + alpha))) as [y [Hy0 Hy]]; [apply Rdiv_lt_0_compat; nra|].
    specialize (Hy (y + beta) ltac:(lra)). pose proof (gain_most x y) as G. unfold gain in G.
    pose proof (Phi_range y). apply Rmult_lt_compat_r with (r := phi (x + alpha)) in Hy; [|nra].
    unfold Rdiv in Hy. rewrite Rmult_minus_distr_r, Rmult_assoc, Rinv_l in Hy by nra.
    assert (0 < t * phi x) by nra. nra.
  Qed.

  Lemma w_level c x : 0 <= c <= 1 -> 0 <= t * lowered beta c * phi x - c * phi (x + alpha) + w x.
  Proof.
    intros Hc. destruct (quantile_cases c Hc) as [-> |[-> |[y ->]]].
    - rewrite lowered_0. pose proof (w_low x). lra.
    - rewrite lowered_1. pose proof (w_high x). lra.
    - rewrite lowered_Phi. pose proof (gain_most x (y - beta)) as G. unfold gain in G.
      replace (y - beta + beta) with y in G by ring. lra.
  Qed.

  Lemma gain_parts_continuous c r d x : continuous (fun x => Phi (c - r * x) * phi (x + d)) x.
  Proof.
    apply (continuous_mult (K := R_AbsRing) (fun x => Phi (c - r * x)) (fun x => phi (x + d))).
    - apply (ex_derive_continuous (V := R_NormedModule)). eexists.
      apply (is_derive_ext (fun v => Phi ((- r) * v + c))); [intros u; inR; f_equal; ring | apply phi_moved].
    - apply (continuous_ext (fun x => phi (1 * x + d))); [intros u; f_equal; ring | apply phi_linear_continuous].
  Qed.

  Lemma parts_ex c r d x y : ex_RInt (fun x => Phi (c - r * x) * phi (x + d)) x y.
  Proof. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros; apply gain_parts_continuous. Qed.

  Lemma w_parts x : w x = Phi (s * z / beta + beta - alpha / beta * x) * phi (x + alpha)
                        - t * (Phi (s * z / beta - alpha / beta * x) * phi (x + 0)).
  Proof.
    unfold w, gain, zeta. rewrite Rplus_0_r.
    replace (s * z / beta - alpha / beta * x + beta) with (s * z / beta + beta - alpha / beta * x) by ring. ring.
  Qed.

  Lemma w_continuous x : continuous w x.
  Proof.
    apply (continuous_ext (fun x => minus (Phi (s * z / beta + beta - alpha / beta * x) * phi (x + alpha))
                        (scal t (Phi (s * z / beta - alpha / beta * x) * phi (x + 0))))).
    - intros u. rewrite w_parts. reflexivity.
    - apply (continuous_minus (V := R_NormedModule)); [apply gain_parts_continuous|].
      apply (continuous_scal_r (V := R_NormedModule)). apply gain_parts_continuous.
  Qed.

  Lemma w_ex x y : ex_RInt w x y.
  Proof. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros; apply w_continuous. Qed.

  Lemma slant : sqrt (1 + alpha / beta * (alpha / beta)) = s / beta.
  Proof.
    apply sqrt_lem_1.
    - pose proof (Rle_0_sqr (alpha / beta)). unfold Rsqr in *. lra.
    - apply Rlt_le, Rdiv_lt_0_compat; auto.
    - replace (s / beta * (s / beta)) with (s * s / (beta * beta)) by (field; lra). rewrite Hss. field. lra.
  Qed.

  Lemma w_window L : 0 <= L -> RInt w (- L) L <= Phi (z + s) - t * Phi z + t * (2 * Phi (- L)).
  Proof.
    intros HL. set (r := alpha / beta). set (c := s * z / beta).
    assert (Hsb : s / beta <> 0) by (apply Rgt_not_eq, Rdiv_lt_0_compat; auto).
    assert (E : RInt w (- L) L = RInt (fun x => Phi (c + beta - r * x) * phi (x + alpha)) (- L) L
                             - t * RInt (fun x => Phi (c - r * x) * phi (x + 0)) (- L) L).
    { rewrite <- RInt_mul by apply parts_ex.
      rewrite <- (RInt_minus (V := R_CompleteNormedModule) (fun x => Phi (c + beta - r * x) * phi (x + alpha))).
      - apply RInt_eq. intros x. apply w_parts.
      - apply parts_ex.
      - apply (ex_RInt_scal (V := R_NormedModule) (fun x => Phi (c - r * x) * phi (x + 0))). apply parts_ex. }
    rewrite E. clear E.
    assert (A : RInt (fun x => Phi (c + beta - r * x) * phi (x + alpha)) (- L) L <= Phi (z + s)).
    { replace (RInt (fun x => Phi (c + beta - r * x) * phi (x + alpha)) (- L) L)
        with (RInt (fun v => Phi (c + beta + r * alpha - r * v) * phi v) (1 * - L + alpha) (1 * L + alpha)).
      - eapply Rle_trans; [apply mixed; lra|]. right. unfold r. rewrite slant. f_equal.
        replace (c + beta + alpha / beta * alpha) with ((s * z + s * s) / beta); [field; lra|].
        rewrite Hss. unfold c. field. lra.
      - rewrite <- (RInt_comp_lin (fun v => Phi (c + beta + r * alpha - r * v) * phi v) 1 alpha).
        + apply RInt_eq. intros x. unfold scal; simpl; unfold mult; simpl. rewrite !Rmult_1_l. f_equal. f_equal. ring.
        + apply (f_ex r). }
    assert (B : Phi z - 2 * Phi (- L) <= RInt (fun x => Phi (c - r * x) * phi (x + 0)) (- L) L).
    { replace (RInt (fun x => Phi (c - r * x) * phi (x + 0)) (- L) L)
        with (RInt (fun v => Phi (c - r * v) * phi v) (- L) L) by (apply RInt_eq; intros; rewrite Rplus_0_r; auto).
      eapply Rle_trans; [|apply mixed_low; lra]. unfold r. rewrite slant.
      replace (c / (s / beta)) with z by (unfold c; field; lra). rewrite Phi_opp. lra. }
    pose proof t_pos. nra.
  Qed.

  Lemma w_sum x y : x <= y -> RInt w x y <= Phi (z + s) - t * Phi z.
  Proof.
    intros Hxy. pose proof t_pos as Ht. apply le_epsilon. intros e He.
    destruct (Phi_to_0 (e / (2 * t))) as [b [Hb0 HP]]; [apply Rdiv_lt_0_compat; lra|].
    set (L := Rmax b (Rmax (Rabs x) (Rabs y))).
    assert (L1 : b <= L) by apply Rmax_l.
    assert (L2 : Rabs x <= L) by (eapply Rle_trans; [apply Rmax_l | apply Rmax_r]).
    assert (L3 : Rabs y <= L) by (eapply Rle_trans; [apply Rmax_r | apply Rmax_r]).
    pose proof (w_window L ltac:(lra)) as HW. specialize (HP (- L) ltac:(lra)).
    apply Rmult_lt_compat_r with (r := 2 * t) in HP; [|lra]. unfold Rdiv in HP.
    rewrite Rmult_assoc, Rinv_l in HP by lra.
    assert (Hx : - L <= x) by (unfold Rabs in L2; destruct (Rcase_abs x); lra).
    assert (Hy : y <= L) by (unfold Rabs in L3; destruct (Rcase_abs y); lra).
    assert (E : RInt w (- L) L = RInt w (- L) x + (RInt w x y + RInt w y L)).
    { rewrite <- (RInt_Chasles (V := R_CompleteNormedModule) w (- L) x L) by apply w_ex.
      rewrite <- (RInt_Chasles (V := R_CompleteNormedModule) w x y L) by apply w_ex. reflexivity. }
    assert (0 <= RInt w (- L) x) by (apply RInt_ge_0; auto using w_low, w_ex).
    assert (0 <= RInt w y L) by (apply RInt_ge_0; auto using w_low, w_ex).
    lra.
  Qed.

  Let W x := RInt w 0 x.

  Lemma W_derive x : is_derive W x (w x).
  Proof.
    apply (is_derive_RInt w W 0 x).
    - apply filter_forall. intros y. apply (RInt_correct (V := R_CompleteNormedModule)), w_ex.
    - apply w_continuous.
  Qed.

  Lemma W_in x y : x <= y -> W y - W x <= Phi (z + s) - t * Phi z.
  Proof.
    intros Hxy. unfold W. rewrite <- (RInt_Chasles (V := R_CompleteNormedModule) w 0 x y) by apply w_ex.
    unfold plus; simpl. pose proof (w_sum x y Hxy). lra.
  Qed.

  Lemma W_up c x y : 0 <= c <= 1 -> x <= y ->
    t * lowered beta c * Phi x - c * Phi (x + alpha) + W x <= t * lowered beta c * Phi y - c * Phi (y + alpha) + W y.
  Proof.
    intros Hc Hxy. set (u := t * lowered beta c).
    apply (grows (fun x => u * Phi x - c * Phi (x + alpha) + W x) (fun x => u * phi x - c * phi (x + alpha) + w x)); auto;
      intros v _; [|apply w_level; auto].
    apply (is_derive_plus (fun x => u * Phi x - c * Phi (x + alpha)) W); [|apply W_derive].
    apply (is_derive_minus (fun x => u * Phi x) (fun x => c * Phi (x + alpha))); [|apply Phi_moved_derive].
    apply is_derive_scal, Phi_derive.
  Qed.

  Lemma two_releases {A} a (P Q : law A) h g : sqrt a = alpha -> gdp_cost a P Q -> test h -> test g ->
    (forall x, lowered beta (h x) <= g x) -> Q g <= Phi z -> P h <= Phi (z + s).
  Proof.
    intros Ha HG Hh Hg Hl HQ. pose proof t_pos.
    assert (G : P h <= t * Q g + (Phi (z + s) - t * Phi z)).
    { apply (layers P Q a h g (lowered beta) W); auto.
      - lra.
      - apply lowered_0.
      - rewrite lowered_1. lra.
      - apply lowered_up.
      - intros c x y. rewrite Ha. apply W_up.
      - apply W_in. }
    nra.
  Qed.
End Two.

(** Dong, Roth and Su 2022, corollary 3.3 (of theorem 3.2): squares of μ add where one release follows another. *)
Lemma gdp_composes (A B : Type) (a b : R) (P Q : law A) (k l : A -> law B) : 0 <= a -> 0 <= b ->
  gdp_cost a P Q -> (forall x, gdp_cost b (k x) (l x)) -> gdp_cost (a + b) (bind P k) (bind Q l).
Proof.
  intros Ha [Hb|<-] HP HK f z Hf Hz; simpl in *.
  - apply (two_releases (sqrt a) (sqrt b) (sqrt (a + b)) z) with (a := a) (Q := Q) (g := fun x => l x f); auto.
    + apply sqrt_lt_R0; auto.
    + apply sqrt_lt_R0; lra.
    + rewrite !sqrt_sqrt; lra.
    + intros x. apply (lowered_gdp b); auto.
  - rewrite Rplus_0_r. apply Rle_trans with (P (fun x => l x f)); [|apply HP; auto].
    apply E_mono; auto. intros x. pose proof (E_test (l x) f Hf) as Hl. specialize (HK x f). rewrite sqrt_0 in HK.
    destruct (quantile_cases _ Hl) as [E|[E|[y E]]].
    + apply le_epsilon. intros e He. destruct (Phi_to_0 e He) as [y [_ Hy]]. specialize (Hy (- y) ltac:(lra)).
      pose proof (Phi_range (- y)). specialize (HK (- y) Hf). rewrite Rplus_0_r in HK. rewrite E in *.
      specialize (HK ltac:(lra)). lra.
    + rewrite E. apply E_test; auto.
    + specialize (HK y Hf ltac:(lra)). rewrite Rplus_0_r in HK. lra.
Qed.
