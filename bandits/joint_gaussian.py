"""Second moments of feature vectors and their rewards, released as one vector with one deviation."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpaccount.errors import InputError, out_of_range
from dpaccount.noise.laws import double_up
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers, root_up
from dpaccount.proof import Theorem, assume_rank_one, joint
from mechanisms.shared import accuracy, confidence
from mechanisms.shared.gaussian_noise import gaussian, unchanged
from mechanisms.subject import Rows, View, shown
from mechanisms.symmetric_gaussian import STEP, SymmetricGaussian


@dataclass(frozen=True)
class JointGaussian(SymmetricGaussian):
    """Release Σφφᵀ and Σφy over `rows` records of `columns` features φ and a reward y, |y| ≤ `reward`.

    The upper triangle of the matrix, diagonal included, has independent noise of standard deviation
    `sigma`, the vector of `ratio` times that; their joint sensitivity is the supremum of the sum, which
    is less than the sum of suprema.
    """

    source: ClassVar[str] = "Dubey 2021 (one message of matrix and vector); the joint sensitivity is ours"

    ratio: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.ratio <= 64 or max(self.ratio.numerator, self.ratio.denominator) > 64:
            raise out_of_range("a ratio above 0, a fraction of integers up to 64")
        if 64 * (self.rows * (1 + self.reward) ** 2 + 32 * self.sigma) >= 2**30:
            raise InputError(
                "the sums would outgrow 64 bits", "use fewer rows, less noise or a smaller bound"
            )

    def query(self, data: Rows) -> Integers:
        """Return the upper triangle and the vector as one: the vector relative to its own noise.

        With `ratio` = a/b their units are `STEP`/a: the matrix is multiplied by a, the vector by b.
        """
        total = super().query(data)
        rows, columns = np.triu_indices(self.columns)
        upper, vector = total[rows, columns], total[:-1, -1]
        return np.concatenate([upper * self.ratio.numerator, vector * self.ratio.denominator])

    def proof(self, delta: Fraction) -> Theorem:
        """Rank-one statistics as one vector, Gaussian noise by the better of two rules."""
        person = assume_rank_one("joint-gaussian", self.reward, self.relation, "movement")
        numbers = self.columns * (self.columns + 3) // 2
        # 1/ratio² weighs the vector's squared sensitivity relative to the matrix's
        query, step = joint(person, 1 / self.ratio**2), STEP / self.ratio.numerator
        released = gaussian(query, self.sigma, step, numbers, "moments", delta, unchanged)
        return shown(released, "joint-gaussian")

    def play(self, data: Rows, noise: Noise, coins: int) -> View:
        """Release the noisy moments, in the data's own units."""
        released = noise.noisy("moments", 0, self.query(data)) * np.float64(STEP)
        corner = self.columns * (self.columns + 1) // 2
        matrix = np.zeros((self.columns, self.columns))
        matrix[np.triu_indices(self.columns)] = released[:corner] / self.ratio.numerator
        full = matrix + np.triu(matrix, 1).T
        return View(public={"matrix": full, "vector": released[corner:] / self.ratio.denominator})

    def accuracy(self, view: View, level: Fraction = Fraction(19, 20)) -> dict[str, object]:
        """Return the intervals of all numbers of the matrix and the vector."""
        alpha = confidence.missed(level) / (self.columns * (self.columns + 3) // 2)
        step = STEP / self.ratio.numerator
        reach = confidence.gaussian(root_up((self.sigma / step) ** 2), alpha) * STEP
        parts = {"matrix": reach / self.ratio.numerator, "vector": reach / self.ratio.denominator}
        of = "the moments of clipped records"
        shown = view.public
        return {n: accuracy.around(shown[n], double_up(r), level, of) for n, r in parts.items()}
