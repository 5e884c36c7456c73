"""`work list` and `prune`: what a store keeps, by kind or by part, and what is removed from it."""

import json
import shutil
import sqlite3
from contextlib import closing
from functools import partial
from tempfile import TemporaryDirectory

import pytest

from dpaccount.work.results import Results, kept_in
from dpaccount.work.run import NamedPlay, Series, run
from tests.looped import looped
from tests.planted.tasks import squares

SEEDS = 1200


@pytest.fixture
def store(tmp_path):
    """Return a store that keeps two works."""
    path = tmp_path / "kept.db"
    with kept_in(path):
        for factor in (1.0, 2.0):
            play = NamedPlay(f"squares {factor}", partial(squares, factor))
            run([Series(f"figure {factor}", play, range(SEEDS), 25)])
    return path


def listed(dpaccount, store):
    return json.loads(dpaccount("work", "list", "--store", store, "--json")[1])["work"]


def test_what_is_kept_is_listed_and_removed(dpaccount, store, monkeypatch):
    rows = listed(dpaccount, store)
    assert {row["name"]: row["seeds"] for row in rows} == {"figure 1.0": SEEDS, "figure 2.0": SEEDS}
    assert {row["current"] for row in rows} == {True}
    assert "this code" in dpaccount("work", "list", "--store", store)[1]
    digest = rows[0]["digest"]
    assert dpaccount("work", "prune", "--store", store)[1] == "removed 0\n"
    assert dpaccount("work", "prune", digest[:12], "--store", store)[1] == "removed 1\n"
    assert len(listed(dpaccount, store)) == 1
    with closing(Results(store)):
        assert dpaccount("work", "prune", digest[:12], "--store", store)[0] == 2
    monkeypatch.setattr("dpaccount.work.version.current", lambda: {"dpaccount": "of another time"})
    assert dpaccount("work", "prune", "--store", store)[1] == "removed 1\n"
    assert dpaccount("work", "list", "--store", store)[1] == "no work is kept\n"


@looped(("count", "left_out"), [(20, 0), (40, 9)])
def test_many_parts_are_listed_by_their_kind(dpaccount, store, count, left_out):
    """Sums are those of all parts; of more kinds than a terminal shows, it says how many are left out."""
    columns = "name || ?1, series || ?1, ?2, code, seeds, digest, result"
    copy = f"{columns} FROM results WHERE work = 'figure 1.0'"
    with TemporaryDirectory() as folder:
        many = shutil.copy(store, folder)
        with closing(sqlite3.connect(many)) as file, file:
            for number in range(count):
                name = f"kind {number}: a row" if number % 2 else f"rehearse {number}"
                file.execute(f"INSERT INTO results SELECT {copy}", (str(number), name))
        every = listed(dpaccount, many)
        assert dpaccount("work", "list", "--all", "--store", many)[1].count("\n") == len(every)
        *lines, last = dpaccount("work", "list", "--store", many)[1].splitlines()
    assert len(lines) == count // 2 + 3 - left_out  # kinds, rehearsals, the two works
    seen = sum(int(line.split(" seeds")[0].split()[-1]) for line in lines)
    assert seen == sum(row["seeds"] for row in every) - left_out * SEEDS
    assert last.startswith(f"{left_out} earlier kinds" if left_out else "--all")


WRONG = [
    (("list",), "name one with --store"),
    (("list", "--store", "text.db"), "not a database"),
    (("list", "--store", "no.db"), "there is no store"),
    (("prune", "--store", "text.db"), "not a database"),
    (("prune", "abc"), "too short"),
]


@pytest.mark.parametrize(("words", "said"), WRONG)
def test_what_is_wrong_is_one_sentence(dpaccount, tmp_path, words, said):
    (tmp_path / "text.db").write_text("no store\n" * 100)
    (tmp_path / "text.db").chmod(0o600)
    code, out, err = dpaccount("work", *words)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith("error: ")
    assert said in line
