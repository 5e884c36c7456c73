"""`dpaccount ledger …`: a durable budget, its charges, and what a team arranges in it."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from msgspec import convert
from msgspec.structs import replace

from audits.cli.options import (
    By,
    Events,
    File,
    Flag,
    Json,
    LedgerUrl,
    Name,
    Number,
    Source,
    Text,
    Url,
    Whole,
    answered,
    day,
    lines,
    next_step,
    number,
    one_of,
    ranges_of,
    required,
    say,
    show,
    source,
    watching,
    whole,
)
from dpaccount.documents import parse_json, plain, read_bytes, sha256
from dpaccount.errors import InputError
from dpaccount.ledger.balances.budget import RENEWALS, one_line
from dpaccount.ledger.balances.rights import EVERYWHERE, MAY, MOST_DAYS

if TYPE_CHECKING:
    from dpaccount.ledger.entry import Entry
    from dpaccount.ledger.ledger import Ledger

MEASURES = ("gdp", "pure", "approximate", "approximate-zcdp", "zcdp", "either")
Digest = Annotated[str, Parameter(metavar="DIGEST")]


def _arranged(url: str, arrange: "Callable[[Ledger], Entry]", as_json: bool) -> int:  # noqa: FBT001
    """Arrange something in a ledger, print the answer, and return the exit code."""
    from audits.cli import answers

    return answered(answers.arranged(url, arrange, say), as_json)


def init(  # noqa: PLR0913 - options
    url: Url,
    *,
    epsilon: Number,
    delta: Number,
    unit: Annotated[str, Parameter(metavar="UNITS")],
    relation: Annotated[str, Parameter(metavar="RELATION")],
    measure: Annotated[str, one_of(*MEASURES)] = "approximate",
    life_epsilon: Number = None,
    life_delta: Number = None,
    dataset: Text | None = None,
    declaration: File | None = None,
    json_: Json = False,
) -> int:
    """Create a ledger with a budget; never replaces an existing one.

    Example: `dpaccount ledger init sqlite:///a.db --epsilon 1 --delta 1e-6 --unit day --relation add-remove`

    Parameters
    ----------
    url
        Where it will be: sqlite:///FILE.
    epsilon
        The budget: at least 0.
    delta
        The budget: from 0 to 1.
    unit
        Who is protected, in words, such as "one patient".
    relation
        replace-one, add-remove, or "bounded-row, radius R".
    measure
        Privacy measure used for composition; the default takes whatever `release` makes.
    life_epsilon
        A cap on all periods together, which no reset lifts.
    life_delta
        Its delta; by default that of the budget.
    dataset
        The name of the data, in words.
    declaration
        A file that declares them, such as a claim with its columns and bounds: its digest is noted.
    """
    from audits.cli import answers
    from audits.reports.terminal import shown
    from dpaccount.ledger.ledger import init as create

    answer = create(
        url,
        epsilon=required(epsilon, "--epsilon"),
        delta=required(delta, "--delta"),
        unit=unit,
        relation=relation,
        measure=measure,
        life_epsilon=number(life_epsilon, "--life-epsilon"),
        life_delta=number(life_delta, "--life-delta"),
        dataset="" if dataset is None else one_line("dataset", dataset),
        declaration="" if declaration is None else f"sha256:{sha256(read_bytes(declaration))}",
    )
    if others := plain(", ".join(answers.same_data(url))):
        say(f"of the same data: {others}; each has its own budget, and units may lose them all")
    show(answer, json_, lambda _: shown(answers.show(url)))
    next_step("dpaccount release CLAIM.toml, or dpaccount ledger charge")
    return 0


def charge(  # noqa: PLR0913 - options
    url: LedgerUrl,
    events: Events,
    *,
    key: Text | None = None,
    purpose: Text = "plan",
    by: Text | None = None,
    scope: Text | None = None,
    cohort: Text | None = None,
    certificate: File | None = None,
    dry_run: Flag = False,
    json_: Json = False,
) -> int:
    """Charge a plan of events as one entry: durable, or refused with exit 1 and nothing charged.

    Example: `dpaccount ledger charge sqlite:///team.db events.json --key monday`

    Parameters
    ----------
    key
        A name of this charge; repeating it charges nothing.
    purpose
        What it is for, in words.
    by
        Who charges.
    scope
        It must fit the cap of this scope, and of all above it.
    cohort
        Events without a cover are charged to its units.
    certificate
        First write a certificate of what the plan costs at the ledger's delta, from which dpaccount
        check re-derives an upper bound; the entry names it by its digest.
    dry_run
        Report what would happen, and charge nothing.
    """
    from audits.cli import answers
    from dpaccount.schemas.fields import Confirmed

    place, named, confirmed = parse_json(source(events), events), None, None
    if certificate is not None:
        from audits.accounts.charged import of_charge

        # Before the charge, so that its entry can name the certificate by its digest.
        document, named = of_charge(url, place, certificate)
        confirmed = convert(document["confirmed"], Confirmed)
    done = answers.charged(
        url,
        place,
        lambda ledger, plan: ledger.charge_plan(
            plan, purpose, key, by=by, scope=scope, cohort=cohort, certificate=named, dry_run=dry_run
        ),
        say,
    )
    return answered(done if confirmed is None else replace(done, confirmed=confirmed), json_)


def reserve(
    url: LedgerUrl,
    events: Events,
    *,
    key: Text,
    rounds: Number = None,
    purpose: Text = "plan",
    by: Text | None = None,
    scope: Text | None = None,
    json_: Json = False,
) -> int:
    """Charge a plan now; its parts are drawn later, each once, or returned.

    Example: `dpaccount ledger reserve sqlite:///team.db day.json --key may --rounds 31`

    Parameters
    ----------
    key
        A name of this reservation, used to draw its parts.
    rounds
        Number of parts, each the whole plan; without it, every run of every event is a part.
    purpose
        What it is for, in words.
    by
        Who reserves.
    scope
        It must fit the cap of this scope, and of all above it.
    """
    from audits.cli import answers

    place, times = parse_json(source(events), events), whole(rounds, "--rounds")
    done = answers.charged(
        url,
        place,
        lambda ledger, plan: ledger.reserve_plan(plan, purpose, key, rounds=times, by=by, scope=scope),
        say,
    )
    return answered(done, json_)


def use(
    url: LedgerUrl,
    key: Text,
    *,
    parts: Text | None = None,
    count: Number = None,
    by: Text | None = None,
    json_: Json = False,
) -> int:
    """Mark parts of a reservation as drawn, before their noise is drawn.

    Example: `dpaccount ledger use sqlite:///team.db may`

    Parameters
    ----------
    key
        The reservation's.
    parts
        Which parts, such as 1-3,7 (default: the first open ones).
    count
        How many of the open parts (default 1).
    by
        Who draws.
    """
    from audits.cli import answers

    if parts is not None and count is not None:
        raise InputError("--parts and --count name parts twice", "give one of them")
    times, wanted = whole(count, "--count") or 1, ranges_of(parts, "--parts")
    done = answers.taken(url, key, lambda ledger: ledger.draw_parts(key, wanted, count=times, by=by), say)
    return answered(done, json_)


def release(
    url: LedgerUrl, key: Text, *, parts: Text | None = None, by: Text | None = None, json_: Json = False
) -> int:
    """Return the cost of parts of a reservation that were never drawn, and close them.

    Example: `dpaccount ledger release sqlite:///team.db may --parts 20-31`

    Parameters
    ----------
    key
        The reservation's.
    parts
        Which parts, such as 1-3,7 (default: all open ones).
    by
        Who returns them.
    """
    from audits.cli import answers

    wanted = ranges_of(parts, "--parts")
    done = answers.taken(url, key, lambda ledger: ledger.return_parts(key, wanted, by=by), say)
    return answered(done, json_)


def scope(
    url: LedgerUrl,
    name: Text,
    *,
    epsilon: Number,
    delta: Number = None,
    every: Annotated[str, one_of(*RENEWALS)] | None = None,
    charge_epsilon: Number = None,
    by: By | None = None,
    json_: Json = False,
) -> int:
    """Create a scope, or change its cap, never to less than is spent in it.

    Example: `dpaccount ledger scope sqlite:///team.db team/analyst --epsilon .2 --every month`

    Parameters
    ----------
    name
        Its name, such as team/analyst.
    epsilon
        Its cap: at least 0.
    delta
        Its cap: from 0 to 1 (default: the ledger's).
    every
        The cap holds anew every day, week, month or year (UTC), which is fixed when the scope is made. The
        budget limits what a unit loses in all of them.
    charge_epsilon
        The most that one charge there may cost a unit, a reservation with all its parts.
    """
    limits = required(epsilon, "--epsilon"), number(delta, "--delta"), by
    most = number(charge_epsilon, "--charge-epsilon")
    return _arranged(
        url, lambda ledger: ledger.set_scope(name, *limits, every=every, charge_epsilon=most), json_
    )


def cohort(
    url: LedgerUrl, name: Text, *units: Text, grows: Flag = False, by: By | None = None, json_: Json = False
) -> int:
    """Name ranges of units; the mapping is immutable once charged, or can only grow.

    Example: `dpaccount ledger cohort sqlite:///team.db adults 1-500 801-900`

    Parameters
    ----------
    name
        Its name.
    units
        Its units, such as 1-500.
    grows
        More units may be given to it later, such as everybody who has joined so far.
    """
    covers = ranges_of(",".join(units) if units else None, "units")
    if covers is None:
        raise InputError("no units", "give ranges, such as 1-500 801-900")
    return _arranged(url, lambda ledger: ledger.name_cohort(name, covers, by, grows=grows), json_)


def reset(url: LedgerUrl, *, reason: Text, by: By | None = None, json_: Json = False) -> int:
    """Begin a period with the whole budget; the guarantee is the sum over the ledger's lifetime.

    Example: `dpaccount ledger reset sqlite:///team.db --reason "a new study"`

    Parameters
    ----------
    reason
        Why, in words.
    """
    return _arranged(url, lambda ledger: ledger.reset(reason, by), json_)


def clock(
    url: LedgerUrl,
    *,
    after_a_pause: Flag = False,
    reason: Text | None = None,
    by: By | None = None,
    json_: Json = False,
) -> int:
    """Say that this machine's clock is right, where a ledger in a file doubts it after a long rest.

    Example: `dpaccount ledger clock sqlite:///team.db --after-a-pause`

    Parameters
    ----------
    after_a_pause
        The ledger has rested for more than 92 days.
    reason
        A clock was ahead, in words: what it began is set right, by two people where the ledger has rights.
    """
    if (reason is None) is not after_a_pause:
        raise InputError("state once why the clock is right", "give --after-a-pause, or --reason")
    return _arranged(url, lambda ledger: ledger.set_clock(reason, by), json_)


def forfeit(
    url: LedgerUrl,
    events: Source | None = None,
    *,
    reason: Text,
    nothing: Flag = False,
    by: By | None = None,
    json_: Json = False,
) -> int:
    """Charge the most that may have been lost when an older copy took over, and continue with it.

    What was charged before and is not drawn here cannot be drawn afterwards: it may have been.

    Example: `dpaccount ledger forfeit sqlite:///team.db lost.json --reason "standby took over"`

    Parameters
    ----------
    events
        All that may have been charged and is not here: schema dpaccount/events/1, or - for standard input.
    reason
        Why, in words.
    nothing
        Nothing was lost, as in a planned move to another server.
    """
    from dpaccount.plan.plan_file import read_plan

    if (events is None) is not nothing:
        raise InputError("state once what was lost", "give its events, or --nothing")
    lost = None if events is None else read_plan(parse_json(source(events), events))
    return _arranged(url, lambda ledger: ledger.forfeit(lost, reason, by), json_)


def repair(url: LedgerUrl, *, head: Digest | None = None, json_: Json = False) -> int:
    """Rebuild the balances and the head from the entries, which never change.

    Example: `dpaccount ledger repair sqlite:///team.db`

    Parameters
    ----------
    head
        The digest of the last entry, if you know that none after it was lost; an error says when it
        is needed.
    """
    from dpaccount.ledger.journal.verify import repair as rebuild

    show(rebuild(url, head), json_, lines)
    return 0


def checkpoint(url: LedgerUrl, *, key: File) -> int:
    """Print a ledger's head, signed with an Ed25519 private --key (PEM), to be kept elsewhere.

    Example: `dpaccount ledger checkpoint sqlite:///team.db --key private.pem > checkpoint.json`

    Parameters
    ----------
    key
        An Ed25519 private key (PEM, unencrypted).
    """
    from audits.certificate.sign import checkpoint as signed

    show(signed(url, key), as_json=True, person=lines)
    return 0


def export(url: LedgerUrl) -> int:
    """Export a ledger as lines of JSON, from which ledger import makes the same ledger.

    Example: `dpaccount ledger export sqlite:///team.db > team.jsonl`
    """
    from dpaccount.ledger.journal.export import lines as exported

    for line in exported(url):
        sys.stdout.buffer.write(line)
    return 0


def import_ledger(file: File, url: Url, *, json_: Json = False) -> int:
    """Create a ledger from exported lines, with the same head, after recomputing all of it.

    Example: `dpaccount ledger import team.jsonl sqlite:///copy.db`

    Parameters
    ----------
    file
        What `ledger export` printed.
    url
        Where the new ledger will be.
    """
    from dpaccount.ledger.journal.export import imported

    with watching():
        answer = imported(file, url)
    if "was" in answer:
        say("an earlier version stored its records: all digests are new, and no head noted before is on it")
    show(answer, json_, lines)
    return 0


def grant(  # noqa: PLR0913 - options
    url: Url,
    name: Text,
    *,
    may: Annotated[list[str] | None, one_of(*MAY)] = None,
    scope: Name | None = None,
    until: Text | None = None,
    by: By | None = None,
    read_only: bool = False,
    arrange: bool = False,
    json_: Json = False,
) -> int:
    """Let a person charge, ask, approve or arrange; or let a role of a PostgreSQL server use a ledger there.

    Example: `dpaccount ledger grant sqlite:///team.db ada --may request --scope team --until 2027-06-30`

    Parameters
    ----------
    url
        The ledger's URL.
    name
        A person; without --may, --scope and --until on a server, a role that the server knows.
    may
        What the person may do there, besides what they may already (may be repeated; default: charge).
    scope
        Only in this scope and below.
    until
        The last day, such as 2027-06-30.
    read_only
        Allow the role to read only.
    arrange
        Allow the role also to make scopes, cohorts, resets, forfeits, grants and approvals.
    """
    from dpaccount.ledger.stores.place import Address, address
    from dpaccount.ledger.stores.store import grant as give

    chained = may or scope or until or isinstance(address(url), Address)
    if chained and not (read_only or arrange):
        rights, last = may or ["charge"], "" if until is None else str(day(until, "--until"))
        return _arranged(
            url, lambda one: one.grant(name, rights, scope=scope or "", until=last, by=by), json_
        )

    give(url, name, read_only=read_only, arrange=arrange)
    allowed = "read" if read_only else "charge and arrange" if arrange else "charge"
    return answered({"role": name, "may": allowed}, json_)


def revoke(
    url: LedgerUrl, name: Text, *, scope: Name | None = None, by: By | None = None, json_: Json = False
) -> int:
    """Take back what a person may do, in a scope or everywhere.

    Example: `dpaccount ledger revoke sqlite:///team.db ada --by bo`

    Parameters
    ----------
    name
        The person.
    scope
        Only what was granted for this scope.
    """
    return _arranged(url, lambda ledger: ledger.grant(name, [], scope=scope or EVERYWHERE, by=by), json_)


def approve(
    url: LedgerUrl,
    entry: Number,
    *,
    refuse: Flag = False,
    valid_days: Whole = "30",
    by: By | None = None,
    json_: Json = False,
) -> int:
    """Approve what another person asked for, who then repeats the command, once.

    Example: `dpaccount ledger approve sqlite:///team.db 12 --by bo`

    Parameters
    ----------
    entry
        The entry that asks for it; `ledger show --json` lists those that wait.
    refuse
        Refuse it instead, or withdraw what you asked for.
    valid_days
        For how many days the approval holds.
    """
    asked, days = whole(entry, "ENTRY") or 0, whole(valid_days, "--valid-days", 1, MOST_DAYS) or 1
    return _arranged(
        url, lambda ledger: ledger.approve(asked, by, approved=not refuse, valid_days=days), json_
    )


def verify(
    url: LedgerUrl,
    *,
    head: Digest | None = None,
    since: Annotated[str, Parameter(metavar="DIGEST | FILE")] | None = None,
    checkpoint: File | None = None,
    key: File | None = None,
    certificate: Annotated[list[Path] | None, Parameter(metavar="FILE", negative="")] = None,
    json_: Json = False,
) -> int:
    """Recompute the hash chain and the totals; a noted --head must be on it, --since begins after one.

    Example: `dpaccount ledger verify sqlite:///team.db --checkpoint checkpoint.json --key public.pem`

    Parameters
    ----------
    head
        A head noted earlier, which must be on the chain.
    since
        A head noted earlier, after which to begin, or with --key a signed checkpoint, which is quicker.
    checkpoint
        A signed checkpoint, whose head must be on the chain.
    key
        The public half of the key that signed the checkpoint (PEM).
    certificate
        What charge --certificate wrote (may be repeated): it must be confirmed, and the charges that
        name it must have charged its plan.
    """
    from dpaccount.ledger.journal.verify import verify as recompute

    given: dict[str, str | None] = {"head": head, "since": since}
    if checkpoint or key or since is not None:
        from audits.certificate.sign import given_by

        given = given_by(checkpoint, key, **given)
    with watching():
        answer = recompute(url, **given)
        # What entries of a damaged chain name proves nothing of a certificate.
        if certificate and answer["valid"]:
            from audits.accounts.charged import compared

            answer["certificates"] = compared(url, certificate)
            answer["valid"] &= all(each["wrong"] is None for each in answer["certificates"])
    return answered(answer, json_)
