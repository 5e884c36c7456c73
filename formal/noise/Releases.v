(** A draw of noise as a line: made once, or row by row of a stream; and what one release of it costs. *)
Require Import Reals QArith Qreals ZArith Lra Lia Psatz List Bool String.
From Coquelicot Require Import Rcomplements.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Chance Costs Numbers Satisfies Lines Sound Maps Products.
From DP.noise Require Import Infer.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope R_scope.

Lemma spent_once {M} (g : history M -> bool) b : 0 <= b ->
  (forall h h' m, earlier (m :: h') h -> g h = true -> g h' = false) ->
  forall h, spent (fun h => if g h then b else 0) h <= b.
Proof.
  intros Hb Hg. assert (Z : forall h, (forall h' m, earlier (m :: h') h -> g h' = false) ->
    match h with [] => True | _ :: h' => spent (fun h => if g h then b else 0) h' = 0 end).
  { induction h as [|m h IH]; auto. intros HN. pose proof (HN h m (ex_intro _ [] eq_refl)) as H0.
    assert (IH' : match h with [] => True | _ :: h' => spent (fun h => if g h then b else 0) h' = 0 end).
    { apply IH. intros h' m' [b' E]. apply (HN h' m'). exists (m :: b'). rewrite E. auto. }
    destruct h as [|m' h]; cbn [spent]; rewrite H0; [lra|]. rewrite IH'. lra. }
  induction h as [|m h IH].
  - simpl. destruct (g []); lra.
  - destruct (g (m :: h)) eqn:E.
    + specialize (Z (m :: h) (fun h' m' He => Hg (m :: h) h' m' He E)). cbn [spent]. rewrite Z, E. lra.
    + cbn [spent]. rewrite E. lra.
Qed.

Section World.
  Variable W : world.
  Hypothesis HW : lawful W.
  Local Notation H := (history (message W)).
  Local Notation D := (data (record W)).

  Lemma made_once h l : next W h = Some l -> forall h' m, earlier (m :: h') h -> next W h' <> Some l.
  Proof. destruct HW as [_ [_ [_ [A _]]]]. apply A. Qed.

  Lemma names_query l : names W (query (at_place l)) l = true.
  Proof. destruct HW as [_ [_ [_ [_ [_ [_ [A _]]]]]]]. apply A. Qed.

  Lemma lookup_one k k' (p p' : place) : lookup k [(k', p)] = Some p' -> k = k' /\ p' = p.
  Proof. simpl. destruct (String.eqb_spec k k'); [|discriminate]. intros E. injection E as <-. auto. Qed.

  Lemma instance_once k p o i : forall h h' m, earlier (m :: h') h ->
    instance W (spread_over o [(k, p)]) i h = true -> instance W (spread_over o [(k, p)]) i h' = false.
  Proof.
    intros h h' m He E. apply instance_spec in E. destruct E as [l [Hl [Hk Hi]]].
    apply not_true_is_false. intros E'. apply instance_spec in E'. destruct E' as [l' [Hl' [Hk' Hi']]].
    rewrite lookup_spread in Hk, Hk'.
    destruct (lookup (key l) [(k, p)]) as [q|] eqn:E1; [|discriminate]. destruct (lookup (key l') [(k, p)]) as [q'|] eqn:E2; [|discriminate].
    apply lookup_one in E1, E2. destruct E1 as [E1 ->], E2 as [E2 ->].
    apply (made_once h l Hl h' m He). rewrite Hl'. f_equal. destruct l as [a b c], l' as [a' b' c']. simpl in *. congruence.
  Qed.

  (** One draw, whatever it is drawn over. *)
  Lemma once_holds q made how k rel c (cost : forall A, R -> law A -> law A -> Prop) b :
    0 <= b -> free_of_charge (cost (message W)) ->
    (forall (X : Type) (near : X -> X -> Prop) (draw : X -> H -> law (message W)) asks (group : (H -> bool) -> Prop),
       (forall g, group g -> always near draw (adds_up (cost (message W)) b g)) -> satisfies near draw c asks group) ->
    (forall o, (forall h l, next W h = Some l -> key l = k -> at_place l = Place q made how o) ->
       forall h l d d', next W h = Some l -> key l = k -> neighbours (distance W) rel d d' ->
       cost (message W) b (ideal W h d) (ideal W h d')) ->
    private_holds W q c rel Central None [(k, Place q made how Once)] [] false [].
  Proof.
    intros Hb Hfree Hsat Hcost. unfold private_holds. split; [|split].
    - intros h l p Hl Hk Hp. apply lookup_one in Hk. destruct Hk as [_ ->]. simpl in Hp.
      replace q with (query (at_place l)); [apply names_query | rewrite Hp; auto].
    - intros s [].
    - intros o HE. split; [|discriminate]. apply Hsat. intros g [i ->] d d' Hd.
      assert (Hplace : forall h l, next W h = Some l -> key l = k -> at_place l = Place q made how o).
      { intros h l Hl Hk. symmetry. apply (HE h l); auto. rewrite lookup_spread. simpl. rewrite Hk, String.eqb_refl. auto. }
      exists (fun h => if instance W (spread_over o [(k, Place q made how Once)]) i h then b else 0). split; [|split].
      + intros h. destruct (instance _ _ _ _); lra.
      + intros h Hh. rewrite Hh. apply instance_spec in Hh. destruct Hh as [l [Hl [Hk Hi]]].
        rewrite lookup_spread in Hk. destruct (lookup (key l) _) eqn:E in Hk; [|discriminate]. apply lookup_one in E. destruct E as [E _].
        unfold draw. rewrite Hl. simpl. apply (Hcost o Hplace h l d d'); auto.
      + apply spent_once; auto. apply instance_once.
  Qed.

  (** Row by row of a stream, whose rows cost K times the sizes of all movements. *)
  Lemma stream_holds q made how k rel c first last (cost : forall A, R -> law A -> law A -> Prop) (size : R -> R) b K :
    0 <= K -> (forall x, 0 <= size x) ->
    (forall (X : Type) (near : X -> X -> Prop) (draw : X -> H -> law (message W)) asks (group : (H -> bool) -> Prop),
       (forall g, group g -> always near draw (adds_up (cost (message W)) (K * b) g)) -> satisfies near draw c asks group) ->
    (forall h d d', neighbours (distance W) rel d d' -> spent (fun h => if on_place W k (Place q made how Once) h
       then match next W h with Some l => total size (differences W (numbers_at W l h) d d') | None => 0 end else 0) h <= b) ->
    (forall h l d d' n, next W h = Some l -> at_place l = Place q made how Once -> agree W first last d d' ->
       In n (numbers_at W l h) -> n d = n d') ->
    ((forall h l, next W h = Some l -> key l = k -> at_place l = Place q made how Once) ->
       forall h l d d', next W h = Some l -> key l = k ->
       cost (message W) (K * total size (differences W (numbers_at W l h) d d')) (ideal W h d) (ideal W h d') /\
       ((forall n, In n (numbers_at W l h) -> n d = n d') -> same (ideal W h d) (ideal W h d'))) ->
    private_holds W q c rel Central (Some (first, last)) [(k, Place q made how Once)] [] false [].
  Proof.
    intros HK Hsize Hsat Hspent Hagree Hcost. unfold private_holds. split; [|split].
    - intros h l p Hl Hk Hp. apply lookup_one in Hk. destruct Hk as [_ ->]. simpl in Hp.
      replace q with (query (at_place l)); [apply names_query | rewrite Hp; auto].
    - intros s [].
    - intros HE.
      assert (Hplace : forall h l, next W h = Some l -> key l = k -> at_place l = Place q made how Once).
      { intros h l Hl Hk. symmetry. apply (HE h l); auto. simpl. rewrite Hk, String.eqb_refl. auto. }
      assert (Hof : forall h, of_draws W [(k, Place q made how Once)] h = true -> exists l, next W h = Some l /\ key l = k).
      { intros h Hh. apply of_draws_spec in Hh. destruct Hh as [l [Hl Hk]]. apply lookup_one in Hk. exists l. tauto. }
      split; [|split]; [|discriminate|].
      + apply Hsat. intros g -> d d' Hd.
        exists (fun h => K * if on_place W k (Place q made how Once) h
          then match next W h with Some l => total size (differences W (numbers_at W l h) d d') | None => 0 end else 0). split; [|split].
        * intros h. apply Rmult_le_pos; auto. destruct (on_place _ _ _ _); [|lra]. destruct (next W h); [|lra].
          apply total_nonneg. auto.
        * intros h Hh. destruct (Hof h Hh) as [l [Hl Hk]]. pose proof (Hplace h l Hl Hk) as Hp.
          unfold on_place. rewrite Hl, Hk, Hp, String.eqb_refl. destruct (place_dec _ _); [|congruence]. simpl.
          unfold draw. rewrite Hl. simpl. apply (Hcost Hplace h l d d'); auto.
        * intros h. rewrite spent_scale. apply Rmult_le_compat_l; auto.
      + intros _ h d d' Hh Ha. destruct (Hof h Hh) as [l [Hl Hk]]. unfold draw. rewrite Hl. simpl.
        apply (Hcost Hplace h l d d'); auto. intros n Hn. apply (Hagree h l d d' n Hl (Hplace h l Hl Hk) Ha Hn).
  Qed.
End World.

(** The line that a draw of noise gives. *)
Lemma noise_line s l n key law : law_of s (says l) = Some (key, law) -> follow s [l] = Some n ->
  exists q c rel o reads, infer s [says l] = Some (Private q c rel o reads) /\
    n = Line (Private q c rel o reads) [(key, Place q (changes l) law Once)] [] Once [] false [].
Proof.
  intros HL HF. unfold follow in HF. cbn [map] in HF. rewrite HL in HF.
  destruct (infer s [says l]) as [gives|]; [|discriminate]. destruct (_ && _)%bool; [|discriminate].
  destruct gives as [q c rel o reads| | | | | | | | | | | | | |]; try discriminate. injection HF as <-.
  exists q, c, rel, o, reads. auto.
Qed.

(** Of a line with one draw that is well made. *)
Lemma drawn_once_well_made q c rel o reads key chs law : curve_sane c ->
  (reads = None -> is_stream chs = false) ->
  well_made (Line (Private q c rel o reads) [(key, Place q chs law Once)] [] Once [] false []).
Proof.
  intros HC HS. unfold well_made; cbn [says drawn departed is_private]. split; [discriminate|]. split; [intros k []|]. split; auto.
  intros HR k p Hk. apply lookup_one in Hk. destruct Hk as [_ ->]. cbn. auto.
Qed.
