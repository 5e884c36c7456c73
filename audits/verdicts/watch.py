"""What code loads, opens and asks in the process that runs it, so that a verdict on it may be kept.

A verdict is about what ran.  It may stand in for another run as long as all that the code could have read is
the same, so the process records every module that it loads (by the bytes that are compiled: bytecode of a
user's own is not taken from a cache), every file and folder that Python code opens, lists or looks for, every
variable of the environment that it asks for, and every import that finds nothing.  What cannot be followed so
is a reason against keeping the verdict: the clock, other programs, the network, files that are written,
native code that is not installed.
"""

import hashlib
import importlib.machinery
import os
import sys
import time
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

from audits.verdicts.code_words import module_names, refused_words
from audits.verdicts.places import digest, listing, origin, text_digest

WRITES = os.O_WRONLY | os.O_RDWR
LEFT_ALONE = ("/dev/null", "/dev/urandom", "/dev/random")
CLOCKS = ("time", "monotonic", "perf_counter", "process_time", "thread_time")
CLOCK_TEXTS = ("localtime", "gmtime", "ctime", "asctime", "strftime")
OTHERS = ("subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "sqlite3.")
CHANGES = (
    "os.remove",
    "os.rename",
    "os.mkdir",
    "os.rmdir",
    "os.truncate",
    "os.link",
    "os.symlink",
    "shutil.",
)


READS = ("open", "os.listdir", "os.scandir", "ctypes.dlopen", "socket.")


class Watched:
    """What was seen so far."""

    def __init__(self) -> None:
        self.files: dict[str, str | None] = {}
        self.folders: dict[str, str | None] = {}
        self.asked: set[str] = set()
        self.everything = False  #: all of the environment was asked for
        self.imports: set[str] = set()
        self.refused: dict[str, None] = {}  #: a set that keeps its order
        self.environment = dict(os.environ)
        self.busy = False
        self.running = False

    def file(self, path: Any) -> None:
        """Note a file that is opened or looked for, with what it holds now."""
        if isinstance(path, int) or self.busy:
            return
        place = os.path.abspath(os.fsdecode(path))  # noqa: PTH100
        if place in self.files or place in LEFT_ALONE:
            return
        self.busy = True
        self.files[place] = digest(place)
        self.busy = False

    def record(self, path: list[str]) -> dict[str, Any]:
        """Return all of it as a document, with the modules that are loaded and where they were found."""
        self.busy = True
        for place, held in list(self.files.items()):
            if digest(place) != held:
                self.refused[f"{place} changed while it ran"] = None
        modules, names = list(self._modules(path)), module_names()
        asked = {key: self.environment.get(key) for key in sorted(self.asked)}
        everything = "\0".join(f"{key}={value}" for key, value in sorted(self.environment.items()))
        return {
            "files": self.files,
            "folders": self.folders,
            "environment": {key: value and text_digest(value) for key, value in asked.items()},
            "whole_environment": text_digest(everything) if self.everything else None,
            "path": path,
            "modules": modules,
            "absent": sorted(name for name in self.imports if name not in sys.modules),
            "names": names,
            "refused": list(self.refused),
        }

    def _modules(self, path: list[str]) -> Iterator[list[Any]]:
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            whose = "python" if file is None else origin(file)
            if whose in ("python", "ours") or name == "__main__":
                continue
            self.files.setdefault(str(file), digest(str(file)))
            if whose == "theirs":
                self._look_at(name, str(file))
            if whose == "theirs" or "." not in name:
                parent = sys.modules.get(name.rpartition(".")[0])
                yield [name, file, path if parent is None else list(getattr(parent, "__path__", path))]

    def _look_at(self, name: str, file: str) -> None:
        """Note what a module of the user's might do that nothing shows."""
        if not file.endswith(".py"):
            self.refused[f"{name} is native code"] = None
            return
        with open(file, "rb") as source:  # noqa: PTH123  # may be replaced by now: it is what was compiled
            code = compile(source.read(), file, "exec", dont_inherit=True)
        for why in refused_words(code):
            self.refused[f"{name} {why}"] = None


_WATCHED: list[Watched] = []


def begin() -> None:
    """Record from here on what is loaded, opened and asked for, in this process."""
    origin(__file__)  # asks for folders itself, once
    seen = Watched()
    _WATCHED.append(seen)
    sys.dont_write_bytecode = True
    _follow_environment(seen)
    _follow_questions(seen)
    _follow_clocks(seen)
    sys.addaudithook(lambda event, given: None if seen.busy else _heard(seen, event, given))


def from_source() -> None:
    """Compile the user's modules from their files from here on: bytecode that Python keeps may be older.

    It is told apart from its file by a length and a time of whole seconds, so an edit could go unseen.
    """
    loader: Any = importlib.machinery.SourceFileLoader
    cached = loader.get_code

    def get_code(self: Any, name: str) -> CodeType | None:
        path = self.get_filename(name)
        if origin(path) != "theirs":
            kept: CodeType | None = cached(self, name)
            return kept
        source = self.get_data(path)
        for seen in _WATCHED:
            seen.files[path] = hashlib.sha256(source).hexdigest()
        code: CodeType = self.source_to_code(source, path)
        return code

    loader.get_code = get_code


def loaded() -> None:
    """Note that all imports are done: a clock that is read from here on decides what runs do."""
    for seen in _WATCHED:
        seen.running = True


def record(folders: list[str]) -> dict[str, Any] | None:
    """Return what was seen since `begin`, with `folders` at the end of the path; None without it."""
    path = [*sys.path, *(folder for folder in folders if folder not in sys.path)]
    return _WATCHED[0].record(path) if _WATCHED else None


def _heard(seen: Watched, event: str, given: tuple[Any, ...]) -> None:
    """Note an event of Python's runtime; import machinery is followed by what it loads."""
    if event == "import":
        if "." not in given[0]:
            seen.imports.add(given[0])
        return
    if not event.startswith((*READS, *OTHERS, *CHANGES)):  # of all others there are too many
        return
    if sys._getframe(2).f_code.co_filename.startswith("<frozen importlib"):
        return
    if event == "open":
        _opened(seen, *given)
    elif event in ("os.listdir", "os.scandir"):
        _listed(seen, given[0])
    elif event == "ctypes.dlopen":
        _native(seen, given[0])
    elif event.startswith("socket.") and event != "socket.__new__":
        seen.refused["it uses the network"] = None
    elif event.startswith(OTHERS):
        seen.refused[f"it asks another program or a database ({event})"] = None
    elif event.startswith(CHANGES):
        seen.refused[f"it changes files ({event})"] = None


def _opened(seen: Watched, path: Any, _: object, flags: int) -> None:
    if isinstance(path, int) or os.fsdecode(path) in LEFT_ALONE:
        return
    if flags & WRITES:
        seen.refused[f"it writes {os.fsdecode(path)}"] = None
    elif os.fsdecode(path).startswith(("/proc/", "/sys/", "/dev/")):
        _unless_installed(seen, f"it reads {os.fsdecode(path)}")
    else:
        seen.file(path)


def _listed(seen: Watched, path: Any) -> None:
    if isinstance(path, int):
        seen.refused["it lists a folder by its descriptor"] = None
        return
    place = os.path.abspath(os.fsdecode(path or "."))  # noqa: PTH100
    if place not in seen.folders:
        seen.busy = True
        seen.folders[place] = listing(place)
        seen.busy = False


def _native(seen: Watched, name: Any) -> None:
    if name is None:  # this process itself
        return
    place = os.fsdecode(name)
    if os.path.isabs(place) and origin(place) in ("installed", "python"):  # noqa: PTH117
        seen.file(place)
    else:
        seen.refused[f"it loads native code ({place})"] = None


def _callers(frame: FrameType | None) -> Iterator[str]:
    while frame is not None:
        yield frame.f_code.co_filename
        frame = frame.f_back


def _named_origin(file: str) -> str:
    """Return whose a file is; empty for code that was made of a text, which is its caller's."""
    return "" if file.startswith("<") else origin(file)


def _unless_installed(seen: Watched, why: str) -> None:
    """Note a reason where the code of a user's own stands nearest; libraries may look at the machine."""
    for file in _callers(sys._getframe(1)):
        whose = origin(file)
        if whose == "theirs":
            seen.refused[why] = None
        if whose in ("theirs", "installed"):
            return


# ------------------------------------------------------------------ what no event tells


def _follow_environment(seen: Watched) -> None:
    kind = type(os.environ)
    get, each = kind.__getitem__, kind.__iter__

    def getitem(self: Any, key: Any) -> Any:
        if not seen.busy:
            seen.asked.add(os.fsdecode(key))
        return get(self, key)

    def iterate(self: Any) -> Any:
        seen.everything = seen.everything or not seen.busy
        return each(self)

    kind.__getitem__ = getitem  # type: ignore[method-assign]
    kind.__iter__ = iterate  # type: ignore[method-assign]


def _follow_questions(seen: Watched) -> None:
    """Record files that are looked for: no event says that a file's being there was asked."""

    def recording(real: Callable[..., Any]) -> Callable[..., Any]:
        def asked(path: Any, *more: Any, **options: Any) -> Any:
            if not seen.busy:
                seen.file(path)
            return real(path, *more, **options)

        return asked

    for name in ("stat", "lstat", "access"):
        setattr(os, name, recording(getattr(os, name)))


def _follow_clocks(seen: Watched) -> None:
    def noting(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def asked(*given: Any) -> Any:
            whose = next(filter(None, map(_named_origin, _callers(sys._getframe(1)))), "python")
            if not seen.busy and (whose == "theirs" or (whose == "installed" and seen.running)):
                seen.refused[f"it reads the clock (time.{name})"] = None
            return real(*given)

        return asked

    for name in (*CLOCKS, *(f"{each}_ns" for each in CLOCKS), *CLOCK_TEXTS):
        setattr(time, name, noting(name, getattr(time, name)))
