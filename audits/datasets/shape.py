"""Shapes of datasets for a user's function, and their neighbouring relation."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from audits.claim import RELATIONS
from audits.datasets.forms import MAX_NUMBERS
from audits.datasets.frame import Frame
from dpaccount.documents import Place
from dpaccount.errors import InputError
from dpaccount.relation import Adjacency, check_radius, stated
from mechanisms.subject import Domain

Data = NDArray[Any]  #: (rows,) or (rows, columns), float64 or int64

MAX_ENTRY = Fraction(10) ** 300


@dataclass(frozen=True)
class Shape:
    """Datasets of `rows` records: a vector where `columns` is None, else a matrix.

    Every entry of column j lies in [low[j], high[j]].  A number of rows that varies does so by one
    around `rows`, and any smaller one may occur.  `radius` is the relation's, in ℓ2.
    """

    rows: int
    columns: int | None
    low: tuple[float, ...]
    high: tuple[float, ...]
    integer: bool
    relation: str
    radius: float | None = None

    def __post_init__(self) -> None:
        if self.rows < 1 or (self.columns is not None and self.columns < 1):
            raise InputError("a dataset has at least one row and one column", "give positive numbers")
        if self.rows * (self.columns or 1) > MAX_NUMBERS:
            raise InputError(f"a dataset of more than {MAX_NUMBERS} numbers", "describe a smaller one")
        for low, high in zip(self.low, self.high, strict=True):
            if low > high:
                raise InputError(f"low {low} is above high {high}", "exchange them")
            if self.integer and np.floor(high) < np.ceil(low):
                raise InputError(f"no integer lies between {low} and {high}", "widen the bounds")
        if self.relation not in RELATIONS:
            raise InputError(f"unknown relation {self.relation!r}", f"known: {', '.join(RELATIONS)}")
        check_radius(self.relation, given=self.radius is not None)

    @property
    def width(self) -> int:
        """Return the numbers in one record."""
        return self.columns or 1

    @property
    def adjacency(self) -> Adjacency:
        """Return the neighbouring relation's class, with the radius as a double."""
        return stated(self.relation, None if self.radius is None else Fraction(self.radius))

    def domain(self, rows: int | None = None) -> Domain:
        """Return the domain of the search for neighbours, with another number of rows if given."""
        kinds = (self.integer,) * self.width
        low, high = (np.array(ends) for ends in (self.low, self.high))
        if self.integer:
            low, high = np.ceil(low), np.floor(high)
        ends = tuple(low.tolist()), tuple(high.tolist())
        return Domain(self.rows if rows is None else rows, *ends, kinds)

    def data(self, rows: NDArray[np.float64]) -> Data:
        """Return records (one a row) as the function takes them."""
        typed: Data = rows.astype(np.int64) if self.integer else rows.astype(np.float64)
        return typed[:, 0].copy() if self.columns is None else typed

    def records(self, data: Data) -> NDArray[np.float64]:
        """Return a dataset as records, one a row."""
        return data.astype(np.float64).reshape(len(data), self.width)

    @property
    def layout(self) -> None:
        """Return None: the function gets the array."""
        return

    def landmarks(self, column: int) -> list[float]:
        """Return values of a column at which things happen, the plainest first."""
        domain = self.domain()
        low, high = domain.low[column], domain.high[column]
        inner = [x for x in (0.0, 1.0, -1.0) if low <= x <= high]
        candidates = [*inner, low, high, (low + high) / 2]
        return list(dict.fromkeys(float(np.floor(x)) if self.integer else x for x in candidates))

    def literal(self, data: Data) -> str:
        """Return Python that makes a dataset."""
        return f"np.array({data.tolist()}, dtype=np.{data.dtype}).reshape({data.shape})"

    def shown(self, left: Data, right: Data) -> dict[str, object]:
        """Return two neighbours for a witness, whole."""
        return {"left": left.tolist(), "right": right.tolist()}

    def neighbours(self, left: Data, right: Data) -> bool:
        """Return whether two datasets are neighbours under the relation."""
        return self.adjacency.adjacent(self.records(left), self.records(right))


#: Datasets and their neighbours; the search sees records, one a row.  No request takes them to a process.
if TYPE_CHECKING:
    Neighbourhood = Shape | Frame
else:
    Neighbourhood = Any


@dataclass(frozen=True)
class Described:
    """What datasets are, and a neighbouring pair where one is given."""

    shape: Neighbourhood
    pair: tuple[Data, Data] | None = None


ARRAY = ("shape", "low", "high", "dtype")  #: keys of an array's description


def array_shape(terms: Mapping[str, Place], relation: str, radius: Fraction | None) -> Shape:
    """Return the shape of an array: `terms` holds shape, low, high and, if it is not float, dtype."""
    sizes = [each.integer(1, MAX_NUMBERS) for each in terms["shape"].items()]
    if len(sizes) not in (1, 2):
        raise terms["shape"].wrong(f"found {len(sizes)} sizes", "give rows, or rows and columns")
    integer = "dtype" in terms and terms["dtype"].text("float", "int") == "int"
    columns = sizes[1] if len(sizes) == 2 else None
    low, high = (_ends(terms[key], columns or 1) for key in ("low", "high"))
    return Shape(sizes[0], columns, low, high, integer, relation, None if radius is None else float(radius))


def _ends(place: Place, columns: int) -> tuple[float, ...]:
    if isinstance(place.value, list):
        ends = [_double(each) for each in place.items()]
        if len(ends) != columns:
            raise place.wrong(f"found {len(ends)} bounds", f"give one number, or one for each of {columns}")
        return tuple(ends)
    return (_double(place),) * columns


def _double(place: Place) -> float:
    value = place.real()
    if abs(value) > MAX_ENTRY:
        raise place.wrong("a number too large for floating point", "use magnitudes up to 1e300")
    return float(value)


def read_dataset(place: Place, shape: Shape) -> Data:
    """Return the dataset that is written there; raises `InputError` if it is none of this shape."""
    rows = []
    for record in place.items():
        if shape.columns is None:
            rows.append([_double(record)])
            continue
        entries = [_double(each) for each in record.items()]
        if len(entries) != shape.columns:
            raise record.wrong(f"found {len(entries)} numbers", f"a record has {shape.columns}")
        rows.append(entries)
    array = np.array(rows, dtype=np.float64).reshape(len(rows), shape.width)
    if not shape.domain().contains(array):
        raise place.wrong("an entry outside the declared bounds or type", "give records that can occur")
    return shape.data(array)
