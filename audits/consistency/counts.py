"""The counts of an audit, and the bounds on ε that they support or refute."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from audits.consistency.evidence import MAX_RUNS
from dpaccount.checker.certificate.shapes import exact_of
from dpaccount.checker.curves import Gdp, Lattice, Pure, implies
from dpaccount.checker.derivation import Step
from dpaccount.checker.distributions import binomial_tail
from dpaccount.checker.documents import Rejected, ensure, integer, natural, spend
from dpaccount.checker.facts import Fact, fact_of
from dpaccount.checker.intervals import ZERO, Interval

MAX_POINTS = 64  # of one audit
#: rules whose conclusion repeats a premise
TRANSPARENT = ("post_process", "billboard", "local_view", "parallel", "mixture")
Point = dict[str, Any]


def audited(document: dict[str, Any], final: Fact | None) -> set[str]:
    """Return which of claim and proof the audit beats, from its counts and within the claim's confidence."""
    points = document["audit"]["points"]
    ensure([p["of"] for p in points].count("claim") == 1, "an audit attacks the claim at one point")
    ensure(len(points) <= MAX_POINTS, "more points than this checker counts")
    check_runs(document)
    check_points(document, final)
    beaten = {point["of"] for point in points if beats(document, point, final)}
    check_confidence(document)
    check_power(document)
    return beaten


def check_points(document: dict[str, Any], final: Fact | None) -> None:
    """Verify that the points attacked are the claim and, of a curve that is proved, 0 and half its ε."""
    points, promise = document["audit"]["points"], exact_of(document["guarantee"]["epsilon"], "epsilon")
    limits = [exact_of(point["limit"], "limit") for point in points if point["of"] == "proof"]
    unit = document["audit"]["witness"].get("unit")
    curves = list(asserted(document["proved"]["derivation"], unit)) if final is not None else []
    wanted = {Fraction(0), promise / 2 if promise is not None else None} if curves else set()
    times = {limits.count(limit) for limit in wanted} or {0}
    every = set(limits) == wanted and len(times) == 1 and max(times) >= len(curves)
    ensure(every, "the attack is not on the points of what is proved")
    for point in points:
        words = "seen {hits} of {runs} against {alarms} of {other_runs}".format(**point)
        ensure(point["event"].endswith(words), f"the event of a point was {words}")


def check_power(document: dict[str, Any]) -> None:
    """Verify that a hazard is listed where no outcome of the runs could exceed the claim."""
    point = next(point for point in document["audit"]["points"] if point["of"] == "claim")
    half, delta = (
        float(exact_of(point["risk"], "risk") or 1) / 2,
        float(exact_of(point["delta"], "delta") or 0),
    )
    most = half ** (1 / point["runs"]) - delta
    could = math.log(most / -math.expm1(math.log(half) / point["other_runs"])) if most > 0 else -math.inf
    words = f"which is not above the claim's {point['limit']}: it tested nothing of the claim itself."
    stated = any(each.endswith(words) for each in document["hazards"])
    idle = could < float(min(exact_of(point["limit"], "limit") or 0, 10**300)) * (1 - 1e-6)
    ensure(stated or not idle or not document["proved"]["derivation"], f"the hazards lack: {words}")


def attacked(audit: dict[str, Any]) -> bool:
    """Return whether any run of an audit showed an event that it counts."""
    return any(point["hits"] or point["alarms"] for point in audit["points"])


def beats(document: dict[str, Any], point: Point, final: Fact | None) -> bool:
    """Return whether the counts of a point exceed its limit; verify the bounds stated from them."""
    chance = exact_of(point["risk"], "risk")
    ensure(chance is not None and 0 < chance < 1, "a risk lies strictly between 0 and 1")
    lower, bound = exact_of(point["epsilon_lower"], "epsilon_lower"), exact_of(point["limit"], "limit")
    confirm_counts(point, lower or Fraction(0))
    if point["of"] == "claim":
        check_headline(document, point)
    else:
        ensure(final is not None, "a point is of the claim or of the proof")
        ensure(asserts(document, point), "the proof does not assert the point that is attacked")
    if bound is None:
        return False
    if lower is not None and lower > bound:
        return True
    ensure(consistent(point, bound), "the audit's counts refute a limit that it says they leave standing")
    return False


def check_headline(document: dict[str, Any], point: Point) -> None:
    """Verify that what is attacked is the guarantee, and that the audit's own bound is this point's."""
    promise, audit = document["guarantee"], document["audit"]
    attacked = exact_of(point["limit"], "limit"), exact_of(point["delta"], "delta")
    same = attacked == (exact_of(promise["epsilon"], "epsilon"), exact_of(promise["delta"], "delta"))
    ensure(same, "the audit's claim is not the guarantee")
    lower = exact_of(point["epsilon_lower"], "epsilon_lower")
    headline = lower == exact_of(audit["epsilon_lower"], "epsilon_lower")
    ensure(headline, "the audit's headline is not its point")


def check_confidence(document: dict[str, Any]) -> None:
    """Verify that the risks of all points fit the claim's confidence."""
    audit = document["audit"]
    confidence = exact_of(audit["confidence"], "confidence")
    asked = exact_of(document["claim"].get("audit", {}).get("confidence", "0.95"), "confidence")
    ensure(confidence == asked, "the audit's confidence is not the claim's")
    share = (1 - (confidence or Fraction(1))) / len(audit["points"])
    ensure(0 < share < 1, "a confidence lies strictly between 0 and 1")
    # what is beaten at first is measured again, more strictly (`audits.attack.confirmation`); with any other
    # risk, a small one, no counts would refute anything
    once, strong = Fraction(1, 1000) / len(audit["points"]), Fraction(1, 2000) / len(audit["points"])
    risks = {share, min(share, once), min(share, strong), share * 4 / 5, min(share / 5, strong / share)}
    fair = all(exact_of(point["risk"], "risk") in risks for point in audit["points"])
    ensure(fair, "the points share the risk that the audit's confidence leaves, each alike")


def check_runs(document: dict[str, Any]) -> None:
    """Verify that runs and trials go together, and with what the claim asks for.

    An attack on a proof scores every run at every point, either side first, but for a twentieth that chooses
    thresholds, ten at least; one on a function also spends runs on the search.  Slow runs are fewer.
    """
    audit, trials = document["audit"], integer(document["audit"]["trials"])
    asked = exact_of(document["claim"].get("audit", {}).get("trials", 20_000), "trials") or Fraction(0)
    ensure(10 <= asked <= MAX_RUNS and asked.denominator == 1, f"a claim asks for 10 to {MAX_RUNS} runs")
    sides = {frozenset([integer(p["runs"]), integer(p["other_runs"])]) for p in audit["points"]}
    runs = {p["runs"] + p["other_runs"] for p in audit["points"]}
    ensure(len(sides) == 1 and max(runs) <= trials, "the audit counts other runs than it made")
    if document["proved"]["derivation"]:
        train = max(trials // 20, 10)
        ensure(min(runs) == trials - train, f"the audit counts other runs than all but {train} of its trials")
        ensure(trials >= 60, "an attack on a proof makes at least 30 runs a side")
        most = max(int(asked) // 2 // (10 if audit["quick"] else 1), 30)
        ensure(trials <= 2 * most, "the audit says that it made more runs than the claim asks for")


def asserts(document: dict[str, Any], point: Point) -> bool:
    """Return whether the curve behind the derivation's last point implies this point too."""
    steps = document["proved"]["derivation"]
    limit, delta = exact_of(point["limit"], "limit"), exact_of(point["delta"], "delta")
    if limit is None or delta is None:
        return False
    return any(implies(curve, limit, delta) for curve in asserted(steps, None))


def asserted(steps: list[Step], unit: object) -> Iterator[Pure | Gdp | Lattice]:
    """Yield the curves that are proved of a unit, None for any, and turned into the last point."""
    for step in alike(steps):
        if step["rule"] == "to_approximate":
            fact = fact_of(steps[step["from"][0]]["gives"])
            units = fact.units if type(unit) is int else None
            if isinstance(fact.curve, Pure | Gdp | Lattice) and (
                units is None or unit in range(units[0], units[1] + 1)
            ):
                yield fact.curve


def alike(steps: list[Step]) -> Iterator[Step]:
    """Yield the last step and the steps that it repeats: of a view, or of one of several parts."""
    wanted = {len(steps) - 1}
    for index in range(len(steps) - 1, -1, -1):
        if index in wanted:
            yield steps[index]
            wanted.update(steps[index]["from"] if steps[index]["rule"] in TRANSPARENT else ())


def confirm_counts(point: Point, lower: Fraction) -> None:
    """Verify ε ≥ `lower` from the counts of an event in runs on D and on D′ (Clopper & Pearson 1934).

    With probability at least 1 − risk, P(event|D) ≥ p₁ and P(event|D′) ≤ p₂, each binomial tail at
    most risk/2; then e^ε ≥ (p₁ − δ)/p₂.
    """
    hits, runs = natural(point["hits"]), integer(point["runs"])
    alarms, others = natural(point["alarms"]), integer(point["other_runs"])
    ensure(hits <= runs and alarms <= others and max(runs, others) <= MAX_RUNS, "more hits than runs")
    risk, delta = exact_of(point["risk"], "risk"), exact_of(point["delta"], "delta")
    p, q = exact_of(point["power"], "power"), exact_of(point["false_alarm"], "false_alarm")
    if risk is None or delta is None or p is None or q is None:
        raise Rejected("the audit's numbers should be finite")
    ensure(
        0 < risk < 1 and 0 <= p <= 1 and 0 < q <= 1 and delta <= 1,
        "the audit's probabilities are out of range",
    )
    i = Interval(40)
    high = binomial_tail(i, runs, p, hits, up=True) if p > 0 else ZERO
    low = binomial_tail(i, others, q, alarms, up=False) if q < 1 else ZERO
    half = i.of(risk / 2)
    ensure(high[1] <= half[0], "the audit's power is not supported by its counts")
    ensure(low[1] <= half[0], "the audit's false-alarm rate is not supported by its counts")
    if lower:
        ensure(p - delta > 0, "the audit's power does not exceed delta")
        ensure(i.exp(i.of(lower))[1] <= i.of((p - delta) / q)[0], "the audit's lower bound does not follow")


def consistent(point: Point, limit: Fraction) -> bool:
    """Return whether the counts are consistent with e^limit ≥ (p₁ − δ)/p₂, as in `confirm_counts`.

    They are if some rate x is at most the largest p₂ and δ + e^limit x at least the smallest p₁.
    At the observed rates no tail is below 1/2; otherwise x is computed in floats, then verified.
    """
    hits, runs, alarms, others = (int(point[name]) for name in ("hits", "runs", "alarms", "other_runs"))
    half = (exact_of(point["risk"], "risk") or Fraction(1)) / 2
    delta, i = exact_of(point["delta"], "delta") or Fraction(0), Interval(40)
    factor = Fraction(i.exp(i.of(min(limit, Fraction(1000))))[0])
    seen = Fraction(alarms, others)
    if delta + factor * seen >= Fraction(hits, runs) or alarms == others:
        return True
    x = Fraction(largest_rate(others, alarms, float(half))) * (1 - Fraction(1, 10**6))
    if x > seen and binomial_tail(i, others, x, alarms, up=False)[0] <= i.of(half)[1]:
        raise Rejected("a rate could not be verified from its counts")
    y = delta + factor * max(x, seen)
    return bool(y >= Fraction(hits, runs)) or bool(
        y > 0 and binomial_tail(i, runs, y, hits, up=True)[0] > i.of(half)[1]
    )


def largest_rate(n: int, k: int, risk: float) -> float:
    """Return about the largest p with P(Bin(n, p) ≤ k) ≥ `risk`, k < n: a search; its result is verified."""
    low, high = k / n, 1.0
    choose = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    for _ in range(50):
        p = (low + high) / 2
        if not low < p < high:
            break
        total = term = 1.0
        steps = 0
        for j in range(k, 0, -1):
            steps += 1
            term *= j / (n - j + 1) * (1 - p) / p
            total += term
            if term < total * 1e-12:
                break
        spend(20 + steps // 2)
        tail = choose + k * math.log(p) + (n - k) * math.log1p(-p) + math.log(total)
        low, high = (p, high) if tail >= math.log(risk) else (low, p)
    return low
