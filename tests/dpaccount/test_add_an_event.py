"""A new kind of event takes two files, a new noise distribution three: docs/add-an-event.md followed literally."""

import json
import math
import re
import shutil

import pytest

from tests.depth import deep

SECOND = "\n## A new noise distribution\n"
FILES = ["dpaccount/plan/events.py", "dpaccount/pairs/of_events.py"]
ASK = """
import json
from fractions import Fraction
from pathlib import Path

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


@pytest.fixture
def page(root):
    return (root / "docs" / "add-an-event.md").read_text()


@pytest.fixture
def copied(copy_of, page):
    """A copy of the package, beside the event file of the page."""
    copy = copy_of("dpaccount")
    (events,) = copy.blocks(page, "json")
    (copy.folder / "events.json").write_text(events)
    return copy


def answered(copy):
    return json.loads(copy.run(["-c", ASK]).stdout)


@deep
def test_an_event_is_added_in_two_files(page, copied):
    refused = answered(copied)
    assert refused.startswith("events.json: /events/0/event: unknown value 'staircase'; known here: gaussian")
    assert copied.apply(page.partition(SECOND)[0]) == FILES
    answer, group = answered(copied)
    bounds = answer["epsilon"]
    assert bounds["lower"] is None
    assert 0.5 < bounds["upper"] <= 1
    assert answer["zcdp"] == pytest.approx(0.05)
    assert group["epsilon"]["upper"] == pytest.approx(3)


@deep
def test_its_cost_is_that_of_what_it_is_bounded_by(page, copied):
    copied.apply(page.partition(SECOND)[0])
    found, _ = answered(copied)
    file = copied.folder / "events.json"
    file.write_text(file.read_text().replace('"staircase"', '"pure"'))
    assert found["epsilon"]["upper"] == answered(copied)[0]["epsilon"]["upper"]


@deep
def test_a_noise_distribution_is_added_in_three_files(page, copied, root):
    assert copied.apply(page.partition(SECOND)[2]) == ["dpaccount/pairs/logistic.py", *FILES]
    for count in (1, 5):
        release = {"event": "logistic", "scale": 2, "count": count}
        document = {"schema": "dpaccount/events/1", "relation": "replace-one", "events": [release]}
        (copied.folder / "events.json").write_text(json.dumps(document))
        answer, group = answered(copied)
        bounds = answer["epsilon"]
        assert 0.45 * count**0.5 < bounds["lower"] <= bounds["upper"] <= 0.5 * count
        assert bounds["upper"] - bounds["lower"] < 1e-3
        assert group["epsilon"]["upper"] == pytest.approx(1.5 * count)
    test = shutil.copy(root / "tests" / "dpaccount" / "pairs" / "test_every_pair.py", copied.folder)
    words = ["-q", "-p", "no:cacheprovider", "--noconftest", "-k", "Logistic or place", test]
    found = copied.run(["-m", "pytest", *words])
    assert found.returncode == 0, found.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", found.stdout)[1]) >= 4


@deep
def test_the_curve_of_the_page_is_that_of_logistic_noise(page, copied):
    """δ(0) is the total variation distance, tanh(ℓ/4)."""
    copied.apply(page.partition(SECOND)[2])
    ask = (
        "from fractions import Fraction\n"
        "from dpaccount.pairs.logistic import LogisticPair\n"
        "print(float(LogisticPair(Fraction(2)).curve(64)(Fraction(0)).mid()))"
    )
    assert float(copied.run(["-c", ask]).stdout) == pytest.approx(math.tanh(0.5), rel=1e-12)
