"""Linear estimates with widths that hold: what they leave of a person's candidates, and whom to learn from.

A release is Ĝ = G + N, G = Σφφᵀ, and û = Σφy + ν, of n people who were shown what `design` draws of the
candidates that earlier releases left them; ‖φ‖ ≤ 1, and rewards about ½ are y = φᵀθ + ξ, ‖θ‖ ≤ B = `norm`.

**Widths.**  Let c ≥ ‖N‖ be `matrix`, s a ridge, and H = (Ĝ + cI + sI)⁻¹ ≼ (G + sI)⁻¹.  The estimate Hû errs
by H(Σφξ + ν − Nθ − (c + s)θ).  In the norm of H, Σφξ is at most what it is in that of (G + sI)⁻¹: numbers of
deviation ½ on d axes or fewer, subgaussian as rewards lie in an interval of length 1 (Hoeffding).  What is
left has at most ‖ν − Nθ‖ + (c + s)B over √s; for a fixed θ, ν − Nθ is subgaussian of variance σ²(1 + 2B²).
With r = `radius`, the sum of both, |x·(Hû − θ)| ≤ w(x) = r·√(xᵀHx) for all x at once.

**Their size.**  People are independent draws of one law, so G is a sum of independent terms, and G + sI ≽
(1 − η)(nE[V] + sI), V = Σπφφᵀ of a person's design.  The person's candidates have φᵀV⁻¹φ ≤ `OPTIMAL`·d, so
w² ≤ r²·`OPTIMAL`·d·tr(VH).  As tr(E[V]H) ≤ d/((1 − η)n), the mean over people of their largest width is at
most r·d·√(`OPTIMAL`/((1 − η)n)): `width`.

**Regret.**  A person's best candidate a* is not left out.  Where a is kept, θ·(a* − a) ≤ 2w(a* − a), that is
four largest widths; where by a share β of the width only, at most 2(1 + β) of them.  What later releases
leave was there before, so that the mean is one over people of the release.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandits.learning.contextual import pick
from bandits.learning.gp_ucb import SolvedPosterior, raised
from bandits.statistics import second_moments
from bandits.statistics.arrays import Floats, Integers
from bandits.statistics.axes import symmetric_root
from bandits.statistics.first_moments import HALF
from mechanisms.symmetric_gaussian import FEATURE_BITS

OPTIMAL = 1.1  #: how much larger the longest candidate of a design may be than that of the best design
BY_CHANCE = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  #: of second moments that chance may take, to choose from
RIDGES = (1, 2, 4, 8)  #: multiples of the least ridge, to choose from
GRID = 2.0**-FEATURE_BITS  #: features and rewards are truncated to multiples of it
DOUBT = 0.125  #: share of a width by which others may be better than what those who do not learn are shown
RANK = 1e-7  #: of the largest singular value of a person's candidates; smaller ones count as 0


@dataclass(frozen=True)
class Precision:
    """What holds for one release, but for four events of chance exp(−`log`) each.

    `people` have `size` features; noise has the deviation `sigma`, √2 times that on the diagonal.
    """

    people: int
    size: int
    sigma: float
    norm: float
    log: float

    def length(self, numbers: int) -> float:
        """Return a bound on the norm of subgaussian numbers of deviation 1 (Hsu, Kakade & Zhang 2012)."""
        return sqrt(numbers + 2 * sqrt(numbers * self.log) + 2 * self.log)

    @property
    def matrix(self) -> float:
        """Return a bound on ‖N‖, by its Frobenius norm."""
        return sqrt(2) * self.sigma * self.length(self.size * (self.size + 1) // 2)

    def least_ridge(self, share: float) -> float:
        """Return s for which G + s ≽ (1 − `share`)(E G + s), by the matrix Bernstein bound (Tropp 2012)."""
        return 2 * (1 + share / 3) * (self.log + log(self.size)) / share**2

    def radius(self, ridge: float) -> float:
        """Return a bound on the estimate's error in the norm of Ĝ + `matrix` + `ridge`."""
        rounding = sqrt(self.people) * GRID * (1 + self.norm * sqrt(self.size))
        noise = self.sigma * sqrt(1 + 2 * self.norm**2) * self.length(self.size)
        bias = (self.matrix + ridge) * self.norm
        return self.length(self.size) / 2 + rounding + (noise + bias) / sqrt(ridge)

    def width(self, share: float, ridge: float) -> float:
        """Return a bound on the mean of the largest width among the candidates of a person like these."""
        rounded = 2 * GRID * self.size / sqrt(ridge)
        largest = self.size * sqrt(OPTIMAL / ((1 - share) * self.people))
        return self.radius(ridge) * (largest + rounded)

    def best(self) -> tuple[float, float]:
        """Return the least `width`, and its ridge."""
        ways = [(share, many * self.least_ridge(share)) for share in BY_CHANCE for many in RIDGES]
        return min((self.width(share, ridge), ridge) for share, ridge in ways)


class Widths:
    """An estimate of θ by one release, and how far it may be off in every direction."""

    def __init__(self, gram: Floats, moment: Floats, precision: Precision) -> None:
        _, ridge = precision.best()
        values, vectors = np.linalg.eigh(gram)
        # Where the noise is within its bound, no eigenvalue is below the ridge: raising changes nothing.
        inverse = (vectors / np.maximum(values + precision.matrix + ridge, ridge)) @ vectors.T
        self.mean: Floats = inverse @ moment
        self.root: Floats = precision.radius(ridge) * symmetric_root(inverse)

    def tells(self, share: float) -> bool:
        """Return whether there are candidates of which `kept` leaves one out."""
        return bool(np.linalg.norm(np.linalg.solve(self.root, self.mean)) > share)

    def kept(self, candidates: Floats, share: float = 1.0) -> Integers:
        """Return the places, at least one, of what no other is better than by a share of the width."""
        estimates, wide = candidates @ self.mean, candidates @ self.root
        ways = zip(estimates, wide, strict=True)  # one by one: all pairs at once take much memory
        gaps = ((estimates - mine) - share * np.linalg.norm(wide - away, axis=1) for mine, away in ways)
        return np.flatnonzero([not (gap > 0).any() for gap in gaps])


def design(candidates: Floats) -> Floats:
    """Return chances π of candidates with φᵀV⁻¹φ ≤ `OPTIMAL`·rank for each, V = Σπφφᵀ.

    The best design has that without the factor (Kiefer & Wolfowitz 1960); steps are Fedorov's and Wynn's.
    """
    chances = np.full(len(candidates), 1 / len(candidates))
    axes, spread, _ = np.linalg.svd(candidates, full_matrices=False)
    inside = axes[:, spread > RANK * spread[0]]  # lengths are the same in any coordinates of the span
    rank = inside.shape[1]
    while rank:
        lengths = np.vecdot(inside @ np.linalg.inv((inside.T * chances) @ inside), inside)
        longest = int(lengths.argmax())
        if not lengths[longest] > OPTIMAL * rank:
            break
        step = (lengths[longest] / rank - 1) / (lengths[longest] - 1)
        chances *= 1 - step
        chances[longest] += step
    return chances


class RegressionBelief:
    """What all releases say, and what phases' estimates leave to be shown.

    `stages`: how many people each batch has, and whether they learn.  `precision`: what holds for so many.
    """

    def __init__(self, stages: list[tuple[int, bool]], precision: Callable[[int], Precision]) -> None:
        self._stages, self._precision, self._number = stages, precision, 0
        size = precision(1).size
        self._limits: list[Widths] = []
        self._last: Widths | None = None
        self._sum: Floats = np.zeros((size + 1, size + 1))
        self._mean: Floats = np.zeros(size)

    def left(self, candidates: Floats) -> Integers:
        """Return the places of what may be shown in the batch under way."""
        places = np.arange(len(candidates))
        for limits in self._limits:
            places = places[limits.kept(candidates[places])]
        if self.learning or self._last is None:
            return places
        return places[self._last.kept(candidates[places], DOUBT)]

    @property
    def learning(self) -> bool:
        """Return whether people of the batch under way are shown what a design draws."""
        return self._stages[self._number][1]

    def drawn(self, candidates: Floats, coins: Floats) -> int:
        """Return the place of what is shown, by coins of the person's own slot."""
        left = self.left(candidates)
        if not self.learning:
            return int(left[pick(self.scores(candidates[left]), coins[left])])
        # Of exponential clocks with rates π, each is the first to ring with chance π.
        with np.errstate(divide="ignore"):
            clocks = np.log(coins[left]) / design(candidates[left])
        return int(left[np.argmax(clocks)])

    def scores(self, candidates: Floats) -> Floats:
        """Return φᵀθ̂ by all releases."""
        return candidates @ self._mean

    def contribution(self, features: Floats, reward: float | None) -> Integers:
        """Return [φφᵀ, φ(y − ½); (y − ½)φᵀ, 0]; no answer adds zero."""
        known = None if reward is None else second_moments.centred(reward)
        return second_moments.contribution(features, known, HALF, corner=False)

    def learn(self, released: NDArray[Any], people: int) -> None:
        """Take the batch's sums; those who learned also make an estimate with its widths."""
        total, precision = released * GRID**2, self._precision(self._stages[self._number][0])
        if self.learning:
            found = Widths(total[:-1, :-1], total[:-1, -1], precision)
            # Most early ones say nothing of any candidates, which is seen once instead of for every person.
            self._limits += [found] if found.tells(1.0) else []
            self._last = found if found.tells(DOUBT) else None
        self._number += 1
        self._sum = self._sum + total
        edge = 2 * precision.sigma * sqrt(len(self._mean) * self._number)
        self._mean = SolvedPosterior(raised(self._sum[:-1, :-1], edge), self._sum[:-1, -1]).mean
