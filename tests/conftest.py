"""Shared fixtures.  Tests run from anywhere; nothing reads outside the project."""

import gc
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import dpaccount_packages
from dpaccount.checker.documents import Work
from tests.durations import NIGHTLY, listed

ROOT = Path(__file__).parent.parent

settings.register_profile(
    "dev", max_examples=100, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("deep", max_examples=5000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("dev")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without the garbage collector: it would walk every test again as the next ones are made."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()  # what is collected stays until the end
        gc.set_threshold(100_000, 50, 100)
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of slow_tests.txt slow, and those of nightly_tests.txt nightly.

    Every nth case of a test marked `slow(one_in=n)` stays slow; the other ones are nightly.
    """
    seen: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    slow, nightly = listed(), listed(NIGHTLY)
    for item in items:
        test = item.nodeid.partition("[")[0]
        case, mark = seen[test], item.get_closest_marker("slow")
        seen[test] += 1
        if test in slow and (slow[test] == 0 or case % slow[test]):
            item.add_marker("slow")
        late = test not in slow and mark is not None and case % mark.kwargs.get("one_in", 1) > 0
        if not late and test in nightly and item.get_closest_marker("slow"):
            case, share = kept[test], nightly[test]
            kept[test] += 1
            # along a diagonal, so that no parameter of a product is left out
            late = share == 0 or case % share != case // share % share
        if late:
            item.add_marker("nightly")


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
