(** What is proved of a certificate: if `check_certificate` (check/Certificate.v) accepts it, then of whatever program
    meets its hypotheses, the reader of the claim sees at most (ε, δ) of one unit: of a row, or of a person with as
    many rows as the claim counts.

    Of persons who have one row each, a claim on rows is one on persons (OneRowEach.v); of rows that move by a radius, what
    is read moves no further than the file (ColumnsRead.v).

    A reader reads: `claim` (check/Claim.v), `near`, `seen`, `complete` and `steadfast` (Reader.v), `rows_of_persons`
    (RowsOfPersons.v), `lawful` (Definitions.v), and what each hypothesis of the certificate means (`holds`,
    `takes_for_granted`). *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz Bool String List.
From DP.base Require Import Laws.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Costs Numbers Sound Documents Reader EveryRule RowsOfPersons.
From DP.check Require Import Follow Json Claim Certificate.
Import ListNotations.
Open Scope R_scope.

(** The program reads the same rows of persons in all releases of [subject]; a person has as many as the claim counts. *)
Definition counts_rows_as_claimed (W : world) (c : claim) (subject : string) (rows : relation) : Prop :=
  exists rows_of, (forall l, names W subject l = true -> table W l = rows_of) /\
    rows_of_persons (most_rows c) rows rows_of.

(** Everything that the steps of a derivation take for granted of a program; of persons, what the claim says. *)
Fixpoint meets (W : world) (c : claim) (steps : list (step * list Z)) (size : Z) (lines : list line) : Prop :=
  match steps with
  | [] => True
  | (s, before) :: rest => forall found n, all_some (nth_line lines size) before = Some found -> follow s found = Some n ->
      match s with
      | AssumePersons subject _ rows _ => counts_rows_as_claimed W c subject rows
      | _ => takes_for_granted W s found n
      end /\ meets W c rest (size + 1)%Z (n :: lines)
  end.

Lemma persons_granted W c q rel rows most found n :
  persons_of_claim c (AssumePersons q rel rows most) = true -> follow (AssumePersons q rel rows most) found = Some n ->
  counts_rows_as_claimed W c q rows -> takes_for_granted W (AssumePersons q rel rows most) found n.
Proof.
  unfold persons_of_claim. intros Hp HF [rows_of [Ht Hr]]. apply Z.eqb_eq in Hp. unfold follow in HF.
  destruct (infer _ _) as [f|] eqn:Ei; [|discriminate]. destruct (_ && _)%bool; [|discriminate].
  assert (G : says n = f).
  { assert (D : forall x, match x with Some ds => Some (Line f ds (changed (AssumePersons q rel rows most) found) Once
        (fold_left union (map departed found) []) (match found with [] => false | _ => existsb of_persons found end)
        (flat_map views found)) | None => None end = Some n -> says n = f).
    { intros [ds|] E; [|discriminate]. injection E as <-. reflexivity. }
    destruct f; cbn in HF; apply (D _ HF). }
  cbn [infer] in Ei. destruct (map says found); [|discriminate]. cbn in Ei.
  destruct (_ && _)%bool eqn:E; [|discriminate]. injection Ei as <-.
  repeat (apply andb_prop in E; destruct E as [E ?]).
  cbn. unfold holds. rewrite G. exists rows_of. split; auto. subst most. intros d d' Hd.
  apply (steps_between_persons (distance W) rows_of (most_rows c) rows Hr rel); auto.
  destruct rel, rows; try discriminate; auto.
Qed.

Lemma meets_granted W c steps : forall size lines, forallb (fun s => persons_of_claim c (fst s)) steps = true ->
  meets W c steps size lines -> granted W steps size lines.
Proof.
  induction steps as [|[s before] steps IH]; intros size lines HP HM; simpl; auto.
  simpl in HP. apply andb_prop in HP. destruct HP as [Hs HP]. intros found n Ef En. simpl in HM.
  destruct (HM found n Ef En) as [Ht Hg]. split; auto.
  destruct s; auto. eapply persons_granted; eauto.
Qed.

Lemma observer_eqb_eq a b : observer_eqb a b = true -> a = b.
Proof. destruct a, b; simpl; congruence. Qed.

Lemma derived_made W : lawful W -> forall steps size lines all, Forall (holds W) lines -> Forall well_made lines ->
  granted W steps size lines -> derived steps size lines = Some all -> Forall (holds W) all /\ Forall well_made all.
Proof.
  intros HW. induction steps as [|[s before] steps IH]; intros size lines all HL HM HG; simpl.
  - intros E. injection E as <-. auto.
  - destruct (all_some (nth_line lines size) before) as [found|] eqn:Ef; [|discriminate].
    destruct (follow s found) as [n|] eqn:En; [|discriminate]. simpl in HG. destruct (HG found n Ef En) as [Ht Hg].
    assert (Hfound : Forall (holds W) found /\ Forall well_made found).
    { split; (eapply all_some_forall; [|exact Ef]); intros k l Hl; apply nth_line_in in Hl; rewrite Forall_forall in *; auto. }
    destruct (every_step_sound s W found n HW (proj1 Hfound) (proj2 Hfound) En Ht) as [Hn Hm]. apply IH; auto.
Qed.

(** What the reader of a claim sees, of a program that meets a derivation, makes only its releases, each on its
    place, and departs only where that is counted. *)
Definition reader_learns_at_most (W : world) (c : claim) (rel : relation) (e d : Q) (found : derivation) : Prop :=
  lawful W -> meets W c (steps_of found) 0 [] -> complete W (final found) -> steadfast W (final found) ->
  let T := tables_of W (of_persons (final found)) in
  forall x x' p q, near W T rel x x' -> seen W T (views (final found)) (claimed_observer c) x x' [] p q ->
    p <= exp (Q2R e) * q + Q2R d.

(** What was checked of a point and its derivation. *)
Lemma point_of_spec c rel given e d found : point_of c rel given = inl (e, d, found) ->
  exists entries lines epsilon delta reads,
    check_document entries = inl (steps_of found, lines) /\ lines = final found :: earlier_lines found /\
    says (final found) = Private (about c) (Approximate epsilon delta) rel (claimed_observer c) reads /\
    In (about c) (views (final found)) /\ (epsilon <= e)%Q /\ (delta <= d)%Q /\
    forallb (fun s => persons_of_claim c (fst s)) (steps_of found) = true /\
    (most_rows c <> 1%Z -> of_persons (final found) = true).
Proof.
  unfold point_of. intros H.
  repeat match type of H with
  | match ?x with _ => _ end = inl _ => let E := fresh "Is" in destruct x eqn:E; try discriminate H
  end.
  injection H as <- <- <-. subst. cbn [final steps_of earlier_lines].
  repeat match goal with
  | H : (_ && _)%bool = true |- _ => apply andb_prop in H; destruct H
  | H : String.eqb _ _ = true |- _ => apply String.eqb_eq in H; subst
  | H : relation_eqb _ _ = true |- _ => apply Relations.relation_eqb_eq in H; subst
  | H : observer_eqb _ _ = true |- _ => apply observer_eqb_eq in H; subst
  | H : Qle_bool _ _ = true |- _ => apply Qle_bool_iff in H
  | H : existsb (String.eqb _) _ = true |- _ => apply Lines.key_in_spec in H
  end.
  do 5 eexists. repeat split; eauto.
  intros Hm. match goal with H : (_ || _)%bool = true |- _ => apply orb_prop in H; destruct H as [H|H]; auto; apply Z.eqb_eq in H; contradiction end.
Qed.

Lemma point_sound W c rel given e d found : point_of c rel given = inl (e, d, found) ->
  reader_learns_at_most W c rel e d found.
Proof.
  intros H. destruct (point_of_spec _ _ _ _ _ _ H) as
    [entries [lines [epsilon [delta [reads [HC [-> [Hs [_ [He [Hd [HP _]]]]]]]]]]]].
  intros HW HM complete steadfast T x x' p q Hx Hseen.
  destruct (check_document_derived _ _ _ HC) as [HD _]. apply (meets_granted W c _ _ _ HP) in HM.
  destruct (derived_made W HW _ _ _ _ (Forall_nil _) (Forall_nil _) HM HD) as [Hh Hw].
  inversion Hh as [|? ? Hl _]. inversion Hw as [|? ? Ml _]. subst.
  assert (G : p <= exp (Q2R epsilon) * q + Q2R delta)
    by (apply (reader_sees W (final found) (about c) epsilon delta rel (claimed_observer c) reads HW Hl Ml Hs complete steadfast x x'); auto).
  assert (0 <= q <= 1) by (destruct (seen_range W T _ _ _ _ _ _ _ Hseen); auto).
  apply Qle_Rle in He, Hd. assert (exp (Q2R epsilon) <= exp (Q2R e)) by (apply exp_le; auto). nra.
Qed.

Lemma reader_of_more W c rel e d e' d' found : (e <= e')%Q -> (d <= d')%Q ->
  reader_learns_at_most W c rel e d found -> reader_learns_at_most W c rel e' d' found.
Proof.
  intros He Hd G HW HM HC HS T x x' p q Hx Hseen. specialize (G HW HM HC HS x x' p q Hx Hseen).
  assert (0 <= q <= 1) by (destruct (seen_range W T _ _ _ _ _ _ _ Hseen); auto).
  apply Qle_Rle in He, Hd. assert (exp (Q2R e) <= exp (Q2R e')) by (apply exp_le; auto). nra.
Qed.

(** The claim of an accepted certificate is true of whatever program meets its derivation; what the reader may look at
    includes what the subject of the claim shows; and where several rows of a person count, the units are persons. *)
Theorem check_certificate_sound W document a : check_certificate document = inl a ->
  let c := of_claim a in
  reader_learns_at_most W c (claimed_relation c) (claimed_epsilon c) (claimed_delta c) (by_proof a) /\
  In (about c) (views (final (by_proof a))) /\ (most_rows c <> 1%Z -> of_persons (final (by_proof a)) = true).
Proof.
  unfold check_certificate. intros H.
  repeat match type of H with
  | match ?x with _ => _ end = inl _ => let E := fresh "Is" in destruct x eqn:E; try discriminate H
  end.
  all: injection H as <-; cbn [of_claim by_proof]; subst.
  all: match goal with H : point_of ?c (claimed_relation ?c) _ = inl _ |- _ =>
      pose proof (point_sound W _ _ _ _ _ _ H) as G; destruct (point_of_spec _ _ _ _ _ _ H) as
        [entries [lines [epsilon [delta [reads [_ [_ [_ [Hv [_ [_ [_ Hp]]]]]]]]]]]] end.
  all: split; [|split; auto].
  all: refine (reader_of_more W _ _ _ _ _ _ _ _ _ G); apply Qle_bool_iff; auto.
Qed.

(** What an accepted certificate on rows that move by a radius says of a row that is replaced. *)
Theorem check_certificate_replaced W document a e d second : check_certificate document = inl a ->
  if_replaced a = Some (e, d, second) -> reader_learns_at_most W (of_claim a) ReplaceOne e d second.
Proof.
  unfold check_certificate. intros H.
  repeat match type of H with
  | match ?x with _ => _ end = inl _ => let E := fresh "Is" in destruct x eqn:E; try discriminate H
  end.
  all: injection H as <-; cbn [of_claim if_replaced]; try discriminate.
  intros E. injection E as <- <- <-. eapply point_sound; eauto.
Qed.
