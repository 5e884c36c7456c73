"""The answer of `dpaccount sensitivity` on a user's query, or on all that a class declares."""

from dataclasses import replace
from pathlib import Path

import msgspec

from audits.api.on_code.data import check_reaches
from audits.api.requests import Sensitivity, Stopped, Task, done_by
from audits.sandbox.crew import Crew
from audits.sensitivity.search import Search, prove_sensitivity, test_sensitivity
from audits.subjects.code import code_of
from dpaccount.errors import InputError
from dpaccount.schemas.results import SensitivityAnswer

#: descriptions of a worker's words for a subject
DESCRIPTIONS = {
    "class": "a class of mechanisms",
    "another class": "a class without proof and play",
    "function": "a function",
}


def code_sensitivity(question: Sensitivity) -> Search | SensitivityAnswer:
    """Test what a user's query declares, then try to prove it, if requested; or all that a class declares."""
    declared, code = question.declared, code_of(question.use, Path.cwd(), allow_code=question.allow_code)
    if declared is not None and question.python is not None:
        check_reaches(declared.shape)
        code = replace(code, python=question.python)
    seconds = float(question.seconds)
    with Crew(code, seconds=seconds, jobs=question.jobs) as crew:
        if declared is not None and crew.kind == "class":
            right = "leave --norm, --bound, --shape, … out"
            raise InputError(f"{question.use} declares its own sensitivities", right)
        if crew.kind != ("class" if declared is None else "function"):
            right = "name a function of the data that returns numbers"
            if declared is None:
                right = (
                    "say --norm, --bound, --shape, --low and --high, or --columns in place of the last three"
                )
            called = DESCRIPTIONS.get(crew.kind, f"of type {crew.kind}")
            raise InputError(f"{question.use} is {called}", right)
        if declared is None:
            try:
                done = done_by(crew.first, Task(question, code.folders, seconds), lambda _: None)
            except Stopped as stopped:
                raise InputError(f"{question.use} cannot be tested: {stopped}", "fix it") from None
            return msgspec.convert(done, SensitivityAnswer)
        search = test_sensitivity(crew, declared, question.seed)
        if question.prove:
            prove_sensitivity(crew, search)
        return search
