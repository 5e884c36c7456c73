"""Every option that `dpaccount subjects NAME` lists of the kernel bandits is run through the command line."""

import json
import subprocess
import sys

import numpy as np
import pytest

from audits.subjects.catalogue import listed
from bandits.learning import features
from tests.audits.cli.subject_runs import toml
from tests.bandits.subject_runs import OWN, PRODUCTS
from tests.depth import deep
from tests.looped import looped

HEAD = """
schema = "dpaccount/claim/1"
name = "people"
[guarantee]
model = "{model}"
unit = "person"
relation = "replace-one"
epsilon = 1.0
delta = 1e-6
[subject]
use = "{name}"
[subject.parameters]
"""
SMALL = {"rounds": 8, "candidates": 2, "nodes_per_axis": 2}
MOMENTS = SMALL | {"size": 3}
LINE = {"dimension": 1, "candidates": 3}
KERNELS = [
    {"kernel": "squared-exponential", "basis": "quadrature", "nodes": "corollary-1", **LINE},
    {"kernel": "matern-1/2", "basis": "nystrom", "lengthscale": 0.5},
    {"kernel": "matern-3/2", "basis": "random-fourier", "nodes_per_axis": 3},
    {"kernel": "matern-5/2", "basis": "chosen", "nodes": "given"},
    {"kernel": "additive", "nodes": "remark-3"},
    {"kernel": "polynomial"},
    {"kernel": "linear"},
    {"kernel": "squared-exponential", "basis": "cells", "nodes_per_axis": 2},
    *({"kernel": each} for each in PRODUCTS),
    {
        "space": {"box": {"dose": {"low": -1, "high": 1, "points": 2}}},
        "dimension": 1,
        "kernel": "squared-exponential",
    },
]
SURFACES = ("styblinski-tang-20", "michalewicz-10", "styblinski-tang-20-textbook", "michalewicz-10-textbook")
TARGET = {"epsilon": 0.5, "delta": 0.01}

#: name: (model of the claim, what is small, what is changed in each run)
RUNS = {
    "moment-gp-ucb": (
        *("joint", MOMENTS),
        [
            *KERNELS,
            *({"stream": s} for s in ("tree", "honaker", "sqrt-toeplitz", "buffered-toeplitz", "separate")),
            {"refresh": 3, "growth": 0.5, "width": 0.2, "rounds": 9, **TARGET},
            {"sigma": 7, "size": 4, "nodes": "corollary-1"},
            {"prior": "estimated"},
            {"delays": True},
        ],
    ),
    "phased-gp-ucb": (
        *("joint", MOMENTS),
        [
            *KERNELS,
            {"rounds": 60, **TARGET},
            {"sigma": 3, "size": 2},
            {"delays": True, "answering": 0.5, "late": 3, "base": 0.2},
        ],
    ),
    "jdp-gp-ucb": (
        *("joint", SMALL),
        [
            *KERNELS,
            {"stream": "tree", "refresh": 2, "growth": 0.5, **TARGET},
            {"stream": "honaker", "shift": 1, "width": 0.3333333333333333, "rounds": 6},
            {"calibration": "published", "confidence": "theorem-1", "epsilon": 10, "delta": 0.1},
            {"calibration": "exact", "confidence": "constant", "sigma": 4},
        ],
    ),
    "doubling-gp-ucb": (
        *("joint", SMALL),
        [
            *KERNELS,
            {"mode": "restart", **TARGET},
            {"mode": "carry", "sigma": 5, "shift": 3, "width": 0, "rounds": 9},
        ],
    ),
    "phased-regression": (
        *("joint", SMALL),
        [
            *KERNELS,
            {"first": 2, "per_learner": 1, "rounds": 9, **TARGET},
            {"norm": 2, "sigma": 3},
        ],
    ),
    "phased-cells": (
        *("joint", {"rounds": 24, "candidates": 3}),
        [
            {"rounds": 40, "epsilon": 2, "delta": 0.1},
            {"delays": True, "answering": 0.5, "late": 3},
            {"space": {"box": {"dose": {"low": -1, "high": 1, "points": 3}}}, "dimension": 1},
        ],
    ),
    "local-gp-ucb": (
        *("local", SMALL),
        [
            *KERNELS,
            {"calibration": "published", "refresh": 2, **TARGET},
            {"calibration": "exact", "sigma": 30, "shift": 2, "width": 1, "rounds": 5},
        ],
    ),
    "arm-phases": (
        *("central", {"rounds": 60, "arms": 3}),
        [
            {"law": "laplace", "epsilon": 2, "delta": 0, "block": 5, "index": "imed"},
            {"index": "thompson", "memory": 20, "delays": True},
            {"index": "thompson", "counts": 0.1},
            {"index": "top-two", "level": 0.9},
            {"index": "adversarial", "block": 4},
            {"space": OWN, "arms": 6, "index": "elimination"},
            {"space": OWN, "arms": 6, "belief": "linear"},
            {"space": OWN, "arms": 6, "belief": "mixed"},
            {"belief": "apart", "law": "shuffled", "delta": 1e-3},
            {"law": "gaussian", "sigma": 3, "arms": 4, "rounds": 70, "delta": 1e-6},
        ],
    ),
    "phased-posterior": (
        *("central", {"rounds": 40}),
        [
            {"surface": "camelback", "stream": "separate", "kernel": "matern-5/2"},
            {"surface": "michalewicz-10", "stream": "correlated", "sigma": 0.5, "reward_noise": "estimated"},
            {"stream": "chosen", "kernel": "squared-exponential", "rounds": 50, **TARGET},
            *({"surface": each} for each in SURFACES),
            *({"kernel": each} for each in ("matern-1/2", "matern-3/2", *PRODUCTS)),
            {"space": OWN},
        ],
    ),
    "surface-gp-ucb": (
        *("central", {"rounds": 12, "batch": 3, "error": 0.5}),
        [
            {"surface": "camelback", "basis": "eigen", "kernel": "matern-3/2", "width": 1, **TARGET},
            {"basis": "quadrature", "nodes_per_axis": 12, "error": 0.2, "sigma": 2},
            {"calibration": "published", "rounds": 10, "batch": 5, "kernel": "squared-exponential"},
            {"calibration": "exact"},
            *({"surface": each} for each in SURFACES),
            *({"kernel": each} for each in ("matern-1/2", "matern-5/2", *PRODUCTS)),
            {"space": OWN},
        ],
    ),
}
CASES = [(name, changed) for name, (_, _, runs) in RUNS.items() for changed in runs]


@pytest.mark.parametrize(("name", "changed"), CASES, ids=lambda each: each if isinstance(each, str) else "")
@deep
def test_a_rehearsal_serves_people_with_these_options(dpaccount, tmp_path, name, changed):
    model, small, _ = RUNS[name]
    claim = tmp_path / "claim.toml"
    given = small | changed
    claim.write_text(
        HEAD.format(model=model, name=name) + "".join(f"{key} = {toml(v)}\n" for key, v in given.items())
    )
    points = np.linspace(-1, 1, given.get("candidates", 1) * given.get("dimension", 2))
    (tmp_path / "one.json").write_text(json.dumps(points.reshape(-1, given.get("dimension", 2)).tolist()))
    context = ["--context", "one.json"] if model == "joint" else []
    common = ["--state", "people.state", "--rehearse", 1, "--json"]
    for slot in (1, 2):
        code, out, err = dpaccount("ask", claim, *common, *context)
        assert code == 0, err
        assert json.loads(out)["ticket"] == slot
        if model != "local":  # there a device answers, by a message of its own, or by a bit that is shuffled
            code, out, err = dpaccount("tell", claim, slot, 1, *common)
            assert code == (2 if given.get("law") == "shuffled" else 0), err
    code, out, err = dpaccount("ask", claim, *common, "--end")
    assert code == 0, err


@looped("name", RUNS)
def test_no_option_is_left_out(name):
    """What the command lists is changed in a run above; of contextual features, every kernel and basis."""
    _, small, runs = RUNS[name]
    assert set().union(small, *runs) == set(listed(name)["parameters"])
    assert {run["kernel"] for run in KERNELS} == set(features.MAP_KERNELS)
    assert {run["basis"] for run in KERNELS if "basis" in run} == set(features.BASES)


@deep
def test_to_be_served_nobody_waits_for_scipy(tmp_path):
    """The first person of a bandit whose releases need it, in a process of their own."""
    text = HEAD.format(model="joint", name="phased-gp-ucb")
    (tmp_path / "claim.toml").write_text(text + "".join(f"{k} = {v}\n" for k, v in MOMENTS.items()))
    (tmp_path / "one.json").write_text("[[0, 0], [1, 1]]")
    run = ["ask", "claim.toml", "--state", "people.state", "--rehearse", "1", "--context", "one.json"]
    code = (
        f"import sys\nfrom audits import cli\nassert cli.run({run}) == 0\n"
        "assert not {'scipy.linalg', 'numpy.ma'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
