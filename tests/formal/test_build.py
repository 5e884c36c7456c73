"""What `.ci/formal.py` finds in Coq: axioms that no source calls so, proofs that a cache hides; and the program."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.depth import deep
from tests.formal.test_agreement import BUILT
from tests.formal.test_table import formal

COQ = pytest.mark.skipif(formal.missing() is not None, reason="Coq or OCaml is not installed")
FINE = "Definition one := 1.\nTheorem fine : one = 1. Proof. reflexivity. Qed.\n"
#: an axiom, since no section surrounds it
HIDDEN = (
    "From DP Require Import Fine.\nHypothesis h : one = 2.\nTheorem odd : one = 2. Proof. exact h. Qed.\n"
)
SOURCES = {"Assumed.v": "", "Fine.v": FINE, "more/Last.v": HIDDEN}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return a function that writes sources where formal.py looks for them, and what it reads of them."""
    monkeypatch.setattr(formal, "FORMAL", tmp_path / "formal")
    monkeypatch.setattr(formal, "BUILD", tmp_path / "build")
    monkeypatch.setattr(formal, "PIN", "")

    def put(sources):
        for name, text in sources.items():
            (tmp_path / "formal" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "formal" / name).write_text(text)
        return formal.sources()

    return put


@COQ
@deep
def test_a_new_axiom_hidden_in_one_theorem_is_named(project):
    texts = project(SOURCES)
    assert formal.left_open(texts) == []
    formal.compiled(texts, None)
    found = formal.axioms(texts, {})
    assert found == {"DP.Fine.fine": set(), "DP.more.Last.odd": {"Last.h"}}
    with pytest.raises(SystemExit, match=r"DP\.more\.Last\.odd rests on Last\.h"):
        formal.refuse_unstated(texts, found)


@COQ
@deep
def test_an_axiom_that_assumed_states_is_one_by_its_place_and_not_by_its_name(project):
    stated = "Axiom h : 1 = 2.\n"
    used = "From DP Require Import Assumed.\nTheorem odd : 1 = 2. Proof. exact h. Qed.\n"
    texts = project({**SOURCES, "Assumed.v": stated, "more/Used.v": used})
    formal.compiled(texts, None)
    found = formal.axioms(texts, {})
    formal.refuse_unstated(texts, {"DP.more.Used.odd": found["DP.more.Used.odd"]})
    with pytest.raises(SystemExit, match=r"rests on Last\.h"):
        formal.refuse_unstated(texts, found)


@COQ
@deep
def test_a_cache_gives_only_what_the_same_sources_made(project, tmp_path, capsys):
    cache, made = tmp_path / "cache", tmp_path / "formal" / "Fine.vo"
    texts = project({"Assumed.v": "", "Fine.v": FINE})
    formal.compiled(texts, cache)
    first = made.read_bytes()
    made.write_bytes(b"what lies beside the source is not looked at")
    formal.compiled(texts, cache)
    assert made.read_bytes() == first
    broken = project({"Fine.v": FINE.replace("one = 1", "one = 2")})
    with pytest.raises(SystemExit, match="make -f failed"):
        formal.compiled(broken, cache)
    os.utime(tmp_path / "formal" / "Fine.v", (0, 0))  # older than all that is compiled
    made.write_bytes(first)
    with pytest.raises(SystemExit, match="make -f failed"):
        formal.compiled(broken, None)
    needy = project({"Fine.v": "From DP Require Import Gone.\n" + FINE})
    (tmp_path / "formal" / "Gone.vo").write_bytes(first)  # of a source that is gone
    with pytest.raises(SystemExit, match="make -f failed"):
        formal.compiled(needy, None)
    assert not (tmp_path / "formal" / "Gone.vo").exists()


@COQ
def test_the_key_of_a_file_follows_what_it_requires(project):
    keys = formal.keys(project(SOURCES))
    again = formal.keys(project({"Fine.v": FINE + "(* more *)"}))
    assert {name for name in keys if keys[name] != again[name]} == {"Fine.v", "more/Last.v"}


@COQ
@deep
@BUILT
@pytest.mark.skipif(sys.platform != "linux", reason="it is static on Linux")
def test_the_extracted_program_is_static_and_the_same_wherever_it_is_built(tmp_path):
    places = [tmp_path / "a" / "program", tmp_path / "another folder" / "program"]
    for place in places:
        formal.extracted(place)
    first, second = (place.read_bytes() for place in places)
    assert first == second
    assert not [word for word in (b"/tmp/", bytes(tmp_path), b"camlstartup") if word in first]
    linked = subprocess.run([shutil.which("ldd"), places[0]], capture_output=True, text=True, check=False)
    assert "not a dynamic executable" in linked.stdout + linked.stderr


def test_without_coq_the_sentence_says_what_is_missing_and_what_was_written(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        SystemExit, match=r"only the ZIP file was written.*coqc, ocamlfind, gcc not found; apt-get"
    ):
        formal.write_program(tmp_path / "program")
    assert not (tmp_path / "program").exists()


def test_ci_compiles_from_nothing_unless_a_folder_is_named(root):
    assert 'FORMAL_CACHE="${FORMAL_CACHE-}" make formal' in (root / ".ci" / "run").read_text()
    assert "make formal FORMAL_CACHE= " in (root / ".github" / "workflows" / "tests.yml").read_text()
