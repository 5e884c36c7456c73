"""What single events cost in one number: zCDP, Gaussian DP, pure DP."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from dpaccount.numerics.balls import ball, ceil_of, precision
from dpaccount.numerics.closed.gdp_of_pure import mu_squared
from dpaccount.numerics.closed.sampling import shrunk
from dpaccount.numerics.closed.toeplitz import squares
from dpaccount.plan.events import (
    Approximate,
    BoundedRange,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Exponential,
    Gaussian,
    Gdp,
    Laplace,
    MatrixFactorisation,
    PermuteAndFlip,
    PoissonSubsampled,
    Pure,
    RandomizedResponse,
    SampledWithoutReplacement,
    Sequence,
    Tree,
    Zcdp,
)


def zcdp(event: Event) -> Fraction | None:
    """Return an upper bound on the zCDP ρ of an event and its count; None where there is none.

    Gaussian noise: Δ²/(2σ²), also the discrete one in any dimension (Bun & Steinke 2016; Canonne, Kamath
    & Steinke 2020); μ-GDP: μ²/2; pure ε: ε²/2; η-bounded range: η²/8 (Cesar & Rogers 2021).
    """
    if isinstance(event, Gaussian | DiscreteGaussian):
        return event.count * (event.sensitivity / event.sigma) ** 2 / 2
    if isinstance(event, Zcdp):
        return event.count * event.rho
    if isinstance(event, Exponential | BoundedRange):
        return event.count * _eta(event) ** 2 / 8
    if isinstance(event, Gdp | Tree | MatrixFactorisation):
        mu2 = gdp_mu_squared(event)
        return None if mu2 is None else mu2 / 2
    if isinstance(event, Sequence):
        return _added(event, zcdp)
    if (whole := _unsampled(event)) is not None:
        return zcdp(whole)
    loss = pure(replace(event, count=1))
    return None if loss is None else event.count * loss**2 / 2


def gdp_mu_squared(event: Event) -> Fraction | None:
    """Return an upper bound on μ² of an event and its count under Gaussian DP; None where there is none.

    Pure ε enters by μ = −2Φ⁻¹(1/(1 + e^ε)), rounded up (Liu, Sun, Jiang & Kong 2022).
    """
    if isinstance(event, Gaussian):
        return event.count * (event.sensitivity / event.sigma) ** 2
    if isinstance(event, Gdp):
        return event.count * event.mu**2
    if isinstance(event, Tree):
        return event.count * event.rounds.bit_length() * (event.sensitivity / event.sigma) ** 2
    if isinstance(event, MatrixFactorisation):
        return event.count * squares(event.rounds)[1] * (event.sensitivity / event.sigma) ** 2
    if isinstance(event, Sequence):
        return _added(event, gdp_mu_squared)
    if (whole := _unsampled(event)) is not None:
        return gdp_mu_squared(whole)
    loss = pure(replace(event, count=1))
    if loss is None:
        return None
    return event.count * mu_squared(loss)


def pure(event: Event) -> Fraction | None:
    """Return an upper bound on the pure ε of an event and its count; None where it is infinite.

    Sampling a fraction q takes ε to ln(1 + q(e^ε − 1)), rounded up (Balle, Barthe & Gaboardi 2018).
    """
    if isinstance(event, Laplace | DiscreteLaplace):
        return event.count * event.sensitivity / event.scale
    if isinstance(event, RandomizedResponse | PermuteAndFlip | Pure):
        return event.count * event.epsilon
    if isinstance(event, Exponential | BoundedRange):
        return event.count * _eta(event)
    if isinstance(event, Approximate):
        return event.count * event.epsilon if event.delta == 0 else None
    if isinstance(event, Sequence):
        return _added(event, pure)
    if isinstance(event, PoissonSubsampled | SampledWithoutReplacement):
        inner = pure(event.of)
        if isinstance(event, PoissonSubsampled) and event.rate == 0:
            return Fraction(0)
        return None if inner is None else event.count * _sampled_loss(inner, _rate(event))
    free = (
        isinstance(event, Gaussian | DiscreteGaussian | Tree | MatrixFactorisation) and not event.sensitivity
    )
    free = free or (isinstance(event, Zcdp) and not event.rho) or (isinstance(event, Gdp) and not event.mu)
    return Fraction(0) if free else None


def _unsampled(event: Event) -> Event | None:
    """Return what runs on the whole population where the sample is all of it."""
    if isinstance(event, PoissonSubsampled | SampledWithoutReplacement) and _rate(event) == 1:
        return Sequence(of=(event.of,), count=event.count)
    return None


def _eta(event: Exponential | BoundedRange) -> Fraction:
    return event.eta if isinstance(event, BoundedRange) else event.epsilon


def _rate(event: PoissonSubsampled | SampledWithoutReplacement) -> Fraction:
    return event.rate if isinstance(event, PoissonSubsampled) else Fraction(event.size, event.population)


def _sampled_loss(loss: Fraction, rate: Fraction) -> Fraction:
    if rate == 1 or loss == 0:
        return loss
    if rate == 0:
        return Fraction(0)
    with precision(128 + 2 * rate.denominator.bit_length()):
        return ceil_of(shrunk(ball(loss), ball(rate)))


def _added(event: Sequence, bound: Callable[[Event], Fraction | None]) -> Fraction | None:
    parts = [bound(part) for part in event.of]
    known = [part for part in parts if part is not None]
    return event.count * sum(known, Fraction(0)) if len(known) == len(parts) else None
