"""`dpaccount check --rules`: the reading list of a document, for people and as JSON."""

import json

from dpaccount import checker
from tests.dpaccount.checker.made import HONEST, derivation, edited


def test_the_reading_list_is_the_checkers_own(dpaccount, tmp_path):
    path = tmp_path / "c.json"
    path.write_text(json.dumps(HONEST))
    plain = dpaccount("check", path)[1]
    code, out, _ = dpaccount("check", path, "--rules")
    listed = checker.to_read(path.read_bytes())
    assert (code, out) == (0, plain + checker.in_words(listed))
    answer = json.loads(dpaccount("check", path, "--rules", "--json")[1])
    assert {name: answer.pop(name) for name in ("rules", "files")} == listed
    assert answer == json.loads(dpaccount("check", path, "--json")[1])
    assert {rule["rule"] for rule in listed["rules"]} == {step["rule"] for step in derivation()}
    assert any(file["file"] == "certificate/verdict.py" for file in listed["files"])


def test_what_is_not_valid_has_no_reading_list(dpaccount, tmp_path):
    (tmp_path / "c.json").write_text(json.dumps(edited(HONEST, (("guarantee", "epsilon"), 1))))
    code, out, _ = dpaccount("check", "c.json", "--rules")
    assert (code, out.splitlines()[1:]) == (1, [])
