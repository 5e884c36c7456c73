(** Two neighbours are told apart by the releases that read the unit in which they differ.

    Somebody adds up what he sees, each number weighed by how far it moves over its variance.  What he knows then is one
    normal number, of one of two means; in the end he decides by a coin that shows Phi of it, over a small width.  With
    Laplace noise on one number of one release he looks whether it is above a threshold. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String.
From Coquelicot Require Import Rcomplements.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.noise Require Import Infer Triangles Normals Gaussian Probits.
From DP.conversions Require Import Relations.
From DP.refutations Require Import Infer Proofs.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- many normal numbers *)

(** A weighed sum of what is seen: [entries] are means, deviations and weights. *)
Fixpoint weighed_sum {T} (weight : T -> R) (entries : list T) (seen : list R) : R :=
  match entries, seen with
  | e :: entries, b :: seen => weight e * b + weighed_sum weight entries seen
  | _, _ => 0
  end.

Lemma each_chance {T} (N : R -> R -> law R) (mean deviation weight : T -> R) : (forall s,
  0 < s -> normal_law s (N s)) ->
  forall l a, (forall e, In e l -> 0 < deviation e) ->
  each (map (fun e => N (deviation e) (mean e)) l) (fun y => Phi (a + weighed_sum weight l y))
  = Phi ((a + total (fun e => weight e * mean e) l) / sqrt (1 + total (fun e => square (weight e * deviation e)) l)).
Proof.
  intros HN. induction l as [|e l IH]; intros a HD; cbn [map each weighed_sum total].
  - simpl. rewrite !Rplus_0_r, sqrt_1. f_equal. field.
  - set (V := total (fun e => square (weight e * deviation e)) l) in *.
    set (M := total (fun e => weight e * mean e) l) in *.
    assert (V0 : 0 <= V) by (apply total_nonneg; intros; unfold square; apply Rle_0_sqr).
    set (q := sqrt (1 + V)) in *. assert (Q0 : 0 < q) by (apply sqrt_lt_R0; lra).
    assert (Q2 : q * q = 1 + V) by (apply sqrt_sqrt; lra).
    assert (D0 : 0 < deviation e) by (apply HD; left; auto).
    transitivity (N (deviation e) (mean e) (fun b => Phi ((a + M) / q + weight e / q * b))).
    + simpl. apply E_ext. intros b.
      rewrite (E_ext _ _ (fun y => Phi ((a + weight e * b) + weighed_sum weight l y))) by (intros y; f_equal; ring).
      rewrite IH by (intros; apply HD; right; auto). f_equal. field. lra.
    + rewrite (normal_chance (deviation e) (N (deviation e)) (mean e)) by auto. f_equal.
      set (s := square (weight e * deviation e)). assert (S0 : 0 <= s) by (unfold s, square; apply Rle_0_sqr).
      replace (1 + (s + V)) with ((q * q) * (1 + weight e / q * deviation e * (weight e / q * deviation e))).
      2: { transitivity (q * q + s); [unfold s, square; field; lra | rewrite Q2; ring]. }
      assert (K : 0 <= weight e / q * deviation e * (weight e / q * deviation e)) by apply Rle_0_sqr.
      rewrite sqrt_mult, sqrt_square by lra.
      assert (0 < sqrt (1 + weight e / q * deviation e * (weight e / q * deviation e))) by (apply sqrt_lt_R0; lra).
      field. split; lra.
Qed.

(* ---------------------------------------------------------------- releases in turn *)

Section Turns.
  Variable W : world.
  Local Notation H := (history (message W)).
  Local Notation D := (data (record W)).
  Variables (q : string) (o : spread) (d d' : D).
  Let asks := fun h : H => match next W h with Some l => names W q l | None => false end.
  Let k := draw W [] d.
  Let l' := draw W [] d'.

  Lemma drawn_ideal e h : draw W [] e h = ideal W h e.
  Proof. unfold draw. destruct (next W h); auto. Qed.

  (** How far the release moves, in squares over variances. *)
  Variables (scale : R) (symmetric : bool) (moved : Z -> R).
  Hypothesis Hscale : 0 < scale.
  Let entries (i : Z) (h : H) := weighed symmetric (side W q) (map (fun j d => value W q o i h d j) (seq 0 (size W
    q))) (fun _ => 0).
  Hypothesis Hmoved : forall i h,
    total (fun cw => square (fst cw d - fst cw d') / (snd cw * scale)) (entries i h) = moved i.

  Lemma moved_nonneg (h : H) i : 0 <= moved i.
  Proof.
    rewrite <- (Hmoved i h). apply total_nonneg. intros cw Hin. apply weighed_positive in Hin.
    apply Rmult_le_pos; [unfold square; apply Rle_0_sqr|]. left. apply Rinv_0_lt_compat. nra.
  Qed.

  Lemma gaussian_turns width : 0 < width -> forall todo h x, made_in_turn W ByGaussian scale symmetric q o todo h ->
    chance asks k l' h (Phi ((x + total moved todo) / sqrt (total moved todo + width * width)))
                       (Phi (x / sqrt (total moved todo + width * width))).
  Proof.
    intros Hw. induction todo as [|i todo IH]; intros h x HT; cbn [total].
    - replace ((x + 0) / sqrt (0 + width * width)) with (x / sqrt (0 + width * width)) by (rewrite Rplus_0_r; auto).
      apply bet. destruct (Phi_range (x / sqrt (0 + width * width))). lra.
    - destruct HT as [[l [Hl [Hnames _]]] [[N [show [read [Hread [HN Hsame]]]]] Hnext]]. set (es := entries i h).
      set (M := total moved todo) in *.
      assert (M0 : 0 <= M) by (apply total_nonneg; intros j _; apply (moved_nonneg h)).
      set (S := moved i) in *. assert (S0 : 0 <= S) by apply (moved_nonneg h).
      set (r := sqrt (M + width * width)) in *. assert (R0 : 0 < r) by (apply sqrt_lt_R0; nra).
      assert (R2 : r * r = M + width * width) by (apply sqrt_sqrt; nra).
      set (deviation := fun cw : (D -> R) * R => sqrt (snd cw * scale)).
      set (weight := fun cw : (D -> R) * R => (fst cw d - fst cw d') / (snd cw * scale) / r).
      assert (Hpos : forall cw, In cw es -> 0 < snd cw * scale) by (intros cw Hin; apply weighed_positive in Hin; nra).
      assert (Hdev : forall cw, In cw es -> 0 < deviation cw) by (intros; apply sqrt_lt_R0; auto).
      set (c0 := total (fun cw => weight cw * fst cw d') es).
      assert (Hvar : total (fun cw => square (weight cw * deviation cw)) es = S / (r * r)).
      { transitivity (/ (r * r) * S); [|field; lra]. unfold S. rewrite <- (Hmoved i h). fold es. rewrite <- total_scale.
        apply total_ext. intros cw Hin.
        specialize (Hpos cw Hin). assert (E : deviation cw * deviation cw = snd cw * scale) by (apply sqrt_sqrt; lra).
        unfold square, weight. set (w := snd cw * scale) in *.
        transitivity ((fst cw d - fst cw d') / w / r * ((fst cw d - fst cw d') / w / r) * (deviation cw * deviation
          cw)); [ring|]. rewrite E. field. lra. }
      assert (Hmean : total (fun cw => weight cw * fst cw d) es = c0 + S / r).
      { transitivity (c0 + / r * S); [|field; lra]. unfold S, c0. rewrite <- (Hmoved i h). fold es.
        rewrite <- total_scale, <- total_plus. apply total_ext.
        intros cw Hin. specialize (Hpos cw Hin). unfold weight, square. field. split; nra. }
      set (known := fun m => weighed_sum weight es (read m)).
      set (u := fun m => Phi (((x + M) / r - c0) + known m)). set (v := fun m => Phi ((x / r - c0) + known m)).
      assert (Tu : test u) by apply Phi_test. assert (Tv : test v) by apply Phi_test.
      assert (Law : forall e a,
        ideal W h e (fun m => Phi (a + known m)) = Phi ((a + total (fun cw => weight cw * fst cw e) es) / sqrt (1 + S
        / (r * r)))).
      { intros e a. rewrite (Hsame e) by apply Phi_test. rewrite <- Hvar.
        rewrite <- (each_chance N (fun cw : (D -> R) * R => fst cw e) deviation weight HN es a Hdev). simpl.
        apply E_ext. intros y.
        unfold known. rewrite Hread. auto. }
      assert (Root : sqrt (S + M + width * width) = r * sqrt (1 + S / (r * r))).
      { replace (S + M + width * width) with (r * r * (1 + S / (r * r))) by (rewrite Rplus_assoc, <- R2; field; lra).
        assert (0 <= S / (r * r)) by (apply Rdiv_le_0_compat; nra). rewrite sqrt_mult, sqrt_square by nra. auto. }
      assert (P0 : 0 < sqrt (1 + S / (r * r))) by (apply sqrt_lt_R0;
        assert (0 <= S / (r * r)) by (apply Rdiv_le_0_compat; nra); lra).
      assert (Eu : k h u = Phi ((x + (S + M)) / sqrt (S + M + width * width))).
      { unfold k, u. rewrite drawn_ideal, Law, Hmean, Root. f_equal. field. split; lra. }
      assert (Ev : l' h v = Phi (x / sqrt (S + M + width * width))).
      { unfold l', v. rewrite drawn_ideal, Law, Root. fold c0. f_equal. field. split; lra. }
      rewrite <- Eu, <- Ev. apply ask; auto; [unfold asks; rewrite Hl; auto|]. intros m.
      specialize (IH (m :: h) (x + r * (known m - c0)) (Hnext m)).
      replace (u m) with (Phi ((x + r * (known m - c0) + M) / r)) by (unfold u; f_equal; field; lra).
      replace (v m) with (Phi ((x + r * (known m - c0)) / r)) by (unfold v; f_equal; field; lra). exact IH.
  Qed.
End Turns.

(* ---------------------------------------------------------------- one number with Laplace noise *)

Lemma laplace_mirrored x : 1 - laplace_below x = laplace_below (- x).
Proof.
  unfold laplace_below. destruct (Rle_dec x 0), (Rle_dec (- x) 0); rewrite ?Ropp_involutive; try lra.
  replace x with 0 by lra. rewrite Ropp_0, exp_0. lra.
Qed.

Lemma laplace_range x : 0 <= laplace_below x <= 1.
Proof.
  assert (G : forall y, y <= 0 -> 0 <= exp y / 2 <= 1).
  { intros y Hy. pose proof (exp_pos y). assert (exp y <= 1) by (rewrite <- exp_0; apply exp_le; auto). lra. }
  unfold laplace_below. destruct (Rle_dec x 0) as [L|N]; [apply G; auto|]. specialize (G (- x) ltac:(lra)). lra.
Qed.

Lemma laplace_turns W q o (d d' : data (record W)) scale x (reads : Z -> bool) : 0 < scale -> size W q = 1%nat ->
  (forall i h, value W q o i h d 0%nat - value W q o i h d' 0%nat = if reads i then x else 0) ->
  forall y todo h, made_in_turn W ByLaplace scale false q o todo h -> List.length (filter reads todo) = 1%nat ->
  chance (fun h => match next W h with Some l => names W q l | None => false end) (draw W [] d) (draw W [] d') h
    (laplace_below (y + Rabs x / scale)) (laplace_below y).
Proof.
  intros Hs Hsize Hmove y. induction todo as [|i todo IH]; intros h HT HL; [discriminate|].
  destruct HT as [[l [Hl [Hnames _]]] [[N [show [read [Hread [HN Hsame]]]]] Hnext]]. cbn [filter] in HL.
  destruct (reads i) eqn:Er.
  2: { apply tell with (m := show []). apply IH; auto. }
  specialize (Hmove i h). rewrite Er in Hmove.
  assert (Law : forall e f, test f -> ideal W h e (fun m => f (hd 0 (read m))) = N scale (value W q o i h e 0%nat) f).
  { intros e f Hf. rewrite (Hsame e) by (intros m; apply Hf). rewrite Hsize. simpl. apply E_ext. intros b.
  rewrite Hread. auto. }
  destruct (HN scale Hs) as [HC _].
  set (a := value W q o i h d 0%nat) in *. set (a' := value W q o i h d' 0%nat) in *.
  destruct (Rle_dec 0 x) as [Hx|Hx].
  - set (c := a' - scale * y). set (f := fun b => 1 - upto c b).
    assert (Tf : test f) by (apply test_minus, upto_test).
    assert (Eu : draw W [] d h (fun m => f (hd 0 (read m))) = laplace_below (y + Rabs x / scale)).
    { rewrite drawn_ideal, Law by auto. unfold f. rewrite E_minus by apply upto_test. rewrite HC, laplace_mirrored.
    f_equal.
      rewrite Rabs_right by lra. unfold c. fold a. replace a with (a' + x) by lra. field. lra. }
    assert (Ev : draw W [] d' h (fun m => f (hd 0 (read m))) = laplace_below y).
    { rewrite drawn_ideal, Law by auto. unfold f. rewrite E_minus by apply upto_test. rewrite HC, laplace_mirrored.
    f_equal.
      unfold c. fold a'. field. lra. }
    rewrite <- Eu, <- Ev. apply ask; [rewrite Hl; auto | intros m; apply Tf | intros m; apply Tf|]. intros m.
    apply bet. apply Tf.
  - set (c := a' + scale * y). set (f := upto c).
    assert (Tf : test f) by apply upto_test.
    assert (Eu : draw W [] d h (fun m => f (hd 0 (read m))) = laplace_below (y + Rabs x / scale)).
    { rewrite drawn_ideal, Law by auto. unfold f. rewrite HC. f_equal.
      rewrite Rabs_left by lra. unfold c. fold a. replace a with (a' + x) by lra. field. lra. }
    assert (Ev : draw W [] d' h (fun m => f (hd 0 (read m))) = laplace_below y).
    { rewrite drawn_ideal, Law by auto. unfold f. rewrite HC. f_equal. unfold c. fold a'. field. lra. }
    rewrite <- Eu, <- Ev. apply ask; [rewrite Hl; auto | intros m; apply Tf | intros m; apply Tf|]. intros m.
    apply bet. apply Tf.
Qed.

(* ---------------------------------------------------------------- the rule *)

Lemma listed_met {A} (f : A -> bool) l :
  List.length (filter (fun j => match nth_error l j with Some a => f a | None => false end) (seq 0 (List.length l)))
  = List.length (filter f l).
Proof.
  induction l as [|a l IH]; auto. cbn [List.length seq filter nth_error]. rewrite <- seq_shift.
  assert (E : List.length (filter (fun j => match nth_error (a :: l) j with Some a => f a | None => false end) (map S
    (seq 0 (List.length l))))
    = List.length (filter f l)).
  { rewrite <- IH. generalize (seq 0 (List.length l)). intros m. induction m as [|j m IHm]; auto.
  cbn [map filter nth_error].
    destruct (nth_error l j) as [b|]; [destruct (f b); cbn [List.length]; auto | auto]. }
  destruct (f a); cbn [List.length]; rewrite E; auto.
Qed.

Definition reads_unit (o : spread) (u i : Z) : bool := match cover o i with Some span => holds_unit u span | None =>
  false end.

Lemma reads_met o u : List.length (filter (reads_unit o u) (map Z.of_nat (seq 0 (List.length (covers_list o))))) = met
  o u.
Proof.
  unfold met. rewrite <- (listed_met (holds_unit u)). generalize (seq 0 (List.length (covers_list o))). intros m.
  induction m as [|j m IH]; auto.
  cbn [map filter]. assert (E : reads_unit o u (Z.of_nat j) = match nth_error (covers_list o) j with Some a =>
    holds_unit u a | None => false end).
  { unfold reads_unit, cover. destruct (Z.ltb_spec (Z.of_nat j) 0); [lia|]. rewrite Nat2Z.id. auto. }
  rewrite E. destruct (match nth_error (covers_list o) j with Some a => holds_unit u a | None => false end);
    cbn [List.length]; auto.
Qed.

Lemma total_chosen (f : Z -> bool) s l : total (fun i => if f i then s else 0) l = INR (List.length (filter f l)) * s.
Proof.
  induction l as [|i l IH]; [simpl; lra|]. cbn [total filter]. rewrite IH.
  destruct (f i); cbn [List.length]; rewrite ?S_INR; lra.
Qed.

Lemma width_costs M t : 0 <= M -> 0 < t -> sqrt M - t <= M / sqrt (M + t * t).
Proof.
  intros HM Ht. set (m := sqrt M). assert (M2 : m * m = M) by (apply sqrt_sqrt; auto).
  assert (M0 : 0 <= m) by apply sqrt_pos.
  set (r := sqrt (M + t * t)). assert (R2 : r * r = M + t * t) by (apply sqrt_sqrt; nra).
  assert (R0 : 0 < r) by (apply sqrt_lt_R0; nra).
  apply Rmult_le_reg_r with r; auto. replace (M / r * r) with M by (field; lra).
  assert (r <= m + t) by (apply Rnot_lt_le; intros N; nra). destruct (Rle_dec m t); nra.
Qed.

Theorem apart_sound : sound_rule "apart".
Proof.
  intros st HR. destruct st; try discriminate HR. clear HR. intros W found fin HW HH HM HF HT.
  assert (exists a b, found = [a; b]) as [a [b ->]].
  { unfold follow in HF. destruct (infer (ByApart law scale) (map says found)) eqn:Ei; [|discriminate].
    destruct found as [|a [|b [|]]]; try discriminate Ei; eauto. }
  pose proof (Forall_inv HH) as Ha. pose proof (Forall_inv (Forall_inv_tail HH)) as Hb.
  pose proof (Forall_inv HM) as Ma. pose proof (Forall_inv (Forall_inv_tail HM)) as Mb.
  assert (Hi : exists f, apart law scale (says a) (says b) = Some f).
  { unfold follow in HF. cbn [map infer refutation] in HF.
  destruct (apart law scale (says a) (says b)); [eauto | discriminate]. }
  destruct Hi as [f Hi]. pose proof Hi as Hc. unfold apart in Hc.
  destruct (says a) as [| | | | | | | | | | | | |q known values rel seen|] eqn:Hsa; try discriminate.
  destruct values as [|m [|]]; try discriminate.
  destruct (says b) as [| | | | | |q' releases most widest units| | | | | | | |] eqn:Hsb; try discriminate.
  destruct (String.eqb q q' && below 0 scale)%bool eqn:Eq; [|discriminate]. apply andb_prop in Eq.
  destruct Eq as [Eq Hs].
  apply String.eqb_eq in Eq. subst q'. apply q_positive in Hs.
  assert (Ba : bare a) by (apply Ma; rewrite Hsa; auto). assert (Bb : bare b) by (apply Mb; rewrite Hsb; auto).
  assert (Ef : says fin = f /\ bare fin).
  { destruct Ba as [A1 [A2 [A3 A4]]], Bb as [B1 [B2 [B3 B4]]]. unfold follow in HF. cbn [map infer refutation] in HF.
    rewrite Hsa, Hsb, Hi in HF. cbn [noise_is_named one_table andb law_of all_draws] in HF. rewrite A1 in HF.
    cbn [merged] in HF.
    rewrite B1 in HF. cbn [merged map fold_left flat_map existsb] in HF. rewrite A2, B2, A3, B3, A4, B4 in HF.
    cbn in HF.
    injection HF as <-. unfold bare. cbn [says drawn departed of_persons views]. auto 10. }
  destruct Ef as [En Bf].
  cbn [takes_for_granted] in HT. rewrite Hsa in HT. destruct HT as [h [Hfresh Hturns]].
  unfold holds in Hb. rewrite Hsb in Hb. destruct units as [first last]. destruct Hb as [[Ho _] [_ [_ [[u Hu] _]]]].
  set (o := covers_of b) in *.
  assert (Made : forall law' values', f = Apart q law' values' rel seen -> holds W fin -> holds W fin /\ well_made fin).
  { intros law' values' Ef HFin. split; auto. unfold well_made. rewrite En, Ef. split; [auto|]. split; auto.
    destruct Bf as [_ [-> _]]. intros ? []. }
  assert (Move : forall far, records_apart W rel q far -> exists d d' moves, neighbours (distance W) rel d d' /\
    far (map moves (seq 0 (size W q))) /\ forall i h j, (j < size W q)%nat ->
      value W q o i h d j - value W q o i h d' j = if reads_unit o u i then moves j else 0).
  { intros far HA. destruct (HA u) as [d [d' [Hd [_ [moves [Hfar Hv]]]]]]. exists d, d', moves.
  split; [auto|split; [auto|]].
    intros i h0 j Hj. rewrite (Hv o i h0 j Hj Ho). unfold reads_unit. destruct (cover o i); auto. }
  unfold holds in Ha. rewrite Hsa in Ha.
  (* Gaussian noise, however far is known *)
  assert (Gauss : law = ByGaussian -> forall square0,
    f = Apart q ByGaussian [over (times (of_Z most) square0) scale] rel seen ->
    (exists R2, records_apart W rel q (fun moves => total square moves = R2) /\
       Q2R square0 = R2 * if match known with BySymmetric => true | _ => false end then / 2 else 1) ->
    (match known with BySymmetric => true | _ => false end = true -> size W q = (side W q * side W q)%nat /\
       forall o i h d a b, (a < side W q)%nat -> (b < side W q)%nat ->
         value W q o i h d (a * side W q + b)%nat = value W q o i h d (b * side W q + a)%nat) -> holds W fin /\
           well_made fin).
  { intros El square0 Ef [R2 [HA HR2]] Hsym. subst law. apply (Made _ _ Ef). unfold holds. rewrite En, Ef.
    set (symmetric := match known with BySymmetric => true | _ => false end) in *.
    destruct (Move _ HA) as [d [d' [moves [Hd [Hfar Hv]]]]]. exists d, d', h. split; [auto|split; [exact Hfresh|]].
    set (moved := fun i => if reads_unit o u i then Q2R square0 / Q2R scale else 0).
    assert (Hmoved : forall i h, total (fun cw => square (fst cw d - fst cw d') / (snd cw * Q2R scale))
      (weighed symmetric (side W q) (map (fun j d => value W q o i h d j) (seq 0 (size W q))) (fun _ => 0)) = moved i).
    { intros i h0. set (numbers := map (fun j d => value W q o i h0 d j) (seq 0 (size W q))).
      assert (HMir : symmetric = true -> mirrored W (side W q) numbers).
      { intros E. destruct (Hsym E) as [H1 H2].
      apply (numbers_mirrored W q (side W q) EmptyString (Place q [] (NormalNoise 0 false) o) o i h0 H1 (H2 o i h0)). }
      pose proof (weighed_cost W symmetric (side W q) numbers d d' (Q2R scale) Hs HMir) as WC.
      transitivity (total (fun cw => (fst cw d - fst cw d') * (fst cw d - fst cw d') / (snd cw * Q2R scale)) (weighed
        symmetric (side W q) numbers (fun _ => 0)));
        [reflexivity|]. rewrite WC.
      assert (ED : total square (differences W numbers d d') = if reads_unit o u i then R2 else 0).
      { unfold differences, numbers. rewrite map_map, total_map. rewrite total_map in Hfar.
        rewrite (total_ext _ (fun j => square (if reads_unit o u i then moves j else 0))).
        - destruct (reads_unit o u i); [exact Hfar | apply total_zero; intros; unfold square; ring].
        - intros j Hj. apply in_seq in Hj. f_equal. apply Hv. lia. }
      rewrite ED. unfold moved. rewrite HR2. destruct symmetric, (reads_unit o u i); field; lra. }
    set (todo := map Z.of_nat (seq 0 (List.length (covers_list o)))) in *.
    assert (ET : total moved todo = Q2R (over (times (of_Z most) square0) scale)).
    { unfold moved. rewrite total_chosen. unfold todo.
    rewrite reads_met, INR_IZR_INZ, Hu, over_R, times_R, of_Z_R by lra. field. lra. }
    intros p p' [z [-> ->]] t Ht. rewrite <- ET. set (M := total moved todo) in *.
    assert (M0 : 0 <= M).
    { apply total_nonneg. intros i _. apply (moved_nonneg W q o d d' (Q2R scale) symmetric moved Hs Hmoved h). }
    set (r := sqrt (M + t * t)). assert (R0 : 0 < r) by (apply sqrt_lt_R0; nra).
    pose proof (gaussian_turns W q o d d' (Q2R scale) symmetric moved Hs Hmoved t Ht todo h (z * r) Hturns) as HC.
    fold M r in HC.
    exists (Phi ((z * r + M) / r)), (Phi (z * r / r)). split; [|split; [|exact HC]].
    - replace ((z * r + M) / r) with (z + M / r) by (field; lra). pose proof (width_costs M t M0 Ht) as WC.
      fold r in WC.
      pose proof (Phi_slow (z + sqrt M) (z + sqrt M - t)) as PS.
      replace (z + sqrt M - (z + sqrt M - t)) with t in PS by ring.
      rewrite (Rabs_right t) in PS by lra. apply Rabs_le_between in PS.
      pose proof (Phi_le (z + sqrt M - t) (z + M / r) ltac:(lra)). lra.
    - replace (z * r / r) with z by (field; lra). lra. }
  destruct law; try discriminate.
  - (* Gaussian *)
    destruct known; try discriminate; injection Hc as Hc; symmetry in Hc; apply (Gauss eq_refl _ Hc); try discriminate.
    + exists (Q2R m * Q2R m). split; [|rewrite times_R; lra]. intros v.
      destruct (Ha v) as [d [d' [H1 [H2 [moves [[x [H3 H4]] H5]]]]]].
      exists d, d'. split; [auto|split; [auto|]]. exists moves. split; auto. rewrite H3. cbn [total]. unfold square.
      rewrite <- H4, <- Rabs_mult, Rabs_right by (apply Rle_ge, Rle_0_sqr). lra.
    + exists (Q2R m). split; [exact Ha | lra].
    + destruct Ha as [_ [_ Ha]]. exists (Q2R m). split; [exact Ha|]. rewrite over_R, of_Z_R by (rewrite of_Z_R; lra).
      lra.
    + intros _. destruct Ha as [H1 [H2 _]]. auto.
  - (* Laplace *)
    destruct known; try discriminate. cbn [andb] in Hc. destruct (most =? 1)%Z eqn:E1; [|discriminate].
    apply Z.eqb_eq in E1. subst most.
    injection Hc as Hc. symmetry in Hc. apply (Made _ _ Hc). unfold holds. rewrite En, Hc.
    destruct (Move _ Ha) as [d [d' [moves [Hd [[x [Hx Hm]] Hv]]]]].
    assert (Hsize : size W q = 1%nat).
    { apply (f_equal (@List.length R)) in Hx. rewrite map_length, seq_length in Hx. exact Hx. }
    assert (E0 : moves 0%nat = x) by (rewrite Hsize in Hx; cbn [seq map] in Hx; congruence).
    exists d, d', h. split; [auto|split; [exact Hfresh|]]. intros p p' [y [-> ->]] t Ht.
    exists (laplace_below (y + Q2R (over m scale))), (laplace_below y). split; [lra|split; [lra|]].
    rewrite over_R, <- Hm by lra.
    apply (laplace_turns W q o d d' (Q2R scale) x (reads_unit o u) Hs Hsize) with (2 := Hturns).
    + intros i h0. rewrite (Hv i h0 0%nat) by lia. rewrite E0. auto.
    + rewrite reads_met. lia.
Qed.
