"""Which noise hides a table's rows: K-norm or Gaussian, chosen from public quantities, with the reason.

K-norm noise of rate ε on one unit has a variance of (d + 1)/ε² in each of d numbers, so it grows with the
dimension; Gaussian noise does not.  The choice reads the promise, the dimension and the grid; never data.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor
from typing import Any

from audits.claim import Claim
from bandits.statistics.calibration import least_sigma
from dpaccount.errors import InputError, out_of_range
from mechanisms.gaussian_rows import GaussianRows
from mechanisms.k_norm import MOST_COLUMNS
from mechanisms.shared import moved_rows

RATE_STEPS = 10**6  #: a rate is rounded down to a multiple of one over this
K_NORM_GRID_BITS = 12  #: of K-norm noise's grid, whose step times √d counts as a distance
GAUSSIAN_GRID_BITS = 30  #: bits of Gaussian noise's grid: what it costs in δ is multiplied by e^ε


@dataclass(frozen=True)
class RowNoise:
    """A catalogued mechanism, the parameters that were chosen, the deviation in each number, and why."""

    subject: str
    parameters: dict[str, Fraction | int]
    deviation: float
    because: str

    @classmethod
    def completed(cls, claim: Claim) -> tuple[dict[str, Any], str]:
        """Return the subject of a claim that leaves the noise open, and why that one; reads no data."""
        if claim.table is None or claim.parameters is None:
            right = "declare [data.columns], and name columns and a radius"
            raise InputError(f"{claim.use} is about a table", right, claim.path)
        given = claim.parameters.table(("radius",), ("column", "columns"))
        if ("column" in given) == ("columns" in given):
            raise claim.parameters.wrong("the columns are not named", "give column or columns")
        count = 1 if "column" in given else len(list(given["columns"].items()))
        promise, radius = claim.guarantee, given["radius"].positive()
        noise = choose(
            count, promise.epsilon, promise.delta, promise.radius or Fraction(0), radius, claim.table.rows
        )
        parameters = {**claim.parameters.value, **noise.parameters}
        return {"use": noise.subject, "parameters": parameters}, noise.because


def choose(
    columns: int, epsilon: Fraction, delta: Fraction, unit: Fraction, radius: Fraction, rows: int = 1
) -> RowNoise:
    """Return the noise with the smaller variance that is proved to cost (ε, δ) where a row moves by `unit`.

    `columns`, `rows`: the table's size.
    `epsilon`, `delta`: the budget of the release; δ = 0 admits K-norm noise only.
    `unit`: the ℓ2 distance by which a neighbour's row moves; 0: it is any other of the ball.
    `radius`: the ℓ2 norm to which rows are clipped.
    Raises `InputError` if a number is out of range, or where neither noise is known: δ = 0 and more columns
    than K-norm noise is drawn for.
    """
    if epsilon <= 0 or not 0 <= delta < 1 or min(columns, rows) < 1 or radius <= 0 or unit < 0:
        raise out_of_range("epsilon > 0, 0 <= delta < 1, columns >= 1, rows >= 1, radius > 0, unit >= 0")
    lengths = _k_norm(columns, epsilon, unit, radius)
    normal = _gaussian(columns, epsilon, delta, unit, radius, rows) if delta > 0 else None
    drawn = columns <= MOST_COLUMNS
    if normal is None and not drawn:
        raise InputError(
            f"K-norm noise is drawn for at most {MOST_COLUMNS} columns", "give delta > 0, or fewer"
        )
    because = f"per number √(d+1)/rate = {lengths.deviation:.6g} by K-norm noise"
    if normal is None:
        return replace(lengths, because=f"{because}; δ = 0 admits no Gaussian noise")
    because += f", {normal.deviation:.6g} by Gaussian noise, at d = {columns}"
    if lengths.deviation > normal.deviation:
        return replace(normal, because=because)
    if not drawn:
        return replace(normal, because=f"{because}; K-norm noise is drawn for at most {MOST_COLUMNS} columns")
    return replace(lengths, because=f"{because}; and δ = 0")


def _k_norm(columns: int, epsilon: Fraction, unit: Fraction, radius: Fraction) -> RowNoise:
    """Return K-norm noise whose rate times the movement of a row is at most ε."""
    points = moved_rows.follows("rows", radius, columns, K_NORM_GRID_BITS)
    _, bound = moved_rows.bound_on(points, unit or None)
    # Rounded down: a higher rate would be less noise than is proved.
    rate = Fraction(floor(epsilon / bound * RATE_STEPS), RATE_STEPS)
    if rate == 0:
        raise InputError(
            f"epsilon is {float(epsilon):.3g}, too small for rows that move by {float(bound):.3g}"
        )
    return RowNoise(
        "k-norm", {"rate": rate, "bits": K_NORM_GRID_BITS}, float(columns + 1) ** 0.5 / float(rate), ""
    )


def _gaussian(
    columns: int, epsilon: Fraction, delta: Fraction, unit: Fraction, radius: Fraction, rows: int
) -> RowNoise:
    bits = max(min(GAUSSIAN_GRID_BITS, 56 - ceil(radius).bit_length()), 0)

    def made(sigma: Fraction) -> GaussianRows:
        return GaussianRows(sigma=sigma, radius=radius, unit=unit, rows=rows, columns=columns, bits=bits)

    sigma = least_sigma(lambda tried: made(tried).proof(delta), epsilon, delta)
    return RowNoise("gaussian-rows", {"sigma": sigma, "bits": bits}, float(sigma), "")
