"""Earlier names of commands and options work, and help shows today's only."""

import pytest

from audits.cli import app as program


def test_each_earlier_option_stands_for_one_of_today_that_help_shows(dpaccount):
    program.add_commands()
    for command, renamed in program._EARLIER_OPTIONS.items():
        if command not in program.app:  # of a package that is not installed
            continue
        _, shown, _ = dpaccount(command, "--help")
        for earlier, today in renamed.items():
            assert today in shown, (command, today)
            assert earlier + " " not in shown, (command, earlier)
            assert program._current([command, earlier, "x"]) == [command, today, "x"]
            assert program._current([command, f"{earlier}=x=y"]) == [command, f"{today}=x=y"]


def test_options_of_other_commands_keep_their_names():
    assert program._current(["ask", "state.json", "--again"]) == ["ask", "state.json", "--again"]
    assert program._current([]) == []


@pytest.mark.parametrize(
    ("earlier", "today"),
    [(["subjects", "histogram"], ["list", "histogram"]), (["ledger", "draw"], ["ledger", "use"])],
)
def test_an_earlier_command_answers_as_today_s_does(dpaccount, earlier, today):
    assert dpaccount(*earlier) == dpaccount(*today)


def test_help_lists_today_s_commands_only(dpaccount):
    _, shown, _ = dpaccount("--help")
    assert "│ list " in shown
    assert "│ subjects " not in shown
