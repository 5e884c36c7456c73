"""Sums the visits on Beam, for `dpaccount release cities.toml --engine other --work work`."""

import json
import zlib
from pathlib import Path

import apache_beam as beam
import pyarrow as pa

import dpaccount  # noqa: F401  # makes the installed `audits` importable
from audits.sandbox.other_engines import begin

summer = begin(Path("cities.toml"))
names = ["patient", "age", "city", "minutes"]
schema = pa.schema(
    [("patient", pa.string()), ("age", pa.int64()), ("city", pa.string()), ("minutes", pa.float64())]
)


def part(rows):
    """Return the totals of a part's rows, which are dictionaries; in an order that only they decide."""
    ordered = sorted(rows, key=lambda row: [str(row[name]) for name in names])
    return summer.totals([pa.RecordBatch.from_pylist(ordered, schema)])


with beam.Pipeline() as pipeline:
    parts = (
        pipeline
        | beam.io.ReadFromParquet("/data/visits/*.parquet", columns=names)
        | beam.Map(lambda row: (zlib.crc32(str(row["patient"]).encode()) % 64, row))
        | beam.GroupByKey()
        | beam.MapTuple(lambda _, rows: json.dumps(part(rows)))
        | beam.io.WriteToText("parts", num_shards=1)
    )
lines = Path("parts-00000-of-00001").read_text(encoding="utf-8").splitlines()
summer.keep([json.loads(line) for line in lines], Path("work"))
