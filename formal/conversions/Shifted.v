(** Discrete Gaussian noise on integers, moved several times by vectors of one shape: the exact curve.

    [dot l] is the law of l·X, where X has independent discrete Gaussian coordinates.
      It depends on l up to order, signs
    and zeros ([dot_shape]).  Of a program with n such releases, what is p likely on the one dataset and q likely on
    the other has p ≤ λq + V_n(λ), where V_n is the mean of (1 − λe^(−loss))₊ ([adversary]): each release multiplies λ
    by e^(−loss), in the mean over its own law ([each_shifted]).
      At λ = e^ε this is P(S > σ²ε − h) − e^ε P(S > σ²ε + h)
    ([excess_of_events]). *)
Require Import Reals ZArith Lra Lia Psatz List Bool Permutation.
From DP.base Require Import Laws Sums.
From DP Require Import Definitions.
From DP.core Require Import Powers Chance Costs.
Import ListNotations.
Open Scope R_scope.

Definition heap (s : R) (z : Z) : R := exp (- (IZR z * IZR z) / (2 * s)).

Lemma heap_moved s a y : 0 < s -> heap s (y + a) = heap s y * exp (- ((IZR a * IZR y + IZR a * IZR a / 2) / s)).
Proof. intros Hs. unfold heap. rewrite <- exp_plus, plus_IZR. f_equal. field. lra. Qed.

Lemma below_sum {A} (P : law A) f g u : test f -> test g -> test u -> (forall a, u a <= f a + g a) ->
  P u <= P f + P g.
Proof.
  intros Hf Hg Hu H. pose proof (E_mix P f g (1 / 2) ltac:(lra) Hf Hg) as M.
  assert (T : P (fun a => 1 / 2 * u a) <= P (fun a => 1 / 2 * f a + (1 - 1 / 2) * g a)).
  { apply E_mono.
    - apply test_scale; auto; lra.
    - intros a. specialize (Hf a). specialize (Hg a). lra.
    - intros a. specialize (H a). lra. }
  rewrite E_scale in T; auto; [lra | lra|]. apply test_scale; auto; lra.
Qed.

Section Noise.
  Variables (s : R) (N : law Z).
  Hypotheses (Hs : 0 < s) (HN : discrete_normal s N).

  Let w := heap s.
  Let Z0 := usum w.

  Lemma noise_summable : summable w.
  Proof. apply HN. Qed.

  Lemma noise_pos : 0 < Z0.
  Proof. apply HN. Qed.

  Lemma noise_mean f : test f -> N f * Z0 = usum (fun z => w z * f z).
  Proof. apply HN. Qed.

  Lemma noise_test f : test f -> summable (fun z => w z * f z).
  Proof. apply summable_test, noise_summable. Qed.

  (** Moved by a. *)
  Lemma noise_moved f a : test f -> N f * Z0 = usum (fun y => w (y + a)%Z * f (y + a)%Z).
  Proof.
    intros Hf. rewrite noise_mean by auto. symmetry.
    apply (usum_rename (fun z => w z * f z) (fun y => (y + a)%Z) (fun y => (y - a)%Z)); auto using noise_test;
      intros; lia.
  Qed.

  Lemma noise_moved_summable f a : test f -> summable (fun y => w (y + a)%Z * f (y + a)%Z).
  Proof.
    intros Hf.
    apply (summable_rename (fun z => w z * f z) (fun y => (y + a)%Z) (fun y => (y - a)%Z)); auto using noise_test;
      intros; lia.
  Qed.

  Lemma noise_above F B k a : test F -> test B -> 0 <= k ->
    (forall y, F y <= k * (B (y + a)%Z * exp (- ((IZR a * IZR y + IZR a * IZR a / 2) / s)))) -> N F <= k * N B.
  Proof.
    intros HF HB Hk H. pose proof noise_pos as HZ. apply Rmult_le_reg_r with Z0; auto.
    rewrite Rmult_assoc, noise_mean, (noise_moved B a) by auto.
    rewrite <- usum_scale by (auto using noise_moved_summable). apply usum_le.
    - apply summable_scale; auto using noise_moved_summable.
    - intros y. specialize (H y). specialize (HF y). assert (0 < w y) by apply exp_pos. split; [nra|].
      unfold w in *. rewrite heap_moved by auto. apply Rmult_le_compat_l with (r := heap s y) in H; lra.
  Qed.

  Lemma noise_below F G k a : test F -> test G -> 0 <= k ->
    (forall y, k * F (y + a)%Z <= G y * exp ((IZR a * IZR y + IZR a * IZR a / 2) / s)) -> k * N F <= N G.
  Proof.
    intros HF HG Hk H. pose proof noise_pos as HZ. apply Rmult_le_reg_r with Z0; auto.
    rewrite Rmult_assoc, (noise_mean G), (noise_moved F a) by auto.
    rewrite <- usum_scale by (auto using noise_moved_summable). apply usum_le; auto using noise_test.
    intros y. specialize (H y). pose proof (HF (y + a)%Z). assert (0 < w y) by apply exp_pos.
    assert (0 < w (y + a)%Z) by apply exp_pos. split; [apply Rmult_le_pos; nra|].
    unfold w in *. rewrite heap_moved by auto. rewrite exp_Ropp.
    set (e := exp ((IZR a * IZR y + IZR a * IZR a / 2) / s)) in *. assert (He : 0 < e) by apply exp_pos.
    apply Rmult_le_reg_r with e; auto.
    replace (k * (heap s y * / e * F (y + a)%Z) * e) with (heap s y * (k * F (y + a)%Z)) by (field; lra). nra.
  Qed.

  Lemma noise_even f : test f -> N (fun y => f (- y)%Z) = N f.
  Proof.
    intros Hf. pose proof noise_pos as HZ. apply Rmult_eq_reg_r with Z0; [|lra].
    rewrite !noise_mean; auto; [|intros y; apply Hf].
    rewrite <- (usum_rename (fun z => w z * f z) Z.opp Z.opp); auto using noise_test; try (intros; lia).
    apply usum_ext. intros y. unfold w, heap. rewrite opp_IZR. do 2 f_equal. f_equal. ring.
  Qed.

  Lemma noise_near t : 0 < t -> exists L, NoDup L /\ total w L <= Z0 /\
    forall f, test f -> total (fun z => w z * f z) L / Z0 <= N f <= total (fun z => w z * f z) L / Z0 + t.
  Proof.
    intros Ht. pose proof noise_pos as HZ.
    destruct (usum_approx w (t * Z0) noise_summable) as [L [HL HT]]; [apply Rmult_lt_0_compat; auto|].
    exists L. split; [auto|split; [apply usum_ub; auto; apply noise_summable|]].
    assert (G : forall f, test f -> total (fun z => w z * f z) L / Z0 <= N f).
    { intros f Hf. apply Rmult_le_reg_r with Z0; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
      rewrite noise_mean by auto. apply usum_ub; auto using noise_test. }
    intros f Hf. split; auto. pose proof (G _ (test_minus f Hf)) as G'. rewrite E_minus in G' by auto.
    rewrite (total_ext _ (fun z => w z - w z * f z)) in G' by (intros; ring). rewrite total_minus in G'.
    fold Z0 in HT. assert (1 - t <= total w L / Z0).
    { apply Rmult_le_reg_r with Z0; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. lra. }
    unfold Rdiv in *. rewrite Rmult_minus_distr_r in G'. lra.
  Qed.

  Lemma noise_swap_le f : (forall x y, 0 <= f x y <= 1) ->
    N (fun x => N (fun y => f x y)) <= N (fun y => N (fun x => f x y)).
  Proof.
    intros Hf. pose proof noise_pos as HZ. apply le_epsilon. intros e He.
    destruct (noise_near (e / 2) ltac:(lra)) as [L [HL [HW HA]]].
    assert (T1 : forall x, test (fun y => f x y)) by (intros x y; auto).
    assert (T2 : forall y, test (fun x => f x y)) by (intros y x; auto).
    assert (T3 : test (fun x => N (fun y => f x y))) by (intros x; apply E_test; auto).
    assert (T4 : test (fun y => N (fun x => f x y))) by (intros x; apply E_test; auto).
    destruct (HA _ T3) as [_ U]. destruct (HA _ T4) as [D _]. cbv beta in U, D.
    assert (U' : total (fun x => w x * N (fun y => f x y)) L <=
      total (fun x => w x * (total (fun y => w y * f x y) L / Z0) + e / 2 * w x) L).
    { apply total_le. intros x _. destruct (HA _ (T1 x)) as [_ Ux]. assert (0 < w x) by apply exp_pos. nra. }
    rewrite total_plus, total_scale in U'.
    assert (D' : total (fun y => w y * (total (fun x => w x * f x y) L / Z0)) L <=
      total (fun y => w y * N (fun x => f x y)) L).
    { apply total_le. intros y _. destruct (HA _ (T2 y)) as [Dy _]. assert (0 < w y) by apply exp_pos. nra. }
    assert (ES : total (fun x => w x * (total (fun y => w y * f x y) L / Z0)) L = total (fun y => w y * (total
      (fun x => w x * f x y) L / Z0)) L).
    { rewrite (total_ext _ (fun x => total (fun y => / Z0 * (w x * (w y * f x y))) L)).
      2: { intros x _. rewrite !total_scale. field. lra. }
      rewrite total_swap. apply total_ext. intros y _.
      rewrite (total_ext _ (fun x => (w y * / Z0) * (w x * f x y))) by (intros; ring). rewrite total_scale. field.
        lra. }
    rewrite ES in U'.
    set (a := total (fun x => w x * N (fun y => f x y)) L) in *.
      set (b := total (fun y => w y * (total (fun x => w x * f x y) L / Z0)) L) in *.
    set (c := total (fun y => w y * N (fun x => f x y)) L) in *.
    assert (a / Z0 <= c / Z0 + e / 2); [|lra].
    apply Rmult_le_reg_r with Z0; auto. rewrite Rmult_plus_distr_r. unfold Rdiv.
      rewrite !Rmult_assoc, Rinv_l, !Rmult_1_r by lra. nra.
  Qed.

  Lemma noise_swap f : (forall x y, 0 <= f x y <= 1) ->
    N (fun x => N (fun y => f x y)) = N (fun y => N (fun x => f x y)).
  Proof.
    intros Hf. apply Rle_antisym; [apply noise_swap_le; auto|]. apply (noise_swap_le (fun x y => f y x)). auto.
  Qed.

  (* -------------------------------------------------------------- the law of a product *)

  Fixpoint dot (l : list Z) : law Z :=
    match l with
    | [] => point 0%Z
    | a :: rest => bind N (fun y => image (Z.add (a * y)) (dot rest))
    end.

  Lemma dot_cons a l g : dot (a :: l) g = N (fun y => dot l (fun t => g (a * y + t)%Z)).
  Proof. reflexivity. Qed.

  Lemma dot_app l m : forall g, dot (l ++ m) g = dot l (fun t => dot m (fun t' => g (t + t')%Z)).
  Proof.
    induction l as [|a l IH]; intros g; cbn [app].
    - simpl. reflexivity.
    - rewrite !dot_cons. apply E_ext. intros y. rewrite IH. apply E_ext. intros t. apply E_ext. intros t'. f_equal.
      lia.
  Qed.

  Lemma dot_permuted l m : Permutation l m -> forall g, test g -> dot l g = dot m g.
  Proof.
    induction 1 as [|a l m HP IH|a b l|l m n H1 IH1 H2 IH2]; intros g Hg; auto.
    - rewrite !dot_cons. apply E_ext. intros y. apply IH. intros t; apply Hg.
    - rewrite !dot_cons.
      transitivity (N (fun x => N (fun y => dot l (fun t => g (b * x + (a * y + t))%Z)))); [reflexivity|].
      rewrite noise_swap.
      + apply E_ext. intros y. rewrite dot_cons. apply E_ext. intros x. apply E_ext. intros t. f_equal. lia.
      + intros x y. apply E_test. intros t; apply Hg.
    - rewrite IH1; auto.
  Qed.

  Lemma dot_absolute l : forall g, test g -> dot (map Z.abs l) g = dot l g.
  Proof.
    induction l as [|a l IH]; intros g Hg; auto. cbn [map]. rewrite !dot_cons.
    rewrite (E_ext N _ (fun y => dot l (fun t => g (Z.abs a * y + t)%Z))) by (intros y; apply IH; intros t; apply Hg).
    destruct (Z.abs_eq_or_opp a) as [->| ->]; auto.
    rewrite <- (noise_even (fun y => dot l (fun t => g (a * y + t)%Z))) by (intros y; apply E_test; intros t;
      apply Hg).
    apply E_ext. intros y. apply E_ext. intros t. f_equal. lia.
  Qed.

  Lemma dot_filter l : forall g, test g -> dot (filter (fun z => negb (z =? 0)%Z) l) g = dot l g.
  Proof.
    induction l as [|a l IH]; intros g Hg; auto. cbn [filter]. destruct (Z.eqb_spec a 0) as [->|Ha]; cbn [negb].
    - rewrite dot_cons, IH by auto. symmetry. rewrite <- (E_const N (dot l g)) by (apply E_test; auto).
      apply E_ext. intros y. apply E_ext. intros t. f_equal.
    - rewrite !dot_cons. apply E_ext. intros y. apply IH. intros t; apply Hg.
  Qed.

  Lemma dot_shape v u g : shape v u -> test g -> dot v g = dot (filter (fun z => negb (z =? 0)%Z) (map Z.abs u)) g.
  Proof.
    intros HS Hg. rewrite <- (dot_permuted _ _ HS) by auto. rewrite dot_filter, dot_absolute by auto. auto.
  Qed.

  Lemma dot_even l : forall g, test g -> dot l (fun t => g (- t)%Z) = dot l g.
  Proof.
    induction l as [|a l IH]; intros g Hg; [simpl; auto|]. rewrite !dot_cons.
    rewrite <- (noise_even (fun y => dot l (fun t => g (a * y + t)%Z))) by (intros y; apply E_test; intros t;
      apply Hg).
    apply E_ext. intros y. rewrite <- (IH (fun t => g (a * - y + t)%Z)) by (intros t; apply Hg).
    apply E_ext. intros t. f_equal. lia.
  Qed.

  Definition half (l : list Z) : R := total (fun a => IZR a * IZR a / 2) l.

  (** The same events on the other side. *)
  Lemma dot_tilted l : forall f g k, test f -> test g -> 0 <= k ->
    (forall t t2, IZR t2 = IZR t + 2 * half l -> k * f t2 <= g t * exp ((IZR t + half l) / s)) ->
      k * dot l f <= dot l g.
  Proof.
    induction l as [|a l IH]; intros f g k Hf Hg Hk H.
    - unfold half in H. cbn [total] in H. specialize (H 0%Z 0%Z ltac:(lra)). simpl.
      replace ((0 + 0) / s) with 0 in H by (field; lra). rewrite exp_0 in H. lra.
    - rewrite !dot_cons.
      apply (noise_below (fun y => dot l (fun t => f (a * y + t)%Z)) (fun y => dot l (fun t => g
        (a * y + t)%Z)) k a); auto;
        try (intros y; apply E_test; intros t; auto).
      intros y. set (e := exp ((IZR a * IZR y + IZR a * IZR a / 2) / s)). assert (He : 0 < e) by apply exp_pos.
      assert (k / e * dot l (fun t => f (a * (y + a) + t)%Z) <= dot l (fun t => g (a * y + t)%Z)).
      { apply IH; [intros t; apply Hf | intros t; apply Hg | |].
        - apply Rmult_le_pos; auto. left; apply Rinv_0_lt_compat; auto.
        - intros t t2 E. specialize (H (a * y + t)%Z (a * (y + a) + t2)%Z). unfold half in H, E |- *.
          cbn [total] in H.
          fold (half l) in H, E |- *. rewrite !plus_IZR, !mult_IZR, !plus_IZR, E in H.
          specialize (H ltac:(field)).
          replace ((IZR a * IZR y + IZR t + (IZR a * IZR a / 2 + half l)) / s)
            with ((IZR a * IZR y + IZR a * IZR a / 2) / s + (IZR t + half l) / s) in H by (field; lra).
          rewrite exp_plus in H. fold e in H. apply Rmult_le_reg_l with e; auto.
          replace (e * (k / e * f (a * (y + a) + t2)%Z)) with (k * f (a * (y + a) + t2)%Z) by (field; lra). lra. }
      apply Rmult_le_compat_r with (r := e) in H0; [|lra].
      replace (k / e * dot l (fun t => f (a * (y + a) + t)%Z) * e) with (k * dot l (fun t => f (a *
        (y + a) + t)%Z)) in H0 by (field; lra).
      auto.
  Qed.

  (* -------------------------------------------------------------- one release *)

  Lemma each_shifted (V : R -> R) : test V -> forall v a b lam, test a -> test b -> 0 < lam ->
    (forall x lam', 0 < lam' -> a x <= lam' * b x + V lam') ->
    each (map (fun z => image (Z.add z) N) v) a <=
    lam * each (map (fun _ => N) v) b + dot v (fun t => V (lam * exp (- ((IZR t + half v) / s)))).
  Proof.
    intros HV. induction v as [|z v IH]; intros a b lam Ha Hb Hl H.
    - simpl. unfold half; cbn [total]. replace ((0 + 0) / s) with 0 by (field; lra).
      rewrite Ropp_0, exp_0, Rmult_1_r. auto.
    - cbn [map each]. rewrite dot_cons. simpl.
      set (u := fun y => each (map (fun z => image (Z.add z) N) v) (fun l => a ((z + y)%Z :: l))).
      set (B := fun y => each (map (fun _ => N) v) (fun l => b (y :: l))).
      set (D := fun y => dot v (fun t => V (lam * exp (- ((IZR (z * y + t) + half (z :: v)) / s))))).
      set (k := fun y => lam * exp (- ((IZR z * IZR y + IZR z * IZR z / 2) / s))).
      change (N u <= lam * N B + N D).
      assert (Hu : test u) by (intros y; apply E_test; intros l; apply Ha).
      assert (HB : test B) by (intros y; apply E_test; intros l; apply Hb).
      assert (HD : test D) by (intros y; apply E_test; intros t; apply HV).
      assert (Hk : forall y, 0 < k y) by (intros y; apply Rmult_lt_0_compat; auto; apply exp_pos).
      assert (HU : forall y, u y <= k y * B (z + y)%Z + D y).
      { intros y. pose proof (IH (fun l => a ((z + y)%Z :: l)) (fun l => b ((z + y)%Z :: l)) (k y)
          ltac:(intros l; apply Ha) ltac:(intros l; apply Hb) (Hk y) ltac:(intros l lam'; apply H)) as G.
        unfold D. replace (dot v (fun t => V (lam * exp (- ((IZR (z * y + t) + half (z :: v)) / s)))))
          with (dot v (fun t => V (k y * exp (- ((IZR t + half v) / s))))); auto.
        apply E_ext. intros t. f_equal. unfold k. rewrite Rmult_assoc, <- exp_plus. do 2 f_equal.
        unfold half; cbn [total]. rewrite plus_IZR, mult_IZR. field. lra. }
      set (M := fun y => Rmin 1 (k y * B (z + y)%Z)).
      assert (HM : test M).
      { intros y. unfold M. specialize (HB (z + y)%Z). specialize (Hk y).
        split; [apply Rmin_glb; nra | apply Rmin_l]. }
      apply Rle_trans with (N M + N D).
      + apply below_sum; auto. intros y. unfold M. specialize (HU y). specialize (Hu y). specialize (HD y).
        unfold Rmin. destruct (Rle_dec 1 (k y * B (z + y)%Z)); lra.
      + apply Rplus_le_compat_r. apply (noise_above M B lam z); auto; [lra|]. intros y. unfold M.
        apply Rle_trans with (1 := Rmin_r _ _). right. unfold k. rewrite (Z.add_comm z y). ring.
  Qed.

  (* -------------------------------------------------------------- several releases *)

  Definition missed (x : R) : R := Rmax 0 (Rmin 1 (1 - x)).

  Lemma missed_test : test missed.
  Proof. intros x. unfold missed. split; [apply Rmax_l | apply Rmax_lub; [lra | apply Rmin_l]]. Qed.

  Lemma missed_low x : 0 <= x -> 1 - x <= missed x.
  Proof. intros Hx. unfold missed. rewrite Rmin_right by lra. apply Rmax_r. Qed.

  Fixpoint times_over (l : list Z) (n : nat) : list Z := match n with O => [] | S m => l ++ times_over l m end.

  Definition V (l : list Z) (n : nat) (lam : R) : R :=
    dot (times_over l n) (fun t => missed (lam * exp (- ((IZR t + half (times_over l n)) / s)))).

  Lemma V_test l n : test (V l n).
  Proof. intros lam. apply E_test. intros t. apply missed_test. Qed.

  Lemma V_next l n lam : V l (S n) lam = dot l (fun t => V l n (lam * exp (- ((IZR t + half l) / s)))).
  Proof.
    unfold V at 1. cbn [times_over]. rewrite dot_app. apply E_ext. intros t. unfold V. apply E_ext. intros t'.
    f_equal. rewrite Rmult_assoc, <- exp_plus. do 2 f_equal. unfold half. rewrite total_app, plus_IZR. field. lra.
  Qed.

  Lemma V_low l n : forall lam, 0 < lam -> 1 - lam <= V l n lam.
  Proof.
    induction n as [|n IH]; intros lam Hl.
    - unfold V, half; simpl. replace ((0 + 0) / s) with 0 by (field; lra). rewrite Ropp_0, exp_0, Rmult_1_r.
      apply missed_low; lra.
    - rewrite V_next.
      assert (T : test (fun _ : list Z => 1)) by (intros x; lra).
      pose proof (each_shifted (V l n) (V_test l n) l (fun _ => 1) (fun _ => 1) lam T T Hl) as E.
      rewrite !E_const in E by lra. assert (1 <= lam * 1 + dot l (fun t => V l n (lam * exp (-
        ((IZR t + half l) / s))))); [|lra].
      apply E. intros _ lam' Hl'. specialize (IH lam' Hl'). lra.
  Qed.

  (** At λ = e^ε: how much more likely the one event is than the other. *)
  Definition above_of (x : R) (t : Z) : R := if Rlt_dec x (IZR t) then 1 else 0.

  Lemma above_of_test x : test (above_of x).
  Proof. intros t. unfold above_of. destruct (Rlt_dec _ _); lra. Qed.

  Lemma excess_of_events l n e : let L := times_over l n in
    V l n (exp e) <= dot L (above_of (s * e - half L)) - exp e * dot L (above_of (s * e + half L)).
  Proof.
    intros L. unfold V. fold L. set (h := half L).
    set (F := fun t => missed (exp e * exp (- ((IZR t + h) / s)))).
    set (I := above_of (s * e - h)). set (G := fun t => if Rlt_dec (s * e - h) (IZR t) then exp (e -
      (IZR t + h) / s) else 0).
    assert (HI : forall t, s * e - h < IZR t -> e - (IZR t + h) / s <= 0).
    { intros t Ht. apply Rmult_le_reg_r with s; auto. rewrite Rmult_minus_distr_r. unfold Rdiv.
      rewrite Rmult_assoc, Rinv_l; lra. }
    assert (HI' : forall t, ~ s * e - h < IZR t -> 0 <= e - (IZR t + h) / s).
    { intros t Ht. apply Rmult_le_reg_r with s; auto. rewrite Rmult_minus_distr_r. unfold Rdiv.
      rewrite Rmult_assoc, Rinv_l; lra. }
    assert (HG : test G).
    { intros t. unfold G. destruct (Rlt_dec _ _) as [Ht|Ht]; [|lra]. split; [left; apply exp_pos|].
      rewrite <- exp_0. apply exp_le, HI; auto. }
    assert (EF : forall t, F t = I t - G t).
    { intros t. unfold F, I, G, above_of, missed. rewrite <- exp_plus.
      replace (e + - ((IZR t + h) / s)) with (e - (IZR t + h) / s) by ring.
      pose proof (exp_pos (e - (IZR t + h) / s)). destruct (Rlt_dec _ _) as [Ht|Ht].
      - pose proof (exp_le _ _ (HI t Ht)) as X. rewrite exp_0 in X. rewrite Rmin_right, Rmax_right; lra.
      - pose proof (exp_le _ _ (HI' t Ht)) as X. rewrite exp_0 in X. rewrite Rmin_right, Rmax_left; lra. }
    assert (HF : test F) by (intros t; apply missed_test).
    assert (ES : dot L I = dot L F + dot L G).
    { rewrite <- E_plus; auto.
      - apply E_ext. intros t. rewrite EF. ring.
      - intros t. rewrite EF. replace (I t - G t + G t) with (I t) by ring. apply above_of_test. }
    assert (HT : exp e * dot L (above_of (s * e + h)) <= dot L G).
    { apply dot_tilted; auto using above_of_test; [left; apply exp_pos|]. fold h. intros t t2 E.
      unfold above_of, G. rewrite E.
      pose proof (exp_pos e). destruct (Rlt_dec (s * e + h) (IZR t + 2 * h)) as [H1|H1], (Rlt_dec (s * e - h)
        (IZR t)) as [H2|H2]; try lra.
      - rewrite <- exp_plus. right. rewrite Rmult_1_r. f_equal. ring. }
    fold F. fold I. lra.
  Qed.
End Noise.

Lemma discrete_normal_same s N M : discrete_normal s N -> discrete_normal s M -> same N M.
Proof.
  intros [_ [HZ HN]] [_ [_ HM]] f Hf. apply Rmult_eq_reg_r with (usum (heap s)); [|unfold heap; lra].
  specialize (HN f Hf). specialize (HM f Hf). unfold heap in *. lra.
Qed.

Lemma dot_same N M : same N M -> forall l g, test g -> dot N l g = dot M l g.
Proof.
  intros HS. induction l as [|a l IH]; intros g Hg; auto. rewrite !dot_cons.
  rewrite (E_ext N _ (fun y => dot M l (fun t => g (a * y + t)%Z))) by (intros y; apply IH; intros t; apply Hg).
  apply HS. intros y. apply E_test. intros t; apply Hg.
Qed.
