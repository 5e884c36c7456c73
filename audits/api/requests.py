"""Questions that `certify`, `audit` and `sensitivity` ask, as values; and how they travel to another process.

They hold exact numbers.  A claim travels as the path of its file, and is read again where it is needed.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from audits.claim import AuditPlan, Claim
from audits.datasets.shape import Described
from audits.sensitivity.search import DeclaredSensitivity


class Certify(msgspec.Struct, frozen=True, tag=True):
    """Prove, test and attack the claim of a file, and run it on its data; `again`: also if that was done.

    `quick` cuts the attack's runs tenfold; `policy` is the file of a gate.
    """

    claim: Path
    quick: bool = False
    again: bool = False
    policy: Path | None = None
    jobs: int = 1
    allow_code: bool = True


class Audit(msgspec.Struct, frozen=True, tag=True):
    """Attack what `use` names, which claims (ε, δ); the file `claim`, if any, holds parameters and data.

    `relation` and `data` are what else was said of the data.  Of a catalogued subject only `seconds` limits
    the time, of code of a user's own the plan does.
    """

    use: str
    epsilon: Fraction
    delta: Fraction
    plan: AuditPlan
    claim: Path | None = None
    relation: str | None = None
    data: Described | None = None
    seconds: Fraction | None = None
    early: bool = False
    jobs: int = 1
    allow_code: bool = True


class Sensitivity(msgspec.Struct, frozen=True, tag=True):
    """Test what a query is declared to move by; with nothing declared, what a class itself declares."""

    use: str
    declared: DeclaredSensitivity | None = None
    seed: int = 1
    seconds: Fraction = AuditPlan.seconds
    prove: bool = False
    jobs: int = 1
    allow_code: bool = True


class Task(msgspec.Struct, frozen=True):
    """A question about a class of a user's own, for the process that runs its code; `folders` hold that."""

    question: Certify | Audit | Sensitivity
    folders: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class CertifyResult:
    """A sealed certificate; `reprinted` where it was made before; `broken` rules of the policy."""

    certificate: dict[str, Any]
    reprinted: bool = False
    broken: tuple[str, ...] = ()


def attack_on(claim: Claim, *, quick: bool = False) -> Audit:
    """Return the attack that certifying a claim makes on a plain function; `quick`: a tenth of the runs."""
    promise, plan = claim.guarantee, claim.audit
    trials = max(plan.trials // 10, 10) if quick else plan.trials
    return Audit(claim.use, promise.epsilon, promise.delta, replace(plan, trials=trials), claim=claim.path)


def packed_task(task: Task) -> bytes:
    """Return a task as it travels: MessagePack, numbers as text n/d."""
    return msgspec.msgpack.encode(task, enc_hook=str)


def unpacked_task(document: bytes) -> Task:
    """Return a task that travelled."""
    return msgspec.msgpack.decode(document, type=Task, dec_hook=lambda made_by, text: made_by(text))
