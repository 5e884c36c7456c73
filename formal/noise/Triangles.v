(** Noise on the upper triangle of a symmetric matrix: twice the variance on the diagonal makes every entry count alike. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Definitions Meaning.
Import ListNotations.
Open Scope R_scope.

Lemma total_flat_map {A B} (f : B -> R) (g : A -> list B) l : total f (flat_map g l) = total (fun a => total f (g a)) l.
Proof. induction l; simpl; auto. rewrite total_app, IHl. auto. Qed.

Lemma total_nth {T} (g : T -> R) e l : total g l = total (fun j => g (nth j l e)) (seq 0 (List.length l)).
Proof.
  induction l as [|a l IH]; auto. cbn [total List.length seq nth]. rewrite IH, <- seq_shift, total_map. auto.
Qed.

Lemma total_grid (f : nat -> R) n m : total f (seq 0 (m * n)) = total (fun i => total (fun j => f (i * n + j)%nat) (seq 0 n)) (seq 0 m).
Proof.
  induction m as [|m IH]; auto. rewrite seq_S, total_app. cbn [total]. rewrite <- IH.
  replace (S m * n)%nat with (m * n + n)%nat by lia. rewrite seq_app, total_app, Rplus_0_r. f_equal.
  rewrite Nat.add_0_l. replace (seq (m * n) n) with (map (fun j => (m * n + j)%nat) (seq 0 n)); [apply total_map|].
  clear. generalize (m * n)%nat as a. intros a. induction n as [|n IH]; auto.
  rewrite !seq_S, map_app, IH. simpl. reflexivity.
Qed.

Lemma total_from (f : nat -> R) i n : (i <= n)%nat ->
  total f (seq i (n - i)) = total (fun j => if (i <=? j)%nat then f j else 0) (seq 0 n).
Proof.
  intros Hi. replace (seq 0 n) with (seq 0 i ++ seq i (n - i)).
  2: { replace (seq i (n - i)) with (seq (0 + i) (n - i)) by auto. rewrite <- seq_app. f_equal. lia. }
  rewrite total_app, (total_zero _ (seq 0 i)).
  - rewrite Rplus_0_l. apply total_ext. intros j Hj. apply in_seq in Hj. destruct (Nat.leb_spec i j); auto. lia.
  - intros j Hj. apply in_seq in Hj. destruct (Nat.leb_spec i j); auto. lia.
Qed.

Lemma triangle_total {T} n (l : list T) e (g : T -> R) : List.length l = (n * n)%nat ->
  (forall i j, (i < n)%nat -> (j < n)%nat -> g (nth (i * n + j) l e) = g (nth (j * n + i) l e)) ->
  total (fun aw => g (fst aw) / snd aw) (triangle n l e) = total g l / 2.
Proof.
  intros Hl Hs. unfold triangle. rewrite total_flat_map, (total_nth g e l), Hl, total_grid.
  set (A := fun i j => g (nth (i * n + j) l e)) in *.
  set (L := fun i j => if (i <=? j)%nat then A i j / (if (i =? j)%nat then 2 else 1) else 0).
  assert (E : total (fun i => total (fun aw => g (fst aw) / snd aw)
      (map (fun j => (nth (i * n + j) l e, if (i =? j)%nat then 2 else 1)) (seq i (n - i)))) (seq 0 n)
    = total (fun i => total (fun j => L i j) (seq 0 n)) (seq 0 n)).
  { apply total_ext. intros i Hi. apply in_seq in Hi. rewrite total_map, total_from by lia.
    apply total_ext. intros j _. unfold L. destruct (i <=? j)%nat; auto. }
  rewrite E. assert (E2 : total (fun i => total (fun j => L i j) (seq 0 n)) (seq 0 n) + total (fun i => total (fun j => L j i) (seq 0 n)) (seq 0 n)
    = total (fun i => total (fun j => A i j) (seq 0 n)) (seq 0 n)).
  { rewrite <- total_plus. apply total_ext. intros i Hi. apply in_seq in Hi. rewrite <- total_plus. apply total_ext.
    intros j Hj. apply in_seq in Hj. unfold L. pose proof (Hs i j ltac:(lia) ltac:(lia)) as HS. fold (A i j) in HS. fold (A j i) in HS.
    destruct (Nat.leb_spec i j), (Nat.leb_spec j i), (Nat.eqb_spec i j), (Nat.eqb_spec j i); try lia; subst; lra. }
  rewrite (total_swap (fun i j => L j i)) in E2. change (total (fun i => total (fun j => A i j) (seq 0 n)) (seq 0 n)) with
    (total (fun i => total (fun j => g (nth (i * n + j) l e)) (seq 0 n)) (seq 0 n)) in E2. lra.
Qed.

(** What all numbers cost together, of a symmetric matrix half as much. *)
Lemma weighed_total {T} symmetric n (l : list T) e (g : T -> R) :
  (symmetric = true -> List.length l = (n * n)%nat /\
    forall i j, (i < n)%nat -> (j < n)%nat -> g (nth (i * n + j) l e) = g (nth (j * n + i) l e)) ->
  total (fun aw => g (fst aw) / snd aw) (weighed symmetric n l e) = total g l * (if symmetric then / 2 else 1).
Proof.
  intros HS. unfold weighed. destruct symmetric.
  - destruct (HS eq_refl) as [H1 H2]. rewrite triangle_total; auto.
  - rewrite total_map. cbn [fst snd]. rewrite Rmult_1_r. apply total_ext. intros; field.
Qed.

Lemma weighed_positive {T} symmetric n (l : list T) e aw : In aw (weighed symmetric n l e) -> 0 < snd aw.
Proof.
  unfold weighed, triangle. destruct symmetric; intros Hin.
  - apply in_flat_map in Hin. destruct Hin as [i [_ Hin]]. apply in_map_iff in Hin. destruct Hin as [j [<- _]].
    simpl. destruct (i =? j)%nat; lra.
  - apply in_map_iff in Hin. destruct Hin as [a [<- _]]. simpl. lra.
Qed.
