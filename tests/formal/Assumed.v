(** What is not proved here.  Nothing else is assumed, but the real numbers of Coq's library and what they rest on. *)
Require Import Reals ZArith List.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Definitions.
Open Scope R_scope.

(** Dong, Roth and Su 2022, corollary 3.3 (of theorem 3.2): squares of μ add where one release follows another. *)
Axiom gdp_composes : forall (A B : Type) (a b : R) (P Q : law A) (k l : A -> law B), 0 <= a -> 0 <= b ->
  gdp_cost a P Q -> (forall x, gdp_cost b (k x) (l x)) -> gdp_cost (a + b) (bind P k) (bind Q l).
