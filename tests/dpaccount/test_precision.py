"""Threads and forks share python-flint's one precision: the same answers, and what was found is restored."""

import gc
import os
import random
import re
import signal
import sys
import threading
import time
from fractions import Fraction
from functools import _lru_cache_wrapper
from pathlib import Path

import pytest
from flint import arb, ctx

import dpaccount as dp
from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.calibration.calibrate import calibrate, settle
from dpaccount.accounting.calibration.unknown import unknown_in
from dpaccount.documents import parse_json
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.numerics.work_budget import spend
from dpaccount.precision import USUAL, precision
from dpaccount.proof import assume_rank_one, linear
from tests.depth import deep

SMALL = Fraction(1, 10**6)
ASKED = parse_json(
    '{"schema": "dpaccount/events/1", "relation": "replace-one",'
    ' "events": [{"event": "gaussian", "sigma": "?"}, {"event": "laplace", "scale": 20}]}',
    "made up",
)
PRODUCT = ("dpaccount", "mechanisms", "audits", "bandits", "papers")


def forget() -> None:
    """Empty all caches: what was computed before says nothing about the precision of now."""
    for found in gc.get_objects():
        if isinstance(found, _lru_cache_wrapper) and found.__module__.partition(".")[0] in PRODUCT:
            found.cache_clear()


def epsilon(*events, relation="replace-one"):
    return lambda: repr(Accountant(dp.Plan(relation, events)).epsilon(SMALL))


def delta(*events):
    return lambda: repr(Accountant(dp.Plan("replace-one", events)).delta(1))


QUESTIONS = {
    "epsilon of laplace": epsilon(dp.Laplace(scale=10, count=7)),
    "epsilon of a mixture": epsilon(
        dp.Gaussian(sigma=5), dp.Laplace(scale=9, count=2), dp.Pure(epsilon=".1")
    ),
    "epsilon of discrete noise": epsilon(dp.DiscreteGaussian(sigma=9, count=3)),
    "epsilon of rates": epsilon(dp.Zcdp(rho=".01"), dp.Zcdp(rho=".02", count=3)),
    "epsilon of a sample": epsilon(
        dp.PoissonSubsampled(rate=".01", of=dp.Pure(epsilon=1), count=3), relation="add-remove"
    ),
    "delta of laplace": delta(dp.Laplace(scale=3, count=9)),
    "delta of a tree": delta(dp.Tree(sigma=5, rounds=50)),
    "gdp of a plan": lambda: Accountant(
        dp.Plan("replace-one", [dp.Laplace(scale=30, count=9), dp.RandomizedResponse(epsilon=".1", count=3)])
    ).gdp(),
    "calibrate laplace": lambda: calibrate("laplace", Fraction(1), SMALL, count=4).text,
    "calibrate response": lambda: calibrate("randomized_response", Fraction(1), SMALL, count=3).text,
    "calibrate gaussian": lambda: calibrate("gaussian", Fraction(1), SMALL, count=5).text,
    "epsilon of a group": lambda: repr(
        Accountant(dp.Plan("replace-one", [dp.Zcdp(rho=".01"), dp.Rdp(points=[(4, ".01")])]), 3).epsilon(
            SMALL
        )
    ),
    "epsilon of a group in a stream": lambda: repr(
        Accountant(dp.Plan("replace-one", [dp.MatrixFactorisation(sigma=20, rounds=30)]), 2).epsilon(SMALL)
    ),
    "calibrate a plan": lambda: settle(unknown_in(ASKED), Fraction(1), SMALL).text,
    "a filter": lambda: dp.Odometer(dp.Measure("gdp")).charge(dp.Laplace(scale=7)),
    "a rule": lambda: repr(
        linear(
            assume_rank_one("rows", Fraction("2.3548"), "replace-one", "made up", "outer"),
            Fraction("44.3607087"),
        )
    ),
}


@deep
@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_do_not_depend_on_the_precision_outside(question):
    found = []
    for outside in (USUAL, 3, 700):
        forget()
        ctx.prec = outside
        try:
            found.append(QUESTIONS[question]())
            assert ctx.prec == outside
        finally:
            ctx.prec = USUAL
    assert found[0] == found[1] == found[2]


def test_one_file_alone_sets_the_precision():
    root = Path(dp.__file__).parents[1]
    setting = re.compile(r"workprec|workdps|ctx\.(prec|dps) *=|, ctx\.(prec|dps) = ")
    found = [
        str(file.relative_to(root))
        for package in PRODUCT
        for file in (root / package).rglob("*.py")
        if setting.search(file.read_text(encoding="utf-8"))
    ]
    assert found == ["dpaccount/precision.py"]


# ------------------------------------------------------------------ threads


def charged(ledger: Ledger, number: int) -> str:
    """Charge a plan of its own and return what it costs; no two numbers share a cached bound."""
    noise = [dp.Laplace(scale=10**6 + number, count=3), dp.Pure(epsilon=Fraction(1, 10**6 + number), count=2)]
    return repr(ledger.charge_plan(dp.Plan("replace-one", noise), "test", f"charge {number}").spends)


def together(tasks: dict[object, object], threads: int) -> dict[object, object]:
    """Do all tasks once in each of some threads, in orders of their own, which change often."""
    found: list[dict[object, object]] = [{} for _ in range(threads)]
    before = sys.getswitchinterval()

    def work(number: int) -> None:
        order = random.Random(number).sample(sorted(tasks, key=str), len(tasks))
        for name in order:
            try:
                found[number][name] = tasks[name]()
            except Exception as error:  # a thread's error is an answer here
                found[number][name] = repr(error)

    running = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    sys.setswitchinterval(1e-5)
    try:
        for thread in running:
            thread.start()
        for thread in running:
            thread.join(120)
    finally:
        sys.setswitchinterval(before)
    assert all(one == found[0] for one in found)
    return found[0]


@deep
def test_eight_threads_answer_as_one_does(tmp_path):
    urls = [f"sqlite:///{tmp_path}/{name}.db" for name in ("together", "alone")]
    for url in urls:
        init(url, epsilon=1, delta=SMALL, unit="person", relation="replace-one")
    with Ledger.open(urls[0]) as ledger:
        asked = {number: lambda number=number: charged(ledger, number) for number in range(60)}
        tasks = {**QUESTIONS, **asked}
        forget()
        found = together(tasks, threads=8)
        assert ctx.prec == USUAL
        alone = {name: task() for name, task in QUESTIONS.items() if forget() is None}
        assert {name: found[name] for name in QUESTIONS} == alone
        spent = ledger.show()["spent"]
    with Ledger.open(urls[1]) as ledger:
        forget()
        assert {number: charged(ledger, number) for number in asked} == {n: found[n] for n in asked}
        assert ledger.show()["spent"] == spent


def test_threads_compute_at_their_own_precision():
    """Blocks in blocks, steps at which others are let in, errors: each sees its own bits, and 53 are left."""

    def work(number: int) -> str:
        dice = random.Random(number)
        for _ in range(60):
            outer, inner = dice.randrange(2, 2000), dice.randrange(2, 2000)
            try:
                with precision(outer):
                    for _ in range(40):
                        spend()
                        assert ctx.prec == outer
                    with precision(inner):
                        spend()
                        assert (arb(1) / 3).rel_accuracy_bits() in range(inner - 2, inner + 3)
                        if dice.random() < 0.3:
                            raise KeyError
                    assert ctx.prec == outer
            except KeyError:
                pass
        return "done"

    numbers = iter(range(1000))
    assert together({"work": lambda: work(next(numbers))}, threads=6) == {"work": "done"}
    assert ctx.prec == USUAL


def test_a_long_computation_lets_others_in():
    done = threading.Event()

    def short() -> None:
        with precision(100):
            done.set()

    other = threading.Thread(target=short)
    end = time.monotonic() + 60
    with precision(200):
        other.start()
        while not done.is_set() and time.monotonic() < end:
            spend()
        assert ctx.prec == 200
    other.join(60)
    assert done.is_set()
    assert ctx.prec == USUAL


# ------------------------------------------------------------------ forks


def in_a_child(act) -> int:
    """Return how a forked child that does this ends: 0, or else; one that waits for ever is ended."""
    child = os.fork()
    if not child:
        signal.alarm(60)
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def answers(outside: int) -> None:
    assert ctx.prec == outside
    forget()
    assert QUESTIONS["delta of laplace"]() == WANTED
    with precision(99):
        assert ctx.prec == 99
    thread = threading.Thread(target=QUESTIONS["delta of laplace"])
    thread.start()
    thread.join(50)
    assert ctx.prec == outside


WANTED = QUESTIONS["delta of laplace"]()


@deep
def test_a_child_forked_while_another_thread_computes_is_not_held_up():
    held, go = threading.Event(), threading.Event()

    def hold() -> None:
        with precision(900):
            held.set()
            go.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60)
    assert in_a_child(lambda: answers(USUAL)) == 0
    assert ctx.prec == 900  # nothing is changed for who computes
    go.set()
    thread.join()
    answers(USUAL)


@deep
def test_a_child_forked_in_a_block_goes_on_in_it():
    def leave() -> None:
        assert ctx.prec == 300
        block.__exit__(None, None, None)
        answers(USUAL)

    block = precision(300)
    with block:
        assert in_a_child(leave) == 0
        assert ctx.prec == 300
    answers(USUAL)
