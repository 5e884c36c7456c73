(** A derivation, inferred again line by line: what is inferred, and the noise that it rests on. *)
Require Import QArith ZArith String List Bool Ascii Sorting.Mergesort Orders.
From DP Require Import Facts Steps.
From DP.hypotheses Require Import Infer.
From DP.sensitivity Require Import Infer.
From DP.noise Require Import Infer.
From DP.composition Require Import Infer.
From DP.conversions Require Import Infer.
From DP.refutations Require Import Infer.
Import ListNotations.

(** What a rule gives of these premises, or nothing. *)
Definition infer (s : step) (found : list fact) : option fact :=
  match s with
  | AssumeView _ _ _ | AssumeBall _ _ _ _ | AssumeRankOne _ _ _ _ _ | AssumePoints _ _ _ _ | AssumeClipped _ _ _ _ _
  | AssumeCell _ _ _ | AssumeLipschitz _ _ _ _ | AssumeCovers _ _ | AssumeTree _ _ _ | AssumeRounds _ _ _ _ _
  | AssumeNumbers _ _ | AssumeRange _ _ _ | AssumeEach _ _ _ | AssumeL1 _ _ _ | AssumeChoice _ _ | AssumeSplit _ _
  | AssumePersons _ _ _ _ | AssumeRare _ _ _ | AssumeFilter _ _ _ | AssumeNeighbours _ _ _ _ _ _
  | AssumeEvent _ _ _ _ _ => match found with [] => hypothesis s | _ => None end
  | ByLinear _ | ByDifferences | ByMoved _ | ByCentred | ByFactorised _ _ | ByJoint _ | ByStreamL1
  | ByBuffered _ _ _ _ _ => sensitivity s found
  | ByFineGaussian _ _ _ _ _ | ByLatticeGaussian _ _ | ByDiscreteGaussian _ _ _ | ByGaussianNoise _ _
  | ByLaplaceNoise _ _ _ | ByExponential _ _ | ByPermuteAndFlip _ _ | ByKNorm _ _ _ _ | BySparseVector _ _ _ _ _
  | ByFinite _ _ _ | ByShuffled _ _ _ _ _ | ByStableHistogram _ _ _ _ => noise s found
  | ByPostProcess | ByBillboard | ByLocalView | ByNodes | ByLocal | ByCompose | ByParallel | ByMixture | ByPartition => composition s found
  | ByToApproximate _ _ _ | ByToZcdp | ByToPure | ByToGdp _ | ByToNearGdp | ByToRenyi _ | ByDespite _ | ByGroup _ _ | ByWithin _
  | ByPersons | ByReplaceOne => conversion s found
  | ByApart _ _ | ByRefute _ _ => refutation s found
  end.

(* ---------------------------------------------------------------- noise *)

Definition ints_eqb := list_eqb Z.eqb.
Definition matrix_eqb := list_eqb ints_eqb.
Definition spans_eqb := list_eqb (fun a b : Z * Z => Z.eqb (fst a) (fst b) && Z.eqb (snd a) (snd b)).

Definition change_eqb (a b : change) : bool :=
  match a, b with
  | Stacked w, Stacked w' => q_eqb w w'
  | Centred n k b l, Centred n' k' b' l' => ints_eqb [n; k; b; l] [n'; k'; b'; l']
  | Factorised m s n k b l, Factorised m' s' n' k' b' l' => matrix_eqb m m' && ints_eqb [s; n; k; b; l] [s'; n'; k'; b'; l']
  | Buffered w p s q n k b l, Buffered w' p' s' q' n' k' b' l' =>
      matrix_eqb p p' && q_eqb q q' && ints_eqb [w; s; n; k; b; l] [w'; s'; n'; k'; b'; l']
  | _, _ => false
  end.

Definition law_eqb (a b : noise_law) : bool :=
  match a, b with
  | FineNormal v g c s, FineNormal v' g' c' s' => q_eqb v v' && q_eqb g g' && Z.eqb c c' && Bool.eqb s s'
  | LatticeNormal v, LatticeNormal v' => q_eqb v v'
  | DiscreteNormal v g s, DiscreteNormal v' g' s' => q_eqb v v' && q_eqb g g' && Bool.eqb s s'
  | NormalNoise v s, NormalNoise v' s' => q_eqb v v' && Bool.eqb s s'
  | LaplaceNoise b g, LaplaceNoise b' g' =>
      q_eqb b b' && match g, g' with Some x, Some y => q_eqb x y | None, None => true | _, _ => false end
  | ExponentialChoice r, ExponentialChoice r' | FlippedChoice r, FlippedChoice r' => q_eqb r r'
  | LengthNoise r g, LengthNoise r' g' => q_eqb r r' && q_eqb g g'
  | SparseAnswers t b l g, SparseAnswers t' b' l' g' => q_eqb t t' && q_eqb b b' && Z.eqb l l' && q_eqb g g'
  | TableAnswer t, TableAnswer t' => list_eqb (list_eqb q_eqb) t t'
  | CellsShown b t d, CellsShown b' t' d' => q_eqb b b' && Z.eqb t t' && q_eqb d d'
  | ShuffledAnswers t n d, ShuffledAnswers t' n' d' => list_eqb (list_eqb q_eqb) t t' && Z.eqb n n' && q_eqb d d'
  | FilterCharges, FilterCharges => true
  | _, _ => false
  end.

Definition spread_eqb (a b : spread) : bool :=
  match a, b with
  | Once, Once => true
  | Covers q c, Covers q' c' => String.eqb q q' && spans_eqb c c'
  | Tree q n l, Tree q' n' l' => String.eqb q q' && ints_eqb [n; l] [n'; l']
  | _, _ => false
  end.

Definition place_eqb (a b : place) : bool :=
  String.eqb (query a) (query b) && list_eqb change_eqb (made a) (made b) && law_eqb (how a) (how b) && spread_eqb (Facts.over a) (Facts.over b).

Lemma q_eqb_eq a b : q_eqb a b = true -> a = b.
Proof.
  destruct a, b; unfold q_eqb; simpl. intros H. apply andb_prop in H. destruct H as [H1 H2].
  apply Z.eqb_eq in H1. apply Pos.eqb_eq in H2. congruence.
Qed.

Lemma q_eqb_refl a : q_eqb a a = true.
Proof. unfold q_eqb. rewrite Z.eqb_refl, Pos.eqb_refl. reflexivity. Qed.

Lemma list_eqb_eq {A} (eqb : A -> A -> bool) : (forall a b, eqb a b = true -> a = b) -> forall l m, list_eqb eqb l m = true -> l = m.
Proof.
  intros H. induction l as [|a l IH]; intros [|b m]; simpl; try discriminate; auto.
  intros E. apply andb_prop in E. destruct E. f_equal; auto.
Qed.

Lemma list_eqb_refl {A} (eqb : A -> A -> bool) : (forall a, eqb a a = true) -> forall l, list_eqb eqb l l = true.
Proof. intros H. induction l; simpl; auto. rewrite H; auto. Qed.

Lemma ints_eqb_eq l m : ints_eqb l m = true -> l = m.
Proof. apply list_eqb_eq. intros a b. apply Z.eqb_eq. Qed.
Lemma ints_eqb_refl l : ints_eqb l l = true.
Proof. apply list_eqb_refl, Z.eqb_refl. Qed.

Ltac split_and := repeat match goal with H : (_ && _)%bool = true |- _ => apply andb_prop in H; destruct H end.

Lemma change_eqb_eq a b : change_eqb a b = true -> a = b.
Proof.
  destruct a, b; simpl; try discriminate; intros H; split_and;
    repeat match goal with
    | H : q_eqb _ _ = true |- _ => apply q_eqb_eq in H
    | H : matrix_eqb _ _ = true |- _ => apply (list_eqb_eq ints_eqb ints_eqb_eq) in H
    | H : ints_eqb _ _ = true |- _ => apply ints_eqb_eq in H
    end; congruence.
Qed.

Lemma change_eqb_refl a : change_eqb a a = true.
Proof.
  destruct a; simpl; rewrite ?q_eqb_refl, ?ints_eqb_refl; auto;
    unfold matrix_eqb; rewrite (list_eqb_refl ints_eqb ints_eqb_refl); reflexivity.
Qed.

Lemma law_eqb_eq a b : law_eqb a b = true -> a = b.
Proof.
  destruct a, b; simpl; try discriminate; intros H; split_and;
    repeat match goal with
    | H : q_eqb _ _ = true |- _ => apply q_eqb_eq in H
    | H : Z.eqb _ _ = true |- _ => apply Z.eqb_eq in H
    | H : Bool.eqb _ _ = true |- _ => apply eqb_prop in H
    | H : list_eqb _ _ _ = true |- _ => apply (list_eqb_eq _ (list_eqb_eq q_eqb q_eqb_eq)) in H
    | H : match ?x with _ => _ end = true |- _ => destruct x
    end; try discriminate; try congruence.
Qed.

Lemma law_eqb_refl a : law_eqb a a = true.
Proof.
  destruct a; simpl; rewrite ?q_eqb_refl, ?Z.eqb_refl, ?eqb_reflx; auto.
  - destruct grid; simpl; rewrite ?q_eqb_refl; auto.
  - apply list_eqb_refl. intros. apply list_eqb_refl, q_eqb_refl.
  - rewrite list_eqb_refl; auto. intros. apply list_eqb_refl, q_eqb_refl.
Qed.

Lemma spread_eqb_eq a b : spread_eqb a b = true -> a = b.
Proof.
  destruct a, b; cbn [spread_eqb]; try discriminate; auto; intros H; split_and.
  - apply String.eqb_eq in H. apply list_eqb_eq in H0; [congruence|].
    intros [x y] [x' y'] E. split_and. simpl in *. apply Z.eqb_eq in H1, H2. congruence.
  - apply String.eqb_eq in H. apply ints_eqb_eq in H0. congruence.
Qed.

Lemma spread_eqb_refl a : spread_eqb a a = true.
Proof.
  destruct a; cbn [spread_eqb]; auto; rewrite String.eqb_refl; cbn [andb].
  - apply list_eqb_refl. intros. rewrite !Z.eqb_refl. auto.
  - apply ints_eqb_refl.
Qed.

Lemma place_eqb_eq a b : place_eqb a b = true <-> a = b.
Proof.
  split.
  - destruct a, b; unfold place_eqb; simpl. intros H. split_and.
    apply String.eqb_eq in H. apply (list_eqb_eq _ change_eqb_eq) in H2. apply law_eqb_eq in H1. apply spread_eqb_eq in H0. congruence.
  - intros <-. unfold place_eqb. rewrite String.eqb_refl, law_eqb_refl, spread_eqb_refl, (list_eqb_refl _ change_eqb_refl). reflexivity.
Qed.

Fixpoint find_place (k : string) (ds : draws) : option place :=
  match ds with [] => None | (k', p) :: rest => if String.eqb k k' then Some p else find_place k rest end.

(** The draws of both, if a key names one draw in both. *)
Fixpoint merged (a b : draws) : option draws :=
  match b with
  | [] => Some a
  | (k, p) :: rest =>
    match find_place k a with
    | Some p' => if place_eqb p p' then merged a rest else None
    | None => merged (a ++ [(k, p)]) rest
    end
  end.

Fixpoint all_draws (so_far : draws) (found : list line) : option draws :=
  match found with
  | [] => Some so_far
  | l :: rest => let! more := merged so_far (drawn l) in all_draws more rest
  end.

Definition over_covers (o : spread) (ds : draws) : draws :=
  map (fun kp => (fst kp, Place (query (snd kp)) (made (snd kp)) (how (snd kp)) o)) ds.

(* ---------------------------------------------------------------- names *)

Fixpoint text_leb (a b : string) : bool :=
  match a, b with
  | EmptyString, _ => true
  | String _ _, EmptyString => false
  | String x a, String y b =>
      let i := N_of_ascii x in let j := N_of_ascii y in
      if (i <? j)%N then true else if (j <? i)%N then false else text_leb a b
  end.

Module TextOrder <: TotalLeBool.
  Definition t := string.
  Definition leb := text_leb.
  Theorem leb_total : forall a b, leb a b = true \/ leb b a = true.
  Proof.
    unfold leb. induction a as [|x a IH]; intros [|y b]; simpl; auto.
    destruct (N.ltb_spec (N_of_ascii x) (N_of_ascii y)), (N.ltb_spec (N_of_ascii y) (N_of_ascii x)); auto.
  Qed.
End TextOrder.
Module TextSort := Sort TextOrder.

Definition keys_of (l : line) : list string := TextSort.sort (map fst (drawn l)).

Definition texts_eqb := list_eqb String.eqb.

Definition draws_in (a b : draws) : bool :=
  forallb (fun kp => match find_place (fst kp) b with Some p => place_eqb (snd kp) p | None => false end) a.
Definition draws_eqb (a b : draws) : bool := draws_in a b && draws_in b a.

Definition stays (l : line) : bool := match departed l with [] => true | _ => false end.

(** A view names the noise it reads, a choice that of its parts; cells draw one noise for both relations.
    What departs is in no cell, and in one part of a mixture.  What a unit adds is known of a plain sum only. *)
Definition noise_is_named (s : step) (found : list line) : bool :=
  match s, found with
  | ByPostProcess, [part; view] | ByBillboard, [part; view] | ByLocalView, [part; view] =>
      match says view with View _ _ releases => texts_eqb releases (keys_of part) | _ => false end
  | ByMixture, choice :: parts =>
      match says choice with
      | Choice _ listed => list_eqb texts_eqb listed (map keys_of parts) && (forallb stays parts || keys_apart listed)
      | _ => false
      end
  | ByPartition, split :: cells =>
      match says split with
      | Split _ names =>
          let n := length names in
          forallb stays cells &&
          ((length cells <=? n)%nat
          || (length cells =? 2 * n)%nat
             && forallb (fun p => draws_eqb (drawn (fst p)) (drawn (snd p))) (combine (firstn n cells) (skipn n cells)))
      | _ => false
      end
  | ByFactorised _ _, [vector; _; _] => match changes vector with [] => true | _ => false end
  | _, _ => true
  end.

(** Statements about tables of persons and about tables of rows do not mix, and rows are not named any more. *)
Definition one_table (s : step) (found : list line) : bool :=
  let of_rows := forallb (fun l => negb (of_persons l)) in
  match s with
  | ByCompose => of_rows found || forallb of_persons found
  | ByMixture => of_rows (tl found) || forallb of_persons (tl found)
  | ByNodes | ByLocal | ByParallel | ByPartition | ByPersons => of_rows found
  | _ => true
  end.

(* ---------------------------------------------------------------- a line *)

Definition first_changes (found : list line) : list change := match found with l :: _ => changes l | [] => [] end.

(** How a query is transformed by this step, beside what was done before. *)
Definition changed (s : step) (found : list line) : list change :=
  let rounds := match found with
    | _ :: l :: _ => match says l with Rounds _ n k b last => (n, k, b, last) | _ => (0, 0, 0, 0)%Z end
    | _ => (0, 0, 0, 0)%Z
    end in
  let '(n, k, b, last) := rounds in
  match s with
  | ByJoint w => Stacked w :: first_changes found
  | ByCentred => Centred n k b last :: first_changes found
  | ByFactorised matrix bits => Factorised matrix bits n k b last :: first_changes found
  | ByStreamL1 => Factorised [[1%Z]] 0 n k b last :: first_changes found       (* each row is its own round's *)
  | ByBuffered width pairs bits step _ => Buffered width pairs bits step n k b last :: first_changes found
  | _ => []
  end.

Definition covers_made (s : step) : spread :=
  match s with
  | AssumeCovers q covers => Covers q covers
  | AssumeTree q rounds levels => Tree q rounds levels
  | _ => Once
  end.

Definition union (a b : list string) : list string := a ++ filter (fun k => negb (existsb (String.eqb k) a)) b.

(** A new line, after these. *)
Definition follow (s : step) (found : list line) : option line :=
  let! gives := infer s (map says found) in
  check noise_is_named s found && one_table s found;
  let gone := fold_left union (map departed found) [] in
  let views := flat_map views found in
  let persons := match found with [] => false | _ => existsb of_persons found end in
  match law_of s (match found with l :: _ => says l | [] => gives end), gives with
  | Some (key, law), Private q _ _ _ _ =>
      Some (Line gives [(key, Place q (first_changes found) law Once)] [] Once [] false [])
  | Some _, _ => None
  | None, _ =>
    let! ds := all_draws [] found in
    match s with
    | AssumeFilter q _ _ => Some (Line gives [(q, Place "" [] FilterCharges Once)] [] Once [] false [])
    | ByNodes | ByLocal =>
        match found with
        | [leaf; covers] =>
            check stays leaf;
            Some (Line gives (over_covers (covers_of covers) ds) [] Once [] false [])
        | _ => None
        end
    | ByPostProcess | ByBillboard | ByLocalView =>
        match gives with
        | Private q _ _ _ _ => Some (Line gives ds [] Once gone persons [q])
        | _ => None
        end
    | ByDespite _ => Some (Line gives ds [] Once (union gone (map fst ds)) persons views)
    | ByPersons => Some (Line gives ds [] Once gone true views)
    | _ => Some (Line gives ds (changed s found) (covers_made s) gone persons views)
    end
  end.

(** A whole derivation: every step with the numbers of the lines that it rests on. *)
Fixpoint nth_line (lines : list line) (size n : Z) : option line :=      (* the latest first *)
  match lines with
  | [] => None
  | l :: rest => if (n =? size - 1)%Z then Some l else nth_line rest (size - 1)%Z n
  end.

Fixpoint derived (steps : list (step * list Z)) (size : Z) (lines : list line) : option (list line) :=
  match steps with
  | [] => Some lines
  | (s, before) :: rest =>
    let! found := all_some (nth_line lines size) before in
    let! next := follow s found in
    derived rest (size + 1)%Z (next :: lines)
  end.

(** What its last line says. *)
Definition conclusion (steps : list (step * list Z)) : option line :=
  match derived steps 0 [] with Some (l :: _) => Some l | _ => None end.
