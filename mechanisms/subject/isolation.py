"""Isolated runs of a subject: its inputs, and the part of its result that is output.

Rehearsal, replay and the real run all go through `played`, so that code cannot distinguish them:
it receives a copy of the data and a noise object with its methods only.  Its result is converted to
plain arrays, in which nothing can be hidden.
"""

import dataclasses
import struct
import sys
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import InputError
from dpaccount.noise.receipt import Noise
from dpaccount.noise.samplers import Integers
from mechanisms.subject import Rows, Subject, View

Array = NDArray[np.generic]
PLAIN = (bool, int, float, str, type(None))  #: what an array of objects may hold
COMPARABLE = (*PLAIN, np.ndarray, np.generic)
SHOWN = np.ndarray | np.generic | bool | int | float | str | None  #: what becomes a plain array
DTYPE_KINDS = "biufcSUMm"  #: of dtypes without references to other memory
VIEW_PARTS = frozenset({"own", "public"})  #: of a view
ANSWERS = ("noisy", "noisy_symmetric", "noisy_cells")


class NotPlain(InputError):  # noqa: N818
    """The output cannot be compared, so its leakage is unknown."""


class Handed(Noise):
    """The noise that a subject receives; no attribute distinguishes a rehearsal from a release.

    `asked` collects the names of other attributes that the code accessed; they do not exist.
    `failed` collects exceptions of the inner source, which the code may have caught.
    """

    __slots__ = ("_asked", "_failed", "_inner")

    def __init__(self, inner: Noise, asked: list[str], failed: list[BaseException]) -> None:
        self._inner, self._asked, self._failed = inner, asked, failed

    def _answer(self, how: str, key: str, part: Hashable, values: Integers) -> Integers:
        """Return the answer of the inner source as a new array."""
        inner: Noise = object.__getattribute__(self, "_inner")
        failed: list[BaseException] = object.__getattribute__(self, "_failed")
        try:
            return np.array(getattr(inner, how)(key, part, values), dtype=np.int64, order="C")
        except BaseException as error:
            failed.append(error)
            raise

    def __getattribute__(self, name: str) -> Any:
        """Return one of the methods; record any other name and raise `AttributeError`."""
        if name in ANSWERS:
            return object.__getattribute__(self, name)
        object.__getattribute__(self, "_asked").append(name)
        raise AttributeError(f"noise answers {', '.join(ANSWERS)} only; it has no {name}")


@dataclass(frozen=True)
class Played:
    """A run: its output, data hidden in the arrays, attributes of the noise that the code accessed.

    `changed`: the code wrote to its copy of the data; `printed`: it wrote to a standard stream.
    """

    view: View
    hidden: dict[str, Array] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    changed: bool = False
    printed: bool = False


class StandardStream:
    """A standard stream that passes everything on, and knows whether text was written to it."""

    def __init__(self, inner: Any) -> None:
        self._inner, self.used = inner, False

    def write(self, text: str) -> int:
        """Write text to the stream behind this one."""
        self.used = True
        return len(text) if self._inner is None else self._inner.write(text)

    def __getattr__(self, name: str) -> Any:
        """Return the attribute of the stream behind this one."""
        return getattr(self._inner, name)


def played(subject: Subject, data: Rows, noise: Noise, coins: int) -> View:
    """Run a subject and return its output as plain arrays; raises `NotPlain` for others."""
    return watched(subject, data, noise, coins).view


def watched(subject: Subject, data: Rows, noise: Noise, coins: int) -> Played:
    """Run a subject as `played` does, and also return what else it did.

    An exception of its noise is raised again, even if the code caught it: the output might be exact
    data without noise.
    """
    asked: list[str] = []
    failed: list[BaseException] = []
    given = np.array(data, dtype=np.float64, order="C")
    before = sys.stdout, sys.stderr
    out, err = map(StandardStream, before)
    sys.stdout, sys.stderr = out, err
    try:
        shown = subject.play(given, Handed(noise, asked, failed), coins)
    finally:
        sys.stdout, sys.stderr = before
        if failed:
            raise failed[0]
    accessed, changed = tuple(dict.fromkeys(asked)), not _unchanged(given, data)
    return Played(kept(shown), hidden(shown), accessed, changed, out.used or err.used)


def _unchanged(given: Rows, data: Rows) -> bool:
    if given.shape != data.shape:
        return False
    return given.tobytes() == data.tobytes() or np.array_equal(given, data, equal_nan=True)


def fresh(subject: Subject) -> Subject:
    """Return a new instance with the same parameters: runs must not share state."""
    return dataclasses.replace(subject)  # type: ignore[type-var]  # subjects are dataclasses


def reported(subject: Any, view: View) -> Any:
    """Return a fresh instance's report on a view, as plain values; raises `NotPlain` for others."""
    reporter: Any = fresh(subject)
    return plain(reporter.report(kept(view)), "the report")


# ------------------------------------------------------------------ plain arrays


def kept(view: View) -> View:
    """Return a view's output as freshly copied plain arrays, in its order.

    Masks, attributes, memory behind an array and metadata of types are dropped.  Raises `NotPlain`.
    """
    if not isinstance(view, View):
        raise NotPlain(f"play returns {type(view).__name__}; it must return a View")
    return View(_plain_part(view.own), _plain_part(view.public))


def _plain_part(part: Mapping[str, Array]) -> dict[str, Array]:
    if not isinstance(part, Mapping) or any(type(name) is not str for name in part):
        raise NotPlain("a view's parts must be named by text")
    return {name: plain_array(shown, name) for name, shown in part.items()}


def plain_array(shown: object, name: str) -> Array:
    """Return a copy of an array as plain numbers or text; masks are filled, subclasses dropped."""
    if isinstance(shown, np.ma.MaskedArray):
        shown = shown.filled()
    if not isinstance(shown, SHOWN):
        raise NotPlain(f"{name} is of type {type(shown).__name__}; show arrays of numbers or text")
    array = np.array(shown, order="C", subok=False)
    if array.dtype.kind == "O":
        array = array.copy()
        for place, value in np.ndenumerate(array):
            array[place] = _single(value, name)
        return array
    # Long doubles are refused, as the bytes that pad them are part of no number and could carry anything.
    if array.dtype.kind not in DTYPE_KINDS or array.dtype.char in "gG":
        raise NotPlain(f"{name} has the type {array.dtype}; show numbers of up to 64 bits or text")
    bare = np.dtype(array.dtype.str)  # one name for integers of one width, and no metadata
    if array.dtype.itemsize and array.dtype.char == bare.char and not array.dtype.metadata:
        return array
    return array.astype(bare)


def _single(value: object, name: str) -> object:
    element = plain(value, name)
    if type(element) in PLAIN:
        return element
    raise NotPlain(f"{name} holds {type(value).__name__}; show numbers or text")


def plain(value: object, name: str) -> Any:
    """Return a value as numbers, text, None, lists and tables of these; raises `NotPlain`."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, np.generic | np.ndarray):
        bare = plain_array(value, name)
        return plain(bare.tolist(), name) if bare.dtype.kind in "biufUO" else str(bare.tolist())
    if isinstance(value, Mapping) and all(type(key) is str for key in value):
        return {key: plain(each, name) for key, each in value.items()}
    if type(value) in (list, tuple):
        return [plain(each, name) for each in value]  # type: ignore[attr-defined]
    raise NotPlain(f"{name} holds {type(value).__name__}; use numbers, text, lists and tables of them")


def hidden(view: View) -> dict[str, Array]:
    """Return data hidden in a view: behind masks, in attributes, in memory around arrays.

    `kept` drops it; a direct caller of `play` could read it.
    """
    carried = _carried("the view", view, VIEW_PARTS)
    for title, part in (("own", view.own), ("public", view.public)):
        carried |= _carried(f"the table of {title} parts", part, frozenset())
        for name, shown in part.items():
            around = isinstance(shown, np.ndarray)
            carried |= _around(name, shown) if around else _carried(name, shown, frozenset())
    return carried


def _around(name: str, shown: Array) -> dict[str, Array]:
    carried = {}
    if isinstance(shown, np.ma.MaskedArray):
        carried[f"{name}, behind its mask"] = np.array(shown.data)
        carried[f"{name}, its mask"] = np.array(np.ma.getmaskarray(shown))
        carried[f"{name}, its fill value"] = np.array(shown.fill_value)
        carried |= _plain_of(f"{name}, what it is about", vars(shown)["_optinfo"])
    elif type(shown) is not np.ndarray:
        ours = [
            base for base in type(shown).__mro__ if issubclass(base, np.ndarray) and base is not np.ndarray
        ]
        for base in ours:
            carried |= _plain_of(name, {k: v for k, v in vars(base).items() if isinstance(v, COMPARABLE)})
        carried |= _carried(name, shown, frozenset())
    holder: Any = shown.base
    while holder is not None:
        if isinstance(holder, np.ndarray):
            carried[f"{name}, the memory it is part of"] = plain_array(holder, name)
        elif not hasattr(holder, "__array_interface__"):  # of a view with other strides
            try:
                carried[f"{name}, the bytes it is part of"] = np.frombuffer(holder, np.uint8).copy()
            except (TypeError, ValueError, BufferError):
                raise NotPlain(f"{name} is part of a {type(holder).__name__}; show a copy") from None
        holder = getattr(holder, "base", None)
    if shown.dtype.metadata:
        carried[f"{name}, metadata of its type"] = np.array(repr(dict(shown.dtype.metadata)))
    return carried


def _carried(name: str, holder: object, known: frozenset[str]) -> dict[str, Array]:
    """Return the attributes that were added to an object, except the `known` ones."""
    given = getattr(holder, "__dict__", {})
    if type(given) is dict and given.keys() <= known:
        return {}
    return _plain_of(name, {attribute: value for attribute, value in given.items() if attribute not in known})


def _plain_of(name: str, attributes: Mapping[str, object]) -> dict[str, Array]:
    """Return attributes as arrays; raises `NotPlain` for one that is of neither numbers nor text."""
    return {
        f"{name}.{attribute}": np.array(value, subok=False)
        if isinstance(value, COMPARABLE)
        else np.array(repr(plain(value, f"{name}.{attribute}")))
        for attribute, value in attributes.items()
        if attribute[:2] != "__"
    }


def identical(a: Array | np.generic, b: Array | np.generic) -> bool:
    """Return whether arrays agree bit for bit, with type and shape, including signs of zero."""
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return False
    if a.dtype.kind != "O":
        return a.tobytes() == b.tobytes()
    pairs = zip(np.ravel(a).tolist(), np.ravel(b).tolist(), strict=True)
    return all(type(x) is type(y) and _same(x, y) for x, y in pairs)


def _same(x: object, y: object) -> bool:
    both = isinstance(x, float) and isinstance(y, float)
    return struct.pack("d", x) == struct.pack("d", y) if both else x == y
