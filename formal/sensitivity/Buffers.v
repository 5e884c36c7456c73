(** Decaying buffers that are floored to whole steps: how far they move where one input does.

    Floors of two numbers differ by what the numbers differ by, and by less than 1 more; so a buffer is off its exact
    decay by at most a geometric sum of steps ([buffer_after]).  All rows together: Minkowski's inequality. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.decide Require Import Decide.
From DP.core Require Import Numbers.
From DP.noise Require Import Norms.
From DP.sensitivity Require Import Infer Streams Rows.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- one buffer *)

Lemma square_of_abs y : y * y = Rabs y * Rabs y.
Proof. rewrite <- Rabs_mult, Rabs_right; [auto | apply Rle_ge, Rle_0_sqr]. Qed.

Lemma floors_apart a b : Rabs (IZR (Int_part a) - IZR (Int_part b) - (a - b)) <= 1.
Proof. destruct (base_Int_part a) as [A1 A2], (base_Int_part b) as [B1 B2]. apply Rabs_le. lra. Qed.

Lemma buffer_ext step w f x x' t : (forall s, (s < t)%nat -> x s = x' s) -> buffer step w f x t = buffer step w f x' t.
Proof. induction t as [|t IH]; intros E; cbn; auto. rewrite IH by auto. rewrite (E t) by lia. auto. Qed.

Section Buffer.
  Variables (step w f : R) (x x' : nat -> R) (t0 : nat).
  Hypotheses (Hstep : 0 < step) (Hf : 0 <= f < 1) (Hx : forall t, t <> t0 -> x t = x' t).

  Lemma buffer_until t : (t <= t0)%nat -> buffer step w f x t = buffer step w f x' t.
  Proof. intros Ht. apply buffer_ext. intros s Hs. apply Hx. lia. Qed.

  Lemma buffer_after m : Rabs (buffer step w f x (t0 + 1 + m) - buffer step w f x' (t0 + 1
    + m) - w * f ^ m * (x t0 - x' t0)) <= step * / (1 - f).
  Proof.
    assert (HL : 0 < / (1 - f)) by (apply Rinv_0_lt_compat; lra).
    assert (Hgeo : f * / (1 - f) + 1 = / (1 - f)) by (field; lra).
    induction m as [|m IH].
    - replace (t0 + 1 + 0)%nat with (S t0) by lia. cbn [buffer pow]. rewrite (buffer_until t0) by lia.
      match goal with |- Rabs ?e <= _ => replace e with 0 by ring end. rewrite Rabs_R0. nra.
    - replace (t0 + 1 + S m)%nat with (S (t0 + 1 + m)) by lia. cbn [buffer pow].
      set (b := buffer step w f x (t0 + 1 + m)) in *. set (b' := buffer step w f x' (t0 + 1 + m)) in *.
      rewrite (Hx (t0 + 1 + m)) by lia. pose proof (floors_apart (f * b / step) (f * b' / step)) as F.
      set (i := IZR (Int_part (f * b / step))) in *. set (i' := IZR (Int_part (f * b' / step))) in *.
      set (g := f ^ m) in *. clearbody b b' i i' g.
      replace (step * i + w * x' (t0 + 1 + m)%nat - (step * i' + w * x' (t0 + 1
        + m)%nat) - w * (f * g) * (x t0 - x' t0))
        with (step * (i - i' - (f * b / step - f * b' / step)) + f * (b - b' - w * g * (x t0 - x' t0))) by (field; lra).
      apply Rle_trans with (1 := Rabs_triang _ _). rewrite !Rabs_mult, (Rabs_right step), (Rabs_right f) by lra.
      apply Rle_trans with (step * 1 + f * (step * / (1 - f))); [|right; rewrite <- Hgeo at 2; ring].
      apply Rplus_le_compat; apply Rmult_le_compat_l; lra.
  Qed.
End Buffer.

(* ---------------------------------------------------------------- all buffers *)

Definition pair_ok (vf : Q * Q) : Prop := 0 <= Q2R (snd vf) < 1.

Lemma scale_R bits z : (1 <= bits)%Z -> Q2R (Qred (z # Z.to_pos (2 ^ bits))) = IZR z * scale bits.
Proof.
  intros Hb. rewrite Q2R_red. unfold Q2R, scale. cbn [Qnum Qden]. rewrite Z2Pos.id by (apply Z.pow_pos_nonneg; lia).
  f_equal. f_equal.
  rewrite <- (Z2Nat.id bits) by lia. rewrite <- pow_powerRZ, <- pow_IZR. auto.
Qed.

Lemma buffers_found pairs bits found : buffers_of pairs bits = Some found ->
  (forall vf, In vf found -> pair_ok vf) /\
  forall step x t, buffers step bits pairs x t = total (fun vf => buffer step (Q2R (fst vf)) (Q2R (snd vf)) x t) found.
Proof.
  unfold buffers_of. destruct (_ && _)%bool eqn:E; [|discriminate]. apply andb_prop in E. destruct E as [E _].
  apply andb_prop in E. destruct E as [_ Hb]. apply Z.leb_le in Hb.
  assert (Hp : (0 < 2 ^ bits)%Z) by (apply Z.pow_pos_nonneg; lia).
  revert found. induction pairs as [|pair pairs IH]; intros found; cbn [all_some].
  - intros E. injection E as <-. split; [intros vf [] | auto].
  - destruct pair as [|w [|f [|]]]; try discriminate.
    destruct ((0 <=? w)%Z && (0 <=? f)%Z && (f <? 2 ^ bits)%Z)%bool eqn:E; [|discriminate].
    apply andb_prop in E. destruct E as [E E3]. apply andb_prop in E. destruct E as [E1 E2].
    destruct (all_some _ pairs) as [rest|] eqn:Er; [|discriminate]. intros EE. 
    assert (EF : (Qred (w # Z.to_pos (2 ^ bits)), Qred (f # Z.to_pos (2 ^ bits))) :: rest = found) by congruence.
    clear EE. subst found.
    destruct (IH rest eq_refl) as [IH1 IH2]. apply Z.leb_le in E1, E2. apply Z.ltb_lt in E3. split.
    + intros vf [<-|Hin]; [|auto]. unfold pair_ok. cbn [snd]. rewrite Q2R_red. unfold Q2R. cbn [Qnum Qden].
      rewrite Z2Pos.id by auto.
      assert (0 < IZR (2 ^ bits)) by (apply IZR_lt; auto). apply IZR_le in E2. apply IZR_lt in E3. split.
      * apply Rmult_le_pos; auto. left. apply Rinv_0_lt_compat. auto.
      * apply Rmult_lt_reg_r with (IZR (2 ^ bits)); auto. rewrite Rmult_assoc, Rinv_l; lra.
    + intros step x t. unfold buffers in *. cbn [total fst snd]. rewrite !scale_R by lia. f_equal. apply IH2.
Qed.

Section Rows.
  Variables (found : list (Q * Q)) (step : R) (n : Z) (N : nat) (s0 : Z) (delta : nat -> R) (move : Z -> nat ->
    R) (before F : R).
  Hypotheses (Hok : forall vf, In vf found -> pair_ok vf) (Hstep : 0 < step) (Hs0 : (1 <= s0 <= n)%Z).

  (** What a change grows to, so many rounds after the next. *)
  Definition decayed (m : nat) : R := total (fun vf => Q2R (fst vf) * Q2R (snd vf) ^ m) found.
  Definition lost : R := total (fun vf => step * / (1 - Q2R (snd vf))) found.

  Definition sum_of_buffers (x : nat -> R) (t : nat) : R := total (fun vf => buffer step (Q2R (fst vf)) (Q2R (snd vf))
    x t) found.

  Lemma buffers_until x x' t0 t : (forall s, s <> t0 -> x s = x' s) -> (t <= t0)%nat ->
    sum_of_buffers x t = sum_of_buffers x' t.
  Proof. intros Hx Ht. apply total_ext. intros vf _. apply (buffer_until step _ _ x x' t0); auto. Qed.

  Lemma buffers_after x x' t0 m : (forall s, s <> t0 -> x s = x' s) ->
    Rabs (sum_of_buffers x (t0 + 1 + m) - sum_of_buffers x' (t0 + 1 + m) - decayed m * (x t0 - x' t0)) <= lost.
  Proof.
    intros Hx. unfold sum_of_buffers, decayed, lost. rewrite (Rmult_comm (total _ found)), <- total_scale,
      <- !total_minus.
    apply Rle_trans with (1 := total_abs _ _). apply total_le. intros vf Hin.
    pose proof (buffer_after step (Q2R (fst vf)) (Q2R (snd vf)) x x' t0 Hstep (Hok vf Hin) Hx m) as G.
    rewrite (Rmult_comm (x t0 - x' t0)). exact G.
  Qed.

  Lemma lost_nonneg : 0 <= lost.
  Proof. apply total_nonneg. intros vf Hin. pose proof (Hok vf Hin) as [_ G]. apply Rmult_le_pos; [lra|]. left.
  apply Rinv_0_lt_compat. lra. Qed.

  (** Rows before the change, the row of the change, and rows after it. *)
  Lemma three_parts (g : Z -> R) (u : R) (v : nat -> R) : (forall i, (1 <= i < s0)%Z -> g i = 0) -> g s0 = u ->
    (forall m, (s0 + 1 + Z.of_nat m <= n)%Z -> g (s0 + 1 + Z.of_nat m)%Z = v m) ->
    total g (one_to n) = u + total v (seq 0 (Z.to_nat (n - s0))).
  Proof.
    intros H1 H2 H3. unfold one_to. rewrite total_map.
    replace (Z.to_nat n) with (Z.to_nat (s0 - 1) + S (Z.to_nat (n - s0)))%nat by lia. rewrite seq_app, total_app.
    rewrite (total_zero _ (seq 1 _)); [|intros i Hi; apply in_seq in Hi; apply H1; lia]. rewrite Rplus_0_l.
    cbn [seq total].
    replace (Z.of_nat (1 + Z.to_nat (s0 - 1))) with s0 by lia. rewrite H2. f_equal.
    assert (E : forall a b, total (fun i => g (Z.of_nat i)) (seq a b)
      = total (fun m => g (Z.of_nat (a + m))) (seq 0 b)).
    { intros a b. revert a. induction b as [|b IH]; intros a; auto. cbn [seq total]. rewrite Nat.add_0_r. f_equal.
      rewrite IH, <- seq_shift, total_map. apply total_ext. intros i _. f_equal. f_equal. lia. }
    rewrite E. apply total_ext. intros m Hm. apply in_seq in Hm. rewrite <- H3 by lia. f_equal. lia.
  Qed.

  Lemma total_prod {A B} (g : A -> B -> R) l l' : total (fun p => g (fst p) (snd p)) (list_prod l l')
    = total (fun a => total (g a) l') l.
  Proof. induction l as [|a l IH]; cbn [list_prod total]; auto. rewrite total_app, IH, total_map. auto. Qed.

  Lemma minkowski_total {A} (a b : A -> R) l :
    sqrt (total (fun i => square (a i + b i)) l) <= sqrt (total (fun i => square (a i)) l)
      + sqrt (total (fun i => square (b i)) l).
  Proof.
    induction l as [|i l IH]; cbn [total]; [rewrite sqrt_0; lra|].
    assert (P : forall g : A -> R, 0 <= total (fun i => square (g i)) l) by (intros g; apply total_nonneg; intros;
      apply square_nonneg).
    pose proof (P a) as PA. pose proof (P b) as PB. pose proof (P (fun i => a i + b i)) as PC. cbv beta in PC.
    set (A' := total (fun i => square (a i)) l) in *. set (B' := total (fun i => square (b i)) l) in *.
    set (C' := total (fun i => square (a i + b i)) l) in *.
    pose proof (minkowski (a i) (b i) (sqrt A') (sqrt B') (sqrt_pos _) (sqrt_pos _)) as M.
    apply Rle_trans with (sqrt (square (a i + b i) + square (sqrt A' + sqrt B'))).
    - apply sqrt_le_1_alt. apply Rplus_le_compat_l. apply Rle_trans with (sqrt C' * sqrt C');
        [rewrite sqrt_def by auto; lra|].
      unfold square. apply Rmult_le_compat; auto using sqrt_pos.
    - assert (Q : forall t, 0 <= t -> square (sqrt t) = t) by (intros t Ht; apply sqrt_def; auto).
      rewrite !Q in M by auto. exact M.
  Qed.

  Hypotheses (Hmove0 : forall i j, (1 <= i < s0)%Z -> move i j = 0) (Hmove1 : forall j, move s0 j = delta j)
    (Hmove2 : forall m j, (s0 + 1 + Z.of_nat m <= n)%Z ->
      Rabs (move (s0 + 1 + Z.of_nat m) j - decayed m * delta j) <= lost)
    (Hdelta : total (fun j => square (delta j)) (seq 0 N) <= before).

  Let later := Z.to_nat (n - 1).

  Theorem rows_moved : total (fun i => total (fun j => square (move i j)) (seq 0 N)) (one_to n)
    <= square (sqrt (before * (1 + total (fun m => square (decayed m)) (seq 0 later)))
      + sqrt (lost * lost * INR later * INR N)).
  Proof.
    set (c := fun i => if (i <? s0)%Z then 0 else if (i =? s0)%Z then 1 else decayed (Z.to_nat (i - s0 - 1))).
    set (a := fun p : Z * nat => c (fst p) * delta (snd p)). set (b := fun p : Z * nat => move (fst p) (snd p) - a p).
    set (L := list_prod (one_to n) (seq 0 N)).
    assert (Hc0 : forall i, (1 <= i < s0)%Z -> c i = 0) by (intros i Hi; unfold c; destruct (Z.ltb_spec i s0); auto;
      lia).
    assert (Hc1 : c s0 = 1) by (unfold c; rewrite Z.ltb_irrefl, Z.eqb_refl; auto).
    assert (Hc2 : forall m, c (s0 + 1 + Z.of_nat m)%Z = decayed m).
    { intros m. unfold c. destruct (Z.ltb_spec (s0 + 1 + Z.of_nat m) s0); [lia|].
      destruct (Z.eqb_spec (s0 + 1 + Z.of_nat m) s0); [lia|]. f_equal. lia. }
    assert (D0 : 0 <= total (fun j => square (delta j)) (seq 0 N)) by (apply total_nonneg; intros; apply square_nonneg).
    assert (Hfew : forall g : nat -> R, (forall m, 0 <= g m) ->
      total g (seq 0 (Z.to_nat (n - s0))) <= total g (seq 0 later)).
    { intros g Hg. apply total_incl; auto; [apply seq_NoDup|]. intros m Hm. apply in_seq in Hm. apply in_seq.
      unfold later. lia. }
    assert (HA : total (fun p => square (a p)) L <= before * (1 + total (fun m => square (decayed m)) (seq 0 later))).
    { unfold L. rewrite (total_ext _ (fun p => (fun i j => square (c i) * square (delta j)) (fst p) (snd p))) by
        (intros p _; unfold a, square; ring).
      replace (total _ _) with (total (fun i => total (fun j => square (c i) * square (delta j)) (seq 0 N)) (one_to n))
        by (symmetry; apply (total_prod (fun i j => square (c i) * square (delta j)))).
      rewrite (total_ext _ (fun i => total (fun j => square (delta j)) (seq 0 N) * square (c i))) by (intros i _;
        rewrite total_scale; ring).
      rewrite total_scale. rewrite (three_parts _ 1 (fun m => square (decayed m))).
      - pose proof (Hfew (fun m => square (decayed m)) (fun m => square_nonneg _)) as G.
        assert (0 <= total (fun m => square (decayed m)) (seq 0 (Z.to_nat (n - s0)))) by (apply total_nonneg; intros;
          apply square_nonneg).
        apply Rmult_le_compat; auto; lra.
      - intros i Hi. rewrite Hc0 by auto. unfold square. ring.
      - rewrite Hc1. unfold square. ring.
      - intros m _. rewrite Hc2. auto. }
    assert (HB : total (fun p => square (b p)) L <= lost * lost * INR later * INR N).
    { pose proof lost_nonneg as L0. unfold L. rewrite (total_ext _ (fun p => (fun i j => square (move i j - c i *
        delta j)) (fst p) (snd p))) by auto.
      replace (total _ _) with (total (fun i => total (fun j => square (move i j - c i * delta j)) (seq 0 N)) (one_to
        n))
        by (symmetry; apply (total_prod (fun i j => square (move i j - c i * delta j)))).
      apply Rle_trans with (total (fun i => if (i <=? s0)%Z then 0 else INR N * (lost * lost)) (one_to n)).
      - apply total_le. intros i Hi. apply one_to_in in Hi. destruct (Z.leb_spec i s0) as [Hle|Hgt].
        + right. apply total_zero. intros j _. destruct (Z.eq_dec i s0) as [->|Hn].
          * rewrite Hc1, Hmove1. unfold square. ring.
          * rewrite Hc0, Hmove0 by lia. unfold square. ring.
        + apply Rle_trans with (total (fun _ => lost * lost) (seq 0 N)); [|rewrite total_const, seq_length; lra].
          apply total_le. intros j _.
          assert (Ei : exists m, i = (s0 + 1 + Z.of_nat m)%Z) by (exists (Z.to_nat (i - s0 - 1)); lia).
          destruct Ei as [m Ei]. rewrite Ei, Hc2.
          pose proof (Hmove2 m j ltac:(lia)) as G. unfold square. rewrite square_of_abs.
          pose proof (Rabs_pos (move (s0 + 1 + Z.of_nat m)%Z j - decayed m * delta j)).
          apply Rmult_le_compat; auto.
      - rewrite (three_parts _ 0 (fun _ => INR N * (lost * lost))).
        + rewrite Rplus_0_l. apply Rle_trans with (1 := Hfew (fun _ => INR N * (lost * lost)) ltac:(intros ?;
            apply Rmult_le_pos; [apply pos_INR | nra])).
          rewrite total_const, seq_length. lra.
        + intros i Hi. destruct (Z.leb_spec i s0); auto; lia.
        + destruct (Z.leb_spec s0 s0); auto; lia.
        + intros m _. destruct (Z.leb_spec (s0 + 1 + Z.of_nat m) s0); auto; lia. }
    replace (total _ (one_to n)) with (total (fun p => square (a p + b p)) L).
    2: { unfold L. rewrite <- (total_prod (fun i j => square (move i j))). apply total_ext. intros p _. f_equal.
         unfold b. ring. }
    assert (HS : 0 <= total (fun p => square (a p + b p)) L) by (apply total_nonneg; intros; apply square_nonneg).
    rewrite <- (sqrt_def _ HS).
    assert (G : sqrt (total (fun p => square (a p + b p)) L)
      <= sqrt (before * (1 + total (fun m => square (decayed m)) (seq 0 later)))
      + sqrt (lost * lost * INR later * INR N)).
    { apply Rle_trans with (1 := minkowski_total a b L). apply Rplus_le_compat; apply sqrt_le_1_alt; auto. }
    unfold square at 4. apply Rmult_le_compat; auto using sqrt_pos.
  Qed.
End Rows.
