(** All releases of a plan, in any order and interleaved with anything: the product of their pairs bounds what an
    adaptive adversary can bring about.  Main theorem: `plan_sound`, by induction on `chance`. *)
Require Import Reals Lra Psatz List Permutation Arith Lia.
From DP.base Require Import Laws Sums.
From DP Require Import Definitions.
From DP.account Require Import Pairs Split.
Import ListNotations.
Open Scope R_scope.

Lemma nonneg_stick D c : proper D -> 0 <= stick D c.
Proof.
  intros [H _]. unfold stick. assert (0 <= total (fun a => part (fst a - c * snd a)) (atoms D)); [|lra].
  apply total_nonneg. intros; apply part_0.
Qed.

Lemma fewer taken rest c : Forall proper taken -> Forall proper rest -> 0 <= c ->
  stick (product rest) c <= stick (product (taken ++ rest)) c.
Proof.
  intros Ht Hr Hc. induction Ht as [|D taken HD Ht IH]; simpl; [lra|].
  assert (proper (product (taken ++ rest))) by (apply proper_product; apply Forall_app; auto).
  rewrite (alike_stick _ _ c (alike_comm _ _)). pose proof (stick_more D _ c HD H Hc). lra.
Qed.

(** A list that holds each index at most as often as another one is part of it. *)
Lemma sub_multiset (l m : list nat) : (forall i, (count_occ Nat.eq_dec l i <= count_occ Nat.eq_dec m i)%nat) ->
  exists rest, Permutation m (l ++ rest).
Proof.
  revert m. induction l as [|i l IH]; intros m H; [exists m; apply Permutation_refl|].
  assert (Hin : In i m).
  { apply (count_occ_In Nat.eq_dec). specialize (H i). simpl in H. destruct (Nat.eq_dec i i); [|congruence].
    apply Nat.lt_le_trans with (2 := H). apply Nat.lt_0_succ. }
  destruct (in_split i m Hin) as [m1 [m2 ->]].
  destruct (IH (m1 ++ m2)) as [rest Hrest].
  { intros j. specialize (H j). rewrite count_occ_app in *. simpl in H. destruct (Nat.eq_dec i j); lia. }
  exists rest. simpl. apply Permutation_trans with (i :: m1 ++ m2); [apply Permutation_sym, Permutation_middle|].
  apply perm_skip. exact Hrest.
Qed.

Section Plan.
  Context {message : Type} (asks : history message -> bool) (k l : history message -> law message).
  Context (pair_of : nat -> pair) (plan : list nat).            (* indices of pairs, each as often as it is planned *)
  Context (costs : history message -> option nat).              (* None: both laws of the release are the same *)

  Definition here (h : history message) := if asks h then match costs h with Some i => [i] | None => [] end else [].

  (** What the releases before h use up. *)
  Fixpoint used (h : history message) : list nat := match h with [] => [] | _ :: before => here before ++ used before end.

  Let prod (rest : list nat) := product (map pair_of rest).

  Hypothesis plan_proper : forall i, In i plan -> proper (pair_of i).
  Hypothesis within : forall h, exists rest, Permutation plan ((here h ++ used h) ++ rest).
  Hypothesis released : forall h, asks h = true ->
    match costs h with Some i => dominates (pair_of i) (k h) (l h) | None => same (k h) (l h) end.

  Let proper_part used rest : Permutation plan (used ++ rest) -> Forall proper (map pair_of rest).
  Proof.
    intros H. apply Forall_forall. intros D HD. apply in_map_iff in HD. destruct HD as [i [<- Hi]].
    apply plan_proper. apply (Permutation_in _ (Permutation_sym H)). apply in_or_app. auto.
  Qed.

  Let next_left h (m : message) rest : Permutation plan (used h ++ rest) ->
    exists rest', Permutation plan (used (m :: h) ++ rest') /\ Permutation rest (here h ++ rest').
  Proof.
    intros H. destruct (within h) as [rest' H']. exists rest'. split; auto.
    apply Permutation_app_inv_l with (used h). eapply Permutation_trans; [apply Permutation_sym; exact H|].
    eapply Permutation_trans; [exact H'|]. rewrite !app_assoc. apply Permutation_app_tail. apply Permutation_app_comm.
  Qed.

  Let cheaper here' rest rest' c : Forall proper (map pair_of rest) -> Permutation rest (here' ++ rest') -> 0 <= c ->
    stick (prod rest') c <= stick (prod rest) c.
  Proof.
    intros HF Hr Hc. unfold prod. rewrite (alike_stick _ _ c (alike_product _ _ (Permutation_map pair_of Hr))).
    assert (H0 : Forall proper (map pair_of (here' ++ rest'))).
    { apply Forall_forall. intros D HD. rewrite Forall_forall in HF. apply HF.
      apply (Permutation_in _ (Permutation_sym (Permutation_map pair_of Hr))); auto. }
    rewrite map_app in *. apply Forall_app in H0. destruct H0. apply fewer; auto.
  Qed.

  (** After h, what is left of the plan bounds everything. *)
  Theorem plan_left h p q : chance asks k l h p q ->
    forall rest, Permutation plan (used h ++ rest) -> forall c, 0 <= c -> p <= stick (prod rest) c + c * q.
  Proof.
    induction 1; intros rest Hr x Hx.
    - destruct (proper_product _ (proper_part _ _ Hr)) as [_ [_ H2]]. specialize (H2 x Hx). fold (prod rest) in H2.
      pose proof (nonneg_stick _ x (proper_product _ (proper_part _ _ Hr))) as H0. fold (prod rest) in H0. nra.
    - specialize (IHchance rest Hr x Hx). nra.
    - specialize (IHchance1 rest Hr x Hx). specialize (IHchance2 rest Hr x Hx). nra.
    - destruct (next_left h m rest Hr) as [rest' [Hr' Hl]]. specialize (IHchance rest' Hr' x Hx).
      pose proof (cheaper _ rest rest' x (proper_part _ _ Hr) Hl Hx). lra.
    - rename H2 into IH. pose proof (nonneg_stick _ x (proper_product _ (proper_part _ _ Hr))) as H0'. fold (prod rest) in H0'.
      assert (P u <= x * P v + stick (prod rest) x); [|lra].
      apply E_le_affine; auto. intros m. destruct (next_left h m rest Hr) as [rest' [Hr' Hl]].
      specialize (IH m rest' Hr' x Hx). pose proof (cheaper _ rest rest' x (proper_part _ _ Hr) Hl Hx). lra.
    - rename H3 into IH. pose proof (released h H) as Hrel. pose proof (within h) as Hw.
      assert (Hhere : here h = match costs h with Some i => [i] | None => [] end) by (unfold here; rewrite H; auto).
      destruct (costs h) as [i|].
      + destruct Hw as [rest' H']. rewrite Hhere in H'.
        assert (Hl : Permutation rest (i :: rest')).
        { apply Permutation_app_inv_l with (used h). eapply Permutation_trans; [apply Permutation_sym; exact Hr|].
          eapply Permutation_trans; [exact H'|]. simpl. apply Permutation_middle. }
        unfold prod. rewrite (alike_stick _ _ x (alike_product _ _ (Permutation_map pair_of Hl))). simpl.
        assert (HF : Forall proper (map pair_of (i :: rest'))).
        { pose proof (proper_part _ _ Hr) as HF. rewrite Forall_forall in *. intros F HFin. apply HF.
          apply (Permutation_in _ (Permutation_sym (Permutation_map pair_of Hl))); auto. }
        inversion HF; subst. rewrite (alike_stick _ _ x (alike_comm _ _)).
        apply ask_step; auto using proper_product.
        intros m c Hc0. apply (IH m rest'); auto. simpl. rewrite Hhere. exact H'.
      + rewrite Hrel by auto. pose proof (nonneg_stick _ x (proper_product _ (proper_part _ _ Hr))) as H0'. fold (prod rest) in H0'.
        assert (l h u <= x * l h v + stick (prod rest) x); [|lra].
        apply E_le_affine; auto. intros m.
        assert (Hr' : Permutation plan (used (m :: h) ++ rest)) by (simpl; rewrite Hhere; auto).
        specialize (IH m rest Hr' x Hx). lra.
  Qed.

  Lemma fresh_used h : fresh asks h -> used h = [].
  Proof.
    induction h as [|m h IH]; simpl; auto. intros F. rewrite IH.
    - unfold here. rewrite (F m h); auto. exists []. reflexivity.
    - intros m' before [between ->]. apply (F m' before). exists (m :: between). reflexivity.
  Qed.

  Theorem plan_sound epsilon delta : stick (prod plan) (exp epsilon) <= delta -> approximate epsilon delta asks k l.
  Proof.
    intros Hd h p q F C. pose proof (exp_pos epsilon).
    pose proof (plan_left h p q C plan) as G. rewrite (fresh_used h F) in G.
    specialize (G (Permutation_refl _) (exp epsilon) ltac:(lra)). lra.
  Qed.
End Plan.
