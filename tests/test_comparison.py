"""The five tasks of docs/comparison.md: ours are no longer, line by line, and the page says what each answers."""

import ast
import math
import re

import numpy as np
import pytest

import dpaccount
from dpaccount.ledger.ledger import init
from mechanisms.laplace_sum import LaplaceSum
from mechanisms.statistics.draws import BRANCHES, LEVELS
from mechanisms.statistics.estimates import fitted
from tests.depth import deep


@pytest.fixture
def page(root):
    return (root / "docs" / "comparison.md").read_text()


def tasks(page):
    """Return (our lines, their lines, our answer, theirs) of every row."""
    rows = [line.split(" | ") for line in page.splitlines() if re.match(r"\| \d\. ", line)]
    return [([*map(statements, row[1:3])], row[3], row[4].rstrip(" |")) for row in rows]


def statements(cell):
    """Return the statements of a cell's code, one a line."""
    spans = re.findall(r"`([^`]+)`", cell)
    return [ast.unparse(one) for span in spans for one in ast.parse(span.replace("; ", "\n")).body]


def last(lines, names):
    """Run lines; return what the last one is worth, None of an assignment."""
    *before, end = lines
    for line in before:
        exec(line, names)  # noqa: S102  # our own page
    if isinstance(ast.parse(end).body[0], ast.Expr):
        return eval(end, names)  # noqa: S307
    exec(end, names)  # noqa: S102
    return None


def test_ours_are_no_longer_line_by_line(page):
    found = tasks(page)
    assert len(found) == 5
    for (ours, theirs), *_ in found:
        assert 0 < len(ours) <= len(theirs), (ours, theirs)


def test_our_lines_answer_what_the_page_says(page, tmp_path):
    init(
        f"sqlite:///{tmp_path}/a.db",
        epsilon=1,
        delta=0,
        unit="person",
        relation="replace-one",
        measure="pure",
    )
    names = {name: getattr(dpaccount, name) for name in dpaccount.__all__} | {"LaplaceSum": LaplaceSum}
    with dpaccount.Ledger.open(f"sqlite:///{tmp_path}/a.db") as ledger:
        names["ledger"] = ledger
        said = [last(ours, names) for (ours, _), *_ in tasks(page)]
        assert ledger.show()["spent"]["epsilon"]["upper"] == 1.0
    for answer, (_, ours, _) in zip(
        (said[0], names["a"].epsilon(1e-5), said[2]), tasks(page)[:3], strict=True
    ):
        assert repr(answer).lstrip("0") == ours.partition(",")[0]
    assert said[3].text == tasks(page)[3][1].partition(",")[0]
    assert said[4].public["sum"].shape == (1,)


def test_the_column_of_opendp_is_that_of_the_installed_one(page):
    import opendp.prelude as dp

    dp.enable_features("contrib")
    names = {**vars(dp), **vars(dp.t), **vars(dp.m)}
    (space,) = re.findall(r"^\| OpenDP \| `(.+)` \|$", page, re.MULTILINE)
    exec(space, names)  # noqa: S102
    (_, theirs), _, said = tasks(page)[4]
    assert isinstance(last(theirs, names), int)
    claims = re.findall(r"`(m\.map\(\d\))` is (\d)", said)
    assert len(claims) == 2
    for line, worth in claims:
        assert eval(line, names) == float(worth)  # noqa: S307


def test_the_column_of_dp_accounting_where_it_is_installed(page):
    pld = pytest.importorskip(
        "dp_accounting.pld.pld_privacy_accountant", reason="dp_accounting is not installed"
    )
    import dp_accounting

    names = {**vars(dp_accounting), "PLDAccountant": pld.PLDAccountant}
    for number, ((_, theirs), _, said) in enumerate(tasks(page)[:4]):
        found = last(theirs, names)
        found = names["a"].get_epsilon(1e-5) if number == 1 else found
        assert float(found) == pytest.approx(float(said.partition(",")[0]), rel=1e-9)


@pytest.mark.parametrize(
    "statistics",
    [
        pytest.param("count()", marks=deep),
        *(
            pytest.param(each, marks=deep)
            for each in (
                'count(by="ward")',
                'mean("stay", by="ward")',
                'median("stay")',
                'count().mean("stay", by="ward").median("stay")',
            )
        ),
    ],
)
def test_statistics_of_a_data_frame_are_two_statements(tmp_path, monkeypatch, statistics):
    frame = {"patient": [1, 1, 2], "ward": ["a", "b", "a"], "stay": [3, 4.5, None]}
    monkeypatch.chdir(tmp_path)
    url = "sqlite:///visits.db"
    terms = {"unit": "one patient", "relation": "add-remove", "measure": "approximate"}
    init(url, epsilon=1, delta="1e-6", **terms)
    table = dpaccount.Table(
        frame,
        unit="patient",
        epsilon=1,
        delta=1e-6,
        ledger=url,
        columns={"ward": ["a", "b"], "stay": (0, 30)},
        max_units=300,
        max_contributions=3,
    )
    released = eval(f"table.{statistics}.release(quick=True)", {"table": table})  # noqa: S307
    assert released.verdict == "CERTIFIED"
    assert all(each.rows for each in released.found.statistics.values())


@deep
def test_widths_of_counts_are_those_that_the_page_says(page):
    """At (1, 1e-6): ours as planned; peers' by their formulas, ε/k of geometric noise each, or zCDP."""
    rows = re.findall(r"^\| (\d+) \| ± ([\d.]+) \| ± ([\d.]+) \| ± ([\d.]+) \|$", page, re.MULTILINE)
    assert [row[0] for row in rows] == ["1", "4", "12"]
    for many, *said in ((int(row[0]), *map(float, row[1:])) for row in rows):
        terms = {"epsilon": 1, "delta": 1e-6, "ledger": "sqlite:///a.db", "columns": {"x": (0, 1)}}
        table = dpaccount.Table({"x": [1]}, max_units=600, **terms)
        for number in range(many):
            table = table.count(name=f"n{number}")
        ours = table.plan().statistics[0].half_width
        ratio = math.exp(-1 / many)
        pure = next(t for t in range(999) if 2 * ratio ** (t + 1) / (1 + ratio) <= 0.05)
        rho = (math.sqrt(1 + math.log(1e6)) - math.sqrt(math.log(1e6))) ** 2
        assert said == [
            pytest.approx(each, abs=0.05) for each in (ours, pure, 1.96 * math.sqrt(many / 2 / rho))
        ]
        assert ours <= min(said)


def test_medians_are_off_by_the_ranks_that_the_page_says(page):
    """Ours by the noise that a plan shows and the linear estimate, at the worst of the cells near the middle.

    The exponential mechanism chooses a rank r off with probability ∝ e^(−|r|/scale); the peers' has
    scale 1/ε, where ρ = ε²/8 under zCDP.
    """
    number = r" \| ([\d.]+)"
    rows = re.findall(rf"^\| (\d+){number} ranks{number * 3} \|$", page, re.MULTILINE)
    assert [row[0] for row in rows] == ["1", "12"]
    size, middle = sum(BRANCHES**level for level in range(1, LEVELS + 1)), BRANCHES**LEVELS // 2
    below = np.array([fitted(count) for count in np.eye(size)])
    off = np.linalg.norm(below - below[:, -1:] / 2, axis=0)[middle : middle + BRANCHES + 1].max()
    for many, *said in ((int(row[0]), *map(float, row[1:])) for row in rows):
        terms = {"epsilon": 1, "delta": 1e-6, "ledger": "sqlite:///a.db", "columns": {"x": (0, 1)}}
        table = dpaccount.Table({"x": [1]}, max_units=600, **terms)
        chosen = table
        for number in range(many):
            table = table.median("x", name=f"n{number}")
            chosen = chosen.median("x", name=f"n{number}", method="exponential")
        ours = 1.96 * off * float(table.plan().statistics[0].noise.scales["count"])
        choice = math.log(20) * chosen.plan().statistics[0].noise.scales["choice"]
        rho = (math.sqrt(1 + math.log(1e6)) - math.sqrt(math.log(1e6))) ** 2 / many
        peers = math.log(20) * many, math.log(20) / math.sqrt(8 * rho)
        assert said == [pytest.approx(each, abs=0.06) for each in (ours, choice, *peers)]
        assert choice <= min(peers)
