(** Whether the claim of a certificate follows from its derivation.

    What this decides is proved in core/Certificates.v: if it accepts, then whatever program meets the hypotheses,
    the reader of the claim sees at most (ε, δ) of one unit.  Nothing is proved of the rest of a certificate: SHA-256
    digests, dates and signatures say where it came from, evidence and attacks try its hypotheses, releases and ledgers
    are accounts of what was done; none of them decides what follows from the derivation.  The reader of JSON
    (driver.ml) is not proved either. *)
Require Import QArith ZArith String List Bool.
From DP Require Import Facts Steps.
From DP.check Require Import Follow Json Claim.
Import ListNotations.
Open Scope string_scope.

Notation "'ensure' b 'or' why ; e" := (if b then e else inr why)
  (at level 200, b at level 100, why at level 0, e at level 200, right associativity).

(** A step as it is written; its digest decides nothing here. *)
Definition entry_in (step : json) : option entry :=
  match step with
  | Object given =>
    match member "rule" given, member "with" given, member "from" given, member "gives" given, member "digest" given with
    | Some (Text rule), Some (Object witness), Some from, Some gives, Some (Text _) =>
        check (length given =? 5)%nat;
        let! before := list_of any_integer from in Some (Entry rule witness before gives)
    | _, _, _, _, _ => None
    end
  | _ => None
  end.

(** A derivation that was followed: its steps, and their lines, the last one first. *)
Record derivation := Derivation { steps_of : list (step * list Z); final : line; earlier_lines : list line }.

(** How many steps of rows are between neighbouring tables of persons: what goes, and what comes in its place. *)
Definition steps_of_rows (most : Z) (rel rows : relation) : Z := if relation_eqb rel rows then most else (2 * most)%Z.

Definition persons_of_claim (c : claim) (s : step) : bool :=
  match s with AssumePersons _ rel rows most => (most =? steps_of_rows (most_rows c) rel rows)%Z | _ => true end.

(** A point of [given], proved by its derivation for these neighbours, as the claim's observer sees its subject; and
    the derivation. *)
Definition point_of (c : claim) (rel : relation) (given : list (string * json)) : (Q * Q * derivation) + string :=
  match member "derivation" given, member "epsilon" given, member "delta" given with
  | Some (Array written), Some (Object ends), Some delta =>
    match all_some entry_in written, (let! u := member "upper" ends in exact u), exact delta with
    | Some entries, Some upper, Some delta =>
      match check_document entries with
      | inr k => inr ("step " ++ print_Z k ++ " does not follow")
      | inl (_, []) => inr "there is no derivation"
      | inl (steps, l :: lines) =>
        match says l with
        | Private subject (Approximate e d) rel' o _ =>
          ensure (subject =? about c) or "the derivation is about another subject";
          ensure (existsb (String.eqb subject) (views l)) or "the derivation is not of what the subject shows";
          ensure (relation_eqb rel' rel) or "the derivation is for other neighbours";
          ensure (observer_eqb o (claimed_observer c)) or "the derivation is for another model";
          ensure (Qle_bool e upper && Qle_bool d delta) or "more is stated as proved than the derivation proves";
          ensure (forallb (fun s => persons_of_claim c (fst s)) steps)
            or "a person's change is other steps of rows than are proved";
          ensure ((most_rows c =? 1)%Z || of_persons l) or "several rows of a person count, and rows are proved";
          inl (upper, delta, Derivation steps l lines)
        | _ => inr "the last step does not give (epsilon, delta)"
        end
      end
    | _, _, _ => inr "what is proved cannot be read"
    end
  | _, Some Null, _ => inr "there is no derivation"
  | _, _, _ => inr "what is proved cannot be read"
  end.

(** What was accepted: the claim with its proof; and, of rows that move by a radius, what is proved of a row that is
    replaced, of the same releases. *)
Record accepted := Accepted {
  of_claim : claim;
  by_proof : derivation;
  if_replaced : option (Q * Q * derivation)
}.

Definition check_certificate (document : json) : accepted + string :=
  match document with
  | Object members =>
    match claim_in members, member "proved" members with
    | inl c, Some (Object proved) =>
      match point_of c (claimed_relation c) proved with
      | inl (upper, delta, found) =>
        ensure (Qle_bool upper (claimed_epsilon c)) or "the proved epsilon exceeds the claim's";
        ensure (Qle_bool delta (claimed_delta c)) or "the proved delta exceeds the claim's";
        match member "replace_one" proved with
        | None | Some Null => inl (Accepted c found None)
        | Some (Object other) =>
          match point_of c ReplaceOne other with
          | inl (upper, delta, second) =>
              ensure (draws_eqb (drawn (final found)) (drawn (final second))) or "the second proof is of other releases";
              inl (Accepted c found (Some (upper, delta, second)))
          | inr why => inr ("of a replaced row: " ++ why)
          end
        | Some _ => inr "what is proved of a replaced row cannot be read"
        end
      | inr why => inr why
      end
    | inr why, _ => inr why
    | _, _ => inr "the certificate says nothing of a proof"
    end
  | _ => inr "no table"
  end.
