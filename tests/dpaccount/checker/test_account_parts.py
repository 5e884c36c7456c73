"""Each operation on upper measures gives an upper measure, at so few digits that every rounding shows."""

import itertools
import math
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

from dpaccount.checker.accounting import lattice, methods, pairs, replaced, streams, upper
from dpaccount.checker.accounting.lattice import LatticeMeasure, Limits
from dpaccount.checker.accounting.measures import (
    MeasureCell,
    UpperMeasure,
    added,
    height,
    of_curve,
    of_tails,
    removed,
    split,
)
from dpaccount.checker.accounting.plan import classes
from dpaccount.checker.accounting.releases import Releases
from dpaccount.checker.documents import Rejected, Work
from dpaccount.checker.intervals import Interval
from tests.dpaccount.checker.test_account_events import one
from tests.looped import looped

mp.dps = 60
ROUNDS = 8
AT = [mpf(2) ** (mpf(k) / 3) for k in range(-18, 19)]
TINY = mpf(10) ** -50


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


def test_a_measure_on_a_sample_costs_what_follows_from_its_curve():
    """At two digits, in exact numbers: q·D((x − 1 + q)/q) or 1 − x, and r·D(xq/r) with r = 1 − x(1 − q)."""
    i = Interval(2)
    for chance in map(random.Random, range(150)):
        atoms = sorted(
            (Decimal(chance.randint(1, 40)) / 10, Decimal(chance.randint(5, 9)) / 10) for _ in range(2)
        )
        inner = UpperMeasure(atoms, Decimal(chance.choice(["0", "0.1"])))
        q = Fraction(chance.choice([333, 500, 667, 857, 990, 999]), chance.choice([1000, 1001]))
        less, more = removed(i, inner, q), added(i, inner, q)
        for x in ((1 - q) / 2, *(1 - q + q * Fraction(z) * k / 4 for z, _ in atoms for k in range(5))):
            assert rational(less, x) >= (q * rational(inner, (x - 1 + q) / q) if x >= 1 - q else 1 - x)
            if (r := 1 - x * (1 - q)) > 0:
                assert rational(more, x) >= r * rational(inner, x * q / r)


def test_what_a_sample_lacks_of_mass_one_is_not_rounded_away():
    """At two digits, in exact numbers: an atom at 1 − q has at least (1 − q)(1 − Σp/z)."""
    i, found = Interval(2), 0
    for chance in map(random.Random, range(150)):
        atoms = [
            (Decimal(chance.randint(15, 99)) / 10, Decimal(chance.randint(1, 30)) / 100) for _ in range(3)
        ]
        lacking = 1 - sum(Fraction(p) / Fraction(z) for z, p in atoms)
        less = removed(i, UpperMeasure(atoms, Decimal(0)), Fraction(1, 2))
        mass = dict(less.atoms).get(Decimal("0.5"), 0)
        assert mass >= lacking / 2
        found += mass > 0
    assert found > 100


def rational(measure, x):
    """D(x), exactly."""
    return Fraction(measure.lost) + sum(Fraction(p) * max(0, 1 - x / Fraction(z)) for z, p in measure.atoms)


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
    Work.begin(10**8)
    for kind, of in (("zcdp", "rho"), ("gdp", "mu")):
        events = [{"event": kind, of: f"1/{10**396 + 2 * k + 1}"} for k in range(300)]
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


def test_a_cell_that_is_split_costs_no_less_than_the_law_within():
    for chance, i in cases():
        for _ in range(60):
            parts = chance.choice([10, 7])  # tenths are exact, so that nothing but the operations is rounded
            low, rise, *masses = (Fraction(chance.randint(1, 19), parts) for _ in range(4))
            masses[chance.choice([0, 1])] *= chance.choice([0, 1])
            law = [*zip((low, low + rise), masses, strict=True)]
            q = sum(p / z for z, p in law)
            atoms = split(i, MeasureCell(*map(i.of, (low, low + rise, sum(masses), q))))
            for x in (0, low / 2, low, *(Fraction(z) for z, _ in atoms), low + rise / 2):
                assert rational(UpperMeasure(atoms, 0), x) >= rational(UpperMeasure(law, 0), x)


def test_connected_dots_are_as_high_as_they_are():
    for chance, i in cases():
        step, first = Fraction(1, chance.choice([2, 3, 5])), chance.choice([-9, -3])
        drops = sorted(chance.sample(range(1, 25), 4), reverse=True)
        heights = [Decimal(sum(drops[k:])) / 100 for k in range(5)]
        measure = of_curve(i, step, first, heights)
        assert rational(measure, 0) >= 1
        for k, given in enumerate(heights):
            more = curve(measure, mp.exp(exact(step * (first + k)))) - exact(given)
            assert -TINY <= more <= mpf(10) ** (3 - i.digits)


def test_connected_dots_begin_at_one_or_above():
    """At two digits, in exact numbers: masses that are rounded down would have a lower sum."""
    i = Interval(2)
    for chance in map(random.Random, range(60)):
        heights = sorted((Decimal(chance.randint(0, 99)) / 100 for _ in range(3)), reverse=True)
        assert rational(of_curve(i, Fraction(chance.randint(5, 30), 10), -2, heights), 0) >= 1


def test_dots_of_a_curve_are_connected_above_it():
    for chance, i in cases():
        p, q = law(chance)
        step, first = Fraction(1, chance.choice([2, 5, 9])), -chance.randint(8, 20)
        nodes = [mp.exp(exact(step * (first + k))) for k in range(2 - 2 * first)]
        heights = [Decimal(mp.nstr(cost(p, q)(x), 50)) for x in nodes]
        up = [i.up.plus(h) for h in heights]
        measure = of_curve(i, step, first, up)
        assert rational(measure, 0) >= 1
        above(lambda x, m=measure: curve(m, x), cost(p, q))


def test_the_height_of_a_measure_is_no_lower():
    for chance, i in cases():
        measure = pairs.table(i, *law(chance))
        value = height(i, measure)
        for k in (1, 2, 3, 5, 8, 16, 30):
            exactly = i.of(Fraction(k, 4))
            assert exact(value(exactly)) >= curve(measure, exact(exactly[1])) - TINY


def test_the_height_at_what_lies_between_two_numbers_is_that_at_the_lower_one():
    measure = UpperMeasure([(Decimal(2), Decimal("0.5")), (Decimal(4), Decimal("0.5"))], Decimal(0))
    for low, high, truth in (("1", "3", "0.625"), ("1", "9", "0.625"), ("3", "5", "0.125"), ("4", "5", "0")):
        assert height(Interval(9), measure)((Decimal(low), Decimal(high))) == Decimal(truth)


def placed(chance, i, digits, moved=0):
    p, q = law(chance)
    step = Fraction(1, chance.choice([2, 3, 7]))
    limits = Limits(digits, 1000, moved, moved)
    measure = pairs.table(i, p, q)
    return lattice.place(i, measure, step, limits), p, q


def test_a_lattice_is_above_what_is_placed_on_it_and_stays_so():
    for chance, _ in cases():
        digits = chance.choice([2, 3, 8])
        i = Interval(chance.choice([4, 6]))
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
        exactly = LatticeMeasure(a.step, both.low, [0] * len(both.masses), 0)
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


def test_an_atom_that_is_rounded_beyond_its_node_is_placed_further_right_or_refused():
    """At few digits a node is not known: 97 is above e^(2·2.28) = 95.6, and 2e44 above e^(68·1.5) = 1.99e44."""
    limits, placed = Limits(9, 1000, 0, 0), 0
    for digits, step, z in (
        (2, "2.28", "97"),
        (2, "1.5", "2E+44"),
        (2, "2.2", "8.1E+44"),
        (1, "0.8", "3E+35"),
    ):
        whole = UpperMeasure([(Decimal(z), Decimal(1))], Decimal(0))
        try:
            a = lattice.place(Interval(digits), whole, Fraction(step), limits)
        except Rejected:
            continue
        placed += 1
        for k in range(len(a.masses)):
            x = mp.exp(exact(a.step * (a.low + k)))
            assert of_lattice(a, 9, x) >= curve(whole, x) - TINY
    assert placed


def test_atoms_that_are_placed_by_few_digits_lie_above():
    chance, limits, placed = random.Random(5), Limits(9, 1000, 0, 0), 0
    for _ in range(60):
        atoms = sorted(
            (Decimal(chance.randint(1, 999)) / 37, Decimal(chance.randint(1, 999)) / 999) for _ in range(2)
        )
        i = Interval(chance.choice([2, 3, 4]))
        whole = UpperMeasure([(i.up.plus(z), i.up.plus(p)) for z, p in atoms], Decimal(0))
        try:
            a = lattice.place(i, whole, Fraction(chance.choice(["0.7", "1.1", "2.3"])), limits)
        except Rejected:
            continue
        placed += 1
        nodes = [mp.exp(exact(a.step * (a.low + k))) for k in range(len(a.masses))]
        for x in (mpf(0), *nodes, *(exact(z) for z, _ in whole.atoms)):
            assert of_lattice(a, 9, x) >= curve(whole, x) - TINY
    assert placed > 20


@pytest.mark.parametrize(
    ("digits", "z", "p", "step"),
    [(3, "22.3", "0.236", "1.9"), (2, "20", "0.34", "1.6"), (3, "16.6", "0.741", "2.85")],
)
def test_the_mass_that_goes_right_is_rounded_up_at_each_step(digits, z, p, step):
    whole = UpperMeasure([(Decimal(z), Decimal(p))], Decimal(0))
    a = lattice.place(Interval(digits), whole, Fraction(step), Limits(9, 1000, 0, 0))
    for k in range(len(a.masses)):
        x = mp.exp(exact(a.step * (a.low + k)))
        assert of_lattice(a, 9, x) >= curve(whole, x) - TINY


def test_what_is_lost_is_divided_upwards_and_more_than_two_units_of_mass_are_refused():
    a = LatticeMeasure(Fraction(1), 0, [1], 123456789)
    assert exact(lattice.delta(Interval(4), a, Fraction(2), 10)) >= mpf(123456789) / 10**10
    heavy = LatticeMeasure(Fraction(1), 0, [16 * 10**9], 0)
    assert lattice.product(heavy, heavy._replace(masses=[12 * 10**9]), 10).masses == [192 * 10**8]
    with pytest.raises(Rejected, match="too few digits"):
        lattice.product(heavy, heavy, 10)


def test_what_is_trimmed_is_lost_or_put_at_the_first_loss_that_is_kept():
    """No more of it than the limits allow, and the last atom is kept."""
    i, masses = Interval(9), [("1", "0.02"), ("2", "0.03"), ("3", "0.86"), ("4", "0.05"), ("5", "0.04")]
    atoms = [(Decimal(z), Decimal(p)) for z, p in masses]
    for right, left, first, last, raised, lost in (
        (0, 0, 0, 4, 0, 0),
        (3, 1, 0, 4, 0, 0),
        (4, 2, 1, 3, "0.02", "0.04"),
        (8, 4, 1, 3, "0.02", "0.04"),
        (9, 5, 2, 2, "0.05", "0.09"),
        (100, 100, 0, 0, 0, "0.98"),
        (0, 100, 4, 4, "0.96", 0),
    ):
        (z, p), *rest = atoms[first : last + 1]
        found = lattice.trimmed(i, UpperMeasure(atoms, Decimal("0.5")), Limits(2, 16, right, left))
        kept = [(z, p + Decimal(raised)), *rest]
        assert found == UpperMeasure(kept, Decimal("0.5") + Decimal(lost))


def test_a_tail_is_moved_up_to_the_last_node_and_no_further():
    a = LatticeMeasure(Fraction(1), -1, [1, 2], 4)
    assert lattice.shortened(a, 0, 10) == LatticeMeasure(Fraction(1), 0, [3], 4)
    assert lattice.shortened(a, 10, 10) == LatticeMeasure(Fraction(1), -1, [1], 6)
    assert lattice.shortened(a, 1, 0) == a
    assert lattice.coarser(Interval(20), LatticeMeasure(Fraction(1), -2, [1, 0, 3], 4)) == LatticeMeasure(
        2, -1, [1, 3], 4
    )


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


LINE, INTEGERS = np.linspace(-12, 12, 24001), np.arange(-90.0, 91)
NORMAL, QUARTER = Releases(Fraction(9, 4), ()), Fraction(1, 4)


def drawn(units, by):
    """Where so many units move noise, each with the probability ¼, and how probably."""
    return {by * j: math.comb(units, j) * 0.25**j * 0.75 ** (units - j) for j in range(units + 1)}


#: of noise: its density, on a line or the integers, and where it is moved with a unit and without it
NOISES = [
    (NORMAL, "normal", LINE, {1.5: 1}, {0: 1}),
    (one("laplace", Fraction(3, 2)), "laplace", LINE, {1.5: 1}, {0: 1}),
    (one("geometric", Fraction(2), 3), "geometric", INTEGERS, {3: 1}, {0: 1}),
    (one("discrete-gaussian", Fraction(2), 3), "wide", INTEGERS, {3: 1}, {0: 1}),
    (one("replaced", QUARTER, on=NORMAL), "normal", LINE, drawn(1, 1.5), drawn(1, -1.5)),
    (one("replaced", QUARTER, on=one("laplace", Fraction(3, 2))), "laplace", LINE, drawn(1, 1.5), drawn(1, -1.5)),
    (one("replaced", QUARTER, on=one("geometric", Fraction(2), 3)), "geometric", INTEGERS, drawn(1, 3), drawn(1, -3)),
    (one("replaced", QUARTER, on=one("response", Fraction(1, 2), 2)), "geometric", INTEGERS, drawn(1, 1), drawn(1, -1)),
    *((one("sampled-group", QUARTER, a, b, on=NORMAL), "normal", LINE, drawn(a, 1.5), drawn(b, -1.5))
      for a, b in ((1, 1), (2, 0), (3, 1))),
]  # fmt: skip
DENSITIES = {
    "normal": lambda x: np.exp(-(x**2) / 2),
    "wide": lambda x: np.exp(-(x**2) / 8),
    "laplace": lambda x: np.exp(-abs(x)),
    "geometric": lambda x: np.exp(-abs(x) / 2),
}


@looped("noise", [noise for noise in NOISES if noise[1] != "normal"])
@looped("turned", [False, True])
def test_noise_is_below_its_measure_and_near(noise, turned):
    below_and_near(*noise, turned)


@looped("noise", [noise for noise in NOISES if noise[1] == "normal"])
@looped("turned", [False, True])
def test_normal_noise_is_below_its_measure_and_near(noise, turned):
    below_and_near(*noise, turned)


def below_and_near(on, name, grid, there, back, turned):
    """By sums over the integers, or the trapezoid rule; at few digits it is below all the same."""
    density = DENSITIES[name]
    p, q = (
        sum(c * density(grid - by) for by, c in each.items()) / density(grid).sum() for each in (there, back)
    )
    p, q = (q, p) if turned else (p, q)
    for digits in (4, 20):
        i = Interval(digits)
        measure = methods.sampled(i, on, "1/6" if grid is LINE else "0", digits, back=turned)
        odds, masses = np.array(measure.atoms, float).T
        for x in (0.1, 0.3, 0.7, 1, 1.5, 4):
            found = float(measure.lost) + (np.maximum(1 - x / odds, 0) * masses).sum()
            more = found - np.maximum(p - x * q, 0).sum()
            assert more >= (-1e-6 if grid is LINE else -1e-14)
            assert more <= (1e-3 if grid is LINE else 1e-9) or digits == 4


def test_the_mean_over_the_units_that_are_drawn_is_enclosed():
    i, rate, values = Interval(20), Fraction(1, 3), [Fraction(k**3 + 1, 7) for k in range(5)]
    for units in range(5):
        truth = Fraction(0)
        for inside in itertools.product((False, True), repeat=units):
            truth += math.prod(rate if each else 1 - rate for each in inside) * values[sum(inside)]
        low, high = map(Fraction, replaced.drawn(i, rate, [i.of(value) for value in values[: units + 1]]))
        assert low <= truth <= high <= low + Fraction(1, 10**17)


RDP = tuple((order, order / 8) for order in (Fraction(2), Fraction(9, 2), Fraction(5)))


def gaussian_delta(x):
    """Noise of μ = ½, of which D_α = α/8."""
    return mp.ncdf(mpf(1) / 4 - 2 * mp.log(x)) - x * mp.ncdf(-mpf(1) / 4 - 2 * mp.log(x))


def divergences(orders):
    """Canonne, Kamath & Steinke 2020."""
    return lambda x: min(mp.exp((a - 1) * a / 8) * x ** (1 - a) * (1 - 1 / a) ** (a - 1) / a for a in orders)


def two_losses(t, x):
    """The law of losses t and t − 1, under which both laws have the sum 1."""
    p = (mp.e - mp.exp(t)) / (mp.e - 1)
    return max(0, p - x * p * mp.exp(-t)) + max(0, 1 - p - x * (1 - p) * mp.exp(1 - t))


UNEQUAL = [Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 5), Fraction(4, 5)]


def on_a_quarter(x):
    """One of four units is drawn, and one is replaced (Balle, Barthe & Gaboardi 2018)."""
    return max(cost(p, q)(4 * x - 3) for p, q in (UNEQUAL, UNEQUAL[::-1])) / 4


CURVES = [
    (one("zcdp", Fraction(1, 8)), gaussian_delta, divergences([1 + mpf(2) ** (mpf(k) / 8) for k in range(80)])),
    (one("rdp", RDP), gaussian_delta, divergences([exact(order) for order, _ in RDP])),
    (one("range", Fraction(1)), *[lambda x: max(two_losses(t, x) for t in [mpf(k) / 32 for k in range(1, 32)])] * 2),
    (one("without-replacement", QUARTER, on=one("table", *map(tuple, UNEQUAL))), *[on_a_quarter] * 2),
]  # fmt: skip


@looped("known", CURVES[1:])
def test_what_only_a_curve_is_known_of_is_above_a_mechanism_and_below_the_curve(known):
    above_and_below(*known)


def test_zcdp_is_above_a_mechanism_and_below_its_divergences():
    above_and_below(*CURVES[0])


def above_and_below(on, least, most):
    [(release, _)] = on.others
    inside = "0" if release.on else None
    for digits in (4, 20):
        i = Interval(digits)
        measure = methods.measure_of(i, release, Fraction(1, 8), inside, digits, back=False)
        for k in range(-12, 13, 2):
            x = mp.exp(mpf(k) / 8)
            low, high = (
                min(mpf(1), d(x)) if x >= 1 else 1 - x + x * min(mpf(1), d(1 / x)) for d in (least, most)
            )
            assert low - TINY <= curve(measure, x)
            assert curve(measure, x) <= high * 1.001 + 1e-18 or digits == 4


def test_a_failure_and_the_rest_are_rounded_up():
    for digits, delta, epsilon in itertools.product((2, 3), range(1, 40, 3), (0, 1, 7)):
        i, failure, rest_at = Interval(digits), Fraction(delta, 41), Fraction(epsilon, 3)
        found = pairs.approximate(i, Fraction(0), rest_at, failure)
        rest = (
            pairs.response(i, Fraction(0), rest_at, 2)
            if epsilon
            else UpperMeasure([(Decimal(1), Decimal(1))], Decimal(0))
        )
        for x in (mpf(0), *AT[::4]):
            exactly = exact(failure) + (1 - exact(failure)) * curve(rest, x)
            assert curve(found, x) >= exactly - TINY


def test_masses_of_a_lattice_become_atoms_at_its_nodes():
    for low in (-3, 0, 2):
        a = LatticeMeasure(Fraction(1, 3), low, [5, 0, 7, 11], 13)
        for digits in (3, 20):
            found = lattice.as_measure(Interval(digits), a, 2)
            above(lambda x, found=found: curve(found, x), lambda x, a=a: of_lattice(a, 2, x))
        assert [float(z) for z, _ in found.atoms] == pytest.approx(
            [math.exp((low + k) / 3) for k in (0, 2, 3)]
        )


def test_heights_left_of_loss_0_are_not_rounded_down():
    """Of equal laws 1 − x, and of others 1 − x(1 − C), at few digits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(upper, "of_curve", lambda *given: given[-1])
        for digits, step in itertools.product((2, 3), range(1, 30)):
            i = Interval(digits)
            for height in (Decimal(part) / 97 for part in range(0, 97, 8)):
                left = upper.both_signs(i, Fraction(step, 10), Fraction(step, 10), lambda _, c=height: c)[0]
                assert exact(left) >= 1 - mp.exp(-mpf(step) / 10) * (1 - exact(height))


@looped("on", [one("geometric", Fraction(2), 3), one("discrete-gaussian", Fraction(2), 3)])
def test_noise_on_the_integers_is_below_its_measure_by_runs_of_them(on):
    """Runs cost no less than their integers, and no more at x than those do at xe⁻³, the spacing left of it."""
    [(release, _)] = on.others
    i = Interval(20)
    fine, runs = (pairs.one_release(i, *release[:2], Fraction(spacing), back=False) for spacing in (0, 3))
    assert 2 < len(runs.atoms) < len(fine.atoms)
    for x in AT[::6]:
        assert (
            curve(fine, x) - mpf(10) ** -15 <= curve(runs, x) <= curve(fine, x / mp.exp(3)) + mpf(10) ** -15
        )


@looped(("head", "digits"), [(1, 40), (2, 40), (7, 40), (30, 3)])
def test_the_square_of_a_long_root_is_bounded_and_nearly_so(head, digits):
    """Beyond the head by an integral, which exceeds the sum by less than its summand falls in all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "HEAD", head)
        patch.setattr(streams, "DIGITS", digits)
        for rounds in range(1, 20):
            squares = [Fraction(math.comb(2 * k, k), 4**k) ** 2 for k in range(rounds)]
            rest = [1 / (mp.pi * (k + mpf(1) / 4)) for k in range(head - 1, rounds)]
            most = exact(sum(squares[:head])) + mp.fsum(rest[1:]) + max(0, rest[0] - rest[-1] if rest else 0)
            assert exact(sum(squares)) <= exact(streams.root_square(rounds)) <= most + mpf(10) ** (3 - digits)


@looped("square", [Fraction(1, 100), Fraction(9, 4), Fraction(50)])
def test_normal_noise_is_within_reach_but_for_less_than_the_last_digit(square):
    for digits in (5, 30, 77):
        deviations = exact(pairs.reach(Interval(digits), square)) / mp.sqrt(exact(square))
        assert mp.exp(-(deviations**2) / 2) < mpf(10) ** -digits
        assert 0 < deviations - math.isqrt(5 * digits) - 1 < mpf(10) ** -25


def test_no_more_participations_count_than_fit_into_the_rounds():
    given = {"rounds": 8, "separation": 3, "participations": 10}
    assert streams.ftrl_square(given) == streams.tree_square(8, 3, 3)
    falling = {"mechanism": "toeplitz", "coefficients": ["1", "1/2"]}
    three = streams.ftrl_square({**given, **falling, "participations": 3})
    assert streams.ftrl_square({**given, **falling}) == three
    for wrong in ({"coefficients": ["1"]}, {"mechanism": "toeplitz"}):
        with pytest.raises(Rejected, match="coefficients belong to toeplitz"):
            streams.ftrl_square({**given, **wrong})


def test_a_release_of_no_known_kind_has_no_measure():
    with pytest.raises(Rejected, match="no measure is known"):
        pairs.one_release(Interval(9), "unheard", (), Fraction(1), back=False)


@looped("digits", [4, 9])
def test_the_curve_of_zcdp_is_rounded_up(digits):
    """At each node, at the order that is taken there (Canonne, Kamath & Steinke 2020, Proposition 12)."""
    rho, step = Fraction(1, 3), Fraction(1, 4)
    found = upper.zcdp(Interval(digits), step, rho)
    for node in range(1, 9):
        order = upper.best_order(rho, node * step)
        a, t = exact(order), exact(node * step)
        least = mp.exp((a - 1) * (a * exact(rho) - t)) * (1 - 1 / a) ** a / (a - 1)
        assert curve(found, mp.exp(t)) >= least - TINY, node


@looped("sigma", [Fraction(1, 3), Fraction(5), Fraction(40)])
def test_noise_on_the_integers_is_listed_but_for_less_than_the_last_digit(sigma):
    for digits in (5, 30, 77):
        tails, reach = pairs._gaussian_tails(Interval(digits), sigma)
        assert len(tails) == reach + 2
        assert tails[-1][1] < Decimal(10) ** -digits


@looped(
    ("low", "high"), [(0, 0), (-1, 1), (Fraction(-5, 3), Fraction(7, 3)), (Fraction(1, 9), Fraction(1, 8))]
)
def test_nodes_are_from_at_most_the_low_end_to_at_least_the_high_one(low, high):
    for spacing in (Fraction(1, 7), Fraction(1, 2), Fraction(3)):
        found = [*pairs.nodes(low, high, spacing)]
        assert low - spacing < found[0] <= low
        assert high <= found[-1] < high + spacing
        assert {b - a for a, b in itertools.pairwise(found)} <= {spacing}


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


def test_coefficients_below_minus_a_thousand_million_are_refused():
    given = {"rounds": 2, "parts": 1}
    assert streams.banded_columns(given | {"coefficients": [str(-(10**9))]}) == [(Fraction(10**18), 1)] * 2
    with pytest.raises(Rejected):
        streams.banded_columns(given | {"coefficients": [str(-(10**9) - 1)]})
