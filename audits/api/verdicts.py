"""The verdict of an audit in its answer: bounds in the unit of the claim, and the power of the runs."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Protocol

from audits.attack.power import verdict_of
from audits.attack.thresholds import CountedBound, LowerBound, shown_by
from audits.tradeoff import CurveClaim, EventClaim
from dpaccount.exact import shown


class Claims(Protocol):
    """A request with a claim: (ε, δ), or a curve."""

    @property
    def epsilon(self) -> Fraction:
        """Return the claimed ε."""

    @property
    def curve(self) -> EventClaim | None:
        """Return the claimed curve, if it is no point."""


def nothing_in_unit(curve: EventClaim | None) -> dict[str, float]:
    """Return the bound and the power of no runs, in the unit of a claim of μ or ρ."""
    if curve is None or isinstance(curve, CurveClaim):
        return {}
    return {f"{curve.name}_lower": 0.0, f"{curve.name}_power": 0.0}


def answer_fields(question: Claims, reached: LowerBound, leaked: LowerBound) -> Mapping[str, object]:
    """Return bound, power and verdict; `leaked` is the bound that total leakage would have given.

    For μ and ρ the bound is `mu_lower` or `rho_lower`, and `epsilon_lower` is of pure ε.  For a
    list of points or a plan, ε and δ are those of the point that is exceeded most, and
    `epsilon_claimed` is ε there.
    """
    curve = question.curve
    lower, most = shown_by(reached, curve), shown_by(leaked, curve)
    most = max(most, lower)
    claimed = question.epsilon if curve is None else curve.level
    fields: dict[str, object] = {
        "epsilon_lower": reached.epsilon_lower,
        "epsilon_power": max(leaked.epsilon_lower, reached.epsilon_lower),
        "refuted": lower > claimed,
        "verdict": verdict_of(lower, most, claimed),
    }
    if curve is None:
        return fields
    if not isinstance(curve, CurveClaim):
        return {**fields, f"{curve.name}_lower": lower, f"{curve.name}_power": most}
    if not isinstance(reached, CountedBound) or not isinstance(leaked, CountedBound):
        raise TypeError("a curve is held against counts")
    _, at_point, epsilon, delta = curve.worst(reached.power, reached.false_alarm)
    could = CurveClaim(((epsilon, delta),)).worst(leaked.power, leaked.false_alarm)[1]
    return {
        **fields,
        "epsilon_lower": max(at_point, 0.0),
        "epsilon_power": max(could, at_point, 0.0),
        "epsilon_claimed": shown(epsilon),
        "delta": shown(delta),
    }
