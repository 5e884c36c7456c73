"""Combines proof, evidence and attack into a verdict and a certificate; reads policies."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

from msgspec.structs import replace as changed

from audits.attack.confirmation import could_show, exceeds
from audits.attack.white_box import Attacked
from audits.certificate.document import describe_point, describe_proof, draft
from audits.claim import MODELS, RELATIONS, Claim, Guarantee
from dpaccount.documents import parse_toml, read_bytes
from dpaccount.exact import as_exact, shown, to_digits
from dpaccount.noise.proved import Proved
from dpaccount.schemas import certificate as parts


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


def violations(policy: Policy, promise: Guarantee, verdict: str) -> list[str]:
    """Return one sentence for every rule of the policy that a certified promise breaks."""
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
    return broken
