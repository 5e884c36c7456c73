"""The pair of a unit in a truncated Poisson sample: one of two, seen (`plan.sample_events`)."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from flint import acb, arb, ctx

from dpaccount.numerics.closed.moments import Moments
from dpaccount.numerics.closed.sampled_curves import Curve
from dpaccount.numerics.closed.sampling import truncation
from dpaccount.numerics.fourier.transforms import Decay, Transform
from dpaccount.numerics.intervals import accurate
from dpaccount.pairs.pair import TransformPair, UnknownEnds

Sample = tuple[int, Fraction, int]  #: how many examples, the rate, the batch


def _mean(sample: Sample, few: Any, many: Any) -> Any:
    """Return the mean of what is `few` where J < B and `many` where J ≥ B."""
    less, more, _ = truncation(*sample, ctx.prec)
    return less * few + more * many


@dataclass(frozen=True)
class TruncatedPair(UnknownEnds, TransformPair):
    """`ways`: samples of Gaussian noise, the first one of the larger rate, the second one of longer moves."""

    sample: Sample
    ways: tuple[Any, ...]
    rank: ClassVar[int] = 29
    closed_curve: ClassVar[bool] = True

    def reversed(self) -> "TruncatedPair":
        """Return the pairs reversed: their chances are the same in both datasets."""
        return replace(self, ways=tuple(way.reversed() for way in self.ways))

    def ceiling(self) -> arb | None:
        """Return the largest loss, that of the larger rate; None where it has no bound."""
        return self.ways[0].ceiling()

    def own_curve(self, bits: int) -> Curve:
        """Return the mean of the curves."""
        first, second = (pair.curve(bits + 8) for pair in self.ways)
        return lambda t: accurate(lambda: _mean(self.sample, first(t), second(t)), bits)

    def transform(self) -> "TruncatedTransform":
        """Return the mean of the transforms."""
        return TruncatedTransform(self.sample, tuple(way.transform() for way in self.ways))

    def add_moments(self, total: Moments, count: int) -> bool:
        """Add the moments of the longer moves without a sample, which are no less."""
        return self.ways[1].add_moments(total, count)


@dataclass(frozen=True)
class TruncatedTransform(Transform):
    """The mean of two transforms."""

    sample: Sample
    ways: tuple[Transform, ...]
    slow_decay: ClassVar[bool] = True

    def value(self, s: acb) -> acb:
        """Return M(s)."""
        return _mean(self.sample, *(way.value(s) for way in self.ways))

    def log_m(self, s: float, count: int) -> float:
        """Return an estimate of count·log M(s); small deviations of M from 1 keep their digits."""
        less, more, _ = truncation(*self.sample, 64)
        few, many = (way.log_m(s, 1) for way in self.ways)
        top = max(few, many, 1.0) - 1
        rest = float(less) * math.expm1(few - top) + float(more) * math.expm1(many - top)
        return count * (top + math.log1p(max(rest, -1 + 1e-16)))

    def nodes(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + inh) for n < count."""
        lines = (way.nodes(c, h, count) for way in self.ways)
        return [_mean(self.sample, *values) for values in zip(*lines, strict=True)]

    def reversed(self) -> "TruncatedTransform":
        """Return the transform of the reversed pairs."""
        return replace(self, ways=tuple(way.reversed() for way in self.ways))

    def decay(self, c: arb, depth: float) -> Decay:
        """Return the mean of the decays, by what each transform has of M(c)."""
        sizes = [way.value(c) for way in self.ways]
        whole = _mean(self.sample, *sizes)
        parts = [(size / whole, way.decay(c, depth)) for size, way in zip(sizes, self.ways, strict=True)]
        return _MeanDecay(self.sample, parts)

    def work(self, c: float, bits: int) -> float:
        """Return roughly how many steps of work one node takes: those of both."""
        return sum(way.work(c, bits) for way in self.ways)

    def most_tilt(self) -> float:
        """Return the least of the largest c of contours."""
        return min(way.most_tilt() for way in self.ways)


@dataclass(frozen=True)
class _MeanDecay(Decay):
    """|M(c + it)/M(c)| ≤ Σ w_i·M_i(c)/M(c)·|M_i(c + it)/M_i(c)|."""

    sample: Sample
    parts: list[tuple[arb, Decay]]  #: M_i(c)/M(c), with the decay of M_i

    def far(self, t: arb) -> arb:
        """Return a bound for all τ ≥ t."""
        return arb(1).min(_mean(self.sample, *(share * own.far(t) for share, own in self.parts)))
