"""Replays a refutation from its answer, without the code that found it.

The written derivation is inferred again by the stand-alone checker, and must end in the claimed (ε, δ).
What it assumes is recomputed here in floating point, by other formulas than those that were used: the
probabilities of an event, column spaces by exact elimination.  Steps of proofs, which are no statement about
(ε, δ), are replayed from their own numbers.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from flint import fmpz_mat
from scipy import stats

from dpaccount.checker.derivation import check_derivation
from dpaccount.errors import InputError
from papers.claims.claim_check import REFUTED

CLOSE = 1e-6  #: relative agreement of recomputed probabilities


def can_replay(answer: Mapping[str, Any]) -> bool:
    """Return whether an answer is a refutation that carries what a replay needs."""
    return answer["verdict"] == REFUTED and bool(answer["derivation"] or "step" in answer["witness"])


def replay(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the replay saw: `refutes`, and the numbers behind it.

    Raises `InputError` for an answer that refutes nothing or that carries nothing to replay.
    """
    if answer["verdict"] != REFUTED:
        raise InputError(f"{answer['name']} is {answer['verdict']}", "only a refuted claim is replayed")
    if not can_replay(answer):
        raise InputError(f"{answer['name']} at these parameters has no written refutation to replay")
    witness, steps = answer["witness"], answer["derivation"]
    if "step" in witness:
        return REPLAYS[witness["step"]["of"]](witness["step"])
    last = check_derivation(steps)[-1]
    claimed = answer["claimed"]
    # The checker proves what follows from the assumptions; what is claimed by the paper is compared here.
    same = last[0] == "Refuted" and _close(last[2], claimed["epsilon"]) and _close(last[3], claimed["delta"])
    shown: dict[str, Any] = {"steps": len(steps), "refuted_at": [float(Fraction(v)) for v in last[2:4]]}
    if steps[0]["rule"] == "assume_event":
        stated = [float(Fraction(steps[0]["with"][side])) for side in ("likely", "rarely")]
        likely, rarely = (tail(witness["event"], world) for world in (0, 1))
        shown |= {"likely": likely, "rarely": rarely}
        same &= stated[0] <= likely * (1 + CLOSE) and rarely <= stated[1] * (1 + CLOSE)
        if "features" in witness:
            ranks = column_spaces(witness["rows"], witness["features"])
            shown["ranks"] = ranks
            same &= ranks[0] == ranks[1] < ranks[2]
    return {**shown, "refutes": bool(same)}


def _close(stated: str, claimed: float | str) -> bool:
    exact = float(Fraction(stated))
    return exact == float(claimed) or math.isclose(exact, float(claimed), rel_tol=1e-12)


def tail(event: Mapping[str, Any], world: int) -> float:
    """Return the event's probability in the first (0) or second (1) world."""
    numbers = [float(Fraction(number)) for number in event["numbers"]]
    match event["law"]:
        case "certain":
            return float(world == 0)
        case "logistic":
            one = float(stats.logistic.cdf(numbers[world]))
        case "normal":
            one = float(stats.norm.cdf(numbers[world]))
        case "laplace":
            one = float(stats.laplace.sf(numbers[world]))
        case "chi-square":
            one = float(stats.gamma.sf(numbers[1], numbers[0] / 2, scale=4 - 2 * world))
        case law:
            raise InputError(f"{law!r} is not a law of events that can be replayed")
    return float(stats.binom.sf(event["least"] - 1, event["trials"], one))


# ------------------------------------------------------------------ column spaces, exactly


def column_spaces(rows: int, features: int) -> list[int]:
    """Return the ranks of X_c, of its neighbour, and of both side by side.

    X has the unit vectors as its first rows and zeros below; in the neighbour, one zero row is (1, 0, …).
    Z lies in the column space of its own data, and where the third rank is larger, almost never in the
    other one.
    """
    data = [[int(i == j) for j in range(features)] for i in range(rows)]
    other = [list(row) for row in data]
    other[features][0] = 1
    left, right = _centred(data), _centred(other)
    both = [a + b for a, b in zip(left, right, strict=True)]
    return [fmpz_mat(rows).rank() for rows in (left, right, both)]


def _centred(rows: list[list[int]]) -> list[list[int]]:
    """Return n times the centred rows."""
    totals = [sum(column) for column in zip(*rows, strict=True)]
    return [[len(rows) * x - t for x, t in zip(row, totals, strict=True)] for row in rows]


# ------------------------------------------------------------------ steps of proofs


def _chain(step: Mapping[str, Any]) -> dict[str, Any]:
    """Add up the δ of the nodes; the slack term of advanced composition comes on top."""
    spent, beta = step["nodes"] * Fraction(step["delta_of_each"]), Fraction(step["beta"])
    return {"spent": float(spent), "refutes": spent >= beta}


def _chernoff(step: Mapping[str, Any]) -> dict[str, Any]:
    """Recompute the probability that some reward leaves the interval."""
    b, rho, rounds, beta = (float(Fraction(step[key])) for key in ("B", "rho", "T", "beta"))
    edge = math.sqrt(b * b + 2 * rho * rho * math.log(8 * rounds / beta))
    one = float(stats.norm.sf(edge, b, rho) + stats.norm.cdf(-edge, b, rho))
    failure = -math.expm1(rounds * math.log1p(-one))
    return {"failure": failure, "allowed": beta / 4, "refutes": failure > beta / 4}


def _weights(step: Mapping[str, Any]) -> dict[str, Any]:
    """See that H_m changes sign between two numbers where H_{m−1} is negative: a node of negative weight."""
    low, high = (Fraction(end) for end in step["node_between"])
    (below, at_low), (also, at_high) = (_hermite(step["nodes"], x) for x in (low, high))
    # H_{m−1} has no zero between two points so near to a zero of H_m: the zeros interlace, 1/m² apart
    near = 0 < high - low < Fraction(1, step["nodes"] ** 2)
    return {"refutes": near and at_low * at_high < 0 and below < 0 and also < 0}


def _hermite(m: int, x: Fraction) -> tuple[Fraction, Fraction]:
    """Return H_{m−1}(x) and H_m(x)."""
    below, at = Fraction(1), 2 * x
    for k in range(1, m):
        below, at = at, 2 * x * at - 2 * k * below
    return below, at


def _omega(step: Mapping[str, Any]) -> dict[str, Any]:
    """Recompute the printed ω, and the singular values of the grid from its points."""
    epsilon, delta, r = (float(Fraction(step[key])) for key in ("epsilon", "delta", "r"))
    side = int(Fraction(step["side"]))
    omega = 16 * math.sqrt(r) * math.log(2 / delta) * math.log(16 * r / delta) / epsilon
    line = [5 / 14 * (k - (side - 1) / 2) for k in range(side)]
    least = math.sqrt(side * math.fsum(x * x for x in line))
    return {"printed_omega": omega, "least_singular_value": least, "refutes": omega >= least}


REPLAYS = {"omega": _omega, "chain": _chain, "chernoff": _chernoff, "weights": _weights}
