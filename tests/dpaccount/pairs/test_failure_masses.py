"""ε at a δ that equals the mass at an infinite loss, in each direction, against all outcomes of small plans.

At such a δ everything hangs on which losses are finite: what fails inside a Poisson sample does not fail where
the unit is added, since the sample may have left it out.  The masses are exact fractions.
"""

import json
import math
import random
from contextlib import suppress
from fractions import Fraction
from itertools import product as combinations

import pytest
from mpmath import mp, mpf

from dpaccount.accounting.accountant import Accountant
from dpaccount.documents import parse_json
from dpaccount.plan import events as ev
from dpaccount.plan.events import Plan, Relation
from dpaccount.plan.plan_file import read_plan
from tests.depth import deep, parts
from tests.dpaccount.checker import enumeration

from .test_stand_ins import ROUNDING, enumerated, exact, product, stand_ins

GAP = "1e-2"
ONE = 1 + Fraction(1, 10**9)

#: Pairs that are lost in one direction only, the other only, and both by different masses.
LOST = [
    {"p": ["1/2", "1/2", 0], "q": ["999/2000", "999/2000", "1/1000"]},
    {"p": ["0.69", "0.3", "0.01"], "q": ["0.4", "0.6", 0]},
    {"p": ["0.6", "0.39", "0.01", 0], "q": ["0.4", "0.58", 0, "0.02"]},
]


def given(rng):
    return ev.DominatingPair(**rng.choice(LOST))


def failing(rng):
    return ev.Approximate(epsilon=rng.choice([0, "0.1", "1"]), delta=rng.choice(["1e-4", "1e-3", "0.05"]))


KNOWN = [  #: releases whose losses are finite and known
    *(ev.Pure(epsilon="0.1"), ev.Pure(epsilon="0.7"), ev.DiscreteLaplace(scale=2)),
    ev.RandomizedResponse(epsilon="0.5", k=3),
]
BOUNDED = [  #: of which there are upper bounds only; on samples each answer takes seconds
    *(ev.Exponential(epsilon="0.1"), ev.BoundedRange(eta="1e-6"), ev.BoundedRange(eta="0.4")),
    ev.PermuteAndFlip(epsilon="0.3"),
]


def inner(rng, finite):
    """Return what is inside a sample: releases that fail, releases that do not, samples of them."""
    parts = [failing(rng), *(rng.choice(finite) for _ in range(rng.choice([0])))]
    of = parts[0] if len(parts) == 1 else ev.Sequence(of=tuple(parts))
    if rng.random() < 0.2:
        of = ev.PoissonSubsampled(rate="1/4", of=of)
    return of if rng.random() < 0.8 else rng.choice(finite)


def plan_at(seed, finite=(*KNOWN, *BOUNDED)):
    """Return the plan of a seed, of releases that fail and of `finite` ones."""
    return plan_of(random.Random(seed), finite)


def plan_of(rng, finite):
    """Return a plan of one or two samples and up to two releases next to them."""
    relation = rng.choice([Relation.ADD_REMOVE, Relation.ADD_REMOVE, Relation.REPLACE_ONE])
    events = []
    for _ in range(rng.choice([1, 1, 2])):
        of, count = inner(rng, finite), rng.choice([1, 1, 2])
        if relation is Relation.ADD_REMOVE:
            events.append(ev.PoissonSubsampled(rate=rng.choice(["0.1", "1/2", "0.8"]), of=of, count=count))
        elif all(part.name != "poisson_subsampled" for part in ev.walk(of)):
            events.append(ev.SampledWithoutReplacement(size=rng.choice([1, 4]), population=5, of=of))
    others = [given, given, failing, lambda rng: rng.choice(finite)]
    events += [rng.choice(others)(rng) for _ in range(rng.choice([1, 1, 2]))]
    rng.shuffle(events)
    allowed = all(ev.allowed(part.name, relation) for event in events for part in ev.walk(event))
    small = sum(event.count * sum(1 for _ in ev.walk(event)) for event in events) <= 7
    return Plan(relation, tuple(events)) if allowed and small else plan_of(rng, finite)


def lost(event):
    """Return the mass at an infinite loss with the unit removed, and added: exact, or an upper bound."""
    match event:
        case ev.Approximate():
            once = (event.delta, event.delta)
        case ev.DominatingPair():
            pairs = list(zip(event.p, event.q, strict=True))
            once = sum(p for p, q in pairs if not q), sum(q for p, q in pairs if not p)
        case ev.Sequence():
            once = together(lost(part) for part in event.of)
        case ev.PoissonSubsampled():
            once = (event.rate * lost(event.of)[0], 0)
        case ev.SampledWithoutReplacement():
            once = tuple(Fraction(event.size, event.population) * mass for mass in lost(event.of))
        case _:
            once = (0, 0)
    return tuple(1 - (1 - mass) ** event.count for mass in once)


def together(masses):
    whole = (Fraction(1), Fraction(1))
    for each in masses:
        whole = tuple(kept * (1 - mass) for kept, mass in zip(whole, each, strict=True))
    return tuple(1 - kept for kept in whole)


def pairs_of(events):
    for choice in combinations(*(stand_ins(event) for event in events)):
        whole = choice[0]
        for more in choice[1:]:
            whole = product(whole, more)
        yield whole


def judged(plan):
    """Ask at every mass, and next to it; compare with all outcomes, and the answers with one another."""
    masses = {mass for mass in together(map(lost, plan.events)) if 0 < mass < 1}
    masses |= {mass for event in plan.events for mass in lost(event) if 0 < mass < 1}
    known = all(map(exact, plan.events))
    whole, pairs = Accountant(plan), list(pairs_of(plan.events))
    answers = []
    for delta in sorted({near for mass in masses for near in (mass / ONE, mass, mass * ONE)}):
        epsilon = whole.epsilon(delta, GAP)
        answers.append(epsilon)
        if epsilon.upper < 500:
            truth = max(max(enumerated(pair, float(epsilon.upper))) for pair in pairs)
            assert truth <= float(delta) * (1 + 1e-9) + ROUNDING, (plan, delta, epsilon)
        if known and epsilon.lower not in (None, 0) and epsilon.lower < 500:
            below = float(epsilon.lower) * (1 - 1e-9) - 1e-9
            truth = max(max(enumerated(pair, below)) for pair in pairs)
            assert truth >= float(delta) * (1 - 1e-9) - ROUNDING, (plan, delta, epsilon)
        if math.isfinite(epsilon.upper):
            back = whole.delta(epsilon.upper, GAP)
            assert back.lower is None or back.lower <= delta, (plan, delta, epsilon, back)
    for less, more in zip(answers[1:], answers, strict=False):  # a larger δ costs no more
        assert less.lower is None or less.lower <= more.upper, (plan, less, more)
    return len(answers)


SLIGHT = ev.Sequence(of=(ev.Approximate(epsilon="0.1", delta="1e-4"), ev.Exponential(epsilon="0.1")))


@pytest.mark.parametrize(
    ("of", "delta", "least"),
    [
        (ev.Approximate(epsilon=1, delta="1e-4"), "1/1000", "0.6921"),
        pytest.param(SLIGHT, "0.00101", "0.58", marks=deep),
    ],
)
def test_a_finite_loss_of_an_added_unit_is_kept(of, delta, least):
    """Ln 2 of a sample of rate 1/2 next to a pair that is lost when the unit is added (by hand)."""
    sample = ev.PoissonSubsampled(rate="1/2", of=of)
    plan = Plan(Relation.ADD_REMOVE, (ev.DominatingPair(**LOST[0]), sample))
    assert Accountant(plan).epsilon(delta).upper >= Fraction(least)


INSIDE = [
    *(*KNOWN, ev.Approximate(epsilon="0.7", delta="1e-3")),
    *(pytest.param(event, marks=deep) for event in BOUNDED),
]


@deep
@pytest.mark.parametrize("event", INSIDE, ids=lambda event: event.name)
def test_every_kind_inside_a_sample_next_to_a_lost_pair(event):
    """Alone and after a failure."""
    after = ev.Sequence(of=(event, ev.Approximate(epsilon="0.1", delta="1e-3")))
    for pair, of in combinations(LOST[: 1 if event in BOUNDED else None], (event, after)):
        if ev.allowed(of.name, Relation.ADD_REMOVE) and event.name != "randomized_response":
            sample = ev.PoissonSubsampled(rate="1/2", of=of)
            judged(Plan("add-remove", (ev.DominatingPair(**pair), sample)))


# ---- δ of 0 and 1 inside, and least ε to 60 digits


def least(pair, mass):
    """The least ε ≥ 0 at which a listed pair's δ is at most a mass, which may be that of its infinite losses."""
    free = enumeration.number(mass) - sum((p for p, q in pair if not q), mpf(0))
    free = mpf(0) if abs(free) < mpf(10) ** -50 else free
    if free < 0:
        return mp.inf
    found, above, below = mpf(1), mpf(0), mpf(0)
    finite = sorted(((p / q, p, q) for p, q in pair if p and q), reverse=True)
    for (odds, p, q), after in zip(finite, [each[0] for each in finite[1:]] + [mpf(0)], strict=True):
        above, below = above + p, below + q
        found = max(found, odds) if not free else found
        if not free or (above - free) / below >= after:
            return mp.log(max(found, (above - free) / below if free else found))
    return mpf(0)


def surely(found, rng):
    """Set some δ inside an event to 0 or 1, and those outside of samples to less."""
    inside = found["event"] == "poisson_subsampled"
    for part in enumerated_parts(found):
        if part["event"] == "approximate":
            part["delta"] = rng.choice(["0", "1", "1", "0.25"] if inside else ["0", "0.25"])
    return found


def enumerated_parts(event):
    of = event.get("of", [])
    return [
        event,
        *(each for part in (of if isinstance(of, list) else [of]) for each in enumerated_parts(part)),
    ]


def surely_shown(seed):
    """A plan of one or two samples of which some show everything, and up to two other releases."""
    rng, kinds = random.Random(seed), set()
    while not {"approximate", "poisson_subsampled"} <= kinds:
        events = [surely(enumeration.event(rng, "add-remove"), rng) for _ in range(rng.choice([1, 2, 3]))]
        kinds = {part["event"] for each in events for part in enumerated_parts(each)}
        kinds -= {"approximate"} if "random_allocation" in kinds else set()
    return events


def ends_at_masses(events):
    """Compare both ends at each direction's mass of infinite losses, and just below and above it."""
    pair = [mpf(1)], [mpf(1)]
    for each in events:
        pair = enumeration.times(pair, each, "add-remove")
    document = {"schema": "dpaccount/events/1", "relation": "add-remove", "events": events}
    plan = read_plan(parse_json(json.dumps(document).encode(), "plan.json"))
    ways = [list(zip(*way, strict=True)) for way in (pair, pair[::-1])]
    asked = 0
    for mass in {x for x in together(map(lost, plan.events)) if 0 < x < 1}:
        for delta in (mass * (1 - Fraction(1, 10**20)), mass, mass + Fraction(1, 10**30), mass / 2):
            truth = max(least(way, delta) for way in ways)
            found = Accountant(plan).epsilon(delta, GAP)
            low, high = (
                mp.inf if x == math.inf else enumeration.number(x) for x in (found.lower, found.upper)
            )
            assert low <= truth * (1 + mpf(10) ** -25), (events, delta)
            assert high + mpf(10) ** -50 >= truth * (1 - mpf(10) ** -25), (events, delta)
            asked += 1
    return asked


SURE = {"event": "approximate", "epsilon": 3, "delta": 1}
PURE = {"event": "pure", "epsilon": 1}


@pytest.mark.parametrize(
    "of",
    [
        SURE,
        {"event": "sequence", "of": [{**SURE, "delta": "0.99", "epsilon": "0.5"}, SURE]},
        {"event": "sequence", "of": [{"event": "poisson_subsampled", "rate": "1/4", "of": SURE}, PURE]},
        {**SURE, "delta": 0},
    ],
    ids=["sure", "two", "nested", "never"],
)
def test_what_surely_shows_everything_has_no_finite_loss(of):
    """At δ the rate: .797 beside ε = 1 and rate 1/3; once, twice, and beside a sample."""
    sample = {"event": "poisson_subsampled", "rate": "1/3", "of": of}
    asked = 0
    for other in ([], [PURE], [{**sample, "of": PURE}], [{"event": "dominating_pair", **LOST[1]}], [sample]):
        asked += ends_at_masses([sample, *other])
    assert asked > 15 or of.get("delta") == 0


@parts(2)
def test_ends_at_the_masses_of_random_plans_with_sure_parts(depth):
    seeds, asked = depth.some(range(120), 8) if depth.whole else range(8), 0
    for seed in seeds:
        with suppress(enumeration.TooManyOutcomesError):
            asked += ends_at_masses(surely_shown(seed))
    assert asked > 2 * len(seeds)


@deep
@parts(30)
def test_answers_at_the_masses_of_random_plans(depth):
    """Some thousand questions, other ones each time; of parts of every tenth plan only upper bounds are known."""
    for number in depth.some(range(240), 8):
        judged(plan_at(depth.seed(number), KNOWN if number % 10 else (*KNOWN, *BOUNDED)))
