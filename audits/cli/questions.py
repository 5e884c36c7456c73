"""The options of `audit` and `sensitivity`, and how their texts are read."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from audits.cli.options import (
    CatalogueOnly,
    File,
    Flag,
    Number,
    Numbers,
    Text,
    Whole,
    WorkOptions,
    one_of,
)
from dpaccount.documents import Place, parse_json, read_bytes
from dpaccount.errors import InputError
from dpaccount.exact import exact_argument
from dpaccount.relation import RELATION_CLASSES

if TYPE_CHECKING:
    from audits.api.arguments import Arguments
    from audits.api.on_results import OneRunAudit, SamplesAudit
    from audits.api.requests import Audit

OF_ENTRIES = "value of every entry: a number, or one per column, separated by commas."
COLUMNS_OF = "Instead of --shape: a TOML file with rows, columns, and id, max_rows, as."
WITH_RADIUS = "replace-one (default), add-remove, or bounded-row with --radius."

#: Options that several commands have; `audit` says more of shape, columns and relation.
Rows = Annotated[str, Parameter(metavar="ROWS[,COLUMNS]")]
Shape = Annotated[Rows, Parameter(help="ROWS or ROWS,COLUMNS.")]
Columns = Annotated[File, Parameter(help=COLUMNS_OF)]
RelationName = Annotated[str, one_of(*RELATION_CLASSES)]
Relation = Annotated[RelationName, Parameter(help=WITH_RADIUS)]
Low = Annotated[Numbers, Parameter(help=f"The smallest {OF_ENTRIES}")]
High = Annotated[Numbers, Parameter(help=f"The largest {OF_ENTRIES}")]
Radius = Annotated[Number, Parameter(help="How far a row moves, if the relation is bounded-row.")]
Dtype = Annotated[str, one_of("float", "int"), Parameter(help="float (default) or int.")]
Data = Annotated[str, Parameter(allow_leading_hyphen=True, metavar="JSON|FILE")]
Right = Annotated[Data, Parameter(help="Its neighbour.")]
Seed = Annotated[Whole, Parameter(help="Random seed (default 1).")]
Points = Annotated[str, Parameter(metavar="NUMBERS")]


@dataclass(frozen=True)
class AuditOptions(WorkOptions):
    """The options of `audit`."""

    claim: File | None = None
    """A TOML file of schema dpaccount/claim/1."""
    epsilon: Number = None
    """The claimed epsilon, at least 0; overrides the claim's."""
    delta: Number = None
    """The claimed delta, from 0 to 1 (default 0, or the claim's)."""
    rho: Number = None
    """Instead of epsilon and delta: the claimed rho of zCDP, at least 0."""
    mu: Number = None
    """Instead of epsilon and delta: the claimed mu of Gaussian differential privacy, at least 0."""
    points: Points | None = None
    """Instead of epsilon and delta: a list EPSILON:DELTA,… of points that are all claimed."""
    renyi: Points | None = None
    """Instead of epsilon and delta: a list ORDER:EPSILON,… of Rényi bounds that are all claimed."""
    plan: File | None = None
    """Instead of epsilon and delta: a JSON file of schema dpaccount/events/1, whose whole privacy curve is
    claimed."""
    samples: Annotated[tuple[Path, Path], Parameter(metavar="FILE FILE")] | None = None
    """Instead of a subject: two files of results that were drawn elsewhere, one per row, on two
    neighbouring datasets (CSV, JSON lines, NPY or Parquet)."""
    one_run: File | None = None
    """Instead of a subject: a CSV file of one training run, one line per canary, with the columns
    included (0 or 1, a fair coin each) and score."""
    python: File | None = None
    """The Python interpreter in which a function of your own runs, 3.8 or later; nothing is installed
    there."""
    command: Text | None = None
    """Instead of a subject: a program of any language, such as "prog {seed} {data}": a whole number, and
    the path of a CSV file ({data.json} or {data.arrow}: of another one); it prints its result as JSON."""
    keep: File | None = None
    """A file in which the runs of a function or program are kept as they are made: after an
    interruption, the same command resumes."""
    certificate: File | None = None
    """A file for the certificate of --one-run, or of --samples about the claim in a file: it says that
    the code was not seen."""
    trials: Whole = None
    """Runs on the pair under attack (default 20000)."""
    confidence: Number = None
    """Confidence level of the lower bound (default 0.95)."""
    seed: Seed = None
    seconds: Number = None
    """Time limit of all runs (default 60 for your own code): slow code is run fewer times; this is
    reported. With --store or --backend, ten times the limit of one run of your own code."""
    relation: RelationName | None = None
    """For your own function: replace-one (default), add-remove, or bounded-row with --radius."""
    radius: Radius = None
    shape: Rows | None = None
    """Shape of your own function's data: ROWS or ROWS,COLUMNS."""
    low: Low = None
    high: High = None
    dtype: Dtype | None = None
    columns: File | None = None
    """For your own function of a table, instead of --shape: a TOML file with rows, columns, and
    id, max_rows, as."""
    left: Data | None = None
    """A dataset for your own function, as JSON or a JSON file; no other pair is searched for."""
    right: Right | None = None
    stop_early: Flag = False
    """Stop at the first refutation; the lower bound is then just above the claim. Weaker close to
    the claim."""
    catalogue_only: CatalogueOnly = False

    def question(self, subject: str | None) -> "Audit | SamplesAudit | OneRunAudit":
        """Return the request; raises `InputError` for what is missing or wrong, or does not go together."""
        arguments = arguments_of(self, early=self.stop_early)
        files = [
            name
            for name, value in (("samples", self.samples), ("one-run", self.one_run))
            if value is not None
        ]
        if len(files) > 1 or (files and subject is not None):
            others = " and ".join(map(option, files))
            raise InputError(f"{others} takes the place of a subject", "give one of them, and no subject")
        if self.samples is not None:
            return arguments.samples(*self.samples)
        return arguments.request(subject) if self.one_run is None else arguments.one_run(self.one_run)


def arguments_of(
    options: "AuditOptions | SensitivityOptions | TraceOptions", *, early: bool = False
) -> "Arguments":
    """Return the arguments that the options say; raises `InputError` for what cannot be read."""
    from audits.api.arguments import Arguments
    from dpaccount.plan.plan_file import read_events

    said = vars(options)
    plan, python = said.get("plan"), said.get("python")
    read = {
        "plan": None if plan is None else read_events(plan),
        "points": _points(said.get("points"), "--points"),
        "renyi": _points(said.get("renyi"), "--renyi"),
        "terms": terms_of(options),
        "python": None if python is None else str(python),
        "early": early,
        "allow_code": not options.catalogue_only,
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


def terms_of(options: "AuditOptions | SensitivityOptions | TraceOptions") -> dict[str, Place]:
    """Return the data that the options describe, as documents; raises `InputError` if unreadable."""
    from audits.api import arguments

    values: dict[str, Any] = {"dtype": options.dtype, "columns": options.columns}
    values["shape"] = _numbers(options.shape, "--shape")
    for name, text in (("low", options.low), ("high", options.high)):
        ends = _numbers(text, option(name))
        values[name] = ends if ends is None or len(ends) > 1 else ends[0]
    given = {name: value for name, value in values.items() if value is not None}
    terms = arguments.terms_of(given, option)
    for name, text in (("left", options.left), ("right", options.right)):
        if text is not None:
            terms[name] = _json_or_file(text, option(name))
    return terms


def _numbers(text: str | None, name: str) -> list[Fraction] | None:
    """Return numbers with commas between."""
    return None if text is None else [exact_argument(name, part) for part in text.split(",")]


def _json_or_file(text: str, name: str) -> Place:
    if text.lstrip().startswith("["):
        return parse_json(text, name)
    return parse_json(read_bytes(Path(text)), text)


@dataclass(frozen=True)
class TraceOptions:
    """The options of `trace`."""

    epsilon: Number = None
    """The claimed epsilon, at least 0: by how many scales of Laplace noise its input may move."""
    delta: Number = None
    """The claimed delta, from 0 to 1 (default 0)."""
    mu: Number = None
    """By how many standard deviations the input of Gaussian noise may move (default: what epsilon and delta
    allow)."""
    sensitivity: Number = None
    """How far every input of noise may move; for sums over a sample, without epsilon and mu."""
    plan: File | None = None
    """Instead of these: a JSON file of schema dpaccount/events/1. No input of noise may move by more of
    its scale than the plan says, or more often, and no row be sampled more often."""
    shape: Shape | None = None
    low: Low = None
    high: High = None
    relation: Relation | None = None
    radius: Radius = None
    dtype: Dtype | None = None
    columns: Columns | None = None
    left: Data | None = None
    """A dataset, in JSON or in a JSON file: only this pair is traced."""
    right: Right | None = None
    seed: Seed = None
    seconds: Number = None
    """Limit on the time of all runs (default 60)."""
    catalogue_only: CatalogueOnly = False


@dataclass(frozen=True)
class SensitivityOptions:
    """The options of `sensitivity`."""

    norm: Annotated[str, one_of("l1", "l2", "linf")] | None = None
    """l1, l2 or linf."""
    bound: Number = None
    """The declared sensitivity."""
    shape: Shape | None = None
    low: Low = None
    high: High = None
    relation: Relation | None = None
    radius: Radius = None
    dtype: Dtype | None = None
    columns: Columns | None = None
    left: Data | None = None
    """A dataset, as JSON or a JSON file; no other pair is searched for."""
    right: Right | None = None
    python: File | None = None
    """The Python interpreter in which a query of your own runs, 3.8 or later; nothing is installed there."""
    seed: Seed = None
    seconds: Number = None
    """Limit on the time of all runs of your own code (default 60)."""
    jobs: Whole = None
    """Processes (default 1); the result does not depend on it."""
    prove: Flag = False
    """If nothing is found, prove the bound by interval branch and bound; exit 3 if that is
    undecided."""
    catalogue_only: CatalogueOnly = False
