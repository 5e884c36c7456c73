"""`import mechanisms` offers what authors and users of mechanisms need."""

import doctest

import pytest

import mechanisms


def test_every_name_is_there_and_no_other():
    for name in mechanisms.__all__:
        assert getattr(mechanisms, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        _ = mechanisms.nothing


def test_its_example():
    results = doctest.testmod(mechanisms)
    assert (results.failed, results.attempted) == (0, 2)
