"""Sound verdicts are kept, and used only where nothing changed that they rest on: sessions as users have them."""

import collections
import functools
import json
import os
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import numpy as np
import pytest

from audits.sandbox.crew import THREADS, Crew
from audits.subjects.code import Code
from audits.verdicts import places
from audits.verdicts.by_value import fingerprint
from audits.verdicts.code_words import refused_words
from audits.verdicts.kept import Verdicts, key_of

PROJECT = {
    "rates.py": "RATE = 0.6\nFACTOR = 1\n",
    "helper.py": """
        import numpy as np
        import rates

        def noise(rng):
            return int(rng.geometric(rates.RATE) - rng.geometric(rates.RATE))
    """,
    "release.py": """
        import os
        from pathlib import Path
        from helper import noise
        import rates

        SCALE = 1
        HERE = Path(__file__).parent

        def count(data, rng, times=1):
            extra = 3 if os.environ.get("LOUD") else 1
            asked = int((HERE / "factor.txt").read_text())
            loud = 3 if (HERE / "loud.txt").exists() else 1
            return SCALE * times * extra * asked * loud * rates.FACTOR * int(data.sum()) + noise(rng)
    """,
    "factor.txt": "1",
    "test_release.py": """
        import release

        BITS = dict(shape=(3,), low=0, high=1, dtype="int", epsilon=1)
        TIMES = 1

        def test_by_name(dp_private):
            dp_private(release.count, **BITS)

        def test_by_value(dp_private):
            assert BITS["epsilon"] == 1
            one = TIMES
            dp_private(lambda data, rng: release.count(data * one, rng), **BITS)
    """,
}


@pytest.fixture
def project(tmp_path):
    for name, text in PROJECT.items():
        (tmp_path / name).write_text(textwrap.dedent(text))
    return tmp_path


def session(project, *words, **environment):
    options = ["-q", "-p", "no:cacheprovider", "--dp-trials", "1000", "--dp-seconds", "1e6"]
    command = [sys.executable, "-m", "pytest", *options, "--dp-cache", "kept", *words]
    return subprocess.run(
        command,
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
        # pytest's own process would take bytecode for an edit of the same second and length, and see a difference
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
    ).stdout


def edit(project, file, before, after):
    text = (project / file).read_text()
    assert before in text
    (project / file).write_text(text.replace(before, after))


KEPT = "2 sound verdicts out of the cache"


def broken(said):
    """Say whether both tests were attacked again, and refuted."""
    return "2 failed" in said and said.count("is not (1, 0)-private") >= 2 and "cache" not in said


@pytest.mark.slow
@pytest.mark.statistical  # seeded: two sound claims at levels .025 and .008
def test_a_sound_verdict_is_used_until_anything_changes_that_it_rests_on(project):
    first = session(project)
    assert "2 passed" in first, first
    assert "not kept" not in first
    assert "cache" not in first
    again = session(project)
    assert "2 passed" in again
    assert KEPT in again
    assert "claims tested" not in again  # nothing could have been accused, so nothing is spent
    for file, before, after in [
        ("release.py", "SCALE * times", "3 * times"),  # a function's body
        ("release.py", "times=1", "times=3"),  # a default
        ("release.py", "SCALE = 1", "SCALE = 3"),  # a constant of its module
        ("rates.py", "FACTOR = 1", "FACTOR = 3"),  # one of another module
        ("helper.py", "return int", "return 0 * int"),  # a helper in another file
        ("factor.txt", "1", "3"),  # a file that it opens
    ]:
        edit(project, file, before, after)
        assert broken(session(project)), (file, after)
        edit(project, file, after, before)
    assert broken(session(project, LOUD="1"))  # the environment
    (project / "loud.txt").write_text("")  # a file that was not there
    assert broken(session(project))
    (project / "loud.txt").unlink()
    assert KEPT in session(project)  # what holds again holds
    (project / "rates").mkdir()  # another module under a name
    (project / "rates" / "__init__.py").write_text("RATE = 0.6\nFACTOR = 3\n")
    assert broken(session(project))


@pytest.mark.slow
@pytest.mark.statistical
def test_workers_share_what_is_kept_and_what_is_refuted_never_is(project):
    edit(project, "release.py", "SCALE = 1", "SCALE = 3")
    assert broken(session(project))
    assert not (project / "kept").exists()
    edit(project, "release.py", "SCALE = 3", "SCALE = 1")
    assert "2 passed" in session(project, "-n", "2")
    assert KEPT in session(project, "-n", "2")
    assert "cache" not in session(project, "--dp-seed", "2")


UNFOLLOWED = """
import time
import helper, rates
import numpy as np
import pytest

BITS = dict(shape=(2,), low=0, high=1, dtype="int", epsilon=1)
GENERATOR = np.random.default_rng()

def test_patched(dp_private, monkeypatch):
    monkeypatch.setattr(rates, "RATE", 0.5)
    dp_private(lambda data, rng: int(data.sum()) + helper.noise(rng), **BITS)

def test_set(dp_private):
    rates.RATE = 0.5
    try:
        dp_private(lambda data, rng: int(data.sum()) + helper.noise(rng), **BITS)
    finally:
        rates.RATE = 0.6

def test_clock(dp_private):
    dp_private(lambda data, rng: int(data.sum()) + helper.noise(rng) + 0 * int(time.time()), **BITS)

def test_object(dp_private):
    dp_private(lambda data, rng: int(data.sum()) + helper.noise(GENERATOR), **BITS)

def test_writes(dp_private):
    def count(data, rng):
        open("seen.txt", "w").close()
        return int(data.sum()) + helper.noise(rng)
    dp_private(count, **BITS)

def test_network(dp_query):
    def mean(data):
        import socket
        try:
            socket.getaddrinfo("localhost", 80)
        except OSError:
            pass
        return float(data.mean())
    dp_query(mean, norm="l1", bound=1, shape=(2,), low=0, high=1)
"""


@pytest.mark.slow
@pytest.mark.statistical
def test_what_cannot_be_followed_is_not_kept_and_said(project):
    (project / "test_release.py").write_text(UNFOLLOWED)
    said = session(project)
    assert "6 passed" in said, said
    assert not (project / "kept").exists()
    for why in (
        "the test has patched RATE",
        "it ran as the files say, and here rates.RATE is another",
        "it may read the clock (time)",
        "it holds an object of type Generator",
        "it writes seen.txt",
        "it uses the network",
    ):
        assert f"its verdict is not kept: {why}" in said, (why, said)


def test_a_damaged_or_foreign_verdict_is_not_there(tmp_path):
    verdicts, key = Verdicts(tmp_path / "kept", {}), key_of("a question")
    assert verdicts.sound(key) is None
    for name in ("data", "taken.py"):
        (tmp_path / name).write_text("1")
    reached = {
        "files": {}, "folders": {}, "environment": {}, "whole_environment": None, "path": [],
        "modules": [], "absent": [], "names": {}, "refused": [],
    }  # fmt: skip
    verdicts.keep(key, {"verdict": "NOT REFUTED"}, reached)
    assert verdicts.sound(key) == {"verdict": "NOT REFUTED"}
    assert verdicts.sound(key_of("another")) is None
    whole = (tmp_path / "kept" / f"{key}.json").read_text()
    document = json.loads(whole)
    for damaged in (
        whole[:-1], "[]", "{}", json.dumps({**document, "key": "0"}), json.dumps({**document, "schema": "x"}),
        json.dumps({**document, "reached": {**reached, "refused": ["no"]}}),
        json.dumps({**document, "reached": {**reached, "files": {str(tmp_path / "data"): "0"}}}),
        json.dumps({**document, "reached": {**reached, "absent": [["taken", None]], "path": [str(tmp_path)]}}),
        json.dumps({**document, "reached": {"files": {}}}),
    ):  # fmt: skip
        (tmp_path / "kept" / f"{key}.json").write_text(damaged)
        assert verdicts.sound(key) is None


def link(folder, to):
    (folder / "current").unlink(missing_ok=True)
    (folder / "current").symlink_to(to)


READS = {  # what a module runs, once it is loaded; what changes what that gives
    "package_data": (
        "import held, pkgutil\nREAD = lambda: pkgutil.get_data('held', 'factor.txt')",
        lambda folder: (folder / "held" / "factor.txt").write_text("3"),
    ),
    "sizes": (
        "import os\nREAD = lambda: [each.stat().st_size for each in os.scandir(HERE / 'held')]",
        lambda folder: (folder / "held" / "factor.txt").write_text("100"),
    ),
    "way": ("READ = lambda: (HERE / 'current').resolve().name", lambda folder: link(folder, "helper.py")),
    "way_read": (
        "import os\nREAD = lambda: os.readlink(HERE / 'current')",
        lambda folder: link(folder, "helper.py"),
    ),
    "submodule": (
        "try:\n from held import fast\nexcept ImportError:\n fast = None\nREAD = lambda: fast",
        lambda folder: (folder / "held" / "fast.py").write_text("F = 3"),
    ),
    "by_text": (
        "import importlib\ntry:\n importlib.import_module('held.fast')\nexcept ImportError: pass\nREAD = dict",
        lambda folder: (folder / "held" / "fast.py").write_text("F = 3"),
    ),
    "without_file": (
        "import bare.part\nREAD = dict",
        lambda folder: (folder / "bare" / "__init__.py").write_text("import rates\nrates.FACTOR = 3"),
    ),
    "length": ("import os\nREAD = lambda: len(os.environ)", lambda folder: os.environ.update(ANY_OTHER="1")),
    "shown": ("import os\nREAD = lambda: repr(os.environ)", lambda folder: os.environ.update(ANY_OTHER="1")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", READS)
def test_what_code_reads_by_other_ways_is_seen(project, monkeypatch, name):
    code, change = READS[name]
    for folder, file in (("held", "__init__.py"), ("bare", "part.py")):
        (project / folder).mkdir()
        (project / folder / file).write_text("")
    (project / "held" / "factor.txt").write_text("1")
    link(project, "rates.py")
    monkeypatch.setenv("ANY_OTHER", "")
    monkeypatch.delenv("ANY_OTHER")  # undone at the end, whatever is set between
    lines = f"from pathlib import Path\nHERE = Path(__file__).parent\n{code}\n"
    (project / f"{name}.py").write_text(f"{lines}def f(data):\n READ()\n return 1.0\n")
    with Crew(Code(f"{name}:f", (str(project),), watched=True), seconds=60) as crew:
        crew.keep([np.zeros(2)])
        assert not crew.run([(0,)])[0].failed
        reached = crew.reached()
    verdicts, key = Verdicts(project.with_name("kept"), dict.fromkeys(THREADS, "1")), key_of(name)
    assert reached["refused"] == []
    verdicts.keep(key, {"verdict": "NOT REFUTED"}, reached)
    assert verdicts.sound(key) is not None
    change(project)
    assert verdicts.sound(key) is None


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="native libraries are listed by Linux alone")
def test_native_libraries_are_among_what_a_verdict_rests_on(project):
    (project / "plain.py").write_text("import numpy\ndef f(data):\n return 1.0\n")
    with Crew(Code("plain:f", (str(project),), watched=True), seconds=60) as crew:
        files = crew.reached()["files"]
    libraries = {Path(file).name for file, held in files.items() if held and ".so" in file}
    assert {"libc.so.6"} <= libraries
    assert any("openblas" in name for name in libraries)  # of NumPy, and no module itself


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("access", "import os\nos.access('x', os.X_OK)"),
        ("cpu_count", "import os\nos.cpu_count()"),
        ("ctypes", "import ctypes"),
        ("multiprocessing", "from multiprocessing import Pool"),
        ("st_mode", "import os\nos.stat('x').st_mode"),
    ],
)
def test_words_that_ask_for_what_nothing_shows_are_reasons(name, text):
    (why,) = refused_words(compile(text, "own.py", "exec"))
    assert f"({name})" in why


def test_a_question_is_asked_at_a_place_of_a_python_and_its_packages(tmp_path, monkeypatch):
    here = key_of("question")
    assert key_of("question") == here
    with monkeypatch.context() as patch:
        patch.chdir(tmp_path)
        assert key_of("question") != here
    for key in ("PYTHONPATH", "LD_PRELOAD", "OPENBLAS_CORETYPE", "LC_ALL", "TZ"):
        with monkeypatch.context() as patch:
            patch.setenv(key, "another")
            assert key_of("question") != here, key
    with monkeypatch.context() as patch:
        patch.setattr(sys, "path", [str(tmp_path), *sys.path])
        assert key_of("question") != here
    (tmp_path / "a.pth").write_text("one")
    monkeypatch.setattr(places, "_installed", lambda: (str(tmp_path),))
    found = {places.packages.__wrapped__()}
    (tmp_path / "a.pth").write_text("two")
    found.add(places.packages.__wrapped__())
    (tmp_path / "lib-1.0.dist-info").mkdir()
    found.add(places.packages.__wrapped__())
    assert len(found) == 3


class Missing(dict):
    def __missing__(self, key):  # noqa: D105
        return 1


class Scaled(float):
    def __mul__(self, other):  # noqa: D105
        return 1


class Row(collections.namedtuple("Row", "a")):
    __slots__ = ()

    def factor(self):
        return 1


class Columns(np.ndarray):
    def factor(self):
        return 1


class Partly(functools.partial):
    def __call__(self, *given):
        return 1


MADE = types.ModuleType("made")
MADE.F = 1


@pytest.mark.parametrize(
    "held",
    [
        Missing(), Scaled(1), Row(1), np.ones(2).view(Columns), Partly(dict), collections.defaultdict(lambda: 1),
        collections.OrderedDict(a=1), MADE, sys.modules[__name__],
    ],
    ids=lambda held: type(held).__name__,
)  # fmt: skip
def test_what_a_value_does_beyond_what_it_holds_is_not_followed(held):
    """A subclass of a dict or a number may do anything, and a module made in the test travels with all it holds."""
    said, why = fingerprint(lambda data: held)
    assert why[0].startswith("it holds ")
    assert said == ""


def test_names_that_are_looked_up_by_text_are_a_reason():
    for function in (lambda data: globals()["made"], lambda data: eval("made")):  # noqa: S307
        assert "look names up" in fingerprint(function)[1][0]


def test_modules_inside_the_own_one_travel_too(monkeypatch):
    """A function of a package's own file is sent with the functions of the package's modules that it uses."""
    digests = set()
    for body in ("return 1", "return 3"):
        part, whole = types.ModuleType("own.part"), types.ModuleType("own")
        exec(f"def factor(): {body}", vars(part))  # noqa: S102
        whole.factor = part.factor
        exec("def made(): return lambda data: factor()", vars(whole))  # noqa: S102
        for module in (part, whole):
            monkeypatch.setitem(sys.modules, module.__name__, module)
        digests.add(fingerprint(whole.made())[0])
    assert len(digests) == 2


def made(scale=1, *, default=0, power=2):
    """Return a closure with a default, over a constant of the test."""

    def release(data, rng, shift=default):
        return [scale * row**power for row in data] + [shift]

    return release


def test_digests_tell_functions_apart_by_all_that_belongs_to_them():
    """A body, a default, what is closed over, a function that is used: each alone changes the digest."""
    alike = [fingerprint(made())[0], fingerprint(made(1))[0]]
    assert len(set(alike)) == 1
    others = [
        made(2), made(default=1), made(power=3), made(scale=1.0), made(scale=True), made(np.ones(2)),
        made(made()), made(made(2)), functools.partial(made(), shift=1), functools.partial(made(), shift=2),
        lambda data, rng: 1, lambda data, rng: 2, lambda data, rng: 1.0, lambda rng, data: 1,
        lambda data, rng: {1, 2}, lambda data, rng: data in {1, 3}, lambda data, rng: data in {1, 2},
        lambda data, rng=1: 1, lambda data, *, rng=1: 1,
    ]  # fmt: skip
    digests = [fingerprint(each)[0] for each in others]
    assert len({*digests, alike[0]}) == len(others) + 1
    assert "" not in digests
    assert fingerprint(made(np.random.default_rng(1)))[1] == ["it holds an object of type Generator"]


def test_a_helper_of_the_same_module_is_followed(monkeypatch):
    before = fingerprint(lambda data: understood(data))[0]
    monkeypatch.setitem(globals(), "understood", lambda data: 3)
    assert fingerprint(lambda data: understood(data))[0] != before


def understood(data):
    return 2


def test_a_question_differs_by_every_term():
    keys = [key_of(*terms) for terms in [(1,), (1.5,), ("1",), (Path("1"), 2), (np.ones(2),), (np.ones(3),)]]
    assert len(set(keys)) == len(keys)
    with pytest.raises(TypeError, match="cannot be said in full"):
        key_of(object())
