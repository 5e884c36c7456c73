(** Discrete Gaussian noise on a fine grid is Gaussian private but for a distance: fine_gaussian.

    The ideal program puts rounded normal numbers where the program has discrete ones ([fine_line], of any family of
    laws that are ideal at every release of the key). *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String Classical.
From Coquelicot Require Import Rcomplements.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps Products.
From DP.noise Require Import Infer Releases Laws Triangles Normals Discrete Proofs Gaussian Rounded Fine Lattices.
From DP.conversions Require Import Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Section Line.
  Variable W : world.
  Hypothesis HW : lawful W.
  Local Notation H := (history (message W)).
  Local Notation D := (data (record W)).
  Variables (l m : line) (q key : string) (how : norm) (b sq variance grid distance : Q) (coordinates : Z)
    (rel : relation) (reads : interval).
  Hypotheses (Hl : holds W l) (Hm : holds W m) (Ml : well_made l).
  Hypotheses (Hs : says l = Stable q how b rel reads) (Hn : says m = Numbers q coordinates).
  Hypothesis Hhow : how = L2Squared \/ how = FrobeniusSquared.
  Hypotheses (Hv : 0 < Q2R variance) (Hg : 0 < Q2R grid) (Hc : (1 <= coordinates)%Z).
  Let symmetric := is_frobenius how.
  Let v := Q2R variance / (Q2R grid * Q2R grid).
  Let K := if symmetric then / Q2R variance / 2 else / Q2R variance.
  Hypotheses (Hv1 : 1 <= v) (Hsq : Q2R sq = K * Q2R b) (Hdist : IZR coordinates * tau v <= Q2R distance).
  Let noisy := FineNormal variance grid coordinates symmetric.
  Let chs := changes l.
  Hypothesis Hdraws : draws_as_said W key (Place q chs noisy Once).

  Let placed (o : spread) := forall h lab, next W h = Some lab -> Definitions.key lab = key ->
    at_place lab = Place q chs noisy o.

  Definition fits (h : H) (i : D -> Laws.law (message W)) : Prop := forall o, placed o ->
    forall lab, next W h = Some lab ->
    Definitions.key lab = key -> fine_good W variance grid symmetric h (numbers_at W lab h) i.

  Lemma K_nonneg : 0 <= K.
  Proof. unfold K. assert (0 < / Q2R variance) by (apply Rinv_0_lt_compat; auto). destruct symmetric; lra. Qed.

  Lemma tau_nonneg : 0 <= tau v.
  Proof.
    unfold tau. assert (0 < sqrt v) by (apply sqrt_lt_R0; lra).
    apply Rplus_le_le_0_compat; apply Rdiv_le_0_compat; try lra. apply Rmult_lt_0_compat; lra.
  Qed.

  Lemma numbers_are o h lab : placed o -> next W h = Some lab -> Definitions.key lab = key ->
    numbers_at W lab h = numbers_of W (Definitions.key lab) (at_place lab) q chs (Facts.over (at_place lab))
      (index lab) h.
  Proof. intros HP Hlab Hk. unfold numbers_at. rewrite (HP h lab Hlab Hk). reflexivity. Qed.

  Lemma fine_mirrored o h lab : placed o -> next W h = Some lab -> Definitions.key lab = key -> symmetric = true ->
    mirrored W (side W q) (numbers_at W lab h).
  Proof.
    intros HP Hlab Hk E. assert (Eh : how = FrobeniusSquared) by (clear - E; unfold symmetric in E; destruct how;
      try discriminate; auto).
    pose proof Hl as Hl'. unfold holds in Hl'. rewrite Hs in Hl'.
    assert (HFr : changes l = [] /\ size W q = (side W q * side W q)%nat /\
      forall o i h d a b, (a < side W q)%nat -> (b < side W q)%nat ->
       value W q o i h d (a * side W q + b)%nat = value W q o i h d (b * side W q + a)%nat).
    { clear - Hl' Eh. destruct reads as [[f0 l0]|]; [destruct Hl' as [[X|X] _]; congruence|].
      destruct Hl' as [Hfrob _]. apply (Hfrob Eh). }
    destruct HFr as [Hch [Hsize Hval]].
    rewrite (numbers_are o h lab HP Hlab Hk). unfold chs. rewrite Hch. apply numbers_mirrored; auto.
  Qed.

  Variable f : H -> D -> Laws.law (message W).
  Hypothesis Hf : forall h, fits h (f h).

  Lemma bound_nonneg : 0 <= Q2R b.
  Proof. apply (stable_line l q how b rel reads Ml Hs). Qed.

  Lemma fine_line : private_holds W q (NearGdp sq distance) rel Central reads [(key, Place q chs noisy Once)] []
    false [].
  Proof.
    pose proof bound_nonneg as Hb. pose proof K_nonneg as HK. pose proof tau_nonneg as HT.
    assert (Hco : 1 <= IZR coordinates) by (apply IZR_le in Hc; auto).
    assert (Hsq0 : 0 <= Q2R sq) by (rewrite Hsq; apply Rmult_le_pos; auto).
    assert (Hd0 : 0 <= Q2R distance) by nra.
    unfold private_holds. split; [|split].
    - intros h lab p Hlab Hk Hp. apply lookup_one in Hk. destruct Hk as [_ ->]. simpl in Hp.
      replace q with (query (at_place lab)); [apply names_query; auto | rewrite Hp; auto].
    - intros s [].
    - pose proof Hl as HL0. pose proof Hm as Hm'. unfold holds in HL0, Hm'. rewrite Hs in HL0. rewrite Hn in Hm'.
      destruct reads as [[first last]|] eqn:Er.
      + destruct HL0 as [Hsums [Hstream Hl']]. assert (Ehow : how = L2Squared) by (destruct Hhow, Hsums; congruence).
        rewrite Ehow in Hl'. change (counted L2Squared) with square in Hl'. destruct (Hl' key noisy) as [Hspent Hagree]. clear Hl'. intros HE.
        assert (HP : placed Once).
        { intros h lab Hlab Hk. symmetry. apply (HE h lab); auto. simpl. rewrite Hk, String.eqb_refl. auto. }
        assert (Hof : forall h, of_draws W [(key, Place q chs noisy Once)] h = true ->
          exists lab, next W h = Some lab /\ Definitions.key lab = key).
        { intros h Hh. apply of_draws_spec in Hh. destruct Hh as [lab [Hlab Hk]]. apply lookup_one in Hk.
          exists lab. tauto. }
        assert (Hon : forall h lab, next W h = Some lab -> Definitions.key lab = key ->
          on_place W key (Place q chs noisy Once) h = true).
        { intros h lab Hlab Hk. unfold on_place. rewrite Hlab, Hk, String.eqb_refl, (HP h lab Hlab Hk).
          destruct (place_dec _ _); [auto | congruence]. }
        assert (Hcount : forall h, spent (fun h => if on_place W key (Place q chs noisy Once) h
          then match next W h with Some lab => INR (List.length (numbers_at W lab h)) | None => 0 end else 0) h <=
            IZR coordinates).
        { intros h. specialize (Hm' key (Place q chs noisy Once) Once 0%Z h). cbn [made] in Hm'. unfold chs in *.
          rewrite Hstream in Hm'. exact Hm'. }
        split; [|split]; [|discriminate|].
        * intros g -> . exists (fun d h => f h d). intros d d' Hd.
          exists (fun h => K * if on_place W key (Place q chs noisy Once) h
            then match next W h with Some lab => total square (differences W
              (numbers_at W lab h) d d') | None => 0 end else 0).
          exists (fun h => tau v * if on_place W key (Place q chs noisy Once) h
            then match next W h with Some lab => INR (List.length (numbers_at W lab h)) | None => 0 end else 0).
          split; [|split].
          -- intros h. split; apply Rmult_le_pos; auto; (destruct (on_place _ _ _ _); [|lra]);
            (destruct (next W h); [|lra]).
             ++ apply total_nonneg. intros x _. unfold square. nra.
             ++ apply pos_INR.
          -- intros h Hh. destruct (Hof h Hh) as [lab [Hlab Hk]]. right. rewrite (Hon h lab Hlab Hk), Hlab.
             destruct (Hf h Once HP lab Hlab Hk) as [G1 [G2 G3]]. unfold draw. rewrite Hlab. cbn [existsb].
             split; [apply G1|]. rewrite (Rmult_comm (tau v)). split; apply G2.
          -- intros h. rewrite !spent_scale. rewrite Hsq. split; [apply Rmult_le_compat_l; auto|].
             specialize (Hcount h). apply Rmult_le_compat_l with (r := tau v) in Hcount; auto.
               apply Rle_trans with (1 := Hcount). rewrite Rmult_comm. exact Hdist.
        * intros _ h d d' Hh Ha. destruct (Hof h Hh) as [lab [Hlab Hk]]. unfold draw. rewrite Hlab. cbn [existsb].
          destruct (Hf h Once HP lab Hlab Hk) as [_ [_ G3]]. apply G3. intros c Hin.
          apply (Hagree h lab d d' c Hlab (HP h lab Hlab Hk) Ha Hin).
      + destruct HL0 as [Hfrob [Hstream Hstable]]. destruct Hdraws as [Hsteady _].
        cbn [query made Facts.how] in Hsteady.
        specialize (Hstable (Hsteady Hstream)). intros o HE. split; [|discriminate].
        assert (HP : placed o).
        { intros h lab Hlab Hk. symmetry. apply (HE h lab); auto. rewrite lookup_spread. simpl.
          rewrite Hk, String.eqb_refl. auto. }
        set (ds := spread_over o [(key, Place q chs noisy Once)]) in *.
        intros g [i ->]. exists (fun d h => f h d). intros d d' Hd.
        exists (fun h => if instance W ds i h then Q2R sq else 0),
          (fun h => if instance W ds i h then Q2R distance else 0).
        split; [|split].
        * intros h. destruct (instance W ds i h); lra.
        * intros h Hh. rewrite Hh. right. apply instance_spec in Hh. destruct Hh as [lab [Hlab [Hk Hi]]].
          unfold ds in Hk. rewrite lookup_spread in Hk.
            destruct (lookup (Definitions.key lab) _) eqn:E in Hk; [|discriminate]. apply lookup_one in E.
              destruct E as [E _].
          destruct (Hf h o HP lab Hlab E) as [G1 [G2 _]]. unfold draw. rewrite Hlab. cbn [existsb].
          assert (HN : numbers_at W lab h = numbers_of W (Definitions.key lab) (at_place lab) q chs (Facts.over
            (at_place lab)) (index lab) h) by (apply (numbers_are o); auto).
          assert (HL : INR (List.length (numbers_at W lab h)) <= IZR coordinates).
          { specialize (Hm' (Definitions.key lab) (at_place lab) (Facts.over (at_place lab)) (index lab) h).
            assert (EM : made (at_place lab) = chs) by (rewrite (HP h lab Hlab E); auto). cbv zeta in Hm'.
              rewrite EM in Hm'.
            change (is_stream chs = false) in Hstream. rewrite Hstream in Hm'. rewrite HN. exact Hm'. }
          split.
          -- apply (gdp_grows (K * total square (differences W (numbers_at W lab h) d d'))); [|apply G1]. split.
             ++ apply Rmult_le_pos; auto. apply total_nonneg. intros x _. unfold square. nra.
             ++ rewrite Hsq. apply Rmult_le_compat_l; auto. rewrite HN.
                specialize (Hstable (Definitions.key lab) (at_place lab) (Facts.over (at_place lab))
                  (index lab) h d d' Hd).
                destruct Hhow as [Eh|Eh]; rewrite Eh in Hstable; exact Hstable.
          -- assert (HB : INR (List.length (numbers_at W lab h)) * tau v <= Q2R distance).
             { apply Rle_trans with (2 := Hdist). apply Rmult_le_compat_r; auto. }
             split; apply (near_cost_grows _ _ _ _ HB); apply G2.
        * intros h. split; (apply spent_once; [lra|]; apply instance_once; auto).
  Qed.
End Line.

(** What the rule checks of the grid. *)
Lemma rounding_right square coordinates distance : (1 <= coordinates)%Z ->
  rounding_at_most square coordinates distance = true ->
  1 <= Q2R square /\ IZR coordinates * tau (Q2R square) <= Q2R distance.
Proof.
  intros Hc H. unfold rounding_at_most in H. cbv zeta in H.
  apply andb_prop in H. destruct H as [H H3]. apply andb_prop in H. destruct H as [H1 H2].
  assert (Hco : 1 <= IZR coordinates) by (apply IZR_le in Hc; auto).
  apply le_R in H1. rewrite one_R in H1. apply q_positive in H2. apply le_R in H3.
  set (rest := minus (times (Steps.over distance (of_Z coordinates)) square) (201643 # 10000000)) in *.
  assert (ER : Q2R rest = Q2R distance / IZR coordinates * Q2R square - 201643 / 10000000).
  { unfold rest. rewrite minus_R, times_R, over_R, of_Z_R by (rewrite of_Z_R; lra). f_equal. }
  rewrite !times_R in H3. replace (Q2R (1573 # 100000)) with (1573 / 100000) in H3 by (unfold Q2R; simpl; lra).
  split; auto. set (x := Q2R square) in *. set (r := Q2R rest) in *.
  assert (Hx : 0 < sqrt x) by (apply sqrt_lt_R0; lra). assert (Exx : sqrt x * sqrt x = x) by (apply sqrt_sqrt; lra).
  assert (Hr : 1573 / 100000 <= r * sqrt x).
  { apply Rnot_lt_le. intros N. assert (0 < r * sqrt x) by (apply Rmult_lt_0_compat; auto).
    assert (r * sqrt x * (r * sqrt x) < 1573 / 100000 * (1573 / 100000)) by (apply Rmult_le_0_lt_compat; lra).
    replace (r * sqrt x * (r * sqrt x)) with (r * r * (sqrt x * sqrt x)) in H0 by ring. rewrite Exx in H0. lra. }
  assert (ED : Q2R distance = IZR coordinates * ((r + 201643 / 10000000) / x)) by (rewrite ER; field; split; lra).
  rewrite ED. apply Rmult_le_compat_l; [lra|]. unfold tau.
  replace ((r + 201643 / 10000000) / x) with (201643 / 10000000 / x + r * sqrt x / (x * sqrt x)) by (field; split;
    lra).
  apply Rplus_le_compat_l. unfold Rdiv. apply Rmult_le_compat_r; [|exact Hr]. left.
    apply Rinv_0_lt_compat, Rmult_lt_0_compat; lra.
Qed.

(** The whole numbers that are drawn around. *)
Definition whole_of W (grid : Q) (h : history (message W)) : list (data (record W) -> Z) :=
  match next W h with Some lab => map (fun c d => Int_part (c d / Q2R grid)) (numbers_at W lab h) | None => [] end.

Lemma on_grid_whole W grid numbers whole : 0 < Q2R grid -> on_grid W (Q2R grid) numbers whole ->
  whole = map (fun c d => Int_part (c d / Q2R grid)) numbers.
Proof.
  intros Hg [HL HG]. revert whole HL HG. induction numbers as [|c numbers IH]; intros [|z whole] HL HG;
    try discriminate; auto.
  cbn [map]. f_equal.
  - apply FunctionalExtensionality.functional_extensionality. intros d. rewrite (HG c z (or_introl eq_refl) d).
    replace (Q2R grid * IZR (z d) / Q2R grid) with (IZR (z d)) by (field; lra). symmetry. apply Lattices.whole_floor.
  - apply IH; [simpl in HL; lia|]. intros c' z' Hin. apply HG. right; auto.
Qed.

Theorem fine_gaussian_sound : sound_rule "fine_gaussian".
Proof.
  intros s HR. destruct s; try discriminate HR. clear HR. intros W found n HW HH HM HF HT.
  unfold follow in HF. destruct (infer _ (map says found)) as [gives|] eqn:Ei; [|discriminate].
  destruct found as [|l [|m [|x found]]]; try (cbn [map infer noise] in Ei; try discriminate; destruct (says l);
    try discriminate; try (destruct (says m)); discriminate).
  cbn [map] in Ei. cbn [infer noise] in Ei.
  destruct (says l) as [| | |q how b rel reads| | | | | | | | | | |] eqn:Hs; try discriminate.
  destruct (says m) as [| | | | | | | |q' most| | | | | |] eqn:Hn; try discriminate.
  destruct (mu_squared how b variance) as [sq|] eqn:Hmu; [|discriminate].
  destruct (_ && _)%bool eqn:Hc in Ei; [|discriminate]. unfold drawn_on in Ei. injection Ei as <-.
  apply andb_prop in Hc. destruct Hc as [Hc C6]. apply andb_prop in Hc. destruct Hc as [Hc C5].
    apply andb_prop in Hc. destruct Hc as [Hc C4].
  apply andb_prop in Hc. destruct Hc as [Hc C3]. apply andb_prop in Hc. destruct Hc as [C1 C2].
  apply q_positive in C1, C2. apply Z.leb_le in C3. apply String.eqb_eq in C4. apply Z.eqb_eq in C5. subst q' most.
  destruct (rounding_right _ _ _ C3 C6) as [R1 R2].
  assert (Ev : Q2R (Steps.over variance (times grid grid)) = Q2R variance / (Q2R grid * Q2R grid)).
  { rewrite over_R; rewrite times_R; auto. nra. }
  rewrite Ev in R1, R2.
  destruct (mu_squared_cases _ _ _ _ Hmu C1) as [Hhow HQ].
  assert (Hsym : match how with FrobeniusSquared => true | _ => false end = is_frobenius how) by (destruct how; auto).
  destruct (_ && _)%bool in HF; [|discriminate]. cbn [law_of] in HF. cbn [first_changes] in HF. rewrite Hsym in HF.
    injection HF as <-.
  inversion HH as [|? ? Hl HH0]. inversion HH0 as [|? ? Hm _]. inversion HM as [|? ? Ml _]. subst.
  pose proof (stable_line l _ _ _ _ _ Ml Hs) as Hb0.
  assert (Hiv : 0 < / Q2R variance) by (apply Rinv_0_lt_compat; auto).
  assert (Hsq : 0 <= Q2R sq) by (rewrite HQ; apply Rmult_le_pos; auto; destruct (is_frobenius how); lra).
  destruct (HT key (Place q (changes l) (FineNormal variance grid coordinates
    (is_frobenius how)) Once)) as [HD [post HO]]; [left; auto|].
  assert (Hco : 1 <= IZR coordinates) by (apply IZR_le in C3; auto).
  split.
  - unfold holds; cbn [says drawn departed of_persons views].
    assert (Hf : forall h, fits W l q key how variance grid coordinates h (fun d => bind (each (map (fun zw =>
      image (Z.add (fst zw d)) (rounded_of (snd zw * (Q2R variance / (Q2R grid * Q2R grid)))))
      (weighed (is_frobenius how) (side W q) (whole_of W grid h) (fun _ => 0%Z)))) (post h))).
    { intros h o HP lab Hlab Hk. destruct (HO o HP h lab Hlab Hk) as [N [whole [HG [HN HQ']]]]. cbn [query] in HQ'.
      assert (EW : whole = whole_of W grid h) by (unfold whole_of; rewrite Hlab; apply on_grid_whole; auto).
        rewrite <- EW.
      apply (fine_made W variance grid q (is_frobenius how) C1 C2 R1 h (numbers_at W lab h) N whole (post h)); auto.
      intros E. apply (fine_mirrored W l q key how b variance grid coordinates rel reads Hl Hs o h lab); auto. }
    apply (fine_line W HW l m q key how b sq variance grid distance coordinates rel reads) with
      (f := fun h d => bind (each (map (fun zw => image (Z.add (fst zw d)) (rounded_of (snd zw * (Q2R variance /
        (Q2R grid * Q2R grid)))))
        (weighed (is_frobenius how) (side W q) (whole_of W grid h) (fun _ => 0%Z)))) (post h)); auto.
  - apply drawn_once_well_made.
    + simpl. split; auto. pose proof (tau_nonneg variance grid R1). nra.
    + intros ->. unfold holds in Hl. rewrite Hs in Hl. tauto.
Qed.
