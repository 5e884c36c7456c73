(** Certificates of accounts as JSON: which plan, and which (ε, δ), they are about.

    Events are read as dpaccount/checker/accounting/events.py reads them.  What is not a plan of these kinds has no
    theorem: `account_of` gives nothing. *)
Require Import QArith ZArith String List Bool.
From DP Require Import Facts Steps.
From DP.check Require Import Json Claim.
From DP.account Require Import Kinds Plan Check.
Import ListNotations.
Open Scope string_scope.

Definition table := list (string * json).

(* ---------------------------------------------------------------- numbers *)

(** An exact number that is not negative; p/q need not be in lowest terms. *)
Definition amount (j : json) : option Q :=
  let! q := match j with
    | Text s =>
      match split_at_slash s with
      | (top, Some bottom) =>
          check (String.length s <=? 400)%nat;
          let! n := digits top 0 in
          let! d := digits bottom 0 in
          check negb (top =? "") && negb (bottom =? "") && (0 <? d)%Z;
          Some (Qred (n # Z.to_pos d))
      | (_, None) => exact j
      end
    | _ => exact j
    end in
  check (0 <=? Qnum q)%Z; Some q.

Definition amount_in (name : string) (given : table) : option Q := let! j := member name given in amount j.
Definition amount_or (default : Q) (name : string) (given : table) : option Q :=
  match member name given with Some j => amount j | None => Some default end.
Definition above_0 (q : Q) : option Q := check positive_rational q; Some q.
Definition whole_amount (q : Q) : option Z := match Qred q with n # 1 => Some n | _ => None end.

Definition count_in (given : table) : option N :=
  match member "count" given with Some j => let! z := whole 1 j in Some (Z.to_N z) | None => Some 1%N end.

(* ---------------------------------------------------------------- events *)

(** The scale of noise, and how far neighbours move the value. *)
Definition noise (scale : string) (given : table) : option (Q * Q) :=
  let! s := amount_in scale given in
  let! s := above_0 s in
  let! moved := amount_or 1 "sensitivity" given in
  Some (s, moved).

(** One release, not on a sample; [others]: members that any event may have. *)
Definition plain (rel : relation) (name : string) (given : table) (others : list string) : option Kinds.kind :=
  let has needed optional := has_members given ("event" :: needed) (optional ++ others)%list in
  if name =? "gaussian" then
    check has ["sigma"] ["sensitivity"];
    let! (sigma, moved) := noise "sigma" given in
    let! mu := above_0 (moved / sigma) in Some (NormalNoise (Qred (mu * mu)))
  else if name =? "gdp" then
    check has ["mu"] [];
    let! mu := amount_in "mu" given in
    let! mu := above_0 mu in Some (NormalNoise (Qred (mu * mu)))
  else if name =? "laplace" then
    check has ["scale"] ["sensitivity"];
    let! (scale, moved) := noise "scale" given in Some (LaplaceNoise (Qred (moved / scale)))
  else if name =? "discrete_laplace" then
    check has ["scale"] ["sensitivity"];
    let! (scale, moved) := noise "scale" given in
    let! shift := whole_amount moved in Some (GeometricNoise (Qred scale) shift)
  else if name =? "discrete_gaussian" then
    check has ["sigma"] ["sensitivity"; "dimension"];
    check match member "dimension" given with None | Some (Int 1) => true | _ => false end;
    let! (sigma, moved) := noise "sigma" given in
    let! shift := whole_amount moved in Some (DiscreteNormalNoise (Qred (sigma * sigma)) shift)
  else if name =? "randomized_response" then
    check has ["epsilon"] ["k"] && relation_eqb rel ReplaceOne;
    let! answers := match member "k" given with Some j => whole 2 j | None => Some 2%Z end in
    let! epsilon := amount_in "epsilon" given in Some (Answers epsilon answers)
  else if name =? "pure" then
    check has ["epsilon"] [];
    let! epsilon := amount_in "epsilon" given in Some (Response epsilon)
  else if name =? "approximate" then
    check has ["epsilon"; "delta"] [];
    let! epsilon := amount_in "epsilon" given in
    let! delta := amount_in "delta" given in
    check Qle_bool delta 1; Some (Failing epsilon delta)
  else None.

(** Releases that are made together as one: Gaussian ones, or a single one. *)
Fixpoint together (l : list (Kinds.kind * N)) : option Q :=
  match l with
  | [] => Some 0%Q
  | (NormalNoise m, n) :: rest => let! all := together rest in Some (Qred ((Z.of_N n # 1) * m + all))
  | _ => None
  end.

Definition as_one (l : list (Kinds.kind * N)) : option Kinds.kind :=
  match l with
  | [(k, 1%N)] => Some k
  | _ => let! m := together l in let! m := above_0 m in Some (NormalNoise m)
  end.

(** What an event releases, and how often; [depth]: of events in events. *)
Fixpoint released (depth : nat) (rel : relation) (others : list string) (given : table) : option (list (Kinds.kind * N)) :=
  match depth with
  | O => None
  | S less =>
    let inside j := match j with Object l => released less rel ["count"] l | _ => None end in
    let! name := (let! j := member "event" given in text j) in
    let! times := count_in given in
    let all_times l := map (fun kn => (fst kn, (snd kn * times)%N)) l in
    if name =? "sequence" then
      check has_members given ["event"; "of"] others;
      let! parts := (let! j := member "of" given in list_of inside j) in
      Some (all_times (concat parts))
    else if name =? "poisson_subsampled" then
      check has_members given ["event"; "rate"; "of"] others && relation_eqb rel AddRemove;
      let! rate := (let! q := amount_in "rate" given in above_0 q) in
      check Qle_bool rate 1;
      let! inner := (let! j := member "of" given in inside j) in
      if Qeq_bool rate 1 then Some (all_times inner)
      else let! k := as_one inner in Some [(Sampled (Qred rate) k, times)]
    else let! k := plain rel name given others in Some [(k, times)]
  end.

Definition cover_in (given : table) : option (option (Z * Z)) :=
  match member "cover" given with
  | None => Some None
  | Some (Array [a; b]) => let! a := unit a in let! b := unit b in check (a <=? b)%Z; Some (Some (a, b))
  | Some _ => None
  end.

Definition events_in (rel : relation) (j : json) : option (list event) :=
  match j with
  | Object given =>
    let! cover := cover_in given in
    let! l := released 8 rel ["count"; "cover"] given in
    Some (map (fun kn => Plan.Event (fst kn) (snd kn) cover) l)
  | _ => None
  end.

Definition plan_of (j : json) : option plan :=
  match j with
  | Object given =>
    check has_members given ["schema"; "relation"; "events"] [];
    check match member "schema" given with Some (Text s) => s =? "dpaccount/events/1" | _ => false end;
    let! rel := (let! j := member "relation" given in simple j) in
    let! l := (let! j := member "events" given in list_of (events_in rel) j) in
    Some (Plan rel (concat l))
  | _ => None
  end.

(* ---------------------------------------------------------------- certificates *)

(** The plan, ε and δ: one of them is asked about, and the other confirmed. *)
Definition account_of (j : json) : option (plan * Q * Q) :=
  match j with
  | Object given =>
    match member "schema" given, member "plan" given, member "question" given, member "confirmed" given with
    | Some (Text schema), Some plan, Some (Object question), Some (Object confirmed) =>
      check (schema =? "dpaccount/account-certificate/1");
      check has_members given ["schema"; "plan"; "question"; "confirmed"] ["tight"; "derivation"; "digest"];
      check has_members question [] ["epsilon"; "delta"; "group"];
      check match member "group" question with None | Some (Int 1) => true | _ => false end;
      check has_members confirmed ["upper"] [];
      let! p := plan_of plan in
      let! upper := amount_in "upper" confirmed in
      match member "epsilon" question, member "delta" question with
      | Some at_epsilon, None => let! epsilon := amount at_epsilon in check Qle_bool upper 1; Some (p, epsilon, upper)
      | None, Some at_delta => let! delta := amount at_delta in check Qle_bool delta 1; Some (p, upper, delta)
      | _, _ => None
      end
    | _, _, _, _ => None
    end
  | _ => None
  end.
