(** The logarithm, π and the upper tail of the normal law, enclosed. *)
Require Import Reals ZArith QArith Qreals Lra Lia Psatz List Machin Ratan Bool.
From Coquelicot Require Import Coquelicot.
From DP.base Require Import Normal.
From DP.decide Require Import Fixed Functions.
Import ListNotations.
Open Scope R_scope.

Lemma times_unit x a u : 0 < u -> x <= a / u -> x * u <= a.
Proof. intros Hu H. apply Rmult_le_compat_r with (r := u) in H; [|lra]. unfold Rdiv in H. rewrite Rmult_assoc, Rinv_l in H; lra. Qed.

Lemma times_unit' x a u : 0 < u -> a / u <= x -> a <= x * u.
Proof. intros Hu H. apply Rmult_le_compat_r with (r := u) in H; [|lra]. unfold Rdiv in H. rewrite Rmult_assoc, Rinv_l in H; lra. Qed.

(* ---------------------------------------------------------------- logarithms *)

Section Logarithm.
Variable p : positive.
Let one : Z := (2 ^ Zpos p)%Z.

Fixpoint nearer (n : nat) (y t : Z) : Z :=
  match n with
  | O => t
  | S less => let e := fst (exp_above p t) in nearer less y (Z.max 0 (t + 2 * (y - e) * one / (y + e)))%Z
  end.

(** Nothing is claimed of this number; its neighbours are tried. *)
Definition guess (y : Z) : Z :=
  nearer (Pos.size_nat p + 6) y (Z.max 0 ((Z.log2 y - Zpos p) * one * 6931 / 10000))%Z.

Fixpoint from_above (n : nat) (y t d : Z) : option Z :=
  match n with
  | O => None
  | S less => if (y <=? fst (exp_above p (t + d)))%Z then Some (t + d)%Z else from_above less y t (d * 16)
  end.

Fixpoint from_below (n : nat) (y t d : Z) : option Z :=
  match n with
  | O => Some 0%Z
  | S less => if (0 <=? t - d)%Z && (snd (exp_above p (t - d)) <=? y)%Z then Some (t - d)%Z else from_below less y t (d * 16)
  end.

Lemma from_above_right n : forall y t d r, (0 <= t)%Z -> (0 < d)%Z -> from_above n y t d = Some r ->
  forall x, 0 < x -> x * unit_of p <= IZR y -> ln x * unit_of p <= IZR r.
Proof.
  induction n; intros y t d r Ht Hd H x Hx Hxy; cbn [from_above] in H; [discriminate|].
  destruct (Z.leb_spec y (fst (exp_above p (t + d)))) as [Hy|Hy].
  - injection H as <-. pose proof (exp_above_inside p (t + d) ltac:(lia)) as [L _]. apply IZR_le in Hy.
    pose proof (unit_pos p) as Hu.
    assert (x <= exp (IZR (t + d) / unit_of p)) by (apply Rmult_le_reg_r with (unit_of p); lra).
    assert (ln x <= IZR (t + d) / unit_of p).
    { rewrite <- (ln_exp (IZR (t + d) / unit_of p)). destruct H as [H|H]; [left; apply ln_increasing; auto | right; congruence]. }
    apply times_unit; auto.
  - refine (IHn _ _ _ _ Ht _ H x Hx Hxy). lia.
Qed.

Lemma from_below_right n : forall y t d r, (0 <= t)%Z -> (0 < d)%Z -> (one <= y)%Z -> from_below n y t d = Some r ->
  forall x, IZR y <= x * unit_of p -> IZR r <= ln x * unit_of p.
Proof.
  induction n; intros y t d r Ht Hd H1 H x Hxy; cbn [from_below] in H; pose proof (unit_pos p) as Hu.
  - injection H as <-. apply IZR_le in H1. change (IZR one) with (unit_of p) in H1.
    assert (1 <= x) by (apply Rmult_le_reg_r with (unit_of p); lra). assert (0 <= ln x); [|nra]. rewrite <- ln_1.
    destruct H as [H|<-]; [left; apply ln_increasing; lra | lra].
  - destruct (Z.leb_spec 0 (t - d)); cbn [andb] in H.
    2: { refine (IHn _ _ _ _ Ht _ H1 H x Hxy). lia. }
    destruct (Z.leb_spec (snd (exp_above p (t - d))) y) as [Hy|Hy].
    + injection H as <-. pose proof (exp_above_inside p (t - d) H0) as [_ U]. apply IZR_le in Hy.
      assert (exp (IZR (t - d) / unit_of p) <= x) by (apply Rmult_le_reg_r with (unit_of p); lra).
      assert (IZR (t - d) / unit_of p <= ln x).
      { rewrite <- (ln_exp (IZR (t - d) / unit_of p)). pose proof (exp_pos (IZR (t - d) / unit_of p)).
        destruct H as [H|H]; [left; apply ln_increasing; auto | right; congruence]. }
      apply times_unit'; auto.
    + refine (IHn _ _ _ _ Ht _ H1 H x Hxy). lia.
Qed.

(** Of y >= 1. *)
Definition ln_above (y : Z) : option Z := let t := guess y in from_above 10 y t 16.
Definition ln_below (y : Z) : option Z := let t := guess y in from_below 10 y t 16.

Lemma guess_nonneg y : (0 <= guess y)%Z.
Proof.
  unfold guess. assert (G : forall n t, (0 <= t)%Z -> (0 <= nearer n y t)%Z).
  { induction n; intros; cbn [nearer]; auto. apply IHn. lia. }
  apply G. lia.
Qed.

Definition ln_up (z : Z) : option Z :=
  if (one <=? z)%Z then ln_above z
  else match ln_below (one * one / z) with Some r => Some (- r)%Z | None => None end.

Definition ln_down (z : Z) : option Z :=
  if (one <=? z)%Z then ln_below z
  else match ln_above (up_div (one * one) z) with Some r => Some (- r)%Z | None => None end.

Lemma ln_up_right z r x : (0 < z)%Z -> 0 < x -> ln_up z = Some r -> x * unit_of p <= IZR z -> ln x * unit_of p <= IZR r.
Proof.
  intros Hz Hx H Hxz. unfold ln_up in H. pose proof (unit_pos p) as Hu.
  assert (Hone : (0 < one)%Z) by (unfold one; apply Z.pow_pos_nonneg; lia).
  destruct (Z.leb_spec one z).
  - refine (from_above_right _ _ _ _ _ (guess_nonneg z) _ H x Hx Hxz). lia.
  - destruct (ln_below (one * one / z)) as [s|] eqn:E; [|discriminate]. injection H as <-.
    assert (IZR s <= ln (/ x) * unit_of p).
    { refine (from_below_right _ _ _ _ _ (guess_nonneg _) _ _ E (/ x) _); [lia| |].
      - apply Z.div_le_lower_bound; nia.
      - pose proof (div_le (one * one) z Hz) as L. rewrite mult_IZR in L. change (IZR one) with (unit_of p) in L.
        set (q := IZR (one * one / z)) in *. assert (0 <= q) by (apply IZR_le, Z.div_pos; nia).
        apply Rmult_le_reg_r with (x * unit_of p); [nra|].
        replace (/ x * unit_of p * (x * unit_of p)) with (unit_of p * unit_of p) by (field; lra). nra. }
    rewrite ln_Rinv in H by auto. rewrite opp_IZR. lra.
Qed.

Lemma ln_down_right z r x : (0 < z)%Z -> ln_down z = Some r -> IZR z <= x * unit_of p -> IZR r <= ln x * unit_of p.
Proof.
  intros Hz H Hxz. unfold ln_down in H. pose proof (unit_pos p) as Hu.
  assert (Hone : (0 < one)%Z) by (unfold one; apply Z.pow_pos_nonneg; lia).
  assert (Hx : 0 < x) by (apply IZR_lt in Hz; nra).
  destruct (Z.leb_spec one z).
  - refine (from_below_right _ _ _ _ _ (guess_nonneg z) _ _ H x Hxz); lia.
  - destruct (ln_above (up_div (one * one) z)) as [s|] eqn:E; [|discriminate]. injection H as <-.
    assert (ln (/ x) * unit_of p <= IZR s).
    { refine (from_above_right _ _ _ _ _ (guess_nonneg _) _ E (/ x) _ _); [lia | apply Rinv_0_lt_compat; auto |].
      pose proof (up_div_le (one * one) z Hz) as U. rewrite mult_IZR in U. change (IZR one) with (unit_of p) in U.
      set (q := IZR (up_div (one * one) z)) in *. apply IZR_lt in Hz.
      assert (0 < q) by nra.
      apply Rmult_le_reg_r with (x * unit_of p); [nra|].
      replace (/ x * unit_of p * (x * unit_of p)) with (unit_of p * unit_of p) by (field; lra). nra. }
    rewrite ln_Rinv in H by auto. rewrite opp_IZR. lra.
Qed.

Definition logarithm (a : ends) : ends :=
  match fst a with
  | Some z => if (0 <? z)%Z then
      wider (ln_down z, match snd a with Some y => if (0 <? y)%Z then ln_up y else None | None => None end)
    else (None, None)
  | None => (None, None)
  end.

Lemma logarithm_inside a x : inside p a x -> inside p (logarithm a) (ln x).
Proof.
  intros [Ha Hb]. unfold logarithm. destruct a as [[z|] b]; cbn [fst snd] in *; [|split; exact I].
  destruct (Z.ltb_spec 0 z) as [Hz|]; [|split; exact I]. apply wider_inside.
  pose proof (unit_pos p) as Hu. unfold above, below in Ha, Hb.
  assert (Hx : 0 < x) by (apply IZR_lt in Hz; nra).
  unfold inside, above, below; cbn [fst snd]. split.
  - destruct (ln_down z) eqn:E; auto. eapply ln_down_right; eauto.
  - destruct b as [y|]; auto. destruct (Z.ltb_spec 0 y); auto. destruct (ln_up y) eqn:E; auto. eapply ln_up_right; eauto.
Qed.
End Logarithm.

(* ---------------------------------------------------------------- π *)

Section Pi.
Variable p : positive.
Let one : Z := (2 ^ Zpos p)%Z.

(** Twice 3^-(2n+1)/(2n+1), and 7^-(2n+1)/(2n+1), are terms of π/4; [a] = 3^(2n+1), [b] = 7^(2n+1), [m] = 2n+1. *)
Fixpoint machin (n : nat) (a b m : Z) (sign : bool) (lo hi : Z) : Z * Z :=
  match n with
  | O => (lo, hi)
  | S less =>
    let low := (2 * one / (a * m) + one / (b * m))%Z in
    let high := (low + 2)%Z in
    machin less (a * 9) (b * 49) (m + 2) (negb sign)
      (if sign then lo + low else lo - high) (if sign then hi + high else hi - low)
  end.

Lemma machin_inside n : forall k a b m sign lo hi s,
  a = (3 ^ Z.of_nat (2 * k + 1))%Z -> b = (7 ^ Z.of_nat (2 * k + 1))%Z -> m = Z.of_nat (2 * k + 1) -> sign = Nat.even k ->
  IZR lo <= s * unit_of p <= IZR hi ->
  let r := machin n a b m sign lo hi in
  exists t, IZR (fst r) <= t * unit_of p <= IZR (snd r) /\
    forall f : nat -> R, (k = O -> s = 0) -> (forall j, k = S j -> s = sum_f_R0 (tg_alt PI_2_3_7_tg) j) ->
      forall j, (k + n = S j)%nat -> t = sum_f_R0 (tg_alt PI_2_3_7_tg) j.
Proof.
  induction n; intros k a b m sign lo hi s Ea Eb Em Es Hs; cbn [machin].
  - exists s. split; auto. intros _ H0 HS j Hj. apply HS. lia.
  - pose proof (unit_pos p) as Hu.
    set (v := tg_alt PI_2_3_7_tg k).
    assert (HM : 0 < IZR m) by (apply IZR_lt; lia).
    assert (HA : (0 < a)%Z) by (subst a; apply Z.pow_pos_nonneg; lia).
    assert (HB : (0 < b)%Z) by (subst b; apply Z.pow_pos_nonneg; lia).
    assert (Hv : PI_2_3_7_tg k = 2 / (IZR a * IZR m) + / (IZR b * IZR m)).
    { unfold PI_2_3_7_tg, Ratan_seq. subst a b m. rewrite <- !pow_IZR, <- INR_IZR_INZ, !pow_inv.
      assert (INR (2 * k + 1) <> 0) by (apply not_0_INR; lia).
      assert (3 ^ (2 * k + 1) <> 0) by (apply pow_nonzero; lra). assert (7 ^ (2 * k + 1) <> 0) by (apply pow_nonzero; lra).
      field. repeat split; auto. }
    set (low := (2 * one / (a * m) + one / (b * m))%Z).
    assert (Hlow : IZR low <= PI_2_3_7_tg k * unit_of p <= IZR (low + 2)).
    { rewrite Hv. assert (Ham : (0 < a * m)%Z) by nia. assert (Hbm : (0 < b * m)%Z) by nia.
      assert (F : forall x y, (0 < y)%Z -> IZR (x / y) <= IZR x / IZR y <= IZR (x / y) + 1).
      { intros x y Hy. pose proof (div_le x y Hy). pose proof (Z.mul_succ_div_gt x y Hy) as G. apply IZR_lt in G.
        rewrite mult_IZR, succ_IZR in G. apply IZR_lt in Hy. split.
        - apply Rmult_le_reg_r with (IZR y); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
        - apply Rmult_le_reg_r with (IZR y); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
      pose proof (F (2 * one)%Z (a * m)%Z Ham) as F1. pose proof (F one (b * m)%Z Hbm) as F2. rewrite !mult_IZR in F1, F2. rewrite (mult_IZR a m) in F1.
      change (IZR one) with (unit_of p) in *. unfold low. rewrite !plus_IZR.
      apply IZR_lt in HA, HB.
      replace ((2 / (IZR a * IZR m) + / (IZR b * IZR m)) * unit_of p)
        with (2 * unit_of p / (IZR a * IZR m) + unit_of p / (IZR b * IZR m)) by (field; repeat split; lra). lra. }
    assert (Hsign : (if sign then PI_2_3_7_tg k else - PI_2_3_7_tg k) = v).
    { unfold v, tg_alt. subst sign. destruct (Nat.even k) eqn:Ek.
      - apply Nat.even_spec in Ek. destruct Ek as [i ->]. rewrite pow_1_even. ring.
      - assert (Ho : Nat.odd k = true) by (rewrite <- Nat.negb_even, Ek; auto). apply Nat.odd_spec in Ho. destruct Ho as [i ->].
        replace (2 * i + 1)%nat with (S (2 * i)) by lia. rewrite pow_1_odd. ring. }
    destruct (IHn (S k) (a * 9)%Z (b * 49)%Z (m + 2)%Z (negb sign)
                (if sign then lo + low else lo - (low + 2))%Z (if sign then hi + (low + 2) else hi - low)%Z (s + v)) as [t [Ht HT]].
    + subst a. replace (Z.of_nat (2 * S k + 1)) with (Z.of_nat (2 * k + 1) + 2)%Z by lia. rewrite Z.pow_add_r by lia. reflexivity.
    + subst b. replace (Z.of_nat (2 * S k + 1)) with (Z.of_nat (2 * k + 1) + 2)%Z by lia. rewrite Z.pow_add_r by lia. reflexivity.
    + lia.
    + rewrite Nat.even_succ, <- Nat.negb_even, <- Es. reflexivity.
    + rewrite <- Hsign. clearbody low. rewrite plus_IZR in Hlow.
      destruct sign; rewrite ?minus_IZR, ?plus_IZR, ?(plus_IZR low 2); lra.
    + exists t. split; auto. intros f H0 HS j Hj. apply HT; auto; try lia.
      intros i Hi. injection Hi as <-. destruct k.
      * rewrite (H0 eq_refl). simpl. unfold v. lra.
      * rewrite (HS k eq_refl). simpl. reflexivity.
Qed.

Definition pi : ends :=
  let n := S (Nat.div2 (Pos.to_nat p) / 2)%nat in         (* 81^-n is below 2^-p *)
  let upper := machin (2 * n + 1) 3 7 1 true 0 0 in
  let lower := machin (2 * n + 2) 3 7 1 true 0 0 in
  (Some (4 * fst lower)%Z, Some (4 * snd upper)%Z).

Lemma pi_inside : inside p pi PI.
Proof.
  unfold pi, inside, above, below; cbn [fst snd]. set (n := S (Nat.div2 (Pos.to_nat p) / 2)).
  destruct (PI_2_3_7_ineq n) as [L U]. rewrite !mult_IZR. pose proof (unit_pos p) as Hu. split.
  - destruct (machin_inside (2 * n + 2) 0 3 7 1 true 0 0 0 eq_refl eq_refl eq_refl eq_refl ltac:(lra)) as [t [Ht HT]].
    rewrite (HT (fun _ => 0) (fun _ => eq_refl) ltac:(intros; discriminate) (S (2 * n)) ltac:(lia)) in Ht.
    apply Rmult_le_compat_r with (r := unit_of p) in L; lra.
  - destruct (machin_inside (2 * n + 1) 0 3 7 1 true 0 0 0 eq_refl eq_refl eq_refl eq_refl ltac:(lra)) as [t [Ht HT]].
    rewrite (HT (fun _ => 0) (fun _ => eq_refl) ltac:(intros; discriminate) (2 * n)%nat ltac:(lia)) in Ht.
    apply Rmult_le_compat_r with (r := unit_of p) in U; lra.
Qed.
End Pi.

(* ---------------------------------------------------------------- the normal law *)

(** x^(2n+1)/(1·3·…·(2n+1)), and the sum of these below n. *)
Fixpoint odd_term (n : nat) (x : R) : R :=
  match n with O => x | S m => odd_term m x * (x * x) / INR (2 * n + 1) end.

Fixpoint even_term (n : nat) (x : R) : R :=
  match n with O => 1 | S m => even_term m x * (x * x) / INR (2 * n - 1) end.

Fixpoint odd_sum (n : nat) (x : R) : R :=
  match n with O => 0 | S m => odd_sum m x + odd_term m x end.

Lemma odd_even n x : odd_term n x = x * even_term n x / INR (2 * n + 1).
Proof.
  induction n; [simpl; field|].
  cbn [odd_term even_term]. rewrite IHn. replace (2 * S n - 1)%nat with (2 * n + 1)%nat by lia.
  assert (INR (2 * n + 1) <> 0) by (apply not_0_INR; lia). assert (INR (2 * S n + 1) <> 0) by (apply not_0_INR; lia).
  field. split; auto.
Qed.

Lemma even_next n x : even_term (S n) x = x * odd_term n x.
Proof.
  rewrite odd_even. cbn [even_term]. replace (2 * S n - 1)%nat with (2 * n + 1)%nat by lia.
  assert (INR (2 * n + 1) <> 0) by (apply not_0_INR; lia). field. auto.
Qed.

Lemma odd_derive n x : is_derive (odd_term n) x (even_term n x).
Proof.
  induction n.
  - cbn [odd_term even_term]. apply (is_derive_id (K := R_AbsRing)).
  - apply is_derive_ext with (fun x => / INR (2 * S n + 1) * (odd_term n x * (x * x))).
    { intros t. cbn [odd_term]. unfold Rdiv. inR. ring. }
    assert (H1 : INR (2 * n + 1) <> 0) by (apply not_0_INR; lia). assert (H2 : INR (2 * S n + 1) <> 0) by (apply not_0_INR; lia).
    eapply derive_eq.
    + apply (is_derive_scal (fun x => odd_term n x * (x * x))).
      apply (is_derive_mult (odd_term n) (fun x => x * x)); [exact IHn| |intros; apply Rmult_comm].
      auto_derive; [auto|reflexivity].
    + rewrite (even_next n x), (odd_even n x).
      replace (INR (2 * S n + 1)) with (INR (2 * n + 1) + 2) in * by (rewrite !plus_INR, !mult_INR, !S_INR; simpl; ring).
      unfold plus, mult; simpl. inR. field. split; auto.
Qed.

Lemma odd_sum_derive n x : is_derive (odd_sum n) x (1 + x * odd_sum n x - even_term n x).
Proof.
  induction n.
  - simpl. eapply derive_eq; [apply (is_derive_const (V := R_NormedModule))|]. unfold zero; simpl. ring.
  - change (is_derive (fun x => odd_sum n x + odd_term n x) x (1 + x * odd_sum (S n) x - even_term (S n) x)).
    eapply derive_eq; [apply (is_derive_plus (V := R_NormedModule)); [exact IHn | apply odd_derive]|].
    rewrite even_next. cbn [odd_sum]. unfold plus; simpl. ring.
Qed.

Lemma even_nonneg n x : 0 <= even_term n x.
Proof.
  induction n; simpl; [lra|]. apply Rmult_le_pos; [nra|]. left. apply Rinv_0_lt_compat.
  change (0 < INR (2 * S n - 1)). apply lt_0_INR. lia.
Qed.

Lemma odd_nonneg n x : 0 <= x -> 0 <= odd_term n x.
Proof.
  intros. rewrite odd_even. apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat, lt_0_INR; lia].
  apply Rmult_le_pos; auto using even_nonneg.
Qed.

Lemma odd_0 n : odd_term n 0 = 0 /\ odd_sum n 0 = 0.
Proof.
  induction n; [simpl; lra|]. destruct IHn as [H1 H2]. split.
  - rewrite odd_even. unfold Rdiv. ring.
  - cbn [odd_sum]. lra.
Qed.

(** Half of the law, up to x, is its density times a series. *)
Lemma Phi_series n x : 0 <= x -> 2 * (x * x) <= INR (2 * n + 1) ->
  phi x * odd_sum n x <= Phi x - 1 / 2 <= phi x * (odd_sum n x + 2 * odd_term n x).
Proof.
  intros Hx Hn. assert (Hd : forall t, is_derive (fun t => Phi t - 1 / 2) t (phi t)).
  { intros t. eapply derive_eq; [apply (is_derive_minus (V := R_NormedModule) Phi (fun _ => 1 / 2)); [apply Phi_derive | apply (is_derive_const (V := R_NormedModule))]|].
    unfold minus, plus, opp, zero; simpl. ring. }
  destruct (odd_0 n) as [HT0 HS0]. split.
  - assert (H : (Phi 0 - 1 / 2) - phi 0 * odd_sum n 0 <= (Phi x - 1 / 2) - phi x * odd_sum n x).
    { apply (grows (fun t => (Phi t - 1 / 2) - phi t * odd_sum n t)
                   (fun t => phi t - (- t * phi t * odd_sum n t + phi t * (1 + t * odd_sum n t - even_term n t)))); auto.
      - intros t Ht. apply (is_derive_minus (V := R_NormedModule) (fun t => Phi t - 1 / 2)); [apply Hd|].
        apply (is_derive_mult phi (odd_sum n)); [apply phi_derive | apply odd_sum_derive | intros; apply Rmult_comm].
      - intros t Ht. pose proof (phi_pos t). pose proof (even_nonneg n t). nra. }
    rewrite Phi_0, HS0 in H. lra.
  - assert (H : phi 0 * (odd_sum n 0 + 2 * odd_term n 0) - (Phi 0 - 1 / 2) <= phi x * (odd_sum n x + 2 * odd_term n x) - (Phi x - 1 / 2)).
    { apply (grows (fun t => phi t * (odd_sum n t + 2 * odd_term n t) - (Phi t - 1 / 2))
                   (fun t => (- t * phi t * (odd_sum n t + 2 * odd_term n t) + phi t * ((1 + t * odd_sum n t - even_term n t) + 2 * even_term n t)) - phi t)); auto.
      - intros t Ht. apply (is_derive_minus (V := R_NormedModule) (fun t => phi t * (odd_sum n t + 2 * odd_term n t))); [|apply Hd].
        apply (is_derive_mult phi (fun t => odd_sum n t + 2 * odd_term n t)); [apply phi_derive | | intros; apply Rmult_comm].
        apply (is_derive_plus (V := R_NormedModule)); [apply odd_sum_derive|].
        apply (is_derive_scal (odd_term n)). apply odd_derive.
      - intros t Ht. pose proof (phi_pos t). pose proof (even_nonneg n t). rewrite odd_even.
        assert (HI : 0 < INR (2 * n + 1)) by (apply lt_0_INR; lia).
        assert (t * t <= x * x) by nra.
        replace (- t * phi t * (odd_sum n t + 2 * (t * even_term n t / INR (2 * n + 1))) + phi t * (1 + t * odd_sum n t - even_term n t + 2 * even_term n t) - phi t)
          with (phi t * even_term n t * (1 - 2 * (t * t) / INR (2 * n + 1))) by (field; lra).
        apply Rmult_le_pos; [nra|]. assert (2 * (t * t) / INR (2 * n + 1) <= 1); [|lra].
        apply Rmult_le_reg_r with (INR (2 * n + 1)); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    rewrite Phi_0, HS0, HT0 in H. lra.
Qed.

Section Normal.
Variable w : positive.
Let one : Z := (2 ^ Zpos w)%Z.

(** The sum and twice the next term of the series at x = y units; [lo], [hi] enclose the term of order j. *)
Fixpoint odd_series (fuel : nat) (y j lo hi slo shi : Z) : option (Z * Z) :=
  match fuel with
  | O => None
  | S less =>
    if ((hi <=? 1) && (2 * (y * y) <=? (2 * j + 1) * (one * one)))%Z then Some (slo, shi + 2 * hi)%Z
    else odd_series less y (j + 1) (lo * (y * y) / (one * one * (2 * j + 3))) (up_div (hi * (y * y)) (one * one * (2 * j + 3)))
           (slo + lo) (shi + hi)
  end.

Lemma odd_series_inside fuel : forall y n lo hi slo shi r, (0 <= y)%Z ->
  let x := IZR y / unit_of w in
  IZR lo <= odd_term n x * unit_of w <= IZR hi -> (0 <= lo)%Z ->
  IZR slo <= odd_sum n x * unit_of w <= IZR shi ->
  odd_series fuel y (Z.of_nat n) lo hi slo shi = Some r ->
  exists m, 2 * (x * x) <= INR (2 * m + 1) /\
    IZR (fst r) <= odd_sum m x * unit_of w /\ (odd_sum m x + 2 * odd_term m x) * unit_of w <= IZR (snd r).
Proof.
  induction fuel; intros y n lo hi slo shi r Hy x Hlh Hlo Hs H; cbn [odd_series] in H; [discriminate|].
  pose proof (unit_pos w) as Hu. assert (Hone : (0 < one)%Z) by (unfold one; apply Z.pow_pos_nonneg; lia).
  destruct ((hi <=? 1) && (2 * (y * y) <=? (2 * Z.of_nat n + 1) * (one * one)))%Z eqn:E.
  - assert (Hr : r = (slo, shi + 2 * hi)%Z) by congruence. subst r. clear H. apply andb_prop in E. destruct E as [_ E]. apply Z.leb_le, IZR_le in E. exists n. unfold fst, snd.
    rewrite plus_IZR, (mult_IZR 2 hi). repeat split; try lra.
    rewrite !mult_IZR in E. change (IZR one) with (unit_of w) in E.
    rewrite plus_IZR, mult_IZR, <- INR_IZR_INZ in E.
    replace (INR (2 * n + 1)) with (2 * INR n + 1) by (rewrite plus_INR, mult_INR; simpl; ring).
    assert (Ex : IZR y = x * unit_of w) by (unfold x; field; lra). rewrite Ex in E.
    apply Rmult_le_reg_r with (unit_of w * unit_of w); nra.
  - replace (Z.of_nat n + 1)%Z with (Z.of_nat (S n)) in H by lia. eapply IHfuel in H; eauto.
    + fold x. assert (Hd : (0 < one * one * (2 * Z.of_nat n + 3))%Z) by nia.
      pose proof (div_le (lo * (y * y)) _ Hd) as L. pose proof (up_div_le (hi * (y * y)) _ Hd) as U.
      rewrite !mult_IZR in L, U. change (IZR one) with (unit_of w) in *.
      replace (IZR (2 * Z.of_nat n + 3)) with (INR (2 * S n + 1)) in * by (rewrite INR_IZR_INZ; f_equal; lia).
      assert (HI : 0 < INR (2 * S n + 1)) by (apply lt_0_INR; lia).
      assert (Ex : IZR y = x * unit_of w) by (unfold x; field; lra). rewrite Ex in L, U.
      cbn [odd_term]. set (t := odd_term n x) in *. apply IZR_le in Hlo.
      assert (HP : 0 < unit_of w * unit_of w * INR (2 * S n + 1)) by (apply Rmult_lt_0_compat; nra).
      assert (Hxx : 0 <= x * unit_of w * (x * unit_of w)) by nra.
      split; apply Rmult_le_reg_r with (unit_of w * unit_of w * INR (2 * S n + 1)); auto;
        replace (t * (x * x) / INR (2 * S n + 1) * unit_of w * (unit_of w * unit_of w * INR (2 * S n + 1)))
          with (t * unit_of w * (x * unit_of w * (x * unit_of w))) by (field; lra); nra.
    + apply Z.div_pos; nia.
    + fold x. cbn [odd_sum]. rewrite !plus_IZR. nra.
Qed.
End Normal.

Section Upper.
Variable p : positive.
Let one : Z := (2 ^ Zpos p)%Z.

(** 1 - Φ(x) at x = z units, z >= 0. *)
Definition upper_at (z : Z) : ends :=
  let square := (z * z / one)%Z in                                    (* of x, in units *)
  if (2 * Zpos p * one <? square)%Z then (Some 0%Z, snd (exp_at p (- (square / 2))))
  else
    let w := (p + Z.to_pos (2 * (square / one) + 16))%positive in
    let y := (z * 2 ^ (Zpos w - Zpos p))%Z in
    match odd_series w (4 * Pos.to_nat w) y 0 y y 0 0 with
    | None => (Some 0%Z, Some one)
    | Some (low, high) =>
      let density := div w (exponential w (neg (mul w (Some (y / 2), Some (up_div y 2))%Z (Some y, Some y)))) (root w (mul w (of_Q w 2) (pi w))) in
      let half := sub (of_Q w (1 # 2)) (mul w density (Some low, Some high)) in
      match half with
      | (Some a, Some b) => let r := rescaled p w (a, b) in (Some (Z.max 0 (fst r)), Some (snd r))
      | _ => (Some 0%Z, Some one)
      end
    end.

Lemma upper_at_inside z : (0 <= z)%Z -> inside p (upper_at z) (1 - Phi (IZR z / unit_of p)).
Proof.
  intros Hz. set (x := IZR z / unit_of p). pose proof (unit_pos p) as Hu.
  assert (Hone : (0 < one)%Z) by (unfold one; apply Z.pow_pos_nonneg; lia).
  assert (Hx : 0 <= x) by (unfold x; apply Rdiv_le_0_compat; auto; apply IZR_le; auto).
  assert (Ex : IZR z = x * unit_of p) by (unfold x; field; lra).
  destruct (Phi_range x) as [H0 H1]. destruct (Phi_upper x Hx) as [_ HU].
  assert (Hin : inside p (Some 0%Z, Some one) (1 - Phi x)).
  { split; unfold above, below; cbn [fst snd]; [nra|]. change (IZR one) with (unit_of p). nra. }
  unfold upper_at. fold one. destruct (2 * Z.pos p * one <? z * z / one)%Z.
  { split; unfold above, below; cbn [fst snd]; [nra|].
    destruct (exp_at_inside p (- (z * z / one / 2))) as [_ B]. unfold below in B.
    destruct (snd (exp_at p (- (z * z / one / 2)))) as [b|]; auto.
    apply Rle_trans with (2 := B). apply Rmult_le_compat_r; [lra|]. apply Rle_trans with (1 := HU). unfold hill.
    apply exp_mono. rewrite opp_IZR.
    assert (IZR (z * z / one / 2) <= x * x / 2 * unit_of p).
    { pose proof (div_le (z * z) one Hone) as D1. pose proof (div_le (z * z / one) 2 ltac:(lia)) as D2.
      rewrite mult_IZR, Ex in D1. change (IZR one) with (unit_of p) in D1.
      assert (IZR (z * z / one) <= x * x * unit_of p) by (apply Rmult_le_reg_r with (unit_of p); nra). lra. }
    apply Rmult_le_reg_r with (unit_of p); auto. unfold Rdiv at 2. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  set (w := (p + Z.to_pos (2 * (z * z / one / one) + 16))%positive). set (y := (z * 2 ^ (Zpos w - Zpos p))%Z).
  assert (Hw : (p <= w)%positive) by lia. pose proof (unit_pos w) as Huw.
  assert (Hpow : (0 < 2 ^ (Zpos w - Zpos p))%Z) by (apply Z.pow_pos_nonneg; lia).
  assert (Hy : (0 <= y)%Z) by (unfold y; nia).
  assert (Exy : IZR y / unit_of w = x).
  { unfold y, x. rewrite mult_IZR, (unit_split p w Hw). apply IZR_lt in Hpow. field. split; lra. }
  assert (Ey : IZR y = x * unit_of w) by (rewrite <- Exy; field; lra).
  destruct (odd_series w (4 * Pos.to_nat w) y 0 y y 0 0) as [[low high]|] eqn:E; [|exact Hin].
  pose proof (odd_series_inside w (4 * Pos.to_nat w) y 0 y y 0 0 (low, high) Hy) as S. cbv zeta in S. rewrite Exy in S.
  destruct S as [m [Hm [Hlow Hhigh]]]; auto; [simpl; lra | simpl; lra|]. cbn [fst snd] in *.
  destruct (Phi_series m x Hx Hm) as [B1 B2].
  set (density := div w _ _).
  assert (Hden : inside w density (phi x)).
  { unfold density, phi. apply div_inside.
    - apply exponential_inside. replace (- (x * x) / 2) with (- (x / 2 * x)) by field. apply neg_inside, mul_inside.
      + split; unfold above, below; cbn [fst snd].
        * pose proof (div_le y 2 ltac:(lia)). lra.
        * pose proof (up_div_le y 2 ltac:(lia)). lra.
      + split; unfold above, below; cbn [fst snd]; lra.
    - apply root_inside; [pose proof PI_RGT_0; lra|]. apply mul_inside; [|apply pi_inside].
      replace 2 with (Q2R 2) by (unfold Q2R; simpl; field). apply of_Q_inside. }
  assert (Hprod : exists s, phi x * s = Phi x - 1 / 2 /\ inside w (Some low, Some high) s).
  { pose proof (phi_pos x) as Hp. exists ((Phi x - 1 / 2) / phi x). split; [field; lra|].
    assert (odd_sum m x <= (Phi x - 1 / 2) / phi x <= odd_sum m x + 2 * odd_term m x).
    { split; apply Rmult_le_reg_r with (phi x); auto; unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra; lra. }
    split; unfold above, below; cbn [fst snd]; nra. }
  destruct Hprod as [s [Es Hs]].
  assert (Hhalf : inside w (sub (of_Q w (1 # 2)) (mul w density (Some low, Some high))) (1 - Phi x)).
  { replace (1 - Phi x) with (Q2R (1 # 2) - phi x * s) by (rewrite Es; unfold Q2R; simpl; field).
    apply sub_inside; [apply of_Q_inside | apply mul_inside; auto]. }
  destruct (sub (of_Q w (1 # 2)) (mul w density (Some low, Some high))) as [[a|] [b|]]; try exact Hin.
  destruct Hhalf as [Ha Hb]. unfold above, below in Ha, Hb. cbn [fst snd] in Ha, Hb.
  pose proof (rescaled_inside p w (a, b) (1 - Phi x) Hw (conj Ha Hb)) as [L U].
  split; unfold above, below; cbn [fst snd]; auto.
  destruct (Z.max_spec 0 (fst (rescaled p w (a, b)))) as [[_ ->]|[_ ->]]; auto. nra.
Qed.

Definition upper_of (z : Z) : ends :=
  if (0 <=? z)%Z then upper_at z else sub (Some one, Some one) (upper_at (- z)).

Lemma upper_of_inside z : inside p (upper_of z) (1 - Phi (IZR z / unit_of p)).
Proof.
  unfold upper_of. pose proof (unit_pos p) as Hu. destruct (Z.leb_spec 0 z); [apply upper_at_inside; auto|].
  pose proof (upper_at_inside (- z) ltac:(lia)) as H1. rewrite opp_IZR in H1.
  replace (- IZR z / unit_of p) with (- (IZR z / unit_of p)) in H1 by (field; lra). rewrite Phi_opp in H1.
  replace (1 - Phi (IZR z / unit_of p)) with (1 - (1 - (1 - Phi (IZR z / unit_of p)))) by ring.
  apply sub_inside; auto. split; unfold above, below; cbn [fst snd]; change (IZR one) with (unit_of p); lra.
Qed.

(** 1 - Φ falls, so its upper end is at the lower end of x. *)
Definition upper_tail (a : ends) : ends :=
  at_least_0 (wider (match snd a with Some z => fst (upper_of z) | None => Some 0%Z end,
                     match fst a with Some z => snd (upper_of z) | None => Some one end)).

Lemma upper_tail_inside a x : inside p a x -> inside p (upper_tail a) (1 - Phi x).
Proof.
  intros [Ha Hb]. pose proof (unit_pos p) as Hu. destruct (Phi_range x).
  apply at_least_0_inside; [lra|]. apply wider_inside.
  unfold inside, above, below in *. destruct a as [a1 a2]; cbn [fst snd] in *. split.
  - destruct a2 as [z|]; cbn [fst snd].
    + destruct (upper_of_inside z) as [L _]. unfold above in L. destruct (fst (upper_of z)) as [y|]; auto.
      apply Rle_trans with (1 := L). apply Rmult_le_compat_r; [lra|].
      assert (Phi x <= Phi (IZR z / unit_of p)); [|lra]. apply Phi_le.
      apply Rmult_le_reg_r with (unit_of p); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
    + nra.
  - destruct a1 as [z|]; cbn [fst snd].
    + destruct (upper_of_inside z) as [_ U]. unfold below in U. destruct (snd (upper_of z)) as [y|]; auto.
      apply Rle_trans with (2 := U). apply Rmult_le_compat_r; [lra|].
      assert (Phi (IZR z / unit_of p) <= Phi x); [|lra]. apply Phi_le.
      apply Rmult_le_reg_r with (unit_of p); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
    + change (IZR one) with (unit_of p). nra.
Qed.
End Upper.
