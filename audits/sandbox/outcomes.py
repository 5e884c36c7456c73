"""The outcome of one run, reduced to plain parts that can be sent, compared and counted.

An outcome is a structure (types, shapes, keys), labels (text) and numbers (doubles).  Whatever a
function does is an outcome: a value of any kind, an exception, an exit, a crash, no answer in time.
The reduction is injective: a long text is cut, but ends in its length and a digest; a number beyond
double precision is followed by its remainder; a value that cannot be read makes the outcome opaque.
At the end is the protocol between this program and its workers: length-prefixed MessagePack documents.
"""

import hashlib
import random
import re
import struct
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from functools import lru_cache
from itertools import groupby
from typing import IO, Any

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from audits.datasets.forms import Given
from audits.sandbox import foreign_worker
from audits.sandbox.tables import is_table, table_content
from dpaccount.documents import sha256

MAX_NUMBERS = 2**20  #: numbers of one outcome; one that has more is opaque
MAX_MEMBERS = 2**17  #: members outside arrays and lists of floats; one that has more is opaque
WANTED = f"make it return numbers or text, at most {MAX_NUMBERS:,} numbers"
MAX_LABEL = 4096  #: characters of a text; a longer one is cut and ends in a digest
MAX_KEY = 200
MAX_NAMES = 200  #: numbers, and labels, that are named by their keys
MAX_PARTS = 256  #: if there are more parts, consecutive equal ones are run-length encoded
MAX_STRUCTURE = 2**14
MAX_NESTING = 100
NUMBERS = (float, np.float64, int, bool)  #: types of plain numbers, which are read at once
FLOAT64 = np.dtype(np.float64)  #: the one object of this type, in the machine's order of bytes
WORD = 2**32 - 1
EXACT = 2**53  #: integers up to here are exact as doubles
WRONG_CODE = "unmeant:"  #: prefix of the structure if the code that ran is not the project's
ALIGNED = 1  #: second word of the seeds of runs that are compared under the same randomness
#: names the random stream of a draw within a draw (`choice` calls `integers`): name, line and offset of an
#: instruction when results were first stored, fixed so that stored results do not depend on later edits
WITHIN = ("drawn", 158, 450)
REDUCED = "the number of entries"  #: name of the first number if features replace the numbers
SILENT = "no answer"  #: in the structure of a run that did not end in time
VOID = re.compile(r"(?:^| )(?:None|NAType|object \S)")  #: in a structure: a member that cannot be compared


class Ending(IntEnum):
    """How a run ended, by its number in frames and files of kept runs."""

    VALUE = 0
    FAILED = 1  #: without a value; the structure has the reason
    OPAQUE = 4  #: with a value of which a member cannot be read; the structure ends with it


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """One run's result; a structure, since an audit makes and copies as many as it has runs."""

    structure: str
    labels: tuple[str, ...]
    numbers: NDArray[np.float64]
    ending: Ending = Ending.VALUE
    mutated: bool = False  #: the run changed its dataset in place
    names: tuple[str, ...] = ()  #: the keys of the first numbers, if there are keys
    titles: tuple[str, ...] = ()  #: the keys of the first labels, likewise

    @property
    def width(self) -> int:
        """Return how many numbers the result has."""
        return int(self.numbers[0]) if self.reduced else len(self.numbers)

    @property
    def reduced(self) -> bool:
        """Return whether features replace the numbers."""
        return self.names[:1] == (REDUCED,)

    @property
    def failed(self) -> bool:
        """Return whether there is no value."""
        return self.ending is Ending.FAILED

    @property
    def void(self) -> bool:
        """Return whether there is nothing to compare: no value, or only None, NaN and objects.

        An empty container is a result.
        """
        if self.failed:
            return True
        # Asked of the first number alone, which few results have as NaN, it takes a tenth of the time.
        if self.labels or (len(self.numbers) and self.numbers[0] == self.numbers[0]):
            return False
        if not np.isnan(self.numbers).all():
            return False
        return len(self.numbers) > 0 or bool(VOID.search(self.structure))

    @property
    def silent(self) -> bool:
        """Return whether the run timed out."""
        return self.failed and SILENT in self.structure

    def key(self) -> tuple[str, tuple[str, ...], bytes]:
        """Return a key that is equal for outcomes that are equal bit for bit."""
        return self.structure, self.labels, self.numbers.tobytes()

    def shown_as_failure(self) -> str:
        """Describe a failure or a void result as a verb phrase, in one printable line."""
        if not self.failed:
            what = "NaN" if len(self.numbers) else self.structure[:MAX_KEY]
            return f"returns {what.replace('object', 'an object of type', 1)}"
        text = "".join(c if c.isprintable() else " " for c in self.labels[0][:MAX_KEY]) if self.labels else ""
        return f"{self.structure}: {text}" if text else self.structure

    def shown(self) -> str:
        """Return the outcome in one short line."""
        parts = [*(repr(label) for label in self.labels[:4]), *(f"{x:.6g}" for x in self.numbers[:6])]
        return f"{self.structure} {', '.join(parts)}"[:160].strip()


def of_value(value: object) -> Outcome:
    """Return the outcome of a run that returned `value`."""
    parts = _Parts()
    parts.walk(value, 0)
    flat = parts.numbers[0] if len(parts.numbers) == 1 else np.concatenate([np.zeros(0), *parts.numbers])
    if len(flat) > MAX_NUMBERS:
        parts.hide(f"result with {len(flat)} numbers (more than {MAX_NUMBERS})")
    if parts.opaque:  # the crew raises an error for it
        text = _joined([*parts.parts[:4], f"object {parts.opaque}"])
        return Outcome(text, (), np.zeros(0), Ending.OPAQUE)
    names, titles = _named(parts.spans, parts.keyed), _named(parts.label_places, parts.keyed)
    return Outcome(_joined(parts.parts), tuple(parts.labels), flat, names=names, titles=titles)


def of_error(error: BaseException) -> Outcome:
    """Return the outcome of a run that raised or exited."""
    kind = "exits" if isinstance(error, SystemExit) else f"raises {type(error).__name__}"
    return Outcome(kind, (_label(foreign_worker.text_of(error)),), np.zeros(0), Ending.FAILED)


def run_outcome(function: Callable[..., Any], data: Given, seed: list[int] | None) -> Outcome:
    """Run once on a copy of the dataset; with a seed, a function that takes a generator gets one.

    Python's and NumPy's global generators are seeded too, so that code that uses them is reproducible.  Every
    run has its own seed, so runs are independent.  Randomness of the operating system is not replaced.
    """
    given = data.fresh()
    try:
        if seed is None:
            value = function(given)
        else:
            mixed = seeded(seed)
            generator = aligned if seed[1:2] == [ALIGNED] else np.random.default_rng
            more = (generator(mixed),) if takes_generator(function) else ()
            value = function(given, *more)
        outcome = of_value(value)
    except BaseException as error:  # whatever it raises is what it did
        outcome = of_error(error)
    return replace(outcome, mutated=True) if data.changed(given) else outcome


def seeded(seed: list[int]) -> np.random.SeedSequence:
    """Seed the global generators; return the seed for a generator of the run's own."""
    try:
        words: Any = np.array(seed, dtype=np.uint32)  # what it makes of them, in half the time
    except OverflowError:
        words = seed
    mixed = np.random.SeedSequence(words)
    # The word of `mixed.generate_state(1)`, the same in every version of NumPy (NEP 19), in less time.
    number = (int(mixed.pool[0]) ^ 0x8B51F9DD) * (0x8B51F9DD * 0x58F38DED & WORD) & WORD
    number ^= number >> 16
    random.seed(number)
    np.random.seed(number)  # noqa: NPY002  # for code that draws from the old global generator
    return mixed


def aligned(seed: np.random.SeedSequence) -> np.random.Generator:
    """Return a generator with a separate stream for each calling instruction and repetition of it.

    If a call draws one value per row, a dataset with one row more then gets the same draws for the first
    rows, and later calls are not shifted.
    """
    bits = np.random.PCG64(seed)
    begin = bits.state
    counts: Counter[tuple[object, ...]] = Counter()

    def own_stream(name: str) -> Callable[..., Any]:
        draw = getattr(np.random.Generator, name)

        def drawn(self: np.random.Generator, *args: Any, **kwargs: Any) -> Any:
            caller = sys._getframe(1)
            here = caller.f_code.co_name, caller.f_lineno, caller.f_lasti
            place = (name, *(WITHIN if caller.f_code is drawn.__code__ else here))
            counts[place] += 1
            digest = hashlib.sha256(repr((place, counts[place])).encode()).digest()
            inner = begin["state"]["state"] ^ int.from_bytes(digest[:16])
            bits.state = {**begin, "state": {**begin["state"], "state": inner}}
            return draw(self, *args, **kwargs)

        return drawn

    names = {name for name in vars(np.random.Generator) if name[0] != "_"} - {"bit_generator", "spawn"}
    methods = {name: own_stream(name) for name in sorted(names)}
    return type("Generator", (np.random.Generator,), methods)(bits)


def takes_generator(function: Callable[..., Any]) -> bool:
    """Return whether a function takes a generator; see `audits.sandbox.foreign_worker.takes_generator`."""
    try:
        return _cached(function)
    except TypeError:  # not hashable
        return foreign_worker.takes_generator(function)


_cached = lru_cache(maxsize=16)(foreign_worker.takes_generator)


@dataclass
class _Parts:
    """Accumulates the parts of an outcome during a walk through a value."""

    parts: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    numbers: list[NDArray[np.float64]] = field(default_factory=list)
    opaque: str = ""
    members: int = 0
    at: str = ""  #: path (keys and indices) of the current member
    keyed: bool = False  #: whether there was a key
    spans: list[tuple[str, int]] = field(default_factory=list)  #: path and number of added numbers
    label_places: list[tuple[str, int]] = field(default_factory=list)  #: path of each label, and 1

    def hide(self, what: str) -> None:
        """Mark the outcome as opaque, because of this member."""
        self.opaque = self.opaque or what

    def walk(self, value: Any, depth: int) -> None:
        """Add a value with its members."""
        if self.opaque:
            return
        kind = type(value)
        if depth <= MAX_NESTING and kind in NUMBERS and (kind is not int or -EXACT < value < EXACT):
            self.parts.append(kind.__name__)
            self.add(np.array([value], dtype=np.float64))
            return
        if is_table(value) and depth <= MAX_NESTING:
            self.table(value, depth)
            return
        plain = isinstance(value, np.ma.MaskedArray | Enum) or not getattr(value, "__dict__", None)
        if depth > MAX_NESTING or not plain or isinstance(value, type):
            self.hide(f"{type(value).__name__}{' that is nested too deep' * (depth > MAX_NESTING)}")
        elif isinstance(value, Enum):
            self.parts.append(f"{type(value).__name__}.{value.name}")
            self.walk(value.value, depth + 1)
        elif isinstance(value, str | bytes):
            self.text(value)
        elif value is None:
            self.parts.append("None")
        elif isinstance(value, bool | int | float | complex | np.generic | np.ndarray):
            self.numeric(value, depth)
        elif isinstance(value, dict):
            self.parts.append(f"{type(value).__name__}{len(value)}")
            self.under(self.counted(value.items(), len(value)), depth)
        elif isinstance(value, list | tuple | set | frozenset):
            self.all_of(value, depth)
        else:
            self.hide(type(value).__name__)

    def counted(self, members: Iterable[Any], count: int) -> Iterable[Any]:
        """Count the members and return them; if the limit is exceeded, none, and the outcome is opaque."""
        self.members += count
        if self.members > MAX_MEMBERS:
            self.hide(f"result with more than {MAX_MEMBERS:,} members outside arrays and lists of floats")
            return ()
        return members

    def under(self, members: Iterable[tuple[Any, Any]], depth: int) -> None:
        """Add keys and their values."""
        above, self.keyed = self.at, True
        for key, member in members:
            self.name(key, depth)
            self.at = f"{above}[{_cut(repr(key), MAX_KEY)}]"
            self.walk(member, depth + 1)
        self.at = above

    def table(self, value: Any, depth: int) -> None:
        """Add a table of pandas or Polars."""
        table = table_content(value)
        if table is None:
            self.hide(type(value).__name__)
            return
        self.parts += [_cut(part, MAX_KEY) for part in (table.kind, *table.about)]
        self.under(self.counted(table.members, len(table.members)), depth)

    def add(self, numbers: NDArray[np.float64]) -> None:
        """Add numbers at the current path."""
        self.numbers.append(numbers)
        self.spans.append((self.at, len(numbers)))

    def label(self, text: str) -> None:
        """Add a text at the current path."""
        self.labels.append(text)
        self.label_places.append((self.at, 1))

    def all_of(self, value: Any, depth: int) -> None:
        """Add the members of a list or set."""
        members = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        self.parts.append(f"{type(value).__name__}{len(members)}")
        if members and all(type(member) is float for member in members):  # a fast path
            self.parts += ["float"] * len(members)
            self.add(np.array(list(members)))
            return
        above = self.at
        for place, member in enumerate(self.counted(members, len(members))):
            self.at = f"{above}[{place}]" if place < MAX_NAMES else above
            self.walk(member, depth + 1)
        self.at = above

    def name(self, key: Any, depth: int) -> None:
        """Add a key of a dictionary: to the structure if it is simple, else as a member."""
        if type(key) in (str, bytes, bool) or key is None or (type(key) is int and abs(key) <= EXACT):
            self.parts.append(_cut(repr(key).replace(" ", "\\x20"), MAX_KEY))  # a part has no spaces
        else:
            self.parts.append("key")
            self.walk(key, depth + 1)

    def text(self, value: str | bytes) -> None:
        """Add a text; if it is cut, its length is part of the structure."""
        text = value if isinstance(value, str) else value.decode("latin-1")
        kind = type(value).__name__
        self.parts.append(f"{kind}{len(text)}" if len(text) > MAX_LABEL else kind)
        self.label(_label(text))

    def numeric(self, value: Any, depth: int) -> None:
        """Add a number or an array."""
        name = type(value).__name__
        if isinstance(value, int) and abs(value) >= EXACT:  # no exact double
            self.parts.append("int")
            self.label(_cut(str(value) if abs(value) < 10**4000 else hex(value), MAX_LABEL))
            return
        if isinstance(value, np.ma.MaskedArray):
            self.masked(value, depth)
            return
        array = np.asarray(value)
        kind = array.dtype.kind
        if isinstance(value, np.ndarray) or kind in "mMV":
            name = f"{'float64' if array.dtype is FLOAT64 else array.dtype}{list(array.shape)}"
        self.parts.append(name)
        if kind in "biuf":
            self.real(array)
        elif kind == "c":
            both = np.stack([array.real, array.imag], axis=-1)
            self.real(both)
        elif kind in "mM":  # in units that the structure names
            self.label(str(array.dtype))
            self.real(array.astype(np.int64))
        elif array.dtype.names:
            for each in array.dtype.names:
                self.walk(array[each], depth + 1)
        elif kind == "V":
            self.text(array.tobytes())
        else:  # text and objects, entry by entry
            for member in self.counted(array.ravel().tolist(), array.size):
                self.walk(member, depth + 1)

    def masked(self, value: Any, depth: int) -> None:
        """Add the mask, the masked values, and the fill value."""
        self.parts.append("masked")
        self.label("masked array")
        for part in (np.ma.getmaskarray(value), value.data, np.asarray(value.fill_value), value._optinfo):
            self.walk(part, depth + 1)

    def real(self, array: NDArray[Any]) -> None:
        """Add real numbers as doubles and, if those are not exact, the remainders."""
        if array.dtype is FLOAT64:  # a fast path
            self.add(array.flatten())
            return
        with np.errstate(all="ignore"):
            heads = array.astype(np.float64)
        self.add(heads.ravel())
        if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size:
            if int(array.min()) >= -EXACT and int(array.max()) <= EXACT:
                return
            each = zip(array.ravel().tolist(), heads.ravel(), strict=True)
            # Without the remainder 2^53 and 2^53 + 1, which are one double, would be one outcome.
            rests = [float(number - int(head)) for number, head in each]
            self.remainder(np.array(rests))
        elif array.dtype.itemsize > 8 and array.dtype.kind == "f":
            with np.errstate(all="ignore"):
                remainder = array - heads
                rejoined = heads.astype(array.dtype) + remainder.astype(np.float64)
                exact = ~np.isfinite(array) | (np.isfinite(heads) & (rejoined == array))
            if not exact.all():
                self.hide(f"{array.dtype} out of the range of doubles")
            elif (remainder[np.isfinite(array)] != 0).any():
                self.remainder(np.where(np.isfinite(array), remainder, 0).astype(np.float64).ravel())

    def remainder(self, rests: NDArray[np.float64]) -> None:
        """Add the differences between numbers and their doubles."""
        self.parts.append("rest")
        self.label("numbers that are no doubles")
        self.add(rests)


def _named(spans: list[tuple[str, int]], keyed: bool) -> tuple[str, ...]:  # noqa: FBT001
    """Return the paths of the first numbers or labels as names; none if there are no keys."""
    names: list[str] = []
    for at, size in spans if keyed else ():
        if len(names) >= MAX_NAMES:
            break
        names += [at or "the result"] if size == 1 else [f"{at}[{place}]" for place in range(size)]
    return tuple(names[:MAX_NAMES])


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass"))[:32]


def _cut(text: str, most: int) -> str:
    """Return the text; a long one is cut, and ends in its length and digest."""
    return text if len(text) <= most else f"{text[:most]}…{len(text)}:{_digest(text)}"


def _label(text: str) -> str:
    """Return a text that can be encoded as UTF-8, injectively."""
    shown = _cut(text, MAX_LABEL).encode("utf-8", "backslashreplace").decode()
    return f"{shown} {_digest(text)}" if "\\ud" in text else shown


def _joined(parts: list[str]) -> str:
    """Return the parts in one line; many parts are run-length encoded."""
    if len(parts) > MAX_PARTS:
        runs = [(part, len(list(same))) for part, same in groupby(parts)]
        parts = [f"{part}*{times}" if times > 1 else part for part, times in runs]
    text = " ".join(parts)
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode()
    return _cut(text, MAX_STRUCTURE)


# ------------------------------------------------------------------ between processes


MUTATED = 2  #: is added to the number of the ending
LENGTH = struct.Struct("<I")
_encode = msgspec.msgpack.Encoder().encode


def read_frame(stream: IO[bytes]) -> Any:
    """Return the next document; raises `EOFError` at the end of the stream."""
    head = stream.read(LENGTH.size)
    body = stream.read(LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else b""
    if len(head) < LENGTH.size or len(body) < LENGTH.unpack(head)[0]:
        raise EOFError
    return msgspec.msgpack.decode(body)


def write_frame(stream: IO[bytes], document: object) -> None:
    """Write one document and flush, so that nothing is lost if the next run kills the process."""
    body = _encode(document)
    stream.write(LENGTH.pack(len(body)) + body)
    stream.flush()


def pack_array(data: NDArray[Any]) -> list[object]:
    """Serialise an array: type, shape, bytes."""
    return [str(data.dtype), list(data.shape), data.tobytes()]


def unpack_array(parts: list[Any]) -> NDArray[Any]:
    """Deserialise an array."""
    return np.frombuffer(parts[2], dtype=np.dtype(parts[0])).reshape(parts[1]).copy()


def pack_outcome(outcome: Outcome) -> list[object]:
    """Serialise an outcome."""
    return [
        outcome.structure,
        outcome.labels,
        outcome.numbers.tobytes(),
        outcome.ending + MUTATED * outcome.mutated,
        outcome.names,
        outcome.titles,
    ]


def unpack_outcome(answer: list[Any]) -> Outcome:
    """Deserialise an outcome."""
    structure, labels, numbers, ending, names, titles = answer
    return Outcome(
        sys.intern(structure),
        tuple(labels),
        np.frombuffer(numbers),
        Ending(ending & ~MUTATED) if ending else Ending.VALUE,
        bool(ending & MUTATED),
        _interned(tuple(names)),
        _interned(tuple(titles)),
    )


@lru_cache(maxsize=256)
def _interned(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return equal names as one object, to save memory: thousands of outcomes have them."""
    return names
