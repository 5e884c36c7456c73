"""The supremum of a posterior variance, enclosed.

With Z of public coins in the unit box and ridge τ, σ̄²(w) = (k(w, w) − k_wᵀ(K + τI)⁻¹k_w)/τ; the Kτ of
Pavlovic et al. 2025, Lemma 3.1, is this ridge, and their σ̄² this one times K.

*Between evaluated points.*  |σ̄(w) − σ̄(w′)| ≤ d_k(w, w′)/√τ with d_k = √(2 − 2k(w, w′)), as φφᵀ-sums plus τI
are at least τI.  For a radial kernel that falls with the distance, a cell is bounded by its centre and its
corner; the best cell is split first (branch and bound) until the bound is near the largest value seen, or
work runs out.  Smooth kernels have d_k of the order of the distance; that of Matérn-1/2 falls with its
root only, so that its bounds stay loose.

*On a finite grid* the maximum is exact; on a box, a maximum over a grid bounds nothing.
"""

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from fractions import Fraction
from typing import Final, NoReturn

from flint import arb, arb_mat

from bandits.statistics import kernels
from dpaccount.errors import InputError, out_of_range
from dpaccount.exact import Enclosure
from dpaccount.numerics.intervals import ball, ceil_of, floor_of, precision

Point = tuple[Fraction, ...]
PRECISION: Final = 96
EVALUATIONS: Final = 1500  #: of the variance, in balls
STOP_FACTOR: Final = Fraction(101, 100)  #: branch and bound stops within this factor
BOX: Final = "the unit box"
FINITE: Final = "a finite grid"

_SEAL = object()


@dataclass(frozen=True)
class Supremum:
    """What is known of sup σ̄², over what, how it was bounded in between, and at how many evaluations.

    `metric` names what bounds it between evaluated points; None where all of them are evaluated.  Only
    the searches of this file make one: an enclosure written by hand, or changed by `replace`, is one that
    nobody found.
    """

    enclosure: Enclosure
    over: str
    metric: str | None
    evaluations: int
    seal: InitVar[object] = None

    def __post_init__(self, seal: object) -> None:
        """Refuse everyone but the searches of this file."""
        if seal is not _SEAL:
            raise InputError(
                "a Supremum comes from a search", "call branch_and_bound, over_places or above_ridge instead"
            )

    def __init_subclass__(cls) -> None:
        """Refuse subclasses, which could say any enclosure."""
        raise InputError("Supremum cannot be subclassed")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse pickling and copying: an unpickled one was not computed here."""
        raise InputError("a Supremum cannot be pickled or copied", "search again, or keep its as_json")

    def as_json(self) -> dict[str, object]:
        """Return the enclosure as a report prints it."""
        return {
            "supremum": [float(self.enclosure.lower or 0), float(self.enclosure.upper)],
            "over": self.over,
            "metric": self.metric,
            "evaluations": self.evaluations,
            "verdict": "ENCLOSED",
        }


@dataclass(frozen=True, eq=False)
class PosteriorVariance:
    """σ̄² of one kernel and one Z, in balls; a point of Z counts with its weight, or once.

    Z is points and nothing else: its kernel matrix is computed here, of this kernel, and neither can be
    changed afterwards.  n equal points of Z are one of weight n: both have the same ΣWφφᵀ + τI.
    """

    kernel: str
    lengthscale: Fraction
    ridge: Fraction
    points: Sequence[Point]
    weights: Sequence[Fraction] | None = None
    _inverse: arb_mat = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Invert K + τW⁻¹ once; raises `InputError` for τ ≤ 0 or too small for balls, and unknown kernels."""
        kernels.known(self.kernel, self.lengthscale)
        if not self.ridge > 0:
            raise InputError(f"the ridge is {float(self.ridge):g}", "it is above 0")
        points, weights = tuple(self.points), tuple(self.weights or (Fraction(1),) * len(self.points))
        if not points:
            raise InputError("Z is empty", "needed at least one point")
        if len(weights) != len(points) or min(weights) <= 0:
            raise out_of_range("a weight above 0 for each point of Z")
        gram = arb_mat([[self._k(a, b) for b in points] for a in points])
        for place, weight in enumerate(weights):
            gram[place, place] += ball(self.ridge / weight)
        try:
            inverse = gram.inv()
        except ZeroDivisionError:
            raise InputError(
                f"the ridge is {float(self.ridge):g}, too small beside the points of Z", "take a larger one"
            ) from None
        for name, value in (("points", points), ("weights", weights), ("_inverse", inverse)):
            object.__setattr__(self, name, value)

    def __init_subclass__(cls) -> None:
        """Refuse subclasses, whose variance could be anything."""
        raise InputError("PosteriorVariance cannot be subclassed")

    @property
    def dimension(self) -> int:
        """Return the number of coordinates."""
        return len(self.points[0])

    def _k(self, a: Point, b: Point) -> arb:
        square = sum(((x - y) ** 2 for x, y in zip(a, b, strict=True)), Fraction(0))
        return kernels.ball_at(self.kernel, ball(square).sqrt(), self.lengthscale)

    def variance(self, at: Point) -> arb:
        """Return σ̄² at a point."""
        cross = arb_mat([[self._k(at, z)] for z in self.points])
        explained = (cross.transpose() * self._inverse * cross)[0, 0]
        return (1 - explained) / ball(self.ridge)

    def step(self, distance: arb) -> arb:
        """Return the most that σ̄ changes over this distance."""
        k = kernels.ball_at(self.kernel, distance, self.lengthscale)
        return (2 - 2 * k).max(arb(0)).sqrt() / ball(self.ridge).sqrt()


def branch_and_bound(posterior: PosteriorVariance, hint: Point, most: int = EVALUATIONS) -> Supremum:
    """Return an enclosure of sup σ̄² over the unit box after at most about `most` evaluations.

    `hint` is where the supremum is thought to be; a bad one only costs evaluations.  Raises `InputError` for
    one beyond the box, whose value would be no lower bound.
    """
    _check_ours(posterior)
    if len(hint) != posterior.dimension or not all(0 <= x <= 1 for x in hint):
        raise InputError("the hint lies beyond the unit box", "needed a point of it")
    dimension = posterior.dimension
    with precision(PRECISION):
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
        # The cell of the largest bound is split first, so once that is within the factor, every other is.
        while -heap[0][0] > float(best * STOP_FACTOR) and tries < most:
            _, _, _, centre, depth = heapq.heappop(heap)
            quarter = Fraction(1, 2 ** (depth + 2))
            for signs in itertools.product((-1, 1), repeat=dimension):
                moved = tuple(c + s * quarter for c, s in zip(centre, signs, strict=True))
                open_cell(moved, depth + 1)
        enclosure = Enclosure(best, max(cell[2] for cell in heap))
    return Supremum(enclosure, BOX, f"sqrt(2 - 2 k)/sqrt(tau), k {posterior.kernel}", tries, _SEAL)


def over_places(posterior: PosteriorVariance, points: list[Point]) -> Supremum:
    """Return an enclosure of the largest σ̄² over a finite grid, every point of it evaluated."""
    _check_ours(posterior)
    with precision(PRECISION):
        values = [posterior.variance(point) for point in points]
        ends = Enclosure(max(map(floor_of, values)), max(map(ceil_of, values)))
    return Supremum(ends, FINITE, None, len(points), _SEAL)


def above_ridge(ridge: Fraction) -> Supremum:
    """Return σ̄² ≤ 1/τ, which holds of every Z and every point where k(w, w) ≤ 1."""
    if not ridge > 0:
        raise InputError(f"the ridge is {float(ridge):g}", "it is above 0")
    return Supremum(Enclosure(Fraction(0), 1 / ridge), FINITE, None, 0, _SEAL)


def _check_ours(posterior: PosteriorVariance) -> None:
    """Refuse what merely looks like a posterior variance."""
    if type(posterior) is not PosteriorVariance:
        raise InputError(f"needed a PosteriorVariance, found {type(posterior).__name__[:40]}")
