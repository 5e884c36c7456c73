"""Two neighbours that can be distinguished better than a claim allows (R22)."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from flint import arb

from dpaccount.errors import RuleError
from dpaccount.relation import CENTRAL, OBSERVERS, REPLACE_ONE, radius_of

from .decide import ball, brief, compare, gdp_delta, need, neighbouring, number, one_of, positive
from .judgements import Apart, Covered, Refuted
from .theorem import Theorem, conclusion_of, proved

Vector = Sequence[Fraction]


def assume_neighbours(
    query: str, kind: str, left: Vector, right: Vector, relation: str, because: str, observer: str = CENTRAL
) -> Theorem:
    """Assume that the claim allows two neighbours whose contributions to `query` are this far apart (R22).

    A ``vector`` moves it by `left` − `right` (add-remove: `right` is 0); for ``rank-one`` and ``outer``,
    v = (φ, y) and w, ‖vvᵀ − wwᵀ‖²_F = |v|⁴ + |w|⁴ − 2(v·w)², less the corner (y² − y′²)² where it is 0.
    """
    neighbouring(relation, rule := "assume_neighbours")
    one_of(kind, rule, "kind", ("vector", "rank-one", "outer"))
    one_of(observer, rule, "observer", OBSERVERS)
    v, w = ([number(x, rule, "a coordinate") for x in side] for side in (left, right))
    need(len(v) == len(w) >= 1, rule, f"two vectors of one length are needed, found {len(v)} and {len(w)}")
    need(relation == REPLACE_ONE or not any(w), rule, "the record that is absent contributes 0")
    if kind == "vector":
        square = sum(((x - y) ** 2 for x, y in zip(v, w, strict=True)), Fraction(0))
        law, size = ("number", abs(v[0] - w[0])) if len(v) == 1 else ("vector", square)
    else:
        need(len(v) >= 2 and relation == REPLACE_ONE, rule, "features and a reward are replaced")
        vv, ww, vw = (
            sum((x * y for x, y in zip(*p, strict=True)), Fraction(0)) for p in ((v, v), (w, w), (v, w))
        )
        corner = (v[-1] ** 2 - w[-1] ** 2) ** 2 if kind == "rank-one" else 0
        law, size = "symmetric", vv**2 + ww**2 - 2 * vw**2 - corner
    sides: dict[str, Any] = {"left": [str(x) for x in v], "right": [str(x) for x in w]}
    given = sides | {"kind": kind, "observer": observer, "relation": relation, "because": because}
    fact = Apart(query, law, (size,), relation, observer)
    return proved(rule, fact, query=query, **given)


def assume_event(
    query: str, likely: Fraction, rarely: Fraction, relation: str, because: str, observer: str = CENTRAL
) -> Theorem:
    """Assume that for two neighbours one event has probability ≥ `likely` and ≤ `rarely`: `Apart` (R22)."""
    rule = "assume_event"
    if radius_of(relation) is None:
        neighbouring(relation, rule)
    numbers = number(likely, rule, "likely"), number(rarely, rule, "rarely")
    need(all(0 <= p <= 1 for p in numbers), rule, f"probabilities lie in [0, 1], found {likely}, {rarely}")
    one_of(observer, rule, "observer", OBSERVERS)
    fact = Apart(query, "event", numbers, relation, observer)
    given: dict[str, Any] = {"likely": str(numbers[0]), "rarely": str(numbers[1]), "observer": observer}
    return proved(rule, fact, query=query, **given, relation=relation, because=because)


def apart(neighbours: Theorem, covered: Theorem, law: str, scale: Fraction) -> Theorem:
    """Distinguish two neighbours by the noisy releases that read their differing record (R22).

    ``gaussian``: noise of variance `scale` (symmetric queries: off the diagonal, twice that on it) on
    every release; the releases together have μ² = most·D²/scale (D²/2 if symmetric).  ``laplace``: noise
    of that scale on one release of a number.
    """
    fact, spread = conclusion_of(neighbours, rule := "apart"), conclusion_of(covered, rule)
    scale = positive(scale, rule, "scale")
    if not isinstance(fact, Apart) or not isinstance(spread, Covered):
        raise RuleError(f"{rule}: needed neighbours and covers, found {fact} and {spread}")
    need(spread.query == fact.query, rule, f"the covers are of {spread.query!r}, not of {fact.query!r}")
    if law == "laplace":
        fine = fact.law == "number" and spread.most == 1
        need(fine, rule, f"Laplace noise is told apart on one release of a number, found {fact}")
        size = fact.numbers[0] / scale
    else:
        known = law == "gaussian" and fact.law in ("number", "vector", "symmetric")
        need(known, rule, f"{law!r} noise is not known for {fact.law!r}")
        square = fact.numbers[0] ** (2 if fact.law == "number" else 1)
        size = spread.most * square / scale / (2 if fact.law == "symmetric" else 1)
    out = replace(fact, law=law, numbers=(size,))
    return proved(rule, out, (neighbours, covered), law=law, scale=str(scale))


def refute(pair: Theorem, epsilon: Fraction, delta: Fraction) -> Theorem:
    """Conclude that (ε, δ) does not hold: these two neighbours have a larger δ(ε) (R22)."""
    fact = conclusion_of(pair, rule := "refute")
    epsilon, delta = number(epsilon, rule, "epsilon"), number(delta, rule, "delta")
    if not isinstance(fact, Apart):
        raise RuleError(f"{rule}: needed two neighbours that are told apart, found {fact}")
    inside = epsilon >= 0 and 0 <= delta <= 1
    need(inside, rule, f"epsilon >= 0 and delta in [0, 1], found {epsilon}, {delta}")

    def reached(_: int) -> arb:
        match fact.law, fact.numbers:
            case "gaussian", (mu_squared,):
                return gdp_delta(mu_squared, epsilon)
            case "laplace", (moved,):
                return -((ball(epsilon) - ball(moved)) / 2).expm1() if moved > epsilon else arb(0)
            case "event", (likely, rarely):
                return ball(likely) - ball(epsilon).exp() * ball(rarely)
        raise RuleError(f"{rule}: {fact.law!r} is not a pair of laws; say what noise hides it")

    # Undecided is not refuted: only a proved excess counts.
    beaten = compare(reached, delta) is False
    need(beaten, rule, f"δ({brief(epsilon)}) is not shown to exceed {brief(delta)}")
    out = Refuted(fact.query, epsilon, delta, fact.relation, fact.observer)
    return proved(rule, out, (pair,), epsilon=str(epsilon), delta=str(delta))
