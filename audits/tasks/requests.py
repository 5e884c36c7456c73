"""What `certify` does with a claim and its subject: proof, evidence, attack, and the run on real data."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from audits.certificate import release
from audits.certificate.make import Effort, Progress, certify, seal
from audits.certificate.policy import read_policy, violations
from audits.claim import Claim
from mechanisms.subject import Subject


@dataclass(frozen=True)
class Options:
    """How to certify: effort, a policy for gates, and whether to release again on the same data."""

    effort: Effort
    again: bool = False
    policy: Path | None = None


@dataclass(frozen=True)
class Certified:
    """A sealed certificate; `reprinted` where it was made before; `broken` rules of the policy."""

    certificate: dict[str, Any]
    reprinted: bool = False
    broken: tuple[str, ...] = ()


def certified(claim: Claim, subject: Subject, options: Options, progress: Progress) -> Certified:
    """Certify a claim, and run its subject on its data if it is certified and the policy is met."""
    policy = None if options.policy is None else read_policy(options.policy)
    due = release.prepare(claim, subject)
    run = None if due is None else release.settle(due, again=options.again)
    draft, theorem = None if run is None else run.kept, None
    if draft is None:
        draft, theorem = certify(claim, subject, options.effort, progress)
    broken = () if policy is None else tuple(violations(policy, claim.guarantee, draft["verdict"]))
    cleared = draft["verdict"] == "CERTIFIED" and not broken
    if run is not None and theorem is not None and cleared:  # a theorem: this run is new
        return Certified(*release.make(run, theorem, draft))
    if theorem is None and run is not None and run.kept is not None:
        return Certified(run.kept, reprinted=True, broken=broken)
    return Certified(seal(draft), broken=broken)
