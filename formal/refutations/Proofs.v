(** A point that some adversary gets past does not hold. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.noise Require Import Infer.
From DP.conversions Require Import Infer Relations.
From DP.refutations Require Import Infer.
From DP.decide Require Import Decide.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Lemma told_fewer W rel s (pairs pairs' : R -> R -> Prop) : (forall p q, pairs' p q -> pairs p q) ->
  told_apart W rel s pairs -> told_apart W rel s pairs'.
Proof. intros HP [d [d' [h [H1 [H2 H3]]]]]. exists d, d', h. auto. Qed.

(** A line that rests on no draws, and of which none are made. *)
Lemma bare_line l n : bare l -> alike_draws (drawn l) (drawn n) -> same_keys (departed l) (departed n) ->
  views n = views l -> of_persons n = of_persons l -> bare n.
Proof.
  intros [H1 [H2 [H3 H4]]] Ea Eg Ev Ep. rewrite H1 in Ea. rewrite H2 in Eg. unfold bare. rewrite Ev, Ep. repeat split; auto.
  - destruct (drawn n) as [|[k p] ds]; auto. specialize (Ea k). simpl in Ea. rewrite String.eqb_refl in Ea. discriminate.
  - destruct (departed n) as [|k gone]; auto. destruct (proj2 (Eg k) (or_introl eq_refl)).
Qed.

Lemma positive_least : 0 < Q2R (Qred (1 # (10 ^ 400)%positive)).
Proof. rewrite Q2R_red. unfold Q2R. simpl Qnum. apply Rmult_lt_0_compat; [lra|]. apply Rinv_0_lt_compat, IZR_lt. reflexivity. Qed.

Theorem refute_sound : sound_rule "refute".
Proof.
  intros s HR. destruct s; try discriminate HR. clear HR. intros W found n HW HH HM HF _.
  one_premise found l. inversion HH as [|? ? Hl HH1]. inversion HM as [|? ? Ml HM1]. subst.
  destruct (restated (ByRefute epsilon delta) l n eq_refl I HF) as [ds [gone [Ei [Ea [Eg [Ep [Ev _]]]]]]].
  cbn [infer refutation] in Ei. unfold refute in Ei.
  destruct (says l) as [| | | | | | | | | | | | |q law values rel o|] eqn:Hs; try discriminate.
  destruct (minus_delta law values epsilon) as [e|] eqn:Em; [|discriminate].
  destruct (_ && _)%bool eqn:Ec in Ei; [|discriminate]. injection Ei as Ei.
  apply andb_prop in Ec. destruct Ec as [Ec Ha]. apply andb_prop in Ec. destruct Ec as [Ec _].
  apply andb_prop in Ec. destruct Ec as [Hepsilon Hdelta]. apply q_nonneg in Hepsilon, Hdelta. apply at_most_sound in Ha. rewrite minus_R, plus_R, zero_R in Ha.
  pose proof positive_least as Hpos.
  assert (He : eval e < - Q2R delta) by lra.
  unfold holds in Hl. rewrite Hs in Hl.
  assert (G : exists p q', exp (Q2R epsilon) * q' + Q2R delta < p /\ told_apart W rel q (fun a b => a = p /\ b = q')).
  { unfold minus_delta in Em. destruct law; try discriminate; destruct values as [|m values]; try discriminate.
    - (* Gaussian *)
      destruct values; [|discriminate]. destruct (Qeq_bool m 0); injection Em as <-.
      + cbn [eval] in He. rewrite zero_R in He.
        lra.
      + unfold gdp_delta in He. cbn [eval] in He. rewrite two_R, zero_R in He.
        set (mu := sqrt (Q2R m)) in *. set (c := Q2R epsilon / mu) in *.
        exists (1 - Phi (c - mu / 2)), (1 - Phi (c + mu / 2)). split; [lra|].
        apply (told_fewer W rel q _ _) with (2 := Hl). intros p q' [-> ->]. exists (- (c + mu / 2)). fold mu. rewrite <- !Phi_opp. split; f_equal; lra.
    - (* Laplace *)
      destruct values; [|discriminate]. injection Em as <-. cbn [eval] in He. rewrite one_R in He.
      assert (Hrest : Q2R epsilon - Q2R m < 0 /\ exp ((Q2R epsilon - Q2R m) / 2) - 1 < - Q2R delta).
      { destruct (Qle_bool 0 (minus epsilon m)) eqn:Er; rewrite over_R, of_Z_R in He by (rewrite of_Z_R; lra).
        - rewrite zero_R in He. replace (0 / 2) with 0 in He by lra. rewrite exp_0 in He. lra.
        - rewrite minus_R in He. split; auto. apply Rnot_le_lt. intros N.
          assert (Qle_bool 0 (minus epsilon m) = true) by (apply le_R; rewrite zero_R, minus_R; lra). congruence. }
      destruct Hrest as [Hneg Hgap]. set (x := - (Q2R m + Q2R epsilon) / 2).
      exists (laplace_below (x + Q2R m)), (laplace_below x). split.
      + unfold laplace_below. destruct (Rle_dec x 0) as [_|N]; [|exfalso; apply N; unfold x; lra].
        assert (Hsum : exp (Q2R epsilon) * exp x = exp ((Q2R epsilon - Q2R m) / 2)) by (rewrite <- exp_plus; f_equal; unfold x; lra).
        destruct (Rle_dec (x + Q2R m) 0) as [N|_]; [exfalso; unfold x in N; lra|].
        replace (- (x + Q2R m)) with ((Q2R epsilon - Q2R m) / 2) by (unfold x; lra). lra.
      + apply (told_fewer W rel q _ _) with (2 := Hl). intros p q' [-> ->]. exists x. auto.
    - (* an event *)
      destruct values as [|m' [|]]; try discriminate. injection Em as <-. cbn [eval] in He.
      exists (Q2R m), (Q2R m'). split; [lra | exact Hl]. }
  destruct G as [p [q' [G1 G2]]]. split.
  - unfold holds. rewrite <- Ei. split; [|exists p, q'; auto].
    apply (told_fewer W rel q _ _) with (2 := G2). tauto.
  - unfold well_made. rewrite <- Ei. cbn [is_private].
    assert (Hb : bare n) by (apply (bare_line l n); auto; apply Ml; rewrite Hs; auto).
    split; [auto|split; [|auto]]. destruct Hb as [_ [-> _]]. intros k [].
Qed.
