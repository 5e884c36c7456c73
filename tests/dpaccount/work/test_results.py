"""The store: its owner's alone, append-only, never half-written, never pruned under a command."""

import hashlib
import os
import shutil
import sqlite3
import stat
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from dpaccount.errors import InputError
from dpaccount.work.results import FORMAT, Results, kept_in
from dpaccount.work.run import Series, run
from tests.planted import tasks

WORK = Series("made up", partial(tasks.squares, 1.0), range(20), 3)


@pytest.fixture(autouse=True)
def _ours(root, monkeypatch):
    """Let the planted tasks count as our own code, whose results are kept."""
    monkeypatch.setattr("dpaccount.work.described.folders", lambda: {"tests": str(root / "tests")})


def rows(path):
    with closing(sqlite3.connect(path)) as file, file:
        return file.execute("SELECT * FROM results ORDER BY name").fetchall()


# ------------------------------------------------------------------ whose it is


def test_a_store_is_readable_by_its_owner_alone_while_it_is_used_and_after(tmp_path):
    path, old = tmp_path / "work.db", os.umask(0)
    try:
        with kept_in(path):
            run([WORK])
        with closing(Results(path)):
            names = {each.name for each in tmp_path.iterdir()}
            modes = {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
    finally:
        os.umask(old)
    assert names == {"work.db", "work.db-wal", "work.db-shm"}
    assert modes == {0o600}


def linked(path):
    Results(path.with_name("other.db")).close()
    path.symlink_to("other.db")


def dangling(path):
    path.symlink_to("nowhere.db")


def readable(path):
    Results(path).close()
    path.chmod(0o640)


@pytest.mark.parametrize("make", [linked, dangling, readable, os.mkfifo, Path.mkdir])
def test_a_file_that_is_not_ones_own_alone_is_refused(make, tmp_path):
    make(tmp_path / "work.db")
    with kept_in(tmp_path / "work.db"), pytest.raises(InputError, match="a file of your own"):
        run([WORK])
    assert not (tmp_path / "nowhere.db").exists()


def test_a_log_that_somebody_put_beside_the_store_is_not_read(tmp_path):
    """SQLite takes a log beside a file for a part of it, whoever wrote it."""
    with closing(Results(tmp_path / "s")) as store:
        store.keep("a", b"true", 1, "series", "work", "code")
    shutil.copy(tmp_path / "s", tmp_path / "theirs")
    with closing(sqlite3.connect(tmp_path / "theirs", isolation_level=None)) as theirs:
        theirs.execute("PRAGMA journal_mode = WAL")
        theirs.execute(
            "UPDATE results SET result = ?, digest = ?", (b"false", hashlib.sha256(b"false").hexdigest())
        )
        planted = shutil.copyfile(tmp_path / "theirs-wal", tmp_path / "s-wal")
    planted.chmod(0o644)
    with pytest.raises(InputError, match="nobody else can use") as refused:
        Results(tmp_path / "s")
    assert "s-wal" in str(refused.value)
    planted.unlink()
    for end in ("-shm", "-journal"):
        beside = tmp_path / f"s{end}"
        beside.symlink_to(tmp_path / "nowhere")
        with pytest.raises(InputError, match="nobody else can use"):
            Results(tmp_path / "s")
        beside.unlink()
    with closing(Results(tmp_path / "s")) as store:
        assert [*store.added(lambda _: True)] == [("a", b"true")]


def test_a_file_of_another_owner_is_refused(tmp_path, monkeypatch):
    Results(tmp_path / "work.db").close()
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
    with pytest.raises(InputError, match="a file of your own"):
        Results(tmp_path / "work.db")


# ------------------------------------------------------------------ company


def test_what_a_command_uses_is_not_pruned_and_what_is_pruned_is_not_used(tmp_path):
    path = tmp_path / "work.db"
    with closing(Results(path)) as used:
        used.keep("one", b"one", 1, "series", "made up", "code")
        with pytest.raises(InputError, match="another command uses it"):
            Results(path, alone=True)
        assert len(rows(path)) == 1
    with closing(Results(path)) as used:
        used.keep("two", bytes(10**6), 1, "series", "made up", "code")
    with closing(Results(path, alone=True)) as pruning:
        pruning.remove(["series"])
        assert path.stat().st_size < 10**5
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dpaccount.work.results.PATIENCE", 0.1)
            with pytest.raises(InputError, match="another command uses it"):
                Results(path)
    with kept_in(path):
        run([WORK])
    assert len(rows(path)) == 7


def test_the_first_result_stays(tmp_path):
    with closing(Results(tmp_path / "work.db")) as results:
        assert results.keep("one", b"one", 3, "series", "made up", "code") == b"one"
        assert results.keep("one", b"two", 3, "series", "made up", "code") == b"one"


def test_what_others_add_is_seen_once(tmp_path):
    path = tmp_path / "work.db"
    with closing(Results(path)) as here, closing(Results(path)) as there:
        there.keep("one", b"1", 1, "series", "made up", "code")
        assert dict(here.added(lambda _: True)) == {"one": b"1"}
        there.keep("two", b"2", 1, "series", "made up", "code")
        assert dict(here.added(lambda _: True)) == {"two": b"2"}
        assert dict(here.added(lambda _: True)) == {}


def test_no_clock_is_kept(tmp_path):
    """Two commands that do the same work leave the same rows, but for their order."""
    for name in ("one.db", "two.db"):
        with kept_in(tmp_path / name):
            run([WORK])
    assert rows(tmp_path / "one.db") == rows(tmp_path / "two.db")


# ------------------------------------------------------------------ stores that cannot be used


def other_program(path):
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TABLE something (x)")
    path.chmod(0o600)


def text(path):
    path.write_text("some text\n" * 100)
    path.chmod(0o600)


def other_edition(path):
    Results(path).close()
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(f"PRAGMA application_id = {FORMAT + 1}")


def damaged(path):
    with kept_in(path):
        run([WORK])
    raw = bytearray(path.read_bytes())
    raw[200:] = bytes(len(raw) - 200)
    path.write_bytes(raw)


def changed(path):
    with kept_in(path):
        run([WORK])
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE results SET result = zeroblob(50) WHERE rowid = 3")


UNUSABLE = {
    "no database": (text, "not a database"),
    "another program's": (other_program, "no store of results"),
    "another edition": (other_edition, "another edition"),
    "damaged": (damaged, "malformed|not a database|no store"),
    "changed": (changed, "does not read as it was written"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_a_store_that_cannot_be_used_is_one_sentence(case, tmp_path):
    make, said = UNUSABLE[case]
    path = tmp_path / "work.db"
    make(path)
    with kept_in(path), pytest.raises(InputError, match=said) as found:
        run([WORK])
    assert "\n" not in str(found.value)


def test_a_full_disk_is_one_sentence_and_the_work_goes_on_later(tmp_path, monkeypatch):
    path, keep = tmp_path / "work.db", Results.keep

    def full(results, *given):
        results._asked("PRAGMA max_page_count = 14")
        return keep(results, *given)

    work = Series("wide", partial(tasks.wide, 1.0), range(20), 3)
    with kept_in(path):
        monkeypatch.setattr(Results, "keep", full)
        with pytest.raises(InputError, match="full; see to it") as found:
            run([work])
        assert "nothing half-written" in str(found.value)
        before = len(rows(path))
        monkeypatch.setattr(Results, "keep", keep)
        (done,) = run([work])
    assert 0 < before < 7
    assert done.tobytes() == np.outer(np.arange(20.0), np.ones(400)).tobytes()


def test_a_store_in_a_folder_that_is_not_there_is_refused(tmp_path):
    with kept_in(tmp_path / "nowhere" / "work.db"), pytest.raises(InputError, match="No such file"):
        run([WORK])


def test_a_folder_without_permission_is_refused_at_once(tmp_path, monkeypatch):
    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.open", denied)
    with kept_in(tmp_path / "work.db"), pytest.raises(InputError, match="Permission denied"):
        run([WORK])
