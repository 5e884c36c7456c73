"""Compositions of pairs with a few losses, rational or not, by counting how often each occurs.

With losses t_1 … t_a of masses p_1 … p_a, n copies have Σ j_i t_i with multinomial masses. Counts that are
too rare are left out; what they weigh together is 1 minus what is kept, between nothing and all of it at +∞.
For two losses this is the optimal composition theorem of Kairouz, Oh & Viswanath 2015.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product
from math import comb, isqrt

from flint import arb, fmpz

from dpaccount.numerics.bisection import solve
from dpaccount.numerics.intervals import ball, ceil_of, precision
from dpaccount.numerics.work_budget import OutOfReach, bearable, spend

Atoms = tuple[tuple[arb, arb], ...]  #: (loss, mass)
MAX_SUMS = 60_000  #: sums of losses
MAX_RARE = 4  #: losses up to which most counts may be too rare to matter
SLACK = arb(2) ** -40  #: relative to it, the order of the losses (of their doubles) is sure


@dataclass(frozen=True)
class Composed:
    """All sums of losses with their masses, from the largest on, and what else there is at +∞ and nowhere."""

    losses: list[arb]
    masses: list[arb]
    infinite: arb
    bits: int

    def delta(self, at: Fraction) -> arb:
        """Return a ball around δ(ε): Σ mass·(1 − e^{ε−loss})₊ and the infinite mass."""
        with precision(self.bits):
            point, total = ball(at), self.infinite
            for loss, mass in zip(self.losses, self.masses, strict=True):
                if loss + (abs(loss) + 1) * SLACK < point:
                    break
                total += mass * (-(point - loss).expm1()).max(arb(0))
            return total


def compose(kinds: Sequence[tuple[Atoms, arb, int]], depth: int, bits: int) -> Composed:
    """Return the composition of (atoms, mass at +∞, count), without counts rarer than 2^−depth each or so."""
    with precision(bits):
        sums: list[tuple[arb, arb]] = [(arb(0), arb(1))]
        kept = arb(1)
        for atoms, infinite, count in kinds:
            if not atoms:  # the loss is surely infinite
                sums, kept = [], arb(0)
                continue
            if len(atoms) > MAX_RARE:
                bearable(comb(count + len(atoms) - 1, count), MAX_SUMS)
            by_mass = tuple(sorted(atoms, key=lambda atom: float(atom[1].mid())))
            own = list(islice(_multinomial(by_mass, count, depth), MAX_SUMS + 1))
            bearable(len(own) * len(sums), MAX_SUMS)
            sums = [(s + t, p * m) for (s, p), (t, m) in product(sums, own)]
            kept *= (count * (-infinite).log1p()).exp()
        sums.sort(key=lambda pair: float(pair[0].mid()), reverse=True)
        finite = sum((mass for _, mass in sums), arb(0))
        lost = (kept - finite).upper().max(arb(0))
        return Composed([t for t, _ in sums], [m for _, m in sums], 1 - kept + arb(0).union(lost), bits)


def _multinomial(atoms: Atoms, count: int, depth: int) -> Iterator[tuple[arb, arb]]:
    """Yield the sums of `count` losses and their masses, the rarest loss counted first."""
    (loss, mass), rest = atoms[0], atoms[1:]
    if not rest:
        yield count * loss, mass**count
        return
    share = mass / sum((m for _, m in atoms), arb(0))
    ways = arb(0)
    # A rare loss occurs few times, so counting it first leaves few branches to follow.
    for times in _likely(count, float(share.mid()), depth):
        spend()  # from one binomial coefficient to the next; the first one exactly
        ways = ways * (count - times + 1) / times if ways > 0 else arb(fmpz.bin_uiui(count, times))
        here = ways * mass**times
        for total, weight in _multinomial(rest, count - times, depth):
            yield times * loss + total, here * weight


def _likely(count: int, share: float, depth: int) -> range:
    """Return counts around the mean that hold all but about 2^−depth of a binomial law (an estimate)."""
    if not 0 <= share <= 1:
        raise OutOfReach("a mass that is not known at all")
    goal = 0.7 * depth + 5
    reach = isqrt(int(2 * goal * count * share * (1 - share)) + 1) + int(goal) + 2
    middle = round(count * share)
    bearable(2 * reach, MAX_SUMS)
    return range(max(0, middle - reach), min(count, middle + reach) + 1)


def epsilon(composed: Composed, target: Fraction) -> tuple[Fraction, Fraction | None]:
    """Return an enclosure of ε(target), 0 < target < 1; None above where it is infinite."""
    if ceil_of(composed.delta(Fraction(0))) <= target:
        return Fraction(0), Fraction(0)
    if not ceil_of(composed.infinite) <= target:
        return Fraction(0), None
    top = max(Fraction(0), *map(ceil_of, composed.losses[:1]))
    return solve(composed.delta, target, Fraction(0), top, max(top, Fraction(1, 1000)) / 10**15)
