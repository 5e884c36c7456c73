"""The command line.  Every command imports what it needs when it runs, so that starting is quick.

Exit codes: 0 done and it holds, 1 it does not hold, 2 the request is wrong, 3 not proved or not attacked.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, CycloptsError, Parameter

import dpaccount
from dpaccount.documents import MAX_BYTES, parse_json, read_bytes
from dpaccount.errors import DpaccountError, InputError
from dpaccount.exact import read_number

VERDICTS = {"CERTIFIED": 0, "REFUTED": 1, "UNPROVEN": 3}
AUDITED = {"NOT REFUTED": 0, "REFUTED": 1, "NOT ATTACKED": 3}

app = App(
    name="dpaccount",
    help="Privacy accounting with proofs, audits and certificates that anyone can re-check.",
    version=dpaccount.__version__,
)
ledger_app = App(name="ledger", help="The durable budget ledger: charges before noise.")
app.command(ledger_app)

Json = Annotated[
    bool, Parameter(name="--json", negative="", help="Print one JSON document and nothing else.")
]
Source = Annotated[str, Parameter(allow_leading_hyphen=True)]
Number = Annotated[str | None, Parameter(allow_leading_hyphen=True)]


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code; errors are one line on standard error."""
    words = sys.argv[1:] if arguments is None else arguments
    sys.exit(run(words))


def run(words: list[str]) -> int:  # noqa: PLR0911
    """Run a command; return its exit code."""
    try:
        result = app(words, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        return _failed(f"{' '.join(str(error).split())}; see dpaccount --help", 2)
    except DpaccountError as error:
        return _failed(str(error), error.exit_code)
    except BrokenPipeError:
        return 1
    except OSError as error:
        return _failed(f"{error.strerror or 'the system refused'}; nothing half-written was left", 2)
    except (OverflowError, MemoryError):
        return _failed("a number or a size is beyond what can be computed; use a more moderate one", 2)
    except Exception as error:
        if "DPACCOUNT_DEBUG" in os.environ:
            raise
        return _failed(f"internal error, {type(error).__name__}: {error}; please report it as a defect", 70)
    except KeyboardInterrupt:
        return _failed("interrupted; nothing half-written was left", 130)
    except RecursionError:
        return _failed("the input is nested too deeply; at most 64 levels are read", 2)
    return result if isinstance(result, int) else 0


def _failed(message: str, code: int) -> int:
    plain = "".join(c if c.isprintable() else " " for c in message)
    sys.stderr.write(f"error: {plain}\n")
    return code


def _number(text: str | None, option: str) -> Fraction | None:
    if text is None:
        return None
    try:
        return read_number(text.strip())
    except InputError as error:
        raise InputError(f"{option}: {error}") from None


def _required(text: str | None, option: str) -> Fraction:
    value = _number(text, option)
    if value is None:
        raise InputError(f"{option} is missing; give a number")
    return value


def _whole(text: str | None, option: str, least: int = 1, most: int | None = None) -> int | None:
    value = _number(text, option)
    if value is None:
        return None
    if value.denominator != 1 or value < least or (most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise InputError(f"{option} is {text}; a whole number {limits} belongs here")
    return int(value)


def _print(answer: Any, as_json: bool, person: Callable[[Any], str]) -> None:  # noqa: FBT001
    text = json.dumps(answer, ensure_ascii=False, allow_nan=False) if as_json else person(answer)
    if as_json and not text.isprintable():  # a text of JSON stays what it is, and a terminal shows it
        text = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
    sys.stdout.write(text + "\n")


def _say(message: str) -> None:
    sys.stderr.write(message + "\n")


def _source(name: str) -> bytes:
    if name != "-":
        return read_bytes(Path(name))
    raw = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise InputError(f"standard input: more than {MAX_BYTES} bytes; inputs are at most that long")
    return raw


def _lines(answer: Any) -> str:
    """Return a flat answer as aligned lines."""
    shown = {key: value for key, value in answer.items() if key != "schema" and value is not None}
    width = max((len(key) for key in shown), default=0)
    return "\n".join(f"{key:<{width}}  {_short(value)}" for key, value in shown.items())


def _short(value: Any) -> str:
    if isinstance(value, dict) and value.keys() == {"lower", "upper"}:
        return f"[{value['lower'] if value['lower'] is not None else '-'}, {value['upper']}]"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_short(member)}" for key, member in value.items())
    if isinstance(value, list):
        return "; ".join(_short(member) for member in value)
    return str(value)


# ------------------------------------------------------------------ accounting


@app.command
def account(
    events: Source,
    *,
    delta: Number = None,
    epsilon: Number = None,
    gap: Number = None,
    group: Number = None,
    profile: Path | None = None,
    json_: Json = False,
) -> int:
    """Say what a sequence of events costs: an enclosure of epsilon at DELTA, or of delta at EPSILON.

    Parameters
    ----------
    events
        A JSON file of schema dpaccount/events/1, or - for standard input.
    gap
        Tighten until upper - lower is at most this (relative above epsilon 1; relative for delta).
    group
        Protect so many units at once.
    profile
        Also write delta(epsilon) to this .csv or .svg file.
    """
    from dpaccount.accounting.answers import account_answer

    place = parse_json(_source(events), events)
    answer = account_answer(
        place,
        delta=_number(delta, "--delta"),
        epsilon=_number(epsilon, "--epsilon"),
        gap=_number(gap, "--gap"),
        group=_whole(group, "--group"),
    )
    if profile is not None:
        from dpaccount.accounting.accountant import Accountant
        from dpaccount.accounting.profile import write_profile
        from dpaccount.plan.plan_file import read_plan

        write_profile(Accountant(read_plan(place), _whole(group, "--group") or 1), profile)
    _print(answer, json_, _lines)
    return 0


@app.command
def calibrate(
    event: str,
    *,
    epsilon: Number,
    delta: Number,
    sensitivity: Number = None,
    count: Number = None,
    rounds: Number = None,
    json_: Json = False,
) -> int:
    """Find the least noise of an EVENT that is proved to meet (EPSILON, DELTA).

    Parameters
    ----------
    event
        An event of `account` that has a scale: gaussian, laplace, tree, matrix_factorisation, ...
    sensitivity
        How far neighbours move the value (default 1).
    count
        How many releases share the budget (default 1).
    rounds
        For tree and matrix_factorisation: the rounds of the stream.
    """
    from dpaccount.accounting.answers import calibrate_answer

    moved = _number(sensitivity, "--sensitivity")
    answer = calibrate_answer(
        event,
        epsilon=_required(epsilon, "--epsilon"),
        delta=_required(delta, "--delta"),
        sensitivity=Fraction(1) if moved is None else moved,
        count=_whole(count, "--count") or 1,
        rounds=_whole(rounds, "--rounds"),
    )
    _print(answer, json_, _lines)
    return 0


@ledger_app.command(name="init")
def ledger_init(
    url: str,
    *,
    epsilon: Number,
    delta: Number,
    unit: str,
    relation: str,
    measure: str = "gdp",
    json_: Json = False,
) -> int:
    """Make a new ledger with a budget; never replaces one that exists."""
    from dpaccount.ledger import answers

    budget = {"epsilon": _required(epsilon, "--epsilon"), "delta": _required(delta, "--delta")}
    _print(answers.init(url, **budget, unit=unit, relation=relation, measure=measure), json_, _lines)
    return 0


@ledger_app.command(name="charge")
def ledger_charge(
    url: str,
    events: Source,
    *,
    key: str | None = None,
    dry_run: Annotated[bool, Parameter(negative="")] = False,
    json_: Json = False,
) -> int:
    """Charge a plan of events as one entry: durable, or refused with exit 1 and nothing charged."""
    from dpaccount.ledger import answers

    answer = answers.charge(url, parse_json(_source(events), events), key=key, dry_run=dry_run, say=_say)
    _print(answer, json_, _lines)
    return answers.exit_code(answer)


@ledger_app.command(name="show")
def ledger_show(url: str, *, json_: Json = False) -> int:
    """Print the budget, what the worst unit has spent, and what remains."""
    from dpaccount.ledger import answers

    _print(answers.show(url), json_, _lines)
    return 0


@ledger_app.command(name="verify")
def ledger_verify(url: str, *, json_: Json = False) -> int:
    """Recompute the hash chain and the totals."""
    from dpaccount.ledger import answers

    answer = answers.verify(url)
    _print(answer, json_, _lines)
    return answers.exit_code(answer)


# ------------------------------------------------------------------ claims and certificates


@app.command
def certify(
    claim: Path,
    *,
    out: Path | None = None,
    quick: Annotated[bool, Parameter(negative="")] = False,
    again: Annotated[bool, Parameter(negative="")] = False,
    require: Path | None = None,
    no_code: Annotated[bool, Parameter(name="--no-code", negative="")] = False,
    jobs: Number = None,
    json_: Json = False,
) -> int:
    """Prove, test and attack a claim; print CERTIFIED, REFUTED or UNPROVEN and write the certificate.

    A claim with real data is then run on it once, charging its ledger; the same command again prints
    that release and charges nothing.

    Parameters
    ----------
    claim
        A TOML file of schema dpaccount/claim/1.
    out
        Folder for certificate.json, report.html and junit.xml (default certificates/NAME).
    quick
        Cut the audit's runs tenfold; the certificate says so.
    again
        Make a new, charged release.
    require
        A policy file; exit 1 where it is not met.
    no_code
        Refuse subjects that are not catalogued.
    jobs
        Processes for the audit (default: the number of cores); the result does not depend on it.
    """
    from audits.certificate.files import write_all
    from audits.certificate.make import Effort, subject_of
    from audits.certificate.summary import summary
    from audits.claim import read_claim
    from audits.subjects.broken.table import known
    from audits.tasks.requests import Options, certified

    read = read_claim(claim)
    options = Options(Effort(quick=quick, jobs=_whole(jobs, "--jobs") or _cores()), again, require)
    with _progress() as report, redirect_stdout(sys.stderr):  # a subject may print
        if ":" in read.use or known(read.use):
            from audits.tasks.on_code import certify_own

            done = certify_own(read, options, report, allow_code=not no_code)
        else:
            done = certified(read, subject_of(read), options, report)
    certificate = done.certificate
    path = write_all(certificate, out or Path("certificates") / read.name)
    if done.reprinted:
        _say("run on this data before: printed again, nothing drawn or charged (--again: a new release)")
    for sentence in done.broken:
        _say(f"policy: {sentence}")
    _print(certificate, json_, lambda found: summary(found, path))
    return 1 if done.broken else VERDICTS[certificate["verdict"]]


def _cores() -> int:
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1), 8)


class _Progress:
    """Says on standard error what is being done: a spinner on a terminal, plain lines elsewhere."""

    def __enter__(self) -> Callable[[str], None]:
        self._status: Any = None
        if sys.stderr.isatty():
            from rich.console import Console

            self._status = Console(stderr=True).status("starting")
            self._status.start()
        return self._report

    def _report(self, what: str) -> None:
        if self._status is not None:
            self._status.update(what)
        else:
            _say(f"{what} ...")

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()


def _progress() -> _Progress:
    return _Progress()


@app.command
def check(
    certificate: Path,
    *,
    at: str | None = None,
    key: Path | None = None,
    derivation: bool = False,
    rules: bool = False,
    json_: Json = False,
) -> int:
    """Re-verify a certificate with the independent checker: every step, digest and the verdict.

    Exit code: 0 valid and CERTIFIED, 1 not valid or REFUTED, 3 UNPROVEN, 2 no certificate at all.

    Parameters
    ----------
    certificate
        A certificate.json.
    at
        A date, YYYY-MM-DD, on which it must still be valid.
    key
        An Ed25519 public key (PEM) that it must be signed with.
    derivation
        The file is a bare derivation; exit 0 where every step follows.
    rules
        List the rules that it rests on, and the checker's files to read.
    """
    from datetime import date

    from dpaccount import checker

    try:
        day = None if at is None else date.fromisoformat(at)
    except ValueError:
        raise InputError(f"--at is {at}; write a date as YYYY-MM-DD") from None
    if derivation and key is not None:
        raise InputError("a bare derivation is not signed; leave --key or --derivation out")
    raw, verdict = read_bytes(certificate), None
    signature = None if derivation else "not looked at"
    try:
        verdict, said = checker.judged(raw, day, derivation=derivation)
    except checker.Unreadable as why:
        raise InputError(f"{checker.plain(str(certificate))}: {why}; give a certificate") from None
    except checker.Rejected as why:
        said = str(why)
    if verdict is not None and not derivation:
        wrong, signature = _signature(raw, key)
        verdict, said = (verdict, said) if wrong is None else (None, wrong)
    answer = {
        "schema": "dpaccount/check/1",
        "valid": verdict is not None,
        "verdict": verdict,
        "said": said,
        "signature": signature,
        **(checker.to_read(raw) if rules and verdict is not None else {}),
    }
    _print(answer, json_, _checked)
    return 1 if verdict is None else checker.EXIT[verdict]


def _checked(found: dict[str, Any]) -> str:
    from dpaccount import checker

    signed = f", {found['signature']}" if found["valid"] and found["signature"] else ""
    listed = f"\n{checker.in_words(found).rstrip()}" if "rules" in found else ""
    return f"{'valid' if found['valid'] else 'invalid'}: {found['said']}{signed}{listed}"


def _signature(raw: bytes, key: Path | None) -> tuple[str | None, str]:
    """Return what is wrong with a valid certificate's signature, or None, and what can be said of it."""
    from dpaccount import checker

    if key is None:
        return None, checker.signature_of(raw)
    from audits.certificate.sign import problem

    document = json.loads(raw)
    wrong = problem(document, key)
    if wrong is not None:
        return wrong, "not valid"
    return None, f"signed by {document['signature']['key']} on {document['signature']['signed']}"


@app.command
def sign(certificate: Path, *, key: Path, json_: Json = False) -> int:
    """Sign a valid certificate in place with an Ed25519 private key (PEM, unencrypted).

    `openssl genpkey -algorithm ed25519 -out private.pem` makes one, and
    `openssl pkey -in private.pem -pubout -out public.pem` its public half.
    """
    from audits.certificate.sign import sign as signed

    _print(signed(certificate, key), json_, lambda found: f"signed by {found['key']}: {certificate}")
    return 0


@app.command
def audit(  # noqa: PLR0913
    subject: str | None = None,
    *,
    claim: Path | None = None,
    epsilon: Number = None,
    delta: Number = None,
    trials: Number = None,
    confidence: Number = None,
    seed: Number = None,
    seconds: Number = None,
    jobs: Number = None,
    relation: str | None = None,
    radius: Number = None,
    shape: str | None = None,
    low: Number = None,
    high: Number = None,
    dtype: str | None = None,
    early: Annotated[bool, Parameter(negative="")] = False,
    no_code: Annotated[bool, Parameter(name="--no-code", negative="")] = False,
    json_: Json = False,
) -> int:
    """Attack a subject: a lower bound on its epsilon at DELTA; exit 1 where it exceeds the claimed one.

    Exit 3, NOT ATTACKED, where the runs could not have refuted a release of the data in the clear either;
    epsilon_power is the largest epsilon that they could have shown.

    Give --claim CLAIM.toml, or a subject's name with --epsilon and --delta; a function of your own,
    package.module:name, also with --shape, --low and --high.

    Parameters
    ----------
    subject
        A name from `dpaccount subjects`, or package.module:name.
    claim
        A TOML file of schema dpaccount/claim/1.
    trials
        Runs on the pair under attack (default 20000).
    confidence
        Of the lower bound (default 0.95).
    seconds
        Limit on the time of all runs (default 60 for code of your own): slow code gets fewer, and the answer
        says so.
    jobs
        Processes (default: the number of cores); the result does not depend on it.
    relation
        Of your own function: replace-one (default), add-remove, or bounded-row with --radius.
    shape
        Of your own function's data: ROWS or ROWS,COLUMNS.
    low, high
        Bounds of every entry: a number, or one for each column.
    dtype
        float (default) or int.
    early
        Stop at the first refutation; the lower bound is then just above the claim.
    """
    from audits.certificate.make import subject_of
    from audits.subjects.broken.table import known
    from audits.tasks.on_code import audit_own, said_cut
    from audits.tasks.on_subject import Asked, audit_subject, claim_of

    asked = Asked(
        subject,
        None if claim is None else str(claim),
        epsilon,
        delta,
        _whole(trials, "--trials", 10, 10**7),
        confidence,
        _whole(seed, "--seed", 0),
        relation,
        radius,
        shape,
        low,
        high,
        dtype,
    )
    limit = _seconds(seconds)
    chosen, workers = _within(claim_of(asked), limit), _whole(jobs, "--jobs") or _cores()
    begun = time.perf_counter()
    with _progress() as report, redirect_stdout(sys.stderr):
        if ":" in chosen.use or known(chosen.use):
            answer = audit_own(
                asked, chosen, jobs=workers, allow_code=not no_code, early=early, progress=report
            )
        else:
            made = subject_of(chosen)
            if relation is not None and relation != made.relation:
                raise InputError(f"{chosen.use} is about {made.relation}; say that as --relation")
            answer = audit_subject(
                chosen, made, workers, None if limit is None else float(limit), report, early=early
            )
            answer = said_cut(answer, chosen)
    answer["seconds"] = round(time.perf_counter() - begun, 3)
    for said in answer["witness"].get("findings", ()):
        _say(f"note: {said}")
    _print(answer, json_, _lines)
    return AUDITED[answer["verdict"]]


def _seconds(text: str | None) -> Fraction | None:
    limit = _number(text, "--seconds")
    if limit is not None and not 0 < limit <= 10**7:
        raise InputError(f"--seconds is {text}; a number above 0 and at most 10000000 belongs here")
    return limit


def _within(claim: Any, limit: Fraction | None) -> Any:
    """Return the claim with another limit on the time of its audit."""
    return claim if limit is None else replace(claim, audit=replace(claim.audit, seconds=limit))


@app.command
def sensitivity(  # noqa: PLR0913
    target: str,
    *,
    norm: str | None = None,
    bound: Number = None,
    shape: str | None = None,
    low: Number = None,
    high: Number = None,
    relation: str | None = None,
    radius: Number = None,
    dtype: str | None = None,
    seed: Number = None,
    seconds: Number = None,
    jobs: Number = None,
    prove: Annotated[bool, Parameter(negative="")] = False,
    no_code: Annotated[bool, Parameter(name="--no-code", negative="")] = False,
    json_: Json = False,
) -> int:
    """Search for two neighbouring datasets between which a query moves by more than BOUND; exit 1 if found.

    A subject's name, or a mechanism class of your own, declares its bounds itself: give no options then.

    Parameters
    ----------
    target
        package.module:name of a function of the data alone, or a subject's name.
    norm
        l1, l2 or linf.
    bound
        The declared sensitivity.
    shape
        ROWS or ROWS,COLUMNS.
    low, high
        Bounds of every entry: a number, or one for each column.
    relation
        replace-one (default), add-remove, or bounded-row with --radius.
    dtype
        float (default) or int.
    seconds
        Limit on the time of all runs of your own code (default 60).
    prove
        If nothing is found, prove the bound by interval branch and bound; exit 3 where that is undecided.
    """
    from audits.claim import AuditPlan
    from audits.sensitivity.search import answer, declared_by, runnable
    from audits.tasks.on_code import declared_own, sensitivity_own

    made = _whole(seed, "--seed", 0)
    begun, limit = 1 if made is None else made, float(_seconds(seconds) or AuditPlan().seconds)
    described = (norm, bound, shape, low, high, relation, radius, dtype)
    if ":" not in target or all(option is None for option in described):
        if prove or any(option is not None for option in described):
            raise InputError(
                f"{target[:70]} declares its bounds itself; leave --norm, --bound, … --prove out"
            )
        with redirect_stdout(sys.stderr):
            if ":" in target:
                tested = declared_own(target, seed=begun, seconds=limit, allow_code=not no_code)
            else:
                from audits.subjects.catalogue import find, make
                from audits.tasks.declared import declared_answer

                tested = declared_answer(target, make(find(target).made_by, None, examples=True), begun)
        _print(tested, json_, _declared_lines)
        return 1 if tested["refuted"] else 0
    found = sensitivity_own(
        target,
        declared_by(
            norm, _number(bound, "--bound"), shape, low, high, dtype, relation, _number(radius, "--radius")
        ),
        seed=begun,
        jobs=_whole(jobs, "--jobs") or 1,
        seconds=limit,
        allow_code=not no_code,
        prove=prove,
    )
    for said in found.odd:
        _say(said)

    def person(shown: dict[str, Any]) -> str:
        lines = _lines({**shown, "left": None, "right": None})
        return f"{lines}\n\n{runnable(found, target)}" if found.refuted else lines

    _print(answer(found), json_, person)
    if found.refuted:
        return 1
    undecided = found.proof is not None and found.proof.status != "proved"
    return 3 if undecided or not found.measured else 0


def _declared_lines(found: dict[str, Any]) -> str:
    rows = [
        f"{each['status']:<10} {each['query']}: {each['value']}  ({each['examples']} examples)"
        + (f": {each['counterexample']['wrong']}" if each["counterexample"] else "")
        for each in found["hypotheses"]
    ]
    return "\n".join([*rows, _lines({**found, "hypotheses": None})])


@app.command
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
        _print(papers.claims(), json_, _claims_table)
        return 0
    settings = papers.read_settings(set_ or ())
    made = _whole(seed, "--seed", 0)
    answer = (
        papers.certify_claim(name, settings, 1 if made is None else made)
        if certify_
        else papers.claim(name, settings)
    )
    _print(answer, json_, _lines)
    return papers.exit_code(answer)


def _claims_table(found: list[dict[str, Any]]) -> str:
    rows = []
    for entry in found:
        claimed, proved = entry["claimed"] or {}, (entry["proved"] or {}).get("epsilon")
        asked = f"({claimed.get('epsilon')}, {claimed.get('delta')})"
        rows.append(f"{entry['name']:<26} {entry['verdict']:<9} claimed {asked:<18} costs {_short(proved)}")
    return "\n".join(rows)


@app.command
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
        _print(listed, json_, lambda found: "\n".join(f"{e['name']:<20} {e['source']}" for e in found))
        return 0
    answer, curves = papers.reproduce(
        name,
        trials=_whole(trials, "--trials", 2, papers.MOST_TRIALS),
        rounds=_whole(rounds, "--rounds", 32, papers.MOST_ROUNDS),
        seed=_whole(seed, "--seed", 0, 10**6) or 0,
        jobs=_whole(jobs, "--jobs", 1, 256) or _cores(),
    )
    if out is not None:
        papers.write_out(out, answer, curves)
    _print(answer, json_, papers.table)
    return 0


@app.command
def subjects(name: str | None = None, *, json_: Json = False) -> int:
    """List what can be proved, run and attacked; with NAME, that subject's parameters."""
    from audits.subjects.catalogue import listed

    def person(found: list[dict[str, Any]] | dict[str, Any]) -> str:
        if isinstance(found, list):
            rows = (f"{e['name']:<26} {e['layer']:<11} {e['status']:<10} {e['source']}" for e in found)
            return "\n".join(rows)
        details = [
            f"  {key} ({value['type']}, default {value['default']})"
            for key, value in found["parameters"].items()
        ]
        return "\n".join([f"{found['name']}: {found['source']}", *details])

    _print(listed(name), json_, person)
    return 0


@app.command
def schema(name: str, *, json_: Json = False) -> int:
    """Print the JSON schema of a file: certificate."""
    from importlib.resources import files

    from audits.claim import valid_name

    folder = files("dpaccount") / "schemas"
    known = sorted(
        entry.name.removesuffix(".json") for entry in folder.iterdir() if entry.name.endswith(".json")
    )
    if valid_name(name, "schema") not in known:
        raise InputError(f"unknown schema {name!r}; known: {', '.join(known)}")
    sys.stdout.write((folder / f"{name}.json").read_text(encoding="utf-8"))
    return 0
