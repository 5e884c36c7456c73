"""A claim's declaration of its table: columns, how many rows or persons, whose rows they are."""

from dataclasses import dataclass
from unicodedata import normalize

from dpaccount.documents import Place
from dpaccount.errors import InputError
from mechanisms.table.columns import Column, read_columns

MAX_ROWS = 10**9
MOST_OF_ONE = 1000  #: rows of one person that may count

#: of ``[data]``: names in certificates, and in files, which may have either
FILE_WORDS = {"rows": "max_units", "id": "unit_column", "max_rows": "max_contributions"}
KEYS = (*FILE_WORDS, "columns")


@dataclass(frozen=True)
class Table:
    """A declared table.

    Without `identity`, the name of a column, a row is a unit and `rows` counts rows; with it the rows of
    one identity are one person's, `rows` counts persons, and at most `max_rows` of a person count.
    Under replace-one that number is public, and so is who is in the table; under add-remove it is the
    most there may be.  The `derived` columns are in no file: they follow from the others.
    """

    columns: tuple[Column, ...]
    rows: int
    identity: str | None = None
    max_rows: int = 1
    derived: tuple[Column, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what declares no table."""
        if not 1 <= self.rows <= MAX_ROWS:
            raise InputError(f"rows is {self.rows}", f"needed 1 to {MAX_ROWS}")
        if self.identity is None and self.max_rows != 1:
            raise InputError("max_rows goes with id", "name the column of identities")
        if not 1 <= self.max_rows <= MOST_OF_ONE:
            raise InputError(f"max_rows is {self.max_rows}", f"needed 1 to {MOST_OF_ONE}")
        known: dict[str, str] = {}
        for name in (*(column.name for column in self.every), *([self.identity] if self.identity else [])):
            other = known.setdefault(normalize("NFKC", name), name)
            if other != name:
                what = f"the columns {other!r} and {name!r} are one name after Unicode's normalisation NFKC"
                raise InputError(what, "rename one, in the data too")

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the declared columns, which the file must have."""
        return tuple(column.name for column in self.columns)

    @property
    def every(self) -> tuple[Column, ...]:
        """Return all columns, those that are derived too."""
        return (*self.columns, *self.derived)

    def column(self, name: str) -> Column:
        """Return the column of this name; raises `InputError` with those there are."""
        for column in self.every:
            if column.name == name:
                return column
        names = ", ".join(column.name for column in self.every)
        raise InputError(f"no column {name[:60]!r} is declared", f"declared: {names}")

    def named_at(self, place: Place) -> Column:
        """Return the column that a claim names at a place."""
        with place.placing():
            return self.column(place.text())


def word(place: Place, kept: str) -> str:
    """Return the key by which ``[data]`` says what is `kept` in certificates, or by which it would."""
    given, said = place.value.keys(), FILE_WORDS[kept]
    if {kept, said} <= given:
        raise place.wrong(f"both {said} and {kept} are given", f"say {said}")
    return kept if kept in given or (said not in given and FILE_WORDS.keys() & given) else said


def read_table(place: Place) -> Table:
    """Return the table that ``[data]`` declares by `KEYS`; raises `InputError` with the key that is wrong."""
    rows, owner, most = (word(place, kept) for kept in FILE_WORDS)
    for key, right in (("columns", "declare the table's columns"), (rows, "give it")):
        if key not in place.value:
            raise place.wrong(f"the key {key!r} is missing", right)
    columns = read_columns(place.child("columns"))
    identity = place.child(owner).text() if owner in place.value else None
    units = place.child(rows).integer(1, MAX_ROWS)
    limit = place.child(most).integer(1, MOST_OF_ONE) if most in place.value else 1
    if identity is None and limit != 1:
        raise place.child(most).wrong(f"{most} goes with {owner}", "name the column of identities")
    with place.placing():
        return Table(columns, units, identity, limit)
