"""The supremum of USCA's posterior variance, certified, and how far one record moves all scores.

With Z of K public coins in a box, σ̄²(w) = φ(w)ᵀ(τI + Σφφᵀ)⁻¹φ(w) = (k(w, w) − k_wᵀ(K + τI)⁻¹k_w)/τ.

*Between evaluated points.*  |σ̄(w) − σ̄(w′)| ≤ ‖φ(w) − φ(w′)‖/√τ = √(2 − 2k(w, w′))/√τ, as (τI + …)⁻¹ ≤ I/τ.
For a radial kernel that falls with the distance, a cell is bounded by its centre and its corner; the best
cell is split first (branch and bound) until the bound is near the largest value seen, or work runs out.

*The range.*  A replaced record moves the scores by d(w) = y c(w, w₁) − y′ c(w, w₂), c the posterior
covariance.  If c ≥ −I everywhere and S = sup σ̄², then max d − min d ≤ 2B(S + I), against 2m = 4BS in the
exponent: the cost is ε(S + I)/(2S).  I is found on a grid, with |c(w, w′) − c(v, v′)| at most
√(S/τ)(‖φ(w) − φ(v)‖ + ‖φ(w′) − φ(v′)‖) in between (Cauchy–Schwarz).
"""

import heapq
import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from audits.papers.claim_check import Cost, Exact, PaperClaim, Parameter, Scales, Word, count, positive
from audits.papers.derivations import short_above
from audits.papers.enclosures import enclose, exactly, of
from dpaccount.exact import Enclosure
from dpaccount.numerics.balls import ball, ceil_of, floor_of, precision
from dpaccount.proof import REPLACE_ONE, Theorem, assume_range, exponential, to_pure

Floats = NDArray[np.float64]
Point = tuple[Fraction, ...]
BITS = 96
EVALUATIONS = 1500  #: of the variance, in balls
NEAR = Fraction(101, 100)  #: branch and bound stops within this factor
SIDE = 161  #: of the uniform grid that it is compared with
LINE = 1201  #: points of the grid for covariances
ROUNDING = 1e-9  #: added to covariances in floats; with K ≤ 60 and τ ≥ 1/100 they are off by less than 1e−10


def radial(kind: str, distance: arb, lengthscale: Fraction) -> arb:
    """Return k at this distance, 1 at distance 0."""
    at = distance / ball(lengthscale)
    match kind:
        case "se":
            return (-at * at / 2).exp()
        case "matern":
            root3 = arb(3).sqrt() * at
            return (1 + root3) * (-root3).exp()
        case _:
            return (-at).exp()


def nodes(seed: int, size: int, dimension: int) -> list[Point]:
    """Return Z: points of the unit box, multiples of 2⁻²⁰, from a public seed."""
    drawn = np.random.default_rng(seed).integers(0, 2**20, (size, dimension), endpoint=True)
    return [tuple(Fraction(int(v), 2**20) for v in row) for row in drawn]


class Posterior:
    """σ̄² of one kernel and one Z, in balls."""

    def __init__(self, kind: str, lengthscale: Fraction, ridge: Fraction, points: list[Point]) -> None:
        """Invert K + τI once."""
        self.kind, self.lengthscale, self.ridge, self.points = kind, lengthscale, ridge, points
        gram = [[self._k(a, b) + (ball(ridge) if i == j else 0) for j, b in enumerate(points)] for i, a in
                enumerate(points)]  # fmt: skip
        self.inverse = arb_mat(gram).inv()

    def _k(self, a: Point, b: Point) -> arb:
        square = sum(((x - y) ** 2 for x, y in zip(a, b, strict=True)), Fraction(0))
        return radial(self.kind, ball(square).sqrt(), self.lengthscale)

    def variance(self, at: Point) -> arb:
        """Return σ̄² at a point."""
        cross = arb_mat([[self._k(at, z)] for z in self.points])
        explained = (cross.transpose() * self.inverse * cross)[0, 0]
        return (1 - explained) / ball(self.ridge)

    def step(self, distance: arb) -> arb:
        """Return the most that σ̄ changes over this distance."""
        k = radial(self.kind, distance, self.lengthscale)
        return (2 - 2 * k).max(arb(0)).sqrt() / ball(self.ridge).sqrt()


def branch_and_bound(posterior: Posterior, hint: Point) -> tuple[Enclosure, int]:
    """Return an enclosure of sup σ̄² over the unit box, and how often σ̄² was evaluated.

    `hint` is where the supremum is thought to be; a bad one only costs evaluations.
    """
    dimension = len(hint)
    with precision(BITS):
        top = 1 / ball(posterior.ridge)  # σ̄² ≤ 1/τ anyhow
        best, tries, order = floor_of(posterior.variance(hint)), 1, itertools.count()
        corner = ball(dimension).sqrt() / 2
        heap: list[tuple[float, int, Fraction, Point, int]] = []

        def open_cell(centre: Point, depth: int) -> None:
            nonlocal best, tries
            value = posterior.variance(centre)
            tries += 1
            best = max(best, floor_of(value))
            reach = posterior.step(corner / 2**depth)
            bound = min(ceil_of((value.max(arb(0)).sqrt() + reach) ** 2), ceil_of(top))
            heapq.heappush(heap, (-float(bound), next(order), bound, centre, depth))

        open_cell((Fraction(1, 2),) * dimension, 0)
        while -heap[0][0] > float(best * NEAR) and tries < EVALUATIONS:
            _, _, _, centre, depth = heapq.heappop(heap)
            quarter = Fraction(1, 2 ** (depth + 2))
            for signs in itertools.product((-1, 1), repeat=dimension):
                moved = tuple(c + s * quarter for c, s in zip(centre, signs, strict=True))
                open_cell(moved, depth + 1)
        return Enclosure(best, max(cell[2] for cell in heap)), tries


# ------------------------------------------------------------------ in floats: grids


def grid_kernel(kind: str, distance: Floats, lengthscale: float) -> Floats:
    """Return the kernel of an array of distances."""
    at = distance / lengthscale
    found: Floats
    match kind:
        case "se":
            found = np.exp(-at * at / 2)
        case "matern":
            found = (1 + math.sqrt(3) * at) * np.exp(-math.sqrt(3) * at)
        case _:
            found = np.exp(-at)
    return found


def _kernel(p: dict[str, Any], a: Floats, b: Floats) -> Floats:
    apart = np.sqrt(np.square(a[:, None, :] - b[None, :, :]).sum(axis=2))
    return grid_kernel(p["kernel"], apart, float(p["lengthscale"]))


def covariances(p: dict[str, Any], points: Floats, drawn: Floats) -> Floats:
    """Return c between all pairs of points."""
    cross, ridge = _kernel(p, points, drawn), float(p["ridge"])
    gain = np.linalg.solve(_kernel(p, drawn, drawn) + ridge * np.eye(len(drawn)), cross.T)
    found: Floats = (_kernel(p, points, points) - cross @ gain) / ridge
    return found


def on_grid(p: dict[str, Any], grid: Floats, drawn: list[Point]) -> Floats:
    """Return σ̄² at all rows of `grid`."""
    z = np.array([[float(x) for x in point] for point in drawn])
    cross, ridge = _kernel(p, grid, z), float(p["ridge"])
    gain = np.linalg.solve(_kernel(p, z, z) + ridge * np.eye(len(z)), cross.T)
    found: Floats = (1 - (cross * gain.T).sum(axis=1)) / ridge
    return found


def supremum(p: dict[str, Any]) -> Cost:
    """Certify sup σ̄² over the unit square, and compare grids and the bound 1/τ with it."""
    drawn = nodes(int(p["seed"]), int(p["points"]), 2)
    with precision(BITS):
        posterior = Posterior(p["kernel"], p["lengthscale"], p["ridge"], drawn)
    axis = np.linspace(0, 1, SIDE)
    grid = np.array([(a, b) for a in axis for b in axis])
    variances = on_grid(p, grid, drawn)
    at = grid[int(variances.argmax())]
    found, tries = branch_and_bound(posterior, tuple(Fraction(float(x)) for x in at))
    largest = float(variances.max())
    with precision(BITS):
        reach = float(posterior.step(arb(2).sqrt() / (2 * (SIDE - 1))).upper())
    low = float(found.lower or 0)
    return Cost(
        claimed=(None, None),
        noise=Scales(exactly(Fraction(found.upper)), exactly(Fraction(found.lower or 0))),
        factor=enclose(lambda: ball(Fraction(found.upper)) / ball(Fraction(found.lower or 1))),
        holds=True,
        witness={
            "supremum": [low, float(found.upper)],
            "evaluations": tries,
            "grid_over_supremum": largest / low,
            "certified_grid_over_supremum": (math.sqrt(largest) + reach) ** 2 / low,
            "fallback_over_supremum": 1 / (float(p["ridge"]) * low),
            "statistic": "posterior variance over the unit square, Z of public coins",
        },
    )


def range_factor(p: dict[str, Any]) -> Cost:
    """Bound the range of a record's effect on the unit interval: the exponent ε/(2m) costs less than ε."""
    drawn = nodes(int(p["seed"]), int(p["points"]), 1)
    with precision(BITS):
        posterior = Posterior(p["kernel"], p["lengthscale"], p["ridge"], drawn)
    axis = np.linspace(0, 1, LINE)[:, None]
    at = float(axis[int(on_grid(p, axis, drawn).argmax()), 0])
    whole, _ = branch_and_bound(posterior, (Fraction(at),))
    z = np.array([[float(x) for x in point] for point in drawn])
    least = float(covariances(p, axis, z).min())
    with precision(BITS):
        reach = 2 * posterior.step(arb(1) / (2 * (LINE - 1))) * ball(Fraction(whole.upper)).sqrt()
        deepest = Fraction(max(0.0, -least)) + Fraction(ROUNDING) + ceil_of(reach)
    seen = max(Fraction(0), Fraction(-least) - Fraction(ROUNDING))
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
    "kernel": Word(("se", "matern", "exponential")),
    "lengthscale": Exact(Fraction(1, 2), least=Fraction(1, 1000), most=Fraction(1000)),
    "points": count(40, most=60),
    "ridge": Exact(Fraction(1), least=Fraction(1, 100), most=Fraction(100)),
    "seed": Exact(Fraction(1), least=Fraction(0), most=Fraction(2**31), whole=True),
}

CLAIMS = (
    PaperClaim(
        "pavlovic-supremum",
        "Pavlovic et al. 2025, Algorithm 1",
        "the supremum of the posterior variance over the unit square, as branch and bound certifies it",
        SHAPE,
        supremum,
    ),
    PaperClaim(
        "pavlovic-range",
        "Pavlovic et al. 2025, Theorem 7.3",
        "the exponent epsilon/(2m) makes one prediction epsilon-private; on smooth kernels about half",
        {"epsilon": positive("1"), **SHAPE},
        range_factor,
    ),
)
