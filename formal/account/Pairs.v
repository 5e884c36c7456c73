(** Finite pairs: what bounds the hockey-stick divergence of two laws at every factor at once.

    A pair is a list of atoms, each with its mass on either side, and a mass that only the first side has.  It
    dominates two laws if no test gains more than its hockey-stick.  Products of pairs, and what rounding upwards does
    to them: `stick_more` (one more factor costs no less), `stick_times_le` (a raised factor raises the product). *)
Require Import Reals Lra Psatz List Permutation.
From DP.base Require Import Laws Sums.
Import ListNotations.
Open Scope R_scope.

Record pair := Pair { atoms : list (R * R); beyond : R }.

Definition part (x : R) := Rmax 0 x.

(** The hockey-stick at c, of the pair with masses scaled by a on the first side and by b on the second. *)
Definition stick (D : pair) (c : R) := beyond D + total (fun a => part (fst a - c * snd a)) (atoms D).

Definition quotient (a : R * R) := fst a / snd a.

Definition first_mass (D : pair) := total fst (atoms D).

Definition proper (D : pair) :=
  0 <= beyond D /\ (forall a, In a (atoms D) -> 0 <= fst a /\ 0 <= snd a) /\
  forall c, 0 <= c -> 1 <= stick D c + c.
     (* so where first masses and beyond sum to 1 or more, second ones to 1 or less *)

Definition dominates {A} (D : pair) (P Q : law A) := forall f, test f -> forall c, 0 <= c -> P f <= stick D c + c * Q f.

Definition one : pair := Pair [(1, 1)] 0.

Definition times (D E : pair) : pair :=
  Pair (flat_map (fun a => map (fun b => (fst a * fst b, snd a * snd b)) (atoms E)) (atoms D))
       (beyond D * (beyond E + first_mass E) + first_mass D * beyond E).

Definition product (l : list pair) : pair := fold_right times one l.

(* ---------------------------------------------------------------- sums over the atoms of a product *)

Lemma total_flat_map {A B} (f : B -> R) (g : A -> list B) l :
  total f (flat_map g l) = total (fun a => total f (g a)) l.
Proof. induction l; simpl; auto. rewrite total_app, IHl. reflexivity. Qed.

Lemma total_times (f : R * R -> R) D E :
  total f (atoms (times D E)) = total (fun a => total (fun b => f (fst a * fst b, snd a * snd b)) (atoms E)) (atoms D).
Proof. simpl. rewrite total_flat_map. apply total_ext. intros a _. apply total_map. Qed.

Lemma first_mass_times D E : first_mass (times D E) = first_mass D * first_mass E.
Proof.
  unfold first_mass. rewrite total_times. simpl.
  rewrite Rmult_comm, <- total_scale. apply total_ext. intros a _. rewrite Rmult_comm, <- total_scale. auto.
Qed.

(** Pairs that no sum tells apart. *)
Definition alike (D E : pair) := beyond D = beyond E /\ forall f, total f (atoms D) = total f (atoms E).

Lemma alike_stick D E c : alike D E -> stick D c = stick E c.
Proof. intros [H1 H2]. unfold stick. rewrite H1, H2. reflexivity. Qed.

Lemma alike_refl D : alike D D. Proof. split; auto. Qed.
Lemma alike_sym D E : alike D E -> alike E D. Proof. intros [? ?]; split; intros; symmetry; auto. Qed.
Lemma alike_trans D E F : alike D E -> alike E F -> alike D F.
Proof. intros [? H1] [? H2]; split; intros; [congruence|]. rewrite H1; auto. Qed.

Lemma alike_times D D' E : alike D D' -> alike (times E D) (times E D').
Proof.
  intros [H1 H2]. split.
  - simpl. unfold first_mass. rewrite H1, H2. reflexivity.
  - intros f. rewrite !total_times. apply total_ext. intros a _. apply (H2 (fun b => f (_, _))).
Qed.

Lemma alike_swap D E F : alike (times D (times E F)) (times E (times D F)).
Proof.
  split.
  - cbn [beyond times]. rewrite !first_mass_times. simpl. ring.
  - intros f. rewrite !total_times.
    transitivity (total (fun a => total (fun b => total (fun c =>
      f (fst a * (fst b * fst c), snd a * (snd b * snd c))) (atoms F)) (atoms E)) (atoms D)).
    { apply total_ext. intros a _. rewrite total_times. reflexivity. }
    rewrite total_swap. apply total_ext. intros b _. rewrite total_times. apply total_ext. intros a _.
    apply total_ext. intros c _. f_equal. simpl. f_equal; ring.
Qed.

Lemma alike_comm D E : alike (times D E) (times E D).
Proof.
  split; [simpl; ring|]. intros f. rewrite !total_times, total_swap. apply total_ext. intros a _.
  apply total_ext. intros b _. f_equal. f_equal; ring.
Qed.

Lemma alike_product l m : Permutation l m -> alike (product l) (product m).
Proof.
  induction 1; simpl.
  - apply alike_refl.
  - apply alike_times; auto.
  - apply alike_swap.
  - eapply alike_trans; eauto.
Qed.

(* ---------------------------------------------------------------- hockey-sticks *)

Lemma part_scale a x : 0 <= a -> part (a * x) = a * part x.
Proof. intros. unfold part. rewrite <- (Rmult_0_r a) at 1. rewrite RmaxRmult; auto. Qed.

Lemma part_ge x : x <= part x. Proof. apply Rmax_r. Qed.
Lemma part_0 x : 0 <= part x. Proof. apply Rmax_l. Qed.

(** What the second pair says of a test, weighed by an atom of the first one. *)
Definition stick_at (D : pair) (p q : R) := p * beyond D + total (fun a => part (p * fst a - q * snd a)) (atoms D).

Lemma stick_at_scale D p q : 0 < p -> stick_at D p q = p * stick D (q / p).
Proof.
  intros Hp. unfold stick_at, stick. rewrite Rmult_plus_distr_l, <- total_scale. f_equal.
  apply total_ext. intros a _. rewrite <- part_scale by lra. f_equal. field. lra.
Qed.

Lemma stick_times D E c :
  stick (times E D) c = beyond E * (beyond D + first_mass D) + total (fun a => stick_at D (fst a) (c * snd a)) (atoms E).
Proof.
  unfold stick. rewrite total_times. cbn [beyond times fst snd]. unfold stick_at.
  rewrite total_plus.
  replace (total (fun a : R * R => fst a * beyond D) (atoms E)) with (first_mass E * beyond D).
  2: { unfold first_mass. rewrite Rmult_comm, <- total_scale. apply total_ext. intros; ring. }
  rewrite <- Rplus_assoc. f_equal. apply total_ext. intros a _. apply total_ext. intros b _. f_equal. ring.
Qed.

Lemma first_mass_nonneg D : proper D -> 0 <= first_mass D.
Proof. intros [_ [H _]]. apply total_nonneg. intros a Ha. apply H; auto. Qed.

Lemma total_one D : proper D -> 1 <= beyond D + first_mass D.
Proof.
  intros [H0 [H1 H2]]. specialize (H2 0 ltac:(lra)). unfold stick in H2. unfold first_mass.
  rewrite (total_ext _ fst) in H2. lra.
  intros a Ha. destruct (H1 a Ha). unfold part. rewrite Rmax_right; lra.
Qed.

Lemma stick_at_ge D p q : proper D -> 0 <= p -> 0 <= q -> part (p - q) <= stick_at D p q.
Proof.
  intros HD Hp Hq. destruct HD as [H0 [H1 H2]].
  assert (Hnn : 0 <= stick_at D p q).
  { unfold stick_at. assert (0 <= total (fun a => part (p * fst a - q * snd a)) (atoms D)).
    { apply total_nonneg. intros; apply part_0. }
    nra. }
  apply Rmax_lub; auto.
  destruct Hp as [Hp|<-]; [|lra].
  rewrite stick_at_scale by auto.
  assert (0 <= q / p) by (apply Rmult_le_pos; auto; left; apply Rinv_0_lt_compat; auto).
  specialize (H2 (q / p) H). replace (p - q) with (p * (1 - q / p)) by (field; lra). nra.
Qed.

(** One more pair costs no less. *)
Lemma stick_more D E c : proper D -> proper E -> 0 <= c -> stick E c <= stick (times E D) c.
Proof.
  intros HD HE Hc. rewrite stick_times. unfold stick. pose proof (total_one D HD).
  destruct HE as [H0 [H1 _]].
  apply Rplus_le_compat; [nra|]. apply total_le. intros a Ha. destruct (H1 a Ha).
  apply stick_at_ge; auto. apply Rmult_le_pos; auto.
Qed.

Lemma proper_one : proper one.
Proof.
  split; [simpl; lra|]. split.
  - intros a [<-|[]]; simpl; lra.
  - intros c Hc. unfold stick. simpl. pose proof (part_ge (1 - c * 1)). lra.
Qed.

Lemma proper_times D E : proper D -> proper E -> proper (times E D).
Proof.
  intros HD HE. pose proof (stick_more D E) as More. pose proof (first_mass_nonneg D HD).
  pose proof (first_mass_nonneg E HE).
  split; [|split].
  - destruct HD as [D0 _], HE as [E0 _]. simpl. nra.
  - destruct HD as [_ [D1 _]], HE as [_ [E1 _]]. intros x Hx. simpl in Hx. apply in_flat_map in Hx.
    destruct Hx as [a [Ha Hx]]. apply in_map_iff in Hx. destruct Hx as [b [<- Hb]]. simpl.
    destruct (E1 a Ha), (D1 b Hb). split; apply Rmult_le_pos; auto.
  - intros c Hc. specialize (More c HD HE Hc). destruct HE as [_ [_ E2]]. specialize (E2 c Hc). lra.
Qed.

Lemma proper_product l : Forall proper l -> proper (product l).
Proof. induction 1; simpl; auto using proper_one. apply proper_times; auto. Qed.

(* ---------------------------------------------------------------- rounding upwards *)

Lemma stick_0 D : proper D -> stick D 0 = beyond D + first_mass D.
Proof.
  intros [_ [H _]]. unfold stick, first_mass. f_equal. apply total_ext. intros a Ha. destruct (H a Ha).
  unfold part. rewrite Rmax_right; lra.
Qed.

Definition below (D E : pair) := forall c, 0 <= c -> stick D c <= stick E c.

Lemma below_dominates {A} D E (P Q : law A) : below D E -> dominates D P Q -> dominates E P Q.
Proof. intros HDE HD f Hf c Hc. specialize (HDE c Hc). specialize (HD f Hf c Hc). lra. Qed.

(** Whatever is rounded up stays proper; what dominates two laws is proper anyway. *)
Lemma below_proper D E : below D E -> proper D -> 0 <= beyond E ->
  (forall a, In a (atoms E) -> 0 <= fst a /\ 0 <= snd a) -> proper E.
Proof.
  intros HDE [_ [_ H2]] H0 H1. split; [|split]; auto. intros c Hc. specialize (HDE c Hc). specialize (H2 c Hc). lra.
Qed.

Lemma dominates_proper {A} D (P Q : law A) : dominates D P Q -> 0 <= beyond D ->
  (forall a, In a (atoms D) -> 0 <= fst a /\ 0 <= snd a) -> proper D.
Proof.
  intros HD H0 H1. split; [|split]; auto. intros c Hc.
  pose proof (HD (fun _ => 1) ltac:(intros a; lra) c Hc) as H. rewrite !E_const in H by lra. lra.
Qed.

(** A raised factor raises the product, so that one may round after every step. *)
Lemma stick_times_le D D' E : proper D -> proper D' -> proper E -> below D D' -> below (times E D) (times E D').
Proof.
  intros HD HD' HE H c Hc. rewrite !stick_times. pose proof (H 0 ltac:(lra)) as Hm. rewrite !stick_0 in Hm by auto.
  destruct HE as [H0 [H1 _]].
  apply Rplus_le_compat; [apply Rmult_le_compat_l; auto|].
  apply total_le. intros a Ha. destruct (H1 a Ha) as [Hp Hq].
  assert (Hcq : 0 <= c * snd a) by (apply Rmult_le_pos; auto).
  destruct Hp as [Hp|Hp].
  - rewrite !stick_at_scale by auto. apply Rmult_le_compat_l; [lra|]. apply H.
    apply Rmult_le_pos; auto. left; apply Rinv_0_lt_compat; auto.
  - rewrite <- Hp. unfold stick_at.
    assert (Z : forall F, proper F -> total (fun b => part (0 * fst b - c * snd a * snd b)) (atoms F) = 0).
    { intros F [_ [HF _]]. apply total_zero. intros b Hb. destruct (HF b Hb). unfold part. apply Rmax_left. nra. }
    rewrite !Z by auto. lra.
Qed.

(** Atoms of one quotient may be added up, and no others. *)
Lemma merged p q t c : 0 <= p -> 0 <= q -> part (p - c * (t * p)) + part (q - c * (t * q)) = part ((p + q) - c * (t * (p + q))).
Proof.
  intros Hp Hq. replace (p - c * (t * p)) with (p * (1 - c * t)) by ring.
  replace (q - c * (t * q)) with (q * (1 - c * t)) by ring.
  replace (p + q - c * (t * (p + q))) with ((p + q) * (1 - c * t)) by ring.
  rewrite !part_scale by lra. ring.
Qed.

