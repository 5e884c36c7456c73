(** Cells that a record's own value chooses: it is in one, or leaves one and enters another. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String FunctionalExtensionality.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Bounds Powers Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.noise Require Import Infer.
From DP.composition Require Import Infer Views Compose Parts Spread.
From DP.conversions Require Import Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- amounts *)

Lemma nth_zip f a : forall b k, (k < List.length a)%nat -> (k < List.length b)%nat -> nth k (zip_with f a b) 0%Q = f (nth k a 0%Q) (nth k b 0%Q).
Proof.
  induction a as [|x a IH]; intros [|y b] k Ha Hb; simpl in *; try lia. destruct k; auto. apply IH; lia.
Qed.

Lemma zip_length f a : forall b, List.length (zip_with f a b) = Nat.min (List.length a) (List.length b).
Proof. induction a as [|x a IH]; intros [|y b]; simpl; auto. Qed.

Lemma alike_length a b x y : alike a b = true -> amounts a = Some x -> amounts b = Some y -> List.length x = List.length y.
Proof.
  destruct a, b; simpl; intros HA Hx Hy; try discriminate; injection Hx as <-; injection Hy as <-; auto.
  rewrite !map_length. apply (list_eqb_eq q_eqb q_eqb_eq) in HA. apply (f_equal (@List.length Q)) in HA. rewrite !map_length in HA. auto.
Qed.

(** A curve of the same kind with larger amounts. *)
Lemma rebuilt_covers law new total c am : alike law c = true -> amounts c = Some am -> rebuilt law new = Some total ->
  (forall k, (k < List.length new)%nat -> Q2R (nth k am 0%Q) <= Q2R (nth k new 0%Q)) -> covers_curve c total.
Proof.
  intros HA Ham HR HL.
  destruct law, c; try discriminate; simpl in Ham; injection Ham as <-; cbn [rebuilt] in HR.
  1, 3, 4, 6: destruct new as [|x [|]]; try discriminate; injection HR as <-; simpl; apply (HL 0%nat); simpl; lia.
  1, 2: destruct new as [|x [|y [|]]]; try discriminate; injection HR as <-; simpl; split; [apply (HL 0%nat); simpl; lia | apply (HL 1%nat); simpl; lia].
  destruct (_ =? _)%nat eqn:El; [|discriminate]. injection HR as <-. apply Nat.eqb_eq in El. simpl in HA. clear total0 || idtac.
  revert points0 new El HA HL. induction points as [|[a x] points IH]; intros points0 new El HA HL o y Hin; [destruct Hin|].
  destruct points0 as [|[a' x'] points0]; [discriminate|]. destruct new as [|z new]; [discriminate|]. cbn in HA. apply andb_prop in HA. destruct HA as [E1 HA].
  apply q_eqb_eq in E1. subst a'. destruct Hin as [E|Hin].
  - injection E as <- <-. exists x'. split; [left; auto|]. apply (HL 0%nat). simpl; lia.
  - destruct (IH points0 new) with (o := o) (y := y) as [w [Hw Hle]]; auto.
    + intros k Hk. apply (HL (S k)). simpl. lia.
    + exists w. split; [right; auto | auto].
Qed.

Lemma alike_trans a b c : alike a b = true -> alike a c = true -> alike b c = true.
Proof.
  destruct a, b; simpl; try discriminate; destruct c; simpl; try discriminate; auto.
  intros H1 H2. apply (list_eqb_eq q_eqb q_eqb_eq) in H1, H2. rewrite <- H1, <- H2. apply (list_eqb_refl q_eqb q_eqb_refl).
Qed.

Lemma combine_fst {A B} (l : list A) : forall (m : list B), List.length l = List.length m -> map fst (combine l m) = l.
Proof. induction l as [|a l IH]; intros [|b m] E; try discriminate; simpl in *; auto. f_equal. auto. Qed.
Lemma combine_snd {A B} (l : list A) : forall (m : list B), List.length l = List.length m -> map snd (combine l m) = m.
Proof. induction l as [|a l IH]; intros [|b m] E; try discriminate; simpl in *; auto. f_equal. auto. Qed.

Lemma joined_exists a b am bm : alike a b = true -> amounts a = Some am -> amounts b = Some bm ->
  exists s, joined plus a b = Some s /\ alike a s = true /\ amounts s = Some (zip_with plus am bm).
Proof.
  intros HA Ha Hb. unfold joined. rewrite HA, Ha, Hb.
  destruct a, b; try discriminate; simpl in Ha, Hb; injection Ha as <-; injection Hb as <-; cbn [rebuilt zip_with]; try (eexists; split; [reflexivity|split; reflexivity]).
  pose proof HA as HA'. simpl in HA'. apply (list_eqb_eq q_eqb q_eqb_eq) in HA'.
  assert (El : List.length points = List.length (zip_with plus (map snd points) (map snd points0))).
  { apply (f_equal (@List.length Q)) in HA'. rewrite !map_length in HA'. rewrite zip_length, !map_length. lia. }
  rewrite <- El, Nat.eqb_refl. eexists. split; [reflexivity|]. cbn [alike amounts]. rewrite combine_fst, combine_snd by (rewrite map_length; auto).
  split; auto. apply (list_eqb_refl q_eqb q_eqb_refl).
Qed.

Lemma two_largest_spec l : forall a b, Q2R b <= Q2R a -> Q2R a + Q2R b <= Q2R (two_largest a b l) /\
  (forall x, In x l -> Q2R a + Q2R x <= Q2R (two_largest a b l)) /\
  (forall i j, i <> j -> (i < List.length l)%nat -> (j < List.length l)%nat -> Q2R (nth i l 0%Q) + Q2R (nth j l 0%Q) <= Q2R (two_largest a b l)).
Proof.
  induction l as [|x l IH]; intros a b Hab; cbn [two_largest].
  - rewrite plus_R. split; [lra|split; [intros ? []|]]. intros i j _ Hi. simpl in Hi. lia.
  - assert (G : forall a' b', Q2R b' <= Q2R a' -> Q2R a <= Q2R a' -> Q2R a + Q2R b <= Q2R a' + Q2R b' -> Q2R a + Q2R x <= Q2R a' + Q2R b' -> Q2R x <= Q2R a' ->
      Q2R a + Q2R b <= Q2R (two_largest a' b' l) /\ (forall y, In y (x :: l) -> Q2R a + Q2R y <= Q2R (two_largest a' b' l)) /\
      (forall i j, i <> j -> (i < List.length (x :: l))%nat -> (j < List.length (x :: l))%nat -> Q2R (nth i (x :: l) 0%Q) + Q2R (nth j (x :: l) 0%Q) <= Q2R (two_largest a' b' l))).
    { intros a' b' H1 H2 H3 H4 H5. destruct (IH a' b' H1) as [I1 [I2 I3]]. split; [lra|split].
      - intros y [<-|Hy]; [lra|]. specialize (I2 y Hy). lra.
      - intros i j Hij Hi Hj. destruct i, j; try congruence; cbn [nth List.length] in *.
        + specialize (I2 (nth j l 0%Q) ltac:(apply nth_In; lia)). lra.
        + specialize (I2 (nth i l 0%Q) ltac:(apply nth_In; lia)). lra.
        + apply I3; lia. }
    assert (B : forall u v, Steps.below u v = false -> Q2R v <= Q2R u).
    { intros u v E. apply Rnot_lt_le. intros N. apply below_R in N. congruence. }
    destruct (Steps.below a x) eqn:E1; [apply below_R in E1; apply G; lra|]. apply B in E1.
    destruct (Steps.below b x) eqn:E2; [apply below_R in E2; apply G; lra|]. apply B in E2. apply G; lra.
Qed.

Lemma two_dearest_spec l i j : i <> j -> (i < List.length l)%nat -> (j < List.length l)%nat ->
  Q2R (nth i l 0%Q) + Q2R (nth j l 0%Q) <= Q2R (two_dearest l).
Proof.
  intros Hij Hi Hj. destruct l as [|x [|y l]]; simpl in Hi, Hj; try lia. cbn [two_dearest].
  assert (G : forall a b, (a = x /\ b = y) \/ (a = y /\ b = x) -> Q2R b <= Q2R a -> Q2R (nth i (x :: y :: l) 0%Q) + Q2R (nth j (x :: y :: l) 0%Q) <= Q2R (two_largest a b l)).
  { intros a b Hab H1. destruct (two_largest_spec l a b H1) as [I1 [I2 I3]].
    assert (J : forall k, (k < List.length l)%nat -> Q2R a + Q2R (nth k l 0%Q) <= Q2R (two_largest a b l)) by (intros k Hk; apply I2, nth_In; auto).
    destruct i as [|[|i]], j as [|[|j]]; try congruence; cbn [nth]; destruct Hab as [[-> ->]|[-> ->]];
      try lra; try (specialize (J j ltac:(lia)); lra); try (specialize (J i ltac:(lia)); lra); apply I3; lia. }
  destruct (Steps.below x y) eqn:E.
  - apply below_R in E. apply G; auto. lra.
  - apply G; auto. apply Rnot_lt_le. intros N. apply below_R in N. congruence.
Qed.

(* ---------------------------------------------------------------- one pair of datasets *)

Section Pair.
  Context {M X : Type} (draw : X -> history M -> law M).
  Local Notation H := (history M).

  Definition pair_of (d d' : X) : X -> X -> Prop := fun x x' => x = d /\ x' = d'.

  Lemma every_pair (near : X -> X -> Prop) c g : is_pairwise c = true ->
    (forall d d', near d d' -> satisfies (pair_of d d') draw c g (only g)) -> satisfies near draw c g (only g).
  Proof.
    intros Hc HP. apply (satisfies_pairwise near draw c g (only g) Hc). intros g' -> x x' Hx.
    apply (proj1 (satisfies_pairwise (pair_of x x') draw c g (only g) Hc) (HP x x' Hx) g); [reflexivity | split; auto].
  Qed.

  (** Nothing of it is paid for by others that do not tell the two apart. *)
  Lemma pair_free d d' c g F : amounts c <> None -> is_pairwise c = true -> curve_sane c -> (forall h, F h = true -> same (draw d h) (draw d' h)) ->
    satisfies (pair_of d d') draw c g (only g) -> satisfies (pair_of d d') draw c (fun h => g h || F h)%bool (only (fun h => g h || F h)%bool).
  Proof.
    intros Ha Hc Hs HF HS. unfold satisfies, only in *. destruct c; try discriminate; intros g' ->; try (intros x x' [-> ->]).
    - apply adds_up_free; auto using pure_grows, pure_free. apply (HS g eq_refl); split; auto.
    - apply approximate_free; auto. apply (HS g eq_refl); split; auto.
    - apply adds_up_free; auto using zcdp_grows, zcdp_free. apply (HS g eq_refl); split; auto.
    - apply adds_up_free; auto using gdp_grows, gdp_free. apply (HS g eq_refl); split; auto.
    - apply adds_up_free; auto using range_grows, range_free. apply (HS g eq_refl); split; auto.
    - intros o b Hin x x' [-> ->]. destruct (Hs o b Hin) as [Ho _].
      assert (Ht : 1 < Q2R o / (Q2R o - 1)).
      { apply Rmult_lt_reg_r with (Q2R o - 1); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
      apply adds_up_free; auto using renyi_grows, renyi_free. apply (HS g eq_refl o b Hin); split; auto.
  Qed.

  (** The same releases, drawn alike on two other datasets. *)
  Lemma pair_same d d' e e' c g : is_pairwise c = true -> curve_sane c -> (forall h, g h = true -> same (draw e h) (draw d h) /\ same (draw e' h) (draw d' h)) ->
    satisfies (pair_of e e') draw c g (only g) -> satisfies (pair_of d d') draw c g (only g).
  Proof.
    intros Hc Hs HE HS. apply (satisfies_pairwise (pair_of d d') draw c g (only g) Hc). intros g' -> x x' [-> ->].
    apply (pair_ok_same c g (draw e) (draw e')); auto.
    - destruct c; auto. intros o b Hin. apply (Hs o b Hin).
    - apply (proj1 (satisfies_pairwise (pair_of e e') draw c g (only g) Hc) HS g); [reflexivity | split; auto].
  Qed.
End Pair.

(* ---------------------------------------------------------------- cells *)

Definition only_cell {R0} (cell : R0 -> string) (c : string) (d : data R0) : data R0 :=
  fun u => match d u with Some r => if String.eqb (cell r) c then Some r else None | None => None end.

Section Cells.
  Context {M R0 : Type} (distance : R0 -> R0 -> R) (draw : data R0 -> history M -> law M) (cell : R0 -> string).
  Local Notation H := (history M).

  (** A cell: its name, its curve for each of the relations, and its releases. *)
  Record one_cell := Cell { name : string; entering : curve; inside : curve; asks_of : H -> bool }.
  Variable cells : list one_cell.
  Hypothesis once : NoDup (map name cells).
  Hypothesis all_there : forall r, In (cell r) (map name cells).
  Hypothesis reading : forall x, In x cells -> forall h d, asks_of x h = true -> same (draw d h) (draw (only_cell cell (name x) d) h).
  Let g := fun h : H => existsb (fun x => asks_of x h) cells.

  Lemma untouched u (d d' : data R0) c : only_at u d d' -> (forall r, d u = Some r -> cell r <> c) -> (forall r, d' u = Some r -> cell r <> c) ->
    only_cell cell c d = only_cell cell c d'.
  Proof.
    intros HO H1 H2. apply functional_extensionality. intros v. unfold only_cell. destruct (Z.eq_dec v u) as [->|Hv]; [|rewrite (HO v Hv); auto].
    destruct (d u) as [r|]; destruct (d' u) as [r'|]; try (specialize (H1 _ eq_refl)); try (specialize (H2 _ eq_refl)); auto;
      repeat match goal with H : cell ?r <> c |- _ => apply (proj2 (String.eqb_neq (cell r) c)) in H; rewrite H end; auto.
  Qed.

  Lemma quiet u d d' x h : In x cells -> only_at u d d' -> (forall r, d u = Some r -> cell r <> name x) -> (forall r, d' u = Some r -> cell r <> name x) ->
    asks_of x h = true -> same (draw d h) (draw d' h).
  Proof.
    intros Hx HO H1 H2 Hh. eapply same_trans; [apply (reading x Hx h d Hh)|]. rewrite (untouched u d d' (name x) HO H1 H2). apply same_sym, (reading x Hx h d' Hh).
  Qed.

  Lemma one_of_name x y : In x cells -> In y cells -> name x = name y -> x = y.
  Proof.
    clear - once. induction cells as [|a l IH]; intros Hx Hy E; [destruct Hx|]. inversion once as [|? ? N1 N2]; subst.
    destruct Hx as [<-|Hx], Hy as [<-|Hy]; auto; exfalso; apply N1; [rewrite E | rewrite <- E]; apply in_map; auto.
  Qed.

  Lemma cell_of r : exists x, In x cells /\ name x = cell r.
  Proof. specialize (all_there r). apply in_map_iff in all_there. destruct all_there as [x [E Hx]]. eauto. Qed.

  (** Only what one cell shows is paid for. *)
  Lemma one_pays d d' c total x : amounts total <> None -> is_pairwise total = true -> curve_sane total -> curve_sane c -> In x cells ->
    (forall y, In y cells -> y <> x -> forall h, asks_of y h = true -> same (draw d h) (draw d' h)) ->
    covers_curve c total -> satisfies (pair_of d d') draw c (asks_of x) (only (asks_of x)) -> satisfies (pair_of d d') draw total g (only g).
  Proof.
    intros Ha Hp Hs Hsc Hx HF HC HS.
    apply (satisfies_covers _ _ c total) in HS; auto.
    apply (pair_free draw d d' total (asks_of x) (fun h => g h && negb (asks_of x h))%bool) in HS; auto.
    - replace g with (fun h => asks_of x h || g h && negb (asks_of x h))%bool; auto. apply functional_extensionality. intros h.
      destruct (asks_of x h) eqn:E; simpl; [|apply andb_true_r]. symmetry. apply existsb_exists. eauto.
    - intros h Hh. apply andb_prop in Hh. destruct Hh as [Hh Hn]. apply existsb_exists in Hh. destruct Hh as [y [Hy Hyh]].
      apply (HF y Hy); auto. intros ->. rewrite Hyh in Hn. discriminate.
  Qed.

  (** What two cells show. *)
  Lemma two_pay d d' total x y s : amounts total <> None -> is_pairwise total = true -> curve_sane total -> In x cells -> In y cells ->
    curve_sane (entering x) -> curve_sane (entering y) -> is_range (Private "" (entering x) ReplaceOne Central None) = false ->
    joined plus (entering x) (entering y) = Some s -> covers_curve s total ->
    (forall z, In z cells -> z <> x -> z <> y -> forall h, asks_of z h = true -> same (draw d h) (draw d' h)) ->
    satisfies (pair_of d d') draw (entering x) (asks_of x) (only (asks_of x)) ->
    satisfies (pair_of d d') draw (entering y) (asks_of y) (only (asks_of y)) -> satisfies (pair_of d d') draw total g (only g).
  Proof.
    intros Ha Hp Hs Hx Hy Sx Sy Hr HJ HC HF H1 H2.
    assert (HS : satisfies (pair_of d d') draw s (fun h => asks_of x h || asks_of y h)%bool (only (fun h => asks_of x h || asks_of y h)%bool)).
    { apply (satisfies_two _ _ draw draw (asks_of x) (asks_of y) (asks_of x) (asks_of y) (entering x) (entering y)); auto.
      destruct (entering x); auto. intros o r Hin. apply (Sx o r Hin). }
    destruct (joined_cases _ _ _ HJ) as [_ [_ [_ Hss]]]. apply (satisfies_covers _ _ s total) in HS; auto.
    apply (pair_free draw d d' total _ (fun h => g h && negb (asks_of x h || asks_of y h))%bool) in HS; auto.
    - replace g with (fun h => (asks_of x h || asks_of y h) || g h && negb (asks_of x h || asks_of y h))%bool; auto. apply functional_extensionality. intros h.
      destruct (asks_of x h || asks_of y h)%bool eqn:E; simpl; [|apply andb_true_r]. symmetry. apply existsb_exists.
      apply orb_true_iff in E. destruct E; eauto.
    - intros h Hh. apply andb_prop in Hh. destruct Hh as [Hh Hn]. apply negb_true_iff, orb_false_iff in Hn. destruct Hn as [N1 N2].
      apply existsb_exists in Hh. destruct Hh as [z [Hz Hzh]]. apply (HF z Hz); auto; intros ->; congruence.
  Qed.

  Lemma only_cell_at (d : data R0) u r c : d u = Some r -> cell r = c -> only_cell cell c d u = Some r.
  Proof. intros E1 E2. unfold only_cell. rewrite E1. apply (proj2 (String.eqb_eq (cell r) c)) in E2. rewrite E2. auto. Qed.
  Lemma only_cell_not (d : data R0) u r c : d u = Some r -> cell r <> c -> only_cell cell c d u = None.
  Proof. intros E1 E2. unfold only_cell. rewrite E1. apply (proj2 (String.eqb_neq (cell r) c)) in E2. rewrite E2. auto. Qed.
  Lemma only_cell_none (d : data R0) u c : d u = None -> only_cell cell c d u = None.
  Proof. intros E1. unfold only_cell. rewrite E1. auto. Qed.
  Lemma only_cell_else (d d' : data R0) u c : only_at u d d' -> only_at u (only_cell cell c d) (only_cell cell c d').
  Proof. intros HO v Hv. unfold only_cell. rewrite (HO v Hv). auto. Qed.

  Variable total : curve.
  Hypothesis measured : amounts total <> None.
  Hypothesis sane : curve_sane total.
  Hypothesis sanity : forall x, In x cells -> curve_sane (entering x) /\ amounts (entering x) <> None.
  Hypothesis enters : forall x, In x cells -> satisfies (neighbours distance AddRemove) draw (entering x) (asks_of x) (only (asks_of x)).

  Lemma entering_pair x d d' : In x cells -> is_pairwise (entering x) = true -> neighbours distance AddRemove d d' ->
    satisfies (pair_of d d') draw (entering x) (asks_of x) (only (asks_of x)).
  Proof. intros Hx _ Hn. apply (satisfies_fewer (neighbours distance AddRemove)); auto. intros y y' [-> ->]. auto. Qed.

  Lemma pairwise_kept a b : covers_curve a b -> is_pairwise b = true -> is_pairwise a = true.
  Proof. destruct a, b; simpl; tauto || discriminate || auto. Qed.

  Theorem partition_comes : (forall x, In x cells -> covers_curve (entering x) total) ->
    satisfies (neighbours distance AddRemove) draw total g (only g).
  Proof.
    intros HC. destruct (is_pairwise total) eqn:Ep.
    - apply every_pair; auto. intros d d' Hn. 
      assert (G : exists u r, only_at u d d' /\ ((d u = Some r /\ d' u = None) \/ (d u = None /\ d' u = Some r))).
      { destruct Hn as [[u [r [E1 [E2 HO]]]]|[u [r [E1 [E2 HO]]]]]; exists u, r; split; auto. apply only_at_sym; auto. }
      destruct G as [u [r [HO Hr]]]. destruct (cell_of r) as [x [Hx Ex]].
      apply (one_pays d d' (entering x) total x); auto; [apply (sanity x Hx) | | apply (entering_pair x d d' Hx); auto; apply (pairwise_kept _ total); auto].
      intros y Hy Hyx h Hh. assert (N : cell r <> name y) by (intros E; apply Hyx, one_of_name; auto; congruence).
      apply (quiet u d d' y h Hy HO); auto; intros r0 E; destruct Hr as [[E1 E2]|[E1 E2]]; congruence.
    - destruct total as [| | | |m t| | |] eqn:Et; try discriminate; [|simpl in measured; congruence].
      intros g0 ->. destruct (near_parts distance AddRemove draw (only_cell cell) (Q2R m) (Q2R t) (map (fun x => (asks_of x, name x)) cells)) as [ideal [_ HI]]; try apply sane.
      + intros p Hp h d Hh. apply in_map_iff in Hp. destruct Hp as [x [<- Hx]]. apply same_sym. apply (reading x Hx); auto.
      + intros p Hp. apply in_map_iff in Hp. destruct Hp as [x [<- Hx]]. cbn [fst].
        pose proof (satisfies_covers _ _ _ _ _ _ (proj1 (sanity x Hx)) (HC x Hx) (enters x Hx)) as HS. apply (HS (asks_of x)). reflexivity.
      + exists ideal. intros d d' Hn.
        assert (G : exists u r, only_at u d d' /\ ((d u = Some r /\ d' u = None) \/ (d u = None /\ d' u = Some r))).
        { destruct Hn as [[u [r [E1 [E2 HO]]]]|[u [r [E1 [E2 HO]]]]]; exists u, r; split; auto. apply only_at_sym; auto. }
        destruct G as [u [r [HO Hr]]].
        assert (HP : near_pair (INR (List.length (filter (fun p => String.eqb (cell r) (snd p)) (map (fun x => (asks_of x, name x)) cells))) * Q2R m)
          (INR (List.length (filter (fun p => String.eqb (cell r) (snd p)) (map (fun x => (asks_of x, name x)) cells))) * Q2R t)
          (fun h => existsb (fun p => fst p h) (map (fun x => (asks_of x, name x)) cells)) (draw d) (draw d') (ideal d) (ideal d')).
        { apply (HI d d' (String.eqb (cell r))). intros p Hp. apply in_map_iff in Hp. destruct Hp as [x [<- Hx]]. cbn [snd].
          destruct (String.eqb_spec (cell r) (name x)) as [E|E].
          - destruct Hr as [[E1 E2]|[E1 E2]]; [left|right]; exists u, r.
            + split; [apply only_cell_at; auto|split; [apply only_cell_none; auto | apply only_cell_else; auto]].
            + split; [apply only_cell_at; auto|split; [apply only_cell_none; auto | apply only_cell_else, only_at_sym; auto]].
          - apply (untouched u); auto; intros r0 E0; destruct Hr as [[E1 E2]|[E1 E2]]; congruence. }
        assert (L : (List.length (filter (fun p => String.eqb (cell r) (snd p)) (map (fun x => (asks_of x, name x)) cells)) <= 1)%nat).
        { clear - once. induction cells as [|a l IH]; simpl; [lia|]. inversion once as [|? ? N1 N2]; subst. specialize (IH N2).
          destruct (String.eqb_spec (cell r) (name a)) as [E|E]; auto. cbn [List.length].
          assert (Z : filter (fun p : (H -> bool) * string => String.eqb (cell r) (snd p)) (map (fun x => (asks_of x, name x)) l) = []).
          { clear - N1 E. induction l as [|b l IH]; simpl; auto. destruct (String.eqb_spec (cell r) (name b)) as [E'|E'].
            - exfalso. apply N1. left. congruence.
            - apply IH. intros Hin. apply N1. right; auto. }
          rewrite Z. simpl. lia. }
        apply le_INR in L. simpl in L.
        assert (Eg : g = fun h => existsb (fun p => fst p h) (map (fun x => (asks_of x, name x)) cells)).
        { apply functional_extensionality. intros h. unfold g. clear. induction cells as [|a l IH]; simpl; auto. rewrite IH; auto. }
        rewrite Eg. destruct sane. apply (near_pair_more _ _ (Q2R m) (Q2R t)) in HP; [exact HP | nra | nra].
  Qed.

  Theorem partition_changes : is_pairwise total = true -> (forall x, In x cells -> is_range (Private "" (entering x) ReplaceOne Central None) = false) ->
    (forall x, In x cells -> curve_sane (inside x) /\ covers_curve (inside x) total /\ is_pairwise (entering x) = true /\
       satisfies (neighbours distance ReplaceOne) draw (inside x) (asks_of x) (only (asks_of x))) ->
    (forall x y, In x cells -> In y cells -> x <> y -> exists s, joined plus (entering x) (entering y) = Some s /\ covers_curve s total) ->
    satisfies (neighbours distance ReplaceOne) draw total g (only g).
  Proof.
    intros Hp Hrange HI HJ. apply every_pair; auto. intros d d' [u [r [r' [E1 [E2 HO]]]]].
    destruct (cell_of r) as [x [Hx Ex]]. destruct (cell_of r') as [y [Hy Ey]].
    destruct (string_dec (name x) (name y)) as [E|E].
    - assert (x = y) by (apply one_of_name; auto). subst y. destruct (HI x Hx) as [S1 [S2 [_ S3]]].
      apply (one_pays d d' (inside x) total x); auto.
      + intros z Hz Hzx h Hh. assert (N : name x <> name z) by (intros E'; apply Hzx, one_of_name; auto).
        apply (quiet u d d' z h Hz HO); auto; intros r0 E0; congruence.
      + apply (satisfies_fewer (neighbours distance ReplaceOne)); auto. intros z z' [-> ->]. exists u, r, r'. auto.
    - assert (Hxy : x <> y) by congruence. destruct (HJ x y Hx Hy Hxy) as [s [HJ1 HJ2]].
      destruct (HI x Hx) as [_ [_ [Px _]]]. destruct (HI y Hy) as [_ [_ [Py _]]].
      apply (two_pay d d' total x y s); auto; try apply sanity; auto.
      + intros z Hz Hzx Hzy h Hh. assert (name x <> name z) by (intros E'; apply Hzx, one_of_name; auto).
        assert (name y <> name z) by (intros E'; apply Hzy, one_of_name; auto).
        apply (quiet u d d' z h Hz HO); auto; intros r0 E0; congruence.
      + apply (pair_same draw d d' (only_cell cell (name x) d) (only_cell cell (name x) d')); auto; [apply sanity; auto | |].
        * intros h Hh. split; apply same_sym, (reading x Hx); auto.
        * apply (entering_pair x); auto. left. exists u, r. split; [apply only_cell_at; auto|split; [apply (only_cell_not _ u r'); auto; congruence | apply only_cell_else; auto]].
      + apply (pair_same draw d d' (only_cell cell (name y) d) (only_cell cell (name y) d')); auto; [apply sanity; auto | |].
        * intros h Hh. split; apply same_sym, (reading y Hy); auto.
        * apply (entering_pair y); auto. right. exists u, r'. split; [apply only_cell_at; auto|split; [apply (only_cell_not _ u r); auto; congruence | apply only_cell_else, only_at_sym; auto]].
  Qed.
End Cells.

(* ---------------------------------------------------------------- lines *)

Lemma hull_all rs : forall r0 r, In r (r0 :: rs) -> match fold_left hull rs r0 with
  | None => r = None | Some (f, l) => (f <= fst (reads_or r))%Z /\ (snd (reads_or r) <= l)%Z end.
Proof.
  assert (G : forall rs r0, (match fold_left hull rs r0 with
    | None => r0 = None /\ forall r, In r rs -> r = None
    | Some (f, l) => forall r, r = r0 \/ In r rs -> (f <= fst (reads_or r))%Z /\ (snd (reads_or r) <= l)%Z end)).
  { induction rs0 as [|a rs0 IH]; intros r0; cbn [fold_left].
    - destruct r0 as [[f l]|]; [|split; [auto | intros ? []]]. intros r [->|[]]. simpl. lia.
    - specialize (IH (hull r0 a)). destruct (fold_left hull rs0 (hull r0 a)) as [[f l]|].
      + assert (B := IH (hull r0 a) (or_introl eq_refl)). intros r Hr.
        assert (C : r = r0 \/ r = a -> (f <= fst (reads_or r))%Z /\ (snd (reads_or r) <= l)%Z).
        { clear - B. intros Hr. unfold hull, reads_or, anyone in *. generalize dependent (2 ^ 63)%Z. intros top B.
          destruct r0 as [[f1 l1]|], a as [[f2 l2]|]; destruct Hr as [->| ->]; cbn [fst snd] in *; lia. }
        destruct Hr as [Hr|[Hr|Hr]]; [apply C; auto | apply C; auto | apply IH; auto].
      + destruct IH as [I1 I2]. unfold hull in I1. destruct r0 as [[]|], a as [[]|]; try discriminate. split; auto. intros r [<-|Hr]; auto. }
  intros r0 r Hr. specialize (G rs r0). destruct (fold_left hull rs r0) as [[f l]|].
  - apply G. destruct Hr as [<-|]; auto.
  - destruct G as [G1 G2]. destruct Hr as [<-|Hr]; auto.
Qed.

Lemma all_some_nth {A B} (f : A -> option B) l : forall m, all_some f l = Some m -> List.length m = List.length l /\
  forall i a b, (i < List.length l)%nat -> f (nth i l a) = Some (nth i m b).
Proof.
  induction l as [|x l IH]; intros m; simpl.
  - intros E. injection E as <-. split; auto. intros; lia.
  - destruct (f x) eqn:Ex; [|discriminate]. destruct (all_some f l) eqn:El; [|discriminate]. intros E. injection E as <-.
    destruct (IH l0 eq_refl) as [I1 I2]. split; [simpl; auto|]. intros [|i] a c Hi; simpl; auto. apply I2. lia.
Qed.

Lemma draws_in_spec a b : draws_in a b = true -> forall k p, lookup k a = Some p -> lookup k b = Some p.
Proof.
  unfold draws_in. rewrite forallb_forall. intros HF k p Hk. apply lookup_in in Hk. specialize (HF _ Hk). cbn [fst snd] in HF.
  rewrite find_lookup in HF. destruct (lookup k b) as [p'|]; [|discriminate]. apply place_eqb_eq in HF. congruence.
Qed.

Lemma nth_column k width rows : (k < width)%nat -> nth k (transposed width rows) [] = map (fun row => nth k row 0%Q) rows.
Proof.
  intros Hk. unfold transposed. rewrite (nth_indep _ [] (map (fun row => nth 0%nat row 0%Q) rows)) by (rewrite map_length, seq_length; auto).
  rewrite (map_nth (fun k => map (fun row => nth k row 0%Q) rows)). rewrite seq_nth by auto. auto.
Qed.

Lemma nth_map_column (f : list Q -> Q) k width rows : (k < width)%nat -> nth k (map f (transposed width rows)) 0%Q = f (map (fun row => nth k row 0%Q) rows).
Proof.
  intros Hk. assert (L : List.length (transposed width rows) = width) by (unfold transposed; rewrite map_length, seq_length; auto).
  rewrite (nth_indep _ 0%Q (f [])) by (rewrite map_length, L; auto). rewrite map_nth, nth_column; auto.
Qed.

Lemma nth_row k i (rows : list (list Q)) : (i < List.length rows)%nat -> nth i (map (fun row => nth k row 0%Q) rows) 0%Q = nth k (nth i rows []) 0%Q.
Proof.
  intros Hi. rewrite (nth_indep _ 0%Q (nth k [] 0%Q)) by (rewrite map_length; auto). apply (map_nth (fun row => nth k row 0%Q)).
Qed.

Lemma nth_skip {A} k i (l : list A) a : nth i (skipn k l) a = nth (k + i) l a.
Proof. revert l. induction k as [|k IH]; intros [|x l]; simpl; auto. destruct i; auto. Qed.

Lemma nth_first {A} k i (l : list A) a : (i < k)%nat -> nth i (firstn k l) a = nth i l a.
Proof. revert i l. induction k as [|k IH]; intros i [|x l] Hi; simpl; auto; try lia. destruct i; auto. apply IH. lia. Qed.

(** All that the inference asked for. *)
Lemma partition_needs split cells whole : partition split cells = Some whole -> exists q names,
  split = Split q names /\ let n := List.length names in let k := (List.length cells - n)%nat in exists first law rows worst total,
  n <> 0%nat /\ (List.length cells = k + n)%nat /\ (k = 0%nat \/ k = n) /\
  (k <> 0%nat -> map subject_of (firstn k cells) = names) /\ map subject_of (skipn k cells) = names /\
  (forall c, In c (firstn k cells) -> relation_of c = ReplaceOne) /\ (forall c, In c (skipn k cells) -> relation_of c = AddRemove) /\
  hd_error (skipn k cells) = Some first /\ is_range first = false /\ forallb (same_kind first) cells = true /\
  (exists s rel r, first = Private s law rel Central r) /\ (k <> 0%nat -> match law with NearGdp _ _ => False | _ => True end) /\
  all_some (fun c => match law_of_part c with Some l => amounts l | None => None end) cells = Some rows /\
  worst = (let width := List.length (hd [] rows) in let moving := transposed width (skipn k rows) in let staying := transposed width (firstn k rows) in
     match k with O => map largest moving | _ => zip_with larger (map two_dearest moving) (map largest staying) end) /\
  rebuilt law worst = Some total /\
  whole = Private q total (match k with O => AddRemove | _ => ReplaceOne end) Central (fold_left hull (map reads_of (tl cells)) (reads_of (hd first cells))).
Proof.
  intros HP. unfold partition in HP. destruct split as [| | | | | | | | | |q names| | | |]; try discriminate. exists q, names. split; auto. cbv zeta in *.
  set (n := List.length names) in *. set (k := (List.length cells - n)%nat) in *.
  assert (Ein : match k with O => [] | S m => firstn (S m) cells end = firstn k cells) by (destruct k; auto).
  rewrite Ein in HP. assert (Lk : List.length (firstn k cells) = k) by (apply firstn_length_le; unfold k; lia). rewrite Lk in HP.
  destruct (_ && _)%bool eqn:Hc in HP; [|discriminate].
  apply andb_prop in Hc. destruct Hc as [Hc C7]. apply andb_prop in Hc. destruct Hc as [Hc C6]. apply andb_prop in Hc. destruct Hc as [Hc C5].
  apply andb_prop in Hc. destruct Hc as [Hc C4]. apply andb_prop in Hc. destruct Hc as [Hc C3]. apply andb_prop in Hc. destruct Hc as [C1 C2].
  apply Nat.eqb_eq in C2. rewrite skipn_length in C2.
  destruct (skipn k cells) as [|first entering0] eqn:Esk; [discriminate|].
  destruct (_ && _)%bool eqn:Hc in HP; [|discriminate].
  apply andb_prop in Hc. destruct Hc as [Hc D3]. apply andb_prop in Hc. destruct Hc as [D1 D2]. apply negb_true_iff in D1.
  destruct first as [s law rel o r| | | | | | | | | | | | | |]; try discriminate. destruct o; try discriminate. cbn [law_of_part] in HP.
  destruct (match firstn k cells with _ :: _ => _ | [] => _ end) eqn:Hnear in HP; [|discriminate].
  destruct (all_some _ cells) as [rows|] eqn:Er; [|discriminate].
  match type of HP with match rebuilt law ?w with _ => _ end = _ => set (worst0 := w) in HP end.
  destruct (rebuilt law worst0) as [total|] eqn:Et; [|discriminate]. injection HP as <-.
  assert (Hk0 : k = 0%nat <-> firstn k cells = []).
  { split; [intros ->; auto|]. intros E. rewrite E in Lk. simpl in Lk. auto. }
  exists (Private s law rel Central r), law, rows, worst0, total.
  assert (Hkn : k = 0%nat \/ (k = n /\ map subject_of (firstn k cells) = names)).
  { destruct (firstn k cells) as [|x xs] eqn:Ef; [left; apply Hk0; auto|]. right. apply andb_prop in C3. destruct C3 as [C3 C3'].
    apply Nat.eqb_eq in C3. apply (list_eqb_eq String.eqb (fun a b => proj1 (String.eqb_eq a b))) in C3'. split; auto; rewrite <- Lk; auto. }
  split; [destruct n; [discriminate | lia]|]. split; [unfold k in *; lia|]. split; [tauto|]. split; [intros N; tauto|].
  split; [apply (list_eqb_eq String.eqb (fun a b => proj1 (String.eqb_eq a b))); auto|].
  split; [intros c Hin; rewrite forallb_forall in C5; apply relation_eqb_eq, C5; auto|].
  split; [intros c Hin; rewrite forallb_forall in C6; apply relation_eqb_eq, C6; auto|].
  split; [auto|split; [auto|split; [auto|split; [eauto|split]]]].
  { intros N. destruct (firstn k cells) as [|x xs] eqn:Ef; [tauto|]. destruct law; auto; discriminate. }
  split; [auto|split; [|split; [auto|]]].
  - unfold worst0. destruct (firstn k cells) as [|x xs] eqn:Ef.
    + assert (k = 0%nat) as -> by tauto. auto.
    + destruct k; [discriminate Ef | auto].
  - f_equal. destruct (firstn k cells) as [|x xs] eqn:Ef.
    + assert (k = 0%nat) as -> by tauto. auto.
    + destruct k; [discriminate Ef | auto].
Qed.

Lemma map_nth_all {A} (l : list A) a : map (fun i => nth i l a) (seq 0 (List.length l)) = l.
Proof. induction l as [|x l IH]; auto. cbn [List.length seq map nth]. f_equal. rewrite <- seq_shift, map_map. exact IH. Qed.

Lemma alike_through a b c : alike a b = true -> alike b c = true -> alike a c = true.
Proof.
  destruct a, b; simpl; try discriminate; destruct c; simpl; try discriminate; auto.
  intros H1 H2. apply (list_eqb_eq q_eqb q_eqb_eq) in H1, H2. rewrite H1, <- H2. apply (list_eqb_refl q_eqb q_eqb_refl).
Qed.

Lemma rebuilt_pairwise law new total : match law with NearGdp _ _ => False | _ => True end -> rebuilt law new = Some total -> is_pairwise total = true.
Proof.
  destruct law; intros HL HR; try tauto; cbn [rebuilt] in HR.
  1, 3, 4, 5: destruct new as [|? [|]]; try discriminate; injection HR as <-; auto.
  - destruct new as [|? [|? [|]]]; try discriminate; injection HR as <-; auto.
  - destruct new as [|? [|]]; discriminate.
  - destruct (_ =? _)%nat; [|discriminate]. injection HR as <-. auto.
Qed.

Definition curve_of (l : line) : curve := match says l with Private _ c _ _ _ => c | _ => Pure 0 end.

Lemma sane_amounts c am : curve_sane c -> amounts c = Some am -> forall i, 0 <= Q2R (nth i am 0%Q).
Proof.
  intros HS Ha i. assert (G : forall x, In x am -> 0 <= Q2R x).
  { intros x Hx. destruct c as [e|e d|e|e|e d|e|v l t|points]; simpl in HS, Ha; try discriminate; injection Ha as <-.
    1, 3, 4, 6: destruct Hx as [<-|[]]; tauto.
    1, 2: destruct Hx as [<-|[<-|[]]]; tauto.
    apply in_map_iff in Hx. destruct Hx as [[o b] [<- Hin]]. apply (HS o b Hin). }
  destruct (Nat.lt_ge_cases i (List.length am)) as [L|L]; [apply G, nth_In; auto|]. rewrite nth_overflow by auto. rewrite zero_R. lra.
Qed.

Lemma covers_sane a b : covers_curve a b -> curve_sane a -> curve_sane b /\ amounts b <> None.
Proof.
  destruct a, b; simpl; try tauto; intros HC HS; try (split; [lra | congruence]).
  split; [|congruence]. intros o y Hy. destruct (HC o y Hy) as [x [Hx Hle]]. destruct (HS o x Hx). split; auto. lra.
Qed.

Theorem partition_sound : sound_rule "partition".
Proof.
  intros st HR. destruct st; try discriminate HR. clear HR. intros W found fin HW HH HM HF _.
  unfold follow in HF. cbn [infer] in HF. destruct found as [|split cells]; [discriminate|]. cbn [map composition] in HF.
  destruct (partition (says split) (map says cells)) as [gives|] eqn:Em; [|discriminate].
  destruct (partition_needs _ _ _ Em) as [q [names [Hsp Hneeds]]]. cbv zeta in Hneeds.
  set (n := List.length names) in *. set (cf := map says cells) in *.
  set (k := (List.length cf - n)%nat) in *.
  destruct Hneeds as [first [law [rows [worst [total [Hn0 [Hlen [Hk [Hin_names [Henter_names [Hrel_in [Hrel_en [Hfirst [Hrange [Hkind [Hlead [Hnear [Hrows [Hworst [Htotal Hgives]]]]]]]]]]]]]]]]]]]].
  cbn [noise_is_named] in HF. rewrite Hsp in HF. fold n in HF.
  destruct (_ && one_table ByPartition (split :: cells))%bool eqn:Et in HF; [|discriminate].
  apply andb_prop in Et. destruct Et as [Enoise Et]. apply andb_prop in Enoise. destruct Enoise as [Estay Edraws].
  cbn [one_table forallb] in Et. apply andb_prop in Et. destruct Et as [_ Et].
  assert (Hlaw : forall f, law_of ByPartition f = None) by reflexivity. rewrite Hlaw in HF.
  destruct (all_draws [] (split :: cells)) as [ds|] eqn:Ed; [|discriminate].
  pose proof (Forall_inv HH) as Hs. pose proof (Forall_inv_tail HH) as HH1. pose proof (Forall_inv HM) as Ms. pose proof (Forall_inv_tail HM) as HM1.
  assert (Hbare : bare split) by (apply Ms; rewrite Hsp; reflexivity). destruct Hbare as [B1 [B2 [B3 B4]]].
  assert (Honce : NoDup names) by (destruct Ms as [_ [_ M]]; rewrite Hsp in M; exact M).
  unfold holds in Hs. rewrite Hsp in Hs. destruct Hs as [cell [Hcell [Hnames Hreads]]].
  assert (Hstay : forall l, In l cells -> departed l = []).
  { intros l Hl. rewrite forallb_forall in Estay. specialize (Estay l Hl). unfold stays in Estay. destruct (departed l); auto. discriminate. }
  assert (Hgone0 : fold_left union (map departed (split :: cells)) [] = []).
  { cbn [map fold_left]. rewrite B2. clear - Hstay. change (union [] []) with (@nil string). induction cells as [|a l IH]; auto.
    cbn [map fold_left]. rewrite (Hstay a (or_introl eq_refl)). apply IH. intros x Hx. apply Hstay. right; auto. }
  assert (Htab : forall l, In l cells -> of_persons l = false).
  { intros l Hl. rewrite forallb_forall in Et. apply negb_true_iff, Et; auto. }
  assert (Hper : existsb of_persons (split :: cells) = false).
  { cbn [existsb]. rewrite B4. apply not_true_is_false. intros E. apply existsb_exists in E. destruct E as [l [Hl E]]. rewrite (Htab l Hl) in E. discriminate. }
  assert (En : fin = Line gives ds [] Once [] false (flat_map views (split :: cells))).
  { assert (Hcg : changed ByPartition (split :: cells) = []) by (unfold changed; destruct cells as [|x ?]; [|destruct (says x)]; reflexivity).
    rewrite Hcg in HF. rewrite <- Hper, <- Hgone0 at 1. injection HF as <-. reflexivity. }
  clear HF. rewrite En, Hgives. set (reads := fold_left hull (map reads_of (tl cf)) (reads_of (hd first cf))).
  destruct (all_draws_lookup _ _ _ Ed) as [_ [A2 [A3 _]]].
  assert (Hof : forall l, In l cells -> forall k p, lookup k (drawn l) = Some p -> lookup k ds = Some p) by (intros l Hl; apply A2; right; auto).
  assert (Hinp : forall k p, lookup k ds = Some p -> exists l, In l cells /\ lookup k (drawn l) = Some p).
  { intros k' p Hk'. destruct (A3 k' p Hk') as [E|[l [[<-|Hl] Hkl]]]; [discriminate | rewrite B1 in Hkl; discriminate | eauto]. }
  assert (Hgone : forall k, In k (@nil string) <-> exists l, In l cells /\ In k (departed l)).
  { intros k'. split; [intros []|]. intros [l [Hl Hd]]. rewrite (Hstay l Hl) in Hd. auto. }
  assert (Lcf : List.length cf = List.length cells) by apply map_length.
  assert (Hnth : forall i, nth i cf (says split) = says (nth i cells split)) by (intros i; apply map_nth).
  (* every cell is a statement of the first one's kind *)
  assert (Hsay : forall i, (i < k + n)%nat -> exists s c rel r, says (nth i cells split) = Private s c rel Central r /\ alike law c = true /\
    amounts c = Some (nth i rows []) /\ curve_sane c /\ In (nth i cells split) cells).
  { intros i Hi. assert (Hin : In (nth i cells split) cells) by (apply nth_In; lia).
    rewrite forallb_forall in Hkind. assert (Hk0 := Hkind _ (in_map says _ _ Hin)). destruct Hlead as [s0 [rel0 [r0 ->]]].
    unfold same_kind in Hk0. destruct (says (nth i cells split)) as [s c rel o r| | | | | | | | | | | | | |] eqn:Es; try discriminate.
    apply andb_prop in Hk0. destruct Hk0 as [K1 K2]. apply observer_eqb_eq in K2. subst o. exists s, c, rel, r.
    destruct (all_some_nth _ _ _ Hrows) as [_ R]. specialize (R i (says split) [] ltac:(lia)). rewrite Hnth, Es in R. cbn [law_of_part] in R.
    split; [auto|split; [auto|split; [auto|split; [|auto]]]]. rewrite Forall_forall in HM1. destruct (HM1 _ Hin) as [_ [_ M]]. rewrite Es in M. apply M. }
  destruct (all_some_nth _ _ _ Hrows) as [Lrows _].
  set (width := List.length (hd [] rows)) in *.
  assert (Lworst : List.length worst = width).
  { rewrite Hworst. unfold transposed. destruct k; rewrite ?zip_length, !map_length, !seq_length; lia. }
  assert (Hcell_in : forall i, (i < k + n)%nat -> In (nth i cells split) cells) by (intros i Hi; apply nth_In; lia).
  (* how the numbers of the whole compare *)
  assert (Hcolumn : forall m i, (m < width)%nat -> (i < n)%nat -> nth i (map (fun row => nth m row 0%Q) (skipn k rows)) 0%Q = nth m (nth (k + i) rows []) 0%Q).
  { intros m i Hm Hi. rewrite nth_row by (rewrite skipn_length; lia). rewrite nth_skip. auto. }
  assert (Hcolumn' : forall m i, (m < width)%nat -> (i < k)%nat -> nth i (map (fun row => nth m row 0%Q) (firstn k rows)) 0%Q = nth m (nth i rows []) 0%Q).
  { intros m i Hm Hi. rewrite nth_row by (rewrite firstn_length; lia). rewrite nth_first; auto. }
  assert (Hnonneg : forall m i, (i < k + n)%nat -> 0 <= Q2R (nth m (nth i rows []) 0%Q)).
  { intros m i Hi. destruct (Hsay i Hi) as [s [c [rel [r [_ [_ [Ha [Hsc _]]]]]]]]. apply (sane_amounts c _ Hsc Ha). }
  assert (Henter : forall m j, (m < width)%nat -> (j < n)%nat -> Q2R (nth m (nth (k + j) rows []) 0%Q) <= Q2R (nth m worst 0%Q)).
  { intros m j Hm Hj. rewrite Hworst.
    assert (Hl : In (nth m (nth (k + j) rows []) 0%Q) (map (fun row => nth m row 0%Q) (skipn k rows))).
    { rewrite <- (Hcolumn m j Hm Hj). apply nth_In. rewrite map_length, skipn_length. lia. }
    destruct k as [|k']; [rewrite nth_map_column by auto; apply largest_R; auto|].
    rewrite nth_zip by (rewrite map_length; unfold transposed; rewrite map_length, seq_length; auto).
    rewrite larger_R, nth_map_column by auto. apply Rle_trans with (2 := Rmax_l _ _).
    set (col := map (fun row => nth m row 0%Q) (skipn (S k') rows)) in *.
    assert (Lcol : List.length col = n) by (unfold col; rewrite map_length, skipn_length; lia).
    destruct (Nat.eq_dec n 1) as [N1|N1].
    - destruct col as [|x [|]] eqn:Ec; simpl in Lcol; try lia. cbn [two_dearest]. destruct Hl as [->|[]]. lra.
    - set (j' := if Nat.eq_dec j 0 then 1%nat else 0%nat).
      assert (Hj' : j' <> j /\ (j' < n)%nat) by (unfold j'; destruct (Nat.eq_dec j 0); lia).
      pose proof (two_dearest_spec col j j' ltac:(lia) ltac:(lia) ltac:(lia)) as T. unfold col in T at 1 2. rewrite !Hcolumn in T by (auto; lia).
      pose proof (Hnonneg m (S k' + j')%nat ltac:(lia)). lra. }
  assert (Hinside : forall m j, k <> 0%nat -> (m < width)%nat -> (j < n)%nat -> Q2R (nth m (nth j rows []) 0%Q) <= Q2R (nth m worst 0%Q)).
  { intros m j Hk0 Hm Hj. rewrite Hworst.
    assert (Hl : In (nth m (nth j rows []) 0%Q) (map (fun row => nth m row 0%Q) (firstn k rows))).
    { rewrite <- (Hcolumn' m j Hm ltac:(lia)). apply nth_In. rewrite map_length, firstn_length. lia. }
    destruct k as [|k']; [lia|].
    rewrite nth_zip by (rewrite map_length; unfold transposed; rewrite map_length, seq_length; auto).
    rewrite larger_R. apply Rle_trans with (2 := Rmax_r _ _). rewrite nth_map_column by auto. apply largest_R; auto. }
  assert (Hpair : forall m i j, k <> 0%nat -> i <> j -> (m < width)%nat -> (i < n)%nat -> (j < n)%nat ->
    Q2R (nth m (nth (k + i) rows []) 0%Q) + Q2R (nth m (nth (k + j) rows []) 0%Q) <= Q2R (nth m worst 0%Q)).
  { intros m i j Hk0 Hij Hm Hi Hj. rewrite Hworst. destruct k as [|k']; [lia|].
    rewrite nth_zip by (rewrite map_length; unfold transposed; rewrite map_length, seq_length; auto).
    rewrite larger_R. apply Rle_trans with (2 := Rmax_l _ _). rewrite nth_map_column by auto.
    rewrite <- (Hcolumn m i Hm Hi), <- (Hcolumn m j Hm Hj). apply two_dearest_spec; auto; rewrite map_length, skipn_length; lia. }
  assert (Hcovers : forall i, (i < k + n)%nat -> covers_curve (curve_of (nth i cells split)) total).
  { intros i Hi. destruct (Hsay i Hi) as [s [c [rel [r [Es [Hal [Ha _]]]]]]]. unfold curve_of. rewrite Es.
    apply (rebuilt_covers law worst total c (nth i rows [])); auto. rewrite Lworst. intros m Hm.
    destruct (Nat.lt_ge_cases i k) as [L|L]; [apply Hinside; auto; lia|]. replace i with (k + (i - k))%nat by lia. apply Henter; auto; lia. }
  destruct (covers_sane _ _ (Hcovers 0%nat ltac:(lia))) as [Hsane Hmeasured].
  { destruct (Hsay 0%nat ltac:(lia)) as [s [c [rel [r [Es [_ [_ [Hsc _]]]]]]]]. unfold curve_of. rewrite Es. auto. }
  assert (Hreadsp : forall l, In l cells -> part_of (relation_of (says l)) Central total reads (says l)).
  { intros l Hl. destruct (In_nth cells l split Hl) as [i [Hi <-]]. destruct (Hsay i ltac:(lia)) as [s [c [rel [r [Es [_ [_ [Hsc _]]]]]]]].
    exists s, c, r. rewrite Es. cbn [relation_of]. split; [auto|split].
    - pose proof (Hcovers i ltac:(lia)) as HC. unfold curve_of in HC. rewrite Es in HC. auto.
    - assert (Hin : In r (reads_of (hd first cf) :: map reads_of (tl cf))).
      { destruct cells as [|x xs]; [destruct Hl|]. unfold cf. cbn [map hd tl]. change (reads_of (says x) :: map reads_of (map says xs)) with (map reads_of (map says (x :: xs))).
        rewrite map_map. apply in_map_iff. exists (nth i (x :: xs) split). rewrite Es. auto. }
      apply (hull_all _ _ _ Hin). }
  pose proof (whole_of_part W cells (fun l => relation_of (says l)) Central total reads false HH1 HM1 Htab Hreadsp) as Hpart.
  (* releases of cells, of whatever spread *)
  assert (Hdraw : forall d h, draw W [] d h = ideal W h d) by (intros d h; unfold draw; destruct (next W h); auto).
  assert (Hpairs : forall j, k <> 0%nat -> (j < n)%nat -> alike_draws (drawn (nth j cells split)) (drawn (nth (k + j) cells split))).
  { intros j Hk0 Hj. assert (k = n) by tauto. apply orb_true_iff in Edraws. destruct Edraws as [E|E]; [apply Nat.leb_le in E; lia|].
    apply andb_prop in E. destruct E as [_ E]. rewrite forallb_forall in E.
    assert (Hin : In (nth j cells split, nth (k + j) cells split) (combine (firstn n cells) (skipn n cells))).
    { replace (nth j cells split, nth (k + j) cells split) with (nth j (combine (firstn n cells) (skipn n cells)) (split, split)).
      - apply nth_In. rewrite combine_length, firstn_length, skipn_length. lia.
      - rewrite combine_nth by (rewrite firstn_length, skipn_length; lia). rewrite nth_first, nth_skip by lia. f_equal. f_equal. lia. }
    specialize (E _ Hin). cbn [fst snd] in E. unfold draws_eqb in E. apply andb_prop in E. destruct E as [E1 E2].
    intros k0. destruct (lookup k0 (drawn (nth j cells split))) as [p|] eqn:L1.
    - symmetry. apply (draws_in_spec _ _ E1); auto.
    - destruct (lookup k0 (drawn (nth (k + j) cells split))) as [p|] eqn:L2; auto. rewrite (draws_in_spec _ _ E2 _ _ L2) in L1. discriminate. }
  assert (HS : forall F : draws -> history (message W) -> bool,
    (forall a b, alike_draws a b -> F a = F b) ->
    (forall l h lab, In l cells -> F ds h = true -> next W h = Some lab -> In (key lab) (map fst (drawn l)) -> F (drawn l) h = true) ->
    (forall l h, In l cells -> F (drawn l) h = true -> F ds h = true) ->
    (forall h, F ds h = true -> exists l lab, In l cells /\ next W h = Some lab /\ In (key lab) (map fst (drawn l))) ->
    (forall l h, In l cells -> F (drawn l) h = true -> exists lab p, next W h = Some lab /\ lookup (key lab) (drawn l) = Some p /\ at_place lab = Place (query p) (made p) (how p) (Facts.over (at_place lab))) ->
    (forall l, In l cells -> satisfied W false (relation_of (says l)) [] (curve_of l) (F (drawn l)) (only (F (drawn l)))) ->
    satisfied W false (match k with O => AddRemove | _ => ReplaceOne end) [] total (F ds) (only (F ds))).
  { intros F F0 F1 F1' F2 F3 F4. unfold satisfied.
    set (cs := map (fun j => Cell (nth j names ""%string) (curve_of (nth (k + j) cells split)) (curve_of (nth j cells split)) (F (drawn (nth (k + j) cells split)))) (seq 0 n)).
    assert (Hcs : forall x, In x cs -> exists j, (j < n)%nat /\ x = Cell (nth j names ""%string) (curve_of (nth (k + j) cells split)) (curve_of (nth j cells split)) (F (drawn (nth (k + j) cells split)))).
    { intros x Hx. unfold cs in Hx. apply in_map_iff in Hx. destruct Hx as [j [<- Hj]]. apply in_seq in Hj. exists j. split; [lia | auto]. }
    assert (Hcn : map (@name (message W)) cs = names).
    { unfold cs. rewrite map_map. cbn [name]. exact (map_nth_all names ""%string). }
    assert (Hjn : forall j, (j < n)%nat -> nth j names ""%string = subject_of (says (nth (k + j) cells split))).
    { intros j Hj. rewrite <- Henter_names. rewrite (nth_indep _ ""%string (subject_of (says split))) by (rewrite map_length, skipn_length; lia).
      rewrite map_nth, nth_skip. f_equal. apply Hnth. }
    assert (Hreading : forall x, In x cs -> forall h d, asks_of x h = true -> same (draw W [] d h) (draw W [] (only_cell cell (name x) d) h)).
    { intros x Hx h d Hh. destruct (Hcs x Hx) as [j [Hj ->]]. cbn [asks_of name] in *. rewrite !Hdraw.
      assert (Hin : In (nth (k + j) cells split) cells) by (apply Hcell_in; lia).
      destruct (F3 _ h Hin Hh) as [lab [p [Hlab [Hlk Hpl]]]].
      apply (Hreads (nth j names ""%string) h lab d); auto; [apply nth_In; auto|]. rewrite (Hjn j Hj).
      destruct (Hpart _ Hin) as [s [cl [r [E [_ [[PN _] _]]]]]]. rewrite E. cbn [subject_of]. apply (PN h lab p); auto. }
    assert (Eg : F ds = fun h => existsb (fun x => asks_of x h) cs).
    { apply functional_extensionality. intros h. apply bool_ext. split; intros Hh.
      - destruct (F2 h Hh) as [l [lab [Hl [Hlab Hkl]]]]. pose proof (F1 l h lab Hl Hh Hlab Hkl) as Fl.
        destruct (In_nth cells l split Hl) as [i [Hi <-]].
        assert (G : exists j, (j < n)%nat /\ F (drawn (nth (k + j) cells split)) h = true).
        { destruct (Nat.lt_ge_cases i k) as [L|L].
          - exists i. split; [lia|]. rewrite <- (F0 _ _ (Hpairs i ltac:(lia) ltac:(lia))). auto.
          - exists (i - k)%nat. split; [lia|]. replace (k + (i - k))%nat with i by lia. auto. }
        destruct G as [j [Hj Fj]]. apply existsb_exists.
        eexists. split; [unfold cs; apply in_map_iff; exists j; split; [reflexivity | apply in_seq; lia] | exact Fj].
      - apply existsb_exists in Hh. destruct Hh as [x [Hx Hh]]. destruct (Hcs x Hx) as [j [Hj ->]]. cbn [asks_of] in Hh.
        apply (F1' (nth (k + j) cells split)); auto. apply Hcell_in; lia. }
    rewrite Eg.
    assert (Hsanity : forall x, In x cs -> curve_sane (entering x) /\ amounts (entering x) <> None).
    { intros x Hx. destruct (Hcs x Hx) as [j [Hj ->]]. cbn [entering]. destruct (Hsay (k + j)%nat ltac:(lia)) as [s [c [rel [r [Es [_ [Ha [Hsc _]]]]]]]].
      unfold curve_of. rewrite Es. split; auto. congruence. }
    assert (Henters : forall x, In x cs -> satisfies (neighbours (distance W) AddRemove) (draw W []) (entering x) (asks_of x) (only (asks_of x))).
    { intros x Hx. destruct (Hcs x Hx) as [j [Hj ->]]. cbn [entering asks_of]. 
      specialize (F4 _ (Hcell_in (k + j)%nat ltac:(lia))). rewrite (Hrel_en (says (nth (k + j) cells split))) in F4; auto.
      rewrite <- Hnth, <- nth_skip. apply nth_In. rewrite skipn_length. lia. }
    destruct k as [|k'] eqn:Ek.
    - apply (partition_comes (distance W) (draw W []) cell cs); auto; rewrite ?Hcn; auto.
      intros x Hx. destruct (Hcs x Hx) as [j [Hj ->]]. cbn [entering]. apply Hcovers. lia.
    - rewrite <- Ek in *. assert (Hk0 : k <> 0%nat) by lia. assert (k = n) by tauto.
      assert (Hpw : is_pairwise total = true) by (apply (rebuilt_pairwise law worst total (Hnear Hk0) Htotal)).
      apply (partition_changes (distance W) (draw W []) cell cs); auto; rewrite ?Hcn; auto.
      + intros x Hx. destruct (Hcs x Hx) as [j [Hj ->]]. cbn [entering]. destruct (Hsay (k + j)%nat ltac:(lia)) as [s [c [rel [r [Es [Hal _]]]]]].
        unfold curve_of. rewrite Es. destruct Hlead as [s1 [rel1 [r1 ->]]]. destruct law, c; try discriminate; auto.
      + intros x Hx. destruct (Hcs x Hx) as [j [Hj ->]]. cbn [entering inside asks_of]. destruct (Hsay j ltac:(lia)) as [s [c [rel [r [Es [_ [_ [Hsc Hin]]]]]]]].
        split; [unfold curve_of; rewrite Es; auto|]. split; [apply Hcovers; lia|]. split; [apply (pairwise_kept _ total); auto; apply Hcovers; lia|].
        specialize (F4 _ Hin). rewrite (Hrel_in (says (nth j cells split))) in F4.
        * rewrite (F0 _ _ (Hpairs j Hk0 Hj)) in F4. exact F4.
        * rewrite <- Hnth, <- (nth_first k j) by lia. apply nth_In. rewrite firstn_length. lia.
      + intros x y Hx Hy Hxy. destruct (Hcs x Hx) as [i [Hi ->]]. destruct (Hcs y Hy) as [j [Hj ->]]. cbn [entering].
        assert (Hij : i <> j) by (intros ->; auto).
        destruct (Hsay (k + i)%nat ltac:(lia)) as [s [c [rel [r [Es [Hal [Ha _]]]]]]]. destruct (Hsay (k + j)%nat ltac:(lia)) as [s' [c' [rel' [r' [Es' [Hal' [Ha' _]]]]]]].
        unfold curve_of. rewrite Es, Es'. destruct (joined_exists c c' _ _ (alike_trans law c c' Hal Hal') Ha Ha') as [su [J1 [J2 J3]]].
        exists su. split; auto. apply (rebuilt_covers law worst total su _ (alike_through law c su Hal J2) J3 Htotal).
        rewrite Lworst. intros m Hm.
        assert (Lc : List.length (nth (k + i) rows []) = width /\ List.length (nth (k + j) rows []) = width).
        { destruct (Hsay 0%nat ltac:(lia)) as [s0 [c0 [rel0 [r0 [_ [Hal0 [Ha0 _]]]]]]].
          assert (W0 : width = List.length (nth 0 rows [])) by (unfold width; destruct rows; auto). rewrite W0.
          split; [apply (alike_length c c0); auto | apply (alike_length c' c0); auto]; eapply alike_trans; eauto. }
        rewrite nth_zip by lia. rewrite plus_R. apply Hpair; auto. }
  assert (Hsat : forall l, In l cells -> exists s r, says l = Private s (curve_of l) (relation_of (says l)) Central r /\
    part W s (curve_of l) (relation_of (says l)) Central r (drawn l) [] false (views l) /\ amounts (curve_of l) <> None /\ (reads = None -> r = None)).
  { intros l Hl. destruct (Hpart l Hl) as [s [cl [r [E [HC P]]]]]. exists s, r. unfold curve_of. rewrite E. cbn [relation_of] in *.
    rewrite (Hstay l Hl) in P. split; [auto|split; [rewrite E in P; exact P|split; [apply (amounts_part total); auto|]]].
    intros Hr. destruct (Hreadsp l Hl) as [s1 [c1 [r1 [E1 [_ R1]]]]]. rewrite E in E1. injection E1 as _ _ <-. rewrite Hr in R1. auto. }
  apply (whole_holds W HW cells (fun l => relation_of (says l)) _ Central total reads false HH1 HM1 Htab Hreadsp ds [] Hof Hinp Hgone Hmeasured Hsane q).
  - intros lab [l [Hl Hnm]]. destruct (In_nth cells l split Hl) as [i [Hi <-]].
    assert (Hsub : In (subject_of (says (nth i cells split))) names).
    { destruct (Nat.lt_ge_cases i k) as [L|L].
      - rewrite <- (Hin_names ltac:(lia)). rewrite <- Hnth, <- (nth_first k i) by auto. apply in_map, nth_In. rewrite firstn_length. lia.
      - rewrite <- Henter_names. replace i with (k + (i - k))%nat by lia. rewrite <- Hnth, <- nth_skip. apply in_map, nth_In. rewrite skipn_length. lia. }
    apply (Hnames (subject_of (says (nth i cells split))) lab Hsub Hnm).
  - intros f la Hr HE. apply (HS (of_draws W)).
    + intros a b E. apply alike_of; auto.
    + intros l h lab Hl Hh Hlab Hkl. apply of_draws_spec in Hh. destruct Hh as [lab' [Hlab' Hk']]. rewrite Hlab in Hlab'. injection Hlab' as <-.
      apply in_lookup in Hkl. destruct Hkl as [p Hp]. apply of_draws_spec. exists lab. split; auto. rewrite Hp, <- Hk'. symmetry. apply (Hof l Hl); auto.
    + intros l h Hl Hh. apply of_draws_spec in Hh. destruct Hh as [lab [H1 H2]]. apply of_draws_spec. exists lab. split; auto. apply (Hof l Hl); auto.
    + intros h Hh. apply of_draws_spec in Hh. destruct Hh as [lab [Hlab Hkl]]. destruct (Hinp _ _ Hkl) as [l [Hl Hk']]. exists l, lab.
      split; [auto|split; auto]. apply in_keys_lookup in Hk'. auto.
    + intros l h Hl Hh. apply of_draws_spec in Hh. destruct Hh as [lab [H1 H2]]. exists lab, (at_place lab). split; [auto|split; auto]. destruct (at_place lab); auto.
    + intros l Hl. destruct (Hsat l Hl) as [s [r [E [P [Ham _]]]]].
      assert (El : exclusive W (drawn l)) by (apply (exclusive_less W (drawn l) ds); [apply Hof; auto | exact HE]).
      destruct (whole_part W HW _ _ _ _ _ _ _ _ _ Ham P El) as [G _]. exact G.
  - intros Hr ov i HE. apply (HS (fun b => instance W (spread_over ov b) i)).
    + intros a b E. apply alike_instance, alike_spread; auto.
    + intros l h lab Hl Hh Hlab Hkl. apply instance_spec in Hh. destruct Hh as [lab' [Hlab' [Hk' Hi]]]. rewrite Hlab in Hlab'. injection Hlab' as <-.
      rewrite <- (keys_spread ov) in Hkl. apply in_lookup in Hkl. destruct Hkl as [p Hp]. apply instance_spec. exists lab. split; [auto|split; auto].
      rewrite Hp, <- Hk'. symmetry. apply (spread_parts cells ds Hof ov l Hl); auto.
    + intros l h Hl Hh. apply instance_spec in Hh. destruct Hh as [lab [H1 [H2 H3]]]. apply instance_spec. exists lab. split; [auto|split; auto].
      apply (spread_parts cells ds Hof ov l Hl); auto.
    + intros h Hh. apply instance_spec in Hh. destruct Hh as [lab [Hlab [Hkl Hi]]]. rewrite lookup_spread in Hkl.
      destruct (lookup (key lab) ds) as [p|] eqn:E; [|discriminate]. destruct (Hinp _ _ E) as [l [Hl Hk']]. exists l, lab.
      split; [auto|split; auto]. apply in_keys_lookup in Hk'. auto.
    + intros l h Hl Hh. apply instance_spec in Hh. destruct Hh as [lab [H1 [H2 H3]]]. rewrite lookup_spread in H2.
      destruct (lookup (key lab) (drawn l)) as [p|] eqn:E; [|discriminate]. exists lab, p. split; [auto|split; auto]. injection H2 as H2. rewrite <- H2. auto.
    + intros l Hl. destruct (Hsat l Hl) as [s [r [E [P [Ham Hnone]]]]]. specialize (Hnone Hr). subst r. destruct P as [[_ [_ P]] _].
      assert (El : exclusive W (spread_over ov (drawn l))).
      { apply (exclusive_less W _ (spread_over ov ds)); [apply spread_parts with (parts := cells); auto | exact HE]. }
      destruct (P ov El) as [G _]. unfold satisfied. apply (satisfies_each _ _ _ _ _ Ham). intros g ->.
      apply (satisfies_each _ _ _ _ _ Ham) with (1 := G). eauto.
  - intros v Hv. cbn [flat_map] in Hv. rewrite B3 in Hv. cbn [app] in Hv. apply in_flat_map in Hv. destruct Hv as [l [Hl Hv]]. eauto.
Qed.
