(** The exponential, the logarithm, π and the normal distribution, enclosed. *)
Require Import Reals ZArith QArith Qreals Lra Lia Psatz List Machin Ratan SeqProp Bool.
From Coquelicot Require Import Coquelicot.
From DP.base Require Import Normal.
From DP.decide Require Import Fixed.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- Taylor's series of e^y *)

Fixpoint taylor (n : nat) (y : R) : R :=
  match n with O => 0 | S m => taylor m y + y ^ m / INR (fact m) end.

Lemma term_derive n y : is_derive (fun y => y ^ S n / INR (fact (S n))) y (y ^ n / INR (fact n)).
Proof.
  assert (D : forall c, c <> 0 -> is_derive (fun y => y ^ S n / c) y (INR (S n) * y ^ n / c)).
  { intros c Hc. auto_derive; auto. change (Init.Nat.pred (S n)) with n. rewrite S_INR. inR. destruct n; simpl; field; auto. }
  pose proof (INR_fact_lt_0 n). pose proof (INR_fact_lt_0 (S n)).
  eapply derive_eq; [apply D; lra|].
  replace (INR (fact (S n))) with (INR (S n) * INR (fact n)) by (rewrite <- mult_INR; reflexivity).
  assert (INR (S n) <> 0) by (apply not_0_INR; lia). inR. field. split; lra.
Qed.

Lemma taylor_derive n y : is_derive (taylor (S n)) y (taylor n y).
Proof.
  induction n.
  - simpl. apply is_derive_ext with (fun _ => 1); [intros; simpl; field|]. apply (is_derive_const (V := R_NormedModule)).
  - cbn [taylor]. change (is_derive (fun y => taylor (S n) y + y ^ S n / INR (fact (S n))) y (taylor n y + y ^ n / INR (fact n))).
    apply (is_derive_plus (V := R_NormedModule)); [exact IHn | apply term_derive].
Qed.

Lemma taylor_0 n : taylor (S n) 0 = 1.
Proof. induction n; [simpl; field|]. cbn [taylor] in *. rewrite IHn. simpl pow. unfold Rdiv. ring. Qed.

Lemma exp_half y : 0 <= y <= 1 / 2 -> exp y <= 2.
Proof.
  intros Hy. assert (exp y * exp y <= 3).
  { rewrite <- exp_plus. apply Rle_trans with (exp 1); [|apply exp_le_3].
    destruct (Req_dec (y + y) 1) as [-> |]; [lra|]. left. apply exp_increasing. lra. }
  pose proof (exp_pos y). nra.
Qed.

Lemma taylor_bounds n : forall y, 0 <= y <= 1 / 2 -> taylor n y <= exp y <= taylor n y + 2 * (y ^ n / INR (fact n)).
Proof.
  induction n; intros y Hy.
  - simpl. pose proof (exp_half y Hy). pose proof (exp_pos y). lra.
  - assert (D : forall t, is_derive (fun t => exp t - taylor (S n) t) t (exp t - taylor n t)).
    { intros t. apply (is_derive_minus (V := R_NormedModule) exp (taylor (S n))); [apply is_derive_Reals, derivable_pt_lim_exp | apply taylor_derive]. }
    split.
    + assert (exp 0 - taylor (S n) 0 <= exp y - taylor (S n) y).
      { apply (grows (fun t => exp t - taylor (S n) t) (fun t => exp t - taylor n t)); auto; [|lra].
        intros t Ht. destruct (IHn t ltac:(lra)). lra. }
      rewrite taylor_0, exp_0 in H. lra.
    + assert (2 * (0 ^ S n / INR (fact (S n))) - (exp 0 - taylor (S n) 0)
              <= 2 * (y ^ S n / INR (fact (S n))) - (exp y - taylor (S n) y)).
      { apply (grows (fun t => 2 * (t ^ S n / INR (fact (S n))) - (exp t - taylor (S n) t))
                     (fun t => 2 * (t ^ n / INR (fact n)) - (exp t - taylor n t))); [| |lra].
        - intros t Ht. apply (is_derive_minus (V := R_NormedModule)); [|apply D].
          apply (is_derive_scal (fun t => t ^ S n / INR (fact (S n)))). apply term_derive.
        - intros t Ht. destruct (IHn t ltac:(lra)). lra. }
      rewrite taylor_0, exp_0 in H. simpl pow in H at 1. unfold Rdiv in H at 1. lra.
Qed.

(* ---------------------------------------------------------------- e^y of a small y *)

Section Exponential.
Variable w : positive.
Let one : Z := (2 ^ Zpos w)%Z.

(** [lo] and [hi] enclose the term of order j, [slo] and [shi] the sum before it. *)
Fixpoint series (fuel : nat) (y j lo hi slo shi : Z) : Z * Z :=
  match fuel with
  | O => (slo, shi + 2 * hi)%Z
  | S less =>
    if (hi <=? 1)%Z then (slo, shi + 2 * hi)%Z
    else series less y (j + 1) (lo * y / (one * (j + 1))) (up_div (hi * y) (one * (j + 1))) (slo + lo) (shi + hi)
  end.

Lemma series_inside fuel : forall y n lo hi slo shi, (0 <= y)%Z -> (2 * y <= one)%Z ->
  let v := IZR y / unit_of w in
  IZR lo <= v ^ n / INR (fact n) * unit_of w <= IZR hi -> (0 <= lo)%Z ->
  IZR slo <= taylor n v * unit_of w <= IZR shi ->
  let r := series fuel y (Z.of_nat n) lo hi slo shi in IZR (fst r) <= exp v * unit_of w <= IZR (snd r).
Proof.
  induction fuel; intros y n lo hi slo shi Hy Hy2 v Hlh Hlo Hs.
  all: pose proof (unit_pos w) as Hu.
  all: assert (Hv : 0 <= v <= 1 / 2).
  1, 3: unfold v; apply IZR_le in Hy, Hy2; rewrite mult_IZR in Hy2; change (IZR one) with (unit_of w) in Hy2;
    split; [apply Rdiv_le_0_compat; lra | apply Rmult_le_reg_r with (unit_of w); auto; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra].
  all: pose proof (taylor_bounds n v Hv) as [HT1 HT2].
  all: assert (Hend : IZR (fst (slo, shi + 2 * hi)%Z) <= exp v * unit_of w <= IZR (snd (slo, shi + 2 * hi)%Z)).
  1, 3: cbn [fst snd]; rewrite plus_IZR, mult_IZR; nra.
  - exact Hend.
  - cbn [series]. destruct (hi <=? 1)%Z; [exact Hend|].
    assert (Hone : (0 < one)%Z) by (unfold one; apply Z.pow_pos_nonneg; lia).
    assert (Hj : (0 < one * (Z.of_nat n + 1))%Z) by nia.
    replace (Z.of_nat n + 1)%Z with (Z.of_nat (S n)) in * by lia.
    apply IHfuel; auto.
    + fold v. pose proof (div_le (lo * y) _ Hj) as L. pose proof (up_div_le (hi * y) _ Hj) as U.
      rewrite !mult_IZR in L, U. change (IZR one) with (unit_of w) in *. rewrite <- INR_IZR_INZ in L, U.
      assert (HS : 0 < INR (S n)) by (apply lt_0_INR; lia).
      assert (Hf : 0 < INR (fact n)) by apply INR_fact_lt_0.
      assert (E : v ^ S n / INR (fact (S n)) * unit_of w = (v ^ n / INR (fact n) * unit_of w) * (v * unit_of w) / (unit_of w * INR (S n))).
      { change (fact (S n)) with (S n * fact n)%nat. rewrite mult_INR. simpl pow. field. repeat split; lra. }
      assert (Ev : v * unit_of w = IZR y) by (unfold v; field; lra).
      rewrite E, Ev. apply IZR_le in Hy. apply IZR_le in Hlo.
      assert (HP : 0 < unit_of w * INR (S n)) by nra.
      set (m := v ^ n / INR (fact n) * unit_of w) in *. split.
      * apply Rmult_le_reg_r with (unit_of w * INR (S n)); auto.
        replace (m * IZR y / (unit_of w * INR (S n)) * (unit_of w * INR (S n))) with (m * IZR y) by (field; split; lra). nra.
      * apply Rmult_le_reg_r with (unit_of w * INR (S n)); auto.
        replace (m * IZR y / (unit_of w * INR (S n)) * (unit_of w * INR (S n))) with (m * IZR y) by (field; split; lra). nra.
    + apply Z.div_pos; nia.
    + fold v. cbn [taylor]. rewrite !plus_IZR. nra.
Qed.

Fixpoint squared (k : nat) (e : Z * Z) : Z * Z :=
  match k with
  | O => e
  | S less => squared less (fst e * fst e / one, up_div (snd e * snd e) one)%Z
  end.

Lemma squared_inside k : forall e v, (0 <= fst e)%Z -> IZR (fst e) <= exp v * unit_of w <= IZR (snd e) ->
  IZR (fst (squared k e)) <= exp (2 ^ k * v) * unit_of w <= IZR (snd (squared k e)).
Proof.
  induction k; intros e v H0 H.
  - simpl. rewrite Rmult_1_l. auto.
  - cbn [squared]. assert (Hone : (0 < one)%Z) by (unfold one; apply Z.pow_pos_nonneg; lia).
    replace (2 ^ S k * v) with (2 ^ k * (v + v)) by (simpl; ring). pose proof (unit_pos w) as Hu. pose proof (exp_pos v).
    pose proof (div_le (fst e * fst e) one Hone) as L. pose proof (up_div_le (snd e * snd e) one Hone) as U.
    rewrite !mult_IZR in L, U. change (IZR one) with (unit_of w) in *. apply IZR_le in H0 as H0r.
    apply IHk; cbn [fst snd].
    + apply Z.div_pos; nia.
    + rewrite exp_plus. assert (0 <= exp v * unit_of w) by nra. split.
      * apply Rmult_le_reg_r with (unit_of w); auto.
        replace (exp v * exp v * unit_of w * unit_of w) with ((exp v * unit_of w) * (exp v * unit_of w)) by ring. nra.
      * apply Rmult_le_reg_r with (unit_of w); auto.
        replace (exp v * exp v * unit_of w * unit_of w) with ((exp v * unit_of w) * (exp v * unit_of w)) by ring. nra.
Qed.
End Exponential.

Lemma exp_mono x y : x <= y -> exp x <= exp y.
Proof. intros [H| ->]; [left; apply exp_increasing; auto | lra]. Qed.

Section Functions.
Variable p : positive.
Let one : Z := (2 ^ Zpos p)%Z.

(** A whole number of units of 2^-w, in units of 2^-p. *)
Definition rescaled (w : positive) (e : Z * Z) : Z * Z :=
  (fst e / 2 ^ (Zpos w - Zpos p), up_div (snd e) (2 ^ (Zpos w - Zpos p)))%Z.

Lemma unit_split w : (p <= w)%positive -> unit_of w = unit_of p * IZR (2 ^ (Zpos w - Zpos p)).
Proof.
  intros H. unfold unit_of. rewrite <- mult_IZR. f_equal. rewrite <- Z.pow_add_r by lia. f_equal. lia.
Qed.

Lemma rescaled_inside w e x : (p <= w)%positive -> IZR (fst e) <= x * unit_of w <= IZR (snd e) ->
  IZR (fst (rescaled w e)) <= x * unit_of p <= IZR (snd (rescaled w e)).
Proof.
  intros Hw H. unfold rescaled; cbn [fst snd]. rewrite (unit_split w Hw) in H.
  assert (Hp : (0 < 2 ^ (Zpos w - Zpos p))%Z) by (apply Z.pow_pos_nonneg; lia).
  pose proof (div_le (fst e) _ Hp) as L. pose proof (up_div_le (snd e) _ Hp) as U. apply IZR_lt in Hp.
  split; apply Rmult_le_reg_r with (IZR (2 ^ (Zpos w - Zpos p))); auto; lra.
Qed.

Definition log2_up (z : Z) : nat := Z.to_nat (Z.log2 (Z.max 1 z) + 1).

(** e^x of x = z units, z >= 0. *)
Definition exp_above (z : Z) : Z * Z :=
  let k := (log2_up (z / one) + 1)%nat in               (* x < 2^(k-1) *)
  let w := (p + Pos.of_succ_nat k + 16)%positive in
  let y := (z * 2 ^ (Zpos w - Zpos p - Z.of_nat k))%Z in
  rescaled w (squared w k (series w (Pos.to_nat w) y 0 (2 ^ Zpos w) (2 ^ Zpos w) 0 0)).

Lemma exp_above_inside z : (0 <= z)%Z ->
  IZR (fst (exp_above z)) <= exp (IZR z / unit_of p) * unit_of p <= IZR (snd (exp_above z)).
Proof.
  intros Hz. unfold exp_above. set (k := (log2_up (z / one) + 1)%nat).
  set (w := (p + Pos.of_succ_nat k + 16)%positive). set (y := (z * 2 ^ (Zpos w - Zpos p - Z.of_nat k))%Z).
  assert (Hone : (0 < one)%Z) by (unfold one; apply Z.pow_pos_nonneg; lia).
  assert (Hw : (p <= w)%positive) by lia.
  assert (He : (0 <= Zpos w - Zpos p - Z.of_nat k)%Z) by lia.
  apply rescaled_inside; auto. pose proof (unit_pos p) as Hup. pose proof (unit_pos w) as Huw.
  assert (Hyv : IZR z / unit_of p = 2 ^ k * (IZR y / unit_of w)).
  { unfold y. rewrite mult_IZR, (unit_split w Hw).
    replace (2 ^ (Zpos w - Zpos p))%Z with (2 ^ (Zpos w - Zpos p - Z.of_nat k) * 2 ^ Z.of_nat k)%Z.
    2: { rewrite <- Z.pow_add_r by lia. f_equal. lia. }
    rewrite mult_IZR. rewrite <- pow_IZR. 
    assert (0 < IZR (2 ^ (Zpos w - Zpos p - Z.of_nat k))) by (apply IZR_lt, Z.pow_pos_nonneg; lia).
    assert (0 < 2 ^ k) by (apply pow_lt; lra). field. repeat split; lra. }
  rewrite Hyv. apply squared_inside.
  - assert (G : forall fuel y j lo hi slo shi, (0 <= y)%Z -> (0 <= j)%Z -> (0 <= lo)%Z -> (0 <= slo)%Z -> (0 <= fst (series w fuel y j lo hi slo shi))%Z).
    { induction fuel; intros; cbn [series]; [cbn; lia|]. destruct (hi <=? 1)%Z; [cbn; lia|].
      assert (0 < 2 ^ Zpos w)%Z by (apply Z.pow_pos_nonneg; lia).
      apply IHfuel; try lia. apply Z.div_pos; nia. }
    apply G; try lia; try (apply Z.pow_nonneg; lia).
  - pose proof (series_inside w (Pos.to_nat w) y 0 (2 ^ Zpos w) (2 ^ Zpos w) 0 0) as G. cbv zeta in G. apply G; clear G.
    + unfold y. apply Z.mul_nonneg_nonneg; auto. apply Z.pow_nonneg; lia.
    + (* x < 2^(k-1), so 2 y <= 2^w *)
      unfold y. assert (Hzk : (z < one * 2 ^ (Z.of_nat k - 1))%Z).
      { assert (Hd : (0 <= z / one)%Z) by (apply Z.div_pos; lia).
        assert (z / one < 2 ^ (Z.of_nat k - 1))%Z.
        { unfold k, log2_up. destruct (Z.eq_dec (z / one) 0) as [-> |].
          - apply Z.pow_pos_nonneg; lia.
          - rewrite Z.max_r by lia. destruct (Z.log2_spec (z / one)) as [_ Hl]; [lia|].
            pose proof (Z.log2_nonneg (z / one)).
            replace (Z.of_nat (Z.to_nat (Z.log2 (z / one) + 1) + 1) - 1)%Z with (Z.succ (Z.log2 (z / one))) by lia. auto. }
        pose proof (Z.mul_succ_div_gt z one Hone). nia. }
      assert (Hk1 : (0 <= Z.of_nat k - 1)%Z) by (unfold k; lia).
      replace (2 ^ Zpos w)%Z with (2 * (one * 2 ^ (Z.of_nat k - 1)) * 2 ^ (Zpos w - Zpos p - Z.of_nat k))%Z.
      2: { unfold one. replace (2 * (2 ^ Zpos p * 2 ^ (Z.of_nat k - 1)))%Z with (2 ^ 1 * (2 ^ Zpos p * 2 ^ (Z.of_nat k - 1)))%Z by reflexivity.
           rewrite <- !Z.pow_add_r by lia. f_equal. lia. }
      assert (0 < 2 ^ (Zpos w - Zpos p - Z.of_nat k))%Z by (apply Z.pow_pos_nonneg; lia). nia.
    + change (unit_of w) with (IZR (2 ^ Zpos w)). simpl. split; lra.
    + apply Z.pow_nonneg; lia.
    + simpl. lra.
Qed.

(** e^x of x = z units: unbounded and at least 1 + x where it has more than 2^22 digits or so, and 0 to one unit where it is less. *)
Definition exp_at (z : Z) : ends :=
  if (z <? 0)%Z then
    if (z <? - (Zpos p * one))%Z then (Some 0%Z, Some 1%Z)
    else let e := exp_above (- z) in
         (Some (one * one / snd e)%Z, if (0 <? fst e)%Z then Some (up_div (one * one) (fst e)) else None)
  else if (2 ^ 22 * one <? z)%Z then (Some (one + z)%Z, None)
  else let e := exp_above z in (Some (fst e), Some (snd e)).

Lemma exp_at_inside z : inside p (exp_at z) (exp (IZR z / unit_of p)).
Proof.
  unfold exp_at, inside, above, below. pose proof (unit_pos p) as Hu.
  assert (Hone : (0 < one)%Z) by (unfold one; apply Z.pow_pos_nonneg; lia).
  destruct (Z.ltb_spec z 0) as [Hz|Hz].
  - destruct (Z.ltb_spec z (- (Zpos p * one))) as [Hs|Hs]; cbn [fst snd].
    + pose proof (exp_pos (IZR z / unit_of p)). split; [nra|].
      assert (HZ : IZR z / unit_of p <= - IZR (Zpos p)).
      { apply IZR_lt in Hs. rewrite opp_IZR, mult_IZR in Hs. change (IZR one) with (unit_of p) in Hs.
        apply Rmult_le_reg_r with (unit_of p); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
      apply Rle_trans with (exp (- IZR (Zpos p)) * unit_of p).
      { apply Rmult_le_compat_r; [lra|]. apply exp_mono; auto. }
      rewrite exp_Ropp. apply Rmult_le_reg_l with (exp (IZR (Zpos p))); [apply exp_pos|].
      rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l, Rmult_1_r by (apply Rgt_not_eq, exp_pos).
      assert (forall n, IZR (2 ^ Z.of_nat n) <= exp (INR n)).
      { induction n; [simpl; rewrite exp_0; lra|].
        rewrite Nat2Z.inj_succ, Z.pow_succ_r, mult_IZR, S_INR, exp_plus by lia.
        assert (2 <= exp 1) by (pose proof (exp_ineq1 1 ltac:(lra)); lra).
        assert (0 <= IZR (2 ^ Z.of_nat n)) by (apply IZR_le, Z.pow_nonneg; lia). nra. }
      unfold unit_of. replace (Zpos p) with (Z.of_nat (Pos.to_nat p)) by lia. rewrite <- INR_IZR_INZ. apply H0.
    + pose proof (exp_above_inside (- z) ltac:(lia)) as [L U]. rewrite opp_IZR in L, U.
      replace (- IZR z / unit_of p) with (- (IZR z / unit_of p)) in L, U by (field; lra).
      set (x := IZR z / unit_of p) in *. pose proof (exp_pos x). pose proof (exp_pos (- x)).
      assert (Hinv : exp x * exp (- x) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
      assert (Hs0 : (0 < snd (exp_above (- z)))%Z) by (apply lt_IZR; nra). cbn [fst snd]. split.
      * pose proof (div_le (one * one) _ Hs0) as D. rewrite mult_IZR in D. change (IZR one) with (unit_of p) in D.
        set (q := IZR (one * one / snd (exp_above (- z)))) in *.
        assert (0 <= q) by (apply IZR_le, Z.div_pos; lia).
        apply Rmult_le_reg_r with (exp (- x) * unit_of p); [nra|].
        replace (exp x * unit_of p * (exp (- x) * unit_of p)) with (unit_of p * unit_of p * (exp x * exp (- x))) by ring.
        rewrite Hinv. nra.
      * destruct (Z.ltb_spec 0 (fst (exp_above (- z)))) as [Hf|Hf]; auto.
        pose proof (up_div_le (one * one) _ Hf) as D. rewrite mult_IZR in D. change (IZR one) with (unit_of p) in D.
        set (q := IZR (up_div (one * one) (fst (exp_above (- z))))) in *. apply IZR_lt in Hf.
        assert (0 <= q) by nra.
        apply Rmult_le_reg_r with (exp (- x) * unit_of p); [nra|].
        replace (exp x * unit_of p * (exp (- x) * unit_of p)) with (unit_of p * unit_of p * (exp x * exp (- x))) by ring.
        rewrite Hinv. nra.
  - destruct (2 ^ 22 * one <? z)%Z; cbn [fst snd].
    + split; auto. rewrite plus_IZR. change (IZR one) with (unit_of p). apply IZR_le in Hz.
      assert (1 + IZR z / unit_of p <= exp (IZR z / unit_of p)).
      { destruct (Req_dec (IZR z / unit_of p) 0) as [->|N]; [rewrite exp_0; lra|]. left. apply exp_ineq1; auto. }
      apply Rmult_le_compat_r with (r := unit_of p) in H; [|lra].
      replace ((1 + IZR z / unit_of p) * unit_of p) with (unit_of p + IZR z) in H by (field; lra). auto.
    + apply (exp_above_inside z); auto.
Qed.

Definition exponential (a : ends) : ends :=
  at_least_0 (wider (match fst a with Some z => fst (exp_at z) | None => Some 0%Z end,
                     match snd a with Some z => snd (exp_at z) | None => None end)).

Lemma exponential_inside a x : inside p a x -> inside p (exponential a) (exp x).
Proof.
  intros [Ha Hb]. pose proof (unit_pos p) as Hu. apply at_least_0_inside; [left; apply exp_pos|].
  apply wider_inside. unfold inside, above, below in *. destruct a as [a1 a2]; cbn [fst snd] in *. split.
  - destruct a1 as [z|]; cbn [fst snd].
    + destruct (exp_at_inside z) as [L _]. unfold above in L. destruct (fst (exp_at z)) as [y|]; auto.
      apply Rle_trans with (1 := L). apply Rmult_le_compat_r; [lra|]. apply exp_mono.
      apply Rmult_le_reg_r with (unit_of p); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
    + pose proof (exp_pos x). nra.
  - destruct a2 as [z|]; cbn [fst snd]; auto.
    destruct (exp_at_inside z) as [_ U]. unfold below in U. destruct (snd (exp_at z)) as [y|]; auto.
    apply Rle_trans with (2 := U). apply Rmult_le_compat_r; [lra|]. apply exp_mono.
    apply Rmult_le_reg_r with (unit_of p); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.
End Functions.
