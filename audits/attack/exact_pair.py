"""The exact ε of two finite distributions at δ: rational arithmetic, no sampling.

δ(ε) = Σ max(0, p − e^ε q) falls in t = e^ε along straight pieces that break at the ratios p/q, so
the t at which it reaches δ is a fraction (hockey-stick divergence; Balle et al. 2018).
"""

from collections.abc import Hashable, Mapping
from fractions import Fraction

from audits.attack.thresholds import log_below
from dpaccount.errors import InputError

Law = Mapping[Hashable, Fraction]


def factor(left: Law, right: Law, delta: Fraction) -> Fraction | None:
    """Return the least e^ε, at least 1, with P(E) ≤ e^ε Q(E) + δ for every E; None if no ε is enough.

    Raises `InputError` unless both are distributions.
    """
    for law in (left, right):
        if sum(law.values()) != 1 or any(chance < 0 for chance in law.values()):
            raise InputError("the probabilities do not add up to 1; give two distributions, exactly")
    pairs = [(p, right.get(key, Fraction(0))) for key, p in left.items() if p > 0]
    if sum(p for p, q in pairs if q == 0) > delta:
        return None
    ranked = sorted((pair for pair in pairs if pair[1] > 0), key=lambda pair: pair[0] / pair[1], reverse=True)
    most, rest = sum((p for p, q in pairs if q == 0), Fraction(0)), Fraction(0)
    for index, (p, q) in enumerate(ranked):
        most, rest = most + p, rest + q
        after = ranked[index + 1][0] / ranked[index + 1][1] if index + 1 < len(ranked) else Fraction(0)
        # between this ratio and the next, δ(t) = most − t·rest
        if most - after * rest >= delta:
            return max((most - delta) / rest, Fraction(1))
    return Fraction(1)


def epsilon_below(left: Law, right: Law, delta: Fraction) -> float:
    """Return ε at δ in the worse direction, rounded down; infinite where supports are apart."""
    factors = [factor(left, right, delta), factor(right, left, delta)]
    known = [each for each in factors if each is not None]
    return float("inf") if len(known) < 2 else log_below(max(known))
