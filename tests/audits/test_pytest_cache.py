"""Sound verdicts are kept, and used only where nothing changed that they rest on: sessions as users have them."""

import functools
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from audits.verdicts.by_value import fingerprint
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
        json.dumps({**document, "reached": {**reached, "absent": ["taken"], "path": [str(tmp_path)]}}),
        json.dumps({**document, "reached": {"files": {}}}),
    ):  # fmt: skip
        (tmp_path / "kept" / f"{key}.json").write_text(damaged)
        assert verdicts.sound(key) is None


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
