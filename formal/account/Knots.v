(** Values of the hockey-stick at finitely many points are enough: `dominates_at_knots`. *)
Require Import Reals Lra Psatz List.
From DP.base Require Import Laws Sums.
From DP.account Require Import Pairs.
Import ListNotations.
Open Scope R_scope.

(** Between two points without a quotient in between, a hockey-stick is its chord. *)
Lemma part_chord p q a b t : 0 <= p -> 0 <= q -> 0 <= t <= 1 -> a <= b -> (p - a * q <= 0 \/ 0 <= p - b * q) ->
  part (p - (t * a + (1 - t) * b) * q) = t * part (p - a * q) + (1 - t) * part (p - b * q).
Proof.
  intros Hp Hq Ht Hab [H|H]; unfold part.
  - assert (p - b * q <= 0) by nra. rewrite !Rmax_left; auto; nra.
  - assert (0 <= p - a * q) by nra. rewrite !Rmax_right; auto; nra.
Qed.

(** The nearest of these points on either side. *)
Lemma nearest (l : list R) c : In 0 l -> 0 <= c -> exists a, In a l /\ a <= c /\ forall x, In x l -> x <= c -> x <= a.
Proof.
  intros H0 Hc.
  assert (G : forall m, (exists a, In a m /\ a <= c /\ forall x, In x m -> x <= c -> x <= a) \/ forall x, In x m -> c < x).
  { induction m as [|y m IH]; [right; intros ? []|]. destruct (Rle_dec y c) as [Hy|Hy].
    - left. destruct IH as [[a [Ha [Hac Hmax]]]|Hnone].
      + destruct (Rle_dec y a).
        * exists a. split; [right; auto|]. split; auto. intros x [<-|Hx] Hxc; auto.
        * exists y. split; [left; auto|]. split; auto. intros x [<-|Hx] Hxc; [lra|]. specialize (Hmax x Hx Hxc). lra.
      + exists y. split; [left; auto|]. split; auto. intros x [<-|Hx] Hxc; [lra|]. specialize (Hnone x Hx). lra.
    - destruct IH as [[a [Ha [Hac Hmax]]]|Hnone].
      + left. exists a. split; [right; auto|]. split; auto. intros x [<-|Hx] Hxc; [lra|auto].
      + right. intros x [<-|Hx]; [lra|auto]. }
  destruct (G l) as [|N]; auto. specialize (N 0 H0). lra.
Qed.

Lemma nearest_above (l : list R) c : (exists b, In b l /\ c <= b /\ forall x, In x l -> c <= x -> b <= x) \/ forall x, In x l -> x < c.
Proof.
  induction l as [|y l IH]; [right; intros ? []|]. destruct (Rle_dec c y) as [Hy|Hy].
  - left. destruct IH as [[b [Hb [Hcb Hmin]]]|Hnone].
    + destruct (Rle_dec b y).
      * exists b. split; [right; auto|]. split; auto. intros x [<-|Hx] Hxc; auto.
      * exists y. split; [left; auto|]. split; auto. intros x [<-|Hx] Hxc; [lra|]. specialize (Hmin x Hx Hxc). lra.
    + exists y. split; [left; auto|]. split; auto. intros x [<-|Hx] Hxc; [lra|]. specialize (Hnone x Hx). lra.
  - destruct IH as [[b [Hb [Hcb Hmin]]]|Hnone].
    + left. exists b. split; [right; auto|]. split; auto. intros x [<-|Hx] Hxc; [lra|auto].
    + right. intros x [<-|Hx]; [lra|auto].
Qed.

(** Values at finitely many points are enough, 0 and every quotient among them. *)
Theorem dominates_at_knots {A} D (P Q : law A) (knots : list R) :
  (forall a, In a (atoms D) -> 0 <= fst a /\ 0 <= snd a) ->
  (forall a, In a (atoms D) -> snd a = 0 \/ In (quotient a) knots) ->
  In 0 knots -> (forall c, In c knots -> forall f, test f -> P f <= stick D c + c * Q f) ->
  dominates D P Q.
Proof.
  intros Hpos Hq H0 Hk f Hf c Hc.
  destruct (nearest knots c H0 Hc) as [a [Ha [Hac Hmax]]].
  pose proof (E_test Q f Hf) as HQ. pose proof (Hk a Ha f Hf) as Va.
  assert (Side : forall x, In x (atoms D) -> 0 < snd x -> quotient x <= a \/ c < quotient x).
  { intros x Hx Hs. destruct (Hq x Hx) as [Hz|Hin]; [lra|].
  destruct (Rle_dec (quotient x) c); [left; auto|right; lra]. }
  assert (Sign : forall x y, 0 < snd x -> fst x - y * snd x = (quotient x - y) * snd x).
  { intros x y Hs. unfold quotient. field. lra. }
  destruct (nearest_above knots c) as [[b [Hb [Hcb Hmin]]]|Hnone].
  - pose proof (Hk b Hb f Hf) as Vb.
    destruct (Req_dec a b) as [->|Hne]; [assert (c = b) by lra; subst; auto|].
    set (t := (b - c) / (b - a)).
    assert (Hba : 0 < b - a) by lra.
    assert (Ht : 0 <= t <= 1).
    { unfold t. split; [apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; auto]|].
      apply Rmult_le_reg_r with (b - a); auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
    assert (Hct : c = t * a + (1 - t) * b) by (unfold t; field; lra).
    assert (Hst : stick D c = t * stick D a + (1 - t) * stick D b).
    { rewrite Hct. unfold stick. rewrite !Rmult_plus_distr_l, <- !total_scale.
      replace (total (fun x => part (fst x - (t * a + (1 - t) * b) * snd x)) (atoms D))
        with (total (fun x => t * part (fst x - a * snd x) + (1 - t) * part (fst x - b * snd x)) (atoms D));
        [rewrite total_plus; ring|].
      apply total_ext. intros x Hx. destruct (Hpos x Hx) as [Hx1 Hx2]. symmetry. apply part_chord; auto; [lra|].
      destruct Hx2 as [Hx2|Hx2]; [|rewrite <- Hx2; right; lra].
      destruct (Side x Hx Hx2) as [L|L].
      - left. rewrite Sign by auto. nra.
      - right. rewrite Sign by auto. assert (b <= quotient x); [|nra].
        apply Hmin; [destruct (Hq x Hx) as [|]; auto; lra|lra]. }
    rewrite Hst, Hct.
    assert (t * P f <= t * (stick D a + a * Q f)) by (apply Rmult_le_compat_l; lra).
    assert ((1 - t) * P f <= (1 - t) * (stick D b + b * Q f)) by (apply Rmult_le_compat_l; lra). lra.
  - assert (Hst : stick D c = stick D a).
    { unfold stick. f_equal. apply total_ext. intros x Hx. destruct (Hpos x Hx) as [Hx1 Hx2].
      destruct Hx2 as [Hx2|Hx2]; [|rewrite <- Hx2; f_equal; ring].
      destruct (Side x Hx Hx2) as [L|L].
      - unfold part. rewrite !Rmax_left; auto; rewrite Sign by auto; nra.
      - destruct (Hq x Hx) as [|Hin]; [lra|]. specialize (Hnone _ Hin). lra. }
    rewrite Hst. assert (a * Q f <= c * Q f) by (apply Rmult_le_compat_r; lra). lra.
Qed.
