(** The hypotheses of `check_certificate_sound`, and so of `reader_sees`, can be met together, for rows and for persons:
    two certificates, and a program of which both are true.  They claim no more than is so: somebody attains them. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz Bool String List.
From DP.base Require Import Laws.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Lines Sound Instance Reader RowsOfPersons Certificates.
From DP.check Require Import Follow Json Claim Certificate.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- a program that reads persons *)

(** A person has two rows, u = 2p - 1 and u = 2p. *)
Definition owner (u : Z) : Z := ((u + 1) / 2)%Z.

Definition rows_of (d : data (bool * bool)) : data bool :=
  fun u => match d (owner u) with Some (a, b) => Some (if Z.even u then b else a) | None => None end.

(** The program of Instance.v, on rows and on persons.  Its view shows the sum of all counts that it has shown. *)
Definition shown_sum (h : history said) : law said :=
  point (Shown (fold_right (fun m s => match m with Shown c => c + s | Ask _ => s end)%Z 0%Z h)).

Definition counting : world := World bool (bool * bool) said
  (fun _ _ => 0) units release answer answer
  (fun _ => 1%nat) (fun _ => 1%nat)
  (fun _ _ _ _ d _ => IZR (counted d))
  (fun _ _ _ _ _ _ => true)
  (fun _ _ _ _ _ r _ => if r : bool then 1 else 0)
  (fun _ _ => true)
  (fun _ => rows_of)
  (fun _ => ["k1"; "k2"]%string) (fun _ _ h _ => shown_sum h) (fun _ _ h _ => shown_sum h).

Theorem counting_lawful : lawful counting.
Proof. exact program_lawful. Qed.

Lemma counting_draws k : draws_as_said counting k spot.
Proof. exact (program_draws k). Qed.

Lemma two_rows : rows_of_persons 2 AddRemove rows_of.
Proof.
  exists owner. unfold rows_of. repeat split.
  - intros d u ->. auto.
  - intros d d' u ->. auto.
  - intros d p. exists [2 * p - 1; 2 * p]%Z. split; [simpl; lia|]. intros u <- _. unfold owner. cbn [In].
    pose proof (Z.div_mod (u + 1) 2 ltac:(lia)). pose proof (Z.mod_pos_bound (u + 1) 2 ltac:(lia)). lia.
  - discriminate.
Qed.

(* ---------------------------------------------------------------- two certificates *)

(** A derivation as it is written: what every step gives is what is inferred. *)
Fixpoint write (steps : list (string * list (string * json) * list Z)) (size : Z) (lines : list line) : list json :=
  match steps with
  | [] => []
  | (rule, given, before) :: rest =>
    match (let! s := read_step given rule in let! found := all_some (nth_line lines size) before in follow s found) with
    | Some n => Object [("rule", Text rule); ("from", Array (map Int before)); ("with", Object given);
                        ("gives", wire (says n)); ("digest", Text "")]%string :: write rest (size + 1) (n :: lines)
    | None => []
    end
  end.

Open Scope string_scope.

Definition because := ("because", Text "it is counted").
Definition counts_twice : list (string * list (string * json) * list Z) :=
  [("assume_l1", [("query", Text "count"); because; ("width", Text "1"); ("relation", Text "add-remove")], []);
   ("laplace", [("scale", Text "1"); ("grid", Text "1"); ("key", Text "k1")], [0]%Z);
   ("laplace", [("scale", Text "1"); ("grid", Text "1"); ("key", Text "k2")], [0]%Z);
   ("compose", [], [1; 2]%Z);
   ("assume_view", [("query", Text "counts"); because; ("audience", Text "everyone");
                    ("releases", Array [Text "k1"; Text "k2"])], []);
   ("post_process", [], [3; 4]%Z)].

Definition of_rows := (counts_twice ++
  [("to_approximate", [("epsilon", Text "2"); ("delta", Text "0")], [5]%Z)])%list.

Definition of_persons_with_two := (counts_twice ++
  [("group", [("size", Int 2)], [5]%Z);
   ("to_approximate", [("epsilon", Text "4"); ("delta", Text "0")], [6]%Z);
   ("assume_persons", [("query", Text "counts"); because; ("relation", Text "add-remove"); ("rows", Text "add-remove");
                       ("most", Int 2)], []);
   ("persons", [], [7; 8]%Z)])%list.

Definition certificate (epsilon : json) (data : list (string * json)) steps : json :=
  let promise := Object [("model", Text "central"); ("unit", Text "a person"); ("relation", Text "add-remove");
                         ("epsilon", epsilon); ("delta", Int 0)] in
  Object
    [("claim", Object [("guarantee", promise); ("subject", Object [("use", Text "counts")]); ("data", Object data)]);
     ("subject", Object [("use", Text "counts"); ("name", Text "counts")]);
     ("guarantee", promise);
     ("proved", Object [("epsilon", Object [("lower", Null); ("upper", epsilon)]); ("delta", Text "0");
                        ("derivation", Array (write steps 0 []))])].

Definition on_rows := certificate (Int 2) [] of_rows.
Definition on_persons := certificate (Int 4) [("max_rows", Int 2)] of_persons_with_two.

Definition counts : string := "counts".
Definition claim_on_rows := Claim counts 2 0 AddRemove Central 1.
Definition claim_on_persons := Claim counts 4 0 AddRemove Central 2.
Definition line_of (persons : bool) (e : Q) : line :=
  Line (Private counts (Approximate e 0) AddRemove Central None) both_draws [] Once [] persons [counts].

Open Scope R_scope.

(** Step by step, what each takes for granted. *)
Ltac granted := try exact I; match goal with
  | |- forall found n, all_some _ _ = Some found -> _ =>
      let found := fresh "found" in let n := fresh "n" in let Ef := fresh in let En := fresh in
      intros found n Ef En; lazy in Ef; injection Ef as <-; lazy in En; injection En as <-; split; [try exact I | granted]
  | _ => idtac
  end.

Lemma stable_granted : holds counting (Line (Stable "count" L1 1 AddRemove None) [] [] Once [] false []).
Proof. exact stable_holds. Qed.

Lemma view_granted : holds counting (Line (View "counts" Everyone ["k1"; "k2"]%string) [] [] Once [] false []).
Proof.
  unfold holds; cbn [says sources names shows counting]. split; [intros k Hk; exact Hk|]. split; [auto|].
  split; intros; apply same_refl.
Qed.

Ltac drawn_so := intros k p [E|[]]; injection E as <- <-; apply counting_draws.

Theorem rows_accepted : exists a, check_certificate on_rows = inl a /\ of_claim a = claim_on_rows /\
  final (by_proof a) = line_of false 2 /\ meets counting (of_claim a) (steps_of (by_proof a)) 0 [].
Proof.
  eexists. split; [lazy; reflexivity|]. split; [reflexivity|]. split; [reflexivity|].
  cbn [of_claim by_proof steps_of meets]. granted.
  - apply stable_granted.
  - drawn_so.
  - drawn_so.
  - apply view_granted.
Qed.

Theorem persons_accepted : exists a, check_certificate on_persons = inl a /\ of_claim a = claim_on_persons /\
  final (by_proof a) = line_of true 4 /\ meets counting (of_claim a) (steps_of (by_proof a)) 0 [].
Proof.
  eexists. split; [lazy; reflexivity|]. split; [reflexivity|]. split; [reflexivity|].
  cbn [of_claim by_proof steps_of meets]. granted.
  - apply stable_granted.
  - drawn_so.
  - drawn_so.
  - apply view_granted.
  - exists rows_of. split; [auto | apply two_rows].
Qed.

Lemma all_complete persons e : complete counting (line_of persons e) /\ steadfast counting (line_of persons e).
Proof.
  split; [split|].
  - intros h lab Hl. destruct (release_spec h lab Hl) as [i [before [_ [_ [[_ ->]|[_ ->]]]]]]; reflexivity.
  - intros h d d' Hn f _. cbn [next actual counting] in *. unfold answer. rewrite Hn. reflexivity.
  - intros h lab x Hl _. apply same_refl.
Qed.

(* ---------------------------------------------------------------- what is claimed is attained *)

Lemma chance_seen (persons : bool) views o (x x' : data (record_of counting (tables_of counting persons))) (d d' : data bool) h p q :
  (forall h, same (heard _ (tables_of counting persons) h x) (answer h d)) ->
  (forall h, same (heard _ (tables_of counting persons) h x') (answer h d')) ->
  chance asks (fun h => answer h d) (fun h => answer h d') h p q ->
  seen counting (tables_of counting persons) views o x x' h p q.
Proof.
  intros E E'. induction 1.
  - apply seen_bet; auto.
  - eapply seen_settle; eauto.
  - apply seen_toss; auto.
  - eapply seen_tell; eauto.
  - apply seen_say; auto.
  - assert (G : seen counting (tables_of counting persons) views o x x' h
      (heard _ (tables_of counting persons) h x u) (heard _ (tables_of counting persons) h x' v)).
    { apply seen_next; auto. }
    rewrite (E h u), (E' h v) in G by auto. exact G.
Qed.

(** All that is asked of a program holds of this one; the reader then sees what is claimed, and not less. *)
Definition attained (document : json) (persons : bool) (e : R) : Prop :=
  exists a, check_certificate document = inl a /\ of_persons (final (by_proof a)) = persons /\
    Q2R (claimed_epsilon (of_claim a)) = e /\ Q2R (claimed_delta (of_claim a)) = 0 /\
    lawful counting /\ meets counting (of_claim a) (steps_of (by_proof a)) 0 [] /\
    complete counting (final (by_proof a)) /\ steadfast counting (final (by_proof a)) /\
    exists (x x' : data (record_of counting (tables_of counting persons))) p q,
      near _ (tables_of counting persons) (claimed_relation (of_claim a)) x x' /\
      seen counting (tables_of counting persons) (views (final (by_proof a))) (claimed_observer (of_claim a)) x x' [] p q /\
      0 < q /\ p = exp e * q.

Theorem rows_attained : attained on_rows false 2.
Proof.
  destruct rows_accepted as [a [HC [Ha [Hl HM]]]]. exists a. rewrite Hl, Ha in *. destruct (all_complete false 2) as [H1 H2].
  do 3 (split; [auto; unfold Q2R; simpl; try lra; auto|]). split; [unfold Q2R; simpl; lra|].
  split; [apply counting_lawful|]. do 3 (split; [auto|]).
  destruct program_no_better as [Hn [p [q [Hs [Hq ->]]]]]. exists nobody, somebody, (exp 2 * q), q.
  split; [exact Hn|]. split; [|auto]. apply (chance_seen false) with (d := nobody) (d' := somebody); auto.
  - intros h. apply same_refl.
  - intros h. apply same_refl.
Qed.

(** Somebody who says yes in both of his rows, or is not there. *)
Definition no_person : data (bool * bool) := fun _ => None.
Definition one_person : data (bool * bool) := fun u => if (u =? 1)%Z then Some (true, true) else None.

Theorem persons_attained : attained on_persons true 4.
Proof.
  destruct persons_accepted as [a [HC [Ha [Hl HM]]]]. exists a. rewrite Hl, Ha in *. destruct (all_complete true 4) as [H1 H2].
  do 3 (split; [auto; unfold Q2R; simpl; try lra; auto|]). split; [unfold Q2R; simpl; lra|].
  split; [apply counting_lawful|]. do 3 (split; [auto|]).
  destruct (wins_more_often (rows_of no_person) (rows_of one_person)) as [Hq Hp]; [cbv; split; discriminate|].
  pose proof (asks_twice (rows_of no_person) (rows_of one_person)) as Hs.
  exists no_person, one_person. do 2 eexists. split; [|split; [|split]].
  - right. exists 1%Z, (true, true). repeat split; auto. intros v Hv. unfold one_person, no_person.
    destruct (Z.eqb_spec v 1); congruence.
  - apply (chance_seen true) with (3 := Hs); intros h f _; cbn; unfold answer; destruct (release h); reflexivity.
  - nra.
  - rewrite Hp. change (counted (rows_of one_person) - counted (rows_of no_person))%Z with 2%Z. replace (2 * 2) with 4 by lra. reflexivity.
Qed.
