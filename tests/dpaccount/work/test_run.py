"""Long work: the same bytes whatever happens on the way, and no task that reads more than its seeds is believed."""

import random
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager, nullcontext
from fractions import Fraction
from functools import partial

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib.parallel import SequentialBackend

from dpaccount.errors import InputError, ReceiptError
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.work import run as runner
from dpaccount.work.results import kept_in
from dpaccount.work.run import ImpureTaskError, Series, TaskError, perform, run
from dpaccount.work.version import current, libraries
from dpaccount.work.workers import workers
from tests.depth import deep, examples
from tests.looped import looped
from tests.planted import tasks

EXPECTED = tasks.squares(1.0, range(20))
SQUARES = partial(tasks.squares, 1.0)


@pytest.fixture(autouse=True)
def _ours(root, monkeypatch):
    """Let the planted tasks count as our own code, whose results are kept."""
    monkeypatch.setattr("dpaccount.work.described.folders", lambda: {"tests": str(root / "tests")})


def series(play, seeds=20, size=3):
    return Series("made up", play, range(seeds), size)


def stored(path):
    with closing(sqlite3.connect(path)) as file, file:
        return dict(file.execute("SELECT name, result FROM results"))


# ------------------------------------------------------------------ the same bytes


@deep
@examples(100, 300)
@given(st.data())
def test_any_order_and_repetition_gives_the_same_bytes(data):
    wanted = [series(partial(tasks.squares, factor)) for factor in (1.0, 2.0)]

    def shuffled(version, groups):
        todo = data.draw(st.permutations(list(groups)))
        for group in [*todo, *data.draw(st.lists(st.sampled_from(todo)))]:
            name, work, seeds = group
            yield perform(version, name, work.play, seeds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "_performed", shuffled)
        found = run(wanted)
    assert [each.tobytes() for each in found] == [EXPECTED.tobytes(), tasks.squares(2.0, range(20)).tobytes()]


BACKENDS = {
    "as it is": nullcontext,
    "serial": lambda: workers(backend="serial"),
    "loky": lambda: workers(2),
    "the caller's": lambda: joblib.parallel_config("threading", n_jobs=3),
}


@deep(quick_every=4)
@pytest.mark.parametrize("where", BACKENDS)
def test_every_backend_keeps_the_same_bytes(where, tmp_path):
    with kept_in(tmp_path / "here.db"):
        run([series(SQUARES)])
    with kept_in(tmp_path / "there.db"), BACKENDS[where]():
        (done,) = run([series(SQUARES)])
    assert done.tobytes() == EXPECTED.tobytes()
    assert stored(tmp_path / "here.db") == stored(tmp_path / "there.db")


def test_the_callers_configuration_is_respected(monkeypatch):
    seen = []
    monkeypatch.setattr(
        runner,
        "perform",
        lambda *given: (seen.append(joblib.parallel.get_active_backend()), perform(*given))[1],
    )
    with joblib.parallel_config("threading", n_jobs=2), workers(1):
        run([series(SQUARES, seeds=3)])
    assert {type(backend).__name__ for backend, _ in seen} <= {"ThreadingBackend", "SequentialBackend"}
    assert seen


def test_seeds_with_other_steps_are_other_work(tmp_path):
    steps = [range(0, 6, 1), range(0, 6, 2), range(0, 6, 3), range(5, -1, -1)]
    with kept_in(tmp_path / "work.db"):
        for seeds in steps:
            (done,) = run([Series("made up", SQUARES, seeds, 6)])
            assert done.tobytes() == tasks.squares(1.0, seeds).tobytes()
    assert len(stored(tmp_path / "work.db")) == len(steps)


def test_more_seeds_and_other_work_use_what_is_kept(tmp_path):
    log = tmp_path / "log"
    play, counted = partial(tasks.slow_squares, 0, str(log)), []
    with kept_in(tmp_path / "work.db"):
        run([series(play, 6)])
        (done,) = run([series(play, 9)], counted.append)
        again = run([series(play, 9), series(play, 9)], counted.append)
    assert done.tobytes() == EXPECTED[:9].tobytes()
    assert {each.tobytes() for each in again} == {EXPECTED[:9].tobytes()}
    assert sum(counted) == 9 + 18  # a series that is there twice is told twice
    seeds = [int(line.split()[1]) for line in log.read_text().splitlines()]
    assert sorted(set(seeds)) == [0, 3, 6]
    # one group of two is compared; one of the taken and the new one, too; one of the three taken
    assert len(seeds) == 3 + 2 + 2


def test_changed_code_is_other_work(tmp_path, monkeypatch):
    with kept_in(tmp_path / "work.db"):
        run([series(SQUARES)])
        monkeypatch.setattr(runner, "current", lambda: {**current(), "dpaccount": "changed"})
        monkeypatch.setattr(runner, "check", lambda _: None)
        run([series(SQUARES)])
    assert len(stored(tmp_path / "work.db")) == 2 * 7


@looped("part", ["algebra", "processor", "python", "numpy", "dpaccount", "audits"])
def test_all_that_last_bits_depend_on_is_part_of_the_version(part):
    assert current()[part]


def test_libraries_that_are_loaded_beside_are_no_part_of_the_version(monkeypatch):
    before = current()
    current.cache_clear()
    loaded = [
        *libraries().info(),
        {"filepath": "/elsewhere/libgomp.so", "internal_api": "openmp", "version": None},
        {"filepath": "/elsewhere/torch/libopenblas.so", "internal_api": "openblas", "version": "9"},
    ]
    monkeypatch.setattr(type(libraries()), "info", lambda _: loaded)
    assert current() == before


# ------------------------------------------------------------------ what is not believed


@deep(quick_every=3)
@pytest.mark.parametrize(
    ("play", "jobs"), [(tasks.by_the_clock, 1), (tasks.by_the_calls, 1), (tasks.by_the_clock, 2)]
)
def test_a_task_that_reads_more_than_its_seeds_is_caught_and_not_kept(play, jobs, tmp_path):
    with kept_in(tmp_path / "work.db"), workers(jobs), pytest.raises(ImpureTaskError, match="no clock"):
        run([series(play)])
    assert stored(tmp_path / "work.db") == {}


@deep
def test_a_task_that_depends_on_its_process_is_caught_by_the_next_command(tmp_path):
    with kept_in(tmp_path / "work.db"):
        run([series(SQUARES)])
        run([series(tasks.by_its_process)])
        with workers(2), pytest.raises(ImpureTaskError, match=r"seeds \d+ \.\.\. \d+ gave two results"):
            run([series(tasks.by_its_process)])
    kept = stored(tmp_path / "work.db").values()
    assert {raw[-48:] for raw in kept} >= {EXPECTED[:3].tobytes()}  # other work stays
    assert len(kept) == 7


@pytest.mark.parametrize("how", ["DELETE FROM results", "UPDATE results SET digest = ''"])
def test_results_that_another_command_removes_on_the_way_are_no_answer(how, tmp_path):
    """It found them impure after this one had taken them; what this one adds goes as well."""
    store = tmp_path / "work.db"
    with kept_in(store), workers(1):
        run([series(SQUARES, 9)])
        told = []

        def tell(more):
            told.append(more)
            if len(told) == 5:  # of seven: the first three were there
                with closing(sqlite3.connect(store)) as file, file:
                    file.execute(how)

        with pytest.raises(ImpureTaskError, match=r"made up: .* were removed from the store"):
            run([series(SQUARES)], tell)
        assert stored(store) == {}
        assert run([series(SQUARES)])[0].tobytes() == EXPECTED.tobytes()


def test_what_is_compared_is_not_foreseen(monkeypatch, tmp_path):
    """Over commands, each group is among the compared, of the new ones as of the taken."""
    monkeypatch.setattr(runner, "perform", lambda *given: (seen.append(given[1]), perform(*given))[1])
    new, taken = set(), set()
    for number in range(40):
        with kept_in(tmp_path / f"{number}.db"), workers(backend="serial"):
            seen = []
            run([series(SQUARES, 9)])
            new.add(max(seen, key=seen.count))
            seen = []
            run([series(SQUARES, 9)])
            taken |= set(seen)
    assert len(new) == len(taken) == 3


ELSEWHERE = pytest.param(2, marks=deep)  #: in other processes, which start slowly


@pytest.mark.parametrize("error", [MemoryError, OSError, ZeroDivisionError, SystemExit])
@pytest.mark.parametrize("jobs", [1, ELSEWHERE])
def test_a_task_that_fails_keeps_nothing_of_its_group(error, jobs, tmp_path):
    """The others are kept, and the next command, for which there is room, does the rest."""
    mark, store = tmp_path / "mark", tmp_path / "work.db"
    play = partial(tasks.fails_once, str(mark), error.__name__)
    with kept_in(store), workers(jobs):
        with pytest.raises(TaskError, match=f"a task failed: {error.__name__}|workers were lost") as found:
            run([series(play)])
        assert "\n" not in str(found.value)
        assert not [name for name in stored(store) if name.endswith(" 3 6 1")]
        (done,) = run([series(play)])
    assert done.tobytes() == EXPECTED.tobytes()


@deep(quick_every=2)
@pytest.mark.parametrize("jobs", [1, 2])
def test_nothing_is_charged_in_a_task(jobs, tmp_path):
    url = f"sqlite:///{tmp_path}/ledger.db"
    init(url, epsilon=10**6, delta=0, unit="a person", relation="replace-one", measure="pure")
    with workers(jobs), pytest.raises(ReceiptError, match="may be done again"):
        run([series(partial(tasks.releases, url), 1)])
    with Ledger.open(url) as ledger:
        assert ledger.show()["entries"] == 0


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


@deep(quick_every=2)
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_worker_of_another_version_is_refused_by_name(jobs, monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "current", lambda: {**current(), "bandits": "0123", "numpy": "1.0"})
    with (
        workers(jobs),
        kept_in(tmp_path / "work.db"),
        pytest.raises(InputError, match=r"another version of the code: bandits \w+ in place of 0123, numpy"),
    ):
        run([series(SQUARES)])


class OfAnotherMachine(SequentialBackend):
    """A backend that the runner does not know to be this machine's."""


def test_a_task_of_another_machine_is_unpickled_after_the_versions_are_compared(monkeypatch):
    """A worker of another version may lack what it is made of, and could say no more than that."""
    sent = []
    monkeypatch.setattr(runner, "perform", lambda *given: (sent.append(given[2]), perform(*given))[1])
    with joblib.parallel_config(OfAnotherMachine()):
        (done,) = run([series(SQUARES)])
    assert done.tobytes() == EXPECTED.tobytes()
    assert {type(each) for each in sent} == {bytes}
    with pytest.raises(InputError, match="another version of the code: bandits"):
        perform({**current(), "bandits": "0123"}, "a group", b"no pickle", range(2))


@pytest.mark.parametrize("jobs", [1, ELSEWHERE])
def test_what_is_neither_kept_nor_sent_away_is_refused_by_no_version(jobs, monkeypatch):
    """As where code under attack has loaded other libraries than its workers."""
    monkeypatch.setattr(runner, "current", dict)
    with workers(jobs):
        (done,) = run([series(SQUARES)])
    assert done.tobytes() == EXPECTED.tobytes()


def test_results_of_another_shape_are_refused():
    with pytest.raises(InputError, match="give a row for each"):
        run([series(tasks.too_few)])


def test_users_functions_are_run_and_never_kept(tmp_path):
    def users(seeds):
        return tasks.squares(1.0, seeds)

    assert run([series(users)])[0].tobytes() == EXPECTED.tobytes()
    with kept_in(tmp_path / "work.db"), pytest.raises(InputError, match="cannot be kept"):
        run([series(users)])
    assert not (tmp_path / "work.db").exists()


# ------------------------------------------------------------------ linear algebra


def threads():
    return {each["num_threads"] for each in libraries().info() if each["user_api"] == "blas"}


@deep(quick_every=2)
@pytest.mark.parametrize("jobs", [1, 2])
def test_linear_algebra_has_one_thread_in_tasks_and_as_many_as_before_after_them(jobs):
    with libraries().limit(limits=2), workers(jobs):
        (done,) = run([series(tasks.threads_of_algebra)])
    assert set(done) == {1.0}
    with libraries().limit(limits=2):
        before = threads()
        run([series(tasks.threads_of_algebra)])
        assert threads() == before


def test_threads_that_work_at_the_same_time_do_not_give_each_other_more(monkeypatch):
    found, all_in = [], threading.Barrier(2)
    monkeypatch.setattr(tasks, "WAIT", all_in.wait)

    def work(pause):
        found.append(run([series(partial(tasks.threads_after, pause), 1)]))

    before = [(library, library.num_threads) for library in libraries().lib_controllers]
    for library, _ in before:
        library._real_set_num_threads(2)  # no thread is in control, as at the start of a process
    both = [threading.Thread(target=work, args=(pause,)) for pause in (0.0, 0.2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    for library, many in before:  # with more of them than processors the tests that follow are slow
        library._real_set_num_threads(many)
    assert [done[0].tolist() for done in found] == [[1.0], [1.0]]


# ------------------------------------------------------------------ deaths and company


@deep
def test_workers_that_die_end_the_command_and_nothing_is_lost(tmp_path):
    play = partial(tasks.dies_once, str(tmp_path / "mark"))
    with kept_in(tmp_path / "work.db"), workers(2):
        with pytest.raises(TaskError, match="workers were lost: TerminatedWorkerError"):
            run([series(play)])
        (done,) = run([series(play)])
    assert done.tobytes() == EXPECTED.tobytes()


SCRIPT = """
import sys
from functools import partial
from pathlib import Path
from dpaccount.work import described
from dpaccount.work.results import kept_in
from dpaccount.work.run import Series, run
from dpaccount.work.workers import workers
from tests.planted import tasks
described.folders = lambda: {"tests": str(Path("tests").resolve())}
store, log, jobs, pause, groups = sys.argv[1:]
play = partial(tasks.slow_squares, float(pause), log)
with kept_in(Path(store)), workers(int(jobs)):
    (done,) = run([Series("made up", play, range(2 * int(groups)), 2)])
sys.stdout.write(done.tobytes().hex())
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


@deep
def test_a_killed_command_goes_on_to_the_same_bytes(root, tmp_path):
    store, log = tmp_path / "work.db", tmp_path / "log"
    before = killed_at(command(root, store, log, 1), store, 5)
    said, _ = command(root, store, log, 1).communicate()
    assert 5 <= before < 60
    assert said == tasks.squares(1.0, range(120)).tobytes().hex()
    # a group was lost at most, another was half-way through its comparison; three are compared
    assert len(log.read_text().splitlines()) <= 60 + 2 + 3


@deep
@pytest.mark.parametrize("jobs", [1, 2])
def test_ten_random_kills_leave_the_same_bytes(root, tmp_path, jobs, depth):
    store, log, rng = tmp_path / "work.db", tmp_path / "log", random.Random(depth.seed(jobs))
    for _ in range(10):
        killed_at(command(root, store, log, jobs, 0.05, 200), store, kept(store) + rng.randrange(20))
    said, _ = command(root, store, log, jobs, 0, 200).communicate()
    assert said == tasks.squares(1.0, range(400)).tobytes().hex()


@deep
def test_two_commands_on_one_store_do_different_work(root, tmp_path):
    store, log = tmp_path / "work.db", tmp_path / "log"
    both = [command(root, store, log, 1), command(root, store, log, 1)]
    said = {process.communicate()[0] for process in both}
    assert said == {tasks.squares(1.0, range(120)).tobytes().hex()}
    done = [line.split()[0] for line in log.read_text().splitlines()]
    assert len(done) <= 60 + 6  # each group once, but for the compared, and the last one
    assert min(done.count(name) for name in set(done)) > 5


@deep
@pytest.mark.parametrize("silent", [True, False])
def test_an_address_where_no_scheduler_answers_is_refused_in_time(monkeypatch, silent):
    """Nothing answers there, or something takes connections and says nothing."""
    monkeypatch.setattr("dpaccount.work.workers.WAIT", 0.5)
    with socket.socket() as there:
        there.bind(("127.0.0.1", 0))
        if silent:
            there.listen()
        address, begun = f"127.0.0.1:{there.getsockname()[1]}", time.monotonic()
        with pytest.raises(InputError, match="no dask scheduler answers"), workers(2, "dask", address):
            raise AssertionError
    assert time.monotonic() - begun < 20
