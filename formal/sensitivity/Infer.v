(** How far a query moves, as the rules infer it. *)
Require Import QArith ZArith String List Bool Lia Sorting.Mergesort Orders.
From DP Require Import Facts Steps.
From DP.decide Require Import Decide.
Import ListNotations.

(* ---------------------------------------------------------------- differences of integer vectors *)

(** Lists of integers in the order of a dictionary. *)
Fixpoint listed_before (a b : list Z) : bool :=
  match a, b with
  | [], _ => true
  | _ :: _, [] => false
  | x :: a, y :: b => if (x <? y)%Z then true else if (y <? x)%Z then false else listed_before a b
  end.

Module ListOrder <: TotalLeBool.
  Definition t := list Z.
  Definition leb := listed_before.
  Theorem leb_total : forall a b, leb a b = true \/ leb b a = true.
  Proof.
    unfold leb. induction a as [|x a IH]; intros [|y b]; simpl; auto.
    destruct (Z.ltb_spec x y), (Z.ltb_spec y x); auto.
  Qed.
End ListOrder.
Module ListSort := Sort ListOrder.

Module ZDown <: TotalLeBool.
  Definition t := Z.
  Definition leb a b := Z.leb b a.
  Theorem leb_total : forall a b, leb a b = true \/ leb b a = true.
  Proof. intros. unfold leb. rewrite !Z.leb_le. lia. Qed.
End ZDown.
Module ZDownSort := Sort ZDown.

Definition nonzero (z : Z) : bool := negb (z =? 0)%Z.

(** A movement up to order and signs: the largest first, zeros last. *)
Definition movement (a b : list Z) : list Z := ZDownSort.sort (map (fun p => Z.abs (fst p - snd p)) (combine a b)).

Definition z_list_eqb := list_eqb Z.eqb.

Fixpoint once_each (l : list (list Z)) : list (list Z) :=
  match l with
  | a :: rest => match rest with
                 | b :: _ => if z_list_eqb a b then once_each rest else a :: once_each rest
                 | [] => [a]
                 end
  | [] => []
  end.

Definition pairs_of (points : list (list Z)) (rel : relation) : list (list Z) :=
  match rel with
  | ReplaceOne => points
  | _ => [map (fun _ => 0%Z) (hd [] points)]
  end.

Definition moves_of (points : list (list Z)) (rel : relation) : list (list Z) :=
  let found := flat_map (fun a => map (movement a) (pairs_of points rel)) points in
  ListSort.sort (map (filter nonzero) (once_each (ListSort.sort found))).

Definition too_many (points : list (list Z)) (rel : relation) : bool :=
  (5000000 <? Z.of_nat (length points) * Z.of_nat (length (pairs_of points rel)) * Z.of_nat (length (hd [] points)))%Z.

(* ---------------------------------------------------------------- sums *)

Definition replaces (rel : relation) : bool := relation_eqb rel ReplaceOne.

Definition two : Q := 2.
Definition four : Q := 4.

Definition furthest_sum (set : kind) (low high : Q) (points : list (list Z)) (rel : relation) : option (norm * Q) :=
  match set with
  | Interval => Some (L1, if replaces rel then minus high low else larger (absolute low) (absolute high))
  | Ball => Some (L2Squared, if replaces rel then times four high else high)
  | Cell => Some (L1, if replaces rel then plus high high else high)
  | RankOne => Some (FrobeniusSquared,
      if Qle_bool 1 high then times two (times (times two high) (times two high))
      else let s := plus 1 (times high high) in times two (times s s))
  | Outer => Some (FrobeniusSquared, let s := plus 1 (times high high) in times two (times s s))
  | Points => check negb (too_many points rel); Some (L2Squared, of_Z (longest (moves_of points rel)))
  end.

(** An upper bound, close to it, on the largest (1+B²)²+(1+t²)²−2(Bt−1)² over [1/B, B], B > 1. *)
Section Supremum.
  Variable b : Q.

  Definition cubic (t : Q) : Q := plus (plus (times t (times t t)) (times (minus 1 (times b b)) t)) b.

  Definition floor_of (q : Q) : Z := (Qnum q / Zpos (Qden q))%Z.

  Fixpoint halved (n : nat) (low high : Q) : Q * Q :=
    match n with
    | O => (low, high)
    | S less =>
      let middle := Qred (floor_of (times (plus low high) (of_Z (2 ^ 99))) # (2 ^ 100)%positive) in
      if Qle_bool 0 (cubic middle) then halved less middle high else halved less low middle
    end.

  Definition outer_supremum : option Q :=
    let bb := times b b in
    let least := Qred (Z.sqrt (floor_of (times (over (minus bb 1) (of_Z 3)) (of_Z (10 ^ 40)))) # (10 ^ 20)%positive) in
    let flat := times (of_Z 8) bb in
    if Qle_bool 0 (cubic least) then
      check Qle_bool (times (absolute (minus (plus (times (of_Z 3) (times least least)) 1) bb)) b) (cubic least); Some flat
    else
      let (low, high) := halved 80 (over 1 b) least in
      let s := plus 1 bb in
      let t := plus 1 (times low low) in
      let u := minus (times b low) 1 in
      let top := minus (plus (times s s) (times t t)) (times two (times u u)) in
      Some (larger flat (plus top (times four (times (cubic low) (minus high low))))).
End Supremum.

Definition linear (bound_squared : option Q) (person : fact) : option fact :=
  match person with
  | Contribution q set low high points rel _ =>
      let! found := furthest_sum set low high points rel in
      let stated := match set with Outer => below 1 high | _ => false end in
      match bound_squared with
      | None => check negb stated; Some (Stable q (fst found) (snd found) rel None)
      | Some bound =>
          let! least := outer_supremum high in
          check stated && Qle_bool least bound; Some (Stable q (fst found) bound rel None)
      end
  | _ => None
  end.

Definition ones (n : nat) : list Z := repeat 1%Z n.

Definition list_of_moves (person : fact) : option fact :=
  match person with
  | Contribution q Cell _ high _ rel _ =>
      let most := floor_of (if replaces rel then plus high high else high) in
      Some (Shifts q (map ones (seq 0 (S (Z.to_nat most)))) rel)
  | Contribution q Points _ _ points rel _ =>
      check negb (too_many points rel); Some (Shifts q (moves_of points rel) rel)
  | _ => None
  end.

Definition squared (q : Q) : Q := times q q.

Definition moved (radius : option Q) (rows : fact) : option fact :=
  match rows with
  | Lipschitz q factor slack reach =>
      match radius with
      | None => Some (Stable q L2Squared (squared reach) ReplaceOne None)
      | Some r =>
          let follows := plus slack (times r factor) in
          check below 0 r;
          Some (Stable q L2Squared (if below reach follows then squared reach else squared follows) (BoundedRow r) None)
      end
  | _ => None
  end.

(* ---------------------------------------------------------------- rows and rounds *)

Fixpoint comes_and_goes (rel : relation) : bool :=
  match rel with AddRemove => true | Entering of _ _ | Groups of _ => comes_and_goes of | _ => false end.

(** The bound of a query in ℓ2 that is not transformed yet, and which unit enters which of its rounds. *)
Definition untransformed (vector rounds : fact) : option (string * Q * relation * (Z * Z * Z * Z)) :=
  match vector, rounds with
  | Stable q L2Squared bound rel None, Rounds q' n times apart last =>
      check String.eqb q q'; Some (q, bound, rel, (n, times, apart, last))
  | _, _ => None
  end.

Definition centred (vector rounds : fact) : option fact :=
  let! (q, before, rel, (n, many, _, last)) := untransformed vector rounds in
  check (many =? 1)%Z && (last =? n)%Z && negb (comes_and_goes rel);
  Some (Stable q L2Squared (times before (minus 1 (Qred (1 # Z.to_pos n)))) rel (Some (1%Z, n))).

(* ---------------------------------------------------------------- factorised streams *)

(** The largest sums of up to 1, 2, … [count] values, each [gap] or more places after the last; from every place on. *)
Fixpoint take_from (values after : list Z) : list Z :=
  match values with
  | [] => []
  | v :: rest =>
      let later := take_from rest (tl after) in
      Z.max (hd 0%Z later) (v + hd 0%Z after) :: later
  end.

Fixpoint richest_rows (count : nat) (values best : list Z) (gap : nat) : list Z :=
  match count with
  | O => []
  | S less => let now := take_from values (skipn gap best) in hd 0%Z now :: richest_rows less values now gap
  end.

Definition richest (values : list Z) (count gap : Z) : list Z :=
  let fits := Z.to_nat (Z.min count (Z.of_nat (length values) / gap + 1)) in
  richest_rows fits values [] (Z.to_nat gap).

(** The n-th of these sums from 1 on; of more than fit, the last. *)
Definition sum_at (sums : list Z) (n : nat) : Z := nth (Nat.min n (pred (length sums))) sums 0%Z.

Fixpoint prefix_sums (part : Z) (l : list Z) : list Z :=
  match l with [] => [] | a :: rest => (part + a)%Z :: prefix_sums (part + a) rest end.

Definition overlap (c : list Z) (lag : nat) : Z :=
  fold_left Z.max (map Z.abs (prefix_sums 0 (map (fun p => fst p * snd p)%Z (combine c (skipn lag c))))) 0%Z.

Definition toeplitz (c : list Z) (times apart : Z) : Z :=
  let overlaps := map (overlap c) (seq 0 (if (1 <? times)%Z then length c else 1)) in
  let sums := richest (skipn (Z.to_nat apart) overlaps) (times - 1) apart in
  (times * hd 0 overlaps
   + 2 * fold_left Z.add (firstn (Z.to_nat (times - 1)) sums) 0
   + 2 * Z.max 0 (times - 1 - Z.of_nat (length sums)) * last sums 0)%Z.

Definition column (rows : list (list Z)) (k : nat) : list Z := map (fun row => nth k row 0%Z) (skipn k rows).

Definition meeting (u v : list Z) : Z := fold_left Z.add (map (fun p => fst p * snd p)%Z (combine u v)) 0%Z.

(** Squared lengths of columns, row by row. *)
Fixpoint add_squares (sums row : list Z) : list Z :=
  match row, sums with
  | [], _ => sums
  | c :: row, [] => (c * c)%Z :: add_squares [] row
  | c :: row, s :: sums => (s + c * c)%Z :: add_squares sums row
  end.

Definition small_entry (c : Z) : bool := (Z.abs c <? 2 ^ 128)%Z.

Definition is_triangle (rows : list (list Z)) (n : Z) : bool :=
  (Z.of_nat (length rows) =? n)%Z
  && forallb (fun p => (length (fst p) =? S (snd p))%nat) (combine rows (seq 0 (length rows))).

(** The squared factor by which a matrix of integers stretches unit vectors in so many columns. *)
Definition stretch (rows : list (list Z)) (n times apart : Z) : option Z :=
  check forallb (forallb small_entry) rows;
  match rows with
  | [c] =>
      let size := Z.of_nat (length c) in
      check (0 <? size)%Z && (size <=? (if (1 <? times)%Z then 2048 else 2 ^ 20))%Z;
      Some (toeplitz (if (n <? size)%Z then firstn (Z.to_nat n) c else c) times apart)
  | _ =>
      check is_triangle rows n && (0 <? n)%Z;
      if (times =? 1)%Z || (256 <? n)%Z then
        Some (times * times * fold_left Z.max (fold_left add_squares rows []) 0)%Z
      else
        let columns := map (column rows) (seq 0 (length rows)) in
        let size i j := let i' := Nat.min i j in let j' := Nat.max i j in
          Z.abs (meeting (skipn (j' - i') (nth i' columns [])) (nth j' columns [])) in
        let places := seq 0 (length rows) in
        let reach := map (fun i => last (richest (map (size i) places) times apart) 0%Z) places in
        Some (last (richest reach times apart) 0%Z)
  end.

Definition units_eqb (a b : interval) : bool :=
  match a, b with
  | None, None => true
  | Some (x, y), Some (x', y') => (x =? x')%Z && (y =? y')%Z
  | _, _ => false
  end.

Definition norm_eqb (a b : norm) : bool :=
  match a, b with
  | L1, L1 | Range, Range | EachNumber, EachNumber | L2Squared, L2Squared | FrobeniusSquared, FrobeniusSquared => true
  | _, _ => false
  end.

(** Whether this is the bound that [linear] gives of the contribution. *)
Definition sums_it (person vector : fact) : bool :=
  match linear None person, vector with
  | Some (Stable q how bound rel reads), Stable q' how' bound' rel' reads' =>
      String.eqb q q' && norm_eqb how how' && q_eqb bound bound' && relation_eqb rel rel' && units_eqb reads reads'
  | _, _ => false
  end.

(** The squared bound on what a unit adds, or on twice that, wherever its rounds stand. *)
Definition each_addition (vector person : fact) : option Q :=
  check sums_it person vector;
  match person with
  | Contribution _ set _ high points rel _ =>
      let! length := match set with Ball => Some high | Points => Some (of_Z (longest points)) | _ => None end in
      Some (if replaces rel then times four length else length)
  | _ => None
  end.

(** Of whom several rounds are said: of one round, which may be any, nothing needs to be. *)
Definition entering (rel : relation) (entered apart : Z) : relation :=
  if (entered =? 1)%Z then rel else Entering rel entered apart.

Definition factorised (matrix : list (list Z)) (bits : Z) (vector rounds : fact) (person : option fact) : option fact :=
  let! (q, before, rel, (n, many, apart, last)) := untransformed vector rounds in
  let entered := Z.min many ((n - 1) / apart + 1) in
  check (0 <=? bits)%Z && (bits <=? 4096)%Z && (1 <=? apart)%Z;
  let! square := stretch matrix n entered apart in
  let factor := Qred (square # Z.to_pos (4 ^ bits)) in
  match person with
  | None => check (many =? 1)%Z; Some (Stable q L2Squared (times before factor) rel (Some (1%Z, last)))
  | Some p =>
      check (1 <? many)%Z;
      let! added := each_addition vector p in
      Some (Stable q L2Squared (times added factor) (entering rel entered apart) (Some anyone))
  end.

(* ---------------------------------------------------------------- single ones *)

Definition joint (weight : Q) (person : fact) : option fact :=
  match person with
  | Contribution q RankOne _ high _ rel _ =>
      let reach := times (times high high) weight in
      check below 0 weight;
      Some (Stable q L2Squared
              (if Qle_bool reach two then plus (plus two (times two reach)) (over (times reach reach) two) else times four reach)
              rel None)
  | _ => None
  end.

(** Numbers of which a unit's own data choose the round: one leaves a round's sum, and one enters one's. *)
Definition stream_l1 (person rounds : fact) : option fact :=
  match person, rounds with
  | Contribution q Interval low high _ rel _, Rounds q' n many apart _ =>
      check String.eqb q q' && (1 <? many)%Z && (n <=? apart)%Z;
      let largest := larger (absolute low) (absolute high) in
      Some (Stable q L1 (if replaces rel then times two largest else largest) rel (Some anyone))
  | _, _ => None
  end.

(** The weight and decay of each buffer, over 2^bits. *)
Definition buffers_of (pairs : list (list Z)) (bits : Z) : option (list (Q * Q)) :=
  check (Z.of_nat (length pairs) <=? 64)%Z && (1 <=? bits)%Z && (bits <=? 64)%Z;
  all_some (fun pair => match pair with
    | [w; f] =>
        let one := Z.to_pos (2 ^ bits) in
        check (0 <=? w)%Z && (0 <=? f)%Z && (f <? 2 ^ bits)%Z; Some (Qred (w # one), Qred (f # one))
    | _ => None
    end) pairs.

(** The squared movement of all rounds from the change on, without floors. *)
Definition decaying (before : Q) (found : list (Q * Q)) (later : Z) : expr :=
  fold_left (fun total vf => fold_left (fun total wg =>
    let ratio := times (snd vf) (snd wg) in
    let most := over (times (times before (fst vf)) (fst wg)) (minus 1 ratio) in
    Plus total (Times (Num most) (Minus (Num 1) (Pow (Num ratio) (Z.to_N later))))) found total) found (Num before).

Definition buffered (width : Z) (pairs : list (list Z)) (bits : Z) (step most : Q) (vector rounds : fact) : option fact :=
  let! (q, before, rel, (n, many, _, last)) := untransformed vector rounds in
  check (many =? 1)%Z && (1 <=? width)%Z && below 0 step;
  let! found := buffers_of pairs bits in
  let later := (n - 1)%Z in
  let floors := times step (sum_of (map (fun vf => over 1 (minus 1 (snd vf))) found)) in
  let root := Plus (Root (decaying before found later))
                   (Root (Num (times (times (times floors floors) (of_Z later)) (of_Z width)))) in
  check at_most (Times root root) most;
  Some (Stable q L2Squared most rel (Some (1%Z, last))).

Definition sensitivity (s : step) (found : list fact) : option fact :=
  match s, found with
  | ByLinear bound, [person] => linear bound person
  | ByDifferences, [person] => list_of_moves person
  | ByMoved radius, [rows] => moved radius rows
  | ByCentred, [vector; rounds] => centred vector rounds
  | ByFactorised matrix bits, [vector; rounds] => factorised matrix bits vector rounds None
  | ByFactorised matrix bits, [vector; rounds; person] => factorised matrix bits vector rounds (Some person)
  | ByJoint weight, [person] => joint weight person
  | ByStreamL1, [person; rounds] => stream_l1 person rounds
  | ByBuffered width pairs bits step most, [vector; rounds] => buffered width pairs bits step most vector rounds
  | _, _ => None
  end.
