"""Length, scale and mean of the prior by marginal likelihood of the answers (Rasmussen & Williams 2006).

Under the kernel of rows with noise.  Answers go out in the clear, and rows with the noise that is paid for:
this is post-processing.
"""

import math

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky

from bandits.outsourced_optimisation.kernels import RowKernel, squared_distances
from bandits.statistics.arrays import Floats
from dpaccount.errors import InputError, out_of_range

LENGTHS = 40  #: that are tried, in equal ratios
WEIGHT = 1.0  #: answers that the prior of the scale counts for


def fitted(
    points: Floats, answers: Floats, noise: float, spread: float | tuple[float, ...]
) -> tuple[RowKernel, float]:
    """Return the kernel and the mean of largest marginal likelihood; scale and mean in closed form.

    Lengths are tried from a hundredth to twice the diameter of the points.  The scale has a weak prior
    around the answers' own variance, without which few answers alike would make it 0.
    """
    if len(points) != len(answers) or len(points) < 2:
        raise out_of_range("at least two answers, one for each row that was asked")
    diameter = math.sqrt(float(squared_distances(points, points).max()))
    if diameter == 0:
        raise InputError("all rows that were asked are one point", "ask others before lengths are learnt")
    around = float(answers.var()) or 1.0
    tried = [
        _profile(points, answers, RowKernel(float(length), 1.0, spread), (noise, around))
        for length in np.geomspace(diameter / 100, 2 * diameter, LENGTHS)
    ]
    _, kernel, mean = max(tried, key=lambda fit: fit[0])
    return kernel, mean


def _profile(
    points: Floats, answers: Floats, unit: RowKernel, known: tuple[float, float]
) -> tuple[float, RowKernel, float]:
    """Return the log likelihood, the kernel with its best scale, and the best mean, at one length."""
    noise, around = known
    flat = unit.flat(points)
    matrix = unit.of(squared_distances(flat, flat), points.shape[1])
    # At least 1e-8: two rows at one place would make the matrix singular.
    np.fill_diagonal(matrix, 1 + max(noise / around, 1e-8))
    try:
        factor = cholesky(matrix, lower=True)
    except LinAlgError:
        return -math.inf, unit, 0.0
    ones = cho_solve((factor, True), np.ones(len(answers)))
    mean = float(ones @ answers / ones.sum())
    left = answers - mean
    square = float(left @ cho_solve((factor, True), left)) + WEIGHT * around
    count = len(answers) + WEIGHT
    scale = square / count
    fit = -count / 2 * math.log(scale) - float(np.log(np.diag(factor)).sum())
    return fit, RowKernel(unit.length, scale, unit.spread), mean
