"""Factors C of the prefix sums A = B·C: integer weights, their longest column, and the error of B = A·C⁻¹.

Continual release by factorisation releases C·x + z row by row and shows A·C⁻¹ of what was released,
which is A·x + B·z.  Weights are integers in steps of 2^−`WEIGHT_BITS`, and none is above the real weight
that it approximates, so that C·x is exact and the declared column norm is true of the code.
"""

import math
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np

from dpaccount.errors import InputError
from dpaccount.noise.samplers import Integers, dyadic_up

WEIGHT_BITS = 20  #: weights are multiples of 2^−20
DECAY = 28  #: weights and decays of buffers are multiples of 2^−28
MAX_OPTIMAL_ROUNDS = 256  #: rounds of an optimal factor: half a minute


@lru_cache(maxsize=8)
def sqrt_toeplitz(rounds: int) -> Integers:
    """Return c_k = C(2k, k)/4^k for k < `rounds`, rounded down to multiples of 2^−20, as integers.

    C = √A exactly (Fichtenberger, Henzinger & Upadhyay 2023).  Running products in floating point err
    by less than 1e-9 of the value, which is taken off before rounding down; c_0 = 1 is exact.
    """
    k = np.arange(1, rounds, dtype=np.float64)
    real = np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k)) * (1 - 1e-9)])
    weights = np.floor(real * 2.0**WEIGHT_BITS).astype(np.int64)
    weights.flags.writeable = False
    return weights


def buffers(rounds: int, count: int) -> list[tuple[int, int]]:
    """Return weights w and decays λ, over 2^28, with 1, Σw, Σwλ, Σwλ², … close to √Toeplitz' coefficients.

    c_k = (1/π)∫₀¹ λ^k (λ(1−λ))^(−½) dλ; with λ = e^(−s) the trapezoidal rule in log s, from s = 2 to
    1/(2·`rounds`), where the coefficients end.  The sums that decay (Dvijotham, McMahan, Pillutla,
    Steinke & Thakurta 2024) have the least error somewhat below the √Toeplitz coefficients.
    """
    if rounds == 1:
        return []
    rates = np.geomspace(2, 0.5 / rounds, count)
    decays, apart = np.exp(-rates), math.log(4 * rounds) / (count - 1)
    weights = apart / math.pi * rates * decays**1.5 / np.sqrt(-np.expm1(-rates))
    return [(int(w * 2**DECAY), int(f * 2**DECAY)) for w, f in zip(weights, decays, strict=True)]


def buffered_movement_squared(
    pairs: list[tuple[int, int]], rounds: int, width: int, moved: float, step: Fraction
) -> Fraction:
    """Return a bound on what a value's movement of `moved` does to all rows, floors of `step` included.

    For the rule `buffered` to verify: computed in floating point, with room for its rounding.
    """
    one, later, column = 2**DECAY, rounds - 1, 1.0
    for (v, f), (w, g) in product(pairs, repeat=2):
        lost = float(1 - Fraction(f * g, one**2))  # exact before it is rounded: it may be tiny
        kept = -math.expm1(later * math.log1p(-lost)) if lost < 1 else 1.0
        column += v * w / one**2 * kept / lost
    floors = sum(one / (one - f) for _, f in pairs) * math.sqrt(later * width)
    moved_row = moved * math.sqrt(column) + floors * float(step)
    return dyadic_up(Fraction(moved_row**2 * (1 + 1e-9)), 40)


def lower(factor: Integers) -> list[list[int]]:
    """Return an explicit factor as rows up to the diagonal, as in a proof."""
    return [row[: i + 1] for i, row in enumerate(factor.tolist())]


@lru_cache(maxsize=8)
def optimal(rounds: int) -> Integers:
    """Return the factor of least error times longest column, for at most 256 rounds, as integers.

    Minimise tr(AᵀA·X⁻¹) over X = CᵀC with unit diagonal: convex, solved by the fixed point
    v = diag((D·AᵀA·D)^½), D = diag(v)^½, of its dual (Denisov, McMahan, Rush, Smith & Thakurta
    2022).  C is lower triangular with CᵀC = X.  Wherever the iteration stops, C is a factor and
    its columns are measured exactly; only the error depends on how far it came.
    """
    if not 1 <= rounds <= MAX_OPTIMAL_ROUNDS:
        raise InputError(
            f"the optimal factor is computed for 1 to {MAX_OPTIMAL_ROUNDS} rounds, found {rounds}"
        )
    prefix = np.tril(np.ones((rounds, rounds)))
    gram, dual, change = prefix.T @ prefix, np.ones(rounds), 1.0
    while change > 1e-4:
        half = np.sqrt(dual)
        values, vectors = np.linalg.eigh(half[:, None] * gram * half)
        root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T  # the square root of that matrix
        change, dual = float(np.abs(np.diag(root) / dual - 1).max()), np.diag(root).copy()
    best = root / np.outer(half, half)
    # CᵀC = X with C lower triangular: the Cholesky factor of X read from its other end
    flipped = np.linalg.cholesky(best[::-1, ::-1])
    factor: Integers = np.trunc(flipped.T[::-1, ::-1] * 2.0**WEIGHT_BITS).astype(np.int64)
    factor.flags.writeable = False
    return factor
