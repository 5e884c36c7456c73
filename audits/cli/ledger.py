"""`ledger init`, `charge`, `show` and `verify`: a durable budget."""

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
    dry_run: Flag = False,
    json_: Json = False,
) -> int:
    """Charge a plan of events as one entry: durable, or refused with exit 1 and nothing charged."""
    from dpaccount.ledger import answers

    answer = answers.charge(url, parse_json(source(events), events), key=key, dry_run=dry_run, say=say)
    show(answer, json_, lines)
    return answers.exit_code(answer)


def show_ledger(url: str, *, json_: Json = False) -> int:
    """Print the budget, what the worst unit has spent, and what remains."""
    from dpaccount.ledger import answers

    show(answers.show(url), json_, lines)
    return 0


def upgrade(url: str, *, to: str | None = None, json_: Json = False) -> int:
    """Make a ledger of today's format from one of an earlier format, beside it; close the old one."""
    from dpaccount.ledger import answers

    show(answers.upgrade(url, to), json_, lines)
    return 0


def verify(url: str, *, json_: Json = False) -> int:
    """Recompute the hash chain and the totals."""
    from dpaccount.ledger import answers

    answer = answers.verify(url)
    show(answer, json_, lines)
    return answers.exit_code(answer)
