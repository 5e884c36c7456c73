"""The verdict of an audit in its answer: bounds in the unit of the claim, power, witness, cause."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from audits.attack.black_box import Attempt, RoundedBound
from audits.attack.power import LowerBound, level_shown, verdict_of
from audits.attack.thresholds import CountedBound
from audits.datasets.shape import Neighbourhood
from audits.tradeoff import CurveClaim, EventClaim
from dpaccount.exact import shown


def nothing_in_unit(curve: EventClaim | None) -> dict[str, float]:
    """Return the bound and the power of no runs, in the unit of a claim of μ or ρ."""
    if curve is None or isinstance(curve, CurveClaim):
        return {}
    return {f"{curve.name}_lower": 0.0, f"{curve.name}_power": 0.0}


def answer_fields(
    epsilon: Fraction, curve: EventClaim | None, reached: LowerBound, leaked: LowerBound
) -> Mapping[str, object]:
    """Return bound, power and verdict on a claim of ε, or of a curve.

    `leaked` is the bound that total leakage would have given.

    For μ and ρ the bound is `mu_lower` or `rho_lower`, and `epsilon_lower` is for δ = 0.  For a
    list of points or a plan, ε and δ are those of the point where the claim is exceeded most, and
    `epsilon_claimed` is the claimed ε there.
    """
    lower, most = level_shown(reached, curve), level_shown(leaked, curve)
    most, claimed = max(most, lower), epsilon if curve is None else curve.level
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
    _, at_point, limit, delta = curve.worst(reached.power, reached.false_alarm)
    could = CurveClaim(((limit, delta),)).worst(leaked.power, leaked.false_alarm)[1]
    return {
        **fields,
        "epsilon_lower": max(at_point, 0.0),
        "epsilon_power": max(could, at_point, 0.0),
        "epsilon_claimed": shown(limit),
        "delta": shown(delta),
    }


def grid_fields(epsilon: Fraction, curve: EventClaim | None, bound: RoundedBound) -> dict[str, object]:
    """Return the second verdict, on rounded results, in the claim's unit."""
    lower, claimed = level_shown(bound.reached, curve), epsilon if curve is None else curve.level
    return {"step": bound.grid.sentence(), "lower": lower, "refuted": lower > claimed}


def explained(attempt: Attempt, shape: Neighbourhood) -> dict[str, object]:
    """Return the witness with the cause of a refutation and, for tables, the columns that differ."""
    shown: dict[str, Any] = witness(attempt, shape)
    if attempt.cause is not None:
        shown["cause"] = attempt.cause
    sides = [shown["left"], shown["right"]]
    if not all(isinstance(row, dict) for side in sides for row in side):
        return shown
    names = dict.fromkeys(name for side in sides for row in side for name in row)
    taken = {name: [[row[name] for row in side] for side in sides] for name in names}
    return {**shown, "columns": [name for name, (one, other) in taken.items() if repr(one) != repr(other)]}


def witness(attempt: Attempt, shape: Neighbourhood) -> dict[str, object]:
    """Return the witness of a violation: two datasets, the event, its counts."""
    pair = attempt.candidate
    return {
        **shape.shown(pair.left, pair.right),
        "base": pair.base,
        "event": attempt.reached.sentence(),
        "score": attempt.score,
        "pairs_tried": attempt.searched,
        "findings": list(attempt.findings),
    }
