"""Every event, and every pair of events, against mechanisms small enough to enumerate, both directions.

A stand-in is a finite pair of laws that the event allows: the unit there, the unit gone. What two of them
cost together is summed over all outcomes, once with the unit removed and once with it added; no upper end may
lie below the larger of the two. Where a stand-in is the event's own law, no lower end may lie above it.
"""

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpaccount.accounting.accountant import Accountant
from dpaccount.numerics.closed.toeplitz import group_squares
from dpaccount.pairs.of_events import composition_of, group_compositions
from dpaccount.plan import events as ev
from dpaccount.plan.events import Plan, Relation
from tests.depth import deep, parts
from tests.looped import looped

ROUNDING = 1e-10  #: of sums in doubles
CELLS = 24  #: that continuous noise is rounded to: a post-processing of it
GAP = "10"  #: the first lattice will do: every enclosure must hold
KINDS = sorted(ev.VOCABULARY)
SAMPLES = (
    "poisson_subsampled",
    "poisson_examples",
    "poisson_replaced",
    "sampled_without_replacement",
    "random_allocation",
)
ALONE = (
    *SAMPLES,
    "truncated_poisson",
    "truncated_replaced",
    "banded_poisson",
    "balls_in_bins",
    "tree",
    "matrix_factorisation",
    "sequence",
    "repeated",
)
INNER = [kind for kind in KINDS if kind not in ALONE]
OWN = (
    "pure",
    "approximate",
    "randomized_response",
    "discrete_laplace",
    "sequence",
    *SAMPLES,
    "dominating_pair",
)


def two(p, q):
    return np.array([p, 1 - p]), np.array([q, 1 - q])


def response(epsilon, k=2):
    top, rest = math.exp(epsilon), [1.0] * (k - 2)
    p, q = np.array([top, 1.0, *rest]), np.array([1.0, top, *rest])
    return p / p.sum(), q / q.sum()


def cells(cdf, shift, reach):
    """Round noise moved by `shift` to cells."""
    edges = [0.0, *(cdf(x) for x in np.linspace(-reach, reach + shift, CELLS - 1)), 1.0]
    moved = [0.0, *(cdf(x - shift) for x in np.linspace(-reach, reach + shift, CELLS - 1)), 1.0]
    return np.diff(moved), np.diff(edges)


def normal(mu):
    return cells(_normal, mu, 4)


def laplace_cdf(x):
    return math.exp(x) / 2 if x < 0 else 1 - math.exp(-x) / 2


def lattice(weight, shift, reach):
    x = np.arange(-reach, reach + shift + 1)
    p, q = (np.array([weight(abs(at - moved)) for at in x]) for moved in (shift, 0))
    return p / p.sum(), q / q.sum()


def two_sided(r, shift):
    """Two-sided geometric noise of ratio r; all outcomes beyond either end have one loss."""
    q = np.array([1.0, *((1 - r) * r**x for x in range(1, shift)), r**shift]) / (1 + r)
    return q[::-1], q


def ranged(eta):
    """Two losses η apart, where they may lie: what dominates η-bounded range."""
    for share in (0.25, 0.5, 0.75):
        p = (math.exp(eta) - math.exp(share * eta)) / math.expm1(eta)
        yield two(p, p * math.exp(-share * eta))


def shuffled_answers(event):
    """The number of ones among binary responses, where all others are zeros, or half of them."""
    truth = 1 / (1 + math.exp(-event.epsilon))
    others = event.population - 1
    for ones in {0, others // 2}:
        rest = np.array([1.0])
        for k in range(others):
            chance = truth if k < ones else 1 - truth
            rest = np.convolve(rest, [1 - chance, chance])
        yield tuple(np.convolve(rest, [1 - chance, chance]) for chance in (truth, 1 - truth))


def flips(epsilon):
    """Two candidates whose scores draw near, meet, and part again."""
    for behind in (0.25, 0.5, 0.75):
        yield two(laplace_cdf((1 - behind) * epsilon), laplace_cdf(-behind * epsilon))


def cut(event, others, *units):
    """Truncated sums in one dimension of `others`, each the same, and a unit of either value, or none."""
    q, mu, batch = float(event.rate), float(event.of.sensitivity / event.of.sigma), event.batch
    ends = np.linspace(-4 - event.population * mu, 4 + event.population * mu, CELLS - 1)
    laws = []
    for unit in units:
        cdf = np.zeros(len(ends))
        for j in range(event.population):
            chance = math.comb(event.population - 1, j) * q**j * (1 - q) ** (event.population - 1 - j)
            drawn = 0.0 if unit is None else q * min(1, batch / (j + 1))
            at, moved = min(j, batch) * others, min(j, batch - 1) * others + (unit or 0)
            for weight, mean in ((1 - drawn, at), (drawn, moved)):
                cdf += chance * weight * np.array([_normal(x - mu * mean) for x in ends])
        laws.append(np.diff([0.0, *cdf, 1.0]))
    return tuple(laws)


def product(a, b):
    return tuple(np.multiply.outer(x, y).ravel() for x, y in zip(a, b, strict=True))


def stand_ins(event, times=1):
    """Return finite pairs of laws (unit there, unit gone) that an event allows."""
    name = event.name
    if name == "sequence":
        parts = [stand_ins(part) for part in event.of]
        once = [
            tuple(np.array([1.0]) for _ in range(2)) if not choice else _all(choice)
            for choice in itertools.product(*parts)
        ]
    elif name == "poisson_subsampled":
        q = float(event.rate)
        once = [((1 - q) * gone + q * there, gone) for there, gone in stand_ins(event.of)]
    elif name == "poisson_examples":
        once = [examples_of(event)]
    elif name == "poisson_replaced":
        q = float(event.rate)
        once = [
            ((1 - q) * gone + q * up, (1 - q) * gone + q * down)
            for up, gone, down in _TRIPLES[event.of.name](event.of)
        ]
    elif name == "sampled_without_replacement":
        q = event.size / event.population
        once = [((1 - q) * gone + q * there, gone) for there, gone in stand_ins(event.of)]
    elif name == "repeated":
        once = [best(event, pair) for pair in stand_ins(event.of)]
    elif name == "random_allocation":
        once = [allocated(pair, event.steps, event.times) for pair in stand_ins(event.of)]
    else:
        once = list(_SINGLE[name](event))
    return [_all([pair] * (event.count * times)) for pair in once]


def best(event, pair):
    """The best of a geometric number of runs, the outcomes in the order in which they stand: E x^K by hand."""
    gamma = float(event.gamma)
    below = [np.concatenate([[0.0], np.cumsum(law)]) for law in pair]
    return tuple(np.diff(gamma * x / (1 - (1 - gamma) * x)) for x in below)


def banded(event):
    """Each round that may hold the unit: noise moved by its column, or not."""
    q, turns = float(event.rate), event.squares()[0]
    laws = [normal(math.sqrt(square)) for square, times in turns.items() for _ in range(times)]
    return _all([((1 - q) * gone + q * there, gone) for there, gone in laws])


def examples_of(event):
    """Up to so many examples of a unit, each drawn by itself, which all move noise the same way."""
    mu, q, many = math.sqrt(event.of.mu_squared()), float(event.rate), event.examples
    laws = [
        np.diff([0.0, *(_normal(x - k * mu) for x in np.linspace(-4, 4 + many * mu, CELLS)), 1.0])
        for k in range(many + 1)
    ]
    there = sum(math.comb(many, k) * q**k * (1 - q) ** (many - k) * law for k, law in enumerate(laws))
    return there, laws[0]


def mixed(event):
    """Noise moved by each length with its chance."""
    moves = [
        (float(w), float(move / event.sigma)) for w, move in zip(event.weights, event.moves, strict=True)
    ]
    reach = 4 + max(move for _, move in moves)
    laws = [
        (w, np.diff([0.0, *(_normal(x - move) for x in np.linspace(-4, reach, CELLS)), 1.0]))
        for w, move in [*moves, (0.0, 0.0)]
    ]
    return sum(w * law for w, law in laws), laws[-1][1]


def _normal(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def allocated(pair, steps, times):
    """Each set of `times` steps holds the unit with equal probability."""
    sets = [set(each) for each in itertools.combinations(range(steps), times)]
    there = sum(_all([(pair[i not in held],) * 2 for i in range(steps)])[0] for held in sets) / len(sets)
    return there, _all([pair] * steps)[1]


def binned(event):
    """Each bin holds the unit with equal probability: noise moved by all its rounds, of the identity."""
    rounds = [len(range(j, event.rounds, event.bins)) for j in range(event.bins)]
    laws = [normal(math.sqrt(n) / float(event.sigma)) for n in rounds]
    held = [_all([(law[i != j],) * 2 for i, law in enumerate(laws)])[0] for j in range(event.bins)]
    return sum(held) / event.bins, _all(laws)[1]


def _all(pairs):
    whole = (np.array([1.0]), np.array([1.0]))
    for pair in pairs:
        whole = product(whole, pair)
    return whole


def _tree_mu(event):
    return math.sqrt(event.rounds.bit_length()) * float(event.sensitivity / event.sigma)


_SINGLE = {
    "gaussian": lambda e: [normal(float(e.sensitivity / e.sigma))],
    "gdp": lambda e: [normal(float(e.mu))],
    "zcdp": lambda e: [product(normal(math.sqrt(2 * float(e.rho))), response(float(e.xi)))],
    "tree": lambda e: [normal(_tree_mu(e))],
    "dp_ftrl": lambda e: [normal(math.sqrt(float(e.movement()[0])))],
    "matrix_factorisation": lambda e: [
        normal(math.sqrt(float(group_squares(e.rounds, 1)[0])) / float(e.sigma))
    ],
    "banded_poisson": lambda e: [banded(e)],
    "balls_in_bins": lambda e: [binned(e)],
    "gaussian_mixture": lambda e: [mixed(e)],
    "truncated_poisson": lambda e: [cut(e, others, -1, None) for others in (-1, 0, 1)],
    "truncated_replaced": lambda e: [cut(e, others, -1, 1) for others in (-1, 0, 1)],
    "laplace": lambda e: [cells(laplace_cdf, float(e.sensitivity / e.scale), 6)],
    "discrete_laplace": lambda e: [two_sided(math.exp(-1 / e.scale), int(e.sensitivity))],
    "discrete_gaussian": lambda e: [lattice(lambda x: math.exp(-x * x / (2 * e.sigma**2)), 1, 9)],
    "randomized_response": lambda e: [response(float(e.epsilon), e.k)],
    "pure": lambda e: [response(float(e.epsilon))],
    "approximate": lambda e: [_failing(response(float(e.epsilon)), float(e.delta))],
    "shuffled": lambda e: shuffled_answers(e),
    "shuffled_response": lambda e: shuffled_answers(e),
    "exponential": lambda e: ranged(float(e.epsilon)),
    "bounded_range": lambda e: ranged(float(e.eta)),
    "permute_and_flip": lambda e: flips(float(e.epsilon)),
    "dominating_pair": lambda e: [tuple(np.array([float(x) for x in law]) for law in (e.p, e.q))],
    "rdp": lambda e: [response(min(math.sqrt(2 * t / a) for a, t in e.points))],
}


def _moved(cdf, shift, reach):
    """Return noise moved by `shift`, not at all, and by −shift, rounded to the same cells."""
    ends = np.linspace(-reach - shift, reach + shift, CELLS - 1)
    return tuple(np.diff([0.0, *(cdf(x - at) for x in ends), 1.0]) for at in (shift, 0.0, -shift))


def _two_sided(r, shift):
    """Return two-sided geometric noise of ratio r, likewise; it is cut off far beyond its mass."""
    x = np.arange(-shift - 200, shift + 201)
    laws = [r ** np.abs(x - at) for at in (shift, 0, -shift)]
    return tuple(
        np.array([law[x <= -shift].sum(), *law[abs(x) < shift], law[x >= shift].sum()]) / law.sum()
        for law in laws
    )


def _flipped_triple(epsilon):
    """Return permute-and-flip with two candidates whose scores draw near and meet, a row up or down."""
    return [
        tuple(
            np.array([laplace_cdf((at - behind) * epsilon), 1 - laplace_cdf((at - behind) * epsilon)])
            for at in (1, 0, -1)
        )
        for behind in (0.0, 0.25, 0.5)
    ]


#: The noise with a row that moves it up, without it, and with one that moves it down.
_TRIPLES = {
    "gaussian": lambda e: [_moved(_normal, float(e.sensitivity / e.sigma), 4)],
    "gdp": lambda e: [_moved(_normal, float(e.mu), 4)],
    "laplace": lambda e: [_moved(laplace_cdf, float(e.sensitivity / e.scale), 6)],
    "discrete_laplace": lambda e: [_two_sided(math.exp(-1 / e.scale), int(e.sensitivity))],
    "pure": lambda e: [_two_sided(math.exp(-e.epsilon), 1)] if e.epsilon > 1e-3 else [(np.ones(1),) * 3],
    "permute_and_flip": lambda e: _flipped_triple(float(e.epsilon)),
}


def _failing(pair, delta):
    p, q = ((1 - delta) * x for x in pair)
    return np.array([*p, delta, 0.0]), np.array([*q, 0.0, delta])


def enumerated(pair, epsilon):
    """Return δ(ε) with the unit removed, and added."""
    p, q = pair
    x = math.exp(epsilon)
    return float(np.maximum(p - x * q, 0).sum()), float(np.maximum(q - x * p, 0).sum())


GIVEN = [
    {"p": ["3/4", "1/4"], "q": ["1/2", "1/2"]},
    {"p": ["0.5", "0.3", "0.2"], "q": ["0.2", "0.3", "0.5"]},
    {"p": ["0.6", "0.39", "0.01", 0], "q": ["0.4", "0.59", 0, "0.01"]},
]


def drawn(rng, name):
    """Return an event of a kind with parameters drawn from a few that are cheap to enumerate."""
    epsilon = rng.choice(["1e-6", "0.1", "0.5", "1", "2"])
    simple = {
        "gaussian": lambda: ev.Gaussian(sigma=rng.choice([1, 3])),
        "discrete_gaussian": lambda: ev.DiscreteGaussian(
            sigma=rng.choice([1, 2]), dimension=rng.choice([1, 2])
        ),
        "laplace": lambda: ev.Laplace(scale=rng.choice([1, 4])),
        "discrete_laplace": lambda: ev.DiscreteLaplace(
            scale=rng.choice([1, 2]), sensitivity=rng.choice([1, 2])
        ),
        "randomized_response": lambda: ev.RandomizedResponse(epsilon=epsilon, k=rng.choice([2, 4])),
        "shuffled": lambda: ev.Shuffled(epsilon=epsilon, population=rng.choice([1, 2, 5])),
        "shuffled_response": lambda: ev.ShuffledResponse(epsilon=epsilon, population=rng.choice([1, 2, 5])),
        "exponential": lambda: ev.Exponential(epsilon=epsilon),
        "bounded_range": lambda: ev.BoundedRange(eta=epsilon),
        "permute_and_flip": lambda: ev.PermuteAndFlip(epsilon=epsilon),
        "pure": lambda: ev.Pure(epsilon=epsilon),
        "approximate": lambda: ev.Approximate(epsilon=epsilon, delta=rng.choice(["1e-3", "0.05"])),
        "dominating_pair": lambda: ev.DominatingPair(**rng.choice(GIVEN)),
        "zcdp": lambda: ev.Zcdp(rho=rng.choice(["1e-6", "0.1"]), xi=rng.choice([0, "0.2"])),
        "gdp": lambda: ev.Gdp(mu="0.5"),
        "gaussian_mixture": lambda: ev.GaussianMixture(
            sigma=rng.choice([1, 3]), moves=[0, 2, rng.choice([1, 4])], weights=["0.5", "0.2", "0.3"]
        ),
        **{
            name: lambda name=name: ev.VOCABULARY[name](
                rate=rng.choice(["0.5", "0.8", "1"]),
                population=3,
                batch=rng.choice([1, 2, 3]),
                of=ev.Gaussian(sigma=rng.choice([1, 3])),
            )
            for name in ("truncated_poisson", "truncated_replaced")
        },
        "rdp": lambda: ev.Rdp(points=((Fraction(2), Fraction(1, 10)), (Fraction(8), Fraction(1, 2)))),
        "matrix_factorisation": lambda: ev.MatrixFactorisation(rounds=5, sigma=4),
        "tree": lambda: ev.Tree(rounds=6, sigma=4),
        "dp_ftrl": lambda: ev.DpFtrl(rounds=6, sigma=4, participations=2, separation=3),
        "balls_in_bins": lambda: ev.BallsInBins(rounds=rng.choice([2, 3]), sigma=2, bins=rng.choice([1, 2])),
        "banded_poisson": lambda: ev.BandedPoisson(
            rounds=3, sigma=2, rate=rng.choice(["0.1", "0.5", "1"]), parts=rng.choice([1, 2, 4])
        ),
    }
    if name in simple:
        return simple[name]()
    if name == "repeated":
        return ev.Repeated(
            of=ev.Sequence(of=(drawn(rng, rng.choice(["pure", "approximate", "gaussian"])),)), gamma="0.2"
        )
    if name == "sequence":
        return ev.Sequence(of=(ev.Pure(epsilon="0.5"), ev.DiscreteLaplace(scale=2)))
    of = drawn(rng, rng.choice([kind for kind in INNER if _fits(name, kind)]))
    return _sample(rng, name, of)


def _fits(sample, kind):
    if sample == "random_allocation":
        return kind in ("gaussian", "gdp", "pure")
    if sample == "poisson_examples":
        return kind in ("gaussian", "gdp")
    if sample == "poisson_replaced":
        return kind in _TRIPLES
    return kind != "dominating_pair" and ev.allowed(kind, RELATION_OF[sample])


RELATION_OF = {
    "poisson_subsampled": Relation.ADD_REMOVE,
    "random_allocation": Relation.ADD_REMOVE,
    "sampled_without_replacement": Relation.REPLACE_ONE,
}
POISSON = {"poisson_subsampled": ev.PoissonSubsampled, "poisson_replaced": ev.PoissonReplaced}


def _sample(rng, name, of):
    if name == "random_allocation":
        return ev.RandomAllocation(steps=rng.choice([1, 2]), of=of)
    if name == "poisson_examples":
        return ev.PoissonExamples(rate=rng.choice(["0.1", "0.5", "1"]), examples=rng.choice([1, 2, 4]), of=of)
    if name in POISSON:
        return POISSON[name](rate=rng.choice(["0.1", "0.5", "0.8"]), of=of, count=rng.choice([1, 2]))
    size = rng.choice([1, 4])
    if isinstance(of, ev.Shuffled):
        of = replace(of, population=min(of.population, size))
    return ev.SampledWithoutReplacement(size=size, population=5, of=of)


def exact(event):
    """Return whether the only stand-in of an event is its accounted pair."""
    inside = list(ev.walk(event))
    bounded = any(part.name == "sampled_without_replacement" for part in inside)
    tiny = any(part.name == "pure" and part.epsilon < 1e-3 for part in inside)  # no triple was made
    return not (bounded or tiny) and all(part.name in OWN for part in inside)


def worst_point(pairs):
    """Return (ε, δ) where the directions differ most in favour of adding, at a δ that matters."""
    points = []
    for pair in pairs:
        with np.errstate(divide="ignore", invalid="ignore"):
            losses = np.log(pair[0] / pair[1])
        top = float(np.max(losses[np.isfinite(losses)], initial=0.1))
        for share in (0.1, 0.3, 0.5, 0.7):
            removed, added = enumerated(pair, share * top)
            if max(removed, added) > 1e-6:
                points.append((added / (removed + 1e-12), share * top))
    return max(points)[1] if points else 0.1


def check(relation, *events):
    """Compare δ(ε) of a plan with all its stand-ins."""
    pairs = [_all(choice) for choice in itertools.product(*map(stand_ins, events))]
    at = Fraction(round(worst_point(pairs), 6))
    delta = Accountant(Plan(relation, events)).delta(at, GAP)
    truth = max(max(enumerated(pair, float(at))) for pair in pairs)
    assert truth <= float(delta.upper) * (1 + 1e-9) + ROUNDING, (events, float(at), truth)
    if all(map(exact, events)):
        assert float(delta.lower) <= truth * (1 + 1e-9) + ROUNDING, (events, float(at), truth)
    return delta


def relation_of(*names):
    fits = [r for r in Relation if all(ev.allowed(name, r) for name in names)]
    return fits[0] if fits else None


def with_samples():
    """Yield (label, maker) for every kind, and for every kind on either sample."""
    for name in KINDS:
        yield name, lambda rng, name=name: drawn(rng, name)
    for sample in SAMPLES:
        for name in INNER:
            if _fits(sample, name):
                yield f"{sample}/{name}", lambda rng, s=sample, n=name: _sample(rng, s, drawn(rng, n))


MAKERS = dict(with_samples())
PAIRS = [
    (a, b)
    for a, b in itertools.combinations_with_replacement(sorted(MAKERS), 2)
    if relation_of(*a.split("/"), *b.split("/"))
]


def test_every_event_has_a_stand_in():
    assert set(_SINGLE) | {"sequence", "repeated", *SAMPLES} == set(ev.VOCABULARY)
    assert {name for pair in PAIRS for label in pair for name in label.split("/")} == set(ev.VOCABULARY)


def checked(pairs, seed):
    rng = random.Random(seed)
    for a, b in pairs:
        events = tuple(MAKERS[label](rng) for label in (a, b))
        relation = relation_of(*(part.name for event in events for part in ev.walk(event)))
        check(relation, *events)


#: Samples of few losses, and what has upper bounds only, quick to account for.
FEW = [f"poisson_subsampled/{kind}" for kind in ("pure", "discrete_laplace")]
SEED = 6  #: of parameters at which adding a unit costs more in two plans of eight
UPPER = ["exponential", "bounded_range", "poisson_subsampled/exponential", "poisson_subsampled/bounded_range"]
QUICK = [pair for pair in PAIRS if not any(sample in label for label in pair for sample in SAMPLES)]
SAMPLED = [pair for pair in PAIRS if pair not in {*QUICK}]


@deep
def test_samples_beside_upper_bounds():
    checked(itertools.product(FEW, UPPER), SEED)


@deep
@parts(24)
def test_pairs_of_events(depth):
    """Each time all pairs without samples and a quarter of those with some, at other parameters."""
    checked(depth.some(QUICK, 1), depth.seed(101))
    checked(depth.drawn(SAMPLED, 16), depth.seed(100))


@deep
def test_a_sample_of_bounded_range_when_a_unit_is_added():
    """Two losses η apart on a sample, against randomised response: adding the unit costs up to 1.58 times more."""
    for rate, eta, epsilon, at in (("0.1", 4, 2, "1.9"), ("0.5", 4, 4, "3.5"), ("0.5", 1, 1, "0.8")):
        sample = ev.PoissonSubsampled(rate=rate, of=ev.BoundedRange(eta=eta))
        there = [product(response(epsilon), pair) for pair in stand_ins(sample)]
        truth = max(max(enumerated(pair, float(at))) for pair in there)
        delta = Accountant(Plan(Relation.ADD_REMOVE, (sample, ev.Pure(epsilon=epsilon)))).delta(at)
        assert truth <= delta.upper
        assert delta.upper < 1.1 * truth


# ------------------------------------------------------------------ permute-and-flip, by its own masses


def flipped(scores, rate):
    """Return the masses of permute-and-flip: a_i ∫₀¹ Π_{j≠i}(1 − a_j x) dx with a = e^{rate·(s − max s)}."""
    a = np.exp(rate * (np.array(scores) - max(scores)))
    masses = []
    for i in range(len(a)):
        polynomial = np.poly1d([1.0])
        for j in range(len(a)):
            polynomial = polynomial if j == i else polynomial * np.poly1d([-a[j], 1.0])
        whole = polynomial.integ()
        masses.append(a[i] * (whole(1) - whole(0)))
    return np.array(masses)


@deep
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_permute_and_flip_beside_its_own_masses(epsilon, depth):
    """No scores of up to five candidates exceed the curve; two candidates attain it, point by point."""
    rng = depth.rng(3)
    curve = Accountant(Plan(Relation.REPLACE_ONE, (ev.PermuteAndFlip(epsilon=str(epsilon)),)))
    for at in (0.0, 0.3 * epsilon, 0.8 * epsilon):
        delta, best = curve.delta(Fraction(str(round(at, 6)))), 0.0
        for n in (2, 3, 5):
            for _ in range(15):
                scores = rng.normal(0, 2, n)
                moved = scores + rng.uniform(0, 1, n).round() * rng.choice([0.5, 1.0])
                pair = flipped(scores, epsilon), flipped(moved, epsilon)  # scores move within a range of 1
                best = max(best, *enumerated(pair, at))
        for behind in np.linspace(0, 1, 21):
            pair = flipped([0, behind], epsilon), flipped([1, behind], epsilon)
            best = max(best, *enumerated(pair, at))
        assert best <= delta.upper + ROUNDING
        assert delta.lower <= best * 1.01 + 1e-4
    assert (
        Accountant(Plan(Relation.REPLACE_ONE, (ev.PermuteAndFlip(epsilon=1, count=2),))).delta(1).lower
        is None
    )


# ------------------------------------------------------------------ groups, one by one


def most(value, rounds, k):
    """Return the largest value over all groups of k rounds."""
    return max(value(set(group)) for group in itertools.combinations(range(rounds), min(k, rounds)))


def nodes(rounds):
    for level in range(rounds.bit_length()):
        for start in range(0, (rounds >> level) << level, 1 << level):
            yield set(range(start, start + (1 << level)))


@looped("rounds", range(1, 10))
def test_groups_of_rounds_share_only_common_nodes_and_rows(rounds):
    """All groups of a tree's rounds, and of a factor's columns, tried: Σ (rounds under a node)², |Σ columns|²."""
    c = [Fraction(math.comb(2 * k, k), 4**k) for k in range(rounds)]

    def columns(group):
        return sum(sum(c[n - u] for u in group if u <= n) ** 2 for n in range(rounds))

    for k in (1, 2, 3, 4, 12):
        moves = most(lambda group: sum(len(group & node) ** 2 for node in nodes(rounds)), rounds, k)
        low, high = (Fraction(end) for end in group_squares(rounds, k))
        best = most(columns, rounds, k)
        assert low <= best <= high < low + Fraction(1, 10**30)
        for event, times in ((ev.Tree, moves), (ev.MatrixFactorisation, best)):
            delta = Accountant(Plan(Relation.REPLACE_ONE, (event(rounds=rounds, sigma=5),)), k).delta("0.1")
            root = math.sqrt(times) / 5
            truth = gaussian_delta(root, 0.1)
            assert float(delta.lower) <= truth * (1 + 1e-9)
            assert truth <= float(delta.upper) * (1 + 1e-9)
    assert (
        composition_of([(ev.Tree(rounds=rounds, sigma=5), 1)])
        == group_compositions((ev.Tree(rounds=rounds, sigma=5),), 1)[0]
    )


def gaussian_delta(mu, at):
    return _normal(mu / 2 - at / mu) - math.exp(at) * _normal(-mu / 2 - at / mu)


def test_groups_of_long_streams():
    """Where not every row is summed, the bounds still enclose; for one round they are the sum of squares."""
    from dpaccount.numerics.closed import toeplitz

    whole = group_squares(3000, 5)
    kept, toeplitz.SUMMED = toeplitz.SUMMED, 500
    try:
        low, high = group_squares(3000, 5)
        assert low <= whole[0] <= whole[1] <= high < low * Fraction(101, 100)
        low, high = group_squares(3000, 800)
        assert low < high
    finally:
        toeplitz.SUMMED = kept
    assert low <= group_squares(3000, 800)[0] <= high


@looped("k", [2, 3, 6])
@looped("epsilon", [0.2, 1.0])
def test_a_group_of_pure_releases_is_a_chain(epsilon, k):
    """By k steps of α ↦ min(e^ε α, 1 − e^−ε(1 − α)): δ is attained at a kink, each a preimage of the first."""
    grow, shrink = math.exp(epsilon), math.exp(-epsilon)

    def power(alpha):
        for _ in range(k):
            alpha = min(grow * alpha, 1 - shrink * (1 - alpha))
        return alpha

    kinks, at = [1 / (1 + grow)], 0.4
    for _ in range(2 * k):
        kinks.append(kinks[-1] * shrink)
    truth = max(power(alpha) - math.exp(at) * alpha for alpha in kinks)
    delta = Accountant(Plan(Relation.REPLACE_ONE, (ev.Pure(epsilon=str(epsilon)),)), k).delta(str(at))
    assert float(delta.lower) <= truth * (1 + 1e-12) + ROUNDING
    assert truth <= float(delta.upper) * (1 + 1e-12) + ROUNDING
    assert delta.upper - delta.lower < Fraction(1, 10**12)
