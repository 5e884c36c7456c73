(** What a step takes for granted: a hypothesis, that it holds; a draw of noise, that the program draws so.

    Continuous laws are known by their half-lines and by their likelihood ratios, which is all that is used of them:
    some finitely additive extension to all tests, of the laws of all means at once, is one.  Discrete laws are given by weights. *)
Require Import Reals QArith Qreals ZArith String List Bool.
From DP.base Require Import Laws Sums Normal.
From DP Require Import Facts Definitions.
From DP Require Steps.
Import ListNotations.
Open Scope R_scope.

Definition upto (a : R) : R -> R := fun x => if Rle_dec x a then 1 else 0.

(** Laws that are densities to each other, up to a constant: L m f = c · L m' (f · ratio / c) where that is a test. *)
Definition likelihood (L : R -> law R) (density : R -> R -> R) :=
  forall m m' c f, 0 < c -> test f -> test (fun x => f x * (density m x / density m' x) / c) ->
    L m f = c * L m' (fun x => f x * (density m x / density m' x) / c).

Definition normal_law (deviation : R) (N : R -> law R) :=
  (forall m a, N m (upto a) = Phi ((a - m) / deviation)) /\
  likelihood N (fun m x => exp (- ((x - m) / deviation) ^ 2 / 2)).

Definition laplace_law (b : R) (L : R -> law R) :=
  (forall m a, L m (upto a) = laplace_below ((a - m) / b)) /\
  likelihood L (fun m x => exp (- Rabs (x - m) / b)).

(** Two-sided geometric noise. *)
Definition discrete_laplace (b : R) := proportional (fun z : Z => exp (- Rabs (IZR z) / b)).

(** Uniformly random order of outcomes; the first one whose coin falls right, with chances [p], is taken. *)
Fixpoint permute_and_flip (n : nat) (p : nat -> R) (rest : list nat) (o : nat) : R :=
  match n with
  | O => 0
  | S less => total (fun j => / INR (length rest) *
      ((if (j =? o)%nat then p j else 0) + (1 - p j) * permute_and_flip less p (remove Nat.eq_dec j rest) o)) rest
  end.

Definition highest (scores : list R) : R := fold_right Rmax (hd 0 scores) scores.

(** Whether each number passes the noisy threshold T, until [limit] of them have. *)
Fixpoint sparse (noise : law Z) (grid : R) (limit : nat) (T : Z) (numbers : list Z) : law (list bool) :=
  match limit, numbers with
  | S less, x :: rest =>
      bind noise (fun z => if (T <=? x + z)%Z
        then image (cons true) (sparse noise grid less T rest)
        else image (cons false) (sparse noise grid limit T rest))
  | _, _ => point []
  end.

Section Meaning.
  Variable W : world.
  Local Notation H := (history (message W)).
  Local Notation D := (data (record W)).

  (** These whole numbers, in steps of [grid], are the numbers. *)
  Definition on_grid (grid : R) (numbers : list (D -> R)) (whole : list (D -> Z)) :=
    length numbers = length whole /\
    forall c z, In (c, z) (combine numbers whole) -> forall d, c d = grid * IZR (z d).

  (** Upper triangle of a symmetric matrix by rows, with how much more variance a number gets than off the diagonal. *)
  Definition triangle {A} (n : nat) (l : list A) (default : A) : list (A * R) :=
    flat_map (fun i => map (fun j => (nth (i * n + j) l default, if (i =? j)%nat then 2 else 1)) (seq i (n - i))) (seq 0 n).

  Definition weighed {A} (symmetric : bool) (n : nat) (l : list A) (default : A) : list (A * R) :=
    if symmetric then triangle n l default else map (fun a => (a, 1)) l.

  (** What is said after h on d, is [sample d] or made of it. *)
  Definition made_of {A} (h : H) (sample : D -> law A) :=
    exists post : A -> law (message W), forall d, same (ideal W h d) (bind (sample d) post).

  Definition drawn_by (law : noise_law) (q : string) (o : spread) (i : Z) (h : H) (numbers : list (D -> R)) : Prop :=
    match law with
    | NormalNoise variance symmetric => exists N, (forall s, 0 < s -> normal_law s (N s)) /\
        made_of h (fun d => each (map (fun cw => N (sqrt (snd cw * Q2R variance)) (fst cw d)) (weighed symmetric (side W q) numbers (fun _ => 0))))
    | DiscreteNormal variance grid symmetric | FineNormal variance grid _ symmetric =>
        exists N whole, on_grid (Q2R grid) numbers whole /\
          (forall v, 0 < v -> discrete_normal (v * Q2R variance / (Q2R grid * Q2R grid)) (N v)) /\
          made_of h (fun d => each (map (fun zw => image (Z.add (fst zw d)) (N (snd zw))) (weighed symmetric (side W q) whole (fun _ => 0%Z))))
    | LatticeNormal variance => exists N whole, on_grid 1 numbers whole /\ discrete_normal (Q2R variance) N /\
        made_of h (fun d => each (map (fun z => image (Z.add (z d)) N) whole))
    | LaplaceNoise b None => exists L, laplace_law (Q2R b) L /\ made_of h (fun d => each (map (fun c => L (c d)) numbers))
    | LaplaceNoise b (Some grid) => exists L whole, on_grid (Q2R grid) numbers whole /\ discrete_laplace (Q2R b / Q2R grid) L /\
        made_of h (fun d => each (map (fun z => image (Z.add (z d)) L) whole))
    | ExponentialChoice rate => exists P : D -> Laws.law nat,
        (forall d, proportional (fun j => if (j <? length numbers)%nat then exp (Q2R rate * nth j numbers (fun _ => 0) d) else 0) (P d)) /\
        made_of h P
    | FlippedChoice rate => exists P : D -> Laws.law nat,
        (forall d, let scores := map (fun c => c d) numbers in
           let p j := exp (Q2R rate * (nth j scores 0 - highest scores)) in
           proportional (fun o => if (o <? length numbers)%nat
             then permute_and_flip (length numbers) p (seq 0 (length numbers)) o else 0) (P d)) /\
        made_of h P
    | LengthNoise rate grid => exists V whole, on_grid (Q2R grid) numbers whole /\
        proportional (fun v : list Z => if (length v =? length numbers)%nat
          then exp (- Q2R rate * sqrt (total (fun z => (Q2R grid * IZR z) ^ 2) v)) else 0) V /\
        made_of h (fun d => image (fun v => map (fun p => (fst p d + snd p)%Z) (combine whole v)) V)
    | SparseAnswers threshold b limit grid => exists T X whole, on_grid (Q2R grid) numbers whole /\
        discrete_laplace (Q2R threshold / Q2R grid) T /\ discrete_laplace (Q2R b / Q2R grid) X /\
        made_of h (fun d => bind T (fun t => sparse X (Q2R grid) (Z.to_nat limit) t (map (fun z => z d) whole)))
    | TableAnswer table => exists row : Z -> Laws.law nat,
        (forall k, In k (map Z.of_nat (seq 0 (length table))) ->
           proportional (fun j => Q2R (nth j (nth (Z.to_nat k) table []) 0%Q)) (row k)) /\
        made_of h (fun d => each (map (fun u => match d u with
          | Some r => if takes_part W q o i h u r then row (Int_part (adds W q o i h u r 0%nat)) else point 0%nat
          | None => point 0%nat
          end) (units_there W)))
    | ShuffledAnswers table size _ => exists row : Z -> Laws.law nat,      (* how often each outcome is seen, of all who answer *)
        (forall k, In k (map Z.of_nat (seq 0 (length table))) ->
           proportional (fun j => Q2R (nth j (nth (Z.to_nat k) table []) 0%Q)) (row k)) /\
        made_of h (fun d =>
          let answers := flat_map (fun u => match d u with
            | Some r => if takes_part W q o i h u r then [row (Int_part (adds W q o i h u r 0%nat))] else []
            | None => []
            end) (units_there W) in
          if (Z.of_nat (length answers) <? size)%Z then point []           (* of fewer, nothing *)
          else image (fun l => map (count_occ Nat.eq_dec l) (seq 0 (length (hd [] table)))) (each answers))
    | CellsShown b threshold _ => exists X whole, on_grid 1 numbers whole /\ discrete_laplace (Q2R b) X /\
        made_of h (fun d => each (map (fun z => if (z d =? 0)%Z then point None
          else image (fun x => if (threshold <=? z d + x)%Z then Some (z d + x)%Z else None) X) whole))
    | FilterCharges => True
    end.

  (** Noise under this key is drawn on this place by its law, if nothing else is drawn with the key.  What is noise on
      a query itself, not on a stream made of it, reads units that are fixed beforehand. *)
  Definition draws_as_said (k : string) (p : place) :=
    (is_stream (made p) = false -> steady W (query p)) /\
    forall o, let p := Place (query p) (made p) (how p) o in
      (forall h l, next W h = Some l -> key l = k -> at_place l = p) ->
      forall h l, next W h = Some l -> key l = k ->
        drawn_by (how p) (query p) (over (at_place l)) (index l) h (numbers_at W l h).

  (** Release i over these covers shows the numbers of a query with noise of such a law, so that who sees it knows them. *)
  Definition shows_noise (law : told) (scale : R) (symmetric : bool) (q : string) (o : spread) (i : Z) (h : H) : Prop :=
    exists (N : R -> R -> Laws.law R) (show : list R -> message W) (read : message W -> list R),
      (forall a, read (show a) = a) /\
      (forall s, 0 < s -> match law with
         | ByGaussian => normal_law s (N s)
         | ByLaplace => laplace_law s (N s)
         | _ => False
         end) /\
      forall d, same (ideal W h d) (image show (each (map
        (fun cw => N (match law with ByGaussian => sqrt (snd cw * scale) | _ => scale end) (fst cw d))
        (weighed symmetric (side W q) (map (fun j d => value W q o i h d j) (seq 0 (size W q))) (fun _ => 0))))).

  (** From h on these releases are made one after another, whatever they show. *)
  Fixpoint made_in_turn (law : told) (scale : R) (symmetric : bool) (q : string) (o : spread) (todo : list Z) (h : H) : Prop :=
    match todo with
    | [] => True
    | i :: rest => (exists l, next W h = Some l /\ names W q l = true /\ over (at_place l) = o /\ index l = i) /\
        shows_noise law scale symmetric q o i h /\ forall m, made_in_turn law scale symmetric q o rest (m :: h)
    end.

  (** Noise on a fine grid under this key: what is said is one function of the history, made of the noise.  An ideal
      program puts other noise into the same function. *)
  Definition made_one_way (k : string) (p : place) :=
    exists post : H -> list Z -> Laws.law (message W), forall o, let p := Place (query p) (made p) (how p) o in
      (forall h l, next W h = Some l -> key l = k -> at_place l = p) ->
      forall h l, next W h = Some l -> key l = k ->
        match how p with
        | FineNormal variance grid _ symmetric => exists N whole, on_grid (Q2R grid) (numbers_at W l h) whole /\
            (forall v, 0 < v -> discrete_normal (v * Q2R variance / (Q2R grid * Q2R grid)) (N v)) /\
            forall d, same (ideal W h d) (bind (each (map (fun zw => image (Z.add (fst zw d)) (N (snd zw)))
              (weighed symmetric (side W (query p)) whole (fun _ => 0%Z)))) (post h))
        | _ => True
        end.

  Definition takes_for_granted (s : Steps.step) (found : list line) (n : line) : Prop :=
    match s with
    | Steps.AssumeCovers _ _ | Steps.AssumeTree _ _ _ => reads_covers W (covers_of n)
    | Steps.AssumeView _ _ _ | Steps.AssumeBall _ _ _ _ | Steps.AssumeRankOne _ _ _ _ _ | Steps.AssumePoints _ _ _ _
    | Steps.AssumeClipped _ _ _ _ _ | Steps.AssumeCell _ _ _ | Steps.AssumeLipschitz _ _ _ _
    | Steps.AssumeRounds _ _ _ _ _ | Steps.AssumeNumbers _ _ | Steps.AssumeRange _ _ _ | Steps.AssumeEach _ _ _
    | Steps.AssumeL1 _ _ _ | Steps.AssumeChoice _ _ | Steps.AssumeSplit _ _ | Steps.AssumePersons _ _ _ _ | Steps.AssumeRare _ _ _
    | Steps.AssumeFilter _ _ _ | Steps.AssumeNeighbours _ _ _ _ _ _ | Steps.AssumeEvent _ _ _ _ _ => holds W n
    | Steps.ByFineGaussian _ _ _ _ _ => forall k p, In (k, p) (drawn n) -> draws_as_said k p /\ made_one_way k p
    | Steps.ByLatticeGaussian _ _ | Steps.ByDiscreteGaussian _ _ _
    | Steps.ByGaussianNoise _ _ | Steps.ByLaplaceNoise _ _ _ | Steps.ByExponential _ _ | Steps.ByPermuteAndFlip _ _
    | Steps.ByKNorm _ _ _ _ | Steps.BySparseVector _ _ _ _ _ | Steps.ByFinite _ _ _ | Steps.ByShuffled _ _ _ _ _
    | Steps.ByStableHistogram _ _ _ _ =>
        forall k p, In (k, p) (drawn n) -> draws_as_said k p
    | Steps.ByApart law scale =>                          (* all releases over the covers are made, with this noise *)
        match found with
        | [told; covers] => match says told with
            | Apart q known _ _ _ => exists h, fresh (fun h => match next W h with Some l => names W q l | None => false end) h /\
                made_in_turn law (Q2R scale) (match known with BySymmetric => true | _ => false end) q (covers_of covers)
                  (map Z.of_nat (seq 0 (length (covers_list (covers_of covers))))) h
            | _ => True
            end
        | _ => True
        end
    | Steps.ByBuffered width _ _ _ _ =>                   (* floors are counted of so many numbers of a row *)
        match says n with
        | Stable q _ _ _ _ => forall k p o i h, (Z.of_nat (length (numbers_of W k p q (tl (changes n)) o i h)) <= width)%Z
        | _ => True
        end
    | _ => True
    end.
End Meaning.
