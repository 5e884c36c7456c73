(** Discrete Gaussian noise on a fine grid: near rounded Gaussian noise, which is Gaussian private.

    At every release there is an ideal law ([fine_release]).
      An ideal program needs one for all of them at once: given
    such a family, the rule's conclusion holds ([fine_line]). *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String.
From Coquelicot Require Import Rcomplements.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps Products.
From DP.noise Require Import Infer Releases Laws Triangles Normals Discrete Proofs Gaussian Rounded.
From DP.conversions Require Import Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- distances add *)

Lemma near_bind {A B} a b (P Q : law A) (k l : A -> law B) : near_cost a P Q -> (forall x, near_cost b (k x) (l x)) ->
  near_cost (a + b) (bind P k) (bind Q l).
Proof.
  intros H1 H2 f Hf. simpl.
  assert (Hb : 0 <= b \/ b < 0) by lra.
  assert (G : forall k l : A -> law B, (forall x, k x f <= l x f + b) ->
    P (fun x => k x f) <= P (fun x => l x f) + b).
  { intros k' l' H. destruct Hb as [Hb|Hb].
    - assert (P (fun x => k' x f) <= 1 * P (fun x => l' x f) + b); [|lra]. apply E_le_affine; auto; [lra|].
      intros x. specialize (H x). lra.
    - assert (P (fun x => l' x f) >= 1 * P (fun x => k' x f) + - b); [|lra]. apply Rle_ge.
      assert (P (fun x => 1 - l' x f) <= 1 * P (fun x => 1 - k' x f) + 0 - - b); [|rewrite !E_minus in H0 by auto;
        lra].
      destruct (H1 (fun _ => 1) ltac:(intros x; lra)) as [D _]. exfalso.
      assert (No : forall x : A, False).
      { intros x. destruct (H2 x f Hf). lra. }
      assert (E0 : P (fun _ => 0) = P (fun _ => 1)) by (apply E_ext; intros x; destruct (No x)).
        rewrite !E_const in E0 by lra. lra. }
  destruct (H1 (fun x => l x f) ltac:(auto)) as [U1 U2].
  assert (V1 : P (fun x => k x f) <= P (fun x => l x f) + b) by (apply G; intros x; destruct (H2 x f Hf); lra).
  assert (V2 : P (fun x => l x f) <= P (fun x => k x f) + b) by (apply G; intros x; destruct (H2 x f Hf); lra).
  lra.
Qed.

Lemma near_nothing A (P : law A) : near_cost 0 P P.
Proof. apply near_cost_refl. Qed.

Lemma near_each {T A} (F G : T -> law A) c l : (forall t, In t l -> near_cost (c t) (F t) (G t)) ->
  near_cost (total c l) (each (map F l)) (each (map G l)).
Proof. apply (each_cost (@near_cost)); [intros; apply near_bind; auto | apply near_nothing]. Qed.

Lemma near_post {A B} a (P Q : law A) (k : A -> law B) : near_cost a P Q -> near_cost a (bind P k) (bind Q k).
Proof. apply (post_cost (@near_cost)); [intros; apply near_bind; auto | apply near_nothing]. Qed.

(* ---------------------------------------------------------------- one release *)

Lemma weighed_at_least {T} symmetric n (l : list T) e aw : In aw (weighed symmetric n l e) -> 1 <= snd aw.
Proof.
  unfold weighed, triangle. destruct symmetric; intros Hin.
  - apply in_flat_map in Hin. destruct Hin as [i [_ Hin]]. apply in_map_iff in Hin. destruct Hin as [j [<- _]].
    simpl. destruct (i =? j)%nat; lra.
  - apply in_map_iff in Hin. destruct Hin as [a [<- _]]. simpl. lra.
Qed.

Lemma weighed_length {T} symmetric n (l : list T) e : (symmetric = true -> List.length l = (n * n)%nat) ->
  (List.length (weighed symmetric n l e) <= List.length l)%nat.
Proof.
  unfold weighed. destruct symmetric; intros H; [|rewrite map_length; auto]. rewrite H by auto. clear H.
    unfold triangle.
  assert (G : forall (m : list nat), (List.length (flat_map (fun i => map (fun j => (nth (i * n + j) l e, if
    (i =? j)%nat then 2%R else 1%R)) (seq i (n - i))) m) <= List.length m * n)%nat).
  { induction m as [|i m IH]; [simpl; lia|]. cbn [flat_map List.length].
    rewrite app_length, map_length, seq_length. lia. }
  specialize (G (seq 0 n)). rewrite seq_length in G. exact G.
Qed.

Definition rounded_of (v : R) : law Z := match Rlt_dec 0 v with left H => rounded v H | right _ => point 0%Z end.

Definition tau (v : R) : R := 201643 / 10000000 / v + 1573 / 100000 / (v * sqrt v).

Lemma tau_falls v w : 0 < v <= w -> tau w <= tau v.
Proof.
  intros Hv. assert (0 < sqrt v) by (apply sqrt_lt_R0; lra). assert (sqrt v <= sqrt w) by (apply sqrt_le_1_alt; lra).
  unfold tau, Rdiv. apply Rplus_le_compat; apply Rmult_le_compat_l; try lra; apply Rinv_le_contravar; try lra;
    try nra.
Qed.

Section Release.
  Variables (W : world) (variance grid : Q) (q : string) (symmetric : bool).
  Hypotheses (Hv : 0 < Q2R variance) (Hg : 0 < Q2R grid).
  Let v := Q2R variance / (Q2R grid * Q2R grid).
  Hypothesis Hv1 : 1 <= v.
  Let K := if symmetric then / Q2R variance / 2 else / Q2R variance.

  Definition fine_good (h : history (message W)) (numbers : list (data (record W) -> R)) (i : data (record W) ->
    law (message W)) : Prop :=
    (forall d d', gdp_cost (K * total square (differences W numbers d d')) (i d) (i d')) /\
    (forall d, near_cost (INR (List.length numbers) * tau v) (ideal W h d) (i d)) /\
    (forall d d', (forall n, In n numbers -> n d = n d') -> same (ideal W h d) (ideal W h d') /\ same (i d) (i d')).

  Lemma fine_made h numbers N whole post : on_grid W (Q2R grid) numbers whole ->
    (forall w, 0 < w -> discrete_normal (w * Q2R variance / (Q2R grid * Q2R grid)) (N w)) ->
    (forall d, same (ideal W h d) (bind (each (map (fun zw => image (Z.add (fst zw d)) (N (snd zw)))
      (weighed symmetric (side W q) whole (fun _ => 0%Z)))) post)) ->
    (symmetric = true -> mirrored W (side W q) numbers) ->
    fine_good h numbers (fun d => bind (each (map (fun zw => image (Z.add (fst zw d)) (rounded_of (snd zw * v)))
      (weighed symmetric (side W q) whole (fun _ => 0%Z)))) post).
  Proof.
    intros HG HN HP HM.
    assert (Hpos : forall zw, In zw (weighed symmetric (side W q) whole (fun _ => 0%Z)) -> 1 <= snd zw * v).
    { intros zw Hin. apply weighed_at_least in Hin. nra. }
    assert (HR : forall w (H : 0 < w), rounded_of w = rounded w H \/ exists H', rounded_of w = rounded w H').
    { intros w H. unfold rounded_of. destruct (Rlt_dec 0 w); [right; eauto | contradiction]. }
    assert (Hwhole : forall d d', (forall n, In n numbers -> n d = n d') ->
      forall zw, In zw (weighed symmetric (side W q) whole (fun _ => 0%Z)) -> fst zw d = fst zw d').
    { intros d d' Heq zw Hin.
      assert (Hz : forall z, In z whole -> z d = z d').
      { intros z Hz. destruct HG as [HGl HGv]. destruct (In_nth whole z (fun _ => 0%Z) Hz) as [k [Hk <-]].
        assert (Hin' : In (nth k numbers (fun _ => 0), nth k whole (fun _ => 0%Z)) (combine numbers whole)).
        { rewrite <- combine_nth by auto. apply nth_In. rewrite combine_length, HGl, Nat.min_id. auto. }
        apply eq_IZR. apply Rmult_eq_reg_l with (Q2R grid); [|lra]. rewrite <- !(HGv _ _ Hin'). apply Heq, nth_In.
          rewrite HGl. auto. }
      assert (G : In (fst zw) whole \/ fst zw = (fun _ => 0%Z)).
      { unfold weighed, triangle in Hin. destruct symmetric.
        - apply in_flat_map in Hin. destruct Hin as [a [_ Hin]]. apply in_map_iff in Hin.
          destruct Hin as [j [<- _]]. simpl.
          destruct (nth_in_or_default (a * side W q + j) whole (fun _ => 0%Z)); auto.
        - apply in_map_iff in Hin. destruct Hin as [a [<- Ha]]. auto. }
      destruct G as [G| ->]; auto. }
    split; [|split].
    - intros d d'. apply gdp_post.
      replace (K * total square (differences W numbers d d'))
        with (total (fun zw => (IZR (fst zw d) - IZR (fst zw d')) * (IZR (fst zw d) - IZR (fst zw d')) /
          (snd zw * v)) (weighed symmetric (side W q) whole (fun _ => 0%Z))).
      + apply gdp_each. intros zw Hin. specialize (Hpos zw Hin).
        split; [apply Rdiv_le_0_compat; [apply Rle_0_sqr | lra]|].
        destruct (HR (snd zw * v) ltac:(lra)) as [->|[H' ->]]; apply rounded_gdp.
      + unfold v. rewrite (total_ext _ (fun zw => Q2R grid * Q2R grid / Q2R variance *
          ((fun z : data (record W) -> Z => (IZR (z d) - IZR (z d')) * (IZR (z d) - IZR (z d'))) (fst zw) / snd zw))).
        2: { intros zw Hin. apply weighed_positive in Hin. field. repeat split; lra. }
        rewrite total_scale, (weighed_total symmetric (side W q) whole (fun _ => 0%Z)
          (fun z : data (record W) -> Z => (IZR (z d) - IZR (z d')) * (IZR (z d) - IZR (z d')))).
        * rewrite (on_grid_total W _ _ _ d d' square HG).
          rewrite (total_ext (fun z => square (Q2R grid * (IZR (z d) - IZR (z d'))))
            (fun z => Q2R grid * Q2R grid * ((IZR (z d) - IZR (z d')) * (IZR (z d) - IZR (z d')))))
            by (intros; unfold square; ring).
          rewrite total_scale. unfold K. destruct symmetric; field; lra.
        * intros E. destruct (HM E) as [H1 H2]. destruct HG as [HGl HGv]. split; [rewrite <- HGl; auto|].
          intros a j Ha Hj.
          assert (V : forall k d0, (k < side W q * side W q)%nat ->
            Q2R grid * IZR (nth k whole (fun _ => 0%Z) d0) = nth k numbers (fun _ => 0) d0).
          { intros k d0 Hk. symmetry. apply HGv.
            rewrite <- (combine_nth numbers whole k (fun _ => 0) (fun _ => 0%Z)) by auto. apply nth_In.
            rewrite combine_length, <- HGl, H1. lia. }
          assert (V' : forall d0, IZR (nth (a * side W q + j) whole (fun _ => 0%Z) d0) = IZR (nth
            (j * side W q + a) whole (fun _ => 0%Z) d0)).
          { intros d0. apply Rmult_eq_reg_l with (Q2R grid); [|lra]. rewrite !V by nia. apply H2; auto. }
          rewrite !V'. auto.
    - intros d f Hf. rewrite (HP d f Hf). revert f Hf.
      apply (near_cost_grows _ _ (total (fun zw => off (snd zw * v)) (weighed symmetric (side W q) whole
        (fun _ => 0%Z)))).
      + apply Rle_trans with (total (fun _ => tau v) (weighed symmetric (side W q) whole (fun _ => 0%Z))).
        * apply total_le. intros zw Hin. specialize (Hpos zw Hin). apply weighed_at_least in Hin.
          apply Rle_trans with (tau (snd zw * v)); [apply off_small; lra|]. apply tau_falls. nra.
        * rewrite total_const. apply Rmult_le_compat_r.
          -- unfold tau. assert (0 < sqrt v) by (apply sqrt_lt_R0; lra).
            apply Rplus_le_le_0_compat; apply Rdiv_le_0_compat; try lra. apply Rmult_lt_0_compat; lra.
          -- apply le_INR. destruct HG as [HGl _]. rewrite HGl. apply weighed_length. intros E. rewrite <- HGl.
            apply (HM E).
      + apply near_post, near_each. intros zw Hin. specialize (Hpos zw Hin).
        pose proof (weighed_positive _ _ _ _ _ Hin) as Hw.
        apply near_post. specialize (HN (snd zw) Hw).
        replace (snd zw * Q2R variance / (Q2R grid * Q2R grid)) with (snd zw * v) in HN by (unfold v; field; lra).
        destruct (HR (snd zw * v) ltac:(lra)) as [->|[H' ->]]; apply rounded_near; auto.
    - intros d d' Heq. split.
      + eapply same_trans; [apply HP|]. eapply same_trans; [|apply same_sym, HP].
        replace (map (fun zw => image (Z.add (fst zw d)) (N (snd zw))) (weighed symmetric (side W q) whole
          (fun _ => 0%Z)))
          with (map (fun zw => image (Z.add (fst zw d')) (N (snd zw))) (weighed symmetric (side W q) whole
            (fun _ => 0%Z))); [apply same_refl|].
        apply map_ext_in. intros zw Hin. rewrite (Hwhole d d' Heq zw Hin). auto.
      + replace (map (fun zw => image (Z.add (fst zw d)) (rounded_of (snd zw * v))) (weighed symmetric
        (side W q) whole (fun _ => 0%Z)))
          with (map (fun zw => image (Z.add (fst zw d')) (rounded_of (snd zw * v))) (weighed symmetric
            (side W q) whole (fun _ => 0%Z))); [apply same_refl|].
        apply map_ext_in. intros zw Hin. rewrite (Hwhole d d' Heq zw Hin). auto.
  Qed.

  Lemma fine_release coordinates o i h numbers : drawn_by W
    (FineNormal variance grid coordinates symmetric) q o i h numbers ->
    (symmetric = true -> mirrored W (side W q) numbers) -> exists law, fine_good h numbers law.
  Proof.
    intros [N [whole [HG [HN [post HP]]]]] HM. eexists. apply (fine_made h numbers N whole post); auto.
  Qed.
End Release.
