"""`audit…`, `sensitivity`, `trace` and `list`: attacks without a certificate, and what can be attacked."""

import sys
import time
from contextlib import nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Annotated, Any

from msgspec.structs import replace

from audits.cli.options import (
    EXIT_CODES,
    CatalogueOnly,
    File,
    Json,
    Name,
    StoreOptions,
    Text,
    Whole,
    WorkOptions,
    differing,
    lines,
    reporting,
    say,
    show,
)
from audits.cli.questions import (
    HIDDEN,
    RUNS,
    AnyCurveOptions,
    CertifiedOptions,
    ClaimedOptions,
    CurveOptions,
    DataOptions,
    DeclaredOptions,
    ElsewhereOptions,
    LevelOptions,
    LimitsOptions,
    PointOptions,
    ProgramOptions,
    PythonOptions,
    RunsOptions,
    StoppingRunsOptions,
    TracedOptions,
    arguments_of,
    option,
)
from dpaccount.errors import InputError

if TYPE_CHECKING:
    from audits.api.on_results import OneRunAudit, SamplesAudit
    from audits.api.requests import Audit
    from dpaccount.schemas.results import Trace

AS_USUAL, HERE = StoreOptions(), ElsewhereOptions()  #: nothing said


def audit(
    subject: Name | None = None,
    *,
    claimed: ClaimedOptions | None = None,
    data: DataOptions | None = None,
    runs: StoppingRunsOptions | None = None,
    work: Annotated[StoreOptions, RUNS] = AS_USUAL,
    elsewhere: Annotated[ElsewhereOptions, HIDDEN] = HERE,
    catalogue_only: CatalogueOnly = False,
    json_: Json = False,
) -> int:
    """Attack a subject: a lower bound on its epsilon at DELTA; exit 1 if above the claim.

    Exit 3, NOT ATTACKED, if the runs could not have refuted even a release of the raw data;
    epsilon_power is the largest epsilon that they could have shown.

    Give --claim CLAIM.toml, or a subject's name with --epsilon and --delta; a function of your own,
    package.module:name, also with --shape, --low and --high.

    Example: `dpaccount audit clinic:noisy_count --epsilon 1 --shape 20 --low 0 --high 3 --dtype int`

    Parameters
    ----------
    subject
        A name from `dpaccount list`, or package.module:name.
    """
    arguments = arguments_of(claimed, data, runs, work, elsewhere, catalogue_only=catalogue_only)
    files = [name for name in ("samples", "one_run") if getattr(elsewhere, name) is not None]
    if len(files) > 1 or (files and subject is not None):
        others = " and ".join(option(name.replace("_", "-")) for name in files)
        raise InputError(f"{others} takes the place of a subject", "give one of them, and no subject")
    if elsewhere.samples is not None:
        return _attacked(arguments.samples(*elsewhere.samples), json_)
    if elsewhere.one_run is not None:
        return _attacked(arguments.one_run(elsewhere.one_run), json_)
    where = WorkOptions(work.jobs, work.store, elsewhere.backend, elsewhere.scheduler)
    return _attacked(arguments.request(subject), json_, where)


def audit_curve(
    subject: Name,
    *,
    curve: AnyCurveOptions | None = None,
    data: DataOptions | None = None,
    runs: RunsOptions | None = None,
    jobs: Whole = None,
    catalogue_only: CatalogueOnly = False,
    json_: Json = False,
) -> int:
    """Attack a claim of zCDP, Gaussian or Rényi differential privacy, or of a whole privacy curve.

    Example: `dpaccount audit-curve clinic:noisy_count --rho 0.5 --shape 20 --low 0 --high 3 --dtype int`

    Parameters
    ----------
    subject
        A name from `dpaccount list`, or package.module:name.
    jobs
        Processes (default: the number of cores); the result does not depend on it.
    """
    arguments = arguments_of(curve, data, runs, jobs=jobs, catalogue_only=catalogue_only)
    return _attacked(arguments.request(subject), json_)


def audit_program(
    program: Text,
    *,
    claimed: PointOptions | None = None,
    data: DataOptions | None = None,
    runs: StoppingRunsOptions | None = None,
    elsewhere: ProgramOptions | None = None,
    jobs: Whole = None,
    json_: Json = False,
) -> int:
    """Attack a program of any language, or a function that another Python runs.

    Example: `dpaccount audit-program "./noisy_sum {seed} {data}" --epsilon 1 --shape 20 --low 0 --high 3`

    Parameters
    ----------
    program
        Such as "prog {seed} {data}": a whole number, and the path of a CSV file ({data.json} or
        {data.arrow}: of another one); it prints its result as JSON.  With --python, package.module:name.
    jobs
        Processes (default: the number of cores); the result does not depend on it.
    """
    python = elsewhere is not None and elsewhere.python is not None
    command = None if python else program
    arguments = arguments_of(claimed, data, runs, elsewhere, command=command, jobs=jobs)
    return _attacked(arguments.request(program if python else None), json_)


def audit_samples(
    left: File,
    right: File,
    *,
    claimed: ClaimedOptions | None = None,
    curve: AnyCurveOptions | None = None,
    level: LevelOptions | None = None,
    certified: CertifiedOptions | None = None,
    json_: Json = False,
) -> int:
    """Compare results that were drawn elsewhere, on two neighbouring datasets.

    A file has one result per row: CSV, JSON lines, NPY or Parquet.

    Example: `dpaccount audit-samples left.csv right.csv --epsilon 1 --delta 1e-6`

    Parameters
    ----------
    left
        The results on one dataset.
    right
        The results on its neighbour.
    """
    return _attacked(arguments_of(claimed, curve, level, certified).samples(left, right), json_)


def audit_one_run(
    scores: File,
    *,
    claimed: PointOptions | None = None,
    curve: CurveOptions | None = None,
    level: LevelOptions | None = None,
    certified: CertifiedOptions | None = None,
    json_: Json = False,
) -> int:
    """Audit one training run by the scores of its canaries.

    Example: `dpaccount audit-one-run canaries.csv --epsilon 8 --delta 1e-5`

    Parameters
    ----------
    scores
        A CSV file, one line per canary, with the columns included (0 or 1, a fair coin each) and score.
    """
    return _attacked(arguments_of(claimed, curve, level, certified).one_run(scores), json_)


def _attacked(
    question: "Audit | SamplesAudit | OneRunAudit", json_: Json, where: WorkOptions | None = None
) -> int:
    """Attack, print the answer, and return its exit code."""
    from audits.api import dispatch

    if where is not None and (where.store or where.backend):
        question = dispatch.as_tasks(question)
    begun = time.perf_counter()
    working = nullcontext() if where is None else where.work()
    with reporting() as report, redirect_stdout(sys.stderr), working:
        answer = dispatch.audit(question, report)
    answer = replace(answer, seconds=round(time.perf_counter() - begun, 3))
    for finding in answer.witness.findings:
        say(f"note: {finding}")
    show(answer, json_, lambda shown: lines({**shown, "witness": differing(shown["witness"])}))
    return EXIT_CODES[answer.verdict]


def trace(
    function: Name,
    *,
    claimed: TracedOptions | None = None,
    data: DataOptions | None = None,
    limits: LimitsOptions | None = None,
    catalogue_only: CatalogueOnly = False,
    json_: Json = False,
) -> int:
    """Trace noise calls on neighbouring datasets: how far the input of each one moves.

    The run on one dataset is recorded, and replayed on its neighbour with the same noisy values.
    Exit 1 with findings, which audit may then certify; exit 3 if no input of noise was seen to move,
    or not all of it is judged, as the notes say.

    Example: `dpaccount trace clinic:noisy_total --epsilon 1 --shape 20 --low 0 --high 3 --dtype int`

    Parameters
    ----------
    function
        package.module:name of a function f(data, rng) or f(data).
    """
    from audits.api import tracing

    question = arguments_of(claimed, data, limits, catalogue_only=catalogue_only).trace(function)
    with reporting() as report, redirect_stdout(sys.stderr):
        answer = tracing.trace(question, report)
    show(answer, json_, lambda _: _traced_lines(answer))
    return tracing.exit_code(answer)


def _traced_lines(answer: "Trace") -> str:
    rows = [
        f"{each.file}:{each.line}  {each.call}  scale {_known(each.scale)}"
        f"  declared {_known(each.declared)}  moved {_known(each.moved)}"
        for each in answer.noise
    ]
    notes = [
        *(f"finding: {each}" for each in answer.findings),
        *(f"note: {each}" for each in answer.notes),
    ]
    return "\n".join([*rows, *notes]) or "no noise calls"


def _known(value: float | str | None) -> str:
    return "?" if value is None else f"{float(value):.6g}"


def sensitivity(
    target: Name,
    *,
    declared: DeclaredOptions | None = None,
    data: DataOptions | None = None,
    limits: LimitsOptions | None = None,
    python: PythonOptions | None = None,
    jobs: Whole = None,
    catalogue_only: CatalogueOnly = False,
    json_: Json = False,
) -> int:
    """Search for two neighbours on which a query differs by more than BOUND; exit 1 if found.

    A subject's name, or a mechanism class of your own, declares its own bounds: give no options.

    Example: `dpaccount sensitivity clinic:mean --norm l1 --bound 0.05 --shape 20 --low 0 --high 3`

    Parameters
    ----------
    target
        package.module:name of a function of the data alone, or a subject's name.
    jobs
        Processes (default 1); the result does not depend on it.
    """
    from audits.api import dispatch
    from audits.sensitivity.search import answer, runnable
    from dpaccount.schemas.results import SensitivityAnswer

    arguments = arguments_of(declared, data, limits, python, jobs=jobs, catalogue_only=catalogue_only)
    with redirect_stdout(sys.stderr):
        search = dispatch.sensitivity(arguments.query(target))
    if isinstance(search, SensitivityAnswer):
        show(search, json_, _declared_lines)
        return 1 if search.refuted else 0
    for note in search.odd:
        say(note)
    test = f"\n\n{runnable(search, target)}" if search.refuted else ""
    show(answer(search), json_, lambda shown: lines({**shown, "left": None, "right": None}) + test)
    if search.refuted:
        return 1
    undecided = search.proof is not None and search.proof.status != "proved"
    return 3 if undecided or not search.measured else 0


def _declared_lines(answer: dict[str, Any]) -> str:
    rows = [
        f"{each['status']:<10} {each['query']}: {each['value']}  ({each['examples']} examples)"
        + (f": {each['counterexample']['wrong']}" if each["counterexample"] else "")
        for each in answer["hypotheses"]
    ]
    return "\n".join([*rows, lines({**answer, "hypotheses": None})])


def list_subjects(name: Name | None = None, *, json_: Json = False) -> int:
    """List what can be proved, run and attacked; with NAME, that subject's parameters.

    Example: `dpaccount list histogram`

    Parameters
    ----------
    name
        One subject; without it, all of them.
    """
    from audits.subjects.catalogue import listed

    def person(answer: list[dict[str, Any]] | dict[str, Any]) -> str:
        if isinstance(answer, list):
            rows = (f"{e['name']:<26} {e['layer']:<11} {e['status']:<10} {e['source']}" for e in answer)
            return "\n".join(rows)
        details = [
            f"  {key} ({value['type']}, default {value['default']})"
            for key, value in answer["parameters"].items()
        ]
        return "\n".join([f"{answer['name']}: {answer['source']}", *details])

    show(listed(name), json_, person)
    return 0
