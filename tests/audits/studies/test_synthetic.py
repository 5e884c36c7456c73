"""The example of synthetic data: its input is what a study publishes, and what it draws fits that."""

import csv
import importlib.util
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import dpaccount as dp
from audits.subjects.catalogue import subject_of
from dpaccount.proof import point
from tests.depth import deep

FOLDER = Path(__file__).parents[3] / "examples" / "clinic_visits"
PROBABILITIES = np.array([0.5, 0.4, 0.1]), np.array([0.2, 0.2, 0.3, 0.3]), np.array([0.1, 0.3, 0.3, 0.2, 0.1])


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("synthetic", FOLDER / "synthetic.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def study():
    return dp.Study.read(FOLDER / "two-way.toml")


@pytest.fixture
def published(study, tmp_path):
    """Write tables of 1,200 visits as a release does, rows in any order; return the exact tables."""
    rng, found = np.random.default_rng(5), {}
    rows = [rng.choice(len(each), 1200, p=each) for each in PROBABILITIES]
    rows[2] = np.where(rows[0] == 0, rows[2] // 2, rows[2])  # length depends on the city
    names = ("city", "age_group", "length")
    by_name = dict(zip(names, rows, strict=True))
    labels = {}
    for each in study.plan().statistics:
        what = next(one for one in statistics(study) if one.name == each.name)
        labels |= {column.name: list(column.labels) for column in what.by}
        lines = [dict(key) for key in what.keys]
        for line in lines:
            there = [by_name[name] == labels[name].index(value) for name, value in line.items()]
            line["estimate"] = int(np.logical_and.reduce(there).sum())
        found[each.name] = {tuple(line.values())[:-1]: line["estimate"] for line in lines}
        rng.shuffle(lines)
        with (tmp_path / f"{each.name.replace(' ', '-')}.csv").open("w", newline="") as file:
            out = csv.DictWriter(file, [*line, "low", "high"])
            out.writeheader()
            out.writerows(lines)
    return found


def statistics(study):
    return subject_of(study.claim).mechanism.statistics


def test_all_pairs_of_columns_are_counted_under_one_total(study):
    pairs = [tuple(sorted(column.name for column in one.by)) for one in statistics(study)]
    assert sorted(pairs) == list(combinations(sorted({name for pair in pairs for name in pair}), 2))
    theorem = subject_of(study.claim).proof(study.claim.guarantee.delta)
    assert 0.99 * 1.5 < point(theorem)[0] <= 1.5


def test_its_input_is_what_was_published_and_the_noise_of_the_plan(example, study, published, tmp_path):
    found = example.marginals(study, tmp_path)
    for one, planned in zip(found, study.plan().statistics, strict=True):
        assert one.deviation == planned.noise.scales["count"]
        for place, count in np.ndenumerate(one.counts):
            key = tuple(each[k] for each, k in zip(one.labels.values(), place, strict=True))
            assert published[planned.name][key] == count


def test_a_table_with_a_row_less_is_refused(example, study, published, tmp_path):
    path = tmp_path / "city-and-age.csv"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(ValueError, match="city and age lacks a combination of labels"):
        example.marginals(study, tmp_path)


@deep
def test_synthetic_records_have_the_published_tables(example, study, published, tmp_path):
    pytest.importorskip("mbi", reason="pip install mbi==2.0.0")
    tables = example.marginals(study, tmp_path)
    records = example.synthetic(tables)
    assert abs(len(records) - 1200) <= 20
    for name, counts in published.items():
        columns = list(next(one.labels for one, each in zip(tables, published, strict=True) if each == name))
        drawn = Counter(tuple(record[column] for column in columns) for record in records)
        off = sum(abs(drawn[key] - count) for key, count in counts.items())
        assert off <= 0.05 * 1200
    example.main(str(FOLDER / "two-way.toml"), str(tmp_path), str(tmp_path / "out.csv"))
    with (tmp_path / "out.csv").open(newline="") as file:
        assert set(csv.DictReader(file).fieldnames) == {"city", "age_group", "length"}
