"""The Gaussian posterior of a linear model's weights θ, by observations r = Hθ + N(0, R)."""

import numpy as np

from bandits.statistics.arrays import Floats


class LinearPosterior:
    """What is observed: J = ΣHᵀR⁻¹H, `information` [size, size], and h = ΣHᵀR⁻¹r, `moment` [size].

    The prior N(0, Λ) is said when it is asked: the covariance is P = (Λ⁻¹ + J)⁻¹ and the mean Ph.
    """

    def __init__(self, size: int) -> None:
        self.information, self.moment = np.zeros((size, size)), np.zeros(size)

    def learn(self, shape: Floats, noise: Floats, observed: Floats) -> None:
        """Take in r = `observed` [k] with H = `shape` [k, size] and R = `noise` [k, k]."""
        from scipy.linalg import cholesky, solve_triangular

        factor = cholesky(noise, lower=True)
        whitened = solve_triangular(factor, np.column_stack([shape, observed]), lower=True)
        self.information += whitened[:, :-1].T @ whitened[:, :-1]
        self.moment += whitened[:, :-1].T @ whitened[:, -1]

    def covariance(self, variances: Floats) -> Floats:
        """Return P for a prior of independent weights of these variances; 0 keeps a weight at 0."""
        root = np.sqrt(variances)
        covariance = root[:, None] * np.linalg.inv(self.around(root)) * root
        return (covariance + covariance.T) / 2

    def around(self, root: Floats) -> Floats:
        """Return I + LᵀJL for a diagonal L = `root` [size]."""
        return np.eye(len(root)) + root[:, None] * self.information * root


def evidence(inner: Floats, moment: Floats) -> float:
    """Return ln p(releases) up to a constant, −½ ln det(I + LᵀJL) + ½ hᵀPh, for the prior Λ = LLᵀ.

    `inner` is I + LᵀJL, which is overwritten, and `moment` Lᵀh.
    """
    from scipy.linalg import cholesky, solve_triangular

    factor = cholesky(inner, lower=True, overwrite_a=True)
    fitted = solve_triangular(factor, moment, lower=True)
    return float(fitted @ fitted / 2 - np.log(np.diag(factor)).sum())
