"""The options of attacks, each declared once in a table that its commands share, and how texts are read."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from audits.cli.options import (
    ClusterOptions,
    File,
    Flag,
    Number,
    Numbers,
    Text,
    Whole,
    one_of,
)
from dpaccount.documents import Place, parse_json, read_bytes
from dpaccount.errors import InputError
from dpaccount.exact import exact_argument
from dpaccount.relation import RELATION_CLASSES

if TYPE_CHECKING:
    from audits.api.arguments import Arguments

Points = Annotated[str, Parameter(metavar="NUMBERS")]
Dataset = Annotated[str, Parameter(allow_leading_hyphen=True, metavar="JSON|FILE")]


def _table(title: str, place: int) -> Parameter:
    """Return what makes a class a table of options in help, under a title of its own."""
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
class ElsewhereOptions(AnyCurveOptions, ProgramOptions, CertifiedOptions, ClusterOptions):
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
            terms[name] = _json_or_file(text, option(name))
    return terms


def _numbers(text: str | None, name: str) -> list[Fraction] | None:
    """Return numbers with commas between."""
    return None if text is None else [exact_argument(name, part) for part in text.split(",")]


def _json_or_file(text: str, name: str) -> Place:
    if text.lstrip().startswith("["):
        return parse_json(text, name)
    return parse_json(read_bytes(Path(text)), text)
