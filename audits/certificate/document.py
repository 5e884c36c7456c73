"""The certificate document: its parts (proof, subject, attack), serialisation, and seal."""

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from fractions import Fraction
from importlib import metadata
from typing import Any

import dpaccount
from audits.attack.thresholds import CountedBound, LowerBound
from audits.attack.white_box import Target
from audits.claim import Claim
from audits.subjects import catalogue, sources
from dpaccount import checker
from dpaccount.documents import canonical
from dpaccount.exact import Enclosure, shown
from dpaccount.noise.proved import Proved
from dpaccount.proof.search import lower_end
from mechanisms.subject import Subject
from mechanisms.table.user_level import named

SCHEMA = "dpaccount/certificate/1"


def environment() -> dict[str, str]:
    """Return the versions of the software that computed this; no user, host or path."""
    packages = ("numpy", "scipy", "opendp", "python-flint", "hypothesis")
    versions = {name: metadata.version(name) for name in packages}
    return {"dpaccount": dpaccount.__version__, "python": platform.python_version(), **versions}


def now() -> str:
    """Return the time to the second, in UTC, as certificates write it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Certificate:
    """A verdict with its reasons: the parts of the document, in its order.

    `hazards` are what the runs showed of the code's limits; the document has those that the checker asks for
    before them.
    """

    verdict: str
    refutes: str | None
    claim: dict[str, Any]
    subject: dict[str, Any]
    guarantee: dict[str, Any]
    proved: dict[str, Any]
    sensitivity: list[dict[str, object]]
    audit: dict[str, Any] | None
    release: dict[str, Any] | None = None
    releasable: bool = False
    hazards: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=environment)
    created: str = field(default_factory=now)

    def as_json(self) -> dict[str, Any]:
        """Return the document without its seal."""
        document = {"schema": SCHEMA, **{each.name: getattr(self, each.name) for each in fields(self)}}
        return {**document, "hazards": [*checker.hazards_of(document), *self.hazards]}


def seal(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with its digest, unsigned; negative zeros become text, or 0 in a release."""
    body = {
        name: _unsigned_zeros(value, 0.0 if name == "release" else "-0.0")
        for name, value in document.items()
        if name not in ("digest", "signature")
    }
    digest = "sha256:" + hashlib.sha256(canonical(body)).hexdigest()
    return {**body, "digest": digest, "signature": None}


def _unsigned_zeros(value: Any, zero: object) -> Any:
    if isinstance(value, dict):
        return {name: _unsigned_zeros(member, zero) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_unsigned_zeros(member, zero) for member in value]
    return zero if type(value) is float and str(value) == "-0.0" else value


def refused_by_checker(document: Mapping[str, Any]) -> str | None:
    """Return why the stand-alone checker would reject this document, or None."""
    try:
        checker.check(json.dumps(seal(document)).encode())
    except (checker.Rejected, checker.Unreadable) as why:
        return str(why)
    return None


# ------------------------------------------------------------------ its parts


def describe_subject(claim: Claim, subject: Subject) -> dict[str, Any]:
    """Return a certificate's description of the subject: name, source, status, all parameters."""
    made_by = type(named(subject))
    values = {name: _plain(value) for name, value in catalogue.values_of(subject).items()}
    if claim.table is not None:  # what it reads of the table is the claim's word
        values |= claim.written["subject"].get("parameters", {})
    return {
        "name": catalogue.name_of(made_by),
        "use": claim.use,
        "source": made_by.source,
        "status": made_by.status,
        "parameters": values,
        "code": sources.digest_of_code(made_by),
    }


def _plain(value: object) -> object:
    """Return a parameter for JSON: fractions as text, tuples as lists."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return shown(value) if isinstance(value, Fraction) else value


def describe_proof(proved: Proved | None, reason: str | None) -> dict[str, Any]:
    """Return the proved point and its derivation, or the `reason` for their absence."""
    if proved is None:
        return {"epsilon": None, "delta": None, "tight": None, "derivation": [], "reason": reason}
    return {**_point(proved), "tight": None, "reason": None}


def describe_replaced(claim: Claim, proved: Proved | None, replaced: Proved | None) -> dict[str, Any]:
    """Return what is proved of a replaced row, beside what is proved of one that moves by a radius."""
    if claim.guarantee.radius is None or proved is None:
        return {}
    return {"replace_one": None if replaced is None else _point(replaced)}


def _point(proved: Proved) -> dict[str, Any]:
    epsilon, delta = proved.point
    near = float(delta)
    return {
        "epsilon": Enclosure(lower_end(proved.theorem), epsilon).as_json(),
        "delta": near if Fraction(repr(near)) == delta else shown(delta),
        "derivation": proved.steps,
    }


@dataclass(frozen=True)
class AuditReport:
    """An attack as a certificate reports it: the points that it tested, and the pair that it ran on.

    `distance` is that of the pair, where the noise on it is known.
    """

    attack: str
    score: str
    trials: int
    quick: bool
    confidence: Fraction
    results: tuple[tuple[Target, LowerBound], ...]
    witness: dict[str, object]
    distance: float | None = None

    def refuted(self) -> set[str]:
        """Return what the attack refutes: ``claim``, ``proof``, both or nothing."""
        return {target.of for target, reached in self.results if reached.epsilon_lower > target.limit}

    def as_json(self) -> dict[str, Any]:
        """Return the `audit` of a certificate."""
        points = [point_json(target, reached, self.score) for target, reached in self.results]
        return {
            "attack": self.attack,
            "trials": self.trials,
            "quick": self.quick,
            "confidence": shown(self.confidence),
            "epsilon_lower": points[0]["epsilon_lower"],
            **({} if self.distance is None else {"distance": self.distance}),
            "points": points,
            "witness": self.witness,
        }


def point_json(target: Target, reached: LowerBound, score: str) -> dict[str, Any]:
    """Return an audited point as in certificates, for the checker to recompute."""
    if not isinstance(reached, CountedBound):
        raise TypeError("a certificate holds counts of one event")
    return {
        "of": target.of,
        "limit": shown(target.limit),
        "delta": shown(reached.delta),
        "epsilon_lower": reached.epsilon_lower,
        "hits": reached.hits,
        "runs": reached.runs,
        "alarms": reached.alarms,
        "other_runs": reached.other_runs,
        "risk": shown(reached.risk),
        "power": reached.power,
        "false_alarm": reached.false_alarm,
        "event": f"{score}: {reached.said()}",
    }
