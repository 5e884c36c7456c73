"""Help of the commands that bandits and papers add is as that of all others."""

import pytest

from audits.cli.app import BUILT_IN, add_commands, app
from dpaccount.extensions import COMMANDS, extensions
from tests.audits.cli import test_help as core
from tests.depth import deep

add_commands()
RESEARCH = sorted({(each.name,) for each in extensions(COMMANDS) if each.ours and each.package != "service"})


def test_they_are_listed_under_research(dpaccount):
    assert len(RESEARCH) >= 7
    _, shown, _ = dpaccount("--help")
    (research,) = shown.split("─ Research ─")[1:]
    assert all(f"│ {name} " in research for (name,) in RESEARCH)
    assert not any((name,) in RESEARCH for commands in BUILT_IN.values() for name in commands)


@pytest.mark.parametrize("words", RESEARCH, ids=" ".join)
def test_every_option_says_its_kind_and_what_it_does(words):
    core.says_kinds(words)


@pytest.mark.parametrize("words", RESEARCH, ids=" ".join)
def test_every_command_has_an_example_that_it_takes(words):
    core.has_an_example(words)


@deep
def test_bash_completes_them(tmp_path):
    assert {"claims", "curate", "certify"} <= core.complete(tmp_path, "c")
    assert app["curate"] is not None
