(** How far a sum over units moves when one of them changes: the sets of contributions of [linear].

    Numbers and vectors are at most twice as far apart as they are long; cells that a record leaves and enters add up;
    listed vectors move by what [differences] lists; of rank-one matrices with their corner see Outers.v, and without it
    Stacks.v, where an entry beside the corner counts twice. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String Permutation.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.noise Require Import Infer Triangles.
From DP.sensitivity Require Import Infer Moves Stacks Outers.
From DP.hypotheses Require Import Infer.
From DP.composition Require Import Infer.
From DP.conversions Require Import Relations.
From DP.refutations Require Import Proofs.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Lemma square_abs x : square (Rabs x) = square x.
Proof. unfold square. rewrite <- Rabs_mult. apply Rabs_right, Rle_ge, Rle_0_sqr. Qed.

Lemma squares_abs (a b : nat -> R) l : (forall j, Rabs (a j) = Rabs (b j)) ->
  total (fun j => square (a j)) l = total (fun j => square (b j)) l.
Proof. intros E. apply total_ext. intros j _. rewrite <- square_abs, E. apply square_abs. Qed.

(* ---------------------------------------------------------------- what one unit changes *)

Section Unit.
  Variable W : world.
  Hypothesis HW : lawful W.
  Variables (q : string) (set : kind) (low high : R) (points : list (list Z)).
  Hypothesis Hsum : forall o i h d j, value W q o i h d j = total (fun u =>
    match d u with Some r => if takes_part W q o i h u r then adds W q o i h u r j else 0 | None => 0 end)
      (units_there W).
  Hypothesis Hset : forall o i h u r,
    takes_part W q o i h u r = true -> in_set W q set low high points (adds W q o i h u r).
  Hypothesis Hsteady : steady W q.

  (** Either nothing moves, or it is one contribution that is replaced, or one that comes or goes. *)
  Lemma one_unit_moves rel o i h d d' : simple_relation rel = true -> neighbours (distance W) rel d d' ->
    (forall j, value W q o i h d j - value W q o i h d' j = 0) \/
    exists f g, (forall j, Rabs (value W q o i h d j - value W q o i h d' j) = Rabs (f j - g j)) /\
      in_set W q set low high points f /\
      if replaces rel then in_set W q set low high points g else forall j, g j = 0.
  Proof.
    intros Hsimple Hd.
    assert (Move : forall u e e', only_at u e e' -> forall j, value W q o i h e j - value W q o i h e' j =
      if in_dec Z.eq_dec u (units_there W) then
        (match e u with Some r => if takes_part W q o i h u r then adds W q o i h u r j else 0 | None => 0 end)
        - (match e' u with Some r => if takes_part W q o i h u r then adds W q o i h u r j else 0 | None => 0 end)
      else 0).
    { intros u e e' HO j. rewrite !Hsum.
      rewrite (total_unit _ _ (units_there W) u) by (try apply HW; intros v Hv; rewrite (HO v Hv); auto). auto. }
    destruct rel; cbn [simple_relation] in Hsimple; try discriminate; cbn [replaces relation_eqb].
    - destruct Hd as [u [r [r' [E1 [E2 HO]]]]]. pose proof (Move u d d' HO) as HM.
      rewrite E1, E2, (Hsteady o i h u r' r) in HM.
      destruct (in_dec Z.eq_dec u (units_there W)); [|auto].
      destruct (takes_part W q o i h u r) eqn:Et; [|left; intros j; rewrite HM; lra]. right.
      exists (adds W q o i h u r), (adds W q o i h u r'). split; [intros j; rewrite HM; auto|]. split; apply Hset; auto.
      rewrite (Hsteady o i h u r' r). auto.
    - assert (G : forall u r e e', e u = Some r -> e' u = None -> only_at u e e' ->
        (forall j, value W q o i h e j - value W q o i h e' j = 0) \/
        exists f, (forall j, value W q o i h e j - value W q o i h e' j = f j) /\ in_set W q set low high points f).
      { intros u r e e' E1 E2 HO. pose proof (Move u e e' HO) as HM. rewrite E1, E2 in HM.
        destruct (in_dec Z.eq_dec u (units_there W)); [|auto].
        destruct (takes_part W q o i h u r) eqn:Et; [|left; intros j; rewrite HM; lra]. right.
        exists (adds W q o i h u r). split; [intros j; rewrite HM; lra | apply Hset; auto]. }
      destruct Hd as [[u [r [E1 [E2 HO]]]]|[u [r [E1 [E2 HO]]]]]; destruct (G u r _ _ E1 E2 HO) as [Z|[f [F1 F2]]].
      + auto.
      + right. exists f, (fun _ => 0). split; [intros j; rewrite F1; f_equal; lra | auto].
      + left. intros j. specialize (Z j). lra.
      + right. exists f, (fun _ => 0). split; [|auto]. intros j. rewrite Rabs_minus_sym, F1. f_equal. lra.
  Qed.

  (** A sum of matrices v vᵀ is symmetric. *)
  Lemma sums_symmetric : set = RankOne \/ set = Outer -> forall o i h d a b, (a < side W q)%nat -> (b < side W q)%nat ->
    value W q o i h d (a * side W q + b)%nat = value W q o i h d (b * side W q + a)%nat.
  Proof.
    intros HS o i h d a b Ha Hb. rewrite !Hsum. apply total_ext. intros u _. destruct (d u) as [r|]; auto.
    destruct (takes_part W q o i h u r) eqn:Et; auto. specialize (Hset o i h u r Et).
    destruct HS; subst set; destruct Hset as [_ [_ [v [_ [_ V]]]]]; rewrite (V a b), (V b a) by auto.
    - rewrite andb_comm. destruct (_ && _)%bool; [auto | apply Rmult_comm].
    - apply Rmult_comm.
  Qed.
End Unit.

(* ---------------------------------------------------------------- two members of a set *)

Lemma squares_apart (f g : nat -> R) l r : total (fun j => square (f j)) l <= r -> total (fun j => square (g j)) l <=
  r ->
  total (fun j => square (f j - g j)) l <= 4 * r.
Proof.
  intros Hf Hg. apply Rle_trans with (total (fun j => 2 * square (f j) + 2 * square (g j)) l).
  - apply total_le. intros j _. pose proof (Rle_0_sqr (f j + g j)) as Q. unfold Rsqr, square in *. lra.
  - rewrite total_plus, !total_scale. lra.
Qed.

Section Matrices.
  Variables (m : nat) (f g : nat -> R).
  Let n := S m.
  Let places := seq 0 m.
  Let p := total (fun j => square (f j)) places.
  Let s := total (fun j => square (g j)) places.
  Let c := total (fun j => f j * g j) places.
  Hypothesis Hp : p <= 1.
  Hypothesis Hs : s <= 1.

  Lemma total_last (k : nat -> R) : total k (seq 0 n) = total k places + k m.
  Proof. unfold n. rewrite seq_S, total_app. cbn [total]. rewrite Nat.add_0_l. fold places. lra. Qed.

  Lemma squares_there : 0 <= p /\ 0 <= s.
  Proof. split; apply total_nonneg; intros; apply square_least. Qed.

  (** Of matrices with their corner. *)
  Lemma outers_apart B : 0 <= B -> Rabs (f m) <= B -> Rabs (g m) <= B ->
    (B <= 1 -> total (fun a => total (fun b => square (f a * f b - g a * g b)) (seq 0 n)) (seq 0 n)
               <= 2 * ((1 + B * B) * (1 + B * B))) /\
    (1 < B -> exists t, 0 <= t <= B /\
       total (fun a => total (fun b => square (f a * f b - g a * g b)) (seq 0 n)) (seq 0 n) <= height B t).
  Proof.
    intros HB Hf Hg. rewrite (all_entries n f g), !total_last. fold p s c. destruct squares_there as [P0 S0].
    pose proof (products_bound m f g Hp Hs) as Hc. fold places c in Hc.
    assert (F2 : square (f m) <= B * B) by (rewrite <- square_abs; unfold square; pose proof (Rabs_pos (f m));
      apply Rmult_le_compat; auto).
    assert (G2 : square (g m) <= B * B) by (rewrite <- square_abs; unfold square; pose proof (Rabs_pos (g m));
      apply Rmult_le_compat; auto).
    pose proof (square_least (f m)). pose proof (square_least (g m)). split.
    - intros _. assert ((p + square (f m)) * (p + square (f m)) <= (1 + B * B) * (1 + B * B)) by (apply
        Rmult_le_compat; lra).
      assert ((s + square (g m)) * (s + square (g m)) <= (1 + B * B) * (1 + B * B)) by (apply Rmult_le_compat; lra).
      pose proof (Rle_0_sqr (c + f m * g m)) as Q. unfold Rsqr in Q. lra.
    - intros HB1. destruct (corners_apart B HB1 p s c (f m) (g m)) as [t [T1 T2]]; try lra. exists t.
      split; [exact T1|].
      unfold square. lra.
  Qed.

  (** Without it. *)
  Lemma rank_ones_apart B : 0 <= B -> Rabs (f m) <= B -> Rabs (g m) <= B ->
    total (fun a => total (fun b => square ((if (a =? m)%nat && (b =? m)%nat then 0 else f a * f b)
                                          - (if (a =? m)%nat && (b =? m)%nat then 0 else g a * g b))) (seq 0 n)) (seq
                                              0 n)
    <= if Rle_dec 1 B then 8 * (B * B) else 2 * ((1 + B * B) * (1 + B * B)).
  Proof.
    intros HB Hf Hg. rewrite total_last.
    assert (E1 : total (fun b => square ((if (m =? m)%nat && (b =? m)%nat then 0 else f m * f b)
        - (if (m =? m)%nat && (b =? m)%nat then 0 else g m * g b))) (seq 0 n) = total (fun a => square (f a * f m - g
            a * g m)) places).
    { rewrite total_last, Nat.eqb_refl. cbn [andb]. rewrite Rminus_0_r.
    replace (square 0) with 0 by (unfold square; ring).
      rewrite Rplus_0_r. apply total_ext. intros a Ha. apply in_seq in Ha. destruct (Nat.eqb_spec a m); [lia|].
      f_equal. ring. }
    assert (E2 : total (fun a => total (fun b => square ((if (a =? m)%nat && (b =? m)%nat then 0 else f a * f b)
        - (if (a =? m)%nat && (b =? m)%nat then 0 else g a * g b))) (seq 0 n)) places
      = total (fun a => total (fun b => square (f a * f b - g a * g b)) places) places + total (fun a => square (f a *
        f m - g a * g m)) places).
    { rewrite <- total_plus. apply total_ext. intros a Ha. apply in_seq in Ha. destruct (Nat.eqb_spec a m); [lia|].
    cbn [andb].
      apply total_last. }
    pose proof (all_entries m f g) as HA. fold places p s c in HA. rewrite E1, E2, HA.
    pose proof (weighed_bound m f g (f m) (g m) 2 B Hp Hs Hf Hg ltac:(lra)) as HW. fold places p s c in HW.
    assert (E3 : total (fun a => square (sqrt 2 * (f a * f m - g a * g m))) places = 2 * total (fun a => square (f a *
      f m - g a * g m)) places).
    { rewrite <- total_scale. apply total_ext. intros a _. pose proof (sqrt_def 2 ltac:(lra)) as Q. unfold square.
      transitivity ((sqrt 2 * sqrt 2) * ((f a * f m - g a * g m) * (f a * f m - g a * g m))); [ring | rewrite Q;
        ring]. }
    rewrite E3 in HW. destruct (Rle_dec 1 B) as [L|N]; destruct (Rle_dec (B * B * 2) 2) as [L2|N2]; try lra.
    - assert (B = 1) by nra. subst B. lra.
    - exfalso. nra.
  Qed.
End Matrices.

(* ---------------------------------------------------------------- listed vectors *)

Lemma squares_from l : forall start, (fold_left (fun s v => s + v * v) l start = start + squares l)%Z.
Proof.
  unfold squares. induction l as [|v l IH]; intros start; cbn [fold_left]; [lia|]. rewrite IH, (IH (0 + v * v)%Z). lia.
Qed.

Lemma squares_R l : IZR (squares l) = total (fun z => square (IZR z)) l.
Proof.
  induction l as [|v l IH]; auto. unfold squares. cbn [fold_left total].
  rewrite squares_from, plus_IZR, IH, Z.add_0_l, mult_IZR. auto.
Qed.

Lemma squares_shape l : squares (shape_of l) = squares l.
Proof.
  unfold shape_of. induction l as [|v l IH]; auto. cbn [map filter].
  assert (E : squares (v :: l) = (v * v + squares l)%Z) by (unfold squares at 1; cbn [fold_left];
    rewrite squares_from; lia).
  rewrite E, <- IH. unfold shown at 1. destruct (Z.eqb_spec (Z.abs v) 0) as [Z0|N]; cbn [negb].
  - replace v with 0%Z by lia. reflexivity.
  - unfold squares at 1. cbn [fold_left]. rewrite squares_from. lia.
Qed.

Lemma squares_permuted l l' : Permutation l l' -> squares l = squares l'.
Proof.
  assert (E : forall v l, squares (v :: l) = (v * v + squares l)%Z) by (intros v m; unfold squares at 1;
    cbn [fold_left]; rewrite squares_from; lia).
  induction 1; rewrite ?E; lia.
Qed.

Lemma shape_squares v s : shape v s -> squares v = squares s.
Proof. intros HS. rewrite <- (squares_shape v), <- (squares_shape s). apply squares_permuted. apply shape_spec. auto.
Qed.

Lemma longest_spec moves : (0 <= longest moves)%Z /\ forall s, In s moves -> (squares s <= longest moves)%Z.
Proof.
  unfold longest. assert (G : forall l b, (b <= fold_left Z.max l b)%Z /\ forall y,
    In y l -> (y <= fold_left Z.max l b)%Z).
  { induction l as [|a l IH]; intros b; simpl; [split; [lia | tauto]|]. destruct (IH (Z.max b a)) as [G1 G2].
    split; [lia|]. intros y [<-|Hy]; [lia | auto]. }
  destruct (G (map squares moves) 0%Z) as [G1 G2]. split; auto. intros s Hs. apply G2, in_map. auto.
Qed.

Lemma points_move W l q low high points rel source : lawful W -> holds W l -> well_made l ->
  says l = Contribution q Points low high points rel source -> too_many points rel = false -> steady W q ->
  forall k p o i h d d', neighbours (distance W) rel d d' ->
    total square (differences W (numbers_of W k p q [] o i h) d d') <= IZR (longest (moves_of points rel)).
Proof.
  intros HW Hl Ml Hs Hfew Hsteady k pl o i h d d' Hd.
  assert (HF : follow ByDifferences [l] = Some (Line (Shifts q (moves_of points rel) rel) [] [] Once [] false [])).
  { destruct Ml as [Hbare _]. rewrite Hs in Hbare. destruct (Hbare eq_refl) as [B1 [B2 [B3 B4]]].
    unfold follow. cbn [map infer sensitivity]. rewrite Hs. cbn [list_of_moves]. rewrite Hfew. cbn [negb].
    cbn [noise_is_named one_table andb law_of all_draws]. rewrite B1. cbn [merged map flat_map fold_left existsb].
    rewrite B2, B3, B4. reflexivity. }
  destruct (differences_sound ByDifferences eq_refl W [l] _ HW (Forall_cons _ Hl (Forall_nil _)) (Forall_cons _ Ml
    (Forall_nil _)) HF I) as [HN _].
  unfold holds in HN. cbn [says] in HN. destruct (HN Hsteady o d d' Hd) as [HS _].
  destruct (HS k pl i h) as [v [-> Hv]]. rewrite total_map, <- squares_R. apply IZR_le.
  destruct (longest_spec (moves_of points rel)) as [L0 L1].
  destruct Hv as [Hv|[s [Hin Hv]]]; rewrite (shape_squares _ _ Hv); auto.
Qed.

(* ---------------------------------------------------------------- the rule *)

Theorem linear_sound : sound_rule "linear".
Proof.
  intros st HR. destruct st; try discriminate HR. clear HR. intros W found n HW HH HM HF _.
  rename bound_squared into bound.
  one_premise found l. pose proof (Forall_inv HH) as Hl. pose proof (Forall_inv HM) as Ml.
  destruct (restated (ByLinear bound) l n eq_refl I HF) as [ds [gone [Ei [Ea [Eg [Ep [Ev [_ [_ Ech]]]]]]]]].
  cbn [infer sensitivity] in Ei. unfold linear in Ei.
  destruct (says l) as [| |q set0 low high points rel source| | | | | | | | | | | |] eqn:Hs; try discriminate.
  assert (Hch : changes n = []) by (rewrite Ech; reflexivity).
  assert (Hb : bare n) by (apply (bare_line l n); auto; apply Ml; rewrite Hs; auto).
  pose proof Ml as Ml'. destruct Ml' as [_ [_ Ml']]. rewrite Hs in Ml'. destruct Ml' as [_ [Hsimple [Hlow [Hzero _]]]].
  pose proof Hl as Hl'. unfold holds in Hl'. rewrite Hs in Hl'. destruct Hl' as [Hsum [Hset [_ Hsized]]].
  assert (Hgroups : of_groups rel = false) by (destruct rel; auto; discriminate).
  assert (Finish : forall how b, says n = Stable q how b rel None -> 0 <= Q2R b ->
    (how = FrobeniusSquared -> set0 = RankOne \/ set0 = Outer) ->
    (steady W q -> forall k p o i h d d', neighbours (distance W) rel d d' ->
       within how (Q2R b) (differences W (numbers_of W k p q [] o i h) d d')) -> holds W n /\ well_made n).
  { intros how b En Hb0 Hfrob Hwithin. split.
    - unfold holds. rewrite En, Hch. split; [|split; auto]. intros E. specialize (Hfrob E). split; auto. split.
      + destruct Hfrob; subst set0; exact Hsized.
      + apply (sums_symmetric W q set0 (Q2R low) (Q2R high) points Hsum Hset Hfrob).
    - unfold well_made. rewrite En. split; [auto|]. split; [destruct Hb as [_ [-> _]]; intros k []|]. auto. }
  assert (Moves : steady W q -> forall o i h d d', neighbours (distance W) rel d d' -> _) by
    (intros Hsteady o i h d d' Hd;
      exact (one_unit_moves W HW q set0 (Q2R low) (Q2R high) points Hsum Hset Hsteady rel o i h d d' Hsimple Hd)).
  assert (Diff : forall k p o i h d d' (F : R -> R), total F (differences W (numbers_of W k p q [] o i h) d d')
    = total (fun j => F (value W q o i h d j - value W q o i h d' j)) (seq 0 (size W q))).
  { intros. unfold differences. cbn [numbers_of]. rewrite map_map, total_map. auto. }
  assert (Still : forall o i h d d' (F : R -> R) m, F 0 = 0 -> 0 <= m -> (forall j,
    value W q o i h d j - value W q o i h d' j = 0) ->
    total (fun j => F (value W q o i h d j - value W q o i h d' j)) (seq 0 (size W q)) <= m).
  { intros o i h d d' F m F0 Hm E. rewrite total_zero; auto. intros j _. rewrite E. auto. }
  assert (S0 : square 0 = 0) by (unfold square; ring).
  pose proof Rabs_R0 as A0.
  assert (Other : forall (g : nat -> R) set,
    (if replaces rel then in_set W q set (Q2R low) (Q2R high) points g else forall j, g j = 0) ->
    set = RankOne \/ set = Outer -> 0 <= Q2R high -> exists w : nat -> R,
      total (fun j => square (w j)) (seq 0 (pred (side W q))) <= 1 /\ Rabs (w (pred (side W q))) <= Q2R high /\
      forall i j, (i < side W q)%nat -> (j < side W q)%nat -> g (i * side W q + j)%nat = match set with
        | Outer => w i * w j
        | _ => if (i =? pred (side W q))%nat && (j =? pred (side W q))%nat then 0 else w i * w j
        end).
  { intros g set Hg HS HB. destruct (replaces rel).
    - destruct HS; subst set; destruct Hg as [_ [_ Hg]]; exact Hg.
    - exists (fun _ => 0). split; [rewrite total_zero; auto; lra|]. split; [rewrite A0; auto|]. intros i j _ _.
      rewrite Hg.
      destruct HS; subst set; [destruct (_ && _)%bool|]; ring. }
  (* matrices with their corner, by either bound *)
  assert (Corners : set0 = Outer -> forall b, says n = Stable q FrobeniusSquared b rel None ->
    (Q2R high <= 1 -> 2 * ((1 + Q2R high * Q2R high) * (1 + Q2R high * Q2R high)) <= Q2R b) ->
    (1 < Q2R high -> forall t, 0 <= t <= Q2R high -> height (Q2R high) t <= Q2R b) -> holds W n /\ well_made n).
  { intros HO b En Hsmall Hlarge. assert (HB : 0 <= Q2R high) by (rewrite <- Hzero by (rewrite HO; discriminate); auto).
    set (B := Q2R high) in *.
    assert (B0 : 0 <= Q2R b).
    { destruct (Rle_dec B 1) as [L|N]; [specialize (Hsmall L); nra|].
      specialize (Hlarge ltac:(lra) B ltac:(lra)). rewrite height_last in Hlarge. nra. }
    apply (Finish _ _ En B0); [auto|]. intros Hsteady k p o i h d d' Hd. cbn [within]. rewrite Diff.
    destruct (Moves Hsteady o i h d d' Hd) as [E|[f [g [E [Hf Hg]]]]]; [apply Still; auto|].
    rewrite (squares_abs _ _ _ E).
    destruct (Other g Outer) as [w [W1 [W2 W3]]]; [rewrite <- HO; exact Hg | auto | exact HB|].
    rewrite HO in Hf. destruct Hf as [Hsize [Hside [v [V1 [V2 V3]]]]].
    rewrite Hsize, total_grid. remember (side W q) as side0. destruct side0 as [|m]; [congruence|].
    cbn [pred] in *. destruct (outers_apart m v w V1 W1 B HB V2 W2) as [O1 O2].
    rewrite (total_ext _ (fun a => total (fun b' => square (v a * v b' - w a * w b')) (seq 0 (S m)))).
    2: { intros a Ha. apply in_seq in Ha. apply total_ext. intros b' Hb'. apply in_seq in Hb'. rewrite V3, W3 by lia.
    auto. }
    destruct (Rle_dec B 1) as [L|N]; [apply Rle_trans with (1 := O1 L); auto|].
    destruct (O2 ltac:(lra)) as [t [T1 T2]]. apply Rle_trans with (1 := T2). apply Hlarge; auto. lra. }
  (* bounds of each set *)
  assert (Unstated : match set0 with Outer => below 1 high | _ => false end = false ->
    (exists how b, furthest_sum set0 low high points rel = Some (how, b) /\ says n = Stable q how b rel None) ->
    holds W n /\ well_made n).
  { intros Hout [how [b [Ef En]]]. unfold furthest_sum in Ef. destruct set0.
    - (* one number *)
      injection Ef as <- <-. apply (Finish _ _ En); [|discriminate|].
      + destruct (replaces rel); [rewrite minus_R; lra|]. rewrite larger_R, absolute_R.
        apply Rle_trans with (2 := Rmax_l _ _). apply Rabs_pos.
      + intros Hsteady k p o i h d d' Hd. cbn [within]. rewrite Diff.
        destruct (Moves Hsteady o i h d d' Hd) as [E|[f [g [E [Hf Hg]]]]].
        * apply Still; auto. destruct (replaces rel); [rewrite minus_R; lra|]. rewrite larger_R, absolute_R.
          apply Rle_trans with (2 := Rmax_l _ _). apply Rabs_pos.
        * destruct Hf as [Hsize Hf]. rewrite Hsize. cbn [seq total]. rewrite E, Rplus_0_r. destruct (replaces rel).
          -- destruct Hg as [_ Hg]. rewrite minus_R. apply Rabs_le. lra.
          -- rewrite Hg, larger_R, !absolute_R, Rminus_0_r. apply Rabs_le.
             pose proof (Rmax_l (Rabs (Q2R low)) (Rabs (Q2R high))).
             pose proof (Rmax_r (Rabs (Q2R low)) (Rabs (Q2R high))).
             pose proof (Rle_abs (Q2R high)). pose proof (Rle_abs (- Q2R low)) as Q. rewrite Rabs_Ropp in Q. lra.
    - (* a vector *)
      specialize (Hzero ltac:(discriminate)). injection Ef as <- <-.
      assert (B0 : Q2R high <= Q2R (if replaces rel then times four high else high)).
      { destruct (replaces rel); [|lra]. rewrite times_R. unfold four. rewrite four_R. lra. }
      apply (Finish _ _ En); [lra | discriminate|].
      intros Hsteady k p o i h d d' Hd. cbn [within]. rewrite Diff.
      destruct (Moves Hsteady o i h d d' Hd) as [E|[f [g [E [Hf Hg]]]]]; [apply Still; auto; lra|].
      rewrite (squares_abs _ _ _ E). cbn [in_set] in Hf. destruct (replaces rel).
      + rewrite times_R. unfold four. rewrite four_R. apply squares_apart; auto.
      + apply Rle_trans with (2 := Hf). right. apply total_ext. intros j _. rewrite Hg. f_equal. lra.
    - (* cells *)
      specialize (Hzero ltac:(discriminate)). injection Ef as <- <-.
      assert (B0 : Q2R high <= Q2R (if replaces rel then plus high high else high)).
      { destruct (replaces rel); [|lra]. rewrite plus_R. lra. }
      apply (Finish _ _ En); [lra | discriminate|].
      intros Hsteady k p o i h d d' Hd. cbn [within]. rewrite Diff.
      destruct (Moves Hsteady o i h d d' Hd) as [E|[f [g [E [Hf Hg]]]]]; [apply Still; auto; lra|].
      rewrite (total_ext _ (fun j => Rabs (f j - g j))) by auto. destruct Hf as [Hf1 Hf2].
      assert (Hg' : (forall j, In j (seq 0 (size W q)) -> g j = 0 \/ g j = 1) /\
        total f (seq 0 (size W q)) + total g (seq 0 (size W q)) <= Q2R (if replaces rel then plus high high else high)).
      { destruct (replaces rel).
        - destruct Hg as [Hg1 Hg2]. split; auto. rewrite plus_R. lra.
        - split; auto. rewrite (total_zero g) by auto. lra. }
      destruct Hg' as [Hg1 Hg2]. apply Rle_trans with (2 := Hg2). rewrite <- total_plus. apply total_le. intros j Hj.
      apply Rabs_le. destruct (Hf1 j Hj), (Hg1 j Hj); lra.
    - (* matrices without their corner *)
      specialize (Hzero ltac:(discriminate)). injection Ef as <- <-.
      assert (HB : 0 <= Q2R high) by lra. set (B := Q2R high) in *.
      match type of En with _ = Stable _ _ ?x _ _ => assert (Eb : Q2R x = if Rle_dec 1 B then 8 * (B * B) else 2 * ((1
        + B * B) * (1 + B * B))) end.
      { destruct (Qle_bool 1 high) eqn:E1.
        - apply le_R in E1. rewrite one_R in E1. fold B in E1. destruct (Rle_dec 1 B); [|lra].
          rewrite !times_R. unfold two. rewrite two_R. fold B. ring.
        - destruct (Rle_dec 1 B) as [L|N].
          + exfalso. assert (Qle_bool 1 high = true) by (apply le_R; rewrite one_R; auto). congruence.
          + rewrite !times_R, !plus_R, !times_R, one_R. unfold two. rewrite two_R. fold B. ring. }
      assert (Eb0 : 0 <= if Rle_dec 1 B then 8 * (B * B) else 2 * ((1 + B * B) * (1 + B * B))) by (destruct (Rle_dec 1
        B); nra).
      apply (Finish _ _ En); [rewrite Eb; auto | auto|].
      intros Hsteady k p o i h d d' Hd. cbn [within]. rewrite Diff, Eb.
      destruct (Moves Hsteady o i h d d' Hd) as [E|[f [g [E [Hf Hg]]]]]; [apply Still; auto|].
      rewrite (squares_abs _ _ _ E). destruct Hf as [Hsize [Hside [v [V1 [V2 V3]]]]].
      destruct (Other g RankOne Hg (or_introl eq_refl) HB) as [w [W1 [W2 W3]]].
      rewrite Hsize, total_grid. remember (side W q) as side0. destruct side0 as [|m]; [congruence|].
      cbn [pred] in *. apply Rle_trans with (2 := rank_ones_apart m v w V1 W1 B HB V2 W2).
      right. apply total_ext. intros a Ha. apply in_seq in Ha. apply total_ext. intros b' Hb'. apply in_seq in Hb'.
      rewrite V3, W3 by lia. auto.
    - (* with it *)
      injection Ef as <- <-. apply (Corners eq_refl _ En).
      + intros _. rewrite !times_R, plus_R, times_R, one_R. unfold two. rewrite two_R. right. ring.
      + intros L. exfalso. assert (below 1 high = true) by (apply below_R; rewrite one_R; auto). congruence.
    - (* listed vectors *)
      destruct (too_many points rel) eqn:Hfew; [discriminate|]. injection Ef as <- <-.
      apply (Finish _ _ En); [rewrite of_Z_R; apply IZR_le, longest_spec | discriminate|].
      intros Hsteady k p o i h d d' Hd. cbn [within]. rewrite of_Z_R.
      apply (points_move W l q low high points rel source HW Hl Ml Hs Hfew Hsteady k p o i h d d' Hd). }
  destruct (furthest_sum set0 low high points rel) as [[how b]|] eqn:Ef; [|discriminate]. cbn [fst snd] in Ei.
  destruct bound as [bound|].
  - destruct (outer_supremum high) as [least|] eqn:Eo; [|discriminate]. destruct set0; try discriminate.
    destruct (below 1 high) eqn:E1; [|discriminate]. destruct (Qle_bool least bound) eqn:E2; [|discriminate].
    apply below_R in E1. rewrite one_R in E1. apply le_R in E2. injection Ef as <- <-.
    assert (En : says n = Stable q FrobeniusSquared bound rel None) by (cbn [andb] in Ei; congruence).
    apply (Corners eq_refl _ En); [intros; lra|]. intros _ t Ht.
    apply Rle_trans with (2 := E2). apply (outer_supremum_spec high least E1 Eo t Ht).
  - destruct (match set0 with Outer => below 1 high | _ => false end) eqn:Es; [discriminate|].
    cbn [negb] in Ei. assert (En : says n = Stable q how b rel None) by congruence.
    apply Unstated; auto. exists how, b. auto.
Qed.
