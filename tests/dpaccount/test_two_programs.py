"""Kernel and checker are two programs: on thousands of damaged derivations they must agree.

What the checker accepts the kernel proves, with the same words; so an edit is rejected, or it leaves a
statement that another program, with other arithmetic, proves too.
"""

import contextlib
import copy
import random
from fractions import Fraction

import pytest

from dpaccount import checker, proof
from dpaccount.checker import Rejected, check_derivation
from dpaccount.proof import (
    ADD_REMOVE,
    REPLACE_ONE,
    apart,
    assume_ball,
    assume_cell,
    assume_clipped,
    assume_covers,
    assume_each,
    assume_event,
    assume_filter,
    assume_neighbours,
    assume_points,
    assume_range,
    assume_rank_one,
    assume_rare,
    assume_split,
    assume_tree,
    assume_view,
    billboard,
    buffered,
    centred,
    compose,
    despite,
    differences,
    discrete_gaussian,
    exponential,
    factorised,
    fine_gaussian,
    finite,
    gaussian,
    group,
    joint,
    k_norm,
    laplace,
    lattice_gaussian,
    linear,
    local,
    local_view,
    mixture,
    nodes,
    parallel,
    partition,
    permute_and_flip,
    post_process,
    refute,
    replace_one,
    sparse_vector,
    stable_histogram,
    to_approximate,
    to_gdp,
    to_pure,
    to_renyi,
    to_zcdp,
)
from dpaccount.proof.derivation import as_json, write

F = Fraction
ONE, HALF = F(1), F(1, 2)

#: For each rule the kernel's arguments after its premises, from the witness.
WITNESSES = {
    "assume_points": lambda w: (
        [w["query"], list(map(tuple, w["points"])), w["relation"], w["because"]],
        source(w),
    ),
    "assume_clipped": lambda w: (
        [w["query"], F(w["low"]), F(w["high"]), w["relation"], w["because"]],
        source(w),
    ),
    "assume_ball": lambda w: ([w["query"], F(w["radius"]), w["relation"], w["because"]], source(w)),
    "assume_rank_one": lambda w: (
        [w["query"], F(w["reward"]), w["relation"], w["because"], w["kind"]],
        source(w),
    ),
    "assume_cell": lambda w: [w["query"], w["relation"], w["because"]],
    "assume_covers": lambda w: [w["query"], w["covers"], w["because"]],
    "assume_tree": lambda w: [w["query"], w["rounds"], w["because"], w["levels"]],
    "assume_view": lambda w: [w["query"], w["audience"], w["because"], w["releases"]],
    "assume_rounds": lambda w: [
        *(w["query"], w["rounds"], w["because"], w.get("participations", 1), w.get("separation", 1))
    ],
    "assume_numbers": lambda w: [w["query"], w["most"], w["because"]],
    "assume_choice": lambda w: [w["query"], w["parts"], w["because"]],
    "assume_split": lambda w: [w["query"], w["cells"], w["because"]],
    "assume_range": lambda w: [w["query"], F(w["width"]), w["relation"], w["because"]],
    "assume_each": lambda w: [w["query"], F(w["width"]), w["relation"], w["because"]],
    "assume_filter": lambda w: [
        w["query"],
        w["measure"],
        list(map(F, w["budget"])),
        w["relation"],
        w["because"],
    ],
    "assume_rare": lambda w: [w["query"], w["kind"], F(w["probability"]), w["because"]],
    "assume_neighbours": lambda w: [
        *(w["query"], w["kind"], list(map(F, w["left"])), list(map(F, w["right"]))),
        *(w["relation"], w["because"], w["observer"]),
    ],
    "assume_event": lambda w: [
        *(w["query"], F(w["likely"]), F(w["rarely"]), w["relation"], w["because"], w["observer"])
    ],
    "linear": lambda w: [F(w["bound_squared"])] if "bound_squared" in w else [],
    "joint": lambda w: [F(w["weight"])],
    "buffered": lambda w: [
        *(w["width"], w["pairs"], w["bits"], F(w["step"]), F(w["most"])),
    ],
    "factorised": lambda w: [w["matrix"], w["bits"]],
    "laplace": lambda w: [F(w["scale"]), F(w["grid"]) if "grid" in w else None, w["key"]],
    "k_norm": lambda w: [F(w["rate"]), F(w["bound"]), F(w["grid"]), w["key"]],
    "gaussian": lambda w: [F(w["variance"]), w["key"]],
    "discrete_gaussian": lambda w: [F(w["variance"]), F(w["grid"]), w["key"]],
    "fine_gaussian": lambda w: [
        *(F(w["variance"]), F(w["grid"]), w["coordinates"], F(w["distance"]), w["key"])
    ],
    "lattice_gaussian": lambda w: [F(w["variance"]), w["key"]],
    "exponential": lambda w: [F(w["rate"]), w["key"]],
    "permute_and_flip": lambda w: [F(w["rate"]), w["key"]],
    "finite": lambda w: [[list(map(F, row)) for row in w["table"]], F(w["epsilon"]), w["key"]],
    "sparse_vector": lambda w: [F(w["threshold"]), F(w["scale"]), w["limit"], F(w["grid"]), w["key"]],
    "stable_histogram": lambda w: [F(w["scale"]), w["threshold"], F(w["delta"]), w["key"]],
    "group": lambda w: [w["size"], *([F(w["delta"])] if "delta" in w else [])],
    "despite": lambda w: [F(w["delta"])],
    "to_renyi": lambda w: [list(map(F, w["orders"]))],
    "to_gdp": lambda w: [F(w["mu_squared"])],
    "to_approximate": lambda w: [F(w["epsilon"]), F(w["delta"]), *([F(w["order"])] if "order" in w else [])],
    "apart": lambda w: [w["law"], F(w["scale"])],
    "refute": lambda w: [F(w["epsilon"]), F(w["delta"])],
}


def source(witness):
    return {"source": witness["source"]} if "source" in witness else {}


def arranged(rule, before):
    """Return a step's premises as the kernel takes them: hypotheses that it could add itself by their names."""
    match rule:
        case "fine_gaussian":
            return before[:1], {"numbers": before[1]}
        case "factorised" if len(before) > 2:
            return before[:2], {"contribution": before[2]}
        case "mixture":
            return before[1:], {"choice": before[0]}
    return before, {}


def proved_again(steps):
    """Return the kernel's conclusions, as written; raises `RuleError` where it refuses a step."""
    theorems = []
    for step in steps:
        rule = next(getattr(m, step["rule"]) for m in (proof, proof, proof) if hasattr(m, step["rule"]))
        given = WITNESSES.get(step["rule"], lambda _: [])(step["with"])
        arguments, named = given if isinstance(given, tuple) else (given, {})
        before, beside = arranged(step["rule"], [theorems[k] for k in step["from"]])
        theorems.append(rule(*before, *arguments, **named, **beside))
    return [as_json(theorem.conclusion) for theorem in theorems]


def clipped(query="q", relation=REPLACE_ONE):
    return assume_clipped(query, F(-1, 4), F(3, 4), relation, "t", source="coin")


def pure(query="q", relation=REPLACE_ONE):
    return laplace(linear(clipped(query, relation)), F(2), F(1, 8), query + relation)


def vector(query="v", relation=REPLACE_ONE):
    return linear(assume_ball(query, F(3, 4), relation, "t"))


def theorems():
    """Statements that use every rule between them."""
    covers = assume_covers("v", [(1, 2), (2, 3)], "t")
    near = fine_gaussian(vector(), F(9, 4), F(1, 64), 2, F(1, 2**12), "v")
    yield post_process(to_approximate(nodes(near, covers), F(4), F(1, 8)), assume_view("s", "everyone", "t"))
    stream = factorised(vector("w"), 4, [[8, 4, 3]], 3, 2, 2)
    dense = factorised(vector("d"), 3, [[2], [1, 2], [-1, 1, 2]], 1)
    yield to_approximate(gaussian(stream, F(64), "w"), ONE, F(1, 8))
    yield to_approximate(to_zcdp(gaussian(dense, F(64), "d")), ONE, F(1, 8), F(7, 2))
    table = finite(
        assume_points("a", [(0,), (1,)], REPLACE_ONE, "t"), [[F(2, 3), F(1, 3)], [F(1, 3), F(2, 3)]], ONE, "a"
    )
    singles = assume_covers("a", [(1, 1), (2, 2)], "t")
    yield local_view(to_approximate(local(table, singles), ONE, F(0)), assume_view("l", "others", "t"))
    sparse = sparse_vector(assume_each("n", HALF, ADD_REMOVE, "t"), F(2), F(4), 2, ONE, "n")
    choice = to_pure(exponential(assume_range("r", HALF, ADD_REMOVE, "t"), HALF, "r"))
    flip = permute_and_flip(assume_range("f", HALF, ADD_REMOVE, "t"), HALF, "f")
    yield to_gdp(mixture(sparse, choice, flip), F(25, 16))
    histogram = stable_histogram(assume_cell("h", ADD_REMOVE, "t"), F(2), 20, F(1, 1000), "h")
    yield group(despite(histogram, assume_rare("h", "distance", F(1, 1000), "t"), F(1, 100)), 2, F(1, 10))
    lengths = k_norm(vector("k", ADD_REMOVE), F(1, 4), ONE, F(1, 64), "k")
    yield partition(assume_split("p", ["k", "q"], "t"), lengths, pure("q", ADD_REMOVE))
    swaps = [pure("q"), pure("u")]
    yield partition(assume_split("p", ["q", "u"], "t"), *swaps, pure("q", ADD_REMOVE), pure("u", ADD_REMOVE))
    person = assume_rank_one("m", F(3, 2), REPLACE_ONE, "t")
    outer = linear(assume_rank_one("o", F(3), REPLACE_ONE, "t", "outer"), F(102))
    yield compose(
        to_zcdp(gaussian(linear(person), F(81), "m")),
        discrete_gaussian(outer, F(900), F(1, 2), "o"),
        discrete_gaussian(centred(vector("c"), 5), F(16), F(1, 8), "c"),
    )
    decaying = buffered(vector("f"), 4, 2, [(3, 5), (1, 7)], 3, F(1, 64), F(8))
    yield to_approximate(gaussian(decaying, F(64), "f"), ONE, F(1, 8))
    yield to_approximate(gaussian(joint(person, F(16, 25)), F(16), "j"), F(2), F(1, 4))
    leaf = lattice_gaussian(differences(assume_points("x", [(0, 1), (1, 0)], REPLACE_ONE, "t")), F(9), "x")
    tree = to_approximate(nodes(leaf, assume_tree("x", 4, "t", 2)), ONE, F(1, 8))
    first = to_approximate(nodes(pure("y"), assume_covers("y", [(1, 2)], "t")), ONE, F(0))
    last = to_approximate(nodes(pure("z"), assume_covers("z", [(3, 4)], "t")), ONE, F(1, 64))
    yield billboard(compose(tree, parallel(first, last)), assume_view("b", "others", "t"))
    spent = assume_filter("e", "zcdp", [F(1, 50)], ADD_REMOVE, "t")
    yield to_approximate(to_renyi(replace_one(group(spent, 2)), [F(3), F(9)]), ONE, F(1, 4), F(9))
    pair = assume_neighbours("x", "vector", [ONE, F(0)], [F(0), ONE], REPLACE_ONE, "t")
    yield refute(apart(pair, assume_tree("x", 3, "t"), "gaussian", F(4)), HALF, F(1, 100))
    pair = assume_neighbours("o", "outer", [ONE, F(3)], [ONE, F(-2)], REPLACE_ONE, "t")
    yield refute(apart(pair, assume_covers("o", [(1, 1)], "t"), "gaussian", F(90)), HALF, F(1, 100))
    pair = assume_neighbours("q", "vector", [HALF], [F(0)], ADD_REMOVE, "t")
    yield refute(apart(pair, assume_covers("q", [(1, 4)], "t"), "laplace", F(1, 4)), ONE, F(1, 4))
    yield refute(assume_event("q", F(3, 4), F(1, 16), REPLACE_ONE, "t", "local"), ONE, HALF)


DERIVATIONS = [write(theorem) for theorem in theorems()]


def test_every_rule_is_among_them():
    used = {step["rule"] for steps in DERIVATIONS for step in steps}
    assert used >= set(checker.INFERRED) | set(WITNESSES)


@pytest.mark.parametrize("steps", DERIVATIONS, ids=lambda steps: steps[-1]["rule"])
def test_both_prove_the_same(steps):
    assert check_derivation(steps) == proved_again(steps) == [step["gives"] for step in steps]


NUMBERS = ["0", "1", "-1", "1/2", "2", "10000000", "1/0", "2/4", "1.5", "x", "", "9" * 700]
OTHERS = [None, True, 0, 1, 2, 3, -1, 10**30, 0.5, [], {}, "replace-one", "add-remove", "local", "coin"]


def damaged(rng, value):  # noqa: PLR0911
    """Return a random edit of one place of a JSON value: another value, a swap, a loss, a repetition."""
    if isinstance(value, dict) and value:
        key = rng.choice(sorted(value))
        if rng.random() < 0.05:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: damaged(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.95:
        at, action = rng.randrange(len(value)), rng.random()
        if action < 0.05:
            return value[:at] + value[at + 1 :]
        if action < 0.1:
            return [*value, value[at]]
        if action < 0.15:
            return rng.sample(value, len(value))
        return [*value[:at], damaged(rng, value[at]), *value[at + 1 :]]
    if isinstance(value, str) and value.replace("/", "").lstrip("-").isdigit() and rng.random() < 0.7:
        return str(F(value) * rng.choice([F(1, 2), F(9, 10), F(101, 100), F(2), F(-1)]))
    if type(value) is int and rng.random() < 0.7:
        return value + rng.choice([-1, 1])
    return rng.choice(NUMBERS + OTHERS)


def honest_digests(steps):
    for step in steps:
        body = {"rule": step["rule"], "with": step["with"], "gives": step["gives"]}
        step["digest"] = checker.digest({**body, "from": [steps[k]["digest"] for k in step["from"]]})


def forged(rng, steps):
    """Return damaged steps with conclusions and digests made to fit where the checker's rules allow any."""
    steps = damaged(rng, copy.deepcopy(steps))
    with contextlib.suppress(
        Rejected, ArithmeticError, KeyError, TypeError, IndexError, AttributeError, ValueError
    ):
        facts = []
        for step in steps:
            facts.append(checker.infer(step["rule"], [facts[k] for k in step["from"]], step["with"]))
            step["gives"] = facts[-1]
    with contextlib.suppress(KeyError, TypeError, IndexError, AttributeError, ValueError):
        honest_digests(steps)
    return steps


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_what_the_checker_accepts_the_kernel_proves(seed):
    """1,000 damaged derivations a seed, whose later steps were made consistent with the damage."""
    rng = random.Random(seed)
    accepted = 0
    for _ in range(1000):
        steps = forged(rng, rng.choice(DERIVATIONS))
        try:
            facts = check_derivation(steps)
        except Rejected:
            continue
        accepted += 1
        assert proved_again(steps) == facts
    assert 50 < accepted < 700  # the damage is neither always harmless nor always fatal
