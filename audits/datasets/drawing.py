"""Draws examples with Hypothesis that depend on the seed and the test alone."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.internal.cache import LRUCache
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants


def draw_examples(
    test: Callable[..., None], seed: int, examples: int, *phases: Phase, **strategies: Any
) -> None:
    """Call `test` on up to `examples` examples of the strategies; what it raises ends the search.

    There is no database and no deadline: the same examples in every program and on every machine.
    """
    chosen = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        backend="hypothesis",
    )
    with _without_local_constants():
        hypothesis.seed(seed)(chosen(given(**strategies)(test)))()


@contextlib.contextmanager
def _without_local_constants() -> Iterator[None]:
    """Leave out the constants of the local modules that are loaded."""
    # Which ones are loaded differs between programs, and so would the examples.
    ours = {"_get_local_constants": Constants, "CONSTANTS_CACHE": LRUCache(1024)}
    kept = {name: getattr(providers, name) for name in ours}
    vars(providers).update(ours)
    try:
        yield
    finally:
        vars(providers).update(kept)
