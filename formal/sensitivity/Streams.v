(** Streams of rows that are transformed before their noise: what all rows together move by. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String FunctionalExtensionality.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps.
From DP.noise Require Import Infer Triangles.
From DP.sensitivity Require Import Infer.
From DP.composition Require Import Infer Views Parts Spread.
From DP.conversions Require Import Relations.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Lemma one_to_in n i : In i (one_to n) <-> (1 <= i <= n)%Z.
Proof.
  unfold one_to. rewrite in_map_iff. split.
  - intros [m [<- Hm]]. apply in_seq in Hm. lia.
  - intros Hi. exists (Z.to_nat i). split; [lia|]. apply in_seq. lia.
Qed.

Lemma one_to_once n : NoDup (one_to n).
Proof. unfold one_to. apply FinFun.Injective_map_NoDup; [intros x y E; lia | apply seq_NoDup]. Qed.

(** A row is paid for once along a path. *)
Lemma spent_rows {M} (asks : history M -> bool) (idx : history M -> Z) (f : history M -> R) (A : Z -> R) n h :
  (forall i, 0 <= A i) -> (forall h', asks h' = false -> f h' = 0) ->
  (forall h', earlier h' h -> asks h' = true -> f h' <= A (idx h') /\ (1 <= idx h' <= n)%Z) ->
  (forall h' h'' m, earlier h' h -> earlier (m :: h'') h' -> asks h' = true -> asks h'' = true -> idx h' <> idx h'') ->
  spent f h <= total A (one_to n).
Proof.
  intros HA H0 H1 H2.
  assert (G : exists l, NoDup l /\ incl l (one_to n) /\ (forall i, In i l -> exists h', earlier h' h /\ asks h' = true /\ idx h' = i) /\ spent f h <= total A l).
  { induction h as [|m h IH].
    - destruct (asks []) eqn:E.
      + destruct (H1 [] (ex_intro _ [] eq_refl) E) as [L R]. exists [idx []]. split; [constructor; [intros [] | constructor]|]. split; [intros i [<-|[]]; apply one_to_in; auto|].
        split; [intros i [<-|[]]; exists []; repeat split; auto; exists []; auto | simpl; lra].
      + exists []. split; [constructor|split; [intros ? []|split; [intros ? []|]]]. simpl. rewrite (H0 [] E). lra.
    - destruct IH as [l [L1 [L2 [L3 L4]]]].
      { intros h' [b E]. apply H1. exists (m :: b). rewrite E; auto. }
      { intros h' h'' m' [b E]. apply H2. exists (m :: b). rewrite E; auto. }
      assert (L3' : forall i, In i l -> exists h', earlier h' (m :: h) /\ asks h' = true /\ idx h' = i).
      { intros i Hi. destruct (L3 i Hi) as [h' [[b E] R]]. exists h'. split; auto. exists (m :: b). rewrite E; auto. }
      destruct (asks (m :: h)) eqn:E.
      + destruct (H1 (m :: h) (ex_intro _ [] eq_refl) E) as [L R]. exists (idx (m :: h) :: l). split; [constructor; auto|].
        * intros Hi. destruct (L3 _ Hi) as [h' [[b E'] [A1 A2]]]. 
          assert (He : exists m', earlier (m' :: h') (m :: h)).
          { destruct (@exists_last _ (m :: b)) as [y [m' Ey]]; [discriminate|]. exists m', y. rewrite E'. change (m :: b ++ h')%list with ((m :: b) ++ h')%list. rewrite Ey, <- app_assoc. auto. }
          destruct He as [m' He]. apply (H2 (m :: h) h' m' (ex_intro _ [] eq_refl) He E A1). auto.
        * split; [intros i [<-|Hi]; [apply one_to_in; auto | apply L2; auto]|]. split; [|cbn [spent total]; lra].
          intros i [<-|Hi]; [exists (m :: h); repeat split; auto; exists []; auto | apply L3'; auto].
      + exists l. split; [auto|split; [auto|split; [auto|]]]. cbn [spent]. rewrite (H0 _ E). lra. }
  destruct G as [l [L1 [L2 [_ L4]]]]. apply Rle_trans with (1 := L4). apply total_incl; auto.
Qed.

Lemma square_nonneg x : 0 <= square x. Proof. unfold square. apply Rle_0_sqr. Qed.

Section World.
  Variable W : world.
  Hypothesis HW : lawful W.
  Local Notation H := (history (message W)).
  Local Notation D := (data (record W)).

  (** Numbers of a query that is no stream read it at one release only. *)
  Lemma numbers_read k p q chs o i h : is_stream chs = false -> forall d d', (forall j, value W q o i h d j = value W q o i h d' j) ->
    forall c, In c (numbers_of W k p q chs o i h) -> c d = c d'.
  Proof.
    destruct chs as [|c0 rest]; intros HS d d' HV c Hc; cbn [numbers_of] in Hc.
    - apply in_map_iff in Hc. destruct Hc as [j [<- _]]. auto.
    - destruct c0; simpl in HS; try discriminate. apply in_app_or in Hc. destruct Hc as [Hc|Hc].
      + apply in_flat_map in Hc. destruct Hc as [a [_ Hc]]. apply in_map_iff in Hc. destruct Hc as [b [<- _]]. auto.
      + apply in_map_iff in Hc. destruct Hc as [a [<- _]]. rewrite HV. auto.
  Qed.

  Lemma numbers_length k p q chs o i h k' p' i' h' : is_stream chs = false ->
    List.length (numbers_of W k p q chs o i h) = List.length (numbers_of W k' p' q chs o i' h').
  Proof.
    destruct chs as [|c rest]; intros HS; cbn [numbers_of]; [rewrite !map_length; auto|]. destruct c; simpl in HS; try discriminate.
    rewrite !app_length, !map_length. f_equal. rewrite !flat_map_concat_map. 
    assert (G : forall (f g : nat -> list (D -> R)) l, (forall x, List.length (f x) = List.length (g x)) -> List.length (List.concat (map f l)) = List.length (List.concat (map g l))).
    { intros f g l E. induction l as [|x l IH]; simpl; auto. rewrite !app_length, E, IH. auto. }
    apply G. intros x. rewrite !map_length. auto.
  Qed.

  Lemma on_place_spec k p h : on_place W k p h = true <-> exists l, next W h = Some l /\ key l = k /\ at_place l = p.
  Proof.
    unfold on_place. split.
    - destruct (next W h) as [l|]; [|discriminate]. intros E. apply andb_prop in E. destruct E as [E1 E2]. apply String.eqb_eq in E1.
      destruct (place_dec p (at_place l)); [|discriminate]. exists l. auto.
    - intros [l [-> [<- <-]]]. rewrite String.eqb_refl. destruct (place_dec (at_place l) (at_place l)); auto.
  Qed.

  Lemma first_of_later k p m h : first_of W k p h <> None -> first_of W k p (m :: h) = first_of W k p h.
  Proof. intros HN. cbn [first_of]. destruct (first_of W k p h) eqn:E; congruence. Qed.

  Lemma first_of_asked k p h : on_place W k p h = true -> exists h1, first_of W k p h = Some h1.
  Proof. intros E. destruct h as [|m h]; cbn [first_of]; rewrite ?E; eauto. destruct (first_of W k p h); eauto. Qed.

  (** All releases on one path have one first release. *)
  Lemma start_once k p h : exists h1, forall h', earlier h' h -> on_place W k p h' = true -> start W k p h' = h1.
  Proof.
    exists (start W k p h). intros h' [b ->] E. destruct (first_of_asked k p h' E) as [h1 F].
    assert (G : first_of W k p (b ++ h')%list = Some h1).
    { induction b as [|m b IH]; auto. change ((m :: b) ++ h')%list with (m :: (b ++ h'))%list. rewrite first_of_later; auto. congruence. }
    unfold start. rewrite F, G. auto.
  Qed.

  (** Bounds of the rows of a stream that is drawn, from bounds of each row on one path. *)
  Lemma stream_bound k p n (f : H -> R) (A : H -> Z -> R) b : is_stream (made p) = true ->
    (forall h l, next W h = Some l -> at_place l = p -> (index l <= n)%Z) ->
    (forall h i, 0 <= A h i) -> (forall h', on_place W k p h' = false -> f h' = 0) ->
    (forall h h' l, earlier h' h -> next W h' = Some l -> key l = k -> at_place l = p -> f h' <= A h (index l)) ->
    (forall h, total (A h) (one_to n) <= b) -> forall h, spent f h <= b.
  Proof.
    intros HS HI HA H0 H1 HB h. apply Rle_trans with (2 := HB h).
    set (idx := fun h => match next W h with Some l => index l | None => 0%Z end).
    apply (spent_rows (on_place W k p) idx); auto.
    - intros h' He E. apply on_place_spec in E. destruct E as [l [Hl [Hk Hp]]]. unfold idx. rewrite Hl. split; [apply (H1 h h' l); auto|].
      destruct HW as [_ [_ [_ [_ [_ [HR _]]]]]]. destruct (HR h' l Hl ltac:(rewrite Hp; auto)) as [_ [G _]]. split; auto. apply (HI h' l); auto.
    - intros h' h'' m He He' E E' Eidx. apply on_place_spec in E, E'. destruct E as [l [Hl [Hk Hp]]]. destruct E' as [l' [Hl' [Hk' Hp']]].
      unfold idx in Eidx. rewrite Hl, Hl' in Eidx. destruct HW as [_ [_ [_ [HO _]]]]. apply (HO h' l Hl h'' m He'). rewrite Hl'. f_equal.
      destruct l, l'; cbn in *; congruence.
  Qed.
End World.

Lemma total_one (f : Z -> R) l s : NoDup l -> (forall i, In i l -> i <> s -> f i = 0) -> total f l <= Rmax 0 (f s).
Proof.
  induction l as [|a l IH]; intros HN HF; simpl; [apply Rmax_l|]. inversion HN as [|? ? N1 N2]; subst.
  destruct (Z.eq_dec a s) as [->|Ha].
  - rewrite (total_zero f l); [rewrite Rplus_0_r; apply Rmax_r|]. intros i Hi. apply HF; [right; auto | congruence].
  - rewrite (HF a); [rewrite Rplus_0_l; apply IH; auto; intros i Hi; apply HF; right; auto | left; auto | auto].
Qed.

Lemma total_split_one (f g : Z -> R) l s : NoDup l -> In s l -> (forall i, In i l -> i <> s -> f i = g i) -> total f l = total g l + (f s - g s).
Proof.
  induction l as [|a l IH]; intros HN Hs HF; [destruct Hs|]. inversion HN as [|? ? N1 N2]; subst. simpl. destruct Hs as [->|Hs].
  - rewrite (total_ext f g l); [lra|]. intros i Hi. apply HF; [right; auto | congruence].
  - rewrite IH; auto; [|intros i Hi; apply HF; right; auto]. rewrite (HF a); [lra | left; auto | congruence].
Qed.

(** Two premises, of which the second is no statement of privacy. *)
Lemma follow_two st a b n : law_of st (says a) = None ->
  match st with ByCentred | ByFactorised _ _ | ByStreamL1 | ByBuffered _ _ _ _ _ => True | _ => False end -> bare a -> bare b ->
  follow st [a; b] = Some n -> infer st [says a; says b] = Some (says n) /\ bare n /\ changes n = changed st [a; b].
Proof.
  intros HL HS [A1 [A2 [A3 A4]]] [B1 [B2 [B3 B4]]] HF. unfold follow in HF. cbn [map] in HF.
  destruct (infer st [says a; says b]) as [gives|] eqn:Ei; [|discriminate].
  destruct (noise_is_named st [a; b] && one_table st [a; b])%bool; [|discriminate].
  rewrite HL in HF. cbn [all_draws] in HF. rewrite A1 in HF. cbn [merged] in HF. rewrite B1 in HF. cbn [merged] in HF.
  cbn [map fold_left flat_map existsb] in HF. rewrite A2, B2, A3, B3, A4, B4 in HF. cbn in HF.
  destruct st; try contradiction; injection HF as <-; unfold bare; cbn [says drawn departed of_persons views changes]; auto 10.
Qed.

Lemma stable_bare l q how b rel reads : well_made l -> says l = Stable q how b rel reads -> bare l.
Proof. intros [M _] E. apply M. rewrite E. auto. Qed.

Theorem centred_sound : sound_rule "centred".
Proof.
  intros st HR. destruct st; try discriminate HR. clear HR. intros W found fin HW HH HM HF _.
  assert (exists a b, found = [a; b]) as [a [b ->]].
  { unfold follow in HF. destruct (infer ByCentred (map says found)) eqn:Ei; [|discriminate].
    destruct found as [|a [|b [|]]]; try discriminate Ei; eauto. }
  pose proof (Forall_inv HH) as Ha. pose proof (Forall_inv (Forall_inv_tail HH)) as Hb.
  pose proof (Forall_inv HM) as Ma. pose proof (Forall_inv (Forall_inv_tail HM)) as Mb.
  assert (Hi : exists q bound rel n times0 apart last, says a = Stable q L2Squared bound rel None /\ says b = Rounds q n times0 apart last /\
    times0 = 1%Z /\ last = n /\ centred (says a) (says b) = Some (Stable q L2Squared (times bound (minus 1 (Qred (1 # Z.to_pos n)))) rel (Some (1%Z, n)))).
  { unfold follow in HF. cbn [map infer sensitivity] in HF. destruct (centred (says a) (says b)) as [f|] eqn:Ec; [|discriminate].
    unfold centred, untransformed in Ec. destruct (says a) as [| | |q how bound rel reads| | | | | | | | | | |]; try discriminate.
    destruct how; try discriminate. destruct reads; try discriminate. destruct (says b) as [| | | | | | |q' n k0 b0 l0| | | | | | |]; try discriminate.
    destruct (String.eqb q q') eqn:Eq; [|discriminate]. apply String.eqb_eq in Eq. subst q'.
    destruct (_ && _)%bool eqn:E in Ec; [|discriminate]. apply andb_prop in E. destruct E as [E _]. apply andb_prop in E. destruct E as [E1 E2].
    apply Z.eqb_eq in E1, E2. injection Ec as <-. exists q, bound, rel, n, k0, b0, l0. auto 10. }
  destruct Hi as [q [bound [rel [n [times0 [apart [last [Hsa [Hsb [-> [-> Hc]]]]]]]]]]].
  pose proof (stable_bare a _ _ _ _ _ Ma Hsa) as Ba. assert (Bb : bare b) by (apply Mb; rewrite Hsb; auto).
  destruct (follow_two ByCentred a b fin eq_refl I Ba Bb HF) as [Ei [Bf Ech]].
  cbn [infer sensitivity] in Ei. rewrite Hc in Ei. assert (Ei' : says fin = Stable q L2Squared (times bound (minus 1 (Qred (1 # Z.to_pos n)))) rel (Some (1%Z, n))) by congruence. clear Ei.
  unfold changed in Ech. rewrite Hsb in Ech. cbn [first_changes] in Ech. set (chs := changes a) in *.
  destruct Ma as [_ [_ Ma]]. rewrite Hsa in Ma. destruct Ma as [Hb0 Hsingle]. destruct Mb as [_ [_ Mb]]. rewrite Hsb in Mb. destruct Mb as [Hn _].
  unfold holds in Ha, Hb. rewrite Hsa in Ha. rewrite Hsb in Hb. destruct Ha as [_ [Hnostream Hstable]].
  destruct Hb as [Hindex [Hone _]]. destruct (Hone eq_refl) as [Hsteady [enters [Hent Hval]]]. specialize (Hstable Hsteady).
  assert (Hn0 : 0 < IZR n) by (apply IZR_lt; lia).
  assert (Ebound : Q2R (times bound (minus 1 (Qred (1 # Z.to_pos n)))) = Q2R bound * (1 - / IZR n)).
  { rewrite times_R, minus_R, one_R, Q2R_red. unfold Q2R at 2. cbn [Qnum Qden]. rewrite Z2Pos.id by lia. rewrite Rmult_1_l. auto. }
  assert (Hinv : 0 <= 1 - / IZR n).
  { assert (/ IZR n <= / 1) by (apply Rinv_le_contravar; [lra | apply IZR_le; lia]). lra. }
  split.
  2: { unfold well_made. rewrite Ei'. split; [auto|]. split; [destruct Bf as [_ [-> _]]; intros ? []|]. rewrite Ebound. split; [nra | auto]. }
  unfold holds. rewrite Ei', Ech. split; [auto|split; [auto|]]. intros k law. change (counted L2Squared) with square.
  set (P := Place q (Centred n 1 apart n :: chs) law Once).
  assert (Hnumbers : forall l h, key l = k -> at_place l = P -> numbers_at W l h =
    map (fun j d => nth j (numbers_of W k P q chs Once (index l) (start W k P h)) (fun _ => 0) d
      - total (fun s => nth j (numbers_of W k P q chs Once s (start W k P h)) (fun _ => 0) d) (one_to n) / IZR n)
      (seq 0 (List.length (numbers_of W k P q chs Once (index l) (start W k P h))))).
  { intros l h Hk Hp. unfold numbers_at. rewrite Hp, Hk. reflexivity. }
  split.
  - intros h0 d d' Hd. destruct (near_at (distance W) rel Hsingle d d' Hd) as [u [HO _]].
    set (s0 := enters u).
    assert (Hquiet : forall s h j, s <> s0 -> nth j (numbers_of W k P q chs Once s h) (fun _ => 0) d = nth j (numbers_of W k P q chs Once s h) (fun _ => 0) d').
    { intros s h j Hs. destruct (Nat.lt_ge_cases j (List.length (numbers_of W k P q chs Once s h))) as [L|L].
      - apply (numbers_read W k P q chs Once s h Hnostream d d'); [|apply nth_In; auto]. intros j'. apply Hval. intros v Hv. apply HO. intros ->. auto.
      - rewrite nth_overflow by auto. auto. }
    assert (Hround : (1 <= s0 <= n)%Z \/ ~ (1 <= s0 <= n)%Z) by lia. destruct Hround as [Hin|Hout].
    + revert h0. apply (stream_bound W HW k P n _ (fun h i => 
        total (fun j => square (nth j (numbers_of W k P q chs Once s0 (start W k P h)) (fun _ => 0) d - nth j (numbers_of W k P q chs Once s0 (start W k P h)) (fun _ => 0) d'))
          (seq 0 (List.length (numbers_of W k P q chs Once s0 (start W k P h)))) * (if Z.eq_dec i s0 then square (1 - / IZR n) else square (/ IZR n)))).
      * reflexivity.
      * intros h l Hl Hp. apply (Hindex h l Hl); rewrite Hp; auto.
      * intros h i. apply Rmult_le_pos; [apply total_nonneg; intros; apply square_nonneg|]. destruct (Z.eq_dec i s0); apply square_nonneg.
      * intros h' E. rewrite E. auto.
      * intros h h' l He Hl Hk Hp.
        assert (Eon : on_place W k P h' = true) by (apply on_place_spec; eauto). rewrite Eon, Hl.
        assert (Est : start W k P h' = start W k P h).
        { destruct He as [b' ->]. destruct (first_of_asked W k P h' Eon) as [h1 F].
          assert (G : first_of W k P (b' ++ h')%list = Some h1).
          { clear - F. induction b' as [|m b' IH]; auto. change ((m :: b') ++ h')%list with (m :: (b' ++ h'))%list. rewrite first_of_later; auto. congruence. }
          unfold start. rewrite F, G. auto. }
        rewrite (Hnumbers l h' Hk Hp), Est. set (h1 := start W k P h) in *.
        unfold differences. rewrite map_map, total_map, Rmult_comm, <- total_scale.
        rewrite (numbers_length W k P q chs Once (index l) h1 k P s0 h1 Hnostream).
        right. apply total_ext. intros j _.
        rewrite (total_split_one (fun s => nth j (numbers_of W k P q chs Once s h1) (fun _ => 0) d) (fun s => nth j (numbers_of W k P q chs Once s h1) (fun _ => 0) d') (one_to n) s0).
        -- destruct (Z.eq_dec (index l) s0) as [->|N].
           ++ unfold square. field. lra.
           ++ rewrite (Hquiet (index l) h1 j N). unfold square. field. lra.
        -- apply one_to_once.
        -- apply one_to_in. auto.
        -- intros i _ Hi. apply Hquiet; auto.
      * intros h. rewrite total_scale. set (V := total _ (seq 0 _)).
        assert (HV : V <= Q2R bound).
        { pose proof (Hstable k P Once s0 (start W k P h) d d' Hd) as HS. cbn [within] in HS. unfold differences in HS. rewrite total_map in HS.
          rewrite (total_nth _ (fun _ => 0)) in HS. exact HS. }
        assert (HV0 : 0 <= V) by (apply total_nonneg; intros; apply square_nonneg).
        rewrite (total_split_one _ (fun _ => square (/ IZR n)) (one_to n) s0); [|apply one_to_once | apply one_to_in; auto | intros i _ Hi; destruct (Z.eq_dec i s0); [congruence | auto]].
        destruct (Z.eq_dec s0 s0) as [_|N]; [|congruence]. rewrite total_const.
        assert (EL : INR (List.length (one_to n)) = IZR n) by (unfold one_to; rewrite map_length, seq_length, INR_IZR_INZ, Z2Nat.id; auto; lia).
        rewrite EL, Ebound. replace (IZR n * square (/ IZR n) + (square (1 - / IZR n) - square (/ IZR n))) with (1 - / IZR n) by (unfold square; field; lra). nra.
    + (* nobody enters *)
      apply Rle_trans with 0; [|rewrite Ebound; nra]. right. transitivity (spent (fun _ : history (message W) => 0) h0); [|apply spent_zero]. apply spent_ext. intros h.
      destruct (on_place W k P h) eqn:E; auto. apply on_place_spec in E. destruct E as [l [Hl [Hk Hp]]]. rewrite Hl.
      rewrite (Hnumbers l h Hk Hp). unfold differences. rewrite map_map, total_map. apply total_zero. intros j _.
      assert (Hrow : forall s, In s (one_to n) -> nth j (numbers_of W k P q chs Once s (start W k P h)) (fun _ => 0) d = nth j (numbers_of W k P q chs Once s (start W k P h)) (fun _ => 0) d').
      { intros s Hs. apply Hquiet. intros ->. apply one_to_in in Hs. auto. }
      rewrite (total_ext _ _ _ Hrow).
      assert (Hil : In (index l) (one_to n)).
      { apply one_to_in. destruct HW as [_ [_ [_ [_ [_ [HRw _]]]]]]. destruct (HRw h l Hl ltac:(rewrite Hp; auto)) as [_ [G _]]. split; auto.
        apply (Hindex h l Hl); rewrite Hp; auto. }
      rewrite (Hrow _ Hil). unfold square. ring.
  - intros now l d d' c Hl Hp Hag Hcin. 
    assert (Hk : exists k', key l = k') by eauto. destruct Hk as [k' Hk'].
    assert (Hnumbers' : numbers_at W l now = map (fun j d => nth j (numbers_of W k' P q chs Once (index l) (start W k' P now)) (fun _ => 0) d
      - total (fun s => nth j (numbers_of W k' P q chs Once s (start W k' P now)) (fun _ => 0) d) (one_to n) / IZR n)
      (seq 0 (List.length (numbers_of W k' P q chs Once (index l) (start W k' P now))))).
    { unfold numbers_at. rewrite Hp, Hk'. reflexivity. }
    rewrite Hnumbers' in Hcin. apply in_map_iff in Hcin. destruct Hcin as [j [<- _]].
    assert (Hrow : forall s, In s (one_to n) -> nth j (numbers_of W k' P q chs Once s (start W k' P now)) (fun _ => 0) d = nth j (numbers_of W k' P q chs Once s (start W k' P now)) (fun _ => 0) d').
    { intros s Hs. apply one_to_in in Hs.
      destruct (Nat.lt_ge_cases j (List.length (numbers_of W k' P q chs Once s (start W k' P now)))) as [L|L].
      - apply (numbers_read W k' P q chs Once s (start W k' P now) Hnostream d d'); [|apply nth_In; auto]. intros j'. apply Hval. intros v Hv.
        apply Hag. destruct (Hent v) as [E|E]; lia.
      - rewrite nth_overflow by auto. auto. }
    rewrite (total_ext _ _ _ Hrow).
    assert (Hil : In (index l) (one_to n)).
    { apply one_to_in. destruct HW as [_ [_ [_ [_ [_ [HRw _]]]]]]. destruct (HRw now l Hl ltac:(rewrite Hp; auto)) as [_ [G _]]. split; auto.
      apply (Hindex now l Hl); rewrite Hp; auto. }
    rewrite (Hrow _ Hil). auto.
Qed.
