"""Files that hold a release are their owner's alone until the owner says otherwise."""

import stat

import pytest

from audits.certificate import figures, files


@pytest.mark.parametrize(("release", "mode"), [(None, 0o644), ({"report": {"value": 1.5}}, 0o600)])
def test_a_certificate_with_a_release_is_its_owners(tmp_path, monkeypatch, release, mode):
    for what in ("html", "junit", "sarif"):
        monkeypatch.setattr(files, what, lambda *_: "text")
    path = files.write_all({"release": release, "claim": {"name": "c"}}, tmp_path)
    assert path.name == "certificate.json"
    written = list(tmp_path.iterdir())
    assert len(written) == 4
    assert {stat.S_IMODE(one.stat().st_mode) for one in written} == {mode}


def test_figures_of_a_release_are_its_owners(tmp_path):
    figures.write_release({"release": {"value": 1.5}, "labels": {}, "accuracy": {}}, tmp_path)
    written = list(tmp_path.iterdir())
    assert written
    assert {stat.S_IMODE(one.stat().st_mode) for one in written} == {0o600}
