"""A new kind of event takes two files, a new noise distribution three: docs/add-an-event.md followed literally."""

import json
import math
import os
import re
import shutil
import subprocess
import sys

import pytest

FILES = ["dpaccount/plan/events.py", "dpaccount/pairs/of_events.py"]
ASK = """
import sys
from pathlib import Path

sys.path.insert(0, str(Path.cwd()))
import json
from fractions import Fraction

from dpaccount.accounting import answers
from dpaccount.documents import parse_json
from dpaccount.errors import InputError

assert answers.__file__.startswith(str(Path.cwd()))
try:
    place = parse_json(Path("events.json").read_bytes(), "events.json")
    answer = answers.account_answer(place, delta=Fraction(1, 10**6))
    groups = answers.account_answer(place, delta=Fraction(0), group=3)
    print(json.dumps([answer, groups]))
except InputError as error:
    print(json.dumps(str(error)))
"""


def blocks(text, language):
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.fixture
def page(root):
    return (root / "docs" / "add-an-event.md").read_text()


@pytest.fixture
def copied(root, tmp_path, page):
    """A copy of the package, beside the event file of the page."""
    shutil.copytree(root / "dpaccount", tmp_path / "dpaccount", ignore=shutil.ignore_patterns("__pycache__"))
    (events,) = blocks(page, "json")
    (tmp_path / "events.json").write_text(events)
    return tmp_path


def touched(changes):
    return re.findall(r"^\+\+\+ b/(.*)$", "".join(changes), re.MULTILINE)


def applied(change, folder):
    subprocess.run([shutil.which("git"), "apply", "-"], cwd=folder, input=change, text=True, check=True)


def answered(folder):
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    found = subprocess.run(
        [sys.executable, "-c", ASK], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    return json.loads(found.stdout)


def test_an_event_is_added_in_two_files(page, copied):
    refused = answered(copied)
    assert refused.startswith("events.json: /events/0/event: unknown value 'staircase'; known here: gaussian")
    changes = blocks(page, "diff")[:2]
    assert touched(changes) == FILES
    for change in changes:
        applied(change, copied)
    answer, group = answered(copied)
    bounds = answer["epsilon"]
    assert bounds["lower"] is None
    assert 0.5 < bounds["upper"] <= 1
    assert answer["zcdp"] == pytest.approx(0.05)
    assert group["epsilon"]["upper"] == pytest.approx(3)


def test_its_cost_is_that_of_what_it_is_bounded_by(page, copied):
    for change in blocks(page, "diff")[:2]:
        applied(change, copied)
    found, _ = answered(copied)
    events = (copied / "events.json").read_text()
    (copied / "events.json").write_text(events.replace('"staircase"', '"pure"'))
    assert found["epsilon"]["upper"] == answered(copied)[0]["epsilon"]["upper"]


@pytest.mark.slow
def test_a_noise_distribution_is_added_in_three_files(page, copied, root):
    changes = blocks(page, "diff")[2:]
    assert sorted(touched(changes)) == sorted(["dpaccount/pairs/logistic.py", *FILES])
    for change in changes:
        applied(change, copied)
    for count in (1, 5):
        release = {"event": "logistic", "scale": 2, "count": count}
        document = {"schema": "dpaccount/events/1", "relation": "replace-one", "events": [release]}
        (copied / "events.json").write_text(json.dumps(document))
        answer, group = answered(copied)
        bounds = answer["epsilon"]
        assert 0.45 * count**0.5 < bounds["lower"] <= bounds["upper"] <= 0.5 * count
        assert bounds["upper"] - bounds["lower"] < 1e-3
        assert group["epsilon"]["upper"] == pytest.approx(1.5 * count)
    (copied / "tests").mkdir()
    shutil.copy(root / "tests" / "dpaccount" / "pairs" / "test_every_pair.py", copied / "tests")
    chosen = "Logistic or place"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--noconftest",
        "-k",
        chosen,
        "tests",
    ]
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHONPATH", "PYTEST"))}
    found = subprocess.run(command, cwd=copied, env=env, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", found.stdout)[1]) >= 4


def test_the_curve_of_the_page_is_that_of_logistic_noise(page, copied):
    """δ(0) is the total variation distance, tanh(ℓ/4)."""
    for change in blocks(page, "diff")[2:]:
        applied(change, copied)
    ask = (
        "import sys; sys.path.insert(0, '.')\n"
        "from fractions import Fraction\n"
        "from dpaccount.pairs.logistic import LogisticPair\n"
        "print(float(LogisticPair(Fraction(2)).curve(64)(Fraction(0)).mid()))"
    )
    found = subprocess.run(
        [sys.executable, "-c", ask], cwd=copied, capture_output=True, text=True, check=True
    )
    assert float(found.stdout) == pytest.approx(math.tanh(0.5), rel=1e-12)
