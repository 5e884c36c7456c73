"""What other packages add: a broken one is a line of warning, none takes a name of ours, all are users' own code."""

import importlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dpaccount_packages
from audits.api.arguments import Arguments
from audits.claim import read_claim, spelled
from audits.cli.app import BUILT_IN, add_commands, app
from audits.subjects import catalogue
from dpaccount import extensions
from dpaccount.documents import Place
from dpaccount.errors import InputError
from dpaccount.schemas import catalogue as schemas
from tests.depth import deep
from tests.dpaccount.checker.made import HONEST

SUM = '''
from dataclasses import dataclass
from mechanisms.laplace_sum import LaplaceSum

@dataclass(frozen=True)
class Sum(LaplaceSum):
    """A sum of somebody else's."""
    source = "acme"
    status = "sound"
'''
CLAIM = """
schema = "dpaccount/claim/1"
name = "total"
guarantee = {{ model = "central", unit = "row", relation = "replace-one", epsilon = 1 }}
subject = {{ use = "{use}", parameters = {{ {said} }} }}
"""
CACHES = (extensions._points, extensions.extensions, extensions._loaded, extensions.warn, schemas.schemas)


@pytest.fixture
def plant(tmp_path, monkeypatch):
    """Return a function that puts a distribution on the path: its modules, and its entry points by group."""
    site, before = tmp_path / "site", {*sys.modules}
    commands = set(app)

    def forget():
        importlib.invalidate_caches()
        for cache in CACHES:
            cache.cache_clear()

    def planted(points, modules=None, name="acme", text=None):
        info = site / f"{name}-1.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        groups = (f"[dpaccount.{group}]\n" + "\n".join(lines) for group, lines in points.items())
        (info / "entry_points.txt").write_text("\n".join(groups) if text is None else text)
        for module, code in (modules or {}).items():
            (site / f"{module}.py").write_text(code)
        forget()
        return site

    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", str(site))
    yield planted
    for module in {*sys.modules} - before:
        if (getattr(sys.modules[module], "__file__", None) or "").startswith(str(site)):
            del sys.modules[module]
    for command in set(app) - commands:
        del app[command]
    monkeypatch.undo()
    forget()


BROKEN = {
    "raises": ("subjects", "thing = raising:Sum", "ZeroDivisionError"),
    "ends": ("subjects", "thing = ending:Sum", "SystemExit"),
    "has no such module": ("subjects", "thing = nowhere.at_all:Sum", "ModuleNotFoundError"),
    "has no such class": ("subjects", "thing = sums:Other", "AttributeError"),
    "says nothing of itself": ("subjects", "thing = sums:Bare", "no attribute 'source'"),
    "has a default that is no document": ("subjects", "thing = sums:Odd", "not JSON serializable"),
    "has types that are nowhere": ("subjects", "thing = sums:Typed", "NameError"),
    "has an odd name": ("subjects", "Thing_1 = sums:Sum", "small letters"),
    "is no command": ("commands", "thing = sums:NUMBER", "thing of acme cannot be used"),
    "raises as a command": ("commands", "thing = raising:go", "ZeroDivisionError"),
    "is no structure": ("schemas", "thing = sums:NUMBER", "thing of acme cannot be used"),
    "says its entry points wrongly": (None, "[dpaccount.subjects]\nno entry at all\n", "entry points"),
}
MODULES = {
    "raising": "1 / 0\n",
    "ending": "raise SystemExit(0)\n",
    "sums": f"{SUM}\nNUMBER = 7\n\n@dataclass(frozen=True)\nclass Bare:\n    status = 'sound'\n"
    "\n@dataclass(frozen=True)\nclass Odd(Sum):\n    odd: object = frozenset()\n"
    "\n@dataclass(frozen=True)\nclass Typed(Sum):\n    odd: 'Nowhere' = 0\n",
}


@deep(quick_every=4)
@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_package_is_one_line_of_warning_and_stops_nothing_else(dpaccount, plant, how):
    group, line, why = BROKEN[how]
    whole = [dpaccount(*words) for words in (["subjects", "--json"], ["--help"], ["schema", "certificate"])]
    plant({group: [line]} if group else {}, MODULES, text=None if group else line)
    warned = ""
    for (code, said, err), words in zip(
        whole, (["subjects", "--json"], ["--help"], ["schema", "certificate"]), strict=True
    ):
        again = dpaccount(*words)
        assert again[:2] == (code, said), words
        warned += again[2].removeprefix(err)
    (said,) = warned.splitlines()
    assert said.startswith("warning: ")
    assert why in said


@deep
def test_accounts_checks_and_charges_read_nothing_of_other_packages(dpaccount, plant, tmp_path):
    """Entry points are not even read: a line that is none would be warned of."""
    plant({}, text="[dpaccount.commands]\nno entry at all\n")
    plan = {
        "schema": "dpaccount/events/1",
        "relation": "replace-one",
        "events": [{"event": "pure", "epsilon": 1}],
    }
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    (tmp_path / "c.json").write_text(json.dumps(HONEST))
    budget = ("--epsilon", 9, "--delta", 0, "--unit", "row", "--relation", "replace-one", "--measure", "pure")
    for words in (
        ("account", "plan.json", "--delta", 0),
        ("check", "c.json"),
        ("ledger", "init", "sqlite:///l.db", *budget),
        ("ledger", "charge", "sqlite:///l.db", "plan.json", "--key", "one"),
        ("certify", written(tmp_path, "laplace-sum"), "--quick", "--jobs", 1),
    ):
        code, _, err = dpaccount(*words)
        assert (code, "warning" in err) == (0, False), (words, err)
    assert extensions._points.cache_info().currsize == 0


def written(folder, use, said="low = 0, high = 1, rows = 5, scale = 9"):
    (folder / "claim.toml").write_text(CLAIM.format(use=use, said=said))
    return folder / "claim.toml"


def test_no_name_of_ours_is_taken(dpaccount, plant, tmp_path):
    before, ours = catalogue.listed(None), schemas.schemas()
    names = [each["name"] for each in before]
    every = [name for commands in BUILT_IN.values() for name in commands]
    added = [each.name for each in extensions.extensions(extensions.COMMANDS)]
    add_commands()
    plant(
        {
            "subjects": [f"{name} = sums:Sum" for name in names],
            "commands": [f"{name} = sums:go" for name in (*every, *added)],
            "schemas": [f"{name}{version} = sums:Answer" for name in ours for version in ("", "/1", "/2")],
        },
        {
            "sums": f"{SUM}\nimport msgspec\nclass Answer(msgspec.Struct):\n    evil: int\ndef go(): return 66\n"
        },
    )
    assert catalogue.listed(None) == before
    assert schemas.schemas() == ours
    for name in names:
        assert spelled(name) == name
    for name in ("certify", *added):
        assert dpaccount(name, "--help")[0] == 0
        assert getattr(app[name].default_command, "__module__", "") != "sums"
    assert read_claim(written(tmp_path, "laplace-sum")).use == "laplace-sum"


APP = """
from cyclopts import App
app = App(help="Two commands of one app.")

@app.command
def half(number: int) -> int:
    print(number / 2)
    return 3
"""


def test_a_command_may_be_an_app_of_several(dpaccount, plant):
    plant({"commands": ["halves = apps:app"]}, {"apps": APP})
    code, out, err = dpaccount("--help")
    assert (code, err) == (0, "")
    assert re.search(r"Other packages.*halves +Two commands of one app", out, re.DOTALL)
    assert dpaccount("halves", "half", 5) == (3, "2.5\n", "")
    code, _, err = dpaccount("halves", "half", "x")
    assert code == 2
    assert err.endswith("see dpaccount halves half --help\n")


@pytest.mark.parametrize("use", ["acme-sum", "sums:Sum"])
def test_another_packages_subject_is_a_users_own_code(dpaccount, plant, tmp_path, use):
    plant({"subjects": ["acme-sum = sums:Sum"]}, {"sums": SUM})
    claim = read_claim(written(tmp_path, use))
    assert (claim.use, claim.written["subject"]["use"]) == ("sums:Sum", "sums:Sum")
    assert Arguments.read({"epsilon": 1}).request(use).use == "sums:Sum"
    assert Arguments().query(use).use == "sums:Sum"
    for words in (("certify", "claim.toml"), ("audit", use, "--epsilon", 1), ("sensitivity", use)):
        code, _, err = dpaccount(*words, "--catalogue-only")
        assert code == 2
        assert "runs code" in err
    with pytest.raises(InputError, match="unknown subject"):
        catalogue.find("acme-sum")
    assert catalogue.listed("acme-sum")["layer"] == "sums"
    assert "sums" in sys.modules  # for `list` alone
    assert not catalogue.is_catalogued(sys.modules["sums"].Sum)


def test_a_claim_never_imports_another_packages_subject(plant, tmp_path):
    plant({"subjects": ["acme-sum = sums:Sum"]}, {"sums": SUM})
    assert read_claim(written(tmp_path, "acme-sum")).use == "sums:Sum"
    assert "sums" not in sys.modules


WEIGHTS = """
class Weights: pass
KIND = Weights
def files_named(place): return iter(())
def as_claimed(place): return {**place.value, "digest": "seen"}
def read(place): return Weights()
"""


@pytest.mark.parametrize(("use", "digest"), [("acme-sum", True), ("sums:Sum", True), ("mine:Own", False)])
def test_another_packages_parameter_is_read_for_its_own_subjects(plant, tmp_path, use, digest):
    plant(
        {"subjects": ["acme-sum = sums:Sum"], "parameters": ["weights = weighing"]},
        {"sums": SUM, "weighing": WEIGHTS},
    )
    said = read_claim(written(tmp_path, use, "weights = { a = 1 }")).written["subject"]["parameters"][
        "weights"
    ]
    assert ("digest" in said) == ("weighing" in sys.modules) == digest


def test_a_parameter_without_a_kind_hides_no_other(plant):
    plant(
        {"parameters": ["odd = nothing_in_it", "weights = weighing"]},
        {"nothing_in_it": "", "weighing": WEIGHTS},
    )
    kind = importlib.import_module("weighing").Weights
    assert isinstance(catalogue._value_at(Place({}, "f"), kind), kind)


def test_what_a_package_prints_is_in_no_document(dpaccount, plant):
    plant({"subjects": ["acme-sum = sums:Sum"]}, {"sums": f"print('welcome')\n{SUM}"})
    code, out, err = dpaccount("subjects", "--json")
    assert (code, "acme-sum" in out, "welcome" in err) == (0, True, True)
    json.loads(out)


@pytest.mark.parametrize(
    ("body", "said"),
    [("1 / 0", "ZeroDivisionError"), ("return 7", "it made no section"), ("raise SystemExit", None)],
)
def test_a_broken_part_of_a_report_is_one_sentence(dpaccount, plant, tmp_path, body, said):
    plant({"reports": ["note = notes:section"]}, {"notes": f"def section(file):\n    {body}\n"})
    (tmp_path / "c.json").write_text(json.dumps(HONEST))
    code, _, err = dpaccount("report", "c.json", "--part", "note=f")
    assert (code, len(err.splitlines())) == (2, 1)
    assert "note of acme cannot be used" in err
    assert said is None or said in err


def test_what_calls_itself_our_distribution_is_ours_only_within_our_packages(plant):
    plant({"subjects": ["thing = sums:Sum"]}, {"sums": SUM}, name="dpaccount")
    assert not extensions.extension("dpaccount.subjects", "thing").ours
    assert spelled("thing") == "sums:Sum"


# ------------------------------------------------------------------ packages of our names


def python(folder, code):
    """Return what a program prints in whose path a folder comes first; our packages stand as in a wheel."""
    wheel = folder / "wheel"
    (wheel / "dpaccount_packages").mkdir(parents=True, exist_ok=True)
    homes = dpaccount_packages.folders()
    for top, home in homes.items():
        place = wheel / top if top == "dpaccount" else wheel / "dpaccount_packages" / top
        if not place.exists():
            place.symlink_to(home)
    shutil.copy(dpaccount_packages.__file__, wheel / "dpaccount_packages" / "__init__.py")
    path = [str(folder), str(wheel), str(Path(np.__file__).parents[1])]
    code = f"import sys; sys.path[:0] = {path}\n{code}"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    return f"{done.stdout}{done.stderr.splitlines()[-1:]}" if done.returncode else done.stdout


IN_THEIRS = "import dpaccount, {top}.{name} as m; from dpaccount_packages import is_ours\n"
IS_OURS = "print(is_ours(m.__name__), is_ours(m.__name__.partition('.')[0]))\n"
FOUND = """
from audits.subjects import catalogue
try: print(catalogue.find('laplace-sum').made_by.__module__)
except Exception as error: print(type(error).__name__)
print(catalogue.is_catalogued(m.LaplaceSum))
"""
NO_SUM = (
    SUM.replace("from mechanisms.laplace_sum import LaplaceSum", "")
    .replace("Sum(LaplaceSum)", "LaplaceSum")
    .replace("source", "proof = domain = None\n    source")
)


@deep
def test_a_module_in_a_namespace_of_our_name_is_not_ours(tmp_path):
    """It is joined with ours, and comes first: what decides is the module's own file."""
    (tmp_path / "mechanisms").mkdir()
    (tmp_path / "mechanisms" / "theirs.py").touch()
    assert python(tmp_path, IN_THEIRS.format(top="mechanisms", name="theirs") + IS_OURS) == "False True\n"
    (tmp_path / "mechanisms" / "laplace_sum.py").write_text(NO_SUM)
    shadowing = IN_THEIRS.format(top="mechanisms", name="laplace_sum") + IS_OURS + FOUND
    assert python(tmp_path, shadowing) == "False True\nInputError\nFalse\n"


@deep
@pytest.mark.parametrize("top", dpaccount_packages.RESEARCH)
def test_anothers_package_for_research_is_not_ours(tmp_path, top):
    """Where a program of theirs uses us: theirs is imported, ours is missed in one line, and all else goes on."""
    (tmp_path / top).mkdir()
    (tmp_path / top / "__init__.py").write_text("")
    (tmp_path / top / "theirs.py").write_text(f"{SUM}\nclass Theirs(Sum): pass\n")
    asked = """
from audits.claim import spelled
from audits.subjects import catalogue
names = [each.name for each in catalogue.entries()]
print("theirs" in names, "laplace-sum" in names, catalogue.is_catalogued(m.Theirs), spelled("theirs"))
"""
    code = IN_THEIRS.format(top=top, name="theirs") + IS_OURS + asked
    assert python(tmp_path, code) == "False False\nFalse True False theirs\n"


def test_a_folder_that_a_package_left_behind_is_no_package(tmp_path, monkeypatch):
    for name in ("bandits", "papers"):
        (tmp_path / name / "__pycache__").mkdir(parents=True)
    (tmp_path / "papers" / "__init__.py").touch()
    monkeypatch.setattr(dpaccount_packages, "FOLDER", str(tmp_path))
    assert {"mechanisms", "audits", "papers"} < {*dpaccount_packages.folders()}
    assert "bandits" not in dpaccount_packages.folders()


def test_functions_to_try_an_audit_on_have_their_names_for_themselves():
    ours = {each.name for each in extensions.extensions(extensions.SUBJECTS) if each.package == "audits"}
    assert ours == {each.name for each in catalogue.TABLE}
