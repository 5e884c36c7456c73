"""Kept runs: a killed audit goes on to the same answer, and a file of other runs is refused."""

import json
import signal
import subprocess
import sys
import time
from fractions import Fraction

import numpy as np
import pytest

from audits.api.on_code.processes import crew_of
from audits.api.requests import Audit
from audits.claim import AuditPlan
from audits.datasets.forms import CodedColumn, Layout
from audits.samples.kept_runs import KeepingCrew, _unpacked, kept_runs
from audits.sandbox.crew import Crew
from audits.sandbox.outcomes import of_value
from audits.subjects.code import Code
from dpaccount.errors import InputError
from tests.depth import deep

ASKED = {"claim": "1", "seed": "1"}
SHOP = "def leak(data, rng): return round(float(data.sum()) + rng.laplace(scale=.5), 2)\n"
WORDS = ["audit", "shop:leak", "--epsilon", "1", "--trials", "300", "--seconds", "1e5", "--shape", "2"]
WORDS += ["--low", "0", "--high", "1", "--left", "[0,0]", "--right", "[0,1]", "--json", "--jobs", "2"]


def answer_of(text):
    answer = json.loads(text)
    answer.pop("seconds")
    return answer


def runs_in(path):
    """Return the outcomes in a file of runs, in order: how many stand in a line depends on their pace."""
    lines = map(json.loads, path.read_bytes().rpartition(b"\n")[0].splitlines())
    return [run.key() for line in lines if "runs" in line for run in _unpacked(line["runs"][1])]


def test_a_file_of_other_runs_is_refused(tmp_path):
    kept_runs(tmp_path / "k", ASKED).close()
    with pytest.raises(InputError, match="another seed"):
        kept_runs(tmp_path / "k", {**ASKED, "seed": "2"})
    (tmp_path / "text").write_text("claim = 1\n" * 9)
    with pytest.raises(InputError, match="no kept runs"):
        kept_runs(tmp_path / "text", ASKED)
    assert (tmp_path / "text").read_text() == "claim = 1\n" * 9
    with pytest.raises(InputError, match="directory"):
        kept_runs(tmp_path, ASKED)
    held = kept_runs(tmp_path / "k", ASKED)
    with pytest.raises(InputError, match="another audit"):
        kept_runs(tmp_path / "k", ASKED)
    held.close()


def test_the_code_of_kept_runs_is_all_that_decides(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pack").mkdir()
    files = {
        "shop.py": "import prices\nfrom pack import more\n",
        "prices.py": "",
        "pack/__init__.py": "",
        "pack/more.py": "from . import deep\n",
        "pack/deep.py": "",
        "other.py": "",
        "prog.sh": "",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    seen = {file.relative_to(tmp_path).as_posix() for file in Code("shop:f", (str(tmp_path),)).files()}
    assert seen == {*files} - {"other.py", "prog.sh"}
    deep = {file.relative_to(tmp_path).as_posix() for file in Code("pack.more:f", (str(tmp_path),)).files()}
    assert deep == {"pack/__init__.py", "pack/more.py", "pack/deep.py"}
    for command in ("sh prog.sh {seed} {data}", "./prog.sh {data}", "sh -c 'exec sh prog.sh {data}'"):
        named = [file.resolve() for file in Code(command, (), command=command).files()]
        assert tmp_path / "prog.sh" in named, command


def test_data_that_reach_the_function_in_another_form_are_other_data(tmp_path, monkeypatch):
    monkeypatch.setattr(Crew, "__init__", lambda *_, **__: None)
    monkeypatch.setattr(Crew, "set_datasets", lambda *_: None)
    monkeypatch.setattr(Crew, "_delayed", lambda _: 0.0)

    def keep(layout):
        kept = kept_runs(tmp_path / "k", ASKED)
        crew = KeepingCrew(Code("shop:f", ()), kept, seconds=1.0)
        crew.layout = layout
        try:
            crew.set_datasets([np.zeros((2, 2))])
        finally:
            kept.close()

    keep(Layout("dict", (CodedColumn("city", "category", ("north", "south")),)))
    keep(Layout("dict", (CodedColumn("city", "category", ("north", "south")),)))
    for other in (None, Layout("dict", (CodedColumn("city", "category", ("up", "down")),))):
        with pytest.raises(InputError, match="other data"):
            keep(other)


@pytest.fixture
def made(monkeypatch):
    """Make runs without processes: each gives the last word of its seed."""

    def init(self, *_, seconds, jobs):
        self.seconds, self.jobs, self._chunk_size = seconds, jobs, 3
        self._processes, self._delay, self._until = [], 0.0, time.monotonic() + seconds

    monkeypatch.setattr(Crew, "__init__", init)
    last = lambda _, plays: [of_value(float(play[-1])) for play in plays]  # noqa: E731
    monkeypatch.setattr(Crew, "_run_plays", last)


def outcomes(path, plays):
    kept = kept_runs(path, ASKED)
    crew = KeepingCrew(Code("shop:f", ()), kept, seconds=9.0, jobs=2)
    try:
        return [outcome.numbers.tolist() for outcome in crew._run_plays(plays)]
    finally:
        kept.close()


@pytest.mark.usefixtures("made")
def test_kept_runs_answer_for_the_same_runs_alone(tmp_path):
    """Others, or fewer than a record has, would be told of other runs: a false verdict."""
    plays = [(n % 2, 1, 6, n) for n in range(15)]
    found = outcomes(tmp_path / "k", plays)
    assert found == [[float(n)] for n in range(15)]
    whole = (tmp_path / "k").read_bytes()
    assert outcomes(tmp_path / "k", plays) == found
    assert (tmp_path / "k").read_bytes() == whole  # nothing was made again
    others = [
        plays[:1],
        plays[:5],
        plays[:7],
        plays[1:],
        plays[::-1],
        [(1 - play[0], *play[1:]) for play in plays],
    ]
    for other in others:
        with pytest.raises(InputError, match="these runs were kept of others than are asked for"):
            outcomes(tmp_path / "k", other)
        assert (tmp_path / "k").read_bytes() == whole
    assert outcomes(tmp_path / "k", [*plays, (0, 1, 6, 15)]) == [*found, [15.0]]


@pytest.mark.usefixtures("made")
def test_the_number_of_jobs_is_a_part_of_what_was_asked(tmp_path, monkeypatch):
    """How many runs an attack makes, and in which blocks, follows from it."""

    def begun(jobs, processors):
        monkeypatch.setattr("os.cpu_count", lambda: processors)
        plan = AuditPlan()
        question = Audit("shop:f", Fraction(1), Fraction(0), plan, jobs=jobs, keep=tmp_path / "k")
        crew_of(Code("shop:f", ()), question)._kept.close()

    begun(4, 2)
    begun(4, 2)
    for jobs, processors in ((1, 2), (3, 2), (5, 2), (4, 1), (4, 8)):
        with pytest.raises(InputError, match=r"another number of jobs \(4, of which 2 at once\)"):
            begun(jobs, processors)


@deep
def test_the_same_command_goes_on_and_another_is_refused(dpaccount, tmp_path):
    (tmp_path / "shop.py").write_text(SHOP)
    code, out, _ = dpaccount(*WORDS)
    _, kept, _ = dpaccount(*WORDS, "--keep", "runs.kept")
    assert answer_of(out) == answer_of(kept)
    whole = (tmp_path / "runs.kept").read_bytes()
    for part in (0.5, 1):  # whatever is lost of the end
        (tmp_path / "runs.kept").write_bytes(whole[: int(part * len(whole))])
        assert answer_of(dpaccount(*WORDS, "--keep", "runs.kept")[1]) == answer_of(out)
    others = {
        "another seed": ["--seed", "2"],
        "another claim": ["--epsilon", "2"],
        "another effort": ["--trials", "61"],
        "other data": ["--right", "[1,0]"],
        "another number of jobs (2, of which": ["--jobs", "3"],
    }
    for said, words in others.items():
        given = [*WORDS, "--keep", "runs.kept"]
        given[given.index(words[0]) + 1 if words[0] in given else len(given) :][:1] = []
        if words[0] in given:
            given[given.index(words[0]) + 1] = words[1]
        else:
            given += words
        code, out, err = dpaccount(*given)
        assert (code, out) == (2, ""), said
        assert said in err
    (tmp_path / "shop.py").write_text(SHOP.replace(".5", ".4"))
    assert "another code" in dpaccount(*WORDS, "--keep", "runs.kept")[2]


@deep
@pytest.mark.parametrize("share", [0.1, 0.4, 0.8])
def test_killed_it_gives_the_answer_of_the_undisturbed_run(dpaccount, tmp_path, share):
    """By kill -9, at three sizes of the kept runs."""
    (tmp_path / "shop.py").write_text("import time\n" + SHOP.replace("return", "time.sleep(.003); return"))
    kept = tmp_path / "runs.kept"
    _, undisturbed, _ = dpaccount(*WORDS, "--keep", kept.name)
    whole, runs = kept.stat().st_size, runs_in(kept)
    kept.unlink()
    command = [sys.executable, "-m", "dpaccount", *WORDS, "--keep", kept.name]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        until = time.monotonic() + 60
        while child.poll() is None and time.monotonic() < until:
            if kept.exists() and kept.stat().st_size > share * whole:
                break
            time.sleep(0.005)
        child.kill()
    assert child.returncode == -signal.SIGKILL
    assert share * whole < kept.stat().st_size
    assert runs_in(kept) == runs[: len(runs_in(kept))]
    assert answer_of(dpaccount(*WORDS, "--keep", kept.name)[1]) == answer_of(undisturbed)
    assert runs_in(kept) == runs


@deep
@pytest.mark.statistical(0.05)
@pytest.mark.parametrize(("name", "quiet"), [("leak", "REFUTED"), ("sound", "NOT REFUTED")])
def test_busy_processes_change_no_verdict_but_to_not_attacked(dpaccount, tmp_path, name, quiet):
    """Eight of them, during a default audit of a broken function and of a sound one, without a pair."""
    (tmp_path / "shop.py").write_text(SHOP + SHOP.replace("leak", "sound").replace("scale=.5", "scale=1"))
    data = ["--epsilon", "1", "--shape", "2", "--low", "0", "--high", "1", "--json"]

    def verdict():
        return json.loads(dpaccount("audit", f"shop:{name}", *data)[1])["verdict"]

    assert verdict() == quiet
    spin = [sys.executable, "-S", "-c", "while True: pass"]
    busy = [subprocess.Popen(spin) for _ in range(8)]
    try:
        found = verdict()
        assert all(each.poll() is None for each in busy)
    finally:
        for each in busy:
            each.kill()
            each.wait()
    assert found in (quiet, "NOT ATTACKED")
