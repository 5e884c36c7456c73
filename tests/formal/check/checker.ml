
(** val negb : bool -> bool **)

let negb = function
| true -> false
| false -> true

type nat =
| O
| S of nat

type ('a, 'b) sum =
| Inl of 'a
| Inr of 'b

(** val fst : ('a1 * 'a2) -> 'a1 **)

let fst = function
| (x, _) -> x

(** val snd : ('a1 * 'a2) -> 'a2 **)

let snd = function
| (_, y) -> y

(** val length : 'a1 list -> nat **)

let rec length = function
| [] -> O
| _ :: l' -> S (length l')

(** val app : 'a1 list -> 'a1 list -> 'a1 list **)

let rec app l m =
  match l with
  | [] -> m
  | a :: l1 -> a :: (app l1 m)

type comparison =
| Eq
| Lt
| Gt

(** val pred : nat -> nat **)

let pred n0 = match n0 with
| O -> n0
| S u -> u

module Coq__1 = struct
 (** val add : nat -> nat -> nat **)
 let rec add n0 m =
   match n0 with
   | O -> m
   | S p -> S (add p m)
end
include Coq__1

(** val mul : nat -> nat -> nat **)

let rec mul n0 m =
  match n0 with
  | O -> O
  | S p -> add m (mul p m)

(** val sub : nat -> nat -> nat **)

let rec sub n0 m =
  match n0 with
  | O -> n0
  | S k -> (match m with
            | O -> n0
            | S l -> sub k l)

(** val eqb : bool -> bool -> bool **)

let eqb b1 b2 =
  if b1 then b2 else if b2 then false else true

module type TotalLeBool' =
 sig
  type t

  val leb : t -> t -> bool
 end

module Nat =
 struct
  (** val sub : nat -> nat -> nat **)

  let rec sub n0 m =
    match n0 with
    | O -> n0
    | S k -> (match m with
              | O -> n0
              | S l -> sub k l)

  (** val eqb : nat -> nat -> bool **)

  let rec eqb n0 m =
    match n0 with
    | O -> (match m with
            | O -> true
            | S _ -> false)
    | S n' -> (match m with
               | O -> false
               | S m' -> eqb n' m')

  (** val leb : nat -> nat -> bool **)

  let rec leb n0 m =
    match n0 with
    | O -> true
    | S n' -> (match m with
               | O -> false
               | S m' -> leb n' m')

  (** val ltb : nat -> nat -> bool **)

  let ltb n0 m =
    leb (S n0) m

  (** val max : nat -> nat -> nat **)

  let rec max n0 m =
    match n0 with
    | O -> m
    | S n' -> (match m with
               | O -> n0
               | S m' -> S (max n' m'))

  (** val min : nat -> nat -> nat **)

  let rec min n0 m =
    match n0 with
    | O -> O
    | S n' -> (match m with
               | O -> O
               | S m' -> S (min n' m'))

  (** val divmod : nat -> nat -> nat -> nat -> nat * nat **)

  let rec divmod x y q0 u =
    match x with
    | O -> (q0, u)
    | S x' ->
      (match u with
       | O -> divmod x' y (S q0) y
       | S u' -> divmod x' y q0 u')

  (** val div : nat -> nat -> nat **)

  let div x y = match y with
  | O -> y
  | S y' -> fst (divmod x y' O y')

  (** val div2 : nat -> nat **)

  let rec div2 = function
  | O -> O
  | S n1 -> (match n1 with
             | O -> O
             | S n' -> S (div2 n'))
 end

module Pos =
 struct
  type mask =
  | IsNul
  | IsPos of Whole.t
  | IsNeg
 end

module Coq_Pos =
 struct
  (** val succ : Whole.t -> Whole.t **)

  let rec succ = Whole.succ

  (** val add : Whole.t -> Whole.t -> Whole.t **)

  let rec add = Whole.add

  (** val add_carry : Whole.t -> Whole.t -> Whole.t **)

  and add_carry x y =
    (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
      (fun p ->
      (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
        (fun q0 -> (fun p -> Whole.succ (Whole.shift_left p 1))
        (add_carry p q0))
        (fun q0 -> (fun p -> Whole.shift_left p 1) (add_carry p q0))
        (fun _ -> (fun p -> Whole.succ (Whole.shift_left p 1)) (succ p))
        y)
      (fun p ->
      (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
        (fun q0 -> (fun p -> Whole.shift_left p 1)
        (add_carry p q0))
        (fun q0 -> (fun p -> Whole.succ (Whole.shift_left p 1))
        (add p q0))
        (fun _ -> (fun p -> Whole.shift_left p 1) (succ p))
        y)
      (fun _ ->
      (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
        (fun q0 -> (fun p -> Whole.succ (Whole.shift_left p 1))
        (succ q0))
        (fun q0 -> (fun p -> Whole.shift_left p 1) (succ q0))
        (fun _ -> (fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one)
        y)
      x

  (** val pred_double : Whole.t -> Whole.t **)

  let rec pred_double x =
    (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
      (fun p -> (fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.shift_left p 1) p))
      (fun p -> (fun p -> Whole.succ (Whole.shift_left p 1))
      (pred_double p))
      (fun _ -> Whole.one)
      x

  type mask = Pos.mask =
  | IsNul
  | IsPos of Whole.t
  | IsNeg

  (** val succ_double_mask : mask -> mask **)

  let succ_double_mask = function
  | IsNul -> IsPos Whole.one
  | IsPos p -> IsPos ((fun p -> Whole.succ (Whole.shift_left p 1)) p)
  | IsNeg -> IsNeg

  (** val double_mask : mask -> mask **)

  let double_mask = function
  | IsPos p -> IsPos ((fun p -> Whole.shift_left p 1) p)
  | x0 -> x0

  (** val double_pred_mask : Whole.t -> mask **)

  let double_pred_mask x =
    (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
      (fun p -> IsPos ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.shift_left p 1) p)))
      (fun p -> IsPos ((fun p -> Whole.shift_left p 1)
      (pred_double p)))
      (fun _ -> IsNul)
      x

  (** val sub_mask : Whole.t -> Whole.t -> mask **)

  let rec sub_mask x y =
    (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
      (fun p ->
      (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
        (fun q0 -> double_mask (sub_mask p q0))
        (fun q0 -> succ_double_mask (sub_mask p q0))
        (fun _ -> IsPos ((fun p -> Whole.shift_left p 1) p))
        y)
      (fun p ->
      (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
        (fun q0 -> succ_double_mask (sub_mask_carry p q0))
        (fun q0 -> double_mask (sub_mask p q0))
        (fun _ -> IsPos (pred_double p))
        y)
      (fun _ ->
      (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
        (fun _ -> IsNeg)
        (fun _ -> IsNeg)
        (fun _ -> IsNul)
        y)
      x

  (** val sub_mask_carry : Whole.t -> Whole.t -> mask **)

  and sub_mask_carry x y =
    (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
      (fun p ->
      (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
        (fun q0 -> succ_double_mask (sub_mask_carry p q0))
        (fun q0 -> double_mask (sub_mask p q0))
        (fun _ -> IsPos (pred_double p))
        y)
      (fun p ->
      (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
        (fun q0 -> double_mask (sub_mask_carry p q0))
        (fun q0 -> succ_double_mask (sub_mask_carry p q0))
        (fun _ -> double_pred_mask p)
        y)
      (fun _ -> IsNeg)
      x

  (** val sub : Whole.t -> Whole.t -> Whole.t **)

  let sub x y =
    match sub_mask x y with
    | IsPos z0 -> z0
    | _ -> Whole.one

  (** val mul : Whole.t -> Whole.t -> Whole.t **)

  let rec mul = Whole.mul

  (** val iter : ('a1 -> 'a1) -> 'a1 -> Whole.t -> 'a1 **)

  let rec iter f x n0 =
    (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
      (fun n' -> f (iter f (iter f x n') n'))
      (fun n' -> iter f (iter f x n') n')
      (fun _ -> f x)
      n0

  (** val pow : Whole.t -> Whole.t -> Whole.t **)

  let pow x =
    iter (mul x) Whole.one

  (** val size_nat : Whole.t -> nat **)

  let rec size_nat p =
    (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
      (fun p0 -> S (size_nat p0))
      (fun p0 -> S (size_nat p0))
      (fun _ -> S O)
      p

  (** val size : Whole.t -> Whole.t **)

  let rec size p =
    (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
      (fun p0 -> succ (size p0))
      (fun p0 -> succ (size p0))
      (fun _ -> Whole.one)
      p

  (** val compare_cont : comparison -> Whole.t -> Whole.t -> comparison **)

  let rec compare_cont r x y =
    (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
      (fun p ->
      (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
        (fun q0 -> compare_cont r p q0)
        (fun q0 -> compare_cont Gt p q0)
        (fun _ -> Gt)
        y)
      (fun p ->
      (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
        (fun q0 -> compare_cont Lt p q0)
        (fun q0 -> compare_cont r p q0)
        (fun _ -> Gt)
        y)
      (fun _ ->
      (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
        (fun _ -> Lt)
        (fun _ -> Lt)
        (fun _ -> r)
        y)
      x

  (** val compare : Whole.t -> Whole.t -> comparison **)

  let compare = (fun a b -> let c = Whole.compare a b in if c = 0 then Eq else if c < 0 then Lt else Gt)

  (** val eqb : Whole.t -> Whole.t -> bool **)

  let rec eqb = Whole.equal

  (** val leb : Whole.t -> Whole.t -> bool **)

  let leb x y =
    match compare x y with
    | Gt -> false
    | _ -> true

  (** val sqrtrem_step :
      (Whole.t -> Whole.t) -> (Whole.t -> Whole.t) -> (Whole.t * mask) ->
      Whole.t * mask **)

  let sqrtrem_step f g = function
  | (s, y) ->
    (match y with
     | IsPos r ->
       let s' = (fun p -> Whole.succ (Whole.shift_left p 1))
         ((fun p -> Whole.shift_left p 1) s)
       in
       let r' = g (f r) in
       if leb s' r'
       then (((fun p -> Whole.succ (Whole.shift_left p 1)) s),
              (sub_mask r' s'))
       else (((fun p -> Whole.shift_left p 1) s), (IsPos r'))
     | _ ->
       (((fun p -> Whole.shift_left p 1) s),
         (sub_mask (g (f Whole.one)) ((fun p -> Whole.shift_left p 1)
           ((fun p -> Whole.shift_left p 1) Whole.one)))))

  (** val sqrtrem : Whole.t -> Whole.t * mask **)

  let rec sqrtrem p =
    (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
      (fun p0 ->
      (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
        (fun p1 ->
        sqrtrem_step (fun x -> (fun p -> Whole.succ (Whole.shift_left p 1))
          x) (fun x -> (fun p -> Whole.succ (Whole.shift_left p 1)) x)
          (sqrtrem p1))
        (fun p1 ->
        sqrtrem_step (fun x -> (fun p -> Whole.shift_left p 1) x) (fun x ->
          (fun p -> Whole.succ (Whole.shift_left p 1)) x) (sqrtrem p1))
        (fun _ -> (Whole.one, (IsPos ((fun p -> Whole.shift_left p 1)
        Whole.one))))
        p0)
      (fun p0 ->
      (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
        (fun p1 ->
        sqrtrem_step (fun x -> (fun p -> Whole.succ (Whole.shift_left p 1))
          x) (fun x -> (fun p -> Whole.shift_left p 1) x) (sqrtrem p1))
        (fun p1 ->
        sqrtrem_step (fun x -> (fun p -> Whole.shift_left p 1) x) (fun x ->
          (fun p -> Whole.shift_left p 1) x) (sqrtrem p1))
        (fun _ -> (Whole.one, (IsPos Whole.one)))
        p0)
      (fun _ -> (Whole.one, IsNul))
      p

  (** val sqrt : Whole.t -> Whole.t **)

  let sqrt p =
    fst (sqrtrem p)

  (** val gcdn : nat -> Whole.t -> Whole.t -> Whole.t **)

  let rec gcdn n0 a b =
    match n0 with
    | O -> Whole.one
    | S n1 ->
      ((fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
         (fun a' ->
         (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
           (fun b' ->
           match compare a' b' with
           | Eq -> a
           | Lt -> gcdn n1 (sub b' a') a
           | Gt -> gcdn n1 (sub a' b') b)
           (fun b0 -> gcdn n1 a b0)
           (fun _ -> Whole.one)
           b)
         (fun a0 ->
         (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
           (fun _ -> gcdn n1 a0 b)
           (fun b0 -> (fun p -> Whole.shift_left p 1)
           (gcdn n1 a0 b0))
           (fun _ -> Whole.one)
           b)
         (fun _ -> Whole.one)
         a)

  (** val gcd : Whole.t -> Whole.t -> Whole.t **)

  let gcd = Whole.gcd

  (** val ggcdn :
      nat -> Whole.t -> Whole.t -> Whole.t * (Whole.t * Whole.t) **)

  let rec ggcdn n0 a b =
    match n0 with
    | O -> (Whole.one, (a, b))
    | S n1 ->
      ((fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
         (fun a' ->
         (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
           (fun b' ->
           match compare a' b' with
           | Eq -> (a, (Whole.one, Whole.one))
           | Lt ->
             let (g, p) = ggcdn n1 (sub b' a') a in
             let (ba, aa) = p in
             (g, (aa, (add aa ((fun p -> Whole.shift_left p 1) ba))))
           | Gt ->
             let (g, p) = ggcdn n1 (sub a' b') b in
             let (ab, bb) = p in
             (g, ((add bb ((fun p -> Whole.shift_left p 1) ab)), bb)))
           (fun b0 ->
           let (g, p) = ggcdn n1 a b0 in
           let (aa, bb) = p in (g, (aa, ((fun p -> Whole.shift_left p 1) bb))))
           (fun _ -> (Whole.one, (a, Whole.one)))
           b)
         (fun a0 ->
         (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
           (fun _ ->
           let (g, p) = ggcdn n1 a0 b in
           let (aa, bb) = p in (g, (((fun p -> Whole.shift_left p 1) aa), bb)))
           (fun b0 ->
           let (g, p) = ggcdn n1 a0 b0 in
           (((fun p -> Whole.shift_left p 1) g), p))
           (fun _ -> (Whole.one, (a, Whole.one)))
           b)
         (fun _ -> (Whole.one, (Whole.one, b)))
         a)

  (** val ggcd : Whole.t -> Whole.t -> Whole.t * (Whole.t * Whole.t) **)

  let ggcd a b =
    ggcdn (Coq__1.add (size_nat a) (size_nat b)) a b

  (** val coq_Nsucc_double : Whole.t -> Whole.t **)

  let coq_Nsucc_double x =
    (fun zero pos n -> if Whole.sign n = 0 then zero () else pos n)
      (fun _ -> (fun p -> p) Whole.one)
      (fun p -> (fun p -> p) ((fun p -> Whole.succ (Whole.shift_left p 1))
      p))
      x

  (** val coq_Ndouble : Whole.t -> Whole.t **)

  let coq_Ndouble n0 =
    (fun zero pos n -> if Whole.sign n = 0 then zero () else pos n)
      (fun _ -> Whole.zero)
      (fun p -> (fun p -> p) ((fun p -> Whole.shift_left p 1) p))
      n0

  (** val coq_land : Whole.t -> Whole.t -> Whole.t **)

  let rec coq_land p q0 =
    (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
      (fun p0 ->
      (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
        (fun q1 -> coq_Nsucc_double (coq_land p0 q1))
        (fun q1 -> coq_Ndouble (coq_land p0 q1))
        (fun _ -> (fun p -> p) Whole.one)
        q0)
      (fun p0 ->
      (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
        (fun q1 -> coq_Ndouble (coq_land p0 q1))
        (fun q1 -> coq_Ndouble (coq_land p0 q1))
        (fun _ -> Whole.zero)
        q0)
      (fun _ ->
      (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
        (fun _ -> (fun p -> p) Whole.one)
        (fun _ -> Whole.zero)
        (fun _ -> (fun p -> p) Whole.one)
        q0)
      p

  (** val iter_op : ('a1 -> 'a1 -> 'a1) -> Whole.t -> 'a1 -> 'a1 **)

  let rec iter_op op p a =
    (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
      (fun p0 -> op a (iter_op op p0 (op a a)))
      (fun p0 -> iter_op op p0 (op a a))
      (fun _ -> a)
      p

  (** val to_nat : Whole.t -> nat **)

  let to_nat x =
    iter_op Coq__1.add x (S O)

  (** val of_succ_nat : nat -> Whole.t **)

  let rec of_succ_nat = function
  | O -> Whole.one
  | S x -> succ (of_succ_nat x)
 end

module N =
 struct
  (** val add : Whole.t -> Whole.t -> Whole.t **)

  let add = Whole.add

  (** val mul : Whole.t -> Whole.t -> Whole.t **)

  let mul = Whole.mul

  (** val compare : Whole.t -> Whole.t -> comparison **)

  let compare = (fun a b -> let c = Whole.compare a b in if c = 0 then Eq else if c < 0 then Lt else Gt)

  (** val eqb : Whole.t -> Whole.t -> bool **)

  let eqb = Whole.equal

  (** val ltb : Whole.t -> Whole.t -> bool **)

  let ltb = Whole.lt

  (** val coq_land : Whole.t -> Whole.t -> Whole.t **)

  let coq_land n0 m =
    (fun zero pos n -> if Whole.sign n = 0 then zero () else pos n)
      (fun _ -> Whole.zero)
      (fun p ->
      (fun zero pos n -> if Whole.sign n = 0 then zero () else pos n)
        (fun _ -> Whole.zero)
        (fun q0 -> Coq_Pos.coq_land p q0)
        m)
      n0
 end

(** val zero : char **)

let zero = '\000'

(** val one : char **)

let one = '\001'

(** val shift : bool -> char -> char **)

let shift = fun b c -> Char.chr (((Char.code c) lsl 1) land 255 + if b then 1 else 0)

(** val eqb0 : char -> char -> bool **)

let eqb0 = (fun (a : char) b -> a = b)

(** val ascii_of_pos : Whole.t -> char **)

let ascii_of_pos =
  let rec loop n0 p =
    match n0 with
    | O -> zero
    | S n' ->
      ((fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
         (fun p' -> shift true (loop n' p'))
         (fun p' -> shift false (loop n' p'))
         (fun _ -> one)
         p)
  in loop (S (S (S (S (S (S (S (S O))))))))

(** val ascii_of_N : Whole.t -> char **)

let ascii_of_N n0 =
  (fun zero pos n -> if Whole.sign n = 0 then zero () else pos n)
    (fun _ -> zero)
    (fun p -> ascii_of_pos p)
    n0

(** val n_of_digits : bool list -> Whole.t **)

let rec n_of_digits = function
| [] -> Whole.zero
| b :: l' ->
  N.add (if b then (fun p -> p) Whole.one else Whole.zero)
    (N.mul ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      (n_of_digits l'))

(** val n_of_ascii : char -> Whole.t **)

let n_of_ascii a =
  (* If this appears, you're using Ascii internals. Please don't *)
 (fun f c ->
  let n = Char.code c in
  let h i = (n land (1 lsl i)) <> 0 in
  f (h 0) (h 1) (h 2) (h 3) (h 4) (h 5) (h 6) (h 7))
    (fun a0 a1 a2 a3 a4 a5 a6 a7 ->
    n_of_digits
      (a0 :: (a1 :: (a2 :: (a3 :: (a4 :: (a5 :: (a6 :: (a7 :: [])))))))))
    a

(** val hd : 'a1 -> 'a1 list -> 'a1 **)

let hd default = function
| [] -> default
| x :: _ -> x

(** val tl : 'a1 list -> 'a1 list **)

let tl = function
| [] -> []
| _ :: m -> m

(** val nth : nat -> 'a1 list -> 'a1 -> 'a1 **)

let rec nth n0 l default =
  match n0 with
  | O -> (match l with
          | [] -> default
          | x :: _ -> x)
  | S m -> (match l with
            | [] -> default
            | _ :: t0 -> nth m t0 default)

(** val last : 'a1 list -> 'a1 -> 'a1 **)

let rec last l d =
  match l with
  | [] -> d
  | a :: l0 -> (match l0 with
                | [] -> a
                | _ :: _ -> last l0 d)

(** val rev : 'a1 list -> 'a1 list **)

let rec rev = function
| [] -> []
| x :: l' -> app (rev l') (x :: [])

(** val map : ('a1 -> 'a2) -> 'a1 list -> 'a2 list **)

let rec map f = function
| [] -> []
| a :: t0 -> (f a) :: (map f t0)

(** val flat_map : ('a1 -> 'a2 list) -> 'a1 list -> 'a2 list **)

let rec flat_map f = function
| [] -> []
| x :: t0 -> app (f x) (flat_map f t0)

(** val fold_left : ('a1 -> 'a2 -> 'a1) -> 'a2 list -> 'a1 -> 'a1 **)

let rec fold_left f l a0 =
  match l with
  | [] -> a0
  | b :: t0 -> fold_left f t0 (f a0 b)

(** val fold_right : ('a2 -> 'a1 -> 'a1) -> 'a1 -> 'a2 list -> 'a1 **)

let rec fold_right f a0 = function
| [] -> a0
| b :: t0 -> f b (fold_right f a0 t0)

(** val existsb : ('a1 -> bool) -> 'a1 list -> bool **)

let rec existsb f = function
| [] -> false
| a :: l0 -> (||) (f a) (existsb f l0)

(** val forallb : ('a1 -> bool) -> 'a1 list -> bool **)

let rec forallb f = function
| [] -> true
| a :: l0 -> (&&) (f a) (forallb f l0)

(** val filter : ('a1 -> bool) -> 'a1 list -> 'a1 list **)

let rec filter f = function
| [] -> []
| x :: l0 -> if f x then x :: (filter f l0) else filter f l0

(** val combine : 'a1 list -> 'a2 list -> ('a1 * 'a2) list **)

let rec combine l l' =
  match l with
  | [] -> []
  | x :: tl0 ->
    (match l' with
     | [] -> []
     | y :: tl' -> (x, y) :: (combine tl0 tl'))

(** val firstn : nat -> 'a1 list -> 'a1 list **)

let rec firstn n0 l =
  match n0 with
  | O -> []
  | S n1 -> (match l with
             | [] -> []
             | a :: l0 -> a :: (firstn n1 l0))

(** val skipn : nat -> 'a1 list -> 'a1 list **)

let rec skipn n0 l =
  match n0 with
  | O -> l
  | S n1 -> (match l with
             | [] -> []
             | _ :: l0 -> skipn n1 l0)

(** val seq : nat -> nat -> nat list **)

let rec seq start = function
| O -> []
| S len0 -> start :: (seq (S start) len0)

(** val repeat : 'a1 -> nat -> 'a1 list **)

let rec repeat x = function
| O -> []
| S k -> x :: (repeat x k)

module Z =
 struct
  (** val double : Whole.t -> Whole.t **)

  let double x =
    (fun zero pos neg z -> let s = Whole.sign z in if s = 0 then zero () else if s > 0 then pos z else neg (Whole.neg z))
      (fun _ -> Whole.zero)
      (fun p -> (fun p -> p) ((fun p -> Whole.shift_left p 1) p))
      (fun p -> Whole.neg ((fun p -> Whole.shift_left p 1) p))
      x

  (** val succ_double : Whole.t -> Whole.t **)

  let succ_double x =
    (fun zero pos neg z -> let s = Whole.sign z in if s = 0 then zero () else if s > 0 then pos z else neg (Whole.neg z))
      (fun _ -> (fun p -> p) Whole.one)
      (fun p -> (fun p -> p) ((fun p -> Whole.succ (Whole.shift_left p 1))
      p))
      (fun p -> Whole.neg (Coq_Pos.pred_double p))
      x

  (** val pred_double : Whole.t -> Whole.t **)

  let pred_double x =
    (fun zero pos neg z -> let s = Whole.sign z in if s = 0 then zero () else if s > 0 then pos z else neg (Whole.neg z))
      (fun _ -> Whole.neg Whole.one)
      (fun p -> (fun p -> p) (Coq_Pos.pred_double p))
      (fun p -> Whole.neg ((fun p -> Whole.succ (Whole.shift_left p 1)) p))
      x

  (** val pos_sub : Whole.t -> Whole.t -> Whole.t **)

  let rec pos_sub x y =
    (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
      (fun p ->
      (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
        (fun q0 -> double (pos_sub p q0))
        (fun q0 -> succ_double (pos_sub p q0))
        (fun _ -> (fun p -> p) ((fun p -> Whole.shift_left p 1) p))
        y)
      (fun p ->
      (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
        (fun q0 -> pred_double (pos_sub p q0))
        (fun q0 -> double (pos_sub p q0))
        (fun _ -> (fun p -> p) (Coq_Pos.pred_double p))
        y)
      (fun _ ->
      (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
        (fun q0 -> Whole.neg ((fun p -> Whole.shift_left p 1) q0))
        (fun q0 -> Whole.neg (Coq_Pos.pred_double q0))
        (fun _ -> Whole.zero)
        y)
      x

  (** val add : Whole.t -> Whole.t -> Whole.t **)

  let add = Whole.add

  (** val opp : Whole.t -> Whole.t **)

  let opp = Whole.neg

  (** val sub : Whole.t -> Whole.t -> Whole.t **)

  let sub = Whole.sub

  (** val mul : Whole.t -> Whole.t -> Whole.t **)

  let mul = Whole.mul

  (** val pow_pos : Whole.t -> Whole.t -> Whole.t **)

  let pow_pos z0 =
    Coq_Pos.iter (mul z0) ((fun p -> p) Whole.one)

  (** val pow : Whole.t -> Whole.t -> Whole.t **)

  let pow = (fun a b -> if Whole.sign b < 0 then Whole.zero else if Whole.equal a (Whole.of_int 2) then Whole.shift_left Whole.one (Whole.to_int b) else Whole.pow a (Whole.to_int b))

  (** val compare : Whole.t -> Whole.t -> comparison **)

  let compare = (fun a b -> let c = Whole.compare a b in if c = 0 then Eq else if c < 0 then Lt else Gt)

  (** val sgn : Whole.t -> Whole.t **)

  let sgn z0 =
    (fun zero pos neg z -> let s = Whole.sign z in if s = 0 then zero () else if s > 0 then pos z else neg (Whole.neg z))
      (fun _ -> Whole.zero)
      (fun _ -> (fun p -> p) Whole.one)
      (fun _ -> Whole.neg Whole.one)
      z0

  (** val leb : Whole.t -> Whole.t -> bool **)

  let leb = Whole.leq

  (** val ltb : Whole.t -> Whole.t -> bool **)

  let ltb = Whole.lt

  (** val eqb : Whole.t -> Whole.t -> bool **)

  let eqb = Whole.equal

  (** val max : Whole.t -> Whole.t -> Whole.t **)

  let max = Whole.max

  (** val min : Whole.t -> Whole.t -> Whole.t **)

  let min = Whole.min

  (** val abs : Whole.t -> Whole.t **)

  let abs = Whole.abs

  (** val to_nat : Whole.t -> nat **)

  let to_nat = (fun z -> let rec go n acc = if Whole.sign n <= 0 then acc else go (Whole.pred n) (S acc) in go z O)

  (** val to_N : Whole.t -> Whole.t **)

  let to_N = (fun z -> if Whole.sign z < 0 then Whole.zero else z)

  (** val of_nat : nat -> Whole.t **)

  let of_nat = (fun n -> let rec go n acc = match n with O -> acc | S m -> go m (acc + 1) in Whole.of_int (go n 0))

  (** val of_N : Whole.t -> Whole.t **)

  let of_N = (fun n -> n)

  (** val to_pos : Whole.t -> Whole.t **)

  let to_pos = (fun z -> if Whole.sign z <= 0 then Whole.one else z)

  (** val pos_div_eucl : Whole.t -> Whole.t -> Whole.t * Whole.t **)

  let rec pos_div_eucl a b =
    (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
      (fun a' ->
      let (q0, r) = pos_div_eucl a' b in
      let r' =
        add
          (mul ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one)) r)
          ((fun p -> p) Whole.one)
      in
      if ltb r' b
      then ((mul ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
              q0), r')
      else ((add
              (mul ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
                q0) ((fun p -> p) Whole.one)), (sub r' b)))
      (fun a' ->
      let (q0, r) = pos_div_eucl a' b in
      let r' =
        mul ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one)) r
      in
      if ltb r' b
      then ((mul ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
              q0), r')
      else ((add
              (mul ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
                q0) ((fun p -> p) Whole.one)), (sub r' b)))
      (fun _ ->
      if leb ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one)) b
      then (Whole.zero, ((fun p -> p) Whole.one))
      else (((fun p -> p) Whole.one), Whole.zero))
      a

  (** val div_eucl : Whole.t -> Whole.t -> Whole.t * Whole.t **)

  let div_eucl = (fun a b -> if Whole.sign b = 0 then (Whole.zero, a) else let q = Whole.fdiv a b in (q, Whole.sub a (Whole.mul b q)))

  (** val div : Whole.t -> Whole.t -> Whole.t **)

  let div = (fun a b -> if Whole.sign b = 0 then Whole.zero else Whole.fdiv a b)

  (** val modulo : Whole.t -> Whole.t -> Whole.t **)

  let modulo = (fun a b -> if Whole.sign b = 0 then a else Whole.sub a (Whole.mul b (Whole.fdiv a b)))

  (** val log2 : Whole.t -> Whole.t **)

  let log2 = (fun z -> if Whole.sign z <= 0 then Whole.zero else Whole.of_int (Whole.numbits z - 1))

  (** val sqrt : Whole.t -> Whole.t **)

  let sqrt = (fun z -> if Whole.sign z <= 0 then Whole.zero else Whole.sqrt z)

  (** val gcd : Whole.t -> Whole.t -> Whole.t **)

  let gcd = Whole.gcd

  (** val ggcd : Whole.t -> Whole.t -> Whole.t * (Whole.t * Whole.t) **)

  let ggcd = (fun a b -> let g = Whole.gcd a b in if Whole.sign g = 0 then (g, (a, b)) else (g, (Whole.divexact a g, Whole.divexact b g)))
 end

(** val zeq_bool : Whole.t -> Whole.t -> bool **)

let zeq_bool x y =
  match Z.compare x y with
  | Eq -> true
  | _ -> false

(** val length0 : string -> nat **)

let rec length0 s =
  (* If this appears, you're using String internals. Please don't *)
 (fun f0 f1 s ->
    let l = String.length s in
    if l = 0 then f0 () else f1 (String.get s 0) (String.sub s 1 (l-1)))

    (fun _ -> O)
    (fun _ s' -> S (length0 s'))
    s



type q = { qnum : Whole.t; qden : Whole.t }

(** val inject_Z : Whole.t -> q **)

let inject_Z x =
  { qnum = x; qden = Whole.one }

(** val qeq_bool : q -> q -> bool **)

let qeq_bool x y =
  zeq_bool (Z.mul x.qnum ((fun p -> p) y.qden))
    (Z.mul y.qnum ((fun p -> p) x.qden))

(** val qle_bool : q -> q -> bool **)

let qle_bool x y =
  Z.leb (Z.mul x.qnum ((fun p -> p) y.qden))
    (Z.mul y.qnum ((fun p -> p) x.qden))

(** val qplus : q -> q -> q **)

let qplus x y =
  { qnum =
    (Z.add (Z.mul x.qnum ((fun p -> p) y.qden))
      (Z.mul y.qnum ((fun p -> p) x.qden))); qden =
    (Coq_Pos.mul x.qden y.qden) }

(** val qmult : q -> q -> q **)

let qmult x y =
  { qnum = (Z.mul x.qnum y.qnum); qden = (Coq_Pos.mul x.qden y.qden) }

(** val qopp : q -> q **)

let qopp x =
  { qnum = (Z.opp x.qnum); qden = x.qden }

(** val qminus : q -> q -> q **)

let qminus x y =
  qplus x (qopp y)

(** val qinv : q -> q **)

let qinv x =
  (fun zero pos neg z -> let s = Whole.sign z in if s = 0 then zero () else if s > 0 then pos z else neg (Whole.neg z))
    (fun _ -> { qnum = Whole.zero; qden = Whole.one })
    (fun p -> { qnum = ((fun p -> p) x.qden); qden = p })
    (fun p -> { qnum = (Whole.neg x.qden); qden = p })
    x.qnum

(** val qdiv : q -> q -> q **)

let qdiv x y =
  qmult x (qinv y)

(** val qred : q -> q **)

let qred q0 =
  let { qnum = q1; qden = q2 } = q0 in
  let (r1, r2) = snd (Z.ggcd q1 ((fun p -> p) q2)) in
  { qnum = r1; qden = (Z.to_pos r2) }

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

(** val all_some : ('a1 -> 'a2 option) -> 'a1 list -> 'a2 list option **)

let rec all_some f = function
| [] -> Some []
| a :: rest ->
  (match f a with
   | Some b ->
     (match all_some f rest with
      | Some bs -> Some (b :: bs)
      | None -> None)
   | None -> None)

(** val plus : q -> q -> q **)

let plus a b =
  qred (qplus a b)

(** val minus : q -> q -> q **)

let minus a b =
  qred (qminus a b)

(** val times : q -> q -> q **)

let times a b =
  qred (qmult a b)

(** val over0 : q -> q -> q **)

let over0 a b =
  qred (qdiv a b)

(** val of_Z : Whole.t -> q **)

let of_Z =
  inject_Z

(** val larger : q -> q -> q **)

let larger a b =
  if qle_bool a b then b else a

(** val absolute : q -> q **)

let absolute a =
  { qnum = (Z.abs a.qnum); qden = a.qden }

(** val below : q -> q -> bool **)

let below a b =
  negb (qle_bool b a)

(** val largest : q list -> q **)

let largest = function
| [] -> { qnum = Whole.zero; qden = Whole.one }
| a :: rest -> fold_left larger rest a

(** val sum_of : q list -> q **)

let sum_of l =
  fold_left plus l { qnum = Whole.zero; qden = Whole.one }

(** val q_eqb : q -> q -> bool **)

let q_eqb a b =
  (&&) (Z.eqb a.qnum b.qnum) (Coq_Pos.eqb a.qden b.qden)

(** val list_eqb : ('a1 -> 'a1 -> bool) -> 'a1 list -> 'a1 list -> bool **)

let rec list_eqb eqb1 l m =
  match l with
  | [] -> (match m with
           | [] -> true
           | _ :: _ -> false)
  | a :: l0 ->
    (match m with
     | [] -> false
     | b :: m0 -> (&&) (eqb1 a b) (list_eqb eqb1 l0 m0))

(** val relation_eqb : relation -> relation -> bool **)

let rec relation_eqb a b =
  match a with
  | ReplaceOne -> (match b with
                   | ReplaceOne -> true
                   | _ -> false)
  | AddRemove -> (match b with
                  | AddRemove -> true
                  | _ -> false)
  | BoundedRow r -> (match b with
                     | BoundedRow s -> q_eqb r s
                     | _ -> false)
  | Entering (a0, k, b') ->
    (match b with
     | Entering (a', k', b'') ->
       (&&) ((&&) (relation_eqb a0 a') (Z.eqb k k')) (Z.eqb b' b'')
     | _ -> false)
  | Groups (a0, k) ->
    (match b with
     | Groups (a', k') -> (&&) (relation_eqb a0 a') (Z.eqb k k')
     | _ -> false)

(** val observer_eqb : observer -> observer -> bool **)

let observer_eqb a b =
  match a with
  | Central -> (match b with
                | Central -> true
                | _ -> false)
  | Joint -> (match b with
              | Joint -> true
              | _ -> false)
  | Local -> (match b with
              | Local -> true
              | _ -> false)

(** val is_none : 'a1 option -> bool **)

let is_none = function
| Some _ -> false
| None -> true

(** val anyone : Whole.t * Whole.t **)

let anyone =
  (((fun p -> p) Whole.one),
    (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      ((fun p -> p) ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one))))))))

(** val squares : Whole.t list -> Whole.t **)

let squares l =
  fold_left (fun s v -> Z.add s (Z.mul v v)) l Whole.zero

(** val longest : Whole.t list list -> Whole.t **)

let longest moves =
  fold_left Z.max (map squares moves) Whole.zero

module Sort =
 functor (X:TotalLeBool') ->
 struct
  (** val merge : X.t list -> X.t list -> X.t list **)

  let rec merge l1 l2 =
    let rec merge_aux l3 =
      match l1 with
      | [] -> l3
      | a1 :: l1' ->
        (match l3 with
         | [] -> l1
         | a2 :: l2' ->
           if X.leb a1 a2 then a1 :: (merge l1' l3) else a2 :: (merge_aux l2'))
    in merge_aux l2

  (** val merge_list_to_stack :
      X.t list option list -> X.t list -> X.t list option list **)

  let rec merge_list_to_stack stack l =
    match stack with
    | [] -> (Some l) :: []
    | y :: stack' ->
      (match y with
       | Some l' -> None :: (merge_list_to_stack stack' (merge l' l))
       | None -> (Some l) :: stack')

  (** val merge_stack : X.t list option list -> X.t list **)

  let rec merge_stack = function
  | [] -> []
  | y :: stack' ->
    (match y with
     | Some l -> merge l (merge_stack stack')
     | None -> merge_stack stack')

  (** val iter_merge : X.t list option list -> X.t list -> X.t list **)

  let rec iter_merge stack = function
  | [] -> merge_stack stack
  | a :: l' -> iter_merge (merge_list_to_stack stack (a :: [])) l'

  (** val sort : X.t list -> X.t list **)

  let sort =
    iter_merge []

  (** val flatten_stack : X.t list option list -> X.t list **)

  let rec flatten_stack = function
  | [] -> []
  | o :: stack' ->
    (match o with
     | Some l -> app l (flatten_stack stack')
     | None -> flatten_stack stack')
 end

module ZOrder =
 struct
  type t = Whole.t

  (** val leb : Whole.t -> Whole.t -> bool **)

  let leb =
    Z.leb
 end

module ZSort = Sort(ZOrder)

(** val sweep :
    nat -> Whole.t list -> Whole.t list -> Whole.t -> Whole.t -> Whole.t **)

let rec sweep fuel firsts lasts now best =
  match fuel with
  | O -> best
  | S less ->
    (match firsts with
     | [] -> best
     | f :: firsts' ->
       (match lasts with
        | [] ->
          sweep less firsts' lasts (Z.add now ((fun p -> p) Whole.one))
            (Z.max best (Z.add now ((fun p -> p) Whole.one)))
        | l :: lasts' ->
          if Z.ltb l f
          then sweep less firsts lasts' (Z.sub now ((fun p -> p) Whole.one))
                 best
          else sweep less firsts' lasts (Z.add now ((fun p -> p) Whole.one))
                 (Z.max best (Z.add now ((fun p -> p) Whole.one)))))

(** val most_open : (Whole.t * Whole.t) list -> Whole.t **)

let most_open covers =
  sweep (mul (S (S O)) (length covers)) (ZSort.sort (map fst covers))
    (ZSort.sort (map snd covers)) Whole.zero Whole.zero

(** val least_of : Whole.t list -> Whole.t **)

let least_of = function
| [] -> Whole.zero
| a :: rest -> fold_left Z.min rest a

(** val most_of : Whole.t list -> Whole.t **)

let most_of = function
| [] -> Whole.zero
| a :: rest -> fold_left Z.max rest a

(** val proper : (Whole.t * Whole.t) -> bool **)

let proper c =
  (&&)
    ((&&) (Z.leb ((fun p -> p) Whole.one) (fst c)) (Z.leb (fst c) (snd c)))
    (Z.ltb (snd c)
      (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
        ((fun p -> p) ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one))))))))

(** val unit_there : Whole.t -> bool **)

let unit_there z0 =
  (&&) (Z.leb ((fun p -> p) Whole.one) z0)
    (Z.ltb z0
      (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
        ((fun p -> p) ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one))))))))

(** val covered : string -> (Whole.t * Whole.t) list -> fact option **)

let covered q0 covers =
  if match covers with
     | [] -> false
     | _ :: _ -> forallb proper covers
  then Some (Covered (q0, (Z.of_nat (length covers)), (most_open covers),
         (most_of
           (map (fun c ->
             Z.add (Z.sub (snd c) (fst c)) ((fun p -> p) Whole.one)) covers)),
         ((least_of (map fst covers)), (most_of (map snd covers)))))
  else None

(** val tree : string -> Whole.t -> Whole.t -> fact option **)

let tree q0 rounds levels =
  if (&&) ((&&) (unit_there rounds) (Z.leb ((fun p -> p) Whole.one) levels))
       (Z.leb levels (Z.add (Z.log2 rounds) ((fun p -> p) Whole.one)))
  then Some (Covered (q0,
         (fold_left Z.add
           (map (fun l ->
             Z.div rounds
               (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                 Whole.one)) (Z.of_nat l))) (seq O (Z.to_nat levels)))
           Whole.zero), levels,
         (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
           (Z.sub levels ((fun p -> p) Whole.one))), (((fun p -> p)
         Whole.one), rounds)))
  else None

(** val rising : Whole.t -> Whole.t list -> bool **)

let rec rising before0 = function
| [] -> true
| a :: rest -> (&&) (Z.ltb before0 a) (rising a rest)

(** val entered :
    string -> Whole.t -> Whole.t option -> Whole.t option -> Whole.t list
    option -> fact option **)

let entered q0 rounds participations separation ends0 =
  let many =
    match participations with
    | Some k -> k
    | None -> (fun p -> p) Whole.one
  in
  let several = Z.ltb ((fun p -> p) Whole.one) many in
  if (&&)
       ((&&)
         ((&&)
           ((&&)
             ((&&) (unit_there rounds)
               (match participations with
                | Some k -> Z.leb ((fun p -> p) Whole.one) k
                | None -> true))
             (match separation with
              | Some k -> Z.leb ((fun p -> p) Whole.one) k
              | None -> true))
           (eqb (negb (is_none participations)) (negb (is_none separation))))
         (eqb (negb (is_none separation)) several))
       (match ends0 with
        | Some l ->
          (&&)
            ((&&)
              ((&&)
                ((&&) (match l with
                       | [] -> false
                       | _ :: _ -> true) (rising Whole.zero l))
                (forallb unit_there l)) (Z.eqb (Z.of_nat (length l)) rounds))
            (Z.eqb many ((fun p -> p) Whole.one))
        | None -> true)
  then Some (Rounds (q0, rounds, many,
         (match separation with
          | Some b -> b
          | None -> (fun p -> p) Whole.one),
         (match ends0 with
          | Some l -> last l rounds
          | None -> rounds)))
  else None

(** val matrices_apart : q list -> q list -> bool -> q **)

let matrices_apart v w corner =
  let n0 = length v in
  sum_of
    (flat_map (fun j ->
      map (fun k ->
        if (||) corner
             (negb ((&&) (Nat.eqb j (pred n0)) (Nat.eqb k (pred n0))))
        then let d =
               minus
                 (times (nth j v { qnum = Whole.zero; qden = Whole.one })
                   (nth k v { qnum = Whole.zero; qden = Whole.one }))
                 (times (nth j w { qnum = Whole.zero; qden = Whole.one })
                   (nth k w { qnum = Whole.zero; qden = Whole.one }))
             in
             times d d
        else { qnum = Whole.zero; qden = Whole.one }) (seq O n0)) (seq O n0))

(** val neighbours_apart :
    string -> kind -> q list -> q list -> relation -> observer -> fact option **)

let neighbours_apart q0 set v w rel o =
  let moves = map (fun p -> minus (fst p) (snd p)) (combine v w) in
  if (&&) ((&&) (Nat.ltb O (length v)) (Nat.eqb (length v) (length w)))
       ((||) (relation_eqb rel ReplaceOne)
         (forallb (fun y ->
           qeq_bool y { qnum = Whole.zero; qden = Whole.one }) w))
  then (match set with
        | Ball ->
          (match moves with
           | [] ->
             Some (Apart (q0, ByVector,
               ((sum_of (map (fun x -> times x x) moves)) :: []), rel, o))
           | x :: l ->
             (match l with
              | [] ->
                Some (Apart (q0, ByNumber, ((absolute x) :: []), rel, o))
              | _ :: _ ->
                Some (Apart (q0, ByVector,
                  ((sum_of (map (fun x0 -> times x0 x0) moves)) :: []), rel,
                  o))))
        | RankOne ->
          if (&&) (Nat.ltb (S O) (length v)) (relation_eqb rel ReplaceOne)
          then Some (Apart (q0, BySymmetric,
                 ((matrices_apart v w
                    (match set with
                     | Outer -> true
                     | _ -> false)) :: []), rel, o))
          else None
        | Outer ->
          if (&&) (Nat.ltb (S O) (length v)) (relation_eqb rel ReplaceOne)
          then Some (Apart (q0, BySymmetric,
                 ((matrices_apart v w
                    (match set with
                     | Outer -> true
                     | _ -> false)) :: []), rel, o))
          else None
        | _ -> None)
  else None

(** val small : q -> bool **)

let small a =
  (&&) (qle_bool { qnum = Whole.zero; qden = Whole.one } a)
    (qle_bool a { qnum = ((fun p -> p) Whole.one); qden = Whole.one })

(** val nonnegative_law : curve -> bool **)

let nonnegative_law = function
| Pure a -> qle_bool { qnum = Whole.zero; qden = Whole.one } a
| Approximate (a, b) ->
  (&&) (qle_bool { qnum = Whole.zero; qden = Whole.one } a)
    (qle_bool { qnum = Whole.zero; qden = Whole.one } b)
| Zcdp a -> qle_bool { qnum = Whole.zero; qden = Whole.one } a
| Gdp a -> qle_bool { qnum = Whole.zero; qden = Whole.one } a
| _ -> false

(** val simple_relation : relation -> bool **)

let simple_relation = function
| ReplaceOne -> true
| AddRemove -> true
| _ -> false

(** val distinct : string list -> bool **)

let rec distinct = function
| [] -> true
| a :: rest -> (&&) (negb (existsb ((=) a) rest)) (distinct rest)

(** val hypothesis : step -> fact option **)

let hypothesis = function
| AssumeView (q0, shown0, releases) -> Some (View (q0, shown0, releases))
| AssumeBall (q0, radius, rel, source0) ->
  if (&&) (qle_bool { qnum = Whole.zero; qden = Whole.one } radius)
       (simple_relation rel)
  then Some (Contribution (q0, Ball, { qnum = Whole.zero; qden = Whole.one },
         (times radius radius), [], rel, source0))
  else None
| AssumeRankOne (q0, reward, corner, rel, source0) ->
  if (&&) (relation_eqb rel ReplaceOne)
       (qle_bool { qnum = Whole.zero; qden = Whole.one } reward)
  then Some (Contribution (q0, (if corner then Outer else RankOne), { qnum =
         Whole.zero; qden = Whole.one }, reward, [], rel, source0))
  else None
| AssumePoints (q0, points, rel, source0) ->
  if (&&) (simple_relation rel)
       (forallb (fun p -> Nat.eqb (length p) (length (hd [] points))) points)
  then Some (Contribution (q0, Points, { qnum = Whole.zero; qden =
         Whole.one }, { qnum = Whole.zero; qden = Whole.one }, points, rel,
         source0))
  else None
| AssumeClipped (q0, low, high, rel, source0) ->
  if (&&) (qle_bool low high) (simple_relation rel)
  then Some (Contribution (q0, Interval, low, high, [], rel, source0))
  else None
| AssumeCell (q0, rel, most) ->
  if (&&)
       ((&&) (Z.leb ((fun p -> p) Whole.one) most)
         (Z.leb most ((fun p -> p) ((fun p -> Whole.shift_left p 1)
           ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
           ((fun p -> Whole.succ (Whole.shift_left p 1))
           ((fun p -> Whole.shift_left p 1)
           ((fun p -> Whole.succ (Whole.shift_left p 1))
           ((fun p -> Whole.succ (Whole.shift_left p 1))
           ((fun p -> Whole.succ (Whole.shift_left p 1))
           ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one))))))))))))
       (simple_relation rel)
  then Some (Contribution (q0, Cell, { qnum = Whole.zero; qden = Whole.one },
         (of_Z most), [], rel, Public))
  else None
| AssumeLipschitz (q0, factor, slack, reach) ->
  if (&&)
       ((&&) (qle_bool { qnum = Whole.zero; qden = Whole.one } factor)
         (qle_bool { qnum = Whole.zero; qden = Whole.one } slack))
       (qle_bool { qnum = Whole.zero; qden = Whole.one } reach)
  then Some (Lipschitz (q0, factor, slack, reach))
  else None
| AssumeCovers (q0, covers) -> covered q0 covers
| AssumeTree (q0, rounds, levels) -> tree q0 rounds levels
| AssumeRounds (q0, rounds, k, b, ends0) -> entered q0 rounds k b ends0
| AssumeNumbers (q0, most) ->
  if Z.leb ((fun p -> p) Whole.one) most
  then Some (Numbers (q0, most))
  else None
| AssumeRange (q0, width, rel) ->
  if (&&) (qle_bool { qnum = Whole.zero; qden = Whole.one } width)
       (simple_relation rel)
  then Some (Stable (q0, Range, width, rel, None))
  else None
| AssumeEach (q0, width, rel) ->
  if (&&) (qle_bool { qnum = Whole.zero; qden = Whole.one } width)
       (simple_relation rel)
  then Some (Stable (q0, EachNumber, width, rel, None))
  else None
| AssumeL1 (q0, width, rel) ->
  if (&&) (qle_bool { qnum = Whole.zero; qden = Whole.one } width)
       (simple_relation rel)
  then Some (Stable (q0, L1, width, rel, None))
  else None
| AssumeChoice (q0, parts) ->
  (match parts with
   | [] -> None
   | _ :: _ -> Some (Choice (q0, parts)))
| AssumeSplit (q0, cells) ->
  if (&&) (match cells with
           | [] -> false
           | _ :: _ -> true) (distinct cells)
  then Some (Split (q0, cells))
  else None
| AssumePersons (q0, rel, rows, most) ->
  if (&&)
       ((&&)
         ((&&)
           (Z.leb ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
             most) (simple_relation rel)) (simple_relation rows))
       ((||) (relation_eqb rel ReplaceOne) (relation_eqb rows AddRemove))
  then Some (Persons (q0, rel, rows, most))
  else None
| AssumeRare (q0, how0, probability) ->
  if small probability then Some (Rare (q0, how0, probability)) else None
| AssumeFilter (q0, law, rel) ->
  if (&&) (nonnegative_law law) (simple_relation rel)
  then Some (Private (q0, law, rel, Central, None))
  else None
| AssumeNeighbours (q0, set, v, w, rel, o) ->
  neighbours_apart q0 set v w rel o
| AssumeEvent (q0, likely, rarely, rel, o) ->
  if (&&) (small likely) (small rarely)
  then Some (Apart (q0, ByEvent, (likely :: (rarely :: [])), rel, o))
  else None
| _ -> None

type ends = Whole.t option * Whole.t option

(** val up_div : Whole.t -> Whole.t -> Whole.t **)

let up_div a b =
  Z.opp (Z.div (Z.opp a) b)

(** val opt : ('a1 -> 'a2) -> 'a1 option -> 'a2 option **)

let opt f = function
| Some a0 -> Some (f a0)
| None -> None

(** val opt2 :
    ('a1 -> 'a2 -> 'a3) -> 'a1 option -> 'a2 option -> 'a3 option **)

let opt2 f a b =
  match a with
  | Some a0 -> (match b with
                | Some b0 -> Some (f a0 b0)
                | None -> None)
  | None -> None

(** val of_Q : Whole.t -> q -> ends **)

let of_Q p =
  let one0 =
    Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      ((fun p -> p) p)
  in
  (fun q0 -> ((Some (Z.div (Z.mul q0.qnum one0) ((fun p -> p) q0.qden))),
  (Some (up_div (Z.mul q0.qnum one0) ((fun p -> p) q0.qden)))))

(** val add0 : ends -> ends -> ends **)

let add0 a b =
  ((opt2 Z.add (fst a) (fst b)), (opt2 Z.add (snd a) (snd b)))

(** val neg : ends -> ends **)

let neg a =
  ((opt Z.opp (snd a)), (opt Z.opp (fst a)))

(** val sub0 : ends -> ends -> ends **)

let sub0 a b =
  add0 a (neg b)

(** val nonneg : ends -> bool **)

let nonneg a =
  match fst a with
  | Some z0 -> Z.leb Whole.zero z0
  | None -> false

(** val is_zero : ends -> bool **)

let is_zero = function
| (o, o0) ->
  (match o with
   | Some z0 ->
     ((fun zero pos neg z -> let s = Whole.sign z in if s = 0 then zero () else if s > 0 then pos z else neg (Whole.neg z))
        (fun _ ->
        match o0 with
        | Some z1 ->
          ((fun zero pos neg z -> let s = Whole.sign z in if s = 0 then zero () else if s > 0 then pos z else neg (Whole.neg z))
             (fun _ -> true)
             (fun _ -> false)
             (fun _ -> false)
             z1)
        | None -> false)
        (fun _ -> false)
        (fun _ -> false)
        z0)
   | None -> false)

(** val mul0 : Whole.t -> ends -> ends -> ends **)

let mul0 p =
  let one0 =
    Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      ((fun p -> p) p)
  in
  (fun a b ->
  if (||) (is_zero a) (is_zero b)
  then ((Some Whole.zero), (Some Whole.zero))
  else if (&&) (nonneg a) (nonneg b)
       then ((opt2 (fun x y -> Z.div (Z.mul x y) one0) (fst a) (fst b)),
              (opt2 (fun x y -> up_div (Z.mul x y) one0) (snd a) (snd b)))
       else let (o, o0) = a in
            (match o with
             | Some a1 ->
               (match o0 with
                | Some a2 ->
                  let (o1, o2) = b in
                  (match o1 with
                   | Some b1 ->
                     (match o2 with
                      | Some b2 ->
                        let all =
                          (Z.mul a1 b1) :: ((Z.mul a1 b2) :: ((Z.mul a2 b1) :: (
                          (Z.mul a2 b2) :: [])))
                        in
                        ((Some
                        (Z.div (fold_right Z.min (Z.mul a1 b1) all) one0)),
                        (Some
                        (up_div (fold_right Z.max (Z.mul a1 b1) all) one0)))
                      | None -> (None, None))
                   | None -> (None, None))
                | None -> (None, None))
             | None -> (None, None)))

(** val div0 : Whole.t -> ends -> ends -> ends **)

let div0 p =
  let one0 =
    Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      ((fun p -> p) p)
  in
  (fun a b ->
  match fst b with
  | Some b1 ->
    if Z.ltb Whole.zero b1
    then ((match fst a with
           | Some a1 ->
             if Z.leb Whole.zero a1
             then (match snd b with
                   | Some b2 -> Some (Z.div (Z.mul a1 one0) b2)
                   | None -> Some Whole.zero)
             else Some (Z.div (Z.mul a1 one0) b1)
           | None -> None),
           (match snd a with
            | Some a2 ->
              if Z.leb Whole.zero a2
              then Some (up_div (Z.mul a2 one0) b1)
              else (match snd b with
                    | Some b2 -> Some (up_div (Z.mul a2 one0) b2)
                    | None -> Some Whole.zero)
            | None -> None))
    else (None, None)
  | None -> (None, None))

(** val wider : ends -> ends **)

let wider a =
  ((opt (fun z0 -> Z.sub z0 ((fun p -> p) Whole.one)) (fst a)),
    (opt (fun z0 -> Z.add z0 ((fun p -> p) Whole.one)) (snd a)))

(** val at_least_0 : ends -> ends **)

let at_least_0 a =
  ((match fst a with
    | Some z0 -> Some (Z.max Whole.zero z0)
    | None -> Some Whole.zero), (snd a))

(** val root : Whole.t -> ends -> ends **)

let root p =
  let one0 =
    Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      ((fun p -> p) p)
  in
  (fun a ->
  at_least_0
    (wider
      ((opt (fun z0 ->
         if Z.leb z0 Whole.zero then Whole.zero else Z.sqrt (Z.mul z0 one0))
         (fst a)),
      (opt (fun z0 ->
        if Z.ltb z0 Whole.zero
        then Whole.zero
        else Z.add (Z.sqrt (Z.mul z0 one0)) ((fun p -> p) Whole.one)) 
        (snd a)))))

(** val series :
    Whole.t -> nat -> Whole.t -> Whole.t -> Whole.t -> Whole.t -> Whole.t ->
    Whole.t -> Whole.t * Whole.t **)

let series w =
  let one0 =
    Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      ((fun p -> p) w)
  in
  let rec series0 fuel y j lo hi slo shi =
    match fuel with
    | O ->
      (slo,
        (Z.add shi
          (Z.mul ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
            hi)))
    | S less ->
      if Z.leb hi ((fun p -> p) Whole.one)
      then (slo,
             (Z.add shi
               (Z.mul ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                 Whole.one)) hi)))
      else series0 less y (Z.add j ((fun p -> p) Whole.one))
             (Z.div (Z.mul lo y)
               (Z.mul one0 (Z.add j ((fun p -> p) Whole.one))))
             (up_div (Z.mul hi y)
               (Z.mul one0 (Z.add j ((fun p -> p) Whole.one))))
             (Z.add slo lo) (Z.add shi hi)
  in series0

(** val squared :
    Whole.t -> nat -> (Whole.t * Whole.t) -> Whole.t * Whole.t **)

let squared w =
  let one0 =
    Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      ((fun p -> p) w)
  in
  let rec squared1 k e =
    match k with
    | O -> e
    | S less ->
      squared1 less ((Z.div (Z.mul (fst e) (fst e)) one0),
        (up_div (Z.mul (snd e) (snd e)) one0))
  in squared1

(** val rescaled :
    Whole.t -> Whole.t -> (Whole.t * Whole.t) -> Whole.t * Whole.t **)

let rescaled p w e =
  ((Z.div (fst e)
     (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
       (Z.sub ((fun p -> p) w) ((fun p -> p) p)))),
    (up_div (snd e)
      (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
        (Z.sub ((fun p -> p) w) ((fun p -> p) p)))))

(** val log2_up : Whole.t -> nat **)

let log2_up z0 =
  Z.to_nat
    (Z.add (Z.log2 (Z.max ((fun p -> p) Whole.one) z0)) ((fun p -> p)
      Whole.one))

(** val exp_above : Whole.t -> Whole.t -> Whole.t * Whole.t **)

let exp_above p =
  let one0 =
    Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      ((fun p -> p) p)
  in
  (fun z0 ->
  let k = add (log2_up (Z.div z0 one0)) (S O) in
  let w =
    Coq_Pos.add (Coq_Pos.add p (Coq_Pos.of_succ_nat k))
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      Whole.one))))
  in
  let y =
    Z.mul z0
      (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
        (Z.sub (Z.sub ((fun p -> p) w) ((fun p -> p) p)) (Z.of_nat k)))
  in
  rescaled p w
    (squared w k
      (series w (Coq_Pos.to_nat w) y Whole.zero
        (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
          ((fun p -> p) w))
        (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
          ((fun p -> p) w)) Whole.zero Whole.zero)))

(** val exp_at : Whole.t -> Whole.t -> ends **)

let exp_at p =
  let one0 =
    Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      ((fun p -> p) p)
  in
  (fun z0 ->
  if Z.ltb z0 Whole.zero
  then if Z.ltb z0 (Z.opp (Z.mul ((fun p -> p) p) one0))
       then ((Some Whole.zero), (Some ((fun p -> p) Whole.one)))
       else let e = exp_above p (Z.opp z0) in
            ((Some (Z.div (Z.mul one0 one0) (snd e))),
            (if Z.ltb Whole.zero (fst e)
             then Some (up_div (Z.mul one0 one0) (fst e))
             else None))
  else if Z.ltb
            (Z.mul
              (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                Whole.one)) ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                ((fun p -> Whole.succ (Whole.shift_left p 1))
                ((fun p -> Whole.succ (Whole.shift_left p 1))
                ((fun p -> Whole.shift_left p 1) Whole.one)))))) one0) z0
       then ((Some (Z.add one0 z0)), None)
       else let e = exp_above p z0 in ((Some (fst e)), (Some (snd e))))

(** val exponential : Whole.t -> ends -> ends **)

let exponential p a =
  at_least_0
    (wider
      ((match fst a with
        | Some z0 -> fst (exp_at p z0)
        | None -> Some Whole.zero),
      (match snd a with
       | Some z0 -> snd (exp_at p z0)
       | None -> None)))

(** val nearer : Whole.t -> nat -> Whole.t -> Whole.t -> Whole.t **)

let nearer p =
  let one0 =
    Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      ((fun p -> p) p)
  in
  let rec nearer0 n0 y t0 =
    match n0 with
    | O -> t0
    | S less ->
      let e = fst (exp_above p t0) in
      nearer0 less y
        (Z.max Whole.zero
          (Z.add t0
            (Z.div
              (Z.mul
                (Z.mul ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                  Whole.one)) (Z.sub y e)) one0) (Z.add y e))))
  in nearer0

(** val guess : Whole.t -> Whole.t -> Whole.t **)

let guess p =
  let one0 =
    Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      ((fun p -> p) p)
  in
  (fun y ->
  nearer p (add (Coq_Pos.size_nat p) (S (S (S (S (S (S O))))))) y
    (Z.max Whole.zero
      (Z.div
        (Z.mul (Z.mul (Z.sub (Z.log2 y) ((fun p -> p) p)) one0) ((fun p -> p)
          ((fun p -> Whole.succ (Whole.shift_left p 1))
          ((fun p -> Whole.succ (Whole.shift_left p 1))
          ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
          ((fun p -> Whole.succ (Whole.shift_left p 1))
          ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
          ((fun p -> Whole.shift_left p 1)
          ((fun p -> Whole.succ (Whole.shift_left p 1))
          ((fun p -> Whole.succ (Whole.shift_left p 1))
          ((fun p -> Whole.shift_left p 1)
          ((fun p -> Whole.succ (Whole.shift_left p 1))
          Whole.one)))))))))))))) ((fun p -> p)
        ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
        Whole.one)))))))))))))))))

(** val from_above :
    Whole.t -> nat -> Whole.t -> Whole.t -> Whole.t -> Whole.t option **)

let rec from_above p n0 y t0 d =
  match n0 with
  | O -> None
  | S less ->
    if Z.leb y (fst (exp_above p (Z.add t0 d)))
    then Some (Z.add t0 d)
    else from_above p less y t0
           (Z.mul d ((fun p -> p) ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1) Whole.one))))))

(** val from_below :
    Whole.t -> nat -> Whole.t -> Whole.t -> Whole.t -> Whole.t option **)

let rec from_below p n0 y t0 d =
  match n0 with
  | O -> Some Whole.zero
  | S less ->
    if (&&) (Z.leb Whole.zero (Z.sub t0 d))
         (Z.leb (snd (exp_above p (Z.sub t0 d))) y)
    then Some (Z.sub t0 d)
    else from_below p less y t0
           (Z.mul d ((fun p -> p) ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1) Whole.one))))))

(** val ln_above : Whole.t -> Whole.t -> Whole.t option **)

let ln_above p y =
  let t0 = guess p y in
  from_above p (S (S (S (S (S (S (S (S (S (S O)))))))))) y t0 ((fun p -> p)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    Whole.one)))))

(** val ln_below : Whole.t -> Whole.t -> Whole.t option **)

let ln_below p y =
  let t0 = guess p y in
  from_below p (S (S (S (S (S (S (S (S (S (S O)))))))))) y t0 ((fun p -> p)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    Whole.one)))))

(** val ln_up : Whole.t -> Whole.t -> Whole.t option **)

let ln_up p =
  let one0 =
    Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      ((fun p -> p) p)
  in
  (fun z0 ->
  if Z.leb one0 z0
  then ln_above p z0
  else (match ln_below p (Z.div (Z.mul one0 one0) z0) with
        | Some r -> Some (Z.opp r)
        | None -> None))

(** val ln_down : Whole.t -> Whole.t -> Whole.t option **)

let ln_down p =
  let one0 =
    Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      ((fun p -> p) p)
  in
  (fun z0 ->
  if Z.leb one0 z0
  then ln_below p z0
  else (match ln_above p (up_div (Z.mul one0 one0) z0) with
        | Some r -> Some (Z.opp r)
        | None -> None))

(** val logarithm : Whole.t -> ends -> ends **)

let logarithm p a =
  match fst a with
  | Some z0 ->
    if Z.ltb Whole.zero z0
    then wider ((ln_down p z0),
           (match snd a with
            | Some y -> if Z.ltb Whole.zero y then ln_up p y else None
            | None -> None))
    else (None, None)
  | None -> (None, None)

(** val machin :
    Whole.t -> nat -> Whole.t -> Whole.t -> Whole.t -> bool -> Whole.t ->
    Whole.t -> Whole.t * Whole.t **)

let machin p =
  let one0 =
    Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      ((fun p -> p) p)
  in
  let rec machin0 n0 a b m sign lo hi =
    match n0 with
    | O -> (lo, hi)
    | S less ->
      let low =
        Z.add
          (Z.div
            (Z.mul ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
              one0) (Z.mul a m)) (Z.div one0 (Z.mul b m))
      in
      let high =
        Z.add low ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      in
      machin0 less
        (Z.mul a ((fun p -> p) ((fun p -> Whole.succ (Whole.shift_left p 1))
          ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
          Whole.one)))))
        (Z.mul b ((fun p -> p) ((fun p -> Whole.succ (Whole.shift_left p 1))
          ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
          ((fun p -> Whole.shift_left p 1)
          ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one)))))))
        (Z.add m ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one)))
        (negb sign) (if sign then Z.add lo low else Z.sub lo high)
        (if sign then Z.add hi high else Z.sub hi low)
  in machin0

(** val pi : Whole.t -> ends **)

let pi p =
  let n0 = S (Nat.div (Nat.div2 (Coq_Pos.to_nat p)) (S (S O))) in
  let upper =
    machin p (add (mul (S (S O)) n0) (S O)) ((fun p -> p)
      ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one)) ((fun p -> p)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one)))
      ((fun p -> p) Whole.one) true Whole.zero Whole.zero
  in
  let lower =
    machin p (add (mul (S (S O)) n0) (S (S O))) ((fun p -> p)
      ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one)) ((fun p -> p)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one)))
      ((fun p -> p) Whole.one) true Whole.zero Whole.zero
  in
  ((Some
  (Z.mul ((fun p -> p) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) Whole.one))) (fst lower))), (Some
  (Z.mul ((fun p -> p) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) Whole.one))) (snd upper))))

(** val odd_series :
    Whole.t -> nat -> Whole.t -> Whole.t -> Whole.t -> Whole.t -> Whole.t ->
    Whole.t -> (Whole.t * Whole.t) option **)

let odd_series w =
  let one0 =
    Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      ((fun p -> p) w)
  in
  let rec odd_series0 fuel y j lo hi slo shi =
    match fuel with
    | O -> None
    | S less ->
      if (&&) (Z.leb hi ((fun p -> p) Whole.one))
           (Z.leb
             (Z.mul ((fun p -> p) ((fun p -> Whole.shift_left p 1)
               Whole.one)) (Z.mul y y))
             (Z.mul
               (Z.add
                 (Z.mul ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                   Whole.one)) j) ((fun p -> p) Whole.one)) (Z.mul one0 one0)))
      then Some (slo,
             (Z.add shi
               (Z.mul ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                 Whole.one)) hi)))
      else odd_series0 less y (Z.add j ((fun p -> p) Whole.one))
             (Z.div (Z.mul lo (Z.mul y y))
               (Z.mul (Z.mul one0 one0)
                 (Z.add
                   (Z.mul ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                     Whole.one)) j) ((fun p -> p)
                   ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one)))))
             (up_div (Z.mul hi (Z.mul y y))
               (Z.mul (Z.mul one0 one0)
                 (Z.add
                   (Z.mul ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                     Whole.one)) j) ((fun p -> p)
                   ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one)))))
             (Z.add slo lo) (Z.add shi hi)
  in odd_series0

(** val upper_at : Whole.t -> Whole.t -> ends **)

let upper_at p =
  let one0 =
    Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      ((fun p -> p) p)
  in
  (fun z0 ->
  let square = Z.div (Z.mul z0 z0) one0 in
  if Z.ltb
       (Z.mul
         (Z.mul ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
           ((fun p -> p) p)) one0) square
  then ((Some Whole.zero),
         (snd
           (exp_at p
             (Z.opp
               (Z.div square ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                 Whole.one)))))))
  else let w =
         Coq_Pos.add p
           (Z.to_pos
             (Z.add
               (Z.mul ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                 Whole.one)) (Z.div square one0)) ((fun p -> p)
               ((fun p -> Whole.shift_left p 1)
               ((fun p -> Whole.shift_left p 1)
               ((fun p -> Whole.shift_left p 1)
               ((fun p -> Whole.shift_left p 1) Whole.one)))))))
       in
       let y =
         Z.mul z0
           (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
             (Z.sub ((fun p -> p) w) ((fun p -> p) p)))
       in
       (match odd_series w (mul (S (S (S (S O)))) (Coq_Pos.to_nat w)) y
                Whole.zero y y Whole.zero Whole.zero with
        | Some p0 ->
          let (low, high) = p0 in
          let density =
            div0 w
              (exponential w
                (neg
                  (mul0 w ((Some
                    (Z.div y ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                      Whole.one)))), (Some
                    (up_div y ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                      Whole.one))))) ((Some y), (Some y)))))
              (root w
                (mul0 w
                  (of_Q w { qnum = ((fun p -> p)
                    ((fun p -> Whole.shift_left p 1) Whole.one)); qden =
                    Whole.one }) (pi w)))
          in
          let half =
            sub0
              (of_Q w { qnum = ((fun p -> p) Whole.one); qden =
                ((fun p -> Whole.shift_left p 1) Whole.one) })
              (mul0 w density ((Some low), (Some high)))
          in
          let (o, o0) = half in
          (match o with
           | Some a ->
             (match o0 with
              | Some b ->
                let r = rescaled p w (a, b) in
                ((Some (Z.max Whole.zero (fst r))), (Some (snd r)))
              | None -> ((Some Whole.zero), (Some one0)))
           | None -> ((Some Whole.zero), (Some one0)))
        | None -> ((Some Whole.zero), (Some one0))))

(** val upper_of : Whole.t -> Whole.t -> ends **)

let upper_of p =
  let one0 =
    Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      ((fun p -> p) p)
  in
  (fun z0 ->
  if Z.leb Whole.zero z0
  then upper_at p z0
  else sub0 ((Some one0), (Some one0)) (upper_at p (Z.opp z0)))

(** val upper_tail : Whole.t -> ends -> ends **)

let upper_tail p =
  let one0 =
    Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      ((fun p -> p) p)
  in
  (fun a ->
  at_least_0
    (wider
      ((match snd a with
        | Some z0 -> fst (upper_of p z0)
        | None -> Some Whole.zero),
      (match fst a with
       | Some z0 -> snd (upper_of p z0)
       | None -> Some one0))))

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

(** val capped : ends -> ends **)

let capped a =
  let long = fun z0 ->
    Z.ltb
      (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
        ((fun p -> p) ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.shift_left p 1) Whole.one)))))) (Z.log2 z0)
  in
  ((match fst a with
    | Some z0 ->
      if long z0
      then Some
             (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1)
               Whole.one))
               (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                 Whole.one)) ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.succ (Whole.shift_left p 1))
                 ((fun p -> Whole.succ (Whole.shift_left p 1))
                 ((fun p -> Whole.shift_left p 1) Whole.one)))))))
      else Some z0
    | None -> None),
  (match snd a with
   | Some z0 -> if long z0 then None else Some z0
   | None -> None))

(** val pow_pos0 : Whole.t -> ends -> Whole.t -> ends **)

let rec pow_pos0 p a n0 =
  (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
    (fun m ->
    let h = pow_pos0 p a m in capped (mul0 p a (mul0 p h h)))
    (fun m -> let h = pow_pos0 p a m in capped (mul0 p h h))
    (fun _ -> a)
    n0

(** val power_n : Whole.t -> ends -> Whole.t -> ends **)

let power_n p =
  let one0 =
    Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      ((fun p -> p) p)
  in
  (fun a n0 ->
  (fun zero pos n -> if Whole.sign n = 0 then zero () else pos n)
    (fun _ -> ((Some one0), (Some one0)))
    (fun m -> pow_pos0 p a m)
    n0)

(** val sum_pos : Whole.t -> ends -> Whole.t -> ends * ends **)

let sum_pos p =
  let one0 =
    Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      ((fun p -> p) p)
  in
  let rec sum_pos0 a n0 =
    (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
      (fun m ->
      let (s, h) = sum_pos0 a m in
      let h2 = capped (mul0 p h h) in
      ((add0 (capped (mul0 p s (add0 ((Some one0), (Some one0)) h))) h2),
      (capped (mul0 p h2 a))))
      (fun m ->
      let (s, h) = sum_pos0 a m in
      ((capped (mul0 p s (add0 ((Some one0), (Some one0)) h))),
      (capped (mul0 p h h))))
      (fun _ -> (((Some one0), (Some one0)), a))
      n0
  in sum_pos0

(** val enclose : Whole.t -> expr -> ends **)

let rec enclose p = function
| Num q0 -> of_Q p q0
| Plus (a, b) -> add0 (enclose p a) (enclose p b)
| Minus (a, b) -> sub0 (enclose p a) (enclose p b)
| Times (a, b) -> mul0 p (enclose p a) (enclose p b)
| Over (a, b) -> div0 p (enclose p a) (enclose p b)
| Exp a -> exponential p (enclose p a)
| Ln a -> logarithm p (enclose p a)
| Root a -> let r = enclose p a in if nonneg r then root p r else (None, None)
| Pow (a, n0) -> power_n p (enclose p a) n0
| Geometric (a, n0) -> fst (sum_pos p (enclose p a) n0)
| Tail a -> upper_tail p (enclose p a)

(** val try0 : Whole.t list -> expr -> q -> bool **)

let rec try0 precisions e q0 =
  match precisions with
  | [] -> false
  | p :: rest ->
    let (low, high) = enclose p e in
    let (qlow, qhigh) = of_Q p q0 in
    if match high with
       | Some h -> (match qlow with
                    | Some l -> Z.leb h l
                    | None -> false)
       | None -> false
    then true
    else if match low with
            | Some l -> (match qhigh with
                         | Some h -> Z.ltb h l
                         | None -> false)
            | None -> false
         then false
         else try0 rest e q0

(** val at_most : expr -> q -> bool **)

let at_most e q0 =
  try0 (((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1)
    Whole.one))))))) :: (((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1)
    Whole.one)))))))) :: (((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    Whole.one))))))))) :: (((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1)
    Whole.one)))))))))) :: (((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    Whole.one))))))))))) :: (((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1)
    Whole.one)))))))))))) :: (((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    Whole.one))))))))))))) :: []))))))) e q0

(** val listed_before : Whole.t list -> Whole.t list -> bool **)

let rec listed_before a b =
  match a with
  | [] -> true
  | x :: a0 ->
    (match b with
     | [] -> false
     | y :: b0 ->
       if Z.ltb x y
       then true
       else if Z.ltb y x then false else listed_before a0 b0)

module ListOrder =
 struct
  type t = Whole.t list

  (** val leb : Whole.t list -> Whole.t list -> bool **)

  let leb =
    listed_before
 end

module ListSort = Sort(ListOrder)

module ZDown =
 struct
  type t = Whole.t

  (** val leb : Whole.t -> Whole.t -> bool **)

  let leb a b =
    Z.leb b a
 end

module ZDownSort = Sort(ZDown)

(** val nonzero : Whole.t -> bool **)

let nonzero z0 =
  negb (Z.eqb z0 Whole.zero)

(** val movement : Whole.t list -> Whole.t list -> Whole.t list **)

let movement a b =
  ZDownSort.sort (map (fun p -> Z.abs (Z.sub (fst p) (snd p))) (combine a b))

(** val z_list_eqb : Whole.t list -> Whole.t list -> bool **)

let z_list_eqb =
  list_eqb Z.eqb

(** val once_each : Whole.t list list -> Whole.t list list **)

let rec once_each = function
| [] -> []
| a :: rest ->
  (match rest with
   | [] -> a :: []
   | b :: _ ->
     if z_list_eqb a b then once_each rest else a :: (once_each rest))

(** val pairs_of : Whole.t list list -> relation -> Whole.t list list **)

let pairs_of points = function
| ReplaceOne -> points
| _ -> (map (fun _ -> Whole.zero) (hd [] points)) :: []

(** val moves_of : Whole.t list list -> relation -> Whole.t list list **)

let moves_of points rel =
  let found =
    flat_map (fun a -> map (movement a) (pairs_of points rel)) points
  in
  ListSort.sort (map (filter nonzero) (once_each (ListSort.sort found)))

(** val too_many : Whole.t list list -> relation -> bool **)

let too_many points rel =
  Z.ltb ((fun p -> p) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.succ (Whole.shift_left p 1))
    ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.succ (Whole.shift_left p 1))
    ((fun p -> Whole.succ (Whole.shift_left p 1))
    ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.succ (Whole.shift_left p 1))
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.succ (Whole.shift_left p 1))
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.succ (Whole.shift_left p 1))
    ((fun p -> Whole.succ (Whole.shift_left p 1))
    ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
    Whole.one)))))))))))))))))))))))
    (Z.mul
      (Z.mul (Z.of_nat (length points))
        (Z.of_nat (length (pairs_of points rel))))
      (Z.of_nat (length (hd [] points))))

(** val replaces : relation -> bool **)

let replaces rel =
  relation_eqb rel ReplaceOne

(** val two : q **)

let two =
  { qnum = ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one)); qden =
    Whole.one }

(** val four : q **)

let four =
  { qnum = ((fun p -> p) ((fun p -> Whole.shift_left p 1)
    ((fun p -> Whole.shift_left p 1) Whole.one))); qden = Whole.one }

(** val furthest_sum :
    kind -> q -> q -> Whole.t list list -> relation -> (norm * q) option **)

let furthest_sum set low high points rel =
  match set with
  | Interval ->
    Some (L1,
      (if replaces rel
       then minus high low
       else larger (absolute low) (absolute high)))
  | Ball -> Some (L2Squared, (if replaces rel then times four high else high))
  | Cell -> Some (L1, (if replaces rel then plus high high else high))
  | RankOne ->
    Some (FrobeniusSquared,
      (if qle_bool { qnum = ((fun p -> p) Whole.one); qden = Whole.one } high
       then times two (times (times two high) (times two high))
       else let s =
              plus { qnum = ((fun p -> p) Whole.one); qden = Whole.one }
                (times high high)
            in
            times two (times s s)))
  | Outer ->
    Some (FrobeniusSquared,
      (let s =
         plus { qnum = ((fun p -> p) Whole.one); qden = Whole.one }
           (times high high)
       in
       times two (times s s)))
  | Points ->
    if negb (too_many points rel)
    then Some (L2Squared, (of_Z (longest (moves_of points rel))))
    else None

(** val cubic : q -> q -> q **)

let cubic b t0 =
  plus
    (plus (times t0 (times t0 t0))
      (times
        (minus { qnum = ((fun p -> p) Whole.one); qden = Whole.one }
          (times b b)) t0)) b

(** val floor_of : q -> Whole.t **)

let floor_of q0 =
  Z.div q0.qnum ((fun p -> p) q0.qden)

(** val halved : q -> nat -> q -> q -> q * q **)

let rec halved b n0 low high =
  match n0 with
  | O -> (low, high)
  | S less ->
    let middle =
      qred { qnum =
        (floor_of
          (times (plus low high)
            (of_Z
              (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                Whole.one)) ((fun p -> p)
                ((fun p -> Whole.succ (Whole.shift_left p 1))
                ((fun p -> Whole.succ (Whole.shift_left p 1))
                ((fun p -> Whole.shift_left p 1)
                ((fun p -> Whole.shift_left p 1)
                ((fun p -> Whole.shift_left p 1)
                ((fun p -> Whole.succ (Whole.shift_left p 1))
                Whole.one))))))))))); qden =
        (Coq_Pos.pow ((fun p -> Whole.shift_left p 1) Whole.one)
          ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
          ((fun p -> Whole.succ (Whole.shift_left p 1))
          ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
          ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one))))))) }
    in
    if qle_bool { qnum = Whole.zero; qden = Whole.one } (cubic b middle)
    then halved b less middle high
    else halved b less low middle

(** val outer_supremum : q -> q option **)

let outer_supremum b =
  let bb = times b b in
  let least0 =
    qred { qnum =
      (Z.sqrt
        (floor_of
          (times
            (over0
              (minus bb { qnum = ((fun p -> p) Whole.one); qden = Whole.one })
              (of_Z ((fun p -> p)
                ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one))))
            (of_Z
              (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                ((fun p -> Whole.succ (Whole.shift_left p 1))
                ((fun p -> Whole.shift_left p 1) Whole.one)))) ((fun p -> p)
                ((fun p -> Whole.shift_left p 1)
                ((fun p -> Whole.shift_left p 1)
                ((fun p -> Whole.shift_left p 1)
                ((fun p -> Whole.succ (Whole.shift_left p 1))
                ((fun p -> Whole.shift_left p 1) Whole.one))))))))))); qden =
      (Coq_Pos.pow ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.shift_left p 1) Whole.one)))
        ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.shift_left p 1) Whole.one))))) }
  in
  let flat =
    times
      (of_Z ((fun p -> p) ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
        Whole.one))))) bb
  in
  if qle_bool { qnum = Whole.zero; qden = Whole.one } (cubic b least0)
  then if qle_bool
            (times
              (absolute
                (minus
                  (plus
                    (times
                      (of_Z ((fun p -> p)
                        ((fun p -> Whole.succ (Whole.shift_left p 1))
                        Whole.one))) (times least0 least0)) { qnum =
                    ((fun p -> p) Whole.one); qden = Whole.one }) bb)) b)
            (cubic b least0)
       then Some flat
       else None
  else let (low, high) =
         halved b (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
           (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
           (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
           (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
           O))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
           (over0 { qnum = ((fun p -> p) Whole.one); qden = Whole.one } b)
           least0
       in
       let s = plus { qnum = ((fun p -> p) Whole.one); qden = Whole.one } bb
       in
       let t0 =
         plus { qnum = ((fun p -> p) Whole.one); qden = Whole.one }
           (times low low)
       in
       let u =
         minus (times b low) { qnum = ((fun p -> p) Whole.one); qden =
           Whole.one }
       in
       let top =
         minus (plus (times s s) (times t0 t0)) (times two (times u u))
       in
       Some
       (larger flat
         (plus top (times four (times (cubic b low) (minus high low)))))

(** val linear : q option -> fact -> fact option **)

let linear bound_squared = function
| Contribution (q0, set, low, high, points, rel, _) ->
  (match furthest_sum set low high points rel with
   | Some found ->
     let stated =
       match set with
       | Outer ->
         below { qnum = ((fun p -> p) Whole.one); qden = Whole.one } high
       | _ -> false
     in
     (match bound_squared with
      | Some bound ->
        (match outer_supremum high with
         | Some least0 ->
           if (&&) stated (qle_bool least0 bound)
           then Some (Stable (q0, (fst found), bound, rel, None))
           else None
         | None -> None)
      | None ->
        if negb stated
        then Some (Stable (q0, (fst found), (snd found), rel, None))
        else None)
   | None -> None)
| _ -> None

(** val ones : nat -> Whole.t list **)

let ones n0 =
  repeat ((fun p -> p) Whole.one) n0

(** val list_of_moves : fact -> fact option **)

let list_of_moves = function
| Contribution (q0, set, _, high, points, rel, _) ->
  (match set with
   | Cell ->
     let most = floor_of (if replaces rel then plus high high else high) in
     Some (Shifts (q0, (map ones (seq O (S (Z.to_nat most)))), rel))
   | Points ->
     if negb (too_many points rel)
     then Some (Shifts (q0, (moves_of points rel), rel))
     else None
   | _ -> None)
| _ -> None

(** val squared0 : q -> q **)

let squared0 q0 =
  times q0 q0

(** val moved : q option -> fact -> fact option **)

let moved radius = function
| Lipschitz (q0, factor, slack, reach) ->
  (match radius with
   | Some r ->
     let follows = plus slack (times r factor) in
     if below { qnum = Whole.zero; qden = Whole.one } r
     then Some (Stable (q0, L2Squared,
            (if below reach follows then squared0 reach else squared0 follows),
            (BoundedRow r), None))
     else None
   | None -> Some (Stable (q0, L2Squared, (squared0 reach), ReplaceOne, None)))
| _ -> None

(** val comes_and_goes : relation -> bool **)

let rec comes_and_goes = function
| AddRemove -> true
| Entering (of0, _, _) -> comes_and_goes of0
| Groups (of0, _) -> comes_and_goes of0
| _ -> false

(** val untransformed :
    fact -> fact ->
    (((string * q) * relation) * (((Whole.t * Whole.t) * Whole.t) * Whole.t))
    option **)

let untransformed vector rounds =
  match vector with
  | Stable (q0, how0, bound, rel, reads) ->
    (match how0 with
     | L2Squared ->
       (match reads with
        | Some _ -> None
        | None ->
          (match rounds with
           | Rounds (q', n0, times0, apart0, last0) ->
             if (=) q0 q'
             then Some (((q0, bound), rel), (((n0, times0), apart0), last0))
             else None
           | _ -> None))
     | _ -> None)
  | _ -> None

(** val centred : fact -> fact -> fact option **)

let centred vector rounds =
  match untransformed vector rounds with
  | Some p ->
    let (p0, p1) = p in
    let (p2, rel) = p0 in
    let (q0, before0) = p2 in
    let (p3, last0) = p1 in
    let (p4, _) = p3 in
    let (n0, many) = p4 in
    if (&&) ((&&) (Z.eqb many ((fun p -> p) Whole.one)) (Z.eqb last0 n0))
         (negb (comes_and_goes rel))
    then Some (Stable (q0, L2Squared,
           (times before0
             (minus { qnum = ((fun p -> p) Whole.one); qden = Whole.one }
               (qred { qnum = ((fun p -> p) Whole.one); qden =
                 (Z.to_pos n0) }))), rel, (Some (((fun p -> p) Whole.one),
           n0))))
    else None
  | None -> None

(** val take_from : Whole.t list -> Whole.t list -> Whole.t list **)

let rec take_from values after =
  match values with
  | [] -> []
  | v :: rest ->
    let later = take_from rest (tl after) in
    (Z.max (hd Whole.zero later) (Z.add v (hd Whole.zero after))) :: later

(** val richest_rows :
    nat -> Whole.t list -> Whole.t list -> nat -> Whole.t list **)

let rec richest_rows count values best gap =
  match count with
  | O -> []
  | S less ->
    let now = take_from values (skipn gap best) in
    (hd Whole.zero now) :: (richest_rows less values now gap)

(** val richest : Whole.t list -> Whole.t -> Whole.t -> Whole.t list **)

let richest values count gap =
  let fits =
    Z.to_nat
      (Z.min count
        (Z.add (Z.div (Z.of_nat (length values)) gap) ((fun p -> p)
          Whole.one)))
  in
  richest_rows fits values [] (Z.to_nat gap)

(** val prefix_sums : Whole.t -> Whole.t list -> Whole.t list **)

let rec prefix_sums part = function
| [] -> []
| a :: rest -> (Z.add part a) :: (prefix_sums (Z.add part a) rest)

(** val overlap : Whole.t list -> nat -> Whole.t **)

let overlap c lag =
  fold_left Z.max
    (map Z.abs
      (prefix_sums Whole.zero
        (map (fun p -> Z.mul (fst p) (snd p)) (combine c (skipn lag c)))))
    Whole.zero

(** val toeplitz : Whole.t list -> Whole.t -> Whole.t -> Whole.t **)

let toeplitz c times0 apart0 =
  let overlaps =
    map (overlap c)
      (seq O
        (if Z.ltb ((fun p -> p) Whole.one) times0 then length c else S O))
  in
  let sums =
    richest (skipn (Z.to_nat apart0) overlaps)
      (Z.sub times0 ((fun p -> p) Whole.one)) apart0
  in
  Z.add
    (Z.add (Z.mul times0 (hd Whole.zero overlaps))
      (Z.mul ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
        (fold_left Z.add
          (firstn (Z.to_nat (Z.sub times0 ((fun p -> p) Whole.one))) sums)
          Whole.zero)))
    (Z.mul
      (Z.mul ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
        (Z.max Whole.zero
          (Z.sub (Z.sub times0 ((fun p -> p) Whole.one))
            (Z.of_nat (length sums))))) (last sums Whole.zero))

(** val column : Whole.t list list -> nat -> Whole.t list **)

let column rows k =
  map (fun row -> nth k row Whole.zero) (skipn k rows)

(** val meeting : Whole.t list -> Whole.t list -> Whole.t **)

let meeting u v =
  fold_left Z.add (map (fun p -> Z.mul (fst p) (snd p)) (combine u v))
    Whole.zero

(** val add_squares : Whole.t list -> Whole.t list -> Whole.t list **)

let rec add_squares sums = function
| [] -> sums
| c :: row0 ->
  (match sums with
   | [] -> (Z.mul c c) :: (add_squares [] row0)
   | s :: sums0 -> (Z.add s (Z.mul c c)) :: (add_squares sums0 row0))

(** val small_entry : Whole.t -> bool **)

let small_entry c =
  Z.ltb (Z.abs c)
    (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
      ((fun p -> p) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      Whole.one)))))))))

(** val is_triangle : Whole.t list list -> Whole.t -> bool **)

let is_triangle rows n0 =
  (&&) (Z.eqb (Z.of_nat (length rows)) n0)
    (forallb (fun p -> Nat.eqb (length (fst p)) (S (snd p)))
      (combine rows (seq O (length rows))))

(** val stretch :
    Whole.t list list -> Whole.t -> Whole.t -> Whole.t -> Whole.t option **)

let stretch rows n0 times0 apart0 =
  if forallb (forallb small_entry) rows
  then (match rows with
        | [] ->
          if (&&) (is_triangle rows n0) (Z.ltb Whole.zero n0)
          then if (||) (Z.eqb times0 ((fun p -> p) Whole.one))
                    (Z.ltb ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                      ((fun p -> Whole.shift_left p 1)
                      ((fun p -> Whole.shift_left p 1)
                      ((fun p -> Whole.shift_left p 1)
                      ((fun p -> Whole.shift_left p 1)
                      ((fun p -> Whole.shift_left p 1)
                      ((fun p -> Whole.shift_left p 1)
                      ((fun p -> Whole.shift_left p 1) Whole.one))))))))) n0)
               then Some
                      (Z.mul (Z.mul times0 times0)
                        (fold_left Z.max (fold_left add_squares rows [])
                          Whole.zero))
               else let columns = map (column rows) (seq O (length rows)) in
                    let size0 = fun i j ->
                      let i' = Nat.min i j in
                      let j' = Nat.max i j in
                      Z.abs
                        (meeting (skipn (sub j' i') (nth i' columns []))
                          (nth j' columns []))
                    in
                    let places = seq O (length rows) in
                    let reach =
                      map (fun i ->
                        last (richest (map (size0 i) places) times0 apart0)
                          Whole.zero) places
                    in
                    Some (last (richest reach times0 apart0) Whole.zero)
          else None
        | c :: l ->
          (match l with
           | [] ->
             let size0 = Z.of_nat (length c) in
             if (&&) (Z.ltb Whole.zero size0)
                  (Z.leb size0
                    (if Z.ltb ((fun p -> p) Whole.one) times0
                     then (fun p -> p) ((fun p -> Whole.shift_left p 1)
                            ((fun p -> Whole.shift_left p 1)
                            ((fun p -> Whole.shift_left p 1)
                            ((fun p -> Whole.shift_left p 1)
                            ((fun p -> Whole.shift_left p 1)
                            ((fun p -> Whole.shift_left p 1)
                            ((fun p -> Whole.shift_left p 1)
                            ((fun p -> Whole.shift_left p 1)
                            ((fun p -> Whole.shift_left p 1)
                            ((fun p -> Whole.shift_left p 1)
                            ((fun p -> Whole.shift_left p 1)
                            Whole.one)))))))))))
                     else Z.pow ((fun p -> p)
                            ((fun p -> Whole.shift_left p 1) Whole.one))
                            ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                            ((fun p -> Whole.shift_left p 1)
                            ((fun p -> Whole.succ (Whole.shift_left p 1))
                            ((fun p -> Whole.shift_left p 1) Whole.one)))))))
             then Some
                    (toeplitz
                      (if Z.ltb n0 size0 then firstn (Z.to_nat n0) c else c)
                      times0 apart0)
             else None
           | _ :: _ ->
             if (&&) (is_triangle rows n0) (Z.ltb Whole.zero n0)
             then if (||) (Z.eqb times0 ((fun p -> p) Whole.one))
                       (Z.ltb ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                         ((fun p -> Whole.shift_left p 1)
                         ((fun p -> Whole.shift_left p 1)
                         ((fun p -> Whole.shift_left p 1)
                         ((fun p -> Whole.shift_left p 1)
                         ((fun p -> Whole.shift_left p 1)
                         ((fun p -> Whole.shift_left p 1)
                         ((fun p -> Whole.shift_left p 1) Whole.one)))))))))
                         n0)
                  then Some
                         (Z.mul (Z.mul times0 times0)
                           (fold_left Z.max (fold_left add_squares rows [])
                             Whole.zero))
                  else let columns = map (column rows) (seq O (length rows))
                       in
                       let size0 = fun i j ->
                         let i' = Nat.min i j in
                         let j' = Nat.max i j in
                         Z.abs
                           (meeting (skipn (sub j' i') (nth i' columns []))
                             (nth j' columns []))
                       in
                       let places = seq O (length rows) in
                       let reach =
                         map (fun i ->
                           last
                             (richest (map (size0 i) places) times0 apart0)
                             Whole.zero) places
                       in
                       Some (last (richest reach times0 apart0) Whole.zero)
             else None))
  else None

(** val units_eqb : interval -> interval -> bool **)

let units_eqb a b =
  match a with
  | Some p ->
    let (x, y) = p in
    (match b with
     | Some p0 -> let (x', y') = p0 in (&&) (Z.eqb x x') (Z.eqb y y')
     | None -> false)
  | None -> (match b with
             | Some _ -> false
             | None -> true)

(** val norm_eqb : norm -> norm -> bool **)

let norm_eqb a b =
  match a with
  | L1 -> (match b with
           | L1 -> true
           | _ -> false)
  | Range -> (match b with
              | Range -> true
              | _ -> false)
  | EachNumber -> (match b with
                   | EachNumber -> true
                   | _ -> false)
  | L2Squared -> (match b with
                  | L2Squared -> true
                  | _ -> false)
  | FrobeniusSquared -> (match b with
                         | FrobeniusSquared -> true
                         | _ -> false)

(** val sums_it : fact -> fact -> bool **)

let sums_it person vector =
  match linear None person with
  | Some f ->
    (match f with
     | Stable (q0, how0, bound, rel, reads) ->
       (match vector with
        | Stable (q', how', bound', rel', reads') ->
          (&&)
            ((&&)
              ((&&) ((&&) ((=) q0 q') (norm_eqb how0 how'))
                (q_eqb bound bound')) (relation_eqb rel rel'))
            (units_eqb reads reads')
        | _ -> false)
     | _ -> false)
  | None -> false

(** val each_addition : fact -> fact -> q option **)

let each_addition vector person =
  if sums_it person vector
  then (match person with
        | Contribution (_, set, _, high, points, rel, _) ->
          (match set with
           | Interval -> None
           | Ball -> Some (if replaces rel then times four high else high)
           | Points ->
             let length1 = of_Z (longest points) in
             Some (if replaces rel then times four length1 else length1)
           | _ -> None)
        | _ -> None)
  else None

(** val entering : relation -> Whole.t -> Whole.t -> relation **)

let entering rel entered0 apart0 =
  if Z.eqb entered0 ((fun p -> p) Whole.one)
  then rel
  else Entering (rel, entered0, apart0)

(** val factorised :
    Whole.t list list -> Whole.t -> fact -> fact -> fact option -> fact option **)

let factorised matrix bits vector rounds person =
  match untransformed vector rounds with
  | Some p ->
    let (p0, p1) = p in
    let (p2, rel) = p0 in
    let (q0, before0) = p2 in
    let (p3, last0) = p1 in
    let (p4, apart0) = p3 in
    let (n0, many) = p4 in
    let entered0 =
      Z.min many
        (Z.add (Z.div (Z.sub n0 ((fun p -> p) Whole.one)) apart0)
          ((fun p -> p) Whole.one))
    in
    if (&&)
         ((&&) (Z.leb Whole.zero bits)
           (Z.leb bits ((fun p -> p) ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1) Whole.one)))))))))))))))
         (Z.leb ((fun p -> p) Whole.one) apart0)
    then (match stretch matrix n0 entered0 apart0 with
          | Some square ->
            let factor =
              qred { qnum = square; qden =
                (Z.to_pos
                  (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                    ((fun p -> Whole.shift_left p 1) Whole.one))) bits)) }
            in
            (match person with
             | Some p5 ->
               if Z.ltb ((fun p -> p) Whole.one) many
               then (match each_addition vector p5 with
                     | Some added ->
                       Some (Stable (q0, L2Squared, (times added factor),
                         (entering rel entered0 apart0), (Some anyone)))
                     | None -> None)
               else None
             | None ->
               if Z.eqb many ((fun p -> p) Whole.one)
               then Some (Stable (q0, L2Squared, (times before0 factor), rel,
                      (Some (((fun p -> p) Whole.one), last0))))
               else None)
          | None -> None)
    else None
  | None -> None

(** val joint : q -> fact -> fact option **)

let joint weight = function
| Contribution (q0, set, _, high, _, rel, _) ->
  (match set with
   | RankOne ->
     let reach = times (times high high) weight in
     if below { qnum = Whole.zero; qden = Whole.one } weight
     then Some (Stable (q0, L2Squared,
            (if qle_bool reach two
             then plus (plus two (times two reach))
                    (over0 (times reach reach) two)
             else times four reach), rel, None))
     else None
   | _ -> None)
| _ -> None

(** val buffers_of : Whole.t list list -> Whole.t -> (q * q) list option **)

let buffers_of pairs bits =
  if (&&)
       ((&&)
         (Z.leb (Z.of_nat (length pairs)) ((fun p -> p)
           ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
           ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
           ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
           Whole.one)))))))) (Z.leb ((fun p -> p) Whole.one) bits))
       (Z.leb bits ((fun p -> p) ((fun p -> Whole.shift_left p 1)
         ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
         ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
         ((fun p -> Whole.shift_left p 1) Whole.one))))))))
  then all_some (fun pair ->
         match pair with
         | [] -> None
         | w :: l ->
           (match l with
            | [] -> None
            | f :: l0 ->
              (match l0 with
               | [] ->
                 let one0 =
                   Z.to_pos
                     (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                       Whole.one)) bits)
                 in
                 if (&&) ((&&) (Z.leb Whole.zero w) (Z.leb Whole.zero f))
                      (Z.ltb f
                        (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                          Whole.one)) bits))
                 then Some ((qred { qnum = w; qden = one0 }),
                        (qred { qnum = f; qden = one0 }))
                 else None
               | _ :: _ -> None))) pairs
  else None

(** val decaying : q -> (q * q) list -> Whole.t -> expr **)

let decaying before0 found later =
  fold_left (fun total vf ->
    fold_left (fun total0 wg ->
      let ratio = times (snd vf) (snd wg) in
      let most =
        over0 (times (times before0 (fst vf)) (fst wg))
          (minus { qnum = ((fun p -> p) Whole.one); qden = Whole.one } ratio)
      in
      Plus (total0, (Times ((Num most), (Minus ((Num { qnum = ((fun p -> p)
      Whole.one); qden = Whole.one }), (Pow ((Num ratio),
      (Z.to_N later))))))))) found total) found (Num before0)

(** val buffered :
    Whole.t -> Whole.t list list -> Whole.t -> q -> q -> fact -> fact -> fact
    option **)

let buffered width pairs bits step0 most vector rounds =
  match untransformed vector rounds with
  | Some p ->
    let (p0, p1) = p in
    let (p2, rel) = p0 in
    let (q0, before0) = p2 in
    let (p3, last0) = p1 in
    let (p4, _) = p3 in
    let (n0, many) = p4 in
    if (&&)
         ((&&) (Z.eqb many ((fun p -> p) Whole.one))
           (Z.leb ((fun p -> p) Whole.one) width))
         (below { qnum = Whole.zero; qden = Whole.one } step0)
    then (match buffers_of pairs bits with
          | Some found ->
            let later = Z.sub n0 ((fun p -> p) Whole.one) in
            let floors =
              times step0
                (sum_of
                  (map (fun vf ->
                    over0 { qnum = ((fun p -> p) Whole.one); qden =
                      Whole.one }
                      (minus { qnum = ((fun p -> p) Whole.one); qden =
                        Whole.one } (snd vf))) found))
            in
            let root0 = Plus ((Root (decaying before0 found later)), (Root
              (Num
              (times (times (times floors floors) (of_Z later)) (of_Z width)))))
            in
            if at_most (Times (root0, root0)) most
            then Some (Stable (q0, L2Squared, most, rel, (Some (((fun p -> p)
                   Whole.one), last0))))
            else None
          | None -> None)
    else None
  | None -> None

(** val sensitivity : step -> fact list -> fact option **)

let sensitivity s found =
  match s with
  | ByLinear bound ->
    (match found with
     | [] -> None
     | person :: l ->
       (match l with
        | [] -> linear bound person
        | _ :: _ -> None))
  | ByDifferences ->
    (match found with
     | [] -> None
     | person :: l ->
       (match l with
        | [] -> list_of_moves person
        | _ :: _ -> None))
  | ByMoved radius ->
    (match found with
     | [] -> None
     | rows :: l -> (match l with
                     | [] -> moved radius rows
                     | _ :: _ -> None))
  | ByCentred ->
    (match found with
     | [] -> None
     | vector :: l ->
       (match l with
        | [] -> None
        | rounds :: l0 ->
          (match l0 with
           | [] -> centred vector rounds
           | _ :: _ -> None)))
  | ByFactorised (matrix, bits) ->
    (match found with
     | [] -> None
     | vector :: l ->
       (match l with
        | [] -> None
        | rounds :: l0 ->
          (match l0 with
           | [] -> factorised matrix bits vector rounds None
           | person :: l1 ->
             (match l1 with
              | [] -> factorised matrix bits vector rounds (Some person)
              | _ :: _ -> None))))
  | ByJoint weight ->
    (match found with
     | [] -> None
     | person :: l ->
       (match l with
        | [] -> joint weight person
        | _ :: _ -> None))
  | ByBuffered (width, pairs, bits, step0, most) ->
    (match found with
     | [] -> None
     | vector :: l ->
       (match l with
        | [] -> None
        | rounds :: l0 ->
          (match l0 with
           | [] -> buffered width pairs bits step0 most vector rounds
           | _ :: _ -> None)))
  | _ -> None

(** val right : Whole.t -> Whole.t -> Whole.t -> Whole.t -> Whole.t **)

let right p_up p_down t_up t_down =
  Z.sub (Z.mul p_up t_down) (Z.mul t_up p_down)

(** val wrong : Whole.t -> Whole.t -> Whole.t -> Whole.t -> Whole.t **)

let wrong p_up p_down t_up t_down =
  Z.sub (Z.mul p_up t_up) (Z.mul p_down t_down)

(** val least_but_one :
    Whole.t -> Whole.t -> Whole.t -> Whole.t -> Whole.t -> Whole.t **)

let least_but_one p_up p_down t_up t_down c =
  Z.div
    (Z.mul (Z.add c ((fun p -> p) Whole.one)) (wrong p_up p_down t_up t_down))
    (Z.add (right p_up p_down t_up t_down) (wrong p_up p_down t_up t_down))

(** val told0 :
    Whole.t -> Whole.t -> Whole.t -> Whole.t -> Whole.t -> nat -> Whole.t ->
    Whole.t -> Whole.t -> Whole.t -> Whole.t **)

let rec told0 p_up p_down t_up t_down m left c k b h =
  let here =
    Z.sub (Z.mul (right p_up p_down t_up t_down) (Z.add h b))
      (Z.mul (wrong p_up p_down t_up t_down) h)
  in
  (match left with
   | O -> here
   | S less ->
     let k' =
       least_but_one p_up p_down t_up t_down
         (Z.add c ((fun p -> p) Whole.one))
     in
     let b' =
       if Z.eqb k' k
       then Z.div (Z.mul b (Z.add c ((fun p -> p) Whole.one)))
              (Z.sub (Z.add c ((fun p -> p) Whole.one)) k)
       else Z.div (Z.mul b (Z.add c ((fun p -> p) Whole.one)))
              (Z.add k ((fun p -> p) Whole.one))
     in
     let h' =
       if Z.eqb k' k
       then Z.add
              (Z.mul ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                Whole.one)) h) b
       else Z.sub
              (Z.add
                (Z.mul ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                  Whole.one)) h) b) b'
     in
     Z.add here
       (up_div
         (Z.mul (Z.mul (Z.sub m c) p_down)
           (told0 p_up p_down t_up t_down m less
             (Z.add c ((fun p -> p) Whole.one)) k' b' h'))
         (Z.mul (Z.add c ((fun p -> p) Whole.one)) (Z.sub p_up p_down))))

(** val all_told :
    Whole.t -> Whole.t -> Whole.t -> Whole.t -> nat -> Whole.t **)

let all_told p_up p_down t_up t_down m =
  told0 p_up p_down t_up t_down (Z.of_nat m) m Whole.zero Whole.zero
    ((fun p -> p) Whole.one) Whole.zero

(** val drawn_on : string -> curve -> relation -> interval -> fact option **)

let drawn_on q0 law rel reads =
  Some (Private (q0, law, rel, Central, reads))

(** val mu_squared : norm -> q -> q -> q option **)

let mu_squared how0 bound variance =
  match how0 with
  | L2Squared -> Some (over0 bound variance)
  | FrobeniusSquared -> Some (over0 (over0 bound variance) two)
  | _ -> None

(** val rounding_at_most : q -> Whole.t -> q -> bool **)

let rounding_at_most square coordinates distance =
  let rest =
    minus (times (over0 distance (of_Z coordinates)) square) { qnum =
      ((fun p -> p) ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      Whole.one)))))))))))))))))); qden = ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      Whole.one))))))))))))))))))))))) }
  in
  (&&)
    ((&&)
      (qle_bool { qnum = ((fun p -> p) Whole.one); qden = Whole.one } square)
      (below { qnum = Whole.zero; qden = Whole.one } rest))
    (qle_bool
      (times { qnum = ((fun p -> p)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one)))))))))));
        qden = ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        Whole.one)))))))))))))))) } { qnum = ((fun p -> p)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one)))))))))));
        qden = ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        Whole.one)))))))))))))))) }) (times (times rest rest) square))

(** val column_of : q list list -> nat -> q list **)

let column_of table k =
  map (fun row -> nth k row { qnum = Whole.zero; qden = Whole.one }) table

(** val least : q list -> q **)

let least = function
| [] -> { qnum = Whole.zero; qden = Whole.one }
| a :: rest -> fold_left (fun a0 b -> if qle_bool a0 b then a0 else b) rest a

(** val ratio_of : q list -> q option **)

let ratio_of outcome =
  let most = largest outcome in
  if (||) (below { qnum = Whole.zero; qden = Whole.one } (least outcome))
       (qeq_bool most { qnum = Whole.zero; qden = Whole.one })
  then Some
         (if qeq_bool most { qnum = Whole.zero; qden = Whole.one }
          then { qnum = ((fun p -> p) Whole.one); qden = Whole.one }
          else over0 most (least outcome))
  else None

(** val is_law : q list -> bool **)

let is_law row = match row with
| [] -> false
| _ :: _ ->
  (&&) (forallb (qle_bool { qnum = Whole.zero; qden = Whole.one }) row)
    (qeq_bool (sum_of row) { qnum = ((fun p -> p) Whole.one); qden =
      Whole.one })

(** val symbols : nat -> Whole.t -> Whole.t list list **)

let rec symbols n0 from =
  match n0 with
  | O -> []
  | S less ->
    (from :: []) :: (symbols less (Z.add from ((fun p -> p) Whole.one)))

(** val worst_ratio :
    q list list -> Whole.t list list -> relation -> q option **)

let worst_ratio table points rel =
  let width = length (hd [] table) in
  if (&&)
       ((&&)
         ((&&)
           (list_eqb z_list_eqb points (symbols (length table) Whole.zero))
           (replaces rel))
         (forallb (fun row -> Nat.eqb (length row) width) table))
       (forallb is_law table)
  then (match all_some (fun k -> ratio_of (column_of table k)) (seq O width) with
        | Some ratios -> Some (largest ratios)
        | None -> None)
  else None

(** val finite : q list list -> q -> fact -> fact option **)

let finite table epsilon = function
| Contribution (q0, set, _, _, points, rel, _) ->
  (match set with
   | Points ->
     (match worst_ratio table points rel with
      | Some worst ->
        if (&&)
             ((||)
               (qeq_bool worst { qnum = ((fun p -> p) Whole.one); qden =
                 Whole.one })
               (at_most (Over ((Num worst), (Exp (Num epsilon)))) { qnum =
                 ((fun p -> p) Whole.one); qden = Whole.one }))
             (qle_bool { qnum = Whole.zero; qden = Whole.one } epsilon)
        then drawn_on q0 (Pure epsilon) rel None
        else None
      | None -> None)
   | _ -> None)
| _ -> None

(** val covered_at : q -> Whole.t -> q -> q -> Whole.t -> bool **)

let covered_at worst size0 epsilon delta bits =
  match fst (enclose bits (Exp (Num epsilon))) with
  | Some low ->
    let one0 =
      Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
        ((fun p -> p) bits)
    in
    let t0 = Z.max one0 low in
    let up = worst.qnum in
    let down = (fun p -> p) worst.qden in
    let others = Z.sub size0 ((fun p -> p) Whole.one) in
    (||) (Z.leb (Z.mul up one0) (Z.mul t0 down))
      (Z.leb
        (Z.mul
          (Z.mul (all_told up down t0 one0 (Z.to_nat others))
            (Z.pow (Z.sub up down) others)) ((fun p -> p) delta.qden))
        (Z.mul (Z.mul delta.qnum (Z.pow (Z.add up down) size0)) one0))
  | None -> false

(** val shuffled : q list list -> Whole.t -> q -> q -> fact -> fact option **)

let shuffled table size0 epsilon delta = function
| Contribution (q0, set, _, _, points, rel, _) ->
  (match set with
   | Points ->
     (match worst_ratio table points rel with
      | Some worst ->
        if (&&)
             ((&&)
               ((&&)
                 ((&&)
                   ((&&)
                     (Z.leb ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                       Whole.one)) size0)
                     (Z.leb size0 ((fun p -> p)
                       ((fun p -> Whole.shift_left p 1)
                       ((fun p -> Whole.shift_left p 1)
                       ((fun p -> Whole.shift_left p 1)
                       ((fun p -> Whole.shift_left p 1)
                       ((fun p -> Whole.succ (Whole.shift_left p 1))
                       ((fun p -> Whole.shift_left p 1)
                       ((fun p -> Whole.shift_left p 1)
                       ((fun p -> Whole.shift_left p 1)
                       ((fun p -> Whole.succ (Whole.shift_left p 1))
                       ((fun p -> Whole.succ (Whole.shift_left p 1))
                       ((fun p -> Whole.succ (Whole.shift_left p 1))
                       ((fun p -> Whole.shift_left p 1)
                       ((fun p -> Whole.shift_left p 1)
                       Whole.one))))))))))))))))
                   (qle_bool { qnum = Whole.zero; qden = Whole.one } epsilon))
                 (qle_bool { qnum = Whole.zero; qden = Whole.one } delta))
               (qle_bool delta { qnum = ((fun p -> p) Whole.one); qden =
                 Whole.one }))
             ((||)
               (qle_bool worst { qnum = ((fun p -> p) Whole.one); qden =
                 Whole.one })
               (existsb (covered_at worst size0 epsilon delta)
                 (((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 Whole.one))))))) :: (((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 Whole.one))))))))) :: (((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 ((fun p -> Whole.shift_left p 1)
                 Whole.one))))))))))) :: [])))))
        then drawn_on q0 (Approximate (epsilon, delta)) rel None
        else None
      | None -> None)
   | _ -> None)
| _ -> None

(** val shown : q -> Whole.t -> q -> expr **)

let shown scale threshold cells =
  let alone = Over ((Exp (Num
    (over0 (of_Z (Z.sub ((fun p -> p) Whole.one) threshold)) scale))), (Plus
    ((Num { qnum = ((fun p -> p) Whole.one); qden = Whole.one }), (Exp (Num
    (over0 { qnum = (Whole.neg Whole.one); qden = Whole.one } scale))))))
  in
  Minus ((Num { qnum = ((fun p -> p) Whole.one); qden = Whole.one }), (Pow
  ((Minus ((Num { qnum = ((fun p -> p) Whole.one); qden = Whole.one }),
  alone)), (Z.to_N (floor_of cells)))))

(** val stable_histogram : q -> Whole.t -> q -> fact -> fact option **)

let stable_histogram scale threshold delta = function
| Contribution (q0, set, _, high, _, rel, _) ->
  (match set with
   | Cell ->
     (match rel with
      | AddRemove ->
        if (&&)
             ((&&)
               ((&&) (below { qnum = Whole.zero; qden = Whole.one } scale)
                 (Z.leb ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                   Whole.one)) threshold))
               (qle_bool delta { qnum = ((fun p -> p) Whole.one); qden =
                 Whole.one })) (at_most (shown scale threshold high) delta)
        then drawn_on q0 (Approximate ((over0 high scale), delta)) AddRemove
               None
        else None
      | _ -> None)
   | _ -> None)
| _ -> None

(** val noise : step -> fact list -> fact option **)

let noise s found =
  match s with
  | ByFineGaussian (variance, grid, coordinates, distance, _) ->
    (match found with
     | [] -> None
     | f :: l ->
       (match f with
        | Stable (q0, how0, bound, rel, reads) ->
          (match l with
           | [] -> None
           | f0 :: l0 ->
             (match f0 with
              | Numbers (q', most) ->
                (match l0 with
                 | [] ->
                   (match mu_squared how0 bound variance with
                    | Some square ->
                      if (&&)
                           ((&&)
                             ((&&)
                               ((&&)
                                 ((&&)
                                   (below { qnum = Whole.zero; qden =
                                     Whole.one } variance)
                                   (below { qnum = Whole.zero; qden =
                                     Whole.one } grid))
                                 (Z.leb ((fun p -> p) Whole.one) coordinates))
                               ((=) q0 q')) (Z.eqb most coordinates))
                           (rounding_at_most
                             (over0 variance (times grid grid)) coordinates
                             distance)
                      then drawn_on q0 (NearGdp (square, distance)) rel reads
                      else None
                    | None -> None)
                 | _ :: _ -> None)
              | _ -> None))
        | _ -> None))
  | ByLatticeGaussian (variance, _) ->
    (match found with
     | [] -> None
     | f :: l ->
       (match f with
        | Shifts (q0, shifts, rel) ->
          (match l with
           | [] ->
             if below { qnum = Whole.zero; qden = Whole.one } variance
             then drawn_on q0 (Lattice (variance, shifts, ((fun p -> p)
                    Whole.one))) rel None
             else None
           | _ :: _ -> None)
        | _ -> None))
  | ByDiscreteGaussian (variance, grid, _) ->
    (match found with
     | [] -> None
     | f :: l ->
       (match f with
        | Stable (q0, how0, bound, rel, reads) ->
          (match l with
           | [] ->
             (match mu_squared how0 bound variance with
              | Some square ->
                if (&&)
                     (below { qnum = Whole.zero; qden = Whole.one } variance)
                     (below { qnum = Whole.zero; qden = Whole.one } grid)
                then drawn_on q0 (Zcdp (over0 square two)) rel reads
                else None
              | None -> None)
           | _ :: _ -> None)
        | _ -> None))
  | ByGaussianNoise (variance, _) ->
    (match found with
     | [] -> None
     | f :: l ->
       (match f with
        | Stable (q0, how0, bound, rel, reads) ->
          (match l with
           | [] ->
             (match mu_squared how0 bound variance with
              | Some square ->
                if below { qnum = Whole.zero; qden = Whole.one } variance
                then drawn_on q0 (Gdp square) rel reads
                else None
              | None -> None)
           | _ :: _ -> None)
        | _ -> None))
  | ByLaplaceNoise (scale, grid, _) ->
    (match found with
     | [] -> None
     | f :: l ->
       (match f with
        | Stable (q0, how0, bound, rel, reads) ->
          (match how0 with
           | L1 ->
             (match l with
              | [] ->
                if (&&) (below { qnum = Whole.zero; qden = Whole.one } scale)
                     (match grid with
                      | Some g ->
                        below { qnum = Whole.zero; qden = Whole.one } g
                      | None -> true)
                then drawn_on q0 (Pure (over0 bound scale)) rel reads
                else None
              | _ :: _ -> None)
           | _ -> None)
        | _ -> None))
  | ByExponential (rate, _) ->
    (match found with
     | [] -> None
     | f :: l ->
       (match f with
        | Stable (q0, how0, bound, rel, reads) ->
          (match how0 with
           | Range ->
             (match l with
              | [] ->
                if below { qnum = Whole.zero; qden = Whole.one } rate
                then drawn_on q0 (BoundedRange (times rate bound)) rel reads
                else None
              | _ :: _ -> None)
           | _ -> None)
        | _ -> None))
  | ByPermuteAndFlip (rate, _) ->
    (match found with
     | [] -> None
     | f :: l ->
       (match f with
        | Stable (q0, how0, bound, rel, reads) ->
          (match how0 with
           | Range ->
             (match l with
              | [] ->
                if below { qnum = Whole.zero; qden = Whole.one } rate
                then drawn_on q0 (Pure (times rate bound)) rel reads
                else None
              | _ :: _ -> None)
           | _ -> None)
        | _ -> None))
  | ByKNorm (rate, bound, grid, _) ->
    (match found with
     | [] -> None
     | f :: l ->
       (match f with
        | Stable (q0, how0, moved0, rel, reads) ->
          (match how0 with
           | L2Squared ->
             (match reads with
              | Some _ -> None
              | None ->
                (match l with
                 | [] ->
                   if (&&)
                        ((&&)
                          ((&&)
                            (below { qnum = Whole.zero; qden = Whole.one }
                              rate)
                            (below { qnum = Whole.zero; qden = Whole.one }
                              grid))
                          (qle_bool { qnum = Whole.zero; qden = Whole.one }
                            bound)) (qle_bool moved0 (times bound bound))
                   then drawn_on q0 (Pure (times rate bound)) rel None
                   else None
                 | _ :: _ -> None))
           | _ -> None)
        | _ -> None))
  | BySparseVector (threshold, scale, limit, grid, _) ->
    (match found with
     | [] -> None
     | f :: l ->
       (match f with
        | Stable (q0, how0, bound, rel, reads) ->
          (match how0 with
           | EachNumber ->
             (match l with
              | [] ->
                if (&&)
                     ((&&)
                       ((&&)
                         (below { qnum = Whole.zero; qden = Whole.one }
                           threshold)
                         (below { qnum = Whole.zero; qden = Whole.one } scale))
                       (below { qnum = Whole.zero; qden = Whole.one } grid))
                     (Z.leb ((fun p -> p) Whole.one) limit)
                then drawn_on q0 (Pure
                       (times bound
                         (plus
                           (over0 { qnum = ((fun p -> p) Whole.one); qden =
                             Whole.one } threshold)
                           (over0 (times two (of_Z limit)) scale)))) rel reads
                else None
              | _ :: _ -> None)
           | _ -> None)
        | _ -> None))
  | ByFinite (table, epsilon, _) ->
    (match found with
     | [] -> None
     | person :: l ->
       (match l with
        | [] -> finite table epsilon person
        | _ :: _ -> None))
  | ByShuffled (table, size0, epsilon, delta, _) ->
    (match found with
     | [] -> None
     | person :: l ->
       (match l with
        | [] -> shuffled table size0 epsilon delta person
        | _ :: _ -> None))
  | ByStableHistogram (scale, threshold, delta, _) ->
    (match found with
     | [] -> None
     | person :: l ->
       (match l with
        | [] -> stable_histogram scale threshold delta person
        | _ :: _ -> None))
  | _ -> None

(** val law_of : step -> fact -> (string * noise_law) option **)

let law_of s query0 =
  let symmetric =
    match query0 with
    | Stable (_, how0, _, _, _) ->
      (match how0 with
       | FrobeniusSquared -> true
       | _ -> false)
    | _ -> false
  in
  (match s with
   | ByFineGaussian (variance, grid, coordinates, _, key) ->
     Some (key, (FineNormal (variance, grid, coordinates, symmetric)))
   | ByLatticeGaussian (variance, key) -> Some (key, (LatticeNormal variance))
   | ByDiscreteGaussian (variance, grid, key) ->
     Some (key, (DiscreteNormal (variance, grid, symmetric)))
   | ByGaussianNoise (variance, key) ->
     Some (key, (NormalNoise (variance, symmetric)))
   | ByLaplaceNoise (scale, grid, key) ->
     Some (key, (LaplaceNoise (scale, grid)))
   | ByExponential (rate, key) -> Some (key, (ExponentialChoice rate))
   | ByPermuteAndFlip (rate, key) -> Some (key, (FlippedChoice rate))
   | ByKNorm (rate, _, grid, key) -> Some (key, (LengthNoise (rate, grid)))
   | BySparseVector (threshold, scale, limit, grid, key) ->
     Some (key, (SparseAnswers (threshold, scale, limit, grid)))
   | ByFinite (table, _, key) -> Some (key, (TableAnswer table))
   | ByShuffled (table, size0, _, delta, key) ->
     Some (key, (ShuffledAnswers (table, size0, delta)))
   | ByStableHistogram (scale, threshold, delta, key) ->
     Some (key, (CellsShown (scale, threshold, delta)))
   | _ -> None)

(** val viewed :
    fact -> fact -> (audience -> bool) -> observer -> observer -> fact option **)

let viewed part view shown0 needed seen =
  match part with
  | Private (_, law, rel, o, reads) ->
    (match view with
     | View (q0, a, _) ->
       if (&&) (observer_eqb o needed) (shown0 a)
       then Some (Private (q0, law, rel, seen, reads))
       else None
     | _ -> None)
  | _ -> None

(** val is_everyone : audience -> bool **)

let is_everyone = function
| Everyone -> true
| Others -> false

(** val amounts : curve -> q list option **)

let amounts = function
| Pure e -> Some (e :: [])
| Approximate (e, d) -> Some (e :: (d :: []))
| Zcdp r -> Some (r :: [])
| Gdp m -> Some (m :: [])
| NearGdp (m, d) -> Some (m :: (d :: []))
| BoundedRange e -> Some (e :: [])
| Lattice (_, _, _) -> None
| Renyi points -> Some (map snd points)

(** val rebuilt : curve -> q list -> curve option **)

let rebuilt law new0 =
  match law with
  | Pure _ ->
    (match new0 with
     | [] -> None
     | e :: l -> (match l with
                  | [] -> Some (Pure e)
                  | _ :: _ -> None))
  | Approximate (_, _) ->
    (match new0 with
     | [] -> None
     | e :: l ->
       (match l with
        | [] -> None
        | d :: l0 ->
          (match l0 with
           | [] -> Some (Approximate (e, d))
           | _ :: _ -> None)))
  | Zcdp _ ->
    (match new0 with
     | [] -> None
     | r :: l -> (match l with
                  | [] -> Some (Zcdp r)
                  | _ :: _ -> None))
  | Gdp _ ->
    (match new0 with
     | [] -> None
     | m :: l -> (match l with
                  | [] -> Some (Gdp m)
                  | _ :: _ -> None))
  | NearGdp (_, _) ->
    (match new0 with
     | [] -> None
     | m :: l ->
       (match l with
        | [] -> None
        | d :: l0 ->
          (match l0 with
           | [] -> Some (NearGdp (m, d))
           | _ :: _ -> None)))
  | BoundedRange _ ->
    (match new0 with
     | [] -> None
     | e :: l -> (match l with
                  | [] -> Some (BoundedRange e)
                  | _ :: _ -> None))
  | Lattice (_, _, _) -> None
  | Renyi points ->
    if Nat.eqb (length points) (length new0)
    then Some (Renyi (combine (map fst points) new0))
    else None

(** val alike : curve -> curve -> bool **)

let alike a b =
  match a with
  | Pure _ -> (match b with
               | Pure _ -> true
               | _ -> false)
  | Approximate (_, _) ->
    (match b with
     | Approximate (_, _) -> true
     | _ -> false)
  | Zcdp _ -> (match b with
               | Zcdp _ -> true
               | _ -> false)
  | Gdp _ -> (match b with
              | Gdp _ -> true
              | _ -> false)
  | NearGdp (_, _) -> (match b with
                       | NearGdp (_, _) -> true
                       | _ -> false)
  | BoundedRange _ -> (match b with
                       | BoundedRange _ -> true
                       | _ -> false)
  | Lattice (_, _, _) -> false
  | Renyi p ->
    (match b with
     | Renyi q0 -> list_eqb q_eqb (map fst p) (map fst q0)
     | _ -> false)

(** val zip_with : (q -> q -> q) -> q list -> q list -> q list **)

let rec zip_with f a b =
  match a with
  | [] -> []
  | x :: a0 ->
    (match b with
     | [] -> []
     | y :: b0 -> (f x y) :: (zip_with f a0 b0))

(** val joined : (q -> q -> q) -> curve -> curve -> curve option **)

let joined f a b =
  if alike a b
  then (match amounts a with
        | Some x ->
          (match amounts b with
           | Some y -> rebuilt a (zip_with f x y)
           | None -> None)
        | None -> None)
  else None

(** val hull : interval -> interval -> interval **)

let hull a b =
  match a with
  | Some _ ->
    let (f, l) = match a with
                 | Some s -> s
                 | None -> anyone in
    let (f', l') = match b with
                   | Some s -> s
                   | None -> anyone in
    Some ((Z.min f f'), (Z.max l l'))
  | None ->
    (match b with
     | Some _ ->
       let (f, l) = match a with
                    | Some s -> s
                    | None -> anyone in
       let (f', l') = match b with
                      | Some s -> s
                      | None -> anyone in
       Some ((Z.min f f'), (Z.max l l'))
     | None -> None)

(** val both : string -> (q -> q -> q) -> fact -> fact -> fact option **)

let both sign f a b =
  match a with
  | Private (s, law, rel, o, reads) ->
    (match b with
     | Private (s', law', rel', o', reads') ->
       if (&&) (relation_eqb rel rel') (observer_eqb o o')
       then (match joined f law law' with
             | Some total ->
               Some (Private (((^) s ((^) sign s')), total, rel, o,
                 (hull reads reads')))
             | None -> None)
       else None
     | _ -> None)
  | _ -> None

(** val together :
    string -> (q -> q -> q) -> fact -> fact list -> fact option **)

let rec together sign f first = function
| [] -> Some first
| next :: more ->
  (match both sign f first next with
   | Some so_far -> together sign f so_far more
   | None -> None)

(** val has_amounts : fact -> bool **)

let has_amounts = function
| Private (_, law, _, _, _) -> negb (is_none (amounts law))
| _ -> false

(** val is_range : fact -> bool **)

let is_range = function
| Private (_, law, _, _, _) ->
  (match law with
   | BoundedRange _ -> true
   | _ -> false)
| _ -> false

(** val combined : string -> (q -> q -> q) -> fact list -> fact option **)

let combined sign f = function
| [] -> None
| first :: rest ->
  if has_amounts first then together sign f first rest else None

(** val compose : fact list -> fact option **)

let compose parts =
  if negb (existsb is_range parts) then combined " + " plus parts else None

(** val reads_of : fact -> interval **)

let reads_of = function
| Private (_, _, _, _, reads) -> reads
| _ -> None

(** val disjoint : interval list -> bool **)

let rec disjoint = function
| [] -> true
| i :: rest ->
  (match i with
   | Some p ->
     let (f, l) = p in
     (&&)
       (forallb (fun other ->
         match other with
         | Some y -> let (f', l') = y in (||) (Z.ltb l f') (Z.ltb l' f)
         | None -> false) rest) (disjoint rest)
   | None -> false)

(** val of_groups : relation -> bool **)

let rec of_groups = function
| Entering (of0, _, _) -> of_groups of0
| Groups (_, _) -> true
| _ -> false

(** val of_one_unit : fact -> bool **)

let of_one_unit = function
| Private (_, _, rel, _, _) -> negb (of_groups rel)
| _ -> false

(** val parallel : fact list -> fact option **)

let parallel parts =
  if (&&) (disjoint (map reads_of parts)) (forallb of_one_unit parts)
  then combined " | " larger parts
  else None

(** val reads_anyone : fact -> bool **)

let reads_anyone part =
  match reads_of part with
  | Some s ->
    (&&) (Z.eqb (fst s) ((fun p -> p) Whole.one))
      (Z.eqb (snd s)
        (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
          ((fun p -> p) ((fun p -> Whole.succ (Whole.shift_left p 1))
          ((fun p -> Whole.succ (Whole.shift_left p 1))
          ((fun p -> Whole.succ (Whole.shift_left p 1))
          ((fun p -> Whole.succ (Whole.shift_left p 1))
          ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one))))))))
  | None -> false

(** val keys_apart : string list list -> bool **)

let rec keys_apart = function
| [] -> true
| a :: rest ->
  (&&)
    (forallb (fun b -> forallb (fun k -> negb (existsb ((=) k) b)) a) rest)
    (keys_apart rest)

(** val mixture : fact -> fact list -> fact option **)

let mixture choice parts =
  match combined " or " larger parts with
  | Some whole0 ->
    (match choice with
     | Choice (q0, listed) ->
       (match whole0 with
        | Private (s, _, _, _, _) ->
          if (&&) ((=) q0 s)
               ((||) (negb (existsb reads_anyone parts)) (keys_apart listed))
          then Some whole0
          else None
        | _ -> None)
     | _ -> None)
  | None -> None

(** val repeated : curve -> Whole.t -> curve option **)

let repeated law most =
  match law with
  | Lattice (variance, shifts, count) ->
    Some (Lattice (variance, shifts, (Z.mul count most)))
  | _ ->
    if (||) (Z.eqb most ((fun p -> p) Whole.one))
         (match law with
          | BoundedRange _ -> false
          | _ -> true)
    then (match amounts law with
          | Some found -> rebuilt law (map (times (of_Z most)) found)
          | None -> None)
    else None

(** val nodes : fact -> fact -> fact option **)

let nodes leaf covered0 =
  match leaf with
  | Private (s, law, rel, seen, reads) ->
    (match seen with
     | Central ->
       (match reads with
        | Some _ -> None
        | None ->
          (match covered0 with
           | Covered (q0, _, most, _, units) ->
             if (&&) ((=) q0 s) (of_one_unit leaf)
             then (match repeated law most with
                   | Some total ->
                     Some (Private (s, total, rel, Central, (Some units)))
                   | None -> None)
             else None
           | _ -> None))
     | _ -> None)
  | _ -> None

(** val local : fact -> fact -> fact option **)

let local message covered0 =
  match nodes message covered0 with
  | Some whole0 ->
    (match whole0 with
     | Private (s, law, rel, _, reads) ->
       (match rel with
        | ReplaceOne ->
          (match covered0 with
           | Covered (_, _, _, widest, _) ->
             if Z.eqb widest ((fun p -> p) Whole.one)
             then Some (Private (s, law, ReplaceOne, Local, reads))
             else None
           | _ -> None)
        | _ -> None)
     | _ -> None)
  | None -> None

(** val relation_of : fact -> relation **)

let relation_of = function
| Private (_, _, rel, _, _) -> rel
| _ -> ReplaceOne

(** val subject_of : fact -> string **)

let subject_of = function
| Private (s, _, _, _, _) -> s
| _ -> ""

(** val two_largest : q -> q -> q list -> q **)

let rec two_largest a b = function
| [] -> plus a b
| x :: rest ->
  if below a x
  then two_largest x a rest
  else if below b x then two_largest a x rest else two_largest a b rest

(** val two_dearest : q list -> q **)

let two_dearest = function
| [] -> { qnum = Whole.zero; qden = Whole.one }
| x :: l ->
  (match l with
   | [] -> x
   | y :: rest ->
     if below x y then two_largest y x rest else two_largest x y rest)

(** val transposed : nat -> q list list -> q list list **)

let transposed width rows =
  map (fun k ->
    map (fun row -> nth k row { qnum = Whole.zero; qden = Whole.one }) rows)
    (seq O width)

(** val law_of_part : fact -> curve option **)

let law_of_part = function
| Private (_, law, _, _, _) -> Some law
| _ -> None

(** val same_kind : fact -> fact -> bool **)

let same_kind a b =
  match a with
  | Private (_, law, _, o, _) ->
    (match b with
     | Private (_, law', _, o', _) ->
       (&&) (alike law law') (observer_eqb o o')
     | _ -> false)
  | _ -> false

(** val partition : fact -> fact list -> fact option **)

let partition split cells =
  match split with
  | Split (q0, names) ->
    let n0 = length names in
    let inside =
      match Nat.sub (length cells) n0 with
      | O -> []
      | S n1 -> firstn (S n1) cells
    in
    let entering0 = skipn (length inside) cells in
    if (&&)
         ((&&)
           ((&&)
             ((&&)
               ((&&)
                 ((&&) (match n0 with
                        | O -> false
                        | S _ -> true) (Nat.eqb (length entering0) n0))
                 (match inside with
                  | [] -> true
                  | _ :: _ ->
                    (&&) (Nat.eqb (length inside) n0)
                      (list_eqb (=) (map subject_of inside) names)))
               (list_eqb (=) (map subject_of entering0) names))
             (forallb (fun c -> relation_eqb (relation_of c) ReplaceOne)
               inside))
           (forallb (fun c -> relation_eqb (relation_of c) AddRemove)
             entering0)) (forallb (fun c -> negb (reads_anyone c)) cells)
    then (match entering0 with
          | [] -> None
          | first :: _ ->
            if (&&)
                 ((&&) (negb (is_range first))
                   (forallb (same_kind first) cells))
                 (match first with
                  | Private (_, _, _, seen, _) ->
                    (match seen with
                     | Central -> true
                     | _ -> false)
                  | _ -> false)
            then (match law_of_part first with
                  | Some law ->
                    (match inside with
                     | [] ->
                       (match all_some (fun c ->
                                match law_of_part c with
                                | Some l -> amounts l
                                | None -> None) cells with
                        | Some rows ->
                          let width = length (hd [] rows) in
                          let moving =
                            transposed width (skipn (length inside) rows)
                          in
                          let staying =
                            transposed width (firstn (length inside) rows)
                          in
                          let worst =
                            match inside with
                            | [] -> map largest moving
                            | _ :: _ ->
                              zip_with larger (map two_dearest moving)
                                (map largest staying)
                          in
                          (match rebuilt law worst with
                           | Some total ->
                             Some (Private (q0, total,
                               (match inside with
                                | [] -> AddRemove
                                | _ :: _ -> ReplaceOne), Central,
                               (fold_left hull (map reads_of (tl cells))
                                 (reads_of (hd first cells)))))
                           | None -> None)
                        | None -> None)
                     | _ :: _ ->
                       (match law with
                        | NearGdp (_, _) -> None
                        | _ ->
                          (match all_some (fun c ->
                                   match law_of_part c with
                                   | Some l -> amounts l
                                   | None -> None) cells with
                           | Some rows ->
                             let width = length (hd [] rows) in
                             let moving =
                               transposed width (skipn (length inside) rows)
                             in
                             let staying =
                               transposed width (firstn (length inside) rows)
                             in
                             let worst =
                               match inside with
                               | [] -> map largest moving
                               | _ :: _ ->
                                 zip_with larger (map two_dearest moving)
                                   (map largest staying)
                             in
                             (match rebuilt law worst with
                              | Some total ->
                                Some (Private (q0, total,
                                  (match inside with
                                   | [] -> AddRemove
                                   | _ :: _ -> ReplaceOne), Central,
                                  (fold_left hull (map reads_of (tl cells))
                                    (reads_of (hd first cells)))))
                              | None -> None)
                           | None -> None)))
                  | None -> None)
            else None)
    else None
  | _ -> None

(** val composition : step -> fact list -> fact option **)

let composition s found =
  match s with
  | ByPostProcess ->
    (match found with
     | [] -> None
     | part :: l ->
       (match l with
        | [] -> None
        | view :: l0 ->
          (match l0 with
           | [] -> viewed part view is_everyone Central Central
           | _ :: _ -> None)))
  | ByBillboard ->
    (match found with
     | [] -> None
     | part :: l ->
       (match l with
        | [] -> None
        | view :: l0 ->
          (match l0 with
           | [] ->
             viewed part view (fun a -> negb (is_everyone a)) Central Joint
           | _ :: _ -> None)))
  | ByLocalView ->
    (match found with
     | [] -> None
     | part :: l ->
       (match l with
        | [] -> None
        | view :: l0 ->
          (match l0 with
           | [] -> viewed part view (fun _ -> true) Local Local
           | _ :: _ -> None)))
  | ByNodes ->
    (match found with
     | [] -> None
     | leaf :: l ->
       (match l with
        | [] -> None
        | covered0 :: l0 ->
          (match l0 with
           | [] -> nodes leaf covered0
           | _ :: _ -> None)))
  | ByLocal ->
    (match found with
     | [] -> None
     | message :: l ->
       (match l with
        | [] -> None
        | covered0 :: l0 ->
          (match l0 with
           | [] -> local message covered0
           | _ :: _ -> None)))
  | ByCompose -> compose found
  | ByParallel -> parallel found
  | ByMixture ->
    (match found with
     | [] -> None
     | choice :: parts -> mixture choice parts)
  | ByPartition ->
    (match found with
     | [] -> None
     | split :: cells -> partition split cells)
  | _ -> None

(** val pairs_up : Whole.t -> Whole.t list -> Whole.t list **)

let rec pairs_up w l = match l with
| [] -> l
| a :: l0 ->
  (match l0 with
   | [] -> l
   | b :: rest ->
     (Z.add a
       (Z.mul b
         (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one)) w))) :: 
       (pairs_up w rest))

(** val pack : nat -> Whole.t -> Whole.t list -> Whole.t **)

let rec pack levels w l =
  match levels with
  | O -> hd Whole.zero l
  | S less ->
    pack less
      (Z.mul ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one)) w)
      (pairs_up w l)

(** val pairs_down : Whole.t -> Whole.t list -> Whole.t list **)

let rec pairs_down w = function
| [] -> []
| a :: rest ->
  (Z.modulo a
    (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one)) w)) :: (
    (Z.div a
      (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one)) w)) :: 
    (pairs_down w rest))

(** val unpack : nat -> Whole.t -> Whole.t -> Whole.t list **)

let rec unpack levels w z0 =
  match levels with
  | O -> z0 :: []
  | S less ->
    pairs_down w
      (unpack less
        (Z.mul ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one)) w)
        z0)

(** val levels_for : nat -> nat **)

let levels_for n0 =
  Z.to_nat (Z.add (Z.log2 (Z.of_nat n0)) ((fun p -> p) Whole.one))

(** val bits_of : Whole.t list -> Whole.t **)

let bits_of l =
  Z.add (Z.log2 (fold_left Z.max l ((fun p -> p) Whole.one))) ((fun p -> p)
    Whole.one)

(** val multiply : Whole.t list -> Whole.t list -> Whole.t list **)

let multiply a b =
  let n0 = add (length a) (length b) in
  let levels = levels_for n0 in
  let w =
    Z.add (Z.add (Z.add (bits_of a) (bits_of b)) (Z.log2 (Z.of_nat n0)))
      ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
  in
  firstn (pred n0)
    (unpack levels w (Z.mul (pack levels w a) (pack levels w b)))

(** val raised : Whole.t list -> Whole.t -> Whole.t list **)

let rec raised base n0 =
  (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
    (fun m -> let h = raised base m in multiply base (multiply h h))
    (fun m -> let h = raised base m in multiply h h)
    (fun _ -> base)
    n0

(** val weight_at : Whole.t -> q -> Whole.t -> Whole.t * Whole.t **)

let weight_at p variance x =
  let (o, o0) =
    exponential p
      (of_Q p
        (qdiv (qopp { qnum = (Z.mul x x); qden = Whole.one })
          (qmult variance { qnum = ((fun p -> p)
            ((fun p -> Whole.shift_left p 1) Whole.one)); qden = Whole.one })))
  in
  (match o with
   | Some a ->
     (match o0 with
      | Some b -> (a, b)
      | None ->
        (Whole.zero,
          (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
            ((fun p -> p) p))))
   | None ->
     (Whole.zero,
       (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
         ((fun p -> p) p))))

(** val beyond : Whole.t -> q -> Whole.t -> Whole.t option **)

let beyond p variance radius =
  let r = Z.add radius ((fun p -> p) Whole.one) in
  let first =
    exponential p
      (of_Q p
        (qdiv (qopp { qnum = (Z.mul r r); qden = Whole.one })
          (qmult variance { qnum = ((fun p -> p)
            ((fun p -> Whole.shift_left p 1) Whole.one)); qden = Whole.one })))
  in
  let ratio =
    exponential p
      (of_Q p (qdiv (qopp { qnum = r; qden = Whole.one }) variance))
  in
  snd
    (div0 p (add0 first first)
      (sub0 (of_Q p { qnum = ((fun p -> p) Whole.one); qden = Whole.one })
        ratio))

(** val spread_out : Whole.t -> Whole.t list -> Whole.t list **)

let spread_out step0 = function
| [] -> []
| a :: rest ->
  a :: (flat_map (fun b ->
         app
           (repeat Whole.zero
             (Z.to_nat (Z.sub step0 ((fun p -> p) Whole.one)))) (b :: []))
         rest)

(** val digits10 : q -> Whole.t **)

let digits10 q0 =
  Z.add
    (Z.div
      (Z.mul
        (Z.add
          (Z.log2
            (Z.add (Z.div q0.qnum ((fun p -> p) q0.qden)) ((fun p -> p)
              Whole.one))) ((fun p -> p) Whole.one)) ((fun p -> p)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        Whole.one)))))))))))))))) ((fun p -> p)
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      Whole.one)))))))))))))))))) ((fun p -> p) Whole.one)

(** val floor_q : q -> Whole.t **)

let floor_q q0 =
  Z.div q0.qnum ((fun p -> p) q0.qden)

(** val ceiling_q : q -> Whole.t **)

let ceiling_q q0 =
  up_div q0.qnum ((fun p -> p) q0.qden)

(** val sum_z : Whole.t list -> Whole.t **)

let sum_z l =
  fold_left Z.add l Whole.zero

(** val lattice_law :
    Whole.t -> q -> Whole.t -> Whole.t list -> Whole.t -> (((Whole.t
    list * Whole.t) * Whole.t) * Whole.t) option **)

let lattice_law p variance radius steps count =
  let half =
    map (weight_at p variance) (map Z.of_nat (seq O (S (Z.to_nat radius))))
  in
  let one0 = app (rev (tl (map fst half))) (map fst half) in
  (match beyond p variance radius with
   | Some tail ->
     let low = sum_z one0 in
     let high =
       Z.add (Z.add (sum_z (map snd half)) (sum_z (map snd (tl half)))) tail
     in
     let cells =
       fold_left (fun cells step0 ->
         multiply cells (raised (spread_out step0 one0) count)) steps
         (((fun p -> p) Whole.one) :: [])
     in
     Some (((cells,
     (Z.mul (Z.mul radius (sum_z steps)) ((fun p -> p) count))), low), high)
   | None -> None)

(** val lattice_at_most : q -> Whole.t list -> Whole.t -> q -> q -> bool **)

let lattice_at_most variance shift0 count epsilon delta =
  match filter (fun v -> negb (Z.eqb v Whole.zero)) (map Z.abs shift0) with
  | [] -> true
  | z0 :: l ->
    let steps = z0 :: l in
    let squares0 = sum_z (map (fun v -> Z.mul v v) steps) in
    let half =
      qred { qnum = (Z.mul count squares0); qden =
        ((fun p -> Whole.shift_left p 1) Whole.one) }
    in
    let below0 = ceiling_q (minus half (times variance epsilon)) in
    let above = floor_q (plus half (times variance epsilon)) in
    let digits0 =
      Z.add ((fun p -> p) ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one)))))
        (Z.mul ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
          (digits10 (qinv delta)))
    in
    let radius =
      Z.add
        (Z.sqrt
          (floor_q
            (times
              (times { qnum = ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                Whole.one)); qden = Whole.one } variance)
              (of_Z
                (Z.mul digits0 ((fun p -> p)
                  ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one)))))))
        ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
    in
    let span0 = Z.mul (Z.mul radius (sum_z steps)) count in
    let p =
      Z.to_pos
        (Z.mul digits0 ((fun p -> p) ((fun p -> Whole.shift_left p 1)
          ((fun p -> Whole.shift_left p 1) Whole.one))))
    in
    if (&&)
         ((&&)
           ((&&)
             ((&&) (below { qnum = Whole.zero; qden = Whole.one } delta)
               (below { qnum = Whole.zero; qden = Whole.one } variance))
             (Z.leb digits0 ((fun p -> p) ((fun p -> Whole.shift_left p 1)
               ((fun p -> Whole.shift_left p 1)
               ((fun p -> Whole.shift_left p 1)
               ((fun p -> Whole.shift_left p 1)
               ((fun p -> Whole.shift_left p 1)
               ((fun p -> Whole.succ (Whole.shift_left p 1))
               ((fun p -> Whole.succ (Whole.shift_left p 1))
               ((fun p -> Whole.succ (Whole.shift_left p 1))
               Whole.one))))))))))) (Z.leb ((fun p -> p) Whole.one) count))
         (Z.leb
           (Z.add
             (Z.mul ((fun p -> p) ((fun p -> Whole.shift_left p 1)
               Whole.one)) span0) ((fun p -> p) Whole.one)) ((fun p -> p)
           ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
           ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
           ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
           ((fun p -> Whole.succ (Whole.shift_left p 1))
           ((fun p -> Whole.succ (Whole.shift_left p 1))
           ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
           ((fun p -> Whole.succ (Whole.shift_left p 1))
           ((fun p -> Whole.shift_left p 1)
           ((fun p -> Whole.succ (Whole.shift_left p 1))
           ((fun p -> Whole.shift_left p 1)
           ((fun p -> Whole.succ (Whole.shift_left p 1))
           ((fun p -> Whole.succ (Whole.shift_left p 1))
           Whole.one))))))))))))))))))
    then (match lattice_law p variance radius steps (Z.to_pos count) with
          | Some p0 ->
            let (p1, high) = p0 in
            let (p2, low) = p1 in
            let (cells, reach) = p2 in
            let n0 = Z.mul (Z.of_nat (length steps)) count in
            let least0 = Z.pow low n0 in
            let most = Z.pow high n0 in
            let at_place = fun k ->
              Z.to_nat (Z.max Whole.zero (Z.add k reach))
            in
            let hit =
              Z.add (sum_z (firstn (at_place below0) cells))
                (Z.sub most least0)
            in
            let miss =
              sum_z
                (skipn (at_place (Z.add above ((fun p -> p) Whole.one)))
                  cells)
            in
            if Z.ltb Whole.zero least0
            then at_most (Minus ((Num { qnum = hit; qden =
                   (Z.to_pos least0) }), (Times ((Exp (Num epsilon)), (Num
                   { qnum = miss; qden = (Z.to_pos most) }))))) delta
            else false
          | None -> false)
    else false

(** val gdp_delta : q -> q -> expr **)

let gdp_delta mu_squared0 epsilon =
  let mu = Root (Num mu_squared0) in
  let centre = Over ((Num epsilon), mu) in
  let half = Over (mu, (Num { qnum = ((fun p -> p)
    ((fun p -> Whole.shift_left p 1) Whole.one)); qden = Whole.one }))
  in
  Minus ((Tail (Minus (centre, half))), (Times ((Exp (Num epsilon)), (Tail
  (Plus (centre, half))))))

(** val pure_delta : q -> q -> expr **)

let pure_delta bound epsilon =
  Over ((Minus ((Exp (Num bound)), (Exp (Num epsilon)))), (Plus ((Num
    { qnum = ((fun p -> p) Whole.one); qden = Whole.one }), (Exp (Num
    bound)))))

(** val range_delta : q -> q -> expr **)

let range_delta eta epsilon =
  let rise = Minus ((Exp (Num
    (over0 (minus eta epsilon) { qnum = ((fun p -> p)
      ((fun p -> Whole.shift_left p 1) Whole.one)); qden = Whole.one }))),
    (Num { qnum = ((fun p -> p) Whole.one); qden = Whole.one }))
  in
  Over ((Times (rise, rise)), (Minus ((Exp (Num (minus eta epsilon))), (Exp
  (Num (minus { qnum = Whole.zero; qden = Whole.one } epsilon))))))

(** val near_delta : q -> q -> q -> expr **)

let near_delta mu_squared0 distance epsilon =
  let more = Times ((Num distance), (Plus ((Num { qnum = ((fun p -> p)
    Whole.one); qden = Whole.one }), (Exp (Num epsilon)))))
  in
  if qeq_bool mu_squared0 { qnum = Whole.zero; qden = Whole.one }
  then more
  else Plus ((gdp_delta mu_squared0 epsilon), more)

(** val renyi_excess : q -> q -> q -> q -> expr **)

let renyi_excess order divergence epsilon delta =
  let less = minus order { qnum = ((fun p -> p) Whole.one); qden = Whole.one }
  in
  Minus ((Minus ((Plus ((Num (times less (minus divergence epsilon))), (Times
  ((Num less), (Ln (Num
  (minus { qnum = ((fun p -> p) Whole.one); qden = Whole.one }
    (over0 { qnum = ((fun p -> p) Whole.one); qden = Whole.one } order)))))))),
  (Ln (Num order)))), (Ln (Num delta)))

(** val of_order : q -> q -> q -> q -> bool **)

let of_order order divergence epsilon delta =
  (&&)
    ((&&) (below { qnum = ((fun p -> p) Whole.one); qden = Whole.one } order)
      (below { qnum = Whole.zero; qden = Whole.one } delta))
    (at_most (renyi_excess order divergence epsilon delta) { qnum =
      Whole.zero; qden = Whole.one })

(** val implies : curve -> q -> q -> q option -> bool **)

let implies law epsilon delta order =
  let plain = is_none order in
  (match law with
   | Pure bound ->
     (&&) plain
       ((||) (qle_bool bound epsilon)
         (at_most (pure_delta bound epsilon) delta))
   | Approximate (bound, spent) ->
     (&&) ((&&) plain (qle_bool bound epsilon)) (qle_bool spent delta)
   | Zcdp rho ->
     if qeq_bool rho { qnum = Whole.zero; qden = Whole.one }
     then plain
     else (match order with
           | Some a -> of_order a (times a rho) epsilon delta
           | None -> false)
   | Gdp square ->
     (&&) plain
       ((||) (qeq_bool square { qnum = Whole.zero; qden = Whole.one })
         (at_most (gdp_delta square epsilon) delta))
   | NearGdp (square, distance) ->
     (&&) plain (at_most (near_delta square distance epsilon) delta)
   | BoundedRange eta ->
     (&&) plain
       ((||) (qle_bool eta epsilon) (at_most (range_delta eta epsilon) delta))
   | Lattice (variance, shifts, count) ->
     (&&) plain
       (forallb (fun shift0 ->
         lattice_at_most variance shift0 count epsilon delta) shifts)
   | Renyi points ->
     (match order with
      | Some a ->
        (match filter (fun p -> q_eqb (fst p) a) points with
         | [] -> false
         | p :: l ->
           let (_, bound) = p in
           (match l with
            | [] -> of_order a bound epsilon delta
            | _ :: _ -> false))
      | None -> false))

(** val with_law : fact -> curve -> fact option **)

let with_law part law =
  match part with
  | Private (s, _, rel, o, reads) -> Some (Private (s, law, rel, o, reads))
  | _ -> None

(** val law_in : fact -> curve option **)

let law_in = function
| Private (_, law, _, _, _) -> Some law
| _ -> None

(** val to_approximate : q -> q -> q option -> fact -> fact option **)

let to_approximate epsilon delta order part =
  match law_in part with
  | Some law ->
    if (&&)
         ((&&)
           ((&&) (qle_bool { qnum = Whole.zero; qden = Whole.one } epsilon)
             (qle_bool { qnum = Whole.zero; qden = Whole.one } delta))
           (qle_bool delta { qnum = ((fun p -> p) Whole.one); qden =
             Whole.one })) (implies law epsilon delta order)
    then with_law part (Approximate (epsilon, delta))
    else None
  | None -> None

(** val to_zcdp : fact -> fact option **)

let to_zcdp part =
  match law_in part with
  | Some law ->
    (match law with
     | Pure e ->
       let rho =
         over0 (times e e)
           (of_Z ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one)))
       in
       with_law part (Zcdp rho)
     | Gdp m ->
       let rho =
         over0 m
           (of_Z ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one)))
       in
       with_law part (Zcdp rho)
     | BoundedRange e ->
       let rho =
         over0 (times e e)
           (of_Z ((fun p -> p) ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1) Whole.one)))))
       in
       with_law part (Zcdp rho)
     | Lattice (variance, shifts, count) ->
       (match shifts with
        | [] -> None
        | _ :: _ ->
          let rho =
            over0
              (over0 (times (of_Z count) (of_Z (longest shifts))) variance)
              (of_Z ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                Whole.one)))
          in
          with_law part (Zcdp rho))
     | _ -> None)
  | None -> None

(** val to_pure : fact -> fact option **)

let to_pure part =
  match law_in part with
  | Some c ->
    (match c with
     | BoundedRange eta -> with_law part (Pure eta)
     | _ -> None)
  | None -> None

(** val to_gdp : q -> fact -> fact option **)

let to_gdp square part =
  match law_in part with
  | Some law ->
    (match law with
     | Pure e ->
       let excess = Times ((Tail (Over ((Root (Num square)), (Num { qnum =
         ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one)); qden =
         Whole.one })))), (Plus ((Num { qnum = ((fun p -> p) Whole.one);
         qden = Whole.one }), (Exp (Num e)))))
       in
       if (&&) (qle_bool { qnum = Whole.zero; qden = Whole.one } square)
            ((||) (qeq_bool e { qnum = Whole.zero; qden = Whole.one })
              (at_most excess { qnum = ((fun p -> p) Whole.one); qden =
                Whole.one }))
       then with_law part (Gdp square)
       else None
     | BoundedRange eta ->
       let epsilon =
         over0 eta
           (of_Z ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one)))
       in
       let excess = Times ((Tail (Over ((Root (Num square)), (Num { qnum =
         ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one)); qden =
         Whole.one })))), (Plus ((Num { qnum = ((fun p -> p) Whole.one);
         qden = Whole.one }), (Exp (Num epsilon)))))
       in
       if (&&) (qle_bool { qnum = Whole.zero; qden = Whole.one } square)
            ((||) (qeq_bool epsilon { qnum = Whole.zero; qden = Whole.one })
              (at_most excess { qnum = ((fun p -> p) Whole.one); qden =
                Whole.one }))
       then with_law part (Gdp square)
       else None
     | _ -> None)
  | None -> None

(** val to_near_gdp : fact -> fact option **)

let to_near_gdp part =
  match law_in part with
  | Some c ->
    (match c with
     | Gdp square ->
       with_law part (NearGdp (square, { qnum = Whole.zero; qden =
         Whole.one }))
     | _ -> None)
  | None -> None

(** val rising0 : q -> q list -> bool **)

let rec rising0 before0 = function
| [] -> true
| a :: rest -> (&&) (below before0 a) (rising0 a rest)

(** val to_renyi : q list -> fact -> fact option **)

let to_renyi orders part =
  match law_in part with
  | Some c ->
    (match c with
     | Zcdp rho ->
       if (&&) (match orders with
                | [] -> false
                | _ :: _ -> true)
            (rising0 { qnum = ((fun p -> p) Whole.one); qden = Whole.one }
              orders)
       then with_law part (Renyi (map (fun a -> (a, (times a rho))) orders))
       else None
     | _ -> None)
  | None -> None

(** val despite : q -> fact -> fact -> fact option **)

let despite delta part rare =
  match part with
  | Private (s, law, rel, o, _) ->
    (match law with
     | Approximate (epsilon, spent) ->
       (match rare with
        | Rare (q0, how0, chance) ->
          if (&&)
               ((&&) ((=) q0 s)
                 (qle_bool delta { qnum = ((fun p -> p) Whole.one); qden =
                   Whole.one }))
               (match how0 with
                | Event -> qle_bool (plus spent chance) delta
                | Distance ->
                  at_most (Plus ((Num spent), (Times ((Num chance), (Plus
                    ((Num { qnum = ((fun p -> p) Whole.one); qden =
                    Whole.one }), (Exp (Num epsilon)))))))) delta)
          then Some (Private (s, (Approximate (epsilon, delta)), rel, o,
                 (Some anyone)))
          else None
        | _ -> None)
     | _ -> None)
  | _ -> None

(** val grown : curve -> Whole.t -> q option -> curve option **)

let grown law size0 delta =
  let k = of_Z size0 in
  (match law with
   | Pure e ->
     (match delta with
      | Some _ -> None
      | None -> Some (Pure (times k e)))
   | Approximate (e, d) ->
     (match delta with
      | Some wanted ->
        if at_most (Times ((Num d), (Geometric ((Exp (Num e)),
             (Z.to_pos size0))))) wanted
        then Some (Approximate ((times k e), wanted))
        else None
      | None -> None)
   | Zcdp r ->
     (match delta with
      | Some _ -> None
      | None -> Some (Zcdp (times (times k k) r)))
   | Gdp m ->
     (match delta with
      | Some _ -> None
      | None -> Some (Gdp (times (times k k) m)))
   | NearGdp (m, d) ->
     (match delta with
      | Some _ -> None
      | None -> Some (NearGdp ((times (times k k) m), (times k d))))
   | _ -> None)

(** val group : Whole.t -> q option -> fact -> fact option **)

let group size0 delta = function
| Private (s, law, rel, o, reads) ->
  if Z.leb ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one)) size0
  then (match grown law size0 delta with
        | Some more ->
          Some (Private (s, more, (Groups (rel, size0)), o, reads))
        | None -> None)
  else None
| _ -> None

(** val moves_by : fact -> relation -> fact option **)

let moves_by part wanted =
  match part with
  | Private (s, law, _, o, reads) -> Some (Private (s, law, wanted, o, reads))
  | _ -> None

(** val within : q -> fact -> fact option **)

let within radius part = match part with
| Private (_, _, rel, _, _) ->
  (match rel with
   | BoundedRow step0 ->
     if (&&) (below { qnum = Whole.zero; qden = Whole.one } radius)
          (qle_bool radius step0)
     then moves_by part (BoundedRow radius)
     else None
   | Groups (of0, size0) ->
     (match of0 with
      | BoundedRow step0 ->
        if (&&)
             ((&&) (Z.leb ((fun p -> p) Whole.one) size0)
               (below { qnum = Whole.zero; qden = Whole.one } radius))
             (qle_bool radius (times step0 (of_Z size0)))
        then moves_by part (BoundedRow radius)
        else None
      | _ -> None)
   | _ -> None)
| _ -> None

(** val persons : fact -> fact -> fact option **)

let persons part bounding =
  match part with
  | Private (s, _, rel0, seen, reads) ->
    (match rel0 with
     | Groups (rows', size0) ->
       (match seen with
        | Central ->
          (match reads with
           | Some _ -> None
           | None ->
             (match bounding with
              | Persons (q0, rel, rows, most) ->
                if (&&) ((&&) (relation_eqb rows' rows) (Z.eqb size0 most))
                     ((=) s q0)
                then moves_by part rel
                else None
              | _ -> None))
        | _ -> None)
     | _ -> None)
  | _ -> None

(** val replace_one : fact -> fact option **)

let replace_one part = match part with
| Private (_, _, rel, _, _) ->
  (match rel with
   | Groups (of0, size0) ->
     (match of0 with
      | AddRemove ->
        ((fun zero pos neg z -> let s = Whole.sign z in if s = 0 then zero () else if s > 0 then pos z else neg (Whole.neg z))
           (fun _ -> None)
           (fun p ->
           (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
             (fun _ -> None)
             (fun p0 ->
             (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
               (fun _ -> None)
               (fun _ -> None)
               (fun _ -> moves_by part ReplaceOne)
               p0)
             (fun _ -> None)
             p)
           (fun _ -> None)
           size0)
      | _ -> None)
   | _ -> None)
| _ -> None

(** val conversion : step -> fact list -> fact option **)

let conversion s found =
  match s with
  | ByToApproximate (epsilon, delta, order) ->
    (match found with
     | [] -> None
     | part :: l ->
       (match l with
        | [] -> to_approximate epsilon delta order part
        | _ :: _ -> None))
  | ByToZcdp ->
    (match found with
     | [] -> None
     | part :: l -> (match l with
                     | [] -> to_zcdp part
                     | _ :: _ -> None))
  | ByToPure ->
    (match found with
     | [] -> None
     | part :: l -> (match l with
                     | [] -> to_pure part
                     | _ :: _ -> None))
  | ByToGdp square ->
    (match found with
     | [] -> None
     | part :: l -> (match l with
                     | [] -> to_gdp square part
                     | _ :: _ -> None))
  | ByToNearGdp ->
    (match found with
     | [] -> None
     | part :: l -> (match l with
                     | [] -> to_near_gdp part
                     | _ :: _ -> None))
  | ByToRenyi orders ->
    (match found with
     | [] -> None
     | part :: l -> (match l with
                     | [] -> to_renyi orders part
                     | _ :: _ -> None))
  | ByDespite delta ->
    (match found with
     | [] -> None
     | part :: l ->
       (match l with
        | [] -> None
        | rare :: l0 ->
          (match l0 with
           | [] -> despite delta part rare
           | _ :: _ -> None)))
  | ByGroup (size0, delta) ->
    (match found with
     | [] -> None
     | part :: l ->
       (match l with
        | [] -> group size0 delta part
        | _ :: _ -> None))
  | ByWithin radius ->
    (match found with
     | [] -> None
     | part :: l -> (match l with
                     | [] -> within radius part
                     | _ :: _ -> None))
  | ByPersons ->
    (match found with
     | [] -> None
     | part :: l ->
       (match l with
        | [] -> None
        | bounding :: l0 ->
          (match l0 with
           | [] -> persons part bounding
           | _ :: _ -> None)))
  | ByReplaceOne ->
    (match found with
     | [] -> None
     | part :: l -> (match l with
                     | [] -> replace_one part
                     | _ :: _ -> None))
  | _ -> None

(** val apart : told -> q -> fact -> fact -> fact option **)

let apart law scale neighbours covered0 =
  match neighbours with
  | Apart (q0, known, numbers, rel, o) ->
    (match numbers with
     | [] -> None
     | size0 :: l ->
       (match l with
        | [] ->
          (match covered0 with
           | Covered (q', _, most, _, _) ->
             if (&&) ((=) q0 q')
                  (below { qnum = Whole.zero; qden = Whole.one } scale)
             then (match law with
                   | ByGaussian ->
                     (match known with
                      | ByNumber ->
                        let square = times size0 size0 in
                        Some (Apart (q0, ByGaussian,
                        ((over0 (times (of_Z most) square) scale) :: []),
                        rel, o))
                      | ByVector ->
                        Some (Apart (q0, ByGaussian,
                          ((over0 (times (of_Z most) size0) scale) :: []),
                          rel, o))
                      | BySymmetric ->
                        let square =
                          over0 size0
                            (of_Z ((fun p -> p)
                              ((fun p -> Whole.shift_left p 1) Whole.one)))
                        in
                        Some (Apart (q0, ByGaussian,
                        ((over0 (times (of_Z most) square) scale) :: []),
                        rel, o))
                      | _ -> None)
                   | ByLaplace ->
                     if (&&) (match known with
                              | ByNumber -> true
                              | _ -> false)
                          (Z.eqb most ((fun p -> p) Whole.one))
                     then Some (Apart (q0, ByLaplace,
                            ((over0 size0 scale) :: []), rel, o))
                     else None
                   | _ -> None)
             else None
           | _ -> None)
        | _ :: _ -> None))
  | _ -> None

(** val minus_delta : told -> q list -> q -> expr option **)

let minus_delta law values epsilon =
  match law with
  | ByGaussian ->
    (match values with
     | [] -> None
     | square :: l ->
       (match l with
        | [] ->
          Some
            (if qeq_bool square { qnum = Whole.zero; qden = Whole.one }
             then Num { qnum = Whole.zero; qden = Whole.one }
             else Minus ((Num { qnum = Whole.zero; qden = Whole.one }),
                    (gdp_delta square epsilon)))
        | _ :: _ -> None))
  | ByLaplace ->
    (match values with
     | [] -> None
     | m :: l ->
       (match l with
        | [] ->
          let rest = minus epsilon m in
          Some (Minus ((Exp (Num
          (over0
            (if qle_bool { qnum = Whole.zero; qden = Whole.one } rest
             then { qnum = Whole.zero; qden = Whole.one }
             else rest)
            (of_Z ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one)))))),
          (Num { qnum = ((fun p -> p) Whole.one); qden = Whole.one })))
        | _ :: _ -> None))
  | ByEvent ->
    (match values with
     | [] -> None
     | likely :: l ->
       (match l with
        | [] -> None
        | rarely :: l0 ->
          (match l0 with
           | [] ->
             Some (Minus ((Times ((Exp (Num epsilon)), (Num rarely))), (Num
               likely)))
           | _ :: _ -> None)))
  | _ -> None

(** val refute : q -> q -> fact -> fact option **)

let refute epsilon delta = function
| Apart (q0, law, values, rel, o) ->
  (match minus_delta law values epsilon with
   | Some e ->
     let least0 =
       plus delta
         (qred { qnum = ((fun p -> p) Whole.one); qden =
           (Coq_Pos.pow ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.succ (Whole.shift_left p 1))
             ((fun p -> Whole.shift_left p 1) Whole.one)))
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.succ (Whole.shift_left p 1))
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one))))))))) })
     in
     if (&&)
          ((&&)
            ((&&) (qle_bool { qnum = Whole.zero; qden = Whole.one } epsilon)
              (qle_bool { qnum = Whole.zero; qden = Whole.one } delta))
            (qle_bool delta { qnum = ((fun p -> p) Whole.one); qden =
              Whole.one }))
          (at_most e (minus { qnum = Whole.zero; qden = Whole.one } least0))
     then Some (Refuted (q0, epsilon, delta, rel, o))
     else None
   | None -> None)
| _ -> None

(** val refutation : step -> fact list -> fact option **)

let refutation s found =
  match s with
  | ByApart (law, scale) ->
    (match found with
     | [] -> None
     | neighbours :: l ->
       (match l with
        | [] -> None
        | covered0 :: l0 ->
          (match l0 with
           | [] -> apart law scale neighbours covered0
           | _ :: _ -> None)))
  | ByRefute (epsilon, delta) ->
    (match found with
     | [] -> None
     | told1 :: l ->
       (match l with
        | [] -> refute epsilon delta told1
        | _ :: _ -> None))
  | _ -> None

(** val infer : step -> fact list -> fact option **)

let infer s found =
  match s with
  | ByLinear _ -> sensitivity s found
  | ByDifferences -> sensitivity s found
  | ByMoved _ -> sensitivity s found
  | ByCentred -> sensitivity s found
  | ByFactorised (_, _) -> sensitivity s found
  | ByJoint _ -> sensitivity s found
  | ByBuffered (_, _, _, _, _) -> sensitivity s found
  | ByFineGaussian (_, _, _, _, _) -> noise s found
  | ByLatticeGaussian (_, _) -> noise s found
  | ByDiscreteGaussian (_, _, _) -> noise s found
  | ByGaussianNoise (_, _) -> noise s found
  | ByLaplaceNoise (_, _, _) -> noise s found
  | ByExponential (_, _) -> noise s found
  | ByPermuteAndFlip (_, _) -> noise s found
  | ByKNorm (_, _, _, _) -> noise s found
  | BySparseVector (_, _, _, _, _) -> noise s found
  | ByFinite (_, _, _) -> noise s found
  | ByShuffled (_, _, _, _, _) -> noise s found
  | ByStableHistogram (_, _, _, _) -> noise s found
  | ByPostProcess -> composition s found
  | ByBillboard -> composition s found
  | ByLocalView -> composition s found
  | ByNodes -> composition s found
  | ByLocal -> composition s found
  | ByCompose -> composition s found
  | ByParallel -> composition s found
  | ByMixture -> composition s found
  | ByPartition -> composition s found
  | ByToApproximate (_, _, _) -> conversion s found
  | ByToZcdp -> conversion s found
  | ByToPure -> conversion s found
  | ByToGdp _ -> conversion s found
  | ByToNearGdp -> conversion s found
  | ByToRenyi _ -> conversion s found
  | ByDespite _ -> conversion s found
  | ByGroup (_, _) -> conversion s found
  | ByWithin _ -> conversion s found
  | ByPersons -> conversion s found
  | ByReplaceOne -> conversion s found
  | ByApart (_, _) -> refutation s found
  | ByRefute (_, _) -> refutation s found
  | _ -> (match found with
          | [] -> hypothesis s
          | _ :: _ -> None)

(** val ints_eqb : Whole.t list -> Whole.t list -> bool **)

let ints_eqb =
  list_eqb Z.eqb

(** val matrix_eqb : Whole.t list list -> Whole.t list list -> bool **)

let matrix_eqb =
  list_eqb ints_eqb

(** val spans_eqb :
    (Whole.t * Whole.t) list -> (Whole.t * Whole.t) list -> bool **)

let spans_eqb =
  list_eqb (fun a b -> (&&) (Z.eqb (fst a) (fst b)) (Z.eqb (snd a) (snd b)))

(** val change_eqb : change -> change -> bool **)

let change_eqb a b =
  match a with
  | Stacked w -> (match b with
                  | Stacked w' -> q_eqb w w'
                  | _ -> false)
  | Centred (n0, k, b0, l) ->
    (match b with
     | Centred (n', k', b', l') ->
       ints_eqb (n0 :: (k :: (b0 :: (l :: []))))
         (n' :: (k' :: (b' :: (l' :: []))))
     | _ -> false)
  | Factorised (m, s, n0, k, b0, l) ->
    (match b with
     | Factorised (m', s', n', k', b', l') ->
       (&&) (matrix_eqb m m')
         (ints_eqb (s :: (n0 :: (k :: (b0 :: (l :: [])))))
           (s' :: (n' :: (k' :: (b' :: (l' :: []))))))
     | _ -> false)
  | Buffered (w, p, s, q0, n0, k, b0, l) ->
    (match b with
     | Buffered (w', p', s', q', n', k', b', l') ->
       (&&) ((&&) (matrix_eqb p p') (q_eqb q0 q'))
         (ints_eqb (w :: (s :: (n0 :: (k :: (b0 :: (l :: []))))))
           (w' :: (s' :: (n' :: (k' :: (b' :: (l' :: [])))))))
     | _ -> false)

(** val law_eqb : noise_law -> noise_law -> bool **)

let law_eqb a b =
  match a with
  | FineNormal (v, g, c, s) ->
    (match b with
     | FineNormal (v', g', c', s') ->
       (&&) ((&&) ((&&) (q_eqb v v') (q_eqb g g')) (Z.eqb c c')) (eqb s s')
     | _ -> false)
  | LatticeNormal v ->
    (match b with
     | LatticeNormal v' -> q_eqb v v'
     | _ -> false)
  | DiscreteNormal (v, g, s) ->
    (match b with
     | DiscreteNormal (v', g', s') ->
       (&&) ((&&) (q_eqb v v') (q_eqb g g')) (eqb s s')
     | _ -> false)
  | NormalNoise (v, s) ->
    (match b with
     | NormalNoise (v', s') -> (&&) (q_eqb v v') (eqb s s')
     | _ -> false)
  | LaplaceNoise (b0, g) ->
    (match b with
     | LaplaceNoise (b', g') ->
       (&&) (q_eqb b0 b')
         (match g with
          | Some x -> (match g' with
                       | Some y -> q_eqb x y
                       | None -> false)
          | None -> (match g' with
                     | Some _ -> false
                     | None -> true))
     | _ -> false)
  | ExponentialChoice r ->
    (match b with
     | ExponentialChoice r' -> q_eqb r r'
     | _ -> false)
  | FlippedChoice r ->
    (match b with
     | FlippedChoice r' -> q_eqb r r'
     | _ -> false)
  | LengthNoise (r, g) ->
    (match b with
     | LengthNoise (r', g') -> (&&) (q_eqb r r') (q_eqb g g')
     | _ -> false)
  | SparseAnswers (t0, b0, l, g) ->
    (match b with
     | SparseAnswers (t', b', l', g') ->
       (&&) ((&&) ((&&) (q_eqb t0 t') (q_eqb b0 b')) (Z.eqb l l'))
         (q_eqb g g')
     | _ -> false)
  | TableAnswer t0 ->
    (match b with
     | TableAnswer t' -> list_eqb (list_eqb q_eqb) t0 t'
     | _ -> false)
  | CellsShown (b0, t0, d) ->
    (match b with
     | CellsShown (b', t', d') ->
       (&&) ((&&) (q_eqb b0 b') (Z.eqb t0 t')) (q_eqb d d')
     | _ -> false)
  | ShuffledAnswers (t0, n0, d) ->
    (match b with
     | ShuffledAnswers (t', n', d') ->
       (&&) ((&&) (list_eqb (list_eqb q_eqb) t0 t') (Z.eqb n0 n'))
         (q_eqb d d')
     | _ -> false)
  | FilterCharges -> (match b with
                      | FilterCharges -> true
                      | _ -> false)

(** val spread_eqb : spread -> spread -> bool **)

let spread_eqb a b =
  match a with
  | Once -> (match b with
             | Once -> true
             | _ -> false)
  | Covers (q0, c) ->
    (match b with
     | Covers (q', c') -> (&&) ((=) q0 q') (spans_eqb c c')
     | _ -> false)
  | Tree (q0, n0, l) ->
    (match b with
     | Tree (q', n', l') ->
       (&&) ((=) q0 q') (ints_eqb (n0 :: (l :: [])) (n' :: (l' :: [])))
     | _ -> false)

(** val place_eqb : place -> place -> bool **)

let place_eqb a b =
  (&&)
    ((&&) ((&&) ((=) a.query b.query) (list_eqb change_eqb a.made b.made))
      (law_eqb a.how b.how)) (spread_eqb a.over b.over)

(** val find_place : string -> draws -> place option **)

let rec find_place k = function
| [] -> None
| p0 :: rest ->
  let (k', p) = p0 in if (=) k k' then Some p else find_place k rest

(** val merged : draws -> draws -> draws option **)

let rec merged a = function
| [] -> Some a
| p0 :: rest ->
  let (k, p) = p0 in
  (match find_place k a with
   | Some p' -> if place_eqb p p' then merged a rest else None
   | None -> merged (app a ((k, p) :: [])) rest)

(** val all_draws : draws -> line list -> draws option **)

let rec all_draws so_far = function
| [] -> Some so_far
| l :: rest ->
  (match merged so_far l.drawn with
   | Some more -> all_draws more rest
   | None -> None)

(** val over_covers : spread -> draws -> draws **)

let over_covers o ds =
  map (fun kp -> ((fst kp), { query = (snd kp).query; made = (snd kp).made;
    how = (snd kp).how; over = o })) ds

(** val text_leb : string -> string -> bool **)

let rec text_leb a b =
  (* If this appears, you're using String internals. Please don't *)
 (fun f0 f1 s ->
    let l = String.length s in
    if l = 0 then f0 () else f1 (String.get s 0) (String.sub s 1 (l-1)))

    (fun _ -> true)
    (fun x a0 ->
    (* If this appears, you're using String internals. Please don't *)
 (fun f0 f1 s ->
    let l = String.length s in
    if l = 0 then f0 () else f1 (String.get s 0) (String.sub s 1 (l-1)))

      (fun _ -> false)
      (fun y b0 ->
      let i = n_of_ascii x in
      let j = n_of_ascii y in
      if N.ltb i j then true else if N.ltb j i then false else text_leb a0 b0)
      b)
    a

module TextOrder =
 struct
  type t = string

  (** val leb : string -> string -> bool **)

  let leb =
    text_leb
 end

module TextSort = Sort(TextOrder)

(** val keys_of : line -> string list **)

let keys_of l =
  TextSort.sort (map fst l.drawn)

(** val texts_eqb : string list -> string list -> bool **)

let texts_eqb =
  list_eqb (=)

(** val draws_in : draws -> draws -> bool **)

let draws_in a b =
  forallb (fun kp ->
    match find_place (fst kp) b with
    | Some p -> place_eqb (snd kp) p
    | None -> false) a

(** val draws_eqb : draws -> draws -> bool **)

let draws_eqb a b =
  (&&) (draws_in a b) (draws_in b a)

(** val stays : line -> bool **)

let stays l =
  match l.departed with
  | [] -> true
  | _ :: _ -> false

(** val noise_is_named : step -> line list -> bool **)

let noise_is_named s found =
  match s with
  | ByFactorised (_, _) ->
    (match found with
     | [] -> true
     | vector :: l ->
       (match l with
        | [] -> true
        | _ :: l1 ->
          (match l1 with
           | [] -> true
           | _ :: l3 ->
             (match l3 with
              | [] -> (match vector.changes with
                       | [] -> true
                       | _ :: _ -> false)
              | _ :: _ -> true))))
  | ByPostProcess ->
    (match found with
     | [] -> true
     | part :: l ->
       (match l with
        | [] -> true
        | view :: l0 ->
          (match l0 with
           | [] ->
             (match view.says with
              | View (_, _, releases) -> texts_eqb releases (keys_of part)
              | _ -> false)
           | _ :: _ -> true)))
  | ByBillboard ->
    (match found with
     | [] -> true
     | part :: l ->
       (match l with
        | [] -> true
        | view :: l0 ->
          (match l0 with
           | [] ->
             (match view.says with
              | View (_, _, releases) -> texts_eqb releases (keys_of part)
              | _ -> false)
           | _ :: _ -> true)))
  | ByLocalView ->
    (match found with
     | [] -> true
     | part :: l ->
       (match l with
        | [] -> true
        | view :: l0 ->
          (match l0 with
           | [] ->
             (match view.says with
              | View (_, _, releases) -> texts_eqb releases (keys_of part)
              | _ -> false)
           | _ :: _ -> true)))
  | ByMixture ->
    (match found with
     | [] -> true
     | choice :: parts ->
       (match choice.says with
        | Choice (_, listed) ->
          (&&) (list_eqb texts_eqb listed (map keys_of parts))
            ((||) (forallb stays parts) (keys_apart listed))
        | _ -> false))
  | ByPartition ->
    (match found with
     | [] -> true
     | split :: cells ->
       (match split.says with
        | Split (_, names) ->
          let n0 = length names in
          (&&) (forallb stays cells)
            ((||) (Nat.leb (length cells) n0)
              ((&&) (Nat.eqb (length cells) (mul (S (S O)) n0))
                (forallb (fun p -> draws_eqb (fst p).drawn (snd p).drawn)
                  (combine (firstn n0 cells) (skipn n0 cells)))))
        | _ -> false))
  | _ -> true

(** val one_table : step -> line list -> bool **)

let one_table s found =
  let of_rows = forallb (fun l -> negb l.of_persons) in
  (match s with
   | ByNodes -> of_rows found
   | ByLocal -> of_rows found
   | ByCompose -> (||) (of_rows found) (forallb (fun l -> l.of_persons) found)
   | ByParallel -> of_rows found
   | ByMixture ->
     (||) (of_rows (tl found)) (forallb (fun l -> l.of_persons) (tl found))
   | ByPartition -> of_rows found
   | ByPersons -> of_rows found
   | _ -> true)

(** val first_changes : line list -> change list **)

let first_changes = function
| [] -> []
| l :: _ -> l.changes

(** val changed : step -> line list -> change list **)

let changed s found =
  let rounds =
    match found with
    | [] -> (((Whole.zero, Whole.zero), Whole.zero), Whole.zero)
    | _ :: l1 ->
      (match l1 with
       | [] -> (((Whole.zero, Whole.zero), Whole.zero), Whole.zero)
       | l :: _ ->
         (match l.says with
          | Rounds (_, n0, k, b, last0) -> (((n0, k), b), last0)
          | _ -> (((Whole.zero, Whole.zero), Whole.zero), Whole.zero)))
  in
  let (p, last0) = rounds in
  let (p0, b) = p in
  let (n0, k) = p0 in
  (match s with
   | ByCentred -> (Centred (n0, k, b, last0)) :: (first_changes found)
   | ByFactorised (matrix, bits) ->
     (Factorised (matrix, bits, n0, k, b, last0)) :: (first_changes found)
   | ByJoint w -> (Stacked w) :: (first_changes found)
   | ByBuffered (width, pairs, bits, step0, _) ->
     (Buffered (width, pairs, bits, step0, n0, k, b,
       last0)) :: (first_changes found)
   | _ -> [])

(** val covers_made : step -> spread **)

let covers_made = function
| AssumeCovers (q0, covers) -> Covers (q0, covers)
| AssumeTree (q0, rounds, levels) -> Tree (q0, rounds, levels)
| _ -> Once

(** val union : string list -> string list -> string list **)

let union a b =
  app a (filter (fun k -> negb (existsb ((=) k) a)) b)

(** val follow : step -> line list -> line option **)

let follow s found =
  match infer s (map (fun l -> l.says) found) with
  | Some gives0 ->
    if (&&) (noise_is_named s found) (one_table s found)
    then let gone = fold_left union (map (fun l -> l.departed) found) [] in
         let views0 = flat_map (fun l -> l.views) found in
         let persons0 =
           match found with
           | [] -> false
           | _ :: _ -> existsb (fun l -> l.of_persons) found
         in
         (match law_of s (match found with
                          | [] -> gives0
                          | l :: _ -> l.says) with
          | Some p ->
            let (key, law) = p in
            (match gives0 with
             | Private (q0, _, _, _, _) ->
               Some { says = gives0; drawn = ((key, { query = q0; made =
                 (first_changes found); how = law; over = Once }) :: []);
                 changes = []; covers_of = Once; departed = []; of_persons =
                 false; views = [] }
             | _ -> None)
          | None ->
            (match all_draws [] found with
             | Some ds ->
               (match s with
                | AssumeFilter (q0, _, _) ->
                  Some { says = gives0; drawn = ((q0, { query = ""; made =
                    []; how = FilterCharges; over = Once }) :: []); changes =
                    []; covers_of = Once; departed = []; of_persons = false;
                    views = [] }
                | ByPostProcess ->
                  (match gives0 with
                   | Private (q0, _, _, _, _) ->
                     Some { says = gives0; drawn = ds; changes = [];
                       covers_of = Once; departed = gone; of_persons =
                       persons0; views = (q0 :: []) }
                   | _ -> None)
                | ByBillboard ->
                  (match gives0 with
                   | Private (q0, _, _, _, _) ->
                     Some { says = gives0; drawn = ds; changes = [];
                       covers_of = Once; departed = gone; of_persons =
                       persons0; views = (q0 :: []) }
                   | _ -> None)
                | ByLocalView ->
                  (match gives0 with
                   | Private (q0, _, _, _, _) ->
                     Some { says = gives0; drawn = ds; changes = [];
                       covers_of = Once; departed = gone; of_persons =
                       persons0; views = (q0 :: []) }
                   | _ -> None)
                | ByNodes ->
                  (match found with
                   | [] -> None
                   | leaf :: l ->
                     (match l with
                      | [] -> None
                      | covers :: l0 ->
                        (match l0 with
                         | [] ->
                           if stays leaf
                           then Some { says = gives0; drawn =
                                  (over_covers covers.covers_of ds);
                                  changes = []; covers_of = Once; departed =
                                  []; of_persons = false; views = [] }
                           else None
                         | _ :: _ -> None)))
                | ByLocal ->
                  (match found with
                   | [] -> None
                   | leaf :: l ->
                     (match l with
                      | [] -> None
                      | covers :: l0 ->
                        (match l0 with
                         | [] ->
                           if stays leaf
                           then Some { says = gives0; drawn =
                                  (over_covers covers.covers_of ds);
                                  changes = []; covers_of = Once; departed =
                                  []; of_persons = false; views = [] }
                           else None
                         | _ :: _ -> None)))
                | ByDespite _ ->
                  Some { says = gives0; drawn = ds; changes = []; covers_of =
                    Once; departed = (union gone (map fst ds)); of_persons =
                    persons0; views = views0 }
                | ByPersons ->
                  Some { says = gives0; drawn = ds; changes = []; covers_of =
                    Once; departed = gone; of_persons = true; views = views0 }
                | _ ->
                  Some { says = gives0; drawn = ds; changes =
                    (changed s found); covers_of = (covers_made s);
                    departed = gone; of_persons = persons0; views = views0 })
             | None -> None))
    else None
  | None -> None

(** val nth_line : line list -> Whole.t -> Whole.t -> line option **)

let rec nth_line lines size0 n0 =
  match lines with
  | [] -> None
  | l :: rest ->
    if Z.eqb n0 (Z.sub size0 ((fun p -> p) Whole.one))
    then Some l
    else nth_line rest (Z.sub size0 ((fun p -> p) Whole.one)) n0

type json =
| Null
| Bool of bool
| Int of Whole.t
| Float of string
| Text of string
| Array of json list
| Object of (string * json) list

(** val digit : char -> Whole.t option **)

let digit c =
  let n0 = Z.of_N (n_of_ascii c) in
  if (&&)
       (Z.leb ((fun p -> p) ((fun p -> Whole.shift_left p 1)
         ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
         ((fun p -> Whole.shift_left p 1)
         ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one)))))) n0)
       (Z.leb n0 ((fun p -> p) ((fun p -> Whole.succ (Whole.shift_left p 1))
         ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
         ((fun p -> Whole.succ (Whole.shift_left p 1))
         ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one)))))))
  then Some
         (Z.sub n0 ((fun p -> p) ((fun p -> Whole.shift_left p 1)
           ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
           ((fun p -> Whole.shift_left p 1)
           ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one)))))))
  else None

(** val digits : string -> Whole.t -> Whole.t option **)

let rec digits s so_far =
  (* If this appears, you're using String internals. Please don't *)
 (fun f0 f1 s ->
    let l = String.length s in
    if l = 0 then f0 () else f1 (String.get s 0) (String.sub s 1 (l-1)))

    (fun _ -> Some so_far)
    (fun c rest ->
    match digit c with
    | Some d ->
      digits rest
        (Z.add
          (Z.mul so_far ((fun p -> p) ((fun p -> Whole.shift_left p 1)
            ((fun p -> Whole.succ (Whole.shift_left p 1))
            ((fun p -> Whole.shift_left p 1) Whole.one))))) d)
    | None -> None)
    s

(** val natural_of : string -> Whole.t option **)

let natural_of s =
  (* If this appears, you're using String internals. Please don't *)
 (fun f0 f1 s ->
    let l = String.length s in
    if l = 0 then f0 () else f1 (String.get s 0) (String.sub s 1 (l-1)))

    (fun _ -> None)
    (fun c rest ->
    if negb ((&&) (eqb0 c '0') (negb ((=) rest "")))
    then digits s Whole.zero
    else None)
    s

(** val split_at_slash : string -> string * string option **)

let rec split_at_slash s =
  (* If this appears, you're using String internals. Please don't *)
 (fun f0 f1 s ->
    let l = String.length s in
    if l = 0 then f0 () else f1 (String.get s 0) (String.sub s 1 (l-1)))

    (fun _ -> ("", None))
    (fun c rest ->
    if eqb0 c '/'
    then ("", (Some rest))
    else let (a, b) = split_at_slash rest in
         (((* If this appears, you're using String internals. Please don't *)
  (fun (c, s) -> String.make 1 c ^ s)

         (c, a)), b))
    s

(** val number_of : string -> q option **)

let number_of s =
  (* If this appears, you're using String internals. Please don't *)
 (fun f0 f1 s ->
    let l = String.length s in
    if l = 0 then f0 () else f1 (String.get s 0) (String.sub s 1 (l-1)))

    (fun _ ->
    let negative = false in
    let (top, bottom) = split_at_slash s in
    if Nat.leb (length0 s) (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
         O))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
    then (match natural_of top with
          | Some n0 ->
            if negb ((&&) negative (Z.eqb n0 Whole.zero))
            then let n1 = if negative then Z.opp n0 else n0 in
                 (match bottom with
                  | Some b ->
                    (match natural_of b with
                     | Some d ->
                       if (&&) (Z.ltb ((fun p -> p) Whole.one) d)
                            (Z.eqb (Z.gcd n1 d) ((fun p -> p) Whole.one))
                       then Some { qnum = n1; qden = (Z.to_pos d) }
                       else None
                     | None -> None)
                  | None -> Some { qnum = n1; qden = Whole.one })
            else None
          | None -> None)
    else None)
    (fun c rest ->
    if eqb0 c '-'
    then let negative = true in
         let (top, bottom) = split_at_slash rest in
         if Nat.leb (length0 s) (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              O))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
         then (match natural_of top with
               | Some n0 ->
                 if negb ((&&) negative (Z.eqb n0 Whole.zero))
                 then let n1 = if negative then Z.opp n0 else n0 in
                      (match bottom with
                       | Some b ->
                         (match natural_of b with
                          | Some d ->
                            if (&&) (Z.ltb ((fun p -> p) Whole.one) d)
                                 (Z.eqb (Z.gcd n1 d) ((fun p -> p) Whole.one))
                            then Some { qnum = n1; qden = (Z.to_pos d) }
                            else None
                          | None -> None)
                       | None -> Some { qnum = n1; qden = Whole.one })
                 else None
               | None -> None)
         else None
    else let negative = false in
         let (top, bottom) = split_at_slash s in
         if Nat.leb (length0 s) (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
              O))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
         then (match natural_of top with
               | Some n0 ->
                 if negb ((&&) negative (Z.eqb n0 Whole.zero))
                 then let n1 = if negative then Z.opp n0 else n0 in
                      (match bottom with
                       | Some b ->
                         (match natural_of b with
                          | Some d ->
                            if (&&) (Z.ltb ((fun p -> p) Whole.one) d)
                                 (Z.eqb (Z.gcd n1 d) ((fun p -> p) Whole.one))
                            then Some { qnum = n1; qden = (Z.to_pos d) }
                            else None
                          | None -> None)
                       | None -> Some { qnum = n1; qden = Whole.one })
                 else None
               | None -> None)
         else None)
    s

(** val print_digits : nat -> Whole.t -> string -> string **)

let rec print_digits fuel n0 after =
  match fuel with
  | O -> after
  | S less ->
    let (q0, r) =
      Z.div_eucl n0 ((fun p -> p) ((fun p -> Whole.shift_left p 1)
        ((fun p -> Whole.succ (Whole.shift_left p 1))
        ((fun p -> Whole.shift_left p 1) Whole.one))))
    in
    let s =
      (* If this appears, you're using String internals. Please don't *)
  (fun (c, s) -> String.make 1 c ^ s)

      ((ascii_of_N
         (Z.to_N
           (Z.add ((fun p -> p) ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.shift_left p 1)
             ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one)))))) r))),
      after)
    in
    if Z.eqb q0 Whole.zero then s else print_digits less q0 s

(** val print_Z : Whole.t -> string **)

let print_Z z0 =
  let s = print_digits (S (Z.to_nat (Z.log2 (Z.abs z0)))) (Z.abs z0) "" in
  if Z.ltb z0 Whole.zero then (^) "-" s else s

(** val print_Q : q -> string **)

let print_Q q0 =
  (fun xI xO xH p -> if Whole.equal p Whole.one then xH () else let h = Whole.shift_right p 1 in if Whole.is_odd p then xI h else xO h)
    (fun p ->
    (^) (print_Z q0.qnum)
      ((^) "/"
        (print_Z ((fun p -> p) ((fun p -> Whole.succ (Whole.shift_left p 1))
          p)))))
    (fun p ->
    (^) (print_Z q0.qnum)
      ((^) "/" (print_Z ((fun p -> p) ((fun p -> Whole.shift_left p 1) p)))))
    (fun _ -> print_Z q0.qnum)
    q0.qden

(** val member : string -> (string * json) list -> json option **)

let rec member name = function
| [] -> None
| p :: rest ->
  let (n0, v) = p in if (=) name n0 then Some v else member name rest

(** val has_members :
    (string * json) list -> string list -> string list -> bool **)

let has_members given needed optional =
  (&&) (forallb (fun n0 -> negb (is_none (member n0 given))) needed)
    (forallb (fun nv -> existsb ((=) (fst nv)) (app needed optional)) given)

(** val text : json -> string option **)

let text = function
| Text s -> Some s
| _ -> None

(** val number : json -> q option **)

let number = function
| Text s -> number_of s
| _ -> None

(** val whole : Whole.t -> json -> Whole.t option **)

let whole least0 = function
| Int z0 ->
  if (&&) (Z.leb least0 z0)
       (Z.ltb (Z.abs z0)
         (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
           ((fun p -> p) ((fun p -> Whole.shift_left p 1)
           ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
           ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
           ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
           ((fun p -> Whole.shift_left p 1) Whole.one)))))))))))
  then Some z0
  else None
| _ -> None

(** val unit0 : json -> Whole.t option **)

let unit0 j =
  match whole ((fun p -> p) Whole.one) j with
  | Some z0 ->
    if Z.ltb z0
         (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1) Whole.one))
           ((fun p -> p) ((fun p -> Whole.succ (Whole.shift_left p 1))
           ((fun p -> Whole.succ (Whole.shift_left p 1))
           ((fun p -> Whole.succ (Whole.shift_left p 1))
           ((fun p -> Whole.succ (Whole.shift_left p 1))
           ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one)))))))
    then Some z0
    else None
  | None -> None

(** val any_integer : json -> Whole.t option **)

let any_integer = function
| Int z0 -> Some z0
| _ -> None

(** val list_of : (json -> 'a1 option) -> json -> 'a1 list option **)

let list_of read = function
| Array l -> all_some read l
| _ -> None

(** val maybe :
    (json -> 'a1 option) -> string -> (string * json) list -> 'a1 option
    option **)

let maybe read name given =
  match member name given with
  | Some j -> (match read j with
               | Some a -> Some (Some a)
               | None -> None)
  | None -> Some None

(** val simple : json -> relation option **)

let simple = function
| Text s ->
  if (=) s "replace-one"
  then Some ReplaceOne
  else if (=) s "add-remove" then Some AddRemove else None
| _ -> None

(** val without_prefix : string -> string -> string option **)

let rec without_prefix prefix s =
  (* If this appears, you're using String internals. Please don't *)
 (fun f0 f1 s ->
    let l = String.length s in
    if l = 0 then f0 () else f1 (String.get s 0) (String.sub s 1 (l-1)))

    (fun _ -> Some s)
    (fun a p ->
    (* If this appears, you're using String internals. Please don't *)
 (fun f0 f1 s ->
    let l = String.length s in
    if l = 0 then f0 () else f1 (String.get s 0) (String.sub s 1 (l-1)))

      (fun _ -> None)
      (fun b s0 -> if eqb0 a b then without_prefix p s0 else None)
      s)
    prefix

(** val neighbouring : json -> relation option **)

let neighbouring j = match j with
| Text s ->
  (match without_prefix "bounded-row, radius " s with
   | Some r ->
     (match number_of r with
      | Some q0 ->
        if below { qnum = Whole.zero; qden = Whole.one } q0
        then Some (BoundedRow q0)
        else None
      | None -> None)
   | None -> simple j)
| _ -> None

(** val source : json -> origin option **)

let source = function
| Text s ->
  if (=) s "coin"
  then Some Coin
  else if (=) s "dp-output" then Some DpOutput else None
| _ -> None

(** val source_in : (string * json) list -> origin option **)

let source_in given =
  match maybe source "source" given with
  | Some s -> Some (match s with
                    | Some o -> o
                    | None -> Public)
  | None -> None

(** val observer_of : json -> observer option **)

let observer_of = function
| Text s ->
  if (=) s "central"
  then Some Central
  else if (=) s "joint"
       then Some Joint
       else if (=) s "local" then Some Local else None
| _ -> None

(** val ascending : string list -> bool **)

let rec ascending = function
| [] -> true
| a :: rest ->
  (match rest with
   | [] -> true
   | b :: _ -> (&&) ((&&) (text_leb a b) (negb ((=) a b))) (ascending rest))

(** val sorted_names : json -> string list option **)

let sorted_names j =
  match list_of text j with
  | Some l -> if ascending l then Some l else None
  | None -> None

(** val points_ascend : Whole.t list list -> bool **)

let rec points_ascend = function
| [] -> true
| a :: rest ->
  (match rest with
   | [] -> true
   | b :: _ ->
     (&&) ((&&) (listed_before a b) (negb (z_list_eqb a b)))
       (points_ascend rest))

(** val integer_points : json -> Whole.t list list option **)

let integer_points j =
  match list_of (list_of any_integer) j with
  | Some l ->
    let n0 = match l with
             | [] -> O
             | a :: _ -> length a in
    if (&&)
         ((&&)
           ((&&)
             ((&&) (Nat.leb (S O) n0)
               (Nat.leb n0 (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
                 (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
                 (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
                 (S (S (S (S (S (S (S
                 O))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
             (Nat.leb (length l) (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
               (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
               (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
               (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
               (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
               (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
               (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
               (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
               (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
               (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
               (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
               (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
               (S (S (S (S (S (S (S (S (S (S
               O))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
           (forallb (fun p ->
             (&&) (Nat.eqb (length p) n0)
               (forallb (fun v ->
                 Z.ltb (Z.abs v)
                   (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1)
                     Whole.one)) ((fun p -> p)
                     ((fun p -> Whole.shift_left p 1)
                     ((fun p -> Whole.shift_left p 1)
                     ((fun p -> Whole.shift_left p 1)
                     ((fun p -> Whole.shift_left p 1)
                     ((fun p -> Whole.shift_left p 1)
                     ((fun p -> Whole.shift_left p 1) Whole.one))))))))) p))
             l)) (points_ascend l)
    then Some l
    else None
  | None -> None

(** val span : json -> (Whole.t * Whole.t) option **)

let span = function
| Array l ->
  (match l with
   | [] -> None
   | a :: l0 ->
     (match l0 with
      | [] -> None
      | b :: l1 ->
        (match l1 with
         | [] ->
           (match unit0 a with
            | Some f ->
              (match unit0 b with
               | Some l2 -> Some (f, l2)
               | None -> None)
            | None -> None)
         | _ :: _ -> None)))
| _ -> None

(** val short_number : json -> q option **)

let short_number = function
| Text s ->
  if Nat.leb (length0 s) (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
       (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
       (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
       (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
       (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
       (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
       (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
       (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
       (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S (S
       O))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
  then number_of s
  else None
| _ -> None

(** val hypothesis_members :
    (string * json) list -> string list -> string list -> bool **)

let hypothesis_members given names optional =
  has_members given ("query" :: ("because" :: names)) optional

(** val read_hypothesis : (string * json) list -> string -> step option **)

let read_hypothesis given =
  let get = fun read name ->
    match member name given with
    | Some j -> read j
    | None -> None
  in
  (fun rule0 ->
  match get text "query" with
  | Some q0 ->
    if (=) rule0 "assume_view"
    then if hypothesis_members given ("audience" :: ("releases" :: [])) []
         then (match get (fun j ->
                       match j with
                       | Null -> None
                       | Bool _ -> None
                       | Int _ -> None
                       | Float _ -> None
                       | Text s ->
                         if (=) s "everyone"
                         then Some Everyone
                         else if (=) s "others" then Some Others else None
                       | _ -> None) "audience" with
               | Some a ->
                 (match get sorted_names "releases" with
                  | Some r -> Some (AssumeView (q0, a, r))
                  | None -> None)
               | None -> None)
         else None
    else if (=) rule0 "assume_ball"
         then if hypothesis_members given ("radius" :: ("relation" :: []))
                   ("source" :: [])
              then (match get number "radius" with
                    | Some r ->
                      (match get simple "relation" with
                       | Some rel ->
                         (match source_in given with
                          | Some s -> Some (AssumeBall (q0, r, rel, s))
                          | None -> None)
                       | None -> None)
                    | None -> None)
              else None
         else if (=) rule0 "assume_rank_one"
              then if hypothesis_members given
                        ("reward" :: ("kind" :: ("relation" :: [])))
                        ("source" :: [])
                   then (match get number "reward" with
                         | Some r ->
                           (match get simple "relation" with
                            | Some rel ->
                              (match source_in given with
                               | Some s ->
                                 (match get (fun j ->
                                          match j with
                                          | Null -> None
                                          | Bool _ -> None
                                          | Int _ -> None
                                          | Float _ -> None
                                          | Text s0 ->
                                            if (=) s0 "rank-one"
                                            then Some false
                                            else if (=) s0 "outer"
                                                 then Some true
                                                 else None
                                          | _ -> None) "kind" with
                                  | Some c ->
                                    Some (AssumeRankOne (q0, r, c, rel, s))
                                  | None -> None)
                               | None -> None)
                            | None -> None)
                         | None -> None)
                   else None
              else if (=) rule0 "assume_points"
                   then if hypothesis_members given
                             ("points" :: ("relation" :: [])) ("source" :: [])
                        then (match get integer_points "points" with
                              | Some p ->
                                (match get simple "relation" with
                                 | Some rel ->
                                   (match source_in given with
                                    | Some s ->
                                      Some (AssumePoints (q0, p, rel, s))
                                    | None -> None)
                                 | None -> None)
                              | None -> None)
                        else None
                   else if (=) rule0 "assume_clipped"
                        then if hypothesis_members given
                                  ("low" :: ("high" :: ("relation" :: [])))
                                  ("source" :: [])
                             then (match get number "low" with
                                   | Some a ->
                                     (match get number "high" with
                                      | Some b ->
                                        (match get simple "relation" with
                                         | Some rel ->
                                           (match source_in given with
                                            | Some s ->
                                              Some (AssumeClipped (q0, a, b,
                                                rel, s))
                                            | None -> None)
                                         | None -> None)
                                      | None -> None)
                                   | None -> None)
                             else None
                        else if (=) rule0 "assume_cell"
                             then if hypothesis_members given
                                       ("relation" :: []) ("most" :: [])
                                  then (match get simple "relation" with
                                        | Some rel ->
                                          (match maybe
                                                   (whole ((fun p -> p)
                                                     ((fun p -> Whole.shift_left p 1)
                                                     Whole.one))) "most" given with
                                           | Some m ->
                                             Some (AssumeCell (q0, rel,
                                               (match m with
                                                | Some k -> k
                                                | None ->
                                                  (fun p -> p) Whole.one)))
                                           | None -> None)
                                        | None -> None)
                                  else None
                             else if (=) rule0 "assume_lipschitz"
                                  then if hypothesis_members given
                                            ("factor" :: ("slack" :: ("reach" :: [])))
                                            []
                                       then (match get number "factor" with
                                             | Some f ->
                                               (match get number "slack" with
                                                | Some s ->
                                                  (match get number "reach" with
                                                   | Some r ->
                                                     Some (AssumeLipschitz
                                                       (q0, f, s, r))
                                                   | None -> None)
                                                | None -> None)
                                             | None -> None)
                                       else None
                                  else if (=) rule0 "assume_covers"
                                       then if hypothesis_members given
                                                 ("covers" :: []) []
                                            then (match get (list_of span)
                                                          "covers" with
                                                  | Some c ->
                                                    Some (AssumeCovers (q0,
                                                      c))
                                                  | None -> None)
                                            else None
                                       else if (=) rule0 "assume_tree"
                                            then if hypothesis_members given
                                                      ("rounds" :: ("levels" :: []))
                                                      []
                                                 then (match get unit0
                                                               "rounds" with
                                                       | Some n0 ->
                                                         (match get
                                                                  (whole
                                                                    ((fun p -> p)
                                                                    Whole.one))
                                                                  "levels" with
                                                          | Some l ->
                                                            Some (AssumeTree
                                                              (q0, n0, l))
                                                          | None -> None)
                                                       | None -> None)
                                                 else None
                                            else if (=) rule0 "assume_rounds"
                                                 then if hypothesis_members
                                                           given
                                                           ("rounds" :: [])
                                                           ("participations" :: ("separation" :: ("ends" :: [])))
                                                      then (match get unit0
                                                                    "rounds" with
                                                            | Some n0 ->
                                                              (match 
                                                               maybe
                                                                 (whole
                                                                   ((fun p -> p)
                                                                   Whole.one))
                                                                 "participations"
                                                                 given with
                                                               | Some k ->
                                                                 (match 
                                                                  maybe
                                                                    (whole
                                                                    ((fun p -> p)
                                                                    Whole.one))
                                                                    "separation"
                                                                    given with
                                                                  | Some b ->
                                                                    (match 
                                                                    maybe
                                                                    (list_of
                                                                    unit0)
                                                                    "ends"
                                                                    given with
                                                                    | Some e ->
                                                                    Some
                                                                    (AssumeRounds
                                                                    (q0, n0,
                                                                    k, b, e))
                                                                    | None ->
                                                                    None)
                                                                  | None ->
                                                                    None)
                                                               | None -> None)
                                                            | None -> None)
                                                      else None
                                                 else if (=) rule0
                                                           "assume_numbers"
                                                      then if hypothesis_members
                                                                given
                                                                ("most" :: [])
                                                                []
                                                           then (match 
                                                                 get
                                                                   (whole
                                                                    ((fun p -> p)
                                                                    Whole.one))
                                                                   "most" with
                                                                 | Some m ->
                                                                   Some
                                                                    (AssumeNumbers
                                                                    (q0, m))
                                                                 | None ->
                                                                   None)
                                                           else None
                                                      else if (||)
                                                                ((=) rule0
                                                                  "assume_range")
                                                                ((=) rule0
                                                                  "assume_each")
                                                           then if hypothesis_members
                                                                    given
                                                                    ("width" :: ("relation" :: []))
                                                                    []
                                                                then 
                                                                  (match 
                                                                   get number
                                                                    "width" with
                                                                   | Some w ->
                                                                    (match 
                                                                    get
                                                                    simple
                                                                    "relation" with
                                                                    | Some rel ->
                                                                    Some
                                                                    (if 
                                                                    (=) rule0
                                                                    "assume_range"
                                                                    then 
                                                                    AssumeRange
                                                                    (q0, w,
                                                                    rel)
                                                                    else 
                                                                    AssumeEach
                                                                    (q0, w,
                                                                    rel))
                                                                    | None ->
                                                                    None)
                                                                   | None ->
                                                                    None)
                                                                else None
                                                           else if (=) rule0
                                                                    "assume_l1"
                                                                then 
                                                                  if 
                                                                    hypothesis_members
                                                                    given
                                                                    ("width" :: ("relation" :: []))
                                                                    []
                                                                  then 
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "width" with
                                                                    | Some w ->
                                                                    (match 
                                                                    get
                                                                    simple
                                                                    "relation" with
                                                                    | Some rel ->
                                                                    Some
                                                                    (AssumeL1
                                                                    (q0, w,
                                                                    rel))
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                  else None
                                                                else 
                                                                  if 
                                                                    (=) rule0
                                                                    "assume_choice"
                                                                  then 
                                                                    if 
                                                                    hypothesis_members
                                                                    given
                                                                    ("parts" :: [])
                                                                    []
                                                                    then 
                                                                    (match 
                                                                    get
                                                                    (list_of
                                                                    sorted_names)
                                                                    "parts" with
                                                                    | Some p ->
                                                                    Some
                                                                    (AssumeChoice
                                                                    (q0, p))
                                                                    | None ->
                                                                    None)
                                                                    else None
                                                                  else 
                                                                    if 
                                                                    (=) rule0
                                                                    "assume_split"
                                                                    then 
                                                                    if 
                                                                    hypothesis_members
                                                                    given
                                                                    ("cells" :: [])
                                                                    []
                                                                    then 
                                                                    (match 
                                                                    get
                                                                    (list_of
                                                                    text)
                                                                    "cells" with
                                                                    | Some c ->
                                                                    Some
                                                                    (AssumeSplit
                                                                    (q0, c))
                                                                    | None ->
                                                                    None)
                                                                    else None
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "assume_persons"
                                                                    then 
                                                                    if 
                                                                    hypothesis_members
                                                                    given
                                                                    ("relation" :: ("rows" :: ("most" :: [])))
                                                                    []
                                                                    then 
                                                                    (match 
                                                                    get
                                                                    simple
                                                                    "relation" with
                                                                    | Some rel ->
                                                                    (match 
                                                                    get
                                                                    simple
                                                                    "rows" with
                                                                    | Some rows ->
                                                                    (match 
                                                                    get
                                                                    (whole
                                                                    ((fun p -> p)
                                                                    ((fun p -> Whole.shift_left p 1)
                                                                    Whole.one)))
                                                                    "most" with
                                                                    | Some m ->
                                                                    Some
                                                                    (AssumePersons
                                                                    (q0, rel,
                                                                    rows, m))
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    else None
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "assume_rare"
                                                                    then 
                                                                    if 
                                                                    hypothesis_members
                                                                    given
                                                                    ("kind" :: ("probability" :: []))
                                                                    []
                                                                    then 
                                                                    (match 
                                                                    get
                                                                    (fun j ->
                                                                    match j with
                                                                    | Null ->
                                                                    None
                                                                    | Bool _ ->
                                                                    None
                                                                    | Int _ ->
                                                                    None
                                                                    | Float _ ->
                                                                    None
                                                                    | Text s ->
                                                                    if 
                                                                    (=) s
                                                                    "event"
                                                                    then 
                                                                    Some Event
                                                                    else 
                                                                    if 
                                                                    (=) s
                                                                    "distance"
                                                                    then 
                                                                    Some
                                                                    Distance
                                                                    else None
                                                                    | _ ->
                                                                    None)
                                                                    "kind" with
                                                                    | Some k ->
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "probability" with
                                                                    | Some p ->
                                                                    Some
                                                                    (AssumeRare
                                                                    (q0, k,
                                                                    p))
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    else None
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "assume_filter"
                                                                    then 
                                                                    if 
                                                                    hypothesis_members
                                                                    given
                                                                    ("measure" :: ("budget" :: ("relation" :: [])))
                                                                    []
                                                                    then 
                                                                    (match 
                                                                    get text
                                                                    "measure" with
                                                                    | Some m ->
                                                                    (match 
                                                                    get
                                                                    (list_of
                                                                    number)
                                                                    "budget" with
                                                                    | Some b ->
                                                                    (match 
                                                                    get
                                                                    simple
                                                                    "relation" with
                                                                    | Some rel ->
                                                                    (match b with
                                                                    | [] ->
                                                                    None
                                                                    | a :: l ->
                                                                    (match l with
                                                                    | [] ->
                                                                    if 
                                                                    (=) m
                                                                    "pure"
                                                                    then 
                                                                    let law =
                                                                    Pure a
                                                                    in
                                                                    Some
                                                                    (AssumeFilter
                                                                    (q0, law,
                                                                    rel))
                                                                    else 
                                                                    if 
                                                                    (=) m
                                                                    "zcdp"
                                                                    then 
                                                                    let law =
                                                                    Zcdp a
                                                                    in
                                                                    Some
                                                                    (AssumeFilter
                                                                    (q0, law,
                                                                    rel))
                                                                    else 
                                                                    if 
                                                                    (=) m
                                                                    "gdp"
                                                                    then 
                                                                    let law =
                                                                    Gdp a
                                                                    in
                                                                    Some
                                                                    (AssumeFilter
                                                                    (q0, law,
                                                                    rel))
                                                                    else None
                                                                    | d :: l0 ->
                                                                    (match l0 with
                                                                    | [] ->
                                                                    if 
                                                                    (=) m
                                                                    "approximate"
                                                                    then 
                                                                    let law =
                                                                    Approximate
                                                                    (a, d)
                                                                    in
                                                                    Some
                                                                    (AssumeFilter
                                                                    (q0, law,
                                                                    rel))
                                                                    else None
                                                                    | _ :: _ ->
                                                                    None)))
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    else None
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "assume_neighbours"
                                                                    then 
                                                                    if 
                                                                    hypothesis_members
                                                                    given
                                                                    ("kind" :: ("left" :: ("right" :: ("relation" :: ("observer" :: [])))))
                                                                    []
                                                                    then 
                                                                    (match 
                                                                    get
                                                                    (fun j ->
                                                                    match j with
                                                                    | Null ->
                                                                    None
                                                                    | Bool _ ->
                                                                    None
                                                                    | Int _ ->
                                                                    None
                                                                    | Float _ ->
                                                                    None
                                                                    | Text s ->
                                                                    if 
                                                                    (=) s
                                                                    "vector"
                                                                    then 
                                                                    Some Ball
                                                                    else 
                                                                    if 
                                                                    (=) s
                                                                    "rank-one"
                                                                    then 
                                                                    Some
                                                                    RankOne
                                                                    else 
                                                                    if 
                                                                    (=) s
                                                                    "outer"
                                                                    then 
                                                                    Some Outer
                                                                    else None
                                                                    | _ ->
                                                                    None)
                                                                    "kind" with
                                                                    | Some k ->
                                                                    (match 
                                                                    get
                                                                    (list_of
                                                                    number)
                                                                    "left" with
                                                                    | Some v ->
                                                                    (match 
                                                                    get
                                                                    (list_of
                                                                    number)
                                                                    "right" with
                                                                    | Some w ->
                                                                    (match 
                                                                    get
                                                                    simple
                                                                    "relation" with
                                                                    | Some rel ->
                                                                    (match 
                                                                    get
                                                                    observer_of
                                                                    "observer" with
                                                                    | Some o ->
                                                                    Some
                                                                    (AssumeNeighbours
                                                                    (q0, k,
                                                                    v, w,
                                                                    rel, o))
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    else None
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "assume_event"
                                                                    then 
                                                                    if 
                                                                    hypothesis_members
                                                                    given
                                                                    ("likely" :: ("rarely" :: ("relation" :: ("observer" :: []))))
                                                                    []
                                                                    then 
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "likely" with
                                                                    | Some a ->
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "rarely" with
                                                                    | Some b ->
                                                                    (match 
                                                                    get
                                                                    neighbouring
                                                                    "relation" with
                                                                    | Some rel ->
                                                                    (match 
                                                                    get
                                                                    observer_of
                                                                    "observer" with
                                                                    | Some o ->
                                                                    Some
                                                                    (AssumeEvent
                                                                    (q0, a,
                                                                    b, rel,
                                                                    o))
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    else None
                                                                    else None
  | None -> None)

(** val of_members :
    (string * json) list -> string list -> string list -> step option -> step
    option **)

let of_members given needed optional s =
  if has_members given needed optional then s else None

(** val read_step : (string * json) list -> string -> step option **)

let read_step given =
  let get = fun read name ->
    match member name given with
    | Some j -> read j
    | None -> None
  in
  (fun rule0 ->
  if (fun s1 s2 ->
     let l1 = String.length s1 and l2 = String.length s2 in
     l1 <= l2 && String.sub s2 0 l1 = s1)
       "assume_" rule0
  then read_hypothesis given rule0
  else if (=) rule0 "linear"
       then of_members given [] ("bound_squared" :: [])
              (match maybe number "bound_squared" given with
               | Some b -> Some (ByLinear b)
               | None -> None)
       else if (=) rule0 "differences"
            then of_members given [] [] (Some ByDifferences)
            else if (=) rule0 "moved"
                 then of_members given [] ("radius" :: [])
                        (match maybe number "radius" given with
                         | Some r -> Some (ByMoved r)
                         | None -> None)
                 else if (=) rule0 "centred"
                      then of_members given [] [] (Some ByCentred)
                      else if (=) rule0 "factorised"
                           then of_members given ("matrix" :: ("bits" :: []))
                                  []
                                  (match get (list_of (list_of any_integer))
                                           "matrix" with
                                   | Some m ->
                                     (match get (whole Whole.zero) "bits" with
                                      | Some b -> Some (ByFactorised (m, b))
                                      | None -> None)
                                   | None -> None)
                           else if (=) rule0 "joint"
                                then of_members given ("weight" :: []) []
                                       (match get number "weight" with
                                        | Some w -> Some (ByJoint w)
                                        | None -> None)
                                else if (=) rule0 "buffered"
                                     then of_members given
                                            ("width" :: ("pairs" :: ("bits" :: ("step" :: ("most" :: [])))))
                                            []
                                            (match get unit0 "width" with
                                             | Some w ->
                                               (match get
                                                        (list_of
                                                          (list_of
                                                            (whole Whole.zero)))
                                                        "pairs" with
                                                | Some p ->
                                                  (match get
                                                           (whole
                                                             ((fun p -> p)
                                                             Whole.one))
                                                           "bits" with
                                                   | Some b ->
                                                     (match get number "step" with
                                                      | Some s ->
                                                        (match get number
                                                                 "most" with
                                                         | Some m ->
                                                           Some (ByBuffered
                                                             (w, p, b, s, m))
                                                         | None -> None)
                                                      | None -> None)
                                                   | None -> None)
                                                | None -> None)
                                             | None -> None)
                                     else if (=) rule0 "fine_gaussian"
                                          then of_members given
                                                 ("variance" :: ("grid" :: ("coordinates" :: ("distance" :: ("key" :: [])))))
                                                 []
                                                 (match get number "variance" with
                                                  | Some v ->
                                                    (match get number "grid" with
                                                     | Some g ->
                                                       (match get
                                                                (whole
                                                                  ((fun p -> p)
                                                                  Whole.one))
                                                                "coordinates" with
                                                        | Some c ->
                                                          (match get number
                                                                   "distance" with
                                                           | Some d ->
                                                             (match get text
                                                                    "key" with
                                                              | Some k ->
                                                                Some
                                                                  (ByFineGaussian
                                                                  (v, g, c,
                                                                  d, k))
                                                              | None -> None)
                                                           | None -> None)
                                                        | None -> None)
                                                     | None -> None)
                                                  | None -> None)
                                          else if (=) rule0 "lattice_gaussian"
                                               then of_members given
                                                      ("variance" :: ("key" :: []))
                                                      []
                                                      (match get number
                                                               "variance" with
                                                       | Some v ->
                                                         (match get text "key" with
                                                          | Some k ->
                                                            Some
                                                              (ByLatticeGaussian
                                                              (v, k))
                                                          | None -> None)
                                                       | None -> None)
                                               else if (=) rule0
                                                         "discrete_gaussian"
                                                    then of_members given
                                                           ("variance" :: ("grid" :: ("key" :: [])))
                                                           []
                                                           (match get number
                                                                    "variance" with
                                                            | Some v ->
                                                              (match 
                                                               get number
                                                                 "grid" with
                                                               | Some g ->
                                                                 (match 
                                                                  get text
                                                                    "key" with
                                                                  | Some k ->
                                                                    Some
                                                                    (ByDiscreteGaussian
                                                                    (v, g, k))
                                                                  | None ->
                                                                    None)
                                                               | None -> None)
                                                            | None -> None)
                                                    else if (=) rule0
                                                              "gaussian"
                                                         then of_members
                                                                given
                                                                ("variance" :: ("key" :: []))
                                                                []
                                                                (match 
                                                                 get number
                                                                   "variance" with
                                                                 | Some v ->
                                                                   (match 
                                                                    get text
                                                                    "key" with
                                                                    | Some k ->
                                                                    Some
                                                                    (ByGaussianNoise
                                                                    (v, k))
                                                                    | None ->
                                                                    None)
                                                                 | None ->
                                                                   None)
                                                         else if (=) rule0
                                                                   "laplace"
                                                              then of_members
                                                                    given
                                                                    ("scale" :: ("key" :: []))
                                                                    ("grid" :: [])
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "scale" with
                                                                    | Some s ->
                                                                    (match 
                                                                    maybe
                                                                    number
                                                                    "grid"
                                                                    given with
                                                                    | Some g ->
                                                                    (match 
                                                                    get text
                                                                    "key" with
                                                                    | Some k ->
                                                                    Some
                                                                    (ByLaplaceNoise
                                                                    (s, g, k))
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                              else if 
                                                                    (=) rule0
                                                                    "exponential"
                                                                   then 
                                                                    of_members
                                                                    given
                                                                    ("rate" :: ("key" :: []))
                                                                    []
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "rate" with
                                                                    | Some r ->
                                                                    (match 
                                                                    get text
                                                                    "key" with
                                                                    | Some k ->
                                                                    Some
                                                                    (ByExponential
                                                                    (r, k))
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                   else 
                                                                    if 
                                                                    (=) rule0
                                                                    "permute_and_flip"
                                                                    then 
                                                                    of_members
                                                                    given
                                                                    ("rate" :: ("key" :: []))
                                                                    []
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "rate" with
                                                                    | Some r ->
                                                                    (match 
                                                                    get text
                                                                    "key" with
                                                                    | Some k ->
                                                                    Some
                                                                    (ByPermuteAndFlip
                                                                    (r, k))
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "k_norm"
                                                                    then 
                                                                    of_members
                                                                    given
                                                                    ("rate" :: ("bound" :: ("grid" :: ("key" :: []))))
                                                                    []
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "rate" with
                                                                    | Some r ->
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "bound" with
                                                                    | Some b ->
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "grid" with
                                                                    | Some g ->
                                                                    (match 
                                                                    get text
                                                                    "key" with
                                                                    | Some k ->
                                                                    Some
                                                                    (ByKNorm
                                                                    (r, b, g,
                                                                    k))
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "sparse_vector"
                                                                    then 
                                                                    of_members
                                                                    given
                                                                    ("threshold" :: ("scale" :: ("limit" :: ("grid" :: ("key" :: [])))))
                                                                    []
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "threshold" with
                                                                    | Some t0 ->
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "scale" with
                                                                    | Some s ->
                                                                    (match 
                                                                    get
                                                                    (whole
                                                                    ((fun p -> p)
                                                                    Whole.one))
                                                                    "limit" with
                                                                    | Some l ->
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "grid" with
                                                                    | Some g ->
                                                                    (match 
                                                                    get text
                                                                    "key" with
                                                                    | Some k ->
                                                                    Some
                                                                    (BySparseVector
                                                                    (t0, s,
                                                                    l, g, k))
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "finite"
                                                                    then 
                                                                    of_members
                                                                    given
                                                                    ("table" :: ("epsilon" :: ("key" :: [])))
                                                                    []
                                                                    (match 
                                                                    get
                                                                    (list_of
                                                                    (list_of
                                                                    short_number))
                                                                    "table" with
                                                                    | Some t0 ->
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "epsilon" with
                                                                    | Some e ->
                                                                    (match 
                                                                    get text
                                                                    "key" with
                                                                    | Some k ->
                                                                    Some
                                                                    (ByFinite
                                                                    (t0, e,
                                                                    k))
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "shuffled"
                                                                    then 
                                                                    of_members
                                                                    given
                                                                    ("table" :: ("size" :: ("epsilon" :: ("delta" :: ("key" :: [])))))
                                                                    []
                                                                    (match 
                                                                    get
                                                                    (list_of
                                                                    (list_of
                                                                    short_number))
                                                                    "table" with
                                                                    | Some t0 ->
                                                                    (match 
                                                                    get
                                                                    (whole
                                                                    ((fun p -> p)
                                                                    ((fun p -> Whole.shift_left p 1)
                                                                    Whole.one)))
                                                                    "size" with
                                                                    | Some n0 ->
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "epsilon" with
                                                                    | Some e ->
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "delta" with
                                                                    | Some d ->
                                                                    (match 
                                                                    get text
                                                                    "key" with
                                                                    | Some k ->
                                                                    Some
                                                                    (ByShuffled
                                                                    (t0, n0,
                                                                    e, d, k))
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "stable_histogram"
                                                                    then 
                                                                    of_members
                                                                    given
                                                                    ("scale" :: ("threshold" :: ("delta" :: ("key" :: []))))
                                                                    []
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "scale" with
                                                                    | Some s ->
                                                                    (match 
                                                                    get
                                                                    (whole
                                                                    ((fun p -> p)
                                                                    ((fun p -> Whole.shift_left p 1)
                                                                    Whole.one)))
                                                                    "threshold" with
                                                                    | Some t0 ->
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "delta" with
                                                                    | Some d ->
                                                                    (match 
                                                                    get text
                                                                    "key" with
                                                                    | Some k ->
                                                                    Some
                                                                    (ByStableHistogram
                                                                    (s, t0,
                                                                    d, k))
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "post_process"
                                                                    then 
                                                                    of_members
                                                                    given []
                                                                    [] (Some
                                                                    ByPostProcess)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "billboard"
                                                                    then 
                                                                    of_members
                                                                    given []
                                                                    [] (Some
                                                                    ByBillboard)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "local_view"
                                                                    then 
                                                                    of_members
                                                                    given []
                                                                    [] (Some
                                                                    ByLocalView)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "nodes"
                                                                    then 
                                                                    of_members
                                                                    given []
                                                                    [] (Some
                                                                    ByNodes)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "local"
                                                                    then 
                                                                    of_members
                                                                    given []
                                                                    [] (Some
                                                                    ByLocal)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "compose"
                                                                    then 
                                                                    of_members
                                                                    given []
                                                                    [] (Some
                                                                    ByCompose)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "parallel"
                                                                    then 
                                                                    of_members
                                                                    given []
                                                                    [] (Some
                                                                    ByParallel)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "mixture"
                                                                    then 
                                                                    of_members
                                                                    given []
                                                                    [] (Some
                                                                    ByMixture)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "partition"
                                                                    then 
                                                                    of_members
                                                                    given []
                                                                    [] (Some
                                                                    ByPartition)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "to_approximate"
                                                                    then 
                                                                    of_members
                                                                    given
                                                                    ("epsilon" :: ("delta" :: []))
                                                                    ("order" :: [])
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "epsilon" with
                                                                    | Some e ->
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "delta" with
                                                                    | Some d ->
                                                                    (match 
                                                                    maybe
                                                                    number
                                                                    "order"
                                                                    given with
                                                                    | Some a ->
                                                                    Some
                                                                    (ByToApproximate
                                                                    (e, d, a))
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "to_zcdp"
                                                                    then 
                                                                    of_members
                                                                    given []
                                                                    [] (Some
                                                                    ByToZcdp)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "to_pure"
                                                                    then 
                                                                    of_members
                                                                    given []
                                                                    [] (Some
                                                                    ByToPure)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "to_gdp"
                                                                    then 
                                                                    of_members
                                                                    given
                                                                    ("mu_squared" :: [])
                                                                    []
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "mu_squared" with
                                                                    | Some m ->
                                                                    Some
                                                                    (ByToGdp
                                                                    m)
                                                                    | None ->
                                                                    None)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "to_near_gdp"
                                                                    then 
                                                                    of_members
                                                                    given []
                                                                    [] (Some
                                                                    ByToNearGdp)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "to_renyi"
                                                                    then 
                                                                    of_members
                                                                    given
                                                                    ("orders" :: [])
                                                                    []
                                                                    (match 
                                                                    get
                                                                    (list_of
                                                                    number)
                                                                    "orders" with
                                                                    | Some o ->
                                                                    Some
                                                                    (ByToRenyi
                                                                    o)
                                                                    | None ->
                                                                    None)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "despite"
                                                                    then 
                                                                    of_members
                                                                    given
                                                                    ("delta" :: [])
                                                                    []
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "delta" with
                                                                    | Some d ->
                                                                    Some
                                                                    (ByDespite
                                                                    d)
                                                                    | None ->
                                                                    None)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "group"
                                                                    then 
                                                                    of_members
                                                                    given
                                                                    ("size" :: [])
                                                                    ("delta" :: [])
                                                                    (match 
                                                                    get
                                                                    (whole
                                                                    ((fun p -> p)
                                                                    ((fun p -> Whole.shift_left p 1)
                                                                    Whole.one)))
                                                                    "size" with
                                                                    | Some k ->
                                                                    (match 
                                                                    maybe
                                                                    number
                                                                    "delta"
                                                                    given with
                                                                    | Some d ->
                                                                    Some
                                                                    (ByGroup
                                                                    (k, d))
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "within"
                                                                    then 
                                                                    of_members
                                                                    given
                                                                    ("radius" :: [])
                                                                    []
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "radius" with
                                                                    | Some r ->
                                                                    Some
                                                                    (ByWithin
                                                                    r)
                                                                    | None ->
                                                                    None)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "persons"
                                                                    then 
                                                                    of_members
                                                                    given []
                                                                    [] (Some
                                                                    ByPersons)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "replace_one"
                                                                    then 
                                                                    of_members
                                                                    given []
                                                                    [] (Some
                                                                    ByReplaceOne)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "apart"
                                                                    then 
                                                                    of_members
                                                                    given
                                                                    ("law" :: ("scale" :: []))
                                                                    []
                                                                    (match 
                                                                    get
                                                                    (fun j ->
                                                                    match j with
                                                                    | Null ->
                                                                    None
                                                                    | Bool _ ->
                                                                    None
                                                                    | Int _ ->
                                                                    None
                                                                    | Float _ ->
                                                                    None
                                                                    | Text s ->
                                                                    if 
                                                                    (=) s
                                                                    "gaussian"
                                                                    then 
                                                                    Some
                                                                    ByGaussian
                                                                    else 
                                                                    if 
                                                                    (=) s
                                                                    "laplace"
                                                                    then 
                                                                    Some
                                                                    ByLaplace
                                                                    else None
                                                                    | _ ->
                                                                    None)
                                                                    "law" with
                                                                    | Some l ->
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "scale" with
                                                                    | Some s ->
                                                                    Some
                                                                    (ByApart
                                                                    (l, s))
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    else 
                                                                    if 
                                                                    (=) rule0
                                                                    "refute"
                                                                    then 
                                                                    of_members
                                                                    given
                                                                    ("epsilon" :: ("delta" :: []))
                                                                    []
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "epsilon" with
                                                                    | Some e ->
                                                                    (match 
                                                                    get
                                                                    number
                                                                    "delta" with
                                                                    | Some d ->
                                                                    Some
                                                                    (ByRefute
                                                                    (e, d))
                                                                    | None ->
                                                                    None)
                                                                    | None ->
                                                                    None)
                                                                    else None)

(** val relation_text : relation -> string **)

let rec relation_text = function
| ReplaceOne -> "replace-one"
| AddRemove -> "add-remove"
| BoundedRow r -> (^) "bounded-row, radius " (print_Q r)
| Entering (of0, k, b) ->
  (^) (relation_text of0)
    ((^) ", " ((^) (print_Z k) ((^) " rounds " ((^) (print_Z b) " apart"))))
| Groups (of0, k) -> (^) (relation_text of0) ((^) ", groups of " (print_Z k))

(** val q_text : q -> json **)

let q_text q0 =
  Text (print_Q q0)

(** val rel_text : relation -> json **)

let rel_text r =
  Text (relation_text r)

(** val seen_text : observer -> json **)

let seen_text o =
  Text
    (match o with
     | Central -> "central"
     | Joint -> "joint"
     | Local -> "local")

(** val ints : Whole.t list -> json **)

let ints l =
  Array (map (fun x -> Int x) l)

(** val texts : string list -> json **)

let texts l =
  Array (map (fun x -> Text x) l)

(** val span_text : (Whole.t * Whole.t) -> json **)

let span_text s =
  Array ((Int (fst s)) :: ((Int (snd s)) :: []))

(** val reads_text : interval -> json **)

let reads_text = function
| Some s -> span_text s
| None -> Null

(** val law_text : curve -> json **)

let law_text law =
  Array
    (match law with
     | Pure e -> (Text "pure") :: ((q_text e) :: [])
     | Approximate (e, d) ->
       (Text "approximate") :: ((q_text e) :: ((q_text d) :: []))
     | Zcdp r -> (Text "zcdp") :: ((q_text r) :: [])
     | Gdp m -> (Text "gdp") :: ((q_text m) :: [])
     | NearGdp (m, d) ->
       (Text "near-gdp") :: ((q_text m) :: ((q_text d) :: []))
     | BoundedRange e -> (Text "bounded-range") :: ((q_text e) :: [])
     | Lattice (v, shifts, k) ->
       (Text "lattice") :: ((q_text v) :: ((Array (map ints shifts)) :: ((Int
         k) :: [])))
     | Renyi points ->
       (Text
         "renyi") :: (map (fun p -> Array
                       ((q_text (fst p)) :: ((q_text (snd p)) :: []))) points))

(** val wire : fact -> json **)

let wire f =
  Array
    (match f with
     | Private (s, law, rel, o, reads) ->
       (Text "Private") :: ((Text
         s) :: ((law_text law) :: ((rel_text rel) :: ((seen_text o) :: (
         (reads_text reads) :: [])))))
     | View (q0, a, releases) ->
       (Text "View") :: ((Text q0) :: ((Text
         (match a with
          | Everyone -> "everyone"
          | Others -> "others")) :: ((texts releases) :: [])))
     | Contribution (q0, set, low, high, points, rel, from) ->
       (Text "Contribution") :: ((Text q0) :: ((Text
         (match set with
          | Interval -> "interval"
          | Ball -> "ball"
          | Cell -> "cell"
          | RankOne -> "rank-one"
          | Outer -> "outer"
          | Points -> "points")) :: ((q_text low) :: ((q_text high) :: ((Array
         (map ints points)) :: ((rel_text rel) :: ((Text
         (match from with
          | Public -> "public"
          | Coin -> "coin"
          | DpOutput -> "dp-output")) :: [])))))))
     | Stable (q0, how0, bound, rel, reads) ->
       (Text "Stable") :: ((Text q0) :: ((Text
         (match how0 with
          | L1 -> "l1"
          | Range -> "range"
          | EachNumber -> "each"
          | L2Squared -> "l2-squared"
          | FrobeniusSquared -> "frobenius-squared")) :: ((q_text bound) :: (
         (rel_text rel) :: ((reads_text reads) :: [])))))
     | Lipschitz (q0, f0, s, r) ->
       (Text "Lipschitz") :: ((Text
         q0) :: ((q_text f0) :: ((q_text s) :: ((q_text r) :: []))))
     | Shifts (q0, shifts, rel) ->
       (Text "Shifts") :: ((Text q0) :: ((Array
         (map ints shifts)) :: ((rel_text rel) :: [])))
     | Covered (q0, n0, most, widest, units) ->
       (Text "Covered") :: ((Text q0) :: ((Int n0) :: ((Int most) :: ((Int
         widest) :: ((span_text units) :: [])))))
     | Rounds (q0, n0, k, b, last0) ->
       (Text "Rounds") :: ((Text q0) :: ((Int n0) :: ((Int k) :: ((Int
         b) :: ((Int last0) :: [])))))
     | Numbers (q0, most) ->
       (Text "Numbers") :: ((Text q0) :: ((Int most) :: []))
     | Choice (q0, parts) ->
       (Text "Choice") :: ((Text q0) :: ((Array (map texts parts)) :: []))
     | Split (q0, cells) ->
       (Text "Split") :: ((Text q0) :: ((texts cells) :: []))
     | Persons (q0, rel, rows, most) ->
       (Text "Persons") :: ((Text
         q0) :: ((rel_text rel) :: ((rel_text rows) :: ((Int most) :: []))))
     | Rare (q0, how0, p) ->
       (Text "Rare") :: ((Text q0) :: ((Text
         (match how0 with
          | Event -> "event"
          | Distance -> "distance")) :: ((q_text p) :: [])))
     | Apart (q0, law, numbers, rel, o) ->
       (Text "Apart") :: ((Text q0) :: ((Text
         (match law with
          | ByNumber -> "number"
          | ByVector -> "vector"
          | BySymmetric -> "symmetric"
          | ByGaussian -> "gaussian"
          | ByLaplace -> "laplace"
          | ByEvent -> "event")) :: ((Array
         (map q_text numbers)) :: ((rel_text rel) :: ((seen_text o) :: [])))))
     | Refuted (s, e, d, rel, o) ->
       (Text "Refuted") :: ((Text
         s) :: ((q_text e) :: ((q_text d) :: ((rel_text rel) :: ((seen_text o) :: []))))))

(** val json_eqb : json -> json -> bool **)

let rec json_eqb a b =
  match a with
  | Null -> (match b with
             | Null -> true
             | _ -> false)
  | Bool x -> (match b with
               | Bool y -> eqb x y
               | _ -> false)
  | Int x -> (match b with
              | Int y -> Z.eqb x y
              | _ -> false)
  | Float x -> (match b with
                | Float y -> (=) x y
                | _ -> false)
  | Text x -> (match b with
               | Text y -> (=) x y
               | _ -> false)
  | Array l ->
    (match b with
     | Array m ->
       let rec eq l0 m0 =
         match l0 with
         | [] -> (match m0 with
                  | [] -> true
                  | _ :: _ -> false)
         | x :: l1 ->
           (match m0 with
            | [] -> false
            | y :: m1 -> (&&) (json_eqb x y) (eq l1 m1))
       in eq l m
     | _ -> false)
  | Object l ->
    (match b with
     | Object m ->
       let rec eq l0 m0 =
         match l0 with
         | [] -> (match m0 with
                  | [] -> true
                  | _ :: _ -> false)
         | p :: l1 ->
           let (k, x) = p in
           (match m0 with
            | [] -> false
            | p0 :: m1 ->
              let (k', y) = p0 in
              (&&) ((&&) ((=) k k') (json_eqb x y)) (eq l1 m1))
       in eq l m
     | _ -> false)

(** val characters : string -> Whole.t **)

let rec characters s =
  (* If this appears, you're using String internals. Please don't *)
 (fun f0 f1 s ->
    let l = String.length s in
    if l = 0 then f0 () else f1 (String.get s 0) (String.sub s 1 (l-1)))

    (fun _ -> Whole.zero)
    (fun c rest ->
    Z.add
      (if N.eqb
            (N.coq_land (n_of_ascii c) ((fun p -> p)
              ((fun p -> Whole.shift_left p 1)
              ((fun p -> Whole.shift_left p 1)
              ((fun p -> Whole.shift_left p 1)
              ((fun p -> Whole.shift_left p 1)
              ((fun p -> Whole.shift_left p 1)
              ((fun p -> Whole.shift_left p 1)
              ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one)))))))))
            ((fun p -> p) ((fun p -> Whole.shift_left p 1)
            ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
            ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
            ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
            Whole.one))))))))
       then Whole.zero
       else (fun p -> p) Whole.one) (characters rest))
    s

(** val numbers_in_law : curve -> q list **)

let numbers_in_law = function
| Pure a -> a :: []
| Approximate (a, b) -> a :: (b :: [])
| Zcdp a -> a :: []
| Gdp a -> a :: []
| NearGdp (a, b) -> a :: (b :: [])
| BoundedRange a -> a :: []
| Lattice (v, _, _) -> v :: []
| Renyi points -> app (map fst points) (map snd points)

(** val numbers_in : fact -> q list **)

let numbers_in = function
| Private (_, law, _, _, _) -> numbers_in_law law
| Contribution (_, _, a, b, _, _, _) -> a :: (b :: [])
| Stable (_, _, a, _, _) -> a :: []
| Lipschitz (_, a, b, c) -> a :: (b :: (c :: []))
| Rare (_, _, a) -> a :: []
| Apart (_, _, l, _, _) -> l
| Refuted (_, a, b, _, _) -> a :: (b :: [])
| _ -> []

(** val printed_within : Whole.t -> q -> bool **)

let printed_within most q0 =
  if Z.ltb (Z.add (Z.log2 (Z.abs q0.qnum)) (Z.log2 ((fun p -> p) q0.qden)))
       (Z.mul ((fun p -> p) ((fun p -> Whole.succ (Whole.shift_left p 1))
         Whole.one)) most)
  then true
  else Z.leb (Z.of_nat (length0 (print_Q q0))) most

(** val printable : fact -> bool **)

let printable f =
  forallb (fun q0 ->
    (&&)
      (Z.ltb (Z.abs q0.qnum)
        (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1)
          ((fun p -> Whole.succ (Whole.shift_left p 1))
          ((fun p -> Whole.shift_left p 1) Whole.one)))) ((fun p -> p)
          ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
          ((fun p -> Whole.succ (Whole.shift_left p 1))
          ((fun p -> Whole.succ (Whole.shift_left p 1))
          ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
          ((fun p -> Whole.succ (Whole.shift_left p 1))
          ((fun p -> Whole.succ (Whole.shift_left p 1))
          ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
          ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
          Whole.one)))))))))))))))
      (Z.ltb ((fun p -> p) q0.qden)
        (Z.pow ((fun p -> p) ((fun p -> Whole.shift_left p 1)
          ((fun p -> Whole.succ (Whole.shift_left p 1))
          ((fun p -> Whole.shift_left p 1) Whole.one)))) ((fun p -> p)
          ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
          ((fun p -> Whole.succ (Whole.shift_left p 1))
          ((fun p -> Whole.succ (Whole.shift_left p 1))
          ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
          ((fun p -> Whole.succ (Whole.shift_left p 1))
          ((fun p -> Whole.succ (Whole.shift_left p 1))
          ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
          ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
          Whole.one)))))))))))))))) (numbers_in f)

(** val reads_numbers : step -> bool **)

let reads_numbers = function
| ByPostProcess -> false
| ByBillboard -> false
| ByLocalView -> false
| ByWithin _ -> false
| ByPersons -> false
| ByReplaceOne -> false
| _ -> true

(** val named_within : step -> line list -> fact -> bool **)

let named_within s found gives0 =
  match s with
  | AssumeFilter (q0, _, _) ->
    Z.leb (characters q0) ((fun p -> p) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      Whole.one))))))))))))))
  | ByCompose ->
    Z.leb
      (fold_left Z.add
        (map (fun l ->
          match l.says with
          | Private (n0, _, _, _, _) -> characters n0
          | _ -> Whole.zero) found) Whole.zero) ((fun p -> p)
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      Whole.one))))))))))))))
  | ByParallel ->
    Z.leb
      (fold_left Z.add
        (map (fun l ->
          match l.says with
          | Private (n0, _, _, _, _) -> characters n0
          | _ -> Whole.zero) found) Whole.zero) ((fun p -> p)
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      Whole.one))))))))))))))
  | ByMixture ->
    Z.leb
      (fold_left Z.add
        (map (fun l ->
          match l.says with
          | Private (n0, _, _, _, _) -> characters n0
          | _ -> Whole.zero) found) Whole.zero) ((fun p -> p)
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.shift_left p 1)
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.succ (Whole.shift_left p 1))
      ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
      Whole.one))))))))))))))
  | _ ->
    (match law_of s gives0 with
     | Some p ->
       let (key, _) = p in
       Z.leb (characters key) ((fun p -> p) ((fun p -> Whole.shift_left p 1)
         ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
         ((fun p -> Whole.succ (Whole.shift_left p 1))
         ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
         ((fun p -> Whole.succ (Whole.shift_left p 1)) Whole.one))))))))
     | None -> true)

type entry = { rule : string; witness : (string * json) list;
               before : Whole.t list; gives : json }

(** val checked : entry -> line list -> Whole.t -> (step * line) option **)

let checked e lines size0 =
  if (&&)
       (Z.leb (Z.of_nat (length e.before)) ((fun p -> p)
         ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
         ((fun p -> Whole.shift_left p 1)
         ((fun p -> Whole.succ (Whole.shift_left p 1))
         ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
         ((fun p -> Whole.shift_left p 1)
         ((fun p -> Whole.succ (Whole.shift_left p 1))
         ((fun p -> Whole.succ (Whole.shift_left p 1))
         ((fun p -> Whole.succ (Whole.shift_left p 1))
         ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
         Whole.one))))))))))))))
       (forallb (fun k -> (&&) (Z.leb Whole.zero k) (Z.ltb k size0)) e.before)
  then (match read_step e.witness e.rule with
        | Some s ->
          (match all_some (nth_line lines size0) e.before with
           | Some found ->
             if (||) (negb (reads_numbers s))
                  (forallb (fun l ->
                    forallb
                      (printed_within ((fun p -> p)
                        ((fun p -> Whole.shift_left p 1)
                        ((fun p -> Whole.shift_left p 1)
                        ((fun p -> Whole.shift_left p 1)
                        ((fun p -> Whole.succ (Whole.shift_left p 1))
                        ((fun p -> Whole.shift_left p 1)
                        ((fun p -> Whole.succ (Whole.shift_left p 1))
                        ((fun p -> Whole.succ (Whole.shift_left p 1))
                        ((fun p -> Whole.succ (Whole.shift_left p 1))
                        ((fun p -> Whole.succ (Whole.shift_left p 1))
                        Whole.one))))))))))) (numbers_in l.says)) found)
             then (match follow s found with
                   | Some next ->
                     if (&&)
                          ((&&) (named_within s found next.says)
                            (printable next.says))
                          (json_eqb (wire next.says) e.gives)
                     then Some (s, next)
                     else None
                   | None -> None)
             else None
           | None -> None)
        | None -> None)
  else None

(** val check_entries :
    entry list -> Whole.t -> (step * Whole.t list) list -> line list ->
    ((step * Whole.t list) list * line list, Whole.t) sum **)

let rec check_entries entries size0 steps lines =
  match entries with
  | [] -> Inl ((rev steps), lines)
  | e :: rest ->
    (match checked e lines size0 with
     | Some p ->
       let (s, next) = p in
       check_entries rest (Z.add size0 ((fun p -> p) Whole.one)) ((s,
         e.before) :: steps) (next :: lines)
     | None -> Inr size0)

(** val check_document :
    entry list -> ((step * Whole.t list) list * line list, Whole.t) sum **)

let check_document entries =
  if (&&)
       (Z.leb (Z.of_nat (length entries)) ((fun p -> p)
         ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
         ((fun p -> Whole.succ (Whole.shift_left p 1))
         ((fun p -> Whole.succ (Whole.shift_left p 1))
         ((fun p -> Whole.shift_left p 1)
         ((fun p -> Whole.succ (Whole.shift_left p 1))
         ((fun p -> Whole.shift_left p 1) ((fun p -> Whole.shift_left p 1)
         Whole.one)))))))))) (match entries with
                              | [] -> false
                              | _ :: _ -> true)
  then check_entries entries Whole.zero [] []
  else Inr (Whole.neg Whole.one)
