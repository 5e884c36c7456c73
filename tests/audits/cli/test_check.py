"""`dpaccount check`: its reading list, and what follows from the extracted checker, here a stand-in."""

import hashlib
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from audits.reports import verified
from dpaccount.checker.accounting import examined, to_read
from dpaccount.checker.derivation import in_words
from tests.depth import deep
from tests.dpaccount.checker.made import HONEST, UNPROVEN, derivation, edited, sealed

STEPS = len(HONEST["proved"]["derivation"])
FOLLOWS = f"valid: the claim follows: (2, 1/10), replace-one, central, of rows; {STEPS} steps"


@pytest.fixture
def says(tmp_path, root, monkeypatch):
    """Return a function that puts a program in the checker's place, which prints a line whatever it reads.

    Its folder is one of the project: a temporary one in memory may not let programs run.
    """
    build = root / "build"
    build.mkdir(exist_ok=True)
    folder = TemporaryDirectory(dir=build)

    def put(line, code=0):
        program = Path(folder.name) / "stand-in"
        program.write_text(
            f'#!/bin/sh\necho "$@" > {tmp_path}/words\nfor file; do :; done\n'
            f"cat \"$file\" > {tmp_path}/read.json\necho '{line}'\nexit {code}\n"
        )
        program.chmod(0o755)
        monkeypatch.setenv(verified.VARIABLE, str(program))

    with folder:
        yield put


def written(path, document):
    path.write_text(json.dumps(document))
    return path


def test_a_certificate_that_both_accept(dpaccount, tmp_path, says):
    says(FOLLOWS)
    path = written(tmp_path / "c.json", HONEST)
    code, out, _ = dpaccount("check", path, "--verified", "--json")
    found = json.loads(out)
    assert (code, found["verdict"], found["steps"], found["standing"]) == (0, "CERTIFIED", STEPS, "theorem")
    assert json.loads((tmp_path / "read.json").read_text()) == HONEST  # the claim too
    rules = {step["rule"] for step in derivation() if not step["rule"].startswith("assume_")}
    paper = set(found["on_paper"])
    assert set(found["proved_by_machine"]) | paper <= rules
    assert f"{STEPS} steps follow, and the claim" in dpaccount("check", path, "--verified")[1]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("invalid: the guarantee cannot be read", 1),
        (f"valid: derivation of {STEPS} steps", 0),
        (FOLLOWS.replace(f" {STEPS} steps", f" {STEPS - 1} steps"), 0),
    ],
)
def test_what_the_extracted_checker_does_not_accept_is_not_valid(dpaccount, tmp_path, says, said, code):
    says(said, code)
    path = written(tmp_path / "c.json", HONEST)
    code, out, _ = dpaccount("check", path, "--verified", "--json")
    found = json.loads(out)
    assert (code, found["valid"], found["verdict"], found["standing"]) == (1, False, None, None)
    assert said in found["said"]
    assert dpaccount("check", path, "--verified")[1].startswith("invalid: ")


def test_what_our_own_checker_does_not_accept_is_not_valid(dpaccount, tmp_path, says):
    says(FOLLOWS)
    path = written(tmp_path / "c.json", edited(HONEST, (("guarantee", "epsilon"), 1)))
    code, out, _ = dpaccount("check", path, "--verified", "--json")
    assert (code, json.loads(out)["valid"]) == (1, False)


def test_a_bare_derivation_needs_no_other_option(dpaccount, tmp_path, says):
    steps = HONEST["proved"]["derivation"]
    says(f"valid: derivation of {STEPS} steps")
    path = written(tmp_path / "d.json", {"schema": "dpaccount/derivation/1", "steps": steps})
    code, out, _ = dpaccount("check", path, "--verified", "--json")
    found = json.loads(out)
    assert (code, found["verdict"], found["standing"]) == (0, "DERIVATION", "theorem")
    checkers = {verified.ZIP: verified.zipped(), verified.EXTRACTED: verified.program().read_bytes()}
    digests = {name: f"sha256:{hashlib.sha256(raw).hexdigest()}" for name, raw in checkers.items()}
    assert found["programs"] == digests
    out = dpaccount("check", path, "--verified")[1]
    assert f"\nstanding: {verified.STANDINGS['theorem']}\n" in out
    assert all(f"\n{name} {digest}\n" in out for name, digest in digests.items())
    says("valid: derivation of 7 steps")
    assert dpaccount("check", path, "--verified")[0] == 1


def test_where_nothing_is_certified_the_steps_alone_are_asked_for(dpaccount, tmp_path, says):
    says(f"valid: derivation of {STEPS} steps")
    path = written(tmp_path / "c.json", sealed(edited(UNPROVEN, (("sensitivity", 0, "status"), "untested"))))
    code, out, _ = dpaccount("check", path, "--verified", "--json")
    assert (code, json.loads(out)["standing"]) == (3, "checker")
    assert json.loads((tmp_path / "read.json").read_text())["steps"] == HONEST["proved"]["derivation"]
    assert f"{STEPS} steps follow\n" in dpaccount("check", path, "--verified")[1]


@pytest.mark.parametrize(
    ("line", "answer", "standing"),
    [
        ("valid: at most 3", 0, "theorem"),
        ("no theorem on zcdp", 2, "checker"),
        ("invalid: above 3", 1, None),
    ],
)
def test_an_account_says_whether_a_theorem_confirms_it(dpaccount, tmp_path, says, line, answer, standing):
    event = {"event": "gaussian", "sigma": 4}
    written(
        tmp_path / "plan.json",
        {"schema": "dpaccount/events/1", "relation": "add-remove", "events": [event]},
    )
    dpaccount("account", "plan.json", "--delta", "1e-5", "--certificate", "a.json")
    says(line, answer)
    code, out, _ = dpaccount("check", "a.json", "--verified", "--json")
    assert (tmp_path / "words").read_text().startswith("--account ")
    assert (tmp_path / "read.json").read_bytes() == (tmp_path / "a.json").read_bytes()
    said = json.loads(out)
    assert (code, said["verdict"], said["standing"]) == (
        (1, None, None) if standing is None else (0, "CONFIRMED", standing)
    )
    text = dpaccount("check", "a.json", "--verified")[1]
    assert (line if standing is None else f"standing: {verified.STANDINGS[standing]}") in text


def test_a_document_that_the_extracted_checker_cannot_read_has_no_verdict(dpaccount, tmp_path, says):
    says("error: a number is not in its shortest form", 2)
    path = written(tmp_path / "c.json", HONEST)
    code, out, err = dpaccount("check", path, "--verified", "--json")
    assert (code, out) == (2, "")
    assert "cannot read the document: a number is not in its shortest form" in err


@pytest.mark.parametrize(
    "schema", ["dpaccount\\/account-certificate\\/1", "dpaccoun\\u0074/account-certificate/1"]
)
def test_a_schema_that_is_written_with_escapes_is_the_same(dpaccount, tmp_path, schema):
    plan = {
        "schema": "dpaccount/events/1",
        "relation": "add-remove",
        "events": [{"event": "gaussian", "sigma": 4}],
    }
    written(tmp_path / "plan.json", plan)
    dpaccount("account", "plan.json", "--delta", "1e-5", "--certificate", "a.json")
    account = tmp_path / "a.json"
    account.write_text(account.read_text().replace("dpaccount/account-certificate/1", schema))
    assert dpaccount("check", "a.json")[0] == 0
    assert examined(account.read_bytes())[0] == "CONFIRMED"


def test_the_program_is_also_found_beside_the_zip_file(tmp_path, monkeypatch):
    monkeypatch.delenv(verified.VARIABLE, raising=False)
    places = (tmp_path / "checker", tmp_path / verified.EXTRACTED)
    monkeypatch.setattr(verified, "PLACES", places)
    assert list(verified.programs()) == [verified.ZIP]
    places[1].write_text("#!/bin/sh\n")
    places[1].chmod(0o755)
    assert list(verified.programs()) == [verified.ZIP, verified.EXTRACTED]


@pytest.mark.parametrize(
    ("line", "code"), [("", 0), ("valid", 0), (FOLLOWS, 3), ("invalid: step 1", 0), ("", 2)]
)
def test_a_program_without_a_verdict_is_an_error(dpaccount, tmp_path, says, line, code):
    says(line, code)
    path = written(tmp_path / "c.json", HONEST)
    exit_code, out, err = dpaccount("check", path, "--verified")
    assert (exit_code, out) == (2, "")
    assert "gave no verdict" in err


def test_where_it_is_not_built_the_command_says_so(dpaccount, tmp_path, monkeypatch):
    monkeypatch.setenv(verified.VARIABLE, str(tmp_path / "none"))
    path = written(tmp_path / "c.json", HONEST)
    code, out, err = dpaccount("check", path, "--verified")
    assert (code, out) == (2, "")
    assert "make checker" in err


@deep
def test_the_reading_list_is_the_checkers_own(dpaccount, tmp_path):
    path = tmp_path / "c.json"
    path.write_text(json.dumps(HONEST))
    plain = dpaccount("check", path)[1]
    code, out, _ = dpaccount("check", path, "--rules")
    listed = to_read(path.read_bytes())
    assert (code, out) == (0, plain + in_words(listed))
    answer = json.loads(dpaccount("check", path, "--rules", "--json")[1])
    assert {name: answer.pop(name) for name in ("rules", "files")} == listed
    assert answer == json.loads(dpaccount("check", path, "--json")[1])
    assert {rule["rule"] for rule in listed["rules"]} == {step["rule"] for step in derivation()}
    assert any(file["file"] == "certificate/verdict.py" for file in listed["files"])


def test_what_is_not_valid_has_no_reading_list(dpaccount, tmp_path):
    (tmp_path / "c.json").write_text(json.dumps(edited(HONEST, (("guarantee", "epsilon"), 1))))
    code, out, _ = dpaccount("check", "c.json", "--rules")
    assert (code, out.splitlines()[1:]) == (1, [])
