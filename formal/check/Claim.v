(** The claim of a certificate as JSON: who sees what, which tables are neighbours, and at most which (ε, δ). *)
Require Import QArith ZArith String List Bool Ascii.
From DP Require Import Facts Steps.
From DP.check Require Import Json.
Import ListNotations.
Open Scope string_scope.

(* ---------------------------------------------------------------- exact numbers *)

Fixpoint leading_digits (s : string) : string * string :=
  match s with
  | EmptyString => (EmptyString, EmptyString)
  | String c rest =>
      if is_none (digit c) then (EmptyString, s) else let (a, b) := leading_digits rest in (String c a, b)
  end.

(** Whether a sign is minus, and what follows it. *)
Definition signed (s : string) : bool * string :=
  match s with
  | String "+" rest => (false, rest)
  | String "-" rest => (true, rest)
  | _ => (false, s)
  end.

Definition power_of_ten (n : Z) : Q := if (0 <=? n)%Z then (10 ^ n) # 1 else 1 # Z.to_pos (10 ^ (- n)).

(** A decimal: a whole part without zeros in front, or a fraction, or both; and a power of ten of at most four digits. *)
Definition decimal (s : string) : option Q :=
  check (String.length s <=? 1000)%nat;
  let (negative, body) := signed s in
  let (front, rest) := leading_digits body in
  let (behind, rest) := match rest with String "." more => leading_digits more | _ => (EmptyString, rest) end in
  check negb (is_none (natural_of front)) || ((front =? "") && negb (behind =? ""));
  let! power := match rest with
    | EmptyString => Some 0%Z
    | String c more =>
        check Ascii.eqb c "e" || Ascii.eqb c "E";
        let (down, exponent) := signed more in
        check negb (exponent =? "") && (String.length exponent <=? 4)%nat;
        let! n := digits exponent 0 in
        Some (if down : bool then (- n)%Z else n)
    end in
  let! n := digits (front ++ behind) 0 in
  Some (Qred (((if negative : bool then - n else n)%Z # 1)
              * power_of_ten (power - Z.of_nat (String.length behind)))).

(** A JSON number as the decimal that is written, or a text: a decimal, or p/q in lowest terms. *)
Definition exact (j : json) : option Q :=
  match j with
  | Int z => Some (z # 1)
  | Float s => decimal s
  | Text s => match split_at_slash s with (_, Some _) => number_of s | (_, None) => decimal s end
  | _ => None
  end.

(* ---------------------------------------------------------------- claims *)

(** Whoever sees what [audience] sees of the releases of [about] learns at most ([epsilon], [delta]) of one unit, which
    changes as [neighbouring] says: a row; or a person with at most [most_rows] rows, where that is more than one. *)
Record claim := Claim {
  about : string;
  claimed_epsilon : Q;
  claimed_delta : Q;
  claimed_relation : relation;
  claimed_observer : observer;
  most_rows : Z
}.

Definition table_in (name : string) (given : list (string * json)) : option (list (string * json)) :=
  match member name given with Some (Object l) => Some l | None => Some [] | _ => None end.

(** The guarantee is stated twice: of the certificate, where delta is never left out, and of the claim. *)
Definition same_promise (stated asked : list (string * json)) : bool :=
  forallb (fun nv => match member (fst nv) stated with Some v => json_eqb v (snd nv) | None => false end) asked
  && forallb (fun nv => match member (fst nv) asked with
       | Some _ => true
       | None => (fst nv =? "delta") && json_eqb (snd nv) (Int 0)
       end) stated.

Definition relation_in (promise : list (string * json)) : option relation :=
  let! word := member "relation" promise in
  match member "radius" promise with
  | None => simple word
  | Some j =>
      check json_eqb word (Text "bounded-row");
      let! radius := exact j in
      check below 0 radius;
      Some (BoundedRow radius)
  end.

(** A person has one row that counts, unless the table says how many. *)
Definition most_rows_in (data : list (string * json)) : option Z :=
  match member "max_rows" data with
  | None => Some 1%Z
  | Some j => let! q := exact j in check (Pos.eqb (Qden q) 1) && (1 <=? Qnum q)%Z; Some (Qnum q)
  end.

(** What a subject is called: of MODULE:CLASS, the last part of the module's name, with - for _. *)
Fixpoint last_part (s : string) : bool * string :=
  match s with
  | EmptyString => (false, EmptyString)
  | String c rest =>
      if Ascii.eqb c ":" then (false, EmptyString)
      else let (found, part) := last_part rest in
           if found then (true, part)
           else if Ascii.eqb c "." then (true, part)
           else (false, String (if Ascii.eqb c "_" then "-" else c)%char part)
  end.

Fixpoint holds_colon (s : string) : bool :=
  match s with EmptyString => false | String c rest => Ascii.eqb c ":" || holds_colon rest end.

Definition subject_named (use : string) : string := if holds_colon use then snd (last_part use) else use.

Definition is_text (s : string) (j : option json) : bool := match j with Some (Text t) => String.eqb s t | _ => false end.

(** A row moves in what is read of it no further than in the file: every column counts once, and is a number there. *)
Definition measured (asked data : list (string * json)) : bool :=
  match table_in "parameters" asked, table_in "columns" data with
  | Some parameters, Some columns =>
      match member "columns" parameters, columns with
      | Some (Array read), _ :: _ =>
          match all_some text read with
          | Some names => forallb (fun name =>
              (length (filter (String.eqb name) names) =? 1)%nat && negb (is_text name (member "id" data))
              && match member name columns with
                 | Some (Object column) => is_text "number" (member "type" column)
                 | _ => false
                 end) names
          | None => false
          end
      | _, _ => true
      end
  | _, _ => false
  end.

(** The claim of a certificate, or what is wrong with it. *)
Definition claim_in (document : list (string * json)) : claim + string :=
  match member "claim" document, member "subject" document, member "guarantee" document with
  | Some (Object asked), Some (Object held), Some (Object promise) =>
    match member "guarantee" asked, member "subject" asked, table_in "data" asked with
    | Some (Object asked_promise), Some (Object asked_subject), Some data =>
      if negb (same_promise promise asked_promise) then inr "guarantee differs from the claim's" else
      if negb (has_members promise ["model"; "unit"; "relation"; "epsilon"; "delta"] ["radius"])
      then inr "the guarantee says more than is read of it" else
      match member "use" asked_subject, member "name" held with
      | Some (Text use), Some (Text name) =>
        if negb (is_text use (member "use" held) && (name =? subject_named use)) then inr "the subject is not the claim's" else
        match (let! e := member "epsilon" promise in exact e), (let! d := member "delta" promise in exact d),
              relation_in promise, (let! o := member "model" promise in observer_of o), most_rows_in data with
        | Some e, Some d, Some rel, Some o, Some most =>
            if match rel with BoundedRow _ => measured asked_subject data | _ => true end
            then inl (Claim name e d rel o most) else inr "a row moves further in what is read than in the file"
        | Some _, Some _, Some _, Some _, None => inr "max_rows should be a whole number"
        | _, _, _, _, _ => inr "the guarantee cannot be read"
        end
      | _, _ => inr "the subject cannot be read"
      end
    | _, _, _ => inr "the claim cannot be read"
    end
  | _, _, _ => inr "the certificate lacks its claim, subject or guarantee"
  end.
