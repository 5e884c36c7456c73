"""Every member of genuine certificates is changed, dropped or joined by another: refused, or among the free ones.

docs/formats.md lists what is free: what nothing in a document says twice.
"""

import json
import random
import re
from fractions import Fraction

import pytest

from audits import consistency
from dpaccount.checker import Rejected
from dpaccount.ledger.ledger import init
from tests.depth import deep
from tests.dpaccount.checker import made as sides
from tests.dpaccount.checker.test_forgeries import accepted, forged, wrong

HEAD = """schema = "dpaccount/claim/1"
name = "mine"
[guarantee]
unit = "one row"
relation = "replace-one"
model = "central"
"""
CELLS = """epsilon = 1
delta = 0
[subject]
use = "count-by-group"
parameters = { column = "g", epsilon = 0.5 }
[data]
file = "rows.csv"
ledger = "sqlite:///l.db"
rows = 30
[data.columns]
g = { type = "category", values = ["a", "b", "c"] }
[audit]
trials = 200
"""
STUDY = """schema = "dpaccount/study/1"
name = "study"
statistic = [{ name = "n", what = "count", by = ["g"] }, { name = "total", what = "sum", column = "x" }]
[guarantee]
unit = "one row"
relation = "add-remove"
epsilon = 1
delta = 1e-6
[data]
file = "rows.csv"
ledger = "sqlite:///l.db"
max_units = 30
[data.columns]
g = { type = "category", values = ["a", "b", "c"] }
x = { type = "number", low = 0, high = 1 }
[audit]
trials = 200
"""


def samples(dpaccount, folder, root):
    """Return the certificate of results that were drawn elsewhere."""
    draw = random.Random(1)
    for name, most in (("left", 601), ("right", 500)):
        (folder / f"{name}.csv").write_text("\n".join(str(draw.gauss(most / 600, 1)) for _ in range(most)))
    (folder / "claim.toml").write_text(HEAD + 'epsilon = 2\n[subject]\nuse = "theirs:f"\n')
    words = ("--claim", "claim.toml", "--certificate", "out.json")
    code, out, err = dpaccount("audit", "--samples", "left.csv", "right.csv", *words)
    assert code in (0, 3), out + err
    return folder / "out.json"


def released(dpaccount, folder, root, text=HEAD + CELLS, relation="replace-one"):
    """Return the certificate of released counts."""
    (folder / "rows.csv").write_text("g,x\n" + "a,.5\nb,.25\nc,1\n" * 10)
    (folder / "claim.toml").write_text(text)
    init("sqlite:///l.db", epsilon=9, delta="1e-5", unit="one row", relation=relation, measure="approximate")
    code, out, err = dpaccount("release", "claim.toml", "--yes", "--out", "out")
    assert code == 0, out + err
    return next(folder.rglob("certificate.json"))


def study(dpaccount, folder, root):
    """Return the certificate of a released study."""
    return released(dpaccount, folder, root, STUDY, "add-remove")


def free_members(root):
    """Return the paths that the page lists, as patterns."""
    section = (root / "docs" / "formats.md").read_text().partition("**Free members**")[2].partition("```")[2]
    lines = [line.split("  ")[0].strip() for line in section.partition("```")[0].splitlines()[1:]]
    return [re.escape(line).replace(r"\*", ".*") for line in lines if line]


def changes(document, path=()):
    """Yield the path of each member, the first two of a list, with other values; None for the member dropped."""
    value = sides_at(document, path)
    if path and path[-1] in ("digest", "signature") and len(path) == 1:
        return
    if isinstance(value, dict):
        yield path, [{**value, "extra": 1}, *({k: v for k, v in value.items() if k != key} for key in value)]
        for key in value:
            yield from changes(document, (*path, key))
    elif isinstance(value, list):
        yield path, [value[:-1], [*value, *value[-1:]], value[::-1]] if value else [[1]]
        for key in range(min(2, len(value))):
            yield from changes(document, (*path, key))
    else:
        yield path, wrong(value)[-6:]


def sides_at(document, path):
    for key in path:
        document = document[key]
    return document


def alike(one, other):
    """Return whether two members are one number, or a text of it."""
    try:
        return Fraction(str(one)) == Fraction(str(other))
    except (ValueError, ZeroDivisionError):
        return one == other


@deep
@pytest.mark.parametrize("make", [samples, released, study])
def test_every_member_is_bound_or_listed_as_free(dpaccount, tmp_path, root, make):
    is_bound_or_free(dpaccount, tmp_path, root, make)


def is_bound_or_free(dpaccount, tmp_path, root, make):
    """Change every member of a genuine certificate: what is accepted is listed as free."""
    document = json.loads(make(dpaccount, tmp_path, root).read_text())
    assert accepted(document)
    patterns, tried, missed = free_members(root), 0, {}
    for path, others in changes(document):
        name = "/".join(map(str, path))
        if not path or name.endswith("/digest") or any(re.fullmatch(each, name) for each in patterns):
            continue
        # earlier certificates lack what the page says may be left out
        lacking = [key for key in ("own_epsilon", "family") if f"subject/{key}" in patterns]
        for other in others:
            if name == "subject" and any(key in document[name] and key not in other for key in lacking):
                continue
            tried += 1
            if not alike(other, sides_at(document, path)) and accepted(forged(document, path, other)):
                missed.setdefault(name, []).append(other)
    assert tried > 200
    assert missed == {}, json.dumps(missed)


CONTRADICTIONS = {
    samples: (
        (("audit", "witness", "left", "results"), 600, "other results than the audit has trials"),
        (("audit", "witness", "right", "sha256"), "0" * 63, "sha256 is 0+, which it cannot be"),
        (
            ("audit", "witness", "event"),
            "score >= 1.0 on the left, seen 1 of 2 against 1 of 2",
            "of other results",
        ),
        (
            ("audit", "witness", "event"),
            "score >= 1.0 on the right, seen 1 of 2 against 1 of 2",
            "not that of",
        ),
    ),
    released: (
        (("release", "report", "counts"), [9, 9, 9, 9], "not of the cells"),
        (("release", "report", "accuracy", "counts", "low"), [-9, -9], "of other numbers"),
        (("release", "report", "counts", 0), 10**6, "beyond its interval"),
        (("subject", "parameters", "scale"), "40", "the parameter scale is not the proof's"),
        (("subject", "parameters", "law"), "gaussian", "the parameter law is not the proof's"),
    ),
}


@deep
@pytest.mark.parametrize("make", [samples, released])
def test_members_that_contradict_each_other_are_refused(dpaccount, tmp_path, root, make):
    document = json.loads(make(dpaccount, tmp_path, root).read_text())
    for path, value, why in CONTRADICTIONS[make]:
        with pytest.raises(Rejected, match=why):
            consistency.judged(json.dumps(forged(document, path, value)).encode())


def test_a_parameter_epsilon_that_no_claim_states_is_refused():
    other = forged(
        sides.HONEST, ("subject", "parameters"), {**sides.HONEST["subject"]["parameters"], "epsilon": 0.0001}
    )
    with pytest.raises(Rejected, match="a parameter epsilon is not the claim's"):
        consistency.judged(json.dumps(other).encode())
