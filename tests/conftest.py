"""Shared fixtures.  Tests run from anywhere; nothing reads outside the project."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dpaccount_packages
from dpaccount.checker.documents import Work

ROOT = Path(__file__).parent.parent

pytest_plugins = ["tests.seconds", "tests.selection"]  # what a run takes; what it has


@pytest.fixture(autouse=True)
def _own_work() -> None:
    """Let every test begin with all of the checker's arithmetic, whatever ran before it in this process."""
    Work.begin()


@pytest.fixture
def root() -> Path:
    """Return the project's root."""
    return ROOT


class Copy:
    """A copy of the project in which a page of the documents is followed literally."""

    def __init__(self, folder: Path, parts: tuple[str, ...]) -> None:
        """Copy these parts; what is not copied is the project's own.

        Packages are linked: they are ours where they stand beside the copy of `dpaccount_packages`.
        """
        self.folder = folder
        for part in parts:
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        for file in ("pyproject.toml", "dpaccount_packages.py"):
            shutil.copy(ROOT / file, folder)
        for package, home in dpaccount_packages.folders().items():
            if package not in parts:
                (folder / package).symlink_to(home)

    def write(self, section: str) -> list[str]:
        """Write the files that headings name, each with the block of Python that follows; return their names."""
        files = re.findall(r"^#+ \d\. .*`(.*\.py)`", section, re.MULTILINE)
        blocks = [block for block in self.blocks(section, "python") if not block.startswith(">>>")]
        for file, content in zip(files, blocks, strict=True):
            assert not (self.folder / file).exists()
            (self.folder / file).write_text(content)
        return files

    def apply(self, section: str) -> list[str]:
        """Apply the section's blocks of changes; return the names of the files that they touch."""
        changes = "".join(self.blocks(section, "diff"))
        words = [shutil.which("git") or "git", "apply", "-"]
        subprocess.run(words, cwd=self.folder, input=changes, text=True, check=True)
        return re.findall(r"^\+\+\+ b/(.*)$", changes, re.MULTILINE)

    def run(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        """Run Python with these arguments in the copy."""
        return subprocess.run(
            [sys.executable, *words],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": f"{self.folder}{os.pathsep}{ROOT}"},
            capture_output=True,
            text=True,
            check=False,
        )

    def follow(self, section: str) -> subprocess.CompletedProcess[str]:
        """Run the section's one command."""
        (command,) = self.blocks(section, "sh")
        first, *words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', command)]
        assert first == ".venv/bin/python"
        return self.run([*words, *(["-q", "-p", "no:cacheprovider"] if "pytest" in words else [])])

    @staticmethod
    def blocks(section: str, language: str) -> list[str]:
        """Return the blocks of a language."""
        return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


@pytest.fixture
def copy_of(tmp_path: Path):
    """Return a function that copies parts of the project."""
    return lambda *parts: Copy(tmp_path, parts)


@pytest.fixture
def dpaccount(capsys, tmp_path, monkeypatch):
    """Run a command in a temporary folder; return (exit code, standard output, standard error)."""
    from audits import cli  # most tests need no command
    from tests.documents import follows_its_schema

    monkeypatch.chdir(tmp_path)

    def run(*words):
        code = cli.run([str(word) for word in words])
        out, err = capsys.readouterr()
        if "--json" in words and (out or code == 0):  # a refusal is a sentence on standard error
            follows_its_schema(list(map(str, words)), out)
        return code, out, err

    return run
