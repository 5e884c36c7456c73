(** Every way in which a sum of integer contributions can move. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String Permutation.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.noise Require Import Infer.
From DP.sensitivity Require Import Infer.
From DP.hypotheses Require Import Infer.
From DP.composition Require Import Infer Spread.
From DP.conversions Require Import Relations.
From DP.refutations Require Import Proofs.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Lemma int_floor z : Int_part (IZR z) = z.
Proof. unfold Int_part. rewrite <- (tech_up (IZR z) (z + 1)); rewrite ?plus_IZR; try lra. lia. Qed.

(** A sum over units where one changes. *)
Lemma total_unit (f g : Z -> R) l u : NoDup l -> (forall v, v <> u -> f v = g v) ->
  total f l - total g l = if in_dec Z.eq_dec u l then f u - g u else 0.
Proof.
  induction l as [|a l IH]; intros HN HE; cbn [total].
  - destruct (in_dec Z.eq_dec u []) as [[]|_]. lra.
  - inversion HN as [|? ? N1 N2]; subst. specialize (IH N2 HE). destruct (Z.eq_dec a u) as [->|Ha].
    + assert (total f l = total g l) by (apply total_ext; intros v Hv; apply HE; intros ->; auto).
      destruct (in_dec Z.eq_dec u (u :: l)) as [_|N]; [lra | exfalso; apply N; left; auto].
    + rewrite (HE a Ha). destruct (in_dec Z.eq_dec u l) as [I|I]; destruct (in_dec Z.eq_dec u (a :: l)) as [J|J]; try lra.
      * exfalso. apply J. right; auto.
      * exfalso. destruct J; auto.
Qed.

Lemma filter_permuted {A} (f : A -> bool) l m : Permutation l m -> Permutation (filter f l) (filter f m).
Proof.
  induction 1; cbn [filter].
  - constructor.
  - destruct (f x); [constructor|]; auto.
  - destruct (f x), (f y); try apply Permutation_refl. constructor.
  - eapply perm_trans; eauto.
Qed.

Definition shown (z : Z) : bool := negb (z =? 0)%Z.
Definition shape_of (v : list Z) : list Z := filter shown (map Z.abs v).

Lemma shape_spec v s : shape v s <-> Permutation (shape_of v) (shape_of s).
Proof. unfold shape, shape_of, shown. tauto. Qed.

(** What stands in a list that is sorted and then rid of repetitions. *)
Lemma once_each_in l x : In x l -> In x (once_each l).
Proof.
  induction l as [|a l IH]; [tauto|]. intros Hx. cbn [once_each]. destruct l as [|b l].
  - auto.
  - destruct (z_list_eqb a b) eqn:E.
    + apply (list_eqb_eq Z.eqb (fun a b => proj1 (Z.eqb_eq a b))) in E. subst b. apply IH. destruct Hx as [<-|Hx]; [left; auto | auto].
    + destruct Hx as [<-|Hx]; [left; auto | right; apply IH; auto].
Qed.

Lemma abs_shape l : (forall z, In z l -> (0 <= z)%Z) -> shape_of l = filter shown l.
Proof.
  intros HP. unfold shape_of. f_equal. rewrite <- (map_id l) at 2. apply map_ext_in. intros z Hz. specialize (HP z Hz). lia.
Qed.

Lemma filter_twice {A} (f : A -> bool) l : filter f (filter f l) = filter f l.
Proof. induction l as [|a l IH]; auto. cbn [filter]. destruct (f a) eqn:E; auto. cbn [filter]. rewrite E, IH. auto. Qed.

(** The movement of two vectors has the shape of their difference. *)
Lemma movement_shape a b : Permutation (shape_of (map (fun p => (fst p - snd p)%Z) (combine a b))) (shape_of (filter nonzero (movement a b))).
Proof.
  unfold movement. set (m := map (fun p => Z.abs (fst p - snd p)) (combine a b)).
  assert (P : Permutation m (ZDownSort.sort m)) by apply ZDownSort.Permuted_sort.
  assert (HP : forall z, In z (filter nonzero (ZDownSort.sort m)) -> (0 <= z)%Z).
  { intros z Hz. apply filter_In in Hz. destruct Hz as [Hz _]. apply (Permutation_in _ (Permutation_sym P)) in Hz.
    unfold m in Hz. apply in_map_iff in Hz. destruct Hz as [p [<- _]]. lia. }
  rewrite (abs_shape _ HP). change nonzero with shown. rewrite filter_twice. unfold shape_of. rewrite map_map.
  apply filter_permuted. exact P.
Qed.

Lemma moves_listed points rel a b : In a points -> In b (pairs_of points rel) -> In (filter nonzero (movement a b)) (moves_of points rel).
Proof.
  intros Ha Hb. unfold moves_of. set (found := flat_map _ points).
  apply (Permutation_in _ (ListSort.Permuted_sort _)). apply in_map. apply once_each_in.
  apply (Permutation_in _ (ListSort.Permuted_sort _)). unfold found. apply in_flat_map. exists a. split; auto. apply in_map. auto.
Qed.

(** Up to so many numbers that are one, up to signs. *)
Lemma ones_shape v : (forall z, In z v -> z = 0 \/ z = 1 \/ z = -1)%Z -> shape v (ones (List.length (shape_of v))).
Proof.
  intros HV. apply shape_spec. assert (E : forall n, shape_of (ones n) = ones n) by (induction n; unfold shape_of, ones in *; cbn; congruence).
  rewrite E. replace (ones (List.length (shape_of v))) with (shape_of v); [apply Permutation_refl|].
  unfold shape_of. induction v as [|z v IH]; auto. cbn [map filter]. assert (Hz := HV z (or_introl eq_refl)).
  unfold shown at 1 3. destruct Hz as [->|[->| ->]]; cbn; [|f_equal|f_equal]; apply IH; intros x Hx; apply HV; right; auto.
Qed.

Lemma floor_most (z : Z) q : IZR z <= Q2R q -> (z <= floor_of q)%Z.
Proof.
  intros HZ. unfold floor_of. apply Z.div_le_lower_bound; [reflexivity|]. apply le_IZR. rewrite mult_IZR.
  unfold Q2R in HZ. assert (0 < IZR (Zpos (Qden q))) by (apply IZR_lt; reflexivity).
  apply Rmult_le_compat_l with (r := IZR (Zpos (Qden q))) in HZ; [|lra]. replace (IZR (Zpos (Qden q)) * (IZR (Qnum q) * / IZR (Zpos (Qden q)))) with (IZR (Qnum q)) in HZ by (field; lra). auto.
Qed.

Definition sub (a b : list Z) : list Z := map (fun p => (fst p - snd p)%Z) (combine a b).

Lemma sub_turned a : forall b, shape_of (sub a b) = shape_of (sub b a).
Proof.
  unfold shape_of, sub. intros b. f_equal. rewrite !map_map. revert b. induction a as [|x a IH]; intros [|y b]; auto. cbn [combine map fst snd]. f_equal; [lia | apply IH].
Qed.

(** No more numbers differ from zero than stand in either. *)
Lemma differing a : forall b, (forall z, In z a \/ In z b -> z = 0 \/ z = 1)%Z -> 
  (forall z, In z (sub a b) -> z = 0 \/ z = 1 \/ z = -1)%Z /\ INR (List.length (shape_of (sub a b))) <= total IZR a + total IZR b.
Proof.
  induction a as [|x a IH]; intros b HZ.
  - unfold sub; simpl. split; [tauto|]. rewrite Rplus_0_l. apply total_nonneg. intros z Hz. destruct (HZ z (or_intror Hz)) as [->| ->]; lra.
  - destruct b as [|y b].
    + unfold sub; simpl. split; [tauto|]. rewrite Rplus_0_r. apply (total_nonneg IZR (x :: a)). intros z Hz. destruct (HZ z (or_introl Hz)) as [->| ->]; lra.
    + destruct (IH b) as [I1 I2]; [intros z Hz; apply HZ; destruct Hz; [left|right]; right; auto|].
      assert (Hx := HZ x (or_introl (or_introl eq_refl))). assert (Hy := HZ y (or_intror (or_introl eq_refl))).
      unfold sub in *. cbn [combine map fst snd total]. split.
      * intros z [<-|Hz]; [lia | auto].
      * unfold shape_of in *. cbn [map filter]. unfold shown at 1. destruct Hx as [->| ->], Hy as [->| ->]; cbn [Z.sub Z.abs Z.add Z.opp Z.pos_sub Z.eqb negb List.length]; rewrite ?S_INR; lra.
Qed.

Lemma map_minus (fa fb : nat -> R) : forall places A B, map IZR A = map fa places -> map IZR B = map fb places ->
  map (fun j => fa j - fb j) places = map IZR (sub A B).
Proof.
  induction places as [|j js IH]; intros [|a A] [|b B] EA EB; try discriminate; auto. cbn [map] in EA, EB. injection EA as Ea EA. injection EB as Eb EB.
  unfold sub in *. cbn [combine map fst snd]. f_equal; [rewrite minus_IZR; lra | apply IH; auto].
Qed.

Theorem differences_sound : sound_rule "differences".
Proof.
  intros st HR. destruct st; try discriminate HR. clear HR. intros W found n HW HH HM HF _.
  one_premise found l. pose proof (Forall_inv HH) as Hl. pose proof (Forall_inv HM) as Ml.
  destruct (restated ByDifferences l n eq_refl I HF) as [ds [gone [Ei [Ea [Eg [Ep [Ev [_ [_ Ech]]]]]]]]].
  cbn [infer sensitivity] in Ei. unfold list_of_moves in Ei.
  destruct (says l) as [| |q set0 low high points rel source| | | | | | | | | | | |] eqn:Hs; try discriminate.
  assert (Hch : changes n = []) by (rewrite Ech; reflexivity).
  assert (Hb : bare n) by (apply (bare_line l n); auto; apply Ml; rewrite Hs; auto).
  destruct Ml as [_ [_ Ml]]. rewrite Hs in Ml. destruct Ml as [_ [Hsimple [_ [_ Hdim]]]].
  unfold holds in Hl. rewrite Hs in Hl. destruct Hl as [Hsum [Hset [Hone _]]].
  set (N := size W q) in *. set (places := seq 0 N) in *.
  set (zero := map (fun _ : nat => 0%Z) places).
  set (vec := fun o i h u r => map (fun j => Int_part (adds W q o i h u r j)) places).
  assert (G : exists shifts, says n = Shifts q shifts rel /\
    forall o i h u, (forall x y : option (record W), (x <> None \/ y <> None) ->
      (match rel with ReplaceOne => x <> None /\ y <> None | _ => x = None \/ y = None end) ->
      (forall r, x = Some r \/ y = Some r -> takes_part W q o i h u r = true) ->
      (forall r j, x = Some r \/ y = Some r -> (j < N)%nat -> adds W q o i h u r j = IZR (nth j (vec o i h u r) 0%Z)) /\
      exists s, In s shifts /\ shape (sub (match x with Some r => vec o i h u r | None => zero end) (match y with Some r => vec o i h u r | None => zero end)) s)).
  { assert (Hint : forall o i h u r j, (j < N)%nat -> nth j (vec o i h u r) 0%Z = Int_part (adds W q o i h u r j)).
    { intros o i h u r j Hj. unfold vec. rewrite (nth_indep _ 0%Z (Int_part (adds W q o i h u r 0%nat))) by (rewrite map_length; unfold places; rewrite seq_length; auto).
      rewrite (map_nth (fun j => Int_part (adds W q o i h u r j))). unfold places. rewrite seq_nth by auto. auto. }
    destruct set0; try discriminate.
    - (* cells *)
      match type of Ei with Some ?x = Some _ => assert (Ei' : says n = x) by congruence end. eexists. split; [exact Ei'|]. intros o i h u x y Hxy Hrel Htakes.
      assert (Hcell : forall r, x = Some r \/ y = Some r -> (forall z, In z (vec o i h u r) -> z = 0 \/ z = 1)%Z /\ total IZR (vec o i h u r) <= Q2R high /\
        forall j, (j < N)%nat -> adds W q o i h u r j = IZR (nth j (vec o i h u r) 0%Z)).
      { intros r Hr. destruct (Hset o i h u r (Htakes r Hr)) as [C1 C2].
        assert (C : forall j, (j < N)%nat -> IZR (Int_part (adds W q o i h u r j)) = adds W q o i h u r j /\ (Int_part (adds W q o i h u r j) = 0 \/ Int_part (adds W q o i h u r j) = 1)%Z).
        { intros j Hj. destruct (C1 j) as [E|E]; [apply in_seq; lia| |]; rewrite E.
          - change 0 with (IZR 0). rewrite int_floor. auto.
          - change 1 with (IZR 1). rewrite int_floor. auto. }
        split; [|split].
        - intros z Hz. unfold vec in Hz. apply in_map_iff in Hz. destruct Hz as [j [<- Hj]]. apply in_seq in Hj. apply C. lia.
        - apply Rle_trans with (2 := C2). right. unfold vec. rewrite total_map. apply total_ext. intros j Hj. apply in_seq in Hj. apply C. lia.
        - intros j Hj. rewrite Hint by auto. symmetry. apply C; auto. }
      split; [intros r j Hr Hj; apply (Hcell r Hr); auto|].
      set (A := match x with Some r => vec o i h u r | None => zero end). set (B := match y with Some r => vec o i h u r | None => zero end).
      assert (Hzero : (forall z, In z zero -> z = 0 \/ z = 1)%Z /\ total IZR zero = 0).
      { split; [intros z Hz; unfold zero in Hz; apply in_map_iff in Hz; destruct Hz as [j [<- _]]; auto|]. unfold zero. rewrite total_map. apply total_zero. auto. }
      assert (HA : (forall z, In z A -> z = 0 \/ z = 1)%Z /\ total IZR A <= match x with Some _ => Q2R high | None => 0 end).
      { unfold A. destruct x as [r|]; [destruct (Hcell r (or_introl eq_refl)) as [H1 [H2 _]]; auto | destruct Hzero; split; auto; lra]. }
      assert (HB : (forall z, In z B -> z = 0 \/ z = 1)%Z /\ total IZR B <= match y with Some _ => Q2R high | None => 0 end).
      { unfold B. destruct y as [r|]; [destruct (Hcell r (or_intror eq_refl)) as [H1 [H2 _]]; auto | destruct Hzero; split; auto; lra]. }
      destruct HA as [HA1 HA2], HB as [HB1 HB2]. destruct (differing A B) as [D1 D2]; [intros z [Hz|Hz]; auto|].
      exists (ones (List.length (shape_of (sub A B)))). split; [|apply ones_shape; auto].
      apply in_map, in_seq. split; [lia|].
      set (m := List.length (shape_of (sub A B))) in *. rewrite INR_IZR_INZ in D2.
      assert (Hm : (Z.of_nat m <= floor_of (if replaces rel then plus high high else high))%Z).
      { apply floor_most. destruct rel; cbn [simple_relation] in Hsimple; try discriminate; cbn [replaces relation_eqb].
        - destruct Hrel as [Hx Hy]. rewrite plus_R. clear - HA2 HB2 D2 Hx Hy. clearbody A B. destruct x; [|congruence]. destruct y; [|congruence]. lra.
        - clear - HA2 HB2 D2 Hrel Hxy. clearbody A B. destruct x; destruct y; try lra; destruct Hrel, Hxy; congruence. }
      lia.
    - (* listed vectors *)
      destruct (negb (too_many points rel)); [|discriminate]. match type of Ei with Some ?x = Some _ => assert (Ei' : says n = x) by congruence end. eexists. split; [exact Ei'|]. intros o i h u x y Hxy Hrel Htakes.
      assert (Hpoint : forall r, x = Some r \/ y = Some r -> In (vec o i h u r) points /\ forall j, (j < N)%nat -> adds W q o i h u r j = IZR (nth j (vec o i h u r) 0%Z)).
      { intros r Hr. destruct (Hset o i h u r (Htakes r Hr)) as [p [P1 [P2 P3]]].
        assert (Evec : vec o i h u r = p).
        { apply (nth_ext _ _ 0%Z 0%Z).
          - unfold vec. rewrite map_length. unfold places. rewrite seq_length. auto.
          - intros j Hj. unfold vec in Hj. rewrite map_length in Hj. unfold places in Hj. rewrite seq_length in Hj. rewrite Hint by auto.
            rewrite (P3 j) by (apply in_seq; lia). apply int_floor. }
        rewrite Evec. split; auto. intros j Hj. apply P3. apply in_seq. lia. }
      split; [intros r j Hr Hj; apply (Hpoint r Hr); auto|].
      assert (Hz : forall r, x = Some r \/ y = Some r -> map (fun _ : Z => 0%Z) (hd [] points) = zero).
      { intros r Hr. destruct (Hpoint r Hr) as [Hin _]. specialize (Hdim _ Hin).
        assert (L : List.length (hd [] points) = List.length places) by (rewrite <- Hdim; unfold vec; apply map_length).
        unfold zero. clear - L. revert L. generalize (hd [] points) places. induction l as [|a l IH]; intros [|b m] L; try discriminate; auto. cbn [map]. f_equal. apply IH. simpl in L; lia. }
      destruct rel; cbn [simple_relation] in Hsimple; try discriminate.
      + destruct Hrel as [Hx Hy]. destruct x as [r|]; [|congruence]. destruct y as [r'|]; [|congruence].
        exists (filter nonzero (movement (vec o i h u r) (vec o i h u r'))). split; [apply moves_listed; [apply Hpoint; auto | apply (Hpoint r'); auto] | apply shape_spec, movement_shape].
      + destruct x as [r|].
        * assert (Ey : y = None) by (destruct Hrel; congruence). rewrite Ey. exists (filter nonzero (movement (vec o i h u r) zero)).
          split; [apply moves_listed; [apply (Hpoint r); auto | cbn [pairs_of]; left; apply (Hz r); auto] | apply shape_spec, movement_shape].
        * destruct y as [r|]; [|destruct Hxy; congruence]. exists (filter nonzero (movement (vec o i h u r) zero)).
          split; [apply moves_listed; [apply (Hpoint r); auto | cbn [pairs_of]; left; apply (Hz r); auto]|].
          apply shape_spec. change (map (fun p => (fst p - snd p)%Z) (combine zero (vec o i h u r))) with (sub zero (vec o i h u r)).
          fold (sub zero (vec o i h u r)). rewrite sub_turned. apply movement_shape. }
  destruct G as [shifts [Hn G]]. split.
  2: { unfold well_made. rewrite Hn. split; [auto|]. split; [destruct Hb as [_ [-> _]]; intros k []|]. auto. }
  unfold holds. rewrite Hn. intros Hsteady o d d' Hd.
  assert (Hpair : exists u, only_at u d d' /\ (d u <> None \/ d' u <> None) /\ match rel with ReplaceOne => d u <> None /\ d' u <> None | _ => d u = None \/ d' u = None end).
  { destruct rel; cbn [simple_relation] in Hsimple; try discriminate.
    - destruct Hd as [u [r [r' [E1 [E2 HO]]]]]. exists u. rewrite E1, E2. repeat split; auto; try congruence. left; congruence.
    - destruct Hd as [[u [r [E1 [E2 HO]]]]|[u [r [E1 [E2 HO]]]]]; exists u; rewrite E1, E2; repeat split; auto; try (left; congruence); try (right; congruence).
      apply only_at_sym; auto. }
  destruct Hpair as [u [HO [Hxy Hrel]]].
  (* what changes at a release *)
  set (there := fun i h => match in_dec Z.eq_dec u (units_there W) with
    | left _ => match d u, d' u with Some r, _ => takes_part W q o i h u r | None, Some r => takes_part W q o i h u r | None, None => false end
    | right _ => false end).
  set (move := fun i h => sub (match d u with Some r => vec o i h u r | None => zero end) (match d' u with Some r => vec o i h u r | None => zero end)).
  assert (Htake : forall i h r, there i h = true -> d u = Some r \/ d' u = Some r -> takes_part W q o i h u r = true).
  { intros i h r Ht Hr. unfold there in Ht. destruct (in_dec Z.eq_dec u (units_there W)); [|discriminate].
    destruct (d u) as [r1|]; destruct (d' u) as [r2|]; destruct Hr as [Hr|Hr]; try discriminate; injection Hr as <-; auto; rewrite (Hsteady o i h u _ r1); auto. }
  assert (Hdiff : forall k p i h, differences W (numbers_of W k p q [] o i h) d d' = map IZR (if there i h then move i h else zero)).
  { intros k p i h. unfold differences. cbn [numbers_of]. rewrite map_map. fold N. fold places.
    assert (Hj : forall j, (j < N)%nat -> value W q o i h d j - value W q o i h d' j =
      if there i h then (match d u with Some r => adds W q o i h u r j | None => 0 end) - (match d' u with Some r => adds W q o i h u r j | None => 0 end) else 0).
    { intros j Hj. rewrite !Hsum.
      rewrite (total_unit _ _ (units_there W) u) by (try apply HW; intros v Hv; rewrite (HO v Hv); auto).
      cbv beta. unfold there. destruct (in_dec Z.eq_dec u (units_there W)); auto.
      destruct (d u) as [r1|]; destruct (d' u) as [r2|].
      - rewrite (Hsteady o i h u r2 r1). destruct (takes_part W q o i h u r1); lra.
      - destruct (takes_part W q o i h u r1); lra.
      - destruct (takes_part W q o i h u r2); lra.
      - lra. }
    transitivity (map (fun j => value W q o i h d j - value W q o i h d' j) places); [reflexivity|].
    destruct (there i h) eqn:Et.
    - destruct (G o i h u (d u) (d' u) Hxy Hrel (fun r Hr => Htake i h r Et Hr)) as [GA _].
      assert (Enth : forall x : option (record W), x = d u \/ x = d' u -> map IZR (match x with Some r => vec o i h u r | None => zero end) = map (fun j => match x with Some r => adds W q o i h u r j | None => 0 end) places).
      { intros x Hx. destruct x as [r|].
        - unfold vec. rewrite map_map. apply map_ext_in. intros j Hjj. apply in_seq in Hjj.
          assert (Hr : d u = Some r \/ d' u = Some r) by (destruct Hx; auto). specialize (GA r j Hr ltac:(lia)).
          unfold vec in GA. rewrite (nth_indep _ 0%Z (Int_part (adds W q o i h u r 0%nat))) in GA by (rewrite map_length; unfold places; rewrite seq_length; lia).
          rewrite (map_nth (fun j => Int_part (adds W q o i h u r j))) in GA. unfold places in GA. rewrite seq_nth in GA by lia. symmetry. exact GA.
        - unfold zero. rewrite map_map. auto. }
      unfold move. rewrite (map_ext_in _ (fun j => (match d u with Some r => adds W q o i h u r j | None => 0 end) - (match d' u with Some r => adds W q o i h u r j | None => 0 end))) by (intros j Hjj; apply in_seq in Hjj; apply Hj; lia).
      apply (map_minus (fun j => match d u with Some r => adds W q o i h u r j | None => 0 end) (fun j => match d' u with Some r => adds W q o i h u r j | None => 0 end)).
      + apply (Enth (d u)). auto.
      + apply (Enth (d' u)). auto.
    - unfold zero. rewrite map_map. apply map_ext_in. intros j Hjj. apply in_seq in Hjj. rewrite Hj by lia. auto. }
  assert (Hzero : shape zero []).
  { apply shape_spec. unfold shape_of, zero. rewrite map_map. generalize places. clear. intros l. induction l as [|j js IH]; [apply Permutation_refl | exact IH]. }
  assert (Hinj : forall v v' : list Z, map IZR v = map IZR v' -> v = v').
  { clear. induction v as [|a v IH]; intros [|b v'] E; try discriminate; auto. injection E as E1 E2. f_equal; [apply eq_IZR; auto | auto]. }
  split.
  - intros k p i h. exists (if there i h then move i h else zero). split; [apply Hdiff|]. destruct (there i h) eqn:Et; auto. right.
    destruct (G o i h u (d u) (d' u) Hxy Hrel (fun r Hr => Htake i h r Et Hr)) as [_ GS]. exact GS.
  - intros Ho k p i i' h h' v v' He E1 E2. rewrite Hdiff in E1, E2. apply Hinj in E1, E2. subst v v'.
    destruct (there i h) eqn:Et; [|left; auto]. destruct (there i' h') eqn:Et'; [|right; left; auto]. right; right.
    unfold move. assert (Evec : forall r, d u = Some r \/ d' u = Some r -> vec o i h u r = vec o i' h' u r).
    { intros r Hr. unfold vec. apply map_ext. intros j. f_equal.
      assert (T1 := Htake i h r Et Hr). assert (T2 := Htake i' h' r Et' Hr). rewrite (Hone o i' h' i h u r Ho He T2 T1). auto. }
    destruct (d u) as [r1|]; destruct (d' u) as [r2|]; rewrite ?(Evec r1), ?(Evec r2) by auto; auto.
Qed.
