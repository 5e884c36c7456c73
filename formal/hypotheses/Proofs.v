(** What a hypothesis says is taken for granted; that it is said properly is proved. *)
Require Import Reals QArith Qreals ZArith Lra Lia List Bool String.
From DP.base Require Import Laws Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Numbers Lines Sound.
From DP.hypotheses Require Import Infer.
From DP.composition Require Import Infer.
From DP.conversions Require Import Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Ltac of_rule := let s := fresh "s" in intros s; destruct s; intros HR; try discriminate HR; clear HR;
  intros W found n HW HH HM HF HT.

Ltac said := let Hf := fresh in
  match goal with HF : follow _ ?found = Some ?n |- _ =>
    unfold follow in HF; destruct found as [|? ?]; [|discriminate HF]; unfold infer, hypothesis, entered, neighbours_apart in HF; simpl in HF; needed; subst; cbn in *
  end.

Ltac hypothesis := of_rule; split; [match goal with HT : takes_for_granted _ _ _ _ |- _ => exact HT end|]; unfold well_made, bare; said; (split; [auto; discriminate | split; [intros ? [] | auto using q_nonneg]]).

Lemma simple_single rel : simple_relation rel = true -> of_groups rel = false.
Proof. destruct rel; auto; discriminate. Qed.

(** What a contribution or a bound keeps to. *)
Ltac finish := repeat match goal with
  | |- _ /\ _ => split
  | H : Qle_bool 0 _ = true |- _ => apply q_nonneg in H
  | H : Qle_bool _ _ = true |- _ => apply le_R in H
  | H : relation_eqb _ _ = true |- _ => apply relation_eqb_eq in H; subst
  | H : (_ <=? _)%Z = true |- _ => apply Z.leb_le in H
  end; intros; rewrite ?times_R, ?of_Z_R, ?zero_R in *; auto using simple_single; try nra; try lia; try (apply IZR_le; lia); try congruence; try contradiction.

Theorem assume_view_sound : sound_rule "assume_view". Proof. hypothesis. Qed.
Lemma square_nonneg r : 0 <= Q2R (times r r).
Proof. rewrite times_R. nra. Qed.

Theorem assume_ball_sound : sound_rule "assume_ball".
Proof. hypothesis; finish. exact (square_nonneg radius). Qed.
Theorem assume_rank_one_sound : sound_rule "assume_rank_one".
Proof. hypothesis; finish. Qed.
Theorem assume_points_sound : sound_rule "assume_points".
Proof.
  hypothesis; finish. match goal with F : forallb _ points = true, I : In _ points |- _ => rewrite forallb_forall in F; apply F in I; apply Nat.eqb_eq in I; exact I end.
Qed.
Theorem assume_clipped_sound : sound_rule "assume_clipped".
Proof. hypothesis; finish. Qed.
Theorem assume_cell_sound : sound_rule "assume_cell".
Proof. hypothesis; finish. Qed.
Theorem assume_lipschitz_sound : sound_rule "assume_lipschitz". Proof. hypothesis. Qed.
Theorem assume_rounds_sound : sound_rule "assume_rounds".
Proof.
  hypothesis; unfold unit_there in *; repeat match goal with H : (_ && _)%bool = true |- _ => apply andb_prop in H; destruct H end;
    destruct participations, separation; finish.
Qed.
Theorem assume_numbers_sound : sound_rule "assume_numbers".
Proof. hypothesis; finish. Qed.
Theorem assume_range_sound : sound_rule "assume_range".
Proof. hypothesis; finish. Qed.
Theorem assume_each_sound : sound_rule "assume_each".
Proof. hypothesis; finish. Qed.
Theorem assume_l1_sound : sound_rule "assume_l1".
Proof. hypothesis; finish. Qed.
Theorem assume_choice_sound : sound_rule "assume_choice". Proof. hypothesis. Qed.
Lemma distinct_once l : distinct l = true -> NoDup l.
Proof.
  induction l as [|a l IH]; intros E; constructor; cbn [distinct] in E; apply andb_prop in E; destruct E as [E1 E2]; auto.
  intros Ha. apply negb_true_iff in E1. apply (proj2 (key_in_spec a l)) in Ha. congruence.
Qed.

Theorem assume_split_sound : sound_rule "assume_split".
Proof. hypothesis. apply distinct_once; auto. Qed.
Theorem assume_persons_sound : sound_rule "assume_persons". Proof. hypothesis. Qed.
Theorem assume_rare_sound : sound_rule "assume_rare". Proof. hypothesis. Qed.

Theorem assume_neighbours_sound : sound_rule "assume_neighbours".
Proof. hypothesis. Qed.
Theorem assume_event_sound : sound_rule "assume_event". Proof. hypothesis. Qed.

Lemma nonnegative_sane law : nonnegative_law law = true -> curve_sane law.
Proof.
  destruct law; simpl; try discriminate; intros E; auto using q_nonneg.
  apply andb_prop in E. destruct E. auto using q_nonneg.
Qed.

Theorem assume_filter_sound : sound_rule "assume_filter".
Proof.
  hypothesis. split; [apply nonnegative_sane; auto|]. intros _ k p. simpl. destruct (String.eqb k query); [|discriminate].
  intros E. injection E as <-. auto.
Qed.
