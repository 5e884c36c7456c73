"""What is said of every option of a bandit whose rows make no session, or whose fields follow from a table."""

from typing import Any

from tests.audits.cli.subject_runs import MOVED, ROWS, Runs, Said, central

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
    "fixed-map": central(
        ROWS, {"sigma": 4, "radius": 2, "rows": 5, "columns": 2, "dimension": 3, "seed": 7, "bits": 10}, MOVED
    ),
    "projection": central(
        ROWS, {"sigma": 9, "radius": 2, "rows": 5, "columns": 4, "dimension": 3, "bits": 10}
    ),
    "context-histogram": Runs(
        "joint",
        {"rounds": 24, "actions": 3, "contexts": 3},
        [
            PREDICTED[0],
            {"rounds": 20, "actions": 4, "contexts": 5, "epsilon": 2},
            {"lowest": -1, "highest": 2, "delays": True, "dimension": 1},
        ],
    ),
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
    "ldp-moma-gp-ucb": _local(
        *PUBLISHED[1:],
        {"constants": "theory", "rounds": 400, "points": 3},
        {"users": "new", "people": 2},
        {"users": "same"},
        unproved=(HEAVY,),
    ),
    "ldp-tgp-ucb": _local(*PUBLISHED, unproved=(HEAVY, TAIL)),
    "local-posterior": _local({"explore": 0.3, "keep": 2}, {"kernel": "learned"}),
    "policy-value": central(
        {"rows": 6, "cap": 4, "delta": 0.001},
        {"rows": 5, "cap": 2, "epsilon": 2, "delta": 0.01},
        {"model": True},
        {"sigma": 90},
    ),
    "usca": central(
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
