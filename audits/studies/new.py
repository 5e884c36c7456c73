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
from audits.reports.words import right
from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.risk import DISTANCE
from dpaccount.documents import Place, parse_toml
from dpaccount.errors import InputError
from dpaccount.exact import exact_argument, shown
from dpaccount.plan.events import Approximate
from dpaccount.schemas.claim import STUDY_SCHEMA
from mechanisms.table.columns import NUMERIC_KINDS
from mechanisms.table.database import DatabaseTable, names_of
from mechanisms.table.reading import USUAL_DIALECT, Dialect, Remote, Source, header

OTHER_NAMES: Final = {"bool": "boolean", "int": "integer", "float": "number", "string": "text"}  #: of types
ANSWERS: Final = (
    "integer 0 to 110, number 0 to 5000, date 2024-01-01 to 2024-12-31, category north, south, other,"
    " boolean, or text"
)
KNOWN: Final = ("count", "sum", "mean", "median", "variance", "histogram")  #: statistics that need no more
NOT_IN_NAMES: Final = re.compile(r"[^\w %+,.()=-]")
BARE_KEY: Final = re.compile("[A-Za-z0-9_-]+")
NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?")  #: as TOML has it
RISKS: Final = "0.1", "1", "3"  #: values of ε that are shown before one is chosen
LARGEST_EPSILON: Final = 100

Said = dict[str, object]  #: a column or statistic as a file declares it


@dataclass(frozen=True)
class NewStudy:
    """What the holder of a file says of a study: its `columns` and `statistics`, and a column for the `unit`.

    `names` are those of the header, and `marks` say how the file writes numbers and dates.
    """

    source: Source
    names: tuple[str, ...]
    dialect: Dialect = USUAL_DIALECT
    marks: Mapping[str, str] = field(default_factory=dict)
    unit: str | None = None
    max_units: int = 1
    max_contributions: int = 1
    relation: str = "add-remove"
    epsilon: Fraction = Fraction(1)
    delta: Fraction | None = None
    columns: Mapping[str, Said] = field(default_factory=dict)
    statistics: tuple[Said, ...] = ()
    query: str = ""  #: a SELECT in place of the statistics
    called: str = ""

    def __post_init__(self) -> None:
        """Refuse values that no study may have."""
        # Checked with each answer, so that a wrong one is asked again at once.
        if self.unit is not None:
            self.named(self.unit)
        elif self.max_contributions != 1:
            raise InputError("--max-contributions goes with a column of units", "leave it out, or name that")
        if not 0 < self.epsilon <= LARGEST_EPSILON:
            raise InputError(
                f"ε is {shown(self.epsilon)[:40]}", f"give more than 0, at most {LARGEST_EPSILON}"
            )
        if self.delta is not None and not 0 <= self.delta < 1:
            raise InputError(f"δ is {shown(self.delta)[:40]}", "give less than 1")

    @property
    def folder(self) -> Path:
        """Return the folder of the study: that of the data file, or the working directory for a URL."""
        return self.source.parent if isinstance(self.source, Path) else Path()

    @property
    def files(self) -> tuple[Path, Path]:
        """Return the paths of the study and of its ledger."""
        return self.folder / f"{self.called or 'study'}.toml", self.folder / f"{self.name}.db"

    @property
    def name(self) -> str:
        """Return the study's name, by default that of the file."""
        stem = names_of(self.source)[-1].lower()
        return self.called or re.sub("[^a-z0-9._-]", "-", stem).strip(".-_")[:64] or "study"

    @property
    def protected(self) -> str:
        """Return the unit in words."""
        return "one row" if self.unit is None else f"one {self.unit}"

    @property
    def share(self) -> Fraction:
        """Return δ, by default a power of ten of at most a hundredth of a unit."""
        return Fraction(1, 10 ** (len(str(self.max_units)) + 2)) if self.delta is None else self.delta

    def text(self) -> str:
        """Return the study's file.  Comments have no word of the user's, which might end them."""
        file = str(self.source) if isinstance(self.source, Remote) else self.source.name
        whose = [
            f"unit_column = {_value(self.unit)}",
            f"max_contributions = {self.max_contributions}  # rows of one unit that count",
        ]
        number = "private" if self.relation == "add-remove" else "public"
        listed = self.statistics or (() if self.query else ({"name": "count", "what": "count"},))
        lines = [
            "# All that is written here becomes public with the certificate.",
            f"schema = {_value(STUDY_SCHEMA)}",
            f"name = {_value(self.name)}",
            *(["statistic = [", *(f"  {_value(each)}," for each in listed), "]"] if listed else []),
            "",
            "[guarantee]  # of all statistics together",
            f"unit = {_value(self.protected)}",
            f"relation = {_value(self.relation)}  # the number of units is {number}",
            f"epsilon = {_value(self.epsilon)}  # {in_words(self.epsilon, self.share)}",
            f"delta = {_value(self.share)}",
            "",
            "[data]",
            f"file = {_value(file)}",
            f"ledger = {_value(f'sqlite:///{self.name}.db')}",
            *(
                f"{key} = {_value(each)}"
                for key, each in vars(self.dialect).items()
                if each != getattr(USUAL_DIALECT, key)
            ),
            *([f"query = {_value(self.query)}"] if self.query else []),
            f"max_units = {self.max_units}",
            *(whose if self.unit is not None else []),
            "",
            "[data.columns]  # bounds and values are public knowledge, never taken from the rows",
            "# A missing cell is left out; with missing = VALUE it counts as that one.",
            *(f"{_key(name)} = {_value(declared)}" for name, declared in self.columns.items()),
        ]
        return "\n".join([*lines, ""])

    def named(self, column: str) -> str:
        """Return a column's name; raises `InputError` for one that the header lacks."""
        for name in self.names:
            if column in (name, name.strip()):
                return name
        known = ", ".join(name.strip() for name in self.names)
        raise InputError(f"no column {column[:60]!r}", f"the header has {known[:300]}")

    def with_column(self, name: str, answer: str) -> "NewStudy":
        """Return the study with one more column, of which a type and its terms are said.

        Raises `InputError` for what declares none.
        """
        name = self.named(name)
        if name in self.columns:
            raise InputError(f"the column {name[:60]!r} is declared twice", "declare it once")
        declared = _declared(answer, self.marks)
        return self._checked(replace(self, columns={**self.columns, name: declared}))

    def with_said(self, said: str) -> "NewStudy":
        """Return the study with one more column, of which ``NAME: TYPE …`` is said."""
        named = [name for name in self.names if said.strip().startswith(f"{name.strip()}:")]
        name = max(named, key=len, default=said.partition(":")[0].strip())
        return self.with_column(name, said.strip()[len(name.strip()) + 1 :])

    def with_statistic(self, said: str) -> "NewStudy":
        """Return the study with one more statistic, such as ``mean minutes by city``.

        Raises `InputError` for what is none.
        """
        said = " ".join(said.split())
        what, _, rest = said.partition(" ")
        if what not in KNOWN:
            more = f"say {', '.join(KNOWN)}, and add others in the file"
            raise InputError(f"{what[:40]!r} is no statistic that needs no more words", more)
        statistic: Said = {"name": NOT_IN_NAMES.sub("-", said)[:100], "what": what}
        if what != "count":
            statistic["column"], rest = self._first_column(rest)
        if rest and not rest.startswith("by "):
            raise InputError(f"{said[:60]!r} is no statistic", "say for example mean minutes by city")
        by, rest = [], rest.removeprefix("by ")
        while rest:
            name, rest = self._first_column(rest.removeprefix(", "))
            by.append(name)
        statistic |= {"by": by} if by else {}
        return self._checked(replace(self, statistics=(*self.statistics, statistic)))

    def _first_column(self, words: str) -> tuple[str, str]:
        """Return the column that some words begin with, and the other words."""
        spelled = {" ".join(name.split()): name for name in self.names}
        begins = [name for name in spelled if words == name or words.startswith((f"{name} by ", f"{name}, "))]
        first = max(begins, key=len, default=None)
        return (self.named(words), "") if first is None else (spelled[first], words[len(first) :].lstrip(" "))

    def _checked(self, more: "NewStudy") -> "NewStudy":
        more.claim()
        return more

    def claim(self) -> Claim:
        """Return the claim of the study's file; raises `InputError` for what does not go together."""
        path = self.files[0]
        claim = claim_at(parse_toml(self.text(), str(path)), path)
        study_of(claim)
        return claim


def begun(source: Source, encoding: str, separator: str | None, called: str = "") -> NewStudy:
    """Return a study of a file without columns; by default its header shows the separator.

    Raises `InputError` for a file without a readable header, and where a study or ledger is there.
    """
    if isinstance(source, Path) and re.search("[?#%\x00-\x1f]", str(source)):
        raise InputError("a path with ?, #, % or a control character", "rename the file or its folder")
    if isinstance(source, DatabaseTable):
        names, dialect = source.names(), USUAL_DIALECT
    else:
        names, dialect = header(source, encoding, separator)
    if len({name.strip() for name in names}) < len(names):
        raise InputError("the header has two columns of one name", "rename one", str(source))
    study = NewStudy(source, tuple(names), dialect, called=called)
    for file in study.files:
        if file.exists():
            raise InputError(f"{file} is there already", "go on with it, or move it")
    return study


def asking(
    study: Place, name: str, query: str, epsilon: Fraction | None = None, delta: Fraction | None = None
) -> Place:
    """Return a study that declares what another one does, with a SELECT in place of its statistics."""
    for place in (study, *(study.child(key) for key in ("guarantee", "data") if key in study.value)):
        if not isinstance(place.value, dict):
            raise place.wrong("this is no table of keys", "give the file of a study")
    top = study.table(("schema", "guarantee", "data"), tuple(study.value))
    total = {"epsilon": epsilon, "delta": delta}
    guarantee = {**study.value["guarantee"], **{key: each for key, each in total.items() if each is not None}}
    kept = {key: each for key, each in study.value.items() if key not in ("statistic", "edition", "follows")}
    data = {**top["data"].value, "query": query}
    return replace(study, value={**kept, "name": name, "guarantee": guarantee, "data": data})


def write(study: NewStudy) -> None:
    """Write a study's file, and create its ledger, which has room for one release of it.

    Raises `InputError` or `LedgerError` where either cannot be made, and then leaves neither.
    """
    from dpaccount.ledger.ledger import init

    path, ledger = study.files
    study.claim()
    create(path, study.text())
    total = {"epsilon": shown(study.epsilon), "delta": shown(study.share)}
    try:
        init(f"sqlite:///{ledger}", **total, unit=study.protected, relation=study.relation)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def create(path: Path, text: str) -> None:
    """Write a new file; raises `InputError` where it is there, or cannot be."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", "give a name in a folder where one may write") from None


@lru_cache
def in_words(epsilon: Fraction, delta: Fraction) -> str:
    """Return what a total means: how often an attacker who knows all others' data is right at most."""
    known = Accountant(Approximate(epsilon=epsilon, delta=delta)).risk(DISTANCE, ())
    often = f"{right(known)} of the time (by chance 50 %)"
    return f"an attacker who knows all other units is right about one {often}"


def _declared(answer: str, marks: Mapping[str, str]) -> Said:
    """Return the declaration that an answer makes: a type with bounds or values."""
    word, _, terms = answer.strip().partition(" ")
    kind, terms = OTHER_NAMES.get(word.lower(), word.lower()), terms.strip()
    low, to, high = (part.strip() for part in terms.partition(" to "))
    if kind in NUMERIC_KINDS and to:
        numbers = {"decimal", "thousands"} & marks.keys()
        ends = {"low": exact_argument("low", low), "high": exact_argument("high", high)}
        return {"type": kind, **ends, **{mark: marks[mark] for mark in sorted(numbers)}}
    if kind == "date" and to:
        form = {"date_format": marks["date_format"]} if "date_format" in marks else {}
        return {"type": kind, "low": low, "high": high, **form}
    if kind == "category" and terms:
        values = [value.strip() for value in terms.split(",")]
        listed = [value for value in values if value != "other"]
        return {"type": kind, "values": listed, **({"other": True} if "other" in values else {})}
    if kind in ("boolean", "text") and not terms:
        return {"type": kind}
    raise InputError(f"{answer.strip()[:60]!r} declares no column", f"say {ANSWERS}")


# ------------------------------------------------------------------ as TOML


def as_toml(table: Mapping[str, object], at: tuple[str, ...] = ()) -> list[str]:
    """Return the lines of a TOML file: values, then tables, those of tables alone without nesting."""
    inner = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    lines = [f"{_key(key)} = {_value(value)}" for key, value in table.items() if key not in inner]
    for key, value in inner.items():
        rows = value if all(isinstance(each, Mapping) for each in value.values()) else None
        own = (
            [f"{_key(name)} = {_value(each)}" for name, each in rows.items()]
            if rows
            else as_toml(value, (*at, key))
        )
        lines += ["", f"[{'.'.join(map(_key, (*at, key)))}]", *own]
    return lines


def _value(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case Fraction():
            return shown(value) if NUMBER.fullmatch(shown(value)) else _text(shown(value))
        case Mapping():
            return f"{{ {', '.join(f'{_key(key)} = {_value(each)}' for key, each in value.items())} }}"
        case str():
            return _text(value)
        case Sequence():
            return f"[{', '.join(map(_value, value))}]"
    return str(value)


def _key(name: str) -> str:
    return name if BARE_KEY.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
