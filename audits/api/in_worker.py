"""Runs requests about a user's mechanism class, inside the process that runs its code."""

import contextlib
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from audits.api.on_subject import audit_subject, certify_subject, declared_answer, subject_asked
from audits.api.requests import Audit, Certify, Task, unpacked_task
from audits.certificate.make import AuditBudget
from audits.claim import read_claim
from audits.subjects import catalogue
from dpaccount.documents import canonical
from dpaccount.errors import DpaccountError, InputError


def perform(made_by: type, document: bytes, answer: Callable[[list[object]], None]) -> None:
    """Run a task on the class: report progress, then the result or one error."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            result = _result(made_by, unpacked_task(document), lambda what: answer(["progress", what]))
    except DpaccountError as error:
        answer(["error", error.exit_code, str(error)])
    else:
        answer(["done", msgspec.json.encode(result)])


def _result(made_by: type, task: Task, progress: Callable[[str], None]) -> Any:
    asked = task.question
    if isinstance(asked, Certify):
        claim = read_claim(asked.claim)
        if canonical(claim.written) != task.claim:
            raise InputError("changed since it was read", "give the command again", asked.claim)
        subject = catalogue.subject_made(claim, made_by)
        effort = AuditBudget(asked.quick, asked.jobs, task.seconds, task.folders)
        return certify_subject(asked, claim, subject, effort, progress)
    if isinstance(asked, Audit):
        effort = AuditBudget(jobs=asked.jobs, seconds=task.seconds, folders=task.folders)
        return audit_subject(asked, subject_asked(asked, made_by), effort, progress)
    return declared_answer(asked, catalogue.make(made_by, None, examples=True))
