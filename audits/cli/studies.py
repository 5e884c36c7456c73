"""`new`, `plan` and `look`: studies of a table before their release."""

import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from cyclopts import Parameter

from audits.cli.options import File, Flag, Json, Name, Number, Whole, next_step, number, one_of, say, show
from dpaccount.documents import plain
from dpaccount.errors import InputError
from dpaccount.exact import exact_argument

if TYPE_CHECKING:
    from audits.studies.new import NewStudy

T = TypeVar("T")
Said = Annotated[list[str] | None, Parameter(metavar="TEXT", negative="")]
ROW = "-"  #: for a column of units, where each row is one
LONGEST_ANSWER = 4000  #: bytes: a terminal gives no more of a line, and says nothing


def new(  # noqa: PLR0913 - options
    file: Annotated[str, Parameter(metavar="FILE")],
    *,
    unit: Annotated[str | None, Parameter(metavar="NAME", allow_leading_hyphen=True)] = None,
    max_units: Whole = None,
    max_contributions: Whole = None,
    column: Said = None,
    statistic: Said = None,
    epsilon: Number = None,
    delta: Number = None,
    relation: Annotated[str, one_of("add-remove", "replace-one")] = "add-remove",
    separator: Name | None = None,
    encoding: Name = "utf-8",
    decimal: Name | None = None,
    thousands: Name | None = None,
    date_format: Name | None = None,
) -> int:
    """Begin a study of a file: write study.toml and its ledger from your answers.

    Of the file only the header is read.  On a terminal it asks for what no option says.

    Example: `dpaccount new visits.csv --unit patient --max-units 400 --column "age: integer 0 to 110"`

    Parameters
    ----------
    file
        CSV, Parquet, Arrow, a folder of these, or a URL.
    unit
        The column that says whose a row is; - if each row is a unit.
    max_units
        An upper bound on the number of units; under replace-one, their exact number.
    max_contributions
        How many rows of one unit count.
    column
        "NAME: number 0 to 5000", integer, date, or "NAME: category A, B", boolean, text.
    statistic
        What to publish, such as "mean minutes by city"; without any, a count.
    epsilon
        The total of all statistics.
    delta
        The total; by default a power of ten below 1/(100 max_units).
    relation
        The neighbouring relation.
    separator
        The separator of a CSV file; by default, the one in its header.
    encoding
        The encoding of a CSV file.
    decimal
        The decimal mark of numbers: a point, the default, or a comma.
    thousands
        The thousands separator of numbers.
    date_format
        How dates are written, such as %d.%m.%Y.
    """
    from audits.studies import new as studies
    from audits.studies import results
    from mechanisms.table.columns import MAX_ROWS, MOST_OF_ONE
    from mechanisms.table.reading import Remote

    said = {"--unit": unit, "--max-units": max_units, "--column": column, "--epsilon": epsilon}
    asked, lacking = sys.stdin.isatty(), [option for option, each in said.items() if not each]
    # No default: a wrong unit would promise less to people with several rows.
    if lacking and not asked:
        raise InputError(f"{lacking[0]} is missing", "give it, or answer questions on a terminal")
    source = Remote(file) if "://" in file else Path(file)
    study = studies.begun(source, encoding, "\t" if separator == "tab" else separator)
    marks = {"decimal": decimal, "thousands": thousands, "date_format": date_format}
    study = replace(
        study,
        marks={mark: each for mark, each in marks.items() if each is not None},
        unit=None if unit in (None, ROW) else study.named(str(unit)),
        max_units=_count("--max-units", max_units or "1", MAX_ROWS),
        max_contributions=_count("--max-contributions", max_contributions or "1", MOST_OF_ONE),
        epsilon=exact_argument("--epsilon", epsilon or "1"),
        delta=number(delta, "--delta"),
        relation=relation,
    )
    for each in column or ():
        study = study.with_said(each)
    for each in statistic or ():
        study = study.with_statistic(each)
    if asked:
        more = {"--max-contributions": max_contributions, "--statistic": statistic}
        study = _asked(study, {option for option, each in {**said, **more}.items() if each})
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
        A TOML file of schema dpaccount/study/1.
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
        A TOML file of schema dpaccount/study/1, or a claim that declares a table.
    private_output
        Print although the output is no terminal, such as a log that others read.
    """
    from audits.claim import read_claim
    from audits.studies import look as looking

    if not private_output and not sys.stdout.isatty():
        raise InputError("look prints private data, and this is no terminal", "give --private-output")
    claim = read_claim(study)
    sys.stdout.write(looking.as_text(claim, looking.look(claim)) + "\n")
    return 0
