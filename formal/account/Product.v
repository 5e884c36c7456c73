(** Products and powers of lattices, rounded upwards and cut at both ends: `bounds_times`, `bounds_trim`, `bounds_power`,
    `bounds_products`. *)
Require Import Reals ZArith Lra Lia Psatz List.
From DP.base Require Import Laws Sums.
From DP.decide Require Import Fixed.
From DP.account Require Import Pairs Lattice Kronecker.
Import ListNotations.
Open Scope R_scope.

(** Division by 2^p, rounded upwards. *)
Definition shift_up (p : positive) (z : Z) : Z := (- Z.shiftr (- z) (Zpos p))%Z.

Lemma shift_up_le p z : IZR z <= IZR (shift_up p z) * unit_of p.
Proof.
  unfold shift_up, unit_of. rewrite Z.shiftr_div_pow2 by lia. apply (up_div_le z (2 ^ Zpos p)).
  apply Z.pow_pos_nonneg; lia.
Qed.

Lemma shift_up_nonneg p z : (0 <= z)%Z -> (0 <= shift_up p z)%Z.
Proof.
  intros Hz. unfold shift_up. rewrite Z.shiftr_div_pow2 by lia.
  assert (0 < 2 ^ Zpos p)%Z by (apply Z.pow_pos_nonneg; lia).
  assert (- z / 2 ^ Zpos p <= 0)%Z by (apply Z.div_le_upper_bound; lia). lia.
Qed.

Definition times_lattice (p : positive) (D E : lattice) : lattice :=
  Lattice (low D + low E) (map' (shift_up p) (convolve (masses D) (masses E)))
    (shift_up p (lost D * (lost E + sum (masses E)) + sum (masses D) * lost E)).

(** Masses at the beginning, together at most [budget], are taken off: what they sum up to, how many, and the rest. *)
Fixpoint shed (budget gone number : Z) (l : list Z) : Z * Z * list Z :=
  match l with
  | [] => (gone, number, [])
  | m :: rest => if (gone + m <=? budget)%Z then shed budget (gone + m)%Z (number + 1)%Z rest else (gone, number, l)
  end.

(** Mass on the right goes beyond, and mass on the left to the first node that is kept. *)
Definition trim (budget : Z) (L : lattice) : lattice :=
  let '(above, _, kept) := shed budget 0 0 (rev' (masses L)) in
  let '(beneath, number, kept) := shed budget 0 0 (rev' kept) in
  Lattice (low L + number) (match kept with m :: rest => (m + beneath)%Z :: rest | [] => [beneath] end) (lost L + above).

Fixpoint power_lattice (p : positive) (budget : Z) (L : lattice) (n : positive) : lattice :=
  match n with
  | xH => L
  | xO m => let H := power_lattice p budget L m in trim budget (times_lattice p H H)
  | xI m => let H := power_lattice p budget L m in
            trim budget (times_lattice p L (trim budget (times_lattice p H H)))
  end.

(** Of no release at all. *)
Definition nothing (p : positive) : lattice := Lattice 0 [(2 ^ Zpos p)%Z] 0.

Definition power_n (p : positive) (budget : Z) (L : lattice) (n : N) : lattice :=
  match n with N0 => nothing p | Npos n => power_lattice p budget L n end.

Definition product_lattice (p : positive) (budget : Z) (l : list lattice) : lattice :=
  match l with
  | [] => nothing p
  | L :: rest => fold_left (fun D E => trim budget (times_lattice p D E)) rest L
  end.

Lemma shed_spec budget l : forall gone number g k r, shed budget gone number l = (g, k, r) ->
  exists d, l = d ++ r /\ g = (gone + sum d)%Z /\ k = (number + Z.of_nat (length d))%Z.
Proof.
  induction l as [|m l IH]; intros gone number g k r; cbn [shed].
  - intros [= <- <- <-]. exists []. cbn. repeat split; lia.
  - destruct (gone + m <=? budget)%Z.
    + intros H. destruct (IH _ _ _ _ _ H) as [d [-> [-> ->]]]. exists (m :: d).
      rewrite sum_cons. cbn [length app]. repeat split; lia.
    + intros [= <- <- <-]. exists []. cbn. repeat split; lia.
Qed.

Lemma sum_rev l : sum (rev l) = sum l.
Proof. induction l; cbn [rev]; auto. rewrite sum_app, !sum_cons, IHl. cbn. lia. Qed.

Section Scale.
  Context (p : positive) (h : R).
  Hypothesis h_pos : 0 <= h.
  Local Notation S := (unit_of p).
  Local Notation bounds := (bounds p h).
  Local Notation gain := (gain h).

  Let S_pos : 0 < S. Proof. apply unit_pos. Qed.

  Lemma along_shift_up g s l : (forall i, 0 <= g i) -> along g s l <= along g s (map (shift_up p) l) * S.
  Proof.
    intros Hg. revert s. induction l as [|m l IH]; intros s; cbn [along map]; [lra|].
    specialize (IH (s + 1)%Z). specialize (Hg s). pose proof (shift_up_le p m). nra.
  Qed.

  Lemma nonneg_shift_up l : nonneg_all l -> nonneg_all (map (shift_up p) l).
  Proof. induction 1; cbn [map]; constructor; auto. apply shift_up_nonneg; auto. Qed.

  Lemma good_times D E : good D -> good E -> good (times_lattice p D E).
  Proof.
    intros [D0 Dm] [E0 Em]. pose proof (sum_nonneg _ Dm). pose proof (sum_nonneg _ Em). split; cbn [lost masses times_lattice].
    - apply shift_up_nonneg. nia.
    - rewrite map'_map. apply nonneg_shift_up. apply convolve_sound; auto.
  Qed.

  Lemma below_times D E : good D -> good E ->
    below (times (pair_of p h D) (pair_of p h E)) (pair_of p h (times_lattice p D E)).
  Proof.
    intros HD HE c Hc. pose proof (good_times D E HD HE) as HT.
    apply Rmult_le_reg_r with (S * S); [nra|].
    rewrite <- (Rmult_assoc (stick (pair_of p h (times_lattice p D E)) c)), (stick_lattice p h _ c HT).
    destruct HD as [D0 Dm], HE as [E0 Em]. unfold stick. rewrite total_times. cbn [times beyond].
    set (FD := first_mass (pair_of p h D)). set (FE := first_mass (pair_of p h E)).
    assert (HFD : FD * S = IZR (sum (masses D))) by (apply first_mass_lattice; split; auto).
    assert (HFE : FE * S = IZR (sum (masses E))) by (apply first_mass_lattice; split; auto).
    rewrite Rmult_plus_distr_r, (Rmult_plus_distr_r _ _ S). apply Rplus_le_compat.
    - cbn [beyond pair_of].
      replace ((IZR (lost D) / S * (IZR (lost E) / S + FE) + FD * (IZR (lost E) / S)) * (S * S))
        with (IZR (lost D) * (IZR (lost E) + FE * S) + FD * S * IZR (lost E)) by (field; lra).
      rewrite HFD, HFE. cbn [lost times_lattice].
      pose proof (shift_up_le p (lost D * (lost E + sum (masses E)) + sum (masses D) * lost E)) as U.
      rewrite plus_IZR, !mult_IZR, plus_IZR in U. exact U.
    - cbn [atoms pair_of low masses times_lattice]. rewrite map'_map.
      apply Rle_trans with (along (gain c) (low D + low E) (convolve (masses D) (masses E))).
      2: { apply along_shift_up. intros; apply gain_nonneg. }
      destruct (convolve_sound (masses D) (masses E) Dm Em) as [_ ->]. rewrite along_conv.
      rewrite (total_atoms p h _ (fun i => / S * along (fun j => / S * gain c (i + j)) (low E) (masses E))); auto.
      + rewrite along_scale.
        rewrite (along_ext _ (fun i => / S * along (fun j => gain c (i + j)) (low E) (masses E)) (low D) (low D)).
        2: { intros i _. rewrite along_scale. reflexivity. }
        rewrite along_scale. right. field. lra.
      + intros m s Hm. cbn [fst snd].
        rewrite (total_atoms p h _ (fun j => m * (/ S * / S * gain c (s + j)))); auto.
        * rewrite along_scale.
          rewrite (along_ext _ (fun j => / S * (/ S * gain c (s + j))) (low E) (low E)) by (intros; ring).
          rewrite along_scale. ring.
        * intros m' s' Hm'. cbn [fst snd].
          replace (m / S * (m' / S) - c * (m / S * exp (- (IZR s * h)) * (m' / S * exp (- (IZR s' * h)))))
            with ((m / S * (m' / S)) * (1 - c * exp (- (IZR (s + s') * h)))).
          2: { rewrite plus_IZR, Rmult_plus_distr_r, Ropp_plus_distr, exp_plus. ring. }
          rewrite part_scale; [unfold gain; field; lra|].
          apply Rmult_le_pos; apply Rmult_le_pos; auto; left; apply Rinv_0_lt_compat; auto.
  Qed.

  Theorem bounds_times D E L M : bounds D L -> bounds E M -> bounds (times D E) (times_lattice p L M).
  Proof.
    intros HL HM. pose proof (lattice_proper p h D L HL) as PL. pose proof (lattice_proper p h E M HM) as PM.
    destruct HL as [HD [GL BL]], HM as [HE [GM BM]].
    split; [apply proper_times; auto|]. split; [apply good_times; auto|]. intros c Hc.
    apply Rle_trans with (stick (times D (pair_of p h M)) c); [apply stick_times_le; auto|].
    rewrite (alike_stick _ _ c (alike_comm _ _)).
    apply Rle_trans with (stick (times (pair_of p h M) (pair_of p h L)) c); [apply stick_times_le; auto|].
    rewrite (alike_stick _ _ c (alike_comm _ _)). apply below_times; auto.
  Qed.

  Theorem bounds_trim budget D L : bounds D L -> bounds D (trim budget L).
  Proof.
    intros HL. assert (G : good L) by apply HL. destruct G as [L0 Lm]. unfold trim.
    destruct (shed budget 0 0 (rev' (masses L))) as [[above k'] kept] eqn:E1.
    destruct (shed budget 0 0 (rev' kept)) as [[beneath k] kept'] eqn:E2.
    destruct (shed_spec _ _ _ _ _ _ _ E1) as [d [H1 [-> _]]].
    destruct (shed_spec _ _ _ _ _ _ _ E2) as [e [H2 [-> ->]]]. rewrite rev'_rev in *. clear E1 E2.
    assert (HM : masses L = (e ++ kept') ++ rev d).
    { rewrite <- (rev_involutive (masses L)), H1, rev_app_distr, H2. reflexivity. }
    rewrite HM in Lm. apply Forall_app in Lm. destruct Lm as [Lm Ld]. apply Forall_app in Lm. destruct Lm as [Le Lk].
    pose proof (sum_nonneg _ Le) as Se. pose proof (sum_nonneg _ Ld) as Sd. rewrite sum_rev in Sd.
    apply bounds_le with L; auto.
    - split; cbn [lost masses]; [lia|].
      destruct Lk; constructor; auto; lia.
    - intros c Hc. cbn [lost low masses]. rewrite HM, !along_app, plus_IZR.
      assert (R1 : forall s, along (gain c) s (rev d) <= IZR (sum d)).
      { intros s. rewrite <- sum_rev, <- (along_1 s). apply along_le; auto. intros. apply gain_le_1; auto. }
      specialize (R1 (low L + Z.of_nat (length (e ++ kept')))%Z).
      set (t := (low L + (0 + Z.of_nat (length e)))%Z).
      assert (R2 : along (gain c) (low L) e <= IZR (sum e) * gain c t).
      { rewrite <- (along_1 (low L)), Rmult_comm, <- along_scale.
        assert (G : forall l s, nonneg_all l -> (s + Z.of_nat (length l) <= t)%Z ->
                      along (gain c) s l <= along (fun _ => gain c t * 1) s l).
        { clear - h_pos Hc. induction l as [|m l IH]; intros s Hl Hs; cbn [along length] in *; [lra|].
          inversion Hl; subst. specialize (IH (s + 1)%Z H2 ltac:(lia)).
          pose proof (gain_mono h h_pos c s t Hc ltac:(lia)). apply IZR_le in H1. nra. }
        apply G; auto. unfold t. lia. }
      replace (low L + Z.of_nat (length e))%Z with t by (unfold t; lia).
      rewrite !Z.add_0_l. destruct kept' as [|m kept']; cbn [along] in *; rewrite ?plus_IZR; lra.
  Qed.

  Lemma bounds_nothing : bounds one (nothing p).
  Proof.
    assert (HG : good (nothing p)).
    { split; [cbn; lia|]. constructor; [|constructor]. apply Z.pow_nonneg; lia. }
    split; [apply proper_one|]. split; auto. intros c Hc. apply Rmult_le_reg_r with S; auto.
    rewrite stick_lattice by auto. unfold stick, one, gain. cbn [beyond atoms total fst snd low masses lost nothing along].
    change (IZR (2 ^ Zpos p)) with S. rewrite Rmult_0_l, Ropp_0, exp_0. lra.
  Qed.

  Lemma alike_one D : alike D (times D one).
  Proof.
    split; [cbn; unfold first_mass; cbn; ring|].
    intros f. rewrite total_times. apply total_ext. intros a _. cbn. rewrite !Rmult_1_r, Rplus_0_r. destruct a; reflexivity.
  Qed.

  Lemma alike_app l m : alike (times (product l) (product m)) (product (l ++ m)).
  Proof.
    induction l as [|D l IH]; cbn [product fold_right app].
    - eapply alike_trans; [apply alike_comm|]. apply alike_sym, alike_one.
    - eapply alike_trans with (times D (times (product l) (product m))); [|apply alike_times; exact IH].
      fold (product l). split.
      + cbn [beyond times]. rewrite !first_mass_times. ring.
      + intros f. rewrite !total_times. apply total_ext. intros a _. rewrite !total_times. apply total_ext. intros b _.
        apply total_ext. intros c _. f_equal. cbn. f_equal; ring.
  Qed.

  (** The product of these pairs, and what is above it. *)
  Definition bounds_product (l : list pair) (L : lattice) := Forall proper l /\ bounds (product l) L.

  Lemma bounds_product_nil : bounds_product [] (nothing p).
  Proof. split; [constructor|apply bounds_nothing]. Qed.

  Lemma bounds_product_one D L : bounds D L -> bounds_product [D] L.
  Proof.
    intros HL. assert (HD : proper D) by apply HL. split; [constructor; auto|].
    apply bounds_alike with D; auto; [|apply alike_one]. apply proper_product. constructor; auto.
  Qed.

  Lemma bounds_product_app l m L M : bounds_product l L -> bounds_product m M -> bounds_product (l ++ m) (times_lattice p L M).
  Proof.
    intros [Fl HL] [Fm HM]. assert (F : Forall proper (l ++ m)) by (apply Forall_app; auto). split; auto.
    apply bounds_alike with (times (product l) (product m)); auto using bounds_times, alike_app, proper_product.
  Qed.

  Lemma bounds_product_trim budget l L : bounds_product l L -> bounds_product l (trim budget L).
  Proof. intros [F H]. split; auto. apply bounds_trim; auto. Qed.

  Lemma repeat_add {A} (a : A) m n : repeat a (m + n) = repeat a m ++ repeat a n.
  Proof. induction m; cbn; congruence. Qed.

  Theorem bounds_power budget D L n : bounds D L -> bounds_product (repeat D (N.to_nat n)) (power_n p budget L n).
  Proof.
    intros HL. destruct n as [|n]; [apply bounds_product_nil|]. cbn [N.to_nat power_n].
    induction n as [n IH|n IH|]; cbn [power_lattice].
    - replace (Pos.to_nat n~1) with (1 + (Pos.to_nat n + Pos.to_nat n))%nat by lia. rewrite !repeat_add.
      apply bounds_product_trim, bounds_product_app; [apply bounds_product_one; auto|]. apply bounds_product_trim, bounds_product_app; auto.
    - replace (Pos.to_nat n~0) with (Pos.to_nat n + Pos.to_nat n)%nat by lia. rewrite repeat_add.
      apply bounds_product_trim, bounds_product_app; auto.
    - apply bounds_product_one; auto.
  Qed.

  Theorem bounds_products budget ls Ls : Forall2 bounds_product ls Ls -> bounds_product (concat ls) (product_lattice p budget Ls).
  Proof.
    intros H. destruct H as [|l L ls Ls HL H]; [apply bounds_product_nil|]. cbn [concat product_lattice].
    revert l L HL. induction H as [|m M ls Ls HM H IH]; intros l L HL; cbn [concat fold_left].
    - rewrite app_nil_r. auto.
    - rewrite app_assoc. apply IH. apply bounds_product_trim, bounds_product_app; auto.
  Qed.
End Scale.
