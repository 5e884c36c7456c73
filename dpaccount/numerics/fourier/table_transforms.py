"""The transform of a table of losses: a sum over them, at many points of a contour at once."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from flint import acb, arb, ctx

from dpaccount.numerics.fourier import exponential_sums
from dpaccount.numerics.fourier.transforms import Transform
from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.work_budget import OutOfReach, kept, spend

Atoms = tuple[tuple[arb, arb], ...]  #: (loss, mass under P)


class TableOfLosses(Protocol):
    """Finitely many losses of a pair and the mass at an infinite one."""

    def __hash__(self) -> int: ...

    def losses(self) -> Atoms:
        """Return the finite losses, each with its mass under P, at the precision of the moment."""

    def failing(self) -> Fraction:
        """Return the mass of P at an infinite loss."""

    def reversed(self) -> Any:
        """Return the table of the reversed pair."""


@dataclass(frozen=True)
class TableTransform(Transform):
    """The transform of the finite losses of a table."""

    table: TableOfLosses

    def reversed(self) -> "TableTransform":
        """Return the transform of the reversed pair."""
        return TableTransform(self.table.reversed())

    def infinite(self) -> arb:
        """Return the mass at an infinite loss."""
        return ball(self.table.failing())

    def value(self, s: acb) -> acb:
        """Return M(s)."""
        kept = kept_losses(self.table, ctx.prec)
        spend(2 * len(kept))
        return sum((mass * (s * at).exp() for at, mass in kept), s * 0)

    def nodes(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + inh) for n < count."""
        points = [(mass * (c * at).exp(), at) for at, mass in kept_losses(self.table, ctx.prec)]
        return exponential_sums.along(points, h, count)

    def log_m(self, s: float, count: int) -> float:
        """Return an estimate of count·log M(s)."""
        import numpy as np

        at, mass, lost = _floats(self.table)
        power = s * at
        if np.abs(power).max() < 30:
            return float(count * np.log1p(mass @ np.expm1(power) - lost))
        top = power.max()
        return float(count * (top + np.log(mass @ np.exp(power - top) + 1e-300)))

    def work(self, c: float, bits: int) -> float:
        """Return roughly how many steps of work one node takes."""
        return exponential_sums.work(len(kept_losses(self.table, 64)), bits)


@kept(64)
def kept_losses(table: TableOfLosses, bits: int) -> Atoms:
    """Return the losses of a table at a precision, computed once."""
    with precision(bits):
        return table.losses()


@kept(64)
def _floats(table: TableOfLosses) -> Any:
    import numpy as np

    losses = kept_losses(table, 64)
    if not losses:
        raise OutOfReach("no loss is finite")
    at, mass = np.array([[float(x.mid()), float(m.mid())] for x, m in losses]).T
    return at, mass, float(table.failing())
