"""A setting of the run says how far a test looks; which items a run has; what it writes of them."""

import json
import os
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import deep as runs
from tests import depth as depths
from tests import reach, seconds, selection

WHOLE = depths.Depth(whole=True, draw="seed")


@given(st.integers(1, 300), st.integers(1, 40), st.integers(1, 9))
def test_parts_have_every_case_once_and_a_few_are_among_them(many, few, of):
    cases = list(range(many))
    shares = [depths.Depth(whole=True, part=part, of=of).some(cases, few) for part in range(of)]
    assert sorted(case for share in shares for case in share) == cases
    some = depths.Depth().some(cases, few)
    assert len(some) == min(few, many) == len({*some})
    assert {*some} <= {*cases}
    assert some[0] == 0


def test_a_draw_is_of_the_parts_own_cases_and_another_one_with_another_seed():
    cases = list(range(100))
    draws = [depths.Depth(True, 1, 4, choice=seed).drawn(cases, 5) for seed in ("a", "a", "b")]
    assert draws[0] == draws[1] != draws[2]
    assert all(len(draw) == 5 and {*draw} <= {*cases[1::4]} for draw in draws)


def test_seeds_are_the_usual_ones_until_a_run_is_deep_and_then_differ_by_item_and_use():
    assert [depths.Depth().seed(seed) for seed in (0, 7)] == [0, 7]
    fresh = {depths.Depth(True, draw=draw).seed(seed) for draw in "abc" for seed in range(3)}
    assert len(fresh) == 9


def test_examples_are_ten_times_as_many_in_a_deep_run(monkeypatch):
    assert depths.examples(25).max_examples == 25
    monkeypatch.setattr(depths, "RUN", WHOLE)
    assert [depths.examples(25).max_examples, depths.examples(25, 40).max_examples] == [250, 40]


class Item:
    """A stand-in of an item of pytest with marks."""

    def __init__(self, *marks, nodeid="tests/test_a.py::test_b[c]"):
        self.marks, self.nodeid, self.fixturenames = {mark.name: mark.mark for mark in marks}, nodeid, ()

    def get_closest_marker(self, name):
        return self.marks.get(name)


@pytest.mark.parametrize(("marks", "fresh"), [((), True), ((1e-9,), True), ((1e-6,), False), (None, False)])
def test_only_a_stated_chance_of_a_false_alarm_below_1e_7_has_fresh_seeds(marks, fresh):
    mark = pytest.mark.statistical if marks is None else pytest.mark.statistical(*marks)
    item = Item(mark) if marks != () else Item()
    assert (depths.depth_of(item, WHOLE, 0).seed(5) != 5) == fresh


def test_every_nth_row_is_quick():
    assert [depths.is_quick(Item(depths.deep(quick_every=3)), case) for case in range(4)] == [
        True,
        False,
        False,
        True,
    ]
    assert not depths.is_quick(Item(depths.deep), 0)
    assert depths.is_quick(Item(), 1)


@pytest.mark.parametrize(
    ("mark", "rows", "share"), [((), 300, 6), ((), 7, 1), ((), 13, 3), ((9,), 300, 9), ((4,), 9, 4)]
)
def test_a_deep_run_draws_some_of_many_rows_and_each_row_some_time(mark, rows, share):
    deep = depths.deep(one_in=mark[0]) if mark else depths.deep
    items = [Item(deep, nodeid=f"tests/test_a.py::test_b[{row}]") for row in range(rows)]
    runs_of = [replace(WHOLE, draw=str(seed)) for seed in range(150)]
    drawn = [{item.nodeid for item in items if depths.is_drawn(item, rows, run)} for run in runs_of]
    assert set().union(*drawn) == {item.nodeid for item in items}
    assert abs(sum(map(len, drawn)) / (150 * rows / share) - 1) < 0.2
    parts = Item(deep, depths.parts(300), nodeid="tests/test_a.py::test_b[part 1 of 300]")
    assert mark or all(depths.is_drawn(parts, 300, run) for run in runs_of)


def test_a_deep_run_without_a_seed_has_every_row(project, tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import pytest\nfrom tests.depth import deep\n@deep\n@pytest.mark.parametrize('row', range(60))\n"
        "def test_rows(row): pass\n"
    )
    assert "60 passed" in project("--deep")[1]
    assert "deselected" in project("--deep", "--seed", "a tree")[1]


def test_each_item_is_in_one_slice_and_slices_are_alike():
    names = [f"tests/test_a.py::test_b[{number}]" for number in range(2500)]
    sizes = Counter(selection.slice_number(name, 25) for name in names)
    assert sorted(sizes) == list(range(1, 26))
    assert max(sizes.values()) < 150


@pytest.mark.parametrize("text", ["0/25", "26/25", "7", "a/b", "-1/3", ""])
def test_a_slice_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match="such as 7/20"):
        selection.slice_of(text)


TESTS = """
import pytest
from hypothesis import given, strategies as st
from tests.depth import deep, examples, parts

def test_quick(): pass

@deep
def test_deep(): pass

@deep(quick_every=2)
@pytest.mark.parametrize("row", range(4))
def test_rows(row): pass

@parts(3)
def test_cases(depth):
    assert len(depth.some(range(9), 2)) == (3 if depth.whole else 2)

@given(st.integers())
def test_property(number): pass

@deep
def test_that_fails(): assert False
"""


@pytest.fixture
def project(tmp_path):
    """Return a function that runs pytest with the plug-ins in a project of one file."""
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    deep\n    parts\n    statistical\n")

    def run(*words):
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "tests.seconds"]
        command += ["-p", "tests.selection", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return run


def outcomes(log):
    return {row["item"].partition("::")[2]: row["outcome"] for row in seconds.read(log)}


ROWS = {f"test_rows[{row}]": "passed" for row in range(4)}
PARTS = {f"test_cases[part {part} of 3]": "passed" for part in (1, 2, 3)}


def test_a_run_has_its_items_goes_on_where_it_ended_and_writes_what_they_took(project, tmp_path):
    log = tmp_path / "log.jsonl"
    code, said = project("--log", str(log))
    quick = dict.fromkeys(
        ["test_quick", "test_rows[0]", "test_rows[2]", "test_cases", "test_property"], "passed"
    )
    assert (code, outcomes(log)) == (0, quick), said
    log.unlink()
    code, said = project("--deep", "--log", str(log))
    deep = {**ROWS, **PARTS, "test_deep": "passed", "test_property": "passed", "test_that_fails": "failed"}
    assert (code, outcomes(log)) == (1, deep), said
    assert "--seed 0" in said
    assert all(row["seconds"] >= 0 for row in seconds.read(log))
    with log.open("a") as file:
        file.write('{"item": "cut o')
    code, said = project("--deep", "--log", str(log))
    assert code == 1
    assert "1 failed, 10 deselected" in said


@depths.deep
def test_slices_together_are_all_items_and_the_log_is_the_same_in_two_workers(project, tmp_path):
    logs = [tmp_path / f"{number}.jsonl" for number in (1, 2, 3)]
    for number, log in enumerate(logs, 1):
        project("--slice", f"{number}/3", "--log", str(log), "-n", "2")
    names = [name for log in logs for name in outcomes(log)]
    assert sorted(names) == sorted([*ROWS, *PARTS, "test_deep", "test_property", "test_that_fails"])


@depths.deep
def test_an_item_above_its_limit_turns_a_run_red_and_one_without_time_is_no_pass(project, tmp_path):
    (tmp_path / "test_it.py").write_text(
        "from tests.depth import deep\n@deep\ndef test_a(): sum(range(10**8))\n"
    )
    (tmp_path / "limits.py").write_text("from tests import seconds\nseconds.MOST_ITEM = .001\n")
    assert project("--deep")[0] == 0
    code, said = project("--deep", "-p", "limits")
    assert code == 1
    assert "test_a took" in said
    log = tmp_path / "long.jsonl"
    project("--deep", "-p", "limits", "--log", str(log))
    assert [row["outcome"] for row in seconds.read(log)] == ["passed", seconds.TOO_LONG]
    code, said = project("--deep", "-p", "limits", "--no-limits")
    assert (code, "test_a took" in said) == (0, True)
    log = tmp_path / "log.jsonl"
    assert project("--deep", "--seconds", "1e-9", "--log", str(log))[0] == 0
    assert outcomes(log) == {"test_a": "skipped"}


def test_known_faults_are_few_and_young(root):
    rows = tomllib.loads(selection.FAULTS.read_text()).get("fault", [])
    assert too_many_or_old(rows, date.today()) == []
    for row in rows:
        assert set(row) == {"test", "slice", "since", "why"}
        assert (root / row["test"].partition("::")[0]).exists()


def too_many_or_old(rows, today):
    old = [row["test"] for row in rows if not 0 <= (today - row["since"]).days <= selection.FAULT_DAYS]
    return old + [row["test"] for row in rows[selection.MOST_FAULTS :]]


def test_a_known_fault_of_eight_days_or_a_sixth_one_is_red():
    rows = [{"test": "a", "since": date(2026, 12, 1)}]
    assert too_many_or_old(rows, date(2026, 12, 8)) == []
    assert too_many_or_old(rows, date(2026, 12, 9)) == ["a"]
    assert too_many_or_old(rows, date(2026, 11, 30)) == ["a"]  # it is not seen yet
    assert too_many_or_old(rows * 6, date(2026, 12, 1)) == ["a"]


def test_a_known_fault_may_fail_in_a_deep_run(project, tmp_path, monkeypatch):
    faults = (
        '[[fault]]\ntest = "test_it.py::test_that_fails"\nslice = "1/3"\nsince = 2026-12-01\nwhy = "old"\n'
    )
    (tmp_path / "faults.toml").write_text(faults)
    text = f"from tests import selection\nfrom pathlib import Path\nselection.FAULTS = Path({str(tmp_path / 'faults.toml')!r})\n"
    (tmp_path / "faults.py").write_text(text)
    code, said = project("--deep", "-p", "faults", "-k", "that_fails")
    assert (code, "1 xfailed" in said) == (0, True), said


def test_every_statistical_test_states_its_chance_of_a_false_alarm(root):
    silent = [
        f"{file.relative_to(root)}:{number}"
        for file in sorted((root / "tests").rglob("test_*.py"))
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if "mark.statistical" in line and "mark.statistical(" not in line and "if marks is None" not in line
    ]
    assert silent == []


def test_the_nearest_tests_come_first():
    files = reach.reached(["dpaccount/plan/events.py"])
    assert files[0].startswith("tests/dpaccount/plan/test_events")
    assert files.index("tests/dpaccount/plan/test_groups.py") < files.index(
        "tests/dpaccount/accounting/test_metamorphic.py"
    )
    assert (
        reach.reached(["tests/dpaccount/plan/test_groups.py", "README.md"])[0]
        == "tests/dpaccount/plan/test_groups.py"
    )
    assert reach.reached(["nothing of" + " this name"]) == []
    assert len({*files}) == len(files)


@pytest.mark.parametrize(
    ("file", "near"),
    [
        ("dpaccount_packages.py", "tests/audits/test_pytest_plugin.py"),
        ("tests/bandits/planted/local_reward_twins.py", "tests/bandits/test_planted_bandits.py"),
        ("benchmarks/bandits.py", "tests/bandits/test_benchmarks.py"),
        ("examples/clinic_visits/study.toml", "tests/"),
        ("docs/sql.md", "tests/test_docs.py"),
    ],
)
def test_files_of_every_kind_reach_tests(file, near):
    assert any(test.startswith(near) for test in reach.reached([file])), reach.reached([file])


def test_tests_that_ask_what_is_installed_are_those_that_run_a_command_or_read_the_catalogue():
    files = reach.asking_what_is_installed()
    assert {"tests/audits/cli/test_cli.py", "tests/mechanisms/test_catalogued.py"} <= {*files}
    assert "tests/dpaccount/numerics/test_intervals.py" not in files
    assert not [file for file in files if file.startswith(("tests/bandits", "tests/papers"))]


def test_a_tree_draws_other_slices_than_the_next_one():
    draws = {tuple(runs.drawn(f"{tree:040x}")) for tree in range(300)}
    assert len(draws) > 200
    assert {number for draw in draws for number in draw} == set(range(1, runs.SLICES + 1))
    assert all(len({*draw}) == runs.DRAWN for draw in draws)


def test_the_page_on_tests_gives_the_chances_of_these_slices(root):
    text = (root / "tests" / "README.md").read_text()
    unseen = 1 - runs.DRAWN / runs.SLICES
    assert f"in {runs.SLICES} slices" in text
    assert f"{runs.DRAWN} slices drawn" in text
    assert f"({runs.SLICES - runs.DRAWN}/{runs.SLICES})ⁿ: {unseen**10:.0%}".replace("%", " %") in text
    assert f"for 10, {unseen**50:.0%}".replace("%", " %") in text


def test_only_slices_that_passed_on_a_state_of_the_change_count(tmp_path, monkeypatch):
    log = tmp_path / "log"
    end = "10 items, 0 skipped, 5 s of processors, seed 1"
    log.write_text(
        f"passed slice 1/20 on {'a' * 12} of abc1234: {end}\n"
        f"FAILED slice 2/20 on {'a' * 12} of abc1234: {end}\n"
        f"passed slice 3/20 on {'b' * 12} of def5678: {end}\n"
        f"passed slice 4/50 on {'a' * 12} of abc1234: {end}\n"
        f"passed near on {'a' * 12} of abc1234: {end}\n"
        "2 of 20 slices have passed; not yet: [2]\n"
        f"passed slice 5/20 on {'c' * 12}+12345678 of def5678: {end}\n"
    )
    monkeypatch.setattr(runs, "LOG", log)
    monkeypatch.setattr(reach, "state", lambda: "a" * 12)
    monkeypatch.setattr(reach, "git", lambda *words: "def5678" + "0" * 33)
    assert [*runs.passed_since("")] == [1]
    assert [*runs.passed_since("REF")] == [1, 3]
    with log.open("a") as file:
        file.write(f"FAILED slice 1/20 on {'a' * 12} of abc1234: {end}\n")
        file.write(f"FAILED slice 3/20 on {'d' * 12} of def5678: {end}\n")
    assert [*runs.passed_since("REF")] == []


@pytest.fixture
def faked(tmp_path, monkeypatch):
    """Return the log of a run, and a function that says with which code and outcomes pytest ends."""
    log = tmp_path / "log.jsonl"
    for name, value in {"BUILD": tmp_path, "LOG": tmp_path / "log", "FAILED": tmp_path / "failed"}.items():
        monkeypatch.setattr(runs, name, value)
    monkeypatch.setattr(runs, "on_the_base", lambda failed, seed: None)
    monkeypatch.setattr(reach, "state", lambda: "a" * 12)
    monkeypatch.setattr(reach, "git", lambda *words: "abc1234")

    def ends(code, *outcomes, again=0, then=lambda: None):
        def pytest_(*words, **_):
            if "a.py::a" in words:
                return again
            rows = [{"item": "a.py::a", "outcome": each, "seconds": 1} for each in outcomes]
            log.write_text("".join("\n" + json.dumps(row) for row in rows))
            then()
            return code

        monkeypatch.setattr(runs, "pytest", pytest_)

    return log, ends


def test_a_slice_that_ran_but_for_what_failed_has_passed_once_that_passes(faked, monkeypatch):
    log, ends = faked
    ends(1, "passed", "failed", again=1)
    runs.run("slice 2/20", log, "1")
    assert not runs.is_mended("", 2)
    ends(1, again=0)
    assert runs.is_mended("", 2)
    assert [*runs.passed_since("")] == [2]
    for code, outcomes in ((3, ["failed"]), (1, ["failed", seconds.TOO_LONG])):
        ends(code, *outcomes)
        runs.run("slice 3/20", log, "1")
        assert not runs.is_mended("", 3)
    ends(1, "failed", then=lambda: monkeypatch.setattr(reach, "state", lambda: "b" * 12))
    runs.run("slice 4/20", log, "1")
    assert not runs.is_mended("", 4)


@pytest.mark.parametrize("outcome", ["failed", seconds.TOO_LONG])
def test_what_was_red_once_stays_red_when_a_run_on_the_same_files_goes_on(faked, outcome):
    log, ends = faked
    ends(0, "passed")
    assert runs.run("slice 1/20", log, "1")
    assert [*runs.passed_since("")] == [1]
    ends(0, outcome, "passed")
    assert not runs.run("slice 2/20", log, "1")
    assert [*runs.passed_since("")] == [1]


def test_what_failed_is_tried_again_with_its_seed_until_it_passes(faked):
    log, ends = faked
    ends(1, "failed")
    assert not runs.run("slice 2/20", log, "1")
    for again, passes in ((1, False), (1, False), (0, True), (1, True)):
        ends(0, "passed", again=again)
        assert runs.run("slice 2/20", log, "2") == passes
    ends(1, "failed")
    runs.run("slice 2/20", log, "1")
    ends(0, "passed", again=runs.MISUSED)  # there is no such test any more
    assert runs.run("slice 2/20", log, "2")


@pytest.mark.parametrize(
    ("code", "outcomes"), [(3, ["passed"]), (2, ["passed"]), (-9, ["passed"]), (5, []), (1, ["passed"])]
)
def test_a_run_that_ended_otherwise_or_had_nothing_is_no_pass(faked, code, outcomes):
    log, ends = faked
    ends(code, *outcomes)
    assert not runs.run("slice 2/20", log, "1")
    assert runs.passed_since("") == {}


def test_files_that_change_while_a_run_lasts_are_no_pass(faked, monkeypatch):
    log, ends = faked
    ends(0, "passed", then=lambda: monkeypatch.setattr(reach, "state", lambda: "b" * 12))
    assert not runs.run("slice 2/20", log, "1")


@depths.deep
def test_a_log_that_is_there_is_no_file_of_tests(tmp_path):
    """With its plug-ins in a conftest, pytest knows their options only after it has sought files of tests."""
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["tests.seconds", "tests.selection"]\n')
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    deep\n    parts\n    statistical\n")
    log = tmp_path / "log.jsonl"
    words = ("--deep", "--seed", "1", f"--log={log}", "test_it.py")
    for _ in range(2):
        command = [sys.executable, "-m", "pytest", *words]
        environment = {**os.environ, "PYTHONPATH": str(Path(runs.__file__).parents[1])}
        assert subprocess.run(command, cwd=tmp_path, env=environment, check=False).returncode == 1
    assert sum(row["outcome"] == "passed" for row in seconds.read(log)) == 9


@depths.deep
def test_a_process_that_ends_in_an_item_is_a_failure_in_the_log(project, tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text('{"item": "cut o')
    (tmp_path / "test_it.py").write_text(
        "import os\nfrom tests.depth import deep\n@deep\ndef test_a(): os._exit(3)\n"
    )
    assert project("--deep", "-n", "2", f"--log={log}")[0] == 1
    assert outcomes(log) == {"test_a": "failed"}


def test_a_file_that_is_skipped_as_a_whole_is_in_the_log(project, tmp_path):
    log = tmp_path / "log.jsonl"
    (tmp_path / "test_it.py").write_text('import pytest\npytest.importorskip("nothing_of_this_name")\n')
    project("--deep", f"--log={log}")
    assert [row["outcome"] for row in seconds.read(log)] == ["skipped"]


def test_the_rows_of_a_log_are_whole(tmp_path):
    (tmp_path / "log").write_text(json.dumps({"item": "a", "outcome": "passed", "seconds": 1}) + '\n{"item"')
    assert [row["item"] for row in seconds.read(tmp_path / "log")] == ["a"]
