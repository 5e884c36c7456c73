"""Schemas are valid; what is written and printed follows them, of every kind, and damaged documents do not."""

import json
import shutil
import tomllib
from functools import partial
from pathlib import Path

import pytest

from audits.certificate import release_files, sign
from audits.claim import read_claim
from dpaccount.schemas.catalogue import ANSWERS, FILES, schemas
from dpaccount.work.results import kept_in
from dpaccount.work.run import NamedPlay, Series, run
from service import notify
from tests.audits.certificate.test_sign import keys
from tests.depth import deep
from tests.documents import kind_of, validator, wrong
from tests.dpaccount.checker.made import HONEST, edited
from tests.planted.tasks import squares

PLAN = {
    "schema": "dpaccount/events/1",
    "relation": "replace-one",
    "events": [{"event": "gaussian", "sigma": 40, "count": 2}, {"event": "laplace", "scale": "1/3"}],
}
EVENTS = ("account", "plan.json")
RECEIVED = json.loads((Path(__file__).parents[1] / "reports" / "received.json").read_text())


@deep(quick_every=2)
@pytest.mark.parametrize("name", sorted(schemas()))
def test_every_schema_is_printed_is_valid_itself_and_refuses_what_is_no_document(dpaccount, name):
    code, out, _ = dpaccount("schema", name)
    assert code == 0
    assert json.loads(out) == schemas()[name]
    check = validator(name)  # under the metaschema of its draft
    assert wrong(name, 7)
    assert wrong(name, {})
    assert check.schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_a_schema_that_is_not_there_is_refused_with_a_list(dpaccount):
    code, _, err = dpaccount("schema", "certificates")
    assert code == 2
    assert "ledger-log" in err


def answers(dpaccount, tmp_path):
    """Run commands that print JSON; yield what each printed.  The fixture holds them against their schemas."""
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    unknown = {**PLAN, "events": [{"event": "gaussian", "sigma": "?"}]}
    (tmp_path / "unknown.json").write_text(json.dumps(unknown))
    small = {**PLAN, "events": [{"event": "gaussian", "sigma": 40}]}
    (tmp_path / "small.json").write_text(json.dumps(small))
    (tmp_path / "a.json").write_text(json.dumps(HONEST))
    bare = {"schema": "dpaccount/derivation/1", "steps": HONEST["proved"]["derivation"]}
    (tmp_path / "d.json").write_text(json.dumps(bare))
    budget = ["--epsilon", 1, "--delta", "1e-6", "--unit", "person", "--relation", "replace-one"]
    target = ["--epsilon", 1, "--delta", "1e-6"]
    for words in (
        [*EVENTS], [*EVENTS, "--delta", "1e-5"], [*EVENTS, "--epsilon", 2],
        ["calibrate", "gaussian", *target], ["calibrate", "unknown.json", *target],
        ["sgd", "--examples", 100, "--batch", 10, "--sigma", 2, "--steps", 2, "--delta", "1e-5"],
        ["sgd", "--mechanism", "tree", "--examples", 100, "--batch", 10, "--sigma", 20, "--steps", 20, "--delta", "1e-5"],
        ["ledger", "init", "l.db", *budget], ["ledger", "charge", "l.db", "small.json", "--key", "k"],
        ["ledger", "charge", "l.db", "plan.json"], ["ledger", "charge", "l.db", "small.json", "--dry-run"],
        ["ledger", "show", "l.db"], ["ledger", "log", "l.db"], ["ledger", "verify", "l.db"], ["ledger", "report", "l.db"],
        ["check", "a.json"], ["check", "a.json", "--rules"], ["check", "a.json", "--at", "1990-01-01"],
        ["check", "d.json", "--derivation"],
        ["diff", "a.json", "a.json"], ["subjects"],
        ["sensitivity", "laplace-sum"], ["subjects", "laplace-sum"],
    ):  # fmt: skip
        yield from printed(dpaccount, [[*words, "--json"]])


def places(value, path=()):
    """Yield the path of every member of a document."""
    if isinstance(value, dict | list):
        for key, member in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*path, key)
            yield from places(member, (*path, key))


@deep
@pytest.mark.parametrize("document", [HONEST, RECEIVED], ids=["made", "received"])
def test_certificates_follow_the_schema_and_damaged_ones_do_not(document):
    assert not wrong("certificate", document)
    free = ("proved/derivation", "claim/governance", "audit/witness", "release/report", "subject/parameters",
            "claim/subject", "sensitivity", "claim/data", "claim/audit")  # fmt: skip
    for path in places(document):
        if not "/".join(map(str, path)).startswith(free):
            assert wrong("certificate", edited(document, (path, {"no": [None]}))), path
    for name in document:
        assert wrong("certificate", {k: v for k, v in document.items() if k != name})
    assert wrong("certificate", {**document, "note": 1})


def test_every_claim_of_the_examples_follows_the_schema_as_it_is_read(root):
    files = [file for file in (root / "examples").rglob("*.toml") if "dpaccount/claim/1" in file.read_text()]
    assert len(files) > 40
    for file in files:
        assert not wrong("claim", read_claim(file).written), file
        assert wrong("claim", {**read_claim(file).written, "note": 1}), file


# ------------------------------------------------------------------ documents of every kind


WORDS = (  # after those of `answers`
    ("audit", "laplace-sum", "--epsilon", 1, "--trials", 20, "--json"),
    ("work", "list", "--store", "work.db", "--json"),
)


def documents(dpaccount, tmp_path, root):
    """Yield (kind, document) of everything that is written or printed."""
    yield from answers(dpaccount, tmp_path)
    with kept_in(Path("work.db")):
        run([Series("squares", NamedPlay("squares", partial(squares, 1.0)), range(3))])
    yield from printed(dpaccount, WORDS)
    private, _ = keys(tmp_path, "one")
    yield "ledger-checkpoint", document_of(dpaccount("ledger", "checkpoint", "l.db", "--key", private))
    yield "ledger-repair", document_of(dpaccount("ledger", "repair", "l.db", "--json"))
    yield "ledger-export", json.loads(dpaccount("ledger", "export", "l.db")[1].splitlines()[0])
    facts = (
        {"what": "share", "cap": "scope", "scope": "team", "share": 0.5},
        {"what": "request", "scope": None},
    )
    yield from (("notification", json.loads(notify._body("0" * 32, fact))) for fact in facts)
    yield "dp-event", document_of(dpaccount("import", "events", "plan.json"))
    for name, file in (("events", "plan.json"), ("derivation", "d.json")):
        yield name, json.loads((tmp_path / file).read_text())
    yield from of_a_study(dpaccount, tmp_path, root)
    assert dpaccount("account", "plan.json", "--delta", "1e-5", "--certificate", "cost.json")[0] == 0
    yield "account-certificate", json.loads((tmp_path / "cost.json").read_text())
    (tmp_path / "canaries.csv").write_text("included,score\n" + "0,1\n1,2\n" * 20)
    dpaccount("audit", "--one-run", "canaries.csv", "--mu", 1, "--certificate", "one.json")
    yield "one-run-certificate", json.loads((tmp_path / "one.json").read_text())
    (tmp_path / "count.py").write_text("def count(data, rng):\n    return data.sum() + rng.laplace(0, 3)\n")
    words = ("trace", "count:count", "--epsilon", 1, "--shape", 5, "--low=0", "--high=3", "--json")
    yield "trace", json.loads(dpaccount(*words)[1])
    yield "certificate", RECEIVED
    yield "claim", RECEIVED["claim"]
    yield "signature", json.loads(sign._message(RECEIVED, "2026-01-01T00:00:00Z"))
    yield "release", release_files.answer(RECEIVED, tmp_path)


def printed(dpaccount, commands):
    """Yield (kind, document) of what these commands print."""
    for words in commands:
        code, out, err = dpaccount(*words)
        assert code in (0, 1, 3), (words, err)
        document = json.loads(out)
        yield kind_of(document, words), document


def of_a_study(dpaccount, tmp_path, root):
    """Yield a study with one statistic, its plan and its release."""
    shutil.copy(root / "examples" / "clinic_visits" / "visits.csv", tmp_path)
    text = (root / "examples" / "clinic_visits" / "study.toml").read_text()
    (tmp_path / "study.toml").write_text("[[statistic]]".join(text.split("[[statistic]]")[:2]))
    yield "study", tomllib.loads(text)
    yield "study-plan", document_of(dpaccount("plan", "study.toml", "--json"))
    budget = ("--epsilon", 2, "--delta", "1e-6", "--unit", "one patient", "--relation", "replace-one")
    assert dpaccount("ledger", "init", "sqlite:///visits.db", *budget, "--measure", "approximate")[0] == 0
    yield "study-release", document_of(dpaccount("release", "study.toml", "--quick", "--jobs", 1, "--json"))


def document_of(result):
    code, out, err = result
    assert code == 0, err
    return json.loads(out)


@deep
def test_every_schema_is_that_of_a_real_document(dpaccount, tmp_path, root):
    files = {name.partition("/")[0] for name in FILES}
    are_of(documents(dpaccount, tmp_path, root), {*files, *ANSWERS})


def are_of(documents, kinds):
    """Hold documents against their schemas, and damaged ones; some are of each of these kinds."""
    met = set()
    for name, document in documents:
        assert not wrong(name, document), name
        met.add(name)
        if isinstance(document, dict):
            refuse_damage(name, document)
    assert kinds - met == set()


def refuse_damage(name, document):
    """Hold a document with one member left out, or of another type, against its schema."""
    schema = validator(name).schema
    parts = [
        schema["$defs"][each["$ref"].rpartition("/")[2]] for each in schema.get("anyOf", []) if "$ref" in each
    ]
    # of several structures the one that has the document's members
    schema = next((part for part in parts if document.keys() <= part["properties"].keys()), schema)
    for key in document:
        fewer = {k: v for k, v in document.items() if k != key}
        assert wrong(name, fewer) or key not in schema["required"], (name, key)
        if schema["properties"].get(key, True) not in ({}, True):
            assert wrong(name, {**document, key: [[1]]}), (name, key)
