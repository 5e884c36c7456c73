"""Groups: scaled events where they are exact, a chain of neighbours otherwise; never below what k units can lose."""

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction

from dpaccount.accounting import account
from dpaccount.accounting.accountant import Accountant
from dpaccount.numerics.closed import group_privacy
from dpaccount.pairs.of_events import composition_of
from dpaccount.plan import events as ev
from dpaccount.plan import groups
from dpaccount.plan.event_base import Stream
from dpaccount.plan.events import Plan, Relation
from tests.depth import deep, parts
from tests.looped import looped

DELTA = "1e-6"


def of(*events, group=1, relation=Relation.REPLACE_ONE):
    return Accountant(Plan(relation, events), group)


@looped(
    ("event", "scaled"),
    [
        (ev.Gaussian(sigma=5), ev.Gaussian(sigma=5, sensitivity=3)),
        (ev.Laplace(scale=5), ev.Laplace(scale=5, sensitivity=3)),
        (ev.DiscreteLaplace(scale=5), ev.DiscreteLaplace(scale=5, sensitivity=3)),
        (ev.DiscreteGaussian(sigma=5), ev.DiscreteGaussian(sigma=5, sensitivity=3)),
        (ev.Gdp(mu="0.2"), ev.Gdp(mu="0.6")),
        (ev.Pure(epsilon="0.2"), ev.DiscreteLaplace(scale=5, sensitivity=3)),
        (ev.PermuteAndFlip(epsilon="0.2"), ev.Laplace(scale=5, sensitivity=3)),
        (ev.RandomizedResponse(epsilon="0.2", k=3), ev.DiscreteLaplace(scale=5, sensitivity=3)),
        (ev.Zcdp(rho="0.01"), ev.Zcdp(rho="0.09")),
        (ev.BoundedRange(eta="0.2"), ev.BoundedRange(eta="0.6")),
        (ev.Exponential(epsilon="0.2"), ev.Exponential(epsilon="0.6")),
    ],
)
def test_three_units_pay_for_three_times_the_movement(event, scaled):
    cost = of(event, group=3).epsilon(DELTA)
    whole = of(scaled).epsilon(DELTA)
    assert cost.upper == whole.upper
    assert (cost.lower is None) == (whole.lower is None)
    assert of(event, group=1).epsilon(DELTA) == of(event).epsilon(DELTA)


def test_a_chain_where_nothing_better_is_known():
    """Three times (ε, δ): (3ε, δ(e^{3ε} − 1)/(e^ε − 1)); the chain may not fall below one unit's cost."""
    event = ev.PoissonSubsampled(rate="0.1", of=ev.Laplace(scale=2))
    single = of(event, relation=Relation.ADD_REMOVE)
    both = of(event, group=3, relation=Relation.ADD_REMOVE)
    chain = both.worst_epsilon(DELTA)
    assert chain.method.startswith("group chain")
    assert chain.bounds.lower == single.epsilon(DELTA).lower
    third = chain.bounds.upper / 3
    chained = single.delta(third).upper * sum(Fraction(math.exp(j * float(third))) for j in range(3))
    assert float(chained) <= 1e-6 * (1 + 1e-9)
    assert chain.bounds.upper < 3 * single.epsilon(Fraction(1, 10**9)).upper
    assert both.epsilon(1).upper == 0
    assert both.delta(1).upper <= 1


def test_the_chain_holds_for_a_gaussian_group():
    """Where the truth is known (μ becomes 3μ), the chain lies above it."""
    event = ev.Gaussian(sigma=6)
    exact = of(event, group=3).epsilon(DELTA)
    chain = group_privacy.chain_epsilon(lambda at: of(event).delta(at).upper, Fraction(DELTA), 3, Fraction(0))
    assert chain > exact.upper
    assert group_privacy.chain_delta(lambda at: of(event).delta(at).upper, exact.upper, 3) > Fraction(DELTA)


def test_a_chain_is_the_least_epsilon_that_was_proved():
    """Where bounds become looser as work is used up, what was proved before still holds."""
    event, asked = ev.Gaussian(sigma=6), []

    def looser(at):
        asked.append((at, of(event).delta(at).upper * (1 if len(asked) < 18 else 1000)))
        return min(Fraction(1), asked[-1][1])

    target = Fraction(DELTA)
    whole = group_privacy.chain_epsilon(lambda at: of(event).delta(at).upper, target, 2, Fraction(0))
    found = group_privacy.chain_epsilon(looser, target, 2, Fraction(0))
    proved = [2 * at for at, delta in asked if group_privacy.chained(at, delta, 2) <= target]
    assert found == min(proved) < Fraction(11, 10) * whole
    assert group_privacy.chain_delta(lambda at: of(event).delta(at).upper, found, 2) <= target


@looped("excess", ["0", "1e-9", "1e-7", "1e-5"])
def test_a_chain_is_met_where_delta_falls_at_once(excess):
    """A bound that falls at one ε and then rises: what δ(ε) proves somewhere, ε(δ) finds."""

    def falls(at):
        return Fraction(1, 10) if at < Fraction("1.60944") else Fraction(1, 10**6)

    least = 2 * Fraction("1.60944")
    target = group_privacy.chain_delta(falls, least, 2) * (1 + Fraction(excess)) + Fraction(1, 10**7)
    found = group_privacy.chain_epsilon(falls, target, 2, Fraction("1.60942"))
    assert found is not None
    assert least <= found < least * Fraction(1001, 1000)


def test_approximate_pairs_chain():
    """The scaled δ of (ε, δ) by the formula, and at most 1."""
    pair = ev.Approximate(epsilon="0.5", delta="1e-6").for_group(3)
    assert pair.epsilon == Fraction(3, 2)
    assert math.isclose(float(pair.delta), 1e-6 * math.expm1(1.5) / math.expm1(0.5), rel_tol=1e-12)
    assert float(pair.delta) >= 1e-6 * math.expm1(1.5) / math.expm1(0.5) * (1 - 1e-15)
    assert ev.Approximate(epsilon=9, delta="0.1").for_group(3).delta == 1
    assert abs(ev.Approximate(epsilon=0, delta="0.1").for_group(3).delta - Fraction(3, 10)) < Fraction(
        1, 10**50
    )


def test_units_of_a_group_may_lie_apart():
    """Two units under disjoint Gaussians: together they lose √2 μ at most by adding, 2μ where they share one."""
    apart = of(ev.Gaussian(sigma=5, cover=(1, 1)), ev.Gaussian(sigma=5, cover=(2, 2)), group=2).epsilon(DELTA)
    together = of(ev.Gaussian(sigma=5, cover=(1, 2)), group=2).epsilon(DELTA)
    two = of(ev.Gaussian(sigma=5, count=2)).epsilon(DELTA)
    assert apart.upper >= two.upper
    assert together.upper == of(ev.Gaussian(sigma=5, sensitivity=2)).epsilon(DELTA).upper
    assert together.lower is not None


@deep
def test_streams_beside_others():
    """Rounds of one tree and releases to all are worst for the same units; of two trees in turn they need not be."""
    laplace, tree = ev.Laplace(scale=5), ev.Tree(rounds=4, sigma=2)
    cost = of(tree, laplace, group=2).epsilon(DELTA)
    one = of(ev.Gaussian(sigma=2, count=10), replace(laplace, sensitivity=2)).epsilon(DELTA)
    assert cost == one
    two = of(tree, replace(tree, start=5), group=2).epsilon(DELTA)
    assert two.lower <= of(tree, group=2).epsilon(DELTA).upper <= two.upper
    apart = of(replace(laplace, cover=(1, 4)), replace(laplace, cover=(5, 8)), group=2).epsilon(DELTA)
    assert apart.upper <= of(replace(laplace, sensitivity=2, count=2)).epsilon(DELTA).upper


@deep
def test_bigger_groups_cost_more():
    event = ev.Rdp(points=((Fraction(8), Fraction(1, 50)),))
    one, two = (of(event, group=k).epsilon("0.01").upper for k in (1, 2))
    assert one < two


def test_no_chain_below_an_infinite_cost():
    event = ev.Sequence(
        of=(ev.Approximate(epsilon=1, delta="0.1"), ev.Rdp(points=((Fraction(4), Fraction(1)),)))
    )
    assert of(event, group=2).epsilon("0.01").upper == math.inf


# ------------------------------------------------------------------ streams and covers, unit by unit


def test_a_cover_beyond_the_worst_rounds_of_a_stream():
    """The bounds of single units and of all events together meet in one enclosure."""
    events = ev.Tree(rounds=8, sigma=1), ev.Gaussian(sigma=1, cover=(3, 100))
    one, two = (of(*events, group=k).epsilon(DELTA) for k in (1, 2))
    assert one.lower <= two.lower <= two.upper


def test_later_rounds_of_a_factorisation_are_charged_more_than_they_are_known_to_cost():
    """The first round has the column (1, 1/2), the second (1): with a Gaussian on it alone that is μ² = 2."""
    factored = ev.MatrixFactorisation(rounds=2, sigma=1)
    worst = of(factored, ev.Gaussian(sigma=1, cover=(2, 2))).worst_epsilon(DELTA)
    known, charged = (of(ev.Gaussian(sigma=2, sensitivity=1, count=n)).epsilon(DELTA) for n in (8, 9))
    assert (worst.bounds.lower, worst.bounds.upper) == (known.lower, charged.upper)
    assert worst.unit == 2
    alone = of(factored, ev.Gaussian(sigma=10, cover=(2, 2))).epsilon(DELTA)  # here it is the first round
    assert alone.lower == of(ev.Gaussian(sigma=2, count=5)).epsilon(DELTA).lower


UNITS = 9
ROUGH = Fraction(1, 100)


def columns(event):
    """Return what each unit moves, as vectors in noise of deviation 1, of a release to some units or rounds."""
    if isinstance(event, ev.Tree):
        sizes = [1 << level for level in range(event.rounds.bit_length())]
        nodes = [range(i, i + size) for size in sizes for i in range(0, event.rounds - size + 1, size)]
        rows = [[int(at in node) for node in nodes] for at in range(event.rounds)]
        first = event.start
    elif isinstance(event, ev.MatrixFactorisation):
        c = [Fraction(math.comb(2 * k, k), 4**k) for k in range(event.rounds)]
        rows = [[Fraction(0)] * at + c[: event.rounds - at] for at in range(event.rounds)]
        first = event.start
    else:
        first, last = event.cover or (1, UNITS)
        rows = [[1]] * (last - first + 1)
    return {first + place: row for place, row in enumerate(rows)}


def moved(event, group):
    """Return how far a group moves an event: a number of times for noise that is not Gaussian, else squared."""
    known = columns(event)
    rows = [known[unit] for unit in group if unit in known]
    sums = [sum(column) for column in zip(*rows, strict=True)]
    if isinstance(event, ev.Laplace | ev.Pure):
        return sum(sums)
    return sum(x * x for x in sums) * event.count / event.sigma**2


def costs(events, k, at):
    """Return enclosures of δ(at) of all groups of k units of which no other moves everything as far."""
    points = set()
    for group in itertools.combinations(range(1, UNITS + 1), k):
        apart = [moved(event, group) for event in events]
        smooth = [isinstance(event, ev.Laplace | ev.Pure) for event in events]
        mu2 = sum((m for m, own in zip(apart, smooth, strict=True) if not own), Fraction(0))
        points.add((mu2, *(m for m, own in zip(apart, smooth, strict=True) if own)))
    kinds = [event.bare() for event in events if isinstance(event, ev.Laplace | ev.Pure)]
    for one in points:
        if any(one != other and all(a <= b for a, b in zip(one, other, strict=True)) for other in points):
            continue
        scaled = [kind.for_group(times) for kind, times in zip(kinds, one[1:], strict=True) if times]
        total = replace(composition_of((event, 1) for event in scaled), mu2=(one[0], one[0]))
        yield account.delta(total, at, ROUGH).bounds


def placed(rng, kinds):
    """Return a stream that starts somewhere, or a release to some units or all."""
    kind, count = rng.choice(kinds), rng.choice([1, 2])
    if issubclass(kind, Stream):
        rounds, start = rng.randint(1, 6), rng.choice([1, 1, 1, 2, 3])
        return kind(rounds=rounds, start=start, sigma=rng.choice([1, 2, 5]), count=count)
    first = rng.randint(1, 5)
    cover = rng.choice([None, (first, first + rng.randint(0, 4))])
    if kind is ev.Gaussian:
        return kind(sigma=rng.choice([1, 2, 5]), count=count, cover=cover)
    return kind(cover=cover, count=count, **({"scale": 4} if kind is ev.Laplace else {"epsilon": "0.25"}))


def beside_every_group(seed, kinds):
    """Compare the cost of a random plan with the cost of every group of its units."""
    rng = random.Random(seed)
    k, at = rng.choice([1, 1, 2, 3]), Fraction(1)
    events = tuple(placed(rng, kinds) for _ in range(rng.choice([1, 2, 3])))
    answer = of(*events, group=k).delta(at, ROUGH)
    true = list(costs(events, k, at))
    low, high = (max(getattr(one, end) for one in true) for end in ("lower", "upper"))
    assert low <= answer.upper, (seed, k, events)
    assert answer.lower is None or answer.lower <= high, (seed, k, events)
    if k == 1:  # a worst unit is among those that are looked at
        assert answer.lower is not None
        assert answer.lower >= low * Fraction(9, 10), (seed, events)
    if all(map(groups.gaussian, events)):
        assert of(*events, group=k).epsilon("0.01").upper < math.inf


STREAMED = (ev.Tree, ev.MatrixFactorisation, ev.Gaussian)


@deep
@parts(6)
def test_random_streams_and_covers_beside_every_group_of_units(depth):
    for number in depth.some(range(5000), 120):
        beside_every_group(depth.seed(number), STREAMED)
    for number in depth.some(range(20_000, 20_500), 25):
        beside_every_group(depth.seed(number), (*STREAMED, ev.Laplace, ev.Pure))
