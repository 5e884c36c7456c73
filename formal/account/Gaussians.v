(** Releases that are all Gaussian need no lattice: their μ² add up, and the curve of the sum is exact. *)
Require Import Reals QArith Qreals ZArith Lra Lia List Bool.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Definitions.
From DP.core Require Import Chance Costs Numbers Satisfies.
From DP.decide Require Import Decide.
From DP.conversions Require Import Infer Measures Points Approximate.
From DP.account Require Import Kinds Plan.
Import ListNotations.

Definition square_of (e : event) : option Q :=
  match what e with NormalNoise mu_squared => Some mu_squared | _ => None end.

(** Σμ² of all releases, if every one is Gaussian. *)
Fixpoint squares (events : list event) : option Q :=
  match events with
  | [] => Some 0%Q
  | e :: rest =>
    match square_of e, squares rest with
    | Some m, Some all => Some (Qred ((Z.of_N (limit e) # 1) * m + all))
    | _, _ => None
    end
  end.

Definition gaussian_at_most (events : list event) (epsilon delta : Q) : bool :=
  match squares events with
  | Some m => Qle_bool 0 m && Qle_bool 0 epsilon && Qle_bool 0 delta &&
              (Qeq_bool m 0 || at_most (gdp_delta m epsilon) delta)
  | None => false
  end.

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
