"""Random teams against the plainest model: charges, scopes, cohorts, reservations, returns, resets, forfeits.

Units are counted one by one and parts are members of sets.  At the end `verify`, the recount, which imports nothing
of the package, and a copy made of exported lines agree.
"""

import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from dpaccount.errors import BudgetError, InputError
from dpaccount.ledger.journal import export
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.plan.events import Plan, Pure, Relation

from .conftest import steps_in

UNITS = 6
SCOPES = (None, "a", "a/b", "c")
BUDGET = {"epsilon": 1, "delta": 0, "unit": "unit", "relation": "replace-one", "measure": "pure"}
VALID = {"valid": True, "first_bad": None}
RECOUNT = Path(__file__).parent / "recount.py"

sizes = st.sampled_from([Fraction(n, 16) for n in range(1, 9)])
covers = st.one_of(
    st.none(),
    st.tuples(st.integers(1, UNITS), st.integers(1, UNITS)).map(lambda ends: (min(ends), max(ends))),
)
scopes = st.sampled_from(SCOPES)
names = st.sampled_from(("x", "y"))
ranges = st.lists(st.tuples(st.integers(1, 7), st.integers(0, 2)), min_size=1, max_size=2)


def event(size, cover) -> Pure:
    return Pure(epsilon=size, cover=cover)


class Team(RuleBasedStateMachine):
    """A ledger and what each of a few units has spent; unit UNITS + 1 stands for all further ones."""

    @initialize()
    def begin(self) -> None:
        self.folder = TemporaryDirectory()
        self.url = self.made()
        self.ledger = Ledger.open(self.url)
        nothing = dict.fromkeys(range(1, UNITS + 2), Fraction(0))
        self.nothing, self.life, self.period = nothing, dict(nothing), dict(nothing)
        self.caps: dict[str, Fraction] = {}
        self.spent: dict[str, dict[int, Fraction]] = {}
        self.cohorts: dict[str, tuple[set[int], bool]] = {}
        self.reserved: list[dict] = []
        self.resets = 0

    def made(self) -> str:
        """Make a ledger, and return its URL."""
        url = f"sqlite:///{self.folder.name}/budget.db"
        init(url, **BUDGET)
        return url

    def steps(self) -> list:
        """Return what units have spent."""
        return steps_in(Path(self.folder.name) / "budget.db")

    def lineage(self, scope):
        words = scope.split("/") if scope else []
        return ["/".join(words[: n + 1]) for n in range(len(words))]

    def add(self, where, costs, scope, times=1):
        for unit, size in costs.items():
            for tree in (*where, *(self.spent[name] for name in self.lineage(scope))):
                tree[unit] += times * size

    def fits(self, costs, scope, times=1):
        limits = [
            (self.period, Fraction(1)),
            *((self.spent[one], self.caps[one]) for one in self.lineage(scope)),
        ]
        return all(tree[unit] + times * size <= cap for tree, cap in limits for unit, size in costs.items())

    def known(self, scope):
        return all(name in self.caps for name in self.lineage(scope))

    def tries(self, fits, ask):
        """Do something, which must be accepted just where it `fits`; return whether it was."""
        try:
            ask()
        except BudgetError:
            assert not fits
        else:
            assert fits
        return fits

    @rule(size=sizes, cover=covers, scope=scopes)
    def charge(self, size, cover, scope):
        plan = Plan(Relation.REPLACE_ONE, (event(size, cover),))
        if not self.known(scope):
            with pytest.raises(InputError):
                self.ledger.charge_plan(plan, "x", scope=scope)
            return
        first, last = cover or (1, UNITS + 1)
        costs = dict.fromkeys(range(first, last + 1), size)
        if self.tries(self.fits(costs, scope), lambda: self.ledger.charge_plan(plan, "x", scope=scope)):
            self.add((self.life, self.period), costs, scope)

    @rule(size=sizes, name=names, scope=scopes)
    def charge_cohort(self, size, name, scope):
        plan = Plan(Relation.REPLACE_ONE, (event(size, None),))
        if name not in self.cohorts or not self.known(scope):
            with pytest.raises(InputError):
                self.ledger.charge_plan(plan, "x", cohort=name, scope=scope)
            return
        costs = dict.fromkeys(self.cohorts[name][0], size)
        fits = self.fits(costs, scope)
        if self.tries(fits, lambda: self.ledger.charge_plan(plan, "x", cohort=name, scope=scope)):
            self.add((self.life, self.period), costs, scope)
            self.cohorts[name] = self.cohorts[name][0], True

    @rule(name=names, cover=covers.filter(bool), apart=st.booleans())
    def name_cohort(self, name, cover, apart):
        members = set(range(cover[0], cover[1] + 1)) - (
            {sum(cover) // 2} if apart and cover[0] < cover[1] else set()
        )
        units = [(unit, unit) for unit in members]
        fits = not self.cohorts.get(name, (members, False))[1]
        if self.tries(fits, lambda: self.ledger.name_cohort(name, units)):
            self.cohorts[name] = members, False

    @rule(scope=scopes.filter(bool), cap=sizes)
    def set_scope(self, scope, cap):
        if not self.known(scope.rpartition("/")[0]):
            with pytest.raises(InputError):
                self.ledger.set_scope(scope, cap)
            return
        spent = self.spent.get(scope, self.nothing)
        if self.tries(max(spent.values()) <= cap, lambda: self.ledger.set_scope(scope, cap)):
            self.caps[scope] = cap
            self.spent.setdefault(scope, dict(self.nothing))

    @rule(
        sizes=st.lists(st.tuples(sizes, covers), min_size=1, max_size=3),
        times=st.integers(1, 4),
        whole=st.booleans(),
        scope=scopes,
    )
    def reserve(self, sizes, times, whole, scope):
        if not self.known(scope) or len(self.reserved) > 4:
            return
        costs = []
        for size, cover in sizes:
            first, last = cover or (1, UNITS + 1)
            costs.append(dict.fromkeys(range(first, last + 1), size / 8))
        events = tuple(event(size / 8, cover) for size, cover in sizes)
        together = {unit: sum(one.get(unit, 0) for one in costs) for unit in self.nothing}
        parts, rounds = ([together] * times, times) if whole else (costs, None)
        total = {unit: sum(one.get(unit, Fraction(0)) for one in parts) for unit in self.nothing}
        key = f"key {len(self.reserved)}"
        plan = Plan(Relation.REPLACE_ONE, events)

        def ask():
            self.ledger.reserve_plan(plan, "x", key, rounds=rounds, scope=scope)

        if self.tries(self.fits(total, scope), ask):
            self.add((self.life, self.period), total, scope)
            self.reserved.append(
                {"key": key, "parts": parts, "scope": scope, "open": set(range(1, len(parts) + 1))}
            )

    @rule(which=st.integers(0, 4), wanted=ranges, back=st.booleans())
    def take(self, which, wanted, back):
        if which >= len(self.reserved):
            return
        reserved = self.reserved[which]
        spans = [(first, first + more) for first, more in wanted]
        parts = [part for first, last in spans for part in range(first, last + 1)]
        act = self.ledger.return_parts if back else self.ledger.draw_parts
        if len(parts) != len(set(parts)):
            with pytest.raises(InputError):
                act(reserved["key"], spans)
            return
        if self.tries(set(parts) <= reserved["open"], lambda: act(reserved["key"], spans)):
            self.taken(reserved, parts, back)

    @rule(which=st.integers(0, 4))
    def take_next(self, which):
        if which < len(self.reserved):
            reserved = self.reserved[which]
            if self.tries(bool(reserved["open"]), lambda: self.ledger.draw_parts(reserved["key"])):
                self.taken(reserved, [min(reserved["open"])], False)

    @rule(which=st.integers(0, 4))
    def return_all(self, which):
        if which < len(self.reserved):
            reserved = self.reserved[which]
            self.ledger.return_parts(reserved["key"])
            self.taken(reserved, sorted(reserved["open"]), True)

    def taken(self, reserved, parts, back):
        reserved["open"] -= set(parts)
        for part in parts if back else ():
            self.add((self.life, self.period), reserved["parts"][part - 1], reserved["scope"], -1)

    @rule(by=st.integers(0, 2))
    def reset(self, by):
        if by:  # seldom
            return
        self.ledger.reset("x")
        self.resets += 1
        self.period = dict(self.nothing)
        self.spent = {name: dict(self.nothing) for name in self.spent}
        for reserved in self.reserved:
            for part in reserved["open"]:
                self.add((self.period,), reserved["parts"][part - 1], reserved["scope"])

    @rule(size=sizes, cover=covers, by=st.integers(0, 2))
    def forfeit(self, size, cover, by):
        if by:  # seldom
            return
        first, last = cover or (1, UNITS + 1)
        costs = dict.fromkeys(range(first, last + 1), size)
        lost = Plan(Relation.REPLACE_ONE, (event(size, cover),))
        if self.tries(self.fits(costs, None), lambda: self.ledger.forfeit(lost, "x")):
            self.add((self.life, self.period), costs, None)
            for reserved in self.reserved:
                reserved["open"] = set()

    @rule()
    def reopen(self):
        self.ledger.close()
        self.ledger = Ledger.open(self.url)

    @invariant()
    def agrees(self):
        if not hasattr(self, "ledger"):
            return
        shown = self.ledger.show()
        assert shown["resets"] == self.resets
        assert shown["period"]["epsilon"]["upper"] == pytest.approx(float(max(self.period.values())))
        assert max(self.period.values()) <= 1
        for one in shown["scopes"]:
            most = max(self.spent[one["scope"]].values())
            assert one["spent"]["epsilon"]["upper"] == pytest.approx(float(most))
            assert most <= self.caps[one["scope"]]
        steps = self.steps()
        for unit, spent in self.life.items():
            assert next((a for first, (a,) in reversed(steps) if first <= unit), 0) == spent

    def teardown(self):
        if not hasattr(self, "ledger"):
            return
        self.ledger.close()
        copy, lines = f"{self.folder.name}/copy.db", Path(self.folder.name) / "lines"
        assert verify(self.url) == VALID
        lines.write_bytes(b"".join(export.lines(self.url)))
        export.imported(lines, f"sqlite:///{copy}")
        assert steps_in(Path(copy)) == self.steps()
        self.recount(copy)
        self.folder.cleanup()

    def recount(self, copy: str) -> None:
        """Let the program that imports nothing of ours count, from the file."""
        recounted(f"{self.folder.name}/budget.db")


def recounted(file: str) -> None:
    done = subprocess.run([sys.executable, "-I", str(RECOUNT), file], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


class Brief(Team):
    """A few histories."""


Quick, Slow = Brief.TestCase, Team.TestCase
Quick.settings = settings(
    max_examples=4, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)
Slow.settings = settings(
    max_examples=40, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestBrief = Quick
TestTeam = pytest.mark.slow(Slow)
del Quick, Slow
