"""Shuffled reports: the event against all extreme randomisers, its pair, closed formulas, and another program."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from dpaccount import Accountant, Gaussian, Plan, Pure, Shuffled
from dpaccount.errors import InputError
from dpaccount.numerics import clones
from tests.depth import deep
from tests.looped import looped

DELTA = Fraction(1, 10**6)
TIMES = ("0", "0.1", "0.3", "0.7", "1.2")


def plan(epsilon, users, **more):
    return Accountant(Plan("replace-one", Shuffled(epsilon=epsilon, population=users, **more)))


def pair_of(epsilon, users, rate=None):
    """The clones' pair, outcome by outcome, in floats."""
    p = math.exp(epsilon)
    rate = 2 / (p + 1) if rate is None else rate
    there, back = [], []
    for c in range(users):
        mass = math.comb(users - 1, c) * rate**c * (1 - rate) ** (users - 1 - c) / 2**c
        for a in range(c + 2):
            right, wrong = (math.comb(c, a - 1) if a else 0), math.comb(c, a)
            there.append(mass * (p * right + wrong) / (p + 1))
            back.append(mass * (right + p * wrong) / (p + 1))
    return np.array(there), np.array(back)


def cost(there, back, epsilon):
    return float(np.maximum(there - math.exp(epsilon) * back, 0).sum())


def extreme_randomisers(epsilon):
    """The vertices of all ε-DP randomisers of three inputs: columns of 1 and e^ε, weighted to sums of 1."""
    columns = [np.array(bits) for bits in itertools.product((1.0, math.exp(epsilon)), repeat=3)]
    for chosen in itertools.combinations(columns, 3):
        matrix = np.array(chosen).T
        if abs(np.linalg.det(matrix)) > 1e-9:
            weights = np.linalg.solve(matrix, np.ones(3))
            if weights.min() >= -1e-12:
                yield matrix * np.maximum(weights, 0)
    binary = np.array([[math.exp(epsilon), 1], [1, math.exp(epsilon)], [1, math.exp(epsilon)]])
    yield binary / binary.sum(axis=1, keepdims=True)


def shuffled(randomiser, inputs):
    """The law of how often each report is seen."""
    law = Counter({(0,) * randomiser.shape[1]: 1.0})
    for x in inputs:
        wider = Counter()
        for seen, mass in law.items():
            for y, chance in enumerate(randomiser[x]):
                wider[(*seen[:y], seen[y] + 1, *seen[y + 1 :])] += mass * chance
        law = wider
    return law


def worst(randomiser, users, *epsilons):
    """δ(ε) of the worst data of all, at each ε."""
    found = [0.0] * len(epsilons)
    for others in itertools.combinations_with_replacement(range(3), users - 1):
        laws = [shuffled(randomiser, (x, *others)) for x in range(3)]
        each = [np.array([law[seen] for seen in sorted(laws[0])]) for law in laws]
        for pair in itertools.permutations(each, 2):
            found = [max(most, cost(*pair, epsilon)) for most, epsilon in zip(found, epsilons, strict=True)]
    return found


@deep
@looped("users", [1, 2, 3, 4, 5])
def test_no_randomiser_and_no_data_cost_more(users):
    for epsilon in ("0.3", "2"):
        found = [worst(each, users, *map(float, TIMES[:4])) for each in extreme_randomisers(float(epsilon))]
        assert len(found) > 5
        for at, *costs in zip(TIMES, *found, strict=False):
            bound = plan(epsilon, users).delta(at)
            assert max(costs) <= bound.upper * (1 + Fraction(1, 10**9)) + Fraction(1, 10**12)
            assert (bound.lower is None) == (users > 1 and bound.upper > 0)
            if users == 1:
                assert float(bound.lower) <= max(costs) + 1e-12


def test_the_enumeration_sees_a_false_condition_and_too_many_clones():
    """Of randomisers that are 1.2-DP, and of clones at a rate above 2/(e^ε + 1), the cost is above the bound."""
    bound = float(plan("1", 3).delta("0.3").upper)
    assert max(worst(each, 3, 0.3)[0] for each in extreme_randomisers(1.2)) > bound
    careless = cost(*pair_of(1.0, 3, 1.0), 0.3)
    assert max(worst(each, 3, 0.3)[0] for each in extreme_randomisers(1.0)) > careless


@deep
@looped("users", [1, 2, 3, 7, 40, 300])
def test_the_curve_is_that_of_the_clones(users):
    for epsilon in ("1e-3", "0.3", "1", "4"):
        laws = pair_of(float(epsilon), users)
        for at in TIMES:
            truth, found = cost(*laws, float(at)), plan(epsilon, users).delta(at).upper
            assert truth * (1 - 1e-9) - 1e-14 <= found <= truth * (1 + 1e-9) + 1e-14


def test_fewer_numbers_of_clones_only_cost_more(monkeypatch):
    """Where a table is short C is rounded down: to a pair that costs more, and at first hardly so."""

    def costs(most):
        monkeypatch.setattr(clones, "MOST_TAILS", most)
        clones.clones.cache_clear()
        return [float(clones.clones(Fraction(1), 3000).delta(Fraction(at)).mid()) for at in TIMES[:2]]

    found = [costs(most) for most in (500_000, 20_000, 2_000, 50)]
    clones.clones.cache_clear()
    assert all(a < b for fine, rough in itertools.pairwise(found) for a, b in zip(fine, rough, strict=True))
    assert found[1][1] < found[0][1] * 1.1


@deep
def test_few_numbers_of_clones_will_do(monkeypatch):
    """Also at a δ where a clone less than there surely are would count."""
    deltas = [Fraction(1, 10**k) for k in (3, 6, 12, 20, 30)]
    for epsilon, users in (("1", 10**6), ("4", 10**5)):
        found = [plan(epsilon, users).epsilon(delta).upper for delta in deltas]
        with monkeypatch.context() as many:
            many.setattr(clones, "MOST_TAILS", 2_000_000)
            clones.clones.cache_clear()
            least = [plan(epsilon, users).epsilon(delta).upper for delta in deltas]
        clones.clones.cache_clear()
        assert all(a <= b <= a * (1 + Fraction(5, 10**4)) for a, b in zip(least, found, strict=True))


@deep
@looped("epsilon", ["0.3", "4"])
def test_more_reports_and_smaller_epsilons_cost_less(epsilon):
    for users in ([*range(1, 9), 12], [10, 100, 10**4, 10**6, 10**9]):
        found = [plan(epsilon, n).epsilon(DELTA).upper for n in users]
        assert found == sorted(found, reverse=True)
        smaller = [plan(Fraction(epsilon) * Fraction(9, 10), n).epsilon(DELTA).upper for n in users]
        assert all(a < b for a, b in zip(smaller, found, strict=True))


def amplified(epsilon, users, delta):
    """Return the central ε of Feldman, McMillan & Talwar 2023 (ε where they prove no amplification)."""
    room = users / (8 * math.log(2 / delta)) - 1
    if room <= 0 or epsilon > math.log(room):
        return epsilon
    rate = 4 * math.sqrt(2 * math.log(4 / delta)) / math.sqrt((math.exp(epsilon) + 1) * users) + 4 / users
    return min(epsilon, math.log1p(math.expm1(epsilon) * rate))


@deep
@looped("users", [1, 10, 1000, 10**5, 10**7])
def test_neither_the_formula_nor_the_randomiser_costs_less(users):
    for epsilon, delta in itertools.product(("0", "0.1", "1", "5", "70"), (DELTA, Fraction(1, 10**12))):
        bound = plan(epsilon, users).epsilon(delta).upper
        assert bound <= Fraction(epsilon)
        assert bound <= amplified(float(epsilon), users, float(delta)) * (1 + 1e-12)
    assert plan("1", users).epsilon(0).upper == 1


#: What `numericalanalysis(n, ε₀, δ, 20, max(1, n//2000), bound)` of github.com/apple/ml-shuffling-amplification
#: (993d285) returns: with its clones at rate e^−ε₀ above, and at rate 2/(e^ε₀ + 1) above and below.
PEER = [
    (1000, "0.5", "1e-4", 0.04826617877608684, 0.04270047623641589, 0.03846168682303089),
    (1000, "1", "1e-6", 0.1902452684726237, 0.1543351183556131, 0.14866785143846284),
    (10**4, "2", "1e-6", 0.16057195670578178, 0.11869208785701599, 0.1143480414760438),
    (10**5, "1", "1e-8", 0.021043617414360245, 0.017225429923874103, 0.01686268540586148),
    (10**6, "1", "1e-6", 0.004444220875697902, 0.00374659396254867, 0.003512620199425055),
]


@deep
@looped(("users", "epsilon", "delta", "slower", "above", "below"), PEER)
def test_another_program_encloses_it(users, epsilon, delta, slower, above, below):
    assert below * (1 - 1e-6) <= plan(epsilon, users).epsilon(delta).upper <= above < slower


@deep
def test_compositions_are_close_to_the_enumerated_ones():
    there, back = pair_of(1.0, 4)
    more = Gaussian(sigma=2)
    for at in ("0", "0.5", "1.5"):
        twice = cost(*(np.multiply.outer(x, x).ravel() for x in (there, back)), float(at))
        found = plan("1", 4, count=2).delta(at, "1e-4")
        assert found.lower is None
        assert twice - 1e-12 <= found.upper <= twice * (1 + 1e-4)
        beside = (
            Accountant(Plan("replace-one", [Shuffled(epsilon=1, population=4), more])).delta(at, "1e-3").upper
        )
        alone = Accountant(Plan("replace-one", more)).delta(at).upper
        pure = Accountant(Plan("replace-one", [Pure(epsilon=1), more])).delta(at, "1e-3").upper
        assert alone < beside < pure


@deep
def test_many_rounds_of_many_reports_cost_what_one_round_of_few_does():
    """A hundred rounds of a million: nearly Gaussian, as one round of ten thousand."""
    many, one = plan("1", 10**6, count=100).epsilon(DELTA).upper, plan("1", 10**4).epsilon(DELTA).upper
    assert abs(many / one - 1) < Fraction(1, 100)


@looped(
    ("event", "says"),
    [
        ({"epsilon": -1, "population": 5}, "epsilon"),
        ({"epsilon": 1, "population": 0}, "at least 1"),
        ({"epsilon": 1, "population": "5/2"}, "integer"),
        ({"epsilon": 1, "population": 5, "cover": (1, 4)}, "fewer units"),
    ],
)
def test_nonsense_is_refused(event, says):
    with pytest.raises(InputError, match=says):
        Shuffled(**event)


def test_it_is_counted_under_replace_one_and_whole_covers_only():
    with pytest.raises(InputError, match="shuffled has no meaning under add-remove"):
        Plan("add-remove", Shuffled(epsilon=1, population=5))
    with pytest.raises(InputError, match="fewer units"):
        Shuffled(epsilon=1, population=5).covering(2, 5)
    shared = [
        Shuffled(epsilon=1, population=5, cover=(1, 5)),
        Shuffled(epsilon=1, population=5, cover=(6, 10)),
    ]
    assert Accountant(Plan("replace-one", shared)).epsilon(DELTA) == plan("1", 5).epsilon(DELTA)
