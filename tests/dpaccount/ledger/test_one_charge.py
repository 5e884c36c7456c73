"""What one charge in a scope may cost a unit, whatever else fits."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.cli.app import run
from dpaccount.errors import BudgetError, InputError
from dpaccount.ledger.balances.state import State
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.requests import RefusedError
from dpaccount.plan.events import Approximate, Gaussian, Plan, Pure, Relation
from tests.depth import examples

from .conftest import VALID, plan, recounted

PURE = {"unit": "person", "relation": "replace-one", "measure": "pure", "epsilon": 9, "delta": 0}
TENTH = Fraction(1, 10)


@pytest.fixture
def url(tmp_path):
    place = f"sqlite:///{tmp_path}/budget.db"
    init(place, **PURE)
    with Ledger.open(place) as ledger:
        ledger.set_scope("team", 2, charge_epsilon=2 * TENTH)
        ledger.set_scope("team/a", 1, charge_epsilon=1)
        ledger.set_scope("other", 3)
    return place


def test_a_charge_above_the_cap_for_one_is_refused_here_and_below(url):
    with Ledger.open(url) as ledger:
        for scope in ("team", "team/a"):
            ledger.charge_plan(plan(2 * TENTH), "x", scope=scope)
            ledger.reserve_plan(plan(TENTH), "x", scope, rounds=2, scope=scope)
            says = "costs unit 3 ε 0.21 at δ 0, beyond the ε 0.2 that one charge in the scope team may cost"
            for act in (
                lambda: ledger.charge_plan(plan("0.21", (3, 4)), "x", scope=scope),
                lambda: ledger.charge_plan(plan("0.21", (3, 4)), "x", scope=scope, dry_run=True),
                lambda: ledger.reserve_plan(plan("0.07", (3, 4)), "x", "z", rounds=3, scope=scope),
            ):
                with pytest.raises(RefusedError, match=says):
                    act()
        for scope in ("other", None):
            ledger.charge_plan(plan(1), "x", scope=scope)
        # Units pay apart: two events that share none are no more than the larger.
        apart = Plan(Relation.REPLACE_ONE, plan(2 * TENTH, (1, 2)).events + plan(2 * TENTH, (3, 4)).events)
        ledger.charge_plan(apart, "x", scope="team")
        ledger.forfeit(plan(1), "lost")  # whatever it was
        assert ledger.show()["refused"] == 4
        assert ledger.verify() == VALID
    assert recounted(url)


def test_of_many_charges_each_is_looked_at_alone(url):
    sizes = [TENTH, 2 * TENTH, TENTH, Fraction(1, 4), TENTH]
    with Ledger.open(url) as ledger:
        done = ledger.charge_many([(plan(size), "x", None) for size in sizes], scope="team/a")
        assert [one.reason is None for one in done] == [True, True, True, False, True]
        assert ledger.verify() == VALID
    assert recounted(url)


def test_the_cap_for_one_charge_is_kept_shown_and_raised_by_two(url, capsys, tmp_path):
    with Ledger.open(url) as ledger:
        ledger.charge_plan(plan(2 * TENTH), "x", scope="team")
        assert ledger.show()["more_like_last"]["charges"] == 9
        ledger.set_scope("team", Fraction(3, 2))
        assert ledger.show()["more_like_last"]["charges"] == 6
        assert run(["ledger", "scope", url, "team", "--epsilon", "1.5", "--charge-epsilon", ".1"]) == 0
        assert ledger.show()["more_like_last"]["charges"] == 0
        assert [one.get("charge_epsilon") for one in ledger.show()["scopes"]] == [None, "0.1", "1"]
        assert run(["ledger", "show", url]) == 0
        assert "ε 1.5; one charge: ε 0.1" in capsys.readouterr().out
        events = {"schema": "dpaccount/events/1", "relation": "replace-one"}
        (tmp_path / "one.json").write_text(
            json.dumps({**events, "events": [{"event": "pure", "epsilon": 1}]})
        )
        assert run(["ledger", "charge", url, f"{tmp_path}/one.json", "--scope", "team"]) == 1
        assert "the largest charges" not in capsys.readouterr().err  # none of them is the cause
        with pytest.raises(InputError):
            ledger.set_scope("team", 1, charge_epsilon=-1)
        ledger.grant("ada", ["arrange"], by="ada")
        ledger.grant("bo", ["arrange"], by="ada")
        assert ledger.set_scope("team", 1, by="ada", charge_epsilon=TENTH / 2).kind == "scope"
        assert ledger.set_scope("other", 3, by="ada", charge_epsilon=1).kind == "scope"
        for name in ("team", "other"):
            asked = ledger.set_scope(name, 1, by="ada", charge_epsilon=2)
            assert asked.kind == "request"
            ledger.approve(asked.number, "bo")
            assert ledger.set_scope(name, 1, by="ada", charge_epsilon=2).kind == "scope"
        assert ledger.verify() == VALID
    assert recounted(url)


@pytest.mark.parametrize("parts", [False, True])
def test_an_entry_above_the_cap_for_one_charge_is_found(url, monkeypatch, parts):
    with Ledger.open(url) as ledger, monkeypatch.context() as broken:
        broken.setattr(State, "over_one", lambda *_: None)
        if parts:
            ledger.reserve_plan(plan(TENTH), "x", "k", rounds=3, scope="team")
        else:
            ledger.charge_plan(plan(3 * TENTH), "x", scope="team")
    assert not verify(url)["valid"]
    assert not recounted(url)


MEASURES = {
    "pure": 0,
    "approximate": "1e-6",
    "gdp": "1e-6",
    "zcdp": "1e-6",
    "approximate-zcdp": "1e-6",
    "either": "1e-6",
}
events = st.one_of(
    st.builds(Pure, epsilon=st.fractions(0, 1, max_denominator=20)),
    st.builds(Gaussian, sigma=st.integers(3, 60)),
    st.builds(
        Approximate, epsilon=st.fractions(0, 1, max_denominator=20), delta=st.sampled_from(["1e-7", "1e-5"])
    ),
)


@examples(6, 40)
@given(
    measure=st.sampled_from([*MEASURES]),
    asked=st.lists(st.lists(events, min_size=1, max_size=3), max_size=4),
    most=st.fractions("1/10", 1, max_denominator=10),
)
def test_a_charge_is_accepted_just_where_a_ledger_of_that_budget_takes_it_first(
    tmp_path_factory, measure, asked, most
):
    """In any measure the cap for one charge is what a fresh ledger with that budget would say of it."""
    folder, delta = tmp_path_factory.mktemp("one"), Fraction(MEASURES[measure])
    terms = {**PURE, "measure": measure, "delta": delta}
    init(url := f"sqlite:///{folder}/budget.db", **{**terms, "epsilon": 12})
    with Ledger.open(url) as ledger:
        ledger.set_scope("team", 12, charge_epsilon=most)
        for number, members in enumerate(asked):
            one = Plan(Relation.REPLACE_ONE, tuple(members))
            with Ledger.create(f"sqlite:///{folder}/{number}.db", **{**terms, "epsilon": most}) as fresh:
                outcomes = []
                for each, scope in ((fresh, None), (ledger, "team")):
                    try:
                        outcomes.append(each.charge_plan(one, "x", scope=scope, dry_run=True).reason)
                    except BudgetError:
                        outcomes.append("refused")
            # Where ε and δ add up, a plan may be priced at less δ in the larger ledger, at more ε.
            assert outcomes[0] == outcomes[1] or (measure, outcomes) == ("approximate", [None, "refused"])
