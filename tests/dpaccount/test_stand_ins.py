"""Every event, and every pair of events, beside mechanisms small enough to enumerate, in both directions.

A stand-in is a finite pair of laws that the event allows: the unit there, the unit gone. What two of them
cost together is summed over all outcomes, once with the unit removed and once with it added; no upper end may
lie below the larger of the two. Where a stand-in is the event's own law, no lower end may lie above it.
"""

import itertools
import math
import random
from fractions import Fraction

import numpy as np

from dpaccount import events as ev
from dpaccount.accountant import Accountant
from dpaccount.events import Plan, Relation
from dpaccount.numerics.toeplitz import group_squares

ROUNDING = 1e-10  #: of sums in doubles
CELLS = 24  #: that continuous noise is rounded to: a post-processing of it
GAP = "10"  #: the first lattice will do: every enclosure must hold
KINDS = sorted(ev.VOCABULARY)
SAMPLES = ("poisson_subsampled", "sampled_without_replacement")
INNER = [kind for kind in KINDS if kind not in (*SAMPLES, "tree", "matrix_factorisation", "sequence")]
OWN = ("pure", "approximate", "randomized_response", "discrete_laplace", "sequence", *SAMPLES)


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
    return cells(lambda x: math.erfc(-x / math.sqrt(2)) / 2, mu, 4)


def laplace_cdf(x):
    return math.exp(x) / 2 if x < 0 else 1 - math.exp(-x) / 2


def lattice(weight, shift, reach):
    x = np.arange(-reach, reach + shift + 1)
    p, q = (np.array([weight(abs(at - moved)) for at in x]) for moved in (shift, 0))
    return p / p.sum(), q / q.sum()


def ranged(eta):
    """Two losses η apart, where they may lie: what dominates η-bounded range."""
    for share in (0.25, 0.5, 0.75):
        p = (math.exp(eta) - math.exp(share * eta)) / math.expm1(eta)
        yield two(p, p * math.exp(-share * eta))


def flips(epsilon):
    """Two candidates whose scores draw near, meet, and part again."""
    for behind in (0.25, 0.5, 0.75):
        yield two(laplace_cdf((1 - behind) * epsilon), laplace_cdf(-behind * epsilon))


def product(a, b):
    return tuple(np.multiply.outer(x, y).ravel() for x, y in zip(a, b, strict=True))


def stand_ins(event, times=1):
    """Return finite pairs of laws (unit there, unit gone) that an event allows."""
    name = event.name
    if name == "sequence":
        made = [stand_ins(part) for part in event.of]
        once = [
            tuple(np.array([1.0]) for _ in range(2)) if not found else _all(found)
            for found in itertools.product(*made)
        ]
    elif name == "poisson_subsampled":
        q = float(event.rate)
        once = [((1 - q) * gone + q * there, gone) for there, gone in stand_ins(event.of)]
    elif name == "sampled_without_replacement":
        q = event.size / event.population
        once = [((1 - q) * gone + q * there, gone) for there, gone in stand_ins(event.of)]
    else:
        once = list(_SINGLE[name](event))
    return [_all([pair] * (event.count * times)) for pair in once]


def _all(found):
    whole = (np.array([1.0]), np.array([1.0]))
    for pair in found:
        whole = product(whole, pair)
    return whole


def _tree_mu(event):
    return math.sqrt(event.rounds.bit_length()) * float(event.sensitivity / event.sigma)


_SINGLE = {
    "gaussian": lambda e: [normal(float(e.sensitivity / e.sigma))],
    "gdp": lambda e: [normal(float(e.mu))],
    "zcdp": lambda e: [normal(math.sqrt(2 * float(e.rho)))],
    "tree": lambda e: [normal(_tree_mu(e))],
    "matrix_factorisation": lambda e: [normal(math.sqrt(float(group_squares(e.rounds, 1)[0])) / float(e.sigma))],
    "laplace": lambda e: [cells(laplace_cdf, float(e.sensitivity / e.scale), 6)],
    "discrete_laplace": lambda e: [lattice(lambda x: math.exp(-x / e.scale), int(e.sensitivity), 30)],
    "discrete_gaussian": lambda e: [lattice(lambda x: math.exp(-x * x / (2 * e.sigma**2)), 1, 9)],
    "randomized_response": lambda e: [response(float(e.epsilon), e.k)],
    "pure": lambda e: [response(float(e.epsilon))],
    "approximate": lambda e: [_failing(response(float(e.epsilon)), float(e.delta))],
    "exponential": lambda e: ranged(float(e.epsilon)),
    "bounded_range": lambda e: ranged(float(e.eta)),
    "permute_and_flip": lambda e: flips(float(e.epsilon)),
    "rdp": lambda e: [response(min(math.sqrt(2 * t / a) for a, t in e.points))],
}


def _failing(pair, delta):
    p, q = ((1 - delta) * x for x in pair)
    return np.array([*p, delta, 0.0]), np.array([*q, 0.0, delta])


def enumerated(pair, epsilon):
    """Return δ(ε) with the unit removed, and added."""
    p, q = pair
    x = math.exp(epsilon)
    return float(np.maximum(p - x * q, 0).sum()), float(np.maximum(q - x * p, 0).sum())


def drawn(rng, name):
    """Return an event of a kind with parameters drawn from a few that are cheap to enumerate."""
    epsilon = rng.choice(["1e-6", "0.1", "0.5", "1", "2"])
    simple = {
        "gaussian": lambda: ev.Gaussian(sigma=rng.choice([1, 3])),
        "discrete_gaussian": lambda: ev.DiscreteGaussian(sigma=rng.choice([1, 2]), dimension=rng.choice([1, 2])),
        "laplace": lambda: ev.Laplace(scale=rng.choice([1, 4])),
        "discrete_laplace": lambda: ev.DiscreteLaplace(scale=rng.choice([1, 2]), sensitivity=rng.choice([1, 2])),
        "randomized_response": lambda: ev.RandomizedResponse(epsilon=epsilon, k=rng.choice([2, 4])),
        "exponential": lambda: ev.Exponential(epsilon=epsilon),
        "bounded_range": lambda: ev.BoundedRange(eta=epsilon),
        "permute_and_flip": lambda: ev.PermuteAndFlip(epsilon=epsilon),
        "pure": lambda: ev.Pure(epsilon=epsilon),
        "approximate": lambda: ev.Approximate(epsilon=epsilon, delta=rng.choice(["1e-3", "0.05"])),
        "zcdp": lambda: ev.Zcdp(rho=rng.choice(["1e-6", "0.1"])),
        "gdp": lambda: ev.Gdp(mu="0.5"),
        "rdp": lambda: ev.Rdp(points=((Fraction(2), Fraction(1, 10)), (Fraction(8), Fraction(1, 2)))),
        "matrix_factorisation": lambda: ev.MatrixFactorisation(rounds=5, sigma=4),
        "tree": lambda: ev.Tree(rounds=6, sigma=4),
    }
    if name in simple:
        return simple[name]()
    if name == "sequence":
        return ev.Sequence(of=(ev.Pure(epsilon="0.5"), ev.DiscreteLaplace(scale=2)))
    of = drawn(rng, rng.choice([kind for kind in INNER if _fits(name, kind)]))
    return _sample(rng, name, of)


def _fits(sample, kind):
    return ev.allowed(kind, RELATION_OF[sample])


RELATION_OF = {"poisson_subsampled": Relation.ADD_REMOVE, "sampled_without_replacement": Relation.REPLACE_ONE}


def _sample(rng, name, of):
    if name == "poisson_subsampled":
        return ev.PoissonSubsampled(rate=rng.choice(["0.1", "0.5", "0.8"]), of=of, count=rng.choice([1, 2]))
    return ev.SampledWithoutReplacement(size=rng.choice([1, 4]), population=5, of=of)


def exact(event):
    """Say whether the only stand-in of an event is the pair that is accounted for."""
    inside = list(ev.walk(event))
    loose = any(part.name == "sampled_without_replacement" for part in inside)
    return not loose and all(part.name in OWN for part in inside)


def worst_point(pairs):
    """Return (ε, δ) where the directions differ most in favour of adding, at a δ that matters."""
    found = []
    for pair in pairs:
        with np.errstate(divide="ignore", invalid="ignore"):
            losses = np.log(pair[0] / pair[1])
        top = float(np.max(losses[np.isfinite(losses)], initial=0.1))
        for share in (0.1, 0.3, 0.5, 0.7):
            removed, added = enumerated(pair, share * top)
            if max(removed, added) > 1e-6:
                found.append((added / (removed + 1e-12), share * top))
    return max(found)[1] if found else 0.1


def check(relation, *events):
    """Compare δ(ε) of a plan with all its stand-ins."""
    pairs = [_all(made) for made in itertools.product(*map(stand_ins, events))]
    at = Fraction(round(worst_point(pairs), 6))
    found = Accountant(Plan(relation, events)).delta(at, GAP)
    truth = max(max(enumerated(pair, float(at))) for pair in pairs)
    assert truth <= float(found.upper) * (1 + 1e-9) + ROUNDING, (events, float(at), truth)
    if all(map(exact, events)):
        assert float(found.lower) <= truth * (1 + 1e-9) + ROUNDING, (events, float(at), truth)
    return found


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
    assert set(_SINGLE) | {"sequence", *SAMPLES} == set(ev.VOCABULARY)
    assert {name for pair in PAIRS for label in pair for name in label.split("/")} == set(ev.VOCABULARY)


def checked(pairs, seed):
    rng = random.Random(seed)
    for a, b in pairs:
        events = tuple(MAKERS[label](rng) for label in (a, b))
        relation = relation_of(*(part.name for event in events for part in ev.walk(event)))
        check(relation, *events)
