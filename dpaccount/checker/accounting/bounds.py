"""Numbers that add up: the largest loss of a release, and bounds on its Rényi divergences."""

from fractions import Fraction

from ..documents import Rejected, ensure
from ..intervals import ZERO, Interval, Pair, power_of
from .releases import PlanRelease, Releases

Ends = tuple[Pair, Pair]


def largest(i: Interval, on: Releases, *, back: bool) -> Ends:
    """Enclose a bound on the finite losses of releases, and on the probability that one is infinite."""
    ensure(on.mu_squared == 0, "Gaussian losses have no bound")
    loss, kept = ZERO, i.of(1)
    for release, count in on.others:
        most, lost = largest_of(i, release, back=back)
        loss = i.add(loss, i.mul(i.of(count), most))
        kept = i.mul(kept, power_of(i, i.sub(i.of(1), lost), count))
    return loss, i.sub(i.of(1), kept)


def largest_of(i: Interval, release: PlanRelease, *, back: bool) -> Ends:
    """Enclose those of one release."""
    kind, numbers, on = release
    if kind in ("laplace", "response", "range"):
        return i.of(numbers[0]), ZERO
    if kind == "geometric":
        return i.of(numbers[1] / numbers[0]), ZERO
    if kind == "approximate":
        return i.of(numbers[0]), i.of(numbers[1])
    if kind == "table":
        p, q = reversed(numbers) if back else numbers
        odds = max([Fraction(1), *(a / b for a, b in zip(p, q, strict=True) if a and b)])
        return i.ln(i.of(odds)), i.of(sum(a for a, b in zip(p, q, strict=True) if not b))
    ensure(on is not None, f"the losses of {kind} have no bound")
    return on_sample(i, kind, Fraction(numbers[0]), on or Releases(Fraction(0), ()), back=back)


def on_sample(i: Interval, kind: str, rate: Fraction, on: Releases, *, back: bool) -> Ends:
    """Enclose those of a sample: ln(1 − q + qe^m), or −ln(1 − q + qe^{−m}) where a unit is added."""

    def mixed(loss: Pair) -> Pair:
        return i.add(i.of(1 - rate), i.mul(i.of(rate), i.exp(loss)))

    most, lost = largest(i, on, back=back)
    if kind == "replaced":  # of the sum in both directions
        return i.sub(i.ln(mixed(most)), i.ln(mixed(i.neg(most)))), ZERO
    if kind == "poisson" and back:
        ensure(lost[1] == 0, "a failure on a sample has a finite loss where a unit is added")
        return i.neg(i.ln(mixed(i.neg(most)))), ZERO
    if kind == "without-replacement":
        other = largest(i, on, back=True)
        ensure(other == (most, lost), "what is sampled costs more in the other direction")
    return i.ln(mixed(most)), i.mul(i.of(rate), lost)


def renyi(i: Interval, on: Releases, order: Fraction) -> Pair:
    """Enclose a bound on D_order of releases, in both directions."""
    total = i.of(order * on.mu_squared / 2)
    for release, count in on.others:
        total = i.add(total, i.mul(i.of(count), renyi_of(i, release, order)))
    return total


def renyi_of(i: Interval, release: PlanRelease, order: Fraction) -> Pair:
    """Enclose that of one release.

    ε-DP has min(ε, αε²/2) and η-bounded range min(η, αη²/8) (Bun & Steinke 2016; Cesar & Rogers 2021), a
    discrete Gaussian that of the continuous one (Canonne, Kamath & Steinke 2020); D_α rises with α; on a
    sample P^α Q^{1−α} is jointly convex.
    """
    kind, numbers, on = release
    if kind in ("laplace", "response", "geometric"):
        loss = numbers[1] / numbers[0] if kind == "geometric" else numbers[0]
        return i.of(min(loss, order * loss**2 / 2))
    if kind == "range":
        return i.of(min(numbers[0], order * numbers[0] ** 2 / 8))
    if kind == "discrete-gaussian":
        return i.of(order * (numbers[1] / numbers[0]) ** 2 / 2)
    if kind == "zcdp":
        return i.of(order * numbers[0] + sum(numbers[1:]))
    if kind == "rdp":
        known = [bound for listed, bound in numbers[0] if listed >= order]
        ensure(known != [], "the order lies beyond the listed ones")
        return i.of(min(known))
    if kind not in ("poisson", "without-replacement") or on is None:
        raise Rejected(f"no Rényi bound is known of {kind}")
    inner = i.exp(i.mul(i.of(order - 1), renyi(i, on, order)))
    grown = i.add(i.of(1 - numbers[0]), i.mul(i.of(numbers[0]), inner))
    return i.div(i.ln(grown), i.of(order - 1))


def chained(i: Interval, epsilon: Fraction, delta: Fraction, group: int) -> Pair:
    """Enclose δ(e^{kε} − 1)/(e^ε − 1): with kε what k neighbours in a row lose (Vadhan 2017)."""
    if epsilon == 0:
        return i.of(group * delta)
    growth, one = (i.sub(i.exp(i.of(times * epsilon)), i.of(1)) for times in (group, 1))
    return i.mul(i.of(delta), i.div(growth, one))
