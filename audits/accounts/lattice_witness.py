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
class Witnessed:
    """A lattice of all releases, and the witness from which the checker makes the same one."""

    witness: dict[str, Any]
    whole: LatticeMeasure
    interval: Interval
    digits: int
    work: int  #: that it took


@dataclass(frozen=True)
class _Lot:
    """A release with its count, its measure and what that was made with."""

    count: int
    measure: UpperMeasure
    made: Part
    deviation: float
    span: tuple[float, float]


def witnessed(on: Releases, delta: Fraction, coarser: Fraction, *, back: bool) -> Witnessed:
    """Return a lattice of releases and its witness; raises `Rejected` where some have no measure.

    Steps and spacings are `coarser` times the usual ones.
    """
    share = max(delta, WORST_DELTA)
    count = sum(count for _, count in on.others) + 1
    digits = math.ceil(-math.log10(share) + math.log10(count) + math.log10(KEPT)) + SPARE
    i = Interval(digits + methods.GUARD)
    parts, whole = _Maker(i, digits, share, coarser, back).composed(on)
    return Witnessed({"digits": digits, "parts": parts}, whole, i, digits, Work.spent)


@dataclass(frozen=True)
class _Maker:
    """Makes lattices with these digits, of which a part of `share`, a δ, may be moved in tails."""

    i: Interval
    digits: int
    share: Fraction
    coarser: Fraction
    back: bool

    def composed(self, on: Releases) -> tuple[list[Part], LatticeMeasure]:
        """Return the parts of a witness, and the lattice that they lead to."""
        i, coarser = self.i, float(self.coarser)
        counted: list[tuple[PlanRelease | None, int]] = [*on.others]
        if on.mu_squared:
            counted = [(None, 1), *counted]
        lots = [self.lot(on.mu_squared, release, count) for release, count in counted]
        total = sum(lot.count * lot.deviation**2 for lot in lots)
        unit = _unit([release for release, _ in counted])
        parts, lattices = [], list[LatticeMeasure]()
        for lot in lots:
            own = max(lot.count * lot.deviation**2, total / (4 * len(lots)))
            step = FINE * coarser * math.sqrt(own / lot.count)
            low, high = lot.span
            step = min(max(step, (high - low) / MOST), (high - low) / LEAST * coarser) or 1.0
            exact = _scaled(unit, step)
            moved = [MOVED * self.share / (STEPS * lot.count), MOVED / (STEPS * lot.count)]
            kept = max(KEPT // 4, min(2 * KEPT, math.floor(KEPT / self.coarser)))
            part = {"step": str(exact), "limits": [kept, *(str(_short(each)) for each in moved)], **lot.made}
            limits = methods.limits_of(part["limits"], self.digits)
            lattices.append(power(i, place(i, lot.measure, exact, limits), lot.count, limits))
            parts.append(part)
        return parts, together(i, lattices, self.digits)

    def lot(self, square: Fraction, release: PlanRelease | None, count: int) -> _Lot:
        """Return a release (None: the Gaussian ones as one, of this μ²) with its measure."""
        part = {"spacing": str(_cell(square, self.coarser))} if release is None else self.made(release)
        spacing = Fraction(part.get("spacing", 0))
        if release is None:
            measure = gaussian(self.i, spacing, square)
        else:
            inside = part.get("inside")
            measure = methods.measure_of(self.i, release, spacing, inside, self.digits, back=self.back)
        return _Lot(count, measure, part, *_shape(measure, float(self.share) * 1e-7 / count))

    def made(self, release: PlanRelease) -> Part:
        """Return with which spacing, or from what inside, a measure is made."""
        kind, _, inner = release
        if kind in ("replaced", "sampled-group") and inner is not None:
            loss = inner.mu_squared or _largest(inner.others[0][0]) ** 2
            return {"spacing": str(_cell(loss, self.coarser))}
        if inner is None:
            spacing = _spacing(release, self.coarser)
            return {"spacing": str(spacing)} if spacing else {}
        lone = len(inner.others) + bool(inner.mu_squared) == 1 and all(n == 1 for _, n in inner.others)
        if lone and inner.mu_squared:
            inside: Any = str(_cell(inner.mu_squared, self.coarser))
        elif lone and inner.others[0][0].on is None:
            inside = str(_spacing(inner.others[0][0], self.coarser))
        else:
            inside, _ = self.composed(inner)
        fields = {"inside": inside}
        if kind == "without-replacement":
            fields["spacing"] = str(Fraction(1, 2**10) * self.coarser)
        return fields


def _spacing(release: PlanRelease, coarser: Fraction) -> Fraction:
    """Return how far the losses of one release are apart; 0: each is taken by itself."""
    kind, numbers, _ = release
    if kind in ("laplace", "range"):
        return Fraction(numbers[0]) * coarser / DENSE
    if kind == "geometric":
        return Fraction(0) if numbers[1] <= LISTED else Fraction(2 * numbers[1]) / numbers[0] / LISTED
    if kind == "discrete-gaussian":
        return Fraction(0) if numbers[0] * 15 <= LISTED else Fraction(numbers[1]) / numbers[0] / 100
    if kind == "zcdp":
        return _cell(2 * numbers[0], coarser)
    if kind == "rdp":
        return Fraction(max(bound for _, bound in numbers[0])) / 500 or Fraction(1, 500)
    return Fraction(0)


def _cell(square: Fraction, coarser: Fraction) -> Fraction:
    """Return a spacing for noise of this μ², of which μ² is a multiple: a part of μ, and of a unit."""
    mu = math.sqrt(square)
    wanted = max(min(mu, 1.0) / PER_UNIT, mu / PER_DEVIATION) * float(coarser)
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
