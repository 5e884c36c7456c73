"""Claim → proof → evidence → audit → verdict → certificate."""

import hashlib
import json
import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from importlib import metadata
from typing import Any

import dpaccount
from audits.attack.power import power_of
from audits.attack.thresholds import CountedBound, Reached
from audits.attack.white_box import Attacked, attack, targets
from audits.claim import Claim
from audits.evidence.search import EXAMPLES, gather
from audits.evidence.seen import Evidence, Suspect, describe
from audits.evidence.tries import check_size, runs_at_all
from audits.subjects import catalogue, sources
from dpaccount import checker
from dpaccount.documents import canonical
from dpaccount.errors import InputError, RuleError
from dpaccount.exact import Enclosure, shown
from dpaccount.noise.proved import Proved
from dpaccount.proof import Theorem, View
from dpaccount.proof.derivation import point, walk, write
from dpaccount.proof.search import lower_end
from mechanisms.subject import Subject

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Effort:
    """How much work goes into the attack; `quick` cuts the runs tenfold.

    `seconds` limits the time that the attack may take, by fewer runs where they are slow; None: no limit.
    """

    quick: bool = False
    jobs: int = 1
    seconds: float | None = None


def silent(_: str) -> None:
    """Report no progress."""


def subject_of(claim: Claim) -> Subject:
    """Return the catalogued subject that a claim names, with its parameters."""
    return subject_made(claim, catalogue.find(claim.use).made_by)


def subject_made(claim: Claim, made_by: type) -> Subject:
    """Return an instance of the class with the claim's parameters."""
    no_document = not claim.written  # `audit NAME`, on made-up data: example values will do
    subject = catalogue.make(made_by, claim.parameters, examples=no_document)
    if claim.data_shape is not None:
        raise claim.data_shape.wrong(
            "a subject with a domain of its own takes no data shape", "leave this table out"
        )
    return subject


def certify(
    claim: Claim, subject: Subject, effort: Effort, progress: Progress = silent
) -> tuple[dict[str, Any], Theorem | None]:
    """Return the certificate, without any real data, and the theorem it rests on (None: no proof).

    The same claim, code and seed give the same verdict and numbers.
    """
    progress("proof")
    theorem, reason = _proof(claim, subject)
    evidence: list[Evidence] = []
    outcome: Attacked | None = None
    notes: tuple[str, ...] = ()
    if theorem is not None:
        progress("property tests of the hypotheses")
        check_size(subject)
        proved = Proved(theorem)
        files = sources.modules_of(type(subject))
        evidence, suspect = gather(subject, proved, examples=EXAMPLES, seed=claim.audit.seed, files=files)
        notes = suspect.notes
        if all(entry.status == "refuted" for entry in evidence):
            runs_at_all(subject, proved)
        evidence = [accepted(entry, claim) for entry in evidence]
        progress("audit")
        false = any(entry.status == "refuted" for entry in evidence)
        outcome = _audit(claim, subject, proved, suspect, effort, short=false)
    certificate = _certificate(claim, subject, theorem, reason, evidence, outcome, effort)
    certificate["hazards"] += (*notes, *untested(outcome))
    refusal = None if theorem is None else refused_by_checker(certificate)
    if refusal is None:
        return certificate, theorem
    # what the checker cannot confirm is not proved, whatever the kernel says
    reason = f"the independent checker does not confirm it ({refusal})"
    return _certificate(claim, subject, None, reason, [], None, effort), None


def untested(outcome: Attacked | None) -> list[str]:
    """Say it where the runs were too few to show any ε above the claim, whatever the code had leaked."""
    for target, reached in outcome.results if outcome is not None else ():
        could = power_of(reached)
        if target.of == "claim" and could <= target.limit:
            return [
                f"The attack's runs could have shown at most epsilon >= {could:.6g}, which is not above the"
                f" claim's {shown(target.limit)}: it tested nothing of the claim itself."
            ]
    return []


def accepted(entry: Evidence, claim: Claim) -> Evidence:
    """Return the entry, as accepted where it has no test and the claim takes it on trust."""
    trusted = entry.status == "untested" and entry.name in claim.accepted
    return replace(entry, status="accepted") if trusted else entry


def refused_by_checker(certificate: dict[str, Any]) -> str | None:
    """Return why the stand-alone checker would reject this certificate, or None."""
    try:
        checker.check(json.dumps(seal(certificate)).encode())
    except (checker.Rejected, checker.Unreadable) as why:
        return str(why)
    return None


def _proof(claim: Claim, subject: Subject) -> tuple[Theorem | None, str | None]:
    try:
        theorem = subject.proof(claim.guarantee.delta)
    except RuleError as error:
        return None, str(error)
    except InputError:
        raise
    except (Exception, SystemExit) as error:  # a subject of the user's own may raise anything
        return None, f"its proof raises {type(error).__name__}: {error}"
    if not isinstance(theorem, Theorem):
        return None, f"its proof gives {type(theorem).__name__}, not a Theorem"
    try:
        point(theorem)
    except RuleError as error:
        return None, str(error)
    name = catalogue.name_of(type(subject))
    if not any(isinstance(p.conclusion, View) and p.conclusion.query == name for p in walk(theorem)):
        return None, f"its proof does not say what {name} shows; end it with a view and post_process"
    return theorem, None


def trials_of(claim: Claim, effort: Effort, *, short: bool) -> int:
    """Return the runs in each world: half the claim's trials, less with --quick or once a hypothesis fell."""
    trials = claim.audit.trials // 2
    return max(trials // (10 if effort.quick else 1) // (10 if short else 1), 30)


def _audit(
    claim: Claim, subject: Subject, proved: Proved, suspect: Suspect, effort: Effort, *, short: bool
) -> Attacked:
    promise = claim.guarantee
    return attack(
        subject,
        proved,
        targets(proved, promise.epsilon, promise.delta, suspect.pair.unit),
        suspect,
        trials=trials_of(claim, effort, short=short),
        risk=1 - claim.audit.confidence,
        seed=claim.audit.seed,
        jobs=effort.jobs,
        seconds=effort.seconds,
    )


def verdict_of(
    claim: Claim, theorem: Theorem | None, evidence: list[Evidence], outcome: Attacked | None
) -> tuple[str, str | None]:
    """Return (verdict, what is refuted): the rules of a certificate, as the checker applies them."""
    beaten = {target.of for target, _ in outcome.refuted()} if outcome is not None else set()
    if any(entry.status == "refuted" for entry in evidence):
        beaten.add("hypothesis")
    for kind in ("claim", "proof", "hypothesis"):
        if kind in beaten:
            return "REFUTED", kind
    if theorem is None:
        return "UNPROVEN", None
    fact, promise = theorem.conclusion, claim.guarantee
    epsilon, delta = point(theorem)
    holds = epsilon <= promise.epsilon and delta <= promise.delta
    holds = holds and all(entry.status in ("tested", "accepted") for entry in evidence)
    same = (
        getattr(fact, "relation", None) == promise.relation
        and getattr(fact, "observer", None) == promise.model
    )
    return ("CERTIFIED" if holds and same else "UNPROVEN"), None


def _certificate(
    claim: Claim,
    subject: Subject,
    theorem: Theorem | None,
    reason: str | None,
    evidence: list[Evidence],
    outcome: Attacked | None,
    effort: Effort,
) -> dict[str, Any]:
    verdict, refutes = verdict_of(claim, theorem, evidence, outcome)
    written = claim.written
    return with_hazards(
        {
            "schema": "dpaccount/certificate/1",
            "verdict": verdict,
            "refutes": refutes,
            "claim": written,
            "subject": describe_subject(claim, subject),
            "guarantee": {"delta": 0, **written["guarantee"]},
            "proved": _proved(theorem, reason),
            "sensitivity": [entry.as_json() for entry in evidence],
            "audit": None if outcome is None else _audit_json(claim, outcome, effort),
            "release": None,
            "releasable": verdict == "CERTIFIED",
            "hazards": [],
            "environment": environment(),
            "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
    )


def with_hazards(certificate: dict[str, Any]) -> dict[str, Any]:
    """Return the certificate with the sentences on its limits that the checker asks for, before its own."""
    return {**certificate, "hazards": [*checker.hazards_of(certificate), *certificate["hazards"]]}


def seal(certificate: dict[str, Any]) -> dict[str, Any]:
    """Return the certificate with its digest, unsigned; negative zeros become text, or 0 in a release."""
    body = {name: value for name, value in certificate.items() if name not in ("digest", "signature")}
    body = {
        name: _unsigned_zeros(value, 0.0 if name == "release" else "-0.0") for name, value in body.items()
    }
    digest = "sha256:" + hashlib.sha256(canonical(body)).hexdigest()
    return {**body, "digest": digest, "signature": None}


def _unsigned_zeros(value: Any, zero: object) -> Any:
    if isinstance(value, dict):
        return {name: _unsigned_zeros(member, zero) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_unsigned_zeros(member, zero) for member in value]
    return zero if type(value) is float and str(value) == "-0.0" else value


def describe_subject(claim: Claim, subject: Subject) -> dict[str, Any]:
    """Return what a certificate says of the subject: name, source, status and every parameter in force."""
    made_by = type(subject)
    fields = catalogue.Entry("", "", made_by).parameters()
    values = {name: getattr(subject, name) for name in fields}
    return {
        "name": catalogue.name_of(made_by),
        "use": claim.use,
        "source": made_by.source,
        "status": made_by.status,
        "parameters": {name: shown(v) if isinstance(v, Fraction) else v for name, v in values.items()},
        "code": sources.digest_of_code(made_by),
    }


def _proved(theorem: Theorem | None, reason: str | None) -> dict[str, Any]:
    if theorem is None:
        return {"epsilon": None, "delta": None, "tight": None, "derivation": [], "reason": reason}
    epsilon, delta = point(theorem)
    enclosure = Enclosure(lower_end(theorem), epsilon).as_json()
    near = float(delta)
    exact_delta = near if Fraction(repr(near)) == delta else shown(delta)
    return {
        "epsilon": enclosure,
        "delta": exact_delta,
        "tight": None,
        "derivation": write(theorem),
        "reason": None,
    }


def _audit_json(claim: Claim, outcome: Attacked, effort: Effort) -> dict[str, Any]:
    points = [
        point_json(target.of, target.limit, bound, "log-likelihood ratio")
        for target, bound in outcome.results
    ]
    return {
        "attack": "white-box log-likelihood ratio of the releases of the running code, Clopper-Pearson",
        "trials": 2 * outcome.trials,
        "quick": effort.quick,
        "confidence": shown(claim.audit.confidence),
        "epsilon_lower": points[0]["epsilon_lower"],
        "distance": outcome.suspect.distance,
        "points": points,
        "witness": describe(
            outcome.suspect.pair, outcome.suspect.coins, "the neighbouring pair under attack"
        ),
    }


def point_json(of: str, limit: Fraction, bound: Reached, score: str) -> dict[str, Any]:
    """Return an audited point as certificates hold it, for the checker to count again."""
    if not isinstance(bound, CountedBound):
        raise TypeError("a certificate holds counts of one event")
    return {
        "of": of,
        "limit": shown(limit),
        "delta": shown(bound.delta),
        "epsilon_lower": bound.epsilon_lower,
        "hits": bound.hits,
        "runs": bound.runs,
        "alarms": bound.alarms,
        "other_runs": bound.other_runs,
        "risk": shown(bound.risk),
        "power": bound.power,
        "false_alarm": bound.false_alarm,
        "event": f"{score}: {bound.said()}",
    }


def environment() -> dict[str, str]:
    """Return versions of what computed; no user, host or path."""
    packages = ("numpy", "scipy", "opendp", "python-flint", "hypothesis")
    versions = {name: metadata.version(name) for name in packages}
    return {"dpaccount": dpaccount.__version__, "python": platform.python_version(), **versions}


def digest_of_code(subject: Subject) -> str:
    """Return one digest over all code that a run rests on: see `audits.sources`."""
    return sources.digest_of_code(type(subject))
