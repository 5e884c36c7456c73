(** Others' answers hide one least where the part J that two rows share is empty.

    A step of a walk is u or -v with weights a each, -z with weight b, and none with the rest ([lazy]).  All such steps
    have one mean, and in convex order the largest is that of a = 1/(p+1), b = 0; hence the same holds after several steps
    ([most_apart]).  Over how many others are clones, the bounds of Clones.v add up to the end of such a walk
    ([mixed_lazy]); whoever else answers may be known.  [hidden_row] is the bound for two rows of a table. *)
Require Import Reals Lra Lia Psatz List Permutation FunctionalExtensionality.
From DP.base Require Import Sums.
From DP.shuffles Require Import Clones.
Import ListNotations.
Open Scope R_scope.

Definition convex (phi : R -> R) := forall x y c, 0 <= c <= 1 -> phi (c * x + (1 - c) * y) <= c * phi x + (1 - c) * phi y.

Lemma positive_part_convex : convex positive_part.
Proof.
  intros x y c Hc. unfold positive_part. pose proof (Rmax_l 0 x). pose proof (Rmax_r 0 x). pose proof (Rmax_l 0 y). pose proof (Rmax_r 0 y).
  apply Rmax_lub; nra.
Qed.

Section Lazy.
  Variables (a b u v z rho : R).

  Definition lazy (phi : R -> R) (s : R) : R := step a b u v z phi s + rho * phi s.

  Fixpoint lazily (n : nat) (phi : R -> R) : R -> R := match n with O => phi | S m => lazily m (lazy phi) end.

  Lemma lazily_linear n : forall phi psi s, lazily n (fun s => phi s + rho * psi s) s = lazily n phi s + rho * lazily n psi s.
  Proof.
    induction n as [|n IH]; intros phi psi s; [reflexivity|]. cbn [lazily]. rewrite <- IH. f_equal. apply functional_extensionality.
    intros x. unfold lazy, step. ring.
  Qed.

  Local Notation alpha := (fun n => walk a b u v z n positive_part 0).
  Local Notation beta m k := (lazily m (walk a b u v z k positive_part) 0).

  Lemma beta_next m k : beta (S m) k = beta m (S k) + rho * beta m k.
  Proof. cbn [lazily]. rewrite <- (lazily_linear m (step a b u v z (walk a b u v z k positive_part))). reflexivity. Qed.

  Lemma beta_mixed m : forall c, beta m (S c) = INR (S c) * mixed rho alpha m c + INR m * match m with O => 0 | S l => mixed rho alpha l (S c) end.
  Proof.
    induction m as [|m IH]; intros c.
    - cbn [lazily mixed]. change (INR 0) with 0. rewrite Rmult_0_l, Rplus_0_r. field. apply not_0_INR. lia.
    - rewrite beta_next, !IH. cbn [mixed]. rewrite !S_INR. destruct m as [|m]; [simpl; ring|]. cbn [mixed]. rewrite !S_INR. ring.
  Qed.

  Lemma mixed_lazy m : beta (S m) 0 = INR (S m) * mixed rho alpha m 0.
  Proof.
    assert (G : forall m, beta m 0 = INR m * match m with O => 0 | S l => mixed rho alpha l 0 end).
    { clear m. induction m as [|m IH].
      - simpl. unfold positive_part. rewrite Rmax_left; lra.
      - rewrite beta_next, IH, beta_mixed. rewrite !S_INR. destruct m as [|m]; [simpl; ring|]. cbn [mixed]. rewrite !S_INR. simpl (INR 0). ring. }
    apply G.
  Qed.

  Hypothesis Ha : 0 <= a.
  Hypothesis Hb : 0 <= b.
  Hypothesis Hrho : 0 <= rho.

  Lemma lazily_le n : forall phi psi, (forall s, phi s <= psi s) -> forall s, lazily n phi s <= lazily n psi s.
  Proof.
    induction n as [|n IH]; intros phi psi H s; [apply H|]. cbn [lazily]. apply IH. intros x. unfold lazy, step.
    pose proof (H (x + u)). pose proof (H (x - v)). pose proof (H (x - z)). pose proof (H x). 
    repeat apply Rplus_le_compat; apply Rmult_le_compat_l; auto.
  Qed.

  Lemma lazy_convex phi : convex phi -> convex (lazy phi).
  Proof.
    intros H x y c Hc. unfold lazy, step.
    pose proof (H (x + u) (y + u) c Hc) as H1. pose proof (H (x - v) (y - v) c Hc) as H2. pose proof (H (x - z) (y - z) c Hc) as H3. pose proof (H x y c Hc) as H4.
    replace (c * (x + u) + (1 - c) * (y + u)) with (c * x + (1 - c) * y + u) in H1 by ring.
    replace (c * (x - v) + (1 - c) * (y - v)) with (c * x + (1 - c) * y - v) in H2 by ring.
    replace (c * (x - z) + (1 - c) * (y - z)) with (c * x + (1 - c) * y - z) in H3 by ring.
    apply (Rmult_le_compat_l a) in H1; auto. apply (Rmult_le_compat_l a) in H2; auto. apply (Rmult_le_compat_l b) in H3; auto.
    apply (Rmult_le_compat_l rho) in H4; auto. lra.
  Qed.
End Lazy.

Section Apart.
  Variables (p t a : R).
  Hypothesis Hp : 1 < p.
  Hypothesis Ht : 1 <= t <= p.
  Hypothesis Ha : 0 <= a <= / (p + 1).

  Let u := p - t.
  Let v := p * t - 1.
  Let z := p * (t - 1).
  Let b := (1 - (p + 1) * a) / p.
  Let rho := 1 - 2 * a - b.
  Let a1 := / (p + 1).
  Let rho1 := 1 - 2 * a1.

  Lemma parts_of_one : 0 <= b /\ 0 <= rho /\ 0 <= a1 /\ 0 <= rho1.
  Proof.
    assert (H1 : (p + 1) * a <= 1).
    { destruct Ha as [_ H]. apply (Rmult_le_compat_l (p + 1)) in H; [|lra]. rewrite Rinv_r in H; lra. }
    assert (Hip : 0 < / p) by (apply Rinv_0_lt_compat; lra).
    assert (Hb : 0 <= b) by (unfold b, Rdiv; apply Rmult_le_pos; lra).
    assert (H2 : 0 < a1) by (unfold a1; apply Rinv_0_lt_compat; lra).
    assert (H3 : (p + 1) * a1 = 1) by (unfold a1; apply Rinv_r; lra).
    assert (Hr : rho = (1 - / p) - a * (1 - / p)).
    { unfold rho, b. field. lra. }
    assert (/ p <= 1) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra).
    repeat split; try lra.
    - rewrite Hr. assert (a <= 1) by nra. nra.
    - unfold rho1. nra.
  Qed.

  Lemma one_apart phi : convex phi -> forall s, lazy a b u v z rho phi s <= lazy a1 0 u v z rho1 phi s.
  Proof.
    intros H s. destruct parts_of_one as [Hb [Hr [H1 Hr1]]].
    assert (I1 : 0 < / (1 + t)) by (apply Rinv_0_lt_compat; lra).
    assert (C1 : phi (s - z) <= (t * phi (s - v) + phi (s + u)) / (1 + t)).
    { pose proof (H (s - v) (s + u) (t / (1 + t))) as C.
      replace (t / (1 + t) * (s - v) + (1 - t / (1 + t)) * (s + u)) with (s - z) in C by (unfold u, v, z; field; lra).
      replace ((t * phi (s - v) + phi (s + u)) / (1 + t)) with (t / (1 + t) * phi (s - v) + (1 - t / (1 + t)) * phi (s + u)) by (field; lra).
      apply C. split; [apply Rmult_le_pos; lra|]. apply Rmult_le_reg_r with (1 + t); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
    assert (Hd : 0 < (p - 1) * (1 + t)) by nra.
    assert (C2 : phi s <= ((p - t) * phi (s - v) + (p * t - 1) * phi (s + u)) / ((p - 1) * (1 + t))).
    { set (w := (p - t) / ((p - 1) * (1 + t))). pose proof (H (s - v) (s + u) w) as C.
      replace (w * (s - v) + (1 - w) * (s + u)) with s in C by (unfold w, u, v; field; lra).
      replace (((p - t) * phi (s - v) + (p * t - 1) * phi (s + u)) / ((p - 1) * (1 + t))) with (w * phi (s - v) + (1 - w) * phi (s + u)) by (unfold w; field; lra).
      apply C. unfold w. split; [apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; auto]|].
      apply Rmult_le_reg_r with ((p - 1) * (1 + t)); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; nra. }
    set (x := phi (s + u)) in *. set (y := phi (s - v)) in *. set (w := phi (s - z)) in *. set (o := phi s) in *.
    set (D1 := (t * y + x) / (1 + t)) in *. set (D2 := ((p - t) * y + (p * t - 1) * x) / ((p - 1) * (1 + t))) in *.
    assert (E : lazy a1 0 u v z rho1 phi s - lazy a b u v z rho phi s = b * (D1 - w) + b * ((p - 1) / (p + 1)) * (D2 - o)).
    { unfold lazy, step. fold x y w o. unfold D1, D2, rho, rho1, b, a1. field. lra. }
    assert (0 <= b * (D1 - w)) by (apply Rmult_le_pos; lra).
    assert (0 <= (p - 1) / (p + 1)) by (apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra]).
    assert (0 <= b * ((p - 1) / (p + 1)) * (D2 - o)) by (apply Rmult_le_pos; [apply Rmult_le_pos|]; lra). lra.
  Qed.

  Lemma most_apart n : forall phi, convex phi -> forall s, lazily a b u v z rho n phi s <= lazily a1 0 u v z rho1 n phi s.
  Proof.
    destruct parts_of_one as [Hb [Hr [H1 Hr1]]]. destruct Ha as [Ha0 _].
    induction n as [|n IH]; intros phi H s; cbn [lazily]; [lra|].
    apply Rle_trans with (lazily a b u v z rho n (lazy a1 0 u v z rho1 phi) s).
    - apply lazily_le; auto. apply one_apart; auto.
    - apply IH, lazy_convex; auto; lra.
  Qed.

  Theorem mixed_apart m : mixed rho (fun n => walk a b u v z n positive_part 0) m 0 <= mixed rho1 (fun n => walk a1 0 u v z n positive_part 0) m 0.
  Proof.
    assert (0 < INR (S m)) by (apply lt_0_INR; lia). apply Rmult_le_reg_l with (INR (S m)); auto.
    rewrite <- !mixed_lazy. apply most_apart, positive_part_convex.
  Qed.
End Apart.

(* ---------------------------------------------------------------- two rows of a table *)

Section Rows.
  Variables (width : nat) (p t : R) (x y : nat -> R).
  Hypothesis Hp : 1 < p.
  Hypothesis Ht : 1 <= t <= p.

  Definition row_of (w : nat -> R) := (forall j, 0 <= w j) /\ mass width w = 1.
  Definition beside (w w' : nat -> R) := forall j, w j <= p * w' j.

  Hypothesis Hx : row_of x.
  Hypothesis Hy : row_of y.
  Hypothesis Hxy : beside x y.
  Hypothesis Hyx : beside y x.

  Let A (j : nat) : R := positive_part (x j - y j) / (p - 1).
  Let B (j : nat) : R := positive_part (y j - x j) / (p - 1).
  Let J (j : nat) : R := (x j - p * A j - B j) / p.
  Let a := mass width A.

  Lemma parts_at j : 0 <= A j /\ 0 <= B j /\ 0 <= J j /\ A j - B j = (x j - y j) / (p - 1) /\
    forall w, x j <= p * w -> y j <= p * w -> A j + B j + J j <= w.
  Proof.
    specialize (Hxy j). specialize (Hyx j). destruct Hx as [X0 _]. destruct Hy as [Y0 _]. specialize (X0 j). specialize (Y0 j).
    assert (I : 0 < / (p - 1)) by (apply Rinv_0_lt_compat; lra). assert (Ip : 0 < / p) by (apply Rinv_0_lt_compat; lra).
    assert (N : forall r, 0 <= r -> 0 <= r / (p - 1)) by (intros; apply Rmult_le_pos; lra).
    unfold J, A, B, positive_part. destruct (Rle_dec (y j) (x j)) as [L|L].
    - rewrite (Rmax_right 0 (x j - y j)), (Rmax_left 0 (y j - x j)) by lra. repeat split; try (apply N; lra); try (field; lra).
      + replace ((x j - p * ((x j - y j) / (p - 1)) - 0 / (p - 1)) / p) with ((p * y j - x j) / (p - 1) * / p) by (field; lra).
        apply Rmult_le_pos; [apply N|]; lra.
      + intros w W1 W2. replace (_ + _ + _) with (x j * / p) by (field; lra).
        apply Rmult_le_reg_r with p; [lra|]. rewrite Rmult_assoc, Rinv_l; lra.
    - rewrite (Rmax_left 0 (x j - y j)), (Rmax_right 0 (y j - x j)) by lra. repeat split; try (apply N; lra); try (field; lra).
      + replace ((x j - p * (0 / (p - 1)) - (y j - x j) / (p - 1)) / p) with ((p * x j - y j) / (p - 1) * / p) by (field; lra).
        apply Rmult_le_pos; [apply N|]; lra.
      + intros w W1 W2. replace (_ + _ + _) with (y j * / p) by (field; lra).
        apply Rmult_le_reg_r with p; [lra|]. rewrite Rmult_assoc, Rinv_l; lra.
  Qed.

  Lemma mass_ext v w : (forall j, v j = w j) -> mass width v = mass width w.
  Proof. intros H. apply total_ext. auto. Qed.

  Lemma mass_B : mass width B = a.
  Proof.
    assert (E : a - mass width B = (mass width x - mass width y) / (p - 1)).
    { replace ((mass width x - mass width y) / (p - 1)) with (/ (p - 1) * (mass width x - mass width y)) by (field; lra).
      unfold a, mass. rewrite <- (total_minus A B), <- (total_minus x y), <- total_scale. apply total_ext. intros j _.
      destruct (parts_at j) as [_ [_ [_ [E _]]]]. rewrite E. unfold Rdiv. ring. }
    destruct Hx as [_ X1]. destruct Hy as [_ Y1]. rewrite X1, Y1 in E. unfold Rdiv in E. lra.
  Qed.

  Lemma mass_J : mass width J = (1 - (p + 1) * a) / p.
  Proof.
    transitivity (/ p * (mass width x - p * mass width A - mass width B)).
    - unfold mass. rewrite <- (total_scale p A), <- !total_minus, <- total_scale. apply total_ext. intros j _. unfold J, Rdiv. ring.
    - destruct Hx as [_ X1]. rewrite mass_B, X1. fold a. field. lra.
  Qed.

  Lemma mass_a : 0 <= a <= / (p + 1).
  Proof.
    assert (HJ : 0 <= mass width J) by (apply total_nonneg; intros j _; apply parts_at).
    split; [apply total_nonneg; intros j _; apply parts_at|]. rewrite mass_J in HJ.
    apply (Rmult_le_compat_r p) in HJ; [|lra]. unfold Rdiv in HJ. rewrite Rmult_assoc, Rinv_l in HJ by lra.
    apply Rmult_le_reg_l with (p + 1); [lra|]. rewrite Rinv_r; lra.
  Qed.

  (** x is not told from y, among n answers or more. *)
  Theorem hidden_row ws m : (m <= length ws)%nat -> (forall w, In w ws -> row_of w /\ beside x w /\ beside y w) ->
    forall g, symmetric g -> bounded 1 g -> over_all width (x :: ws) g - t * over_all width (y :: ws) g <=
      mixed (1 - 2 * / (p + 1)) (fun n => walk (/ (p + 1)) 0 (p - t) (p * t - 1) (p * (t - 1)) n positive_part 0) m 0.
  Proof.
    intros Hm Hw g Hg Hb. apply Rle_trans with (2 := mixed_apart p t a Hp Ht mass_a m).
    set (u := p - t). set (v := p * t - 1). set (z := p * (t - 1)). set (b := (1 - (p + 1) * a) / p). set (rho := 1 - 2 * a - b).
    replace (over_all width (x :: ws) g - t * over_all width (y :: ws) g) with (over_all width (moved A B J u v z :: ws) g).
    2: { cbn [over_all]. unfold weigh. rewrite <- total_scale, <- total_minus. apply total_ext. intros j _.
         destruct (parts_at j) as [_ [_ [_ [E _]]]]. unfold moved, u, v, z, J. set (r := over_all width ws (fun l => g (j :: l))).
         replace (x j * r - t * (y j * r)) with ((x j - t * y j) * r) by ring. f_equal.
         assert (Ey : y j = x j - (p - 1) * (A j - B j)) by (rewrite E; field; lra). rewrite Ey. field. lra. }
    rewrite <- (firstn_skipn m ws).
    rewrite (over_all_permuted width _ (skipn m ws ++ moved A B J u v z :: firstn m ws)) by
      (auto; change (moved A B J u v z :: firstn m ws ++ skipn m ws) with ((moved A B J u v z :: firstn m ws) ++ skipn m ws); apply Permutation_app_comm).
    apply more_known; auto.
    - intros w Hin. apply Hw. rewrite <- (firstn_skipn m ws). apply in_or_app. auto.
    - clear g Hg Hb. intros g Hg Hb.
      assert (L : length (firstn m ws) = m) by (rewrite firstn_length; lia). rewrite <- L at 2.
      assert (HC : Forall (covers_common width A B J rho) (firstn m ws)).
      { apply Forall_forall. intros w Hin. destruct (Hw w) as [[W0 W1] [Wx Wy]].
        { rewrite <- (firstn_skipn m ws). apply in_or_app. auto. }
        exists (fun j => w j - common A B J j). split; [|split].
        - intros j. destruct (parts_at j) as [_ [_ [_ [_ P]]]]. specialize (P (w j) (Wx j) (Wy j)). unfold common. lra.
        - intros j. ring.
        - unfold mass. rewrite total_minus. unfold common. rewrite !total_plus. fold (mass width w) (mass width A) (mass width B) (mass width J).
          rewrite W1, mass_B, mass_J. fold a b. unfold rho. ring. }
      rewrite <- (Rmult_1_l (mixed _ _ _ _)).
      apply (hidden_by width A B J a b u v z) with (c := 0%nat); auto; try (intros j; apply parts_at); [apply mass_B | apply mass_J].
  Qed.
End Rows.
