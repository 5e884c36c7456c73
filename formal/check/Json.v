(** Derivations as JSON: how witnesses are read, and how what is inferred is written. *)
Require Import QArith ZArith String List Bool Ascii.
From DP Require Import Facts Steps.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope string_scope.

Inductive json :=
  | Null
  | Bool (b : bool)
  | Int (z : Z)
  | Float (text : string)
  | Text (s : string)
  | Array (l : list json)
  | Object (l : list (string * json)).

(* ---------------------------------------------------------------- numbers *)

Definition digit (c : ascii) : option Z :=
  let n := Z.of_N (N_of_ascii c) in if (48 <=? n)%Z && (n <=? 57)%Z then Some (n - 48)%Z else None.

Fixpoint digits (s : string) (so_far : Z) : option Z :=
  match s with
  | EmptyString => Some so_far
  | String c rest => let! d := digit c in digits rest (so_far * 10 + d)%Z
  end.

(** A whole number as it is written: no sign, no zero in front. *)
Definition natural_of (s : string) : option Z :=
  match s with
  | EmptyString => None
  | String c rest => check negb (Ascii.eqb c "0" && negb (rest =? "")); digits s 0
  end.

Fixpoint split_at_slash (s : string) : string * option string :=
  match s with
  | EmptyString => (EmptyString, None)
  | String c rest =>
      if Ascii.eqb c "/" then (EmptyString, Some rest) else let (a, b) := split_at_slash rest in (String c a, b)
  end.

(** An exact number: an integer, or p/q in lowest terms. *)
Definition number_of (s : string) : option Q :=
  let (negative, body) := match s with
    | String c rest => if Ascii.eqb c "-" then (true, rest) else (false, s)
    | EmptyString => (false, s)
    end in
  let (top, bottom) := split_at_slash body in
  check (String.length s <=? 1000)%nat;
  let! n := natural_of top in
  check negb (negative && (n =? 0)%Z);
  let n := if negative then (- n)%Z else n in
  match bottom with
  | None => Some (n # 1)
  | Some b =>
      let! d := natural_of b in
      check (1 <? d)%Z && (Z.gcd n d =? 1)%Z; Some (n # Z.to_pos d)
  end.

Fixpoint print_digits (fuel : nat) (n : Z) (after : string) : string :=
  match fuel with
  | O => after
  | S less =>
    let (q, r) := Z.div_eucl n 10 in
    let s := String (ascii_of_N (Z.to_N (48 + r))) after in
    if (q =? 0)%Z then s else print_digits less q s
  end.

Definition print_Z (z : Z) : string :=
  let s := print_digits (S (Z.to_nat (Z.log2 (Z.abs z)))) (Z.abs z) "" in
  if (z <? 0)%Z then "-" ++ s else s.

Definition print_Q (q : Q) : string :=
  match Qden q with 1%positive => print_Z (Qnum q) | d => print_Z (Qnum q) ++ "/" ++ print_Z (Zpos d) end.

(* ---------------------------------------------------------------- members *)

Fixpoint member (name : string) (l : list (string * json)) : option json :=
  match l with [] => None | (n, v) :: rest => if String.eqb name n then Some v else member name rest end.

(** A witness has these members and, of others, only optional ones. *)
Definition has_members (given : list (string * json)) (needed optional : list string) : bool :=
  forallb (fun n => negb (is_none (member n given))) needed
  && forallb (fun nv => existsb (String.eqb (fst nv)) (needed ++ optional)%list) given.

Definition text (j : json) : option string := match j with Text s => Some s | _ => None end.
Definition number (j : json) : option Q := match j with Text s => number_of s | _ => None end.
Definition whole (least : Z) (j : json) : option Z :=
  match j with Int z => check (least <=? z)%Z && (Z.abs z <? 2 ^ 256)%Z; Some z | _ => None end.
Definition unit (j : json) : option Z := let! z := whole 1 j in check (z <? 2 ^ 63)%Z; Some z.
Definition any_integer (j : json) : option Z := match j with Int z => Some z | _ => None end.
Definition list_of {A} (read : json -> option A) (j : json) : option (list A) :=
  match j with Array l => all_some read l | _ => None end.

Definition maybe {A} (read : json -> option A) (name : string) (given : list (string * json)) : option (option A) :=
  match member name given with
  | None => Some None
  | Some j => let! a := read j in Some (Some a)
  end.

Definition simple (j : json) : option relation :=
  match j with Text s => if s =? "replace-one" then Some ReplaceOne else if s =? "add-remove" then Some AddRemove else None | _ => None end.

Fixpoint without_prefix (prefix s : string) : option string :=
  match prefix, s with
  | EmptyString, _ => Some s
  | String a p, String b s => if Ascii.eqb a b then without_prefix p s else None
  | _, _ => None
  end.

Definition neighbouring (j : json) : option relation :=
  match j with
  | Text s => match without_prefix "bounded-row, radius " s with
              | Some r => let! q := number_of r in check below 0 q; Some (BoundedRow q)
              | None => simple j
              end
  | _ => None
  end.

Definition source (j : json) : option origin :=
  match j with Text s => if s =? "coin" then Some Coin else if s =? "dp-output" then Some DpOutput else None | _ => None end.
Definition source_in (given : list (string * json)) : option origin :=
  let! s := maybe source "source" given in Some (match s with Some o => o | None => Public end).

Definition observer_of (j : json) : option observer :=
  match j with Text s => if s =? "central" then Some Central else if s =? "joint" then Some Joint else if s =? "local" then Some Local else None | _ => None end.

Fixpoint ascending (l : list string) : bool :=
  match l with
  | a :: rest => match rest with b :: _ => text_leb a b && negb (String.eqb a b) && ascending rest | [] => true end
  | [] => true
  end.

Definition sorted_names (j : json) : option (list string) := let! l := list_of text j in check ascending l; Some l.

Fixpoint points_ascend (l : list (list Z)) : bool :=
  match l with
  | a :: rest => match rest with
                 | b :: _ => DP.sensitivity.Infer.listed_before a b && negb (DP.sensitivity.Infer.z_list_eqb a b) && points_ascend rest
                 | [] => true
                 end
  | [] => true
  end.

Definition integer_points (j : json) : option (list (list Z)) :=
  let! l := list_of (list_of any_integer) j in
  let n := match l with a :: _ => length a | [] => O end in
  check (1 <=? n)%nat && (n <=? 64)%nat && (length l <=? 256)%nat
        && forallb (fun p => (length p =? n)%nat && forallb (fun v => Z.abs v <? 2 ^ 64)%Z p) l && points_ascend l;
  Some l.

Definition span (j : json) : option (Z * Z) :=
  match j with Array [a; b] => let! f := unit a in let! l := unit b in Some (f, l) | _ => None end.

Definition short_number (j : json) : option Q :=
  match j with Text s => check (String.length s <=? 200)%nat; number_of s | _ => None end.

(* ---------------------------------------------------------------- steps *)

Section Read.
  Variable given : list (string * json).
  Let get {A} (read : json -> option A) (name : string) : option A := let! j := member name given in read j.

  Definition hypothesis_members (names optional : list string) : bool :=
    has_members given ("query" :: "because" :: names) optional.

  Definition read_hypothesis (rule : string) : option step :=
    let! q := get text "query" in
    if rule =? "assume_view" then
      check hypothesis_members ["audience"; "releases"] [];
      let! a := get (fun j => match j with Text s => if s =? "everyone" then Some Everyone else if s =? "others" then Some Others else None | _ => None end) "audience" in
      let! r := get sorted_names "releases" in Some (AssumeView q a r)
    else if rule =? "assume_ball" then
      check hypothesis_members ["radius"; "relation"] ["source"];
      let! r := get number "radius" in let! rel := get simple "relation" in let! s := source_in given in
      Some (AssumeBall q r rel s)
    else if rule =? "assume_rank_one" then
      check hypothesis_members ["reward"; "kind"; "relation"] ["source"];
      let! r := get number "reward" in let! rel := get simple "relation" in let! s := source_in given in
      let! c := get (fun j => match j with Text s => if s =? "rank-one" then Some false else if s =? "outer" then Some true else None | _ => None end) "kind" in
      Some (AssumeRankOne q r c rel s)
    else if rule =? "assume_points" then
      check hypothesis_members ["points"; "relation"] ["source"];
      let! p := get integer_points "points" in let! rel := get simple "relation" in let! s := source_in given in
      Some (AssumePoints q p rel s)
    else if rule =? "assume_clipped" then
      check hypothesis_members ["low"; "high"; "relation"] ["source"];
      let! a := get number "low" in let! b := get number "high" in let! rel := get simple "relation" in
      let! s := source_in given in Some (AssumeClipped q a b rel s)
    else if rule =? "assume_cell" then
      check hypothesis_members ["relation"] ["most"];
      let! rel := get simple "relation" in let! m := maybe (whole 2) "most" given in
      Some (AssumeCell q rel (match m with Some k => k | None => 1%Z end))
    else if rule =? "assume_lipschitz" then
      check hypothesis_members ["factor"; "slack"; "reach"] [];
      let! f := get number "factor" in let! s := get number "slack" in let! r := get number "reach" in
      Some (AssumeLipschitz q f s r)
    else if rule =? "assume_covers" then
      check hypothesis_members ["covers"] []; let! c := get (list_of span) "covers" in Some (AssumeCovers q c)
    else if rule =? "assume_tree" then
      check hypothesis_members ["rounds"; "levels"] [];
      let! n := get unit "rounds" in let! l := get (whole 1) "levels" in Some (AssumeTree q n l)
    else if rule =? "assume_rounds" then
      check hypothesis_members ["rounds"] ["participations"; "separation"; "ends"];
      let! n := get unit "rounds" in let! k := maybe (whole 1) "participations" given in
      let! b := maybe (whole 1) "separation" given in let! e := maybe (list_of unit) "ends" given in
      Some (AssumeRounds q n k b e)
    else if rule =? "assume_numbers" then
      check hypothesis_members ["most"] []; let! m := get (whole 1) "most" in Some (AssumeNumbers q m)
    else if (rule =? "assume_range") || (rule =? "assume_each") then
      check hypothesis_members ["width"; "relation"] [];
      let! w := get number "width" in let! rel := get simple "relation" in
      Some (if rule =? "assume_range" then AssumeRange q w rel else AssumeEach q w rel)
    else if rule =? "assume_l1" then
      check hypothesis_members ["width"; "relation"] [];
      let! w := get number "width" in let! rel := get simple "relation" in Some (AssumeL1 q w rel)
    else if rule =? "assume_choice" then
      check hypothesis_members ["parts"] []; let! p := get (list_of sorted_names) "parts" in Some (AssumeChoice q p)
    else if rule =? "assume_split" then
      check hypothesis_members ["cells"] []; let! c := get (list_of text) "cells" in Some (AssumeSplit q c)
    else if rule =? "assume_persons" then
      check hypothesis_members ["relation"; "rows"; "most"] [];
      let! rel := get simple "relation" in let! rows := get simple "rows" in let! m := get (whole 2) "most" in
      Some (AssumePersons q rel rows m)
    else if rule =? "assume_rare" then
      check hypothesis_members ["kind"; "probability"] [];
      let! k := get (fun j => match j with Text s => if s =? "event" then Some Event else if s =? "distance" then Some Distance else None | _ => None end) "kind" in
      let! p := get number "probability" in Some (AssumeRare q k p)
    else if rule =? "assume_filter" then
      check hypothesis_members ["measure"; "budget"; "relation"] [];
      let! m := get text "measure" in let! b := get (list_of number) "budget" in let! rel := get simple "relation" in
      let! law := match b with
        | [a] => if m =? "pure" then Some (Pure a) else if m =? "zcdp" then Some (Zcdp a) else if m =? "gdp" then Some (Gdp a) else None
        | [a; d] => if m =? "approximate" then Some (Approximate a d) else None
        | _ => None
        end in
      Some (AssumeFilter q law rel)
    else if rule =? "assume_neighbours" then
      check hypothesis_members ["kind"; "left"; "right"; "relation"; "observer"] [];
      let! k := get (fun j => match j with Text s => if s =? "vector" then Some Ball else if s =? "rank-one" then Some RankOne else if s =? "outer" then Some Outer else None | _ => None end) "kind" in
      let! v := get (list_of number) "left" in let! w := get (list_of number) "right" in
      let! rel := get simple "relation" in let! o := get observer_of "observer" in
      Some (AssumeNeighbours q k v w rel o)
    else if rule =? "assume_event" then
      check hypothesis_members ["likely"; "rarely"; "relation"; "observer"] [];
      let! a := get number "likely" in let! b := get number "rarely" in
      let! rel := get neighbouring "relation" in let! o := get observer_of "observer" in
      Some (AssumeEvent q a b rel o)
    else None.

  Definition of_members (needed optional : list string) (s : option step) : option step :=
    check has_members given needed optional; s.

  Definition read_step (rule : string) : option step :=
    if (String.prefix "assume_" rule) then read_hypothesis rule
    else if rule =? "linear" then of_members [] ["bound_squared"] (let! b := maybe number "bound_squared" given in Some (ByLinear b))
    else if rule =? "differences" then of_members [] [] (Some ByDifferences)
    else if rule =? "moved" then of_members [] ["radius"] (let! r := maybe number "radius" given in Some (ByMoved r))
    else if rule =? "centred" then of_members [] [] (Some ByCentred)
    else if rule =? "factorised" then of_members ["matrix"; "bits"] []
      (let! m := get (list_of (list_of any_integer)) "matrix" in let! b := get (whole 0) "bits" in Some (ByFactorised m b))
    else if rule =? "joint" then of_members ["weight"] [] (let! w := get number "weight" in Some (ByJoint w))
    else if rule =? "stream_l1" then of_members [] [] (Some ByStreamL1)
    else if rule =? "buffered" then of_members ["width"; "pairs"; "bits"; "step"; "most"] []
      (let! w := get unit "width" in let! p := get (list_of (list_of (whole 0))) "pairs" in let! b := get (whole 1) "bits" in
       let! s := get number "step" in let! m := get number "most" in Some (ByBuffered w p b s m))
    else if rule =? "fine_gaussian" then of_members ["variance"; "grid"; "coordinates"; "distance"; "key"] []
      (let! v := get number "variance" in let! g := get number "grid" in let! c := get (whole 1) "coordinates" in
       let! d := get number "distance" in let! k := get text "key" in Some (ByFineGaussian v g c d k))
    else if rule =? "lattice_gaussian" then of_members ["variance"; "key"] []
      (let! v := get number "variance" in let! k := get text "key" in Some (ByLatticeGaussian v k))
    else if rule =? "discrete_gaussian" then of_members ["variance"; "grid"; "key"] []
      (let! v := get number "variance" in let! g := get number "grid" in let! k := get text "key" in Some (ByDiscreteGaussian v g k))
    else if rule =? "gaussian" then of_members ["variance"; "key"] []
      (let! v := get number "variance" in let! k := get text "key" in Some (ByGaussianNoise v k))
    else if rule =? "laplace" then of_members ["scale"; "key"] ["grid"]
      (let! s := get number "scale" in let! g := maybe number "grid" given in let! k := get text "key" in Some (ByLaplaceNoise s g k))
    else if rule =? "exponential" then of_members ["rate"; "key"] []
      (let! r := get number "rate" in let! k := get text "key" in Some (ByExponential r k))
    else if rule =? "permute_and_flip" then of_members ["rate"; "key"] []
      (let! r := get number "rate" in let! k := get text "key" in Some (ByPermuteAndFlip r k))
    else if rule =? "k_norm" then of_members ["rate"; "bound"; "grid"; "key"] []
      (let! r := get number "rate" in let! b := get number "bound" in let! g := get number "grid" in let! k := get text "key" in
       Some (ByKNorm r b g k))
    else if rule =? "sparse_vector" then of_members ["threshold"; "scale"; "limit"; "grid"; "key"] []
      (let! t := get number "threshold" in let! s := get number "scale" in let! l := get (whole 1) "limit" in
       let! g := get number "grid" in let! k := get text "key" in Some (BySparseVector t s l g k))
    else if rule =? "finite" then of_members ["table"; "epsilon"; "key"] []
      (let! t := get (list_of (list_of short_number)) "table" in let! e := get number "epsilon" in let! k := get text "key" in
       Some (ByFinite t e k))
    else if rule =? "shuffled" then of_members ["table"; "size"; "epsilon"; "delta"; "key"] []
      (let! t := get (list_of (list_of short_number)) "table" in let! n := get (whole 2) "size" in
       let! e := get number "epsilon" in let! d := get number "delta" in let! k := get text "key" in Some (ByShuffled t n e d k))
    else if rule =? "stable_histogram" then of_members ["scale"; "threshold"; "delta"; "key"] []
      (let! s := get number "scale" in let! t := get (whole 2) "threshold" in let! d := get number "delta" in let! k := get text "key" in
       Some (ByStableHistogram s t d k))
    else if rule =? "post_process" then of_members [] [] (Some ByPostProcess)
    else if rule =? "billboard" then of_members [] [] (Some ByBillboard)
    else if rule =? "local_view" then of_members [] [] (Some ByLocalView)
    else if rule =? "nodes" then of_members [] [] (Some ByNodes)
    else if rule =? "local" then of_members [] [] (Some ByLocal)
    else if rule =? "compose" then of_members [] [] (Some ByCompose)
    else if rule =? "parallel" then of_members [] [] (Some ByParallel)
    else if rule =? "mixture" then of_members [] [] (Some ByMixture)
    else if rule =? "partition" then of_members [] [] (Some ByPartition)
    else if rule =? "to_approximate" then of_members ["epsilon"; "delta"] ["order"]
      (let! e := get number "epsilon" in let! d := get number "delta" in let! a := maybe number "order" given in
       Some (ByToApproximate e d a))
    else if rule =? "to_zcdp" then of_members [] [] (Some ByToZcdp)
    else if rule =? "to_pure" then of_members [] [] (Some ByToPure)
    else if rule =? "to_gdp" then of_members ["mu_squared"] [] (let! m := get number "mu_squared" in Some (ByToGdp m))
    else if rule =? "to_near_gdp" then of_members [] [] (Some ByToNearGdp)
    else if rule =? "to_renyi" then of_members ["orders"] [] (let! o := get (list_of number) "orders" in Some (ByToRenyi o))
    else if rule =? "despite" then of_members ["delta"] [] (let! d := get number "delta" in Some (ByDespite d))
    else if rule =? "group" then of_members ["size"] ["delta"]
      (let! k := get (whole 2) "size" in let! d := maybe number "delta" given in Some (ByGroup k d))
    else if rule =? "within" then of_members ["radius"] [] (let! r := get number "radius" in Some (ByWithin r))
    else if rule =? "persons" then of_members [] [] (Some ByPersons)
    else if rule =? "replace_one" then of_members [] [] (Some ByReplaceOne)
    else if rule =? "apart" then of_members ["law"; "scale"] []
      (let! l := get (fun j => match j with Text s => if s =? "gaussian" then Some ByGaussian else if s =? "laplace" then Some ByLaplace else None | _ => None end) "law" in
       let! s := get number "scale" in Some (ByApart l s))
    else if rule =? "refute" then of_members ["epsilon"; "delta"] []
      (let! e := get number "epsilon" in let! d := get number "delta" in Some (ByRefute e d))
    else None.
End Read.

(* ---------------------------------------------------------------- facts *)

Fixpoint relation_text (rel : relation) : string :=
  match rel with
  | ReplaceOne => "replace-one"
  | AddRemove => "add-remove"
  | BoundedRow r => "bounded-row, radius " ++ print_Q r
  | Entering of k b => relation_text of ++ ", " ++ print_Z k ++ " rounds " ++ print_Z b ++ " apart"
  | Groups of k => relation_text of ++ ", groups of " ++ print_Z k
  end.

Definition q_text (q : Q) : json := Text (print_Q q).
Definition rel_text (r : relation) : json := Text (relation_text r).
Definition seen_text (o : observer) : json := Text (match o with Central => "central" | Joint => "joint" | Local => "local" end).
Definition ints (l : list Z) : json := Array (map Int l).
Definition texts (l : list string) : json := Array (map Text l).
Definition span_text (s : Z * Z) : json := Array [Int (fst s); Int (snd s)].
Definition reads_text (i : interval) : json := match i with None => Null | Some s => span_text s end.

Definition law_text (law : curve) : json := Array
  match law with
  | Pure e => [Text "pure"; q_text e]
  | Approximate e d => [Text "approximate"; q_text e; q_text d]
  | Zcdp r => [Text "zcdp"; q_text r]
  | Gdp m => [Text "gdp"; q_text m]
  | NearGdp m d => [Text "near-gdp"; q_text m; q_text d]
  | BoundedRange e => [Text "bounded-range"; q_text e]
  | Lattice v shifts k => [Text "lattice"; q_text v; Array (map ints shifts); Int k]
  | Renyi points => Text "renyi" :: map (fun p => Array [q_text (fst p); q_text (snd p)]) points
  end.

Definition wire (f : fact) : json := Array
  match f with
  | Private s law rel o reads => [Text "Private"; Text s; law_text law; rel_text rel; seen_text o; reads_text reads]
  | View q a releases => [Text "View"; Text q; Text (match a with Everyone => "everyone" | Others => "others" end); texts releases]
  | Contribution q set low high points rel from =>
      [Text "Contribution"; Text q;
       Text (match set with Interval => "interval" | Ball => "ball" | Cell => "cell" | RankOne => "rank-one" | Outer => "outer" | Points => "points" end);
       q_text low; q_text high; Array (map ints points); rel_text rel;
       Text (match from with Public => "public" | Coin => "coin" | DpOutput => "dp-output" end)]
  | Stable q how bound rel reads =>
      [Text "Stable"; Text q;
       Text (match how with L1 => "l1" | Range => "range" | EachNumber => "each" | L2Squared => "l2-squared" | FrobeniusSquared => "frobenius-squared" end);
       q_text bound; rel_text rel; reads_text reads]
  | Lipschitz q f s r => [Text "Lipschitz"; Text q; q_text f; q_text s; q_text r]
  | Shifts q shifts rel => [Text "Shifts"; Text q; Array (map ints shifts); rel_text rel]
  | Covered q n most widest units => [Text "Covered"; Text q; Int n; Int most; Int widest; span_text units]
  | Rounds q n k b last => [Text "Rounds"; Text q; Int n; Int k; Int b; Int last]
  | Numbers q most => [Text "Numbers"; Text q; Int most]
  | Choice q parts => [Text "Choice"; Text q; Array (map texts parts)]
  | Split q cells => [Text "Split"; Text q; texts cells]
  | Persons q rel rows most => [Text "Persons"; Text q; rel_text rel; rel_text rows; Int most]
  | Rare q how p => [Text "Rare"; Text q; Text (match how with Event => "event" | Distance => "distance" end); q_text p]
  | Apart q law numbers rel o =>
      [Text "Apart"; Text q;
       Text (match law with ByNumber => "number" | ByVector => "vector" | BySymmetric => "symmetric" | ByGaussian => "gaussian" | ByLaplace => "laplace" | ByEvent => "event" end);
       Array (map q_text numbers); rel_text rel; seen_text o]
  | Refuted s e d rel o => [Text "Refuted"; Text s; q_text e; q_text d; rel_text rel; seen_text o]
  end.

Fixpoint json_eqb (a b : json) : bool :=
  match a, b with
  | Null, Null => true
  | Bool x, Bool y => Bool.eqb x y
  | Int x, Int y => Z.eqb x y
  | Float x, Float y => String.eqb x y
  | Text x, Text y => String.eqb x y
  | Array l, Array m =>
      (fix eq (l m : list json) := match l, m with
         | [], [] => true | x :: l, y :: m => json_eqb x y && eq l m | _, _ => false end) l m
  | Object l, Object m =>
      (fix eq (l m : list (string * json)) := match l, m with
         | [], [] => true | (k, x) :: l, (k', y) :: m => String.eqb k k' && json_eqb x y && eq l m | _, _ => false end) l m
  | _, _ => false
  end.

(* ---------------------------------------------------------------- what is too long to be read or written *)

Fixpoint characters (s : string) : Z :=
  match s with
  | EmptyString => 0
  | String c rest => (if (N.land (N_of_ascii c) 192 =? 128)%N then 0 else 1) + characters rest
  end%Z.

Definition numbers_in_law (law : curve) : list Q :=
  match law with
  | Pure a | Zcdp a | Gdp a | BoundedRange a => [a]
  | Approximate a b | NearGdp a b => [a; b]
  | Lattice v _ _ => [v]
  | Renyi points => (map fst points ++ map snd points)%list
  end.

Definition numbers_in (f : fact) : list Q :=
  match f with
  | Private _ law _ _ _ => numbers_in_law law
  | Contribution _ _ a b _ _ _ => [a; b]
  | Stable _ _ a _ _ | Rare _ _ a => [a]
  | Lipschitz _ a b c => [a; b; c]
  | Apart _ _ l _ _ => l
  | Refuted _ a b _ _ => [a; b]
  | _ => []
  end.

(** At most so many characters, counted generously by powers of ten. *)
Definition printed_within (most : Z) (q : Q) : bool :=
  if (Z.log2 (Z.abs (Qnum q)) + Z.log2 (Zpos (Qden q)) <? 3 * most)%Z then true
  else (Z.of_nat (String.length (print_Q q)) <=? most)%Z.

Definition named_within (s : step) (found : list line) (gives : fact) : bool :=
  match s with
  | ByCompose | ByParallel | ByMixture =>
      (fold_left Z.add (map (fun l => match says l with Private n _ _ _ _ => characters n | _ => 0%Z end) found) 0 <=? 10000)%Z
  | AssumeFilter q _ _ => (characters q <=? 10000)%Z
  | _ => match DP.noise.Infer.law_of s gives with Some (key, _) => (characters key <=? 200)%Z | None => true end
  end.

(* ---------------------------------------------------------------- documents *)

(** A step as it stands in a document. *)
Record entry := Entry { rule : string; witness : list (string * json); before : list Z; gives : json }.

(** The line that an entry stands for, if all that it claims follows. *)
Definition checked (e : entry) (lines : list line) (size : Z) : option (step * line) :=
  check (Z.of_nat (length (before e)) <=? 5000)%Z && forallb (fun k => (0 <=? k)%Z && (k <? size)%Z) (before e);
  let! s := read_step (witness e) (rule e) in
  let! found := all_some (nth_line lines size) (before e) in
  let! next := follow s found in
  check named_within s found (says next) && forallb (printed_within 1000) (numbers_in (says next))
    && json_eqb (wire (says next)) (gives e);
  Some (s, next).

(** All lines, the latest first, with their steps; or the number of the first entry that fails. *)
Fixpoint check_entries (entries : list entry) (size : Z) (steps : list (step * list Z)) (lines : list line)
    : (list (step * list Z) * list line) + Z :=
  match entries with
  | [] => inl (rev steps, lines)
  | e :: rest =>
    match checked e lines size with
    | Some (s, next) => check_entries rest (size + 1) ((s, before e) :: steps) (next :: lines)
    | None => inr size
    end
  end.

Definition check_document (entries : list entry) : (list (step * list Z) * list line) + Z :=
  if (Z.of_nat (length entries) <=? 300)%Z && match entries with [] => false | _ => true end
  then check_entries entries 0 [] [] else inr (-1)%Z.
