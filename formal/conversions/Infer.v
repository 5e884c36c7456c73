(** Statements restated: in another measure, at a point, for several units, after a rare departure. *)
Require Import QArith ZArith String List Bool.
From DP Require Import Facts Steps.
From DP.decide Require Import Decide.
From DP.conversions Require Import Lattices.
Import ListNotations.

(* ---------------------------------------------------------------- δ at ε *)

(** P(N > ε/μ − μ/2) − e^ε P(N > ε/μ + μ/2) *)
Definition gdp_delta (mu_squared epsilon : Q) : expr :=
  let mu := Root (Num mu_squared) in
  let centre := Over (Num epsilon) mu in
  let half := Over mu (Num 2) in
  Minus (Tail (Minus centre half)) (Times (Exp (Num epsilon)) (Tail (Plus centre half))).

(** (e^b − e^ε)/(1 + e^b), for ε below b. *)
Definition pure_delta (bound epsilon : Q) : expr :=
  Over (Minus (Exp (Num bound)) (Exp (Num epsilon))) (Plus (Num 1) (Exp (Num bound))).

(** (e^((η−ε)/2) − 1)²/(e^(η−ε) − e^(−ε)), for ε below η. *)
Definition range_delta (eta epsilon : Q) : expr :=
  let rise := Minus (Exp (Num (over (minus eta epsilon) 2))) (Num 1) in
  Over (Times rise rise) (Minus (Exp (Num (minus eta epsilon))) (Exp (Num (minus 0 epsilon)))).

Definition near_delta (mu_squared distance epsilon : Q) : expr :=
  let more := Times (Num distance) (Plus (Num 1) (Exp (Num epsilon))) in
  if Qeq_bool mu_squared 0 then more else Plus (gdp_delta mu_squared epsilon) more.

(** (α−1)(D−ε) + (α−1) ln(1−1/α) − ln α − ln δ, at most 0 where order α proves (ε, δ). *)
Definition renyi_excess (order divergence epsilon delta : Q) : expr :=
  let less := minus order 1 in
  Minus (Minus (Plus (Num (times less (minus divergence epsilon))) (Times (Num less) (Ln (Num (minus 1 (over 1 order))))))
               (Ln (Num order)))
        (Ln (Num delta)).

Definition of_order (order divergence epsilon delta : Q) : bool :=
  below 1 order && below 0 delta && at_most (renyi_excess order divergence epsilon delta) 0.

Definition implies (law : curve) (epsilon delta : Q) (order : option Q) : bool :=
  let plain := is_none order in
  match law with
  | Pure bound => plain && (Qle_bool bound epsilon || at_most (pure_delta bound epsilon) delta)
  | Approximate bound spent => plain && Qle_bool bound epsilon && Qle_bool spent delta
  | BoundedRange eta => plain && (Qle_bool eta epsilon || at_most (range_delta eta epsilon) delta)
  | Gdp square => plain && (Qeq_bool square 0 || at_most (gdp_delta square epsilon) delta)
  | NearGdp square distance => plain && at_most (near_delta square distance epsilon) delta
  | Lattice variance shifts count => plain && forallb (fun shift => lattice_at_most variance shift count epsilon delta) shifts
  | Zcdp rho =>
      if Qeq_bool rho 0 then plain
      else match order with Some a => of_order a (times a rho) epsilon delta | None => false end
  | Renyi points =>
      match order with
      | Some a => match filter (fun p => q_eqb (fst p) a) points with
                  | [(_, bound)] => of_order a bound epsilon delta
                  | _ => false
                  end
      | None => false
      end
  end.

Definition with_law (part : fact) (law : curve) : option fact :=
  match part with Private s _ rel o reads => Some (Private s law rel o reads) | _ => None end.

Definition law_in (part : fact) : option curve := match part with Private _ law _ _ _ => Some law | _ => None end.

Definition to_approximate (epsilon delta : Q) (order : option Q) (part : fact) : option fact :=
  let! law := law_in part in
  check Qle_bool 0 epsilon && Qle_bool 0 delta && Qle_bool delta 1 && implies law epsilon delta order;
  with_law part (Approximate epsilon delta).

Definition longest_shift (shifts : list (list Z)) : Z := longest shifts.

Definition to_zcdp (part : fact) : option fact :=
  let! law := law_in part in
  let! rho := match law with
    | Pure e => Some (over (times e e) (of_Z 2))
    | Gdp m => Some (over m (of_Z 2))
    | BoundedRange e => Some (over (times e e) (of_Z 8))
    | Lattice variance shifts count =>
        check match shifts with [] => false | _ => true end;
        Some (over (over (times (of_Z count) (of_Z (longest shifts))) variance) (of_Z 2))
    | _ => None
    end in
  with_law part (Zcdp rho).

Definition to_pure (part : fact) : option fact :=
  match law_in part with Some (BoundedRange eta) => with_law part (Pure eta) | _ => None end.

Definition to_gdp (square : Q) (part : fact) : option fact :=
  let! law := law_in part in
  let! epsilon := match law with Pure e => Some e | BoundedRange eta => Some (over eta (of_Z 2)) | _ => None end in
  let excess := Times (Tail (Over (Root (Num square)) (Num 2))) (Plus (Num 1) (Exp (Num epsilon))) in
  check Qle_bool 0 square && (Qeq_bool epsilon 0 || at_most excess 1);
  with_law part (Gdp square).

Definition to_near_gdp (part : fact) : option fact :=
  match law_in part with Some (Gdp square) => with_law part (NearGdp square 0) | _ => None end.

Fixpoint rising (before : Q) (l : list Q) : bool :=
  match l with [] => true | a :: rest => below before a && rising a rest end.

Definition to_renyi (orders : list Q) (part : fact) : option fact :=
  match law_in part with
  | Some (Zcdp rho) =>
      check match orders with [] => false | _ => true end && rising 1 orders;
      with_law part (Renyi (map (fun a => (a, times a rho)) orders))
  | _ => None
  end.

(* ---------------------------------------------------------------- departures and groups *)

Definition despite (delta : Q) (part rare : fact) : option fact :=
  match part, rare with
  | Private s (Approximate epsilon spent) rel o _, Rare q how chance =>
      check String.eqb q s && Qle_bool delta 1
            && match how with
               | Event => Qle_bool (plus spent chance) delta
               | Distance => at_most (Plus (Num spent) (Times (Num chance) (Plus (Num 1) (Exp (Num epsilon))))) delta
               end;
      Some (Private s (Approximate epsilon delta) rel o (Some anyone))
  | _, _ => None
  end.

Definition grown (law : curve) (size : Z) (delta : option Q) : option curve :=
  let k := of_Z size in
  match law, delta with
  | Pure e, None => Some (Pure (times k e))
  | Gdp m, None => Some (Gdp (times (times k k) m))
  | Zcdp r, None => Some (Zcdp (times (times k k) r))
  | NearGdp m d, None => Some (NearGdp (times (times k k) m) (times k d))
  | Approximate e d, Some wanted =>
      check at_most (Times (Num d) (Geometric (Exp (Num e)) (Z.to_pos size))) wanted;
      Some (Approximate (times k e) wanted)
  | _, _ => None
  end.

Definition group (size : Z) (delta : option Q) (part : fact) : option fact :=
  match part with
  | Private s law rel o reads =>
      check (2 <=? size)%Z;
      let! more := grown law size delta in
      Some (Private s more (Groups rel size) o reads)
  | _ => None
  end.

Definition moves_by (part : fact) (wanted : relation) : option fact :=
  match part with Private s law _ o reads => Some (Private s law wanted o reads) | _ => None end.

Definition within (radius : Q) (part : fact) : option fact :=
  match part with
  | Private _ _ (BoundedRow step) _ _ => check below 0 radius && Qle_bool radius step; moves_by part (BoundedRow radius)
  | Private _ _ (Groups (BoundedRow step) size) _ _ =>
      check (1 <=? size)%Z && below 0 radius && Qle_bool radius (times step (of_Z size)); moves_by part (BoundedRow radius)
  | _ => None
  end.

Definition persons (part bounding : fact) : option fact :=
  match part, bounding with
  | Private s _ (Groups rows' size) Central None, Persons q rel rows most =>
      check relation_eqb rows' rows && (size =? most)%Z && String.eqb s q; moves_by part rel
  | _, _ => None
  end.

Definition replace_one (part : fact) : option fact :=
  match part with
  | Private _ _ (Groups AddRemove 2) _ _ => moves_by part ReplaceOne
  | _ => None
  end.

Definition conversion (s : step) (found : list fact) : option fact :=
  match s, found with
  | ByToApproximate epsilon delta order, [part] => to_approximate epsilon delta order part
  | ByToZcdp, [part] => to_zcdp part
  | ByToPure, [part] => to_pure part
  | ByToGdp square, [part] => to_gdp square part
  | ByToNearGdp, [part] => to_near_gdp part
  | ByToRenyi orders, [part] => to_renyi orders part
  | ByDespite delta, [part; rare] => despite delta part rare
  | ByGroup size delta, [part] => group size delta part
  | ByWithin radius, [part] => within radius part
  | ByPersons, [part; bounding] => persons part bounding
  | ByReplaceOne, [part] => replace_one part
  | _, _ => None
  end.
