"""Whole tasks on a mechanism class of a user's own, done inside the process that runs its code."""

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from audits.certificate.make import Effort, subject_made
from audits.claim import read_claim
from audits.subjects import catalogue
from audits.tasks.declared import declared_answer
from audits.tasks.on_subject import Asked, audit_subject, claim_of
from audits.tasks.requests import Options, certified
from dpaccount.errors import DpaccountError


class Task(msgspec.Struct):
    """A task as it travels between processes."""

    name: str
    folders: list[str]
    jobs: int
    seconds: float
    claim: str | None = None
    quick: bool = False
    again: bool = False
    policy: str | None = None
    asked: dict[str, Any] | None = None
    seed: int = 1
    early: bool = False


def perform(made_by: type, document: bytes, answer: Callable[[list[object]], None]) -> None:
    """Certify or audit the class; answer with progress, then the result or one error."""
    task = msgspec.json.decode(document, type=Task)
    catalogue.CODE_FOLDERS[:] = task.folders

    def progress(what: str) -> None:
        answer(["progress", what])

    try:
        with contextlib.redirect_stdout(sys.stderr):
            if task.name == "certify":
                claim = read_claim(Path(str(task.claim)))
                effort = Effort(quick=task.quick, jobs=task.jobs, seconds=task.seconds)
                options = Options(effort, task.again, None if task.policy is None else Path(task.policy))
                done = certified(claim, subject_made(claim, made_by), options, progress)
                result: Any = [done.certificate, done.reprinted, list(done.broken)]
            elif task.name == "sensitivity":
                name = str((task.asked or {})["subject"])
                result = declared_answer(name, catalogue.make(made_by, None, examples=True), task.seed)
            else:
                claim = claim_of(Asked(**(task.asked or {})))
                subject = subject_made(claim, made_by)
                result = audit_subject(claim, subject, task.jobs, task.seconds, progress, early=task.early)
    except DpaccountError as error:
        answer(["error", error.exit_code, str(error)])
    else:
        answer(["done", msgspec.json.encode(result)])
