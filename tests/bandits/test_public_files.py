"""No public file of a claim is its private one: at any depth of a space, under any name."""

import hashlib
from contextlib import nullcontext, suppress
from itertools import product

import pytest

from audits import claim as claim_module
from audits.claim import read_claim
from audits.subjects.catalogue import subject_of
from bandits.space import reading
from dpaccount.documents import Place
from dpaccount.errors import InputError

PRIVATE = "name,age\nann,41\nbob,secret\n"
PATHS = [way for depth in range(4) for way in product(("contexts", "kernel", "box"), repeat=depth)]


def nested(way, named):
    """Return a space whose inner table, along these keys, names a file; the tables above name another."""
    inner = {"file": named}
    for key in reversed(way):
        inner = {"file": "points.csv", key: inner}
    return inner


def claimed(folder, said, about=""):
    """Write a claim about a bandit on the points that `said` says; its data are private.csv."""
    (folder / "points.csv").write_text("name,x\na,1\nb,2\nc,3\n")
    (folder / "claim.toml").write_text(
        'schema = "dpaccount/claim/1"\nname = "own"\n[guarantee]\nmodel = "joint"\nunit = "a person"\n'
        'relation = "replace-one"\nepsilon = 1\ndelta = 1e-6\n[subject]\nuse = "phased-posterior"\n'
        f"[subject.parameters]\nrounds = 40\nspace = {said}\n"
        f'[data]\nfile = "private.csv"\nledger = "sqlite:///x.db"\n{about}'
    )
    return folder / "claim.toml"


def written(table):
    """Return a table as TOML writes it in a line."""
    cells = (f"{key} = {written(v) if isinstance(v, dict) else repr(v)}" for key, v in table.items())
    return f"{{ {', '.join(cells)} }}"


@pytest.mark.parametrize("link", [None, "hardlink_to", "symlink_to"])
def test_the_private_file_is_nowhere_in_a_space(tmp_path, link):
    """Whatever else is wrong there: neither its digest nor a cell of it is said."""
    private, name = tmp_path / "private.csv", "private.csv" if link is None else "other.csv"
    private.write_text(PRIVATE)
    if link is not None:
        getattr(tmp_path / name, link)(private)
    for way in PATHS:
        with pytest.raises(InputError, match="this is the data file itself") as caught:
            read_claim(claimed(tmp_path, written(nested(way, name))))
        assert hashlib.sha256(PRIVATE.encode()).hexdigest() not in str(caught.value)
        assert "secret" not in str(caught.value)


def test_a_space_opens_no_file_that_is_not_named_first(tmp_path, monkeypatch):
    for name in ("points", "last"):
        (tmp_path / f"{name}.csv").write_text("name,x\na,1\nb,2\n")
    opened = []
    monkeypatch.setattr(reading, "read_bytes", lambda path: opened.append(path.name) or path.read_bytes())
    every = set()
    for way in PATHS:
        place = Place({"space": nested(way, "last.csv")}, str(tmp_path / "claim.toml"), toml=True)
        known = {each.value for each in reading.files_named(place.child("space"))}
        for read in (reading.as_claimed, reading.read):
            opened.clear()
            with nullcontext() if way in ((), ("contexts",)) else suppress(InputError):
                read(place.child("space"))
            assert set(opened) <= known
            every |= set(opened)
    assert every == {"points.csv", "last.csv"}


@pytest.mark.parametrize("more", ["contexts = { file = 'points.csv' }", "most = 9"])
def test_contexts_have_no_contexts_or_candidates_of_their_own(tmp_path, more):
    said = f"{{ file = 'points.csv', contexts = {{ file = 'points.csv', {more} }} }}"
    with pytest.raises(InputError, match=r"space\.contexts: unknown key"):
        read_claim(claimed(tmp_path, said))


def test_a_column_may_be_called_file(tmp_path):
    (tmp_path / "private.csv").touch()
    found = read_claim(claimed(tmp_path, "{ box = { file = { low = 0, high = 1, points = 3 } } }"))
    assert len(subject_of(found).space) == 3


@pytest.mark.parametrize("name", ["hard.csv", "soft.csv", "private.csv/w=A/x.csv"])
@pytest.mark.parametrize("where", ["space", "join"])
def test_a_link_to_a_file_of_a_partitioned_folder_is_refused(tmp_path, name, where):
    inner = tmp_path / "private.csv" / "w=A" / "x.csv"
    inner.parent.mkdir(parents=True)
    inner.write_text(PRIVATE)
    (tmp_path / "hard.csv").hardlink_to(inner)
    (tmp_path / "soft.csv").symlink_to(inner)
    join = f'[data.join.w]\nfile = "{name}"\nkey = "w"\n[data.join.w.columns]\n'
    path = claimed(tmp_path, written({"file": name}))
    if where == "join":
        path = claimed(tmp_path, written({"file": "points.csv"}), join)
    with pytest.raises(InputError, match="this is the data file itself"):
        read_claim(path)


def test_a_folder_beside_the_private_one_is_another(tmp_path):
    for name in ("a", "ab"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.csv").write_text("x\n")
    assert claim_module._is_within(tmp_path / "a" / "x.csv", tmp_path / "a")
    assert not claim_module._is_within(tmp_path / "ab" / "x.csv", tmp_path / "a")


def test_names_that_are_none_are_one_sentence(tmp_path):
    (tmp_path / "private.csv").touch()
    for said in ("{ file = '../private.csv' }", '{ file = "a\\u0000b" }', "{ file = '' }", "{ file = 3 }"):
        with pytest.raises(InputError, match=r"claim\.toml: subject\.parameters\.space"):
            read_claim(claimed(tmp_path, said))
    path = claimed(tmp_path, "{ file = 'points.csv' }")
    path.write_text(path.read_text().replace("private.csv", "a\\u0000b"))
    with pytest.raises(InputError, match=r"claim\.toml: data\.file: an empty path"):
        read_claim(path)
