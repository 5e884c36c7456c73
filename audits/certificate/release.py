"""The real run: charged durably, drawn once, stored in the ledger, and reprinted without a charge.

A release is found by claim and data.  Every step uses a separate instance, made from the claim, and reader
and report run in separate processes: the instance that is proved never sees the file, and the one that
reports sees only the view.  So no state of an instance, a class or a module can leak.
"""

import itertools
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import Any, Protocol, runtime_checkable

import numpy as np
from msgspec import UNSET, convert
from msgspec.structs import replace as changed

from audits import consistency
from audits.attack.runs import Progress, silent
from audits.certificate.document import refused_by_checker, seal, unsealed
from audits.certificate.summary import cost_of, init_command
from audits.claim import Claim
from audits.datasets.bases import dataset
from audits.editions import OPENING
from audits.hypothesis_tests.replay import ReplayError, record
from audits.hypothesis_tests.smoke_test import of_few_rows
from audits.sandbox.data_guard import access
from audits.sandbox.fork import Fork
from audits.sandbox.manifest import remove_manifest
from audits.sandbox.outcomes import pack_array, unpack_array
from audits.sandbox.private_data import PASSES, asked, digest_of, on_files, rows_of, stamp_of
from audits.sandbox.table_parts import IN_ONE, TableWork, digests_of, summed_query, totals_of
from audits.subjects.catalogue import BoundClaim
from dpaccount.documents import canonical, hex_digest, sha256
from dpaccount.errors import DpaccountError, InputError, LedgerError, NoLedgerError, ReceiptError
from dpaccount.ledger.charging import KeyTakenError
from dpaccount.ledger.journal.entries import RunState
from dpaccount.ledger.ledger import Ledger
from dpaccount.ledger.requests import Charge
from dpaccount.ledger.stores.place import SERVICE
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import Noise, Receipt, rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.relation import adjacency
from dpaccount.schemas.certificate import BudgetAround, Draft, MadeRelease
from mechanisms.subject import Rows, Subject, View, released
from mechanisms.table.reading import Remote, is_folder
from mechanisms.table.totals import FromTotals, TableTotals
from mechanisms.table.user_level import ByPerson, named


class RunningError(LedgerError):
    """Another run of the same claim and data is being made."""

    exit_code = 1


@dataclass(frozen=True)
class Release:
    """A release of a claim's data, which may have been made before.

    `digest` is that of the file; `data` are rows within the domain, or exact totals, and None until
    they are `read`: a release that was made before needs none.
    """

    bound: BoundClaim
    digest: str
    key: str
    data: Rows | TableTotals | None = None
    #: the files' metadata before their digest was taken
    stamp: list[list[object]] = field(default_factory=list)

    @property
    def claim(self) -> Claim:
        """Return the claim."""
        return self.bound.claim

    def subject(self) -> Subject:
        """Return a new instance."""
        return self.bound.subject()

    def named_data(self, secret: str) -> str:
        """Return the data's digest for a certificate, keyed with a secret for private data.

        With a plain digest, anyone who knows all rows but one could test guesses of that row.
        """
        if self.claim.public_data:
            return self.digest
        return f"sha256:{sha256(f'{secret} {self.digest}')}"

    def numbered(self, number: int) -> str:
        """Return the ledger's key of the run of this number, from 1."""
        return f"{self.key}.{number}"


@dataclass(frozen=True)
class PreparedRelease:
    """A release and the number of its run; with `again`, a new run even if an earlier one is stored."""

    release: Release
    number: int
    again: bool
    certificate: dict[str, Any] | None = None  #: if the run was made before, by this code or other
    charged: bool = False  #: but not drawn


def key_of(claim: Claim, digest: str) -> str:
    """Return the key of a claim's releases of data with this digest."""
    return hex_digest([claim.written, digest])


def find_run(release: Release, *, again: bool) -> PreparedRelease:
    """Return the run's number, and its certificate if it was made before.

    Raises `RunningError` if another run is in progress, `LedgerError` if the latest one was changed, or
    drew its noise and was lost: its result may have been seen, so only `--new-release` makes another.
    """
    with paying_ledger(release.claim) as ledger:
        if release.claim.scope is not None:
            ledger.check_scope(release.claim.scope)
        number, latest = next_number(release, ledger)
        certificate, charged = None, ledger.run_state(release.numbered(number)).charged
        if number > 1 and not again:
            number, charged = number - 1, False
            certificate = stored_certificate(release, ledger, number, latest)
        elif not (again or charged or str(release.claim.ledger).startswith(SERVICE)):
            # Earlier versions keyed a release by its code as well: it is sought by what it says.
            certificate = _kept_under_code(release, ledger)
        return PreparedRelease(release, number, again, certificate, charged)


def next_number(release: Release, ledger: Ledger) -> tuple[int, RunState]:
    """Return the first number without any draw, and the state of the previous one."""
    latest = RunState()
    for number in itertools.count(1):
        state = ledger.run_state(release.numbered(number))
        if state.kept is None and not (state.drawing or state.lost):
            return number, latest
        latest = state
    raise AssertionError("numbers do not end")


def stored_certificate(release: Release, ledger: Ledger, number: int, state: RunState) -> dict[str, Any]:
    """Return the stored certificate of a completed run, verified like a new one."""
    name = release.claim.name
    if state.drawing:
        raise RunningError(
            f"another run of {name} is drawing now; ask again when it has kept its release; if it has ended"
            " (in another container, on another machine), --new-release charges a new one"
        )
    if state.kept is None:
        raise LedgerError(f"a run of {name} drew its noise and was lost; --new-release charges a new one")
    return _checked(release, ledger, release.numbered(number), state.kept)


def _checked(release: Release, ledger: Ledger, charge: int | str, kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return the certificate that the ledger kept for a charge, unless it is about something else."""
    paid, body = ledger.paid(charge), dict(kept)
    wrong = _mismatch(release, body, release.named_data(body.pop(OPENING, "")), paid)
    if wrong is not None:
        raise LedgerError(
            f"the release of {release.claim.name} that the ledger kept is not printed: {wrong}; see what"
            " `dpaccount ledger verify` says, and --new-release makes a new, charged one"
        )
    return body


def _kept_under_code(release: Release, ledger: Ledger) -> dict[str, Any] | None:
    """Return the last release of this claim and data that an earlier version kept by another key."""
    found = [
        kept
        for kept in ledger.releases(f'"name":"{release.claim.name}"')
        if canonical(kept[1].get("claim")) == canonical(release.claim.written)
        and kept[1].get("release", {}).get("data") == release.named_data(str(kept[1].get(OPENING, "")))
    ]
    return _checked(release, ledger, *found[-1]) if found else None


def spent_on(release_key: str, ledger: Ledger) -> str:
    """Return what was spent on a run that ended before its release was printed, and what can be done."""
    state, paid = ledger.run_state(release_key), ledger.paid(release_key)
    way = "what it drew is lost: --new-release charges a new one"
    if state == RunState(charged=True):
        way = "nothing of it was drawn: the same command draws it, and charges nothing more"
    elif state.kept is not None:
        way = "its release is kept: the same command prints it, and charges nothing more"
    return f"entry {paid.entry} is charged ({cost_of(paid)}), and {way}"


def spent_when_stopped(claim: Claim) -> str | None:
    """Return `spent_on` of the claim's latest run, or None if none is charged; it runs no code of a user."""
    if claim.data_file is None:
        return None
    with access():
        release = Release(BoundClaim(claim, object), "", key_of(claim, digest_of(claim)))
    with paying_ledger(claim) as ledger:
        number, _ = next_number(release, ledger)
        number -= not ledger.run_state(release.numbered(number)).charged
        return spent_on(release.numbered(number), ledger) if number else None


def _mismatch(release: Release, body: dict[str, Any], data: str, paid: Charge) -> str | None:
    """Return why a stored certificate is not for this claim, data and charge, or None."""
    if (why := consistency.refused(body)) is not None:
        return f"the checker refuses it ({why})"
    made = body["release"]
    if body["verdict"] != "CERTIFIED" or not isinstance(made, dict):
        return "it is no certified release"
    pairs = {
        "claim": (body["claim"], release.claim.written),
        "code": (body["subject"].get("code"), made.get("code")),
        "data": (made.get("data"), data),
        "ledger entry": ([made.get("ledger_entry"), made.get("ledger_head")], [paid.entry, paid.head]),
    }
    other = [name for name, (written, right) in pairs.items() if canonical(written) != canonical(right)]
    return f"it is about another {', '.join(other)}" if other else None


def paying_ledger(claim: Claim, at: str | None = None) -> Ledger:
    """Open the ledger, the claim's or `at`, that pays; raises `InputError` if its privacy unit differs."""
    url = at or str(claim.ledger)
    try:
        ledger = Ledger.open(url)
    except NoLedgerError as error:
        raise NoLedgerError(error.path, init_command(url, claim.guarantee)) from None
    counted, unit = ledger.budget.unit, claim.guarantee.unit
    if counted != unit:
        ledger.close()
        raise InputError(
            f"the claim's unit is {unit!r}, its ledger's {counted!r}", "give both the same text", claim.path
        )
    return ledger


ONE_BY_ONE = 100  #: rows of a rehearsal that are summed one by one
REHEARSED = ("corners", "uniform")  #: synthetic datasets on which a run is rehearsed
EVALUATION = "evaluation on public data, outside the guarantee"


@runtime_checkable
class Evaluated(Protocol):
    """A subject that can evaluate a run."""

    def evaluate(self, data: Rows, view: View, coins: int) -> dict[str, object]:
        """Evaluate a run on the data without noise: for public data only."""


# -------------------------------------------------------------- the data


def prepare(claim: Claim, subject: Subject, work: TableWork = IN_ONE) -> Release | None:
    """Return the release that a claim's data file makes, with its data; None without a file."""
    release = identify(claim, subject, work)
    return None if release is None else read(release, subject, work)


def identify(claim: Claim, subject: Subject, work: TableWork = IN_ONE) -> Release | None:
    """Return the release that a claim's data file makes, without its data; None without a file.

    The key is a digest of claim and data, so that the same run is never charged twice, by no other
    version of the code.  A claim names all else that an answer depends on: its parameters, and its public
    files with their digests.  Raises `InputError` for public facts: a missing file, or work that the
    mechanism cannot divide.
    """
    if claim.data_file is None or claim.ledger is None:
        return None
    if claim.table is None and not isinstance(claim.data_file, Remote):
        on_files(claim, subject)
    _is_summed(claim, subject, work)
    with access():
        stamp = stamp_of(claim.data_file)  # before the digest, to detect any later change
        digest = digest_of(claim)
    release = Release(BoundClaim.of(claim, subject), digest, key_of(claim, digest), stamp=stamp)
    for before, body in claim.earlier:
        with access():
            then = replace(release, digest=digest_of(claim, before.table.in_file if before.table else ()))
        if then.named_data(body.get(OPENING, "")) != body["release"]["data"]:
            what = f"the data changed since {body['claim']['name']} was released"
            right = "give the same data, or make a study of its own"
            raise InputError(what, right, str(claim.written["data"]["file"]))
    return release


def read(
    release: Release, subject: Subject, work: TableWork = IN_ONE, progress: Progress = silent
) -> Release:
    """Return the release with its data: exact totals if noise is added to sums, else rows.

    Errors depend on public facts only: wrong columns or number of rows, files that changed since.
    Values out of range are clamped, since an error would reveal them.  `progress` receives finished parts.
    """
    bound, file = release.bound, release.claim.data_file
    if file is None:
        raise AssertionError("a release is of a file")
    with access():
        if _is_summed(bound.claim, subject, work):
            digests = digests_of(bound, release.digest)
            changed = lambda: stamp_of(file) != release.stamp  # noqa: E731
            data: Rows | TableTotals = totals_of(bound, digests, work, changed, progress)
        else:
            data = rows_of(bound, file)
        same = stamp_of(file) == release.stamp and digest_of(bound.claim) == release.digest
    if not same:
        remove_manifest(None if work.other else work.folder)
        raise InputError(f"{file} changed while it was read", "certify when nobody writes to it")
    return replace(release, data=data)


def _is_summed(claim: Claim, subject: Subject, work: TableWork) -> bool:
    """Return whether the release is made from totals; an evaluation on public data needs the rows."""
    needs_rows = claim.public_data and isinstance(subject, Evaluated)
    if not needs_rows and summed_query(BoundClaim.of(claim, subject)) is not None:
        return True
    if work.divided or (claim.data_file is not None and is_folder(claim.data_file)):
        raise InputError(
            f"{claim.use} needs all rows at once", "give one file, no --partitions, no --work", claim.path
        )
    return False


# -------------------------------------------------------------- the run


def make(run: PreparedRelease, proved: Proved, certificate: Draft) -> tuple[dict[str, Any], bool]:
    """Charge, run on the data with secure noise, and store the certificate; return it, and False.

    If a concurrent command made the run with this number, return its certificate, and True: without
    `again` there is one charge and one release, however many commands run.  Raises `BudgetError` if the
    ledger has no room; then nothing is charged or drawn.
    """
    release = run.release
    _data(release)
    rehearsed(release, proved, certificate)
    with paying_ledger(release.claim) as ledger:
        number = next_number(release, ledger)[0] if run.again else run.number
        state = ledger.run_state(release.numbered(number))
        # Other commands may take this number at any time, so each turn reads the ledger again.
        while state == RunState() or state == RunState(charged=True):
            try:
                return _charge_and_run(release, ledger, release.numbered(number), proved, certificate), False
            except KeyTakenError as error:  # charged by other code with another proof, and not drawn
                if not run.again:
                    raise LedgerError(f"{error}: --new-release charges a new one") from None
                number += 1
                state = ledger.run_state(release.numbered(number))
            except ReceiptError:
                state = ledger.run_state(release.numbered(number))
                if state.kept is None and not state.drawing:
                    raise  # no other run caused it
                break
        return stored_certificate(release, ledger, number, state), True


def rehearsed(release: Release, proved: Proved, certificate: Draft) -> None:
    """Rehearse run, report and check on synthetic data, so that failures come before any charge.

    Only the data may be of fewer rows: intervals, and what is asked of them, are of the declared size.
    """
    coins, delta = release.claim.audit.seed, release.claim.guarantee.delta
    few = of_few_rows(release.subject(), delta).domain()
    for base in REHEARSED:
        data = dataset(few, base, coins)
        view, report = _run_and_report(release, data, rehearse(proved, Rehearsal(coins)))
        if isinstance(release.data, TableTotals):
            parts = _totals_in_parts(release, data)
            again, _ = _run_and_report(release, parts, rehearse(proved, Rehearsal(coins)))
            if packed_view(again) != packed_view(view):
                what = "shows something else of the sum of its parts' queries than of all rows"
                raise InputError(f"{release.claim.use} {what}", "let its query be a sum over rows")
    rehearsal = _release_entry(release, certificate, report, (1, "0" * 64), "")
    why = refused_by_checker(unsealed(changed(certificate, release=rehearsal, releasable=True)))
    if why is not None:
        raise InputError(f"the checker would refuse it ({why})", "nothing is charged", release.claim.path)
    if adjacency(release.subject().relation).rows_vary:
        _run_and_report(release, data[:0], rehearse(proved, Rehearsal(coins)))


def _totals_in_parts(release: Release, data: Rows) -> TableTotals:
    """Return the totals of synthetic data, summed row by row first, and the rest in three parts."""
    subject: Any = release.subject()
    rows = subject.table(data) if isinstance(subject, ByPerson) else data
    mechanism: Any = named(subject)
    # One by one first: a query that is no sum over rows shows itself in parts of one row.
    first, rest = rows[:ONE_BY_ONE], rows[ONE_BY_ONE:]
    alone, several = np.array_split(first, max(1, len(first))), np.array_split(rest, 3)
    return TableTotals(sum(mechanism.query(part) for part in (*alone, *several, rows[:0])), len(data))


def _run_and_report(
    release: Release, data: Rows | TableTotals, noise: Noise
) -> tuple[View, dict[str, object]]:
    """Run on data, recorded as in the hypothesis tests; return the output and the report.

    The reporting process is forked before the run and receives only the view.
    """
    player, coins = release.subject(), release.claim.audit.seed
    with Fork(lambda parts: _report(release, parts)) as reporter:
        try:
            view = asked(player, "play", lambda: _view(player, data, noise, coins), (*PASSES, ReplayError))
        except ReplayError as error:
            raise InputError(f"{type(player).__name__}.play: {error}") from None
        report: dict[str, object] = json.loads(reporter.ask(packed_view(view)))
    return view, report


def _view(player: Subject, data: Rows | TableTotals, noise: Noise, coins: int) -> View:
    if isinstance(data, TableTotals):
        mechanism: Any = FromTotals(named(player), data.sums)  # type: ignore[arg-type]  # it is additive
        return record(mechanism, np.zeros((0, 0)), noise, coins).view
    return record(player, data.copy(), noise, coins).view


def packed_view(view: View) -> list[object]:
    """Serialise a view for another process."""
    return [[[name, pack_array(shown)] for name, shown in part.items()] for part in (view.own, view.public)]


def _report(release: Release, parts: list[list[list[Any]]]) -> bytes:
    reporter = release.subject()
    view = View(*({name: unpack_array(shown) for name, shown in part} for part in parts))
    say: Any = getattr(reporter, "report", released)
    report = asked(reporter, "report", lambda: say(view))
    if release.claim.table is not None and isinstance(report, dict):
        report |= _intervals_and_labels(release, reporter, view)
    if not isinstance(report, dict) or not _is_json(report):
        name = type(reporter).__name__
        raise InputError(f"{name}.report gives no JSON", "return a dict of text, finite numbers and lists")
    return canonical(report)


def _intervals_and_labels(release: Release, reporter: Any, view: View) -> dict[str, object]:
    """Return the intervals of a release on a table, and the labels of its numbers.

    Both follow from the output and the declarations.
    """
    labels = {name: list(each) for name, each in release.bound.reading.labels.items()}
    known = getattr(reporter, "accuracy", None)
    answers = {} if known is None else {"accuracy": asked(reporter, "accuracy", lambda: known(view))}
    return answers | ({"labels": labels} if labels else {})


def _charge_and_run(
    release: Release, ledger: Ledger, key: str, proved: Proved, certificate: Draft
) -> dict[str, Any]:
    before = ledger.show()
    _budget_around(before, before)  # what cannot be written must fail before it is charged
    receipt = ledger.charge(proved.theorem, release.claim.name, proved.units, key, scope=release.claim.scope)
    try:
        return _run_and_keep(release, ledger, receipt, certificate, before)
    except ReceiptError:
        raise  # of another run
    except BaseException as error:  # of the user's code, the disk, the memory, a signal
        ended = LedgerError(f"{_how(error)}; entry {receipt.entry} is charged: see `dpaccount ledger log`")
        with suppress(DpaccountError):
            ended = LedgerError(f"{_how(error)}; {spent_on(key, ledger)}")
        ended.exit_code = 130 if isinstance(error, KeyboardInterrupt) else ended.exit_code
        raise ended from None


def _how(error: BaseException) -> str:
    """Return how a run ended; the text of another's exception may quote data."""
    known = str(error) if isinstance(error, DpaccountError) else f"the run ended by {type(error).__name__}"
    return "interrupted" if isinstance(error, KeyboardInterrupt) else known


def _run_and_keep(
    release: Release, ledger: Ledger, receipt: Receipt, certificate: Draft, before: Mapping[str, Any]
) -> dict[str, Any]:
    paid = ledger.paid(receipt.entry)
    view, report = _run_and_report(release, _data(release), receipt)
    secret = token_hex(32)
    document = _release_entry(release, certificate, report, (paid.entry or 0, paid.head), secret)
    document = changed(
        document, budget=_budget_around(before, ledger.show()), evaluation=_evaluation(release, view)
    )
    whole = changed(certificate, release=document, releasable=receipt.releasable)
    if refused_by_checker(unsealed(whole)) is not None:  # others gave back meanwhile
        whole = changed(whole, release=changed(document, budget=UNSET))
    sealed = seal(unsealed(whole))
    ledger.keep_release(receipt.entry, {**sealed, OPENING: secret})
    return json.loads(canonical(sealed))  # as for a reprint


def _data(release: Release) -> Rows | TableTotals:
    if release.data is None:
        raise AssertionError("the data of a release are read before it is charged")
    return release.data


def _release_entry(
    release: Release, certificate: Draft, report: dict[str, Any], charged: tuple[int, str], secret: str
) -> MadeRelease:
    """Return a certificate's entry on a release, without the budget and an evaluation."""
    code = str(certificate.subject.code)
    return MadeRelease(report, *charged, "secure", release.named_data(secret), code, None)


def _budget_around(before: Mapping[str, Any], after: Mapping[str, Any]) -> BudgetAround:
    """Return a ledger's budget, what is left, and what all had spent before and after a charge."""
    spent = {"before": before["spent"]["epsilon"], "after": after["spent"]["epsilon"]}
    names = ("epsilon", "delta", "relation", "unit", "measure", "life_epsilon")
    held = {name: after["budget"][name] for name in names if name in after["budget"]}
    left = {name: amount for name, amount in after["remaining"].items() if name != "epsilon"}
    as_json = json.dumps({**held, **spent, "rest": after["remaining"]["epsilon"], "left": left})
    return convert(json.loads(as_json), BudgetAround)  # amounts are of a class of their own


def _evaluation(release: Release, view: View) -> dict[str, object] | None:
    """Evaluate on the data without noise, only if the claim declares them public."""
    if not release.claim.public_data:
        return None
    judge, rows, coins = release.subject(), _data(release), release.claim.audit.seed
    if not isinstance(judge, Evaluated) or isinstance(rows, TableTotals):
        return None
    try:
        evaluated = asked(judge, "evaluate", lambda: judge.evaluate(rows.copy(), view, coins))
    except InputError as error:  # the release is paid for, and is stored without it
        return {"note": EVALUATION, "failed": str(error)}
    if not isinstance(evaluated, dict) or not _is_json(evaluated):
        return {"note": EVALUATION, "failed": f"{type(judge).__name__}.evaluate gives no JSON"}
    return {"note": EVALUATION, **evaluated}


def _is_json(value: object) -> bool:
    try:
        canonical(value)
    except (TypeError, ValueError):
        return False
    return True
