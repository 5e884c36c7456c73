(** Rows of a file that move by a radius: what is read of a row, some columns of numbers, each once, moves no further.
    So a claim on the rows of a file, whose distance is that of all its numbers, is one on what the program reads. *)
Require Import Reals Lra Lia Psatz Bool String List.
From DP.base Require Import Laws Sums.
From DP Require Import Steps.
From DP.check Require Import Json Claim.
Import ListNotations.
Open Scope R_scope.

(** Distances in the l2 norm of the numbers in these columns. *)
Definition distance_in (columns : list string) (r r' : string -> R) : R := sqrt (total (fun c => (r c - r' c) ^ 2) columns).

(** All columns of numbers that a table declares, but what names persons. *)
Definition numbers_declared (data columns : list (string * json)) : list string :=
  map fst (filter (fun nv => negb (is_text (fst nv) (member "id" data)) &&
    match snd nv with Object column => is_text "number" (member "type" column) | _ => false end) columns).

Lemma member_in name (l : list (string * json)) v : member name l = Some v -> In (name, v) l.
Proof.
  induction l as [|[n w] l IH]; simpl; [discriminate|]. destruct (String.eqb_spec name n) as [->|]; auto.
  intros E. injection E as ->. auto.
Qed.

Lemma once_nodup (names : list string) :
  (forall n, In n names -> length (filter (String.eqb n) names) = 1%nat) -> NoDup names.
Proof.
  intros H. rewrite (NoDup_count_occ' string_dec). intros n Hn. rewrite <- (H n Hn). clear H Hn.
  induction names as [|m names IH]; simpl; auto. destruct (string_dec m n) as [->|N].
  - rewrite String.eqb_refl. simpl. auto.
  - destruct (String.eqb_spec n m); [congruence | auto].
Qed.

Theorem read_moves_no_further asked data parameters columns read names :
  measured asked data = true -> table_in "parameters" asked = Some parameters -> table_in "columns" data = Some columns ->
  columns <> [] -> member "columns" parameters = Some (Array read) -> all_some text read = Some names ->
  forall r r', distance_in names r r' <= distance_in (numbers_declared data columns) r r'.
Proof.
  unfold measured. intros HM Hp Hd Hc Hr Hn r r'. rewrite Hp, Hd, Hr in HM.
  destruct columns as [|c columns]; [congruence|]. rewrite Hn in HM.
  rewrite forallb_forall in HM. unfold distance_in. apply sqrt_le_1_alt, total_incl.
  - intros a. apply pow2_ge_0.
  - apply once_nodup. intros n Hin. specialize (HM n Hin). apply andb_prop in HM. destruct HM as [HM _].
    apply andb_prop in HM. destruct HM as [HM _]. apply Nat.eqb_eq. auto.
  - intros n Hin. specialize (HM n Hin). apply andb_prop in HM. destruct HM as [HM Ht].
    apply andb_prop in HM. destruct HM as [_ Hi].
    destruct (member n (c :: columns)) as [[| | | | | |column]|] eqn:Em; try discriminate. apply member_in in Em.
    unfold numbers_declared. apply in_map_iff. exists (n, Object column). split; auto. apply filter_In. split; auto.
    cbn [fst snd]. rewrite Hi, Ht. auto.
Qed.
