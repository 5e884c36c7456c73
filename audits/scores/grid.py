"""A second bound from the same runs: for results whose numbers are rounded to a grid.

Rounding is post-processing, so a bound for rounded results holds for the function too.  If it is
much lower than the first bound, the leak is in the low bits of floating-point numbers.  The grid is fixed
on training runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from audits.sandbox.outcomes import Outcome
from audits.scores.learned_scores import Learned
from audits.scores.outcome_columns import padded
from dpaccount.noise.samplers import Floats

BELOW_SPREAD = 10  #: a grid's step is the spread of the numbers divided by 2 to this power


@dataclass(frozen=True)
class RoundingGrid:
    """The binary exponent of every number's step; NaN where a number is not rounded."""

    exponents: Floats

    def rounded(self, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """Return the results with their numbers on the grid; zeros have no sign."""
        width = max((len(each.numbers) for each in outcomes), default=0)
        steps = np.full(width, np.nan)
        steps[: len(self.exponents)] = np.exp2(self.exponents[:width])
        numbers = padded(outcomes, width)
        with np.errstate(over="ignore", invalid="ignore"):
            coarse = np.where(np.isnan(steps), numbers, np.round(numbers / steps) * steps + 0.0)
        return [
            replace(each, numbers=row[: len(each.numbers)])
            for each, row in zip(outcomes, coarse, strict=True)
        ]

    def sentence(self) -> str:
        """Return the steps in words."""
        known = self.exponents[~np.isnan(self.exponents)].astype(int)
        ends = sorted({int(known.min()), int(known.max())})
        return " to ".join(f"2^{end}" for end in ends)


def grid_for(learned: Learned, left: Sequence[Outcome], right: Sequence[Outcome]) -> RoundingGrid | None:
    """Return a grid of about a thousandth of each number's spread; None if all numbers are whole."""
    columns = learned.score.columns
    both = padded([*left, *right], columns.width)
    exponents = np.full(columns.width, np.nan)
    for place in sorted(columns.broken):
        values = both[:, place]
        values = values[np.isfinite(values)]
        spread = np.abs(values - np.median(values)).mean() if len(values) else 0.0
        if np.isfinite(spread) and spread > np.finfo(np.float64).tiny * 2**BELOW_SPREAD:
            exponents[place] = np.floor(np.log2(spread)) - BELOW_SPREAD
    return None if np.isnan(exponents).all() else RoundingGrid(exponents)
