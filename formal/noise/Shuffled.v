(** Answers drawn from a table, of which is shown how many are which: others' answers hide one. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String Permutation.
From DP.base Require Import Laws Sums.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps Products.
From DP.decide Require Import Fixed Decide.
From DP.shuffles Require Import Clones Convex Coins.
From DP.sensitivity Require Import Infer.
From DP.noise Require Import Infer Releases Proofs Tables Histograms.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- two rows, among others *)

Lemma weigh_nonneg width v f : (forall j, 0 <= v j) -> (forall j, 0 <= f j) -> 0 <= weigh width v f.
Proof. intros Hv Hf. apply total_nonneg. intros j _. apply Rmult_le_pos; auto. Qed.

Lemma over_all_nonneg width vs : (forall w, In w vs -> forall j, 0 <= w j) -> forall g, (forall l, 0 <= g l) -> 0 <= over_all width vs g.
Proof.
  induction vs as [|v vs IH]; intros Hv g Hg; cbn [over_all]; auto.
  apply weigh_nonneg; [apply Hv; left; auto|]. intros j. apply IH; auto. intros w Hw. apply Hv. right; auto.
Qed.

Section Covered.
  Variables (width : nat) (worst epsilon delta : Q) (size : Z) (x y : nat -> R) (ws : list (nat -> R)) (g : list nat -> R).
  Let p := Q2R worst.
  Hypothesis He : 0 <= Q2R epsilon.
  Hypothesis Hd : 0 <= Q2R delta.
  Hypothesis Hx : row_of width x.
  Hypothesis Hy : row_of width y.
  Hypothesis Hxy : beside p x y.
  Hypothesis Hyx : beside p y x.
  Hypothesis Hws : forall w, In w ws -> row_of width w /\ beside p x w /\ beside p y w.
  Hypothesis Hg : symmetric g.
  Hypothesis Hb : bounded 1 g.
  Hypothesis Hsize : (2 <= size)%Z.
  Hypothesis Henough : (Z.to_nat (size - 1) <= List.length ws)%nat.

  Let here := over_all width (x :: ws) g.
  Let there := over_all width (y :: ws) g.

  Lemma there_nonneg : 0 <= there.
  Proof.
    apply over_all_nonneg; [|intros l; apply Hb]. intros w [<-|Hw]; [apply Hy|]. apply Hws; auto.
  Qed.

  Lemma close_rows t : p <= t -> here <= t * there.
  Proof.
    intros Ht. unfold here, there. cbn [over_all]. unfold weigh. rewrite <- total_scale. apply total_le. intros j _.
    rewrite <- Rmult_assoc. apply Rmult_le_compat_r.
    - apply over_all_nonneg; [intros w Hw; apply Hws; auto | intros l; apply Hb].
    - specialize (Hxy j). destruct Hy as [Y0 _]. specialize (Y0 j). nra.
  Qed.

  Lemma ratio_parts : p = IZR (Qnum worst) / IZR (Zpos (Qden worst)). Proof. reflexivity. Qed.

  Lemma covered_once bits : covered_at worst size epsilon delta bits = true -> here <= exp (Q2R epsilon) * there + Q2R delta.
  Proof.
    unfold covered_at. pose proof (enclose_inside bits (Exp (Num epsilon))) as [Hlow _]. unfold above in Hlow.
    destruct (fst (enclose bits (Exp (Num epsilon)))) as [low|]; [|discriminate]. cbn [eval] in Hlow.
    set (one := (2 ^ Zpos bits)%Z) in *. set (t := Z.max one low). set (up := Qnum worst) in *. set (down := Zpos (Qden worst)) in *.
    pose proof there_nonneg as N. pose proof (unit_pos bits) as Hu. unfold unit_of in *. fold one in Hlow, Hu.
    assert (E1 : 1 <= exp (Q2R epsilon)) by (rewrite <- exp_0; apply exp_le; auto).
    set (r := IZR t / IZR one).
    assert (Hr : 1 <= r <= exp (Q2R epsilon)).
    { unfold r. split; apply Rmult_le_reg_r with (IZR one); auto; unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
      - rewrite Rmult_1_l. apply IZR_le. unfold t. lia.
      - unfold t. destruct (Z.max_spec one low) as [[_ ->]|[_ ->]]; auto. rewrite <- (Rmult_1_l (IZR one)) at 1. apply Rmult_le_compat_r; lra. }
    assert (Hrt : r * there <= exp (Q2R epsilon) * there) by (apply Rmult_le_compat_r; lra).
    intros H. apply orb_true_iff in H. assert (D0 : 0 < IZR down) by (apply IZR_lt; unfold down; lia).
    assert (Hdown : (0 < down)%Z) by (unfold down; lia). assert (Hone : (0 < one)%Z) by (apply lt_IZR; auto).
    destruct (Z.leb_spec (up * one) (t * down)) as [L|L].
    - assert (p <= r).
      { rewrite ratio_parts. fold up down. unfold r. apply IZR_le in L. rewrite !mult_IZR in L.
        apply Rmult_le_reg_r with (IZR down * IZR one); [nra|].
        replace (IZR up / IZR down * (IZR down * IZR one)) with (IZR up * IZR one) by (field; lra).
        replace (IZR t / IZR one * (IZR down * IZR one)) with (IZR t * IZR down) by (field; lra). auto. }
      pose proof (close_rows r H0). lra.
    - destruct H as [H|H]; [discriminate|]. apply Z.leb_le in H.
      assert (Ht1 : (one <= t)%Z) by (unfold t; lia).
      assert (HP : (down < up)%Z) by nia.
      assert (Hp : r < p).
      { rewrite ratio_parts. fold up down. unfold r. apply IZR_lt in L. rewrite !mult_IZR in L.
        apply Rmult_lt_reg_r with (IZR down * IZR one); [nra|].
        replace (IZR up / IZR down * (IZR down * IZR one)) with (IZR up * IZR one) by (field; lra).
        replace (IZR t / IZR one * (IZR down * IZR one)) with (IZR t * IZR down) by (field; lra). auto. }
      set (m := Z.to_nat (size - 1)) in *.
      assert (Em : (size - 1 = Z.of_nat m)%Z) by (unfold m; lia). assert (Es : (size = Z.of_nat (S m))%Z) by lia.
      pose proof (hidden_row width p r x y ltac:(lra) ltac:(lra) Hx Hy Hxy Hyx ws m Henough Hws g Hg Hb) as B.
      fold here there in B.
      pose proof (told_bound up down t one ltac:(unfold right; lia) ltac:(unfold wrong; nia) m Hdown HP Hone p r (p * (r - 1)) ratio_parts eq_refl) as T.
      apply (Rle_trans _ _ _ B) in T. set (told := all_told up down t one m) in *.
      cut (here - r * there <= Q2R delta); [lra|]. apply (Rle_trans _ _ _ T). clear B T.
      rewrite Em, Es in H. apply IZR_le in H. rewrite !mult_IZR in H. rewrite <- !pow_IZR in H.
      assert (S0 : 0 < IZR (up + down)) by (apply IZR_lt; lia).
      assert (dd : 0 < IZR (Zpos (Qden delta))) by (apply IZR_lt; lia).
      assert (SP : 0 < IZR (up + down) ^ m) by (apply pow_lt; auto).
      unfold Q2R, Rdiv. rewrite Rpow_mult_distr, pow_inv. simpl pow in H. set (A := IZR (up - down)) in *. set (S := IZR (up + down)) in *.
      apply Rmult_le_reg_r with (IZR (Zpos (Qden delta)) * (S * S ^ m * IZR one)); [repeat apply Rmult_lt_0_compat; auto|].
      replace (A ^ m * / S ^ m * IZR told * / (S * IZR one) * (IZR (Zpos (Qden delta)) * (S * S ^ m * IZR one)))
        with (IZR told * A ^ m * IZR (Zpos (Qden delta))) by (field; repeat split; lra).
      replace (IZR (Qnum delta) * / IZR (Zpos (Qden delta)) * (IZR (Zpos (Qden delta)) * (S * S ^ m * IZR one)))
        with (IZR (Qnum delta) * (S * S ^ m) * IZR one) by (field; lra).
      exact H.
  Qed.

  Lemma covered precisions : (Qle_bool worst 1 || existsb (covered_at worst size epsilon delta) precisions = true)%bool ->
    here <= exp (Q2R epsilon) * there + Q2R delta.
  Proof.
    intros H. apply orb_true_iff in H. destruct H as [H|H].
    - apply le_R in H. rewrite one_R in H. assert (E1 : 1 <= exp (Q2R epsilon)) by (rewrite <- exp_0; apply exp_le; auto).
      pose proof (close_rows (exp (Q2R epsilon)) ltac:(unfold p; lra)). lra.
    - apply existsb_exists in H. destruct H as [bits [_ H]]. apply (covered_once bits H).
  Qed.
End Covered.

(* ---------------------------------------------------------------- draws from a table *)

Lemma row_law table k (P : law nat) : proportional (chance_of table k) P -> usum (chance_of table k) = 1 ->
  (forall j, 0 <= chance_of table k j) -> (forall j, (List.length (hd [] table) <= j)%nat -> chance_of table k j = 0) ->
  forall f, test f -> P f = weigh (List.length (hd [] table)) (chance_of table k) f.
Proof.
  intros [Hs [_ HP]] U N Z f Hf. rewrite <- (Rmult_1_r (P f)), <- U, HP by auto.
  destruct (usum_finite (fun j => chance_of table k j * f j) (seq 0 (List.length (hd [] table)))) as [_ E]; auto.
  - apply seq_NoDup.
  - intros j. apply Rmult_le_pos; [apply N | apply Hf].
  - intros j Hj. rewrite Z; [ring|]. destruct (Nat.lt_ge_cases j (List.length (hd [] table))); auto. exfalso. apply Hj, in_seq. lia.
Qed.

Lemma paired_length {A B} (R : A -> B -> Prop) l m : Forall2 R l m -> List.length l = List.length m.
Proof. induction 1; simpl; auto. Qed.

Lemma each_over_all width (Ps : list (law nat)) ws : Forall2 (fun P w => forall f, test f -> E P f = weigh width w f) Ps ws ->
  forall f, test f -> each Ps f = over_all width ws f.
Proof.
  induction 1 as [|P w Ps ws HP _ IH]; intros f Hf; [reflexivity|]. cbn [each over_all]. simpl.
  rewrite (E_ext P _ (fun a => over_all width ws (fun l => f (a :: l)))).
  - apply HP. intros a. rewrite <- IH by (intros l; apply Hf). apply E_test. intros l; apply Hf.
  - intros a. apply IH. intros l; apply Hf.
Qed.

Lemma counts_symmetric width (f : list nat -> R) : symmetric (fun l => f (map (count_occ Nat.eq_dec l) (seq 0 width))).
Proof.
  intros l l' H. f_equal. apply map_ext. intros k. revert k. apply Permutation_count_occ. auto.
Qed.

(* ---------------------------------------------------------------- the rule *)

Theorem shuffled_sound : sound_rule "shuffled".
Proof.
  intros st HR. destruct st; try discriminate HR. clear HR. intros W found n HW HH HM HF HT.
  assert (exists l, found = [l]) as [l ->].
  { unfold follow in HF. destruct (infer (ByShuffled table size epsilon delta key) (map says found)) eqn:Ei; [|discriminate].
    destruct found as [|a [|b rest]]; [discriminate | eauto | exfalso; cbn [map infer noise] in Ei; destruct (says a); discriminate]. }
  pose proof (Forall_inv HH) as Hl. pose proof (Forall_inv HM) as Ml.
  destruct (noise_line (ByShuffled table size epsilon delta key) l n key (ShuffledAnswers table size delta) eq_refl HF)
    as [q [c [rel [o [reads [Hi ->]]]]]].
  cbn [infer noise] in Hi. unfold shuffled in Hi.
  destruct (says l) as [| |q0 set0 low high points rel0 source| | | | | | | | | | | |] eqn:Hs; try discriminate. destruct set0; try discriminate.
  destruct (worst_ratio table points rel0) as [worst|] eqn:Er; [|discriminate].
  destruct (table_rows _ _ _ _ Er) as [Hpoints [-> Hrows]].
  destruct (_ && _)%bool eqn:Hc in Hi; [|discriminate]. unfold drawn_on in Hi. injection Hi as <- <- <- <- <-.
  apply andb_prop in Hc. destruct Hc as [Hc Hcovered]. apply andb_prop in Hc. destruct Hc as [Hc _].
  apply andb_prop in Hc. destruct Hc as [Hc Hd]. apply andb_prop in Hc. destruct Hc as [Hc He].
  apply andb_prop in Hc. destruct Hc as [Hsize _]. apply Z.leb_le in Hsize. apply q_nonneg in Hd, He.
  destruct Ml as [_ [_ Ml]]. rewrite Hs in Ml. destruct Ml as [Hch _].
  unfold holds in Hl. rewrite Hs in Hl. destruct Hl as [_ [Hset _]].
  split; [|apply drawn_once_well_made; auto; [simpl; auto | rewrite Hch; auto]].
  destruct (HT key (Place q0 (changes l) (ShuffledAnswers table size delta) Once) (or_introl eq_refl)) as [Hsteady Hdrawn].
  cbn [query made how] in *. rewrite Hch in *. specialize (Hsteady eq_refl).
  set (there := Place q0 [] (ShuffledAnswers table size delta)) in *. set (width := List.length (hd [] table)) in *.
  (* one release *)
  assert (Hone : forall ov, (forall h l0, next W h = Some l0 -> Definitions.key l0 = key -> at_place l0 = there ov) ->
    forall h lab d d', next W h = Some lab -> Definitions.key lab = key -> replaced d d' -> forall f, test f ->
    ideal W h d f <= exp (Q2R epsilon) * ideal W h d' f + Q2R delta).
  { intros ov Hplace h lab d d' Hlab Hkey [u [r [r' [E1 [E2 HO]]]]] f Hf.
    destruct (Hdrawn ov Hplace h lab Hlab Hkey) as [row [Hrow [post HP]]].
    rewrite !(HP _ f Hf). set (F := fun a => post a f). assert (HF' : test F) by (intros a; apply E_test; auto).
    set (o := Facts.over (at_place lab)) in *. set (i := index lab) in *.
    set (symbol := fun v r0 => Int_part (adds W q0 o i h v r0 0%nat)).
    set (answers := fun (e : data (record W)) v => match e v with
      | Some r0 => if takes_part W q0 o i h v r0 then [row (symbol v r0)] else [] | None => [] end).
    set (weights := fun (e : data (record W)) v => match e v with
      | Some r0 => if takes_part W q0 o i h v r0 then [chance_of table (symbol v r0)] else [] | None => [] end).
    set (seen := fun Ps => if (Z.of_nat (List.length Ps) <? size)%Z then point []
      else image (fun l0 => map (count_occ Nat.eq_dec l0) (seq 0 width)) (each Ps)).
    change (seen (flat_map (answers d) (units_there W)) F
      <= exp (Q2R epsilon) * seen (flat_map (answers d') (units_there W)) F + Q2R delta).
    assert (Hsym : forall v r0, takes_part W q0 o i h v r0 = true -> symbol_of table (symbol v r0)).
    { intros v r0 Hr0. destruct (Hset _ _ _ _ _ Hr0) as [p [Hp [Lp Hv]]]. rewrite Hpoints in Hp. apply symbols_spec in Hp. destruct Hp as [k [Hk ->]].
      unfold symbol. rewrite (Hv 0%nat); [|apply in_seq; simpl in Lp; lia]. cbn [nth]. rewrite int_whole. unfold symbol_of. lia. }
    assert (Hlaw : forall k, symbol_of table k -> forall f0, test f0 -> row k f0 = weigh width (chance_of table k) f0).
    { intros k Hk. destruct (Hrows k Hk) as [N [U [Z _]]]. apply row_law; auto. apply Hrow. apply in_map_iff. unfold symbol_of in Hk.
      exists (Z.to_nat k). split; [lia|]. apply in_seq. lia. }
    assert (Hweights : forall e vs, Forall2 (fun P w => forall f0, test f0 -> E P f0 = weigh width w f0) (flat_map (answers e) vs) (flat_map (weights e) vs)).
    { intros e. induction vs as [|v vs IH]; simpl; [constructor|]. apply Forall2_app; auto. unfold answers, weights.
      destruct (e v) as [r0|]; [|constructor]. destruct (takes_part W q0 o i h v r0) eqn:Et; [|constructor]. constructor; [|constructor]. apply Hlaw, Hsym; auto. }
    assert (Hin : forall e vs w, In w (flat_map (weights e) vs) -> exists k, symbol_of table k /\ w = chance_of table k).
    { intros e vs w Hw. apply in_flat_map in Hw. destruct Hw as [v [_ Hw]]. unfold weights in Hw. destruct (e v) as [r0|]; [|destruct Hw].
      destruct (takes_part W q0 o i h v r0) eqn:Et; [|destruct Hw]. destruct Hw as [<-|[]]. eauto. }
    assert (Hfree : seen (flat_map (answers d) (units_there W)) F <= exp (Q2R epsilon) * seen (flat_map (answers d) (units_there W)) F + Q2R delta).
    { pose proof (E_test (seen (flat_map (answers d) (units_there W))) F HF').
      assert (1 <= exp (Q2R epsilon)) by (rewrite <- exp_0; apply exp_le; auto). nra. }
    assert (Hsame : forall vs, ~ In u vs -> flat_map (answers d') vs = flat_map (answers d) vs /\ flat_map (weights d') vs = flat_map (weights d) vs).
    { induction vs as [|v vs IH]; simpl; [auto|]. intros Hn. destruct IH as [I1 I2]; [tauto|]. rewrite I1, I2. unfold answers, weights. rewrite (HO v); [auto|]. intros ->; tauto. }
    destruct (in_dec Z.eq_dec u (units_there W)) as [Hu|Hu].
    2: { destruct (Hsame _ Hu) as [-> _]. exact Hfree. }
    destruct HW as [HN _]. destruct (in_split _ _ Hu) as [l1 [l2 El]]. rewrite El in *.
    apply NoDup_remove_2 in HN. destruct (Hsame l1) as [A1 B1]; [intros H; apply HN, in_or_app; auto|].
    destruct (Hsame l2) as [A2 B2]; [intros H; apply HN, in_or_app; auto|].
    pose proof (Hweights d (l1 ++ u :: l2)) as WD. pose proof (Hweights d' (l1 ++ u :: l2)) as WD'.
    rewrite !flat_map_app in *. cbn [flat_map] in *. rewrite A1, A2 in *. rewrite B1, B2 in *.
    assert (Eu : answers d u = (if takes_part W q0 o i h u r then [row (symbol u r)] else []) /\
      answers d' u = (if takes_part W q0 o i h u r then [row (symbol u r')] else [])).
    { unfold answers. rewrite E1, E2, (Hsteady o i h u r r'). auto. }
    assert (Ew : weights d u = (if takes_part W q0 o i h u r then [chance_of table (symbol u r)] else []) /\
      weights d' u = (if takes_part W q0 o i h u r then [chance_of table (symbol u r')] else [])).
    { unfold weights. rewrite E1, E2, (Hsteady o i h u r r'). auto. }
    destruct Eu as [Eu1 Eu2], Ew as [Ew1 Ew2]. rewrite Eu1, Eu2, Ew1, Ew2 in *.
    destruct (takes_part W q0 o i h u r) eqn:Et; [|exact Hfree].
    set (P1 := flat_map (answers d) l1) in *. set (P2 := flat_map (answers d) l2) in *.
    set (W1 := flat_map (weights d) l1) in *. set (W2 := flat_map (weights d) l2) in *.
    assert (Hk : symbol_of table (symbol u r)) by auto.
    assert (Hk' : symbol_of table (symbol u r')) by (apply Hsym; rewrite <- (Hsteady o i h u r r'); auto).
    unfold seen in *. rewrite !app_length in *. cbn [app List.length] in *.
    destruct (Z.of_nat (List.length P1 + (1 + List.length P2)) <? size)%Z eqn:Lsize; [exact Hfree|]. clear Hfree. apply Z.ltb_ge in Lsize.
    set (g := fun l0 => F (map (count_occ Nat.eq_dec l0) (seq 0 width))).
    change (each (P1 ++ row (symbol u r) :: P2) g <= exp (Q2R epsilon) * each (P1 ++ row (symbol u r') :: P2) g + Q2R delta).
    assert (Tg : test g) by (intros l0; apply HF').
    assert (Sg : symmetric g) by apply counts_symmetric.
    rewrite (each_over_all width _ _ WD g Tg), (each_over_all width _ _ WD' g Tg).
    rewrite <- !(over_all_permuted width _ _ (Permutation_middle W1 W2 _) g Sg).
    assert (Len : List.length (W1 ++ W2) = (List.length P1 + List.length P2)%nat).
    { pose proof (paired_length _ _ _ WD) as L. rewrite !app_length in *. cbn [List.length] in L. lia. }
    assert (Row : forall k, symbol_of table k -> row_of width (chance_of table k)).
    { intros k H. destruct (Hrows k H) as [N [_ [_ [T _]]]]. split; auto. }
    assert (Beside : forall k k', symbol_of table k -> symbol_of table k' -> beside (Q2R worst) (chance_of table k) (chance_of table k')).
    { intros k k' H H' j. apply (Hrows k H). auto. }
    apply (covered width worst epsilon delta size) with (precisions := [128; 512; 2048]%positive); auto; [|rewrite Len; lia].
    intros w Hw. assert (exists k, symbol_of table k /\ w = chance_of table k) as [k [H ->]].
    { apply in_app_or in Hw. destruct Hw as [Hw|Hw]; [apply (Hin d l1) | apply (Hin d l2)]; auto. }
    auto. }
  unfold holds; cbn [says drawn departed of_persons views]. unfold private_holds. split; [|split].
  - intros h l0 p Hl0 Hk Hp. apply lookup_one in Hk. destruct Hk as [_ ->]. unfold there in Hp.
    cbn [query made how Facts.over] in Hp.
    replace q0 with (query (at_place l0)); [apply names_query; auto | rewrite Hp; auto].
  - intros s [].
  - intros ov HE. split; [|discriminate].
    assert (Hplace : forall h l0, next W h = Some l0 -> Definitions.key l0 = key -> at_place l0 = there ov).
    { intros h l0 Hl0 Hk. symmetry. apply (HE h l0); auto. rewrite lookup_spread. simpl. rewrite Hk, String.eqb_refl.
      auto. }
    intros g [i ->] d d' Hdd. apply once_approximate; auto; [apply instance_once; auto|].
    intros h Hh f Hf. apply instance_spec in Hh. destruct Hh as [lab [Hlab [Hk _]]].
    rewrite lookup_spread in Hk. destruct (lookup (Definitions.key lab) _) eqn:Ek in Hk; [|discriminate].
    apply lookup_one in Ek.
    destruct Ek as [Ek _]. unfold draw. rewrite Hlab. cbn [existsb].
    apply (Hone ov Hplace h lab d d'); auto.
Qed.
