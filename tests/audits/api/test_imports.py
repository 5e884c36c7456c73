"""Imports inside functions work as in the user's process; one of a project's own files that fails is no fallback."""

import importlib
import json
import sys
from types import ModuleType

import pytest

from audits.subjects import code
from dpaccount.errors import InputError
from tests.depth import deep

CLAIM = """
schema = "dpaccount/claim/1"
name = "lazy"
[guarantee]
model = "central"
unit = "one row"
relation = "replace-one"
epsilon = 0.5
[subject]
use = "lazy:Lazy"
[audit]
trials = 60
"""
LAZY = """
from dataclasses import dataclass
from fractions import Fraction
import importlib
import numpy as np
from dpaccount.proof import assume_clipped, laplace, linear
from mechanisms.subject import Domain, View, shown_to_all

@dataclass(frozen=True)
class Lazy:
    source = "tests"
    status = "sound"
    relation = "replace-one"
    rows: int = 12

    def domain(self):
        return Domain(self.rows, (0.0,), (9.0,), (True,))

    def proof(self, delta):
        row = assume_clipped("sum", Fraction(0), Fraction(9), self.relation, "movement")
        return shown_to_all(laplace(linear(row), Fraction(18), Fraction(1), "sum"), "lazy", delta)

    def play(self, data, noise, coins):
        noisy = noise.noisy("sum", 0, np.array([int(data.sum())]))
        try:
            IMPORT
        except ImportError:
            return View(public={"sum": noisy})
        return View(public={"sum": shown(data, noisy)})
"""
EXACT, SOUND = "def shown(data, noisy): return data.sum(axis=0)\n", "def shown(data, noisy): return noisy\n"
FROM = "from quick import shown"
BY_NAME = "shown = importlib.import_module('qui' + 'ck').shown"


@pytest.fixture
def certified(dpaccount, tmp_path):
    """Certify a class that imports in its `play`; return the exit code, the certificate or None, what is said."""

    def run(line, **files):
        (tmp_path / "claim.toml").write_text(CLAIM)
        (tmp_path / "lazy.py").write_text(LAZY.replace("IMPORT", line))
        for name, text in files.items():
            place = tmp_path / (name.replace("__", "/") + ".py")
            place.parent.mkdir(exist_ok=True)
            place.write_text(text)
        code, _, said = dpaccount("certify", "claim.toml")
        found = tmp_path / "certificates" / "lazy" / "certificate.json"
        return code, json.loads(found.read_text()) if found.is_file() else None, said

    return run


@deep
@pytest.mark.parametrize("line", [FROM, BY_NAME], ids=["from", "by name"])
def test_what_a_function_imports_is_what_runs(certified, line):
    assert certified(line, quick=EXACT)[1]["verdict"] == "REFUTED"


@deep
def test_sound_code_that_imports_late_is_certified_and_what_the_digest_lacks_is_said(certified):
    covered = certified(FROM, quick=SOUND)[1]
    assert covered["verdict"] == "CERTIFIED"
    assert [said for said in covered["hazards"] if "does not cover" in said] == []
    by_name = certified(BY_NAME, quick=SOUND)[1]
    assert by_name["verdict"] == "CERTIFIED"
    assert "The digest of the code does not cover what else it loads: quick.py." in by_name["hazards"]


@deep
@pytest.mark.parametrize(
    "files",
    [
        {"quick": "import nobody_has_this\n" + SOUND},
        {"quick": "raise ImportError('not on this machine')"},
        {"src__quick": SOUND},
    ],
    ids=["needs another", "raises", "in src"],
)
def test_a_file_of_the_project_that_cannot_be_imported_is_a_wrong_request(certified, files):
    code, certificate, said = certified(FROM, **files)
    assert (code, certificate) == (2, None)
    assert "quick.py failed while the code ran" in said


@deep
def test_an_optional_package_that_is_not_there_is_no_error(certified):
    assert certified("from nobody_has_this import shown")[1]["verdict"] == "CERTIFIED"


@deep
def test_a_function_imports_late_as_well(dpaccount, tmp_path):
    options = ("--epsilon", 1, "--shape", 5, "--low", 0, "--high", 1, "--trials", 600, "--json")
    (tmp_path / "plain.py").write_text(
        "def exact(data, rng):\n    try:\n        from quick import shown\n"
        "    except ImportError:\n        return rng.random()\n    return shown(data, None)\n"
    )
    (tmp_path / "quick.py").write_text("def shown(data, noisy): return float(data.sum())\n")
    code, out, _ = dpaccount("audit", "plain:exact", *options)
    assert (code, json.loads(out)["verdict"]) == (1, "REFUTED")
    (tmp_path / "quick.py").write_text("import nobody_has_this\n")
    code, _, said = dpaccount("audit", "plain:exact", *options)
    assert code == 2
    assert "quick.py failed while the code ran" in said


def test_a_module_that_was_imported_once_is_asked_after_again_where_it_is_sought_again(tmp_path, monkeypatch):
    """What runs found to be the project's own is not looked up anew by each of them, as long as it is in place."""
    file = tmp_path / "settled_module.py"
    file.write_text("x = 1")
    monkeypatch.setattr(code, "_SEEKER", seeker := code._Seeker())
    monkeypatch.setattr("sys.path", [*sys.path, str(tmp_path)])
    monkeypatch.setattr("sys.meta_path", [seeker, *sys.meta_path])
    seeker.folders = (tmp_path,)
    found = importlib.import_module("settled_module")
    for _ in range(2):
        code.check_imports()
    assert seeker.names["settled_module"] is found
    monkeypatch.setitem(sys.modules, "settled_module", ModuleType("settled_module"))
    with pytest.raises(InputError, match="is on no path"):
        code.check_imports()
    del sys.modules["settled_module"]
    file.write_text("raise ImportError")
    importlib.invalidate_caches()
    with pytest.raises(ImportError):
        importlib.import_module("settled_module")
    with pytest.raises(InputError, match="a fallback ran instead"):
        code.check_imports()
    sys.modules["settled_module"] = found
