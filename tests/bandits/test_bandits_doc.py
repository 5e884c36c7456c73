"""The examples of docs/bandits.md print what it says."""

import doctest


def test_examples_run(root):
    failed, tried = doctest.testfile(
        str(root / "docs" / "bandits.md"), module_relative=False, encoding="utf-8"
    )
    assert tried > 10
    assert failed == 0
