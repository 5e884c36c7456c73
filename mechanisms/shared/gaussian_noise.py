"""Gaussian noise on a grid, by whichever rule proves less: exactly zCDP, or nearly Gaussian DP.

Discrete Gaussian noise in several dimensions is zCDP.  On a grid much finer than the noise it is also
close to rounded Gaussian noise, whose curve is tight, at a small cost in δ.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

from dpaccount.errors import RuleError
from dpaccount.proof import Theorem, discrete_gaussian, fine_gaussian, to_approximate
from dpaccount.proof.search import proposed

Wrap = Callable[[Theorem], Theorem]


def least(ways: list[Callable[[], Theorem]], delta: Fraction) -> Theorem:
    """Return the way that proves the least ε at `delta`; raises `RuleError` if none does."""
    found, refused = [], None
    for way in ways:
        try:
            found.append(proposed(way(), delta))
        except RuleError as error:
            refused = error
    if not found and refused is not None:
        raise refused
    part, epsilon, order = min(found, key=lambda at: at[1])
    return to_approximate(part, epsilon, delta, order)


def gaussian(
    query: Theorem,
    sigma: Fraction,
    grid: Fraction,
    coordinates: int,
    key: str,
    delta: Fraction,
    wrap: Wrap,
    like: Theorem | None = None,
) -> Theorem:
    """Return the theorem `wrap` of Gaussian noise on a query, at (ε, `delta`), by the better rule.

    `query`: a theorem that it is ℓ2-stable; or symmetric and stable in Frobenius norm, with symmetric noise.
    `sigma`: the noise's standard deviation, and `grid` its step, above 0 and in the query's units.
    `coordinates`: how many numbers get noise, those of the upper triangle of a symmetric query.
    `key`: the name of the draw, for receipts.
    `delta`: that of the theorem, in [0, 1]; at 0 only the exact rule applies.
    `wrap`: what follows the noise in the proof, such as its release over many covers.
    `like`: another stability of the same query that selects the rule instead, so that one certificate has one
    distribution, even if that rule proves nothing for `query`.
    """
    far = distance(sigma, grid, coordinates)
    # Both rules are tried: which proves less depends on δ and on the step.
    rules: list[Wrap] = [lambda moved: wrap(discrete_gaussian(moved, sigma**2, grid, key))]
    if delta > 0:
        rules.append(lambda moved: wrap(fine_gaussian(moved, sigma**2, grid, coordinates, far, key)))
    if like is not None:
        rules = [min(rules, key=lambda rule: _cost(rule, like, delta))]
    return least([partial(rule, query) for rule in rules], delta)


def _cost(rule: Wrap, query: Theorem, delta: Fraction) -> tuple[bool, Fraction]:
    """Return the ε that a rule proves; infinite if it proves none."""
    try:
        return False, proposed(rule(query), delta)[1]
    except RuleError:
        return True, Fraction(0)


def distance(sigma: Fraction, grid: Fraction, coordinates: int) -> Fraction:
    """Return the total variation distance from rounded Gaussian noise that `fine_gaussian` uses."""
    square = sigma**2 / grid**2
    low = Fraction(max(math.isqrt(math.floor(square * 10**18)), 1), 10**9)
    return coordinates * (Fraction(201643, 10**7) + Fraction(1573, 10**5) / low) / square


def unchanged(theorem: Theorem) -> Theorem:
    """Return the theorem as it is: for one release."""
    return theorem
