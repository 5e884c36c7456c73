"""Files that hold a release are their owner's alone until the owner says otherwise."""

import json
import stat

import pytest

from audits.certificate import folder, release_files
from dpaccount.errors import InputError
from tests.depth import deep


@pytest.mark.parametrize(("release", "mode"), [(None, 0o644), ({"report": {"value": 1.5}}, 0o600)])
def test_a_certificate_with_a_release_is_its_owners(tmp_path, monkeypatch, release, mode):
    for what in ("html", "junit", "sarif"):
        monkeypatch.setattr(folder, what, lambda *_: "text")
    path = folder.write_all({"release": release, "claim": {"name": "c"}}, tmp_path)
    assert path.name == "certificate.json"
    written = list(tmp_path.iterdir())
    assert len(written) == 4
    assert {stat.S_IMODE(one.stat().st_mode) for one in written} == {mode}


@pytest.fixture
def plain_pages(monkeypatch):
    for what in ("html", "junit", "sarif"):
        monkeypatch.setattr(folder, what, lambda *_: "text")


def test_tables_of_a_release_go_with_its_certificate(tmp_path, plain_pages):
    made = {"release": {"report": {}}, "claim": {"name": "c"}}
    (tmp_path / "mine.csv").write_text("1")
    folder.write_all(made, tmp_path)
    folder.write_tables(tmp_path, {"a.csv": "1", "b.csv": "2"})
    folder.write_all(made, tmp_path)
    folder.write_tables(tmp_path, {"b.csv": "3"})
    assert sorted(each.name for each in tmp_path.glob("*.csv")) == ["b.csv", "mine.csv"]
    folder.write_all(made, tmp_path)  # a release that is not followed by its tables leaves none of others
    assert [each.name for each in tmp_path.glob("*.csv")] == ["mine.csv"]


def test_a_list_of_tables_reaches_no_other_folder(tmp_path, plain_pages):
    (tmp_path / "a").mkdir()
    (tmp_path / "other.csv").write_text("1")
    (tmp_path / "a" / folder.LISTED).write_text(f"{folder.LIST_HEAD}\n../other.csv\n{tmp_path}/other.csv\n")
    folder.write_all({"release": {"report": {}}, "claim": {"name": "c"}}, tmp_path / "a")
    assert (tmp_path / "other.csv").exists()
    (tmp_path / folder.LISTED).write_text("other.csv\n")  # a list of somebody else's
    folder.write_all({"release": {"report": {}}, "claim": {"name": "c"}}, tmp_path)
    assert (tmp_path / "other.csv").exists()


def test_a_certificate_without_a_release_replaces_none_that_has_one(tmp_path, plain_pages):
    made = {"release": {"report": {}}, "claim": {"name": "c"}}
    none = {**made, "release": None}
    assert folder.write_all(none, tmp_path) == tmp_path / "certificate.json"
    assert folder.write_all(made, tmp_path) == tmp_path / "certificate.json"
    folder.write_tables(tmp_path, {"a.csv": "1"})
    assert folder.write_all(none, tmp_path) == tmp_path / "unreleased" / "certificate.json"
    assert json.loads((tmp_path / "certificate.json").read_text()) == made
    assert (tmp_path / "a.csv").exists()


@deep
def test_figures_of_a_release_are_its_owners(tmp_path):
    release_files.write_release({"release": {"value": 1.5}, "labels": {}, "accuracy": {}}, tmp_path)
    written = list(tmp_path.iterdir())
    assert written
    assert {stat.S_IMODE(one.stat().st_mode) for one in written} == {0o600}


@pytest.mark.parametrize(
    "listed", [b"\xff\xfe", b"", b"a\0b", b"..", b"sub", b"a" * 5000, b"certificate.json\n"]
)
def test_a_list_that_no_release_wrote_blocks_nothing(tmp_path, plain_pages, listed):
    (tmp_path / "sub").mkdir()
    for head in (b"", folder.LIST_HEAD.encode() + b"\n"):
        (tmp_path / folder.LISTED).write_bytes(head + listed)
        folder.write_all({"release": {"report": {}}, "claim": {"name": "c"}}, tmp_path)
        folder.write_tables(tmp_path, {"a.csv": "1"})
        assert (tmp_path / "a.csv").read_text() == "1"
        (tmp_path / "a.csv").unlink()


def test_a_file_of_ones_own_under_the_name_of_a_former_table_is_kept(tmp_path, plain_pages):
    made = {"release": {"report": {}}, "claim": {"name": "c"}}
    folder.write_all(made, tmp_path)
    folder.write_tables(tmp_path, {"a.csv": "1"})
    folder.write_all(made, tmp_path)
    (tmp_path / "a.csv").write_text("mine")
    folder.write_all(made, tmp_path)
    with pytest.raises(InputError, match="not of an earlier release"):
        folder.write_tables(tmp_path, {"a.csv": "2"})
    assert (tmp_path / "a.csv").read_text() == "mine"
