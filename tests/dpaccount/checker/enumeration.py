"""What small plans of finite mechanisms cost, by enumerating outcomes; and random ones.

Nothing of the product is used: laws are written out, multiplied, and added up to 60 digits.
"""

import itertools
from fractions import Fraction

from mpmath import mp, mpf

mp.dps = 60
MOST = 20_000  # products of outcomes, of a release with what came before it
FAR = 5  # integers on either side that are outcomes by themselves: further than noise is moved


def number(value):
    exact = Fraction(value)
    return mpf(exact.numerator) / exact.denominator


def laws(event, relation):
    """(P, Q) of one release: (masses with the unit, masses without it), outcome by outcome."""
    kind = event["event"]
    if kind in ("pure", "randomized_response"):
        k, odds = event.get("k", 2), mp.exp(number(event["epsilon"]))
        total = odds + k - 1
        return [odds / total, 1 / total, *[1 / total] * (k - 2)], [
            1 / total,
            odds / total,
            *[1 / total] * (k - 2),
        ]
    if kind == "approximate":
        delta = number(event["delta"])
        p, q = laws({"event": "pure", "epsilon": event["epsilon"]}, relation)
        return [delta, mpf(0), *((1 - delta) * a for a in p)], [mpf(0), delta, *((1 - delta) * b for b in q)]
    if kind == "discrete_laplace":
        r, moved = mp.exp(-1 / number(event["scale"])), event.get("sensitivity", 1)
        inner = [(1 - r) / (1 + r) * r ** abs(x) for x in range(-FAR, FAR + 1)]
        far = [r ** (FAR + 1) / (1 + r)]
        p = [*far, *inner, *far]
        # what lies further out on either side has one loss
        shifted = [(1 - r) / (1 + r) * r ** abs(x - moved) for x in range(-FAR, FAR + 1)]
        left, right = r ** (FAR + 1 + moved) / (1 + r), r ** (FAR + 1 - moved) / (1 + r)
        return p, [left, *shifted, right]
    if kind == "dominating_pair":
        return [number(a) for a in event["p"]], [number(b) for b in event["q"]]
    if kind == "sequence":
        p, q = [mpf(1)], [mpf(1)]
        for part in event["of"]:
            p, q = times((p, q), part, relation)
        return p, q
    if kind == "random_allocation":
        return allocated(event, relation)
    assert kind == "poisson_subsampled", kind
    rate = number(event["rate"])
    p, q = times(([mpf(1)], [mpf(1)]), event["of"], relation)
    return [(1 - rate) * b + rate * a for a, b in zip(p, q, strict=True)], q


def allocated(event, relation):
    """Steps of which a drawn set holds the unit: (P, Q) of all outcomes in order."""
    p, q = times(([mpf(1)], [mpf(1)]), event["of"], relation)
    if len(p) ** event["steps"] > MOST:
        raise TooManyOutcomesError
    sets = list(itertools.combinations(range(event["steps"]), event.get("times", 1)))
    there, back = [], []
    for outcome in itertools.product(range(len(p)), repeat=event["steps"]):
        drawn = (mp.fprod((p if k in chosen else q)[x] for k, x in enumerate(outcome)) for chosen in sets)
        there.append(mp.fsum(drawn) / len(sets))
        back.append(mp.fprod(q[x] for x in outcome))
    return there, back


class TooManyOutcomesError(Exception):
    """A plan that is not small."""


def times(pair, event, relation):
    """The product of a pair with an event, as often as it is released; equal odds become one outcome."""
    once = laws(event, relation)
    for _ in range(event.get("count", 1)):
        if len(pair[0]) * len(once[0]) > MOST:
            raise TooManyOutcomesError
        merged = {}
        for (a, b), (c, d) in itertools.product(zip(*pair, strict=True), zip(*once, strict=True)):
            p, q = a * c, b * d
            key = "lost" if q == 0 else mp.nstr(p / q, 40)
            if p or q:
                before = merged.get(key, (mpf(0), mpf(0)))
                merged[key] = (before[0] + p, before[1] + q)
        pair = [p for p, _ in merged.values()], [q for _, q in merged.values()]
    return pair


def delta(plan, epsilon):
    """δ(ε) of the unit that pays most, in the worse direction."""
    x = mp.exp(number(epsilon))
    ends = {1} | {end + more for e in plan["events"] if "cover" in e for end in e["cover"] for more in (0, 1)}
    worst = mpf(0)
    for unit in ends:
        pair = [mpf(1)], [mpf(1)]
        for event in plan["events"]:
            first, last = event.get("cover", (unit, unit))
            if first <= unit <= last:
                pair = times(pair, event, plan["relation"])
        for p, q in (pair, pair[::-1]):
            worst = max(worst, mp.fsum(max(a - x * b, mpf(0)) for a, b in zip(p, q, strict=True)))
    return worst


def event(random, relation, *, inside=False):
    """A random finite event."""
    kinds = ["pure", "approximate", "discrete_laplace"]
    kinds += ["randomized_response"] if relation == "replace-one" else []
    kinds += [] if inside else ["dominating_pair"]
    kinds += ["poisson_subsampled"] if relation == "add-remove" else []
    kinds += ["random_allocation"] if relation == "add-remove" and not inside else []
    kind = random.choice(kinds)
    size = random.choice(["1/100", "1/10", "1/3", "0.5", "1", "2", "3.7"])
    found = {"event": kind}
    if kind in ("pure", "approximate", "randomized_response"):
        found["epsilon"] = size
    if kind == "approximate":
        found["delta"] = random.choice(["1e-9", "1e-3", "1/7"])
    if kind == "randomized_response":
        found["k"] = random.choice([2, 3, 10])
    if kind == "discrete_laplace":
        found |= {"scale": random.choice(["1/2", "1", "3"]), "sensitivity": random.choice([1, 2, 3])}
    if kind == "dominating_pair":
        found |= {"p": law(random), "q": law(random)}
    if kind == "poisson_subsampled":
        parts = [event(random, relation, inside=True) for _ in range(random.choice([1, 1, 2]))]
        found |= {"rate": random.choice(["1/1000", "0.1", "1/2", "0.95"])}
        found["of"] = parts[0] if len(parts) == 1 else {"event": "sequence", "of": parts}
    if kind == "random_allocation":
        found |= {"steps": random.randint(1, 6), "of": {"event": "pure", "epsilon": size}}
        found |= {"times": min(found["steps"], random.choice([1, 1, 1, 2]))}
    most = 2 if inside or kind in ("dominating_pair", "discrete_laplace", "random_allocation") else 4
    return found | {"count": random.randint(1, most)}


def law(random):
    """Four exact probabilities, of which some may be 0."""
    parts = [random.choice([0, 1, 1, 2, 5, 30]) for _ in range(3)]
    parts.append(1 + random.randint(0, 40))
    return [str(Fraction(each, sum(parts))) for each in parts]


def plan(random):
    """A random small plan; those of too many outcomes are drawn anew."""
    while True:
        found = drawn(random)
        try:
            delta(found, "1")
        except TooManyOutcomesError:
            continue
        return found


def drawn(random):
    """A random plan of one to three events, some of them on some units only."""
    relation = random.choice(["add-remove", "replace-one"])
    events = [event(random, relation) for _ in range(random.choice([1, 1, 2, 3]))]
    for each in events:
        if random.random() < 0.3:
            first = random.randint(1, 6)
            each["cover"] = [first, first + random.randint(0, 5)]
    return {"schema": "dpaccount/events/1", "relation": relation, "events": events}
