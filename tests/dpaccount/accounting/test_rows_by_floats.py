"""Narrow enclosures against the same δ by other programs in floats: inversion without bounds, and grids of losses.

Nothing here is drawn at random; what floats err is below the tolerances.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr

from dpaccount.accounting.accountant import Accountant
from dpaccount.plan.events import DiscreteGaussian, Gaussian, Laplace, PoissonSubsampled, Pure, Sequence
from tests.depth import deep


def inverted(log_m, epsilon, c, period, top):
    """Return δ(ε) by the trapezoid rule on Re s = c, whose aliases are about e^{−c·period} and less."""
    step = 2 * math.pi / period
    s = c + 1j * step * np.arange(math.ceil(top / step))
    terms = np.concatenate([np.exp(log_m(part) - part * epsilon) for part in np.array_split(s, 64)]) / (
        s * (s + 1)
    )
    return step / math.pi * float(terms.real.sum() - terms[0].real / 2)


def sampled(losses, mass, rate, count):
    """Return s ↦ log M(s), a unit removed, of losses under Q with their masses."""
    z = rate * np.expm1(losses)

    def log_m(s):
        a = 1 + s[:, None]
        w = (np.expm1(a * np.log1p(z)) - a * z) @ mass
        small = np.abs(w) < 1e-5  # there NumPy's complex log1p keeps no digits
        return count * np.where(small, w - w * w / 2 + w**3 / 3, np.log(1 + w))

    return log_m


def normal(mu, low, high, step):
    """Return losses of Gaussian noise under Q, and their masses."""
    u = np.arange(low, high, step)
    return u * mu - mu * mu / 2, np.exp(-u * u / 2) * step / math.sqrt(2 * math.pi)


def laplaces(s, scale=1):
    """Return log M of a thousand Laplace noises, the least of this scale."""
    z, loss = s[:, None] + 0.5, 1 / (1 + np.arange(1000) / 1000) / scale
    return (np.log(np.cosh(z * loss) + np.sinh(z * loss) / (2 * z)) - loss / 2).sum(axis=1)


def responses(s):
    """Return log M of a thousand releases of 1/64 < ε ≤ 1/32."""
    loss = 1 / (1 + np.arange(1000) / 1000) / 32
    return (np.log(2 * np.cosh(s[:, None] * loss + loss / 2)) - np.log(2 * np.cosh(loss / 2))).sum(axis=1)


def two_noises():
    """Return losses of a Gaussian (σ = 4.63) and a discrete one (σ = 10.2), and their masses."""
    x = np.arange(-110, 111)
    weight = np.exp(-x * x / (2 * 10.2**2))
    loss, mass = normal(1 / 4.63, -9, 10, 0.1)
    return (
        np.add.outer(loss, (x - 0.5) / 10.2**2).ravel(),
        np.multiply.outer(mass, weight / weight.sum()).ravel(),
    )


BESIDE = Sequence(of=(DiscreteGaussian(sigma="10.2"), Gaussian(sigma="4.63")))
ROWS = {  # events, δ, log M, (c, period, top) of a line, relative tolerance
    "a thousand scales": (
        [Laplace(scale=1 + Fraction(k, 1000)) for k in range(1000)], "1e-6", laplaces, (0.27, 200, 2), 1e-9,
    ),
    "a thousand scales, more noise": (
        [Laplace(scale=32 * (1 + Fraction(k, 1000))) for k in range(1000)], "1e-6",
        lambda s: laplaces(s, 32), (6.8, 9, 60), 1e-5,
    ),
    "a thousand ε": (
        [Pure(epsilon=1 / (32 * (1 + Fraction(k, 1000)))) for k in range(1000)], "1e-6", responses, (6.8, 9, 60), 1e-5,
    ),
    "discrete beside continuous noise": (
        [PoissonSubsampled(rate=".9", of=BESIDE, count=100)], ".1",
        sampled(*two_noises(), 0.9, 100), (0.4, 120, 3), 1e-6,
    ),
    "a billion rare ones": (
        [PoissonSubsampled(rate="1e-9", of=Gaussian(sigma=1), count=10**9)], "1e-9",
        sampled(*normal(1, -9, 27, 0.1), 1e-9, 10**9), (17, 2.3, 240_000), 1e-6,
    ),
}  # fmt: skip


@deep
@pytest.mark.parametrize("name", ROWS)
def test_delta_at_both_ends(name):
    """Removing a unit costs at most the answer; where it is the worse direction it costs that."""
    events, delta, log_m, line, close = ROWS[name]
    found = Accountant(events, relation="add-remove").epsilon(delta)
    below, above = (inverted(log_m, float(end), *line) / float(delta) for end in (found.lower, found.upper))
    assert below >= 1 - close
    assert above <= 1 + close


def grid(rate, mu, step, size):
    """Return the loss of one sample, a unit removed, split onto nodes so that P and Q keep their masses."""
    first = math.floor(math.log1p(-rate) / step) * step
    t = first + step * np.arange(size + 1)
    z = (np.exp(np.minimum(t, 300)) - 1 + rate) / rate
    u = (np.log(np.maximum(z, 1e-300)) + mu * mu / 2) / mu
    q = np.diff(ndtr(u))
    p = (1 - rate) * q + rate * np.diff(ndtr(u - mu))
    right = np.clip((p - q * np.exp(t[:-1])) / -math.expm1(-step), 0, p)
    return first, (p - right) + np.concatenate([[0], right[:-1]])


@deep
def test_very_little_noise():
    """Splitting raises δ by some 10·step²/8 times the density, about δ: far below the tolerance."""
    rate, step, size, count = 0.01, 1e-4, 1 << 21, 10
    first, mass = grid(rate, 1 / 0.3, step, size)
    whole = np.fft.irfft(np.fft.rfft(mass) ** count, size)
    t = count * first + step * np.arange(size)
    found = Accountant(
        [PoissonSubsampled(rate=".01", of=Gaussian(sigma=".3"), count=count)], relation="add-remove"
    ).epsilon("1e-6")
    below, above = (
        float((whole * -np.expm1(np.minimum(float(end) - t, 0))).sum()) for end in (found.lower, found.upper)
    )
    assert above * (1 - 1e-6) <= 1e-6 <= below * (1 + 1e-6)
