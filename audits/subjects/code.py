"""User code: locates ``package.module:name``, and imports it in the process that runs it."""

import importlib.abc
import importlib.machinery
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from audits.subjects import marks
from audits.subjects.sources import OURS, files_with, part_of, root_of
from dpaccount.errors import InputError


@dataclass(frozen=True)
class Code:
    """A user's code: ``package.module:name``, found in `folders` (at the end of the path) or installed.

    It may not open the file `guarded` (`audits.sandbox.data_guard`).  `value` is a function pickled by value.
    `python` is the interpreter to run it in, `command` a program in place of a function; None: neither.
    """

    use: str
    folders: tuple[str, ...]
    guarded: str | None = None
    value: bytes | None = None
    python: str | None = None
    command: str | None = None

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
        return (self.command or self.python) is not None

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
