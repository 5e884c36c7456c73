(** What an adversary achieves against several releases of discrete Gaussian noise with one shift.

    After a release of shift s is reached, all later ones have the same shift: p ≤ λq + V_n(λ) for every λ, n being
      how
    many may still come ([after]).  Before, the bound at λ = e^ε is passed on by linearity ([before]). *)
Require Import Reals ZArith Lra Lia Psatz List Bool Permutation.
From DP.base Require Import Laws Sums.
From DP Require Import Definitions.
From DP.core Require Import Chance Costs.
From DP.conversions Require Import Shifted Measures.
Import ListNotations.
Open Scope R_scope.

Definition moving (u : list Z) : list Z := filter (fun z => negb (z =? 0)%Z) (map Z.abs u).

Lemma half_sq l : half l = total sq l / 2.
Proof. unfold half. rewrite (total_ext _ (fun a => / 2 * sq a)) by (intros; unfold sq; lra). rewrite total_scale.
  lra. Qed.

Lemma half_shape v u : shape v u -> half v = half (moving u).
Proof. intros HS. rewrite !half_sq. unfold moving. rewrite <- (total_permuted _ _ _ HS), total_shape. auto. Qed.

Section Repeats.
  Context {message : Type}.
  Local Notation H := (history message).
  Variables (s : R) (g : H -> bool) (k l : H -> law message) (S : H -> option (list Z)) (most : R).
  Hypothesis Hs : 0 < s.
  Hypothesis pairs : forall h, g h = true ->
    match S h with None => same (k h) (l h) | Some u => lattice_pair s u (k h) (l h) end.

  Let c (h : H) : R := match S h with Some _ => if g h then 1 else 0 | None => 0 end.
  Hypothesis counted : forall h, spent c h <= most.

  Lemma count_nonneg h : 0 <= c h.
  Proof. unfold c. destruct (S h); [destruct (g h)|]; lra. Qed.

  Lemma earlier_next (m : message) (h h' : H) : earlier (m :: h) h' -> earlier h h'.
  Proof. intros [b ->]. exists (b ++ [m]). rewrite <- app_assoc. reflexivity. Qed.

  Lemma after N u : discrete_normal s N -> forall h p q, chance g k l h p q ->
    (forall h' u', earlier h h' -> g h' = true -> S h' = Some u' -> u' = u) ->
    forall n, left_of most c h <= INR n -> forall lam, 0 < lam -> p <= lam * q + V s N (moving u) n lam.
  Proof.
    intros HN h p q HC.
    assert (HV : forall n lam, 0 <= V s N (moving u) n lam <= 1) by (intros n lam; apply (V_test s N)).
    induction HC as [h t Ht0 | h p q p' q' Hc IH Hp0 Hq0 | h p q p' q' t Ht0 Hc1 IH1 Hc2 IH2 | h m0 p q Hc IH | h P
      a b Ha Hb Hc IH | h a b Hasks Ha Hb Hc IH];
      intros HU n Hn lam Hl.
    - pose proof (V_low s N Hs HN (moving u) n lam Hl). specialize (HV n lam). nra.
    - specialize (IH HU n Hn lam Hl). nra.
    - specialize (IH1 HU n Hn lam Hl). specialize (IH2 HU n Hn lam Hl). nra.
    - apply IH; auto.
      + intros h' u' He. apply HU. eapply earlier_next; eauto.
      + rewrite left_next. pose proof (count_nonneg h). lra.
    - apply E_le_affine; auto; [lra | apply HV|]. intros m. apply (IH m); auto.
      + intros h' u' He. apply HU. eapply earlier_next; eauto.
      + rewrite left_next. pose proof (count_nonneg h). lra.
    - pose proof (pairs h Hasks) as HP. destruct (S h) as [u1|] eqn:ES.
      + assert (u1 = u) by (apply (HU h); auto; exists []; auto). subst u1.
        assert (Ec : c h = 1) by (unfold c; rewrite ES, Hasks; auto).
        pose proof (left_enough most c h counted) as HL. rewrite Ec in HL.
        destruct n as [|n]; [simpl in Hn; lra|]. rewrite S_INR in Hn.
        assert (HM : forall m lam', 0 < lam' -> a m <= lam' * b m + V s N (moving u) n lam').
        { intros m lam' Hl'. apply (IH m); auto.
          - intros h' u' He. apply HU. eapply earlier_next; eauto.
          - rewrite left_next, Ec. lra. }
        destruct HP as [v [M [post [HS [HMn [EP EQ]]]]]]. rewrite (EP a Ha), (EQ b Hb). simpl.
        pose proof (each_shifted s M Hs HMn (V s N (moving u) n) (V_test s N (moving u) n) v
          (fun x => post x a) (fun x => post x b) lam ltac:(auto) ltac:(auto) Hl) as E.
        rewrite V_next by auto.
        replace (dot N (moving u) (fun t => V s N (moving u) n (lam * exp (- ((IZR t + half (moving u)) / s)))))
          with (dot M v (fun t => V s N (moving u) n (lam * exp (- ((IZR t + half v) / s))))).
        * apply E. intros x lam' Hl'. apply E_le_affine; auto; [lra | apply HV].
        * rewrite (half_shape v u HS).
          rewrite (dot_shape s M HMn v u) by (auto; intros t; apply (V_test s N)). fold (moving u).
          apply dot_same; [apply (discrete_normal_same s); auto | intros t; apply (V_test s N)].
      + rewrite (HP a Ha). apply E_le_affine; auto; [lra | apply HV|]. intros m. apply (IH m); auto.
        * intros h' u' He. apply HU. eapply earlier_next; eauto.
        * rewrite left_next. pose proof (count_nonneg h). lra.
  Qed.

  (** The shift is known from the first release on; until then, any of them may come. *)
  Lemma before shifts n e d : most <= INR n -> 0 <= e -> 0 <= d <= 1 ->
    (forall h, g h = true -> match S h with Some u => In u shifts | None => True end) ->
    (forall h h' u u', g h = true -> g h' = true -> earlier h' h -> S h = Some u -> S h' = Some u' -> u = u') ->
    (forall u N, In u shifts -> discrete_normal s N -> V s N (moving u) n (exp e) <= d) ->
    forall h p q, chance g k l h p q -> p <= exp e * q + d.
  Proof.
    intros Hmost He Hd Hin Hone HV h p q HC. assert (H1 : 1 <= exp e) by (rewrite <- exp_0; apply exp_le; auto).
    induction HC as [h t Ht0 | h p q p' q' Hc IH Hp0 Hq0 | h p q p' q' t Ht0 Hc1 IH1 Hc2 IH2 | h m0 p q Hc IH | h P
      a b Ha Hb Hc IH | h a b Hasks Ha Hb Hc IH].
    - nra.
    - nra.
    - nra.
    - auto.
    - apply E_le_affine; auto; lra.
    - destruct (S h) as [u|] eqn:ES.
      + pose proof (Hin h Hasks) as Hu. rewrite ES in Hu.
        pose proof (pairs h Hasks) as HP. rewrite ES in HP. destruct HP as [_ [N [_ [_ [HN _]]]]].
        pose proof (after N u HN h (k h a) (l h b) (ask _ _ _ h a b Hasks Ha Hb Hc)) as A.
        specialize (HV u N Hu HN).
        assert (k h a <= exp e * l h b + V s N (moving u) n (exp e)); [|lra]. apply A.
        * intros h' u' Heh Hg' E'. symmetry. apply (Hone h' h u' u) in E'; auto.
        * pose proof (left_most most c h count_nonneg). lra.
        * apply exp_pos.
      + pose proof (pairs h Hasks) as HP. rewrite ES in HP. rewrite (HP a Ha). apply E_le_affine; auto; lra.
  Qed.
End Repeats.
