"""What was released, and the ledger that paid: it was certified, and the figures follow from the charge."""

from fractions import Fraction
from typing import Any

from ..curves import Approximate
from ..documents import Rejected, brief, ensure, integer
from ..facts import ANYONE, Fact, Private
from .draws import STUDY, names_of, unlisted
from .replaced import neighbours_of
from .shapes import exact_of
from .widths import check_widths

SUM_ROUNDING = Fraction(1, 2**40)  # more than rounding to doubles adds to a sum
ENDS = {"low", "high", "level", "of"}  # of the interval of a reported number
READ = ("before", "after", "rest")
NOTICED = 1000  # a charge that is a larger share of what was spent before shows in every measure


def check_release(document: dict[str, Any], final: Fact | None) -> None:
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
    if document["subject"]["use"] == STUDY:
        check_reported(release["report"], document["subject"]["parameters"]["statistics"])
        check_shown(release["report"], document["subject"]["parameters"])
        check_widths(release["report"], document["subject"]["parameters"])
    if "budget" in release:
        check_budget(release["budget"], document["guarantee"], final)


def check_reported(report: dict[str, Any], described: list[dict[str, Any]]) -> None:
    """Verify that a study reports the statistics that it lists, their intervals, and nothing else."""
    names = {each["name"] for each in described}
    numbers = {name for each in described for name in names_of(each)}
    ends = report.get("accuracy", {})
    ensure(report.keys() - {"accuracy"} == numbers, "a release reports other statistics than are listed")
    ensure(type(ends) is dict and ends.keys() <= names, "intervals are of statistics that are not listed")
    for name, interval in ends.items():
        ensure(type(interval) is dict and interval.keys() == ENDS, f"{brief(name)} has no such interval")


def check_shown(report: dict[str, Any], held: dict[str, Any]) -> None:
    """Verify that each unlisted value is reported with a count that reaches its threshold."""
    names = [each["name"] for each in held["statistics"] if unlisted(each)]
    for name, least in zip(names, held.get("thresholds", []), strict=True):
        counts = report[name]
        several = type(counts) is list and len(counts) == len(report[f"{name}/texts"])
        shown = several and all((exact_of(each, "a count") or 0) >= integer(least) for each in counts)
        ensure(shown, f"{brief(name)} reports values whose counts do not reach the threshold")


def check_budget(budget: dict[str, Any], promise: dict[str, Any], final: Fact | None) -> None:
    """Verify that a ledger that paid counts the claim's neighbours and units, and that its figures add up.

    Others may have charged between the readings before and after.
    """
    same = (budget["relation"], budget["unit"]) == (neighbours_of(promise), promise["unit"])
    ensure(same, f"the ledger that paid counts {brief(budget['relation'])}, of {brief(budget['unit'])}")
    uppers = [exact_of(budget[when]["upper"], when) for when in READ]
    lowers = [exact_of(budget[when]["lower"] or 0, when) for when in READ]
    before, after, rest = uppers
    whole, delta = exact_of(budget["epsilon"], "epsilon"), exact_of(budget["delta"], "delta")
    if not isinstance(final, Private) or not isinstance(final.curve, Approximate):
        raise Rejected("a charge is of what is proved")
    cost, allowed, everyone = final.curve.epsilon, final.curve.delta, final.units in (None, ANYONE)
    if whole is None or before is None or after is None or rest is None:
        raise Rejected("a ledger's figures are finite: what has no end fits no budget")
    widths = [a - b for a, b in zip(uppers, lowers, strict=True) if a is not None and b is not None]
    crossed = len(widths) < len(READ) or min(widths) < 0
    ensure(not crossed, "the budget has a lower end above the upper one")
    plain = budget["measure"] in ("pure", "approximate")
    slack = SUM_ROUNDING * (whole if plain else whole + 1)
    ensure(before <= after + slack, "less is spent after the charge than before")
    ensure(max(after, rest) <= whole + slack, "more is spent, or left, than the whole budget")
    if everyone and cost * NOTICED >= before:
        ensure(cost == 0 or before < after, "something is charged, and nothing was spent")
    ensure(plain or budget["measure"] in ("gdp", "zcdp", "either"), "the ledger adds up no known measure")
    right = allowed == 0 or (budget["measure"] == "approximate" and delta is not None and allowed <= delta)
    ensure(right and delta is not None and delta < 1, "the delta of the charge is not within the ledger's")
    ensure(plain or delta != 0, f"nothing is within delta 0 in {brief(budget['measure'])}")
    if plain:  # its amounts are sums of ε
        least_after = before + cost if everyone else max(before, cost)
        ensure(after + slack >= least_after, "less is spent than before and by the charge together")
        ensure(abs(after + rest - whole) <= slack, "what is spent and what is left are not the whole budget")
        ensure(max(widths) <= slack, "sums are known, and an end of the budget is not")
