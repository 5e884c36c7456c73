"""What a certificate notes of its ledger's budget: there or not there, and of one shape."""

from fractions import Fraction

import pytest

from dpaccount import proof
from dpaccount.accounting.measures import MEASURES
from dpaccount.checker import Rejected
from dpaccount.checker.certificate.releases import check_budget
from dpaccount.checker.curves import Approximate, BoundedRange, Gdp, Lattice, Pure, Zcdp, check_left, ideal
from dpaccount.checker.derivation import conclusions, unconverted
from tests.documents import wrong
from tests.dpaccount.checker.made import HONEST, ON_DATA, R, accepted, edited, step
from tests.looped import looped

ENDS = {"lower": 2.0, "upper": 2.0}
BUDGET = {
    **{"epsilon": "5", "delta": "1/5", "relation": "replace-one", "unit": "a row", "measure": "approximate"},
    **{"before": {"lower": 0.0, "upper": 0.0}, "after": ENDS, "rest": {"lower": 3.0, "upper": 3.0}},
}


def noting(budget):
    return edited(edited(HONEST, *ON_DATA), (("release", "budget"), budget))


def test_a_certificate_is_read_with_a_budget_and_without():
    assert accepted(edited(HONEST, *ON_DATA))  # as earlier versions wrote it
    for budget in (BUDGET, {**BUDGET, "left": {"delta": 0.2}}):
        assert accepted(noting(budget))
        assert not wrong("certificate", noting(budget))


@looped(
    "change",
    [
        {"epsilon": "much"}, {"epsilon": -1}, {"relation": "friends"}, {"unit": 1}, {"measure": None}, {"note": 1},
        {"before": None}, {"after": {"lower": 0}}, {"after": {"lower": 0, "upper": -1}}, {"rest": {**ENDS, "x": 1}},
        {"after": 1}, {"delta": None}, {"left": {"epsilon": 1}}, {"left": {"delta": "much"}},
    ],
)  # fmt: skip
def test_a_damaged_budget_is_refused(change):
    assert not accepted(noting({**BUDGET, **change}))
    by_schema = wrong("certificate", noting({**BUDGET, **change}))
    texts = (
        {"epsilon": "much"},
        {"epsilon": -1},
        {"left": {"delta": "much"}},
        {"after": {"lower": 0, "upper": -1}},
    )
    assert by_schema or change in texts


def test_an_ideal_pair_has_the_rho_that_a_ledger_charges():
    """The Gaussian pair that costs no more, by another program: μ² = 2ρ."""
    pairs = (
        (Gdp(Fraction(3)), proof.Gdp(Fraction(3))),
        (Zcdp(Fraction(3, 2)), proof.Zcdp(Fraction(3, 2))),
        *(
            (Lattice(Fraction(4), moves, n), proof.Lattice(Fraction(4), moves, n))
            for moves in (((2,), (1, 1)),)
            for n in (1, 3)
        ),
    )
    for curve, other in pairs:
        assert ideal(curve, "zcdp") == (2 * MEASURES["zcdp"].of_curve(other)[0], 0)
    assert ideal(Pure(Fraction(2)), "zcdp") == (4, 0)
    assert (
        ideal(BoundedRange(Fraction(2)), "zcdp")
        == ideal(BoundedRange(Fraction(2)), "approximate-zcdp")
        == (1, 0)
    )
    small = Fraction(1, 9)
    assert ideal(Approximate(Fraction(3), small), "approximate-zcdp") == (9, small)
    assert ideal(Approximate(Fraction(3), small), "zcdp") is None


@looped("measure", ["gdp", "zcdp", "approximate-zcdp", "either"])
def test_a_measure_that_adds_up_no_epsilon_may_have_paid(measure):
    """It charges what was converted to the (ε, δ) that is proved; its sums are not those of ε."""
    assert accepted(noting({**BUDGET, "measure": measure, "after": {"lower": None, "upper": 1.5}}))
    assert not accepted(noting({**BUDGET, "measure": measure, "after": {"lower": 0, "upper": 0}}))
    assert not accepted(noting({**BUDGET, "measure": measure, "delta": "0"}))


@looped(
    "change",
    [
        {"measure": "pure"}, {"measure": "mine"}, {"delta": "0"}, {"delta": "1"},
        {"relation": "add-remove"}, {"relation": "bounded-row, radius 1"}, {"after": {"lower": 0.5, "upper": 0.25}},
        {"rest": {"lower": "1e300", "upper": 1}}, {"left": {"delta": "1/4"}},
    ],
)  # fmt: skip
def test_a_budget_that_contradicts_the_claim_or_itself_is_refused(change):
    assert accepted(noting(BUDGET))
    assert not accepted(noting({**BUDGET, **change}))


@looped("name", BUDGET)
def test_a_budget_that_lacks_a_member_is_refused(name):
    less = {key: value for key, value in BUDGET.items() if key != name}
    assert not accepted(noting(less))
    assert wrong("certificate", noting(less))


def paid(measure, rule="gaussian", most=1, **kept):
    """Return whether a ledger in `measure` may have paid for noise of μ² = 1, shown at (2, 1/10)."""
    steps = []
    step(steps, "assume_ball", [], query="sum", radius="1/2", relation=R, because="movement")
    step(steps, "linear", [0])
    numbers = []
    if rule == "fine_gaussian":
        step(steps, "assume_numbers", [], query="sum", most=1, because="movement")
        numbers = [2]
    step(steps, rule, [1, *numbers], variance="1", key="noise", **NOISE[rule])
    order = {"order": "2"} if rule == "discrete_gaussian" else {}
    step(steps, "to_approximate", [len(steps) - 1], epsilon="2", delta="1/10", **order)
    step(steps, "assume_view", [], query="clinic", audience="everyone", releases=["noise"], because="replay")
    step(steps, "post_process", [len(steps) - 2, len(steps) - 1])
    if most > 1:
        step(steps, "group", [len(steps) - 1], size=most, delta="1")
        step(steps, "assume_persons", [], query="clinic", relation=R, rows=R, most=most, because="movement")
        step(steps, "persons", [len(steps) - 2, len(steps) - 1])
    facts = conclusions(steps)
    budget = {**BUDGET, "measure": measure, "after": {"lower": None, "upper": 1.5}, **kept}
    try:
        check_budget(budget, HONEST["guarantee"], [facts[-1], unconverted(steps, facts)])
    except Rejected:
        return False
    return True


NOISE = {
    "gaussian": {},
    "discrete_gaussian": {"grid": "1/1024"},
    "fine_gaussian": {"grid": "1/1048576", "coordinates": 1, "distance": "1/1000000000"},  # δ 1/1000
}
ADDING = ("gdp", "zcdp", "either", "approximate-zcdp")


@looped("rule", NOISE)
def test_a_measure_without_a_bound_for_the_noise_has_not_paid(rule):
    takers = {"gaussian": ADDING, "discrete_gaussian": ADDING[1:], "fine_gaussian": ADDING[3:]}[rule]
    assert tuple(measure for measure in ADDING if paid(measure, rule)) == takers


@looped("measure", ADDING)
def test_no_less_is_spent_than_the_charge_costs_alone(measure):
    """A Gaussian pair of μ = 1 costs ε 4.38 at δ = 1e-5, and 4.54 at half of it."""
    ends = [{"delta": "1e-5", "after": {"lower": None, "upper": upper}} for upper in (4.3, 4.45)]
    assert [paid(measure, **each) for each in ends] == [False, measure in ("gdp", "zcdp")]
    assert paid(measure, delta="1/100000", after={"lower": None, "upper": 4.9})
    whole = edited(noting({**BUDGET, "measure": measure, "after": {"lower": None, "upper": 0.3}}))
    assert not accepted(whole)


def test_half_of_delta_holds_what_a_release_has_of_its_own():
    end = {"after": {"lower": None, "upper": 4.5}}
    assert paid("approximate-zcdp", "fine_gaussian", delta="1/500", **end)
    assert not paid("approximate-zcdp", "fine_gaussian", delta="1/501", **end)
    assert paid("approximate-zcdp", epsilon="13")
    assert not paid("approximate-zcdp", epsilon="14")


@looped("rule", ["gaussian", "discrete_gaussian"])
def test_groups_of_rows_cost_their_square(rule):
    """Two rows: μ = 2, of which Gaussian noise costs ε 10.4 at half of δ = 1e-5."""
    ends = [{"delta": "1e-5", "after": {"lower": None, "upper": upper}} for upper in (9.9, 10.9)]
    assert [paid("approximate-zcdp", rule, 2, epsilon="12", **end) for end in ends] == [False, True]


@looped(("delta", "enough"), [("1/250", True), ("1/251", False)])
def test_groups_of_rows_add_their_distances(delta, enough):
    end = {"epsilon": "12", "after": {"lower": None, "upper": 10.9}}
    assert paid("approximate-zcdp", "fine_gaussian", 2, delta=delta, **end) == enough


@looped(
    ("measure", "delta", "spent", "enough"),
    [("pure", "0", 2, True), ("pure", "0", 1.95, False), ("approximate", "1/20", 2, True),
     ("approximate", "1/20", 1.95, False), ("approximate", "1/10", 1.95, True)],
)  # fmt: skip
def test_what_was_pure_before_it_was_converted_may_be_charged_as_that(measure, delta, spent, enough):
    """ε = 2, stated as (1.9, 1/10): a ledger without that δ counts all of it."""
    steps = []
    given = {"query": "sum", "low": "0", "high": "1", "relation": R, "because": "movement"}
    step(steps, "assume_clipped", [], **given)
    step(steps, "linear", [0])
    step(steps, "laplace", [1], scale="1/2", grid="1/1024", key="noise")
    step(steps, "to_approximate", [2], epsilon="19/10", delta="1/10")
    facts = conclusions(steps)
    ends = ({"lower": end, "upper": end} for end in (spent, 5 - spent))
    budget = {**BUDGET, "measure": measure, "delta": delta, **dict(zip(("after", "rest"), ends, strict=True))}
    try:
        check_budget(budget, HONEST["guarantee"], [facts[-1], unconverted(steps, facts)])
    except Rejected:
        assert not enough
    else:
        assert enough


@looped("measure", ["gdp", "zcdp", "approximate-zcdp", "either", "approximate"])
@looped("epsilon", [Fraction(1, 100), Fraction(1), Fraction(12)])
@looped("delta", [Fraction(1, 10**12), Fraction(1, 10**6), Fraction(1, 10)])
def test_what_an_unused_ledger_has_left_is_accepted_and_far_more_is_not(measure, epsilon, delta):
    of = MEASURES[measure]
    left = dict(zip(of.amounts, of.room((Fraction(0),) * len(of.amounts), epsilon, delta), strict=True))
    named = {name: most for name, most in left.items() if name != "epsilon"}  # its ε is held to the total
    check_left(named, epsilon, delta)
    for name, most in named.items():
        with pytest.raises(Rejected, match=f"more {name} is left"):
            check_left({name: 100 * most}, epsilon, delta)  # the costs of ρ and of μ² differ at a large δ
        with pytest.raises(Rejected, match=f"more {name} is left"):
            check_left({name: -most}, epsilon, delta)


def test_a_life_cap_may_leave_less_than_the_budget_and_never_more():
    ends = lambda value: {"lower": value, "upper": value}  # noqa: E731
    capped = {**BUDGET, "life_epsilon": "6"}
    for rest in (3.0, 1.0, 0.0):
        assert accepted(noting({**capped, "rest": ends(rest)}))
    assert not accepted(
        noting({**BUDGET, "rest": ends(1.0)})
    )  # without one, what is left is all that is not spent
    for wrong_one in (
        {"rest": ends(4.0)},
        {"life_epsilon": "4"},
        {"life_epsilon": "much"},
        {"rest": ends(-1.0)},
    ):
        assert not accepted(noting({**capped, **wrong_one}))
