"""A user's own code in tasks: its modules travel as a zip, and are imported from that alone.

The archive's digest is a part of what a task is, so that changed code is other work; it is compared before
anything of the archive is imported.  Its modules may import what `version` compares, and nothing else,
whether they say so or find a name while they run.
"""

import ast
import builtins
import hashlib
import importlib
import io
import sys
import threading
import zipfile
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec
from importlib.util import decode_source, resolve_name, spec_from_loader
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from dpaccount.documents import read_bytes
from dpaccount.errors import InputError
from dpaccount_packages import folders

MOST_BYTES = 2**20  #: of an archive, which goes with every task
COMPARED = {*sys.stdlib_module_names, *folders(), "numpy", "scipy", "opendp", "flint"}
SEND_IT = "put it into the folder, or use NumPy, SciPy and the standard library"
#: what a run of an audit may not do: its result would depend on the machine
READS = {f"os.{name}" for name in ("listdir", "scandir", "system", "exec", "fork", "forkpty", "posix_spawn")}
READS |= {"open", "socket.connect", "subprocess.Popen", "sqlite3.connect", "ctypes.dlopen"}
_GATE, _FIRST = threading.RLock(), threading.main_thread().ident


@dataclass(frozen=True)
class ArchivedFunction:
    """A function in a module of an archive: what it gives follows from its arguments, the seeds last."""

    archive: bytes
    digest: str
    module: str
    name: str

    def __call__(self, *given: Any) -> Any:
        """Call it; raises `InputError` where the archive is another, or its names are taken here."""
        with self.opened() as found:
            return found(*given)

    def watch(self) -> None:
        """Take for refused what its code reads beside its arguments: from here on, in this process."""
        sys.addaudithook(_importer(self.archive, self.digest).watch)

    @contextmanager
    def opened(self) -> Iterator[Callable[..., Any]]:
        """Give the function itself, to be called in the block alone; raises as a call does."""
        with _provided(self.archive, self.digest):
            found = getattr(importlib.import_module(self.module), self.name, None)
            if not callable(found):
                what = f"the archive's {self.module} has no function {self.name}"
                raise InputError(what, "name one that is")
            yield found


def archived(place: Path, function: str, files: Sequence[Path] | None = None) -> ArchivedFunction:
    """Return a function, as MODULE:NAME, of a file of Python or of a folder, of which `files` or all travel.

    Raises `InputError` for what is no Python, imports what workers do not compare, or is not there.
    """
    paths = files or (sorted(place.rglob("*.py")) if place.is_dir() else [place])
    root = place if place.is_dir() else place.parent
    sources = {path.relative_to(root).as_posix(): read_bytes(path) for path in paths}
    own = _names(sources)
    if taken := sorted(own & COMPARED):
        raise InputError(f"a module of the archive is called {taken[0]}", "rename it", str(place))
    for name, source in sources.items():
        for wanted in _imports(name, source):
            if wanted not in own | COMPARED:
                what = f"{name} imports {wanted}, which is not in the archive, and of no known version"
                raise InputError(what, SEND_IT)
    module, _, called = function.partition(":")
    parts = module.split(".")
    wanted_files = [_place(".".join(parts[: k + 1]), sources) for k in range(len(parts))]
    if not (called.isidentifier() and all(map(str.isidentifier, parts)) and all(wanted_files)):
        what = f"{function!r} is no MODULE:NAME of a file that goes with the tasks"
        right = "name a module of the archive (every folder with an __init__.py)"
        raise InputError(what, right, str(place))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as whole:  # stored, and dated alike: the same bytes for the same code
        for name, source in sources.items():
            whole.writestr(zipfile.ZipInfo(name), source)
    raw = file.getvalue()
    if len(raw) > MOST_BYTES:
        raise InputError(f"the archive has {len(raw)} bytes", f"at most {MOST_BYTES} travel", str(place))
    return ArchivedFunction(raw, hashlib.sha256(raw).hexdigest(), module, called)


def _names(files: Mapping[str, bytes]) -> set[str]:
    return {name.partition("/")[0].removesuffix(".py") for name in files}


def _place(module: str, files: Container[str]) -> str | None:
    """Return the file of a module; None if there is none."""
    path = module.replace(".", "/")
    return next((p for p in (f"{path}/__init__.py", f"{path}.py") if p in files), None)


def _imports(name: str, source: bytes) -> set[str]:
    """Return the packages that a file says it imports."""
    try:
        nodes = [*ast.walk(ast.parse(source))]
    except (SyntaxError, ValueError):
        raise InputError("this is no Python", "mend it, or leave it out", name) from None
    except (RecursionError, MemoryError):
        raise InputError("this is nested too deeply to be read", "write it flatter", name) from None
    if any(isinstance(node, ast.Name) and node.id == "__file__" for node in nodes):
        raise InputError("this reads __file__, which a module of an archive has not", "leave it out", name)
    found = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    found |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return {each.partition(".")[0] for each in found}


class _ArchiveImporter(InspectLoader):
    """Finds the modules of one archive, and lets nobody else find more of their packages."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files, self.names = files, _names(files)
        self.modules = dict[str, ModuleType]()  #: what is loaded, while it is not provided
        self.refused = ""  #: what its code has first tried to import or read in vain

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Return how a module of the archive is loaded; None for one of elsewhere."""
        if name.partition(".")[0] not in self.names:
            self.check(name)
            return None
        if _place(name, self.files) is None:
            raise ModuleNotFoundError(f"the archive has no module {name}", name=name)
        return spec_from_loader(name, self)

    def check(self, name: str) -> None:
        """Raise `InputError` if the archive's code imports a module of no known version, loaded or not.

        The standard library's code imports on behalf of its caller; all other code for itself.
        """
        top = name.partition(".")[0]
        if top in self.names or top in COMPARED:
            return
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            caller = str(frame.f_globals.get("__name__", "")).partition(".")[0]
            if caller in self.names:
                what = f"the archive's code imports {top}, which is not in it, and of no known version"
                self.refused = self.refused or f"{what}; {SEND_IT}"
                raise InputError(what, SEND_IT)
            if caller and caller not in sys.stdlib_module_names and frame.f_globals is not globals():
                return
            frame = frame.f_back

    def watch(self, event: str, given: tuple[object, ...]) -> None:
        """Note as refused what the archive's code reads beside its arguments: an audit hook."""
        frame: FrameType | None = sys._getframe(1) if event in READS and not self.refused else None
        by_path = False  #: whether it may be the text of a module that is found by its path, not by import
        while frame is not None:
            caller = str(frame.f_globals.get("__name__", ""))
            top = caller.partition(".")[0]
            if caller.startswith(("importlib._bootstrap", "linecache")):  # a module's text
                loaded = str(getattr(frame.f_locals.get("self"), "name", "")).partition(".")[0]
                by_path = by_path or (frame.f_code.co_name == "get_data" and loaded not in COMPARED)
                if not by_path:
                    return
            # other threads than the first are the archive's, whatever they begin with
            elif top in self.names or (not frame.f_back and threading.get_ident() != _FIRST):
                what = f"{event} {given[0] if given else ''}"[:200]
                self.refused = f"the archive's code reads what is no part of it ({what}); give it as data"
                return
            elif by_path and top not in sys.stdlib_module_names and frame.f_globals is not globals():
                return  # others import what they need
            frame = frame.f_back

    def is_package(self, fullname: str) -> bool:
        """Return whether a module is a folder."""
        return (_place(fullname, self.files) or "").endswith("/__init__.py")

    def get_source(self, fullname: str) -> str:
        """Return a module's text."""
        return decode_source(self.files[_place(fullname, self.files) or ""])


def check_nothing_refused() -> None:
    """Raise `InputError` if code of the archive that is open here tried what it may not, and went on.

    What it then did is not what it does where it may.
    """
    importer = _provided_now()
    if importer is not None and importer.refused:
        raise InputError(importer.refused)


@contextmanager
def _provided(raw: bytes, digest: str) -> Iterator[None]:
    """Let this process import an archive's modules in the block, and those of no other archive.

    The import system is the process's: other threads wait.  After the block nothing is left there.
    """
    with _GATE, _imports_checked():
        importer = _importer(raw, digest)
        former = _provided_now()
        if former is importer:  # it is called by itself
            yield
            return
        _take_away(former)
        try:
            _give(importer)
            yield
        finally:
            _take_away(importer)
            _give(former)


def _provided_now() -> _ArchiveImporter | None:
    return next((each for each in sys.meta_path if isinstance(each, _ArchiveImporter)), None)


@contextmanager
def _imports_checked() -> Iterator[None]:
    """Let the archive at hand see every import in the block, also of what is loaded: no finder does."""
    former = builtins.__import__, importlib.import_module

    def check(name: str) -> None:
        if importer := _provided_now():
            importer.check(name)

    def imported(name: str, *given: Any, **named: Any) -> Any:
        if not (given[3] if len(given) > 3 else named.get("level", 0)):
            check(name)
        return former[0](name, *given, **named)

    def import_module(name: str, package: str | None = None) -> ModuleType:
        check(resolve_name(name, package))
        return former[1](name, package)

    builtins.__import__, importlib.import_module = imported, import_module
    try:
        yield
    finally:
        builtins.__import__, importlib.import_module = former


@lru_cache(maxsize=4)
def _importer(raw: bytes, digest: str) -> _ArchiveImporter:
    if hashlib.sha256(raw).hexdigest() != digest:
        raise InputError("an archive of code is not what its digest says", "start the command again")
    with zipfile.ZipFile(io.BytesIO(raw)) as whole:
        return _ArchiveImporter({name: whole.read(name) for name in whole.namelist()})


def _give(importer: _ArchiveImporter | None) -> None:
    if importer is None:
        return
    if taken := sorted(importer.names & sys.modules.keys()):
        what = f"a module {taken[0]} that is not the archive's is loaded here"
        raise InputError(what, "rename yours, or do not import it")
    sys.modules.update(importer.modules)
    sys.meta_path.insert(0, importer)


def _take_away(importer: _ArchiveImporter | None) -> None:
    if importer is None or importer not in sys.meta_path:
        return
    sys.meta_path.remove(importer)
    own = [name for name in [*sys.modules] if name.partition(".")[0] in importer.names]
    importer.modules = {name: sys.modules.pop(name) for name in own}
