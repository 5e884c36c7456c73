"""What a plan's numbers in other theories imply, its pure ε, μ² and ρ: no answer about it lies above."""

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from dpaccount.accounting.measures import MEASURES
from dpaccount.accounting.methods.answer import UNREACHED
from dpaccount.exact import Number
from dpaccount.numerics.closed import gaussian, renyi
from dpaccount.numerics.intervals import ball, ceil_of, precision
from dpaccount.plan.event_base import Amount

Implied = tuple[Number, str]  #: a bound, and the method that gives it
METHODS = {"pure": "largest loss", "gdp": "gaussian curve", "zcdp": "Rényi bound"}


@dataclass(frozen=True)
class OwnBounds:
    """Pure ε, μ² under Gaussian DP and ρ under zCDP, each at least what a plan costs; None: unknown."""

    pure: Amount = None
    gdp: Amount = None
    zcdp: Amount = None

    def _known(self) -> Iterator[tuple[str, Fraction]]:
        for name in METHODS:
            total = getattr(self, name)
            # A ρ of μ²/2 says less than μ.
            if total is not None and not (name == "zcdp" and self.gdp is not None and self.gdp <= 2 * total):
                yield name, total

    def epsilon(self, target: Fraction, most: Implied) -> Implied:
        """Return a bound on ε(target), 0 ≤ target ≤ 1, at most `most`."""
        for name, total in self._known():
            measure, known = MEASURES[name], most[0]
            if (name == "pure" or 0 < target < 1) and (
                known == math.inf or measure.fits((total,), Fraction(known), target)
            ):
                implied = measure.epsilon(total, target)
                if implied is not None and implied < known:
                    most = implied, METHODS[name]
        return most

    def delta(self, at: Fraction, most: Implied) -> Implied:
        """Return a bound on δ(at), at ≥ 0, at most `most`."""
        for name, total in self._known():
            with precision(160), suppress(*UNREACHED):
                implied = max(Fraction(0), ceil_of(_DELTAS[name](total, at)))
                if implied < most[0]:
                    most = implied, METHODS[name]
        return most

    def renyi(self, order: Fraction, most: Implied) -> Implied:
        """Return a bound on the Rényi divergence at an order above 1, at most `most`."""
        rates = {"pure": 1 / order, "gdp": Fraction(1, 2), "zcdp": Fraction(1)}
        return min([most, *((rates[name] * order * total, METHODS[name]) for name, total in self._known())])


def _of_pure(total: Fraction, at: Fraction) -> arb:
    """Return δ(at) of randomised response, the largest with this ε (Kairouz, Oh & Viswanath 2015)."""
    return (1 - ball(at - total).exp()) / (1 + ball(-total).exp())


def _of_zcdp(total: Fraction, at: Fraction) -> arb:
    if not total:
        return arb(0)
    order = renyi.zcdp_order(float(total), float(at))
    return renyi.log_delta(order, ball(order * total), at).exp()


_DELTAS = {
    "pure": _of_pure,
    "gdp": lambda total, at: gaussian.delta(at, (total, total)),
    "zcdp": _of_zcdp,
}
