"""The cost of a given pair of laws is that of enumeration, in both directions, and listed as assumed."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits import cli
from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.methods.answer import DeltaAt, EpsilonAt
from dpaccount.accounting.methods.closed_forms import one_large_loss
from dpaccount.accounting.methods.exact import by_inversion
from dpaccount.documents import parse_json
from dpaccount.errors import InputError
from dpaccount.numerics.fourier import fourier
from dpaccount.numerics.fourier.contours import Product
from dpaccount.numerics.fourier.discrete_transforms import ResponseTransform
from dpaccount.numerics.fourier.sampled_atoms import SampledAtomsTransform
from dpaccount.pairs.of_events import composition_of
from dpaccount.pairs.table import TablePair
from dpaccount.plan.events import DominatingPair, Gaussian, Plan, PoissonSubsampled, Pure, Sequence
from dpaccount.plan.plan_file import read_plan
from tests.depth import deep, examples
from tests.dpaccount.pairs.test_hostile_plans import table
from tests.looped import looped

GAP = Fraction(1, 10**6)
NEAR = Fraction(1, 10**13)  #: what floats err in e^ε
FAILS = DominatingPair(p=["3/4", "0.2499", "0.0001", 0], q=["1/4", "0.7495", 0, "0.0005"])


def cost(events, relation="add-remove"):
    return Accountant(Plan(relation, events))


@st.composite
def pairs(draw, most=4):
    """Draw two laws of small whole weights, some of them 0."""
    size = draw(st.integers(2, most))
    laws = [draw(st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any)) for _ in range(2)]
    return DominatingPair(
        **{k: [Fraction(w, sum(law)) for w in law] for k, law in zip("pq", laws, strict=True)}
    )


def enumerated(events, at):
    """Return δ in the worse direction, over all outcomes, as an enclosure of exact numbers."""
    x = [Fraction(math.nextafter(math.exp(at), side)) for side in (math.inf, -math.inf)]
    there, back = [Fraction(1)], [Fraction(1)]
    for event in events:
        for _ in range(event.count):
            there = [a * b for a, b in itertools.product(there, event.p)]
            back = [a * b for a, b in itertools.product(back, event.q)]
    return [max(_above(there, back, y), _above(back, there, y)) for y in x]


def _above(p, q, x):
    return sum((max(a - x * b, 0) for a, b in zip(p, q, strict=True)), Fraction(0))


@deep
@examples(60, 60)
@given(pairs(), pairs(3), st.integers(1, 2), st.sampled_from([0.0, 0.25, 1.0, 2.0]))
def test_compositions_cost_what_is_enumerated(first, second, count, at):
    events = [first * count, second]
    low, high = enumerated(events, at)
    delta = cost(events).delta(Fraction(at), "1e-2")
    assert delta.lower <= high
    assert low <= delta.upper
    assert delta.upper - delta.lower <= Fraction(1, 10**6)


@deep
@examples(30, 30)
@given(pairs(5), st.integers(1, 4), st.sampled_from(["1/1000", "1/50", "1/5"]))
def test_copies_on_a_contour_cost_what_is_enumerated(pair, count, delta):
    """In one direction: for so few outcomes other methods come first."""
    way = composition_of([(pair * count, 1)])
    p, q = ([math.prod(row) for row in itertools.product(law, repeat=count)] for law in (pair.p, pair.q))
    at = by_inversion(way, EpsilonAt(Fraction(delta), GAP))
    if at is not None:
        low, high = (Fraction(math.exp(end)) for end in (at.lower, at.upper))
        assert _above(p, q, high * (1 + NEAR)) <= Fraction(delta)
        assert at.lower == 0 or _above(p, q, low * (1 - NEAR)) >= Fraction(delta)
    for epsilon in ("0.1", "1", "2.5"):
        ends = by_inversion(way, DeltaAt(Fraction(epsilon), GAP))
        if ends is not None:
            x = Fraction(math.exp(float(epsilon)))
            assert ends.lower <= _above(p, q, x * (1 - NEAR))
            assert _above(p, q, x * (1 + NEAR)) <= ends.upper


@deep
@examples(80, 80)
@given(pairs(), pairs(3), st.integers(1, 3), st.sampled_from([0.0, 0.25, 1.0, 2.0]))
def test_one_large_loss_is_a_lower_bound(first, second, count, at):
    """In each direction."""
    events = [(first * count, 1), (second, 1)]
    p, q = (
        [math.prod(row) for row in itertools.product(*[getattr(first, side)] * count, getattr(second, side))]
        for side in "pq"
    )
    x = Fraction(math.exp(at)) * (1 - NEAR)
    for way, (a, b) in zip(composition_of(events).directions, ((p, q), (q, p)), strict=False):
        assert one_large_loss(way, Fraction(at)) <= _above(a, b, x)


@deep
def test_rare_samples_have_two_ends():
    """δ of a few is nearly that of each, added up; of one release the bound is the cost itself."""
    alone = composition_of([(DominatingPair(p=["3/4", "1/4"], q=["1/4", "3/4"]), 1)])
    assert float(one_large_loss(alone, Fraction(0))) == pytest.approx(1 / 2, rel=1e-12)
    rare = PoissonSubsampled(rate="1e-6", of=Gaussian(sigma=1))
    one, five = (cost(rare * count).delta("0.1") for count in (1, 5))
    assert 5 * one.lower * (1 - NEAR) <= five.lower <= five.upper
    assert five.upper - five.lower <= five.upper / 10**4


@deep
def test_many_copies_of_many_outcomes_are_narrow():
    """With those that fail; what smoothing alone would prove is wider, and ε falls as δ rises."""
    for lost in (0, 1):
        event = DominatingPair(**table(300, lost=lost), count=100)
        rough, close, more = (cost(event).epsilon(*ask) for ask in (("0.9", "1e-4"), ("0.9",), ("0.95",)))
        assert rough.lower <= close.lower <= close.upper <= rough.upper
        assert close.upper - close.lower <= GAP * close.upper
        assert more.upper < close.lower
        there = cost(event).delta(close.upper)
        assert there.lower <= Fraction(9, 10) <= there.upper + GAP


@deep
@examples(40, 40)
@given(pairs(), st.sampled_from(["1e-6", "1/100", "1/5"]))
def test_epsilon_and_delta_agree(pair, delta):
    epsilon = cost(pair).epsilon(delta)
    if epsilon.upper == math.inf:
        assert max(
            TablePair(pair.p, pair.q).infinite_mass(), TablePair(pair.q, pair.p).infinite_mass()
        ) > Fraction(delta)
        return
    assert cost(pair).delta(epsilon.upper).lower <= Fraction(delta)
    if epsilon.lower > Fraction(1, 1000):
        assert cost(pair).delta(epsilon.lower * (1 - Fraction(1, 10**9))).upper > Fraction(delta) * (
            1 - Fraction(1, 10**6)
        )


def test_the_order_of_the_laws_does_not_matter():
    """Both directions count: a twin that knows one would take the cheaper way round."""
    turned = DominatingPair(p=FAILS.q, q=FAILS.p)
    for at in ("0.1", "1", "3"):
        assert cost(FAILS * 3).delta(at) == cost(turned * 3).delta(at)
    one_way = TablePair(FAILS.p, FAILS.q)
    assert one_way.infinite_mass() == Fraction(1, 10**4)
    assert float(cost(FAILS).delta(50).upper) == pytest.approx(5e-4), "the direction that fails more often"


def test_failures_bound_delta_from_below():
    assert cost(FAILS).epsilon("4e-4").upper == math.inf
    assert cost(FAILS).epsilon("5e-4").upper < 1.2  # ln 3 is the largest finite loss
    assert cost(FAILS * 2).epsilon("1e-3").upper < 2.4
    assert cost(FAILS * 2).epsilon("9.99e-4").upper == math.inf


def test_the_pair_of_pure_privacy_is_pure_privacy():
    """Odds of e^ε to 1, ε = 0.7, to thirty digits: neither side of the other by more."""
    share = Fraction(round(10**30 * math.exp(0.7) / (1 + math.exp(0.7))), 10**30)
    pair = DominatingPair(p=[share, 1 - share], q=[1 - share, share])
    for count in (1, 40, 3000):
        mine, pure = (cost(event * count).epsilon("1e-6") for event in (pair, Pure(epsilon="0.7")))
        assert float(mine.upper) == pytest.approx(float(pure.upper), rel=1e-12)


@deep
def test_many_outcomes_are_summed():
    """A Gaussian rounded to 800 cells: below the Gaussian itself, and near it."""
    edges = np.linspace(-8, 9, 801)
    masses = [
        np.diff([0.0, *(math.erfc((at - x) / math.sqrt(2)) / 2 for x in edges[1:-1]), 1.0]) for at in (1, 0)
    ]
    weights = [[1 + int(max(x, 0.0) * 2**60) for x in law.tolist()] for law in masses]
    laws = [[Fraction(x, sum(law)) for x in law] for law in weights]
    epsilon = cost(DominatingPair(p=laws[0], q=laws[1], count=5)).epsilon("1e-3", "1e-3")
    whole = cost(Gaussian(sigma=1, count=5)).epsilon("1e-3")
    assert 0 < epsilon.upper - epsilon.lower < Fraction(1, 100)
    assert epsilon.lower <= whole.upper
    assert float(epsilon.upper) == pytest.approx(float(whole.upper), rel=1e-2)


@pytest.mark.parametrize(("p_alone", "q_alone"), [(0, 0), (2, 0), (0, 1), (1, 3)])
@deep
def test_many_outcomes_that_fail_in_one_direction(p_alone, q_alone):
    """300 losses, summed on a contour, against all 90,000 outcomes of two releases, in each direction."""
    rng = np.random.default_rng(3)
    first = rng.integers(1, 1000, 300)
    second = np.maximum(1, (first * rng.uniform(0.5, 1.6, 300)).astype(int))
    laws = [
        [*first.tolist(), *[0] * q_alone, *[3] * p_alone],
        [*second.tolist(), *[5] * q_alone, *[0] * p_alone],
    ]
    event = DominatingPair(
        **{k: [Fraction(w, sum(law)) for w in law] for k, law in zip("pq", laws, strict=True)}, count=2
    )
    p, q = (
        np.outer(law, law).ravel()
        for law in (np.array([float(x) for x in law]) for law in (event.p, event.q))
    )
    for way, (a, b) in zip(composition_of([(event, 1)]).directions, ((p, q), (q, p)), strict=False):
        for at in ("0.1", "0.4"):
            truth = np.maximum(a - math.exp(float(at)) * b, 0).sum()
            ends = fourier.delta(way.transform(summed=True), Fraction(at), GAP, 8.0)
            assert ends is not None
            assert float(ends[0]) * (1 - 1e-11) <= truth <= float(ends[1]) * (1 + 1e-11)
            assert ends[1] - ends[0] < ends[1] / 10**3


@deep
def test_a_sample_that_fails_when_a_unit_is_added():
    """Two ends of one inversion: the law of the removed unit fails, that of the added one has lost mass."""
    inner = ((ResponseTransform(Fraction(1), 2), 1),)
    removed = SampledAtomsTransform(Fraction(1, 2), inner, lost=Fraction(1, 10))
    r = 1 / (1 + math.e)
    gone = np.array([0.1, 0.9 * r, 0.9 * (1 - r), 0.0])  # under Q: where P has nothing, then as pure ε-DP
    there = np.array([0.0, 0.9 * (1 - r), 0.9 * r, 0.1])
    laws = (there + gone) / 2, gone
    for factor, (p, q) in ((removed, laws), (removed.reversed(), laws[::-1])):
        product = Product((Fraction(0), Fraction(0)), ((factor, 3),))
        a, b = (np.multiply.outer(np.multiply.outer(law, law), law).ravel() for law in (p, q))
        for at in ("0.1", "0.7"):
            truth = np.maximum(a - math.exp(float(at)) * b, 0).sum()
            ends = fourier.delta(product, Fraction(at), GAP, 8.0)
            assert ends is not None
            assert float(ends[0]) <= truth * (1 + 1e-11)
            assert truth * (1 - 1e-11) <= float(ends[1])


def test_the_numbers_beside_the_curve():
    assert float(FAILS.approximate()[0]) == pytest.approx(math.log(3), rel=1e-12)
    assert FAILS.approximate()[1] == Fraction(5, 10**4)
    assert FAILS.pure() is None
    whole = DominatingPair(p=["1/2", "1/2"], q=["1/8", "7/8"])
    assert float(whole.pure()) == pytest.approx(math.log(4), rel=1e-12)
    assert float(cost(whole).delta(0).upper) == pytest.approx(3 / 8)
    assert cost(DominatingPair(p=["0.5", "0.5"], q=["0.5", "0.5"])).epsilon(0).upper == 0


@looped(
    ("p", "q", "message"),
    [
        (["0.5", "0.4"], ["0.5", "0.5"], "p sums to 0.9, not to 1"),
        (["1/3", "1/3", "1/3"], ["0.333", "0.333", "0.333"], "q sums to 0.999"),
        ([], [], "p sums to 0"),
        (["1.5", "-0.5"], ["0.5", "0.5"], "a probability is at least 0"),
        ([1], ["0.5", "0.5"], "p has 1 outcomes and q 2"),
        ([1] + [0] * 5000, [1] + [0] * 5000, "too many"),
    ],
)
def test_what_is_no_pair_of_laws_is_refused(p, q, message):
    with pytest.raises(InputError, match=message):
        DominatingPair(p=p, q=q)


def test_a_given_pair_on_a_sample_is_refused():
    for of in (FAILS, Sequence(of=(FAILS,))):
        with pytest.raises(InputError, match="give the event on the sample itself"):
            PoissonSubsampled(rate="0.1", of=of)


def test_a_file_is_read_and_written_and_says_what_is_assumed(tmp_path, capsys):
    plan = Plan("replace-one", [FAILS * 3, Gaussian(sigma=2)])
    assert read_plan(parse_json(plan.to_json(), "plan.json")) == plan
    assert plan.assumptions() == [FAILS.assumption()]
    assert Plan("replace-one", Gaussian(sigma=2)).assumptions() == []
    file = tmp_path / "plan.json"
    file.write_text(plan.to_json())
    assert cli.run(["account", str(file), "--epsilon", "2", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["assumptions"] == [FAILS.assumption()]
    assert cli.run(["account", str(file), "--epsilon", "2"]) == 0
    assert "nothing here checks it" in capsys.readouterr().out


@looped("wrong", ['"half"', "[0.5, 0.6]", "[2, -1]", '["?", 1]', "[[1]]"])
def test_a_wrong_list_in_a_file_is_one_sentence(wrong):
    text = f'{{"schema":"dpaccount/events/1","relation":"replace-one","events":[{{"event":"dominating_pair","p":{wrong},"q":[1, 0]}}]}}'
    with pytest.raises(InputError):
        read_plan(parse_json(text, "plan.json"))
