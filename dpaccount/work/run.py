"""Does what is not done yet, wherever the caller's workers are, and keeps it group by group.

Results do not depend on the workers, their number, the order in which they end, or on how often the
command was killed on the way.  That this is so is checked: a sample of groups is done again.
"""

import io
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from contextvars import copy_context
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpaccount.errors import DpaccountError, InputError
from dpaccount.noise import process
from dpaccount.work.described import described, digest
from dpaccount.work.results import STORE, Results
from dpaccount.work.version import Version, check, current, libraries

AGAIN = 64  #: of so many groups one is done again
POLL = 0.05  #: seconds between looks at what other commands do
MAX_LOST = 3  #: times in a row that workers may die before anything is done

Floats = NDArray[np.float64]
Play = Callable[[range], Floats]  #: seeds ↦ numbers, one row for each; pure and picklable
Tell = Callable[[int], object]  #: told how many tasks more are done


@dataclass(frozen=True)
class Series:
    """Tasks of one function: its results for all `seeds`, of which `size` at a time are one group.

    `name` is for people; what is computed is told from `play` and all that it was given.
    """

    name: str
    play: Play
    seeds: range
    size: int = 1

    def digest(self) -> str:
        """Return the digest of the function, of what it was given, and of the code."""
        return digest([described(self.play), current()])

    def groups(self, of: str) -> list["SeedGroup"]:
        """Return the groups, in order of their seeds; `of` names this series."""
        parts = [self.seeds[k : k + self.size] for k in range(0, len(self.seeds), self.size)]
        return [SeedGroup(f"{of} {part.start} {part.stop}", of, part, self) for part in parts]


@dataclass(frozen=True, eq=False)
class SeedGroup:
    """Consecutive seeds of a series: what is claimed, done and kept as one."""

    name: str
    series: str
    seeds: range
    of: Series


@dataclass(frozen=True)
class Done:
    """The results of a series, a row for each seed, and the processor seconds that they took."""

    values: Floats
    seconds: float


class LostWorkersError(InputError):
    """Workers ended while they had work."""


def run(series: Sequence[Series], tell: Tell = lambda _: None) -> list[Done]:
    """Return the results of every series.

    What is in the store already (`dpaccount.work.results.kept_in`) is not done again, and other
    commands may work on the same store; `joblib.parallel_config` says which workers do the rest.  Of
    results that are kept, one group in `AGAIN`, and at least one, is done anew and compared.
    Raises `ImpureTaskError` where they differ, `InputError` for a store that cannot be used, tasks to
    be kept that cannot be described, and workers that run other code or are lost.
    """
    store = STORE.get()
    names = [str(k) if store is None else each.digest() for k, each in enumerate(series)]
    parts = [each.groups(name) for each, name in zip(series, names, strict=True)]
    groups = {group.name: group for part in parts for group in part}
    if twice := sum(len(each.seeds) for each in series) - _seeds(groups.values()):
        tell(twice)  # two series may be the same
    with closing(Results(store)) as results:
        _complete(groups, results, tell)
        if store is not None:
            sample = sorted(groups.values(), key=lambda group: digest(group.name))
            list(_kept(sample[: max(1, len(groups) // AGAIN)], results))
        return [_joined([results.result(group.name) for group in part]) for part in parts]


def _complete(groups: dict[str, SeedGroup], results: Results, tell: Tell) -> None:
    """Do all that is not done, by this command or by others that use the same store."""
    told, lost = set[str](), 0
    series = {group.series for group in groups.values()}
    while len(told) < len(groups):
        done = results.done(series) & groups.keys()
        if done - told:
            tell(_seeds(groups[name] for name in done - told))
        before = len(told := done)
        missing = [group for name, group in groups.items() if name not in done]
        try:
            for group in _kept((group for group in missing if results.claim(group.name)), results):
                told.add(group.name)
                tell(len(group.seeds))
        except LostWorkersError:
            lost = lost + 1 if len(told) == before else 1
            if lost > MAX_LOST:
                raise
        if missing and len(told) == before:  # others have all that is left
            time.sleep(POLL)


def _seeds(groups: Iterable[SeedGroup]) -> int:
    return sum(len(group.seeds) for group in groups)


def _kept(groups: Iterable[SeedGroup], results: Results) -> Generator[SeedGroup, None, None]:
    """Do groups and keep them; yield each then."""
    code, begun = digest(current()), dict[str, SeedGroup]()
    with closing(_done(begun.setdefault(group.name, group) for group in groups)) as done:
        for name, raw, seconds in done:
            group = begun[name]
            results.keep(name, group.seeds, raw, seconds, group.series, group.of.name, code)
            yield group


def _done(groups: Iterable[SeedGroup]) -> Generator[tuple[str, bytes, float], None, None]:
    """Yield the names of groups with their results and seconds, as workers end them."""
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import BrokenProcessPool

    here = current()
    calls = (delayed(perform)(here, group.of.play, group.name, group.seeds) for group in groups)
    ended = Parallel(batch_size=1, return_as="generator_unordered")(calls)
    try:
        yield from ended
    except BrokenProcessPool:
        raise LostWorkersError(
            "workers end before their work is done", "use fewer jobs, or see why"
        ) from None
    except DpaccountError:
        raise
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("distributed", "dask"):
            raise
        raise LostWorkersError("the cluster lost its work", "see its log") from None
    finally:
        with warnings.catch_warnings(action="ignore"):  # of tasks that are left undone
            ended.close()


def perform(expected: Version, play: Play, name: str, seeds: range) -> tuple[str, bytes, float]:
    """Do a group, in any process that runs this code; return its name, bytes and seconds."""
    check(expected)
    began = time.process_time()
    values = np.ascontiguousarray(copy_context().run(_simulated, play, seeds), dtype=np.float64)
    if values.shape[:1] != (len(seeds),):
        raise InputError(f"a task gives {values.shape} for {len(seeds)} seeds", "give a row for each")
    file = io.BytesIO()
    np.save(file, values, allow_pickle=False)
    return name, file.getvalue(), time.process_time() - began


def _simulated(play: Play, seeds: range) -> Floats:
    process.IN_TASK.set(True)  # no noise of a release, and no store for what is run in here
    STORE.set(None)
    libraries().limit(limits=1)  # for good: `workers` restores what the command had
    return play(seeds)


def _joined(found: list[tuple[bytes, float]]) -> Done:
    parts = [np.load(io.BytesIO(raw), allow_pickle=False) for raw, _ in found]
    return Done(np.concatenate(parts) if parts else np.zeros(0), sum(seconds for _, seconds in found))
