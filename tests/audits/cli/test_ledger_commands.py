"""The ledger's commands end to end: logs, exports, checkpoints, refusals."""

import csv
import json
import sqlite3
import sys
from contextlib import contextmanager
from fractions import Fraction

import pytest

from audits import cli
from audits.cli import ledger as ledger_commands
from audits.cli import options
from audits.cli import reports as report_commands
from dpaccount.ledger.stores import rows as ledger_rows
from tests.audits.certificate.test_sign import keys
from tests.depth import deep

EVENTS = {
    "schema": "dpaccount/events/1",
    "relation": "replace-one",
    "events": [{"event": "gaussian", "sigma": 20}],
}


@pytest.fixture
def run(tmp_path, monkeypatch, capfdbinary):
    """Return a function that runs a command in a folder of its own: code, output, errors."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.json").write_text(json.dumps(EVENTS))

    def ran(*words: str) -> tuple[int, str, str]:
        capfdbinary.readouterr()
        code = cli.run(["ledger", *words])
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    budget = ["--epsilon", "1", "--delta", "1e-6", "--unit", "person", "--relation", "replace-one"]
    assert ran("init", "team.db", *budget, "--measure", "gdp")[0] == 0
    return ran


def test_what_is_damaged_is_repaired_or_one_sentence(run, tmp_path):
    run("charge", "team.db", "plan.json")
    with sqlite3.connect(tmp_path / "team.db") as database:
        database.execute("UPDATE ledger SET last = 0, head = (SELECT digest FROM entries WHERE number = 0)")
    database.close()
    assert run("verify", "team.db")[0] == 1
    code, out, error = run("repair", "team.db", "--json")
    assert (code, json.loads(out)["repaired"], error) == (0, ["head"], "")
    assert run("verify", "team.db")[0] == 0
    with sqlite3.connect(tmp_path / "team.db") as database:
        database.execute("UPDATE ledger SET last = 99")
    database.close()
    code, out, error = run("repair", "team.db")
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert "dpaccount ledger forfeit" in error


def test_exact_amounts_are_shown_as_they_are(run, tmp_path):
    """Not rounded up to a double, and then once more to a few digits."""
    event = {"event": "approximate", "epsilon": "0.3", "delta": "1e-6"}
    (tmp_path / "lossy.json").write_text(json.dumps({**EVENTS, "events": [event]}))
    budget = ["--epsilon", "1", "--delta", "2e-6", "--unit", "person", "--relation", "replace-one"]
    assert run("init", "sums.db", *budget, "--measure", "approximate")[0] == 0
    assert "[0.3, 0.3]" in run("charge", "sums.db", "lossy.json")[1]
    assert "ε 0.3, δ 1e-06" in run("log", "sums.db")[1]
    out = run("show", "sums.db")[1]
    assert "ε 0.3, δ 1e-06" in out
    assert "ε 0.7, δ 1e-06" in out
    spent = json.loads(run("show", "sums.db", "--json")[1])["spent"]
    ends = spent["epsilon"]
    assert (
        Fraction(ends["lower"]) <= Fraction(3, 10) <= Fraction(ends["upper"]) < Fraction("0.3000000000000001")
    )
    assert Fraction(1, 10**6) <= Fraction(spent["delta"])  # read as doubles, these too are bounds


def test_a_charge_says_why_and_who_and_the_log_repeats_it(run):
    again = ["charge", "team.db", "plan.json", "--key", "a", "--purpose", "mean age", "--by", "ada", "--json"]
    answers = [json.loads(run(*again)[1]) for _ in range(2)]
    assert [answer["already_charged"] for answer in answers] == [False, True]
    assert run(*again)[2] == "entry 1 charged this under the same key before; nothing more was charged\n"
    log = json.loads(run("log", "team.db", "--json")[1])
    assert (log[1]["purpose"], log[1]["by"], log[1]["key"]) == ("mean age", "ada", "a")
    [_, row] = csv.DictReader(run("log", "team.db", "--csv")[1].splitlines())
    assert row["by"] == "ada"
    assert "by ada" in run("log", "team.db")[1]
    assert "μ² adds up" in run("show", "team.db")[1]


@deep
def test_a_checkpoint_and_an_export_hold(run, tmp_path):
    private, public = (str(key) for key in keys(tmp_path, "one"))
    code, note, _ = run("checkpoint", "team.db", "--key", private)
    assert code == 0
    (tmp_path / "note.json").write_text(note)
    run("charge", "team.db", "plan.json")
    signed = ["--checkpoint", "note.json", "--key", public]
    assert run("verify", "team.db", *signed)[0] == 0
    assert run("verify", "team.db", "--since", json.loads(note)["head"])[0] == 0
    assert run("verify", "team.db", "--head", "sha256:0")[0] == 1
    assert run("verify", "team.db", "--since", *signed[1:])[0] == 0
    assert run("verify", "team.db", "--since", json.loads(note)["head"], *signed)[0] == 0
    for wrong in (
        signed[:2],
        signed[2:],
        [*signed, "--head", "sha256:0"],
        ["--since", *signed[:2], *signed[2:]],
        ["--since", "note.json"],
        ["--since", ""],
        ["--since", "", *signed[2:]],
        ["--since", json.loads(note)["head"], *signed[2:]],
        ["--since", "note.json", *signed],
    ):
        code, out, error = run("verify", "team.db", *wrong)
        assert (code, out, error.count("\n")) == (2, "", 1)
    code, exported, _ = run("export", "team.db")
    (tmp_path / "lines").write_text(exported)
    assert run("import", "lines", "new.db")[0] == 0
    heads = [json.loads(run("show", name, "--json")[1])["head"] for name in ("team.db", "new.db")]
    assert heads[0] == heads[1]
    assert run("verify", "new.db", *signed)[0] == 0


@deep
def test_wrong_requests_are_one_line(run, tmp_path):
    for words in (
        ["import", "plan.json", "new.db"],
        ["export", "missing.db"],
        ["checkpoint", "team.db", "--key", "plan.json"],
        ["show", "sqlite:///team.db?witness=nowhere"],
        *(["verify", "team.db", option, "sha256:\udcff"] for option in ("--head", "--since")),
        *([word, "team.db", "\udcff"] for word in ("draw", "release", "scope", "cohort")),
        *(
            ["charge", "team.db", "plan.json", option, "\udcff"]
            for option in ("--key", "--scope", "--cohort")
        ),
    ):
        code, out, error = run(*words)
        assert (code, out, error.count("\n")) == (2, "", 1), words
        assert error.startswith("error: ")
        assert "; " in error
    (tmp_path / "other.db").hardlink_to(tmp_path / "team.db")
    code, _, error = run("charge", "team.db", "plan.json")
    assert (code, error.count("\n")) == (2, 1)
    assert "hard links" in error


@deep
def test_a_team_arranges_and_every_refusal_is_exit_1_with_its_reason(run):
    def answer(*words: str) -> tuple[int, dict]:
        code, out, _ = run(*words, "--json")
        return code, json.loads(out)

    assert answer("scope", "team.db", "team", "--epsilon", ".6", "--by", "ada")[0] == 0
    assert answer("scope", "team.db", "team/ada", "--epsilon", "1/2")[0] == 0
    code, made = answer("charge", "team.db", "plan.json", "--scope", "team/ada")
    assert (code, made["accepted"], made["entry"]) == (0, True, 3)
    code, made = answer("charge", "team.db", "plan.json", "--scope", "team/ada", "--dry-run")
    assert (code, made["accepted"], made["entry"]) == (0, True, None)
    code, made = answer("scope", "team.db", "team/ada", "--epsilon", "0.01")
    assert (code, made["accepted"], made["entry"]) == (1, False, None)
    assert "more is spent in the scope team/ada" in made["reason"]
    assert answer("cohort", "team.db", "adults", "1-5", "9,11-12")[0] == 0
    assert answer("charge", "team.db", "plan.json", "--cohort", "adults")[0] == 0
    code, made = answer("cohort", "team.db", "adults", "1-6")
    assert (code, made["accepted"]) == (1, False)


@deep
def test_a_reservation_is_drawn_and_released_by_parts(run):
    def answer(*words: str) -> tuple[int, dict]:
        code, out, _ = run(*words, "--json")
        return code, json.loads(out)

    code, made = answer("reserve", "team.db", "plan.json", "--key", "may", "--rounds", "9")
    assert (code, made["accepted"], made["already_charged"]) == (0, True, False)
    assert answer("reserve", "team.db", "plan.json", "--key", "may", "--rounds", "9")[1]["already_charged"]
    assert answer("draw", "team.db", "may")[1] == {
        "accepted": True,
        "entry": 2,
        "parts": [[1, 1]],
        "open": [[2, 9]],
        "reason": None,
    }
    assert answer("draw", "team.db", "--key", "may", "--count", "2")[1]["parts"] == [[2, 3]]
    assert answer("draw", "team.db", "may", "--parts", "7,5")[1]["open"] == [[4, 4], [6, 6], [8, 9]]
    for command in ("draw", "release"):
        code, made = answer(command, "team.db", "may", "--parts", "5-6")
        assert (code, made["accepted"], made["entry"], made["open"]) == (
            1,
            False,
            None,
            [[4, 4], [6, 6], [8, 9]],
        )
    assert answer("release", "team.db", "may", "--parts", "8-9")[1]["parts"] == [[8, 9]]
    assert answer("release", "team.db", "may")[1]["parts"] == [[4, 4], [6, 6]]
    assert answer("release", "team.db", "may") == (
        0,
        {"accepted": True, "entry": None, "parts": [], "open": [], "reason": None},
    )
    assert answer("draw", "team.db", "may")[0] == 1
    assert answer("reset", "team.db", "--reason", "a new study")[0] == 0
    shown = answer("show", "team.db")[1]
    assert shown["period"]["epsilon"]["upper"] == 0 < shown["life"]["epsilon"]["lower"]
    assert "which is the guarantee" in shown["explained"]
    log = list(csv.DictReader(run("log", "team.db", "--csv")[1].splitlines()))
    assert [(row["kind"], row["parts"]) for row in log if row["parts"]][:3] == [
        ("reservation", "1-9"),
        ("rounds", "1"),
        ("rounds", "2-3"),
    ]
    assert run("verify", "team.db")[0] == 0


@deep(quick_every=6)
@pytest.mark.parametrize(
    "words",
    [
        ("reserve", "team.db", "plan.json", "--key", "k", "--rounds", "0"),
        ("reserve", "team.db", "plan.json", "--key", "k", "--rounds", "1.5"),
        ("reserve", "team.db", "plan.json"),
        ("draw", "team.db", "missing"),
        ("draw", "team.db", "missing", "--parts", "3-1"),
        ("draw", "team.db", "missing", "--parts", "1", "--count", "1"),
        ("release", "team.db", "missing", "--parts", "-1"),
        ("release", "team.db", "missing", "--parts", "1-3,3"),
        ("release", "team.db", "missing", "--parts", "²"),
        ("scope", "team.db", "Team", "--epsilon", "1"),
        ("scope", "team.db", "team"),
        ("scope", "team.db", "team", "--epsilon", "-1"),
        ("scope", "team.db", "team/ada", "--epsilon", "1"),
        ("charge", "team.db", "plan.json", "--scope", "nobody"),
        ("charge", "team.db", "plan.json", "--cohort", "nobody"),
        ("cohort", "team.db", "some"),
        ("cohort", "team.db", "some", "0-3"),
        ("cohort", "team.db", "some", "1-9223372036854775807"),
        ("cohort", "team.db", "a/b", "1-2"),
        ("reset", "team.db"),
        ("reset", "team.db", "--reason", "a\nb"),
        ("reset", "missing.db", "--reason", "x"),
    ],
    ids=" ".join,
)
def test_a_wrong_request_is_a_line_and_leaves_the_ledger_as_it_was(run, words):
    before = run("show", "team.db", "--json")[1]
    code, out, error = run(*words, "--json")
    assert (code, out) == (2, "")
    assert error.startswith("error: ")
    assert "; " in error
    assert error.count("\n") == 1
    assert run("show", "team.db", "--json")[1] == before


@deep
def test_what_may_be_lost_is_said_once(run, tmp_path):
    lost = ["forfeit", "team.db", "plan.json", "--reason", "an older copy", "--by", "ada", "--json"]
    code, out, _ = run(*lost)
    assert (code, json.loads(out)["accepted"], json.loads(out)["entry"]) == (0, True, 1)
    assert run("forfeit", "team.db", "--nothing", "--reason", "moved")[0] == 0
    (tmp_path / "much.json").write_text(json.dumps({**EVENTS, "events": [{"event": "gdp", "mu": 1}]}))
    code, out, err = run("forfeit", "team.db", "much.json", "--reason", "all of it", "--json")
    assert (code, json.loads(out)["accepted"]) == (1, False)
    assert "does not fit the budget" in err
    for wrong in (["--reason", "x"], ["plan.json", "--nothing", "--reason", "x"], ["plan.json"]):
        code, out, err = run("forfeit", "team.db", *wrong)
        assert (code, out, err.count("\n")) == (2, "", 1)
    said = " ".join(run("log", "team.db")[1].split())
    assert 'by ada purpose "lost", reason "an older copy"' in said
    assert run("verify", "team.db")[0] == 0
    assert run("report", "team.db", "-o", "report.html")[0] == 0
    assert "an older copy" in (tmp_path / "report.html").read_text()


def test_rights_are_those_of_a_server(run):
    for more in (["--arrange"], ["--read-only"]):
        code, out, err = run("grant", "team.db", "ada", *more)
        assert (code, out, err.count("\n")) == (2, "", 1)
    assert "both" in run("grant", "team.db", "ada", "--arrange", "--read-only")[2]


def test_a_terminal_is_shown_how_far_entries_are_read_and_nothing_else_changes(run, tmp_path, monkeypatch):
    for key in "abcd":
        run("charge", "team.db", "plan.json", "--key", key)
    (tmp_path / "team.jsonl").write_text(run("export", "team.db")[1])
    commands = {"replaying entry": ("verify", "team.db", "--json"), "entry": ("report", "team.db", "--json")}
    plain = {what: run(*words) for what, words in commands.items()}
    assert all(error == "" for *_, error in plain.values())  # no terminal, and soon done: nothing
    said: list[str] = []

    @contextmanager
    def watched():
        token = ledger_rows.WATCH.set(said.append)
        try:
            yield
        finally:
            ledger_rows.WATCH.reset(token)

    monkeypatch.setattr(ledger_rows, "PAGE", 2)
    for module in (ledger_commands, report_commands):
        monkeypatch.setattr(module, "watching", watched)
    for what, words in commands.items():
        said.clear()
        code, out, _ = run(*words)
        assert (code, json.loads(out)["valid" if what != "entry" else "schema"]) == (
            0, json.loads(plain[what][1])["valid" if what != "entry" else "schema"],
        )  # fmt: skip
        assert {f"{what} 2 of 4", f"{what} 4 of 4"} <= set(said)
    said.clear()
    assert run("import", "team.jsonl", "copy.db")[0] == 0
    assert {"replaying entry 0 of 4", "replaying entry 4 of 4"} <= set(said)
    with sqlite3.connect(tmp_path / "team.db") as database:
        database.execute("DELETE FROM ledger")
    database.close()
    assert run("verify", "team.db")[0] != 0  # telling how far it is never ends a command


def test_a_terminal_is_told_what_is_done_next_and_shown_no_page(run, monkeypatch):
    words = ["new.db", "--epsilon", "1", "--delta", "1e-6", "--unit", "person", "--relation", "replace-one"]
    code, out, err = run("init", *words)
    assert (code, err) == (0, "")
    assert "ε 1, δ 1e-06" in out
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert run("init", *["other.db", *words[1:]])[2].startswith("next: dpaccount release")
    assert run("report", "new.db")[0] == 0
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    code, out, err = run("report", "new.db")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("error: a page is not for a terminal; give --output")


def test_a_script_hears_of_a_ledger_only_what_takes_long(monkeypatch, capsys):
    """Standard error of a short command stays empty, so that a nightly check sends no mail."""
    now = [0.0]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    monkeypatch.setattr(options.json_lines, "__defaults__", (lambda: now[0], 0.0))
    with options.watching():
        for seconds, what in ((0, "entry 0 of 90"), (9, "entry 40 of 90"), (11, "entry 50 of 90")):
            now[0] = seconds
            ledger_rows.WATCH.get()(what)
    assert ledger_rows.WATCH.get() is None
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line) == {"progress": "entry", "done": 50, "of": 90, "seconds_left": 9}


def test_a_terminal_is_shown_every_step(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with options.watching():
        assert ledger_rows.WATCH.get() is not None
    assert ledger_rows.WATCH.get() is None
