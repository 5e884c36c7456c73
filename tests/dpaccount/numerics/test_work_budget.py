"""Work is counted in steps: limits nest, and no answer depends on the clock."""

import ast
import json
import math
import subprocess
import sys
import threading
from contextlib import suppress
from fractions import Fraction

import pytest
from flint import arb

from dpaccount.accounting.accountant import Accountant
from dpaccount.accounting.answers import account_answer
from dpaccount.accounting.methods.answer import Answer, intersect_largest_loss
from dpaccount.documents import parse_json
from dpaccount.exact import Enclosure
from dpaccount.numerics import work_budget as work
from dpaccount.numerics.intervals import ball, ceil_of, floor_of, precision
from dpaccount.numerics.work_budget import OutOfReach
from dpaccount.pairs.of_events import composition_of
from dpaccount.plan import events as ev
from dpaccount.plan.events import Plan
from tests.depth import deep


def test_limits_nest():
    """What stands inside another limit is over first, so that the outer one has something left to answer with."""
    known = work.UPPER_LATTICE, work.LATTICE, work.METHOD, work.ANSWER
    assert list(known) == sorted(set(known))
    assert work.ANSWER < work.PROFILE < work.CALIBRATION
    with work.allowance(work.ANSWER), work.limited(work.PROFILE):
        assert work.steps_left() == pytest.approx(work.ANSWER)
        with work.limited(10), work.limited(20):
            assert work.steps_left() == pytest.approx(10)
            with work.at_least(30):
                assert work.steps_left() == pytest.approx(30)
            with work.unlimited():
                work.spend(work.PROFILE)
            with pytest.raises(OutOfReach):
                work.spend()
        assert work.exhausted()
    assert not work.exhausted()
    work.spend(work.PROFILE)  # outside all limits nothing is refused


def test_what_would_pass_a_limit_is_refused_beforehand():
    with work.limited(100):
        before = work.steps_done()
        work.affordable(100)
        with pytest.raises(OutOfReach):
            work.affordable(101)
        assert work.steps_done() == before


def test_a_factor_raises_every_limit():
    with work.raised(3):
        assert work.granted(10) == 30
        with work.raised(2), work.allowance(10), work.limited(1000):
            assert work.steps_left() == 60
    assert work.granted(10) == 10


def test_what_an_allowance_decorates_has_it_at_each_call():
    @work.allowance(100)
    def asked():
        with work.limited(1000):
            left = work.steps_left()
            work.spend(60)
            return left

    assert [asked(), asked()] == [100, 100]


def test_what_is_kept_costs_each_question_what_it_cost_first():
    """Once in each question, in whatever order values were computed, also those that others rest on."""

    @work.kept(4)
    def broken(_):
        with work.limited(0):
            work.spend(5)

    @work.kept(4)
    def inner(_):
        work.affordable(80)
        work.spend(30)

    @work.kept(4)
    def outer(_):
        inner(1)
        with suppress(OutOfReach):  # what failed is the work of whoever asked
            broken(1)
        inner(1)

    def cost(*asked):
        before = work.steps_done()
        with work.question():
            for each in asked:
                each(1)
            with work.question():
                asked[0](1)
        return work.steps_done() - before

    assert cost(inner) == 30
    assert [cost(outer), cost(outer), cost(inner)] == [35, 35, 30]
    assert [cost(inner, outer), cost(outer, inner)] == [35, 35]
    with work.limited(79), work.question(), pytest.raises(OutOfReach):  # as when it was computed
        outer(1)


def test_a_kept_value_that_does_not_fit_leaves_what_it_left_first():
    """It is computed again, to fail where it failed: charged whole, it would take from what comes after."""

    @work.kept(4)
    def value(_):
        for _ in range(500):
            work.spend()

    def left():
        with work.allowance(1000):
            with work.limited(100), pytest.raises(OutOfReach):
                value(1)
            with work.limited(1000):
                return work.steps_left()

    fresh = left()
    with work.question():
        value(1)
    assert left() == fresh == 899


def test_a_thread_counts_its_own_work():
    before, seen = work.steps_done(), []
    with work.limited(10):
        other = threading.Thread(target=lambda: (work.spend(100), seen.append(work.steps_done())))
        other.start()
        other.join()
        work.spend(5)
    assert (work.steps_done() - before, seen) == (5, [100])


@deep
def test_no_method_reads_a_clock(root):
    """Seconds are measured where they are printed as seconds, and nowhere else."""
    parts = ("numerics", "pairs", "accounting")
    files = [file for part in parts for file in (root / "dpaccount" / part).rglob("*.py")]
    reading = {
        file.name
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if (isinstance(node, ast.Import) and any(name.name in ("time", "datetime") for name in node.names))
        or (isinstance(node, ast.ImportFrom) and node.module in ("time", "datetime"))
    }
    assert len(files) > 60
    assert reading == {"answers.py"}


#: Plans whose parts are kept; each is asked twice.
KEPT_PARTS = [
    ev.PoissonSubsampled(
        rate="0.1",
        of=ev.Sequence(
            of=(ev.DiscreteLaplace(scale=3, sensitivity=3, count=2), ev.DiscreteGaussian(sigma=3))
        ),
        count=20,
    ),
    ev.PoissonSubsampled(rate="0.05", of=ev.Laplace(scale=2), count=30),
    ev.DiscreteGaussian(sigma=5, sensitivity=3, count=4),
]


@deep
@pytest.mark.parametrize("event", KEPT_PARTS, ids=lambda event: event.name)
def test_a_question_takes_as_many_steps_when_it_is_asked_again(event):
    plan, asked = Plan("add-remove", (event,)), []
    for _ in range(3):
        before = work.steps_done()
        with work.raised(0.1):
            found = Accountant(plan).epsilon("1e-6")
        asked.append((found, work.steps_done() - before))
    assert asked[0] == asked[1] == asked[2]


#: Plans whose answers stop at a limit of work: lattices, upper curves, Fourier inversion, tables.
PLANS = [
    [{"event": "exponential", "epsilon": "0.05", "count": 100}, {"event": "gaussian", "sigma": 40}],
    [
        {"event": "sampled_without_replacement", "size": 10, "population": 100, "count": 40,
         "of": {"event": "gaussian", "sigma": 2}},
        {"event": "laplace", "scale": 3},
    ],
    [{"event": "bounded_range", "eta": "0.3", "count": 7}, {"event": "discrete_laplace", "scale": 5, "count": 3}],
]  # fmt: skip

ASKED = """
import sys, time
speed = float(sys.argv[1])
for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time"):
    own = getattr(time, name)
    setattr(time, name, lambda own=own: speed * own())
from audits.cli.app import main
sys.exit(main(["account", "-", "--delta", "1e-6", "--json"]))
"""


def written(events):
    return json.dumps({"schema": "dpaccount/events/1", "relation": "replace-one", "events": events})


def alone(events, speed=1):
    """The answer of a process of its own, with a clock of this speed."""
    words = [sys.executable, "-c", ASKED, str(speed)]
    done = subprocess.run(words, input=written(events), capture_output=True, text=True, check=True)
    return {key: value for key, value in json.loads(done.stdout).items() if key != "seconds"}


@deep
@pytest.mark.parametrize("events", PLANS, ids=["powers", "samples", "ranges"])
def test_a_machine_ten_times_slower_prints_the_same_digits(events):
    assert alone(events, 1) == alone(events, 10) == alone(events, 1000)


@deep
def test_no_digit_depends_on_earlier_questions():
    """In any order, and asked again, the digits are those of a process that is asked one."""
    expected = [alone(events)["epsilon"] for events in PLANS]
    for k in (0, 1, 2, 1, 0, 2, 2):
        place = parse_json(written(PLANS[k]).encode(), "plan")
        assert account_answer(place, delta=Fraction("1e-6"))["epsilon"] == expected[k]


def test_the_work_of_a_long_number_grows_as_the_square_of_its_length():
    """A rate of 1e-330 asked for minutes of work that was not counted."""

    def spent(bits):
        before = work.steps_done()
        with precision(bits):
            ceil_of(ball(Fraction(1, 3)))
        return work.steps_done() - before

    assert spent(1 << 17) > 3.5 * spent(1 << 16) > 12 * spent(1 << 15)


def test_the_largest_loss_is_found_where_no_work_is_left():
    total = composition_of([(ev.Pure(epsilon=1), 1)])
    with work.limited(-1):
        found = intersect_largest_loss(total, Answer(Enclosure(None, math.inf), "none"))
    assert (found.bounds.upper, found.method) == (1, "largest loss")


def test_a_number_that_is_rounded_to_nothing_costs_nothing():
    """The count of steps is exact, so it may not grow by what a long number would have cost."""
    before = work.steps_done()
    assert ceil_of(arb(2) ** -(10**12)) > 0 == floor_of(arb(2) ** -(10**12))
    assert work.steps_done() - before < 100
