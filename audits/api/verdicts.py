"""The verdict of an audit in its answer: bounds in the unit of the claim, power, witness, cause."""

from msgspec import UNSET
from msgspec.structs import asdict, replace

from audits.api.requests import Audit, SamplesAudit
from audits.attack.black_box import Attempt, RoundedBound
from audits.attack.confirmation import level_shown, verdict_of
from audits.attack.rules import CountedBound, LowerBound
from audits.datasets.shape import Neighbourhood
from audits.tradeoff import CurveClaim, EventClaim
from dpaccount.exact import shown
from dpaccount.schemas.certificate import AttackedPair
from dpaccount.schemas.results import AttackWitness, AuditAnswer, RoundedResults


def not_attacked(question: Audit, why: str) -> AuditAnswer:
    """Return the answer of an audit that could not attack, with the reason as a finding."""
    answer = _nothing(question, f"none: {why}", AttackWitness(findings=[why]), 0)
    curve = question.curve
    return answer if curve is None or isinstance(curve, CurveClaim) else in_unit(answer, curve, 0.0, 0.0)


def _nothing(question: Audit | SamplesAudit, attack: str, witness: AttackWitness, runs: int) -> AuditAnswer:
    """Return the answer of an audit that showed nothing."""
    return AuditAnswer(
        verdict="NOT ATTACKED",
        epsilon_lower=0.0,
        epsilon_power=0.0,
        delta=shown(question.delta),
        confidence=shown(question.plan.confidence),
        trials=runs,
        runs=runs,
        attack=attack,
        refuted=False,
        witness=witness,
    )


def in_unit(answer: AuditAnswer, curve: EventClaim, lower: float, power: float) -> AuditAnswer:
    """Return an answer with a bound and the power in the unit of a claim of μ, ρ or Rényi divergences."""
    return replace(answer, **{f"{curve.name}_lower": lower, f"{curve.name}_power": power})


def measured(
    question: Audit | SamplesAudit,
    reached: LowerBound,
    leaked: LowerBound,
    *,
    attack: str,
    witness: AttackWitness,
    runs: int,
    in_time: bool = True,
) -> AuditAnswer:
    """Return the answer of an attack, with bound, power and verdict on a claim of ε, or of a curve.

    `leaked` is the bound that total leakage would have given.

    For μ and ρ the bound is `mu_lower` or `rho_lower`, and `epsilon_lower` is for δ = 0.  For a
    list of points or a plan, ε and δ are those of the point where the claim is exceeded most, and
    `epsilon_claimed` is the claimed ε there.
    """
    curve = question.curve
    lower, most = level_shown(reached, curve), level_shown(leaked, curve)
    # The power is an estimate; it is never below the bound that was in fact shown.
    most, claimed = max(most, lower), question.epsilon if curve is None else curve.level
    answer = replace(
        _nothing(question, attack, witness, runs),
        epsilon_lower=reached.epsilon_lower,
        epsilon_power=max(leaked.epsilon_lower, reached.epsilon_lower),
        refuted=lower > claimed,
        verdict=verdict_of(lower, most, claimed, in_time=in_time),
    )
    if curve is None:
        return answer
    if not isinstance(curve, CurveClaim):
        return in_unit(answer, curve, lower, most)
    if not isinstance(reached, CountedBound) or not isinstance(leaked, CountedBound):
        raise TypeError("a curve is held against counts")
    _, at_point, limit, delta = curve.worst(reached.power, reached.false_alarm)
    could = CurveClaim(((limit, delta),)).worst(leaked.power, leaked.false_alarm)[1]
    return replace(
        answer,
        epsilon_lower=max(at_point, 0.0),
        epsilon_power=max(could, at_point, 0.0),
        epsilon_claimed=shown(limit),
        delta=shown(delta),
    )


def on_grid(question: Audit, bound: RoundedBound) -> RoundedResults:
    """Return the second verdict, on rounded results, in the claim's unit."""
    curve = question.curve
    lower, claimed = level_shown(bound.reached, curve), question.epsilon if curve is None else curve.level
    return RoundedResults(bound.grid.sentence(), lower, lower > claimed)


def explained(attempt: Attempt, shape: Neighbourhood) -> AttackWitness:
    """Return the witness with the cause of a refutation and, for tables, the columns that differ."""
    pair = witness(attempt, shape)
    cause = UNSET if attempt.cause is None else attempt.cause
    shown = AttackWitness(**asdict(pair), cause=cause)
    sides = [pair.left, pair.right]
    if not all(isinstance(row, dict) for side in sides for row in side):
        return shown
    names = dict.fromkeys(name for side in sides for row in side for name in row)
    taken = {name: [[row[name] for row in side] for side in sides] for name in names}
    differ = [name for name, (one, other) in taken.items() if repr(one) != repr(other)]
    return replace(shown, columns=differ)


def witness(attempt: Attempt, shape: Neighbourhood) -> AttackedPair:
    """Return the witness of a violation: two datasets, the event, its counts."""
    pair = attempt.candidate
    return AttackedPair(
        **shape.shown(pair.left, pair.right),
        base=pair.base,
        event=attempt.reached.sentence(),
        score=attempt.score,
        pairs_tried=attempt.searched,
        findings=list(attempt.findings),
    )
