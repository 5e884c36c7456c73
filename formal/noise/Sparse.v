(** Which numbers pass a noisy threshold. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String.
From Coquelicot Require Import Rcomplements.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Bounds Chance Costs Numbers Satisfies Lines Sound Maps Products.
From DP.sensitivity Require Import Infer.
From DP.noise Require Import Infer Releases Laws Proofs.
From DP.conversions Require Import Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Definition passes (T x z : Z) : R := if (T <=? x + z)%Z then 1 else 0.

Lemma passes_test T x : test (passes T x).
Proof. intros z. unfold passes. destruct (T <=? x + z)%Z; lra. Qed.

(** One of two numbers, as the noise passes or not. *)
Lemma either_way (N : law Z) T x a b : 0 <= a <= 1 -> 0 <= b <= 1 ->
  N (fun z => if (T <=? x + z)%Z then a else b) = a * N (passes T x) + b * N (fun z => 1 - passes T x z).
Proof.
  intros Ha Hb. pose proof (passes_test T x) as Ht.
  rewrite <- (E_scale N a (passes T x)), <- (E_scale N b (fun z => 1 - passes T x z)); try lra; auto using test_scale, test_minus.
  rewrite <- E_plus; auto using test_scale, test_minus.
  - apply E_ext. intros z. unfold passes. destruct (T <=? x + z)%Z; ring.
  - intros z. unfold passes. destruct (T <=? x + z)%Z; lra.
Qed.

(** Numbers that are near answer alike under a threshold that is moved as far: each answer above costs noise twice as far. *)
Lemma sparse_moved N b grid D : 0 < b -> (0 <= D)%Z -> discrete_laplace b N -> forall xs ys, List.length xs = List.length ys ->
  (forall x y, In (x, y) (combine xs ys) -> (Z.abs (x - y) <= D)%Z) -> forall limit T f, test f ->
  sparse N grid limit T xs f <= exp (INR limit * (2 * IZR D / b)) * sparse N grid limit (T + D)%Z ys f.
Proof.
  intros Hb HD HN. pose proof (IZR_le 0 D HD) as HDR.
  assert (Hstep : 0 <= 2 * IZR D / b) by (apply Rdiv_le_0_compat; lra).
  assert (Hone : forall limit, 1 <= exp (INR limit * (2 * IZR D / b))).
  { intros limit. rewrite <- exp_0 at 1. apply exp_le. apply Rmult_le_pos; auto. apply pos_INR. }
  induction xs as [|x xs IH]; intros [|y ys] HL HN0 limit T f Hf; try discriminate.
  - destruct limit; simpl; specialize (Hf []); [specialize (Hone 0%nat); simpl in Hone | specialize (Hone (S limit)); simpl in Hone]; nra.
  - destruct limit as [|less]; [simpl; specialize (Hf []); specialize (Hone 0%nat); simpl in Hone; nra|].
    assert (Hxy : (Z.abs (x - y) <= D)%Z) by (apply HN0; left; auto).
    assert (IH' := IH ys ltac:(simpl in HL; lia) (fun a b Hin => HN0 a b (or_intror Hin))). clear IH.
    cbn [sparse]. simpl.
    assert (Eif : forall T0 x0 l0, N (fun z => (if (T0 <=? x0 + z)%Z then image (cons true) (sparse N grid less T0 l0) else image (cons false) (sparse N grid (S less) T0 l0)) f)
      = N (fun z => if (T0 <=? x0 + z)%Z then sparse N grid less T0 l0 (fun l => f (true :: l)) else sparse N grid (S less) T0 l0 (fun l => f (false :: l)))).
    { intros. apply E_ext. intros z. destruct (T0 <=? x0 + z)%Z; reflexivity. }
    rewrite !Eif.
    assert (Ht : test (fun l => f (true :: l))) by (intros l; apply Hf). assert (Hff : test (fun l => f (false :: l))) by (intros l; apply Hf).
    rewrite !either_way by (apply E_test; auto).
    pose proof (IH' less T _ Ht) as A. pose proof (IH' (S less) T _ Hff) as B.
    set (a := sparse N grid less T xs (fun l => f (true :: l))) in *. set (a' := sparse N grid less (T + D)%Z ys (fun l => f (true :: l))) in *.
    set (c := sparse N grid (S less) T xs (fun l => f (false :: l))) in *. set (c' := sparse N grid (S less) (T + D)%Z ys (fun l => f (false :: l))) in *.
    assert (Pa : 0 <= a <= 1) by (apply E_test; auto). assert (Pa' : 0 <= a' <= 1) by (apply E_test; auto).
    assert (Pc : 0 <= c <= 1) by (apply E_test; auto). assert (Pc' : 0 <= c' <= 1) by (apply E_test; auto).
    assert (Above : N (passes T x) <= exp (2 * IZR D / b) * N (passes (T + D) y)).
    { assert (M1 : N (passes T x) <= N (fun z => passes (T + D) y (2 * D + z)%Z)).
      { apply E_mono; try (intros z; apply passes_test); try apply passes_test. intros z. unfold passes.
        destruct (Z.leb_spec T (x + z)), (Z.leb_spec (T + D) (y + (2 * D + z))); try lra. lia. }
      apply Rle_trans with (1 := M1). replace (2 * IZR D) with (Rabs (IZR (2 * D) - IZR 0)).
      - exact (discrete_laplace_pure b N (2 * D) 0 Hb HN (passes (T + D) y) (passes_test _ _)).
      - rewrite mult_IZR, Rminus_0_r, Rabs_right; lra. }
    assert (Below : N (fun z => 1 - passes T x z) <= N (fun z => 1 - passes (T + D) y z)).
    { apply E_mono; try apply test_minus, passes_test. intros z. unfold passes.
      destruct (Z.leb_spec T (x + z)), (Z.leb_spec (T + D) (y + z)); try lra. lia. }
    pose proof (E_test N _ (passes_test T x)). pose proof (E_test N _ (passes_test (T + D) y)).
    pose proof (E_test N _ (test_minus _ (passes_test T x))). pose proof (E_test N _ (test_minus _ (passes_test (T + D) y))).
    assert (Esplit : exp (INR (S less) * (2 * IZR D / b)) = exp (INR less * (2 * IZR D / b)) * exp (2 * IZR D / b)).
    { rewrite <- exp_plus. f_equal. rewrite S_INR. ring. }
    change (match less with 0%nat => 1 | S _ => INR less + 1 end) with (INR (S less)).
    set (E1 := exp (INR less * (2 * IZR D / b))) in *. set (E2 := exp (2 * IZR D / b)) in *. rewrite Esplit in *.
    assert (0 < E1) by apply exp_pos. assert (0 < E2) by apply exp_pos.
    assert (a * N (passes T x) <= (E1 * a') * (E2 * N (passes (T + D) y))) by (apply Rmult_le_compat; lra).
    assert (c * N (fun z => 1 - passes T x z) <= (E1 * E2 * c') * N (fun z => 1 - passes (T + D) y z)) by (apply Rmult_le_compat; lra).
    lra.
Qed.

Fixpoint furthest (l : list Z) : Z := match l with [] => 0%Z | a :: rest => Z.max (Z.abs a) (furthest rest) end.
Lemma furthest_in l : (0 <= furthest l)%Z /\ (forall a, In a l -> (Z.abs a <= furthest l)%Z) /\ (furthest l = 0%Z \/ exists a, In a l /\ Z.abs a = furthest l).
Proof.
  induction l as [|a l [I1 [I2 I3]]]; cbn [furthest]; [split; [lia|split; [intros ? []|auto]]|]. split; [lia|split].
  - intros b [<-|Hb]; [lia | specialize (I2 b Hb); lia].
  - destruct (Z.max_spec (Z.abs a) (furthest l)) as [[_ ->]|[_ ->]]; [|right; exists a; split; [left|]; auto].
    destruct I3 as [I3|[b [Hb I3]]]; auto. right. exists b. split; [right; auto | auto].
Qed.

Theorem sparse_vector_sound : sound_rule "sparse_vector".
Proof.
  intros st HR. destruct st; try discriminate HR. clear HR. intros W found n HW HH HM HF HT.
  one_query found l. pose proof (Forall_inv HH) as Hl. pose proof (Forall_inv HM) as Ml.
  destruct (noise_line (BySparseVector threshold scale limit grid key) l n key (SparseAnswers threshold scale limit grid) eq_refl HF) as [q [c [rel [o [reads [Hi ->]]]]]].
  cbn [infer noise] in Hi.
  destruct (says l) as [| | |q0 how b rel0 reads0| | | | | | | | | | |] eqn:Hs; try discriminate. destruct how; try discriminate.
  destruct (_ && _)%bool eqn:Hc in Hi; [|discriminate]. unfold drawn_on in Hi. injection Hi as <- <- <- <- <-.
  apply andb_prop in Hc. destruct Hc as [Hc Hlim]. apply andb_prop in Hc. destruct Hc as [Hc Hg]. apply andb_prop in Hc. destruct Hc as [Ht Hsc].
  apply q_positive in Ht, Hsc, Hg. apply Z.leb_le in Hlim.
  pose proof (stable_line l _ _ _ _ _ Ml Hs) as Hb0. unfold holds in Hl. rewrite Hs in Hl.
  destruct reads0 as [[f0 l0]|]; [destruct Hl as [[E|E] _]; discriminate|]. destruct Hl as [_ [Hstream Hstable]].
  assert (Hlim0 : 0 <= IZR limit) by (apply IZR_le; lia).
  assert (E : Q2R (times b (plus (Steps.over 1 threshold) (Steps.over (times two (of_Z limit)) scale))) = Q2R b * (1 / Q2R threshold + 2 * IZR limit / Q2R scale)).
  { rewrite times_R, plus_R, !over_R, times_R, of_Z_R, one_R by lra. unfold two. rewrite two_R. auto. }
  assert (HE : 0 <= Q2R b * (1 / Q2R threshold + 2 * IZR limit / Q2R scale)).
  { apply Rmult_le_pos; auto. apply Rplus_le_le_0_compat; apply Rdiv_le_0_compat; lra. }
  split; [|apply drawn_once_well_made; auto; simpl; rewrite E; auto].
  destruct (HT key (Place q0 (changes l) (SparseAnswers threshold scale limit grid) Once) (or_introl eq_refl)) as [Hsteady Hdrawn].
  cbn [query made how] in *. specialize (Hsteady Hstream).
  unfold holds; cbn [says drawn departed of_persons views].
  apply (once_holds W HW q0 (changes l) (SparseAnswers threshold scale limit grid) key rel0 _ (@pure_cost) (Q2R b * (1 / Q2R threshold + 2 * IZR limit / Q2R scale))); auto using pure_free.
  { intros X near draw asks group HA. rewrite <- E in HA. exact HA. }
  intros ov Hplace h lab d d' Hlab Hkey Hd.
  pose proof (Hdrawn ov Hplace h lab Hlab Hkey) as HD. pose proof (Hplace h lab Hlab Hkey) as Hp.
  pose proof (Hstable Hsteady (Definitions.key lab) (at_place lab) (Facts.over (at_place lab)) (index lab) h d d' Hd) as HL1.
  assert (HN : numbers_at W lab h = numbers_of W (Definitions.key lab) (at_place lab) q0 (changes l) (Facts.over (at_place lab)) (index lab) h).
  { unfold numbers_at. rewrite Hp. reflexivity. }
  rewrite <- HN in HL1. unfold within in HL1. set (numbers := numbers_at W lab h) in *.
  destruct HD as [T [X [whole [[HGl HG] [HTl [HXl HP]]]]]]. apply (made_pure W h _ _ _ d d' HP).
  set (D := furthest (map (fun z => (z d - z d')%Z) whole)).
  destruct (furthest_in (map (fun z => (z d - z d')%Z) whole)) as [D1 [D2 D3]]. fold D in D1, D2, D3.
  assert (HDb : Q2R grid * IZR D <= Q2R b).
  { destruct D3 as [->|[a [Ha <-]]]; [lra|]. apply in_map_iff in Ha. destruct Ha as [z [<- Hz]].
    assert (exists c, In (c, z) (combine numbers whole)) as [c Hcz].
    { clear - HGl Hz. revert whole HGl Hz. induction numbers as [|c cs IH]; intros [|w ws] HL Hz; try discriminate; [destruct Hz|].
      destruct Hz as [->|Hz]; [exists c; left; auto|]. destruct (IH ws ltac:(simpl in HL; lia) Hz) as [c' Hc']. exists c'. right; auto. }
    specialize (HL1 (c d - c d')). rewrite !(HG c z Hcz) in HL1. rewrite abs_IZR, minus_IZR.
    replace (Q2R grid * IZR (z d) - Q2R grid * IZR (z d')) with (Q2R grid * (IZR (z d) - IZR (z d'))) in HL1 by ring.
    rewrite Rabs_mult, (Rabs_right (Q2R grid)) in HL1 by lra. apply HL1. unfold differences. apply in_map_iff. exists c. split; [|apply (in_combine_l _ _ _ _ Hcz)].
    rewrite !(HG c z Hcz). ring. }
  intros f Hf. simpl.
  assert (Hbg : 0 < Q2R scale / Q2R grid) by (apply Rdiv_lt_0_compat; auto). assert (Htg : 0 < Q2R threshold / Q2R grid) by (apply Rdiv_lt_0_compat; auto).
  set (F := fun t => sparse X (Q2R grid) (Z.to_nat limit) t (map (fun z => z d) whole) f). set (F' := fun t => sparse X (Q2R grid) (Z.to_nat limit) t (map (fun z => z d') whole) f).
  assert (TF : test F) by (intros t; apply E_test; auto). assert (TF' : test F') by (intros t; apply E_test; auto).
  assert (Hmove : forall t, F t <= exp (INR (Z.to_nat limit) * (2 * IZR D / (Q2R scale / Q2R grid))) * F' (D + t)%Z).
  { intros t. rewrite Z.add_comm. apply (sparse_moved X (Q2R scale / Q2R grid) (Q2R grid) D Hbg D1 HXl); auto; [rewrite !map_length; auto|].
    intros x y Hin. apply D2. clear - Hin. induction whole as [|z ws IH]; [destruct Hin|]. destruct Hin as [Eq|Hin]; [injection Eq as <- <-; left; auto | right; auto]. }
  assert (M1 : T F <= exp (INR (Z.to_nat limit) * (2 * IZR D / (Q2R scale / Q2R grid))) * T (fun t => F' (D + t)%Z)).
  { apply E_le_scale; auto; [intros t; apply TF' | left; apply exp_pos]. }
  pose proof (discrete_laplace_pure (Q2R threshold / Q2R grid) T D 0 Htg HTl F' TF') as M2. simpl in M2.
  rewrite Rminus_0_r, Rabs_right in M2 by (apply Rle_ge, IZR_le; auto).
  apply Rle_trans with (1 := M1).
  apply Rle_trans with (exp (INR (Z.to_nat limit) * (2 * IZR D / (Q2R scale / Q2R grid))) * (exp (IZR D / (Q2R threshold / Q2R grid)) * T F')).
  - apply Rmult_le_compat_l; [left; apply exp_pos | exact M2].
  - rewrite <- Rmult_assoc, <- exp_plus. apply Rmult_le_compat_r; [apply E_test; auto|]. apply exp_le.
    rewrite INR_IZR_INZ, Z2Nat.id by lia.
    replace (IZR limit * (2 * IZR D / (Q2R scale / Q2R grid)) + IZR D / (Q2R threshold / Q2R grid)) with ((Q2R grid * IZR D) * (1 / Q2R threshold + 2 * IZR limit / Q2R scale)) by (field; lra).
    apply Rmult_le_compat_r; auto. apply Rplus_le_le_0_compat; apply Rdiv_le_0_compat; lra.
Qed.
