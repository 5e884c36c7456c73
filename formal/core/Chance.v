(** What adversaries achieve: limits of it, two programs one after another, and several side by side. *)
Require Import Reals Lra Psatz Lia List Bool Classical.
From DP.base Require Import Laws.
From DP Require Import Definitions.
From DP.core Require Import Bounds.
Import ListNotations.
Open Scope R_scope.

Section Chance.
  Context {message : Type}.
  Local Notation H := (history message).
  Implicit Types (K : H -> bool) (k l : H -> law message).

  Lemma chance_range K k l h p q : chance K k l h p q -> 0 <= p <= 1 /\ 0 <= q <= 1.
  Proof.
    induction 1; try lra.
    - nra.
    - split; apply E_test; auto.
    - split; apply E_test; auto.
  Qed.

  Lemma chance_less K K' k l h p q : (forall h, K h = true -> K' h = true) -> chance K k l h p q -> chance K' k l h p q.
  Proof.
    intros HK. induction 1.
    - apply bet; auto.
    - eapply settle; eauto.
    - apply toss; auto.
    - eapply tell; eauto.
    - apply say; auto.
    - apply ask; auto.
  Qed.

  Lemma chance_same K k l k' l' h p q : (forall h, K h = true -> same (k h) (k' h) /\ same (l h) (l' h)) ->
    chance K k l h p q -> chance K k' l' h p q.
  Proof.
    intros HK. induction 1.
    - apply bet; auto.
    - eapply settle; eauto.
    - apply toss; auto.
    - eapply tell; eauto.
    - apply say; auto.
    - destruct (HK h H) as [E1 E2]. rewrite (E1 u H0), (E2 v H1). apply ask; auto.
  Qed.

  (** Releases that are alike on both datasets are public messages. *)
  Lemma chance_free K F k l h p q : (forall h, F h = true -> same (k h) (l h)) ->
    chance (fun h => K h || F h) k l h p q -> chance K k l h p q.
  Proof.
    intros HF. induction 1.
    - apply bet; auto.
    - eapply settle; eauto.
    - apply toss; auto.
    - eapply tell; eauto.
    - apply say; auto.
    - destruct (K h) eqn:E.
      + apply ask; auto.
      + simpl in H. rewrite <- (HF h H v H1). apply say; auto.
  Qed.

  (** The event that does not happen. *)
  Lemma chance_not K k l h p q : chance K k l h p q -> chance K l k h (1 - q) (1 - p).
  Proof.
    induction 1.
    - apply bet; lra.
    - eapply settle; eauto; lra.
    - replace (1 - (t * q + (1 - t) * q')) with (t * (1 - q) + (1 - t) * (1 - q')) by ring.
      replace (1 - (t * p + (1 - t) * p')) with (t * (1 - p) + (1 - t) * (1 - p')) by ring. apply toss; auto.
    - eapply tell; eauto.
    - rewrite <- !E_minus by auto. apply say; auto using test_minus.
    - rewrite <- !E_minus by auto. apply ask; auto using test_minus.
  Qed.

  Lemma chance_any K k l h p : 0 <= p <= 1 -> chance K k l h p 1.
  Proof. intros. eapply settle; [apply (bet _ _ _ _ p)|..]; lra. Qed.

  Lemma settle_to K k l h p q p' q' : chance K k l h p q -> p' <= p -> q <= q' ->
    chance K k l h (Rmax 0 p') (Rmin 1 q').
  Proof.
    intros Hc Hp Hq. destruct (chance_range _ _ _ _ _ _ Hc). eapply settle; eauto.
    - split; [apply Rmax_l | apply Rmax_lub; lra].
    - split; [apply Rmin_glb; lra | apply Rmin_l].
  Qed.

  (* -------------------------------------------------------------- one program after another *)

  (** The least chance on [l] of what has chance p on [k]. *)
  Definition least K k l h p := inf (fun q => chance K k l h p q).

  Lemma least_below K k l h p q : chance K k l h p q -> least K k l h p <= q.
  Proof.
    intros Hc. apply inf_below with q 0; auto. intros x Hx. apply (chance_range _ _ _ _ _ _ Hx).
  Qed.

  Lemma least_range K k l h p : 0 <= p <= 1 -> 0 <= least K k l h p <= p.
  Proof.
    intros Hp. split.
    - apply inf_most with 1; [apply chance_any; auto|]. intros x Hx. apply (chance_range _ _ _ _ _ _ Hx).
    - apply least_below, bet; auto.
  Qed.

  Lemma least_near K k l h p t : 0 <= p <= 1 -> 0 < t -> chance K k l h p (Rmin 1 (least K k l h p + t)).
  Proof.
    intros Hp Ht. destruct (inf_near (fun q => chance K k l h p q) 1 0 t) as [q [Hq Hlt]]; auto.
    - apply chance_any; auto.
    - intros x Hx. apply (chance_range _ _ _ _ _ _ Hx).
    - eapply settle; eauto; [lra|]. destruct (chance_range _ _ _ _ _ _ Hq).
      split; [apply Rmin_glb; unfold least; lra | apply Rmin_l].
  Qed.

  (** From k to m a chance p becomes some s, and from l's side s or little less becomes r. *)
  Theorem chance_between K k l m h p r : chance K k m h p r ->
    forall t, 0 < t -> chance K l m h (Rmax 0 (least K k l h p - t)) r.
  Proof.
    induction 1 as [h t Ht0 | h p q p' q' Hc IH Hp0 Hq0 | h p q p' q' t Ht0 Hc1 IH1 Hc2 IH2 | h m0 p q Hc IH | h P u v Hu Hv Hc IH | h u v Ha Hu Hv Hc IH]; intros d Hd.
    - pose proof (least_range K k l h t Ht0) as [L1 L2]. eapply settle; [apply (bet _ _ _ _ t); auto|..]; try lra.
      split; [apply Rmax_l | apply Rmax_lub; lra].
    - specialize (IH d Hd). destruct (chance_range _ _ _ _ _ _ Hc) as [Hp Hq].
      assert (least K k l h p' <= least K k l h p).
      { apply le_all with 1; [lra|]. intros e He. apply Rle_trans with (Rmin 1 (least K k l h p + e)); [|apply Rle_trans with (1 := Rmin_r _ _); lra].
        apply least_below. eapply settle; [apply (least_near K k l h p e); auto|..]; try lra.
        split; [lra|]. apply Rmin_l. }
      eapply settle; eauto. split; [apply Rmax_l|]. apply Rmax_lub; [apply Rmax_l|].
      apply Rle_trans with (2 := Rmax_r _ _). lra.
    - specialize (IH1 d Hd). specialize (IH2 d Hd).
      destruct (chance_range _ _ _ _ _ _ Hc1) as [Hp Hq]. destruct (chance_range _ _ _ _ _ _ Hc2) as [Hp' Hq'].
      assert (least K k l h (t * p + (1 - t) * p') <= t * least K k l h p + (1 - t) * least K k l h p').
      { apply le_all with 1; [lra|]. intros e He.
        apply Rle_trans with (t * Rmin 1 (least K k l h p + e) + (1 - t) * Rmin 1 (least K k l h p' + e)).
        - apply least_below, toss; auto using least_near.
        - pose proof (Rmin_r 1 (least K k l h p + e)). pose proof (Rmin_r 1 (least K k l h p' + e)). nra. }
      eapply settle; [apply (toss _ _ _ _ _ _ _ _ t Ht0 IH1 IH2)|..].
      + split; [apply Rmax_l|].
        pose proof (Rmax_l 0 (least K k l h p - d)). pose proof (Rmax_r 0 (least K k l h p - d)).
        pose proof (Rmax_l 0 (least K k l h p' - d)). pose proof (Rmax_r 0 (least K k l h p' - d)).
        apply Rmax_lub; nra.
      + nra.
    - specialize (IH d Hd). destruct (chance_range _ _ _ _ _ _ Hc) as [Hp Hq].
      assert (least K k l h p <= least K k l (m0 :: h) p).
      { apply le_all with 1; [lra|]. intros e He. apply Rle_trans with (Rmin 1 (least K k l (m0 :: h) p + e)); [|apply Rle_trans with (1 := Rmin_r _ _); lra].
        apply least_below. eapply tell. apply least_near; auto. }
      eapply settle; [eapply tell; eauto|..].
      + split; [apply Rmax_l|]. apply Rmax_lub; [apply Rmax_l|]. apply Rle_trans with (2 := Rmax_r _ _). lra.
      + lra.
    - set (w := fun m => Rmin 1 (least K k l (m :: h) (u m) + d / 2)).
      assert (Hw : test w).
      { intros a. pose proof (least_range K k l (a :: h) (u a) (Hu a)). unfold w. split; [apply Rmin_glb; lra | apply Rmin_l]. }
      assert (Hl : least K k l h (P u) <= P w).
      { apply least_below, say; auto. intros a. apply least_near; auto; lra. }
      set (w' := fun m => Rmax 0 (least K k l (m :: h) (u m) - d / 2)).
      assert (Hw' : test w').
      { intros a. pose proof (least_range K k l (a :: h) (u a) (Hu a)). specialize (Hu a).
        unfold w'. split; [apply Rmax_l | apply Rmax_lub; lra]. }
      assert (Hc' : chance K l m h (P w') (P v)).
      { apply say; auto. intros a. apply IH. lra. }
      assert (P w <= 1 * P w' + d).
      { apply E_le_affine; auto; try lra. intros a. unfold w, w'.
        pose proof (Rmin_r 1 (least K k l (a :: h) (u a) + d / 2)). pose proof (Rmax_r 0 (least K k l (a :: h) (u a) - d / 2)). lra. }
      eapply settle; eauto.
      + split; [apply Rmax_l|]. pose proof (E_test P w' Hw'). apply Rmax_lub; lra.
      + pose proof (E_test P v Hv). lra.
    - set (w := fun m => Rmin 1 (least K k l (m :: h) (u m) + d / 2)).
      assert (Hw : test w).
      { intros a. pose proof (least_range K k l (a :: h) (u a) (Hu a)). unfold w. split; [apply Rmin_glb; lra | apply Rmin_l]. }
      assert (Hl : least K k l h (k h u) <= l h w).
      { apply least_below, ask; auto. intros a. apply least_near; auto; lra. }
      set (w' := fun m => Rmax 0 (least K k l (m :: h) (u m) - d / 2)).
      assert (Hw' : test w').
      { intros a. pose proof (least_range K k l (a :: h) (u a) (Hu a)). specialize (Hu a).
        unfold w'. split; [apply Rmax_l | apply Rmax_lub; lra]. }
      assert (Hc' : chance K l m h (l h w') (m h v)).
      { apply ask; auto. intros a. apply IH. lra. }
      assert (l h w <= 1 * l h w' + d).
      { apply E_le_affine; auto; try lra. intros a. unfold w, w'.
        pose proof (Rmin_r 1 (least K k l (a :: h) (u a) + d / 2)). pose proof (Rmax_r 0 (least K k l (a :: h) (u a) - d / 2)). lra. }
      eapply settle; eauto.
      + split; [apply Rmax_l|]. pose proof (E_test (l h) w' Hw'). apply Rmax_lub; lra.
      + pose proof (E_test (m h) v Hv). lra.
  Qed.

  (** So there is a chance in between, up to as little as one likes. *)
  Corollary chance_middle K k l m h p r t : chance K k m h p r -> 0 < t ->
    exists s s', chance K k l h p s /\ chance K l m h s' r /\ s <= s' + t.
  Proof.
    intros Hc Ht. destruct (chance_range _ _ _ _ _ _ Hc) as [Hp _].
    exists (Rmin 1 (least K k l h p + t / 2)), (Rmax 0 (least K k l h p - t / 2)). repeat split.
    - apply least_near; auto; lra.
    - apply chance_between; auto; lra.
    - pose proof (Rmin_r 1 (least K k l h p + t / 2)). pose proof (Rmax_r 0 (least K k l h p - t / 2)). lra.
  Qed.

  (* -------------------------------------------------------------- two programs side by side *)

  (** The most that p exceeds x·q by. *)
  Definition excess K k l x h := sup (fun d => exists p q, chance K k l h p q /\ d = p - x * q).

  Lemma excess_above K k l x h p q : 0 <= x -> chance K k l h p q -> p - x * q <= excess K k l x h.
  Proof.
    intros Hx Hc. apply sup_above with 0 1; eauto.
    - exists 0, 0. split; [apply bet; lra | ring].
    - intros d [p' [q' [Hc' ->]]]. destruct (chance_range _ _ _ _ _ _ Hc'). nra.
  Qed.

  Lemma excess_least K k l x h c : (forall p q, chance K k l h p q -> p <= x * q + c) -> excess K k l x h <= c.
  Proof.
    intros Hc. apply sup_least with 0.
    - exists 0, 0. split; [apply bet; lra | ring].
    - intros d [p [q [H0 ->]]]. specialize (Hc p q H0). lra.
  Qed.

  Lemma excess_low K k l x h : 0 <= x -> 0 <= excess K k l x h /\ 1 - x <= excess K k l x h.
  Proof.
    intros Hx. split.
    - apply Rle_trans with (0 - x * 0); [lra|]. apply excess_above; auto. apply bet; lra.
    - apply Rle_trans with (1 - x * 1); [lra|]. apply excess_above; auto. apply bet; lra.
  Qed.

  Lemma excess_high K k l x h : 0 <= x -> excess K k l x h <= 1.
  Proof.
    intros Hx. apply excess_least. intros p q Hc. destruct (chance_range _ _ _ _ _ _ Hc). nra.
  Qed.

  Lemma excess_next K k l x h m : 0 <= x -> excess K k l x (m :: h) <= excess K k l x h.
  Proof.
    intros Hx. apply excess_least. intros p q Hc.
    assert (p - x * q <= excess K k l x h); [|lra]. apply excess_above; auto. eapply tell; eauto.
  Qed.

  (** A release of the first program, after which both go on. *)
  Lemma one_of_two K k l h u v x y c : K h = true -> test u -> test v -> 0 <= x -> 0 <= y -> 0 <= c <= 1 ->
    (forall m x, 0 <= x -> u m <= x * y * v m + excess K k l x (m :: h) + c) ->
    k h u <= x * y * l h v + excess K k l x h + c.
  Proof.
    intros HK Hu Hv Hx Hy Hc Hnext. apply le_all with (1 + x); [lra|]. intros t Ht.
    set (u' := fun m => Rmax 0 (u m - c - t)). set (v' := fun m => Rmin 1 (y * v m + t)).
    assert (Hu' : test u') by (intros m; specialize (Hu m); unfold u'; split; [apply Rmax_l | apply Rmax_lub; lra]).
    assert (Hv' : test v') by (intros m; specialize (Hv m); unfold v'; split; [apply Rmin_glb; nra | apply Rmin_l]).
    assert (Hch : chance K k l h (k h u') (l h v')).
    { apply ask; auto. intros m.
      destruct (no_line (chance K k l (m :: h)) (y * v m) (u m - c)) with (t := t) as [p [q [Hpq [H1 H2]]]]; auto.
      - intros p q. apply chance_range.
      - apply bet; lra.
      - apply bet; lra.
      - intros. apply toss; auto.
      - specialize (Hv m). nra.
      - specialize (Hu m). lra.
      - intros x' Hx' d Hd. specialize (Hnext m x' Hx').
        destruct (sup_near (fun d => exists p q, chance K k l (m :: h) p q /\ d = p - x' * q) 0 1 d) as [z [[p [q [Hpq ->]]] Hz]]; auto.
        + exists 0, 0. split; [apply bet; lra | ring].
        + intros z [p [q [Hpq ->]]]. destruct (chance_range _ _ _ _ _ _ Hpq). nra.
        + exists p, q. split; auto. fold (excess K k l x' (m :: h)) in Hz. lra.
      - apply settle_to with p q; auto; lra. }
    pose proof (excess_above K k l x h _ _ Hx Hch) as Hex.
    assert (k h u <= 1 * k h u' + (c + t)).
    { apply E_le_affine; auto; try lra. intros m. unfold u'. pose proof (Rmax_r 0 (u m - c - t)). lra. }
    assert (l h v' <= y * l h v + t).
    { apply E_le_affine; auto; try lra. intros m. unfold v'. apply Rmin_r. }
    nra.
  Qed.

  (** Adaptive composition, in any order and interleaving: the excesses add at the product of the factors. *)
  Theorem chance_composed K1 K2 k l h p q : chance (fun h => K1 h || K2 h) k l h p q ->
    forall x y, 0 <= x -> 0 <= y -> p <= x * y * q + excess K1 k l x h + excess K2 k l y h.
  Proof.
    induction 1 as [h t Ht0 | h p q p' q' Hc IH Hp0 Hq0 | h p q p' q' t Ht0 Hc1 IH1 Hc2 IH2 | h m0 p q Hc IH | h P u v Hu Hv Hc IH | h u v Ha Hu Hv Hc IH]; intros x y Hx Hy;
      pose proof (excess_low K1 k l x h Hx) as [L1 L1']; pose proof (excess_low K2 k l y h Hy) as [L2 L2'].
    - assert (0 <= x * y) by (apply Rmult_le_pos; auto).
      destruct (Rle_dec 1 (x * y)); [nra|]. destruct (Rle_dec x 1), (Rle_dec y 1); nra.
    - specialize (IH x y Hx Hy). assert (0 <= x * y) by (apply Rmult_le_pos; auto). nra.
    - specialize (IH1 x y Hx Hy). specialize (IH2 x y Hx Hy). nra.
    - specialize (IH x y Hx Hy). pose proof (excess_next K1 k l x h m0 Hx). pose proof (excess_next K2 k l y h m0 Hy). lra.
    - assert (P u <= x * y * P v + (excess K1 k l x h + excess K2 k l y h)); [|lra].
      apply E_le_affine; auto; [apply Rmult_le_pos; auto | lra|]. intros m. specialize (IH m x y Hx Hy).
      pose proof (excess_next K1 k l x h m Hx). pose proof (excess_next K2 k l y h m Hy). lra.
    - destruct (K1 h) eqn:E.
      + apply one_of_two; auto.
        * split; auto. apply excess_high; auto.
        * intros m x' Hx'. specialize (IH m x' y Hx' Hy). pose proof (excess_next K2 k l y h m Hy). lra.
      + simpl in Ha. replace (x * y) with (y * x) by ring.
        assert (k h u <= y * x * l h v + excess K2 k l y h + excess K1 k l x h); [|lra].
        apply one_of_two; auto.
        * split; auto. apply excess_high; auto.
        * intros m y' Hy'. specialize (IH m x y' Hx Hy'). pose proof (excess_next K1 k l x h m Hx). nra.
  Qed.
End Chance.
