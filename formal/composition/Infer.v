(** What several releases give together, and who sees what of them, as the rules infer it. *)
Require Import QArith ZArith String List Bool.
From DP Require Import Facts Steps.
Import ListNotations.

(* ---------------------------------------------------------------- who sees what *)

Definition viewed (part view : fact) (shown : audience -> bool) (needed seen : observer) : option fact :=
  match part, view with
  | Private _ law rel o reads, View q a _ =>
      check observer_eqb o needed && shown a; Some (Private q law rel seen reads)
  | _, _ => None
  end.

Definition is_everyone (a : audience) : bool := match a with Everyone => true | Others => false end.

(* ---------------------------------------------------------------- costs that add up *)

(** The numbers of a curve that grow with its cost. *)
Definition amounts (law : curve) : option (list Q) :=
  match law with
  | Pure e => Some [e]
  | Approximate e d => Some [e; d]
  | Zcdp r => Some [r]
  | Gdp m => Some [m]
  | NearGdp m d => Some [m; d]
  | BoundedRange e => Some [e]
  | Renyi points => Some (map snd points)
  | Lattice _ _ _ => None
  end.

(** A curve of the same measure with other amounts. *)
Definition rebuilt (law : curve) (new : list Q) : option curve :=
  match law, new with
  | Pure _, [e] => Some (Pure e)
  | Approximate _ _, [e; d] => Some (Approximate e d)
  | Zcdp _, [r] => Some (Zcdp r)
  | Gdp _, [m] => Some (Gdp m)
  | NearGdp _ _, [m; d] => Some (NearGdp m d)
  | BoundedRange _, [e] => Some (BoundedRange e)
  | Renyi points, _ => check (length points =? length new)%nat; Some (Renyi (combine (map fst points) new))
  | _, _ => None
  end.

(** Whether two curves are of one measure, at the same orders. *)
Definition alike (a b : curve) : bool :=
  match a, b with
  | Pure _, Pure _ | Approximate _ _, Approximate _ _ | Zcdp _, Zcdp _ | Gdp _, Gdp _
  | NearGdp _ _, NearGdp _ _ | BoundedRange _, BoundedRange _ => true
  | Renyi p, Renyi q => list_eqb q_eqb (map fst p) (map fst q)
  | _, _ => false
  end.

Fixpoint zip_with (f : Q -> Q -> Q) (a b : list Q) : list Q :=
  match a, b with x :: a, y :: b => f x y :: zip_with f a b | _, _ => [] end.

Definition joined (f : Q -> Q -> Q) (a b : curve) : option curve :=
  check alike a b;
  let! x := amounts a in
  let! y := amounts b in
  rebuilt a (zip_with f x y).

Definition hull (a b : interval) : interval :=
  match a, b with
  | None, None => None
  | _, _ =>
    let (f, l) := match a with Some s => s | None => anyone end in
    let (f', l') := match b with Some s => s | None => anyone end in
    Some (Z.min f f', Z.max l l')
  end.

(** Two statements of one measure, relation and observer, put together. *)
Definition both (sign : string) (f : Q -> Q -> Q) (a b : fact) : option fact :=
  match a, b with
  | Private s law rel o reads, Private s' law' rel' o' reads' =>
      check relation_eqb rel rel' && observer_eqb o o';
      let! total := joined f law law' in
      Some (Private (s ++ sign ++ s') total rel o (hull reads reads'))
  | _, _ => None
  end.

Fixpoint together (sign : string) (f : Q -> Q -> Q) (first : fact) (rest : list fact) : option fact :=
  match rest with
  | [] => Some first
  | next :: more => let! so_far := both sign f first next in together sign f so_far more
  end.

Definition has_amounts (part : fact) : bool :=
  match part with Private _ law _ _ _ => negb (is_none (amounts law)) | _ => false end.

Definition is_range (part : fact) : bool := match part with Private _ (BoundedRange _) _ _ _ => true | _ => false end.

Definition combined (sign : string) (f : Q -> Q -> Q) (parts : list fact) : option fact :=
  match parts with
  | [] => None
  | first :: rest => check has_amounts first; together sign f first rest
  end.

Definition compose (parts : list fact) : option fact :=
  check negb (existsb is_range parts); combined " + " plus parts.

Definition reads_of (part : fact) : interval := match part with Private _ _ _ _ reads => reads | _ => None end.

Fixpoint disjoint (spans : list interval) : bool :=
  match spans with
  | [] => true
  | Some (f, l) :: rest =>
      forallb (fun other => match other with Some (f', l') => (l <? f')%Z || (l' <? f)%Z | None => false end) rest && disjoint rest
  | None :: _ => false
  end.

Fixpoint of_groups (rel : relation) : bool :=
  match rel with Groups _ _ => true | Entering of _ _ => of_groups of | _ => false end.

Definition of_one_unit (part : fact) : bool := match part with Private _ _ rel _ _ => negb (of_groups rel) | _ => false end.

Definition parallel (parts : list fact) : option fact :=
  check disjoint (map reads_of parts) && forallb of_one_unit parts; combined " | " larger parts.

(** A departure may read anyone. *)
Definition reads_anyone (part : fact) : bool :=
  match reads_of part with Some s => (fst s =? 1)%Z && (snd s =? 2 ^ 63)%Z | None => false end.

(** No key is in two lists. *)
Fixpoint keys_apart (parts : list (list string)) : bool :=
  match parts with
  | [] => true
  | a :: rest => forallb (fun b => forallb (fun k => negb (existsb (String.eqb k) b)) a) rest && keys_apart rest
  end.

(** A draw that departs in one part, and is shared with another, costs that one too. *)
Definition mixture (choice : fact) (parts : list fact) : option fact :=
  let! whole := combined " or " larger parts in
  match choice, whole with
  | Choice q listed, Private s _ _ _ _ =>
      check String.eqb q s && (negb (existsb reads_anyone parts) || keys_apart listed); Some whole
  | _, _ => None
  end.

(* ---------------------------------------------------------------- one leaf, released many times *)

Definition repeated (law : curve) (most : Z) : option curve :=
  match law with
  | Lattice variance shifts count => Some (Lattice variance shifts (count * most))
  | _ =>
      check (most =? 1)%Z || match law with BoundedRange _ => false | _ => true end;
      let! found := amounts law in
      rebuilt law (map (times (of_Z most)) found)
  end.

Definition nodes (leaf covered : fact) : option fact :=
  match leaf, covered with
  | Private s law rel Central None, Covered q _ most _ units =>
      check String.eqb q s && of_one_unit leaf;
      let! total := repeated law most in
      Some (Private s total rel Central (Some units))
  | _, _ => None
  end.

Definition local (message covered : fact) : option fact :=
  let! whole := nodes message covered in
  match whole, covered with
  | Private s law ReplaceOne _ reads, Covered _ _ _ widest _ =>
      check (widest =? 1)%Z; Some (Private s law ReplaceOne Local reads)
  | _, _ => None
  end.

(* ---------------------------------------------------------------- cells of a partition *)

Definition relation_of (part : fact) : relation := match part with Private _ _ rel _ _ => rel | _ => ReplaceOne end.
Definition subject_of (part : fact) : string := match part with Private s _ _ _ _ => s | _ => "" end.

(** a + b or more, where one may be replaced by a larger one of the list; a ≥ b. *)
Fixpoint two_largest (a b : Q) (l : list Q) : Q :=
  match l with
  | [] => plus a b
  | x :: rest => if below a x then two_largest x a rest else if below b x then two_largest a x rest else two_largest a b rest
  end.

(** The larger and the next largest amounts of several statements. *)
Definition two_dearest (amounts : list Q) : Q :=
  match amounts with
  | [] => 0
  | [x] => x
  | x :: y :: rest => if below x y then two_largest y x rest else two_largest x y rest
  end.

Definition transposed (width : nat) (rows : list (list Q)) : list (list Q) :=
  map (fun k => map (fun row => nth k row 0) rows) (seq 0 width).

Definition law_of_part (part : fact) : option curve := match part with Private _ law _ _ _ => Some law | _ => None end.

Definition same_kind (a b : fact) : bool :=
  match a, b with
  | Private _ law _ o _, Private _ law' _ o' _ => alike law law' && observer_eqb o o'
  | _, _ => false
  end.

Definition partition (split : fact) (cells : list fact) : option fact :=
  match split with
  | Split q names =>
      let n := length names in
      let inside := match Nat.sub (length cells) n with O => [] | m => firstn m cells end in
      let entering := skipn (length inside) cells in
      check match n with O => false | _ => true end && (length entering =? n)%nat
            && match inside with [] => true | _ => (length inside =? n)%nat && list_eqb String.eqb (map subject_of inside) names end
            && list_eqb String.eqb (map subject_of entering) names
            && forallb (fun c => relation_eqb (relation_of c) ReplaceOne) inside
            && forallb (fun c => relation_eqb (relation_of c) AddRemove) entering
            && forallb (fun c => negb (reads_anyone c)) cells;
      match entering with
      | [] => None
      | first :: _ =>
          check negb (is_range first) && forallb (same_kind first) cells
                && match first with Private _ _ _ Central _ => true | _ => false end;
          let! law := law_of_part first in
          check match inside, law with _ :: _, NearGdp _ _ => false | _, _ => true end;      (* the two relations' ideals may differ *)
          let! rows := all_some (fun c => let! l := law_of_part c in amounts l) cells in
          let width := length (hd [] rows) in
          let moving := transposed width (skipn (length inside) rows) in
          let staying := transposed width (firstn (length inside) rows) in
          let worst := match inside with
            | [] => map largest moving
            | _ => zip_with larger (map two_dearest moving) (map largest staying)
            end in
          let! total := rebuilt law worst in
          Some (Private q total (match inside with [] => AddRemove | _ => ReplaceOne end) Central
                  (fold_left hull (map reads_of (tl cells)) (reads_of (hd first cells))))
      end
  | _ => None
  end.

Definition composition (s : step) (found : list fact) : option fact :=
  match s, found with
  | ByPostProcess, [part; view] => viewed part view is_everyone Central Central
  | ByBillboard, [part; view] => viewed part view (fun a => negb (is_everyone a)) Central Joint
  | ByLocalView, [part; view] => viewed part view (fun _ => true) Local Local
  | ByNodes, [leaf; covered] => nodes leaf covered
  | ByLocal, [message; covered] => local message covered
  | ByCompose, parts => compose parts
  | ByParallel, parts => parallel parts
  | ByMixture, choice :: parts => mixture choice parts
  | ByPartition, split :: cells => partition split cells
  | _, _ => None
  end.
