"""Documents in and out: JSON and TOML with exact numbers, every value with its place; files written whole.

Every error names the file and where in it: what is wrong; what would be right.
"""

import csv
import gc
import hashlib
import html
import io
import json
import os
import re
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from fractions import Fraction
from pathlib import Path
from secrets import token_hex
from typing import Any
from unicodedata import normalize

from dpaccount.errors import InputError, posix_module
from dpaccount.exact import MAX_CHARACTERS, bounded, read_exact, read_number, shown

MAX_DEPTH = 64
MAX_BYTES = 64 * 2**20
FORMULA = ("=", "+", "-", "@")  #: first characters of what a spreadsheet evaluates, in any width

MAX_KEY_PARTS = 32  #: of a TOML key: a parser takes memory as the square of their number

_KEY_PART = re.compile(r"""[\w-]+|"(?:[^"\\]|\\.)*"?|'[^']*'?""")
_SURROGATE = re.compile("[\ud800-\udfff]")


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector: it would walk a million new objects again and again."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


@dataclass(frozen=True)
class Place:
    """A value of an input document together with where it stands, for messages."""

    value: Any
    file: str
    at: str = ""
    toml: bool = False

    @property
    def where(self) -> str:
        """Return the file and the place in it, for messages."""
        return f"{self.file}: {self.at}" if self.at else self.file

    def wrong(self, what: str, right: str) -> InputError:
        """Return the error to raise about this place."""
        return InputError(what, right, self.where)

    def placed(self, error: InputError) -> InputError:
        """Return an error with this place, unless it names a place of this file already."""
        named = error.where is not None and error.where.startswith(self.file)
        return error if named else error.inside(self.where)

    @contextmanager
    def placing(self) -> Iterator[None]:
        """Raise what is wrong within as an error with this place."""
        try:
            yield
        except InputError as error:
            raise self.placed(error) from None

    def child(self, key: str | int) -> "Place":
        """Return the member `key` of this table or list; one of a TOML list is called by its name."""
        step, value = str(key).replace("~", "~0").replace("/", "~1"), self.value[key]
        at = f"{self.at}.{key}".lstrip(".") if self.toml else f"{self.at}/{step}"
        name = value.get("name") if isinstance(key, int) and isinstance(value, dict) else None
        if self.toml and isinstance(name, str):
            at = f"{self.at} {_short(name)}"
        return Place(value, self.file, at, self.toml)

    def table(self, required: tuple[str, ...] = (), optional: tuple[str, ...] = ()) -> dict[str, "Place"]:
        """Return the members of a table with exactly these keys; unknown or missing ones are errors."""
        if not isinstance(self.value, dict):
            raise self.wrong(f"found {kind(self.value)}", "give a table of keys and values")
        for key in self.value:
            if key not in required and key not in optional:
                known = ", ".join((*required, *optional)) or "none"
                raise self.wrong(f"unknown key {_short(key)}", f"known here: {known}")
        for key in required:
            if key not in self.value:
                raise self.wrong(f"the key {key!r} is missing", f"required here: {', '.join(required)}")
        return {key: self.child(key) for key in self.value}

    def items(self) -> Iterator["Place"]:
        """Yield the members of a list."""
        if not isinstance(self.value, list):
            raise self.wrong(f"found {kind(self.value)}", "give a list")
        return (self.child(index) for index in range(len(self.value)))

    def number(self, least: int | None = None, most: int | None = None) -> Fraction:
        """Return an exact number within [least, most]."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | Fraction):
            raise self.wrong(f"found {kind(self.value)}", "give a number")
        value = Fraction(self.value)
        too_low, too_high = least is not None and value < least, most is not None and value > most
        if too_low or too_high:
            bounds = f"at least {least}" if most is None else f"in [{least}, {most}]"
            raise self.wrong(f"{_short(shown(value))} is out of range", f"it must be {bounds}")
        return value

    def real(self, least: int | None = None, most: int | None = None) -> Fraction:
        """Return an exact number within [least, most], written as one or as text: ``"256/60000"``."""
        if not isinstance(self.value, str):
            return self.number(least, most)
        with self.placing():
            value = read_exact(self.value)
        return Place(value, self.file, self.at, self.toml).number(least, most)

    def positive(self) -> Fraction:
        """Return an exact number above zero, written as one or as text."""
        value = self.real()
        if value <= 0:
            raise self.wrong(f"{_short(shown(value))} is out of range", "it must be above 0")
        return value

    def integer(self, least: int | None = None, most: int | None = None) -> int:
        """Return an integer within [least, most]; ``1e18`` and ``100.0`` count as integers."""
        value = self.number(least, most)
        if value.denominator != 1:
            raise self.wrong(f"{_short(shown(value))} is not whole", "give an integer")
        return int(value)

    def text(self, *choices: str) -> str:
        """Return a string, one of `choices` where any are given."""
        if not isinstance(self.value, str):
            raise self.wrong(f"found {kind(self.value)}", "give a string")
        if choices and self.value not in choices:
            raise self.wrong(f"unknown value {_short(self.value)}", f"known here: {', '.join(choices)}")
        return self.value

    def flag(self) -> bool:
        """Return true or false."""
        if not isinstance(self.value, bool):
            raise self.wrong(f"found {kind(self.value)}", "give true or false")
        return self.value


def kind(value: object) -> str:
    """Return what a parsed value is, in a reader's words."""
    names = {bool: "a boolean", str: "a string", dict: "a table", list: "a list", type(None): "null"}
    return names.get(type(value), "a number")


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes; refuses what is missing, a directory, unreadable or above 64 MB."""
    right = "give the path of a readable file"
    try:
        # Read and counted, not asked for its size: pipes have none, and a file may grow.
        with using(path, right, "unreadable"), path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except ValueError:
        raise InputError(f"{str(path)!r} is not a path", right) from None
    if len(raw) > MAX_BYTES:
        raise InputError(f"more than {MAX_BYTES} bytes", "input files are at most that long", path)
    return raw


def parse_json(raw: bytes | str, file: str) -> Place:
    """Return the one JSON document in `raw`, its numbers exact (`Fraction`, or `int` where spelled so)."""
    text = _decoded(raw, file)

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(members)
        # Parsers disagree on which of two equal keys counts: readers of one file could see two different
        # plans.
        if len(table) != len(members):
            names = [name for name, _ in members]
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"the key {_short(twice)} appears twice in one table", "keep one of them")
        return table

    def constant(name: str) -> Any:
        raise InputError(f"{name} is not a number here", "write a finite decimal")

    try:
        value = json.loads(
            text,
            object_pairs_hook=pairs,
            parse_float=read_number,
            parse_int=lambda digits: int(bounded(digits)),
            parse_constant=constant,
        )
    except InputError as error:
        raise error.inside(file) from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"line {error.lineno}, column {error.colno}: {error.msg}",
            "give one JSON document",
            file,
        ) from None
    except RecursionError:
        raise InputError("nested too deeply", f"at most {MAX_DEPTH} levels are read", file) from None
    _check_nesting(value, Place(value, file))
    return Place(value, file)


def parse_toml(raw: bytes | str, file: str) -> Place:
    """Return the TOML document in `raw`, its numbers exact and its dates as ISO text."""
    text = _decoded(raw, file).removeprefix("\ufeff")
    for line in text.split("\n"):
        if line.count(".") >= MAX_KEY_PARTS:
            parts = _KEY_PART.sub("k", line).translate({ord(" "): None, ord("\t"): None})
            if "k" + ".k" * MAX_KEY_PARTS in parts:
                raise InputError(f"a key of more than {MAX_KEY_PARTS} parts", "join fewer by dots", file)
    try:
        value = tomllib.loads(text, parse_float=lambda number: read_number(number.replace("_", "")))
    except InputError as error:
        raise error.inside(file) from None
    except RecursionError:
        raise InputError("nested too deeply", f"at most {MAX_DEPTH} levels are read", file) from None
    except ValueError as error:  # TOMLDecodeError, and integers of more than 4300 digits
        raise InputError(str(error), "give a TOML document", file) from None
    value = mapped(lambda x: x.isoformat() if isinstance(x, datetime | date | time) else x, value)
    _check_nesting(value, Place(value, file, toml=True))
    return Place(value, file, toml=True)


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical(value: object) -> bytes:
    """Return canonical JSON: sorted keys, no spaces, UTF-8 (the form that digests are taken over)."""
    return _CANONICAL.encode(value).encode()


def digest(value: object) -> str:
    """Return ``sha256:`` and the hexadecimal digest of a value's canonical JSON."""
    return f"sha256:{hex_digest(value)}"


def hex_digest(value: object) -> str:
    """Return the hexadecimal digest alone."""
    return sha256(canonical(value))


def sha256(raw: bytes | str) -> str:
    """Return the hexadecimal digest of bytes, or of a text in UTF-8."""
    return hashlib.sha256(raw.encode() if isinstance(raw, str) else raw).hexdigest()


def digest_of_named(contents: Iterable[tuple[str, bytes]], *more: str) -> str:
    """Return the hexadecimal digest of files, names and contents in the order given, and of `more` lines."""
    lines = [*(line for name, raw in contents for line in (name, sha256(raw))), *more]
    return sha256("".join(f"{line}\n" for line in lines))


def now() -> str:
    """Return the time to the second, in UTC, as certificates write it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


SWEPT = 5.0  #: seconds after which an unlocked temporary file is removed
OPEN, OWN = 0o644, 0o600  #: who may read a file: everybody, or its owner alone


def atomically(path: Path, text: str, *, mode: int = OPEN) -> None:
    """Write a file under another name, then rename it, so that nobody ever sees half of it."""
    _sweep(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with suppress(InputError):
            posix_module("fcntl").flock(handle, 2)  # LOCK_EX: what is not locked is nobody's
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            # Durable before it is renamed, or a crash could leave the new name with an empty file.
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def creating(path: Path) -> Iterator[Path]:
    """Yield another name for a file that is made within; then it gets its own, and its folder is durable.

    Unlike a rename, this never replaces a file that appeared meanwhile: raises `FileExistsError`.
    """
    draft = path.with_name(f".{path.name}.{token_hex(8)}")
    try:
        yield draft
        os.link(draft, path)
    finally:
        with suppress(OSError):  # the name may be too long
            draft.unlink(missing_ok=True)
    sync_folder(path.parent)


def _sweep(path: Path) -> None:
    """Remove what killed processes left of a file: older than some seconds, and nobody holds its lock."""
    for left in path.parent.glob(".*.????????"):
        if left.name[:-8] == f".{path.name}." and datetime.now().timestamp() - left.stat().st_mtime > SWEPT:
            with suppress(OSError, InputError), left.open("rb") as file:
                posix_module("fcntl").flock(file, 6)  # LOCK_EX | LOCK_NB
                left.unlink()


def flat(value: Any) -> Iterator[Any]:
    """Yield what nested lists hold, in order; or what is no list."""
    for each in value if isinstance(value, list) else [value]:
        yield from flat(each) if isinstance(each, list) else (each,)


def plain(text: str) -> str:
    """Return a text that a terminal shows as it is: what is not printable is escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


TERMINAL_WIDTH = 100  #: columns of a terminal that a table may take


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows of text under a head, aligned; control characters in cells are escaped."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    # Text in a ledger may have been written by SQL, and a terminal obeys control characters.
    drawn = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in head:
        drawn.add_column(plain(name), overflow="fold")
    for row in rows:
        drawn.add_row(*map(plain, row))
    out = io.StringIO()
    Console(file=out, width=TERMINAL_WIDTH, highlight=False, markup=False, emoji=False, no_color=True).print(
        drawn
    )
    return "\n".join(line.rstrip() for line in out.getvalue().strip("\n").split("\n"))


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """Return a table for a notebook, every text escaped."""
    top = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows)
    lines = "".join(f"<tr>{row}</tr>" for row in (*([top] if top else []), *body))
    return f"<table><caption>{html.escape(caption)}</caption>{lines}</table>"


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV, with a quotation mark before a text that a spreadsheet may take for a formula."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(map(_csv_cell, row) for row in rows)
    return out.getvalue()


def _csv_cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    evaluated = value[:1] in ("\t", "\r", "\n") or normalize("NFKC", value).lstrip().startswith(FORMULA)
    return f"'{value}" if evaluated else value


@contextmanager
def using(path: Path, right: str, otherwise: str = "unwritable") -> Iterator[None]:
    """Raise what the system refuses within as an `InputError` naming the path, and what would be `right`."""
    try:
        yield
    except OSError as error:
        raise InputError(error.strerror or otherwise, right, path) from None


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Make a folder if it lacks, for files written within; a failure is an `InputError` naming it."""
    with using(folder, "name a folder that can be written"):
        folder.mkdir(parents=True, exist_ok=True)
        yield


def check_output(output: Path | None, *inputs: Path | str | None) -> None:
    """Raise `InputError` where writing `output` would replace one of the inputs, by whatever name."""
    for each in inputs:
        with suppress(OSError):
            if output is not None and each is not None and output.samefile(each):
                raise InputError("the command reads this file", "write to another file", output)


def sync_folder(folder: Path) -> None:
    """Make a folder's entries durable: what was created or renamed in it stays."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _decoded(raw: bytes | str, file: str) -> str:
    try:
        return raw.decode("utf-8") if isinstance(raw, bytes) else raw
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start} is not UTF-8", "save the file as UTF-8", file) from None


def mapped(each: Callable[[Any], Any], value: Any) -> Any:
    """Return a document with a function of every value in it that is neither a table nor a list."""
    if isinstance(value, Mapping):
        return {key: mapped(each, member) for key, member in value.items()}
    several = isinstance(value, list | tuple)
    return [mapped(each, member) for member in value] if several else each(value)


def _check_nesting(root: object, place: Place) -> None:
    """Refuse what is nested too deeply, has oversized integers, or holds unpaired surrogates."""
    # Level by level: a recursive walk would end at Python's own limit before it could refuse a deep file.
    level, depth = [root], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH + 1:
            raise place.wrong("nested too deeply", f"at most {MAX_DEPTH} levels are read")
        below: list[object] = []
        for value in level:
            if isinstance(value, dict):
                below.extend(value)
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
            elif isinstance(value, str):
                if not value.isascii() and _SURROGATE.search(value):
                    raise place.wrong("a string holds an unpaired surrogate", "use well-formed Unicode text")
            elif isinstance(value, int) and value.bit_length() > 4 * MAX_CHARACTERS:
                raise place.wrong("an integer is too long", f"at most {MAX_CHARACTERS} characters are read")
        level = below
