"""Which private bandit to run: chosen from public quantities, with the reason.

The choice reads the privacy asked for, the horizon and what is private; never data.
"""

from dataclasses import dataclass
from fractions import Fraction

from bandits.statistics import continual_sums
from bandits.statistics.calibration import least_sigma
from bandits.statistics.first_moments import BITS, HALF
from dpaccount.errors import InputError
from dpaccount.proof import REPLACE_ONE, assume_ball

KINDS = ("joint", "reward", "local")


@dataclass(frozen=True)
class Selection:
    """A catalogued bandit, the parameters that were chosen for it, and why."""

    subject: str
    parameters: dict[str, str]
    because: str


def choose(privacy: str, epsilon: Fraction, delta: Fraction, rounds: int, size: int = 20) -> Selection:
    """Return the bandit for a kind of privacy, a budget, a horizon and so many features.

    ``joint``: contexts and rewards are private.  ``reward``: contexts are public, rewards private.
    ``local``: nobody is trusted with either.  Each kind is another promise, none stands in for another.
    """
    if privacy not in KINDS:
        raise InputError(f"privacy is {privacy[:40]!r}; known: {', '.join(KINDS)}")
    if epsilon <= 0 or not 0 < delta < 1 or rounds < 2 or size < 1:
        raise InputError("needed epsilon > 0, 0 < delta < 1, rounds >= 2 and size >= 1")
    if privacy == "reward":
        why = "contexts are public, so each reward enters one batch sum with noise for one release"
        return Selection("phased-posterior", {}, why)
    if privacy == "local":
        return Selection(
            "local-gp-ucb", {}, "nobody is trusted, so every person noises a message of their own"
        )
    errors = {stream: error(stream, epsilon, delta, rounds, size) for stream in continual_sums.STREAMS}
    best = min(errors, key=lambda stream: errors[stream])
    listed = ", ".join(f"{name} {value:.3g}" for name, value in errors.items())
    why = (
        f"largest noise in a released moment over {rounds - 1} rounds: {listed};"
        " second moments are taken from the public domain, which costs no noise"
    )
    return Selection("moment-gp-ucb", {"stream": best}, why)


def error(stream: str, epsilon: Fraction, delta: Fraction, rounds: int, size: int) -> float:
    """Return the largest standard deviation, over rounds, of a moment that `stream` releases at (ε, δ)."""
    person = assume_ball("moments", HALF, REPLACE_ONE, "movement")
    sigma = least_sigma(
        lambda s: continual_sums.vector_proof(stream, person, s, rounds - 1, size, BITS, delta),
        epsilon,
        delta,
    )
    return float(sigma) * continual_sums.largest_deviation(stream, rounds - 1)
