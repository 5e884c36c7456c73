(** Statements for other neighbours: what is given by what is proved for more of them. *)
Require Import Reals QArith Qreals ZArith Lra Lia List Bool String.
From DP.base Require Import Laws Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.noise Require Import Infer.
From DP.conversions Require Import Infer.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Lemma relation_eqb_eq a : forall b, relation_eqb a b = true -> a = b.
Proof.
  induction a; intros [] E; simpl in E; try discriminate; auto; split_and;
    repeat match goal with
    | H : q_eqb _ _ = true |- _ => apply q_eqb_eq in H
    | H : Z.eqb _ _ = true |- _ => apply Z.eqb_eq in H
    | H : relation_eqb ?x ?y = true, IH : forall b, relation_eqb ?x b = true -> _ |- _ => apply IH in H
    end; congruence.
Qed.

Lemma observer_eqb_eq a b : observer_eqb a b = true -> a = b.
Proof. destruct a, b; simpl; congruence. Qed.

(** A restated line: the same draws, another statement. *)
Lemma restated_sound W st l n s c rel o reads s' c' rel' o' :
  says l = Private s c rel o reads -> (forall f, law_of st f = None) ->
  match st with
  | AssumeFilter _ _ _ | ByNodes | ByLocal | ByPostProcess | ByBillboard | ByLocalView | ByDespite _ | ByPersons => False
  | _ => True
  end ->
  follow st [l] = Some n -> (forall gives, infer st [says l] = Some gives -> gives = Private s' c' rel' o' reads) ->
  holds W l -> well_made l -> curve_sane c' ->
  (forall ds gone persons views, private_holds W s c rel o reads ds gone persons views -> private_holds W s' c' rel' o' reads ds gone persons views) ->
  holds W n /\ well_made n.
Proof.
  intros HP HL HS HF HI HH HM HC HW.
  destruct (restated st l n (HL _) HS HF) as [ds [gone [Ei [Ea [Eg [Ep [Ev _]]]]]]].
  apply HI in Ei. unfold holds in *. rewrite HP in HH. rewrite Ei. split.
  - rewrite Ep, Ev. apply (private_alike W) with (a := drawn l) (gone := departed l); auto.
  - destruct HM as [_ [M1 M2]]. rewrite HP in M2. unfold well_made. rewrite Ei. split; [discriminate|]. split.
    + intros k Hk. apply (alike_keys _ _ Ea), M1, Eg. auto.
    + split; auto. intros HR k p Hk. apply (proj2 M2 HR k). rewrite Ea. auto.
Qed.

Ltac one_premise found l := 
  match goal with HF : follow ?s found = Some _ |- _ =>
    assert (exists l, found = [l]) as [l ->] by
      (unfold follow in HF; destruct (infer s (map says found)) eqn:?Ei; [|discriminate];
       destruct found as [|? [|]]; try discriminate; eauto)
  end.

Theorem replace_one_sound : sound_rule "replace_one".
Proof.
  intros s HR. destruct s; try discriminate HR. clear HR. intros W found n HW HH HM HF _.
  one_premise found l. inversion HH; inversion HM; subst.
  assert (Hi : exists s c o reads, says l = Private s c (Groups AddRemove 2) o reads).
  { unfold follow in HF. cbn [map infer conversion] in HF. unfold replace_one in HF.
    destruct (says l) as [s c rel o reads| | | | | | | | | | | | | |]; try discriminate.
    destruct rel as [| | | |rel size]; try discriminate. destruct rel; try discriminate.
    destruct size as [|[|[]|]|]; try discriminate. eauto 10. }
  destruct Hi as [s [c [o [reads Hs]]]].
  eapply (restated_sound W ByReplaceOne l n s c (Groups AddRemove 2) o reads s c ReplaceOne o); eauto; simpl; auto.
  - rewrite Hs. intros gives E. cbn in E. injection E as <-. auto.
  - match goal with H : well_made l |- _ => destruct H as [_ [_ M]] end. rewrite Hs in M. apply M.
  - assert (G : forall record (distance : record -> record -> R) (d d' : data record),
      neighbours distance ReplaceOne d d' -> neighbours distance (Groups AddRemove 2) d d').
    2: { intros ds gone persons views. apply private_fewer; auto. }
    intros record distance d d' [u [r [r' [E1 [E2 E3]]]]]. change (Z.to_nat 2) with 2%nat. simpl.
    exists (fun v => if Z.eq_dec v u then None else d v). split.
    + right. left. exists u, r. split; [auto|split]; [destruct (Z.eq_dec u u); congruence|].
      intros v Hv. destruct (Z.eq_dec v u); congruence.
    + exists d'. split; auto. right. right. exists u, r'. split; [auto|split]; [destruct (Z.eq_dec u u); congruence|].
      intros v Hv. destruct (Z.eq_dec v u); [congruence|]. symmetry. apply E3; auto.
Qed.

Lemma moved_by_fewer {record} (distance : record -> record -> R) a b d d' : a <= b -> moved_by distance a d d' -> moved_by distance b d d'.
Proof. intros Hab [u [r [r' [E1 [E2 [E3 E4]]]]]]. exists u, r, r'. repeat split; auto. lra. Qed.

(** A straight way in steps. *)
Lemma moved_by_steps {record} (distance : record -> record -> R) step (path : nat -> record) u k : forall (d d' : data record) j,
  (forall i, (i < k)%nat -> distance (path (j + i)%nat) (path (j + S i)%nat) <= step) ->
  d u = Some (path j) -> d' u = Some (path (j + k)%nat) -> only_at u d d' -> steps (moved_by distance step) k d d'.
Proof.
  induction k as [|k IH]; intros d d' j HP Hd Hd' HO; simpl.
  - rewrite Nat.add_0_r in Hd'. apply FunctionalExtensionality.functional_extensionality. intros v.
    destruct (Z.eq_dec v u) as [->|Hv]; [congruence | auto].
  - exists (fun v => if Z.eq_dec v u then Some (path (S j)) else d v). split.
    + right. exists u, (path j), (path (S j)). repeat split; auto.
      * destruct (Z.eq_dec u u); congruence.
      * specialize (HP 0%nat). rewrite Nat.add_0_r, Nat.add_1_r in HP. apply HP. lia.
      * intros v Hv. destruct (Z.eq_dec v u); congruence.
    + apply (IH _ _ (S j)).
      * intros i Hi. specialize (HP (S i) ltac:(lia)). replace (S j + i)%nat with (j + S i)%nat by lia. replace (S j + S i)%nat with (j + S (S i))%nat by lia. auto.
      * destruct (Z.eq_dec u u); congruence.
      * rewrite Hd'. do 2 f_equal. lia.
      * intros v Hv. destruct (Z.eq_dec v u); [congruence|]. apply HO; auto.
Qed.

Theorem within_sound : sound_rule "within".
Proof.
  intros s HR. destruct s; try discriminate HR. clear HR. intros W found n HW HH HM HF _.
  one_premise found l. inversion HH; inversion HM; subst.
  assert (Hi : exists s c rel o reads, says l = Private s c rel o reads /\
    (forall gives, within radius (says l) = Some gives -> gives = Private s c (BoundedRow radius) o reads) /\
    ((exists step, rel = BoundedRow step /\ Q2R radius <= Q2R step) \/
     (exists step size, rel = Groups (BoundedRow step) size /\ 0 < Q2R radius /\ (1 <= size)%Z /\ Q2R radius <= Q2R step * IZR size))).
  { unfold follow in HF. cbn [map infer conversion] in HF. destruct (within radius (says l)) as [f|] eqn:Ew; [|discriminate].
    unfold within in Ew. destruct (says l) as [s c rel o reads| | | | | | | | | | | | | |]; try discriminate.
    destruct rel as [| |step| |rel size]; try discriminate.
    - destruct (_ && _)%bool eqn:E in Ew; [|discriminate].
      exists s, c, (BoundedRow step), o, reads. split; [auto|split].
      { intros gives Eg. injection Eg as <-. cbn [moves_by] in Ew. congruence. }
      split_and.
      left. exists step. split; auto. apply le_R; auto.
    - destruct rel as [| |step| |]; try discriminate.
      destruct (_ && _)%bool eqn:E in Ew; [|discriminate].
      exists s, c, (Groups (BoundedRow step) size), o, reads. split; [auto|split].
      { intros gives Eg. injection Eg as <-. cbn [moves_by] in Ew. congruence. }
      split_and.
      right. exists step, size. split; auto. repeat split.
      + apply q_positive; auto.
      + apply Z.leb_le; auto.
      + match goal with H : Qle_bool _ _ = true |- _ => apply le_R in H; rewrite times_R, of_Z_R in H; exact H end. }
  destruct Hi as [s [c [rel [o [reads [Hs [Hg Hr]]]]]]].
  eapply (restated_sound W (ByWithin radius) l n s c rel o reads s c (BoundedRow radius) o); eauto; simpl; auto.
  - match goal with H : well_made l |- _ => destruct H as [_ [_ M]] end. rewrite Hs in M. apply M.
  - intros ds gone persons views. destruct Hr as [[step [-> Hr]]|[step [size [-> [Hpos [Hsize Hr]]]]]].
    + apply private_fewer; intros d d'; simpl; apply moved_by_fewer; auto.
    + assert (Hk : INR (Z.to_nat size) = IZR size) by (rewrite INR_IZR_INZ, Z2Nat.id; auto; lia).
      assert (Hs0 : 0 < IZR size) by (apply IZR_lt; lia).
      apply private_fewer; intros d d' [u [r [r' [E1 [E2 [E3 E4]]]]]].
      * destruct HW as [_ [_ [_ [_ [_ [_ [_ [_ [_ HC]]]]]]]]].
        destruct (HC r r' (Z.to_nat size) (Q2R step)) as [path [P1 [P2 P3]]]; [lia | rewrite Hk; lra |].
        apply (moved_by_steps (distance W) (Q2R step) path u (Z.to_nat size) d d' 0%nat); simpl; auto; congruence.
      * assert (0 < Q2R step) by nra.
        simpl. destruct (Z.to_nat size) as [|k] eqn:Ek; [lia|]. clear - E1 E2 E4 H.
        apply (moved_by_steps (fun _ _ => 0) (Q2R step) (fun j => match j with O => r | _ => r' end) u (S k) d d' 0%nat); simpl; auto.
        intros; lra.
Qed.
