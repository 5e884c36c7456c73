"""What the code of functions and modules says of itself: its digest, and words that nothing can follow."""

import sys
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from audits.verdicts.places import origin, text_digest

CLOCKS = frozenset(
    {
        *("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time"),
        *("process_time_ns", "thread_time", "localtime", "gmtime", "ctime", "clock_gettime", "now", "today"),
        *("utcnow", "uuid1", "st_mtime", "st_atime", "st_ctime", "st_mtime_ns", "getmtime"),
    }
)
READERS = frozenset(  # open files by themselves, in native code
    {"polars", "pyarrow", "h5py", "duckdb", "netCDF4", "read_hdf", "read_parquet", "read_feather", "read_orc"}
)
MACHINE = frozenset(  # tell what is the machine's, or who runs there
    {
        *("cpu_count", "process_cpu_count", "sched_getaffinity", "getloadavg", "getrusage", "psutil"),
        *("platform", "uname", "gethostname", "statvfs", "disk_usage", "getpid", "getppid"),
        *("getpass", "getlogin", "getuid", "geteuid", "getgid", "access"),
        *("st_mode", "st_ino", "st_dev", "st_nlink", "st_uid", "st_gid"),
    }
)
BEYOND = frozenset(  # run other processes or foreign functions, which nothing follows
    {"ctypes", "cffi", "multiprocessing", "ProcessPoolExecutor", "joblib"}
)
WORDS = (
    (READERS, "may open files in native code"),
    (MACHINE, "may ask what the machine is"),
    (BEYOND, "may run what cannot be followed"),
)
REWRITTEN = "@pytest_ar"  #: a name in code that pytest's assertion rewriting made


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def names_in(code: CodeType) -> set[str]:
    """Return every name of a global, an attribute or an import in a code object."""
    return {name for each in codes(code) for name in each.co_names}


def refused_words(code: CodeType) -> list[str]:
    """Return why what the code reads might not be seen, by the names that it uses."""
    names = names_in(code)
    texts = {text for each in codes(code) for text in each.co_consts if isinstance(text, str)}
    clock = sorted(names & CLOCKS) or sorted(texts & {"now", "today"})
    found = [f"may read the clock ({clock[0]})"] if clock else []
    parts = {part for name in names for part in name.split(".")}
    for words, why in WORDS:
        found += [f"{why} ({word})" for word in sorted(parts & words)[:1]]
    return found


def told(code: CodeType) -> list[Any]:
    """Return what a code object does, without where it stands: names, constants, instructions."""
    constants = [told(each) if isinstance(each, CodeType) else _constant(each) for each in code.co_consts]
    return [
        *(code.co_code.hex(), constants, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
        *(code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_name),
        getattr(code, "co_exceptiontable", b"").hex(),
    ]


def _constant(value: object) -> str:
    if isinstance(value, frozenset):
        return f"frozenset {sorted(map(_constant, value))}"
    if isinstance(value, tuple):
        return f"tuple {[_constant(each) for each in value]}"
    return f"{type(value).__name__} {value!r}"


def module_names() -> dict[str, dict[str, list[str]]]:
    """Return, for the file of every module of a user's own, what its names stand for.

    Another process that has loaded the same files compares them with its own: what was patched differs.
    """
    found = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is not None and name != "__main__" and origin(file) == "theirs":
            found[str(file)] = names_of(vars(module))
    return found


Said = list[str]  #: what a name stands for: what it does, where its source stands, what else it has


def names_of(members: Any) -> dict[str, Said]:
    """Return what the names of a namespace stand for, as digests."""
    return {name: _said(value) for name, value in list(members.items()) if name[:2] not in ("__", "@p")}


def same(here: Said | None, there: Said) -> bool:
    """Say whether a name stands for the same in two processes; rewritten code is known by its place."""
    if here is None or here[2] != there[2]:
        return False
    return here[0] == there[0] if here[0] and there[0] else here[1] == there[1]


def _said(value: object) -> Said:
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    if isinstance(value, FunctionType) and origin(value.__code__.co_filename) == "theirs":
        code = value.__code__
        rewritten = any(REWRITTEN in each.co_names for each in codes(code))
        does = "" if rewritten else text_digest(repr(told(code)))
        place = f"{code.co_filename} {code.co_firstlineno} {value.__qualname__}"
        return [does, place, _plain((value.__defaults__, tuple((value.__kwdefaults__ or {}).items())))]
    if isinstance(value, type) and _of_theirs(value):
        inside = names_of(vars(value))
        rewritten = any(not member[0] for member in inside.values())
        does = "" if rewritten else text_digest(repr(sorted(inside.items())))
        rest = repr(sorted((name, *member[1:]) for name, member in inside.items()))
        return [does, text_digest(rest), value.__qualname__]
    return [_plain(value), "", ""]


def _of_theirs(value: type) -> bool:
    file = getattr(sys.modules.get(value.__module__), "__file__", None)
    return file is not None and origin(file) == "theirs"


def _plain(value: object) -> str:
    """Return a digest of a plain constant; of anything else its type and name, for it may change rightly."""
    if isinstance(value, tuple):
        return text_digest(repr([_plain(each) for each in value]))
    if type(value) in (bool, int, float, complex, str, bytes, type(None)):
        return text_digest(f"{type(value).__name__} {value!r}")
    return f"{type(value).__qualname__} {getattr(value, '__qualname__', getattr(value, '__name__', ''))}"
