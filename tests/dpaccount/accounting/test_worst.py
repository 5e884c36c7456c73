"""The worst unit, found among classes by cheap bounds, is the worst of all units taken one by one."""

import math
import random
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.accounting import account, worst_unit
from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.methods.answer import Answer
from dpaccount.exact import Enclosure
from dpaccount.pairs.of_events import composition_of
from dpaccount.plan import events as ev
from dpaccount.plan.cover_partition import unit_classes
from dpaccount.plan.events import Plan, Relation
from tests.depth import deep, examples

UNITS = 12
KINDS = [
    ev.Gaussian(sigma=4),
    ev.Gaussian(sigma=7),
    ev.Laplace(scale=5),
    ev.Laplace(scale=9),
    ev.Pure(epsilon="0.2"),
    ev.Approximate(epsilon="0.1", delta="1e-8"),
    ev.Zcdp(rho="0.01"),
    ev.Tree(rounds=5, sigma=9, start=3),
]


@st.composite
def plans(draw):
    events = []
    for kind in draw(st.lists(st.sampled_from(KINDS), max_size=7)):
        if isinstance(kind, ev.Tree) or draw(st.booleans()):
            first = draw(st.integers(1, UNITS))
            cover = (first, draw(st.integers(first, UNITS)))
            placed = kind if isinstance(kind, ev.Tree) else replace(kind, cover=cover)
            events.append(replace(placed, count=draw(st.integers(1, 3))))
        else:
            events.append(kind)
    return Plan(Relation.REPLACE_ONE, tuple(events))


def one_by_one(plan, evaluate):
    """Return the enclosure of every unit, from the events that cover it."""

    def depth(event, unit):
        if isinstance(event, ev.Tree):
            return next((n for n, (a, b) in event.classes() if a <= unit <= b), 0)
        return 1 if event.cover is None or event.cover[0] <= unit <= event.cover[1] else 0

    def bare(event):
        if isinstance(event, ev.Tree):
            return ev.Gaussian(sigma=event.sigma, sensitivity=event.sensitivity, count=event.count)
        return event.bare()

    found, known = {}, {}
    for unit in range(1, UNITS + 1):
        total = composition_of(
            (bare(event), depth(event, unit)) for event in plan.events if depth(event, unit)
        )
        if total not in known:
            known[total] = evaluate(total).bounds
        found[unit] = known[total]
    return found


def is_worst(found, every):
    lowers = [bounds.lower for bounds in every.values() if bounds.lower is not None]
    uppers = [bounds.upper for bounds in every.values()]
    if math.inf in uppers:
        assert found.bounds.upper == math.inf
        return
    slack = Fraction(1, 10**4) * max(uppers)  # where only upper bounds exist, they depend on the method
    assert found.bounds.upper <= max(uppers) + slack
    assert found.bounds.upper >= max(lowers, default=0)
    if found.bounds.lower is not None:
        assert found.bounds.lower >= max(lowers) - slack
        assert found.bounds.lower <= max(uppers)
    if found.unit is not None:
        assert every[found.unit].upper >= max(uppers) - slack


@deep
@pytest.mark.parametrize("delta", ["1e-5", "1e-9", "0.01"])
@examples(10, 10)
@given(plans())
def test_epsilon_is_that_of_the_worst_unit(delta, plan):
    target, gap = Fraction(delta), Fraction(1, 10**6)
    every = one_by_one(plan, lambda total: account.epsilon(total, target, gap))
    is_worst(Accountant(plan).worst_epsilon(delta), every)


@deep
@pytest.mark.parametrize("epsilon", ["0.2", "1", "3"])
@examples(8, 8)
@given(plans())
def test_delta_is_that_of_the_worst_unit(epsilon, plan):
    at, gap = Fraction(epsilon), Fraction(1, 10**6)
    every = one_by_one(plan, lambda total: account.delta(total, at, gap))
    is_worst(Accountant(plan).worst_delta(epsilon), every)


def test_the_worst_unit_depends_on_delta():
    """A Laplace pair costs less than a Gaussian one at a small δ and more at a large one: no scalar knows."""
    plan = Plan(Relation.REPLACE_ONE, (ev.Gaussian(sigma=3, cover=(1, 5)), ev.Laplace(scale=1, cover=(6, 9))))
    both = Accountant(plan)
    assert both.worst_epsilon("1e-2").unit == 6
    assert both.worst_epsilon("1e-10").unit == 1


def mixed(count, units, width, seed=1):
    rng = random.Random(seed)
    events = []
    for _ in range(count):
        first = rng.randint(1, units)
        noise = Fraction(rng.randint(200, 400), 10)
        kind = ev.Gaussian(sigma=noise) if rng.random() < 0.5 else ev.Laplace(scale=noise)
        events.append(kind.covering(first, first + rng.randint(1, width)))
    return Plan(Relation.REPLACE_ONE, tuple(events))


@deep
def test_few_of_many_classes_are_evaluated(monkeypatch):
    """A thousand different mixtures: cheap bounds leave a handful to the exact methods, and lose nothing."""
    plan = mixed(2000, 20_000, 200)
    tight = account.epsilon
    seen = []

    def counted(total, *rest):
        seen.append(total)
        return tight(total, *rest)

    monkeypatch.setattr(account, "epsilon", counted)
    both = Accountant(plan)
    assert len(both.classes) > 900
    found = both.worst_epsilon("1e-6").bounds
    assert len(seen) < 100
    assert found.upper - found.lower < Fraction(1, 10**9)
    for unit in random.Random(2).sample(both.classes, 20):
        assert (
            tight(composition_of(unit.items), Fraction(1, 10**6), Fraction(1, 10**6)).bounds.lower
            <= found.upper
        )


def test_without_time_the_cheap_bound_stands_in(monkeypatch):
    """Where an exact method cannot finish, the Rényi bound still cuts the enclosure from above."""
    total = composition_of([(ev.Gaussian(sigma=10), 1), (ev.Laplace(scale=10), 3)])
    rough = Answer(Enclosure(Fraction(0), math.inf), "none")
    unit = unit_classes([ev.Gaussian(sigma=10), ev.Laplace(scale=10, count=3)])[0]
    other = unit_classes([ev.Laplace(scale=5)])[0]
    found = worst_unit.worst([unit, other], lambda _: rough, worst_unit.epsilon_scalar(Fraction(1, 10**6)))
    exact = account.epsilon(total, Fraction(1, 10**6), Fraction(1, 10**6)).bounds
    assert exact.lower <= found.bounds.upper < exact.upper * Fraction(12, 10)


def tree_as_charges(levels):
    node = ev.Gaussian(sigma=20)
    return [
        node.covering(k * 2**j + 1, (k + 1) * 2**j)
        for j in range(levels + 1)
        for k in range(2 ** (levels - j))
    ]


@deep
@pytest.mark.parametrize("levels", [0, 5, 14])
def test_a_tree_written_out_node_by_node_is_one_class(levels):
    explicit = Accountant(Plan(Relation.REPLACE_ONE, tuple(tree_as_charges(levels))))
    assert len(explicit.classes) == 1
    event = Accountant(Plan(Relation.REPLACE_ONE, (ev.Tree(rounds=2**levels, sigma=20),)))
    assert explicit.epsilon("1e-6") == event.epsilon("1e-6")


@deep
def test_a_million_charges_over_a_million_units():
    events = tree_as_charges(19)
    assert len(events) == 2**20 - 1
    plan = Plan(Relation.REPLACE_ONE, tuple(events))
    found = Accountant(plan).worst_epsilon("1e-6")
    assert found.unit == 1
    path = Plan(Relation.REPLACE_ONE, (ev.Gaussian(sigma=20, count=20),))
    assert found.bounds == Accountant(path).worst_epsilon("1e-6").bounds


@deep
@pytest.mark.parametrize(
    "event",
    [
        ev.Gaussian(sigma=10**5, count=10**9),
        ev.Laplace(scale=10**5, count=10**9),
        ev.Pure(epsilon="1e-5", count=10**9),
        ev.DiscreteLaplace(scale=10**5, count=10**9),
        ev.PoissonSubsampled(rate="1e-4", of=ev.Gaussian(sigma=2), count=10**9),
        ev.Zcdp(rho="1e-10", count=10**9),
    ],
)
def test_counts_of_a_billion_are_ordinary(event):
    sampled = isinstance(event, ev.PoissonSubsampled)
    relation = Relation.ADD_REMOVE if sampled else Relation.REPLACE_ONE
    found = Accountant(Plan(relation, (event,))).epsilon("1e-6")
    assert found.upper < 20
    if found.lower is not None:
        assert found.upper - found.lower < Fraction(1, 10**6) * max(Fraction(1), found.upper)
