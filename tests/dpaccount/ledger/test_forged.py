"""Entries that a role with the right to charge writes by SQL: clients and `verify` refuse them, or do not draw for them."""

import json
import secrets
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpaccount.errors import InputError, LedgerError
from dpaccount.ledger import requests
from dpaccount.ledger.entry import CHARGE, DRAWING, REFUSAL, RELEASE, RETURN, ROUNDS, seal
from dpaccount.ledger.journal.verify import repair, verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.stores.store import grant
from dpaccount.plan.events import Plan, Pure, Relation
from tests.depth import deep

from .conftest import BUDGET, VALID, pure

ROLES = ("forger", "victim", "arranger")


def plan(size="1/100", cover=(1, 9)):
    return Plan(Relation.REPLACE_ONE, (Pure(epsilon=Fraction(size), cover=cover),))


class Forger:
    """Writes entries by SQL with the rights of a role that may charge, and an owner who takes them out again."""

    def __init__(self, postgres, team):
        self.postgres, self.team = postgres, team
        init(team, **BUDGET)
        for role in ROLES:
            postgres.role(role)
            grant(team, role, arrange=role == "arranger")
        self.templates, self.numbers = {}, {}
        for role in ("victim", "forger"):
            with Ledger.open(self.url(role)) as ledger:
                drawn = ledger.charge(pure("1/100"), "drawn", (1, 9), f"{role} drawn")
                drawn.noisy("noise", 0, np.array([5]))
                ledger.keep_release(drawn.entry, {"value": role})
                undrawn = ledger.charge_plan(plan(), "undrawn", f"{role} undrawn").entry
                open_one = ledger.reserve_plan(plan(), "open", f"{role} open", rounds=5).entry
                ledger.draw_parts(f"{role} open", [(1, 1)])
                ledger.return_parts(f"{role} open", [(5, 5)])
                with pytest.raises(LedgerError):
                    ledger.charge_plan(plan(), "other", f"{role} drawn")
                with pytest.raises(Exception, match="beyond the budget"):
                    ledger.charge_plan(plan(5), "too much", f"{role} refused")
                self.numbers[role] = {"drawn": drawn.entry, "undrawn": undrawn, "open": open_one}
        with self.connected("owner") as link:
            rows = link.execute(
                "SELECT kind, key, about, body FROM entries WHERE role = 'forger' ORDER BY number"
            )
            for kind, key, about, body in rows.fetchall():
                self.templates[kind] = key, about, json.loads(body)

    def url(self, role):
        return self.team.replace("owner@", f"{role}@")

    def connected(self, role):
        return self.postgres.within(self.team, role)

    def write(self, kind, key, about, body, root=None):
        """Append an entry as the forger; return the last honest one."""
        with self.connected("forger") as link, link.transaction():
            last = "SELECT number, root, digest FROM entries ORDER BY number DESC LIMIT 1"
            number, old, before = link.execute(last).fetchone()
            text = body if isinstance(body, str) else json.dumps(body, sort_keys=True, separators=(",", ":"))
            values = (number + 1, kind, key, about, text, root or old)
            digest = seal(before, *values)
            names = "number, kind, key, about, body, root, digest"
            insert = f"INSERT INTO entries ({names}) VALUES (%s,%s,%s,%s,%s,%s,%s)"
            link.execute(insert, (*values, digest))
            link.execute("UPDATE ledger SET last = %s, head = %s", (number + 1, digest))
        return number, before

    def undo(self, number, digest):
        with self.connected("owner") as link:
            link.execute("GRANT DELETE ON entries TO owner")
            link.execute("DELETE FROM entries WHERE number > %s", (number,))
            link.execute("REVOKE DELETE ON entries FROM owner")
        repair(self.team, digest)


@pytest.fixture
def forger(postgres, team):
    return Forger(postgres, team)


def altered(forger):  # noqa: C901 - a table
    """Yield what is altered, and the columns kind, key, about and body of the entry."""
    victim, mine = forger.numbers["victim"], forger.numbers["forger"]
    for kind, (key, about, body) in forger.templates.items():
        fresh = None if key is None else secrets.token_hex(4)
        spending = {"charge": "steps", "reservation": "parts"}.get(kind)
        if kind in (DRAWING, RELEASE):
            about = mine["undrawn"]  # noqa: PLW2901 - the other one has these already
        others = {DRAWING: victim["undrawn"], RELEASE: victim["undrawn"]}
        if kind in others:
            yield f"{kind}: of another's charge", kind, fresh, others[kind], body
            yield f"{kind}: of a reservation", kind, fresh, mine["open"], body
            yield f"{kind}: of nothing", kind, fresh, None, body
            yield f"{kind}: of a later entry", kind, fresh, 10_000, body
        elif kind in (ROUNDS, RETURN):
            yield (
                f"{kind}: of another's reservation",
                kind,
                None,
                None,
                {**body, "reservation": victim["open"]},
            )
            yield f"{kind}: of a charge", kind, None, None, {**body, "reservation": mine["drawn"]}
            twice = json.dumps({"a": {"reservation": mine["open"]}, **body, "reservation": victim["open"]})
            yield f"{kind}: of two", kind, None, None, twice.replace(" ", "")
            yield f"{kind}: no parts", kind, None, None, {**body, "parts": []}
        else:
            yield f"{kind}: about something", kind, fresh, mine["drawn"], body
        if kind != RELEASE:
            yield f"{kind}: by another", kind, fresh, about, {**body, "role": "victim"}
            for name in {"steps", "parts", "time", "digest", "reservation", "draws"} & body.keys() - {
                spending
            }:
                if name in ("time", "digest") and kind in (DRAWING, REFUSAL):
                    continue  # for readers only
                yield f"{kind}: no {name}", kind, fresh, about, {k: v for k, v in body.items() if k != name}
                yield f"{kind}: {name} of another form", kind, fresh, about, {**body, name: "x"}
        if spending:
            unit = lambda text: [[1, text], [10, "0"]]  # noqa: E731
            for text in ("-1/100", "NaN", "1e-2", "1/0", "inf", "0.01", "", "2/200", "1/1000"):
                steps = unit(text) if kind == CHARGE else [[5, unit(text)]]
                yield f"{kind}: {text!r}", kind, fresh, about, {**body, spending: steps}
            yield f"{kind}: nothing", kind, fresh, about, {k: v for k, v in body.items() if k != spending}
            yield (
                f"{kind}: says nothing",
                kind,
                fresh,
                about,
                {**body, spending: [], "theorem": None, "events": None},
            )
        if key is None:
            yield f"{kind}: with a key", kind, secrets.token_hex(4), about, body
        for other in ("budget", "nonsense", "reset", "scope", "cohort", "forfeit", *forger.templates):
            same = {other, kind} <= {REFUSAL, "reset"} or {other, kind} <= {ROUNDS, RETURN}
            if other != kind and not same and other not in (RELEASE, REFUSAL):
                yield f"{kind} as {other}", other, fresh, about, body
    yield "not an object", RELEASE, None, mine["undrawn"], "[]"
    yield "not JSON", REFUSAL, None, None, "{"


@deep
def test_clients_and_verify_refuse_every_altered_entry(forger):
    """Each is sealed and the last, as SQL can write it; a client that is open and one that is opened see it."""
    accepted = []
    for what, *columns in altered(forger):
        with Ledger.open(forger.url("victim")) as follower:
            follower.show()
            number, digest = forger.write(*columns)
            seen = [verify(forger.team) != VALID]
            for opened in (nullcontext(follower), None):
                try:
                    with opened or Ledger.open(forger.url("victim")) as ledger:
                        ledger.charge_plan(plan("1/10000", (20, 20)), "behind it")
                    seen.append(False)
                except LedgerError as error:
                    seen.append("\n" not in str(error))
        accepted += [] if all(seen) else [(what, seen)]
        forger.undo(number, digest)
    assert accepted == []
    assert verify(forger.team) == VALID


@deep
def test_no_client_draws_keeps_or_returns_for_another_role(forger):
    numbers = forger.numbers["victim"]
    with Ledger.open(forger.url("forger")) as ledger:
        ledger_acts = [
            lambda: ledger.keep_release(numbers["undrawn"], {"value": 999}),
            lambda: ledger.draw_parts("victim open"),
            lambda: ledger.return_parts("victim open"),
            lambda: ledger.charge(pure("1/100"), "drawn", (1, 9), "victim drawn"),
        ]
        for act in ledger_acts:
            with pytest.raises(InputError, match="of the role victim, who alone may draw for it"):
                act()
        assert ledger.release("victim drawn") == {"value": "victim"}  # what is kept is for everybody
    assert verify(forger.team) == VALID


@deep
def test_a_false_release_behind_a_good_entry_is_not_read_as_the_answer(forger):
    """Its marks are hidden from who opens later, so it is looked at where it is read."""
    number = forger.numbers["victim"]["undrawn"]
    forger.write(RELEASE, None, number, {"value": 999})
    forger.write(REFUSAL, None, None, forger.templates[REFUSAL][2])
    for role in ("forger", "victim"):
        with Ledger.open(forger.url(role)) as ledger, pytest.raises(LedgerError, match="may not write it"):
            ledger.release("victim undrawn")


# ------------------------------------------------------------------ one charge, one price


WAYS = {
    "theorem": lambda ledger, key: ledger.charge(pure("1/10"), "x", (1, 9), key),
    "stream": lambda ledger, key: ledger.charge_in_parts(pure("1/10"), "x", (1, 9), key),
    "plan": lambda ledger, key: ledger.charge_plan(plan("1/10"), "x", key),
    "many": lambda ledger, key: ledger.charge_many([(plan("1/10"), "x", key)])[0],
    "reservation": lambda ledger, key: ledger.reserve_plan(plan("1/10"), "x", key),
}


@pytest.mark.parametrize("how", WAYS)
def test_a_key_is_not_drawn_at_an_earlier_price(url, monkeypatch, how):
    """A program that counted less wrote the entry; what it counted too much is kept, and charges nothing."""
    init(url, **BUDGET)
    for name in ("of_theorem", "of_plan"):
        honest = getattr(requests, name)
        monkeypatch.setattr(
            requests, name, lambda *given, honest=honest, **more: priced(honest(*given, **more))
        )

    def priced(request):
        cost = [(unit, tuple(factor * one for one in amounts)) for unit, amounts in request.steps]
        return replace(request, steps=cost if factor else [])

    with Ledger.open(url) as ledger:
        for factor in (Fraction(0), Fraction(1, 2), Fraction(2)):
            assert WAYS[how](ledger, f"times {factor}").entry is not None
        spent, factor = ledger.show()["spent"], Fraction(1)
    with Ledger.open(url) as ledger:
        for key in ("times 0", "times 1/2"):
            try:
                reason = WAYS[how](ledger, key).reason
            except LedgerError as error:
                reason = str(error)
            assert "pays less than this charge costs now" in reason
        assert WAYS[how](ledger, "times 2").entry == 3
        assert (ledger.show()["spent"], ledger.verify()) == (spent, VALID)


@deep
def test_an_entry_with_no_amount_pays_for_nothing(forger):
    """The role that may charge writes the entry of its own charge, with the right digest and no amount."""
    with Ledger.open(forger.url("forger")) as ledger:
        big = pure(10)
        digest = requests.of_theorem(ledger.budget, big, "mean", (1, 9)).digest
    _, _, body = forger.templates[CHARGE]
    forger.write(CHARGE, "free", None, {**body, "digest": digest, "steps": []})
    with Ledger.open(forger.url("forger")) as ledger, pytest.raises(LedgerError, match="pays less"):
        ledger.charge(big, "mean", (1, 9), "free")


def test_an_entry_in_another_scope_pays_for_nothing_in_this_one(forger):
    with Ledger.open(forger.url("arranger")) as ledger:
        ledger.set_scope("team", "1/2")
    with Ledger.open(forger.url("forger")) as ledger:
        asked = requests.of_plan(ledger.budget, plan(), "x").within("team")
        ledger.charge_plan(plan(), "x", "elsewhere")
    with forger.connected("owner") as link:
        [(body,)] = link.execute("SELECT body FROM entries WHERE key = 'elsewhere'").fetchall()
    forger.write(CHARGE, "free", None, {**json.loads(body), "digest": asked.digest, "steps": []})
    with Ledger.open(forger.url("forger")) as ledger, pytest.raises(LedgerError, match="or elsewhere"):
        ledger.charge_plan(plan(), "x", "free", scope="team")


def test_an_imported_ledger_knows_no_authors(forger, tmp_path):
    """Whoever may charge goes on there: the server saw the owner write all of it."""
    from dpaccount.ledger.journal.export import imported as import_
    from dpaccount.ledger.journal.export import lines as export

    lines = tmp_path / "lines"
    lines.write_bytes(b"".join(export(forger.team)))
    again = f"{forger.team}_again"
    import_(lines, again)
    grant(again, "arranger", arrange=True)
    assert verify(again) == VALID
    with Ledger.open(again.replace("owner@", "arranger@")) as ledger:
        ledger.forfeit(None, "moved")
        ledger.keep_release(
            "forger drawn" if ledger.release("forger drawn") is None else "victim undrawn", {}
        )
    assert verify(again) == VALID
