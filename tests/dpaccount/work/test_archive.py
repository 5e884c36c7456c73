"""Code of a user travels: the archive's modules run, whatever a worker has under their names, or nothing does."""

import builtins
import importlib
import os
import sqlite3
import sys
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from importlib import import_module

import numpy as np
import pytest

from dpaccount.errors import InputError
from dpaccount.work.archive import archived
from dpaccount.work.results import kept_in
from dpaccount.work.run import Series, run
from dpaccount.work.workers import workers

CODE = """
import math
import numpy as np
from helped.more import doubled
def cubes(factor, seeds):
    return np.array([doubled(factor) * math.pow(seed, 3) for seed in seeds])
"""
EXPECTED = 2 * 1.5 * np.arange(10.0) ** 3


@pytest.fixture(autouse=True)
def _nothing_of_an_archive_is_left():
    yield
    assert not [each for each in sys.meta_path if "archive" in type(each).__module__]
    assert not {"mine", "helped", "helped.more"} & sys.modules.keys()


@pytest.fixture
def folder(tmp_path):
    """Write a module that imports from a package beside it."""
    place = tmp_path / "code"
    (place / "helped").mkdir(parents=True)
    (place / "mine.py").write_text(CODE)
    (place / "helped" / "__init__.py").write_text("")
    (place / "helped" / "more.py").write_text("def doubled(x):\n    return 2 * x\n")
    return place


def series(function):
    return [Series("a user's", partial(function, 1.5), range(10), 3)]


def names(store):
    with closing(sqlite3.connect(store)) as file:
        return {row[0] for row in file.execute("SELECT name FROM results")}


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_it_runs_and_is_kept_whatever_has_its_name_elsewhere(folder, tmp_path, monkeypatch, jobs):
    decoys = tmp_path / "decoys"
    (decoys / "helped").mkdir(parents=True)
    for name in ("mine.py", "helped/__init__.py", "helped/more.py"):
        (decoys / name).write_text("raise SystemExit('a decoy')")
    monkeypatch.syspath_prepend(decoys)
    function, store = archived(folder, "mine:cubes"), tmp_path / "work.db"
    with workers(jobs), kept_in(store):
        for _ in range(2):
            assert run(series(function))[0].tobytes() == EXPECTED.tobytes()
    assert len(names(store)) == 4


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_it_travels_to_a_cluster_which_has_no_such_module(folder, tmp_path):
    from distributed import LocalCluster

    function = archived(folder, "mine:cubes")
    (folder / "mine.py").write_text("raise SystemExit('changed since')")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        workers(None, "dask", cluster.scheduler_address),
    ):
        assert run(series(function))[0].tobytes() == EXPECTED.tobytes()


def test_changed_code_is_another_archive_and_other_work(folder, tmp_path):
    """The name of a task follows from all files of the archive, and from nothing else of them."""
    store, first = tmp_path / "work.db", archived(folder, "mine:cubes")
    os.utime(folder / "mine.py", (1, 1))
    assert archived(folder, "mine:cubes") == first
    (folder / "helped" / "more.py").write_text("def doubled(x):\n    return 4 * x\n")
    changed = archived(folder, "mine:cubes")
    for function, expected in ((first, EXPECTED), (changed, 2 * EXPECTED), (first, EXPECTED)):
        with kept_in(store):
            assert run(series(function))[0].tobytes() == expected.tobytes()
    assert len(names(store)) == 8
    # in one process, of which the two share their modules' names
    for function, expected in ((first, EXPECTED), (changed, 2 * EXPECTED), (first, EXPECTED)):
        assert run(series(function))[0].tobytes() == expected.tobytes()


def test_an_archive_that_is_not_its_digests_is_not_imported(folder, tmp_path):
    mark = tmp_path / "mark"
    (folder / "mine.py").write_text(f"{CODE}# {mark}")  # no process has it yet
    function = archived(folder, "mine:cubes")
    (folder / "mine.py").write_text(f"import pathlib\npathlib.Path({str(mark)!r}).touch()\n{CODE}")
    forged = replace(function, archive=archived(folder, "mine:cubes").archive)
    for where in (nullcontext(), workers(2)):
        with where, pytest.raises(InputError, match="not what its digest says"):
            run(series(forged))
    assert not mark.exists()
    run(series(archived(folder, "mine:cubes")))
    assert mark.exists()  # had it been imported


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("mine.py", "import pandas", "mine.py imports pandas, which is not in the archive"),
        ("mine.py", "def f():\n    from sklearn.svm import SVC", "imports sklearn"),
        ("numpy.py", "", "a module of the archive is called numpy; rename it"),
        ("mine.py", "def (", "no Python"),
        ("mine.py", "#" * 2**20, "at most 1048576 travel"),
        ("mine.py", "def other(): pass", "mine has no function cubes"),
    ],
)
def test_what_cannot_be_compared_or_found_is_one_sentence(folder, name, text, said):
    (folder / name).write_text(text)
    with pytest.raises(InputError, match=said) as found:
        run(series(archived(folder, "mine:cubes")))
    assert "\n" not in str(found.value)


def test_a_module_that_was_loaded_from_elsewhere_is_not_taken_for_the_archives(folder, monkeypatch):
    function = archived(folder, "mine:cubes")
    monkeypatch.syspath_prepend(folder)
    import mine  # noqa: F401

    try:
        with pytest.raises(InputError, match="a module helped that is not the archive's is loaded"):
            run(series(function))
    finally:
        for name in ("mine", "helped", "helped.more"):
            del sys.modules[name]


LAZY = """
import time
import numpy as np
def f(seeds):
    time.sleep(0.01)
    from helped import VALUE
    return np.full(len(seeds), VALUE)
def calling(other, seeds):
    from helped import VALUE
    return VALUE + 10 * other(seeds) + 100 * f(seeds)
"""


def lazy(place, value):
    place.mkdir()
    (place / "mine.py").write_text(LAZY)
    (place / "helped.py").write_text(f"VALUE = {value}.0\n")
    return archived(place, "mine:f")


def test_what_is_imported_in_the_call_is_of_its_own_archive_in_every_thread(tmp_path):
    """Archives with modules of one name take turns; the command's own imports find none."""
    one, two = lazy(tmp_path / "one", 1), lazy(tmp_path / "two", 2)
    wanted = [Series(function.digest, function, range(6)) for function in (one, two)]
    with workers(2, "threading"):
        first, second = run(wanted)
    assert (first.tolist(), second.tolist()) == ([1] * 6, [2] * 6)
    with pytest.raises(ModuleNotFoundError):
        import_module("helped")


def test_an_archive_may_call_itself_or_another(tmp_path):
    one, two = lazy(tmp_path / "one", 1), lazy(tmp_path / "two", 2)
    calling = replace(one, name="calling")
    assert partial(calling, two)(range(1)).tolist() == [1 + 20 + 100]
    assert partial(calling, one)(range(1)).tolist() == [1 + 10 + 100]


@pytest.mark.parametrize(
    "function",
    [
        *("", "mine", "mine:", ":cubes", "mine:a.b", "mine:cubes:f", "mine\n:cubes", ".mine:cubes"),
        *("os:getcwd", "mine/../mine:cubes", "helped.no:f", "helped..more:doubled", "bare.more:f"),
    ],
)
def test_a_function_is_a_name_in_a_module_of_the_archive(folder, function):
    (folder / "bare").mkdir()  # without an __init__.py it is no package
    (folder / "bare" / "more.py").write_text("def f(seeds): ...")
    with pytest.raises(InputError, match="is no MODULE:NAME of a file that goes with") as found:
        archived(folder, function)
    assert "\n" not in str(found.value)
    assert archived(folder, "helped.more:doubled").module == "helped.more"


@pytest.mark.parametrize("text", ["-" * 100_000 + "1", "a" + ".a" * 100_000])
def test_what_is_nested_too_deeply_is_refused(folder, text):
    (folder / "mine.py").write_text(text)
    with pytest.raises(InputError, match=r"mine\.py: this is nested too deeply"):
        archived(folder, "mine:cubes")


HIDDEN = """
import {how}
import numpy as np
def f(seeds):
    return np.full(len(seeds), float({found}.VALUE))
"""
WAYS = {
    "importlib": "importlib.import_module('hidden_helper')",
    "importlib.util": "importlib.import_module('.hidden_helper', 'hidden_folder')",
    "builtins": "builtins.__import__('hidden_helper')",
    "importlib._bootstrap": "importlib._bootstrap._gcd_import('hidden_fresh')",
    "pkgutil": "pkgutil.resolve_name('hidden_helper')",
    "pickle": "type('x', (), {'VALUE': pickle.loads(b'chidden_helper\\nVALUE\\n.')})",
    "types": "exec('import hidden_helper as h', found := {}) or found['h']",
}


@pytest.mark.parametrize("how", WAYS)
def test_what_is_imported_without_saying_so_is_refused_though_it_is_loaded(tmp_path, monkeypatch, how):
    """Its file could change, and a store would still have what it gave before."""
    (tmp_path / "hidden_folder").mkdir()
    for name in ("hidden_helper", "hidden_fresh", "hidden_folder/__init__", "hidden_folder/hidden_helper"):
        (tmp_path / f"{name}.py").write_text("VALUE = 1")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("hidden_helper", "hidden_folder.hidden_helper"):
        monkeypatch.setitem(sys.modules, name, import_module(name))
    place, before = tmp_path / "mine.py", (import_module, builtins.__import__)
    place.write_text(HIDDEN.format(how=how, found=WAYS[how]))
    with pytest.raises(InputError, match=r"the archive's code imports hidden_.*, which is not in it"):
        run([Series("hidden", archived(place, "mine:f"), range(2))])
    assert (importlib.import_module, builtins.__import__) == before


def test_what_others_import_meanwhile_is_no_matter_of_the_archive(tmp_path):
    """What it calls imports for itself what the archive could not."""
    place = tmp_path / "mine.py"
    code = "import importlib\ndef f(call, seeds):\n    return call(seeds)\n"
    place.write_text(code + "importlib.import_module('numpy').zeros(1)\n")
    assert archived(place, "mine:f")(imports_for_itself, range(3)) == 3


def imports_for_itself(seeds):
    import msgspec

    return len(seeds) if import_module("msgspec") is msgspec else 0
