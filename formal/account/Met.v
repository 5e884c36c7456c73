(** What meets a kind: Gaussian noise, Poisson samples of rows, and whatever is made of what meets it.

    `meets_post`: post-processing costs nothing.  `gaussian_meets`: vectors with Gaussian noise; `poisson_meets`: a
    mechanism on a sample that holds every row with probability q.  `response_met`, `answers_met`, `geometric_met`,
    `discrete_normal_met`: laws that differ and meet these kinds are there.  That continuous noise is there, as a law of
    all tests, is not shown. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Definitions Meaning.
From DP.core Require Import Costs Products.
From DP.noise Require Import Normals.
From DP.samples Require Import Poisson.
From DP.account Require Import Kinds.
From DP.core Require Instance.
From DP.account.kinds Require Import Answers.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- post-processing *)

Lemma bind_bind {A B C} (P : law A) (k : A -> law B) (post : B -> law C) (L : law B) :
  same L (bind P k) -> same (bind L post) (bind P (fun a => bind (k a) post)).
Proof. intros H f Hf. cbn [bind E]. apply (H (fun b => post b f)). intros b. apply E_test; auto. Qed.

Theorem meets_post k {A B} : forall w (P Q : law A) (post : A -> law B),
  meets k w P Q -> meets k w (bind P post) (bind Q post).
Proof.
  induction k as [epsilon|epsilon delta|moved|scale shift|mu_squared|variance shift|epsilon number|rate k IH]; intros w P Q post H;
    cbn [meets] in *.
  - destruct H. split; apply pure_post; auto.
  - destruct H as [H1 H2]. split; intros f Hf; [apply H1 | apply H2]; intros a; apply E_test; auto.
  - destruct H as [b [L [numbers [k [Hb [HL [Hm [HP HQ]]]]]]]]. exists b, L, numbers, (fun a => bind (k a) post).
    do 3 (split; auto). split; apply bind_bind; auto.
  - destruct H as [N [numbers [k [HN [Hm [HP HQ]]]]]]. exists N, numbers, (fun a => bind (k a) post).
    split; [auto|split; [auto|]]. split; apply bind_bind; auto.
  - apply gdp_post. auto.
  - destruct H as [N [numbers [k [HN [Hm [HP HQ]]]]]]. exists N, numbers, (fun a => bind (k a) post).
    split; [auto|split; [auto|]]. split; apply bind_bind; auto.
  - destruct H as [i [j [R [S [k [Hi [Hj [HR [HS [HP HQ]]]]]]]]]]. exists i, j, R, S, (fun a => bind (k a) post).
    do 4 (split; auto). split; apply bind_bind; auto.
  - assert (T : forall f : B -> R, test f -> test (fun a => post a f)) by (intros f Hf a; apply E_test; auto).
    destruct w; destruct H as [S [others [present [absent [HM Hd]]]]];
      exists S, others, (fun s => bind (present s) post), (fun s => bind (absent s) post);
      (split; [intros s; apply IH; auto | intros f Hf; apply (Hd _ (T f Hf))]).
Qed.

(* ---------------------------------------------------------------- Gaussian noise *)

Theorem gaussian_meets mu_squared w s N (numbers : list (R * R)) : 0 < s -> normal_law s N ->
  total (fun n => (fst n - snd n) * (fst n - snd n) / (s * s)) numbers <= Q2R mu_squared ->
  meets (NormalNoise mu_squared) w (each (map (fun n => N (fst n)) numbers)) (each (map (fun n => N (snd n)) numbers)).
Proof.
  intros Hs HN Hm. assert (Pos : forall n : R * R, 0 <= (fst n - snd n) * (fst n - snd n) / (s * s)).
  { intros n. apply Rmult_le_pos; [apply (Rle_0_sqr (fst n - snd n))|]. left. apply Rinv_0_lt_compat. nra. }
  cbn [meets]. apply gdp_grows with (total (fun n => (fst n - snd n) * (fst n - snd n) / (s * s)) numbers).
  - split; auto. apply total_nonneg. auto.
  - apply gdp_each. intros n _. split; auto. apply normal_gdp; auto.
Qed.

(* ---------------------------------------------------------------- Poisson samples *)

Section Rows.
  Context {row A : Type} (rate : Q) (Hq : 0 <= Q2R rate <= 1) (k : kind) (M : list row -> law A) (u : row) (l m : list row).

  Lemma poisson_pair (meet : law A -> law A -> Prop) : (forall s s', meet (M (s ++ u :: s')) (M (s ++ s'))) ->
    sampled_pair (Q2R rate) meet (bind (sample (Q2R rate) Hq (l ++ u :: m)) M) (bind (sample (Q2R rate) Hq (l ++ m)) M).
  Proof.
    intros H. exists (list row * list row)%type, (others (Q2R rate) Hq l m), (fun s => M (fst s ++ u :: snd s)),
      (fun s => M (fst s ++ snd s)). split; [intros s; apply H|]. intros f Hf.
    rewrite (sample_with (Q2R rate) Hq l m u M f Hf), (sample_without (Q2R rate) Hq l m M f Hf). split; reflexivity.
  Qed.

  (** With and without the row u, both ways. *)
  Theorem poisson_meets :
    (forall s s', meets k There (M (s ++ u :: s')) (M (s ++ s')) /\ meets k Back (M (s ++ s')) (M (s ++ u :: s'))) ->
    meets (Sampled rate k) There (bind (sample (Q2R rate) Hq (l ++ u :: m)) M) (bind (sample (Q2R rate) Hq (l ++ m)) M) /\
    meets (Sampled rate k) Back (bind (sample (Q2R rate) Hq (l ++ m)) M) (bind (sample (Q2R rate) Hq (l ++ u :: m)) M).
  Proof. intros H. split; apply poisson_pair; intros s s'; apply H. Qed.
End Rows.

(* ---------------------------------------------------------------- there are such laws *)

Lemma integer_met (noise : law Z -> Prop) N shift x : noise N -> (0 <= shift)%Z ->
  integer_pair noise shift (image (Z.add (x + shift)) N) (image (Z.add x) N).
Proof.
  intros HN Hs. exists N, [((x + shift)%Z, x)], (fun l => match l with z :: _ => point z | [] => point 0%Z end).
  split; auto. split; [cbn; lia|]. split; intros f Hf; reflexivity.
Qed.

Lemma discrete_laplace_there b : 0 < b -> exists N, discrete_laplace b N.
Proof.
  intros Hb. set (w := fun z : Z => exp (- Rabs (IZR z) / b)). assert (Hw : summable w) by apply (Instance.geometric_summable b Hb).
  assert (Hp : 0 < usum w) by (apply Rlt_le_trans with (w 0%Z); [apply exp_pos | apply usum_at; auto]).
  exists (weighted w Hw Hp). apply weighted_proportional.
Qed.

Lemma discrete_normal_there v : 0 < v -> exists N, discrete_normal v N.
Proof.
  intros Hv. set (w := fun z : Z => exp (- (IZR z * IZR z) / (2 * v))).
  assert (Hw : summable w).
  { apply summable_le with (fun z : Z => exp (- Rabs (IZR z) / (2 * v))); [apply (Instance.geometric_summable (2 * v)); lra|].
    intros z. split; [left; apply exp_pos|]. apply exp_le. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|].
    apply Ropp_le_contravar. rewrite <- mult_IZR, <- abs_IZR. apply IZR_le. nia. }
  assert (Hp : 0 < usum w) by (apply Rlt_le_trans with (w 0%Z); [apply exp_pos | apply usum_at; auto]).
  exists (weighted w Hw Hp). apply weighted_proportional.
Qed.

Theorem geometric_met scale shift w : 0 < Q2R scale -> (0 <= shift)%Z -> exists N, discrete_laplace (Q2R scale) N /\
  meets (GeometricNoise scale shift) w (image (Z.add shift) N) (image (Z.add 0) N).
Proof.
  intros Hs Hk. destruct (discrete_laplace_there (Q2R scale) Hs) as [N HN]. exists N. split; auto.
  apply (integer_met _ N shift 0 HN Hk).
Qed.

Theorem discrete_normal_met variance shift w : 0 < Q2R variance -> (0 <= shift)%Z ->
  exists N, discrete_normal (Q2R variance) N /\
    meets (DiscreteNormalNoise variance shift) w (image (Z.add shift) N) (image (Z.add 0) N).
Proof.
  intros Hs Hk. destruct (discrete_normal_there (Q2R variance) Hs) as [N HN]. exists N. split; auto.
  apply (integer_met _ N shift 0 HN Hk).
Qed.

Theorem response_met epsilon w : 0 <= Q2R epsilon -> exists P Q : law bool,
  meets (Response epsilon) w P Q /\ (1 + exp (Q2R epsilon)) * P (fun b => if b then 1 else 0) = exp (Q2R epsilon) /\
  (1 + exp (Q2R epsilon)) * Q (fun b => if b then 1 else 0) = 1.
Proof.
  intros He. set (e := exp (Q2R epsilon)). assert (H1 : 1 <= e) by (rewrite <- exp_0; apply exp_le; auto).
  assert (Ht : 0 <= / (1 + e) <= 1).
  { split; [left; apply Rinv_0_lt_compat; lra|]. rewrite <- Rinv_1 at 2. apply Rinv_le_contravar; lra. }
  exists (coin (/ (1 + e)) Ht false true), (coin (/ (1 + e)) Ht true false). cbn [meets].
  set (t := / (1 + e)) in *. assert (Et : (1 + e) * t = 1) by (unfold t; field; lra). split; [split|].
  - intros f Hf. cbn [coin E]. fold e. pose proof (Hf true). pose proof (Hf false). nra.
  - intros f Hf. cbn [coin E]. fold e. pose proof (Hf true). pose proof (Hf false). nra.
  - cbn [coin E]. split; lra.
Qed.

Theorem answers_met epsilon number w : 0 <= Q2R epsilon -> (2 <= number)%Z -> exists R S : law Z,
  meets (Answers epsilon number) w R S /\
  (exp (Q2R epsilon) - 1 + IZR number) * R (fun x => if (x =? 0)%Z then 1 else 0) = exp (Q2R epsilon) /\
  (exp (Q2R epsilon) - 1 + IZR number) * S (fun x => if (x =? 0)%Z then 1 else 0) = 1.
Proof.
  intros He Hn. set (e := exp (Q2R epsilon)). assert (H1 : 1 <= e) by (rewrite <- exp_0; apply exp_le; auto).
  assert (There_is : forall i, (0 <= i < number)%Z -> exists R, proportional (weight e number i) R /\
    R (fun x => if (x =? 0)%Z then 1 else 0) * (e - 1 + IZR number) = weight e number i 0).
  { intros i Hi. apply IZR_le in Hn as Hn'.
    assert (Hw : summable (weight e number i)).
    { refine (proj1 (usum_finite (weight e number i) (all number) (all_once number) (weight_pos e number H1 i) _)).
      intros x Hx. unfold weight. destruct ((0 <=? x) && (x <? number))%Z eqn:H; auto. apply inside_all in H; [contradiction | auto]. }
    assert (Hp : 0 < usum (weight e number i)) by (rewrite whole_all; auto; lra).
    assert (T : test (fun x : Z => if (x =? 0)%Z then 1 else 0)) by (intros x; destruct (x =? 0)%Z; lra).
    exists (weighted _ Hw Hp). split; [apply weighted_proportional|].
    rewrite <- (whole_all e number H1 Hn i Hi).
    destruct (weighted_proportional (weight e number i) Hw Hp) as [_ [_ ->]]; auto.
    destruct (usum_finite (fun x => weight e number i x * (if (x =? 0)%Z then 1 else 0)) [0%Z]) as [_ ->].
    - repeat constructor; auto.
    - intros x. apply Rmult_le_pos; [apply weight_pos; auto | apply T].
    - intros x Hx. destruct (Z.eqb_spec x 0) as [->|]; [destruct Hx; left; auto | ring].
    - cbn [total]. destruct (Z.eqb_spec 0 0); [ring | lia]. }
  destruct (There_is 0%Z ltac:(lia)) as [R [HR R0]]. destruct (There_is 1%Z ltac:(lia)) as [S [HS S0]].
  exists R, S. split; [|split].
  - exists 0%Z, 1%Z, R, S, (fun x => point x). do 2 (split; [lia|]). split; [exact HR|]. split; [exact HS|].
    split; intros f Hf; reflexivity.
  - rewrite Rmult_comm, R0. unfold weight. destruct (Z.ltb_spec 0 number); [|lia]. cbn. reflexivity.
  - rewrite Rmult_comm, S0. unfold weight. destruct (Z.ltb_spec 0 number); [|lia]. cbn. reflexivity.
Qed.
