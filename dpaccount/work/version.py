"""Which version of the code a process runs, so that results of two versions are never mixed."""

import hashlib
import platform
from functools import lru_cache
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from dpaccount.errors import InputError
from dpaccount_packages import folders

UNDERNEATH = ("numpy", "scipy", "opendp", "python-flint")  #: distributions that results depend on
ALGEBRA = ("internal_api", "version", "architecture")  #: of a library, for a kind of processor
Version = dict[str, str]  #: by package its version, of ours the digest of its files


@lru_cache(maxsize=1)
def current() -> Version:
    """Return the version of the code in this process, read once."""
    ours = {name: _digest(Path(folder)) for name, folder in folders().items()}
    below = {each.name: each.version for each in distributions() if each.name in UNDERNEATH}
    algebra = {" ".join(str(lib.get(key)) for key in ALGEBRA) for lib in libraries().info()}
    below |= {"python": platform.python_version(), "algebra": ", ".join(sorted(algebra))}
    return {**ours, **below}


@lru_cache(maxsize=1)
def libraries() -> Any:
    """Return the libraries of linear algebra that this process has loaded.

    Their number of threads matters: sums in another order differ in their last bits.
    """
    import scipy.linalg  # noqa: F401  # which loads its own
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def check(expected: Version) -> None:
    """Raise `InputError` if this process runs another version, naming every part that differs."""
    here = current()
    unlike = [
        f"{part} {here.get(part)} in place of {expected.get(part)}"
        for part in sorted(expected.keys() | here.keys())
        if here.get(part) != expected.get(part)
    ]
    if unlike:
        what = f"a worker has another version of the code: {', '.join(unlike)}"
        raise InputError(what, "install there what this command runs")


def _digest(folder: Path) -> str:
    """Return the digest of a package's files, data included, names and contents."""
    total = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            total.update(f"{file.relative_to(folder).as_posix()}\n{content}\n".encode())
    return total.hexdigest()[:16]
