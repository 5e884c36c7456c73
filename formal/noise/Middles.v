(** Cells of length 1 under a normal density and the density in their middle, all together.

    A normal law of deviation 1/d is cut at k + u ± ½.
      The differences between the chance of each cell and its middle's
    density sum to at most d²φ(1)/6 + d³(φ(0) + 4φ(√3))/24 ([cells_near]): three times differentiated by half the
    length of the cells, they are second derivatives of the density at points that are 1 apart; and what a function is
    at such points sums to at most its integral and half of its variation ([points_sum]). *)
Require Import Reals ZArith Lra Lia Psatz List.
From Coquelicot Require Import Coquelicot.
From DP.base Require Import Laws Sums Normal.
From DP.core Require Import Costs Odds Layers.
From DP.conversions Require Import Weights.
Import ListNotations.
Open Scope R_scope.

Definition phi1 (z : R) : R := - z * phi z.
Definition phi2 (z : R) : R := (z * z - 1) * phi z.
Definition phi3 (z : R) : R := (3 * z - z * z * z) * phi z.

Lemma phi_mult_derive (p p' : R -> R) z : is_derive p z (p' z) ->
  is_derive (fun z => p z * phi z) z (p' z * phi z + p z * (- z * phi z)).
Proof. intros Hp. apply (is_derive_mult p phi); auto using phi_derive. intros; apply Rmult_comm. Qed.

Lemma phi1_derive z : is_derive phi1 z (phi2 z).
Proof.
  unfold phi1, phi2. apply (derive_eq _ _ (- (1) * phi z + - z * (- z * phi z))); [|inR; ring].
  apply (phi_mult_derive (fun z => - z) (fun _ => - (1))). auto_derive; auto.
Qed.

Lemma phi2_derive z : is_derive phi2 z (phi3 z).
Proof.
  unfold phi2, phi3. apply (derive_eq _ _ (2 * z * phi z + (z * z - 1) * (- z * phi z))); [|inR; ring].
  apply (phi_mult_derive (fun z => z * z - 1) (fun z => 2 * z)). auto_derive; auto. inR. ring.
Qed.

Lemma phi3_continuous z : continuous phi3 z.
Proof.
  apply (ex_derive_continuous (V := R_NormedModule)). eexists. unfold phi3.
  apply (phi_mult_derive (fun z => 3 * z - z * z * z) (fun z => 3 - 3 * z * z)). auto_derive; auto. inR. ring.
Qed.

Lemma phi2_continuous z : continuous phi2 z.
Proof. apply (ex_derive_continuous (V := R_NormedModule)). eexists. apply phi2_derive. Qed.

(* ---------------------------------------------------------------- how much there is of them *)

Definition size2 (z : R) : R := RInt (fun y => Rabs (phi2 y)) 0 z.
Definition size3 (z : R) : R := RInt (fun y => Rabs (phi3 y)) 0 z.

Lemma size_derive (f : R -> R) z : (forall y, continuous f y) ->
  is_derive (fun z => RInt (fun y => Rabs (f y)) 0 z) z (Rabs (f z)).
Proof.
  intros Hf. assert (C : forall y, continuous (fun y => Rabs (f y)) y).
  { intros y. apply (continuous_comp f Rabs); auto. apply continuous_Rabs. }
  apply (is_derive_RInt (fun y => Rabs (f y)) (fun z => RInt (fun y => Rabs (f y)) 0 z) 0 z).
  - apply filter_forall. intros y. apply (RInt_correct (V := R_CompleteNormedModule)).
    apply (ex_RInt_continuous (V := R_CompleteNormedModule)). auto.
  - apply C.
Qed.

Lemma size2_derive z : is_derive size2 z (Rabs (phi2 z)).
Proof. apply (size_derive phi2), phi2_continuous. Qed.

Lemma size3_derive z : is_derive size3 z (Rabs (phi3 z)).
Proof. apply (size_derive phi3), phi3_continuous. Qed.

Lemma size_0 f : RInt f 0 0 = 0.
Proof. rewrite RInt_point. reflexivity. Qed.

Lemma size_odd (F f : R -> R) : (forall z, is_derive F z (Rabs (f z))) -> F 0 = 0 ->
  (forall z, Rabs (f (- z)) = Rabs (f z)) ->
  forall z, F (- z) = - F z.
Proof.
  intros HF H0 Hf z. assert (E : F (- z) + F z = F (- 0) + F 0).
  { apply (constant (fun z => F (- z) + F z)). intros y.
    apply (derive_eq _ _ (- (1) * Rabs (f (- y)) + Rabs (f y))); [|rewrite Hf; inR; ring].
    apply (is_derive_plus (fun z => F (- z)) F); auto.
    apply (is_derive_comp F (fun z => - z)); auto. auto_derive; auto. }
  rewrite Ropp_0, H0 in E. lra.
Qed.

Lemma phi2_even z : Rabs (phi2 (- z)) = Rabs (phi2 z).
Proof. unfold phi2. rewrite phi_even. f_equal. ring. Qed.

Lemma phi3_odd z : Rabs (phi3 (- z)) = Rabs (phi3 z).
Proof. unfold phi3. rewrite phi_even, <- (Rabs_Ropp ((3 * z - z * z * z) * phi z)). f_equal. ring. Qed.

Lemma phi2_low y : 0 <= y <= 1 -> phi2 y <= 0.
Proof.
  intros Hy. pose proof (phi_pos y). assert (0 <= (1 - y * y) * phi y) by (apply Rmult_le_pos; nra). unfold phi2. lra.
Qed.

Lemma phi2_high y : 1 <= y -> 0 <= phi2 y.
Proof. intros Hy. pose proof (phi_pos y). apply Rmult_le_pos; nra. Qed.

Lemma size2_most z : - (2 * phi 1) <= size2 z <= 2 * phi 1.
Proof.
  assert (P : forall z, 0 <= z -> size2 z <= 2 * phi 1).
  { clear z. intros z Hz.
    assert (L : forall x, 0 <= x <= 1 -> size2 x + phi1 x <= 0).
    { intros x Hx. apply Rle_trans with (size2 0 + phi1 0).
      - apply (falls (fun x => size2 x + phi1 x) (fun x => Rabs (phi2 x) + phi2 x)); [| |lra]; intros y Hy.
        + apply (is_derive_plus size2 phi1); [apply size2_derive | apply phi1_derive].
        + assert (phi2 y <= 0) by (apply phi2_low; lra). rewrite Rabs_left1 by auto. lra.
      - unfold size2. rewrite size_0. unfold phi1. lra. }
    destruct (Rle_dec z 1) as [Hz1|Hz1].
    - specialize (L z ltac:(lra)). unfold phi1 in L.
      assert (z * phi z <= 1 * phi 1); [|pose proof (phi_pos 1); lra].
      apply (grows (fun z => z * phi z) (fun z => - phi2 z)); [| |lra]; intros y Hy.
      + apply (derive_eq _ _ (1 * phi y + y * (- y * phi y))); [|unfold phi2; inR; ring].
        apply (phi_mult_derive (fun z => z) (fun _ => 1)). auto_derive; auto.
      + assert (phi2 y <= 0) by (apply phi2_low; lra). lra.
    - specialize (L 1 ltac:(lra)).
      assert (G : size2 z - phi1 z <= size2 1 - phi1 1).
      { apply (falls (fun x => size2 x - phi1 x) (fun x => Rabs (phi2 x) - phi2 x)); [| |lra]; intros y Hy.
        - apply (is_derive_minus size2 phi1); [apply size2_derive | apply phi1_derive].
        - assert (0 <= phi2 y) by (apply phi2_high; lra). rewrite Rabs_right by lra. lra. }
      unfold phi1 in *. pose proof (phi_pos z). nra. }
  destruct (Rle_dec 0 z) as [Hz|Hz].
  - split; [|auto]. assert (size2 0 <= size2 z).
    { apply (grows size2 (fun y => Rabs (phi2 y))); auto; intros; [apply size2_derive | apply Rabs_pos]. }
    unfold size2 in H at 1. rewrite size_0 in H. pose proof (phi_pos 1). lra.
  - pose proof (size_odd size2 phi2 size2_derive ltac:(apply size_0) phi2_even z) as E.
    specialize (P (- z) ltac:(lra)).
    assert (size2 z <= size2 0).
    { apply (grows size2 (fun y => Rabs (phi2 y))); [| |lra]; intros; [apply size2_derive | apply Rabs_pos]. }
    unfold size2 in H at 2. rewrite size_0 in H. pose proof (phi_pos 1). lra.
Qed.

Lemma size3_most z : - (phi 0 + 4 * phi (sqrt 3)) <= size3 z <= phi 0 + 4 * phi (sqrt 3).
Proof.
  pose proof (phi_pos 0) as P0. pose proof (phi_pos (sqrt 3)) as P3.
  assert (H3 : sqrt 3 * sqrt 3 = 3) by (apply sqrt_sqrt; lra). assert (H30 : 0 < sqrt 3) by (apply sqrt_lt_R0; lra).
  assert (P : forall z, 0 <= z -> size3 z <= phi 0 + 4 * phi (sqrt 3)).
  { clear z. intros z Hz.
    assert (L : forall x, 0 <= x <= sqrt 3 -> size3 x - phi2 x <= phi 0).
    { intros x Hx. apply Rle_trans with (size3 0 - phi2 0).
      - apply (falls (fun x => size3 x - phi2 x) (fun x => Rabs (phi3 x) - phi3 x)); [| |lra]; intros y Hy.
        + apply (is_derive_minus size3 phi2); [apply size3_derive | apply phi2_derive].
        + assert (y * y <= 3) by nra.
          assert (0 <= phi3 y).
          { unfold phi3. pose proof (phi_pos y). replace (3 * y - y * y * y) with (y * (3 - y * y)) by ring.
            apply Rmult_le_pos; [apply Rmult_le_pos; lra | lra]. }
          rewrite Rabs_right by lra. lra.
      - unfold size3. rewrite size_0. unfold phi2. lra. }
    assert (U : forall x, 0 <= x <= sqrt 3 -> phi2 x <= phi2 (sqrt 3)).
    { intros x Hx. apply (grows phi2 phi3); [| |lra]; intros y Hy; [apply phi2_derive|].
      assert (y * y <= 3) by nra. unfold phi3. pose proof (phi_pos y).
        replace (3 * y - y * y * y) with (y * (3 - y * y)) by ring.
      apply Rmult_le_pos; [apply Rmult_le_pos; lra | lra]. }
    assert (E3 : phi2 (sqrt 3) = 2 * phi (sqrt 3)) by (unfold phi2; rewrite H3; ring).
    destruct (Rle_dec z (sqrt 3)) as [Hz1|Hz1].
    - specialize (L z ltac:(lra)). specialize (U z ltac:(lra)). lra.
    - specialize (L (sqrt 3) ltac:(lra)).
      assert (G : size3 z + phi2 z <= size3 (sqrt 3) + phi2 (sqrt 3)).
      { apply (falls (fun x => size3 x + phi2 x) (fun x => Rabs (phi3 x) + phi3 x)); [| |lra]; intros y Hy.
        - apply (is_derive_plus size3 phi2); [apply size3_derive | apply phi2_derive].
        - assert (3 <= y * y) by nra.
          assert (phi3 y <= 0).
          { unfold phi3. pose proof (phi_pos y). replace ((3 * y - y * y * y) * phi y) with (- (y *
            (y * y - 3) * phi y)) by ring.
            assert (0 <= y * (y * y - 3) * phi y) by (apply Rmult_le_pos; [apply Rmult_le_pos; lra | lra]). lra. }
          rewrite Rabs_left1 by lra. lra. }
      assert (0 <= phi2 z).
      { unfold phi2. pose proof (phi_pos z). apply Rmult_le_pos; [nra | lra]. }
      lra. }
  destruct (Rle_dec 0 z) as [Hz|Hz].
  - split; [|auto]. assert (size3 0 <= size3 z).
    { apply (grows size3 (fun y => Rabs (phi3 y))); auto; intros; [apply size3_derive | apply Rabs_pos]. }
    unfold size3 in H at 1. rewrite size_0 in H. lra.
  - pose proof (size_odd size3 phi3 size3_derive ltac:(apply size_0) phi3_odd z) as E.
    specialize (P (- z) ltac:(lra)).
    assert (size3 z <= size3 0).
    { apply (grows size3 (fun y => Rabs (phi3 y))); [| |lra]; intros; [apply size3_derive | apply Rabs_pos]. }
    unfold size3 in H at 2. rewrite size_0 in H. lra.
Qed.

(* ---------------------------------------------------------------- points that are 1 apart *)

Lemma linear_derive (F f : R -> R) d b e t : (forall z, is_derive F z (f z)) ->
  is_derive (fun t => F (d * (b + e * t))) t (d * e * f (d * (b + e * t))).
Proof.
  intros HF. apply (is_derive_comp F (fun t => d * (b + e * t))); auto. auto_derive; auto. inR. ring.
Qed.

Lemma phi2_drop x y : Rabs (phi2 x) - Rabs (size3 y - size3 x) <= Rabs (phi2 y).
Proof.
  assert (G : forall x y, x <= y -> - (size3 y - size3 x) <= phi2 y - phi2 x <= size3 y - size3 x).
  { clear. intros x y Hxy. split.
    - assert (size3 x + phi2 x <= size3 y + phi2 y); [|lra].
      apply (grows (fun x => size3 x + phi2 x) (fun x => Rabs (phi3 x) + phi3 x)); auto; intros z _.
      + apply (is_derive_plus size3 phi2); [apply size3_derive | apply phi2_derive].
      + pose proof (Rabs_maj2 (phi3 z)). lra.
    - assert (size3 x - phi2 x <= size3 y - phi2 y); [|lra].
      apply (grows (fun x => size3 x - phi2 x) (fun x => Rabs (phi3 x) - phi3 x)); auto; intros z _.
      + apply (is_derive_minus size3 phi2); [apply size3_derive | apply phi2_derive].
      + pose proof (Rle_abs (phi3 z)). lra. }
  destruct (Rle_dec x y) as [H|H].
  - specialize (G x y H). unfold Rabs. repeat destruct (Rcase_abs _); lra.
  - specialize (G y x ltac:(lra)). unfold Rabs. repeat destruct (Rcase_abs _); lra.
Qed.

Lemma size3_up x y : x <= y -> size3 x <= size3 y.
Proof. intros H. apply (grows size3 (fun y => Rabs (phi3 y))); auto; intros; [apply size3_derive | apply Rabs_pos].
  Qed.

Definition level (d x : R) : R := size2 (d * x) / d + / 2 * size3 (d * x).

Lemma point_below d m : 0 < d -> Rabs (phi2 (d * m)) <= level d (m + 1 / 2) - level d (m - 1 / 2).
Proof.
  intros Hd.
  set (J := fun t => / d * (size2 (d * (m + 1 * t)) - size2 (d * (m + - (1) * t))) + t * (size3 (d *
    (m + 1 * t)) - size3 (d * (m + - (1) * t))) - 2 * Rabs (phi2 (d * m)) * t).
  set (J' := fun t => / d * (d * 1 * Rabs (phi2 (d * (m + 1 * t))) - d * - (1) * Rabs (phi2 (d * (m + - (1) * t))))
     + (1 * (size3 (d * (m + 1 * t)) - size3 (d * (m + - (1) * t))) + t * (d * 1 * Rabs (phi3 (d *
       (m + 1 * t))) - d * - (1) * Rabs (phi3 (d * (m + - (1) * t))))) - 2 * Rabs (phi2 (d * m)) * 1).
  assert (G : J 0 <= J (1 / 2)).
  { apply (grows J J'); [| |lra]; intros t Ht.
    - unfold J, J'.
      apply (is_derive_minus (fun t => / d * (size2 (d * (m + 1 * t)) - size2 (d * (m + - (1) * t))) + t * (size3
        (d * (m + 1 * t)) - size3 (d * (m + - (1) * t)))) (fun t => 2 * Rabs (phi2 (d * m)) * t)).
      + apply (is_derive_plus (fun t => / d * (size2 (d * (m + 1 * t)) - size2 (d * (m + - (1) * t))))
        (fun t => t * (size3 (d * (m + 1 * t)) - size3 (d * (m + - (1) * t))))).
        * apply is_derive_scal. apply (is_derive_minus (fun t => size2 (d * (m + 1 * t))) (fun t => size2 (d *
          (m + - (1) * t))));
            apply (linear_derive size2 (fun z => Rabs (phi2 z))), size2_derive.
        * apply (is_derive_mult (fun t => t) (fun t => size3 (d * (m + 1 * t)) - size3 (d * (m + - (1) * t)))).
          -- apply (is_derive_id (K := R_AbsRing)).
          -- apply (is_derive_minus (fun t => size3 (d * (m + 1 * t))) (fun t => size3 (d * (m + - (1) * t))));
               apply (linear_derive size3 (fun z => Rabs (phi3 z))), size3_derive.
          -- intros; apply Rmult_comm.
      + apply is_derive_scal. apply (is_derive_id (K := R_AbsRing)).
    - unfold J'. pose proof (phi2_drop (d * m) (d * (m + 1 * t))) as D1.
      pose proof (phi2_drop (d * m) (d * (m + - (1) * t))) as D2.
      assert (S1 : size3 (d * m) <= size3 (d * (m + 1 * t))) by (apply size3_up; apply Rmult_le_compat_l; lra).
      assert (S2 : size3 (d * (m + - (1) * t)) <= size3 (d * m)) by (apply size3_up; apply Rmult_le_compat_l; lra).
      rewrite (Rabs_right (size3 (d * (m + 1 * t)) - size3 (d * m))) in D1 by lra.
        rewrite (Rabs_left1 (size3 (d * (m + - (1) * t)) - size3 (d * m))) in D2 by lra.
      set (x := Rabs (phi2 (d * (m + 1 * t)))) in *. set (y := Rabs (phi2 (d * (m + - (1) * t)))) in *.
      replace (/ d * (d * 1 * x - d * - (1) * y)) with (x + y) by (field; lra).
      pose proof (Rabs_pos (phi3 (d * (m + 1 * t)))). pose proof (Rabs_pos (phi3 (d * (m + - (1) * t)))).
      assert (0 <= t * (d * 1 * Rabs (phi3 (d * (m + 1 * t))) - d * - (1) * Rabs (phi3 (d * (m + - (1) * t))))).
      { apply Rmult_le_pos; [lra|]. assert (0 <= d * Rabs (phi3 (d * (m + 1 * t)))) by (apply Rmult_le_pos; lra).
        assert (0 <= d * Rabs (phi3 (d * (m + - (1) * t)))) by (apply Rmult_le_pos; lra). lra. }
      lra. }
  unfold J in G. unfold level. replace (m + 1 * (1 / 2)) with (m + 1 / 2) in G by lra.
  replace (m + - (1) * (1 / 2)) with (m - 1 / 2) in G by lra. replace (m + 1 * 0) with m in G by ring.
    replace (m + - (1) * 0) with m in G by ring.
  unfold Rdiv in *. lra.
Qed.

Lemma around_telescope (f : R -> R) u r :
  total (fun k => f (IZR k + u + 1 / 2) - f (IZR k + u - 1 / 2)) (around r) = f (INR r + u + 1 / 2) - f
    (- INR r + u - 1 / 2).
Proof.
  induction r as [|r IH]; [simpl; rewrite Ropp_0; lra|]. cbn [around total].
    rewrite IH, opp_IZR, <- INR_IZR_INZ, S_INR.
  replace (INR r + 1 + u - 1 / 2) with (INR r + u + 1 / 2) by lra.
  replace (- (INR r + 1) + u + 1 / 2) with (- INR r + u - 1 / 2) by lra. lra.
Qed.

Definition most_of (d : R) : R := 4 * phi 1 / d + (phi 0 + 4 * phi (sqrt 3)).

Lemma points_sum d u r : 0 < d -> total (fun k => Rabs (phi2 (d * (IZR k + u)))) (around r) <= most_of d.
Proof.
  intros Hd. apply Rle_trans with (total (fun k => level d (IZR k + u + 1 / 2) - level d (IZR k + u - 1 / 2))
    (around r)).
  - apply total_le. intros k _. apply point_below; auto.
  - rewrite around_telescope. unfold level, most_of.
    pose proof (size2_most (d * (INR r + u + 1 / 2))). pose proof (size2_most (d * (- INR r + u - 1 / 2))).
    pose proof (size3_most (d * (INR r + u + 1 / 2))). pose proof (size3_most (d * (- INR r + u - 1 / 2))).
    set (a := size2 (d * (INR r + u + 1 / 2))) in *. set (b := size2 (d * (- INR r + u - 1 / 2))) in *.
    assert (a / d - b / d <= 4 * phi 1 / d); [|lra].
    replace (a / d - b / d) with ((a - b) / d) by (field; lra). unfold Rdiv.
      apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; auto | lra].
Qed.

(* ---------------------------------------------------------------- cells *)

Definition cell (d x : R) : R := Phi (d * (x + 1 / 2)) - Phi (d * (x - 1 / 2)).

Lemma total_derive {A} (f f' : A -> R -> R) l t : (forall k, is_derive (f k) t (f' k t)) ->
  is_derive (fun t => total (fun k => f k t) l) t (total (fun k => f' k t) l).
Proof.
  intros Hf. induction l as [|k l IH]; cbn [total]; [apply (is_derive_const (V := R_NormedModule))|].
  apply (is_derive_plus (f k) (fun t => total (fun k => f k t) l)); auto.
Qed.

(** Where a function begins, it is below one that has a larger derivative. *)
Lemma below_from_0 F F' G G' b : (forall t, is_derive F t (F' t)) -> (forall t, is_derive G t (G' t)) -> F 0 = G 0 ->
  (forall t, 0 <= t <= b -> F' t <= G' t) -> forall t, 0 <= t <= b -> F t <= G t.
Proof.
  intros HF HG H0 H t Ht. assert (G 0 - F 0 <= G t - F t); [|lra].
  apply (grows (fun t => G t - F t) (fun t => G' t - F' t)); [| |lra].
  - intros z _. apply (is_derive_minus G F); auto.
  - intros z Hz. specialize (H z ltac:(lra)). lra.
Qed.

Theorem cells_near d u r : 0 < d ->
  total (fun k => Rabs (cell d (IZR k + u) - d * phi (d * (IZR k + u)))) (around r) <= d * d * d * most_of d / 24.
Proof.
  intros Hd. set (x := fun k : Z => IZR k + u). set (M := most_of d).
  set (sg := fun k => if Rle_dec 0 (cell d (x k) - d * phi (d * x k)) then 1 else - (1)).
  set (F0 := fun t => total (fun k => sg k * (Phi (d * (x k + 1 * t)) - Phi (d * (x k + - (1) * t)) - 2 * d * phi
    (d * x k) * t)) (around r)).
  set (F1 := fun t => total (fun k => sg k * (d * 1 * phi (d * (x k + 1 * t)) - d * - (1) * phi (d * (x k + -
    (1) * t)) - 2 * d * phi (d * x k) * 1)) (around r)).
  set (F2 := fun t => total (fun k => sg k * (d * 1 * (d * 1 * phi1 (d * (x k + 1 * t))) - d * - (1) * (d * -
    (1) * phi1 (d * (x k + - (1) * t))) - 0)) (around r)).
  set (F3 := fun t => total (fun k => sg k * (d * 1 * (d * 1 * (d * 1 * phi2 (d * (x k + 1 * t)))) - d * - (1) *
    (d * - (1) * (d * - (1) * phi2 (d * (x k + - (1) * t)))) - 0)) (around r)).
  assert (P1 : forall z, is_derive phi z (phi1 z)) by (intros z; unfold phi1; apply phi_derive).
  assert (D0 : forall t, is_derive F0 t (F1 t)).
  { intros t. apply (total_derive (fun k t => sg k * (Phi (d * (x k + 1 * t)) - Phi (d * (x k + -
    (1) * t)) - 2 * d * phi (d * x k) * t))
      (fun k t => sg k * (d * 1 * phi (d * (x k + 1 * t)) - d * - (1) * phi (d * (x k + - (1) * t)) - 2 * d * phi
        (d * x k) * 1))). intros k.
    apply is_derive_scal. apply (is_derive_minus (fun t => Phi (d * (x k + 1 * t)) - Phi (d * (x k + - (1) * t)))
      (fun t => 2 * d * phi (d * x k) * t)).
    - apply (is_derive_minus (fun t => Phi (d * (x k + 1 * t))) (fun t => Phi (d * (x k + - (1) * t))));
      apply (linear_derive Phi phi), Phi_derive.
    - apply is_derive_scal. apply (is_derive_id (K := R_AbsRing)). }
  assert (D1 : forall t, is_derive F1 t (F2 t)).
  { intros t. apply (total_derive (fun k t => sg k * (d * 1 * phi (d * (x k + 1 * t)) - d * - (1) * phi (d *
    (x k + - (1) * t)) - 2 * d * phi (d * x k) * 1))
      (fun k t => sg k * (d * 1 * (d * 1 * phi1 (d * (x k + 1 * t))) - d * - (1) * (d * - (1) * phi1 (d * (x k + -
        (1) * t))) - 0))). intros k.
    apply is_derive_scal. apply (is_derive_minus (fun t => d * 1 * phi (d * (x k + 1 * t)) - d * - (1) * phi (d *
      (x k + - (1) * t))) (fun t => 2 * d * phi (d * x k) * 1)).
    - apply (is_derive_minus (fun t => d * 1 * phi (d * (x k + 1 * t))) (fun t => d * - (1) * phi (d * (x k + -
      (1) * t))));
        apply is_derive_scal; apply (linear_derive phi phi1), P1.
    - apply (is_derive_const (V := R_NormedModule)). }
  assert (D2 : forall t, is_derive F2 t (F3 t)).
  { intros t. apply (total_derive (fun k t => sg k * (d * 1 * (d * 1 * phi1 (d * (x k + 1 * t))) - d * - (1) *
    (d * - (1) * phi1 (d * (x k + - (1) * t))) - 0))
      (fun k t => sg k * (d * 1 * (d * 1 * (d * 1 * phi2 (d * (x k + 1 * t)))) - d * - (1) * (d * - (1) * (d * -
        (1) * phi2 (d * (x k + - (1) * t)))) - 0))). intros k.
    apply is_derive_scal. apply (is_derive_minus (fun t => d * 1 * (d * 1 * phi1 (d * (x k + 1 * t))) - d * -
      (1) * (d * - (1) * phi1 (d * (x k + - (1) * t)))) (fun t => 0)).
    - apply (is_derive_minus (fun t => d * 1 * (d * 1 * phi1 (d * (x k + 1 * t)))) (fun t => d * - (1) * (d * -
      (1) * phi1 (d * (x k + - (1) * t)))));
        apply is_derive_scal; apply is_derive_scal; apply (linear_derive phi1 phi2), phi1_derive.
    - apply (is_derive_const (V := R_NormedModule)). }
  assert (Sg : forall k, -1 <= sg k <= 1) by (intros k; unfold sg; destruct (Rle_dec _ _); lra).
  assert (B3 : forall t, F3 t <= d * d * d * M * 2).
  { intros t. unfold F3. apply Rle_trans with (total (fun k => d * d * d * (Rabs (phi2 (d * (IZR k +
    (u + t)))) + Rabs (phi2 (d * (IZR k + (u - t)))))) (around r)).
    - apply total_le. intros k _. specialize (Sg k).
      replace (d * (IZR k + (u + t))) with (d * (x k + 1 * t)) by (unfold x; ring).
      replace (d * (IZR k + (u - t))) with (d * (x k + - (1) * t)) by (unfold x; ring).
      set (p := phi2 (d * (x k + 1 * t))). set (q := phi2 (d * (x k + - (1) * t))).
      replace (sg k * (d * 1 * (d * 1 * (d * 1 * p)) - d * - (1) * (d * - (1) * (d * - (1) * q)) - 0)) with
        (d * d * d * (sg k * (p + q))) by ring.
      apply Rmult_le_compat_l; [apply Rmult_le_pos; [nra | lra]|]. 
      pose proof (Rle_abs p). pose proof (Rle_abs q). pose proof (Rabs_maj2 p). pose proof (Rabs_maj2 q).
        unfold sg in *. destruct (Rle_dec _ _); lra.
    - rewrite total_scale, total_plus. pose proof (points_sum d (u + t) r Hd). pose proof (points_sum d (u - t) r Hd).
      replace (d * d * d * M * 2) with (d * d * d * (M + M)) by ring.
        apply Rmult_le_compat_l; [apply Rmult_le_pos; [nra | lra]|]. unfold M. lra. }
  set (K := d * d * d * M) in *.
  assert (Z2 : F2 0 = 0).
  { unfold F2. apply total_zero. intros k _. replace (x k + 1 * 0) with (x k) by ring.
    replace (x k + - (1) * 0) with (x k) by ring. ring. }
  assert (Z1 : F1 0 = 0).
  { unfold F1. apply total_zero. intros k _. replace (x k + 1 * 0) with (x k) by ring.
    replace (x k + - (1) * 0) with (x k) by ring. ring. }
  assert (Z0 : F0 0 = 0).
  { unfold F0. apply total_zero. intros k _. replace (x k + 1 * 0) with (x k) by ring.
    replace (x k + - (1) * 0) with (x k) by ring. ring. }
  assert (B2 : forall t, 0 <= t <= 1 / 2 -> F2 t <= K * 2 * t).
  { apply (below_from_0 F2 F3 (fun t => K * 2 * t) (fun t => K * 2 * 1)); auto.
    - intros t. apply is_derive_scal, (is_derive_id (K := R_AbsRing)).
    - rewrite Z2. inR. ring.
    - intros t _. specialize (B3 t). lra. }
  assert (B1 : forall t, 0 <= t <= 1 / 2 -> F1 t <= K * (t * t)).
  { apply (below_from_0 F1 F2 (fun t => K * (t * t)) (fun t => K * (2 * t))); auto.
    - intros t. apply is_derive_scal. auto_derive; auto. inR. ring.
    - rewrite Z1. inR. ring.
    - intros t Ht. specialize (B2 t Ht). lra. }
  assert (B0 : forall t, 0 <= t <= 1 / 2 -> F0 t <= K / 3 * (t * t * t)).
  { apply (below_from_0 F0 F1 (fun t => K / 3 * (t * t * t)) (fun t => K / 3 * (3 * (t * t)))); auto.
    - intros t. apply is_derive_scal. auto_derive; auto. inR. ring.
    - rewrite Z0. inR. ring.
    - intros t Ht. specialize (B1 t Ht). lra. }
  specialize (B0 (1 / 2) ltac:(lra)). apply Rle_trans with (F0 (1 / 2)); [|lra].
  right. unfold F0. apply total_ext. intros k _. unfold sg, cell.
  replace (d * (x k + 1 * (1 / 2))) with (d * (x k + 1 / 2)) by (f_equal; lra).
  replace (d * (x k + - (1) * (1 / 2))) with (d * (x k - 1 / 2)) by (f_equal; lra).
  fold (x k). destruct (Rle_dec _ _) as [H|H].
  - rewrite Rabs_right by (apply Rle_ge; auto). lra.
  - rewrite Rabs_left by (apply Rnot_le_lt; auto). lra.
Qed.
