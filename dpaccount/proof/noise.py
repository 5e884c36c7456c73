"""One draw of noise on a query.

`key` names the draw, for receipts.  Values lie on the `grid`, where noise is drawn; None: continuous.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from flint import arb

from dpaccount.errors import RuleError
from dpaccount.relation import ADD_REMOVE, CENTRAL, REPLACE_ONE

from .decide import at_most, ball, brief, key_of, need, number, positive, shuffled_delta, whole
from .hypotheses import assume_numbers
from .judgements import (
    Approximate,
    BoundedRange,
    Contribution,
    Curve,
    Gdp,
    Lattice,
    NearGdp,
    Numbers,
    Private,
    Pure,
    Shifts,
    Stable,
    Zcdp,
)
from .theorem import Theorem, conclusion_of, contribution_of, plain_vector, proved, stable

Table = Sequence[Sequence[Fraction]]


def _drawn(
    rule: str, query: Theorem, curve: Curve, key: str, *, extra: tuple[Theorem, ...] = (), **witness: Any
) -> Theorem:
    fact = conclusion_of(query, rule)
    if not isinstance(fact, Stable | Shifts | Contribution):
        raise RuleError(f"{rule}: needed a query, found {fact}")
    out = Private(fact.query, curve, fact.relation, CENTRAL, getattr(fact, "units", None))
    if witness.get("grid") is not None:
        positive(witness["grid"], rule, "grid")
    written = {n: v if isinstance(v, int | list) else str(v) for n, v in witness.items() if v is not None}
    return proved(rule, out, (query, *extra), **written, key=key_of(key, rule))


def laplace(query: Theorem, scale: Fraction, grid: Fraction | None, key: str) -> Theorem:
    """Laplace noise of `scale` on an ℓ1-stable query is (bound/scale)-DP (Dwork et al. 2006) (R5).

    On a grid it is discrete, with the same ratios (Ghosh, Roughgarden & Sundararajan 2012).
    """
    fact, scale = stable(query, rule := "laplace", "l1"), positive(scale, rule, "scale")
    return _drawn(rule, query, Pure(fact.bound / scale), key, scale=scale, grid=grid)


def k_norm(query: Theorem, rate: Fraction, bound: Fraction, grid: Fraction, key: str) -> Theorem:
    """Noise v with mass ∝ exp(−rate·‖v‖₂) on a grid γℤᵈ is (rate·bound)-DP (Hardt & Talwar 2010) (R5)."""
    fact, rate = plain_vector(query, rule := "k_norm"), positive(rate, rule, "rate")  # one draw of the whole
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
    """Discrete Gaussian noise on a grid γℤᵈ is zCDP, ρ = bound²/(2·variance) (Canonne et al. 2020) (R3)."""
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
    """Add discrete Gaussian noise on a fine grid: near rounded noise in total variation, and so near GDP.

    `coordinates` are drawn, by the hypothesis `numbers`.
    With s = σ/γ ≥ 1 the two laws of a coordinate differ by at most φ(1)/(12s²) + (1+4e^(−3/2))/(48√(2π)s³)
    + Σ_m e^(−2π²s²m²) < .0201643/s² + .01573/s³ in total variation (docs/proofs.md) (R18).
    """
    moved, variance = _drift(query, variance, rule := "fine_gaussian")
    grid, distance = positive(grid, rule, "grid"), number(distance, rule, "distance")
    square = variance / grid**2
    need(square >= 1, rule, f"the grid {grid} is coarser than the noise")
    # From below, as the distance falls with s: rounding may only ask for a larger one.
    low = Fraction(math.isqrt(math.floor(square * 10**18)), 10**9)  # at most s
    each = (Fraction(201643, 10**7) + Fraction(1573, 10**5) / low) / square
    need(distance >= whole(coordinates, rule, "coordinates") * each, rule, f"{brief(distance)} is too small")
    name = getattr(query.conclusion, "query", "")
    numbers = numbers or assume_numbers(name, coordinates, "movement")
    agreed = conclusion_of(numbers, rule) == Numbers(name, coordinates)
    need(agreed, rule, f"{coordinates} numbers of {name!r} are drawn, found {numbers.conclusion}")
    given: dict[str, Any] = {"variance": variance, "coordinates": coordinates, "distance": distance}
    return _drawn(rule, query, NearGdp(moved, distance), key, extra=(numbers,), **given, grid=grid)


def lattice_gaussian(shifts: Theorem, variance: Fraction, key: str) -> Theorem:
    """Add discrete Gaussian noise to integers that move by a known shift: the worst shift's curve (R3)."""
    fact, variance = conclusion_of(shifts, rule := "lattice_gaussian"), positive(variance, rule, "variance")
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


def _table(answer: Theorem, table: Table, rule: str) -> tuple[list[list[str]], Fraction]:
    """Return a public table of outcomes' chances, a row for each symbol, and its columns' largest ratio."""
    fact = contribution_of(answer, rule, "points")
    rows = [[number(p, rule, "a probability") for p in row] for row in table]
    symbols = fact.points == tuple((i,) for i in range(len(rows))) and fact.relation == REPLACE_ONE
    need(symbols, rule, f"a row for each symbol 0 … k−1, which is replaced; found {fact}")
    fair = all(len(row) == len(rows[0]) and sum(row) == 1 and min(row) >= 0 for row in rows)
    need(fair, rule, "every row holds as many probabilities, and they add up to 1")
    columns = [column for column in zip(*rows, strict=True) if any(column)]
    need(all(map(all, columns)), rule, "an outcome of some symbols must be possible for all")
    ratio = max((max(column) / min(column) for column in columns), default=Fraction(1))
    return [[str(p) for p in row] for row in rows], ratio


def finite(answer: Theorem, table: Table, epsilon: Fraction, key: str) -> Theorem:
    """Answer the symbol i, one of 0 … k−1, by an outcome drawn from row i of a public table: pure.

    e^ε is at least every ratio within a column (Warner 1965; Kairouz, Oh & Viswanath 2016) (R5).
    """
    written, ratio = _table(answer, table, rule := "finite")
    epsilon = number(epsilon, rule, "epsilon")
    enough = at_most(lambda _: ball(ratio) / ball(epsilon).exp(), Fraction(1)) and epsilon >= 0
    need(enough, rule, f"e^{epsilon} < {ratio}")
    return _drawn(rule, answer, Pure(epsilon), key, table=written, epsilon=epsilon)


def shuffled(
    answer: Theorem, table: Table, size: int, epsilon: Fraction, delta: Fraction, key: str
) -> Theorem:
    """Show `size` units' answers or more in random order, drawn as by `finite`; of fewer, nothing: (ε, δ).

    Others' answers hide a unit's as clones of it (Feldman, McMillan & Talwar 2023) (docs/proofs.md) (R5).
    """
    written, ratio = _table(answer, table, rule := "shuffled")
    epsilon, delta = number(epsilon, rule, "epsilon"), number(delta, rule, "delta")
    need(2 <= whole(size, rule, "size") <= 10_000, rule, f"the size lies in 2 … 10000, found {size}")
    need(epsilon >= 0 and 0 <= delta <= 1, rule, f"epsilon or delta is out of range: {epsilon}, {delta}")
    enough = at_most(lambda _: shuffled_delta(ratio, size, epsilon), delta)
    need(enough, rule, f"δ = {brief(delta)} does not cover {size} shuffled answers of ratio {brief(ratio)}")
    curve = Approximate(epsilon, delta)
    return _drawn(rule, answer, curve, key, table=written, size=size, epsilon=epsilon, delta=delta)


def sparse_vector(
    query: Theorem, threshold: Fraction, scale: Fraction, limit: int, grid: Fraction, key: str
) -> Theorem:
    """Release which numbers of a stream pass a noisy threshold, up to `limit` times: pure.

    Laplace noise of scale `threshold` on the threshold, once, and of `scale` on each number.  The threshold
    moves by Δ; a number above makes up for 2Δ, one below for nothing (Lyu, Su & Li 2017, Algorithm 1) (R5).
    """
    # Variants in print that add no noise to the numbers, or go on after any number of answers above, are not
    # private (Lyu, Su & Li 2017).
    fact = stable(query, rule := "sparse_vector", "each")
    t, s = positive(threshold, rule, "threshold"), positive(scale, rule, "scale")
    curve = Pure(fact.bound / t + 2 * whole(limit, rule, "limit") * fact.bound / s)
    return _drawn(rule, query, curve, key, threshold=t, scale=s, limit=limit, grid=grid)


def stable_histogram(cells: Theorem, scale: Fraction, threshold: int, delta: Fraction, key: str) -> Theorem:
    """Show noisy counts, of cells that are not empty and then reach `threshold`: (k/scale, δ), add-remove.

    A record costs 1/scale in each of its k cells; alone in one it shows it with probability p = P(1 + X ≥ τ)
    = e^(−(τ−1)/b)/(1 + e^(−1/b)), X Laplace; δ ≥ 1 − (1−p)^k (Korolova et al. 2009) (docs/proofs.md) (R5).
    """
    fact, scale = contribution_of(cells, rule := "stable_histogram", "cell"), positive(scale, rule, "scale")
    need(fact.relation == ADD_REMOVE, rule, f"a record is added or removed, found {fact.relation}")
    far, delta = whole(threshold, rule, "threshold", 2) - 1, number(delta, rule, "delta")

    def shown(_: int) -> arb:
        ratio = (-1 / ball(scale)).exp()
        return 1 - (1 - ratio**far / (1 + ratio)) ** int(fact.high)

    need(delta <= 1 and at_most(shown, delta), rule, f"δ = {brief(delta)} does not cover the threshold")
    given: dict[str, Any] = {"scale": scale, "threshold": threshold, "delta": delta}
    return _drawn(rule, cells, Approximate(fact.high / scale, delta), key, **given)
