"""Finitely many public points and the kernel over them."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import sqrt
from typing import Final

import numpy as np

from bandits.statistics.arrays import Floats
from bandits.statistics.axes import eigenfeatures
from dpaccount.errors import InputError, out_of_range

POINT_KERNELS: Final = ("squared-exponential", "matern-5/2")
MAX_POINTS: Final = 2000  #: points, of which the kernel is kept in full
MATRIX_ROUNDING: Final = (
    1e-9  #: by which rounding may break symmetry, the diagonal's limit or an eigenvalue's sign
)


@dataclass(frozen=True, eq=False)
class Points:
    """Points known by their `kernel` matrix [n, n], with k(x, x) ≤ 1; make one by `grid` or `of_matrix`."""

    kernel: Floats

    def __len__(self) -> int:
        return len(self.kernel)

    @cached_property
    def features(self) -> Floats:
        """Return F [n, m] with FFᵀ the kernel: eigenfeatures, those below 10⁻⁹ of the first left out."""
        return eigenfeatures(self.kernel, 1e-9)


@lru_cache(maxsize=8)
def grid(kernel: str, lengthscale: float, count: int) -> Points:
    """Return `count` equally spaced points of [0, 1].

    ``squared-exponential``: exp(−d²/2l²); ``matern-5/2``: (1 + s + s²/3)e^(−s) with s = √5·d/l.  Raises
    `InputError` for another kernel, and where there are no points, or too many, or no length.
    """
    if kernel not in POINT_KERNELS:
        raise InputError(f"kernel is {kernel[:40]!r}", f"known: {', '.join(POINT_KERNELS)}, sensors, stocks")
    if not 2 <= count <= MAX_POINTS or not 0 < lengthscale < np.inf:
        raise out_of_range(f"2 to {MAX_POINTS} points and lengthscale > 0")
    at = np.linspace(0, 1, count)
    apart = np.abs(np.subtract.outer(at, at)) / lengthscale
    if kernel == "squared-exponential":
        return of_matrix(np.exp(-(apart**2) / 2))
    scaled = sqrt(5) * apart
    return of_matrix((1 + scaled + scaled**2 / 3) * np.exp(-scaled))


def of_matrix(kernel: Floats) -> Points:
    """Return the points of a kernel matrix; raises `InputError` for what is none, or has k(x, x) > 1."""
    kernel = np.array(kernel, dtype=np.float64)
    if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1] or not 1 <= len(kernel) <= MAX_POINTS:
        raise InputError(
            f"a kernel matrix is square, for 1 to {MAX_POINTS} points", f"found the shape {kernel.shape}"
        )
    if not np.isfinite(kernel).all() or np.abs(kernel - kernel.T).max() > MATRIX_ROUNDING:
        raise InputError("a kernel matrix is symmetric and has finite numbers only")
    if np.diag(kernel).max() > 1 + MATRIX_ROUNDING:
        raise InputError(
            f"k(x, x) is {np.diag(kernel).max():.6g}", "divide the kernel so that it is at most 1"
        )
    least = float(np.linalg.eigvalsh(kernel)[0])
    if least < -MATRIX_ROUNDING * len(kernel):
        raise InputError(
            f"the kernel matrix has the eigenvalue {least:.3g}", "it must be positive semidefinite"
        )
    kernel.setflags(write=False)
    return Points((kernel + kernel.T) / 2)
