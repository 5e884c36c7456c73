"""Methods for compositions of known pairs, in one direction of the relation.

Each returns an enclosure, None where it does not come close enough, and raises `OutOfReach` or another of
`answer.UNREACHED` where magnitudes are out of its reach. No total has failures here.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import TYPE_CHECKING

from flint import arb, ctx, fmpz

from dpaccount.accounting.methods.answer import DeltaAt, EpsilonAt, Question, unit_ends
from dpaccount.exact import Enclosure
from dpaccount.numerics.bisection import solve
from dpaccount.numerics.closed.laplace import TruncatedPowers
from dpaccount.numerics.closed.sampled_curves import Curve
from dpaccount.numerics.fourier import contours, fourier, saddlepoint
from dpaccount.numerics.fourier.transforms import Counted
from dpaccount.numerics.intervals import accurate, ball, ceil_of, floor_of, log_float, precision
from dpaccount.numerics.lattice import composing, exact_grids
from dpaccount.numerics.work_budget import SECOND, OutOfReach, granted, kept, over_limit, spend
from dpaccount.pairs.composition import Composition

if TYPE_CHECKING:
    from dpaccount.numerics.lattice.capped import CappedSearch, Parts

LOG2 = math.log(2)
MANY_SAMPLES = 133  #: different ones that leave no work for a second direction or method
CLOSE = Fraction(1, 10**17)  #: of ε where only rounding is between its ends
MOST_CAPPED = 64  #: steps that are composed as lattices with a cap
LAST_CAPPED = 2 * SECOND  #: of work for them where only other lattices follow
MAX_STEPS = 10**12  #: of one pair in a lattice composition
MOST_WAYS = 4_000  #: of losses to occur that are counted one by one


def has_many_samples(total: Composition) -> bool:
    """Return whether the work suffices for one method in one direction only."""
    return sum(bool(pair.monotone_parameters()) for pair, _ in total.pairs) > MANY_SAMPLES


# ---- one step: the pair's own curve


def has_curve(total: Composition) -> bool:
    """Say whether the total is one step of a pair whose own curve is known."""
    return total.one_pair is not None and total.one_pair.closed_curve


def by_own_curve(total: Composition, question: Question) -> Enclosure:
    """Answer for one pair by its own curve."""
    return _by_curve(total.pairs[0][0].curve, question)


def _by_curve(curve_to: Callable[[int], Curve], question: Question) -> Enclosure:
    at = question.at
    if isinstance(question, DeltaAt):
        return unit_ends(accurate(lambda: curve_to(ctx.prec)(at), 80))
    curve = curve_to(100 + int(-log_float(at) / LOG2))
    if ceil_of(curve(Fraction(0))) <= at:
        return Enclosure(Fraction(0), Fraction(0))
    high = Fraction(1, 1 << 20)
    while not ceil_of(curve(high)) <= at:
        high *= 2
    return Enclosure(*solve(curve, at, Fraction(0), high, high / 10**17))


# ---- equal copies that compose in closed form


def equal_copies(total: Composition) -> TruncatedPowers | None:
    """Return the closed form of a total of equal pairs; None where there is none."""
    if total.mu2[1] or len(total.pairs) != 1:
        return None
    pair, count = total.pairs[0]
    return pair.copies(count)


def by_powers(total: Composition, question: Question) -> Enclosure | None:
    """Answer for equal pairs in closed form."""
    copies, product = equal_copies(total), total.transform()
    if copies is None or product is None:
        return None
    if isinstance(question, DeltaAt):
        return unit_ends(copies.delta(question.at, 60, -question.log_delta(product) / LOG2))
    guess, _ = saddlepoint.guess(product.log_m, log_float(question.at))
    hint = (Fraction(guess * 0.999), Fraction(guess * 1.001))
    width = min(question.gap, max(question.gap**2, Fraction(1, 10**12))) * max(1, int(guess))
    return Enclosure(*copies.epsilon(question.at, width, hint))


# ---- an exact lattice: losses on one rational grid


def by_grid(total: Composition, question: Question) -> Enclosure | None:
    """Answer where all losses lie on one grid of bearable size."""
    product = total.transform()
    if product is None:
        return None
    log_delta = question.log_delta(product)
    grids = [(grid, count) for pair, count in total.pairs if (grid := pair.on_grid()) is not None]
    if total.mu2[1] or len(grids) < len(total.pairs):
        return None
    if not exact_grids.suits(grids, lambda: _loss_range(product, -log_delta)):
        return None
    composed = exact_grids.compose(grids, log_delta / LOG2)
    if isinstance(question, DeltaAt):
        return unit_ends(composed.curve(question.at))
    return question.enclosure(*composed.epsilon(question.at, CLOSE))


def _loss_range(product: contours.Product, depth: float) -> float:
    """Return about how wide the range of losses is that matters down to probabilities e^−depth."""
    variance = max((product.log_m(1e-2) - 2 * product.log_m(0.0) + product.log_m(-1e-2)) / 1e-4, 0.0)
    return 2 * (math.sqrt(2 * variance * (depth + 45)) + variance)


# ---- few losses, counted one by one


def by_counts(total: Composition, question: Question) -> Enclosure | None:
    """Answer for responses, tables and samples of few losses by how often each occurs."""
    known = total.transform(summed=True)
    if known is None or known.mu2[1]:
        return None
    # No sum is left out, however rare: where a curve is flat, ε turns on the last digits of their masses.
    ways = math.prod(math.comb(n + len(made.atoms()) - 1, n) for made, n in known.parts)
    if ways > MOST_WAYS:
        return None
    if isinstance(question, EpsilonAt) and not _sums(known.parts, ctx.prec)[1] < ball(question.at):
        return None

    def delta(t: Fraction) -> arb:
        spend(ways)
        sums, lost = _sums(known.parts, ctx.prec)
        return sum((p * (-(ball(t) - loss).expm1()).max(arb(0)) for loss, p in sums), lost)

    return _by_curve(lambda bits: lambda t: accurate(lambda: delta(t), bits + 150), question)


@kept(8)
def _sums(parts: Counted, bits: int) -> tuple[list[tuple[arb, arb]], arb]:
    """Return all sums of losses, with their masses, multinomial for each kind, and the mass at +∞."""
    found, finite = [(arb(0), arb(1))], arb(1)
    with precision(bits):
        for made, n in parts:
            losses, sums, finite = made.atoms(), [], finite * (1 - made.infinite()) ** n
            last = n + len(losses) - 1
            for bars in combinations(range(last), len(losses) - 1) if losses else ():
                times = [after - bar - 1 for bar, after in pairwise((-1, *bars, last))]
                whole, mass = arb(0), arb(fmpz.fac_ui(n))
                for k, (loss, p) in zip(times, losses, strict=True):
                    whole, mass = whole + k * loss, mass * p**k / fmpz.fac_ui(k)
                sums.append((whole, mass))
            found = [(s + t, p * m) for (s, p), (t, m) in product(found, sums)]
        return found, 1 - finite


# ---- Fourier inversion


def by_inversion(total: Composition, question: Question) -> Enclosure | None:
    """Answer by Fourier inversion; None where that does not come close enough."""
    product = total.transform(summed=True)
    if product is None:
        return None
    at, gap = question.at, question.gap * 4 / 5
    for digits in _digits(total, question.gap):
        try:
            if isinstance(question, EpsilonAt):
                ends = fourier.epsilon(product, at, log_float(at), gap, digits)
            else:
                ends = fourier.delta(product, at, gap, digits)
        # So many digits may be out of reach where fewer are not; spent work ends the method.
        except OutOfReach:
            if over_limit():
                raise
            continue
        if ends is not None and question.is_close(*ends):
            return question.enclosure(*ends)
    return None


def _digits(total: Composition, gap: Fraction) -> tuple[float, ...]:
    """Return the accuracies to try: many digits where they cost little, and what the gap needs."""
    needed = max(4.0, -log_float(gap) / math.log(10) + 2)
    ample = max(17.0, needed)
    if has_many_samples(total):
        return (needed,)
    return (ample, needed) if total.transform() is not None else (needed, ample)


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


def by_capped(total: Composition, question: Question, most: float | None = None) -> Enclosure | None:
    """Answer by lattices of what may stay below ε; None where that does not come close enough."""
    product = total.transform(summed=True)
    if isinstance(question, EpsilonAt):
        log_delta = log_float(question.at)
        near = 1.0 if product is None else contours.estimate_epsilon(product, log_delta).epsilon
        low, high = _capped(total, most).epsilon(question.at, question.gap, near)
    else:
        near = -40.0 if product is None else question.log_delta(product)
        low, high = _capped(total, most).delta(question.at, question.gap, near / LOG2)
    return question.enclosure(low, high) if high is not None and question.is_close(low, high) else None


# ---- lattices, which any pair has


def by_lattice(total: Composition, question: Question) -> Enclosure | None:
    """Answer by lattices; None for too many steps."""
    if few_at_a_time(total) and (found := by_capped(total, question, LAST_CAPPED)) is not None:
        return found
    most = composing.ONE_STEP_COPIES if total.upper else MAX_STEPS
    if any(count > most for _, count in total.counted):
        return None
    if isinstance(question, DeltaAt):
        return Enclosure(*composing.delta(total, question.at, question.gap))
    return question.enclosure(*composing.epsilon(total, question.at, question.gap, question.least))
