(** Rows of a stream as they were when they were released, and a matrix times such rows.

    What a row of a stream is made of is fixed at the moment of each row, so that on one path all releases read the same
    rows ([moment_fixed]).  A matrix times a few moved rows moves by at most the sum of all inner products of their
    columns ([stretched]). *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.sensitivity Require Import Infer Streams.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- moments *)

Section Moments.
  Variable W : world.
  Hypothesis HW : lawful W.
  Local Notation H := (history (message W)).

  Fixpoint seek (l : label) (now h : H) : H :=
    if is_next W l h then h else match h with [] => now | _ :: before => seek l now before end.

  Lemma moment_seek l now : moment W l now = seek l now now.
  Proof.
    unfold moment. generalize now at 1 3. intros start. induction now as [|m h IH]; cbn; auto. rewrite IH. auto.
  Qed.

  Lemma is_next_spec l h : is_next W l h = true <-> next W h = Some l.
  Proof.
    unfold is_next. destruct (next W h) as [l'|]; [|split; discriminate].
    destruct (label_dec l l') as [->|N]; split; auto; try discriminate. intros E. congruence.
  Qed.

  Lemma moment_is l g h : next W g = Some l -> earlier g h -> moment W l h = g.
  Proof.
    intros Hg [b ->]. rewrite moment_seek. generalize (b ++ g)%list at 1. intros now.
    assert (Hgg : is_next W l g = true) by (apply is_next_spec; auto).
    induction b as [|m b IH]; cbn [app].
    - destruct g as [|m g]; cbn [seek]; rewrite Hgg; auto.
    - cbn [seek]. destruct (is_next W l (m :: (b ++ g)%list)) eqn:E; auto. apply is_next_spec in E.
      destruct HW as [_ [_ [_ [HO _]]]]. exfalso.
      destruct (@exists_last _ (m :: b)) as [y [m' Ey]]; [discriminate|].
      apply (HO _ l E g m'); auto. exists y. change (m :: (b ++ g)%list) with ((m :: b) ++ g)%list.
      rewrite Ey, <- app_assoc. auto.
  Qed.

  Lemma earlier_trans {A} (a b c : list A) : earlier a b -> earlier b c -> earlier a c.
  Proof. intros [x ->] [y ->]. exists (y ++ x)%list. rewrite app_assoc. auto. Qed.

  (** On one path all releases of a stream read the same rows. *)
  Lemma moment_fixed l g h s : next W g = Some l -> is_stream (made (at_place l)) = true -> earlier g h ->
    (1 <= s <= index l)%Z -> moment W (Label (key l) (at_place l) s) g = moment W (Label (key l) (at_place l) s) h.
  Proof.
    intros Hg HS He Hs. destruct (Z.eq_dec s (index l)) as [->|Hn].
    - assert (E : Label (key l) (at_place l) (index l) = l) by (destruct l; auto). rewrite E.
      rewrite (moment_is l g g), (moment_is l g h); auto. exists []. auto.
    - destruct HW as [_ [_ [_ [_ [_ [HR _]]]]]]. destruct (HR g l Hg HS) as [_ [_ G]].
      destruct (G s ltac:(lia)) as [h' [m [E1 E2]]].
      assert (Eg : earlier h' g) by (apply (earlier_trans _ (m :: h')); auto; exists [m]; auto).
      rewrite (moment_is _ h' g), (moment_is _ h' h); auto. apply (earlier_trans _ g); auto.
  Qed.
End Moments.

(* ---------------------------------------------------------------- sums *)

Lemma total_filter {A} (p : A -> bool) (f : A -> R) l : total f (filter p l)
  = total (fun a => if p a then f a else 0) l.
Proof. induction l as [|a l IH]; cbn; auto. destruct (p a); cbn; rewrite IH; lra. Qed.

Lemma total_abs {A} (f : A -> R) l : Rabs (total f l) <= total (fun a => Rabs (f a)) l.
Proof. induction l as [|a l IH]; cbn; [rewrite Rabs_R0; lra|]. pose proof (Rabs_triang (f a) (total f l)). lra. Qed.

Lemma total_double {A} (f g : A -> R) (l m : list A) : total f l * total g m
  = total (fun a => total (fun b => f a * g b) m) l.
Proof.
  rewrite Rmult_comm, <- total_scale. apply total_ext. intros a _. rewrite total_scale. ring.
Qed.

Lemma one_to_split n i : (0 <= i <= n)%Z -> exists rest, one_to n = (one_to i ++ rest)%list /\ forall s, In s rest ->
  (i < s)%Z.
Proof.
  intros Hi. unfold one_to. replace (Z.to_nat n) with (Z.to_nat i + Z.to_nat (n - i))%nat by lia.
  rewrite seq_app, map_app.
  eexists. split; [reflexivity|]. intros s Hs. apply in_map_iff in Hs. destruct Hs as [j [<- Hj]]. apply in_seq in Hj.
  lia.
Qed.

Lemma total_one_to n i f : (0 <= i <= n)%Z -> (forall s, (i < s)%Z -> f s = 0) ->
  total f (one_to n) = total f (one_to i).
Proof.
  intros Hi Hf. destruct (one_to_split n i Hi) as [rest [-> Hr]]. rewrite total_app, (total_zero f rest); [ring|]. auto.
Qed.

Section Stretched.
  Variables (e : Z -> Z -> R) (rows S : list Z) (delta : Z -> nat -> R) (places : list nat) (r : R).
  Hypothesis short : forall s, In s S -> total (fun j => square (delta s j)) places <= r.

  Definition gram (s s' : Z) : R := total (fun t => e t s * e t s') rows.

  Lemma inner_short s s' : In s S -> In s' S -> Rabs (total (fun j => delta s j * delta s' j) places) <= r.
  Proof.
    intros Hs Hs'. pose proof (short s Hs) as A. pose proof (short s' Hs') as B.
    apply Rle_trans with (1 := total_abs _ _).
    assert (2 * total (fun j => Rabs (delta s j * delta s' j)) places
      <= total (fun j => square (delta s j)) places + total (fun j => square (delta s' j)) places); [|lra].
    rewrite <- total_scale, <- total_plus. apply total_le. intros j _. rewrite Rabs_mult. unfold square.
    assert (E : forall x, x * x = Rabs x * Rabs x) by (intros x; rewrite <- Rabs_mult, Rabs_right;
      [auto | apply Rle_ge, Rle_0_sqr]).
    rewrite (E (delta s j)), (E (delta s' j)). pose proof (Rle_0_sqr (Rabs (delta s j) - Rabs (delta s' j))) as Q.
    unfold Rsqr in Q. lra.
  Qed.

  Lemma stretched : total (fun t => total (fun j => square (total (fun s => e t s * delta s j) S)) places) rows
    <= r * total (fun s => total (fun s' => Rabs (gram s s')) S) S.
  Proof.
    assert (E : total (fun t => total (fun j => square (total (fun s => e t s * delta s j) S)) places) rows
      = total (fun s => total (fun s' => gram s s' * total (fun j => delta s j * delta s' j) places) S) S).
    { transitivity (total (fun t => total (fun s => total (fun s' => e t s * e t s' * total (fun j => delta s j *
        delta s' j) places) S) S) rows).
      - apply total_ext. intros t _. rewrite (total_ext _ (fun j => total (fun s => total (fun s' => e t s * delta s j
          * (e t s' * delta s' j)) S) S)).
        + rewrite total_swap. apply total_ext. intros s _. rewrite total_swap. apply total_ext. intros s' _.
          rewrite <- total_scale. apply total_ext. intros j _. ring.
        + intros j _. unfold square. apply total_double.
      - rewrite total_swap. apply total_ext. intros s _. rewrite total_swap. apply total_ext. intros s' _.
        unfold gram. rewrite Rmult_comm, <- total_scale. apply total_ext. intros t _. ring. }
    rewrite E, <- total_scale. apply total_le. intros s Hs. rewrite <- total_scale. apply total_le. intros s' Hs'.
    apply Rle_trans with (Rabs (gram s s' * total (fun j => delta s j * delta s' j) places)); [apply Rle_abs|].
    rewrite Rabs_mult, (Rmult_comm r). apply Rmult_le_compat_l; [apply Rabs_pos | apply inner_short; auto].
  Qed.
End Stretched.
