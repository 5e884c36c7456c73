"""`dpaccount.Study` and `dpaccount.Table`: studies of a file, and of a DataFrame, as Python objects."""

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from audits.api.cores import cores
from audits.api.functions import CertificateContent, certified
from audits.api.requests import Certify
from audits.claim import Claim, claim_at, output_folder, read_claim
from audits.reports.tables import shown_table, study_of
from audits.studies import results
from audits.studies.frame import FRAME_FILE, as_file, header
from audits.studies.results import MOST_SHOWN
from dpaccount.documents import Place, digest, html_table, mapped, parse_json
from dpaccount.errors import InputError
from dpaccount.exact import Exact, as_exact
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.schemas.claim import STUDY_SCHEMA, StudyPlan, StudyRelease
from mechanisms.table.cells import text_of

SQLITE = "sqlite:///"
UNNAMED = "table"
By = str | Sequence[str]  #: up to three columns, by which a statistic is grouped


@dataclass(frozen=True)
class Released:
    """A released study: its `certificate`, and each statistic's rows by name in `found`."""

    certificate: dict[str, Any]
    found: StudyRelease

    def __getitem__(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a statistic: the values of `by`, then `estimate`, `low` and `high`."""
        known = self.found.statistics
        if name not in known:
            raise InputError(
                f"no statistic {name[:60]!r} is released", f"released: {', '.join(known) or 'none'}"
            )
        return known[name].rows

    @property
    def verdict(self) -> str:
        """Return CERTIFIED, REFUTED or UNPROVEN; only a certified study is released."""
        return self.found.verdict

    def to_pandas(self, name: str | None = None) -> Any:
        """Return the rows of a statistic, by default of the only one, as a pandas DataFrame.

        Raises `InputError` without pandas.
        """
        return self._framed("pandas", name)

    def to_polars(self, name: str | None = None) -> Any:
        """Return the rows of a statistic, by default of the only one, as a polars DataFrame.

        Raises `InputError` without polars.
        """
        return self._framed("polars", name)

    def consistent(self) -> dict[str, list[dict[str, Any]]]:
        """Return the counts and histograms as non-negative integers that add up to the same totals.

        This is post-processing of the release; the released rows do not change, and their intervals
        hold.  Raises `InputError` if a joint table of all columns is too large.
        """
        from audits.studies.consistent import consistent

        path = Path(self.found.certificate)
        study = study_of(claim_at(parse_json(json.dumps(self.certificate["claim"]), str(path)), path))
        names = {what.name for what in study.statistics}
        return consistent(study, {name: self[name] for name in self.found.statistics if name in names})

    def _framed(self, package: str, name: str | None) -> Any:
        from importlib import import_module

        known = list(self.found.statistics)
        if name is None and len(known) != 1:
            raise InputError("the statistic is not named", f"released: {', '.join(known) or 'none'}")
        try:
            made_by = import_module(package).DataFrame
        except ImportError:
            raise InputError(f"{package} is not installed", f"pip install {package}") from None
        return made_by(self[known[0] if name is None else name])

    def __str__(self) -> str:
        """Return the verdict and the released tables, as the terminal shows them."""
        return results.release_as_text(self.certificate, self.found)

    def _repr_html_(self) -> str:
        """Return the released tables for a notebook, after the verdict."""
        parts = [CertificateContent({**self.certificate, "release": None})._repr_html_()]
        for name, each in self.found.statistics.items():
            table = shown_table(name, each)
            more = (
                f", the first {MOST_SHOWN} of {len(table.rows)} rows" if len(table.rows) > MOST_SHOWN else ""
            )
            title = self.found.title(name) + more
            parts.append(html_table(table.head, table.rows[:MOST_SHOWN], title))
        return "".join(parts)


@dataclass(frozen=True)
class Study:
    """A study: several statistics of one table under one total (ε, δ), as its file lists them.

    Create one with `Study.read`, or from a DataFrame with `dpaccount.Table`, not from a `claim` and
    a `frame`; raises `dpaccount.errors.InputError` for an invalid file.
    """

    claim: Claim
    frame: Any = field(default=None, repr=False)  #: the data of a `Table`

    @classmethod
    def read(cls, path: str | Path) -> "Study":
        """Return the study in a TOML file of schema dpaccount/study/2 or 1."""
        claim = read_claim(Path(path))
        study_of(claim)
        return cls(claim)

    def plan(self) -> StudyPlan:
        """Return the noise and the expected accuracy of every statistic; no data are read."""
        return results.plan(self.claim)

    def certify(self, out: str | Path | None = None, *, quick: bool = False) -> dict[str, Any]:
        """Prove, test and attack the study and return its certificate; no data are read."""
        return certified(Certify(self.claim.path, quick, jobs=cores()), out, self.claim)

    def release(
        self, out: str | Path | None = None, *, quick: bool = False, new_release: bool = False
    ) -> Released:
        """Certify the study, charge its ledger, draw its noise once, and write the release to `out`.

        Repeating the call with the same data and code returns the same release and charges nothing;
        `new_release` makes another.  `quick` cuts the attack's runs tenfold.  Raises `BudgetError` if
        the ledger has no room.
        """
        folder = output_folder(self.claim.name, out)
        with self._data() as claim:
            question = Certify(claim.path, quick, new_release, jobs=cores(), release=True)
            certificate = certified(question, folder, claim, results.file_names(claim))
        return Released(certificate, results.written_release(self.claim, certificate, folder))

    @contextmanager
    def _data(self) -> Iterator[Claim]:
        """Give the claim with its data in a file."""
        if self.frame is None:
            if self.claim.data_file is None:
                raise InputError("nothing to release from", "name a file and a ledger in [data]")
            yield self.claim
            return
        table = self.claim.table
        with as_file(self.frame, () if table is None else table.in_file) as path:
            yield replace(self.claim, data_file=path)


class StatisticTerms(TypedDict, total=False):
    """A file's other keys of a statistic; `bins` are of histograms, `method` of medians and quantiles."""

    name: str
    where: str
    share: Exact
    accuracy: Exact
    epsilon: Exact
    bins: Sequence[Exact]
    method: Literal["levels", "exponential"]


@dataclass(frozen=True)
class FrameTable:
    """A DataFrame whose statistics are released as a study: `dpaccount.Table`.

    Each statistic's method returns a table with one more statistic; all of them share one total.
    Nothing is learned from the data: columns, bounds and numbers of units are declared.

    Parameters
    ----------
    frame
        A DataFrame of pandas or polars, a table of pyarrow, or a dictionary of lists.
    unit
        The column that identifies a row's unit; None: every row is a unit.
    epsilon, delta
        The total of all statistics together, charged by each new release.
    ledger
        The URL of the ledger that pays, such as sqlite:///visits.db, which must exist.  None: NAME.db in the
        working directory, which the first release creates with room for one, and says so.
    columns
        Each column's declaration: (low, high) for a number, range(low, high + 1) for an integer, a list of
        values for a category, `bool`, or a dictionary as in a file's ``[data.columns]``.
    max_units
        The number of units; under add-remove, an upper bound.
    max_contributions
        Rows of one unit that count.
    relation
        add-remove, or replace-one where the number of units is public.
    name
        The study's name: its certificate is written to certificates/NAME.
    law
        The noise: gaussian or laplace; None: the one with narrower intervals.
    protects
        The unit in words, as the ledger states it; by default "one " and the unit's column, or "one
        row".
    query
        A SELECT in place of statistics, as `sql` gives it.
    sections
        More tables of a study's file, such as ``{"governance": {"owner": "…"}}``.
    """

    frame: Any = field(repr=False)
    unit: str | None = None
    _: KW_ONLY
    epsilon: Exact
    delta: Exact = 0
    ledger: str | None = None
    columns: Mapping[str, Any]
    max_units: int
    max_contributions: int = 1
    relation: str = "add-remove"
    name: str = UNNAMED
    law: str | None = None
    protects: str | None = None
    sections: Mapping[str, Any] = field(default_factory=dict)
    statistics: tuple[Mapping[str, Any], ...] = ()
    query: str = ""

    def count(self, by: By = (), **terms: Unpack[StatisticTerms]) -> "FrameTable":
        """Add a count of rows, `by` up to three columns.

        `terms` are a file's other keys of a statistic: name, where, and share, accuracy or epsilon.
        """
        return self._with("count", None, by, terms)

    def sum(self, column: str, by: By = (), **terms: Unpack[StatisticTerms]) -> "FrameTable":
        """Add a sum of a column; the other arguments are those of `count`."""
        return self._with("sum", column, by, terms)

    def mean(self, column: str, by: By = (), **terms: Unpack[StatisticTerms]) -> "FrameTable":
        """Add a mean of a column; the other arguments are those of `count`."""
        return self._with("mean", column, by, terms)

    def ratio(self, column: str, per: str, by: By = (), **terms: Unpack[StatisticTerms]) -> "FrameTable":
        """Add the sum of a column over that of `per`, which is not negative; others are those of `count`."""
        return self._with("ratio", column, by, {"per": per, **terms})

    def stddev(self, column: str, by: By = (), **terms: Unpack[StatisticTerms]) -> "FrameTable":
        """Add the standard deviation of the rows of a column; the other arguments are those of `count`."""
        return self._with("stddev", column, by, terms)

    def variance(self, column: str, by: By = (), **terms: Unpack[StatisticTerms]) -> "FrameTable":
        """Add a variance of a column; the other arguments are those of `count`."""
        return self._with("variance", column, by, terms)

    def median(self, column: str, by: By = (), **terms: Unpack[StatisticTerms]) -> "FrameTable":
        """Add a median of a column; `terms` are those of `count`, and method ("levels" or "exponential")."""
        return self._with("median", column, by, terms)

    def quantile(
        self,
        column: str,
        q: Exact | Sequence[Exact],
        by: By = (),
        **terms: Unpack[StatisticTerms],
    ) -> "FrameTable":
        """Add a quantile of rank `q`, between 0 and 1, or of several, at the cost of one.

        The other arguments are those of `count`.
        """
        return self._with("quantile", column, by, {"q": q, **terms})

    def histogram(self, column: str, by: By = (), **terms: Unpack[StatisticTerms]) -> "FrameTable":
        """Add counts of a column's values; for numbers, between the edges `bins`, one of the `terms`."""
        return self._with("histogram", column, by, terms)

    def top(self, column: str, k: int, by: By = (), **terms: Unpack[StatisticTerms]) -> "FrameTable":
        """Add a column's `k` most frequent values; the other arguments are those of `count`."""
        return self._with("top", column, by, {"k": k, **terms})

    def regression(self, column: str, on: Sequence[str], **terms: Unpack[StatisticTerms]) -> "FrameTable":
        """Add the least-squares regression of a column on the columns `on`; `terms` as of `count`."""
        return self._with("regression", column, (), {"on": on, **terms})

    def sql(self, query: str) -> "FrameTable":
        """Return the table with the statistics of one ``SELECT … FROM frame`` in place of others.

        `docs/sql.md` has what is read; raises `InputError` for other clauses once it is planned.
        """
        return replace(self, query=query, statistics=())

    def _with(self, what: str, column: str | None, by: By, terms: Mapping[str, Any]) -> "FrameTable":
        groups: list[Any] = list(by) if isinstance(by, list | tuple) else [by]
        if not all(isinstance(each, str) for each in groups):
            raise InputError(f"by is {by!r:.60}", "give the name of a column, or a list of them")
        of = "" if column is None else f" of {column}"
        name = f"{what}{of}{' by ' if groups else ''}{', '.join(groups)}"
        statistic = {"column": column, "by": groups or None, **terms}
        added = {
            "name": name,
            "what": what,
            **{key: each for key, each in statistic.items() if each is not None},
        }
        return replace(self, statistics=(*self.statistics, added))

    def _check_types(self) -> None:
        if self.frame is None:
            raise InputError("there is no DataFrame", "give one of pandas or polars, or a table of pyarrow")
        if self.ledger is None and self.name == UNNAMED:
            raise InputError("there is no ledger", "give its URL, or the table a name, for one of that name")
        if not isinstance(self.paying, str):
            raise InputError("ledger is no text", "give a URL such as sqlite:///visits.db")
        if not isinstance(self.columns, Mapping) or not isinstance(self.sections, Mapping):
            raise InputError("columns and sections are dictionaries", "give each column's declaration")
        if not all(isinstance(name, str) for name in (*self.columns, *self.sections)):
            raise InputError("names of columns and sections are texts", "write them in quotes")

    @property
    def paying(self) -> str:
        """Return the URL of the ledger that pays."""
        return f"{SQLITE}{self.name}.db" if self.ledger is None else self.ledger

    @property
    def study(self) -> Study:
        """Return the study of an equivalent TOML file; raises `InputError` as for a file."""
        self._check_types()
        url, of = self.paying, "one row" if self.unit is None else f"one {self.unit}"
        promise = {"unit": self.protects or of, "relation": self.relation}
        no_path = SQLITE + Path(url.removeprefix(SQLITE)).name  # a certificate shows none
        data = {
            "file": FRAME_FILE,
            "ledger": no_path if url.startswith(SQLITE) else url,
            "max_units": self.max_units,
            "columns": {name: _declared(name, each) for name, each in self.columns.items()},
        }
        if self.query:
            data["query"] = self.query
        if self.unit is not None or self.max_contributions != 1:
            data |= {"unit_column": self.unit, "max_contributions": self.max_contributions}
        document: dict[str, object] = {
            "schema": STUDY_SCHEMA,
            "name": self.name,
            "guarantee": {**promise, "epsilon": self.epsilon, "delta": self.delta},
            "data": {key: each for key, each in data.items() if each is not None},
        }
        if self.statistics or not self.query:
            document["statistic"] = list(self.statistics)
        if self.law is not None:
            document["law"] = self.law
        if taken := document.keys() & self.sections.keys():
            raise InputError(f"sections has {min(taken)!r}", "say it by the table's own arguments")
        document |= self.sections
        place = Place(mapped(_exact, document), f"the table {self.name}", toml=True)
        claim = replace(claim_at(place, Path(f"{self.name}.toml"), url), ledger=url)
        study_of(claim)
        for each in claim.table.spellings if claim.table is not None else ():
            if each.notation is not None:
                what = f"{each.column.name} is declared in a notation of files"
                raise InputError(what, "convert the DataFrame's column to numbers or dates")
        there = header(self.frame)
        for column in (*self.columns, *(() if self.unit is None else (self.unit,))):
            if column not in there:
                known = ", ".join(map(str, there))[:200]
                raise InputError(f"no column {column!r:.60}", f"the columns are {known}")
        return Study(claim, self.frame)

    def plan(self) -> StudyPlan:
        """Return the noise and the expected accuracy of every statistic; no data are read."""
        return self.study.plan()

    def certify(self, out: str | Path | None = None, *, quick: bool = False) -> dict[str, Any]:
        """Prove, test and attack the study and return its certificate; no data are read."""
        return self.study.certify(out, quick=quick)

    def release(
        self, out: str | Path | None = None, *, quick: bool = False, new_release: bool = False
    ) -> Released:
        """Certify, charge the ledger, and release all statistics, as `Study.release` does."""
        study = self.study
        if self.ledger is None and not (path := Path(f"{self.name}.db")).exists():
            said = study.claim.guarantee
            # Only where no ledger is: one that is there remembers what was spent.
            epsilon, delta = said.epsilon, said.delta
            init(self.paying, epsilon=epsilon, delta=delta, unit=said.unit, relation=said.relation)
            warnings.warn(f"created {path}: a ledger with room for one release of {self.name}", stacklevel=2)
        return study.release(out, quick=quick, new_release=new_release)


Table = FrameTable  #: its public name


def sql(query: str, frame: Any, **declared: Any) -> FrameTable:
    """Return the statistics of a `query`, ``SELECT … FROM frame``; `declared` are arguments of `Table`."""
    return FrameTable(frame, **declared).sql(query)


@dataclass(frozen=True)
class TableSession:
    """Studies of one table in turn, each paid by its ledger: `dpaccount.Session`.

    The next one may depend on all earlier answers: the ledger's filter decides whether it fits.  A study that
    was released before, of the same statistics in the same words at the same cost, is printed again.

    Parameters
    ----------
    table
        The table, whose own total and statistics are not used.
    """

    table: FrameTable

    def __post_init__(self) -> None:
        if not isinstance(self.table, FrameTable):
            raise InputError("a session is of a table", "give dpaccount.Table(…)")

    def sql(self, query: str, epsilon: Exact, delta: Exact = 0, **how: bool) -> Released:
        """Release the statistics of one ``SELECT … FROM frame``; the arguments are those of `release`."""
        return self.release(self.table.sql(query), epsilon, delta, **how)

    def release(
        self, asked: FrameTable, epsilon: Exact, delta: Exact = 0, *, quick: bool = False, again: bool = False
    ) -> Released:
        """Release the statistics of a table, such as ``session.table.count(by="ward")``, at their own cost.

        `quick` is that of `Study.release`, and `again` its `new_release`.  Raises `BudgetError` if the ledger
        has no room, and then charges nothing.
        """
        paying, name = self.table.paying, self.table.name
        one = replace(asked, epsilon=_whole(epsilon), delta=_whole(delta), ledger=paying, name=name)
        # Named by all that is asked: another query has files of its own, and the same one is found again.
        said = {**one.study.claim.written, "name": ""}
        one = replace(one, name=f"{self.table.name}-{digest(said).removeprefix('sha256:')[:8]}")
        return one.release(quick=quick, new_release=again)

    @property
    def left(self) -> Mapping[str, object]:
        """Return what every unit can still spend, by the ledger."""
        with Ledger.open(self.table.paying) as ledger:
            return dict(ledger.show()["remaining"])


def _declared(name: str, declared: Any) -> Any:
    """Return a column's declaration as a file has it."""
    if isinstance(declared, Mapping):
        return declared
    if declared is bool:
        return {"type": "boolean"}
    if isinstance(declared, range) and declared.step == 1 and declared:
        return {"type": "integer", "low": declared[0], "high": declared[-1]}
    if isinstance(declared, tuple) and len(declared) == 2:
        return {"type": "number", "low": declared[0], "high": declared[1]}
    if isinstance(declared, list):
        return {"type": "category", "values": [text_of(value) for value in declared]}
    right = "give (low, high), range(low, high + 1), a list of values, bool, or a dictionary"
    raise InputError(f"{declared!r:.60} declares no column", right, f"columns.{name}")


def _whole(value: Exact) -> Exact:
    """Return a number exactly, a whole one as an integer: in all spellings it is one number."""
    exact = as_exact(value)
    return int(exact) if exact.denominator == 1 else exact


def _exact(value: Any) -> Any:
    """Return a number of a document exact, as a TOML file's are; other values as they are."""
    if isinstance(value, bool | int | str | Fraction):
        return value
    return as_exact(value) if isinstance(value, float | Decimal) or hasattr(value, "__int__") else value


Session = TableSession  #: its public name
