"""Many clients, killed at random: what was acknowledged is there, once, and no unit is beyond the budget.

Totals, chain, head, keys and releases are recomputed by `recount.py`, which imports nothing of the package.
"""

import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from tests.depth import deep

from .conftest import BUDGET, VALID, by_hand, pure

WORDS = ("open", "asks", "charged", "value", "drawn", "returned", "reset", "clock")
RECOUNT = Path(__file__).parent / "recount.py"

CLIENT = """
import json, random, sys
from datetime import UTC, datetime, timedelta
from fractions import Fraction
import numpy as np
from dpaccount.errors import BudgetError, InputError, LedgerError, ReceiptError
from dpaccount.ledger.journal import entries
from dpaccount.ledger.ledger import Ledger
from dpaccount.plan.events import Approximate, Gaussian, Laplace, Plan, Pure, Relation, Zcdp
from tests.dpaccount.ledger.conftest import pure

url, measure, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
dice = random.Random(seed)
ahead = 0
entries.now = lambda: (datetime.now(UTC) + timedelta(days=ahead)).isoformat(timespec="seconds")
KINDS = {
    "pure": [lambda n: Pure(epsilon=Fraction(n, 100))],
    "approximate": [
        lambda n: Approximate(epsilon=Fraction(n, 100), delta=Fraction(n, 10**9)),
        lambda n: Pure(epsilon=Fraction(n, 100)),
    ],
    "gdp": [lambda n: Gaussian(sigma=200 // n), lambda n: Laplace(scale=200 // n)],
    "zcdp": [lambda n: Gaussian(sigma=200 // n), lambda n: Pure(epsilon=Fraction(n, 100))],
    "either": [
        lambda n: Gaussian(sigma=200 // n),
        lambda n: Laplace(scale=200 // n),
        lambda n: Zcdp(rho=Fraction(n, 10**4)),
        lambda n: Pure(epsilon=Fraction(n, 50)),
    ],
}

def cover():
    if dice.random() < 0.2:
        return None
    first = dice.choice([dice.randrange(1, 40), dice.randrange(1, 10**6)])
    return first, first + dice.choice([0, 3, dice.randrange(10**5)])

def plan():
    from dataclasses import replace
    kinds = KINDS[measure]
    return Plan(
        Relation.REPLACE_ONE,
        tuple(replace(dice.choice(kinds)(dice.randrange(1, 9)), cover=cover()) for _ in range(dice.randrange(1, 4))),
    )

def say(*words):
    print(*words, flush=True)

def answered(ask):
    "Ask again, with the same key, while it is not known what became of it: a server was away."
    while True:
        try:
            return ask()
        except LedgerError as error:
            if "not known whether" not in str(error):
                raise
            say("unknown")

def reserved(ledger):
    number = dice.randrange(60)
    key, parts = f"reserved {number}", random.Random(number)
    small = Plan(Relation.REPLACE_ONE, (Pure(epsilon=Fraction(1, 4000), cover=(1 + parts.randrange(99), 100)),))
    act = dice.random()
    if act < 0.3:
        say("asks", key)
        scope = (None, "team", "team/a")[number % 3]
        say("charged", key, ledger.reserve_plan(small, "storm", key, rounds=20, scope=scope).entry)
    elif act < 0.7:
        say("drawn", key, json.dumps(ledger.draw_parts(key, count=dice.randrange(1, 4))[1]))
    elif act < 0.9:
        first = dice.randrange(1, 21)
        parts = [(first, min(20, first + dice.randrange(3)))]
        word, take = dice.choice([("drawn", ledger.draw_parts), ("returned", ledger.return_parts)])
        say(word, key, json.dumps(take(key, parts)[1]))
    elif act < 0.99:
        say("returned", key, json.dumps(ledger.return_parts(key)[1]))
    elif dice.random() < 0.2:
        say("clock", ledger.set_clock().number)
    elif dice.random() < 0.2:
        say("reset", ledger.reset("storm").number)
    else:
        ledger.set_scope("team/a", Fraction(dice.randrange(1, 9), 10), charge_epsilon=Fraction(dice.randrange(1, 9), 50))

with Ledger.open(url) as ledger:
    say("open")
    while True:
        what = dice.random()
        if dice.random() < 0.02:
            ahead = dice.choice([0, 0, 1, -1, 40, -400, 400, 30000])
        try:
            if what < 0.2:
                reserved(ledger)
            elif what < 0.55:
                key = f"own {seed} {dice.randrange(10**12)}"
                say("asks", key)
                one = plan()
                say("charged", key, answered(lambda: ledger.charge_plan(one, "storm", key)).entry)
                scope = dice.choice([None, None, "team", "team/a"])
                say("charged", key, ledger.charge_plan(plan(), "storm", key, scope=scope).entry)
            elif what < 0.75:
                number = dice.randrange(40)
                shared = random.Random(number)
                key = f"shared {number}"
                one = Plan(Relation.REPLACE_ONE, (Pure(epsilon=Fraction(1, 200), cover=(1 + shared.randrange(99), 100)),))
                say("asks", key)
                say("charged", key, answered(lambda: ledger.charge_plan(one, "storm", key)).entry)
            else:
                key = f"drawn {dice.randrange(30)}"
                kept = ledger.release(key)
                if kept is not None:
                    say("value", key, kept["value"][0])
                    continue
                say("asks", key)
                receipt = answered(lambda: ledger.charge(pure("1/1000"), "draw", (7, 9), key))
                say("charged", key, receipt.entry)
                value = receipt.noisy("noise", 0, np.array([5])).tolist()
                ledger.keep_release(receipt.entry, {"value": value})
                say("value", key, value[0])
        except (BudgetError, ReceiptError):
            continue
        except InputError as error:
            if "this machine's clock says" in str(error) or "a clock was ahead" in str(error):
                ahead = dice.choice([0, 0, ahead])
                say("clock", ledger.set_clock("storm").number)
            elif "not the key of a reservation" not in str(error):
                say("error", str(error))
        except LedgerError as error:
            if "was cut and nothing was changed" in str(error):
                say("cut")
            elif "different charge" not in str(error) and "its release already" not in str(error):
                say("error", str(error))
"""


def client(url: str, measure: str, seed: int, log: Path) -> int:
    """Fork a client, which says what it does in `log`; a fork, since a new program takes a second to begin."""
    child = os.fork()
    if child:
        return child
    try:
        with log.open("ab", buffering=0) as out:
            os.dup2(out.fileno(), 1)
        sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", closefd=False), write_through=True)
        sys.argv = ["client", url, measure, str(seed)]
        exec(compile(CLIENT, "client", "exec"), {"__name__": "client"})  # noqa: S102
    except BaseException as error:
        os.write(1, f"error {error!r}\n".encode())
    finally:
        os._exit(1)


def kill(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def storm(folder: Path, measure: str, seconds: float, seed: int, clients: int = 8) -> dict:
    """Run a storm; check every acknowledged line against an independent recount; return counts."""
    url, dice = f"sqlite:///{folder}/budget.db", random.Random(seed)
    delta = 0 if measure == "pure" else Fraction(1, 10**6)
    init(url, epsilon=1, delta=delta, unit="person", relation="replace-one", measure=measure)
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", Fraction(7, 10), every="day", charge_epsilon=Fraction(1, 10))
        ledger.set_scope("team/a", Fraction(3, 10))
    logs = [folder / f"log {number}" for number in range(clients)]
    running = [client(url, measure, seed + number, log) for number, log in enumerate(logs)]
    kills, killed, heads = 0, set[int](), list[str]()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(dice.uniform(0.1, 0.5))
        everyone = dice.random() < 0.05
        for place in range(clients) if everyone else [dice.randrange(clients)]:
            kill(running[place])
            kills, killed = kills + 1, {*killed, place}
        with Ledger.open(url) as ledger:  # after every kill
            heads.append(ledger.show()["head"])
        for place in killed:
            running[place] = client(url, measure, seed + kills * 100 + place, logs[place])
        killed = set()
    for one in running:
        kill(one)
    return {"kills": kills, **settled(folder, logs, heads), "valid": verify(url)}


def settled(folder: Path, logs: list[Path], heads: list[str]) -> dict:
    done = subprocess.run(
        [sys.executable, "-I", str(RECOUNT), str(folder / "budget.db")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    state = json.loads(done.stdout)
    digests = {digest for (digest,) in by_hand(folder / "budget.db", "SELECT digest FROM entries")}
    releases = (
        "SELECT c.key, r.body FROM entries r JOIN entries c ON c.number = r.about WHERE r.kind = 'release'"
    )
    kept = {key: json.loads(body)["value"][0] for key, body in by_hand(folder / "budget.db", releases)}
    assert set(heads) <= digests  # the head never went back
    away = {"cut": 0, "unknown": 0}
    acknowledged, asked, values, marked = 0, set(), {}, Counter()
    for log in logs:
        for line in log.read_text().splitlines():
            word, _, rest = line.partition(" ")
            assert word in (*WORDS, *away), line  # no error but a stated refusal
            if word in away:
                away[word] += 1
            if word in ("drawn", "returned"):
                key, _, parts = rest.partition(" [")
                ranges = json.loads(f"[{parts}")
                marked.update((word, key, part) for first, last in ranges for part in range(first, last + 1))
            if word == "asks":
                asked.add(rest)
            if word == "charged":
                key, _, entry = rest.rpartition(" ")
                assert state["keys"].get(key) == int(entry), line  # nothing lost, nothing double
                acknowledged += 1
            if word == "value":
                key, _, value = rest.rpartition(" ")
                values.setdefault(key, set()).add(int(value))
    assert set(state["keys"]) <= asked
    taken = parts_taken(folder / "budget.db")
    assert set(marked) <= taken  # no mark that was told is lost
    assert not marked or max(marked.values()) == 1  # and no part was given to two
    assert not {one[1:] for one in taken if one[0] == "drawn"} & {
        one[1:] for one in taken if one[0] == "returned"
    }
    assert all(values[key] == {kept[key]} for key in values)
    parts = dict(Counter(word for word, _, _ in marked))
    return {
        **away,
        "acknowledged": acknowledged,
        "parts": parts,
        "releases": len(kept),
        **state["counts"],
        "peak": state["peak"],
    }


def parts_taken(file: Path) -> set:
    """Return which parts the chain says were drawn or returned: (word, key, part)."""
    rows = by_hand(file, "SELECT kind, body FROM entries WHERE kind IN ('rounds', 'return')")
    keys = dict(by_hand(file, "SELECT number, key FROM entries WHERE kind = 'reservation'"))
    parts = set()
    for kind, body in rows:
        facts, word = json.loads(body), "drawn" if kind == "rounds" else "returned"
        for first, last in facts["parts"]:
            parts |= {(word, keys[facts["reservation"]], part) for part in range(first, last + 1)}
    return parts


@deep
@pytest.mark.parametrize("measure", ["pure", "approximate", "gdp", "zcdp", "either"])
def test_a_storm(tmp_path, measure, depth):
    counts = storm(tmp_path, measure, 25, depth.seed())
    print(measure, counts)
    assert counts["valid"] == VALID
    assert counts["acknowledged"] > 83
    assert counts["kills"] > 25


@deep
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entries SET body = body || ' ' WHERE number = 1",
        "DELETE FROM entries WHERE number = 2",
        "UPDATE nodes SET body = replace(body, '1/2', '1/4')",
        "DELETE FROM nodes",
        "UPDATE ledger SET last = 1",
    ],
)
def test_the_recount_finds_what_is_wrong(tmp_path, change):
    """A twin of each failure that a storm looks for."""
    url = f"sqlite:///{tmp_path}/budget.db"
    init(url, **BUDGET)
    with Ledger.open(url) as ledger:
        ledger.charge(pure("1/2"), "one", (3, 5))
        ledger.charge(pure("1/2"), "two", (5, 9))
    for good in (True, False):
        done = subprocess.run(
            [sys.executable, "-I", str(RECOUNT), f"{tmp_path}/budget.db"], capture_output=True, check=False
        )
        assert (done.returncode == 0) is good
        by_hand(url, change)
