"""Long work: the same bytes whatever happens on the way, and no task that reads more than its seeds is believed."""

import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, contextmanager, nullcontext
from fractions import Fraction
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaccount.errors import InputError, ReceiptError
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.work import run as runner
from dpaccount.work.results import ImpureTaskError, Results, kept_in
from dpaccount.work.run import Series, perform, run
from dpaccount.work.version import current
from dpaccount.work.workers import workers
from tests.planted import tasks

EXPECTED = tasks.squares(1.0, range(20))


def series(play, seeds=20, size=3):
    return Series("made up", play, range(seeds), size)


def stored(path):
    with closing(sqlite3.connect(path)) as file, file:
        return dict(file.execute("SELECT name, result FROM results"))


# ------------------------------------------------------------------ the same bytes


@given(st.data())
def test_any_order_loss_and_repetition_gives_the_same_bytes(data):
    """Groups end in any order, some twice, some only at a later attempt."""
    wanted = [series(partial(tasks.squares, factor)) for factor in (1.0, 2.0)]

    def shuffled(groups):
        todo = data.draw(st.permutations(list(groups)))
        ended = data.draw(st.lists(st.sampled_from(todo), max_size=2 * len(todo))) if todo else []
        for group in [*ended, *([] if ended else todo)]:
            yield perform(current(), group.of.play, group.name, group.seeds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "_done", shuffled)
        found = run(wanted)
    assert [done.values.tobytes() for done in found] == [
        EXPECTED.tobytes(),
        tasks.squares(2.0, range(20)).tobytes(),
    ]


BACKENDS = {
    "as it is": nullcontext,
    "serial": lambda: workers(backend="serial"),
    "loky": lambda: workers(2),
    "the caller's": lambda: joblib.parallel_config("threading", n_jobs=3),
}


@pytest.mark.parametrize("where", BACKENDS)
def test_every_backend_keeps_the_same_bytes(where, tmp_path):
    with kept_in(tmp_path / "here.db"):
        run([series(partial(tasks.squares, 1.0))])
    with kept_in(tmp_path / "there.db"), BACKENDS[where]():
        (done,) = run([series(partial(tasks.squares, 1.0))])
    assert done.values.tobytes() == EXPECTED.tobytes()
    assert stored(tmp_path / "here.db") == stored(tmp_path / "there.db")


def test_the_callers_configuration_is_respected(monkeypatch):
    seen = []
    monkeypatch.setattr(
        runner,
        "perform",
        lambda *given: (seen.append(joblib.parallel.get_active_backend()), perform(*given))[1],
    )
    with joblib.parallel_config("threading", n_jobs=2), workers(1):
        run([series(partial(tasks.squares, 1.0), seeds=3)])
    assert {type(backend).__name__ for backend, _ in seen} <= {"ThreadingBackend", "SequentialBackend"}
    assert seen


def test_more_seeds_and_other_work_use_what_is_kept(tmp_path):
    log = tmp_path / "log"
    play, counted = partial(tasks.slow_squares, 0, str(log)), []
    with kept_in(tmp_path / "work.db"):
        run([series(play, 6)])
        (done,) = run([series(play, 9)], counted.append)
        again = run([series(play, 9), series(play, 9)], counted.append)
    assert done.values.tobytes() == EXPECTED[:9].tobytes()
    assert {each.values.tobytes() for each in again} == {EXPECTED[:9].tobytes()}
    assert counted == [6, 3, 9, 9]  # what is kept, a group, and a series that is there twice
    seeds = [int(line.split()[1]) for line in log.read_text().splitlines()]
    assert sorted(set(seeds)) == [0, 3, 6]
    assert len(seeds) == 3 + 3  # and one group is done again by each of the three


def test_changed_code_is_other_work(tmp_path, monkeypatch):
    before = series(partial(tasks.squares, 1.0)).digest()
    monkeypatch.setattr("dpaccount.work.run.current", lambda: {**current(), "dpaccount": "changed"})
    assert series(partial(tasks.squares, 1.0)).digest() != before


# ------------------------------------------------------------------ what is not believed


@pytest.mark.parametrize("play", [tasks.by_the_clock, tasks.by_the_calls])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_task_that_reads_more_than_its_seeds_is_caught(play, jobs, tmp_path):
    with kept_in(tmp_path / "work.db"), workers(jobs), pytest.raises(ImpureTaskError, match="no clock"):
        run([series(play)])


def test_a_task_that_depends_on_its_process_is_caught_by_the_next_command(tmp_path):
    with kept_in(tmp_path / "work.db"):
        run([series(tasks.by_its_process)])
        with workers(2), pytest.raises(ImpureTaskError, match="seeds"):
            run([series(tasks.by_its_process)])


def test_a_second_result_that_differs_is_refused(tmp_path):
    about = ("digest", "made up", "code")
    with closing(Results(tmp_path / "work.db")) as results:
        results.keep("one", range(3), b"one", 0.1, *about)
        results.keep("one", range(3), b"one", 0.2, *about)
        with pytest.raises(ImpureTaskError, match=r"made up: seeds 0 \.\.\. 2"):
            results.keep("one", range(3), b"two", 0.1, *about)


@pytest.mark.parametrize("jobs", [1, 2])
def test_noise_of_a_release_is_not_drawn_in_a_task(jobs, tmp_path):
    url = f"sqlite:///{tmp_path}/ledger.db"
    init(url, epsilon=10**6, delta=0, unit="a person", relation="replace-one", measure="pure")
    with workers(jobs), pytest.raises(ReceiptError, match="may be done again"):
        run([series(partial(tasks.releases, url), 1)])


@contextmanager
def in_task():
    token = runner.process.IN_TASK.set(True)
    yield
    runner.process.IN_TASK.reset(token)


def test_a_receipt_from_outside_draws_nothing_in_a_task(tmp_path):
    from mechanisms.laplace_sum import LaplaceSum

    url = f"sqlite:///{tmp_path}/ledger.db"
    init(url, epsilon=10**6, delta=0, unit="a person", relation="replace-one", measure="pure")
    with Ledger.open(url) as ledger:
        receipt = ledger.charge(LaplaceSum(low=0, high=1).proof(Fraction(0)), "outside")
        (key,) = receipt._leaves
        with in_task(), pytest.raises(ReceiptError, match="may be done again"):
            receipt.noisy(key, 0, np.array([0]))
        assert receipt.noisy(key, 0, np.array([0])).shape == (1,)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_worker_of_another_version_is_refused_by_name(jobs, monkeypatch):
    monkeypatch.setattr(runner, "current", lambda: {**current(), "bandits": "0123", "numpy": "1.0"})
    with (
        workers(jobs),
        pytest.raises(InputError, match=r"another version of the code: bandits \w+ in place of 0123, numpy"),
    ):
        run([series(partial(tasks.squares, 1.0))])


def test_results_of_another_shape_are_refused():
    with pytest.raises(InputError, match="give a row for each"):
        run([series(tasks.too_few)])


def test_what_cannot_be_described_is_not_kept(tmp_path):
    with kept_in(tmp_path / "work.db"), pytest.raises(InputError, match="cannot be described"):
        run([series(lambda seeds: tasks.squares(1.0, seeds))])


# ------------------------------------------------------------------ deaths and company


def test_what_a_dead_worker_had_is_done_again(tmp_path):
    with kept_in(tmp_path / "work.db"), workers(2):
        (done,) = run([series(partial(tasks.dies_once, str(tmp_path / "mark")))])
    assert done.values.tobytes() == EXPECTED.tobytes()


@pytest.mark.slow
def test_workers_that_die_of_every_task_end_the_command(tmp_path):
    with kept_in(tmp_path / "work.db"), workers(2), pytest.raises(InputError, match="workers end before"):
        run([series(tasks.dies)])


SCRIPT = """
import sys
from functools import partial
from dpaccount.work.results import kept_in
from dpaccount.work.run import Series, run
from dpaccount.work.workers import workers
from tests.planted import tasks
store, log, jobs, pause, groups = sys.argv[1:]
play = partial(tasks.slow_squares, float(pause), log)
with kept_in(__import__("pathlib").Path(store)), workers(int(jobs)):
    (done,) = run([Series("made up", play, range(2 * int(groups)), 2)])
sys.stdout.write(done.values.tobytes().hex())
"""


def command(root, store, log, jobs, pause=0.02, groups=60):
    words = [sys.executable, "-c", SCRIPT, str(store), str(log), str(jobs), str(pause), str(groups)]
    return subprocess.Popen(words, cwd=root, stdout=subprocess.PIPE, text=True)


def kept(store):
    try:
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as file:
            return file.execute("SELECT count(*) FROM results").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def killed_at(process, store, groups):
    """Kill a command as soon as so many groups are kept; return how many are then."""
    with process:
        while kept(store) < groups and process.poll() is None:
            time.sleep(0.005)
        process.kill()
    return kept(store)


def test_a_killed_command_goes_on_to_the_same_bytes(root, tmp_path):
    store, log = tmp_path / "work.db", tmp_path / "log"
    before = killed_at(command(root, store, log, 1), store, 5)
    said, _ = command(root, store, log, 1).communicate()
    assert 5 <= before < 60
    assert said == tasks.squares(1.0, range(120)).tobytes().hex()
    assert len(log.read_text().splitlines()) <= 60 + 1 + 1  # a group was lost at most, and one is compared


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_ten_random_kills_leave_the_same_bytes(root, tmp_path, jobs):
    store, log, rng = tmp_path / "work.db", tmp_path / "log", random.Random(jobs)
    for _ in range(10):
        killed_at(command(root, store, log, jobs, 0.05, 200), store, kept(store) + rng.randrange(20))
    said, _ = command(root, store, log, jobs, 0, 200).communicate()
    assert said == tasks.squares(1.0, range(400)).tobytes().hex()


def test_two_commands_on_one_store_do_different_work(root, tmp_path):
    store, log = tmp_path / "work.db", tmp_path / "log"
    both = [command(root, store, log, 1), command(root, store, log, 1)]
    said = {process.communicate()[0] for process in both}
    assert said == {tasks.squares(1.0, range(120)).tobytes().hex()}
    done = [line.split()[0] for line in log.read_text().splitlines()]
    assert len(done) == 60 + 2  # each group once, and each command compares one
    assert min(done.count(name) for name in set(done)) > 5


# ------------------------------------------------------------------ stores that cannot be used


def other_program(path):
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TABLE something (x)")


def other_edition(path):
    Results(path).close()
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("PRAGMA user_version = 7")


def damaged(path):
    with kept_in(path):
        run([series(partial(tasks.squares, 1.0))])
    raw = bytearray(path.read_bytes())
    raw[200:] = bytes(len(raw) - 200)
    path.write_bytes(raw)


def changed(path):
    with kept_in(path):
        run([series(partial(tasks.squares, 1.0))])
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE results SET result = zeroblob(50) WHERE rowid = 3")


UNUSABLE = {
    "no database": (lambda path: path.write_text("some text\n" * 100), "not a database"),
    "another program's": (other_program, "no store of results"),
    "another edition": (other_edition, "another edition"),
    "a folder": (Path.mkdir, "unable to open|directory"),
    "damaged": (damaged, "malformed|not a database|no store"),
    "changed": (changed, "does not read as it was written"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_a_store_that_cannot_be_used_is_one_sentence(case, tmp_path):
    make, said = UNUSABLE[case]
    path = tmp_path / "work.db"
    make(path)
    with kept_in(path), pytest.raises(InputError, match=said) as found:
        run([series(partial(tasks.squares, 1.0))])
    assert "\n" not in str(found.value)


def test_a_full_disk_is_one_sentence_and_the_work_goes_on_later(tmp_path, monkeypatch):
    path, prepare = tmp_path / "work.db", Results._prepare

    def full(results):
        prepare(results)
        results._file.execute("PRAGMA max_page_count = 14")

    wide = series(partial(_wide, 1.0))
    with kept_in(path):
        monkeypatch.setattr(Results, "_prepare", full)
        with pytest.raises(InputError, match="full; see to it") as found:
            run([wide])
        assert "nothing half-written" in str(found.value)
        before = kept(path)
        monkeypatch.setattr(Results, "_prepare", prepare)
        (done,) = run([wide])
    assert 0 < before < 7
    assert done.values.tobytes() == _wide(1.0, range(20)).tobytes()


def _wide(factor, seeds):
    return np.outer(factor * np.array(seeds), np.ones(400))


def test_a_store_in_a_folder_that_is_not_there_is_refused(tmp_path):
    with kept_in(tmp_path / "nowhere" / "work.db"), pytest.raises(InputError, match="No such file"):
        run([series(partial(tasks.squares, 1.0))])
