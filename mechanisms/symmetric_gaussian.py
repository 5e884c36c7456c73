"""Second moments of feature vectors and their rewards, released as one noisy symmetric matrix."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.laws import double_up
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers, root_up
from dpaccount.proof import REPLACE_ONE, Theorem, assume_rank_one, linear
from mechanisms.shared import accuracy, confidence, grid
from mechanisms.shared.gaussian_noise import gaussian, unchanged
from mechanisms.subject import Domain, Rows, View, shown

FEATURE_BITS = 15  #: features and rewards lie on multiples of 2^−15, their products on 2^−30
STEP = Fraction(1, 2 ** (2 * FEATURE_BITS))


def contribution(features: NDArray[np.float64], reward: float, bound: Fraction) -> Integers:
    """Return the integer matrix [φφᵀ, φy; yφᵀ, 0] in units of `STEP`; ‖φ‖ ≤ 1 and |y| ≤ `bound` exactly.

    φ is projected onto the unit ball and y clipped; both are truncated to multiples of 2^−15 first,
    so that their products are exact.
    """
    phi = grid.in_ball(features[None, :], Fraction(1), FEATURE_BITS)[0]
    clipped = grid.clipped(np.array([reward]), -bound, bound, FEATURE_BITS)[0]
    record = np.append(phi, clipped)
    matrix: Integers = np.outer(record, record)
    matrix[-1, -1] = 0
    return matrix


@dataclass(frozen=True)
class SymmetricGaussian:
    """Release Σφφᵀ and Σφy over `rows` records of `columns` features φ and a reward y, |y| ≤ `reward`.

    The noise is a symmetric matrix of standard deviation `sigma` off the diagonal, √2 times that on
    it; the corner Σy² is neither released nor noised (it would cost more and is not needed).
    """

    source: ClassVar[str] = (
        "Shariff & Sheffet 2018 and Dubey 2021 (the noise); sensitivity without corner is ours"
    )
    status: ClassVar[str] = "sound"
    reads: ClassVar[str] = "numbers"
    target: ClassVar[bool] = True  #: the last column is the reward
    relation: ClassVar[str] = REPLACE_ONE

    sigma: Fraction = Fraction(8)
    reward: Fraction = Fraction(1)
    rows: int = 100
    columns: int = 3

    def __post_init__(self) -> None:
        if self.sigma <= 0 or self.reward < 0 or min(self.rows, self.columns) < 1:
            raise out_of_range("sigma > 0, reward >= 0, rows >= 1 and columns >= 1")
        if self.rows * (1 + self.reward) ** 2 + 32 * self.sigma >= 2**30:
            raise InputError(
                "the sums would outgrow 64 bits", "use fewer rows, less noise or a smaller bound"
            )

    def domain(self) -> Domain:
        """Return features well beyond the ball and rewards beyond their bound, so that both are cut."""
        high = (2.0,) * self.columns + (2 * float(self.reward) + 1,)
        return Domain(self.rows, tuple(-value for value in high), high, (False,) * len(high))

    def query(self, data: Rows) -> Integers:
        """Return the exact sum of all contributions in grid units."""
        total = np.zeros((self.columns + 1, self.columns + 1), dtype=np.int64)
        for row in data:
            total += contribution(row[:-1], float(row[-1]), self.reward)
        return total

    def proof(self, delta: Fraction) -> Theorem:
        """Rank-one sensitivity without corner, symmetric Gaussian noise by the better of two rules."""
        person = assume_rank_one("symmetric-gaussian", self.reward, REPLACE_ONE, "movement")
        numbers = (self.columns + 1) * (self.columns + 2) // 2
        released = gaussian(linear(person), self.sigma, STEP, numbers, "moments", delta, unchanged)
        return shown(released, "symmetric-gaussian")

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release the noisy matrix, in the data's own units."""
        released = noise.noisy_symmetric("moments", 0, self.query(data))
        return View(public={"moments": released * np.float64(STEP)})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of all moments; the corner, which holds none, is 0."""
        shown, size = view.public["moments"], self.columns + 1
        alpha = confidence.missed(level) / (size * (size + 1) // 2)
        scale = root_up((self.sigma / STEP) ** 2)
        sides = (
            confidence.gaussian(scale, alpha),
            confidence.gaussian(root_up(2 * Fraction(scale) ** 2), alpha),
        )
        off, on = (double_up(steps * STEP) for steps in sides)
        reach = np.where(np.eye(size, dtype=bool), on, off)
        return {"moments": accuracy.around(shown, reach, level, "the moments of clipped records")}
