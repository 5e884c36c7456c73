"""OpenDP 0.16.0: queries of 1,024 numbers, the predictions of pairs, and counts per user."""

import warnings

import numpy as np
import opendp.prelude as dp
import polars as pl
from opendp.extras.sklearn.linear_model._make_private_theil_sen import make_pairwise_predict

dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")
warnings.simplefilter("ignore")

LOW = 2.0**50
SIZED = dp.vector_domain(dp.atom_domain(bounds=(LOW, LOW + 1), nan=False), size=1024)
DEVIATIONS = dp.t.make_sum_of_squared_deviations(SIZED, dp.symmetric_distance())  # map(2) is 40.6009
SUM = dp.t.make_sum(SIZED, dp.symmetric_distance())  # map(2) is 5121.0000
PAIRS = make_pairwise_predict(np.array([25.0, 75.0]), runs=1)  # map(1) is 1
COUNTS = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
NOISE = dp.m.make_laplace(*COUNTS, scale=1.0)


def squared_deviations(data):
    return DEVIATIONS(data.tolist())


def sized_sum(data):
    return SUM(data.tolist())


def predictions_of_pairs(data):
    predicted = PAIRS(data)[:, 0]
    return NOISE([int((predicted <= 50).sum()), int((predicted > 50).sum())])


def rows_on_two_sides(data):
    return NOISE([int((data[:, 1] <= 50).sum()), int((data[:, 1] > 50).sum())])


def _counts(keys, **columns):
    """Return counts by `g`, of at most four groups of a user, a row in each; the noise has variance 4."""
    named = {"id": pl.Int64, "g": pl.Int64}
    one_each = pl.int_range(pl.len()).over("id", "g") < 1
    at_most_four = pl.struct("g").rank("dense").over("id") < 5
    table = pl.LazyFrame(schema=named).filter(one_each).filter(at_most_four).with_columns(**columns)
    counts = table.group_by("g").agg(dp.len(scale=2.0))
    domain = dp.lazyframe_domain([dp.series_domain(name, dp.atom_domain(T="i64")) for name in named])
    return dp.m.make_private_lazyframe(
        domain,
        dp.symmetric_id_distance(identifier=pl.col("id")),
        dp.zero_concentrated_divergence(),
        pl.LazyFrame({"g": keys}).join(counts, on="g", how="left"),
    )


MERGED = _counts([0], g=pl.lit(0, dtype=pl.Int64))  # map(1) is 0.125
BY_GROUP = _counts([0, 1, 2, 3])  # map(1) is 0.5


def _released(measurement, data):
    """Release counts of the data and of one public user with a row in each group: never of no row."""
    public = {"id": [-1] * 4, "g": [0, 1, 2, 3]}
    users = np.unique(np.asarray(data["id"]), return_inverse=True)[1]
    columns = {"id": [*public["id"], *users], "g": [*public["g"], *data["g"]]}
    frame = pl.LazyFrame(columns, schema={"id": pl.Int64, "g": pl.Int64})
    return measurement(frame).collect().sort("g")["len"].to_list()


def merged_groups(data):
    return _released(MERGED, data)


def separate_groups(data):
    return _released(BY_GROUP, data)
