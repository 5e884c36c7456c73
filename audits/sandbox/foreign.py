"""Functions that run in another Python interpreter, or as a program in any language.

Both are called like a function f(data, rng) inside a worker process, which the time limit ends together with
its children.
"""

import json
import math
import re
import shlex
import shutil
import subprocess
from decimal import Context, Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from audits.sandbox import foreign_worker
from dpaccount.documents import sha256
from dpaccount.errors import InputError

LEAST_VERSION = (3, 8)
DOUBLE_DIGITS = 17  #: significant digits that identify a double
WHOLE_CONTEXT = Context(prec=2000)  #: digits of a printed number that are compared
MAX_SEED = 2**31 - 1  #: seeds fit a signed 32-bit integer
MAX_DATASETS = 4096  #: datasets that the other interpreter keeps before it is restarted
#: runs the source in the next argument, without the working directory on sys.path
START = "import sys; sys.path[:] = [each for each in sys.path if each]; exec(sys.argv.pop(1))"
HOLES = re.compile(r"\{([\w.]*)\}")


class ProgramFailed(Exception):  # noqa: N818
    """A program ended with an error, or printed no JSON; the text says which."""


def check_command(command: str) -> None:
    """Raise `InputError` unless a command names a program and has one placeholder for the data."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"the command {command[:70]!r} cannot be split ({error})", "close quotes") from None
    holes = set(HOLES.findall(command))
    if not words or len(holes & FORMATS.keys()) != 1 or holes - {*FORMATS, "seed"}:
        raise InputError(
            f"the command is {command[:70]!r}",
            'write such as "prog {seed} {data}": a seed, the path of a CSV file ({data.json}, {data.arrow})',
        )
    if "data.arrow" in holes and find_spec("pyarrow") is None:
        raise InputError("{data.arrow} needs pyarrow", "pip install 'dpaccount[tables]', or use {data}")
    if shutil.which(words[0]) is None:
        raise InputError(f"{words[0][:70]!r} is no program that can be run", "give its path")


class Program:
    """A program that is run for each call: it reads a data file and prints its result as JSON.

    ``{seed}`` becomes an integer; ``{data}``, ``{data.json}`` or ``{data.arrow}`` the path of the
    file in that format (`FORMATS`).  Several lines of output are one list.
    """

    def __init__(self, command: str, folder: Path) -> None:
        check_command(command)
        self._words = shlex.split(command)
        (self._format,) = set(HOLES.findall(command)) & FORMATS.keys()
        self._folder = folder
        self._files: dict[str, Path] = {}

    def __call__(self, data: Any, rng: np.random.Generator) -> Any:
        """Return what the program prints; raises `ProgramFailed`."""
        given = {
            "{seed}": str(int(rng.integers(0, MAX_SEED, endpoint=True))),
            f"{{{self._format}}}": str(self._file(data)),
        }
        words = [HOLES.sub(lambda hole: given[hole[0]], word) for word in self._words]
        # A program may wait for input, which is empty, or quote data in errors, which are dropped.
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False
        )
        if done.returncode:
            how = "exit code" if done.returncode > 0 else "signal"
            raise ProgramFailed(f"{how} {abs(done.returncode)}")
        lines = [line for line in done.stdout.decode("utf-8", "replace").splitlines() if line.strip()]
        try:
            values = [json.loads(line, parse_float=printed_number) for line in lines]
        except (ValueError, RecursionError):
            raise ProgramFailed("prints no JSON: " + repr(lines[0][:60])) from None
        if not values:
            raise ProgramFailed("prints nothing")
        return values[0] if len(values) == 1 else values

    def _file(self, data: Any) -> Path:
        written = FORMATS[self._format](data)
        digest = sha256(written)[:32]
        if digest not in self._files:
            path = self._folder / f"{digest}.{self._format.partition('.')[2] or 'csv'}"
            path.write_bytes(written)
            self._files[digest] = path
        return self._files[digest]


def printed_number(text: str) -> float | list[float]:
    """Parse a number of JSON; if its digits exceed a double's precision: the double and the remainder.

    Programs print a double with up to `DOUBLE_DIGITS` digits.
    """
    value = float(text)
    if len(text) <= DOUBLE_DIGITS or not value or math.isinf(value):
        return value
    exact, double = Decimal(text), Decimal(value)
    few = len(exact.normalize(WHOLE_CONTEXT).as_tuple().digits) <= DOUBLE_DIGITS
    return value if few or exact == double else [value, float(WHOLE_CONTEXT.subtract(exact, double))]


def _rows(array: NDArray[Any]) -> list[list[Any]]:
    rows = array.reshape(len(array), -1).tolist() if array.size else [[]] * len(array)
    return [[None if _is_missing(value) else value for value in row] for row in rows]


def _columns(table: Any) -> dict[str, list[Any]]:
    """Return the columns of a table by their names; missing cells are None."""
    columns = table if isinstance(table, dict) else {name: table[name] for name in table.columns}
    lists = {n: c.to_list() if hasattr(c, "to_list") else c.tolist() for n, c in columns.items()}
    return {name: [None if _is_missing(value) else value for value in each] for name, each in lists.items()}


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def as_csv(data: Any) -> bytes:
    """Return a dataset as CSV: rows of an array, or a table with a header; missing cells are empty."""
    if isinstance(data, np.ndarray):
        lines = [",".join(map(_cell, row)) for row in _rows(data)]
    else:
        columns = _columns(data)
        cells = zip(*(map(_cell, each) for each in columns.values()), strict=True)
        lines = [",".join(map(_cell, columns)), *(",".join(row) for row in cells)]
    return "".join(line + "\n" for line in lines).encode()


def as_json(data: Any) -> bytes:
    """Return a dataset as JSON: a list of an array's rows, or lists by the names of a table's columns.

    Missing values are null; an infinite number is written as Infinity, which not every parser accepts.
    """
    return json.dumps(_rows(data) if isinstance(data, np.ndarray) else _columns(data)).encode()


def as_arrow(data: Any) -> bytes:
    """Return a dataset as an Arrow IPC file; the columns of an array are named by their numbers, from 0."""
    import pyarrow

    if isinstance(data, np.ndarray):
        columns = {str(k): list(column) for k, column in enumerate(zip(*_rows(data), strict=True))}
    else:
        columns = _columns(data)
    table, sink = pyarrow.table(columns), pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    return bytes(sink.getvalue())


FORMATS = {"data": as_csv, "data.json": as_json, "data.arrow": as_arrow}  #: by the placeholder in a command


def _cell(value: Any) -> str:
    if _is_missing(value):
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int | float):
        return repr(value)
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\n\r') else text


class OtherPython:
    """A function in another Python interpreter, which runs `audits.sandbox.foreign_worker`."""

    def __init__(self, path: str, use: str, folders: list[str]) -> None:
        self.path, self.use, self.folders = path, use, folders
        self._child: subprocess.Popen[str] | None = None
        self._kept: dict[str, None] = {}
        self._start()

    def __call__(self, data: Any, rng: np.random.Generator | None = None) -> Any:
        """Return what the function returns there; raises an exception of the same name if it raises.

        Without a generator the function is a query: it is given the data alone, and nothing is seeded.
        """
        if self._child is None:
            self._start()
        key, document = _key(data)
        try:
            if key not in self._kept:
                self._send(json.dumps({"keep": key, "data": document or foreign_worker.encode(data)}))
                self._kept[key] = None
            seed = None if rng is None else int(rng.integers(0, MAX_SEED, endpoint=True))
            self._send(json.dumps({"run": key, "seed": seed}))
            answer = self._receive()
        except (BrokenPipeError, EOFError):
            self._ended()
        if isinstance(answer, dict) and answer[foreign_worker.TAG] == "raised":
            _raise(*answer["is"])
        value = foreign_worker.decode(answer)
        if len(self._kept) > MAX_DATASETS:
            self.close()
        return value

    def _start(self) -> None:
        source = Path(foreign_worker.__file__).read_text()
        module, _, name = self.use.partition(":")
        try:
            self._child = subprocess.Popen(
                [self.path, "-c", START, source],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            self._send(json.dumps([module, name, self.folders]))
            hello = self._receive()
        except (OSError, EOFError, ValueError):
            raise self._no_interpreter() from None
        if not isinstance(hello, dict) or not {"failed", "python"} & hello.keys():
            raise self._no_interpreter()
        if "failed" in hello:
            self.close()
            raise InputError(f"importing {module} in {self.path} failed ({hello['failed']})", "fix it")
        if tuple(hello["python"]) < LEAST_VERSION:
            self.close()
            raise InputError(f"{self.path} is Python {hello['python'][:2]}", "give Python 3.8 or later")

    def _no_interpreter(self) -> InputError:
        self.close()
        return InputError(f"{self.path} is no Python interpreter", "give the path of one, 3.8 or later")

    def _send(self, line: str) -> None:
        if self._child is None or self._child.stdin is None:
            raise EOFError
        self._child.stdin.write(line + "\n")
        self._child.stdin.flush()

    def _receive(self) -> Any:
        if self._child is None or self._child.stdout is None:
            raise EOFError
        line = self._child.stdout.readline()
        if not line:
            raise EOFError
        return json.loads(line)

    def _ended(self) -> NoReturn:
        code = None if self._child is None else self._child.wait()
        self.close()
        raise ProgramFailed(f"the interpreter ends with {code}")

    def close(self) -> None:
        """End the interpreter; the next call starts it again."""
        child, self._child = self._child, None
        self._kept.clear()
        if child is not None:
            child.kill()
            child.communicate()


def _key(data: Any) -> tuple[str, Any]:
    """Return a dataset's digest, and its document if the digest was computed from it."""
    if isinstance(data, np.ndarray) and data.dtype != object:  # the usual case, fast
        return sha256(repr((data.dtype.str, data.shape)).encode() + data.tobytes()), None
    document = foreign_worker.encode(data)
    return sha256(json.dumps(document).encode()), document


def _raise(name: str, text: str) -> NoReturn:
    """Raise an exception of this name, as the function did."""
    if name == "SystemExit":
        raise SystemExit(text)
    kind = name if name.isidentifier() else "Exception"
    raise type(kind, (Exception,), {})(text)
