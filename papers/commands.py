"""`claims`, `reproduce`, `run`, `curate`: the papers' claims and figures, experiments, tables for others."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from audits.cli.options import (
    EXIT_CODES,
    NOT_SAID,
    File,
    Flag,
    Folder,
    Json,
    Name,
    Url,
    Whole,
    WorkOptions,
    lines,
    one_of,
    reporting,
    rounded,
    say,
    short,
    show,
    usual_store,
    whole,
)
from dpaccount.errors import InputError
from papers.schema import CuratedAnswer

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
    from papers import claims as papers

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
    """Return a value with its numbers as on a terminal; enclosures stay."""
    # Needed noise rounds up: less would not do.
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
    from papers import reproduce as papers
    from papers.experiment_file import MOST_ROUNDS, MOST_TRIALS

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
    from papers import experiment as papers
    from papers.experiment_file import read_experiment

    with reporting() as report, options.work():
        asked = read_experiment(experiment, options.processes(), report)
    folder = out or Path("experiments") / asked.name
    folder.mkdir(parents=True, exist_ok=True)
    if options.store is None and usual_store() is None:
        options = replace(options, store=folder / "work.db")
    with reporting() as report, options.work():
        answer, curves = papers.run_experiment(asked, options.processes(), report)
    papers.write_results(folder, answer, curves)
    show(answer, json_, papers.text)
    return 0


def curate(  # noqa: PLR0913
    source: File,
    target: File,
    *,
    claim: File,
    ledger: Url | None = None,
    certificate: File | None = None,
    out: Folder | None = None,
    out_of_bounds: Annotated[str, one_of("clip", "refuse")] = "clip",
    new_release: Flag = False,
    published_unsound: Flag = False,
    json_: Json = False,
) -> int:
    """Release noisy rows of a private table for others to optimise over, never the rows themselves.

    Writes TARGET and TARGET.json, with the public facts that a modeler needs.  Run again
    with another TARGET, the command writes the same release and charges nothing.

    Example: `dpaccount curate field.csv handed.csv --claim claim.toml --ledger sqlite:///team.db`

    Parameters
    ----------
    source
        A CSV file with a header, one person per row.
    target
        The file to write; an existing file is never replaced.
    claim
        A TOML file of schema dpaccount/claim/1 that declares the table and names k-norm,
        gaussian-rows, or row-noise: then the one with less noise is chosen, and the reason
        recorded.
    ledger
        The ledger to charge, if the claim names none.
    certificate
        The claim's certificate (default certificates/NAME/certificate.json), which must say CERTIFIED.
    out
        Folder for the certificate of the table (default certificates/NAME-curated).
    out_of_bounds
        What happens to rows beyond the declared norm or bounds: clip (and report how many, to you
        alone) or refuse.
    new_release
        Make a new, charged release.
    published_unsound
        Run Algorithm 1 of PO-GP-UCB, which gives no privacy; TARGET is marked, exit code 1.
    """
    from audits.certificate.summary import summary
    from audits.claim import output_folder, read_claim
    from papers.kharkovskii.curate import Order
    from papers.kharkovskii.curate import curate as curated

    folder = output_folder(f"{read_claim(claim).name}-curated", out)
    order = Order(
        claim, source, target, ledger, certificate, out_of_bounds, published_unsound, new_release, folder
    )
    curation = curated(order)
    body, path = curation.certificate, folder / "certificate.json"
    if curation.because is not None:
        say(f"noise: {body['claim']['subject']['use']}, because {curation.because}")
    if curation.clipped:
        say(
            f"{curation.clipped} rows are beyond the declared norm or bounds and were clipped;"
            " this number is for you alone"
        )
    answer = CuratedAnswer(body["verdict"], str(path), str(target), *curation.rows.shape)
    show(answer, json_, lambda _: f"{summary(body, path)}\n{target}: {len(curation.rows)} rows")
    return EXIT_CODES[body["verdict"]]
