"""The least noise that a subject's own proof shows to meet (ε, δ), and checks of parameters."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import isfinite

from dpaccount.errors import InputError, RuleError, out_of_range
from dpaccount.numerics.bisection import least_integer
from dpaccount.proof import Theorem, point

SEARCH_STEPS = 10  #: the answer is within a part in 2^10 of the least
REACH = 40  #: scales from 2^−40 to 2^40 are tried


def exact(**numbers: Fraction) -> None:
    """Refuse a number that is no fraction, such as 0.1, which is not a tenth; raises `InputError`."""
    for name, number in numbers.items():
        if not isinstance(number, int | Fraction) or isinstance(number, bool):
            said = str(number)[:40]
            such = (
                f'Fraction("{said}")' if isinstance(number, float) and isfinite(number) else "Fraction(1, 10)"
            )
            raise InputError(f"{name} is {said!r}", f"give a fraction, such as {such}")


def whole(**numbers: int) -> None:
    """Refuse what is no whole number; raises `InputError`."""
    for name, number in numbers.items():
        if type(number) is not int:
            raise InputError(f"{name} is {str(number)[:40]!r}", "it is a whole number")


def target(epsilon: Fraction, delta: Fraction) -> None:
    """Refuse (ε, δ) that a bandit is not calibrated to; raises `InputError`."""
    if epsilon <= 0 or not 0 < delta < 1:
        raise out_of_range("epsilon > 0 and 0 < delta < 1")


def one_of(name: str, value: str, known: Iterable[str]) -> None:
    """Refuse a word that is none of the `known` ones; raises `InputError` with these."""
    if value not in known:
        raise InputError(f"{name} is {str(value)[:40]!r}", f"known: {', '.join(known)}")


def least_sigma(prove: Callable[[Fraction], Theorem], epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return a dyadic σ with `prove(σ)` at most (ε, δ) that is within a part in 2^10 of the least such.

    `prove` makes the theorem at `delta` for a noise scale; its ε falls as the scale grows.  Raises
    `InputError` if ε or δ is out of range or no scale up to 2^40 is enough.
    """
    if epsilon <= 0 or not 0 <= delta < 1:
        raise out_of_range("epsilon > 0 and 0 <= delta < 1")

    def enough(sigma: Fraction) -> bool:
        try:
            return point(prove(sigma))[0] <= epsilon
        except RuleError:  # too little noise for any finite ε, or for the grid
            return False

    power = 0
    if enough(Fraction(1)):
        while power > -REACH and enough(Fraction(2) ** (power - 1)):
            power -= 1
    else:
        while not enough(Fraction(2) ** power):
            power += 1
            if power > REACH:
                raise InputError(f"no noise is proved to meet ε = {float(epsilon)}, δ = {float(delta):.3g}")
    high = Fraction(1 << power) if power >= 0 else Fraction(1, 1 << -power)
    low, step = high / 2, high / (1 << SEARCH_STEPS + 1)
    return low + step * least_integer(lambda steps: enough(low + steps * step), 0, 1 << SEARCH_STEPS)
