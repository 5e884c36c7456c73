(** Persons with several rows: what is proved of groups of rows. *)
Require Import Reals QArith Qreals ZArith Lra Lia List Bool String.
From DP.base Require Import Laws Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.noise Require Import Infer.
From DP.conversions Require Import Infer Relations.
From DP.composition Require Import Views.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Theorem persons_sound : sound_rule "persons".
Proof.
  intros s HR. destruct s; try discriminate HR. clear HR. intros W found n HW HH HM HF _.
  unfold follow in HF. cbn [infer conversion] in HF.
  destruct found as [|l [|b [|]]]; try discriminate HF.
  cbn [map] in HF. destruct (persons (says l) (says b)) as [gives|] eqn:Ep; [|discriminate].
  destruct (noise_is_named _ _ && one_table ByPersons [l; b])%bool eqn:Et; [|discriminate].
  assert (Hn : law_of ByPersons (says l) = None) by reflexivity. rewrite Hn in HF.
  destruct (all_draws [] [l; b]) as [ds|] eqn:Ed; [|discriminate]. injection HF as <-.
  inversion HH as [|? ? Hl HH1]. inversion HH1 as [|? ? Hb HH2]. inversion HM as [|? ? Ml HM1]. inversion HM1 as [|? ? Mb HM2]. subst.
  unfold persons in Ep.
  destruct (says l) as [s c rel0 o reads| | | | | | | | | | | | | |] eqn:Hs; try discriminate.
  destruct rel0 as [| | | |rows' size]; try discriminate. destruct o; try discriminate. destruct reads; try discriminate.
  destruct (says b) as [| | | | | | | | | | |q rel rows most| | |] eqn:Hsb; try discriminate.
  destruct (_ && _)%bool eqn:Ec in Ep; [|discriminate]. injection Ep as <-.
  apply andb_prop in Ec. destruct Ec as [Ec Eq]. apply andb_prop in Ec. destruct Ec as [Er Es].
  apply relation_eqb_eq in Er. apply Z.eqb_eq in Es. apply String.eqb_eq in Eq. subst rows' size q.
  assert (Hbare : bare b) by (apply Mb; rewrite Hsb; reflexivity).
  pose proof (bare_alike l b ds Hbare Ed) as Ea. pose proof (bare_gone l b Hbare) as Eg.
  apply andb_prop in Et. destruct Et as [_ Et]. cbn [one_table forallb] in Et. apply andb_prop in Et. destruct Et as [Ef _].
  apply negb_true_iff in Ef.
  unfold holds in Hl, Hb. rewrite Hs in Hl. rewrite Hsb in Hb. rewrite Ef in Hl. destruct Hb as [rows_of [Htable Hsteps]].
  assert (Ev : flat_map views [l; b] = views l).
  { cbn [flat_map]. destruct Hbare as [_ [_ [-> _]]]. rewrite !app_nil_r. auto. }
  destruct Ml as [_ [M1 M2]]. rewrite Hs in M2. destruct M2 as [M2 M3]. split.
  - unfold holds. cbn [says drawn departed of_persons]. 
    change (private_holds W s c rel Central None ds (fold_left union (map departed [l; b]) []) true (flat_map views [l; b])).
    rewrite Ev. apply (private_alike W) with (a := drawn l) (gone := departed l); auto.
    destruct Hl as [A [B C]]. unfold private_holds. split; [exact A|split; [exact B|]].
    intros ov HE. destruct (C ov HE) as [S L]. split; auto.
    apply (satisfies_map (neighbours (distance W) (Groups rows most)) _ rows_of (draw W (departed l))) with (4 := S).
    + intros d d' Hd. apply Hsteps; auto.
    + intros d h Hh. apply of_draws_spec in Hh. destruct Hh as [lab [Hlab Hk]].
      unfold draw_of. rewrite Hlab. rewrite (Htable lab); auto.
      rewrite lookup_spread in Hk. destruct (lookup (key lab) (drawn l)) as [p|] eqn:E; [|discriminate].
      apply (A h lab p); auto. injection Hk as <-. auto.
    + intros g h [i ->]. apply instance_of_draws.
  - unfold well_made. cbn [says drawn departed is_private]. split; [discriminate|]. split.
    + intros k Hk. apply (alike_keys _ _ Ea), M1, Eg. auto.
    + split; auto. intros HR k p Hk. apply (M3 HR k). rewrite Ea. auto.
Qed.
