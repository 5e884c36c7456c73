"""The certificate document: its parts, its verdict from proof, evidence and attack, its seal; policies."""

import json
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, fields, is_dataclass
from fractions import Fraction
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, cast

from msgspec import UNSET, convert, to_builtins
from msgspec.structs import replace as changed

import dpaccount
from audits import consistency
from audits.attack.confirmation import could_show, exceeds
from audits.attack.rules import CountedBound, LowerBound
from audits.attack.white_box import Attacked, Target
from audits.claim import MODELS, RELATIONS, Claim, Guarantee
from audits.subjects import catalogue, sources
from audits.subjects.calibrated import TARGETS
from dpaccount.documents import digest, mapped, now, parse_toml, read_bytes
from dpaccount.exact import Enclosure, as_exact, shown, to_digits
from dpaccount.noise.proved import Proved
from dpaccount.proof.search import lower_end
from dpaccount.schemas import certificate as parts
from dpaccount.schemas.claim import ClaimFile
from mechanisms.subject import Subject
from mechanisms.table.user_level import named


def environment() -> dict[str, str]:
    """Return the versions of the software that computed this, and the time zone; no user, host or path."""
    packages = ("numpy", "scipy", "opendp", "python-flint", "hypothesis")
    versions = {name: metadata.version(name) for name in packages}
    zone = "/".join(dict.fromkeys(time.tzname))
    return {
        "dpaccount": dpaccount.__version__,
        "python": platform.python_version(),
        **versions,
        "time zone": zone,
    }


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
    # A number of a subclass, as NumPy's float64 is, becomes what JSON writes.
    document = to_builtins(certificate, enc_hook=lambda number: json.loads(json.dumps(number)))
    return {**document, "hazards": [*consistency.hazards_of(document), *certificate.hazards]}


def seal(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with its digest, unsigned; negative zeros become text, or 0 in a release."""
    body = {
        name: mapped(partial(_unsigned, 0.0 if name == "release" else "-0.0"), value)
        for name, value in document.items()
        if name not in ("digest", "signature")
    }
    return {**body, "digest": digest(body), "signature": None}


def _unsigned(zero: object, value: object) -> object:
    return zero if type(value) is float and str(value) == "-0.0" else value


def refused_by_checker(document: Mapping[str, Any]) -> str | None:
    """Return why the checker, or what runs after it, would reject this document, or None."""
    return consistency.refused(seal(document))


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
        stated = (each.name for each in fields(value) if _is_stated(each, value))
        return {name: _plain(getattr(value, name)) for name in stated}
    return shown(value) if isinstance(value, Fraction) else value


def _is_stated(each: Field[Any], value: object) -> bool:
    return not each.metadata.get("stated") or getattr(value, each.name) != each.default


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


def certificate_of(
    claim: Claim,
    subject: parts.DescribedSubject,
    proved: Proved | None,
    reason: str | None,
    evidence: Sequence[parts.Evidence] = (),
    report: parts.AuditResult | None = None,
    notes: Sequence[str] = (),
    replaced: Proved | None = None,
) -> parts.Draft:
    """Return the unsealed certificate of a described subject; `reason`: why there is no proof.

    `replaced` is what is proved of a replaced row, in addition to one that moves by a radius.
    """
    described = describe_proof(proved, reason)
    if claim.guarantee.radius is not None and proved is not None:
        point = None if replaced is None else describe_point(replaced)
        described = changed(described, replace_one=point)
    upper = None if described.epsilon is None else described.epsilon.upper
    verdict = verdict_of(claim, proved, upper, evidence, report)
    return draft(claim, subject, verdict, described, report, evidence=evidence, hazards=notes)


def verdict_of(
    claim: Claim,
    proved: Proved | None,
    upper: float | str | None,
    evidence: Sequence[parts.Evidence],
    report: parts.AuditResult | None,
) -> tuple[parts.Verdict, parts.Refuted]:
    """Return (verdict, what is refuted): the rules of a certificate, as the checker applies them.

    `upper` is the proved ε as in the certificate, rounded up; None if nothing is proved.
    """
    points = () if report is None else report.points
    beaten: set[parts.Refuted] = {point.of for point in points if point.beaten}
    if any(entry.status == "refuted" for entry in evidence):
        beaten.add("hypothesis")
    kinds: tuple[parts.Refuted, ...] = ("claim", "proof", "hypothesis")
    # The checks of a certificate name what is refuted in this order, too.
    for kind in kinds:
        if kind in beaten:
            return "REFUTED", kind
    if proved is None or upper is None or upper == "inf":
        return "UNPROVEN", None
    promise, delta = claim.guarantee, proved.point[1]
    holds = as_exact(upper) <= promise.epsilon and delta <= promise.delta
    holds = holds and all(entry.status in ("tested", "accepted") for entry in evidence)
    observer = getattr(proved.theorem.conclusion, "observer", None)
    same = proved.relation == promise.neighbours and observer == promise.model
    return ("CERTIFIED" if holds and same else "UNPROVEN"), None


def accepted(entry: parts.Evidence, claim: Claim) -> parts.Evidence:
    """Return the entry, marked accepted if it has no test and the claim accepts the assumption."""
    trusted = entry.status == "untested" and entry.name in claim.accepted
    return changed(entry, status="accepted") if trusted else entry


def untested(outcome: Attacked | None) -> list[str]:
    """Return a warning if the runs were too few to show any ε above the claim, for any code."""
    if outcome is None:
        return []
    for target, reached in outcome.results:
        beyond, points = partial(exceeds, epsilon=target.limit, curve=None), len(outcome.results)
        could = could_show(reached, beyond, points).epsilon_lower
        if target.of == "claim" and could <= target.limit:
            most = to_digits(could, up=True, digits=6)
            return [
                f"The attack's runs could have shown at most epsilon >= {most}, which is not above the"
                f" claim's {shown(target.limit)}: it tested nothing of the claim itself."
            ]
    return []


@dataclass(frozen=True)
class Policy:
    """What is allowed; a bound that is None is not set."""

    epsilon: Fraction | None
    delta: Fraction | None
    relations: tuple[str, ...]
    models: tuple[str, ...]
    refuse: bool = False  #: code with lines that no test covers


def read_policy(path: Path) -> Policy:
    """Return the policy in a TOML file; epsilon, delta, relations, models and uncovered are optional."""
    place = parse_toml(read_bytes(path), str(path))
    table = place.table((), ("schema", "epsilon", "delta", "relations", "models", "uncovered"))
    if "schema" in table:
        table["schema"].text("dpaccount/policy/1")
    return Policy(
        epsilon=table["epsilon"].real(least=0) if "epsilon" in table else None,
        delta=table["delta"].real(0, 1) if "delta" in table else None,
        relations=tuple(p.text(*RELATIONS) for p in table["relations"].items())
        if "relations" in table
        else RELATIONS,
        models=tuple(p.text(*MODELS) for p in table["models"].items()) if "models" in table else MODELS,
        refuse="uncovered" in table and table["uncovered"].text("name", "refuse") == "refuse",
    )


def violations(policy: Policy | None, promise: Guarantee, verdict: str) -> tuple[str, ...]:
    """Return one sentence for every rule of the policy, if there is one, that a certified promise breaks."""
    if policy is None:
        return ()
    broken = []
    if verdict != "CERTIFIED":
        broken.append(f"the verdict is {verdict}, the policy asks for CERTIFIED")
    for name, limit, value in (
        ("epsilon", policy.epsilon, promise.epsilon),
        ("delta", policy.delta, promise.delta),
    ):
        if limit is not None and value > limit:
            broken.append(f"{name} {shown(value)} exceeds the policy's {shown(limit)}")
    if promise.relation not in policy.relations:
        broken.append(f"the relation {promise.relation} is not among {', '.join(policy.relations)}")
    if promise.model not in policy.models:
        broken.append(f"the model {promise.model} is not among {', '.join(policy.models)}")
    return tuple(broken)
