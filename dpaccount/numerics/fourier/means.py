"""The transform of a pair that is one of several, by chance, and all see which: the mean of theirs."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

from flint import acb, arb

from dpaccount.numerics.fourier.transforms import Decay, Transform
from dpaccount.numerics.intervals import ball


@dataclass(frozen=True)
class MeanTransform(Transform):
    """M(s) = Σ w_j M_j(s) of (weight, transform) of `parts`."""

    parts: tuple[tuple[Fraction, Transform], ...]
    slow_decay = True

    def value(self, s: acb) -> acb:
        """Return M(s)."""
        return sum((ball(weight) * part.value(s) for weight, part in self.parts), 0 * s)

    def log_m(self, s: float, count: int) -> float:
        """Return an estimate of count·log M(s); small logs keep their digits."""
        logs = [(float(weight), part.log_m(s, 1)) for weight, part in self.parts]
        if max(log for _, log in logs) < 1:
            return count * math.log1p(sum(weight * math.expm1(log) for weight, log in logs))
        tops = [math.log(weight) + log for weight, log in logs]
        return count * (max(tops) + math.log(sum(math.exp(each - max(tops)) for each in tops)))

    def nodes(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + inh) for n < count."""
        rows = [[ball(weight) * each for each in part.nodes(c, h, count)] for weight, part in self.parts]
        return [sum(column, acb(0)) for column in zip(*rows, strict=True)]

    def reversed(self) -> Self:
        """Return the mean of the other direction."""
        return replace(self, parts=tuple((weight, part.reversed()) for weight, part in self.parts))

    def decay(self, c: arb, depth: float) -> Decay:
        """Return the mean of the decays, by the share that each part has of M(c)."""
        shares = [(ball(weight) * part.value(c)) for weight, part in self.parts]
        whole = sum(shares, arb(0))
        decays = [part.decay(c, depth) for _, part in self.parts]
        return _MeanDecay(tuple((share / whole, each) for share, each in zip(shares, decays, strict=True)))

    def work(self, c: float, bits: int) -> float:
        """Return the sum of the parts' work."""
        return sum(part.work(c, bits) for _, part in self.parts)

    def most_tilt(self) -> float:
        """Return the least of the parts'."""
        return min(part.most_tilt() for _, part in self.parts)


@dataclass(frozen=True)
class _MeanDecay(Decay):
    parts: tuple[tuple[arb, Decay], ...]

    def far(self, t: arb) -> arb:
        """Return a bound for all τ ≥ t."""
        return sum((share * each.far(t) for share, each in self.parts), arb(0)).min(arb(1))
