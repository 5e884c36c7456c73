"""What CI systems read: SARIF by a validator and OASIS's rules, JUnit by a reader of XML and its counts."""

import json
import re
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from audits.certificate.files import junit
from audits.reports import standards
from tests.audits.reports.test_reports import HOSTILE, RECEIVED

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}


def strict(**properties):
    """Return the schema of an object that has all of these members and no others."""
    return {
        "type": "object",
        "required": list(properties),
        "properties": properties,
        "additionalProperties": False,
    }


#: Of SARIF 2.1.0 (OASIS, 2020): the members that are written here, with the standard's types, words and patterns.
SARIF = strict(
    **{"$schema": {"type": "string", "format": "uri"}, "version": {"const": "2.1.0"}},
    runs={
        "type": "array",
        "minItems": 1,
        "items": strict(
            tool=strict(
                driver=strict(
                    name={"type": "string", "minLength": 1},
                    version={"type": "string"},
                    rules={
                        "type": "array",
                        "uniqueItems": True,
                        "items": strict(id={"type": "string"}, shortDescription=TEXT),
                    },
                )
            ),
            results={
                "type": "array",
                "items": strict(
                    ruleId={"type": "string"},
                    level={"enum": ["none", "note", "warning", "error"]},
                    message=TEXT,
                    locations={
                        "type": "array",
                        "uniqueItems": True,
                        "items": strict(
                            physicalLocation=strict(
                                artifactLocation=strict(
                                    uri={"type": "string", "pattern": "^[A-Za-z0-9._~/%-]+$"}
                                ),
                                region=strict(startLine={"type": "integer", "minimum": 1}),
                            )
                        ),
                    },
                    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
                ),
            },
        ),
    },
)


@pytest.fixture(params=["CERTIFIED", "REFUTED", "UNPROVEN"])
def certificate(request):
    document = json.loads(RECEIVED.read_text())
    document["verdict"] = request.param
    document["claim"]["name"] = HOSTILE
    document["sensitivity"][0]["counterexample"] = (
        {"wrong": f"{HOSTILE}\n\x00\ud800"} if request.param == "REFUTED" else None
    )
    return document


@pytest.mark.parametrize("claim", ["claims/mean.toml", "my claims/ä b#1?.toml", "a:b.toml", "/abs/100%.toml"])
def test_sarif_is_what_the_standard_asks_for(certificate, claim):
    log = json.loads(standards.sarif(certificate, claim))
    jsonschema.Draft202012Validator.check_schema(SARIF)
    jsonschema.validate(log, SARIF)
    (run,) = log["runs"]
    (result,) = run["results"]
    assert result["ruleId"] in {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert all(re.fullmatch("[0-9A-F]{2}", part[:2]) for part in uri.split("%")[1:])
    for key in result:  # the validator sees what is missing
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(
                {k: v for k, v in result.items() if k != key},
                SARIF["properties"]["runs"]["items"]["properties"]["results"]["items"],
            )


def test_junit_is_read_and_its_counts_are_right(certificate):
    suite = ET.fromstring(junit(certificate).encode())  # noqa: S314  # our own
    assert suite.tag == "testsuite"
    cases = suite.findall("testcase")
    assert list(suite) == cases
    failed = [case for case in cases if case.find("failure") is not None]
    assert (int(suite.get("tests")), int(suite.get("failures"))) == (len(cases), len(failed))
    assert bool(failed) == (certificate["verdict"] != "CERTIFIED")
    names = [(case.get("classname"), case.get("name")) for case in cases]
    assert all(all(pair) for pair in names)
    assert len(set(names)) == len(names)
    assert all({each.tag for each in case} <= {"failure"} for case in cases)
    assert all(case.find("failure").get("message") for case in failed)
