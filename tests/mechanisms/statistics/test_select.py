"""A SELECT means what DuckDB says of it, without noise; and each clause that a study has no words for is refused."""

from pathlib import Path
from random import Random

import duckdb
import numpy as np
import pytest
from sqlglot import exp, parse_one

from audits.claim import claim_at
from audits.reports.tables import study_of
from dpaccount.documents import parse_toml
from dpaccount.errors import InputError
from mechanisms.statistics.draws import BITS, cut
from mechanisms.statistics.estimates import estimate
from mechanisms.statistics.select import OF_ROWS, PARTS
from mechanisms.table.user_level import named
from tests.depth import deep, parts
from tests.looped import looped

STUDY = """
schema = "dpaccount/study/1"
name = "visits"
[guarantee]
unit = "one row"
relation = "add-remove"
epsilon = 5
delta = 1e-6
[data]
file = "visits.csv"
ledger = "sqlite:///visits.db"
max_units = 300
query = '''
{}
'''
[data.columns]
x = {{ type = "number", low = 0, high = 10 }}
y = {{ type = "number", low = 1, high = 5 }}
a = {{ type = "integer", low = -3, high = 7 }}
Seen = {{ type = "boolean" }}
day = {{ type = "date", low = "2023-01-01", high = "2025-12-31" }}
ward = {{ type = "category", values = ["n", "s o", "it's"] }}
"odd name" = {{ type = "integer", low = 0, high = 3 }}
[data.join.wards]
file = "wards.csv"
key = "ward"
[data.join.wards.columns]
beds = {{ type = "integer", low = 0, high = 50, missing = 0 }}
"""
WITH_GAPS = STUDY.replace("study/1", "study/2").replace(", missing = 0", "")
WARDS = ["n", "s o", "it's"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("select")
    (place / "wards.csv").write_text("ward,beds\nn,10\ns o,20\nit's,40\n")
    return place


def claim_of(query, folder, study=STUDY):
    path = Path(folder) / "study.toml"
    return claim_at(parse_toml(study.format(query), str(path)), path)


def table(seed, rows=200):
    rng = np.random.default_rng(seed)
    days = np.datetime64("2023-01-01") + rng.integers(0, 1096, rows)
    return {
        "x": rng.integers(0, 81, rows) / 8,
        "y": rng.integers(8, 41, rows) / 8,
        "a": rng.integers(-3, 8, rows),
        "Seen": rng.integers(0, 2, rows) == 1,
        "day": days.astype(str),
        "ward": rng.choice(WARDS, rows),
        "odd name": rng.integers(0, 4, rows),
    }


def with_gaps(data, seed):
    """Return a table of whose cells a fifth are NULL."""
    rng = np.random.default_rng([seed, 1])
    return {
        name: np.where(rng.random(len(cells)) < 0.2, None, cells.astype(object))
        for name, cells in data.items()
    }


def judged(query, data, folder):
    """Return DuckDB's rows of a query."""
    with duckdb.connect() as database:
        kinds = ["DOUBLE", "DOUBLE", "INTEGER", "BOOLEAN", "DATE", "VARCHAR", "INTEGER"]
        columns = ", ".join(f'"{name}" {kind}' for name, kind in zip(data, kinds, strict=True))
        database.execute(f"CREATE TABLE visits ({columns})")
        rows = list(zip(*(each.tolist() for each in data.values()), strict=True))
        database.executemany(f"INSERT INTO visits VALUES ({', '.join('?' * len(data))})", rows)
        database.execute(f"CREATE TABLE wards AS SELECT * FROM read_csv('{folder}/wards.csv')")
        return database.execute(query).fetchall()


def without_noise(claim, data):
    """Return of each statistic its keys, estimates, lower and upper ends, where no noise is drawn."""
    study = named(study_of(claim))
    codes = [column.codes(data[column.name].tolist()) for column in study.columns]
    rows = np.column_stack([np.ones(len(data["x"])), *codes])
    grids = [2.0 ** -study._bits(draw) for draw in study.draws]
    sums = iter([part * grid for part, grid in zip(cut(study.draws, study.query(rows)), grids, strict=True)])
    for what, part in zip(study.statistics, study.parts, strict=True):
        noisy = [next(sums) for _ in part]
        reach = [0.0] * (16 if what.what in ("median", "quantile") else len(part))
        keys = [tuple(key.values()) for key in what.keys]
        yield what, keys, *estimate(what, noisy, reach, len(rows), known=False)


def label(cell):
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


# ------------------------------------------------------------------ by DuckDB

LEAVES = ("x", "y", "a", "X", '"odd name"', "2", "0.25", "YEAR(day) - 2020", "(a)")
FLAGS = (
    "WARD = 'n'", "'it''s' <> WARD", "WARD IN ('n', 's o')", "WARD NOT IN ('it''s')", "seen", "Seen = FALSE",
    "day >= DATE '2024-02-29'", "day BETWEEN '2023-06-01' AND '2024-06-01'", "a IN (1, 2, -3)",
    "EXTRACT(MONTH FROM day) > 6", "QUARTER(day) = 2", "FLOOR(x / 2) = 3", "x BETWEEN y AND a + 3", "NOT seen", "x = y",
)  # fmt: skip


class Draw(Random):
    """Draws queries, some about NULL if there may be `nulls`."""

    nulls = False


def number(rng, depth=2):
    """Return arithmetic of some columns."""
    if depth == 0 or rng.random() < 0.3:
        return rng.choice(LEAVES)
    one, two = (number(rng, depth - 1) for _ in range(2))
    about_null = [
        f"COALESCE({one}, {two}, y)",
        f"CASE WHEN {condition(rng, depth - 1)} THEN {one} END",
        f"CASE WHEN {rng.choice(FLAGS)} THEN NULL ELSE {one} END",
    ]
    return rng.choice(
        [
            *(about_null if rng.nulls else []),
            f"{one} {rng.choice('+-*')} {two}",
            f"({one} - {two}) / y",
            f"{rng.choice(['LEAST', 'greatest'])}({one}, {two})",
            f"CASE WHEN {condition(rng, depth - 1)} THEN {one} WHEN {rng.choice(FLAGS)} THEN {two} ELSE a END",
            f"ABS({one}) - -({two})",
            f"FLOOR({one} / 4) * 4",
        ]
    )


def condition(rng, depth=2):
    if depth == 0 or rng.random() < 0.3:
        one, two = (number(rng, max(depth - 1, 0)) for _ in range(2))
        return rng.choice(
            [*FLAGS, f"{one} {rng.choice(['<', '<=', '>', '>=', '=', '<>', '!='])} {two} + 0 * a"]
        )
    one, two = (condition(rng, depth - 1) for _ in range(2))
    some = [f"{one} AND {two}", f"{one} OR {two}", f"({one} OR {two})", f"NOT ({one})"]
    if rng.nulls:
        of = rng.choice(["day", "seen", "WARD", number(rng, depth - 1)])
        some += [f"({of}) IS NULL", f"({of}) IS NOT NULL", f"NOT (({of}) IS NULL OR {one})"]
    return rng.choice(some)


def aggregate(rng):
    of, flag = f"{number(rng)} + 0 * a", condition(rng)
    about_null = [f"COUNT({of})", "COUNT(WARD)", f"SUM({of}) / COUNT({of})", f"COUNT(day) FILTER ({flag})"]
    return rng.choice(
        [
            *(about_null if rng.nulls else []),
            *["COUNT(*)", f"COUNT(*) FILTER (WHERE {flag})", f"COUNT(CASE WHEN {flag} THEN 1 END)"],
            *[f"{name}({of})" for name in ("SUM", "AVG", "MEDIAN", "VAR_POP", "STDDEV_POP")],
            *[f"QUANTILE_CONT({of}, 0.3)", f"PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY {of})"],
            *[f"SUM({of}) / SUM(y)", f"SUM({of}) / COUNT(*)", f"SUM(CASE WHEN {flag} THEN {of} END)"],
            f"AVG({of}) FILTER ({flag})",
        ]
    )


KEYS = [
    ([], ""),
    (["ward"], "GROUP BY ward"),
    (["visits.ward", "SEEN"], "GROUP BY 1, 2"),
    (["YEAR(day) AS yy"], "GROUP BY yy"),
    (["a"], "GROUP BY a"),
    (["CAST(date_trunc('month', day) AS DATE) AS m"], "GROUP BY m"),
    (["strftime(day, '%Y-%m') AS m", "seen"], "GROUP BY m, seen"),
    (["x > y AS more", '"odd name" AS odd'], 'GROUP BY more, "odd name"'),
    (["beds"], "GROUP BY beds"),
]


@parts(12)
@pytest.mark.statistical(1e-9)  # nine of ten are read
@pytest.mark.parametrize("nulls", [False, True])
def test_a_select_is_what_duckdb_says_of_it(folder, depth, nulls):
    seeds = depth.some(range(1200), 12)
    read = sum(agrees(folder, depth.seed(seed), nulls) for seed in seeds)
    assert read >= len(seeds) * 0.5  # the others are refused


def agrees(folder, seed, nulls=False):
    """Compare a SELECT with DuckDB; return whether it is read."""
    rng = Draw(seed)
    rng.nulls = nulls
    names, group = rng.choice(KEYS)
    asked = [aggregate(rng) for _ in range(rng.randint(1, 3))]
    join = " LEFT JOIN wards USING (ward)" if "beds" in names else ""
    where = f"WHERE {condition(rng)}" if rng.random() < 0.7 else ""
    query = f"SELECT {', '.join([*names, *asked])} FROM visits{join} {where} {group}"
    query = query.replace("WARD", "visits.ward")  # which is in both tables
    try:
        claim = claim_of(query, folder, WITH_GAPS if nulls else STUDY)
        study_of(claim)
    except InputError as error:
        if not any(why in str(error) for why in KNOWN_LIMITS):
            raise
        return False
    data = with_gaps(table(seed), seed) if nulls else table(seed)
    truth = {tuple(map(label, row[: len(names)])): row[len(names) :] for row in judged(query, data, folder)}
    truth = {key: [None if n is None else float(n) for n in row] for key, row in truth.items()}
    for place, (what, keys_of, *ends) in enumerate(without_noise(claim, data)):
        for key, middle, low, high in zip(keys_of, *ends, strict=True):
            right = truth.get(key, (None,) * len(asked))[place]
            if right is None:  # no row: no number, or a sum of none
                assert what.what not in ("count", "sum") or middle == 0
                continue
            size = max(map(abs, what.column.bounds)) if what.column is not None else 1
            slack = 300 * 2.0 ** (1 - BITS) * max(size, 1)
            if what.what in ("median", "quantile"):
                assert low - slack <= right <= high + slack, (query, key)
            elif not np.isnan(low):
                slack *= max(size, 1) if what.what in ("variance", "stddev") else 1
                power = 2 if what.what == "stddev" else 1
                assert abs(middle**power - right**power) <= slack, (query, key, middle, right)
    return True


#: of studies: a constant, a divisor that may be 0 or negative, equal bounds
KNOWN_LIMITS = (
    "names no column", "may divide by 0", "comparison names no column", "are too close", "has too many parts", "may be beyond 1e15",
)  # fmt: skip


# ------------------------------------------------------------------ what is refused

REFUSED = [
    ("SELECT * FROM visits", "(Star) is not read; name the statistics"),
    ("SELECT ward FROM visits", "'ward' (Column) is not read; group by it"),
    ("SELECT ward, COUNT(*) FROM visits", "'ward' (Column) is not read; group by it"),
    ("SELECT DISTINCT ward FROM visits", "DISTINCT is not read"),
    ("SELECT COUNT(*) FROM visits WHERE x > (SELECT AVG(x) FROM visits)", "(Subquery) is not read"),
    ("SELECT COUNT(*) FROM (SELECT x FROM visits)", "(Subquery) is not read"),
    ("WITH t AS (SELECT 1) SELECT COUNT(*) FROM visits", "WITH is not read"),
    ("SELECT COUNT(*) FROM visits UNION SELECT COUNT(*) FROM visits", "(Union) is not read"),
    ("SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING COUNT(*) > 9", "HAVING is not read"),
    ("SELECT SUM(x) OVER () FROM visits", "(Window) is not read"),
    ("SELECT COUNT(*) FROM visits QUALIFY x > 1", "QUALIFY is not read"),
    ("SELECT COUNT(*) FROM visits USING SAMPLE 10%", "SAMPLE is not read"),
    ("SELECT COUNT(*) FROM visits TABLESAMPLE 10%", "SAMPLE is not read"),
    ("SELECT COUNT(*) FROM visits, wards", "may drop or multiply rows"),
    ("SELECT COUNT(*) FROM visits JOIN wards USING (ward)", "may drop or multiply rows; write LEFT JOIN"),
    ("SELECT COUNT(*) FROM visits CROSS JOIN wards", "may drop or multiply rows"),
    ("SELECT COUNT(*) FROM visits RIGHT JOIN wards USING (ward)", "may drop or multiply rows"),
    ("SELECT COUNT(*) FROM visits LEFT JOIN wards ON visits.x = wards.beds", "by another key than the declared one"),
    ("SELECT COUNT(*) FROM visits LEFT JOIN visits AS v USING (ward)", "may drop or multiply rows"),
    ("SELECT COUNT(*) FROM visits LEFT JOIN wards ON visits.ward = wards.ward WHERE ward = 'n'", "ward is in two tables; write visits.ward"),
    ("SELECT COUNT(*) FROM visits LATERAL VIEW explode(x) t AS z", "this is no SQL"),
    ("SELECT COUNT(*) FROM wards", "the data are visits.csv or visits"),
    ("SELECT COUNT(*) FROM read_csv('visits.csv')", "is not read"),
    ("SELECT COUNT(*)", "the SELECT has no FROM"),
    ("SELECT COUNT(x) FROM visits", "is of NULL, which has a value here; compare with that one, or write schema"),
    ("SELECT COUNT(DISTINCT ward) FROM visits", "only units can be counted so"),
    ("SELECT SUM(DISTINCT x) FROM visits", "(Distinct) is not read"),
    ("SELECT MAX(x) FROM visits", "(Max) is not read; write QUANTILE_CONT"),
    ("SELECT STDDEV(x) FROM visits", "write STDDEV_POP"),
    ("SELECT VAR_SAMP(x) FROM visits", "write VAR_POP"),
    ("SELECT MODE(x) FROM visits", "(Mode) is not read"),
    ("SELECT STRING_AGG(ward) FROM visits", "is not read"),
    ("SELECT AVG(x) + 1 FROM visits", "(Add) is not read"),
    ("SELECT SUM(x) / SUM(a) FROM visits", "which may be negative"),
    ("SELECT AVG(random()) FROM visits", "(Rand) is not read"),
    ("SELECT AVG(my_function(x)) FROM visits", "(Anonymous) is not read"),
    ("SELECT AVG(x ** 2) FROM visits", "(Pow) is not read"),
    ("SELECT AVG(a % 2) FROM visits", "(Mod) is not read"),
    ("SELECT AVG(COALESCE(x, 1)) FROM visits", "is of NULL, which has a value here"),
    ("SELECT AVG(CAST(x AS INTEGER)) FROM visits", "(Cast) is not read"),
    ("SELECT AVG(CASE a WHEN 1 THEN 2 ELSE 3 END) FROM visits", "CASE; write CASE WHEN"),
    ("SELECT AVG(CASE WHEN seen THEN 1 WHEN x > 1 THEN 2 END) FROM visits", "is of NULL, which has a value here"),
    ("SELECT COUNT(*) FROM visits WHERE x IS NULL", "is of NULL, which has a value here; compare with that one, or write schema"),
    ("SELECT COUNT(*) FROM visits WHERE ward LIKE 'n%'", "(Like) is not read"),
    ("SELECT COUNT(*) FROM visits WHERE x IN (SELECT 1)", "QUERY is not read"),
    ("SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1)", "is not read"),
    ("SELECT COUNT(*) FROM visits WHERE ward = 'elsewhere'", "ward is compared with 'elsewhere'; known: 'n'"),
    ("SELECT COUNT(*) FROM visits WHERE nobody > 1", "no column nobody; there are Seen, a, day, odd name, ward, x, y"),
    ("SELECT AVG(beds) FROM visits", "no column beds"),
    ("SELECT COUNT(*) FROM visits WHERE other.x > 1", "other.x is of no table of the query"),
    ("SELECT COUNT(*) FROM visits WHERE 1 = 1", "names no column"),
    ("SELECT COUNT(*) FROM visits WHERE x", "(Column) is not read; write a comparison"),
    ("SELECT SUM(1) FROM visits", "names no column"),
    ("SELECT x + 1 AS a, COUNT(*) FROM visits GROUP BY x + 1", "AS a is the name of a column"),
    ("SELECT x, COUNT(*) FROM visits GROUP BY x", "x has no cells"),
    ("SELECT COUNT(*) FROM visits GROUP BY ROLLUP (ward)", "(Rollup) is not read"),
    ("SELECT COUNT(*) FROM visits GROUP BY ALL", "ALL is not read"),
    ("SELECT COUNT(*) FROM visits GROUP BY AVG(x)", "group by columns"),
    ("SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY ward", "ORDER BY or LIMIT is not read here"),
    ("SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT 1", "ORDER BY or LIMIT is not read here"),
    ("SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY COUNT(*) LIMIT 1", "is not read"),
    ("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 1 OFFSET 2", "OFFSET is not read"),
    ("SELECT ward FROM visits GROUP BY ward", "the SELECT has no statistic"),
    ("SELECT COUNT(*) AS n, AVG(x) AS n FROM visits", "two statistics are called 'n'"),
    ("SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY SUM(x) DESC LIMIT 1", "ORDER BY SUM(x) DESC is not read"),
    ("SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY -COUNT(*) DESC LIMIT 1", "is not read"),
    ("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY 'n' DESC LIMIT 1", "is not read"),
    ("SELECT ward, COUNT(*) AS ward FROM visits GROUP BY ward ORDER BY ward DESC LIMIT 1", "is not read"),
    ("SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY COUNT(*) FILTER (WHERE seen) DESC LIMIT 1", "is not read"),
    ("SELECT ward, COUNT(*) FILTER (WHERE seen) FROM visits GROUP BY ward ORDER BY COUNT(*) DESC LIMIT 1", "is not read"),
    ("SELECT COUNT(*) FROM visits WHERE day < TIMESTAMP '2024-01-01 12:00:00'", "(Cast) is not read"),
    ("SELECT COUNT(*) FROM visits WHERE day < '2024-01-01 12:00:00'", "has more than a date"),
    ("SELECT COUNT(*) FROM visits WHERE day < DATE '2024-01-01foo'", "is no date"),
    ("SELECT COUNT(*) FROM visits WHERE weekday(day) = 0", "(Anonymous) is not read"),
    ("SELECT COUNT(*) FROM visits('x')", "the data are visits.csv or visits"),
    ("SELECT QUANTILE_CONT(x, 0.2, 5) FROM visits", "quantile_cont has too many arguments"),
    ("SELECT QUANTILE_CONT(x, 0.2, a) FROM visits", "quantile_cont has too many arguments"),
    ("SELECT QUANTILE_CONT(x, []) FROM visits", "is no rank"),
    ("SELECT quantile_cont() WITHIN GROUP (ORDER BY x) FROM visits", "this is no SQL"),
    ("SELECT QUANTILE_CONT(x, 0.2, TRUE) FROM visits", "quantile_cont has too many arguments"),
    ("SELECT QUANTILE_CONT(x, 0.2, 'a') FROM visits WHERE ward = 'a'", "quantile_cont has too many arguments"),
    ("SELECT PERCENTILE_CONT(0.2, 3) WITHIN GROUP (ORDER BY x) FROM visits", "this is no SQL"),
    ("SELECT COUNT(*) FROM visits GROUP BY", 'this is no SQL (at or near "BY")'),
    ("SELECT COUNT(*) FROM visits WHERE x BETWEEN 1 5", "this is no SQL (at or near"),
    ("SELECT COUNT(*) FROM visits WHERE EXTRACT('year' FROM day = 2022", "this is no SQL"),
    ("SELECT COUNT(*) FROM visits * abs", "this is no SQL"),
    ("SELECT COUNT(,*) FROM visits", "this is no SQL"),
    ("SELECT var_map(x) FROM visits", "this is no SQL"),
    ("SELECT x > 3 AS SEEN, COUNT(*) FROM visits GROUP BY SEEN", "(GT) is not read"),
    ("SELECT x > 3 AS big, COUNT(*) FROM visits GROUP BY visits.big", "no column visits.big"),
    ("SELECT x > 3, COUNT(*) FROM visits WHERE x_3 GROUP BY x > 3", "no column x_3"),
    ("SELECT AVG(" + "+".join(["x"] * 2000) + ") FROM visits", "write"),
    ("DROP TABLE visits", "(Drop) is not read; write one SELECT"),
    ("SELECT COUNT(*) FROM visits; DROP TABLE visits", "2 statements"),
    ("SELECT COUNT(* FROM visits", 'this is no SQL (at or near "FROM")'),
    ("", "0 statements"),
    ("SELECT COUNT(*) FROM visits -- " + "x" * 10_000, "characters; at most 10000"),
]  # fmt: skip


@looped(
    ("query", "why"),
    [
        ("SELECT COUNT(*) FROM visits WHERE x = NULL", "(Null) is not read; write x IS NULL"),
        ("SELECT COUNT(*) FROM visits WHERE seen IS TRUE", "(Is) is not read; write x IS NULL, or x = TRUE"),
        ("SELECT SUM(NULL) FROM visits", "(Null) is not read; write x IS NULL"),
        ("SELECT SUM(CASE WHEN x > y THEN NULL END) FROM visits", "is not read"),
        ("SELECT SUM(CASE WHEN seen THEN NULL ELSE NULL END) FROM visits", "both sides of an if are null"),
        ("SELECT SUM(COALESCE(ward, 'n')) FROM visits", "is not read"),
        ("SELECT COUNT(*) FROM visits WHERE x IS NOT DISTINCT FROM NULL", "is not read"),
    ],
)
def test_of_null_too_only_what_is_said_is_read(folder, query, why):
    with pytest.raises(InputError) as error:
        study_of(claim_of(query, folder, WITH_GAPS))
    assert why in str(error.value)


@looped(("query", "why"), REFUSED)
def test_what_no_study_says_is_refused_by_its_clause(folder, query, why):
    with pytest.raises(InputError) as error:
        study_of(claim_of(query, folder))
    assert why in str(error.value)
    assert "\n" not in str(error.value)


@deep
def test_every_kind_of_node_is_read_or_refused(folder):
    """Put in the place of a number, a condition, a group or a table: one sentence, or a study."""
    tried = 0
    for kind in sorted(exp.ALL_FUNCTIONS, key=str):
        made = kind(this=exp.column("x"), expression=exp.column("y"))
        try:
            text = made.sql(dialect="duckdb")
        except Exception:  # noqa: S112  # it needs other parts
            continue
        for query in (
            f"SELECT AVG({text}) FROM visits",
            f"SELECT {text} FROM visits",
            f"SELECT COUNT(*) FROM visits WHERE {text} > 1",
        ):
            tried += 1
            try:
                study_of(claim_of(query, folder))
            except InputError:
                continue
            assert {type(node) for node in parse_one(query, dialect="duckdb").walk()} <= PARTS.keys(), query
    assert tried > 500
    assert {*OF_ROWS} < {*PARTS}


def test_names_of_columns_are_not_read_as_formulas(folder):
    """A backquote would end a name, and a column of the name true would be read for TRUE."""
    more = 'true = {{ type = "boolean" }}\n"x` + `y" = {{ type = "number", low = 0, high = 1 }}\n[data.join.wards]'
    study = STUDY.replace("[data.join.wards]", more, 1)
    (said,) = claim_of("SELECT COUNT(*) FROM visits WHERE seen = TRUE", folder, study).written["subject"][
        "parameters"
    ]["statistic"]
    assert said["where"] == "`Seen`"
    with pytest.raises(InputError, match="has a backquote"):
        claim_of('SELECT SUM("x` + `y" * 1) FROM visits', folder, study)


READ = [
    ("SELECT ward AS one, ward AS two, COUNT(*) AS n FROM visits GROUP BY one", {"by": ["ward"]}),
    ("SELECT x > 3 AS one, x > 3 AS two, COUNT(*) AS n FROM visits GROUP BY one", {"by": ["two"]}),
    ("SELECT QUANTILE_CONT(x, .9) AS n FROM visits WHERE x > .5", {"q": "0.9", "where": "(`x` > 0.5)"}),
    ("SELECT QUANTILE_CONT((x + 1) * 2, [.2, .5]) AS n FROM visits", {"q": ["0.2", "0.5"]}),
    ("SELECT seen = TRUE AS k, COUNT(*) AS n FROM visits GROUP BY 1", {"by": ["Seen"]}),
    (
        "SELECT COUNT(1) AS n FROM visits LEFT OUTER JOIN wards USING (ward) WHERE ward = 'n'",
        {"where": '(`ward` == "n")'},
    ),
    ("SELECT COUNT(*) AS n FROM visits WHERE EXTRACT(month FROM day) > 3", {"where": "(month(`day`) > 3)"}),
]


@looped(("query", "said"), READ)
def test_other_spellings_are_read(folder, query, said):
    (found,) = claim_of(query, folder).written["subject"]["parameters"]["statistic"]
    assert said.items() <= found.items()


TOP = [
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 2",
    "SELECT ward, COUNT(*) FROM visits WHERE x > 1 GROUP BY ward ORDER BY COUNT(*) DESC LIMIT 2",
]


@looped("query", TOP)
def test_the_most_frequent_values_are_a_top(folder, query):
    (said,) = claim_of(query, folder).written["subject"]["parameters"]["statistic"]
    assert (said["what"], said["column"], said["k"]) == ("top", "ward", 2)
    assert ("where" in said) == ("WHERE" in query)


def test_names_are_those_that_are_written(folder):
    """Aliases and columns may have any name; a statistic without an alias is named after its aggregate."""
    query = """
        SELECT "odd name" AS "Odd, name", AVG(X) AS "a mean; of x", COUNT(*), COUNT(*) FILTER (WHERE SEEN),
        QUANTILE_CONT(x, [0.1, 0.9]), MEDIAN(x / y) FROM "visits.csv" AS v WHERE v."odd name" < 3 GROUP BY "Odd, name"
    """
    claim = claim_of(query, folder)
    found = claim.written["subject"]["parameters"]["statistic"]
    assert [each["name"] for each in found] == [
        "a mean- of x",
        "count",
        "count 2",
        "quantile of x",
        "median of x_y",
    ]
    assert found[2]["where"] == "(`odd name` < 3) and (`Seen`)" or found[2]["where"].count("(") >= 2
    assert found[3]["q"] == ["0.1", "0.9"]
    assert claim.written["data"]["derived"] == {"x_y": "(`x` / `y`)"}
    study_of(claim)
