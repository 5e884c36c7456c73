"""Modulus of continuity: exact checks of a query's change against the distance of two rows."""

from dataclasses import dataclass
from fractions import Fraction

from audits.hypothesis_tests.replay import Run, moves


@dataclass(frozen=True)
class Modulus:
    """A row that moves by ℓ changes a query by at most `factor`·ℓ + `slack`, and `reach`."""

    factor: Fraction
    slack: Fraction
    reach: Fraction

    def wrong(self, moved: Fraction, travelled: Fraction | None) -> str | None:
        """Say how a squared movement breaks this for a row's squared distance, or None; exactly.

        Of an unknown distance (None) only the reach is judged.
        """
        if moved > self.reach**2:
            return f"it moves by √{moved}, above {self.reach}, as far as any row moves it"
        if travelled is None:
            return None
        # √moved ≤ factor·√travelled + slack, without a root
        excess = moved - self.factor**2 * travelled - self.slack**2
        if excess > 0 and excess**2 > 4 * self.slack**2 * self.factor**2 * travelled:
            return f"it moves by √{moved} with a row that moves by √{travelled}"
        return None


def movement(run: Run, other: Run, key: str, grid: Fraction) -> tuple[Fraction, str | None]:
    """Return the largest squared movement of a release of `key`, and why it is not one vector, or None."""
    movements = {tuple(moves(run, other, part).tolist()) for part in run.exact if part[0] == key}
    movements = {move for move in movements if any(move)}
    size = max((sum(v * v for v in move) for move in movements), default=0) * grid**2
    several = len(movements) > 1
    return Fraction(size), f"{key}: a row adds different vectors to different releases" if several else None
