(** Histograms whose cells are shown where their noisy counts reach a threshold; empty cells are never shown.

    A record adds one to a few cells.  Where others have counts, noise of each cell hides it at a cost; a cell that the
    record has to itself must not be shown, which is as likely as a sum of weights says.  So a part c of the law with
    the record costs no more than the other cells do ([mostly]): that composes over cells, c as a product, and gives
    (ε, 1 - c) either way. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String.
From Coquelicot Require Import Rcomplements.
From DP.base Require Import Laws Sums.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps Products.
From DP.decide Require Import Decide.
From DP.sensitivity Require Import Infer Moves.
From DP.noise Require Import Infer Releases Laws Proofs.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- one release that is nearly private *)

Lemma once_approximate {M} (g : history M -> bool) (k l : history M -> law M) e d : 0 <= e -> 0 <= d ->
  (forall h h' m, earlier (m :: h') h -> g h = true -> g h' = false) ->
  (forall h, g h = true -> forall f, test f -> k h f <= exp e * l h f + d) -> approximate e d g k l.
Proof.
  intros He Hd Hg Hcost h p q _ HC. assert (E1 : 1 <= exp e) by (rewrite <- exp_0; apply exp_le; auto).
  assert (G : ((forall h', earlier h h' -> g h' = false) -> p <= q) /\ p <= exp e * q + d); [|apply G].
  assert (Later : forall m (h h' : history M), earlier (m :: h) h' -> earlier h h').
  { intros m h1 h2 [b ->]. exists (b ++ [m])%list. rewrite <- app_assoc. reflexivity. }
  induction HC as [h t Ht | h p q p' q' Hc [A B] Hp Hq | h p q p' q' t Ht Hc1 [A1 B1] Hc2 [A2 B2] | h m p q Hc [A B]
    | h P u v Hu Hv Hc IH | h u v Ha Hu Hv Hc IH].
  - split; [intros _; lra | nra].
  - split; [intros D; specialize (A D); lra | nra].
  - split; [intros D; specialize (A1 D); specialize (A2 D); nra | nra].
  - split; [intros D; apply A; intros h' Hh; apply D; eauto | auto].
  - split.
    + intros D. apply E_mono; auto. intros m. apply IH. intros h' Hh. apply D; eauto.
    + apply E_le_affine; auto; [lra|]. intros m. apply IH.
  - split.
    + intros D. rewrite (D h) in Ha; [discriminate|]. exists []. reflexivity.
    + apply Rle_trans with (k h v); [|apply Hcost; auto]. apply E_mono; auto. intros m. apply IH. intros h' Hh.
      apply not_true_is_false. intros E. rewrite (Hg h' h m Hh E) in Ha. discriminate.
Qed.

(* ---------------------------------------------------------------- laws that are mostly near *)

(** P is with chance c a law that costs e against Q, either way. *)
Definition mostly {A} (c e : R) (P Q : law A) : Prop :=
  exists P' : law A, (forall f, test f -> c * P' f <= P f) /\ pure_cost e P' Q /\ pure_cost e Q P'.

Lemma mostly_both {A} c e (P Q : law A) : 0 <= c <= 1 -> 0 <= e -> mostly c e P Q -> forall f, test f ->
  P f <= exp e * Q f + (1 - c) /\ Q f <= exp e * P f + (1 - c).
Proof.
  intros Hc He [P' [H1 [H2 H3]]] f Hf. pose proof (exp_pos e).
  pose proof (H1 f Hf) as L. pose proof (H1 _ (test_minus f Hf)) as U. rewrite !E_minus in U by auto.
  specialize (H2 f Hf). specialize (H3 f Hf). pose proof (E_test P' f Hf). pose proof (E_test Q f Hf).
  pose proof (E_test P f Hf).
  split; [nra|].
  assert (c * Q f <= exp e * P f) by (apply Rle_trans with (c * (exp e * P' f)); [apply Rmult_le_compat_l; lra | nra]).
  assert ((1 - c) * Q f <= 1 - c) by nra. lra.
Qed.

Lemma mostly_bind {A B} c c' e e' (P Q : law A) (k l : A -> law B) : 0 <= c -> 0 <= c' ->
  mostly c e P Q -> (exists k' : A -> law B, forall x, (forall f, test f -> c' * k' x f <= k x f) /\
    pure_cost e' (k' x) (l x) /\ pure_cost e' (l x) (k' x)) -> mostly (c * c') (e + e') (bind P k) (bind Q l).
Proof.
  intros Hc Hc' [P' [H1 [H2 H3]]] [k' Hk]. exists (bind P' k'). split; [|split].
  - intros f Hf. simpl. apply Rle_trans with (c' * P (fun a => k' a f)).
    + rewrite (Rmult_comm c), Rmult_assoc. apply Rmult_le_compat_l; auto.
    + apply E_ge_scale; auto. intros a. apply Hk; auto.
  - apply pure_bind; auto. intros x. apply Hk.
  - apply pure_bind; auto. intros x. apply Hk.
Qed.

Lemma mostly_each {T A} x e (m : T -> nat) (F G : T -> law A) l : 0 <= x <= 1 -> 0 <= e ->
  (forall t, In t l -> mostly (x ^ m t) (INR (m t) * e) (F t) (G t)) ->
  mostly (x ^ list_sum (map m l)) (INR (list_sum (map m l)) * e) (each (map F l)) (each (map G l)).
Proof.
  intros Hx He. induction l as [|t l IH]; intros HF; cbn [map each].
  - exists (point []). simpl. rewrite Rmult_0_l. repeat split; try apply pure_nothing. intros f Hf. simpl. lra.
  - change (list_sum (m t :: map m l)) with (m t + list_sum (map m l))%nat.
    rewrite pow_add, plus_INR, Rmult_plus_distr_r. apply mostly_bind; try (apply pow_le; lra).
    + apply HF. left; auto.
    + destruct IH as [R' [H1 [H2 H3]]]; [intros u Hu; apply HF; right; auto|].
      exists (fun a => bind R' (fun l => point (a :: l))). intros a. split; [|split; apply pure_post; auto].
      intros f Hf. simpl. apply (H1 (fun l => f (a :: l))). intros y; apply Hf.
Qed.

(* ---------------------------------------------------------------- one cell *)

Section Cell.
  Variables (b : R) (X : law Z) (threshold : Z).
  Hypothesis Hb : 0 < b.
  Hypothesis HX : discrete_laplace b X.
  Hypothesis Ht : (1 <= threshold)%Z.
  Let w := fun z : Z => exp (- Rabs (IZR z) / b).
  Let from (m : Z) := fun z : Z => if (m <=? z)%Z then 1 else 0.

  Lemma from_test m : test (from m).
  Proof. intros z. unfold from. destruct (m <=? z)%Z; lra. Qed.

  (** Noise of m or more is as likely as noise of 0 or more, but for a factor. *)
  Lemma tail_shift m : (0 <= m)%Z ->
    usum (fun z => w z * from m z) = exp (- IZR m / b) * usum (fun z => w z * from 0 z).
  Proof.
    intros Hm. assert (Hw : summable w) by apply HX.
    rewrite <- (usum_rename (fun z => w z * from m z) (fun z => (z + m)%Z) (fun z => (z - m)%Z));
      try (intros; lia); [|apply (summable_test w); auto using from_test].
    rewrite <- usum_scale; [|left; apply exp_pos | apply (summable_test w); auto using from_test].
    apply usum_ext. intros z. unfold from. destruct (Z.leb_spec m (z + m)), (Z.leb_spec 0 z); try lia; [|ring].
    unfold w. rewrite !Rmult_1_r, <- exp_plus. f_equal. apply IZR_le in H0, Hm. rewrite plus_IZR, !Rabs_right by lra.
    field. lra.
  Qed.

  Lemma all_noise : usum w = (1 + exp (- (1) / b)) * usum (fun z => w z * from 0 z).
  Proof.
    assert (Hw : summable w) by apply HX.
    rewrite (usum_ext w (fun z => w z * from 0 z + w z * (1 - from 0 z))) by (intros; ring).
    rewrite usum_plus by (apply (summable_test w); auto using from_test, test_minus).
    rewrite Rmult_plus_distr_r, Rmult_1_l. f_equal. rewrite <- (tail_shift 1) by lia.
    rewrite <- (usum_rename (fun z => w z * from 1 z) Z.opp Z.opp); try (intros; lia);
      [|apply (summable_test w); auto using from_test].
    apply usum_ext. intros z. unfold w, from. rewrite opp_IZR, Rabs_Ropp. f_equal.
    destruct (Z.leb_spec 0 z), (Z.leb_spec 1 (- z)); try lia; ring.
  Qed.

  Lemma tail_chance m : (0 <= m)%Z -> X (from m) = exp (- IZR m / b) / (1 + exp (- (1) / b)).
  Proof.
    intros Hm. destruct HX as [Hw [Hpos HP]]. fold w in Hw, Hpos, HP. specialize (HP _ (from_test m)).
    rewrite tail_shift in HP by auto. rewrite all_noise in HP, Hpos.
    pose proof (exp_pos (- (1) / b)).
    apply Rmult_eq_reg_r with ((1 + exp (- (1) / b)) * usum (fun z => w z * from 0 z)); [|apply Rgt_not_eq; exact Hpos].
    rewrite HP. field. lra.
  Qed.

  Definition cell (z : Z) : law (option Z) := if (z =? 0)%Z then point None
    else image (fun x => if (threshold <=? z + x)%Z then Some (z + x)%Z else None) X.

  Definition hidden : R := 1 - exp (IZR (1 - threshold) / b) / (1 + exp (- (1) / b)).

  Lemma hidden_range : 0 <= hidden <= 1.
  Proof.
    unfold hidden. pose proof (exp_pos (- (1) / b)). pose proof (exp_pos (IZR (1 - threshold) / b)).
    assert (exp (IZR (1 - threshold) / b) <= 1).
    { rewrite <- exp_0. apply exp_le. assert (IZR (1 - threshold) <= 0) by (apply IZR_le; lia).
      apply Rmult_le_reg_r with b; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    set (x := exp (IZR (1 - threshold) / b)) in *. set (y := exp (- (1) / b)) in *.
    assert (0 <= x / (1 + y)) by (apply Rdiv_le_0_compat; lra).
    assert (x / (1 + y) <= 1); [|lra]. apply Rmult_le_reg_r with (1 + y); [lra|]. unfold Rdiv.
    rewrite Rmult_assoc, Rinv_l; lra.
  Qed.

  (** A record in one cell, or not. *)
  Lemma cell_mostly z z' : (0 <= z')%Z -> (z = z' \/ z = z' + 1)%Z ->
    mostly (hidden ^ Z.to_nat (z - z')) (INR (Z.to_nat (z - z')) * / b) (cell z) (cell z').
  Proof.
    intros Hz [->| ->].
    - rewrite Z.sub_diag. simpl. rewrite Rmult_0_l. exists (cell z'). repeat split; try apply pure_nothing.
      intros f Hf. lra.
    - replace (z' + 1 - z')%Z with 1%Z by lia. change (Z.to_nat 1) with 1%nat. rewrite pow_1, Rmult_1_l.
      assert (Hib : 0 <= / b) by (left; apply Rinv_0_lt_compat; auto).
      pose proof hidden_range as HR. destruct (Z.eq_dec z' 0) as [->|N].
      + exists (point None). split; [|split; apply (pure_grows 0); try lra; apply pure_nothing].
        intros f Hf. unfold cell. 
        change (hidden * f None <= X (fun x => f (if (threshold <=? 1 + x)%Z then Some (1 + x)%Z else None))).
        assert (Hh : hidden = X (fun z => 1 - from (threshold - 1) z)).
        { rewrite E_minus, tail_chance by (auto using from_test; lia). unfold hidden. do 4 f_equal.
          rewrite !minus_IZR. ring. }
        rewrite Hh, Rmult_comm. apply E_ge_scale; [intros x; apply Hf | apply test_minus, from_test | apply Hf |].
        intros x. unfold from. pose proof (Hf (Some (1 + x)%Z)).
        destruct (Z.leb_spec threshold (1 + x)), (Z.leb_spec (threshold - 1) x); try lia; lra.
      + exists (cell (z' + 1)). split; [intros f Hf; pose proof (E_test (cell (z' + 1)) f Hf); nra|].
        unfold cell. rewrite (proj2 (Z.eqb_neq (z' + 1) 0)), (proj2 (Z.eqb_neq z' 0)) by lia.
        set (g := fun y : Z => if (threshold <=? y)%Z then Some y else None).
        split; intros f Hf.
        * pose proof (discrete_laplace_pure b X (z' + 1) z' Hb HX (fun y => f (g y))) as D.
          rewrite plus_IZR, (Rabs_right (_ - _)) in D by lra.
          replace ((IZR z' + 1 - IZR z') / b) with (/ b) in D by (field; lra).
          apply D. intros y; apply Hf.
        * pose proof (discrete_laplace_pure b X z' (z' + 1) Hb HX (fun y => f (g y))) as D.
          rewrite plus_IZR, Rabs_minus_sym, (Rabs_right (_ - _)) in D by lra.
          replace ((IZR z' + 1 - IZR z') / b) with (/ b) in D by (field; lra).
          apply D. intros y; apply Hf.
  Qed.
End Cell.

(* ---------------------------------------------------------------- what a record adds *)

Lemma in_combine {A B} (l : list A) (m : list B) b : List.length l = List.length m -> In b m ->
  exists a, In (a, b) (combine l m).
Proof.
  revert m. induction l as [|a l IH]; intros [|b' m] E Hin; try discriminate; [destruct Hin|].
  destruct Hin as [->|Hin]; [exists a; left; auto|]. destruct (IH m ltac:(simpl in E; lia) Hin) as [a' Ha]. exists a'.
  right; auto.
Qed.

Section Counts.
  Variables (W : world) (q : string) (o : spread) (i : Z) (h : history (message W)) (high : R).
  Hypothesis HW : lawful W.
  Local Notation D := (data (record W)).
  Hypothesis Hsum : forall d j, value W q o i h d j = total (fun u =>
    match d u with Some r => if takes_part W q o i h u r then adds W q o i h u r j else 0 | None => 0 end)
      (units_there W).
  Hypothesis Hset : forall u r, takes_part W q o i h u r = true ->
    (forall j, In j (seq 0 (size W q)) -> adds W q o i h u r j = 0 \/ adds W q o i h u r j = 1) /\
    total (adds W q o i h u r) (seq 0 (size W q)) <= high.
  Hypothesis Hhigh : 0 <= high.

  Lemma counts_nonneg (d : D) j : (j < size W q)%nat -> 0 <= value W q o i h d j.
  Proof.
    intros Hj. rewrite Hsum. apply total_nonneg. intros u _. destruct (d u) as [r|]; [|lra].
    destruct (takes_part W q o i h u r) eqn:E; [|lra]. destruct (Hset u r E) as [H0 _].
    destruct (H0 j) as [-> | ->]; try lra. apply in_seq. lia.
  Qed.

  Lemma removed_counts (d d' : D) : removed d d' ->
    (forall j, (j < size W q)%nat ->
      value W q o i h d j - value W q o i h d' j = 0 \/ value W q o i h d j - value W q o i h d' j = 1) /\
    total (fun j => value W q o i h d j - value W q o i h d' j) (seq 0 (size W q)) <= high.
  Proof.
    intros [u [r [E1 [E2 HO]]]].
    assert (E : forall j, value W q o i h d j - value W q o i h d' j =
      if in_dec Z.eq_dec u (units_there W) then if takes_part W q o i h u r then adds W q o i h u r j else 0 else 0).
    { intros j. rewrite !Hsum, (total_unit _ _ (units_there W) u) by (try apply HW; intros v Hv; rewrite (HO v Hv);
        auto).
      cbv beta. rewrite E1, E2. destruct (in_dec Z.eq_dec u (units_there W)); [apply Rminus_0_r | auto]. }
    rewrite (total_ext _ _ (seq 0 (size W q)) (fun j _ => E j)).
    destruct (in_dec Z.eq_dec u (units_there W)) as [Hu|Hu].
    2: { split; [intros j _; left; apply E | rewrite total_zero; auto]. }
    destruct (takes_part W q o i h u r) eqn:Et.
    2: { split; [intros j _; left; apply E | rewrite total_zero; auto]. }
    destruct (Hset u r Et) as [H0 H1]. split; auto. intros j Hj. rewrite E. apply H0, in_seq. lia.
  Qed.

  Let numbers : list (D -> R) := map (fun j d => value W q o i h d j) (seq 0 (size W q)).

  (** The same of the whole numbers that they are. *)
  Lemma removed_cells whole (d d' : D) : on_grid W 1 numbers whole -> removed d d' ->
    (forall z, In z whole -> (0 <= z d')%Z /\ (z d = z d' \/ z d = z d' + 1)%Z) /\
    INR (list_sum (map (fun z => Z.to_nat (z d - z d')) whole)) <= high.
  Proof.
    intros HG HR. destruct (removed_counts d d' HR) as [H1 H2]. destruct HG as [HL HV].
    assert (A : forall z, In z whole -> (0 <= z d')%Z /\ (z d = z d' \/ z d = z d' + 1)%Z).
    { intros z Hz. destruct (in_combine numbers whole z HL Hz) as [c Hc]. pose proof (HV c z Hc) as Hcz.
      apply in_combine_l in Hc. apply in_map_iff in Hc. destruct Hc as [j [<- Hj]]. apply in_seq in Hj.
      specialize (H1 j ltac:(lia)). pose proof (counts_nonneg d' j ltac:(lia)) as N. rewrite !Hcz, !Rmult_1_l in H1.
      rewrite Hcz, Rmult_1_l in N.
      split; [apply le_IZR; auto|].
      destruct H1 as [H1|H1]; [left; apply eq_IZR; lra | right; apply eq_IZR; rewrite plus_IZR; lra]. }
    split; auto. apply Rle_trans with (2 := H2). right.
    transitivity (total (fun x => x) (differences W numbers d d')).
    2: { unfold differences, numbers. rewrite map_map.
         apply (total_map (fun j => value W q o i h d j - value W q o i h d' j) (fun x => x)). }
    rewrite (on_grid_total W 1 numbers whole d d' (fun x => x) (conj HL HV)). clear - A.
    induction whole as [|z whole IH]; [reflexivity|]. cbn [map total].
    change (list_sum (?a :: ?l)) with (a + list_sum l)%nat. rewrite plus_INR, IH by (intros; apply A; right; auto).
    f_equal.
    destruct (A z (or_introl eq_refl)) as [_ Hz]. rewrite INR_IZR_INZ, Z2Nat.id, minus_IZR by lia. ring.
  Qed.
End Counts.

(* ---------------------------------------------------------------- the rule *)

Lemma shown_is scale threshold high : 0 < Q2R scale -> eval (shown scale threshold high) =
  1 - hidden (Q2R scale) threshold ^ Z.to_nat (floor_of high).
Proof.
  intros Hb. assert (M : Q2R (-1 # 1) = - (1)) by (unfold Q2R; simpl; field).
  unfold shown. cbn [eval]. rewrite Z_N_nat, one_R, !over_R, of_Z_R, M by lra. reflexivity.
Qed.

Theorem stable_histogram_sound : sound_rule "stable_histogram".
Proof.
  intros st HR. destruct st; try discriminate HR. clear HR. intros W found n HW HH HM HF HT.
  assert (exists l, found = [l]) as [l ->].
  { unfold follow in HF. destruct (infer (ByStableHistogram scale threshold delta key) (map says found)) eqn:Ei;
      [|discriminate].
    destruct found as [|a [|b rest]]; [discriminate | eauto | exfalso; cbn [map infer noise] in Ei; destruct (says a);
      discriminate]. }
  pose proof (Forall_inv HH) as Hl. pose proof (Forall_inv HM) as Ml.
  destruct (noise_line (ByStableHistogram scale threshold delta key) l n key (CellsShown scale threshold delta)
    eq_refl HF)
    as [q [c [rel [o [reads [Hi ->]]]]]].
  cbn [infer noise] in Hi. unfold stable_histogram in Hi.
  destruct (says l) as [| |q0 set0 low high points rel0 source| | | | | | | | | | | |] eqn:Hs; try discriminate.
  destruct set0; try discriminate. destruct rel0; try discriminate.
  destruct (_ && _)%bool eqn:Hc in Hi; [|discriminate]. unfold drawn_on in Hi. injection Hi as <- <- <- <- <-.
  apply andb_prop in Hc. destruct Hc as [Hc Hdelta]. apply andb_prop in Hc. destruct Hc as [Hc _].
  apply andb_prop in Hc. destruct Hc as [Hb Hth]. apply q_positive in Hb. apply Z.leb_le in Hth.
  apply at_most_sound in Hdelta. rewrite shown_is in Hdelta by auto.
  destruct Ml as [_ [_ Ml]]. rewrite Hs in Ml. destruct Ml as [Hch [_ [Hlh [Hlow _]]]].
  assert (Hhigh : 0 <= Q2R high) by (rewrite <- Hlow by discriminate; auto).
  unfold holds in Hl. rewrite Hs in Hl. destruct Hl as [Hsum [Hset _]].
  assert (E : Q2R (Steps.over high scale) = Q2R high / Q2R scale) by (apply over_R; lra).
  assert (He : 0 <= Q2R high / Q2R scale) by (apply Rdiv_le_0_compat; auto).
  destruct (HT key (Place q0 (changes l) (CellsShown scale threshold delta) Once) (or_introl eq_refl)) as [_ Hdrawn].
  cbn [query made how] in *. rewrite Hch in *.
  pose proof (hidden_range (Q2R scale) threshold Hb ltac:(lia)) as Hhid. set (x := hidden (Q2R scale) threshold) in *.
  assert (Hpow : forall k, 0 <= x ^ k <= 1).
  { intros k. split; [apply pow_le; apply Hhid|]. rewrite <- (pow1 k). apply pow_incr. apply Hhid. }
  assert (Hd0 : 0 <= Q2R delta) by (specialize (Hpow (Z.to_nat (floor_of high))); lra).
  split; [|apply drawn_once_well_made; auto; simpl; rewrite E; split; auto].
  set (there := Place q0 [] (CellsShown scale threshold delta)) in *.
  (* one release *)
  assert (Hone : forall ov, (forall h l0, next W h = Some l0 -> Definitions.key l0 = key -> at_place l0 = there ov) ->
    forall h lab d d', next W h = Some lab -> Definitions.key lab = key -> removed d d' -> forall f, test f ->
    ideal W h d f <= exp (Q2R high / Q2R scale) * ideal W h d' f + Q2R delta /\
    ideal W h d' f <= exp (Q2R high / Q2R scale) * ideal W h d f + Q2R delta).
  { intros ov Hplace h lab d d' Hlab Hkey Hd. pose proof (Hdrawn ov Hplace h lab Hlab Hkey) as HD.
    pose proof (Hplace h lab Hlab Hkey) as Hp. unfold numbers_at in HD. rewrite Hp in HD.
    cbn [query made Facts.over there numbers_of] in HD.
    destruct HD as [X [whole [HG [HX [post HP]]]]].
    destruct (removed_cells W q0 ov (index lab) h (Q2R high) HW (Hsum ov (index lab) h) (Hset ov (index lab) h) Hhigh
      whole d d' HG Hd)
      as [Hcells Hcount].
    set (m := list_sum (map (fun z => Z.to_nat (z d - z d')) whole)) in *.
    assert (M : mostly (x ^ m) (INR m * / Q2R scale) (each (map (fun z => cell X threshold (z d)) whole))
      (each (map (fun z => cell X threshold (z d')) whole))).
    { apply mostly_each; auto; [left; apply Rinv_0_lt_compat; auto|]. intros z Hz. destruct (Hcells z Hz).
      apply cell_mostly; auto. lia. }
    assert (Hm : (m <= Z.to_nat (floor_of high))%nat).
    { rewrite INR_IZR_INZ in Hcount. apply floor_most in Hcount. lia. }
    assert (Hx : 1 - x ^ m <= Q2R delta).
    { apply Rle_trans with (2 := Hdelta).
      replace (Z.to_nat (floor_of high)) with (m + (Z.to_nat (floor_of high) - m))%nat by lia.
      rewrite pow_add. pose proof (Hpow m). pose proof (Hpow (Z.to_nat (floor_of high) - m)%nat). nra. }
    assert (Hi : 0 <= / Q2R scale) by (left; apply Rinv_0_lt_compat; auto).
    assert (Hm0 : 0 <= INR m * / Q2R scale) by (apply Rmult_le_pos; auto; apply pos_INR).
    assert (Hexp : exp (INR m * / Q2R scale) <= exp (Q2R high / Q2R scale)) by (apply exp_le, Rmult_le_compat_r; auto).
    intros f Hf. pose proof (mostly_both _ _ _ _ (Hpow m) Hm0 M (fun a => post a f) ltac:(auto)) as B.
    rewrite !(HP _ f Hf). 
    set (P := each (map (fun z => cell X threshold (z d)) whole)) in *.
    set (Q := each (map (fun z => cell X threshold (z d')) whole)) in *.
    change (P (fun a => post a f) <= exp (Q2R high / Q2R scale) * Q (fun a => post a f) + Q2R delta /\
      Q (fun a => post a f) <= exp (Q2R high / Q2R scale) * P (fun a => post a f) + Q2R delta).
    assert (T : test (fun a => post a f)) by auto. pose proof (E_test P _ T) as P0. pose proof (E_test Q _ T) as Q0.
    cbv beta in B.
    pose proof (Rmult_le_compat_r _ _ _ (proj1 P0) Hexp). pose proof (Rmult_le_compat_r _ _ _ (proj1 Q0) Hexp). lra. }
  unfold holds; cbn [says drawn departed of_persons views]. unfold private_holds. split; [|split].
  - intros h l0 p Hl0 Hk Hp. apply lookup_one in Hk. destruct Hk as [_ ->]. unfold there in Hp.
    cbn [query made how Facts.over] in Hp.
    replace q0 with (query (at_place l0)); [apply names_query; auto | rewrite Hp; auto].
  - intros s [].
  - intros ov HE. split; [|discriminate].
    assert (Hplace : forall h l0, next W h = Some l0 -> Definitions.key l0 = key -> at_place l0 = there ov).
    { intros h l0 Hl0 Hk. symmetry. apply (HE h l0); auto. rewrite lookup_spread. simpl. rewrite Hk, String.eqb_refl.
      auto. }
    intros g [i ->] d d' Hd. rewrite E. apply once_approximate; auto; [apply instance_once; auto|].
    intros h Hh f Hf. apply instance_spec in Hh. destruct Hh as [lab [Hlab [Hk _]]].
    rewrite lookup_spread in Hk. destruct (lookup (Definitions.key lab) _) eqn:Ek in Hk; [|discriminate].
    apply lookup_one in Ek.
    destruct Ek as [Ek _]. unfold draw. rewrite Hlab. cbn [existsb].
    destruct Hd as [Hd|Hd]; [apply (Hone ov Hplace h lab d d') | apply (Hone ov Hplace h lab d' d)]; auto.
Qed.
