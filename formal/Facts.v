(** What derivations say: the judgements of dpaccount/proof/judgements.py, with exact numbers. *)
Require Import QArith ZArith String List.
Import ListNotations.

Inductive relation :=
  | ReplaceOne                                     (* "replace-one" *)
  | AddRemove                                      (* "add-remove" *)
  | BoundedRow (radius : Q)                        (* "bounded-row, radius r" *)
  | Entering (of : relation) (times apart : Z)     (* "…, k rounds b apart" *)
  | Groups (of : relation) (size : Z).             (* "…, groups of k" *)

Inductive observer := Central | Joint | Local.
Inductive audience := Everyone | Others.
Inductive origin := Public | Coin | DpOutput.      (* who chose the constants of a contribution *)
Inductive kind := Interval | Ball | Cell | RankOne | Outer | Points.
Inductive norm := L1 | Range | EachNumber | L2Squared | FrobeniusSquared.
Inductive departure := Event | Distance.
Inductive told := ByNumber | ByVector | BySymmetric | ByGaussian | ByLaplace | ByEvent.

Inductive curve :=
  | Pure (epsilon : Q)
  | Approximate (epsilon delta : Q)
  | Zcdp (rho : Q)
  | Gdp (mu_squared : Q)
  | NearGdp (mu_squared distance : Q)
  | BoundedRange (eta : Q)
  | Lattice (variance : Q) (shifts : list (list Z)) (times : Z)
  | Renyi (points : list (Q * Q)).

Definition interval := option (Z * Z).             (* None: of any over which it is drawn *)

Inductive fact :=
  | Private (subject : string) (law : curve) (rel : relation) (seen : observer) (reads : interval)
  | View (query : string) (shown : audience) (releases : list string)
  | Contribution (query : string) (set : kind) (low high : Q) (points : list (list Z)) (rel : relation)
                 (source : origin)
  | Stable (query : string) (how : norm) (bound : Q) (rel : relation) (reads : interval)
  | Lipschitz (query : string) (factor slack reach : Q)
  | Shifts (query : string) (shifts : list (list Z)) (rel : relation)
  | Covered (query : string) (releases most widest : Z) (units : Z * Z)
  | Rounds (query : string) (rounds times apart last : Z)
  | Numbers (query : string) (most : Z)
  | Choice (query : string) (parts : list (list string))
  | Split (query : string) (cells : list string)
  | Persons (query : string) (rel rows : relation) (most : Z)
  | Rare (query : string) (how : departure) (probability : Q)
  | Apart (query : string) (law : told) (numbers : list Q) (rel : relation) (seen : observer)
  | Refuted (subject : string) (epsilon delta : Q) (rel : relation) (seen : observer).

(** A public transformation of a query before its noise, with all that it depends on. *)
Inductive change :=
  | Stacked (weight : Q)                                                      (* `joint` *)
  | Centred (rounds times apart last : Z)
  | Factorised (matrix : list (list Z)) (bits : Z) (rounds times apart last : Z)
  | Buffered (width : Z) (pairs : list (list Z)) (bits : Z) (step : Q) (rounds times apart last : Z).

(** A law of noise: all numbers of its rule but bounds on the query. [symmetric]: on a symmetric matrix. *)
Inductive noise_law :=
  | FineNormal (variance grid : Q) (coordinates : Z) (symmetric : bool)
  | LatticeNormal (variance : Q)
  | DiscreteNormal (variance grid : Q) (symmetric : bool)
  | NormalNoise (variance : Q) (symmetric : bool)
  | LaplaceNoise (scale : Q) (grid : option Q)
  | ExponentialChoice (rate : Q)
  | FlippedChoice (rate : Q)
  | LengthNoise (rate grid : Q)
  | SparseAnswers (threshold scale : Q) (limit : Z) (grid : Q)
  | TableAnswer (table : list (list Q))
  | CellsShown (scale : Q) (threshold : Z) (delta : Q)
  | ShuffledAnswers (table : list (list Q)) (size : Z) (delta : Q)
  | FilterCharges.                                                            (* no noise of its own *)

(** Over what a query is released: once, or over covers as a hypothesis lists them. *)
Inductive spread :=
  | Once
  | Covers (query : string) (covers : list (Z * Z))
  | Tree (query : string) (rounds levels : Z).

(** On what a key is drawn, and how. *)
Record place := Place { query : string; made : list change; how : noise_law; over : spread }.

Definition draws := list (string * place).

(** A line of a derivation: what it says, and what the checker keeps of how it came about. *)
Record line := Line {
  says : fact;
  drawn : draws;                 (* the keys of all noise that it rests on, each with its place *)
  changes : list change;         (* of a query: how it was transformed *)
  covers_of : spread;            (* of covers: which *)
  departed : list string;        (* keys of noise whose departures are counted in *)
  of_persons : bool;             (* neighbours are tables of persons, not of rows *)
  views : list string            (* what is shown as it is here, beside the releases themselves *)
}.
