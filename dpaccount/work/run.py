"""Does what is not done yet, wherever the caller's workers are, and keeps it group by group.

Results do not depend on the workers, their number, the order in which they end, or on how often the
command was killed on the way.  That this is so is checked: a sample of groups is done again.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaccount.errors import DpaccountError, InputError
from dpaccount.noise import process
from dpaccount.work.results import Results, as_bytes, kept_in, of_bytes, store_in_use
from dpaccount.work.series import Floats, SeedGroup, Series, unpacked
from dpaccount.work.version import Version, check, current

AGAIN = 64  #: of so many groups one is done again
POLL = 0.05  #: seconds between looks at what other commands do
MAX_LOST = 3  #: times in a row that workers may die before anything is done

Tell = Callable[[int], object]  #: told how many tasks more are done


@dataclass(frozen=True)
class Done:
    """The results of a series, a row for each seed, and the processor seconds that they took."""

    values: Floats
    seconds: float


def run(series: Sequence[Series], tell: Tell = lambda _: None, *, again: int = 1) -> list[Done]:
    """Return the results of every series.

    What is in the store already (`dpaccount.work.results.kept_in`) is not done again, and other
    commands may work on the same store; `joblib.parallel_config` says which workers do the rest.  Of
    results that are kept, one group in `AGAIN`, and at least `again`, is done anew and compared.
    Raises `ImpureTaskError` where they differ, `InputError` for a store that cannot be used, tasks to
    be kept that cannot be described, and workers that run other code or are lost.
    """
    store = store_in_use()
    names = [str(k) if store is None else each.digest for k, each in enumerate(series)]
    parts = [list(each.groups(name)) for each, name in zip(series, names, strict=True)]
    groups = {group: each for each, part in zip(series, parts, strict=True) for group in part}
    with Results(store) as results:
        if store is not None:
            results.begin(series)
        if twice := sum(map(_seeds, parts)) - _seeds(groups):  # two series may be the same
            tell(twice)
        _complete(groups, results, tell)
        if again and store is not None:
            sample = sorted(groups, key=lambda group: group.name)[: max(again, len(groups) // AGAIN)]
            for group, raw, _ in _done(sample, groups):
                results.compare(groups[group].name, group, raw)
        return [_joined([results.result(group) for group in part]) for part in parts]


def _complete(groups: dict[SeedGroup, Series], results: Results, tell: Tell) -> None:
    """Do all that is not done, by this command or by others that use the same store."""
    left, lost = set(groups), 0
    while missing := results.missing(list(groups)):
        if others := left - set(missing):
            tell(_seeds(others))
        left = set(missing)
        claimed: set[SeedGroup] = set()
        try:
            for group, raw, seconds in _done(_claimed(missing, results, claimed), groups):
                results.keep(groups[group].name, group, raw, seconds)
                claimed.discard(group)
                results.let_go(group)
                left.discard(group)
                tell(_seeds([group]))
        except _LostWorkers as why:
            lost = lost + 1 if len(left) == len(missing) else 1
            if lost > MAX_LOST:
                raise InputError(str(why), "use fewer jobs, or see why they end") from None
        finally:
            for group in claimed:
                results.let_go(group)
        if len(left) == len(missing):  # others have all that is left
            time.sleep(POLL)
    if left:
        tell(_seeds(left))


def _seeds(groups: Iterable[SeedGroup]) -> int:
    return sum(len(group.seeds) for group in groups)


def _claimed(missing: Sequence[SeedGroup], results: Results, claimed: set[SeedGroup]) -> Iterator[SeedGroup]:
    """Yield the groups that no other command does, each when a worker is about to need it."""
    for group in missing:
        if results.claim(group):
            claimed.add(group)
            yield group


class _LostWorkers(Exception):  # noqa: N818
    """Workers ended while they had work."""


def _done(
    groups: Iterable[SeedGroup], series: dict[SeedGroup, Series]
) -> Iterator[tuple[SeedGroup, bytes, float]]:
    """Yield groups with their results and seconds, as workers end them."""
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import BrokenProcessPool

    here = current()
    packed: dict[str, bytes] = {}

    def calls() -> Iterator[Any]:
        for group in groups:
            if group.series not in packed:
                packed[group.series] = series[group].packed()
            yield delayed(perform)(here, packed[group.series], group)

    try:
        with closing(Parallel(batch_size=1, return_as="generator_unordered")(calls())) as ended:
            yield from ended
    except BrokenProcessPool as error:
        raise _LostWorkers(f"workers end before their work is done ({type(error).__name__})") from None
    except DpaccountError:
        raise
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("distributed", "dask"):
            raise
        raise _LostWorkers(f"the cluster lost its work ({type(error).__name__})") from None


def perform(expected: Version, packed: bytes, group: SeedGroup) -> tuple[SeedGroup, bytes, float]:
    """Do a group, in any process that runs this version of the code."""
    check(expected)
    began = time.process_time()
    with process.task(), kept_in(None):
        values = np.asarray(unpacked(packed)(group.seeds), dtype=np.float64)
    if values.shape[:1] != (len(group.seeds),):
        raise InputError(f"a task gives {values.shape} for {len(group.seeds)} seeds", "give a row for each")
    return group, as_bytes(values), time.process_time() - began


def _joined(found: list[tuple[bytes, float]]) -> Done:
    parts = [of_bytes(raw) for raw, _ in found]
    return Done(np.concatenate(parts) if parts else np.zeros(0), sum(seconds for _, seconds in found))
