"""What was released: by the code that is proved, and paid for; and what each statistic of a study costs."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from ..curves import MOST_NEAR, NEAR, Approximate, BoundedRange, Pure, amounts_of, check_left, check_measure
from ..derivation import NOISE, unconverted
from ..documents import Rejected, brief, ensure, integer, text
from ..facts import ANYONE, Fact, Private, apply
from .shapes import exact_of
from .tables import STUDY, Table
from .verdict import neighbours_of

SUM_ROUNDING = Fraction(1, 2**40)  # more than rounding to doubles adds to a sum
READ = ("before", "after", "rest")
NOTICED = 1000  # a charge that is a larger share of what was spent before shows in every measure


def check_release(document: dict[str, Any], facts: list[Fact]) -> None:
    """Verify that what was released was certified, of these data by this code, and is marked as it is."""
    release, data = document["release"], document["claim"].get("data", {})
    certified = document["verdict"] == "CERTIFIED"
    ensure(document["releasable"] == certified, "what is certified is releasable, and nothing else")
    if release is None:
        return
    ensure(certified and bool(data), "a release goes with a certified claim that names its data")
    integer(release["ledger_entry"])  # an entry of its ledger
    ensure(release["code"] == document["subject"]["code"], "the release is by other code than the subject's")
    public = data.get("public", False)
    ensure(public or release["evaluation"] is None, "an evaluation without noise is of public data only")
    if "budget" in release:
        steps = document["proved"]["derivation"]
        paid = [facts[-1], unconverted(steps, facts)] if facts else [None]
        check_budget(release["budget"], document["guarantee"], paid)


def check_budget(budget: dict[str, Any], promise: dict[str, Any], paid: list[Fact | None]) -> None:
    """Verify that a ledger that paid counts the claim's neighbours and units, and that its figures add up.

    It paid for what is proved, `paid[0]`, or for what that was converted from.
    Others may have charged between the readings before and after.
    """
    same = (budget["relation"], budget["unit"]) == (neighbours_of(promise), promise["unit"])
    ensure(same, f"the ledger that paid counts {brief(budget['relation'])}, of {brief(budget['unit'])}")
    uppers = [exact_of(budget[when]["upper"], when) for when in READ]
    lowers = [exact_of(budget[when]["lower"] or 0, when) for when in READ]
    before, after, rest = uppers
    whole, delta = exact_of(budget["epsilon"], "epsilon"), exact_of(budget["delta"], "delta")
    final = paid[0]
    if not isinstance(final, Private) or not isinstance(final.curve, Approximate):
        raise Rejected("a charge is of what is proved")
    cost, allowed, everyone = final.curve.epsilon, final.curve.delta, final.units in (None, ANYONE)
    if whole is None or delta is None or before is None or after is None or rest is None:
        raise Rejected("a ledger's figures are finite: what has no end fits no budget")
    widths = [a - b for a, b in zip(uppers, lowers, strict=True) if a is not None and b is not None]
    ensure(len(widths) == len(READ) and min(widths) >= 0, "the budget has a lower end above the upper one")
    plain = budget["measure"] in ("pure", "approximate")
    slack = SUM_ROUNDING * (whole if plain else whole + 1)
    ensure(before <= after + slack, "less is spent after the charge than before")
    ensure(max(after, rest) <= whole + slack, "more is spent, or left, than the whole budget")
    capped = exact_of(budget.get("life_epsilon", "0"), "life_epsilon")
    ensure(not capped or capped >= whole, "the life cap is below the budget")
    if everyone and cost * NOTICED >= before:
        ensure(cost == 0 or before < after, "something is charged, and nothing was spent")
    ensure(plain or budget["measure"] in ("gdp", "zcdp", NEAR, "either"), "the ledger has no known measure")
    check_left({name: exact_of(most, name) for name, most in budget.get("left", {}).items()}, whole, delta)
    within = budget["measure"] == "approximate" and allowed <= delta
    curves = [fact.curve for fact in paid if isinstance(fact, Private)]
    pure = [amounts_of(curve)[0] for curve in curves if isinstance(curve, Pure | BoundedRange)]
    right = allowed == 0 or within or pure or not plain  # paid before it was converted to (ε, δ)
    ensure(bool(right) and delta < 1, "the delta of the charge is not within the ledger's")
    ensure(plain or delta != 0, f"nothing is within delta 0 in {brief(budget['measure'])}")
    if plain:  # its amounts are sums of ε
        cost = cost if allowed == 0 or within else pure[0]
        least_after = before + cost if everyone else max(before, cost)
        ensure(after + slack >= least_after, "less is spent than before and by the charge together")
        least = -whole if capped else -slack  # a life cap may leave less
        ensure(
            least <= after + rest - whole <= slack, "what is spent and what is left are not the whole budget"
        )
        ensure(max(widths) <= slack, "sums are known, and an end of the budget is not")
    else:
        check_measure(budget["measure"], after, delta, curves)
        ensure(budget["measure"] == "gdp" or not any(lowers[:2]), "no lower end of ρ's ε is known")
        ensure(budget["measure"] != NEAR or whole <= MOST_NEAR, f"{NEAR} takes ε up to {MOST_NEAR}")


def check_parts(document: Table, facts: list[Fact]) -> None:
    """Verify the epsilon that is stated of each statistic of a proved study: what its draws alone cost."""
    if not facts or document["subject"]["use"] != STUDY:
        return
    steps = document["proved"]["derivation"]
    keys = [text(step["with"]["key"]) for step in steps if step["rule"] in NOISE]
    for each in document["subject"]["parameters"]["statistics"]:
        if each["epsilon"] is not None:
            own = {key for key in keys if key.rpartition("/")[0] == each["name"]}
            epsilon = exact_of(each["epsilon"], "epsilon")
            met = epsilon is not None and own != set() and costs_at_most(steps, facts, own, epsilon)
            ensure(met, f"the statistic {brief(each['name'])} costs more than its epsilon")


def costs_at_most(steps: list[Table], facts: list[Fact], keys: set[str], epsilon: Fraction) -> bool:
    """Return whether these draws alone cost at most `epsilon`, by the steps of the whole proof."""
    times = [1] * len(steps)  # how many times what a step proves is counted in the last one
    for k in range(len(steps) - 1, -1, -1):
        for before in steps[k]["from"]:
            grouped = steps[k]["rule"] == "group"
            times[before] = times[k] * (steps[k]["with"]["size"] if grouped else 1)
    kept: dict[int, Fact] = {}
    for k, step in enumerate(steps):
        rule, given = step["rule"], step["with"]
        parts = [kept[p] for p in step["from"] if p in kept]
        if rule in NOISE and given["key"] in keys:
            kept[k] = facts[k]
        elif parts and (rule == "post_process" or (rule == "compose" and len(parts) == 1)):
            kept[k] = parts[0]
        elif parts and rule == "compose":
            kept[k] = apply(rule, parts, given)
        elif parts:
            first, *others = step["from"]
            asked = {"epsilon": str(epsilon / times[k])} if rule == "to_approximate" else {}
            part = replace(kept[first], subject=facts[first].subject)
            try:
                kept[k] = apply(rule, [part, *(facts[p] for p in others)], given | asked)
            except Rejected:
                return False
    curve = kept[len(steps) - 1].curve
    return isinstance(curve, Approximate) and curve.epsilon <= epsilon
