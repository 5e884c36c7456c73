"""Our packages `mechanisms`, `audits`, `bandits`, `papers` and `service` stand in no project's way, and the command finds them."""

import json
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.depth import deep

NAMES = ("mechanisms", "audits", "bandits", "papers", "service")

#: An editable installation that knows its packages by a finder of its own, appended as setuptools does.
FINDER = """
import sys
from importlib.machinery import PathFinder

class Editable:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return PathFinder.find_spec(name, [{folder!r}], target) if name in {names!r} and path is None else None

sys.meta_path.append(Editable)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return a wheel of this tree."""
    root, made = Path(__file__).parents[1], tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(made), str(root)]
    subprocess.run(command, check=True, capture_output=True)
    (found,) = made.glob("*.whl")
    return found


class Place:
    """A fresh environment with our wheel, in which a project of somebody else lives."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        venv.create(folder / "venv", symlinks=True)
        self.python, self.cwd = folder / "venv" / "bin" / "python", folder / "project"
        (self.site,) = (folder / "venv" / "lib").glob("python*/site-packages")
        self.cwd.mkdir()
        with zipfile.ZipFile(wheel) as file:
            file.extractall(self.site)
        # what ours needs; a folder that a .pth file names is no place where .pth files are read
        (self.site / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.python), *words], cwd=self.cwd, capture_output=True, text=True, check=False
        )

    def project(self, name: str, kind: str, *, namespace: bool = False) -> None:
        """Write a package of this name: on the path as `kind` says."""
        folder = {"flat": self.cwd, "installed": self.site}.get(kind, self.cwd / "src")
        package = folder / name
        package.mkdir(parents=True, exist_ok=True)
        if not namespace:
            (package / "__init__.py").write_text("mine = True")
        (package / "module.py").write_text("value = 7")
        if kind == "src":
            (self.site / "__editable__.theirs.pth").write_text(f"{folder}\n")
        elif kind == "src, late":
            (self.site / "zzz.pth").write_text(f"{folder}\n")
        elif kind == "finder":
            (self.site / "__editable___finder.py").write_text(FINDER.format(folder=str(folder), names=NAMES))
            (self.site / "__editable__.theirs.pth").write_text("import __editable___finder\n")


KINDS = ("flat", "src", "src, late", "finder", "installed")


@deep
@pytest.mark.parametrize("namespace", [False, True], ids=["package", "namespace"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_project_has_its_own_packages_and_the_command_has_ours(tmp_path, wheel, kind, namespace):
    place = Place(tmp_path, wheel)
    for name in NAMES:
        place.project(name, kind, namespace=namespace)
    theirs = "; ".join(f"import {name}.module; assert {name}.module.value == 7" for name in NAMES)
    done = place.run("-W", "error", "-c", theirs)
    assert (done.returncode, done.stderr) == (0, "")
    ours = place.run(
        "-c",
        "from dpaccount import release; from bandits.simulation.delays import delays; delays('delays-by-carrier')",
    )
    if namespace:
        assert (ours.returncode, ours.stderr) == (0, "")
    else:
        assert ours.returncode == 1
        assert "dpaccount cannot run here: its package mechanisms is hidden by " in ours.stderr
        assert str(place.cwd if kind != "installed" else place.site) in ours.stderr.splitlines()[-1]
    (place.cwd / "events.json").write_text(
        '{"schema": "dpaccount/events/1", "relation": "replace-one", "events": [{"event": "pure", "epsilon": 1}]}'
    )
    said = place.run("-m", "dpaccount", "account", "events.json", "--delta", "0")
    assert (said.returncode, said.stderr) == (0, "")
    assert "1" in said.stdout


@deep
def test_nothing_else_is_found_otherwise(tmp_path, wheel):
    """Without a project of such names ours are there; names below them and of others are not asked for."""
    place = Place(tmp_path, wheel)
    code = """
import sys, dpaccount, dpaccount_packages, mechanisms, bandits, audits, papers, audits.claim, mechanisms.subject
assert all(folder not in sys.path for folder in dpaccount_packages.folders().values())
assert dpaccount_packages.FOLDER not in sys.path
dpaccount_packages.need()
find = dpaccount_packages.Finder.find_spec
assert find("json") is None and find("dpaccount") is None and find("audits.claim", audits.__path__) is None
"""
    done = place.run("-I", "-c", code)
    assert (done.returncode, done.stderr) == (0, "")


@deep
def test_no_start_of_python_imports_ours(tmp_path, wheel):
    """Names at the top are three, none of them a .pth file; `mechanisms` is found from `import dpaccount` on."""
    with zipfile.ZipFile(wheel) as file:
        tops = {name.partition("/")[0] for name in file.namelist() if ".dist-info/" not in name}
    assert tops == {"dpaccount", "dpaccount_packages", "pytest_dpaccount.py"}
    place = Place(tmp_path, wheel)
    code = "import sys; assert not [name for name in sys.modules if 'dpaccount' in name]; import mechanisms"
    done = place.run("-c", code)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        1,
        "ModuleNotFoundError: No module named 'mechanisms'",
    )
    assert place.run("-W", "error", "-c", "import dpaccount, mechanisms").returncode == 0


@deep
@pytest.mark.parametrize(
    "first", ["", "import dpaccount_packages, pytest; "], ids=["command", "imported before"]
)
def test_a_project_whose_warnings_are_errors_is_tested(tmp_path, wheel, first):
    """With our plug-in installed, which it uses, and a package of its own that is called like ours."""
    place = Place(tmp_path, wheel)
    place.project("bandits", "flat")
    (place.cwd / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\npythonpath = .\n")
    (place.cwd / "test_theirs.py").write_text(
        "import bandits.module\n\ndef test_it(pytestconfig):\n"
        "    assert bandits.module.value == 7 and pytestconfig.getoption('dp_seed') == 1\n"
    )
    done = place.run("-W", "error", "-c", f"{first}import pytest; raise SystemExit(pytest.main(['-q']))")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


@deep
def test_what_is_sent_to_other_machines_finds_our_packages(tmp_path, wheel):
    """A worker of a cluster imported nothing of ours before it reads what it is to call."""
    place = Place(tmp_path, wheel)
    (place.cwd / "send.py").write_text("""
import pickle
import dpaccount
from audits.sandbox.other_engines import PartSummer
from audits.subjects.catalogue import BoundClaim
from audits.sandbox.table_parts import _remote
from dpaccount_packages import called
from mechanisms.count import Count
for what in (PartSummer(BoundClaim(None, Count), {}, b""), (called, pickle.dumps(_remote), '["no claim", {}, [0, 1, "", false], null]')):
    print(pickle.dumps(what).hex())
""")
    sent = place.run("send.py")
    assert sent.returncode == 0, sent.stderr
    code = """
import json, pickle, sys
summer, (function, *given) = (pickle.loads(bytes.fromhex(line)) for line in sys.argv[1:])
assert type(summer).__name__ == "PartSummer" and summer.bound.made_by.__name__ == "Count"
print(function(*given))
"""
    done = place.run("-c", code, *sent.stdout.split())
    assert done.returncode == 0, done.stderr
    assert "no claim" in json.loads(done.stdout)[0]


IMPORT = re.compile(r"(?:>>> )?((?:import|from) (?:dpaccount|mechanisms|audits|bandits|papers|service)\b.*)")


def pages():
    """Yield the imports of ours in each document and each script of the examples, in their order.

    But for files that are added to this tree, and a class, which a process of ours loads.
    """
    root = Path(__file__).parents[1]
    for file in (
        root / "README.md",
        *sorted((root / "docs").glob("*.md")),
        *sorted((root / "examples").rglob("*.py")),
    ):
        if file.stem.startswith("add-a-") or file.name == "random_projections.py":
            continue
        text = file.read_text().replace("(\n    ", "(").replace(",\n    ", ", ").replace(",\n)", ")")
        blocks = (
            re.findall(r"^```.*?^```$", text, re.DOTALL | re.MULTILINE) if file.suffix == ".md" else [text]
        )
        for number, block in enumerate(
            ["\n".join(each for each in blocks if ">>>" in each), *(b for b in blocks if ">>>" not in b)]
        ):
            found = [match[1] for match in map(IMPORT.match, block.splitlines()) if match]
            if found:
                yield f"{file.relative_to(root)} {number}", found


def test_documents_and_examples_import_dpaccount_first():
    seen = dict(pages())
    assert len(seen) > 20
    late = [name for name, lines in seen.items() if re.match(r"(import|from) dpaccount\b", lines[0]) is None]
    assert late == []


@deep
def test_documents_and_examples_run_from_the_wheel(tmp_path, wheel):
    """Each in a process that has imported nothing: their imports of ours, as they stand."""
    place = Place(tmp_path, wheel)
    for name, lines in pages():
        done = place.run("-W", "error", "-c", "\n".join(lines))
        assert done.returncode == 0, f"{name}: {done.stderr}"


@deep
@pytest.mark.statistical(0.05)
@pytest.mark.parametrize("kind", ["src", "finder"])
def test_code_is_audited_where_a_project_has_packages_of_our_names(tmp_path, wheel, kind):
    """The processes that run it find ours, and whatever of a namespace ours do not have."""
    place = Place(tmp_path, wheel)
    place.project("audits", kind)
    place.project("mechanisms", kind, namespace=True)
    (place.cwd / "f.py").write_text(
        "def f(data, rng):\n    from mechanisms.module import value\n    return rng.random() < 1 / value\n"
    )
    words = ["audit", "f:f", "--shape", "2", "--low", "0", "--high", "1", "--epsilon", "1", "--trials", "400"]
    done = place.run("-m", "dpaccount", *words)
    assert done.returncode == 0, done.stdout + done.stderr


# ------------------------------------------------------------------ a package of somebody else's that adds to ours

CLAIM = """
schema = "dpaccount/claim/1"
name = "{use}"
guarantee = {{ model = "{model}", unit = "patient", relation = "replace-one", epsilon = 1, delta = 1e-6 }}
subject = {{ use = "{use}" }}
audit = {{ trials = 200 }}
"""
COMMAND = "from dpaccount_packages import command; command()"


@pytest.fixture(scope="module")
def added(tmp_path_factory, wheel):
    """Return a place where the example of such a package is installed beside our wheel."""
    example = Path(__file__).parents[1] / "examples" / "own_package"
    folder = tmp_path_factory.mktemp("added")
    place = Place(folder, wheel)
    copy = shutil.copytree(example, folder / "own_package")  # building writes beside the sources
    words = ["-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps"]
    subprocess.run([sys.executable, *words, "--target", str(place.site), str(copy)], check=True)
    return place


@deep
def test_the_example_of_an_own_package_adds_what_it_says(added):
    def said(*words):
        done = added.run("-c", COMMAND, *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert {"long-stays", "two-doses", "laplace-sum"} <= {
        each["name"] for each in json.loads(said("list", "--json"))
    }
    assert json.loads(said("list", "two-doses", "--json"))["layer"] == "clinic_privacy"
    assert re.search(r"Other packages.*\n. clinic-table ", said("--help"))
    assert "Write a made-up table" in said("clinic-table", "--help")
    said("clinic-table", "stays.csv", "--rows", "3")
    assert (added.cwd / "stays.csv").read_text().count("\n") == 4
    for use, model in (("long-stays", "central"), ("two-doses", "joint")):
        (added.cwd / "claim.toml").write_text(CLAIM.format(use=use, model=model))
        certificate = json.loads(said("certify", "claim.toml", "--quick", "--jobs", "1", "--json"))
        assert certificate["verdict"] == "CERTIFIED"
        assert certificate["claim"]["subject"]["use"].startswith(f"clinic_privacy.{use.replace('-', '_')}:")
        assert certificate["subject"]["code"].startswith("sha256:")
        said("check", f"certificates/{use}/certificate.json")
    (added.cwd / "note.txt").write_text("Approved on Monday.")
    kept = "certificates/long-stays/certificate.json"
    assert "Approved on Monday." in said("report", kept, "--md", "--part", "clinic-note=note.txt")
    assert json.loads(said("sensitivity", "long-stays", "--json"))["refuted"] is False
    assert (
        json.loads(said("audit", "long-stays", "--epsilon", "1", "--trials", "200", "--json"))["refuted"]
        is False
    )


@deep
def test_its_code_is_never_taken_as_catalogued(added):
    """Another digest after an edit; nothing of it runs where code is forbidden."""
    (added.cwd / "claim.toml").write_text(CLAIM.format(use="long-stays", model="central"))
    words = ("-c", COMMAND, "certify", "claim.toml", "--quick", "--jobs", "1", "--json")
    first = json.loads(added.run(*words).stdout)
    file = added.site / "clinic_privacy" / "long_stays.py"
    text = file.read_text()
    file.write_text(text + "\n# edited\n")
    assert json.loads(added.run(*words).stdout)["subject"]["code"] != first["subject"]["code"]
    file.write_text(text.replace("> float(self.days)).sum()", "> float(self.days)).sum() * 2"))
    refuted = json.loads(added.run(*words).stdout)
    assert refuted["verdict"] == "REFUTED"
    file.write_text(text)
    forbidden = added.run(*words, "--catalogue-only")
    assert (forbidden.returncode, forbidden.stdout) == (2, "")
    assert "runs code" in forbidden.stderr
