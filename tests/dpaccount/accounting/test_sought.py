"""Any number of an event may be sought where the cost goes one way with it; others are refused with the reason."""

import copy
import json
from fractions import Fraction
from itertools import pairwise

import pytest

from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.calibration.calibrate import settle
from dpaccount.accounting.calibration.parameters import SOUGHT
from dpaccount.accounting.calibration.unknown import unknown_in
from dpaccount.documents import parse_json
from dpaccount.errors import InputError
from tests.depth import deep
from tests.looped import looped

DELTA = Fraction(1, 10**5)
FTRL = {"event": "dp_ftrl", "rounds": 40, "sigma": 2, "participations": 3, "separation": 5}
TOEPLITZ = {**FTRL, "mechanism": "toeplitz", "coefficients": [1, "1/2", "1/4"]}
SAMPLE = {"size": 5, "population": 100, "of": {"event": "gaussian", "sigma": 2}}
FIXED_SIZE = {"event": "sampled_without_replacement", **SAMPLE}
MIXTURE = {"event": "gaussian_mixture", "sigma": 2, "moves": [0, 1], "weights": ["1/2", "1/2"]}
BEST = {"event": "repeated", "of": {"event": "gaussian", "sigma": 2}}
REPEATED = {**BEST, "gamma": "1/2"}
EXAMPLES = {"event": "poisson_examples", "rate": "1/2", "examples": 2, "of": SAMPLE["of"]}
TRUNCATED = {"event": "truncated_poisson", "rate": "1/2", "population": 4, "batch": 2, "of": SAMPLE["of"]}
BANDED = {
    "event": "banded_poisson",
    "rounds": 9,
    "sigma": 2,
    "rate": "1/2",
    "parts": 4,
    "coefficients": [1, "1/2"],
}
WAYS = [  # event, the place of a number in it, values that grow
    ({"event": "gaussian", "sigma": 2}, ("sigma",), ["1/2", 1, 3, 50]),
    ({"event": "gaussian", "sigma": 2}, ("sensitivity",), [0, "1/2", 1, 3]),
    ({"event": "gaussian", "sigma": 2}, ("count",), [1, 2, 7, 40]),
    ({"event": "discrete_gaussian", "sigma": 2, "sensitivity": 2}, ("dimension",), [1, 2, 3, 8]),
    ({"event": "laplace", "scale": 2}, ("scale",), ["1/2", 1, 3]),
    ({"event": "discrete_laplace", "scale": 2}, ("sensitivity",), [1, 2, 3]),
    ({"event": "randomized_response", "epsilon": 1}, ("k",), [2, 3, 10, 50]),
    ({"event": "randomized_response", "epsilon": 1}, ("epsilon",), ["1/10", 1, 3]),
    ({"event": "exponential", "epsilon": 1}, ("epsilon",), ["1/10", 1, 2]),
    ({"event": "permute_and_flip", "epsilon": 1}, ("epsilon",), ["1/10", 1, 2]),
    ({"event": "bounded_range", "eta": 1}, ("eta",), ["1/10", 1, 2]),
    ({"event": "approximate", "epsilon": 1, "delta": "1e-7"}, ("delta",), [0, "1e-9", "5e-6"]),
    ({"event": "pure", "epsilon": 1}, ("epsilon",), ["1/10", 1, 2]),
    ({"event": "shuffled", "epsilon": 1, "population": 9}, ("epsilon",), ["1/10", 1, 2]),
    ({"event": "shuffled", "epsilon": 1, "population": 9}, ("population",), [1, 2, 9, 30]),
    ({"event": "shuffled_response", "epsilon": 1, "population": 9}, ("epsilon",), ["1/10", 1, 2]),
    ({"event": "shuffled_response", "epsilon": 1, "population": 9}, ("population",), [1, 2, 9, 30]),
    ({"event": "zcdp", "rho": 1}, ("rho",), ["1/10", 1, 2]),
    ({"event": "zcdp", "rho": 1, "xi": 1}, ("xi",), [0, "1/10", 1, 2]),
    ({"event": "gdp", "mu": 1}, ("mu",), ["1/10", 1, 2]),
    ({"event": "rdp", "points": [[2, "1/2"], [8, 1]]}, ("points", 1, 1), [0, "1/8", "1/4", "1/2"]),
    ({"event": "tree", "rounds": 8, "sigma": 3}, ("rounds",), [1, 2, 3, 8, 9, 33]),
    ({"event": "matrix_factorisation", "rounds": 8, "sigma": 3}, ("rounds",), [1, 2, 8, 33]),
    (FTRL, ("rounds",), [11, 12, 20, 40]), (FTRL, ("participations",), [1, 2, 3, 8]),
    (FTRL, ("separation",), [1, 2, 5, 10, 19]),
    ({**FTRL, "mechanism": "sqrt-toeplitz"}, ("separation",), [1, 2, 5, 10, 19]),
    ({**FTRL, "mechanism": "banded-toeplitz", "bands": 2}, ("bands",), [1, 2, 3, 8, 40]),
    (TOEPLITZ, ("coefficients", 2), [0, "1/8", "1/2", "3/4", 2]),
    ({**TOEPLITZ, "separation": 1}, ("coefficients", 2), [0, "1/4", "1/2", "501/1000", 1]),
    pytest.param({**FIXED_SIZE}, ("size",), [1, 5, 80, 100], marks=deep),
    pytest.param({**FIXED_SIZE}, ("population",), [5, 8, 10], marks=deep),
    ({"event": "random_allocation", "steps": 5, "of": {"event": "pure", "epsilon": 1}}, ("steps",), [1, 2, 9]),
    ({"event": "poisson_subsampled", "rate": "1/2", "of": SAMPLE["of"]}, ("rate",), ["1/100", "1/2", 1]),
    ({"event": "poisson_subsampled", "rate": "1/2", "of": SAMPLE["of"]}, ("of", "sigma"), [1, 2, 5]),
    (EXAMPLES, ("rate",), ["1/100", "1/2", 1]), (EXAMPLES, ("examples",), [1, 2, 3, 9]),
    (MIXTURE, ("sigma",), [1, 2, 5]), (TRUNCATED, ("of", "sigma"), [2, 3, 5]),
    (REPEATED, ("gamma",), ["1/99", "1/5", "9/10"]), ({**BEST, "mean": 2}, ("mean",), ["1/9", 1, 3]),
    (BANDED, ("rate",), ["1/100", "1/2", 1]), (BANDED, ("rounds",), [1, 4, 5, 13]),
]  # fmt: skip
ADDED = (
    "dp_ftrl",
    "poisson_subsampled",
    "poisson_examples",
    "banded_poisson",
    "random_allocation",
    "balls_in_bins",
    "gaussian_mixture",
    "truncated_poisson",
)


def holding(event, path, value):
    """Return a document of the event with a value at a place."""
    made = copy.deepcopy(event)
    inner = made
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    relation = "add-remove" if event["event"] in ADDED else "replace-one"
    text = json.dumps({"schema": "dpaccount/events/1", "relation": relation, "events": [made]})
    return parse_json(text, "plan.json")


@deep(quick_every=3)
@pytest.mark.parametrize(("event", "path", "values"), WAYS, ids=lambda each: str(each)[:60])
def test_costs_go_the_way_that_is_said(event, path, values):
    unknown = unknown_in(holding(event, path, "?"))
    costs = [Accountant(unknown.make(Fraction(value))).epsilon(DELTA) for value in values]
    for one, next_ in pairwise(costs):
        small, large = (next_, one) if unknown.falls else (one, next_)
        assert small.upper <= large.upper * (1 + Fraction(1, 10**9)), (values, costs)
    lowest, highest = (costs[-1], costs[0]) if unknown.falls else (costs[0], costs[-1])
    assert lowest.upper < highest.upper


@deep
@pytest.mark.parametrize(
    ("event", "path", "values"),
    [way for way in WAYS[::2] if not hasattr(way, "marks")],  # how close those come depends on the machine
    ids=lambda each: str(each)[:60],
)
def test_what_is_found_meets_the_target_by_the_way_back(event, path, values):
    """The cost at a middle value is the target: what is found costs no more, and is as far as that value."""
    unknown = unknown_in(holding(event, path, "?"))
    middle = Fraction(values[len(values) // 2])
    target = Accountant(unknown.make(middle)).epsilon(DELTA).upper
    found = settle(unknown, target, DELTA)
    assert Accountant(unknown.make(found.value)).epsilon(DELTA).upper <= target
    near = Fraction(1, 10**6) * middle
    assert found.value <= middle + near if unknown.falls else found.value >= middle - near


def test_every_number_of_an_event_is_tried_here():
    tried = {(each.values if hasattr(each, "marks") else each)[1][-1] for each in WAYS}
    assert set(SOUGHT) <= tried


PAIR = {"event": "dominating_pair", "p": ["1/2", "1/2"], "q": ["1/4", "3/4"]}


@looped(
    ("event", "path", "why"),
    [
        ({"event": "rdp", "points": [[2, "1/2"]]}, ("points", 0, 0), "an order says where"),
        *((TRUNCATED, (key,), "may cost less where it grows") for key in ("batch", "rate", "population")),
        (PAIR, ("p", 0), "probabilities add up to 1"), (PAIR, ("q", 1), "probabilities add up to 1"),
        (TOEPLITZ, ("coefficients", 0), "a bound may fall"), (TOEPLITZ, ("coefficients",), "a bound may fall"),
        ({"event": "gaussian", "sigma": 1, "cover": [1, 2]}, ("cover", 0), "it says who pays"),
        ({"event": "tree", "rounds": 8, "sigma": 3, "start": 1}, ("start",), "where a stream begins"),
        (FTRL, ("mechanism",), "that is no number"), (FTRL, ("event",), "that is no number"),
    ],
)  # fmt: skip
def test_what_cannot_be_sought_is_refused_with_the_reason(event, path, why):
    with pytest.raises(InputError, match=why) as refused:
        unknown_in(holding(event, path, "?"))
    assert "it may stand for sigma" in str(refused.value)
    assert "\n" not in str(refused.value)


@deep
def test_what_is_infinite_beyond_a_point_is_found_up_to_it():
    """The ε of (1/2, δ) is 1/2 up to the target's δ and infinite beyond: an infinite lower end ended the search."""
    unknown = unknown_in(holding({"event": "approximate", "epsilon": "1/2", "delta": 0}, ("delta",), "?"))
    found = settle(unknown, Fraction(1), Fraction(1, 10**6))
    assert Fraction("0.999e-6") < found.value <= Fraction(1, 10**6)


def test_a_target_that_nothing_meets_is_one_sentence():
    """Samples of Gaussian noise have no finite ε at δ = 0: the search goes on to numbers of any size."""
    event = {"event": "poisson_subsampled", "rate": "1/100", "of": SAMPLE["of"], "count": 100}
    unknown = unknown_in(holding(event, ("of", "sigma"), "?"))
    with pytest.raises(InputError, match=r"no sigma .*; ask for a larger epsilon or delta"):
        settle(unknown, Fraction(1), Fraction(0))
