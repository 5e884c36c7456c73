"""What CI systems read, by independent readers; the workflow of docs/ci.md does what the page says."""

import json
import re
import shlex
import subprocess
import sys
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from audits import cli
from audits.certificate.junit import junit
from audits.reports import standards
from tests.audits.reports.test_reports import HOSTILE, RECEIVED
from tests.depth import deep

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


@deep(quick_every=4)
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


def commands(root):
    """Return the `run` steps of the page's workflow."""
    (workflow,) = re.findall(r"```yaml\n(.*?)```", (root / "docs" / "ci.md").read_text(), re.DOTALL)
    assert "\t" not in workflow
    return [shlex.split(line) for line in re.findall(r"^      - run: (.+)$", workflow, re.MULTILINE)]


def test_every_extra_and_command_of_the_workflow_exists(root):
    steps = commands(root)
    assert steps[0] == ["pip", "install", "$(ls wheels/dpaccount-*.whl)[all]", "pytest"]
    assert "\nall = [" in (root / "pyproject.toml").read_text()
    ours = [words[1:] for words in steps if words[0] == "dpaccount"]
    assert [words[0] for words in ours] == ["certify", "check"]


MEAN = """
def mean(data):
    return data.mean()

def test_mean(dp_query):
    dp_query(mean, norm="l1", bound=0.5, shape=(2,), low=0, high=1)
"""


def pytest_of(words):
    """Return what a session of pytest says in the working directory."""
    command = [sys.executable, "-m", *words, "-p", "no:cacheprovider"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


@deep
def test_the_workflow_runs(root, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (tmp_path / "claims").mkdir()
    text = (root / "examples" / "mechanisms" / "histogram.toml").read_text()
    (tmp_path / "claims" / "mean.toml").write_text(text)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_mean.py").write_text(MEAN)
    for words in commands(root):
        if words[0] == "dpaccount":
            assert cli.run(words[1:]) == 0, words
        elif words[0] == "pytest":
            assert "1 passed" in pytest_of(words)
    assert "::notice file=claims/mean.toml::CERTIFIED histogram" in capsys.readouterr().err
    assert {file.name for file in (tmp_path / "privacy").iterdir()} == {
        "certificate.json",
        "report.html",
        "junit.xml",
        "results.sarif",
    }
