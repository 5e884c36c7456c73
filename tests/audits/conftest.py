"""The command line, called in this process from a temporary folder."""

import pytest

from audits import cli


@pytest.fixture
def dpaccount(capsys, tmp_path, monkeypatch):
    """Run a command in a temporary folder; return (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        code = cli.run([str(word) for word in words])
        out, err = capsys.readouterr()
        return code, out, err

    return run
