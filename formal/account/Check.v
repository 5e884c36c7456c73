(** The check of a plan: whether (ε, δ) holds of every program that follows it.  Theorem: `check_account_sound`.

    Bits, spacing, nodes and cuts are chosen outside and not trusted: whatever they are, what is confirmed is true. *)
Require Import Reals ZArith QArith Qreals Lra Lia List Bool Permutation.
From DP.base Require Import Laws Sums.
From DP Require Import Facts Definitions.
From DP.decide Require Import Fixed.
From DP.core Require Import Costs Numbers.
From DP.account Require Import Kinds Ceilings Pairs Split Compose Lattice Product Dots Reading Plan Budgets.
Import ListNotations.

(** Nodes gap·first, gap·(first + 1), …, so many. *)
Record block := Block { gap : Z; first : Z; number : N }.

Record parameters := Chosen {
  bits : positive;                            (* masses are counted in 2^-bits, *)
  spacing : Q;                                (* losses in steps of this size, *)
  budget : Z;                                 (* and so much mass may be cut at once on either side. *)
  there : list (list block);                  (* Of each event, the nodes at which its hockey-stick is bounded; *)
  back : list (list block)                    (* the same in the other direction. *)
}.

(** An event with the nodes that are looked at. *)
Definition ranged := (event * list block)%type.

(** Nodes from s on, with their bounds, the last one first. *)
Fixpoint numbered (gap s : Z) (l : list Z) (after : list (Z * Z)) : list (Z * Z) :=
  match l with [] => after | z :: rest => numbered gap (s + gap)%Z rest ((s, z) :: after) end.

Definition knots (par : parameters) (w : way) (k : Kinds.kind) (blocks : list block) : list (Z * Z) :=
  fold_left (fun after b =>
    numbered (gap b) (gap b * first b)
      (ceilings (bits par) ((gap b # 1) * spacing par) k w (first b) (N.to_nat (number b))) after)
    blocks [].

Definition lattice_of (par : parameters) (w : way) (ee : ranged) : lattice :=
  dots (bits par) (spacing par) (knots par w (what (fst ee)) (snd ee)).

(** An event with what is above all of its releases. *)
Definition powers (par : parameters) (w : way) (events : list event) : list (event * lattice) :=
  map (fun ee => (fst ee, power_n (bits par) (budget par) (lattice_of par w ee) (limit (fst ee))))
    (combine events match w with There => there par | Back => back par end).

Definition of_unit (u : Z) (l : list (event * lattice)) : list lattice :=
  map snd (filter (fun el => reads (fst el) u) l).

(** Some unit meets all that any other one meets: the last at which a range begins that holds it. *)
Definition starts (events : list event) : list Z :=
  flat_map (fun e => match cover e with Some (first, _) => [first] | None => [] end) events.

Definition classes (events : list event) : list Z :=
  match nodup Z.eq_dec (starts events) with [] => [0%Z] | l => l end.

(** The product of all that unit u meets is read off at ε. *)
Definition by_lattices (par : parameters) (lo : Z) (events : list event) (l : list (event * lattice)) (epsilon delta : Q)
    (u : Z) : bool :=
  (length l =? length events)%nat &&
  at_most_delta (bits par) lo (spacing par) (product_lattice (bits par) (budget par) (of_unit u l)) epsilon delta.

(** What a unit meets may need no lattice. *)
Definition by_budgets (events : list event) (epsilon delta : Q) (u : Z) : bool :=
  let met := filter (fun e => reads e u) events in pure_at_most met epsilon delta || gaussian_at_most met epsilon delta.

Definition check_way (par : parameters) (lo : Z) (w : way) (events : list event) (epsilon delta : Q) : bool :=
  let l := powers par w events in
  forallb (fun u => by_budgets events epsilon delta u || by_lattices par lo events l epsilon delta u) (classes events).

Definition check_account (par : parameters) (p : plan) (epsilon delta : Q) : bool :=
  let kinds := map what (events p) in
  match decay (bits par) (spacing par) with
  | Some (lo, _) =>
    positive_rational (spacing par) && (0 <=? lo)%Z && forallb well_formed kinds &&
    match between p with
    | ReplaceOne => forallb symmetric kinds && check_way par lo There (events p) epsilon delta
    | AddRemove => check_way par lo There (events p) epsilon delta &&
        (forallb symmetric kinds || check_way par lo Back (events p) epsilon delta)
    | _ => false
    end
  | None => false
  end.

(* ---------------------------------------------------------------- classes of units *)

Lemma largest (l : list Z) : l = [] \/ exists m, In m l /\ forall x, In x l -> (x <= m)%Z.
Proof.
  induction l as [|a l IH]; [left; auto|right]. destruct IH as [->|[m [Hm Hmax]]].
  - exists a. split; [left; auto|]. intros x [<-|[]]; lia.
  - destruct (Z.le_ge_cases a m).
    + exists m. split; [right; auto|]. intros x [<-|Hx]; auto.
    + exists a. split; [left; auto|]. intros x [<-|Hx]; [lia|]. specialize (Hmax x Hx). lia.
Qed.

Lemma class_of events u : exists s, In s (classes events) /\ forall e, In e events -> reads e u = true -> reads e s = true.
Proof.
  assert (In_starts : forall s, In s (starts events) -> In s (classes events)).
  { intros s Hs. unfold classes. apply (nodup_In Z.eq_dec) in Hs. destruct (nodup Z.eq_dec (starts events)); auto. destruct Hs. }
  destruct (largest (starts (filter (fun e => reads e u) events))) as [E|[s [Hs Hmax]]].
  - assert (H : exists s, In s (classes events)).
    { unfold classes. destruct (nodup Z.eq_dec (starts events)) as [|s l]; [exists 0%Z|exists s]; left; auto. }
    destruct H as [s Hs]. exists s. split; auto. intros e He Hr. unfold reads. destruct (cover e) as [[a b]|] eqn:Hc; auto.
    assert (In a (starts (filter (fun e => reads e u) events))); [|rewrite E in H; destruct H].
    apply in_flat_map. exists e. rewrite Hc. split; [apply filter_In; auto|left; auto].
  - apply in_flat_map in Hs. destruct Hs as [e0 [He0 Hs]]. apply filter_In in He0. destruct He0 as [He0 Hr0].
    destruct (cover e0) as [[a b]|] eqn:Hc; [|destruct Hs]. destruct Hs as [<-|[]].
    exists a. split.
    { apply In_starts. apply in_flat_map. exists e0. rewrite Hc. split; auto. left; auto. }
    unfold reads in Hr0. rewrite Hc in Hr0. apply andb_prop in Hr0. destruct Hr0 as [H1 H2].
    apply Z.leb_le in H1, H2. intros e He Hr. pose proof Hr as Hr'. unfold reads in *.
    destruct (cover e) as [[c d]|] eqn:Hce; auto. apply andb_prop in Hr. destruct Hr as [H3 H4].
    apply Z.leb_le in H3, H4. apply andb_true_intro. split; apply Z.leb_le; [|lia].
    apply Hmax. apply in_flat_map. exists e. rewrite Hce. split; [|left; auto]. apply filter_In. split; auto.
    unfold reads. rewrite Hce. exact Hr'.
Qed.

(* ---------------------------------------------------------------- bounds at the knots *)

Lemma in_numbered gap l : forall s after n z, In (n, z) (numbered gap s l after) ->
  In (n, z) after \/ exists j, nth_error l j = Some z /\ n = (s + gap * Z.of_nat j)%Z.
Proof.
  induction l as [|x l IH]; intros s after n z; cbn [numbered]; auto. intros H.
  destruct (IH _ _ _ _ H) as [[[= <- <-]|H0]|[j [Hj ->]]]; auto.
  - right. exists 0%nat. split; [reflexivity|lia].
  - right. exists (Datatypes.S j). split; auto. lia.
Qed.

Lemma knots_bound par w k blocks {A} (P Q : law A) f s z : well_formed k = true -> meets k w P Q -> test f ->
  In (s, z) (knots par w k blocks) ->
  (P f <= IZR z / unit_of (bits par) + exp (IZR s * Q2R (spacing par)) * Q f)%R.
Proof.
  intros Hk Hm Hf. unfold knots.
  assert (G : forall blocks after, In (s, z) (fold_left (fun after b =>
    numbered (gap b) (gap b * first b) (ceilings (bits par) ((gap b # 1) * spacing par) k w (first b) (N.to_nat (number b))) after)
    blocks after) -> In (s, z) after \/ (P f <= IZR z / unit_of (bits par) + exp (IZR s * Q2R (spacing par)) * Q f)%R).
  { clear blocks. induction blocks as [|b blocks IH]; intros after; cbn [fold_left]; auto. intros H.
    destruct (IH _ H) as [H0|H0]; auto. apply in_numbered in H0. destruct H0 as [H0|[j [Hj ->]]]; auto. right.
    pose proof (meets_ceilings (bits par) ((gap b # 1) * spacing par) k w (first b) _ j z P Q f Hk Hj Hm Hf) as C.
    unfold node in C. rewrite Q2R_mult in C.
    replace (IZR (gap b * first b + gap b * Z.of_nat j) * Q2R (spacing par))%R
      with (IZR (first b + Z.of_nat j) * (Q2R (gap b # 1) * Q2R (spacing par)))%R; auto.
    replace (Q2R (gap b # 1)) with (IZR (gap b)) by (unfold Q2R; cbn [Qnum Qden]; rewrite Rinv_1; ring).
    rewrite !plus_IZR, !mult_IZR. ring. }
  intros H. destruct (G blocks [] H) as [[]|]; auto.
Qed.

(* ---------------------------------------------------------------- one direction *)

Lemma map_repeat {A B} (f : A -> B) a n : map f (repeat a n) = repeat (f a) n.
Proof. induction n; cbn; congruence. Qed.

Section Way.
  Context {record message : Type} (asks : history message -> bool) (draw : data record -> history message -> law message).
  Context (event_of : history message -> nat).
  Context (par : parameters) (lo hi : Z) (p : plan) (epsilon delta : Q).
  Hypothesis decayed : decay (bits par) (spacing par) = Some (lo, hi).
  Hypothesis step_pos : (0 < Qnum (spacing par))%Z.
  Hypothesis lo_nonneg : (0 <= lo)%Z.
  Hypothesis formed : forallb well_formed (map what (events p)) = true.
  Hypothesis following : follows asks draw event_of p.
  Local Notation h := (Q2R (spacing par)).

  Lemma made_at_most i e : nth_error (events p) i = Some e -> forall hist, (made asks event_of i hist <= N.to_nat (limit e))%nat.
  Proof.
    intros He hist.
    assert (G : asks hist && (event_of hist =? i)%nat = true -> (made asks event_of i hist <= N.to_nat (limit e))%nat).
    { intros Ha. apply andb_prop in Ha. destruct Ha as [Ha Hi]. apply Nat.eqb_eq in Hi.
      destruct (following hist Ha) as [e' [He' [Hm _]]]. rewrite Hi in *. congruence. }
    induction hist as [|m hist IH]; cbn [made] in *.
    - destruct (asks [] && (event_of [] =? i)%nat); [auto|lia].
    - destruct (asks (m :: hist) && (event_of (m :: hist) =? i)%nat); [auto|]. cbn [Nat.add]. apply IH.
      intros Ha. apply andb_prop in Ha. destruct Ha as [Ha Hi]. apply Nat.eqb_eq in Hi.
      destruct (following hist Ha) as [e' [He' [Hm _]]]. rewrite Hi in *. congruence.
  Qed.

  (** Indices of the releases that a unit may meet. *)
  Definition all_of (s : Z) (es : list event) (from : nat) : list nat :=
    concat (map (fun ie => if reads (snd ie) s then repeat (fst ie) (N.to_nat (limit (snd ie))) else [])
      (combine (seq from (length es)) es)).

  Lemma all_of_cons s e es from :
    all_of s (e :: es) from = (if reads e s then repeat from (N.to_nat (limit e)) else []) ++ all_of s es (Datatypes.S from).
  Proof. reflexivity. Qed.

  Lemma all_of_count s es : forall from i e, nth_error es i = Some e -> reads e s = true ->
    (N.to_nat (limit e) <= count_occ Nat.eq_dec (all_of s es from) (from + i))%nat.
  Proof.
    induction es as [|a es IH]; intros from [|i] e He Hr; cbn [nth_error] in He; try discriminate;
      rewrite all_of_cons, count_occ_app.
    - injection He as <-. rewrite Hr, Nat.add_0_r, count_occ_repeat_eq by auto. lia.
    - specialize (IH (Datatypes.S from) i e He Hr). replace (Datatypes.S from + i)%nat with (from + Datatypes.S i)%nat in IH by lia. lia.
  Qed.

  Lemma products_of (pair_at : nat -> pair) (L : ranged -> lattice) s :
    (forall ee : ranged, bounds (bits par) h (pair_of (bits par) h (L ee)) (L ee)) ->
    forall es (ks : list (list block)) from, (length es <= length ks)%nat ->
    (forall i ee, nth_error (combine es ks) i = Some ee -> pair_at (from + i)%nat = pair_of (bits par) h (L ee)) ->
    exists ls, map pair_at (all_of s es from) = concat ls /\
      Forall2 (bounds_product (bits par) h) ls
        (of_unit s (map (fun ee => (fst ee, power_n (bits par) (budget par) (L ee) (limit (fst ee)))) (combine es ks))).
  Proof.
    intros HL. assert (Hh : (0 <= h)%R) by (pose proof (h_pos (spacing par) step_pos); lra).
    induction es as [|e es IH]; intros ks from Hlen Hat.
    - exists []. split; [reflexivity|constructor].
    - destruct ks as [|k ks]; [cbn in Hlen; lia|].
      destruct (IH ks (Datatypes.S from)) as [ls [E F]].
      { cbn in Hlen. lia. }
      { intros i ee Hi. rewrite <- (Hat (Datatypes.S i) ee Hi). f_equal. lia. }
      rewrite all_of_cons, map_app, E. unfold of_unit in *. cbn [combine map filter fst].
      destruct (reads e s) eqn:Hr.
      + exists (repeat (pair_of (bits par) h (L (e, k))) (N.to_nat (limit e)) :: ls). cbn [concat map snd]. split.
        * f_equal. rewrite map_repeat. f_equal. rewrite <- (Hat 0%nat (e, k) eq_refl). f_equal. lia.
        * constructor; auto. apply bounds_power; auto.
      + exists ls. split; auto.
  Qed.

  Section Direction.
    Context (w w' : way) (s u : Z) (d d' : data record).
    Hypothesis apart : differ (between p) w' u d d'.
    Hypothesis one_way : forall k A (P Q : law A), In k (map what (events p)) -> meets k w' P Q -> meets k w P Q.
    Hypothesis worse : forall e, In e (events p) -> reads e u = true -> reads e s = true.

    Let costs (hist : history message) : option nat :=
      match nth_error (events p) (event_of hist) with
      | Some e => if reads e u then Some (event_of hist) else None
      | None => None
      end.
    Let count_used hist i : (count_occ Nat.eq_dec (here asks costs hist ++ used asks costs hist) i <= made asks event_of i hist)%nat.
    Proof.
      induction hist as [|m hist IH]; cbn [made used]; rewrite ?app_nil_r, ?count_occ_app in *.
      - unfold here, costs. destruct (asks []); cbn [andb]; [|cbn; lia].
        destruct (nth_error _ _) as [e|]; [|cbn; lia]. destruct (reads e u); [|cbn; lia]. cbn.
        destruct (Nat.eq_dec (event_of []) i) as [->|N]; [rewrite Nat.eqb_refl; lia|lia].
      - apply Nat.add_le_mono; [|exact IH]. unfold here, costs. destruct (asks (m :: hist)); cbn [andb]; [|cbn; lia].
        destruct (nth_error _ _) as [e|]; [|cbn; lia]. destruct (reads e u); [|cbn; lia]. cbn.
        destruct (Nat.eq_dec (event_of (m :: hist)) i) as [->|N]; [rewrite Nat.eqb_refl; lia|lia].
    Qed.

    Let used_reads hist i : In i (here asks costs hist ++ used asks costs hist) ->
      exists e, nth_error (events p) i = Some e /\ reads e u = true.
    Proof.
      assert (G : forall hist, In i (here asks costs hist) -> exists e, nth_error (events p) i = Some e /\ reads e u = true).
      { intros hist'. unfold here, costs. destruct (asks hist'); [|intros []].
        destruct (nth_error (events p) (event_of hist')) as [e|] eqn:He; [|intros []].
        destruct (reads e u) eqn:Hr; [|intros []]. intros [<-|[]]. exists e. auto. }
      intros Hi. apply in_app_or in Hi. destruct Hi as [Hi|Hi]; [eauto|].
      induction hist as [|m hist IH]; cbn [used] in Hi; [destruct Hi|]. apply in_app_or in Hi. destruct Hi; eauto.
    Qed.

    Let within hist : exists rest, Permutation (all_of s (events p) 0) ((here asks costs hist ++ used asks costs hist) ++ rest).
    Proof.
      apply sub_multiset. intros i.
      destruct (In_dec Nat.eq_dec i (here asks costs hist ++ used asks costs hist)) as [Hi|Hi].
      - destruct (used_reads hist i Hi) as [e [He Hr]].
        apply Nat.le_trans with (1 := count_used hist i). apply Nat.le_trans with (1 := made_at_most i e He hist).
        apply (all_of_count s (events p) 0 i e He). apply worse; auto. eapply nth_error_In; eauto.
      - rewrite (count_occ_not_In Nat.eq_dec) in Hi. lia.
    Qed.

    (** What the releases up to h have spent is part of what all may spend. *)
    Lemma within_budget (cost : R -> law message -> law message -> Prop) (cost_of : event -> option Q) m :
      (forall P Q, same P Q -> cost 0%R P Q) ->
      (forall e q, In e (events p) -> cost_of e = Some q ->
         (0 <= Q2R q)%R /\ forall P Q, meets (what e) w' P Q -> cost (Q2R q) P Q) ->
      sum_of cost_of (filter (fun e => reads e s) (events p)) = Some m ->
      adds_up cost (Q2R m) asks (draw d) (draw d').
    Proof.
      intros Free Cost Hm.
      set (spends i := match nth_error (events p) i with
        | Some e => match cost_of e with Some q => Q2R q | None => 0%R end | None => 0%R end).
      assert (Nonneg : forall i, (0 <= spends i)%R).
      { intros i. unfold spends. destruct (nth_error (events p) i) as [e|] eqn:Hi; [|apply Rle_refl].
        destruct (cost_of e) as [q|] eqn:Hq; [|apply Rle_refl]. apply (Cost e q); auto. eapply nth_error_In; eauto. }
      assert (Sum : total spends (all_of s (events p) 0) = Q2R m).
      { assert (At : forall i e, nth_error (events p) i = Some e ->
          spends (0 + i)%nat = match cost_of e with Some q => Q2R q | None => 0%R end).
        { intros i e Hi. unfold spends. cbn [Nat.add]. rewrite Hi. reflexivity. }
        clear - Hm At. revert m Hm At. generalize 0%nat. generalize (events p) as es.
        induction es as [|e es IH]; intros from m Hm At; cbn [filter] in Hm.
        - cbn in Hm. injection Hm as <-. cbn. symmetry. apply zero_R.
        - rewrite all_of_cons, total_app.
          assert (At' : forall i e, nth_error es i = Some e ->
            spends (Datatypes.S from + i)%nat = match cost_of e with Some q => Q2R q | None => 0%R end).
          { intros i e' Hi. rewrite <- (At (Datatypes.S i) e' Hi). f_equal. lia. }
          destruct (reads e s); [|rewrite (IH _ m Hm At'); cbn; ring].
          cbn [sum_of] in Hm. destruct (cost_of e) as [q|] eqn:Hq; [|discriminate].
          destruct (sum_of cost_of (filter _ es)) as [rest|] eqn:Hrest; [|discriminate].
          assert (Hm' : m = Qred ((Z.of_N (limit e) # 1) * q + rest)) by congruence. clear Hm. subst m.
          rewrite (IH _ rest eq_refl At'). rewrite (Qeq_eqR _ _ (Qred_correct _)), Q2R_plus, Q2R_mult. f_equal.
          replace (Q2R (Z.of_N (limit e) # 1)) with (INR (N.to_nat (limit e))).
          2: { unfold Q2R. cbn [Qnum Qden]. rewrite Rinv_1, Rmult_1_r, INR_IZR_INZ, N_nat_Z. reflexivity. }
          specialize (At 0%nat e eq_refl). rewrite Nat.add_0_r, Hq in At.
          induction (N.to_nat (limit e)) as [|n IHn]; [cbn; ring|]. cbn [repeat total]. rewrite IHn, At, S_INR. ring. }
      assert (Spent : forall hist, spent (fun hist => total spends (here asks costs hist)) hist =
        total spends (here asks costs hist ++ used asks costs hist)).
      { induction hist as [|x hist IH]; cbn [spent used]; rewrite total_app; [cbn; ring|]. rewrite IH. reflexivity. }
      exists (fun hist => total spends (here asks costs hist)). split; [|split].
      - intros hist. apply total_nonneg. auto.
      - intros hist Ha. destruct (following hist Ha) as [e [He' [_ Hmeet]]]. specialize (Hmeet w' u d d' apart).
        unfold here, costs. rewrite Ha, He'. destruct (reads e u) eqn:Hr; [|apply Free; auto].
        cbn [total]. rewrite Rplus_0_r. unfold spends. rewrite He'.
        assert (Hin : In e (events p)) by (eapply nth_error_In; eauto).
        assert (Hs : exists q, cost_of e = Some q).
        { assert (Hf : In e (filter (fun e => reads e s) (events p))) by (apply filter_In; auto).
          revert Hm Hf. generalize (filter (fun e => reads e s) (events p)). clear. intros es. revert m.
          induction es as [|a es IH]; intros m Hm Hf; [destruct Hf|]. cbn [sum_of] in Hm. destruct Hf as [->|Hf].
          - destruct (cost_of e); [eauto|discriminate].
          - destruct (cost_of a), (sum_of cost_of es) as [r|]; try discriminate. eauto. }
        destruct Hs as [q Hq]. rewrite Hq. apply (Cost e q); auto.
      - intros hist. rewrite Spent, <- Sum. destruct (within hist) as [rest Hrest].
        rewrite (total_perm spends _ _ Hrest), (total_app spends _ rest).
        pose proof (total_nonneg spends rest (fun i _ => Nonneg i)). lra.
    Qed.

    Lemma budget_direction : by_budgets (events p) epsilon delta s = true ->
      approximate (Q2R epsilon) (Q2R delta) asks (draw d) (draw d').
    Proof.
      unfold by_budgets. intros G. cbv zeta in G.
      assert (Formed : forall e, In e (events p) -> well_formed (what e) = true).
      { intros e He. pose proof formed as F. rewrite forallb_forall in F. apply F. apply in_map. exact He. }
      apply orb_prop in G. destruct G as [G|G].
      - unfold pure_at_most in G. destruct (sum_of pure_of _) as [m|] eqn:Hm; [|discriminate].
        apply andb_prop in G. destruct G as [Hb Hd]. apply le_R in Hb, Hd. rewrite zero_R in Hd.
        apply (pure_sum_approximate (Q2R m)); auto. apply within_budget with pure_of; auto; [apply pure_free|].
        intros e q He Hq. split; [eapply pure_nonneg; eauto|]. intros P Q H. eapply pure_met; eauto.
      - unfold gaussian_at_most in G. destruct (sum_of square_of _) as [m|] eqn:Hm; [|discriminate].
        apply andb_prop in G. destruct G as [G HC]. apply andb_prop in G. destruct G as [G Hd].
        apply andb_prop in G. destruct G as [Hm0 He]. apply le_R in Hm0, He, Hd. rewrite zero_R in Hm0, He, Hd.
        apply (gaussian_approximate m); auto. apply within_budget with square_of; auto; [apply gdp_free|].
        intros e q He' Hq. split; [eapply square_nonneg; eauto|]. intros P Q H. eapply square_met; eauto.
    Qed.

    Hypothesis checked : by_lattices par lo (events p) (powers par w (events p)) epsilon delta s = true.

    Let ends := match w with There => there par | Back => back par end.
    Let lattice_at := lattice_of par w.
    Let default : ranged := (Event (Response 0) 0 None, []).
    Let pair_at (i : nat) : pair := pair_of (bits par) h (lattice_at (nth i (combine (events p) ends) default)).

    Let h_pos : (0 < h)%R. Proof. apply h_pos. exact step_pos. Qed.
    Let decayed_h : (IZR lo <= exp (- h) * unit_of (bits par) <= IZR hi)%R. Proof. apply decay_sound. exact decayed. Qed.

    Let lattice_good ee : bounds (bits par) h (pair_of (bits par) h (lattice_at ee)) (lattice_at ee).
    Proof.
      pose proof (dots_sound (bits par) (spacing par) h_pos (knots par w (what (fst ee)) (snd ee))) as H.
      cbv zeta in H. apply bounds_self; apply H.
    Qed.

    Let length_ends : (length (events p) <= length ends)%nat.
    Proof.
      unfold by_lattices in checked. apply andb_prop in checked. destruct checked as [Hlen _].
      apply Nat.eqb_eq in Hlen. unfold powers in Hlen. rewrite map_length, combine_length in Hlen. fold ends in Hlen. lia.
    Qed.

    Let nth_event i e : nth_error (events p) i = Some e -> exists blocks, nth i (combine (events p) ends) default = (e, blocks).
    Proof.
      intros He. assert (Hi : (i < length (events p))%nat) by (apply nth_error_Some; congruence).
      assert (Hc : nth_error (combine (events p) ends) i <> None).
      { apply nth_error_Some. rewrite combine_length. lia. }
      destruct (nth_error (combine (events p) ends) i) as [[e' blocks]|] eqn:Hn; [|congruence].
      exists blocks. rewrite (nth_error_nth _ _ _ Hn). f_equal.
      assert (G : forall (es : list event) (ks : list (list block)) i, nth_error (combine es ks) i = Some (e', blocks) -> nth_error es i = Some e').
      { induction es as [|a es IH]; intros [|k ks] [|j] Hj; cbn [combine nth_error] in *; try discriminate; eauto. congruence. }
      specialize (G _ _ _ Hn). congruence.
    Qed.

    Let releases_cost hist : asks hist = true ->
      match costs hist with Some i => dominates (pair_at i) (draw d hist) (draw d' hist) | None => same (draw d hist) (draw d' hist) end.
    Proof.
      intros Ha. destruct (following hist Ha) as [e [He [_ Hmeet]]]. specialize (Hmeet w' u d d' apart).
      unfold costs. rewrite He. destruct (reads e u); auto.
      destruct (nth_event _ _ He) as [blocks Hn]. unfold pair_at. rewrite Hn. unfold lattice_at, lattice_of. cbn [fst snd].
      assert (Hk : In (what e) (map what (events p))) by (apply in_map; eapply nth_error_In; eauto).
      apply (dots_sound (bits par) (spacing par) h_pos). intros s' z Hz f Hf.
      pose proof formed as F. rewrite forallb_forall in F. specialize (F _ Hk).
      apply (knots_bound par w (what e) blocks); auto.
    Qed.

    Lemma direction : approximate (Q2R epsilon) (Q2R delta) asks (draw d) (draw d').
    Proof.
      assert (Hh : (0 <= h)%R) by (pose proof h_pos; lra).
      destruct (products_of pair_at lattice_at s lattice_good (events p) ends 0 length_ends) as [ls [E F]].
      { intros i ee Hi. unfold pair_at. rewrite (nth_error_nth _ _ _ Hi). reflexivity. }
      pose proof (bounds_products (bits par) h Hh (budget par) _ _ F) as B. rewrite <- E in B. clear E F ls.
      destruct B as [Proper [_ [Good Below]]].
      apply (plan_sound asks (draw d) (draw d') pair_at (all_of s (events p) 0) costs).
      - intros i Hi. rewrite Forall_forall in Proper. apply Proper. apply in_map. exact Hi.
      - exact within.
      - exact releases_cost.
      - unfold by_lattices in checked. apply andb_prop in checked. destruct checked as [_ C].
        apply Rle_trans with (1 := Below _ (Rlt_le _ _ (exp_pos _))).
        apply (at_most_delta_sound (bits par) (spacing par) lo); auto. apply decayed_h.
    Qed.
  End Direction.
End Way.

Theorem check_account_sound par p epsilon delta : check_account par p epsilon delta = true ->
  forall record message (distance : record -> record -> R) (asks : history message -> bool)
    (draw : data record -> history message -> law message) (event_of : history message -> nat),
  follows asks draw event_of p ->
  always (neighbours distance (between p)) draw (approximate (Q2R epsilon) (Q2R delta) asks).
Proof.
  intros H record message distance asks draw event_of following d d' Hnear. unfold check_account in H.
  destruct (decay (bits par) (spacing par)) as [[lo hi]|] eqn:Hdecay; [|discriminate].
  apply andb_prop in H. destruct H as [H Hway]. apply andb_prop in H. destruct H as [H Hformed].
  apply andb_prop in H. destruct H as [Hstep Hlo]. apply Z.ltb_lt in Hstep. apply Z.leb_le in Hlo.
  assert (Go : forall w w' u, differ (between p) w' u d d' -> check_way par lo w (events p) epsilon delta = true ->
    (w = w' \/ forallb symmetric (map what (events p)) = true) ->
    approximate (Q2R epsilon) (Q2R delta) asks (draw d) (draw d')).
  { intros w w' u Hd Hc Hw. destruct (class_of (events p) u) as [s [Hs Hmax]].
    unfold check_way in Hc. rewrite forallb_forall in Hc. specialize (Hc s Hs). cbv zeta in Hc.
    apply orb_prop in Hc. destruct Hc as [Hc|Hc].
    { apply (budget_direction asks draw event_of p epsilon delta Hformed following w' s u d d'); auto. }
    apply (direction asks draw event_of par lo hi p epsilon delta Hdecay Hstep Hlo Hformed following w w' s u d d'); auto.
    intros k A P Q Hk Hm. destruct Hw as [->|Hsym]; auto. rewrite forallb_forall in Hsym.
    apply symmetric_meets with w'; auto. }
  unfold neighbours in Hnear. destruct (between p) eqn:Hrel; try discriminate.
  - apply andb_prop in Hway. destruct Hway as [Hsym Hway]. destruct Hnear as [u [r [r' [Hr [Hr' Hat]]]]].
    apply (Go There There u); auto. split; auto. exists r, r'. auto.
  - apply andb_prop in Hway. destruct Hway as [Hthere Hback]. destruct Hnear as [[u [r [Hr [Hr' Hat]]]]|[u [r [Hr [Hr' Hat]]]]].
    + apply (Go There There u); auto. split; auto. exists r. auto.
    + assert (Hd : differ AddRemove Back u d d').
      { split; [intros v Hv; symmetry; apply Hat; auto|]. exists r. auto. }
      apply orb_prop in Hback. destruct Hback as [Hsym|Hback]; [apply (Go There Back u)|apply (Go Back Back u)]; auto.
Qed.
