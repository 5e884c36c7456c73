"""`new`, `plan`, `look` and `study`: studies of a table before their release."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from cyclopts import Parameter

from audits.cli.options import File, Flag, Json, Name, Number, Whole, next_step, number, one_of, say, show
from dpaccount.documents import plain
from dpaccount.errors import InputError
from dpaccount.exact import exact_argument
from dpaccount_packages import FOLDER

if TYPE_CHECKING:
    from audits.studies.new import NewStudy

T = TypeVar("T")
Said = Annotated[list[str] | None, Parameter(metavar="TEXT", negative="")]
ROW = "-"  #: for a column of units, where each row is one
LONGEST_ANSWER = 4000  #: bytes: a terminal gives no more of a line, and says nothing


@dataclass(frozen=True)
class Declarations:
    """The options that `new` and `sql` share."""

    unit: Annotated[str | None, Parameter(metavar="NAME", allow_leading_hyphen=True)] = None
    """The column that says whose a row is; - if each row is a unit."""
    max_units: Whole = None
    """An upper bound on the number of units; under replace-one, their exact number."""
    max_contributions: Whole = None
    """How many rows of one unit count."""
    column: Said = None
    """"NAME: number 0 to 5000", integer, date, or "NAME: category A, B", boolean, text."""
    epsilon: Number = None
    """The total of all statistics."""
    delta: Number = None
    """The total; by default a power of ten below 1/(100 max_units)."""
    relation: Annotated[str, one_of("add-remove", "replace-one")] = "add-remove"
    """The neighbouring relation."""
    separator: Name | None = None
    """The separator of a CSV file; by default, the one in its header."""
    encoding: Name = "utf-8"
    """The encoding of a CSV file."""
    decimal: Name | None = None
    """The decimal mark of numbers: a point, the default, or a comma."""
    thousands: Name | None = None
    """The thousands separator of numbers."""
    date_format: Name | None = None
    """How dates are written, such as %d.%m.%Y."""
    name: Name | None = None
    """The study's name, and that of its file; by default, study.toml is named like the data."""

    def named(self) -> str:
        """Return the name that is given, "" for none; raises `InputError` for what no study is called."""
        from audits.claim import NAME

        if self.name is not None and NAME.fullmatch(self.name) is None:
            raise InputError(f"--name is {self.name[:40]!r}", f"names match {NAME.pattern}")
        return self.name or ""

    def study(self, file: str, statistic: list[str] | None = None, query: str = "") -> "NewStudy":
        """Return the study of a file; asks on a terminal for what is not said."""
        from audits.studies import new as studies
        from mechanisms.table.columns import MAX_ROWS, MOST_OF_ONE
        from mechanisms.table.database import named_by

        said = {"--unit": self.unit, "--max-units": self.max_units, "--column": self.column}
        said["--epsilon"] = self.epsilon
        asked, lacking = sys.stdin.isatty(), [option for option, each in said.items() if not each]
        # No default: a wrong unit would promise less to people with several rows.
        if lacking and not asked:
            raise InputError(f"{lacking[0]} is missing", "give it, or answer questions on a terminal")
        source = named_by(file, Path()) if "://" in file else Path(file)
        separator = "\t" if self.separator == "tab" else self.separator
        study = studies.begun(source, self.encoding, separator, self.named())
        marks = {mark: getattr(self, mark) for mark in ("decimal", "thousands", "date_format")}
        study = replace(
            study,
            marks={mark: each for mark, each in marks.items() if each is not None},
            unit=None if self.unit in (None, ROW) else study.named(str(self.unit)),
            max_units=_count("--max-units", self.max_units or "1", MAX_ROWS),
            max_contributions=_count("--max-contributions", self.max_contributions or "1", MOST_OF_ONE),
            epsilon=exact_argument("--epsilon", self.epsilon or "1"),
            delta=number(self.delta, "--delta"),
            relation=self.relation,
        )
        for each in self.column or ():
            study = study.with_said(each)
        for each in statistic or ():
            study = study.with_statistic(each)
        if asked:
            more = {"--max-contributions": self.max_contributions, "--statistic": statistic or query}
            study = _asked(study, {option for option, each in {**said, **more}.items() if each})
        return replace(study, query=query)


UNSAID = Declarations()  #: nothing said
Declared = Annotated[Declarations, Parameter(name="*")]


def new(
    file: Annotated[str, Parameter(metavar="FILE")], *, statistic: Said = None, said: Declared = UNSAID
) -> int:
    """Begin a study of a file: write study.toml and its ledger from your answers.

    Of the file only the header is read.  On a terminal it asks for what no option says.

    Example: `dpaccount new visits.csv --unit patient --max-units 400 --column "age: integer 0 to 110"`

    Parameters
    ----------
    file
        CSV, Parquet, Arrow, a folder of these, or a URL: duckdb:///FILE#TABLE, or
        postgresql://USER@HOST/DATABASE#TABLE.
    statistic
        What to publish, such as "mean minutes by city"; without any, a count.
    """
    return _begun(said.study(file, statistic))


def sql(
    query: Annotated[str, Parameter(metavar="SELECT")],
    file: Annotated[str, Parameter(metavar="FILE")],
    *,
    show: Flag = False,
    said: Declared = UNSAID,
) -> int:
    """Begin a study of which one SELECT says the statistics.

    It writes what `new` writes, or a study with the declarations and the ledger of one that is there.

    Example: `dpaccount sql "SELECT city, AVG(minutes) FROM visits GROUP BY city" study.toml --name by-city`

    Parameters
    ----------
    query
        COUNT(*), SUM, AVG, MEDIAN, QUANTILE_CONT, … FROM the file, with WHERE and GROUP BY (docs/sql.md).
    file
        As for `new`; or a study's TOML file, whose columns, unit and ledger are used.
    show
        Print the study that the SELECT is, and write nothing.
    """
    from audits.claim import claim_at, of_query
    from audits.studies import new as studies
    from audits.studies import results
    from dpaccount.documents import parse_toml, read_bytes

    if not file.endswith(".toml"):
        study = said.study(file, query=query)
        if not show:
            return _begun(study)
        path, place = study.files[0], parse_toml(study.text(), str(study.files[0]))
    else:
        given = {name: each for name, each in vars(said).items() if each != getattr(UNSAID, name)}
        if more := given.keys() - {"name", "epsilon", "delta"}:
            raise InputError(f"{file} declares its {min(more)}", f"leave --{min(more).replace('_', '-')} out")
        if not (name := said.named()):
            raise InputError("--name is missing", "name the new study; its file goes next to the other one")
        path, place = Path(file).with_name(f"{name}.toml"), parse_toml(read_bytes(Path(file)), file)
        totals = number(said.epsilon, "--epsilon"), number(said.delta, "--delta")
        place = studies.asking(place, name, query, *totals)
    claim = claim_at(place, path)
    if show:
        sys.stdout.write("\n".join(studies.as_toml(of_query(place, path).value)) + "\n")
        return 0
    plan = results.plan(claim)
    studies.create(path, "\n".join([*studies.as_toml(place.value), ""]))
    say(plain(f"wrote {path}; its ledger is {place.value['data'].get('ledger')}"))
    sys.stdout.write(f"{plan}\n")
    next_step(plain(f"dpaccount release {path}"))
    return 0


def _begun(study: "NewStudy") -> int:
    """Write a new study, and show its plan."""
    from audits.studies import new as studies
    from audits.studies import results

    asked = sys.stdin.isatty()
    if asked:
        studies.write(study)  # before what may fail: no answer is lost
    plan = results.plan(study.claim())
    if not asked:
        studies.write(study)
    say(plain(f"wrote {study.files[0]}, and {study.files[1]}: a ledger with room for one release of it"))
    sys.stdout.write(f"{plan}\n")
    next_step(plain(f"dpaccount look {study.files[0]}; then dpaccount release {study.files[0]}"))
    return 0


def _count(what: str, said: str, most: int) -> int:
    """Return a whole number as it is said: no marks between thousands, which might be decimal ones."""
    if not (said.isascii() and said.isdigit() and 1 <= int(said[:20]) <= most):
        raise InputError(f"{what} is {said[:40]!r}", f"write a whole number such as 400, at most {most}")
    return int(said)


def _asked(study: "NewStudy", given: set[str]) -> "NewStudy":
    """Return a study with the answers to what was not given."""
    from audits.studies.new import ANSWERS, RISKS, NewStudy, in_words
    from mechanisms.table.columns import MAX_ROWS, MOST_OF_ONE

    names = ", ".join(name.strip() for name in study.names)
    say(plain(f"The first line names these columns: {names}.  No other line is read."))
    if "--unit" not in given:
        question = "Which column says whose a row is, such as a patient's number?  Enter: each row is a unit"
        study = _answer(question, lambda said: replace(study, unit=study.named(said) if said else None))
    if "--max-units" not in given:
        of = "rows" if study.unit is None else f"different values of {study.unit}"
        question = f"How many {of} can there be at most?  A public number, generous rather than small"
        many = _answer(question, lambda said: _count("the number", said, MAX_ROWS))
        study = replace(study, max_units=many)
    if study.unit is not None and "--max-contributions" not in given:
        question = f"How many rows of one {study.unit} count?  More rows need more noise"
        many = _answer(question, lambda said: _count("the number", said, MOST_OF_ONE))
        study = replace(study, max_contributions=many)
    while not study.columns:
        say(f"Say of each column its type, and by public knowledge its bounds or values: {ANSWERS}.")
        for name in [name for name in study.names if name != study.unit]:
            add = partial(_with_column, name)
            study = _answer(f"{name}?  Enter: not used", partial(_more, study, add))
    if "--epsilon" not in given:
        for each in RISKS:
            say(f"ε = {each}: {in_words(Fraction(each), study.share)}")
        question = "Which ε for all statistics together?"
        study = _answer(question, lambda said: replace(study, epsilon=exact_argument("ε", said)))
    while "--statistic" not in given:
        question = "What to publish, such as count, or mean minutes by city?  Enter: no more"
        before, study = study, _answer(question, partial(_more, study, NewStudy.with_statistic))
        if study is before:
            break
    return study


def _with_column(name: str, study: "NewStudy", said: str) -> "NewStudy":
    return study.with_column(name, said)


def _more(study: "NewStudy", add: Callable[["NewStudy", str], "NewStudy"], said: str) -> "NewStudy":
    """Return the study with the answer added, or unchanged for an empty answer."""
    return add(study, said) if said else study


def _answer(question: str, take: Callable[[str], T]) -> T:
    """Return what `take` makes of the answer; asks again where it refuses."""
    while True:
        sys.stderr.write(f"{plain(question)}\n> ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            say("")
            raise InputError("the answers ended", "answer every question, or give options")
        try:
            if len(line.encode()) >= LONGEST_ANSWER:
                raise InputError("the answer is too long for a terminal", "give it as an option")
            return take(line.strip())
        except InputError as error:
            say(plain(str(error)))


def plan(study: File, *, json_: Json = False) -> int:
    """Show the noise and the expected accuracy of every statistic of a study.

    No data are read and nothing is charged.

    Example: `dpaccount plan examples/clinic_visits/study.toml`

    Parameters
    ----------
    study
        A TOML file of schema dpaccount/study/2 or 1.
    """
    from msgspec import to_builtins

    from audits.claim import read_claim
    from audits.studies import results

    study_plan = results.plan(claim := read_claim(study))
    show(to_builtins(study_plan), json_, lambda _: str(study_plan))
    if isinstance(claim.data_file, Path) and not claim.data_file.exists():
        say(f"note: {claim.data_file}: no such file or folder; a release needs it")
    next_step(f"dpaccount release {study}")
    return 0


def look(study: File, *, private_output: Flag = False) -> int:
    """Show how the rows of a study's file are read: for the holder of the file alone.

    What it prints is private.  It charges nothing and writes no file.

    Example: `dpaccount look study.toml`

    Parameters
    ----------
    study
        A TOML file of schema dpaccount/study/2 or 1, or a claim that declares a table.
    private_output
        Print although the output is no terminal, such as a log that others read.
    """
    from audits.claim import read_claim
    from audits.sandbox.private_data import on_disk
    from audits.studies import look as looking

    if not private_output and not sys.stdout.isatty():
        raise InputError("look prints private data, and this is no terminal", "give --private-output")
    with on_disk(read_claim(study)) as claim:
        sys.stdout.write(looking.as_text(claim, looking.look(claim)) + "\n")
    return 0


def study(file: File, *, to: Annotated[str, one_of("2")]) -> int:
    """Print a study in another schema, and say what it then means.

    Its file is left as it is, and nothing is read or charged.

    Example: `dpaccount study study.toml --to 2`

    Parameters
    ----------
    file
        A TOML file of schema dpaccount/study/1.
    to
        The schema to write.
    """
    from audits.studies.translate import translated

    text, changes = translated(file)
    for each in changes:
        say(plain(each))
    sys.stdout.write(text)
    return 0


def examples(
    action: Annotated[str, one_of("list", "copy")] = "list",
    name: Annotated[str | None, Parameter(metavar="NAME")] = None,
) -> int:
    """List the examples, or copy one to a folder of its name here.

    Example: `dpaccount examples copy clinic_visits`

    Parameters
    ----------
    action
        list or copy.
    name
        The example to copy.
    """
    kept = Path(FOLDER, "examples")
    names = sorted(each.name for each in kept.iterdir() if each.is_dir() and each.name[0] not in "_.")
    if action == "list":
        sys.stdout.write("\n".join([*names, ""]))
        return 0
    if name not in names:
        raise InputError(f"no example {str(name)[:60]!r}", f"known: {', '.join(names)}")
    if Path(str(name)).exists():
        raise InputError(f"{name} is there already", "go on with it, or move it")
    shutil.copytree(kept / str(name), str(name), ignore=shutil.ignore_patterns("__pycache__", "*.db*"))
    say(f"copied {name}")
    return 0
