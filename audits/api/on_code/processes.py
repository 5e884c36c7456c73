"""The code that a request names, and the processes that run it."""

import sys
from pathlib import Path

from audits.api.requests import Audit
from audits.samples.kept_runs import KeepingCrew, kept_runs
from audits.sandbox.crew import Crew, at_once
from audits.sandbox.foreign import check_command
from audits.subjects.catalogue import function_named
from audits.subjects.code import Code, code_of
from audits.subjects.sources import digest_of_files
from dpaccount import __version__
from dpaccount.errors import InputError
from dpaccount.exact import shown


def code_named(use: str, folder: Path, *, allow_code: bool) -> Code:
    """Return the code of a catalogued function, or that of a name in a folder."""
    catalogued = function_named(use)
    return code_of(use, folder, allow_code=allow_code) if catalogued is None else catalogued.code


def program(question: Audit) -> Code | None:
    """Return a program as code, after a notice on standard error that it runs; None if it is a function."""
    if question.command is None:
        return None
    if not question.allow_code:
        raise InputError("a command runs code, and --catalogue-only forbids it", "name a catalogued subject")
    check_command(question.command)
    sys.stderr.write(f"runs {question.command}\n")
    return Code(question.use, (), command=question.command)


def crew_of(code: Code, question: Audit) -> Crew:
    """Return processes for the code, whose runs are recorded in a file if requested."""
    plan = question.plan
    seconds = float(plan.seconds)
    if question.keep is None:
        return Crew(code, seconds=seconds, jobs=question.jobs)
    claimed = question.curve or (shown(question.epsilon), shown(question.delta))
    terms = {
        "version of this program": __version__,
        "function": question.use,
        "interpreter": str(question.python),
        "code": digest_of_files(code.files()),
        "claim": repr(claimed),
        "seed": str(plan.seed),
        "effort": f"{plan.trials} {shown(plan.confidence)} {shown(plan.seconds)} {question.early}",
        # how many runs there are, and in which blocks, follows from it
        "number of jobs": f"{max(question.jobs, 1)}, of which {at_once(question.jobs)} at once",
    }
    kept = kept_runs(question.keep, terms)
    try:
        return KeepingCrew(code, kept, seconds=seconds, jobs=question.jobs)
    except InputError:
        kept.close()
        raise


def kind_of(crew: Crew) -> str:
    """Return ``class`` or ``function``; raises `InputError` for code of any other kind."""
    if crew.kind not in ("class", "function"):
        raise InputError(
            f"{crew.code.use} is not a class with domain, proof and play, nor a function f(data, rng)",
            "name one of these",
        )
    return crew.kind
