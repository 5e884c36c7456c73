"""Pairs of a domain: what Hypothesis keeps of their strategies."""

import gc

from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

from audits.datasets.domain_pairs import pairs
from mechanisms.subject import Domain

WIDE = Domain(3, (0.0, *(-1.0,) * 40), (3.0, *(1.0,) * 40), (True, *(False,) * 40), (0.0,) * 41)


def test_strategies_do_not_grow_with_pairs_and_columns():
    """Hypothesis keeps every strategy that it has drawn from: a gigabyte after 600 wide pairs."""
    drawn, before = [], kept()

    @settings(max_examples=10, database=None, suppress_health_check=[*HealthCheck])
    @given(pairs(WIDE, "add-remove"))
    def draw(pair):
        drawn.append(pair)

    draw()
    assert len(drawn) == 10
    assert kept() - before < 200


def kept():
    gc.collect()
    return sum(isinstance(each, SearchStrategy) for each in gc.get_objects())
