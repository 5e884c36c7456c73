"""Scopes, cohorts, reservations, resets, forfeits: what fits where, and that no part is drawn or returned twice."""

import json
import multiprocessing
import os
import shutil
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from audits.cli.app import run
from audits.reports import review
from audits.reports.log import log
from dpaccount.errors import BudgetError, DpaccountError, InputError, LedgerError, ReceiptError
from dpaccount.ledger.balances import bodies
from dpaccount.ledger.balances.bodies import ReturnBody, steps_of
from dpaccount.ledger.balances.state import Cohort, Period, Scopes, change_of
from dpaccount.ledger.entry import COHORT, ORIGIN, RESET, RETURN, ROUNDS, SCOPE, seal
from dpaccount.ledger.journal import export
from dpaccount.ledger.journal import verify as heads
from dpaccount.ledger.journal.entries import as_written, now
from dpaccount.ledger.journal.verify import repair, verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.requests import RefusedError
from dpaccount.plan.events import Gaussian, Gdp, Laplace, Plan, Pure, Relation, Tree
from tests.depth import deep

from .conftest import VALID, by_hand, olden, plan, pure, recounted, sealed


def sound(ledger: Ledger, url: str) -> bool:
    return ledger.verify() == VALID and recounted(url)


def spent(ledger: Ledger) -> float:
    return ledger.show()["spent"]["epsilon"]["upper"]


# ------------------------------------------------------------------ scopes


@deep
def test_many_charges_and_noise_in_parts_fit_a_scope_too(make, url):
    ledger = make(1)
    ledger.set_scope("team", "1/2")
    ledger.set_scope("team/ada", "3/10")
    many = ledger.charge_many([(plan("1/10"), "a", f"key {n}") for n in range(4)], scope="team/ada")
    assert [one.reason is None for one in many] == [True, True, True, False]
    assert "the scope team/ada" in many[3].reason
    assert [one.known for one in ledger.charge_many([(plan("1/10"), "a", "key 1")], scope="team/ada")] == [
        True
    ]
    [other] = ledger.charge_many([(plan("1/10"), "a", "key 1")])  # elsewhere it is a different charge
    assert "a different charge" in other.reason
    parts = ledger.charge_in_parts(pure("1/10"), "b", None, "stream", scope="team")
    assert ledger.charge_in_parts(pure("1/10"), "b", None, "stream", scope="team").entry == parts.entry
    with pytest.raises(LedgerError, match="a different charge"):
        ledger.charge_in_parts(pure("1/10"), "b", None, "stream")
    with pytest.raises(RefusedError, match="the scope team/ada"):
        ledger.charge_in_parts(pure("1/10"), "b", None, "second", scope="team/ada")
    for ask in (
        lambda: ledger.charge_many([(plan("1/10"), "a", None)], scope="nobody"),
        lambda: ledger.charge_in_parts(pure("1/10"), "b", None, "third", scope="nobody"),
        lambda: ledger.check_scope("nobody"),
    ):
        with pytest.raises(InputError, match="there is no scope nobody; make it with"):
            ask()
    with pytest.raises(InputError, match="is no name"):
        ledger.check_scope("Team\n")
    ledger.check_scope("team/ada")
    assert [round(one["spent"]["epsilon"]["upper"], 9) for one in ledger.show()["scopes"]] == [0.4, 0.3]
    assert sound(ledger, url)


def test_scopes_that_are_not_there_or_have_no_name(make):
    ledger = make(1)
    for scope in ("team", "team/ada"):
        with pytest.raises(InputError, match="no scope team"):
            ledger.charge_plan(plan("1/10"), "a", scope=scope)
    with pytest.raises(InputError, match="make it before"):
        ledger.set_scope("team/ada", 1)
    for name in ("", "Team", "/team", "team/", "a//b", "a" * 65, "a/" * 17 + "a", "ü", "a b"):
        with pytest.raises(InputError, match="is no name"):
            ledger.set_scope(name, 1)
    for epsilon, delta in (
        (-1, 0),
        (1, 1),
        (1, -1),
        (Fraction(1, 3**10_000), 0),
        (1, Fraction(1, 3**10_000)),
    ):
        with pytest.raises(InputError, match="; "):
            ledger.set_scope("team", epsilon, delta)
    ledger.set_scope("team", 1)
    with pytest.raises(InputError, match="go up to"):
        ledger.charge_plan(plan("1/10", (1, 2**42)), "far", scope="team")
    ledger.charge_plan(plan("1/10", (1, 2**42 - 1)), "far", scope="team")
    ledger.charge_plan(plan("1/10", (1, 2**60)), "farther")
    assert ledger.verify() == VALID


def test_a_theorem_is_charged_to_a_scope(make, url):
    ledger = make(1)
    ledger.set_scope("team", "1/10")
    ledger.charge(pure("1/10"), "mean", scope="team")
    with pytest.raises(RefusedError, match="scope team"):
        ledger.charge(pure("1/10"), "mean", scope="team")
    assert sound(ledger, url)


# ------------------------------------------------------------------ cohorts


@deep
def test_a_cohort_that_changes_while_it_is_charged_is_not_charged(make, url, monkeypatch):
    """Its units are looked up first; who gives the name others before the commit is found."""
    ledger = make(1)
    ledger.name_cohort("adults", [(1, 5)])
    with Ledger.open(url) as other:

        def looked_up(_):
            other.name_cohort("adults", [(1, 9)])
            return [(1, 5)]

        monkeypatch.setattr(ledger, "units_of", looked_up)
        with pytest.raises(BudgetError, match="other units meanwhile"):
            ledger.charge_plan(plan("1/10"), "a", cohort="adults")
    assert spent(ledger) == 0
    monkeypatch.undo()
    ledger.charge_plan(plan("1/10"), "a", cohort="adults")
    assert sound(ledger, url)


@deep
def test_a_charge_to_a_cohort_that_others_pay_is_found(make, url):
    ledger = make(1)
    ledger.name_cohort("adults", [(1, 5)])
    facts = {"cohort": "adults", "units": [[1, 5]], "steps": [[1, "1/10"], [7, "0"]]}

    def change(state):
        state.add_life(change_of([steps_of(facts["steps"], 1)], 1))
        state.register.put("cohort adults", Cohort([(1, 5)], charged=True))

    number = forge(url, "charge", facts, change)
    assert verify(url)["first_bad"] == number
    assert not recounted(url)


def test_a_tree_stays_in_its_cohort(make):
    ledger = make(1, "1/1000", "gdp")
    ledger.name_cohort("rounds", [(5, 9)])
    ledger.charge_plan(Plan(Relation.REPLACE_ONE, ()), "a", cohort="rounds", dry_run=True)
    ledger.name_cohort("rounds", [(1, 8)])  # a dry run has not charged the others
    for event in (Tree(rounds=8, sigma=100), Gaussian(sigma=100, cover=(8, 8))):
        ledger.charge_plan(Plan(Relation.REPLACE_ONE, (event,)), "a", cohort="rounds")
    for event in (Tree(rounds=9, sigma=100), Gaussian(sigma=100, cover=(8, 9))):
        with pytest.raises(InputError, match="not of the cohort"):
            ledger.charge_plan(Plan(Relation.REPLACE_ONE, (event,)), "a", cohort="rounds")


@pytest.mark.parametrize(
    ("name", "units"),
    [
        *(("some", units) for units in ([], [(0, 3)], [(5, 4)], [(1, 3), (3, 4)], [(1, 2**63)])),
        *((name, [(1, 2)]) for name in ("a/b", "A", "")),
    ],
)
def test_what_is_no_cohort(make, name, units):
    ledger = make(1)
    with pytest.raises(InputError, match=r"; |go up to"):
        ledger.name_cohort(name, units)
    with pytest.raises(InputError, match="no cohort"):
        ledger.charge_plan(plan("1/10"), "a", cohort="none")


# ------------------------------------------------------------------ reservations


def test_a_reservation_costs_what_its_parts_cost_alone(make):
    """Else what was drawn might not pay for itself once the rest is returned."""
    ledger = make(9, "1/1000", "gdp")
    whole = Plan(Relation.REPLACE_ONE, (Gdp(mu="1/2", count=4),))
    ledger.reserve_plan(whole, "x", "k")
    assert ledger.show()["spent"]["mu_squared"] == 1
    ledger.draw_parts("k", [(2, 2)])
    ledger.return_parts("k")
    assert ledger.show()["spent"]["mu_squared"] == 0.25


def test_a_reservation_is_a_charge_under_its_key(make):
    ledger = make(1)
    first = ledger.reserve_plan(plan("1/10"), "x", "k", rounds=2)
    again = ledger.reserve_plan(plan("1/10"), "x", "k", rounds=2)
    assert (again.entry, again.known) == (first.entry, True)
    for ask in (
        lambda: ledger.reserve_plan(plan("1/10"), "x", "k", rounds=3),
        lambda: ledger.charge_plan(plan("2/10"), "x", "k"),
        lambda: ledger.charge(pure("2/10"), "x", key="k"),
    ):
        with pytest.raises(LedgerError, match="different charge"):
            ask()
    with pytest.raises(RefusedError, match="beyond the budget"):
        ledger.reserve_plan(plan("1/10"), "x", "l", rounds=9)
    ledger.charge_plan(plan("1/10"), "x", "plain")
    for key in ("plain", "missing"):
        for take in (ledger.draw_parts, ledger.return_parts, ledger.open_parts):
            with pytest.raises(InputError, match="not the key of a reservation"):
                take(key)
    for rounds in (0, 2**53 + 1):
        with pytest.raises(InputError, match="1 to 2"):
            ledger.reserve_plan(plan(0), "x", "m", rounds=rounds)
    two = Plan(Relation.REPLACE_ONE, plan(0, count=2**53).events * 2)
    for tried in (True, False):  # parts of two events together
        with pytest.raises(InputError, match="1 to 2"):
            ledger.reserve_plan(two, "x", "m", dry_run=tried)
    with pytest.raises(RefusedError, match="no bound"):
        ledger.reserve_plan(Plan(Relation.REPLACE_ONE, (Gdp(mu=1),)), "x", "n")


def _race(url: str, start, number: int, answers) -> None:
    start.wait()
    with Ledger.open(url) as ledger:
        for part in range(1, 31):
            try:
                (ledger.draw_parts if number % 2 else ledger.return_parts)("k", [(part, part)])
                answers.put((number % 2, part))
            except BudgetError:
                continue
    answers.put(None)


@deep
def test_draws_and_returns_race_in_several_processes(make, url):
    ledger = make(1)
    ledger.reserve_plan(plan("1/30"), "x", "k", rounds=30)
    ledger.close()
    spawn = multiprocessing.get_context("fork")
    start, answers = spawn.Event(), spawn.Queue()
    ones = [spawn.Process(target=_race, args=(url, start, number, answers)) for number in range(4)]
    for one in ones:
        one.start()
    start.set()
    taken, ended = [], 0
    while ended < len(ones):
        answer = answers.get(timeout=120)
        ended += answer is None
        taken += [answer] if answer else []
    for one in ones:
        one.join()
    assert sorted(part for _, part in taken) == list(range(1, 31))  # each part once, to one of them
    drawn = sum(is_drawn for is_drawn, _ in taken)
    with Ledger.open(url) as ledger:
        assert ledger.open_parts("k")[1] == []
        assert Fraction(ledger.show()["spent"]["epsilon"]["upper"]).limit_denominator(30) == Fraction(
            drawn, 30
        )
        assert sound(ledger, url)


@deep
def test_parent_and_child_never_draw_the_same_part(make, url):
    ledger = make(1)
    ledger.reserve_plan(plan("1/10"), "x", "k", rounds=4)
    ledger.draw_parts("k")
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writes, json.dumps(ledger.draw_parts("k")[1]).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert json.loads(os.read(reads, 100)) == [[2, 2]]
    assert ledger.draw_parts("k")[1] == [(3, 3)]
    assert sound(ledger, url)


class PowerCutError(BaseException):
    """Ends a process between two steps."""


@pytest.mark.parametrize("take", ["draw_parts", "return_parts"])
def test_a_crash_before_the_commit_leaves_nothing_and_after_it_everything(make, url, monkeypatch, take):
    ledger = make(1)
    ledger.reserve_plan(plan("1/10"), "x", "k", rounds=2)
    before = ledger.show()

    def cut(*_, **__):
        raise PowerCutError

    with monkeypatch.context() as patch:
        patch.setattr("dpaccount.ledger.stores.rows.Rows.append", cut)
        with pytest.raises(PowerCutError):
            getattr(ledger, take)("k", [(1, 1)])
    assert ledger.show() == before
    assert ledger.open_parts("k")[1] == [(1, 2)]
    getattr(ledger, take)("k", [(1, 1)])
    with Ledger.open(url) as other, pytest.raises(BudgetError, match="not open"):
        other.draw_parts("k", [(1, 1)])
    assert sound(ledger, url)


def test_parts_in_too_many_pieces_are_refused(make, monkeypatch):
    monkeypatch.setattr(bodies, "MOST_RANGES", 2)
    ledger = make(1)
    ledger.reserve_plan(plan("1/10"), "x", "k", rounds=9)
    ledger.draw_parts("k", [(3, 3)])
    with pytest.raises(BudgetError, match="too many pieces"):
        ledger.draw_parts("k", [(6, 6)])
    ledger.draw_parts("k", [(4, 4)])


@pytest.mark.parametrize(
    "parts",
    [[(1, 5), (6, 3)], [(6, 3), (1, 5)], [(1,)], [1], "1-2", None, [("1", "2")], [(1, 2.0)], [(True, 1)]],
)
def test_what_is_no_range_is_refused_and_takes_nothing(make, parts):
    """A range from its end to its beginning was joined with the one before it: 1-5,6-3 gave 1-3 back."""
    ledger = make(1)
    ledger.reserve_plan(plan("1/10"), "x", "k", rounds=9)
    head = ledger.show()["head"]
    with pytest.raises(InputError):
        ledger.name_cohort("c", parts)
    for take in (ledger.draw_parts, ledger.return_parts) if parts is not None else ():
        with pytest.raises(InputError):
            take("k", parts)
    assert ledger.show()["head"] == head


@pytest.mark.parametrize("count", [0, -1, True, 1.0, "2", None])
def test_a_count_of_parts_is_a_whole_number(make, count):
    ledger = make(1)
    ledger.reserve_plan(plan("1/10"), "x", "k", rounds=9)
    with pytest.raises(InputError, match="whole number"):
        ledger.draw_parts("k", count=count)
    if count is not None:
        with pytest.raises(InputError, match=r"whole number|from 1 to"):
            ledger.reserve_plan(plan("1/100"), "x", "l", rounds=count)
    with pytest.raises(InputError, match="the key"):  # what has no key can never be drawn nor returned
        ledger.reserve_plan(plan("1/100"), "x", None, rounds=2)


# ------------------------------------------------------------------ resets


@deep
@pytest.mark.parametrize("measure", ["pure", "approximate", "gdp", "zcdp", "either"])
def test_a_team_in_every_measure(make, url, measure):
    ledger = make(1, 0 if measure == "pure" else "1/1000000", measure)
    ledger.reserve_plan(plan(0), "nothing", "zero", rounds=5)
    ledger.draw_parts("zero")
    ledger.return_parts("zero")
    ledger.set_scope("team", "1/2")
    small = [Pure(epsilon="1/100", cover=(1, 5), count=3), Pure(epsilon="1/70", cover=(2, 9))]
    if measure in ("gdp", "zcdp", "either"):
        small.append(Gaussian(sigma=30))
    whole = Plan(Relation.REPLACE_ONE, tuple(small))
    ledger.reserve_plan(whole, "x", "k", scope="team")
    ledger.reserve_plan(whole, "x", "rounds", rounds=2)
    ledger.draw_parts("k", [(2, 2), (4, 4)])
    ledger.reset("x")
    ledger.return_parts("k")
    ledger.return_parts("rounds", [(2, 2)])
    ledger.charge_plan(plan("1/100", (3, 4)), "x", scope="team")
    assert sound(ledger, url)
    ledger.return_parts("rounds")
    assert [one["worst_unit"] for one in ledger.show()["scopes"]] == [
        3
    ]  # what was drawn was of the period before
    assert sound(ledger, url)


# ------------------------------------------------------------------ chain, copies, tampering


@pytest.fixture
def full(make, url) -> str:
    """Return the URL of a ledger with every kind of entry."""
    ledger = make(1)
    ledger.charge_plan(plan("1/10", (1, 5)), "a")
    ledger.set_scope("team", "1/2", by="ada")
    ledger.name_cohort("adults", [(2, 4)])
    ledger.charge_plan(plan("1/20"), "b", scope="team", cohort="adults")
    ledger.reserve_plan(plan("1/20", (3, 9)), "c", "k", rounds=4, scope="team")
    ledger.draw_parts("k", count=2)
    ledger.return_parts("k", [(4, 4)])
    ledger.reset("quarter")
    ledger.charge_plan(plan("1/20", (3, 3)), "d", scope="team")
    with pytest.raises(BudgetError):
        ledger.charge_plan(plan(2), "e")
    ledger.close()
    return url


@deep
def test_every_edit_is_found(full, tmp_path, depth):
    original = Path(full.removeprefix("sqlite:///")).read_bytes()
    file, tried = tmp_path / "copy.db", 0
    rows = [("entries", "number", *row) for row in by_hand(full, "SELECT number, body FROM entries")]
    rows += [("nodes", "node", *row) for row in by_hand(full, "SELECT node, body FROM nodes")]
    for table_, column, number, body in depth.some(rows, 12):
        for other in (body.replace("1", "2", 1), body + " ", None):
            if other == body:
                continue
            file.write_bytes(original)
            if other is None:
                by_hand(file, f"DELETE FROM {table_} WHERE {column} = ?", values=(number,))
            else:
                change = f"UPDATE {table_} SET body = ? WHERE {column} = ?"
                by_hand(file, change, values=(other, number))
            try:
                bad = verify(f"sqlite:///{file}")["first_bad"]
            except LedgerError:
                bad = "refused"
            assert bad == ("totals" if table_ == "nodes" else bad)
            assert bad is not None
            tried += 1
    assert tried > 40


def test_records_of_an_earlier_version_are_refused_in_one_sentence(full, tmp_path):
    """Their digests have no name; where that is taken away from an entry, it was changed like any other."""
    file, lines = Path(full.removeprefix("sqlite:///")), tmp_path / "lines"
    roots = dict(by_hand(file, "SELECT number, root FROM entries WHERE root LIKE '%records/2:%'"))
    by_hand(file, "UPDATE entries SET root = replace(root, 'records/2:', '')")
    assert verify(full) == {"valid": False, "first_bad": min(roots)}
    for number, root in roots.items():
        sealed(file, number, root=root.replace("records/2:", ""))
    lines.write_bytes(b"".join(export.lines(full)))
    for act in (
        *(verify, repair, review.report, lambda url: review.report(url, replay=False)),
        lambda url: Ledger.open(url).charge_plan(plan("1/100"), "x"),
    ):
        with pytest.raises(
            LedgerError, match=r"are stored as an earlier version stored them; use that .*import`"
        ):
            act(full)


def test_import_writes_a_chain_anew_whose_records_an_earlier_version_stored(
    full, tmp_path, capsys, monkeypatch
):
    """The same entries lead to the same ledger, head and all; an edit of any of them is found first."""
    new, old, url = b"".join(export.lines(full)), tmp_path / "old", f"sqlite:///{tmp_path}/new.db"
    old.write_bytes(lines := olden(new))
    monkeypatch.setattr(heads, "ALONE", 0)
    assert lines.count(b"records/2:") == 0
    assert run(["ledger", "import", f"{old}", url, "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["was"] == json.loads(lines.splitlines()[0])["head"]
    assert "no head noted before is on it" in told.err
    assert b"".join(export.lines(url)) == new
    assert verify(url) == VALID
    assert recounted(url)
    by_line = lines.splitlines(keepends=True)
    for number, line in enumerate(by_line):
        for edited in {line.replace(b"1/20", b"1/10"), line.replace(b"sha256:", b"sha256:0"), b""} - {line}:
            old.write_bytes(b"".join([*by_line[:number], edited, *by_line[number + 1 :]]))
            with pytest.raises(
                LedgerError, match=r"export it again|export the ledger again|no exported ledger"
            ):
                export.imported(old, f"sqlite:///{tmp_path}/other.db")


@pytest.mark.parametrize("of_life", [True, False])
def test_old_roots_are_believed_about_nothing_that_can_be_read(full, tmp_path, of_life):
    """An old chain, sealed anew, whose roots say less than the entries: of a charge, or that there are records."""
    first, *rest = map(json.loads, olden(b"".join(export.lines(full))).splitlines())
    digest = ORIGIN
    for entry in rest:
        if entry["number"] >= len(rest) - 2:  # a charge, and a refusal
            parts = entry["root"].split("|")
            entry["root"] = "|".join([*parts[:3], "1/1000", *parts[4:]] if of_life else parts[:5])
        digest = seal(digest, *(entry[name] for name in ("number", "kind", "key", "about", "body", "root")))
        entry["digest"] = digest
    (tmp_path / "old").write_bytes(
        b"".join(json.dumps(one).encode() + b"\n" for one in ({**first, "head": digest}, *rest))
    )
    with pytest.raises(LedgerError, match="no valid ledger"):
        export.imported(tmp_path / "old", f"sqlite:///{tmp_path}/new.db")


@pytest.mark.parametrize("name", ["reservation ", "scope ", "period"])
def test_a_register_that_was_changed_stops_what_reads_it(full, name):
    [(node, body)] = [
        row
        for row in by_hand(full, "SELECT node, body FROM nodes WHERE body LIKE '{%'")
        if any(one.startswith(name) for one in json.loads(row[1]))
    ]
    wrong = body.replace("[[3,3]]", "[[1,4]]").replace('"0.5"', '"0.9"').replace('"number":1', '"number":2')
    assert wrong != body
    by_hand(full, "UPDATE nodes SET body = ? WHERE node = ?", values=(wrong, node))
    with Ledger.open(full) as ledger, pytest.raises(LedgerError, match="totals were changed"):
        ledger.draw_parts("k", [(1, 1)]) if name == "reservation " else ledger.charge_plan(
            plan("6/10", (3, 3)), "x", scope="team"
        )


def forge(url: str, kind: str, facts: dict, change=None) -> int:
    """Append an entry as who holds the file could: its digest and state are consistent, and it may not be."""
    with Ledger.open(url) as ledger, ledger._store.writing() as rows:
        totals = ledger._totals(rows)
        state = totals.state(rows.node)
        if change is not None:
            change(state)
        state.keep(rows)
        return rows.append(kind, as_written({"time": now(), **facts}), state.text).number


def put(name, value):
    return lambda state: state.register.put(name, value)


def gives(number, parts):
    """Return a change that gives parts back without a look at which are open."""

    def change(state):
        record = ReturnBody(time="2026-01-01", reservation=number, parts=[tuple(one) for one in parts])
        named = f"reservation {number}"
        kept = state.register.get(named)
        state.register.put(named, structs.replace(kept, open=[(1, 99)]))
        record.apply(state, None, 0, lambda _: BODY[0])
        state.register.put(named, kept)

    return change


BODY = [""]

FORGED = {
    "a part drawn again": (ROUNDS, {"reservation": 5, "parts": [[1, 1]]}, None),
    "a drawn part returned": (RETURN, {"reservation": 5, "parts": [[2, 2]]}, gives(5, [[2, 2]])),
    "a part returned again": (RETURN, {"reservation": 5, "parts": [[4, 4]]}, gives(5, [[4, 4]])),
    "parts in a wrong order": (ROUNDS, {"reservation": 5, "parts": [[3, 3], [1, 1]]}, None),
    "parts of nothing": (ROUNDS, {"reservation": 4, "parts": [[1, 1]]}, None),
    "a part returned that was never there": (RETURN, {"reservation": 5, "parts": [[5, 5]]}, None),
    "a draw that changes nothing": (ROUNDS, {"reservation": 5, "parts": [[3, 3]]}, None),
    "a cohort that was charged": (
        COHORT,
        {"cohort": "adults", "units": [[1, 9]]},
        put("cohort adults", Cohort([(1, 9)], charged=False)),
    ),
    "a cap below what is spent": (
        SCOPE,
        {"scope": "team", "epsilon": "0.01", "delta": "0"},
        lambda state: state.register.put(
            "scope team", structs.replace(state.register.get("scope team"), epsilon="0.01", delta="0")
        ),
    ),
    "a scope below nothing": (SCOPE, {"scope": "x/y", "epsilon": "1", "delta": "0"}, None),
    "a reset that frees what is reserved": (
        RESET,
        {"reason": "x"},
        lambda state: (
            state.drop(1, 1),
            state.drop(3, 9),
            state.register.put("period", Period(2, 11, "0|0|0|0|")),
        ),
    ),
    "a reset without a reason": (RESET, {}, None),
    "a record from nowhere": ("release", {}, put("scope gift", Scopes(3))),
    "an unknown kind": ("gift", {}, None),
    "nonsense": (RETURN, {"reservation": None, "parts": 7}, None),
}


@deep
@pytest.mark.parametrize("what", FORGED)
def test_forged_entries_are_found_by_verify_by_import_and_by_the_recount(full, tmp_path, what):
    [(BODY[0],)] = by_hand(full, "SELECT body FROM entries WHERE number = 5")
    with Ledger.open(full) as ledger, ledger._store.reading() as rows:
        noted = [entry.digest for entry in rows.entries()]
    number = forge(full, *FORGED[what])
    assert verify(full)["first_bad"] in (number, "totals")
    assert not any(verify(full, since=head)["valid"] for head in noted)
    assert not recounted(full)
    (tmp_path / "lines").write_bytes(b"".join(export.lines(full)))
    with pytest.raises(LedgerError, match=r"no valid ledger .*; export it again"):
        export.imported(tmp_path / "lines", f"sqlite:///{tmp_path}/new.db")


def test_a_chain_that_ends_in_an_unknown_kind_is_not_charged(full):
    forge(full, "gift", {})
    with (
        Ledger.open(full) as ledger,
        pytest.raises(LedgerError, match="a kind that this program does not know"),
    ):
        ledger.charge_plan(plan("1/100"), "x")


def test_a_reservation_whose_entry_was_changed_is_not_drawn(full):
    by_hand(full, "UPDATE entries SET body = replace(body, '1/20', '9/20') WHERE number = 5")
    with Ledger.open(full) as ledger, pytest.raises(DpaccountError, match="entry 5 was changed"):
        ledger.return_parts("k")


NONSENSE = (
    None,
    True,
    -1,
    0,
    1.5,
    2**70,
    "x",
    "1/0",
    "-1",
    "9" * 5000,
    "\ud800",
    [],
    [[]],
    [[1]],
    [[1, "x"]],
    [[0, 0]],
    {},
    {"a": 1},
)


@deep
@pytest.mark.parametrize("number", range(12))
def test_a_sealed_member_of_nonsense_is_a_bad_entry_and_no_crash(full, tmp_path, number):
    """Whatever one member of a body is, with digests that fit, everything ends in an answer or one sentence."""
    file = Path(full.removeprefix("sqlite:///"))
    [body] = [one for place, one in written_bodies(file) if place == number] or [None]
    if body is None:
        return
    for name in body:
        for nonsense in NONSENSE:
            copy = tmp_path / "copy.db"
            copy.write_bytes(file.read_bytes())
            sealed(copy, number, lambda _, told={**body, name: nonsense}: json.dumps(told))
            url = f"sqlite:///{copy}"
            for act in (verify, log, review.report, repair):
                with suppress(LedgerError):
                    act(url)
            with suppress(LedgerError, BudgetError, InputError), Ledger.open(url) as ledger:
                ledger.show()
                ledger.charge_plan(plan("1/1000"), "more")


def written_bodies(file: Path) -> list[tuple[int, dict]]:
    rows = by_hand(file, "SELECT number, body FROM entries ORDER BY number")
    return [(number, json.loads(body)) for number, body in rows]


def noise(drawer) -> list[int]:
    return drawer.noisy("noise", 0, np.array([5])).tolist()


@deep
def test_what_was_lost_is_charged_and_answers_say_so(make, url, tmp_path):
    ledger = make()
    ledger.charge_plan(plan("1/10", (3, 9)), "one", "a")
    entry = ledger.forfeit(plan("1/5", count=2), "an older copy was put back", "ada")
    ledger.forfeit(None, "moved")
    shown = ledger.show()
    assert shown["life"]["epsilon"]["upper"] == shown["spent"]["epsilon"]["upper"] == 0.5
    assert shown["worst_unit"] == 3
    assert json.loads(entry.body)["plan"][0]["event"] == "pure"
    lines = [line for line in log(url) if line["kind"] == "forfeit"]
    assert [(line["reason"], line["by"], line["spends"]) for line in lines] == [
        ("an older copy was put back", "ada", {"epsilon": 0.4}),
        ("moved", None, {"epsilon": 0.0}),
    ]
    report = review.report(url)
    assert [one["entry"] for one in report["forfeits"]["rows"]] == [entry.number, entry.number + 1]
    assert report["spending"]["rows"][-1]["spent"] == {"epsilon": 0.5}
    assert report["replay"]["valid"]
    assert verify(url) == VALID
    assert recounted(str(tmp_path / "budget.db"))
    (tmp_path / "lines").write_bytes(b"".join(export.lines(url)))
    other = f"sqlite:///{tmp_path}/other.db"
    assert export.imported(tmp_path / "lines", other)["head"] == ledger.show()["head"]
    with Ledger.open(other) as copy:
        assert copy.show()["spent"] == shown["spent"]


@deep
def test_charges_that_came_one_after_another_are_lost_one_by_one(url, make):
    """A plan may cost less than its parts: what was charged by itself counts by itself."""
    ledger = make(5, "1/1000000", "gdp")
    events = (Laplace(scale=100, count=30), Gaussian(sigma=100))
    alone = [Plan(Relation.REPLACE_ONE, (Laplace(scale=100),))] * 30 + [
        Plan(Relation.REPLACE_ONE, events[1:])
    ]
    ledger.forfeit(Plan(Relation.REPLACE_ONE, events), "lost")
    lost = ledger.show()["life"]["mu_squared"]
    for one in alone:
        ledger.charge_plan(one, "the same")
    assert ledger.show()["life"]["mu_squared"] == pytest.approx(2 * lost)


def test_what_does_not_fit_is_refused_and_changes_nothing(make, url):
    ledger = make()
    ledger.charge_plan(plan("3/5", (3, 9)), "one")
    before = ledger.show()
    with pytest.raises(BudgetError, match="does not fit"):
        ledger.forfeit(plan("1/2"), "too much")
    with pytest.raises(InputError, match="no bound"):
        ledger.forfeit(Plan(Relation.REPLACE_ONE, (Gaussian(sigma=1),)), "no pure privacy")
    with pytest.raises(InputError, match="add-remove"):
        ledger.forfeit(Plan(Relation.ADD_REMOVE, (Pure(epsilon=1),)), "of others")
    with pytest.raises(InputError, match="reason"):
        ledger.forfeit(None, "")
    assert ledger.show() == before
    assert ledger.forfeit(plan("2/5", (1, 9)), "just enough").number == 2
    assert verify(url) == VALID


@pytest.mark.parametrize("opened", ["before", "after"])
def test_what_was_charged_before_and_not_drawn_is_not_drawn(make, url, opened):
    """Whether a process knew the ledger before, or opens it after: marks of it may be among what was lost."""
    ledger = make()
    drawn = ledger.charge(pure("1/100"), "drawn", key="drawn")
    noise(drawn)
    ledger.keep_release("drawn", {"value": 5})
    ledger.charge(pure("1/100"), "undrawn", key="undrawn")
    parts = ledger.charge_in_parts(pure("1/100"), "parts", None, "parts")
    first = parts.noisy("noise", 0, np.array([5])).tolist()
    ledger.reserve_plan(plan("1/100"), "rounds", "rounds", rounds=5)
    ledger.draw_parts("rounds")
    with Ledger.open(url) as other:
        other.forfeit(plan("1/100"), "lost")
    spent = ledger.show()["life"] if opened == "before" else None
    with Ledger.open(url) as new:
        one = ledger if opened == "before" else new
        with pytest.raises(ReceiptError, match="charged before a forfeit"):
            noise(one.charge(pure("1/100"), "undrawn", key="undrawn"))
        with pytest.raises(ReceiptError, match="charged before a forfeit"):
            one.charge_in_parts(pure("1/100"), "parts", None, "parts")
        if opened == "before":
            with pytest.raises(ReceiptError, match="charged before a forfeit"):
                parts.noisy("noise", 1, np.array([5]))
            assert parts.noisy("noise", 0, np.array([5])).tolist() == first  # that was kept
        for act in (one.draw_parts, one.return_parts):
            with pytest.raises(BudgetError, match="not open"):
                act("rounds", [(2, 2)])
        assert one.return_parts("rounds") == (None, [])  # nothing is given back
        assert one.open_parts("rounds")[1] == []
        assert one.release("drawn") == {"value": 5}
        assert [one.run_state(key).lost for key in ("drawn", "undrawn", "parts", "unknown")] == [
            False,
            True,
            True,
            False,
        ]
        assert spent in (None, one.show()["life"])
        assert noise(one.charge(pure("1/100"), "anew", key="anew"))
        with pytest.raises(ReceiptError, match="release already"):
            one.keep_release("drawn", {"value": 6})
        assert one.verify() == VALID


def test_a_receipt_that_draws_goes_on(make, url):
    """Its next mark is about its last one, and only one can be: nobody else drew of this charge."""
    receipt = make().charge(pure("1/100"), "draw", key="key")
    assert noise(receipt)
    with Ledger.open(url) as other:
        other.forfeit(None, "nothing")
        with pytest.raises(ReceiptError):
            noise(other.charge(pure("1/100"), "draw", key="key"))


def test_an_older_copy_with_a_witness_is_gone_on_with(tmp_path):
    """It is refused, the message says what to do, and that is done: nothing that was charged is spent again."""
    file, copy, witness = (tmp_path / name for name in ("budget.db", "copy.db", "heads"))
    witness.touch()
    url = f"sqlite:///{file}"
    init(url, epsilon=1, delta=0, unit="person", relation="replace-one", measure="pure")
    with Ledger.open(f"{url}?witness={witness}") as ledger:
        ledger.charge_plan(plan("1/10"), "kept")
    shutil.copy(file, copy)
    with Ledger.open(f"{url}?witness={witness}") as ledger:
        ledger.charge_plan(plan("7/10"), "lost", "lost")
    shutil.move(copy, file)
    with pytest.raises(
        LedgerError, match=r"an older copy or a lost log; .*ledger forfeit.* an empty witness"
    ):
        Ledger.open(f"{url}?witness={witness}")
    with Ledger.open(url) as ledger:
        ledger.forfeit(plan("7/10"), "a backup was put back")
    witness.write_bytes(b"")
    with Ledger.open(f"{url}?witness={witness}") as ledger:
        with pytest.raises(BudgetError):
            ledger.charge_plan(plan("3/10"), "beyond")
        ledger.charge_plan(plan("1/5"), "the rest")
    assert heads.verify(f"{url}?witness={witness}") == VALID
