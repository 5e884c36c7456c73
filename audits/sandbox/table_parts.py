"""Exact totals of a private table, part by part: in forks of this process, or on the workers of a cluster.

Every part is a pure function of the claim, the files and its number, so that a part that is lost, repeated or
done in another order changes nothing.  Finished parts are kept in a manifest if there is a folder for it: the
command that was killed goes on there.  No noise and no receipt leaves this process; only totals come back.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_bytes
from typing import Any, Final, cast

import numpy as np

from audits.claim import Claim, read_claim
from audits.sandbox.fork import Fork, NoAnswer
from audits.sandbox.private_data import digest_of_data
from audits.subjects.catalogue import is_catalogued, on_table, subject_of
from audits.subjects.sources import digest_of_code
from dpaccount.documents import canonical
from dpaccount.errors import InputError, posix_module
from mechanisms.subject import Additive
from mechanisms.table.persons import SECRET_BYTES
from mechanisms.table.reading import files_of
from mechanisms.table.rows import check_number
from mechanisms.table.totals import Summed, TablePart, TableTotals
from mechanisms.table.user_level import ByPerson, named

TOTALS: Final = "dpaccount/totals/1"
MANIFEST: Final = "manifest.jsonl"
CONNECT_SECONDS: Final = 10
BY_CLUSTER: Final = (
    "The totals of the table came from the workers of a dask cluster: that they read the same files and"
    " returned what this code computes is trusted."
)

Found = tuple[list[int], int]  #: a part's totals and its number of units
Done = Iterator[tuple[int, Found]]  #: numbers of parts, as they end


@dataclass(frozen=True)
class TableWork:
    """How a table is summed: in how many parts, how many at once, and where finished ones are kept.

    `scheduler` is the address of a dask cluster whose workers do the parts.  The totals depend on none of it.
    """

    jobs: int = 1
    partitions: int = 1
    folder: Path | None = None
    scheduler: str | None = None

    @property
    def divided(self) -> bool:
        """Return whether it says anything that only sums over rows can do."""
        return self.partitions > 1 or self.folder is not None or self.scheduler is not None


IN_ONE: Final = TableWork()


def summed(claim: Claim, made_by: type) -> Summed | None:
    """Return what is summed over a claim's table, or None where the mechanism needs all rows at once.

    A user's own class always needs them: no test can show that its query is a sum over rows at every size.
    """
    if claim.table is None or not is_catalogued(made_by):
        return None
    subject, reading = on_table(claim, made_by)
    mechanism, by_person = named(subject), isinstance(subject, ByPerson)
    if not isinstance(mechanism, Additive) or not mechanism.adds_up:
        return None
    if claim.table.max_rows > 1 and not by_person:
        return None
    marked = by_person and claim.table.max_rows == 1
    return Summed(mechanism, named(subject).domain(), claim.table, reading, marked)


def digests_of(claim: Claim, made_by: type, data: str) -> dict[str, str]:
    """Return the digests of a claim, its data, whose files have the digest `data`, and the code."""
    parts = {
        "claim": canonical(claim.written),
        "data": data.encode(),
        "code": digest_of_code(made_by).encode(),
    }
    return {name: hashlib.sha256(part).hexdigest() for name, part in parts.items()}


def totals_of(
    claim: Claim, made_by: type, digests: dict[str, str], work: TableWork, changed: Callable[[], bool]
) -> TableTotals:
    """Return the exact totals of the claim's table, given its `digests_of`.

    No part is kept once the files have `changed`.  Raises `InputError` for what is public: the files, the
    number of units where it is, and a folder with the manifest of other work.
    """
    if claim.data_file is None or claim.table is None:
        raise InputError("no table is declared", "give [data.columns]", claim.path)
    with _manifest(work, digests) as (secret, found, keep):
        missing = [TablePart(k, work.partitions, secret) for k in range(work.partitions) if k not in found]
        if work.scheduler is None:
            ended = _in_forks(claim, made_by, missing, work)
        else:
            ended = _on_cluster(claim, digests, missing, work.scheduler)
        for number, part in ended:
            if changed():
                raise InputError("changed while it was read", "release when nobody writes", claim.data_file)
            keep(number, part)
            found[number] = part
    sums = sum(np.array(found[number][0], dtype=np.int64) for number in range(work.partitions))
    units = sum(units for _, units in found.values())
    check_number(claim.data_file, claim.table, units, claim.guarantee.relation)
    return TableTotals(np.asarray(sums), units)


# ------------------------------------------------------------------ parts


def part_of(claim: Claim, made_by: type, part: TablePart) -> Found:
    """Return the totals of one part."""
    what = summed(claim, made_by)
    if what is None or claim.data_file is None:
        raise InputError(f"{claim.use} is no sum over rows", "leave --partitions out", claim.path)
    found = what.of(files_of(claim.data_file), part)
    return found.sums.tolist(), found.units


def _in_forks(
    claim: Claim, made_by: type, parts: list[TablePart], work: TableWork
) -> Iterator[tuple[int, Found]]:
    """Do parts in forks, `jobs` at a time: no cache of this process keeps private rows."""
    for start in range(0, len(parts), work.jobs):
        wave = parts[start : start + work.jobs]
        with ExitStack() as stack:
            forks = [stack.enter_context(Fork(_doing(claim, made_by, k))) for k in wave]
            with ThreadPoolExecutor(len(forks)) as pool:
                for part, (sums, units) in zip(wave, pool.map(_answer, forks), strict=True):
                    yield part.number, (sums, units)


def _doing(claim: Claim, made_by: type, part: TablePart) -> Callable[[object], Found]:
    return lambda _: part_of(claim, made_by, part)


def _answer(fork: Fork) -> Found:
    try:
        sums, units = fork.ask()
    except NoAnswer:
        raise InputError(
            "a process that summed a part of the table was killed",
            "if memory ran out, take more --partitions; with --work finished parts are not done again",
        ) from None
    return sums, units


def _on_cluster(
    claim: Claim, digests: dict[str, str], parts: list[TablePart], scheduler: str
) -> Iterator[tuple[int, Found]]:
    """Do parts on the workers of a dask cluster, which see the same files under the same names."""
    try:
        import distributed
    except ImportError:
        raise InputError("dask is not installed", "pip install 'dpaccount[distributed]'") from None
    dask, where = cast("Any", distributed), str(claim.path.resolve())  # dask has no types
    try:
        with dask.Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False) as cluster:
            asked = [cluster.submit(_remote, where, digests, each, pure=False) for each in parts]
            number = {future.key: part.number for future, part in zip(asked, parts, strict=True)}
            for future in dask.as_completed(asked, loop=cluster.loop):
                wrong, sums, units = future.result()
                if wrong is not None:
                    raise InputError(wrong)
                yield number[future.key], (sums, units)
    except InputError:
        raise
    except Exception as error:  # the cluster's errors are of many kinds
        raise InputError(
            f"the dask cluster at {scheduler} failed ({type(error).__name__})",
            "see that it runs and its workers read the table; with --work finished parts are kept",
        ) from None


def _remote(claim: str, digests: dict[str, str], part: TablePart) -> tuple[str | None, list[int], int]:
    """Return a part's totals on a worker, or why it refuses.

    A new process does it: one that has been up for long may hold older code than its files.
    """
    asked = json.dumps([claim, digests, [part.number, part.of, part.secret.hex()]])
    words = [sys.executable, "-c", "from audits.sandbox.table_parts import answer; answer()"]
    done = subprocess.run(words, input=asked, capture_output=True, text=True, check=False)
    if done.returncode:  # what it says might quote data, and the cluster would log it
        return f"a worker's process ended with {done.returncode}", [], 0
    wrong, sums, units = json.loads(done.stdout)
    return wrong, sums, units


def answer() -> None:
    """Answer on standard output what `_remote` asks on standard input."""
    path, wanted, (number, of, secret) = json.loads(sys.stdin.read())
    try:
        claim = read_claim(Path(path))
        made_by = type(named(subject_of(claim)))
        data = "" if claim.data_file is None else digest_of_data(claim.data_file)
        own = digests_of(claim, made_by, data)
        if other := [name for name, digest in wanted.items() if own[name] != digest]:
            what = f"a worker has another {', '.join(other)} than this program"
            raise InputError(what, "give it the same")
        found: list[Any] = [None, *part_of(claim, made_by, TablePart(number, of, bytes.fromhex(secret)))]
    except InputError as error:
        found = [str(error), [], 0]
    sys.stdout.write(json.dumps(found))


# ------------------------------------------------------------------ the manifest


Keep = Callable[[int, Found], None]


@contextmanager
def _manifest(work: TableWork, header: dict[str, str]) -> Iterator[tuple[bytes, dict[int, Found], Keep]]:
    """Yield the secret of the hash, the parts that are done, and how to keep another one.

    The manifest has exact totals of private data: only its owner may read it.
    """
    if work.folder is None:
        yield token_bytes(SECRET_BYTES), {}, lambda _number, _found: None
        return
    path = work.folder / MANIFEST
    try:
        work.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+b") as file:
            os.fchmod(file.fileno(), 0o600)
            _lock(file.fileno(), path)
            engine = "here" if work.scheduler is None else "dask"
            wanted = {"schema": TOTALS, **header, "partitions": work.partitions, "engine": engine}
            secret, found, end = _read(file.read(), wanted, path)
            file.truncate(end)
            file.seek(end)

            def keep(document: dict[str, Any]) -> None:
                file.write(json.dumps(document).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())

            if not end:
                keep({**wanted, "secret": secret.hex()})
            yield secret, found, lambda k, part: keep({"part": k, "totals": part[0], "units": part[1]})
    except OSError as error:
        raise InputError(str(error.strerror or "unwritable"), "name a folder to write to", path) from None


def _lock(descriptor: int, path: Path) -> None:
    fcntl = posix_module("fcntl")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError("another command is working there", "wait, or name another --work", path) from None


def _read(text: bytes, wanted: dict[str, Any], path: Path) -> tuple[bytes, dict[int, Found], int]:
    """Return what a manifest holds and where its last whole line ends; one that was cut off is nothing."""
    end = text.rfind(b"\n") + 1
    lines = text[:end].splitlines()
    if not lines:
        return token_bytes(SECRET_BYTES), {}, 0
    try:
        header, *done = map(json.loads, lines)
        secret = bytes.fromhex(header.pop("secret"))
        found = {int(each["part"]): (list(map(int, each["totals"])), int(each["units"])) for each in done}
    except (ValueError, TypeError, KeyError, AttributeError):
        raise InputError("no manifest of totals", "remove it, or name another --work", path) from None
    other = [name for name, value in wanted.items() if header.get(name) != value]
    if other:
        raise InputError(
            f"the manifest is of another {', '.join(other)}", "name another --work, or remove it", path
        )
    sizes = {len(sums) for sums, _ in found.values()}
    if len(sizes) > 1 or not all(0 <= number < wanted["partitions"] for number in found):
        raise InputError("no manifest of totals", "remove it, or name another --work", path)
    return secret, found, end
