"""Streams and channels: chosen from public quantities, with the reason.

The choice reads the privacy asked for and the horizon; never data.  Which bandit to run is
`bandits.selection.rehearsals.choose`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from bandits.learning.contextual import together
from bandits.local_privacy.channels import CHANNELS, channel
from bandits.statistics import continual_sums
from bandits.statistics.arrays import Floats
from bandits.statistics.calibration import least_sigma
from bandits.statistics.first_moments import HALF
from dpaccount.errors import InputError, out_of_range
from dpaccount.proof import REPLACE_ONE, assume_ball

SIZE_GROWTH = Fraction(1, 32)  #: of a batch over the people before it: rows are few, and each has less noise


Value = str | int | Fraction  #: of a chosen parameter


@dataclass(frozen=True)
class Selection:
    """A catalogued bandit, the parameters that were chosen for it, and why.

    `bandit` is it, made for the people and budget that were asked for, where rehearsals chose it.
    """

    subject: str
    parameters: dict[str, Value]
    because: str
    bandit: Any = None


def quietest(epsilon: Fraction, delta: Fraction, rounds: int, size: int) -> Selection:
    """Return `moment-gp-ucb` in growing batches, with the stream of least noise in its `size` moments."""
    ends = [last for _, last in together(rounds, 1, SIZE_GROWTH)[:-1]]
    errors = {stream: error(stream, epsilon, delta, ends, size) for stream in continual_sums.STREAMS}
    best = min(errors, key=lambda stream: errors[stream])
    listed = ", ".join(f"{name} {value:.3g}" for name, value in errors.items())
    why = (
        f"largest noise in a released moment over {len(ends)} batches of {rounds} people: {listed};"
        " second moments are taken from the public domain, which costs no noise"
    )
    return Selection("moment-gp-ucb", {"stream": best, "growth": SIZE_GROWTH}, why)


def choose_local(
    epsilon: Fraction, bound: Fraction, noise_bound: Fraction, rounds: int, kernel: Floats
) -> Selection:
    """Return the bandit and channel for people who keep their rewards, on public points of a kernel matrix.

    `epsilon`: that of each answer, above 0.
    `bound`, `noise_bound`: B > 0 and R ≥ 0 of `bandits.local_privacy`, in units of rewards.
    `rounds`: people, at least 1; `kernel`: the kernel matrix [points, points].
    The channel is the one whose answers vary least once little is left to learn: the clip is then about R,
    the reward's noise taken for uniform.
    Raises `InputError` for parameters that make no sense.
    """
    if rounds < 1 or bound <= 0 or noise_bound < 0:
        raise out_of_range("rounds >= 1, bound > 0 and noise_bound >= 0")
    if kernel.ndim != 2 or kernel.shape[0] != kernel.shape[1] or not np.isfinite(kernel).all():
        raise InputError("a kernel matrix is square and finite", f"found the shape {kernel.shape}")
    squares = {name: answer_square(name, epsilon) for name in CHANNELS}
    best = min(squares, key=lambda name: squares[name])
    # Once the function is known the clip is about R. Without reward noise it never reaches 0, so a hundredth
    # of B stands in.
    one = float(max(noise_bound, bound / 100)) * sqrt(squares[best])  # the deviation of one answer
    signal = np.linalg.eigvalsh(kernel) * float(bound / 2) ** 2 * rounds / len(kernel)
    directions = int((signal > one**2).sum())
    left = one * sqrt(directions / rounds) / float(bound)
    hope = (
        f"of {len(kernel)} directions of the kernel {directions} stand out, spread evenly to {left:.2g} of B"
        if directions
        else "no direction of the kernel stands out: expect no better than chance"
    )
    listed = ", ".join(f"{name} {sqrt(square):.3g}" for name, square in squares.items())
    why = f"deviation of an answer in units of its clip: {listed}; after {rounds} people {hope}"
    return Selection("local-posterior", {"channel": best}, why)


def answer_square(name: str, epsilon: Fraction) -> float:
    """Return the mean square of a channel's answer about a number that is uniform on [−1, 1]."""
    units = np.linspace(-1, 1, 201)
    return float((channel(name, epsilon).variance(units) + units**2).mean())


def error(stream: str, epsilon: Fraction, delta: Fraction, ends: Sequence[int], size: int) -> float:
    """Return the largest standard deviation of a moment at (ε, δ), over batches that end so."""
    person = assume_ball("moments", HALF, REPLACE_ONE, "movement")
    sigma = least_sigma(
        lambda s: continual_sums.vector_proof(stream, person, s, ends, size, delta),
        epsilon,
        delta,
    )
    rounds = len(ends)
    return float(sigma) * max(continual_sums.deviation(stream, t, rounds) for t in range(1, rounds + 1))
