(** One release more: a test of what follows splits into tests of the release itself.

    No densities are needed: atoms are filled in the order of falling quotients.  Main theorem: `ask_step`. *)
Require Import Reals Lra Psatz List Permutation.
From DP.base Require Import Laws Sums.
From DP.account Require Import Pairs.
Import ListNotations.
Open Scope R_scope.

(** Atoms in the order of falling quotients. *)
Fixpoint insert (a : R * R) (l : list (R * R)) : list (R * R) :=
  match l with
  | [] => [a]
  | b :: rest => if Rle_dec (quotient b) (quotient a) then a :: l else b :: insert a rest
  end.

Fixpoint sorted (l : list (R * R)) : list (R * R) :=
  match l with [] => [] | a :: rest => insert a (sorted rest) end.

Fixpoint falling (l : list (R * R)) : Prop :=
  match l with [] => True | a :: rest => (forall b, In b rest -> quotient b <= quotient a) /\ falling rest end.

Lemma insert_perm a l : Permutation (a :: l) (insert a l).
Proof.
  induction l; simpl; auto. destruct (Rle_dec _ _); auto.
  eapply Permutation_trans; [apply perm_swap|]. auto.
Qed.

Lemma sorted_perm l : Permutation l (sorted l).
Proof. induction l; simpl; auto. eapply Permutation_trans; [|apply insert_perm]. auto. Qed.

Lemma insert_falling a l : falling l -> falling (insert a l).
Proof.
  induction l as [|b l IH]; simpl; [intros; split; [intros ? []|auto]|]. intros [H1 H2].
  destruct (Rle_dec _ _); simpl.
  - repeat split; auto. intros c [<-|Hc]; auto. specialize (H1 c Hc). lra.
  - split; auto. intros c Hc. apply (Permutation_in _ (Permutation_sym (insert_perm a l))) in Hc.
    destruct Hc as [<-|Hc]; auto. lra.
Qed.

Lemma sorted_falling l : falling (sorted l).
Proof. induction l; simpl; auto. apply insert_falling; auto. Qed.

Lemma total_perm {A} (f : A -> R) l m : Permutation l m -> total f l = total f m.
Proof. induction 1; simpl; lra. Qed.

(** How much of each atom is taken: in this order, as far as the level v goes. *)
Fixpoint fill (l : list (R * R)) (v : R) : list R :=
  match l with
  | [] => []
  | a :: rest =>
    let w := if Rlt_dec 0 (snd a) then Rmin 1 (v / snd a) else 1 in
    w :: fill rest (v - snd a * w)
  end.

Fixpoint dot (f : R * R -> R) (l : list (R * R)) (w : list R) : R :=
  match l, w with a :: l, x :: w => f a * x + dot f l w | _, _ => 0 end.

(** Quotients make sense: no atom without second mass. *)
Definition divisible (l : list (R * R)) := forall a, In a l -> 0 <= fst a /\ 0 < snd a.

Lemma fill_range l v : divisible l -> 0 <= v -> Forall (fun w => 0 <= w <= 1) (fill l v) /\ dot snd l (fill l v) <= v.
Proof.
  revert v. induction l as [|a l IH]; intros v Hl Hv; simpl; [split; [constructor|lra]|].
  destruct (Hl a (or_introl eq_refl)) as [Ha Hb].
  destruct (Rlt_dec 0 (snd a)) as [_|No]; [|lra].
  set (w := Rmin 1 (v / snd a)).
  assert (0 <= v / snd a) by (apply Rmult_le_pos; auto; left; apply Rinv_0_lt_compat; auto).
  assert (Hw : 0 <= w <= 1) by (unfold w; split; [apply Rmin_glb; lra | apply Rmin_l]).
  assert (Hv' : 0 <= v - snd a * w).
  { assert (w <= v / snd a) by apply Rmin_r.
    assert (snd a * w <= snd a * (v / snd a)) by (apply Rmult_le_compat_l; lra).
    replace (snd a * (v / snd a)) with v in H1 by (field; lra). lra. }
  destruct (IH (v - snd a * w)) as [H1 H2]; auto.
  { intros b Hin. apply Hl. right; auto. }
  split; [constructor; auto | lra].
Qed.

(** Filling reaches what no line through the hockey-stick exceeds. *)
Lemma fill_reaches l d u v : divisible l -> falling l -> 0 <= v ->
  (forall c, 0 <= c -> u <= d + total (fun a => part (fst a - c * snd a)) l + c * v) ->
  u <= d + dot fst l (fill l v).
Proof.
  revert u v. induction l as [|a l IH]; intros u v Hl Hf Hv Hu.
  - simpl. specialize (Hu 0 ltac:(lra)). simpl in Hu. lra.
  - destruct (Hl a (or_introl eq_refl)) as [Ha Hb]. destruct Hf as [Hf1 Hf2].
    cbn [fill dot]. destruct (Rlt_dec 0 (snd a)) as [_|No]; [|lra].
    assert (Hq : 0 <= quotient a) by (apply Rmult_le_pos; auto; left; apply Rinv_0_lt_compat; auto).
    assert (Hfst : fst a = quotient a * snd a) by (unfold quotient; field; lra).
    assert (Hl' : divisible l) by (intros b Hin; apply Hl; right; auto).
    assert (Zero : forall c, quotient a <= c -> total (fun b => part (fst b - c * snd b)) l = 0).
    { intros c Hc. apply total_zero. intros b Hin. destruct (Hl' b Hin). specialize (Hf1 b Hin).
      unfold part. apply Rmax_left. unfold quotient in *.
      assert (fst b = fst b / snd b * snd b) by (field; lra). nra. }
    assert (Zero' : forall c, quotient a <= c -> part (fst a - c * snd a) = 0).
    { intros c Hc. unfold part. apply Rmax_left. nra. }
    assert (At : u <= d + quotient a * v).
    { specialize (Hu (quotient a) Hq). simpl in Hu. rewrite Zero, Zero' in Hu by lra. lra. }
    set (w := Rmin 1 (v / snd a)).
    assert (0 <= v / snd a) by (apply Rmult_le_pos; auto; left; apply Rinv_0_lt_compat; auto).
    assert (Hdiv : snd a * (v / snd a) = v) by (field; lra).
    assert (Hv' : 0 <= v - snd a * w).
    { assert (w <= v / snd a) by apply Rmin_r. nra. }
    assert (u - fst a * w <= d + dot fst l (fill l (v - snd a * w))); [|lra].
    apply IH; auto. intros c Hc.
    assert (Pos : 0 <= total (fun b => part (fst b - c * snd b)) l).
    { apply total_nonneg. intros; apply part_0. }
    unfold w, Rmin in *. destruct (Rle_dec 1 (v / snd a)) as [Full|Part].
    + destruct (Rle_dec c (quotient a)) as [Low|High].
      * specialize (Hu c Hc). simpl in Hu. unfold part at 1 in Hu. rewrite Rmax_right in Hu by nra. lra.
      * rewrite Zero by lra. nra.
    + assert (fst a * (v / snd a) = quotient a * v) by (unfold quotient; field; lra).
      assert (0 <= c * (v - snd a * (v / snd a))) by (apply Rmult_le_pos; lra). lra.
Qed.

(* ---------------------------------------------------------------- sums of tests *)

(** Sums of tests with weights, however large, go through a law. *)
Section Sum.
  Context {B : Type} (P : law B).

  Fixpoint weigh (ws : list (R * (B -> R))) (b : B) : R :=
    match ws with [] => 0 | (a, f) :: rest => a * f b + weigh rest b end.

  Fixpoint weigh_law (ws : list (R * (B -> R))) : R :=
    match ws with [] => 0 | (a, f) :: rest => a * P f + weigh_law rest end.

  Fixpoint bulk (ws : list (R * (B -> R))) : R :=
    match ws with [] => 0 | (a, _) :: rest => a + bulk rest end.

  Definition weights (ws : list (R * (B -> R))) := forall a f, In (a, f) ws -> 0 <= a /\ test f.

  Lemma weigh_bounds ws : weights ws -> 0 <= bulk ws /\ forall b, 0 <= weigh ws b <= bulk ws.
  Proof.
    induction ws as [|[a f] ws IH]; intros H; simpl; [split; intros; lra|].
    destruct (H a f (or_introl eq_refl)) as [Ha Hf].
    destruct IH as [I1 I2]; [intros x y Hin; apply H; right; auto|].
    split; [lra|]. intros b. specialize (I2 b). specialize (Hf b). nra.
  Qed.

  Lemma share_test ws t : weights ws -> bulk ws <= t -> 0 < t -> test (fun b => / t * weigh ws b).
  Proof.
    intros H Hb Ht b. assert (It : 0 < / t) by (apply Rinv_0_lt_compat; auto).
    destruct (weigh_bounds ws H) as [_ W]. specialize (W b). split; [nra|].
    apply Rmult_le_reg_l with t; auto. rewrite <- Rmult_assoc, Rinv_r; lra.
  Qed.

  (** Divided by any t that is at least the bulk, the sum is a test, and its expectation is the sum of expectations. *)
  Lemma weigh_share ws t : weights ws -> bulk ws <= t -> 0 < t ->
    P (fun b => / t * weigh ws b) = / t * weigh_law ws.
  Proof.
    intros H Hb Ht. assert (It : 0 < / t) by (apply Rinv_0_lt_compat; auto).
    induction ws as [|[a f] ws IH]; simpl.
    - rewrite Rmult_0_r. transitivity (P (fun _ => 0)); [|apply E_const; lra]. apply E_ext. intros; ring.
    - destruct (H a f (or_introl eq_refl)) as [Ha Hf].
      assert (H' : weights ws) by (intros x y Hin; apply H; right; auto).
      simpl in Hb. destruct (weigh_bounds ws H') as [B0 _].
      pose proof (share_test _ t H' ltac:(lra) Ht) as T'.
      assert (T : test (fun b => / t * a * f b)).
      { intros b. specialize (Hf b). assert (0 <= / t * a <= 1); [|nra]. split; [nra|].
        apply Rmult_le_reg_l with t; auto. rewrite <- Rmult_assoc, Rinv_r; lra. }
      rewrite Rmult_plus_distr_l, <- IH by (auto; lra).
      rewrite <- Rmult_assoc, <- E_scale; auto; [|nra].
      rewrite <- E_plus; auto.
      + apply E_ext. intros b. ring.
      + intros b. pose proof (share_test ((a, f) :: ws) t H Hb Ht b) as W. simpl in W.
        replace (/ t * a * f b + / t * weigh ws b) with (/ t * (a * f b + weigh ws b)) by ring. auto.
  Qed.

  Lemma weigh_above ws u d : weights ws -> test u -> 0 <= d -> (forall b, u b <= d + weigh ws b) -> P u <= d + weigh_law ws.
  Proof.
    intros H Hu Hd Hle. destruct (weigh_bounds ws H) as [B0 B1].
    set (t := bulk ws + 1). assert (Ht : 0 < t) by (unfold t; lra). assert (Hb : bulk ws <= t) by (unfold t; lra).
    pose proof (share_test ws t H Hb Ht) as T.
    assert (P u <= t * P (fun b => / t * weigh ws b) + d).
    { apply E_le_affine; auto; [lra|]. intros b. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
    specialize (Hle b). lra. }
    rewrite weigh_share in H0 by auto. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l in H0 by lra. lra.
  Qed.

  Lemma weigh_below ws v : weights ws -> test v -> (forall b, weigh ws b <= v b) -> weigh_law ws <= P v.
  Proof.
    intros H Hv Hle. destruct (weigh_bounds ws H) as [B0 B1].
    set (t := bulk ws + 1). assert (Ht : 0 < t) by (unfold t; lra). assert (Hb : bulk ws <= t) by (unfold t; lra).
    pose proof (share_test ws t H Hb Ht) as T. assert (It : 0 < / t) by (apply Rinv_0_lt_compat; auto).
    assert (P (fun b => / t * weigh ws b) <= / t * P v).
    { apply E_le_scale; auto; [lra|]. intros b. apply Rmult_le_compat_l; [lra|]. auto. }
    rewrite weigh_share in H0 by auto. nra.
  Qed.
End Sum.

(* ---------------------------------------------------------------- one release more *)

(** Atoms without a second mass may as well stand beyond. *)
Definition rest_of (E : pair) := filter (fun a => if Rlt_dec 0 (snd a) then true else false) (atoms E).
Definition lone_of (E : pair) := filter (fun a => if Rlt_dec 0 (snd a) then false else true) (atoms E).

Lemma total_split (f : R * R -> R) E : total f (atoms E) = total f (lone_of E) + total f (rest_of E).
Proof.
  unfold rest_of, lone_of. induction (atoms E); simpl; [lra|]. destruct (Rlt_dec _ _); simpl; lra.
Qed.

Section Ask.
  Context {B : Type} (D E : pair) (P Q : law B) (u v : B -> R).
  Hypotheses (HD : proper D) (HE : proper E) (Hu : test u) (Hv : test v).
  Hypothesis release : dominates D P Q.
  Hypothesis after : forall b c, 0 <= c -> u b <= stick E c + c * v b.

  Let order := sorted (rest_of E).
  Let lone := beyond E + total fst (lone_of E).

  Let order_divisible : divisible order.
  Proof.
    intros a Ha. apply (Permutation_in _ (Permutation_sym (sorted_perm _))) in Ha. apply filter_In in Ha.
    destruct Ha as [Ha Hs]. destruct HE as [_ [H _]]. destruct (H a Ha).
    destruct (Rlt_dec 0 (snd a)); [auto|discriminate].
  Qed.

  Let lone_zero a : In a (lone_of E) -> 0 <= fst a /\ snd a = 0.
  Proof.
    intros Ha. apply filter_In in Ha. destruct Ha as [Ha Hs]. destruct HE as [_ [H _]]. destruct (H a Ha).
    destruct (Rlt_dec 0 (snd a)); [discriminate|]. split; auto; lra.
  Qed.

  Let stick_order c : stick E c = lone + total (fun a => part (fst a - c * snd a)) order.
  Proof.
    unfold stick, lone, order. rewrite total_split, (total_perm _ (rest_of E) (sorted (rest_of E))) by apply sorted_perm.
    rewrite <- Rplus_assoc. f_equal. f_equal. apply total_ext. intros a Ha. destruct (lone_zero a Ha) as [H0 H1].
    unfold part. rewrite H1, Rmult_0_r, Rmax_right; lra.
  Qed.

  (** The tests of the release into which that of what follows splits. *)
  Definition taken (j : nat) (b : B) := nth j (fill order (v b)) 0.

  Let taken_test j : test (taken j).
  Proof.
    intros b. unfold taken. destruct (fill_range order (v b) order_divisible ltac:(apply Hv)) as [H _].
    rewrite Forall_forall in H. destruct (nth_in_or_default j (fill order (v b)) 0) as [Hin | ->]; [auto|lra].
  Qed.

  Fixpoint pieces (f : R * R -> R) (l : list (R * R)) (j : nat) : list (R * (B -> R)) :=
    match l with [] => [] | a :: rest => (f a, taken j) :: pieces f rest (S j) end.

  Let pieces_weights f l j : (forall a, In a l -> 0 <= f a) -> weights (pieces f l j).
  Proof.
    revert j. induction l as [|a l IH]; simpl; intros j H x g Hin; [destruct Hin|].
    destruct Hin as [Hin|Hin]; [injection Hin as <- <-; split; auto using taken_test|].
    eapply IH; eauto.
  Qed.

  Let fill_length l w : length (fill l w) = length l.
  Proof. revert w. induction l; simpl; auto. Qed.

  Let pieces_dot f l b j s : length s = length l ->
    (forall i, (i < length l)%nat -> taken (j + i) b = nth i s 0) -> weigh (pieces f l j) b = dot f l s.
  Proof.
    revert j s. induction l as [|a l IH]; intros j s Hs H; destruct s as [|x s]; try discriminate; simpl; auto.
    rewrite (IH (S j) s).
    - specialize (H 0%nat ltac:(simpl; auto with arith)). rewrite Nat.add_0_r in H. rewrite H. reflexivity.
    - simpl in Hs. auto.
    - intros i Hi. specialize (H (S i) ltac:(simpl; auto with arith)). rewrite Nat.add_succ_r in H. exact H.
  Qed.

  Let pieces_law c l j : 0 <= c -> divisible l ->
    weigh_law P (pieces fst l j) - c * weigh_law Q (pieces snd l j) <= total (fun a => stick_at D (fst a) (c * snd a)) l.
  Proof.
    intros Hc. revert j. induction l as [|a l IH]; intros j Hl; simpl; [lra|].
    assert (divisible l) by (intros b Hb; apply Hl; right; auto). specialize (IH (S j) H).
    destruct (Hl a (or_introl eq_refl)) as [H0 H1].
    assert (fst a * P (taken j) - c * snd a * Q (taken j) <= stick_at D (fst a) (c * snd a)); [|lra].
    pose proof (E_test Q (taken j) (taken_test j)).
    destruct H0 as [H0|H0].
    - rewrite stick_at_scale by auto.
      assert (Hs : 0 <= c * snd a / fst a) by (apply Rmult_le_pos; [apply Rmult_le_pos; lra | left; apply Rinv_0_lt_compat; auto]).
      pose proof (release (taken j) (taken_test j) (c * snd a / fst a) Hs) as R0.
      assert (fst a * P (taken j) <= fst a * (stick D (c * snd a / fst a) + c * snd a / fst a * Q (taken j))) by (apply Rmult_le_compat_l; lra).
      rewrite Rmult_plus_distr_l in H3.
      replace (fst a * (c * snd a / fst a * Q (taken j))) with (c * snd a * Q (taken j)) in H3 by (field; lra). lra.
    - rewrite <- H0. pose proof (stick_at_ge D 0 (c * snd a) HD ltac:(lra) ltac:(nra)).
      pose proof (part_0 (0 - c * snd a)). assert (0 <= c * snd a * Q (taken j)) by (apply Rmult_le_pos; nra). lra.
  Qed.

  Theorem ask_step c : 0 <= c -> P u <= stick (times E D) c + c * Q v.
  Proof.
    intros Hc.
    assert (Lone : 0 <= lone).
    { unfold lone. assert (0 <= total fst (lone_of E)) by (apply total_nonneg; intros a Ha; apply lone_zero; auto).
      destruct HE as [? _]. lra. }
    assert (W1 : weights (pieces fst order 0)) by (apply pieces_weights; intros a Ha; apply order_divisible; auto).
    assert (W2 : weights (pieces snd order 0)) by (apply pieces_weights; intros a Ha; left; apply order_divisible; auto).
    assert (Same : forall f b, weigh (pieces f order 0) b = dot f order (fill order (v b))).
    { intros f b. apply pieces_dot; auto. }
    assert (U : P u <= lone + weigh_law P (pieces fst order 0)).
    { apply weigh_above; auto. intros b. rewrite Same.
    apply fill_reaches; auto using sorted_falling; [apply sorted_falling | apply Hv |].
      intros c' Hc'. rewrite <- stick_order. auto. }
    assert (V : weigh_law Q (pieces snd order 0) <= Q v).
    { apply weigh_below; auto. intros b. rewrite Same. apply fill_range; auto. apply Hv. }
    pose proof (pieces_law c order 0 Hc order_divisible) as L.
    assert (c * weigh_law Q (pieces snd order 0) <= c * Q v) by (apply Rmult_le_compat_l; auto).
    rewrite stick_times, total_split, (total_perm _ (rest_of E) order) by apply sorted_perm.
    assert (lone <= beyond E * (beyond D + first_mass D) + total (fun a => stick_at D (fst a) (c * snd a)) (lone_of E)); [|lra].
    pose proof (total_one D HD) as One. unfold lone. apply Rplus_le_compat; [destruct HE as [? _]; nra|].
    apply total_le. intros a Ha. destruct (lone_zero a Ha) as [H0 H1].
    pose proof (stick_at_ge D (fst a) (c * snd a) HD H0 ltac:(rewrite H1; lra)).
    pose proof (part_ge (fst a - c * snd a)). rewrite H1, Rmult_0_r in *. lra.
  Qed.
End Ask.
