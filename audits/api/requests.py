"""Requests of `certify`, `audit` and `sensitivity`, and their serialisation for another process.

Numbers are exact.  A claim is sent as the path of its file, and read again in the other process.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from audits.claim import AuditPlan, Claim
from audits.datasets.shape import Described
from audits.sandbox.table_parts import IN_ONE, TableWork
from audits.sensitivity.search import DeclaredSensitivity
from audits.tradeoff import EventClaim


class Certify(msgspec.Struct, frozen=True, tag=True):
    """Prove, test and attack the claim of a file.

    With `release` it is then charged and run on its data, once; `again` makes another release.  Otherwise
    no data are read and nothing is charged.  `quick` reduces the attack's runs tenfold; `policy` is
    the file of a policy; `work` is how the table is summed; `held` is the digest of the certificate of
    the release that the output folder holds.
    """

    claim: Path
    quick: bool = False
    again: bool = False
    policy: Path | None = None
    jobs: int = 1
    allow_code: bool = True
    work: TableWork = IN_ONE
    release: bool = False
    held: str | None = None


class Audit(msgspec.Struct, frozen=True, tag=True):
    """Attack `use`, which claims (ε, δ) or `curve`; the file `claim`, if any, has parameters and data.

    `relation` and `data` describe the data.  The time limit is `seconds` for a catalogued subject,
    and the plan's for user code.  `python` is the interpreter for a function, `command` a program in place
    of one.  With `tasks`, an archive of the function is sent to the caller's workers.
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
    curve: EventClaim | None = None
    python: str | None = None
    command: str | None = None
    keep: Path | None = None
    tasks: bool = False


class Sensitivity(msgspec.Struct, frozen=True, tag=True):
    """Test the declared sensitivity of a query; if none is given, those that a class declares.

    A query runs in the interpreter `python` if there is one.
    """

    use: str
    declared: DeclaredSensitivity | None = None
    seed: int = 1
    seconds: Fraction = AuditPlan.seconds
    prove: bool = False
    jobs: int = 1
    allow_code: bool = True
    python: str | None = None


class Task(msgspec.Struct, frozen=True):
    """A request about a user's class, for the process that runs its code from `folders`.

    `claim` is the canonical JSON of the claim to certify, to detect a file that changed since.
    """

    question: Certify | Audit | Sensitivity
    folders: tuple[str, ...]
    seconds: float
    claim: bytes = b""


@dataclass(frozen=True)
class CertifyResult:
    """A sealed certificate; `reprinted` if it was made before; `broken` rules of the policy.

    `other_code`: it was made before by code with another digest than today's.
    """

    certificate: dict[str, Any]
    reprinted: bool = False
    broken: tuple[str, ...] = ()
    other_code: bool = False


def attack_on(claim: Claim, *, quick: bool = False) -> Audit:
    """Return a certification's attack on a plain function; `quick`: a tenth of the runs."""
    promise, plan = claim.guarantee, claim.audit
    trials = max(plan.trials // 10, 10) if quick else plan.trials
    return Audit(claim.use, promise.epsilon, promise.delta, replace(plan, trials=trials), claim=claim.path)


def packed_task(task: Task) -> bytes:
    """Serialise a task: MessagePack, with numbers as text n/d."""
    return msgspec.msgpack.encode(task, enc_hook=str)


def unpacked_task(document: bytes) -> Task:
    """Deserialise a task."""
    return msgspec.msgpack.decode(document, type=Task, dec_hook=lambda made_by, text: made_by(text))
