"""Help is whole: every option says its kind, what it may be and what holds without it; every command has an example."""

import io
import json
import re
import shlex
import subprocess
import sys
import tomllib

import pytest
from rich.console import Console

from audits import cli
from audits.cli import app as program
from audits.cli.app import app
from dpaccount.accounting.measures import MEASURES
from tests.depth import deep

KINDS = {
    "FILE", "FOLDER", "NUMBER", "NUMBERS", "INTEGER", "TEXT", "NAME", "URL", "UNITS", "RELATION", "DATE", "DIGEST", "CHOICE",
    "KEY=VALUE", "NAME=FILE", "FILES", "ROWS[,COLUMNS]", "JSON|FILE",
}  # fmt: skip


def commands(of=app, words=()):
    """Yield the words of every command."""
    for name in of:
        if name.startswith("-"):
            continue
        inner = of[name]
        deeper = list(commands(inner, (*words, name)))
        yield from deeper or [(*words, name)]


COMMANDS = sorted(set(commands()))


def helped(words):
    """Return the help of a command in one wide line a row."""
    out = io.StringIO()
    app.help_print([*words], console=Console(file=out, width=1000))
    return out.getvalue()


def options(said):
    """Yield label, kind and description of every row of a help's table."""
    for line in said.splitlines():
        if line.startswith("│"):
            cells = re.split(r"\s{2,}", line.strip("│ *").strip(), maxsplit=1)
            yield (*cells, "")[:2]


def test_help_lists_every_command_in_six_groups_with_its_purpose(dpaccount):
    """The commands are imported one by one, so that their purposes are not known before help asks for them."""
    _, shown, _ = dpaccount("--help")
    assert re.findall(r"╭─ (\w+) ─", shown) == ["Publish", "Train", "Attack", "Budget", "Check", "Research"]
    for words, listed in [((), set(app)), (("ledger",), set(app["ledger"])), (("work",), set(app["work"]))]:
        _, shown, _ = dpaccount(*words, "--help")
        purposes = dict(re.findall(r"^│ ([a-z-]+) +(\S.*) │$", shown, re.M))
        assert purposes.keys() == {name for name in listed if not name.startswith("-")}


def imported(*words):
    """Return the modules that a command loads in a process of its own."""
    code = f"import sys; from audits.cli.app import run; assert run({list(words)}) == 0; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ours = ("dpaccount", "mechanisms", "audits", "bandits", "papers", "service")
    return {name for name in done.stderr.split() if name.partition(".")[0] in ours}


@deep
def test_a_command_imports_what_it_needs(root, tmp_path):
    """A table of commands names their functions; what another kind of event or of certificate needs stays out."""
    plan = {"event": "gaussian", "sigma": 4, "count": 10}
    document = {"schema": "dpaccount/events/1", "relation": "replace-one", "events": [plan]}
    (tmp_path / "plan.json").write_text(json.dumps(document))
    certificate = str(tmp_path / "c.json")
    most = tomllib.loads((root / ".ci" / "house.toml").read_text())["modules imported by account"]
    assert len(imported("account", str(tmp_path / "plan.json"), "--delta", "1e-5")) <= most
    cli.run(["account", str(tmp_path / "plan.json"), "--delta", "1e-5", "--certificate", certificate])
    checking = imported("check", certificate)
    assert len(checking) <= 60
    assert not {name for name in checking if name.startswith(("dpaccount.proof", "audits.reports"))}


def test_every_command_is_walked():
    assert len(COMMANDS) > 25
    assert ("ledger", "init") in COMMANDS
    assert ("completion",) in COMMANDS


@deep(quick_every=4)
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_option_says_its_kind_and_what_it_does(words):
    says_kinds(words)


@deep(quick_every=3)
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_an_example_that_it_takes(words):
    has_an_example(words)


def says_kinds(words):
    """Read a command's help: every option has a kind that is known, and a description."""
    said = helped(words)
    assert not re.search(r"\b(STR|INT|PATH|FLOAT|BOOL)\b", said)
    rows = list(options(said))
    assert rows
    for label, about in rows:
        names = label.split()
        assert about.strip(), f"{label} has no description"
        if names[-1].startswith("--") and len(names) == 1:
            continue  # a flag, or a positional argument by its name
        assert names[-1].startswith("--") or names[-1] in KINDS, label
        if names[-1] == "CHOICE":
            assert "[choices: " in about


def has_an_example(words):
    """Read a command's help: it has one example, which the command takes."""
    (example,) = re.findall(r"Example: (dpaccount .*)", helped(words))
    program, *given = shlex.split(example)
    given = given[: given.index(">")] if ">" in given else given
    assert (program, *given[: len(words)]) == ("dpaccount", *words)
    command, bound, _ = app.parse_args(given, exit_on_error=False, print_error=False)
    assert command == app[words[0]][words[1]].default_command if len(words) > 1 else command
    assert bound.arguments or given == list(words)


def test_the_measures_that_are_offered_are_those_that_there_are():
    from audits.cli import ledger

    assert set(ledger.MEASURES) == set(MEASURES)


def test_a_word_that_is_none_of_the_list_is_one_line(capsys):
    assert (
        cli.run(
            [
                "ledger",
                "init",
                "x",
                "--epsilon",
                "1",
                "--delta",
                "0",
                "--unit",
                "u",
                "--relation",
                "r",
                "--measure",
                "q",
            ]
        )
        == 2
    )
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "gdp" in err


# ------------------------------------------------------------------ a shell completes


def complete(tmp_path, *words):
    """Return what bash offers for the last of these words."""
    script = tmp_path / "completion.bash"
    script.write_text(app.generate_completion(prog_name="dpaccount", shell="bash"))  # noqa: S604
    asked = " ".join(map(shlex.quote, words))
    ask = (
        f"source {shlex.quote(str(script))}; COMP_WORDS=(dpaccount {asked}); COMP_CWORD={len(words)};"
        f" COMP_LINE='dpaccount {asked}'; COMP_POINT=${{#COMP_LINE}};"
        " by=$(complete -p dpaccount | sed 's/.*-F \\([^ ]*\\).*/\\1/'); $by; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(
        ["/bin/bash", "--norc", "-c", ask], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.stderr == ""
    return {word.strip() for word in done.stdout.split("\n") if word.strip()}


@deep
def test_bash_completes_commands_options_and_words(tmp_path):
    assert {"certify", "calibrate", "check", "completion"} <= complete(tmp_path, "c")
    assert {"init", "charge", "show", "verify"} <= complete(tmp_path, "ledger", "")
    assert complete(tmp_path, "sgd", "--exam") == {"--examples", "--examples-per-user"}
    assert complete(tmp_path, "sgd", "--sampling", "") == {
        "poisson",
        "random-allocation",
        "shuffle",
        "without-replacement",
    }


@deep
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script(shell, capsys):
    assert cli.run(["completion", shell]) == 0
    said = capsys.readouterr().out
    assert "dpaccount" in said
    assert "calibrate" in said


# ------------------------------------------------------------------ time left


def test_time_left_follows_the_pace_of_the_phase():
    now, said = [0.0], []
    report = options_module().timed(said.append, clock=lambda: now[0])
    for seconds, what in ((0, "proof"), (5, "audit: 0 of 1000 runs"), (15, "audit: 100 of 1000 runs"), (105, "audit: 1000 of 1000 runs"),
                          (110, "playing: 10 of 20 runs"), (7310, "playing: 12 of 20 runs")):  # fmt: skip
        now[0] = seconds
        report(what)
    assert said == [
        "proof", "audit: 0 of 1000 runs", "audit: 100 of 1000 runs, about 1 min 30 s left", "audit: 1000 of 1000 runs",
        "playing: 10 of 20 runs", "playing: 12 of 20 runs, about 8 h 0 min left",
    ]  # fmt: skip


def test_what_is_no_terminal_gets_lines_of_json():
    """One when a phase begins, one every ten seconds, one at its end."""
    now, said = [0.0], []
    report = options_module().json_lines(said.append, clock=lambda: now[0])
    for seconds, what in ((0, "proof"), (1, "audit"), (2, "audit: 0 of 9 runs"), (3, "audit: 1 of 9 runs"), (12, "audit: 4 of 9 runs"),
                          (13, "audit: 9 of 9 runs"), (13, "audit: 9 of 9 runs"), (14, "proof"), (15, "playing: 1 of 2 runs")):  # fmt: skip
        now[0] = seconds
        report(what)
    assert [json.loads(line) for line in said] == [
        {"progress": "proof"},
        {"progress": "audit"},
        {"progress": "audit", "done": 4, "of": 9, "seconds_left": 13},
        {"progress": "audit", "done": 9, "of": 9, "seconds_left": None},
        {"progress": "proof"},
        {"progress": "playing", "done": 1, "of": 2, "seconds_left": None},
    ]


def options_module():
    from audits.cli import options

    return options


@deep
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


@deep
def test_help_lists_today_s_commands_only(dpaccount):
    _, shown, _ = dpaccount("--help")
    assert "│ list " in shown
    assert "│ subjects " not in shown
