"""Refutations that run: small simulations of the papers' algorithms, attacked at the witness pair.

Each function takes a claim's parameters and a seed and returns what it saw: the attack, the numbers,
and whether the claim is refuted (`refuted`), by a bound that fails with probability below 1 % where
chance takes part.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audits.papers.dubey import rank_one
from audits.papers.dubey.actions import action_attack
from audits.papers.dubey.joint import lemma, met, repair
from audits.papers.dubey.rank_one import Movement
from audits.papers.enclosures import exactly
from audits.papers.kharkovskii.theorem1 import published_omega
from audits.papers.sampling import attack

Floats = NDArray[np.float64]
TRIALS = 20_000
MOST = 1_000_000  #: runs per world where a large ε has to be seen


def _trials(epsilon: Fraction) -> int:
    """Return how many runs can show ε: about 40 e^ε, within limits."""
    return int(min(MOST, max(TRIALS, 40 * math.exp(min(float(epsilon), 20.0)))))


# ------------------------------------------------------------------ Dubey: noisy matrices


def record_matrix(features: Floats, reward: float) -> Floats:
    """Return vvᵀ of one record."""
    whole = np.append(features, reward)
    return np.outer(whole, whole)


def noisy_nodes(matrix: Floats, sigma: float, times: int, runs: int, rng: np.random.Generator) -> Floats:
    """Return [runs, size, size]: the sum of `times` nodes that hold `matrix`, each with noise (ν + νᵀ)/√2."""
    nu = rng.normal(0, sigma * math.sqrt(times), (runs, *matrix.shape))  # a sum of independent normals
    noisy: Floats = times * matrix + (nu + nu.transpose(0, 2, 1)) / math.sqrt(2)
    return noisy


def tree_attack(
    p: dict[str, Any], movement: Movement, times: int, sigma: float, seed: int, *, corner: bool = True
) -> dict[str, Any]:
    """Attack the noisy nodes at the pair of `movement` with the likelihood ratio, <sum of nodes, A>."""
    rng = np.random.default_rng(seed)
    cosine = float(movement.cosine)
    left = record_matrix(np.array([1.0, 0.0]), movement.rewards[0])
    right = record_matrix(np.array([cosine, math.sqrt(max(0.0, 1 - cosine**2))]), movement.rewards[1])
    shift = left - right
    if not corner:
        shift[-1, -1] = 0.0
    runs, scores = _trials(p["alpha"]), []
    for world in (left, right):
        parts = [
            np.einsum("tij,ij->t", noisy_nodes(world, sigma, times, min(100_000, runs - at), rng), shift)
            for at in range(0, runs, 100_000)
        ]
        scores.append(np.concatenate(parts))
    return {
        "attack": "likelihood ratio of the noisy nodes",
        **attack(scores[0], scores[1], p["alpha"], p["beta"]),
    }


def lemma2(p: dict[str, Any], seed: int) -> dict[str, Any]:
    """Run Lemma 2's nodes at the worst pair of the full matrix."""
    numbers = lemma(p)
    sigma = math.sqrt(numbers.variance.upper)
    return tree_attack(p, rank_one.with_corner(numbers.clip2), met(int(p["T"]) - 1), sigma, seed)


def unclipped(p: dict[str, Any], seed: int) -> dict[str, Any]:
    """Run them at a reward y that nothing clips, against −B."""
    rewards = (float(p["y"]), -float(p["B"]))
    movement = Movement(rank_one.at_pair(p["y"], -p["B"]), 1, rewards)
    sigma = math.sqrt(lemma(p).variance.upper)
    return {"y": rewards[0], **tree_attack(p, movement, met(int(p["T"]) - 1), sigma, seed)}


def repaired(p: dict[str, Any], seed: int) -> dict[str, Any]:
    """Run the repaired release, with the noise it needs, at its worst pair."""
    noise = repair(p).noise
    sigma = float(noise.needed.upper) if noise and noise.needed else 0.0
    movement = rank_one.without_corner(exactly(p["B"] ** 2))
    return tree_attack(p, movement, met(int(p["T"]) - 1), sigma, seed, corner=False)


# ------------------------------------------------------------------ Zhou & Tan: messages


def replayed(p: dict[str, Any], seed: int, *, scale: float | None = None) -> dict[str, Any]:
    """Ask one user as often as the claim says, with Laplace noise on a range of 1.

    The likelihood ratio of a message is e^{2·clip/scale}; clipping makes ties exact, where the same sum
    of absolute values would tell the worlds apart by its rounding.
    """
    rng = np.random.default_rng(seed)
    replays = math.ceil(24 * (1 + math.log(4 * float(p["T"]) / float(p["regret_delta"]))))
    times = replays if p["users"] == "same" else 1
    width = 1 / float(p["epsilon"]) if scale is None else scale
    trials, scores = TRIALS if times <= 1000 else TRIALS // 10, []
    for reward in (0.5, -0.5):
        total = np.zeros(trials)
        for _ in range(times):
            total += np.clip(reward + rng.laplace(0, width, trials), -0.5, 0.5)
        scores.append(total)
    return {
        "attack": "all messages of one user",
        "replays": times,
        **attack(scores[0], scores[1], p["epsilon"], p["delta"]),
    }


def far_rewards(p: dict[str, Any], seed: int) -> dict[str, Any]:
    """Send two rewards this far apart; at a δ of half the exact one, so that chance does not decide."""
    rng = np.random.default_rng(seed)
    scale, distance = 2 * float(p["B"] + p["R"]) / float(p["epsilon"]), float(p["distance"])
    scores = [reward + rng.laplace(0, scale, TRIALS) for reward in (distance, 0.0)]
    loss = max(0.0, -math.expm1((float(p["epsilon"]) - distance / scale) / 2))
    return {"attack": "one message", **attack(scores[0], scores[1], p["epsilon"], Fraction(loss / 2))}


# ------------------------------------------------------------------ Kharkovskii et al.: projections


def curator(rows: Floats, omega: float, columns: int, rng: np.random.Generator) -> tuple[Floats, bool]:
    """Return Z of Algorithm 1 and whether the singular values were lifted."""
    centred = rows - rows.mean(axis=0)
    left, values, right = np.linalg.svd(centred, full_matrices=False)
    lifted = bool(values.min() < omega)
    if lifted:
        centred = (left * np.sqrt(values**2 + omega**2)) @ right
    return centred @ rng.normal(size=(rows.shape[1], columns)) / math.sqrt(columns), lifted


def outside(released: Floats, rows: Floats) -> float:
    """Return the part of a release outside the column space of the centred rows, relative to its size."""
    basis = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[0]
    rest = released - basis @ (basis.T @ released)
    return float(np.linalg.norm(rest) / np.linalg.norm(released))


def column_space(p: dict[str, Any], seed: int) -> dict[str, Any]:
    """Release the paper's data and a neighbour, twenty times in each branch, and test their column space."""
    if p["n"] < p["d"] + 2:
        return {"attack": "none: centred data of full rank share their column space", "refuted": False}
    rng = np.random.default_rng(seed)
    rows = example_rows(min(int(p["n"]), 10_000), min(int(p["d"]), 50), rng)  # at most so many
    other = rows.copy()
    other[0, 0] += 1.0
    least = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False).min()
    kept: list[float] = []
    left: list[float] = []
    for omega in (least / 2, least * 2):
        for _ in range(20):
            kept.append(outside(curator(rows, omega, int(p["r"]), rng)[0], rows))
            left.append(outside(curator(other, omega, int(p["r"]), rng)[0], rows))
    return {
        "attack": "does Z lie in the column space of the first data?",
        "n": len(rows),
        "d": rows.shape[1],
        "releases": len(kept),
        "largest_residual": max(kept),
        "least_residual_prime": min(left),
        "told_apart": int(sum(value > 1e-9 for value in left)),
        "published_omega": float(published_omega(p["epsilon"], p["delta"], int(p["r"])).upper),
        "least_singular_value": float(least),
        "refuted": max(kept) < 1e-12 and min(left) > 1e-9,
    }


def example_rows(count: int, features: int, rng: np.random.Generator) -> Floats:
    """Return the paper's uniform grid (σ_min = 1030.9 at 100 × 100) if it fits, else normal rows."""
    side = math.isqrt(count)
    if features == 2 and side * side == count:
        axis = 5 / 14 * np.arange(side)
        return np.array([(a, b) for a in axis for b in axis])
    return 10 * rng.normal(size=(count, features))


def branch(p: dict[str, Any], seed: int, *, always: bool = False) -> dict[str, Any]:
    """Release data with σ_min just above ω and a neighbour just below; energy along that direction.

    `always` lifts in both worlds: the sound twin.
    """
    rng = np.random.default_rng(seed)
    columns, omega, size = int(p["r"]), 100.0, 50
    frame = np.linalg.qr(np.column_stack([np.ones(size), rng.normal(size=(size, 2))]))[0][:, 1:]
    rows = frame * np.array([3 * omega, omega + 0.01])
    other = rows.copy()
    at = int(np.argmax(np.abs(frame[:, 1])))
    other[at, 1] -= np.sign(frame[at, 1])  # the row moves by 1, σ_min falls by about |frame[at, 1]|
    floor = 2 * omega if always else omega
    runs = int(min(TRIALS // 2, max(500, 10**6 // columns)))
    worlds = [
        np.array([_energy(curator(x, floor, columns, rng)[0], frame[:, 1], omega) for _ in range(runs)])
        for x in (other, rows)
    ]
    return {
        "attack": "energy of Z along one direction",
        **attack(worlds[0], worlds[1], p["epsilon"], p["delta"]),
    }


def _energy(released: Floats, direction: Floats, omega: float) -> float:
    along = direction @ released
    return float(np.square(along).sum()) * float(released.shape[1]) / float(omega) ** 2


# ------------------------------------------------------------------ Pavlovic et al.: supremum on a grid


def grid_supremum(p: dict[str, Any], _: int) -> dict[str, Any]:
    """Compute σ̄² of the Matérn-1/2 kernel on a grid that holds Z's nodes, and between its points."""
    nodes, lengthscale = np.arange(41.0), 0.01
    copies, ridge = float(p["copies"]), float(p["ridge"])
    kernel = np.exp(-np.abs(nodes[:, None] - nodes[None, :]) / lengthscale) * copies

    def variance(points: Floats) -> Floats:
        cross = np.exp(-np.abs(points[:, None] - nodes[None, :]) / lengthscale)
        gain = np.linalg.solve(kernel + ridge * np.eye(len(nodes)), copies * cross.T)
        found: Floats = 1 - (cross * gain.T).sum(axis=1)
        return found

    on, off = float(variance(nodes).max()), float(variance(nodes[:-1] + 0.5).max())
    return {
        "attack": "sigma^2 between the grid's points over its maximum on the grid",
        "supremum_over_grid_value": off / on,
        "refuted": off / on > 2,
    }


def observed_contexts(p: dict[str, Any], _: int) -> dict[str, Any]:
    """Run the predictor in its kernel form on both datasets, with observed contexts for fresh ones."""
    size = min(int(p["records"]), 1000)
    here, there, other = np.array([1.0, 0.0]), np.array([0.28, 0.96]), np.array([0.0, 1.0])
    crowd = [*[here] * (size - 1), *[there] * size]
    rewards = np.append(np.ones(len(crowd)), -1.0)
    logs = []
    for moved in (here, other):
        seen = np.array([*crowd, moved])
        gain = np.linalg.inv(seen @ seen.T + np.eye(len(seen)))
        asked = np.array([here, there, other])
        cross = asked @ seen.T
        spread = 1 - (cross @ gain * cross).sum(axis=1)
        score = (cross - cross @ gain @ (seen @ seen.T)) @ rewards
        odds = float(p["epsilon"]) * score / (2 * spread.max())
        logs.append(np.concatenate([-np.logaddexp(0, -odds), -np.logaddexp(0, odds)]))
    ratio = float(np.abs(logs[0] - logs[1]).max())
    return {
        "attack": "exact probabilities of both actions at three contexts",
        "records": 2 * size,
        "log_ratio": ratio,
        "refuted": ratio > p["epsilon"],
    }


Run = Callable[[dict[str, Any], int], dict[str, Any]]

RUNS: dict[str, Run] = {
    "dubey-lemma2": lemma2,
    "dubey-lemma2-actions": action_attack,
    "dubey-lemma2-unclipped": unclipped,
    "dubey-repair": repaired,
    "zhou-moma": replayed,
    "zhou-unbounded": far_rewards,
    "kharkovskii-theorem1": column_space,
    "kharkovskii-branch": branch,
    "pavlovic-grid": grid_supremum,
    "pavlovic-observed": observed_contexts,
}
