"""What is said of every option that `dpaccount subjects NAME` lists, for subjects whose rows make no session.

By name: who observes, what keeps a run small, and what is changed in each run.  Of an option that names one
of several things every name stands in some run.
"""

import json
from dataclasses import dataclass, field
from typing import Any

Said = dict[str, Any]


def toml(value: Any) -> str:
    """Return a value as TOML writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + "}"
    return json.dumps(value)


ROWS, REMOVED = {"rows": 6}, {"relation": "add-remove"}
UNIT_BOX, STREAM = {"low": 0, "high": 1, **ROWS}, {"rounds": 6}
MOVED = {"unit": 0.5}  # a claim says it as the radius of its relation


@dataclass(frozen=True)
class Runs:
    """A model, what every run says, and what each run says beside it."""

    model: str
    small: Said
    runs: list[Said]
    unproved: list[Said] = field(default_factory=list)  #: what is refused, for want of a proof
    certified: Said = field(default_factory=dict)  #: said instead of `small` where a run is played many times


def _central(small: Said, *runs: Said) -> Runs:
    return Runs("central", small, list(runs))


def _stream(**more: Any) -> Runs:
    return _central(STREAM, {"sigma": 5, "radius": 2, "columns": 2, "bits": 12, "rounds": 5, **more})


def _counted(**more: Any) -> Runs:
    laws = ({"law": "laplace", "scale": 3}, {"law": "gaussian", "scale": 4, "rows": 3, **REMOVED, **more})
    return _central(ROWS, *laws)


MECHANISMS = {
    "banded-toeplitz": _stream(band=2),
    "binary-tree": _stream(),
    "buffered-toeplitz": _stream(buffers=2),
    "cell-points": _central(
        {"low": 0, "high": 1, **ROWS},
        {"epsilon": 2, "rows": 5, "columns": 3, "bins": 3, "low": -1, "high": 2},
    ),
    "clipped-mean": _central(
        UNIT_BOX, {"scale": 3, "count_scale": 4, "low": -1, "high": 2, "rows": 5, "bits": 10, **REMOVED}
    ),
    "count": _counted(),
    "count-by-group": _counted(cells=3),
    "exponential": _central(ROWS, {"rate": 0.25, "candidates": 3, "limit": 2, "rows": 5, **REMOVED}),
    "fixed-map": _central(
        ROWS, {"sigma": 4, "radius": 2, "rows": 5, "columns": 2, "dimension": 3, "seed": 7, "bits": 10}, MOVED
    ),
    "gaussian-rows": _central(ROWS, {"sigma": 4, "radius": 2, "rows": 5, "columns": 2, "bits": 10}, MOVED),
    "gaussian-sum": _central(ROWS, {"sigma": 4, "radius": 2, "rows": 5, "columns": 2, "bits": 10, **REMOVED}),
    "histogram": _central(ROWS, {"sigma": 3, "cells": 3, "rows": 5, "threshold": 2, **REMOVED}),
    "honaker-tree": _stream(),
    "joint-gaussian": _central(ROWS, {"sigma": 5, "reward": 2, "rows": 5, "columns": 2, "ratio": 0.5}),
    "k-norm": _central(ROWS, {"rate": 0.25, "radius": 2, "rows": 5, "columns": 3, "bits": 4}, MOVED),
    "laplace-sum": _central(UNIT_BOX, {"scale": 3, "low": -1, "high": 2, "rows": 5, "bits": 10, **REMOVED}),
    "laplace-vector": _central(
        UNIT_BOX, {"scale": 5, "low": -1, "high": 2, "rows": 5, "columns": 2, "bits": 10, **REMOVED}
    ),
    "linear-queries": _central(
        ROWS,
        *({"workload": each} for each in ("prefix", "ranges", "dyadic")),
        {"sigma": 9, "cells": 3, "rows": 5, **REMOVED},
    ),
    "local-mean": Runs(
        "local",
        {"low": -1, "high": 1, **ROWS},
        [
            {"channel": "duchi", "epsilon": 2},
            {"channel": "piecewise", "low": -2, "high": 3},
            {"channel": "hybrid", "steps": 4, "rows": 5},
        ],
    ),
    "optimal-factor": _stream(),
    "permute-and-flip": _central(ROWS, {"rate": 0.25, "candidates": 3, "limit": 2, "rows": 5, **REMOVED}),
    "projection": _central(
        ROWS, {"sigma": 9, "radius": 2, "rows": 5, "columns": 4, "dimension": 3, "bits": 10}
    ),
    "quantile": _central(
        UNIT_BOX, {"rate": 0.25, "rank": 0.75, "low": -1, "high": 2, "candidates": 5, "rows": 5, "bits": 1}
    ),
    "quantiles": _central(
        UNIT_BOX,
        {"law": "laplace", "scale": 9, "ranks": "1/3, 2/3", "low": -1, "high": 2},
        {"law": "gaussian", "levels": 2, "rows": 5, **REMOVED},
    ),
    "randomised-response": Runs("local", ROWS, [{"epsilon": 2, "cells": 3, "rows": 5}]),
    "restarting-tree": _stream(),
    "row-sketch": _central(
        ROWS,
        {"sigma": 5, "radius": 2, "rows": 5, "columns": 2, "dimension": 4, "stretch": 3, "bits": 10},
        MOVED,
    ),
    "second-moments": _central(
        UNIT_BOX,
        {"sigma": 9, "low": -1, "high": 2, "columns": 2, "ridge": 0.5, "rows": 5, **REMOVED},
        {"bounds": "0 1; -1 1; 0 2"},
    ),
    "sparse-vector": _central(
        ROWS,
        {"threshold": 2, "threshold_scale": 5, "scale": 12, "limit": 1, "questions": 4, "rows": 5, **REMOVED},
    ),
    "sqrt-toeplitz": _stream(),
    "stable-histogram": _central(
        ROWS | REMOVED,
        {"scale": 2, "threshold": 40, "cells": 4, "keys": 2, "rows": 5},
        {"relation": "replace-one", "text": 9, "threshold": 40},
    ),
    "symmetric-gaussian": _central(ROWS, {"sigma": 5, "reward": 2, "rows": 5, "columns": 2}),
    "variance": _central(UNIT_BOX, {"sigma": 9, "low": -1, "high": 2, "steps": 16, "rows": 5, **REMOVED}),
}

FEW = {"rounds": 8}
LOCAL = {"rounds": 90, "points": 6, "bound": 2, "noise_bound": 1}
CHANNELS = ("duchi", "piecewise", "hybrid", "laplace")
OWN = {"box": {"dose": {"low": 0, "high": 9, "points": 3, "unit": "mg"}, "kind": {"values": ["A", "B"]}}}
PRODUCTS = tuple(f"product-matern-{half}" for half in ("1/2", "3/2", "5/2"))
POINTS = [
    {"space": OWN},
    *({"kernel": each, "lengthscale": 0.6} for each in ("matern-1/2", "matern-3/2", *PRODUCTS)),
    {"kernel": "squared-exponential", "epsilon": 2, "points": 5, "lengthscale": 0.4},
    {"rounds": 9},
    {"kernel": "matern-5/2", "lengthscale": 0.6},
    {"bound": 3, "noise_bound": 2},
    {"kernel": "delays-by-hour", "points": 41},
    {"kernel": "delays-by-carrier", "points": 29, "epsilon": 9},
]
UNPROTECTED = {"privacy": "none"}  # for comparisons that `reproduce` makes: nothing is proved of it


def _local(
    *runs: Said, channels: tuple[str, ...] = CHANNELS, unproved: tuple[Said, ...] = (), **more: Any
) -> Runs:
    kinds = [*POINTS, *({"channel": each} for each in channels), {"privacy": "local"}]
    return Runs("local", LOCAL | more, [*kinds, *runs], [UNPROTECTED | each for each in ({}, *unproved)], FEW)


PUBLISHED = (
    {"constants": "theory"},
    {"channel": "laplace", "epsilon": 20, "noise_moment": 8, "constants": "practical"},
)
HEAVY, TAIL = {"order": 0.5, "noise_moment": 3}, {"tail_power": 1, "tail_scale": 2}
BOX = {"rounds": 12, "actions": 3, "contexts": 3}
AXIS = {"low": 0, "high": 9, "points": 3}
PREDICTED = [
    {"space": {"box": {"dose": AXIS}, "contexts": {"box": {"age": AXIS}}}},
    {"rounds": 10, "actions": 4, "contexts": 5, "lengthscale": 0.4, "bound": 2, "epsilon": 2},
    *({"kernel": f"matern-{half}"} for half in ("1/2", "3/2", "5/2")),
    {"kernel": "squared-exponential"},
]
RULES = (
    {"rule": "exponential", "predictions": 2, "epsilon": 1, "delta": 0.001},
    {"rule": "permute-and-flip"},
)
BANDITS = {
    "function-release": Runs(
        "joint",
        BOX | {"served": 2, "phases": 2},
        [
            *PREDICTED,
            {"served": 3, "phases": 3, "law": "gaussian", "delta": 0.001},
            {"law": "k-norm"},
            {"sigma": 9},
        ],
    ),
    "ldp-ata-gp-ucb": _local(*PUBLISHED, unproved=(HEAVY,)),
    "ldp-ctl-gp-ucb": _local({"width": 0.5}, {"rewards_within": 2}, channels=("laplace",), rewards_within=3),
    "ldp-gp-ucb": _local({"width": 0.5}),
    "ldp-moma-gp-ucb": _local(
        *PUBLISHED[1:],
        {"constants": "theory", "rounds": 400, "points": 3},
        {"users": "new", "people": 2},
        {"users": "same"},
        unproved=(HEAVY,),
    ),
    "ldp-tgp-ucb": _local(*PUBLISHED, unproved=(HEAVY, TAIL)),
    "local-posterior": _local({"explore": 0.3, "keep": 2}, {"kernel": "learned"}),
    "policy-value": _central(
        {"rows": 6, "cap": 4, "delta": 0.001},
        {"rows": 5, "cap": 2, "epsilon": 2, "delta": 0.01},
        {"model": True},
        {"sigma": 90},
    ),
    "range-predictor": _central(BOX, *PREDICTED, *RULES),
    "usca": _central(
        BOX,
        *PREDICTED,
        *RULES,
        {"tau": "noise-variance", "noise_variance": 0.3},
        {"tau": "public"},
        {"gamma": 40},
    ),
}

#: on a table; fields of these subjects follow from its columns, and from what is said of them
OFFERS = [["a", "b", 0.5], ["b", "c", 0.25], ["a", "c", 0.25]]
THREE = {"arms": ("a", "b", "c")}
TRIALS = {
    "arm-means": [
        {"arms": ("a", "b", "c"), "logging": [0.5, 0.25, 0.25], "rows": 30},
        {"strata": "new", "reward": "share", "relation": "add-remove"},
        {"logging": "chance", "epsilon": 2, "context": "new"},
    ],
    "logged-policy": [
        THREE | {"logging": [0.375, 0.375, 0.25], "offers": OFFERS, "rows": 50},
        {"context": "new", "reward": "share", "prior": "positions", "positions": [0, 1]},
        {"logging": "chance", "epsilon": 2, "batch": 5, "batches": 4},
    ],
}
