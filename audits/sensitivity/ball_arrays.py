"""Arrays of balls that support the NumPy and Python functions which a query in a proof may use.

These are arithmetic, comparisons that the balls decide, the functions of `balls.FUNCTIONS`, sums, means,
variances, minima, maxima, sorting, medians, norms and matrix products.  Importing this module also makes
NumPy's functions accept single balls.
"""

import builtins
import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from audits.sensitivity.balls import FUNCTIONS, Ball, Unsupported, lifted, maximum, minimum


class Balls(np.ndarray[Any, np.dtype[Any]]):
    """An array of balls."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **settings: Any) -> Any:
        """Apply a function entry by entry, or reduce by it."""
        return applied(ufunc, method, inputs, settings)

    def __array_function__(self, function: Any, types: Any, inputs: Any, settings: Any) -> Any:
        """Apply a NumPy function; those that compare or convert numbers are replaced."""
        ours = ARRAY_FUNCTIONS.get(function.__name__)
        if ours is not None:
            return ours(*inputs, **settings)
        return super().__array_function__(function, types, inputs, settings)

    def astype(self, dtype: Any, *_: Any, **__: Any) -> "Balls":
        """Return a copy for a real type; raises `Unsupported` for others."""
        if np.dtype(dtype).kind not in "fO":
            raise Unsupported(f"turns entries into {np.dtype(dtype).name}")
        return self.copy()


def array(entries: Sequence[Any], shape: tuple[int, ...]) -> Balls:
    """Return an array of balls."""
    whole = np.empty(len(entries), dtype=object)
    whole[:] = entries
    return whole.reshape(shape).view(Balls)


def applied(ufunc: np.ufunc, method: str, inputs: Sequence[Any], settings: dict[str, Any]) -> Any:
    """Apply a ufunc to balls; raises `Unsupported` for unknown ones."""
    outs = settings.pop("out", None)
    settings.pop("dtype", None)
    if settings.pop("where", True) is not True:
        raise Unsupported("uses where=")
    function: Any = ufunc
    if ufunc.__name__ in FUNCTIONS:
        function = np.frompyfunc(*FUNCTIONS[ufunc.__name__], 1)
        settings = {key: settings[key] for key in ("axis", "keepdims") if key in settings}
    try:
        result = getattr(function, method)(*map(_bare, inputs), **settings)
    except TypeError as error:
        raise Unsupported(f"uses np.{ufunc.__name__} ({error})") from None
    if outs is not None:
        _bare(outs[0])[...] = result
        return outs[0]
    return result.view(Balls) if isinstance(result, np.ndarray) and result.dtype == object else result


# set here, since `balls` cannot import this module
Ball.__array_ufunc__ = Balls.__array_ufunc__  # type: ignore[attr-defined]


def _bare(value: Any) -> Any:
    if isinstance(value, Ball):
        scalar = np.empty((), dtype=object)
        scalar[()] = value
        return scalar
    return value.view(np.ndarray) if isinstance(value, Balls) else value


def _ordered(values: Any) -> list[Ball]:
    """Return entries sorted by a bubble-sort network, whose minima and maxima are enclosures in any order."""
    line = [lifted(value) for value in values]
    for done in range(len(line)):
        for k in range(len(line) - 1 - done):
            line[k], line[k + 1] = minimum(line[k], line[k + 1]), maximum(line[k], line[k + 1])
    return line


def _sort(a: Any, axis: int = -1) -> Any:
    if np.ndim(a) != 1:
        raise Unsupported("sorts an array of several dimensions")
    return array(_ordered(a), (len(a),))


def _median(a: Any, axis: Any = None) -> Any:
    if axis is not None and np.ndim(a) != 1:
        raise Unsupported("takes medians along an axis")
    line = _ordered(np.ravel(a))
    return (line[(len(line) - 1) // 2] + line[len(line) // 2]) / 2


def _norm(x: Any, ord: Any = None, axis: Any = None) -> Any:  # noqa: A002  # NumPy's name
    if ord not in (None, 1, 2, np.inf) or (ord is not None and axis is None and np.ndim(x) != 1):
        raise Unsupported(f"uses np.linalg.norm of order {ord}")
    if ord == 1:
        return np.abs(x).sum(axis=axis)
    return np.abs(x).max(axis=axis) if ord == np.inf else np.sqrt((x * x).sum(axis=axis))


ARRAY_FUNCTIONS: dict[str, Callable[..., Any]] = {"sort": _sort, "median": _median, "norm": _norm}


class _RealType(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, builtins.float | Ball)


class Real(float, metaclass=_RealType):
    """Replaces `float` in a query: leaves balls unchanged."""

    def __new__(cls, value: Any = 0.0) -> Any:
        """Return a ball unchanged, anything else as a float."""
        if isinstance(value, np.ndarray) and value.size == 1 and value.dtype == object:
            value = value.item()
        return value if isinstance(value, Ball) else builtins.float(value)


def _extreme(plain: Callable[..., Any], pick: Callable[[Any, Any], Ball]) -> Callable[..., Any]:
    def chosen(*values: Any, **settings: Any) -> Any:
        line = list(values[0]) if len(values) == 1 else list(values)
        if settings or not any(isinstance(value, Ball) for value in line):
            return plain(*([line] if len(values) == 1 else values), **settings)
        extreme = line[0]
        for value in line[1:]:
            extreme = pick(extreme, value)
        return extreme

    return chosen


def _either(plain: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    def chosen(*values: Any) -> Any:
        return (ours if any(isinstance(value, Ball) for value in values) else plain)(*values)

    return chosen


_SAME = ("sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tanh", "fabs")
#: the functions of the math module that take balls, by its names
MATH: dict[str, Callable[..., Any]] = {
    **{name: FUNCTIONS[name][0] for name in _SAME},
    **{"atan": FUNCTIONS["arctan"][0], "pow": FUNCTIONS["power"][0]},
}


class _Math:
    """Python's math module, with functions that take balls too."""

    def __getattr__(self, name: str) -> Any:
        plain = getattr(math, name)
        return _either(plain, MATH[name]) if name in MATH else plain


@contextlib.contextmanager
def accepting_balls(function: Any) -> Iterator[None]:
    """Let `float`, `min`, `max` and the math module accept balls in the module of a function."""
    names: dict[str, Any] = getattr(function, "__globals__", {})
    changed: dict[str, Any] = {
        "float": Real, "max": _extreme(max, maximum), "min": _extreme(min, minimum)
    }  # fmt: skip
    changed = {name: value for name, value in changed.items() if name not in names}
    for name, value in names.items():
        if value is math:
            changed[name] = _Math()
        for plain, ours in MATH.items():
            if value is getattr(math, plain):
                changed[name] = _either(value, ours)
    kept = {name: names[name] for name in changed if name in names}
    names.update(changed)
    try:
        yield
    finally:
        for name in changed:
            del names[name]
        names.update(kept)
