"""Which version of the code a process runs, and all else that the last bits of a result depend on."""

import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from dpaccount.documents import digest_of_named
from dpaccount.errors import InputError
from dpaccount_packages import folders

UNDERNEATH = ("numpy", "scipy", "opendp", "python-flint")  #: distributions that results depend on
ABOUT = ("internal_api", "version", "architecture")  #: of a library, for a kind of processor
Version = dict[str, str]  #: by package its version, of ours the digest of its files
_GATE, _INSIDE = threading.Lock(), list[Any]()  #: a limit for each block that is open in any thread


@lru_cache(maxsize=1)
def current() -> Version:
    """Return the version of this process, read once."""
    import numpy as np
    import scipy

    ours = {name: digest_of(Path(folder)) for name, folder in folders().items()}
    below = {each.name: each.version for each in distributions() if each.name in UNDERNEATH}
    # other libraries may have been loaded by anything, and compute nothing of ours
    homes = {Path(package.__path__[0]) for package in (np, scipy)}
    homes |= {home.with_name(f"{home.name}.libs") for home in homes}
    algebra = [each for each in libraries().info() if homes & {*Path(each["filepath"]).parents}]
    loops = np.show_config(mode="dicts")["SIMD Extensions"]  # the processor's features that NumPy uses
    below["algebra"] = ", ".join(sorted(" ".join(str(each.get(key)) for key in ABOUT) for each in algebra))
    below["processor"] = " ".join([platform.machine(), *loops["baseline"], *loops.get("found", ())])
    return {**ours, **below, "python": " ".join([platform.python_version(), *platform.libc_ver()])}


@lru_cache(maxsize=1)
def libraries() -> Any:
    """Return the libraries of linear algebra that are loaded, those of NumPy and SciPy among them."""
    import scipy.linalg  # noqa: F401  # which loads its own
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Give linear algebra one thread, until the last such block of all threads of the process ends.

    With more threads it sums in another order, so that last bits differ, and small products take longer.
    """
    with _GATE:
        _INSIDE.append(_INSIDE[0] if _INSIDE else libraries().limit(limits=1))
    try:
        yield
    finally:
        with _GATE:
            last = _INSIDE.pop()
            if not _INSIDE:
                last.restore_original_limits()


def check(expected: Version) -> None:
    """Raise `InputError` if this process runs another version, naming every part that differs."""
    here = current()
    parts = (part for part in sorted({*expected, *here}) if here.get(part) != expected.get(part))
    if unlike := [f"{part} {here.get(part)} in place of {expected.get(part)}" for part in parts]:
        what = f"a worker has another version of the code: {', '.join(unlike)}"
        raise InputError(what, "install there what this command runs")


def digest_of(folder: Path) -> str:
    """Return the digest of a package's files, data included, names and contents."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and "__pycache__" not in file.parts]
    named = ((file.relative_to(folder).as_posix(), file.read_bytes()) for file in files)
    return digest_of_named(named)[:16]
