"""Measures of ledgers: exact amounts, certified decisions, and what charges cost in each."""

import inspect
import math
import random
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.cli import answers
from audits.cli.ledger import init as command
from audits.reports.log import log
from dpaccount import proof
from dpaccount.accounting.gdp_of_plan import mu_squared as composed
from dpaccount.accounting.measures import MEASURES, MOST_NEAR, NEAR_WEIGHT, Measure, _largest
from dpaccount.errors import BudgetError, InputError
from dpaccount.ledger.balances.budget import measure
from dpaccount.ledger.journal import export
from dpaccount.ledger.journal.verify import standing, verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.ledger.requests import RefusedError, rounded_up
from dpaccount.numerics.closed import gaussian
from dpaccount.plan import events
from dpaccount.plan.events import (
    Approximate,
    BoundedRange,
    Gaussian,
    Laplace,
    Plan,
    Pure,
    RandomizedResponse,
    Relation,
    Sequence,
    Zcdp,
)
from dpaccount.proof import ADD_REMOVE, REPLACE_ONE
from tests.depth import deep
from tests.dpaccount.ledger import recount as by_rows
from tests.dpaccount.ledger.conftest import VALID, approximate, discrete_gaussian, histogram, pure, steps_in
from tests.dpaccount.ledger.recount import recount
from tests.looped import looped

GDP, PURE, APPROXIMATE, ZCDP = (measure(name) for name in ("gdp", "pure", "approximate", "zcdp"))
MILLIONTH = Fraction(1, 10**6)
ALL = set(MEASURES)


def test_unknown_measures_are_refused():
    for name in ("rdp", "renyi", ""):
        with pytest.raises(InputError, match="; "):
            measure(name)


@looped(
    ("curve", "able"),
    [
        (proof.Pure(Fraction(1)), ALL),
        (proof.Approximate(Fraction(1), Fraction(0)), ALL),
        (proof.Approximate(Fraction(1), MILLIONTH), {"approximate", "approximate-zcdp"}),
        (proof.Gdp(Fraction(1)), {"gdp", "zcdp", "approximate-zcdp", "either"}),
        (proof.NearGdp(Fraction(1), MILLIONTH), {"approximate-zcdp"}),
        (proof.Zcdp(Fraction(1)), {"zcdp", "approximate-zcdp", "either"}),
        (proof.BoundedRange(Fraction(1)), ALL),
        (proof.Lattice(Fraction(4), ((2,), (1, 1)), 3), {"zcdp", "approximate-zcdp", "either"}),
    ],
)
def test_which_measure_takes_a_curve(curve, able):
    assert {name for name, kind in MEASURES.items() if kind.of_curve(curve) is not None} == able


def test_a_point_with_delta_never_becomes_gaussian():
    assert GDP.of_curve(proof.Approximate(Fraction(1), Fraction(1, 10**300))) is None
    assert GDP.of_event(events.Approximate(epsilon=1, delta="1e-300")) is None
    assert GDP.of_event(events.Zcdp(rho=1)) is None


def test_amounts_of_curves():
    assert ZCDP.of_curve(proof.Gdp(Fraction(3))) == (Fraction(3, 2),)
    assert ZCDP.of_curve(proof.Pure(Fraction(3))) == (Fraction(9, 2),)
    assert ZCDP.of_curve(proof.Lattice(Fraction(4), ((2,), (1, 1)), 3)) == (Fraction(3, 2),)
    assert APPROXIMATE.of_curve(proof.Pure(Fraction(3))) == (Fraction(3), Fraction(0))


def test_amounts_of_events():
    two = events.Sequence(
        of=(events.Approximate(epsilon=1, delta=MILLIONTH, count=2), events.Pure(epsilon=2)), count=3
    )
    assert APPROXIMATE.of_event(two) == (Fraction(12), 6 * MILLIONTH)
    assert APPROXIMATE.of_event(events.Sequence(of=(two, events.Gaussian(sigma=1)))) is None
    assert PURE.of_event(events.Laplace(scale=4, count=3)) == (Fraction(3, 4),)
    assert GDP.of_event(events.Gaussian(sigma=4, count=3)) == (Fraction(3, 16),)


@deep
@given(st.fractions(Fraction(1, 10**6), 30))
def test_pure_enters_gaussian_by_the_least_mu_rounded_up(epsilon):
    [mu_squared] = GDP.of_curve(proof.Pure(epsilon))
    mu = math.sqrt(mu_squared)
    # Φ(−μ/2) = 1/(1 + e^ε) to within doubles
    assert math.erfc(mu / 2 / math.sqrt(2)) / 2 == pytest.approx(1 / (1 + math.exp(epsilon)), rel=1e-9)


def test_huge_charges_are_decided_quickly():
    for size in (Fraction(10) ** 300, Fraction(10) ** 5000):
        [mu_squared] = GDP.of_curve(proof.Pure(size))
        assert mu_squared == 8 * size
        for kind in (GDP, ZCDP):
            assert not kind.fits((mu_squared,), Fraction(1), MILLIONTH)
            assert kind.enclosure((mu_squared,), MILLIONTH).upper > 1


@deep
@given(st.sampled_from([GDP, ZCDP]), st.fractions(0, 10), st.integers(1, 300))
def test_room_fits_and_little_more_does_not(kind, epsilon, exponent):
    delta = Fraction(1, 10**exponent)
    spent = (Fraction(0),)
    for _ in range(2):  # of nothing, and of a half-spent budget
        [more] = kind.room(spent, epsilon, delta)
        assert kind.fits((spent[0] + more,), epsilon, delta)
        assert not kind.fits((spent[0] + more * (1 + Fraction(1, 10**9)),), epsilon, delta)
        spent = (more / 2,)


def test_gaussian_decisions_are_the_exact_curve():
    for mu_squared in (Fraction(1, 20), Fraction(1, 17)):
        exact = gaussian.delta(Fraction(1), (mu_squared, mu_squared))
        assert GDP.fits((mu_squared,), Fraction(1), MILLIONTH) == bool(exact < 1e-6)


def test_zcdp_is_the_published_conversion():
    # ρ = .024356 is what (1, 10⁻⁶) allows at the best order
    assert ZCDP.fits((Fraction("0.024355"),), Fraction(1), MILLIONTH)
    assert not ZCDP.fits((Fraction("0.024357"),), Fraction(1), MILLIONTH)
    bound = ZCDP.enclosure((Fraction("0.024355"),), MILLIONTH)
    assert bound.lower is None
    assert 0.9999 < bound.upper < 1


@pytest.mark.parametrize("kind", [GDP, ZCDP], ids=["gdp", "zcdp"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 50), Fraction(1, 3), Fraction(1), Fraction(7)])
def test_the_recount_of_storms_agrees_about_the_last_of_a_budget(kind, epsilon):
    [most] = kind.room((Fraction(0),), epsilon, MILLIONTH)
    assert by_rows.fits(kind.name, [most], epsilon, MILLIONTH)
    assert not by_rows.fits(kind.name, [most * (1 + Fraction(1, 10**9))], epsilon, MILLIONTH)


def test_plain_sums_are_exact():
    tenth = Fraction(1, 10)
    assert PURE.fits((10 * tenth,), Fraction(1), Fraction(0))
    assert not PURE.fits((10 * tenth + Fraction(1, 10**300),), Fraction(1), Fraction(0))
    assert not APPROXIMATE.fits((tenth, 2 * MILLIONTH), Fraction(1), MILLIONTH)
    assert APPROXIMATE.room((tenth, MILLIONTH / 4), Fraction(1), MILLIONTH) == (
        Fraction(9, 10),
        MILLIONTH * 3 / 4,
    )


@deep
@given(st.fractions(0, 10**6))
def test_shortening_never_lowers_and_hardly_raises(amount):
    after = rounded_up(amount)
    assert amount <= after <= amount * (1 + Fraction(1, 2**100))


def test_simple_fractions_stay_exact():
    for amount in (Fraction(1, 10), Fraction(1, 3), Fraction(9, 800), Fraction("1e-300"), Fraction(10**200)):
        assert rounded_up(amount) == amount


@looped("amount", [Fraction(1, 7**5000), Fraction("1e-5000"), Fraction(10**5000, 7**3000)])
def test_shortened_amounts_can_be_written(amount):
    after = rounded_up(amount)
    assert after >= amount
    assert after.denominator.bit_length() <= 2049


def test_how_many_exponential_mechanisms_fit_a_gaussian_budget():
    """At (1, 1e-6): 57 of ε = .05, where 14 fitted as pure ones and 89 fit if all are fixed beforehand."""
    once = events.Exponential(epsilon="0.05").mu_squared()
    assert once is not None
    assert GDP.fits((57 * once,), Fraction(1), MILLIONTH)
    assert not GDP.fits((58 * once,), Fraction(1), MILLIONTH)


def plan(*events):
    return Plan(Relation.REPLACE_ONE, events)


@deep
def test_units_may_end_under_different_measures(make, url):
    """The largest amounts of all units together fit in no measure, and every unit fits in one."""
    ledger = make(1, MILLIONTH, "either")
    ledger.charge_plan(plan(Gaussian(sigma=5, cover=(1, 5))), "gdp alone")
    ledger.charge_plan(plan(Pure(epsilon=1, cover=(10, 12))), "pure alone")
    ledger.charge_plan(plan(Zcdp(rho=Fraction(1, 60), cover=(13, 40))), "zcdp alone")
    head = ledger.show()["head"]
    ledger.charge_plan(plan(RandomizedResponse(epsilon="1/10", k=3, cover=(100, 100))), "another unit")
    with pytest.raises(RefusedError, match="unit 11 "):
        ledger.charge_plan(plan(Pure(epsilon="1/1000", cover=(11, 500))), "one more")
    with pytest.raises(RefusedError, match="unit 3 "):
        ledger.charge_plan(plan(Gaussian(sigma=8, cover=(3, 3))), "one more")
    assert ledger.verify() == VALID
    assert verify(url, since=head) == VALID
    file = Path(url.removeprefix("sqlite:///"))
    counted = recount(file)
    assert (counted["counts"]["charge"], counted["counts"]["refusal"]) == (4, 2)
    lines = file.with_suffix(".jsonl")
    lines.write_bytes(b"".join(export.lines(url)))
    export.imported(lines, f"sqlite:///{file.with_suffix('.copy.db')}")


@deep
def test_a_measure_that_was_exceeded_stays_so(make):
    """ρ without a μ ends gdp for good: what is left is decided by zCDP, and pure is long gone."""
    ledger = make(1, MILLIONTH, "either")
    ledger.charge_plan(plan(Zcdp(rho=Fraction(1, 1000))), "no bound in gdp or pure")
    spent = ledger.show()["spent"]
    assert (spent["mu_squared"], spent["rho"], spent["pure"]) == (1e9, 0.001, 1e9)
    room = ledger.show()["remaining"]
    assert (room["mu_squared"], room["pure"]) == (0, 0)
    assert 0.02 < room["rho"] < 0.03
    with pytest.raises(RefusedError):
        ledger.charge_plan(plan(Pure(epsilon="1/3")), "fits pure or gdp alone")
    ledger.charge_plan(plan(Pure(epsilon="1/5")), "fits zcdp")


@deep
def test_it_is_shown(make, url):
    ledger = make(1, MILLIONTH, "either")
    ledger.charge_plan(plan(Gaussian(sigma=20)), "one")
    shown = answers.show(url)
    assert shown["budget"]["measure"] == "either"
    assert "μ², ρ and ε each add up" in shown["explained"]
    assert 0 < shown["spent"]["epsilon"]["upper"] < 1
    assert 0 < shown["remaining"]["epsilon"]["upper"] < 1
    assert shown["worst_unit"] is None
    [_, line] = log(url)
    assert line["spends"] == {"mu_squared": 0.0025, "rho": 0.00125, "pure": 1e9}


@pytest.mark.parametrize("wrong", [{"epsilon": 10**7}, {"delta": 0}])
def test_budgets_without_sense_are_refused(url, wrong):
    given = {"epsilon": 1, "delta": MILLIONTH, "unit": "person", "relation": "replace-one", **wrong}
    with pytest.raises(InputError, match=r"either|delta 0"):
        init(url, **given, measure="either")


@deep
def test_more_laplace_fits_as_one_plan(make):
    """561 releases; charged one by one 358 fit, and exact composition allows 564."""
    ledger = make(1, MILLIONTH, "gdp")
    with pytest.raises(RefusedError):
        ledger.charge_plan(plan(Laplace(scale=100, count=562)), "too many")
    charge = ledger.charge_plan(plan(Laplace(scale=100, count=561)), "as one")
    assert charge.spends == (composed([(Laplace(scale=100), 561)]),)
    assert ledger.verify()["valid"]
    with pytest.raises(RefusedError):
        ledger.charge_plan(plan(Laplace(scale=100)), "one more")


@deep
def test_every_unit_pays_for_its_own_events(make, url):
    """Covers that overlap, one event over all, one that is not composed; a unit beyond pays no less than it should."""
    ledger = make(1, MILLIONTH, "gdp")
    one, two = Laplace(scale=50, count=4, cover=(3, 9)), Pure(epsilon="1/40", count=3, cover=(6, 20))
    shared, apart = Gaussian(sigma=40), BoundedRange(eta="1/50", count=2, cover=(6, 9))
    ledger.charge_plan(plan(one, two, shared, apart), "covers")
    bare = [(one.bare(), 1), (two.bare(), 1), (shared, 1), (apart.bare(), 1)]
    paid = {1: [2], 3: [0, 2], 6: [0, 1, 2, 3], 10: [1, 2], 21: [2]}
    wanted = [(unit, composed([bare[n] for n in which])) for unit, which in paid.items()]
    steps = steps_in(Path(url.removeprefix("sqlite:///")))
    assert [unit for unit, _ in steps] == list(paid)
    for (_, (spent,)), (_, exact) in zip(steps, wanted, strict=True):
        assert exact <= spent <= exact * (1 + Fraction(1, 2**100))
    assert recount(url.removeprefix("sqlite:///"))["counts"]["charge"] == 1


@deep
def test_the_same_plan_is_the_same_charge(make):
    ledger = make(1, MILLIONTH, "gdp")
    asked = plan(Laplace(scale=100, count=50), Pure(epsilon="1/100", count=50))
    tried = ledger.charge_plan(asked, "one", "key", dry_run=True)
    charged = ledger.charge_plan(asked, "one", "key")
    assert tried.spends == charged.spends
    assert ledger.charge_plan(asked, "one", "key").known


def test_other_measures_add_up(make):
    ledger = make(10, 0, "pure")
    assert ledger.charge_plan(plan(Laplace(scale=100, count=500)), "sum").spends == (5,)


BUDGET = {"epsilon": 20, "delta": Fraction("1e-6"), "unit": "row", "relation": "replace-one"}
CASES = [
    ("approximate", 1, "2e-6", None, "unit 1 to δ 2e-06, beyond the budget's δ 1e-06"),
    ("approximate", 30, "1e-7", None, "(epsilon 30, delta 1e-07), beyond the budget's ε 20;"),
    ("approximate", "20.5", "3e-6", None, "to ε 20.5 and δ 3e-06, beyond the budget's ε 20 and δ 1e-06"),
    ("approximate", "0.1", "2e-7", "a", "unit 1 to δ 2e-07, beyond the δ 1e-07 of the scope a"),
    ("approximate-zcdp", "0.01", "6e-7", None, "unit 1 to δ 6e-07, beyond the budget's δ 5e-07"),
]


@pytest.mark.parametrize(("measure", "epsilon", "delta", "scope", "said"), CASES)
def test_a_refusal_names_the_part_that_does_not_fit(url, measure, epsilon, delta, scope, said):
    init(url, **{**BUDGET, "epsilon": 20 if measure == "approximate" else 13}, measure=measure)
    event = Approximate(epsilon=Fraction(epsilon), delta=Fraction(delta))
    with Ledger.open(url) as ledger:
        if scope:
            ledger.set_scope(scope, 1, Fraction("1e-7"))
        with pytest.raises(BudgetError) as refused:
            ledger.charge_plan(Plan(Relation.REPLACE_ONE, (event,)), "x", scope=scope)
    assert said in str(refused.value)


def test_the_default_is_the_commands_default(url):
    defaults = {inspect.signature(made).parameters["measure"].default for made in (init, command)}
    assert defaults == {init(url, **BUDGET)["budget"]["measure"]}
    assert standing(url)["number"] == 0  # whatever the number of amounts
    with Ledger.open(url) as ledger:
        ledger.charge_plan(Plan(Relation.REPLACE_ONE, (Approximate(epsilon=1, delta=0),)), "x")
    assert standing(url)["number"] == 1


def test_a_plan_that_needs_the_whole_delta_is_charged_at_it(url):
    """A plan calibrated to the budget fits; a second one does not, and the refusal names what would take more."""
    gaussian = Plan(Relation.REPLACE_ONE, (Gaussian(sigma=Fraction("4.23")),))  # ε 1 at δ 1e-6
    init(url, **{**BUDGET, "epsilon": 1})
    with Ledger.open(url) as ledger:
        spent = ledger.charge_plan(gaussian, "x").spends
        assert spent[1] == Fraction("1e-6")
        assert Fraction(99, 100) < spent[0] <= 1
        for again in (ledger.charge_plan, lambda *given: ledger.reserve_plan(*given, "key")):
            with pytest.raises(BudgetError, match="add up to less in a ledger made with --measure gdp"):
                again(gaussian, "x")
        assert ledger.verify()["valid"]


def test_a_plan_without_a_delta_is_charged_at_a_part_of_the_ledgers(url):
    """Each of 16 plans, at ε where they are proved; what they cost together is not beyond it."""
    init(url, **BUDGET, measure="approximate")
    plan = Plan(Relation.REPLACE_ONE, (Gaussian(sigma=10, cover=(1, 9)), Gaussian(sigma=10, cover=(5, 9))))
    with Ledger.open(url) as ledger:
        for number in range(16):
            spends = ledger.charge_plan(plan, "x", f"key {number}").spends
        exact = Gaussian(sigma=10, count=2).delta(spends[0]) if hasattr(Gaussian, "delta") else None
        assert spends[1] == Fraction("1e-6") / 16
        assert exact is None or exact <= spends[1]
        with pytest.raises(BudgetError, match="beyond the budget's δ 1e-06"):
            ledger.charge_plan(plan, "x")
        assert ledger.verify()["valid"]


MEASURE = MEASURES["approximate-zcdp"]
GROWTH = Fraction(27, 20)  #: e^ε, rational for exact sums


def near(distance="1/10000000000", variance=400):
    """Return a Gaussian release on a fine grid, seen by everyone and converted to (ε, δ)."""
    ball = proof.linear(proof.assume_ball("mean", Fraction(1), REPLACE_ONE, "made up"))
    grid = Fraction(1, 2**20)
    noisy = proof.fine_gaussian(ball, Fraction(variance), grid, 2, Fraction(distance), "noise")
    point = proof.to_approximate(noisy, Fraction(1), MILLIONTH)
    return proof.post_process(point, proof.assume_view("mean", "everyone", "made up", ("noise",)))


# ------------------------------------------------------------------ the theorem, by enumeration


def moved(law, distance, chosen):
    """Return a law with this total variation from `law`: mass is taken from some outcomes, given to others."""
    law, left = list(law), distance
    giving = chosen.sample(range(len(law)), len(law))
    for outcome in giving[:-1]:
        taken = min(left, law[outcome])
        law[outcome], law[giving[-1]], left = law[outcome] - taken, law[giving[-1]] + taken, left - taken
    return law


def step(chosen):
    """Return (P, Q, failure, distance) of a release whose ideal part grows by at most `GROWTH` = e^ε."""
    share = Fraction(chosen.randint(1, 9), 10)
    ideal = [GROWTH * share, 1], [share, GROWTH]
    failure, distance = (Fraction(chosen.randint(0, 3), 40) for _ in range(2))
    left, right = ([(1 - failure) * part / sum(law) for part in law] for law in ideal)
    laws = [*left, failure, 0], [*right, 0, failure]
    if chosen.random() < 0.5:
        laws = laws[::-1]
    left, right = (moved(law, distance, chosen) for law in laws)
    return left, right, failure, distance


@looped("seed", range(40))
def test_failures_add_up_and_distances_cost_one_plus_e_to_the_epsilon(seed):
    """Enumerated: δ(ε) of an adaptive course is at most Σ failures + (1 + e^ε)·Σ distances, at its pure ε.

    Each release is a mixture with an ideal one that is ε-DP, moved by a total variation; the next is chosen from
    the outcomes.  False alarms: none, the sums are exact.
    """
    chosen, courses, made = random.Random(seed), [(Fraction(1), Fraction(1))], []
    for _ in range(3):
        made.append([step(chosen) for _ in courses])  # another release after every outcome
        courses = [
            (p * a, q * b)
            for (p, q), (left, right, _, _) in zip(courses, made[-1], strict=True)
            for a, b in zip(left, right, strict=True)
        ]
    failure, distance = (sum(max(one[which] for one in row) for row in made) for which in (2, 3))
    growth = GROWTH**3
    for first, second in ((0, 1), (1, 0)):
        exact = sum(max(pair[first] - growth * pair[second], 0) for pair in courses)
        assert exact <= failure + (1 + growth) * distance


def test_a_distance_can_cost_more_than_itself():
    """Its twin, in which a total variation counts as failure, is false."""
    growth, d = Fraction(3), Fraction(1, 100)
    left, right = [growth / 4, 1 / Fraction(4)], [1 / Fraction(4), growth / 4]
    left, right = [left[0] + d, left[1] - d], [right[0] - d, right[1] + d]
    exact = left[0] - growth * right[0]
    assert exact == (1 + growth) * d
    assert exact > d


def test_the_weight_covers_every_epsilon_that_a_ledger_takes():
    assert 1 + math.exp(MOST_NEAR) * (1 + 1e-12) <= NEAR_WEIGHT
    for epsilon in (MOST_NEAR, 50):  # beyond it a scope's cap counts as this ε
        fits = MEASURE.fits((Fraction(1, 2), Fraction(0)), Fraction(epsilon), MILLIONTH)
        assert fits == MEASURES["zcdp"].fits((Fraction(1, 2),), Fraction(MOST_NEAR), MILLIONTH / 2)


def test_the_halves_of_delta_are_fixed():
    """What one half has left is never the other's: a course could choose by its answers which one to use."""
    zcdp, epsilon = MEASURES["zcdp"], Fraction(1)
    [most] = zcdp.room((Fraction(0),), epsilon, MILLIONTH / 2)
    assert MEASURE.fits((most, MILLIONTH / 2), epsilon, MILLIONTH)
    assert not MEASURE.fits((most * (1 + MILLIONTH), Fraction(0)), epsilon, MILLIONTH)
    assert not MEASURE.fits((Fraction(0), MILLIONTH / 2 + MILLIONTH**4), epsilon, MILLIONTH)
    rho, delta = MEASURE.room((most / 2, MILLIONTH / 8), epsilon, MILLIONTH)
    assert (delta, MEASURE.fits((most / 2 + rho, MILLIONTH / 2), epsilon, MILLIONTH)) == (
        MILLIONTH * 3 / 8,
        True,
    )


def test_what_uses_up_its_half_of_delta_still_has_an_epsilon():
    rho, half = Fraction(1, 100), MILLIONTH / 2
    assert MEASURE.enclosure((rho, half), MILLIONTH).upper == MEASURES["zcdp"].enclosure((rho,), half).upper
    assert MEASURE.enclosure((rho, half + MILLIONTH**4), MILLIONTH).upper == math.inf


def test_tails_are_those_of_villes_inequality():
    for kind, total in ((GDP, Fraction(1, 2)), (ZCDP, Fraction(1, 4))):
        found = float(kind.tail(total, MILLIONTH))
        assert found == pytest.approx(0.25 + math.sqrt(math.log(10**6)), rel=1e-12)


def test_one_order_has_the_epsilon_of_its_conversion():
    found = Measure("rdp", Fraction(8)).epsilon(Fraction(1, 2), MILLIONTH)
    exact = 0.5 + math.log(7 / 8) + (math.log(10**6) - math.log(8)) / 7
    assert float(found) == pytest.approx(exact, rel=1e-12)


def test_no_room_is_found_below_what_is_tried():
    assert _largest(lambda amount: amount <= Fraction(1, 2**4002)) == 0


def test_amounts():
    half = Fraction(1, 2)
    assert MEASURE.of_curve(proof.NearGdp(half, MILLIONTH**2)) == (half / 2, MILLIONTH)
    assert MEASURE.of_curve(proof.Approximate(Fraction(2), MILLIONTH)) == (2, MILLIONTH)
    assert MEASURE.of_curve(proof.BoundedRange(Fraction(2))) == (half, 0)
    assert MEASURE.of_event(Approximate(epsilon=2, delta=MILLIONTH, count=3)) == (6, 3 * MILLIONTH)
    assert MEASURE.of_event(Gaussian(sigma=2, count=4)) == (half, 0)
    mixed = Sequence(of=(Pure(epsilon=1), Approximate(epsilon=1, delta=MILLIONTH)))
    assert MEASURE.of_event(mixed) == (2, MILLIONTH)  # (2, δ) as one: more than ρ = 1 of its parts


# ------------------------------------------------------------------ ledgers


def test_releases_are_charged_in_the_measure_that_they_were_proved_in(make, url):
    """Not as the (ε, δ) that is claimed of them: twenty of (1, 1e-6) fit (2.5, 1e-5); ρ = 4/(2·400) each."""
    ledger = make("5/2", "1/100000", "approximate-zcdp")
    for number in range(20):
        ledger.charge(near("1/10000000000000"), f"release {number}", key=f"release {number}")
    spent = ledger.show()["spent"]
    assert spent["rho"] == pytest.approx(20 * 2 / 400, rel=1e-9)
    assert spent["delta"] == pytest.approx(20 * 1e-13 * NEAR_WEIGHT, rel=1e-9)
    head = ledger.show()["head"]
    ledger.charge(discrete_gaussian(400), "zCDP")
    ledger.charge(approximate("1/10", MILLIONTH), "pure, before it was converted")
    ledger.charge_plan(plan(Gaussian(sigma=30, cover=(3, 9)), Pure(epsilon="1/100")), "a plan")
    assert ledger.verify() == VALID
    assert verify(url, since=head) == VALID
    file = Path(url.removeprefix("sqlite:///"))
    assert recount(file)["counts"]["charge"] == 23
    lines = file.with_suffix(".jsonl")
    lines.write_bytes(b"".join(export.lines(url)))
    export.imported(lines, f"sqlite:///{file.with_suffix('.copy.db')}")


def test_distances_use_up_their_half_of_delta(make):
    ledger = make(1, MILLIONTH, "approximate-zcdp")
    ledger.charge(near("4/10000000000000", 40000), "40 % of δ")
    with pytest.raises(RefusedError, match="beyond the budget's δ 5e-07"):
        ledger.charge(near("2/10000000000000", 40000), "20 % more")
    ledger.charge(near("1/10000000000000", 40000), "10 % more")
    assert ledger.show()["remaining"]["delta"] == 0


def test_what_has_a_delta_of_its_own_is_charged_at_that(make):
    ledger = make(4, "1/100", "approximate-zcdp", ADD_REMOVE)
    ledger.charge(histogram(), "unlisted values")
    spent = ledger.show()["spent"]
    assert (spent["rho"], spent["delta"]) == (0.5, 0.001)


def spent(ledger):
    """Return the ρ and the δ that the most exposed units have spent."""
    return tuple(ledger.show()["spent"][name] for name in ("rho", "delta"))


def test_of_two_bounds_that_which_fits_is_charged(make):
    """Neither is always less: a coarse grid is dear in δ, a large δ that is claimed is not needed."""
    ledger = make(5, "1/100000", "approximate-zcdp")
    ledger.charge(near("1/100000000000"), "10⁶d = 1e-5, where 5e-6 fit: as (1, 1e-6)", key="dear")
    assert spent(ledger) == pytest.approx((0.5, 1e-6))
    claimed = proof.to_approximate(discrete_gaussian(400), Fraction(1, 100), Fraction(1, 5), Fraction(10))
    ledger.charge(claimed, "ρ = 1/200, where ε²/2 = 1/20000 is beside a δ of 1/5")
    assert spent(ledger) == pytest.approx((0.505, 1e-6))


def test_the_most_exposed_unit_is_the_nearest_to_a_limit(make):
    """ρ = 0.5 of 0.52 is nearer than 40 % of the half of δ, though less of ε = 5."""
    ledger = make(5, "1/100000", "approximate-zcdp")
    ledger.charge_plan(plan(Zcdp(rho="1/2", cover=(1, 1))), "first")
    ledger.charge_plan(plan(Approximate(epsilon="1/10", delta="2e-6", cover=(2, 2))), "second")
    assert ledger.show()["worst_unit"] == 1
    ledger.charge_plan(plan(Approximate(epsilon="1/10", delta="2.9e-6", cover=(2, 2))), "third")
    assert ledger.show()["worst_unit"] == 2


@pytest.mark.parametrize("measure", ["gdp", "zcdp", "either", "pure"])
def test_other_ledgers_refuse_what_is_gaussian_up_to_a_distance(make, measure):
    delta = 0 if measure == "pure" else MILLIONTH
    with pytest.raises(RefusedError, match="a ledger in approximate or approximate-zcdp takes it"):
        make(1, delta, measure).charge(near(), "release")


@pytest.mark.parametrize(("measure", "name", "amount"), [("pure", "epsilon", 0.5), ("zcdp", "rho", 0.125)])
def test_a_conversion_is_undone_in_other_measures(make, measure, name, amount):
    ledger = make(5, 0 if measure == "pure" else MILLIONTH, measure)
    ledger.charge(proof.to_approximate(pure("1/2"), Fraction(1, 2), MILLIONTH), "stated at δ")
    spent = ledger.show()["spent"][name]
    assert (spent["upper"] if isinstance(spent, dict) else spent) == amount


def test_bad_budgets_are_refused(make):
    with pytest.raises(InputError, match="takes ε up to 13"):
        make(14, MILLIONTH, "approximate-zcdp")
    with pytest.raises(InputError, match="within delta 0"):
        make(1, 0, "approximate-zcdp")


def of_persons(noisy, order=None):
    """Return a release of rows, converted to (ε, δ), for persons of up to three rows."""
    point = proof.to_approximate(noisy, Fraction(1), MILLIONTH, order)
    seen = proof.post_process(point, proof.assume_view("table", "everyone", "made up", ("noise",)))
    three = proof.group(seen, 3, Fraction(1, 1000))
    return proof.persons(three, proof.assume_persons("table", REPLACE_ONE, REPLACE_ONE, 3, "made up"))


def test_groups_are_counted_in_the_measure_too(make):
    """Nine times the ρ of a row, not half the square of 3ε: 1/400 of lattice noise, 1/1600 of near."""
    ledger = make(5, "1/100000", "approximate-zcdp")
    cell = proof.differences(proof.assume_cell("counts", REPLACE_ONE, "made up"))
    ledger.charge(of_persons(proof.lattice_gaussian(cell, Fraction(400), "noise")), "a table")
    assert spent(ledger) == pytest.approx((9 / 400, 0))
    ball = proof.linear(proof.assume_ball("mean", Fraction(1), REPLACE_ONE, "made up"))
    distance = Fraction(1, 10**13)
    noisy = proof.fine_gaussian(ball, Fraction(3200), Fraction(1, 2**20), 2, distance, "noise")
    ledger.charge(of_persons(noisy), "means")
    assert spent(ledger) == pytest.approx((9 / 400 + 9 / 1600, 3e-7))
    assert ledger.verify() == VALID
