"""Where groups are done: in this process, in others (loky), or on a cluster (dask)."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from dpaccount.errors import DpaccountError, InputError
from dpaccount.work.version import libraries


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
    chosen = count is not None or type(active).__name__ != "LokyBackend"
    with libraries().limit(limits=1), ExitStack() as stack:
        if scheduler is not None:
            stack.enter_context(_cluster(scheduler))
        elif backend == "serial" or (backend is None and jobs == 1 and not chosen):
            stack.enter_context(parallel_config("sequential", n_jobs=1))
        elif backend == "loky" or (backend is None and jobs is not None and not chosen):
            stack.enter_context(parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1))
        yield


@contextmanager
def _cluster(scheduler: str) -> Iterator[None]:
    from distributed import Client
    from joblib import parallel_config

    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what goes wrong is said below
    try:
        client = Client(scheduler, timeout=10)
    except (OSError, ValueError, TypeError):
        raise InputError("no dask scheduler answers", "give HOST:PORT", scheduler) from None
    try:
        with parallel_config("dask", client=client):
            yield
    except Exception as error:
        if client.status == "running" or isinstance(error, DpaccountError):
            raise
        why = "the scheduler of the cluster went away"
        raise InputError(why, "start both anew: what is done is kept", scheduler) from None
    finally:
        with suppress(Exception):
            client.close()
