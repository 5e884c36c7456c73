(** What one draw of noise gives, as the rules infer it. *)
Require Import QArith ZArith String List Bool.
From DP Require Import Facts Steps.
From DP.decide Require Import Decide.
From DP.shuffles Require Import Coins.
From DP.sensitivity Require Import Infer.
Import ListNotations.

(** A draw on a query: of its curve, for its relation, reading its units. *)
Definition drawn_on (q : string) (law : curve) (rel : relation) (reads : interval) : option fact :=
  Some (Private q law rel Central reads).

(** μ² of Gaussian noise; symmetric noise has twice the variance on the diagonal. *)
Definition mu_squared (how : norm) (bound variance : Q) : option Q :=
  match how with
  | FrobeniusSquared => Some (over (over bound variance) two)
  | L2Squared => Some (over bound variance)
  | _ => None
  end.

(** coordinates · (.0201643/s² + .01573/s³) ≤ distance, s² = [square] ≥ 1. *)
Definition rounding_at_most (square : Q) (coordinates : Z) (distance : Q) : bool :=
  let rest := minus (times (over distance (of_Z coordinates)) square) (201643 # 10000000) in
  Qle_bool 1 square && below 0 rest
  && Qle_bool (times (1573 # 100000) (1573 # 100000)) (times (times rest rest) square).

Definition column_of (table : list (list Q)) (k : nat) : list Q := map (fun row => nth k row 0) table.

Definition least (l : list Q) : Q := match l with [] => 0 | a :: rest => fold_left (fun a b => if Qle_bool a b then a else b) rest a end.

(** The largest ratio of an outcome's probabilities, if it is possible for all symbols or for none. *)
Definition ratio_of (outcome : list Q) : option Q :=
  let most := largest outcome in
  check below 0 (least outcome) || Qeq_bool most 0;
  Some (if Qeq_bool most 0 then 1 else over most (least outcome)).

Definition is_law (row : list Q) : bool :=
  match row with [] => false | _ => forallb (Qle_bool 0) row && Qeq_bool (sum_of row) 1 end.

Fixpoint symbols (n : nat) (from : Z) : list (list Z) :=
  match n with O => [] | S less => [from] :: symbols less (from + 1) end.

(** A row for each symbol, which is replaced: the largest ratio of an outcome's probabilities. *)
Definition worst_ratio (table : list (list Q)) (points : list (list Z)) (rel : relation) : option Q :=
  let width := length (hd [] table) in
  check list_eqb z_list_eqb points (symbols (length table) 0) && replaces rel
        && forallb (fun row => (length row =? width)%nat) table && forallb is_law table;
  let! ratios := all_some (fun k => ratio_of (column_of table k)) (seq 0 width) in
  Some (largest ratios).

Definition finite (table : list (list Q)) (epsilon : Q) (person : fact) : option fact :=
  match person with
  | Contribution q Points _ _ points rel _ =>
      let! worst := worst_ratio table points rel in
      check (Qeq_bool worst 1 || at_most (Over (Num worst) (Exp (Num epsilon))) 1) && Qle_bool 0 epsilon;
      drawn_on q (Pure epsilon) rel None
  | _ => None
  end.

(** Whether delta covers what [size] answers or more tell, e^epsilon rounded down to [bits]. *)
Definition covered_at (worst : Q) (size : Z) (epsilon delta : Q) (bits : positive) : bool :=
  match fst (enclose bits (Exp (Num epsilon))) with
  | Some low =>
      let one := (2 ^ Zpos bits)%Z in
      let t := Z.max one low in
      let up := Qnum worst in
      let down := Zpos (Qden worst) in
      let others := (size - 1)%Z in
      (up * one <=? t * down)%Z
      || (all_told up down t one (Z.to_nat others) * (up - down) ^ others * Zpos (Qden delta)
          <=? Qnum delta * (up + down) ^ size * one)%Z
  | None => false
  end.

Definition shuffled (table : list (list Q)) (size : Z) (epsilon delta : Q) (person : fact) : option fact :=
  match person with
  | Contribution q Points _ _ points rel _ =>
      let! worst := worst_ratio table points rel in
      check (2 <=? size)%Z && (size <=? 10000)%Z && Qle_bool 0 epsilon && Qle_bool 0 delta && Qle_bool delta 1
            && (Qle_bool worst 1 || existsb (covered_at worst size epsilon delta) [128; 512; 2048]%positive);
      drawn_on q (Approximate epsilon delta) rel None
  | _ => None
  end.

(** How likely a record that is alone in its cells is shown. *)
Definition shown (scale : Q) (threshold : Z) (cells : Q) : expr :=
  let alone := Over (Exp (Num (over (of_Z (1 - threshold)) scale)))
                    (Plus (Num 1) (Exp (Num (over (-1 # 1) scale)))) in
  Minus (Num 1) (Pow (Minus (Num 1) alone) (Z.to_N (floor_of cells))).

Definition stable_histogram (scale : Q) (threshold : Z) (delta : Q) (person : fact) : option fact :=
  match person with
  | Contribution q Cell _ high _ AddRemove _ =>
      check below 0 scale && (2 <=? threshold)%Z && Qle_bool delta 1 && at_most (shown scale threshold high) delta;
      drawn_on q (Approximate (over high scale) delta) AddRemove None
  | _ => None
  end.

Definition noise (s : step) (found : list fact) : option fact :=
  match s, found with
  | ByFineGaussian variance grid coordinates distance _, [Stable q how bound rel reads; Numbers q' most] =>
      let! square := mu_squared how bound variance in
      check below 0 variance && below 0 grid && (1 <=? coordinates)%Z && String.eqb q q' && (most =? coordinates)%Z
            && rounding_at_most (over variance (times grid grid)) coordinates distance;
      drawn_on q (NearGdp square distance) rel reads
  | ByLatticeGaussian variance _, [Shifts q shifts rel] =>
      check below 0 variance; drawn_on q (Lattice variance shifts 1) rel None
  | ByDiscreteGaussian variance grid _, [Stable q how bound rel reads] =>
      let! square := mu_squared how bound variance in
      check below 0 variance && below 0 grid; drawn_on q (Zcdp (over square two)) rel reads
  | ByGaussianNoise variance _, [Stable q how bound rel reads] =>
      let! square := mu_squared how bound variance in
      check below 0 variance; drawn_on q (Gdp square) rel reads
  | ByLaplaceNoise scale grid _, [Stable q L1 bound rel reads] =>
      check below 0 scale && match grid with Some g => below 0 g | None => true end;
      drawn_on q (Pure (over bound scale)) rel reads
  | ByExponential rate _, [Stable q Range bound rel reads] =>
      check below 0 rate; drawn_on q (BoundedRange (times rate bound)) rel reads
  | ByPermuteAndFlip rate _, [Stable q Range bound rel reads] =>
      check below 0 rate; drawn_on q (Pure (times rate bound)) rel reads
  | ByKNorm rate bound grid _, [Stable q L2Squared moved rel None] =>
      check below 0 rate && below 0 grid && Qle_bool 0 bound && Qle_bool moved (times bound bound);
      drawn_on q (Pure (times rate bound)) rel None
  | BySparseVector threshold scale limit grid _, [Stable q EachNumber bound rel reads] =>
      check below 0 threshold && below 0 scale && below 0 grid && (1 <=? limit)%Z;
      drawn_on q (Pure (times bound (plus (over 1 threshold) (over (times two (of_Z limit)) scale)))) rel reads
  | ByFinite table epsilon _, [person] => finite table epsilon person
  | ByShuffled table size epsilon delta _, [person] => shuffled table size epsilon delta person
  | ByStableHistogram scale threshold delta _, [person] => stable_histogram scale threshold delta person
  | _, _ => None
  end.

(** The key of a draw and its law, but for bounds on the query. *)
Definition law_of (s : step) (query : fact) : option (string * noise_law) :=
  let symmetric := match query with Stable _ FrobeniusSquared _ _ _ => true | _ => false end in
  match s with
  | ByFineGaussian variance grid coordinates _ key => Some (key, FineNormal variance grid coordinates symmetric)
  | ByLatticeGaussian variance key => Some (key, LatticeNormal variance)
  | ByDiscreteGaussian variance grid key => Some (key, DiscreteNormal variance grid symmetric)
  | ByGaussianNoise variance key => Some (key, NormalNoise variance symmetric)
  | ByLaplaceNoise scale grid key => Some (key, LaplaceNoise scale grid)
  | ByExponential rate key => Some (key, ExponentialChoice rate)
  | ByPermuteAndFlip rate key => Some (key, FlippedChoice rate)
  | ByKNorm rate _ grid key => Some (key, LengthNoise rate grid)
  | BySparseVector threshold scale limit grid key => Some (key, SparseAnswers threshold scale limit grid)
  | ByFinite table _ key => Some (key, TableAnswer table)
  | ByShuffled table size _ delta key => Some (key, ShuffledAnswers table size delta)
  | ByStableHistogram scale threshold delta key => Some (key, CellsShown scale threshold delta)
  | _ => None
  end.
