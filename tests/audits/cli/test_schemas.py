"""Schemas are valid, what is written and printed follows them, and damaged documents do not."""

import json
from pathlib import Path

import pytest

from audits.claim import read_claim
from dpaccount.schemas.catalogue import schemas
from tests.documents import kind_of, validator, wrong
from tests.dpaccount.checker.made import HONEST, edited

PLAN = {
    "schema": "dpaccount/events/1",
    "relation": "replace-one",
    "events": [{"event": "gaussian", "sigma": 40, "count": 2}, {"event": "laplace", "scale": "1/3"}],
}
EVENTS = ("account", "plan.json")


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
        code, out, err = dpaccount(*words, "--json")
        assert code in (0, 1, 3), (words, err)
        document = json.loads(out)
        yield kind_of(document, words), document


@pytest.mark.slow
def test_what_commands_print_follows_its_schema_and_damage_does_not(dpaccount, tmp_path):
    seen = set()
    for name, document in answers(dpaccount, tmp_path):
        assert not wrong(name, document)
        seen.add(name)
        if isinstance(document, dict):
            schema = validator(name).schema
            schema = schema["$defs"]["DescribedEntry"] if name == "subjects" else schema
            one_of = schema.get(
                "anyOf", []
            )  # several structures: those parts that have the document's members
            named = (schema["$defs"][each["$ref"].rpartition("/")[2]] for each in one_of)
            schema = next((part for part in named if document.keys() <= part["properties"].keys()), schema)
            for key in document:
                fewer = {k: v for k, v in document.items() if k != key}
                assert wrong(name, fewer) or key not in schema["required"], (name, key)
                if schema["properties"].get(key, True) not in ({}, True):
                    assert wrong(name, {**document, key: [[1]]}), (name, key)
    assert seen >= {"account", "calibration", "sgd", "ledger", "ledger-charge", "ledger-log", "ledger-verify"}
    for line in dpaccount("ledger", "export", "l.db")[1].splitlines():
        assert not wrong("ledger-export", json.loads(line))
    assert wrong("ledger-export", {"schema": "dpaccount/ledger-export/1"})
    events = json.loads(dpaccount("import", "events", "plan.json")[1])
    assert not wrong("dp-event", events)
    assert not wrong("events", json.loads((tmp_path / "plan.json").read_text()))


def places(value, path=()):
    """Yield the path of every member of a document."""
    if isinstance(value, dict | list):
        for key, member in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*path, key)
            yield from places(member, (*path, key))


RECEIVED = json.loads((Path(__file__).parents[1] / "reports" / "received.json").read_text())


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


def test_files_that_signing_and_releasing_make_follow_their_schemas():
    digest = "sha256:" + "0" * 64
    verdict = {"verdict": "CERTIFIED"}
    written = {
        "signature": {
            "digest": digest,
            "claim": "a",
            "claim_digest": digest,
            "created": "",
            "signed": "",
            **verdict,
        },
        "ledger-checkpoint": {
            "number": 1,
            "head": digest,
            "root": "0",
            "first": digest,
            "time": "",
            "key": "",
            "value": "",
        },
        "release": {
            "certificate": "c",
            "release": None,
            "accuracy": {},
            "labels": {},
            "releasable": True,
            **verdict,
        },
    }
    follow_their_schemas(written, ("accuracy", "labels", "release"))


def follow_their_schemas(written, free):
    """Hold made documents against their schemas, and damaged ones but for members that may be null."""
    for name, members in written.items():
        document = {"schema": f"dpaccount/{name}/1", **members}
        assert not wrong(name, document), name
        assert wrong(name, {**document, "schema": "dpaccount/other/1"})
        for key in members:
            assert wrong(name, {**document, key: {"no": None}}) or key in free, (name, key)
