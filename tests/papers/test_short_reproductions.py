"""Every table and figure at a reduced size: finite cells of the asked size, and what private ones prove."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from papers import reproduce
from tests.depth import deep

TRIALS = 2
#: rounds where more take no longer; elsewhere 32, the least, as what is done before the first round takes most
ROUNDS = {"kharkovskii2020-figure2a": 50, "kharkovskii2020-figure2b": 128, "kharkovskii2020-figure2c": 128}
#: of so many cells one is run, where all take over a minute: with no divisor in common with their parameters
ONE_IN = {"dubey2021-table1-textbook": 5, "pavlovic2025-error": 7}
NAMES = [study.name for study in reproduce.reproductions()]


def asked(row):
    """Return the ε that a row is run at; None: it says none."""
    if row.get("log_epsilon") is not None:
        return math.exp(row["log_epsilon"])
    return row.get("alpha", row.get("epsilon"))


def size(row, rounds):
    """Return how many rounds a cell has: tables 7-9 of Kharkovskii et al. ask for twice as many rows."""
    return 2 * rounds if (row.get("table") or 0) > 6 else rounds


def of_dubey(answer, private):
    assert {row["published"] for row in answer["rows"]} == {None}  # the printed numbers are of 10 000 rounds
    for row in private:
        assert (row["algorithm"].endswith("published")) == (row["verdict"] is not None)
        assert row["verdict"] is None or row["verdict"]["claim"] == "dubey-lemma2"
        if "figure" in answer["name"] and row["verdict"] is None and "prior" not in row["algorithm"]:
            assert "public rehearsals" in row["because"]  # ours is what they chose,
            assert f"at most {TRIALS} of each" in row["because"]  # by as few as the trials
    if answer["name"] == "dubey2021-table1":
        functions = ("camelback", "styblinski-tang-20", "michalewicz-10")
        for algorithm in ("surface-gp-ucb published", "phased-posterior"):
            of_it = {(r["function"], r["alpha"]) for r in private if r["algorithm"] == algorithm}
            assert of_it == {(function, alpha) for function in functions for alpha in (10.0, 1.0, 0.1)}


def of_zhou(answer, private):
    for row in private:
        assert (row["proved"]["observer"], row["proved"]["delta"]) == ("local", 0)
        assert row["proved"]["epsilon"] == pytest.approx(row["epsilon"])
    for row in answer["rows"]:
        assert (row["published"], row["value"] > 0, row["random"] > 0) == (None, True, True)
        assert (row["proved"] is None) == (row["epsilon"] is None)
    sentences = 0 if answer["name"] == "zhou2020-lower-bound" else 8
    assert len(answer["sentences"]) == sentences
    assert "confirmed" in reproduce.table(answer) or not sentences


MORE = {"dubey2021": of_dubey, "zhou2020": of_zhou}


@deep
@pytest.mark.parametrize("name", NAMES)
def test_a_short_one_has_finite_cells_of_the_asked_size_and_proves_its_private_ones(
    name, tmp_path, monkeypatch
):
    study, rounds, kept, told = reproduce.find(name), ROUNDS.get(name, 32), [], []

    def cells(horizon, **given):
        kept.extend(study.cells(horizon, **given)[:: ONE_IN.get(name, 1)])
        return kept

    monkeypatch.setattr(reproduce, "find", lambda _: replace(study, cells=cells))
    answer, curves = reproduce.reproduce(name, trials=TRIALS, rounds=rounds, jobs=1, progress=told.append)
    rows = answer["rows"]
    assert (answer["trials"], answer["rounds"], answer["releasable"]) == (TRIALS, rounds, False)
    assert len(kept) == len(rows) == len(curves) > 0
    runs = TRIALS * len(rows)
    assert told[-1] == f"playing: {runs} of {runs} runs"
    for cell, row, curve in zip(kept, rows, curves.values(), strict=True):
        assert curve.shape == (TRIALS, size(row, rounds))
        assert np.isfinite(curve).all()
        assert all(math.isfinite(row[key]) for key in ("value", "median", "standard_error"))
        assert (row["proved"] is None) == (cell.subject is None)
        assert row["proved"] is None or "not private" not in row["algorithm"]
    private = [row for row in rows if row["proved"] is not None]
    assert private
    for row in private:
        proved = row["proved"]
        assert proved["checked"]
        assert proved["steps"] > 0
        assert proved["digest"].startswith("sha256:")
        assert math.isfinite(proved["epsilon"])
        # What the paper calibrates is proved at what it costs; ours at no more than was asked for.
        if row["verdict"] is None and asked(row) is not None:
            assert proved["epsilon"] <= asked(row) * (1 + 1e-12)
    MORE.get(name.split("-")[0], lambda *_: None)(answer, private)
    reproduce.write_out(tmp_path, answer, curves)
    assert json.loads((tmp_path / "summary.json").read_text())["rows"] == rows
    assert (tmp_path / "regret.svg").read_text().lstrip().startswith("<?xml")
    assert reproduce.table(answer).count("\n") > len(rows)
