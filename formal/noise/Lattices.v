(** Discrete Gaussian noise on integers that are moved by one of known shifts. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String Permutation.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Bounds Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.noise Require Import Infer Releases.
From DP.composition Require Import Mixture.
From DP.conversions Require Import Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Definition moved_list (base l : list Z) : list Z := map (fun p => (fst p + snd p)%Z) (combine base l).

Lemma shifted_each {D} (N : law Z) (d d' : D) (whole : list (D -> Z)) : forall f : list Z -> R,
  each (map (fun z => image (Z.add (z d)) N) whole) f
  = each (map (fun z => image (Z.add z) N) (map (fun z => (z d - z d')%Z) whole)) (fun l => f (moved_list (map (fun z => z d') whole) l)).
Proof.
  induction whole as [|z whole IH]; intros f; auto. cbn [map each]. simpl. apply E_ext. intros x.
  rewrite IH. apply E_ext. intros l. unfold moved_list. cbn [combine map fst snd]. do 2 f_equal. lia.
Qed.

Lemma unmoved_each {D} (N : law Z) (d d' : D) (whole : list (D -> Z)) : forall f : list Z -> R,
  each (map (fun z => image (Z.add (z d')) N) whole) f
  = each (map (fun _ => N) (map (fun z => (z d - z d')%Z) whole)) (fun l => f (moved_list (map (fun z => z d') whole) l)).
Proof.
  induction whole as [|z whole IH]; intros f; auto. cbn [map each]. simpl. apply E_ext. intros x.
  rewrite IH. apply E_ext. intros l. reflexivity.
Qed.

Lemma whole_floor z : Int_part (IZR z) = z.
Proof. unfold Int_part. rewrite <- (tech_up (IZR z) (z + 1)); rewrite ?plus_IZR; try lra. lia. Qed.

Theorem lattice_gaussian_sound : sound_rule "lattice_gaussian".
Proof.
  intros st HR. destruct st; try discriminate HR. clear HR. intros W found n HW HH HM HF HT.
  assert (exists l, found = [l]) as [l ->].
  { unfold follow in HF. destruct (infer (ByLatticeGaussian variance key) (map says found)) eqn:Ei; [|discriminate].
    destruct found as [|a [|b rest]]; [discriminate | eauto | exfalso; cbn [map infer noise] in Ei; destruct (says a); discriminate]. }
  pose proof (Forall_inv HH) as Hl. pose proof (Forall_inv HM) as Ml.
  destruct (noise_line (ByLatticeGaussian variance key) l n key (LatticeNormal variance) eq_refl HF) as [q [c [rel [o [reads [Hi ->]]]]]].
  cbn [infer noise] in Hi. destruct (says l) as [| | | | |q0 shifts rel0| | | | | | | | |] eqn:Hs; try discriminate.
  destruct (Steps.below 0 variance) eqn:Hv; [|discriminate]. unfold drawn_on in Hi. injection Hi as <- <- <- <- <-.
  apply q_positive in Hv. destruct Ml as [_ [_ Ml]]. rewrite Hs in Ml. destruct Ml as [Hch _]. rewrite Hch in *.
  unfold holds in Hl. rewrite Hs in Hl.
  split; [|apply drawn_once_well_made; auto; simpl; split; [auto | lia]].
  destruct (HT key (Place q0 [] (LatticeNormal variance) Once) (or_introl eq_refl)) as [Hsteady Hdrawn].
  cbn [query made how] in *. specialize (Hl (Hsteady eq_refl)).
  unfold holds; cbn [says drawn departed of_persons views]. unfold private_holds. split; [|split; [intros s []|]].
  { intros h lab p Hlab Hk Hp. apply lookup_one in Hk. destruct Hk as [_ ->]. simpl in Hp.
    replace q0 with (query (at_place lab)); [apply names_query; auto | rewrite Hp; auto]. }
  intros ov HE. split; [|discriminate]. intros d d' Hd. destruct (Hl ov d d' Hd) as [Hmoves Hsame]. clear Hl.
  set (ds := spread_over ov [(key, Place q0 [] (LatticeNormal variance) Once)]) in *.
  assert (Hplace : forall h lab, next W h = Some lab -> Definitions.key lab = key -> at_place lab = Place q0 [] (LatticeNormal variance) ov).
  { intros h lab Hlab Hk. symmetry. apply (HE h lab); auto. simpl. rewrite Hk, String.eqb_refl. auto. }
  assert (Hof : forall h, of_draws W ds h = true -> exists lab, next W h = Some lab /\ Definitions.key lab = key).
  { intros h Hh. apply of_draws_spec in Hh. destruct Hh as [lab [Hlab Hk]]. apply lookup_one in Hk. exists lab. tauto. }
  set (numbers := fun lab h => numbers_of W (Definitions.key lab) (at_place lab) q0 [] ov (index lab) h).
  set (vec := fun lab h => map Int_part (differences W (numbers lab h) d d')).
  assert (Hvec : forall lab h v, differences W (numbers lab h) d d' = map IZR v -> vec lab h = v).
  { intros lab h v E. unfold vec. rewrite E, map_map. rewrite <- (map_id v) at 2. apply map_ext. apply whole_floor. }
  set (S := fun h => match next W h with
    | Some lab => if truth (shape (vec lab h) []) then None else find (fun s => truth (shape (vec lab h) s)) shifts
    | None => None end).
  assert (Hdraw : forall d h, draw W [] d h = ideal W h d) by (intros e h; unfold draw; destruct (next W h); auto).
  exists S. split; [|split].
  - intros h Hh. destruct (Hof h Hh) as [lab [Hlab Hk]]. unfold S. rewrite Hlab, !Hdraw.
    destruct (Hmoves (Definitions.key lab) (at_place lab) (index lab) h) as [v [Ev Hor]]. change (numbers_of W (Definitions.key lab) (at_place lab) q0 [] ov (index lab) h) with (numbers lab h) in Ev.
    rewrite (Hvec lab h v Ev).
    pose proof (Hdrawn ov Hplace h lab Hlab Hk) as [N [whole [[Lg Hg] [HN [post HP]]]]].
    assert (En : numbers_at W lab h = numbers lab h) by (unfold numbers_at, numbers; rewrite (Hplace h lab Hlab Hk); auto).
    rewrite En in Lg, Hg.
    assert (Ewhole : v = map (fun z => (z d - z d')%Z) whole).
    { rewrite <- (Hvec lab h v Ev). unfold vec, differences. rewrite map_map. revert whole Lg Hg HP. clear. intros whole Lg Hg _.
      revert whole Lg Hg. induction (numbers lab h) as [|c0 cs IH]; intros [|z whole] Lg Hg; try discriminate; auto. cbn [map]. f_equal.
      - rewrite !(Hg c0 z (or_introl eq_refl)), !Rmult_1_l, <- minus_IZR. apply whole_floor.
      - apply IH; [simpl in Lg; lia|]. intros c' z' Hin. apply Hg. right; auto. }
    destruct (truth (shape v [])) eqn:E0.
    + rewrite truth_spec in E0.
      assert (Hz : forall z, In z whole -> z d = z d').
      { intros z Hz. assert (Hinv : In (z d - z d')%Z v) by (rewrite Ewhole; apply in_map with (f := fun z => (z d - z d')%Z); auto).
        destruct (Z.eq_dec (z d) (z d')) as [E|N0]; auto. exfalso. unfold shape in E0. simpl in E0.
        assert (In (Z.abs (z d - z d')) (filter (fun z => negb (z =? 0)%Z) (map Z.abs v))).
        { apply filter_In. split; [apply in_map; auto|]. apply negb_true_iff, Z.eqb_neq. lia. }
        apply (Permutation_in _ E0) in H. destruct H. }
      eapply same_trans; [apply HP|]. eapply same_trans; [|apply same_sym, HP].
      replace (map (fun z => image (Z.add (z d')) N) whole) with (map (fun z => image (Z.add (z d)) N) whole); [apply same_refl|].
      apply map_ext_in. intros z Hz'. rewrite (Hz z Hz'). auto.
    + destruct (find (fun s => truth (shape v s)) shifts) as [s'|] eqn:Ef.
      * apply find_some in Ef. destruct Ef as [Hin' Ht]. rewrite truth_spec in Ht. split; auto.
        exists v, N, (fun l => post (moved_list (map (fun z => z d') whole) l)). split; [auto|split; [auto|split]].
        -- intros f Hf. rewrite (HP d f Hf). simpl. rewrite (shifted_each N d d' whole), Ewhole. auto.
        -- intros f Hf. rewrite (HP d' f Hf). simpl. rewrite (unmoved_each N d d' whole), Ewhole. auto.
      * exfalso. destruct Hor as [G|[s [Hin Hsh]]]; [apply (proj2 (truth_spec _)) in G; congruence|].
        assert (T := find_none _ _ Ef s Hin). cbv beta in T. apply (proj2 (truth_spec (shape v s))) in Hsh. congruence.
  - intros h h' s s' Hh Hh' He E1 E2. assert (Hcase : ov = Once \/ ov <> Once) by (destruct ov; [left; auto | right; discriminate | right; discriminate]). destruct Hcase as [Hov|Hov].
    + subst ov. destruct He as [[|m b] E]; [simpl in E; subst h'; congruence|]. exfalso.
      assert (He : exists m', earlier (m' :: h') h).
      { destruct (@exists_last _ (m :: b)) as [y [m' Ey]]; [discriminate|]. exists m', y. rewrite E, Ey, <- app_assoc. auto. }
      destruct He as [m' He]. destruct (Hof h Hh) as [lab [Hlab Hk]]. destruct (Hof h' Hh') as [lab' [Hlab' Hk']].
      apply (made_once W HW h lab Hlab h' m' He). rewrite Hlab'. f_equal.
      assert (P1 := Hplace h lab Hlab Hk). assert (P2 := Hplace h' lab' Hlab' Hk').
      destruct HW as [_ [_ [_ [_ [HI _]]]]].
      assert (I1 : index lab = 0%Z) by (apply (HI h lab Hlab); rewrite P1; auto).
      assert (I2 : index lab' = 0%Z) by (apply (HI h' lab' Hlab'); rewrite P2; auto).
      destruct lab, lab'; simpl in *; congruence.
    + unfold S in E1, E2. destruct (Hof h Hh) as [lab [Hlab Hk]]. destruct (Hof h' Hh') as [lab' [Hlab' Hk']]. rewrite Hlab in E1. rewrite Hlab' in E2.
      destruct (truth (shape (vec lab h) [])) eqn:T1; [discriminate|]. destruct (truth (shape (vec lab' h') [])) eqn:T2; [discriminate|].
      destruct (Hmoves (Definitions.key lab) (at_place lab) (index lab) h) as [v [Ev _]].
      destruct (Hmoves (Definitions.key lab') (at_place lab') (index lab') h') as [v' [Ev' _]].
      assert (EP : at_place lab' = at_place lab) by (rewrite (Hplace h lab Hlab Hk), (Hplace h' lab' Hlab' Hk'); auto).
      assert (EK : Definitions.key lab' = Definitions.key lab) by congruence.
      assert (Ev2 := Ev'). rewrite EP, EK in Ev2.
      pose proof (Hsame Hov _ _ _ _ h h' v v' He Ev Ev2) as G.
      assert (V1 := Hvec lab h v Ev). assert (V2 := Hvec lab' h' v' Ev'). rewrite V1 in *. rewrite V2 in *.
      destruct G as [G|[G|G]].
      * apply (proj2 (truth_spec _)) in G. congruence.
      * apply (proj2 (truth_spec _)) in G. congruence.
      * subst v'. congruence.
  - intros g [i ->] h. apply Rle_trans with (spent (fun h => if instance W ds i h then 1 else 0) h).
    + apply spent_le. intros h0. destruct (S h0); destruct (instance W ds i h0); lra.
    + apply spent_once; [lra|]. intros h1 h2 m He E. apply (instance_once W HW key (Place q0 [] (LatticeNormal variance) Once) ov i h1 h2 m He E).
Qed.
