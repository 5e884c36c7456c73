"""Forms of a dataset for a user's function: an array, a dictionary of columns, a data frame.

A dataset is sent as a matrix of codes, and converted here to the function's argument.  The types of
columns follow from the declaration alone, never from the cells: a column that may have missing cells has
the same type if none is missing.  pandas and Polars are imported only if needed.
"""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError

FORMS: Final = ("array", "dict", "pandas", "polars")
MAX_NUMBERS: Final = 1_000_000  #: of a dataset
MISSING: Final = -(2.0**60)  #: the code of a missing cell in a matrix of codes; no bound reaches it
NUMERIC: Final = ("number", "integer", "boolean")

Matrix = NDArray[Any]  #: a row per row of the table: its owner's number, then a code for each column


def check_installed(form: str) -> None:
    """Raise `InputError` if the library of a form is not installed."""
    if form in ("pandas", "polars") and importlib.util.find_spec(form) is None:
        raise InputError(
            f'as = "{form}" needs {form}, which is not there', 'install dpaccount[frames] or say as = "dict"'
        )


@dataclass(frozen=True)
class CodedColumn:
    """The meaning of one column's codes: numbers, or indices into `texts`.  `gaps`: cells may be missing."""

    name: str
    kind: str
    texts: tuple[str, ...] = ()
    gaps: bool = False

    def values(self, codes: Matrix) -> list[Any]:
        """Return the cells as Python values, None if one is missing."""
        convert: dict[str, Callable[[float], Any]] = {"number": float, "integer": int, "boolean": bool}

        def text(code: float) -> str:
            return self.texts[int(code)]

        value = convert.get(self.kind, text)
        return [None if code == MISSING else value(code) for code in codes.tolist()]

    def numbers(self, codes: Matrix) -> NDArray[np.float64]:
        """Return the codes with NaN where a cell is missing."""
        return np.where(codes == MISSING, np.nan, codes)

    def array(self, codes: Matrix) -> NDArray[Any]:
        """Return the cells as one array: numbers with NaN for missing ones, others with None."""
        # By the declaration: a type that followed from the cells could differ between neighbours.
        if self.kind == "number" or (self.kind == "integer" and self.gaps):
            return self.numbers(codes)
        kinds: dict[str, Any] = {"integer": np.int64, "boolean": object if self.gaps else np.bool_}
        array = np.empty(len(codes), dtype=kinds.get(self.kind, object))
        array[:] = self.values(codes)
        return array


@dataclass(frozen=True)
class Layout:
    """How a matrix becomes a dataset of `form`: its columns, and the names of the rows' `owners`.

    `owner` is the index of the `identity` column in the dataset, −1 if there is none.
    """

    form: str
    columns: tuple[CodedColumn, ...]
    identity: str | None = None
    owner: int = -1
    owners: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Return the names of the dataset's columns, in order."""
        return [cells.name for cells, _ in self.coded(np.zeros((0, 1 + len(self.columns))))]

    def coded(self, matrix: Matrix) -> list[tuple[CodedColumn, Matrix]]:
        """Return every column of the dataset, in order, with its codes."""
        coded = [(cells, matrix[:, 1 + place]) for place, cells in enumerate(self.columns)]
        if self.identity is not None:
            owner = CodedColumn(self.identity, "text", self.owners)
            coded = [each for each in coded if each[0].name != self.identity]
            coded.insert(self.owner, (owner, matrix[:, 0]))
        return coded

    def rows(self, matrix: Matrix) -> list[dict[str, Any]]:
        """Return the rows as a reader sees them: a dictionary of cells each."""
        columns = {cells.name: cells.values(codes) for cells, codes in self.coded(matrix)}
        return [{name: cells[k] for name, cells in columns.items()} for k in range(len(matrix))]

    def dataset(self, matrix: Matrix) -> Any:
        """Return the dataset that the function gets."""
        coded = self.coded(matrix)
        if self.form == "array":
            return np.stack([cells.numbers(codes) for cells, codes in coded], axis=1)
        if self.form == "pandas":
            return _pandas(coded)
        if self.form == "polars":
            return _polars(coded)
        return {cells.name: cells.array(codes) for cells, codes in coded}

    def literal(self, matrix: Matrix) -> str:
        """Return Python that makes the dataset, for a reader who wants to run the function on it."""
        if self.form == "array":
            numbers = ", ".join(map(str, self.dataset(matrix).tolist())).replace("nan", "np.nan")
            return f"np.array([{numbers}]).reshape({len(matrix)}, -1)"
        columns = ", ".join(
            f"{cells.name!r}: {self._one(cells, codes)}" for cells, codes in self.coded(matrix)
        )
        return {"pandas": "pd.DataFrame({%s})", "polars": "pl.DataFrame({%s})"}.get(
            self.form, "{%s}"
        ) % columns

    def _one(self, cells: CodedColumn, codes: Matrix) -> str:
        values = cells.values(codes)
        if self.form == "polars":
            kinds = {"number": "Float64", "integer": "Int64", "boolean": "Boolean"}
            return f"pl.Series({values}, dtype=pl.{kinds.get(cells.kind, 'String')})"
        if cells.kind in NUMERIC[:2]:
            made = ", ".join("np.nan" if value is None else repr(value) for value in values)
            return f"np.array([{made}], dtype=np.{cells.array(codes).dtype})"
        text = "pd.Series" if self.form == "pandas" else "np.array"
        kind = "bool" if cells.kind == "boolean" and not cells.gaps else "object"
        kind = "str" if self.form == "pandas" and cells.kind not in NUMERIC else kind
        return f"{text}({values}, dtype={kind})"


def _pandas(coded: list[tuple[CodedColumn, Matrix]]) -> Any:
    import pandas as pd

    def column(cells: CodedColumn, codes: Matrix) -> Any:
        if cells.kind in NUMERIC:
            return cells.array(codes)
        shown = [np.nan if cell is None else cell for cell in cells.values(codes)]
        return pd.Series(shown, dtype=pd.Series(["text"]).dtype)  # the type that reading a file gives

    return pd.DataFrame({cells.name: column(cells, codes) for cells, codes in coded})


def _polars(coded: list[tuple[CodedColumn, Matrix]]) -> Any:
    import polars as pl

    kinds = {"number": pl.Float64, "integer": pl.Int64, "boolean": pl.Boolean}
    return pl.DataFrame(
        [
            pl.Series(cells.name, cells.values(codes), dtype=kinds.get(cells.kind, pl.String))
            for cells, codes in coded
        ]
    )


@dataclass(frozen=True)
class Given:
    """A dataset, of which every run gets a copy."""

    dataset: Any

    def fresh(self) -> Any:
        """Return a copy that a run may change."""
        if isinstance(self.dataset, dict):
            return {name: column.copy() for name, column in self.dataset.items()}
        polars = type(self.dataset).__module__.startswith("polars.")
        return self.dataset.clone() if polars else self.dataset.copy()

    def changed(self, given: Any) -> bool:
        """Return whether a run changed its copy."""
        try:
            return not _alike(self.dataset, given)
        except Exception:  # no longer comparable
            return True


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return list(one) == list(other) and all(_alike(one[name], other[name]) for name in one)
    if not isinstance(one, np.ndarray):
        return bool(one.equals(other))
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(one.tolist() == other.tolist() if one.dtype == object else one.tobytes() == other.tobytes())
