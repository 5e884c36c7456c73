"""Rows that move by a radius: no pair of rows is distinguished better than proved, by enumeration."""

import math
import random
from fractions import Fraction
from itertools import pairwise

import pytest

from dpaccount.errors import RuleError
from dpaccount.proof import (
    REPLACE_ONE,
    Pure,
    assume_event,
    assume_lipschitz,
    centred,
    group,
    k_norm,
    moved,
    within,
)
from dpaccount.relation import bounded_row
from tests.looped import looped

F = Fraction
GRID, WIDE, RATE, REACH = F(1, 4), 2, F(3, 2), F(4)
SLACK = F(35356, 10**5)  # a little above γ√d
POINTS = assume_lipschitz("rows", F(1), SLACK, REACH, "t")


def at(radius, bound=None):
    moves = moved(POINTS, radius)
    bound = F(math.isqrt(math.ceil(moves.conclusion.bound * 10**20)) + 1, 10**10) if bound is None else bound
    return k_norm(moves, RATE, bound, GRID, "rows")


def truncated(point):
    return tuple(math.trunc(x / GRID) for x in point)


def told_apart(left, right):
    """The largest log ratio of the outputs' chances: noise on ℤᵈ has it where one of them is 0 noise."""
    a, b = truncated(left), truncated(right)
    near = {(a[0] + i, a[1] + j) for i in range(-6, 7) for j in range(-6, 7)} | {a, b}
    length = {z: float(RATE * GRID) * (math.dist(z, b) - math.dist(z, a)) for z in near}
    return max(length.values())


def pairs(rng, radius, count):
    for _ in range(count):
        left = [F(rng.randint(-160, 160), 160) + F(rng.randint(-1, 1), 10**6) for _ in range(WIDE)]
        angle, size = rng.random() * 2 * math.pi, rng.choice((F(1), F(99, 100), F(1, 10))) * radius
        step = [F(math.cos(angle)) * (1 - F(1, 10**9)) * size, F(math.sin(angle)) * (1 - F(1, 10**9)) * size]
        yield left, [x + y for x, y in zip(left, step, strict=True)]


@looped("radius", [F(1, 100), F(1, 4), F(1), F(3, 2)])
def test_no_two_rows_on_a_grid_are_told_apart_better_than_proved(radius):
    proved = at(radius).conclusion
    assert proved.relation == bounded_row(radius)
    worst = max(told_apart(*pair) for pair in pairs(random.Random(3), radius, 400))
    assert worst <= proved.curve.epsilon
    if radius == F(1, 100):
        assert worst > float(RATE * radius)  # what holds off the grid does not hold on it


@looped("radius", [F(1, 2), F(7, 5), F(2), F(5)])
def test_a_longer_way_is_paid_step_by_step(radius):
    """A mechanism of one unit costs ⌈r⌉ units at distance r; its own proof at r never costs more."""
    unit = at(F(1)).conclusion.curve.epsilon
    steps = math.ceil(radius)
    far = within(group(at(F(1)), steps) if steps > 1 else at(F(1)), radius)
    assert far.conclusion.curve == Pure(steps * unit)
    assert far.conclusion.relation == bounded_row(radius)
    assert at(radius).conclusion.curve.epsilon <= far.conclusion.curve.epsilon
    worst = max(told_apart(*pair) for pair in pairs(random.Random(4), radius, 200))
    assert worst <= far.conclusion.curve.epsilon
    if steps > 1:
        with pytest.raises(RuleError, match="further than"):
            within(group(at(F(1)), steps) if steps > 2 else at(F(1)), steps + F(1, 10**9))


def test_costs_on_a_grid_follow_the_published_form():
    """ε(r + γ√d)/(1 + γ√d), for γ√d rounded up alike on both sides."""
    for radius in (F(1, 100), F(1), F(3)):
        form = at(F(1), 1 + SLACK).conclusion.curve.epsilon * (radius + SLACK) / (1 + SLACK)
        assert at(radius, radius + SLACK).conclusion.curve.epsilon == form


def test_more_radius_costs_more_and_never_beyond_a_replaced_row():
    costs = [at(F(k, 3)).conclusion.curve.epsilon for k in range(1, 20)]
    assert costs == sorted(costs)
    replaced = at(None, REACH)
    assert replaced.conclusion.relation == REPLACE_ONE
    assert replaced.conclusion.curve.epsilon == RATE * REACH
    assert at(F(1000), REACH).conclusion.curve == replaced.conclusion.curve


def test_steps_never_cost_less_than_the_straight_way():
    """So `within` says nothing of a `Lipschitz` query that is false on rows between which there is no way.

    What is assumed of neighbours alone, an event, is another matter: see the next test.
    """
    rng = random.Random(5)
    for _ in range(300):
        factor, slack, reach, radius = (F(rng.randint(1, 60), rng.randint(1, 20)) for _ in range(4))
        steps, points = rng.randint(2, 9), assume_lipschitz("rows", factor, slack, reach, "t")

        def cost(moves, points=points, factor=factor, slack=slack, reach=reach):
            bound = min(factor * moves + slack, reach)
            return k_norm(moved(points, moves), RATE, bound, GRID, "rows")

        near, straight = cost(radius), cost(steps * radius)
        assert (
            within(group(near, steps), steps * radius).conclusion.curve.epsilon
            >= straight.conclusion.curve.epsilon
        )


@pytest.mark.parametrize(
    ("inside", "stays"),
    [(lambda p: math.dist(p, (0, 0)) <= 4, True), (lambda p: 3 <= math.dist(p, (0, 0)) <= 4, False)],
)
def test_the_steps_of_an_event_need_rows_of_a_convex_set(inside, stays):
    """On a ball every step lands on a row, of a neighbour; on a ring it need not, and `within` would be false."""
    rng, steps, apart = random.Random(6), 4, []
    rows = [p for p in ((rng.uniform(-4, 4), rng.uniform(-4, 4)) for _ in range(300)) if inside(p)]
    for left, right in pairwise(rows):
        way = [
            tuple(a + (b - a) * k / steps for a, b in zip(left, right, strict=True)) for k in range(steps + 1)
        ]
        assert max(math.dist(a, b) for a, b in pairwise(way)) <= math.dist(left, right) / steps * (1 + 1e-9)
        apart.append(all(inside(p) for p in way))
    assert all(apart) is stays
    event = assume_event("shown", F(1), F(1, 10), bounded_row(F(2)), "t", "central")
    with pytest.raises(RuleError):
        within(event, F(8))  # an event is no guarantee, and has no steps to take


def test_rows_less_their_mean_move_by_no_more_than_proved_whatever_the_radius():
    """`centred` of what `assume_lipschitz` says: by brute force over rows truncated to a grid."""
    rng, rows = random.Random(7), 5
    for radius in (F(1, 100), F(1), F(3)):
        fact = centred(moved(POINTS, radius), rows).conclusion
        assert fact.relation == bounded_row(radius)
        assert fact.bound == min(radius + SLACK, REACH) ** 2 * (1 - F(1, rows))
        for left, right in pairs(rng, radius, 200):
            step = [GRID * (b - a) for a, b in zip(truncated(left), truncated(right), strict=True)]
            own = sum((v * (1 - F(1, rows))) ** 2 for v in step)
            others = sum((v / rows) ** 2 for v in step)
            assert own + (rows - 1) * others <= fact.bound
