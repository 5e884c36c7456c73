"""Every law: what is drawn has the masses that attacks reckon with, from secure and rehearsed noise alike.

Secure samples are compared with the exact law at a false alarm of 1e-9 a case; rehearsals are seeded.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from scipy import stats

from dpaccount.errors import ReceiptError
from dpaccount.noise.laws import Law, draw
from dpaccount.noise.leaves import leaves
from dpaccount.noise.likelihood import log_mass, log_ratio
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal, Secure, happens, root_up
from dpaccount.proof import (
    assume_ball,
    assume_cell,
    assume_each,
    assume_points,
    assume_range,
    assume_rank_one,
    exponential,
    fine_gaussian,
    finite,
    k_norm,
    linear,
    permute_and_flip,
    sparse_vector,
    stable_histogram,
)
from tests.depth import deep
from tests.looped import looped

F = Fraction
SCORES = np.array([0, 2, 3, -1])
COIN = ((F(3, 4), F(1, 8), F(1, 8)), (F(1, 4), F(1, 2), F(1, 4)))
SAMPLERS = pytest.mark.parametrize("sampler", [Secure(), Rehearsal(5)], ids=["secure", "rehearsal"])


def one_hot(size):
    return [tuple(int(i == j) for j in range(size)) for i in range(size)]


TWO_CHOICES = list(itertools.product(one_hot(2), repeat=2))
CASES = {
    "two exponential": (Law("exponential", 2.5), np.array([[0, 2], [3, -1]]), TWO_CHOICES),
    "two permute-and-flip": (Law("permute-and-flip", 2.5), np.array([[0, 2], [3, -1]]), TWO_CHOICES),
    "exponential": (Law("exponential", 2.5), SCORES, one_hot(4)),
    "permute-and-flip": (Law("permute-and-flip", 2.5), SCORES, one_hot(4)),
    "table": (Law("table", table=COIN), np.array([1, 0]), list(itertools.product(range(3), repeat=2))),
    "shuffled": (
        Law("shuffled", limit=3, table=((F(3, 4), F(1, 4)), (F(1, 3), F(2, 3)))),
        np.array([1, 0, 0]),
        [(0, 0, 0), (0, 0, 1), (0, 1, 1), (1, 1, 1)],
    ),
    "sparse-vector": (
        Law("sparse-vector", 2.0, 1.5, 1),
        np.array([-1, 0, 2]),
        [(1, -1, -1), (0, 1, -1), (0, 0, 1), (0, 0, 0)],
    ),
    "stable-histogram": (
        Law("stable-histogram", 1.5, 3.0),
        np.array([2, 0]),
        [(0, 0), *((n, 0) for n in range(3, 12))],
    ),
}


@pytest.mark.statistical(1e-9)
@SAMPLERS
@pytest.mark.parametrize("name", CASES)
@deep
def test_draws_follow_the_masses(name, sampler):
    law, value, outcomes = CASES[name]
    runs = 3000
    drawn = [draw(law, value, sampler).tolist() for _ in range(runs)]
    masses = np.array([np.exp(log_mass(law, np.array(outcome), value)) for outcome in outcomes])
    counts = np.array([drawn.count(np.array(outcome).tolist()) for outcome in outcomes])
    rest = max(1 - masses.sum(), 0.0)
    assert counts.sum() == runs or rest > 0
    if rest > 1e-9:
        counts, masses = np.append(counts, runs - counts.sum()), np.append(masses, rest)
    assert masses.sum() == pytest.approx(1, abs=1e-9)
    assert stats.chisquare(counts, masses / masses.sum() * runs).pvalue > 1e-9


@deep
@pytest.mark.statistical(1e-9)
@SAMPLERS
def test_k_norm_noise_has_the_right_shells(sampler):
    """Compared on the lattice points near 0, each with its own mass; the rest is pooled."""
    law, runs = Law("k-norm", 1.5), 4000
    drawn = [tuple(draw(law, np.array([4, -4]), sampler) - [4, -4]) for _ in range(runs)]
    box = list(itertools.product(range(-60, 61), repeat=2))
    weights = np.array([np.exp(-np.hypot(*v) / 1.5) for v in box])
    near = [i for i, v in enumerate(box) if max(map(abs, v)) <= 2]
    masses = (weights / weights.sum())[near]
    counts = np.array([drawn.count(box[i]) for i in near])
    counts, masses = np.append(counts, runs - counts.sum()), np.append(masses, 1 - masses.sum())
    assert stats.chisquare(counts, masses * runs).pvalue > 1e-9


@pytest.mark.statistical(2e-9)
def test_events_happen_with_exactly_their_chance():
    for chance in (Fraction(1, 3), Fraction(99, 100)):
        seen = sum(happens(lambda bits, c=chance: arb(c.numerator) / c.denominator) for _ in range(4000))
        assert stats.binomtest(seen, 4000, float(chance)).pvalue > 1e-9
    assert happens(lambda bits: arb(1))
    assert not happens(lambda bits: arb(0))


def test_an_event_is_decided_at_higher_precision_where_a_ball_is_wide():
    asked = []

    def coarse(bits):
        asked.append(bits)
        return arb(0.5, 0.6) if len(asked) < 3 else arb(1)

    assert happens(coarse)
    assert asked == sorted(set(asked))
    assert len(asked) == 3


@looped(
    ("law", "value"),
    [
        (Law("exponential", 1.0), np.zeros((2, 2, 2), dtype=np.int64)),
        (Law("permute-and-flip", 1.0), np.zeros(0, dtype=np.int64)),
        (Law("table", table=COIN), np.array([2])),
        (Law("table", table=COIN), np.array([-1])),
        (Law("shuffled", limit=3, table=COIN), np.array([0, 1])),
        (Law("shuffled", limit=1, table=COIN), np.array([0, 2])),
        (Law("sparse-vector", 1.0, 1.0, 1), np.zeros((2, 2), dtype=np.int64)),
        (Law("stable-histogram", 1.0, 2.0), np.array([-1])),
        (Law("symmetric", 1.0), np.array([[0, 1], [2, 0]])),
        (Law("laplace", 1.0), np.array([0.5])),
    ],
)
def test_values_of_a_wrong_kind_are_refused_in_one_sentence(law, value):
    with pytest.raises(ReceiptError):
        draw(law, value, Rehearsal(1))


def test_the_scales_are_read_from_the_proof_and_never_rounded_down():
    scores = assume_range("q", F(2), "replace-one", "t")
    ball = linear(assume_ball("q", F(1), "replace-one", "t"))
    grid = F(1, 2**10)
    found = {
        **Proved(exponential(scores, F(1, 3), "a")).laws,
        **Proved(permute_and_flip(scores, F(3, 7), "b")).laws,
        **Proved(k_norm(ball, F(1, 3), F(2), grid, "c")).laws,
        **Proved(sparse_vector(assume_each("q", F(1), "replace-one", "t"), F(1, 3), F(7, 3), 2, grid, "d")).laws,
        **Proved(stable_histogram(assume_cell("q", "add-remove", "t"), F(3, 2), 30, F(1, 100), "e")).laws,
        **Proved(finite(assume_points("q", [(0,), (1,)], "replace-one", "t"), [list(row) for row in COIN], F(2), "f")).laws,
    }  # fmt: skip
    least = {"a": F(3), "b": F(7, 3), "c": F(3 * 2**10), "d": F(7 * 2**10, 3), "e": F(3, 2)}
    for key, scale in least.items():
        assert 0 <= F(found[key].scale) - scale < F(1, 10**9), key
    assert 0 <= F(found["d"].threshold) - F(2**10, 3) < F(1, 10**9)
    assert (found["d"].limit, found["e"].threshold, found["f"].table) == (2, 30.0, COIN)


@looped("scale", [F(1), F(3, 2), F(10, 3), F(1, 3), F(1, 2**40), F(0.1)])
@looped("threshold", [2, 32, 2**53, 2**53 + 1])
def test_a_histogram_is_drawn_at_no_larger_delta_than_proved(scale, threshold):
    """δ = e^(−(τ−1)/b)/(1 + e^(−1/b)) rises with b and falls in τ: what is drawn is what was proved, or refused."""
    theorem = stable_histogram(assume_cell("q", "add-remove", "t"), scale, threshold, F(1), "k")
    doubles = all(F(float(value)) == value for value in (scale, threshold))
    if not doubles:
        with pytest.raises(ReceiptError, match=r"must be (a double|at most 2\^53)"):
            _ = Proved(theorem).laws
        return
    law = Proved(theorem).laws["k"]
    assert F(law.scale) <= scale
    assert F(law.threshold) >= threshold


def test_fine_noise_on_a_symmetric_statistic_is_drawn_as_symmetric():
    person = linear(assume_rank_one("q", F(1), "replace-one", "t"))
    leaf = fine_gaussian(person, F(4), F(1, 2**10), 3, F(1, 10**5), "k")
    assert Proved(leaf).laws["k"].kind == "symmetric"
    matrix = np.zeros((2, 2), dtype=np.int64)
    with pytest.raises(ReceiptError, match=r"symmetric|proved for"):
        rehearse(leaf, Rehearsal(1)).noisy("k", 0, matrix)
    drawn = rehearse(leaf, Rehearsal(1)).noisy_symmetric("k", 0, matrix)
    assert (drawn == drawn.T).all()
    (only,) = leaves(leaf)
    assert F(Proved(leaf).laws["k"].scale) >= F(root_up(F(only.parameters["variance"]) * 2**20))


def test_likelihood_ratios_are_those_of_the_masses():
    for law, value, outcomes in CASES.values():
        other = value[::-1].copy()
        for outcome in map(np.array, outcomes):
            with np.errstate(divide="ignore"):
                difference = log_mass(law, outcome, value) - log_mass(law, outcome, other)
            assert log_ratio(law, outcome, value, other) == pytest.approx(difference)
    here, there, seen = np.array([0, 3]), np.array([1, 1]), np.array([2, 5])
    assert log_ratio(Law("laplace", 2.0), seen, here, there) == pytest.approx((5 - 4) / 2)
    assert log_ratio(Law("gaussian", 2.0), seen, here, there) == pytest.approx((17 - 8) / 8)
    assert log_ratio(Law("k-norm", 2.0), seen, here, there) == pytest.approx((17**0.5 - 8**0.5) / 2)
