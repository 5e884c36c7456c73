"""Maximum information gain γ_T of a kernel on a finite domain: values and bounds.

γ_T = max over T points (repeats allowed) of ½ ln det(I + K/λ) (Srinivas et al. 2010; Dubey 2021,
Definition 1).  Floating point throughout.
"""

from math import log

import numpy as np

from bandits.statistics.arrays import Floats
from bandits.statistics.axes import settled_eigh
from dpaccount.errors import InputError, out_of_range


def gain(kernel: Floats, ridge: float) -> float:
    """Return ½ ln det(I + K/λ) of the kernel matrix of the points observed."""
    _sensible(kernel, ridge)
    _, logarithm = np.linalg.slogdet(np.eye(len(kernel)) + kernel / ridge)
    return float(logarithm) / 2


def greedy_gain(kernel: Floats, rounds: int, ridge: float) -> float:
    """Return the gain of choosing the point of largest variance `rounds` times, from a finite domain.

    The gain is submodular, so the greedy value is at least (1 − 1/e)·γ_T (Nemhauser, Wolsey & Fisher 1978).
    """
    _sensible(kernel, ridge)
    if rounds < 1:
        raise InputError(f"the horizon is {rounds}", "give at least 1 round")
    posterior, total = kernel.astype(np.float64).copy(), 0.0
    for _ in range(rounds):
        at = int(np.argmax(np.diag(posterior)))
        total += log(1 + float(posterior[at, at]) / ridge) / 2
        along = posterior[at].copy()
        posterior -= np.outer(along, along) / (along[at] + ridge)
    return total


def spectral_upper_bound(kernel: Floats, rounds: int, ridge: float) -> float:
    """Return a bound on γ_T from the eigenvalues of the domain's kernel matrix.

    Split K into its m leading directions and the rest.  The leading part has rank m and trace at most T·s,
    s its largest diagonal entry: ½ m ln(1 + Ts/(mλ)) by concavity.  The rest adds at most ½ T r/λ, r its
    largest diagonal entry, as ln det(I + A + B) ≤ ln det(I + A) + tr B.  The least over m is returned.
    """
    _sensible(kernel, ridge)
    values, vectors = settled_eigh(kernel)
    # [point, m − 1]: what m directions explain of it
    parts = np.cumsum(vectors**2 * np.maximum(values, 0.0), axis=1)
    largest, rest = parts.max(axis=0), (np.diag(kernel)[:, None] - parts).max(axis=0)
    m = np.arange(1, len(kernel) + 1)
    bounds = m * np.log1p(rounds * largest / (m * ridge)) / 2 + rounds * np.maximum(rest, 0.0) / (2 * ridge)
    return float(bounds.min())


def feature_upper_bound(size: int, rounds: int, ridge: float) -> float:
    """Return ½ m ln(1 + T/(mλ)), at least γ_T of any m features of norm at most 1."""
    if min(size, rounds) < 1 or not ridge > 0:
        raise out_of_range("size >= 1, rounds >= 1 and ridge > 0")
    return size * log(1 + rounds / (size * ridge)) / 2


def _sensible(kernel: Floats, ridge: float) -> None:
    if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1] or not len(kernel):
        raise InputError("a kernel matrix is square", f"found the shape {kernel.shape}")
    if not ridge > 0 or not np.isfinite(kernel).all():
        raise out_of_range("a finite kernel matrix and ridge > 0")
