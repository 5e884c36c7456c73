"""Random histories against the plainest model: one number per unit, added up and compared."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.accounting.measures import UNBOUNDED
from dpaccount.errors import BudgetError, LedgerError
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.requests import rounded_up
from dpaccount.plan.events import Approximate, BoundedRange, Gdp, Plan, Pure, Relation, Zcdp
from tests.depth import deep, examples

from .conftest import steps_in

UNITS = 9
DELTA = Fraction(1, 1000)
EVENT = {
    "pure": lambda size, cover: Pure(epsilon=size, cover=cover),
    "approximate": lambda size, cover: Approximate(epsilon=size / 2, delta=size * DELTA, cover=cover),
    "approximate-zcdp": lambda size, cover: (
        Zcdp(rho=size / 8, cover=cover),
        Approximate(epsilon=size / 2, delta=size * DELTA / 2, cover=cover),
    )[size.denominator % 2],
    "gdp": lambda size, cover: Gdp(mu=size / 2, cover=cover),
    "zcdp": lambda size, cover: Zcdp(rho=size / 8, cover=cover),
    "either": lambda size, cover: (
        Gdp(mu=size / 2, cover=cover),
        Zcdp(rho=size / 8, cover=cover),
        BoundedRange(eta=size, cover=cover),
    )[size.denominator % 3],
}
COST = {
    "pure": lambda size: (size,),
    "approximate": lambda size: (size / 2, size * DELTA),
    "approximate-zcdp": lambda size: (
        (size**2 / 8, size * DELTA / 2) if size.denominator % 2 else (size / 8, Fraction(0))
    ),
    "gdp": lambda size: (size**2 / 4,),
    "zcdp": lambda size: (size / 8,),
    "either": lambda size: (
        lambda: (size**2 / 4, size**2 / 8, UNBOUNDED if size else 0),
        lambda: (UNBOUNDED if size else 0, size / 8, UNBOUNDED if size else 0),
        lambda: (rounded_up(BoundedRange(eta=size).mu_squared()), size**2 / 8, size),
    )[size.denominator % 3](),
}

covers = st.one_of(
    st.none(),
    st.tuples(st.integers(1, UNITS), st.integers(1, UNITS)).map(lambda ends: (min(ends), max(ends))),
)
parts = st.lists(st.tuples(covers, st.fractions(0, 1, max_denominator=8)), max_size=4)
histories = st.lists(
    st.tuples(parts, st.one_of(st.none(), st.integers(0, 3)), st.booleans()), min_size=1, max_size=8
)


class Model:
    """What each of a few units has spent; unit UNITS + 1 stands for all further ones."""

    def __init__(self, ledger: Ledger, measure: str) -> None:
        self.fits, self.cost = ledger.budget.fits, COST[measure]
        self.units = {unit: [Fraction(0)] * ledger.budget.width for unit in range(1, UNITS + 2)}
        self.keys: dict[str, list] = {}
        self.accepted = self.refused = 0
        self.last = None  #: what was refused, if that is the last entry

    def charge(self, request: list, key: str | None, dry_run: bool) -> str:
        """Return what should happen."""
        if key in self.keys:
            return "accepted" if self.keys[key] == request else "another"
        after = {
            unit: [
                amount + sum(self.cost(size)[i] for cover, size in request if self.covers(cover, unit))
                for i, amount in enumerate(spent)
            ]
            for unit, spent in self.units.items()
        }
        fits = all(self.fits(tuple(spent)) for spent in after.values())
        if dry_run:
            return "accepted" if fits else "refused"
        again = key is not None and self.last == (request, key)  # the same refusal is one entry
        self.accepted, self.refused = self.accepted + fits, self.refused + (not fits and not again)
        self.last = None if fits else (request, key)
        if fits:
            self.units = after
            if key is not None:
                self.keys[key] = request
        return "accepted" if fits else "refused"

    @staticmethod
    def covers(cover: tuple[int, int] | None, unit: int) -> bool:
        return cover is None or cover[0] <= unit <= cover[1]


@deep
@pytest.mark.parametrize("measure", EVENT)
@examples(25, 25)
@given(history=histories)
def test_a_ledger_does_what_one_number_per_unit_does(measure, history):
    with TemporaryDirectory() as folder:
        played(
            f"sqlite:///{folder}/budget.db", measure, history, lambda: steps_in(Path(folder) / "budget.db")
        )


def played(url: str, measure: str, history: list, steps: Callable[[], list]) -> None:
    """Charge a history to a new ledger, of which `steps` reads what units have spent."""
    init(url, epsilon=1, delta=DELTA, unit="unit", relation="replace-one", measure=measure)
    with Ledger.open(url) as ledger:
        model = Model(ledger, measure)
        for request, number, dry_run in history:
            key = None if number is None else f"key {number}"
            plan = Plan(Relation.REPLACE_ONE, tuple(EVENT[measure](size, cover) for cover, size in request))
            expected = model.charge(request, key, dry_run)
            try:
                ledger.charge_plan(plan, "random", key, dry_run=dry_run)
                answer = "accepted"
            except BudgetError:
                answer = "refused"
            except LedgerError:
                answer = "another"
            assert answer == expected
            agrees(ledger, model, steps())
    assert verify(url) == {"valid": True, "first_bad": None}


def agrees(ledger: Ledger, model: Model, steps: list) -> None:
    """Check every unit's total, to the last digit, and the counts."""
    for unit, spent in model.units.items():
        level = next((list(a) for first, a in reversed(steps) if first <= unit), [Fraction(0)] * len(spent))
        assert level == spent
    shown = ledger.show()
    assert (shown["entries"], shown["refused"]) == (model.accepted, model.refused)
