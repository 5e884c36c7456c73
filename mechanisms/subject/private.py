"""Private values: rows that leave only through a mechanism, and the one call that releases from them.

A guard against accidents, not a sandbox: code in the same process can always reach the rows.

>>> ages = Private([[31.0], [64.0], [47.0]])
>>> print(ages)
Traceback (most recent call last):
    ...
dpaccount.errors.InputError: a Private value cannot be shown; use release(mechanism, value, ledger, purpose)
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpaccount.errors import InputError
from dpaccount.ledger.ledger import Ledger
from mechanisms.subject import Rows, Subject, View
from mechanisms.subject.isolation import played

Change = Callable[[NDArray[np.float64]], ArrayLike]  #: a function of one row

TRIED: Final = (0.0, 1.0, 0.5)  #: synthetic rows on which a row-wise function is tried

_WAY_OUT: Final = "use release(mechanism, value, ledger, purpose)"


class Private:
    """Rows of private numbers, one unit each; wraps a whole batch at once.

    A vector of numbers counts as one column.  The rows are copied, so that no other code changes
    them.  Raises `InputError` for anything but a table of numbers.
    """

    __slots__ = ("_bounds", "_rows")

    def __init__(self, rows: ArrayLike) -> None:
        try:
            table = np.array(rows, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("private rows must be numbers in a table", "found something else") from None
        if table.ndim == 1:
            table = table[:, None]
        if table.ndim != 2:
            raise InputError(f"private rows have {table.ndim} dimensions", "needed rows and columns")
        table.flags.writeable = False
        self._rows: Rows = table
        self._bounds: tuple[float, float] | None = None

    def rowwise(
        self,
        change: Change,
        low: Fraction | int,
        high: Fraction | int,
        *,
        columns: int | None = None,
        missing: Fraction | int = 0,
    ) -> "Private":
        """Return the rows after `change`, one by one, clipped to the public [low, high].

        This preserves the privacy unit.  `change` receives a copy of one row and returns `columns`
        numbers (default: as many as it receives), so that an empty dataset is handled like any
        other.  If it fails or returns a different number of them, the row becomes the public
        `missing` (0 by default); so does NaN.  An exception would reveal the row.  `low` and `high`
        must be the bounds of the mechanism used for the release.  Raises `InputError` if `change`
        fails on synthetic rows on which it is tried, independently of the private ones.
        """
        least, most = _public("low", low), _public("high", high)
        if least > most:
            raise InputError("low is above high", "give the bounds in order")
        width = self._rows.shape[1] if columns is None else columns
        if len(self._rows):
            _check_change(change, self._rows.shape[1], width)
        default = np.full(width, _public("missing", missing))
        changed = [_or_default(change, row, default) for row in self._rows]
        table = np.array(changed).reshape(len(changed), width)
        mapped = Private(np.clip(np.where(np.isnan(table), default, table), least, most))
        mapped._bounds = least, most
        return mapped


def _public(name: str, value: Fraction | int) -> float:
    """Return a public constant as a double; raises `InputError` if it is not a finite number."""
    try:
        number = float(value) if isinstance(value, Fraction | int | float | np.number) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{name} is no finite number within the doubles", "give a public one")
    return number


def _check_change(change: Change, width: int, columns: int) -> None:
    """Refuse a function that fails on all synthetic rows, or does not return `columns` numbers."""
    lengths, why = set(), ""
    for value in TRIED:
        try:
            lengths.add(np.array(change(np.full(width, value)), dtype=np.float64).size)
        except Exception as error:  # a user's function may raise anything
            why = type(error).__name__
    if not lengths:
        raise InputError(
            f"the row-wise function raises {why} on every row made up to try it", "let it return numbers"
        ) from None
    if lengths != {columns}:
        widths = " or ".join(map(str, sorted(lengths)))
        raise InputError(
            f"the row-wise function returns {widths} numbers",
            f"return one length, and declare it: columns={columns}",
        )


def _or_default(change: Change, row: NDArray[np.float64], default: NDArray[np.float64]) -> Rows:
    try:
        changed = np.array(change(row.copy()), dtype=np.float64).ravel()
    except (Exception, SystemExit):  # an exception would reveal the row
        return default
    return changed if changed.shape == default.shape else default


def _check_bounds(value: Private, mechanism: Subject) -> None:
    """Refuse rows that were clipped to other bounds than the mechanism's: it would clip them again.

    Bounds are public, so this reveals nothing.  A mechanism without `low` and `high` accepts rows
    from its whole domain.
    """
    if value._bounds is None:
        return
    (low, high), domain = value._bounds, mechanism.domain()
    own = _interval(mechanism)
    least, most = own or (min(domain.low), max(domain.high))
    agree = (low, high) == own if own else least <= low and high <= most
    if not agree:
        raise InputError(
            f"rows were mapped into [{low:g}, {high:g}], but the mechanism takes [{least:g}, {most:g}]",
            "give both the same bounds",
        )


def _interval(mechanism: Subject) -> tuple[float, float] | None:
    """Return the interval to which a mechanism clips numbers, if it has one."""
    own = [getattr(mechanism, name, None) for name in ("low", "high")]
    bounds = [float(bound) for bound in own if isinstance(bound, int | float | Fraction)]
    return (bounds[0], bounds[1]) if len(bounds) == len(own) else None


def release(
    mechanism: Subject,
    value: Private,
    ledger: Ledger,
    purpose: str,
    delta: Fraction | int = 0,
    *,
    cover: tuple[int, int] | None = None,
    key: str | None = None,
    coins: int = 0,
) -> View:
    """Validate the shape of `value`, charge `ledger` for the proof, run `mechanism`; return its output.

    `purpose`: the text of the ledger's entry.
    `delta`: that of the proof, in [0, 1).
    `cover`: the rows' units, (first, last): at least as many as the mechanism's public number of rows, which
    under add-remove is its limit, whatever the private number is.  None: all units pay.
    `key`: makes the charge idempotent.
    `coins`: the seed of the mechanism's public coins.
    Raises `InputError` (nothing charged) for data of a wrong shape, and what `Ledger.charge` raises.  Values
    out of range are not an error: rows are clamped to the mechanism's domain, one by one.
    """
    if not isinstance(value, Private):
        raise InputError(f"release takes a Private value, found {type(value).__name__}", "wrap it first")
    rows = value._rows  # the one place that opens a Private value
    _check_bounds(value, mechanism)
    domain = mechanism.domain()
    domain.admit(rows, mechanism.relation)
    rows = domain.clamped(rows)  # the mechanism never receives data outside of its tested domain
    theorem = mechanism.proof(Fraction(delta))
    receipt = ledger.charge(theorem, purpose, cover, key, reads=domain.rows)
    return played(mechanism, rows, receipt, coins)


_MISUSE: Final = {
    "shown": ("__repr__", "__str__", "__format__", "__bytes__"),
    "compared": ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__bool__"),
    "indexed or counted": ("__getitem__", "__iter__", "__len__", "__contains__", "__reversed__"),
    "converted": ("__array__", "__float__", "__int__", "__complex__", "__index__", "__array_ufunc__"),
    "calculated with": (
        *("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__"),
        *("__rtruediv__", "__matmul__", "__rmatmul__", "__pow__", "__neg__", "__abs__", "__round__"),
    ),
    "pickled or copied": ("__reduce_ex__", "__reduce__", "__getstate__", "__copy__", "__deepcopy__"),
    "changed": ("__setitem__", "__delitem__"),
}


def _refusing(what: str) -> Callable[..., NoReturn]:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise InputError(f"a Private value cannot be {what}", _WAY_OUT)

    return refuse


# Set on the class one by one: Python looks such methods up there, and never asks `__getattr__`.
for _what, _names in _MISUSE.items():
    for _name in _names:
        setattr(Private, _name, _refusing(_what))
