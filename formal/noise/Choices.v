(** The exponential mechanism. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String.
From Coquelicot Require Import Rcomplements.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps Products.
From DP.noise Require Import Infer Releases Proofs.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

(** Weights whose ratios lie between two numbers make laws of bounded range. *)
Lemma weights_range {A} (w v : A -> R) (P Q : law A) a b : proportional w P -> proportional v Q ->
  (forall x, exp a * w x <= v x <= exp b * w x) ->
  forall f, test f -> exp (a + ln (usum w / usum v)) * P f <= Q f <= exp (b + ln (usum w / usum v)) * P f.
Proof.
  intros [Hw [Hw0 HP]] [Hv [Hv0 HQ]] HR f Hf.
  assert (Hr : 0 < usum w / usum v) by (apply Rdiv_lt_0_compat; auto).
  rewrite !exp_plus, exp_ln by auto.
  assert (Hle : exp a * usum (fun x => w x * f x) <= usum (fun x => v x * f x) <= exp b * usum (fun x => w x * f x)).
  { rewrite <- !usum_scale by (try (left; apply exp_pos); apply summable_test; auto). split.
    - apply usum_le; [apply summable_test; auto|]. intros x. specialize (HR x). specialize (Hf x). destruct Hw as [Hw1 _]. specialize (Hw1 x).
      pose proof (exp_pos a). split; [apply Rmult_le_pos; nra|]. nra.
    - apply usum_le; [apply summable_scale; [left; apply exp_pos | apply summable_test; auto]|]. intros x. specialize (HR x). specialize (Hf x).
      destruct Hv as [Hv1 _]. specialize (Hv1 x). split; [nra|]. nra. }
  rewrite <- HP, <- HQ in Hle by auto.
  split; apply Rmult_le_reg_r with (usum v); auto.
  - replace (exp a * (usum w / usum v) * P f * usum v) with (exp a * (P f * usum w)) by (field; lra). lra.
  - replace (exp b * (usum w / usum v) * P f * usum v) with (exp b * (P f * usum w)) by (field; lra). lra.
Qed.

Lemma least_move (l : list R) : l <> [] -> exists a, In a l /\ forall x, In x l -> a <= x.
Proof.
  induction l as [|x l IH]; [congruence|]. intros _. destruct l as [|y l].
  - exists x. split; [left; auto|]. intros z [<-|[]]. lra.
  - destruct (IH ltac:(congruence)) as [a [Ha Hm]]. destruct (Rle_dec a x).
    + exists a. split; [right; auto|]. intros z [<-|Hz]; auto.
    + exists x. split; [left; auto|]. intros z [<-|Hz]; [lra|]. specialize (Hm z Hz). lra.
Qed.

Theorem exponential_sound : sound_rule "exponential".
Proof.
  intros s HR. destruct s; try discriminate HR. clear HR. intros W found n HW HH HM HF HT.
  one_query found l. inversion HH as [|? ? Hl HH0]. inversion HM as [|? ? Ml HM0]. subst. clear HH HH0 HM HM0.
  destruct (noise_line (ByExponential rate key) l n key (ExponentialChoice rate) eq_refl HF) as [q [c [rel [o [reads [Hi ->]]]]]].
  cbn [infer noise] in Hi.
  destruct (says l) as [| | |q0 how b rel0 reads0| | | | | | | | | | |] eqn:Hs; try discriminate. destruct how; try discriminate.
  destruct (Steps.below 0 rate) eqn:Hc in Hi; [|discriminate].
  unfold drawn_on in Hi. injection Hi as <- <- <- <- <-. apply q_positive in Hc.
  pose proof (stable_line l _ _ _ _ _ Ml Hs) as Hb0.
  unfold holds in Hl. rewrite Hs in Hl.
  destruct reads0 as [[f0 l0]|]; [destruct Hl as [[E|E] _]; discriminate|].
  destruct Hl as [_ [Hstream Hstable]].
  assert (E : Q2R (times rate b) = Q2R rate * Q2R b) by apply times_R.
  assert (HE : 0 <= Q2R rate * Q2R b) by nra.
  split; [|apply drawn_once_well_made; auto; simpl; rewrite E; auto].
  destruct (HT key (Place q0 (changes l) (ExponentialChoice rate) Once) (or_introl eq_refl)) as [Hsteady Hdrawn].
  cbn [query made how] in *. specialize (Hsteady Hstream).
  unfold holds; cbn [says drawn departed of_persons views].
  apply (once_holds W HW q0 (changes l) (ExponentialChoice rate) key rel0 _ (fun A => @range_cost A (Q2R (times rate b))) 1); try lra.
  { apply range_free. }
  { intros X near draw asks group HA. exact HA. }
  intros o Hplace h lab d d' Hlab Hkey Hd.
  pose proof (Hdrawn o Hplace h lab Hlab Hkey) as HD. pose proof (Hplace h lab Hlab Hkey) as Hp.
  pose proof (Hstable Hsteady (Definitions.key lab) (at_place lab) (Facts.over (at_place lab)) (index lab) h d d' Hd) as HL1.
  assert (HN : numbers_at W lab h = numbers_of W (Definitions.key lab) (at_place lab) q0 (changes l) (Facts.over (at_place lab)) (index lab) h).
  { unfold numbers_at. rewrite Hp. reflexivity. }
  rewrite <- HN in HL1. unfold within in HL1. set (numbers := numbers_at W lab h) in *.
  destruct HD as [P [HP HM]]. apply (made_range W h _ P _ _ d d' HM). right. split; [lra|].
  assert (Hne : differences W numbers d d' <> []).
  { destruct (HP d) as [_ [Hpos _]]. intros En. unfold differences in En. apply map_eq_nil in En.
    assert (Z : usum (fun j : nat => if (j <? List.length numbers)%nat then exp (Q2R rate * nth j numbers (fun _ => 0) d) else 0) <= 0); [|lra].
    apply usum_least; [apply HP|]. intros m _. right. apply total_zero. intros j _. rewrite En. auto. }
  destruct (least_move _ Hne) as [a [Ha Hmin]].
  set (w := fun (e : data (record W)) (j : nat) => if (j <? List.length numbers)%nat then exp (Q2R rate * nth j numbers (fun _ => 0) e) else 0).
  exists (- (Q2R rate * (a + Q2R b)) + ln (usum (w d) / usum (w d'))). intros f Hf.
  replace (- (Q2R rate * (a + Q2R b)) + ln (usum (w d) / usum (w d')) + Q2R (times rate b))
    with (- (Q2R rate * a) + ln (usum (w d) / usum (w d'))) by (rewrite E; ring).
  apply (weights_range (w d) (w d')); auto; [apply HP | apply HP |].
  intros j. unfold w. destruct (Nat.ltb_spec j (List.length numbers)) as [Hj|Hj]; [|lra].
  set (c := nth j numbers (fun _ => 0)).
  assert (Hin : In (c d - c d') (differences W numbers d d')).
  { unfold differences. apply in_map_iff. exists c. split; auto. apply nth_In; auto. }
  pose proof (Hmin _ Hin) as H1. pose proof (HL1 _ _ Hin Ha) as H2.
  rewrite <- !exp_plus. split; apply exp_le; nra.
Qed.
