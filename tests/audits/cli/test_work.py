"""`work list` and `prune`, and commands that keep what they do: the same answer again, or one sentence."""

import json
import os
import random
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from tempfile import TemporaryDirectory

import pytest

from audits.attack import white_box
from dpaccount.work import run as runner
from dpaccount.work.results import Results
from tests.depth import deep
from tests.looped import looped

AUDIT = ("audit", "laplace-sum", "--epsilon", 0.5, "--trials", 1200, "--json", "--jobs", 1)


def timeless(out):
    return {key: value for key, value in json.loads(out).items() if not key.endswith("seconds")}


@pytest.fixture
def done(monkeypatch):
    """Return the groups that were done, as they are done."""
    seen, honest = [], runner.perform
    monkeypatch.setattr(runner, "perform", lambda *given: (seen.append(given[1]), honest(*given))[1])
    return seen


@deep
def test_the_same_command_does_nothing_twice_and_prints_the_same(dpaccount, tmp_path, done):
    is_done_once(dpaccount, tmp_path, done, AUDIT)


def is_done_once(dpaccount, tmp_path, done, words):
    """Run a command that keeps its work again, whole and after a kill: what is kept is not done again."""
    store = tmp_path / "kept.db"
    code, first, _ = dpaccount(*words, "--store", store)
    groups = len(set(done))
    done.clear()
    assert (code, timeless(dpaccount(*words, "--store", store)[1])) == (0, timeless(first))
    assert len(done) == -(-groups // runner.AGAIN)  # what is compared
    with closing(sqlite3.connect(store)) as file, file:  # as if it had been killed in the middle
        file.execute("DELETE FROM results WHERE rowid % 2")
    done.clear()
    assert timeless(dpaccount(*words, "--store", store)[1]) == timeless(first)
    assert groups // 2 < len(done) < groups


@deep
def test_nothing_is_kept_unless_it_is_asked_for(dpaccount, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert dpaccount(*AUDIT)[0] == 0
    assert [*tmp_path.iterdir()] == []
    monkeypatch.setenv("DPACCOUNT_STORE", "kept.db")
    assert dpaccount(*AUDIT)[0] == 0
    assert [each.name for each in tmp_path.iterdir()] == ["kept.db"]


@deep
def test_what_is_kept_is_listed_and_removed(dpaccount, tmp_path, monkeypatch):
    store = tmp_path / "kept.db"
    dpaccount(*AUDIT, "--store", store)
    code, out, _ = dpaccount("work", "list", "--store", store, "--json")
    rows = json.loads(out)["work"]
    assert (code, {row["name"] for row in rows}, {row["current"] for row in rows}) == (
        0,
        {"audit LaplaceSum"},
        {True},
    )
    assert sum(row["seeds"] for row in rows) == 1200
    assert "this code" in dpaccount("work", "list", "--store", store)[1]
    digest = rows[0]["digest"]
    assert dpaccount("work", "prune", "--store", store)[1] == "removed 0\n"
    assert dpaccount("work", "prune", digest[:12], "--store", store)[1] == "removed 1\n"
    assert len(json.loads(dpaccount("work", "list", "--store", store, "--json")[1])["work"]) == 1
    with closing(Results(store)):
        assert dpaccount("work", "prune", digest[:12], "--store", store)[0] == 2
    monkeypatch.setattr("dpaccount.work.version.current", lambda: {"dpaccount": "of another time"})
    assert dpaccount("work", "prune", "--store", store)[1] == "removed 1\n"
    assert dpaccount("work", "list", "--store", store)[1] == "no work is kept\n"


@pytest.fixture
def audited(dpaccount, tmp_path, monkeypatch):
    """Return a store that keeps one audit."""
    monkeypatch.setattr("audits.api.on_subject.EXAMPLES", 8)  # to find the pair, of which nothing is kept
    dpaccount(*AUDIT, "--store", tmp_path / "audit.db")
    return tmp_path / "audit.db"


@deep
@looped(("count", "left_out"), [(20, 0), (40, 8)])
def test_many_parts_are_listed_by_their_kind(dpaccount, audited, count, left_out):
    """Sums are those of all parts; of more kinds than a terminal shows, it says how many are left out."""
    copy = "name || ?1, series || ?1, ?2, code, seeds, digest, result FROM results WHERE work LIKE 'audit%'"
    with TemporaryDirectory() as folder:
        store = shutil.copy(audited, folder)
        with closing(sqlite3.connect(store)) as file, file:
            for number in range(count):
                name = f"kind {number}: a row" if number % 2 else f"rehearse {number}"
                file.execute(f"INSERT INTO results SELECT {copy}", (str(number), name))
        every = json.loads(dpaccount("work", "list", "--store", store, "--json")[1])["work"]
        assert dpaccount("work", "list", "--all", "--store", store)[1].count("\n") == len(every)
        *lines, last = dpaccount("work", "list", "--store", store)[1].splitlines()
    assert len(lines) == count // 2 + 2 - left_out  # kinds, rehearsals, the audit
    seen = sum(int(line.split(" seeds")[0].split()[-1]) for line in lines)
    assert seen == sum(row["seeds"] for row in every) - left_out * 1200
    assert last.startswith(f"{left_out} earlier kinds" if left_out else "--all")


OWN = ("mine:function", "--epsilon", 1, "--shape", 5, "--low", 0, "--high", 1)
WRONG = [
    ((*AUDIT, "--store", "text.db"), "not a database"),
    ((*AUDIT, "--store", "nowhere/x.db"), "No such file"),
    ((*AUDIT, "--store", "open.db"), "a file of your own"),
    (("work", "list"), "name one with --store"),
    ((*AUDIT, "--scheduler", "127.0.0.1:1"), "belong together"),
    ((*AUDIT, "--backend", "dask"), "belong together"),
    (("audit", *OWN, "--store", "new.db", "--keep", "k"), "are for catalogued subjects"),
    (("audit", *OWN, "--backend", "loky", "--python", sys.executable), "are for catalogued subjects"),
    (("audit", "svt-1", "--epsilon", 1, "--store", "new.db"), "are for catalogued"),
    (("audit", "--command", "true {seed} {data}", *OWN[1:], "--backend", "loky"), "are for catalogued"),
    ((*AUDIT, "--backend", "ray"), "--backend"),
    ((*AUDIT[:-1], "0"), "--jobs"),
    (("work", "list", "--store", "text.db"), "not a database"),
    (("work", "list", "--store", "no.db"), "there is no store"),
    (("work", "prune", "--store", "text.db"), "not a database"),
    (("work", "prune", "abc"), "too short"),
]


@deep
@pytest.mark.parametrize(("words", "said"), WRONG)
def test_what_is_wrong_is_one_sentence(dpaccount, tmp_path, words, said):
    is_refused(dpaccount, tmp_path, words, said)


def is_refused(dpaccount, tmp_path, words, said):
    """Run a command that is wrong, beside two files that are no stores: it is one sentence."""
    for name, mode in (("text.db", 0o600), ("open.db", 0o644)):
        (tmp_path / name).write_text("no store\n" * 100)
        (tmp_path / name).chmod(mode)
    code, out, err = dpaccount(*words)
    assert (code, out) == (2, "")
    (line,) = [line for line in err.splitlines() if not line.startswith("{")]
    assert line.startswith("error: ")
    assert said in line


@deep
def test_a_run_that_is_not_pure_ends_the_command(dpaccount, tmp_path, monkeypatch):
    """As if the noise of a run came from elsewhere than from its number."""
    honest = white_box._sampler
    monkeypatch.setattr(white_box, "_sampler", lambda world, seed, _: honest(world, seed, next(CALLS)))
    code, out, err = dpaccount(*AUDIT, "--store", tmp_path / "kept.db")
    assert (code, out) == (70, "")
    assert "gave two results, so nothing of this work is kept" in err
    assert json.loads(dpaccount("work", "list", "--store", tmp_path / "kept.db", "--json")[1])["work"] == []


@deep
def test_a_run_without_memory_is_no_score(dpaccount, tmp_path, monkeypatch):
    """It would have counted as a score of 0, on one side more than on the other: a false REFUTED."""
    honest, calls = white_box.record, iter(range(10**9))

    def short_of_memory(*given):
        if next(calls) % 400 > 300:
            raise MemoryError
        return honest(*given)

    monkeypatch.setattr(white_box, "record", short_of_memory)
    code, out, err = dpaccount(*AUDIT, "--store", tmp_path / "kept.db")
    assert (code, out) == (2, "")
    assert "error: a task failed: MemoryError" in err
    monkeypatch.setattr(white_box, "record", honest)
    assert timeless(dpaccount(*AUDIT, "--store", tmp_path / "kept.db")[1]) == timeless(dpaccount(*AUDIT)[1])


CALLS = iter(range(10**9))


# ------------------------------------------------------------------ a cluster


def started(root, words, output=subprocess.DEVNULL, folder=None):
    return subprocess.Popen(
        [sys.executable, "-m", *words],
        cwd=folder or root,
        stdout=output,
        stderr=output,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    )


@pytest.fixture
def cluster(root):
    """Return the address of a scheduler, its process, and those of its three workers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address, quiet = f"127.0.0.1:{port}", "--no-dashboard"
    scheduler = started(root, ["distributed.cli.dask_scheduler", "--port", str(port), quiet])
    for _ in range(600):  # a worker that began first could take the port itself
        with socket.socket() as asked:
            if asked.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    words = ["distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", quiet]
    crew = [started(root, words) for _ in range(3)]
    yield address, scheduler, crew
    for process in (*crew, scheduler):
        process.kill()
        process.wait()


@deep
def test_a_cluster_that_loses_a_worker_and_then_itself(dpaccount, root, tmp_path, cluster):
    """The same answer as here while workers are left; one sentence when the scheduler is gone, or they are."""
    address, scheduler, crew = cluster
    there = ["--backend", "dask", "--scheduler", address]

    def on_the_cluster(store, lost, trials):
        words = [trials if word == "1200" else word for word in map(str, AUDIT[:-2])]
        process = started(root, ["dpaccount", *words, *there, "--store", str(store)], subprocess.PIPE)
        with process:
            while process.poll() is None and not kept(store):
                time.sleep(0.01)
            lost.kill()
            out, err = process.communicate()
        return process.returncode, out, err

    code, out, err = on_the_cluster(tmp_path / "there.db", crew[0], "1200")
    assert code == 0, err
    assert timeless(out) == timeless(dpaccount(*AUDIT, "--store", tmp_path / "here.db")[1])
    code, out, err = on_the_cluster(tmp_path / "gone.db", scheduler, "400000")
    assert (code, out) == (2, "")
    (line,) = [line for line in err.splitlines() if not line.startswith("{")]
    assert line.startswith("error: workers were lost")


@deep
def test_a_cluster_of_one_thread_is_refused(root, tmp_path, cluster):
    """Joblib would do all of it in the command, and say nothing."""
    address, _, crew = cluster
    for worker in crew[1:]:
        worker.kill()
        worker.wait()
    words = [
        *map(str, AUDIT),
        "--backend",
        "dask",
        "--scheduler",
        address,
        "--store",
        str(tmp_path / "one.db"),
    ]
    with started(root, ["dpaccount", *words], subprocess.PIPE) as process:
        out, err = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert "fewer than two threads" in err


BACKENDS = ("serial", "loky", "dask")
LONG = ("audit", "laplace-sum", "--epsilon", "0.5", "--trials", "10000")


@deep
@pytest.mark.parametrize("backend", BACKENDS)
def test_ten_random_kills_leave_the_same_answer_results_and_files(root, tmp_path, request, backend):
    is_continued(root, tmp_path, request, LONG, backend)


def is_continued(root, tmp_path, request, long, backend):
    """Kill a command ten times at random: what it answers, keeps and writes in the end is what it does whole."""
    what, *_ = long
    rng, more = random.Random(f"{what} {backend}"), ["--backend", backend, "--jobs", "2"]
    if backend == "dask":
        more = ["--backend", "dask", "--scheduler", request.getfixturevalue("cluster")[0]]

    def begun(name, words, output=subprocess.PIPE):
        out = ["--out", name] if what != "audit" else []
        words = ["dpaccount", *long, *words, "--json", "--store", f"{name}.db", *out]
        return started(root, words, output, tmp_path)

    def ended(name, words):
        with begun(name, words) as process:
            out, err = process.communicate()
        assert process.returncode == 0, err
        with closing(sqlite3.connect(tmp_path / f"{name}.db")) as file:
            rows = sorted(file.execute("SELECT name, result FROM results"))
        folder = tmp_path / name
        written = {each.name: each.read_bytes() for each in folder.glob("*")}
        if what == "reproduce":  # it says how long it took
            written["summary.json"] = timeless(written["summary.json"])
        return timeless(out), rows, written

    whole = ended("whole", ["--backend", "serial"])
    trail = [0]
    for _ in range(10):
        process = begun("killed", more, subprocess.DEVNULL)  # a pipe would stay open in its workers
        aim = trail[-1] + rng.randrange(1, len(whole[1]) // 10)
        while process.poll() is None and kept(tmp_path / "killed.db") < aim:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.05))
        process.kill()
        process.wait()
        trail.append(kept(tmp_path / "killed.db"))
    assert trail == sorted(trail)
    assert trail[-1] < len(whole[1])
    assert len(set(trail)) > 6
    assert ended("killed", more) == whole


def kept(store):
    try:
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as file:
            return file.execute("SELECT count(*) FROM results").fetchone()[0]
    except sqlite3.OperationalError:
        return 0
