"""Where groups are done: in this process, in others (loky), or on a cluster (dask)."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from dpaccount.errors import InputError
from dpaccount.work.version import one_thread


@contextmanager
def workers(
    jobs: int | None = None, backend: str | None = None, scheduler: str | None = None
) -> Iterator[None]:
    """Use `jobs` processes of a backend for what is run in the block; results do not depend on it.

    Without a backend it is loky; one that the caller chose by `joblib.parallel_config` is left as it
    is.  dask needs the address of its `scheduler`; raises `InputError` where none answers.  Linear
    algebra has one thread in the block, as in tasks: what they are given is computed here.
    """
    from joblib import parallel_config
    from joblib.parallel import get_active_backend

    if (scheduler is not None) != (backend == "dask"):
        raise InputError("--backend dask and --scheduler belong together", "say both or neither")
    active, count = get_active_backend()
    with one_thread(), ExitStack() as stack:
        if scheduler is not None:
            from distributed import Client

            logging.getLogger("distributed").setLevel(logging.CRITICAL)  # `run` says what goes wrong
            try:
                client = stack.enter_context(Client(scheduler, timeout=10))
            except (OSError, ValueError, TypeError):
                raise InputError("no dask scheduler answers", "give HOST:PORT", scheduler) from None
            stack.enter_context(parallel_config("dask", client=client))
        elif backend is not None or (count is None and type(active).__name__ == "LokyBackend"):
            serial = backend == "serial" or jobs == 1
            kind = "sequential" if serial else "loky"
            stack.enter_context(parallel_config(kind, n_jobs=1 if serial else jobs))
        yield
