"""Benchmarks of bandits without their peers."""

import pytest

from benchmarks import bandits
from benchmarks.rows import BenchmarkSetting
from tests.depth import deep


@deep
@pytest.mark.parametrize("peers", [None, "nowhere"])
def test_peers_that_are_not_installed_are_named_and_no_error(tmp_path, peers):
    setting = BenchmarkSetting(None if peers is None else tmp_path / peers)
    assert (setting.lacks("dp_accounting") or "").startswith("no --peers" if peers is None else str(tmp_path))
    row = bandits.refit(setting)
    assert row.value is not None
    assert row.floor is row.ratio is None
    assert row.note
