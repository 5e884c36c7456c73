"""Where groups are done: in this process, in others of this machine (loky), or on a cluster (dask)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dpaccount.errors import InputError

BACKENDS = ("serial", "loky", "dask")


@contextmanager
def workers(
    jobs: int | None = None, backend: str | None = None, scheduler: str | None = None
) -> Iterator[None]:
    """Use `jobs` processes of a backend for what is run in the block; results do not depend on it.

    Without a backend it is loky; one that the caller chose by `joblib.parallel_config` is left as it
    is.  dask needs the address of its `scheduler`; raises `InputError` where none answers.
    """
    from joblib import parallel_config

    if scheduler is not None and backend != "dask":
        raise InputError("--scheduler goes with --backend dask", "say both")
    if backend is None and (jobs is None or _chosen()):
        yield
    elif backend == "serial" or (backend is None and jobs == 1):
        with parallel_config("sequential", n_jobs=1):
            yield
    elif backend in (None, "loky"):
        with parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1):  # the cores are shared already
            yield
    elif backend == "dask":
        with _connected(scheduler) as client, parallel_config("dask", client=client):
            yield
    else:
        raise InputError(f"the backend is {backend[:40]!r}", f"known: {', '.join(BACKENDS)}")


def _chosen() -> bool:
    """Return whether the caller has configured joblib: a backend, or how many jobs."""
    from joblib.parallel import get_active_backend

    backend, jobs = get_active_backend()
    return jobs is not None or type(backend).__name__ != "LokyBackend"


@contextmanager
def _connected(scheduler: str | None) -> Iterator[Any]:
    from distributed import Client

    if scheduler is None:
        raise InputError("--backend dask needs the address of a scheduler", "say --scheduler HOST:PORT")
    try:
        client = Client(scheduler, timeout=10)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TypeError):
        raise InputError("no dask scheduler answers", "give its address as HOST:PORT", scheduler) from None
    with client:
        yield client
