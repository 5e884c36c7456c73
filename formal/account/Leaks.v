(** What is impossible on one side has no chance on the other, but for the δ of `Failing`: a release that shows what
    differs meets no kind.  Main theorems: `contained`, `leak_meets_no_kind`. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool Classical.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Definitions Meaning.
From DP.core Require Import Costs.
From DP.samples Require Import Geometric.
From DP.account Require Import Kinds Budgets.
From DP.account.kinds Require Import Answers Laplace Integers Geometric DiscreteNormal.
Import ListNotations.
Open Scope R_scope.

(** With this chance a release of the kind may show everything. *)
Fixpoint may_fail (k : kind) : R :=
  match k with
  | Failing _ delta => Q2R delta
  | Sampled _ k => may_fail k
  | _ => 0
  end.

Section Integers.
  Variable w : Z -> R.
  Hypothesis w_pos : forall z, 0 < w z.
  Hypothesis w_even : forall z, w (- z) = w z.
  Hypothesis rising : forall j x y, (0 <= j)%Z -> (x <= y)%Z -> w (x - j) * w y <= w (y - j) * w x.

  Lemma far_enough a : 0 < a -> summable w -> exists t, usum (fun x => w x * starting t x) <= a.
  Proof.
    intros Ha Hs. destruct (usum_approx w a Hs Ha) as [l [Hl Hlt]].
    assert (Hmax : exists t, forall x, In x l -> (x < t)%Z).
    { clear. induction l as [|y l [t IH]]; [exists 0%Z; intros x []|]. exists (Z.max t (y + 1)).
      intros x [<-|Hx]; [lia|]. specialize (IH x Hx). lia. }
    destruct Hmax as [t Ht]. exists t.
    assert (T : test (fun x => 1 - starting t x)) by apply test_minus, starting_test.
    pose proof (summable_test w _ Hs (starting_test t)) as S1. pose proof (summable_test w _ Hs T) as S2.
    pose proof (usum_plus _ _ S1 S2) as E. cbv beta in E.
    rewrite (usum_ext _ w) in E by (intros; ring). pose proof (usum_ub _ l S2 Hl) as U.
    rewrite (total_ext _ w) in U; [lra|]. intros x Hx. specialize (Ht x Hx). unfold starting.
    destruct Z_le_dec; [lia|ring].
  Qed.

  Lemma integers_contained shift a : (0 <= shift)%Z -> 0 < a -> exists c, 0 <= c /\
    forall A (P Q : law A) f, integer_pair (proportional w) shift P Q -> test f -> P f <= a + c * Q f.
  Proof.
    intros Hk Ha. destruct (classic (summable w /\ 0 < usum w)) as [[Hs Hu]|No].
    2: { exists 0. split; [lra|]. intros A P Q f [N [_ [_ [[Hs [Hu _]] _]]]]. exfalso. auto. }
    destruct (far_enough (a * usum w) ltac:(nra) Hs) as [t Ht]. set (s := (t + shift)%Z).
    exists (odds w shift s). pose proof (odds_pos w w_pos shift s) as Ho. split; [lra|].
    intros A P Q f [N [numbers [post [HN [Hn [HP HQ]]]]]] Hf.
    assert (Hp : passes w shift (odds w shift s) s).
    { apply odds_pass; auto. split; [|lra]. apply odds_rising; auto. lia. }
    rewrite (HP f Hf), (HQ f Hf). cbn [bind E].
    pose proof (vectors_line w N w_pos w_even HN rising numbers shift _ s (fun l => post l f) Hn (Rlt_le _ _ Ho) Hp
      (E_inner post f Hf)) as V.
    assert (B : beyond N (s - shift) <= a).
    { replace (s - shift)%Z with t by (unfold s; lia). apply Rmult_le_reg_r with (usum w); auto.
      rewrite (beyond_E w N HN). exact Ht. }
    assert (0 <= beyond N s) by apply E_test, starting_test.
    unfold drawn_at in V. cbn [bind E] in V. nra.
  Qed.
End Integers.

Lemma normal_contained m a : 0 < a -> exists c, 0 <= c /\
  forall A (P Q : law A) f, gdp_cost m P Q -> test f -> P f <= a + c * Q f.
Proof.
  intros Ha. destruct (Phi_to_0 a Ha) as [z [_ Hz]]. set (y := - z - sqrt m).
  pose proof (Phi_range y) as Hy. exists (/ Phi y). assert (0 < / Phi y) by (apply Rinv_0_lt_compat; lra). split; [lra|].
  intros A P Q f H0 Hf. pose proof (E_test P f Hf). pose proof (E_test Q f Hf).
  destruct (Rle_dec (Q f) (Phi y)) as [L|L].
  - specialize (H0 f y Hf L). unfold y in H0. replace (- z - sqrt m + sqrt m) with (- z) in H0 by ring.
    specialize (Hz (- z) ltac:(lra)). nra.
  - assert (1 <= / Phi y * Q f); [|lra]. apply Rmult_le_reg_l with (Phi y); [lra|].
    rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l, Rmult_1_r by lra. lra.
Qed.

Theorem contained k : well_formed k = true -> forall a, 0 < a -> exists c, 0 <= c /\
  forall w A (P Q : law A) f, meets k w P Q -> test f -> P f <= may_fail k + a + c * Q f.
Proof.
  induction k; cbn [well_formed may_fail]; intros Hk a Ha.
  - exists (exp (Q2R epsilon)). pose proof (exp_pos (Q2R epsilon)). split; [lra|]. intros w A P Q f [H0 _] Hf.
    specialize (H0 f Hf). lra.
  - exists (exp (Q2R epsilon)). pose proof (exp_pos (Q2R epsilon)). split; [lra|]. intros w A P Q f [H0 _] Hf.
    specialize (H0 f Hf). lra.
  - assert (Hm : 0 <= Q2R moved).
    { apply Z.leb_le in Hk. unfold Q2R. apply Rmult_le_pos; [apply IZR_le; auto|]. left. apply Rinv_0_lt_compat, IZR_lt. lia. }
    exists (exp (Q2R moved)). pose proof (exp_pos (Q2R moved)). split; [lra|]. intros w A P Q f H0 Hf.
    pose proof (laplace_pair_stick _ P Q f (exp (Q2R moved)) H0 Hf ltac:(lra)) as L. rewrite laplace_ends in L by auto. lra.
  - apply andb_prop in Hk. destruct Hk as [Hs Hz]. apply Z.leb_le in Hz. unfold positive_rational in Hs. apply Z.ltb_lt in Hs.
    assert (Hb : 0 < Q2R scale) by (unfold Q2R; apply Rmult_lt_0_compat; [apply IZR_lt; auto|apply Rinv_0_lt_compat, IZR_lt; lia]).
    destruct (integers_contained (slope (Q2R scale)) (slope_pos _) (slope_even _) (slope_rising _ Hb) shift a Hz Ha) as [c [Hc H]].
    exists c. split; auto. intros w A P Q f H0 Hf. specialize (H A P Q f H0 Hf). lra.
  - destruct (normal_contained (Q2R mu_squared) a Ha) as [c [Hc H]]. exists c. split; auto.
    intros w A P Q f H0 Hf. specialize (H A P Q f H0 Hf). lra.
  - apply andb_prop in Hk. destruct Hk as [Hs Hz]. apply Z.leb_le in Hz. unfold positive_rational in Hs. apply Z.ltb_lt in Hs.
    assert (Hb : 0 < Q2R variance) by (unfold Q2R; apply Rmult_lt_0_compat; [apply IZR_lt; auto|apply Rinv_0_lt_compat, IZR_lt; lia]).
    destruct (integers_contained (bell (Q2R variance)) (bell_pos _) (bell_even _) (bell_rising _ Hb) shift a Hz Ha) as [c [Hc H]].
    exists c. split; auto. intros w A P Q f H0 Hf. specialize (H A P Q f H0 Hf). lra.
  - apply andb_prop in Hk. destruct Hk as [Hz Hn]. apply Z.leb_le in Hz, Hn.
    assert (Hq : 0 <= Q2R epsilon) by (unfold Q2R; apply Rmult_le_pos; [apply IZR_le; auto|left; apply Rinv_0_lt_compat, IZR_lt; lia]).
    set (e := exp (Q2R epsilon)). assert (He : 1 <= e) by (rewrite <- exp_0; apply exp_le; auto).
    exists e. split; [lra|]. intros w A P Q f H0 Hf. apply IZR_le in Hn as Hn'.
    pose proof (answer_pair_stick e number He Hn P Q f e H0 Hf ltac:(lra)) as B. unfold answers_stick in B.
    rewrite !Rmax_left in B by nra. unfold Rdiv in B. rewrite Rmult_0_r, !Rplus_0_r, Rmult_0_l in B. lra.
  - apply andb_prop in Hk. destruct Hk as [Hk Hk0]. apply andb_prop in Hk. destruct Hk as [Hr Hr1].
    unfold positive_rational in Hr. apply Z.ltb_lt in Hr. apply Qle_bool_iff, Qle_Rle in Hr1.
    replace (Q2R 1) with 1 in Hr1 by (unfold Q2R; cbn; lra).
    assert (Hq : 0 < Q2R rate) by (unfold Q2R; apply Rmult_lt_0_compat; [apply IZR_lt; auto|apply Rinv_0_lt_compat, IZR_lt; lia]).
    destruct (IHk Hk0 a Ha) as [c [Hc H]]. set (q := Q2R rate) in *.
    assert (F0 : 0 <= may_fail k).
    { clear - Hk0. induction k; cbn [may_fail well_formed] in *; try lra.
      - apply andb_prop in Hk0. destruct Hk0 as [H _]. apply andb_prop in H. destruct H as [_ H]. apply Z.leb_le in H.
        unfold Q2R. apply Rmult_le_pos; [apply IZR_le; auto|]. left. apply Rinv_0_lt_compat, IZR_lt. lia.
      - apply andb_prop in Hk0. destruct Hk0. auto. }
    assert (0 < / q) by (apply Rinv_0_lt_compat; auto).
    assert (Fa : 0 <= may_fail k + a) by lra. assert (C1 : 0 <= c + 1) by lra.
    exists (c + 1 + c * / q). split; [nra|]. intros [] A P Q f Hmeet Hf; cbn [meets] in Hmeet.
    + destruct Hmeet as [S [others [present [absent [Hm Hd]]]]]. fold q in Hd. destruct (Hd f Hf) as [-> ->].
      assert (Tm : test (fun s => q * present s f + (1 - q) * absent s f)).
      { intros s. pose proof (E_test (present s) f Hf). pose proof (E_test (absent s) f Hf). nra. }
      assert (Ta : test (fun s => absent s f)) by (intros s; apply E_test; auto).
      pose proof (E_le_affine others _ _ (c + 1) (may_fail k + a) Tm Ta C1 Fa) as Aff.
      pose proof (E_test others _ Ta). assert (0 <= c * / q) by nra.
      assert (others (fun s => q * present s f + (1 - q) * absent s f) <= (c + 1) * others (fun s => absent s f) + (may_fail k + a)).
      2: { assert (0 <= c * / q * others (fun s => absent s f)) by (apply Rmult_le_pos; auto; lra). lra. }
      apply Aff. intros s. pose proof (H There A (present s) (absent s) f (Hm s) Hf).
      pose proof (E_test (present s) f Hf). pose proof (E_test (absent s) f Hf).
      assert (q * present s f <= present s f) by nra. assert ((1 - q) * absent s f <= absent s f) by nra. lra.
    + destruct Hmeet as [S [others [present [absent [Hm Hd]]]]]. fold q in Hd. destruct (Hd f Hf) as [-> ->].
      assert (Tm : test (fun s => q * present s f + (1 - q) * absent s f)).
      { intros s. pose proof (E_test (present s) f Hf). pose proof (E_test (absent s) f Hf). nra. }
      assert (Ta : test (fun s => absent s f)) by (intros s; apply E_test; auto).
      assert (0 <= c * / q) by nra.
      pose proof (E_le_affine others _ _ (c * / q) (may_fail k + a) Ta Tm ltac:(auto) Fa) as Aff.
      pose proof (E_test others _ Tm).
      assert (others (fun s => absent s f) <= c * / q * others (fun s => q * present s f + (1 - q) * absent s f) + (may_fail k + a)).
      2: { assert (0 <= (c + 1) * others (fun s => q * present s f + (1 - q) * absent s f)) by (apply Rmult_le_pos; lra). lra. }
      apply Aff. intros s. pose proof (H Back A (absent s) (present s) f (Hm s) Hf).
      pose proof (E_test (present s) f Hf). pose proof (E_test (absent s) f Hf).
      assert (c * / q * (q * present s f) = c * present s f) by (field; lra).
      assert (0 <= c * / q * ((1 - q) * absent s f)) by (repeat apply Rmult_le_pos; lra). nra.
Qed.

(** Two laws that a test tells apart for sure. *)
Theorem leak_meets_no_kind k w {A} (P Q : law A) f : well_formed k = true -> may_fail k < 1 ->
  test f -> P f = 1 -> Q f = 0 -> ~ meets k w P Q.
Proof.
  intros Hk Hd Hf HP HQ Hm. destruct (contained k Hk ((1 - may_fail k) / 2) ltac:(lra)) as [c [_ H]].
  specialize (H w A P Q f Hm Hf). rewrite HP, HQ in H. lra.
Qed.
