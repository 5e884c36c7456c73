"""Results of a Spark job on two tables that differ in one person, for `dpaccount audit-samples`."""

import random

import pandas
from pyspark.sql import SparkSession, functions

spark = SparkSession.builder.getOrCreate()


def noisy_sum(rows):
    """Return a noisy total: the job under audit."""
    total = rows.agg(functions.sum("x")).first()[0]
    noise = random.choice([-1, 1]) * random.expovariate(1 / 3)  # noqa: S311  # under audit, not released
    return round(total + noise, 3)


for side in ("left", "right"):
    table = spark.read.csv(f"{side}-table.csv", header=True, inferSchema=True).cache()
    pandas.DataFrame({"x": [noisy_sum(table) for _ in range(1000)]}).to_parquet(f"{side}.parquet")
