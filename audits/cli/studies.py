"""`new`, `plan` and `look`: studies of a table before their release."""

import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from cyclopts import Parameter

from audits.cli.options import (
    File,
    Flag,
    Json,
    Name,
    Number,
    Whole,
    next_step,
    number,
    one_of,
    say,
    show,
    whole,
)
from dpaccount.errors import InputError
from dpaccount.exact import shown

if TYPE_CHECKING:
    from audits.studies.new import NewStudy

T = TypeVar("T")
ROW = "-"  #: for a column of units, where each row is one
Said = Annotated[list[str] | None, Parameter(metavar="TEXT", negative="")]


def new(  # noqa: PLR0913 - options
    file: Annotated[str, Parameter(metavar="FILE")],
    *,
    unit: Annotated[str | None, Parameter(metavar="COLUMN", allow_leading_hyphen=True)] = None,
    max_units: Whole = None,
    max_contributions: Whole = None,
    column: Said = None,
    statistic: Said = None,
    epsilon: Number = None,
    delta: Number = None,
    relation: Annotated[str, one_of("add-remove", "replace-one")] = "add-remove",
    separator: Name = ",",
    encoding: Name = "utf-8",
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
        How many units there can be at most; under replace-one, exactly so many.
    max_contributions
        How many rows of one unit count.
    column
        A column: "NAME: TYPE", and bounds or values.
    statistic
        What to publish, such as "mean minutes by city"; without any, a count.
    epsilon
        The total of all statistics.
    delta
        The total; by default a power of ten below 1/(100 max_units).
    relation
        The neighbouring relation.
    separator
        What stands between the cells of a CSV file.
    encoding
        The encoding of a CSV file.
    """
    from audits.studies import new as studies
    from audits.studies import results
    from mechanisms.table.reading import Dialect, Remote

    source = Remote(file) if "://" in file else Path(file)
    study = replace(
        studies.begun(source, Dialect(separator, encoding)),
        unit=None if unit == ROW else unit,
        max_units=whole(max_units, "--max-units") or 0,
        max_contributions=whole(max_contributions, "--max-contributions") or 1,
        columns=tuple(column or ()),
        statistics=tuple(statistic or ()),
        epsilon=number(epsilon, "--epsilon") or Fraction(1),
        delta=number(delta, "--delta"),
        relation=relation,
    )
    said = {"unit": unit, "units": max_units, "rows": max_contributions, "column": column, "epsilon": epsilon}
    if sys.stdin.isatty():
        study = _asked(study, {name for name, each in {**said, "statistic": statistic}.items() if each})
    else:
        needed = ("--unit", unit), ("--max-units", max_units), ("--column", column), ("--epsilon", epsilon)
        if lacking := [option for option, each in needed if not each]:
            raise InputError(f"{lacking[0]} is missing", "give it, or answer questions on a terminal")
    try:
        plan = results.plan(study.claim())
    except InputError:
        say(f"what was said: {_command(study)}")
        raise
    for path in studies.written(study)[1]:
        say(f"wrote {path}")
    sys.stdout.write(f"{plan}\n")
    next_step(f"dpaccount look {study.folder / 'study.toml'}")
    return 0


def _asked(study: "NewStudy", given: set[str]) -> "NewStudy":
    """Return a study with the answers to what was not given."""
    from audits.studies.new import RISKS, in_words

    say(f"{study.source} has the columns {', '.join(study.names)}; no row is read.")
    if "unit" not in given:
        question = "Which column says whose a row is, such as a patient's number?  Enter: each row is a unit"
        study = _answer(question, lambda said: replace(study, unit=study.named(said) if said else None))
    of = "rows" if study.unit is None else f"different values of {study.unit}"
    if "units" not in given:
        question = f"How many {of} can there be at most?  A public number, generous rather than small"
        study = replace(study, max_units=_answer(question, lambda said: whole(said, "the number") or 1))
    if study.unit is not None and "rows" not in given:
        question = f"How many rows of one {study.unit} count?  More rows need more noise"
        study = replace(
            study, max_contributions=_answer(question, lambda said: whole(said, "the number") or 1)
        )
    if "column" not in given:
        say("Say of each column its type, and by public knowledge its bounds or values: integer 0 to 110,")
        say(
            "number 0 to 5000, date 2024-01-01 to 2024-12-31, category north, south, other, boolean, or text."
        )
        for name in [name for name in study.names if name != study.unit]:
            study = _answer(f"{name}?  Enter: not used", _more(study, f"{name}: ", study.with_column))
    if "epsilon" not in given:
        for each in RISKS:
            say(f"ε = {each}: {in_words(Fraction(each), study.share)}")
        total = _answer("Which ε for all statistics together?", lambda said: number(said, "ε"))
        study = replace(study, epsilon=total or Fraction(0))
    while "statistic" not in given:
        question = "What to publish, such as count by city, or mean minutes by city?  Enter: no more"
        before, study = study, _answer(question, _more(study, "", study.with_statistic))
        if study == before:
            break
    return study


def _more(study: "NewStudy", begins: str, take: Callable[[str], "NewStudy"]) -> Callable[[str], "NewStudy"]:
    """Return what takes an answer that begins so, and leaves the study as it is without one."""
    return lambda said: take(begins + said) if said else study


def _answer(question: str, take: Callable[[str], T]) -> T:
    """Return what `take` makes of the answer; asks again where it refuses."""
    while True:
        sys.stderr.write(f"{question}\n> ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            say("")
            raise InputError("the answers ended", "answer every question, or give options")
        try:
            return take(line.strip())
        except InputError as error:
            say(str(error))


def _command(study: "NewStudy") -> str:
    """Return the command that says again what was said."""
    words = ["dpaccount", "new", str(study.source), "--max-units", str(study.max_units)]
    words += ["--max-contributions", str(study.max_contributions), "--epsilon", shown(study.epsilon)]
    words += ["--unit", study.unit or ROW]
    words += [] if study.delta is None else ["--delta", shown(study.delta)]
    for option, value in (
        ("--relation", study.relation),
        ("--separator", study.dialect.separator),
        ("--encoding", study.dialect.encoding),
    ):
        words += [option, value]
    words += [word for each in study.columns for word in ("--column", each)]
    return shlex.join([*words, *(word for each in study.statistics for word in ("--statistic", each))])


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
