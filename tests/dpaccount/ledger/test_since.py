"""Verifying from a noted head on says valid just where verifying everything does, and adds up little.

Teams charge scopes and cohorts, before and after a reset; then somebody who holds the file changes what a later
charge says, or what it does to the totals, and makes every digest after it fit again.
"""

import json
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.ledger.balances.state import change_of
from dpaccount.ledger.entry import CHARGE, ORIGIN, seal
from dpaccount.ledger.journal import entries
from dpaccount.ledger.journal import verify as heads
from dpaccount.ledger.journal.entries import as_written
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.requests import RefusedError
from dpaccount.plan.events import Plan, Pure, Relation
from tests.depth import deep, examples

from .conftest import BUDGET, VALID, by_hand, sealed

SCOPES = (None, "a", "a/b")
COHORTS = (None, "ward")
WARD = [(3, 5)]

charges = st.tuples(
    st.sampled_from([Fraction(1, 50), Fraction(1, 100)]),
    st.sampled_from([None, (2, 7), (4, 4)]),
    st.sampled_from(SCOPES),
    st.sampled_from(COHORTS),
)


def charge(ledger: Ledger, size, cover, scope, cohort) -> str:
    plan = Plan(Relation.REPLACE_ONE, (Pure(epsilon=size, cover=None if cohort else cover),))
    return ledger.charge_plan(plan, "x", scope=scope, cohort=cohort).head


def team(url: str, *, reset: bool, first: list) -> list[str]:
    """Make a team's ledger with these charges, half of them before a reset; return its heads."""
    init(url, **BUDGET)
    with Ledger.open(url) as ledger:
        ledger.set_scope("a", "9/10")
        ledger.set_scope("a/b", "8/10")
        ledger.name_cohort("ward", WARD)
        noted = [charge(ledger, *one) for one in first[::2]]
        if reset:
            ledger.reset("a new quarter")
        noted += [charge(ledger, *one) for one in first[1::2]]
        return [*noted, ledger.show()["head"]]


def without(facts: dict, *names: str) -> dict:
    return {name: value for name, value in facts.items() if name not in names}


SAID = {
    "another purpose": lambda facts: {**facts, "purpose": "y"},
    "no scope": lambda facts: without(facts, "scope"),
    "a scope": lambda facts: {**facts, "scope": "a"},
    "the scope below": lambda facts: {**facts, "scope": "a/b"},
    "a scope that is not there": lambda facts: {**facts, "scope": "z"},
    "no cohort": lambda facts: without(facts, "cohort", "units"),
    "a cohort": lambda facts: {**facts, "cohort": "ward", "units": [list(one) for one in WARD]},
    "a cohort that is not there": lambda facts: {**facts, "cohort": "z", "units": [[1, 2]]},
    "other units": lambda facts: {**facts, "units": [[3, 6]]},
    "the next year": lambda facts: {**facts, "time": f"{int(facts['time'][:4]) + 1}{facts['time'][4:]}"},
    "the year before": lambda facts: {**facts, "time": f"{int(facts['time'][:4]) - 1}{facts['time'][4:]}"},
    "half the amounts": lambda facts: {**facts, "steps": [[n, "1/200"] for n, _ in facts["steps"]]},
    "units as text": lambda facts: {**facts, "units": json.dumps(facts.get("units"))},
    "other units pay": lambda facts: {**facts, "steps": [[n + 1, text] for n, text in facts["steps"]]},
}


def saying(what: str) -> Callable[[str], str]:
    return lambda body: as_written(SAID[what](json.loads(body)))


WHERE = [(scope, cohort) for scope in reversed(SCOPES) for cohort in reversed(COHORTS)]


def end_of(url: str) -> int:
    return heads.standing(url)["number"]


def judged_alike(url: str, noted: list[str]) -> bool:
    """Say whether all is valid, by verifying everything and from each of the heads."""
    valid = verify(url)["valid"]
    assert {heads.verify(url, since=head)["valid"] for head in noted} == {valid}
    return valid


@deep
@examples(15, 15)
@given(
    reset=st.booleans(), first=st.lists(charges, max_size=4), later=st.lists(charges, min_size=1, max_size=3)
)
def test_from_any_head_all_is_well(tmp_path_factory, reset, first, later):
    url = f"sqlite:///{tmp_path_factory.mktemp('since')}/budget.db"
    noted = team(url, reset=reset, first=first)
    with Ledger.open(url) as ledger:
        noted += [charge(ledger, *one) for one in later]
    assert judged_alike(url, noted)


def many(file, *, reset: bool) -> tuple[str, list[str]]:
    """Make a ledger with two charges each way, and each again; return its URL and the heads from there on."""
    url = f"sqlite:///{file}"
    twice = [(Fraction(1, 100), (2, 7), *where) for where in WHERE for _ in (1, 2)]
    noted = team(url, reset=reset, first=twice)[-1:]
    with Ledger.open(url) as ledger:
        return url, noted + [charge(ledger, *one) for one in twice]


@deep
@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("what", SAID)
def test_what_a_later_charge_says_is_judged_as_by_verifying_everything(tmp_path, what, reset):
    """Every charge of every kind is changed in a copy, and judged from before all of them and right before it."""
    file = tmp_path / "budget.db"
    url, noted = many(file, reset=reset)
    count = len(noted) - 1
    for place in range(count):
        copy = tmp_path / f"{place}.db"
        copy.write_bytes(file.read_bytes())
        sealed(copy, end_of(url) - count + 1 + place, saying(what))
        judged_alike(f"sqlite:///{copy}", [noted[0], noted[place]])


@deep(quick_every=2)
@pytest.mark.parametrize("what", SAID)
def test_a_ledger_where_nothing_is_arranged_is_judged_as_by_verifying_everything(tmp_path, what):
    file = tmp_path / "budget.db"
    init(f"sqlite:///{file}", **BUDGET)
    with Ledger.open(f"sqlite:///{file}") as ledger:
        noted = [charge(ledger, Fraction(1, 100), (2, 7), None, None) for _ in range(3)]
    sealed(file, 3, saying(what))
    judged_alike(f"sqlite:///{file}", noted[:2])


#: what who holds the file does to rows; after some of it every digest is made to fit again
ROWS = {
    "a root": "UPDATE entries SET root = (SELECT root FROM entries WHERE number = 1) WHERE number = 3",
    "a number": "UPDATE entries SET number = number + 1 WHERE number = 5",
    "no root": "UPDATE entries SET root = NULL WHERE number = 3",
    "the last charge without a root": "UPDATE entries SET root = NULL WHERE number = 5",
    "a peak of the last root": "UPDATE entries SET root = replace(root, '|1/20|', '|0|') WHERE number = 5",
    "brackets": "UPDATE entries SET body = replace(hex(zeroblob(50000)), '0', '[') WHERE number = 4",
    "an unknown kind": "UPDATE entries SET kind = 'upgrade' WHERE number = 3",
    "an entry": "DELETE FROM entries WHERE number = 3",
    "a kind": "UPDATE entries SET kind = 'drawing' WHERE number = 4",
    "what stands before entry 0": "INSERT INTO entries SELECT -7, kind, 'planted', about, body, root, digest"
    " FROM entries WHERE number = 1",
    "the budget": "UPDATE entries SET body = replace(body, 'epsilon\":\"1', 'epsilon\":\"9') WHERE number = 0",
    "the head": "UPDATE ledger SET head = (SELECT digest FROM entries WHERE number = 2)",
    "the last": "UPDATE ledger SET last = 4",
    "a node": "UPDATE nodes SET body = replace(body, '1/20', '1/40')",
}
UNSEALED = ("the budget", "the head", "the last", "a node")


@deep
@pytest.mark.parametrize("what", ROWS)
def test_rows_that_were_changed_are_found_from_a_head_too(url, tmp_path, what):
    file = tmp_path / "budget.db"
    init(url, **BUDGET)
    with Ledger.open(url) as ledger:
        first, second = (charge(ledger, Fraction(1, 100), None, None, None) for _ in (1, 2))
        with pytest.raises(RefusedError):
            charge(ledger, Fraction(2), None, None, None)
        for _ in (1, 2):
            charge(ledger, Fraction(1, 40), (3, 5), None, None)
    assert judged_alike(url, [first, second])
    by_hand(file, ROWS[what])
    if what not in UNSEALED:
        sealed(file, 3)
    assert not judged_alike(url, [first, second])


def spends(steps, facts, *, life=True, year=True, period=True):
    """Return a change of totals by a charge that leaves some of them out."""

    def change(state):
        changed = change_of([steps], 1)
        if life:
            state.add_life(changed)
        if year:
            state.add_year(changed)
        if period:
            state.add_period(changed, facts.get("scope"))

    return change


def forged(ledger: Ledger, change, facts: dict) -> None:
    """Append a charge as who holds the file could: its digest and state fit, and it may not."""
    with ledger._store.writing() as rows:
        state = ledger._totals(rows).state(rows.node)
        change(state)
        state.keep(rows)
        facts_written = {"time": entries.now(), "digest": f"sha256:{'0' * 64}", "events": 1, **facts}
        rows.append(CHARGE, as_written(facts_written), state.text)


FIVE = [(3, (Fraction(1, 100),)), (6, (Fraction(0),))]
MUCH = [(3, (Fraction(6, 10),)), (6, (Fraction(0),))]
WRITTEN = [[3, "1/100"], [6, "0"]]
#: what a charge says, what it does, and whether it may (after a reset the next year is kept by itself)
FORGED = {
    "all of it": ({"scope": "a/b"}, FIVE, {}, True),
    "not to the scope": ({"scope": "a/b"}, FIVE, {"period": False}, False),
    "not to the year": ({"scope": "a/b"}, FIVE, {"year": False}, False),
    "not to the life": ({"scope": "a/b"}, FIVE, {"life": False}, False),
    "more than it says": ({"scope": "a/b"}, MUCH, {}, False),
    "to a cohort of other units": ({"cohort": "ward", "units": [[3, 6]]}, FIVE, {}, False),
    "for a cohort that is not there": ({"cohort": "z", "units": [[3, 5]]}, FIVE, {}, False),
    "for the cohort": ({"cohort": "ward", "units": [[3, 5]]}, FIVE, {}, True),
}


@deep
@pytest.mark.parametrize("what", FORGED)
@pytest.mark.parametrize("reset", [False, True])
def test_what_a_charge_does_to_totals_is_judged_as_by_verifying_everything(url, monkeypatch, what, reset):
    facts, steps, left_out, right = FORGED[what]
    first = [(Fraction(1, 50), None, scope, cohort) for scope in SCOPES for cohort in COHORTS for _ in (1, 2)]
    noted = team(url, reset=reset, first=first)
    later = int(entries.now()[:4]) + 1
    monkeypatch.setattr(entries, "now", lambda: f"{later}-01-01T00:00:00+00:00")
    with Ledger.open(url) as ledger:
        noted += [charge(ledger, *one) for one in first[:2]]
        forged(ledger, spends(steps, facts, **left_out), {"steps": WRITTEN, **facts})
    right = right or (left_out == {"year": False} and not reset)
    assert verify(url)["valid"] is right
    assert {heads.verify(url, since=head)["valid"] for head in noted} == {right}


@deep
@pytest.mark.parametrize("many", [0, heads.ALONE])
def test_more_than_the_budget_is_found_where_nothing_is_arranged(url, many):
    init(url, **BUDGET)
    with Ledger.open(url) as ledger:
        noted = [charge(ledger, Fraction(1, 100), None, None, None)]
        some = Plan(Relation.REPLACE_ONE, (Pure(epsilon=Fraction(1, 10**6), cover=(2, 7)),))
        ledger.charge_many([(some, "x", None)] * many)
        facts = {"steps": [[3, "100"], [6, "0"]]}
        forged(
            ledger,
            spends([(3, (Fraction(100),)), (6, (Fraction(0),))], facts, year=False, period=False),
            facts,
        )
    assert not judged_alike(url, noted)


def test_another_budget_is_found_though_its_entry_alone_was_sealed_again(url, tmp_path):
    """Entry 0 is read anew: that it was so at the noted head follows from the digests, or from one noted."""
    file = tmp_path / "budget.db"
    origin = init(url, **BUDGET)["head"]
    with Ledger.open(url) as ledger:
        noted = [charge(ledger, Fraction(1, 100), None, None, None) for _ in range(3)]
    assert heads.verify(url, since=noted[1], head=origin) == VALID
    [(body, root)] = by_hand(file, "SELECT body, root FROM entries WHERE number = 0")
    body = body.replace('"epsilon":"1"', '"epsilon":"900"')
    digest = seal(ORIGIN, 0, "budget", None, None, body, root)
    by_hand(file, "UPDATE entries SET body = ?, digest = ? WHERE number = 0", values=(body, digest))
    assert not judged_alike(url, noted)
    assert not heads.verify(url, since=noted[1], head=origin)["valid"]


def test_the_digests_before_a_head_are_read_unless_the_first_is_known(url, monkeypatch):
    origin = init(url, **BUDGET)["head"]
    with Ledger.open(url) as ledger:
        noted = [charge(ledger, Fraction(1, 100), None, None, None) for _ in range(9)]
    asked, real = [], heads.check_linked
    monkeypatch.setattr(heads, "check_linked", lambda *given: asked.append(1) or real(*given))
    assert heads.verify(url, since=noted[6], head=origin) == VALID
    assert not asked
    assert heads.verify(url, since=noted[6], head=noted[3]) == heads.verify(url, since=noted[6]) == VALID
    assert len(asked) == 2


def test_more_than_is_held_in_memory_is_verified_whole(url, monkeypatch):
    init(url, **BUDGET)
    with Ledger.open(url) as ledger:
        noted = [charge(ledger, Fraction(1, 100), None, None, None) for _ in range(9)]
    asked, real = [], heads.first_bad
    monkeypatch.setattr(heads, "MOST_LATER", 3)
    monkeypatch.setattr(heads, "first_bad", lambda rows: asked.append(1) or real(rows))
    assert [heads.verify(url, since=head) for head in noted[3:]] == [VALID] * 6
    assert len(asked) == 2


@deep
def test_a_scope_of_endless_slashes_is_no_name(tmp_path):
    """Not even to be taken apart: all above it would take all memory."""
    file = tmp_path / "budget.db"
    url, first = f"sqlite:///{file}", [(Fraction(1, 50), None, "a", None)] * 2
    noted = team(url, reset=False, first=first)
    sealed(file, end_of(url), lambda body: body.replace('"scope":"a"', f'"scope":"{"a/" * 10**6}"'))
    assert not judged_alike(url, noted[:1])


def test_more_than_a_scope_may_spend_is_found_though_the_ledger_has_room(url):
    [*_, noted] = team(url, reset=False, first=[(Fraction(1, 50), None, "a/b", None)])
    facts = {"scope": "a/b", "steps": [[3, "9/10"], [6, "0"]]}
    with Ledger.open(url) as ledger:
        forged(ledger, spends([(3, (Fraction(9, 10),)), (6, (Fraction(0),))], facts), facts)
    assert verify(url) == heads.verify(url, since=noted) == {"valid": False, "first_bad": "totals"}


@pytest.mark.parametrize("time", ["", "soon", 2026])
def test_a_charge_says_when_it_was_made_where_something_is_arranged(tmp_path, time):
    file = tmp_path / "budget.db"
    noted = team(f"sqlite:///{file}", reset=False, first=[(Fraction(1, 50), None, None, None)] * 3)
    sealed(file, end_of(f"sqlite:///{file}"), lambda body: as_written({**json.loads(body), "time": time}))
    assert not judged_alike(f"sqlite:///{file}", noted[:1])


@deep
@pytest.mark.parametrize("reset", [False, True])
def test_charges_of_scopes_and_cohorts_are_recomputed_alone(url, monkeypatch, reset):
    """Not so the first charge of a cohort, nor a scope's first after a reset: they change what is arranged."""
    first = [(Fraction(1, 50), None, scope, cohort) for scope in SCOPES for cohort in COHORTS for _ in (1, 2)]
    [*_, noted] = team(url, reset=reset, first=first)
    with Ledger.open(url) as ledger:
        for scope in SCOPES:
            for cohort in COHORTS:
                charge(ledger, Fraction(1, 100), (2, 7), scope, cohort)
    everything = []
    monkeypatch.setattr(heads, "first_bad", everything.append)
    assert heads.verify(url, since=noted) == VALID
    assert not everything
