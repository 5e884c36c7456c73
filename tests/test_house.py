"""The house stays one that can be read: rooms by meaning, no circle, one meaning for each class name, short functions.

docs/architecture.md describes the layout; pyproject.toml says what may import what, and `make lint` checks it.
"""

import ast
import statistics
import subprocess
import tomllib
from collections import defaultdict
from functools import lru_cache
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest
from tests.depth import deep

ROOT = Path(__file__).parent.parent
TOPS = ("dpaccount", "mechanisms", "audits", "bandits", "papers", "service")
CATALOGUES = tuple(ROOT / top for top in ("mechanisms", "bandits") if (ROOT / top).is_dir())
CHECKER = ROOT / "dpaccount" / "checker"
PAIRS = ROOT / "dpaccount" / "pairs"
PROOF = ROOT / "dpaccount" / "proof"

#: class names with two meanings on purpose, each with its reason
TWINS = {
    **dict.fromkeys(
        ("Pure", "Approximate", "Gdp", "Zcdp", "BoundedRange"),
        "the field's word for an event that is charged and for the curve that a theorem ends in",
    ),
    **dict.fromkeys(
        ("Exponential", "PermuteAndFlip"),
        "the mechanism, whose class is named after its file, and the event that it is charged as",
    ),
    "Learner": "the learning half of each bandit, known by the bandit's module",
    "Private": "the judgement as derivations write it, and the rows that only a mechanism may read",
    "View": "the judgement as derivations write it, and what `play` shows to whom",
}

FILES = [file for top in TOPS for file in sorted((ROOT / top).rglob("*.py"))]


@lru_cache(maxsize=1)
def trees() -> dict[Path, ast.Module]:
    return {file: ast.parse(file.read_text()) for file in FILES}


def module_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(file): file for file in FILES}


def imports(file: Path) -> set[str]:
    """Return the modules of ours that a file imports, inside functions too."""
    package = module_of(file) if file.name == "__init__.py" else module_of(file).rpartition(".")[0]
    found = set()
    for node in ast.walk(trees()[file]):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                found.add(f"{base}.{alias.name}" if f"{base}.{alias.name}" in MODULES else base)
    return found & set(MODULES) - {module_of(file)}


@deep
def test_imports_run_in_no_circle():
    # a sorter raises `CycleError`, which names the circle
    assert (
        len(list(TopologicalSorter({module_of(file): imports(file) for file in FILES}).static_order())) > 200
    )


def test_folders_can_be_taken_in():
    for folder in {file.parent for file in FILES} - set(CATALOGUES):
        beside_the_door = [file for file in folder.glob("*.py") if file.name != "__init__.py"]
        # one file a distribution in pairs, one a family of rules in the checker
        most = 16 if folder == PAIRS else 14 if folder == CHECKER else 12
        assert len(beside_the_door) <= most, folder


def test_proof_states_no_rules_of_its_own():
    files = [
        file for file in PROOF.glob("*.py") if file.name != "search.py"
    ]  # witnesses are tried by the rules
    assert sum(len(file.read_text().splitlines()) for file in files) <= 900


@pytest.mark.parametrize("top", CATALOGUES, ids=lambda top: top.name)
def test_the_level_of_a_catalogue_holds_what_is_catalogued_and_nothing_else(top):
    from audits.subjects.catalogue import entries

    listed = {entry.name.replace("-", "_") for entry in entries() if entry.layer == top.name}
    assert {file.stem for file in top.glob("*.py")} == listed | {"__init__"}


@deep
def test_a_class_name_has_one_meaning():
    places = defaultdict(list)
    for file, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(module_of(file))
    assert {name: where for name, where in places.items() if len(where) > 1 and name not in TWINS} == {}
    assert len(TWINS) <= 10
    for name, reason in TWINS.items():
        assert len(places[name]) > 1, f"{name} has one meaning by now"
        assert len(reason) > 20


@deep
def test_functions_are_short_and_public_ones_documented():
    lengths = []
    for file, tree in trees().items():
        functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))
        lengths += [node.end_lineno - node.lineno + 1 for node in functions]
        for node in [tree, *(n for n in ast.walk(tree) if isinstance(n, ast.ClassDef | ast.FunctionDef))]:
            name = getattr(node, "name", "")
            if not name.startswith("_"):
                inside = isinstance(node, ast.FunctionDef) and node not in public(tree)
                assert inside or ast.get_docstring(node), (file, name)
    lengths.sort()
    assert statistics.median(lengths) <= 6
    assert lengths[len(lengths) * 9 // 10] <= 19


def public(tree: ast.Module) -> list[ast.AST]:
    """Return the functions of a module and of its public classes."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    return [node for holder in (tree, *classes) for node in holder.body if isinstance(node, ast.FunctionDef)]


LIMITS = ".ci/house.toml"


def rises(limits: dict, measure: str) -> list[dict]:
    """Return the entries that let a measure rise, each with the issue that paid for it."""
    return [each for each in limits.get("rise", ()) if each["measure"] == measure]


def unpaid(earlier: dict, later: dict) -> list[str]:
    """Return the measures whose limit is above the earlier one by more than the rises that were added."""
    return [
        name
        for name, limit in later["limits"].items()
        if name in earlier["limits"]
        and limit["most"] - earlier["limits"][name]["most"]
        > sum(each["by"] for each in rises(later, name)) - sum(each["by"] for each in rises(earlier, name))
    ]


def landed() -> list[dict]:
    """Return the limits as they last landed; none where git knows no such place, or no limits are there."""
    command = ["git", "-C", str(ROOT), "show", f"origin/main:{LIMITS}"]
    try:
        text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return []
    return [limits] if "limits" in (limits := tomllib.loads(text)) else []


def test_limits_only_fall_but_by_rises_that_name_the_issue_which_paid():
    limits = tomllib.loads((ROOT / LIMITS).read_text())
    for name, limit in limits["limits"].items():
        assert limit["most"] <= limit["frozen"] + sum(each["by"] for each in rises(limits, name)), name
    for each in limits.get("rise", ()):
        assert each["measure"] in limits["limits"]
        assert min(each["by"], len(each["issue"]) - 8, len(each["why"]) - 20) > 0, each
    # against the file as it landed; without git the frozen values alone hold it
    for earlier, later in pairwise([*landed(), limits]):
        assert unpaid(earlier, later) == []
        assert {*earlier["limits"]} <= {*later["limits"]}, "a measure is never taken away"
        for name, limit in earlier["limits"].items():
            assert later["limits"][name]["frozen"] <= limit["frozen"], name


def test_a_rise_that_nobody_paid_for_is_seen():
    before = {"limits": {"lines of tests": {"frozen": 100, "most": 90}}}
    after = {"limits": {"lines of tests": {"frozen": 100, "most": 95}}}
    assert unpaid(before, after) == ["lines of tests"]
    paid = {**after, "rise": [{"measure": "lines of tests", "by": 5, "issue": "Accounting", "why": "risk"}]}
    assert unpaid(before, paid) == []
    assert unpaid(paid, after | {"limits": {"lines of tests": {"frozen": 100, "most": 96}}}) != []
