"""GP-UCB over finite features, in ask/tell: the non-private algorithm that the private ones follow."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def choose(candidates: Floats, gram: Floats, moment: Floats, width: float) -> int:
    """Return the candidate (row of features) with the largest upper confidence bound.

    mean = φᵀ G⁻¹ u and spread = √(φᵀ G⁻¹ φ) with G = `gram` (positive definite), u = `moment`
    (Srinivas et al. 2010; Dubey 2021, Algorithm 1, with a constant width).
    """
    solved = np.linalg.solve(gram, np.column_stack([moment, candidates.T]))
    mean = candidates @ solved[:, 0]
    spread = np.sqrt(np.maximum((candidates * solved[:, 1:].T).sum(axis=1), 0.0))
    return int(np.argmax(mean + width * spread))


@dataclass
class GpUcb:
    """Ask for a candidate, tell its reward; `ridge` is λ, `width` the confidence width."""

    size: int
    ridge: float = 1.0
    width: float = 0.3
    gram: Floats = field(init=False)
    moment: Floats = field(init=False)

    def __post_init__(self) -> None:
        """Start from the prior."""
        self.gram = self.ridge * np.eye(self.size)
        self.moment = np.zeros(self.size)

    def ask(self, candidates: Floats) -> int:
        """Return the index of the candidate to play; rows of `candidates` are features."""
        return choose(candidates, self.gram, self.moment, self.width)

    def tell(self, features: Floats, reward: float) -> None:
        """Learn from one observed reward."""
        self.gram += np.outer(features, features)
        self.moment += reward * features
