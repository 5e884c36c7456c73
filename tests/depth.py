"""How far a test looks is a setting of the run: quick by default, everything with `pytest --deep` (README.md).

    @deep                              a test, or a row of a table, that only deep runs try
    @deep(quick_every=3)               of its rows every third one is in the quick run too
    @deep(one_in=6)                    of its rows a deep run has a sixth, drawn by its seed
    depth.some(cases, few)             a fixture: a few of the cases, evenly; in deep runs all
    depth.drawn(cases, few)            as many in deep runs, but other ones each time
    depth.seed(7)                      seed 7; in deep runs a fresh one
    @examples(25)                      a property of Hypothesis: 25 examples; in deep runs ten times as many
    @parts(8)                          in deep runs eight items, each with its share of the cases

A test that uses `depth` or Hypothesis is in both runs. One that is marked `statistical` keeps its seed, unless
the mark states a chance of a false alarm of at most 1e-7 (`statistical(1e-9)`): fresh seeds at every run would
else turn red sooner or later, though nothing is wrong.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import HealthCheck, core, settings

T = TypeVar("T")
MORE = 10  #: times as many examples in a deep run
ROWS, LEAST = 4, 6  #: of a test a deep run draws about four rows, but one in six at least
FRESH = 1e-7  #: the largest stated chance of a false alarm with which a test gets fresh seeds

deep = pytest.mark.deep
parts = pytest.mark.parts


@dataclass(frozen=True)
class Depth:
    """How far one item looks.

    A whole run looks at every case. `part` of `of` is the item's share of them; `draw` is what its fresh seeds
    are made of, None where it keeps its own, and `choice` what cases are drawn by, whatever their seeds.
    """

    whole: bool = False
    part: int = 0
    of: int = 1
    draw: str | None = None
    choice: str | None = None

    def some(self, cases: Sequence[T], few: int) -> Sequence[T]:
        """Return `few` of the cases, evenly spread; in a deep run all, or the item's share of them."""
        if self.whole:
            return cases[self.part :: self.of]
        if len(cases) <= few:
            return cases
        return [cases[place * len(cases) // few] for place in range(few)]

    def drawn(self, cases: Sequence[T], few: int) -> list[T]:
        """Return `few` of the item's cases, in a deep run other ones each time."""
        own = self.some(cases, few)
        rng = np.random.default_rng(0 if self.choice is None else number(f"{self.choice} cases"))
        return [own[place] for place in sorted(rng.permutation(len(own))[:few])]

    def seed(self, usual: int = 0) -> int:
        """Return the usual seed; in a deep run a fresh one for each usual seed, if the test may have such."""
        return usual if self.draw is None else number(f"{self.draw} {usual}")

    def rng(self, usual: int = 0) -> np.random.Generator:
        """Return a generator with that seed."""
        return np.random.default_rng(self.seed(usual))


def number(text: str) -> int:
    """Return a whole number below 2³² that is drawn by a text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def seed_properties(item: Depth) -> None:
    """Let the next property draw its examples by the item's seed."""
    core.global_force_seed = item.seed()  # what --hypothesis-seed sets, here for each item


RUN = Depth()  #: the setting of this process; set once, before tests are imported
PROFILE = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", max_examples=100, derandomize=True, **PROFILE)
settings.register_profile("deep", max_examples=100 * MORE, **PROFILE)  # seeded by item


def set_run(run: Depth) -> None:
    """Set how deep this process looks, before any test is imported."""
    global RUN  # noqa: PLW0603
    RUN = run
    settings.load_profile("deep" if run.whole else "quick")


def examples(few: int, many: int | None = None, **others: Any) -> settings:
    """Return the settings of a property: `few` examples, in a deep run `many` (ten times as many).

    Examples of a quick run are the same each time. Other settings are those of Hypothesis.
    """
    whole = many if many is not None else few * MORE
    return settings(max_examples=whole if RUN.whole else few, **({"deadline": None} | others))


def stated_chance(item: pytest.Item) -> float:
    """Return the chance of a false alarm that a test states: 0 for what is not statistical, 1 if unstated."""
    mark = item.get_closest_marker("statistical")
    return 0.0 if mark is None else float(mark.args[0]) if mark.args else 1.0


def depth_of(item: pytest.Item, run: Depth, part: int) -> Depth:
    """Return how far an item looks in a run."""
    if not run.whole:
        return run
    mark = item.get_closest_marker("parts")
    choice = None if run.draw is None else f"{run.draw} {item.nodeid}"
    draw = choice if stated_chance(item) <= FRESH else None
    return replace(run, part=part, of=mark.args[0] if mark else 1, draw=draw, choice=choice)


def is_deep(item: pytest.Item) -> bool:
    """Return whether an item is one of deep runs."""
    uses = "depth" in getattr(item, "fixturenames", ())
    return uses or is_property(item) or item.get_closest_marker("deep") is not None


def is_drawn(item: pytest.Item, rows: int, run: Depth) -> bool:
    """Return whether a deep run has a deep item, of a test with so many rows."""
    mark, parts = (item.get_closest_marker(name) for name in ("deep", "parts"))
    usual = 1 if parts is not None else min(LEAST, max(1, rows // ROWS))
    few = usual if mark is None else mark.kwargs.get("one_in", usual)
    return number(f"{run.draw} {item.nodeid}") % few == 0


def is_property(item: pytest.Item) -> bool:
    """Return whether an item is a property of Hypothesis, or a machine of states."""
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


def is_quick(item: pytest.Item, case: int) -> bool:
    """Return whether the quick run has this item, the `case`th of its test."""
    mark = item.get_closest_marker("deep")
    if mark is None:
        return True
    every = mark.kwargs.get("quick_every", 0)
    return every > 0 and case % every == 0
