(** The checker as a program: what is proved is what runs, but for the reading of files (driver.ml). *)
Require Import ExtrOcamlBasic ExtrOcamlNativeString ZArith.
From DP.account Require Import Check Document.
From DP.check Require Import Json Certificate.

Extract Inductive positive => "Whole.t"
  [ "(fun p -> Whole.succ (Whole.shift_left p 1))" "(fun p -> Whole.shift_left p 1)" "Whole.one" ]
  "(fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)".
Extract Inductive N => "Whole.t" [ "Whole.zero" "(fun p -> p)" ]
  "(fun zero pos n -> if Whole.sign n = 0 then zero () else pos n)".
Extract Inductive Z => "Whole.t" [ "Whole.zero" "(fun p -> p)" "Whole.neg" ]
  "(fun zero pos neg z -> let s = Whole.sign z in if s = 0 then zero () else if s > 0 then pos z else neg (Whole.neg z))".

Extract Constant Pos.succ => "Whole.succ".
Extract Constant Pos.add => "Whole.add".
Extract Constant Pos.mul => "Whole.mul".
Extract Constant Pos.eqb => "Whole.equal".
Extract Constant Pos.compare => "(fun a b -> let c = Whole.compare a b in if c = 0 then Eq else if c < 0 then Lt else Gt)".
Extract Constant Pos.eq_dec => "Whole.equal".
Extract Constant Pos.gcd => "Whole.gcd".
Extract Constant N.add => "Whole.add".
Extract Constant N.mul => "Whole.mul".
Extract Constant N.eqb => "Whole.equal".
Extract Constant N.ltb => "Whole.lt".
Extract Constant N.leb => "Whole.leq".
Extract Constant N.compare => "(fun a b -> let c = Whole.compare a b in if c = 0 then Eq else if c < 0 then Lt else Gt)".
Extract Constant Z.add => "Whole.add".
Extract Constant Z.sub => "Whole.sub".
Extract Constant Z.mul => "Whole.mul".
Extract Constant Z.opp => "Whole.neg".
Extract Constant Z.abs => "Whole.abs".
Extract Constant Z.succ => "Whole.succ".
Extract Constant Z.pred => "Whole.pred".
Extract Constant Z.max => "Whole.max".
Extract Constant Z.min => "Whole.min".
Extract Constant Z.eqb => "Whole.equal".
Extract Constant Z.leb => "Whole.leq".
Extract Constant Z.ltb => "Whole.lt".
Extract Constant Z.eq_dec => "Whole.equal".
Extract Constant Z.compare => "(fun a b -> let c = Whole.compare a b in if c = 0 then Eq else if c < 0 then Lt else Gt)".
Extract Constant Z.gcd => "Whole.gcd".
Extract Constant Z.to_nat => "(fun z -> let rec go n acc = if Whole.sign n <= 0 then acc else go (Whole.pred n) (S acc) in go z O)".
Extract Constant Z.of_nat => "(fun n -> let rec go n acc = match n with O -> acc | S m -> go m (acc + 1) in Whole.of_int (go n 0))".
Extract Constant Z.div => "(fun a b -> if Whole.sign b = 0 then Whole.zero else Whole.fdiv a b)".
Extract Constant Z.modulo => "(fun a b -> if Whole.sign b = 0 then a else Whole.sub a (Whole.mul b (Whole.fdiv a b)))".
Extract Constant Z.div_eucl => "(fun a b -> if Whole.sign b = 0 then (Whole.zero, a) else let q = Whole.fdiv a b in (q, Whole.sub a (Whole.mul b q)))".
Extract Constant Z.sqrt => "(fun z -> if Whole.sign z <= 0 then Whole.zero else Whole.sqrt z)".
Extract Constant Z.log2 => "(fun z -> if Whole.sign z <= 0 then Whole.zero else Whole.of_int (Whole.numbits z - 1))".
Extract Constant Z.pow => "(fun a b -> if Whole.sign b < 0 then Whole.zero else if Whole.equal a (Whole.of_int 2) then Whole.shift_left Whole.one (Whole.to_int b) else Whole.pow a (Whole.to_int b))".
Extract Constant Z.shiftl => "(fun a n -> let n = Whole.to_int n in if n >= 0 then Whole.shift_left a n else Whole.shift_right a (-n))".
Extract Constant Z.shiftr => "(fun a n -> let n = Whole.to_int n in if n >= 0 then Whole.shift_right a n else Whole.shift_left a (-n))".
Extract Constant Z.of_N => "(fun n -> n)".
Extract Constant Z.to_N => "(fun z -> if Whole.sign z < 0 then Whole.zero else z)".
Extract Constant Z.ggcd => "(fun a b -> let g = Whole.gcd a b in if Whole.sign g = 0 then (g, (a, b)) else (g, (Whole.divexact a g, Whole.divexact b g)))".
Extract Constant Ascii.eqb => "(fun (a : char) b -> a = b)".
Extract Constant Z.to_pos => "(fun z -> if Whole.sign z <= 0 then Whole.one else z)".

Extraction "check/checker.ml" check_document check_certificate check_account account_of.
