"""A plug-in of pytest: what each item takes, how long a run may take, and what is written of it.

    pytest --seconds 30        begin no item after half a minute; those that are left are skipped and counted
    pytest --log FILE          a line of JSON for each item: its name, outcome and seconds

Seconds are those of processors, with those of children that have ended, in units of a loop: on a machine that is
slower or busier, limits are longer. A deep item above its limit, or a slice, turns the run red. What a whole quick
run took is written to build/quick_run.json, where `make house` reads it.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests import reach

ROOT = Path(__file__).parent.parent
QUICK = ROOT / "build" / "quick_run.json"
LOOP = 0.058  #: seconds of `loop` on the machine of the limits, which collects these tests in 4 s
MOST_ITEM, MOST_SLICE = 60, 1200  #: seconds of a deep item; of a slice, in two workers of ten minutes each
TIME = "seconds of processors"
TOO_LONG = "too long"  #: the outcome of an item, or of a slice, that is above its limit


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that are told above."""
    group = parser.getgroup("depth")
    group.addoption("--seconds", type=float, metavar="N", help="begin no item after so many seconds")
    group.addoption("--no-limits", action="store_true", help="say what is above its limit; stay green")
    group.addoption("--log", metavar="FILE", help="write each item's outcome; skip what passed there before")


def pytest_configure(config: pytest.Config) -> None:
    """Measure this process; one with workers has their measures too."""
    worker = hasattr(config, "workerinput")
    config.pluginmanager.register(Worker(config) if worker else Run(config), "seconds of items")


def loop() -> float:
    """Return the seconds of its processor that a fixed piece of work takes."""
    begun = time.process_time()
    table: dict[int, int] = {}
    for number in range(1_000_000):
        table[number % 4099] = table.get(number % 4099, 0) + number * number % 7
    return time.process_time() - begun


def within(spent: float, limit: float) -> bool:
    """Return whether processor time is within a limit, which is longer where this machine is slower now."""
    return spent <= limit or spent <= limit * loop() / LOOP


def processor_seconds() -> float:
    """Return the seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


BEFORE = "passed before"  #: what a worker is told


def passed_before(config: pytest.Config) -> set[str]:
    """Return the items that passed in the log of this run, as an earlier run left it."""
    if hasattr(config, "workerinput"):  # one that takes another's place has the same items
        return set(config.workerinput[BEFORE])
    file = config.option.log
    rows = read(Path(file)) if file else []
    return {row["item"] for row in rows if row["outcome"] == "passed"}


def read(log: Path) -> list[dict[str, Any]]:
    """Return the rows of a log; a last line that was cut off is left out."""
    rows = []
    for line in log.read_text().splitlines() if log.exists() else []:
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return rows


class Worker:
    """Measures the items of one process."""

    def __init__(self, config: pytest.Config) -> None:
        """Begin the clock."""
        self.config, self.begun, self.item_begun = config, time.monotonic(), 0.0
        self.measures: dict[str, float] = {}

    def pytest_collection_finish(self) -> None:
        """Note how quick this machine is."""
        self.measures["loop"] = loop()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Begin an item, unless the time is over."""
        self.item_begun = processor_seconds()
        limit = self.config.option.seconds
        if limit and time.monotonic() - self.begun > limit:
            pytest.skip("no time is left")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Any:
        """Write into the last report of an item what it took."""
        report = yield
        if call.when == "teardown":
            report.user_properties.append((TIME, processor_seconds() - self.item_begun))
        return report

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand over what this process took; the loop is run again, as the machine may be busier now."""
        self.measures["seconds"] = processor_seconds()
        self.measures["loop"] = (self.measures.get("loop", LOOP) + loop()) / 2
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[TIME] = self.measures


class Run(Worker):
    """Puts together what all processes took."""

    def __init__(self, config: pytest.Config) -> None:
        """Begin without outcomes."""
        super().__init__(config)
        self.before = sorted(passed_before(config))
        self.outcomes: dict[str, str] = {}
        self.items: dict[str, float] = {}
        self.workers: list[dict[str, float]] = []
        self.above: list[str] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker what passed before."""
        node.workerinput[BEFORE] = self.before

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a worker measured."""
        self.workers += [node.workeroutput[TIME]] if TIME in getattr(node, "workeroutput", {}) else []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note an item's outcome; the last report of an item closes its line in the log.

        A failure is written at once: a process that ends in an item sends no last report.
        """
        before = self.outcomes.get(report.nodeid, "passed")
        stays = report.outcome == "passed" or before == "failed"
        self.outcomes[report.nodeid] = before if stays else report.outcome
        if report.failed:
            self._write(report.nodeid, "failed", 0)
        for name, value in report.user_properties:
            if name == TIME:
                self._close(report.nodeid, value)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that is skipped as a whole."""
        if report.skipped and self.outcomes.setdefault(report.nodeid, "collected") == "collected":
            self._write(report.nodeid, "skipped", 0)
            self.outcomes[report.nodeid] = "skipped"

    def _close(self, item: str, seconds: float) -> None:
        self.items[item] = seconds
        self._write(item, self.outcomes[item], seconds)

    def _write(self, item: str, outcome: str, seconds: float) -> None:
        if self.config.option.log:
            row = {"item": item, "outcome": outcome, "seconds": round(seconds, 2)}
            with Path(self.config.option.log).open("a") as log:
                log.write("\n" + json.dumps(row))  # a line that was cut off before takes none with it

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Compare with the limits of deep items and slices; write what a whole quick run took."""
        super().pytest_sessionfinish(session)
        measures = self.workers or [self.measures]
        self.slower = sum(each["loop"] for each in measures) / len(measures) / LOOP
        option = self.config.option
        if option.deep:
            limits = dict.fromkeys(self.items, MOST_ITEM) | (
                {"the slice": MOST_SLICE} if option.slice else {}
            )
            taken = self.items | {"the slice": sum(self.items.values())}
            above = {name: most for name, most in limits.items() if taken[name] > most * self.slower}
            self.above = [
                f"{name} took {taken[name]:.0f} s of processors; the limit here is {most * self.slower:.0f} s"
                for name, most in above.items()
            ]
            if above and not option.no_limits:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
                for name in above:
                    self._write(name, TOO_LONG, taken[name])
        elif self._is_whole() and session.exitstatus == pytest.ExitCode.OK:
            QUICK.parent.mkdir(exist_ok=True)
            QUICK.write_text(json.dumps({"state": reach.state(), **self.whole(measures)}) + "\n")

    def _is_whole(self) -> bool:
        """Return whether this run had every quick item."""
        option = self.config.option
        narrowed = option.collectonly or option.keyword or option.markexpr or option.seconds or option.log
        narrowed = narrowed or option.deselect or option.ignore or option.ignore_glob
        narrowed = narrowed or getattr(option, "lf", False)  # not there without its plug-in
        return self.config.args_source == pytest.Config.ArgsSource.TESTPATHS and not narrowed

    def whole(self, measures: list[dict[str, float]]) -> dict[str, float]:
        """Return what a quick run took: seconds of all its processes."""
        return {
            "seconds": sum(each["seconds"] for each in measures) / self.slower,
            "items": len(self.items),
        }

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say what the items took, and what is above its limit."""
        terminalreporter.write_line(
            f"{len(self.items)} items, {sum(self.items.values()):.0f} s of processors, "
            f"on a machine that takes {self.slower:.2f} times as long as the one of the limits"
        )
        for line in self.above:
            terminalreporter.write_line(line, red=True)
