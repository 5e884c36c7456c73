"""Run the quick tests against every mutant of one file, each in a forked process, and list the survivors.

usage: python tests/mutation/survivors.py MODULE TEST_FILE... [--most SECONDS] [--limit SECONDS]
       [--lines A-B] [--functions NAME...] [--only FILE] [--out FILE] [--deep]
       [--draw N] [--seed SEED]

The heavy imports are paid once, before the forks.  In a child the mutated module stands in for the real
one before anything of the package is imported; nothing on disk changes.  Tests are plain functions,
their parameters expanded here; those that ask for fixtures run under pytest for what is left.  A mutant
that runs out of time or memory counts as killed.  Where DPACCOUNT_STORE names
a file, the same command goes on there after it was killed.
"""

import argparse
import contextlib
import dis
import importlib
import importlib.util
import inspect
import io
import json
import math
import os
import resource
import select
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

import hypothesis
import mpmath
import numpy as np
import scipy.optimize
import scipy.stats

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from mutants import DECLARING, mutants  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from dpaccount.documents import hex_digest  # noqa: E402
from dpaccount.noise import process  # noqa: E402
from dpaccount.work import run as long_work  # noqa: E402
from dpaccount.work.results import kept_in  # noqa: E402
from dpaccount.work.version import digest_of  # noqa: E402
from tests import depth  # noqa: E402

CONSTANTS = (int, float, complex, str, bytes, tuple, frozenset, type(None))  #: equal ones may be one object
CHECKER = "dpaccount.checker"
MEMORY = 4 * 2**30
Check = tuple[str, Callable[[], object]]


def put(module: ModuleType, code: CodeType, function: str) -> None:
    """Put a mutant in the place of the honest module.

    Inside a function its code is exchanged, so every reference to the function sees the change.  What
    runs at import, what is called there, and what declares rules, is run again into the same module, as is
    every module of the checker that was imported after it; old references are bound to what came of it.
    """
    owner, held = function.split("."), code
    holder: Any = module
    for name in owner if owner[0] not in (*DECLARING, *_called_at_import(module, code)) else ():
        inner = next((c for c in held.co_consts if isinstance(c, CodeType) and c.co_name == name), None)
        holder = getattr(holder, name, None)
        if inner is None or holder is None:
            break
        held = inner
        plain = inspect.unwrap(holder)
        if inspect.isfunction(plain):
            changed = plain.__code__ != held
            plain.__code__ = held
            if hasattr(holder, "cache_clear"):
                holder.cache_clear()
            if changed:
                return
            break  # a default or a decorator changed: that is run at import
    again = [(module, code), *((other, _honest(other)) for other in _later(module))]
    before = [(other, dict(vars(other))) for other, _ in again]
    for other, run in again:
        exec(run, vars(other))  # noqa: S102
    fresh = {
        _key(name, v): vars(m)[name] for m, held in before for name, v in held.items() if name in vars(m)
    }
    for other in list(sys.modules.values()):
        if getattr(other, "__name__", "").startswith(("dpaccount", "mutation_", "tests.")):
            for name, old in list(vars(other).items()):
                if _key(name, old) in fresh and not name.startswith("__"):
                    vars(other)[name] = fresh[_key(name, old)]


def _key(name: str, value: object) -> tuple[int, str]:
    """Return what tells whether a module's variable refers to a value: for constants the name, too.

    Every 5 of the program is one object, of which a mutant changes those of one name.
    """
    return id(value), name if isinstance(value, CONSTANTS) else ""


def _called_at_import(module: ModuleType, code: CodeType) -> set[str]:
    """Return the functions of a module that its own code reads: they have run, and made what it holds."""
    read = {str(step.argval) for step in dis.get_instructions(code) if step.opname == "LOAD_NAME"}
    return {name for name in read if inspect.isfunction(getattr(module, name, None))}


def _later(module: ModuleType) -> list[ModuleType]:
    """Return the modules of the checker, and of what builds on it, that were imported after this one of them."""
    names = [name for name in sys.modules if name.startswith((f"{CHECKER}.", "audits.consistency."))]
    later = names[names.index(module.__name__) + 1 :] if module.__name__ in names else []
    return [sys.modules[name] for name in later]


def _honest(module: ModuleType) -> CodeType:
    file = Path(str(module.__file__))
    return compile(file.read_text(), str(file), "exec")


class Said(NamedTuple):
    """Both streams."""

    out: str
    err: str


class Captured:
    """What was written since the last reading, as pytest's `capsys` returns it."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.out, self.err = io.StringIO(), io.StringIO()

    def readouterr(self) -> "Said":
        """Return and forget what was written."""
        said = Said(self.out.getvalue(), self.err.getvalue())
        for stream in (self.out, self.err):
            stream.seek(0)
            stream.truncate()
        return said


@contextlib.contextmanager
def captured() -> Iterator[Captured]:
    """Capture both streams."""
    held = Captured()
    with contextlib.redirect_stdout(held.out), contextlib.redirect_stderr(held.err):
        yield held


@contextlib.contextmanager
def directory() -> Iterator[Path]:
    """Make a directory and remove it."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


FIXTURES: dict[str, Callable[[], contextlib.AbstractContextManager[Any]]] = {
    "tmp_path": directory,
    "capsys": captured,
    "root": lambda: contextlib.nullcontext(ROOT),
    "depth": lambda: contextlib.nullcontext(depth.RUN),
}


def checks(files: Sequence[Path], deep: bool = False) -> Iterator[Check]:
    """Yield every test of the quick run that needs no fixture, parameters filled in; with `deep` the others too."""
    for file in files:
        spec = importlib.util.spec_from_file_location(f"mutation_{file.stem}", file)
        if spec is None or spec.loader is None:
            raise SystemExit(f"{file} is not a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        for name, test in vars(module).items():
            if name.startswith("test_") and callable(test):
                yield from _expanded(f"{file.stem}::{name}", test, deep)


def _expanded(name: str, test: Callable[..., object], deep: bool) -> Iterator[Check]:
    axes: list[list[dict[str, Any]]] = []
    marks = getattr(test, "pytestmark", [])
    every = next((mark.kwargs.get("quick_every", 0) for mark in marks if mark.name == "deep"), 1)
    if not every and not deep:
        return
    for mark in (mark for mark in marks if mark.name == "parametrize"):
        axes.append(list(_parameters(deep, *mark.args, **mark.kwargs)))  # noqa: PERF401
    given = hasattr(test, "hypothesis")
    asked = set() if given else set(inspect.signature(test).parameters) - {k for a in axes for k in a[0]}
    if not asked <= FIXTURES.keys():
        return
    for case, chosen in enumerate(product(*axes)):
        if not deep and case % every:
            continue
        arguments = {key: value for part in chosen for key, value in part.items()}

        def run(arguments: dict[str, Any] = arguments) -> None:
            _own_work()
            with contextlib.ExitStack() as stack:
                found = {key: stack.enter_context(FIXTURES[key]()) for key in asked}
                test(**arguments, **found)

        yield name, run


def _own_work() -> None:
    """Begin a test with all of the checker's arithmetic, as tests/conftest.py does.

    Used up by the tests before, it would make one fail that has nothing to do with the mutant.
    """
    documents = sys.modules.get(f"{CHECKER}.documents")
    if documents is not None:
        documents.Work.begin()


def _parameters(
    deep: bool, argnames: str | Sequence[str], argvalues: Sequence[Any], **_: object
) -> Iterator[dict[str, Any]]:
    """Yield what a mark fills in, without `deep` but for its deep values."""
    names = argnames.replace(" ", "").split(",") if isinstance(argnames, str) else argnames
    for value in argvalues:
        marked = hasattr(value, "marks")
        if marked and not deep and any(mark.name == "deep" for mark in value.marks):
            continue
        values = value.values if marked else [value] if len(names) == 1 else value
        yield dict(zip(names, values, strict=True))


def _quiet() -> None:
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")


def _settle() -> None:
    """Make tests that draw their cases draw the same ones for every mutant.

    To be called before they are imported: a test with settings of its own takes the rest of them then.  Drawn at
    random, one that fails now and then kills what it has nothing to do with, and is remembered for all others.
    """
    hypothesis.settings.register_profile(
        "mutation",
        max_examples=25,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.settings.load_profile("mutation")


WAIT = 5  #: times the limit in processor time, where others use the processors or a child hangs


def killer(work: Callable[[], str], limit: float) -> str:
    """Return what killed the mutant, run in a fork: a test's name, ``import``, ``time``, or "" for nothing.

    The limit is in seconds of the processor: time that others take kills no mutant.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        said = "crash"
        with contextlib.suppress(BaseException):
            _quiet()
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit)))
            process.IN_TASK.set(False)  # tests charge ledgers
            said = work()
        os.write(writing, b":" + said.encode())
        os._exit(0)
    os.close(writing)
    ready, _, _ = select.select([reading], [], [], WAIT * limit)
    if not ready:
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode() if ready else ":time"
    os.waitpid(child, 0)
    return (said or ":crash")[1:]


def durations(listed: Sequence[Check]) -> str:
    """Return the seconds that every test takes alone, as JSON."""
    found: dict[str, float] = {}
    for name, run in listed:
        start = time.process_time()
        run()
        found[name] = found.get(name, 0.0) + time.process_time() - start
    return json.dumps(found)


def run_checks(listed: Sequence[Check], order: Sequence[str], usual: Mapping[str, float]) -> str:
    """Return the first test that fails, in this order, or "".

    So does one that takes far more than its `usual` seconds of the processor: a mutant may never end.
    """
    rank = {test: at for at, test in enumerate(order)}
    wanted = [check for check in listed if check[0] in rank]
    signal.signal(signal.SIGPROF, _too_late)
    for test, run in sorted(wanted, key=lambda check: rank[check[0]]):
        try:
            signal.setitimer(signal.ITIMER_PROF, SLOW[0] + SLOW[1] * usual[test])
            run()
        except BaseException:  # pytest's own outcomes are BaseExceptions
            return test
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    return ""


SLOW = 3, 10  #: seconds, and times the usual ones, after which a test of a mutant fails


def _too_late(*_: object) -> None:
    raise TimeoutError


def run_mutant(
    module: ModuleType,
    mutant: tuple[CodeType, str],
    listed: Sequence[Check],
    order: Sequence[str],
    usual: Mapping[str, float],
) -> str:
    """Run the tests against a mutant."""
    try:
        put(module, *mutant)
    except BaseException:
        return "import"
    return run_checks(listed, order, usual)


def surviving(name: str, what: object, count: int, how: Callable[[int], str]) -> list[int]:
    """Return which of `count` mutants survive, given `how` one is killed ("": not at all).

    They are tasks of the runner for long work, named by `what`, by all files of tests, and by the code.
    """

    def play(seeds: range) -> NDArray[np.float64]:
        return np.array([[float(not how(number))] for number in seeds])

    store = os.environ.get("DPACCOUNT_STORE")
    named = hex_digest([what, digest_of(ROOT / "tests")])
    with kept_in(Path(store) if store else None):
        series = long_work.Series(f"mutation {name}", long_work.NamedPlay(named, play), range(count))
        [found] = long_work.run([series])
    return np.flatnonzero(found).tolist()


def wanted(source: str, asked: argparse.Namespace) -> list[tuple[CodeType, str, dict[str, Any]]]:
    """Return the mutants that the command line asks for: code, the function that it replaces, and its place."""
    low, high = map(int, asked.lines.split("-"))
    again = {each["name"] for each in json.loads(asked.only.read_text())} if asked.only else None
    rows = []
    for mutant in mutants(source):
        if not low <= mutant.line <= high or (again is not None and mutant.name not in again):
            continue
        if asked.functions and mutant.function.split(".")[0] not in asked.functions:
            continue
        code = compile(mutant.tree, asked.module, "exec")
        rows.append(
            (code, "" if mutant.declared else mutant.function, {"line": mutant.line, "name": mutant.name})
        )
    if asked.draw is None:
        return rows
    return sorted(rows, key=lambda row: hex_digest([asked.seed, row[-1]["name"]]))[: asked.draw]


def main(arguments: Sequence[str]) -> list[dict[str, Any]]:
    """Print and return the survivors."""
    parser = argparse.ArgumentParser()
    parser.add_argument("module", help="such as dpaccount.checker")
    parser.add_argument("tests", nargs="+", type=Path)
    parser.add_argument(
        "--most", type=float, default=1.0, help="seconds; tests that take longer are left out"
    )
    parser.add_argument("--limit", type=float, default=20.0)
    parser.add_argument("--draw", type=int, help="so many mutants, drawn by --seed")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--deep", action="store_true", help="with the tests that only deep runs try")
    parser.add_argument("--lines", default="1-100000")
    parser.add_argument("--functions", nargs="+", help="of the module; all of it without")
    parser.add_argument("--only", type=Path, help="survivors of an earlier run, to be tried again")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args(arguments)
    path = ROOT / asked.module.replace(".", "/")
    source = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()
    files = [file.resolve() for file in asked.tests]
    start = time.monotonic()
    _settle()
    module, listed = importlib.import_module(asked.module), list(checks(files, asked.deep))
    said = killer(lambda: durations(listed), 10 * asked.limit)
    if not said.startswith("{"):
        raise SystemExit(f"the tests fail without any change ({said}); run them with pytest")
    seconds: dict[str, float] = {t: s for t, s in json.loads(said).items() if s <= asked.most}
    wins: dict[str, int] = {}
    tried = wanted(source, asked)

    def how(number: int) -> str:
        *wrong, known = tried[number]
        # those that kill much in little time come first
        order = sorted(seconds, key=lambda test: (seconds[test] + 0.001) / (1 + wins.get(test, 0)))
        killed = killer(lambda: run_mutant(module, tuple(wrong), listed, order, seconds), asked.limit)
        if os.environ.get("VERBOSE"):
            sys.stdout.write(f"{known['line']:5d} {killed:60s} {known['name']}\n")
            sys.stdout.flush()
        if "::" in killed:
            wins[killed] = wins.get(killed, 0) + 1
        return killed

    # which tests are quick is measured anew: what one of them kills is killed, and survivors are tried again
    names, limits = [known["name"] for *_, known in tried], [str(asked.most), str(asked.limit)]
    what = [asked.module, names, [str(file) for file in files], limits]
    survivors = [tried[number][-1] for number in surviving(asked.module, what, len(tried), how)]
    for known in survivors:
        sys.stdout.write(f"{known['line']:5d}  {known['name']}\n")
    sys.stdout.write(
        f"{asked.module}: {len(tried)} mutants, {len(survivors)} survive; {time.monotonic() - start:.0f} s"
        f" ({sum(seconds.values()):.1f} s for the tests alone)\n"
    )
    if asked.out:
        asked.out.write_text(json.dumps(survivors, ensure_ascii=False, indent=1))
    return survivors


if __name__ == "__main__":
    _ = (mpmath, np, scipy.optimize, scipy.stats)  # imported before the forks on purpose
    main(sys.argv[1:])
