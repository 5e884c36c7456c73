"""The two programs, called in one way: a rule, its premises as written, its witness."""

from fractions import Fraction

from dpaccount import proof
from dpaccount.checker import Rejected
from dpaccount.checker.derivation import infer
from dpaccount.checker.documents import Work
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
    Lipschitz,
    NearGdp,
    Numbers,
    Persons,
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
#: what `check_derivation` turns into a rejection, and how the kernel refuses what its callers cannot mean
BROKEN = (ArithmeticError, ValueError, TypeError, KeyError, IndexError)
REFUSALS = {"checker": (Rejected, *BROKEN), "kernel": (RuleError, *BROKEN, AttributeError, StopIteration)}


def by_checker(rule, premises, given):
    """What the checker infers, whose work is counted from here."""
    Work.spent = 0
    return infer(rule, premises, given)


def by_kernel(rule, facts, given):
    """What the kernel's rule gives, as written; premises are made up by the rules' own door, `proved`."""
    premises = [proved("given", judgement(fact)) for fact in facts]
    return as_json(applied(rule, premises, given).conclusion)


PROGRAMS = {"checker": by_checker, "kernel": by_kernel}


def applied(rule, premises, given):
    """Apply the kernel's rule of this name to theorems."""
    apply = getattr(proof, rule)
    read = WITNESSES.get(rule, lambda _: [])(given)
    arguments, named = read if isinstance(read, tuple) else (read, {})
    before, options = arranged(rule, premises)
    return apply(*before, *arguments, **named, **options)


def proved_again(steps):
    """The kernel's conclusions, as written; raises `RuleError` where it refuses a step."""
    theorems = []
    for step in steps:
        theorems.append(applied(step["rule"], [theorems[k] for k in step["from"]], step["with"]))
    return [as_json(theorem.conclusion) for theorem in theorems]


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
    "assume_cell": lambda w: [w["query"], w["relation"], w["because"], *([w["most"]] if "most" in w else [])],
    "assume_covers": lambda w: [w["query"], w["covers"], w["because"]],
    "assume_tree": lambda w: [w["query"], w["rounds"], w["because"], w["levels"]],
    "assume_view": lambda w: [w["query"], w["audience"], w["because"], w["releases"]],
    "assume_rounds": lambda w: [
        *(w["query"], w["rounds"], w["because"], w.get("participations", 1), w.get("separation", 1)),
        *([w["ends"] or [0]] if "ends" in w else []),  # nothing is no way to say it
    ],
    "assume_lipschitz": lambda w: [*(w["query"], F(w["factor"]), F(w["slack"]), F(w["reach"]), w["because"])],
    "moved": lambda w: [F(w["radius"]) if "radius" in w else None],
    "within": lambda w: [F(w["radius"])],
    "assume_numbers": lambda w: [w["query"], w["most"], w["because"]],
    "assume_choice": lambda w: [w["query"], w["parts"], w["because"]],
    "assume_persons": lambda w: [w["query"], w["relation"], w["rows"], w["most"], w["because"]],
    "assume_split": lambda w: [w["query"], w["cells"], w["because"]],
    "assume_range": lambda w: [w["query"], F(w["width"]), w["relation"], w["because"]],
    "assume_l1": lambda w: [w["query"], F(w["width"]), w["relation"], w["because"]],
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
    "buffered": lambda w: [*(w["width"], w["pairs"], w["bits"], F(w["step"]), F(w["most"]))],
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
    "shuffled": lambda w: [
        *([list(map(F, row)) for row in w["table"]], w["size"], F(w["epsilon"]), F(w["delta"]), w["key"])
    ],
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
        case ["Lipschitz", query, *sizes]:
            return Lipschitz(query, *map(F, sizes))
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
        case ["Rounds", query, rounds, times, apart, last]:
            return Rounds(query, rounds, times, apart, last)
        case ["Numbers", query, most]:
            return Numbers(query, most)
        case ["Choice", query, parts]:
            return Choice(query, tuple(map(tuple, parts)))
        case ["Split", query, cells]:
            return Split(query, tuple(cells))
        case ["Persons", query, relation, rows, most]:
            return Persons(query, relation, rows, most)
        case ["Rare", query, kind, probability]:
            return Rare(query, kind, F(probability))
        case ["Private", subject, written, relation, observer, units]:
            return Private(subject, curve(written), relation, observer, span(units))
    raise ValueError(fact)
