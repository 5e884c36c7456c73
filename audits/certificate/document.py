"""The certificate document: its parts (proof, subject, attack), serialisation, and seal."""

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from importlib import metadata
from typing import Any, cast

from msgspec import UNSET, convert, to_builtins

import dpaccount
from audits import consistency
from audits.attack.power import LowerBound
from audits.attack.thresholds import CountedBound
from audits.attack.white_box import Target
from audits.claim import Claim
from audits.subjects import catalogue, sources
from audits.subjects.calibrated import TARGETS
from dpaccount import checker
from dpaccount.documents import digest, now
from dpaccount.exact import Enclosure, shown
from dpaccount.noise.proved import Proved
from dpaccount.proof.search import lower_end
from dpaccount.schemas import certificate as parts
from dpaccount.schemas.claim import ClaimFile
from mechanisms.subject import Subject
from mechanisms.table.user_level import named


def environment() -> dict[str, str]:
    """Return the versions of the software that computed this; no user, host or path."""
    packages = ("numpy", "scipy", "opendp", "python-flint", "hypothesis")
    versions = {name: metadata.version(name) for name in packages}
    return {"dpaccount": dpaccount.__version__, "python": platform.python_version(), **versions}


def draft(
    claim: Claim,
    subject: parts.DescribedSubject,
    outcome: tuple[parts.Verdict, parts.Refuted],
    proved: parts.ProvedGuarantee,
    audit: parts.AuditResult | None,
    *,
    evidence: Sequence[parts.Evidence] = (),
    hazards: Sequence[str] = (),
) -> parts.Draft:
    """Return the certificate of today, on this machine; `outcome` is the verdict, and what is refuted.

    `hazards` are what the runs showed of the code's limits; `unsealed` puts those that the checker
    asks for before them.
    """
    verdict, refutes = outcome
    return parts.Draft(
        verdict=verdict,
        refutes=refutes,
        claim=cast(ClaimFile, claim.written),  # as it was written: the checker judges its shape
        subject=subject,
        guarantee=cast(parts.StatedGuarantee, {"delta": 0, **claim.written["guarantee"]}),
        proved=proved,
        sensitivity=list(evidence),
        audit=audit,
        release=None,
        releasable=verdict == "CERTIFIED",
        hazards=list(hazards),
        environment=environment(),
        created=now(),
    )


def unsealed(certificate: parts.Draft) -> dict[str, Any]:
    """Return a certificate's document without its seal."""
    document = to_builtins(certificate, enc_hook=_number)
    return {**document, "hazards": [*consistency.hazards_of(document), *certificate.hazards]}


def _number(value: object) -> object:
    """Return a number of a subclass, as NumPy's float64 is, as JSON writes it."""
    return json.loads(json.dumps(value))


def seal(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with its digest, unsigned; negative zeros become text, or 0 in a release."""
    body = {
        name: _unsigned_zeros(value, 0.0 if name == "release" else "-0.0")
        for name, value in document.items()
        if name not in ("digest", "signature")
    }
    return {**body, "digest": digest(body), "signature": None}


def _unsigned_zeros(value: Any, zero: object) -> Any:
    if isinstance(value, dict):
        return {name: _unsigned_zeros(member, zero) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_unsigned_zeros(member, zero) for member in value]
    return zero if type(value) is float and str(value) == "-0.0" else value


def refused_by_checker(document: Mapping[str, Any]) -> str | None:
    """Return why the checker, or what runs after it, would reject this document, or None."""
    try:
        consistency.check(json.dumps(seal(document)).encode())
    except (checker.Rejected, checker.Unreadable) as why:
        return str(why)
    return None


# ------------------------------------------------------------------ its parts


def describe_subject(claim: Claim, subject: Subject) -> parts.DescribedSubject:
    """Return a certificate's description of the subject: name, source, status, all parameters."""
    made_by = type(named(subject))
    values = {name: _plain(value) for name, value in catalogue.values_of(subject).items()}
    catalogued, own_epsilon = ":" not in claim.use, "epsilon" in values
    given = claim.written["subject"].get("parameters", {})
    if claim.table is not None:  # what it reads of the table is the claim's word
        values |= given
    values |= {key: given[key] for key in TARGETS if key in given and key not in values}
    values |= {"space": given["space"]} if "space" in given else {}  # the digests of its files are in it
    name, code = catalogue.name_of(made_by), sources.digest_of_code(made_by)
    return parts.DescribedSubject(
        name,
        claim.use,
        made_by.source,
        made_by.status,
        values,
        code,
        own_epsilon=(catalogued and own_epsilon) or UNSET,
        family=(catalogued and hasattr(made_by, "member")) or UNSET,
    )


def _plain(value: object) -> object:
    """Return a parameter for JSON: fractions as text, tuples as lists, what has fields as its fields."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return shown(value) if isinstance(value, Fraction) else value


def describe_proof(proved: Proved | None, reason: str | None) -> parts.ProvedGuarantee:
    """Return the proved point and its derivation, or the `reason` for their absence."""
    point = parts.ProvedPoint(None, None, []) if proved is None else describe_point(proved)
    return parts.ProvedGuarantee(point.epsilon, point.delta, point.derivation, None, reason)


def describe_point(proved: Proved) -> parts.ProvedPoint:
    """Return the proved point and its derivation."""
    epsilon, delta = proved.point
    ends = Enclosure(lower_end(proved.theorem), epsilon).as_json()
    ends["upper"] = _as_number(epsilon, ends["upper"])
    return parts.ProvedPoint(
        convert(ends, parts.EpsilonEnds),
        _as_number(delta, shown(delta)),
        convert(proved.steps, list[parts.DerivationStep]),
    )


def _as_number(exact: Fraction, otherwise: float | str | None) -> float | str | None:
    """Return the JSON number that reads as exactly this decimal, so that a claim of it is met, if any."""
    near = float(exact) if exact < 10**300 else 0.0
    return near if Fraction(repr(near)) == exact else otherwise


def audited(target: Target, reached: LowerBound, score: str) -> parts.AuditedPoint:
    """Return a point of an attack as in certificates, for the checker to recompute."""
    if not isinstance(reached, CountedBound):
        raise TypeError("a certificate holds counts of one event")
    return parts.AuditedPoint(
        of=target.of,
        limit=shown(target.limit),
        delta=shown(reached.delta),
        epsilon_lower=reached.epsilon_lower,
        hits=reached.hits,
        runs=reached.runs,
        alarms=reached.alarms,
        other_runs=reached.other_runs,
        risk=shown(reached.risk),
        power=reached.power,
        false_alarm=reached.false_alarm,
        event=f"{score}: {reached.sentence()}",
    )
