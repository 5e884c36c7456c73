"""Enclosures of exposures whose pairs are all known, by the first method that reaches them.

In order: one step's own curve, counted losses, truncated powers, exact lattices, tilted Fourier inversion,
lattices for all else; each direction of the relation by itself, where they differ.
"""

import math
from collections.abc import Callable
from fractions import Fraction

from flint import ctx

from dpaccount.cost import lattice_bounds, pair_curves
from dpaccount.cost.answer import INFINITE, NOTHING, UNREACHED, Answer, capped, within_unit, worse
from dpaccount.cost.exposure import Exposure, Sampled, directions
from dpaccount.cost.losses import all_within, fails_more_often, infinite_mass, largest_loss, unfailing
from dpaccount.exact import Enclosure, Number
from dpaccount.numerics.balls import accurate, ceil_of, floor_of, log_float
from dpaccount.numerics.closed import gaussian, laplace
from dpaccount.numerics.fourier import contours, fourier, saddle
from dpaccount.numerics.fourier.transforms import AtomFactor, DiscreteGaussianFactor, Factor, LaplaceFactor
from dpaccount.numerics.lattice import counted_losses, exact_grids
from dpaccount.numerics.solve import Ends, solve
from dpaccount.numerics.work_budget import OutOfReach, limited, over_limit, steps_left

LOG2 = math.log(2)
SHARE = 0.7  #: of the time that is left, for a method that another one may follow
Method = Callable[[], Answer | None]  #: None: it does not come close enough
Methods = list[tuple[Method, bool]]  #: and whether it applies


def epsilon(total: Exposure, target: Fraction, gap: Fraction) -> Answer:
    """Return the worse direction's ε by the first method that reaches it."""
    if not total.pairs:
        return Answer(Enclosure(*gaussian.epsilon(target, total.mu2, Fraction(1, 10**17))), "gaussian curve")
    ways = directions(total)
    if any(fails_more_often(way, target) for way in ways):
        return Answer(INFINITE, "failure mass")
    answers: list[Answer] = []
    for left, way in zip(range(len(ways), 0, -1), ways, strict=True):
        if infinite_mass(way) == target:  # then what is left is the largest of the finite losses
            answers.append(largest_loss(unfailing(way), [unfailing(way)]))
            continue
        # the second one need not be known closely where it costs less
        least = answers[0].bounds.lower if answers else None
        with limited(steps_left() / left):
            answers.append(capped(way, _directed_epsilon(way, target, gap, least or Fraction(0))))
    return worse(answers)


def _directed_epsilon(
    total: Exposure, target: Fraction, gap: Fraction, least: Number = Fraction(0)
) -> Answer:
    pairs, log_target = total.pairs, log_float(target)

    def one_step() -> Answer:
        return Answer(Enclosure(*_single_epsilon(pairs[0][0], target)), "one step")

    def counted() -> Answer | None:
        few = pair_curves.finite_losses(total, -log_target)
        return None if few is None else _open_above(*counted_losses.epsilon(few, target), "counted losses")

    def powers() -> Answer:
        guess, _ = saddle.guess(contours.Product(total.mu2, pairs).log_m, log_target)
        loss, count = _equal_laplaces(total)
        hint = (Fraction(guess * 0.99), Fraction(guess * 1.01))
        width = min(gap, Fraction(1, 10**12)) * max(1, int(guess))
        return Answer(Enclosure(*laplace.epsilon(target, loss, count, width, hint)), "truncated powers")

    def on_grid() -> Answer | None:
        fits = _on_grid(total, contours.Product(total.mu2, pairs), -log_target)
        found = exact_grids.epsilon(pairs, target, log_target / LOG2) if fits else None
        return None if found is None else _open_above(*found, "exact lattice")

    def inverted() -> Answer | None:
        known = pair_curves.transformed(total)
        digits = _digits(gap) if has_transform(total) else _digits(gap)[1:]
        return _inverted_epsilon(known, target, gap, digits) if has_transform(known) else None

    methods: Methods = [(one_step, _is_single(total)), (powers, _is_laplace(total))]
    methods += [(on_grid, has_transform(total)), (counted, not has_transform(total)), (inverted, True)]
    return _first_that_reaches(
        [method for method, applies in methods if applies],
        lambda: lattice_epsilon(total, target, gap, least),
    )


def _open_above(low: Fraction, high: Fraction | None, method: str) -> Answer:
    return Answer(Enclosure(low, math.inf if high is None else high), method)


def _first_that_reaches(methods: list[Method], last: Callable[[], Answer]) -> Answer:
    """Return the first method's answer; one that gives up hands on to the next, the last one may raise."""
    for method in methods:
        try:
            with limited(steps_left() * SHARE):
                found = method()
        except UNREACHED:
            continue
        if found is not None:
            return found
    return last()


def _inverted_epsilon(
    total: Exposure, target: Fraction, gap: Fraction, digits: tuple[float, ...]
) -> Answer | None:
    """Return ε(target) by Fourier inversion; None where that does not come close enough."""
    product = contours.Product(total.mu2, total.pairs)
    for wanted in digits:
        try:
            found = fourier.epsilon(product, target, log_float(target), gap * 4 / 5, wanted)
        except OutOfReach:
            if over_limit():
                raise
            continue
        if found is not None and found[1] - found[0] <= gap * max(Fraction(1), found[0]):
            return Answer(Enclosure(*found), "Fourier inversion")
    return None


def delta(total: Exposure, epsilon: Fraction, gap: Fraction) -> Answer:
    """Return the worse direction's δ(ε), likewise."""
    answers, ways = [], directions(total)
    for left, way in zip(range(len(ways), 0, -1), ways, strict=True):
        with limited(steps_left() / left):
            within = all_within(way, epsilon)
            answers.append(Answer(NOTHING, "exact") if within else _directed_delta(way, epsilon, gap))
    return worse(answers)


def _directed_delta(total: Exposure, epsilon: Fraction, gap: Fraction) -> Answer:
    pairs = total.pairs

    def one_step() -> Answer:
        return Answer(within_unit(*_single_delta(pairs[0][0], epsilon)), "one step")

    def counted() -> Answer | None:
        for depth in (60.0, 250.0, 900.0):  # what is left out must be small beside δ
            few = pair_curves.finite_losses(total, depth)
            if few is None:
                return None
            low, high = counted_losses.delta(few, epsilon)
            if high - low <= gap * high or depth > 500:
                return Answer(within_unit(low, high), "counted losses")
        return None

    def size(product: contours.Product) -> float:
        return contours.estimate_delta(product, float(epsilon)).log_delta - 0.01

    def powers() -> Answer:
        loss, count = _equal_laplaces(total)
        small = size(contours.Product(total.mu2, pairs))
        value = laplace.delta(epsilon, loss, count, 60, -small / LOG2)
        return Answer(within_unit(floor_of(value), ceil_of(value)), "truncated powers")

    def on_grid() -> Answer | None:
        product = contours.Product(total.mu2, pairs)
        small = size(product)
        if not _on_grid(total, product, -small):
            return None
        return Answer(within_unit(*exact_grids.delta(pairs, epsilon, small / LOG2)), "exact lattice")

    def inverted() -> Answer | None:
        known = pair_curves.transformed(total)
        digits = _digits(gap) if has_transform(total) else _digits(gap)[1:]
        return _inverted_delta(known, epsilon, gap, digits) if has_transform(known) else None

    methods: Methods = [(one_step, _is_single(total)), (powers, _is_laplace(total))]
    methods += [(on_grid, has_transform(total)), (counted, not has_transform(total)), (inverted, True)]
    return _first_that_reaches(
        [method for method, applies in methods if applies], lambda: lattice_delta(total, epsilon, gap)
    )


def _inverted_delta(
    total: Exposure, epsilon: Fraction, gap: Fraction, digits: tuple[float, ...]
) -> Answer | None:
    """Return δ(ε) by Fourier inversion; None where that does not come close enough."""
    product = contours.Product(total.mu2, total.pairs)
    for wanted in digits:
        try:
            found = fourier.delta(product, epsilon, gap * 4 / 5, wanted)
        except OutOfReach:
            if over_limit():
                raise
            continue
        if found is not None and found[1] - found[0] <= gap * found[1]:
            return Answer(within_unit(*found), "Fourier inversion")
    return None


def _on_grid(total: Exposure, product: contours.Product, depth: float) -> bool:
    return total.mu2[1] == 0 and exact_grids.suits(total.pairs, lambda: _loss_range(product, depth))


def _loss_range(product: contours.Product, depth: float) -> float:
    """Return about how wide the range of losses is that matters down to probabilities e^−depth."""
    variance = max((product.log_m(1e-2) - 2 * product.log_m(0.0) + product.log_m(-1e-2)) / 1e-4, 0.0)
    return 2 * (math.sqrt(2 * variance * (depth + 45)) + variance)


def _equal_laplaces(total: Exposure) -> tuple[Fraction, int]:
    """Return the loss and the count of a total of equal Laplace pairs."""
    factor, count = total.pairs[0]
    if not isinstance(factor, LaplaceFactor):
        raise TypeError(f"{factor} is not a Laplace pair")
    return factor.loss, count


def _is_laplace(total: Exposure) -> bool:
    """Say whether truncated powers are the way: equal Laplaces, few enough."""
    if total.mu2[1] or len(total.pairs) != 1:
        return False
    factor, count = total.pairs[0]
    return isinstance(factor, LaplaceFactor) and (count == 1 or (count <= 3000 and count * factor.loss <= 60))


def has_transform(total: Exposure) -> bool:
    """Say whether the transforms of all pairs are known."""
    return all(kind.transform for kind, _ in total.pairs)


def _is_single(total: Exposure) -> bool:
    """Say whether the total is one step of a pair whose own curve is known."""
    kind = total.one_pair
    if isinstance(kind, Sampled):
        return lattice_bounds.is_simple(kind)
    return kind is not None and not isinstance(kind, AtomFactor | DiscreteGaussianFactor)


def _single_epsilon(kind: Factor, target: Fraction) -> Ends:
    """Return ε(target) of one pair by its own curve."""
    curve = lattice_bounds.curve(kind, 100 + int(-log_float(target) / LOG2))
    if ceil_of(curve(Fraction(0))) <= target:
        return Fraction(0), Fraction(0)
    high = Fraction(1, 1 << 20)
    while not ceil_of(curve(high)) <= target:
        high *= 2
    return solve(curve, target, Fraction(0), high, high / 10**17)


def _single_delta(kind: Factor, epsilon: Fraction) -> Ends:
    value = accurate(lambda: lattice_bounds.curve(kind, ctx.prec)(epsilon), 80)
    return floor_of(value), ceil_of(value)


def _few(total: Exposure) -> bool:
    """Say whether lattices may be composed in reasonable time."""
    return all(count <= MOST_STEPS for _, count in total.kinds)


MOST_STEPS = 10**6  #: of one kind in a lattice composition


def lattice_epsilon(total: Exposure, target: Fraction, gap: Fraction, least: Number = Fraction(0)) -> Answer:
    """Return ε(target) by lattices, closely where it may exceed `least`."""
    low, high = lattice_bounds.epsilon(total, target, gap, least) if _few(total) else (Fraction(0), None)
    bottom = None if total.bounded else low
    return Answer(Enclosure(bottom, math.inf if high is None else high), "lattice")


def lattice_delta(total: Exposure, epsilon: Fraction, gap: Fraction) -> Answer:
    """Return δ(ε) by lattices."""
    if not _few(total):
        return Answer(Enclosure(None if total.bounded else Fraction(0), Fraction(1)), "no method in time")
    return Answer(Enclosure(*lattice_bounds.delta(total, epsilon, gap)), "lattice")


def _digits(gap: Fraction) -> tuple[float, ...]:
    """Return the accuracies to try: many digits where they cost little, else what the gap needs."""
    needed = max(4.0, -log_float(gap) / math.log(10) + 2)
    return (max(17.0, needed), needed)
