(** What is decided of one kind at given factors c, in whole units of 2^-p: of pure and approximate privacy, Laplace
    noise and μ-GDP.  Factors are not negative; every value is one that the hockey-stick at c does not exceed. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Definitions Meaning.
From DP.decide Require Import Fixed Functions Tail.
From DP.core Require Import Costs.
From DP.account Require Import Kinds.
From DP.account.kinds Require Import Lists Pure Laplace Normal.
Import ListNotations.
Open Scope R_scope.

Section Values.
Variable p : positive.
Let one : Z := (2 ^ Zpos p)%Z.
Local Notation u := (unit_of p).

Lemma one_u : IZR one = u.
Proof. reflexivity. Qed.

(** z bounds the hockey-stick at c of all that P and Q say. *)
Definition bounds {A} (P Q : law A) (c z : Z) : Prop := forall f, test f -> P f * u <= IZR z + IZR c * Q f.

Lemma bounds_one {A} (P Q : law A) c : (0 <= c)%Z -> bounds P Q c one.
Proof.
  intros Hc f Hf. apply IZR_le in Hc. pose proof (E_test P f Hf). pose proof (E_test Q f Hf). rewrite one_u.
  pose proof (unit_pos p). nra.
Qed.

Lemma bounds_scaled {A} (P Q : law A) c z d : (forall f, test f -> P f <= d + IZR c / u * Q f) -> d * u <= IZR z ->
  bounds P Q c z.
Proof.
  intros H Hd f Hf. pose proof (unit_pos p). specialize (H f Hf). apply Rmult_le_compat_r with (r := u) in H; [|lra].
  replace ((d + IZR c / u * Q f) * u) with (d * u + IZR c * Q f) in H by (field; lra). lra.
Qed.

Lemma factor c : (0 <= c)%Z -> 0 <= IZR c / u.
Proof.
  intros Hc. apply IZR_le in Hc. pose proof (unit_pos p). apply Rmult_le_pos; auto. left. apply Rinv_0_lt_compat. auto.
Qed.

(* ---------------------------------------------------------------- pure and approximate privacy *)

Definition response_value (e c : Z) : Z := Z.max 0 (Z.max (one - c) (up_div ((e - c) * one) (one + e))).

Definition failing_values (epsilon delta : Q) (cs : list Z) : list Z :=
  match snd (exponential p (of_Q p epsilon)) with
  | Some e =>
    let dn := Qnum delta in let dd := Zpos (Qden delta) in let fails := (dn * one)%Z in let rest := (dd - dn)%Z in
    mapped (fun c => up_div (fails + rest * response_value e c) dd) cs
  | None => mapped (fun _ => one) cs
  end.

Lemma response_right e c : (0 <= e)%Z -> (0 <= c)%Z ->
  response (IZR e / u) (IZR c / u) * u <= IZR (response_value e c).
Proof.
  intros He Hc. pose proof (unit_pos p) as Hu. pose proof (one_pos p) as Ho. fold one in Ho.
  assert (M : response (IZR e / u) (IZR c / u) <= IZR (response_value e c) / u).
  2: { apply Rmult_le_compat_r with (r := u) in M; [|lra].
       replace (IZR (response_value e c) / u * u) with (IZR (response_value e c)) in M by (field; lra). auto. }
  assert (G : forall z, (z <= response_value e c)%Z -> IZR z / u <= IZR (response_value e c) / u).
  { intros z Hz. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; auto | apply IZR_le; auto]. }
  unfold response. repeat apply Rmax_lub.
  - replace 0 with (IZR 0 / u) by (field; lra). apply G. unfold response_value. lia.
  - replace (1 - IZR c / u) with (IZR (one - c) / u) by (rewrite minus_IZR, one_u; field; lra).
    apply G. unfold response_value. lia.
  - apply Rle_trans with (IZR (up_div ((e - c) * one) (one + e)) / u); [|apply G; unfold response_value; lia].
    pose proof (up_div_le ((e - c) * one) (one + e) ltac:(lia)) as D. apply IZR_le in He.
    rewrite mult_IZR, minus_IZR, plus_IZR, one_u in D.
    replace ((IZR e / u - IZR c / u) / (1 + IZR e / u)) with ((IZR e - IZR c) / (u + IZR e)) by (field; lra).
    apply Rmult_le_reg_r with ((u + IZR e) * u); [apply Rmult_lt_0_compat; lra|].
    replace ((IZR e - IZR c) / (u + IZR e) * ((u + IZR e) * u)) with ((IZR e - IZR c) * u) by (field; lra).
    replace (IZR (up_div ((e - c) * one) (one + e)) / u * ((u + IZR e) * u))
      with (IZR (up_div ((e - c) * one) (one + e)) * (u + IZR e)) by (field; lra). auto.
Qed.

Theorem failing_values_right epsilon delta cs {A} (P Q : law A) : (0 <= Q2R epsilon) -> (0 <= Q2R delta <= 1) ->
  failing_cost (Q2R epsilon) (Q2R delta) P Q -> failing_cost (Q2R epsilon) (Q2R delta) Q P ->
  Forall (fun c => 0 <= c)%Z cs -> Forall2 (bounds P Q) cs (failing_values epsilon delta cs).
Proof.
  intros He Hd HP HQ Hcs. unfold failing_values. pose proof (unit_pos p) as Hu.
  destruct (exponential_inside p _ _ (of_Q_inside p epsilon)) as [_ B]. unfold below in B.
  destruct (snd (exponential p (of_Q p epsilon))) as [e|]; rewrite mapped_map;
    induction Hcs as [|c cs Hc Hcs IH]; cbn [map]; constructor; auto using bounds_one.
  assert (HE : 1 <= exp (Q2R epsilon)) by (rewrite <- exp_0; apply exp_le; auto).
  assert (E0 : (0 <= e)%Z) by (apply le_IZR; nra).
  assert (EU : 0 <= exp (Q2R epsilon) <= IZR e / u).
  { split; [lra|]. apply Rmult_le_reg_r with u; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
  eapply bounds_scaled; [intros f Hf; apply (failing_stick _ _ P Q He Hd HP HQ f (IZR c / u) Hf (factor c Hc))|].
  pose proof (response_up _ _ (IZR c / u) EU (factor c Hc)) as R1. pose proof (response_right e c E0 Hc) as R2.
  set (r := response (exp (Q2R epsilon)) (IZR c / u)) in *. set (v := response_value e c) in *.
  assert (R3 : r * u <= IZR v) by (apply Rle_trans with (2 := R2); apply Rmult_le_compat_r; lra).
  pose proof (up_div_le (Qnum delta * one + (Zpos (Qden delta) - Qnum delta) * v) (Zpos (Qden delta)) ltac:(lia)) as D.
  assert (Hdd : 0 < IZR (Zpos (Qden delta))) by (apply IZR_lt; lia).
  rewrite plus_IZR, !mult_IZR, minus_IZR, one_u in D.
  assert (Ed : Q2R delta * IZR (Zpos (Qden delta)) = IZR (Qnum delta)) by (unfold Q2R; field; lra).
  apply Rmult_le_reg_r with (IZR (Zpos (Qden delta))); auto. apply Rle_trans with (2 := D).
  replace ((Q2R delta + (1 - Q2R delta) * r) * u * IZR (Zpos (Qden delta)))
    with (Q2R delta * IZR (Zpos (Qden delta)) * u
      + (IZR (Zpos (Qden delta)) - Q2R delta * IZR (Zpos (Qden delta))) * (r * u)) by ring.
  rewrite Ed. apply Rplus_le_compat_l, Rmult_le_compat_l; auto. rewrite <- Ed. nra.
Qed.

(* ---------------------------------------------------------------- Laplace noise *)

Definition laplace_values (moved : Q) (cs : list Z) : list Z :=
  match fst (exponential p (neg (of_Q p moved))) with
  | Some e => mapped (fun c => one - Z.min one (Z.min c (Z.sqrt (c * e))))%Z cs
  | None => mapped (fun _ => one) cs
  end.

Theorem laplace_values_right moved cs {A} (P Q : law A) : laplace_pair (Q2R moved) P Q ->
  Forall (fun c => 0 <= c)%Z cs -> Forall2 (bounds P Q) cs (laplace_values moved cs).
Proof.
  intros H Hcs. unfold laplace_values. pose proof (unit_pos p) as Hu.
  destruct (exponential_inside p _ _ (neg_inside p _ _ (of_Q_inside p moved))) as [B _]. unfold above in B.
  destruct (fst (exponential p (neg (of_Q p moved)))) as [e|]; rewrite mapped_map;
    induction Hcs as [|c cs Hc Hcs IH]; cbn [map]; constructor; auto using bounds_one.
  eapply bounds_scaled; [intros f Hf; apply (laplace_pair_stick _ P Q f (IZR c / u) H Hf (factor c Hc))|].
  unfold laplace_stick. rewrite Rmult_minus_distr_r, Rmult_1_l, minus_IZR, one_u.
  assert (G : IZR (Z.min one (Z.min c (Z.sqrt (c * e)))) <= Rmin 1 (Rmin (IZR c / u) (sqrt (IZR c / u * exp (- Q2R moved)))) * u);
    [|lra].
  set (z := Z.min one (Z.min c (Z.sqrt (c * e)))).
  assert (Z1 : IZR z <= u) by (rewrite <- one_u; apply IZR_le; unfold z; lia).
  assert (Z2 : IZR z <= IZR c) by (apply IZR_le; unfold z; lia).
  assert (Z3 : IZR z <= sqrt (IZR c / u * exp (- Q2R moved)) * u).
  { apply Rle_trans with (IZR (Z.sqrt (c * e))); [apply IZR_le; unfold z; lia|].
    pose proof (sqrt_pos (IZR c / u * exp (- Q2R moved))) as S0. destruct (Z_lt_le_dec (c * e) 0) as [N|N].
    - rewrite Z.sqrt_neg by auto. nra.
    - apply Rsqr_incr_0_var; [|nra]. destruct (Z.sqrt_spec _ N) as [S _]. apply IZR_le in S. rewrite !mult_IZR in S.
      unfold Rsqr. apply Rle_trans with (1 := S).
      replace (sqrt (IZR c / u * exp (- Q2R moved)) * u * (sqrt (IZR c / u * exp (- Q2R moved)) * u))
        with (sqrt (IZR c / u * exp (- Q2R moved)) * sqrt (IZR c / u * exp (- Q2R moved)) * u * u) by ring.
      rewrite sqrt_sqrt by (apply Rmult_le_pos; [apply factor; auto | left; apply exp_pos]).
      replace (IZR c / u * exp (- Q2R moved) * u * u) with (IZR c * (exp (- Q2R moved) * u)) by (field; lra).
      apply Rmult_le_compat_l; auto. apply IZR_le; auto. }
  unfold Rmin. repeat destruct Rle_dec; try lra. replace (IZR c / u * u) with (IZR c) by (field; lra). auto.
Qed.

(* ---------------------------------------------------------------- μ-GDP *)

(** The two ends of the chance that a normal number is above what is enclosed. *)
Definition tail_above (a : ends) : option Z := match fst a with Some z => snd (upper_of p z) | None => Some one end.
Definition tail_below (a : ends) : option Z := match snd a with Some z => fst (upper_of p z) | None => Some 0%Z end.

Lemma tail_above_right a x z : inside p a x -> tail_above a = Some z -> (1 - Phi x) * u <= IZR z.
Proof.
  intros [Ha _] Hz. pose proof (unit_pos p) as Hu. pose proof (Phi_range x). unfold tail_above, above in *.
  destruct (fst a) as [y|].
  - destruct (upper_of_inside p y) as [_ B]. unfold below in B. rewrite Hz in B. apply Rle_trans with (2 := B).
    apply Rmult_le_compat_r; [lra|]. assert (Phi (IZR y / u) <= Phi x); [|lra]. apply Phi_le.
    apply Rmult_le_reg_r with u; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
  - injection Hz as <-. rewrite one_u. nra.
Qed.

Lemma tail_below_right a x z : inside p a x -> tail_below a = Some z -> IZR z <= (1 - Phi x) * u.
Proof.
  intros [_ Ha] Hz. pose proof (unit_pos p) as Hu. pose proof (Phi_range x). unfold tail_below, below in *.
  destruct (snd a) as [y|].
  - destruct (upper_of_inside p y) as [B _]. unfold above in B. rewrite Hz in B. apply Rle_trans with (1 := B).
    apply Rmult_le_compat_r; [lra|]. assert (Phi x <= Phi (IZR y / u)); [|lra]. apply Phi_le.
    apply Rmult_le_reg_r with u; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
  - injection Hz as <-. nra.
Qed.

Definition normal_value (mu half : ends) (c : Z) : Z :=
  if (c <=? 0)%Z then one
  else
    let x := div p (logarithm p (Some c, Some c)) mu in
    match tail_above (sub x half), tail_below (add x half) with
    | Some a, Some b => Z.min one (a - c * b / one)
    | _, _ => one
    end.

Definition normal_values (mu_squared : Q) (cs : list Z) : list Z :=
  let mu := root p (of_Q p mu_squared) in
  let half := div p mu (Some (2 * one), Some (2 * one))%Z in
  mapped (normal_value mu half) cs.

Lemma normal_value_right m mu half c {A} (P Q : law A) : 0 < m -> inside p mu (sqrt m) -> inside p half (sqrt m / 2) ->
  gdp_cost m P Q -> (0 <= c)%Z -> bounds P Q c (normal_value mu half c).
Proof.
  intros Hm Hmu Hhalf H Hc. unfold normal_value. pose proof (unit_pos p) as Hu. pose proof (one_pos p) as Ho. fold one in Ho.
  destruct (Z.leb_spec c 0) as [C|C]; [apply bounds_one; auto|].
  assert (Hx : inside p (div p (logarithm p (Some c, Some c)) mu) (ln (IZR c / u) / sqrt m)).
  { apply div_inside; auto. apply logarithm_inside. replace (IZR c) with (IZR c / u * u) at 1 2 by (field; lra).
    split; unfold above, below; cbn [fst snd]; replace (IZR c / u * u) with (IZR c) by (field; lra); lra. }
  set (x := div p _ mu) in *.
  destruct (tail_above (sub x half)) as [a|] eqn:Ea; [|apply bounds_one; auto].
  destruct (tail_below (add x half)) as [b|] eqn:Eb; [|apply bounds_one; auto].
  apply (tail_above_right _ _ _ (sub_inside p _ _ _ _ Hx Hhalf)) in Ea.
  apply (tail_below_right _ _ _ (add_inside p _ _ _ _ Hx Hhalf)) in Eb.
  destruct (Z.min_spec one (a - c * b / one)) as [[_ ->]|[_ ->]]; [apply bounds_one; auto|].
  assert (Hcu : 0 < IZR c / u) by (apply Rdiv_lt_0_compat; auto; apply IZR_lt; auto).
  eapply bounds_scaled; [intros f Hf; apply (gdp_stick m P Q f (IZR c / u) Hm H Hf Hcu)|].
  unfold normal_stick. rewrite minus_IZR. pose proof (div_le (c * b) one Ho) as D. rewrite mult_IZR, one_u in D.
  set (tb := 1 - Phi (ln (IZR c / u) / sqrt m + sqrt m / 2)) in *.
  assert (IZR (c * b / one) <= IZR c / u * tb * u); [|nra].
  apply Rmult_le_reg_r with u; auto. apply Rle_trans with (1 := D).
  replace (IZR c / u * tb * u * u) with (IZR c * (tb * u)) by (field; lra). apply Rmult_le_compat_l; auto. apply IZR_le. lia.
Qed.

Theorem normal_values_right mu_squared cs {A} (P Q : law A) : 0 < Q2R mu_squared -> gdp_cost (Q2R mu_squared) P Q ->
  Forall (fun c => 0 <= c)%Z cs -> Forall2 (bounds P Q) cs (normal_values mu_squared cs).
Proof.
  intros Hm H Hcs. unfold normal_values. rewrite mapped_map.
  assert (Hmu : inside p (root p (of_Q p mu_squared)) (sqrt (Q2R mu_squared))).
  { apply root_inside; [lra | apply of_Q_inside]. }
  assert (Hhalf : inside p (div p (root p (of_Q p mu_squared)) (Some (2 * one), Some (2 * one))%Z) (sqrt (Q2R mu_squared) / 2)).
  { apply div_inside; auto. split; unfold above, below; cbn [fst snd]; rewrite mult_IZR, one_u; lra. }
  induction Hcs; cbn [map]; constructor; auto. apply normal_value_right with (Q2R mu_squared); auto.
Qed.
End Values.
