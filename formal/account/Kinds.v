(** Kinds of releases that are accounted for, and what it means that a release is of a kind.

    Read this file to judge `meets_ceilings` (account/Ceilings.v) and all that rests on it: [meets k w P Q] is what is
    asked of the two laws of a release.  Its words are those of Definitions.v and Meaning.v. *)
Require Import Reals QArith Qreals ZArith List Bool.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Definitions Meaning.
Import ListNotations.
Open Scope R_scope.

Inductive kind :=
  | Response (epsilon : Q)                         (* whatever is ε-DP *)
  | Failing (epsilon delta : Q)                    (* whatever is (ε, δ)-DP *)
  | LaplaceNoise (moved : Q)                       (* sensitivity over scale *)
  | GeometricNoise (scale : Q) (shift : Z)         (* discrete Laplace *)
  | NormalNoise (mu_squared : Q)                   (* whatever is μ-GDP: of Gaussian noise, μ is sensitivity over deviation *)
  | DiscreteNormalNoise (variance : Q) (shift : Z)
  | Answers (epsilon : Q) (number : Z)             (* randomised response among so many answers *)
  | Sampled (rate : Q) (k : kind).                 (* on a Poisson sample, where one unit is there or not *)

(** The first law is the one with the unit, or the one without it.  Only samples tell the two apart. *)
Inductive way := There | Back.

Definition positive_rational (q : Q) : bool := (0 <? Qnum q)%Z.

Fixpoint well_formed (k : kind) : bool :=
  match k with
  | Response epsilon => (0 <=? Qnum epsilon)%Z
  | Failing epsilon delta => (0 <=? Qnum epsilon)%Z && (0 <=? Qnum delta)%Z && Qle_bool delta 1
  | LaplaceNoise moved => (0 <=? Qnum moved)%Z
  | GeometricNoise scale shift => positive_rational scale && (0 <=? shift)%Z
  | NormalNoise mu_squared => positive_rational mu_squared
  | DiscreteNormalNoise variance shift => positive_rational variance && (0 <=? shift)%Z
  | Answers epsilon number => (0 <=? Qnum epsilon)%Z && (2 <=? number)%Z
  | Sampled rate k => positive_rational rate && Qle_bool rate 1 && well_formed k
  end.

Section Meets.
  Context {A : Type}.
  Implicit Types (P Q : law A).

  (** No event is more than e^ε times as likely, but for δ. *)
  Definition failing_cost (epsilon delta : R) P Q := forall f, test f -> P f <= exp epsilon * Q f + delta.

  (** P and Q are one function of some numbers with independent Laplace noise; those of P and of Q, side by side in
      [numbers], are at most so many scales apart in L1. *)
  Definition laplace_pair (moved : R) P Q := exists b L (numbers : list (R * R)) (post : list R -> law A),
    0 < b /\ laplace_law b L /\ total (fun n => Rabs (fst n - snd n)) numbers <= moved * b /\
    same P (bind (each (map (fun n => L (fst n)) numbers)) post) /\
    same Q (bind (each (map (fun n => L (snd n)) numbers)) post).

  (** The same of integers with such noise, which are at most [shift] apart in L1. *)
  Definition integer_pair (noise : law Z -> Prop) (shift : Z) P Q :=
    exists N (numbers : list (Z * Z)) (post : list Z -> law A),
      noise N /\ (fold_right (fun n sum => Z.abs (fst n - snd n) + sum) 0 numbers <= shift)%Z /\
      same P (bind (each (map (fun n => image (Z.add (fst n)) N) numbers)) post) /\
      same Q (bind (each (map (fun n => image (Z.add (snd n)) N) numbers)) post).

  (** P and Q are one function of an answer, from 0 to [number] - 1: the true one is e times as likely as any other. *)
  Definition answer_law (e : R) (number truth : Z) : law Z -> Prop := proportional (fun answer =>
    if ((0 <=? answer) && (answer <? number))%Z then if (answer =? truth)%Z then e else 1 else 0).
  Definition answer_pair (e : R) (number : Z) P Q := exists i j R S (post : Z -> law A),
    (0 <= i < number)%Z /\ (0 <= j < number)%Z /\ answer_law e number i R /\ answer_law e number j S /\
    same P (bind R post) /\ same Q (bind S post).

  (** Whatever is drawn of the others, the unit is in the sample with probability q; the result is drawn by [present]
      or by [absent], a pair of the kind that is sampled. *)
  Definition sampled_pair (rate : R) (meet : law A -> law A -> Prop) with_unit without :=
    exists (S : Type) (others : law S) (present absent : S -> law A),
      (forall s, meet (present s) (absent s)) /\
      forall f, test f -> with_unit f = others (fun s => rate * present s f + (1 - rate) * absent s f) /\
                          without f = others (fun s => absent s f).

  Fixpoint meets (k : kind) (w : way) P Q : Prop :=
    match k with
    | Response epsilon => pure_cost (Q2R epsilon) P Q /\ pure_cost (Q2R epsilon) Q P
    | Failing epsilon delta => failing_cost (Q2R epsilon) (Q2R delta) P Q /\ failing_cost (Q2R epsilon) (Q2R delta) Q P
    | LaplaceNoise moved => laplace_pair (Q2R moved) P Q
    | GeometricNoise scale shift => integer_pair (discrete_laplace (Q2R scale)) shift P Q
    | NormalNoise mu_squared => gdp_cost (Q2R mu_squared) P Q
    | DiscreteNormalNoise variance shift => integer_pair (discrete_normal (Q2R variance)) shift P Q
    | Answers epsilon number => answer_pair (exp (Q2R epsilon)) number P Q
    | Sampled rate k =>
        match w with
        | There => sampled_pair (Q2R rate) (fun present absent => meets k There present absent) P Q
        | Back => sampled_pair (Q2R rate) (fun present absent => meets k Back absent present) Q P
        end
    end.
End Meets.
