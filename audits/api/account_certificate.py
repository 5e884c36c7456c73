"""Certificates of what a plan costs: the witnesses by which the independent checker confirms an upper end.

What is chosen here, in floats, is a method and how fine lattices are: a bad choice confirms a larger number
and never a wrong one.  The checker is asked about every document before it is given away.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from audits.api.lattice_witness import Fineness, Witnessed, over_budget, witnessed
from dpaccount.checker import Rejected, digest
from dpaccount.checker.accounting import LAST, MAX_WORK, SCHEMA, bounds, judged, methods
from dpaccount.checker.accounting.lattice import delta as lattice_delta
from dpaccount.checker.accounting.plan import classes
from dpaccount.checker.accounting.releases import Releases
from dpaccount.checker.documents import BROKEN, Work
from dpaccount.checker.intervals import Interval
from dpaccount.exact import Enclosure, shown as spelled, to_digits

SIGNIFICANT = 10  #: digits of what is confirmed
FINENESS = (1, 2, 4, 8)  #: of lattices, tried in this order until the checker's work allows one
FREE = 10**9  #: work that the search may do: the checker's limit is for what it leads to
ORDERS = [1 + Fraction(round(1000 * math.exp(x / 8)), 1000) for x in range(-40, 80)]


@dataclass(frozen=True)
class Asked:
    """A question: ε at `delta`, or δ at `epsilon`; and the accountant's answer, where it is finite."""

    delta: Fraction | None
    epsilon: Fraction | None
    tight: Enclosure

    def point(self, answer: Fraction) -> tuple[Fraction, Fraction]:
        """Return (ε, δ) of an answer."""
        if self.delta is not None:
            return answer, self.delta
        return self.epsilon or Fraction(0), answer

    @property
    def guess(self) -> Fraction | None:
        """Return the accountant's upper end, rounded up; None where it is infinite."""
        upper = self.tight.upper
        return None if upper == math.inf else rounded_up(Fraction(upper))


@dataclass(frozen=True)
class Shown:
    """By which rule and witness a class of units costs at most `answer` in one direction."""

    rule: str
    witness: dict[str, Any]
    answer: Fraction


def certificate(
    plan: Any, tight: Enclosure, *, delta: Fraction | None = None, epsilon: Fraction | None = None
) -> dict[str, Any]:
    """Return the certificate of a plan's answer, a document of schema ``dpaccount/account-certificate/1``.

    `plan` is the document of events as it is written, its numbers exact; `tight` the accountant's answer to
    ε at `delta` or δ at `epsilon`.  Where the checker confirms nothing, `confirmed` says why.
    """
    asked = Asked(delta, epsilon, tight)
    name, value = ("delta", delta) if delta is not None else ("epsilon", epsilon)
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "plan": plan,
        "question": {name: spelled(value or Fraction(0))},
        "tight": tight.as_json(),
    }
    try:
        relation, units = classes(plan)
        steps, answer = derived(asked, relation, units, plan)
        sealed = seal({**document, "confirmed": {"upper": spelled(answer)}, "derivation": steps})
        judged(sealed)
    except (Rejected, *BROKEN) as why:
        said = str(why) or type(why).__name__
        return seal({**document, "confirmed": {"upper": None, "why": said}, "derivation": []})
    return sealed


def seal(body: dict[str, Any]) -> dict[str, Any]:
    """Return the document with its digest."""
    return {**body, "digest": digest(body)}


def derived(
    asked: Asked, relation: str, units: list[tuple[int | None, Releases]], plan: Any
) -> tuple[list[dict[str, Any]], Fraction]:
    """Return the steps for each class of units and direction, and the answer that they confirm."""
    wanted = [
        (unit, way, on)
        for unit, on in units
        for way in (("both",) if methods.symmetric(on) else ("there", "back"))
    ]
    quick = [at_a_glance(asked, on, back=way == "back") for _, way, on in wanted]
    left = [item for item, shown in zip(wanted, quick, strict=True) if shown is None]
    lattices = by_lattices(asked, [(on, way == "back") for _, way, on in left])
    rest = iter(lattices)
    shown = [one or next(rest) for one in quick]
    answer = max(one.answer for one in shown)
    epsilon, delta = asked.point(answer)
    gives = {"epsilon": str(epsilon), "delta": str(delta)}
    steps = [
        {
            "rule": one.rule,
            "of": {"unit": unit, "direction": way, "releases": on.written()},
            "with": one.witness,
            "gives": gives,
        }
        for (unit, way, on), one in zip(wanted, shown, strict=True)
    ]
    last = {"relation": relation, "classes": len(units), "plan": digest(plan)}
    return [*steps, {"rule": LAST, "of": last, "with": {}, "gives": gives}], answer


# ------------------------------------------------------------------ without a lattice


def at_a_glance(asked: Asked, on: Releases, *, back: bool) -> Shown | None:
    """Return what a closed form shows at the accountant's own answer; None where it takes a lattice."""
    Work.begin(FREE)
    plain: list[tuple[str, dict[str, Any]]] = [("gaussian-curve", {}), ("largest-losses", {})]
    guess = asked.guess
    if guess is None:
        return None
    epsilon, delta = asked.point(guess)
    best = renyi(on, epsilon, delta)
    if best is not None:
        plain.append(("renyi-bound", {"order": str(best[0])}))
    for rule, witness in plain:
        if shows(rule, on, epsilon, delta, witness, back=back):
            return Shown(rule, witness, guess)
    return None


def shows(
    rule: str, on: Releases, epsilon: Fraction, delta: Fraction, witness: dict[str, Any], *, back: bool
) -> bool:
    """Say whether a rule shows (ε, δ)."""
    try:
        return methods.holds(rule, on, epsilon, delta, witness, back=back)
    except (Rejected, *BROKEN):
        return False


def renyi(on: Releases, epsilon: Fraction, delta: Fraction) -> tuple[Fraction, float, float] | None:
    """Return the best order with its ε at `delta` and its ln δ at `epsilon`; None where there is none."""
    found = []
    i = Interval(20)
    share = math.log(delta) if delta else -math.inf
    for order in [*ORDERS, *{a for each, _ in on.others if each.kind == "rdp" for a, _ in each.numbers[0]}]:
        try:
            bound = float(bounds.renyi(i, on, order)[1])
        except (Rejected, *BROKEN):
            continue
        less = float(order - 1)
        rest = less * math.log1p(-1 / float(order)) - math.log(float(order))
        found.append((order, bound + (rest - share) / less, less * (bound - float(epsilon)) + rest))
    return min(found, key=lambda one: one[2], default=None)


# ------------------------------------------------------------------ with lattices


def by_lattices(asked: Asked, left: list[tuple[Releases, bool]]) -> list[Shown]:
    """Return what lattices show, as fine as the checker's work allows; or a Rényi bound that is smaller."""
    for fineness in FINENESS:
        Work.begin(FREE)
        try:
            shown = [by_lattice(asked, on, Fineness(fineness), back=back) for on, back in left]
        except Rejected:
            if fineness == FINENESS[-1]:
                raise
            continue
        if not over_budget(MAX_WORK) or fineness == FINENESS[-1]:
            return shown
    return []


def by_lattice(asked: Asked, on: Releases, fineness: Fineness, *, back: bool) -> Shown:
    """Return the least answer that a lattice shows, or a Rényi bound."""
    hint = asked.guess or Fraction(1)
    epsilon, delta = asked.point(hint)
    other = by_renyi(asked, on, epsilon, delta, back=back)
    try:
        found = witnessed(on, delta, fineness, back=back)
    except (Rejected, *BROKEN):
        if other is None:
            raise
        return other
    answer = crossing(asked, found)
    if answer is None or (other is not None and other.answer <= answer):
        if other is None:
            raise Rejected("more may be lost than delta allows: this checker confirms no epsilon")
        return other
    return Shown("lattice", found.witness, answer)


def by_renyi(
    asked: Asked, on: Releases, epsilon: Fraction, delta: Fraction, *, back: bool
) -> Shown | None:
    """Return what the best Rényi order shows; None where there is none."""
    best = renyi(on, epsilon, delta)
    if best is None or not all(map(math.isfinite, best[1:])):
        return None
    value = max(best[1], 0.0) if asked.delta is not None else math.exp(min(best[2], 0.0))
    answer = rounded_up(Fraction(value) * (1 + Fraction(1, 10**11)))
    witness = {"order": str(best[0])}
    at = asked.point(answer)
    return Shown("renyi-bound", witness, answer) if shows("renyi-bound", on, *at, witness, back=back) else None


def crossing(asked: Asked, found: Witnessed) -> Fraction | None:
    """Return the least ε that the lattice shows at δ, rounded up, or its δ at ε; None where there is none."""
    i, whole, digits = found.interval, found.whole, found.digits
    if asked.delta is None:
        value = Fraction(lattice_delta(i, whole, asked.epsilon or Fraction(0), digits))
        return None if value > 1 else rounded_up(value)
    limit = i.of(asked.delta)[0]

    def enough(epsilon: Fraction) -> bool:
        return lattice_delta(i, whole, epsilon, digits) <= limit

    low, high = Fraction(0), max(Fraction(0), whole.step * (whole.low + len(whole.masses)))
    if enough(low):
        return low
    if not enough(high):
        return None
    while high - low > high / 10**12:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return rounded_up(high)


def rounded_up(value: Fraction) -> Fraction:
    """Return a decimal of so many significant digits, at least as large."""
    return Fraction(to_digits(value, up=True, digits=SIGNIFICANT))
