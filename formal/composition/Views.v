(** What is shown is made of releases that are paid for. *)
Require Import Reals QArith Qreals ZArith Lra Lia List Bool String Sorting.Permutation.
From DP.base Require Import Laws Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Numbers Lines Sound.
From DP.noise Require Import Infer.
From DP.composition Require Import Infer.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Lemma texts_eqb_eq l m : texts_eqb l m = true -> l = m.
Proof. apply list_eqb_eq. intros a b. apply String.eqb_eq. Qed.

Lemma keys_of_in l k : In k (keys_of l) <-> In k (map fst (drawn l)).
Proof.
  unfold keys_of. pose proof (TextSort.Permuted_sort (map fst (drawn l))) as P. split; intros HI.
  - apply Permutation_in with (2 := HI). apply Permutation_sym; auto.
  - apply Permutation_in with (2 := HI). auto.
Qed.

Lemma bare_alike part view ds : bare view -> all_draws [] [part; view] = Some ds -> alike_draws (drawn part) ds.
Proof.
  intros [Hd _] HA. simpl in HA. destruct (merged [] (drawn part)) as [a|] eqn:E; [|discriminate].
  rewrite Hd in HA. simpl in HA. injection HA as <-. apply merged_alike; auto.
Qed.

Lemma bare_gone part view : bare view -> same_keys (departed part) (fold_left union (map departed [part; view]) []).
Proof. intros [_ [Hd _]] k. simpl. rewrite Hd, !union_in. simpl. tauto. Qed.

(** Another subject, seen by somebody else, with a view of its own. *)
Lemma private_viewed W s q law rel o o' reads ds gone persons views :
  (forall l, In (key l) (map fst ds) -> names W q l = true) ->
  incl (sources W q) (map fst ds) -> seen_by W o' (of_draws W ds) q -> (o' = Local -> o = Local) ->
  private_holds W s law rel o reads ds gone persons views -> private_holds W q law rel o' reads ds gone persons [q].
Proof.
  intros HQ HS HB HO [HN [HV HP]]. unfold private_holds. split; [|split].
  - intros h l p Hl Hk Hp. apply HQ. apply lookup_in in Hk. apply in_map with (f := fst) in Hk. auto.
  - intros s' [<-|[]]. auto.
  - destruct reads as [[f l]|].
    + intros HE. destruct (HP HE) as [G [L R]]. auto.
    + intros over HE. destruct (HP over HE) as [G L]. auto.
Qed.

Lemma view_sound W part view ds s law rel o reads q a releases o' :
  says part = Private s law rel o reads -> says view = View q a releases -> releases = keys_of part ->
  holds W part -> holds W view -> well_made part -> well_made view -> all_draws [] [part; view] = Some ds ->
  (o' = Local -> o = Local) -> (o' = Central -> a = Everyone) ->
  let n := Line (Private q law rel o' reads) ds [] Once (fold_left union (map departed [part; view]) [])
             (existsb of_persons [part; view]) [q] in
  holds W n /\ well_made n.
Proof.
  intros Hpart Hview Hkeys HP HV MP MV Hds HO HA n.
  assert (Hbare : bare view) by (apply MV; rewrite Hview; reflexivity).
  pose proof (bare_alike part view ds Hbare Hds) as Ea. pose proof (bare_gone part view Hbare) as Eg.
  assert (Ep : existsb of_persons [part; view] = of_persons part).
  { simpl. destruct Hbare as [_ [_ [_ ->]]]. rewrite !orb_false_r. auto. }
  unfold holds in HP, HV. rewrite Hpart in HP. rewrite Hview in HV. destruct HV as [V1 [V2 V3]].
  destruct MP as [_ [M1 M2]]. rewrite Hpart in M2. destruct M2 as [M2 M3].
  split.
  - unfold n, holds; cbn [says drawn departed of_persons views]. rewrite Ep.
    apply private_alike with (a := drawn part) (gone := departed part); auto.
    apply private_viewed with (s := s) (o := o) (views := views part); auto.
    + intros l Hl. apply V2. rewrite Hkeys. apply keys_of_in; auto.
    + intros k Hk. apply keys_of_in. rewrite <- Hkeys. auto.
    + assert (B : blind W q -> own_data W q).
      { intros [B1 B2]. split; intros; auto. }
      destruct o', a; simpl; auto; discriminate HA; auto.
  - unfold n, well_made; cbn [says drawn departed is_private]. split; [discriminate|]. split; [|split; auto].
    + intros k Hk. apply (alike_keys _ _ Ea), M1, Eg. auto.
    + intros HR k p Hk. apply (M3 HR k). rewrite Ea. auto.
Qed.

Lemma follow_view st found n : (st = ByPostProcess \/ st = ByBillboard \/ st = ByLocalView) -> follow st found = Some n ->
  exists part view ds s law rel o reads q a releases o', found = [part; view] /\
    says part = Private s law rel o reads /\ says view = View q a releases /\ releases = keys_of part /\
    all_draws [] [part; view] = Some ds /\ (o' = Local -> o = Local) /\ (o' = Central -> a = Everyone) /\
    n = Line (Private q law rel o' reads) ds [] Once (fold_left union (map departed [part; view]) [])
          (existsb of_persons [part; view]) [q].
Proof.
  intros Hst HF. unfold follow in HF.
  destruct (infer st (map says found)) as [gives|] eqn:Ei; [|discriminate].
  destruct (noise_is_named st found) eqn:En; [|discriminate]. destruct (one_table st found); [|discriminate]. cbn [andb] in HF.
  assert (Hn : forall f, law_of st f = None) by (intros f; destruct Hst as [->|[->| ->]]; reflexivity). rewrite Hn in HF.
  destruct (all_draws [] found) as [ds|] eqn:Ed; [|destruct st; discriminate].
  assert (Hs : composition st (map says found) = Some gives /\ found <> [] /\ Some n = match gives with
        | Private q _ _ _ _ => Some (Line gives ds [] Once (fold_left union (map departed found) []) (existsb of_persons found) [q])
        | _ => None end).
  { destruct Hst as [->|[->| ->]]; (split; [exact Ei|split; [intros ->; discriminate Ei|]]); destruct found; try discriminate Ei; auto. }
  clear HF. destruct Hs as [Hs [Hne Hg]].
  destruct found as [|part [|view [|]]]; try congruence.
  1: destruct Hst as [->|[->| ->]]; discriminate Hs.
  2: destruct Hst as [->|[->| ->]]; discriminate Hs.
  cbn [map] in Hs.
  assert (Hv : exists shown needed seen, viewed (says part) (says view) shown needed seen = Some gives /\
    (seen = Local -> needed = Local) /\ (seen = Central -> forall a, shown a = true -> a = Everyone)).
  { destruct Hst as [->|[->| ->]]; cbn [composition] in Hs.
    - exists is_everyone, Central, Central. repeat split; auto. intros _ []; auto; discriminate.
    - exists (fun a => negb (is_everyone a)), Central, Joint. repeat split; auto; discriminate.
    - exists (fun _ => true), Local, Local. repeat split; auto; discriminate. }
  destruct Hv as [shown [needed [seen [Hv [HL HC]]]]]. unfold viewed in Hv.
  destruct (says part) as [s law rel o reads| | | | | | | | | | | | | |] eqn:Ep; try discriminate.
  destruct (says view) as [|q a releases| | | | | | | | | | | | |] eqn:Ev; try discriminate.
  destruct (observer_eqb o needed) eqn:Eo; [|discriminate]. destruct (shown a) eqn:Ea; [|discriminate]. cbn [andb] in Hv.
  injection Hv as <-. injection Hg as ->.
  exists part, view, ds, s, law, rel, o, reads, q, a, releases, seen. repeat split; auto.
  - apply texts_eqb_eq. destruct Hst as [->|[->| ->]]; cbn [noise_is_named] in En; rewrite Ev in En; auto.
  - intros E. specialize (HL E). subst needed. destruct o; auto; discriminate.
Qed.

Lemma views_are_sound st : (st = ByPostProcess \/ st = ByBillboard \/ st = ByLocalView) -> sound st.
Proof.
  intros Hst W found n HW HH HM HF _.
  destruct (follow_view st found n Hst HF) as [part [view [ds [s [law [rel [o [reads [q [a [releases [o' [-> [Hp [Hv [Hk [Hd [H1 [H2 ->]]]]]]]]]]]]]]]]]]].
  inversion HH as [|? ? HP HH1]. inversion HH1. inversion HM as [|? ? MP MM1]. inversion MM1. subst.
  eapply view_sound; eauto.
Qed.

Theorem post_process_sound : sound_rule "post_process".
Proof. intros s HR. destruct s; try discriminate HR. apply views_are_sound; auto. Qed.
Theorem billboard_sound : sound_rule "billboard".
Proof. intros s HR. destruct s; try discriminate HR. apply views_are_sound; auto. Qed.
Theorem local_view_sound : sound_rule "local_view".
Proof. intros s HR. destruct s; try discriminate HR. apply views_are_sound; auto. Qed.
