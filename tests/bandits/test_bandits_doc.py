"""The examples of the pages on bandits print what they say, and a bandit is added as its page says."""

import doctest
import re

import pytest

from tests.bandits.dots import drawn_dots
from tests.depth import deep


@deep
@pytest.mark.parametrize("page", ["bandits", "sessions", "local-bandits"])
def test_examples_run(root, page):
    failed, tried = doctest.testfile(
        str(root / "docs" / f"{page}.md"), module_relative=False, encoding="utf-8"
    )
    assert tried > 1
    assert failed == 0


@deep
def test_adding_a_bandit_takes_the_two_files_that_are_described(root, copy_of):
    """The section followed literally, in a copy of the project."""
    section = (root / "docs" / "add-a-bandit.md").read_text()
    copy = copy_of("mechanisms", "bandits", "tests")
    files = copy.write(section)
    assert files == ["bandits/explore_first.py", "tests/bandits/planted/explore_first_twin.py"]
    done = copy.follow(section)
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 7
    # without the twin the tests fail
    (copy.folder / files[1]).unlink()
    tests = "tests/bandits/test_planted_bandits.py"
    done = copy.run(["-m", "pytest", "-q", "--deep", tests, "-k", "explore-first"])
    assert done.returncode == 1
    assert "plant a broken explore-first" in done.stdout


def test_the_picture_of_local_privacy_is_that_of_its_table(root):
    draw = drawn_dots(root).LOCAL_PRIVACY
    columns, rows = draw.table()
    assert columns == ["ε = 2", "ε = 1", "ε = .5"]
    assert {"local-posterior", "ldp-ata-gp-ucb"} < set(rows)
    assert draw.across(0.1) < draw.across(1.0) < draw.right
    drawn = (root / "docs" / "local-privacy.svg").read_text(encoding="utf-8")
    assert drawn == draw.drawing(), "run: python docs/draw_dots.py"
