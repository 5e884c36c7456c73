"""The options of `audit` and `sensitivity`, and how their texts are read."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from msgspec.structs import replace as changed

from audits.cli.options import (
    CatalogueOnly,
    File,
    Flag,
    Number,
    Numbers,
    Text,
    Whole,
    WorkOptions,
    numbers,
    one_of,
)
from dpaccount.documents import Place, parse_json, read_bytes
from dpaccount.errors import InputError
from dpaccount.exact import exact_argument, whole_argument
from dpaccount.relation import RELATION_CLASSES

if TYPE_CHECKING:
    from audits.api.on_results import OneRunAudit, SamplesAudit
    from audits.api.requests import Audit, Sensitivity
    from audits.api.tracing import TraceRequest

RELATION_CHOICES = one_of(*RELATION_CLASSES)
DTYPES = one_of("float", "int")
Shape = Annotated[str, Parameter(metavar="ROWS[,COLUMNS]")]
Points = Annotated[str, Parameter(metavar="NUMBERS")]
Data = Annotated[str, Parameter(allow_leading_hyphen=True, metavar="JSON|FILE")]


@dataclass(frozen=True)
class AuditOptions(WorkOptions):
    """The options of `audit`.

    Parameters
    ----------
    claim
        A TOML file of schema dpaccount/claim/1.
    epsilon
        The claimed epsilon, at least 0; overrides the claim's.
    delta
        The claimed delta, from 0 to 1 (default 0, or the claim's).
    rho
        Instead of epsilon and delta: the claimed rho of zCDP, at least 0.
    mu
        Instead of epsilon and delta: the claimed mu of Gaussian differential privacy, at least 0.
    points
        Instead of epsilon and delta: a list EPSILON:DELTA,… of points that are all claimed.
    renyi
        Instead of epsilon and delta: a list ORDER:EPSILON,… of Rényi bounds that are all claimed.
    plan
        Instead of epsilon and delta: a JSON file of schema dpaccount/events/1, whose whole privacy curve is
        claimed.
    samples
        Instead of a subject: two files of results that were drawn elsewhere, one per row, on two
        neighbouring datasets (CSV, JSON lines, NPY or Parquet).
    one_run
        Instead of a subject: a CSV file of one training run, one line per canary, with the columns
        included (0 or 1, a fair coin each) and score.
    python
        The Python interpreter in which a function of your own runs, 3.8 or later; nothing is installed there.
    command
        Instead of a subject: a program of any language, such as "prog {seed} {data}": a whole number, and
        the path of a CSV file ({data.json} or {data.arrow}: of another one); it prints its result as JSON.
    keep
        A file in which the runs of a function or program are kept as they are made: after an
        interruption, the same command resumes.
    certificate
        A file for the certificate of --one-run, or of --samples about the claim in a file: it says that
        the code was not seen.
    trials
        Runs on the pair under attack (default 20000).
    confidence
        Confidence level of the lower bound (default 0.95).
    seed
        Random seed (default 1).
    seconds
        Time limit of all runs (default 60 for your own code): slow code is run fewer times; this is
        reported. With --store or --backend, ten times the limit of one run of your own code.
    relation
        For your own function: replace-one (default), add-remove, or bounded-row with --radius.
    radius
        How far a row moves, if the relation is bounded-row.
    shape
        Shape of your own function's data: ROWS or ROWS,COLUMNS.
    low
        The smallest value of every entry: a number, or one per column, separated by commas.
    high
        The largest value of every entry: a number, or one per column, separated by commas.
    dtype
        float (default) or int.
    columns
        For your own function of a table, instead of --shape: a TOML file with rows, columns, and
        id, max_rows, as.
    left
        A dataset for your own function, as JSON or a JSON file; no other pair is searched for.
    right
        Its neighbour.
    stop_early
        Stop at the first refutation; the lower bound is then just above the claim. Weaker close to
        the claim.
    """

    claim: File | None = None
    epsilon: Number = None
    delta: Number = None
    rho: Number = None
    mu: Number = None
    points: Points | None = None
    renyi: Points | None = None
    plan: File | None = None
    samples: Annotated[tuple[Path, Path], Parameter(metavar="FILE FILE")] | None = None
    one_run: File | None = None
    python: File | None = None
    command: Text | None = None
    keep: File | None = None
    certificate: File | None = None
    trials: Whole = None
    confidence: Number = None
    seed: Whole = None
    seconds: Number = None
    relation: Annotated[str, RELATION_CHOICES] | None = None
    radius: Number = None
    shape: Shape | None = None
    low: Numbers = None
    high: Numbers = None
    dtype: Annotated[str, DTYPES] | None = None
    columns: File | None = None
    left: Data | None = None
    right: Data | None = None
    stop_early: Flag = False
    catalogue_only: CatalogueOnly = False

    def question(self, subject: str | None) -> "Audit | SamplesAudit | OneRunAudit":
        """Return the request; raises `InputError` for what is missing or wrong, or does not go together."""
        from audits.api.arguments import AuditArguments
        from dpaccount.plan.plan_file import read_events

        arguments = AuditArguments(
            plan=None if self.plan is None else read_events(self.plan),
            points=_points(self.points, "--points"),
            renyi=_points(self.renyi, "--renyi"),
            **numbers(
                self,
                "epsilon",
                "delta",
                "rho",
                "mu",
                "trials",
                "confidence",
                "seed",
                "seconds",
                "jobs",
                "radius",
            ),
            claim=self.claim,
            relation=self.relation,
            terms=terms_of(self),
            early=self.stop_early,
            allow_code=not self.catalogue_only,
            python=None if self.python is None else str(self.python),
            command=self.command,
            keep=self.keep,
            certificate=self.certificate,
            named=option,
        )
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


def _points(text: str | None, name: str) -> tuple[tuple[Fraction, Fraction], ...] | None:
    """Return the points A:B,… of an option; raises `InputError` naming it."""
    if text is None:
        return None
    parts = [part.split(":") for part in text.split(",")]
    wrong = [":".join(part) for part in parts if len(part) != 2]
    if wrong:
        raise InputError(f"{name} has {wrong[0][:40]!r}", "write points as A:B, separated by commas")
    return tuple((exact_argument(name, a.strip()), exact_argument(name, b.strip())) for a, b in parts)


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
    """The options of `trace`.

    Parameters
    ----------
    epsilon
        The claimed epsilon, at least 0: by how many scales of Laplace noise its input may move.
    delta
        The claimed delta, from 0 to 1 (default 0).
    mu
        By how many standard deviations the input of Gaussian noise may move (default: what epsilon and delta
        allow).
    sensitivity
        How far every input of noise may move; for sums over a sample, without epsilon and mu.
    plan
        Instead of these: a JSON file of schema dpaccount/events/1. No input of noise may move by more of
        its scale than the plan says, or more often, and no row be sampled more often.
    shape
        ROWS or ROWS,COLUMNS.
    low
        The smallest value of every entry: a number, or one per column, separated by commas.
    high
        The largest value of every entry: a number, or one per column, separated by commas.
    relation
        replace-one (default), add-remove, or bounded-row with --radius.
    radius
        How far a row moves, if the relation is bounded-row.
    dtype
        float (default) or int.
    columns
        Instead of --shape: a TOML file with rows, columns, and id, max_rows, as.
    left
        A dataset, in JSON or in a JSON file: only this pair is traced.
    right
        Its neighbour.
    seed
        Random seed (default 1).
    seconds
        Limit on the time of all runs (default 60).
    """

    epsilon: Number = None
    delta: Number = None
    mu: Number = None
    sensitivity: Number = None
    plan: File | None = None
    shape: Shape | None = None
    low: Numbers = None
    high: Numbers = None
    relation: Annotated[str, RELATION_CHOICES] | None = None
    radius: Number = None
    dtype: Annotated[str, DTYPES] | None = None
    columns: File | None = None
    left: Data | None = None
    right: Data | None = None
    seed: Whole = None
    seconds: Number = None
    catalogue_only: CatalogueOnly = False

    def question(self, function: str) -> "TraceRequest":
        """Return the request; raises `InputError` for what is missing or wrong, or does not go together."""
        from audits.api.arguments import check_range, described, effort_of
        from audits.api.tracing import TraceRequest
        from audits.trace.against_plan import planned_noise
        from dpaccount.plan.plan_file import read_events

        events = None if self.plan is None else read_events(self.plan)
        given = numbers(self, "epsilon", "delta", "mu", "sensitivity", "radius", "seed", "seconds")
        terms, relation = terms_of(self), self.relation
        epsilon, delta, mu, sensitivity = (given[name] for name in ("epsilon", "delta", "mu", "sensitivity"))
        check_range(epsilon, "--epsilon", "at least 0", lambda value: value >= 0)
        check_range(mu, "--mu", "at least 0", lambda value: value >= 0)
        check_range(delta, "--delta", "at least 0 and at most 1", lambda value: 0 <= value <= 1)
        check_range(sensitivity, "--sensitivity", "at least 0", lambda value: value >= 0)
        claimed = (epsilon, mu, sensitivity) != (None, None, None)
        if not claimed and events is None:
            right = "give what is claimed, or --mu, --sensitivity or --plan"
            raise InputError("--epsilon is missing", right)
        if events is not None:
            planned_noise(events)
            if claimed:
                raise InputError("--plan says what is claimed", "leave the other claims out")
            relation = events.relation.value
            if self.relation not in (None, relation):
                raise InputError(f"--plan is under {relation}", "leave --relation out")
        data = described(terms, relation, given["radius"], option)
        if data is None:
            raise InputError(f"{function[:70]} has no data", "describe them by --shape, --low, --high")
        plan, allowed = effort_of(given["seed"], given["seconds"], option), not self.catalogue_only
        return TraceRequest(
            function, data, epsilon, delta or Fraction(0), mu, plan, sensitivity, allowed, events
        )


@dataclass(frozen=True)
class SensitivityOptions:
    """The options of `sensitivity`.

    Parameters
    ----------
    norm
        l1, l2 or linf.
    bound
        The declared sensitivity.
    shape
        ROWS or ROWS,COLUMNS.
    low
        The smallest value of every entry: a number, or one per column, separated by commas.
    high
        The largest value of every entry: a number, or one per column, separated by commas.
    relation
        replace-one (default), add-remove, or bounded-row with --radius.
    radius
        How far a row moves, if the relation is bounded-row.
    dtype
        float (default) or int.
    columns
        Instead of --shape: a TOML file with rows, columns, and id, max_rows, as.
    left
        A dataset, as JSON or a JSON file; no other pair is searched for.
    right
        Its neighbour.
    python
        The Python interpreter in which a query of your own runs, 3.8 or later; nothing is installed there.
    seed
        Random seed (default 1).
    jobs
        Processes (default 1); the result does not depend on it.
    seconds
        Limit on the time of all runs of your own code (default 60).
    prove
        If nothing is found, prove the bound by interval branch and bound; exit 3 if that is
        undecided.
    """

    norm: Annotated[str, one_of("l1", "l2", "linf")] | None = None
    bound: Number = None
    shape: Shape | None = None
    low: Numbers = None
    high: Numbers = None
    relation: Annotated[str, RELATION_CHOICES] | None = None
    radius: Number = None
    dtype: Annotated[str, DTYPES] | None = None
    columns: File | None = None
    left: Data | None = None
    right: Data | None = None
    python: File | None = None
    seed: Whole = None
    seconds: Number = None
    jobs: Whole = None
    prove: Flag = False
    catalogue_only: CatalogueOnly = False

    def question(self, target: str) -> "Sensitivity":
        """Return the request; raises `InputError` for what is missing or wrong, or does not go together."""
        from audits.api.arguments import declared_sensitivity, described, effort_of
        from audits.api.requests import Sensitivity

        given, terms = numbers(self, "bound", "radius"), terms_of(self)
        effort = numbers(self, "seed", "seconds", "jobs")
        plan = effort_of(effort["seed"], effort["seconds"], option)
        python = None if self.python is None else str(self.python)
        request = Sensitivity(
            target, None, plan.seed, plan.seconds, self.prove, allow_code=not self.catalogue_only
        )
        if python is not None and self.prove:
            what = "--prove reads the code in this interpreter"
            raise InputError(what, "leave --prove or --python out")
        scalars = (self.norm, given["bound"], self.relation, given["radius"])
        declares = bool(terms) or any(value is not None for value in scalars)
        if ":" in target and declares:
            data = described(terms, self.relation, given["radius"], option)
            declared = declared_sensitivity(self.norm, given["bound"], data, option)
            jobs = whole_argument("--jobs", effort["jobs"]) or 1
            return changed(request, declared=declared, jobs=jobs, python=python)
        if python is not None:
            raise InputError("--python runs a query of your own", "give --norm, --bound and its data")
        if self.prove or declares:
            right = "leave --norm, --bound, … --prove out"
            raise InputError(f"{target[:70]} declares its bounds itself", right)
        return request
