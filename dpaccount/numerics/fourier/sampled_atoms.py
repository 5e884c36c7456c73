"""Poisson samples of pairs with discrete losses: their transform is a sum over the losses.

With z(t) = 1 − q + q e^t and H(a) = E_Q z^a over the inner pair (P, Q), removing a unit has M(s) = H(1 + s)
and adding one M(s) = H(−s). All inner pairs here are symmetric: t has under Q the law of −t under P.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from flint import acb, arb, ctx

from dpaccount.numerics import exponential_sums
from dpaccount.numerics.closed import discrete_losses
from dpaccount.numerics.closed.sampling import shrunk
from dpaccount.numerics.fourier.discrete_transforms import (
    AtomTransform,
    DiscreteGaussianTransform,
)
from dpaccount.numerics.fourier.sampled_gaussian import SampledGaussianTransform
from dpaccount.numerics.fourier.transforms import Decay, OnPoissonSample, Transform, blurred, log_mean
from dpaccount.numerics.intervals import ball, precision
from dpaccount.numerics.work_budget import OutOfReach, as_rate, bearable, kept, spend

MOST_LOSSES = 12_000  #: of what is sampled
WIDE = 300  #: σ from which a discrete Gaussian is handled as a continuous one only
SMOOTH = 20  #: and from which it is so handled up to the frequencies where its lattice shows
Inner = tuple[tuple[AtomTransform, int], ...]


@dataclass(frozen=True)
class SampledAtomsTransform(OnPoissonSample):
    """Pairs with discrete losses, composed, on a Poisson sample of rate `rate`; `added`: the direction.

    The inner pair is `inner` and at most one discrete Gaussian, `noise`; it fails with probability `lost`:
    that much of P is at t = +∞, as much of Q at −∞, where z = 1 − q.
    """

    inner: Inner
    noise: DiscreteGaussianTransform | None = None
    lost: Fraction = Fraction(0)

    def infinite(self) -> arb:
        """Return the mass at an infinite loss: of a removed unit where the sample holds it and fails."""
        return arb(0) if self.added else ball(self.rate * self.lost)

    def value(self, s: acb) -> acb:
        """Return M(s) for real s."""
        a = self.power(s)
        found = sum((mass * (a * at).exp() for mass, at in self._points(a)), arb(0))
        return blurred(found, self._dropped(a))

    def nodes(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + inh) for n < count; adding a unit mirrors the line, so it is conjugated."""
        a, wide = self.power(c), self._near_gaussian()
        # At frequencies where the lattice does not show yet, the continuous integral needs far fewer nodes.
        if wide is not None and wide.apart(a, h * count) < arb(2) ** -ctx.prec:
            return wide.nodes(c, h, count)
        points = [(mass * (a * at).exp(), at) for mass, at in self._points(a)]
        error = self._dropped(a)
        found = [blurred(value, error) for value in exponential_sums.along(points, h, count)]
        return [value.conjugate() for value in found] if self.added else found

    def log_m(self, s: float, count: int) -> float:
        """Return an estimate of count·log M(s)."""
        a = self.power(s)
        try:
            grid = _float_points(replace(self, added=False), 2 ** math.ceil(math.log2(1 + max(a, 0.0))))
        except OutOfReach:  # so far out that too many losses would matter
            return math.inf
        return count * log_mean(a, *grid, lost=float(self.rate * self.lost))

    def work(self, c: float, bits: int) -> float:
        """Return roughly how many steps of work one node on Re s = c takes."""
        wide = self._near_gaussian()
        if wide is not None:
            return wide.work(c, bits)
        with precision(bits):
            right = _right(self, self.power(arb(c)))
        return exponential_sums.work(right + _size(self.inner, self.noise), bits)

    def _near_gaussian(self) -> "SampledNearGaussianTransform | None":
        noise = self.noise
        if noise is None or self.inner or self.lost or noise.sigma < SMOOTH:
            return None
        return SampledNearGaussianTransform(
            self.rate, (noise.shift / noise.sigma) ** 2, noise.sigma, added=self.added
        )

    def atoms(self) -> list[tuple[arb, arb]]:
        """Return (loss, mass under P) of all finite losses, where there is no noise."""
        if self.noise is not None:
            return super().atoms()
        return [(-at, mass) if self.added else (at, mass * at.exp()) for mass, at in self._points(arb(1))]

    def _points(self, a: arb) -> list[tuple[arb, arb]]:
        """Return (mass under Q, ln z) for all losses but those in `_dropped`."""
        found = _points(self.rate, self.inner, self.noise, _left(self, a), _right(self, a), ctx.prec)
        if not self.lost:
            return found
        lost = ball(self.lost)
        return [(lost, (-ball(self.rate)).log1p()), *((mass * (1 - lost), at) for mass, at in found)]

    def _dropped(self, a: arb) -> arb:
        """Return a bound on what the noise left out, x < −r and x > R, adds to |H(a + iτ)|.

        Under Q the noise x has t₁ = (s/σ²)(x − s/2), and t₂ ≤ b is the sum of the other losses. For a ≥ 0:
        on the left z^a ≤ 1 + e^{at₂}; on the right z ≤ q′e^{t₁+t₂}, q′ = q + (1 − q)e^{b−t₁(R)}, and e^{at₁}
        moves the centre of x to as. For a < 0: z ≥ 1 − q on the left, z ≥ 1 − q + q e^{t₁(R)−b} on the right.
        """
        noise = self.noise
        if noise is None:
            return arb(0)
        left, right = _left(self, a), _right(self, a)
        others, most = arb(1), arb(0)
        for factor, count in self.inner:
            others *= factor.value(a - 1) ** count
            most += count * ball(factor.largest())
        edge, low, high = ball(_loss(noise, right)), 1 - ball(self.rate), ball(self.rate)
        below, above = (discrete_losses.gaussian_tail(noise.sigma, reach) for reach in (left, right))
        if a < 0:
            return below * low**a + above * (low + high * (edge - most).exp()) ** a
        rate = high + low * (most - edge).exp()
        growth = (a * (a - 1) * ball(Fraction(noise.shift) ** 2 / noise.sigma**2) / 2).exp()
        beyond = right - int(a.upper().ceil().unique_fmpz()) * noise.shift
        tail = discrete_losses.gaussian_tail(noise.sigma, beyond) if beyond > 0 else 2 * arb(1)
        return below * (1 + others) + tail * rate**a * growth * others


@dataclass(frozen=True)
class SampledNearGaussianTransform(SampledGaussianTransform):
    """One discrete Gaussian of large σ, moved by s, on a Poisson sample, as the continuous one of μ = s/σ.

    The sum over the noise is the trapezoid rule of step 1/σ for the integral that the continuous pair has,
    over θ = Σ φ(x/σ)/σ = 1 + 2Σ_k e^{−2π²σ²k²}. With |z^{iτ}| ≤ e^{τyμ} at height y (arg z ≤ yμ) the strip
    |Im u| < Y bounds the difference by H(a)·2e^{Y²/2} cos(Yμ/2)^{min(a,0)} e^{τYμ}/(e^{2πYσ} − 1).
    """

    sigma: Fraction = Fraction(WIDE)

    def value(self, s: acb) -> acb:
        """Return M(s) for real s."""
        found = super().value(s)
        return blurred(found, found * self.apart(self.power(s), arb(0)))

    def nodes(self, c: arb, h: arb, count: int) -> list[acb]:
        """Return M(c + inh) for n < count."""
        error = super().value(c) * self.apart(self.power(c), h * (count - 1))
        return [blurred(value, error) for value in super().nodes(c, h, count)]

    def decay(self, c: arb, depth: float) -> Decay:
        """Return no decay: the transform of a lattice comes back."""
        return Decay()

    def apart(self, a: arb, most: arb) -> arb:
        """Return a bound on the relative difference for frequencies up to `most`."""
        sigma, mu = ball(self.sigma), ball(self.mu2).sqrt()
        height = arb(min(2.0, 1.5 / float(mu.mid())))
        cosine = (a.min(arb(0)) * (height * mu / 2).cos().log()).exp()
        gap = 2 * arb.pi() * height * sigma
        strip = 2 * (height * height / 2 + most * height * mu - gap).exp() * cosine / (1 - (-gap).exp())
        return strip + 4 * (-2 * (arb.pi() * sigma) ** 2).exp()


@dataclass
class DiscreteParts:
    """What is sampled, where all of it has discrete losses: atoms and discrete Gaussians, counted."""

    atoms: list[tuple[AtomTransform, int]] = field(default_factory=list)
    noises: list[tuple[DiscreteGaussianTransform, int]] = field(default_factory=list)

    def on_sample(self, rate: Fraction, lost: Fraction) -> Transform | None:
        """Return the transform of a sample of all of it, which fails with probability `lost`.

        None where losses are many.
        """
        count = sum(n for _, n in self.noises)
        if count > 1 or not (self.atoms or self.noises or lost) or count + sum(n for _, n in self.atoms) > 64:
            return None
        noise = self.noises[0][0] if self.noises else None
        if noise is not None and not (self.atoms or lost) and noise.sigma >= WIDE:
            return SampledNearGaussianTransform(rate, (noise.shift / noise.sigma) ** 2, sigma=noise.sigma)
        inner = tuple(self.atoms)
        if _size(inner, noise) > MOST_LOSSES:
            return None
        return SampledAtomsTransform(rate, inner, noise, lost)


def _size(inner: Inner, noise: DiscreteGaussianTransform | None) -> int:
    """Return about how many losses matter."""
    size: int = math.prod(atom.size() ** count for atom, count in inner)
    return size if noise is None else size * (2 * discrete_losses.gaussian_reach(noise.sigma, 100) + 1)


def _loss(noise: DiscreteGaussianTransform, x: int) -> Fraction:
    return noise.shift / noise.sigma**2 * (x - Fraction(noise.shift, 2))


def _left(factor: SampledAtomsTransform, a: arb) -> int:
    """Return the noise r below which the bound of `_dropped` is about 2^−bits (an estimate)."""
    noise = factor.noise
    if noise is None:
        return 0
    lost = min(float(a.lower()), 0.0) * math.log2(1 - as_rate(factor.rate))
    return discrete_losses.gaussian_reach(noise.sigma, ctx.prec + math.ceil(lost))


def _right(factor: SampledAtomsTransform, a: arb) -> int:
    """Return the noise R beyond which the bound of `_dropped` is about 2^−bits of H(a) ≥ 1 (an estimate)."""
    noise = factor.noise
    if noise is None:
        return 0
    power = max(float(a.upper()), 0.0)
    sigma, shift, rate = float(noise.sigma), noise.shift, as_rate(factor.rate)
    growth = power * (power - 1) * (shift / sigma) ** 2 / 2
    far = power * math.log(rate) + growth  # log of the weight that lies around x = as
    if far > 0:
        bearable(power * shift, MOST_LOSSES)
    goal = max(0.0, far) - (ctx.prec + 8) * math.log(2)
    right = discrete_losses.gaussian_reach(noise.sigma, ctx.prec)
    while True:
        bearable(right, MOST_LOSSES)
        away = max(0.0, right - power * shift) / sigma
        edge = shift / sigma**2 * (right - shift / 2)
        if power * math.log(rate + (1 - rate) * math.exp(-max(edge, -600))) + growth - away * away / 2 < goal:
            return right
        right += math.ceil(sigma)


@kept(64)
def _points(
    rate: Fraction,
    inner: Inner,
    noise: DiscreteGaussianTransform | None,
    left: int,
    right: int,
    bits: int,
) -> list[tuple[arb, arb]]:
    """Return (mass under Q, ln z(t)) of the composed losses, noise in [−left, right]; equal ones merged."""
    parts = [([(-t, mass()) for t, mass in atom.points()], count) for atom, count in inner]
    if noise is not None:
        parts.append((_noise_losses(noise, left, right), 1))
    whole = summed_losses(parts, MOST_LOSSES)
    return [(mass, shrunk(ball(t), ball(rate))) for t, mass in whole.items()]


def summed_losses(parts: Iterable[tuple[list[tuple[Fraction, arb]], int]], most: int) -> dict[Fraction, arb]:
    """Return the sums of losses of counted laws, at most about `most`, with masses; equal ones merged."""
    whole = {Fraction(0): ball(1)}
    for own, count in parts:
        for _ in range(count):
            bearable(len(whole) * len(own), 40 * most)
            merged: dict[Fraction, arb] = {}
            for s, p in whole.items():
                spend()
                for t, m in own:
                    merged[s + t] = merged.get(s + t, arb(0)) + p * m
            whole = merged
    return whole


def _noise_losses(noise: DiscreteGaussianTransform, left: int, right: int) -> list[tuple[Fraction, arb]]:
    """Return the losses t of discrete Gaussian noise in [−left, right] with their masses under Q."""
    total = discrete_losses.gaussian_total(noise.sigma)
    rate = 1 / (2 * noise.sigma**2)
    return [(_loss(noise, x), ball(-rate * x * x).exp() / total) for x in range(-left, right + 1)]


@kept(64)
def _float_points(factor: SampledAtomsTransform, power: int) -> Any:
    """Return masses, ln z and z − 1 as floats, for powers up to `power`."""
    import numpy as np

    losses, mass = np.zeros(1), np.ones(1)
    parts: list[tuple[Any, int]] = [*factor.inner, *([(None, 1)] if factor.noise else [])]
    for atom, count in parts:
        with precision(64):
            own, weight = _float_atoms(atom) if atom else _float_noise(factor, arb(power))
        for _ in range(count):
            bearable(len(losses) * len(own), 40 * MOST_LOSSES)
            losses, mass = np.add.outer(losses, own).ravel(), np.multiply.outer(mass, weight).ravel()
    q, lost = as_rate(factor.rate), float(factor.lost)
    excess = np.append(q * np.expm1(np.minimum(losses, 600)), -q)
    logz = np.append(losses + math.log(q), math.log1p(-q))
    return np.append(mass * (1 - lost), lost), np.where(excess < 1e200, np.log1p(excess), logz), excess


def _float_atoms(atom: AtomTransform) -> tuple[Any, Any]:
    """Return the losses of atoms and their masses under Q."""
    import numpy as np

    points = atom.points()
    return np.array([-float(t) for t, _ in points]), np.array([float(m().mid()) for _, m in points])


def _float_noise(whole: SampledAtomsTransform, a: arb) -> tuple[Any, Any]:
    """Return the losses of discrete Gaussian noise and their masses under Q."""
    import numpy as np

    noise = whole.noise
    if noise is None:
        return np.zeros(1), np.ones(1)
    x = np.arange(-_left(whole, a), _right(whole, a) + 1)
    sigma = float(noise.sigma)
    mass = np.exp(-x * x / (2 * sigma * sigma)) / float(discrete_losses.gaussian_total(noise.sigma).mid())
    return noise.shift / sigma**2 * (x - noise.shift / 2), mass
