"""`work`: results of long work that were kept."""

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Annotated, Any

from cyclopts import Parameter

from audits.cli.options import File, Json, Name, show, usual_store
from dpaccount.errors import InputError
from dpaccount.schemas.results import KeptWork, KeptWorkRow

MOST_LINES = 14  #: of work that is listed part by part


def work_list(
    *,
    all_: Annotated[bool, Parameter(name="--all", negative="", show_default=False)] = False,
    store: File | None = None,
    json_: Json = False,
) -> int:
    """List the work whose results were kept, complete or not, the latest last.

    Example: `dpaccount work list --store work.db`

    Parameters
    ----------
    all_
        List each part of work that is of many, with its digest; --json does so always.
    store
        The store (default: the one that DPACCOUNT_STORE names).
    """
    show(_work(store), json_, partial(_work_table, whole=all_))
    return 0


def work_prune(digest: Name | None = None, *, store: File | None = None, json_: Json = False) -> int:
    """Remove results that other versions of the code made; with DIGEST, those of that work.

    Example: `dpaccount work prune --store work.db`

    Parameters
    ----------
    digest
        What the digest of the work begins with, at least 6 characters; see `dpaccount work list`.
    store
        The store (default: the one that DPACCOUNT_STORE names); no command may be using it.
    """
    if digest is not None and len(digest) < 6:
        raise InputError(f"{digest!r} is too short", "give at least 6 characters of the digest")

    def removed(row: Any) -> bool:
        return not row["current"] if digest is None else row["digest"].startswith(digest)

    show(_work(store, removed), json_, lambda gone: f"removed {len(gone['work'])}")
    return 0


def _work(store: File | None, removed: Callable[[Any], bool] | None = None) -> KeptWork:
    """Return what is kept; what is `removed`, if that is said."""
    from dpaccount.documents import hex_digest
    from dpaccount.work.results import Results
    from dpaccount.work.version import current

    path = store or usual_store()
    if path is None or not path.exists():
        raise InputError("there is no store of results", "name one with --store", path)
    with closing(Results(path, alone=removed is not None)) as results:
        rows = list(filter(removed, results.listed(hex_digest(current()))))
        if removed is not None:
            results.remove(row["digest"] for row in rows)
    return KeptWork([KeptWorkRow(**row) for row in rows])


def _work_table(answer: dict[str, Any], *, whole: bool) -> str:
    """Return a line for each part of work; where these are many and not wanted `whole`, one for a kind."""
    kinds: dict[tuple[str, bool], list[dict[str, Any]]] = {}
    short = not whole and len(answer["work"]) > MOST_LINES
    for e in answer["work"]:
        key = (_kind(e["name"]) if short else e["digest"], e["current"])
        kinds[key] = [*kinds.pop(key, []), e]  # the latest last
    rows = [_kept_line(parts) for parts in kinds.values()]
    if short:
        gone = len(rows) - MOST_LINES
        said = f"{gone} earlier kinds are left out; " if gone > 0 else ""
        rows = [*rows[-MOST_LINES:], f"{said}--all lists every part with its digest"]
    return "\n".join(rows) or "no work is kept"


def _kind(name: str) -> str:
    """Return what parts of one command have in common: `reproduce` and rehearsals name each run."""
    return "rehearse" if name.startswith("rehearse ") else name.partition(": ")[0]


def _kept_line(parts: list[dict[str, Any]]) -> str:
    one, seeds, size = parts[0], sum(e["seeds"] for e in parts), sum(e["bytes"] for e in parts)
    alone = len(parts) == 1
    begins = one["digest"][:12] if alone else f"{len(parts)} parts"
    name = one["name"] if alone else _kind(one["name"])
    code = "this code " if one["current"] else "other code"
    return f"{begins:<12}  {seeds:>8} seeds  {size:>11} bytes  {code}  {name}"
