(** Costs of releases add up along what is said; what an adversary achieves follows. *)
Require Import Reals Lra Psatz Lia List Bool.
From DP.base Require Import Laws Normal.
From DP Require Import Definitions.
From DP.core Require Import Bounds Powers Chance.
Import ListNotations.
Open Scope R_scope.

Lemma exp_le x y : x <= y -> exp x <= exp y.
Proof. intros H. destruct (Req_dec x y) as [<-|]; [lra|]. left. apply exp_increasing. lra. Qed.

(* ---------------------------------------------------------------- what was spent *)

Section Spent.
  Context {message : Type}.
  Implicit Types (c d : history message -> R) (h : history message).

  Lemma spent_cons c m h : spent c (m :: h) = c (m :: h) + spent c h.
  Proof. reflexivity. Qed.

  Lemma spent_nonneg c h : (forall h, 0 <= c h) -> 0 <= spent c h.
  Proof. intros Hc. induction h; simpl; [specialize (Hc []); lra | specialize (Hc (a :: h)); lra]. Qed.

  Lemma spent_here c h : (forall h, 0 <= c h) -> c h <= spent c h.
  Proof. intros Hc. destruct h; simpl; [lra|]. pose proof (spent_nonneg c h Hc). lra. Qed.

  Lemma spent_le c d h : (forall h, c h <= d h) -> spent c h <= spent d h.
  Proof. intros H. induction h; simpl; [specialize (H []); lra | specialize (H (a :: h)); lra]. Qed.

  Lemma spent_plus c d h : spent (fun h => c h + d h) h = spent c h + spent d h.
  Proof. induction h; simpl; lra. Qed.

  Lemma spent_scale a c h : spent (fun h => a * c h) h = a * spent c h.
  Proof. induction h; simpl; lra. Qed.

  Lemma spent_zero h : spent (fun _ : history message => 0) h = 0.
  Proof. induction h; simpl; lra. Qed.

  Lemma spent_ext c d h : (forall h, c h = d h) -> spent c h = spent d h.
  Proof. intros H. induction h; simpl; rewrite H; auto. lra. Qed.

  (** What is left of a budget before the release after h. *)
  Definition left_of (budget : R) c h := budget - (spent c h - c h).

  Lemma left_next b c m h : left_of b c (m :: h) = left_of b c h - c h.
  Proof. unfold left_of. simpl. lra. Qed.

  Lemma left_enough b c h : (forall h, spent c h <= b) -> c h <= left_of b c h.
  Proof. intros H. unfold left_of. specialize (H h). lra. Qed.

  Lemma left_nonneg b c h : (forall h, 0 <= c h) -> (forall h, spent c h <= b) -> 0 <= left_of b c h.
  Proof. intros Hc H. pose proof (left_enough b c h H). specialize (Hc h). lra. Qed.

  Lemma left_most b c h : (forall h, 0 <= c h) -> left_of b c h <= b.
  Proof. intros Hc. unfold left_of. pose proof (spent_here c h Hc). lra. Qed.
End Spent.

(* ---------------------------------------------------------------- a larger cost is one too; what is alike is free *)

Section One.
  Context {A : Type}.
  Implicit Types (P Q : law A).

  Definition grows_with (cost : R -> law A -> law A -> Prop) := forall a b P Q, 0 <= a <= b -> cost a P Q -> cost b P Q.
  Definition free_of_charge (cost : R -> law A -> law A -> Prop) := forall P Q, same P Q -> cost 0 P Q.
  Definition of_laws (cost : R -> law A -> law A -> Prop) :=
    forall a P Q P' Q', same P P' -> same Q Q' -> cost a P Q -> cost a P' Q'.

  Lemma pure_grows : grows_with pure_cost.
  Proof.
    intros a b P Q Hab H f Hf. apply Rle_trans with (1 := H f Hf). pose proof (E_test Q f Hf).
    apply Rmult_le_compat_r; [lra|]. apply exp_le; lra.
  Qed.

  Lemma pure_free : free_of_charge pure_cost.
  Proof. intros P Q H f Hf. rewrite exp_0, (H f Hf). lra. Qed.

  Lemma pure_laws : of_laws pure_cost.
  Proof. intros a P Q P' Q' H1 H2 H f Hf. rewrite <- (H1 f Hf), <- (H2 f Hf). auto. Qed.

  Lemma renyi_grows theta : 1 < theta -> grows_with (renyi_cost theta).
  Proof.
    intros Ht a b P Q Hab H f Hf. apply Rle_trans with (1 := H f Hf).
    apply Rmult_le_compat_r; [apply power_nonneg|]. apply exp_le. unfold Rdiv.
    apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat|]; lra.
  Qed.

  Lemma renyi_free theta : 1 < theta -> free_of_charge (renyi_cost theta).
  Proof.
    intros Ht P Q H f Hf. unfold Rdiv. rewrite Rmult_0_l, exp_0, Rmult_1_l, (H f Hf).
    apply mean_le; auto.
  Qed.

  Lemma renyi_laws theta : 1 < theta -> of_laws (renyi_cost theta).
  Proof.
    intros Ht a P Q P' Q' H1 H2 H f Hf. rewrite <- (H1 f Hf), <- (H2 (fun a => power (f a) theta)); auto.
    apply power_test; auto; lra.
  Qed.

  Lemma zcdp_grows : grows_with zcdp_cost.
  Proof.
    intros a b P Q Hab H theta Ht. assert (0 < theta / (theta - 1)) by (apply Rdiv_lt_0_compat; lra).
    apply (renyi_grows theta Ht (theta / (theta - 1) * a)); auto. nra.
  Qed.

  Lemma zcdp_free : free_of_charge zcdp_cost.
  Proof. intros P Q H theta Ht. rewrite Rmult_0_r. apply renyi_free; auto. Qed.

  Lemma zcdp_laws : of_laws zcdp_cost.
  Proof. intros a P Q P' Q' H1 H2 H theta Ht. eapply renyi_laws; eauto. Qed.

  Lemma gdp_grows : grows_with gdp_cost.
  Proof.
    intros a b P Q Hab H f z Hf Hz. apply Rle_trans with (1 := H f z Hf Hz). apply Phi_le.
    assert (sqrt a <= sqrt b) by (apply sqrt_le_1; lra). lra.
  Qed.

  Lemma gdp_free : free_of_charge gdp_cost.
  Proof. intros P Q H f z Hf Hz. rewrite sqrt_0, Rplus_0_r, (H f Hf). auto. Qed.

  Lemma gdp_laws : of_laws gdp_cost.
  Proof. intros a P Q P' Q' H1 H2 H f z Hf Hz. rewrite <- (H1 f Hf). rewrite <- (H2 f Hf) in Hz. auto. Qed.

  Lemma range_grows eta : grows_with (range_cost eta).
  Proof. intros a b P Q Hab [H|[Ha H]]; [left; auto | right; split; auto; lra]. Qed.

  Lemma range_free eta : free_of_charge (range_cost eta).
  Proof. intros P Q H. left; auto. Qed.

  Lemma range_laws eta : of_laws (range_cost eta).
  Proof.
    intros a P Q P' Q' H1 H2 [H|[Ha [c H]]].
    - left. eapply same_trans; [apply same_sym; eauto|]. eapply same_trans; eauto.
    - right. split; auto. exists c. intros f Hf. rewrite <- (H1 f Hf), <- (H2 f Hf). auto.
  Qed.
End One.

(* ---------------------------------------------------------------- budgets *)

Section Budgets.
  Context {message : Type}.
  Local Notation H := (history message).
  Implicit Types (K : H -> bool) (k l : H -> law message) (cost : R -> law message -> law message -> Prop).

  Lemma adds_up_less cost b K K' k l : (forall h, K h = true -> K' h = true) -> adds_up cost b K' k l -> adds_up cost b K k l.
  Proof. intros HK [c [H1 [H2 H3]]]. exists c. auto. Qed.

  Lemma adds_up_same cost b K k l k' l' : of_laws cost ->
    (forall h, K h = true -> same (k h) (k' h) /\ same (l h) (l' h)) -> adds_up cost b K k l -> adds_up cost b K k' l'.
  Proof.
    intros HL HK [c [H1 [H2 H3]]]. exists c. repeat split; auto. intros h Hh. destruct (HK h Hh).
    eapply HL; eauto.
  Qed.

  Lemma adds_up_more cost b b' K k l : b <= b' -> adds_up cost b K k l -> adds_up cost b' K k l.
  Proof. intros Hb [c [H1 [H2 H3]]]. exists c. repeat split; auto. intros h. specialize (H3 h). lra. Qed.

  Lemma adds_up_both cost b1 b2 K1 K2 k l : grows_with cost ->
    adds_up cost b1 K1 k l -> adds_up cost b2 K2 k l -> adds_up cost (b1 + b2) (fun h => K1 h || K2 h) k l.
  Proof.
    intros HG [c [C1 [C2 C3]]] [d [D1 [D2 D3]]]. exists (fun h => c h + d h). repeat split.
    - intros h. specialize (C1 h). specialize (D1 h). lra.
    - intros h Hh. specialize (C1 h). specialize (D1 h). destruct (K1 h) eqn:E.
      + apply (HG (c h)); auto; lra.
      + apply (HG (d h)); auto; lra.
    - intros h. rewrite spent_plus. specialize (C3 h). specialize (D3 h). lra.
  Qed.

  Lemma adds_up_free cost b K F k l : grows_with cost -> free_of_charge cost ->
    (forall h, F h = true -> same (k h) (l h)) -> adds_up cost b K k l -> adds_up cost b (fun h => K h || F h) k l.
  Proof.
    intros HG HF0 HF [c [C1 [C2 C3]]]. exists c. repeat split; auto. intros h Hh. specialize (C1 h).
    destruct (K h) eqn:E; auto. apply (HG 0); [lra|]. apply HF0, HF. auto.
  Qed.

  Lemma adds_up_none cost b k l : 0 <= b -> adds_up cost b (fun _ => false) k l.
  Proof. intros Hb. exists (fun _ => 0). repeat split; try discriminate; intros; rewrite ?spent_zero; lra. Qed.

  (** Another cost, at most [f] times as much of it. *)
  Lemma adds_up_in cost cost' a b K k l : 0 <= a ->
    (forall c P Q, 0 <= c -> cost c P Q -> cost' (a * c) P Q) -> adds_up cost b K k l -> adds_up cost' (a * b) K k l.
  Proof.
    intros Ha HC [c [C1 [C2 C3]]]. exists (fun h => a * c h). repeat split; auto.
    - intros h. specialize (C1 h). nra.
    - intros h. rewrite spent_scale. specialize (C3 h). nra.
  Qed.

  (* -------------------------------------------------------------- what adversaries achieve *)

  Lemma pure_chance b K k l h p q : forall c : H -> R, (forall h, 0 <= c h) ->
    (forall h, K h = true -> pure_cost (c h) (k h) (l h)) -> (forall h, spent c h <= b) ->
    chance K k l h p q -> p <= exp (left_of b c h) * q.
  Proof.
    intros c C1 C2 C3. induction 1 as [h t Ht0 | h p q p' q' Hc IH Hp0 Hq0 | h p q p' q' t Ht0 Hc1 IH1 Hc2 IH2 | h m0 p q Hc IH | h P u v Hu Hv Hc IH | h u v Ha Hu Hv Hc IH].
    - pose proof (left_nonneg b c h C1 C3). assert (1 <= exp (left_of b c h)) by (rewrite <- exp_0; apply exp_le; auto). nra.
    - pose proof (exp_pos (left_of b c h)). nra.
    - nra.
    - rewrite left_next in IH. specialize (C1 h). destruct (chance_range _ _ _ _ _ _ Hc).
      assert (exp (left_of b c h - c h) <= exp (left_of b c h)) by (apply exp_le; lra). nra.
    - apply E_le_scale; auto; [left; apply exp_pos|]. intros m. specialize (IH m). rewrite left_next in IH.
      specialize (C1 h). specialize (Hv m). assert (exp (left_of b c h - c h) <= exp (left_of b c h)) by (apply exp_le; lra). nra.
    - apply Rle_trans with (1 := C2 h Ha u Hu).
      assert (l h u <= exp (left_of b c h - c h) * l h v).
      { apply E_le_scale; auto; [left; apply exp_pos|]. intros m. specialize (IH m). rewrite left_next in IH. auto. }
      replace (exp (left_of b c h)) with (exp (c h) * exp (left_of b c h - c h)) by (rewrite <- exp_plus; f_equal; lra).
      pose proof (exp_pos (c h)). nra.
  Qed.

  Corollary adds_up_pure b K k l h p q : adds_up pure_cost b K k l -> chance K k l h p q -> p <= exp b * q.
  Proof.
    intros [c [C1 [C2 C3]]] Hc. pose proof (pure_chance b K k l h p q c C1 C2 C3 Hc).
    destruct (chance_range _ _ _ _ _ _ Hc). pose proof (exp_le _ _ (left_most b c h C1)). nra.
  Qed.

  Lemma adds_up_renyi theta b K k l h p q : 1 < theta -> adds_up (renyi_cost theta) b K k l ->
    chance K k l h p q -> p <= exp (b / theta) * power q (1 / theta).
  Proof.
    intros Ht [c [C1 [C2 C3]]] Hch. pose proof (one_minus_inv theta Ht) as Hi.
    cut (p <= exp (left_of b c h / theta) * power q (1 / theta)).
    { intros G. apply Rle_trans with (1 := G). apply Rmult_le_compat_r; [apply power_nonneg|]. apply exp_le.
      unfold Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra | apply left_most; auto]. }
    assert (Hpos : forall h, 0 <= left_of b c h / theta) by (intros; apply Rmult_le_pos; [apply left_nonneg; auto | left; apply Rinv_0_lt_compat; lra]).
    assert (Hle : forall h, exp ((left_of b c h - c h) / theta) <= exp (left_of b c h / theta)).
    { intros h0. apply exp_le. unfold Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra | specialize (C1 h0); lra]. }
    induction Hch as [h t Ht0 | h p q p' q' Hc IH Hp0 Hq0 | h p q p' q' t Ht0 Hc1 IH1 Hc2 IH2 | h m0 p q Hc IH | h P u v Hu Hv Hc IH | h u v Ha Hu Hv Hc IH].
    - assert (1 <= exp (left_of b c h / theta)) by (rewrite <- exp_0; apply exp_le; auto).
      assert (t <= power t (1 / theta)).
      { rewrite <- (power_inv' t theta) at 1 by lra. apply power_below; [lra|]. apply power_range; lra. }
      pose proof (power_nonneg t (1 / theta)). nra.
    - destruct (chance_range _ _ _ _ _ _ Hc).
      assert (power q (1 / theta) <= power q' (1 / theta)) by (apply power_mono; lra). pose proof (exp_pos (left_of b c h / theta)). nra.
    - destruct (chance_range _ _ _ _ _ _ Hc1). destruct (chance_range _ _ _ _ _ _ Hc2).
      assert (t * power q (1 / theta) + (1 - t) * power q' (1 / theta) <= power (t * q + (1 - t) * q') (1 / theta)).
      { pose proof (jensen (coin t Ht0 true false) (fun x : bool => if x then q else q') theta Ht) as J. simpl in J. apply J.
        intros []; lra. }
      pose proof (exp_pos (left_of b c h / theta)). nra.
    - rewrite left_next in IH. apply Rle_trans with (1 := IH). apply Rmult_le_compat_r; [apply power_nonneg | apply Hle].
    - apply Rle_trans with (exp (left_of b c h / theta) * P (fun m => power (v m) (1 / theta))).
      + apply E_le_scale; auto; [apply power_test; auto; lra | left; apply exp_pos|].
        intros m. apply Rle_trans with (1 := IH m). rewrite left_next. apply Rmult_le_compat_r; [apply power_nonneg | apply Hle].
      + apply Rmult_le_compat_l; [left; apply exp_pos | apply jensen; auto].
    - apply Rle_trans with (1 := C2 h Ha u Hu).
      assert (l h (fun m => power (u m) theta) <= power (exp ((left_of b c h - c h) / theta)) theta * l h v).
      { apply E_le_scale; auto; [apply power_test; auto; lra | apply power_nonneg|]. intros m.
        specialize (IH m). rewrite left_next in IH.
        rewrite <- (power_inv' (v m) theta) by (try apply Hv; lra). rewrite <- power_mult by (try apply power_nonneg; left; apply exp_pos).
        apply power_mono; [lra|]. split; [apply Hu | auto]. }
      replace (exp (left_of b c h / theta)) with (exp (c h / theta) * exp ((left_of b c h - c h) / theta)).
      2: { rewrite <- exp_plus. f_equal. field. lra. }
      rewrite Rmult_assoc. apply Rmult_le_compat_l; [left; apply exp_pos|].
      rewrite <- (power_inv (exp ((left_of b c h - c h) / theta)) theta) by (try lra; left; apply exp_pos).
      rewrite <- power_mult; [|apply power_nonneg | apply E_test; auto].
      apply power_mono; [lra|]. split; auto. apply E_test. apply power_test; auto; lra.
  Qed.
End Budgets.
