"""Private values: rows that leave only through a mechanism, and the one call that releases from them.

A guard against accidents, not a sandbox: code in the same process can always reach the rows.

>>> ages = Private([[31.0], [64.0], [47.0]])
>>> print(ages)
Traceback (most recent call last):
    ...
dpaccount.errors.InputError: a Private value cannot be shown; use release(mechanism, value, ledger, purpose)
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Final, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpaccount.errors import InputError
from dpaccount.ledger.ledger import Ledger
from mechanisms.playing import played
from mechanisms.subject import Rows, Subject, View

_WAY_OUT: Final = "use release(mechanism, value, ledger, purpose)"


class Private:
    """Rows of private numbers, one unit each; wraps a whole batch at once.

    A vector of numbers counts as one column.  The rows are copied, so that nobody else changes them.
    Raises `InputError` for what is not a table of numbers.
    """

    __slots__ = ("_rows",)

    def __init__(self, rows: ArrayLike) -> None:
        try:
            table = np.array(rows, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("private rows must be numbers in a table; found something else") from None
        if table.ndim == 1:
            table = table[:, None]
        if table.ndim != 2:
            raise InputError(f"private rows have {table.ndim} dimensions; needed rows and columns")
        table.flags.writeable = False
        self._rows: Rows = table

    def rowwise(
        self, change: Callable[[NDArray[np.float64]], ArrayLike], low: Fraction | int, high: Fraction | int
    ) -> "Private":
        """Return the rows after `change`, each seen by itself and clipped to the public [low, high].

        Units stay units: `change` gets a copy of one row and returns a number or a vector, always of
        one length; NaN becomes 0, then everything is clipped.  Raises `InputError` where it fails,
        without saying on what.
        """
        if low > high:
            raise InputError("low is above high; give the bounds in order")
        changed = []
        for row in self._rows:
            try:
                changed.append(np.array(change(row.copy()), dtype=np.float64).ravel())
            except Exception as error:
                raise InputError(
                    f"the row-wise function raises {type(error).__name__} on some row; let it return numbers"
                ) from None
        if len({len(row) for row in changed}) > 1:
            raise InputError("the row-wise function returns vectors of several lengths; return one length")
        width = len(changed[0]) if changed else self._rows.shape[1]
        table = np.nan_to_num(np.array(changed).reshape(len(changed), width), nan=0.0)
        return Private(np.clip(table, float(low), float(high)))


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
    """Check the shape, charge the mechanism's proof at `delta`, run it on the rows; return what it shows.

    Raises `InputError` (nothing charged) for data of a wrong shape, and what `Ledger.charge` raises.
    Values out of range are no error: rows are clamped to the mechanism's domain, one by one.
    """
    if not isinstance(value, Private):
        raise InputError(f"release takes a Private value, found {type(value).__name__}; wrap it first")
    rows = value._rows  # the one place that opens a Private value
    domain = mechanism.domain()
    domain.admit(rows, mechanism.relation)
    rows = domain.clamped(rows)  # what a mechanism was never tested on does not reach it
    theorem = mechanism.proof(Fraction(delta))
    return played(mechanism, rows, ledger.charge(theorem, purpose, cover, key), coins)


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
        raise InputError(f"a Private value cannot be {what}; {_WAY_OUT}")

    return refuse


for _what, _names in _MISUSE.items():
    for _name in _names:
        setattr(Private, _name, _refusing(_what))
