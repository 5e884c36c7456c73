"""The rules that make privacy statements: sensitivity, noise, composition; long proofs: docs/kernel.md."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

from flint import arb, fmpq, fmpq_poly

from dpaccount.errors import RuleError
from dpaccount.proof.curves import at_most, ball
from dpaccount.proof.kernel import (
    ADD_REMOVE,
    ANYONE,
    CENTRAL,
    LOCAL,
    REPLACE_ONE,
    Approximate,
    BoundedRange,
    Choice,
    Contribution,
    Cover,
    Covered,
    Curve,
    Gdp,
    Lattice,
    NearGdp,
    Numbers,
    Private,
    Pure,
    Renyi,
    Rounds,
    Shift,
    Shifts,
    Split,
    Stable,
    Theorem,
    Zcdp,
    assume_choice,
    assume_numbers,
    assume_rounds,
    conclusion_of,
    key_of,
    need,
    number,
    one_draw,
    positive,
    private,
    proved,
    releases,
    stable,
    whole,
)

Matrix = Sequence[Sequence[int]]

# ------------------------------------------------------------------ sensitivity


def linear(contribution: Theorem, bound_squared: Fraction | None = None) -> Theorem:
    """Bound the movement of a sum of per-unit contributions: two (replace-one) or one (add-remove) (R2).

    An interval gives its ℓ1 bound (width, or largest magnitude); a ball gives 4r² or r².  Rank one: D² =
    2(1+B²)² for B ≤ 1, then 8B² without corner, a verified `bound_squared` with it (docs/kernel.md).
    """
    rule = "linear"
    fact = _contribution(contribution, rule)
    swap, high = fact.relation == REPLACE_ONE, fact.high
    norm, bound = "frobenius-squared", 2 * (1 + high**2) ** 2
    witness: dict[str, str] = {}
    match fact.kind:
        case "interval":
            norm, bound = "l1", high - fact.low if swap else max(abs(fact.low), abs(high))
        case "ball":
            norm, bound = "l2-squared", 4 * high if swap else high
        case "points":
            norm, bound = "l2-squared", Fraction(max(sum(v * v for v in s) for s in _moves(fact)))
        case "rank-one" if high >= 1:
            bound = 8 * high**2
        case "outer" if high > 1:
            bound = number(bound_squared or 0, rule, "bound_squared")
            need(_bounds_outer(high, bound), rule, f"{float(bound):.9g} is not shown to be a bound")
            witness["bound_squared"] = str(bound)
        case "rank-one" | "outer":
            pass
        case _:
            raise RuleError(f"{rule}: no bound is known for contributions of kind {fact.kind!r}")
    return proved(rule, Stable(fact.query, norm, bound, fact.relation), (contribution,), **witness)


def _contribution(theorem: Theorem, rule: str, *kinds: str) -> Contribution:
    fact = conclusion_of(theorem, rule)
    if not isinstance(fact, Contribution) or (kinds and fact.kind not in kinds):
        raise RuleError(f"{rule}: needed a contribution {' or '.join(kinds)}, found {fact}")
    return fact


def _bounds_outer(b: Fraction, bound: Fraction) -> bool:
    """Decide h(t) = (1+B²)²+(1+t²)²−2(Bt−1)² < bound on [1/B, B], B > 1: so it is at 1, and never equal."""
    gap = [bound - (1 + b * b) ** 2 + 1, -4 * b, 2 * b * b - 2, Fraction(0), Fraction(-1)]
    found = fmpq_poly([fmpq(c.numerator, c.denominator) for c in gap]).complex_roots()
    real = [r.real for r, _ in found if r.imag.overlaps(arb(0))]
    return sum(gap) > 0 and all(bool(r < ball(1 / b)) or bool(r > ball(b)) for r in real)


def differences(contribution: Theorem) -> Theorem:
    """List every way in which a sum of integer contributions can move, up to order and signs (R2)."""
    fact = _contribution(contribution, rule := "differences", "points")
    return proved(rule, Shifts(fact.query, _moves(fact), fact.relation), (contribution,))


def _moves(fact: Contribution) -> tuple[Shift, ...]:
    zero = (0,) * len(fact.points[0])
    pairs = product(fact.points, fact.points if fact.relation == REPLACE_ONE else (zero,))
    moves = {tuple(sorted((abs(x - y) for x, y in zip(a, b, strict=True)), reverse=True)) for a, b in pairs}
    return tuple(sorted(tuple(v for v in move if v) for move in moves))


def _plain(query: Theorem, rule: str) -> Stable:
    fact = stable(query, rule, "l2-squared")
    need(fact.units is None, rule, "the query is transformed already; transform the whole at once")
    return fact


def _entered(
    query: Stable, rounds: int | Theorem, rule: str, times: int = 1, apart: int = 1
) -> tuple[Theorem, Rounds]:
    """Return the hypothesis that says which unit enters which round: the one given, or of so many rounds."""
    made = rounds
    if not isinstance(made, Theorem):
        made = assume_rounds(query.query, made, "movement", times, apart if times > 1 else 1)
    fact = conclusion_of(made, rule)
    if not isinstance(fact, Rounds):
        raise RuleError(f"{rule}: needed which unit enters which round, found {fact}")
    need(fact.query == query.query, rule, f"the rounds are of {fact.query!r}, not of {query.query!r}")
    return made, fact


def _one_round(query: Stable, rounds: int | Theorem, rule: str) -> tuple[Theorem, int]:
    made, fact = _entered(query, rounds, rule)
    need(fact.times == 1, rule, f"a unit enters one round, found {fact}")
    return made, fact.rounds


def centred(query: Theorem, rows: int | Theorem) -> Theorem:
    """Subtract the mean of `rows` rows, a public number: row i moves by v − v/n, every other by −v/n (R2).

    Unit i is row i.
    """
    fact = _plain(query, rule := "centred")
    need(fact.relation == REPLACE_ONE, rule, f"the number of rows must stay, found {fact.relation}")
    entered, many = _one_round(fact, rows, rule)
    bound = fact.bound * (1 - Fraction(1, many))
    return proved(rule, replace(fact, bound=bound, units=(1, many)), (query, entered))


def joint(person: Theorem, weight: Fraction) -> Theorem:
    """Stack the upper triangle of Σφφᵀ and √`weight`·Σφy into one vector, for noise of one deviation (R4).

    Its movement is the supremum of the sum (docs/kernel.md): 2 − 2c² + 2B²w(1 + c), c = min(1, B²w/2).
    """
    fact, w = _contribution(person, rule := "joint", "rank-one"), positive(weight, rule, "weight")
    cosine = min(Fraction(1), fact.high**2 * w / 2)
    bound = 2 - 2 * cosine**2 + 2 * fact.high**2 * w * (1 + cosine)
    return proved(rule, Stable(fact.query, "l2-squared", bound, fact.relation), (person,), weight=str(w))


def factorised(
    query: Theorem,
    rounds: int | Theorem,
    matrix: Matrix,
    bits: int = 0,
    participations: int = 1,
    separation: int = 1,
    contribution: Theorem | None = None,
) -> Theorem:
    """Apply a public lower-triangular matrix C of integers over 2^bits to a stream (R11).

    `matrix` holds C's rows up to the diagonal, or one row: the coefficients of a Toeplitz C.  Rows are
    released in order with independent noise, so queries may be adaptive (Denisov et al. 2022).  A unit
    enters one round: the whole moves by at most the longest column; or up to k rounds at least b apart, as
    the relation then says: ‖Σ C e_i u_i‖² ≤ Σ_ij |⟨C_i, C_j⟩|, at most k² longest columns; Toeplitz:
    k g₀ + 2Σ_{m<k}(k−m) g_m, g_m = max_{d ≥ mb} Σ_i |c_i c_{i+d}|.  There a replaced unit may enter other
    rounds than before: what it added and what it adds are each within `contribution`,
    and together within twice that.
    """
    rule = "factorised"
    fact, coefficients = _plain(query, rule), [list(row) for row in matrix]
    entered, said = _entered(fact, rounds, rule, participations, separation)
    times, scale = min(said.times, -(-said.rounds // said.apart)), 4 ** whole(bits, rule, "bits", 0)
    need(all(type(c) is int for row in coefficients for c in row), rule, "coefficients must be integers")
    square = _stretch(coefficients, said.rounds, times, said.apart, rule)
    premises: tuple[Theorem, ...] = (query, entered)
    bound, relation, units = fact.bound, fact.relation, (1, said.rounds)
    if times > 1:
        person = contribution or next(iter(query.premises), query)
        premises, bound, units = (query, entered, person), _alone(fact, person, rule), ANYONE
        relation = f"{fact.relation}, {times} rounds {said.apart} apart"
    out = replace(fact, bound=bound * Fraction(square, scale), relation=relation, units=units)
    return proved(rule, out, premises, matrix=coefficients, bits=bits)


def _stretch(rows: list[list[int]], rounds: int, times: int, apart: int, rule: str) -> int:
    """Return the squared factor by which a matrix stretches unit vectors in `times` of its columns."""
    if len(rows) != 1:
        shape = len(rows) == rounds and all(len(row) == i + 1 for i, row in enumerate(rows))
        need(shape, rule, f"row i of a matrix for {rounds} rounds holds i + 1 integers, up to its diagonal")
        return times**2 * max(sum(row[j] ** 2 for row in rows[j:]) for j in range(rounds))
    c = [abs(v) for v in rows[0][:rounds]]
    need(len(c) >= 1 and (times == 1 or len(c) <= 2048), rule, "needed 1 to 2048 coefficients")
    lags = range(len(c) if times > 1 else 1)
    gram = [sum(x * y for x, y in zip(c, c[d:], strict=False)) for d in lags]
    far = [max(gram[m * apart :], default=0) for m in range(min(times, len(c)))]
    return 2 * sum((times - m) * g for m, g in enumerate(far)) - times * far[0]


def _alone(query: Stable, person: Theorem, rule: str) -> Fraction:
    """Return the squared bound on what a unit's rounds add where they may be other rounds of a neighbour.

    Lengths within r before and after make 2r, wherever they stand (triangle inequality).
    """
    fact = _contribution(person, rule, "ball", "points")
    need(linear(person).conclusion == query, rule, f"{fact} is not what {query.query!r} sums")
    length = fact.high if fact.kind == "ball" else Fraction(max(sum(v * v for v in p) for p in fact.points))
    return 4 * length if fact.relation == REPLACE_ONE else length


def buffered(
    query: Theorem,
    rounds: int | Theorem,
    width: int,
    pairs: Sequence[Cover],
    bits: int,
    step: Fraction,
    most: Fraction,
) -> Theorem:
    """Add decaying buffers b ← ⌊λb⌋ + w·x to a stream x of vectors of `width` steps·2^bits (R11).

    Rows x + Σb are released in order, as `factorised` ones; `pairs` holds w and λ < 1, integers over 2^bits.
    A change of x moves the row k later by c_k = Σ w λ^(k−1) times it, c_0 = 1, and every number by up to
    Σ 1/(1−λ) steps more, one lost a round to floors.  `most` bounds the squared movement: it covers
    ((Σ c_k²)^½·before + step·(width·(rounds − 1))^½·Σ 1/(1−λ))² (docs/kernel.md).
    """
    rule = "buffered"
    fact, step, one = _plain(query, rule), positive(step, rule, "step"), 2 ** whole(bits, rule, "bits")
    buffers = [[whole(v, rule, "a weight or decay", 0) for v in pair] for pair in pairs]
    need(all(decay < one for _, decay in buffers), rule, f"decays are below 2^{bits}")
    entered, many = _one_round(fact, rounds, rule)
    later, numbers = many - 1, whole(width, rule, "width")
    lost = step * sum(Fraction(one, one - decay) for _, decay in buffers)

    def moved(_: int) -> arb:
        length = arb(1)
        for (v, f), (w, g) in product(buffers, repeat=2):
            ratio = ball(Fraction(f * g, one**2))
            length += ball(Fraction(v * w, one**2)) * (1 - ratio**later) / (1 - ratio)
        return ((length * ball(fact.bound)).sqrt() + ball(lost) * arb(later * numbers).sqrt()) ** 2

    bound = number(most, rule, "most")
    need(at_most(moved, bound), rule, f"{float(bound):.9g} is not shown to be a bound")
    given = {"width": width, "pairs": buffers, "bits": bits, "step": str(step), "most": str(bound)}
    return proved(rule, replace(fact, bound=bound, units=(1, many)), (query, entered), **given)


# ------------------------------------------------------------------ one draw of noise
# `key` names the draw, for receipts.  Values lie on the `grid`, where noise is drawn; None: continuous.


def _drawn(
    rule: str, query: Theorem, curve: Curve, key: str, *, beside: tuple[Theorem, ...] = (), **witness: Any
) -> Theorem:
    fact = conclusion_of(query, rule)
    if not isinstance(fact, Stable | Shifts | Contribution):
        raise RuleError(f"{rule}: needed a query, found {fact}")
    out = Private(fact.query, curve, fact.relation, CENTRAL, getattr(fact, "units", None))
    if witness.get("grid") is not None:
        positive(witness["grid"], rule, "grid")
    written = {n: v if isinstance(v, int | list) else str(v) for n, v in witness.items() if v is not None}
    return proved(rule, out, (query, *beside), **written, key=key_of(key, rule))


def laplace(query: Theorem, scale: Fraction, grid: Fraction | None, key: str) -> Theorem:
    """Laplace noise of `scale` on an ℓ1-stable query is (bound/scale)-DP (Dwork et al. 2006) (R5).

    On a grid it is discrete, with the same ratios (Ghosh, Roughgarden & Sundararajan 2012).
    """
    fact, scale = stable(query, rule := "laplace", "l1"), positive(scale, rule, "scale")
    return _drawn(rule, query, Pure(fact.bound / scale), key, scale=scale, grid=grid)


def k_norm(query: Theorem, rate: Fraction, bound: Fraction, grid: Fraction, key: str) -> Theorem:
    """Noise v with mass ∝ exp(−rate·‖v‖₂) on a grid γℤᵈ is (rate·bound)-DP (Hardt & Talwar 2010) (R5)."""
    fact, rate = _plain(query, rule := "k_norm"), positive(rate, rule, "rate")  # one draw of the whole
    bound = number(bound, rule, "bound")
    need(bound >= 0 and bound**2 >= fact.bound, rule, f"{bound}² is below the squared bound {fact.bound}")
    return _drawn(rule, query, Pure(rate * bound), key, rate=rate, bound=bound, grid=grid)


def _drift(query: Theorem, variance: Fraction, rule: str) -> tuple[Fraction, Fraction]:
    """Return the squared shift in noise deviations, and the variance, of Gaussian noise on a query.

    A symmetric query (Frobenius norm) gets symmetric noise: `variance` off the diagonal, once for both
    halves, and twice that on it (GOE); a shift A has Mahalanobis length ‖A‖_F²/(2·variance) (R4).
    """
    symmetric = getattr(conclusion_of(query, rule), "norm", "") == "frobenius-squared"
    fact = stable(query, rule, "frobenius-squared" if symmetric else "l2-squared")
    v = positive(variance, rule, "variance")
    return fact.bound / v / (2 if symmetric else 1), v


def gaussian(query: Theorem, variance: Fraction, key: str) -> Theorem:
    """Gaussian noise N(0, variance) is μ-GDP, μ² = bound²/variance (Dong, Roth & Su 2022) (R3)."""
    square, variance = _drift(query, variance, rule := "gaussian")
    return _drawn(rule, query, Gdp(square), key, variance=variance)


def discrete_gaussian(query: Theorem, variance: Fraction, grid: Fraction, key: str) -> Theorem:
    """Discrete Gaussian noise on a grid γℤᵈ is zCDP, ρ = bound²/(2·variance) (Canonne et al. 2020)."""
    square, variance = _drift(query, variance, rule := "discrete_gaussian")
    return _drawn(rule, query, Zcdp(square / 2), key, variance=variance, grid=positive(grid, rule, "grid"))


def fine_gaussian(
    query: Theorem,
    variance: Fraction,
    grid: Fraction,
    coordinates: int,
    distance: Fraction,
    key: str,
    numbers: Theorem | None = None,
) -> Theorem:
    """Discrete Gaussian noise on a fine grid is GDP up to a total variation: it nearly is rounded noise.

    `coordinates` are drawn, as the hypothesis `numbers` says.
    With s = σ/γ ≥ 1 the two laws of a coordinate differ by at most φ(1)/(12s²) + (1+4e^(−3/2))/(48√(2π)s³)
    + Σ_m e^(−2π²s²m²) < .0201643/s² + .01573/s³ in total variation (docs/kernel.md) (R18).
    """
    rule = "fine_gaussian"
    moved, variance = _drift(query, variance, rule)
    grid, distance = positive(grid, rule, "grid"), number(distance, rule, "distance")
    square = variance / grid**2
    need(square >= 1, rule, f"the grid {grid} is coarser than the noise")
    low = Fraction(math.isqrt(math.floor(square * 10**18)), 10**9)  # at most s
    each = (Fraction(201643, 10**7) + Fraction(1573, 10**5) / low) / square
    need(distance >= whole(coordinates, rule, "coordinates") * each, rule, f"{float(distance)} is too small")
    name = getattr(query.conclusion, "query", "")
    numbers = numbers or assume_numbers(name, coordinates, "movement")
    agreed = conclusion_of(numbers, rule) == Numbers(name, coordinates)
    need(agreed, rule, f"{coordinates} numbers of {name!r} are drawn, found {numbers.conclusion}")
    given: dict[str, Any] = {"variance": variance, "coordinates": coordinates, "distance": distance}
    return _drawn(rule, query, NearGdp(moved, distance), key, beside=(numbers,), **given, grid=grid)


def lattice_gaussian(shifts: Theorem, variance: Fraction, key: str) -> Theorem:
    """Discrete Gaussian noise on integers moved by one of known shifts: the exact curve, of the worst."""
    rule = "lattice_gaussian"
    fact, variance = conclusion_of(shifts, rule), positive(variance, rule, "variance")
    if not isinstance(fact, Shifts):
        raise RuleError(f"{rule}: needed a set of shifts, found {fact}")
    return _drawn(rule, shifts, Lattice(variance, fact.shifts, 1), key, variance=variance)


def exponential(scores: Theorem, rate: Fraction, key: str) -> Theorem:
    """Draw o with weight ∝ exp(rate·score(o)): bounded range rate·width (Durfee & Rogers 2019) (R6)."""
    fact, rate = stable(scores, rule := "exponential", "range"), positive(rate, rule, "rate")
    return _drawn(rule, scores, BoundedRange(rate * fact.bound), key, rate=rate)


def permute_and_flip(scores: Theorem, rate: Fraction, key: str) -> Theorem:
    """Take the largest score plus exponential noise: pure (McKenna & Sheldon 2020; Ding et al. 2021) (R6)."""
    fact, rate = stable(scores, rule := "permute_and_flip", "range"), positive(rate, rule, "rate")
    return _drawn(rule, scores, Pure(rate * fact.bound), key, rate=rate)


def finite(answer: Theorem, table: Sequence[Sequence[Fraction]], epsilon: Fraction, key: str) -> Theorem:
    """Answer the symbol i, one of 0 … k−1, by an outcome drawn from row i of a public table: pure.

    e^ε is at least every ratio within a column (Warner 1965; Kairouz, Oh & Viswanath 2016).
    """
    fact = _contribution(answer, rule := "finite", "points")
    rows = [[number(p, rule, "a probability") for p in row] for row in table]
    symbols = fact.points == tuple((i,) for i in range(len(rows))) and fact.relation == REPLACE_ONE
    need(symbols, rule, f"a row for each symbol 0 … k−1, which is replaced; found {fact}")
    fair = all(len(row) == len(rows[0]) and min(row) >= 0 and sum(row) == 1 for row in rows)
    need(fair, rule, "every row holds as many probabilities, and they add up to 1")
    columns = [column for column in zip(*rows, strict=True) if any(column)]
    need(all(map(all, columns)), rule, "an outcome of some symbols must be possible for all")
    ratio = max((max(column) / min(column) for column in columns), default=Fraction(1))
    epsilon = number(epsilon, rule, "epsilon")
    enough = at_most(lambda _: ball(ratio) / ball(epsilon).exp(), Fraction(1)) and epsilon >= 0
    need(enough, rule, f"e^{epsilon} < {ratio}")
    written = [[str(p) for p in row] for row in rows]
    return _drawn(rule, answer, Pure(epsilon), key, table=written, epsilon=epsilon)


def sparse_vector(
    query: Theorem, threshold: Fraction, scale: Fraction, limit: int, grid: Fraction, key: str
) -> Theorem:
    """Say which numbers of a stream pass a noisy threshold, up to `limit` times: pure.

    Laplace noise of scale `threshold` on the threshold, once, and of `scale` on each number.  The threshold
    moves by Δ; a number above makes up for 2Δ, one below for nothing (Lyu, Su & Li 2017, Algorithm 1).
    """
    rule = "sparse_vector"
    fact = stable(query, rule, "each")
    t, s = positive(threshold, rule, "threshold"), positive(scale, rule, "scale")
    curve = Pure(fact.bound / t + 2 * whole(limit, rule, "limit") * fact.bound / s)
    return _drawn(rule, query, curve, key, threshold=t, scale=s, limit=limit, grid=grid)


def stable_histogram(cells: Theorem, scale: Fraction, threshold: int, delta: Fraction, key: str) -> Theorem:
    """Show noisy counts, of cells that are not empty and then reach `threshold`: (1/scale, δ), add-remove.

    X is discrete Laplace.  A record among others costs 1/scale; one alone in its cell shows it with
    probability P(1 + X ≥ τ) = e^(−(τ−1)/b)/(1 + e^(−1/b)) ≤ δ (Korolova et al. 2009).
    """
    rule = "stable_histogram"
    fact, scale = _contribution(cells, rule, "cell"), positive(scale, rule, "scale")
    need(fact.relation == ADD_REMOVE, rule, f"a record is added or removed, found {fact.relation}")
    far, delta = whole(threshold, rule, "threshold", 2) - 1, number(delta, rule, "delta")

    def shown(_: int) -> arb:
        ratio = (-1 / ball(scale)).exp()
        return ratio**far / (1 + ratio)

    need(delta <= 1 and at_most(shown, delta), rule, f"δ = {float(delta)} does not cover the threshold")
    given: dict[str, Any] = {"scale": scale, "threshold": threshold, "delta": delta}
    return _drawn(rule, cells, Approximate(1 / scale, delta), key, **given)


# ------------------------------------------------------------------ composition


def _private(parts: Sequence[Theorem], rule: str) -> list[Private]:
    facts = [private(part, rule) for part in parts]
    one_draw(parts, rule)
    return facts


def _alike(facts: Sequence[Private], rule: str) -> None:
    need(len(facts) >= 1, rule, "needed at least one premise")
    for name in ("relation", "observer"):
        found = sorted({getattr(fact, name) for fact in facts})
        need(len(found) == 1, rule, f"premises must share one {name}, found {', '.join(found)}")
    kinds = sorted({type(fact.curve).__name__ for fact in facts})
    need(len(kinds) == 1, rule, f"premises must share one measure, found {', '.join(kinds)}; convert first")
    orders = {tuple(order for order, _ in f.curve.points) for f in facts if isinstance(f.curve, Renyi)}
    need(len(orders) <= 1, rule, "Rényi bounds must be at the same orders")


def _hull(facts: Sequence[Private]) -> Cover | None:
    spans = [ANYONE if fact.units is None else fact.units for fact in facts]
    some = any(fact.units is not None for fact in facts)
    return (min(first for first, _ in spans), max(last for _, last in spans)) if some else None


def amounts(curve: Curve, rule: str) -> tuple[Fraction, ...]:
    """Return the numbers of a curve that grow with its cost and, but for bounded range, add."""
    match curve:
        case Renyi(points):
            return tuple(divergence for _, divergence in points)
        case Lattice():
            raise RuleError(f"{rule}: lattice curves are neither added nor ordered; convert to (ε, δ) first")
        case _:
            return tuple(vars(curve).values())


def rebuilt(curve: Curve, new: Sequence[Fraction]) -> Curve:
    """Return a curve of the same kind with other numbers."""
    if isinstance(curve, Renyi):
        return Renyi(tuple((order, value) for (order, _), value in zip(curve.points, new, strict=True)))
    made: Curve = type(curve)(*new)  # type: ignore[arg-type]  # never a Lattice: `amounts` refuses it
    return made


def _columns(facts: Sequence[Private], rule: str) -> list[tuple[Fraction, ...]]:
    return list(zip(*(amounts(fact.curve, rule) for fact in facts), strict=True))


def _worst(facts: Sequence[Private], rule: str) -> Curve:
    return rebuilt(facts[0].curve, [max(column) for column in _columns(facts, rule)])


def compose(*parts: Theorem) -> Theorem:
    """Release all parts on the same units, adaptively: pure ε, (ε, δ), ρ, μ² and distances add (R7).

    Bounds are fixed in advance (Dwork et al. 2006; Bun & Steinke 2016; Dong, Roth & Su 2022).
    """
    rule = "compose"
    facts = _private(parts, rule)
    _alike(facts, rule)
    need(not isinstance(facts[0].curve, BoundedRange), rule, "bounded range composes only once converted")
    total = rebuilt(facts[0].curve, [sum(column, Fraction(0)) for column in _columns(facts, rule)])
    out = replace(facts[0], subject=" + ".join(f.subject for f in facts), curve=total, units=_hull(facts))
    return proved(rule, out, parts)


def nodes(leaf: Theorem, covered: Theorem) -> Theorem:
    """Release the query of `leaf` over each of its covers with independent noise (R7, R9, R10).

    Given the transcript, what follows depends on a unit only through its one vector, added in the covers
    that contain it: the cost is that of `most` releases moved by it, and other covers are free.
    """
    rule = "nodes"
    fact, spread = private(leaf, rule), conclusion_of(covered, rule)
    if not isinstance(spread, Covered):
        raise RuleError(f"{rule}: needed the covers of the releases, found {type(spread).__name__}")
    need(spread.query == fact.subject, rule, f"covers of {spread.query!r}, a leaf of {fact.subject!r}")
    need(fact.observer == CENTRAL, rule, f"the leaf must be centrally private, found {fact.observer}")
    need(fact.units is None, rule, f"the leaf reads the units {fact.units} already")
    curve = fact.curve
    if isinstance(curve, Lattice):
        total: Curve = replace(curve, count=curve.count * spread.most)
    else:
        many = spread.most == 1 or not isinstance(curve, BoundedRange)
        need(many, rule, "bounded range composes only once converted")
        total = rebuilt(curve, [spread.most * amount for amount in amounts(curve, rule)])
    return proved(rule, replace(fact, curve=total, units=spread.units), (leaf, covered))


def parallel(*parts: Theorem) -> Theorem:
    """Release each part on units of its own, told apart by public position (McSherry 2009) (R9)."""
    rule = "parallel"
    facts = _private(parts, rule)
    _alike(facts, rule)
    spans = sorted(fact.units for fact in facts if fact.units is not None)
    need(len(spans) == len(facts), rule, "every part must say which units it reads")
    for (_, last), (first, _) in pairwise(spans):
        need(last < first, rule, f"units must be disjoint, found one part up to {last} and one from {first}")
    subject = " | ".join(fact.subject for fact in facts)
    out = replace(facts[0], subject=subject, curve=_worst(facts, rule), units=_hull(facts))
    return proved(rule, out, parts)


def partition(split: Theorem, *cells: Theorem) -> Theorem:
    """Release each cell of a partition by value; under add-remove a record pays for one cell (R9).

    Under replace-one it may move: `cells` are then the replace-one statements about all cells followed by
    their add-remove ones, and it pays for a change in its cell, or for leaving one and entering another.
    The whole reads the units that any cell reads.
    """
    rule = "partition"
    facts, kind = _private(cells, rule), conclusion_of(split, rule)
    if not isinstance(kind, Split):
        raise RuleError(f"{rule}: needed a partition by value, found {type(kind).__name__}")
    swaps = [fact for fact in facts if fact.relation == REPLACE_ONE]
    steps = [fact for fact in facts if fact.relation == ADD_REMOVE]
    need(facts == [*swaps, *steps], rule, "replace-one statements come first, then add-remove ones")
    _alike(steps, rule)
    need(not isinstance(steps[0].curve, BoundedRange), rule, "bounded range composes only once converted")
    need(steps[0].observer == CENTRAL, rule, f"cells are released centrally, found {steps[0].observer}")
    departs = any(fact.units == ANYONE for fact in facts)
    need(not departs, rule, "a cell may read anyone: a departure of every cell may show one record")
    found = tuple(fact.subject for fact in steps)
    need(found == kind.cells, rule, f"the cells are {', '.join(kind.cells)}, found {', '.join(found)}")
    curve = _worst(steps, rule)
    if swaps:
        _alike([replace(fact, relation=ADD_REMOVE) for fact in facts], rule)
        both = tuple(fact.subject for fact in swaps) == kind.cells
        need(both, rule, "every cell must be there for both relations, in one order")
        moving = [sum(sorted(column)[-2:], Fraction(0)) for column in _columns(steps, rule)]
        inside = [max(column) for column in _columns(swaps, rule)]
        curve = rebuilt(curve, [max(pair) for pair in zip(moving, inside, strict=True)])
    out = Private(kind.query, curve, REPLACE_ONE if swaps else ADD_REMOVE, CENTRAL, _hull(facts))
    return proved(rule, out, (split, *cells))


def mixture(*parts: Theorem, choice: Theorem | None = None) -> Theorem:
    """Let a public coin choose among parts that run on the same units: the worst, in any measure (R16).

    That one part is drawn, and of the others nothing, is the hypothesis `choice`.
    """
    rule = "mixture"
    facts = _private(parts, rule)
    _alike(facts, rule)
    subject, keys = " or ".join(fact.subject for fact in facts), tuple(map(releases, parts))
    choice = choice or assume_choice(subject, keys, "one part")
    same = conclusion_of(choice, rule) == Choice(subject, keys)
    need(same, rule, f"the choice is among {keys} of {subject!r}, found {choice.conclusion}")
    out = replace(facts[0], subject=subject, curve=_worst(facts, rule), units=_hull(facts))
    return proved(rule, out, (choice, *parts))


def local(message: Theorem, covered: Theorem) -> Theorem:
    """Each person randomises messages that read one unit, given what is public: local DP (R14)."""
    rule = "local"
    fact, spread = private(nodes(message, covered), rule), conclusion_of(covered, rule)
    need(isinstance(spread, Covered) and spread.widest == 1, rule, "a message reads one unit only")
    need(fact.relation == REPLACE_ONE, rule, f"a message's one record is replaced, found {fact.relation}")
    return proved(rule, replace(fact, observer=LOCAL), (message, covered))
