"""Which version of the code a process runs, so that results of two versions are never mixed."""

import hashlib
import platform
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from dpaccount.errors import InputError
from dpaccount_packages import folders

UNDERNEATH = ("numpy", "scipy", "opendp", "python-flint")  #: distributions that results depend on

Version = dict[str, str]  #: by package its version, of ours the digest of its files


@lru_cache(maxsize=1)
def current() -> Version:
    """Return the version of the code in this process, read once."""
    ours = {name: _digest(Path(folder)) for name, folder in folders().items()}
    below = {name: _installed(name) for name in UNDERNEATH}
    return {**ours, **below, "python": platform.python_version(), "machine": platform.machine()}


def check(expected: Version) -> None:
    """Raise `InputError` if this process runs another version, naming every part that differs."""
    here = current()
    parts = sorted(expected.keys() | here.keys())
    unlike = [
        f"{part} {here.get(part, 'missing')} in place of {expected.get(part, 'none')}"
        for part in parts
        if here.get(part) != expected.get(part)
    ]
    if unlike:
        raise InputError(
            f"a worker has another version of the code: {', '.join(unlike)}",
            "install there what this command runs",
        )


def _digest(folder: Path) -> str:
    """Return the digest of a package's files, data included, names and contents."""
    total = hashlib.sha256()
    files = (file for file in folder.rglob("*") if "__pycache__" not in file.parts and file.is_file())
    for file in sorted(files):
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        total.update(f"{file.relative_to(folder).as_posix()}\n{content}\n".encode())
    return total.hexdigest()[:16]


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "missing"
