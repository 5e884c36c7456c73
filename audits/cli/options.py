"""What several commands share: types of options, numbers in and out, answers as lines or as JSON."""

import json
import math
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from dpaccount.documents import MAX_BYTES, read_bytes
from dpaccount.errors import InputError
from dpaccount.exact import exact_argument, whole_argument

#: What help shows of an option, besides what it says: its kind, and what it may be where that is a list.
Flag = Annotated[bool, Parameter(negative="", show_default=False)]
Json = Annotated[
    bool,
    Parameter(
        name="--json", negative="", show_default=False, help="Print one JSON document and nothing else."
    ),
]
CatalogueOnly = Annotated[
    bool,
    Parameter(
        name="--catalogue-only",
        negative="",
        show_default=False,
        help="Refuse subjects that are not catalogued.",
    ),
]
File = Annotated[Path, Parameter(metavar="FILE")]
Folder = Annotated[Path, Parameter(metavar="FOLDER")]
Text = Annotated[str, Parameter(metavar="TEXT")]
Name = Annotated[str, Parameter(metavar="NAME")]
Url = Annotated[str, Parameter(metavar="URL")]
LedgerUrl = Annotated[str, Parameter(metavar="URL", help="The ledger.")]
By = Annotated[str, Parameter(metavar="TEXT", help="Who says so.")]
Source = Annotated[str, Parameter(allow_leading_hyphen=True, metavar="FILE")]
EVENTS = "A JSON file of schema dpaccount/events/1, or - for standard input."
Events = Annotated[str, Parameter(allow_leading_hyphen=True, metavar="FILE", help=EVENTS)]
Number = Annotated[str | None, Parameter(allow_leading_hyphen=True, metavar="NUMBER")]
Whole = Annotated[str | None, Parameter(allow_leading_hyphen=True, metavar="INTEGER")]
Numbers = Annotated[str | None, Parameter(allow_leading_hyphen=True, metavar="NUMBERS")]


def one_of(*allowed: str) -> Parameter:
    """Return what help shows, a shell completes and the command takes: one of these words."""
    return Parameter(choices=allowed)


def number(text: str | None, option: str) -> Fraction | None:
    """Return the exact number that an option gives; raises `InputError` naming the option."""
    return None if text is None else exact_argument(option, text)


def numbers(options: object, *names: str) -> dict[str, Fraction | None]:
    """Return the exact numbers that several options give, by name."""
    return {name: number(getattr(options, name), f"--{name}") for name in names}


def required(text: str | None, option: str) -> Fraction:
    """Return the exact number of an option that must be there."""
    value = number(text, option)
    if value is None:
        raise InputError(f"{option} is missing", "give a number")
    return value


def whole(text: str | None, option: str, least: int = 1, most: int | None = None) -> int | None:
    """Return the whole number that an option gives, within its limits."""
    return whole_argument(option, number(text, option), least, most, text)


def show(answer: Any, as_json: bool, person: Callable[[Any], str]) -> None:  # noqa: FBT001
    """Print an answer as JSON, or as `person` words it."""
    text = json.dumps(answer, ensure_ascii=False, allow_nan=False) if as_json else person(answer)
    if as_json and not text.isprintable():  # a text of JSON stays what it is, and a terminal shows it
        text = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
    sys.stdout.write(text + "\n")


def say(message: str) -> None:
    """Say a line on standard error."""
    sys.stderr.write(message + "\n")


def source(name: str) -> bytes:
    """Return the bytes of a file, or of standard input for a hyphen."""
    if name != "-":
        return read_bytes(Path(name))
    raw = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise InputError(f"standard input: more than {MAX_BYTES} bytes", "inputs are at most that long")
    return raw


def lines(answer: Any) -> str:
    """Return a flat answer as aligned lines."""
    shown = {key: value for key, value in answer.items() if key != "schema" and value is not None}
    width = max((len(key) for key in shown), default=0)
    return "\n".join(f"{key:<{width}}  {short(value)}" for key, value in shown.items())


def differing(witness: dict[str, Any]) -> dict[str, Any]:
    """Return a witness for a person: of two datasets only the rows that differ, by their places from 0."""
    shown = {key: value for key, value in witness.items() if key != "other_rows"}
    left, right = witness.get("left"), witness.get("right")
    if "other_rows" in witness or not isinstance(left, list) or not isinstance(right, list):
        return shown
    if len(left) == len(right):
        places = [place for place, (one, other) in enumerate(zip(left, right, strict=True)) if one != other]
        return {**shown, "left": _of(left, places), "right": _of(right, places)}
    longer, shorter = (left, right) if len(left) > len(right) else (right, left)
    unlike = (place for place, (one, other) in enumerate(zip(longer, shorter, strict=False)) if one != other)
    more = _of(longer, [next(unlike, len(shorter))])
    return {**shown, "left": more if longer is left else "-", "right": more if longer is right else "-"}


def _of(rows: list[Any], places: list[int]) -> dict[str, Any]:
    return {f"row {place}:": rows[place] for place in places}


def short(value: Any) -> str:
    """Return a value in one line; an enclosure as an interval."""
    if isinstance(value, dict) and value.keys() == {"lower", "upper"}:
        return f"[{value['lower'] if value['lower'] is not None else '-'}, {value['upper']}]"
    if isinstance(value, dict):
        return ", ".join(f"{key} {short(member)}" for key, member in value.items())
    if isinstance(value, list):
        return "; ".join(short(member) for member in value)
    return str(value)


@contextmanager
def reporting() -> Iterator[Callable[[str], None]]:
    """Give a way to say on standard error what is being done.

    On a terminal a spinner says it with the time left, elsewhere each phase is a line.
    """
    if not sys.stderr.isatty():
        yield phases(say)
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield timed(status.update)


@contextmanager
def watching() -> Iterator[None]:
    """Show on a terminal how far a ledger is read, with the time left; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield
        return
    from dpaccount.ledger.stores.rows import WATCH

    with reporting() as report:
        token = WATCH.set(report)
        try:
            yield
        finally:
            WATCH.reset(token)


COUNT = re.compile(r"^(.*?)\b(\d+) of (\d+)\b")


def phases(show: Callable[[str], None]) -> Callable[[str], None]:
    """Return what shows a phase that counts once, and every other as it comes."""
    last = ""

    def report(what: str) -> None:
        nonlocal last
        found = COUNT.match(what)
        phase = what if found is None else found[1].rstrip(": ")
        if found is None or phase != last:
            show(f"{what} ...")
        last = phase

    return report


def timed(show: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> Callable[[str], None]:
    """Return what shows a phase that counts with the time left, by its pace since it began."""
    phase, begun, first = "", 0.0, 0

    def report(what: str) -> None:
        nonlocal phase, begun, first
        found = COUNT.match(what)
        name, done, every = (what, 0, 0) if found is None else (found[1], int(found[2]), int(found[3]))
        if name != phase:
            phase, begun, first = name, clock(), done
        if first < done < every:
            left = (clock() - begun) * (every - done) / (done - first)
            what = f"{what}, about {_duration(left)} left"
        show(what)

    return report


def _duration(seconds: float) -> str:
    whole_seconds = math.ceil(seconds)
    minutes, rest = divmod(whole_seconds, 60)
    return (
        f"{minutes // 60} h {minutes % 60} min"
        if minutes > 59
        else f"{minutes} min {rest} s"
        if minutes
        else f"{rest} s"
    )


def ranges_of(text: str | None, option: str) -> list[tuple[int, int]] | None:
    """Return ranges that are written 1-3,7."""
    if text is None:
        return None
    found = []
    for word in text.split(","):
        first, dash, last = word.partition("-")
        if not (first.isdecimal() and (last.isdecimal() if dash else True)) or len(word) > 40:
            raise InputError(f"{word[:40]!r} is no range", "write 1-3 or 7, with commas between", option)
        found.append((int(first), int(last or first)))
    return found


def answered(answer: dict[str, Any], json_: Json) -> int:
    """Print a ledger's answer; return its exit code."""
    from dpaccount.ledger import answers

    show(answer, json_, lines)
    return answers.exit_code(answer)
