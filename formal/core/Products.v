(** Costs of one draw after another, of independent draws side by side, and of what is made of them. *)
Require Import Reals Lra Psatz List.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Definitions.
From DP.core Require Import Powers Costs.
Import ListNotations.
Open Scope R_scope.

Lemma pure_bind {A B} a b (P Q : law A) (k l : A -> law B) :
  pure_cost a P Q -> (forall x, pure_cost b (k x) (l x)) -> pure_cost (a + b) (bind P k) (bind Q l).
Proof.
  intros H1 H2 f Hf. simpl. rewrite exp_plus, (Rmult_comm (exp a)), Rmult_assoc.
  apply Rle_trans with (exp b * P (fun x => l x f)).
  - apply E_le_scale; auto; [left; apply exp_pos|]. intros x. apply H2; auto.
  - apply Rmult_le_compat_l; [left; apply exp_pos|]. apply H1; auto.
Qed.

Lemma renyi_bind {A B} theta a b (P Q : law A) (k l : A -> law B) : 1 < theta ->
  renyi_cost theta a P Q -> (forall x, renyi_cost theta b (k x) (l x)) -> renyi_cost theta (a + b) (bind P k) (bind Q l).
Proof.
  intros Ht H1 H2 f Hf. simpl. pose proof (one_minus_inv theta Ht) as Hi.
  assert (Hft : test (fun x => power (f x) theta)) by (apply power_test; auto; lra).
  set (g := fun x => power (l x (fun y => power (f y) theta)) (1 / theta)).
  assert (Hg : test g) by (intros x; apply power_range; [lra|]; apply E_test; auto).
  apply Rle_trans with (exp (b / theta) * P g).
  - apply E_le_scale; auto; [left; apply exp_pos|]. intros x. apply H2; auto.
  - replace ((a + b) / theta) with (b / theta + a / theta) by (field; lra). rewrite exp_plus, Rmult_assoc.
    apply Rmult_le_compat_l; [left; apply exp_pos|]. apply Rle_trans with (1 := H1 g Hg). right. do 2 f_equal.
    apply E_ext. intros x. unfold g. apply power_inv'; [|lra]. apply E_test; auto.
Qed.

Lemma zcdp_bind {A B} a b (P Q : law A) (k l : A -> law B) :
  zcdp_cost a P Q -> (forall x, zcdp_cost b (k x) (l x)) -> zcdp_cost (a + b) (bind P k) (bind Q l).
Proof.
  intros H1 H2 theta Ht. rewrite Rmult_plus_distr_l. apply renyi_bind; auto. intros x. apply H2; auto.
Qed.

Lemma gdp_post {A B} a (P Q : law A) (k : A -> law B) : gdp_cost a P Q -> gdp_cost a (bind P k) (bind Q k).
Proof. intros HG f z Hf Hz. simpl in *. apply (HG (fun x => k x f)); auto. Qed.

Section Products.
  Variable cost : forall A : Type, R -> law A -> law A -> Prop.
  Hypothesis after : forall A B a b (P Q : law A) (k l : A -> law B),
    cost A a P Q -> (forall x, cost B b (k x) (l x)) -> cost B (a + b) (bind P k) (bind Q l).
  Hypothesis nothing : forall A (P : law A), cost A 0 P P.

  Lemma post_cost {A B} a (P Q : law A) (k : A -> law B) : cost A a P Q -> cost B a (bind P k) (bind Q k).
  Proof. intros HC. rewrite <- (Rplus_0_r a). apply after; auto. Qed.

  Lemma each_cost {T A} (F G : T -> law A) (c : T -> R) l :
    (forall t, In t l -> cost A (c t) (F t) (G t)) -> cost (list A) (total c l) (each (map F l)) (each (map G l)).
  Proof.
    induction l as [|t l IH]; intros HC; cbn [map each total]; auto.
    apply after; [apply HC; left; auto|]. intros x. apply post_cost. apply IH. intros; apply HC; right; auto.
  Qed.
End Products.

Lemma pure_nothing A (P : law A) : pure_cost 0 P P.
Proof. apply pure_free, same_refl. Qed.
Lemma zcdp_nothing A (P : law A) : zcdp_cost 0 P P.
Proof. apply zcdp_free, same_refl. Qed.

Lemma pure_each {T A} (F G : T -> law A) c l : (forall t, In t l -> pure_cost (c t) (F t) (G t)) ->
  pure_cost (total c l) (each (map F l)) (each (map G l)).
Proof. apply (each_cost (@pure_cost)); [intros; apply pure_bind; auto | apply pure_nothing]. Qed.

Lemma zcdp_each {T A} (F G : T -> law A) c l : (forall t, In t l -> zcdp_cost (c t) (F t) (G t)) ->
  zcdp_cost (total c l) (each (map F l)) (each (map G l)).
Proof. apply (each_cost (@zcdp_cost)); [intros; apply zcdp_bind; auto | apply zcdp_nothing]. Qed.

Lemma pure_post {A B} a (P Q : law A) (k : A -> law B) : pure_cost a P Q -> pure_cost a (bind P k) (bind Q k).
Proof. apply (post_cost (@pure_cost)); [intros; apply pure_bind; auto | apply pure_nothing]. Qed.

Lemma zcdp_post {A B} a (P Q : law A) (k : A -> law B) : zcdp_cost a P Q -> zcdp_cost a (bind P k) (bind Q k).
Proof. apply (post_cost (@zcdp_cost)); [intros; apply zcdp_bind; auto | apply zcdp_nothing]. Qed.
