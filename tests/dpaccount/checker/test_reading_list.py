"""What a reviewer is told to read: the rules of a document where they stand, and the core, no more."""

import json
from pathlib import Path

from dpaccount import checker
from dpaccount.checker.accounting import to_read
from dpaccount.checker.derivation import FAMILIES, file_of, in_words
from tests.dpaccount.checker.made import HONEST, derivation

HERE = Path(checker.__file__).parent
NAMES = ("documents", "intervals", "distributions", "curves", "relation", "facts", "derivation")
CORE = [f"{name}.py" for name in NAMES]
SHOWN = ("shapes", "tables", "verdict", "releases")
AROUND = [f"certificate/{name}.py" for name in (*SHOWN, "__init__")]
BARE = json.dumps({"schema": "dpaccount/derivation/1", "steps": derivation()}).encode()


def test_the_core_is_what_every_document_needs():
    for raw, files in ((BARE, CORE), (json.dumps(HONEST).encode(), CORE + AROUND)):
        listed = to_read(raw)["files"]
        # in the order of their imports, which is another one where a program begins with another module
        assert sorted(entry["file"] for entry in listed) == sorted(files)
        for entry in listed:
            assert entry["lines"] == len((HERE / entry["file"]).read_text().splitlines())


def test_rules_are_listed_by_name_where_they_stand():
    listed = to_read(BARE)["rules"]
    assert [entry["rule"] for entry in listed] == sorted({step["rule"] for step in derivation()})
    assert to_read(json.dumps(HONEST).encode())["rules"] == listed
    for entry in listed:
        following = (HERE / entry["file"]).read_text().splitlines()[entry["line"] - 1 :]
        assert following[0].startswith("@")
        assert f"def {entry['rule']}(" in "\n".join(following[:3])


def test_what_a_rule_calls_stands_beside_it_or_in_the_core():
    families = {module.__name__ for module in FAMILIES}
    for module in FAMILIES:
        homes = {str(getattr(value, "__module__", "")) for value in vars(module).values()} - families
        assert {file_of(home) for home in homes if home.startswith(f"{checker.__name__}.")} <= set(CORE)


def test_a_rule_that_nothing_rests_on_is_not_listed():
    steps = derivation()
    bare = {"schema": "dpaccount/derivation/1", "steps": steps[:3]}
    listed = to_read(json.dumps(bare).encode())["rules"]
    assert [entry["rule"] for entry in listed] == ["assume_ball", "gaussian", "linear"]


def test_people_get_a_line_each():
    listed = to_read(BARE)
    lines = in_words(listed).splitlines()
    assert len(lines) == 2 + len(listed["rules"]) + len(listed["files"])
    assert in_words(listed).endswith(" lines\n")
