"""The Gaussian posterior of a linear model's weights θ, by observations r = Hθ + N(0, R)."""

import numpy as np

from bandits.statistics.arrays import Floats


class LinearPosterior:
    """What is observed: J = ΣHᵀR⁻¹H, `information` [size, size], and h = ΣHᵀR⁻¹r, `moment` [size].

    Tempered observations count for a power of their likelihood.  The prior N(0, Λ) is said when it is asked:
    the covariance is P = (Λ⁻¹ + J)⁻¹ and the mean Ph.
    """

    def __init__(self, size: int) -> None:
        self.information, self.moment = np.zeros((size, size)), np.zeros(size)

    def learn(self, shape: Floats, noise: Floats, observed: Floats) -> None:
        """Take in r = `observed` [k] with H = `shape` [k, size] and R = `noise` [k, k]."""
        weighed = shape.T @ np.linalg.solve(noise, np.column_stack([shape, observed]))
        # Solving leaves it a little asymmetric, which would add up over many observations.
        self.information += (weighed[:, :-1] + weighed[:, :-1].T) / 2
        self.moment += weighed[:, -1]

    def temper(self, kept: float) -> None:
        """Take what was observed for this power of its likelihood: J and h fall in proportion."""
        self.information *= kept
        self.moment *= kept

    def covariance(self, variances: Floats) -> Floats:
        """Return P for a prior of independent weights of these variances; 0 keeps a weight at 0."""
        root = np.sqrt(variances)
        covariance = root[:, None] * np.linalg.inv(self.around(root)) * root
        return (covariance + covariance.T) / 2

    def around(self, root: Floats) -> Floats:
        """Return I + LᵀJL for a diagonal L = `root` [size]."""
        return np.eye(len(root)) + root[:, None] * self.information * root


def evidence(inner: Floats, moment: Floats) -> Floats:
    """Return ln p(releases) up to a constant, −½ ln det(I + LᵀJL) + ½ hᵀPh, for each of k priors Λ = LLᵀ.

    `inner` [k, n, n] is I + LᵀJL and `moment` [k, n] Lᵀh.  The last row of the factor of the one bordered by
    the other has the norm of P^½h; eigenvalues of `inner` are at least 1, so a corner of 1 + ‖Lᵀh‖² will do.
    """
    count, size = moment.shape
    bordered = np.empty((count, size + 1, size + 1))  # of which the lower triangles are read
    bordered[:, :size, :size], bordered[:, size, :size] = inner, moment
    bordered[:, size, size] = 1 + (moment**2).sum(axis=1)
    factor = np.linalg.cholesky(bordered)
    fitted, diagonal = factor[:, size, :size], np.diagonal(factor, axis1=1, axis2=2)
    return (fitted**2).sum(axis=1) / 2 - np.log(diagonal[:, :size]).sum(axis=1)
