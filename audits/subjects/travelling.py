"""A user's function in tasks: its modules travel with each, and a process of its own imports them alone.

Their bytes are part of a task's identity, so that changed code is other work.  They may import only what
`version` compares, by a statement or dynamically.  A run that reads anything but its arguments is refused:
its result would depend on the machine.
"""

import ast
import sys
import threading
from collections.abc import Container, Mapping, Sequence
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec
from importlib.util import decode_source, spec_from_loader
from pathlib import Path
from types import FrameType

from dpaccount.documents import read_bytes
from dpaccount.errors import InputError
from dpaccount_packages import folders

MOST_BYTES = 2**20  #: of all files, which go with every task
COMPARED = {*sys.stdlib_module_names, *folders(), "numpy", "scipy", "opendp", "flint"}
SEND_IT = "put it into the folder, or use NumPy, SciPy and the standard library"
#: what a run of an audit may not do
READS = {f"os.{name}" for name in ("listdir", "scandir", "system", "exec", "fork", "forkpty", "posix_spawn")}
READS |= {"open", "socket.connect", "subprocess.Popen", "sqlite3.connect", "ctypes.dlopen"}

Archive = tuple[tuple[str, bytes], ...]  #: files with their paths in the folder


def archived(root: Path, files: Sequence[Path]) -> Archive:
    """Return files of a folder.

    Raises `InputError` for what is no Python, imports what workers do not compare, or is too much.
    """
    sources = tuple((path.relative_to(root).as_posix(), read_bytes(path)) for path in files)
    own = _tops(dict(sources))
    if taken := sorted(own & COMPARED):
        raise InputError(f"a module of the archive is called {taken[0]}", "rename it", str(root))
    for name, source in sources:
        for wanted in _imports(name, source):
            if wanted not in own | COMPARED:
                what = f"{name} imports {wanted}, which is not in the archive, and of no known version"
                raise InputError(what, SEND_IT)
    if (size := sum(len(source) for _, source in sources)) > MOST_BYTES:
        raise InputError(f"the archive has {size} bytes", f"at most {MOST_BYTES} travel", str(root))
    return sources


def _tops(files: Mapping[str, bytes]) -> set[str]:
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


class ArchiveImporter(InspectLoader):
    """Finds the modules of an archive before all others, in a process that runs no other code of a user.

    Nothing is written to a disk: tracebacks and warnings take the text from here.
    """

    def __init__(self, archive: Archive) -> None:
        self.files = dict(archive)
        self.tops = _tops(self.files)
        if taken := sorted(self.tops & sys.modules.keys()):
            what = f"a module {taken[0]} that is not the archive's is loaded here"
            raise InputError(what, "rename yours, or do not import it")
        self.refused = ""  #: what its code has first tried to import or read in vain
        self._thread = threading.get_ident()  #: all other threads were begun by the archive's code
        sys.meta_path.insert(0, self)
        sys.addaudithook(self.watch)

    def check(self) -> None:
        """Raise `InputError` if the code tried what it may not, and went on: elsewhere it may do it."""
        if self.refused:
            raise InputError(self.refused)

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Return how a module of the archive is loaded; None for one of elsewhere."""
        top = name.partition(".")[0]
        if top not in self.tops:
            if top not in COMPARED and self._imports_for_itself():
                what = f"the archive's code imports {top}, which is not in it, and of no known version"
                self.refused = self.refused or f"{what}; {SEND_IT}"
                raise InputError(what, SEND_IT)
            return None
        if _place(name, self.files) is None:
            raise ModuleNotFoundError(f"the archive has no module {name}", name=name)
        return spec_from_loader(name, self)

    def _imports_for_itself(self) -> bool:
        """Return whether an import is the archive's: the standard library imports on behalf of its caller."""
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            caller = str(frame.f_globals.get("__name__", "")).partition(".")[0]
            if caller in self.tops:
                return True
            if caller and caller not in sys.stdlib_module_names:
                return False
            frame = frame.f_back
        return False

    def watch(self, event: str, given: tuple[object, ...]) -> None:
        """Audit hook: record as refused what the archive's code reads in addition to its arguments."""
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
            elif top in self.tops or (not frame.f_back and threading.get_ident() != self._thread):
                what = f"{event} {given[0] if given else ''}"[:200]
                self.refused = f"the archive's code reads what is no part of it ({what}); give it as data"
                return
            elif by_path and top not in sys.stdlib_module_names:
                return  # others import what they need
            frame = frame.f_back

    def is_package(self, fullname: str) -> bool:
        """Return whether a module is a folder."""
        return (_place(fullname, self.files) or "").endswith("/__init__.py")

    def get_source(self, fullname: str) -> str:
        """Return a module's text."""
        return decode_source(self.files[_place(fullname, self.files) or ""])
