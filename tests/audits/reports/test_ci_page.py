"""The workflow of docs/ci.md: its commands exist, and those that run here do what the page says."""

import re
import shlex
import subprocess
import sys

import pytest

from audits import cli


def commands(root):
    """Return the `run` steps of the page's workflow."""
    (workflow,) = re.findall(r"```yaml\n(.*?)```", (root / "docs" / "ci.md").read_text(), re.DOTALL)
    assert "\t" not in workflow
    return [shlex.split(line) for line in re.findall(r"^      - run: (.+)$", workflow, re.MULTILINE)]


def test_every_extra_and_command_of_the_workflow_exists(root):
    steps = commands(root)
    assert steps[0] == ["pip", "install", "$(ls wheels/dpaccount-*.whl)[all]", "pytest"]
    assert "\nall = [" in (root / "pyproject.toml").read_text()
    ours = [words[1:] for words in steps if words[0] == "dpaccount"]
    assert [words[0] for words in ours] == ["certify", "check"]


MEAN = """
def mean(data):
    return data.mean()

def test_mean(dp_query):
    dp_query(mean, norm="l1", bound=0.5, shape=(2,), low=0, high=1)
"""


def pytest_of(words):
    """Return what a session of pytest says in the working directory."""
    command = [sys.executable, "-m", *words, "-p", "no:cacheprovider"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.slow
def test_the_workflow_runs(root, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (tmp_path / "claims").mkdir()
    text = (root / "examples" / "mechanisms" / "histogram.toml").read_text()
    (tmp_path / "claims" / "mean.toml").write_text(text)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_mean.py").write_text(MEAN)
    for words in commands(root):
        if words[0] == "dpaccount":
            assert cli.run(words[1:]) == 0, words
        elif words[0] == "pytest":
            assert "1 passed" in pytest_of(words)
    assert "::notice file=claims/mean.toml::CERTIFIED histogram" in capsys.readouterr().err
    assert {file.name for file in (tmp_path / "privacy").iterdir()} == {
        "certificate.json",
        "report.html",
        "junit.xml",
        "results.sarif",
    }
