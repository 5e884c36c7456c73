"""Requests of `certify`, `audit`, `sensitivity` and `trace`, and how another process is asked for them.

Numbers are exact.  A claim is sent as the path of its file, and read again in the other process.
"""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec

from audits.attack.runs import Progress
from audits.claim import AuditPlan, Claim
from audits.datasets.shape import Described
from audits.one_run.guessing import RunClaim
from audits.sandbox.crew import IMPORT, Gone, Process
from audits.sandbox.outcomes import SILENT
from audits.sandbox.table_parts import IN_ONE, TableWork
from audits.sensitivity.search import DeclaredSensitivity
from audits.tradeoff import EventClaim
from dpaccount.errors import BudgetError, DpaccountError, LedgerError, RuleError
from dpaccount.plan.events import Plan

#: The error that a worker raised, by its exit code.
EXIT_CODE_ERRORS: dict[int, type[DpaccountError]] = {1: BudgetError, 2: LedgerError, 3: RuleError}


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
    of one.
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


@dataclass(frozen=True)
class TraceRequest:
    """Trace a function on pairs of neighbouring datasets and compare movements with a claim.

    `mu` is for Gaussian noise: by default the largest that meets (ε, δ).  A declared `sensitivity` also
    limits every input.  With `events`, calls are compared with the releases of that plan.
    """

    use: str
    data: Described
    epsilon: Fraction | None
    delta: Fraction
    mu: Fraction | None
    plan: AuditPlan
    sensitivity: Fraction | None = None
    allow_code: bool = True
    events: Plan | None = None


@dataclass(frozen=True)
class SamplesAudit:
    """Attack a claim with the results in two files; `certificate` is written about the claim of a file."""

    left: Path
    right: Path
    epsilon: Fraction
    delta: Fraction
    plan: AuditPlan
    curve: EventClaim | None = None
    claim: Claim | None = None
    certificate: Path | None = None


@dataclass(frozen=True)
class OneRunAudit:
    """Attack a claim with the canaries of one training run; `events` is the claimed plan, if there is one."""

    file: Path
    claim: RunClaim
    plan: AuditPlan
    events: Plan | None = None
    certificate: Path | None = None


class Task(msgspec.Struct, frozen=True):
    """A request about a user's class, for the process that runs its code from `folders`.

    `claim` is the canonical JSON of the claim to certify, to detect a file that changed since.
    """

    question: Certify | Audit | Sensitivity
    folders: tuple[str, ...]
    seconds: float
    claim: bytes = b""


class CertifyResult(msgspec.Struct, frozen=True):
    """A sealed certificate; `reprinted` if it was made before; `broken` rules of the policy.

    `other_code`: it was made before by code with another digest than today's.
    """

    certificate: dict[str, Any]
    reprinted: bool = False
    broken: tuple[str, ...] = ()
    other_code: bool = False


OTHER_CODE = (
    "this release is made by other code than today's (the class, this program or a dependency changed), and"
    " is printed as it was: --new-release (new_release, again) makes and charges a new one"
)


def attack_on(claim: Claim, *, quick: bool = False) -> Audit:
    """Return a certification's attack on a plain function; `quick`: a tenth of the runs."""
    promise, plan = claim.guarantee, claim.audit
    trials = max(plan.trials // 10, 10) if quick else plan.trials
    return Audit(claim.use, promise.epsilon, promise.delta, replace(plan, trials=trials), claim=claim.path)


class Stopped(Exception):  # noqa: N818
    """The process of a class died or was killed; the text says how; `silent`: it timed out."""

    def __init__(self, phase: str, how: str) -> None:
        super().__init__(f"{phase}: the code {how}")
        self.phase = phase
        self.silent = SILENT in how


def done_by(process: Process, task: Task, progress: Progress) -> Any:
    """Return the result of a task; the wall-clock limit applies to each of its phases.

    Raises what the task raised, and `Stopped` if the process died or had to be killed.
    """
    with ExitStack() as stack:
        stack.callback(process.kill)
        process.send(["task", msgspec.msgpack.encode(task, enc_hook=str)])  # numbers as text n/d
        phase, limit = "its start", max(task.seconds, IMPORT)  # what a class needs is imported first
        while True:
            try:
                kind, *parts = process.receive(limit)
            except Gone as gone:
                raise Stopped(phase, str(gone)) from None
            if kind == "done":
                return msgspec.json.decode(parts[0])
            if kind == "error":
                code, message = parts
                raise EXIT_CODE_ERRORS.get(code, LedgerError)(message)
            # The limit starts anew with each phase: what a slow proof takes is not taken from the attack.
            phase, limit = parts[0], task.seconds
            progress(phase)
