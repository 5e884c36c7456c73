"""Which version of the code a process runs, so that results of two versions are never mixed."""

import hashlib
import platform
from functools import lru_cache
from importlib.metadata import distributions
from pathlib import Path

from dpaccount.errors import InputError
from dpaccount.work.threads import kinds
from dpaccount_packages import folders

UNDERNEATH = ("numpy", "scipy", "opendp", "python-flint")  #: distributions that results depend on
Version = dict[str, str]  #: by package its version, of ours the digest of its files


@lru_cache(maxsize=1)
def current() -> Version:
    """Return the version of the code in this process, read once."""
    ours = {name: _digest(Path(folder)) for name, folder in folders().items()}
    below = {each.name: each.version for each in distributions() if each.name in UNDERNEATH}
    return {**ours, **below, "python": platform.python_version(), "linear algebra": kinds()}


def check(expected: Version) -> None:
    """Raise `InputError` if this process runs another version, naming every part that differs."""
    here = current()
    parts = [part for part in sorted(expected.keys() | here.keys()) if here.get(part) != expected.get(part)]
    if parts:
        unlike = ", ".join(f"{part} {here.get(part)} in place of {expected.get(part)}" for part in parts)
        raise InputError(
            f"a worker has another version of the code: {unlike}", "install there what this command runs"
        )


def _digest(folder: Path) -> str:
    """Return the digest of a package's files, data included, names and contents."""
    total = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            total.update(f"{file.relative_to(folder).as_posix()}\n{content}\n".encode())
    return total.hexdigest()[:16]
