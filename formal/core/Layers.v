(** Two laws that are μ-GDP: tests with more than two values, and zCDP.

    A test is a sum of its layers, where it is at least k/n.  Each layer's two chances are those of a half line under
    two normal laws.  So what holds of the two normal densities at every point of the line and in every layer
    holds of the two laws in the mean ([layers]).  With Young's inequality this gives zCDP ([gdp_is_zcdp]). *)
Require Import Reals Lra Lia Psatz.
From Coquelicot Require Import Coquelicot.
From DP.base Require Import Laws Normal.
From DP Require Import Definitions.
From DP.core Require Import Powers Costs.
Open Scope R_scope.

(* ---------------------------------------------------------------- Young's inequality for normal densities *)

Lemma weighted_mean i p q r : 0 <= i <= 1 -> exp (i * p + (1 - i) * q + r) <= exp r * (i * exp p + (1 - i) * exp q).
Proof.
  intros Hi. rewrite exp_plus, Rmult_comm. apply Rmult_le_compat_l; [left; apply exp_pos|]. apply exp_convex; auto.
Qed.

Definition bell (s a z : R) : R := exp (- ((z - a) * (z - a)) / (2 * s)).

Lemma bell_young s x y z theta f A : 0 < s -> 1 < theta -> 0 <= f -> 0 < A ->
  let alpha := theta / (theta - 1) in
  bell s x z * f <= power A (1 / theta) * exp ((alpha - 1) * ((x - y) * (x - y) / (2 * s))) *
    (1 / theta * (bell s y z * power f theta / A) + (1 - 1 / theta) * bell s (alpha * x + (1 - alpha) * y) z).
Proof.
  intros Hs Ht Hf HA alpha. pose proof (one_minus_inv theta Ht) as Hi.
  assert (Hg : 0 < bell s (alpha * x + (1 - alpha) * y) z) by apply exp_pos.
  pose proof (exp_pos ((alpha - 1) * ((x - y) * (x - y) / (2 * s)))) as He.
  pose proof (power_gt0 A (1 / theta) HA) as HP. destruct Hf as [Hf|<-].
  2: { rewrite power_0. rewrite Rmult_0_r. apply Rmult_le_pos; [left; apply Rmult_lt_0_compat; auto|].
       replace (bell s y z * 0 / A) with 0 by (field; lra). rewrite Rmult_0_r, Rplus_0_l. apply Rmult_le_pos; lra. }
  rewrite !power_pos by auto. unfold Rpower.
  replace (bell s y z * exp (theta * ln f) / A)
    with (exp (- ((z - y) * (z - y)) / (2 * s) + theta * ln f - ln A)).
  2: { unfold Rminus at 1. rewrite !exp_plus, exp_Ropp, exp_ln by auto. reflexivity. }
  rewrite <- exp_plus. replace (bell s x z * f) with (exp (- ((z - x) * (z - x)) / (2 * s) + ln f)).
  2: { rewrite exp_plus, exp_ln by auto. reflexivity. }
  unfold bell. eapply Rle_trans; [|apply weighted_mean; lra]. right. f_equal. unfold alpha. field. lra.
Qed.

(** The best A in Young's inequality is the mean itself. *)
Lemma best_mean theta C p q : 1 < theta -> 0 < C -> 0 <= q ->
  (forall A, 0 < A -> p <= power A (1 / theta) * C * (1 / theta * (q / A) + (1 - 1 / theta))) ->
  p <= C * power q (1 / theta).
Proof.
  intros Ht HC [Hq|<-] H; pose proof (one_minus_inv theta Ht) as Hi.
  - specialize (H q Hq). replace (q / q) with 1 in H by (field; lra). lra.
  - rewrite power_0, Rmult_0_r. apply le_epsilon. intros e He.
    set (A := power (e / C) theta). assert (HA : 0 < A) by (apply power_gt0, Rdiv_lt_0_compat; auto).
    specialize (H A HA). unfold A in H at 1.
    rewrite power_inv in H; [|left; apply Rdiv_lt_0_compat; auto | lra].
    replace (e / C * C * (1 / theta * (0 / A) + (1 - 1 / theta))) with (e * (1 - 1 / theta)) in H
      by (field; repeat split; lra).
    nra.
Qed.

(* ---------------------------------------------------------------- layers *)

Fixpoint sum_to (f : nat -> R) (n : nat) : R :=
  match n with O => 0 | S m => sum_to f m + f (S m) end.

Lemma sum_to_le f g n : (forall k, (1 <= k <= n)%nat -> f k <= g k) -> sum_to f n <= sum_to g n.
Proof.
  induction n as [|n IH]; simpl; intros H; [lra|].
  assert (f (S n) <= g (S n)) by (apply H; lia).
  assert (sum_to f n <= sum_to g n) by (apply IH; intros; apply H; lia).
  lra.
Qed.

Lemma sum_to_ext f g n : (forall k, f k = g k) -> sum_to f n = sum_to g n.
Proof. intros H. induction n; simpl; auto. rewrite IHn, H; auto. Qed.

Lemma sum_to_plus f g n : sum_to (fun k => f k + g k) n = sum_to f n + sum_to g n.
Proof. induction n; simpl; lra. Qed.

Lemma sum_to_scale c f n : sum_to (fun k => c * f k) n = c * sum_to f n.
Proof. induction n; simpl; lra. Qed.

Lemma sum_to_steps (u : nat -> R) n : sum_to (fun k => u k - u (pred k)) n = u n - u O.
Proof. induction n; simpl; lra. Qed.

(** Laws are linear in such sums. *)
Lemma E_sum_to {A} (L : law A) (d : nat -> R) (t : nat -> A -> R) n :
  (forall k, 0 <= d k) -> sum_to d n <= 1 -> (forall k, test (t k)) ->
  test (fun a => sum_to (fun k => d k * t k a) n) /\
  L (fun a => sum_to (fun k => d k * t k a) n) = sum_to (fun k => d k * L (t k)) n.
Proof.
  intros Hd Hs Ht.
  assert (T : forall m, (m <= n)%nat -> test (fun a => sum_to (fun k => d k * t k a) m)).
  { intros m Hm a. split.
    - clear Hm. induction m; simpl; [lra|]. specialize (Hd (S m)). specialize (Ht (S m) a). nra.
    - apply Rle_trans with (sum_to d m).
      + apply sum_to_le. intros k _. specialize (Hd k). specialize (Ht k a). nra.
      + apply Rle_trans with (2 := Hs). clear Hs. induction Hm; [lra|]. simpl. specialize (Hd (S m0)). lra. }
  split; [apply T; lia|].
  assert (G : forall m, (m <= n)%nat -> L (fun a => sum_to (fun k => d k * t k a) m) = sum_to (fun k => d k * L (t k))
    m).
  { induction m as [|m IH]; intros Hm; simpl; [apply E_const; lra|].
    assert (Hd1 : 0 <= d (S m) <= 1).
    { split; auto. pose proof (T (S m) Hm) as _. clear - Hd Hs Hm. apply Rle_trans with (2 := Hs).
      assert (0 <= sum_to d m) by (clear - Hd; induction m; simpl; [lra|]; specialize (Hd (S m)); lra).
      assert (sum_to d (S m) <= sum_to d n); [|simpl in *; lra].
      clear - Hd Hm. induction Hm; [lra|]. simpl in *. specialize (Hd (S m0)). lra. }
    rewrite (E_plus L (fun a => sum_to (fun k => d k * t k a) m) (fun a => d (S m) * t (S m) a)).
    - rewrite IH, E_scale by (try lia; auto using test_scale; apply Hd1). auto.
    - apply T; lia.
    - apply test_scale; auto.
    - apply (T (S m) Hm). }
  apply G; lia.
Qed.

Section Layers.
  Context {A : Type} (P Q : law A) (m : R).
  Hypothesis gdp : gdp_cost m P Q.
  Variables (h g : A -> R) (u W : R -> R) (U K : R).
  Hypotheses (Hh : test h) (Hg : test g) (HU : 0 <= U).
  Hypothesis u_zero : u 0 = 0.
  Hypothesis u_one : u 1 <= 1.
  Hypothesis u_up : forall c d, 0 <= c <= d -> d <= 1 -> u c <= u d.
  Hypothesis u_g : forall a, u (h a) <= g a.

  Let mu := sqrt m.
  Let D c x := U * u c * Phi x - c * Phi (x + mu) + W x.

  Hypothesis D_up : forall c x y, 0 <= c <= 1 -> x <= y -> D c x <= D c y.
  Hypothesis W_in : forall x y, x <= y -> W y - W x <= K.

  Variable n : nat.
  Hypothesis n_pos : (0 < n)%nat.

  Let level (k : nat) := INR k / INR n.
  Let layer k a := if Rle_dec (level k) (h a) then 1 else 0.

  Lemma n_R : 0 < INR n.
  Proof. apply lt_0_INR; auto. Qed.

  Lemma level_0 : level 0 = 0.
  Proof. pose proof n_R. unfold level. simpl. field. lra. Qed.

  Lemma level_S k : level (S k) = level k + / INR n.
  Proof. pose proof n_R. unfold level. rewrite S_INR. field. lra. Qed.

  Lemma level_n : level n = 1.
  Proof. pose proof n_R. unfold level. field. lra. Qed.

  Lemma level_up j k : (j <= k)%nat -> level j <= level k.
  Proof.
    pose proof n_R. intros Hjk. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; auto|]. apply le_INR; auto.
  Qed.

  Lemma level_range k : (k <= n)%nat -> 0 <= level k <= 1.
  Proof.
    intros Hk. split; [rewrite <- level_0 | rewrite <- level_n]; apply level_up; lia.
  Qed.

  Lemma layer_test k : test (layer k).
  Proof. intros a. unfold layer. destruct (Rle_dec _ _); lra. Qed.

  Lemma layers_full N a : level N <= h a -> sum_to (fun k => / INR n * layer k a) N = level N.
  Proof.
    pose proof (Rinv_0_lt_compat _ n_R).
    induction N as [|N IH]; simpl; intros HN; [rewrite level_0; auto|].
    rewrite level_S in HN. rewrite IH by lra. unfold layer. rewrite level_S.
    destruct (Rle_dec (level N + / INR n) (h a)); [lra | contradiction].
  Qed.

  Lemma layers_above a : h a <= sum_to (fun k => / INR n * layer k a) n + / INR n.
  Proof.
    pose proof (Rinv_0_lt_compat _ n_R) as Hn.
    assert (G : forall N, h a <= level N + / INR n -> h a <= sum_to (fun k => / INR n * layer k a) N + / INR n).
    { induction N as [|N IH]; intros HN; [rewrite level_0 in HN; simpl; lra|].
      destruct (Rle_dec (level (S N)) (h a)) as [Hl|Hl].
      - rewrite layers_full by auto. lra.
      - simpl. rewrite level_S in Hl. pose proof (layer_test (S N) a). assert (0 <= / INR n * layer (S N) a) by nra.
        assert (h a <= sum_to (fun k => / INR n * layer k a) N + / INR n) by (apply IH; lra). lra. }
    apply G. rewrite level_n. specialize (Hh a). lra.
  Qed.

  Let rise (k : nat) := if le_dec k n then u (level k) - u (level (pred k)) else 0.

  Lemma rise_nonneg k : 0 <= rise k.
  Proof.
    unfold rise. destruct (le_dec k n) as [Hk|]; [|lra].
    assert (u (level (pred k)) <= u (level k)); [|lra].
    apply u_up; [split; [apply level_range; lia | apply level_up; lia] | apply level_range; auto].
  Qed.

  Lemma rise_sum N : (N <= n)%nat -> sum_to rise N = u (level N).
  Proof.
    induction N as [|N IH]; simpl; intros HN; [rewrite level_0; auto|]. rewrite IH by lia. unfold rise.
    destruct (le_dec (S N) n); [simpl; lra | lia].
  Qed.

  Lemma rise_layers N a : (N <= n)%nat -> sum_to (fun k => rise k * layer k a) N <= u (h a).
  Proof.
    induction N as [|N IH]; intros HN.
    - simpl. rewrite <- u_zero. apply u_up; specialize (Hh a); lra.
    - destruct (Rle_dec (level (S N)) (h a)) as [Hl|Hl].
      + apply Rle_trans with (sum_to rise (S N)).
        * apply sum_to_le. intros k _. pose proof (rise_nonneg k). pose proof (layer_test k a). nra.
        * rewrite rise_sum by auto. apply u_up; [split; [apply level_range; auto|auto] | apply Hh].
      + simpl. unfold layer at 2. destruct (Rle_dec (level (S N)) (h a)); [contradiction|].
        assert (sum_to (fun k => rise k * layer k a) N <= u (h a)) by (apply IH; lia). lra.
  Qed.

  Variable e : R.
  Hypothesis He : 0 < e < 1.

  Let chance k := (1 - e) * Q (layer k) + e / 2.

  Lemma chance_range k : 0 < chance k < 1.
  Proof. unfold chance. pose proof (E_test Q (layer k) (layer_test k)). nra. Qed.

  Lemma chance_down k : chance (S k) <= chance k.
  Proof.
    unfold chance. assert (Q (layer (S k)) <= Q (layer k)); [|nra].
    apply E_mono; try apply layer_test. intros a. unfold layer. pose proof (level_up k (S k) ltac:(lia)).
    destruct (Rle_dec (level (S k)) (h a)), (Rle_dec (level k) (h a)); lra.
  Qed.

  Lemma chance_gdp k z : Phi z = chance k -> (1 - e) * P (layer k) <= Phi (z + mu).
  Proof.
    intros Hz. pose proof (layer_test k) as T.
    assert (T1 : test (fun a => (1 - e) * layer k a)) by (apply test_scale; auto; lra).
    rewrite <- E_scale by (auto; lra).
    apply gdp; auto. rewrite Hz, E_scale by (auto; lra). unfold chance. lra.
  Qed.

  (** From the lowest layer up. *)
  Lemma layers_up N : (S N <= n)%nat -> exists z1 z, Phi z = chance (S N) /\ z <= z1 /\
    (1 - e) * sum_to (fun k => / INR n * P (layer k)) (S N) <=
    U * sum_to (fun k => rise k * chance k) (S N) + W z1 - D (level (S N)) z.
  Proof.
    pose proof (Rinv_0_lt_compat _ n_R) as Hn.
    induction N as [|N IH]; intros HN.
    - destruct (Phi_onto (chance 1) (chance_range 1)) as [z Hz]. exists z, z. repeat split; auto; [lra|].
      pose proof (chance_gdp 1 z Hz) as G. unfold D. rewrite Hz. cbn [sum_to]. unfold rise.
      destruct (le_dec 1 n); [|lia]. cbn [pred]. rewrite level_0, u_zero. rewrite level_S, level_0.
      rewrite !Rplus_0_l. apply Rmult_le_compat_l with (r := / INR n) in G; [|lra]. lra.
    - destruct IH as [z1 [z [Hz [Hz1 IH]]]]; [lia|].
      destruct (Phi_onto (chance (S (S N))) (chance_range (S (S N)))) as [z' Hz'].
      assert (Hzz : z' <= z) by (apply Phi_le_inv; rewrite Hz, Hz'; apply chance_down).
      exists z1, z'. repeat split; auto; [lra|].
      pose proof (chance_gdp (S (S N)) z' Hz') as G.
      assert (HD : D (level (S N)) z' <= D (level (S N)) z) by (apply D_up; auto; apply level_range; lia).
      assert (HE : D (level (S (S N))) z' = D (level (S N)) z' + U * rise (S (S N)) * chance (S (S N)) - / INR n * Phi
        (z' + mu)).
      { unfold D, rise. destruct (le_dec (S (S N)) n); [|lia]. cbn [pred]. rewrite (level_S (S N)), Hz'. ring. }
      rewrite HE. remember (S N) as M eqn:EM. cbn [sum_to]. apply Rmult_le_compat_l with (r := / INR n) in G; [|lra].
      lra.
  Qed.

  Lemma D_low c z : 0 <= c <= 1 -> 0 <= u c -> forall t, 0 < t -> exists y, y <= z /\ W y - t <= D c z.
  Proof.
    intros Hc Hu t Ht. destruct (Phi_to_0 t Ht) as [b [Hb HP]].
    exists (Rmin z (- b - mu)). pose proof (Rmin_l z (- b - mu)). pose proof (Rmin_r z (- b - mu)).
    set (y := Rmin z (- b - mu)) in *. split; auto. apply Rle_trans with (D c y); [|apply D_up; auto].
    unfold D. specialize (HP (y + mu) ltac:(lra)). pose proof (Phi_range y). pose proof (Phi_range (y + mu)).
    assert (0 <= U * u c * Phi y) by (apply Rmult_le_pos; [apply Rmult_le_pos; auto | lra]). nra.
  Qed.

  Lemma layers_fine : (1 - e) * (P h - / INR n) <= U * (Q g + e / 2) + K.
  Proof.
    pose proof (Rinv_0_lt_compat _ n_R) as Hn.
    destruct (E_sum_to P (fun _ => / INR n) layer n) as [TP EP].
    { intros; lra. }
    { assert (forall N, sum_to (fun _ => / INR n) N = level N) as ->.
      { induction N; simpl; [rewrite level_0; auto | rewrite IHN, level_S; lra]. }
      rewrite level_n; lra. }
    { apply layer_test. }
    destruct (E_sum_to Q rise layer n rise_nonneg) as [TQ EQ].
    { rewrite rise_sum, level_n by auto. auto. }
    { apply layer_test. }
    assert (HP : P h <= sum_to (fun k => / INR n * P (layer k)) n + / INR n).
    { rewrite <- EP.
      pose proof (E_le_affine P h _ 1 (/ INR n) Hh TP ltac:(lra) ltac:(lra)) as G. rewrite !Rmult_1_l in G. apply G.
      intros a. rewrite Rmult_1_l. apply layers_above. }
    assert (HQ : sum_to (fun k => rise k * Q (layer k)) n <= Q g).
    { rewrite <- EQ. apply E_mono; auto. intros a. apply Rle_trans with (u (h a)); auto. apply rise_layers; auto. }
    assert (Hchance : sum_to (fun k => rise k * chance k) n <= Q g + e / 2).
    { rewrite (sum_to_ext _ (fun k => (1 - e) * (rise k * Q (layer k)) + e / 2 * rise k))
        by (intros; unfold chance; ring).
      rewrite sum_to_plus, !sum_to_scale, rise_sum, level_n by auto.
      pose proof (E_test Q g Hg). assert (0 <= sum_to (fun k => rise k * Q (layer k)) n).
      { rewrite <- EQ. apply E_test; auto. }
      nra. }
    assert (Hu1 : 0 <= u 1) by (rewrite <- u_zero; apply u_up; lra).
    apply le_epsilon. intros t Ht.
    assert (exists N, n = S N) as [N En] by (exists (pred n); lia).
    destruct (layers_up N) as [z1 [z [Hz [Hz1 HL]]]]; [lia|]. rewrite <- En, level_n in HL.
    destruct (D_low 1 z ltac:(lra) Hu1 t Ht) as [y [Hy HD]].
    pose proof (W_in y z1 ltac:(lra)). nra.
  Qed.
End Layers.

(** Let U·u(c)·Φ(x) − c·Φ(x+μ) + W(x) grow with x for every c, and W vary by at most K.  Then P h ≤ U·Q g + K
    where u(h) ≤ g. *)
Lemma layers {A} (P Q : law A) m h g (u W : R -> R) U K : gdp_cost m P Q -> test h -> test g -> 0 <= U ->
  u 0 = 0 -> u 1 <= 1 -> (forall c d, 0 <= c <= d -> d <= 1 -> u c <= u d) -> (forall a, u (h a) <= g a) ->
  (forall c x y, 0 <= c <= 1 -> x <= y ->
     U * u c * Phi x - c * Phi (x + sqrt m) + W x <= U * u c * Phi y - c * Phi (y + sqrt m) + W y) ->
  (forall x y, x <= y -> W y - W x <= K) -> P h <= U * Q g + K.
Proof.
  intros HG Hh Hg HU U0 U1 Uup Ug Dup Win. apply le_epsilon. intros t Ht.
  pose proof (E_test P h Hh). pose proof (E_test Q g Hg).
  set (e := Rmin (1 / 2) (t / (U + 3))).
  assert (He : 0 < e < 1).
  { split; [apply Rmin_glb_lt; [lra | apply Rdiv_lt_0_compat; lra]|]. pose proof (Rmin_l (1 / 2) (t / (U + 3))).
    fold e in H1. lra. }
  assert (Het : e * (U + 3) <= t).
  { pose proof (Rmin_r (1 / 2) (t / (U + 3))) as Hr. fold e in Hr.
    apply Rmult_le_compat_r with (r := U + 3) in Hr; [|lra].
    unfold Rdiv in Hr. rewrite Rmult_assoc, Rinv_l in Hr by lra. lra. }
  destruct (nfloor_ex (/ e)) as [N [_ HN]]; [left; apply Rinv_0_lt_compat; lra|].
  pose proof (layers_fine P Q m HG h g u W U K Hh Hg HU U0 U1 Uup Ug Dup Win (S N) ltac:(lia) e He) as L.
  rewrite S_INR in L. pose proof (pos_INR N).
  assert (Hn : 0 < / (INR N + 1) <= e).
  { split; [apply Rinv_0_lt_compat; lra|]. rewrite <- (Rinv_inv e). left. apply Rinv_lt_contravar; auto.
    apply Rmult_lt_0_compat; [apply Rinv_0_lt_compat|]; lra. }
  nra.
Qed.

(* ---------------------------------------------------------------- zCDP *)

Lemma bell_phi a z : bell 1 (- a) z = phi (z + a) * sqrt (2 * PI).
Proof.
  pose proof root_pos.
  replace (phi (z + a) * sqrt (2 * PI)) with (exp (- ((z + a) * (z + a)) / 2)) by (unfold phi; field; lra).
  unfold bell. f_equal. field.
Qed.

Lemma Phi_moved_derive c s z : is_derive (fun x => c * Phi (x + s)) z (c * phi (z + s)).
Proof.
  apply is_derive_scal. apply derive_eq with (1 * phi (z + s)); [|inR; ring].
  apply (is_derive_comp Phi (fun x => x + s)); [apply Phi_derive|]. auto_derive; auto.
Qed.

(** Dong, Roth and Su 2022, corollary B.6: μ-GDP is (α, αμ²/2)-Rényi private for every α > 1. *)
Lemma gdp_is_zcdp (A : Type) (m : R) (P Q : law A) : 0 <= m -> gdp_cost m P Q -> zcdp_cost (m / 2) P Q.
Proof.
  intros Hm HG theta Ht f Hf. set (alpha := theta / (theta - 1)). pose proof (one_minus_inv theta Ht) as Hi.
  replace (alpha * (m / 2) / theta) with ((alpha - 1) * (m / 2)) by (unfold alpha; field; lra).
  set (C := exp ((alpha - 1) * (m / 2))). assert (HC : 0 < C) by apply exp_pos.
  set (g := fun a => power (f a) theta). assert (Hg : test g) by (apply power_test; auto; lra).
  apply best_mean; auto; [apply E_test; auto|]. intros B HB.
  set (mu := sqrt m). assert (Hmu : mu * mu = m) by (apply sqrt_sqrt; auto).
  set (k := power B (1 / theta) * C). assert (Hk : 0 < k) by (apply Rmult_lt_0_compat; auto; apply power_gt0; auto).
  set (U := k * (1 / theta) / B). set (V := k * (1 - 1 / theta)).
  assert (HU : 0 <= U) by (apply Rmult_le_pos; [apply Rmult_le_pos; lra | left; apply Rinv_0_lt_compat; auto]).
  assert (HV : 0 <= V) by (apply Rmult_le_pos; lra).
  replace (k * (1 / theta * (Q g / B) + (1 - 1 / theta))) with (U * Q g + V) by (unfold U, V; field; lra).
  apply (layers P Q m f g (fun c => power c theta) (fun x => V * Phi (x + alpha * mu))); auto.
  - apply power_0.
  - rewrite power_base_1. lra.
  - intros c d Hc Hd. apply power_mono; lra.
  - intros a. unfold g. lra.
  - fold mu. intros c x y Hc Hxy. set (u := U * power c theta).
    apply (grows (fun x => u * Phi x - c * Phi (x + mu) + V * Phi (x + alpha * mu))
                 (fun x => u * phi x - c * phi (x + mu) + V * phi (x + alpha * mu))); auto; intros z _.
    + apply (is_derive_plus (fun x => u * Phi x - c * Phi (x + mu)) (fun x => V * Phi (x + alpha * mu)));
        [|apply Phi_moved_derive].
      apply (is_derive_minus (fun x => u * Phi x) (fun x => c * Phi (x + mu))); [|apply Phi_moved_derive].
      apply is_derive_scal. apply Phi_derive.
    + pose proof (bell_young 1 (- mu) (- 0) z theta c B Rlt_0_1 Ht (proj1 Hc) HB) as Y. cbv zeta in Y. fold alpha in Y.
      replace ((- mu - - 0) * (- mu - - 0) / (2 * 1)) with (m / 2) in Y by (rewrite <- Hmu; field).
      replace (alpha * - mu + (1 - alpha) * - 0) with (- (alpha * mu)) in Y by ring.
      rewrite !bell_phi, Rplus_0_r in Y. fold C in Y. fold k in Y.
      pose proof root_pos as Hr. apply Rmult_le_reg_r with (sqrt (2 * PI)); auto. rewrite Rmult_0_l.
      apply Rle_minus in Y. apply Ropp_le_contravar in Y. rewrite Ropp_0 in Y. apply Rle_trans with (1 := Y). right.
      unfold u, U, V. field. lra.
  - intros x y Hxy. pose proof (Phi_range (x + alpha * mu)). pose proof (Phi_range (y + alpha * mu)). nra.
Qed.
