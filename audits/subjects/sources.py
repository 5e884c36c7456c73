"""The files that a subject rests on: its own modules, what they import from their folder, and ours."""

import ast
import hashlib
import inspect
import os
import sys
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import TypeGuard

from dpaccount.documents import digest_of_named
from dpaccount.errors import InputError
from dpaccount_packages import folders, is_ours

OURS = folders()
INSTALLED = frozenset({"site-packages", "dist-packages"})
UNDERNEATH = ("numpy", "scipy", "opendp", "python-flint")


def source_file(made_by: type) -> Path:
    """Return the file that defines a class; raises `InputError` if there is none."""
    try:
        file = Path(inspect.getfile(made_by))
    except (TypeError, OSError):
        file = None
    if file is None or not file.is_file():
        raise InputError(f"the source of {made_by.__qualname__} is not there", "put the class into a file")
    return file.resolve()


def modules_of(made_by: type) -> list[Path]:
    """Return a class's own files, in order: its modules, and all that they import from their folder.

    Of a class of this program it is the file itself and those of the classes it extends.
    """
    bases = [base for base in made_by.__mro__ if base.__module__ not in ("builtins", "typing", "abc")]
    files = {source_file(base) for base in bases if base is made_by or _has_source(base)}
    if is_ours(made_by.__module__):
        return sorted(files)
    root, own = _root(made_by), _own(made_by)
    first = [file for file in files if file == source_file(made_by) or _below(own, file)]
    return files_with(first, root, own=own)


def files_with(waiting: list[Path], root: Path, *, own: Path) -> list[Path]:
    """Return files, in order, and all that they import from the part `own` of their folder `root`."""
    files: set[Path] = set()
    followed: set[str] = set()
    while waiting:
        file = waiting.pop()
        if file not in files:
            files.add(file)
            names = _imported(file, root) - followed
            followed |= names
            found = (each for name in sorted(names) for each in _files(name, root))
            waiting += [each for each in found if each.is_relative_to(own)]
    return sorted(files)


def digest_of_code(made_by: type) -> str:
    """Return one digest over the code of a run: own modules, four packages, dependency versions.

    Names count as well as contents.  Raises `InputError` if a file or a package is missing.
    """
    root = _root(made_by)
    own = [
        (str(file.relative_to(root)) if _below(root, file) else file.name, file)
        for file in modules_of(made_by)
    ]
    named = ((name, content_of(file)) for name, file in [*_ours(), *sorted(own)])
    return f"sha256:{digest_of_named(named, *(f'{package} {_version(package)}' for package in UNDERNEATH))}"


def digest_of_files(files: list[Path]) -> str:
    """Return one digest over the contents of source files, in the order given."""
    total = hashlib.sha256()
    for file in files:
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return "sha256:" + total.hexdigest()


def uncovered(made_by: type) -> tuple[str, ...]:
    """Return a sentence on loaded code that the digest does not cover; none if all is covered.

    That is other files of the class's folder, found under computed names, and installed packages.
    """
    root, own, files = _root(made_by), _own(made_by), modules_of(made_by)
    tops = {name.partition(".")[0] for file in files for name in _imported(file, root)} - {
        *filter(is_ours, OURS),
        *UNDERNEATH,
    }
    others = set[str]()
    for name, module in list(sys.modules.items()) if not is_ours(made_by.__module__) else ():
        file = Path(getattr(module, "__file__", None) or "/")
        if _below(own, file.resolve()) and file.resolve() not in files:
            others.add(str(file.resolve().relative_to(root)))
        elif name in tops and not INSTALLED.isdisjoint(file.parts):
            others.add(f"{name} (installed)")
    names = ", ".join(sorted(others))
    return (f"The digest of the code does not cover what else it loads: {names}.",) if names else ()


def _ours() -> Iterator[tuple[str, Path]]:
    for package, folder in OURS.items():
        home = Path(folder).resolve()
        if not (home / "__init__.py").is_file():
            raise InputError(f"the package {package} is not where dpaccount is", "install dpaccount whole")
        files = [f"{at}/{name}" for at, _, names in os.walk(home) for name in names if name.endswith(".py")]
        yield from ((package + file[len(str(home)) :], Path(file)) for file in sorted(files))


@cache  # what this process has loaded stays of the version that it found
def _version(package: str) -> str:
    from importlib.metadata import version

    return version(package)


def content_of(file: Path) -> bytes:
    """Return what is in a file; raises `InputError` if it cannot be read."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"{file.name} cannot be read ({error.strerror})", "its digest is needed") from None


def _has_source(made_by: type) -> bool:
    try:
        source_file(made_by)
    except InputError:
        return False
    return True


def _root(made_by: type) -> Path:
    return root_of(made_by.__module__, source_file(made_by))


def _own(made_by: type) -> Path:
    return part_of(_root(made_by), source_file(made_by))


def part_of(root: Path, file: Path) -> Path:
    """Return the part of `root` whose code is the author's: of what is installed, the file's own package."""
    return root / file.relative_to(root).parts[0] if root.name in INSTALLED else root


def root_of(module: str, file: Path) -> Path:
    """Return the folder of the top-level module or package of a module's file."""
    return file.parents[module.count(".") + (file.name == "__init__.py")]


def _below(root: Path, file: Path) -> bool:
    """Return whether a file is the author's: in the folder, and no installed package of it."""
    installed = INSTALLED & set(file.parts)
    return file.is_relative_to(root) and (not installed or bool(installed & set(root.parts)))


def _imported(file: Path, root: Path) -> frozenset[str]:
    """Return the dotted names that a file may import; none of what is no Python."""
    if file.suffix != ".py":
        return frozenset()
    return _names(content_of(file), file.relative_to(root).parts[:-1])


def _files(name: str, root: Path) -> list[Path]:
    """Return the files of the folder that a dotted name leads to."""
    here = root.joinpath(*name.split("."))
    try:
        files = [each for each in (here.with_suffix(".py"), here / "__init__.py") if each.is_file()]
    except OSError:  # a text too long for the name of a file
        return []
    loaded = getattr(sys.modules.get(name), "__file__", None)  # an extension module, say
    if isinstance(loaded, str) and Path(loaded).is_file():
        files.append(Path(loaded))
    return [file for file in (each.resolve() for each in files) if _below(root, file)]


@lru_cache(maxsize=4096)  # a file is parsed once; whether it changed is seen by reading it
def _names(content: bytes, package: tuple[str, ...]) -> frozenset[str]:
    """Return the dotted names in a source, and of the packages on the way to them.

    They stand in import statements at any level, and in text that is a name.
    """
    names: set[str] = set()
    for node in (each for top in statements_of(content) for each in ast.walk(top)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            start = ".".join([*above, *filter(None, [node.module])])
            names |= {start, *(f"{start}.{alias.name}".lstrip(".") for alias in node.names)}
        elif isinstance(node, ast.Constant) and _dotted(node.value):
            names.add(node.value)
    ways = [name.split(".") for name in names - {""}]
    return frozenset(".".join(parts[:depth]) for parts in ways for depth in range(1, len(parts) + 1))


def _dotted(text: object) -> TypeGuard[str]:
    return isinstance(text, str) and all(part.isidentifier() for part in text.split("."))


def statements_of(content: bytes) -> list[ast.stmt]:
    """Return the top statements of a source; none of what is no Python."""
    try:
        return ast.parse(content).body
    except (SyntaxError, ValueError):
        return []
