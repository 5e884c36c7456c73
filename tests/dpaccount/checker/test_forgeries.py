"""Every leaf of an honest certificate, replaced by several wrong values and made consistent again.

A forger has honest digests: steps are chained anew, evidence follows its step, the certificate is sealed.
Each such forgery must be refused, but at the few places that are free: texts that promise nothing, and
values that nothing in the document can tell, which the certificate says itself (docs/formats.md lists them).
"""

import json
import re

import pytest

from audits import consistency
from audits.consistency import verdict as of_verdict
from dpaccount import checker
from dpaccount.checker import conversions, intervals
from dpaccount.checker.__main__ import main
from dpaccount.checker.certificate import shapes
from dpaccount.checker.documents import Work
from tests.depth import deep
from tests.documents import validator
from tests.dpaccount.checker import made as sides
from tests.looped import looped

RELEASED = sides.sealed(sides.edited(sides.HONEST, *sides.ON_DATA))

#: Paths whose value the document alone cannot tell, with what may stand there.
FREE = {
    r"claim/name": "whose claim it is",
    r"claim/data/(file|ledger)": "where data and ledger lie",
    r"claim/governance/valid_until": "what follows the day",
    r"subject/source": "a citation",
    r"subject/code": "of which code it is; a hazard says so (a release names the same)",
    r"release/(data|ledger_entry)": "which data and entry; a hazard says so",
    r"release/report/.*": "what was released",
    r"proved/epsilon/lower": "any lower end that holds (test_lower_ends.py)",
    r"audit/attack": "a name",
    r"audit/points/\d+/(power|false_alarm)": "see below: only weaker ones",
    r"audit/points/\d+/event": "the event's threshold; its counts are compared",
    r"audit/witness/.*": "any pair of neighbouring datasets",
    r"environment/.*": "versions",
}


def leaves(value, path=()):
    if isinstance(value, dict | list) and value:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, member in pairs:
            yield from leaves(member, (*path, key))
    else:
        yield path, value


def wrong(value):
    """Return values of the same and of other types that differ from this one in meaning."""
    others = [None, True, [], {}, "", "x", "٣", -1, 10**30, 0.123, "nan", [value], {"a": value}]
    match value:
        case bool():
            others += [not value, int(value)]
        case int() | float():
            others += [value + 1, value - 1, value / 2 + 0.01, str(value) + " ", float("1e300")]
        case str():
            others += [value + " ", value.upper() + "!", value[:-1], "\u200b" + value]
            others += ["sha256:" + "0" * 64] if value.startswith("sha256:") else []
            if re.fullmatch(r"-?\d+(/\d+)?", value):
                others += [f"{value}0", f"1{value}", f"{value}/1", f"0{value}", f"+{value}"]
    return [other for other in others if not same(other, value)]


def same(a, b):
    return type(a) is type(b) and a == b


def forged(document, path, value):
    """Return the document with one member changed and all digests made to fit."""
    new = sides.edited(document, (path, value))
    old = [step["digest"] for step in document["proved"]["derivation"]]
    try:
        steps = new["proved"]["derivation"]
        for step in steps:
            body = {"rule": step["rule"], "with": step["with"], "gives": step["gives"]}
            step["digest"] = checker.digest({**body, "from": [steps[k]["digest"] for k in step["from"]]})
        moved = dict(zip(old, (step["digest"] for step in steps), strict=True))
        for entry in new["sensitivity"]:
            entry["step"] = moved.get(entry["step"], entry["step"])
    except (TypeError, KeyError, IndexError, AttributeError, ValueError):
        pass
    return sides.sealed(new)


@pytest.fixture(autouse=True)
def remembered(monkeypatch):
    """Remember the two costly decisions, which depend on their arguments alone."""
    for module, name in ((conversions, "implies"), (of_verdict, "implies"), (of_verdict, "binomial_tail")):
        monkeypatch.setattr(module, name, memory(getattr(module, name)))


def memory(decide):
    known = {}

    def again(*arguments, **named):
        where = repr([a.digits if isinstance(a, intervals.Interval) else a for a in arguments]) + repr(named)
        if where not in known:
            known[where] = decide(*arguments, **named)
        return known[where]

    return again


def accepted(document):
    Work.spent = 0
    try:
        consistency.judged(json.dumps(document).encode())
    except (checker.Rejected, checker.Unreadable):
        return False
    return True


@pytest.mark.parametrize(
    ("document", "free"),
    [(RELEASED, FREE), pytest.param(sides.refuted(), FREE, marks=deep)],
    ids=["certified", "refuted"],
)
def test_no_leaf_is_changed_unseen(document, free):
    assert accepted(document)
    tried, missed = 0, []
    for path, value in leaves({k: v for k, v in document.items() if k not in ("digest", "signature")}):
        name = "/".join(map(str, path))
        if name.endswith("/digest") or any(re.fullmatch(each, name) for each in free):
            continue  # digests of steps are made anew
        for other in wrong(value):
            tried += 1
            if accepted(forged(document, path, other)):
                missed.append((name, value, other))
    assert tried > 1500
    assert missed == []


def test_free_values_are_of_their_kind():
    """What may be anything of its kind may not be of another: no table, no null, no control of the reader."""
    for path, value in leaves({k: v for k, v in RELEASED.items() if k not in ("digest", "signature")}):
        name = "/".join(map(str, path))
        if re.match(r"audit/witness|release/report|(claim/)?subject/parameters|.*/digest", name):
            continue
        for other in (None, [value], {"a": value}):
            if other != value and not (name == "release/evaluation" and other == {"a": None}):
                absent = other is None and name in ("proved/epsilon/lower", "proved/reason")
                assert absent or not accepted(forged(RELEASED, path, other)), (name, other)


def test_weaker_counts_are_all_that_counts_can_become():
    """A point may claim less power, or more alarms, than its counts allow; never the other way round."""
    beaten = sides.refuted()
    for member, values in {
        "power": [0.99, 1.0, 2, -1],
        "false_alarm": [0.0, 0.001, 0.02, 2, -1],
        "hits": [0, 900, 1001, -1],
        "alarms": [100, 1001, -1],
        "risk": [0, 0.5, 1, -1, "1/100000"],
        "limit": [0, 3, -1, "inf"],
        "delta": [0, 0.2, -1, "inf"],
        "epsilon_lower": [0.1, 3.3, 9, -1],
    }.items():
        for value in values:
            path = ("audit", "points", 0, member)
            assert not accepted(forged(beaten, path, value)), (member, value)


@looped(
    "place",
    [
        *[(), ("claim",), ("claim", "guarantee"), ("claim", "subject"), ("claim", "data"), ("subject",)],
        *[("guarantee",), ("proved",), ("proved", "epsilon"), ("proved", "derivation", 2)],
        *[("proved", "derivation", 2, "with"), ("sensitivity", 0), ("audit",), ("audit", "points", 0)],
        *[("audit", "witness"), ("release",)],
    ],
    ids=lambda place: "/".join(map(str, place)) or "top",
)
def test_every_table_is_closed(place):
    """A member more is refused, also one that looks like a member that is known."""
    for name in ("note", "\u0435psilon", "epsilon_total", "tight ", ""):
        assert not accepted(forged(RELEASED, (*place, name), 0.001))


def test_numbers_are_written_in_one_way():
    """The text of a document is fixed by its digest, as far as numbers go."""
    text = json.dumps(RELEASED)
    assert accepts(text)
    for old, new in (
        ('"epsilon": 2,', '"epsilon": 1.99999999999999999999999,'),
        ('"epsilon": 2,', '"epsilon": 2.00,'),
        ('"power": 0.4,', '"power": 0.40000000000000000001,'),
        ('"power": 0.4,', '"power": 4e-1,'),
        ('"epsilon_lower": 0.0,', '"epsilon_lower": 1e-400,'),
        ('"epsilon_lower": 0.0,', '"epsilon_lower": -0.0,'),
        ('"epsilon_lower": 0.0,', '"epsilon_lower": 0e5,'),
        ('"runs": 1000,', '"runs": 1E3,'),
    ):
        assert old in text
        assert not accepts(text.replace(old, new, 1))


def accepts(text):
    try:
        consistency.judged(text.encode())
    except (checker.Rejected, checker.Unreadable):
        return False
    return True


# ------------------------------------------------------------------ what reaches the terminal

SAID = "valid: CERTIFIED: digest, 15 proof steps and verdict confirmed"
EVIL = [f"\x1b[1A\x1b[2K\r{SAID}\x1b[8m", f"\n{SAID}\n", f"\x9b2K\u2028{SAID}", f"\u202e{SAID}\x00\x7f"]


def quiet(text):
    return all(c.isprintable() for line in text.split("\n") for c in line)


def renamed(value, path, name):
    """Return a table with the last key of a path renamed."""
    new = sides.copied(value)
    place = new
    for key in path[:-1]:
        place = place[key]
    if not isinstance(place, dict):
        return None
    place[name] = place.pop(path[-1])
    return new


def tables(value, path=()):
    """Yield the paths of all members."""
    if isinstance(value, dict | list):
        for key, member in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*path, key)
            yield from tables(member, (*path, key))


def test_no_name_or_text_of_a_file_controls_the_terminal(tmp_path, capsys):
    """Every text and every key, with escapes, newlines, bidirectional and C1 controls: one plain line."""
    file = tmp_path / "c.json"
    until = [(("claim", "governance", "valid_until"), f"2020-01-01{EVIL[0]}")]
    documents = [(sides.edited(sides.HONEST, *until), ["--at", "2026-01-01"])]
    for index, path in enumerate(tables(RELEASED)):
        evil = EVIL[index % len(EVIL)]
        other = renamed(RELEASED, path, evil)
        documents += [] if other is None else [(sides.sealed(other), [])]
        if path[0] != "digest":
            documents.append((forged(RELEASED, path, evil), []))
    for document, options in documents:
        Work.spent = 0
        file.write_text(json.dumps(document))
        code = main([str(file), *options])
        out, err = capsys.readouterr()
        assert quiet(out), repr(out)
        assert quiet(err), repr(err)
        assert len((out + err).splitlines()) == 1
        assert out.startswith("valid:") == (code == 0)
    assert len(documents) > 250


# ------------------------------------------------------------------ the published schema says the same


@deep
def test_the_published_schema_closes_the_same_tables():
    fits = validator("certificate").is_valid
    schema = validator("certificate").schema
    assert set(schema["properties"]) == set(schema["required"]) == set(shapes.FIELDS)
    for document in (RELEASED, sides.refuted(), sides.HONEST):
        assert fits(document)
        for path in tables(document):
            if re.match(r"proved/derivation/\d+/(with|gives)", "/".join(map(str, path))):
                continue
            for value in (None, [], 7, "x", {"y": 1}):
                other = forged(document, path, value)
                assert fits(other) or not accepted(other), (path, value)
    for place in ((), ("claim",), ("proved",), ("audit",), ("sensitivity", 0), ("release",)):
        assert not fits(forged(RELEASED, (*place, "note"), 1))
