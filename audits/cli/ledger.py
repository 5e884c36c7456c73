"""`dpaccount ledger …`: a durable budget, its charges, and what a team arranges in it."""

import sys
from functools import partial
from pathlib import Path
from typing import Any

from audits.cli.options import Flag, Json, Number, Source, lines, number, required, say, show, source, whole
from dpaccount.documents import parse_json
from dpaccount.errors import InputError


def init(
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

    budget = {"epsilon": required(epsilon, "--epsilon"), "delta": required(delta, "--delta")}
    show(answers.init(url, **budget, unit=unit, relation=relation, measure=measure), json_, lines)
    return 0


def charge(  # noqa: PLR0913 - options
    url: str,
    events: Source,
    *,
    key: str | None = None,
    purpose: str = "plan",
    by: str | None = None,
    scope: str | None = None,
    cohort: str | None = None,
    dry_run: Flag = False,
    json_: Json = False,
) -> int:
    """Charge a plan of events as one entry: durable, or refused with exit 1 and nothing charged.

    It must fit its --scope and all above; events without a cover are charged to the --cohort.
    """
    from dpaccount.ledger import answers

    asked = partial(answers.charge, url, parse_json(source(events), events), key=key, dry_run=dry_run)
    return _answered(asked(purpose=purpose, by=by, within=(scope, cohort), say=say), json_)


def reserve(
    url: str,
    events: Source,
    *,
    key: str,
    rounds: Number = None,
    purpose: str = "plan",
    by: str | None = None,
    scope: str | None = None,
    json_: Json = False,
) -> int:
    """Charge a plan now, --rounds times or its events run by run; parts are drawn later, or released."""
    from dpaccount.ledger import answers

    plan, times = parse_json(source(events), events), whole(rounds, "--rounds")
    asked = partial(answers.reserve, url, plan, key, rounds=times)
    return _answered(asked(purpose=purpose, by=by, scope=scope, say=say), json_)


def draw(
    url: str,
    key: str,
    *,
    parts: str | None = None,
    count: Number = None,
    by: str | None = None,
    json_: Json = False,
) -> int:
    """Mark parts of a reservation as drawn (--parts 1-3,7, or the next --count), before noise is drawn."""
    from dpaccount.ledger import answers

    if parts is not None and count is not None:
        raise InputError("--parts and --count name parts twice; give one of them")
    times = whole(count, "--count") or 1
    return _answered(answers.draw(url, key, _ranges(parts, "--parts"), count=times, by=by, say=say), json_)


def release(
    url: str, key: str, *, parts: str | None = None, by: str | None = None, json_: Json = False
) -> int:
    """Give back parts of a reservation that were never drawn: all, or --parts 4-9; none is drawn later."""
    from dpaccount.ledger import answers

    return _answered(answers.release(url, key, _ranges(parts, "--parts"), by=by, say=say), json_)


def scope(
    url: str,
    name: str,
    *,
    epsilon: Number,
    delta: Number = None,
    by: str | None = None,
    json_: Json = False,
) -> int:
    """Make a scope (team/analyst, below team) or change its cap, never to less than is spent in it."""
    from dpaccount.ledger import answers

    limits = required(epsilon, "--epsilon"), number(delta, "--delta")
    return _answered(answers.scope(url, name, *limits, by=by, say=say), json_)


def cohort(url: str, name: str, *units: str, by: str | None = None, json_: Json = False) -> int:
    """Name ranges of units (1-500 801-900); once charged, the name means them for ever."""
    from dpaccount.ledger import answers

    ranges = _ranges(",".join(units), "units")
    if ranges is None:
        raise InputError("no units; give ranges, such as 1-500 801-900")
    return _answered(answers.cohort(url, name, ranges, by=by, say=say), json_)


def reset(url: str, *, reason: str, by: str | None = None, json_: Json = False) -> int:
    """Begin a period with the whole budget; what is guaranteed is the sum over the ledger's life."""
    from dpaccount.ledger import answers

    return _answered(answers.reset(url, reason, by=by, say=say), json_)


def _answered(answer: dict[str, Any], json_: Json) -> int:
    from dpaccount.ledger import answers

    show(answer, json_, lines)
    return answers.exit_code(answer)


def _ranges(text: str | None, option: str) -> list[tuple[int, int]] | None:
    """Return ranges that are written 1-3,7."""
    if text is None:
        return None
    found = []
    for word in text.split(","):
        first, dash, last = word.partition("-")
        if not (first.isdecimal() and (last.isdecimal() if dash else True)) or len(word) > 40:
            raise InputError(f"{option}: {word[:40]!r} is no range; write 1-3 or 7, with commas between")
        found.append((int(first), int(last or first)))
    return found


def show_ledger(url: str, *, json_: Json = False) -> int:
    """Print the budget, what the worst unit has spent, and what remains."""
    from dpaccount.ledger import answers

    show(answers.show(url), json_, lines)
    return 0


def log(url: str, *, csv: Flag = False, json_: Json = False) -> int:
    """Print every entry: what it is, who charged it and why, what it spends, why it was refused."""
    from dpaccount.ledger import answers

    entries = answers.log(url)
    if csv and not json_:
        sys.stdout.write(answers.table(entries))
    else:
        show(entries, json_, answers.worded)
    return 0


def checkpoint(url: str, *, key: Path) -> int:
    """Print where a ledger stands, signed with an Ed25519 private --key (PEM): to be kept elsewhere."""
    from audits.certificate import checkpoint as signed

    show(signed.checkpoint(url, key), as_json=True, person=lines)
    return 0


def export(url: str) -> int:
    """Print everything that a ledger is, as lines of JSON, of which `ledger import` makes the same again."""
    from dpaccount.ledger import answers

    for line in answers.export(url):
        sys.stdout.buffer.write(line)
    return 0


def import_ledger(file: Path, url: str, *, json_: Json = False) -> int:
    """Make a new ledger of exported lines, with the same head; every digest and total is recomputed first."""
    from dpaccount.ledger import answers

    show(answers.import_(file, url), json_, lines)
    return 0


def upgrade(url: str, *, to: str | None = None, json_: Json = False) -> int:
    """Make a ledger of today's format from one of an earlier format, beside it; close the old one."""
    from dpaccount.ledger import answers

    show(answers.upgrade(url, to), json_, lines)
    return 0


def verify(
    url: str,
    *,
    head: str | None = None,
    since: str | None = None,
    checkpoint: Path | None = None,
    key: Path | None = None,
    json_: Json = False,
) -> int:
    """Recompute the hash chain and the totals; a noted --head must be on it, --since begins after one.

    A --checkpoint, whose head must be on it too, must be signed with the public --key (PEM).
    """
    from dpaccount.ledger import answers

    if (checkpoint is None) != (key is None) or (checkpoint is not None and head is not None):
        raise InputError("a --checkpoint goes with its --key, and instead of --head; give both")
    if checkpoint is not None and key is not None:
        from audits.certificate.checkpoint import noted_head

        head = noted_head(checkpoint, key)
    answer = answers.verify(url, head=head, since=since)
    show(answer, json_, lines)
    return answers.exit_code(answer)
