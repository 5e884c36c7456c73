"""Exact totals of a private table, part by part: in forks of this process, or on the workers of a cluster.

Every part is a pure function of the claim, the files and its number, so lost, repeated or reordered
parts change nothing.  With a work folder, finished parts are recorded in a manifest, from which an
interrupted command resumes.  Noise and receipts stay in this process; workers return only totals.
"""

import json
import os
import pickle
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import numpy as np

from audits.claim import Claim, read_claim
from audits.sandbox.fork import Fork, NoAnswer
from audits.sandbox.manifest import (
    MAX_TOTAL,
    DividedRows,
    PartTotals,
    divided_rows,
    manifest,
    parts_in,
    remove_rows,
)
from audits.sandbox.private_data import digest_of_data
from audits.subjects.catalogue import BoundClaim, is_catalogued, subject_of
from audits.subjects.sources import digest_of_code
from dpaccount.documents import canonical, sha256, using
from dpaccount.errors import DpaccountError, InputError, ReceiptError
from dpaccount.noise import process
from dpaccount_packages import called
from mechanisms.subject import Additive
from mechanisms.table.reading import Source, check_same_columns, files_of
from mechanisms.table.rows import check_number
from mechanisms.table.totals import MOST_MARKS, Summed, TablePart, TableTotals, divide, totals_of_rows
from mechanisms.table.user_level import ByPerson, named

CONNECT_SECONDS: Final = 10
WAITS_ALONE: Final = 30  #: maximum multiple of that time without any worker, while they may be starting
SUMMED_APART: Final = (
    "That each {} has all rows of its persons was said, not proved: {} compared between them by 64 bits of a"
    " hash."
)
BY_CLUSTER: Final = (
    "The totals of the table came from the workers of a dask cluster: that they read the same files and"
    " returned what this code computes is trusted."
)
BY_OTHER_ENGINE: Final = (
    "The totals of the table came from another engine: that it gave every row of these files once to this"
    " code, and returned what it computes, is trusted."
)

OTHER_VERSION: Final = (
    "a worker of the cluster cannot do a part ({}), as one with another version of this program;"
    " install there what this command runs, and start it again"
)
SUMMING: Final = "import dpaccount_packages; dpaccount_packages.run('audits.sandbox.table_parts', 'answer')"
PROGRESS: Final = "summing the table: {} of {} parts"


@dataclass(frozen=True)
class TableWork:
    """How a table is summed; the totals do not depend on it.

    `folder` is for finished parts, `scheduler` the address of a dask cluster.  `by_file`: each file is a
    part, with all rows of its persons.  `other`: another engine has summed all parts into the manifest.
    """

    jobs: int = 1
    partitions: int = 1
    folder: Path | None = None
    scheduler: str | None = None
    by_file: bool = False
    other: bool = False

    def header(self) -> dict[str, object]:
        """Return the members of a manifest's header that describe it."""
        engine = "other" if self.other else "here" if self.scheduler is None else "dask"
        return {"partitions": self.partitions, "by_file": self.by_file, "engine": engine}

    @property
    def divided(self) -> bool:
        """Return whether it has settings that are for sums over rows only."""
        return self != TableWork(self.jobs)


IN_ONE: Final = TableWork()


def summed_query(bound: BoundClaim) -> Summed | None:
    """Return the sum over rows that a claim's mechanism computes, or None if it needs all rows at once.

    A user's own class always does: no test can show that its query is a sum over rows at every size.
    """
    claim = bound.claim
    if claim.table is None or not is_catalogued(bound.made_by):
        return None
    subject = bound.subject()
    mechanism, by_person = named(subject), isinstance(subject, ByPerson)
    if not isinstance(mechanism, Additive) or not mechanism.adds_up:
        return None
    if claim.table.max_rows > 1 and not by_person:
        return None
    marked = by_person and claim.table.max_rows == 1
    return Summed(mechanism, named(subject).domain(), claim.table, bound.reading, marked)


def trust_hazards(claim: Claim, work: TableWork) -> list[str]:
    """Return the assumptions about how a table is summed, as hazards for the certificate."""
    said = [BY_CLUSTER] if work.scheduler is not None else [BY_OTHER_ENGINE] if work.other else []
    if (work.by_file or work.other) and claim.table is not None and claim.table.identity is not None:
        compared = "all persons were" if claim.table.rows <= MOST_MARKS else "a sample of the persons was"
        said.append(
            SUMMED_APART.format("file of the table" if work.by_file else "part of the table", compared)
        )
    return said


def digests_of(bound: BoundClaim, data: str) -> dict[str, str]:
    """Return the digests of a claim, of its data (from the digest `data` of the files), and of the code.

    The version of pyarrow, which reads the files, is included; a release's key leaves it out.
    """
    pyarrow = "none"  # CSV needs no extra
    with suppress(metadata.PackageNotFoundError):
        pyarrow = metadata.version("pyarrow")
    return {
        "claim": sha256(canonical(bound.claim.written)),
        "data": sha256(data.encode()),
        "code": sha256(digest_of_code(bound.made_by).encode()),
        "pyarrow": pyarrow,
    }


def totals_of(
    bound: BoundClaim,
    digests: dict[str, str],
    work: TableWork,
    changed: Callable[[], bool],
    progress: Callable[[str], None] = lambda _: None,
) -> TableTotals:
    """Return the exact totals of the claim's table, given its `digests_of`.

    `progress` is called with the number of finished parts.  Raises `InputError` if the files have `changed`
    during the work, and for other public facts: unreadable files, a public number of units that differs,
    a folder with the manifest of other work.
    """
    claim = bound.claim
    if claim.data_file is None or claim.table is None:
        raise InputError("no table is declared", "give [data.columns]", claim.path)
    files = files_of(claim.data_file)
    check_same_columns(files, claim.table.identity)
    if work.by_file:
        work = replace(work, partitions=len(files))
    if work.other and work.folder is not None:
        work = replace(work, partitions=parts_in(work.folder))

    def check_same() -> None:
        if changed():
            right = "release while no one writes to it"
            raise InputError("changed while it was read", right, str(claim.data_file))

    parts = _all_parts(bound, digests, work, check_same, progress)
    _check_shape(parts, bound, work)
    _check_disjoint([marks for *_, marks in parts], claim.data_file)
    sums = [sum(each) for each in zip(*(part for part, *_ in parts), strict=True)]
    units = sum(each for _, each, _ in parts)
    if max(map(abs, sums), default=0) >= MAX_TOTAL:
        raise InputError("the totals are beyond 2^62", "see who wrote the manifest", work.folder)
    check_number(claim.data_file, claim.table, units, claim.guarantee.relation)
    return TableTotals(np.array(sums, dtype=np.int64), units)


def _all_parts(
    bound: BoundClaim,
    digests: dict[str, str],
    work: TableWork,
    check_same: Callable[[], None],
    progress: Callable[[str], None],
) -> list[PartTotals]:
    """Return the totals of all parts: those in the manifest, then the others, each recorded once done."""
    header = {**digests, **work.header()}
    with manifest(work.folder, header) as (secret, found, keep):
        parts = [TablePart(k, work.partitions, secret, work.by_file) for k in range(work.partitions)]
        missing = [part for part in parts if part.number not in found]
        if missing and work.other:
            lacks = f"the other engine's manifest lacks {len(missing)} of {work.partitions} parts"
            raise InputError(lacks, "let it end", work.folder)
        progress(PROGRESS.format(len(found), work.partitions))
        with _rows_in_parts(bound, header, work, missing, check_same) as divided:
            if work.scheduler is None:
                ended = _in_forks(bound, missing, work, divided)
            else:
                ended = _on_cluster(bound.claim, digests, missing, work.scheduler, divided)
            for number, part in ended:
                check_same()
                keep(number, part)
                found[number] = part
                progress(PROGRESS.format(len(found), work.partitions))
        return [found[number] for number in range(work.partitions)]


def _check_shape(parts: list[PartTotals], bound: BoundClaim, work: TableWork) -> None:
    """Refuse parts that cannot be this claim's: of other size, beyond any rows, or without persons' marks.

    Without a mark for each person, a person in two parts would go unnoticed.
    """
    what = summed_query(bound)
    if what is None or any(len(sums) != what.width for sums, *_ in parts):
        raise InputError("the parts have other totals than this claim's", "remove the manifest", work.folder)
    most = what.mechanism.largest * what.table.max_rows
    if any(abs(each) > most * units for sums, units, _ in parts for each in sums):
        wrong = "a part has totals that no rows of its units have"
        raise InputError(wrong, "see who wrote the manifest, and remove it", work.folder)
    marked = (work.by_file or work.other) and what.table.identity is not None
    all_marked = marked and what.table.rows <= MOST_MARKS  # of more persons a sample is marked
    if all_marked and any(len(b64decode(marks)) != 8 * units for _, units, marks in parts):
        wrong = "a part has not one mark for each of its persons"
        raise InputError(wrong, "keep totals, units and marks as they came back", work.folder)


def _check_disjoint(marks: list[str], source: Source) -> None:
    """Refuse parts with a common person, who would contribute up to the bound in each of them."""
    pooled = np.concatenate([np.frombuffer(b64decode(each), dtype="<u8") for each in marks])
    if len(np.unique(pooled)) != len(pooled):
        what = "some persons have rows in two parts of the table, which are said to be apart"
        raise InputError(what, "divide it by person, or leave --by-file out", str(source))


# ------------------------------------------------------------------ parts


def part_totals(bound: BoundClaim, part: TablePart, rows: tuple[Path, str] | None = None) -> PartTotals:
    """Return the totals of one part; raises `ReceiptError` if the code charges or draws noise.

    `rows`: the folder of the table's rows in parts, and the digest of this part's file; None: the table
    itself is read.
    """
    what, file = _summed_in_parts(bound)
    if rows is None:
        found = process.as_task(what.of, files_of(file), part)
    else:
        found = process.as_task(totals_of_rows, what, part, *rows)
    return found.sums.tolist(), found.units, b64encode(found.marks).decode()


def _summed_in_parts(bound: BoundClaim) -> tuple[Summed, Source]:
    what = summed_query(bound)
    claim = bound.claim
    if what is None or claim.data_file is None:
        raise InputError(f"{claim.use} is no sum over rows", "leave --partitions out", claim.path)
    return what, claim.data_file


def _rows_in_parts(
    bound: BoundClaim,
    header: dict[str, object],
    work: TableWork,
    parts: list[TablePart],
    check_same: Callable[[], None],
) -> AbstractContextManager[DividedRows | None]:
    """Return the folder with a file of rows for each part, or None if parts read the table themselves.

    The table is divided in a fork, which stops writing if this process is killed: the command that
    resumes uses a folder of the same name.
    """
    in_fork = work.by_file or work.other
    if work.folder is None:
        return nullcontext()
    if work.partitions == 1 or in_fork or not parts:
        remove_rows(work.folder)  # left by a command that was killed
        return nullcontext()
    parent = os.getpid()

    def check_awaited() -> None:
        if os.getppid() != parent:
            raise InputError("the command that asked for it was killed")

    def work_of(folder: Path) -> list[str]:
        what, file = _summed_in_parts(bound)
        os.umask(0o077)
        with using(folder, "make room, or name another --work"):
            return process.as_task(divide, what, files_of(file), parts[0], folder, check_awaited)

    def divided(folder: Path) -> list[str]:
        with Fork(_in_one_line("dividing the table", partial(work_of, folder))) as fork:
            digests: list[str] = _fork_answer(fork)
        check_same()
        return digests

    return divided_rows(work.folder, header, parts[0].secret, divided)


def _in_forks(
    bound: BoundClaim, parts: list[TablePart], work: TableWork, rows: DividedRows | None = None
) -> Iterator[tuple[int, PartTotals]]:
    """Sum parts in forks, `jobs` at a time, so that no cache of this process keeps private rows."""
    for start in range(0, len(parts), work.jobs):
        wave = parts[start : start + work.jobs]
        with ExitStack() as stack:
            places = [None if rows is None else rows.of(part.number) for part in wave]
            each = [partial(part_totals, bound, *one) for one in zip(wave, places, strict=True)]
            what = "summing a part of the table"
            forks = [stack.enter_context(Fork(_in_one_line(what, work_of))) for work_of in each]
            with ThreadPoolExecutor(len(forks)) as pool:
                for part, found in zip(wave, pool.map(_fork_answer, forks), strict=True):
                    yield part.number, tuple(found)


def _in_one_line(what: str, work: Callable[[], Any]) -> Callable[[object], Any]:
    """Return work for a fork whose errors quote no data."""

    def done(_: object) -> Any:
        try:
            return work()
        except (DpaccountError, MemoryError):
            raise
        except Exception as error:  # the text might quote data
            failed = f"{what} failed ({type(error).__name__})"
            raise InputError(failed, "report this fault of the program") from None

    return done


def _fork_answer(fork: Fork) -> Any:
    try:
        return fork.ask()
    except NoAnswer:
        raise InputError(
            "a process that summed a part of the table was killed",
            "if memory ran out, take more --partitions; with --work finished parts are not done again",
        ) from None


def _on_cluster(
    claim: Claim,
    digests: dict[str, str],
    parts: list[TablePart],
    scheduler: str,
    rows: DividedRows | None = None,
) -> Iterator[tuple[int, PartTotals]]:
    """Sum parts on the workers of a dask cluster, which must see the same files under the same names."""
    try:
        import distributed
    except ImportError:
        raise InputError("dask is not installed", "pip install 'dpaccount[distributed]'") from None
    dask: Any = distributed  # which has no types
    # `called` finds our packages on a worker before it unpickles what needs them.
    remote = pickle.dumps(_remote)

    def asked_of(part: TablePart) -> str:
        place = None if rows is None else rows.of(part.number)
        about = [part.number, part.of, part.secret.hex(), part.by_file]
        return json.dumps([claim.path.resolve(), digests, about, place], default=str)

    try:
        with dask.Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False) as cluster:
            asked = [cluster.submit(called, remote, asked_of(part), pure=False) for part in parts]
            number, left = dict(zip(asked, (part.number for part in parts), strict=True)), asked
            alone = 0
            while left:
                with cluster.as_current(), suppress(TimeoutError):
                    dask.wait(left, timeout=CONNECT_SECONDS, return_when="FIRST_COMPLETED")
                ended = {each for each in left if each.done()}
                for future in ended:
                    wrong, *found = _answer(future)
                    if wrong is not None:
                        raise InputError(wrong)
                    yield number[future], tuple(found)
                left = [each for each in left if each not in ended]
                alone = 0 if ended or cluster.scheduler_info()["workers"] else alone + 1
                if alone > WAITS_ALONE:
                    lost = f"the dask cluster at {scheduler} has no workers"
                    raise InputError(lost, "start some; with --work finished parts are kept")
    except InputError:
        raise
    except Exception as error:  # the cluster's errors are of many kinds
        raise InputError(
            f"the dask cluster at {scheduler} failed ({type(error).__name__})",
            "see that it runs and its workers read the table; with --work finished parts are kept",
        ) from None


def _answer(future: Any) -> list[Any]:
    """Return the answer of `_remote`; raises `InputError` if the worker has another version of it."""
    try:
        answered: list[Any] = json.loads(future.result())
    except (TypeError, ValueError, AttributeError, ImportError) as error:
        raise InputError(OTHER_VERSION.format(type(error).__name__)) from None
    return answered


def _remote(asked: str) -> str:
    """Return a part's totals on a worker, or an error, as `answer` writes them.

    A new process sums it: a long-running worker may have loaded older code than its files now contain.
    Request and answer are one text each, which any version of this function accepts.
    """
    words = [sys.executable, "-c", SUMMING]
    done = subprocess.run(words, input=asked, capture_output=True, text=True, check=False)
    if done.returncode:  # its error output might quote data, which the cluster would log
        return json.dumps([OTHER_VERSION.format(f"its process ended with {done.returncode}"), [], 0, ""])
    return done.stdout


def answer() -> None:
    """Read a request of `_remote` from standard input; print an error or None, and the part.

    `rows` as in `part_totals`; a worker that cannot read them reads the table.
    """
    path, wanted, (number, of, secret, by_file), rows = json.loads(sys.stdin.read())
    try:
        claim = read_claim(Path(path))
        bound = BoundClaim.of(claim, subject_of(claim))
        if rows is not None:  # None then: on another file system, or of another user
            rows = (Path(rows[0]), rows[1]) if os.access(Path(rows[0], str(number)), os.R_OK) else None
        read = None if rows else claim.data_file
        own = digests_of(bound, "" if read is None else digest_of_data(read))
        own |= {"data": wanted["data"]} if rows else {}  # the rows that are read have a digest of their own
        if other := ", ".join(name for name, digest in wanted.items() if own[name] != digest):
            raise InputError(f"a worker has another {other} than this program", "give it the same")
        part = TablePart(number, of, bytes.fromhex(secret), by_file)
        found: list[Any] = [None, *part_totals(bound, part, rows)]
    except (InputError, ReceiptError) as error:
        found = [str(error), [], 0, ""]
    sys.stdout.write(json.dumps(found))
