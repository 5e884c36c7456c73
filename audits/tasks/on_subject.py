"""The attack alone, on a claim or on a subject named with an ε and a δ."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from audits.attack.coin_guesses import plan_known_guess
from audits.attack.power import judged
from audits.attack.thresholds import plan_known_threshold
from audits.attack.white_box import Target, attack, attack_early
from audits.certificate.make import Progress
from audits.claim import RELATIONS, AuditPlan, Claim, Guarantee, read_claim
from audits.datasets.shape import Described, option_shape
from audits.evidence.search import EXAMPLES, gather
from audits.evidence.seen import Evidence, Suspect, describe
from audits.evidence.tries import check_size, runs_at_all
from dpaccount.errors import InputError, RuleError
from dpaccount.exact import read_number, shown
from dpaccount.noise.proved import Proved
from mechanisms.subject import Subject


class Asked(msgspec.Struct):
    """What the command line of `audit` says; numbers as they were written, None where it says nothing."""

    subject: str | None = None
    file: str | None = None
    epsilon: str | None = None
    delta: str | None = None
    trials: int | None = None
    confidence: str | None = None
    seed: int | None = None
    relation: str | None = None
    radius: str | None = None
    shape: str | None = None
    low: str | None = None
    high: str | None = None
    dtype: str | None = None


def claim_of(asked: Asked) -> Claim:
    """Return the claim to attack: a file's, or one made of a subject's name, ε and δ; options win."""
    if (asked.subject is None) == (asked.file is None):
        raise InputError("give either a subject's name or --claim CLAIM.toml")
    epsilon, delta = _number(asked.epsilon, "--epsilon"), _number(asked.delta, "--delta")
    confidence = _number(asked.confidence, "--confidence")
    for name, value, most in (("--epsilon", epsilon, None), ("--delta", delta, 1)):
        if value is not None and (value < 0 or (most is not None and value > most)):
            raise InputError(
                f"{name} is {shown(value)}; it must be at least 0{'' if most is None else ' and at most 1'}"
            )
    if confidence is not None and not 0 < confidence < 1:
        raise InputError(f"--confidence is {shown(confidence)}; it lies strictly between 0 and 1")
    claim = _of_file(asked) if asked.file is not None else _of_options(asked, epsilon)
    promise, plan = claim.guarantee, claim.audit
    return replace(
        claim,
        guarantee=replace(
            promise,
            epsilon=promise.epsilon if epsilon is None else epsilon,
            delta=promise.delta if delta is None else delta,
        ),
        audit=replace(
            plan,
            trials=asked.trials or plan.trials,
            confidence=confidence or plan.confidence,
            seed=plan.seed if asked.seed is None else asked.seed,
        ),
    )


def _of_file(asked: Asked) -> Claim:
    described = (asked.relation, asked.radius, asked.shape, asked.low, asked.high, asked.dtype)
    if any(option is not None for option in described):
        raise InputError("--relation, --radius, --shape, --low, --high, --dtype go with a subject's name")
    return read_claim(Path(str(asked.file)))


def _of_options(asked: Asked, epsilon: Fraction | None) -> Claim:
    if epsilon is None:
        raise InputError("--epsilon is missing; give the claimed ε of the subject")
    described = (asked.radius, asked.shape, asked.low, asked.high, asked.dtype)
    if ":" not in str(asked.subject) and any(option is not None for option in described):
        raise InputError(f"{asked.subject} has data of its own; leave --shape, --low, --high, --dtype out")
    relation = asked.relation or "replace-one"
    if relation not in RELATIONS:
        raise InputError(f"--relation is {relation[:70]!r}; known: {', '.join(RELATIONS)}")
    radius = _number(asked.radius, "--radius")
    promise = Guarantee("central", "one record", relation, epsilon, Fraction(0), radius)
    return Claim(
        path=Path("audit"),
        name="audit",
        guarantee=promise,
        use=str(asked.subject),
        parameters=None,
        data_shape=None,
        data_file=None,
        ledger=None,
        public_data=False,
        accepted=frozenset(),
        audit=AuditPlan(),
        written={},
    )


def option_described(asked: Asked) -> Described:
    """Return the shape that the options describe; raises `InputError` where one is missing."""
    if asked.shape is None or asked.low is None or asked.high is None:
        raise InputError(f"{asked.subject} is a plain function; describe its data by --shape, --low, --high")
    return Described(
        option_shape(
            asked.shape,
            asked.low,
            asked.high,
            asked.dtype or "float",
            asked.relation or "replace-one",
            _number(asked.radius, "--radius"),
        )
    )


def _number(text: str | None, option: str) -> Fraction | None:
    try:
        return None if text is None else read_number(text.strip())
    except InputError as error:
        raise InputError(f"{option}: {error}") from None


def audit_subject(
    claim: Claim,
    subject: Subject,
    jobs: int,
    seconds: float | None,
    progress: Progress,
    *,
    early: bool = False,
) -> dict[str, Any]:
    """Return the answer of `dpaccount audit` on a mechanism class, without its seconds."""
    check_size(subject)
    promise, plan = claim.guarantee, claim.audit
    try:
        proved = Proved(subject.proof(promise.delta))
    except RuleError as error:
        raise InputError(
            f"{claim.use} has no proof to draw noise from at this δ: {error}; try another δ"
        ) from None
    progress("search for the worst neighbouring pair")
    evidence, suspect = gather(subject, proved, examples=EXAMPLES, seed=plan.seed, files=[])
    if all(entry.status == "refuted" for entry in evidence):
        runs_at_all(subject, proved)
    unseen = unmeasured(evidence, suspect)
    progress("attack")
    target = Target("claim", promise.epsilon, promise.delta)
    effort: dict[str, Any] = {
        "risk": 1 - plan.confidence,
        "seed": plan.seed,
        "jobs": jobs,
        "seconds": seconds,
    }
    trials = max(plan.trials // 2, 30)
    outcome = (
        attack_early(subject, proved, target, suspect, trials=trials, **effort)
        if early
        else attack(
            subject,
            proved,
            [target],
            suspect,
            trials=trials,
            planners=(plan_known_threshold, plan_known_guess),
            **effort,
        )
    )
    bound = outcome.results[0][1]
    return {
        "schema": "dpaccount/audit/1",
        **judged(bound, promise.epsilon, blind=bool(unseen)),
        "delta": shown(promise.delta),
        "confidence": shown(plan.confidence),
        "trials": 2 * outcome.trials,
        "attack": "white box: log-likelihood ratio of the releases",
        "witness": {
            **describe(suspect.pair, suspect.coins, "the neighbouring pair under attack"),
            "event": bound.said(),
            "findings": [*unseen, *_broken(evidence), *suspect.notes],
        },
    }


def unmeasured(evidence: list[Evidence], suspect: Suspect) -> list[str]:
    """Return why a score of the releases does not measure what is shown; empty where it does.

    It does where what is shown follows from the releases, and where there are any.
    """
    views = [entry for entry in evidence if entry.hypothesis.rule == "assume_view"]
    wrong = [f"{entry.name}: {_wrong(entry)}" for entry in views if entry.status != "tested"]
    if not views:
        wrong.append("the proof does not say what is shown; end it with a view and post_process")
    if not suspect.drawn:
        wrong.append("no run draws noise, so there is no release to score")
    return wrong


def _broken(evidence: list[Evidence]) -> list[str]:
    """Return which other hypotheses of the proof do not hold."""
    others = [entry for entry in evidence if entry.hypothesis.rule != "assume_view"]
    return [f"{entry.name}: {_wrong(entry)}" for entry in others if entry.status == "refuted"]


def _wrong(entry: Evidence) -> str:
    return str((entry.counterexample or {}).get("wrong", "no test is known"))
