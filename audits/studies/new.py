"""A new study of a file, from what its holder says: of the file only the header is read.

What is written becomes public with the certificate, so nothing of it comes from the rows.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Final

from audits.claim import Claim, claim_at
from audits.reports.tables import study_of
from audits.reports.words import ALARM, right
from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.risk import DISTANCE, REPORTED_RATES
from dpaccount.documents import parse_toml
from dpaccount.errors import InputError
from dpaccount.exact import shown
from dpaccount.plan.events import Approximate
from mechanisms.table.reading import USUAL_DIALECT, Dialect, Remote, Source, header, one_file

TYPES: Final = {
    "number": re.compile(r"(?P<low>\S+) to (?P<high>\S+)"),
    "integer": re.compile(r"(?P<low>\S+) to (?P<high>\S+)"),
    "date": re.compile(r"(?P<low>\S+) to (?P<high>\S+)"),
    "category": re.compile(r"(?P<values>[^,]+(,[^,]+)*)"),
    "boolean": re.compile(""),
    "text": re.compile(""),
}
ANSWER: Final = (
    '"age: integer 0 to 110", "city: category north, south, other", "day: date 2024-01-01 to 2024-12-31"'
)
STATISTIC: Final = re.compile(r"(?P<what>[a-z]+)(?: (?P<column>.+?))??(?: by (?P<by>.+))?")
BARE_KEY: Final = re.compile("[A-Za-z0-9_-]+")
RISKS: Final = "0.1", "1", "3"  #: values of ε that are shown before one is chosen


@dataclass(frozen=True)
class NewStudy:
    """What the holder of a file says of a study: `columns` and `statistics` as typed, `unit` a column."""

    source: Source
    dialect: Dialect = USUAL_DIALECT
    columns: tuple[str, ...] = ()
    unit: str | None = None
    max_units: int = 0
    max_contributions: int = 1
    relation: str = "add-remove"
    epsilon: Fraction = Fraction(1)
    delta: Fraction | None = None
    statistics: tuple[str, ...] = ()
    names: tuple[str, ...] = field(default=(), repr=False)

    @property
    def folder(self) -> Path:
        """Return where the study is written: beside the file, or here for a URL."""
        return self.source.parent if isinstance(self.source, Path) else Path()

    @property
    def name(self) -> str:
        """Return the study's name, that of the file."""
        stem = Path(one_file(self.source).name).stem.lower()
        return re.sub("[^a-z0-9._-]", "-", stem).strip(".-_")[:64] or "study"

    @property
    def protected(self) -> str:
        """Return the unit in words."""
        return "one row" if self.unit is None else f"one {self.unit}"

    @property
    def share(self) -> Fraction:
        """Return δ, by default a power of ten of at most a hundredth of a unit."""
        return Fraction(1, 10 ** (len(str(self.max_units)) + 2)) if self.delta is None else self.delta

    def text(self) -> str:
        """Return the study's file."""
        several = self.unit is not None
        file = str(self.source) if isinstance(self.source, Remote) else self.source.name
        marks = {k: v for k, v in vars(self.dialect).items() if v != getattr(USUAL_DIALECT, k)}
        who = "units" if self.unit is None else f"different values of {self.unit}"
        number = f"the number of {who} is {'private' if self.relation == 'add-remove' else 'public'}"
        lines = [
            f"# A study of {file}.  All that is written here becomes public with its certificate.",
            'schema = "dpaccount/study/1"',
            f"name = {_text(self.name)}",
            "statistic = [",
            *(f"  {_inline(_statistic(each))}," for each in self.statistics or ("count",)),
            "]",
            "",
            "[guarantee]  # of all statistics together",
            f"unit = {_text(self.protected)}",
            f"relation = {_text(self.relation)}  # {number}",
            f"epsilon = {shown(self.epsilon)}  # {in_words(self.epsilon, self.share)}",
            f"delta = {shown(self.share)}",
            "",
            "[data]",
            f"file = {_text(file)}",
            f"ledger = {_text(f'sqlite:///{self.name}.db')}",
            *(f"{key} = {_text(value)}" for key, value in marks.items()),
            *([f"unit_column = {_text(str(self.unit))}"] if several else []),
            f"max_units = {self.max_units}",
            *(
                [f"max_contributions = {self.max_contributions}  # rows of one unit that count"]
                if several
                else []
            ),
            "",
            "[data.columns]  # bounds and values are public knowledge, never taken from the rows",
            *(f"{_key(name)} = {_inline(declared)}" for name, declared in map(self._column, self.columns)),
        ]
        return "\n".join([*lines, ""])

    def _column(self, said: str) -> tuple[str, dict[str, object]]:
        """Return the name and the declaration of a column from what was said of it."""
        name, colon, rest = said.rpartition(":")
        name, (kind, _, terms) = name.strip(), rest.strip().partition(" ")
        match = TYPES[kind].fullmatch(terms.strip()) if colon and kind in TYPES else None
        if match is None:
            raise InputError(f"{said[:60]!r} declares no column", f"say for example {ANSWER}")
        name = self.named(name)
        given = match.groupdict()
        declared: dict[str, object] = {"type": kind}
        if "low" in given:
            declared |= {
                end: given[end] if kind == "date" else _Number(given[end]) for end in ("low", "high")
            }
        if "values" in given:
            values = [value.strip() for value in given["values"].split(",")]
            declared |= {"values": [value for value in values if value != "other"]}
            declared |= {"other": True} if "other" in values else {}
        return name, declared

    def with_column(self, said: str) -> "NewStudy":
        """Return the study with one more column; raises `InputError` for what declares none."""
        return self._checked(replace(self, columns=(*self.columns, said)))

    def with_statistic(self, said: str) -> "NewStudy":
        """Return the study with one more statistic; raises `InputError` for what is none."""
        return self._checked(replace(self, statistics=(*self.statistics, said)))

    def _checked(self, more: "NewStudy") -> "NewStudy":
        more.claim()
        return more

    def named(self, column: str) -> str:
        """Return a column's name; raises `InputError` for one that the header lacks."""
        if column not in self.names:
            raise InputError(f"no column {column[:60]!r}", f"the header has {', '.join(self.names)[:300]}")
        return column

    def claim(self) -> Claim:
        """Return the claim of the study's file; raises `InputError` for what does not go together."""
        if self.unit is not None:
            self.named(self.unit)
        elif self.max_contributions != 1:
            raise InputError("--max-contributions goes with a column of units", "leave it out, or name that")
        path = self.folder / "study.toml"
        claim = claim_at(parse_toml(self.text(), str(path)), path)
        study_of(claim)
        return claim


def begun(source: Source, dialect: Dialect) -> NewStudy:
    """Return a study of a file without columns; raises `InputError` for a file without a readable header."""
    names = tuple(header(source, dialect))
    if len(set(names)) < len(names):
        raise InputError("the header has two columns of one name", "rename one", str(source))
    return NewStudy(source, dialect, names=names)


def written(study: NewStudy) -> tuple[Claim, list[Path]]:
    """Write a study's file and create its ledger, with one release's total for its budget.

    Raises `InputError` where either is there already, and writes neither.
    """
    from dpaccount.ledger.ledger import init

    claim = study.claim()
    files = [study.folder / "study.toml", study.folder / f"{study.name}.db"]
    for file in files:
        if file.exists():
            raise InputError(f"{file} is there already", "move it, or go on with it")
    total, of = (study.epsilon, study.share), (study.protected, study.relation)
    init(f"sqlite:///{files[1]}", epsilon=total[0], delta=total[1], unit=of[0], relation=of[1])
    files[0].write_text(study.text(), encoding="utf-8")
    return claim, files


@lru_cache
def in_words(epsilon: Fraction, delta: Fraction) -> str:
    """Return what a total means: how often an attacker who knows all others' data is right at most."""
    known = Accountant(Approximate(epsilon=epsilon, delta=delta)).risk(DISTANCE, (ALARM, *REPORTED_RATES))
    return f"attackers are right {right(known)} of the time; 50 % is a blind guess"


# ------------------------------------------------------------------ as TOML


class _Number(str):
    """A number as it was typed."""


def _statistic(said: str) -> dict[str, object]:
    """Return a statistic from what was said: a word of `STATISTICS`, of a column, by others."""
    match = STATISTIC.fullmatch(" ".join(said.split()))
    if match is None:
        raise InputError(f"{said[:60]!r} is no statistic", 'say for example "mean minutes by city"')
    given = {"name": said.strip(), "what": match["what"], "column": match["column"]}
    by = {"by": [each.strip() for each in match["by"].split(",")]} if match["by"] else {}
    return {key: value for key, value in given.items() if value is not None} | by


def _inline(table: Mapping[str, object]) -> str:
    return f"{{ {', '.join(f'{_key(key)} = {_value(value)}' for key, value in table.items())} }}"


def _value(value: object) -> str:
    if isinstance(value, _Number | bool):
        return str(value).lower()
    return (
        f"[{', '.join(map(_value, value))}]"
        if isinstance(value, Sequence) and not isinstance(value, str)
        else _text(str(value))
    )


def _key(name: str) -> str:
    return name if BARE_KEY.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
