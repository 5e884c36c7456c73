"""Each operation on upper measures gives an upper measure, at so few digits that every rounding shows."""

import itertools
import random
from decimal import Decimal
from fractions import Fraction

import pytest
from mpmath import mp, mpf

from dpaccount.checker.accounting import lattice, pairs, replaced, streams, upper
from dpaccount.checker.accounting.lattice import Lattice, Limits
from dpaccount.checker.accounting.measures import UpperMeasure, added, height, of_curve, of_tails, removed
from dpaccount.checker.accounting.plan import classes
from dpaccount.checker.accounting.releases import PlanRelease, Releases
from dpaccount.checker.documents import Rejected, Work
from dpaccount.checker.intervals import Interval
from tests.looped import looped

mp.dps = 60
ROUNDS = 8
AT = [mpf(2) ** (mpf(k) / 3) for k in range(-18, 19)]
TINY = mpf(10) ** -50


@pytest.fixture(autouse=True)
def _unlimited():
    Work.begin(10**9)


def exact(value):
    top, bottom = Fraction(value).as_integer_ratio()
    return mpf(top) / bottom


def curve(measure, x):
    """D(x)."""
    return exact(measure.lost) + mp.fsum(exact(p) * max(0, 1 - x / exact(z)) for z, p in measure.atoms)


def of_lattice(a, digits, x):
    scale = mpf(10) ** digits
    odds = [mp.exp(exact(a.step * (a.low + k))) for k in range(len(a.masses))]
    return (a.lost + mp.fsum(m * max(0, 1 - x / z) for m, z in zip(a.masses, odds, strict=True))) / scale


def above(one, other):
    for x in AT:
        assert one(x) >= other(x) - TINY, x


def law(chance, outcomes=5):
    """Two random laws on the same outcomes, as fractions."""
    while True:
        p, q = ([chance.choice([0, 1, 2, 7, 30]) for _ in range(outcomes)] for _ in range(2))
        if sum(p) and sum(q):
            return [Fraction(a, sum(p)) for a in p], [Fraction(b, sum(q)) for b in q]


def cost(p, q):
    return lambda x: mp.fsum(max(0, exact(a) - x * exact(b)) for a, b in zip(p, q, strict=True))


def cases():
    for seed in range(ROUNDS):
        chance = random.Random(seed)
        yield chance, Interval(chance.choice([3, 4, 6, 12]))


def test_a_table_and_its_samples_are_upper_measures():
    for chance, i in cases():
        (p, q), rate = law(chance), chance.choice([Fraction(1, 1000), Fraction(1, 3), Fraction(9, 10)])
        mixed = [(1 - rate) * b + rate * a for a, b in zip(p, q, strict=True)]
        there, back = pairs.table(i, p, q), pairs.table(i, q, p)
        above(lambda x, m=there: curve(m, x), cost(p, q))
        less, more = removed(i, there, rate), added(i, back, rate)
        above(lambda x, m=less: curve(m, x), cost(mixed, q))
        above(lambda x, m=more: curve(m, x), cost(q, mixed))


def test_a_measure_that_lost_mass_under_q_is_still_one_on_a_sample():
    """A left tail that is moved up lowers the mass under Q: without what is put back, D < 1 − x below 1 − q."""
    i, rate = Interval(20), Fraction(1, 2)
    moved = UpperMeasure([(Decimal(2), Decimal(1))], Decimal(0))  # all of P at odds 2: half of Q is missing
    sampled = removed(i, moved, rate)
    above(lambda x: curve(sampled, x), lambda x: max(mpf(0), 1 - x))


def test_chords_between_heights_above_a_curve_are_above_it():
    """Whatever the heights are, and at least as low as the lower hull allows at many digits."""
    for chance, i in [*list(cases()) * 6, (random.Random(0), Interval(30))]:
        step, first = Fraction(chance.choice([1, 3]), 8), chance.choice([-30, -4, 0])
        at = [mp.exp(exact(step * (first + k))) for k in range(40)]
        (p, q), rough = law(chance), 3 if i.digits == 30 else chance.choice([0, 1, 3])
        truth = [cost(p, q)(x) for x in at]
        heights = [i.up.create_decimal(str(d + rough * chance.random() * d)) for d in truth]
        less = upper.under_chords(i, step, first, list(heights))
        assert len(less) == len(heights)
        for d, given, found in zip(truth, heights, less, strict=True):
            assert d - TINY <= exact(found) <= exact(given)
        if i.digits == 30:  # no height is above a chord
            nodes = [(mpf(0), mpf(1)), *zip(at, map(exact, less), strict=True)]
            for (a, u), (b, v), (c, w) in zip(nodes, nodes[1:], nodes[2:], strict=False):
                assert v <= u + (w - u) * (b - a) / (c - a) + mpf(10) ** -25


def test_sums_of_many_long_fractions_are_refused_early():
    events = [{"event": "zcdp", "rho": f"1/{10**396 + 2 * k + 1}"} for k in range(300)]
    Work.begin(10**8)
    with pytest.raises(Rejected, match="a sum of more digits"):
        classes({"schema": "dpaccount/events/1", "relation": "add-remove", "events": events})
    laws = [f"1/{10**396 + 2 * k + 1}" for k in range(300)]
    pair = {"event": "dominating_pair", "p": laws, "q": laws}
    with pytest.raises(Rejected, match="a sum of more digits"):
        classes({"schema": "dpaccount/events/1", "relation": "add-remove", "events": [pair]})


def test_cells_keep_the_curve_from_above():
    """A law of many losses, cut at a few of them."""
    for chance, i in cases():
        weights = [(Fraction(k, 4), Fraction(chance.randint(1, 9))) for k in range(-8, 9)]
        odds = [(Fraction(3, 2) ** k, w) for k, w in zip(range(-8, 9), (w for _, w in weights), strict=True)]
        total = sum(w for _, w in odds)
        p, q = [w / total for _, w in odds], [w / total / z for z, w in odds]
        cuts = sorted(chance.sample(range(17), 4))
        at = [i.of(odds[k][0]) for k in cuts]
        there = [i.of(sum(p[k + 1 :], Fraction(0))) for k in cuts]
        back = [i.of(sum(q[k + 1 :], Fraction(0))) for k in cuts]
        measure = of_tails(i, at, there, back)
        above(lambda x, m=measure: curve(m, x), cost(p, q))


def test_dots_of_a_curve_are_connected_above_it():
    for chance, i in cases():
        p, q = law(chance)
        step, first = Fraction(1, chance.choice([2, 5, 9])), -chance.randint(8, 20)
        nodes = [mp.exp(exact(step * (first + k))) for k in range(2 - 2 * first)]
        heights = [Decimal(mp.nstr(cost(p, q)(x), 50)) for x in nodes]
        up = [i.up.plus(h) for h in heights]
        measure = of_curve(i, step, first, up)
        above(lambda x, m=measure: curve(m, x), cost(p, q))


def test_the_height_of_a_measure_is_no_lower():
    for chance, i in cases():
        measure = pairs.table(i, *law(chance))
        value = height(i, measure)
        for x in AT[::4]:
            exactly = i.of(Fraction(mp.nstr(x, 30)))
            assert exact(value(exactly)) >= curve(measure, exact(exactly[1])) - TINY


def placed(chance, i, digits, moved=0):
    p, q = law(chance)
    step = Fraction(1, chance.choice([2, 3, 7]))
    limits = Limits(digits, 1000, moved, moved)
    measure = pairs.table(i, p, q)
    return lattice.place(i, measure, step, limits), p, q


def test_a_lattice_is_above_what_is_placed_on_it_and_stays_so():
    for chance, _ in cases():
        digits = chance.choice([2, 3, 5])
        i = Interval(digits + 14)
        moved = chance.choice([0, 0, 10**digits // 10])
        a, p, q = placed(chance, i, digits, moved)
        b, *_ = placed(chance, i, digits)
        above(lambda x, a=a, d=digits: of_lattice(a, d, x), cost(p, q))
        for worse in (lattice.coarser(i, a), lattice.shortened(a, 10**digits // 5, 10**digits // 7)):
            above(
                lambda x, w=worse, d=digits: of_lattice(w, d, x), lambda x, a=a, d=digits: of_lattice(a, d, x)
            )
        b = b._replace(step=a.step)
        both = lattice.product(a, b, digits)
        scale = mpf(10) ** digits
        exactly = Lattice(a.step, both.low, [0] * len(both.masses), 0)
        for j, m in enumerate(a.masses):
            for k, n in enumerate(b.masses):
                exactly.masses[j + k] += m * n
        lost = a.lost * (sum(b.masses) + b.lost) + sum(a.masses) * b.lost
        exactly = exactly._replace(lost=lost)
        above(
            lambda x, w=both, d=digits: of_lattice(w, d, x),
            lambda x, w=exactly, d=digits, s=scale: of_lattice(w, d, x) / s,
        )
        for epsilon in (Fraction(0), a.step, Fraction(1, 3)):
            found = lattice.delta(i, a, epsilon, digits)
            assert exact(found) >= of_lattice(a, digits, mp.exp(exact(epsilon))) - TINY


def test_a_tail_is_moved_up_to_the_last_node_and_no_further():
    a = Lattice(Fraction(1), -1, [1, 2], 4)
    assert lattice.shortened(a, 0, 10) == Lattice(Fraction(1), 0, [3], 4)
    assert lattice.shortened(a, 10, 10) == Lattice(Fraction(1), -1, [1], 6)
    assert lattice.shortened(a, 1, 0) == a


def test_a_power_is_above_the_product_of_its_factors():
    for chance, i in cases():
        a, p, q = placed(chance, i := Interval(30), 12)
        times = chance.choice([2, 3])
        whole = lattice.power(i, a, times, Limits(12, chance.choice([16, 400]), 10**6, 10**9))
        many = [(mpf(1), mpf(1))]
        for _ in range(times):
            many = [(a * exact(c), b * exact(d)) for a, b in many for c, d in zip(p, q, strict=True)]
        truth = lambda x, many=many: mp.fsum(max(0, a - x * b) for a, b in many)  # noqa: E731
        above(lambda x, w=whole: of_lattice(w, 12, x), truth)


def density(name, x, shift):
    """Laplace or Gaussian noise moved by a shift."""
    return mp.exp(-abs(x - shift)) / 2 if name == "laplace" else mp.npdf(x, shift, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["laplace", "gaussian"])
@pytest.mark.parametrize("rate", [None, "1/4"])
def test_noise_with_a_density_is_below_its_measure_and_near(name, rate):
    """By the integral of (dP − x dQ)₊; with a rate a row is replaced in a sample."""
    i, mu = Interval(30), Fraction(3, 2)
    on = (
        Releases(mu**2, ()) if name == "gaussian" else Releases(Fraction(0), ((PlanRelease(name, (mu,)), 1),))
    )
    if rate is not None:
        measure, q = replaced.replaced(i, Fraction(1, 40), Fraction(rate), on), exact(Fraction(rate))
        there, back = (
            (lambda u, s=s: (1 - q) * density(name, u, 0) + q * density(name, u, s)) for s in (1.5, -1.5)
        )
    else:
        make = pairs.gaussian if name == "gaussian" else pairs.laplace
        measure = make(i, Fraction(1, 40), mu**2 if name == "gaussian" else mu)
        there, back = ((lambda u, s=s: density(name, u, s)) for s in (1.5, 0))
    mp.dps = 12
    try:
        for x in (mpf(1) / 3, mpf(2)):
            cells = [mpf(k) / 4 for k in range(-60, 61)]
            truth = mp.quad(lambda u, x=x: max(0, there(u) - x * back(u)), cells)
            assert truth - 1e-5 <= curve(measure, x) <= truth + 1e-3, x
    finally:
        mp.dps = 60


@looped("rounds", [1, 3, 6, 8])
@looped("apart", [1, 2, 3])
def test_no_pattern_is_under_more_nodes_of_a_tree_than_is_counted(rounds, apart):
    """By enumeration; rounds side by side in a whole tree are the worst pattern, and cost what is counted."""
    nodes = [range(a, a + size) for size in (1, 2, 4, 8) for a in range(0, rounds - size + 1, size)]
    for times in (1, 2, 3, 4):
        patterns = (p for k in range(times + 1) for p in itertools.combinations(range(rounds), k))
        kept = [p for p in patterns if all(b - a >= apart for a, b in itertools.pairwise(p))]
        most = max(sum(len({*p} & {*node}) ** 2 for node in nodes) for p in kept)
        found = streams.tree_square(rounds, times, apart)
        assert most <= found
        assert most == found or rounds < 8 or apart > 1
