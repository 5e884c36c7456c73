(** How well two stated neighbours are told apart, and that a point therefore does not hold. *)
Require Import QArith ZArith String List Bool.
From DP Require Import Facts Steps.
From DP.decide Require Import Decide.
From DP.conversions Require Import Infer.
Import ListNotations.

Definition apart (law : told) (scale : Q) (neighbours covered : fact) : option fact :=
  match neighbours, covered with
  | Apart q known [size] rel o, Covered q' _ most _ _ =>
      check String.eqb q q' && below 0 scale;
      match law with
      | ByLaplace =>
          check match known with ByNumber => true | _ => false end && (most =? 1)%Z;
          Some (Apart q ByLaplace [over size scale] rel o)
      | ByGaussian =>
          let! square := match known with
            | ByNumber => Some (times size size)
            | ByVector => Some size
            | BySymmetric => Some (over size (of_Z 2))
            | _ => None
            end in
          Some (Apart q ByGaussian [over (times (of_Z most) square) scale] rel o)
      | _ => None
      end
  | _, _ => None
  end.

(** −δ(ε) of a pair of laws. *)
Definition minus_delta (law : told) (values : list Q) (epsilon : Q) : option expr :=
  match law, values with
  | ByEvent, [likely; rarely] => Some (Minus (Times (Exp (Num epsilon)) (Num rarely)) (Num likely))
  | ByLaplace, [m] =>
      let rest := minus epsilon m in
      Some (Minus (Exp (Num (over (if Qle_bool 0 rest then 0 else rest) (of_Z 2)))) (Num 1))
  | ByGaussian, [square] =>
      Some (if Qeq_bool square 0 then Num 0 else Minus (Num 0) (gdp_delta square epsilon))
  | _, _ => None
  end.

Definition refute (epsilon delta : Q) (told : fact) : option fact :=
  match told with
  | Apart q law values rel o =>
      let! e := minus_delta law values epsilon in
      let least := plus delta (Qred (1 # (10 ^ 400)%positive)) in
      check Qle_bool 0 epsilon && Qle_bool 0 delta && Qle_bool delta 1 && at_most e (minus 0 least);
      Some (Refuted q epsilon delta rel o)
  | _ => None
  end.

Definition refutation (s : step) (found : list fact) : option fact :=
  match s, found with
  | ByApart law scale, [neighbours; covered] => apart law scale neighbours covered
  | ByRefute epsilon delta, [told] => refute epsilon delta told
  | _, _ => None
  end.
