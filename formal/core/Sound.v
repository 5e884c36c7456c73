(** What it means that a rule is sound, and that sound rules make a sound derivation. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String FunctionalExtensionality.
From DP.base Require Import Laws Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Bounds Powers Chance Costs Numbers Satisfies Lines.
From DP.hypotheses Require Import Infer.
From DP.composition Require Import Infer.
From DP.noise Require Import Infer.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

(** The name of the rule that a step applies. *)
Definition rule_of (s : step) : string :=
  match s with
  | AssumeView _ _ _ => "assume_view" | AssumeBall _ _ _ _ => "assume_ball" | AssumeRankOne _ _ _ _ _ => "assume_rank_one"
  | AssumePoints _ _ _ _ => "assume_points" | AssumeClipped _ _ _ _ _ => "assume_clipped" | AssumeCell _ _ _ => "assume_cell"
  | AssumeLipschitz _ _ _ _ => "assume_lipschitz" | AssumeCovers _ _ => "assume_covers" | AssumeTree _ _ _ => "assume_tree"
  | AssumeRounds _ _ _ _ _ => "assume_rounds" | AssumeNumbers _ _ => "assume_numbers" | AssumeRange _ _ _ => "assume_range"
  | AssumeEach _ _ _ => "assume_each" | AssumeL1 _ _ _ => "assume_l1" | AssumeChoice _ _ => "assume_choice" | AssumeSplit _ _ => "assume_split"
  | AssumePersons _ _ _ _ => "assume_persons" | AssumeRare _ _ _ => "assume_rare" | AssumeFilter _ _ _ => "assume_filter"
  | AssumeNeighbours _ _ _ _ _ _ => "assume_neighbours" | AssumeEvent _ _ _ _ _ => "assume_event"
  | ByLinear _ => "linear" | ByDifferences => "differences" | ByMoved _ => "moved" | ByCentred => "centred"
  | ByFactorised _ _ => "factorised" | ByJoint _ => "joint" | ByStreamL1 => "stream_l1" | ByBuffered _ _ _ _ _ => "buffered"
  | ByFineGaussian _ _ _ _ _ => "fine_gaussian" | ByLatticeGaussian _ _ => "lattice_gaussian"
  | ByDiscreteGaussian _ _ _ => "discrete_gaussian" | ByGaussianNoise _ _ => "gaussian" | ByLaplaceNoise _ _ _ => "laplace"
  | ByExponential _ _ => "exponential" | ByPermuteAndFlip _ _ => "permute_and_flip" | ByKNorm _ _ _ _ => "k_norm"
  | BySparseVector _ _ _ _ _ => "sparse_vector" | ByFinite _ _ _ => "finite" | ByShuffled _ _ _ _ _ => "shuffled" | ByStableHistogram _ _ _ _ => "stable_histogram"
  | ByPostProcess => "post_process" | ByBillboard => "billboard" | ByLocalView => "local_view" | ByNodes => "nodes"
  | ByLocal => "local" | ByCompose => "compose" | ByParallel => "parallel" | ByMixture => "mixture" | ByPartition => "partition"
  | ByToApproximate _ _ _ => "to_approximate" | ByToZcdp => "to_zcdp" | ByToPure => "to_pure" | ByToGdp _ => "to_gdp"
  | ByToNearGdp => "to_near_gdp"
  | ByToRenyi _ => "to_renyi" | ByDespite _ => "despite" | ByGroup _ _ => "group" | ByWithin _ => "within"
  | ByPersons => "persons" | ByReplaceOne => "replace_one"
  | ByApart _ _ => "apart" | ByRefute _ _ => "refute"
  end%string.

(* ---------------------------------------------------------------- what every line keeps to *)

Definition curve_sane (law : curve) : Prop :=
  match law with
  | Pure a | Zcdp a | Gdp a | BoundedRange a => 0 <= Q2R a
  | Approximate a b | NearGdp a b => 0 <= Q2R a /\ 0 <= Q2R b
  | Lattice v _ k => 0 < Q2R v /\ (0 <= k)%Z
  | Renyi points => forall o b, In (o, b) points -> 1 < Q2R o /\ 0 <= Q2R b
  end.

Definition is_private (f : fact) : bool := match f with Private _ _ _ _ _ => true | _ => false end.

(** Nothing is drawn for it. *)
Definition bare (l : line) : Prop := drawn l = [] /\ departed l = [] /\ views l = [] /\ of_persons l = false.

(** A line that may read any units is drawn once, of no stream; what departs is among its draws.  Of other facts than
    privacy nothing is drawn. *)
Definition well_made (l : line) : Prop :=
  (is_private (says l) = false -> bare l) /\ incl (departed l) (map fst (drawn l)) /\
  match says l with
  | Private _ law _ _ reads => curve_sane law /\
      (reads = None -> forall k p, lookup k (drawn l) = Some p -> Facts.over p = Once /\ is_stream (made p) = false)
  | Stable _ _ bound rel _ => 0 <= Q2R bound /\ of_groups rel = false
  | Contribution _ set low high points rel _ =>
      changes l = [] /\ simple_relation rel = true /\ Q2R low <= Q2R high /\ (set <> Interval -> Q2R low = 0) /\
      forall p, In p points -> List.length p = List.length (hd [] points)
  | Shifts _ _ rel => changes l = [] /\ simple_relation rel = true
  | Rounds _ n k b _ => (1 <= n)%Z /\ (1 <= k)%Z /\ (1 <= b)%Z
  | Numbers _ most => (1 <= most)%Z
  | Split _ cells => NoDup cells
  | _ => True
  end.

Definition sound (s : step) : Prop := forall W found n, lawful W ->
  Forall (holds W) found -> Forall well_made found -> follow s found = Some n -> takes_for_granted W s found n ->
  holds W n /\ well_made n.

(** Every step of this rule gives only what holds, whatever the program. *)
Definition sound_rule (name : string) : Prop := forall s, rule_of s = name -> sound s.

(* ---------------------------------------------------------------- whole derivations *)

(** Everything that the steps of a derivation take for granted. *)
Fixpoint granted (W : world) (steps : list (step * list Z)) (size : Z) (lines : list line) : Prop :=
  match steps with
  | [] => True
  | (s, before) :: rest => forall found n, all_some (nth_line lines size) before = Some found -> follow s found = Some n ->
      takes_for_granted W s found n /\ granted W rest (size + 1)%Z (n :: lines)
  end.

Lemma nth_line_in lines : forall size n l, nth_line lines size n = Some l -> In l lines.
Proof.
  induction lines as [|a lines IH]; intros size n l; simpl; [discriminate|].
  destruct (n =? size - 1)%Z; [intros E; injection E; auto | eauto].
Qed.

Lemma all_some_forall {A B} (f : A -> option B) (P : B -> Prop) : (forall a b, f a = Some b -> P b) ->
  forall l found, all_some f l = Some found -> Forall P found.
Proof.
  intros Hf. induction l as [|a l IH]; intros found; simpl.
  - intros E. injection E as <-. constructor.
  - destruct (f a) eqn:Ea; [|discriminate]. destruct (all_some f l) eqn:El; [|discriminate].
    intros E. injection E as <-. constructor; eauto.
Qed.

(** If every rule of a derivation is sound, and what it takes for granted is true, then all its lines hold. *)
Theorem derivation_sound W : lawful W -> forall steps size lines, (forall s before, In (s, before) steps -> sound s) ->
  Forall (holds W) lines -> Forall well_made lines -> granted W steps size lines ->
  forall all, derived steps size lines = Some all -> Forall (holds W) all.
Proof.
  intros HW. induction steps as [|[s before] steps IH]; intros size lines HS HL HM HG all; simpl.
  - intros E. injection E as <-. auto.
  - destruct (all_some (nth_line lines size) before) as [found|] eqn:Ef; [|discriminate].
    destruct (follow s found) as [n|] eqn:En; [|discriminate]. simpl in HG. destruct (HG found n Ef En) as [Ht Hg].
    assert (Hfound : Forall (holds W) found /\ Forall well_made found).
    { split; (eapply all_some_forall; [|exact Ef]); intros k l Hl; apply nth_line_in in Hl; rewrite Forall_forall in *; auto. }
    destruct (HS s before (or_introl eq_refl) W found n HW (proj1 Hfound) (proj2 Hfound) En Ht) as [Hn Hm].
    apply IH; auto. intros s' b Hin. apply (HS s' b). right; auto.
Qed.

(* ---------------------------------------------------------------- hypotheses and noise *)

Lemma all_draws_nil : all_draws [] [] = Some []. Proof. reflexivity. Qed.

(* ---------------------------------------------------------------- draws that are looked up alike *)

Section World.
  Variable W : world.
  Local Notation H := (history (message W)).
  Local Notation D := (data (record W)).

  Definition alike_draws (a b : draws) := forall k, lookup k a = lookup k b.

  Lemma alike_keys a b : alike_draws a b -> incl (map fst a) (map fst b).
  Proof.
    intros E k Hk. apply in_lookup in Hk. destruct Hk as [p Hp]. rewrite E in Hp. apply lookup_in in Hp.
    apply in_map with (f := fst) in Hp. auto.
  Qed.

  Lemma alike_spread o a b : alike_draws a b -> alike_draws (spread_over o a) (spread_over o b).
  Proof. intros E k. rewrite !lookup_spread, E. auto. Qed.

  Lemma alike_of a b : alike_draws a b -> of_draws W a = of_draws W b.
  Proof. intros E. apply functional_extensionality. intros h. unfold of_draws. destruct (next W h); auto. rewrite E. auto. Qed.

  Lemma alike_instance a b i : alike_draws a b -> instance W a i = instance W b i.
  Proof. intros E. apply functional_extensionality. intros h. unfold instance. rewrite (alike_of a b E). auto. Qed.

  Lemma alike_exclusive a b : alike_draws a b -> exclusive W a -> exclusive W b.
  Proof. intros E HE h l p Hl Hk. apply (HE h l p Hl). rewrite E. auto. Qed.

  Lemma merged_alike a c : merged [] a = Some c -> alike_draws a c.
  Proof.
    intros Hm k. destruct (merged_lookup _ _ _ Hm) as [_ [H1 [H2 _]]].
    destruct (lookup k a) eqn:E; [symmetry; auto|]. destruct (lookup k c) eqn:E'; auto.
    destruct (H2 _ _ E') as [F|F]; simpl in F; congruence.
  Qed.

  Definition same_keys (a b : list string) := forall k, In k a <-> In k b.

  Lemma draw_alike gone gone' : same_keys gone gone' -> draw W gone = draw W gone'.
  Proof. intros E. apply functional_extensionality. intros d. apply functional_extensionality. intros h. apply draw_same. intros; apply E. Qed.

  Lemma draw_of_alike gone gone' : same_keys gone gone' -> draw_of W gone = draw_of W gone'.
  Proof. intros E. apply functional_extensionality. intros d. apply functional_extensionality. intros h. apply draw_of_same. intros; apply E. Qed.

  (** The same draws under other lists of them. *)
  Lemma private_alike subject law rel o reads a b gone gone' persons views :
    alike_draws a b -> same_keys gone gone' ->
    private_holds W subject law rel o reads a gone persons views -> private_holds W subject law rel o reads b gone' persons views.
  Proof.
    intros E Eg [HN [HV HP]]. unfold private_holds in *. rewrite <- (draw_alike _ _ Eg), <- (draw_of_alike _ _ Eg).
    rewrite <- (alike_of a b E). split; [|split].
    - intros h l p Hl Hk Hp. apply (HN h l p); auto. rewrite E; auto.
    - intros s Hs. destruct (HV s Hs) as [Hi Ho]. split; auto. intros k Hk. apply (alike_keys a b E). auto.
    - destruct reads as [[f l]|].
      + intros HE. apply HP. apply (alike_exclusive b a); auto. intros k; symmetry; apply E.
      + intros over HE. pose proof (alike_spread over a b E) as Es. rewrite <- (alike_of _ _ Es).
        destruct (HP over) as [G L]. { apply (alike_exclusive (spread_over over b)); auto. intros k; symmetry; apply Es. }
        replace (fun g => exists i, g = instance W (spread_over over b) i) with (fun g => exists i, g = instance W (spread_over over a) i); auto.
        apply functional_extensionality. intros g. f_equal. apply functional_extensionality. intros i. rewrite (alike_instance _ _ i Es). auto.
  Qed.
End World.

(* ---------------------------------------------------------------- lines by single steps *)

(** A step that only restates its premise. *)
Lemma restated s l n : law_of s (says l) = None ->
  match s with
  | AssumeFilter _ _ _ | ByNodes | ByLocal | ByPostProcess | ByBillboard | ByLocalView | ByDespite _ | ByPersons => False
  | _ => True
  end ->
  follow s [l] = Some n -> exists ds gone, infer s [says l] = Some (says n) /\ alike_draws (drawn l) (drawn n) /\
    same_keys (departed l) (departed n) /\ of_persons n = of_persons l /\ views n = views l /\
    drawn n = ds /\ departed n = gone /\ changes n = changed s [l].
Proof.
  intros HL HS Hf. unfold follow in Hf. cbn [map] in Hf.
  destruct (infer s [says l]) as [gives|] eqn:Ei; [|discriminate].
  destruct (noise_is_named s [l] && one_table s [l])%bool; [|discriminate].
  rewrite HL in Hf. cbn [all_draws] in Hf. destruct (merged [] (drawn l)) as [ds|] eqn:Em; [|destruct s; discriminate].
  assert (G : same_keys (departed l) (fold_left union (map departed [l]) [])).
  { intros k. simpl. rewrite union_in. simpl. tauto. }
  assert (V : flat_map views [l] = views l) by (simpl; apply app_nil_r).
  assert (P : existsb of_persons [l] = of_persons l) by (simpl; apply orb_false_r).
  apply merged_alike in Em. rewrite V, P in Hf.
  exists ds, (fold_left union (map departed [l]) []).
  destruct s; try contradiction; injection Hf as <-; cbn [says drawn departed of_persons views changes]; auto 10.
Qed.

Lemma one_line found (part : fact) : map says found = [part] -> exists l, found = [l] /\ says l = part.
Proof. destruct found as [|l [|]]; simpl; try discriminate. intros E. injection E as E. eauto. Qed.
