(** Answers drawn from a table, one row for every symbol. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String.
From Coquelicot Require Import Rcomplements.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Bounds Chance Costs Numbers Satisfies Lines Sound Maps Products.
From DP.decide Require Import Decide.
From DP.sensitivity Require Import Infer.
From DP.noise Require Import Infer Releases Proofs Triangles.
From DP.conversions Require Import Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Lemma least_R l a : In a l -> Q2R (least l) <= Q2R a.
Proof.
  set (f := fun a b : Q => if Qle_bool a b then a else b).
  assert (S : forall a b, Q2R (f a b) <= Q2R a /\ Q2R (f a b) <= Q2R b).
  { intros x y. unfold f. destruct (Qle_bool x y) eqn:E; [apply le_R in E; lra|]. split; [|lra].
    destruct (Rle_dec (Q2R y) (Q2R x)); auto. assert (Qle_bool x y = true) by (apply le_R; lra). congruence. }
  assert (G : forall l b, (Q2R (fold_left f l b) <= Q2R b) /\ forall a, In a l -> Q2R (fold_left f l b) <= Q2R a).
  { induction l0 as [|c l0 IH]; intros b; simpl; [split; [lra | tauto]|].
    destruct (IH (f b c)) as [H1 H2]. destruct (S b c). split; [lra|]. intros x [<-|Hx]; [lra | auto]. }
  destruct l as [|b l]; simpl; [tauto|]. destruct (G l b) as [H1 H2]. intros [<-|Ha]; auto.
Qed.

Lemma int_whole z : Int_part (IZR z) = z.
Proof. unfold Int_part. rewrite <- (tech_up (IZR z) (z + 1)); rewrite ?plus_IZR; try lra. lia. Qed.

Lemma all_some_at {A B} (f : A -> option B) l : forall m, all_some f l = Some m -> forall i a, (i < List.length l)%nat -> exists b, In b m /\ f (nth i l a) = Some b.
Proof.
  induction l as [|x l IH]; intros m; simpl; [intros _ i a Hi; lia|].
  destruct (f x) as [y|] eqn:Ex; [|discriminate]. destruct (all_some f l) as [ys|]; [|discriminate]. intros E. injection E as <-.
  intros [|i] a Hi; [exists y; split; [left; auto | auto]|]. destruct (IH ys eq_refl i a ltac:(lia)) as [b [Hb E]]. exists b. split; [right; auto | auto].
Qed.

Lemma symbols_spec n : forall from p, In p (symbols n from) <-> exists k, (from <= k < from + Z.of_nat n)%Z /\ p = [k].
Proof.
  induction n as [|n IH]; intros from p; cbn [symbols].
  - split; [intros []|]. intros [k [Hk _]]. lia.
  - simpl. rewrite IH. split.
    + intros [<-|[k [Hk ->]]]; [exists from; split; [lia | auto] | exists k; split; [lia | auto]].
    + intros [k [Hk ->]]. destruct (Z.eq_dec k from) as [->|N]; [left; auto | right; exists k; split; [lia | auto]].
Qed.

(** Weights of a row of probabilities. *)
Lemma row_weights row : forallb (Qle_bool 0) row = true -> Q2R (sum_of row) = 1 ->
  summable (fun j => Q2R (nth j row 0%Q)) /\ usum (fun j => Q2R (nth j row 0%Q)) = 1 /\ forall j, 0 <= Q2R (nth j row 0%Q).
Proof.
  intros HF HS. rewrite forallb_forall in HF.
  assert (Hpos : forall j, 0 <= Q2R (nth j row 0%Q)).
  { intros j. destruct (Nat.lt_ge_cases j (List.length row)) as [L|L]; [apply q_nonneg, HF, nth_In; auto|]. rewrite nth_overflow by auto. rewrite zero_R. lra. }
  destruct (usum_finite (fun j => Q2R (nth j row 0%Q)) (seq 0 (List.length row))) as [U1 U2]; auto.
  - apply seq_NoDup.
  - intros j Hj. destruct (Nat.lt_ge_cases j (List.length row)) as [L|L]; [exfalso; apply Hj, in_seq; lia|]. rewrite nth_overflow by auto. apply zero_R.
  - split; [auto|split; auto]. rewrite U2, <- HS, sum_of_R. symmetry. apply (total_nth Q2R 0%Q).
Qed.

Definition chance_of (table : list (list Q)) (k : Z) (j : nat) : R := Q2R (nth j (nth (Z.to_nat k) table []) 0%Q).

Definition symbol_of (table : list (list Q)) (k : Z) : Prop := (0 <= k < Z.of_nat (List.length table))%Z.

(** What a table is whose largest ratio is inferred. *)
Lemma table_rows table points rel worst : worst_ratio table points rel = Some worst ->
  points = symbols (List.length table) 0 /\ rel = ReplaceOne /\ forall k, symbol_of table k ->
    (forall j, 0 <= chance_of table k j) /\ usum (chance_of table k) = 1 /\
    (forall j, (List.length (hd [] table) <= j)%nat -> chance_of table k j = 0) /\
    total (chance_of table k) (seq 0 (List.length (hd [] table))) = 1 /\
    forall k' j, symbol_of table k' -> chance_of table k j <= Q2R worst * chance_of table k' j.
Proof.
  unfold worst_ratio. set (width := List.length (hd [] table)).
  destruct (_ && _)%bool eqn:Hc; [|discriminate]. apply andb_prop in Hc. destruct Hc as [Hc Hlaws]. apply andb_prop in Hc. destruct Hc as [Hc Hwidth].
  apply andb_prop in Hc. destruct Hc as [Hpoints Hrep].
  destruct (all_some _ (seq 0 width)) as [ratios|] eqn:Er; [|discriminate]. intros E. injection E as <-.
  apply (list_eqb_eq z_list_eqb (list_eqb_eq Z.eqb (fun a b => proj1 (Z.eqb_eq a b)))) in Hpoints.
  apply relation_eqb_eq in Hrep. subst rel. rewrite forallb_forall in Hlaws, Hwidth.
  assert (Hlaw : forall k, symbol_of table k -> let rw := nth (Z.to_nat k) table [] in
    In rw table /\ forallb (Qle_bool 0) rw = true /\ Q2R (sum_of rw) = 1 /\ List.length rw = width).
  { intros k Hk rw. assert (Hrw : In rw table) by (apply nth_In; unfold symbol_of in Hk; lia). specialize (Hlaws rw Hrw). specialize (Hwidth rw Hrw).
    apply Nat.eqb_eq in Hwidth. unfold is_law in Hlaws. destruct rw; [discriminate|].
    apply andb_prop in Hlaws. destruct Hlaws as [H1 H2]. apply eq_R in H2. rewrite one_R in H2. auto. }
  split; auto. split; auto. intros k Hk. destruct (Hlaw k Hk) as [I1 [L1 [S1 W1]]]. destruct (row_weights _ L1 S1) as [_ [U1 N1]].
  assert (Hout : forall k j, symbol_of table k -> (width <= j)%nat -> chance_of table k j = 0).
  { intros k0 j H0 Hj. destruct (Hlaw k0 H0) as [_ [_ [_ W0]]]. unfold chance_of. rewrite nth_overflow by (rewrite W0; auto). apply zero_R. }
  repeat split; auto.
  - unfold chance_of. rewrite <- S1, sum_of_R, <- W1. symmetry. apply (total_nth Q2R 0%Q).
  - intros k' j Hk'. destruct (Hlaw k' Hk') as [I2 [L2 [S2 W2]]]. destruct (row_weights _ L2 S2) as [_ [_ N2]].
    destruct (Nat.lt_ge_cases j width) as [Lj|Lj]; [|rewrite !Hout; auto; lra].
    destruct (all_some_at _ _ _ Er j 0%nat ltac:(rewrite seq_length; auto)) as [ratio [Hin Hr]]. rewrite seq_nth in Hr by auto. rewrite Nat.add_0_l in Hr.
    unfold ratio_of in Hr. set (col := column_of table j) in *. unfold chance_of.
    assert (C1 : In (nth j (nth (Z.to_nat k) table []) 0%Q) col) by (apply in_map_iff; eauto).
    assert (C2 : In (nth j (nth (Z.to_nat k') table []) 0%Q) col) by (apply in_map_iff; eauto).
    pose proof (largest_R col _ C1) as M1. pose proof (least_R col _ C2) as M2. pose proof (N1 j) as Pj. pose proof (N2 j) as Pj'.
    pose proof (largest_R ratios ratio Hin) as MR.
    destruct (_ || _)%bool eqn:Eo in Hr; [|discriminate]. destruct (Qeq_bool (largest col) 0) eqn:E0.
    + apply eq_R in E0. rewrite zero_R in E0. injection Hr as <-. rewrite one_R in MR. nra.
    + rewrite orb_false_r in Eo. apply q_positive in Eo. injection Hr as Hr.
      assert (ER : Q2R ratio = Q2R (largest col) / Q2R (least col)) by (rewrite <- Hr; apply over_R; lra).
      apply Rle_trans with (Q2R (largest col)); auto. replace (Q2R (largest col)) with (Q2R ratio * Q2R (least col)) by (rewrite ER; field; lra).
      assert (0 <= Q2R ratio) by (rewrite ER; apply Rdiv_le_0_compat; auto; lra).
      apply Rmult_le_compat; lra.
Qed.

Theorem finite_sound : sound_rule "finite".
Proof.
  intros st HR. destruct st; try discriminate HR. clear HR. intros W found n HW HH HM HF HT.
  assert (exists l, found = [l]) as [l ->].
  { unfold follow in HF. destruct (infer (ByFinite table epsilon key) (map says found)) eqn:Ei; [|discriminate].
    destruct found as [|a [|b rest]]; [discriminate | eauto | exfalso; cbn [map infer noise] in Ei; destruct (says a); discriminate]. }
  pose proof (Forall_inv HH) as Hl. pose proof (Forall_inv HM) as Ml.
  destruct (noise_line (ByFinite table epsilon key) l n key (TableAnswer table) eq_refl HF) as [q [c [rel [o [reads [Hi ->]]]]]].
  cbn [infer noise] in Hi. unfold finite in Hi.
  destruct (says l) as [| |q0 set0 low high points rel0 source| | | | | | | | | | | |] eqn:Hs; try discriminate. destruct set0; try discriminate.
  destruct (worst_ratio table points rel0) as [worst|] eqn:Er; [|discriminate].
  destruct (table_rows _ _ _ _ Er) as [Hpoints [-> Hrows]].
  destruct (_ && _)%bool eqn:Hw in Hi; [|discriminate]. apply andb_prop in Hw. destruct Hw as [Hw He]. apply q_nonneg in He.
  unfold drawn_on in Hi. injection Hi as <- <- <- <- <-.
  destruct Ml as [_ [_ Ml]]. rewrite Hs in Ml. destruct Ml as [Hch _].
  unfold holds in Hl. rewrite Hs in Hl. destruct Hl as [_ [Hset _]].
  split; [|apply drawn_once_well_made; auto; rewrite Hch; auto].
  destruct (HT key (Place q0 (changes l) (TableAnswer table) Once) (or_introl eq_refl)) as [Hsteady Hdrawn].
  cbn [query made how] in *. rewrite Hch in Hsteady. specialize (Hsteady eq_refl).
  unfold holds; cbn [says drawn departed of_persons views].
  apply (once_holds W HW q0 (changes l) (TableAnswer table) key ReplaceOne _ (@pure_cost) (Q2R epsilon)); auto using pure_free.
  intros ov Hplace h lab d d' Hlab Hkey [u [r [r' [E1 [E2 HO]]]]].
  destruct (Hdrawn ov Hplace h lab Hlab Hkey) as [row [Hrow HP]].
  apply (made_pure W h _ _ _ d d' HP).
  (* two rows *)
  assert (Hworst : 1 <= exp (Q2R epsilon) /\ Q2R worst <= exp (Q2R epsilon)).
  { split; [rewrite <- exp_0; apply exp_le; auto|]. apply orb_true_iff in Hw. destruct Hw as [Hw|Hw].
    - apply eq_R in Hw. rewrite one_R in Hw. rewrite Hw, <- exp_0. apply exp_le; auto.
    - apply at_most_sound in Hw. cbn [eval] in Hw. rewrite one_R in Hw. pose proof (exp_pos (Q2R epsilon)).
      apply Rmult_le_reg_r with (/ exp (Q2R epsilon)); [apply Rinv_0_lt_compat; auto|]. rewrite Rinv_r by lra. exact Hw. }
  assert (Hprop : forall k, symbol_of table k -> proportional (chance_of table k) (row k)).
  { intros k Hk. apply Hrow. apply in_map_iff. unfold symbol_of in Hk. exists (Z.to_nat k). split; [lia|]. apply in_seq. lia. }
  assert (Htwo : forall k k', symbol_of table k -> symbol_of table k' -> pure_cost (Q2R epsilon) (row k) (row k')).
  { intros k k' Hk Hk' f Hf. apply (proportional_le _ _ _ _ (exp (Q2R epsilon)) ltac:(left; apply exp_pos) (Hprop k Hk) (Hprop k' Hk')); auto.
    destruct (Hrows k Hk) as [_ [U1 [_ [_ B]]]]. destruct (Hrows k' Hk') as [N2 [U2 _]].
    intros j. rewrite U1, U2, !Rmult_1_r. apply Rle_trans with (1 := B k' j Hk'). apply Rmult_le_compat_r; auto. lra. }
  (* one unit *)
  set (ask := fun (e : data (record W)) v => match e v with
    | Some r => if takes_part W q0 (Facts.over (at_place lab)) (index lab) h v r then row (Int_part (adds W q0 (Facts.over (at_place lab)) (index lab) h v r 0%nat)) else point 0%nat
    | None => point 0%nat end).
  change (pure_cost (Q2R epsilon) (each (map (ask d) (units_there W))) (each (map (ask d') (units_there W)))).
  apply (pure_grows (total (fun v => if Z.eq_dec v u then Q2R epsilon else 0) (units_there W))).
  - split; [apply total_nonneg; intros v _; destruct (Z.eq_dec v u); lra|].
    destruct HW as [HN _]. clear - HN He. induction HN as [|v vs N1 N2 IH]; simpl; [auto|].
    destruct (Z.eq_dec v u) as [->|N]; [|lra]. rewrite total_zero; [lra|]. intros w Hw. destruct (Z.eq_dec w u); auto. congruence.
  - apply pure_each. intros v _. unfold ask. destruct (Z.eq_dec v u) as [->|N].
    + rewrite E1, E2. rewrite (Hsteady (Facts.over (at_place lab)) (index lab) h u r r').
      destruct (takes_part W q0 (Facts.over (at_place lab)) (index lab) h u r') eqn:Et.
      * assert (Hk : forall r0, takes_part W q0 (Facts.over (at_place lab)) (index lab) h u r0 = true ->
          symbol_of table (Int_part (adds W q0 (Facts.over (at_place lab)) (index lab) h u r0 0%nat))).
        { intros r0 Hr0. destruct (Hset _ _ _ _ _ Hr0) as [p [Hp [Lp Hv]]]. rewrite Hpoints in Hp. apply symbols_spec in Hp. destruct Hp as [k [Hk ->]].
          rewrite (Hv 0%nat); [|apply in_seq; simpl in Lp; lia]. cbn [nth]. rewrite int_whole. unfold symbol_of. lia. }
        apply Htwo; apply Hk; auto. rewrite (Hsteady _ _ _ _ r r'). auto.
      * apply (pure_grows 0); [lra|]. apply pure_free, same_refl.
    + rewrite (HO v N). apply pure_free, same_refl.
Qed.
