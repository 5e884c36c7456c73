"""The supremum of USCA's posterior variance, certified, and how far one record moves all scores.

Branch and bound itself is `bandits.private_prediction.supremum`, which the bandit shares.

*The range.*  A replaced record moves the scores by d(w) = y c(w, w₁) − y′ c(w, w₂), c the posterior
covariance.  If c ≥ −I everywhere and S = sup σ̄², then max d − min d ≤ 2B(S + I), against 2m = 4BS in the
exponent: the cost is ε(S + I)/(2S).  I is found on a grid, with |c(w, w′) − c(v, v′)| at most
√(S/τ)(‖φ(w) − φ(v)‖ + ‖φ(w′) − φ(v′)‖) in between (Cauchy–Schwarz).
"""

import math
from fractions import Fraction

import numpy as np
from flint import arb

from bandits.private_prediction.supremum import PRECISION, Point, PosteriorVariance, branch_and_bound
from bandits.statistics import kernels
from bandits.statistics.arrays import Floats
from dpaccount.exact import Enclosure
from dpaccount.numerics.intervals import ball, ceil_of, precision
from dpaccount.proof import REPLACE_ONE, Theorem, assume_range, exponential, to_pure
from papers.claims.claim_check import Cost, PaperClaim, Scales
from papers.claims.derivations import short_above
from papers.claims.enclosures import enclose, exactly, of
from papers.claims.parameters import Exact, Parameter, Values, Word, count, positive

#: a claim's kernels; "matern" is that of 3/2
KERNEL_NAMES = {"se": "squared-exponential", "matern": "matern-3/2", "exponential": "matern-1/2"}
SIDE = 161  #: of the uniform grid that it is compared with
LINE = 1201  #: points of the grid for covariances
#: added to covariances in floats; with K ≤ 60 and τ ≥ 1/100 they are off by less than 1e−10
COVARIANCE_ROUNDING = 1e-9


def drawn_points(seed: int, size: int, dimension: int) -> list[Point]:
    """Return Z: points of the unit box, multiples of 2⁻²⁰, from a public seed."""
    drawn = np.random.default_rng(seed).integers(0, 2**20, (size, dimension), endpoint=True)
    return [tuple(Fraction(int(v), 2**20) for v in row) for row in drawn]


# ------------------------------------------------------------------ in floats: grids


def _kernel(p: Values, a: Floats, b: Floats) -> Floats:
    return kernels.matrix(KERNEL_NAMES[p.words["kernel"]], a, b, float(p["lengthscale"]))


def _posterior(p: Values, drawn: list[Point]) -> PosteriorVariance:
    with precision(PRECISION):
        return PosteriorVariance(KERNEL_NAMES[p.words["kernel"]], p["lengthscale"], p["ridge"], drawn)


def covariances(p: Values, points: Floats, drawn: Floats) -> Floats:
    """Return c between all pairs of points."""
    cross, ridge = _kernel(p, points, drawn), float(p["ridge"])
    gain = np.linalg.solve(_kernel(p, drawn, drawn) + ridge * np.eye(len(drawn)), cross.T)
    return (_kernel(p, points, points) - cross @ gain) / ridge


def on_grid(p: Values, grid: Floats, drawn: list[Point]) -> Floats:
    """Return σ̄² at all rows of `grid`."""
    z = np.array([[float(x) for x in point] for point in drawn])
    cross, ridge = _kernel(p, grid, z), float(p["ridge"])
    gain = np.linalg.solve(_kernel(p, z, z) + ridge * np.eye(len(z)), cross.T)
    return (1 - (cross * gain.T).sum(axis=1)) / ridge


def supremum(p: Values) -> Cost:
    """Certify sup σ̄² of Algorithm 1 over the unit square; compare grids and the bound 1/τ with it."""
    drawn = drawn_points(int(p["seed"]), int(p["points"]), 2)
    posterior = _posterior(p, drawn)
    axis = np.linspace(0, 1, SIDE)
    grid = np.array([(a, b) for a in axis for b in axis])
    variances = on_grid(p, grid, drawn)
    at = grid[int(variances.argmax())]
    certified = branch_and_bound(posterior, tuple(Fraction(float(x)) for x in at))
    bound, tries = certified.enclosure, certified.evaluations
    largest = float(variances.max())
    with precision(PRECISION):
        reach = float(posterior.step(arb(2).sqrt() / (2 * (SIDE - 1))).upper())
    low = float(bound.lower or 0)
    return Cost(
        claimed=(None, None),
        noise=Scales(exactly(Fraction(bound.upper)), exactly(Fraction(bound.lower or 0))),
        factor=enclose(lambda: ball(Fraction(bound.upper)) / ball(Fraction(bound.lower or 1))),
        holds=True,
        witness={
            "supremum": [low, float(bound.upper)],
            "evaluations": tries,
            "grid_over_supremum": largest / low,
            "certified_grid_over_supremum": (math.sqrt(largest) + reach) ** 2 / low,
            "fallback_over_supremum": 1 / (float(p["ridge"]) * low),
            "statistic": "posterior variance over the unit square, Z of public coins",
        },
    )


def range_factor(p: Values) -> Cost:
    """Theorem 7.3: the range of a record's effect on the unit interval; the exponent ε/(2m) costs less."""
    drawn = drawn_points(int(p["seed"]), int(p["points"]), 1)
    posterior = _posterior(p, drawn)
    axis = np.linspace(0, 1, LINE)[:, None]
    at = float(axis[int(on_grid(p, axis, drawn).argmax()), 0])
    whole = branch_and_bound(posterior, (Fraction(at),)).enclosure
    z = np.array([[float(x) for x in point] for point in drawn])
    least = float(covariances(p, axis, z).min())
    with precision(PRECISION):
        reach = 2 * posterior.step(arb(1) / (2 * (LINE - 1))) * ball(Fraction(whole.upper)).sqrt()
        deepest = Fraction(max(0.0, -least)) + Fraction(COVARIANCE_ROUNDING) + ceil_of(reach)
    seen = max(Fraction(0), Fraction(-least) - Fraction(COVARIANCE_ROUNDING))
    top = short_above((Fraction(whole.upper) + deepest) / (2 * Fraction(whole.upper)))
    factor = Enclosure(Fraction(1, 2) + seen / (2 * Fraction(whole.upper)), min(top, Fraction(1)))
    epsilon = p["epsilon"]

    def proof() -> Theorem:
        width = 2 * Fraction(factor.upper)  # in units of m
        scores = assume_range("prediction", width, REPLACE_ONE, "covariances bounded below on the interval")
        return to_pure(exponential(scores, epsilon / 2, "prediction"))

    return Cost(
        claimed=(epsilon, Fraction(0)),
        epsilon=Enclosure(None, epsilon * factor.upper),
        factor=enclose(lambda: 1 / of(factor)),
        proof=proof,
        witness={
            "supremum": [float(whole.lower or 0), float(whole.upper)],
            "least_covariance": least,
            "bound_over_2m": [float(factor.lower or 0), float(factor.upper)],
            "statistic": "range of y c(w, w1) - y' c(w, w2) over w, at most 2B(sup c - inf c)",
        },
    )


SHAPE: dict[str, Parameter] = {
    "kernel": Word(tuple(KERNEL_NAMES)),
    "lengthscale": Exact(Fraction(1, 2), least=Fraction(1, 1000), most=Fraction(1000)),
    "points": count(40, most=60),
    "ridge": Exact(Fraction(1), least=Fraction(1, 100), most=Fraction(100)),
    "seed": Exact(Fraction(1), least=Fraction(0), most=Fraction(2**31), whole=True),
}

CLAIMS = (
    PaperClaim("pavlovic-supremum", SHAPE, supremum),
    PaperClaim("pavlovic-range", {"epsilon": positive("1"), **SHAPE}, range_factor),
)
