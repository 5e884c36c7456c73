"""Ledgers in approximate zCDP: ρ of ideal programs beside what the real ones cost in δ."""

import math
import random
from fractions import Fraction
from pathlib import Path

import pytest

from dpaccount import proof
from dpaccount.accounting.measures import MEASURES, MOST_NEAR, NEAR_WEIGHT
from dpaccount.errors import InputError
from dpaccount.ledger.journal import export
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.requests import RefusedError
from dpaccount.plan.events import Approximate, Gaussian, Plan, Pure, Relation, Sequence, Zcdp
from dpaccount.proof import ADD_REMOVE, REPLACE_ONE
from tests.looped import looped

from .conftest import VALID, approximate, discrete_gaussian, histogram, pure
from .recount import recount

MEASURE = MEASURES["approximate-zcdp"]
GROWTH = Fraction(27, 20)  #: e^ε, rational for exact sums
MILLIONTH = Fraction(1, 10**6)


def near(distance="1/10000000000", variance=400):
    """Return a Gaussian release on a fine grid, seen by everyone and converted to (ε, δ)."""
    ball = proof.linear(proof.assume_ball("mean", Fraction(1), REPLACE_ONE, "made up"))
    grid = Fraction(1, 2**20)
    noisy = proof.fine_gaussian(ball, Fraction(variance), grid, 2, Fraction(distance), "noise")
    point = proof.to_approximate(noisy, Fraction(1), MILLIONTH)
    return proof.post_process(point, proof.assume_view("mean", "everyone", "made up", ("noise",)))


def plan(*events):
    return Plan(Relation.REPLACE_ONE, events)


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
