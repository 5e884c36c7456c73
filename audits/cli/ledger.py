"""`ledger init`, `charge`, `show`, `log`, `verify`, `export`, `import`, `upgrade`, `grant`: a durable budget."""

import sys
from pathlib import Path

from audits.cli.options import Flag, Json, Number, Source, lines, required, say, show, source
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


def grant(url: str, role: str, *, read_only: bool = False, json_: Json = False) -> int:
    """Let a role of a PostgreSQL server charge a ledger there, or with --read-only look at it."""
    from dpaccount.ledger import answers

    answers.grant(url, role, read_only=read_only)
    show({"role": role, "may": "read" if read_only else "charge"}, json_, lines)
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
