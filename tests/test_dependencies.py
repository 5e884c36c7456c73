"""What pyproject.toml asks for is what the code imports, and the lock holds that and no more."""

import ast
import re
import sys
import tomllib
from importlib import metadata

import pytest
from packaging.requirements import Requirement

OURS = {"dpaccount", "mechanisms", "bandits", "audits", "pytest_dpaccount"}
#: Asked for and never imported: programs that the Makefile or a test starts, and plugins of pytest or mypy.
STARTED = {
    "build": "tests/audits builds the wheel",
    "editables": "installs the checkout",
    "hatchling": "builds the wheel",
    "import-linter": "make lint",
    "mypy": "make lint",
    "ruff": "make lint",
    "pytest-cov": "coverage of a run",
    "pytest-xdist": "make test",
    "scipy-stubs": "read by mypy",
}
#: Imported and not asked for: the plugin runs inside the pytest that loads it.
GIVEN = {"pytest"}


def named(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def imported(*folders):
    """Return the distributions that the files of these folders import."""
    modules = set()
    for folder in folders:
        for file in [folder] if folder.is_file() else folder.rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Import):
                    modules |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    modules.add(node.module.partition(".")[0])
    known = metadata.packages_distributions()
    outside = modules - OURS - set(sys.stdlib_module_names)
    return {named(known[module][0]) for module in outside if module in known}


@pytest.fixture
def project(root):
    return tomllib.loads((root / "pyproject.toml").read_text())["project"]


def asked(requirements):
    return {named(Requirement(text).name) for text in requirements}


#: What users may leave out: asked for by an extra each, imported only where it is needed.
OPTIONAL = ("tables", "frames")


def test_every_dependency_is_imported_and_every_import_is_one(root, project):
    files = [root / part for part in ("dpaccount", "mechanisms", "bandits", "audits", "pytest_dpaccount.py")]
    extras = set().union(*(asked(project["optional-dependencies"][name]) for name in OPTIONAL))
    assert imported(*files) - GIVEN == asked(project["dependencies"]) | extras


def test_every_extra_is_imported_or_started(root, project):
    extras = project["optional-dependencies"]
    assert set(extras) == {"test", *OPTIONAL}
    assert not set(STARTED) - asked(extras["test"])
    for name in OPTIONAL:
        assert asked(extras[name]) <= asked(extras["test"])
    assert asked(extras["test"]) - set(STARTED) - imported(root / "tests") == set()


def test_the_lock_holds_what_is_asked_for_and_what_that_needs(root, project):
    todo = [Requirement(text) for text in project["dependencies"] + project["optional-dependencies"]["test"]]
    needed = set()
    while todo:
        found = todo.pop()
        if named(found.name) in needed:
            continue
        needed.add(named(found.name))
        for text in metadata.requires(found.name) or []:
            part = Requirement(text)
            if part.marker is None or any(part.marker.evaluate({"extra": e}) for e in (found.extras or {""})):
                todo.append(part)
    lock = (root / "requirements.lock").read_text()
    assert {named(name) for name in re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)} == needed
