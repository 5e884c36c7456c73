(** The definitions can be met: a program with Laplace noise is lawful, its derivation is granted, and what the rules
    conclude of it is met with equality.

    Rows say yes or no.  Whoever asks for it gets the number of yes with two-sided geometric noise of scale 1, under
    the key k1 and again under k2, once each, in any order and with any messages in between. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String.
From Coquelicot Require Import Rcomplements.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Lines Sound.
From DP.noise Require Import Proofs.
From DP.composition Require Import Compose.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- geometric noise is there *)

Section Noise.
  Variable b : R.
  Hypothesis Hb : 0 < b.
  Let w (z : Z) := exp (- Rabs (IZR z) / b).
  Let r := exp (- / b).

  Let Hr : 0 < r < 1.
  Proof.
    split; [apply exp_pos|]. rewrite <- exp_0. apply exp_increasing. pose proof (Rinv_0_lt_compat b Hb). lra.
  Qed.

  Let w_nat (k : nat) z : Rabs (IZR z) = INR k -> w z = r ^ k.
  Proof.
    intros E. unfold w, r. rewrite E. clear E. induction k as [|k IH].
    - simpl. rewrite <- exp_0. f_equal. field. lra.
    - rewrite S_INR. cbn [pow]. rewrite <- IH, <- exp_plus. f_equal. field. lra.
  Qed.

  Let powers (n : nat) : total (fun k => r ^ k) (seq 0 n) * (1 - r) <= 1.
  Proof.
    assert (E : total (fun k => r ^ k) (seq 0 n) * (1 - r) = 1 - r ^ n).
    { induction n as [|n IH]; [simpl; ring|]. rewrite seq_S, total_app. simpl. rewrite Rmult_plus_distr_r, IH. ring. }
    rewrite E. pose proof (pow_lt r n (proj1 Hr)). lra.
  Qed.

  Lemma geometric_summable : summable w.
  Proof.
    split; [intros z; left; apply exp_pos|]. exists (2 / (1 - r)). intros l Hl.
    assert (exists n, forall z, In z l -> (Z.abs_nat z < n)%nat) as [n Hn].
    { clear Hl. induction l as [|z l [n IH]]; [exists 0%nat; intros z []|]. exists (S (max n (Z.abs_nat z))).
      intros x [<-|Hx]; [lia|]. specialize (IH x Hx). lia. }
    set (up := map Z.of_nat (seq 0 n)). set (down := map (fun k => (- Z.of_nat k)%Z) (seq 0 n)).
    apply Rle_trans with (total w (up ++ down)).
    - apply total_incl; auto; [intros z; left; apply exp_pos|]. intros z Hz. specialize (Hn z Hz). apply in_or_app.
      destruct (Z_le_gt_dec 0 z).
      + left. apply in_map_iff. exists (Z.abs_nat z). rewrite in_seq. lia.
      + right. apply in_map_iff. exists (Z.abs_nat z). rewrite in_seq. lia.
    - unfold up, down. rewrite total_app, !total_map.
      rewrite (total_ext _ (fun k => r ^ k) (seq 0 n)).
      2: { intros k _. apply w_nat. rewrite <- INR_IZR_INZ. apply Rabs_right, Rle_ge, pos_INR. }
      rewrite (total_ext (fun k => w (- Z.of_nat k)%Z) (fun k => r ^ k) (seq 0 n)).
      2: { intros k _. apply w_nat. rewrite opp_IZR, Rabs_Ropp, <- INR_IZR_INZ. apply Rabs_right, Rle_ge, pos_INR. }
      pose proof (powers n). apply Rmult_le_reg_r with (1 - r); [lra|].
      replace (2 / (1 - r) * (1 - r)) with 2 by (field; lra). lra.
  Qed.

  Lemma geometric_positive : 0 < usum w.
  Proof. apply Rlt_le_trans with (w 0%Z); [apply exp_pos | apply usum_at, geometric_summable]. Qed.

  Definition geometric : law Z := weighted w geometric_summable geometric_positive.

  Theorem geometric_law : discrete_laplace b geometric.
  Proof. apply weighted_proportional. Qed.

  Lemma geometric_at z : geometric (fun x => if Z.eq_dec x z then 1 else 0) = w z / usum w.
  Proof.
    simpl. f_equal. destruct (usum_finite (fun a => w a * (if Z.eq_dec a z then 1 else 0)) [z]) as [_ E].
    - constructor; [intros []|constructor].
    - intros a. pose proof (exp_pos (- Rabs (IZR a) / b)). unfold w. destruct (Z.eq_dec a z); lra.
    - intros a Ha. destruct (Z.eq_dec a z) as [->|]; [exfalso; apply Ha; left; auto | ring].
    - rewrite E. simpl. destruct (Z.eq_dec z z); [ring | congruence].
  Qed.
End Noise.

(* ---------------------------------------------------------------- a program *)

Inductive said := Ask (number : Z) | Shown (count : Z).

Definition units : list Z := [1; 2; 3]%Z.
Definition yes (row : option bool) : Z := match row with Some true => 1 | _ => 0 end%Z.
Definition counted (d : data bool) : Z := fold_right (fun u s => yes (d u) + s)%Z 0%Z units.

Definition asked (i : Z) (h : history said) : bool :=
  existsb (fun m => match m with Ask j => (j =? i)%Z | Shown _ => false end) h.

Definition spot : place := Place "count" [] (LaplaceNoise 1 (Some 1%Q)) Once.

Definition release (h : history said) : option label :=
  match h with
  | Ask i :: before =>
      if asked i before then None
      else if (i =? 1)%Z then Some (Label "k1" spot 0) else if (i =? 2)%Z then Some (Label "k2" spot 0) else None
  | _ => None
  end.

Definition ratio := Q2R 1 / Q2R 1.
Lemma ratio_1 : ratio = 1. Proof. unfold ratio. rewrite one_R. field. Qed.
Lemma ratio_positive : 0 < ratio. Proof. rewrite ratio_1. lra. Qed.
Definition noise : law Z := geometric ratio ratio_positive.

Definition count_law (d : data bool) : law said :=
  bind (each (map (fun z : data bool -> Z => image (Z.add (z d)) noise) [counted])) (fun l => point (Shown (hd 0%Z l))).

Definition answer (h : history said) (d : data bool) : law said :=
  match release h with Some _ => count_law d | None => point (Shown 0) end.

Definition program : world := World bool unit said
  (fun _ _ => 0) units release answer answer
  (fun _ => 1%nat) (fun _ => 1%nat)
  (fun _ _ _ _ d _ => IZR (counted d))
  (fun _ _ _ _ _ _ => true)
  (fun _ _ _ _ _ r _ => if r : bool then 1 else 0)
  (fun _ _ => true)
  (fun _ _ _ => None)
  (fun _ => []) (fun _ _ _ _ => point (Shown 0)) (fun _ _ _ _ => point (Shown 0)).

Lemma release_spec h l : release h = Some l -> exists i before, h = Ask i :: before /\ asked i before = false /\
  (i = 1 /\ l = Label "k1" spot 0 \/ i = 2 /\ l = Label "k2" spot 0)%Z.
Proof.
  destruct h as [|[i|z] before]; simpl; try discriminate. destruct (asked i before) eqn:E; [discriminate|].
  destruct (Z.eqb_spec i 1) as [->|]; [|destruct (Z.eqb_spec i 2) as [->|]; [|discriminate]];
    intros H; injection H as <-; eauto 10.
Qed.

Lemma asked_in i h : In (Ask i) h -> asked i h = true.
Proof. intros H. apply existsb_exists. exists (Ask i). split; auto. apply Z.eqb_refl. Qed.

Lemma counted_ext d d' : (forall u, In u units -> d u = d' u) -> counted d = counted d'.
Proof. intros H. unfold counted, units. simpl. rewrite !H by (unfold units; simpl; auto). auto. Qed.

Theorem program_lawful : lawful program.
Proof.
  unfold lawful; cbn [units_there next ideal actual names distance record message program].
  split; [|split; [|split; [|split; [|split; [|split; [|split; [|split; [|split]]]]]]]].
  - unfold units. repeat constructor; simpl; intuition lia.
  - unfold units. intros u [<-|[<-|[<-|[]]]]; lia.
  - assert (E : forall h d d', (forall u, In u units -> d u = d' u) -> same (answer h d) (answer h d')).
    { intros h d d' H f Hf. unfold answer. destruct (release h); auto. unfold count_law. simpl.
      rewrite (counted_ext d d' H). auto. }
    intros h d d' H. split; apply E; auto.
  - intros h l Hl h' m [between E] Hl'. destruct (release_spec h l Hl) as [i [before [E1 [Hi Hc]]]].
    destruct (release_spec h' l Hl') as [j [before' [E2 [_ Hd]]]].
    assert (i = j). { destruct Hc as [[-> ->]|[-> ->]], Hd as [[-> F]|[-> F]]; auto; discriminate F. }
    subst j h h'. assert (In (Ask i) before).
    { destruct between as [|a between]; injection E1 as Ea Eb; subst before.
      - left; auto.
      - apply in_or_app. right. right. left. auto. }
    rewrite asked_in in Hi; auto; discriminate.
  - intros h l Hl _ _. destruct (release_spec h l Hl) as [i [before [_ [_ [[_ ->]|[_ ->]]]]]]; auto.
  - intros h l Hl. destruct (release_spec h l Hl) as [i [before [_ [_ [[_ ->]|[_ ->]]]]]]; discriminate.
  - auto.
  - auto.
  - intros; lra.
  - intros x y k r Hk Hr. exists (fun j => if (j =? 0)%nat then x else y). split; [auto|split].
    + destruct k; [lia | auto].
    + intros j _. assert (0 < INR k) by (apply lt_0_INR; auto). nra.
Qed.

(* ---------------------------------------------------------------- its derivation *)

Lemma counted_moves d d' : neighbours (fun _ _ : bool => 0) AddRemove d d' -> (Z.abs (counted d - counted d') <= 1)%Z.
Proof.
  assert (Y : forall r, (0 <= yes r <= 1)%Z) by (intros [[]|]; simpl; lia).
  assert (G : forall u d d', only_at u d d' -> (Z.abs (counted d - counted d') <= 1)%Z).
  { intros u e e' H. unfold counted, units. cbn [fold_right].
    pose proof (Y (e 1%Z)). pose proof (Y (e 2%Z)). pose proof (Y (e 3%Z)).
    pose proof (Y (e' 1%Z)). pose proof (Y (e' 2%Z)). pose proof (Y (e' 3%Z)).
    assert (K : forall v, v <> u -> yes (e v) = yes (e' v)) by (intros v Hv; rewrite (H v Hv); auto).
    destruct (Z.eq_dec u 1), (Z.eq_dec u 2), (Z.eq_dec u 3); try lia;
      repeat match goal with |- context [yes (e ?v)] => first [rewrite (K v) by lia | fail] end; lia. }
  intros [[u [r [_ [_ H]]]]|[u [r [_ [_ H]]]]]; [apply (G u); auto|]. specialize (G u d' d H). lia.
Qed.

(** The count moves by at most one where a row comes or goes. *)
Definition stable : line := Line (Stable "count" L1 1 AddRemove None) [] [] Once [] false [].

Lemma stable_holds : holds program stable.
Proof.
  unfold holds, stable; cbn [says changes]. split; [discriminate|]. split; [reflexivity|].
  intros _ k p o i h d d' Hd. unfold within, differences. cbn. rewrite <- minus_IZR, Rplus_0_r, <- abs_IZR, one_R.
  apply IZR_le, counted_moves. exact Hd.
Qed.

Lemma stable_made : well_made stable.
Proof.
  unfold well_made, bare, stable; cbn. repeat split; auto; [intros k [] | rewrite one_R; lra].
Qed.

Definition steps_taken : list (step * list Z) :=
  [(ByLaplaceNoise 1 (Some 1%Q) "k1", [0%Z]); (ByLaplaceNoise 1 (Some 1%Q) "k2", [0%Z]); (ByCompose, [1; 2]%Z)].

Definition both_draws : draws := [("k1"%string, spot); ("k2"%string, spot)].

Definition concluded : line :=
  Line (Private "count + count" (Pure 2) AddRemove Central None) both_draws [] Once [] false [].

(** The checker infers this of the one premise. *)
Theorem program_derived : exists lines, derived steps_taken 1 [stable] = Some (concluded :: lines).
Proof. eexists. vm_compute. reflexivity. Qed.

(** Its noise is drawn as the steps say. *)
Lemma program_draws k : draws_as_said program k spot.
Proof.
  split; [intros _ o i h u r r'; reflexivity|]. intros o p Hp h l Hl Hk.
  assert (E : at_place l = spot).
  { destruct (release_spec h l Hl) as [i [before [_ [_ [[_ ->]|[_ ->]]]]]]; auto. }
  rewrite E. cbn [how query made spot drawn_by p]. exists noise, [counted]. split; [|split].
  - unfold numbers_at. rewrite E. split; [reflexivity|].
    intros c z Hin d. cbn in Hin. destruct Hin as [H|[]]. injection H as <- <-.
    rewrite one_R, Rmult_1_l. reflexivity.
  - apply geometric_law.
  - exists (fun l => point (Shown (hd 0%Z l))). intros d. cbn [ideal program]. unfold answer.
    cbn [next program] in Hl. rewrite Hl. apply same_refl.
Qed.

Theorem program_granted : granted program steps_taken 1 [stable].
Proof.
  assert (D : forall k p, In (k, p) both_draws -> draws_as_said program k p).
  { intros k p [H|[H|[]]]; injection H as <- <-; apply program_draws. }
  cbn [granted steps_taken]. intros found n Ef En. cbv in Ef. injection Ef as <-. vm_compute in En. injection En as <-.
  split. { intros k p [H|[]]. apply D. left. exact H. }
  intros found n Ef En. vm_compute in Ef. injection Ef as <-. vm_compute in En. injection En as <-.
  split. { intros k p [H|[]]. apply D. right. left. exact H. }
  intros found n Ef En. vm_compute in Ef. injection Ef as <-. vm_compute in En. injection En as <-.
  split; exact I.
Qed.

(* ---------------------------------------------------------------- what the theorems say of it *)

Theorem program_holds : holds program concluded.
Proof.
  destruct program_derived as [lines E].
  assert (A : Forall (holds program) (concluded :: lines)).
  { refine (derivation_sound program program_lawful steps_taken 1 [stable] _ _ _ program_granted _ E).
    - intros s before [H|[H|[H|[]]]]; injection H as <- <-.
      + apply laplace_sound; reflexivity.
      + apply laplace_sound; reflexivity.
      + apply compose_sound; reflexivity.
    - constructor; [apply stable_holds | constructor].
    - constructor; [apply stable_made | constructor]. }
  inversion A; auto.
Qed.

Definition asks (h : history said) : bool := match release h with Some _ => true | None => false end.

Lemma program_exclusive : exclusive program (spread_over Once both_draws).
Proof.
  intros h l p Hl. destruct (release_spec h l Hl) as [i [before [_ [_ [[_ ->]|[_ ->]]]]]]; cbn;
    intros H; injection H as <-; auto.
Qed.

(** So whatever an adversary does with all that this program releases: it is 2-DP. *)
Theorem program_private d d' p q : neighbours (fun _ _ : bool => 0) AddRemove d d' ->
  chance asks (fun h => answer h d) (fun h => answer h d') [] p q -> p <= exp 2 * q.
Proof.
  intros Hd HC. destruct program_holds as [_ [_ H]]. cbn [drawn concluded says departed of_persons] in H.
  destruct (H Once program_exclusive) as [G _]. clear H.
  specialize (G _ (ex_intro _ 0%Z eq_refl) d d' Hd).
  replace 2 with (Q2R 2) by (unfold Q2R; simpl; field).
  refine (adds_up_pure _ _ _ _ [] p q G _).
  assert (E : forall h l, release h = Some l -> instance program (spread_over Once both_draws) 0 h = true).
  { intros h l Hl. apply instance_spec. exists l. split; [exact Hl|].
    destruct (release_spec h l Hl) as [i [before [_ [_ [[_ ->]|[_ ->]]]]]]; split; reflexivity. }
  assert (S : forall h e, asks h = true -> same (answer h e) (draw program [] e h)).
  { intros h e Hh. unfold draw. cbn [next program]. destruct (release h) as [l|]; apply same_refl. }
  apply chance_same with (k' := draw program [] d) (l' := draw program [] d') in HC; [|auto].
  refine (chance_less _ _ _ _ _ _ _ _ HC). intros h Hh. unfold asks in Hh.
  destruct (release h) as [l|] eqn:El; [|discriminate].
  apply (E h l El).
Qed.

(** And it is no better. *)
Definition nobody : data bool := fun _ => None.
Definition somebody : data bool := fun u => if (u =? 1)%Z then Some true else None.

Lemma count_at d z : count_law d (fun m => match m with Shown c => if Z.eq_dec c z then 1 else 0 | _ => 0 end)
  = exp (- Rabs (IZR (z - counted d))) / usum (fun z => exp (- Rabs (IZR z) / ratio)).
Proof.
  unfold count_law. cbn -[counted]. rewrite (usum_ext _ (fun x => exp (- Rabs (IZR x) / ratio) *
    (if Z.eq_dec x (z - counted d) then 1 else 0))).
  - pose proof (geometric_at ratio ratio_positive (z - counted d)) as G. cbn -[counted] in G. rewrite G.
    f_equal. f_equal. rewrite ratio_1. field.
  - intros x. f_equal. destruct (Z.eq_dec (counted d + x) z), (Z.eq_dec x (z - counted d)); auto; lia.
Qed.

(** Somebody who asks twice, and bets on -1 and -1. *)
Definition bet_below (m : said) : R := match m with Shown c => if Z.eq_dec c (-1) then 1 else 0 | _ => 0 end.

Lemma bet_below_test : test bet_below.
Proof. intros [i|z]; simpl; [lra|]. destruct (Z.eq_dec z (-1)); lra. Qed.

Lemma asks_twice d d' : chance asks (fun h => answer h d) (fun h => answer h d') []
  (count_law d bet_below * count_law d bet_below) (count_law d' bet_below * count_law d' bet_below).
Proof.
  assert (T : forall c : R, 0 <= c <= 1 -> test (fun m => bet_below m * c)).
  { intros c Hc m. pose proof (bet_below_test m). nra. }
  pose proof bet_below_test as T1.
  set (P := count_law d bet_below). set (Q := count_law d' bet_below).
  assert (HP : 0 <= P <= 1) by (apply E_test; auto). assert (HQ : 0 <= Q <= 1) by (apply E_test; auto).
  assert (Scale : forall d (c : R), 0 <= c <= 1 -> count_law d (fun m => bet_below m * c) = c * count_law d bet_below).
  { intros e c Hc. rewrite <- (E_scale (count_law e) c bet_below); auto; try lra.
    - apply E_ext. intros; ring.
    - apply test_scale; auto. }
  apply tell with (m := Ask 1).
  replace (P * P) with (answer [Ask 1] d (fun m => bet_below m * P)) by (apply Scale; auto).
  replace (Q * Q) with (answer [Ask 1] d' (fun m => bet_below m * Q)) by (apply Scale; auto).
  apply (ask asks (fun h => answer h d) (fun h => answer h d') [Ask 1] (fun m => bet_below m * P)
    (fun m => bet_below m * Q)); auto.
  intros m. apply tell with (m := Ask 2).
  assert (R2 : release [Ask 2; m; Ask 1] = Some (Label "k2" spot 0) \/ bet_below m = 0).
  { destruct m as [j|z]; [right; reflexivity | left; reflexivity]. }
  destruct R2 as [R2|R0].
  - set (c := bet_below m). assert (Hc : 0 <= c <= 1) by apply T1.
    replace (c * P) with (answer [Ask 2; m; Ask 1] d (fun m => bet_below m * c)).
    2: { unfold answer. rewrite R2. apply Scale; auto. }
    replace (c * Q) with (answer [Ask 2; m; Ask 1] d' (fun m => bet_below m * c)).
    2: { unfold answer. rewrite R2. apply Scale; auto. }
    apply (ask asks (fun h => answer h d) (fun h => answer h d') [Ask 2; m; Ask 1] (fun x => bet_below x * c)
      (fun x => bet_below x * c)); auto.
    + unfold asks. rewrite R2. auto.
    + intros x. apply bet. apply (T c Hc).
  - rewrite R0, !Rmult_0_l. apply bet. lra.
Qed.

(** He wins e^2n times as often, where there are n fewer of those who say yes. *)
Lemma wins_more_often d d' : (0 <= counted d <= counted d')%Z ->
  0 < count_law d' bet_below /\
  count_law d bet_below * count_law d bet_below
  = exp (2 * IZR (counted d' - counted d)) * (count_law d' bet_below * count_law d' bet_below).
Proof.
  intros [H1 H2]. set (U := usum (fun z => exp (- Rabs (IZR z) / ratio))).
  assert (HU : 0 < U) by apply (geometric_positive ratio ratio_positive).
  assert (E : forall e, (0 <= counted e)%Z -> count_law e bet_below = exp (- (1 + IZR (counted e))) / U).
  { intros e He. unfold bet_below. rewrite count_at. fold U. do 3 f_equal. rewrite <- abs_IZR, Z.abs_neq by lia.
    rewrite <- plus_IZR. f_equal. lia. }
  rewrite !E by lia. split; [apply Rdiv_lt_0_compat; auto; apply exp_pos|].
  replace (exp (2 * IZR (counted d' - counted d))) with
    (exp (IZR (counted d' - counted d)) * exp (IZR (counted d' - counted d))) by (rewrite <- exp_plus; f_equal; ring).
  replace (exp (- (1 + IZR (counted d)))) with (exp (IZR (counted d' - counted d)) * exp (- (1 + IZR (counted d'))))
    by (rewrite <- exp_plus, minus_IZR; f_equal; ring).
  field. lra.
Qed.

Theorem program_no_better : neighbours (fun _ _ : bool => 0) AddRemove nobody somebody /\
  exists p q, chance asks (fun h => answer h nobody) (fun h => answer h somebody) [] p q /\ 0 < q /\ p = exp 2 * q.
Proof.
  split.
  { right. exists 1%Z, true. repeat split; auto. intros v Hv. unfold somebody, nobody.
    destruct (Z.eqb_spec v 1); congruence. }
  destruct (wins_more_often nobody somebody) as [H1 H2]; [cbv; split; discriminate|].
  do 2 eexists. split; [apply asks_twice|]. split; [nra|]. rewrite H2. cbn [counted]. f_equal. f_equal.
  cbv [counted nobody somebody units yes fold_right Z.eqb Pos.eqb Z.add Z.sub Z.opp]. lra.
Qed.
