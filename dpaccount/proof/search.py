"""Search for the witnesses that rules verify: the least provable ε, a good Rényi order.  Not trusted."""

import math
from fractions import Fraction
from functools import lru_cache

from dpaccount.checker.curves import Curve, Lattice, NearGdp, Zcdp
from dpaccount.checker.facts import Private
from dpaccount.errors import RuleError
from dpaccount.numerics.bisection import least_integer
from dpaccount.numerics.curves import compare, delta_ball
from dpaccount.precision import precision

from .rules import to_approximate, to_zcdp
from .theorem import Theorem, walk, write

MAX_CELLS = 40_000
GRID = 10**9  #: ε is proposed in steps of 1e-9


def private(theorem: Theorem) -> Private:
    """Return a theorem's privacy statement; raises `RuleError` if it is of another kind."""
    fact = theorem.conclusion
    if not isinstance(fact, Private):
        raise RuleError(f"needed a privacy statement, found {type(fact).__name__}")
    return fact


def unconverted(theorem: Theorem) -> Private | None:
    """Return the same statement in the measure that it was proved in, before the conversion to (ε, δ).

    None where there is no conversion, or where a rule after it needs (ε, δ).
    """
    from dpaccount.checker.derivation import unconverted as before

    facts = {part.digest: part.conclusion for part in walk(theorem)}
    found: Private | None = before(write(theorem), list(facts.values()))
    return found


def approximate(theorem: Theorem, delta: Fraction) -> Theorem:
    """Return the theorem at (ε, δ) with the least ε on the grid that is accepted."""
    part, epsilon, order = proposed(theorem, delta)
    return to_approximate(part, epsilon, delta, order)


def proposed(theorem: Theorem, delta: Fraction) -> tuple[Theorem, Fraction, Fraction | None]:
    """Return what to convert at δ, to which ε, and at which order if at one: nothing is proved yet."""
    curve = private(theorem).curve
    if isinstance(curve, Lattice) and _cells(curve, delta) > MAX_CELLS:
        return proposed(to_zcdp(theorem), delta)  # the exact sum is out of the checker's reach
    if isinstance(curve, Zcdp) and curve.rho > 0:
        return theorem, *zcdp_epsilon(curve.rho, delta)
    return theorem, least_epsilon(curve, delta)[1], None


def _cells(curve: Lattice, delta: Fraction) -> float:
    """Return about how many lattice cells the exact curve needs at this δ."""
    if delta <= 0:
        return math.inf
    digits = 24 + 2 * max(1.0, -_log(delta) / math.log(10))
    steps = max((sum(shift) for shift in curve.shifts), default=0)
    return 2 * curve.count * steps * math.sqrt(6 * float(curve.variance) * digits)


def _log(value: Fraction) -> float:
    """Return ln of a positive fraction of any size."""
    return math.log(value.numerator) - math.log(value.denominator)


def _tried(curve: Curve, delta: Fraction, most: int) -> list[int]:
    """Return steps of which one is enough if any is, rising: powers of two, and some that a near curve needs.

    Its δ(ε) is convex in e^ε: the Gaussian part falls, and the distance times e^ε rises.  They are where that
    is a share of δ.
    """
    steps = [2**k for k in range((most * GRID).bit_length() + 1)]
    if isinstance(curve, NearGdp) and 0 < curve.distance < delta:
        shares = (math.log(k / 20) + _log(delta / curve.distance) for k in range(1, 20))
        steps += [int(share * GRID) for share in shares if share * GRID >= 1]
    return sorted(steps)


@lru_cache(maxsize=4096)  # subjects calibrate their noise in every run
def least_epsilon(curve: Curve, delta: Fraction, most: int = 10**6) -> tuple[Fraction, Fraction]:
    """Return [lower, upper], neighbours on the grid, around the least ε with δ(ε) ≤ `delta`.

    Raises `RuleError` if no ε up to `most` is enough.
    """

    def enough(steps: int) -> bool:
        epsilon = Fraction(steps, GRID)
        decided = compare(lambda bits: delta_ball(curve, epsilon, bits), delta)
        if decided is None:
            raise RuleError(f"cannot tell δ({float(epsilon)}) of {curve} from {float(delta):.3g}")
        return decided

    if enough(0):
        return Fraction(0), Fraction(0)
    low = 0
    for high in _tried(curve, delta, most):
        if enough(high):
            break
        low = high
    else:
        raise RuleError(f"no ε up to {most} meets δ = {float(delta):.3g} with {curve}")
    steps = least_integer(enough, low, high)
    return Fraction(steps - 1, GRID), Fraction(steps, GRID)


def delta_upper(curve: Curve, epsilon: Fraction) -> Fraction:
    """Return an upper bound on δ(ε), at most 1, rounded up to about twelve digits."""
    with precision(128):
        mantissa, exponent = delta_ball(curve, epsilon, 128).upper().man_exp()
    exact = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    if exact <= 0 or exact >= 1:
        return Fraction(int(exact > 0))
    exact = max(exact, Fraction(1, 10**300))
    digits = Fraction(10) ** (12 + max(0, -math.floor(math.log10(exact))))
    return min(Fraction(1), Fraction(math.ceil(exact * digits)) / digits)


def lower_end(theorem: Theorem) -> Fraction | None:
    """Return a lower bound on the ε that the releases of a theorem at (ε, δ) cost, at its own δ.

    It is the least ε of the curve that was converted, where the noise attains that curve; None where only an
    upper bound is known.
    """
    from dpaccount.checker.certificate.verdict import attained  # a proof has no use for certificates

    while theorem.rule in ("post_process", "billboard"):
        theorem = theorem.premises[0]
    if theorem.rule != "to_approximate" or not attained(write(theorem.premises[0])):
        return None
    return least_epsilon(private(theorem.premises[0]).curve, Fraction(theorem.witness["delta"]))[0]


@lru_cache(maxsize=4096)
def zcdp_epsilon(rho: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    """Return (ε, order): the conversion of Canonne, Kamath & Steinke 2020 at a nearly best order."""
    if delta <= 0:
        raise RuleError("zCDP implies no finite ε at δ = 0")
    if rho > 10**100:
        raise RuleError("zCDP of more than 1e100 implies no ε of any use; use more noise")
    r, log_delta = max(float(rho), 1e-100), _log(delta)  # a larger ρ only proves more ε

    def cost(alpha: float) -> float:
        return alpha * r + math.log1p(-1 / alpha) - (log_delta + math.log(alpha)) / (alpha - 1)

    low, high = math.log(1e-9), math.log(max(1e3, 10 * math.sqrt(-log_delta / r + 1)))
    for _ in range(200):  # the cost is unimodal in the order; work on log(order − 1)
        a, b = low + (high - low) * 0.382, low + (high - low) * 0.618
        low, high = (low, b) if cost(1 + math.exp(a)) < cost(1 + math.exp(b)) else (a, high)
    order = Fraction(1 + math.exp((low + high) / 2)).limit_denominator(10**9)
    epsilon = max(cost(float(order)), 0.0)
    steps = math.ceil(epsilon * GRID)
    # A step more than floats say: if it is still too little, the rule refuses and nothing false is proved.
    return Fraction(steps + 1, GRID), order
