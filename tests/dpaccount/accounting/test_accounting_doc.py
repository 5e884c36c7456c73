"""The accounting page is true: its Python runs, its plans are accounted, its commands parse."""

import doctest
import json
import re
import shlex

import pytest

from audits import cli
from dpaccount.plan.events import VOCABULARY
from tests.depth import deep


@pytest.fixture
def page(root):
    return root / "docs" / "accounting.md"


@deep
def test_python_examples_run(page):
    found = doctest.testfile(str(page), module_relative=False)
    assert found.attempted > 20
    assert found.failed == 0


def test_every_event_is_in_the_table(page):
    text = page.read_text()
    assert all(f"`{name}`" in text for name in VOCABULARY)


@deep
def test_commands_run_on_the_page_s_plan(page, tmp_path, monkeypatch, capsys):
    """Each line as it stands, `account` on the JSON block above it."""
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    (plan,) = (block for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL) if '"schema"' in block)
    (tmp_path / "plan.json").write_text(plan)
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    commands = [shlex.split(line, comments=True)[1:] for line in lines if " < " not in line]
    commands = [
        words for words in commands if words[0] in ("account", "calibrate")
    ]  # not `check` of what they write
    assert {words[0] for words in commands} == {"account", "calibrate"}
    for words in commands:
        assert cli.run([*words, "--json"]) == 0, words
        assert json.loads(capsys.readouterr().out)["schema"].startswith("dpaccount/")
    assert (tmp_path / "curve.svg").exists()
