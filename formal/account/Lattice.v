(** Finite pairs on a lattice of privacy losses, in whole numbers.

    A lattice stands for the pair whose atom at node s has first mass m/2^p and second mass m/2^p e^(-sh): whatever
    raises a mass raises the hockey-stick, and masses of one node may be added up.  The second masses are real numbers
    that nobody computes.  `bounds D L`: the hockey-stick of D is at most that of the lattice L. *)
Require Import Reals ZArith Lra Lia Psatz List.
From DP.base Require Import Laws Sums.
From DP.decide Require Import Fixed.
From DP.account Require Import Pairs.
Import ListNotations.
Open Scope R_scope.

(** Masses of the nodes from [low] on, and the mass that only the first side has. *)
Record lattice := Lattice { low : Z; masses : list Z; lost : Z }.

Definition nonneg_all (l : list Z) := Forall (fun m => (0 <= m)%Z) l.
Definition good (L : lattice) := (0 <= lost L)%Z /\ nonneg_all (masses L).

(** Tail-recursive: lists are long. *)
Definition sum (l : list Z) : Z := fold_left Z.add l 0%Z.

(** The masses weighed by a function of their node. *)
Fixpoint along (g : Z -> R) (s : Z) (l : list Z) : R :=
  match l with [] => 0 | m :: rest => IZR m * g s + along g (s + 1)%Z rest end.

Lemma along_app g s a b : along g s (a ++ b) = along g s a + along g (s + Z.of_nat (length a))%Z b.
Proof.
  revert s. induction a as [|x a IH]; intros s; cbn [along app length].
  - rewrite Z.add_0_r. ring.
  - rewrite IH. replace (s + 1 + Z.of_nat (length a))%Z with (s + Z.of_nat (S (length a)))%Z by lia. ring.
Qed.

Lemma along_le f g s t a : nonneg_all a -> (forall i, (0 <= i)%Z -> f (s + i)%Z <= g (t + i)%Z) -> along f s a <= along g t a.
Proof.
  intros Ha. revert s t. induction Ha as [|x a Hx Ha IH]; intros s t H; cbn [along]; [lra|].
  assert (along f (s + 1) a <= along g (t + 1) a).
  { apply IH. intros i Hi. rewrite <- !Z.add_assoc. apply H. lia. }
  specialize (H 0%Z ltac:(lia)). rewrite !Z.add_0_r in H. apply IZR_le in Hx. nra.
Qed.

Lemma along_ext f g s t a : (forall i, (0 <= i)%Z -> f (s + i)%Z = g (t + i)%Z) -> along f s a = along g t a.
Proof.
  revert s t. induction a as [|x a IH]; intros s t H; cbn [along]; auto.
  rewrite (IH (s + 1) (t + 1))%Z; [|intros i Hi; rewrite <- !Z.add_assoc; apply H; lia].
  specialize (H 0%Z ltac:(lia)). rewrite !Z.add_0_r in H. rewrite H. reflexivity.
Qed.

Lemma along_nonneg g s a : nonneg_all a -> (forall i, 0 <= g i) -> 0 <= along g s a.
Proof.
  intros Ha Hg. revert s. induction Ha as [|x a Hx Ha IH]; intros s; cbn [along]; [lra|].
  specialize (IH (s + 1)%Z). specialize (Hg s). apply IZR_le in Hx. nra.
Qed.

Lemma along_scale g c s a : along (fun i => c * g i) s a = c * along g s a.
Proof. revert s. induction a as [|x a IH]; intros s; cbn [along]; [ring|]. rewrite IH. ring. Qed.

Lemma sum_from l : forall z, fold_left Z.add l z = (z + sum l)%Z.
Proof.
  unfold sum. induction l as [|x l IH]; intros z; cbn [fold_left]; [lia|]. rewrite IH, (IH (0 + x)%Z). lia.
Qed.

Lemma sum_cons x l : sum (x :: l) = (x + sum l)%Z.
Proof. unfold sum at 1. cbn [fold_left]. rewrite sum_from. lia. Qed.

Lemma sum_app a b : sum (a ++ b) = (sum a + sum b)%Z.
Proof. induction a; cbn [app]; [reflexivity|]. rewrite !sum_cons, IHa. lia. Qed.

Lemma along_1 s l : along (fun _ => 1) s l = IZR (sum l).
Proof.
  revert s. induction l as [|x l IH]; intros s; [reflexivity|].
  cbn [along]. rewrite sum_cons, plus_IZR, IH. ring.
Qed.

Lemma sum_nonneg l : nonneg_all l -> (0 <= sum l)%Z.
Proof. induction 1; [cbn; lia|]. rewrite sum_cons. lia. Qed.

(** Tail-recursive [map] and [rev]. *)
Lemma rev'_rev {A} (l : list A) : rev' l = rev l.
Proof. unfold rev'. rewrite rev_append_rev. apply app_nil_r. Qed.

Definition map' {A B} (f : A -> B) (l : list A) : list B := rev' (fold_left (fun done a => f a :: done) l []).

Lemma map'_map {A B} (f : A -> B) l : map' f l = map f l.
Proof.
  unfold map'. rewrite rev'_rev.
  assert (G : forall done, rev (fold_left (fun done a => f a :: done) l done) = rev done ++ map f l).
  { induction l as [|a l IH]; intros done; cbn [fold_left map]; [rewrite app_nil_r; auto|].
    rewrite IH. cbn [rev]. rewrite <- app_assoc. reflexivity. }
  apply (G []).
Qed.

Section Scale.
  Context (p : positive) (h : R).
  Hypothesis h_pos : 0 <= h.
  Let S := unit_of p.

  Let S_pos : 0 < S. Proof. apply unit_pos. Qed.

  (** The hockey-stick at c of a unit of mass at node s. *)
  Definition gain (c : R) (s : Z) : R := part (1 - c * exp (- (IZR s * h))).

  Fixpoint atoms_at (s : Z) (l : list Z) : list (R * R) :=
    match l with [] => [] | m :: rest => (IZR m / S, IZR m / S * exp (- (IZR s * h))) :: atoms_at (s + 1)%Z rest end.

  Definition pair_of (L : lattice) : pair := Pair (atoms_at (low L) (masses L)) (IZR (lost L) / S).

  Lemma gain_nonneg c s : 0 <= gain c s. Proof. apply part_0. Qed.

  Lemma gain_le_1 c s : 0 <= c -> gain c s <= 1.
  Proof.
    intros Hc. unfold gain, part. pose proof (exp_pos (- (IZR s * h))). apply Rmax_lub; nra.
  Qed.

  Lemma gain_mono c s t : 0 <= c -> (s <= t)%Z -> gain c s <= gain c t.
  Proof.
    intros Hc Hst. unfold gain, part. apply Rle_max_compat_l.
    assert (exp (- (IZR t * h)) <= exp (- (IZR s * h))); [|nra].
    apply IZR_le in Hst. destruct (Req_dec (IZR t * h) (IZR s * h)) as [->|N]; [lra|].
    left. apply exp_increasing. nra.
  Qed.

  Lemma total_atoms (f : R * R -> R) (g : Z -> R) s l : nonneg_all l ->
    (forall m s, 0 <= m -> f (m / S, m / S * exp (- (IZR s * h))) = m * g s) -> total f (atoms_at s l) = along g s l.
  Proof.
    intros Hl Hf. revert s. induction Hl as [|m l Hm Hl IH]; intros s; cbn [total along atoms_at]; auto.
    rewrite IH, Hf; auto. apply IZR_le; auto.
  Qed.

  Lemma atoms_nonneg s l : nonneg_all l -> forall a, In a (atoms_at s l) -> 0 <= fst a /\ 0 <= snd a.
  Proof.
    intros Hl. revert s. induction Hl as [|m l Hm Hl IH]; intros s a; cbn [atoms_at]; [intros []|].
    intros [<-|Ha]; [|eauto]. cbn [fst snd]. apply IZR_le in Hm.
    assert (0 <= IZR m / S) by (apply Rmult_le_pos; auto; left; apply Rinv_0_lt_compat; auto).
    pose proof (exp_pos (- (IZR s * h))). split; auto. nra.
  Qed.

  Lemma part_atom m s c : 0 <= m -> part (m / S - c * (m / S * exp (- (IZR s * h)))) = m * (gain c s / S).
  Proof.
    intros Hm. replace (m / S - c * (m / S * exp (- (IZR s * h)))) with (m / S * (1 - c * exp (- (IZR s * h)))) by ring.
    rewrite part_scale; [unfold gain; field; lra|].
    apply Rmult_le_pos; auto. left; apply Rinv_0_lt_compat; auto.
  Qed.

  Lemma stick_lattice L c : good L -> stick (pair_of L) c * S = IZR (lost L) + along (gain c) (low L) (masses L).
  Proof.
    intros [H0 Hm]. unfold stick. cbn [beyond atoms pair_of].
    rewrite (total_atoms _ (fun s => / S * gain c s)); auto.
    - rewrite along_scale. field. lra.
    - intros m s Hm0. cbn [fst snd]. rewrite part_atom by auto. unfold Rdiv. ring.
  Qed.

  Lemma first_mass_lattice L : good L -> first_mass (pair_of L) * S = IZR (sum (masses L)).
  Proof.
    intros [_ Hm]. unfold first_mass. cbn [atoms pair_of].
    rewrite (total_atoms _ (fun s => / S * 1)); auto.
    - rewrite along_scale, along_1. field. lra.
    - intros m s _. cbn [fst]. unfold Rdiv. ring.
  Qed.

  Definition bounds (D : pair) (L : lattice) := proper D /\ good L /\ below D (pair_of L).

  Lemma lattice_proper D L : bounds D L -> proper (pair_of L).
  Proof.
    intros [HD [[H0 Hm] HB]]. apply below_proper with D; auto; cbn [beyond atoms pair_of].
    - apply IZR_le in H0. apply Rmult_le_pos; auto. left; apply Rinv_0_lt_compat; auto.
    - apply atoms_nonneg; auto.
  Qed.

  (** One lattice is above another one. *)
  Lemma bounds_le D L L' : bounds D L -> good L' ->
    (forall c, 0 <= c -> IZR (lost L) + along (gain c) (low L) (masses L) <=
                         IZR (lost L') + along (gain c) (low L') (masses L')) -> bounds D L'.
  Proof.
    intros [HD [HL HB]] HL' H. split; auto. split; auto. intros c Hc. specialize (HB c Hc). specialize (H c Hc).
    rewrite <- !stick_lattice in H by auto. apply Rmult_le_reg_r in H; auto. lra.
  Qed.

  Lemma bounds_self L : good L -> proper (pair_of L) -> bounds (pair_of L) L.
  Proof. intros HL HP. split; auto. split; auto. intros c _. lra. Qed.

  Lemma bounds_alike D E L : bounds D L -> proper E -> alike D E -> bounds E L.
  Proof. intros [HD [HL HB]] HE HA. split; auto. split; auto. intros c Hc. rewrite <- (alike_stick _ _ c HA). auto. Qed.
End Scale.
