"""Every way that we know to a second draw of one part: each is refused in one sentence, whatever the part.

A receipt belongs to the process that charged it, its threads share it, and each draw is marked in the
ledger first.  What a ledger says of a key's run is seen in one moment, and never from a changed entry.
"""

import copy
import json
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction

import joblib
import numpy as np
import pytest

from dpaccount import proof
from dpaccount.errors import DpaccountError, LedgerError, ReceiptError
from dpaccount.ledger.entry import seal
from dpaccount.ledger.journal import entries
from dpaccount.ledger.journal.entries import RunState
from dpaccount.ledger.journal.verify import verify
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.noise import process
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from tests.depth import deep

from .conftest import BUDGET, VALID, by_hand, in_threads, pure

SPAWN = multiprocessing.get_context("spawn")
KEYED = pytest.mark.parametrize("key", [None, "a"])
#: how parts are called: numbers, nodes of trees, names
PARTS = {"numbers": [0, 1, 2, 3], "nodes": [(0, 0), (0, 1), (1, 0), (0, 2)], "names": ["a", "b", "c", "d"]}
KINDS = pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS.keys())


def stream(releases=4):
    """Return releases of one key over disjoint rounds."""
    covers = proof.assume_covers("sum", [(i, i) for i in range(1, releases + 1)], "made up")
    return proof.nodes(pure("1/4"), covers)


def draw(receipt, part):
    return receipt.noisy("noise", part, np.array([5]))


def outcome(receipt, part):
    """Return what a draw ends in: text, so that it crosses processes."""
    try:
        draw(receipt, part)
    except DpaccountError as error:
        return str(error).replace("\n", "SEVERAL LINES")
    return "drawn"


def child(function):
    """Return what `function` returns in a forked process."""
    back, there = os.pipe()
    number = os.fork()
    if number == 0:
        try:
            os.write(there, json.dumps(function()).encode())
        finally:
            os._exit(0)
    os.close(there)  # so that a child that says nothing is no wait
    os.waitpid(number, 0)
    output = os.read(back, 100_000)
    os.close(back)
    return json.loads(output)


# ------------------------------------------------------------------ forks


@deep
@KEYED
@KINDS
@pytest.mark.parametrize("before", [0, 1, 2])
def test_a_forked_process_draws_nothing(ledger, key, parts, before):
    receipt = ledger.charge(stream(), "try", key=key)
    for part in parts[:before]:
        draw(receipt, part)
    answers = child(lambda: [outcome(receipt, part) for part in parts])
    assert all("belongs to the process that charged it; " in one for one in answers)
    assert [outcome(receipt, part) for part in parts[before:]] == ["drawn"] * (4 - before)
    assert all("was already drawn" in outcome(receipt, part) for part in parts)
    assert ledger.verify() == VALID


@deep
def test_a_fork_of_a_fork_draws_nothing_though_process_numbers_return(ledger, monkeypatch):
    receipt = ledger.charge(stream(), "try")
    number = os.getpid()

    def later():
        monkeypatch.setattr(os, "getpid", lambda: number)
        return child(lambda: outcome(receipt, 0))

    assert "belongs to the process" in child(later)


@deep
@pytest.mark.parametrize("drawn", [False, True])
def test_a_forked_process_knows_nothing_of_its_parents_receipts(ledger, drawn):
    """Asking the inherited ledger for the same key again: the file alone says who may draw."""
    receipt = ledger.charge(stream(), "try", key="a")
    if drawn:
        draw(receipt, 0)

    def again():
        try:
            return outcome(ledger.charge(stream(), "try", key="a"), 1)
        except ReceiptError as error:
            return str(error)

    answer = child(again)
    assert ("would be a second release" in answer) if drawn else (answer == "drawn")
    assert (outcome(receipt, 1) == "drawn") is drawn
    assert ledger.verify() == VALID


def test_a_forked_process_can_charge_and_draw_of_its_own(ledger):
    assert child(lambda: outcome(ledger.charge(stream(), "child"), 0)) == "drawn"
    assert outcome(ledger.charge(stream(), "parent"), 0) == "drawn"
    assert ledger.show()["entries"] == 2


@deep
def test_a_copy_of_the_memory_that_no_check_sees_draws_no_marked_part(ledger, monkeypatch):
    """A virtual machine resumed twice, say: the second mark of a draw is refused by the ledger."""
    receipt = ledger.charge(stream(), "try")
    draw(receipt, 0)
    same = process.identity()

    def resumed():
        monkeypatch.setattr(process, "identity", lambda: same)
        place = ledger._store.place  # a real copy would have files of its own
        place._idle, place._mover = type(place._idle)(), None
        return outcome(receipt, 1)

    assert child(resumed) == "drawn"
    assert "drawn by another run" in outcome(receipt, 1)
    assert "drawn by another run" in outcome(receipt, 2)


# ------------------------------------------------------------------ copies


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda one: pickle.loads(pickle.dumps(one)),  # noqa: S301
    "old pickle": lambda one: pickle.loads(pickle.dumps(one, protocol=0)),  # noqa: S301
    "in a list": lambda one: copy.deepcopy([one]),
}


@KEYED
@pytest.mark.parametrize("how", COPIES.values(), ids=COPIES.keys())
def test_receipts_and_ledgers_are_not_copied(ledger, how, key):
    receipt = ledger.charge(stream(), "try", key=key)
    with pytest.raises(ReceiptError, match="cannot be copied or pickled; "):
        how(receipt)
    with pytest.raises(ReceiptError, match="cannot be copied or pickled; "):
        how(rehearse(stream(), Rehearsal(0)))
    with pytest.raises(LedgerError, match="cannot be copied or pickled; "):
        how(ledger)


def pools(receipt):
    """Yield ways to hand a receipt's draw to other processes."""
    yield "loky", lambda: joblib.Parallel(2)(joblib.delayed(outcome)(receipt, 0) for _ in range(2))
    yield (
        "joblib's multiprocessing",
        lambda: joblib.Parallel(2, backend="multiprocessing")(
            joblib.delayed(outcome)(receipt, 0) for _ in range(2)
        ),
    )
    yield "a spawned process", lambda: SPAWN.Process(target=outcome, args=(receipt, 0)).start()

    def pool():
        with multiprocessing.get_context("fork").Pool(1) as workers:
            return workers.starmap(outcome, [(receipt, 0)])

    def executor():
        with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as workers:
            return workers.submit(outcome, receipt, 0).result()

    yield "a pool", pool
    yield "an executor", executor


def reasons(error):
    """Return the messages of an error and of what caused it."""
    while error is not None:
        yield str(error)
        error = error.__cause__ or error.__context__


@deep
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_no_pool_of_processes_draws(ledger):
    receipt = ledger.charge(stream(), "try")
    for name, use in pools(receipt):
        with pytest.raises(Exception) as caught:  # noqa: PT011 - each pool wraps our error in its own
            use()
        assert any("cannot be copied or pickled; " in reason for reason in reasons(caught.value)), name
    assert outcome(receipt, 0) == "drawn"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_that_inherits_a_receipt_draws_nothing(ledger):
    receipt, queue = ledger.charge(stream(), "try"), multiprocessing.get_context("fork").SimpleQueue()
    worker = multiprocessing.get_context("fork").Process(target=lambda: queue.put(outcome(receipt, 0)))
    worker.start()
    worker.join()
    assert "belongs to the process" in queue.get()


# ------------------------------------------------------------------ threads


@KEYED
@KINDS
def test_threads_draw_each_part_once_between_them(ledger, key, parts):
    receipt, answers = ledger.charge(stream(), "try", key=key), []
    in_threads(*(lambda part=part: answers.append((part, outcome(receipt, part))) for part in parts * 5))
    assert sorted(part for part, what in answers if what == "drawn") == sorted(parts)
    assert ledger.verify() == VALID


def test_two_open_ledgers_draw_once_between_them(ledger, url):
    with Ledger.open(url) as other:
        receipts = [one.charge(stream(), "try", key="a") for one in (ledger, other)]
        answers = [outcome(receipt, part) for part in range(4) for receipt in receipts]
    assert answers.count("drawn") == 4
    assert answers[0::2] == ["drawn"] * 4


# ------------------------------------------------------------------ parts


@pytest.mark.parametrize(
    "twice", [(0, False), (1, 1.0), (1, True), ((0, 1), (0, 1)), ("a", "a"), (0.0, -0.0)]
)
def test_equal_parts_are_one(ledger, twice):
    receipt = ledger.charge(stream(), "try")
    draw(receipt, twice[0])
    assert "was already drawn" in outcome(receipt, twice[1])


@pytest.mark.parametrize("part", [float("nan"), [0], {}, np.zeros(2), np.array(0)])
def test_what_cannot_be_told_apart_is_no_part(ledger, part):
    receipt = ledger.charge(stream(), "try")
    assert "cannot name a part; " in outcome(receipt, part)
    assert [outcome(receipt, i) for i in range(4)] == ["drawn"] * 4


# ------------------------------------------------------------------ marks


def marks(url):
    rows = by_hand(url, "SELECT body FROM entries WHERE kind = 'drawing' ORDER BY number")
    return [json.loads(body)["draws"] for (body,) in rows]


@KEYED
def test_each_draw_is_marked_before_it_is_made(ledger, url, key):
    receipt = ledger.charge(stream(), "try", key=key)
    before = []

    class Spy:
        releasable = True

        def laplace(self, values, scale):
            before.append(marks(url)[-1])
            return values

    receipt._sampler = Spy()
    for part in range(4):
        draw(receipt, part)
    assert before == [[1, 1], [2, 2], [3, 3], [4, 4]]


def test_many_draws_are_marked_ahead(ledger, url):
    """A thousand draws take a few dozen marks, which leave no draw out and end where the proof does."""
    receipt = ledger.charge(stream(1000), "try")
    for part in range(1000):
        receipt._mark(part + 1, 1000)
        assert marks(url)[-1][1] >= part + 1 if part % 100 == 0 else True
    ranges = marks(url)
    assert ranges[:8] == [[i, i] for i in range(1, 8)] + [[8, 9]]
    assert [first for first, _ in ranges] == [1] + [last + 1 for _, last in ranges[:-1]]
    assert ranges[-1][1] == 1000
    assert len(ranges) < 60


def test_a_draw_that_cannot_be_marked_is_not_made(ledger, monkeypatch):
    receipt = ledger.charge(stream(), "try")
    with monkeypatch.context() as broken:
        broken.setattr(entries, "now", lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            draw(receipt, 0)
    assert "was already drawn" in outcome(receipt, 0)  # spent
    assert outcome(receipt, 1) == "drawn"


def test_a_rehearsal_touches_no_ledger(monkeypatch):
    monkeypatch.setattr(Ledger, "_mark", None)
    receipt = rehearse(stream(), Rehearsal(0))
    assert [outcome(receipt, part) for part in range(5)][:4] == ["drawn"] * 4


KILLED = """
import os, signal, sys
import numpy as np
from dpaccount.ledger.ledger import Ledger
from tests.dpaccount.ledger.test_once import draw, stream

with Ledger.open(sys.argv[1]) as ledger:
    receipt = ledger.charge(stream(), "try", key="a")
    for part in range(int(sys.argv[2])):
        draw(receipt, part)
    receipt._sampler = None  # whatever comes after the mark of the next draw does not
    mark = receipt._mark
    def last(*arguments):
        mark(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)
    receipt._mark = last
    draw(receipt, int(sys.argv[2]))
"""


@deep
@pytest.mark.parametrize("drawn", [2, 0])
def test_a_part_is_spent_where_the_process_was_killed_between_its_mark_and_its_draw(ledger, url, drawn):
    ended = subprocess.run([sys.executable, "-c", KILLED, url, str(drawn)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert marks(url) == [[i, i] for i in range(1, drawn + 2)]
    with pytest.raises(ReceiptError, match="would be a second release; make a new charge"):
        ledger.charge(stream(), "try", key="a")
    state = ledger.run_state("a")
    assert (state.charged, state.lost) == (True, True)


@pytest.mark.parametrize("removed", ["last mark", "first mark", "charge's neighbour"])
def test_a_mark_taken_out_of_the_file_lets_nobody_draw(url, ledger, removed):
    draw(ledger.charge(stream(), "try", key="a"), 0)
    draw(ledger.charge(stream(), "another", key="b"), 0)
    which = {"last mark": 4, "first mark": 2, "charge's neighbour": 2}[removed]
    by_hand(url, f"DELETE FROM entries WHERE number = {which}")
    if removed == "charge's neighbour":  # and the others moved up
        by_hand(url, "UPDATE entries SET number = number - 1 WHERE number > 2")
        by_hand(url, "UPDATE ledger SET last = last - 1")
    for key in ("a", "b"):
        with pytest.raises((LedgerError, ReceiptError), match="; "), Ledger.open(url) as other:
            draw(other.charge(stream(), "try" if key == "a" else "another", key=key), 0)


def test_each_unit_pays_for_what_it_is_read_by(ledger):
    ledger.charge(stream(), "try")
    assert Fraction(str(ledger.show()["spent"]["epsilon"]["upper"])) == Fraction(1, 4)


DRAWERS = """
import os, random, sys
from dpaccount.errors import DpaccountError
from dpaccount.ledger.ledger import Ledger
from tests.dpaccount.ledger.test_once import draw, stream

url, told, seed = sys.argv[1], os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT), int(sys.argv[3])
dice = random.Random(seed)
with Ledger.open(url) as ledger:
    while True:
        key, parts = f"key {dice.randrange(12)}", list(range(4))
        dice.shuffle(parts)
        try:
            receipt = ledger.charge(stream(), "storm", key=key)
            for part in parts:
                draw(receipt, part)
                os.write(told, f"{key} {part}\\n".encode())
        except DpaccountError:
            pass
"""


def end(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()


@deep
@pytest.mark.parametrize("seed", range(3))
def test_a_storm_of_killed_processes_draws_nothing_twice(url, tmp_path, seed, depth):
    """Six processes draw for twelve keys and are killed at random moments, again and again."""
    init(url, epsilon=10, delta=0, unit="round", relation="replace-one", measure="pure")
    first = depth.seed(100 * seed)
    dice, log = random.Random(first), tmp_path / "told"
    running = []
    for turn in range(30):
        drawer = [sys.executable, "-c", DRAWERS, url, str(log), str(first + turn)]
        running.append(subprocess.Popen(drawer))
        time.sleep(dice.uniform(0.2, 1.2))
        if len(running) == 6:
            end(running.pop(dice.randrange(6)))
    for one in running:
        end(one)
    drawn = log.read_text().split("\n")[:-1]
    assert len(drawn) == len(set(drawn)) > 12
    assert verify(url) == VALID
    with Ledger.open(url) as ledger:
        assert ledger.show()["entries"] <= 12


def begin(ledger, key="a"):
    receipt = ledger.charge(pure("1/10"), "try", key=key)
    receipt.noisy("noise", 0, np.array([5]))
    return receipt


def test_a_run_goes_from_nothing_to_kept(make):
    ledger = make()
    assert ledger.run_state("a") == RunState()
    receipt = ledger.charge(pure("1/10"), "try", key="a")
    assert ledger.run_state("a") == RunState(charged=True)
    receipt.noisy("noise", 0, np.array([5]))
    assert ledger.run_state("a") == RunState(charged=True, lost=True)  # this process may be asked to go on
    ledger.keep_release("a", {"value": 3})
    assert ledger.run_state("a") == RunState(kept={"value": 3}, charged=True)


def test_a_run_of_another_process_is_drawing_while_that_runs_and_lost_afterwards(make, url):
    make()
    ready, done = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        with Ledger.open(url) as ledger:
            begin(ledger)
        os.write(ready[1], b"x")
        os.read(done[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    with Ledger.open(url) as ledger:
        assert ledger.run_state("a") == RunState(charged=True, drawing=True)
        os.write(done[1], b"x")
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # ended, not yet taken note of
        assert ledger.run_state("a") == RunState(charged=True, lost=True)
        os.waitpid(child, 0)
        assert ledger.run_state("a") == RunState(charged=True, lost=True)
    for end in (*ready, *done):
        os.close(end)


def test_a_process_that_cannot_be_seen_may_still_be_drawing(make, monkeypatch):
    ledger = make()
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(process, "name", lambda: "another-machine 4026531836 17@99")
        begin(ledger)
    assert ledger.run_state("a") == RunState(charged=True, drawing=True)


@pytest.mark.parametrize("kind", ["charge", "drawing", "release"])
@pytest.mark.parametrize("followed", [False, True])
@pytest.mark.parametrize("sealed", [False, True])
def test_a_changed_entry_is_refused(make, url, kind, followed, sealed):
    """A body edited by itself, or with its own digest made to fit; last in the chain or not."""
    ledger = make()
    begin(ledger)
    ledger.keep_release("a", {"value": 3})
    if followed:
        ledger.charge(pure("1/10"), "another")
    find = "SELECT number, key, about, body, root, digest FROM entries WHERE kind = ?"
    number, key, about, body, root, digest = by_hand(url, find, values=(kind,))[0]
    [(before,)] = by_hand(url, "SELECT digest FROM entries WHERE number = ?", values=(number - 1,))
    body = body[:-1] + ',"more":1}'
    digest = seal(before, number, kind, key, about, body, root) if sealed else digest
    change = "UPDATE entries SET body = ?, digest = ? WHERE number = ?"
    by_hand(url, change, values=(body, digest, number))
    with pytest.raises(LedgerError, match="was changed; close this process"):
        ledger.run_state("a")
    with pytest.raises(LedgerError, match="was changed; close this process"):
        ledger.release("a")


def without_index_rows(file) -> None:
    """Empty the index of marks, as an older copy of its page in place of it would; the rows stay."""
    name = "sqlite_autoindex_entries_2"
    [(size,)] = by_hand(file, "PRAGMA page_size")
    assert by_hand(file, f"PRAGMA index_info({name})")[0][2] == "kind"
    [(page,)] = by_hand(file, "SELECT rootpage FROM sqlite_master WHERE name = ?", values=(name,))
    with file.open("r+b") as raw:
        raw.seek((page - 1) * size)
        kind = raw.read(1)
        assert kind == b"\x0a"  # one leaf
        empty = kind + bytes(4) + (size & 0xFFFF).to_bytes(2, "big") + bytes(1)
        raw.seek((page - 1) * size)
        raw.write(empty + bytes(size - len(empty)))


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("how", ["charge", "mark", "parts"])
def test_a_lost_index_of_marks_lets_nobody_draw_again(url, tmp_path, kept, how):
    init(url, **BUDGET)
    with Ledger.open(url) as ledger:
        receipt = ledger.charge(pure("1/10"), "draw", key="k")
        value = receipt.noisy("noise", 0, np.array([5])).tolist()
        if kept:
            ledger.keep_release("k", {"value": value})
        ledger.charge(pure("1/10"), "more")
    without_index_rows(tmp_path / "budget.db")
    draw = {
        "charge": lambda: ledger.charge(pure("1/10"), "draw", key="k"),
        "parts": lambda: ledger.charge_in_parts(pure("1/10"), "draw", None, "k"),
        "mark": lambda: ledger._mark(1, 1, 1),
    }[how]
    with Ledger.open(url) as ledger, pytest.raises((LedgerError, ReceiptError), match=r"drawn|drawing"):
        draw()
    assert verify(url) == {"valid": False, "first_bad": "file"}
