"""What is reproduced: the cells of a paper's table or figure, and how each is run."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Play = Callable[[int], Floats]  #: seed ↦ regret of every round; picklable


@dataclass(frozen=True)
class Cell:
    """One number of a table or curve of a figure: what is run, and what the paper prints."""

    row: dict[str, Any]
    play: Play
    published: float | None = None
    subject: Any = None  #: whose proof the cell carries; None: not private
    verdict: dict[str, Any] | None = None  #: of the paper's own calibration, by `dpaccount claims`


@dataclass(frozen=True)
class Reproduction:
    """A table or figure, how it is made by default, and what the paper leaves open."""

    name: str
    source: str
    trials: int
    rounds: int
    assumed: tuple[str, ...]
    cells: Callable[[int], list[Cell]]


def frozen(subject: Any) -> Any:
    """Return a subject with its calibrated σ written in, so that workers need not search for it."""
    return replace(subject, sigma=subject.noise_scale)
