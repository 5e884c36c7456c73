"""The life cap: what all periods together may cost a unit, which no reset lifts."""

import hashlib
import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.cli import answers
from audits.cli.app import run
from audits.reports import review
from audits.reports.of_ledger import html, nist
from dpaccount.errors import DpaccountError, InputError
from dpaccount.ledger.balances.budget import budget, read_budget
from dpaccount.ledger.journal import export
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.requests import RefusedError
from dpaccount.plan.events import Approximate, Gaussian, Plan, Pure, Relation
from tests.depth import deep, examples

from .conftest import VALID, by_hand, plan, recounted

PURE = {"unit": "person", "relation": "replace-one", "measure": "pure", "delta": 0}
STEPS = st.lists(
    st.one_of(
        st.none(),  # a reset
        st.tuples(
            st.integers(1, 6), st.integers(1, 4), st.integers(0, 3)
        ),  # tenths of ε, first unit, more units
    ),
    max_size=14,
)


def made(folder, life, **more):
    url = f"sqlite:///{folder}/budget.db"
    init(url, **{**PURE, "epsilon": 1, "life_epsilon": life, **more})
    return url


@deep
@examples(25, 25)
@given(steps=STEPS, life=st.integers(10, 25))
def test_a_charge_is_accepted_if_and_only_if_period_and_life_have_room(tmp_path_factory, steps, life):
    """Against sums by unit in tenths of ε; no sequence of charges and resets brings a unit beyond the cap."""
    url = made(tmp_path_factory.mktemp("life"), Fraction(life, 10))
    period, ever = (dict.fromkeys(range(1, 9), 0) for _ in range(2))
    with Ledger.open(url) as ledger:
        for step in steps:
            if step is None:
                ledger.reset("another period")
                period = dict.fromkeys(period, 0)
                continue
            cost, first, more = step
            units = range(first, first + more + 1)
            fits = all(period[unit] + cost <= 10 and ever[unit] + cost <= life for unit in units)
            try:
                ledger.charge_plan(plan(Fraction(cost, 10), (units[0], units[-1])), "a")
                accepted, why = True, ""
            except RefusedError as refused:
                accepted, why = False, str(refused)
            assert accepted == fits
            if not fits:
                assert ("which no reset lifts" in why) == all(period[unit] + cost <= 10 for unit in units)
                continue
            for unit in units:
                period[unit] += cost
                ever[unit] += cost
        shown = ledger.show()
        assert shown["life"]["epsilon"]["upper"] <= math.nextafter(life / 10, math.inf)  # rounded up
        assert shown["life_remaining"]["epsilon"]["lower"] == pytest.approx((life - max(ever.values())) / 10)
        left = min(10 - max(period.values()), life - max(ever.values()))
        assert shown["remaining"]["epsilon"]["lower"] == pytest.approx(left / 10)
        assert ledger.verify() == VALID
        assert recounted(url)


@pytest.mark.parametrize("measure", ["pure", "approximate", "gdp", "zcdp", "approximate-zcdp", "either"])
def test_what_is_said_to_be_left_fits_and_no_more_does(tmp_path, measure):
    """In every measure, in the third period: the life cap binds, and leaves less than the period's budget."""
    delta = 0 if measure == "pure" else Fraction(1, 10**6)
    url = made(tmp_path, Fraction(3, 2), measure=measure, delta=delta)
    event = (
        plan("7/10")
        if measure in ("pure", "approximate")
        else Plan(Relation.REPLACE_ONE, (Gaussian(sigma=9),))
    )
    with Ledger.open(url) as ledger:
        taken = 0
        while True:
            try:
                ledger.charge_plan(event, "a")
                taken += 1
            except RefusedError as refused:
                if "which no reset lifts" in str(refused):
                    break
                ledger.reset("another period")
        shown = ledger.show()
        assert taken > 1
        assert shown["resets"] >= 1
        assert shown["life"]["epsilon"]["upper"] <= 1.5
        some = shown["remaining"]["epsilon"]["lower"] or 0
        if some > 0.01 and measure in ("pure", "approximate"):
            with pytest.raises(RefusedError, match="no reset lifts"):
                ledger.charge_plan(plan(Fraction(some) + Fraction(1, 1000)), "more")
            ledger.charge_plan(plan(Fraction(some) - Fraction(1, 1000)), "less")
        assert ledger.verify() == VALID


def test_a_charge_beyond_the_cap_by_another_program_is_found(tmp_path):
    """Whoever writes the file can take the cap out of entry 0: then no digest fits."""
    url = made(tmp_path, 1)
    with Ledger.open(url) as ledger:
        ledger.charge_plan(plan("9/10"), "a")
        ledger.reset("another period")
    [(body,)] = by_hand(url, "SELECT body FROM entries WHERE number = 0")
    facts = json.loads(body)
    assert (facts["life_epsilon"], facts["period_epsilon"]) == ("1", "1")
    assert "epsilon" not in facts  # a program that knows of no life cap refuses the ledger
    facts["life_epsilon"] = "9"
    by_hand(url, "UPDATE entries SET body = ? WHERE number = 0", values=(json.dumps(facts),))
    assert not verify(url)["valid"]
    with pytest.raises(DpaccountError):
        Ledger.open(url)


def test_what_a_life_costs_is_said_at_the_delta_of_its_cap(tmp_path):
    """After two periods whose δ add up to more than one period's, and in GDP, whose ε depends on δ."""
    for measure, event in (("approximate", approximate_event()), ("gdp", gaussian_event())):
        url = f"sqlite:///{tmp_path}/{measure}.db"
        delta = {"delta": Fraction(1, 10**6), "life_delta": Fraction(1, 10**5)}
        init(url, **{**PURE, **delta, "measure": measure, "epsilon": 1, "life_epsilon": 3})
        with Ledger.open(url) as ledger:
            for _ in range(2):
                ledger.charge_plan(event, "a")
                ledger.reset("another period")
            shown = ledger.show()
            life, left = (shown[name]["epsilon"] for name in ("life", "life_remaining"))
            assert life["upper"] <= 3
            assert measure != "approximate" or (life["upper"], shown["life"]["delta"]) == pytest.approx(
                (0.2, 1.2e-6)
            )
            assert 0 < left["lower"] <= 3
        assert "inf" not in answers.show(url)["explained"]
        assert "at δ 1e-05, of which" in answers.show(url)["explained"]


def approximate_event():
    return Plan(Relation.REPLACE_ONE, (Approximate(epsilon=Fraction(1, 10), delta=Fraction("6e-7")),))


def gaussian_event():
    return Plan(Relation.REPLACE_ONE, (Gaussian(sigma=6),))


def test_balances_beyond_the_cap_are_shown_to_nobody_as_within_it(tmp_path, monkeypatch):
    """Entries with valid digests that another program made, before anybody recomputes the totals."""
    url = made(tmp_path, Fraction(3, 2))
    with Ledger.open(url) as ledger:
        ledger.charge_plan(plan("9/10"), "a")
        ledger.reset("another period")
        monkeypatch.setattr("dpaccount.ledger.balances.state.State.over", lambda *_: None)
        ledger.charge_plan(plan("9/10"), "a")
        monkeypatch.undo()
        for said in (ledger.show, lambda: answers.show(url), lambda: review.report(url, replay=False)):
            with pytest.raises(
                DpaccountError, match="more is spent than the ledger's budget, or its life cap"
            ):
                said()


@deep
def test_units_that_spent_in_different_measures_are_told_apart_or_it_is_said_that_they_cannot_be(tmp_path):
    """Each of 300 units has spent little in one of two measures; none comes beyond the cap."""
    url = made(tmp_path, Fraction(3, 2), measure="either", delta=Fraction(1, 10**6))
    odd = tuple(Pure(epsilon=Fraction(7, 10), cover=(unit, unit)) for unit in range(1, 300, 2))
    even = tuple(Gaussian(sigma=5, cover=(unit, unit)) for unit in range(2, 301, 2))
    with Ledger.open(url) as ledger, pytest.MonkeyPatch.context() as patch:
        ledger.charge_plan(Plan(Relation.REPLACE_ONE, odd), "a")
        ledger.reset("another period")
        patch.setattr("dpaccount.ledger.charging.SEARCHED", 100)
        with pytest.raises(RefusedError, match="too many units differ to tell"):
            ledger.charge_plan(Plan(Relation.REPLACE_ONE, even), "a")
        patch.undo()
        ledger.charge_plan(Plan(Relation.REPLACE_ONE, even), "a")
        assert ledger.verify() == VALID


def test_a_cap_beyond_any_loss_never_binds(tmp_path):
    url = made(tmp_path, 10**300, measure="gdp", delta=Fraction(1, 10**6))
    with Ledger.open(url) as ledger:
        for _ in range(3):
            ledger.charge_plan(gaussian_event(), "a")
            ledger.reset("another period")
        assert ledger.show()["remaining"]["epsilon"]["lower"] > 0.9


def test_without_a_life_cap_entry_0_is_what_it_was():
    plain = budget(1, 0, "person", "replace-one", "pure")
    assert plain.as_origin() == plain.as_json()
    assert "life" not in str(plain.as_json())
    capped = budget(1, 0, "person", "replace-one", "pure", (2, None))
    assert read_budget(json.dumps(capped.as_origin())) == capped
    assert read_budget(json.dumps(plain.as_origin())) == plain


def test_it_goes_with_an_export_and_stands_on_the_report(tmp_path):
    url = made(tmp_path, 2)
    with Ledger.open(url) as ledger:
        ledger.charge_plan(plan("1/2"), "a")
    (tmp_path / "lines").write_bytes(b"".join(export.lines(url)))
    other = f"sqlite:///{tmp_path}/other.db"
    export.imported(tmp_path / "lines", other)
    with Ledger.open(other) as copy:
        assert copy.budget.life == (2, 0)
    report = review.report(url)
    assert "no unit ever loses more than ε = 2 at δ = 0" in html({**report, "nist": nist(report)}, "a")
    assert (
        "in its whole life a unit loses at most ε 2, of which ε 1.5 is left" in answers.show(url)["explained"]
    )


@pytest.mark.parametrize(
    ("life", "said"),
    [
        ({"life_epsilon": "1/2"}, "below the budget"),
        ({"life_epsilon": 2, "life_delta": "1/10"}, None),
        ({"life_delta": "1/10"}, "a life cap has no epsilon"),
        ({"life_epsilon": "nan"}, "epsilon"),
        ({"life_epsilon": 2, "life_delta": 1}, "delta is out of range"),
    ],
)
def test_what_makes_no_sense_is_refused_and_makes_no_ledger(tmp_path, life, said):
    url = f"sqlite:///{tmp_path}/budget.db"
    if said is None:
        init(url, **{**PURE, "measure": "approximate", "epsilon": 1, **life})
        return
    with pytest.raises(InputError, match=said):
        init(url, **PURE, epsilon=1, **life)
    assert not list(tmp_path.iterdir())


def test_a_ledger_says_which_data_it_is_about_and_not_a_word_of_them(tmp_path, capsys):
    url, declared = f"sqlite:///{tmp_path}/budget.db", tmp_path / "claim.toml"
    declared.write_text("[data]\n")
    terms = ["--epsilon", "1", "--delta", "0", "--unit", "one patient", "--relation", "replace-one"]
    assert (
        run(["ledger", "init", url, *terms, "--dataset", "visits 2026", "--declaration", str(declared)]) == 0
    )
    assert "visits 2026: one patient" in capsys.readouterr().out
    digest = f"sha256:{hashlib.sha256(declared.read_bytes()).hexdigest()}"
    with Ledger.open(url) as ledger:
        assert ledger.show()["budget"]["declaration"] == digest
        assert (ledger.budget.dataset, ledger.verify()) == ("visits 2026", VALID)
    report = review.report(url)
    assert f"The data: visits 2026 (declared in {digest})." in html({**report, "nist": nist(report)}, "a")
    assert run(["ledger", "init", f"sqlite:///{tmp_path}/b.db", *terms, "--dataset", "a\nb"]) == 2
    assert run(["ledger", "init", f"sqlite:///{tmp_path}/b.db", *terms, "--declaration", "none.toml"]) == 2
    assert not (tmp_path / "b.db").exists()
