"""The value of another policy from a log: what a record adds, identities by enumeration, intervals."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

from bandits.policy_value import PolicyValue
from bandits.statistics.first_moments import CONTRIBUTION_BITS
from dpaccount.errors import InputError
from dpaccount.noise.receipt import NoNoise, rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import point
from tests.depth import deep
from tests.looped import looped

DELTA = Fraction(1, 10**6)
CHANCES, OTHER = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])
REWARDS, PREDICTED = np.array([0.2, 0.5, 0.9]), np.array([0.3, 0.4, 0.7])
VALUE = float(REWARDS @ OTHER)


def records(chances=CHANCES, other=OTHER, model=True):
    """Return every possible record of three actions with a reward of 0 or 1, and its probability."""
    found = []
    for action, reward in product(range(3), (0.0, 1.0)):
        chance = chances[action] * (REWARDS[action] if reward else 1 - REWARDS[action])
        row = (reward, chances[action], other[action], PREDICTED[action], float(PREDICTED @ other))
        found.append((chance, row[: 5 if model else 3]))
    return np.array([each for each, _ in found]), np.array([row for _, row in found])


def expected(subject, chances=CHANCES, other=OTHER):
    """Return the expectation of what a record adds; its second number is the weight."""
    law, rows = records(chances, other, subject.model)
    return law @ (subject.contributions(rows) / 2.0**CONTRIBUTION_BITS + (0, float(subject.cap)))


def log(rows, seed, chances=CHANCES, model=False):
    law, every = records(chances, OTHER, model)
    return every[np.random.default_rng([7000, seed]).choice(len(law), rows, p=law)]


@deep
@looped("model", [False, True])
@looped("cap", [Fraction(1, 100), Fraction(3, 2), Fraction(10), Fraction(1000)])
def test_a_record_is_in_the_ball_and_some_are_at_its_edge(model, cap):
    """All corners of what a row may be, NaN and infinities included."""
    subject = PolicyValue(rows=6, cap=cap, model=model)
    ends = (-1.0, 0.0, 1e-300, 0.3, 1.0, 2.0, np.nan, np.inf)
    rows = np.array(list(product(ends, repeat=3)))
    if model:
        rows = np.concatenate([np.column_stack([rows, np.full((len(rows), 2), at)]) for at in ends])
    far = np.linalg.norm(subject.contributions(rows) / 2.0**CONTRIBUTION_BITS, axis=1)
    assert float(cap) * 0.99 <= far.max() <= float(subject.radius)


def test_a_record_without_a_chance_weighs_nothing():
    rows = np.array(
        [[1.0, np.nan, 0.5], [1.0, 0.0, 0.5], [1.0, 0.5, np.nan], [1.0, 0.5, 0.0], [1.0, 0.2, 0.1]]
    )
    subject = PolicyValue(rows=5)
    added = subject.contributions(rows)
    assert (added == subject.contributions(subject.domain().clamped(rows))).all()
    assert (added[:, 1] / 2.0**CONTRIBUTION_BITS + 10).tolist() == pytest.approx([0, 0, 0, 0, 0.5], abs=1e-5)


def test_estimates_are_unbiased_where_nothing_is_clipped():
    """The expectations over all records; a model may be wrong."""
    first, weight = expected(PolicyValue(cap=Fraction(10)))
    assert weight == pytest.approx(1, abs=1e-5)
    assert (first + 1) / 2 == pytest.approx(VALUE, abs=1e-5)
    first, _ = expected(PolicyValue(cap=Fraction(10), model=True))
    assert first + 0.5 == pytest.approx(VALUE, abs=1e-5)


@deep
@looped("cap", [Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(5)])
@looped("lacking", [False, True])
def test_the_value_is_between_what_clipped_weights_allow(cap, lacking):
    """Also where the log never has the last action."""
    chances = np.array([0.6, 0.4, 0.0]) if lacking else CHANCES
    first, weight = expected(PolicyValue(cap=cap), chances)
    assert weight <= 1 + 1e-5
    assert (first + weight) / 2 - 1e-5 <= VALUE <= 1 - (weight - first) / 2 + 1e-5
    first, weight = expected(PolicyValue(cap=cap, model=True), chances)
    assert abs(first + 0.5 - VALUE) <= 1 - weight + 1e-5


def test_a_lower_bound_of_a_mean_holds_for_every_number_of_ones():
    """All outcomes of 30 coins: missed with the stated probability at most."""
    subject, missed = PolicyValue(rows=30, cap=Fraction(2)), Fraction(1, 20)
    bounds = np.array([subject._below(2.0 * ones, missed) / 2 for ones in range(31)])
    assert (np.diff(bounds) > 0).all()
    for chance in np.linspace(0.01, 0.99, 99):
        law = np.array([comb(30, k) * chance**k * (1 - chance) ** (30 - k) for k in range(31)])
        assert law[bounds > chance].sum() <= 0.05


@pytest.mark.parametrize("model", [False, True])
def test_intervals_hold_and_the_estimate_is_near(model):
    """40 logs of 5,000 records at 95 %: 9 and more misses have a chance of 3e-4."""
    subject, held, off = PolicyValue(rows=5000, cap=Fraction(3), model=model), 0, []
    theorem = subject.proof(subject.delta)
    for seed in range(40):
        view = subject.play(log(5000, seed, model=model), rehearse(theorem, Rehearsal(seed)), 0)
        found = subject.report(view)
        held += found["low"] <= VALUE <= found["high"]
        off.append(found["value"] - VALUE)
    assert held >= 32
    assert np.sqrt(np.mean(np.square(off))) < 0.04


@looped("cap", [Fraction(1, 2), Fraction(1), Fraction(3)])
def test_more_records_make_a_narrower_interval(cap):
    def width(rows, scale):
        subject = PolicyValue(rows=rows, cap=cap, sigma=Fraction(scale))
        found = subject.report(subject.play(log(rows, 1), NoNoise(), 0))
        return found["high"] - found["low"]

    assert width(40_000, 1) < width(4000, 1) < width(400, 1)
    assert width(4000, 1) < width(4000, 50)


def test_chances_that_are_shown_to_be_wrong_get_no_value():
    """The log says half of the true chances, so that weights are 2 on average."""
    rows = log(5000, 1)
    rows[:, 1] /= 2
    subject = PolicyValue(rows=5000)
    found = subject.report(subject.play(rows, NoNoise(), 0))
    assert found["value"] is None
    assert "chances are wrong" in found["warning"]
    assert "low" not in found


@pytest.mark.parametrize("model", [False, True])
def test_the_claim_is_met_and_no_noise_is_left_over(model):
    subject = PolicyValue(model=model)
    epsilon, _ = point(subject.proof(DELTA))
    assert 0.98 < epsilon <= 1


@looped(
    "wrong",
    [{"rows": 0}, {"rows": 2.5}, {"cap": 1.5}, {"cap": Fraction(0)}, {"cap": Fraction(10**4)}, {"sigma": Fraction(0)},
     {"epsilon": Fraction(0)}, {"delta": Fraction(0)}],
)  # fmt: skip
def test_bad_parameters_are_refused(wrong):
    with pytest.raises(InputError):
        PolicyValue(**wrong)


@looped("lacks", [*product((False, True), repeat=3)])
@looped("whole", [False, True])
def test_a_model_with_missing_cells_is_off_by_the_missing_weight_at_most(lacks, whole):
    """Predictions that lack for some actions, or with their mean, must not pass for one of ½."""
    law, rows = records(model=True)
    if whole and not all(lacks):
        lacks = (False,) * 3  # a mean is that of a context: it lacks for every action or for none
    for action, lost in enumerate(lacks):
        rows[2 * action : 2 * action + 2, 3] = np.nan if lost else PREDICTED[action]
        rows[2 * action : 2 * action + 2, 4] = np.nan if whole and lost else PREDICTED @ OTHER
    subject = PolicyValue(rows=6, cap=Fraction(1000), model=True)
    first, weight = law @ (subject.contributions(rows) / 2.0**CONTRIBUTION_BITS + (0, 1000))
    assert abs(first + 0.5 - VALUE) <= 1 - weight + 1e-4


def test_a_missing_mean_counts_with_a_prediction_of_a_half():
    rows = np.array([[1.0, 0.5, 0.5, 0.9, np.nan], [1.0, 0.5, 0.5, 0.5, 0.5]])
    mean_lost, half = PolicyValue(rows=2, model=True).contributions(rows)
    assert (mean_lost == half).all()
