"""The rules, a function each, by family: what they take, what they give, and where it is published.

Side conditions are stated in the checker's family of the same name (`dpaccount/checker/NAME.py`).
"""

from collections.abc import Sequence
from fractions import Fraction

from dpaccount.checker.facts import Units
from dpaccount.relation import CENTRAL

from .theorem import Theorem, exact, inferred, releases, told

Table = Sequence[Sequence[Fraction]]
Matrix = Sequence[Sequence[int]]
Buffers = Sequence[tuple[int, int]]
Entered = int | Theorem  #: a number of rounds, or the hypothesis which unit enters which
Vector = Sequence[Fraction]

# ------------------------------------------------------------------ hypotheses; `because` names evidence
# Numbers that come from the private data have no place in a proof (R20).


def _source(source: str) -> str | None:
    return None if source == "public" else source


def assume_points(
    query: str, points: Sequence[tuple[int, ...]], relation: str, because: str, source: str = "public"
) -> Theorem:
    """Assume that every unit adds one of the declared integer vectors (R1)."""
    # One order for one set, so that equal hypotheses are one step of a derivation.
    listed, named = sorted(set(map(tuple, points))), _source(source)
    return inferred(
        "assume_points", query=query, points=listed, relation=relation, source=named, because=because
    )


def assume_clipped(
    query: str, low: Fraction, high: Fraction, relation: str, because: str, source: str = "public"
) -> Theorem:
    """Assume that every unit adds one number in [low, high], clipped there (R1)."""
    ends, named = {"low": low, "high": high}, _source(source)
    return inferred("assume_clipped", query=query, **ends, relation=relation, source=named, because=because)


def assume_ball(query: str, radius: Fraction, relation: str, because: str, source: str = "public") -> Theorem:
    """Assume that every unit adds a vector of ℓ2 norm at most `radius` (R1)."""
    named = _source(source)
    return inferred(
        "assume_ball", query=query, radius=radius, relation=relation, source=named, because=because
    )


def assume_rank_one(
    query: str, reward: Fraction, relation: str, because: str, kind: str = "rank-one", source: str = "public"
) -> Theorem:
    """Assume that every unit adds [φφᵀ, φy; yφᵀ, 0], ‖φ‖ ≤ 1 and |y| ≤ `reward`; ``outer``: with y² (R1)."""
    given = {"query": query, "reward": reward, "kind": kind, "relation": relation, "source": _source(source)}
    return inferred("assume_rank_one", **given, because=because)


def assume_cell(query: str, relation: str, because: str, most: int = 1) -> Theorem:
    """Assume that a unit adds 1 to at most `most` cells of a table of data-dependent length (R1)."""
    several = None if most == 1 else most
    return inferred("assume_cell", query=query, relation=relation, most=several, because=because)


def assume_lipschitz(query: str, factor: Fraction, slack: Fraction, reach: Fraction, because: str) -> Theorem:
    """Assume that `query` is Lipschitz in one row and bounded, as `Lipschitz` defines (R1)."""
    given = {"factor": factor, "slack": slack, "reach": reach}
    return inferred("assume_lipschitz", query=query, **given, because=because)


def assume_covers(query: str, covers: Sequence[Units], because: str) -> Theorem:
    """Assume that release i of `query` sums the units of covers[i] = [first, last] and no others (R9)."""
    return inferred("assume_covers", query=query, covers=covers, because=because)


def assume_tree(query: str, rounds: int, because: str, levels: int | None = None) -> Theorem:
    """Assume that `query` is released once for every complete node of a binary tree over the rounds.

    A round lies in one node of each level at most; all ⌊log₂ N⌋ + 1 or the lowest (Chan et al. 2011) (R10).
    """
    depth = rounds.bit_length() if levels is None else levels
    return inferred("assume_tree", query=query, rounds=rounds, levels=depth, because=because)


def assume_view(query: str, audience: str, because: str, keys: Sequence[str] = ()) -> Theorem:
    """Assume that `query` shows only a function of releases, as `View` defines (R12, R13, R21).

    `keys` are those of the releases.  Without `keys`, the rule that uses it takes all of its premise.
    """
    return inferred("assume_view", query=query, audience=audience, releases=sorted(keys), because=because)


def assume_rounds(
    query: str, rounds: int, because: str, times: int = 1, apart: int = 1, ends: Sequence[int] | None = None
) -> Theorem:
    """Assume which unit enters which round of a stream or row of a table, as `Rounds` defines (R11).

    With `ends`, the last unit of every round, a round is a batch of units that follow those before it.
    """
    given = {"participations": times, "separation": apart} if (times, apart) != (1, 1) else {}
    return inferred("assume_rounds", query=query, rounds=rounds, **given, ends=ends, because=because)


def assume_numbers(query: str, most: int, because: str) -> Theorem:
    """Assume that a release of `query` has at most `most` numbers, as `Numbers` defines (R18)."""
    return inferred("assume_numbers", query=query, most=most, because=because)


def assume_choice(query: str, parts: Sequence[Sequence[str]], because: str) -> Theorem:
    """Assume that a public coin chooses the one part that is drawn, as `Choice` defines (R16)."""
    return inferred("assume_choice", query=query, parts=parts, because=because)


def assume_split(query: str, cells: Sequence[str], because: str) -> Theorem:
    """Assume that every record is read in one of the cells, as `Split` defines (R9)."""
    return inferred("assume_split", query=query, cells=cells, because=because)


def assume_persons(query: str, relation: str, rows: str, most: int, because: str) -> Theorem:
    """Assume that changing one person's data changes at most `most` rows, one per step (`Persons`) (R15)."""
    return inferred("assume_persons", query=query, relation=relation, rows=rows, most=most, because=because)


def assume_rare(query: str, kind: str, probability: Fraction, because: str) -> Theorem:
    """Assume that `query` departs with small probability, as `Rare` defines (R18)."""
    return inferred("assume_rare", query=query, kind=kind, probability=probability, because=because)


def assume_range(query: str, width: Fraction, relation: str, because: str) -> Theorem:
    """Assume that neighbours' scores differ by d(o) with max d − min d ≤ `width` over all outputs o (R6).

    An output of several choices has a candidate of each, and their scores are added: so are the ranges.
    """
    return inferred("assume_range", query=query, width=width, relation=relation, because=because)


def assume_each(query: str, width: Fraction, relation: str, because: str) -> Theorem:
    """Assume that every number of `query` moves by at most `width` between neighbours (R2)."""
    return inferred("assume_each", query=query, width=width, relation=relation, because=because)


def assume_l1(query: str, width: Fraction, relation: str, because: str) -> Theorem:
    """Assume that all numbers of `query` together move by at most `width` in ℓ1 between neighbours (R2)."""
    return inferred("assume_l1", query=query, width=width, relation=relation, because=because)


def assume_filter(
    query: str, measure: str, budget: Sequence[Fraction], relation: str, because: str
) -> Theorem:
    """Assume that charges may depend on the past, and none is admitted that would bring the sum over budget.

    Pure and (ε, δ) by sums, zCDP and GDP by Σρ and Σμ² (Rogers, Roth, Ullman & Vadhan 2016; Feldman &
    Zrnic 2021; Smith & Thakurta 2022) (R8).
    """
    given = {"measure": measure, "budget": exact(budget), "relation": relation}
    return inferred("assume_filter", query=query, **given, because=because)


# ------------------------------------------------------------------ sensitivity


def linear(contribution: Theorem, bound_squared: Fraction | None = None) -> Theorem:
    """Bound the movement of a sum of per-unit contributions: two (replace-one) or one (add-remove) (R2).

    An interval gives its ℓ1 bound (width, or largest magnitude), cells their number or twice that, a ball
    4r² or r².  Rank one: D² = 2(1+B²)² for B ≤ 1, then 8B²; of ``outer`` a verified `bound_squared`, needed
    for B > 1 (docs/proofs.md).
    """
    return inferred("linear", contribution, bound_squared=bound_squared)


def moved(rows: Theorem, radius: Fraction | None) -> Theorem:
    """Bound how far a query's answer moves if a row moves by at most `radius`, or (None) is replaced (R2)."""
    return inferred("moved", rows, radius=radius)


def differences(contribution: Theorem) -> Theorem:
    """List every way in which a sum of integer contributions can move, up to order and signs (R2)."""
    return inferred("differences", contribution)


def _entered(query: Theorem, rounds: Entered, times: int = 1, apart: int = 1) -> Theorem:
    """Return the hypothesis of which unit enters which round: as given, or for a number of rounds."""
    if isinstance(rounds, Theorem):
        return rounds
    name = told(query, "query") or ""
    return assume_rounds(name, rounds, "movement", times, apart if times > 1 else 1)


def centred(query: Theorem, rows: Entered) -> Theorem:
    """Subtract the mean of `rows` rows, a public number: row i moves by v − v/n, every other by −v/n (R2)."""
    return inferred("centred", query, _entered(query, rows))


def joint(person: Theorem, weight: Fraction) -> Theorem:
    """Stack the upper triangle of Σφφᵀ and √`weight`·Σφy into one vector, for noise of one deviation (R4).

    Its movement is the supremum of the sum (docs/proofs.md): 2 − 2c² + 2B²w(1 + c), c = min(1, B²w/2).
    """
    return inferred("joint", person, weight=weight)


def factorised(
    query: Theorem,
    rounds: Entered,
    matrix: Matrix,
    bits: int = 0,
    participations: int = 1,
    separation: int = 1,
    contribution: Theorem | None = None,
) -> Theorem:
    """Apply a public lower-triangular matrix C of integers over 2^bits to a stream (Li et al. 2015) (R11).

    `matrix` holds C's rows up to the diagonal, or one row: the coefficients of a Toeplitz C.  Rows are
    released in order with independent noise, so queries may be adaptive (Denisov et al. 2022).  A unit
    enters one round: the whole moves by at most the longest column; or up to k rounds at least b apart, as
    the relation then states: ‖Σ C e_i u_i‖² ≤ Σ_{i,j in S} |⟨C_i, C_j⟩| for the rounds S that it enters
    (Choquette-Choo et al. 2023), bounded over all S (docs/proofs.md).  A replaced unit may enter other rounds
    than before: its old and new additions are each within `contribution`, of a plain sum.
    """
    entered = _entered(query, rounds, participations, separation)
    person = contribution or next(iter(getattr(query, "premises", ())), query)
    # Even if no more than one round fits: a neighbour's may be another one.
    several = told(entered, "times") not in (None, 1)
    return inferred("factorised", query, entered, *([person] if several else []), matrix=matrix, bits=bits)


def stream_l1(person: Theorem, rounds: Theorem) -> Theorem:
    """Bound the ℓ1 movement of sums of numbers, one a round, where a unit's data choose its round (R11).

    `rounds` is `assume_rounds` with at least as many rounds between two participations as there are: along
    every history a unit enters at most one.  The triangle inequality: its old number leaves one sum, its new
    one enters one (docs/proofs.md#late-answers).
    """
    return inferred("stream_l1", person, rounds)


def buffered(
    query: Theorem, rounds: Entered, width: int, pairs: Buffers, bits: int, step: Fraction, most: Fraction
) -> Theorem:
    """Add decaying buffers b ← ⌊λb⌋ + w·x to a stream x of vectors of `width` steps·2^bits (R11).

    Rows x + Σb are released in order, as `factorised` ones; `pairs` holds w and λ < 1, integers over 2^bits
    (Dvijotham et al. 2024).  A change of x moves the row k later by c_k = Σ w λ^(k−1) times it, c_0 = 1, and
    every number by up to Σ 1/(1−λ) steps more, one lost a round to floors.  `most` bounds its square by
    ((Σ c_k²)^½·before + step·(width·(rounds − 1))^½·Σ 1/(1−λ))² (docs/proofs.md).
    """
    given = {"width": width, "pairs": pairs, "bits": bits, "step": step, "most": most}
    return inferred("buffered", query, _entered(query, rounds), **given)


# ------------------------------------------------------------------ one draw of noise on a query
# `key` names the draw, for receipts.  Values lie on the `grid`, where noise is drawn; None: continuous.


def laplace(query: Theorem, scale: Fraction, grid: Fraction | None, key: str) -> Theorem:
    """Laplace noise of `scale` on an ℓ1-stable query is (bound/scale)-DP (Dwork et al. 2006) (R5).

    On a grid it is discrete, with the same ratios (Ghosh, Roughgarden & Sundararajan 2012).
    """
    return inferred("laplace", query, scale=scale, grid=grid, key=key)


def k_norm(query: Theorem, rate: Fraction, bound: Fraction, grid: Fraction, key: str) -> Theorem:
    """Noise v with mass ∝ exp(−rate·‖v‖₂) on a grid γℤᵈ is (rate·bound)-DP (Hardt & Talwar 2010) (R5)."""
    return inferred("k_norm", query, rate=rate, bound=bound, grid=grid, key=key)


def gaussian(query: Theorem, variance: Fraction, key: str) -> Theorem:
    """Gaussian noise N(0, variance) is μ-GDP, μ² = bound²/variance (Dong, Roth & Su 2022) (R3).

    A symmetric query (Frobenius norm) gets symmetric noise: `variance` off the diagonal, once for both
    halves, and twice that on it (GOE); a shift A has Mahalanobis length ‖A‖_F²/(2·variance) (R4).
    """
    return inferred("gaussian", query, variance=variance, key=key)


def discrete_gaussian(query: Theorem, variance: Fraction, grid: Fraction, key: str) -> Theorem:
    """Discrete Gaussian noise on a grid γℤᵈ is zCDP, ρ = bound²/(2·variance) (Canonne et al. 2020) (R3)."""
    return inferred("discrete_gaussian", query, variance=variance, grid=grid, key=key)


def fine_gaussian(
    query: Theorem,
    variance: Fraction,
    grid: Fraction,
    coordinates: int,
    distance: Fraction,
    key: str,
    numbers: Theorem | None = None,
) -> Theorem:
    """Add discrete Gaussian noise on a fine grid: near rounded noise in total variation, and so near GDP.

    `coordinates` are drawn, by the hypothesis `numbers`.
    With s = σ/γ ≥ 1 the two laws of a coordinate differ by at most φ(1)/(12s²) + (1+4e^(−3/2))/(48√(2π)s³)
    + Σ_m e^(−2π²s²m²) < .0201643/s² + .01573/s³ in total variation (docs/proofs.md) (R18).
    """
    counted = numbers or assume_numbers(told(query, "query") or "", coordinates, "movement")
    given = {"variance": variance, "grid": grid, "coordinates": coordinates, "distance": distance}
    return inferred("fine_gaussian", query, counted, **given, key=key)


def lattice_gaussian(shifts: Theorem, variance: Fraction, key: str) -> Theorem:
    """Add discrete Gaussian noise to integers that move by a known shift: the worst shift's curve (R3)."""
    return inferred("lattice_gaussian", shifts, variance=variance, key=key)


def exponential(scores: Theorem, rate: Fraction, key: str) -> Theorem:
    """Draw o with weight ∝ exp(rate·score(o)): bounded range rate·width (Durfee & Rogers 2019) (R6)."""
    return inferred("exponential", scores, rate=rate, key=key)


def permute_and_flip(scores: Theorem, rate: Fraction, key: str) -> Theorem:
    """Take the largest score plus exponential noise: pure (McKenna & Sheldon 2020; Ding et al. 2021) (R6)."""
    return inferred("permute_and_flip", scores, rate=rate, key=key)


def finite(answer: Theorem, table: Table, epsilon: Fraction, key: str) -> Theorem:
    """Answer the symbol i, one of 0 … k−1, by an outcome drawn from row i of a public table: pure.

    e^ε is at least every ratio within a column (Warner 1965; Kairouz, Oh & Viswanath 2016) (R5).
    """
    return inferred("finite", answer, table=list(map(exact, table)), epsilon=epsilon, key=key)


def shuffled(
    answer: Theorem, table: Table, size: int, epsilon: Fraction, delta: Fraction, key: str
) -> Theorem:
    """Show `size` units' answers or more in random order, drawn as by `finite`; of fewer, nothing: (ε, δ).

    Others' answers hide a unit's as clones of it (Feldman, McMillan & Talwar 2023) (docs/proofs.md) (R5).
    """
    return inferred(
        "shuffled", answer, table=list(map(exact, table)), size=size, epsilon=epsilon, delta=delta, key=key
    )


def sparse_vector(
    query: Theorem, threshold: Fraction, scale: Fraction, limit: int, grid: Fraction, key: str
) -> Theorem:
    """Release which numbers of a stream pass a noisy threshold, up to `limit` times: pure.

    Laplace noise of scale `threshold` on the threshold, once, and of `scale` on each number.  The threshold
    moves by Δ; a number above makes up for 2Δ, one below for nothing (Lyu, Su & Li 2017, Algorithm 1) (R5).
    """
    # Variants in print that add no noise to the numbers, or go on after any number of answers above, are not
    # private (Lyu, Su & Li 2017).
    given = {"threshold": threshold, "scale": scale, "limit": limit, "grid": grid}
    return inferred("sparse_vector", query, **given, key=key)


def stable_histogram(cells: Theorem, scale: Fraction, threshold: int, delta: Fraction, key: str) -> Theorem:
    """Show noisy counts, of cells that are not empty and then reach `threshold`: (k/scale, δ), add-remove.

    A record costs 1/scale in each of its k cells; alone in one it shows it with probability p = P(1 + X ≥ τ)
    = e^(−(τ−1)/b)/(1 + e^(−1/b)), X Laplace; δ ≥ 1 − (1−p)^k (Korolova et al. 2009) (docs/proofs.md) (R5).
    """
    return inferred("stable_histogram", cells, scale=scale, threshold=threshold, delta=delta, key=key)


# ------------------------------------------------------------------ several releases, and who sees which


def compose(*parts: Theorem) -> Theorem:
    """Release all parts on the same units, adaptively: pure ε, (ε, δ), ρ, μ² and distances add (R7).

    Bounds are fixed in advance (Dwork et al. 2006; Bun & Steinke 2016; Dong, Roth & Su 2022).
    """
    return inferred("compose", *parts)


def nodes(leaf: Theorem, covered: Theorem) -> Theorem:
    """Release the query of `leaf` over each of its covers with independent noise (R7, R9, R10).

    Given the transcript, what follows depends on a unit only through its vector, added in the covers that
    contain it: the cost is that of `most` releases moved by it, and other covers are free. Groups come after.
    """
    return inferred("nodes", leaf, covered)


def parallel(*parts: Theorem) -> Theorem:
    """Release each part on units of its own, separated by public position (McSherry 2009) (R9)."""
    return inferred("parallel", *parts)


def partition(split: Theorem, *cells: Theorem) -> Theorem:
    """Release each cell of a partition by value; a record pays for one cell, or two (McSherry 2009) (R9).

    Under replace-one it may move: `cells` are then the replace-one statements about all cells followed by
    their add-remove ones, about the same draws, and it pays for a change in its cell, or for leaving one and
    entering another.
    The whole reads the units that any cell reads.
    """
    return inferred("partition", split, *cells)


def mixture(*parts: Theorem, choice: Theorem | None = None) -> Theorem:
    """Let a public coin choose among parts that run on the same units: the worst, in any measure (R16).

    That one part is drawn, and of the others nothing, is the hypothesis `choice`.
    """
    subject = " or ".join(told(part, "subject") or "" for part in parts)
    return inferred(
        "mixture", choice or assume_choice(subject, list(map(releases, parts)), "one part"), *parts
    )


def local(message: Theorem, covered: Theorem) -> Theorem:
    """Each person randomises messages that read one unit, given what is public: local DP (R14)."""
    return inferred("local", message, covered)


def _seen(rule: str, part: Theorem, view: Theorem) -> Theorem:
    """Apply a rule on a view, which without keys is of all that its premise releases."""
    if told(view, "releases") == () and isinstance(part, Theorem) and (keys := releases(part)):
        shown = view.witness
        view = assume_view(shown["query"], shown["audience"], shown["because"], keys)
    return inferred(rule, part, view)


def post_process(part: Theorem, view: Theorem) -> Theorem:
    """Show everyone functions of the releases, public values and fresh coins (R12)."""
    return _seen("post_process", part, view)


def billboard(part: Theorem, view: Theorem) -> Theorem:
    """Show each person a function of their own data and the private releases: joint DP (R13).

    For unit t the view of all others is a post-processing of the releases: their outputs read their
    own data, the releases, and coins apart from the noise (Hsu et al. 2014, billboard lemma).
    """
    return _seen("billboard", part, view)


def local_view(part: Theorem, view: Theorem) -> Theorem:
    """Show functions of the private messages, and to each person of their own data too (R12, R14)."""
    return _seen("local_view", part, view)


# ------------------------------------------------------------------ one privacy statement restated


def to_zcdp(part: Theorem) -> Theorem:
    """Pure gives ε²/2, GDP μ²/2 (Bun & Steinke 2016), bounded range η²/8 zCDP (Cesar & Rogers 2021) (R17)."""
    return inferred("to_zcdp", part)


def to_pure(part: Theorem) -> Theorem:
    """η-bounded range is η-DP (Durfee & Rogers 2019) (R17)."""
    return inferred("to_pure", part)


def to_renyi(part: Theorem, orders: Sequence[Fraction]) -> Theorem:
    """ρ-zCDP bounds the Rényi divergence of every order α > 1 by αρ (Bun & Steinke 2016) (R17)."""
    return inferred("to_renyi", part, orders=exact(orders))


def to_gdp(part: Theorem, mu_squared: Fraction) -> Theorem:
    """Pure ε is μ-GDP for Φ(−μ/2) ≤ 1/(1+e^ε) (Dong et al. 2022), η-bounded range as ε = η/2 is (R17)."""
    # Never from zCDP, nor from one point with δ > 0: what they allow may lie above every Gaussian profile.
    return inferred("to_gdp", part, mu_squared=mu_squared)


def to_near_gdp(part: Theorem) -> Theorem:
    """State μ-GDP as within distance 0 of itself, to compose with noise on a fine grid (R17)."""
    return inferred("to_near_gdp", part)


def to_approximate(
    part: Theorem, epsilon: Fraction, delta: Fraction, order: Fraction | None = None
) -> Theorem:
    """Convert a curve to any (ε, δ) with δ(ε) ≤ δ (Balle & Wang 2018; Canonne et al. 2020) (R17).

    zCDP and Rényi bounds are converted at an `order` above 1.
    """
    return inferred("to_approximate", part, epsilon=epsilon, delta=delta, order=order)


def group(part: Theorem, size: int, delta: Fraction | None = None) -> Theorem:
    """Protect k = `size` units at once: kε, k²μ², k²ρ; (ε, δ) gives (kε, δ(e^{kε} − 1)/(e^ε − 1)) (R15).

    The k-step path must stay in the domain (Dwork & Roth 2014; Bun & Steinke 2016; Dong et al. 2022).
    """
    return inferred("group", part, size=size, delta=delta)


def within(part: Theorem, radius: Fraction) -> Theorem:
    """Protect a row that moves by `radius`, by what protects groups of k rows that move by r each (R15).

    Rows are of a convex set: k = ⌈radius/r⌉ steps of the straight way stay in it (docs/proofs.md).
    """
    return inferred("within", part, radius=radius)


def persons(part: Theorem, bounding: Theorem) -> Theorem:
    """Protect a person with at most `most` rows by a statement on groups of `most` rows (R15).

    From here on neighbours are tables of persons, which the relation says.
    """
    return inferred("persons", part, bounding)


def despite(part: Theorem, rare: Theorem, delta: Fraction) -> Theorem:
    """Add what a rare departure costs to (ε, δ): p for an event, (1 + e^ε)p for total variation p (R18)."""
    return inferred("despite", part, rare, delta=delta)


def replace_one(part: Theorem) -> Theorem:
    """Replace a record by removing and adding one: add-remove for groups of 2 covers replace-one (R0)."""
    return inferred("replace_one", part)


# ------------------------------------------------------------------ two neighbours that can be distinguished


def assume_neighbours(
    query: str, kind: str, left: Vector, right: Vector, relation: str, because: str, observer: str = CENTRAL
) -> Theorem:
    """Assume that the claim allows two neighbours whose contributions to `query` are this far apart (R22).

    A ``vector`` moves it by `left` − `right` (add-remove: `right` is 0); for ``rank-one`` and ``outer``,
    v = (φ, y) and w, ‖vvᵀ − wwᵀ‖²_F = |v|⁴ + |w|⁴ − 2(v·w)², less the corner (y² − y′²)² where it is 0.
    """
    sides = {"left": exact(left), "right": exact(right)}
    given = {"kind": kind, "relation": relation, "observer": observer, "because": because}
    return inferred("assume_neighbours", query=query, **sides, **given)


def assume_event(
    query: str, likely: Fraction, rarely: Fraction, relation: str, because: str, observer: str = CENTRAL
) -> Theorem:
    """Assume that for two neighbours one event has probability ≥ `likely` and ≤ `rarely`: `Apart` (R22)."""
    given = {"relation": relation, "observer": observer, "because": because}
    return inferred("assume_event", query=query, likely=likely, rarely=rarely, **given)


def apart(neighbours: Theorem, covered: Theorem, law: str, scale: Fraction) -> Theorem:
    """Distinguish two neighbours by the noisy releases that read their differing record (R22).

    ``gaussian``: noise of variance `scale` (symmetric queries: off the diagonal, twice that on it) on
    every release; the releases together have μ² = most·D²/scale (D²/2 if symmetric).  ``laplace``: noise
    of that scale on one release of a number.
    """
    return inferred("apart", neighbours, covered, law=law, scale=scale)


def refute(pair: Theorem, epsilon: Fraction, delta: Fraction) -> Theorem:
    """Conclude that (ε, δ) does not hold: these two neighbours have a larger δ(ε) (R22)."""
    # Undecided is not refuted: only a proved excess counts.
    return inferred("refute", pair, epsilon=epsilon, delta=delta)
