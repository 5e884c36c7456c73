(** The notions of privacy are not too weak: a program that shows a person's bit, always or with some chance t, has none. *)
Require Import Reals Lra Psatz List.
From DP.base Require Import Laws Normal.
From DP Require Import Definitions.
From DP.core Require Import Powers Costs.
Import ListNotations.
Open Scope R_scope.

Section Leak.
  Variable t : R.
  Hypothesis Ht : 0 < t <= 1.
  Let Ht' : 0 <= t <= 1. Proof. lra. Qed.

  (** With chance t the bit is shown, else nothing; t = 1 shows it always. *)
  Definition shown (bit : bool) : law (option bool) := coin t Ht' (Some bit) None.

  Let f (m : option bool) : R := match m with Some true => 1 | _ => 0 end.
  Let Hf : test f. Proof. intros [[]|]; simpl; lra. Qed.

  Theorem leak_not_pure epsilon : ~ pure_cost epsilon (shown true) (shown false).
  Proof. intros H. specialize (H f Hf). simpl in H. lra. Qed.

  Theorem leak_not_renyi theta r : ~ renyi_cost theta r (shown true) (shown false).
  Proof.
    intros H. specialize (H f Hf). simpl in H. rewrite power_0 in H.
    replace (t * 0 + (1 - t) * 0) with 0 in H by ring. rewrite power_0 in H. lra.
  Qed.

  Theorem leak_not_zcdp rho : ~ zcdp_cost rho (shown true) (shown false).
  Proof. intros H. apply (leak_not_renyi 2 (2 / (2 - 1) * rho)). apply H. lra. Qed.

  Theorem leak_not_gdp mu_squared : ~ gdp_cost mu_squared (shown true) (shown false).
  Proof.
    intros H. destruct (Phi_to_0 t ltac:(lra)) as [z [Hz HP]].
    specialize (H f (- z - sqrt mu_squared) Hf). simpl in H.
    pose proof (Phi_range (- z - sqrt mu_squared)). specialize (HP (- z) ltac:(lra)).
    replace (- z - sqrt mu_squared + sqrt mu_squared) with (- z) in H by ring. specialize (H ltac:(lra)). lra.
  Qed.

  Theorem leak_not_near distance : distance < t -> ~ near_cost distance (shown true) (shown false).
  Proof. intros Hd H. specialize (H f Hf). simpl in H. lra. Qed.

  Theorem leak_not_range eta once : ~ range_cost eta once (shown true) (shown false).
  Proof.
    intros [H|[_ [c H]]]; specialize (H f Hf); simpl in H; [lra|]. pose proof (exp_pos c). nra.
  Qed.

  (** Shown once, before anything else is said. *)
  Let asks (h : history (option bool)) : bool := match h with [] => true | _ => false end.

  Theorem leak_not_approximate epsilon delta : delta < t ->
    ~ approximate epsilon delta asks (fun _ => shown true) (fun _ => shown false).
  Proof.
    intros Hd H. assert (HC : chance asks (fun _ => shown true) (fun _ => shown false) [] (shown true f) (shown false f)).
    { apply (ask asks (fun _ => shown true) (fun _ => shown false) [] f f); auto. intros m. apply bet. apply Hf. }
    specialize (H [] _ _ ltac:(intros m before [between E]; destruct between; discriminate E) HC). simpl in H. lra.
  Qed.
End Leak.
