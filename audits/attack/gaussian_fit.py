"""A statement on μ where scores are Gaussian with one variance: an assumption, never a certificate."""

import math
from dataclasses import dataclass
from fractions import Fraction

from audits.attack.planning import Floats


@dataclass(frozen=True)
class Fitted:
    """μ = |difference of means|/σ is at least `mu_lower` at confidence 1 − `risk`, if scores are Gaussian."""

    mu_lower: float
    risk: Fraction
    runs: int

    def said(self) -> str:
        """Return the statement with its assumption."""
        return (
            f"mu >= {self.mu_lower:.6g} from {self.runs} runs, if the scores are Gaussian with one variance"
        )


def fit(held: Floats, out: Floats, risk: Fraction) -> Fitted:
    """Return the lower end of μ, by inverting the noncentral t-distribution of the pooled statistic."""
    from scipy.stats import nct

    n, m = len(held), len(out)
    pooled = ((n - 1) * held.var(ddof=1) + (m - 1) * out.var(ddof=1)) / (n + m - 2)
    size = math.sqrt(n * m / (n + m))
    seen = abs(float(held.mean() - out.mean())) / math.sqrt(pooled) * size
    low, high = 0.0, seen / size
    # |T| exceeds what was seen with probability at least risk/2 in the direction that was seen
    if float(nct.sf(seen, n + m - 2, 0.0)) > float(risk) / 2:
        return Fitted(0.0, risk, n + m)
    while high - low > 1e-9 * max(high, 1e-9):
        middle = (low + high) / 2
        rejected = float(nct.sf(seen, n + m - 2, middle * size)) <= float(risk) / 2
        low, high = (middle, high) if rejected else (low, middle)
    return Fitted(low, risk, n + m)
