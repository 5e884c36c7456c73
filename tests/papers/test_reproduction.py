"""The frame of reproductions: what is made of the rounds of the trials, and what a row says."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpaccount.errors import InputError
from papers import reproduce
from papers.reproduction import CUMULATIVE_REGRET, LAST_ROUND, MEAN_SO_FAR, Cell, Reproduction
from tests.depth import deep

RUNS = arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=st.floats(-5, 5))


@deep
@given(RUNS)
def test_the_last_column_of_each_summary_is_what_its_name_says(runs):
    for summary, expected in (
        (CUMULATIVE_REGRET, runs.sum(axis=1)),
        (LAST_ROUND, runs[:, -1]),
        (MEAN_SO_FAR, runs.mean(axis=1)),
    ):
        curves = summary.curves(runs)
        assert curves.shape == runs.shape
        assert curves[:, -1] == pytest.approx(expected, abs=1e-12)


def steps(level, seed):
    """Return a trial whose rounds all are level + seed."""
    return np.full(40, level + seed)


def cells(rounds, *, trials, progress, summary=CUMULATIVE_REGRET):
    assert trials is None  # as many as its own

    def count(seeds, runs):
        return {"seeds": list(seeds), "shape": list(runs.shape)}

    listed = [
        Cell({"algorithm": "one", "epsilon": None}, partial(steps, 1.0), summary=summary),
        Cell(
            {"algorithm": "two", "epsilon": 0.5}, partial(steps, 2.0), 100.0, summary=summary, details=count
        ),
    ]
    assert rounds == 40
    return listed


@deep
@pytest.mark.parametrize(
    ("summary", "value"), [(CUMULATIVE_REGRET, 40.0), (LAST_ROUND, 1.0), (MEAN_SO_FAR, 1.0)]
)
def test_a_row_has_mean_median_and_standard_error(monkeypatch, summary, value, tmp_path):
    study = Reproduction("made-up", "nobody", 3, 40, ("nothing",), partial(cells, summary=summary))
    monkeypatch.setattr(reproduce, "reproductions", lambda: [study])
    answer, curves = reproduce.reproduce("made-up", seed=1)
    first, second = answer["rows"]
    assert answer["measure"] == summary.name
    assert (first["value"], first["median"]) == (3 * value, 3 * value)  # levels 2, 3, 4
    assert first["standard_error"] == pytest.approx(value / np.sqrt(3), abs=0.01)
    assert ("regret" in first) == (summary is CUMULATIVE_REGRET)
    assert (first["published"], first["proved"], first["ratio_to_published"]) == (None, None, None)
    assert second["ratio_to_published"] == pytest.approx(second["value"] / 100, abs=1e-3)
    assert (second["seeds"], second["shape"]) == ([1, 2, 3], [3, 40])
    assert [curve.shape for curve in curves.values()] == [(3, 40), (3, 40)]
    lines = reproduce.table(answer).splitlines()
    assert lines[-1].startswith("two epsilon=0.5 ")
    assert "seeds [1, 2, 3]" in lines[-1]
    reproduce.write_out(tmp_path, answer, curves)
    assert summary.name in (tmp_path / "regret.svg").read_text()


@deep
@pytest.mark.parametrize("name", ["summary.json", "curves.csv", "regret.svg"])
def test_what_cannot_be_written_leaves_the_files_of_the_former_run(tmp_path, name):
    one = {"name": "one", "measure": "regret"}
    reproduce.write_out(tmp_path, one, {"a": np.ones((2, 9))})
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir() if each.is_file()}
    with pytest.raises(InputError, match="this is a folder"):
        reproduce.write_out(tmp_path, {**one, "name": "two"}, {"b": np.zeros((2, 9))})
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir() if each.is_file()} == before
