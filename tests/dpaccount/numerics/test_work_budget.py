"""Work is counted in steps: limits nest, and no answer depends on the clock."""

import ast
import json
import subprocess
import sys
import threading

import pytest

from dpaccount.numerics import work_budget as work
from dpaccount.numerics.work_budget import OutOfReach


def test_limits_nest():
    """What stands inside another limit is over first, so that the outer one has something left to answer with."""
    known = work.UPPER_LATTICE, work.LATTICE, work.METHOD, work.ANSWER
    assert list(known) == sorted(set(known))
    assert work.ANSWER < work.CALIBRATION < work.PROFILE
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


def test_a_thread_counts_its_own_work():
    before, seen = work.steps_done(), []
    with work.limited(10):
        other = threading.Thread(target=lambda: (work.spend(100), seen.append(work.steps_done())))
        other.start()
        other.join()
        work.spend(5)
    assert (work.steps_done() - before, seen) == (5, [100])


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


@pytest.mark.slow
@pytest.mark.parametrize("events", PLANS, ids=["powers", "samples", "ranges"])
def test_a_machine_ten_times_slower_prints_the_same_digits(events):
    text = json.dumps({"schema": "dpaccount/events/1", "relation": "replace-one", "events": events})

    def answer(speed):
        words = [sys.executable, "-c", ASKED, str(speed)]
        found = json.loads(
            subprocess.run(words, input=text, capture_output=True, text=True, check=True).stdout
        )
        return {key: value for key, value in found.items() if key != "seconds"}

    assert answer(1) == answer(10) == answer(1000)
