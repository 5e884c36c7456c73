"""Benchmarks: what can be tested without a network and without peers, and the pages that they make."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from benchmarks import book, growth, scale, tables
from tests.depth import deep

STAND_IN = {  # the parts of StatDP's interface that are used, with a rule that is plain to check
    "statdp/__init__.py": "",
    "statdp/core.py": """
def run_algorithm(algorithm, d1, d2, kwargs, event, total_iterations):
    algorithm(None, d1)
    cuts = [0.0, 0.5] if event is None else [event]
    seen = [[algorithm(None, d) for _ in range(total_iterations)] for d in (d1, d2)]
    counts = [tuple(sum(x < cut for x in each) for each in seen) for cut in cuts]
    return [tuple(sorted(pair, reverse=True)) for pair in counts], [(d1, d2, kwargs, cut) for cut in cuts]
""",
    "statdp/hypotest.py": """
def test_statistics(cx, cy, epsilon, iterations):
    return 0.0 if cx > 2.718 ** epsilon * cy + 4 * (cx + 1) ** 0.5 else 1.0
""",
}


@pytest.fixture
def judged(root, tmp_path):
    for name, text in STAND_IN.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    rng = np.random.default_rng(1)
    for n in (4, 4000):
        np.savez(tmp_path / f"{n}.npz", left=rng.laplace(0, 1, (n, 1)), right=rng.laplace(1, 1, (n, 1)))

    def run(epsilon):
        script = root / "benchmarks" / "audit_peers.py"
        words = [
            sys.executable,
            script,
            "judge",
            str(epsilon),
            "0",
            tmp_path / "4.npz",
            tmp_path / "4000.npz",
        ]
        alone = {**os.environ, "PYTHONPATH": str(tmp_path)}
        done = subprocess.run(words, capture_output=True, text=True, check=True, env=alone)
        return json.loads(done.stdout)

    return run


@deep
def test_testers_judge_the_samples_that_they_are_given_or_say_why_not(judged):
    found = judged(0.3)
    assert found["StatDP"] == 1  # by the larger sample
    assert judged(1.5)["StatDP"] is None
    assert found["hockey-stick"] == "ModuleNotFoundError: No module named 'dp_auditorium'"


# ------------------------------------------------------------------ the book and its pages

ROW = {"what": "w", "value": 2.0, "unit": "s", "beside": "b", "floor": 4.0, "note": "n"}
PART = {"load": 0.5, "seconds": 3, "processor": 2}


def test_the_pages_are_what_their_figures_make(root):
    """Nobody edits them: `make bench` and `make scale` write both."""
    for name, module in (("benchmarks", book), ("scale", scale)):
        measured = json.loads((root / "docs" / f"{name}.json").read_text())
        assert (root / "docs" / f"{name}.md").read_text() == module.page(measured), f"run: make {name}"
        parts, every = (
            (measured["parts"], book.PARTS) if module is book else (measured["dimensions"], scale.DIMENSIONS)
        )
        assert list(parts) == list(every)
    for name, each in scale.DIMENSIONS.items():
        assert [point["size"] for point in parts[name]["points"]] == list(each.sizes)


def test_a_row_that_was_not_measured_is_told_and_in_no_table():
    rows = [ROW, {**ROW, "what": "x", "floor": None, "note": "no --peers"}]
    text = book.page({"machine": {}, "long": False, "parts": {"noise": {**PART, "rows": rows}}})
    assert "| b | s | 1 | 0.5 | w |" in text
    assert "| x |" not in text
    assert "Not measured: b in 1 rows: no --peers." in text


def test_rows_with_one_peer_and_unit_are_summed_up_without_hiding_the_worst():
    rows = [ROW, {**ROW, "what": "slow", "value": 12.0}, {**ROW, "unit": "MB"}, {**ROW, "beside": "c"}]
    text = book.page({"machine": {}, "long": False, "parts": {"noise": {**PART, "rows": rows}}})
    assert "| b | s | 2 | 0.5 to 3 | slow |" in text
    assert "| b | MB | 1 | 0.5 | w |" in text
    assert "| c | s | 1 | 0.5 | w |" in text


def test_exponents_are_those_of_the_last_decade():
    points = [{"size": n, "seconds": 3e-6 * n**1.5, "megabytes": 1} for n in (10, 100, 1000)]
    assert scale.exponent(points) == pytest.approx(1.5)


def test_a_size_beyond_follows_the_power_of_the_last_four():
    points = [{"size": n, "seconds": 9 if n == 1 else 2e-6 * n**1.1} for n in (1, 10, 10**3, 10**4, 10**5)]
    assert scale.extrapolated(points, 10**7) == pytest.approx(2e-6 * 10**7.7)


def test_totals_of_another_table_end_the_benchmark():
    tables.check("[[1024, 3072], 20]", [1, 3])
    for other in ("[[1024, 3073], 20]", "[[1024], 20]", "[[1024, 3072], 19]", "[[3072, 1024], 20]"):
        with pytest.raises(SystemExit, match="not those of the other program"):
            tables.check(other, [1, 3])


@deep
def test_totals_of_every_way_are_those_of_the_other_program(tmp_path, monkeypatch):
    assert set(tables.measured(20_000, 1, tmp_path)) == {name for name, *_ in tables.WAYS}
    monkeypatch.setattr(tables, "MOST", 4)  # the other program counts one row more of each person
    with pytest.raises(SystemExit, match="not those of the other program"):
        tables.measured(20_000, 1, tmp_path)


def test_every_dimension_spans_three_decades():
    assert all(each.sizes[-1] >= 1000 * each.sizes[0] for each in scale.DIMENSIONS.values())


def test_a_part_that_fails_is_named_and_leaves_the_others(tmp_path, monkeypatch, capsys):
    def measured(part, setting):
        if part == "noise":
            raise subprocess.CalledProcessError(1, "noise")
        return {**PART, "rows": [ROW]}

    monkeypatch.setattr(book, "measured", measured)
    monkeypatch.setattr(book, "drawn", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["book", "--only", "noise", "tables", "--out", str(tmp_path / "b.json")])
    assert book.main() == 1
    assert "failed: noise" in capsys.readouterr().err
    assert list(json.loads((tmp_path / "b.json").read_text())["parts"]) == ["tables"]
    assert {
        line.split(" | ")[0] for line in (tmp_path / "b.md").read_text().splitlines() if line[:2] == "| "
    } - {"| "} == {"| part", "| Tables"}


def test_growth_is_that_of_the_last_two_decades():
    linear = {10**k: 10.0 ** (k - 3) for k in range(6)}
    assert growth.exponent(linear) == pytest.approx(1)
    assert growth.exponent(dict.fromkeys(range(1, 4), 10.0) | linear) == pytest.approx(1)
    assert growth.exponent({1: 5.0, 10**6: 0.001}) is None
    for name, (sizes, _) in growth.PLANS.items():
        seconds, megabytes, width = growth.measured(name, sizes[0])
        assert seconds < 5
        assert megabytes > 10
        assert width < 1e-6
