"""Datasets by name stay within their domain."""

from hypothesis import example, given
from hypothesis import strategies as st

from audits.datasets.bases import GENERATORS, between, dataset
from mechanisms.subject import Domain
from tests.depth import examples

ENDS = st.floats(-1e6, 1e6) | st.decimals(-9, 9, places=1).map(float)


@examples(50)
@given(ends=st.lists(ENDS, min_size=2, max_size=2, unique=True).map(sorted), seed=st.integers(0, 2**32))
@example(ends=[-0.3, 1.1], seed=0)  # low + (high − low) is above high
def test_no_dataset_is_beyond_its_domain(ends, seed):
    low, high = ends
    domain = Domain(7, (low, -2.0), (high, 3.0), (False, True), (low, 0.0))
    assert domain.contains(between(domain, 1.0)[None])
    for base in GENERATORS:
        assert domain.contains(dataset(domain, base, seed)), base
