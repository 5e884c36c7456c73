"""`certify` and `audit` on code of a user's own, which this process never imports."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from audits.attack.suspicious_pairs import Progress, Stuck
from audits.certificate.make import refused_by_checker, seal
from audits.certificate.policy import read_policy, violations
from audits.claim import Claim
from audits.datasets.shape import Described
from audits.sandbox.crew import IMPORT, Code, Crew, Gone, Worker, code_of
from audits.sandbox.outcomes import SILENT
from audits.sensitivity.search import Declared, Search, prove_sensitivity, test_sensitivity
from audits.subjects.broken.table import known
from audits.tasks.functions import (
    NO_PROOF,
    attack_function,
    audit_function,
    certificate_of,
    nothing_found,
    power_said,
    shape_of,
)
from audits.tasks.in_worker import Task
from audits.tasks.on_subject import Asked, option_described
from audits.tasks.requests import Certified, Options
from dpaccount.errors import BudgetError, DpaccountError, InputError, LedgerError, RuleError

LEAST_RUNS = 30  #: on either side, that a class's attack makes whatever is asked for


class Ended(Exception):  # noqa: N818
    """A class's process died or was killed; the text says how, `silent` that it gave no answer in time."""

    def __init__(self, phase: str, how: str) -> None:
        super().__init__(f"{phase}: the code {how}")
        self.silent = SILENT in how


def certify_own(claim: Claim, options: Options, progress: Progress, *, allow_code: bool) -> Certified:
    """Certify a claim about code of a user's own, or about a catalogued function without a proof."""
    catalogued = known(claim.use)
    code = (
        code_of(claim.use, claim.path.parent, allow_code=allow_code)
        if catalogued is None
        else catalogued.code
    )
    if claim.data_file is not None:
        code = replace(code, closed=str(claim.data_file))
    seconds, effort = float(claim.audit.seconds), options.effort
    policy = None if options.policy is None else read_policy(options.policy)
    with Crew(code, seconds=seconds, jobs=effort.jobs) as crew:
        if _kind(crew) == "class":
            task = Task(
                "certify",
                list(code.folders),
                effort.jobs,
                seconds,
                claim=str(claim.path),
                quick=effort.quick,
                again=options.again,
                policy=None if options.policy is None else str(options.policy),
            )
            try:
                certificate, reprinted, broken = _done(crew.first, task, progress)
                return Certified(certificate, reprinted, tuple(broken))
            except Ended as ended:
                draft = certificate_of(claim, code, None, str(ended), quick=effort.quick)
        else:
            draft = _attacked(crew, claim, code, effort.quick, progress)
    broken = () if policy is None else tuple(violations(policy, claim.guarantee, draft["verdict"]))
    return Certified(seal(draft), broken=broken)


def _code(claim: Claim, folder: Path, *, allow_code: bool) -> Code:
    catalogued = known(claim.use)
    return code_of(claim.use, folder, allow_code=allow_code) if catalogued is None else catalogued.code


def _described(claim: Claim) -> Described:
    """Return the claim's data, or those that belong to a catalogued function."""
    catalogued = known(claim.use)
    if catalogued is None:
        return shape_of(claim)
    described = catalogued.described
    if claim.parameters is not None or claim.data_shape is not None:
        raise InputError(f"{claim.path}: {claim.use} has data of its own; leave [subject.data] out")
    if claim.guarantee.relation != described.shape.relation:
        raise InputError(f"{claim.use} is about {described.shape.relation}; say that as the relation")
    return described


def _attacked(crew: Crew, claim: Claim, code: Code, quick: bool, progress: Progress) -> dict[str, Any]:  # noqa: FBT001
    data = _described(claim)
    trials = max(claim.audit.trials // 10, 10) if quick else claim.audit.trials
    shorter = replace(claim, audit=replace(claim.audit, trials=trials))
    try:
        found = attack_function(crew, shorter, data, progress, counts_only=True)
    except Stuck as stuck:
        return certificate_of(claim, code, None, f"{NO_PROOF}, and {stuck}", quick=quick)
    draft = certificate_of(claim, code, found, NO_PROOF + power_said(found, shorter), quick=quick)
    refusal = refused_by_checker(draft)
    if refusal is not None:  # counts that the checker does not confirm are no refutation
        reason = f"{NO_PROOF}, and the independent checker does not confirm the attack ({refusal})"
        return certificate_of(claim, code, None, reason, quick=quick)
    return draft


def audit_own(
    asked: Asked, claim: Claim, *, jobs: int, allow_code: bool, early: bool, progress: Progress
) -> dict[str, Any]:
    """Return the answer of `dpaccount audit` on code of a user's own, without its seconds."""
    folder = Path.cwd() if asked.file is None else claim.path.parent
    code = _code(claim, folder, allow_code=allow_code)
    seconds = float(claim.audit.seconds)
    with Crew(code, seconds=seconds, jobs=jobs) as crew:
        if _kind(crew) == "class":
            words = msgspec.to_builtins(asked)
            task = Task("audit", list(code.folders), jobs, seconds, asked=words, early=early)
            try:
                answer: dict[str, Any] = _done(crew.first, task, progress)
            except Ended as ended:
                if not ended.silent:
                    raise InputError(f"{claim.use} cannot be attacked: {ended}; mend it") from None
                return nothing_found(claim, str(ended))
            return said_cut(answer, claim)
        by_options = asked.file is None and known(claim.use) is None
        data = option_described(asked) if by_options else _described(claim)
        return audit_function(crew, claim, data, progress, early=early)


def sensitivity_own(
    target: str,
    declared: Declared,
    *,
    seed: int,
    jobs: int,
    seconds: float,
    allow_code: bool,
    prove: bool = False,
) -> Search:
    """Test the declared sensitivity of a query of a user's own; with `prove` try to prove it then."""
    code = code_of(target, Path.cwd(), allow_code=allow_code)
    with Crew(code, seconds=seconds, jobs=jobs) as crew:
        if crew.kind == "class":
            raise InputError(
                f"{target} declares its own sensitivities; leave --norm, --bound, --shape, … out"
            )
        if crew.kind != "function":
            raise InputError(
                f"{target} is {_called(crew.kind)}; name a function of the data that returns numbers"
            )
        found = test_sensitivity(crew, declared, seed)
        if prove:
            prove_sensitivity(crew, found)
        return found


def declared_own(target: str, *, seed: int, seconds: float, allow_code: bool) -> dict[str, Any]:
    """Test every sensitivity that a mechanism class of a user's own declares."""
    code = code_of(target, Path.cwd(), allow_code=allow_code)
    with Crew(code, seconds=seconds) as crew:
        if crew.kind != "class":
            raise InputError(
                f"{target} is {_called(crew.kind)}; say --norm, --bound, --shape, --low and --high"
            )
        task = Task("sensitivity", list(code.folders), 1, seconds, asked={"subject": target}, seed=seed)
        try:
            answer: dict[str, Any] = _done(crew.first, task, lambda _: None)
        except Ended as ended:
            raise InputError(f"{target} cannot be tested: {ended}; mend it") from None
        return answer


def _kind(crew: Crew) -> str:
    if crew.kind not in ("class", "function"):
        raise InputError(
            f"{crew.code.use} is not a class with domain, proof and play, nor a function f(data, rng);"
            " name one of these"
        )
    return crew.kind


def _called(kind: str) -> str:
    """Return what a worker's word for a subject means, with its article."""
    words = {
        "class": "a class of mechanisms",
        "another class": "a class without proof and play",
        "function": "a function",
    }
    return words.get(kind, f"of type {kind}")


def said_cut(answer: dict[str, Any], claim: Claim) -> dict[str, Any]:
    """Return a class's answer; it says where time cut the runs that the claim asks for."""
    asked = max(claim.audit.trials // 2, LEAST_RUNS) * 2
    if answer["refuted"] or answer["trials"] >= asked:
        return answer
    cut = f"cut by time: {answer['trials']} of {asked} runs"
    return {**answer, "attack": f"{answer['attack']}; {cut}"}


def _done(worker: Worker, task: Task, progress: Progress) -> Any:
    """Return the result of a task; each of its phases may take the wall limit.

    Raises what the task raised, and `Ended` where the process died or had to be killed.
    """
    with ExitStack() as stack:
        stack.callback(worker.kill)
        worker.send(["task", msgspec.json.encode(task)])
        phase, limit = "its start", max(task.seconds, IMPORT)  # what a class needs is imported first
        while True:
            try:
                kind, *said = worker.receive(limit)
            except Gone as gone:
                raise Ended(phase, str(gone)) from None
            if kind == "done":
                return msgspec.json.decode(said[0])
            if kind == "error":
                raise _error(*said)
            phase, limit = said[0], task.seconds
            progress(phase)


def _error(code: int, message: str) -> DpaccountError:
    kinds: dict[int, type[DpaccountError]] = {1: BudgetError, 2: LedgerError, 3: RuleError}
    return kinds.get(code, LedgerError)(message)
