"""The examples of docs/contextual.md print what it says, and its picture is that of its table."""

import doctest

from tests.bandits.dots import drawn_dots
from tests.depth import deep


@deep
def test_examples_run(root):
    document = root / "docs" / "contextual.md"
    failed, tried = doctest.testfile(str(document), module_relative=False)
    assert tried >= 7
    assert failed == 0


def test_the_picture_is_that_of_its_table(root):
    draw = drawn_dots(root).CONTEXTUAL
    columns, rows = draw.table()
    assert columns == ["ε = .1", "ε = .3", "ε = 1", "ε = 3", "ε = 10"]
    assert rows["function-release, three phases"][2] < rows["usca, as published"][2]
    assert draw.left < draw.across(0.1) < draw.across(1.0) < draw.right
    drawn = (root / "docs" / "contextual.svg").read_text(encoding="utf-8")
    assert drawn == draw.drawing(), "run: python docs/draw_dots.py"
