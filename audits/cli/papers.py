"""`claims` and `reproduce`: the papers' privacy claims, tables and figures."""

from typing import Annotated, Any

from cyclopts import Parameter

from audits.cli.options import Folder, Json, Name, Whole, lines, reporting, short, show, whole
from dpaccount.errors import InputError


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
        KEY=VALUE, as often as needed.
    certify_
        Also run the refutation or the audit.
    seed
        Of the refutation or the audit (default 1).
    """
    from audits import papers

    if name is None:
        if set_ or certify_:
            raise InputError("--set and --certify go with the name of one claim", "name one")
        show(papers.claims(), json_, _claims_table)
        return 0
    settings = papers.read_settings(set_ or ())
    made = whole(seed, "--seed", 0)
    answer = (
        papers.certify_claim(name, settings, 1 if made is None else made)
        if certify_
        else papers.claim(name, settings)
    )
    show(answer, json_, lines)
    return papers.exit_code(answer)


def _claims_table(found: list[dict[str, Any]]) -> str:
    rows = []
    for entry in found:
        claimed, proved = entry["claimed"] or {}, (entry["proved"] or {}).get("epsilon")
        asked = f"({claimed.get('epsilon')}, {claimed.get('delta')})"
        rows.append(f"{entry['name']:<26} {entry['verdict']:<9} claimed {asked:<18} costs {short(proved)}")
    return "\n".join(rows)


def reproduce(
    name: Name | None = None,
    *,
    list_: Annotated[bool, Parameter(name="--list", negative="", show_default=False)] = False,
    trials: Whole = None,
    rounds: Whole = None,
    seed: Whole = None,
    jobs: Whole = None,
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
        Of the first run; the others follow (default 0).
    jobs
        Processes (default: the number of cores); the results do not depend on it.
    out
        Also write summary.json, curves.csv and regret.svg into this folder.
    """
    from audits.api.cores import cores
    from audits.papers import reproduce as papers

    if name is None or list_:
        listed = [{"name": each.name, "source": each.source} for each in papers.reproductions()]
        show(listed, json_, lambda found: "\n".join(f"{e['name']:<26} {e['source']}" for e in found))
        return 0
    count, horizon = (
        whole(trials, "--trials", 2, papers.MOST_TRIALS),
        whole(rounds, "--rounds", 32, papers.MOST_ROUNDS),
    )
    first, processes = whole(seed, "--seed", 0, 10**6) or 0, whole(jobs, "--jobs", 1, 256) or cores()
    with reporting() as report:
        answer, curves = papers.reproduce(
            name, trials=count, rounds=horizon, seed=first, jobs=processes, progress=report
        )
    if out is not None:
        papers.write_out(out, answer, curves)
    show(answer, json_, papers.table)
    return 0
