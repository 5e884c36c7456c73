"""Pairs of random allocation: each unit takes part in one of t steps, drawn uniformly."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from statistics import NormalDist
from typing import ClassVar

from flint import arb, ctx

from dpaccount.forks import cached_property
from dpaccount.numerics.allocation.score_sums import sum_laws
from dpaccount.numerics.allocation.transform import AllocatedGaussianTransform
from dpaccount.numerics.bisection import Ends
from dpaccount.numerics.closed.moments import Moments
from dpaccount.numerics.closed.sampled_curves import Curve
from dpaccount.numerics.fourier.contours import Product, contour, estimate_delta
from dpaccount.numerics.fourier.fourier import Inversion
from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.lattice import mean_weights
from dpaccount.numerics.work_budget import OutOfReach, bearable, kept
from dpaccount.pairs.composition import Composition
from dpaccount.pairs.discrete import ResponsePair
from dpaccount.pairs.gaussian import GaussianPair
from dpaccount.pairs.pair import (
    MAX_LISTED,
    Atoms,
    CommonSupport,
    ExactPair,
    OneWay,
    RationalEnds,
    TransformPair,
    Unbounded,
)
from dpaccount.pairs.poisson import SampledGaussian, SampledPair
from dpaccount.pairs.table import LossTable

MOST_MU2 = 100  #: of noise for which the mean over steps is bounded
STEP_BITS = 8  #: of the number of steps for which it is
ORDERS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)  #: of the moments that bound a loss's span
MAX_KNOWN = 8  #: stored sums of a curve
MAX_REFINEMENTS = 2  #: of a contour for one point of a curve


@dataclass(frozen=True)
class AllocatedGaussian(OneWay, Unbounded, TransformPair):
    """Gaussian noise of μ² = `mu2` in `steps` ≥ 2 steps, one of which holds the unit (docs/numerics.md).

    The pair when the unit is removed, or `added`.
    """

    steps: int
    mu2: Fraction
    rank: ClassVar[int] = 12

    def transform(self) -> AllocatedGaussianTransform:
        """Return the transform by quadrature."""
        return AllocatedGaussianTransform(self.steps, self.mu2, added=self.added)

    def bracketing_pairs(self) -> "tuple[SampledGaussian, GaussianPair | AllocatedMean]":
        """Return a Poisson sample of one step at rate 1/t, and a bound on the mean (or on a sure step)."""
        less = SampledGaussian(Fraction(1, self.steps), self.mu2, added=self.added)
        if self.mu2 > MOST_MU2:
            return less, GaussianPair((self.mu2,) * 2)
        return less, AllocatedMean(_fewer(self.steps), self.mu2, Fraction(0), added=self.added)

    def own_curve(self, bits: int) -> Curve:
        """Return the curve by Fourier inversion, for t < 0 from that of the other direction.

        Raises `OutOfReach` at points where that takes too much work.
        """
        there, back = _Inverted(self.transform(), bits), _Inverted(self.reversed().transform(), bits)

        def value(t: Fraction) -> arb:
            if t >= 0:
                return there.at(t)
            with precision(bits + 32):
                return -ball(t).expm1() + ball(t).exp() * back.at(-t)

        return value

    def own_span(self, depth: int) -> Ends:
        """Return the span by Chernoff's bound at estimated moments."""
        transform, depth_nats = self.transform(), depth * math.log(2)
        high = min((transform.log_m(s, 1) + depth_nats) / s for s in ORDERS)
        low = min((transform.log_m(-s, 1) + depth_nats) / s for s in ORDERS)
        return Fraction(-low), Fraction(high)

    def add_moments(self, total: Moments, count: int) -> bool:
        """Add the moments of a unit that every step might hold: P is a mixture of such laws."""
        total.only_above(count * ball(self.mu2) / 2, count * ball(self.mu2))
        return True


@dataclass(frozen=True)
class AllocatedResponse(OneWay, RationalEnds, CommonSupport, LossTable):
    """Randomised response of `epsilon`, which dominates every ε-DP mechanism, in `times` of `steps` steps.

    Where j of t steps are in favour, i of the k that hold the unit are with probability
    C(j, i)C(t − j, k − i)/C(t, k), and then the odds are e^{ε(2i − k)}; their mean counts.
    """

    steps: int
    epsilon: Fraction
    times: int = 1
    rank: ClassVar[int] = 13

    def losses(self) -> Atoms:
        """Return the finite losses, each with its mass under P."""
        bearable(self.steps * self.times, MAX_LISTED)
        atoms, epsilon, steps, times = [], ball(self.epsilon), self.steps, self.times
        rise, fall, subsets = epsilon.exp(), (-epsilon).exp(), math.comb(steps, times)
        mass = (1 + fall) ** -steps  # of Q, where no step is in favour
        for j in range(steps + 1):
            shares = range(max(0, times + j - steps), min(j, times) + 1)
            ways = (
                math.comb(j, i) * math.comb(steps - j, times - i) * rise ** (2 * i - times) for i in shares
            )
            odds = sum(ways, arb(0)) / subsets
            atoms.append((-odds.log(), mass) if self.added else (odds.log(), mass * odds))
            mass *= fall * (steps - j) / (j + 1)
        return tuple(atoms)

    def bracketing_pairs(self) -> "tuple[SampledPair, AllocatedMean] | None":
        """Return a Poisson sample of one step at rate 1/t, and a bound on the mean, where losses are many."""
        if self.steps <= MAX_LISTED or self.times > 1:
            return None
        less = SampledPair(
            Fraction(1, self.steps), Composition.of(ResponsePair(self.epsilon)), added=self.added
        )
        return less, AllocatedMean(_fewer(self.steps), Fraction(0), self.epsilon, added=self.added)

    def largest(self) -> Fraction:
        """Return kε, the loss of outcomes that favour the same at every step."""
        return self.times * self.epsilon

    def add_moments(self, total: Moments, count: int) -> bool:
        """Add the moments of steps that surely hold the unit: P is a mixture of such laws."""
        square = count * self.times * self.epsilon**2
        total.only_above(ball(square / 2), ball(square))
        return True


@dataclass(frozen=True)
class AllocatedScores(OneWay, CommonSupport, LossTable):
    """What Gaussian noise of μ² = `mu2` in `times` < `steps` steps costs at least, by sums of scores."""

    steps: int
    times: int
    mu2: Fraction
    rank: ClassVar[int] = 18

    def losses(self) -> Atoms:
        """Return the losses of ranges of a sum of scores."""
        laws = sum_laws(self.steps, self.times, self.mu2, ctx.prec)
        return tuple(((q / p).log(), q) if self.added else ((p / q).log(), p) for p, q in laws)


@dataclass(frozen=True)
class AllocatedMean(OneWay, CommonSupport, Unbounded, ExactPair):
    """Allocation in `steps` steps, by a curve above its own (`numerics.lattice.mean_weights`).

    Of Gaussian noise of μ² = `mu2`, or randomised response of `epsilon`; the other one is 0. All
    statements but the curve are about allocation itself.
    """

    steps: int
    mu2: Fraction
    epsilon: Fraction
    rank: ClassVar[int] = 16
    closed_curve: ClassVar[bool] = True

    def own_curve(self, bits: int) -> Curve:
        """Return the bound on E(S − e^t)₊, added on E(1 − e^t S)₊."""
        bearable(bits, mean_weights.LOST_DEPTH + 40)

        def value(t: Fraction) -> arb:
            with precision(bits + 64):
                mean, x = _mean(self.steps, self.mu2, self.epsilon), ball(t).exp()
                return mean.under(1 / x) * x if self.added else mean.over(x)

        return value

    def moment(self, s: arb) -> arb:
        """Return the moment of a step that surely holds the unit: P is a mixture of such laws."""
        sure = ResponsePair(self.epsilon) if self.epsilon else GaussianPair((self.mu2,) * 2)
        return sure.moment(s)

    def add_moments(self, total: Moments, count: int) -> bool:
        """Return False: simpler bounds are known of the pair that this one stands for."""
        return False


def _fewer(steps: int) -> int:
    """Return a few bits of a number of steps, rounded down: fewer steps cost no less."""
    spare = max(0, steps.bit_length() - STEP_BITS)
    return steps >> spare << spare


@kept(64)
def _mean(steps: int, mu2: Fraction, epsilon: Fraction) -> mean_weights.MeanCurves:
    if epsilon:
        call, most = partial(mean_weights.response_call, epsilon), float(epsilon)
        return mean_weights.mean_curves(call, 4 * math.sinh(most / 2) ** 2, -most, most, steps)
    mu, rare = math.sqrt(mu2), math.log(2) * mean_weights.LOST_DEPTH
    # The largest of `steps` standard normals is below this quantile with probability e^−rare only.
    share, quantile = math.exp(-rare / steps), NormalDist().inv_cdf
    low = mu * (quantile(share) if share < 0.5 else -quantile(-math.expm1(-rare / steps))) - mu * mu / 2
    call, far = partial(mean_weights.log_normal_call, mu2), mu * (mu / 2 + math.sqrt(2 * rare))
    return mean_weights.mean_curves(call, math.expm1(mu * mu), low, far, steps)


class _Inverted:
    """One copy's curve for ε ≥ 0; stored sums serve the points around the one they were made for."""

    def __init__(self, transform: AllocatedGaussianTransform, bits: int) -> None:
        self.product = Product((Fraction(0), Fraction(0)), ((transform, 1),))
        self.bits = bits
        self.known: list[Inversion] = []

    @cached_property
    def moments(self) -> list[arb]:
        """Return upper bounds on E e^{sL} at the orders."""
        with precision(64):
            return [self.product.value(arb(s)).upper() for s in ORDERS]

    def at(self, t: Fraction) -> arb:
        """Return a ball around δ(t) of about `bits` correct bits, or of a radius as small against 1."""
        bound = self._chernoff(t)
        if self._close(bound):
            return bound
        for inversion in self.known:
            value = inversion.curve(t)
            if self._close(value):
                return value
        near = estimate_delta(self.product, float(t))
        for extra in range(MAX_REFINEMENTS):
            digits = (self.bits + 16 * (extra + 1)) * math.log10(2)
            chosen = contour(self.product, near, digits, 0.0)
            if chosen is None:
                raise OutOfReach("a curve of random allocation takes too much work here")
            self.known.append(Inversion(self.product, chosen))
            value = self.known[-1].curve(t)
            if self._close(value):
                break
        self.known = self.known[-MAX_KNOWN:]
        return value if value.is_finite() and value.rad() < 1 else bound

    def _chernoff(self, t: Fraction) -> arb:
        """Return [0, E e^{s(L−t)}] at the best of some s, and not above 1."""
        with precision(64):
            bounds = [
                (m * (-ball(t) * arb(s)).exp()).upper() for s, m in zip(ORDERS, self.moments, strict=True)
            ]
            most = min((x for x in bounds if x.is_finite()), default=arb(1), key=float)
            return arb(0).union(most.min(arb(1)))

    def _close(self, value: arb) -> bool:
        return value.rel_accuracy_bits() >= self.bits or bool(value.rad() < arb(2) ** -(self.bits + 8))
