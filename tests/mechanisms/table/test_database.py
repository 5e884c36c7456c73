"""Tables of databases are read once, read-only, as text: the rows of a file with the same cells, and no word of them."""

from datetime import date
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import duckdb
import numpy as np
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.errors import InputError
from mechanisms.table.columns import Column
from mechanisms.table.database import DatabaseTable, named_by
from mechanisms.table.reading import batches, one_file
from tests.depth import deep, examples
from tests.dpaccount.ledger.postgres import PostgresServer
from tests.looped import looped

URL = "duckdb:///d.duckdb#t"


@pytest.fixture(scope="module")
def postgres():
    server = PostgresServer()
    with psycopg.connect(server.url().partition("?")[0], autocommit=True) as connection:
        connection.execute(
            "ALTER DATABASE postgres SET datestyle = 'German'; ALTER DATABASE postgres SET timezone = 'Asia/Tokyo'"
        )
    yield server.url().partition("?")[0]
    server.remove()


def made(folder, *statements, rows=()):
    with duckdb.connect(str(Path(folder) / "d.duckdb")) as database:
        for statement in statements:
            database.execute(statement)
        if rows:
            database.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(rows[0]))})", rows)
    return DatabaseTable(URL, Path(folder))


def cells(source, *names):
    """Return the cells of a snapshot, column by column, and the digest of its file."""
    with source.snapshot(names) as path:
        assert path.stat().st_mode & 0o777 == 0o600
        found = {name: [] for name in names}
        for batch in batches(path, names):
            for name in names:
                found[name] += list(batch[name])
        digest = sha256(path.read_bytes()).hexdigest()
    assert not path.exists()
    return [found[name] for name in names], digest


COLUMNS = {
    "number": (Column("c", "number", Fraction(-1000), Fraction(1000)), "DOUBLE"),
    "integer": (Column("c", "integer", Fraction(-9), Fraction(9)), "INTEGER"),
    "decimal": (Column("c", "number", Fraction(0), Fraction(10**6)), "DECIMAL(12, 3)"),
    "boolean": (Column("c", "boolean"), "BOOLEAN"),
    "date": (
        Column("c", "date", Fraction(date(2020, 1, 1).toordinal()), Fraction(date(2025, 1, 1).toordinal())),
        "DATE",
    ),
    "category": (Column("c", "category", values=("a", "7", "true"), other=True), "VARCHAR"),
}
VALUES = {
    "number": st.floats() | st.none(),
    "integer": st.integers(-(2**31), 2**31 - 1) | st.none(),
    "decimal": st.decimals(-(10**8), 10**8, places=3) | st.none(),
    "boolean": st.booleans() | st.none(),
    "date": st.dates(date(1, 1, 1)) | st.none(),
    "category": st.sampled_from(["a", "7", "true", "", "b\nc", 'q"', "é"]) | st.none(),
}


@examples(10)
@given(st.data())
@pytest.mark.parametrize("kind", COLUMNS)
def test_cells_are_read_as_those_of_a_file(kind, tmp_path_factory, data):
    """As Python's own values are: missing, clipped, unlisted alike; and in any order of rows the file is one."""
    column, sql = COLUMNS[kind]
    values = data.draw(st.lists(VALUES[kind], min_size=1, max_size=9))
    digests = []
    for rows in (values, values[::-1]):
        folder = tmp_path_factory.mktemp("d")
        table = made(folder, f"CREATE TABLE t (c {sql})", rows=[[value] for value in rows])
        (found,), digest = cells(table, "c")
        digests.append(digest)
        assert sorted(column.codes(found)) == sorted(column.codes(values))
    assert digests[0] == digests[1]
    made(folder, "DELETE FROM t WHERE rowid = 0")
    assert cells(table, "c")[1] != digests[0]


@deep
def test_duckdb_and_postgresql_give_the_same_texts(tmp_path, postgres):
    """For every type of cell and any server settings, so that a table can move between databases."""
    names = ["n", "b", "d", "t", "z", "m", "s"]
    kinds = "n double precision, b boolean, d date, t timestamp, z timestamptz, m decimal(9, 2), s varchar"
    rows = [
        (0.1, True, date(2024, 2, 29), "2024-01-01 10:00:00", "2024-01-01 00:30:00+02", "12.50", "a,b"),
        (1e20, False, date(1, 1, 1), "2024-01-01 10:00:00.5", "2024-06-01 12:00:00+00", "-1", "é\n"),
        (None,) * 7,
    ]
    table = made(tmp_path, f"CREATE TABLE t ({kinds})", rows=rows)
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute('DROP TABLE IF EXISTS "T t"')
        connection.execute(f'CREATE TABLE "T t" ({kinds})')
        connection.cursor().executemany('INSERT INTO "T t" VALUES (%s, %s, %s, %s, %s, %s, %s)', rows)
    other = DatabaseTable(f"{postgres}#public.T t", tmp_path)
    assert other.names() == table.names() == names
    here, there = cells(table, *names)[0], cells(other, *names)[0]
    for column, one, two in zip(names, here, there, strict=True):
        # A time may have its zone at its end, of which no date takes note.
        cut = 10 if column in "tz" else None
        assert [c and c[:cut] for c in one] == [c and c[:cut] for c in two] or column == "n"
    assert [None if c is None else float(c) for c in here[0]] == [
        None if c is None else float(c) for c in there[0]
    ]
    assert "2023-12-31" in {c[:10] for c in here[4] if c}  # half past midnight at +02 is of the day before


@deep
def test_money_and_far_days_of_postgresql_are_read(tmp_path, postgres):
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS pays")
        connection.execute("CREATE TABLE pays (m money, d date)")
        connection.execute(
            "INSERT INTO pays VALUES ('-1234.50', '-infinity'), ('5', 'infinity'), (NULL, NULL)"
        )
        connection.execute("INSERT INTO pays VALUES ('0.99', '20000-01-01'), ('1', '0044-03-15 BC')")
    table = DatabaseTable(f"{postgres}#pays", tmp_path)
    (amounts, days), _ = cells(table, "m", "d")
    column = Column("m", "number", Fraction(-2000), Fraction(2000), missing=Fraction(77))
    low, high = (Fraction(date(year, 1, 1).toordinal()) for year in (2000, 2100))
    found = dict(zip(column.codes(amounts), Column("d", "date", low, high).codes(days), strict=True))
    assert found == {-1234.5: low, 5: high, 77: low, 0.99: high, 1: low}


WRONG = [
    "duckdb:///../d.duckdb#t", "duckdb:////tmp/d.duckdb#t", "duckdb:///d.duckdb", "duckdb:///d.duckdb#", "duckdb://host/d.duckdb#t",
    "duckdb:///d.duckdb?x=1#t", "postgresql://u:secret@h/d#t", "postgresql://h/d?password=secret#t", "postgresql://h#t",
    "postgres://me:secret@host/d#t", "postgresql://h:99secret/d#t", "postgresql://h/d#t?password=secret",
    "postgresql://h/d", "postgresql://me:secret/clinic#t", "postgresql://h:secret/d#t", "postgresql://u@h:5432/d#a#b", "postgresql://h/d secret#t", "postgresql://",
]  # fmt: skip


@looped("url", WRONG)
def test_a_url_without_a_table_or_with_a_password_is_refused_unquoted(url):
    with pytest.raises(InputError) as error:
        named_by(url, Path("/tmp/somewhere"))  # noqa: S108
    assert "secret" not in str(error.value)


def test_errors_say_nothing_of_a_row(tmp_path):
    """A view that fails at one row, a table that is none, a file that is none, no server, a nested name."""
    table = made(tmp_path, "CREATE TABLE s (c VARCHAR)", "INSERT INTO s VALUES ('1'), ('hidden')")
    made(tmp_path, "CREATE VIEW t AS SELECT CAST(c AS INTEGER) AS c FROM s")
    injected = 's"; DROP TABLE s; --'
    tried = [
        (table, ["c"], "the database ended before all rows were read"),
        (table, ["C"], "no column C; there are c"),
        (DatabaseTable("duckdb:///d.duckdb#none", tmp_path), ["c"], "no table 'none' that can be read"),
        (
            DatabaseTable(f"duckdb:///d.duckdb#{injected}", tmp_path),
            ["c"],
            "that can be read (CatalogException)",
        ),
        (DatabaseTable("duckdb:///s.duckdb#t", tmp_path), ["c"], "no such file"),
        (
            DatabaseTable("postgresql://127.0.0.1:1/d#t", tmp_path),
            ["c"],
            "gives no connection (OperationalError)",
        ),
    ]
    for source, names, why in tried:
        with pytest.raises(InputError) as error, source.snapshot(names):
            pass
        assert why in str(error.value)
        assert "hidden" not in str(error.value)
        assert "\n" not in str(error.value)
    (tmp_path / "s.duckdb").write_text("no database")
    with pytest.raises(InputError, match="gives no connection"), tried[4][0].snapshot(["c"]):
        pass
    assert cells(DatabaseTable("duckdb:///d.duckdb#s", tmp_path), "c")[0] == [
        ["1", "hidden"]
    ]  # nothing was dropped


def test_a_name_that_is_no_table_is_not_sought_among_files(tmp_path):
    """DuckDB would read a file of that name, its first row as a header, and a variable of Python's."""
    made(tmp_path, "CREATE TABLE t (c INTEGER)")
    (tmp_path / "payroll.csv").write_text("hidden,c\n1,2\n")
    path = tmp_path / "payroll.csv"
    with duckdb.connect(str(tmp_path / "d.duckdb")) as database:
        database.execute(f"CREATE VIEW v AS SELECT * FROM read_csv('{path}')")
    for name in (str(path), f"{path.name}", "connection", "names", "v"):
        for try_it in (lambda source: source.names(), lambda source: cells(source, "c")):
            with pytest.raises(InputError) as error:
                try_it(DatabaseTable(f"duckdb:///d.duckdb#{name}", tmp_path))
            assert "hidden" not in str(error.value)


def test_the_collation_of_a_column_orders_nothing(tmp_path, tmp_path_factory):
    digests = set()
    for order in (["a", "A", "b", "B"], ["B", "b", "A", "a"]):
        table = made(
            tmp_path_factory.mktemp("d"),
            "CREATE TABLE t (c VARCHAR COLLATE NOCASE)",
            rows=[[each] for each in order],
        )
        digests.add(cells(table, "c")[1])
    assert len(digests) == 1


@deep
def test_a_batch_of_more_than_two_gigabytes_is_read(tmp_path, monkeypatch):
    """What one row holds stops no reading: a long cell is missing, as in other files."""
    monkeypatch.setattr("mechanisms.table.database.BATCH", 3)
    table = made(
        tmp_path,
        "CREATE TABLE t AS SELECT repeat('x', CASE WHEN range = 1 THEN 20000000 ELSE 3 END) AS c FROM range(3)",
    )
    with table.snapshot(["c"]) as path:
        assert sorted([each or "" for batch in batches(path, ["c"]) for each in batch["c"]]) == [
            "",
            "xxx",
            "xxx",
        ]


@deep
def test_a_reading_writes_nothing_and_is_of_one_moment(postgres):
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(
            "DROP TABLE IF EXISTS t; CREATE TABLE t (c integer); INSERT INTO t SELECT generate_series(1, 9)"
        )
        connection.execute(
            "CREATE OR REPLACE FUNCTION f() RETURNS integer LANGUAGE sql AS 'INSERT INTO t VALUES (99) RETURNING c'"
        )
        connection.execute("CREATE OR REPLACE VIEW v AS SELECT f() AS c")
    with (
        pytest.raises(InputError, match="ended before all rows were read"),
        DatabaseTable(f"{postgres}#v").snapshot(["c"]),
    ):
        pass
    assert cells(DatabaseTable(f"{postgres}#t"), "c")[0] == [sorted(map(str, range(1, 10)))]


def test_more_rows_than_a_batch_are_all_read(tmp_path, monkeypatch):
    monkeypatch.setattr("mechanisms.table.database.BATCH", 7)
    table = made(tmp_path, "CREATE TABLE t AS SELECT range % 5 AS c FROM range(100)")
    assert np.unique(cells(table, "c")[0][0], return_counts=True)[1].tolist() == [20] * 5


def test_a_table_of_a_database_is_no_file(tmp_path):
    with pytest.raises(InputError, match="is no file"):
        one_file(made(tmp_path, "CREATE TABLE t (c INTEGER)")).digest()


def test_a_database_is_closed_while_its_rows_are_released(tmp_path):
    """A reader would keep writers of DuckDB waiting, and an old snapshot of PostgreSQL open."""
    table = made(tmp_path, "CREATE TABLE t AS SELECT 1 AS c")
    with table.snapshot(["c"]):
        made(tmp_path, "INSERT INTO t VALUES (2)")
    assert cells(table, "c")[0] == [["1", "2"]]
