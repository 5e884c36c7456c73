(** Costs that add up need no lattice: μ² of Gaussian releases, where the curve of the sum is exact, and ε of pure ones. *)
Require Import Reals QArith Qreals ZArith Lra Lia List Bool.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Definitions.
From DP.core Require Import Chance Costs Numbers Satisfies.
From DP.decide Require Import Decide.
From DP.conversions Require Import Infer Measures Points Approximate.
From DP.account Require Import Kinds Plan.
From DP.account.kinds Require Import Laplace.
Import ListNotations.

(** What all releases cost together, if each has a cost. *)
Fixpoint sum_of (cost_of : event -> option Q) (events : list event) : option Q :=
  match events with
  | [] => Some 0%Q
  | e :: rest =>
    match cost_of e, sum_of cost_of rest with
    | Some q, Some all => Some (Qred ((Z.of_N (limit e) # 1) * q + all))
    | _, _ => None
    end
  end.

Definition square_of (e : event) : option Q :=
  match what e with NormalNoise mu_squared => Some mu_squared | _ => None end.

Definition gaussian_at_most (events : list event) (epsilon delta : Q) : bool :=
  match sum_of square_of events with
  | Some m => Qle_bool 0 m && Qle_bool 0 epsilon && Qle_bool 0 delta &&
              (Qeq_bool m 0 || at_most (gdp_delta m epsilon) delta)
  | None => false
  end.

Definition pure_of (e : event) : option Q :=
  match what e with Response epsilon | LaplaceNoise epsilon => Some epsilon | _ => None end.

Definition pure_at_most (events : list event) (epsilon delta : Q) : bool :=
  match sum_of pure_of events with Some all => Qle_bool all epsilon && Qle_bool 0 delta | None => false end.

Open Scope R_scope.

Lemma gaussian_approximate {message} m epsilon delta asks (k l : history message -> law message) :
  0 <= Q2R m -> 0 <= Q2R epsilon -> 0 <= Q2R delta -> (Qeq_bool m 0 || at_most (gdp_delta m epsilon) delta)%bool = true ->
  adds_up gdp_cost (Q2R m) asks k l -> approximate (Q2R epsilon) (Q2R delta) asks k l.
Proof.
  intros Hm He Hd HC [c [C1 [C2 C3]]].
  apply (near_approximate (Q2R m) 0 _ _ _ _ _ k l); auto; try lra.
  - rewrite Rmult_0_l, Rplus_0_r. destruct (Req_EM_T (Q2R m) 0) as [H|H]; [lra|].
    apply orb_prop in HC. destruct HC as [HC|HC]; [apply eq_R in HC; rewrite zero_R in HC; contradiction|].
    apply at_most_sound in HC. rewrite gdp_delta_R in HC. auto.
  - exists c, (fun _ => 0). repeat split; auto; try lra.
    + intros h Hh. right. split; [auto|]. split; apply near_cost_refl.
    + rewrite spent_zero. lra.
Qed.

Lemma pure_sum_approximate {message} b epsilon delta asks (k l : history message -> law message) :
  b <= epsilon -> 0 <= delta -> adds_up pure_cost b asks k l -> approximate epsilon delta asks k l.
Proof.
  intros Hb Hd A h p q _ HC. destruct (Chance.chance_range _ _ _ _ _ _ HC) as [_ Hq].
  pose proof (adds_up_pure b asks k l h p q A HC) as H1. pose proof (exp_le _ _ Hb). nra.
Qed.

Lemma square_met e q w {A} (P Q : law A) : square_of e = Some q -> meets (what e) w P Q -> gdp_cost (Q2R q) P Q.
Proof. unfold square_of. destruct (what e); try discriminate. intros [= ->] H. exact H. Qed.

Lemma laplace_ends m : 0 <= m -> laplace_stick m (exp m) = 0.
Proof.
  intros Hm. unfold laplace_stick. rewrite <- exp_plus, Rplus_opp_r, exp_0, sqrt_1.
  assert (1 <= exp m) by (rewrite <- exp_0; destruct Hm as [Hm|<-]; [left; apply exp_increasing; auto|lra]).
  unfold Rmin. repeat destruct Rle_dec; lra.
Qed.

Lemma pure_met e q w {A} (P Q : law A) : well_formed (what e) = true -> pure_of e = Some q -> meets (what e) w P Q ->
  pure_cost (Q2R q) P Q.
Proof.
  unfold pure_of. destruct (what e) as [| |moved| | | | |]; cbn [well_formed]; try discriminate; intros Hw [= ->] H; [apply H|].
  intros f Hf. assert (Hm : 0 <= Q2R q).
  { apply Z.leb_le in Hw. unfold Q2R. apply Rmult_le_pos; [apply IZR_le; auto|]. left. apply Rinv_0_lt_compat, IZR_lt. lia. }
  pose proof (laplace_pair_stick _ P Q f (exp (Q2R q)) H Hf (Rlt_le _ _ (exp_pos _))) as L.
  rewrite laplace_ends in L by auto. lra.
Qed.

Lemma square_nonneg e q : well_formed (what e) = true -> square_of e = Some q -> 0 <= Q2R q.
Proof.
  unfold square_of. destruct (what e); cbn [well_formed]; try discriminate. intros Hw [= ->].
  unfold positive_rational in Hw. apply Z.ltb_lt in Hw. unfold Q2R.
  apply Rmult_le_pos; [apply IZR_le; lia|]. left. apply Rinv_0_lt_compat, IZR_lt. lia.
Qed.

Lemma pure_nonneg e q : well_formed (what e) = true -> pure_of e = Some q -> 0 <= Q2R q.
Proof.
  unfold pure_of. destruct (what e); cbn [well_formed]; try discriminate; intros Hw [= ->]; apply Z.leb_le in Hw; unfold Q2R;
    (apply Rmult_le_pos; [apply IZR_le; lia|]; left; apply Rinv_0_lt_compat, IZR_lt; lia).
Qed.
