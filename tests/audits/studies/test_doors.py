"""The same table through every door, in any order of rows, has the same totals: of text, typed, and in a database."""

import csv
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, timedelta
from random import Random

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from audits.claim import read_claim
from audits.sandbox.other_engines import PartSummer
from audits.sandbox.private_data import on_disk
from audits.sandbox.table_parts import digests_of, summed_query
from audits.studies.frame import as_file
from audits.subjects.catalogue import BoundClaim, subject_of
from mechanisms.table.persons import SECRET_BYTES
from mechanisms.table.reading import files_of
from mechanisms.table.totals import TablePart
from tests.depth import parts
from tests.dpaccount.ledger.postgres import PostgresServer

STUDY = """
schema = "dpaccount/study/2"
name = "visits"
guarantee = {{ unit = "one patient", relation = "{relation}", epsilon = 9, delta = 1e-6 }}
[data]
file = "{file}"
ledger = "sqlite:///v.db"
unit_column = "patient"
max_units = {units}
max_contributions = {most}
[data.columns]
ward = {{ type = "category", values = ["n", "2.5", "it's"]{ward} }}
code = {{ type = "category", values = ["1", "2", "30"], other = true }}
cost = {{ type = "number", low = -3, high = 20{cost} }}
age = {{ type = "integer", low = 0, high = 9 }}
seen = {{ type = "boolean" }}
day = {{ type = "date", low = "2024-01-01", high = "2024-12-31" }}
[data.derived]
late = "coalesce(age, 3) * cost"
"""
STATISTICS = """
statistic = [
  { name = "n", what = "count", by = ["ward", "seen"] },
  { name = "codes", what = "histogram", column = "code", where = "not cost > 4" },
  { name = "cost", what = "mean", column = "cost", by = ["ward"] },
  { name = "median", what = "median", column = "late", where = "day >= '2024-06-01' or seen" },
  { name = "unknown", what = "count", where = "day is null or age is null" },
  { name = "rate", what = "ratio", column = "cost", per = "age" },
]
"""
KINDS = {
    **{"patient": "BIGINT", "ward": "VARCHAR", "code": "INTEGER", "cost": "DOUBLE", "age": "INTEGER"},
    **{"seen": "BOOLEAN", "day": "DATE"},
}
ARROW = {"BIGINT": pa.int64(), "VARCHAR": pa.string(), "INTEGER": pa.int32(), "DOUBLE": pa.float64()}
ARROW |= {"BOOLEAN": pa.bool_(), "DATE": pa.date32()}
SECRET = bytes(SECRET_BYTES)


def rows_of(rng):
    """Return random rows; a fifth of the cells are missing, but for identities."""
    make = [
        lambda: rng.choice(["n", "2.5", "2.50", "it's", "other", " n "]),
        lambda: rng.choice([1, 2, 30, 7]),
        lambda: rng.choice([-4.0, 0.1, 2.5, 1e9, -0.0, 20.0]),
        lambda: rng.randint(-1, 11),
        lambda: rng.random() < 0.5,
        lambda: date(2023, 12, 1) + timedelta(days=rng.randint(0, 420)),
    ]
    people = range(rng.randint(1, 9))
    return [
        (person, *(None if rng.random() < 0.2 else one() for one in make))
        for person in people
        for _ in range(rng.randint(1, 6))
    ]


def typed(rows):
    arrays = [
        pa.array(cells, ARROW[kind])
        for cells, kind in zip(zip(*rows, strict=True), KINDS.values(), strict=True)
    ]
    return pa.table(arrays, list(KINDS))


def as_csv(rows, path):
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(KINDS)
        lines.writerows(rows)


def as_database(rows, path):
    with duckdb.connect(str(path)) as database:
        columns = ", ".join(f"{name} {kind}" for name, kind in KINDS.items())
        database.execute(f"CREATE TABLE visits ({columns})")
        database.executemany(f"INSERT INTO visits VALUES ({', '.join('?' * len(KINDS))})", rows)


DOORS = {
    "visits.csv": as_csv,
    "visits.parquet": lambda rows, path: parquet.write_table(typed(rows), path, row_group_size=3),
    "visits.arrow": lambda rows, path: feather.write_feather(typed(rows), path, chunksize=2),
    "duckdb:///visits.duckdb#visits": lambda rows, path: as_database(rows, path.with_name("visits.duckdb")),
}
FRAMES = {
    "pandas": lambda rows: pd.DataFrame(rows, columns=list(KINDS)).convert_dtypes(),
    "pandas of arrow": lambda rows: typed(rows).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda rows: pl.from_arrow(typed(rows)),
    "pyarrow": typed,
}


@pytest.fixture(scope="module")
def postgres():
    server = PostgresServer()
    yield server.url().partition("?")[0]
    server.remove()


def in_postgresql(rows, address):
    with psycopg.connect(address, autocommit=True) as database, database.cursor() as cursor:
        kinds = KINDS | {"cost": "DOUBLE PRECISION"}
        cursor.execute("DROP TABLE IF EXISTS visits")
        cursor.execute(f"CREATE TABLE visits ({', '.join(f'{name} {kind}' for name, kind in kinds.items())})")
        cursor.executemany(f"INSERT INTO visits VALUES ({', '.join(['%s'] * len(KINDS))})", rows)


def as_spark(rows):
    """Yield pandas frames as Spark makes them: a gap makes floats of integers, and objects of all else."""
    for start in range(0, len(rows), 3):
        yield pd.DataFrame(rows[start : start + 3], columns=list(KINDS))


ENGINES = {
    "spark": lambda summer, rows: next(summer.of_frames(as_spark(rows))).iloc[0].to_dict(),
    "batches": lambda summer, rows: summer.totals(typed(rows).to_batches(max_chunksize=2)),
}


def by_engine(engine, rows, claim, workers=2):
    """Return the units and totals of an engine that gives all rows of a person to one of its workers."""
    bound = BoundClaim.of(claim, subject_of(claim))
    summer = PartSummer(bound, digests_of(bound, ""), SECRET)
    shares = [[row for row in rows if row[0] % workers == one] for one in range(workers)]
    found = [ENGINES[engine](summer, share) for share in shares if share]
    return sum(part["units"] for part in found), np.sum([part["totals"] for part in found], axis=0).tolist()


@contextmanager
def through(door, rows, claim_with, folder):
    """Give the claim of rows that stand behind a door."""
    if door in FRAMES:
        claim = claim_with("frame.csv", folder)
        with as_file(FRAMES[door](rows), claim.table.in_file) as path:
            yield replace(claim, data_file=path)
        return
    if door.startswith("postgresql"):
        in_postgresql(rows, door.partition("#")[0])
    else:
        DOORS[door](rows, folder / door.rpartition("/")[2].partition("#")[0])
    with on_disk(claim_with(door, folder)) as claim:
        yield claim


@parts(8)
def test_every_door_gives_the_same_totals_in_any_order_of_rows(tmp_path, depth, request):
    server = [f"{request.getfixturevalue('postgres')}#visits"] if depth.whole else []
    for seed in depth.some(range(160), 2):
        rng = Random(depth.seed(seed))
        rows, found = rows_of(rng), {}
        units = len({row[0] for row in rows})
        words = {
            "relation": rng.choice(["add-remove", "replace-one"]),
            "units": units,
            "most": rng.randint(1, 4),
        }
        words |= {"ward": rng.choice(["", ', missing = "n"']), "cost": rng.choice(["", ", missing = 7"])}

        def claim_with(file, folder, words=words):
            path = folder / "study.toml"
            path.write_text(STUDY.format(file=file, **words).replace("[data]", f"{STATISTICS}[data]", 1))
            return read_claim(path)

        for door in (*DOORS, *server, *FRAMES):
            folder = tmp_path / f"{seed} {door.partition(':')[0]}"
            folder.mkdir()
            rng.shuffle(rows)
            with through(door, rows, claim_with, folder) as claim:
                what = summed_query(BoundClaim.of(claim, subject_of(claim)))
                totals = [what.of(files_of(claim.data_file), TablePart(k, 2, SECRET)) for k in range(2)]
            found[door] = (sum(one.units for one in totals), sum(one.sums for one in totals).tolist())
            if door == "visits.csv":
                rng.shuffle(rows)
                found |= {engine: by_engine(engine, rows, claim) for engine in ENGINES}
        for door, each in found.items():
            assert each == found["visits.csv"], (door, words, rows)
