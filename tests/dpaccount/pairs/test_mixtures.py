"""Mixtures of Gaussians: the values of dp_accounting, quadrature, sums, vectors, and what they are samples of."""

import json
import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from audits import cli
from dpaccount import Accountant, Gaussian, Plan, PoissonExamples, PoissonSubsampled
from dpaccount.documents import parse_json
from dpaccount.errors import InputError
from dpaccount.numerics.intervals import precision
from dpaccount.pairs.of_events import composition_of
from dpaccount.plan.events import GaussianMixture, Laplace, Sequence
from dpaccount.plan.foreign import TREE, dp_event_tree
from tests.depth import deep
from tests.looped import looped

THEIRS = GaussianMixture(sigma=1, moves=[0, 1, 2], weights=[0.2, 0.6, 0.2])
APART = GaussianMixture(sigma=2, moves=["1/2", 3], weights=["9/10", "1/10"])
MANY = GaussianMixture(sigma=3, moves=[4, 0, 1, 2, 1], weights=["0.01", "0.5", "0.2", "0.09", "0.2"])


def ways(event):
    """The curves of a removed and of an added unit."""
    whole = composition_of([(event, 1)])
    return [way.curve(64) for way in (whole, whole.reversed())]


def test_the_values_of_dp_accounting():
    """`MixtureGaussianPrivacyLoss` of their tests, at ε = 1."""
    with precision(96):
        removed, added = (float(curve(Fraction(1)).mid()) for curve in ways(THEIRS))
    assert removed == pytest.approx(0.15768284, abs=5e-9)
    assert added == pytest.approx(0.03669126, abs=5e-9)
    found = Accountant(THEIRS).delta(1)
    assert found.lower <= removed <= found.upper * (1 + Fraction(1, 10**12))


def by_quadrature(event, epsilon, *, added):
    """∫ (p − e^ε q)₊, split where the sign changes."""
    with mpmath.workdps(15):
        parts = [
            (mpmath.mpf(w.numerator) / w.denominator, mpmath.mpf(m.numerator) / m.denominator)
            for w, m in event.parts()
        ]
        there = lambda x: mpmath.fsum(w * mpmath.npdf(x, m) for w, m in parts)  # noqa: E731
        ends = (mpmath.npdf, there) if added else (there, mpmath.npdf)
        apart = lambda x: ends[0](x) - mpmath.exp(epsilon) * ends[1](x)  # noqa: E731
        low, high = mpmath.mpf(-14), mpmath.mpf(18)
        if apart(low) * apart(high) > 0:
            return 0.0
        for _ in range(70):
            middle = (low + high) / 2
            low, high = (middle, high) if (apart(middle) > 0) == added else (low, middle)
        return float(mpmath.quad(apart, mpmath.linspace(*((-14, low) if added else (low, 18)), 6)))


@looped("event", [THEIRS, APART])
def test_both_directions_by_quadrature(event):
    for epsilon, added in product(("0.25", "1.5"), (False, True)):
        with precision(96):
            found = ways(event)[added](Fraction(epsilon))
        truth = by_quadrature(event, mpmath.mpf(epsilon), added=added)
        assert float(found.lower()) - 1e-12 <= truth <= float(found.upper()) + 1e-12


def summed(event, count, epsilon, *, added, step=2e-4):
    """δ of `count` releases by a convolution of losses in floats, rounded to the nearest multiple of a step."""
    x = np.linspace(-12, 18, 300_001)
    logs = logsumexp([math.log(w) + norm.logpdf(x, float(m)) for w, m in event.parts()], axis=0)
    pair = (norm.logpdf(x), logs) if added else (logs, norm.logpdf(x))
    at = np.rint((pair[0] - pair[1]) / step).astype(int)
    least = at.min()
    once = np.bincount(at - least, np.exp(pair[0]) * (x[1] - x[0]))
    size = 1 << (count * len(once)).bit_length()
    whole = np.fft.irfft(np.fft.rfft(once, size) ** count, size)[: count * (len(once) - 1) + 1]
    losses = step * (np.arange(len(whole)) + count * least)
    return float((whole * -np.expm1(np.minimum(epsilon - losses, 0))).sum())


@deep
@pytest.mark.parametrize(("event", "count"), [(THEIRS, 4), (APART, 3)])
def test_compositions_by_convolution(event, count):
    found = Accountant(event * count).delta(2)
    truth = max(summed(event, count, 2.0, added=added) for added in (False, True))
    assert float(found.upper) == pytest.approx(truth, rel=1e-4)
    assert float(found.lower) <= truth * (1 + 1e-4)
    assert found.upper - found.lower <= 1e-4 * found.upper


@deep
def test_two_examples_of_a_unit_are_such_a_mixture():
    one = PoissonExamples(rate="0.1", examples=2, of=Gaussian(sigma=2), count=20)
    other = GaussianMixture(sigma=2, moves=[0, 1, 2], weights=["0.81", "0.18", "0.01"], count=20)
    for delta in ("1e-3", "1e-8"):
        a, b = (Accountant(event).epsilon(delta) for event in (one, other))
        assert a.lower <= b.upper <= a.upper + Fraction(1, 10**6)
        assert b.lower <= a.upper


def test_a_sample_of_a_mixture_is_a_mixture_and_one_move_is_noise():
    sample = PoissonSubsampled(rate="1/2", of=GaussianMixture(sigma=2, moves=[1, 3], weights=["1/2", "1/2"]))
    same = GaussianMixture(sigma=2, moves=[0, 1, 3], weights=["1/2", "1/4", "1/4"])
    assert composition_of([(sample, 1)]).pairs == composition_of([(same, 1)]).pairs
    assert Accountant(sample).renyi(3) == Accountant(same).renyi(3)
    alone = GaussianMixture(sigma=2, moves=[3, 1, 3], weights=["1/2", 0, "1/2"])
    assert Accountant(alone).epsilon("1e-6") == Accountant(
        Gaussian(sigma=2, sensitivity=3), relation="add-remove"
    ).epsilon("1e-6")
    assert Accountant(GaussianMixture(sigma=2, moves=[0], weights=[1])).epsilon(0).upper == 0


def test_vectors_of_these_lengths_cost_no_more():
    """Two moves at an angle in the plane, by a sum over a grid whose error is below 1e-4, in both directions."""
    x, y = np.meshgrid(np.linspace(-9, 11, 401), np.linspace(-9, 11, 401))
    cell = (20 / 400) ** 2
    still = np.exp(-(x * x + y * y) / 2) / (2 * math.pi)
    event = GaussianMixture(sigma=1, moves=[0, 1, 2], weights=["1/2", "1/4", "1/4"])
    for angle, longest in ((0.0, 2.0), (0.7, 2.0), (math.pi / 2, 2.0), (math.pi, 2.0), (0.0, 1.5)):
        a, b = longest * math.cos(angle), longest * math.sin(angle)
        there = still / 2 + np.exp(-((x - 1) ** 2 + y * y) / 2) / (8 * math.pi)
        there += np.exp(-((x - a) ** 2 + (y - b) ** 2) / 2) / (8 * math.pi)
        for epsilon in (0.0, 0.5):
            costs = [
                (np.maximum(p - math.exp(epsilon) * q, 0) * cell).sum()
                for p, q in ((there, still), (still, there))
            ]
            with precision(96):
                bounds = [float(curve(Fraction(epsilon)).upper()) for curve in ways(event)]
            assert all(cost <= bound + 1e-4 for cost, bound in zip(costs, bounds, strict=True))
            if angle == 0 and longest == 2:
                assert costs == pytest.approx(bounds, abs=1e-4)


def test_it_costs_more_with_farther_moves_and_less_noise():
    def delta(sigma=1, moves=(0, 1, 2), weights=("0.2", "0.6", "0.2")):
        return Accountant(GaussianMixture(sigma=sigma, moves=moves, weights=weights)).delta(1).upper

    assert delta() < delta(moves=(0, 1, 3))
    assert delta(weights=("0.2", "0.5", "0.3")) > delta() > delta(weights=("0.3", "0.5", "0.2"))
    assert delta(sigma=2) < delta() < delta(sigma="1/2")
    assert delta(moves=(2, 0, 1), weights=("0.2", "0.2", "0.6")) == delta()


@deep
def test_a_part_costs_less_than_the_whole():
    part, whole = Accountant(THEIRS * 2), Accountant([THEIRS * 2, Laplace(scale=5)])
    assert part.epsilon("1e-6").lower <= whole.epsilon("1e-6").upper
    assert Accountant(Sequence(of=(THEIRS, THEIRS)), relation="add-remove").epsilon(
        "1e-3"
    ).upper == pytest.approx(float(part.epsilon("1e-3").upper), rel=1e-5)
    only = Accountant(GaussianMixture(sigma=1, moves=[0, 1], weights=["0.9", "0.1"], count=5))
    gone = Accountant(PoissonSubsampled(rate="0.1", of=Gaussian(sigma=1), count=5))
    assert only.epsilon("1e-5").lower <= gone.epsilon("1e-5").upper
    assert gone.epsilon("1e-5").lower <= only.epsilon("1e-5").upper


def test_amounts_are_those_of_the_longest_move_or_none():
    assert THEIRS.mu_squared() == 4
    assert THEIRS.pure() is None
    assert (Accountant(THEIRS).gdp(), Accountant(THEIRS).zcdp()) == (
        None,
        None,
    )  # not those of the move itself
    assert Accountant(THEIRS, group=2).delta(1).upper > Accountant(THEIRS).delta(1).upper


@looped(
    ("given", "said"),
    [
        ({"moves": [0, 1], "weights": ["0.5", "0.4"]}, "the weights sum to 0.9, not to 1"),
        ({"moves": [0, 1], "weights": ["0.5", "0.6"]}, "the weights sum to 1.1, not to 1"),
        ({"moves": [0, -1], "weights": ["0.5", "0.5"]}, "moves holds -1; give its length"),
        ({"moves": [0, 1], "weights": ["1.5", "-0.5"]}, "weights holds -0.5; a probability is at least 0"),
        ({"moves": [0], "weights": ["0.5", "0.5"]}, "1 moves and 2 weights; give a weight for each move"),
        ({"moves": [], "weights": []}, "the weights sum to 0, not to 1"),
        ({"moves": [1] * 257, "weights": ["1/257"] * 257}, "at most 256"),
        ({"moves": 1, "weights": [1]}, "moves is '1'; give a list"),
    ],
)
def test_a_wrong_mixture_is_one_sentence(given, said):
    with pytest.raises(InputError) as wrong:
        GaussianMixture(sigma=1, **given)
    assert said in str(wrong.value)
    assert "\n" not in str(wrong.value)


def test_files_say_it_and_refuse_it_in_a_line(tmp_path, capsys):
    plan = tmp_path / "plan.json"
    plan.write_text(Plan("add-remove", THEIRS).to_json())
    assert cli.run(["account", str(plan), "--epsilon", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["gdp"] is None
    for wrong, said in (
        ("[0.2, 0.6, 0.3]", "sum to 1.1"),
        ("[0.2, 0.6]", "3 moves and 2 weights"),
        ("[0.2, 1.6, 0]", "/weights/1"),
    ):
        plan.write_text(plan.read_text().replace("[0.2, 0.6, 0.2]", wrong))
        assert cli.run(["account", str(plan), "--epsilon", "1"]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert said in err
        assert err.count("\n") == 1
        plan.write_text(Plan("add-remove", THEIRS).to_json())
    plan.write_text(plan.read_text().replace("add-remove", "replace-one"))
    assert cli.run(["account", str(plan), "--epsilon", "1"]) == 2
    assert (
        "gaussian_mixture has no meaning under replace-one; it is counted under add-remove"
        in capsys.readouterr().err
    )


def tree(sigma, moves, weights):
    event = {
        "type": "MixtureOfGaussiansDpEvent",
        "standard_deviation": sigma,
        "sensitivities": moves,
        "sampling_probs": weights,
    }
    return dp_event_tree(parse_json(json.dumps({"schema": TREE, "event": event}), "tree.json")).events[0]


def test_weights_in_floats_are_read_as_what_costs_no_less():
    third = tree(1.0, [0.0, 1.0, 2.0], [1 / 3] * 3)
    assert third.weights == (Fraction(str(1 / 3)), Fraction(str(1 / 3)), 1 - 2 * Fraction(str(1 / 3)))
    more = tree(1.0, [0.0, 1.0], [0.3, 0.7000000000000001])
    assert more.weights == (1 - Fraction("0.7000000000000001"), Fraction("0.7000000000000001"))
    with pytest.raises(InputError, match=r"tree\.json: /event/sampling_probs: .*sum to 0\.9, not to 1"):
        tree(1.0, [0.0, 1.0], [0.3, 0.6])
    seen = tree(0.0, [0.0, 1.0], [0.75, 0.25])
    assert Accountant(Plan("add-remove", seen)).delta(20).lower == 1


@looped("event", [THEIRS, APART, MANY])
def test_moments_by_quadrature(event):
    """Renyi divergences of both directions, where every part moves, too."""
    parts = [(float(w), float(m)) for w, m in event.parts()]
    x = np.linspace(-40, 60, 200_001)
    logs = logsumexp([math.log(w) + norm.logpdf(x, m) for w, m in parts], axis=0)
    for order in (1.5, 4.0):
        ways = [(logs, norm.logpdf(x)), (norm.logpdf(x), logs)]
        truth = max(
            logsumexp(order * p + (1 - order) * q + math.log(x[1] - x[0])) / (order - 1) for p, q in ways
        )
        found = Accountant(event).renyi(order)
        assert found.lower - Fraction(1, 10**9) <= truth <= found.upper + Fraction(1, 10**9)
        assert found.upper - found.lower < 1e-8
