"""The kernel at the side conditions that the checker is tested at: one table, two programs.

Premises are made up as theorems (the rules' own door, `proved`), so that each rule is seen alone.  What
the table calls honest the kernel proves in the same words; what it calls false the kernel refuses too.
"""

import importlib.util
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from dpaccount import proof
from dpaccount.errors import RuleError
from dpaccount.proof import (
    Apart,
    Approximate,
    BoundedRange,
    Choice,
    Contribution,
    Covered,
    Gdp,
    Lattice,
    NearGdp,
    Numbers,
    Private,
    Pure,
    Rare,
    Renyi,
    Rounds,
    Shifts,
    Split,
    Stable,
    View,
    Zcdp,
)
from dpaccount.proof.derivation import as_json
from dpaccount.proof.theorem import proved

F = Fraction
REFUSED = (RuleError, ArithmeticError, ValueError, TypeError, KeyError, IndexError, AttributeError)


def loaded(name):
    """Load another file of tests, for its tables."""
    spec = importlib.util.spec_from_file_location(f"tables_of_{name}", Path(__file__).parent / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


TABLE = loaded("test_checker_sides")
PROGRAMS = loaded("test_two_programs")
WITNESSES = PROGRAMS.WITNESSES


def span(units):
    return None if units is None else tuple(units)


def curve(written):
    measure, *rest = written
    match measure:
        case "lattice":
            return Lattice(F(rest[0]), tuple(map(tuple, rest[1])), rest[2])
        case "renyi":
            return Renyi(tuple((F(a), F(b)) for a, b in rest))
    maker = {
        **{"pure": Pure, "approximate": Approximate, "zcdp": Zcdp, "gdp": Gdp, "near-gdp": NearGdp},
        "bounded-range": BoundedRange,
    }[measure]
    return maker(*map(F, rest))


def judgement(fact):  # noqa: C901, PLR0911
    """Read a fact as the checker writes it."""
    match fact:
        case ["Contribution", query, kind, low, high, points, relation, source]:
            return Contribution(query, kind, F(low), F(high), tuple(map(tuple, points)), relation, source)
        case ["Covered", query, releases, most, widest, units]:
            return Covered(query, releases, most, widest, tuple(units))
        case ["Stable", query, norm, bound, relation, units]:
            return Stable(query, norm, F(bound), relation, span(units))
        case ["Shifts", query, shifts, relation]:
            return Shifts(query, tuple(map(tuple, shifts)), relation)
        case ["Apart", query, law, numbers, relation, observer]:
            return Apart(query, law, tuple(map(F, numbers)), relation, observer)
        case ["View", query, audience, keys]:
            return View(query, audience, tuple(keys))
        case ["Rounds", query, rounds, times, apart]:
            return Rounds(query, rounds, times, apart)
        case ["Numbers", query, most]:
            return Numbers(query, most)
        case ["Choice", query, parts]:
            return Choice(query, tuple(map(tuple, parts)))
        case ["Split", query, cells]:
            return Split(query, tuple(cells))
        case ["Rare", query, kind, probability]:
            return Rare(query, kind, F(probability))
        case ["Private", subject, written, relation, observer, units]:
            return Private(subject, curve(written), relation, observer, span(units))
    raise ValueError(fact)


def infer(rule, found, given):
    """Apply the kernel's rule; return what it gives, as the checker writes it."""
    premises = [proved("given", judgement(fact)) for fact in found]
    apply = next(getattr(m, rule) for m in (proof, proof, proof) if hasattr(m, rule))
    read = WITNESSES.get(rule, lambda _: [])(given)
    arguments, named = read if isinstance(read, tuple) else (read, {})
    before, beside = PROGRAMS.arranged(rule, premises)
    return as_json(apply(*before, *arguments, **named, **beside).conclusion)


@pytest.mark.parametrize(
    ("rule", "found", "given", "gives"), TABLE.HONEST, ids=[case[0] for case in TABLE.HONEST]
)
def test_what_a_rule_gives(rule, found, given, gives):
    assert infer(rule, found, given) == gives


@pytest.mark.parametrize(("rule", "found", "given"), TABLE.TRUE, ids=[case[0] for case in TABLE.TRUE])
def test_true_side_conditions_are_accepted_at_their_edges(rule, found, given):
    assert infer(rule, found, given)


def of_the_file(rule, found, given):  # noqa: C901, PLR0911
    """Say whether a case is about the written form or the checker's reach, not about the statement."""
    match rule:
        case "assume_points":
            points = given["points"]
            spelled = points in ([[1], [0]], [[0], [0]], [[0] * 65], [[2**64]]) or len(points) > 256
            return spelled or given.get("source") == "public"
        case "assume_split":
            return given["cells"] == [1]
        case "assume_filter":
            return given["budget"] == "10"
        case "assume_neighbours":
            return len(given["left"]) > 4096
        case "assume_view":
            return given["releases"] in (["k", "a"], [1])
        case "assume_choice":
            return given["parts"] == [[1]]
        case "factorised":
            return given["bits"] == 4097 or (len(found) == 3 and found[1][3] == 1)
        case "buffered":
            return given["bits"] == 65 or len(given["pairs"]) == 65
        case "partition":
            return len(found) > 1 and found[-1][3] == TABLE.R
        case "linear" | "differences":
            return "bound_squared" in given and (found[0][2], found[0][4]) != ("outer", "3")
        case "group":
            return ("delta" in given) != (found[0][2][0] == "approximate")
        case "to_approximate":
            return "order" in given and found[0][2] in (["pure", "1"], ["zcdp", "0"])
    return given.get("source") == "public"


FALSE = [case for case in TABLE.FALSE if not of_the_file(*case)]


@pytest.mark.parametrize(("rule", "found", "given"), FALSE, ids=[case[0] for case in FALSE])
def test_false_side_conditions_are_refused(rule, found, given):
    with pytest.raises((*REFUSED, StopIteration)):
        infer(rule, found, given)


@pytest.mark.parametrize("root", ["1/3", "1/7", "3/10", "9/1000", "2/5"])
def test_outer_products_at_a_rational_root(root):
    """B = (b² + 1)/b has the root b, so the supremum is an exact fraction: a bound below it is refused."""
    b = F(root)
    reward = (b * b + 1) / b
    inner = (1 + reward**2) ** 2 + (1 + b * b) ** 2 - 2 * (reward * b - 1) ** 2
    exact = max(inner, 8 * reward**2)
    for slack in (F(1, 10**6), F(1, 10**12), F(1, 10**15)):
        assert proof.linear(outer(reward), exact * (1 + slack))
        for below in (exact * (1 - slack), exact * (1 - 1000 * slack)):
            with pytest.raises(RuleError, match="not shown"):
                proof.linear(outer(reward), below)
    if inner > 8 * reward**2:
        with pytest.raises(RuleError, match="not shown"):
            proof.linear(outer(reward), 8 * reward**2)


@pytest.mark.parametrize("reward", ["11/10", "3/2", "2", "9/4", "47/20"])
def test_outer_products_at_the_end(reward):
    """Up to B = 2.3548 the supremum is 8B², at t = B."""
    b = F(reward)
    assert proof.linear(outer(b), 8 * b * b * (1 + F(1, 10**9)))
    for below in (1 - F(1, 10**9), F(999, 1000), F(1, 2)):
        with pytest.raises(RuleError, match="not shown"):
            proof.linear(outer(b), 8 * b * b * below)


def outer(reward):
    return proof.assume_rank_one("q", reward, "replace-one", "b", "outer")
