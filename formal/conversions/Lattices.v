(** The exact curve of discrete Gaussian noise on integers, enclosed.

    For k equal shifts by v the privacy loss is (k|v|²/2 − S)/σ² with S = Σ v_j X_ij, so
    δ(ε) = P(S < h − σ²ε) − e^ε P(S > h + σ²ε), h = k|v|²/2.  Weights are enclosed by whole numbers. *)
Require Import QArith ZArith List Bool.
From DP Require Import Facts Steps.
From DP.decide Require Import Fixed Functions Decide.
Import ListNotations.
Open Scope Z_scope.

(* ---------------------------------------------------------------- products of polynomials *)

(** Coefficients side by side in one long number, blocks of [w] bits. *)
Fixpoint pairs_up (w : Z) (l : list Z) : list Z :=
  match l with
  | a :: b :: rest => (a + b * 2 ^ w) :: pairs_up w rest
  | _ => l
  end.

Fixpoint pack (levels : nat) (w : Z) (l : list Z) : Z :=
  match levels with
  | O => hd 0 l
  | S less => pack less (2 * w) (pairs_up w l)
  end.

Fixpoint pairs_down (w : Z) (l : list Z) : list Z :=
  match l with
  | [] => []
  | a :: rest => (a mod 2 ^ w) :: (a / 2 ^ w) :: pairs_down w rest
  end.

Fixpoint unpack (levels : nat) (w : Z) (z : Z) : list Z :=
  match levels with
  | O => [z]
  | S less => pairs_down w (unpack less (2 * w) z)
  end.

Definition levels_for (n : nat) : nat := Z.to_nat (Z.log2 (Z.of_nat n) + 1).

Definition bits_of (l : list Z) : Z := Z.log2 (fold_left Z.max l 1) + 1.

(** The product of two polynomials with coefficients that are not negative. *)
Definition multiply (a b : list Z) : list Z :=
  let n := (length a + length b)%nat in
  let levels := levels_for n in
  let w := bits_of a + bits_of b + Z.log2 (Z.of_nat n) + 2 in
  firstn (pred n) (unpack levels w (pack levels w a * pack levels w b)).

Fixpoint raised (base : list Z) (n : positive) : list Z :=
  match n with
  | xH => base
  | xO m => let h := raised base m in multiply h h
  | xI m => let h := raised base m in multiply base (multiply h h)
  end.

(* ---------------------------------------------------------------- weights *)

(** 2^p e^(−x²/2σ²), from below and from above. *)
Definition weight_at (p : positive) (variance : Q) (x : Z) : Z * Z :=
  match exponential p (of_Q p (Qopp ((x * x) # 1) / (variance * 2))) with
  | (Some a, Some b) => (a, b)
  | _ => (0, 2 ^ Zpos p)
  end.

(** All of the weights beyond [radius] on both sides, from above. *)
Definition beyond (p : positive) (variance : Q) (radius : Z) : option Z :=
  let r := radius + 1 in
  let first := exponential p (of_Q p (Qopp ((r * r) # 1) / (variance * 2))) in
  let ratio := exponential p (of_Q p (Qopp (r # 1) / variance)) in
  snd (div p (add first first) (sub (of_Q p 1) ratio)).

Definition spread_out (step : Z) (l : list Z) : list Z :=
  match l with
  | [] => []
  | a :: rest => a :: flat_map (fun b => repeat 0 (Z.to_nat (step - 1)) ++ [b]) rest
  end.

Definition digits10 (q : Q) : Z :=            (* at least as many as the whole part has *)
  (Z.log2 (Qnum q / Zpos (Qden q) + 1) + 1) * 30103 / 100000 + 1.

Definition floor_q (q : Q) : Z := Qnum q / Zpos (Qden q).
Definition ceiling_q (q : Q) : Z := up_div (Qnum q) (Zpos (Qden q)).

Definition sum_z (l : list Z) : Z := fold_left Z.add l 0.

(** The sums of one coordinate's weights, the masses of S from −reach on, and reach. *)
Definition lattice_law (p : positive) (variance : Q) (radius : Z) (steps : list Z) (count : positive) : option (list Z * Z * Z * Z) :=
  let half := map (weight_at p variance) (map Z.of_nat (seq 0 (S (Z.to_nat radius)))) in
  let one := rev (tl (map fst half)) ++ map fst half in
  let! tail := beyond p variance radius in
  let low := sum_z one in
  let high := sum_z (map snd half) + sum_z (map snd (tl half)) + tail in
  let cells := fold_left (fun cells step => multiply cells (raised (spread_out step one) count)) steps [1] in
  Some (cells, radius * sum_z steps * Zpos count, low, high).

Definition lattice_at_most (variance : Q) (shift : list Z) (count : Z) (epsilon delta : Q) : bool :=
  match filter (fun v => negb (v =? 0)) (map Z.abs shift) with
  | [] => true
  | steps =>
    let squares := sum_z (map (fun v => v * v) steps) in
    let half := Qred ((count * squares) # 2) in
    let below := ceiling_q (minus half (times variance epsilon)) in
    let above := floor_q (plus half (times variance epsilon)) in
    let digits := 24 + 2 * digits10 (Qinv delta) in
    let radius := Z.sqrt (floor_q (times (times 2 variance) (of_Z (digits * 3)))) + 2 in
    let span := radius * sum_z steps * count in
    let p := Z.to_pos (digits * 4) in
    if Steps.below 0 delta && Steps.below 0 variance && (digits <=? 480) && (1 <=? count) && (2 * span + 1 <=? 120000) then
      match lattice_law p variance radius steps (Z.to_pos count) with
      | Some (cells, reach, low, high) =>
        let n := Z.of_nat (length steps) * count in
        let least := low ^ n in
        let most := high ^ n in
        let at_place k := Z.to_nat (Z.max 0 (k + reach)) in
        let hit := sum_z (firstn (at_place below) cells) + (most - least) in
        let miss := sum_z (skipn (at_place (above + 1)) cells) in
        if 0 <? least then
          at_most (Minus (Num (hit # Z.to_pos least)) (Times (Exp (Num epsilon)) (Num (miss # Z.to_pos most)))) delta
        else false
      | None => false
      end
    else false
  end.
