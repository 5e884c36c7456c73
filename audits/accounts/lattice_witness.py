"""How fine the lattices of a certificate are: steps, spacings, limits, chosen by deviations in floats."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpaccount.checker.accounting import methods
from dpaccount.checker.accounting.lattice import LatticeMeasure, place, power, together
from dpaccount.checker.accounting.measures import UpperMeasure
from dpaccount.checker.accounting.pairs import gaussian
from dpaccount.checker.accounting.releases import PlanRelease, Releases
from dpaccount.checker.documents import Work
from dpaccount.checker.intervals import Interval

Part = dict[str, Any]

FINE = 0.02  #: a step over the deviation of one loss: it adds FINE²/6 to the variance, relatively
LEAST, MOST = 8_000, 150_000  #: nodes of one release
KEPT = 32_000  #: nodes of a power
PER_UNIT, PER_DEVIATION = 80, 200  #: of a unit, or of a deviation, of noise; and of a large deviation
DENSE = 256  #: cells of a law that has a density between −ε and ε, on either side
LISTED = 2_000  #: losses of discrete noise that are taken one by one
MOVED = Fraction(1, 10**6)  #: of δ, and of the law, that may be moved in tails
STEPS = 20  #: in which it is moved
SPARE = 8  #: digits of masses beyond those of δ, of counts and of nodes
WORST_DELTA = Fraction(1, 10**300)


@dataclass(frozen=True)
class Fineness:
    """How much coarser than usual steps and spacings are."""

    coarser: Fraction = Fraction(1)


@dataclass(frozen=True)
class Witnessed:
    """A lattice of all releases, and the witness from which the checker makes the same one."""

    witness: dict[str, Any]
    whole: LatticeMeasure
    interval: Interval
    digits: int
    work: int  #: that it took


@dataclass(frozen=True)
class _Lot:
    """A release with its count (None: the Gaussian ones as one), its measure and what that was made with."""

    release: PlanRelease | None
    count: int
    measure: UpperMeasure
    made: Part
    deviation: float
    span: tuple[float, float]


def witnessed(on: Releases, delta: Fraction, fineness: Fineness, *, back: bool) -> Witnessed:
    """Return a lattice of releases and its witness; raises `Rejected` where some have no measure."""
    share = max(delta, WORST_DELTA)
    count = sum(count for _, count in on.others) + 1
    digits = math.ceil(-math.log10(share) + math.log10(count) + math.log10(KEPT)) + SPARE
    i = Interval(digits + methods.GUARD)
    parts, whole = _composed(i, on, digits, share, fineness, back=back)
    return Witnessed({"digits": digits, "parts": parts}, whole, i, digits, Work.spent)


def _composed(
    i: Interval, on: Releases, digits: int, share: Fraction, fineness: Fineness, *, back: bool
) -> tuple[list[Part], LatticeMeasure]:
    """Return the parts of a witness, and the lattice that they lead to."""
    counted: list[tuple[PlanRelease | None, int]] = [*on.others]
    if on.mu_squared:
        counted = [(None, 1), *counted]
    lots = [_lot(i, on, release, count, digits, share, fineness, back=back) for release, count in counted]
    total = sum(lot.count * lot.deviation**2 for lot in lots)
    unit = _unit([release for release, _ in counted])
    parts, lattices = [], list[LatticeMeasure]()
    for lot in lots:
        own = max(lot.count * lot.deviation**2, total / (4 * len(lots)))
        step = FINE * float(fineness.coarser) * math.sqrt(own / lot.count)
        low, high = lot.span
        step = min(max(step, (high - low) / MOST), (high - low) / LEAST * float(fineness.coarser)) or 1.0
        exact = _scaled(unit, step)
        moved = [MOVED * share / (STEPS * lot.count), MOVED / (STEPS * lot.count)]
        kept = max(KEPT // 4, min(2 * KEPT, math.floor(KEPT / fineness.coarser)))
        part = {"step": str(exact), "limits": [kept, *(str(_short(each)) for each in moved)], **lot.made}
        limits = methods.limits_of(part["limits"], digits)
        lattices.append(power(i, place(i, lot.measure, exact, limits), lot.count, limits))
        parts.append(part)
    return parts, together(i, lattices, digits)


def _lot(
    i: Interval,
    on: Releases,
    release: PlanRelease | None,
    count: int,
    digits: int,
    share: Fraction,
    fineness: Fineness,
    *,
    back: bool,
) -> _Lot:
    part = _made(i, release, on.mu_squared, digits, share, fineness, back=back)
    spacing = Fraction(part.get("spacing", 0))
    if release is None:
        measure = gaussian(i, spacing, on.mu_squared)
    else:
        measure = methods.measure_of(i, release, spacing, part.get("inside"), digits, back=back)
    return _Lot(release, count, measure, part, *_shape(measure, float(share) * 1e-7 / count))


def _made(
    i: Interval,
    release: PlanRelease | None,
    square: Fraction,
    digits: int,
    share: Fraction,
    fineness: Fineness,
    *,
    back: bool,
) -> Part:
    """Return with which spacing, or from what inside, a measure is made."""
    if release is None:
        return {"spacing": str(_cell(square, fineness))}
    kind, _, inner = release
    if kind in ("replaced", "sampled-group") and inner is not None:
        loss = inner.mu_squared or _largest(inner.others[0][0]) ** 2
        return {"spacing": str(_cell(loss, fineness))}
    if inner is None:
        spacing = _spacing(release, fineness)
        return {"spacing": str(spacing)} if spacing else {}
    lone = len(inner.others) + bool(inner.mu_squared) == 1 and all(count == 1 for _, count in inner.others)
    if lone and inner.mu_squared:
        inside: Any = str(_cell(inner.mu_squared, fineness))
    elif lone and inner.others[0][0].on is None:
        inside = str(_spacing(inner.others[0][0], fineness))
    else:
        inside, _ = _composed(i, inner, digits, share, fineness, back=back)
    fields = {"inside": inside}
    if kind == "without-replacement":
        fields["spacing"] = str(Fraction(1, 2**10) * fineness.coarser)
    return fields


def _spacing(release: PlanRelease, fineness: Fineness) -> Fraction:
    """Return how far the losses of one release are apart; 0: each is taken by itself."""
    kind, numbers, _ = release
    if kind in ("laplace", "range"):
        return Fraction(numbers[0]) * fineness.coarser / DENSE
    if kind == "geometric":
        return Fraction(0) if numbers[1] <= LISTED else Fraction(2 * numbers[1]) / numbers[0] / LISTED
    if kind == "discrete-gaussian":
        return Fraction(0) if numbers[0] * 15 <= LISTED else Fraction(numbers[1]) / numbers[0] / 100
    if kind == "zcdp":
        return _cell(2 * numbers[0], fineness)
    if kind == "rdp":
        return Fraction(max(bound for _, bound in numbers[0])) / 500 or Fraction(1, 500)
    return Fraction(0)


def _cell(square: Fraction, fineness: Fineness) -> Fraction:
    """Return a spacing for noise of this μ², of which μ² is a multiple: a part of μ, and of a unit."""
    mu = math.sqrt(square)
    wanted = max(min(mu, 1.0) / PER_UNIT, mu / PER_DEVIATION) * float(fineness.coarser)
    return square / max(1, math.ceil(float(square) / wanted))


def _largest(release: PlanRelease) -> Fraction:
    kind, numbers, _ = release
    return Fraction(numbers[1]) / numbers[0] if kind == "geometric" else Fraction(numbers[0])


def _unit(releases: list[PlanRelease | None]) -> Fraction:
    """Return a number of which the losses of some release are multiples, that of the first one with atoms."""
    for release in releases:
        if release is not None and release.kind in ("response", "laplace", "approximate", "range"):
            return Fraction(release.numbers[0] or 1)
        if release is not None and release.kind == "geometric":
            return 1 / Fraction(release.numbers[0])
        if release is not None and release.kind == "discrete-gaussian":
            return Fraction(release.numbers[1]) / Fraction(release.numbers[0]) ** 2 / 2
    return Fraction(1)


def _scaled(unit: Fraction, step: float) -> Fraction:
    """Return the unit times the power of two that is next below this step."""
    # One unit times powers of two: the lattices of all releases share their points.
    exponent = math.floor(math.log2(step) - math.log2(unit.numerator) + math.log2(unit.denominator))
    return unit * Fraction(2) ** exponent


def _short(value: Fraction) -> Fraction:
    """Return a number of few digits, no larger."""
    exponent = math.floor(math.log10(value.numerator) - math.log10(value.denominator))
    return Fraction(10) ** min(exponent, 0)


def _shape(measure: UpperMeasure, tail: float) -> tuple[float, tuple[float, float]]:
    """Return the deviation of the loss, and where all but little of it lies."""
    losses = [(float(z.ln()), float(p)) for z, p in measure.atoms]
    total = sum(p for _, p in losses)
    mean = sum(t * p for t, p in losses) / total
    deviation = math.sqrt(sum((t - mean) ** 2 * p for t, p in losses) / total)
    return deviation, (_end(iter(losses), tail), _end(reversed(losses), tail))


def _end(losses: Iterator[tuple[float, float]], tail: float) -> float:
    gone = 0.0
    for t, p in losses:
        gone += p
        if gone > tail:
            return t
    return 0.0
