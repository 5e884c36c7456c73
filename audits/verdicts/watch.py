"""What code loads, opens and asks in the process that runs it, so that a verdict on it may be kept.

A verdict is about what ran.  It may stand in for another run as long as all that the code could have read is
the same, so the process records every module that it loads (by the bytes that are compiled: bytecode of a
user's own is not taken from a cache), every file and folder that Python code opens, lists or looks for, every
variable of the environment that it asks for, every import that finds nothing, and every native library.  What
cannot be followed so is a reason against keeping the verdict: the clock, other programs, the network, files
that are written, native code that is not installed.
"""

import contextlib
import importlib.machinery
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

from audits.verdicts.code_words import module_names, refused_words
from audits.verdicts.places import digest, digest_of, listing, origin, text_digest

WRITES = os.O_WRONLY | os.O_RDWR
STARTED = ("sitecustomize", "usercustomize")  #: sought before anything is watched
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


HEARD = ("open", "os.listdir", "os.scandir", "ctypes.dlopen", "socket.", *OTHERS, *CHANGES)


class Watched:
    """What was seen so far."""

    def __init__(self) -> None:
        self.files: dict[str, str | None] = {}
        self.folders: dict[str, str | None] = {}
        self.asked: set[str] = set()
        self.everything = False  #: all of the environment was asked for
        self.imports: dict[str, list[str] | None] = dict.fromkeys(STARTED)  #: where each was sought
        self.refused: dict[str, None] = {}  #: a set that keeps its order
        self.environment = dict(os.environ)
        self.running = False
        self._busy = set[int]()  #: threads in which this program itself reads

    @property
    def busy(self) -> bool:
        """Say whether what happens now in this thread is our own reading."""
        return threading.get_ident() in self._busy

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Read something ourselves."""
        self._busy.add(threading.get_ident())
        try:
            yield
        finally:
            self._busy.discard(threading.get_ident())

    def file(self, path: Any) -> None:
        """Note a file that is opened or looked for, with what it holds now."""
        if isinstance(path, int) or self.busy:
            return
        place = os.path.abspath(os.fsdecode(path))  # noqa: PTH100
        if place in self.files or place in LEFT_ALONE:
            return
        with self.quiet():
            self.files[place] = digest(place)

    def record(self, path: list[str]) -> dict[str, Any]:
        """Return all of it as a document, with the modules that are loaded and where they were found."""
        with self.quiet():
            return self._record(path)

    def _record(self, path: list[str]) -> dict[str, Any]:
        for place, held in list(self.files.items()):
            if digest(place) != held:
                self.refused[f"{place} changed while it ran"] = None
        for place in _mapped():
            self.files.setdefault(place, digest(place))
            if self.files[place] is None:
                self.refused[f"the native library {place} is not there any more"] = None
        modules, names = list(self._modules(path)), module_names()
        absent, there = _sought(self.imports, path)
        asked = {key: self.environment.get(key) for key in sorted(self.asked)}
        everything = "\0".join(f"{key}={value}" for key, value in sorted(self.environment.items()))
        return {
            "files": self.files,
            "folders": self.folders,
            "environment": {key: value and text_digest(value) for key, value in asked.items()},
            "whole_environment": text_digest(everything) if self.everything else None,
            "path": path,
            "modules": modules + there,
            "absent": absent,
            "names": names,
            "refused": list(self.refused),
        }

    def _modules(self, path: list[str]) -> Iterator[list[Any]]:
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if file is None and hasattr(module, "__path__"):  # folders without a file of their own
                yield [name, list(module.__path__), _path_of(name, path)]
            whose = "python" if file is None else origin(file)
            if whose in ("python", "ours") or name == "__main__":
                continue
            self.files.setdefault(str(file), digest(str(file)))
            if whose == "theirs":
                self._look_at(name, str(file))
            if whose == "theirs" or "." not in name:
                yield [name, file, _path_of(name, path)]

    def _look_at(self, name: str, file: str) -> None:
        """Note what a module of the user's might do that nothing shows."""
        if not file.endswith(".py"):
            self.refused[f"{name} is native code"] = None
            return
        with open(file, "rb") as source:  # noqa: PTH123  # may be replaced by now: it is what was compiled
            code = compile(source.read(), file, "exec", dont_inherit=True)
        for why in refused_words(code):
            self.refused[f"{name} {why}"] = None


def _path_of(name: str, path: list[str]) -> list[str]:
    """Return where a module is sought: in its package, or on the path."""
    parent = sys.modules.get(name.rpartition(".")[0])
    return path if parent is None else list(getattr(parent, "__path__", path))


def _sought(imports: dict[str, list[str] | None], path: list[str]) -> tuple[list[Any], list[Any]]:
    """Return the names that were sought and lead nowhere, and those that lead to what was not loaded."""
    absent, there = [], []
    for name, folders in sorted(imports.items()):
        if name in sys.modules:
            continue
        spec = importlib.machinery.PathFinder.find_spec(name, folders or path)
        if spec is None:
            absent.append([name, folders])
        else:
            where = spec.origin or list(spec.submodule_search_locations or ())
            there.append([name, where, folders or path])
    return absent, there


def _mapped() -> list[str]:
    """Return the files of native code in this process; none where the system does not list them (macOS)."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as lines:  # noqa: PTH123
            parts = [line.rstrip("\n").split(None, 5) for line in lines]
    except OSError:
        return []
    return sorted({each[5] for each in parts if len(each) == 6 and "x" in each[1] and each[5][0] == "/"})


class _Sought:
    """First among Python's finders: notes every name that is sought, and finds none."""

    def __init__(self, seen: Watched) -> None:
        self.seen = seen

    def find_spec(self, name: str, path: Any = None, _: object = None) -> None:
        """Note a name, and where it is sought."""
        if not self.seen.busy:
            self.seen.imports[name] = None if path is None else list(path)


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
    sys.meta_path.insert(0, _Sought(seen))
    sys.addaudithook(lambda event, given: _heard(seen, event, given))


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
            seen.files[path] = digest_of(path, source)
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
    if not event.startswith(HEARD) or seen.busy:  # of all others there are too many
        return
    importing = sys._getframe(2).f_code.co_filename.startswith("<frozen importlib")
    if importing and (event != "open" or str(given[0]).endswith(".pyc")):
        return  # a loader also hands out data of a package
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
        with seen.quiet():
            seen.folders[place] = listing(place)


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
    get = kind.__getitem__

    def getitem(self: Any, key: Any) -> Any:
        if not seen.busy:
            seen.asked.add(os.fsdecode(key))
        return get(self, key)

    def whole(real: Callable[..., Any]) -> Callable[..., Any]:
        def asked(self: Any) -> Any:
            seen.everything = seen.everything or not seen.busy
            return real(self)

        return asked

    kind.__getitem__ = getitem  # type: ignore[method-assign]
    for name in ("__iter__", "__len__", "__repr__"):
        setattr(kind, name, whole(getattr(kind, name)))


def _follow_questions(seen: Watched) -> None:
    """Record files that are looked for: no event says that a file's being there was asked."""

    def recording(real: Callable[..., Any]) -> Callable[..., Any]:
        def asked(path: Any, *more: Any, **options: Any) -> Any:
            if not seen.busy:
                seen.file(path)
            return real(path, *more, **options)

        return asked

    for name in ("stat", "lstat", "access", "readlink"):
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
