(* Reads derivations and prints a verdict on each: the part of the verified checker that is not verified.

   checker FILE                a derivation; exit 0: every step follows, 1: not, 2: no derivation
   checker --certificate FILE  a certificate; exit 0: its claim follows, 1: not, 2: no certificate
   checker --account FILE      an account; exit 0: the plan costs at most what is confirmed, 1: that was not shown,
                               2: no account, or no theorem about such events, so close a bound or so long a question
   checker --lines             one derivation a line on standard input; one verdict a line
   checker --certificates      one certificate a line

   A document is read as strictly as dpaccount/checker reads it, and digests are compared here. *)
open Checker

exception Unreadable of string

let fail why = raise (Unreadable why)

(* ---------------------------------------------------------------- SHA-256 *)

let round_constants = [|
  0x428a2f98; 0x71374491; 0xb5c0fbcf; 0xe9b5dba5; 0x3956c25b; 0x59f111f1; 0x923f82a4; 0xab1c5ed5;
  0xd807aa98; 0x12835b01; 0x243185be; 0x550c7dc3; 0x72be5d74; 0x80deb1fe; 0x9bdc06a7; 0xc19bf174;
  0xe49b69c1; 0xefbe4786; 0x0fc19dc6; 0x240ca1cc; 0x2de92c6f; 0x4a7484aa; 0x5cb0a9dc; 0x76f988da;
  0x983e5152; 0xa831c66d; 0xb00327c8; 0xbf597fc7; 0xc6e00bf3; 0xd5a79147; 0x06ca6351; 0x14292967;
  0x27b70a85; 0x2e1b2138; 0x4d2c6dfc; 0x53380d13; 0x650a7354; 0x766a0abb; 0x81c2c92e; 0x92722c85;
  0xa2bfe8a1; 0xa81a664b; 0xc24b8b70; 0xc76c51a3; 0xd192e819; 0xd6990624; 0xf40e3585; 0x106aa070;
  0x19a4c116; 0x1e376c08; 0x2748774c; 0x34b0bcb5; 0x391c0cb3; 0x4ed8aa4a; 0x5b9cca4f; 0x682e6ff3;
  0x748f82ee; 0x78a5636f; 0x84c87814; 0x8cc70208; 0x90befffa; 0xa4506ceb; 0xbef9a3f7; 0xc67178f2 |]

let mask = 0xffffffff
let rotate x n = ((x lsr n) lor (x lsl (32 - n))) land mask

let sha256 text =
  let length = String.length text in
  let padded = (length + 9 + 63) / 64 * 64 in
  let data = Bytes.make padded '\000' in
  Bytes.blit_string text 0 data 0 length;
  Bytes.set data length '\128';
  for i = 0 to 7 do
    Bytes.set data (padded - 1 - i) (Char.chr ((length * 8) lsr (8 * i) land 255))
  done;
  let h = [| 0x6a09e667; 0xbb67ae85; 0x3c6ef372; 0xa54ff53a; 0x510e527f; 0x9b05688c; 0x1f83d9ab; 0x5be0cd19 |] in
  let w = Array.make 64 0 in
  for block = 0 to (padded / 64) - 1 do
    for i = 0 to 15 do
      w.(i) <- Int32.to_int (Bytes.get_int32_be data ((block * 64) + (4 * i))) land mask
    done;
    for i = 16 to 63 do
      let s0 = rotate w.(i - 15) 7 lxor rotate w.(i - 15) 18 lxor (w.(i - 15) lsr 3) in
      let s1 = rotate w.(i - 2) 17 lxor rotate w.(i - 2) 19 lxor (w.(i - 2) lsr 10) in
      w.(i) <- (w.(i - 16) + s0 + w.(i - 7) + s1) land mask
    done;
    let v = Array.copy h in
    for i = 0 to 63 do
      let s1 = rotate v.(4) 6 lxor rotate v.(4) 11 lxor rotate v.(4) 25 in
      let choice = (v.(4) land v.(5)) lxor (lnot v.(4) land mask land v.(6)) in
      let t1 = (v.(7) + s1 + choice + round_constants.(i) + w.(i)) land mask in
      let s0 = rotate v.(0) 2 lxor rotate v.(0) 13 lxor rotate v.(0) 22 in
      let majority = (v.(0) land v.(1)) lxor (v.(0) land v.(2)) lxor (v.(1) land v.(2)) in
      let t2 = (s0 + majority) land mask in
      for j = 7 downto 1 do v.(j) <- v.(j - 1) done;
      v.(4) <- (v.(4) + t1) land mask;
      v.(0) <- (t1 + t2) land mask
    done;
    Array.iteri (fun i x -> h.(i) <- (h.(i) + x) land mask) v
  done;
  String.concat "" (Array.to_list (Array.map (Printf.sprintf "%08x") h))

(* ---------------------------------------------------------------- JSON *)

(* The shortest decimal that reads as this double, as Python writes it. *)
let shortest value =
  (* The nearest decimal of so many digits; above a power of two the doubles are twice as far apart as below, so
     that its neighbour may read as this double though it does not. *)
  let rec digits p =
    let s = Printf.sprintf "%.*e" (p - 1) (Float.abs value) in
    let at = String.index s 'e' in
    let written = List.filter (fun c -> c <> '.') (List.of_seq (String.to_seq (String.sub s 0 at))) in
    let mantissa = int_of_string (String.of_seq (List.to_seq written)) in
    let exponent = int_of_string (let e = String.sub s (at + 1) (String.length s - at - 1) in
      if e.[0] = '+' then String.sub e 1 (String.length e - 1) else e) - (p - 1) in
    let reads m = float_of_string (Printf.sprintf "%de%d" m exponent) = Float.abs value in
    match List.find_opt reads [ mantissa; mantissa + 1; mantissa - 1 ] with
    | Some m -> (string_of_int m, exponent)
    | None -> digits (p + 1) in
  let body, last = digits 1 in
  let negative = value < 0. in
  let exponent = last + String.length body - 1 in
  let body = let n = ref (String.length body) in
    while !n > 1 && body.[!n - 1] = '0' do decr n done; String.sub body 0 !n in
  let count = String.length body in
  let plain =
    if exponent < -4 || exponent >= 16 then
      (if count = 1 then body else String.sub body 0 1 ^ "." ^ String.sub body 1 (count - 1))
      ^ Printf.sprintf "e%s%02d" (if exponent < 0 then "-" else "+") (abs exponent)
    else if exponent < 0 then "0." ^ String.make (-exponent - 1) '0' ^ body
    else if count <= exponent + 1 then body ^ String.make (exponent + 1 - count) '0' ^ ".0"
    else String.sub body 0 (exponent + 1) ^ "." ^ String.sub body (exponent + 1) (count - exponent - 1) in
  if negative then "-" ^ plain else plain

let add_utf8 buffer code =
  Buffer.add_utf_8_uchar buffer (if Uchar.is_valid code then Uchar.of_int code else fail "an unpaired surrogate")

let valid_utf8 s =
  let n = String.length s in
  let byte i = if i < n then Char.code s.[i] else 0 in
  let next i low high = byte i >= low && byte i <= high in
  let tail i = next i 0x80 0xbf in
  let rec go i =
    i >= n
    || (let c = byte i in
        if c < 0x80 then go (i + 1)
        else if c < 0xc2 then false
        else if c < 0xe0 then tail (i + 1) && go (i + 2)
        else if c < 0xf0 then
          next (i + 1) (if c = 0xe0 then 0xa0 else 0x80) (if c = 0xed then 0x9f else 0xbf) && tail (i + 2) && go (i + 3)
        else c < 0xf5 && next (i + 1) (if c = 0xf0 then 0x90 else 0x80) (if c = 0xf4 then 0x8f else 0xbf)
             && tail (i + 2) && tail (i + 3) && go (i + 4)) in
  go 0

let parse text =
  let n = String.length text in
  let at = ref 0 in
  let peek () = if !at < n then text.[!at] else '\000' in
  let rec blank () = match peek () with ' ' | '\t' | '\n' | '\r' when !at < n -> incr at; blank () | _ -> () in
  let expect c = if !at < n && text.[!at] = c then incr at else fail "not JSON" in
  let word s v = if !at + String.length s <= n && String.sub text !at (String.length s) = s then (at := !at + String.length s; v) else fail "not JSON" in
  let hex () =
    if !at + 4 > n then fail "not JSON";
    let s = String.sub text !at 4 in
    String.iter (function '0' .. '9' | 'a' .. 'f' | 'A' .. 'F' -> () | _ -> fail "not JSON") s;
    at := !at + 4; int_of_string ("0x" ^ s) in
  let string () =
    expect '"';
    let b = Buffer.create 16 in
    let rec go () =
      if !at >= n then fail "not JSON";
      let c = text.[!at] in
      incr at;
      if c = '"' then ()
      else if c = '\\' then begin
        let e = peek () in
        incr at;
        (match e with
         | '"' | '\\' | '/' -> Buffer.add_char b e
         | 'b' -> Buffer.add_char b '\b' | 'f' -> Buffer.add_char b '\012' | 'n' -> Buffer.add_char b '\n'
         | 'r' -> Buffer.add_char b '\r' | 't' -> Buffer.add_char b '\t'
         | 'u' ->
           let high = hex () in
           if high >= 0xd800 && high < 0xdc00 && peek () = '\\' && !at + 1 < n && text.[!at + 1] = 'u' then begin
             at := !at + 2;
             let low = hex () in
             if low >= 0xdc00 && low < 0xe000 then add_utf8 b (0x10000 + ((high - 0xd800) lsl 10) + (low - 0xdc00))
             else fail "an unpaired surrogate"
           end else add_utf8 b high
         | _ -> fail "not JSON");
        go ()
      end
      else if Char.code c < 32 then fail "not JSON"
      else (Buffer.add_char b c; go ()) in
    go (); Buffer.contents b in
  let number () =
    let start = !at in
    let digits () = let from = !at in while (match peek () with '0' .. '9' -> !at < n | _ -> false) do incr at done; if !at = from then fail "not JSON" in
    if peek () = '-' then incr at;
    if peek () = '0' then incr at else digits ();
    let whole = ref true in
    if peek () = '.' then (incr at; whole := false; digits ());
    (match peek () with
     | 'e' | 'E' -> incr at; whole := false; (match peek () with '+' | '-' -> incr at | _ -> ()); digits ()
     | _ -> ());
    let form = String.sub text start (!at - start) in
    if String.length form > 400 then fail "a number is too long";
    if !whole then if form = "-0" then fail "-0 is not how 0 is written" else Int (Whole.of_string form)
    else begin
      let value = float_of_string form in
      if Float.is_integer (1. /. value) && value = 0. then fail "-0.0";
      if not (Float.is_finite value) || form = "-0.0" || (if value = 0. then form <> "0.0" else shortest value <> form)
      then fail "a number is not in its shortest form";
      Float form
    end in
  let rec value depth =
    if depth > 64 then fail "nested too deep";
    blank ();
    let found = match peek () with
      | '"' -> Text (string ())
      | '[' -> incr at; blank ();
        if peek () = ']' then (incr at; Array []) else begin
          let rec more l = let v = value (depth + 1) in blank ();
            if peek () = ',' then (incr at; more (v :: l)) else (expect ']'; List.rev (v :: l)) in
          Array (more [])
        end
      | '{' -> incr at; blank ();
        if peek () = '}' then (incr at; Object []) else begin
          let seen = Hashtbl.create 8 in
          let rec more l =
            blank ();
            let k = string () in
            if Hashtbl.mem seen k then fail "a key appears twice";
            Hashtbl.add seen k ();
            blank (); expect ':';
            let v = value (depth + 1) in
            blank ();
            if peek () = ',' then (incr at; more ((k, v) :: l)) else (expect '}'; List.rev ((k, v) :: l)) in
          Object (more [])
        end
      | 't' -> word "true" (Bool true) | 'f' -> word "false" (Bool false) | 'n' -> word "null" Null
      | _ -> number () in
    found in
  if n > 8 * 1024 * 1024 then fail "too long";
  if not (valid_utf8 text) then fail "not UTF-8";
  let found = value 1 in
  blank ();
  if !at < n then fail "not JSON";
  found

let rec canonical b = function
  | Null -> Buffer.add_string b "null"
  | Bool x -> Buffer.add_string b (if x then "true" else "false")
  | Int z -> Buffer.add_string b (Whole.to_string z)
  | Float s -> Buffer.add_string b s
  | Text s -> quoted b s
  | Array l -> Buffer.add_char b '['; List.iteri (fun i v -> if i > 0 then Buffer.add_char b ','; canonical b v) l; Buffer.add_char b ']'
  | Object l ->
    Buffer.add_char b '{';
    List.iteri (fun i (k, v) -> if i > 0 then Buffer.add_char b ','; quoted b k; Buffer.add_char b ':'; canonical b v)
      (List.sort (fun (a, _) (b, _) -> compare a b) l);
    Buffer.add_char b '}'

and quoted b s =
  Buffer.add_char b '"';
  String.iter (function
    | '"' -> Buffer.add_string b "\\\"" | '\\' -> Buffer.add_string b "\\\\" | '\n' -> Buffer.add_string b "\\n"
    | '\r' -> Buffer.add_string b "\\r" | '\t' -> Buffer.add_string b "\\t" | '\b' -> Buffer.add_string b "\\b"
    | '\012' -> Buffer.add_string b "\\f"
    | c when Char.code c < 32 -> Buffer.add_string b (Printf.sprintf "\\u%04x" (Char.code c))
    | c -> Buffer.add_char b c) s;
  Buffer.add_char b '"'

let digest_of value = let b = Buffer.create 1000 in canonical b value; "sha256:" ^ sha256 (Buffer.contents b)

(* ---------------------------------------------------------------- documents *)

exception Wrong of int

(* An entry of every step, whose digests match; [Wrong] with the number of the first that is none. *)
let entries_of steps =
  let digests = Hashtbl.create 16 in
  List.mapi (fun i step ->
    let wrong () = raise (Wrong i) in
    match step with
    | Object members when List.length members = 5 ->
      let get name = match List.assoc_opt name members with Some v -> v | None -> wrong () in
      let rule, given, gives, digest = get "rule", get "with", get "gives", get "digest" in
      let before = match get "from" with
        | Array l -> List.map (function Int z when Whole.sign z >= 0 && Whole.lt z (Whole.of_int i) -> z | _ -> wrong ()) l
        | _ -> wrong () in
      let body = Object [ "rule", rule; "with", given; "gives", gives;
                          "from", Array (List.map (fun z -> Text (Hashtbl.find digests (Whole.to_int z))) before) ] in
      (match rule, given, digest with
       | Text rule, Object given, Text digest when digest_of body = digest ->
         Hashtbl.add digests i digest;
         { rule; witness = given; before; gives }
       | _ -> wrong ())
    | _ -> wrong ()) steps

let judged text =
  match parse text with
  | Object [ "schema", Text "dpaccount/derivation/1"; "steps", Array steps ]
  | Object [ "steps", Array steps; "schema", Text "dpaccount/derivation/1" ] ->
    (* all steps before the first whose form is wrong are judged, so that the first that fails is named *)
    let rec longest steps =
      try (entries_of steps, None) with Wrong i -> let fine, _ = longest (List.filteri (fun j _ -> j < i) steps) in (fine, Some i) in
    let entries, wrong = longest steps in
    (match check_document entries, wrong with
     | Inr k, None -> Error (Whole.to_int k)
     | Inr k, Some i -> Error (if Whole.sign k < 0 then i else min i (Whole.to_int k))
     | Inl _, Some i -> Error i
     | Inl (_, _), None -> Ok (List.length entries))
  | _ -> fail "no derivation"

let said text =
  match judged text with
  | Ok n -> (0, Printf.sprintf "valid: derivation of %d steps" n)
  | Error k -> (1, if k < 0 then "invalid: the number of steps" else Printf.sprintf "invalid: step %d" k)
  | exception Unreadable why -> (2, "error: " ^ why)

(* ---------------------------------------------------------------- certificates *)

let members = function Object l -> l | _ -> []
let member_of name value = Option.value (List.assoc_opt name (members value)) ~default:Null

(* That digests match: of the certificate, and of every step of what is proved. *)
let untouched document =
  let steps proof = match member_of "derivation" proof with Array l -> l | _ -> [] in
  let body = List.filter (fun (k, _) -> k <> "digest" && k <> "signature") (members document) in
  let proved = member_of "proved" document in
  if member_of "digest" document <> Text (digest_of (Object body)) then Error "the certificate's digest does not match"
  else
    try List.iter (fun proof -> ignore (entries_of (steps proof))) [ proved; member_of "replace_one" proved ]; Ok ()
    with Wrong i -> Error (Printf.sprintf "the digest of step %d does not match" i)

let promised { of_claim = c; by_proof = { steps_of; final; _ }; _ } =
  Printf.sprintf "the claim follows: (%s, %s), %s, %s, of %s; %d steps" (print_Q c.claimed_epsilon)
    (print_Q c.claimed_delta) (relation_text c.claimed_relation)
    (match c.claimed_observer with Central -> "central" | Joint -> "joint" | Local -> "local")
    (if final.of_persons then Printf.sprintf "persons with at most %s rows" (print_Z c.most_rows) else "rows")
    (List.length steps_of)

let certified text =
  match parse text with
  | exception Unreadable why -> (2, "error: " ^ why)
  | document when member_of "schema" document <> Text "dpaccount/certificate/1" -> (2, "error: no certificate")
  | document ->
    match untouched document with
    | Error why -> (1, "invalid: " ^ why)
    | Ok () -> (match check_certificate document with Inl found -> (0, "valid: " ^ promised found) | Inr why -> (1, "invalid: " ^ why))

(* ---------------------------------------------------------------- accounts *)

(* Nothing here is trusted: whatever nodes are chosen, what is confirmed is true.  How much ε is too high is about
   proportional to the square of their spacing. *)

let float_of_q { qnum; qden } = Whole.to_float qnum /. Whole.to_float qden

(* The largest losses in either direction but for a chance e^(-reach^2/2), and how they spread. *)
let rec losses reach = function
  | Response e | Failing (e, _) | Answers (e, _) -> let e = float_of_q e in (e, e, e)
  | LaplaceNoise0 m -> let m = float_of_q m in (m, m, Float.min m (sqrt 2. *. m))
  | GeometricNoise (scale, shift) -> let m = Whole.to_float shift /. float_of_q scale in (m, m, m)
  | NormalNoise0 square -> normal reach (sqrt (float_of_q square))
  | DiscreteNormalNoise (variance, shift) -> normal reach (Whole.to_float shift /. sqrt (float_of_q variance))
  | Sampled (rate, k) ->
    let q = float_of_q rate and most, _, spread = losses reach k in
    let chi = Float.min (exp most -. 1.) (sqrt (exp (Float.min 700. (spread *. spread)) -. 1.) +. spread) in
    let most = if most > 700. then most +. log q else log (1. +. (q *. (exp most -. 1.))) in
    (most, -.log1p (-.Float.min q 0.999), Float.min spread (q *. chi))

and normal reach mu = let most = (mu *. mu /. 2.) +. (reach *. mu) in (most, most, mu)

(* Nodes from -low to high, [fine] of them on either side of 0 one by one, and further apart with the distance. *)
let blocks ~fine ~low ~high =
  let side far =
    let rec go k from = if from >= far then [] else
      let gap = 1 lsl k in
      let upto = min (fine lsl k) ((far + gap - 1) / gap * gap) in
      (gap, from / gap, upto / gap) :: go (k + 1) upto in
    go 0 0 in
  let block (gap, first, number) = { gap = Whole.of_int gap; first = Whole.of_int first; number = Whole.of_int number } in
  List.map block
    (List.rev_map (fun (gap, from, upto) -> (gap, -upto, upto - from)) (side low)
     @ ((1, 0, 1) :: List.map (fun (gap, from, upto) -> (gap, from + 1, upto - from)) (side high)))

(* The distance of losses that a release has, where only multiples of one have any chance. *)
let quantum = function
  | Response e | Failing (e, _) | Answers (e, _) -> Some e
  | GeometricNoise (scale, _) -> Some { qnum = scale.qden; qden = scale.qnum }
  | DiscreteNormalNoise (variance, shift) -> Some { qnum = Whole.mul shift variance.qden; qden = Whole.mul (Whole.of_int 2) variance.qnum }
  | LaplaceNoise0 m -> Some m
  | NormalNoise0 _ | Sampled _ -> None

let common a b =
  { qnum = Whole.gcd (Whole.mul a.qnum b.qden) (Whole.mul b.qnum a.qden); qden = Whole.mul a.qden b.qden }

(* A spacing of at most [target] that divides the quanta of as many events as it may without being much smaller. *)
let spacing_for plan target =
  let join found (e : event) = match quantum e.what with
    | Some q when Whole.sign q.qnum > 0 && float_of_q q < 1e6 ->
      let joint = match found with Some g -> common g q | None -> q in
      if float_of_q joint > target /. 16. then Some joint else found
    | _ -> found in
  let parts x = Whole.of_float (Float.ceil x) in
  match List.fold_left join None plan.events with
  | Some g -> { qnum = g.qnum; qden = Whole.mul g.qden (Whole.max Whole.one (parts (float_of_q g /. target))) }
  | None -> { qnum = Whole.one; qden = parts (1. /. target) }

(* Nodes so close that ε is too high by about this share of it. *)
let parameters plan epsilon delta share =
  let releases = List.fold_left (fun n (e : event) -> n +. Whole.to_float e.limit) 0. plan.events in
  let lost = Float.max 1e-300 (float_of_q delta) in
  let epsilon = Float.max 1e-6 (float_of_q epsilon) in
  let reach = sqrt (2. *. log (Float.max 2. (releases /. lost /. share *. 1e3))) in
  let deviations = sqrt (2. *. Float.max 0.1 (log (1. /. lost))) in
  let spread = sqrt ((deviations *. deviations) +. (2. *. epsilon)) -. deviations in
  let target = sqrt (12. *. epsilon *. share /. (Float.max 1. releases *. (1. +. (deviations /. spread)))) in
  let bits = 25. -. Float.log2 share +. Float.log2 (Float.max 1. releases) +. Float.log2 (1. /. lost) +. Float.max 0. (-.Float.log2 target)
    +. (1.45 *. Float.max 0. (epsilon -. 30.)) in  (* masses as small as e^-epsilon are told from 0 *)
  let bits = min 2000 (max 80 (int_of_float bits)) in
  let spacing = spacing_for plan target in
  let step = float_of_q spacing in
  let nodes x = max 1 (int_of_float (Float.ceil (Float.min x 1e4 /. step))) in
  let ranges swapped (e : event) =
    let high, low, spread = losses reach e.what in
    let high, low = if swapped then (low, high) else (high, low) in
    blocks ~fine:(2 * min 16384 (max 512 (nodes (3. *. spread)))) ~low:(nodes low + 1) ~high:(nodes high + 1) in
  let cut = lost *. share *. 1e-3 /. Float.max 1. releases in
  { bits = Whole.of_int bits; spacing;
    budget = Whole.shift_right (Whole.shift_left Whole.one bits) (int_of_float (Float.ceil (-.Float.log2 cut)));
    there = List.map (ranges false) plan.events; back = List.map (ranges true) plan.events },
  2. *. reach *. spread /. step

(* Whether costs that add up are enough: without a single node, no lattice is. *)
let added_up = check_account { bits = Whole.of_int 64; spacing = { qnum = Whole.one; qden = Whole.one }; budget = Whole.zero; there = []; back = [] }

(* Whether some question was given up for its nodes or its time: then nothing is said against an account. *)
let given_up = ref false

(* Whether it is confirmed on nodes that are close enough; finer ones only where they may help. *)
let rec confirmed plan epsilon delta = function
  | [] -> false
  | share :: finer ->
    let enough () =
      let chosen, nodes = parameters plan epsilon delta share in
      if nodes < 4e6 && Sys.time () < 20. then Some (check_account chosen plan epsilon delta) else None in
    match enough () with
    | Some found -> found || confirmed plan epsilon delta finer
    | None | exception (Stack_overflow | Out_of_memory | Whole.Overflow | Invalid_argument _) -> given_up := true; false

let accounted text =
  match parse text with
  | exception Unreadable why -> (2, "error: " ^ why)
  | document ->
    let body = List.filter (fun (k, _) -> k <> "digest") (members document) in
    match account_of document with
    | None -> (2, "no theorem about these events")
    | Some _ when member_of "digest" document <> Text (digest_of (Object body)) -> (1, "invalid: the digest does not match")
    | Some ((plan, epsilon), delta) ->
      let costs epsilon delta = Printf.sprintf "the plan costs at most (%s, %s), %s, %d events" (print_Q epsilon) (print_Q delta)
        (relation_text plan.between) (List.length plan.events) in
      let nearly q = qred { qnum = Whole.mul q.qnum (Whole.of_int 1001); qden = Whole.mul q.qden (Whole.of_int 1000) } in
      (* accounts are confirmed some 1.4e-5 of their answer above the tight one; if that is δ, ε has to be closer *)
      let first, finer = match member_of "epsilon" (member_of "question" document) with
        | Null -> 8e-6, [ 1e-6; 1e-7; 1e-8; 1e-9; 1e-10 ]
        | _ -> 5e-7, [ 1e-7; 1e-8; 1e-9; 1e-10 ] in
      if added_up plan epsilon delta || confirmed plan epsilon delta [ first ] then (0, "valid: " ^ costs epsilon delta)
      else if not (confirmed plan (nearly epsilon) (nearly delta) [ 1e-4; 8e-6; 1e-6; 1e-7 ]) then
        if !given_up then (2, "no theorem within reach of whether " ^ costs epsilon delta)
        else (1, "invalid: it was not shown that " ^ costs epsilon delta)
      else if confirmed plan epsilon delta finer then (0, "valid: " ^ costs epsilon delta)
      else (2, "no theorem so close: " ^ costs (nearly epsilon) (nearly delta))

(* What is decided of one event, under add-remove if it is counted there, in units of 2^-bits at e^(i step), i = low.. of n: for tests. *)
let ceilings_of text bits step low n =
  let rec nat n = if n = 0 then O else S (nat (n - 1)) in
  let listed kind way = ceilings (Whole.of_string bits) step kind way (Whole.of_string low) (nat (int_of_string n)) in
  let document = parse text in
  match List.filter_map (fun relation -> events_in relation document) [ AddRemove; ReplaceOne ] with
  | [ event ] :: _ ->
    let line way = String.concat " " (List.map Whole.to_string (listed event.what way)) in
    (0, line There ^ "\n" ^ line Back)
  | _ -> (2, "no theorem about this event")

let () =
  let judge said name =
    let file = open_in_bin name in
    let text = really_input_string file (in_channel_length file) in
    close_in file;
    let code, words = said text in
    print_endline words;
    exit code in
  let judge_lines said = try while true do print_endline (snd (said (input_line stdin))); done with End_of_file -> () in
  match Array.to_list Sys.argv with
  | [ _; "--lines" ] -> judge_lines said
  | [ _; "--certificates" ] -> judge_lines certified
  | [ _; "--certificate"; name ] -> judge certified name
  | [ _; "--account"; name ] -> judge accounted name
  | [ _; "--ceilings"; bits; parts; low; n ] ->
    let step = { qnum = Whole.one; qden = Whole.of_string parts } in
    judge_lines (fun text -> ceilings_of text bits step low n)
  | [ _; name ] -> judge said name
  | _ -> prerr_endline "usage: checker [--certificate | --account] FILE | checker --lines | checker --certificates"; exit 2
