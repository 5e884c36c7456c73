"""What several commands share: types of options, numbers in and out, answers as lines or as JSON."""

import json
import math
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from msgspec import Struct, to_builtins

from dpaccount.documents import MAX_BYTES, read_bytes
from dpaccount.errors import InputError
from dpaccount.exact import Amount, exact_argument, to_digits, whole_argument

ON_TERMINAL = 8  #: significant digits
#: the exit code of a certificate's or an audit's verdict
EXIT_CODES = {"CERTIFIED": 0, "NOT REFUTED": 0, "REFUTED": 1, "UNPROVEN": 3, "NOT ATTACKED": 3}

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
By = Annotated[str, Parameter(metavar="TEXT", help="Who makes this entry.")]
Source = Annotated[str, Parameter(allow_leading_hyphen=True, metavar="FILE")]
EVENTS = "A JSON file of schema dpaccount/events/1, or - for standard input."
Events = Annotated[str, Parameter(allow_leading_hyphen=True, metavar="FILE", help=EVENTS)]
Number = Annotated[str | None, Parameter(allow_leading_hyphen=True, metavar="NUMBER")]
Whole = Annotated[str | None, Parameter(allow_leading_hyphen=True, metavar="INTEGER")]
Numbers = Annotated[str | None, Parameter(allow_leading_hyphen=True, metavar="NUMBERS")]


def one_of(*allowed: str) -> Parameter:
    """Return the parameter of an option that takes one of these words; help and shells list them."""
    return Parameter(choices=allowed)


def number(text: str | None, option: str) -> Fraction | None:
    """Return the exact number that an option gives; raises `InputError` naming the option."""
    return None if text is None else exact_argument(option, text)


def day(text: str | None, option: str) -> date | None:
    """Return the day that an option gives as YYYY-MM-DD; raises `InputError` naming the option."""
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"{option} is {text[:40] if text else text!r}", "write a date as YYYY-MM-DD"
        ) from None


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
    """Print an answer as JSON, or as `person` words it; it is a structure, or what JSON holds."""
    if isinstance(answer, Struct):
        answer = to_builtins(answer, builtin_types=(Amount,))  # whose text is a decimal
    text = json.dumps(answer, ensure_ascii=False, allow_nan=False) if as_json else person(answer)
    if as_json and not text.isprintable():  # a text of JSON stays what it is, and a terminal shows it
        text = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
    sys.stdout.write(text + "\n")


def say(message: str) -> None:
    """Say a line on standard error."""
    sys.stderr.write(message + "\n")


def next_step(words: str) -> None:
    """Print the usual next command, on a terminal only."""
    if sys.stderr.isatty():
        say(f"next: {words}")


def source(name: str) -> bytes:
    """Return the bytes of a file, or of standard input for a hyphen."""
    if name != "-":
        return read_bytes(Path(name))
    # One byte more tells too long an input from one of just that length.
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
    # One row more: up to it both datasets are equal.
    longer, shorter = (left, right) if len(left) > len(right) else (right, left)
    unlike = (place for place, (one, other) in enumerate(zip(longer, shorter, strict=False)) if one != other)
    more = _of(longer, [next(unlike, len(shorter))])
    return {**shown, "left": more if longer is left else "-", "right": more if longer is right else "-"}


def _of(rows: list[Any], places: list[int]) -> dict[str, Any]:
    return {f"row {place}:": rows[place] for place in places}


def short(value: Any) -> str:
    """Return a value in one line; an enclosure as an interval, whose ends are rounded outwards."""
    if isinstance(value, dict) and value.keys() == {"lower", "upper"}:
        low, high = value["lower"], value["upper"]
        ends = ("-" if low is None else rounded(low, up=False)), rounded(high, up=True)
        return f"[{ends[0]}, {ends[1]}]"
    if isinstance(value, dict):
        return ", ".join(f"{key} {short(member)}" for key, member in value.items())
    if isinstance(value, list):
        return "; ".join(short(member) for member in value)
    return str(value)


def rounded(value: Any, *, up: bool | None) -> str:
    """Return a number for a terminal, rounded up or down, or to the nearest; any other value as text."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return to_digits(value, up=up, digits=ON_TERMINAL) if is_number else str(value)


@dataclass(frozen=True)
class WorkOptions:
    """Where long work is done, and where its results are kept; they do not depend on either."""

    jobs: Whole = None
    """Processes (default: the number of cores); the result does not depend on it."""
    store: File | None = None
    """A file for finished work, from which the same command resumes after it was killed; it is
    created (default: nothing is kept)."""
    backend: Annotated[str, one_of("serial", "loky", "dask")] | None = None
    """serial, loky (processes of this machine, the default) or dask."""
    scheduler: Annotated[str, Parameter(metavar="TEXT")] | None = None
    """Where the scheduler listens, HOST:PORT, for --backend dask."""

    def processes(self) -> int:
        """Return the number of processes."""
        from audits.api.cores import cores

        return whole(self.jobs, "--jobs", 1, 256) or cores()

    @contextmanager
    def work(self) -> Iterator[None]:
        """Use the store, and the backend if one is named, for what is done in the block."""
        from dpaccount.work.results import kept_in
        from dpaccount.work.workers import workers

        jobs = None if self.backend is None else self.processes()
        with kept_in(self.store or usual_store()), workers(jobs, self.backend, self.scheduler):
            yield


NOT_SAID = WorkOptions()


def usual_store() -> Path | None:
    """Return the store that ``DPACCOUNT_STORE`` names for all commands."""
    name = os.environ.get("DPACCOUNT_STORE")
    return Path(name) if name else None


@contextmanager
def reporting(quiet: float = 0.0) -> Iterator[Callable[[str], None]]:
    """Give a way to say on standard error what is being done.

    On a terminal a spinner says it with the time left, elsewhere each report is a line of JSON, but
    in the first `quiet` seconds.
    """
    if not sys.stderr.isatty():
        yield json_lines(say, quiet=quiet)
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield timed(status.update)


@contextmanager
def watching() -> Iterator[None]:
    """Say how far a ledger is read, with the time left; a script hears of what takes long alone."""
    from dpaccount.ledger.stores.rows import WATCH

    with reporting(quiet=EVERY) as report:
        token = WATCH.set(report)
        try:
            yield
        finally:
            WATCH.reset(token)


COUNT = re.compile(r"^(.*?)\b(\d+) of (\d+)\b")
EVERY = 10.0  #: seconds between two lines of JSON on one phase


Step = tuple[str, int, int, int | None]  #: the phase, how much of how much, the seconds left


def paced(clock: Callable[[], float]) -> Callable[[str], Step]:
    """Return a reader of reports, which estimates the time left from the pace of the phase so far."""
    phase, begun, first = "", 0.0, 0

    def step(what: str) -> Step:
        nonlocal phase, begun, first
        match = COUNT.match(what)
        name, done, total = (what, 0, 0) if match is None else (match[1], int(match[2]), int(match[3]))
        if name != phase:
            phase, begun, first = name, clock(), done
        left = None
        if first < done < total:
            left = math.ceil((clock() - begun) * (total - done) / (done - first))
        return name.rstrip(": "), done, total, left

    return step


def json_lines(
    show: Callable[[str], None], clock: Callable[[], float] = time.monotonic, quiet: float = 0.0
) -> Callable[[str], None]:
    """Return a function that shows a phase when it begins, every `EVERY` seconds, and when it ends.

    It shows nothing in the first `quiet` seconds.
    """
    step, last, shown, begun = paced(clock), ("", 0), 0.0, clock()

    def report(what: str) -> None:
        nonlocal last, shown
        phase, done, total, left = step(what)
        if clock() - begun < quiet:
            return
        # A line for each report would flood the log of a script.
        if phase != last[0] or done == total > last[1] or clock() - shown >= EVERY:
            counts = {"done": done, "of": total, "seconds_left": left} if total else {}
            show(json.dumps({"progress": phase, **counts}))
            last, shown = (phase, done), clock()

    return report


def timed(show: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> Callable[[str], None]:
    """Return a function that shows each phase that counts, with the time left."""
    step = paced(clock)

    def report(what: str) -> None:
        left = step(what)[3]
        show(what if left is None else f"{what}, about {_duration(left)} left")

    return report


def _duration(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    if minutes > 59:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def ranges_of(text: str | None, option: str) -> list[tuple[int, int]] | None:
    """Return ranges that are written 1-3,7."""
    if text is None:
        return None
    ranges = []
    for word in text.split(","):
        first, dash, last = word.partition("-")
        if not (first.isdecimal() and (last.isdecimal() if dash else True)) or len(word) > 40:
            raise InputError(f"{word[:40]!r} is no range", "write 1-3 or 7, with commas between", option)
        ranges.append((int(first), int(last or first)))
    return ranges


def answered(answer: dict[str, Any] | Struct, json_: Json) -> int:
    """Print a ledger's answer; return its exit code."""
    from audits.cli import answers

    show(answer, json_, lines)
    return answers.exit_code(answer)
