"""No rows are left in the temporary folder, however a program ends."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from mechanisms.table.private_folder import LOCK, PREFIX, private_folder, remove_left

PROGRAM = """
import os, sys, time
from mechanisms.table.private_folder import private_folder
with private_folder() as folder:
    (folder / "rows").write_text("private")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def ended(tmp_path, monkeypatch, root):
    """Return a function that ends a program by a signal while it has a folder, and returns its exit code."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def run(number):
        environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(root)}
        words = [sys.executable, "-c", PROGRAM]
        with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as process:
            folder = Path(process.stdout.readline().strip())
            assert (folder / "rows").read_text() == "private"
            remove_left()  # of a living process nothing is
            assert folder.exists()
            process.send_signal(number)
            return process.wait(timeout=20), folder

    return run


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_to_end_leaves_no_rows(ended, number):
    code, folder = ended(number)
    assert code not in (0, None)
    assert not folder.exists()


def test_what_a_kill_left_is_removed_with_the_next_folder(ended):
    _, folder = ended(signal.SIGKILL)
    assert folder.exists()
    with private_folder() as other:
        assert not folder.exists()
        assert other.stat().st_mode & 0o77 == 0
    assert not other.exists()


def test_folders_of_others_and_without_a_lock_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    new, link, theirs = (tmp_path / f"{PREFIX}{name}" for name in ("new", "link", "theirs"))
    new.mkdir()
    theirs.mkdir()
    (theirs / LOCK).touch()
    link.symlink_to(theirs)
    own = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: own + 1)
    remove_left()
    assert new.exists()
    assert theirs.exists()
    monkeypatch.setattr(os, "getuid", lambda: own)
    remove_left()
    assert new.exists()
    assert link.is_symlink()
    assert not theirs.exists()


def test_handlers_of_a_program_stay_its_own():
    mine = lambda *_: None  # noqa: E731
    before = signal.signal(signal.SIGTERM, mine)
    try:
        with private_folder():
            assert signal.getsignal(signal.SIGTERM) is mine
            assert signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
