(** The hypotheses of `check_account_sound` can be met together: a plan that is accepted, and a program that follows it.
    And no program that shows a record follows a plan that is accepted with δ below 1. *)
Require Import Reals QArith Qreals ZArith Lra Lia List Bool.
From DP.base Require Import Laws Sums.
From DP Require Import Facts Definitions.
From DP.account Require Import Kinds Plan Check.
Import ListNotations.

(* ---------------------------------------------------------------- a program that follows a plan *)

(** Unit 1 answers a question with randomised response; then it may be in a sample that answers once more. *)
Definition small_plan : plan :=
  Plan AddRemove [Plan.Event (Response 1) 1 (Some (1, 5)%Z); Plan.Event (Sampled (1 # 2) (Response 1)) 1 None].

Definition small_parameters : parameters :=
  let nodes := [Block 1 (-9) 19] in Chosen 30 (1 # 8) 0 [nodes; nodes] [nodes; nodes].

Lemma small_accepted : check_account small_parameters small_plan (3 # 2) (1 # 20) = true.
Proof. vm_compute. reflexivity. Qed.

Open Scope R_scope.

Definition says_yes (r : option bool) : bool := match r with Some b => b | None => false end.

Lemma two_thirds : 0 <= 2 / 3 <= 1. Proof. lra. Qed.
Lemma one_half : 0 <= 1 / 2 <= 1. Proof. lra. Qed.

Definition answer (r : option bool) : law bool := coin (2 / 3) two_thirds (says_yes r) (negb (says_yes r)).

Definition sampled_answer (r : option bool) : law bool :=
  match r with
  | Some _ => bind (coin (1 / 2) one_half true false) (fun chosen => if chosen then answer r else answer None)
  | None => answer None
  end.

Definition small_asks (h : history bool) : bool := (length h <=? 1)%nat.
Definition small_event (h : history bool) : nat := length h.
Definition small_draw (d : data bool) (h : history bool) : law bool :=
  match h with [] => answer (d 1%Z) | _ => sampled_answer (d 1%Z) end.

Lemma answer_cost r r' : pure_cost (Q2R 1) (answer r) (answer r').
Proof.
  intros f Hf. pose proof (Hf true). pose proof (Hf false). unfold answer. cbn.
  assert (E : 2 <= exp (Q2R 1)).
  { replace (Q2R 1) with 1 by (unfold Q2R; cbn; lra). pose proof (exp_ineq1 1 ltac:(lra)). lra. }
  destruct (says_yes r), (says_yes r'); cbn; nra.
Qed.

Lemma sampled_cost r : meets (Sampled (1 # 2) (Response 1)) There (sampled_answer (Some r)) (sampled_answer None) /\
                       meets (Sampled (1 # 2) (Response 1)) Back (sampled_answer None) (sampled_answer (Some r)).
Proof.
  assert (Q1 : Q2R (1 # 2) = 1 / 2) by (unfold Q2R; cbn; lra).
  split; exists unit, (point tt), (fun _ => answer (Some r)), (fun _ => answer None); (split; [split; apply answer_cost|]);
    intros f Hf; rewrite Q1; split; reflexivity.
Qed.

Theorem small_follows : follows small_asks small_draw small_event small_plan.
Proof.
  intros h Ha. unfold small_asks in Ha. apply Nat.leb_le in Ha. destruct h as [|m [|m' h]]; [| |cbn in Ha; lia].
  - exists (Plan.Event (Response 1) 1 (Some (1, 5)%Z)). split; [reflexivity|]. split; [cbn; lia|].
    intros w u d d' Hd. destruct (reads _ u) eqn:Hr.
    + cbn. split; apply answer_cost.
    + destruct Hd as [Hat _]. intros f Hf. cbn [small_draw]. rewrite (Hat 1%Z); auto.
      intros <-. discriminate Hr.
  - exists (Plan.Event (Sampled (1 # 2) (Response 1)) 1 None). split; [reflexivity|]. split; [cbn; lia|].
    intros w u d d' Hd. cbn [reads cover what small_draw]. destruct Hd as [Hat Hd]. cbn [between small_plan] in Hd.
    destruct (Z.eq_dec u 1) as [->|N].
    + destruct w; destruct Hd as [r [H1 H2]]; rewrite H1, H2; apply sampled_cost.
    + rewrite (Hat 1%Z) by congruence. generalize (d' 1%Z). intros r.
      destruct w; exists unit, (point tt), (fun _ => sampled_answer r), (fun _ => sampled_answer r);
        (split; [intros; split; intros f Hf; pose proof (E_test (sampled_answer r) f Hf)|intros f Hf; split; cbn; try ring]).
      all: assert (1 <= exp (Q2R 1)) by (rewrite <- exp_0; left; apply exp_increasing; unfold Q2R; cbn; lra); nra.
Qed.

(** So it is private, and not because it reads nothing. *)
Corollary small_private : always (neighbours (fun _ _ => 0) AddRemove) small_draw (approximate (3 / 2) (1 / 20) small_asks).
Proof.
  pose proof (check_account_sound _ _ _ _ small_accepted bool bool (fun _ _ => 0) _ _ _ small_follows) as H.
  replace (3 / 2) with (Q2R (3 # 2)) by (unfold Q2R; cbn; lra). replace (1 / 20) with (Q2R (1 # 20)) by (unfold Q2R; cbn; lra).
  exact H.
Qed.

Lemma small_reads : ~ same (small_draw (fun _ => Some true) []) (small_draw (fun _ => None) []).
Proof.
  intros H. specialize (H (fun b : bool => if b then 1 else 0) ltac:(intros []; lra)). cbn in H. lra.
Qed.

(* ---------------------------------------------------------------- a program that leaks *)

(** What unit u holds is shown, once. *)
Definition leak_asks (h : history (option bool)) : bool := match h with [] => true | _ => false end.
Definition leak_draw (u : Z) (d : data bool) (h : history (option bool)) : law (option bool) := point (d u).

Theorem leaks_follow_no_plan par p epsilon delta u event_of :
  check_account par p epsilon delta = true -> Q2R delta < 1 -> ~ follows leak_asks (leak_draw u) event_of p.
Proof.
  intros Hc Hd Hf. pose proof (check_account_sound par p epsilon delta Hc bool (option bool) (fun _ _ => 0) _ _ _ Hf) as A.
  set (d r := fun v : Z => if (v =? u)%Z then r else None : option bool).
  assert (Hu : forall r, d r u = r) by (intros r; unfold d; rewrite Z.eqb_refl; reflexivity).
  assert (Hat : forall r r' v, v <> u -> d r v = d r' v).
  { intros r r' v Hv. unfold d. apply Z.eqb_neq in Hv. rewrite Hv. reflexivity. }
  assert (Leak : forall r', r' <> Some true ->
    neighbours (fun _ _ => 0) (between p) (d (Some true)) (d r') -> False).
  { intros r' Hr Hn. set (f (m : option bool) := match m with Some true => 1 | _ => 0 end).
    assert (Tf : test f) by (intros [[]|]; cbn; lra).
    assert (C : chance leak_asks (leak_draw u (d (Some true))) (leak_draw u (d r')) []
      (leak_draw u (d (Some true)) [] f) (leak_draw u (d r') [] f)).
    { apply (ask leak_asks (leak_draw u (d (Some true))) (leak_draw u (d r')) [] f f); auto. intros m. apply bet. apply Tf. }
    specialize (A _ _ Hn [] _ _ ltac:(intros m before [between E]; destruct between; discriminate E) C).
    unfold leak_draw in A. cbn [E point] in A. rewrite !Hu in A. cbn [f] in A. destruct r' as [[]|]; [congruence| |]; cbn in A; lra. }
  unfold check_account in Hc. destruct (Dots.decay _ _) as [[lo hi]|]; [|discriminate]. apply andb_prop in Hc. destruct Hc as [_ Hc].
  destruct (between p) eqn:Hrel; try discriminate.
  - apply (Leak (Some false)); [congruence|]. exists u, true, false. rewrite !Hu. split; auto. split; auto. intros v Hv. auto.
  - apply (Leak None); [congruence|]. left. exists u, true. rewrite !Hu. split; auto. split; auto. intros v Hv. auto.
Qed.
