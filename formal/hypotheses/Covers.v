(** Covers: how many units open at most, and that a tree has one node of each level above every unit.

    [sweep] walks over the first and last units in order.  Before a first unit all last units below it have been passed,
    so what is open there is counted; a unit in between is in no more covers than the first unit before it. *)
Require Import Reals QArith Qreals ZArith Lia List Bool String Permutation Sorting.Sorted.
From DP.base Require Import Laws.
From DP Require Import Facts Steps Definitions Meaning.
From DP.core Require Import Lines Sound.
From DP.hypotheses Require Import Infer Proofs.
From DP.check Require Import Follow.
Import ListNotations.
Open Scope Z_scope.

(* ---------------------------------------------------------------- counting *)

Definition many {A} (f : A -> bool) (l : list A) : Z := Z.of_nat (List.length (filter f l)).

Lemma many_cons {A} (f : A -> bool) a l : many f (a :: l) = (if f a then 1 else 0) + many f l.
Proof. unfold many. simpl. destruct (f a); simpl List.length; lia. Qed.

Lemma many_nonneg {A} (f : A -> bool) l : 0 <= many f l. Proof. unfold many. lia. Qed.

Lemma many_map {A B} (f : B -> bool) (g : A -> B) l : many f (map g l) = many (fun a => f (g a)) l.
Proof. induction l as [|a l IH]; auto. cbn [map]. rewrite !many_cons, IH. auto. Qed.

Lemma many_permuted {A} (f : A -> bool) l m : Permutation l m -> many f l = many f m.
Proof. induction 1; rewrite ?many_cons; lia. Qed.

Lemma many_none {A} (f : A -> bool) l : (forall a, In a l -> f a = false) -> many f l = 0.
Proof.
  induction l as [|a l IH]; intros HF; auto. rewrite many_cons, (HF a (or_introl eq_refl)), IH; auto.
  intros b Hb. apply HF. right; auto.
Qed.

Lemma many_some {A} (f : A -> bool) l a : In a l -> f a = true -> 1 <= many f l.
Proof.
  induction l as [|b l IH]; [intros []|]. intros [<-|Ha] E; rewrite many_cons; pose proof (many_nonneg f l).
  - rewrite E. lia.
  - specialize (IH Ha E). destruct (f b); lia.
Qed.

Definition upto_it (u x : Z) : bool := x <=? u.
Definition under (u x : Z) : bool := x <? u.

(** A unit is in a cover that has begun and has not ended. *)
Lemma held u l : (forall c, In c l -> fst c <= snd c) ->
  many (holds_unit u) l = many (upto_it u) (map fst l) - many (under u) (map snd l).
Proof.
  induction l as [|[a b] l IH]; intros HP; auto. cbn [map fst snd]. rewrite !many_cons.
  rewrite IH by (intros c Hc; apply HP; right; auto). specialize (HP (a, b) (or_introl eq_refl)). cbn [fst snd] in HP.
  change (holds_unit u (a, b)) with ((a <=? u) && (u <=? b))%bool. change (upto_it u a) with (a <=? u).
  change (under u b) with (b <? u).
  destruct (Z.leb_spec a u), (Z.leb_spec u b), (Z.ltb_spec b u); cbn [andb]; lia.
Qed.

(* ---------------------------------------------------------------- the sweep *)

Definition rises := StronglySorted Z.le.

Lemma rises_head a l x : rises (a :: l) -> In x (a :: l) -> a <= x.
Proof. intros HR [->|Hx]; [lia|]. apply StronglySorted_inv in HR. destruct HR as [_ HF]. rewrite Forall_forall in HF.
auto. Qed.

Lemma rises_rest a l : rises (a :: l) -> rises l.
Proof. intros HR. apply StronglySorted_inv in HR. tauto. Qed.

Lemma sweep_best fuel : forall fs ls now best, best <= sweep fuel fs ls now best.
Proof.
  induction fuel as [|fuel IH]; intros [|f fs] ls now best; simpl; try lia.
  destruct ls as [|l ls].
  - eapply Z.le_trans; [|apply IH]. lia.
  - destruct (l <? f); [apply IH|]. eapply Z.le_trans; [|apply IH]. lia.
Qed.

Lemma sweep_above fuel : forall fs ls now best, rises fs -> rises ls -> (List.length fs + List.length ls <= fuel)%nat ->
  forall u f, In f fs -> f <= u -> now + many (upto_it u) fs - many (under u) ls <= sweep fuel fs ls now best.
Proof.
  induction fuel as [|fuel IH]; intros [|f fs] ls now best HF HL Hn u x Hx Hu; try (destruct Hx; fail); [simpl in Hn;
    lia|].
  assert (Hf : f <= u) by (pose proof (rises_head f fs x HF Hx); lia).
  assert (Open : forall ls',
    many (upto_it u) (f :: fs) - many (under u) ls' = 1 + many (upto_it u) fs - many (under u) ls').
  { intros. rewrite many_cons. change (upto_it u f) with (f <=? u). destruct (Z.leb_spec f u); lia. }
  assert (Step : (List.length fs + List.length ls <= fuel)%nat -> now + many (upto_it u) (f :: fs) - many (under u) ls
    <= sweep fuel fs ls (now + 1) (Z.max best (now + 1))).
  { intros Hl. specialize (Open ls). pose proof (many_nonneg (under u) ls).
    pose proof (sweep_best fuel fs ls (now + 1) (Z.max best (now + 1))).
    destruct (Z.eq_dec (many (upto_it u) fs) 0) as [E|E]; [lia|].
    assert (exists y, In y fs /\ y <= u) as [y [Hy Hyu]].
    { destruct (filter (upto_it u) fs) as [|y m] eqn:Em; [exfalso; apply E; unfold many; rewrite Em; auto|].
      exists y. assert (Iy : In y (filter (upto_it u) fs)) by (rewrite Em; left; auto).
      apply filter_In in Iy. destruct Iy as [I1 I2]. split; auto. apply Z.leb_le. auto. }
    pose proof (IH fs ls (now + 1) (Z.max best (now + 1)) (rises_rest _ _ HF) HL Hl u y Hy Hyu). lia. }
  cbn [sweep]. destruct ls as [|l ls]; [apply Step; simpl in *; lia|].
  destruct (Z.ltb_spec l f).
  - assert (E : many (under u) (l :: ls) = 1 + many (under u) ls).
    { rewrite many_cons. change (under u l) with (l <? u). destruct (Z.ltb_spec l u); lia. }
    rewrite E. pose proof (IH (f :: fs) ls (now - 1) best HF (rises_rest _ _ HL) ltac:(simpl in *; lia) u x Hx Hu). lia.
  - apply Step. simpl in *. lia.
Qed.

Lemma sweep_reached fuel : forall fs ls now best, rises fs -> rises ls ->
  sweep fuel fs ls now best = best \/
  exists u, In u fs /\ sweep fuel fs ls now best <= now + many (upto_it u) fs - many (under u) ls.
Proof.
  induction fuel as [|fuel IH]; intros [|f fs] ls now best HF HL; auto.
  assert (Step : (forall l, In l ls -> f <= l) -> sweep fuel fs ls (now + 1) (Z.max best (now + 1)) = best \/
    exists u, In u (f :: fs) /\ sweep fuel fs ls (now + 1) (Z.max best (now + 1)) <= now + many (upto_it u) (f :: fs)
      - many (under u) ls).
  { intros HA. destruct (IH fs ls (now + 1) (Z.max best (now + 1)) (rises_rest _ _ HF) HL) as [E|[u [Hu E]]].
    - rewrite E. destruct (Z.max_spec best (now + 1)) as [[M ->]|[M ->]]; auto. right. exists f. split; [left; auto|].
      rewrite many_cons, (many_none (under f) ls). 2: { intros l Hl. apply Z.ltb_ge. auto. }
      pose proof (many_nonneg (upto_it f) fs). change (upto_it f f) with (f <=? f). destruct (Z.leb_spec f f); lia.
    - right. exists u. split; [right; auto|]. rewrite many_cons. change (upto_it u f) with (f <=? u).
      pose proof (rises_head f fs u HF (or_intror Hu)). destruct (Z.leb_spec f u); lia. }
  cbn [sweep]. destruct ls as [|l ls]; [apply Step; intros ? []|].
  destruct (Z.ltb_spec l f) as [H|H].
  - destruct (IH (f :: fs) ls (now - 1) best HF (rises_rest _ _ HL)) as [E|[u [Hu E]]]; auto. right. exists u.
    split; auto.
    rewrite (many_cons (under u) l ls). change (under u l) with (l <? u). pose proof (rises_head f fs u HF Hu).
    destruct (Z.ltb_spec l u); lia.
  - apply Step. intros x Hx. pose proof (rises_head l ls x HL Hx). lia.
Qed.

Lemma sorted_rises l : rises (ZSort.sort l).
Proof.
  apply Sorted_StronglySorted; [intros x y z; apply Z.le_trans|]. pose proof (ZSort.LocallySorted_sort l) as HS.
  apply Sorted_LocallySorted_iff in HS. induction HS as [|a m HS IH HH]; constructor; auto. inversion HH; constructor.
  apply Z.leb_le. auto.
Qed.

Lemma proper_spec c : proper c = true -> 1 <= fst c /\ fst c <= snd c /\ snd c < 2 ^ 63.
Proof. unfold proper. intros E. apply andb_prop in E. destruct E as [E E3]. apply andb_prop in E. destruct E. lia. Qed.

Lemma most_open_spec covers : forallb proper covers = true ->
  (forall u, many (holds_unit u) covers <= most_open covers) /\ exists u, many (holds_unit u) covers = most_open covers.
Proof.
  intros HP. rewrite forallb_forall in HP.
  assert (HC : forall c, In c covers -> fst c <= snd c) by (intros c Hc; apply proper_spec; auto).
  set (fs := ZSort.sort (map fst covers)). set (ls := ZSort.sort (map snd covers)).
  assert (PF : Permutation (map fst covers) fs) by apply ZSort.Permuted_sort.
  assert (PL : Permutation (map snd covers) ls) by apply ZSort.Permuted_sort.
  assert (HM : forall u, many (holds_unit u) covers = many (upto_it u) fs - many (under u) ls).
  { intros u. rewrite held by auto. rewrite (many_permuted _ _ _ PF), (many_permuted _ _ _ PL). auto. }
  assert (Above : forall u, many (holds_unit u) covers <= most_open covers).
  { intros u. unfold most_open. fold fs ls. destruct (Z.eq_dec (many (upto_it u) fs) 0) as [E|E].
    - rewrite HM, E. pose proof (many_nonneg (under u) ls).
      pose proof (sweep_best (2 * List.length covers) fs ls 0 0). lia.
    - destruct (filter (upto_it u) fs) as [|y m] eqn:Em; [exfalso; apply E; unfold many; rewrite Em; auto|].
      assert (Iy : In y (filter (upto_it u) fs)) by (rewrite Em; left; auto). apply filter_In in Iy.
      destruct Iy as [I1 I2].
      apply Z.leb_le in I2. rewrite HM. pose proof (sweep_above (2 * List.length covers) fs ls 0 0) as HS.
      specialize (HS (sorted_rises _) (sorted_rises _)).
      rewrite <- (Permutation_length PF), <- (Permutation_length PL), !map_length in HS.
      specialize (HS ltac:(lia) u y I1 I2). lia. }
  split; auto. destruct (sweep_reached (2 * List.length covers) fs ls 0 0 (sorted_rises _) (sorted_rises _)) as [E|[u
    [Hu E]]].
  - exists 0. unfold most_open. fold fs ls. rewrite E. apply many_none. intros c Hc. apply HP, proper_spec in Hc.
    unfold holds_unit. destruct (Z.leb_spec (fst c) 0); auto. lia.
  - exists u. apply Z.le_antisymm; auto. rewrite HM. unfold most_open. fold fs ls. lia.
Qed.

(* ---------------------------------------------------------------- least and most *)

Lemma most_of_above l x : In x l -> x <= most_of l.
Proof.
  assert (G : forall l b, b <= fold_left Z.max l b /\ forall y, In y l -> y <= fold_left Z.max l b).
  { clear. induction l as [|a l IH]; intros b; simpl; [split; [lia | tauto]|]. destruct (IH (Z.max b a)) as [G1 G2].
    split; [lia|]. intros y [<-|Hy]; [lia | auto]. }
  destruct l as [|a l]; [intros []|]. simpl. destruct (G l a) as [G1 G2]. intros [<-|Hx]; auto.
Qed.

Lemma least_of_below l x : In x l -> least_of l <= x.
Proof.
  assert (G : forall l b, fold_left Z.min l b <= b /\ forall y, In y l -> fold_left Z.min l b <= y).
  { clear. induction l as [|a l IH]; intros b; simpl; [split; [lia | tauto]|]. destruct (IH (Z.min b a)) as [G1 G2].
    split; [lia|]. intros y [<-|Hy]; [lia | auto]. }
  destruct l as [|a l]; [intros []|]. simpl. destruct (G l a) as [G1 G2]. intros [<-|Hx]; auto.
Qed.

(* ---------------------------------------------------------------- trees *)

Definition level (rounds l : Z) : list (Z * Z) := map (fun j => ((j - 1) * 2 ^ l + 1,
  j * 2 ^ l)) (one_to (rounds / 2 ^ l)).

Lemma one_to_in n j : In j (one_to n) -> 1 <= j <= n.
Proof. unfold one_to. intros Hj. apply in_map_iff in Hj. destruct Hj as [k [<- Hk]]. apply in_seq in Hk. lia. Qed.

Lemma in_one_to n j : 1 <= j <= n -> In j (one_to n).
Proof. intros Hj. unfold one_to. apply in_map_iff. exists (Z.to_nat j). split; [lia|]. apply in_seq. lia. Qed.

Lemma one_to_once n : NoDup (one_to n).
Proof. unfold one_to. apply FinFun.Injective_map_NoDup; [intros x y; lia | apply seq_NoDup]. Qed.

Lemma many_unique {A} (f : A -> bool) l : NoDup l -> (forall a b, f a = true -> f b = true -> a = b) -> many f l <= 1.
Proof.
  intros HN HU. induction HN as [|a l Ha HN IH]; [unfold many; simpl; lia|]. rewrite many_cons.
  destruct (f a) eqn:E; [|lia]. rewrite many_none; [lia|]. intros b Hb. destruct (f b) eqn:E'; auto.
  exfalso. apply Ha. rewrite (HU a b E E'). auto.
Qed.

Lemma level_once rounds l u : 0 <= l -> many (holds_unit u) (level rounds l) <= 1.
Proof.
  intros Hl. unfold level. rewrite many_map. apply many_unique; [apply one_to_once|]. intros a b Ha Hb.
  unfold holds_unit in *. cbn [fst snd] in *. apply andb_prop in Ha, Hb.
  pose proof (Z.pow_pos_nonneg 2 l ltac:(lia) Hl).
  assert ((a - 1) * 2 ^ l < b * 2 ^ l) by lia. assert ((b - 1) * 2 ^ l < a * 2 ^ l) by lia. nia.
Qed.

Lemma tree_met rounds u ls : (forall l,
  In l ls -> 0 <= l) -> many (holds_unit u) (flat_map (level rounds) ls) <= Z.of_nat (List.length ls).
Proof.
  induction ls as [|l ls IH]; intros HL; cbn [flat_map]; [unfold many; simpl; lia|].
  unfold many in *. rewrite filter_app, app_length, Nat2Z.inj_add.
  pose proof (level_once rounds l u (HL l (or_introl eq_refl))) as H1.
  unfold many in H1. specialize (IH ltac:(intros; apply HL; right; auto)). simpl List.length. lia.
Qed.

Lemma tree_first rounds ls : (forall l, In l ls -> 0 <= l /\ 2 ^ l <= rounds) ->
  Z.of_nat (List.length ls) <= many (holds_unit 1) (flat_map (level rounds) ls).
Proof.
  induction ls as [|l ls IH]; intros HL; cbn [flat_map]; [unfold many; simpl; lia|].
  specialize (IH ltac:(intros; apply HL; right; auto)). destruct (HL l (or_introl eq_refl)) as [Hl Hr].
  pose proof (Z.pow_pos_nonneg 2 l ltac:(lia) Hl) as HP.
  assert (H1 : 1 <= many (holds_unit 1) (level rounds l)).
  { apply many_some with (a := ((1 - 1) * 2 ^ l + 1, 1 * 2 ^ l)).
    - unfold level. apply in_map_iff. exists 1. split; auto. apply in_one_to. split; [lia|].
      apply Z.div_le_lower_bound; lia.
    - unfold holds_unit. cbn [fst snd]. apply andb_true_intro. split; apply Z.leb_le; lia. }
  unfold many in *. rewrite filter_app, app_length, Nat2Z.inj_add. simpl List.length. lia.
Qed.

Lemma tree_size rounds ls : 0 <= rounds -> (forall l, In l ls -> 0 <= l) -> forall start,
  start + Z.of_nat (List.length (flat_map (level rounds) ls)) = fold_left Z.add (map (fun l => rounds / 2 ^ l) ls)
    start.
Proof.
  intros HR. induction ls as [|l ls IH]; intros HL start; cbn [flat_map map fold_left]; [simpl; lia|].
  rewrite <- IH by (intros; apply HL; right; auto). rewrite app_length, Nat2Z.inj_add. unfold level at 1.
  rewrite map_length.
  unfold one_to. rewrite map_length, seq_length.
  assert (0 <= rounds / 2 ^ l) by (apply Z.div_pos; auto; apply Z.pow_pos_nonneg; [lia | apply HL; left; auto]). lia.
Qed.

(* ---------------------------------------------------------------- the rules *)

Theorem assume_covers_sound : sound_rule "assume_covers".
Proof.
  of_rule. simpl in HT. unfold follow in HF. destruct found as [|? ?]; [|discriminate HF].
  unfold infer, hypothesis, covered in HF.
  cbn [map] in HF. destruct (match covers with [] => false | _ :: _ => forallb proper covers end) eqn:EP;
    [|discriminate].
  assert (HP : forallb proper covers = true) by (destruct covers; [discriminate | auto]). clear EP.
  cbn -[most_open most_of least_of] in HF. injection HF as <-. cbn [covers_of] in HT. split.
  2: { split; [intros _; repeat split; auto|]. split; [intros ? []|]. exact I. }
  unfold holds. cbn [says covers_of]. split; [exact HT|]. cbn [covers_list].
  destruct (most_open_spec covers HP) as [H1 H2]. split; [auto|]. split; [exact H1|]. split; [exact H2|].
  rewrite forallb_forall in HP. intros a b Hab. pose proof (proper_spec _ (HP _ Hab)) as [_ [H3 _]].
  cbn [fst snd] in H3. split; [|split; [auto|split]].
  - apply least_of_below. apply in_map_iff. exists (a, b). auto.
  - apply most_of_above. apply in_map_iff. exists (a, b). auto.
  - apply most_of_above. apply in_map_iff. exists (a, b). auto.
Qed.

Theorem assume_tree_sound : sound_rule "assume_tree".
Proof.
  of_rule. simpl in HT. unfold follow in HF. destruct found as [|? ?]; [|discriminate HF].
  unfold infer, hypothesis, tree in HF.
  cbn [map] in HF. destruct (unit_there rounds && (1 <=? levels) && (levels <=? Z.log2 rounds + 1))%bool eqn:EP;
    [|discriminate].
  cbn -[Z.pow Z.div seq fold_left] in HF. injection HF as <-. cbn [covers_of] in HT. unfold unit_there in EP.
  apply andb_prop in EP. destruct EP as [EP E3]. apply andb_prop in EP. destruct EP as [EP E2]. apply andb_prop in EP.
  destruct EP as [E1 _].
  apply Z.leb_le in E1, E2, E3. split.
  2: { split; [intros _; repeat split; auto|]. split; [intros ? []|]. exact I. }
  unfold holds. cbn [says covers_of]. split; [exact HT|].
  set (ls := map Z.of_nat (seq 0 (Z.to_nat levels))).
  assert (EL : covers_list (Tree query rounds levels) = flat_map (level rounds) ls) by reflexivity.
  assert (HL : forall l, In l ls -> 0 <= l <= levels - 1).
  { intros l Hl. apply in_map_iff in Hl. destruct Hl as [k [<- Hk]]. apply in_seq in Hk. lia. }
  assert (HR : forall l, In l ls -> 0 <= l /\ 2 ^ l <= rounds).
  { intros l Hl. specialize (HL l Hl). split; [lia|].
  apply Z.le_trans with (2 ^ Z.log2 rounds); [apply Z.pow_le_mono_r; lia|].
    apply Z.log2_spec. lia. }
  assert (HN : Z.of_nat (List.length ls) = levels) by (unfold ls; rewrite map_length, seq_length; lia).
  unfold met. rewrite EL.
  assert (HU : forall u, many (holds_unit u) (flat_map (level rounds) ls) <= levels).
  { intros u. rewrite <- HN. apply tree_met. intros l Hl. specialize (HL l Hl). lia. }
  split; [|split; [exact HU|split]].
  - pose proof (tree_size rounds ls ltac:(lia) ltac:(intros l Hl; specialize (HL l Hl); lia) 0) as HS.
    rewrite Z.add_0_l in HS.
    rewrite HS. unfold ls. rewrite map_map. auto.
  - exists 1. apply Z.le_antisymm; [apply HU|]. rewrite <- HN at 1. apply (tree_first rounds ls HR).
  - intros a b Hab. apply in_flat_map in Hab. destruct Hab as [l [Hl Hab]]. destruct (HR l Hl) as [H0 H1].
    specialize (HL l Hl).
    unfold level in Hab. apply in_map_iff in Hab. destruct Hab as [j [E Hj]]. injection E as <- <-.
    apply one_to_in in Hj.
    pose proof (Z.pow_pos_nonneg 2 l ltac:(lia) H0) as HP.
    assert (j * 2 ^ l <= rounds) by (pose proof (Z.mul_div_le rounds (2 ^ l) HP); nia).
    assert (2 ^ l <= 2 ^ (levels - 1)) by (apply Z.pow_le_mono_r; lia). nia.
Qed.
