"""How many rows each person has, from one counter per person.

A person is known by a key of 128 bits: an integer is its own key; a text has a linear hash, drawn afresh for
every table.  How identities are compared, however they are written, is said in `cells`.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from secrets import token_bytes
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from mechanisms.table.cells import FLAGS, LOST, NOBODY, NUMERIC, identity_of, values_of
from mechanisms.table.reading import ArrowCells

Keys = NDArray[np.uint64]  #: [n, 2]
Mask = NDArray[np.bool_]

SECRET_BYTES: Final = 32
WORD: Final = 4  #: bytes of a text that are multiplied at once
HALF: Final = np.uint64(32)
ROWS_AT_ONCE: Final = 8192  #: whose products stay in the processor's cache
MAX_HASHED: Final = 60  #: bytes of a text that are hashed linearly; a longer one has a keyed digest
DENSE: Final = 2**20  #: integers below it, or below a few times the persons declared, index counters directly
TEXT: Final = np.uint64(1 << 63)  #: marks the second word of a text's key
INTEGER: Final = np.uint64(1 << 62)  #: and is that of an integer's: no key ends with 0, as an empty slot does
NEGATIVE: Final = np.uint64((1 << 62) + 1)  #: of one below 0, whose first word a large one has, too
WHOLE: Final = r"^[0-9]{1,15}(\.0*)?$"
#: Texts that `cells` may compare otherwise than byte by byte: numbers, moments, truth values, gaps.
SPELLED: Final = (
    r"^([-+]?[0-9.]+([eE][-+]?[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}T.*|(?i:"
    + "|".join([*filter(None, NOBODY), *FLAGS])
    + "))$"
)
MOST_AT_FIRST: Final = 2**24  #: slots of a new table; an untouched page takes no memory
ROWS_MOVED: Final = 2**18  #: slots of a table that are moved to a larger one at once
ROW_BITS: Final = 20  #: of a row's number in a batch, which is below it
_POINT, _ZERO, _NINE = map(ord, ".09")
_WORD: Final = max(map(len, NOBODY | FLAGS.keys()))  #: bytes of the longest word among them
_NUMBER, _SIGN = (np.isin(np.arange(256), [*map(ord, begin)]) for begin in (NUMERIC, "+-"))
_LETTER: Final = np.isin(np.arange(256) | 32, [ord(word[0]) | 32 for word in (*FLAGS, *NOBODY) if word])


# ------------------------------------------------------------------ keys


def keys_of(cells: Sequence[object], secret: bytes) -> Keys:
    """Return each row's key, by its cell in the column of identities.

    The keys of two different texts are equal with probability 2^−122 at most over a uniform `secret` of
    `SECRET_BYTES`; a row that is nobody's has a key that ends with 0.
    """
    if isinstance(cells, ArrowCells):
        keys = _keys_of_texts(cells.array, secret)
        return _python_keys(cells.values, secret)[cells.places] if keys is None else keys
    if not isinstance(cells, np.ndarray):
        return _python_keys(cells, secret)
    if cells.dtype.kind in "iu":
        return _integer_keys(cells)
    if cells.dtype != np.float64:
        return _python_keys(values_of(cells), secret)
    integral = (np.abs(cells) < LOST) & (cells == np.floor(cells))
    keys = _integer_keys(np.where(integral, cells, 0).astype(np.int64))
    if not integral.all():
        keys[~integral] = _python_keys(cells[~integral].tolist(), secret)
    return keys


def owners_of(cells: Sequence[object]) -> list[object]:
    """Return each row's identity, by its cell in that column."""
    if isinstance(cells, ArrowCells):
        owners = list(map(identity_of, cells.values))
        return [owners[place] for place in cells.places.tolist()]
    return list(map(identity_of, values_of(cells)))


def _integer_keys(numbers: NDArray[Any]) -> Keys:
    keys = np.full((len(numbers), 2), INTEGER)
    if numbers.dtype.kind == "i":
        keys[numbers < 0, 1] = NEGATIVE
    keys[:, 0] = numbers.astype(np.int64 if numbers.dtype.kind == "i" else np.uint64).view(np.uint64)
    return keys


def _python_keys(cells: Iterable[object], secret: bytes) -> Keys:
    owners = list(map(identity_of, cells))
    written = [b"" if owner is None else str(owner).encode("utf-8", "surrogatepass") for owner in owners]
    keys = _text_keys(_padded(written, secret), secret)
    for place, owner in enumerate(owners):
        if isinstance(owner, int):
            keys[place] = owner % 2**64, NEGATIVE if owner < 0 else INTEGER
        elif owner is None:
            keys[place] = 0
    return keys


def _padded(texts: list[bytes], secret: bytes) -> NDArray[np.uint32]:
    """Return texts as rows of words, each with its length at the end; longer ones by a keyed digest."""
    short = [t if len(t) <= MAX_HASHED else _digest(t, secret) for t in texts]
    width = -(-max(map(len, short), default=0) // WORD) * WORD
    whole = b"".join(t.ljust(width, b"\0") + len(t).to_bytes(WORD, "little") for t in short)
    return np.frombuffer(whole, dtype="<u4").reshape(len(texts), width // WORD + 1)


def _digest(text: bytes, secret: bytes) -> bytes:
    """Return a digest as long as the longest short text, and one byte more: equal to none of them."""
    return blake2b(text, key=secret, digest_size=MAX_HASHED + 1).digest()


def _keys_of_texts(array: Any, secret: bytes) -> Keys | None:
    """Return the keys of pyarrow's texts without Python objects; None where some need the rules of `cells`.

    These are missing ones, long ones, and those with spaces or other than ASCII characters.
    """
    from pyarrow import compute, float64, types

    kind = array.type
    large = types.is_large_string(kind)
    if not (large or types.is_string(kind)) or array.null_count or not len(array):
        return None
    _, places, data = array.buffers()
    ends = np.frombuffer(places, dtype=np.int64 if large else np.int32)
    ends = ends[array.offset : array.offset + len(array) + 1]
    lengths = np.diff(ends)
    width = int(lengths.max())
    if not 0 < width <= MAX_HASHED:
        return None
    held = np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]]
    low, high = held.min(), held.max()
    if low <= 32 or high >= 127:
        return None
    if not lengths.all():
        full = np.flatnonzero(lengths)
        keys = np.repeat(_python_keys([""], secret), len(array), axis=0)
        keys[full] = keys_of(ArrowCells(array.take(full)), secret)
        return keys
    few = low >= _POINT and high <= _NINE  # bytes
    digits = few and low >= _ZERO and width <= 15
    if digits or (few and compute.all(compute.match_substring_regex(array, WHOLE)).as_py()):
        return keys_of(array.cast(float64()).to_numpy(), secret)
    words = np.zeros((len(lengths), -(-width // WORD) + 1), dtype="<u4")
    words[:, -1] = lengths
    texts = words.view(np.uint8)[:, :width]
    if (lengths == width).all():
        texts[:] = held.reshape(len(lengths), width)
    else:
        texts[np.arange(width) < lengths[:, None]] = held
    keys, spelled = _text_keys(words, secret), _may_be_spelled(words)
    if len(spelled):
        some = array.take(spelled)
        matched = np.array(compute.match_substring_regex(some, SPELLED))
        some = ArrowCells(some.filter(matched))
        keys[spelled[matched]] = _python_keys(some.values, secret)[some.places]
    return keys


def _may_be_spelled(words: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return the texts that `SPELLED` might match, by their first bytes, and their letters and signs."""
    first = words.view(np.uint8)[:, 0]
    word = _LETTER[first] & (words[:, -1] <= _WORD)
    rows = np.flatnonzero(_NUMBER[first] | word)
    columns = words[rows, :-1].T
    letters: Any = sum(np.bitwise_count(four & 0x40404040) for four in columns)
    signs = sum(np.bitwise_count(four >> 1 & ~four & 0x10101010) for four in columns)  # points and /, too
    few = np.where(letters == 0, signs <= 1 + _SIGN[first[rows]], letters == 1)  # an e, or the T of a moment
    return rows[few | word[rows]]


def _text_keys(padded: NDArray[np.uint32], secret: bytes) -> Keys:
    """Return a linear hash of rows of words: the upper halves of four sums modulo 2^64, but for 2 bits.

    Rows of different batches are padded to different widths, so a length has a coefficient of its own, and
    zeros beyond it add nothing.  Where two rows differ in a word, by d with |d| < 2^32, its uniform
    coefficient times d is uniform on the multiples of a power of two below 2^32, whatever else the sums
    have; those with one upper half differ by less than 2^32, and at most one in 2^31 of the multiples
    does (Lemire & Kaser 2014, Multilinear).
    """
    factors, keys = _coefficients(secret), np.empty((len(padded), 2), dtype=np.uint64)
    factors = factors[[*range(padded.shape[1] - 1), -1]]
    for start in range(0, len(padded), ROWS_AT_ONCE):
        columns = padded[start : start + ROWS_AT_ONCE].T.astype(np.uint64, order="C")
        varies = (columns != columns[:, :1]).any(axis=1)  # a common beginning, or length, is multiplied once
        common = (columns[~varies, :1] * factors[~varies]).sum(axis=0)
        upper = np.repeat(common[:, None], columns.shape[1], axis=1)
        for column, row in zip(columns[varies], factors[varies], strict=True):
            upper += column * row[:, None]
        upper >>= HALF
        keys[start : start + ROWS_AT_ONCE, 0] = upper[0] | upper[1] << HALF
        keys[start : start + ROWS_AT_ONCE, 1] = upper[2] >> np.uint64(2) | upper[3] << np.uint64(30) | TEXT
    return keys


@lru_cache(maxsize=4)
def _coefficients(secret: bytes) -> NDArray[np.uint64]:
    """Return uniform words, four for each word of a text and the last four for the length."""
    count = 4 * (MAX_HASHED // WORD + 2)
    drawn = b"".join(blake2b(bytes([k]), key=secret).digest() for k in range(-(-count // 8)))
    return np.frombuffer(drawn, dtype="<u8")[:count].reshape(-1, 4)


def mixed(keys: Keys, salt: int) -> NDArray[np.uint64]:
    """Return 64 bits of every key that all look random, by a salt (the finaliser of splitmix64)."""
    bits: NDArray[np.uint64] = keys[:, 0] ^ (keys[:, 1] * np.uint64(0x9E3779B97F4A7C15)) ^ np.uint64(salt)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ bits >> np.uint64(shift)) * np.uint64(factor)
    return bits ^ bits >> np.uint64(31)


# ------------------------------------------------------------------ counters


def runs_of(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order of rows by their numbers, equal ones as they came, and where each number begins.

    Numbers are whole, from 0 to 2^42; there are fewer than 2^20.  One sort of numbers that end with their
    row is quicker than a stable one.
    """
    together = np.sort(numbers << ROW_BITS | np.arange(len(numbers)))
    first = np.flatnonzero(np.diff(together >> ROW_BITS, prepend=-1))
    return together & (2**ROW_BITS - 1), first


class PersonCounters:
    """How many rows of each person were kept so far; `keep` decides on more rows.

    Small integers index their counters directly; other keys have a slot in a hash table with linear probing.
    """

    def __init__(self, max_rows: int, declared: int) -> None:
        """Start without persons; `declared` is about how many there will be, and costs memory only."""
        self._max_rows = max_rows
        self._declared, self._dense = declared, max(DENSE, 4 * declared)
        self._counts = np.zeros(0, dtype=np.uint16)
        self._table = np.zeros((0, 2), dtype=np.uint64)  # keys; none while integers are small
        self._taken = 0
        self._salt = int.from_bytes(token_bytes(8))  # identities cannot be chosen to collide

    def keep(self, keys: Keys) -> Mask:
        """Return which of the rows with these keys count, of all rows given so far, in order."""
        if not (named := keys[:, 1] != 0).all():  # nobody's rows
            named[named] = self.keep(keys[named])
            return named
        slots = self._slots(keys)
        kept = np.zeros(len(slots), dtype=bool)
        open_ = np.flatnonzero(self._counts[slots] < self._max_rows)
        order, first = runs_of(slots[open_])
        order = open_[order]
        own = slots[order]
        rank = np.arange(len(own)) - np.repeat(first, np.diff(first, append=len(own)))
        fits = rank + self._counts[own] < self._max_rows
        kept[order[fits]] = True
        added = np.add.reduceat(fits, first, dtype=np.uint16) if len(first) else np.zeros(0, np.uint16)
        self._counts[own[first]] += added
        return kept

    def beyond(self, keys: Keys, most: int) -> Mask:
        """Return which of the rows with these keys are of persons with more than `most` rows."""
        slots = self._slots(keys)  # before the counters are looked at, which it may move
        beyond: Mask = self._counts[slots] > most
        return beyond

    @property
    def most(self) -> int:
        """Return the largest number of rows of a person, as far as they are counted."""
        return int(self._counts.max(initial=0))

    @property
    def number(self) -> int:
        """Return how many persons there are; each has at least one row."""
        return int(np.count_nonzero(self._counts))

    def keys(self) -> Keys:
        """Return the keys of all persons, in no order."""
        if not self._table.size:
            return _integer_keys(np.flatnonzero(self._counts))
        return self._table[self._table[:, 1] != 0]

    def _slots(self, keys: Keys) -> NDArray[np.int64]:
        if not self._table.size:
            if not len(keys) or ((keys[:, 1] == INTEGER).all() and int(keys[:, 0].max()) < self._dense):
                slots = keys[:, 0].astype(np.int64)
                self._reach(int(slots.max(initial=-1)) + 1)
                return slots
            self._hash()
        return self._places(keys)

    def _reach(self, size: int) -> None:
        """Let there be counters for integers below `size`."""
        if size > len(self._counts):
            more = np.zeros(max(size, min(2 * len(self._counts), self._dense)), dtype=np.uint16)
            more[: len(self._counts)] = self._counts
            self._counts = more

    def _hash(self) -> None:
        """Go over from counters by integer to slots by key."""
        known = self.keys()
        counts, self._counts = self._counts[self._counts > 0], np.zeros(0, dtype=np.uint16)
        self._grow(max(2**16, len(known), min(self._declared, MOST_AT_FIRST // 2)))
        self._counts[self._places(known)] = counts

    def _is_full(self, more: int) -> bool:
        return 3 * (self._taken + more) > 2 * len(self._table)

    def _grow(self, persons: int) -> None:
        """Make a table of which `persons` keys take two thirds at most, and fill it."""
        size, old, counts = 1 << (3 * persons // 2).bit_length(), self._table, self._counts
        self._table = np.zeros((size, 2), dtype=np.uint64)
        self._counts, self._taken = np.zeros(size, dtype=np.uint16), 0
        for start in range(0, len(old), ROWS_MOVED):
            some = slice(start, start + ROWS_MOVED)
            known = old[some, 1] != 0
            self._counts[self._places(old[some][known])] = counts[some][known]

    def _places(self, keys: Keys) -> NDArray[np.int64]:
        """Return every key's slot; a new key takes the first free one from where its hash points."""
        if self._is_full(len(keys)):
            self._taken = int(np.count_nonzero(self._table[:, 1]))
            if self._is_full(len(keys)):
                self._grow(self._taken + len(keys))
        # a key is one element of 16 bytes for reading and writing: its two words lie side by side
        table, wanted = self._table.view("V16")[:, 0], np.ascontiguousarray(keys)
        mask = len(table) - 1
        slots: NDArray[np.int64] = mixed(keys, self._salt).view(np.int64) & mask
        pending, at, own = None, slots, wanted
        while len(at):
            held = table[at].view(np.uint64).reshape(-1, 2)
            other = np.flatnonzero((held[:, 0] != own[:, 0]) | (held[:, 1] != own[:, 1]))
            free = other[held[other, 1] == 0]
            table[at[free]] = own[free].view("V16")[:, 0]  # of several the last one stays
            self._taken += len(free)  # too many where a key comes twice; counted above
            pending = other if pending is None else pending[other]
            slots[pending] = at = (at[other] + (held[other, 1] != 0)) & mask
            own = own[other]
        return slots
