"""Linear algebra on one thread: sums in another order would differ in their last bits."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

_GATE = threading.Lock()
_INSIDE: list[Any] = []  #: for every block that a thread is in, what the first one undoes


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS use one thread in the block, and in blocks of other threads at the same time."""
    with _GATE:
        _INSIDE.append(None if _INSIDE else libraries().limit(limits=1))
    try:
        yield
    finally:
        with _GATE:
            if len(_INSIDE) == 1:
                _INSIDE[0].restore_original_limits()
            del _INSIDE[-1]


@lru_cache(maxsize=1)
def libraries() -> Any:
    """Return the libraries of linear algebra that this process has loaded."""
    import scipy.linalg  # noqa: F401  # which loads its own
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def kinds() -> str:
    """Return which libraries they are, with the kind of processor that they compute for."""
    found = {(lib["internal_api"], lib["version"], lib.get("architecture")) for lib in libraries().info()}
    return ", ".join(" ".join(map(str, each)) for each in sorted(found, key=str))
