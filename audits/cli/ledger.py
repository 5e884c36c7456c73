"""`ledger init`, `charge`, `show`, `log`, `verify` and `upgrade`: a durable budget."""

import sys

from audits.cli.options import Flag, Json, Number, Source, lines, required, say, show, source
from dpaccount.documents import parse_json


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


def charge(
    url: str,
    events: Source,
    *,
    key: str | None = None,
    purpose: str = "plan",
    by: str | None = None,
    dry_run: Flag = False,
    json_: Json = False,
) -> int:
    """Charge a plan of events as one entry: durable, or refused with exit 1 and nothing charged."""
    from dpaccount.ledger import answers

    plan = parse_json(source(events), events)
    answer = answers.charge(url, plan, key=key, purpose=purpose, by=by, dry_run=dry_run, say=say)
    show(answer, json_, lines)
    return answers.exit_code(answer)


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


def upgrade(url: str, *, to: str | None = None, json_: Json = False) -> int:
    """Make a ledger of today's format from one of an earlier format, beside it; close the old one."""
    from dpaccount.ledger import answers

    show(answers.upgrade(url, to), json_, lines)
    return 0


def verify(url: str, *, head: str | None = None, since: str | None = None, json_: Json = False) -> int:
    """Recompute the hash chain and the totals; a noted --head must be on it, --since begins after one."""
    from dpaccount.ledger import answers

    answer = answers.verify(url, head=head, since=since)
    show(answer, json_, lines)
    return answers.exit_code(answer)
