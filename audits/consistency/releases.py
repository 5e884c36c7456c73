"""A study's release: what it reports, its intervals, and the accuracy or the share of each statistic.

Intervals are as wide as the noise needs, for all numbers of a statistic at once.  What does not follow from
the document, `unchecked` names.  What is off by a millionth is let pass.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from statistics import NormalDist
from typing import Any, NamedTuple

from audits.consistency.studies import (
    LEVELS,
    SPREADS,
    SQUARE,
    TREE,
    LeastMove,
    chosen,
    ends,
    is_choice,
    least_moves,
    maybe,
    names_of,
    ranks_of,
    unlisted,
)
from dpaccount.checker.certificate.shapes import exact_of
from dpaccount.checker.certificate.tables import STUDY
from dpaccount.checker.documents import brief, ensure, integer
from dpaccount.checker.relation import ADDED

Table = Mapping[str, Any]
Ends = tuple[float, float]
COUNTED, STEP, LET_PASS, FARTHEST_END = ("count", "histogram", "top"), 2.0**-24, 1 + 1e-6, 1e300
ROUNDED = STEP * 1.001  # of a row's number, and more than that
OF_INTERVALS = Fraction(19, 20)  # the level of a study's
NEVER = 1e-15  # a probability of noise that no release shows
OPEN_ENDS = ("ratio", "regression")  # statistics whose ends may be unknown
NOT_DERIVED = ("median", "quantile", *OPEN_ENDS)  # they need the noisy sums


class DrawnNoise(NamedTuple):
    """The noise of a draw, and how rarely it may be beyond an interval of one of its numbers."""

    scale: float
    step: float  #: of Laplace noise; 0.0: Gaussian
    rare: float
    groups: int

    def is_rare_beyond(self, half: float) -> bool:
        """Return whether the noise is beyond `half` as rarely as the level needs."""
        return missed(half, self.scale, self.step) <= self.rare * LET_PASS

    @property
    def reach(self) -> float:
        """Return the least number that the noise is rarely beyond."""
        return least_reach(self.scale, self.step, self.rare)

    @property
    def farthest(self) -> float:
        """Return a number that the noise is never beyond."""
        return least_reach(self.scale, self.step, NEVER)


def noise_of(each: Table, moves: list[LeastMove], drawn: list[Fraction], of: Table) -> list[DrawnNoise]:
    """Return the noise of a statistic's draws, the counts of whose groups come last."""
    numbers = sum(move.size for move in moves) or integer(of["rows"])
    laplace = unlisted(each) or of["law"] == "laplace"
    rare = float(1 - OF_INTERVALS) / numbers
    groups = numbers_shown(each, moves[0].size)
    steps = [(1.0 if move.cells else STEP) if laplace else 0.0 for move in moves]
    pairs = zip(drawn, steps, strict=True)
    return [DrawnNoise(float(scale), step, rare, groups) for scale, step in pairs]


def numbers_shown(each: Table, size: int) -> int:
    """Return how many numbers a statistic reports of a first draw of `size`; 0 of unlisted values."""
    parts = {**dict.fromkeys(SPREADS, 2), "median": TREE, "quantile": TREE}
    numbers = len(each["on"]) + 1 if each["what"] == "regression" else size // parts.get(each["what"], 1)
    return numbers * max(len(ranks_of(each)), 1)


def check_widths(report: Table, held: Table) -> None:
    """Verify that no interval that follows from the noise is narrower than it allows.

    Ends of counts are whole and not negative, so a count of 0 may be of any noise below it.
    """
    scales = iter(held["scales"])
    for each in held["statistics"]:
        moves, what = least_moves(each, exact=held["exact_rows"]), each["what"]
        drawn = [exact_of(next(scales), "scales") or Fraction(0) for _ in moves]
        around, about = report["accuracy"][each["name"]], f"the interval of {each['name'][:40]!r}"
        ensure(around["of"] == f"the {what} of clipped numbers without noise", f"{about} is of another thing")
        if chosen(each):
            continue  # it has no interval
        lists = [report[each["name"]], around["low"], around["high"]]
        rows = checked_lists(lists, numbers_shown(each, moves[0].size), what, about)
        level = exact_of(around["level"], "level") or Fraction(0)
        ensure(level == OF_INTERVALS, f"{about} is not of the level {float(OF_INTERVALS)}")
        ensure(min(drawn) > 1 / FARTHEST_END, f"{about} is of other numbers")
        noise = noise_of(each, moves, drawn, held)
        if what in COUNTED:
            good = all(count_is_wide(row[0], row[1], row[2], noise[0]) for row in rows)
        elif what in OPEN_ENDS:
            good = all(a <= m <= b for m, a, b in rows if a is not None)
        else:
            low, high = map(float, ends(each["column"]))
            if what == "sum":
                wide = [min(b - m, m - a) / max(abs(low), abs(high)) for m, a, b in rows]
                off = integer(held["rows"]) * ROUNDED * (1 - 1e-6)
                good = min(wide) >= off and noise[0].is_rare_beyond(min(wide) - off)
            elif what in NOT_DERIVED:
                several = max(len(ranks_of(each)), 1)  # of one group they rise
                falls = any(
                    two[0] < one[0] for at, (one, two) in enumerate(pairwise(rows), 1) if at % several
                )
                good = not falls and all(low <= a <= m <= b <= high for m, a, b in rows)
            else:
                spread = what != "stddev" or min(min(row) for row in rows) >= 0
                squared = [tuple(x * x for x in row) for row in rows] if what == "stddev" else rows
                check = means_are_wide if what == "mean" else variances_are_wide
                good = spread and check(squared, (low, high), noise, held)
        ensure(good, f"{about} is narrower than its noise allows")


def checked_lists(lists: list[Any], size: int, what: str, about: str) -> list[tuple[Any, ...]]:
    """Return numbers with their ends; reject what are none, or not `size` many (0: any number).

    Ends of a regression or ratio may be unknown.
    """
    fine = all(type(values) is list and len(values) == (size or len(lists[0])) for values in lists)
    rows = list(zip(*lists, strict=True)) if fine else [(None, 0, 0)]
    known = [row[:1] if what in OPEN_ENDS and row[1:] == (None, None) else row for row in rows]
    flat = [x for row in known for x in row]
    fine = all(type(x) in (int, float) and abs(x) < FARTHEST_END for x in flat)
    ensure(fine, f"{about} is of other numbers")
    return rows


def count_is_wide(shown: float, low: float, high: float, noise: DrawnNoise) -> bool:
    """Return whether the ends of a count are as far from it as its noise may be."""
    rounded = 0.0 if noise.step else 1.5  # Gaussian noise and its ends are rounded
    sides = [high - shown + rounded]
    if low > 0:
        sides += [shown - low + rounded, (high - low) / 2 + rounded * 2 / 3]
    half = min(sides) if shown > 0 else FARTHEST_END
    return 0 <= low <= shown <= high and noise.is_rare_beyond(half)


def missed(half: float, scale: float, step: float) -> float:
    """Return how likely Laplace noise on a grid, or Gaussian noise (0.0), reaches beyond `half`."""
    if step == 0.0:
        return math.erfc(half / scale / math.sqrt(2))
    return 2 * math.exp(-(half // step + 1) * step / scale) / (1 + math.exp(-step / scale))


def least_reach(scale: float, step: float, rare: float) -> float:
    """Return about the least half-width beyond which noise is no more than `rare`."""
    # Bisected here and below without `numerics.bisection`: this package may import the checker only.
    low, high = 0.0, scale
    while missed(high, scale, step) > rare:
        high *= 2
    for _ in range(60):  # halvings: to the last bits of a float
        middle = (low + high) / 2
        low, high = (low, middle) if missed(middle, scale, step) <= rare else (middle, high)
    return high


# ------------------------------------------------------------------ quotients of noisy sums


def means_are_wide(rows: list[Any], bounds: Ends, noise: list[DrawnNoise], held: Table) -> bool:
    """Return whether intervals of means are those of noisy sums over the sizes of their groups.

    A private size is not in the document: some size must give both ends, within all rows.
    Of a mean at a bound of its column, and with noise of less than a row, one end is not known.
    """
    (low, high), wide, rows_in_all = bounds, noise[0].reach, integer(held["rows"])
    middle, half = (low + high) / 2, (high - low) / 2
    ensure(half > 0, "a mean is of a column of several values")
    off, far = (noise[1].reach, noise[1].farthest) if len(noise) > 1 else (0.0, 0.0)
    most, used = rows_in_all + far, 0.0
    fewest = most if len(noise) == 1 else 1.0
    for given in rows:
        shown, first, last = ((x - middle) / half for x in given)
        if not (first <= shown <= last and first >= -1 - 1e-9 and last <= 1 + 1e-9):
            return False
        if abs(shown) > 1 - 1e-9 and max(-first, last) < 1 - 1e-9:
            return False
        if abs(shown) > 1 - 1e-9 or min(-first, last) > 1 - 1e-9:
            continue
        # Noise of less than a row leaves the size open: then only enough width is asked for.
        exact = len(noise) == 1 or wide >= 1
        size = size_of(shown, first, last, wide, off, fewest if exact else most, most)
        a, b = mean_ends(shown, size, wide, off)
        slack = 1e-9 + (16 * STEP + 1e-6 * (wide + off)) / max(size - off, 1)
        if not (first <= a + slack and last >= b - slack):
            return False
        if exact and not (first >= a - slack and last <= b + slack):
            return False
        used += size if exact and len(noise) > 1 else 0.0
    return used <= rows_in_all + len(rows) * far


def size_of(
    shown: float, first: float, last: float, wide: float, off: float, fewest: float, most: float
) -> float:
    """Return the size of a group by one end of its mean's interval, which shrinks as it grows."""
    upper = last < 1 - 1e-9  # an end that is clipped at 1 tells nothing of the size
    for _ in range(100):  # halvings, past the last bit of a float
        size = (fewest + most) / 2
        a, b = mean_ends(shown, size, wide, off)
        wider = b > last if upper else a < first
        fewest, most = (size, most) if wider else (fewest, size)
    return most


def mean_ends(mean: float, size: float, wide: float, off: float) -> Ends:
    """Return the ends of a mean in [−1, 1] of a sum known to `wide`, and a size to `off`."""
    low, high = mean * size - wide, mean * size + wide
    smallest, largest = max(size - off, 1), max(size + off, 1)
    ends = min(low / smallest, low / largest) - ROUNDED, max(high / smallest, high / largest) + ROUNDED
    return max(ends[0], -1.0), min(ends[1], 1.0)


def variances_are_wide(rows: list[Any], bounds: Ends, noise: list[DrawnNoise], held: Table) -> bool:
    """Return whether intervals of variances are as wide as noise makes those of all rows together.

    With q the mean square and m the mean of numbers in [−1, 1], a variance q − m² is off by what q is, or
    q lies beyond 1, where m² = 1 − the variance is off by what m is.
    """
    (low, high), wide = bounds, noise[0].reach
    size = integer(held["rows"]) + (noise[1].farthest if len(noise) > 1 else 0.0)
    of_square, of_mean, unit = wide / size / float(SQUARE), wide / size, ((high - low) / 2) ** 2
    ensure(unit > 0, "a variance is of a column of several values")
    for given in rows:
        shown, first, last = (x / unit for x in given)
        mean = math.sqrt(max(1 - shown, 0.0))
        above = min(of_square, mean**2 - max(mean - of_mean, 0.0) ** 2)
        below = min(of_square, min(mean + of_mean, 1.0) ** 2 - mean**2)
        slack = 1e-9 + 16 * STEP / size
        good = 0 <= first <= shown <= last <= 1 + slack
        far = shown <= 0 or last - shown >= above - slack
        if not (good and far and (first <= 0 or shown - first >= below - slack)):
            return False
    return True


def is_at_bound(each: Table, numbers: list[float]) -> bool:
    """Return whether some count of a statistic is 0, or some mean a bound of its column."""
    bounds = ends(each["column"]) if each["what"] == "mean" else (0,)
    counts = each["what"] in (*COUNTED, "mean")
    return counts and any(x in (float(bounds[0]), float(bounds[-1])) for x in numbers)


def unchecked(document: Table) -> str:
    """Return what of a release's intervals does not follow from its document; empty if all does."""
    if document["release"] is None or document["subject"]["use"] != STUDY:
        return ""
    report, held = document["release"]["report"], document["subject"]["parameters"]
    parts: dict[str, list[str]] = {}
    for each in held.get("statistics", []):
        what, words = each["what"], []
        if what in NOT_DERIVED and not chosen(each):
            words += ["the intervals of"]
        elif what in SPREADS:
            words += ["the part beyond the noise of all rows together, in the intervals of"]
        elif what == "mean" and len(least_moves(each, exact=held["exact_rows"])) > 1:
            words += ["the private group sizes behind the intervals of"]
        for some in [
            *words,
            *(["the end of an interval at a bound, in"] if is_at_bound(each, report[each["name"]]) else []),
        ]:
            parts.setdefault(some, []).append(repr(each["name"]))
    return "; ".join(f"{words} {', '.join(names)}" for words, names in parts.items())


ENDS = {"low", "high", "level", "of"}  # of the interval of a reported number
OF_SCALES = Fraction(1, 1000)  # more than rounding changes an amount
FINEST = Fraction(1, 32)  # steps of scales of unlisted counts


def check_study_release(document: Table) -> None:
    """Verify that a study's release reports the statistics listed, with intervals as wide as their noise."""
    if document["release"] is None or document["subject"]["use"] != STUDY:
        return
    report, held = document["release"]["report"], document["subject"]["parameters"]
    check_reported(report, held["statistics"])
    check_shown(report, held)
    check_widths(report, held)
    check_choices(report, held)


def check_reported(report: dict[str, Any], described: list[dict[str, Any]]) -> None:
    """Verify that a study reports the statistics that it lists, their intervals, and nothing else."""
    names = {each["name"] for each in described}
    numbers = {name for each in described for name in names_of(each)}
    around = report.get("accuracy", {})
    ensure(report.keys() - {"accuracy"} == numbers, "a release reports other statistics than are listed")
    ensure(type(around) is dict and around.keys() == names, "intervals are of other statistics than listed")
    for each in described:
        interval, own = around[each["name"]], ENDS | ({"ranks"} if chosen(each) else set())
        ensure(
            type(interval) is dict and interval.keys() == own, f"{brief(each['name'])} has no such interval"
        )


def check_choices(report: Table, held: Table) -> None:
    """Verify that chosen quantiles are candidates without an interval, and state enough ranks."""
    moves = [move for each in held["statistics"] for move in least_moves(each, exact=held["exact_rows"])]
    scales = {move.key: (move, scale) for move, scale in zip(moves, held["scales"], strict=True)}
    for each in filter(chosen, held["statistics"]):
        value, around, about = report[each["name"]], report["accuracy"][each["name"]], brief(each["name"])
        (low, high), (move, given) = ends(each["column"]), scales[f"{each['name']}/choice"]
        unknown = [None] * (move.size // 4**LEVELS)
        inside = type(value) is list and all(is_choice(x, low, high) for x in value)
        ensure(inside and len(value) == len(unknown), f"the choice of {about} is none of its candidates")
        ensure(around["low"] == around["high"] == unknown, f"{about} has an interval, which nothing proves")
        ensure(exact_of(around["level"], "level") == OF_INTERVALS, f"{about} is of another level")
        ranks, scale = (exact_of(x, "a number of ranks") or Fraction(0) for x in (around["ranks"], given))
        enough = float(ranks) * LET_PASS >= least_ranks(move, scale)
        ensure(enough, f"the choice of {about} is of fewer ranks than its scale allows")


def check_shown(report: dict[str, Any], held: dict[str, Any]) -> None:
    """Verify that each unlisted value is reported with a count that reaches its threshold."""
    names = [each["name"] for each in held["statistics"] if unlisted(each)]
    for name, least in zip(names, held.get("thresholds", []), strict=True):
        counts = report[name]
        several = type(counts) is list and len(counts) == len(report[f"{name}/texts"])
        shown = several and all((exact_of(each, "a count") or 0) >= integer(least) for each in counts)
        ensure(shown, f"{brief(name)} reports values whose counts do not reach the threshold")


# ------------------------------------------------------------------ each statistic's part of the total


def check_shares(document: Table) -> None:
    """Verify the accuracy or the share that is stated of each statistic of a proved study."""
    if not document["proved"]["derivation"] or document["subject"]["use"] != STUDY:
        return
    held = document["subject"]["parameters"]
    scales, shares = iter(held["scales"]), dict[bool, list[tuple[Fraction, Fraction]]]()
    for each in held["statistics"]:
        about = f"the statistic {brief(each['name'])}"
        moves = least_moves(each, exact=held["exact_rows"])
        drawn = [exact_of(next(scales), "scales") or Fraction(0) for _ in moves]
        epsilon, accuracy = (maybe(each[key], key) for key in ("epsilon", "accuracy"))
        if epsilon is not None:
            continue  # the checker has inferred what its draws cost
        if accuracy is not None:
            noise = noise_of(each, moves, drawn, held)
            least = least_ranks(moves[0], drawn[0]) if chosen(each) else half_width(each, held, noise)
            ensure(least <= float(accuracy) * LET_PASS, f"{about} is less accurate than is stated")
        else:
            free, share = unlisted(each), maybe(each["share"], "share") or Fraction(0)
            ensure(share > 0, f"{about} has no share")
            shares.setdefault(free, []).append(part_per_share(moves, drawn, held, share, free=free))
    for some in shares.values():
        equal = max(low for low, _ in some) <= min(high for _, high in some)
        ensure(equal, "the noise of statistics is not by their shares")


def part_per_share(
    moves: list[LeastMove], drawn: list[Fraction], held: Table, share: Fraction, *, free: bool
) -> tuple[Fraction, Fraction]:
    """Return the least and the largest amount (μ² or ε) of one share, by a statistic's noise."""
    vary, amount, most = held["relation"] == ADDED, Fraction(0), Fraction(0)
    for move, scale in zip(moves, drawn, strict=True):
        if move.choice:
            ranks = Fraction(math.sqrt(move.come if vary else move.replaced))
            eta = float(ranks / scale)
            amount += Fraction(gdp_of_range(eta) if held["law"] == "gaussian" else eta)
        elif held["law"] == "gaussian" and not free:
            amount += (move.come if vary else move.replaced) / scale**2
        elif move.interval is not None:
            low, high = move.interval
            amount += (max(-low, high) if vary else high - low) / scale
        else:
            amount += (move.l1[not vary] or move.cells * (1 if vary else 2)) / scale
        most = max(most, FINEST / scale if free else Fraction(0))
    return amount * (1 - OF_SCALES) / share, amount * (1 + OF_SCALES + 2 * most) / share


def least_ranks(move: LeastMove, scale: Fraction) -> float:
    """Return how many ranks farther than the best candidate's some group's choice is, at 95 %.

    Of 4^LEVELS others each is farther by r with odds of e^(−r/scale) against the best at most, and scores
    are whole multiples of 1/`choice` of a rank: r is the largest of these whose odds are still above.
    """
    missed = float(1 - OF_INTERVALS) / (move.size // 4**LEVELS)
    odds = (1 - missed) / missed * 4**LEVELS
    return max(math.ceil(float(scale) * move.choice * math.log(odds) * (1 - 1e-9)) - 1, 0) / move.choice


def gdp_of_range(eta: float) -> float:
    """Return about the μ² of bounded range η."""
    return (2 * NormalDist().inv_cdf(1 / (1 + math.exp(-eta / 2)))) ** 2


def half_width(each: Table, held: Table, noise: list[DrawnNoise]) -> float:
    """Return the least half-width of 95 % intervals; of a mean in a group of average size."""
    what, reach = each["what"], [one.reach for one in noise]
    if what in ("count", "histogram", "top"):
        return reach[0]
    ensure(what in ("sum", "mean", "variance"), f"a {brief(what)} has no accuracy")
    (low, high), groups = map(float, ends(each["column"])), noise[0].groups
    if what == "sum":
        return (reach[0] + integer(held["rows"]) * ROUNDED) * max(abs(low), abs(high))
    half = (high - low) / 2
    size, off = max(integer(held.get("persons", held["rows"])) // groups, 1), sum(reach[1:])
    wide = sum(reach) if what == "mean" else reach[0] / float(SQUARE) + 2 * reach[0] + 2.5 * off
    per_row = wide * size / (size**2 - off**2) if off < size else math.inf
    return min(per_row, 1) * half if what == "mean" else min(per_row, 0.5) * half**2
