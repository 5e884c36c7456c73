"""A user's own code in tasks: its modules travel as a zip, and are imported from that alone.

The archive's digest is a part of what a task is, so that changed code is other work; it is compared before
anything of the archive is imported.  Its modules may import what `version` compares, and nothing else.
"""

import ast
import hashlib
import importlib
import io
import sys
import threading
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec
from importlib.util import decode_source, spec_from_loader
from pathlib import Path
from typing import Any

from dpaccount.documents import read_bytes
from dpaccount.errors import InputError
from dpaccount_packages import folders

MOST_BYTES = 2**20  #: of an archive, which goes with every task
COMPARED = {*sys.stdlib_module_names, *folders(), "numpy", "scipy", "opendp", "flint"}
_GATE = threading.RLock()


@dataclass(frozen=True)
class ArchivedFunction:
    """A function in a module of an archive: what it gives follows from its arguments, the seeds last."""

    archive: bytes
    digest: str
    module: str
    name: str

    def __call__(self, *given: Any) -> Any:
        """Call it; raises `InputError` where the archive is another, or its names are taken here."""
        with _GATE:
            _provide(self.archive, self.digest)
            found = getattr(importlib.import_module(self.module), self.name, None)
        if not callable(found):
            raise InputError(f"the archive's {self.module} has no function {self.name}", "name one that is")
        return found(*given)


def archived(place: Path, function: str) -> ArchivedFunction:
    """Return a function, as MODULE:NAME, of a file of Python or of a folder of such files.

    Raises `InputError` for what is no Python, or imports what workers do not compare.
    """
    paths = sorted(place.rglob("*.py")) if place.is_dir() else [place]
    files = {path.relative_to(place if place.is_dir() else place.parent): path for path in paths}
    sources = {name.as_posix(): read_bytes(path) for name, path in files.items()}
    own = _names(sources)
    if taken := sorted(own & COMPARED):
        raise InputError(f"a module of the archive is called {taken[0]}", "rename it", str(place))
    for name, source in sources.items():
        for wanted in _imports(name, source):
            if wanted not in own | COMPARED:
                what = f"{name} imports {wanted}, which is not in the archive, and of no known version"
                raise InputError(what, "put it into the folder, or use NumPy, SciPy and the standard library")
    module, _, called = function.partition(":")
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


def _imports(name: str, source: bytes) -> set[str]:
    """Return the packages that a file says it imports."""
    try:
        nodes = [*ast.walk(ast.parse(source))]
    except (SyntaxError, ValueError):
        raise InputError("this is no Python", "mend it, or leave it out", name) from None
    found = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    found |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return {each.partition(".")[0] for each in found}


class _ArchiveImporter(InspectLoader):
    """Finds the modules of one archive, and lets nobody else find more of their packages."""

    def __init__(self, digest: str, files: Mapping[str, bytes]) -> None:
        self.digest, self.files, self.names = digest, files, _names(files)

    def _place(self, name: str) -> str | None:
        path = name.replace(".", "/")
        return next((p for p in (f"{path}/__init__.py", f"{path}.py") if p in self.files), None)

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Return how a module of the archive is loaded; None for one of elsewhere."""
        if name.partition(".")[0] not in self.names:
            return None
        if self._place(name) is None:
            raise ModuleNotFoundError(f"the archive has no module {name}", name=name)
        return spec_from_loader(name, self)

    def is_package(self, fullname: str) -> bool:
        """Return whether a module is a folder."""
        return (self._place(fullname) or "").endswith("/__init__.py")

    def get_source(self, fullname: str) -> str:
        """Return a module's text."""
        return decode_source(self.files[self._place(fullname) or ""])


def _provide(raw: bytes, digest: str) -> None:
    """Let this process import an archive's modules, in place of another archive's."""
    former = [each for each in sys.meta_path if isinstance(each, _ArchiveImporter)]
    if [each.digest for each in former] == [digest]:
        return
    if hashlib.sha256(raw).hexdigest() != digest:
        raise InputError("an archive of code is not what its digest says", "start the command again")
    with zipfile.ZipFile(io.BytesIO(raw)) as whole:
        importer = _ArchiveImporter(digest, {name: whole.read(name) for name in whole.namelist()})
    for name, module in [*sys.modules.items()]:
        if isinstance(getattr(getattr(module, "__spec__", None), "loader", None), _ArchiveImporter):
            del sys.modules[name]
    sys.meta_path[:] = [each for each in sys.meta_path if each not in former]
    if taken := sorted(importer.names & sys.modules.keys()):
        what = f"a module {taken[0]} that is not the archive's is loaded here"
        raise InputError(what, "rename yours, or do not import it")
    sys.meta_path.insert(0, importer)
