(** Lists of a hundred thousand entries: the usual functions, without a stack. *)
Require Import List Lia ZArith.
Import ListNotations.

Fixpoint map_onto {A B} (f : A -> B) (l : list A) (acc : list B) : list B :=
  match l with [] => rev_append acc [] | x :: l => map_onto f l (f x :: acc) end.

Definition mapped {A B} (f : A -> B) (l : list A) : list B := map_onto f l [].

Lemma map_onto_map {A B} (f : A -> B) l : forall acc, map_onto f l acc = rev acc ++ map f l.
Proof.
  induction l as [|x l IH]; intros acc; cbn [map_onto map]; [apply rev_append_rev|].
  rewrite IH. cbn [rev]. rewrite <- app_assoc. reflexivity.
Qed.

Lemma mapped_map {A B} (f : A -> B) l : mapped f l = map f l.
Proof. apply (map_onto_map f l []). Qed.

Fixpoint zip_with {A B C} (f : A -> B -> C) (a : list A) (b : list B) : list C :=
  match a, b with x :: a, y :: b => f x y :: zip_with f a b | _, _ => [] end.

Fixpoint zip_onto {A B C} (f : A -> B -> C) (a : list A) (b : list B) (acc : list C) : list C :=
  match a, b with x :: a, y :: b => zip_onto f a b (f x y :: acc) | _, _ => rev_append acc [] end.

Definition zipped {A B C} (f : A -> B -> C) (a : list A) (b : list B) : list C := zip_onto f a b [].

Lemma zip_onto_zip {A B C} (f : A -> B -> C) a : forall b acc, zip_onto f a b acc = rev acc ++ zip_with f a b.
Proof.
  induction a as [|x a IH]; intros [|y b] acc; cbn [zip_onto zip_with]; try apply rev_append_rev.
  rewrite IH. cbn [rev]. rewrite <- app_assoc. reflexivity.
Qed.

Lemma zipped_zip {A B C} (f : A -> B -> C) a b : zipped f a b = zip_with f a b.
Proof. apply (zip_onto_zip f a b []). Qed.

Lemma zip_with_in {A B C} (f : A -> B -> C) a : forall b z, In z (zip_with f a b) ->
  exists x y, In x a /\ In y b /\ z = f x y.
Proof.
  induction a as [|x a IH]; intros [|y b] z H; cbn [zip_with] in H; try contradiction.
  destruct H as [<-|H]; [exists x, y; repeat split; left; auto|].
  destruct (IH b z H) as [x' [y' [Hx [Hy E]]]]. exists x', y'. repeat split; auto; right; auto.
Qed.

Lemma length_zip_with {A B C} (f : A -> B -> C) a : forall b, length a = length b -> length (zip_with f a b) = length a.
Proof. induction a; intros [|y b] H; cbn [zip_with length] in *; try discriminate; auto. Qed.

(** What a function says of n integers, from the last one down to z. *)
Fixpoint tabled {B} (f : Z -> B) (n : nat) (last : Z) (acc : list B) : list B :=
  match n with O => acc | S n => tabled f n (last - 1)%Z (f last :: acc) end.

Lemma tabled_app {B} (f : Z -> B) n : forall last acc, tabled f n last acc = tabled f n last [] ++ acc.
Proof.
  induction n as [|n IH]; intros last acc; cbn [tabled]; auto.
  rewrite IH, (IH _ [f last]), <- app_assoc. reflexivity.
Qed.

Lemma length_tabled {B} (f : Z -> B) n : forall last acc, length (tabled f n last acc) = (n + length acc)%nat.
Proof. induction n as [|n IH]; intros last acc; cbn [tabled]; auto. rewrite IH. cbn [length]. lia. Qed.

Lemma tabled_nth {B} (f : Z -> B) n : forall last j b, nth_error (tabled f n last []) j = Some b ->
  (j < n)%nat /\ b = f (last - Z.of_nat n + 1 + Z.of_nat j)%Z.
Proof.
  induction n as [|n IH]; intros last j b H; cbn [tabled] in H; [destruct j; discriminate|].
  rewrite tabled_app in H. assert (L : length (tabled f n (last - 1) []) = n) by (rewrite length_tabled; cbn; lia).
  destruct (Nat.lt_ge_cases j n) as [Hj|Hj].
  - rewrite nth_error_app1 in H by lia. apply IH in H. destruct H as [_ ->]. split; [lia|]. f_equal. lia.
  - rewrite nth_error_app2, L in H by lia. destruct (j - n)%nat eqn:E; cbn in H; [|destruct n0; discriminate].
    injection H as <-. split; [lia|]. f_equal. lia.
Qed.

Lemma tabled_in {B} (f : Z -> B) n last b : In b (tabled f n last []) ->
  exists z, (last - Z.of_nat n < z <= last)%Z /\ b = f z.
Proof.
  intros H. apply In_nth_error in H. destruct H as [j Hj]. apply tabled_nth in Hj. destruct Hj as [Hj ->].
  eexists. split; [|reflexivity]. lia.
Qed.
