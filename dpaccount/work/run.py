"""Does what is not done yet, wherever the caller's workers are, and keeps it group by group.

Results do not depend on the workers, their order, or on how often the command was killed.  A sample of
groups is done twice and compared before it is kept, and a sample of what the store has is done again.
"""

import io
import pickle
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from random import SystemRandom
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from dpaccount.documents import hex_digest, sha256
from dpaccount.errors import DpaccountError, InputError
from dpaccount.noise import process
from dpaccount.work.described import DERIVED, described
from dpaccount.work.results import STORE, Results
from dpaccount.work.version import Version, check, current, libraries, one_thread

AGAIN = 64  #: of so many groups one is done twice, chosen so that no task can know
HERE = ("SequentialBackend", "ThreadingBackend", "LokyBackend", "MultiprocessingBackend")
LOST = ("joblib", "distributed", "dask", "concurrent", "asyncio")  #: whose errors are of workers
RANDOM = SystemRandom()

Floats = NDArray[np.float64]
Play = Callable[[range], Floats]  #: seeds ↦ numbers, one row for each; pure and picklable
Tell = Callable[[int], object]  #: told how many tasks more are done
Groups = dict[str, tuple["Series", range]]  #: by name, which begins with the digest of the series


@dataclass(frozen=True)
class Series:
    """Tasks of one function: its results for all `seeds`, of which `size` at a time are one group.

    `name` is for people; what is computed is told from `play` and all that it was given.
    """

    name: str
    play: Play
    seeds: range
    size: int = 1

    def groups(self, of: str) -> Groups:
        """Return the groups, in order of their seeds; `of` names this series."""
        parts = (self.seeds[k : k + self.size] for k in range(0, len(self.seeds), self.size))
        return {f"{of} {part.start} {part.stop} {part.step}": (self, part) for part in parts}


@dataclass(frozen=True)
class NamedPlay:
    """A function from outside our packages, whose results `what` and the code of these determine.

    The caller answers for that: what is kept under one `what` is taken for the same.
    """

    what: str
    play: Play = field(metadata=DERIVED)

    def __call__(self, seeds: range) -> Floats:
        """Return the results of some seeds."""
        return self.play(seeds)


class ImpureTaskError(DpaccountError):
    """A task gave two results for the same seeds: it reads something besides them."""

    exit_code = 70


class TaskError(DpaccountError):
    """A task raised what is no error of ours (too little memory, a disk, a defect), or its worker died."""


def run(series: Sequence[Series], tell: Tell = lambda _: None) -> list[Floats]:
    """Return the results of every series, a row for each seed.

    What is in the store already (`dpaccount.work.results.kept_in`) is not done again, and other
    commands may work on the same store; `joblib.parallel_config` says which workers do the rest.
    Raises `ImpureTaskError` where two results of a group differ, `TaskError` where a task fails (then
    nothing of its group is kept), `InputError` for a store that cannot be used, for tasks without a
    description that are to be kept or to leave this machine, and for workers that run other code.
    """
    from joblib.parallel import get_active_backend

    store, away = STORE.get(), type(get_active_backend()[0]).__name__ not in HERE
    version = current() if away or store is not None else None
    names = [hex_digest([described(s.play), version]) if version else str(k) for k, s in enumerate(series)]
    parts = [each.groups(name) for each, name in zip(series, names, strict=True)]
    groups = {name: group for part in parts for name, group in part.items()}
    if twice := sum(len(each.seeds) for each in series) - sum(len(seeds) for _, seeds in groups.values()):
        tell(twice)  # two series may be the same
    with one_thread(), nullcontext() if store is None else closing(Results(store)) as results:
        done = LongWork(groups, results, version, tell).complete()
    arrays = [[np.load(io.BytesIO(done[name]), allow_pickle=False) for name in part] for part in parts]
    return [np.concatenate(each) if each else np.zeros(0) for each in arrays]


class LongWork:
    """Groups of which some are `done`: now, earlier, or by other commands on the same store."""

    def __init__(self, groups: Groups, results: Results | None, version: Version | None, tell: Tell) -> None:
        self.groups, self.done, self._tell = groups, dict[str, bytes](), tell
        self._results, self._version, self._first = results, version, dict[str, bytes]()
        self._take_what_others_did()
        self._left = {name: int(name not in self.done) for name in groups}  #: times that each is to be done
        for old in (True, False) if results is not None else ():
            some = [name for name in groups if (name in self.done) == old]
            for name in RANDOM.sample(some, -(-len(some) // AGAIN)):
                self._left[name] += 1

    def complete(self) -> dict[str, bytes]:
        """Do all that is not done, in an order that commands on one store do not share."""
        todo = ((name, *self.groups[name]) for name in self._todo({*self.done}))
        with closing(_performed(self._version, todo)) as ended:
            for name, raw in ended:
                self._take(name, raw)
                self._take_what_others_did()
        self._check_still_kept()
        return self.done

    def _check_still_kept(self) -> None:
        """Where another command removed as impure what this one took, end this one too."""
        if self._results is None:
            return
        for name, raw in self.done.items():
            if self._results.digest_of(name) != sha256(raw):
                what = "were removed from the store, as another command does with impure work"
                self._refuse(name, what)

    def _todo(self, old: set[str]) -> Iterator[str]:
        """Yield what is to be done: at last what another command has begun, if that has not ended it."""
        names, begun = [name for name, left in self._left.items() for _ in range(left)], list[str]()
        if self._results is not None:
            RANDOM.shuffle(names)
        for name in names:
            if name in old or self._results is None:
                yield name
            elif name not in self.done:
                if self._results.begin(name):
                    yield name
                else:
                    begun.append(name)
        yield from (name for name in begun if name not in self.done)

    def _take(self, name: str, raw: bytes) -> None:
        """Take what a worker made; keep it after the last time that it was to be done."""
        self._compare(name, self.done.get(name, self._first.setdefault(name, raw)), raw)
        self._left[name] -= 1
        if name in self.done or self._left[name]:
            return
        if self._results is not None:
            series, seeds = self.groups[name]
            about = name.partition(" ")[0], series.name, hex_digest(self._version)
            self._compare(name, self._results.keep(name, raw, len(seeds), *about), raw)
        self._end(name, raw)

    def _take_what_others_did(self) -> None:
        if self._results is not None:
            for name, raw in self._results.added(lambda name: name in self.groups and name not in self.done):
                self._compare(name, self._first.get(name, raw), raw)
                self._end(name, raw)

    def _end(self, name: str, raw: bytes) -> None:
        self.done[name] = raw
        self._tell(len(self.groups[name][1]))

    def _compare(self, name: str, one: bytes, other: bytes) -> None:
        """Where two results differ, none of this work can be believed: remove all of it, end the command."""
        if one != other:
            self._refuse(name, "gave two results")

    def _refuse(self, name: str, what: str) -> NoReturn:
        if self._results is not None:
            self._results.remove({each.partition(" ")[0] for each in self.groups})
        series, seeds = self.groups[name]
        raise ImpureTaskError(
            f"{series.name}: seeds {seeds[0]} ... {seeds[-1]} {what}, so nothing of this work"
            " is kept; a task reads what it is given and its seeds, no clock, no other randomness"
        )


def _performed(
    version: Version | None, groups: Iterable[tuple[str, Series, range]]
) -> Generator[tuple[str, bytes], None, None]:
    """Yield the names of groups with their results, as workers end them."""
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    away = type(get_active_backend()[0]).__name__ not in HERE
    calls = (
        delayed(perform)(version, name, pickle.dumps(series.play) if away else series.play, seeds)
        for name, series, seeds in groups
    )
    ended = Parallel(batch_size=1, return_as="generator_unordered")(calls)
    try:
        for each in ended:  # noqa: UP028  # which `yield from` would close outside of `finally`
            yield each
    except (DpaccountError, ModuleNotFoundError):  # an extra that is not installed
        raise
    except (Exception, SystemExit) as error:
        who = "workers were lost" if type(error).__module__.partition(".")[0] in LOST else "a task failed"
        what = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        right = "see why, and start the command again; nothing of its group was kept"
        raise TaskError(f"{who}: {what}; {right}") from error
    finally:
        with warnings.catch_warnings(action="ignore"):  # of tasks that are left undone
            ended.close()


def perform(version: Version | None, name: str, play: Play | bytes, seeds: range) -> tuple[str, bytes]:
    """Do a group, in any process that runs this code; return its name and the bytes of its result.

    `play` is pickled where another machine may lack what it is made of: the versions are compared first.
    """
    if version is not None:
        check(version)
    done = pickle.loads(play) if isinstance(play, bytes) else play  # noqa: S301 - of our own command
    values = np.ascontiguousarray(process.as_task(_simulated, done, seeds), dtype=np.float64)
    if values.shape[:1] != (len(seeds),):
        raise InputError(f"a task gives {values.shape} for {len(seeds)} seeds", "give a row for each")
    file = io.BytesIO()
    np.save(file, values, allow_pickle=False)
    return name, file.getvalue()


def _simulated(play: Play, seeds: range) -> Floats:
    STORE.set(None)  # for what is run in here
    libraries().limit(limits=1)  # for good in a worker; in the command's own process `run` undoes it
    return play(seeds)
