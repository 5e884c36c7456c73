"""Figures and experiments that keep what they do: the same answer again, after kills too, or one sentence."""

import json
import os
import random
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from itertools import count

import pytest

from dpaccount.work import run as runner
from tests.depth import deep

FIGURE = ("reproduce", "kharkovskii2020-figure2c", "--trials", 2, "--rounds", 32, "--json", "--jobs", 1)
EXPERIMENT = """
schema = "dpaccount/experiment/1"
name = "people"
trials = 20
rounds = 128
[[world]]
use = "people"
[[algorithm]]
use = "uniform"
[[algorithm]]
use = "phased-gp-ucb"
parameters = { epsilon = [1, 2], delta = 1e-6 }
"""
LONG = {
    "figure": ("reproduce", "kharkovskii2020-figure2c", "--trials", "40", "--rounds", "40"),
    "run": ("run", "people.toml"),
}


def timeless(out):
    return {key: value for key, value in json.loads(out).items() if not key.endswith("seconds")}


@pytest.fixture
def done(monkeypatch):
    """Return the groups that were done, as they are done."""
    seen, honest = [], runner.perform
    monkeypatch.setattr(runner, "perform", lambda *given: (seen.append(given[1]), honest(*given))[1])
    return seen


def test_the_same_figure_does_nothing_twice_and_prints_the_same(dpaccount, tmp_path, done):
    """What is kept is not done again, whole or after a kill."""
    store = tmp_path / "kept.db"
    code, first, _ = dpaccount(*FIGURE, "--store", store)
    groups = len(set(done))
    done.clear()
    assert (code, timeless(dpaccount(*FIGURE, "--store", store)[1])) == (0, timeless(first))
    assert len(done) == -(-groups // runner.AGAIN)  # what is compared
    with closing(sqlite3.connect(store)) as file, file:  # as if it had been killed in the middle
        file.execute("DELETE FROM results WHERE rowid % 2")
    done.clear()
    assert timeless(dpaccount(*FIGURE, "--store", store)[1]) == timeless(first)
    assert groups // 2 < len(done) < groups


def test_nothing_is_kept_unless_it_is_asked_for(dpaccount, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert dpaccount(*FIGURE)[0] == 0
    assert [*tmp_path.iterdir()] == []
    monkeypatch.setenv("DPACCOUNT_STORE", "kept.db")
    assert dpaccount(*FIGURE)[0] == 0
    assert [each.name for each in tmp_path.iterdir()] == ["kept.db"]


WRONG = [
    ((*FIGURE, "--store", "text.db"), "not a database"),
    ((*FIGURE, "--store", "nowhere/x.db"), "No such file"),
    ((*FIGURE, "--store", "open.db"), "a file of your own"),
    ((*FIGURE, "--scheduler", "127.0.0.1:1"), "belong together"),
    ((*FIGURE, "--backend", "dask"), "belong together"),
    ((*FIGURE, "--backend", "ray"), "--backend"),
    ((*FIGURE[:-1], "0"), "--jobs"),
]


@pytest.mark.parametrize(("words", "said"), WRONG)
def test_what_is_wrong_is_one_sentence(dpaccount, tmp_path, words, said):
    for name, mode in (("text.db", 0o600), ("open.db", 0o644)):
        (tmp_path / name).write_text("no store\n" * 100)
        (tmp_path / name).chmod(mode)
    code, out, err = dpaccount(*words)
    assert (code, out) == (2, "")
    (line,) = [line for line in err.splitlines() if not line.startswith("{")]
    assert line.startswith("error: ")
    assert said in line


def test_a_run_that_is_not_pure_ends_the_command(dpaccount, tmp_path, monkeypatch):
    """As if a result came from elsewhere than from its seed."""
    calls, honest = count(), runner._simulated
    monkeypatch.setattr(runner, "_simulated", lambda *given: honest(*given) + next(calls))
    code, out, err = dpaccount(*FIGURE, "--store", tmp_path / "kept.db")
    assert (code, out) == (70, "")
    assert "gave two results, so nothing of this work is kept" in err


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

    def words_of(size):
        return [size if word == "40" else word for word in (*LONG["figure"], "--json")]

    def on_the_cluster(store, lost, size):
        words = [*words_of(size), *there, "--store", str(store)]
        process = started(root, ["dpaccount", *words], subprocess.PIPE)
        with process:
            while process.poll() is None and not kept(store):
                time.sleep(0.01)
            lost.kill()
            out, err = process.communicate()
        return process.returncode, out, err

    code, out, err = on_the_cluster(tmp_path / "there.db", crew[0], "32")
    assert code == 0, err
    assert timeless(out) == timeless(dpaccount(*words_of("32"), "--jobs", 1)[1])
    code, out, err = on_the_cluster(tmp_path / "gone.db", scheduler, "60")
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
    words = [*map(str, FIGURE), "--backend", "dask", "--scheduler", address]
    with started(
        root, ["dpaccount", *words, "--store", str(tmp_path / "one.db")], subprocess.PIPE
    ) as process:
        out, err = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert "fewer than two threads" in err


@deep
@pytest.mark.parametrize("backend", ["serial", "loky", "dask"])
@pytest.mark.parametrize("what", LONG)
def test_ten_random_kills_leave_the_same_answer_results_and_files(root, tmp_path, request, what, backend):
    """What a command that was killed ten times answers, keeps and writes in the end is what it does whole."""
    (tmp_path / "people.toml").write_text(EXPERIMENT)
    rng, more = random.Random(f"{what} {backend}"), ["--backend", backend, "--jobs", "2"]
    if backend == "dask":
        more = ["--backend", "dask", "--scheduler", request.getfixturevalue("cluster")[0]]

    def begun(name, words, output=subprocess.PIPE):
        words = ["dpaccount", *LONG[what], *words, "--json", "--store", f"{name}.db", "--out", name]
        return started(root, words, output, tmp_path)

    def ended(name, words):
        with begun(name, words) as process:
            out, err = process.communicate()
        assert process.returncode == 0, err
        with closing(sqlite3.connect(tmp_path / f"{name}.db")) as file:
            rows = sorted(file.execute("SELECT name, result FROM results"))
        folder = tmp_path / name
        written = {each.name: each.read_bytes() for each in folder.glob("*")}
        if what == "figure":  # it says how long it took
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
