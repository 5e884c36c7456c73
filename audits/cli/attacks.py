"""`audit…`, `sensitivity`, `trace` and `list`: attacks without a certificate, and what can be attacked.

Each option is declared once, in a table that its commands share.
"""

import sys
import time
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter
from msgspec.structs import replace

from audits.cli.options import (
    EXIT_CODES,
    CatalogueOnly,
    File,
    Flag,
    Json,
    Name,
    Number,
    Numbers,
    Text,
    Whole,
    differing,
    lines,
    one_of,
    reporting,
    say,
    show,
)
from dpaccount.documents import Place, check_output, parse_json, read_bytes
from dpaccount.errors import InputError
from dpaccount.exact import exact_argument
from dpaccount.relation import RELATION_CLASSES

if TYPE_CHECKING:
    from audits.api.arguments import Arguments
    from audits.api.requests import Audit, OneRunAudit, SamplesAudit
    from dpaccount.schemas.results import Trace


Points = Annotated[str, Parameter(metavar="NUMBERS")]
Dataset = Annotated[str, Parameter(allow_leading_hyphen=True, metavar="JSON|FILE")]


def _table(title: str, place: int) -> Parameter:
    """Return the parameter that makes a class a table of options in help, under a title of its own."""
    return Parameter(name="*", group=Group(title, sort_key=place))


CLAIM, DATA, RUNS = _table("Claim", 1), _table("Data of your own function", 2), _table("Runs", 3)
#: Accepted and not shown in help, because another command is for it.
HIDDEN = Parameter(name="*", show=False)


@CLAIM
@dataclass(frozen=True)
class PointOptions:
    """A claimed point."""

    epsilon: Number = None
    """The claimed epsilon, at least 0."""
    delta: Number = None
    """The claimed delta, from 0 to 1 (default 0)."""


@CLAIM
@dataclass(frozen=True)
class ClaimedOptions(PointOptions):
    """A claim of (ε, δ)."""

    claim: File | None = None
    """A TOML file of schema dpaccount/claim/1, whose claim --epsilon and --delta override."""


@CLAIM
@dataclass(frozen=True)
class CurveOptions:
    """A claim of a whole privacy curve, as it can be tested on one training run too."""

    mu: Number = None
    """The claimed mu of Gaussian differential privacy, at least 0."""
    plan: File | None = None
    """A JSON file of schema dpaccount/events/1, whose whole privacy curve is claimed."""
    points: Points | None = None
    """A list EPSILON:DELTA,… of points that are all claimed."""


@CLAIM
@dataclass(frozen=True)
class AnyCurveOptions(CurveOptions):
    """A claim of a privacy curve, or of Rényi divergences."""

    rho: Number = None
    """The claimed rho of zCDP, at least 0."""
    renyi: Points | None = None
    """A list ORDER:EPSILON,… of Rényi bounds that are all claimed."""


@DATA
@dataclass(frozen=True)
class DataOptions:
    """The data of a function or program of the user's own."""

    shape: Annotated[str, Parameter(metavar="ROWS[,COLUMNS]")] | None = None
    """Shape of an array: ROWS or ROWS,COLUMNS."""
    low: Numbers = None
    """The smallest value of every entry: a number, or one per column, separated by commas."""
    high: Numbers = None
    """The largest value of every entry, likewise."""
    dtype: Annotated[str, one_of("float", "int")] | None = None
    """float (default) or int."""
    relation: Annotated[str, one_of(*RELATION_CLASSES)] | None = None
    """replace-one (default), add-remove, or bounded-row with --radius."""
    radius: Number = None
    """How far a row moves, if the relation is bounded-row."""
    columns: File | None = None
    """Instead of --shape, of a table: a TOML file with rows, columns, and id, max_rows, as."""
    left: Dataset | None = None
    """A dataset, as JSON or a JSON file: only this pair is tried."""
    right: Dataset | None = None
    """Its neighbour."""


@RUNS
@dataclass(frozen=True)
class SeedOptions:
    """Where randomness begins."""

    seed: Whole = None
    """Random seed (default 1)."""


@RUNS
@dataclass(frozen=True)
class LimitsOptions(SeedOptions):
    """How long a search goes on, from which seed."""

    seconds: Number = None
    """Time limit of all runs of your own code (default 60): slow code is run fewer times, as is reported."""


@RUNS
@dataclass(frozen=True)
class LevelOptions(SeedOptions):
    """How sure a lower bound is, and the seed of what is drawn for it."""

    confidence: Number = None
    """Confidence level of the lower bound (default 0.95)."""


@RUNS
@dataclass(frozen=True)
class TrialsOptions:
    """How many runs an attack has."""

    trials: Whole = None
    """Runs on the pair under attack (default 20000)."""


@RUNS
@dataclass(frozen=True)
class RunsOptions(LevelOptions, LimitsOptions, TrialsOptions):
    """The runs of an attack."""


@RUNS
@dataclass(frozen=True)
class StoppingRunsOptions(RunsOptions):
    """The runs of an attack on a point, which need not all be made."""

    stop_early: Flag = False
    """Of a function: stop at the first refutation; the lower bound is then just above the claim. Weaker
    close to the claim."""


@RUNS
@dataclass(frozen=True)
class PythonOptions:
    """Another interpreter."""

    python: File | None = None
    """The Python interpreter in which a function of your own runs, 3.8 or later; nothing is installed
    there."""


@RUNS
@dataclass(frozen=True)
class ProgramOptions(PythonOptions):
    """What runs outside this interpreter."""

    keep: File | None = None
    """A file in which the runs are kept as they are made: after an interruption, the same command resumes."""


@RUNS
@dataclass(frozen=True)
class CertifiedOptions:
    """A certificate of results that were drawn elsewhere."""

    certificate: File | None = None
    """A file for the certificate, which says that the code was not seen; of samples, with --claim."""


@dataclass(frozen=True)
class ElsewhereOptions(AnyCurveOptions, ProgramOptions, CertifiedOptions):
    """Options that `audit` accepts and does not show: another command documents each of them."""

    command: Text | None = None
    samples: Annotated[tuple[Path, Path], Parameter(negative="")] | None = None
    one_run: File | None = None


@CLAIM
@dataclass(frozen=True)
class TracedOptions(PointOptions):
    """What is claimed of the noise in a function."""

    mu: Number = None
    """By how many standard deviations the input of Gaussian noise may move (default: what epsilon and delta
    allow)."""
    sensitivity: Number = None
    """How far every input of noise may move; for sums over a sample, without epsilon and mu."""
    plan: File | None = None
    """Instead of these: a JSON file of schema dpaccount/events/1. No input of noise may move by more of
    its scale than the plan says, or more often, and no row be sampled more often."""


@CLAIM
@dataclass(frozen=True)
class DeclaredOptions:
    """The declared sensitivity of a query."""

    norm: Annotated[str, one_of("l1", "l2", "linf")] | None = None
    """l1, l2 or linf."""
    bound: Number = None
    """The declared sensitivity."""
    prove: Flag = False
    """If nothing is found, prove the bound by interval branch and bound; exit 3 if that is
    undecided."""


def arguments_of(*given: Any, **more: object) -> "Arguments":
    """Return the arguments that tables of options say; raises `InputError` for what cannot be read."""
    from audits.api.arguments import Arguments
    from dpaccount.plan.plan_file import read_events

    said = {name: value for table in given if table is not None for name, value in vars(table).items()} | more
    plan, python = said.get("plan"), said.get("python")
    check_output(said.get("certificate"), plan)
    read = {
        "plan": None if plan is None else read_events(plan),
        "points": _points(said.get("points"), "--points"),
        "renyi": _points(said.get("renyi"), "--renyi"),
        "terms": terms_of(said),
        "python": None if python is None else str(python),
        "early": said.get("stop_early", False),
        "allow_code": not said.get("catalogue_only", False),
    }
    return Arguments.read({**said, **read}, option)


def _points(text: str | None, name: str) -> list[list[str]] | None:
    """Return the points A:B,… of an option; raises `InputError` naming it."""
    if text is None:
        return None
    parts = [part.split(":") for part in text.split(",")]
    wrong = [":".join(part) for part in parts if len(part) != 2]
    if wrong:
        raise InputError(f"{name} has {wrong[0][:40]!r}", "write points as A:B, separated by commas")
    return [[number.strip() for number in part] for part in parts]


def option(name: str) -> str:
    """Return how the command line writes an argument's name."""
    return "--" + name


def terms_of(said: Mapping[str, Any]) -> dict[str, Place]:
    """Return the data that the options describe, as documents; raises `InputError` if unreadable."""
    from audits.api import arguments

    ends = {name: _numbers(said.get(name), option(name)) for name in ("shape", "low", "high")}
    of_array = {
        name: each if each is None or name == "shape" or len(each) > 1 else each[0]
        for name, each in ends.items()
    }
    values = {"dtype": said.get("dtype"), "columns": said.get("columns"), **of_array}
    terms = arguments.terms_of(arguments.given_only(**values), option)
    for name in ("left", "right"):
        if (text := said.get(name)) is not None:
            file = not text.lstrip().startswith("[")
            terms[name] = parse_json(read_bytes(Path(text)) if file else text, text if file else option(name))
    return terms


def _numbers(text: str | None, name: str) -> list[Fraction] | None:
    """Return numbers with commas between."""
    return None if text is None else [exact_argument(name, part) for part in text.split(",")]


HERE = ElsewhereOptions()  #: nothing said


def audit(
    subject: Name | None = None,
    *,
    claimed: ClaimedOptions | None = None,
    data: DataOptions | None = None,
    runs: StoppingRunsOptions | None = None,
    elsewhere: Annotated[ElsewhereOptions, HIDDEN] = HERE,
    jobs: Whole = None,
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
    jobs
        Processes (default: the number of cores); the result does not depend on it.
    """
    arguments = arguments_of(claimed, data, runs, elsewhere, jobs=jobs, catalogue_only=catalogue_only)
    files = [name for name in ("samples", "one_run") if getattr(elsewhere, name) is not None]
    if len(files) > 1 or (files and subject is not None):
        others = " and ".join(option(name.replace("_", "-")) for name in files)
        raise InputError(f"{others} takes the place of a subject", "give one of them, and no subject")
    if elsewhere.samples is not None:
        return _attacked(arguments.samples(*elsewhere.samples), json_)
    if elsewhere.one_run is not None:
        return _attacked(arguments.one_run(elsewhere.one_run), json_)
    return _attacked(arguments.request(subject), json_)


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


def _attacked(question: "Audit | SamplesAudit | OneRunAudit", json_: Json) -> int:
    """Attack, print the answer, and return its exit code."""
    from audits.api import dispatch

    begun = time.perf_counter()
    # A function under attack may print: standard output is the answer's alone.
    with reporting() as report, redirect_stdout(sys.stderr):
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

    def for_terminal(answer: list[dict[str, Any]] | dict[str, Any]) -> str:
        if isinstance(answer, list):
            rows = (f"{e['name']:<26} {e['layer']:<11} {e['status']:<10} {e['source']}" for e in answer)
            return "\n".join(rows)
        details = [
            f"  {key} ({value['type']}, default {value['default']})"
            for key, value in answer["parameters"].items()
        ]
        return "\n".join([f"{answer['name']}: {answer['source']}", *details])

    show(listed(name), json_, for_terminal)
    return 0
