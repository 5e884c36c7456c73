(** What a hypothesis says, once its witness is well formed. *)
Require Import QArith ZArith String List Bool Sorting.Mergesort Orders.
From DP Require Import Facts Steps.
Import ListNotations.

(* ---------------------------------------------------------------- covers *)

Module ZOrder <: TotalLeBool.
  Definition t := Z.
  Definition leb := Z.leb.
  Infix "<=?" := leb.
  Theorem leb_total : forall a b, (a <=? b)%Z = true \/ (b <=? a)%Z = true.
  Proof. intros. rewrite !Z.leb_le. lia. Qed.
End ZOrder.
Module ZSort := Sort ZOrder.

(** Of sorted first and last units: how many covers are open at most. [now] are open before the next first one. *)
Fixpoint sweep (fuel : nat) (firsts lasts : list Z) (now best : Z) : Z :=
  match fuel, firsts with
  | S less, f :: firsts' =>
    match lasts with
    | l :: lasts' => if (l <? f)%Z then sweep less firsts lasts' (now - 1) best
                     else sweep less firsts' lasts (now + 1) (Z.max best (now + 1))
    | [] => sweep less firsts' lasts (now + 1) (Z.max best (now + 1))
    end
  | _, _ => best
  end.

Definition most_open (covers : list (Z * Z)) : Z :=
  sweep (2 * length covers + 1) (ZSort.sort (map fst covers)) (ZSort.sort (map snd covers)) 0 0.

Definition least_of (l : list Z) : Z := match l with [] => 0 | a :: rest => fold_left Z.min rest a end.
Definition most_of (l : list Z) : Z := match l with [] => 0 | a :: rest => fold_left Z.max rest a end.

Definition proper (c : Z * Z) : bool := ((1 <=? fst c) && (fst c <=? snd c) && (snd c <? 2 ^ 63))%Z.

Definition covered (query : string) (covers : list (Z * Z)) : option fact :=
  check (negb (is_nil covers) && forallb proper covers);
  Some (Covered query (Z.of_nat (length covers)) (most_open covers)
          (most_of (map (fun c => snd c - fst c + 1)%Z covers))
          (least_of (map fst covers), most_of (map snd covers)))
  where "'is_nil' l" := (match l with [] => true | _ => false end).
