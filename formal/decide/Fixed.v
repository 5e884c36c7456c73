(** Real numbers enclosed between whole multiples of 2^-p, rounded outward: what the checker decides with.

    An end that is not known is [None]; whatever is not decided is refused. *)
Require Import Reals ZArith QArith Qreals Lra Lia Psatz List.
From Coquelicot Require Import Coquelicot.
From DP.base Require Import Normal.
Import ListNotations.
Open Scope R_scope.

Definition unit_of (p : positive) : R := IZR (2 ^ Zpos p).

Lemma unit_pos p : 0 < unit_of p.
Proof. unfold unit_of. apply IZR_lt. apply Z.pow_pos_nonneg; lia. Qed.

Definition ends := (option Z * option Z)%type.

Definition above p (e : option Z) (x : R) := match e with Some z => IZR z <= x * unit_of p | None => True end.
Definition below p (e : option Z) (x : R) := match e with Some z => x * unit_of p <= IZR z | None => True end.
Definition inside p (e : ends) (x : R) := above p (fst e) x /\ below p (snd e) x.

(* ---------------------------------------------------------------- whole numbers *)

(** Division of whole numbers that rounds up. *)
Definition up_div (a b : Z) : Z := (- ((- a) / b))%Z.

Lemma div_le a b : (0 < b)%Z -> IZR (a / b) * IZR b <= IZR a.
Proof. intros. rewrite <- mult_IZR. apply IZR_le. pose proof (Z.mul_div_le a b H). lia. Qed.

Lemma up_div_le a b : (0 < b)%Z -> IZR a <= IZR (up_div a b) * IZR b.
Proof.
  intros. rewrite <- mult_IZR. apply IZR_le. unfold up_div. pose proof (Z.mul_div_le (- a) b H). lia.
Qed.

Definition opt {A B} (f : A -> B) (a : option A) : option B := match a with Some a => Some (f a) | None => None end.
Definition opt2 {A B C} (f : A -> B -> C) (a : option A) (b : option B) : option C :=
  match a, b with Some a, Some b => Some (f a b) | _, _ => None end.

(* ---------------------------------------------------------------- arithmetic *)

Section Precision.
Variable p : positive.
Let one : Z := (2 ^ Zpos p)%Z.

Lemma one_pos : (0 < one)%Z.
Proof. apply Z.pow_pos_nonneg; lia. Qed.

Lemma one_unit : IZR one = unit_of p.
Proof. reflexivity. Qed.

Definition of_Q (q : Q) : ends := (Some (Qnum q * one / Zpos (Qden q))%Z, Some (up_div (Qnum q * one) (Zpos (Qden q)))).

Lemma of_Q_inside q : inside p (of_Q q) (Q2R q).
Proof.
  unfold inside, of_Q, above, below, Q2R; simpl. pose proof (unit_pos p) as Hu.
  assert (Hd : 0 < IZR (Zpos (Qden q))) by (apply IZR_lt; lia).
  pose proof (div_le (Qnum q * one) (Zpos (Qden q)) ltac:(lia)) as H1.
  pose proof (up_div_le (Qnum q * one) (Zpos (Qden q)) ltac:(lia)) as H2.
  rewrite mult_IZR, one_unit in H1, H2. split.
  - apply Rmult_le_reg_r with (IZR (Zpos (Qden q))); auto.
    replace (IZR (Qnum q) * / IZR (Z.pos (Qden q)) * unit_of p * IZR (Z.pos (Qden q))) with (IZR (Qnum q) * unit_of p) by (field; lra). auto.
  - apply Rmult_le_reg_r with (IZR (Zpos (Qden q))); auto.
    replace (IZR (Qnum q) * / IZR (Z.pos (Qden q)) * unit_of p * IZR (Z.pos (Qden q))) with (IZR (Qnum q) * unit_of p) by (field; lra). auto.
Qed.

Definition add (a b : ends) : ends := (opt2 Z.add (fst a) (fst b), opt2 Z.add (snd a) (snd b)).
Definition neg (a : ends) : ends := (opt Z.opp (snd a), opt Z.opp (fst a)).
Definition sub (a b : ends) : ends := add a (neg b).

Lemma add_inside a b x y : inside p a x -> inside p b y -> inside p (add a b) (x + y).
Proof.
  unfold inside, above, below, add. destruct a as [[a1|] [a2|]], b as [[b1|] [b2|]]; simpl; intros [] [];
    split; auto; rewrite plus_IZR; lra.
Qed.

Lemma neg_inside a x : inside p a x -> inside p (neg a) (- x).
Proof.
  unfold inside, above, below, neg. destruct a as [[a1|] [a2|]]; simpl; intros [];
    split; auto; rewrite opp_IZR; lra.
Qed.

Lemma sub_inside a b x y : inside p a x -> inside p b y -> inside p (sub a b) (x - y).
Proof. intros. apply add_inside; auto using neg_inside. Qed.

(** Products of numbers that are not negative; other products are not needed. *)
Definition nonneg (a : ends) : bool := match fst a with Some z => (0 <=? z)%Z | None => false end.

Definition is_zero (a : ends) : bool := match a with (Some 0%Z, Some 0%Z) => true | _ => false end.

Definition mul (a b : ends) : ends :=
  if is_zero a || is_zero b then (Some 0, Some 0)%Z
  else if nonneg a && nonneg b then
    (opt2 (fun x y => (x * y / one)%Z) (fst a) (fst b), opt2 (fun x y => up_div (x * y) one) (snd a) (snd b))
  else match a, b with
  | (Some a1, Some a2), (Some b1, Some b2) =>
      let all := [a1 * b1; a1 * b2; a2 * b1; a2 * b2]%Z in
      (Some (fold_right Z.min (a1 * b1) all / one)%Z, Some (up_div (fold_right Z.max (a1 * b1) all) one)%Z)
  | _, _ => (None, None)
  end.

Lemma is_zero_inside a x : is_zero a = true -> inside p a x -> x = 0.
Proof.
  destruct a as [[[| |]|] [[| |]|]]; try discriminate. intros _ [H1 H2]. unfold above, below in *; simpl in *.
  pose proof (unit_pos p). nra.
Qed.

Lemma nonneg_inside a x : nonneg a = true -> inside p a x -> 0 <= x.
Proof.
  unfold nonneg, inside, above. destruct a as [[z|] b]; simpl; try discriminate. intros H [H1 _].
  apply Z.leb_le, IZR_le in H. pose proof (unit_pos p). nra.
Qed.

Lemma corners a b c d x y : a <= x <= b -> c <= y <= d ->
  Rmin (Rmin (a * c) (a * d)) (Rmin (b * c) (b * d)) <= x * y <= Rmax (Rmax (a * c) (a * d)) (Rmax (b * c) (b * d)).
Proof.
  intros [Hax Hxb] [Hcy Hyd].
  assert (L : forall m, m <= a * c -> m <= a * d -> m <= b * c -> m <= b * d -> m <= x * y).
  { intros m H1 H2 H3 H4. destruct (Rle_dec 0 y).
    - destruct (Rle_dec 0 a); [nra|]. assert (a * y <= x * y) by nra.
      assert (m <= a * y); [|lra]. destruct (Rle_dec y d); nra.
    - assert (b * y <= x * y) by nra. assert (m <= b * y); [|lra]. destruct (Rle_dec 0 b); nra. }
  assert (U : forall m, a * c <= m -> a * d <= m -> b * c <= m -> b * d <= m -> x * y <= m).
  { intros m H1 H2 H3 H4. destruct (Rle_dec 0 y).
    - assert (x * y <= b * y) by nra. assert (b * y <= m); [|lra]. destruct (Rle_dec 0 b); nra.
    - assert (x * y <= a * y) by nra. assert (a * y <= m); [|lra]. destruct (Rle_dec 0 a); nra. }
  split; [apply L|apply U].
  all: unfold Rmin, Rmax; repeat destruct (Rle_dec _ _); lra.
Qed.

Lemma mul_inside a b x y : inside p a x -> inside p b y -> inside p (mul a b) (x * y).
Proof.
  intros Ha Hb. unfold mul. pose proof (unit_pos p) as Hu. pose proof one_pos as Ho.
  destruct (is_zero a || is_zero b) eqn:Hz.
  { assert (x * y = 0) as ->.
    { apply orb_prop in Hz. destruct Hz as [Hz|Hz]; [rewrite (is_zero_inside a x Hz Ha) | rewrite (is_zero_inside b y Hz Hb)]; ring. }
    unfold inside, above, below; simpl. lra. }
  destruct (nonneg a && nonneg b) eqn:Hn.
  - apply andb_prop in Hn. destruct Hn as [Hna Hnb].
    pose proof (nonneg_inside a x Hna Ha). pose proof (nonneg_inside b y Hnb Hb).
    unfold nonneg in *. destruct a as [[a1|] a2], b as [[b1|] b2]; simpl in *; try discriminate.
    apply Z.leb_le, IZR_le in Hna. apply Z.leb_le, IZR_le in Hnb.
    destruct Ha as [Ha1 Ha2], Hb as [Hb1 Hb2]. unfold above, below in *; simpl in *. split; simpl.
    + pose proof (div_le (a1 * b1) one Ho). rewrite mult_IZR, one_unit in H1.
      apply Rmult_le_reg_r with (unit_of p); auto.
      replace (x * y * unit_of p * unit_of p) with ((x * unit_of p) * (y * unit_of p)) by ring. nra.
    + destruct a2 as [a2|], b2 as [b2|]; simpl; auto.
      pose proof (up_div_le (a2 * b2) one Ho). rewrite mult_IZR, one_unit in H1.
      apply Rmult_le_reg_r with (unit_of p); auto.
      replace (x * y * unit_of p * unit_of p) with ((x * unit_of p) * (y * unit_of p)) by ring.
      assert (0 <= x * unit_of p) by nra. assert (0 <= y * unit_of p) by nra. nra.
  - destruct a as [[a1|] [a2|]], b as [[b1|] [b2|]]; try (split; exact I).
    destruct Ha as [Ha1 Ha2], Hb as [Hb1 Hb2]. unfold above, below in *; simpl in *.
    pose proof (corners (IZR a1) (IZR a2) (IZR b1) (IZR b2) (x * unit_of p) (y * unit_of p) (conj Ha1 Ha2) (conj Hb1 Hb2)) as [L U].
    set (lo := (Z.min (a1 * b1) (Z.min (a1 * b2) (Z.min (a2 * b1) (Z.min (a2 * b2) (a1 * b1)))))%Z).
    set (hi := (Z.max (a1 * b1) (Z.max (a1 * b2) (Z.max (a2 * b1) (Z.max (a2 * b2) (a1 * b1)))))%Z).
    assert (Hlo : IZR lo <= Rmin (Rmin (IZR a1 * IZR b1) (IZR a1 * IZR b2)) (Rmin (IZR a2 * IZR b1) (IZR a2 * IZR b2))).
    { rewrite <- !mult_IZR. repeat apply Rmin_glb; apply IZR_le; unfold lo; lia. }
    assert (Hhi : Rmax (Rmax (IZR a1 * IZR b1) (IZR a1 * IZR b2)) (Rmax (IZR a2 * IZR b1) (IZR a2 * IZR b2)) <= IZR hi).
    { rewrite <- !mult_IZR. repeat apply Rmax_lub; apply IZR_le; unfold hi; lia. }
    unfold inside, above, below; cbn [fst snd fold_right]. fold lo hi.
    pose proof (div_le lo one Ho). pose proof (up_div_le hi one Ho). rewrite one_unit in *.
    split; apply Rmult_le_reg_r with (unit_of p); auto;
      replace (x * y * unit_of p * unit_of p) with ((x * unit_of p) * (y * unit_of p)) by ring; lra.
Qed.

(** Division by what is above 0. *)
Definition div (a b : ends) : ends :=
  match fst b with
  | Some b1 =>
    if (0 <? b1)%Z then
      (match fst a with
       | Some a1 => if (0 <=? a1)%Z then match snd b with Some b2 => Some (a1 * one / b2)%Z | None => Some 0%Z end
                    else Some (a1 * one / b1)%Z
       | None => None
       end,
       match snd a with
       | Some a2 => if (0 <=? a2)%Z then Some (up_div (a2 * one) b1)
                    else match snd b with Some b2 => Some (up_div (a2 * one) b2) | None => Some 0%Z end
       | None => None
       end)
    else (None, None)
  | None => (None, None)
  end.

Lemma div_inside a b x y : inside p a x -> inside p b y -> inside p (div a b) (x / y).
Proof.
  intros Ha Hb. unfold div. pose proof (unit_pos p) as Hu.
  destruct b as [[b1|] b2]; simpl; [|split; exact I].
  destruct (Z.ltb_spec 0 b1) as [Hb0|]; [|split; exact I].
  destruct Ha as [Ha1 Ha2], Hb as [Hb1 Hb2]. unfold above, below in *; simpl in *.
  assert (HB : 0 < IZR b1) by (apply IZR_lt; auto).
  assert (Hy : 0 < y) by nra.
  assert (Hb2' : forall z, b2 = Some z -> 0 < IZR z /\ (0 < z)%Z).
  { intros z ->. simpl in Hb2. assert (0 < IZR z) by nra. split; auto. apply lt_IZR; auto. }
  assert (Hxy : x / y * unit_of p * (y * unit_of p) = x * unit_of p * unit_of p) by (field; lra).
  assert (HY : 0 < y * unit_of p) by nra.
  split; simpl.
  - destruct (fst a) as [a1|]; simpl; auto. destruct (Z.leb_spec 0 a1) as [H0|H0].
    + apply IZR_le in H0. destruct b2 as [b2|]; simpl.
      * destruct (Hb2' b2 eq_refl). pose proof (div_le (a1 * one) b2 ltac:(lia)). rewrite mult_IZR, one_unit in H2.
        apply Rmult_le_reg_r with (y * unit_of p); auto. rewrite Hxy.
        assert (0 <= IZR (a1 * one / b2)).
        { apply IZR_le. apply Z.div_pos; [|lia]. pose proof one_pos. apply le_IZR in H0. nia. }
        simpl in Hb2. nra.
      * apply Rmult_le_reg_r with (y * unit_of p); auto. rewrite Hxy. nra.
    + apply IZR_lt in H0. pose proof (div_le (a1 * one) b1 Hb0). rewrite mult_IZR, one_unit in H.
      apply Rmult_le_reg_r with (y * unit_of p); auto. rewrite Hxy.
      assert (IZR (a1 * one / b1) <= 0).
      { apply IZR_le. pose proof one_pos. apply lt_IZR in H0. apply Z.div_le_upper_bound; nia. }
      nra.
  - destruct (snd a) as [a2|]; simpl; auto. destruct (Z.leb_spec 0 a2) as [H0|H0].
    + apply IZR_le in H0. pose proof (up_div_le (a2 * one) b1 Hb0). rewrite mult_IZR, one_unit in H.
      apply Rmult_le_reg_r with (y * unit_of p); auto. rewrite Hxy.
      assert (0 <= IZR (up_div (a2 * one) b1)).
      { apply IZR_le. unfold up_div. pose proof one_pos. apply le_IZR in H0.
        assert (- (a2 * one) / b1 <= 0)%Z by (apply Z.div_le_upper_bound; nia). lia. }
      nra.
    + apply IZR_lt in H0. destruct b2 as [b2|]; simpl.
      * destruct (Hb2' b2 eq_refl). pose proof (up_div_le (a2 * one) b2 ltac:(lia)). rewrite mult_IZR, one_unit in H2.
        apply Rmult_le_reg_r with (y * unit_of p); auto. rewrite Hxy.
        assert (IZR (up_div (a2 * one) b2) <= 0).
        { apply IZR_le. unfold up_div. pose proof one_pos. apply lt_IZR in H0.
          assert (0 <= - (a2 * one) / b2)%Z by (apply Z.div_pos; nia). lia. }
        simpl in Hb2. nra.
      * apply Rmult_le_reg_r with (y * unit_of p); auto. rewrite Hxy. nra.
Qed.

(** Both ends one unit further out: what is equal by chance is not decided. *)
Definition wider (a : ends) : ends := (opt (fun z => (z - 1)%Z) (fst a), opt (fun z => (z + 1)%Z) (snd a)).

Lemma wider_inside a x : inside p a x -> inside p (wider a) x.
Proof.
  unfold inside, above, below, wider. destruct a as [[a1|] [a2|]]; simpl; intros []; split; auto;
    rewrite ?minus_IZR, ?plus_IZR; lra.
Qed.

Definition at_least_0 (a : ends) : ends :=
  (match fst a with Some z => Some (Z.max 0 z) | None => Some 0%Z end, snd a).

Lemma at_least_0_inside a x : 0 <= x -> inside p a x -> inside p (at_least_0 a) x.
Proof.
  unfold inside, above, below, at_least_0. pose proof (unit_pos p). destruct a as [[a1|] a2]; simpl; intros Hx []; split; auto.
  - destruct (Z.max_spec 0 a1) as [[_ ->]|[_ ->]]; auto. nra.
  - nra.
Qed.

(* ---------------------------------------------------------------- roots *)

Definition root (a : ends) : ends :=
  at_least_0 (wider (opt (fun z => if (z <=? 0)%Z then 0%Z else Z.sqrt (z * one)) (fst a),
                     opt (fun z => if (z <? 0)%Z then 0%Z else (Z.sqrt (z * one) + 1)%Z) (snd a))).

Lemma root_inside a x : 0 <= x -> inside p a x -> inside p (root a) (sqrt x).
Proof.
  intros Hx [H1 H2]. apply at_least_0_inside; [apply sqrt_pos|]. apply wider_inside.
  pose proof (unit_pos p) as Hu. pose proof (sqrt_pos x). pose proof (sqrt_sqrt x Hx).
  assert (Low : forall z, (0 < z)%Z -> IZR z <= x * unit_of p -> IZR (Z.sqrt (z * one)) <= sqrt x * unit_of p).
  { intros z Hz Hzx. apply Rsqr_incr_0_var; [|nra]. unfold Rsqr. pose proof one_pos.
    assert (Hn : (0 <= z * one)%Z) by nia. destruct (Z.sqrt_spec _ Hn) as [Hs _]. apply IZR_le in Hs.
    rewrite !mult_IZR, one_unit in Hs. nra. }
  assert (High : forall z, (0 <= z)%Z -> x * unit_of p <= IZR z -> sqrt x * unit_of p <= IZR (Z.sqrt (z * one) + 1)).
  { intros z Hz Hzx. pose proof one_pos. assert (Hn : (0 <= z * one)%Z) by nia.
    destruct (Z.sqrt_spec _ Hn) as [_ Hs]. pose proof (Z.sqrt_nonneg (z * one)).
    apply Rsqr_incr_0_var; [|apply IZR_le; lia]. unfold Rsqr.
    assert (Hr : IZR (z * one) <= IZR (Z.sqrt (z * one) + 1) * IZR (Z.sqrt (z * one) + 1)).
    { rewrite <- mult_IZR. apply IZR_le. lia. }
    rewrite (mult_IZR z one), one_unit in Hr. nra. }
  unfold inside, above, below in *. destruct a as [[a1|] [a2|]]; simpl in *; split; auto.
  1, 3: destruct (Z.leb_spec a1 0); [nra | apply Low; auto].
  all: destruct (Z.ltb_spec a2 0) as [Hn|Hn]; [apply IZR_lt in Hn; nra | apply High; auto].
Qed.
End Precision.
