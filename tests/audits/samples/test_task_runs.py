"""Audits of one's own functions as tasks: the same answer wherever they run, or one sentence."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress

import numpy as np
import pytest

from audits.consistency.hazards import NO_TEST
from audits.samples import task_runs
from audits.samples.task_runs import SandboxedRuns
from audits.subjects.code import Code
from audits.subjects.marks import NOT_RECORDED
from dpaccount.work import run as runner
from tests.depth import deep

SHOP = """
import warnings
from helped import SCALE
def leak(data, rng):
    print("printed")
    warnings.warn("reads the text of a module")
    from threading import Thread
    Thread(target=__import__, args=["sqlite3"]).start()
    from scipy import fft
    return round(float(data.sum()) + rng.laplace(scale=SCALE), 2)
def loose(data, rng):
    return float(data.sum() // 4 + rng.integers(9))
def mean(data, rng):
    return [float(data.sum()), "text", {"key": rng.normal(size=int(rng.integers(3)))}]
def crash(data, rng):
    import os
    if data.sum() > 1.5 and rng.random() < .02:
        os._exit(3)
    return float(rng.normal())
def slow(data, rng):
    import time
    time.sleep(.004)
    return leak(data, rng)
class Mechanism: pass
"""
DATA = ["--shape", 2, "--low", 0, "--high", 1, "--left", "[0,1]", "--right", "[1,1]"]
WORDS = ["--epsilon", 1, "--trials", 300, *DATA, "--json"]


@pytest.fixture(autouse=True)
def _own_process():
    """End the process that runs of this thread's tasks were made in."""
    yield
    task_runs._end_crew()


@pytest.fixture
def audit(dpaccount, tmp_path, monkeypatch):
    """Audit a function of a module of the working directory; return exit code, answer, last line."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "helped.py").write_text("SCALE = .5\n")

    def audited(use, *words, jobs=1, pair=True):
        given = WORDS if pair else [*WORDS[:-5], "--json"]
        code, out, err = dpaccount("audit", use, *given, "--jobs", jobs, *words)
        assert "printed" not in out + err
        answer = json.loads(out) if out else {}
        answer.pop("seconds", None)
        if answer and answer.get("witness"):  # where tasks run code, it is not marked, and the answer says so
            findings = answer["witness"]["findings"]
            assert answer["refuted"] or NOT_RECORDED in findings or not {"--backend", "--store"} & {*words}
            findings[:] = [each for each in findings if not each.startswith(NO_TEST)]
        return code, answer, (err.splitlines() or [""])[-1]

    return audited


def kept(store="work.db"):
    with (
        suppress(sqlite3.OperationalError),
        closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as file,
    ):
        return {tuple(row) for row in file.execute("SELECT series, digest FROM results")}
    return set()


@deep
@pytest.mark.parametrize("function", ["mean", "leak", "crash"])
def test_the_answer_is_the_same_wherever_runs_are_made(audit, monkeypatch, function):
    use, calls, honest = f"shop:{function}", [], runner.perform
    plain = audit(use, "--seconds", 1000)
    assert plain[1]["runs"] == 320
    monkeypatch.setattr(runner, "perform", lambda *given: (calls.append(given[1]), honest(*given))[1])
    for words in (("--backend", "serial"), ("--store", "work.db")):
        assert audit(use, *words)[:2] == plain[:2]
    calls.clear()
    assert audit(use, "--store", "work.db")[:2] == plain[:2]
    assert 0 < len(calls) < len(kept()) / 2  # what is compared
    whole = kept()
    with closing(sqlite3.connect("work.db")) as file, file:  # what a killed command leaves
        file.execute("DELETE FROM results WHERE rowid > 3")
    assert 0 < len(kept()) < len(whole)
    assert audit(use, "--store", "work.db")[:2] == plain[:2]
    assert kept() == whole


@deep
@pytest.mark.parametrize("words", [(), ("--store", "work.db"), ("--stop-early",)])
def test_the_answer_is_the_same_from_several_processes(audit, words):
    early = [word for word in words if word == "--stop-early"]
    plain = audit("shop:leak", "--seconds", 1000, *early)  # which no busy machine hurries
    assert audit("shop:leak", *words, "--backend", "loky", jobs=2)[:2] == plain[:2]


@deep
@pytest.mark.filterwarnings("ignore")
def test_the_answer_is_the_same_from_a_cluster(audit):
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster:
        there = audit("shop:leak", "--backend", "dask", "--scheduler", cluster.scheduler_address)
    assert there[:2] == audit("shop:leak", "--seconds", 1000)[:2]


@deep
def test_a_pair_is_searched_for_in_tasks_as_well(audit):
    plain = audit("shop:loose", "--seconds", 1000, pair=False)
    assert plain[1]["verdict"] == "NOT REFUTED"
    assert audit("shop:loose", "--backend", "serial", pair=False)[:2] == plain[:2]


@deep  # a store with some of the results: test_the_answer_is_the_same_wherever_runs_are_made
def test_killed_audits_go_on_to_the_same_answer(audit, tmp_path):
    command = [sys.executable, "-m", "dpaccount", "audit", "shop:slow", *map(str, WORDS), "--jobs", "1"]
    for groups in (4, 9):
        with subprocess.Popen([*command, "--store", "work.db"], stderr=subprocess.DEVNULL) as process:
            while process.poll() is None and len(kept()) < groups:
                time.sleep(0.05)
            process.send_signal(signal.SIGKILL)
        before = kept()
        assert len(before) >= groups
    assert audit("shop:slow", "--store", "work.db")[:2] == audit("shop:slow", "--seconds", 1000)[:2]
    assert before < kept()


@deep
def test_other_code_is_other_work(audit, tmp_path):
    audit("shop:leak", "--store", "work.db")
    before = {series for series, _ in kept()}
    (tmp_path / "helped.py").write_text("SCALE = .5  # as before\n")
    audit("shop:leak", "--store", "work.db")
    after = {series for series, _ in kept()}
    assert (before < after, len(after)) == (True, 2 * len(before))


RUNS = "def f(data, rng):\n    {}\n    return float(data.sum()) + rng.laplace()\n"
READS = "the archive's code reads what is no part of it"
BY_PATH = "from importlib.machinery import SourceFileLoader as By; By('helped', 'helped.py')"
REFUSED = [
    ("import pandas\n" + RUNS, "bad.py imports pandas, which is not in the archive"),
    ("try:\n    import pandas\nexcept ImportError:\n    pass\n" + RUNS, "bad.py imports pandas"),
    (RUNS.format("import importlib; importlib.import_module('pan' + 'das')"), "code imports pandas"),
    (RUNS.format("try: __import__('pandas')\n    except Exception: return 1.0"), "code imports pandas"),
    ("HERE = __file__\n" + RUNS, "bad.py: this reads __file__"),
    ("TEXT = open('/dev/null').read()\n" + RUNS, READS),
    (RUNS.format("import numpy as np; np.loadtxt('/dev/null') if data.sum() > 1 else 0"), READS),
    (RUNS.format("try: open('/no/such')\n    except OSError: return 1.0"), READS),
    (RUNS.format("import subprocess; subprocess.run(['true'])"), READS),
    (RUNS.format(f"{BY_PATH}.load_module()"), READS),
    (RUNS.format("from threading import Thread; Thread(target=open, args=['shop.py']).start()"), READS),
    (RUNS.format("import ctypes; ctypes.CDLL(None)"), READS),
    (RUNS.format("import sqlite3; sqlite3.connect('some.db').close()"), READS),
    (RUNS.format("import os; os.fork() or os._exit(0)"), READS),
    (RUNS.format("import os; os.posix_spawn('/bin/true', ['true'], dict())"), READS),
    (RUNS.format("while data.sum() > 1.5: pass"), "no answer within 0.5 seconds, which may be the machine's"),
    (RUNS.format("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"), "SIGKILL, which may be"),
    (RUNS.format("raise MemoryError"), "raises MemoryError, which may be"),
    ("1 / 0\n" + RUNS, "importing bad failed (ZeroDivisionError: division by zero)"),
    ("class f: pass\n", "bad:f is a class"),
    ("def other(data): pass\n", "has no function f"),
    ("from absent import x\n" + RUNS, "bad.py imports absent"),
]


@deep(quick_every=4)
@pytest.mark.parametrize(("source", "said"), REFUSED)
def test_what_cannot_travel_or_stands_for_itself_alone_is_refused(audit, tmp_path, source, said):
    (tmp_path / "bad.py").write_text(source.replace("{}", "pass"))
    code, answer, line = audit("bad:f", "--store", "work.db", "--seconds", 5)
    assert (code, answer) == (2, {})
    assert line.startswith("error: ")
    assert said in line


def test_a_run_that_reads_a_clock_ends_the_command(audit, tmp_path):
    (tmp_path / "bad.py").write_text(RUNS.format("import time; data = data + time.time_ns() % 1000"))
    code, answer, line = audit("bad:f", "--store", "work.db")
    assert (code, answer, kept()) == (70, {}, set())
    assert "audit bad:f: seeds 0 ... 0 gave two results" in line


def test_files_of_a_package_travel_and_no_others(tmp_path):
    for name, text in (
        ("pack/__init__.py", ""),
        ("pack/deep/__init__.py", "TEXT = 'stray'\n"),
        ("pack/deep/mine.py", "from ..beside import x\n" + RUNS.format("pass")),
        ("pack/beside.py", "x = 1\n"),
        ("stray.py", "import pandas\n"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    code = Code("pack.deep.mine:f", (str(tmp_path),)).travelling()
    assert "stray.py" not in dict(code.archive)
    assert SandboxedRuns(code, 60.0, (np.zeros(2),), None, ((0, 1, 6, 0),))(range(1)).shape[0] == 1
