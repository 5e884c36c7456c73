(** The notions of privacy are not too weak, as statements about programs: two programs that leak have none of them.

    One shows a person's row with some chance t, and nothing else; the other shows it or its opposite, and errs with
    some chance.  This is so for every curve, every relation, every observer, with persons and without.  Views that
    leak, and local programs whose releases read two units, are no better, however private their releases are. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions.
From DP.core Require Import Bounds Powers Chance Costs Numbers Lines.
From DP.conversions Require Import Measures.
Import ListNotations.
Open Scope R_scope.

(** An event as likely as p beside one as likely as q is too much for this curve. *)
Definition excluded (law : curve) (p q : R) : Prop :=
  match law with
  | Pure e => exp (Q2R e) * q < p
  | Approximate e d => exp (Q2R e) * q + Q2R d < p
  | Zcdp rho => exists theta, 1 < theta /\ exp (Q2R rho / (theta - 1)) * power q (1 / theta) < p
  | Gdp m => exists z, q <= Phi z /\ Phi (z + sqrt (Q2R m)) < p
  | NearGdp m d => exists z, q + Q2R d <= Phi z /\ Phi (z + sqrt (Q2R m)) + Q2R d < p
  | BoundedRange e => exp (Q2R e) * q * (1 - p) < p * (1 - q)
  | Lattice v shifts _ => 0 < Q2R v /\ exists theta, 1 < theta /\ forall s, In s shifts ->
      exp (IZR (squares s) / (2 * Q2R v) / (theta - 1)) * power q (1 / theta) < p
  | Renyi points => exists o b, In (o, b) points /\ 1 < Q2R o /\
      let theta := Q2R o / (Q2R o - 1) in exp (Q2R b / theta) * power q (1 / theta) < p
  end.

Section Pair.
  Context {M X : Type} (near : X -> X -> Prop) (draw : X -> history M -> law M).
  Variables (asks g : history M -> bool) (group : (history M -> bool) -> Prop).
  Variables (x x' : X) (f : M -> R) (p q : R).
  Hypothesis Hnear : near x x'.
  Hypothesis Hasks : asks [] = true.
  Hypothesis Hg : g [] = true.
  Hypothesis Hgroup : group g.
  Hypothesis Hf : forall m, f m = 0 \/ f m = 1.
  Hypothesis Hp : draw x [] f = p.
  Hypothesis Hq : draw x' [] f = q.

  Let Ht : test f. Proof. intros m. destruct (Hf m) as [->| ->]; lra. Qed.

  Let powered theta : (fun m => power (f m) theta) = f.
  Proof.
    apply FunctionalExtensionality.functional_extensionality. intros m.
    destruct (Hf m) as [->| ->]; [apply power_0 | apply power_base_1].
  Qed.

  Let first (c : history M -> R) b : (forall h, spent c h <= b) -> c [] <= b.
  Proof. intros H. specialize (H []). cbn in H. lra. Qed.

  Let too_much theta r : renyi_cost theta r (draw x []) (draw x' []) -> p <= exp (r / theta) * power q (1 / theta).
  Proof. intros H. specialize (H f Ht). rewrite powered, Hp, Hq in H. auto. Qed.

  Let concentrated rho theta : 1 < theta -> zcdp_cost rho (draw x []) (draw x' []) ->
    p <= exp (rho / (theta - 1)) * power q (1 / theta).
  Proof.
    intros H1 H. specialize (too_much theta _ (H theta H1)) as G.
    replace (theta / (theta - 1) * rho / theta) with (rho / (theta - 1)) in G by (field; lra). auto.
  Qed.

  Theorem excluded_curve law : q < p -> excluded law p q -> ~ satisfies near draw law asks group.
  Proof.
    intros Hpq HE HS. destruct law as [e|e d|rho|m|m d|e|v shifts times|points]; cbn [satisfies excluded] in *.
    - destruct (HS g Hgroup x x' Hnear) as [c [C1 [C2 C3]]]. specialize (C2 [] Hg f Ht). rewrite Hp, Hq in C2.
      pose proof (exp_le _ _ (first c _ C3)). assert (0 <= q) by (rewrite <- Hq; apply E_test; auto). nra.
    - assert (HC : chance g (draw x) (draw x') [] p q).
      { rewrite <- Hp, <- Hq. apply (ask g (draw x) (draw x') [] f f); auto. intros m. apply bet. apply Ht. }
      specialize (HS g Hgroup x x' Hnear [] p q ltac:(intros m b [l E]; destruct l; discriminate E) HC). lra.
    - destruct HE as [theta [H1 HE]]. destruct (HS g Hgroup x x' Hnear) as [c [C1 [C2 C3]]].
      pose proof (zcdp_grows _ _ _ _ (conj (C1 []) (first c _ C3)) (C2 [] Hg)) as Z.
      pose proof (concentrated _ theta H1 Z). lra.
    - destruct HE as [z [H1 H2]]. destruct (HS g Hgroup x x' Hnear) as [c [C1 [C2 C3]]].
      pose proof (gdp_grows _ _ _ _ (conj (C1 []) (first c _ C3)) (C2 [] Hg)) as Z.
      specialize (Z f z Ht). rewrite Hp, Hq in Z. specialize (Z H1). lra.
    - destruct HE as [z [H1 H2]]. destruct (HS g Hgroup) as [ideal HI].
      destruct (HI x x' Hnear) as [c [t [C1 [C2 C3]]]]. destruct (C3 []) as [C4 C5]. cbn in C4, C5.
      rewrite Rplus_0_r in C4. destruct (C1 []) as [C6 C7].
      destruct (C2 [] Hg) as [[S _]|[G [N1 N2]]]; [specialize (S f Ht); lra|].
      specialize (N1 f Ht). specialize (N2 f Ht). rewrite Hp in N1. rewrite Hq in N2.
      pose proof (gdp_grows _ _ _ _ (conj C6 C4) G f z Ht ltac:(lra)). lra.
    - destruct (HS g Hgroup x x' Hnear) as [c [C1 [C2 C3]]]. destruct (C2 [] Hg) as [S|[_ [k R]]].
      + specialize (S f Ht). lra.
      + destruct (R f Ht) as [R1 R2]. destruct (R (fun m => 1 - f m) (test_minus f Ht)) as [R3 R4].
        rewrite !E_minus in R3, R4 by auto. rewrite Hp, Hq in *. rewrite exp_plus in *.
        assert (0 <= p <= 1 /\ 0 <= q <= 1) as [B1 B2] by (split; [rewrite <- Hp | rewrite <- Hq]; apply E_test; auto).
        pose proof (exp_pos k). pose proof (exp_pos (Q2R e)).
        assert (exp k * p * (1 - q) <= q * (1 - q)) by nra.
        assert (q * (1 - q) <= q * (exp k * exp (Q2R e) * (1 - p))) by (apply Rmult_le_compat_l; lra).
        assert (exp k * (p * (1 - q)) <= exp k * (exp (Q2R e) * q * (1 - p))) by lra.
        assert (p * (1 - q) <= exp (Q2R e) * q * (1 - p)) by (apply Rmult_le_reg_l with (exp k); auto). lra.
    - destruct HE as [Hv [theta [H1 HE]]]. destruct (HS x x' Hnear) as [S [S1 _]]. specialize (S1 [] Hasks).
      destruct (S []) as [s|].
      + destruct S1 as [Hin HL]. specialize (HE s Hin). pose proof (lattice_zcdp _ _ _ _ Hv HL) as Z.
        pose proof (concentrated _ theta H1 Z). lra.
      + specialize (S1 f Ht). lra.
    - destruct HE as [o [b [Hin [Ho HE]]]]. cbv zeta in HE.
      destruct (HS g Hgroup o b Hin x x' Hnear) as [c [C1 [C2 C3]]].
      assert (1 < Q2R o / (Q2R o - 1)).
      { apply Rmult_lt_reg_r with (Q2R o - 1); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
      pose proof (renyi_grows _ H _ _ _ _ (conj (C1 []) (first c _ C3)) (C2 [] Hg)) as Z. apply too_much in Z. lra.
  Qed.
End Pair.

(* ---------------------------------------------------------------- relations in which somebody is told apart *)

Fixpoint of_somebody (rel : relation) : Prop :=
  match rel with
  | ReplaceOne | AddRemove => True
  | BoundedRow radius => 0 <= Q2R radius
  | Entering of _ _ => of_somebody of
  | Groups of size => (1 <= size)%Z /\ of_somebody of
  end.

Definition alone (row : option bool) : data bool := fun u => if (u =? 1)%Z then row else None.

Fixpoint other (rel : relation) : option bool :=
  match rel with
  | ReplaceOne | BoundedRow _ => Some false
  | AddRemove => None
  | Entering of _ _ | Groups of _ => other of
  end.

Lemma steps_stay {R0} next n (d : data R0) : steps next n d d.
Proof. induction n; simpl; eauto. Qed.

Lemma told_apart_by rel : of_somebody rel -> neighbours (fun _ _ => 0) rel (alone (Some true)) (alone (other rel)).
Proof.
  assert (O : forall r r', only_at 1 (alone r) (alone r')).
  { intros r r' v Hv. unfold alone. destruct (Z.eqb_spec v 1); congruence. }
  induction rel as [| |radius|of IH k b|of IH size]; simpl; intros H; auto.
  - exists 1%Z, true, false. auto.
  - left. exists 1%Z, true. auto.
  - exists 1%Z, true, false. auto.
  - destruct H as [Hs H]. destruct (Z.to_nat size) as [|n] eqn:E; [lia|]. simpl. exists (alone (other of)).
    split; [right; auto | apply steps_stay].
Qed.

(* ---------------------------------------------------------------- programs that leak *)

Section Program.
  Variables (answer : bool -> law (option bool)) (read : data bool -> bool) (f : option bool -> R) (p q : R).
  Hypothesis Hf : forall m, f m = 0 \/ f m = 1.
  Hypothesis Hp : answer true f = p.
  Hypothesis Hq : answer false f = q.
  Hypothesis Hpq : q < p.

  Definition told (h : history (option bool)) (d : data bool) : law (option bool) :=
    match h with [] => answer (read d) | _ => point None end.

  Definition spot : place := Place "q" [] (LaplaceNoise 1 None) Once.

  (** One release, before anything else is said; its views show the same. *)
  Definition leaky : world := World bool bool (option bool) (fun _ _ => 0) [1; 2]%Z
    (fun h => match h with [] => Some (Label "k" spot 0) | _ => None end) told told
    (fun _ => 1%nat) (fun _ => 1%nat) (fun _ _ _ _ _ _ => 0) (fun _ _ _ _ _ _ => true) (fun _ _ _ _ _ _ _ => 0)
    (fun _ _ => true) (fun _ d => d) (fun _ => []) (fun _ _ _ d => answer (read d)) (fun _ _ _ d => answer (read d)).

  Let Ht : test f. Proof. intros m. destruct (Hf m) as [->| ->]; lra. Qed.

  (** It is a program as the theorems speak of them, if it reads no units that are not there. *)
  Theorem leaky_lawful : (forall d d', d 1%Z = d' 1%Z -> d 2%Z = d' 2%Z -> read d = read d') -> lawful leaky.
  Proof.
    intros Hread. unfold lawful; cbn [units_there next ideal actual names distance record message leaky].
    assert (N : forall h l, match h : list (option bool) with [] => Some (Label "k" spot 0) | _ => None end = Some l ->
      h = [] /\ l = Label "k" spot 0) by (intros [|m h] l H; [injection H as <-; auto | discriminate]).
    repeat apply conj.
    - repeat constructor; simpl; intuition lia.
    - intros u [<-|[<-|[]]]; lia.
    - intros h d d' H. assert (S : same (told h d) (told h d')).
      { unfold told. destruct h; [|apply same_refl]. rewrite (Hread d d') by (apply H; simpl; auto). apply same_refl. }
      auto.
    - intros h l Hl h' m [b E]. destruct (N h l Hl) as [-> _]. destruct b; discriminate.
    - intros h l Hl _ _. destruct (N h l Hl) as [_ ->]. auto.
    - intros h l Hl. destruct (N h l Hl) as [_ ->]. discriminate.
    - auto.
    - auto.
    - intros; lra.
    - intros x y k r Hk Hr. exists (fun j => if (j =? 0)%nat then x else y). split; [auto|split].
      + destruct k; [lia | auto].
      + intros j _. assert (0 < INR k) by (apply lt_0_INR; auto). nra.
  Qed.

  Definition line_of (subject : string) (law : curve) (rel : relation) (o : observer) (reads : interval)
      (gone : list string) (persons : bool) (shown : list string) : line :=
    Line (Private subject law rel o reads) [("k"%string, spot)] [] Once gone persons shown.

  Lemma leaky_exclusive o : o = Once -> exclusive leaky (spread_over o [("k"%string, spot)]).
  Proof. intros -> [|m h] l place; cbn; [|discriminate]. intros H. injection H as <-. cbn.
    intros E. injection E as <-. reflexivity.
  Qed.

  Lemma leaky_drawn gone d g : draw leaky gone d [] g = answer (read d) g.
  Proof. unfold draw. cbn. destruct (existsb _ gone); reflexivity. Qed.

  (** Whoever sees it and whatever it reads. *)
  Theorem leaky_not_private subject law rel o reads gone persons : of_somebody rel ->
    read (alone (Some true)) = true -> read (alone (other rel)) = false -> excluded law p q ->
    ~ holds leaky (line_of subject law rel o reads gone persons []).
  Proof.
    intros Hr R1 R2 HE [_ [_ H]]. cbn [drawn departed of_persons line_of] in H.
    pose proof (told_apart_by rel Hr) as HA.
    assert (G : forall asks (group : (history (option bool) -> bool) -> Prop) g,
      asks [] = true -> g [] = true -> group g ->
      ~ (if persons then satisfies (neighbours (fun _ _ : bool => 0) rel) (draw_of leaky gone) law asks group
         else satisfies (neighbours (fun _ _ : bool => 0) rel) (draw leaky gone) law asks group)).
    { intros asks group g Ha Hg HG. destruct persons;
        apply (excluded_curve _ _ asks g group (alone (Some true)) (alone (other rel)) f p q); auto.
      - change (draw leaky gone (alone (Some true)) [] f = p). rewrite leaky_drawn, R1. auto.
      - change (draw leaky gone (alone (other rel)) [] f = q). rewrite leaky_drawn, R2. auto.
      - rewrite leaky_drawn, R1. auto.
      - rewrite leaky_drawn, R2. auto. }
    destruct reads as [[a b]|].
    - destruct (H (leaky_exclusive Once eq_refl)) as [S _].
      apply (G (of_draws leaky [("k"%string, spot)]) _ (of_draws leaky [("k"%string, spot)])) in S; auto;
        cbn; destruct (place_dec spot spot); congruence.
    - destruct (H Once (leaky_exclusive Once eq_refl)) as [S _].
      assert (I : instance leaky (spread_over Once [("k"%string, spot)]) 0 [] = true).
      { apply instance_spec. exists (Label "k" spot 0). repeat split. }
      apply (G _ _ (instance leaky (spread_over Once [("k"%string, spot)]) 0)) in S; auto; eauto.
  Qed.

  Lemma answers_differ : ~ same (answer true) (answer false).
  Proof. intros H. specialize (H f Ht). lra. Qed.

  (** A view that shows the row of unit 1: to everyone, or to unit 2. *)
  Theorem leaky_views subject law rel o reads gone persons :
    read (alone (Some true)) = true -> read (alone None) = false ->
    ~ holds leaky (line_of subject law rel o reads gone persons ["view"%string]).
  Proof.
    intros R1 R2 [_ [H _]]. destruct (H "view"%string (or_introl eq_refl)) as [_ S].
    apply answers_differ. rewrite <- R1, <- R2. destruct o; destruct S as [S _].
    - apply (S 2%Z [] (alone (Some true)) (alone None)).
    - apply (S 2%Z [] (alone (Some true)) (alone None)). auto.
    - apply (S 2%Z [] (alone (Some true)) (alone None)). auto.
  Qed.

  Theorem leaky_shown shown releases name : read (alone (Some true)) = true -> read (alone None) = false ->
    ~ holds leaky (Line (View name shown releases) [] [] Once [] false []).
  Proof.
    intros R1 R2 [_ [_ S]]. apply answers_differ. rewrite <- R1, <- R2. destruct shown; destruct S as [S _].
    - apply (S 2%Z [] (alone (Some true)) (alone None)).
    - apply (S 2%Z [] (alone (Some true)) (alone None)). auto.
  Qed.
End Program.

(** The row of unit 1, and whether units 1 and 2 differ. *)
Definition row_1 (d : data bool) : bool := match d 1%Z with Some true => true | _ => false end.
Definition differ (d : data bool) : bool := xorb (row_1 d) (match d 2%Z with Some true => true | _ => false end).

Lemma row_1_other rel : row_1 (alone (other rel)) = false.
Proof. unfold row_1, alone. simpl. induction rel; simpl; auto. Qed.

(** No local privacy, of any curve, where one release reads two units. *)
Theorem differ_not_local answer subject law rel reads gone persons shown : ~ same (answer true) (answer false) ->
  ~ holds (leaky answer differ) (line_of subject law rel Local reads gone persons shown).
Proof.
  intros HN [_ [_ H]]. cbn [drawn departed of_persons line_of] in H.
  assert (L : ~ one_unit (leaky answer differ) (of_draws (leaky answer differ) [("k"%string, spot)])).
  { intros HL. destruct (HL []) as [u Hu]; [cbn; destruct (place_dec spot spot); congruence|]. apply HN.
    destruct (Z.eq_dec u 1) as [->|N].
    - apply (Hu (fun v => if (v =? 2)%Z then Some true else None) (fun _ => None)). reflexivity.
    - apply (Hu (alone (Some true)) (alone None)). unfold alone. destruct (Z.eqb_spec u 1); congruence. }
  destruct reads as [[a b]|].
  - destruct (H (leaky_exclusive answer differ Once eq_refl)) as [_ [S _]]. auto.
  - destruct (H Once (leaky_exclusive answer differ Once eq_refl)) as [_ S]. apply L. apply S. auto.
Qed.

(* ---------------------------------------------------------------- the two of them *)

Definition yes (m : option bool) : R := match m with Some true => 1 | _ => 0 end.
Lemma yes_no m : yes m = 0 \/ yes m = 1. Proof. destruct m as [[]|]; auto. Qed.

Section Mechanisms.
  Variable t : R.
  Hypothesis Ht : 0 < t <= 1.
  Let Ht' : 0 <= t <= 1. Proof. lra. Qed.

  (** With chance t the row is shown, else nothing. *)
  Definition sometimes (bit : bool) : law (option bool) := coin t Ht' (Some bit) None.
  (** With chance t the row is shown, else its opposite. *)
  Definition mostly (bit : bool) : law (option bool) := coin t Ht' (Some bit) (Some (negb bit)).

  (** What such a law says at all: δ and distances may be large, and there are curves of no orders. *)
  Definition says_something (law : curve) : Prop :=
    match law with
    | Approximate _ d => Q2R d < t
    | NearGdp m d => exists z, Q2R d <= Phi z /\ Phi (z + sqrt (Q2R m)) + Q2R d < t
    | Renyi points => exists o b, In (o, b) points /\ 1 < Q2R o
    | Lattice v _ _ => 0 < Q2R v
    | _ => True
    end.

  Lemma sometimes_excluded law : says_something law -> excluded law t 0.
  Proof.
    intros H. destruct law; simpl in *; rewrite ?power_0, ?Rmult_0_r, ?Rmult_0_l; try lra.
    - exists 2. rewrite power_0. lra.
    - destruct (Phi_to_0 t ltac:(lra)) as [z [Hz HP]]. exists (- z - sqrt (Q2R mu_squared)).
      pose proof (Phi_range (- z - sqrt (Q2R mu_squared))). specialize (HP (- z) ltac:(lra)).
      replace (- z - sqrt (Q2R mu_squared) + sqrt (Q2R mu_squared)) with (- z) by ring. lra.
    - destruct H as [z Hz]. exists z. rewrite Rplus_0_l. auto.
    - split; auto. exists 2. split; [lra|]. intros s _. rewrite power_0. lra.
    - destruct H as [o [b [H1 H2]]]. exists o, b. rewrite power_0. repeat split; auto. lra.
  Qed.

  (** Near-GDP of a small distance says something, whatever μ is. *)
  Lemma near_gdp_says m : exists d, 0 < d /\ forall d', Q2R d' <= d -> says_something (NearGdp m d').
  Proof.
    destruct (Phi_to_0 (t / 2) ltac:(lra)) as [z [Hz HP]]. set (y := - z - sqrt (Q2R m)).
    pose proof (Phi_range y). exists (Rmin (Phi y) (t / 2)). split; [apply Rmin_glb_lt; lra|].
    intros d' Hd. pose proof (Rmin_l (Phi y) (t / 2)). pose proof (Rmin_r (Phi y) (t / 2)).
    exists y. split; [lra|]. specialize (HP (- z) ltac:(lra)).
    replace (y + sqrt (Q2R m)) with (- z) by (unfold y; ring). lra.
  Qed.

  Theorem sometimes_not_private subject law rel o reads gone persons : of_somebody rel -> says_something law ->
    ~ holds (leaky sometimes row_1) (line_of subject law rel o reads gone persons []).
  Proof.
    intros Hr HS. apply (leaky_not_private sometimes row_1 yes t 0 yes_no); simpl; try lra; auto.
    - apply row_1_other.
    - apply sometimes_excluded; auto.
  Qed.

  Theorem mostly_not_private subject law rel o reads gone persons :
    / 2 < t -> of_somebody rel -> excluded law t (1 - t) ->
    ~ holds (leaky mostly row_1) (line_of subject law rel o reads gone persons []).
  Proof.
    intros H2 Hr HE. apply (leaky_not_private mostly row_1 yes t (1 - t) yes_no); simpl; try lra; auto.
    apply row_1_other.
  Qed.

  Lemma sometimes_differ : ~ same (sometimes true) (sometimes false).
  Proof. intros H. specialize (H yes ltac:(intros [[]|]; simpl; lra)). simpl in H. lra. Qed.

  Lemma mostly_differ : / 2 < t -> ~ same (mostly true) (mostly false).
  Proof. intros H2 H. specialize (H yes ltac:(intros [[]|]; simpl; lra)). simpl in H. lra. Qed.

  (** By observer, whatever the releases cost: views that leak, and releases that read two units. *)
  Theorem sometimes_not_seen subject law rel o reads gone persons :
    ~ holds (leaky sometimes row_1) (line_of subject law rel o reads gone persons ["view"%string]).
  Proof. apply (leaky_views sometimes row_1 yes t 0 yes_no); simpl; auto; lra. Qed.

  Theorem mostly_not_seen subject law rel o reads gone persons : / 2 < t ->
    ~ holds (leaky mostly row_1) (line_of subject law rel o reads gone persons ["view"%string]).
  Proof. intros H2. apply (leaky_views mostly row_1 yes t (1 - t) yes_no); simpl; auto; lra. Qed.

  Theorem sometimes_not_local subject law rel reads gone persons shown :
    ~ holds (leaky sometimes differ) (line_of subject law rel Local reads gone persons shown).
  Proof. apply differ_not_local, sometimes_differ. Qed.

  Theorem mostly_not_local subject law rel reads gone persons shown : / 2 < t ->
    ~ holds (leaky mostly differ) (line_of subject law rel Local reads gone persons shown).
  Proof. intros H2. apply differ_not_local, mostly_differ, H2. Qed.

  (** Both are programs as the theorems speak of them. *)
  Theorem leaks_lawful : lawful (leaky sometimes row_1) /\ lawful (leaky mostly row_1) /\
    lawful (leaky sometimes differ) /\ lawful (leaky mostly differ).
  Proof.
    repeat apply conj; apply leaky_lawful; intros d d' H1 H2; unfold differ, row_1; rewrite ?H1, ?H2; auto.
  Qed.

  (** What nearly always shows the row costs: total variation 2t - 1, and ε = ln (t / (1 - t)). *)
  Theorem mostly_not_near distance : distance < 2 * t - 1 -> ~ near_cost distance (mostly true) (mostly false).
  Proof. intros Hd H. specialize (H yes ltac:(intros [[]|]; simpl; lra)). simpl in H. lra. Qed.
End Mechanisms.

(** Such a program is far from free: no curve allows it that allows next to nothing. *)
Definition nearly_free (t : R) (law : curve) : Prop :=
  match law with
  | Pure a | Zcdp a | Gdp a | BoundedRange a => Q2R a = 0
  | Approximate a d => Q2R a = 0 /\ Q2R d < 2 * t - 1
  | NearGdp a d => Q2R a = 0 /\ 0 <= Q2R d < t - / 2
  | Lattice v shifts _ => 0 < Q2R v /\ forall s, In s shifts -> squares s = 0%Z
  | Renyi points => exists o b, In (o, b) points /\ Q2R o = 2 /\ Q2R b = 0 /\ 1 - t < t * t
  end.

Lemma nearly_free_excluded t law : / 2 < t < 1 -> nearly_free t law -> excluded law t (1 - t).
Proof.
  intros Ht H.
  assert (Z : exists theta, 1 < theta /\ exp (0 / (theta - 1)) * power (1 - t) (1 / theta) < t).
  { assert (L1 : ln (1 - t) < ln t) by (apply ln_increasing; lra).
    assert (L2 : ln t < 0) by (rewrite <- ln_1; apply ln_increasing; lra).
    set (y := (ln (1 - t) + ln t) / 2). assert (Hy : ln (1 - t) < y < ln t) by (unfold y; lra).
    exists (ln (1 - t) / y). assert (T : 1 < ln (1 - t) / y).
    { apply Rmult_lt_reg_r with (- y); [lra|].
      replace (ln (1 - t) / y * - y) with (- ln (1 - t)) by (field; lra). lra. }
    split; auto. rewrite power_pos by lra. unfold Rpower.
    replace (1 / (ln (1 - t) / y) * ln (1 - t)) with y by (field; lra).
    replace (0 / (ln (1 - t) / y - 1)) with 0 by (unfold Rdiv; ring). rewrite exp_0, Rmult_1_l.
    rewrite <- (exp_ln t) by lra. apply exp_increasing. lra. }
  destruct law; simpl in *.
  - rewrite H, exp_0. lra.
  - destruct H as [-> H]. rewrite exp_0. lra.
  - rewrite H. auto.
  - rewrite H, sqrt_0. destruct (Phi_onto (1 - t)) as [z Hz]; [lra|]. exists z. rewrite Rplus_0_r. lra.
  - destruct H as [-> H]. rewrite sqrt_0. destruct (Phi_onto (1 - t + Q2R distance)) as [z Hz]; [lra|].
    exists z. rewrite Rplus_0_r. lra.
  - rewrite H, exp_0. nra.
  - destruct H as [Hv H]. split; auto. destruct Z as [theta [H1 H2]]. exists theta. split; auto. intros s Hs.
    rewrite (H s Hs). replace (0 / (2 * Q2R variance)) with 0 by (unfold Rdiv; ring). auto.
  - destruct H as [o [b [Hin [Ho [Hb H]]]]]. exists o, b. rewrite Ho, Hb. split; auto. split; [lra|].
    replace (2 / (2 - 1)) with 2 by field. unfold Rdiv at 1. rewrite Rmult_0_l, exp_0, Rmult_1_l.
    rewrite power_pos by lra. replace (1 / 2) with (/ 2) by field. rewrite Rpower_sqrt by lra.
    apply Rsqr_incrst_0; [|apply sqrt_pos | lra]. rewrite Rsqr_sqrt by lra. unfold Rsqr. auto.
Qed.

Theorem mostly_far_from_free t (Ht : 0 < t <= 1) subject law rel o reads gone persons : / 2 < t < 1 ->
  of_somebody rel -> nearly_free t law ->
  ~ holds (leaky (mostly t Ht) row_1) (line_of subject law rel o reads gone persons []).
Proof. intros H2 Hr HF. apply mostly_not_private; auto; [lra|]. apply nearly_free_excluded; auto. Qed.
