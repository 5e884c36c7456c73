"""Events that are known by a bound alone, which is what they are charged."""

from dataclasses import fields, replace
from fractions import Fraction

from flint import arb

from dpaccount.errors import InputError
from dpaccount.exact import exact_argument, shown
from dpaccount.forks import unforked
from dpaccount.numerics.intervals import ball, ceil_of, precision
from dpaccount.plan.event_base import (
    NO_OFFSET,
    Amount,
    Event,
    Real,
    RealPairs,
    Reals,
    event_kind,
    smallest_bound,
)


@event_kind
class Approximate(Event):
    """Any mechanism that is (`epsilon`, `delta`)-differentially private.

    It is run `count` times on the units of `cover`, the first and the last (None: all).
    """

    name = "approximate"
    epsilon: Real
    delta: Real

    def _pure(self) -> Amount:
        return None if self.delta else self.epsilon

    def _approximate(self) -> tuple[Fraction, Fraction]:
        return self.epsilon, self.delta

    def for_group(self, k: int) -> Event:
        """Return (kε, δ(e^{kε} − 1)/(e^ε − 1)) (Vadhan 2017)."""
        with unforked():  # charges of single units do not need it
            from dpaccount.numerics.closed.group_privacy import chained
        return replace(self, epsilon=k * self.epsilon, delta=chained(self.epsilon, self.delta, k))


@event_kind
class Zcdp(Event):
    """Any mechanism of (ξ, ρ)-zCDP: D_α ≤ `xi` + `rho`·α for all α > 1 (Bun & Steinke 2016).

    It is run `count` times on the units of `cover`, the first and the last (None: all).
    """

    name = "zcdp"
    rho: Real
    xi: Real = NO_OFFSET

    def _zcdp(self) -> Amount:
        """Return ρ + ξ, since ξ ≤ ξα; or that of pure ξ."""
        return smallest_bound(self.rho + self.xi, super()._zcdp())

    def _pure(self) -> Amount:
        """Return ξ where ρ = 0, since D_∞ is the limit of D_α."""
        return None if self.rho else self.xi

    def for_group(self, k: int) -> Event:
        """Return (ξ·k·(1 + 1/2 + … + 1/k), k²ρ) (Bun & Steinke 2016, Proposition 27).

        D_α(P‖R) ≤ kα/(kα − 1)·D_{(kα−1)/(k−1)}(P‖Q) + D_{kα}(Q‖R), and kα/(kα − 1) < k/(k − 1), so that
        ξ_k = ξ_{k−1}·k/(k − 1) + ξ.  Where ρ = 0 it is pure, and kξ is enough.
        """
        if not self.rho:
            return replace(self, xi=k * self.xi)
        with precision(128):
            harmonic = ceil_of((ball(k) + 1).digamma() + arb.const_euler())
        return replace(self, rho=k * k * self.rho, xi=self.xi * k * harmonic)


@event_kind
class Rdp(Event):
    """Any mechanism whose Rényi divergences are at most those of `points`: pairs of an order and its ε.

    It is run `count` times on the units of `cover`, the first and the last (None: all).
    """

    name = "rdp"
    points: RealPairs

    def _check(self) -> None:
        points = tuple((exact_argument(self.name, a), exact_argument(self.name, e)) for a, e in self.points)
        if not points:
            raise InputError("rdp: no points", "give at least one [order, epsilon]")
        if any(order <= 1 or epsilon < 0 for order, epsilon in points):
            raise InputError("rdp: a point is out of range", "orders exceed 1, epsilons are at least 0")
        object.__setattr__(self, "points", points)


@event_kind
class Shuffled(Event):
    """Reports of `population` units in random order, each by one `epsilon`-DP randomiser (replace-one only).

    All units use the same local randomiser, fixed beforehand, each with randomness of its own.  Nothing but
    the order of the reports is hidden; each time they are fresh, and so is their order.
    It is run `count` times on the units of `cover`, the first and the last (None: all).  A cover must hold
    the whole `population`.
    """

    name = "shuffled"
    epsilon: Real
    population: int

    def _pure(self) -> Amount:
        return self.epsilon


@event_kind
class ShuffledResponse(Shuffled):
    """Shuffled reports of the truth among `categories` values, with odds e^`epsilon` against each other one.

    How often each value is sent is seen.  `population`, `count` and `cover` are as in `Shuffled`.
    """

    name = "shuffled_response"
    uneven = True
    epsilon: Real
    categories: int = 2

    def met_at(self, unit: int) -> Event:
        """Return the event for data that cost nearly the most."""
        return AlikeResponse(**{item.name: getattr(self, item.name) for item in fields(self)})


class AlikeResponse(ShuffledResponse):
    """Those where all others hold one value: of two, the unit's own before or after, else a third one."""


MOST_OUTCOMES = 4096  #: of a pair that is written out


@event_kind
class DominatingPair(Event):
    """Any mechanism that this pair of laws dominates, given outcome by outcome: an assumption of the user's.

    Under add-remove `p` is the law with the unit and `q` the one without it, and both directions count; under
    replace-one the pair must dominate every two neighbours in either order.  Probabilities are exact and sum
    to 1; what one law allows and the other does not, an infinite loss, is an outcome of probability 0 there.
    It is run `count` times on the units of `cover`, the first and the last (None: all).
    """

    name = "dominating_pair"
    p: Reals
    q: Reals

    def _check(self) -> None:
        for key in ("p", "q"):
            law = tuple(exact_argument(self.name, each) for each in getattr(self, key))
            if min(law, default=0) < 0:
                raise InputError(f"{key} holds {shown(min(law))}", "a probability is at least 0", self.name)
            # Never normalised: only the user knows whether missing mass is rounding or an outcome left out.
            if sum(law) != 1:
                raise InputError(
                    f"{key} sums to {shown(sum(law, Fraction(0)))}, not to 1",
                    'write fractions as text, such as "1/3", and a failure as an outcome of its own',
                    self.name,
                )
            object.__setattr__(self, key, law)
        if len(self.p) != len(self.q):
            raise InputError(
                f"p has {len(self.p)} outcomes and q {len(self.q)}", "give both laws of each", self.name
            )
        if len(self.p) > MOST_OUTCOMES:
            raise InputError(
                f"{len(self.p)} outcomes are too many", f"give at most {MOST_OUTCOMES}", self.name
            )

    def assumption(self) -> str:
        """Return the assumption that is left to the user."""
        return (
            f"{self.name}: the given laws of {len(self.p)} outcomes are said to dominate a release between"
            " any two neighbours; nothing here checks it"
        )

    def _pure(self) -> Amount:
        """Return the largest loss in either direction, rounded up."""
        lost = self._lost()
        return self._largest() if lost == 0 else None

    def _approximate(self) -> tuple[Fraction, Fraction]:
        """Return the largest finite loss in either direction, and the mass at an infinite one."""
        return self._largest(), self._lost()

    def _lost(self) -> Fraction:
        # Mass at an infinite loss is δ itself, in the direction in which there is more of it.
        pairs = [*zip(self.p, self.q, strict=True)]
        return max(
            sum((a for a, b in pairs if not b), Fraction(0)), sum((b for a, b in pairs if not a), Fraction(0))
        )

    def _largest(self) -> Fraction:
        odds = [max(a / b, b / a) for a, b in zip(self.p, self.q, strict=True) if a and b]
        with precision(128):
            return max(Fraction(0), ceil_of(ball(max(odds, default=Fraction(1))).log()))
