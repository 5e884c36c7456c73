"""Losses on a sample of the fraction q: ε becomes ln(1 + q(e^ε − 1)) (Balle, Barthe & Gaboardi 2018).

Where a row of a Poisson sample is replaced it becomes ln((1 − q + qe^ε)/(1 − q + qe^−ε)) (docs/numerics.md).
"""

from fractions import Fraction

from flint import arb

from dpaccount.errors import InputError
from dpaccount.numerics.intervals import ball, ceil_of, precision
from dpaccount.numerics.work_budget import kept


def shrunk(loss: arb, rate: arb) -> arb:
    """Return ln(1 + q(e^ε − 1)) for q > 0 and ε of either sign, without forming e^ε where ε is large."""
    if loss > 1:
        return loss + rate.log() + ((1 - rate) / rate * (-loss).exp()).log1p()
    return (rate * loss.expm1()).log1p()


def grown(loss: arb, rate: arb) -> arb:
    """Return the ε whose loss on a sample is `loss` ≥ 0: ln(1 + (e^loss − 1)/q)."""
    if loss > 1:
        return loss - rate.log() + (-(1 - rate) * (-loss).exp()).log1p()
    return (loss.expm1() / rate).log1p()


def sampled_loss(loss: Fraction, rate: Fraction) -> Fraction:
    """Return ln(1 + q(e^ε − 1)) rounded up, 0 ≤ q ≤ 1; ε itself where nothing is sampled out."""
    if rate == 1 or loss == 0:
        return loss
    if rate == 0:
        return Fraction(0)
    with precision(128 + 2 * rate.denominator.bit_length()):
        return ceil_of(shrunk(ball(loss), ball(rate)))


def replaced_loss(loss: Fraction, rate: Fraction) -> Fraction:
    """Return ln((1 − q + qe^ε)/(1 − q + qe^−ε)) rounded up, 0 ≤ q ≤ 1."""
    if rate in (0, 1) or loss == 0:
        return 2 * rate * loss
    with precision(128 + 2 * rate.denominator.bit_length()):
        return ceil_of(shrunk(ball(loss), ball(rate)) - (ball(rate) * ball(-loss).expm1()).log1p())


@kept(64)
def truncation(examples: int, rate: Fraction, batch: int, bits: int) -> tuple[arb, arb, arb]:
    """Return P(J < batch), P(J ≥ batch) and E[rate·batch/(J + 1) | J ≥ batch], batch < examples.

    J ~ Bin(n − 1, q), n = examples, q = rate.  P(Bin(n, q) ≥ k) = I_q(k, n − k + 1) (NIST DLMF 8.17.5);
    the mean is batch/n · P(Bin(n, q) > batch)/P(J ≥ batch), as C(n − 1, j)/(j + 1) = C(n, j + 1)/n.
    """
    with precision(bits):
        q, rest = ball(rate), examples - batch
        more, taken = (q.beta_lower(ball(k), ball(rest), regularized=True) for k in (batch, batch + 1))
        drawn = taken / more * batch / examples
        if not drawn.is_finite():
            raise InputError("so large a dataset is out of reach", "use fewer examples, or a batch of all")
        return 1 - more, more, drawn
