"""`claims`, `reproduce`: the papers' claims, tables and figures; `work`: results that were kept."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from audits.cli.options import (
    NOT_SAID,
    File,
    Folder,
    Json,
    Name,
    Whole,
    WorkOptions,
    lines,
    reporting,
    rounded,
    short,
    show,
    usual_store,
    whole,
)
from dpaccount.errors import InputError
from dpaccount.schemas.results import KeptWork, KeptWorkRow

MOST_LINES = 14  #: of work that is listed part by part

SIGNS = (("epsilon", "ε ="), ("delta", "δ ="))  #: what a claim of a paper may state


def claims(
    name: Name | None = None,
    *,
    set_: Annotated[
        list[str] | None, Parameter(name="--set", allow_leading_hyphen=True, metavar="KEY=VALUE")
    ] = None,
    certify_: Annotated[bool, Parameter(name="--certify", negative="", show_default=False)] = False,
    seed: Whole = None,
    json_: Json = False,
) -> int:
    """List the papers' privacy claims, or check one of them at its own or other parameters.

    Example: `dpaccount claims dubey-lemma2 --set alpha=10 --set B=20`

    Parameters
    ----------
    name
        One claim; without it, all of them at the papers' parameters.
    set_
        A parameter; may be repeated.
    certify_
        Also run the refutation or the audit.
    seed
        Random seed of the refutation or the audit (default 1).
    """
    from audits import papers

    if name is None:
        if set_ or certify_:
            raise InputError("--set and --certify go with the name of one claim", "name one")
        show(papers.claims(), json_, _claims_table)
        return 0
    settings = papers.read_settings(set_ or ())
    number = whole(seed, "--seed", 0)
    answer = (
        papers.certify_claim(name, settings, 1 if number is None else number)
        if certify_
        else papers.claim(name, settings)
    )
    show(answer, json_, _claim_lines)
    return papers.exit_code(answer)


def _claim_lines(answer: dict[str, Any]) -> str:
    """Return one claim for a person: of a derivation how many steps it has."""
    steps = answer.get("derivation")
    shown = {key: _with_digits(value) for key, value in answer.items()}
    if isinstance(steps, list):
        shown["derivation"] = f"{len(steps)} steps, which --json prints"
    return lines(shown)


def _with_digits(value: Any, *, up: bool | None = None) -> Any:
    """Return a value with its numbers as on a terminal, the needed noise rounded up; enclosures stay."""
    if isinstance(value, dict) and value.keys() != {"lower", "upper"}:
        return {key: _with_digits(member, up=key == "needed" or None) for key, member in value.items()}
    return rounded(value, up=up) if isinstance(value, float) else value


def _claims_table(listed: list[dict[str, Any]]) -> str:
    rows = []
    for entry in listed:
        claimed, proved = entry["claimed"] or {}, (entry["proved"] or {}).get("epsilon")
        asked = ", ".join(f"{sign} {claimed[name]}" for name, sign in SIGNS if claimed.get(name) is not None)
        cost = "" if proved is None else f"costs ε {short(proved)}"
        rows.append(f"{entry['name']:<26} {entry['verdict']:<9} {asked:<24} {cost}".rstrip())
    return "\n".join(rows)


def reproduce(
    name: Name | None = None,
    *,
    list_: Annotated[bool, Parameter(name="--list", negative="", show_default=False)] = False,
    trials: Whole = None,
    rounds: Whole = None,
    seed: Whole = None,
    options: Annotated[WorkOptions, Parameter(name="*")] = NOT_SAID,
    out: Folder | None = None,
    json_: Json = False,
) -> int:
    """Reproduce a table or figure of the papers: published numbers and ours side by side.

    Example: `dpaccount reproduce dubey2021-figure1 --trials 4 --rounds 200`

    Parameters
    ----------
    name
        What to reproduce; without it, or with --list, all names.
    list_
        List all names.
    trials
        Runs of each cell, at least 2 (default as published, or what takes minutes).
    rounds
        Rounds of a run, at least 32 (default as published, or what takes minutes).
    seed
        Random seed of the first run; the others follow (default 0).
    out
        Also write summary.json, curves.csv and regret.svg into this folder.
    """
    from audits.papers import reproduce as papers
    from audits.papers.experiment_file import MOST_ROUNDS, MOST_TRIALS

    if name is None or list_:
        listed = [{"name": each.name, "source": each.source} for each in papers.reproductions()]
        show(listed, json_, lambda rows: "\n".join(f"{e['name']:<26} {e['source']}" for e in rows))
        return 0
    count, horizon = whole(trials, "--trials", 2, MOST_TRIALS), whole(rounds, "--rounds", 32, MOST_ROUNDS)
    first = whole(seed, "--seed", 0, 10**6) or 0
    with reporting() as report, options.work():
        answer, curves = papers.reproduce(
            name, trials=count, rounds=horizon, jobs=options.processes(), seed=first, progress=report
        )
    if out is not None:
        papers.write_out(out, answer, curves)
    show(answer, json_, papers.table)
    return 0


def run_file(
    experiment: File,
    *,
    options: Annotated[WorkOptions, Parameter(name="*")] = NOT_SAID,
    out: Folder | None = None,
    json_: Json = False,
) -> int:
    """Run an experiment: algorithms with their parameters, in worlds or on a log, with the same seeds.

    Example: `dpaccount run examples/experiments/people.toml --jobs 2`

    Parameters
    ----------
    experiment
        A TOML file of schema dpaccount/experiment/1.
    out
        A folder for the results, the summary and a picture (default: experiments/NAME).  Finished
        work is kept there too, in work.db unless --store names a file, so that the same command
        resumes.
    """
    from audits.papers import experiment as papers
    from audits.papers.experiment_file import read_experiment

    with options.work():
        asked = read_experiment(experiment, options.processes())
    folder = out or Path("experiments") / asked.name
    folder.mkdir(parents=True, exist_ok=True)
    if options.store is None and usual_store() is None:
        options = replace(options, store=folder / "work.db")
    with reporting() as report, options.work():
        answer, curves = papers.run_experiment(asked, options.processes(), report)
    papers.write_results(folder, answer, curves)
    show(answer, json_, papers.text)
    return 0


# ------------------------------------------------------------------ work


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
    from dpaccount.work.described import digest
    from dpaccount.work.results import Results
    from dpaccount.work.version import current

    path = store or usual_store()
    if path is None or not path.exists():
        raise InputError("there is no store of results", "name one with --store", path)
    with closing(Results(path, alone=removed is not None)) as results:
        rows = list(filter(removed, results.listed(digest(current()))))
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
