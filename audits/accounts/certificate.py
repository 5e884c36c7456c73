"""Certificates of what a plan costs: the witnesses by which the independent checker confirms an upper end.

What is chosen here, in floats, is a method and how fine lattices are: a bad choice confirms a larger number
and never a wrong one.  The checker is asked about every document before it is given away.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from audits.accounts.lattice_witness import Witnessed, witnessed
from dpaccount.checker import Rejected, Unreadable, digest
from dpaccount.checker.accounting import CHAIN, LAST, MAX_WORK, SCHEMA, bounds, examined, methods
from dpaccount.checker.accounting.lattice import delta as lattice_delta
from dpaccount.checker.accounting.plan import classes
from dpaccount.checker.accounting.releases import Releases
from dpaccount.checker.curves import gdp_delta
from dpaccount.checker.documents import BROKEN, Work, ensure
from dpaccount.checker.intervals import Interval, exact
from dpaccount.documents import atomically, mapped, using
from dpaccount.exact import Enclosure, Number, formatted, json_number, to_digits
from dpaccount.exact import shown as spelled
from dpaccount.numerics.bisection import bisect

SIGNIFICANT = 10  #: digits of what is confirmed
FINENESS = [Fraction(4) / 2**k for k in range(6)]  #: of lattices: how much coarser than usual
CHAINS = 4  #: rounds, coarse and then fine, in which a chain of neighbours settles
UNKNOWN = Enclosure(None, math.inf)
NEAR = Fraction(4, 10**5)  #: to the accountant's answer, relatively, beyond which lattices grow finer
AFFORDED = Fraction(9, 10)  #: of the checker's work
MANY = 8  #: classes of units and directions, of which most are settled without a lattice
KNOWN_CLOSELY = Fraction(1, 10**6)  #: relative above 1
CLOSED = ("gaussian-curve", "largest-losses", "renyi-bound")
FREE = 10**9  #: work that the search may do: the checker's limit is for what it leads to
ORDERS = [1 + Fraction(round(1000 * math.exp(x / 8)), 1000) for x in range(-40, 80)]


@dataclass(frozen=True)
class AccountQuestion:
    """A question: ε at `delta`, or δ at `epsilon`; and the accountant's answer, where it is finite."""

    delta: Fraction | None
    epsilon: Fraction | None
    tight: Enclosure
    levels: int = 99  #: of fineness that are tried

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

    @property
    def close(self) -> bool:
        """Say whether the accountant's answer is known closely: then no lattice can show much less."""
        lower, upper = self.tight.lower, self.tight.upper
        return lower is not None and upper != math.inf and upper - lower <= KNOWN_CLOSELY * max(1, upper)


@dataclass(frozen=True)
class ShownSteps:
    """By which rule and witness a class of units costs at most `answer` in one direction."""

    rule: str
    witness: dict[str, Any]
    answer: Fraction
    work: int = 0  #: of the checker, about


def certificate(
    plan: Any,
    tight: Mapping[str, Any],
    *,
    delta: Fraction | None = None,
    epsilon: Fraction | None = None,
    group: int = 1,
) -> dict[str, Any]:
    """Return the certificate of a plan's answer, a document of schema ``dpaccount/account-certificate/1``.

    `plan` is the document of events, its numbers exact or as JSON; `tight` the accountant's answer to ε at
    `delta` or δ at `epsilon` of a `group` of units, as it is printed.  Its upper end comes down to what
    the checker confirms where that is less.  Where nothing is confirmed, `confirmed` says why.
    """
    written = as_json(plan)
    ends = (None if tight["lower"] is None else _number(tight["lower"]), _number(tight["upper"]))
    asked = AccountQuestion(delta, epsilon, Enclosure(*ends))
    name, value = ("delta", delta) if delta is not None else ("epsilon", epsilon)
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "plan": written,
        "question": {name: spelled(value or Fraction(0)), **({"group": group} if group > 1 else {})},
        "tight": dict(tight),
    }
    # The search may try much: `examined` counts what its result costs the checker.
    Work.begin(FREE)
    try:
        steps, answer = of_units(asked, written, group)
        if answer < ends[1]:  # both ends are proved
            tight = {**tight, "upper": as_json(answer)}
        shown = {"tight": dict(tight), "confirmed": {"upper": spelled(answer)}}
        whole = seal({**document, **shown, "derivation": steps})
        examined(json.dumps(whole).encode())
    except (Rejected, Unreadable, *BROKEN) as why:
        broken = not isinstance(why, Rejected | Unreadable)
        reason = "a number of it is beyond what the checker computes" if broken else str(why)
        return seal({**document, "confirmed": {"upper": None, "why": reason}, "derivation": []})
    return whole


def write(path: Path, document: Mapping[str, object]) -> None:
    """Write a certificate to a file.  Raises `InputError` where it cannot."""
    with using(path, "give a path in a writable folder"):
        atomically(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def confirming(document: dict[str, Any]) -> str:
    """Return the sentence on a certificate of ε for use in a paper; empty where nothing is confirmed."""
    upper = document["confirmed"]["upper"]
    if upper is None:
        return ""
    bound = formatted(Fraction(upper), ".4g", up=True)
    return f" An independent checker confirms epsilon at most {bound} (document {document['digest']})."


def as_json(value: Any) -> Any:
    """Return a document with exact numbers as JSON: a double where it prints as the number, else text."""
    return mapped(lambda each: json_number(each) if isinstance(each, Fraction) else each, value)


def _number(bound: Any) -> Number:
    return math.inf if bound == "inf" else Fraction(str(bound))


def seal(body: dict[str, Any]) -> dict[str, Any]:
    """Return the document with its digest."""
    return {**body, "digest": digest(body)}


def of_units(asked: AccountQuestion, written: Any, group: int) -> tuple[list[dict[str, Any]], Fraction]:
    """Return the steps of a group, and the answer: of what is moved together, or else of a chain."""
    try:
        moved = classes(written, group)
    except Rejected:
        if group == 1:
            raise
        return of_chain(asked, written, group)
    return derived(asked, *moved, written)


def of_chain(asked: AccountQuestion, written: Any, group: int) -> tuple[list[dict[str, Any]], Fraction]:
    """Return the steps of one unit, and what follows for a chain of neighbours.

    With (ε, δ) for one unit k of them lose (kε, δ(e^{kε} − 1)/(e^ε − 1)).  Where ε is sought, one unit's δ is
    what a guess at its ε leaves of the whole: that guess must be enough.
    """
    if asked.delta is None:
        one = rounded_down((asked.epsilon or Fraction(0)) / group)
        steps, share = of_one(AccountQuestion(None, one, UNKNOWN), written)
        answer = rounded_up(share * growth(one, group))
    else:
        guess = (asked.guess or Fraction(group)) / group
        # Coarse rounds settle the guess, fine ones confirm it.
        for levels in [*[1] * CHAINS, *[len(FINENESS)] * CHAINS]:
            share = rounded_down(asked.delta / growth(guess, group))
            steps, one = of_one(AccountQuestion(share, None, UNKNOWN, levels), written)
            if one <= guess and levels > 1:
                break
            guess = one * (1 + NEAR)
        ensure(one <= guess and levels > 1, "this checker finds no chain of neighbours")
        answer = rounded_up(group * one)
    epsilon, delta = asked.point(answer)
    chain = {
        "rule": CHAIN,
        "of": {"group": group},
        "with": {"epsilon": str(one), "delta": str(share)},
        "gives": {"epsilon": str(epsilon), "delta": str(delta)},
    }
    return [*steps, chain], answer


def of_one(asked: AccountQuestion, written: Any) -> tuple[list[dict[str, Any]], Fraction]:
    """Return the steps of one unit, and the answer."""
    return derived(asked, *classes(written), written)


def growth(epsilon: Fraction, group: int) -> Fraction:
    """Return about (e^{kε} − 1)/(e^ε − 1), and not less."""
    i = Interval(40)
    return exact(bounds.chained(i, epsilon, Fraction(1), group)[1])


def derived(
    asked: AccountQuestion, relation: str, units: list[tuple[int | None, Releases]], plan: Any
) -> tuple[list[dict[str, Any]], Fraction]:
    """Return the steps for each class of units and direction, and the answer that they confirm."""
    wanted = [
        (unit, way, on)
        for unit, on in units
        for way in (("both",) if methods.symmetric(on) else ("there", "back"))
    ]
    close = asked.close or len(wanted) > MANY
    quick = [at_a_glance(asked, on, back=way == "back") if close else None for _, way, on in wanted]
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


def at_a_glance(asked: AccountQuestion, on: Releases, *, back: bool) -> ShownSteps | None:
    """Return what a closed form shows at the accountant's own answer; None where it takes a lattice."""
    Work.begin(FREE)
    if asked.guess is None:
        return None
    return least([in_closed_form(asked, on, rule, asked.guess, back=back) for rule in CLOSED])


def in_closed_form(
    asked: AccountQuestion, on: Releases, rule: str, answer: Fraction, *, back: bool
) -> ShownSteps | None:
    """Return that a rule without a lattice shows an answer; None where it does not."""
    epsilon, delta = asked.point(answer)
    best = renyi(on, epsilon, delta) if rule == "renyi-bound" else None
    witness = {} if best is None else {"order": str(best[0])}
    return ShownSteps(rule, witness, answer) if shows(rule, on, epsilon, delta, witness, back=back) else None


def least(steps: list[ShownSteps | None]) -> ShownSteps | None:
    """Return the steps that show the least answer, the first of equal ones; None where nothing does."""
    known = [one for one in steps if one is not None]
    return min(known, key=lambda one: one.answer, default=None)


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
    candidates = []
    i = Interval(20)
    share = math.log(delta) if delta else -math.inf
    for order in [*ORDERS, *{a for each, _ in on.others if each.kind == "rdp" for a, _ in each.numbers[0]}]:
        try:
            bound = float(bounds.renyi(i, on, order)[1])
        except (Rejected, *BROKEN):
            continue
        less = float(order - 1)
        rest = less * math.log1p(-1 / float(order)) - math.log(float(order))
        candidates.append((order, bound + (rest - share) / less, less * (bound - float(epsilon)) + rest))
    return min(candidates, key=lambda one: one[2], default=None)


# ------------------------------------------------------------------ with lattices


def by_lattices(asked: AccountQuestion, left: list[tuple[Releases, bool]]) -> list[ShownSteps]:
    """Return what lattices show: all of them coarse, and those of the largest answers ever finer.

    Until that answer is close to the accountant's, or to that before, or the checker's work would not do.
    """
    shown = [by_lattice(asked, on, FINENESS[0], back=back) for on, back in left]
    level = [0] * len(left)
    while shown:
        worst = max(range(len(shown)), key=lambda index: shown[index].answer)
        level[worst] += 1
        near = asked.close and shown[worst].answer <= (asked.guess or 0) * (1 + NEAR)
        spent = sum(one.work for one in shown) - shown[worst].work
        if (
            near
            or level[worst] == min(asked.levels, len(FINENESS))
            or spent + 2 * shown[worst].work > AFFORDED * MAX_WORK
        ):
            break
        on, back = left[worst]
        finer = by_lattice(asked, on, FINENESS[level[worst]], back=back)
        if spent + finer.work > AFFORDED * MAX_WORK:
            break
        settled = finer.answer >= shown[worst].answer * (1 - NEAR / 2)
        shown[worst] = min(finer, shown[worst], key=lambda one: one.answer)
        if settled:
            break
    return shown


def by_lattice(asked: AccountQuestion, on: Releases, fineness: Fraction, *, back: bool) -> ShownSteps:
    """Return the least answer that a lattice shows, or a rule without one."""
    Work.begin(FREE)
    _, delta = asked.point(asked.guess or Fraction(1))
    guesses = [(rule, answer) for rule, answer in candidates(asked, on, back=back) if answer is not None]
    other = least([in_closed_form(asked, on, rule, rounded_up(at), back=back) for rule, at in guesses])
    if other is not None and other.rule == CLOSED[0]:  # that curve is exact
        return other
    try:
        witness = witnessed(on, delta, fineness, back=back)
        answer = crossing(asked, witness)
    except (Rejected, *BROKEN):
        if other is None:
            raise
        return other
    own = None if answer is None else ShownSteps("lattice", witness.witness, answer, witness.work)
    shown = least([other, own])
    if shown is None:
        raise Rejected("more may be lost than delta allows: this checker confirms no epsilon")
    return shown


def candidates(asked: AccountQuestion, on: Releases, *, back: bool) -> Iterator[tuple[str, Fraction | None]]:
    """Yield about what the rules without a lattice show."""
    epsilon, delta = asked.point(asked.guess or Fraction(1))
    best = renyi(on, epsilon, delta)
    value = None if best is None else best[1] if asked.delta is not None else math.exp(min(best[2], 0.0))
    if value is not None and math.isfinite(value):
        yield "renyi-bound", Fraction(max(value, 0.0)) * (1 + Fraction(1, 10**11))
    if on.mu_squared and on.others == ():
        yield CLOSED[0], gaussian_end(asked, on.mu_squared)
        return
    try:
        ends = bounds.largest(Interval(30), on, back=back)
        most, lost = (exact(end) for _, end in ends)
    except (Rejected, *BROKEN):
        return
    if asked.delta is not None:
        yield "largest-losses", most
    elif most <= epsilon:
        yield "largest-losses", lost


def gaussian_end(asked: AccountQuestion, square: Fraction) -> Fraction | None:
    """Return about the ε, or δ, of Gaussian releases of this μ²; None where there is none."""
    i = Interval(30)
    if asked.delta is None:
        return exact(gdp_delta(square, asked.epsilon or Fraction(0))(i)[1])
    limit, high = i.of(asked.delta)[0], 1 + square
    if not limit:
        return None
    while gdp_delta(square, high)(i)[1] > limit:
        high *= 2
    return bisect(
        lambda epsilon: gdp_delta(square, epsilon)(i)[1] <= limit,
        Fraction(0),
        high,
        relative=Fraction(1, 10**13),
    )[1]


def crossing(asked: AccountQuestion, witness: Witnessed) -> Fraction | None:
    """Return the least ε that the lattice shows at δ, rounded up, or its δ at ε; None where there is none."""
    i, whole, digits = witness.interval, witness.whole, witness.digits
    if asked.delta is None:
        value = exact(lattice_delta(i, whole, asked.epsilon or Fraction(0), digits))
        return None if value > 1 else rounded_up(value)
    limit = i.of(asked.delta)[0]

    def enough(epsilon: Fraction) -> bool:
        return lattice_delta(i, whole, epsilon, digits) <= limit

    low, high = Fraction(0), max(Fraction(0), whole.step * (whole.low + len(whole.masses)))
    if enough(low):
        return low
    if not enough(high):
        return None
    return rounded_up(bisect(enough, low, high, relative=Fraction(1, 10**12))[1])


def rounded_down(value: Fraction) -> Fraction:
    """Round down to `SIGNIFICANT` significant digits."""
    return Fraction(to_digits(value, up=False, digits=SIGNIFICANT)) if value else value


def rounded_up(value: Fraction) -> Fraction:
    """Round up to `SIGNIFICANT` significant digits."""
    return Fraction(to_digits(value, up=True, digits=SIGNIFICANT))
