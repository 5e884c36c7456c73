(** One leaf, released over many covers: a unit pays for those that hold it. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String FunctionalExtensionality.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Bounds Powers Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.noise Require Import Infer.
From DP.composition Require Import Infer Views Compose Parts Spread.
From DP.conversions Require Import Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Lemma all_nth {A} (l : list A) a : map (fun i => nth i l a) (seq 0 (List.length l)) = l.
Proof.
  induction l as [|x l IH]; auto. cbn [List.length seq map nth]. f_equal. rewrite <- seq_shift, map_map. exact IH.
Qed.

Lemma filter_map {A B} (f : B -> bool) (g : A -> B) l : List.length (filter f (map g l)) = List.length (filter (fun a => f (g a)) l).
Proof. induction l as [|a l IH]; auto. cbn [map filter]. destruct (f (g a)); cbn [List.length]; auto. Qed.

Lemma spent_total {M A} (c : A -> history M -> R) l h : spent (fun h => total (fun a => c a h) l) h = total (fun a => spent (c a) h) l.
Proof.
  induction h as [|m h IH]; cbn [spent].
  - rewrite Rplus_0_r. apply total_ext. intros; ring.
  - rewrite IH, <- total_plus. auto.
Qed.

Lemma repeated_times c most c' : (0 <= most)%Z -> curve_sane c -> repeated c most = Some c' ->
  curve_sane c' /\ match c with Lattice v s k => c' = Lattice v s (k * most) | _ => times_curve (INR (Z.to_nat most)) c c' end.
Proof.
  intros Hm HS HR.
  assert (EN : INR (Z.to_nat most) = IZR most) by (rewrite INR_IZR_INZ, Z2Nat.id; auto).
  assert (PN : 0 <= IZR most) by (apply IZR_le; auto). unfold repeated in HR. rewrite EN.
  destruct c; simpl in HS; try (destruct (_ || _)%bool eqn:E in HR; [|discriminate]); cbn [amounts map rebuilt] in HR;
    try (injection HR as <-; cbn [curve_sane times_curve]; rewrite ?times_R, ?of_Z_R; split; [nra|]; lra); try (injection HR as <-; cbn [curve_sane times_curve]; rewrite ?times_R, ?of_Z_R; split; [split; nra|]; lra).
  - injection HR as <-. rewrite orb_false_r in E. apply Z.eqb_eq in E. subst most. cbn [curve_sane times_curve]. rewrite times_R, of_Z_R. split; [lra|].
    split; lra.
  - injection HR as <-. split; [|auto]. cbn [curve_sane]. split; [tauto|]. apply Z.mul_nonneg_nonneg; tauto.
  - rewrite map_length, map_length, Nat.eqb_refl in HR. injection HR as <-. clear E.
    assert (G : forall o y, In (o, y) (combine (map fst points) (map (times (of_Z most)) (map snd points))) -> exists x, In (o, x) points /\ Q2R y = IZR most * Q2R x).
    { clear. induction points as [|[a x] points IH]; intros o y Hin; cbn [map combine fst snd] in Hin; [destruct Hin|]. destruct Hin as [E|Hin].
      - injection E as <- <-. exists x. split; [left; auto|]. rewrite times_R, of_Z_R. auto.
      - destruct (IH o y Hin) as [z [Hz E]]. exists z. split; [right; auto | auto]. }
    split.
    + intros o b Hin. destruct (G o b Hin) as [x [Hx ->]]. destruct (HS o x Hx). split; auto. nra.
    + intros o y Hin. destruct (G o y Hin) as [x [Hx ->]]. exists x. split; auto. lra.
Qed.

(** The line of a leaf over covers. *)
Section Over.
  Variable W : world.
  Local Notation H := (history (message W)).
  Variables (leaf covers : line).

  Lemma nodes_line s law rel q releases most widest units total found_total ds o' :
    says leaf = Private s law rel Central None -> says covers = Covered q releases most widest units ->
    of_one_unit (says leaf) = true -> of_persons leaf = false -> departed leaf = [] -> repeated law most = Some total ->
    all_draws [] [leaf; covers] = Some ds -> found_total = total ->
    (o' = Central \/ (o' = Local /\ widest = 1%Z)) ->
    holds W leaf -> holds W covers -> well_made leaf -> well_made covers ->
    let n := Line (Private s total rel o' (Some units)) (over_covers (covers_of covers) ds) [] Once [] false [] in
    holds W n /\ well_made n.
  Proof.
    intros Hs Hsc Hone Hper Hdep Hrep Hds _ Ho Hl Hc Ml Mc nn.
    assert (Hbare : bare covers) by (apply Mc; rewrite Hsc; reflexivity).
    pose proof (bare_alike leaf covers ds Hbare Hds) as Ea.
    unfold holds in Hl, Hc. rewrite Hs in Hl. rewrite Hsc in Hc. destruct units as [first last].
    rewrite Hper, Hdep in Hl. set (o := covers_of covers) in *.
    destruct Hc as [[Hne Hreads] [Hlen [Hmet [[u0 Hu0] Hspan]]]].
    assert (Hmost : (0 <= most)%Z) by lia.
    destruct Ml as [_ [M1 M2]]. rewrite Hs in M2. destruct M2 as [M2 M3].
    destruct (repeated_times law most total Hmost M2 Hrep) as [Hsane Htimes].
    rewrite Hs in Hone. cbn [of_one_unit] in Hone. apply negb_true_iff in Hone.
    destruct Hl as [PN [PV PA]].
    change (over_covers o ds) with (spread_over o ds) in *. set (ds' := spread_over o ds) in *.
    assert (Ea' : alike_draws (spread_over o (drawn leaf)) ds') by (apply alike_spread; auto).
    split.
    2: { unfold well_made, nn; cbn [says drawn departed is_private]. split; [discriminate|]. split; [intros k []|]. split; [auto | discriminate]. }
    unfold holds, nn; cbn [says drawn departed of_persons views]. split; [|split].
    - intros h l p Hlab Hk Hp. fold o in Hk. change (over_covers o ds) with ds' in Hk. unfold ds' in Hk. rewrite lookup_spread in Hk.
      destruct (lookup (key l) ds) as [p0|] eqn:E; [|discriminate]. injection Hk as <-. cbn in Hp.
      apply (PN h l p0); auto. rewrite Ea. auto.
    - intros s0 [].
    - intros HE. fold o in HE. change (over_covers o ds) with ds' in HE. fold o. change (over_covers o ds) with ds'.
      assert (HE' : exclusive W (spread_over o (drawn leaf))) by (apply (alike_exclusive W ds'); auto; intros k; symmetry; apply Ea').
      destruct (PA o HE') as [G _]. rewrite (alike_of W _ _ Ea') in G.
      (* every release reads its cover *)
      assert (Hover : forall h, of_draws W ds' h = true -> exists l, next W h = Some l /\ Facts.over (at_place l) = o).
      { intros h Hh. apply of_draws_spec in Hh. destruct Hh as [l [Hlab Hk]]. exists l. split; auto. unfold ds' in Hk. rewrite lookup_spread in Hk.
        destruct (lookup (key l) ds) as [p0|]; [|discriminate]. injection Hk as Hk. rewrite <- Hk. reflexivity. }
      set (cl := covers_list o) in *.
      assert (Hcover : forall h, of_draws W ds' h = true -> exists l i, next W h = Some l /\ index l = Z.of_nat i /\ (i < List.length cl)%nat /\
        forall d d', (forall u, holds_unit u (nth i cl (0, 0)%Z) = true -> d u = d' u) -> same (ideal W h d) (ideal W h d')).
      { intros h Hh. destruct (Hover h Hh) as [l [Hlab Hov]]. destruct (Hreads h l Hlab Hov) as [a [b [Hcov Hsame]]].
        unfold cover in Hcov. destruct (index l <? 0)%Z eqn:Ei; [discriminate|]. apply Z.ltb_ge in Ei.
        exists l, (Z.to_nat (index l)). split; [auto|split; [lia|]]. fold cl in Hcov. split; [apply nth_error_Some; congruence|].
        intros d d' Ha. apply Hsame. intros u Hu. apply Ha. rewrite (nth_error_nth _ _ _ Hcov). unfold holds_unit. cbn [fst snd].
        apply andb_true_iff. rewrite !Z.leb_le. auto. }
      assert (Hdraw : forall d h, draw W [] d h = ideal W h d) by (intros d h; unfold draw; destruct (next W h); auto).
      set (ps := map (fun i => (instance W ds' (Z.of_nat i), nth i cl (0, 0)%Z)) (seq 0 (List.length cl))).
      assert (Hreading : forall u, reading u ps = met o u).
      { intros u. unfold reading, ps. rewrite filter_map. cbn [snd]. unfold met. fold cl. rewrite <- (all_nth cl (0, 0)%Z) at 2.
        rewrite filter_map. reflexivity. }
      assert (Hall : of_draws W ds' = any_of ps).
      { apply functional_extensionality. intros h. apply bool_ext. split; intros Hh.
        - destruct (Hcover h Hh) as [l [i [Hlab [Hi [Hlt _]]]]]. apply existsb_exists. exists (instance W ds' (Z.of_nat i), nth i cl (0, 0)%Z). split.
          + unfold ps. apply in_map_iff. exists i. split; auto. apply in_seq. lia.
          + cbn [fst]. unfold instance. rewrite Hh, Hlab. simpl. apply Z.eqb_eq; auto.
        - apply existsb_exists in Hh. destruct Hh as [p [Hp Hh]]. unfold ps in Hp. apply in_map_iff in Hp. destruct Hp as [i [<- _]].
          apply instance_of_draws in Hh. auto. }
      assert (Hspans : Forall (reads_span (draw W [])) ps).
      { apply Forall_forall. intros p Hp. unfold ps in Hp. apply in_map_iff in Hp. destruct Hp as [i [<- Hi]].
        intros h d d' Hh Ha. cbn [fst snd] in *. rewrite !Hdraw. pose proof (instance_of_draws W _ _ _ Hh) as Hh'.
        destruct (Hcover h Hh') as [l [j [Hlab [Hj [_ Hsame]]]]]. apply instance_spec in Hh. destruct Hh as [l' [Hlab' [_ Hi']]].
        assert (j = i) by (rewrite Hlab in Hlab'; injection Hlab' as <-; lia). subst j. apply Hsame; auto. }
      split; [|split].
      + (* the cost *)
        destruct (amounts law) as [am|] eqn:Eam.
        { assert (Ham : amounts law <> None) by congruence.
          assert (Htimes' : times_curve (INR (Z.to_nat most)) law total) by (destruct law; auto; discriminate).
          change (satisfied W false rel [] total (of_draws W ds') (only (of_draws W ds'))). unfold satisfied. rewrite Hall.
          apply (satisfies_spread (distance W) rel (draw W []) Hone law total (Z.to_nat most) ps); auto.
          - intros u. rewrite Hreading. specialize (Hmet u). lia.
          - intros p Hp. unfold ps in Hp. apply in_map_iff in Hp. destruct Hp as [i [<- _]]. cbn [fst].
            apply (satisfies_each _ _ _ _ _ Ham). intros g ->. apply (satisfies_each _ _ _ _ _ Ham) with (1 := G).
            exists (Z.of_nat i). apply (alike_instance W). intros k. symmetry. apply Ea'. }
        destruct law as [e|e d0|rho|m|m d0|eta|variance shifts times0|points]; try discriminate.
        subst total. intros x x' Hx. destruct (G x x' Hx) as [S [S1 [S2 S3]]].
        destruct (near_at (distance W) rel Hone x x' Hx) as [u [HO _]].
        set (holding := fun h : H => match next W h with Some l => holds_unit u (nth (Z.to_nat (index l)) cl (0, 0)%Z) | None => false end).
        exists (fun h => if holding h then S h else None). split; [|split].
        * intros h Hh. specialize (S1 h Hh). destruct (holding h) eqn:E; auto. rewrite !Hdraw.
          destruct (Hcover h Hh) as [l [i [Hlab [Hi [_ Hsame]]]]]. apply Hsame. intros v Hv. apply HO. intros ->.
          unfold holding in E. rewrite Hlab, Hi, Nat2Z.id in E. congruence.
        * intros h h' s1 s2 Hh Hh' He E1 E2. destruct (holding h); [|discriminate]. destruct (holding h'); [|discriminate].
          apply (S2 h h'); auto.
        * intros g -> h. set (is := filter (fun i => holds_unit u (nth i cl (0, 0)%Z)) (seq 0 (List.length cl))).
          apply Rle_trans with (total (fun i => spent (fun h => match S h with Some _ => if instance W ds' (Z.of_nat i) h then 1 else 0 | None => 0 end) h) is).
          -- rewrite <- spent_total. apply spent_le. intros h0.
             assert (N : forall i, 0 <= match S h0 with Some _ => if instance W ds' (Z.of_nat i) h0 then 1 else 0 | None => 0 end).
             { intros i. destruct (S h0); [|lra]. destruct (instance W ds' (Z.of_nat i) h0); lra. }
             destruct (holding h0) eqn:E; [|apply total_nonneg; auto]. destruct (S h0) eqn:ES; [|apply total_nonneg; intros; lra].
             destruct (of_draws W ds' h0) eqn:Eh; [|apply total_nonneg; intros; destruct (instance _ _ _ _); lra].
             destruct (Hcover h0 Eh) as [l0 [i [Hlab [Hi [Hlt _]]]]]. unfold holding in E. rewrite Hlab, Hi, Nat2Z.id in E.
             apply Rle_trans with (if instance W ds' (Z.of_nat i) h0 then 1 else 0).
             ++ unfold instance. rewrite Eh, Hlab. cbn [andb]. rewrite Hi, Z.eqb_refl. lra.
             ++ apply (list_total_in (fun i => if instance W ds' (Z.of_nat i) h0 then 1 else 0)); [intros a; destruct (instance _ _ _ _); lra|].
                unfold is. apply filter_In. split; [apply in_seq; lia | auto].
          -- apply Rle_trans with (total (fun _ => IZR times0) is).
             ++ apply total_le. intros i _. apply (S3 (instance W ds' (Z.of_nat i))). exists (Z.of_nat i). apply (alike_instance W); auto. intros k; symmetry; apply Ea'.
             ++ rewrite total_const, mult_IZR.
                assert (EL : List.length is = met o u).
                { unfold is, met. fold cl. rewrite <- (all_nth cl (0, 0)%Z) at 2. rewrite filter_map. reflexivity. }
                rewrite EL, Rmult_comm, INR_IZR_INZ. apply Rmult_le_compat_l; [apply IZR_le; apply M2 | apply IZR_le; apply Hmet].
      + (* local messages read one unit *)
        intros E h Hh. destruct Ho as [->|[_ Hw]]; [discriminate|]. destruct (Hover h Hh) as [l [Hlab Hov]].
        destruct (Hreads h l Hlab Hov) as [a [b [Hcov Hsame]]]. exists a. intros d d' Hd. apply Hsame. intros v Hv.
        assert (Hin : In (a, b) cl). { unfold cover in Hcov. destruct (index l <? 0)%Z; [discriminate|]. apply nth_error_In in Hcov. auto. }
        destruct (Hspan a b Hin) as [_ [_ [_ Hw']]]. replace v with a by lia. auto.
      + intros _ h d d' Hh Ha. rewrite !Hdraw. destruct (Hcover h Hh) as [l [i [Hlab [Hi [Hlt Hsame]]]]]. apply Hsame. intros v Hv. apply Ha.
        destruct (nth i cl (0, 0)%Z) as [a b] eqn:Eab. assert (Hin : In (a, b) cl) by (rewrite <- Eab; apply nth_In; auto).
        destruct (Hspan a b Hin) as [H1 [H2 [H3 _]]]. unfold holds_unit in Hv. cbn [fst snd] in Hv. apply andb_prop in Hv. rewrite !Z.leb_le in Hv. lia.
  Qed.
End Over.

Lemma follow_over st found n : (st = ByNodes \/ st = ByLocal) -> follow st found = Some n ->
  exists leaf covers gives ds, found = [leaf; covers] /\ composition st [says leaf; says covers] = Some gives /\
    of_persons leaf = false /\ departed leaf = [] /\ all_draws [] found = Some ds /\
    n = Line gives (over_covers (covers_of covers) ds) [] Once [] false [].
Proof.
  intros Hst HF. unfold follow in HF.
  destruct (infer st (map says found)) as [gives|] eqn:Ei; [|discriminate].
  destruct (noise_is_named st found && one_table st found)%bool eqn:Et; [|discriminate].
  assert (Hn : forall f, law_of st f = None) by (intros f; destruct Hst as [->| ->]; reflexivity). rewrite Hn in HF.
  destruct (all_draws [] found) as [ds|] eqn:Ed; [|discriminate].
  destruct found as [|leaf [|covers [|]]]; try (destruct Hst as [->| ->]; discriminate).
  exists leaf, covers, gives, ds. split; [auto|]. apply andb_prop in Et. destruct Et as [_ Et].
  destruct (stays leaf) eqn:Es; [|destruct Hst as [->| ->]; discriminate].
  unfold stays in Es. destruct (departed leaf) eqn:Edep; [|discriminate].
  assert (Ep : of_persons leaf = false).
  { destruct Hst as [->| ->]; cbn [one_table forallb] in Et; apply andb_prop in Et; destruct Et as [Et _]; apply negb_true_iff; auto. }
  destruct Hst as [->| ->]; (split; [exact Ei|split; [auto|split; [auto|split; [auto|]]]]); injection HF as <-; auto.
Qed.

Lemma nodes_inv leaf covered whole : nodes leaf covered = Some whole -> exists s law rel releases most widest units total,
  leaf = Private s law rel Central None /\ covered = Covered s releases most widest units /\ of_one_unit leaf = true /\
  repeated law most = Some total /\ whole = Private s total rel Central (Some units).
Proof.
  unfold nodes. destruct leaf as [s law rel o reads| | | | | | | | | | | | | |]; try discriminate. destruct o; try discriminate. destruct reads; try discriminate.
  destruct covered as [| | | | | |q releases most widest units| | | | | | | |]; try discriminate.
  destruct (String.eqb q s && _)%bool eqn:E; [|discriminate]. apply andb_prop in E. destruct E as [E1 E2]. apply String.eqb_eq in E1. subst q.
  destruct (repeated law most) as [total|] eqn:Er; [|discriminate]. intros E. injection E as <-.
  exists s, law, rel, releases, most, widest, units, total. auto.
Qed.

Theorem nodes_sound : sound_rule "nodes".
Proof.
  intros st HR. destruct st; try discriminate HR. clear HR. intros W found n HW HH HM HF _.
  destruct (follow_over ByNodes found n (or_introl eq_refl) HF) as [leaf [covers [gives [ds [-> [Hc [Hp [Hd [Ha ->]]]]]]]]].
  cbn [composition] in Hc. destruct (nodes_inv _ _ _ Hc) as [s [law [rel [releases [most [widest [units [total [E1 [E2 [E3 [E4 ->]]]]]]]]]]]].
  apply (nodes_line W leaf covers s law rel s releases most widest units total total ds Central); auto.
  - apply (Forall_inv HH).
  - apply (Forall_inv (Forall_inv_tail HH)).
  - apply (Forall_inv HM).
  - apply (Forall_inv (Forall_inv_tail HM)).
Qed.

Theorem local_sound : sound_rule "local".
Proof.
  intros st HR. destruct st; try discriminate HR. clear HR. intros W found n HW HH HM HF _.
  destruct (follow_over ByLocal found n (or_intror eq_refl) HF) as [leaf [covers [gives [ds [-> [Hc [Hp [Hd [Ha ->]]]]]]]]].
  cbn [composition] in Hc. unfold local in Hc. destruct (nodes (says leaf) (says covers)) as [whole|] eqn:En; [|discriminate].
  destruct (nodes_inv _ _ _ En) as [s [law [rel [releases [most [widest [units [total [E1 [E2 [E3 [E4 ->]]]]]]]]]]]].
  rewrite E2 in Hc. destruct rel; try discriminate. destruct (widest =? 1)%Z eqn:Ew; [|discriminate]. apply Z.eqb_eq in Ew. injection Hc as <-.
  apply (nodes_line W leaf covers s law ReplaceOne s releases most widest units total total ds Local); auto.
  - apply (Forall_inv HH).
  - apply (Forall_inv (Forall_inv_tail HH)).
  - apply (Forall_inv HM).
  - apply (Forall_inv (Forall_inv_tail HM)).
Qed.
