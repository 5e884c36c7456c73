"""The house stays one that can be read: rooms by meaning, no circle, one meaning for each class name, short functions.

docs/architecture.md describes the layout; pyproject.toml says what may import what, and `make lint` checks it.
"""

import ast
import importlib.util
import statistics
import tomllib
from collections import defaultdict
from functools import lru_cache
from graphlib import TopologicalSorter
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


def measures():
    spec = importlib.util.spec_from_file_location("house", ROOT / ".ci" / "house.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_limit_is_that_of_a_measure():
    limits = tomllib.loads((ROOT / ".ci" / "house.toml").read_text())
    assert set(limits) == set(measures().MEASURES)


def test_a_measure_above_its_limit_is_red_and_one_that_could_not_be_taken_says_so(monkeypatch, capsys):
    house, name = measures(), "dict[str, Any]"
    monkeypatch.setattr("sys.argv", ["house.py", "--only", name])
    said = {}
    for value in (581, 582, None):
        monkeypatch.setitem(house.MEASURES, name, lambda value=value: value)
        said[value] = house.main(), capsys.readouterr().out
    assert [code for code, _ in said.values()] == [0, 1, 0]
    assert "above its limit" in said[582][1]
    assert "not measured" in said[None][1]


def test_lines_of_code_are_those_that_run():
    text = '"""Says."""\n\n# why\nx = [\n    1,  # one\n    # two\n]\n\n\ndef f():\n    """Says\n    more."""\n    return """\n\n"""\n'
    assert sorted(measures()._code(text)) == [4, 5, 7, 10, 13, 14, 15]
