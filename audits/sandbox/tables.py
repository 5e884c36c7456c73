"""Splits results that are tables of pandas or Polars into keys and plain members.

No library is imported here: code that returns a table has imported its library.  Types that are not known
to be read completely (dates with time zones, extension types, own attributes) are refused like other objects.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class TableContent:
    """A table: its `kind`, other attributes (`about`: types, names) as texts, and its members by key."""

    kind: str
    about: tuple[str, ...]
    members: list[tuple[Any, Any]]


def is_table(value: object) -> bool:
    """Return whether a value is an object of pandas or Polars."""
    return type(value).__module__.partition(".")[0] in ("pandas", "polars")


def table_content(value: Any) -> TableContent | None:
    """Return a table's keys and members; None if it cannot be read completely."""
    library, kind = type(value).__module__.partition(".")[0], type(value).__name__
    known = {"pandas": _pandas, "polars": _polars}[library]
    # Attributes that code added to a table could carry data that no cell shows.
    own = [name for name in getattr(value, "__dict__", ()) if not name.startswith("_")]
    return None if set(own) - {"sortorder"} else known(value, kind)


def _pandas(value: Any, kind: str) -> TableContent | None:
    if kind == "NAType":
        return TableContent(kind, (), [])
    if kind == "DataFrame":
        columns = [(label, value.iloc[:, place]) for place, label in enumerate(_labels(value.columns))]
        about = [_index_about(value.columns), _index_about(value.index), _more(value)]
        return _content(f"{kind}{len(value)}", "", about, columns)
    members = _values(value) if kind.endswith("Index") or kind == "Series" else None
    if members is None:
        return None
    if kind != "Series":
        return _content(f"{kind}{len(value)}", "", [_index_about(value)], enumerate(members))
    about = [repr(value.name), _index_about(value.index), _more(value)]
    cells = zip(_labels(value.index), members, strict=True)
    return _content(f"{kind}{len(value)}", _dtype_about(value), about, cells)


def _content(kind: str, dtype: str, about: list[Any], members: Iterable[tuple[Any, Any]]) -> TableContent:
    about_texts = tuple(text.replace(" ", "\\x20") for text in (dtype, repr(about)) if text)
    return TableContent(kind, about_texts, list(members))


def _more(value: Any) -> str:
    """Return a table's attributes other than its cells."""
    return repr((value.attrs, value.flags.allows_duplicate_labels))


def _labels(index: Any) -> list[Any]:
    labels = _values(index)
    return index.tolist() if labels is None else labels


def _index_about(index: Any) -> list[Any]:
    """Return an index's attributes other than labels: names, and possibly unused levels."""
    levels = [repr(level.tolist()) for level in getattr(index, "levels", ())]
    freq = repr(getattr(index, "freq", None))
    return [type(index).__name__, _dtype_about(index), repr(list(index.names)), levels, freq]


def _dtype_about(series: Any) -> str:
    categories = getattr(series.dtype, "categories", None)
    if categories is None:
        return f"{series.dtype}"
    return f"{series.dtype} {categories.tolist()!r} {series.dtype.ordered}"


def _values(series: Any) -> list[Any] | None:
    """Return the cells of a series or the labels of an index as Python values, if known."""
    if type(series).__name__ == "MultiIndex":
        return series.tolist()
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "mM":
        return series.to_numpy().view(np.int64).tolist()
    mask = getattr(series.array, "_mask", None)
    if mask is not None:  # masked values could leak too
        return list(zip(mask.tolist(), series.array._data.tolist(), strict=True))
    plain = isinstance(dtype, np.dtype) or type(dtype).__name__ in ("StringDtype", "CategoricalDtype")
    return series.tolist() if plain else None


def _polars(value: Any, kind: str) -> TableContent | None:
    if kind == "DataFrame":
        columns = [(name, value[name]) for name in value.columns]
        return _content(f"{kind}{len(value)}", "", [], columns)
    if kind == "Series":
        about = [value.name, value.flags, value.n_chunks()]
        return _content(f"{kind}{len(value)}", str(value.dtype), about, enumerate(value.to_list()))
    return None
