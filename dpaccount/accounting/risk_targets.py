"""The least noise that keeps a bound on what an attacker learns: μ, advantage, or a true-positive rate.

>>> from dpaccount.plan.events import Gaussian
>>> calibrate_risk(lambda sigma: Gaussian(sigma=sigma, count=4), advantage="0.1")
value 7.957896561143 costs advantage = 0.1 (±7e-13)
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.calibration.calibrate import FINE, Calibration, search
from dpaccount.accounting.calibration.unknown import Unknown, plans_of
from dpaccount.accounting.risk import DISTANCE, MOST_MU, share_argument
from dpaccount.errors import InputError
from dpaccount.exact import Enclosure, Exact, exact_argument, shown
from dpaccount.numerics.work_budget import CALIBRATION
from dpaccount.plan.event_base import Event, walk
from dpaccount.plan.events import DiscreteGaussian, Plan

RATE = Fraction(1, 100)  #: the false-positive rate of a target that names none
LEAST_MU = Fraction(1, 10**6)
NEAR = Fraction(1, 10**4)  #: of a μ: an enclosure that is no wider took a single point of the curve
FIRST_DELTA = Fraction(1, 10**5)  #: the δ of a first guess
RISK_WORK = 4 * CALIBRATION  #: of a search each of whose costs takes dozens of points of a curve


@dataclass(frozen=True)
class RiskTarget:
    """A bound to keep, on ``mu``, ``advantage`` or ``true-positive rate`` (`at` a false-positive rate)."""

    kind: str
    most: Fraction
    at: Fraction = RATE
    distance: Fraction = DISTANCE  #: of a μ

    @classmethod
    def read(
        cls,
        *,
        mu: Exact | None = None,
        advantage: Exact | None = None,
        true_positives: Exact | None = None,
        at: Exact | None = None,
    ) -> "RiskTarget":
        """Return the one target that is given; raises `InputError` for none, two, or one out of range."""
        given = {"mu": mu, "advantage": advantage, "true-positive rate": true_positives}
        named = {kind: exact_argument(kind, value) for kind, value in given.items() if value is not None}
        if len(named) != 1:
            found = " and ".join(named) or "none"
            raise InputError(
                f"of the targets mu, advantage and true-positive rate {found} is given", "give one of them"
            )
        if at is not None and true_positives is None:
            raise InputError("a false-positive rate belongs to a true-positive rate", "leave it out")
        ((kind, most),) = named.items()
        rate = RATE if at is None else share_argument("false-positive rate", at)
        least = Fraction(0) if true_positives is None else rate
        limits = f"above {shown(least)} and below 1"
        if mu is not None:  # beyond these a μ says nothing, or all
            least, limits = LEAST_MU, f"above {shown(LEAST_MU)} and at most {MOST_MU}"
        if not least < most or most > MOST_MU or (mu is None and most >= 1):
            raise InputError(f"a target {kind} of {shown(most)} is out of range", f"it must be {limits}")
        return cls(kind, most, rate)

    def cost(self, whole: Accountant, gap: Fraction) -> Enclosure:
        """Return the number of a plan that is to be at most the target; an advantage within gap·itself."""
        if self.kind == "advantage":
            found = whole.delta(0, gap)
            return Enclosure(found.lower, found.upper)
        if self.kind == "mu":
            return whole.risk(self.distance, ()).mu or Enclosure(None, math.inf)
        return Enclosure(None, whole.risk(None, (self.at,)).true_positives(self.at))


def calibrate_risk(
    of: Callable[[Fraction], Event | Plan],
    *,
    mu: Exact | None = None,
    advantage: Exact | None = None,
    true_positives: Exact | None = None,
    at: Exact | None = None,
    grows: bool = False,
    group: int = 1,
) -> Calibration:
    """Return the least noise that is proved to keep one bound on what an attacker learns.

    `of`, `grows`, `group`: as in `calibrate`.
    `mu`: of a Gaussian above the curve but for a distance of 1e-8 (`Accountant.risk`), from 1e-6 to 20; or
    `advantage`: the true- minus the false-positive rate of any attack, in (0, 1); or
    `true_positives`: the rate of any attack with false-positive rate `at` (1/100 where it is None), between
    that and 1.

    Raises `InputError` if not one of the three is given, or there is no such number.
    """
    target = RiskTarget.read(mu=mu, advantage=advantage, true_positives=true_positives, at=at)
    return settle_risk(Unknown("value", "", plans_of(of), not grows, group=group), target)


def settle_risk(unknown: Unknown, target: RiskTarget) -> Calibration:
    """Return the number, as a decimal that is proved to keep the target; a few thousandths more may, too."""
    noises = (part for event in unknown.make(Fraction(1)).events for part in walk(event))
    if unknown.falls and any(isinstance(part, DiscreteGaussian) for part in noises):
        raise InputError(
            "more discrete Gaussian noise may cost more: it has no least for this target",
            "calibrate to an epsilon and delta: an advantage of at most A is (0, A)-differential privacy",
        )
    coarse = target.kind == "true-positive rate"

    def cost(value: Fraction, gap: Fraction | None = None) -> Enclosure:
        nonlocal coarse
        found = target.cost(unknown.accountant(value), gap or FINE)
        if target.kind == "mu" and (found.lower is None or found.lower * (1 + NEAR) < found.upper):
            coarse = True
        return found

    found = search(unknown, cost, target.most, FIRST_DELTA, lambda: coarse, RISK_WORK, target.kind)
    label = target.kind if target.kind != "true-positive rate" else f"{target.kind} at {shown(target.at)}"
    return replace(found, of=label)
