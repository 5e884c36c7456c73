(** One point (ε, δ) of a privacy curve, for every adversary: pure, of bounded range, Gaussian, Rényi. *)
Require Import Reals Lra Lia Psatz List Bool.
From Coquelicot Require Import Coquelicot.
From DP.base Require Import Laws Normal.
From DP Require Import Definitions.
From DP.core Require Import Powers Chance Costs Satisfies Ranges Layers Squares.
Import ListNotations.
Open Scope R_scope.

(* ---------------------------------------------------------------- pure *)

(** Two bounds by e^b, one for an event and one for what is not in it. *)
Lemma pure_point b e p q : 1 <= e < b -> 0 <= p <= 1 -> 0 <= q <= 1 -> p <= b * q -> 1 - q <= b * (1 - p) ->
  p <= e * q + (b - e) / (1 + b).
Proof.
  intros He Hp Hq H1 H2. apply Rmult_le_reg_r with ((b - 1) * (1 + b)); [nra|].
  replace ((e * q + (b - e) / (1 + b)) * ((b - 1) * (1 + b))) with (e * q * ((b - 1) * (1 + b)) + (b - e) *
    (b - 1)) by (field; lra).
  assert (0 <= (b * e - 1) * (b * q - p)) by (apply Rmult_le_pos; nra).
  assert (0 <= (b - e) * (b * (1 - p) - (1 - q))) by (apply Rmult_le_pos; lra). nra.
Qed.

(* ---------------------------------------------------------------- bounded range *)

(** An event of a pair of range η is below a corner that is lowest at equal odds. *)
Lemma range_point a h e x y : 0 < a -> 1 < h -> 1 <= e <= h -> 0 <= x <= 1 -> 0 <= y <= 1 -> a <= 1 <= a * h ->
  y <= a * h * x -> a * (1 - x) <= 1 - y -> y <= e * x + (sqrt h - sqrt e) * (sqrt h - sqrt e) / (h - 1).
Proof.
  intros Ha Hh He Hx Hy Hah H1 H2.
  assert (Hd : 0 <= (sqrt h - sqrt e) * (sqrt h - sqrt e) / (h - 1)).
  { apply Rdiv_le_0_compat; [apply Rle_0_sqr | lra]. }
  destruct (Rle_dec (a * h) e) as [Hsmall|Hlarge]; [nra|].
  pose proof (sqrt_sqrt h ltac:(lra)) as Sh. pose proof (sqrt_sqrt e ltac:(lra)) as Se.
  set (r := sqrt h) in *. set (t := sqrt e) in *.
  (* a weighted mean of both bounds *)
  assert (G : y * (a * (h - 1)) <= (a * h - e) * (1 - a) + e * x * (a * (h - 1))).
  { assert (0 <= (a * h - e) * (1 - a + a * x - y)) by (apply Rmult_le_pos; lra).
    assert (0 <= (e - a) * (a * h * x - y)) by (apply Rmult_le_pos; lra). nra. }
  assert (S : (a * h - e) * (1 - a) <= a * ((r - t) * (r - t))).
  { assert (0 <= (a * r - t) * (a * r - t)) by apply Rle_0_sqr. rewrite <- Sh, <- Se. nra. }
  apply Rmult_le_reg_r with (a * (h - 1)); [nra|].
  replace ((e * x + (r - t) * (r - t) / (h - 1)) * (a * (h - 1))) with (e * x * (a * (h - 1)) + a * ((r - t) *
    (r - t))) by (field; lra).
  lra.
Qed.

(* ---------------------------------------------------------------- Gaussian *)

Lemma gaussian_point mu e z : 0 < mu -> Phi (z + mu) <=
  exp e * Phi z + (Phi (- (e / mu - mu / 2)) - exp e * Phi (- (e / mu + mu / 2))).
Proof.
  intros Hmu. set (z0 := - (e / mu + mu / 2)). set (D := fun z => Phi (z + mu) - exp e * Phi z).
  replace (- (e / mu - mu / 2)) with (z0 + mu) by (unfold z0; field; lra).
  assert (G : D z <= D z0); [|unfold D in G; lra].
  set (D' := fun z => phi (z + mu) - exp e * phi z).
  assert (HD : forall x, is_derive D x (D' x)).
  { intros x. apply (is_derive_minus (fun z => Phi (z + mu)) (fun z => exp e * Phi z));
    [|apply is_derive_scal, Phi_derive].
    apply (is_derive_ext (fun z => 1 * Phi (z + mu))); [intros t; inR; ring|].
    apply (derive_eq _ _ (1 * phi (x + mu))); [apply Phi_moved_derive | inR; ring]. }
  assert (HS : forall x, D' x = phi x * (exp (- (x * mu + mu * mu / 2)) - exp e)) by (intros x; unfold D';
    rewrite phi_shift; ring).
  destruct (Rle_dec z z0) as [Hz|Hz].
  - apply (grows D D'); auto. intros x Hx. rewrite HS. pose proof (phi_pos x). apply Rmult_le_pos; [lra|].
    assert (exp e <= exp (- (x * mu + mu * mu / 2))); [|lra]. apply exp_le.
    assert (x * mu <= z0 * mu) by nra. replace (z0 * mu) with (- (e + mu * mu / 2)) in H0 by (unfold z0; field;
      lra). lra.
  - assert (- D z0 <= - D z); [|lra]. apply (grows (fun x => - D x) (fun x => - D' x)); [| |lra].
    + intros x _. apply (is_derive_opp D). apply HD.
    + intros x Hx. rewrite HS. pose proof (phi_pos x).
      assert (exp (- (x * mu + mu * mu / 2)) <= exp e); [|nra]. apply exp_le.
      assert (z0 * mu <= x * mu) by nra. replace (z0 * mu) with (- (e + mu * mu / 2)) in H0 by (unfold z0; field;
        lra). lra.
Qed.

(** Events that are 0 and 1 likely are limits of others. *)
Lemma gaussian_event mu e d p q : 0 < mu -> 0 <= e -> 0 <= p <= 1 -> 0 <= q ->
  Phi (- (e / mu - mu / 2)) - exp e * Phi (- (e / mu + mu / 2)) <= d -> 0 <= d ->
  (forall z, q <= Phi z -> p <= Phi (z + mu)) -> p <= exp e * q + d.
Proof.
  intros Hmu He Hp Hq Hd Hd0 H. assert (H1 : 1 <= exp e) by (rewrite <- exp_0; apply exp_le; auto).
  destruct (Rle_dec 1 q) as [Hq1|Hq1]; [nra|]. apply le_epsilon. intros t Ht.
  set (x := Rmin (q + t / exp e) ((q + 1) / 2)).
  assert (Hte : 0 < t / exp e) by (apply Rdiv_lt_0_compat; lra).
  assert (Hx : q <= x /\ 0 < x < 1 /\ x <= q + t / exp e).
  { unfold x. split; [apply Rmin_glb; lra|split; [split|apply Rmin_l]]; [apply Rmin_glb_lt;
    lra | apply Rle_lt_trans with (1 := Rmin_r _ _); lra]. }
  destruct Hx as [X1 [X2 X3]]. destruct (Phi_onto x X2) as [z Hz]. specialize (H z ltac:(lra)).
  pose proof (gaussian_point mu e z Hmu) as G. rewrite Hz in G.
  assert (exp e * x <= exp e * q + t); [|lra].
  apply Rmult_le_compat_l with (r := exp e) in X3; [|lra].
    replace (exp e * (q + t / exp e)) with (exp e * q + t) in X3 by (field; lra). lra.
Qed.

(** Young's inequality at the best weight. *)
Lemma renyi_point alpha D e d q : 1 < alpha -> 0 < d -> 0 <= q ->
  (alpha - 1) * (D - e) + (alpha - 1) * ln (1 - 1 / alpha) - ln alpha - ln d <= 0 ->
  exp ((1 - 1 / alpha) * D) * power q (1 - 1 / alpha) <= exp e * q + d.
Proof.
  intros Ha Hd [Hq|<-] H. 2: { rewrite power_0. lra. }
  assert (Hi : 0 < 1 - 1 / alpha < 1) by (pose proof (one_minus_inv alpha Ha); lra).
  rewrite power_pos by auto. unfold Rpower. rewrite <- exp_plus. set (i := 1 - 1 / alpha) in *.
  (* X^i Y^(1-i), of X = e^ε q/i and Y that remains *)
  set (X := e + ln q - ln i). set (Y := (alpha - 1) * (D - e + ln i)).
  assert (E : i * D + i * ln q = i * X + (1 - i) * Y).
  { unfold X, Y. replace (1 - i) with (/ alpha) by (unfold i; field; lra).
    replace (/ alpha * ((alpha - 1) * (D - e + ln i))) with (i * (D - e + ln i)) by (unfold i; field; lra). ring. }
  rewrite E. apply Rle_trans with (1 := exp_convex i X Y ltac:(lra)).
  assert (EX : i * exp X = exp e * q).
  { unfold X, Rminus. rewrite !exp_plus, exp_Ropp, !exp_ln by lra. field. lra. }
  assert (EY : (1 - i) * exp Y <= d).
  { replace (1 - i) with (exp (- ln alpha)) by (rewrite exp_Ropp, exp_ln by lra; unfold i; field; lra).
    rewrite <- exp_plus. rewrite <- (exp_ln d Hd). apply exp_le. unfold Y. lra. }
  lra.
Qed.

(* ---------------------------------------------------------------- adversaries *)

Section Adversaries.
  Context {message : Type}.
  Local Notation H := (history message).
  Implicit Types (K : H -> bool) (k l : H -> law message).

  Lemma pure_approximate b e d K k l : 0 <= e -> 0 <= d -> (b <= e \/ (exp b - exp e) / (1 + exp b) <= d) ->
    adds_up pure_cost b K k l -> adds_up pure_cost b K l k -> approximate e d K k l.
  Proof.
    intros He Hd0 Hd A B h p q _ HC. destruct (Chance.chance_range _ _ _ _ _ _ HC) as [Hp Hq].
    pose proof (adds_up_pure b K k l h p q A HC) as H1.
    pose proof (adds_up_pure b K l k h _ _ B (chance_not _ _ _ _ _ _ HC)) as H2.
    destruct (Rle_dec b e) as [Hbe|Hbe]; [pose proof (exp_le _ _ Hbe); nra|]. destruct Hd as [Hd|Hd]; [lra|].
    assert (exp e < exp b) by (apply exp_increasing; lra).
    assert (1 <= exp e) by (rewrite <- exp_0; apply exp_le; auto).
    pose proof (pure_point (exp b) (exp e) p q ltac:(lra) Hp Hq H1 H2). lra.
  Qed.

  (** One release of range η is all that differs. *)
  Lemma range_chance eta e d K k l c : 0 <= e -> 0 <= d -> (forall h, 0 <= c h) -> (forall h, spent c h <= 1) ->
    (forall h, K h = true -> range_cost eta (c h) (k h) (l h)) ->
    (forall (P Q : law message) f, test f -> (exists a, forall f, test f ->
      exp a * P f <= Q f <= exp (a + eta) * P f) -> P f <= exp e * Q f + d) ->
    forall h p q, chance K k l h p q -> (left_of 1 c h < 1 -> p <= q) /\ p <= exp e * q + d.
  Proof.
    intros He Hd C1 C3 C2 HP h p q HC. assert (H1 : 1 <= exp e) by (rewrite <- exp_0; apply exp_le; auto).
    induction HC as [h t Ht0 | h p q p' q' Hc IH Hp0 Hq0 | h p q p' q' t Ht0 Hc1 IH1 Hc2 IH2 | h m0 p q Hc IH | h P
      u v Hu Hv Hc IH | h u v Hasks Hu Hv Hc IH].
    - split; [lra | nra].
    - destruct IH as [I1 I2]. split; [intros Hl; specialize (I1 Hl); lra | nra].
    - destruct IH1 as [I1 I2], IH2 as [J1 J2]. split; [intros Hl; specialize (I1 Hl); specialize (J1 Hl); nra | nra].
    - destruct IH as [I1 I2]. split; auto. intros Hl. apply I1. rewrite left_next. specialize (C1 h). lra.
    - split.
      + intros Hl. apply E_mono; auto. intros m. apply (IH m). rewrite left_next. specialize (C1 h). lra.
      + apply E_le_affine; auto; [lra|]. intros m. apply (IH m).
    - destruct (C2 h Hasks) as [HS|[Hc1 HR]].
      + rewrite (HS u Hu). split.
        * intros Hl. apply E_mono; auto. intros m. apply (IH m). rewrite left_next. specialize (C1 h). lra.
        * apply E_le_affine; auto; [lra|]. intros m. apply (IH m).
      + split.
        * intros Hl. pose proof (left_enough 1 c h C3). lra.
        * apply Rle_trans with (k h v).
          -- apply E_mono; auto. intros m. apply (IH m). rewrite left_next. pose proof (left_most 1 c h C1). lra.
          -- apply HP; auto.
  Qed.

  Lemma range_approximate eta e d K k l : 0 <= e -> 0 <= d ->
    (eta <= e \/ (exp ((eta - e) / 2) - 1) * (exp ((eta - e) / 2) - 1) / (exp (eta - e) - exp (0 - e)) <= d) ->
    adds_up (range_cost eta) 1 K k l -> approximate e d K k l.
  Proof.
    intros He Hd0 Hd [c [C1 [C2 C3]]] h p q _ HC.
    apply (range_chance eta e d K k l c He Hd0 C1 C3 C2) in HC; [apply HC|]. clear - He Hd0 Hd.
    intros P Q f Hf [a HR]. pose proof (range_ends P Q a eta HR) as HA.
    destruct (HR f Hf) as [R1 R2]. pose proof (HR _ (test_minus f Hf)) as [R3 R4]. rewrite !E_minus in R3, R4 by auto.
    pose proof (E_test P f Hf) as Hy. pose proof (E_test Q f Hf) as Hx. set (y := P f) in *. set (x := Q f) in *.
    assert (H1 : 1 <= exp e) by (rewrite <- exp_0; apply exp_le; auto).
    destruct (Rle_dec eta e) as [Hbe|Hbe].
    { assert (y <= exp eta * x).
      { apply Rmult_le_compat_l with (r := exp eta) in R1; [|left; apply exp_pos].
        rewrite <- Rmult_assoc, <- exp_plus in R1.
        assert (1 <= exp (eta + a)) by (rewrite <- exp_0; apply exp_le; lra). nra. }
      pose proof (exp_le _ _ Hbe). nra. }
    destruct Hd as [Hd|Hd]; [lra|].
    set (b := exp (- (a + eta))). assert (Hb : 0 < b) by apply exp_pos.
    assert (Ebh : b * exp eta = exp (- a)) by (unfold b; rewrite <- exp_plus; f_equal; ring).
    assert (Hb1 : b <= 1 <= b * exp eta).
    { rewrite Ebh. unfold b. split; rewrite <- exp_0; apply exp_le; lra. }
    assert (Hexp : exp e < exp eta) by (apply exp_increasing; lra).
    assert (G1 : y <= b * exp eta * x).
    { rewrite Ebh. apply Rmult_le_compat_l with (r := exp (- a)) in R1; [|left; apply exp_pos].
      rewrite <- Rmult_assoc, <- exp_plus, Rplus_opp_l, exp_0 in R1. lra. }
    assert (G2 : b * (1 - x) <= 1 - y).
    { apply Rmult_le_compat_l with (r := b) in R4; [|lra]. unfold b in R4 at 2.
      rewrite <- Rmult_assoc, <- exp_plus, Rplus_opp_l, exp_0 in R4. lra. }
    pose proof (range_point b (exp eta) (exp e) x y Hb ltac:(lra) ltac:(lra) Hx Hy Hb1 G1 G2) as G.
    apply Rle_trans with (1 := G). apply Rplus_le_compat_l. apply Rle_trans with (2 := Hd). right.
    assert (ES : forall z, sqrt (exp z) = exp (z / 2)).
    { intros z. apply sqrt_lem_1; try (left; apply exp_pos). rewrite <- exp_plus. f_equal. field. }
    rewrite !ES. replace (exp ((eta - e) / 2)) with (exp (eta / 2) / exp (e / 2)).
    2: { unfold Rdiv at 1. rewrite <- exp_Ropp, <- exp_plus. f_equal. field. }
    replace (exp (eta - e)) with (exp eta / exp e) by (unfold Rminus; rewrite exp_plus, exp_Ropp; reflexivity).
    replace (exp (0 - e)) with (/ exp e) by (rewrite <- exp_Ropp; f_equal; ring).
    assert (E2 : exp e = exp (e / 2) * exp (e / 2)) by (rewrite <- exp_plus; f_equal; field).
    pose proof (exp_pos (e / 2)). rewrite E2 in *. field. repeat split; try lra; try nra.
  Qed.

  (** A release that is Gaussian private, before what follows; T is what distances may still make of it. *)
  Lemma near_step {A} (P Q : law A) u v a r T z : test u -> test v -> gdp_cost a P Q -> 0 <= a -> 0 <= r -> 0 <= T ->
    (forall M x, v M + T <= Phi x -> u M <= Phi (x + sqrt r) + T) -> Q v + T <= Phi z ->
      P u <= Phi (z + sqrt (a + r)) + T.
  Proof.
    intros Hu Hv HG Ha Hr HT HM HQ.
    set (hh := fun M => Rmax 0 (u M - T)). set (gg := fun M => Rmin 1 (v M + T)).
    assert (Thh : test hh) by (intros M; unfold hh; specialize (Hu M); split; [apply Rmax_l | apply Rmax_lub; lra]).
    assert (Tgg : test gg) by (intros M; unfold gg; specialize (Hv M); split; [apply Rmin_glb; lra | apply Rmin_l]).
    assert (HP : P u <= 1 * P hh + T).
    { apply E_le_affine; auto; [lra|]. intros M. unfold hh. pose proof (Rmax_r 0 (u M - T)). lra. }
    assert (HQg : Q gg <= Phi z).
    { apply Rle_trans with (2 := HQ). assert (Q gg <= 1 * Q v + T); [|lra]. apply E_le_affine; auto; [lra|].
      intros M. unfold gg. pose proof (Rmin_r 1 (v M + T)). lra. }
    (* just above the event *)
    assert (HN : forall M e, v M + T < 1 -> 0 < e -> exists x, v M + T <= Phi x <= v M + T + e).
    { intros M e H1 He. specialize (Hv M). destruct (Phi_onto (Rmin (v M + T + e) ((v M + T + 1) / 2))) as [x Hx].
      - split; [apply Rmin_glb_lt; lra | apply Rle_lt_trans with (1 := Rmin_r _ _); lra].
      - exists x. rewrite Hx. split; [apply Rmin_glb; lra | apply Rmin_l]. }
    destruct Hr as [Hr|<-].
    - assert (Hsr : 0 < sqrt r) by (apply sqrt_lt_R0; auto).
      assert (Hss : 0 < sqrt (a + r)) by (apply sqrt_lt_R0; lra).
      assert (P hh <= Phi (z + sqrt (a + r))); [|lra].
      apply (two_releases (sqrt a) (sqrt r) (sqrt (a + r)) z Hsr Hss) with (a := a) (Q := Q) (g := gg); auto.
      { rewrite !sqrt_sqrt; lra. }
      intros M. unfold hh, gg. pose proof (Hu M). pose proof (Hv M). destruct (Rle_dec 1 (v M + T)) as [H1|H1].
      { rewrite Rmin_left by lra. apply Rle_trans with (lowered (sqrt r) 1); [|rewrite lowered_1; lra].
        apply lowered_up; [|lra]. split; [apply Rmax_l | apply Rmax_lub; lra]. }
      rewrite Rmin_right by lra. apply le_epsilon. intros e He. destruct (HN M e ltac:(lra) He) as [x [X1 X2]].
      specialize (HM M x X1). pose proof (Phi_range (x + sqrt r)).
      apply Rle_trans with (lowered (sqrt r) (Phi (x + sqrt r))).
      + apply lowered_up; [|lra]. split; [apply Rmax_l | apply Rmax_lub; lra].
      + rewrite lowered_Phi. replace (x + sqrt r - sqrt r) with x by ring. lra.
    - rewrite Rplus_0_r. rewrite sqrt_0 in HM. assert (P hh <= Phi (z + sqrt a)); [|lra].
      apply (HG hh z); auto. apply Rle_trans with (2 := HQg). apply E_mono; auto. intros M. unfold hh, gg.
      pose proof (Hu M). pose proof (Hv M). destruct (Rle_dec 1 (v M + T)) as [H1|H1].
      { rewrite Rmin_left by lra. apply Rmax_lub; lra. }
      rewrite Rmin_right by lra. apply Rmax_lub; [lra|]. apply le_epsilon. intros e He.
      destruct (HN M e ltac:(lra) He) as [x [X1 X2]]. specialize (HM M x X1). rewrite Rplus_0_r in HM. lra.
  Qed.

  Lemma gdp_nothing {A} (P : law A) : gdp_cost 0 P P.
  Proof. apply gdp_free, same_refl. Qed.

  (** Against a nearly Gaussian program, as against its ideal. *)
  Lemma near_chance m d K k l ki li c t :
    (forall h, 0 <= c h /\ 0 <= t h) -> (forall h, spent c h <= m /\ spent t h <= d) ->
    (forall h, K h = true -> (same (k h) (l h) /\ same (ki h) (li h)) \/
       (gdp_cost (c h) (ki h) (li h) /\ near_cost (t h) (k h) (ki h) /\ near_cost (t h) (l h) (li h))) ->
    forall h p q, chance K k l h p q ->
    forall z, q + left_of d t h <= Phi z -> p <= Phi (z + sqrt (left_of m c h)) + left_of d t h.
  Proof.
    intros Hn Hs HK h p q HC.
    assert (C1 : forall h, 0 <= c h) by (intros; apply Hn). assert (T1 : forall h, 0 <= t h) by (intros; apply Hn).
    assert (CL : forall h, 0 <= left_of m c h) by (intros h0; apply left_nonneg; auto; intros; apply Hs).
    assert (TL : forall h, 0 <= left_of d t h) by (intros h0; apply left_nonneg; auto; intros; apply Hs).
    (* what costs nothing *)
    assert (Free : forall (P : law message) h u v, test u -> test v ->
      (forall M z, v M + left_of d t (M :: h) <= Phi z ->
        u M <= Phi (z + sqrt (left_of m c (M :: h))) + left_of d t (M :: h)) ->
      forall z, P v + left_of d t h <= Phi z -> P u <= Phi (z + sqrt (left_of m c h)) + left_of d t h).
    { intros P h0 u v Hu Hv IH z HQ. rewrite <- (Rplus_0_l (left_of m c h0)).
      apply (near_step P P u v 0 (left_of m c h0) (left_of d t h0) z); auto using gdp_nothing; [lra|]. intros M x Hx.
      specialize (IH M x). rewrite !left_next in IH. specialize (T1 h0). specialize (IH ltac:(lra)).
      assert (Phi (x + sqrt (left_of m c h0 - c h0)) <= Phi (x + sqrt (left_of m c h0))); [|lra].
      apply Phi_le. assert (sqrt (left_of m c h0 - c h0) <= sqrt (left_of m c h0)); [|lra]. apply sqrt_le_1_alt.
        specialize (C1 h0). lra. }
    induction HC as [h w Ht0 | h p q p' q' Hc IH Hp0 Hq0 | h p q p' q' w Ht0 Hc1 IH1 Hc2 IH2 | h m0 p q Hc IH | h P
      u v Hu Hv Hc IH | h u v Hasks Hu Hv Hc IH]; intros z Hz.
    - pose proof (TL h). assert (Phi z <= Phi (z + sqrt (left_of m c h))); [|lra]. apply Phi_le.
      pose proof (sqrt_pos (left_of m c h)). lra.
    - specialize (IH z ltac:(lra)). lra.
    - destruct (Chance.chance_range _ _ _ _ _ _ Hc1). destruct (Chance.chance_range _ _ _ _ _ _ Hc2).
      pose proof (near_step (coin w Ht0 true false) (coin w Ht0 true false) (fun b : bool => if b then p else p')
        (fun b : bool => if b then q else q')
        0 (left_of m c h) (left_of d t h) z) as G.
      rewrite Rplus_0_l in G. simpl in G. apply G; auto using gdp_nothing; try lra; try (intros []; lra).
      intros [] x Hx; auto.
    - rewrite !left_next in IH. specialize (IH z). pose proof (T1 h). specialize (IH ltac:(lra)).
      assert (Phi (z + sqrt (left_of m c h - c h)) <= Phi (z + sqrt (left_of m c h))); [|lra].
      apply Phi_le. assert (sqrt (left_of m c h - c h) <= sqrt (left_of m c h)); [|lra]. apply sqrt_le_1_alt.
        specialize (C1 h). lra.
    - apply (Free P h u v); auto.
    - destruct (HK h Hasks) as [[HS _]|[HG [HN1 HN2]]].
      + rewrite (HS u Hu). apply (Free (l h) h u v); auto.
      + destruct (HN1 u Hu) as [N1 _]. destruct (HN2 v Hv) as [_ N2].
        assert (CH : 0 <= left_of m c h - c h) by (pose proof (left_enough m c h ltac:(intros; apply Hs)); lra).
        assert (TH : 0 <= left_of d t h - t h) by (pose proof (left_enough d t h ltac:(intros; apply Hs)); lra).
        pose proof (near_step (ki h) (li h) u v (c h) (left_of m c h - c h) (left_of d t h - t h) z Hu Hv HG
          (C1 h) CH TH) as G.
        replace (c h + (left_of m c h - c h)) with (left_of m c h) in G by ring.
        assert (ki h u <= Phi (z + sqrt (left_of m c h)) + (left_of d t h - t h)); [|lra].
        apply G; [|lra]. intros M x Hx. specialize (IH M x). rewrite !left_next in IH. auto.
  Qed.

  Lemma near_approximate m d e delta K k l ki li : 0 <= m -> 0 <= d -> 0 <= e ->
    (if Req_EM_T m 0 then 0 else
       Phi (- (e / sqrt m - sqrt m / 2)) - exp e * Phi (- (e / sqrt m + sqrt m / 2))) + d * (1 + exp e) <= delta ->
    0 <= delta -> near_pair m d K k l ki li -> approximate e delta K k l.
  Proof.
    intros Hm Hd He Hdelta Hdelta0 [c [t [H1 [H2 H3]]]] h p q _ HC.
    destruct (Chance.chance_range _ _ _ _ _ _ HC) as [Hp Hq].
    assert (E1 : 1 <= exp e) by (rewrite <- exp_0; apply exp_le; auto).
    assert (G : forall z, q + d <= Phi z -> p <= Phi (z + sqrt m) + d).
    { intros z Hz. pose proof (left_most m c h ltac:(intros; apply H1)) as L1.
      pose proof (left_most d t h ltac:(intros; apply H1)) as L2.
      pose proof (near_chance m d K k l ki li c t H1 H3 H2 h p q HC z ltac:(lra)) as G.
      assert (Phi (z + sqrt (left_of m c h)) <= Phi (z + sqrt m)); [|lra]. apply Phi_le.
      assert (sqrt (left_of m c h) <= sqrt m) by (apply sqrt_le_1_alt; auto). lra. }
    destruct (Req_EM_T m 0) as [->|Hm0].
    - destruct (Rle_dec 1 (q + d)) as [Hq1|Hq1]; [nra|]. apply Rle_trans with (q + d + d); [|nra].
      apply le_epsilon. intros w Hw. destruct (Phi_onto (Rmin (q + d + w) ((q + d + 1) / 2))) as [x Hx].
      { split; [apply Rmin_glb_lt; lra | apply Rle_lt_trans with (1 := Rmin_r _ _); lra]. }
      specialize (G x). rewrite Hx, sqrt_0, Rplus_0_r, Hx in G.
      assert (q + d <= Rmin (q + d + w) ((q + d + 1) / 2)) by (apply Rmin_glb; lra).
      specialize (G H). pose proof (Rmin_l (q + d + w) ((q + d + 1) / 2)). lra.
    - assert (Hs : 0 < sqrt m) by (apply sqrt_lt_R0; lra).
      set (best := Phi (- (e / sqrt m - sqrt m / 2)) - exp e * Phi (- (e / sqrt m + sqrt m / 2))) in *.
      assert (Hbest : 0 <= best).
      { apply Rnot_lt_le. intros N. destruct (Phi_to_0 (- best / exp e)) as [b [Hb HB]]; [apply Rdiv_lt_0_compat;
        lra|].
        specialize (HB (- b) ltac:(lra)). pose proof (gaussian_point (sqrt m) e (- b) Hs) as GP. fold best in GP.
        pose proof (Phi_range (- b + sqrt m)). apply Rmult_lt_compat_l with (r := exp e) in HB; [|lra].
        replace (exp e * (- best / exp e)) with (- best) in HB by (field; lra). lra. }
      destruct (Rle_dec p d) as [Hpd|Hpd]; [nra|].
      assert (p - d <= exp e * (q + d) + best); [|nra].
      apply (gaussian_event (sqrt m) e best (p - d) (q + d)); [auto | auto | lra | lra | right; reflexivity | auto |].
      intros z Hz. specialize (G z Hz). lra.
  Qed.

  Lemma renyi_approximate alpha D e delta K k l : 1 < alpha -> 0 < delta ->
    (alpha - 1) * (D - e) + (alpha - 1) * ln (1 - 1 / alpha) - ln alpha - ln delta <= 0 ->
    adds_up (renyi_cost (alpha / (alpha - 1))) D K k l -> approximate e delta K k l.
  Proof.
    intros Ha Hd HD HA h p q _ HC. destruct (Chance.chance_range _ _ _ _ _ _ HC) as [Hp Hq].
    assert (Ht : 1 < alpha / (alpha - 1)).
    { apply Rmult_lt_reg_r with (alpha - 1); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
    pose proof (adds_up_renyi (alpha / (alpha - 1)) D K k l h p q Ht HA HC) as G.
    replace (D / (alpha / (alpha - 1))) with ((1 - 1 / alpha) * D) in G by (field; lra).
    replace (1 / (alpha / (alpha - 1))) with (1 - 1 / alpha) in G by (field; lra).
    apply Rle_trans with (1 := G). apply renyi_point; lra.
  Qed.

  Lemma nothing_approximate e delta K k l : 0 <= e -> 0 <= delta -> adds_up zcdp_cost 0 K k l ->
    approximate e delta K k l.
  Proof.
    intros He Hd HA h p q _ HC. destruct (Chance.chance_range _ _ _ _ _ _ HC) as [Hp Hq].
    assert (G : forall theta, 1 < theta -> p <= power q (1 / theta)).
    { intros theta Ht. pose proof (adds_up_renyi theta 0 K k l h p q Ht) as G0.
      assert (G : adds_up (renyi_cost theta) 0 K k l -> p <= exp (0 / theta) * power q (1 / theta)) by auto.
        clear G0. unfold Rdiv in G at 1. rewrite Rmult_0_l, exp_0, Rmult_1_l in G.
      apply G; auto. destruct HA as [c [C1 [C2 C3]]]. exists (fun h => theta / (theta - 1) * c h).
      assert (HT : 0 < theta / (theta - 1)) by (apply Rdiv_lt_0_compat; lra). repeat split.
      - intros h0. specialize (C1 h0). nra.
      - intros h0 Hh. apply C2; auto.
      - intros h0. rewrite spent_scale. specialize (C3 h0). nra. }
    assert (E1 : 1 <= exp e) by (rewrite <- exp_0; apply exp_le; auto).
    assert (p <= q); [|nra]. apply Rnot_lt_le. intros N. destruct Hq as [[Hq|<-] Hq1].
    2: { specialize (G 2 ltac:(lra)). rewrite power_0 in G. lra. }
    assert (L1 : ln q < ln p) by (apply ln_increasing; auto).
    assert (L2 : ln p <= 0) by (rewrite <- ln_1; destruct Hp as [_ [Hp| ->]]; [left; apply ln_increasing; lra | lra]).
    assert (HT : exists theta, 1 < theta /\ ln q < theta * ln p).
    { destruct L2 as [L2|L2]; [|exists 2; rewrite L2; lra].
      exists ((ln q / ln p + 1) / 2).
      assert (HR : 1 < ln q / ln p).
      { apply Ropp_lt_cancel. apply Rmult_lt_reg_r with (- ln p); [lra|].
        replace (- (ln q / ln p) * - ln p) with (ln q) by (field; lra). lra. }
      split; [lra|]. replace ((ln q / ln p + 1) / 2 * ln p) with ((ln q + ln p) / 2) by (field; lra). lra. }
    destruct HT as [theta [Ht1 Ht2]]. specialize (G theta Ht1). rewrite power_pos in G by auto. unfold Rpower in G.
    assert (exp (1 / theta * ln q) < p); [|lra]. rewrite <- (exp_ln p) by lra. apply exp_increasing.
    apply Rmult_lt_reg_l with theta; [lra|]. replace (theta * (1 / theta * ln q)) with (ln q) by (field; lra). auto.
  Qed.
End Adversaries.
