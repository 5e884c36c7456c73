"""A certificate of the canaries of one training run: its counts and lower bound, inferred again.

Each of m canaries was included by a fair coin of its own.  The `each` lowest scores are guessed to
be out and the `each` highest to be in; v of r = 2·each guesses are right.  Two tests refute (ε, δ):

1. Let a(c) = E[C; C ≥ c]/m and b(c) = E[r − C; C ≥ c]/m, for the number C of right guesses.  Then
   a(c) ≤ F(b(c − 1)), so b(c − 1) ≥ max((a(c) − δ)e^−ε, 1 − δ − e^ε(1 − a(c))).  The least total
   probability with P(C ≥ v) = risk follows by a recursion from v down; above 1 there is no such
   law (after Mahloujifar, Melis & Chaudhuri 2025).  Points of one curve are used together.
2. C ≤ G + N with G ~ Bin(r, s), s = e^ε/(1 + e^ε), and E[N] ≤ mδ/(1 + e^ε), so P(C ≥ v) is at
   most P(G ≥ v) + max Σ x(g) over x(g) ≤ P(G = g), Σ (v − g) x(g) ≤ mδ/(1 + e^ε) (after Steinke,
   Nasr & Jagielski 2023).

Proofs are in audits/one_run/guessing.py.  A level μ stands for points (ε, δ) that it implies.
"""

import math
from fractions import Fraction
from typing import Any

from .certificate.shapes import exact_of
from .curves import Gdp, implies
from .derivation import listed
from .distributions import binomial_tail
from .documents import BROKEN, Rejected, Work, check_members, digest, ensure, integer, items, text
from .intervals import Interval, Pair, exact

SCHEMA = "dpaccount/one-run-certificate/1"
MEMBERS = (
    *("schema", "verdict", "claim", "confidence", "canaries", "rules", "best", "lower", "points"),
    *("hazards", "environment", "created", "digest"),
)
MAX_WORK = 45_000_000  # about eight seconds
MAX_CANARIES, MAX_POINTS, MAX_RULES = 100_000, 64, 16
DIGITS = 40
#: What such a certificate says of its limits.
HAZARDS = (
    "Nobody here saw the training code, the data or the run: coins and scores were handed in.",
    "The bound holds if every canary was included by a fair coin of its own, whatever the others'"
    " were, and if the scores follow from what the run released and from nothing that knows the coins.",
    "The bound holds if the rules, how many canaries are guessed and at which risk, were fixed without"
    " the coins.",
    "An attack that fails proves nothing.",
)


def judged(document: dict[str, Any]) -> tuple[str, str]:
    """Return REFUTED or UNPROVEN, and what follows; raise `Rejected` naming what does not."""
    Work.begin(MAX_WORK)
    try:
        return _judged(document)
    except BROKEN as why:
        said = f"{type(why).__name__}: {str(why)[:80]}"
        raise Rejected(f"a field has the wrong shape ({said})") from None


def _judged(document: dict[str, Any]) -> tuple[str, str]:
    check_members(document, MEMBERS)
    body = {name: value for name, value in document.items() if name != "digest"}
    ensure(document["digest"] == digest(body), "the document's digest does not match its content")
    ensure(document["hazards"] == list(HAZARDS), "the hazards are not those of one run")
    claim, lower = document["claim"], number(document["lower"])
    name = "mu" if "mu" in claim else "epsilon"
    check_members(claim, ("mu",) if name == "mu" else ("epsilon", "delta"))
    claimed = number(claim[name])
    ensure(claimed >= 0 and lower >= 0, "a level is at least 0")
    made, right, canaries, risk = counts(document)
    points = points_of(document, lower)
    if lower > 0:
        holds = refuted(canaries, made, right, points, risk)
        ensure(holds, f"{right} of {made} right guesses do not refute {name} = {document['lower']}")
    verdict = "REFUTED" if lower > claimed else "UNPROVEN"
    ensure(document["verdict"] == verdict, f"the verdict is {verdict}")
    at = "" if name == "mu" else f" at delta {claim['delta']}"
    seen = f"{right} of {made} guesses right among {canaries} canaries"
    if not lower:
        return verdict, f"{verdict}: {seen} show no {name} above 0"
    return verdict, f"{verdict}: {name} at least {document['lower']}{at}, from {seen}"


def counts(document: dict[str, Any]) -> tuple[int, int, int, Fraction]:
    """Return how many guesses are made and right, of how many canaries, and the rule's risk."""
    canaries = document["canaries"]
    check_members(canaries, ("count", "included", "sha256"), ("coins",))
    count, included = integer(canaries["count"]), integer(canaries["included"])
    ensure(included < count, "some canaries are included and some are not")
    rules = [(integer(rule["each"]), number(rule["risk"])) for rule in items(document["rules"])]
    confidence = number(document["confidence"])
    ensure(0 < confidence < 1 and 0 < len(rules) <= MAX_RULES, "a confidence lies between 0 and 1")
    ensure(all(risk > 0 for _, risk in rules), "the risk of a rule is above 0")
    spent = sum(risk for _, risk in rules)
    ensure(spent <= 1 - confidence, "the rules risk more than the confidence leaves")
    best = document["best"]
    check_members(best, ("each", "right"))
    each, right = integer(best["each"]), integer(best["right"], 0)
    risks = [risk for size, risk in rules if size == each]
    ensure(len(risks) == 1, "the guesses are not those of one of the rules")
    ensure(right <= 2 * each <= count, "more guesses than canaries, or more right than made")
    if "coins" in canaries:
        coins = text(canaries["coins"])
        several = len(coins) == count <= MAX_CANARIES
        ensure(several and set(coins) <= {"0", "1"}, "there is not one coin for each canary")
        ensure(coins.count("1") == included, "another number of coins says included")
        hits = coins[count - each :].count("1") + coins[:each].count("0")
        ensure(hits == right, f"of the coins by score, {hits} are guessed right")
    return 2 * each, right, count, risks[0]


def points_of(document: dict[str, Any], lower: Fraction) -> list[tuple[Fraction, Fraction]]:
    """Return the points (ε, δ) that the level implies."""
    given = [tuple(number(value) for value in items(each)) for each in items(document["points"])]
    points = [(epsilon, delta) for epsilon, delta in given]
    ensure(len(points) <= MAX_POINTS, f"at most {MAX_POINTS} points")
    ensure(all(0 <= e <= 700 and 0 <= d <= 1 for e, d in points), "points are out of range")
    if "epsilon" in document["claim"]:
        point = (lower, number(document["claim"]["delta"]))
        ensure(points == [point], "the point is not the bound's")
    else:
        holds = all(implies(Gdp(lower**2), epsilon, delta) for epsilon, delta in points)
        ensure(holds and bool(points) == (lower > 0), "mu does not imply a point")
    return points


def refuted(
    canaries: int, made: int, right: int, points: list[tuple[Fraction, Fraction]], risk: Fraction
) -> bool:
    """Return whether so many right guesses have probability below `risk` under the points."""
    if right == 0:
        return False
    if len(points) == 1 and by_binomial(canaries, made, right, *points[0], risk):
        return True
    return by_recursion(canaries, made, right, points, risk)


def by_recursion(
    canaries: int, made: int, right: int, points: list[tuple[Fraction, Fraction]], risk: Fraction
) -> bool:
    """Return whether the first test refutes the points, for certain."""
    i = Interval(DIGITS)
    lines = [(i.exp(i.of(-e)), i.exp(i.of(e)), i.of(d)) for e, d in points]
    one, total = i.of(1), i.of(risk)
    hit, miss = i.of(risk * right / canaries), i.of(risk * (made - right) / canaries)
    for count in range(right - 1, -1, -1):
        missing = i.sub(needed(i, lines, hit), miss)
        if missing[0] <= 0:
            return bool(total[0] > 1)
        share = i.div(i.mul(missing, i.of(canaries)), i.of(made - count))
        total = i.add(total, share)
        miss = i.add(miss, missing)
        hit = i.add(hit, i.div(i.mul(share, i.of(count)), i.of(canaries)))
        if total[0] > one[1]:
            return True
    return False


def needed(i: Interval, lines: list[tuple[Pair, Pair, Pair]], hit: Pair) -> Pair:
    """Enclose the least probability of a wrong guess that right ones of this probability need."""
    least = (i.of(0)[0], i.of(0)[1])
    for shrunk, grown, delta in lines:
        for bound in (
            i.mul(i.sub(hit, delta), shrunk),
            i.sub(i.sub(i.of(1), delta), i.mul(grown, i.sub(i.of(1), hit))),
        ):
            least = max(least[0], bound[0]), max(least[1], bound[1])
    return least


def by_binomial(
    canaries: int, made: int, right: int, epsilon: Fraction, delta: Fraction, risk: Fraction
) -> bool:
    """Return whether the second test refutes (ε, δ), for certain."""
    i = Interval(DIGITS)
    grown = i.exp(i.of(epsilon))
    above = exact(i.div(grown, i.add(grown, i.of(1)))[1])
    s = Fraction(math.floor(above * 10**12) + 1, 10**12)  # rounded up: more guesses are right
    if right <= made * s or s >= 1:
        return False
    budget = i.div(i.of(canaries * delta), i.add(grown, i.of(1)))[1]
    tail = binomial_tail(i, made, s, right, up=True)
    total, most = tail[1], i.of(risk)[0]
    for lower in range(right - 1, -1, -1):
        if budget <= 0 or total > most:
            break
        longer = binomial_tail(i, made, s, lower, up=True)
        mass = min(i.up.subtract(longer[1], tail[0]), i.up.divide(budget, right - lower))
        tail, total = longer, i.up.add(total, mass)
        budget = i.up.subtract(budget, i.down.multiply(mass, right - lower))
    return bool(total <= most)


def number(value: object) -> Fraction:
    """Read a finite number."""
    found = exact_of(value, "a number")
    if found is None:
        raise Rejected("a number should be finite")
    return found


def to_read() -> dict[str, list[dict[str, Any]]]:
    """Return the reading list: this file, and those that it imports from."""
    return listed({"one-run": judged}, __name__)
