"""The attack alone, on a claim or on a subject named with an ε and a δ."""

import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from audits import catalogue
from audits.attack import Target, attack
from audits.certify import EXAMPLES, Progress, roomy, subject_of
from audits.evidence import describe, search
from dpaccount.claim import AuditPlan, Claim, Guarantee, read_claim
from dpaccount.errors import InputError, RuleError
from dpaccount.exact import shown


def claim_of(
    subject: str | None,
    file: Path | None,
    *,
    epsilon: Fraction | None,
    delta: Fraction | None,
    trials: int | None,
    confidence: Fraction | None,
    seed: int | None,
) -> Claim:
    """Return the claim to attack: a file's, or one made of a subject's name, ε and δ; options win."""
    if (subject is None) == (file is None):
        raise InputError("give either a subject's name or --claim CLAIM.toml")
    if file is not None:
        claim = read_claim(file)
    else:
        if epsilon is None:
            raise InputError("--epsilon is missing; give the claimed ε of the subject")
        claim = Claim(
            path=Path("audit"),
            name="audit",
            guarantee=Guarantee("central", "one record", "replace-one", epsilon, delta or Fraction(0), None),
            use=str(subject),
            parameters=None,
            data_shape=None,
            data_file=None,
            ledger=None,
            public_data=False,
            audit=AuditPlan(),
            written={},
        )
    promise, plan = claim.guarantee, claim.audit
    if confidence is not None and not 0 < confidence < 1:
        raise InputError(f"--confidence is {shown(confidence)}; it lies strictly between 0 and 1")
    for name, value, most in (("--epsilon", epsilon, None), ("--delta", delta, 1)):
        if value is not None and (value < 0 or (most is not None and value > most)):
            raise InputError(
                f"{name} is {shown(value)}; it must be at least 0{'' if most is None else ' and at most 1'}"
            )
    return replace(
        claim,
        guarantee=replace(
            promise,
            epsilon=promise.epsilon if epsilon is None else epsilon,
            delta=promise.delta if delta is None else delta,
        ),
        audit=replace(
            plan,
            trials=trials or plan.trials,
            confidence=confidence or plan.confidence,
            seed=plan.seed if seed is None else seed,
        ),
    )


def audit_answer(claim: Claim, *, jobs: int, allow_code: bool, progress: Progress) -> dict[str, Any]:
    """Return the answer of `dpaccount audit` (schema dpaccount/audit/1)."""
    begun = time.perf_counter()
    subject = subject_of(claim, allow_code=allow_code)
    roomy(subject)
    promise, plan = claim.guarantee, claim.audit
    try:
        theorem = subject.proof(promise.delta)
    except RuleError as error:
        raise InputError(
            f"{claim.use} has no proof to draw noise from at this δ: {error}; try another δ"
        ) from None
    progress("search for the worst neighbouring pair")
    suspect = search(subject, theorem, [], examples=EXAMPLES, seed=plan.seed).suspect()
    progress("attack")
    outcome = attack(
        subject,
        theorem,
        [Target("claim", promise.epsilon, promise.delta)],
        suspect,
        trials=max(plan.trials // 2, 30),
        risk=1 - plan.confidence,
        seed=plan.seed,
        jobs=jobs,
    )
    bound = outcome.results[0][1]
    return {
        "schema": "dpaccount/audit/1",
        "subject": catalogue.name_of(type(subject)),
        "epsilon_lower": bound.epsilon_lower,
        "delta": shown(promise.delta),
        "claimed": shown(promise.epsilon),
        "confidence": shown(plan.confidence),
        "trials": 2 * outcome.trials,
        "attack": "white-box log-likelihood ratio, Clopper-Pearson",
        "refuted": bound.epsilon_lower > promise.epsilon,
        "witness": {
            **describe(suspect.pair, suspect.coins, "the neighbouring pair under attack"),
            "event": f"score >= {bound.threshold!r}, seen {bound.hits} of {bound.runs} against"
            f" {bound.alarms} of {bound.other_runs}",
        },
        "seconds": round(time.perf_counter() - begun, 3),
    }
