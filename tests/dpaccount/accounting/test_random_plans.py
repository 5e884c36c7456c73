"""Random plans over the whole event language: what must hold between the costs of two of them.

An upper end may never lie below the lower end of what costs no more. Every law takes a plan and something
drawn at random, and yields pairs (what may cost less, what may cost more) of enclosures.
"""

import random
from dataclasses import fields, replace
from fractions import Fraction

import pytest

from dpaccount.accounting.accountant import Accountant
from dpaccount.numerics.closed import gaussian, renyi
from dpaccount.numerics.intervals import ball
from dpaccount.plan import events as ev
from dpaccount.plan.events import Plan, Relation
from tests.depth import deep, parts
from tests.dpaccount.pairs.test_stand_ins import MAKERS, ROUNDING, enumerated, product, relation_of, stand_ins

GAP = "10"  #: narrow where that is cheap; every enclosure must hold
#: Kinds whose lattices or transforms are dear.
SAMPLE = "poisson_subsampled/"
CHEAP = [
    *(
        "approximate",
        "discrete_laplace",
        "gaussian",
        "gdp",
        "laplace",
        "matrix_factorisation",
        "permute_and_flip",
    ),
    *(
        "pure",
        "randomized_response",
        "tree",
        "zcdp",
        "rdp",
        "discrete_gaussian",
        "exponential",
        "bounded_range",
    ),
    *(SAMPLE + kind for kind in ("pure", "approximate", "discrete_laplace", "exponential", "bounded_range")),
    *("sampled_without_replacement/pure", "sampled_without_replacement/approximate", "sequence"),
]
DEAR = ("rdp", "poisson_subsampled", "sampled_without_replacement")
LESS = {  #: parameters that lower the cost where they are multiplied
    **{"sigma": Fraction(3, 2), "scale": Fraction(3, 2), "epsilon": Fraction(2, 3), "eta": Fraction(2, 3)},
    **{"rho": Fraction(2, 3), "mu": Fraction(2, 3), "delta": Fraction(1, 2), "rate": Fraction(1, 2)},
    "population": 2,
}


def plan_of(rng, labels, most=3):
    """Return a relation and one to `most` events that it allows."""
    while True:
        chosen = [rng.choice(labels) for _ in range(rng.randint(1, most))]
        relation = relation_of(*(name for label in chosen for name in label.split("/")))
        if relation is None:
            continue
        events = tuple(replace(MAKERS[label](rng), count=rng.choice([1, 1, 2])) for label in chosen)
        if all(ev.allowed(part.name, relation) for event in events for part in ev.walk(event)):
            return relation, events


def another(rng, labels, relation):
    """Return one more event that the relation allows; often a slight one that is only bounded above."""
    if rng.random() < 0.5:
        return rng.choice([ev.Exponential(epsilon="1e-6"), ev.BoundedRange(eta="1e-6")])
    while True:
        _, (event,) = plan_of(rng, labels, 1)
        if all(ev.allowed(part.name, relation) for part in ev.walk(event)):
            return event


class Question:
    """ε at a δ, or δ at an ε."""

    def __init__(self, rng):
        self.delta = rng.choice([None, None, "1e-6", "0.01", "0.6"])
        self.at = rng.choice(["0.1", "0.55", "0.65", "1.1"])

    def ask(self, relation, events, group=1):
        both = Accountant(Plan(relation, tuple(events)), group)
        return both.epsilon(self.delta, GAP) if self.delta else both.delta(self.at, GAP)


def adding(rng, labels, relation, events, ask):
    if rng.random() < 0.5:  # samples of few losses, which may cost more when a unit is added
        of = ev.Pure(epsilon=rng.choice(["0.5", "1.5", "2"]))
        events = (ev.PoissonSubsampled(rate=rng.choice(["0.3", "0.8", "0.9"]), of=of, count=2),)
        relation = Relation.ADD_REMOVE
    yield ask(relation, events), ask(relation, (*events, another(rng, labels, relation)))


def counting(rng, labels, relation, events, ask):
    first = events[0]
    yield ask(relation, events), ask(relation, (replace(first, count=first.count + 1), *events[1:]))


def a_part(rng, labels, relation, events, ask):
    whole = ask(relation, events)
    for event in events:
        yield ask(relation, (event,)), whole


def milder(event):
    """Return the event with less of what costs, None where nothing of it can be lowered."""
    keys = [item.name for item in fields(event) if item.name in LESS]
    if isinstance(event, ev.Rdp):
        return ev.Rdp(points=tuple((a, t * Fraction(2, 3)) for a, t in event.points), count=event.count)
    if isinstance(event, ev.Sequence):
        return replace(event, of=event.of[1:])
    return replace(event, **{key: getattr(event, key) * LESS[key] for key in keys})


def less_noise(rng, labels, relation, events, ask):
    yield ask(relation, (milder(events[0]), *events[1:])), ask(relation, events)


def reordering(rng, labels, relation, events, ask):
    a, b = ask(relation, events), ask(relation, rng.sample(events, len(events)))
    yield from ((a, b), (b, a))


def splitting(rng, labels, relation, events, ask):
    first = events[0]
    apart = [replace(first, count=1)] * first.count
    a, b = ask(relation, events), ask(relation, (*apart, *events[1:]))
    yield from ((a, b), (b, a))


def merging(rng, labels, relation, events, ask):
    if any(event.name in ("tree", "matrix_factorisation") for event in events):
        return
    a, b = ask(relation, events), ask(relation, (ev.Sequence(of=events),))
    yield from ((a, b), (b, a))


def grouping(rng, labels, relation, events, ask):
    if labels is CHEAP and any(part.name in DEAR for event in events for part in ev.walk(event)):
        return  # a chain of neighbours takes some thirty evaluations
    one = ask(relation, events)
    assert ask(relation, events, 1) == one
    yield one, ask(relation, events, rng.choice([2, 3, 7]))


def covering(rng, labels, relation, events, ask):
    """Events on fewer units cost no more than on all, and no less than alone."""
    if any(event.name in ("tree", "matrix_factorisation") for event in events):
        return
    placed = [replace(event, cover=(5 * i + 1, 5 * i + 7)) for i, event in enumerate(events)]
    apart = ask(relation, placed)
    yield apart, ask(relation, events)
    for event in events:
        yield ask(relation, (event,)), apart


def sampling(rng, labels, relation, events, ask):
    kinds = {part.name for event in events for part in ev.walk(event)}
    if kinds & {"tree", "matrix_factorisation", "randomized_response", "sampled_without_replacement"}:
        return
    whole = ev.Sequence(of=events)
    rate = rng.choice(["0.1", "0.7"])
    yield (
        ask(Relation.ADD_REMOVE, (ev.PoissonSubsampled(rate=rate, of=whole),)),
        ask(Relation.ADD_REMOVE, (whole,)),
    )


def both_relations(rng, labels, relation, events, ask):
    """Without samples both count alike; a whole sample is the plan under its own relation."""
    if all(ev.allowed(part.name, r) for r in Relation for event in events for part in ev.walk(event)):
        assert ask(Relation.ADD_REMOVE, events) == ask(Relation.REPLACE_ONE, events)
        yield from ()


def scalars(rng, labels, relation, events, ask):
    """The cost in one number of another theory bounds ε(δ), at δ = 0 too."""
    whole = Accountant(Plan(relation, events))
    pure, rho, mu2 = whole.pure(), whole.zcdp(), whole.gdp()
    target = Fraction(1, 1000)
    if pure is not None:
        assert whole.epsilon(0, GAP).upper <= pure * (1 + Fraction(1, 10**30))
    least = whole.epsilon(target, GAP).lower or 0
    if rho is not None:
        assert least <= renyi.epsilon(lambda order: ball(order * rho), target)
    if mu2 is not None:
        assert least <= gaussian.epsilon(target, (mu2, mu2), Fraction(1, 10**9))[1]
    yield from ()


LAWS = [
    *(adding, counting, a_part, less_noise, reordering, splitting, merging, grouping, covering, sampling),
    *(both_relations, scalars),
]


#: How many plans of quick kinds, and of all; a chain, and several samples in one, may take minutes.
PLANS = {
    both_relations: (1000, 100),
    covering: (90, 23),
    grouping: (100, 0),
    merging: (100, 7),
    sampling: (100, 0),
    scalars: (100, 90),
}


def holds(law, seed, labels):
    rng = random.Random(f"{law.__name__} {seed}")
    relation, events = plan_of(rng, labels)
    question = Question(rng)
    for less, more in law(rng, labels, relation, events, question.ask):
        assert less.lower is None or less.lower <= more.upper, (seed, relation, events, vars(question))


@deep
@parts(8)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_laws_of_random_plans(law, depth):
    quick, dear = PLANS.get(law, (50, 23))
    plans = [(number, CHEAP) for number in range(quick)] + [
        (number, sorted(MAKERS)) for number in range(dear)
    ]
    for number, labels in depth.some(plans, 8):  # of all kinds the same ones, as a plan may take a minute
        holds(law, depth.seed(1000 + number) if labels is CHEAP else 1000 + number, labels)


# ------------------------------------------------------------------ at the mass of failures


@deep
def test_a_slight_upper_bound_beside_a_sample_that_fails():
    """At the δ that the failures use up ε is the sum of the finite losses, whatever else is released."""
    sample = ev.PoissonSubsampled(rate="0.1", of=ev.Approximate(epsilon="0.1", delta="1e-8"))
    alone = Accountant(Plan(Relation.ADD_REMOVE, (sample,))).epsilon("1e-9")
    whole = Accountant(Plan(Relation.ADD_REMOVE, (sample, ev.Exponential(epsilon="1e-6"))))
    both = whole.epsilon("1e-9")
    assert whole.delta(both.upper, GAP).upper <= Fraction(1, 10**9)
    assert alone.lower <= both.upper <= alone.upper + Fraction(1, 10**6) + Fraction(1, 10**14)


def failing_plan(rng):
    """Return a relation, releases that fail among others of finite losses, on samples or not, and their mass."""
    epsilon, delta = rng.choice(["0.1", "1"]), Fraction(rng.choice(["1e-3", "0.05"]))
    failing = ev.Approximate(epsilon=epsilon, delta=delta)
    slight = rng.choice([ev.Exponential(epsilon="1e-6"), ev.BoundedRange(eta="0.1"), ev.Pure(epsilon="0.5")])
    of = rng.choice([failing, ev.Sequence(of=(failing, slight))])
    relation, count = rng.choice(list(Relation)), rng.choice([1, 2])
    if relation is Relation.ADD_REMOVE:
        rate = Fraction(rng.choice([1, 5, 8]), 10)
        sample = ev.PoissonSubsampled(rate=rate, of=of, count=count)
    else:
        rate = Fraction(rng.choice([1, 4]), 5)
        sample = ev.SampledWithoutReplacement(size=int(rate * 5), population=5, of=of, count=count)
    own = rng.choice([(), (failing,)])
    mass = 1 - (1 - rate * delta) ** count * (1 - delta) ** len(own)
    return relation, (sample, *own, rng.choice([slight, ev.Exponential(epsilon="1e-6")])), mass


def finite_at_the_mass(seed):
    """All losses but failures are finite, so ε at their mass is; by enumeration it is not too little."""
    rng = random.Random(seed)
    relation, events, mass = failing_plan(rng)
    upper = Accountant(Plan(relation, events)).epsilon(mass, GAP).upper
    assert upper < 10, (seed, events)
    pairs = [()]
    for event in events:
        pairs = [(*known, made) for known in pairs for made in stand_ins(event)]
    for known in pairs:
        pair = known[0]
        for made in known[1:]:
            pair = product(pair, made)
        assert max(enumerated(pair, float(upper))) <= float(mass) * (1 + 1e-9) + ROUNDING, (seed, events)


@deep
def test_what_is_left_beside_failures_is_finite(depth):
    for number in depth.some(range(60), 3):
        finite_at_the_mass(depth.seed(number))
