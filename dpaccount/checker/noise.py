"""The curve of one draw of noise.  Every draw has a key; common distributions come first."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

from .curves import Approximate, BoundedRange, Curve, Gdp, Lattice, NearGdp, Pure, Zcdp
from .distributions import shuffled_delta
from .documents import anything, brief, ensure, integer, items, several, spend, text
from .facts import RULES, Contribution, Declaration, Numbers, Optional, Private, Shifts, Stable
from .intervals import Interval, Pair, added, at_most, number, positive, power_of
from .relation import ADDED, REPLACED

MOST_SHUFFLED = 10_000  # answers; more cost no more
Drawing = TypeVar("Drawing", bound=Callable[..., Curve])


def noise(*premises: Any, **members: Any) -> Callable[[Drawing], Drawing]:
    """Declare a law of noise: its function gives the curve of one draw, named by a key, on a query."""

    def declare(curve_of: Drawing) -> Drawing:
        def conclude(query: Any, *more: Any, **witness: Any) -> Private:
            units = query.units if isinstance(query, Stable) else None
            curve = curve_of(query, *more, **witness)
            return Private(query.query, curve, query.relation, "central", units)

        RULES[curve_of.__name__] = Declaration(premises, {**members, "key": text}, conclude, curve_of)
        return curve_of

    return declare


# ------------------------------------------------------------------ Gaussian


def mu_squared(query: Stable, variance: Fraction) -> Fraction:
    """Return μ² of Gaussian noise; symmetric noise has twice the variance on the diagonal."""
    if query.norm == "frobenius-squared":
        return query.within(query.norm) / variance / 2
    return query.within("l2-squared") / variance


# Source: docs/proofs.md.  Trap: a number of coordinates that no hypothesis states: their distances add up.
# Rejected: μ-GDP itself, which rounded noise has and discrete noise only approaches.
@noise(Stable, Numbers, variance=positive, grid=positive, coordinates=integer, distance=number)
def fine_gaussian(
    query: Stable, numbers: Numbers, variance: Fraction, grid: Fraction, coordinates: int, distance: Fraction
) -> NearGdp:
    """The discrete Gaussian on a grid that is fine against its scale."""
    square = mu_squared(query, variance)
    drawn = numbers == Numbers(query.query, coordinates)
    ensure(drawn, f"{coordinates} numbers are not what {brief(query.query)} is said to have")
    rounding_at_most(variance / grid**2, coordinates, distance)
    return NearGdp(square, distance)


def rounding_at_most(square: Fraction, coordinates: int, distance: Fraction) -> None:
    """Verify coordinates · (.0201643/s² + .01573/s³) ≤ distance, s² = `square` ≥ 1, in total variation.

    Half of Σ|q − f| + Σ|f − p|, q the rounded, p the discrete Gaussian and f the density at integers.
    The first is at most (1/24)(∫|f″| + V(f″)/2) = (4φ(1)/s² + (1 + 4e^(−3/2))/(√(2π)s³))/24, the
    second 2Σ_m e^(−2π²s²m²) < 6e-9/s³ (Poisson's formula).
    """
    ensure(square >= 1, "the grid is coarser than the noise")
    # d ≥ a/s² + b/s³ with s unknown but for its square: (d s² − a) s ≥ b
    rest = distance / coordinates * square - Fraction("0.0201643")
    ensure(rest > 0 and rest * rest * square >= Fraction("0.01573") ** 2, "the distance is too small")


# Source: docs/proofs.md.  Trap: one shift in place of all: `to_approximate` takes the worst at its ε.
@noise(Shifts, variance=positive)
def lattice_gaussian(query: Shifts, variance: Fraction) -> Lattice:
    """The discrete Gaussian on integers."""
    return Lattice(variance, query.shifts, 1)


# Source: Canonne et al. 2020.  Trap: ρ = μ²/4 for a symmetric query, whose μ² is halved already.
@noise(Stable, variance=positive, grid=positive)
def discrete_gaussian(query: Stable, variance: Fraction, grid: Fraction) -> Zcdp:
    """The discrete Gaussian on a grid on which the query lies."""
    return Zcdp(mu_squared(query, variance) / 2)


# Source: Dong, Roth & Su 2022.  Trap: half of μ² for a query that is not symmetric, or for symmetric noise
# without twice the variance on the diagonal.
@noise(Stable, variance=positive)
def gaussian(query: Stable, variance: Fraction) -> Gdp:
    """The Gaussian."""
    return Gdp(mu_squared(query, variance))


# ------------------------------------------------------------------ Laplace and choices


# Source: Dwork et al. 2006; on a grid, Ghosh, Roughgarden & Sundararajan 2012.  Trap: a bound in ℓ2: with a
# draw for each number, their movements add up.
@noise(Stable, scale=positive, grid=Optional(positive))
def laplace(query: Stable, scale: Fraction, grid: Fraction | None = None) -> Pure:
    """Laplace noise, on a grid or not."""
    return Pure(query.within("l1") / scale)


# Source: Durfee & Rogers 2019.  Trap: half the number: the weights are exp(rate·score), not
# exp(rate·score/2).
@noise(Stable, rate=positive)
def exponential(scores: Stable, rate: Fraction) -> BoundedRange:
    """The exponential mechanism."""
    return BoundedRange(rate * scores.within("range"))


# Source: McKenna & Sheldon 2020; Ding et al. 2021.  Trap: half the number, as for `exponential`.
@noise(Stable, rate=positive)
def permute_and_flip(scores: Stable, rate: Fraction) -> Pure:
    """Permute and flip."""
    return Pure(rate * scores.within("range"))


# Source: Hardt & Talwar 2010.  Trap: a bound whose square is below the squared movement.  Rejected: noise cut
# to a box, in which some outputs are possible for one neighbour only (docs/proofs.md).
@noise(Stable, rate=positive, bound=number, grid=positive)
def k_norm(query: Stable, rate: Fraction, bound: Fraction, grid: Fraction) -> Pure:
    """The K-norm mechanism in ℓ2: one joint draw."""
    moved = query.within("l2-squared")
    ensure(query.units is None, "one joint draw is needed, of a query that is not transformed")
    ensure(bound >= 0 and bound * bound >= moved, "the bound is below the query's movement")
    return Pure(rate * bound)


# Source: Lyu, Su & Li 2017, Algorithm 1.  Trap: Δ for a number above the threshold, which costs 2Δ, as both
# may move.  Rejected: variants in print without noise on the numbers, or without a limit: they are not
# private.
@noise(Stable, threshold=positive, scale=positive, limit=integer, grid=positive)
def sparse_vector(numbers: Stable, threshold: Fraction, scale: Fraction, limit: int, grid: Fraction) -> Pure:
    """The sparse vector technique, up to `limit` answers above the threshold."""
    return Pure(numbers.within("each") * (1 / threshold + 2 * limit / scale))


# ------------------------------------------------------------------ tables


def largest_ratio(person: Contribution, table: Any) -> Fraction:
    """Return the largest ratio of an outcome's probabilities in a table with a row for each symbol."""
    short = all(len(text(p)) <= 200 for row in items(table) for p in items(row))
    ensure(short, "a probability has more than 200 characters")
    rows = [list(map(number, row)) for row in table]
    symbols = person.kind == "points" and person.points == tuple((k,) for k in range(len(rows)))
    ensure(symbols and person.relation == REPLACED, "a row for each symbol, which is replaced")
    ensure(len({len(row) for row in rows}) == 1, "rows of one length are needed")
    for row in rows:
        spend(10 * len(row))
        ensure(min(row) >= 0 and added(row) == 1, "a row of probabilities adds up to 1")
    return max(map(ratio_of, zip(*rows, strict=True)))


# Source: Warner 1965; Kairouz, Oh & Viswanath 2016.  Trap: rows that do not add up to 1, or an outcome that
# only some symbols have.
@noise(Contribution, table=anything, epsilon=number)
def finite(person: Contribution, table: Any, epsilon: Fraction) -> Pure:
    """A draw from the row of a table that belongs to the unit's symbol."""
    worst = largest_ratio(person, table)
    enough = worst == 1 or at_most(lambda i: i.div(i.of(worst), i.exp(i.of(epsilon))), Fraction(1))
    ensure(enough and epsilon >= 0, "epsilon is too small")
    return Pure(epsilon)


# Source: Feldman, McMillan & Talwar 2023; docs/proofs.md.  Trap: `size` clones: one answer is the unit's own,
# so that size − 1 hide it. Or e^ε rounded up, where a lower end is needed.
@noise(Contribution, table=anything, size=several, epsilon=number, delta=number)
def shuffled(person: Contribution, table: Any, size: int, epsilon: Fraction, delta: Fraction) -> Approximate:
    """Draws of `size` units or more, in random order; of fewer nothing is shown."""
    worst = largest_ratio(person, table)
    ensure(size <= MOST_SHUFFLED, f"the size is above {MOST_SHUFFLED}")
    ensure(epsilon >= 0 and 0 <= delta <= 1, "epsilon must be at least 0 and delta in [0, 1]")
    covered = worst == 1 or at_most(lambda i: shuffled_delta(i, worst, size, epsilon), delta)
    ensure(covered, "delta does not cover what the shuffled answers tell")
    return Approximate(epsilon, delta)


def ratio_of(outcome: tuple[Fraction, ...]) -> Fraction:
    """Return the largest ratio of an outcome's probabilities."""
    ensure(min(outcome) > 0 or max(outcome) == 0, "an outcome is possible for some symbols only")
    return max(outcome) / min(outcome) if max(outcome) else Fraction(1)


# Source: Korolova et al. 2009; docs/proofs.md.  Trap: P(X ≥ τ) for a lone record: its count is 1 before the
# noise, so that X ≥ τ − 1 shows it.
@noise(Contribution, scale=positive, threshold=several, delta=number)
def stable_histogram(person: Contribution, scale: Fraction, threshold: int, delta: Fraction) -> Approximate:
    """Counts with discrete Laplace noise, of cells that reach a threshold."""
    cells = person.kind == "cell" and person.relation == ADDED
    ensure(cells, "needed single cells, a record added or removed")

    def shown(i: Interval) -> Pair:
        alone = i.div(i.exp(i.of((1 - threshold) / scale)), i.add(i.of(1), i.exp(i.of(-1 / scale))))
        return i.sub(i.of(1), power_of(i, i.sub(i.of(1), alone), int(person.high)))

    ensure(delta <= 1 and at_most(shown, delta), "delta does not cover the threshold")
    return Approximate(person.high / scale, delta)
