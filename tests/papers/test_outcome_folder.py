"""Files that replace each other all at once: a summary never is next to files of another run."""

import resource
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from dpaccount.errors import InputError
from papers.outcome_folder import replacing
from tests.depth import deep

NAMES = ("table", "picture", "summary")
BYTES = 4096  #: that one file may have, as if the disk were full


@contextmanager
def full_disk():
    """Let this process write no file beyond `BYTES`: the system then refuses, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def write(folder, run, *names, size=1):
    with replacing(folder, *NAMES) as new:
        for name in names or NAMES:
            (new / name).write_text(run * size)


def read(folder):
    """Return the contents of every file, and of every folder a mark."""
    return {each.name: each.read_text() if each.is_file() else "folder" for each in folder.iterdir()}


def test_all_files_are_replaced_and_others_stay(tmp_path):
    write(tmp_path / "a" / "b", "1")
    (tmp_path / "a" / "b" / "notes").write_text("mine")
    write(tmp_path / "a" / "b", "2")
    assert read(tmp_path / "a" / "b") == {**dict.fromkeys(NAMES, "2"), "notes": "mine"}


def test_a_file_that_this_run_has_not_goes(tmp_path):
    write(tmp_path, "1")
    write(tmp_path, "2", "table", "summary")
    assert read(tmp_path) == {"table": "2", "summary": "2"}


def test_a_full_disk_leaves_the_former_files(tmp_path):
    write(tmp_path, "1")
    with full_disk(), pytest.raises(InputError, match="name a folder that can be written"):
        write(tmp_path, "2", size=2 * BYTES)
    assert read(tmp_path) == dict.fromkeys(NAMES, "1")


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_in_place_of_a_file_is_refused_before_anything_is_written(tmp_path, name):
    write(tmp_path, "1")
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match="this is a folder"):
        write(tmp_path, "2")
    assert read(tmp_path) == {**dict.fromkeys(NAMES, "1"), name: "folder"}


@pytest.mark.parametrize(
    "stop", [OSError(5, "Input/output error"), KeyboardInterrupt()], ids=["disk", "user"]
)
@pytest.mark.parametrize("moment", range(3))
def test_whatever_stops_it_while_files_are_replaced_leaves_no_summary(tmp_path, monkeypatch, stop, moment):
    write(tmp_path, "1")
    honest, calls = Path.replace, iter(range(9))

    def interrupted(self, target):
        if next(calls) == moment:
            raise stop
        return honest(self, target)

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises((InputError, KeyboardInterrupt)):
        write(tmp_path, "2")
    assert read(tmp_path) == {n: "2" if k < moment else "1" for k, n in enumerate(NAMES[:2])}


@deep
def test_files_of_two_runs_that_end_at_once_are_not_mixed(tmp_path, monkeypatch):
    """While one run has replaced its first file, another wants to replace all."""
    rename, others = Path.replace, []

    def renamed(self, target):
        found = rename(self, target)
        if not others:
            others.append(Thread(target=write, args=(tmp_path, "b")))
            others[0].start()
            others[0].join(0.2)
        return found

    monkeypatch.setattr(Path, "replace", renamed)
    write(tmp_path, "a")
    others[0].join(60)
    assert read(tmp_path) == dict.fromkeys(NAMES, "b")
