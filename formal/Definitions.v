(** What privacy means here, and what every judgement says of a program.

    Read this file to judge the theorems of this folder: all of them speak of these definitions.
    Laws are expectations of tests (base/Laws.v); Phi is the normal distribution function (base/Normal.v). *)
Require Import Reals QArith Qreals ZArith String List Permutation Bool.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts.
Import ListNotations.
Open Scope R_scope.

(* ================================================================ 1. neighbours *)

(** A dataset gives every unit its record, or nothing. *)
Definition data (record : Type) := Z -> option record.

Section Neighbours.
  Context {record : Type} (distance : record -> record -> R).

  Definition only_at (u : Z) (d d' : data record) := forall v, v <> u -> d v = d' v.

  Definition replaced (d d' : data record) :=
    exists u r r', d u = Some r /\ d' u = Some r' /\ only_at u d d'.

  Definition removed (d d' : data record) := exists u r, d u = Some r /\ d' u = None /\ only_at u d d'.

  Definition moved_by (radius : R) (d d' : data record) :=
    exists u r r', d u = Some r /\ d' u = Some r' /\ distance r r' <= radius /\ only_at u d d'.

  (** At most n steps lead from one to the other, and every dataset on the way is one. *)
  Fixpoint steps (next : data record -> data record -> Prop) (n : nat) (d d' : data record) : Prop :=
    match n with
    | O => d = d'
    | S m => exists e, (d = e \/ next d e) /\ steps next m e d'
    end.

  Fixpoint neighbours (rel : relation) : data record -> data record -> Prop :=
    match rel with
    | ReplaceOne => replaced
    | AddRemove => fun d d' => removed d d' \/ removed d' d
    | BoundedRow radius => moved_by (Q2R radius)
    | Entering of _ _ => neighbours of
    | Groups of size => steps (neighbours of) (Z.to_nat size)
    end.
End Neighbours.

(* ================================================================ 2. releases and adversaries *)

(** What has been said so far, the latest first. *)
Definition history (message : Type) := list message.

Definition earlier {A} (h' h : list A) := exists between, h = between ++ h'.   (* or the same *)

Fixpoint spent {A} (cost : list A -> R) (h : list A) : R :=
  cost h + match h with [] => 0 | _ :: before => spent cost before end.

(** Where [asks h], the next message after h is a release: its law is [k h] on one dataset and [l h] on another.
    [chance asks k l h p q]: after h somebody who sees all that is said, says what he likes in between, and asks for
    releases in whatever order the program allows, can bring about an event that is at least p likely on the one
    dataset, and at most q likely on the other. *)
Section Chance.
  Context {message : Type} (asks : history message -> bool) (k l : history message -> law message).

  Inductive chance : history message -> R -> R -> Prop :=
    | bet h t : 0 <= t <= 1 -> chance h t t                                        (* a coin decides *)
    | settle h p q p' q' : chance h p q -> 0 <= p' <= p -> q <= q' <= 1 -> chance h p' q'
    | toss h p q p' q' t : 0 <= t <= 1 -> chance h p q -> chance h p' q' ->        (* which of two plans *)
        chance h (t * p + (1 - t) * p') (t * q + (1 - t) * q')
    | tell h m p q : chance (m :: h) p q -> chance h p q                            (* a message of his choice *)
    | say h (P : law message) u v : test u -> test v ->                            (* a public message, *)
        (forall m, chance (m :: h) (u m) (v m)) -> chance h (P u) (P v)
    | ask h u v : asks h = true -> test u -> test v ->                             (* a release *)
        (forall m, chance (m :: h) (u m) (v m)) -> chance h (k h u) (l h v).
End Chance.

(** None of these releases has been made yet. *)
Definition fresh {message} (asks : history message -> bool) (h : history message) :=
  forall m before, earlier (m :: before) h -> asks before = false.

(* ================================================================ 3. what one release costs *)

Definition power (t p : R) := if Rlt_dec 0 t then Rpower t p else 0.

Section Costs.
  Context {A : Type}.
  Implicit Types (P Q : law A).

  (** Every event is at most e^ε times as likely. *)
  Definition pure_cost (epsilon : R) P Q := forall f, test f -> P f <= exp epsilon * Q f.

  (** The Rényi divergence of order θ/(θ−1) is at most r, in Hölder's form: equal to the usual definition where
      there are densities. *)
  Definition renyi_cost (theta r : R) P Q := forall f, test f ->
    P f <= exp (r / theta) * power (Q (fun a => power (f a) theta)) (1 / theta).

  (** ρ-zCDP: the divergence of every order α > 1 is at most αρ; α = θ/(θ−1). *)
  Definition zcdp_cost (rho : R) P Q := forall theta, 1 < theta -> renyi_cost theta (theta / (theta - 1) * rho) P Q.

  (** μ-GDP, given μ²: a test with errors of the first kind below Φ(z) has power below Φ(z + μ). *)
  Definition gdp_cost (mu_squared : R) P Q := forall f z, test f -> Q f <= Phi z -> P f <= Phi (z + sqrt mu_squared).

  (** Total variation. *)
  Definition near_cost (distance : R) P Q := forall f, test f -> P f <= Q f + distance /\ Q f <= P f + distance.

  (** η-bounded range, which is paid once: the rest is free. *)
  Definition range_cost (eta : R) (once : R) P Q :=
    same P Q \/ (1 <= once /\ exists c, forall f, test f -> exp c * P f <= Q f <= exp (c + eta) * P f).
End Costs.

(** The discrete Gaussian on the integers. *)
Definition discrete_normal (variance : R) := proportional (fun z : Z => exp (- (IZR z * IZR z) / (2 * variance))).

(** The same numbers up to order, signs and zeros. *)
Definition shape (v s : list Z) :=
  Permutation (filter (fun z => negb (z =? 0)%Z) (map Z.abs v)) (filter (fun z => negb (z =? 0)%Z) (map Z.abs s)).

(** P and Q are one function of integers with discrete Gaussian noise, where those of P are moved by such a shift. *)
Definition lattice_pair {A} (variance : R) (s : list Z) (P Q : law A) :=
  exists v N (post : list Z -> law A), shape v s /\ discrete_normal variance N /\
    same P (bind (each (map (fun z => image (Z.add z) N) v)) post) /\
    same Q (bind (each (map (fun _ => N) v)) post).

(* ================================================================ 4. privacy curves *)

Section Curves.
  Context {message input : Type} (near : input -> input -> Prop) (draw : input -> history message -> law message).
  Local Notation H := (history message).

  (** Every release that is asked for has a cost, and whatever is said, all costs together fit the budget. *)
  Definition adds_up (cost : R -> law message -> law message -> Prop) (budget : R) (asks : H -> bool) (k l : H -> law message) :=
    exists c : H -> R, (forall h, 0 <= c h) /\ (forall h, asks h = true -> cost (c h) (k h) (l h)) /\
      forall h, spent c h <= budget.

  (** For all neighbours. *)
  Definition always (P : (H -> law message) -> (H -> law message) -> Prop) :=
    forall x x', near x x' -> P (draw x) (draw x').

  (** (ε, δ): no adversary gets past it, from before the first release on. *)
  Definition approximate (epsilon delta : R) (asks : H -> bool) (k l : H -> law message) :=
    forall h p q, fresh asks h -> chance asks k l h p q -> p <= exp epsilon * q + delta.

  (** But for a distance in total variation, in releases that read what differs, an ideal program is Gaussian private. *)
  Definition nearly_gaussian (mu_squared distance : R) (asks : H -> bool) :=
    exists ideal : input -> H -> law message, forall x x', near x x' ->
      exists c t : H -> R, (forall h, 0 <= c h /\ 0 <= t h) /\
        (forall h, asks h = true ->
           (same (draw x h) (draw x' h) /\ same (ideal x h) (ideal x' h)) \/
           (gdp_cost (c h) (ideal x h) (ideal x' h) /\
            near_cost (t h) (draw x h) (ideal x h) /\ near_cost (t h) (draw x' h) (ideal x' h))) /\
        forall h, spent c h <= mu_squared /\ spent t h <= distance.

  (** In every group of releases at most so many differ, all of them by one shift. *)
  Definition one_shift (variance : R) (shifts : list (list Z)) (times : R) (asks : H -> bool) (group : (H -> bool) -> Prop)
      (k l : H -> law message) :=
    exists S : H -> option (list Z),
      (forall h, asks h = true -> match S h with
         | None => same (k h) (l h)
         | Some s => In s shifts /\ lattice_pair variance s (k h) (l h)
         end) /\
      (forall h h' s s', asks h = true -> asks h' = true -> earlier h' h -> S h = Some s -> S h' = Some s' -> s = s') /\
      (forall g, group g -> forall h, spent (fun h => match S h with Some _ => if g h then 1 else 0 | None => 0 end) h <= times).

  (** What a curve says of releases, of which [group]s are those that it counts. *)
  Definition satisfies (law : curve) (asks : H -> bool) (group : (H -> bool) -> Prop) :=
    match law with
    | Lattice variance shifts times => always (one_shift (Q2R variance) shifts (IZR times) asks group)
    | _ => forall g, group g ->
      match law with
      | Pure epsilon => always (adds_up pure_cost (Q2R epsilon) g)
      | Approximate epsilon delta => always (approximate (Q2R epsilon) (Q2R delta) g)
      | Zcdp rho => always (adds_up zcdp_cost (Q2R rho) g)
      | Gdp mu_squared => always (adds_up gdp_cost (Q2R mu_squared) g)
      | NearGdp mu_squared distance => nearly_gaussian (Q2R mu_squared) (Q2R distance) g
      | BoundedRange eta => always (adds_up (range_cost (Q2R eta)) 1 g)
      | Renyi points => forall order bound, In (order, bound) points ->
          always (adds_up (renyi_cost (Q2R order / (Q2R order - 1))) (Q2R bound) g)
      | Lattice _ _ _ => True
      end
    end.
End Curves.

(* ================================================================ 5. programs *)

(** A release that is about to be made: its key, on what it is drawn, and which of several it is. *)
Record label := Label { key : string; at_place : place; index : Z }.

(** A program, as its derivations speak of it. *)
Record world := World {
  record : Type;
  person : Type;
  message : Type;
  distance : record -> record -> R;                                   (* of two rows *)
  units_there : list Z;                                               (* all units that there may be *)
  next : history message -> option label;                             (* which release comes next, if one does *)
  ideal : history message -> data record -> law message;              (* its law, *)
  actual : history message -> data record -> law message;             (* and its law with rare departures *)
  size : string -> nat;                                               (* how many numbers a query has, *)
  side : string -> nat;                                               (* or how many rows, where it is a matrix *)
  value : string -> spread -> Z -> history message -> data record -> nat -> R;
  takes_part : string -> spread -> Z -> history message -> Z -> record -> bool;
  adds : string -> spread -> Z -> history message -> Z -> record -> nat -> R;
  names : string -> label -> bool;                                    (* of which releases a subject is made *)
  table : label -> data person -> data record;                        (* the rows of persons that a release reads *)
  sources : string -> list string;                                    (* whose noise a view reads *)
  shows : string -> Z -> history message -> data record -> law message;   (* what a view shows to somebody *)
  shows_of : string -> Z -> history message -> data person -> law message
}.

Section World.
  Variable W : world.
  Local Notation H := (history (message W)).
  Local Notation D := (data (record W)).

  Definition draw (departed : list string) (d : D) (h : H) : law (message W) :=
    match next W h with
    | Some l => if existsb (String.eqb (key l)) departed then actual W h d else ideal W h d
    | None => ideal W h d
    end.

  (** Where neighbours are tables of persons, a release reads the rows that its table makes of them. *)
  Definition draw_of (departed : list string) (d : data (person W)) (h : H) : law (message W) :=
    match next W h with
    | Some l => draw departed (table W l d) h
    | None => draw departed (fun _ => None) h
    end.

  (* ---------------------------------------------------------------- queries *)

  Definition place_dec (p q : place) : {p = q} + {p <> q}.
  Proof. repeat (decide equality). Defined.

  Definition label_dec (a b : label) : {a = b} + {a <> b}.
  Proof. decide equality; auto using Z.eq_dec, place_dec, string_dec. Defined.

  Definition is_next (l : label) (h : H) : bool :=
    match next W h with Some l' => if label_dec l l' then true else false | None => false end.

  (** When this release was made; now, if it was not. *)
  Definition moment (l : label) (now : H) : H :=
    (fix find h := if is_next l h then h else match h with [] => now | _ :: before => find before end) now.

  Definition on_place (k : string) (p : place) (h : H) : bool :=
    match next W h with
    | Some l => String.eqb k (key l) && if place_dec p (at_place l) then true else false
    | None => false
    end.

  Fixpoint first_of (k : string) (p : place) (h : H) : option H :=
    match (match h with [] => None | _ :: before => first_of k p before end) with
    | Some found => Some found
    | None => if on_place k p h then Some h else None
    end.

  (** When the first release of this key was made; now, if none was. *)
  Definition start (k : string) (p : place) (now : H) : H :=
    match first_of k p now with Some h => h | None => now end.

  Definition scale (bits : Z) : R := / powerRZ 2 bits.

  (** Row t of a lower triangular matrix, at column s: rows up to the diagonal, or one row of a Toeplitz matrix. *)
  Definition entry (matrix : list (list Z)) (t s : Z) : R :=
    match matrix with
    | [c] => if (s <=? t)%Z then IZR (nth (Z.to_nat (t - s)) c 0%Z) else 0
    | _ => IZR (nth (Z.to_nat (s - 1)) (nth (Z.to_nat (t - 1)) matrix []) 0%Z)
    end.

  Definition one_to (n : Z) : list Z := map Z.of_nat (seq 1 (Z.to_nat n)).

  (** A buffer before row t + 1, of inputs x: it decays, is floored to whole steps, and takes the weighted input. *)
  Fixpoint buffer (step weight decay : R) (x : nat -> R) (t : nat) : R :=
    match t with
    | O => 0
    | S before => step * IZR (Int_part (decay * buffer step weight decay x before / step)) + weight * x before
    end.

  Definition buffers (step : R) (bits : Z) (pairs : list (list Z)) (x : nat -> R) (t : nat) : R :=
    total (fun pair => match pair with
      | [w; f] => buffer step (IZR w * scale bits) (IZR f * scale bits) x t
      | _ => 0
      end) pairs.

  (** The numbers of a query as they stand before noise, each a function of the data. *)
  Fixpoint numbers_of (k : string) (whole : place) (q : string) (changes : list change) (o : spread) (i : Z) (h : H) : list (D -> R) :=
    match changes with
    | [] => map (fun j d => value W q o i h d j) (seq 0 (size W q))
    | c :: rest =>
      let row s now := numbers_of k whole q rest o s now in
      let row_at s := row s (moment (Label k whole s) h) in             (* as it was when it was released *)
      let number j s d := nth j (row_at s) (fun _ => 0) d in
      let places now := seq 0 (length (row i now)) in
      match c with
      | Stacked weight =>
        let n := pred (side W q) in
        let cell a b d := value W q o i h d (a * side W q + b) in
        flat_map (fun a => map (fun b => cell a b) (seq a (n - a))) (seq 0 n)
        ++ map (fun a d => sqrt (Q2R weight) * cell a n d) (seq 0 n)
      | Centred n _ _ _ =>
        let known := start k whole h in                                  (* all rows are known when the first is shown *)
        map (fun j d => nth j (row i known) (fun _ => 0) d
                        - total (fun s => nth j (row s known) (fun _ => 0) d) (one_to n) / IZR n) (places known)
      | Factorised matrix bits _ _ _ _ =>
        map (fun j d => total (fun s => entry matrix i s * scale bits * number j s d) (one_to i)) (places h)
      | Buffered _ pairs bits step _ _ _ _ =>
        map (fun j d => number j i d
                        + buffers (Q2R step) bits pairs (fun t => number j (Z.of_nat t + 1)%Z d) (Z.to_nat (i - 1))) (places h)
      end
    end.

  Definition numbers_at (l : label) : H -> list (D -> R) :=
    numbers_of (key l) (at_place l) (query (at_place l)) (made (at_place l)) (over (at_place l)) (index l).

  Definition is_stream (changes : list change) :=
    existsb (fun c => match c with Stacked _ => false | _ => true end) changes.

  Definition differences (numbers : list (D -> R)) (d d' : D) : list R := map (fun c => c d - c d') numbers.

  Definition square x : R := x * x.

  (** What one movement counts, of norms that are sums. *)
  Definition counted (how : norm) (x : R) : R := match how with L1 => Rabs x | _ => square x end.

  Definition within (how : norm) (bound : R) (moves : list R) : Prop :=
    match how with
    | L1 => total Rabs moves <= bound
    | L2Squared | FrobeniusSquared => total square moves <= bound
    | EachNumber => forall x, In x moves -> Rabs x <= bound
    | Range => forall x y, In x moves -> In y moves -> x - y <= bound
    end.

  (** Whether a unit takes part in a release does not depend on its data. *)
  Definition steady (q : string) := forall o i h u r r', takes_part W q o i h u r = takes_part W q o i h u r'.

  Definition agree (first last : Z) (d d' : D) := forall u, (first <= u <= last)%Z -> d u = d' u.

  Definition covers_list (o : spread) : list (Z * Z) :=
    match o with
    | Once => []
    | Covers _ covers => covers
    | Tree _ rounds levels =>
        flat_map (fun level => map (fun j => ((j - 1) * 2 ^ level + 1, j * 2 ^ level)%Z) (one_to (rounds / 2 ^ level)))
                 (map Z.of_nat (seq 0 (Z.to_nat levels)))
    end.

  Definition cover (o : spread) (i : Z) : option (Z * Z) :=
    if (i <? 0)%Z then None else nth_error (covers_list o) (Z.to_nat i).

  Definition holds_unit (u : Z) (span : Z * Z) : bool := ((fst span <=? u) && (u <=? snd span))%Z.

  Definition met (o : spread) (u : Z) : nat := length (filter (holds_unit u) (covers_list o)).

  (** Every release over these covers reads the units of its cover and no others. *)
  Definition reads_covers (o : spread) :=
    o <> Once /\
    forall h l, next W h = Some l -> over (at_place l) = o ->
      exists first last, cover o (index l) = Some (first, last) /\
        forall d d', agree first last d d' -> same (ideal W h d) (ideal W h d').

  (** What a unit adds is one of these. *)
  Definition in_set (q : string) (set : kind) (low high : R) (points : list (list Z)) (a : nat -> R) : Prop :=
    let places := seq 0 (size W q) in
    let n := side W q in
    match set with
    | Interval => size W q = 1%nat /\ low <= a 0%nat <= high
    | Ball => total (fun j => square (a j)) places <= high
    | Cell => (forall j, In j places -> a j = 0 \/ a j = 1) /\ total a places <= high
    | Points => exists p, In p points /\ length p = size W q /\ forall j, In j places -> a j = IZR (nth j p 0%Z)
    | RankOne | Outer =>
        size W q = (n * n)%nat /\ n <> O /\
        exists v : nat -> R, total (fun j => square (v j)) (seq 0 (pred n)) <= 1 /\ Rabs (v (pred n)) <= high /\
          forall i j, (i < n)%nat -> (j < n)%nat ->
            a (i * n + j)%nat = match set with
              | Outer => v i * v j
              | _ => if (i =? pred n)%nat && (j =? pred n)%nat then 0 else v i * v j
              end
    end.

  (* ---------------------------------------------------------------- releases of a line *)

  Fixpoint lookup {A} (k : string) (l : list (string * A)) : option A :=
    match l with
    | [] => None
    | (k', a) :: rest => if String.eqb k k' then Some a else lookup k rest
    end.

  Definition of_draws (ds : draws) (h : H) : bool :=
    match next W h with
    | Some l => match lookup (key l) ds with
                | Some p => if place_dec p (at_place l) then true else false
                | None => false
                end
    | None => false
    end.

  Definition spread_over (o : spread) (ds : draws) : draws :=
    map (fun kp => (fst kp, Place (query (snd kp)) (made (snd kp)) (how (snd kp)) o)) ds.

  Definition instance (ds : draws) (i : Z) (h : H) : bool :=
    of_draws ds h && match next W h with Some l => (index l =? i)%Z | None => false end.

  (** Nothing else is drawn with these keys: a + X and b + X together would tell a - b. *)
  Definition exclusive (ds : draws) := forall h l p,
    next W h = Some l -> lookup (key l) ds = Some p -> p = at_place l.

  (** What a program is by its making. *)
  Definition lawful :=
    NoDup (units_there W) /\ (forall u, In u (units_there W) -> (1 <= u < 2 ^ 63)%Z) /\
    (forall h d d', (forall u, In u (units_there W) -> d u = d' u) ->                                 (* there are no others *)
       same (ideal W h d) (ideal W h d') /\ same (actual W h d) (actual W h d')) /\
    (forall h l, next W h = Some l -> forall h' m, earlier (m :: h') h -> next W h' <> Some l) /\   (* a draw is made once *)
    (forall h l, next W h = Some l -> over (at_place l) = Once -> is_stream (made (at_place l)) = false -> index l = 0%Z) /\
    (forall h l, next W h = Some l -> is_stream (made (at_place l)) = true ->                         (* rows come in order *)
       over (at_place l) = Once /\ (1 <= index l)%Z /\
       forall s, (1 <= s < index l)%Z -> exists h' m, earlier (m :: h') h /\ next W h' = Some (Label (key l) (at_place l) s)) /\
    (forall l, names W (query (at_place l)) l = true) /\                                             (* names are what they say *)
    (forall a b sign l, In sign [" + "; " | "; " or "]%string -> names W a l = true \/ names W b l = true ->
       names W (a ++ sign ++ b) l = true) /\
    (forall x y, distance W x y = distance W y x /\ 0 <= distance W x y) /\
    (forall x y k (r : R) , (0 < k)%nat -> distance W x y <= INR k * r ->                             (* rows are a convex set *)
       exists path : nat -> record W, path 0%nat = x /\ path k = y /\
         forall j, (j < k)%nat -> distance W (path j) (path (S j)) <= r).

  (* ---------------------------------------------------------------- who sees what *)

  Definition blind (s : string) :=
    (forall v h d d', same (shows W s v h d) (shows W s v h d')) /\
    (forall v h d d', same (shows_of W s v h d) (shows_of W s v h d')).

  Definition own_data (s : string) :=
    (forall v h d d', d v = d' v -> same (shows W s v h d) (shows W s v h d')) /\
    (forall v h d d', d v = d' v -> same (shows_of W s v h d) (shows_of W s v h d')).

  Definition one_unit (asks : H -> bool) :=
    forall h, asks h = true -> exists u, forall d d' : D, d u = d' u -> same (ideal W h d) (ideal W h d').

  Definition seen_by (o : observer) (asks : H -> bool) (s : string) :=
    match o with
    | Central => blind s
    | Joint => own_data s
    | Local => own_data s
    end.

  (* ================================================================ 6. what a line says *)

  Definition private_holds (subject : string) (law : curve) (rel : relation) (o : observer) (reads : interval)
      (ds : draws) (gone : list string) (persons : bool) (views : list string) : Prop :=
    let good asks group :=
      if persons then satisfies (neighbours (fun _ _ => 0) rel) (draw_of gone) law asks group
      else satisfies (neighbours (distance W) rel) (draw gone) law asks group in
    (forall h l p, next W h = Some l -> lookup (key l) ds = Some p ->
       at_place l = Place (query p) (made p) (how p) (over (at_place l)) -> names W subject l = true) /\
    (forall s, In s views -> incl (sources W s) (map fst ds) /\ seen_by o (of_draws ds) s) /\
    match reads with
    | None => forall over, exclusive (spread_over over ds) ->
        good (of_draws (spread_over over ds)) (fun g => exists i, g = instance (spread_over over ds) i) /\
        (o = Local -> one_unit (of_draws (spread_over over ds)))
    | Some (first, last) => exclusive ds ->
        good (of_draws ds) (fun g => g = of_draws ds) /\
        (o = Local -> one_unit (of_draws ds)) /\
        (persons = false -> forall h d d', of_draws ds h = true -> agree first last d d' -> same (draw gone d h) (draw gone d' h))
    end.

  Definition told_apart (rel : relation) (s : string) (pairs : R -> R -> Prop) : Prop :=
    exists d d' h, neighbours (distance W) rel d d' /\ fresh (fun h => match next W h with Some l => names W s l | None => false end) h /\
      forall p q, pairs p q -> forall t, 0 < t -> exists p' q', p - t <= p' /\ q' <= q + t /\
        chance (fun h => match next W h with Some l => names W s l | None => false end) (draw [] d) (draw [] d') h p' q'.

  Definition laplace_below (x : R) := if Rle_dec x 0 then exp x / 2 else 1 - exp (- x) / 2.

  (** Two records, wherever they stand, between which the query moves so far in every release that reads them. *)
  Definition records_apart (rel : relation) (q : string) (far : list R -> Prop) : Prop :=
    forall u, exists d d', neighbours (distance W) rel d d' /\ only_at u d d' /\ exists moves : nat -> R,
      far (map moves (seq 0 (size W q))) /\
      forall o i h j, (j < size W q)%nat -> o <> Once ->
        value W q o i h d j - value W q o i h d' j
        = match cover o i with Some span => if holds_unit u span then moves j else 0 | None => 0 end.

  Definition holds (line : line) : Prop :=
    match says line with
    | Private subject law rel o reads =>
        private_holds subject law rel o reads (drawn line) (departed line) (of_persons line) (views line)
    | View q shown releases =>
        incl (sources W q) releases /\ (forall l, In (key l) releases -> names W q l = true) /\
        match shown with Everyone => blind q | Others => own_data q end
    | Contribution q set low high points rel _ =>
        (forall o i h d j, value W q o i h d j = total (fun u =>
           match d u with Some r => if takes_part W q o i h u r then adds W q o i h u r j else 0 | None => 0 end) (units_there W)) /\
        (forall o i h u r, takes_part W q o i h u r = true ->
           in_set q set (Q2R low) (Q2R high) points (adds W q o i h u r)) /\
        (forall o i h i' h' u r, o <> Once -> earlier h h' -> takes_part W q o i h u r = true ->   (* the same in every release *)
           takes_part W q o i' h' u r = true -> adds W q o i' h' u r = adds W q o i h u r) /\
        match set with RankOne | Outer => size W q = (side W q * side W q)%nat | _ => True end    (* whoever takes part *)
    | Stable q how bound rel None =>
        (how = FrobeniusSquared -> changes line = [] /\ size W q = (side W q * side W q)%nat /\
           forall o i h d a b, (a < side W q)%nat -> (b < side W q)%nat ->
             value W q o i h d (a * side W q + b)%nat = value W q o i h d (b * side W q + a)%nat) /\
        is_stream (changes line) = false /\
        (steady q -> forall k p o i h d d', neighbours (distance W) rel d d' ->
           within how (Q2R bound) (differences (numbers_of k p q (changes line) o i h) d d'))
    | Stable q how bound rel (Some (first, last)) =>
        (how = L2Squared \/ how = L1) /\ is_stream (changes line) = true /\
        forall k law, (forall h d d', neighbours (distance W) rel d d' -> spent (fun h => if on_place k (Place q (changes line) law Once) h
             then match next W h with Some l => total (counted how) (differences (numbers_at l h) d d') | None => 0 end
             else 0) h <= Q2R bound) /\
          forall h l d d' c, next W h = Some l -> at_place l = Place q (changes line) law Once ->
            agree first last d d' -> In c (numbers_at l h) -> c d = c d'
    | Lipschitz q factor slack reach =>
        0 <= Q2R factor /\ 0 <= Q2R slack /\ 0 <= Q2R reach /\
        forall k p o i h u r r' d d', d u = Some r -> d' u = Some r' -> only_at u d d' ->
          total square (differences (numbers_of k p q [] o i h) d d')
          <= square (Rmin (Q2R factor * distance W r r' + Q2R slack) (Q2R reach))
    | Shifts q shifts rel =>
        steady q -> forall o d d', neighbours (distance W) rel d d' ->
          (forall k p i h, exists v, differences (numbers_of k p q [] o i h) d d' = map IZR v /\
             (shape v [] \/ exists s, In s shifts /\ shape v s)) /\         (* a unit that takes no part moves nothing *)
          (o <> Once -> forall k p i i' h h' v v', earlier h' h ->
             differences (numbers_of k p q [] o i h) d d' = map IZR v ->
             differences (numbers_of k p q [] o i' h') d d' = map IZR v' ->
             shape v [] \/ shape v' [] \/ v = v')
    | Covered q releases most widest (first, last) =>
        reads_covers (covers_of line) /\
        Z.of_nat (length (covers_list (covers_of line))) = releases /\
        (forall u, (Z.of_nat (met (covers_of line) u) <= most)%Z) /\
        (exists u, Z.of_nat (met (covers_of line) u) = most) /\
        (forall a b, In (a, b) (covers_list (covers_of line)) -> (first <= a /\ a <= b /\ b <= last /\ b - a + 1 <= widest)%Z)
    | Rounds q rounds times apart last =>
        (forall h l, next W h = Some l -> query (at_place l) = q -> is_stream (made (at_place l)) = true ->
           (index l <= rounds)%Z) /\
        (times = 1%Z -> steady q /\ exists enters : Z -> Z,
           (forall u, (enters u <= 0 \/ (1 <= u <= last /\ enters u <= rounds))%Z) /\
           forall s h d d' j, (forall u, enters u = s -> d u = d' u) -> value W q Once s h d j = value W q Once s h d' j) /\
        (times <> 1%Z -> forall k p h u r, let entered := filter (fun s =>
             takes_part W q Once s (moment (Label k p s) h) u r) (one_to rounds) in
           (Z.of_nat (length entered) <= times)%Z /\
           forall s s', In s entered -> In s' entered -> (s < s' -> apart <= s' - s)%Z)
    | Numbers q most =>
        forall k p o i h, let count := INR (length (numbers_of k p q (made p) o i h)) in
          if is_stream (made p) then
            spent (fun h => if on_place k p h
              then match next W h with Some l => INR (length (numbers_at l h)) | None => 0 end else 0) h <= IZR most
          else count <= IZR most
    | Choice q parts =>                          (* made before the first release: one that follows releases may add up deltas *)
        let listed l := existsb (String.eqb (key l)) (concat parts) in
        forall h l, next W h = Some l -> listed l = true -> fresh (fun h => match next W h with Some l => listed l | None => false end) h ->
          exists part, In part parts /\ forall h' l', earlier h h' -> next W h' = Some l' -> listed l' = true -> In (key l') part
    | Split q cells => exists cell : record W -> string, (forall r, In (cell r) cells) /\
        (forall c l, In c cells -> names W c l = true -> names W q l = true) /\
        forall c h l d, In c cells -> next W h = Some l -> names W c l = true ->
          same (ideal W h d) (ideal W h (fun u => match d u with Some r => if String.eqb (cell r) c then Some r else None | None => None end))
    | Persons q rel rows most => exists rows_of : data (person W) -> D,
        (forall l, names W q l = true -> table W l = rows_of) /\
        forall d d', neighbours (fun _ _ => 0) rel d d' ->
          steps (neighbours (distance W) rows) (Z.to_nat most) (rows_of d) (rows_of d')
    | Rare q how probability => forall ds gone (T T' : H -> D) h,
        (forall h l, next W h = Some l -> of_draws ds h = true -> names W q l = true) -> fresh (of_draws ds) h ->
        let real T h := draw (map fst ds ++ gone) (T h) h in
        let proved T h := draw gone (T h) h in
        match how with
        | Distance => forall p p', chance (of_draws ds) (real T) (proved T) h p p' -> p <= p' + Q2R probability
        | Event => exists chance_of_it, 0 <= chance_of_it <= Q2R probability /\ chance_of_it <= 1 /\
            forall p q, chance (of_draws ds) (real T) (real T') h p q -> forall t, 0 < t ->
              exists p' q', chance (of_draws ds) (proved T) (proved T') h p' q' /\
                p <= (1 - chance_of_it) * p' + chance_of_it + t /\ (1 - chance_of_it) * q' <= q + t
        end
    | Apart q law numbers rel _ =>
        match law, numbers with
        | ByNumber, [m] => records_apart rel q (fun moves => exists x, moves = [x] /\ Rabs x = Q2R m)
        | ByVector, [m] => records_apart rel q (fun moves => total square moves = Q2R m)
        | BySymmetric, [m] => size W q = (side W q * side W q)%nat /\
            (forall o i h d a b, (a < side W q)%nat -> (b < side W q)%nat ->
               value W q o i h d (a * side W q + b)%nat = value W q o i h d (b * side W q + a)%nat) /\
            records_apart rel q (fun moves => total square moves = Q2R m)
        | ByGaussian, [m] => told_apart rel q (fun p p' => exists z, p = Phi (z + sqrt (Q2R m)) /\ p' = Phi z)
        | ByLaplace, [m] => told_apart rel q (fun p p' => exists x, p = laplace_below (x + Q2R m) /\ p' = laplace_below x)
        | ByEvent, [p; q'] => told_apart rel q (fun a b => a = Q2R p /\ b = Q2R q')
        | _, _ => False
        end
    | Refuted s epsilon delta rel _ => told_apart rel s (fun _ _ => False) /\
        exists p q, exp (Q2R epsilon) * q + Q2R delta < p /\ told_apart rel s (fun a b => a = p /\ b = q)
    end.
End World.
