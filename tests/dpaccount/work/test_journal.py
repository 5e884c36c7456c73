"""Journals: killed and continued anywhere, the same bytes; whatever else was changed is refused, or cut."""

import json
import os
import signal
import stat
from contextlib import suppress
from dataclasses import replace

import pytest

from dpaccount.errors import InputError
from dpaccount.work.journal import Journal, JournalKind
from tests.depth import deep
from tests.looped import looped

STATE = JournalKind(
    "dpaccount/a-test/1",
    ("name another", "name one that can be read"),
    busy=("{file} is in use", "wait"),
    damaged=("{name} is damaged", "restore it"),
    other=("{name} is of version {found}", "this reads 1"),
    exposed=("{file} can be read by others", "chmod 600 it"),
)
TOTALS = replace(STATE, again=True)
RUNS = replace(TOTALS, sync=1.0)
KINDS = {"state": STATE, "runs": RUNS, "totals": TOTALS}
EVENTS = [{"event": n, "text": "é\n" * n, "ratio": n / 7} for n in range(5)]


def work(path, kind, events=EVENTS):
    """Do what is not done yet of some work, event by event."""
    journal = Journal(path, {"about": 1}, kind)
    try:
        assert journal.events == events[: len(journal.events)]
        for event in events[len(journal.events) :]:
            journal.append(event)
    finally:
        journal.close()


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


def test_cut_at_any_byte_behind_its_head_it_goes_on_to_the_same_bytes(tmp_path, kind, monkeypatch):
    """A process can die in any write; what its file has lost is done again."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    path = tmp_path / "j"
    work(path, kind)
    whole = path.read_bytes()
    for size in range(whole.index(b"\n") + 1, len(whole)):
        path.write_bytes(whole[:size])
        work(path, kind)
        assert path.read_bytes() == whole


@deep
@looped("calls", range(1, 24))
def test_killed_at_any_call_of_the_system_it_goes_on_to_the_same_lines(tmp_path, kind, calls):
    """Also while it is made: by SIGKILL before a write, link, sync or lock of its."""
    path = tmp_path / str(calls) / "j"
    path.parent.mkdir()
    child = os.fork()
    if not child:
        count = 0

        def counted(call):
            def called(*given, **named):
                nonlocal count
                count += 1
                if count == calls:
                    os.kill(os.getpid(), signal.SIGKILL)
                return call(*given, **named)

            return called

        for name in ("open", "write", "link", "fsync", "unlink", "close"):
            setattr(os, name, counted(getattr(os, name)))
        work(path, replace(kind, sync=0.0))
        os._exit(0)
    killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert killed == (calls < 20)
    work(path, kind)
    assert [json.loads(line).get("event") for line in path.read_bytes().splitlines()] == [None, *range(5)]


def test_a_changed_line_is_refused_or_done_again(tmp_path, kind, monkeypatch):
    """What is written through line by line is no accident; of what is not, the rest is made anew."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    path = tmp_path / "j"
    work(path, kind)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    changes = [whole[:n] + bytes([whole[n] ^ 1]) + whole[n + 1 :] for n in range(0, len(whole) - 1, 3)]
    changes += [b"".join(lines[:2] + lines[3:]), b"".join([*lines, lines[1]])]
    changes += [b"".join([*lines[:-1], b'{"event": 4}\n']), b"".join([*lines, b"[]\n"])]
    for changed in changes:
        with suppress(ValueError):
            if list(map(json.loads, changed.splitlines())) == list(map(json.loads, lines)):
                continue  # the last digit of a float, which says the same
        path.write_bytes(changed)
        head = changed.startswith(lines[0])
        if kind.sync and head:
            work(path, kind)
            assert path.read_bytes() == whole
            continue
        with pytest.raises(InputError):
            work(path, kind)
        assert path.read_bytes() == changed  # nothing of it is lost
    for zeros in (1, 8, 4096):  # what a file system shows of blocks that a power failure lost
        path.write_bytes(whole + bytes(zeros))
        work(path, kind)
        assert path.read_bytes() == whole


def test_it_is_its_owners_alone_and_of_one_process(tmp_path, kind):
    path, old = tmp_path / "j", os.umask(0)
    try:
        journal = Journal(path, {}, kind)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["j"]
    with pytest.raises(InputError, match="is in use; wait"):
        Journal(path, {}, kind)
    journal.close()
    path.chmod(0o644)
    if not kind.again:
        with pytest.raises(InputError, match="can be read by others"):
            Journal(path, {}, kind)
        return
    Journal(path, {}, kind).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("raw", [b"", b"text", b"text\n", b'{"schema":"other"}\n', b"\0" * 9])
def test_a_file_of_something_else_is_left_alone(tmp_path, kind, raw):
    """An empty one is begun where nothing can be lost: `mktemp` made it, say."""
    path = tmp_path / "j"
    path.touch(0o600)
    path.write_bytes(raw)
    if kind.again and not raw:
        work(path, kind)
        assert json.loads(path.read_bytes().splitlines()[0])["schema"] == kind.schema
        return
    with pytest.raises(InputError):
        work(path, kind)
    assert path.read_bytes() == raw


def test_what_is_written_through_later_is_written_through(tmp_path, monkeypatch):
    """At most a second of runs is lost with the machine, and nothing once the file is closed."""
    synced, clock = [], iter(range(1000))
    monkeypatch.setattr(os, "fsync", synced.append)
    monkeypatch.setattr("time.monotonic", lambda: next(clock) / 4)
    journal = Journal(tmp_path / "j", {}, RUNS)
    for _ in range(40):
        journal.append({})
    assert 4 <= len(synced) - 2 <= 20
    synced.clear()
    journal.close()
    assert len(synced) == 1
