"""Numbers that stand for every real of a ball, with derivatives: what a query is evaluated on in a proof.

A `Ball` holds an enclosure of a value (python-flint's `arb`, rounded outward), of its slopes in every
variable, and of its bends, the second derivatives that involve the changed record.  Where a function
has a corner (abs, min, max) the slope is Clarke's: all values between those on either side, with which the
mean value theorem still holds (Clarke 1983, Theorem 2.3.7); the bend is then unknown.

Arrays of balls take what a query in a proof may use of NumPy: arithmetic, comparisons that the balls decide,
the functions of `FUNCTIONS`, sums, means, variances, minima, maxima, sorting, medians, norms and matrix
products.
"""

import builtins
import contextlib
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, fmpq

Vector = tuple[arb, ...]
ZERO = arb(0)
EITHER = arb(0, 1)  #: slopes of abs at 0 lie within
UNKNOWN = arb("nan")


class Undecided(Exception):  # noqa: N818
    """Reals of one ball go different ways (a comparison, a root, a quotient); smaller balls may not."""


class Unsupported(Exception):  # noqa: N818
    """The query uses an operation that is not defined on balls; the text names it."""


def _both_ways(apply: Callable[["Ball", "Ball"], "Ball"]) -> tuple[Callable[["Ball", Any], Any], ...]:
    """Return an operator with a ball on its left, and on its right: of balls and of plain numbers."""

    def here(self: "Ball", other: Any) -> Any:
        return NotImplemented if (b := _lifted(other)) is None else apply(self, b)

    def there(self: "Ball", other: Any) -> Any:
        return NotImplemented if (b := _lifted(other)) is None else apply(b, self)

    return here, there


def _decided(holds: Callable[..., bool], fails: Callable[..., bool]) -> Callable[["Ball", object], bool]:
    """Return a comparison, which is undecided where reals of the balls compare in different ways."""

    def compared(self: "Ball", other: object) -> bool:
        if (b := _lifted(other)) is None or fails(self.value, b.value):
            return False
        if not holds(self.value, b.value):
            raise Undecided("a comparison")
        return True

    return compared


@dataclass(frozen=True, eq=False, slots=True)
class Ball:
    """An enclosure of a value and of its derivatives.

    Without slopes it is a constant.  `bends` has a row for every variable of the changed record, which
    come first among the slopes; None: not followed.  `positive`: the value is at least 0, even where
    the ball is not.
    """

    value: arb
    slopes: Vector = ()
    bends: Vector | None = ()
    positive: bool = False

    # ------------------------------------------------------------------ arithmetic

    def __add__(self, other: Any) -> Any:
        if (b := _lifted(other)) is None:
            return NotImplemented
        bends = None if self.bends is None or b.bends is None else _sum(self.bends, b.bends)
        both = self.positive and b.positive
        return Ball(self.value + b.value, _sum(self.slopes, b.slopes), bends, both)

    def __neg__(self) -> "Ball":
        bends = None if self.bends is None else _scaled(arb(-1), self.bends)
        return Ball(-self.value, _scaled(arb(-1), self.slopes), bends)

    def __mul__(self, other: Any) -> Any:
        """Return the product; of a ball with itself, its square."""
        if (b := _lifted(other)) is None:
            return NotImplemented
        if b is self:
            return _power(self, 2)
        slopes = _sum(_scaled(b.value, self.slopes), _scaled(self.value, b.slopes))
        bends = None
        if self.bends is not None and b.bends is not None:
            bends = _sum(_scaled(b.value, self.bends), _scaled(self.value, b.bends))
            bends = _sum(bends, _sum(_outer(self, b), _outer(b, self)))
        return Ball(self.value * b.value, slopes, bends, self.positive and b.positive)

    def __abs__(self) -> "Ball":
        return absolute(self)

    def __pos__(self) -> "Ball":
        return self

    __radd__, __rmul__ = __add__, __mul__
    __sub__, __rsub__ = _both_ways(lambda a, b: a + (-b))
    __truediv__, __rtruediv__ = _both_ways(lambda a, b: a * _reciprocal(b))
    __pow__, __rpow__ = _both_ways(lambda a, b: power(a, b))  # noqa: PLW0108  # it is defined below

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **settings: Any) -> Any:
        return applied(ufunc, method, inputs, settings)

    def conjugate(self) -> "Ball":
        """Return the number itself: it is real."""
        return self

    # ------------------------------------------------------------------ what must be decided

    __lt__, __le__ = _decided(operator.lt, operator.ge), _decided(operator.le, operator.gt)
    __gt__, __ge__ = _decided(operator.gt, operator.le), _decided(operator.ge, operator.lt)
    __eq__ = _decided(operator.eq, operator.ne)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        return self != 0

    __hash__ = None  # type: ignore[assignment]  # equality may be undecided

    def __float__(self) -> float:
        raise Unsupported("turns entries into floating-point numbers")

    def __int__(self) -> int:
        raise Unsupported("turns entries into whole numbers")

    __index__ = __int__


def _lifted(value: object) -> Ball | None:
    """Return a number as a ball; None for what is no number."""
    if isinstance(value, Ball):
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return _lifted(value.item())
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return Ball(arb(int(value)), positive=bool(value >= 0))
    if isinstance(value, float | np.floating):
        return Ball(arb(float(value)), positive=bool(value >= 0))
    if isinstance(value, Fraction):
        return Ball(arb(fmpq(value.numerator, value.denominator)), positive=value >= 0)
    return None


def lifted(value: object) -> Ball:
    """Return a number as a ball; raises `Unsupported` for what is no number."""
    ball = _lifted(value)
    if ball is None:
        raise Unsupported(f"gives {type(value).__name__}, which is no number")
    return ball


def _sum(a: Vector, b: Vector) -> Vector:
    return b if not a else a if not b else tuple(map(operator.add, a, b))


def _scaled(factor: arb, a: Vector) -> Vector:
    return tuple([factor * x for x in a])


def _outer(a: Ball, b: Ball) -> Vector:
    """Return the products of slopes of `a` in the changed record with all slopes of `b`."""
    if not a.slopes or not b.slopes:
        return ()
    own = len(a.bends or b.bends or ()) // len(a.slopes)
    return tuple([x * y for x in a.slopes[:own] for y in b.slopes])


# ------------------------------------------------------------------ functions


def _through(u: Ball, value: arb, first: arb, second: arb, *, positive: bool = False) -> Ball:
    """Return φ(u) from enclosures of φ, φ′ and φ″ over u (the chain rule, twice)."""
    slopes = _chained(first, u.slopes)
    if u.bends is None:
        return Ball(value, slopes, None, positive)
    return Ball(value, slopes, _sum(_chained(second, _outer(u, u)), _scaled(first, u.bends)), positive)


def _chained(factor: arb, a: Vector) -> Vector:
    """Return the products; along what u does not depend on, φ(u) is constant however wild φ is."""
    return tuple([ZERO if x.is_zero() else factor * x for x in a])


def _reciprocal(u: Ball) -> Ball:
    if u.value.contains(0):
        raise Undecided("a division by what may be 0")
    inverse = _between(lambda x: 1 / x, u.value)
    return _through(
        u, inverse, -_between(lambda x: x * x, inverse), 2 * inverse * inverse * inverse, positive=u.positive
    )


def _between(monotone: Callable[[arb], arb], x: arb) -> arb:
    """Return the values of a function that is monotone on x: all between those at the ends."""
    return monotone(x.lower()).union(monotone(x.upper()))


def _power(u: Ball, n: int) -> Ball:
    """Return uⁿ for n ≥ 2; an even power is never negative."""
    size = u.value.abs_lower().union(u.value.abs_upper()) if n % 2 == 0 else u.value
    value = _between(lambda x: _times(x, n), size)
    first, second = n * _times(u.value, n - 1), n * (n - 1) * _times(u.value, n - 2)
    return _through(u, value, first, second, positive=u.positive or n % 2 == 0)


def _times(x: arb, n: int) -> arb:
    """Return xⁿ (arb's own power goes through a logarithm and gives NaN where x may be negative)."""
    return math.prod([x] * n, start=arb(1))


def power(base: Any, exponent: Any) -> Ball:
    """Return a power: whole exponents of anything, other ones of what is positive."""
    u, p = lifted(base), lifted(exponent)
    if not p.slopes and p.value.is_exact():
        whole = p.value.unique_fmpz()
        if whole is not None and p.value.is_integer() and abs(int(whole)) <= 64:
            n = int(whole)
            if n < 0:
                return _reciprocal(power(u, -n))
            return Ball(arb(1), positive=True) if n == 0 else u if n == 1 else _power(u, n)
        if p.value == arb(0.5):
            return sqrt(u)
    return exp(lifted(p * log(u)))


def sqrt(x: Any) -> Ball:
    """Return the square root; undecided where the argument may be negative."""
    u = lifted(x)
    inside = u.value
    if not inside >= 0:
        if not u.positive:
            raise Undecided("the root of what may be negative")
        # Rounding outward takes sums of squares below 0, where no real of the ball is.
        inside = inside.nonnegative_part()
    root = inside.sqrt()
    first = 1 / (2 * root)
    return _through(u, root, first, -first / (2 * inside), positive=True)


def log(x: Any) -> Ball:
    """Return the natural logarithm; undecided where the argument may not be positive."""
    u = lifted(x)
    if not u.value > 0:
        raise Undecided("the logarithm of what may not be positive")
    inverse = 1 / u.value
    return _through(u, u.value.log(), inverse, -inverse * inverse)


def tanh(x: arb) -> tuple[arb, arb, arb]:
    """Return enclosures of the hyperbolic tangent, of its slope and of its bend."""
    t = x.tanh()
    first = 1 - t * t
    return t, first, -2 * t * first


def arctan(x: arb) -> tuple[arb, arb, arb]:
    """Return enclosures of the inverse tangent, of its slope and of its bend."""
    first = 1 / (1 + _between(lambda y: y * y, x.abs_lower().union(x.abs_upper())))
    return x.atan(), first, -2 * x * first * first


def _smooth(enclosed: Callable[[arb], Sequence[arb]], *, positive: bool = False) -> Callable[[Any], Ball]:
    """Return a function that is smooth everywhere, from enclosures of itself, its slope and its bend."""

    def function(x: Any) -> Ball:
        u = lifted(x)
        return _through(u, *enclosed(u.value), positive=positive)

    return function


exp = _smooth(lambda x: [x.exp()] * 3, positive=True)


def square(x: Any) -> Ball:
    """Return the square."""
    return _power(lifted(x), 2)


def absolute(x: Any) -> Ball:
    """Return the absolute value."""
    u = lifted(x)
    if u.positive or u.value >= 0:
        return Ball(u.value, u.slopes, u.bends, positive=True)
    if u.value <= 0:
        below = -u
        return Ball(below.value, below.slopes, below.bends, positive=True)
    return _through(u, abs(u.value), EITHER, UNKNOWN, positive=True)


def maximum(x: Any, y: Any) -> Ball:
    """Return the larger of two."""
    a, b = lifted(x), lifted(y)
    if a.value >= b.value:
        return a
    if b.value >= a.value:
        return b
    count = len(a.slopes) or len(b.slopes)
    pairs = zip(a.slopes or (ZERO,) * count, b.slopes or (ZERO,) * count, strict=True)
    slopes = tuple([s.union(t) for s, t in pairs])
    # max(a, b) = (a + b + |a − b|)/2 serves for the bends alone: united slopes are tighter than its own.
    twice = a + b + absolute(a - b)  # for its bends
    bends = None if twice.bends is None else _scaled(arb(0.5), twice.bends)
    return Ball(a.value.max(b.value), slopes, bends, a.positive or b.positive)


def minimum(x: Any, y: Any) -> Ball:
    """Return the smaller of two."""
    a, b = lifted(x), lifted(y)
    least = -maximum(-a, -b)
    return Ball(least.value, least.slopes, least.bends, a.positive and b.positive)


def clip(x: Any, low: Any = None, high: Any = None) -> Ball:
    """Return x moved into [low, high]."""
    u = lifted(x)
    u = u if low is None else maximum(u, low)
    return u if high is None else minimum(u, high)


FUNCTIONS: dict[str, tuple[Callable[..., Ball], int]] = {
    "sqrt": (sqrt, 1),
    "exp": (exp, 1),
    "expm1": (lambda x: lifted(exp(x) - 1), 1),
    "log": (log, 1),
    "log1p": (lambda x: log(lifted(x) + 1), 1),
    "sin": (_smooth(lambda x: (s := x.sin(), x.cos(), -s)), 1),
    "cos": (_smooth(lambda x: (c := x.cos(), -x.sin(), -c)), 1),
    "tanh": (_smooth(tanh), 1),
    "arctan": (_smooth(arctan), 1),
    "square": (square, 1),
    "absolute": (absolute, 1),
    "fabs": (absolute, 1),
    "maximum": (maximum, 2),
    "minimum": (minimum, 2),
    "fmax": (maximum, 2),
    "fmin": (minimum, 2),
    "power": (power, 2),
    "float_power": (power, 2),
    "clip": (clip, 3),
}


def _method(function: Callable[..., Ball]) -> Callable[[Ball], Ball]:
    def applied(ball: Ball) -> Ball:  # a built-in or a lambda would not bind
        return function(ball)

    return applied


for _name, (_function, _inputs) in FUNCTIONS.items():
    if _inputs == 1:  # what NumPy calls on the members of an array of objects
        setattr(Ball, _name, _method(_function))


# ------------------------------------------------------------------ arrays of balls


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
