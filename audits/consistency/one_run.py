"""A certificate of the canaries of one training run: its counts and lower bound, inferred again.

Each of m canaries was included by a fair coin of its own.  The `each` lowest scores are guessed to
be out and the `each` highest to be in; v of r = 2·each guesses are right.  Let C be their number,
a(c) = E[C; C ≥ c]/m and b(c) = E[r − C; C ≥ c]/m.  Under (ε, δ) a(c) ≤ F(b(c − 1)), so
b(c − 1) ≥ max((a(c) − δ)e^−ε, 1 − δ − e^ε(1 − a(c))).  The least total probability with P(C ≥ v) =
risk follows by a recursion from v down; above 1 there is no such law, and v right guesses refute
(ε, δ) at this risk (after Mahloujifar, Melis & Chaudhuri 2025; proof in audits/one_run/guessing.py).

A level μ stands for points (ε, δ) that it implies.
"""

import re
from fractions import Fraction
from typing import Any

from dpaccount.checker.certificate.shapes import MOMENT, exact_of
from dpaccount.checker.curves import Gdp, implies
from dpaccount.checker.derivation import listed
from dpaccount.checker.documents import (
    Rejected,
    Work,
    check_members,
    digest,
    ensure,
    integer,
    items,
    text,
    unbroken,
)
from dpaccount.checker.intervals import Interval, Pair

Document = dict[str, Any]
SCHEMA = "dpaccount/one-run-certificate/1"
MEMBERS = (
    *("schema", "verdict", "claim", "confidence", "canaries", "rules", "best", "lower", "points"),
    *("hazards", "environment", "created", "digest"),
)
WORK_OF_ONE_RUN = 45_000_000  # about eight seconds
MAX_CANARIES, MAX_POINTS, MAX_RULES = 100_000, 64, 16
DECIMALS = 40
UNEVEN = 43  # 2 exp(−43/2) < 1e-9 (Hoeffding's inequality)
SHA256 = re.compile("[0-9a-f]{64}", re.ASCII)
#: What such a certificate says of its limits.
HAZARDS = (
    "Nobody here saw the training code, the data or the run: coins and scores were handed in.",
    "The bound holds if every canary was included by a fair coin of its own, whatever the others'"
    " were, and if the scores follow from what the run released and from nothing that knows the coins.",
    "The bound holds if the rules, how many canaries are guessed and at which risk, were fixed without"
    " the coins.",
    "An attack that fails proves nothing.",
)


def judged(document: Document) -> tuple[str, str]:
    """Return REFUTED or UNPROVEN, and what follows; raise `Rejected` naming what does not."""
    Work.begin(WORK_OF_ONE_RUN)
    with unbroken():
        return _judged(document)


def _judged(document: Document) -> tuple[str, str]:
    check_members(document, MEMBERS)
    body = {name: value for name, value in document.items() if name != "digest"}
    ensure(document["digest"] == digest(body), "the document's digest does not match its content")
    ensure(document["hazards"] == list(HAZARDS), "the hazards are not those of one run")
    ensure(MOMENT.fullmatch(text(document["created"])) is not None, "created is no moment")
    environment = document["environment"]
    ensure(isinstance(environment, dict), "the environment should be a table of texts")
    for each in environment.values():
        text(each)
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
    seen = f"{seen}, at confidence {document['confidence']}"
    if not lower:
        return verdict, f"{verdict}: no {name} above 0 is claimed, from {seen}"
    return verdict, f"{verdict}: {name} at least {document['lower']}{at}, from {seen}"


def counts(document: Document) -> tuple[int, int, int, Fraction]:
    """Return how many guesses are made and right, of how many canaries, and the rule's risk."""
    canaries = document["canaries"]
    check_members(canaries, ("count", "included", "sha256"), ("coins", "seed"))
    integer(canaries.get("seed", 0), 0)
    count, included = integer(canaries["count"], 10), integer(canaries["included"])
    ensure(SHA256.fullmatch(text(canaries["sha256"])) is not None, "sha256 is no digest")
    ensure(included < count, "some canaries are included and some are not")
    fair = (2 * included - count) ** 2 <= UNEVEN * count
    ensure(fair, f"fair coins do not include {included} of {count} canaries")
    for rule in items(document["rules"]):
        check_members(rule, ("each", "risk"))
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
    out = count - included
    least = max(each - out, 0) + max(each - included, 0)
    possible = least <= right <= min(each, included) + min(each, out)
    ensure(possible, f"{right} of {2 * each} guesses cannot be right with {included} included")
    ensure(("coins" in canaries) == (count <= MAX_CANARIES), "coins are for at most 100000 canaries")
    if "coins" in canaries:
        coins = text(canaries["coins"])
        ensure(len(coins) == count and set(coins) <= {"0", "1"}, "there is not one coin for each canary")
        ensure(coins.count("1") == included, "another number of coins says included")
        hits = coins[count - each :].count("1") + coins[:each].count("0")
        ensure(hits == right, f"of the coins by score, {hits} are guessed right")
    return 2 * each, right, count, risks[0]


def points_of(document: Document, lower: Fraction) -> list[tuple[Fraction, Fraction]]:
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
    """Return whether so many right guesses have probability below `risk` under the points, for certain."""
    if right == 0:
        return False
    i = Interval(DECIMALS)
    lines = [(i.exp(i.of(-e)), i.exp(i.of(e)), i.of(d)) for e, d in points]
    one, total = i.of(1), i.of(risk)
    hit, miss = i.of(risk * right / canaries), i.of(risk * (made - right) / canaries)
    # From the count that was seen down: each count needs the sums of those above it.
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


def number(value: object) -> Fraction:
    """Read a finite number."""
    exact_value = exact_of(value, "a number")
    if exact_value is None:
        raise Rejected("a number should be finite")
    return exact_value


def to_read() -> Any:
    """Return the reading list: this file, and those that it imports from."""
    return listed({"one-run": judged}, __name__)
