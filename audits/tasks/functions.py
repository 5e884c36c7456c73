"""Plain functions ``f(data, rng)`` of a user's own: no proof, so the verdict is REFUTED or UNPROVEN."""

from datetime import UTC, datetime
from typing import Any

from audits.attack.black_box import Attempt, attack
from audits.attack.runs import Challenge
from audits.attack.suspicious_pairs import Progress, Stuck
from audits.certificate.make import environment, point_json, with_hazards
from audits.claim import Claim
from audits.datasets.bases import Pair
from audits.datasets.named_pairs import candidates
from audits.datasets.shape import Described, read_shape
from audits.evidence.search import digest_of_files
from audits.sandbox.crew import Code, Crew
from audits.subjects.broken.table import known
from dpaccount.errors import InputError
from dpaccount.exact import shown

NO_PROOF = (
    "a plain function has no proof; prove its query with `dpaccount sensitivity --prove` and use a mechanism"
    " of `dpaccount subjects`, or write a mechanism (docs/add-a-mechanism.md)"
)


def shape_of(claim: Claim) -> Described:
    """Return what a dataset of the claim's function looks like; raises `InputError` where it is not said."""
    if claim.parameters is not None:
        raise claim.parameters.wrong("a plain function takes no parameters", "leave this table out")
    if claim.data_file is not None:
        raise InputError(f"{claim.path}: {claim.use} reads no data file; leave [data] out")
    if claim.data_shape is None:
        raise InputError(
            f"{claim.path}: {claim.use} is a plain function; describe its data in [subject.data]"
        )
    return read_shape(claim.data_shape, claim.guarantee.relation, claim.guarantee.radius)


def attack_function(
    crew: Crew, claim: Claim, data: Described, progress: Progress, *, counts_only: bool, early: bool = False
) -> Attempt:
    """Attack a function's claim on the pair that is given, or on the worst one that is found."""
    promise, plan = claim.guarantee, claim.audit
    pairs = (
        candidates(data.shape, plan.seed)
        if data.pair is None
        else [Pair(*data.pair, "the pair in the claim")]
    )
    asked = Challenge(
        promise.epsilon,
        promise.delta,
        plan.trials,
        1 - plan.confidence,
        plan.seed,
        counts_only=counts_only,
        early=early,
    )
    return attack(crew, pairs, asked, progress)


def witness(found: Attempt) -> dict[str, object]:
    """Return what one needs to see the violation: two datasets, the event, its counts."""
    return {
        **found.candidate.as_json(),
        "event": found.reached.said(),
        "score": found.score,
        "pairs_tried": found.searched,
        "findings": list(found.findings),
    }


def audit_function(
    crew: Crew, claim: Claim, data: Described, progress: Progress, *, early: bool
) -> dict[str, Any]:
    """Return the answer of `dpaccount audit` on a function, without its seconds."""
    try:
        found = attack_function(crew, claim, data, progress, counts_only=False, early=early)
    except Stuck as stuck:
        return nothing_found(claim, str(stuck))
    epsilon = claim.guarantee.epsilon
    said = f"; {found.cut}" if found.cut else ""
    return {
        **nothing_found(claim, ""),
        "epsilon_lower": found.reached.epsilon_lower,
        "epsilon_power": found.power,
        "trials": found.runs,
        "attack": f"black box: {found.score}{said}",
        "refuted": found.refuted(epsilon),
        "verdict": found.verdict(epsilon),
        "witness": witness(found),
    }


def nothing_found(claim: Claim, why: str) -> dict[str, Any]:
    """Return the answer of an audit that could not attack, with the reason as a finding."""
    return {
        "schema": "dpaccount/audit/1",
        "verdict": "NOT ATTACKED",
        "epsilon_lower": 0.0,
        "epsilon_power": 0.0,
        "delta": shown(claim.guarantee.delta),
        "confidence": shown(claim.audit.confidence),
        "trials": 0,
        "attack": f"none: {why}",
        "refuted": False,
        "witness": {"findings": [why]},
    }


def power_said(found: Attempt, claim: Claim) -> str:
    """Return, for a certificate's reason, that the runs were too few; empty where they were enough."""
    if found.verdict(claim.guarantee.epsilon) != "NOT ATTACKED":
        return ""
    return f", and the attack's {found.runs} runs could have shown no more than ε = {found.power:.4g}"


def certificate_of(
    claim: Claim, code: Code, found: Attempt | None, reason: str, *, quick: bool
) -> dict[str, Any]:
    """Return the certificate of code without a proof: what was attacked and found, `reason` why no more.

    It is not sealed yet.
    """
    lower = 0.0 if found is None else found.reached.epsilon_lower
    refuted = lower > claim.guarantee.epsilon
    findings = () if found is None else found.findings
    written, file = claim.written, code.file()
    return with_hazards(
        {
            "schema": "dpaccount/certificate/1",
            "verdict": "REFUTED" if refuted else "UNPROVEN",
            "refutes": "claim" if refuted else None,
            "claim": written,
            "subject": {
                "name": code.name if ":" in claim.use else claim.use,
                "use": claim.use,
                **_origin(claim),
                "parameters": {
                    name: str(value) if isinstance(value, float) else value
                    for name, value in written["subject"].get("parameters", {}).items()
                },
                "code": None if file is None else digest_of_files([file]),
            },
            "guarantee": {"delta": 0, **written["guarantee"]},
            "proved": {"epsilon": None, "delta": None, "tight": None, "derivation": [], "reason": reason},
            "sensitivity": [],
            "audit": None if found is None else _audit_json(claim, found, quick=quick),
            "release": None,
            "releasable": False,
            "hazards": [f"Finding: {said}." for said in findings],
            "environment": environment(),
            "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
    )


def _origin(claim: Claim) -> dict[str, str]:
    catalogued = known(claim.use)
    if catalogued is None:
        return {"source": "code of the claim's author", "status": "unproved"}
    return {"source": catalogued.source, "status": catalogued.status}


def _audit_json(claim: Claim, found: Attempt, *, quick: bool) -> dict[str, Any]:
    return {
        "attack": "black box: a learned score of the results, Clopper-Pearson",
        "trials": found.runs,
        "quick": quick,
        "confidence": shown(claim.audit.confidence),
        "epsilon_lower": found.reached.epsilon_lower,
        "points": [point_json("claim", claim.guarantee.epsilon, found.reached, found.score)],
        "witness": witness(found),
    }
