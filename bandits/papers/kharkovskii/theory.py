"""The results of Kharkovskii, Dai & Low 2020 on their transform: Lemma 1, Theorems 2 and 3, section 3.4.

Everything here is about regret, in doubles, not about privacy.  Theorem 3 is given up to its
constants, which the text leaves to an appendix.
"""

import math
from dataclasses import dataclass

from scipy.optimize import brentq

from bandits.papers.kharkovskii.published import width
from dpaccount.errors import out_of_range

MAX_SEARCHED_COLUMNS = 10_000  #: columns that a search for r looks at


def needed_columns(rows: int, mu: float, nu: float) -> int:
    """Return the least r that Lemma 1 asks for: r ≥ 8 ln(n²/μ)/ν², 0 < ν < ½, 0 < μ < 1.

    ν = ½ is let in: it is the loosest that there is.
    """
    if rows < 2 or not 0 < mu < 1 or not 0 < nu <= 0.5:
        raise out_of_range("n >= 2, 0 < mu < 1 and 0 < nu <= 1/2")
    return math.ceil(8 * math.log(rows**2 / mu) / nu**2)


def distance_ratio(nu: float, least: float, threshold: float) -> tuple[float, float]:
    """Return [1 − ν, (1 + ν)C′] of Theorem 2: bounds of |z − z′|²/|x − x′|², likely to hold for all pairs.

    C′ = 1 where σ_min = `least` is at least ω = `threshold`, else 1 + ω²/σ_min².
    """
    if not 0 < nu <= 0.5 or least < 0 or threshold <= 0:
        raise out_of_range("0 < nu <= 1/2, a least singular value >= 0 and omega > 0")
    if least >= threshold:
        return 1 - nu, 1 + nu
    return 1 - nu, (1 + nu) * (1 + (threshold / least) ** 2 if least else math.inf)


def guideline(least: float, epsilon: float, delta: float) -> int:
    """Return the largest r with ω ≤ σ_min = `least`, as section 3.4 advises; 0 where r = 1 is too many.

    ω grows with r.  It reads σ_min off the data, without noise: a choice that reveals them.
    """
    low, high = 0, MAX_SEARCHED_COLUMNS
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if width(epsilon, delta, middle) <= least else (low, middle - 1)
    return low


@dataclass(frozen=True)
class Aim:
    """The target of Theorem 3: regret ε_ucb beyond GP-UCB's but for δ_ucb, at |y| ≤ `bound`."""

    extra: float = 0.1
    failure: float = 0.05
    bound: float = 3.0

    def accuracy(self, diameter: float) -> float:
        """Return ν = min(ε_ucb/(2√3 d²L), 2/d², ½), d the diameter in lengths."""
        square = diameter**2
        return min(self.extra / (2 * math.sqrt(3) * square * self.bound), 2 / square, 0.5)


@dataclass(frozen=True)
class Choices:
    """Section 3.4's three ways out where σ_min < ω: keep all (Remark 2), raise ε or δ, or lower r.

    `kept` is the ratio of squared distances with all kept; `epsilon` and `delta` are the least that meet
    ω ≤ σ_min alone (None: no δ below 1 does), `columns` the largest r (0: none).
    """

    kept: tuple[float, float]
    epsilon: float
    delta: float | None
    columns: int


def choices(least: float, epsilon: float, delta: float, columns: int) -> Choices:
    """Return the three choices at σ_min = `least`; where σ_min ≥ ω, the target itself meets them."""
    threshold = width(epsilon, delta, columns)
    kept = distance_ratio(0.5, least, threshold)
    if least >= threshold:
        return Choices(kept, epsilon, delta, columns)
    raised = epsilon * threshold / least if least else math.inf
    return Choices(kept, raised, _delta(least, epsilon, delta, columns), guideline(least, epsilon, delta))


def _delta(least: float, epsilon: float, delta: float, columns: int) -> float | None:
    """Return the least δ with ω ≤ σ_min at the same ε and r: ω falls with δ."""
    top = 1 - 1e-9
    if width(epsilon, top, columns) > least:
        return None
    root = brentq(lambda x: width(epsilon, math.exp(x), columns) - least, math.log(delta), math.log(top))
    return math.exp(float(root))


def remarks(rows: int, least: float, point: tuple[float, float], columns: int, diameter: float) -> list[str]:
    """Return which conditions of the theorems an experiment does not meet, one sentence each.

    `diameter` is that of the inputs in lengths, `point` (ε, δ); μ = .025 as in section 4.
    """
    loosest, own = needed_columns(rows, 0.025, 0.5), Aim().accuracy(diameter)
    threshold = width(*point, columns)
    low, high = distance_ratio(0.5, least, threshold)
    sentences = [
        f"Lemma 1 and Theorem 2 need r >= {loosest} even at nu = 1/2; r is {columns}",
        f"Theorem 3 needs nu <= {own:.2g}, so r >= {needed_columns(rows, 0.025, own)}",
    ]
    if least < threshold:
        ways = choices(least, *point, columns)
        other = "no delta" if ways.delta is None else f"delta {ways.delta:.2g}"
        sentences.append(
            f"Remark 2: omega {threshold:.4g} is above sigma_min {least:.4g}; squared distances are kept"
            f" within [{low:g}, {high:.3g}]; section 3.4 would keep that, raise epsilon to"
            f" {ways.epsilon:.3g} or take {other}, or lower r to {ways.columns}"
        )
    return sentences
