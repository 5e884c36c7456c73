"""What a document may be and cost: reading JSON strictly, limits on size and work, refusals, digests."""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

MAX_BYTES = 8 * 2**20
MAX_PARTS = 300_000  # lists, tables and texts of one document; four times as many members
MAX_DEPTH = 64
MAX_WORK = 15_000_000  # about five seconds, for one document
SURROGATE = re.compile("[\ud800-\udfff]")

BROKEN = (  # what a document of the wrong shape may raise
    *(ArithmeticError, ValueError, TypeError, KeyError, IndexError, AttributeError),
    *(RecursionError, MemoryError),
)


# ------------------------------------------------------------------ refusals and work


def plain(text: str) -> str:
    """Return a text that a terminal shows as it is: what is not printable is escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def brief(value: object) -> str:
    """Return a JSON value as messages quote it: at most 200 characters of ASCII."""
    form = json.dumps(value, sort_keys=True, separators=(",", ":"))  # ASCII: nothing reaches a terminal raw
    form = form[1:-1] if isinstance(value, str) else form
    return form if len(form) <= 200 else form[:197] + "..."


class Refusal(Exception):  # noqa: N818
    """What is wrong with a document; the message quotes it in printable characters."""

    def __init__(self, why: str) -> None:
        """Keep the message printable."""
        super().__init__(plain(why))


class Rejected(Refusal):
    """A statement of the document does not follow."""


class Unreadable(Refusal):
    """The file is not a certificate or derivation at all."""


class Work:
    """Work budget of the document being checked; a unit is about a third of a microsecond."""

    spent = 0
    limit = MAX_WORK

    @classmethod
    def begin(cls, limit: int = MAX_WORK) -> None:
        """Begin to count for another document."""
        cls.spent, cls.limit = 0, limit


def spend(units: int) -> None:
    """Count work, and reject a document that asks for too much of it."""
    Work.spent += units
    ensure(Work.spent <= Work.limit, "the document asks for more arithmetic than this checker does")


@contextmanager
def unbroken() -> Iterator[None]:
    """Reject a document over whose fields the checks within break."""
    try:
        yield
    except BROKEN as why:
        raise Rejected(f"a field has the wrong shape ({type(why).__name__}: {str(why)[:80]})") from None


def ensure(holds: bool, why: str) -> None:  # noqa: FBT001
    """Reject unless `holds` is exactly True."""
    if holds is not True:
        raise Rejected(why)


# ------------------------------------------------------------------ members of documents


def text(value: object) -> str:
    """Read a JSON string."""
    if not isinstance(value, str):
        raise Rejected(f"{str(value)[:40]!r} should be text")
    return value


def integer(value: object, least: int = 1) -> int:
    """Read a JSON integer of at least `least`."""
    if type(value) is not int or value < least or value.bit_length() > 256:
        raise Rejected(f"{str(value)[:40]!r} should be an integer of at least {least}")
    return value


def natural(value: object) -> int:
    """Read a JSON integer of at least 0."""
    return integer(value, 0)


def several(value: object) -> int:
    """Read a JSON integer of at least 2."""
    return integer(value, 2)


def source_of(value: object) -> str:
    """Read the source of a contribution's constants; absent where they are public."""
    ensure(value != "public", "a public source goes without saying")
    ensure(value in ("coin", "dp-output"), f"numbers from {brief(value)} void a proof")
    return text(value)


def items(value: object) -> list[Any]:
    """Read a list: a text is none, though it has characters."""
    if not isinstance(value, list):
        raise Rejected(f"{str(value)[:40]!r} should be a list")
    return value


def integer_points(points: object) -> tuple[tuple[int, ...], ...]:
    """Read a sorted list of integer vectors of one dimension."""
    if not isinstance(points, list) or not 0 < len(points) <= 256:
        raise Rejected("points: 1 to 256 vectors are read")
    for point in points:
        valid = isinstance(point, list) and all(type(v) is int and abs(v) < 2**64 for v in point)
        ensure(valid and point != [], "a point should be a vector of integers")
    ensure({len(p) for p in points} <= {min(len(points[0]), 64)}, "points: one dimension, at most 64")
    fresh = points == sorted(points) and len({tuple(p) for p in points}) == len(points)
    ensure(fresh, "points should be sorted, once each")
    return tuple(map(tuple, points))


def names_of(value: object) -> tuple[str, ...]:
    """Read a sorted list of names, each once."""
    if not isinstance(value, list) or value != sorted(set(map(text, value))):
        raise Rejected("names should be sorted texts, each once")
    return tuple(value)


def anything(value: Any) -> Any:
    """Take a value as it is."""
    return value


def check_members(given: object, names: Iterable[str], optional: Iterable[str] = ()) -> None:
    """Verify that a witness has exactly these members."""
    if not isinstance(given, dict):
        raise Rejected("a witness should be a table")
    wrong = (set(given) - set(names) - set(optional)) | (set(names) - set(given))
    ensure(
        not wrong,
        f"should hold {', '.join(names) or 'nothing'}; look at {', '.join(map(brief, sorted(wrong)))}",
    )


# ------------------------------------------------------------------ digests


def canonical(value: object) -> bytes:
    """Return the canonical JSON that digests are taken over."""
    form = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return form.encode("utf-8", "surrogatepass")


def digest(value: object) -> str:
    """Return the digest of a JSON value."""
    return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()


# ------------------------------------------------------------------ reading


def parse(raw: bytes) -> Any:
    """Return the JSON document, refusing duplicate keys, NaN, excessive depth and oversized numbers.

    Raises `Rejected` for numbers that are not in their shortest form: two texts never are one document
    of the same digest.
    """
    bounded(raw)
    try:
        value = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_table,
            parse_constant=_refuse,
            parse_float=_real,
            parse_int=_whole,
        )
    except UnicodeDecodeError as why:
        raise Unreadable(f"byte {why.start} is not UTF-8") from None
    except json.JSONDecodeError as why:
        raise Unreadable(f"line {why.lineno}, column {why.colno}: {why.msg}") from None
    if re.search(rb"\\u[dD][89a-fA-F]", raw):
        _refuse_surrogates(value)
    return value


def bounded(raw: bytes) -> None:
    """Refuse a document that would be long, deep or large in memory, by its bytes, before it is parsed."""
    if len(raw) > MAX_BYTES:
        raise Unreadable(f"more than {MAX_BYTES} bytes; no more are read")
    inner = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    if max(inner.count(b"{") + inner.count(b"["), inner.count(b'"') // 2) > MAX_PARTS or (
        inner.count(b",") > 4 * MAX_PARTS
    ):
        raise Unreadable(f"more than {MAX_PARTS} lists, tables or texts, or four times as many members")
    outside = b"".join(inner.split(b'"')[::2])
    brackets = outside.translate(None, bytes(set(range(256)) - set(b"[]{}")))
    deepest = max(accumulate(1 if c in b"[{" else -1 for c in brackets), default=0)
    if deepest > MAX_DEPTH:
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels")


def _table(members: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(members)
    if len(table) != len(members):
        raise Unreadable("a key appears twice in one table")
    return table


def _refuse(name: str) -> Any:
    raise Unreadable(f"{name[:40]} is not a number here")


def _real(form: str) -> float:
    value = float(form) if len(form) <= 400 else math.inf
    if not math.isfinite(value):
        _refuse(form)
    ensure(repr(value) == form and form != "-0.0", f"{form[:60]} is not how {value + 0.0!r} is written")
    return value


def _whole(form: str) -> int:
    value = int(form) if len(form) <= 400 else _refuse(form)
    ensure(form != "-0", "-0 is not how 0 is written")
    return int(value)


def _refuse_surrogates(value: object) -> None:
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str) and not part.isascii() and SURROGATE.search(part):
            raise Unreadable("a string holds an unpaired surrogate")
        waiting += part if isinstance(part, list) else ()
        waiting += [m for pair in part.items() for m in pair] if isinstance(part, dict) else ()
