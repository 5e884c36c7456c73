"""Truncated Poisson batches: every small dataset, another program, what they are without truncation, and refusals.

dp_accounting 0.6.0 says ε = 17.904330 for three batches of at most 2 of 4 and two of at most 2 of 3, drawn at .5
with noise 1, at δ = 10⁻⁶. It compares truncated batches, which on one dataset and on its neighbour both differ by
up to 2 from a third one; that a unit takes one other's place bounds it by 16.4848. Both are recomputed here.
"""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from audits import cli
from dpaccount import Accountant, Gaussian, Plan, PoissonSubsampled
from dpaccount.accounting.calibrate import unknown_in
from dpaccount.documents import parse_json
from dpaccount.errors import InputError
from dpaccount.numerics.intervals import precision
from dpaccount.pairs import truncated
from dpaccount.pairs.of_events import composition_of
from dpaccount.plan.events import Gdp, Laplace, Sequence, TruncatedPoisson
from dpaccount.plan.foreign import TREE, dp_event_tree
from tests.looped import looped

NOISE = Gaussian(sigma=1)


def batches(population, size=2, rate="1/2", of=NOISE, count=1):
    return TruncatedPoisson(rate=rate, size=size, population=population, of=of, count=count)


THEIRS = [batches(4, count=3), batches(3, count=2)]


def laws(event, values):
    """The mixtures over all draws: (weight, sum) with the first unit and without it, whose values these are."""
    q, found = float(event.rate), []
    for rows in (values, values[1:]):
        law = []
        for drawn in itertools.product((0, 1), repeat=len(rows)):
            chance = math.prod(q if one else 1 - q for one in drawn)
            held = [value for value, one in zip(rows, drawn, strict=True) if one]
            kept = list(itertools.combinations(held, min(len(held), event.size)))
            law += [(chance / len(kept), sum(batch)) for batch in kept]
        found.append(law)
    return found


@looped(
    ("population", "size", "rate"),
    [(2, 1, "1/2"), (3, 2, "1/2"), (4, 2, "0.3"), (4, 3, "0.9"), (5, 1, "0.2")],
)
def test_every_dataset_of_values_of_at_most_1_costs_no_more(population, size, rate):
    event = batches(population, size, rate)
    whole = composition_of([(event, 1)])
    with precision(96):
        bounds = [
            [float(way.curve(64)(at).upper()) for at in map(Fraction, (0, "0.5", 2))]
            for way in (whole, whole.reversed())
        ]
    x = np.linspace(-size - 8, size + 8, 4001)
    for values in itertools.product((-1, 0.5, 1), repeat=population):
        there, gone = (sum(w * norm.pdf(x, total) for w, total in law) for law in laws(event, values))
        for (p, q), most in zip(((there, gone), (gone, there)), bounds, strict=True):
            for epsilon, bound in zip((0, 0.5, 2), most, strict=True):
                assert (np.maximum(p - math.exp(epsilon) * q, 0)).sum() * (x[1] - x[0]) <= bound + 1e-5


def kinds(event):
    """(weight, rate, move): batches that are not full, and full ones by how many others were drawn."""
    q, n, size = float(event.rate), event.population - 1, event.size
    for k in range(n + 1):
        weight = math.comb(n, k) * q**k * (1 - q) ** (n - k)
        yield (weight, q, 1) if k < size else (weight, q * size / (k + 1), 2)


def seen(event):
    """The pair in which that is seen, as densities of noise 1."""
    return [(w, [(1 - r, 0), (r, move)], [(1, 0)]) for w, r, move in kinds(event)]


def theirs(event):
    """The pair of dp_accounting: full batches at the mean rate, moved by 2 to either side."""
    full = [(w, r) for w, r, move in kinds(event) if move == 2]
    weight = sum(w for w, _ in full)
    rate = sum(w * r for w, r in full) / weight
    others = [(w, [(1 - r, 0), (r, move)], [(1, 0)]) for w, r, move in kinds(event) if move == 1]
    return [*others, (weight, [(1 - rate, 0), (rate, 2)], [(1 - rate, 0), (rate, -2)])]


def epsilon_in_floats(counted, delta, *, added, step=5e-4):
    """ε of pairs by a convolution of losses in floats, rounded to the nearest multiple of a step."""
    x, masses = np.arange(-14, 18, 1e-3), []
    for parts, count in counted:
        once = np.zeros(round(120 / step) + 1)
        for weight, *mixtures in parts:
            p, q = (
                sum(w * norm.pdf(x, m) for w, m in law) for law in (mixtures[::-1] if added else mixtures)
            )
            np.add.at(
                once,
                np.clip(np.rint((np.log(p / q) + 60) / step).astype(int), 0, len(once) - 1),
                weight * p * 1e-3,
            )
        masses += [once] * count
    size = 1 << sum(map(len, masses)).bit_length()
    whole = np.fft.irfft(math.prod(np.fft.rfft(mass, size) for mass in masses), size)[: sum(map(len, masses))]
    losses = step * np.arange(len(whole)) - 60 * len(masses)
    low, high = 0.0, 60.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if (whole * -np.expm1(np.minimum(middle - losses, 0))).sum() > delta
            else (low, middle)
        )
    return high


@pytest.mark.slow
def test_the_value_of_dp_accounting_and_ours_by_another_program():
    found = Accountant(THEIRS).epsilon("1e-6")
    assert found.lower is None
    ours, peer = (
        max(
            epsilon_in_floats([(pair(event), event.count) for event in THEIRS], 1e-6, added=added)
            for added in (False, True)
        )
        for pair in (seen, theirs)
    )
    assert float(found.upper) == pytest.approx(ours, rel=2e-4)
    assert peer == pytest.approx(17.904330, abs=2e-3)
    assert found.upper < 16.49


def test_without_truncation_it_is_a_poisson_sample():
    sample = PoissonSubsampled(rate="1/2", of=NOISE)
    assert composition_of([(batches(3, 3), 1)]) == composition_of([(sample, 1)])
    nearly = Accountant(batches(60, 59, "1/10")).delta(1)
    plain = Accountant(PoissonSubsampled(rate="1/10", of=NOISE)).delta(1)
    assert plain.lower <= nearly.upper <= plain.upper * (1 + Fraction(1, 10**6))


def test_one_more_place_tends_to_a_poisson_sample_and_a_sure_draw_is_of_fixed_size():
    costs = [Accountant(batches(20, size, "1/4")).delta(1).upper for size in (8, 10, 14)]
    assert costs == sorted(costs, reverse=True)
    fixed = composition_of([(batches(8, 2, 1), 1)]).pairs[0][0]
    assert [(weight, pair.rate, pair.mu2) for weight, pair in fixed.mixed] == [(1, Fraction(1, 4), 4)]
    assert composition_of([(batches(8, 2, 0), 1)]).empty
    assert composition_of([(batches(8, 2, of=Gdp(mu=0)), 1)]).empty


def test_weights_add_up_and_no_kind_is_counted_as_a_cheaper_one():
    """Of 400 units the rates are joined: the curve is above the one with all of them, and near."""
    event = batches(400, 45, "1/10")
    pair = composition_of([(event, 1)]).pairs[0][0]
    assert sum(weight for weight, _ in pair.mixed) == 1
    assert len(pair.mixed) < 2 * truncated.MOST
    mean = sum(weight * part.rate for weight, part in pair.mixed if getattr(part, "mu2", 0) == 4)
    exact = sum(w * r for w, r, move in kinds(event) if move == 2)
    assert exact <= mean <= 1.02 * exact
    assert pair.mixed[0][0] <= Fraction(
        sum(Fraction(math.comb(399, k) * 9 ** (399 - k), 10**399) for k in range(45))
    )


@pytest.mark.slow
def test_a_part_costs_less_than_the_whole_and_less_noise_more():
    def epsilon(*events):
        return Accountant(Plan("add-remove", events)).epsilon("1e-5", "1e-3").upper

    one = batches(30, 5, "1/5", Gaussian(sigma=2))
    assert epsilon(one) < epsilon(one * 3) < epsilon(one * 3, Laplace(scale=9))
    assert epsilon(batches(30, 5, "1/5", Gaussian(sigma=3))) < epsilon(one)
    both = Sequence(of=(Gaussian(sigma=2), Gaussian(sigma=2)))
    assert epsilon(batches(30, 5, "1/5", both)) > epsilon(one)
    assert epsilon(one) < epsilon(Gaussian(sigma=1))  # as if it always took another one's place


def test_groups_pay_as_if_each_of_them_always_took_anothers_place():
    """Whoever is in one batch alone, and whom they displace: 2k of them, whichever dataset holds them."""
    for k in (2, 3):
        group = Accountant(batches(4), group=k).delta(1).upper
        assert group == Accountant(Gaussian(sigma=1, sensitivity=2 * k)).delta(1).upper
        assert group > Accountant(batches(4)).delta(1).upper


@looped(
    ("make", "said"),
    [
        (lambda: batches(3, 4), "truncated_poisson: size exceeds population; no batch is as large"),
        (lambda: batches(3, 0), "size = 0 is out of range; it must be at least 1"),
        (lambda: batches(3, 2, "1.1"), "rate = 1.1 is out of range"),
        (lambda: batches(3, 2, of=Laplace(scale=1)), "no bound is known for laplace in it"),
        (
            lambda: PoissonSubsampled(rate="1/2", of=batches(3)),
            "a population of a known size, which a sample is not",
        ),
        (
            lambda: Plan("replace-one", batches(3)),
            "no meaning under replace-one; it is counted under add-remove",
        ),
        (lambda: batches(5).covering(1, 4), "the cover holds fewer units than the population"),
    ],
)
def test_what_is_wrong_is_one_sentence(make, said):
    with pytest.raises(InputError) as wrong:
        make()
    assert said in str(wrong.value)
    assert "\n" not in str(wrong.value)


def document(**changed):
    event = {
        "event": "truncated_poisson",
        "rate": 0.5,
        "size": 2,
        "population": 4,
        "of": {"event": "gaussian", "sigma": 1},
    }
    return json.dumps(
        {"schema": "dpaccount/events/1", "relation": "add-remove", "events": [{**event, **changed}]}
    )


def test_a_file_is_read_sought_in_and_refused(tmp_path, capsys):
    plan = tmp_path / "plan.json"
    plan.write_text(document())
    assert cli.run(["account", str(plan), "--epsilon", "1", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["delta"]["lower"], answer["gdp"]) == (None, None)
    plan.write_text(document(size=5))
    assert cli.run(["account", str(plan), "--epsilon", "1"]) == 2
    assert capsys.readouterr() == (
        "",
        f"error: {plan}: /events/0/size: the size exceeds the population; use 1 <= size <= population\n",
    )
    with pytest.raises(InputError, match="not known to be monotone in it; it may stand for sigma or count"):
        unknown_in(parse_json(document(population="?"), "plan.json"))
    assert unknown_in(parse_json(document(of={"event": "gaussian", "sigma": "?"}), "plan.json")).falls


def test_a_dp_event_is_read_or_refused_at_its_place():
    def tree(size=2, noise=1.0, relation="add-remove"):
        event = {"type": "TruncatedSubsampledGaussianDpEvent", "dataset_size": 4, "sampling_probability": 0.5}
        event |= {"truncated_batch_size": size, "noise_multiplier": noise}
        return dp_event_tree(parse_json(json.dumps({"schema": TREE, "event": event}), "tree.json"), relation)

    assert tree().events == (batches(4),)
    assert Accountant(tree(noise=0.0)).delta(9).lower == Fraction(1, 2)
    with pytest.raises(
        InputError, match=r"tree\.json: /event/truncated_batch_size: .*size exceeds population"
    ):
        tree(size=5)
    with pytest.raises(InputError, match="no meaning under replace-one"):
        tree(relation="replace-one")
