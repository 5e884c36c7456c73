"""Float estimates from a transform: where ε(δ) is about, and which contour suits it; no bounds."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from dpaccount.numerics.bisection import bisect
from dpaccount.numerics.work_budget import as_rate, spend

MOST_SHIFT = 300  #: of u in joint estimates
LogM = Callable[[float], float]  #: s ↦ log M(s) for real s


def guess(log_m: LogM, log_delta: float) -> tuple[float, float]:
    """Return (ε, c): the saddle-point estimate of ε(δ) and its saddle c.

    log δ(ε) ≈ K(c) − ½ log 2πK″(c) with K(c) = log M(c) − cε − log c(c + 1) and K′(c) = 0; by bisection in c.
    """
    # The saddle point before Chernoff's bound, whose ε is too crude a start where tails are heavy.
    c = math.exp(_crossing(log_m, lambda found: found[1] < log_delta)[0])
    found = at(log_m, c)
    if found and abs(found[1] - log_delta) < 1 - 0.01 * log_delta:
        return found[0], c
    return _chernoff(log_m, log_delta)


def _chernoff(log_m: LogM, log_delta: float) -> tuple[float, float]:
    """Return (ε, c) by Chernoff's bound, for laws of several modes, where saddles jump.

    ε = min_c (log M(c) − log δ)/c, less what the bound usually wastes.
    """
    known = [((log_m(c) - log_delta) / c, c) for step in range(-40, 80) if (c := 1.25**step)]
    epsilon, c = min((x for x in known if math.isfinite(x[0])), default=(0.0, 1.0))
    return max(epsilon - 3 / c, 0.0), c


def at(log_m: LogM, c: float) -> tuple[float, float] | None:
    """Return (ε, log δ(ε)) for the saddle c; None where the transform overflows."""
    spend(40)
    step = 1e-3 * min(c, 1.0) if c < 1 else 1e-3 * c
    here, right, left = log_m(c), log_m(c + step), log_m(c - step)
    if not all(map(math.isfinite, (here, right, left))):
        return None
    epsilon = (right - left) / (2 * step) - 1 / c - 1 / (c + 1)
    bend = max((right - 2 * here + left) / step**2, 0.0) + 1 / c**2 + 1 / (c + 1) ** 2
    return epsilon, here - c * epsilon - math.log(c) - math.log1p(c) - 0.5 * math.log(2 * math.pi * bend)


def saddle(log_m: LogM, epsilon: float) -> float:
    """Return the c > 0 whose saddle belongs to this ε, by bisection on log c."""
    return math.exp(sum(_crossing(log_m, lambda found: found[0] > epsilon)) / 2)


def _crossing(log_m: LogM, past: Callable[[tuple[float, float]], bool]) -> tuple[float, float]:
    """Return log c just below and above where saddles begin to be `past`, or out of reach."""

    def beyond(x: float) -> bool:
        found = at(log_m, math.exp(x))
        return found is None or past(found)

    return bisect(beyond, -60.0, 40.0, 30)


class SampledGaussians:
    """Float estimates of Σ n·log M(s) of many sampled Gaussians, on one grid of u."""

    def __init__(self, parts: Sequence[tuple[Any, int]]) -> None:
        import numpy as np

        self.counts = np.array([float(n) for _, n in parts])
        self.added = np.array([each.added for each, _ in parts])
        self.mu = np.sqrt([float(each.mu2) for each, _ in parts])[:, None]
        self.rates = np.array([as_rate(each.rate) for each, _ in parts])[:, None]

    def log_m(self, s: float) -> float:
        """Return the estimate; small deviations from 1 keep their digits, as ∫ φ(z − 1) = 0."""
        import numpy as np

        a = np.where(self.added, -s, 1 + s)[:, None]
        most, least, most_a = float(self.mu.max()), float(a.min()), max(float(a.max()), 0.0)
        spend(self.counts.size)
        if most_a * most > MOST_SHIFT:  # there z^a ≈ q^a e^{av}
            logs = a * np.log(self.rates) + a * (a - 1) * self.mu**2 / 2
            return float(self.counts @ np.maximum(logs, 0)[:, 0])
        left = np.log(1e-3 * (1 / self.rates - 1)) + self.mu**2 / 2  # left of it z ≈ 1 − q
        low = -9.0 - min(-min(least, 0.0) * most, 1 + max(0.0, float((-left / self.mu).max())))
        high = 9.0 + most_a * most
        u = np.linspace(low, high, int((high - low) / min(0.2, 0.5 / most)) + 2)
        excess = self.rates * np.expm1(np.minimum(u * self.mu - self.mu**2 / 2, 600))
        log_z = np.log1p(excess)
        power, weight = a * log_z, np.exp(-u * u / 2) * (u[1] - u[0]) / math.sqrt(2 * math.pi)
        if power.max() < 30:
            return float(self.counts @ np.log1p((np.expm1(power) - a * excess) @ weight))
        top = power - u * u / 2
        peak = top.max(axis=1)
        sums = np.exp(top - peak[:, None]).sum(axis=1) * (u[1] - u[0]) / math.sqrt(2 * math.pi)
        return float(self.counts @ (peak + np.log(sums)))
