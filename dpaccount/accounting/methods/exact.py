"""Methods for compositions of known pairs, in one direction of the relation.

Each returns an enclosure, None where it does not come close enough, and raises `OutOfReach` or another of
`answer.UNREACHED` where magnitudes are out of its reach. No total has failures here.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import ctx

from dpaccount.accounting.methods.answer import within_unit
from dpaccount.exact import Enclosure, Number
from dpaccount.numerics.bisection import solve
from dpaccount.numerics.closed.laplace import TruncatedPowers
from dpaccount.numerics.fourier import contours, fourier, saddlepoint
from dpaccount.numerics.intervals import accurate, ceil_of, floor_of, log_float, precision
from dpaccount.numerics.lattice import composing, counted_losses, exact_grids
from dpaccount.numerics.lattice.exact_grids import OnGrid
from dpaccount.numerics.work_budget import SECOND, OutOfReach, granted, over_limit
from dpaccount.pairs.composition import Composition

if TYPE_CHECKING:
    from dpaccount.numerics.lattice.capped import CappedSearch, Parts

LOG2 = math.log(2)
MANY_SAMPLES = 133  #: different ones that leave no work for a second direction or method
CLOSE = Fraction(1, 10**17)  #: of ε where only rounding is between its ends
MOST_CAPPED = 64  #: steps that are composed as lattices with a cap
LAST_CAPPED = 2 * SECOND  #: of work for them where only other lattices follow
MAX_STEPS = 10**12  #: of one pair in a lattice composition
DEPTHS = 60.0, 250.0, 900.0  #: −log of the rarest losses that are counted: they must be small next to δ


def has_many_samples(total: Composition) -> bool:
    """Return whether the work suffices for one method in one direction only."""
    return sum(bool(pair.monotone_parameters()) for pair, _ in total.pairs) > MANY_SAMPLES


# ---- one step: the pair's own curve


def has_curve(total: Composition) -> bool:
    """Say whether the total is one step of a pair whose own curve is known."""
    return total.one_pair is not None and total.one_pair.closed_curve


def one_step_epsilon(total: Composition, target: Fraction, gap: Fraction, least: Number) -> Enclosure:
    """Return ε(target) of one pair by its own curve."""
    curve = total.pairs[0][0].curve(100 + int(-log_float(target) / LOG2))
    if ceil_of(curve(Fraction(0))) <= target:
        return Enclosure(Fraction(0), Fraction(0))
    high = Fraction(1, 1 << 20)
    while not ceil_of(curve(high)) <= target:
        high *= 2
    return Enclosure(*solve(curve, target, Fraction(0), high, high / 10**17))


def one_step_delta(total: Composition, epsilon: Fraction, gap: Fraction) -> Enclosure:
    """Return δ(epsilon) of one pair by its own curve."""
    pair = total.pairs[0][0]
    value = accurate(lambda: pair.curve(ctx.prec)(epsilon), 80)
    return within_unit(floor_of(value), ceil_of(value))


# ---- equal copies that compose in closed form


def equal_copies(total: Composition) -> TruncatedPowers | None:
    """Return the closed form of a total of equal pairs; None where there is none."""
    if total.mu2[1] or len(total.pairs) != 1:
        return None
    pair, count = total.pairs[0]
    return pair.copies(count)


def powers_epsilon(total: Composition, target: Fraction, gap: Fraction, least: Number) -> Enclosure | None:
    """Return ε(target) of equal pairs in closed form."""
    copies, product = equal_copies(total), total.transform()
    if copies is None or product is None:
        return None
    guess, _ = saddlepoint.guess(product.log_m, log_float(target))
    hint = (Fraction(guess * 0.999), Fraction(guess * 1.001))
    width = min(gap, max(gap**2, Fraction(1, 10**12))) * max(1, int(guess))
    return Enclosure(*copies.epsilon(target, width, hint))


def powers_delta(total: Composition, epsilon: Fraction, gap: Fraction) -> Enclosure | None:
    """Return δ(epsilon) of equal pairs in closed form."""
    copies, product = equal_copies(total), total.transform()
    if copies is None or product is None:
        return None
    value = copies.delta(epsilon, 60, -_log_delta(product, epsilon) / LOG2)
    return within_unit(floor_of(value), ceil_of(value))


def _log_delta(product: contours.Product, epsilon: Fraction) -> float:
    """Return a float a little below log δ(epsilon)."""
    return contours.estimate_delta(product, float(epsilon)).log_delta - 0.01


# ---- an exact lattice: losses on one rational grid


def has_transform(total: Composition) -> bool:
    """Say whether the transforms of all pairs are known."""
    return total.transform() is not None


def lacks_transform(total: Composition) -> bool:
    """Say whether the transform of some pair is not known, or a long sum."""
    return not has_transform(total)


def grid_epsilon(total: Composition, target: Fraction, gap: Fraction, least: Number) -> Enclosure | None:
    """Return ε(target) where all losses lie on one grid of bearable size."""
    log_target = log_float(target)
    grids = _grids(total, lambda product: -log_target)
    if grids is None:
        return None
    return _open_above(*exact_grids.compose(grids[0], log_target / LOG2).epsilon(target, CLOSE))


def grid_delta(total: Composition, epsilon: Fraction, gap: Fraction) -> Enclosure | None:
    """Return δ(epsilon) where all losses lie on one grid of bearable size."""
    grids = _grids(total, lambda product: -_log_delta(product, epsilon))
    if grids is None:
        return None
    value = exact_grids.compose(grids[0], -grids[1] / LOG2).curve(epsilon)
    return within_unit(floor_of(value), ceil_of(value))


def _grids(
    total: Composition, depth_of: Callable[[contours.Product], float]
) -> tuple[list[tuple[OnGrid, int]], float] | None:
    """Return the pairs on grids and how deep they matter; None where there is no common grid."""
    product = total.transform()
    if product is None:
        return None
    depth = depth_of(product)
    grids = [(grid, count) for pair, count in total.pairs if (grid := pair.on_grid()) is not None]
    if total.mu2[1] or len(grids) < len(total.pairs):
        return None
    return (grids, depth) if exact_grids.suits(grids, lambda: _loss_range(product, depth)) else None


def _loss_range(product: contours.Product, depth: float) -> float:
    """Return about how wide the range of losses is that matters down to probabilities e^−depth."""
    variance = max((product.log_m(1e-2) - 2 * product.log_m(0.0) + product.log_m(-1e-2)) / 1e-4, 0.0)
    return 2 * (math.sqrt(2 * variance * (depth + 45)) + variance)


def _open_above(low: Fraction, high: Fraction | None) -> Enclosure:
    return Enclosure(low, math.inf if high is None else high)


# ---- few losses, counted one by one


def counted_epsilon(total: Composition, target: Fraction, gap: Fraction, least: Number) -> Enclosure | None:
    """Return ε(target) by counting how often each of a few losses occurs."""
    few = few_losses(total, -log_float(target))
    return None if few is None else _open_above(*counted_losses.epsilon(few, target))


def counted_delta(total: Composition, epsilon: Fraction, gap: Fraction) -> Enclosure | None:
    """Return δ(epsilon) by counting how often each of a few losses occurs."""
    # What is left out must be small next to δ, which is not known beforehand.
    for depth in DEPTHS:
        few = few_losses(total, depth)
        if few is None:
            return None
        value = few.delta(epsilon)
        low, high = floor_of(value), ceil_of(value)
        if high - low <= gap * high or depth > 500:
            return within_unit(low, high)
    return None


def few_losses(total: Composition, depth: float) -> counted_losses.Composed | None:
    """Return the composition of pairs with few losses, down to about e^−depth; None if others join."""
    bits = 160 + int(3 * depth) + 4 * sum(n for _, n in total.pairs).bit_length()
    with precision(bits):
        lists = [(*few, count) for pair, count in total.pairs if (few := pair.few_losses()) is not None]
        if total.mu2[1] or total.upper or len(lists) < len(total.pairs):
            return None
        try:
            return counted_losses.compose(lists, int(depth * 1.45) + 64, bits)
        except OutOfReach:
            return None


# ---- Fourier inversion


def inverted_epsilon(total: Composition, target: Fraction, gap: Fraction, least: Number) -> Enclosure | None:
    """Return ε(target) by Fourier inversion; None where that does not come close enough."""
    product = total.transform(summed=True)
    if product is None:
        return None
    for digits in _digits(total, gap):
        try:
            ends = fourier.epsilon(product, target, log_float(target), gap * 4 / 5, digits)
        # So many digits may be out of reach where fewer are not; spent work ends the method.
        except OutOfReach:
            if over_limit():
                raise
            continue
        if ends is not None and ends[1] - ends[0] <= gap * max(Fraction(1), ends[0]):
            return Enclosure(*ends)
    return None


def inverted_delta(total: Composition, epsilon: Fraction, gap: Fraction) -> Enclosure | None:
    """Return δ(epsilon) by Fourier inversion; None where that does not come close enough."""
    product = total.transform(summed=True)
    if product is None:
        return None
    for digits in _digits(total, gap):
        try:
            ends = fourier.delta(product, epsilon, gap * 4 / 5, digits)
        except OutOfReach:
            if over_limit():
                raise
            continue
        if ends is not None and ends[1] - ends[0] <= gap * ends[1]:
            return within_unit(*ends)
    return None


def _digits(total: Composition, gap: Fraction) -> tuple[float, ...]:
    """Return the accuracies to try: many digits where they cost little, and what the gap needs."""
    needed = max(4.0, -log_float(gap) / math.log(10) + 2)
    ample = max(17.0, needed)
    if has_many_samples(total):
        return (needed,)
    return (ample, needed) if has_transform(total) else (needed, ample)


# ---- lattices of few losses that are bounded below


def few_at_a_time(total: Composition) -> bool:
    """Say whether the total is of few releases with quick curves, in a direction with a least loss."""
    few = sum(count for _, count in total.pairs) <= MOST_CAPPED and not (total.mu2[1] or total.upper)
    return few and all(pair.quick_dots for pair, _ in total.pairs) and _bounded_below(total) is not None


def _bounded_below(total: Composition) -> "tuple[Parts, bool] | None":
    """Return the counted pairs of a direction in which losses have least ones, and if it is the other one."""
    for way, mirrored in ((total, False), (total.reversed(), True)):
        finite = all(pair.infinite_mass() == pair.reversed().infinite_mass() == 0 for pair, _ in way.pairs)
        most = [pair.reversed().ceiling() for pair, _ in way.pairs] if finite else [None]
        lows = [floor_of(-end) for end in most if end is not None]
        if len(lows) == len(most):
            return [(pair, n, low) for (pair, n), low in zip(way.pairs, lows, strict=True)], mirrored
    return None


def _capped(total: Composition, most: float | None) -> "CappedSearch":
    """Return a search for as long as Fourier inversion may take, which is slow where losses hardly vary."""
    from dpaccount.numerics.lattice.capped import CappedSearch  # most plans do without it

    parts, mirrored = _bounded_below(total) or ([], False)
    if most is None:
        count, still = sum(n for _, n, _ in parts), -sum(n * float(low) for _, n, low in parts)
        most = SECOND * min(0.6, max(0.08, 0.05 / still), 6 / count)
    return CappedSearch(parts, granted(most), mirrored=mirrored)


def capped_epsilon(
    total: Composition, target: Fraction, gap: Fraction, least: Number, most: float | None = None
) -> Enclosure | None:
    """Return ε(target) by lattices of what may stay below ε; None where that does not come close enough."""
    product = total.transform(summed=True)
    near = 1.0 if product is None else contours.estimate_epsilon(product, log_float(target)).epsilon
    low, high = _capped(total, most).epsilon(target, gap, near)
    return Enclosure(low, high) if high is not None and high - low <= gap * max(Fraction(1), high) else None


def capped_delta(
    total: Composition, epsilon: Fraction, gap: Fraction, most: float | None = None
) -> Enclosure | None:
    """Return δ(epsilon) by lattices of what may stay below ε; None where that does not come close enough."""
    product = total.transform(summed=True)
    near = -40.0 if product is None else _log_delta(product, epsilon)
    low, high = _capped(total, most).delta(epsilon, gap, near / LOG2)
    return within_unit(low, high) if high - low <= gap * high else None


# ---- lattices, which any pair has


def lattice_epsilon(total: Composition, target: Fraction, gap: Fraction, least: Number) -> Enclosure:
    """Return ε(target) by lattices, closely where it may exceed `least`."""
    if few_at_a_time(total):
        found = capped_epsilon(total, target, gap, least, LAST_CAPPED)
        if found is not None:
            return found
    low, high = composing.epsilon(total, target, gap, least) if _few_steps(total) else (Fraction(0), None)
    return Enclosure(None if total.upper else low, math.inf if high is None else high)


def lattice_delta(total: Composition, epsilon: Fraction, gap: Fraction) -> Enclosure | None:
    """Return δ(epsilon) by lattices; None for too many steps."""
    if few_at_a_time(total):
        found = capped_delta(total, epsilon, gap, LAST_CAPPED)
        if found is not None:
            return found
    return Enclosure(*composing.delta(total, epsilon, gap)) if _few_steps(total) else None


def _few_steps(total: Composition) -> bool:
    """Say whether lattices may be composed in reasonable time."""
    most = composing.ONE_STEP_COPIES if total.upper else MAX_STEPS
    return all(count <= most for _, count in total.counted)
