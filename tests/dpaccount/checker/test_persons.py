"""A certificate on a table of which several rows are one person's: what is proved of rows is not proved of persons."""

import pytest

from audits import consistency
from audits.consistency.verdict import relations
from tests.dpaccount.checker.made import R, accepted, certificate, edited, point, step
from tests.looped import looped

A = "add-remove"
TABLE = {
    **{"file": "t.csv", "ledger": "sqlite:///t.db", "rows": 40, "id": "who", "max_rows": 2},
    "columns": {"x": {"type": "number", "low": 0, "high": 1}},
}


def of_rows(steps, relation, key="noise"):
    """Prove something of rows, at (1/8, 10⁻³); return where it stands."""
    first = len(steps)
    step(steps, "assume_ball", [], query=f"sum-{key}", radius="1/2", relation=relation, because="movement")
    step(steps, "linear", [first])
    step(steps, "gaussian", [first + 1], variance="400" if relation == R else "100", key=key)
    step(steps, "to_approximate", [first + 2], epsilon="1/8", delta="1/1000")
    return first + 3


def shown(steps, of, keys):
    at = len(steps)
    view = {"query": "clinic", "audience": "everyone", "releases": keys, "because": "replay"}
    step(steps, "assume_view", [], **view)
    step(steps, "post_process", [of, at])
    return at + 1


def of_persons(steps, of, rows, most):
    at = len(steps)
    step(steps, "group", [of], size=most, delta="1/20")
    given = {"relation": R, "rows": rows, "most": most, "because": "movement"}
    step(steps, "assume_persons", [], query=steps[of]["gives"][1], **given)
    step(steps, "persons", [at, at + 1])
    return at + 2


def persons(rows=A, most=4):
    steps = []
    of_persons(steps, shown(steps, of_rows(steps, rows), ["noise"]), rows, most)
    return steps


def on_table(steps, max_rows=2):
    """Return a certificate with the evidence that `certify` would write, were each hypothesis true."""
    document = certificate(steps, [point()])
    data = {**TABLE, "max_rows": max_rows}
    end = steps[-1]["gives"][2]
    about = relations(steps, R)
    small = {"assume_ball": {"worst": "1/4"}}
    entries = [
        {**entry, **small.get(entry["rule"], {}), "relation": about[entry["step"]]}
        for entry in document["sensitivity"]
    ]
    edits = [(("claim", "data"), data), (("sensitivity",), entries)]
    held = {"column": "x", "rows": 40 * max_rows}
    if "assume_persons" in {step["rule"] for step in steps}:
        held |= {"persons": 40, "max_rows": max_rows}
    edits += [(("claim", "subject", "parameters"), {"column": "x"}), (("subject", "parameters"), held)]
    edits += [(("proved", "epsilon"), {"lower": None, "upper": end[1]}), (("proved", "delta"), end[2])]
    document = edited(document, *edits)
    return edited(document, (("hazards",), consistency.hazards_of(document)))


@pytest.mark.parametrize(("rows", "most"), [(A, 4), (R, 2)])
def test_what_protects_so_many_rows_protects_a_person_of_so_many(rows, most):
    assert accepted(on_table(persons(rows, most)))
    assert not accepted(on_table(persons(rows, most), max_rows=1))  # the claim says otherwise


@looped(("rows", "most"), [(A, 4), (R, 2), (A, 5), (A, 3), (A, 2)])
def test_a_person_of_more_rows_is_not_protected(rows, most):
    enough, odd = divmod(most, 2 if rows == A else 1)
    assert accepted(on_table(persons(rows, most), max_rows=enough)) is (odd == 0)
    assert not accepted(on_table(persons(rows, most), max_rows=enough + 1))


def test_what_is_proved_of_rows_is_not_proved_of_persons():
    steps = []
    shown(steps, of_rows(steps, R), ["noise"])
    assert accepted(on_table(steps, max_rows=1))
    assert not accepted(on_table(steps))


@pytest.mark.parametrize("max_rows", [1, 2])
def test_a_release_of_rows_beside_one_of_persons_protects_no_person(max_rows):
    steps = []
    first = of_persons(steps, of_rows(steps, A), A, 4)
    step(steps, "compose", [first, of_rows(steps, R, "beside")])
    shown(steps, len(steps) - 1, ["beside", "noise"])
    assert not accepted(on_table(steps, max_rows))


def test_rows_of_persons_that_were_never_changed_were_not_counted():
    """No noise is drawn on what the persons are shown, so nothing else says that a count may be above 0."""
    honest = on_table(persons())
    (at,) = (k for k, each in enumerate(honest["sensitivity"]) if each["rule"] == "assume_persons")
    for worst, fine in (("1", True), ("4", True), ("0", False)):
        assert accepted(edited(honest, (("sensitivity", at, "worst"), worst))) is fine


def test_evidence_is_among_the_neighbours_of_its_step():
    honest = on_table(persons())
    for number, entry in enumerate(honest["sensitivity"]):
        other = R if entry["relation"] == A else A
        assert not accepted(edited(honest, (("sensitivity", number, "relation"), other)))
