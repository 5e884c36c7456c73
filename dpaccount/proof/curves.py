"""Curves: certified values of δ(ε), and the rules that restate one privacy statement.

Numeric functions return a ball (python-flint `arb`) that contains the exact number; a decision is
taken on a ball only when its whole extent agrees, so rounding can refuse but never approve.  All
parameters are exact fractions.  GDP carries μ², because μ is rarely rational.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

from flint import arb, ctx, fmpq, fmpz_poly

from dpaccount.errors import RuleError
from dpaccount.proof.kernel import (
    ADD_REMOVE,
    ANYONE,
    CENTRAL,
    JOINT,
    LOCAL,
    REPLACE_ONE,
    Apart,
    Approximate,
    BoundedRange,
    Covered,
    Curve,
    Gdp,
    Lattice,
    NearGdp,
    Pure,
    Rare,
    Refuted,
    Renyi,
    Shift,
    Theorem,
    View,
    Zcdp,
    assume_view,
    conclusion_of,
    need,
    neighbouring,
    number,
    one_of,
    positive,
    private,
    proved,
    releases,
    whole,
)

MAX_BITS = 8192  #: the precision at which a comparison is given up


def compare(ball_at: Callable[[int], arb], limit: Fraction) -> bool | None:
    """Say whether value ≤ limit, for a number given as a ball at any precision (in bits); None: undecided."""
    bits = 64
    while bits <= MAX_BITS:
        with ctx.workprec(bits):
            value, edge = ball_at(bits), ball(limit)
            if value <= edge:
                return True
            if value > edge:
                return False
        bits *= 2
    return None


def at_most(ball_at: Callable[[int], arb], limit: Fraction) -> bool:
    """Decide value ≤ limit, refusing what `compare` cannot tell."""
    return compare(ball_at, limit) is True


def ball(value: Fraction | int) -> arb:
    """Return a ball around an exact fraction at the working precision."""
    exact = Fraction(value)
    return arb(fmpq(exact.numerator, exact.denominator))


def normal_cdf(x: arb) -> arb:
    """Return Φ(x), without cancellation in either tail."""
    return (-x / arb(2).sqrt()).erfc() / 2


def gdp_delta(mu_squared: Fraction, epsilon: Fraction) -> arb:
    """Return δ(ε) of μ-GDP, Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) (Balle & Wang 2018; Dong et al. 2022)."""
    if mu_squared == 0:
        return arb(0)
    mu, eps = ball(mu_squared).sqrt(), ball(epsilon)
    return normal_cdf(mu / 2 - eps / mu) - eps.exp() * normal_cdf(-mu / 2 - eps / mu)


def pure_delta(bound: Fraction, epsilon: Fraction) -> arb:
    """Return δ(ε) of the randomised response that dominates all `bound`-DP: (e^b − e^ε)₊/(1 + e^b)."""
    if epsilon >= bound:
        return arb(0)
    top, eps = ball(bound).exp(), ball(epsilon).exp()
    return (top - eps) / (1 + top)


def renyi_log_delta(alpha: Fraction, divergence: Fraction, epsilon: Fraction) -> arb:
    """Return (α−1)(D − ε) + (α−1) ln(1 − 1/α) − ln α, at least ln δ(ε) (Canonne, Kamath & Steinke 2020)."""
    a = ball(alpha)
    return (a - 1) * (ball(divergence) - ball(epsilon)) + (a - 1) * (1 - 1 / a).log() - a.log()


def lattice_delta(variance: Fraction, shift: Shift, count: int, epsilon: Fraction, bits: int) -> arb:
    """Return the exact δ(ε) of `count` discrete Gaussians, each moved by the same lattice vector.

    With S = Σ vⱼXᵢⱼ and h = k|v|²/2 the privacy loss is (h − S)/σ², and under the moved law S shifts by
    −2h; S is symmetric.  Hence δ = P(S < h − σ²ε) − e^ε P(S > h + σ²ε) (docs/kernel.md).
    """
    steps = tuple(abs(v) for v in shift if v)
    if not steps:
        return arb(0)
    half = Fraction(count * sum(v * v for v in steps), 2)
    masses, reach, unit, lost = _weighted_sum(variance, steps, count, bits)
    below = _tail(masses, reach, math.ceil(half - variance * epsilon), lower=True)
    above = _tail(masses, reach, math.floor(half + variance * epsilon), lower=False)
    slack = arb(0, lost * unit)
    return below * unit + slack - ball(epsilon).exp() * (above * unit + slack)


@lru_cache(maxsize=64)
def _weighted_sum(variance: Fraction, steps: Shift, count: int, bits: int) -> tuple[fmpz_poly, int, arb, arb]:
    """Return (masses, reach, unit, lost): the law of S as integers, position 0 meaning S = −reach.

    Every mass is a floor of an exact weight; `unit` turns integers into probabilities and `lost`
    bounds, in integer units, all that floors and the cut tails leave out: with F the sum of the floors of
    one coordinate's weights on |x| ≤ R and e = (2R+1) + tail, its total lies in [F, F + e], so the law of
    n coordinates lacks at most (F+e)ⁿ − Fⁿ of (F+e)ⁿ.
    """
    scale = bits + 32
    radius = math.isqrt(math.ceil(2 * variance * scale)) + 2  # exp(−R²/2σ²) is below 2^−scale
    with ctx.workprec(scale + 64):
        rate = -1 / (2 * ball(variance))
        # arb's floor is a ball; its lower end is the integer kept
        half = [_floor((rate * (x * x)).exp() * arb(2) ** scale) for x in range(radius + 1)]
        # Σ_{x>R} e^{−x²/2σ²} ≤ e^{−(R+1)²/2σ²} / (1 − e^{−(R+1)/σ²}), both sides
        first = (rate * (radius + 1) ** 2).exp()
        tail = 2 * first / (1 - (2 * rate * (radius + 1)).exp()) * arb(2) ** scale
    base = half[:0:-1] + half
    missing = 2 * radius + 1 + int(tail.upper().ceil().unique_fmpz())
    total = sum(base)
    product, reach, coordinates = fmpz_poly([1]), 0, 0
    for step in steps:
        spread = [0] * (2 * radius * step + 1)
        spread[::step] = base
        product *= fmpz_poly(spread) ** count
        reach += radius * step * count
        coordinates += count
    with ctx.workprec(bits):
        # W^n lies in [F^n, (F+e)^n]
        low, high = total**coordinates, (total + missing) ** coordinates
        unit = (1 / arb(low)).union(1 / arb(high))
    return product, reach, unit, arb(high - low)


def _floor(value: arb) -> int:
    return int(value.lower().floor().unique_fmpz())


def _tail(masses: fmpz_poly, reach: int, edge: int, *, lower: bool) -> arb:
    coefficients = masses.coeffs()
    start = min(max(edge + reach + (0 if lower else 1), 0), len(coefficients))
    return arb(sum(coefficients[:start] if lower else coefficients[start:]))


def range_delta(eta: Fraction, epsilon: Fraction) -> arb:
    """Return the largest δ(ε) of an η-bounded-range mechanism, (e^{η/2} − e^{ε/2})²/(e^η − 1) for ε < η.

    The pairs with loss t (probability (e^η − e^t)/(e^η − 1)) or t − η dominate (Dong, Durfee & Rogers 2020).
    """
    if epsilon >= eta:
        return arb(0)
    return ((ball(eta) / 2).exp() - (ball(epsilon) / 2).exp()) ** 2 / ball(eta).expm1()


def delta_ball(curve: Curve, epsilon: Fraction, bits: int) -> arb:
    """Return the least δ that `curve` guarantees at ε ≥ 0; zCDP and Rényi need an order instead."""
    match curve:
        case Pure(bound):
            return pure_delta(bound, epsilon)
        case BoundedRange(eta):
            return range_delta(eta, epsilon)
        case Gdp(mu_squared):
            return gdp_delta(mu_squared, epsilon)
        case NearGdp(mu_squared, distance):
            return gdp_delta(mu_squared, epsilon) + ball(distance) * (1 + ball(epsilon).exp())
        case Lattice(variance, shifts, count):
            worst = arb(0)
            for shift in shifts:
                worst = worst.max(lattice_delta(variance, shift, count, epsilon, bits))
            return worst
        case Approximate(bound, delta):
            return ball(delta) if epsilon >= bound else arb(1)
        case _:
            raise RuleError(f"no exact curve is known for {type(curve).__name__}; convert it at an order")


# ------------------------------------------------------------------ conversions (R17)


def to_zcdp(part: Theorem) -> Theorem:
    """Pure ε gives ε²/2 zCDP and μ-GDP gives μ²/2 (Bun & Steinke 2016; Gaussian divergence)."""
    rule = "to_zcdp"
    fact = private(part, rule)
    match fact.curve:
        case Pure(epsilon):
            rho = epsilon**2 / 2
        case Gdp(mu_squared):
            rho = mu_squared / 2
        case Lattice(variance, shifts, count):
            rho = count * max(Fraction(sum(v * v for v in s)) for s in shifts) / (2 * variance)
        case BoundedRange(eta):
            rho = eta**2 / 8  # Cesar & Rogers 2021
        case _:
            raise RuleError(f"{rule}: {type(fact.curve).__name__} does not imply zCDP")
    return proved(rule, replace(fact, curve=Zcdp(rho)), (part,))


def to_pure(part: Theorem) -> Theorem:
    """η-bounded range is η-DP (Durfee & Rogers 2019)."""
    rule = "to_pure"
    fact = private(part, rule)
    if not isinstance(fact.curve, BoundedRange):
        raise RuleError(f"{rule}: needed bounded range, found {fact.curve}")
    return proved(rule, replace(fact, curve=Pure(fact.curve.eta)), (part,))


def to_renyi(part: Theorem, orders: Sequence[Fraction]) -> Theorem:
    """ρ-zCDP bounds the Rényi divergence of every order α > 1 by αρ (Bun & Steinke 2016)."""
    rule = "to_renyi"
    fact = private(part, rule)
    if not isinstance(fact.curve, Zcdp):
        raise RuleError(f"{rule}: needed zCDP, found {type(fact.curve).__name__}; convert to zCDP first")
    exact = [number(order, rule, "order") for order in orders]
    rising = all(a < b for a, b in pairwise([Fraction(1), *exact]))
    need(bool(exact) and rising, rule, "needed orders above 1, each once, in rising order")
    curve = Renyi(tuple((order, order * fact.curve.rho) for order in exact))
    return proved(rule, replace(fact, curve=curve), (part,), orders=[str(order) for order in exact])


def to_gdp(part: Theorem, mu_squared: Fraction) -> Theorem:
    """Pure ε gives μ-GDP for μ ≥ −2Φ⁻¹(1/(1+e^ε)), that is Φ(−μ/2) ≤ 1/(1+e^ε) (Dong et al. 2022)."""
    rule = "to_gdp"
    fact, mu_squared = private(part, rule), number(mu_squared, rule, "mu_squared")
    curve = fact.curve
    if not isinstance(curve, Pure):
        raise RuleError(f"{rule}: a whole profile is needed; only pure DP is converted, found {curve}")
    need(mu_squared >= 0, rule, f"mu_squared must not be negative, found {mu_squared}")
    enough = curve.epsilon == 0 or at_most(
        lambda _: normal_cdf(-ball(mu_squared).sqrt() / 2) * (1 + ball(curve.epsilon).exp()), Fraction(1)
    )
    need(enough, rule, f"mu_squared {float(mu_squared):.6g} is too small for ε = {float(curve.epsilon):.6g}")
    return proved(rule, replace(fact, curve=Gdp(mu_squared)), (part,), mu_squared=str(mu_squared))


def to_approximate(
    part: Theorem, epsilon: Fraction, delta: Fraction, order: Fraction | None = None
) -> Theorem:
    """Any curve gives (ε, δ) where its exact δ(ε) is at most δ; zCDP and Rényi bounds at an order α > 1."""
    rule = "to_approximate"
    fact = private(part, rule)
    epsilon, delta = number(epsilon, rule, "epsilon"), number(delta, rule, "delta")
    need(
        epsilon >= 0 and 0 <= delta <= 1, rule, f"epsilon >= 0 and delta in [0, 1], found {epsilon}, {delta}"
    )
    witness = {"epsilon": str(epsilon), "delta": str(delta)}
    divergence = _divergence(fact.curve, order, rule)
    if divergence is not None and fact.curve != Zcdp(Fraction(0)):
        alpha = number(order or 0, rule, "order")
        need(alpha > 1 and delta > 0, rule, f"needed order > 1 and delta > 0, found {alpha} and {delta}")
        witness["order"] = str(alpha)
        enough = at_most(
            lambda _: renyi_log_delta(alpha, divergence, epsilon) - ball(delta).log(), Fraction(0)
        )
    elif isinstance(fact.curve, Approximate):  # one point: compare, no arithmetic
        enough = fact.curve.epsilon <= epsilon and fact.curve.delta <= delta
    else:
        free = divergence == 0  # equal outputs
        enough = free or at_most(lambda bits: delta_ball(fact.curve, epsilon, bits), delta)
    need(enough, rule, f"({float(epsilon):.9g}, {float(delta):.6g}) is not implied by {fact.curve}")
    return proved(rule, replace(fact, curve=Approximate(epsilon, delta)), (part,), **witness)


def _divergence(curve: Curve, order: Fraction | None, rule: str) -> Fraction | None:
    """Return the bound on the Rényi divergence at `order`, None for curves that need none."""
    match curve:
        case Zcdp(rho):
            need(rho == 0 or order is not None, rule, "zCDP is converted at an order, and none was given")
            return (order or Fraction(1)) * rho
        case Renyi(points):
            found = [divergence for listed, divergence in points if listed == order]
            need(len(found) == 1, rule, f"needed one of the listed orders, found {order}")
            return found[0]
        case _:
            return None


# ------------------------------------------------------------------ groups, departures, refutations


def group(part: Theorem, size: int, delta: Fraction | None = None) -> Theorem:
    """Protect `size` units at once: kε, k²μ², k²ρ; (kε, δ(e^{kε} − 1)/(e^ε − 1)) with a witness δ (R15).

    The k-step path must stay in the domain (Dwork & Roth 2014; Bun & Steinke 2016; Dong et al. 2022).
    """
    rule = "group"
    fact = private(part, rule)
    witness: dict[str, object] = {"size": whole(size, rule, "the size", 2)}
    match fact.curve:
        case Pure(epsilon):
            curve: Curve = Pure(size * epsilon)
        case Gdp(mu_squared):
            curve = Gdp(size**2 * mu_squared)
        case NearGdp(mu_squared, distance):  # the releases that read any of the units are the near ones
            curve = NearGdp(size**2 * mu_squared, size * distance)
        case Zcdp(rho):
            curve = Zcdp(size**2 * rho)
        case Approximate(epsilon, spent):
            delta = number(delta if delta is not None else 1, rule, "delta")
            enough = at_most(
                lambda _: ball(spent) * sum(((i * ball(epsilon)).exp() for i in range(size)), arb(0)), delta
            )
            need(enough, rule, f"delta {float(delta):.6g} is below δ(e^kε − 1)/(e^ε − 1)")
            curve, witness = Approximate(size * epsilon, delta), {"size": size, "delta": str(delta)}
        case _:
            raise RuleError(f"{rule}: no group rule for {type(fact.curve).__name__}; convert it first")
    out = replace(fact, curve=curve, relation=f"{fact.relation}, groups of {size}")
    return proved(rule, out, (part,), **witness)


def despite(part: Theorem, rare: Theorem, delta: Fraction) -> Theorem:
    """Add what a rare departure costs to (ε, δ): p for an event, (1 + e^ε)p for total variation p (R18)."""
    rule = "despite"
    fact, depart, delta = private(part, rule), conclusion_of(rare, rule), number(delta, rule, "delta")
    curve = fact.curve
    if not isinstance(curve, Approximate) or not isinstance(depart, Rare):
        raise RuleError(f"{rule}: needed (ε, δ) and a rare departure, found {curve} and {depart}")
    need(depart.query == fact.subject, rule, f"the departure is of {depart.query!r}, not of {fact.subject!r}")
    need(delta <= 1, rule, f"delta must be at most 1, found {delta}")
    if depart.kind == "event":
        enough = curve.delta + depart.probability <= delta
    else:
        enough = at_most(
            lambda _: ball(curve.delta) + ball(depart.probability) * (1 + ball(curve.epsilon).exp()), delta
        )
    need(enough, rule, f"delta {float(delta):.6g} does not cover the departure")
    out = replace(fact, curve=replace(curve, delta=delta), units=ANYONE)  # a departure may read anyone
    return proved(rule, out, (part, rare), delta=str(delta))


def replace_one(part: Theorem) -> Theorem:
    """Replace a record by removing and adding one: add-remove for groups of 2 covers replace-one (R0)."""
    rule = "replace_one"
    fact = private(part, rule)
    wanted = f"{ADD_REMOVE}, groups of 2"
    need(fact.relation == wanted, rule, f"needed the relation {wanted!r}, found {fact.relation!r}")
    return proved(rule, replace(fact, relation=REPLACE_ONE), (part,))


# ------------------------------------------------------------------ refutations (R22)


def assume_neighbours(
    query: str,
    kind: str,
    left: Sequence[Fraction],
    right: Sequence[Fraction],
    relation: str,
    because: str,
    observer: str = CENTRAL,
) -> Theorem:
    """Assume that the claim allows two neighbours whose contributions to `query` are at least this far apart.

    A ``vector`` moves it by `left` − `right` (add-remove: `right` is 0); for ``rank-one`` and ``outer``,
    v = (φ, y) and w, ‖vvᵀ − wwᵀ‖²_F = |v|⁴ + |w|⁴ − 2(v·w)², less the corner (y² − y′²)² where it is 0.
    """
    rule = "assume_neighbours"
    neighbouring(relation, rule)
    one_of(kind, rule, "kind", ("vector", "rank-one", "outer"))
    one_of(observer, rule, "observer", (CENTRAL, JOINT, LOCAL))
    v, w = ([number(x, rule, "a coordinate") for x in side] for side in (left, right))
    need(len(v) == len(w) >= 1, rule, f"two vectors of one length are needed, found {len(v)} and {len(w)}")
    need(relation == REPLACE_ONE or not any(w), rule, "the record that is absent contributes 0")
    if kind == "vector":
        square = sum(((x - y) ** 2 for x, y in zip(v, w, strict=True)), Fraction(0))
        law, size = ("number", abs(v[0] - w[0])) if len(v) == 1 else ("vector", square)
    else:
        need(len(v) >= 2 and relation == REPLACE_ONE, rule, "features and a reward are replaced")
        vv, ww, vw = (
            sum((x * y for x, y in zip(*p, strict=True)), Fraction(0)) for p in ((v, v), (w, w), (v, w))
        )
        corner = (v[-1] ** 2 - w[-1] ** 2) ** 2 if kind == "rank-one" else 0
        law, size = "symmetric", vv**2 + ww**2 - 2 * vw**2 - corner
    sides: dict[str, Any] = {"left": [str(x) for x in v], "right": [str(x) for x in w]}
    given = sides | {"kind": kind, "observer": observer, "relation": relation, "because": because}
    fact = Apart(query, law, (size,), relation, observer)
    return proved(rule, fact, query=query, **given)


def assume_event(
    query: str, likely: Fraction, rarely: Fraction, relation: str, because: str, observer: str = CENTRAL
) -> Theorem:
    """Assume that for two neighbours one event has probability ≥ `likely` and ≤ `rarely`: `Apart`."""
    rule = "assume_event"
    neighbouring(relation, rule)
    numbers = number(likely, rule, "likely"), number(rarely, rule, "rarely")
    need(all(0 <= p <= 1 for p in numbers), rule, f"probabilities lie in [0, 1], found {likely}, {rarely}")
    one_of(observer, rule, "observer", (CENTRAL, JOINT, LOCAL))
    fact = Apart(query, "event", numbers, relation, observer)
    given: dict[str, Any] = {"likely": str(numbers[0]), "rarely": str(numbers[1]), "observer": observer}
    return proved(rule, fact, query=query, **given, relation=relation, because=because)


def apart(neighbours: Theorem, covered: Theorem, law: str, scale: Fraction) -> Theorem:
    """Tell two neighbours apart by the noisy releases that read the record in which they differ.

    ``gaussian``: noise of variance `scale` (symmetric queries: off the diagonal, twice that on it) on
    every release; the releases together have μ² = most·D²/scale (D²/2 if symmetric).  ``laplace``: noise
    of that scale on one release of a number.
    """
    rule = "apart"
    fact, spread = conclusion_of(neighbours, rule), conclusion_of(covered, rule)
    scale = positive(scale, rule, "scale")
    if not isinstance(fact, Apart) or not isinstance(spread, Covered):
        raise RuleError(f"{rule}: needed neighbours and covers, found {fact} and {spread}")
    need(spread.query == fact.query, rule, f"the covers are of {spread.query!r}, not of {fact.query!r}")
    if law == "laplace":
        fine = fact.law == "number" and spread.most == 1
        need(fine, rule, f"Laplace noise is told apart on one release of a number, found {fact}")
        size = fact.numbers[0] / scale
    else:
        known = law == "gaussian" and fact.law in ("number", "vector", "symmetric")
        need(known, rule, f"{law!r} noise is not known for {fact.law!r}")
        square = fact.numbers[0] ** (2 if fact.law == "number" else 1)
        size = spread.most * square / scale / (2 if fact.law == "symmetric" else 1)
    out = replace(fact, law=law, numbers=(size,))
    return proved(rule, out, (neighbours, covered), law=law, scale=str(scale))


def refute(told: Theorem, epsilon: Fraction, delta: Fraction) -> Theorem:
    """Conclude that (ε, δ) does not hold: these two neighbours have a larger δ(ε)."""
    rule = "refute"
    fact = conclusion_of(told, rule)
    epsilon, delta = number(epsilon, rule, "epsilon"), number(delta, rule, "delta")
    if not isinstance(fact, Apart):
        raise RuleError(f"{rule}: needed two neighbours that are told apart, found {fact}")
    need(
        epsilon >= 0 and 0 <= delta <= 1, rule, f"epsilon >= 0 and delta in [0, 1], found {epsilon}, {delta}"
    )

    def reached(_: int) -> arb:
        match fact.law, fact.numbers:
            case "gaussian", (mu_squared,):
                return gdp_delta(mu_squared, epsilon)
            case "laplace", (moved,):
                return -((ball(epsilon) - ball(moved)) / 2).expm1() if moved > epsilon else arb(0)
            case "event", (likely, rarely):
                return ball(likely) - ball(epsilon).exp() * ball(rarely)
        raise RuleError(f"{rule}: {fact.law!r} is not a pair of laws; say what noise hides it")

    beaten = compare(reached, delta) is False
    need(beaten, rule, f"δ({float(epsilon):.9g}) is not shown to exceed {float(delta):.6g}")
    out = Refuted(fact.query, epsilon, delta, fact.relation, fact.observer)
    return proved(rule, out, (told,), epsilon=str(epsilon), delta=str(delta))


# ------------------------------------------------------------------ observers


def _seen(part: Theorem, view: Theorem, audience: str, observers: tuple[str, str], rule: str) -> Theorem:
    fact, shown = private(part, rule), conclusion_of(view, rule)
    if not isinstance(shown, View) or audience not in (shown.audience, "anyone"):
        raise RuleError(f"{rule}: needed what the subject shows to {audience}, found {shown}")
    needed, gives = observers
    need(fact.observer == needed, rule, f"needed a {needed}ly private statement, found {fact.observer}")
    keys = releases(part)
    if keys and not shown.releases:
        view = assume_view(shown.query, shown.audience, view.witness["because"], keys)
    else:
        need(shown.releases == keys, rule, f"the view reads {shown.releases}, the proof pays for {keys}")
    return proved(rule, replace(fact, subject=shown.query, observer=gives), (part, view))


def post_process(part: Theorem, view: Theorem) -> Theorem:
    """Show everyone functions of the releases, public values and fresh coins (R12)."""
    return _seen(part, view, "everyone", (CENTRAL, CENTRAL), "post_process")


def billboard(part: Theorem, view: Theorem) -> Theorem:
    """Show each person a function of their own data and the private releases: joint DP (R13).

    For unit t the view of all others is a post-processing of the releases: their outputs read their
    own data, the releases, and coins apart from the noise (Hsu et al. 2014, billboard lemma).
    """
    return _seen(part, view, "others", (CENTRAL, JOINT), "billboard")


def local_view(part: Theorem, view: Theorem) -> Theorem:
    """Show functions of the private messages, and to each person of their own data too (R12, R14)."""
    return _seen(part, view, "anyone", (LOCAL, LOCAL), "local_view")
