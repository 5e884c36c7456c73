(** What a hypothesis says, once its witness is well formed. *)
Require Import QArith ZArith String List Bool Lia Sorting.Mergesort Orders.
From DP Require Import Facts Steps.
Import ListNotations.

(* ---------------------------------------------------------------- covers *)

Module ZOrder <: TotalLeBool.
  Definition t := Z.
  Definition leb := Z.leb.
  Theorem leb_total : forall a b, leb a b = true \/ leb b a = true.
  Proof. intros. unfold leb. rewrite !Z.leb_le. lia. Qed.
End ZOrder.
Module ZSort := Sort ZOrder.

(** Of sorted first and last units: how many covers are open at most. [now] are open before the next first one. *)
Fixpoint sweep (fuel : nat) (firsts lasts : list Z) (now best : Z) : Z :=
  match fuel, firsts with
  | S less, f :: firsts' =>
    match lasts with
    | l :: lasts' => if (l <? f)%Z then sweep less firsts lasts' (now - 1)%Z best
                     else sweep less firsts' lasts (now + 1)%Z (Z.max best (now + 1))
    | [] => sweep less firsts' lasts (now + 1)%Z (Z.max best (now + 1))
    end
  | _, _ => best
  end.

Definition most_open (covers : list (Z * Z)) : Z :=
  sweep (2 * length covers) (ZSort.sort (map fst covers)) (ZSort.sort (map snd covers)) 0%Z 0%Z.

Definition least_of (l : list Z) : Z := match l with [] => 0%Z | a :: rest => fold_left Z.min rest a end.
Definition most_of (l : list Z) : Z := match l with [] => 0%Z | a :: rest => fold_left Z.max rest a end.

Definition proper (c : Z * Z) : bool := ((1 <=? fst c) && (fst c <=? snd c) && (snd c <? 2 ^ 63))%Z.
Definition unit_there (z : Z) : bool := ((1 <=? z) && (z <? 2 ^ 63))%Z.

Definition covered (q : string) (covers : list (Z * Z)) : option fact :=
  check match covers with [] => false | _ => forallb proper covers end;
  Some (Covered q (Z.of_nat (length covers)) (most_open covers)
          (most_of (map (fun c => snd c - fst c + 1)%Z covers))
          (least_of (map fst covers), most_of (map snd covers))).

Definition tree (q : string) (rounds levels : Z) : option fact :=
  check unit_there rounds && (1 <=? levels)%Z && (levels <=? Z.log2 rounds + 1)%Z;
  Some (Covered q (fold_left Z.add (map (fun l => rounds / 2 ^ Z.of_nat l)%Z (seq 0 (Z.to_nat levels))) 0%Z)
          levels (2 ^ (levels - 1))%Z (1%Z, rounds)).

(* ---------------------------------------------------------------- rounds *)

Fixpoint rising (before : Z) (l : list Z) : bool :=
  match l with [] => true | a :: rest => (before <? a)%Z && rising a rest end.

Definition entered (q : string) (rounds : Z) (participations separation : option Z) (ends : option (list Z)) : option fact :=
  let many := match participations with Some k => k | None => 1%Z end in
  let several := (1 <? many)%Z in
  check unit_there rounds
        && match participations with Some k => (1 <=? k)%Z | None => true end
        && match separation with Some k => (1 <=? k)%Z | None => true end
        && eqb (negb (is_none participations)) (negb (is_none separation)) && eqb (negb (is_none separation)) several
        && match ends with
           | None => true
           | Some l => match l with [] => false | _ => true end && rising 0 l && forallb unit_there l
                       && (Z.of_nat (length l) =? rounds)%Z && (many =? 1)%Z
           end;
  Some (Rounds q rounds many (match separation with Some b => b | None => 1%Z end)
          (match ends with Some l => last l rounds | None => rounds end)).

(* ---------------------------------------------------------------- neighbours that are told apart *)

(** Squared distance of v vᵀ and w wᵀ, entry by entry, with the last corner or without. *)
Definition matrices_apart (v w : list Q) (corner : bool) : Q :=
  let n := length v in
  sum_of (flat_map (fun j => map (fun k =>
    if corner || negb ((j =? pred n)%nat && (k =? pred n)%nat) then
      let d := minus (times (nth j v 0) (nth k v 0)) (times (nth j w 0) (nth k w 0)) in times d d
    else 0) (seq 0 n)) (seq 0 n)).

Definition neighbours_apart (q : string) (set : kind) (v w : list Q) (rel : relation) (o : observer) : option fact :=
  let moves := map (fun p => minus (fst p) (snd p)) (combine v w) in
  check (0 <? length v)%nat && (length v =? length w)%nat
        && (relation_eqb rel ReplaceOne || forallb (fun y => Qeq_bool y 0) w);
  match set with
  | Ball =>                                                     (* a vector *)
      match moves with
      | [x] => Some (Apart q ByNumber [absolute x] rel o)
      | _ => Some (Apart q ByVector [sum_of (map (fun x => times x x) moves)] rel o)
      end
  | RankOne | Outer =>
      check (1 <? length v)%nat && relation_eqb rel ReplaceOne;
      Some (Apart q BySymmetric [matrices_apart v w (match set with Outer => true | _ => false end)] rel o)
  | _ => None
  end.

Definition small (a : Q) : bool := Qle_bool 0 a && Qle_bool a 1.

Definition nonnegative_law (law : curve) : bool :=
  match law with
  | Pure a | Zcdp a | Gdp a => Qle_bool 0 a
  | Approximate a b => Qle_bool 0 a && Qle_bool 0 b
  | _ => false
  end.

Definition simple_relation (rel : relation) : bool := match rel with ReplaceOne | AddRemove => true | _ => false end.

Fixpoint distinct (l : list string) : bool :=
  match l with [] => true | a :: rest => negb (existsb (String.eqb a) rest) && distinct rest end.

(* ---------------------------------------------------------------- all of them *)

Definition hypothesis (s : step) : option fact :=
  match s with
  | AssumeView q shown releases => Some (View q shown releases)
  | AssumeBall q radius rel source =>
      check Qle_bool 0 radius && simple_relation rel; Some (Contribution q Ball 0 (times radius radius) [] rel source)
  | AssumeRankOne q reward corner rel source =>
      check relation_eqb rel ReplaceOne && Qle_bool 0 reward;
      Some (Contribution q (if corner then Outer else RankOne) 0 reward [] rel source)
  | AssumePoints q points rel source =>
      check simple_relation rel && forallb (fun p => (length p =? length (hd [] points))%nat) points; Some (Contribution q Points 0 0 points rel source)
  | AssumeClipped q low high rel source =>
      check Qle_bool low high && simple_relation rel; Some (Contribution q Interval low high [] rel source)
  | AssumeCell q rel most =>
      check (1 <=? most)%Z && (most <=? 1000)%Z && simple_relation rel; Some (Contribution q Cell 0 (of_Z most) [] rel Public)
  | AssumeLipschitz q factor slack reach =>
      check Qle_bool 0 factor && Qle_bool 0 slack && Qle_bool 0 reach; Some (Lipschitz q factor slack reach)
  | AssumeCovers q covers => covered q covers
  | AssumeTree q rounds levels => tree q rounds levels
  | AssumeRounds q rounds k b ends => entered q rounds k b ends
  | AssumeNumbers q most => check (1 <=? most)%Z; Some (Numbers q most)
  | AssumeRange q width rel => check Qle_bool 0 width && simple_relation rel; Some (Stable q Range width rel None)
  | AssumeEach q width rel => check Qle_bool 0 width && simple_relation rel; Some (Stable q EachNumber width rel None)
  | AssumeL1 q width rel => check Qle_bool 0 width && simple_relation rel; Some (Stable q L1 width rel None)
  | AssumeChoice q parts => check match parts with [] => false | _ => true end; Some (Choice q parts)
  | AssumeSplit q cells =>
      check match cells with [] => false | _ => true end && distinct cells; Some (Split q cells)
  | AssumePersons q rel rows most =>
      check (2 <=? most)%Z && simple_relation rel && simple_relation rows
            && (relation_eqb rel ReplaceOne || relation_eqb rows AddRemove);
      Some (Persons q rel rows most)
  | AssumeRare q how probability => check small probability; Some (Rare q how probability)
  | AssumeFilter q law rel => check nonnegative_law law && simple_relation rel; Some (Private q law rel Central None)
  | AssumeNeighbours q set v w rel o => neighbours_apart q set v w rel o
  | AssumeEvent q likely rarely rel o =>
      check small likely && small rarely; Some (Apart q ByEvent [likely; rarely] rel o)
  | _ => None
  end.
