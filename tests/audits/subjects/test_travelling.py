"""A function that travels: its own modules run, whatever a worker has under their names, or nothing does."""

import importlib
import sys

import pytest

from audits.sandbox.fork import Fork
from audits.subjects.code import ArchiveImporter, Code, archived
from dpaccount.errors import InputError

CODE = """
import math
import numpy as np
from helped.more import doubled
def cubes(data, rng):
    return doubled(float(np.sum(data)) * math.pow(2, 3))
"""


@pytest.fixture
def folder(tmp_path):
    """Write a module that imports from a package beside it."""
    place = tmp_path / "code"
    (place / "helped").mkdir(parents=True)
    (place / "mine.py").write_text(CODE)
    (place / "helped" / "__init__.py").write_text("")
    (place / "helped" / "more.py").write_text("def doubled(x):\n    return 2 * x\n")
    return place


def called(archive, name, *given):
    """Import a function of an archive, and call it, in a process of its own; return its result."""

    def work(_):
        importer = ArchiveImporter(archive)
        module, _, function = name.partition(":")
        try:
            found = getattr(importlib.import_module(module), function)(*given)
        except InputError as error:
            found = str(error)
        importer.check()
        return found

    with Fork(work) as fork:
        return fork.ask()


def everything(folder):
    return archived(folder, sorted(folder.rglob("*.py")))


def test_it_runs_whatever_has_its_name_elsewhere(folder, tmp_path, monkeypatch):
    decoys = tmp_path / "decoys"
    (decoys / "helped").mkdir(parents=True)
    for name in ("mine.py", "helped/__init__.py", "helped/more.py"):
        (decoys / name).write_text("raise SystemExit('a decoy')")
    monkeypatch.syspath_prepend(decoys)
    archive = everything(folder)
    (folder / "mine.py").write_text("raise SystemExit('changed since')")
    assert called(archive, "mine:cubes", [1.5], None) == 24


def test_a_module_that_was_loaded_from_elsewhere_is_not_taken_for_the_archives(folder, monkeypatch):
    archive = everything(folder)
    monkeypatch.setitem(sys.modules, "helped", sys)
    with pytest.raises(InputError, match="a module helped that is not the archive's is loaded here"):
        ArchiveImporter(archive)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("mine.py", "import pandas", "mine.py imports pandas, which is not in the archive"),
        ("mine.py", "def f():\n    from sklearn.svm import SVC", "imports sklearn"),
        ("numpy.py", "", "a module of the archive is called numpy; rename it"),
        ("mine.py", "def (", "no Python"),
        ("mine.py", "#" * 2**20, "at most 1048576 travel"),
        ("mine.py", "-" * 100_000 + "1", r"mine\.py: this is nested too deeply"),
        ("mine.py", "a" + ".a" * 100_000, r"mine\.py: this is nested too deeply"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(folder, name, text, said):
    (folder / name).write_text(text)
    with pytest.raises(InputError, match=said) as found:
        everything(folder)
    assert "\n" not in str(found.value)


def test_all_that_it_imports_decides_which_work_it_is(folder, monkeypatch):
    monkeypatch.chdir(folder)
    code = Code("mine:cubes", (str(folder),))
    first = code.travelling()
    assert [name for name, _ in first.archive] == ["helped/__init__.py", "helped/more.py", "mine.py"]
    (folder / "stray.py").write_text("import pandas")
    assert code.travelling() == first
    (folder / "helped" / "more.py").write_text("def doubled(x):\n    return 4 * x\n")
    assert code.travelling() != first


HIDDEN = "import {how}\ndef f():\n    return {found}.VALUE\n"
WAYS = {
    "importlib": "importlib.import_module('hidden_helper')",
    "importlib.util": "importlib.import_module('.hidden_helper', 'hidden_folder')",
    "builtins": "builtins.__import__('hidden_helper')",
    "importlib._bootstrap": "importlib._bootstrap._gcd_import('hidden_helper')",
    "pkgutil": "pkgutil.resolve_name('hidden_helper')",
    "pickle": "type('x', (), {'VALUE': pickle.loads(b'chidden_helper\\nVALUE\\n.')})",
    "types": "exec('import hidden_helper as h', found := {}) or found['h']",
}


@pytest.mark.parametrize("how", WAYS)
def test_what_is_imported_without_saying_so_is_refused(tmp_path, monkeypatch, how):
    """Its file could change, and a store would still have what it gave before."""
    others = tmp_path / "others"
    (others / "hidden_folder").mkdir(parents=True)
    for name in ("hidden_helper", "hidden_folder/__init__", "hidden_folder/hidden_helper"):
        (others / f"{name}.py").write_text("VALUE = 1")
    monkeypatch.syspath_prepend(others)
    (tmp_path / "mine.py").write_text(HIDDEN.format(how=how, found=WAYS[how]))
    with pytest.raises(InputError, match=r"the archive's code imports hidden_.*, which is not in it"):
        called(archived(tmp_path, [tmp_path / "mine.py"]), "mine:f")


def test_what_others_import_meanwhile_is_no_matter_of_the_archive(tmp_path):
    """What it calls imports for itself what the archive could not."""
    (tmp_path / "mine.py").write_text("def f(call):\n    return call()\n")
    assert called(archived(tmp_path, [tmp_path / "mine.py"]), "mine:f", imports_for_itself) is True


def imports_for_itself():
    sys.modules.pop("tests.planted.tasks", None)
    import tests.planted.tasks as found

    return found is sys.modules["tests.planted.tasks"]


def test_a_folder_that_is_no_package_does_not_hide_a_module(tmp_path):
    """As a package leaves one behind that became a module: its bytecode."""
    (tmp_path / "mine" / "part" / "__pycache__").mkdir(parents=True)
    (tmp_path / "mine" / "__init__.py").write_text("")
    (tmp_path / "mine" / "part.py").write_text("def f(data):\n    return 0\n")
    code = Code("mine.part:f", (str(tmp_path),))
    assert code.file() == tmp_path / "mine" / "part.py"
    assert tmp_path / "mine" / "part.py" in code.files()
    (tmp_path / "mine" / "part" / "__init__.py").write_text("")
    assert code.file() == tmp_path / "mine" / "part" / "__init__.py"
