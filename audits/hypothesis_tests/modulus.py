"""Modulus of continuity: exact checks of a query's change against the distance of two rows."""

from dataclasses import dataclass
from fractions import Fraction

from audits.hypothesis_tests.replay import Run, moves


@dataclass(frozen=True)
class Modulus:
    """A row that moves by ℓ changes a query by at most min(`factor`·ℓ + `slack`, `reach`)."""

    factor: Fraction
    slack: Fraction
    reach: Fraction

    def wrong(self, moved: Fraction, squared_distance: Fraction | None) -> str | None:
        """Describe how a squared movement breaks this for a row's squared distance, or return None; exact.

        For an unknown distance (None) only the reach is checked.
        """
        if moved > self.reach**2:
            return f"it moves by √{moved}, above {self.reach}, as far as any row moves it"
        if squared_distance is None:
            return None
        # √moved ≤ factor·√squared_distance + slack, without a root
        excess = moved - self.factor**2 * squared_distance - self.slack**2
        if excess > 0 and excess**2 > 4 * self.slack**2 * self.factor**2 * squared_distance:
            return f"it moves by √{moved} with a row that moves by √{squared_distance}"
        return None


def movement(run: Run, other: Run, key: str, grid: Fraction) -> tuple[Fraction, str | None]:
    """Return the largest squared movement of a release of `key`, and an error if movements differ."""
    movements = {tuple(moves(run, other, part).tolist()) for part in run.exact if part[0] == key}
    movements = {move for move in movements if any(move)}
    size = max((sum(v * v for v in move) for move in movements), default=0) * grid**2
    several = len(movements) > 1
    return Fraction(size), f"{key}: a row adds different vectors to different releases" if several else None
