"""A refutation by intervals counts only once the query itself confirms it, and says what stopped that."""

import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from audits.datasets.bases import Pair
from audits.datasets.shape import Shape
from audits.sandbox.crew import TimeUp
from audits.sandbox.outcomes import of_value, pack_array
from audits.sensitivity.search import DeclaredSensitivity, Search, _simplify, prove_sensitivity

ONE_ROW = Shape(1, None, (0.0,), (1.0,), False, "replace-one")
LEFT, RIGHT = np.zeros(1), np.ones(1)


class Refuting:
    """A crew whose proof names LEFT and RIGHT as a counterexample."""

    seconds = 10.0

    def __init__(self, run: Any) -> None:
        self.run = run
        answer = ["refuted", 1.0, math.inf, 3, "", pack_array(LEFT), pack_array(RIGHT)]
        self.first = SimpleNamespace(send=lambda message: None, receive=lambda seconds: answer)

    def seconds_left(self) -> float:
        return self.seconds

    def set_datasets(self, datasets: Any) -> None:
        pass


def out_of_time(plays: Any) -> Any:
    raise TimeUp


def no_movement(plays: Any) -> Any:
    return [of_value(0.0) for _ in plays]


@pytest.mark.parametrize(
    ("run", "why"), [(out_of_time, "no time was left"), (no_movement, "does not confirm")]
)
def test_what_is_not_confirmed_is_undecided_for_the_true_reason(run: Any, why: str) -> None:
    search = Search(DeclaredSensitivity("l1", Fraction(1, 2), ONE_ROW))
    prove_sensitivity(Refuting(run), search)  # type: ignore[arg-type]
    assert search.proof is not None
    assert search.proof.status == "undecided"
    assert why in search.proof.why


@pytest.mark.parametrize("rows", [20, 33])
def test_entries_that_do_not_matter_are_simplified_although_sums_are_rounded(rows: int) -> None:
    search = Search(
        DeclaredSensitivity("l1", Fraction(1), Shape(rows, None, (0.0,), (1.0,), False, "replace-one"))
    )

    def moves(pairs: Any) -> list[float]:
        return [abs((3 * p.right.mean() + p.right[0]) - (3 * p.left.mean() + p.left[0])) for p in pairs]

    left = np.random.default_rng(rows).random(rows)
    left[0] = 0
    search.best = Pair(left, np.array([1, *left[1:]]), "random")
    (search.worst,) = moves([search.best])
    _simplify(moves, search, search.declared.shape)
    assert not search.best.left.any()
    assert search.worst == pytest.approx(1 + 3 / rows, rel=1e-9)
    search.worst = 1 + 1e-9  # of a bound that is exceeded by rounding alone, nothing above it would be left
    search.best = Pair(left, np.array([1, *left[1:]]), "random")
    _simplify(lambda pairs: [1.0 for _ in pairs], search, search.declared.shape)
    assert search.best.left.any()
