"""Intervals of a study by hand: as wide as their noise is accepted, narrower on either side is not."""

import math
import random
from fractions import Fraction
from statistics import NormalDist
from types import SimpleNamespace

import pytest

from audits.consistency.releases import (
    ROUNDED,
    STEP,
    checked_lists,
    count_is_wide,
    half_width,
    least_reach,
    mean_ends,
    means_are_wide,
    missed,
    numbers_shown,
    part_per_share,
    variances_are_wide,
)
from audits.consistency.studies import LeastMove
from dpaccount.checker.documents import Rejected
from tests.looped import looped

X = {"kind": "number", "name": "x", "low": 0, "high": 10}


def noise(reach, farthest=None, groups=1):
    return SimpleNamespace(reach=reach, farthest=4 * reach if farthest is None else farthest, groups=groups)


@looped("step", [1.0, 0.25])
@looped("scale", [0.5, 2.0, 7.0])
def test_how_often_laplace_noise_on_a_grid_is_beyond(step, scale):
    mass = [math.exp(-k * step / scale) for k in range(4000)]
    whole = mass[0] + 2 * sum(mass[1:])
    for half in (0.0, 0.9 * step, step, 3.2 * step, 11 * step):
        beyond = 2 * sum(m for k, m in enumerate(mass) if k * step > half)
        assert missed(half, scale, step) == pytest.approx(beyond / whole, rel=1e-9)


@looped("rare", [0.05, 0.001, 1e-15])
def test_the_least_reach_is_the_least(rare):
    for step in (0.0, 1.0, STEP):
        reach = least_reach(3.0, step, rare)
        assert missed(reach, 3.0, step) <= rare < missed(reach - 1e-6 - step, 3.0, step)
    assert least_reach(3.0, 0.0, 0.05) == pytest.approx(3 * 1.959963985)


@looped(
    ("row", "step", "wide"),
    [
        ((100, 90, 110), 1.0, True),
        ((100, 91, 110), 1.0, False),
        ((100, 90, 109), 1.0, False),
        ((100, 0, 110), 1.0, True),
        ((5, 0, 15), 1.0, True),
        ((5, 0, 14), 1.0, False),
        ((0, 0, 0), 1.0, True),
        ((0, 0, 3), 1.0, True),
        ((5, 6, 30), 1.0, False),
        ((5, 0, 4), 1.0, False),
        ((5, -9, 30), 1.0, False),
        ((-1, -1, 30), 1.0, False),
        ((100, 91, 109), 0.0, True),
        ((100, 92, 110), 0.0, False),
        ((100, 90, 108), 0.0, False),
        ((100, 91, 108.9), 0.0, False),
        ((5, 0, 13.5), 0.0, True),
        ((5, 0, 13.4), 0.0, False),
    ],
)
def test_a_count_by_noise_that_is_rarely_beyond_ten(row, step, wide):
    """Gaussian noise (step 0) and its ends are rounded, by a half each."""
    law = SimpleNamespace(step=step, is_rare_beyond=lambda half: half >= 10)
    assert count_is_wide(*row, law) is wide


def test_the_ends_of_a_mean_are_those_of_all_sums_and_sizes():
    dice = random.Random(4)
    for _ in range(200):
        mean, size = dice.uniform(-1, 1), dice.choice([1, 3, 50, 1000])
        wide, off = dice.choice([0, 0.5, 9, 300]), dice.choice([0, 2, 30])
        sums = [mean * size + share * wide for share in (-1, -0.3, 0.6, 1)]
        sizes = [max(size + share * off, 1) for share in (-1, -0.2, 0.7, 1)]
        every = [each / rows for each in sums for rows in sizes]
        low, high = mean_ends(mean, size, wide, off)
        assert low == max(min(every) - ROUNDED, -1)
        assert high == min(max(every) + ROUNDED, 1)


@looped(
    ("row", "wide"),
    [
        ((6, 5.75, 6.25), True),
        ((6, 5.76, 6.25), False),
        ((6, 5.75, 6.24), False),
        ((6, 5.70, 6.25), False),
        ((6, 5.75, 6.30), False),
        ((6, -0.1, 6.25), False),
        ((6, 5.75, 10.1), False),
        ((6, 6.1, 6.25), False),
        ((6, 5.75, 5.9), False),
        ((6, 0, 10), True),
        ((10, 3, 10), True),
        ((0, 0, 4), True),
        ((10, 10, 10), True),
        ((9.9, 9.65, 10), True),
        ((9.9, 9.66, 10), False),
        ((0.1, 0, 0.35), True),
        ((0.1, 0, 0.34), False),
    ],
)
def test_a_mean_of_a_known_number_of_rows(row, wide):
    """Of 100 rows between 0 and 10, whose sum about 5, in units of 5, is known to ±5: means to ±.25."""
    assert means_are_wide([row], (0.0, 10.0), [noise(5.0)], {"rows": 100}) is wide


def ends(mean, size, wide=20.0, off=10.0):
    """Return a mean in [−1, 1] and its ends, as numbers from 0 to 10."""
    low, high = mean_ends(mean, size, wide, off)
    return tuple(5 + 5 * x for x in (mean, low, high))


def test_means_of_groups_of_private_size():
    """Some size within all rows gives both ends; the sizes together are those of all rows, and their noise."""

    def accepted(*rows, wide=20.0, far=30.0):
        return means_are_wide(list(rows), (0.0, 10.0), [noise(wide), noise(10.0, far)], {"rows": 300})

    assert accepted(ends(0.2, 100))
    assert accepted(ends(-0.2, 100), ends(0.6, 200))
    assert accepted(ends(0.2, 330))
    assert not accepted(ends(0.2, 340))
    assert accepted(ends(0.2, 180), ends(0.2, 180))
    assert not accepted(ends(0.2, 182), ends(0.2, 182))
    mean, low, high = ends(0.2, 100)
    for other in ((low + 0.2, high), (low, high - 0.2), (low - 0.2, high), (low, high + 0.2)):
        assert not accepted((mean, *other))
    little = ends(0.2, 100, wide=0.5, off=0.2)  # less noise than a row's number: only wide enough is asked
    law = [noise(0.5), noise(0.2, 1.0)]
    for change, wide in ((0, True), (0.5, True), (-0.001, False)):
        row = (little[0], little[1] - change, little[2] + change)
        assert means_are_wide([row], (0.0, 10.0), law, {"rows": 100}) is wide
    with pytest.raises(Rejected, match="several values"):
        means_are_wide([(1, 1, 1)], (1.0, 1.0), [noise(1.0)], {"rows": 3})


@looped(
    ("row", "wide"),
    [
        ((9, 9 - 1.5625, 9 + 1.5625), True),
        ((9, 9 - 1.55, 9 + 1.5625), False),
        ((9, 9 - 1.5625, 9 + 1.55), False),
        ((24.75, 24.75 - 0.75, 25), True),
        ((24.75, 24.75 - 0.74, 25), False),
        ((24.75, 24.75 - 0.75, 24.99), False),
        ((24.75, 20, 25.1), False),
        ((1, 0, 2.5625), True),
        ((1, 0.1, 2.5625), False),
        ((1, -0.1, 2.5625), False),
        ((0, 0, 0), True),
        ((9, 9.1, 20), False),
        ((9, 1, 8.9), False),
    ],
)
def test_a_variance_is_off_by_its_square_or_its_mean(row, wide):
    """Sums of 100 rows known to ±10: of a variance up to 25, 1/16, or where the square is 1, by a mean ± .1."""
    for law in ([noise(10.0)], [noise(10.5), noise(1.0, 5.0)]):
        assert variances_are_wide([row], (0.0, 10.0), law, {"rows": 100}) is wide
    with pytest.raises(Rejected, match="several values"):
        variances_are_wide([(0, 0, 0)], (1.0, 1.0), [noise(1.0)], {"rows": 3})


@looped(
    ("lists", "size", "what", "fine"),
    [
        ([[1, 2], [0, 1], [3, 4.5]], 2, "sum", True),
        ([[1, 2], [0, 1], [3, 4.5]], 0, "sum", True),
        ([[1, 2], [0, 1], [3, 4.5]], 3, "sum", False),
        ([[1, 2], [0, 1], [3]], 0, "sum", False),
        ([[1], [None], [None]], 1, "sum", False),
        ([[1], [None], [None]], 1, "regression", True),
        ([[1], [None], [2]], 1, "regression", False),
        ([[True], [0], [2]], 1, "sum", False),
        ([["1"], [0], [2]], 1, "sum", False),
        ([[1e300], [0], [2]], 1, "sum", False),
        ([[float("nan")], [0], [2]], 1, "sum", False),
        (["1", [0], [2]], 1, "sum", False),
    ],
)
def test_lists_of_numbers_and_their_ends(lists, size, what, fine):
    if fine:
        assert checked_lists(lists, size, what, "it") == list(zip(*lists, strict=True))
    else:
        with pytest.raises(Rejected, match="other numbers"):
            checked_lists(lists, size, what, "it")


def test_numbers_shown_of_a_draw():
    assert numbers_shown({"what": "variance"}, 6) == 3
    assert numbers_shown({"what": "median"}, 2 * 1364) == 2
    assert numbers_shown({"what": "quantile"}, 1364) == 1
    assert numbers_shown({"what": "sum"}, 6) == 6
    assert numbers_shown({"what": "regression", "on": ["a", "b"]}, 10) == 3


# ------------------------------------------------------------------ shares and accuracies


COUNTS = LeastMove("n/count", 3, Fraction(5), Fraction(10), 5)
ONE_NUMBER = LeastMove("s/sum", 1, Fraction(1), Fraction(4), 0, (Fraction(-1), Fraction(3)))
SUMS = LeastMove("r/moments", 3, Fraction(1), Fraction(2), l1=(Fraction(3, 2), Fraction(3)))
CHOICE = LeastMove("q/choice", 1024, Fraction(4), Fraction(9), 1, None, 2)


@looped(
    ("move", "law", "relation", "amount"),
    [
        (COUNTS, "gaussian", "add-remove", Fraction(5, 4)),
        (COUNTS, "gaussian", "replace-one", Fraction(10, 4)),
        (COUNTS, "laplace", "add-remove", Fraction(5, 2)),
        (COUNTS, "laplace", "replace-one", Fraction(5)),
        (ONE_NUMBER, "gaussian", "replace-one", Fraction(1)),
        (ONE_NUMBER, "laplace", "add-remove", Fraction(3, 2)),
        (ONE_NUMBER, "laplace", "replace-one", Fraction(2)),
        (SUMS, "laplace", "add-remove", Fraction(3, 4)),
        (SUMS, "laplace", "replace-one", Fraction(3, 2)),
        (CHOICE, "laplace", "add-remove", Fraction(1)),
        (CHOICE, "laplace", "replace-one", Fraction(3, 2)),
    ],
)
def test_a_share_is_by_the_amount_that_its_noise_of_scale_two_costs(move, law, relation, amount):
    held = {"law": law, "relation": relation}
    low, high = part_per_share([move, move], [Fraction(2)] * 2, held, Fraction(4), free=False)
    assert low == 2 * amount / 4 * Fraction(999, 1000)
    assert high == 2 * amount / 4 * Fraction(1001, 1000)


def test_shares_of_unlisted_values_and_of_choices_with_gaussian_noise():
    held = {"law": "gaussian", "relation": "add-remove"}
    low, high = part_per_share([COUNTS], [Fraction(2)], held, Fraction(1), free=True)
    assert (low, high) == (
        Fraction(5, 2) * Fraction(999, 1000),
        Fraction(5, 2) * (Fraction(1001, 1000) + Fraction(1, 32)),
    )
    low, high = part_per_share([CHOICE], [Fraction(2)], held, Fraction(1), free=False)
    met = NormalDist().cdf(math.sqrt(low) / 2), NormalDist().cdf(math.sqrt(high) / 2)
    assert met[0] < 1 / (1 + math.exp(-1 / 2)) < met[1] < met[0] + 1e-3  # of a bounded range of 1


@looped(
    ("what", "groups", "sizes", "least"),
    [
        ("count", 1, [6.0], 6.0),
        ("top", 4, [6.0], 6.0),
        ("sum", 1, [6.0], (6.0 + 100 * ROUNDED) * 10),
        ("mean", 1, [6.0], 0.06 * 5),
        ("mean", 2, [6.0], 0.12 * 5),
        ("mean", 2, [6.0, 10.0], 16 * 50 / (50**2 - 10**2) * 5),
        ("mean", 50, [6.0, 2.0], 5.0),
        ("variance", 1, [8.0], 21 / 100 * 25),
        ("variance", 1, [8.0, 10.0], 46 * 100 / (100**2 - 10**2) * 25),
        ("variance", 50, [8.0, 2.0], 12.5),
    ],
)
def test_the_half_width_that_is_stated(what, groups, sizes, least):
    each, held = {"what": what, "column": X}, {"rows": 100}
    laws = [noise(size, groups=groups) for size in sizes]
    assert half_width(each, held, laws) == pytest.approx(least)
    assert half_width(each, {"rows": 900, "persons": 100}, laws) == pytest.approx(
        least + (800 * ROUNDED * 10 if what == "sum" else 0)
    )
    with pytest.raises(Rejected, match="has no accuracy"):
        half_width({"what": "median", "column": X}, held, laws)
