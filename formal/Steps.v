(** A step of a derivation: its rule and its witness, read; and what rules share when they infer. *)
Require Import QArith ZArith String List Bool.
From DP Require Import Facts.
Import ListNotations.

Inductive step :=
  (* hypotheses *)
  | AssumeView (query : string) (shown : audience) (releases : list string)
  | AssumeBall (query : string) (radius : Q) (rel : relation) (source : origin)
  | AssumeRankOne (query : string) (reward : Q) (corner : bool) (rel : relation) (source : origin)
  | AssumePoints (query : string) (points : list (list Z)) (rel : relation) (source : origin)
  | AssumeClipped (query : string) (low high : Q) (rel : relation) (source : origin)
  | AssumeCell (query : string) (rel : relation) (most : Z)
  | AssumeLipschitz (query : string) (factor slack reach : Q)
  | AssumeCovers (query : string) (covers : list (Z * Z))
  | AssumeTree (query : string) (rounds levels : Z)
  | AssumeRounds (query : string) (rounds : Z) (participations separation : option Z) (ends : option (list Z))
  | AssumeNumbers (query : string) (most : Z)
  | AssumeRange (query : string) (width : Q) (rel : relation)
  | AssumeEach (query : string) (width : Q) (rel : relation)
  | AssumeL1 (query : string) (width : Q) (rel : relation)
  | AssumeChoice (query : string) (parts : list (list string))
  | AssumeSplit (query : string) (cells : list string)
  | AssumePersons (query : string) (rel rows : relation) (most : Z)
  | AssumeRare (query : string) (how : departure) (probability : Q)
  | AssumeFilter (query : string) (law : curve) (rel : relation)
  | AssumeNeighbours (query : string) (set : kind) (left right : list Q) (rel : relation) (seen : observer)
  | AssumeEvent (query : string) (likely rarely : Q) (rel : relation) (seen : observer)
  (* sensitivity *)
  | ByLinear (bound_squared : option Q)
  | ByDifferences
  | ByMoved (radius : option Q)
  | ByCentred
  | ByFactorised (matrix : list (list Z)) (bits : Z)
  | ByJoint (weight : Q)
  | ByStreamL1
  | ByBuffered (width : Z) (pairs : list (list Z)) (bits : Z) (step : Q) (most : Q)
  (* noise *)
  | ByFineGaussian (variance grid : Q) (coordinates : Z) (distance : Q) (key : string)
  | ByLatticeGaussian (variance : Q) (key : string)
  | ByDiscreteGaussian (variance grid : Q) (key : string)
  | ByGaussianNoise (variance : Q) (key : string)
  | ByLaplaceNoise (scale : Q) (grid : option Q) (key : string)
  | ByExponential (rate : Q) (key : string)
  | ByPermuteAndFlip (rate : Q) (key : string)
  | ByKNorm (rate bound grid : Q) (key : string)
  | BySparseVector (threshold scale : Q) (limit : Z) (grid : Q) (key : string)
  | ByFinite (table : list (list Q)) (epsilon : Q) (key : string)
  | ByShuffled (table : list (list Q)) (size : Z) (epsilon delta : Q) (key : string)
  | ByStableHistogram (scale : Q) (threshold : Z) (delta : Q) (key : string)
  (* composition and observers *)
  | ByPostProcess | ByBillboard | ByLocalView | ByNodes | ByLocal | ByCompose | ByParallel | ByMixture | ByPartition
  (* conversions *)
  | ByToApproximate (epsilon delta : Q) (order : option Q)
  | ByToZcdp | ByToPure
  | ByToGdp (mu_squared : Q)
  | ByToNearGdp
  | ByToRenyi (orders : list Q)
  | ByDespite (delta : Q)
  | ByGroup (size : Z) (delta : option Q)
  | ByWithin (radius : Q)
  | ByPersons | ByReplaceOne
  (* refutations *)
  | ByApart (law : told) (scale : Q)
  | ByRefute (epsilon delta : Q).

(* ---------------------------------------------------------------- partial functions *)

Notation "'check' b ; e" := (if b then e else None) (at level 200, b at level 100, e at level 200, right associativity).
Notation "'let!' x := a 'in' b" := (match a with Some x => b | None => None end)
  (at level 200, x pattern, a at level 100, b at level 200).

Fixpoint all_some {A B} (f : A -> option B) (l : list A) : option (list B) :=
  match l with
  | [] => Some []
  | a :: rest => match f a, all_some f rest with Some b, Some bs => Some (b :: bs) | _, _ => None end
  end.

(* ---------------------------------------------------------------- exact numbers, in lowest terms *)

Definition plus (a b : Q) : Q := Qred (a + b).
Definition minus (a b : Q) : Q := Qred (a - b).
Definition times (a b : Q) : Q := Qred (a * b).
Definition over (a b : Q) : Q := Qred (a / b).
Definition of_Z (z : Z) : Q := inject_Z z.
Definition larger (a b : Q) : Q := if Qle_bool a b then b else a.
Definition absolute (a : Q) : Q := Z.abs (Qnum a) # Qden a.
Definition below (a b : Q) : bool := negb (Qle_bool b a).              (* a < b *)
Definition largest (l : list Q) : Q := match l with [] => 0 | a :: rest => fold_left larger rest a end.
Definition sum_of (l : list Q) : Q := fold_left plus l 0.

Definition q_eqb (a b : Q) : bool := Z.eqb (Qnum a) (Qnum b) && Pos.eqb (Qden a) (Qden b).

Fixpoint list_eqb {A} (eqb : A -> A -> bool) (l m : list A) : bool :=
  match l, m with
  | [], [] => true
  | a :: l, b :: m => eqb a b && list_eqb eqb l m
  | _, _ => false
  end.

Fixpoint relation_eqb (a b : relation) : bool :=
  match a, b with
  | ReplaceOne, ReplaceOne | AddRemove, AddRemove => true
  | BoundedRow r, BoundedRow s => q_eqb r s
  | Entering a k b', Entering a' k' b'' => relation_eqb a a' && Z.eqb k k' && Z.eqb b' b''
  | Groups a k, Groups a' k' => relation_eqb a a' && Z.eqb k k'
  | _, _ => false
  end.

Definition observer_eqb (a b : observer) : bool :=
  match a, b with Central, Central | Joint, Joint | Local, Local => true | _, _ => false end.

Definition is_none {A} (a : option A) : bool := match a with None => true | Some _ => false end.

Definition anyone : Z * Z := (1, 2 ^ 63)%Z.

Definition squares (l : list Z) : Z := fold_left (fun s v => s + v * v)%Z l 0%Z.
Definition longest (moves : list (list Z)) : Z := fold_left Z.max (map squares moves) 0%Z.
