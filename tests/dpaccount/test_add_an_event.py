"""A new kind of event takes the two files that docs/add-an-event.md names: the page followed literally."""

import json
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
    changes = blocks(page, "diff")
    assert re.findall(r"^\+\+\+ b/(.*)$", "".join(changes), re.MULTILINE) == FILES
    for change in changes:
        applied(change, copied)
    answer, group = answered(copied)
    bounds = answer["epsilon"]
    assert bounds["lower"] is None
    assert 0.5 < bounds["upper"] <= 1
    assert answer["zcdp"] == pytest.approx(0.05)
    assert group["epsilon"]["upper"] == pytest.approx(3)


def test_its_cost_is_that_of_what_it_is_bounded_by(page, copied):
    for change in blocks(page, "diff"):
        applied(change, copied)
    found, _ = answered(copied)
    events = (copied / "events.json").read_text()
    (copied / "events.json").write_text(events.replace('"staircase"', '"pure"'))
    assert found["epsilon"]["upper"] == answered(copied)[0]["epsilon"]["upper"]
