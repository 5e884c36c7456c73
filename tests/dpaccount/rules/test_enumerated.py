"""What is proved of random derivations is true of a small table, by enumeration.

The table has two persons of two rows each; a row is one of three records, or is not there.  Queries are sums, and
noise is of distributions whose losses are known exactly.  A statement is read as its user reads it: it is about
persons if the rule `persons` is among the steps that it rests on.  If all its hypotheses are true of the table,
no neighbours may be told apart better than it says.
"""

import math
import random
from collections import Counter
from fractions import Fraction as F  # noqa: N817
from itertools import product
from statistics import NormalDist

from tests.depth import parts
from tests.formal.grown import Pool, Turn

RECORDS, PERSONS = (0, 1, 2), ((1, 2), (3, 4))
RULES = (
    "group",
    "persons",
    "persons",
    "replace_one",
    "compose",
    "compose",
    "mixture",
    "partition",
    "nodes",
    "parallel",
)
RULES += ("post_process", "to_approximate", "to_zcdp", "to_gdp", "to_near_gdp", "to_renyi")
ORDERS = (1.01, 2.0, 5.0, 30.0)
EDGE = 1 + 1e-9  # rounding of doubles


# ------------------------------------------------------------------ the table and what is drawn of it


def sums(rng):
    """Return for each query what a record adds to it; the cells of a partition share no record."""
    found = {name: [rng.randint(-1, 2) for _ in RECORDS] for name in ("a", "b")}
    cut = rng.randint(1, 2)
    for name, inside in (("c", RECORDS[:cut]), ("d", RECORDS[cut:])):
        found[name] = [rng.randint(1, 2) if r in inside else 0 for r in RECORDS]
    return found


def leaves(rng, pool, adds):
    """Draw noise on each query; of cells for both relations."""
    for name, values in adds.items():
        kind, number = (
            rng.choice(("laplace", "laplace", "gaussian", "discrete_gaussian")),
            str(rng.choice((1, 2, 5))),
        )
        both = ("replace-one", "add-remove")
        for relation in both if name in "cd" else (rng.choice(both),):
            given = {"query": name, "relation": relation, "because": "t"}
            if kind == "laplace":
                ends = {"low": str(min(values)), "high": str(max(values))}
                pool.tried("assume_clipped", [], {**given, **ends})
            else:
                pool.tried("assume_points", [], {**given, "points": sorted([v] for v in set(values))})
            pool.tried("linear", [len(pool.steps) - 1], {})
            law = {"laplace": {"scale": number, "grid": "1"}, "gaussian": {"variance": number}}
            law["discrete_gaussian"] = {"variance": number, "grid": "1"}
            pool.tried(kind, [len(pool.steps) - 1], {**law[kind], "key": f"key of {name}"})


class Meaning:
    """What a step of a derivation is about: by key what is drawn, for each outcome of public coins."""

    def __init__(self, steps, adds):
        self.true, self.of_persons, self.courses = [], [], []
        for step in steps:
            before = step["from"]
            self.of_persons.append(step["rule"] == "persons" or any(self.of_persons[k] for k in before))
            courses = [self.courses[k] for k in before if self.courses[k]]
            self.courses.append(self.of(step, courses, steps, adds))
            self.true.append(all(self.true[k] for k in before) and self.holds(step, courses, steps))

    def of(self, step, courses, steps, adds):
        match step["rule"], courses:
            case "laplace" | "gaussian" | "discrete_gaussian", _:
                law = step["rule"], F(step["with"].get("scale") or step["with"]["variance"])
                empty = 0 if step["gives"][3] == "replace-one" else None  # what a row holds that is not there
                return [{(step["with"]["key"], 0): (adds[step["gives"][1]], law, empty, None)}]
            case "mixture", _:
                return [course for part in courses for course in part]
            case "nodes", [whole]:
                spans = steps[step["from"][1]]["with"]["covers"]
                return [
                    {
                        (k, j): (*d[:3], tuple(span))
                        for (k, _), d in course.items()
                        for j, span in enumerate(spans)
                    }
                    for course in whole
                ]
            case "persons", [whole]:
                empty = 0 if steps[step["from"][1]]["with"]["rows"] == "replace-one" else None
                return [{k: (*d[:2], empty, d[3]) for k, d in course.items()} for course in whole]
            case _, []:
                return []
        return [dict(pair for part in parts for pair in part.items()) for parts in product(*courses)]

    def holds(self, step, courses, steps):
        """Return whether a hypothesis is true of the table, or the cells of a partition are."""
        given = step["with"]
        if step["rule"] == "assume_persons":
            return given["most"] >= 2 * len(PERSONS[0]) // (1 if given["relation"] != given["rows"] else 2)
        if step["rule"] == "partition":
            read = [
                {r for course in part for d in course.values() for r in RECORDS if d[0][r]}
                for part in courses
            ]
            cells = read[-len(steps[step["from"][0]]["with"]["cells"]) :]
            return not any(a & b for i, a in enumerate(cells) for b in cells[:i])
        return True


# ------------------------------------------------------------------ neighbours


def moves(course, relation, of_persons):
    """Return how far all draws of a course move together between neighbours."""
    word, *groups = relation.split(", groups of ")
    budget, draws, zero = math.prod(map(int, groups)), list(course.values()), (0,) * len(course)
    inside = [[d[3] is None or d[3][0] <= place <= d[3][1] for d in draws] for place in (1, 2, 3, 4)]

    def changed(place, old, new):
        def at(d, record):
            record = d[2] if record is None else record
            return 0 if record is None else d[0][record]

        return tuple(
            (at(d, new) - at(d, old)) * here for d, here in zip(draws, inside[place - 1], strict=True)
        )

    def options(place):
        """Return what may become of a row: how many steps it costs, and the movement."""
        if of_persons or word == "replace-one":
            held = (*RECORDS, None) if of_persons else RECORDS
            return [(1, changed(place, x, y)) for x in held for y in held]
        come = [(1, changed(place, *pair)) for r in RECORDS for pair in ((None, r), (r, None))]
        return come + [(2, changed(place, x, y)) for x in RECORDS for y in RECORDS]

    def persons(places):
        """Return the same of a person: all rows are replaced, or come or go together."""
        held = (*RECORDS, None)

        def all_of(pairs):
            found = {zero}
            for place in places:
                found = {plus(v, changed(place, *pair)) for v in found for pair in pairs}
            return found

        every = all_of([*product(held, held)])
        if word == "replace-one":
            return [(1, v) for v in every]
        comes = all_of([(None, x) for x in held]) | all_of([(x, None) for x in held])
        return [(1, v) for v in comes] + [(2, v) for v in every]

    reached = {(0, zero)}
    for every in map(persons, PERSONS) if of_persons else map(options, (1, 2, 3, 4)):
        cheap = {}
        for cost, v in every:
            cheap[v] = min(cost, cheap.get(v, cost))
        reached |= {
            (c + cost, plus(v, w)) for c, v in reached for w, cost in cheap.items() if c + cost <= budget
        }
    return largest({tuple(map(abs, v)) for _, v in reached})


def plus(v, w):
    return tuple(x + y for x, y in zip(v, w, strict=True))


def largest(found):
    """Return the vectors that no other one exceeds in every place."""
    return [
        v for v in found if not any(v != w and all(x <= y for x, y in zip(v, w, strict=True)) for w in found)
    ]


# ------------------------------------------------------------------ how well they are told apart


def losses(moved, scale):
    """Return (p, loss) of two-sided geometric noise and itself moved by a whole number."""
    r = math.exp(-1 / float(scale))
    mass, out = (1 - r) / (1 + r), Counter()
    out[moved] += 1 / (1 + r)  # at most 0, seen from the law around 0: the loss is `moved` steps
    for x in range(1, moved):
        out[moved - 2 * x] += mass * r**x
    if moved:
        out[-moved] += r**moved / (1 + r)
    return [(p, steps / float(scale)) for steps, p in out.items()] if moved else [(1.0, 0.0)]


def divergence(v, laws, order):
    """Return the Rényi divergence."""
    total = 0.0
    for moved, (kind, number) in zip(v, laws, strict=True):
        if kind == "laplace":
            terms = [math.log(p) + (order - 1) * loss for p, loss in losses(moved, number)]
            top = max(terms)
            total += (top + math.log(sum(math.exp(t - top) for t in terms))) / (order - 1)
        else:
            total += order * moved**2 / float(number) / 2
    return total


def delta(v, laws, epsilon):
    """Return δ(ε), or 0 where it is not enumerated."""
    if epsilon > 500:
        return 0.0
    if all(kind == "laplace" for kind, _ in laws):
        found = {0.0: 1.0}
        for moved, (_, number) in zip(v, laws, strict=True):
            after = Counter()
            for so_far, p in found.items():
                for q, loss in losses(moved, number):
                    after[round(so_far + loss, 12)] += p * q
            found = after
        return sum(p * -math.expm1(epsilon - loss) for loss, p in found.items() if loss > epsilon)
    if all(kind == "gaussian" for kind, _ in laws):
        mu, phi = (
            math.sqrt(sum(x**2 / float(number) for x, (_, number) in zip(v, laws, strict=True))),
            NormalDist().cdf,
        )
        return phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu) if mu else 0.0
    return 0.0


def true_of(law, v, laws):
    """Return whether two laws are as close as a curve says."""
    measure, *numbers = law
    if measure == "renyi":
        return all(divergence(v, laws, float(F(a))) <= float(F(b)) * EDGE for a, b in numbers)
    numbers = [float(F(n)) for n in numbers]
    if measure == "pure":
        pure = all(kind == "laplace" for kind, _ in laws) or not any(v)
        return pure and sum(x / float(b) for x, (_, b) in zip(v, laws, strict=True)) <= numbers[0] * EDGE
    if measure == "approximate":
        return delta(v, laws, numbers[0]) <= numbers[1] * EDGE + 1e-12
    rho = numbers[0] if measure == "zcdp" else numbers[0] / 2
    return all(divergence(v, laws, order) <= order * rho * EDGE + 1e-12 for order in ORDERS)


def untrue(steps, adds):
    """Return why the last statement is false of the table; None if it is true, or about something else."""
    meaning = Meaning(steps, adds)
    if not meaning.true[-1] or not meaning.courses[-1] or steps[-1]["gives"][0] != "Private":
        return None
    _, _, law, relation, *_ = steps[-1]["gives"]
    for course in meaning.courses[-1]:
        laws = [d[1] for d in course.values()]
        for v in moves(course, relation, meaning.of_persons[-1]):
            if not true_of(law, v, laws):
                return f"{law} under {relation}, persons: {meaning.of_persons[-1]}; {dict(zip(course, v, strict=True))}"
    return None


# ------------------------------------------------------------------ the search


def search(rng):
    """Yield the derivation of every statement that follows over a table, and what its records add."""
    adds, pool = sums(rng), Pool()
    leaves(rng, pool, adds)
    seen = len(pool.steps)
    for _ in range(30):
        for _ in Turn(rng, pool).cases(rng.choice(RULES)):
            pass
        for end in range(seen, len(pool.steps)):
            yield pool.steps[: end + 1], adds
        seen = len(pool.steps)


@parts(10)
def test_what_is_proved_is_true(depth):
    """Of the costs that are proved, some are attained: a hundredth less would be false, of rows and of persons."""
    rng, met = random.Random(f"tables {depth.seed(40)}"), Counter()
    for _ in depth.some(range(4000), 40):
        for steps, adds in search(rng):
            why = untrue(steps, adds)
            assert why is None, (why, [step["rule"] for step in steps])
            about = "persons" if Meaning(steps, adds).of_persons[-1] else "rows"
            met[steps[-1]["rule"], about] += 1
            met["attained", about] += untrue(less(steps), adds) is not None
    assert all(met[rule, "rows"] for rule in {"attained", *RULES} - {"persons"})
    assert all(
        met[rule, "persons"] for rule in ("attained", "persons", "compose", "mixture", "group", "to_zcdp")
    )


def less(steps):
    """Return the derivation with a smaller cost at its end, if that is a single number."""
    gives = steps[-1]["gives"]
    if gives[0] != "Private" or len(gives[2]) != 2 or gives[2][0] == "renyi":
        return steps
    law = [gives[2][0], str(F(gives[2][1]) * F(99, 100))]
    return [*steps[:-1], {**steps[-1], "gives": [*gives[:2], law, *gives[3:]]}]
