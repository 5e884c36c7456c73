"""`audit`, `sensitivity` and `list`: attacks without a certificate, and what can be attacked."""

import sys
import time
from contextlib import redirect_stdout
from typing import Annotated, Any

from cyclopts import Parameter

from audits.cli.options import EXIT_CODES, Json, Name, differing, lines, reporting, say, show
from audits.cli.questions import AuditOptions, SensitivityOptions, TraceOptions, arguments_of

AUDIT, SENSITIVITY, TRACE = AuditOptions(), SensitivityOptions(), TraceOptions()  #: nothing said


def audit(
    subject: Name | None = None,
    *,
    options: Annotated[AuditOptions, Parameter(name="*")] = AUDIT,
    json_: Json = False,
) -> int:
    """Attack a subject: a lower bound on its epsilon at DELTA; exit 1 if above the claim.

    Exit 3, NOT ATTACKED, if the runs could not have refuted even a release of the raw data;
    epsilon_power is the largest epsilon that they could have shown.

    Give --claim CLAIM.toml, or a subject's name with --epsilon and --delta; a function of your own,
    package.module:name, also with --shape, --low and --high.

    Example: `dpaccount audit clinic:noisy_count --epsilon 1 --shape 20 --low 0 --high 3 --dtype int`

    Parameters
    ----------
    subject
        A name from `dpaccount list`, or package.module:name.
    """
    from audits.api import dispatch

    question = options.question(subject)
    if options.store or options.backend:
        question = dispatch.as_tasks(question)
    begun = time.perf_counter()
    with reporting() as report, redirect_stdout(sys.stderr), options.work():
        answer = dispatch.audit(question, report)
    answer["seconds"] = round(time.perf_counter() - begun, 3)
    for finding in answer["witness"].get("findings", ()):
        say(f"note: {finding}")
    show(answer, json_, lambda shown: lines({**shown, "witness": differing(shown["witness"])}))
    return EXIT_CODES[answer["verdict"]]


def trace(
    function: Name, *, options: Annotated[TraceOptions, Parameter(name="*")] = TRACE, json_: Json = False
) -> int:
    """Trace noise calls on neighbouring datasets: how far the input of each one moves.

    The run on one dataset is recorded, and replayed on its neighbour with the same noisy values.
    Exit 1 with findings, which audit may then certify; exit 3 if no input of noise was seen to move,
    or not all of it is judged, as the notes say.

    Example: `dpaccount trace clinic:noisy_total --epsilon 1 --shape 20 --low 0 --high 3 --dtype int`

    Parameters
    ----------
    function
        package.module:name of a function f(data, rng) or f(data).
    """
    from audits.api import tracing

    question = arguments_of(options).trace(function)
    with reporting() as report, redirect_stdout(sys.stderr):
        answer = tracing.trace(question, report)
    show(answer, json_, _traced_lines)
    return tracing.exit_code(answer)


def _traced_lines(answer: dict[str, Any]) -> str:
    rows = [
        f"{each['file']}:{each['line']}  {each['call']}  scale {_known(each['scale'])}"
        f"  declared {_known(each['declared'])}  moved {_known(each['moved'])}"
        for each in answer["noise"]
    ]
    notes = [
        *(f"finding: {each}" for each in answer["findings"]),
        *(f"note: {each}" for each in answer["notes"]),
    ]
    return "\n".join([*rows, *notes]) or "no noise calls"


def _known(value: float | str | None) -> str:
    return "?" if value is None else f"{float(value):.6g}"


def sensitivity(
    target: Name,
    *,
    options: Annotated[SensitivityOptions, Parameter(name="*")] = SENSITIVITY,
    json_: Json = False,
) -> int:
    """Search for two neighbours on which a query differs by more than BOUND; exit 1 if found.

    A subject's name, or a mechanism class of your own, declares its own bounds: give no options.

    Example: `dpaccount sensitivity clinic:mean --norm l1 --bound 0.05 --shape 20 --low 0 --high 3`

    Parameters
    ----------
    target
        package.module:name of a function of the data alone, or a subject's name.
    """
    from audits.api import dispatch
    from audits.sensitivity.search import answer, runnable

    with redirect_stdout(sys.stderr):
        search = dispatch.sensitivity(arguments_of(options).query(target))
    if isinstance(search, dict):
        show(search, json_, _declared_lines)
        return 1 if search["refuted"] else 0
    for note in search.odd:
        say(note)
    test = f"\n\n{runnable(search, target)}" if search.refuted else ""
    show(answer(search), json_, lambda shown: lines({**shown, "left": None, "right": None}) + test)
    if search.refuted:
        return 1
    undecided = search.proof is not None and search.proof.status != "proved"
    return 3 if undecided or not search.measured else 0


def _declared_lines(answer: dict[str, Any]) -> str:
    rows = [
        f"{each['status']:<10} {each['query']}: {each['value']}  ({each['examples']} examples)"
        + (f": {each['counterexample']['wrong']}" if each["counterexample"] else "")
        for each in answer["hypotheses"]
    ]
    return "\n".join([*rows, lines({**answer, "hypotheses": None})])


def list_subjects(name: Name | None = None, *, json_: Json = False) -> int:
    """List what can be proved, run and attacked; with NAME, that subject's parameters.

    Example: `dpaccount list histogram`

    Parameters
    ----------
    name
        One subject; without it, all of them.
    """
    from audits.subjects.catalogue import listed

    def person(answer: list[dict[str, Any]] | dict[str, Any]) -> str:
        if isinstance(answer, list):
            rows = (f"{e['name']:<26} {e['layer']:<11} {e['status']:<10} {e['source']}" for e in answer)
            return "\n".join(rows)
        details = [
            f"  {key} ({value['type']}, default {value['default']})"
            for key, value in answer["parameters"].items()
        ]
        return "\n".join([f"{answer['name']}: {answer['source']}", *details])

    show(listed(name), json_, person)
    return 0
