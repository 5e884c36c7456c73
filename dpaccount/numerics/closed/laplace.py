"""The exact curve of equal Laplace mechanisms, by truncated powers.

For scale b and ℓ1 sensitivity Δ (ε₀ = Δ/b) the loss L has E_P e^{sL} = e^{−ε₀/2}[cosh zε₀ + sinh(zε₀)/(2z)]
with z = s + 1/2. The k-th power expands into terms z^{−m}e^{zt}, each the transform of a truncated
power (t − l)₊^{m−1}/(m−1)!, so that δ(ε) is a finite sum of incomplete gamma integrals
G_m(a, y) = ∫₀^y u^{m−1}/(m−1)! e^{au} du.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from flint import arb, arb_poly, ctx, fmpz, fmpz_poly

from dpaccount.numerics.bisection import Ends, least_integer, solve
from dpaccount.numerics.intervals import accurate, ball, log_float
from dpaccount.numerics.work_budget import kept, spend


def delta_single(epsilon: Fraction, loss: Fraction, bits: int = 80) -> arb:
    """Return δ(ε) of one Laplace mechanism: 1 − e^{(ε−ε₀)/2} for |ε| ≤ ε₀ (Balle & others 2018)."""
    if epsilon >= loss:
        return ball(0)
    if epsilon <= -loss:
        return accurate(lambda: 1 - ball(epsilon).exp(), bits)
    return accurate(lambda: -(ball(epsilon - loss) / 2).expm1(), bits)


@dataclass(frozen=True)
class TruncatedPowers:
    """`count` equal Laplace mechanisms of maximal loss `loss` each."""

    loss: Fraction
    count: int

    def delta(self, epsilon: Fraction, bits: int = 80, small: float = 0.0) -> arb:
        """Return a ball around δ(ε).

        `small` estimates −log₂ δ(ε): what the terms must be more accurate by.
        """
        loss, count = self.loss, self.count
        if count == 1:
            return delta_single(epsilon, loss, bits)
        if epsilon >= count * loss:
            return ball(0)
        wanted = bits + int(small)
        steps = _continuous_steps(count, loss, wanted)
        first = _first_part(count, loss, steps, wanted)
        start = wanted + 40  # where terms cancel more, the precision is doubled
        return accurate(lambda: _sum(epsilon, loss, count, steps, first), bits, start)

    def epsilon(self, target: Fraction, width: Fraction, hint: Ends) -> Ends:
        """Return an enclosure of the least ε ≥ 0 with δ(ε) ≤ target, for 0 < target < 1."""
        bits = max(40, int(-log_float(width) * 1.45) + 16)
        small = -log_float(target) * 1.45

        @cache
        def curve(at: Fraction) -> arb:
            return self.delta(at, bits, small)

        if not curve(hint[0]) > ball(target) and curve(Fraction(0)) <= ball(target):
            return Fraction(0), Fraction(0)
        return solve(curve, target, Fraction(0), self.count * self.loss, width, hint)


def _continuous_steps(count: int, loss: Fraction, bits: int) -> int:
    """Return how many of the steps may fall between the atoms ±ε₀; more has a probability left over.

    The tail is bounded in `_dropped`; this float only chooses where to cut.
    """
    q = -math.expm1(-float(loss)) / 2
    goal = 0.7 * bits
    for steps in range(int(count * q), count):
        rate = steps / count
        if rate <= q:
            continue
        kl = rate * math.log(rate / q) + ((1 - rate) * math.log((1 - rate) / (1 - q)) if rate < 1 else 0)
        if count * kl > goal + 5:
            return steps
    return count


def _dropped(count: int, loss: Fraction, steps: int) -> arb:
    """Return a bound on P(Bin(k, (1−e^{−ε₀})/2) > steps), the mass of the dropped terms (Chernoff)."""
    if steps >= count:
        return ball(0)
    q = -ball(-loss).expm1() / 2
    rate = ball(Fraction(steps + 1, count))
    if not rate > q:
        return ball(1)
    entropy = rate * (rate / q).log()
    if steps + 1 < count:
        entropy += (1 - rate) * ((1 - rate) / (1 - q)).log()
    return (-count * entropy).exp()


def _first_part(count: int, loss: Fraction, steps: int, bits: int) -> int:
    """Return the n below which parts are left out; their sum is bounded in `_left_out`."""
    log = _log_terms(count, float(loss), steps) / math.log(2) + bits + 20 - count

    def kept(n: int) -> bool:
        ways = math.lgamma(count + 1) - math.lgamma(n + 1) - math.lgamma(count - n + 1)
        return ways / math.log(2) + log >= 0

    return least_integer(kept, 0, count // 2 + 1) - 1


def _log_terms(count: int, loss: float, steps: int) -> float:
    """Return an estimate of the logarithm of what `_left_out` sums over m."""
    rise, most = math.log(count * loss / 2), 0.0
    for m in range(1, steps + 1):
        ways = math.lgamma(count + 1) - math.lgamma(count - m + 1) - 2 * math.lgamma(m + 1)
        most = max(most, ways + m * rise)
    return most + math.log(steps + 1)


def _left_out(count: int, loss: Fraction, steps: int, first: int) -> arb:
    """Return a bound on the sum of the parts n < first, at any ε ≥ 0.

    As |c_{m,n}| ≤ (k over n) and G_m(a, y) ≤ (y^m/m!)·max(1, e^{ay}), part n is at most
    2^{−k} (k over n) Σ_m (k over m)(kε₀/2)^m/m!; and Σ_{n<N} (k over n) ≤ (k over N−1)(k−N+2)/(k−2N+3).
    """
    if not first:
        return arb(0)
    half, total, term = ball(count * loss) / 2, arb(1), arb(1)
    for m in range(1, steps + 1):
        term *= half * (count - m + 1) / (m * m)
        total += term
    ways = arb(fmpz.bin_uiui(count, first - 1)) * (count - first + 2) / (count - 2 * first + 3)
    return total * ways * arb(2) ** -count


def _sum(epsilon: Fraction, loss: Fraction, count: int, steps: int, first: int) -> arb:
    """Return the truncated-power sum with m ≤ steps, n ≥ first; the rest of the mass widens the ball."""
    if epsilon < 0:
        mirrored = _sum(-epsilon, loss, count, steps, first)
        return 1 - ball(epsilon).exp() + ball(epsilon).exp() * mirrored
    at = ball(epsilon)
    grown, atoms, rest = at.exp(), ball(0), ball(0)
    above = max(0, math.ceil((count - epsilon / loss) / 2) - first)  # t > ε
    for part in _parts(loss, count, steps, first, ctx.prec)[:above]:
        atoms += part.atom * (part.half - grown / part.half)
        rest += part.powers(part.at - at) + part.error
    missed = _left_out(count, loss, steps, first)
    return atoms + (at / 2).exp() * rest + (-missed).union(missed + _dropped(count, loss, steps))


@dataclass(frozen=True)
class _Part:
    """The terms at t = (k − 2n)ε₀: an atom, and powers of y = t − ε, 0 ≤ y ≤ t."""

    at: arb
    half: arb  #: e^{t/2}
    atom: arb
    powers: arb_poly
    error: arb


@kept(8)
def _parts(loss: Fraction, count: int, steps: int, first: int, bits: int) -> list[_Part]:
    """Return the parts with t > 0, n = first, first + 1, …; they serve every ε ≥ 0.

    By parts G_m(a, y) = (y^m/m!)e^{ay} − a G_{m+1}(a, y), so with u_m = w_m c_{m,n}

        Σ_{m≥1} u_m G_m(a, y) = e^{ay} Σ_{p≥1} v_p y^p/p!,  v_p = u_p − a v_{p−1},  v_0 = 0,

    and e^{t/2 − y/2} = e^{ε − t/2 + y/2} = e^{ε/2}: the two sums over a = ∓1/2 are one polynomial, of
    Σ_{j odd} 2^{1−j} u_{p−j}. As (k over m) c_{m,n} = (k over n) κ_m with κ_m the coefficients of
    (1−z)^n (1+z)^{k−n} (Krawtchouk), u_m = s 2^{−m} κ_m, s = e^{−kε₀/2} 2^{−k} (k over n): these are sums of
    every other κ. From one n to the next κ′(1 + z) = κ(1 − z).
    Beyond the last m the |v_p| halve, so what is cut off after P terms is at most
    |v_P|/2·y^{P+1}/(P+1)!/(1 − y/(2P+4)).
    """
    scale = (-count * ball(loss) / 2).exp() / (fmpz(1) << count)
    most = float((count - 2 * first) * loss)
    size = steps + 1
    while size < most or size * math.log(most / 2) - math.lgamma(size + 1) > -bits * math.log(2):
        size += 4
    over = [1 / (arb(fmpz.fac_ui(p)) * (fmpz(1) << p)) for p in range(size + 1)]
    kappa = (fmpz_poly([1, -1]) ** first * fmpz_poly([1, 1]) ** (count - first)).coeffs()[: steps + 1]
    found = []
    for n in range(first, (count + 1) // 2):
        spend()
        at, here = ball((count - 2 * n) * loss), scale * fmpz.bin_uiui(count, n)
        sums = [fmpz(0), fmpz(0)]  # sums of every other κ, from the first on
        for p in range(2, size + 1):
            sums.append(sums[p - 2] + (kappa[p - 1] if p <= steps + 1 else 0))
        powers = arb_poly([2 * value * share for value, share in zip(sums, over, strict=True)]) * here
        missed = max(abs(sums[-1]), abs(sums[-2])) * here * over[size] * at ** (size + 1)
        missed /= (size + 1) * (1 - at / (2 * size + 4))
        error = arb(0).union(missed).union(-missed)
        found.append(_Part(at, (at / 2).exp(), here, powers, error))
        after = [kappa[0]]
        for m in range(1, steps + 1):
            after.append(kappa[m] - kappa[m - 1] - after[m - 1])
        kappa = after
    return found
