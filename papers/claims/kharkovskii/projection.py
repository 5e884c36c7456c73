"""Algorithm 1 of PO-GP-UCB (Kharkovskii, Dai & Low 2020) simulated: its ω, its releases, their attacks."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from bandits.statistics.arrays import Floats
from dpaccount.exact import Enclosure
from dpaccount.numerics.intervals import ball
from papers.claims.enclosures import enclose, log
from papers.claims.parameters import Values
from papers.claims.sampling import TRIALS, attack
from papers.kharkovskii.published import column_basis, least_singular_value, outside, transform


def published_omega(epsilon: Fraction, delta: Fraction, columns: int, *, printed: bool = False) -> Enclosure:
    """Return the threshold ω of line 5, at r = `columns`: 16√(r ln(2/δ)) ln(16r/δ)/ε.

    That reading meets the thresholds on r which the paper reports; `printed` in its text is 16√r ln(2/δ)….
    """

    def omega() -> arb:
        log2, log16 = log(2 / delta), log(16 * columns / delta)
        scale = ball(columns).sqrt() * log2 if printed else (ball(columns) * log2).sqrt()
        return 16 * scale * log16 / ball(epsilon)

    return enclose(omega)


def column_space(p: Values, seed: int) -> dict[str, Any]:
    """Release the paper's data and a neighbour, twenty times in each branch, and test their column space."""
    if p["n"] < p["d"] + 2:
        return {"attack": "none: centred data of full rank share their column space", "refuted": False}
    rng = np.random.default_rng(seed)
    rows = example_rows(min(int(p["n"]), 10_000), min(int(p["d"]), 50), rng)  # capped for time
    other = rows.copy()
    other[0, 0] += 1.0
    least, basis = least_singular_value(rows), column_basis(rows)
    kept: list[float] = []
    left: list[float] = []
    # Below and above the least singular value, so that both branches of Algorithm 1 are run.
    for threshold in (least / 2, least * 2):
        for _ in range(20):
            kept.append(outside(transform(rows, threshold, int(p["r"]), rng), basis))
            left.append(outside(transform(other, threshold, int(p["r"]), rng), basis))
    return {
        "attack": "does Z lie in the column space of the first data?",
        "n": len(rows),
        "d": rows.shape[1],
        "releases": len(kept),
        "largest_residual": max(kept),
        "least_residual_prime": min(left),
        "told_apart": int(sum(value > 1e-9 for value in left)),
        "published_omega": float(published_omega(p["epsilon"], p["delta"], int(p["r"])).upper),
        "least_singular_value": least,
        "refuted": max(kept) < 1e-12 and min(left) > 1e-9,
    }


def example_rows(count: int, features: int, rng: np.random.Generator) -> Floats:
    """Return the paper's uniform grid (σ_min = 1030.9 at 100 × 100) if it fits, else normal rows."""
    side = math.isqrt(count)
    if features == 2 and side * side == count:
        axis = 5 / 14 * np.arange(side)
        return np.array([(a, b) for a in axis for b in axis])
    return 10 * rng.normal(size=(count, features))


def branch_energy(p: Values, seed: int, *, always: bool = False) -> dict[str, Any]:
    """Release data with σ_min just above ω and a neighbour just below; energy along that direction.

    `always` lifts in both worlds: the sound twin.
    """
    rng = np.random.default_rng(seed)
    columns, width, size = int(p["r"]), 100.0, 50
    # Orthogonal to the vector of ones: centring then changes nothing, and the singular values are those set
    # here.
    frame = np.linalg.qr(np.column_stack([np.ones(size), rng.normal(size=(size, 2))]))[0][:, 1:]
    rows = frame * np.array([3 * width, width + 0.01])
    other = rows.copy()
    at = int(np.argmax(np.abs(frame[:, 1])))
    other[at, 1] -= np.sign(frame[at, 1])  # the row moves by 1, σ_min falls by about |frame[at, 1]|
    floor = 2 * width if always else width
    runs = int(min(TRIALS // 2, max(500, 10**6 // columns)))
    worlds = [
        np.array([_energy(transform(x, floor, columns, rng), frame[:, 1], width) for _ in range(runs)])
        for x in (other, rows)
    ]
    return {
        "attack": "energy of Z along one direction",
        **attack(worlds[0], worlds[1], p["epsilon"], p["delta"]),
    }


def _energy(released: Floats, direction: Floats, width: float) -> float:
    along = direction @ released
    return float(np.square(along).sum()) * float(released.shape[1]) / float(width) ** 2
