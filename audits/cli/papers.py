"""`claims` and `reproduce`: the papers' privacy claims, tables and figures."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from audits.cli.options import Json, Number, cores, lines, short, show, whole
from dpaccount.errors import InputError


def claims(
    name: str | None = None,
    *,
    set_: Annotated[list[str] | None, Parameter(name="--set", allow_leading_hyphen=True)] = None,
    certify_: Annotated[bool, Parameter(name="--certify", negative="")] = False,
    seed: Number = None,
    json_: Json = False,
) -> int:
    """List the papers' privacy claims, or check one of them at its own or other parameters.

    Parameters
    ----------
    name
        One claim; without it, all of them at the papers' parameters.
    set_
        KEY=VALUE, as often as needed.
    certify_
        Also run the refutation or the audit.
    """
    from audits import papers

    if name is None:
        if set_ or certify_:
            raise InputError("--set and --certify go with the name of one claim; name one")
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
    name: str | None = None,
    *,
    list_: Annotated[bool, Parameter(name="--list", negative="")] = False,
    trials: Number = None,
    rounds: Number = None,
    seed: Number = None,
    jobs: Number = None,
    out: Path | None = None,
    json_: Json = False,
) -> int:
    """Reproduce a table or figure of the papers: published numbers and ours side by side.

    Parameters
    ----------
    name
        What to reproduce; without it, or with --list, all names.
    jobs
        Processes; the results do not depend on it.
    out
        Also write summary.json, curves.csv and regret.svg into this folder.
    """
    from audits.papers import reproduce as papers

    if name is None or list_:
        listed = [{"name": each.name, "source": each.source} for each in papers.reproductions()]
        show(listed, json_, lambda found: "\n".join(f"{e['name']:<26} {e['source']}" for e in found))
        return 0
    answer, curves = papers.reproduce(
        name,
        trials=whole(trials, "--trials", 2, papers.MOST_TRIALS),
        rounds=whole(rounds, "--rounds", 32, papers.MOST_ROUNDS),
        seed=whole(seed, "--seed", 0, 10**6) or 0,
        jobs=whole(jobs, "--jobs", 1, 256) or cores(),
    )
    if out is not None:
        papers.write_out(out, answer, curves)
    show(answer, json_, papers.table)
    return 0
