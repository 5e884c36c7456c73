"""User code: locates ``package.module:name``, and imports it in the process that runs it.

A function in tasks travels: its modules go with each task, and a process of its own imports them alone.
Their bytes are part of a task's identity, so that changed code is other work.  They may import only what
`version` compares, by a statement or dynamically.  A run that reads anything but its arguments is refused:
its result would depend on the machine.
"""

import ast
import importlib.abc
import importlib.machinery
import shlex
import shutil
import sys
import threading
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec
from importlib.util import decode_source, spec_from_loader
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from audits.subjects import marks
from audits.subjects.sources import OURS, files_with, part_of, root_of
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


@dataclass(frozen=True)
class Code:
    """A user's code: ``package.module:name``, found in `folders` (at the end of the path) or installed.

    It may not open the file `guarded` (`audits.sandbox.data_guard`).  `value` is a function pickled by value,
    `archive` has the files of one that travels.  `python` is the interpreter to run it in, `command` a
    program in place of a function; None: neither.
    """

    use: str
    folders: tuple[str, ...]
    guarded: str | None = None
    value: bytes | None = None
    python: str | None = None
    command: str | None = None
    archive: Archive | None = None

    @property
    def name(self) -> str:
        """Return the module's own name with hyphens, as certificates name a subject."""
        return self.module.rpartition(".")[2].replace("_", "-")

    @property
    def module(self) -> str:
        """Return the dotted name of the module."""
        return self.use.partition(":")[0]

    @property
    def elsewhere(self) -> bool:
        """Return whether it is not imported from files of this machine into a worker process."""
        return (self.command or self.python or self.archive) is not None

    def failed(self, why: object) -> str:
        """Return the sentence that its import failed."""
        return f"importing {self.module} failed ({why}); fix it"

    def file(self) -> Path | None:
        """Return the file that the import will run, found without importing anything."""
        return self._found([*sys.path, *self.folders])

    def files(self) -> list[Path]:
        """Return the files that decide what it does, found without importing anything.

        Of a function these are its module's and what that imports from its folder; of a command the program
        and every file that it names.  What else they load or read is not known.
        """
        if self.command is not None:
            words = shlex.split(self.command)
            parts = [part for word in words for part in (word, *word.split())]  # of sh -c "…", too
            named = [Path(shutil.which(words[0]) or words[0]), *map(Path, dict.fromkeys(parts))]
            return [file for file in named if file.is_file()]
        file = self.file()
        if file is None or not file.is_file():
            return []
        file = file.resolve()
        root = root_of(self.module, file)
        return files_with([file], root, own=part_of(root, file))

    def travelling(self) -> "Code":
        """Return it with its file and what that imports; raises `InputError` if that cannot travel."""
        file, module = self.file(), self.module
        if file is None or not file.is_file():
            raise InputError(f"{module} is no file of Python", "leave out --store and --backend")
        file, parts = file.resolve(), module.split(".")
        root = root_of(module, file)
        above = [root.joinpath(*parts[:k], "__init__.py") for k in range(1, len(parts))]
        files = files_with([file, *filter(Path.is_file, above)], root, in_text=False)
        try:
            made = archived(root, files)
        except InputError as error:
            right = f"{error.right}, or leave out --store and --backend: then it runs here"
            raise InputError(error.what, right, error.where) from None
        return Code(self.use, (), archive=made)

    def meant(self) -> str | None:
        """Return the file to which the name must refer: files in the folders take precedence."""
        file = self._found(list(self.folders)) or self.file()
        return str(file) if file is not None and file.is_file() else None

    def _found(self, path: list[str]) -> Path | None:
        first, *rest = self.module.split(".")
        spec = importlib.machinery.PathFinder.find_spec(first, path)
        if spec is None or spec.origin in (None, "built-in", "frozen"):
            return None
        file = Path(str(spec.origin))
        if rest:
            file = file.parent.joinpath(*rest)
            package = file / "__init__.py"  # a folder without it, such as one of bytecode, is none
            return package if package.is_file() else file.with_suffix(".py")
        return file


def code_of(use: str, folder: Path, *, allow_code: bool) -> Code:
    """Return the code of ``package.module:name``, after a notice on standard error that it runs.

    `folder` (the claim's) and the working directory are searched last.  Raises `InputError` if
    the name is malformed or code is not allowed.
    """
    module_name, _, attribute = use.partition(":")
    if not all(part.isidentifier() for part in [*module_name.split("."), attribute]):
        raise InputError(f"{use[:70]!r} is not package.module:name", "write such as clinic:noisy_mean")
    if not allow_code:
        raise InputError(f"{use} runs code, and --no-code forbids it", "name a catalogued subject")
    code = Code(use, (str(folder.resolve()), str(Path.cwd())))
    file = code.file()
    where = file if file is None or not file.is_relative_to(Path.cwd()) else file.relative_to(Path.cwd())
    sys.stderr.write(f"runs code from {where or module_name}\n")
    return code


def stay_on_path(folders: Sequence[str]) -> None:
    """Append folders to the path for good, since functions import too; note what is sought from here on."""
    sys.path.extend(folder for folder in folders if folder not in sys.path)
    _SEEKER.folders = tuple(Path(folder) for folder in folders)
    if _SEEKER not in sys.meta_path:
        sys.meta_path.insert(0, _SEEKER)


def check_imports() -> None:
    """Raise `InputError` if code fell back since a file of its project was not importable."""
    for name, settled in list(_SEEKER.names.items()):  # a thread may seek more meanwhile
        if settled is not None and sys.modules.get(name) is settled:
            continue
        places = [Path(*name.split(".")), Path("src", *name.split("."))]
        files = [folder / f"{place}{end}" for folder in _SEEKER.folders for place in places for end in ENDS]
        file = next((file for file in files if file.is_file()), None)
        if file is None:  # no module of the project; it is noted anew where it is sought again
            _SEEKER.names.pop(name, None)
            continue
        module = sys.modules.get(name)
        got = getattr(module, "__file__", None)
        if got is None or not file.samefile(got):
            why = "it raises, or is on no path" if got is None else f"{got} has its name"
            raise InputError(
                f"importing {file} failed while the code ran ({why})", "fix it: a fallback ran instead"
            )
        _SEEKER.names[name] = module


class _Seeker(importlib.abc.MetaPathFinder):
    """Comes first and finds nothing: notes the names of modules that are sought.

    It remembers the modules found to be the project's.  While `sys.modules` holds the same one, and nobody
    seeks the name again, no file needs to be looked at, which would take longer than a run.
    """

    folders: tuple[Path, ...] = ()

    def __init__(self) -> None:
        self.names: dict[str, ModuleType | None] = {}

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        """Note the name."""
        self.names[name] = None


ENDS = (".py", "/__init__.py")
_SEEKER = _Seeker()


def same_file(module_name: str, file: str | None) -> None:
    """Raise `ImportError` if the module that was imported is not the one of `file`."""
    got = getattr(sys.modules[module_name], "__file__", None)
    if file is None or (got is not None and Path(got).samefile(file)):
        return
    raise ImportError(f"{file} is hidden by {got or 'a built-in module'} of the same name; rename the file")


def compile_from_source(folders: Sequence[str]) -> None:
    """Compile modules of these folders from their files from here on, with marks in those that are not ours.

    Python tells bytecode that it kept from a newer file by the length and the second of the last change, so
    that an edit could go unseen.
    """
    loader: Any = importlib.machinery.SourceFileLoader
    kept = loader.get_code

    def get_code(self: Any, name: str) -> Any:
        path = Path(self.get_filename(name))
        theirs = next((folder for folder in folders if path.is_relative_to(folder)), None)
        if theirs is None or "site-packages" in path.parts:
            return kept(self, name)
        raw, code = self.get_data(str(path)), None
        if not str(path).startswith(tuple(OURS.values())):
            code = marks.marked(raw, str(path), path.relative_to(theirs).as_posix())
        return code or self.source_to_code(raw, str(path))

    loader.get_code = get_code
