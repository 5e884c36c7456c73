"""Random teams against the plainest model: charges, keys, scopes with caps, cohorts, reservations, clocks, resets, forfeits.

Units are counted one by one and parts are members of sets.  A refusal names the limit and the unit.  At the end
`verify`, from the beginning and from noted heads, the recount, which imports nothing of the package, and a copy
made of exported lines agree.
"""

import json
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from audits.reports import review
from dpaccount.errors import BudgetError, InputError, LedgerError
from dpaccount.ledger.balances.budget import RENEWALS
from dpaccount.ledger.journal import entries, export
from dpaccount.ledger.journal import verify as verifying
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.plan.events import Plan, Pure, Relation
from tests.depth import deep, examples

from .conftest import VALID, by_hand, olden, recounted, steps_in

UNITS = 6
SCOPES = (None, "a", "a/b", "c")
BUDGET = {"epsilon": 1, "delta": 0, "unit": "unit", "relation": "replace-one", "measure": "pure"}

sizes = st.sampled_from([Fraction(n, 16) for n in range(1, 9)])
covers = st.one_of(
    st.none(),
    st.tuples(st.integers(1, UNITS), st.integers(1, UNITS)).map(lambda ends: (min(ends), max(ends))),
)
scopes = st.sampled_from(SCOPES)
names = st.sampled_from(("x", "y"))
keys = st.sampled_from((None, None, "k", "l"))
ranges = st.lists(st.tuples(st.integers(1, 7), st.integers(0, 2)), min_size=1, max_size=2)


def event(size, cover) -> Pure:
    return Pure(epsilon=size, cover=cover)


class Team(RuleBasedStateMachine):
    """A ledger and what each of a few units has spent; unit UNITS + 1 stands for all further ones."""

    @initialize(arranged=st.booleans(), cap=sizes, every=st.sampled_from((None, *RENEWALS)))
    def begin(self, arranged: bool, cap: Fraction, every: str | None) -> None:
        self.make()
        if arranged:  # else most of the time goes by before there is anything
            self.set_scope("a", cap, every)
            self.set_scope("a/b", Fraction(1))
            self.charge_in("a/b", "k")
            self.reset(0)

    def charge_in(self, scope: str, key: str) -> None:
        self.charge(Fraction(1, 16), (1, UNITS), scope, key, dry=False)

    def make(self) -> None:
        self.folder = TemporaryDirectory()
        self.url = self.made()
        self.ledger, self.other = Ledger.open(self.url), Ledger.open(self.url)
        nothing = dict.fromkeys(range(1, UNITS + 2), Fraction(0))
        self.nothing, self.life, self.period = nothing, dict(nothing), dict(nothing)
        self.caps: dict[str, Fraction] = {}
        self.most: dict[str, Fraction] = {}  #: what one charge may cost
        self.renews: dict[
            str, tuple[str, int]
        ] = {}  #: how often, and the day, week, month or year that it is
        self.spent: dict[str, dict[int, Fraction]] = {}
        self.cohorts: dict[str, tuple[set[int], bool]] = {}
        self.growing: set[str] = set()
        self.reserved: list[dict] = []
        self.keys: dict[str, tuple] = {}
        self.heads: list[str] = []
        self.resets = self.accepted = self.refused = 0
        self.refusal, self.said = None, ""  #: the last refusal, and its sentence
        #: the day, the year that is counted (None: no reset yet), and its sums (None: those of the life)
        self.today, self.label, self.year = date(2030, 6, 1), None, None
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(entries, "now", lambda: f"{self.today}T00:00:00+00:00")
        self.tell()

    @property
    def clock(self):
        """The year that it is."""
        return self.today.year

    def now(self, every):
        day, month = self.today.toordinal(), 12 * self.clock + self.today.month
        return {"day": day, "week": (day - 1) // 7, "month": month, "year": self.clock, "never": 0}[every]

    def fresh(self, name):
        """Return what counts as spent in a scope if something is charged there now."""
        every, began = self.renews.get(name, ("never", 0))
        if name not in self.spent or self.now(every) <= began:
            return self.spent.get(name, self.nothing)
        tree = dict(self.nothing)
        for reserved in self.reserved:
            for part in reserved["open"] if name in self.lineage(reserved["scope"]) else ():
                for unit, size in reserved["parts"][part - 1].items():
                    tree[unit] += size
        return tree

    def renew(self, scope):
        """Begin the periods of a scope and those above it that a charge now is the first of."""
        for name in self.lineage(scope):
            if name in self.spent:
                self.spent[name] = self.fresh(name)
                every, began = self.renews[name]
                self.renews[name] = every, max(began, self.now(every))

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
        trees = (
            *where,
            *(self.spent[name] for name in self.lineage(scope)),
            *([self.year] if self.year else []),
        )
        for unit, size in costs.items():
            for tree in trees:
                tree[unit] += times * size

    def turn(self):
        """Begin a year, if the clock is in a later one, in which only what may still be drawn is spent."""
        if self.label is not None and self.clock > self.label:
            self.label, self.year = self.clock, dict(self.nothing)
            for reserved in self.reserved:
                for part in reserved["open"]:
                    for unit, size in reserved["parts"][part - 1].items():
                        self.year[unit] += size

    def exceeded(self, costs, scope):
        """Return what a refusal says of the first limit that costs exceed, and the first unit; None if they fit."""
        for name in self.lineage(scope):
            if unit := min((one for one in costs if costs[one] > self.most.get(name, 9)), default=0):
                return f"costs unit {unit} ", f"that one charge in the scope {name} may cost"
        limits = [("the budget's", self.period, Fraction(1))]
        limits += [(f"of the scope {one}", self.fresh(one), self.caps[one]) for one in self.lineage(scope)]
        for name, tree, cap in limits:
            for unit in sorted(tree):
                if tree[unit] + costs.get(unit, 0) > cap:
                    return f"unit {unit} to", name
        return None

    def fits(self, costs, scope, times=1):
        return self.exceeded({unit: times * size for unit, size in costs.items()}, scope) is None

    def known(self, scope):
        return all(name in self.caps for name in self.lineage(scope))

    def tries(self, fits, ask, says=(), *, turns=True):
        """Do something, which must be accepted just where it `fits`, or refused in these words; return `fits`."""
        if fits:
            ask()
            if turns:
                self.turn()
        else:
            with pytest.raises(BudgetError) as refused:
                ask()
            self.said = str(refused.value)
            assert all(word in self.said for word in says)
        return fits

    def pays(self, costs, scope, ask, keyed=None):
        """Charge costs, which must be accepted just where they fit; return whether they did.

        The same refusal under the same key is one entry, if nothing came between.
        """
        over, head = self.exceeded(costs, scope), self.ledger.show()["head"]
        fits = self.tries(over is None, ask, over or ())
        again = not fits and keyed is not None and self.refusal == (keyed, self.said, head)
        self.accepted, self.refused = self.accepted + fits, self.refused + (not fits and not again)
        self.refusal = None if fits else (keyed, self.said, self.ledger.show()["head"])
        if fits:
            self.renew(scope)
            self.add((self.life, self.period), costs, scope)
        return fits

    @rule(size=sizes, cover=covers, scope=scopes, key=keys, dry=st.booleans())
    def charge(self, size, cover, scope, key, dry):
        plan, request = Plan(Relation.REPLACE_ONE, (event(size, cover),)), (size, cover, scope)

        def ask(dry=False):
            return self.ledger.charge_plan(plan, "x", key, scope=scope, dry_run=dry)

        if key in self.keys:
            same, entry = self.keys[key]
            if same != request:
                with pytest.raises(LedgerError, match="different charge"):
                    ask()
                return
            again = ask(dry)
            assert (again.entry, again.known) == (entry, True)
            return
        if not self.known(scope):
            with pytest.raises(InputError, match="there is no scope"):
                ask()
            return
        first, last = cover or (1, UNITS + 1)
        costs = dict.fromkeys(range(first, last + 1), size)
        if dry:
            head, over = self.ledger.show()["head"], self.exceeded(costs, scope)
            self.tries(over is None, lambda: ask(dry=True), over or (), turns=False)
            assert self.ledger.show()["head"] == head
        if self.pays(costs, scope, ask, key and (key, request)) and key is not None:
            self.keys[key] = request, ask().entry

    @rule(
        asked=st.lists(st.tuples(sizes, covers), min_size=2, max_size=4),
        scope=scopes,
        least=st.integers(1, 9),
    )
    def charge_many(self, asked, scope, least):
        """Small ones, so that they fit together, or only some of them."""
        if not self.known(scope):
            return
        plans = [Plan(Relation.REPLACE_ONE, (event(size / least, cover),)) for size, cover in asked]
        decided = self.ledger.charge_many([(plan, "x", None) for plan in plans], scope=scope)
        for (size, cover), charge in zip(asked, decided, strict=True):
            first, last = cover or (1, UNITS + 1)
            costs = dict.fromkeys(range(first, last + 1), size / least)
            over = self.exceeded(costs, scope)
            assert (charge.reason is None) == (over is None)
            assert over is None or all(word in charge.reason for word in over)
            self.accepted, self.refused = self.accepted + (over is None), self.refused + (over is not None)
            if over is None:
                self.turn()
                self.renew(scope)
                self.add((self.life, self.period), costs, scope)

    @rule(
        days=st.sampled_from((0, 1, 1, -1, 7, 31, 31, -31, 92, 93, 366, -366, 1826, -1826)),
        said=st.booleans(),
    )
    def move_clock(self, days, said):
        self.today += timedelta(days)
        self.tell()
        if said or self.doubted():
            self.ledger.set_clock("x")
            self.turn()
            for name, (every, began) in self.renews.items():
                self.renews[name] = every, min(began, self.now(every))
            if self.label is not None and self.label > self.clock:
                self.label, self.year = self.clock, None

    def tell(self):
        """Let who writes know the time."""

    def doubted(self):
        """Say whether the latest entry with records since the last word about clocks is older than a pause."""
        known = "kind NOT IN ('release', 'drawing')"
        said = "(SELECT coalesce(max(number), 0) FROM entries WHERE kind = 'clock')"
        found = by_hand(
            self.url,
            f"SELECT body FROM entries WHERE {known} AND root LIKE '%records/2:%' AND number >= {said}",
        )
        last = by_hand(self.url, f"SELECT body FROM entries WHERE {known} ORDER BY number DESC LIMIT 1")
        day = max(json.loads(body).get("time", "9999-01-01")[:10] for (body,) in found + last)
        return (self.today - date.fromisoformat(day)).days > entries.PAUSE

    @rule(size=sizes, name=names, scope=scopes)
    def charge_cohort(self, size, name, scope):
        plan = Plan(Relation.REPLACE_ONE, (event(size, None),))
        if name not in self.cohorts or not self.known(scope):
            with pytest.raises(InputError):
                self.ledger.charge_plan(plan, "x", cohort=name, scope=scope)
            return
        costs = dict.fromkeys(self.cohorts[name][0], size)
        if self.pays(costs, scope, lambda: self.ledger.charge_plan(plan, "x", cohort=name, scope=scope)):
            self.cohorts[name] = self.cohorts[name][0], True

    @rule(name=names, cover=covers.filter(bool), apart=st.booleans(), grows=st.booleans())
    def name_cohort(self, name, cover, apart, grows):
        members = set(range(cover[0], cover[1] + 1)) - (
            {sum(cover) // 2} if apart and cover[0] < cover[1] else set()
        )
        units = [(unit, unit) for unit in members]
        known, charged = self.cohorts.get(name, (set(), False))
        grew = name in self.growing and grows and known <= members
        says = ("was charged and can",)
        if self.tries(
            not charged or grew,
            lambda: self.ledger.name_cohort(name, units, grows=grows),
            says,
            turns=False,
        ):
            self.cohorts[name] = members, charged
            self.growing = self.growing | {name} if grows else self.growing - {name}

    @rule(
        scope=scopes.filter(bool),
        cap=sizes,
        every=st.sampled_from((None, *RENEWALS)),
        most=st.one_of(st.none(), sizes),
    )
    def set_scope(self, scope, cap, every=None, most=None):
        def ask():
            self.ledger.set_scope(scope, cap, every=every, charge_epsilon=most)

        if not self.known(scope.rpartition("/")[0]):
            with pytest.raises(InputError):
                self.ledger.set_scope(scope, cap)
            return
        before = self.renews.get(scope, ("never", 0))[0]
        if scope in self.spent and every not in (None, before):
            with pytest.raises(InputError, match="renews cannot change"):
                ask()
            return
        fits, says = max(self.fresh(scope).values()) <= cap, (f"more is spent in the scope {scope}",)
        if self.tries(fits, ask, says, turns=False):
            self.renew(scope)
            self.caps[scope] = cap
            if most is not None:
                self.most[scope] = most
            self.spent.setdefault(scope, dict(self.nothing))
            self.renews.setdefault(scope, (every or "never", self.now(every or "never")))

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

        if self.pays(total, scope, ask, (key, sizes, times, whole, scope)):
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
        if self.tries(set(parts) <= reserved["open"], lambda: act(reserved["key"], spans), ("not open",)):
            self.renew(reserved["scope"])
            self.taken(reserved, parts, back)

    @rule(which=st.integers(0, 4))
    def take_next(self, which):
        if which < len(self.reserved):
            reserved = self.reserved[which]
            if self.tries(bool(reserved["open"]), lambda: self.ledger.draw_parts(reserved["key"])):
                self.renew(reserved["scope"])
                self.taken(reserved, [min(reserved["open"])], False)

    @rule(which=st.integers(0, 4))
    def return_all(self, which):
        if which < len(self.reserved):
            reserved = self.reserved[which]
            if self.ledger.return_parts(reserved["key"])[1]:
                self.turn()
                self.renew(reserved["scope"])
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
        self.turn()
        if self.label is None:
            self.label = self.clock
        self.resets += 1
        self.period = dict(self.nothing)
        self.spent = {name: dict(self.nothing) for name in self.spent}
        for reserved in self.reserved:
            for part in reserved["open"]:
                for unit, size in reserved["parts"][part - 1].items():
                    for tree in (self.period, *(self.spent[one] for one in self.lineage(reserved["scope"]))):
                        tree[unit] += size

    @rule(size=sizes, cover=covers, by=st.integers(0, 2))
    def forfeit(self, size, cover, by):
        if by:  # seldom
            return
        first, last = cover or (1, UNITS + 1)
        costs = dict.fromkeys(range(first, last + 1), size)
        lost = Plan(Relation.REPLACE_ONE, (event(size, cover),))
        if self.tries(
            self.fits(costs, None), lambda: self.ledger.forfeit(lost, "x"), ("begin a new ledger",)
        ):
            self.add((self.life, self.period), costs, None)
            for reserved in self.reserved:
                if reserved["open"]:
                    self.renew(reserved["scope"])
            for reserved in self.reserved:
                reserved["open"] = set()

    @rule()
    def reopen(self):
        self.ledger.close()
        self.ledger = Ledger.open(self.url)

    @rule()
    def take_turns(self):
        """Go on by another open ledger, whose caches are of an earlier time."""
        self.ledger, self.other = self.other, self.ledger

    @invariant()
    def agrees(self):
        if not hasattr(self, "ledger"):
            return
        shown = self.ledger.show()
        self.heads.append(shown["head"])
        assert (shown["resets"], shown["entries"], shown["refused"]) == (
            self.resets,
            self.accepted,
            self.refused,
        )
        year = self.year if self.year and self.label <= self.clock else self.life
        for name, tree in (("period", self.period), ("year", year), ("life", self.life)):
            assert shown[name]["epsilon"]["upper"] == pytest.approx(float(max(tree.values())))
        assert max(self.period.values()) <= 1
        assert [one["scope"] for one in shown["scopes"]] == sorted(self.spent)
        for one in (shown, *shown["scopes"]):
            tree = self.fresh(one["scope"]) if "scope" in one else self.period
            most = max(tree.values())
            assert one["spent"]["epsilon"]["upper"] == pytest.approx(float(most))
            least = min(unit for unit, spent in tree.items() if spent == most)
            assert one["worst_unit"] == (None if len(set(tree.values())) == 1 else least)
            assert most <= self.caps.get(one.get("scope"), 1)
        for reserved in self.reserved:
            left = self.ledger.open_parts(reserved["key"])[1]
            assert {part for first, last in left for part in range(first, last + 1)} == reserved["open"]
        steps = self.steps()
        for unit, spent in self.life.items():
            assert next((a for first, (a,) in reversed(steps) if first <= unit), 0) == spent

    def teardown(self):
        if not hasattr(self, "ledger"):
            return
        shown = self.ledger.show()
        self.ledger.close()
        self.other.close()
        copy, lines = f"{self.folder.name}/copy.db", Path(self.folder.name) / "lines"
        assert verify(self.url) == VALID
        for head in self.heads[:: max(1, len(self.heads) // 4)]:
            assert verify(self.url, since=head) == VALID
        self.patch.setattr(verifying, "ALONE", 2)
        self.patch.setattr(verifying, "TOGETHER", 3)
        assert verify(self.url) == VALID
        lines.write_bytes(exported := b"".join(export.lines(self.url)))
        old = Path(f"{lines}.old")
        old.write_bytes(olden(exported))
        export.imported(old, f"sqlite:///{self.folder.name}/anew.db")
        assert b"".join(export.lines(f"sqlite:///{self.folder.name}/anew.db")) == exported
        export.imported(lines, f"sqlite:///{copy}")
        assert steps_in(Path(copy)) == self.steps()
        with Ledger.open(f"sqlite:///{copy}") as ledger:
            assert ledger.show() == shown
        assert review.report(self.url)["year"] == shown["year"]
        self.recount(copy)
        self.patch.undo()
        self.folder.cleanup()

    def recount(self, copy: str) -> None:
        """Let the program that imports nothing of ours count, from the file."""
        assert recounted(f"{self.folder.name}/budget.db")


Team.TestCase.settings = examples(40, 40, stateful_step_count=40, suppress_health_check=list(HealthCheck))
TestTeam = deep(Team.TestCase)
