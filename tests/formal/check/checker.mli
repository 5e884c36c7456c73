
val negb : bool -> bool

type nat =
| O
| S of nat

type ('a, 'b) sum =
| Inl of 'a
| Inr of 'b

val fst : ('a1 * 'a2) -> 'a1

val snd : ('a1 * 'a2) -> 'a2

val length : 'a1 list -> nat

val app : 'a1 list -> 'a1 list -> 'a1 list

type comparison =
| Eq
| Lt
| Gt

val pred : nat -> nat

val add : nat -> nat -> nat

val mul : nat -> nat -> nat

val sub : nat -> nat -> nat

val eqb : bool -> bool -> bool

module type TotalLeBool' =
 sig
  type t

  val leb : t -> t -> bool
 end

module Nat :
 sig
  val sub : nat -> nat -> nat

  val eqb : nat -> nat -> bool

  val leb : nat -> nat -> bool

  val ltb : nat -> nat -> bool

  val max : nat -> nat -> nat

  val min : nat -> nat -> nat

  val divmod : nat -> nat -> nat -> nat -> nat * nat

  val div : nat -> nat -> nat

  val div2 : nat -> nat
 end

module Pos :
 sig
  type mask =
  | IsNul
  | IsPos of Whole.t
  | IsNeg
 end

module Coq_Pos :
 sig
  val succ : Whole.t -> Whole.t

  val add : Whole.t -> Whole.t -> Whole.t

  val add_carry : Whole.t -> Whole.t -> Whole.t

  val pred_double : Whole.t -> Whole.t

  type mask = Pos.mask =
  | IsNul
  | IsPos of Whole.t
  | IsNeg

  val succ_double_mask : mask -> mask

  val double_mask : mask -> mask

  val double_pred_mask : Whole.t -> mask

  val sub_mask : Whole.t -> Whole.t -> mask

  val sub_mask_carry : Whole.t -> Whole.t -> mask

  val sub : Whole.t -> Whole.t -> Whole.t

  val mul : Whole.t -> Whole.t -> Whole.t

  val iter : ('a1 -> 'a1) -> 'a1 -> Whole.t -> 'a1

  val pow : Whole.t -> Whole.t -> Whole.t

  val size_nat : Whole.t -> nat

  val size : Whole.t -> Whole.t

  val compare_cont : comparison -> Whole.t -> Whole.t -> comparison

  val compare : Whole.t -> Whole.t -> comparison

  val eqb : Whole.t -> Whole.t -> bool

  val leb : Whole.t -> Whole.t -> bool

  val sqrtrem_step :
    (Whole.t -> Whole.t) -> (Whole.t -> Whole.t) -> (Whole.t * mask) ->
    Whole.t * mask

  val sqrtrem : Whole.t -> Whole.t * mask

  val sqrt : Whole.t -> Whole.t

  val gcdn : nat -> Whole.t -> Whole.t -> Whole.t

  val gcd : Whole.t -> Whole.t -> Whole.t

  val ggcdn : nat -> Whole.t -> Whole.t -> Whole.t * (Whole.t * Whole.t)

  val ggcd : Whole.t -> Whole.t -> Whole.t * (Whole.t * Whole.t)

  val coq_Nsucc_double : Whole.t -> Whole.t

  val coq_Ndouble : Whole.t -> Whole.t

  val coq_land : Whole.t -> Whole.t -> Whole.t

  val iter_op : ('a1 -> 'a1 -> 'a1) -> Whole.t -> 'a1 -> 'a1

  val to_nat : Whole.t -> nat

  val of_succ_nat : nat -> Whole.t
 end

module N :
 sig
  val add : Whole.t -> Whole.t -> Whole.t

  val mul : Whole.t -> Whole.t -> Whole.t

  val compare : Whole.t -> Whole.t -> comparison

  val eqb : Whole.t -> Whole.t -> bool

  val ltb : Whole.t -> Whole.t -> bool

  val coq_land : Whole.t -> Whole.t -> Whole.t
 end

val zero : char

val one : char

val shift : bool -> char -> char

val eqb0 : char -> char -> bool

val ascii_of_pos : Whole.t -> char

val ascii_of_N : Whole.t -> char

val n_of_digits : bool list -> Whole.t

val n_of_ascii : char -> Whole.t

val hd : 'a1 -> 'a1 list -> 'a1

val tl : 'a1 list -> 'a1 list

val nth : nat -> 'a1 list -> 'a1 -> 'a1

val last : 'a1 list -> 'a1 -> 'a1

val rev : 'a1 list -> 'a1 list

val map : ('a1 -> 'a2) -> 'a1 list -> 'a2 list

val flat_map : ('a1 -> 'a2 list) -> 'a1 list -> 'a2 list

val fold_left : ('a1 -> 'a2 -> 'a1) -> 'a2 list -> 'a1 -> 'a1

val fold_right : ('a2 -> 'a1 -> 'a1) -> 'a1 -> 'a2 list -> 'a1

val existsb : ('a1 -> bool) -> 'a1 list -> bool

val forallb : ('a1 -> bool) -> 'a1 list -> bool

val filter : ('a1 -> bool) -> 'a1 list -> 'a1 list

val combine : 'a1 list -> 'a2 list -> ('a1 * 'a2) list

val firstn : nat -> 'a1 list -> 'a1 list

val skipn : nat -> 'a1 list -> 'a1 list

val seq : nat -> nat -> nat list

val repeat : 'a1 -> nat -> 'a1 list

module Z :
 sig
  val double : Whole.t -> Whole.t

  val succ_double : Whole.t -> Whole.t

  val pred_double : Whole.t -> Whole.t

  val pos_sub : Whole.t -> Whole.t -> Whole.t

  val add : Whole.t -> Whole.t -> Whole.t

  val opp : Whole.t -> Whole.t

  val sub : Whole.t -> Whole.t -> Whole.t

  val mul : Whole.t -> Whole.t -> Whole.t

  val pow_pos : Whole.t -> Whole.t -> Whole.t

  val pow : Whole.t -> Whole.t -> Whole.t

  val compare : Whole.t -> Whole.t -> comparison

  val sgn : Whole.t -> Whole.t

  val leb : Whole.t -> Whole.t -> bool

  val ltb : Whole.t -> Whole.t -> bool

  val eqb : Whole.t -> Whole.t -> bool

  val max : Whole.t -> Whole.t -> Whole.t

  val min : Whole.t -> Whole.t -> Whole.t

  val abs : Whole.t -> Whole.t

  val to_nat : Whole.t -> nat

  val to_N : Whole.t -> Whole.t

  val of_nat : nat -> Whole.t

  val of_N : Whole.t -> Whole.t

  val to_pos : Whole.t -> Whole.t

  val pos_div_eucl : Whole.t -> Whole.t -> Whole.t * Whole.t

  val div_eucl : Whole.t -> Whole.t -> Whole.t * Whole.t

  val div : Whole.t -> Whole.t -> Whole.t

  val modulo : Whole.t -> Whole.t -> Whole.t

  val log2 : Whole.t -> Whole.t

  val sqrt : Whole.t -> Whole.t

  val gcd : Whole.t -> Whole.t -> Whole.t

  val ggcd : Whole.t -> Whole.t -> Whole.t * (Whole.t * Whole.t)
 end

val zeq_bool : Whole.t -> Whole.t -> bool

val length0 : string -> nat



type q = { qnum : Whole.t; qden : Whole.t }

val inject_Z : Whole.t -> q

val qeq_bool : q -> q -> bool

val qle_bool : q -> q -> bool

val qplus : q -> q -> q

val qmult : q -> q -> q

val qopp : q -> q

val qminus : q -> q -> q

val qinv : q -> q

val qdiv : q -> q -> q

val qred : q -> q

type relation =
| ReplaceOne
| AddRemove
| BoundedRow of q
| Entering of relation * Whole.t * Whole.t
| Groups of relation * Whole.t

type observer =
| Central
| Joint
| Local

type audience =
| Everyone
| Others

type origin =
| Public
| Coin
| DpOutput

type kind =
| Interval
| Ball
| Cell
| RankOne
| Outer
| Points

type norm =
| L1
| Range
| EachNumber
| L2Squared
| FrobeniusSquared

type departure =
| Event
| Distance

type told =
| ByNumber
| ByVector
| BySymmetric
| ByGaussian
| ByLaplace
| ByEvent

type curve =
| Pure of q
| Approximate of q * q
| Zcdp of q
| Gdp of q
| NearGdp of q * q
| BoundedRange of q
| Lattice of q * Whole.t list list * Whole.t
| Renyi of (q * q) list

type interval = (Whole.t * Whole.t) option

type fact =
| Private of string * curve * relation * observer * interval
| View of string * audience * string list
| Contribution of string * kind * q * q * Whole.t list list * relation
   * origin
| Stable of string * norm * q * relation * interval
| Lipschitz of string * q * q * q
| Shifts of string * Whole.t list list * relation
| Covered of string * Whole.t * Whole.t * Whole.t * (Whole.t * Whole.t)
| Rounds of string * Whole.t * Whole.t * Whole.t * Whole.t
| Numbers of string * Whole.t
| Choice of string * string list list
| Split of string * string list
| Persons of string * relation * relation * Whole.t
| Rare of string * departure * q
| Apart of string * told * q list * relation * observer
| Refuted of string * q * q * relation * observer

type change =
| Stacked of q
| Centred of Whole.t * Whole.t * Whole.t * Whole.t
| Factorised of Whole.t list list * Whole.t * Whole.t * Whole.t * Whole.t
   * Whole.t
| Buffered of Whole.t * Whole.t list list * Whole.t * q * Whole.t * Whole.t
   * Whole.t * Whole.t

type noise_law =
| FineNormal of q * q * Whole.t * bool
| LatticeNormal of q
| DiscreteNormal of q * q * bool
| NormalNoise of q * bool
| LaplaceNoise of q * q option
| ExponentialChoice of q
| FlippedChoice of q
| LengthNoise of q * q
| SparseAnswers of q * q * Whole.t * q
| TableAnswer of q list list
| CellsShown of q * Whole.t * q
| ShuffledAnswers of q list list * Whole.t * q
| FilterCharges

type spread =
| Once
| Covers of string * (Whole.t * Whole.t) list
| Tree of string * Whole.t * Whole.t

type place = { query : string; made : change list; how : noise_law;
               over : spread }

type draws = (string * place) list

type line = { says : fact; drawn : draws; changes : change list;
              covers_of : spread; departed : string list; of_persons : 
              bool; views : string list }

type step =
| AssumeView of string * audience * string list
| AssumeBall of string * q * relation * origin
| AssumeRankOne of string * q * bool * relation * origin
| AssumePoints of string * Whole.t list list * relation * origin
| AssumeClipped of string * q * q * relation * origin
| AssumeCell of string * relation * Whole.t
| AssumeLipschitz of string * q * q * q
| AssumeCovers of string * (Whole.t * Whole.t) list
| AssumeTree of string * Whole.t * Whole.t
| AssumeRounds of string * Whole.t * Whole.t option * Whole.t option
   * Whole.t list option
| AssumeNumbers of string * Whole.t
| AssumeRange of string * q * relation
| AssumeEach of string * q * relation
| AssumeL1 of string * q * relation
| AssumeChoice of string * string list list
| AssumeSplit of string * string list
| AssumePersons of string * relation * relation * Whole.t
| AssumeRare of string * departure * q
| AssumeFilter of string * curve * relation
| AssumeNeighbours of string * kind * q list * q list * relation * observer
| AssumeEvent of string * q * q * relation * observer
| ByLinear of q option
| ByDifferences
| ByMoved of q option
| ByCentred
| ByFactorised of Whole.t list list * Whole.t
| ByJoint of q
| ByBuffered of Whole.t * Whole.t list list * Whole.t * q * q
| ByFineGaussian of q * q * Whole.t * q * string
| ByLatticeGaussian of q * string
| ByDiscreteGaussian of q * q * string
| ByGaussianNoise of q * string
| ByLaplaceNoise of q * q option * string
| ByExponential of q * string
| ByPermuteAndFlip of q * string
| ByKNorm of q * q * q * string
| BySparseVector of q * q * Whole.t * q * string
| ByFinite of q list list * q * string
| ByShuffled of q list list * Whole.t * q * q * string
| ByStableHistogram of q * Whole.t * q * string
| ByPostProcess
| ByBillboard
| ByLocalView
| ByNodes
| ByLocal
| ByCompose
| ByParallel
| ByMixture
| ByPartition
| ByToApproximate of q * q * q option
| ByToZcdp
| ByToPure
| ByToGdp of q
| ByToNearGdp
| ByToRenyi of q list
| ByDespite of q
| ByGroup of Whole.t * q option
| ByWithin of q
| ByPersons
| ByReplaceOne
| ByApart of told * q
| ByRefute of q * q

val all_some : ('a1 -> 'a2 option) -> 'a1 list -> 'a2 list option

val plus : q -> q -> q

val minus : q -> q -> q

val times : q -> q -> q

val over0 : q -> q -> q

val of_Z : Whole.t -> q

val larger : q -> q -> q

val absolute : q -> q

val below : q -> q -> bool

val largest : q list -> q

val sum_of : q list -> q

val q_eqb : q -> q -> bool

val list_eqb : ('a1 -> 'a1 -> bool) -> 'a1 list -> 'a1 list -> bool

val relation_eqb : relation -> relation -> bool

val observer_eqb : observer -> observer -> bool

val is_none : 'a1 option -> bool

val anyone : Whole.t * Whole.t

val squares : Whole.t list -> Whole.t

val longest : Whole.t list list -> Whole.t

module Sort :
 functor (X:TotalLeBool') ->
 sig
  val merge : X.t list -> X.t list -> X.t list

  val merge_list_to_stack :
    X.t list option list -> X.t list -> X.t list option list

  val merge_stack : X.t list option list -> X.t list

  val iter_merge : X.t list option list -> X.t list -> X.t list

  val sort : X.t list -> X.t list

  val flatten_stack : X.t list option list -> X.t list
 end

module ZOrder :
 sig
  type t = Whole.t

  val leb : Whole.t -> Whole.t -> bool
 end

module ZSort :
 sig
  val merge : Whole.t list -> Whole.t list -> Whole.t list

  val merge_list_to_stack :
    Whole.t list option list -> Whole.t list -> Whole.t list option list

  val merge_stack : Whole.t list option list -> Whole.t list

  val iter_merge : Whole.t list option list -> Whole.t list -> Whole.t list

  val sort : Whole.t list -> Whole.t list

  val flatten_stack : Whole.t list option list -> Whole.t list
 end

val sweep :
  nat -> Whole.t list -> Whole.t list -> Whole.t -> Whole.t -> Whole.t

val most_open : (Whole.t * Whole.t) list -> Whole.t

val least_of : Whole.t list -> Whole.t

val most_of : Whole.t list -> Whole.t

val proper : (Whole.t * Whole.t) -> bool

val unit_there : Whole.t -> bool

val covered : string -> (Whole.t * Whole.t) list -> fact option

val tree : string -> Whole.t -> Whole.t -> fact option

val rising : Whole.t -> Whole.t list -> bool

val entered :
  string -> Whole.t -> Whole.t option -> Whole.t option -> Whole.t list
  option -> fact option

val matrices_apart : q list -> q list -> bool -> q

val neighbours_apart :
  string -> kind -> q list -> q list -> relation -> observer -> fact option

val small : q -> bool

val nonnegative_law : curve -> bool

val simple_relation : relation -> bool

val distinct : string list -> bool

val hypothesis : step -> fact option

type ends = Whole.t option * Whole.t option

val up_div : Whole.t -> Whole.t -> Whole.t

val opt : ('a1 -> 'a2) -> 'a1 option -> 'a2 option

val opt2 : ('a1 -> 'a2 -> 'a3) -> 'a1 option -> 'a2 option -> 'a3 option

val of_Q : Whole.t -> q -> ends

val add0 : ends -> ends -> ends

val neg : ends -> ends

val sub0 : ends -> ends -> ends

val nonneg : ends -> bool

val is_zero : ends -> bool

val mul0 : Whole.t -> ends -> ends -> ends

val div0 : Whole.t -> ends -> ends -> ends

val wider : ends -> ends

val at_least_0 : ends -> ends

val root : Whole.t -> ends -> ends

val series :
  Whole.t -> nat -> Whole.t -> Whole.t -> Whole.t -> Whole.t -> Whole.t ->
  Whole.t -> Whole.t * Whole.t

val squared : Whole.t -> nat -> (Whole.t * Whole.t) -> Whole.t * Whole.t

val rescaled : Whole.t -> Whole.t -> (Whole.t * Whole.t) -> Whole.t * Whole.t

val log2_up : Whole.t -> nat

val exp_above : Whole.t -> Whole.t -> Whole.t * Whole.t

val exp_at : Whole.t -> Whole.t -> ends

val exponential : Whole.t -> ends -> ends

val nearer : Whole.t -> nat -> Whole.t -> Whole.t -> Whole.t

val guess : Whole.t -> Whole.t -> Whole.t

val from_above :
  Whole.t -> nat -> Whole.t -> Whole.t -> Whole.t -> Whole.t option

val from_below :
  Whole.t -> nat -> Whole.t -> Whole.t -> Whole.t -> Whole.t option

val ln_above : Whole.t -> Whole.t -> Whole.t option

val ln_below : Whole.t -> Whole.t -> Whole.t option

val ln_up : Whole.t -> Whole.t -> Whole.t option

val ln_down : Whole.t -> Whole.t -> Whole.t option

val logarithm : Whole.t -> ends -> ends

val machin :
  Whole.t -> nat -> Whole.t -> Whole.t -> Whole.t -> bool -> Whole.t ->
  Whole.t -> Whole.t * Whole.t

val pi : Whole.t -> ends

val odd_series :
  Whole.t -> nat -> Whole.t -> Whole.t -> Whole.t -> Whole.t -> Whole.t ->
  Whole.t -> (Whole.t * Whole.t) option

val upper_at : Whole.t -> Whole.t -> ends

val upper_of : Whole.t -> Whole.t -> ends

val upper_tail : Whole.t -> ends -> ends

type expr =
| Num of q
| Plus of expr * expr
| Minus of expr * expr
| Times of expr * expr
| Over of expr * expr
| Exp of expr
| Ln of expr
| Root of expr
| Pow of expr * Whole.t
| Geometric of expr * Whole.t
| Tail of expr

val capped : ends -> ends

val pow_pos0 : Whole.t -> ends -> Whole.t -> ends

val power_n : Whole.t -> ends -> Whole.t -> ends

val sum_pos : Whole.t -> ends -> Whole.t -> ends * ends

val enclose : Whole.t -> expr -> ends

val try0 : Whole.t list -> expr -> q -> bool

val at_most : expr -> q -> bool

val listed_before : Whole.t list -> Whole.t list -> bool

module ListOrder :
 sig
  type t = Whole.t list

  val leb : Whole.t list -> Whole.t list -> bool
 end

module ListSort :
 sig
  val merge : Whole.t list list -> Whole.t list list -> Whole.t list list

  val merge_list_to_stack :
    Whole.t list list option list -> Whole.t list list -> Whole.t list list
    option list

  val merge_stack : Whole.t list list option list -> Whole.t list list

  val iter_merge :
    Whole.t list list option list -> Whole.t list list -> Whole.t list list

  val sort : Whole.t list list -> Whole.t list list

  val flatten_stack : Whole.t list list option list -> Whole.t list list
 end

module ZDown :
 sig
  type t = Whole.t

  val leb : Whole.t -> Whole.t -> bool
 end

module ZDownSort :
 sig
  val merge : Whole.t list -> Whole.t list -> Whole.t list

  val merge_list_to_stack :
    Whole.t list option list -> Whole.t list -> Whole.t list option list

  val merge_stack : Whole.t list option list -> Whole.t list

  val iter_merge : Whole.t list option list -> Whole.t list -> Whole.t list

  val sort : Whole.t list -> Whole.t list

  val flatten_stack : Whole.t list option list -> Whole.t list
 end

val nonzero : Whole.t -> bool

val movement : Whole.t list -> Whole.t list -> Whole.t list

val z_list_eqb : Whole.t list -> Whole.t list -> bool

val once_each : Whole.t list list -> Whole.t list list

val pairs_of : Whole.t list list -> relation -> Whole.t list list

val moves_of : Whole.t list list -> relation -> Whole.t list list

val too_many : Whole.t list list -> relation -> bool

val replaces : relation -> bool

val two : q

val four : q

val furthest_sum :
  kind -> q -> q -> Whole.t list list -> relation -> (norm * q) option

val cubic : q -> q -> q

val floor_of : q -> Whole.t

val halved : q -> nat -> q -> q -> q * q

val outer_supremum : q -> q option

val linear : q option -> fact -> fact option

val ones : nat -> Whole.t list

val list_of_moves : fact -> fact option

val squared0 : q -> q

val moved : q option -> fact -> fact option

val comes_and_goes : relation -> bool

val untransformed :
  fact -> fact ->
  (((string * q) * relation) * (((Whole.t * Whole.t) * Whole.t) * Whole.t))
  option

val centred : fact -> fact -> fact option

val take_from : Whole.t list -> Whole.t list -> Whole.t list

val richest_rows : nat -> Whole.t list -> Whole.t list -> nat -> Whole.t list

val richest : Whole.t list -> Whole.t -> Whole.t -> Whole.t list

val prefix_sums : Whole.t -> Whole.t list -> Whole.t list

val overlap : Whole.t list -> nat -> Whole.t

val toeplitz : Whole.t list -> Whole.t -> Whole.t -> Whole.t

val column : Whole.t list list -> nat -> Whole.t list

val meeting : Whole.t list -> Whole.t list -> Whole.t

val add_squares : Whole.t list -> Whole.t list -> Whole.t list

val small_entry : Whole.t -> bool

val is_triangle : Whole.t list list -> Whole.t -> bool

val stretch :
  Whole.t list list -> Whole.t -> Whole.t -> Whole.t -> Whole.t option

val units_eqb : interval -> interval -> bool

val norm_eqb : norm -> norm -> bool

val sums_it : fact -> fact -> bool

val each_addition : fact -> fact -> q option

val entering : relation -> Whole.t -> Whole.t -> relation

val factorised :
  Whole.t list list -> Whole.t -> fact -> fact -> fact option -> fact option

val joint : q -> fact -> fact option

val buffers_of : Whole.t list list -> Whole.t -> (q * q) list option

val decaying : q -> (q * q) list -> Whole.t -> expr

val buffered :
  Whole.t -> Whole.t list list -> Whole.t -> q -> q -> fact -> fact -> fact
  option

val sensitivity : step -> fact list -> fact option

val right : Whole.t -> Whole.t -> Whole.t -> Whole.t -> Whole.t

val wrong : Whole.t -> Whole.t -> Whole.t -> Whole.t -> Whole.t

val least_but_one :
  Whole.t -> Whole.t -> Whole.t -> Whole.t -> Whole.t -> Whole.t

val told0 :
  Whole.t -> Whole.t -> Whole.t -> Whole.t -> Whole.t -> nat -> Whole.t ->
  Whole.t -> Whole.t -> Whole.t -> Whole.t

val all_told : Whole.t -> Whole.t -> Whole.t -> Whole.t -> nat -> Whole.t

val drawn_on : string -> curve -> relation -> interval -> fact option

val mu_squared : norm -> q -> q -> q option

val rounding_at_most : q -> Whole.t -> q -> bool

val column_of : q list list -> nat -> q list

val least : q list -> q

val ratio_of : q list -> q option

val is_law : q list -> bool

val symbols : nat -> Whole.t -> Whole.t list list

val worst_ratio : q list list -> Whole.t list list -> relation -> q option

val finite : q list list -> q -> fact -> fact option

val covered_at : q -> Whole.t -> q -> q -> Whole.t -> bool

val shuffled : q list list -> Whole.t -> q -> q -> fact -> fact option

val shown : q -> Whole.t -> q -> expr

val stable_histogram : q -> Whole.t -> q -> fact -> fact option

val noise : step -> fact list -> fact option

val law_of : step -> fact -> (string * noise_law) option

val viewed :
  fact -> fact -> (audience -> bool) -> observer -> observer -> fact option

val is_everyone : audience -> bool

val amounts : curve -> q list option

val rebuilt : curve -> q list -> curve option

val alike : curve -> curve -> bool

val zip_with : (q -> q -> q) -> q list -> q list -> q list

val joined : (q -> q -> q) -> curve -> curve -> curve option

val hull : interval -> interval -> interval

val both : string -> (q -> q -> q) -> fact -> fact -> fact option

val together : string -> (q -> q -> q) -> fact -> fact list -> fact option

val has_amounts : fact -> bool

val is_range : fact -> bool

val combined : string -> (q -> q -> q) -> fact list -> fact option

val compose : fact list -> fact option

val reads_of : fact -> interval

val disjoint : interval list -> bool

val of_groups : relation -> bool

val of_one_unit : fact -> bool

val parallel : fact list -> fact option

val reads_anyone : fact -> bool

val keys_apart : string list list -> bool

val mixture : fact -> fact list -> fact option

val repeated : curve -> Whole.t -> curve option

val nodes : fact -> fact -> fact option

val local : fact -> fact -> fact option

val relation_of : fact -> relation

val subject_of : fact -> string

val two_largest : q -> q -> q list -> q

val two_dearest : q list -> q

val transposed : nat -> q list list -> q list list

val law_of_part : fact -> curve option

val same_kind : fact -> fact -> bool

val partition : fact -> fact list -> fact option

val composition : step -> fact list -> fact option

val pairs_up : Whole.t -> Whole.t list -> Whole.t list

val pack : nat -> Whole.t -> Whole.t list -> Whole.t

val pairs_down : Whole.t -> Whole.t list -> Whole.t list

val unpack : nat -> Whole.t -> Whole.t -> Whole.t list

val levels_for : nat -> nat

val bits_of : Whole.t list -> Whole.t

val multiply : Whole.t list -> Whole.t list -> Whole.t list

val raised : Whole.t list -> Whole.t -> Whole.t list

val weight_at : Whole.t -> q -> Whole.t -> Whole.t * Whole.t

val beyond : Whole.t -> q -> Whole.t -> Whole.t option

val spread_out : Whole.t -> Whole.t list -> Whole.t list

val digits10 : q -> Whole.t

val floor_q : q -> Whole.t

val ceiling_q : q -> Whole.t

val sum_z : Whole.t list -> Whole.t

val lattice_law :
  Whole.t -> q -> Whole.t -> Whole.t list -> Whole.t -> (((Whole.t
  list * Whole.t) * Whole.t) * Whole.t) option

val lattice_at_most : q -> Whole.t list -> Whole.t -> q -> q -> bool

val gdp_delta : q -> q -> expr

val pure_delta : q -> q -> expr

val range_delta : q -> q -> expr

val near_delta : q -> q -> q -> expr

val renyi_excess : q -> q -> q -> q -> expr

val of_order : q -> q -> q -> q -> bool

val implies : curve -> q -> q -> q option -> bool

val with_law : fact -> curve -> fact option

val law_in : fact -> curve option

val to_approximate : q -> q -> q option -> fact -> fact option

val to_zcdp : fact -> fact option

val to_pure : fact -> fact option

val to_gdp : q -> fact -> fact option

val to_near_gdp : fact -> fact option

val rising0 : q -> q list -> bool

val to_renyi : q list -> fact -> fact option

val despite : q -> fact -> fact -> fact option

val grown : curve -> Whole.t -> q option -> curve option

val group : Whole.t -> q option -> fact -> fact option

val moves_by : fact -> relation -> fact option

val within : q -> fact -> fact option

val persons : fact -> fact -> fact option

val replace_one : fact -> fact option

val conversion : step -> fact list -> fact option

val apart : told -> q -> fact -> fact -> fact option

val minus_delta : told -> q list -> q -> expr option

val refute : q -> q -> fact -> fact option

val refutation : step -> fact list -> fact option

val infer : step -> fact list -> fact option

val ints_eqb : Whole.t list -> Whole.t list -> bool

val matrix_eqb : Whole.t list list -> Whole.t list list -> bool

val spans_eqb : (Whole.t * Whole.t) list -> (Whole.t * Whole.t) list -> bool

val change_eqb : change -> change -> bool

val law_eqb : noise_law -> noise_law -> bool

val spread_eqb : spread -> spread -> bool

val place_eqb : place -> place -> bool

val find_place : string -> draws -> place option

val merged : draws -> draws -> draws option

val all_draws : draws -> line list -> draws option

val over_covers : spread -> draws -> draws

val text_leb : string -> string -> bool

module TextOrder :
 sig
  type t = string

  val leb : string -> string -> bool
 end

module TextSort :
 sig
  val merge : string list -> string list -> string list

  val merge_list_to_stack :
    string list option list -> string list -> string list option list

  val merge_stack : string list option list -> string list

  val iter_merge : string list option list -> string list -> string list

  val sort : string list -> string list

  val flatten_stack : string list option list -> string list
 end

val keys_of : line -> string list

val texts_eqb : string list -> string list -> bool

val draws_in : draws -> draws -> bool

val draws_eqb : draws -> draws -> bool

val stays : line -> bool

val noise_is_named : step -> line list -> bool

val one_table : step -> line list -> bool

val first_changes : line list -> change list

val changed : step -> line list -> change list

val covers_made : step -> spread

val union : string list -> string list -> string list

val follow : step -> line list -> line option

val nth_line : line list -> Whole.t -> Whole.t -> line option

type json =
| Null
| Bool of bool
| Int of Whole.t
| Float of string
| Text of string
| Array of json list
| Object of (string * json) list

val digit : char -> Whole.t option

val digits : string -> Whole.t -> Whole.t option

val natural_of : string -> Whole.t option

val split_at_slash : string -> string * string option

val number_of : string -> q option

val print_digits : nat -> Whole.t -> string -> string

val print_Z : Whole.t -> string

val print_Q : q -> string

val member : string -> (string * json) list -> json option

val has_members : (string * json) list -> string list -> string list -> bool

val text : json -> string option

val number : json -> q option

val whole : Whole.t -> json -> Whole.t option

val unit0 : json -> Whole.t option

val any_integer : json -> Whole.t option

val list_of : (json -> 'a1 option) -> json -> 'a1 list option

val maybe :
  (json -> 'a1 option) -> string -> (string * json) list -> 'a1 option option

val simple : json -> relation option

val without_prefix : string -> string -> string option

val neighbouring : json -> relation option

val source : json -> origin option

val source_in : (string * json) list -> origin option

val observer_of : json -> observer option

val ascending : string list -> bool

val sorted_names : json -> string list option

val points_ascend : Whole.t list list -> bool

val integer_points : json -> Whole.t list list option

val span : json -> (Whole.t * Whole.t) option

val short_number : json -> q option

val hypothesis_members :
  (string * json) list -> string list -> string list -> bool

val read_hypothesis : (string * json) list -> string -> step option

val of_members :
  (string * json) list -> string list -> string list -> step option -> step
  option

val read_step : (string * json) list -> string -> step option

val relation_text : relation -> string

val q_text : q -> json

val rel_text : relation -> json

val seen_text : observer -> json

val ints : Whole.t list -> json

val texts : string list -> json

val span_text : (Whole.t * Whole.t) -> json

val reads_text : interval -> json

val law_text : curve -> json

val wire : fact -> json

val json_eqb : json -> json -> bool

val characters : string -> Whole.t

val numbers_in_law : curve -> q list

val numbers_in : fact -> q list

val printed_within : Whole.t -> q -> bool

val printable : fact -> bool

val reads_numbers : step -> bool

val named_within : step -> line list -> fact -> bool

type entry = { rule : string; witness : (string * json) list;
               before : Whole.t list; gives : json }

val checked : entry -> line list -> Whole.t -> (step * line) option

val check_entries :
  entry list -> Whole.t -> (step * Whole.t list) list -> line list ->
  ((step * Whole.t list) list * line list, Whole.t) sum

val check_document :
  entry list -> ((step * Whole.t list) list * line list, Whole.t) sum
