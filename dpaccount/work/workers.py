"""Where groups are done: in this process, in others (loky), or on a cluster (dask)."""

import asyncio
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from dpaccount.errors import InputError
from dpaccount.work.version import one_thread

if TYPE_CHECKING:
    from distributed import Client

WAIT = 10  #: seconds until a cluster that does not answer, or has no workers, is a wrong request
#: loggers that print tracebacks of a lost cluster, of which `run` says one sentence
TALKATIVE = ("distributed", "distributed.client", "tornado.application", "asyncio")


@contextmanager
def workers(
    jobs: int | None = None, backend: str | None = None, scheduler: str | None = None
) -> Iterator[None]:
    """Use `jobs` processes of a backend for what is run in the block; results do not depend on it.

    Without a backend it is loky; one that the caller chose by `joblib.parallel_config` is left as it
    is.  dask needs the address of its `scheduler`; raises `InputError` where none answers or
    it has fewer than two threads after `WAIT` seconds.  Linear
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

            for name in TALKATIVE:
                logging.getLogger(name).setLevel(logging.CRITICAL)
            try:
                _check_scheduler(scheduler)
                client = stack.enter_context(Client(scheduler, timeout=WAIT))
            except (OSError, ValueError, TypeError):
                raise InputError("no dask scheduler answers", "give HOST:PORT", scheduler) from None
            _await_two_threads(client, scheduler)
            stack.enter_context(parallel_config("dask", client=client))
        elif backend is not None or (count is None and type(active).__name__ == "LokyBackend"):
            serial = backend == "serial" or jobs == 1
            kind = "sequential" if serial else "loky"
            stack.enter_context(parallel_config(kind, n_jobs=1 if serial else jobs))
        yield


def _check_scheduler(address: str) -> None:
    """Raise `OSError` unless a scheduler answers at an address within `WAIT` seconds.

    `Client` would wait for ever for anything else, such as a worker or a silent server.
    """
    from distributed import rpc
    from distributed.security import Security

    async def kind() -> object:
        secured = Security().get_connection_args("client")
        async with asyncio.timeout(WAIT), rpc(address, connection_args=secured) as there:
            return (await there.identity())["type"]

    with ThreadPoolExecutor(1) as apart:  # the caller may be in an event loop: a notebook is
        if apart.submit(asyncio.run, kind()).result() != "Scheduler":
            raise ConnectionError(address)


def _await_two_threads(client: "Client", scheduler: str) -> None:
    """Refuse a cluster of one thread: joblib would leave it idle and do everything in this process."""
    for count in (1, 2):  # the first one may have several threads
        if sum(client.ncores().values()) < 2:
            with suppress(TimeoutError):
                client.wait_for_workers(count, timeout=WAIT)
    if sum(client.ncores().values()) < 2:
        right = "start workers with two threads or more in all, or leave out --backend dask"
        raise InputError("the dask cluster has fewer than two threads", right, scheduler)
