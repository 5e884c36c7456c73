"""Certificates of results drawn elsewhere: forged ones are refused, those of earlier versions stay valid."""

import json
from copy import deepcopy
from fractions import Fraction

import pytest

from audits import consistency
from audits.api.arguments import Arguments
from audits.api.on_results import audit_samples
from audits.attack.rules import Threshold, clopper_pearson
from audits.certificate.document import seal
from dpaccount.checker import Rejected

CLAIM = """schema = "dpaccount/claim/1"
name = "spark-job"
[guarantee]
model = "central"
unit = "one person"
relation = "replace-one"
epsilon = 0.5
[subject]
use = "jobs.spark:totals"
"""
ENDING = ", Clopper-Pearson on the other "


@pytest.fixture(scope="module", params=["left", "right"])
def genuine(request, tmp_path_factory):
    """Return a refutation whose event is counted on one side; a column's name says another."""
    folder = tmp_path_factory.mktemp("drawn")
    (folder / "claim.toml").write_text(CLAIM)
    sides = {"a": 99, "b": 61}
    for k, (name, most) in enumerate(sides.items()):
        ones = [(k == (request.param == "right")) and n % 20 != 0 for n in range(most)]
        (folder / f"{name}.csv").write_text("\n".join(["x on the left", *(str(+one) for one in ones)]))
    paths = [folder / f"{name}.csv" for name in sides]
    arguments = Arguments(claim=folder / "claim.toml", certificate=folder / "out.json")
    audit_samples(arguments.samples(*paths), lambda _: None)
    document = json.loads((folder / "out.json").read_text())
    assert judged(document) == "REFUTED"
    return document


def judged(document):
    return consistency.judged(json.dumps(seal(document)).encode())[0]


def counted(document, ending, event=None, **counts):
    """Return the certificate with another ending of the attack's description, and other counts."""
    made = deepcopy(document)
    audit, (point,) = made["audit"], made["audit"]["points"]
    seen = {**{name: point[name] for name in ("hits", "runs", "alarms", "other_runs")}, **counts}
    pairs = (seen["hits"], seen["runs"]), (seen["alarms"], seen["other_runs"])
    bound = clopper_pearson(*pairs, Fraction(0), Fraction(point["risk"]), Threshold(1.0))
    sentence = "score >= 1.0 on the {0}, seen {hits} of {runs} against {alarms} of {other_runs}"
    said = (event or sentence).format("left" if " on the left, seen" in point["event"] else "right", **seen)
    score = audit["witness"]["score"]
    point |= {**seen, "event": f"{score}: {said}", "epsilon_lower": bound.epsilon_lower}
    point |= {"power": bound.power, "false_alarm": bound.false_alarm}
    audit |= {"attack": f"results drawn elsewhere: {score}{ending}", "epsilon_lower": bound.epsilon_lower}
    audit["witness"]["event"] = said
    return made


def turned(document, left, right):
    """Return the runs of an event on its side, and on the other."""
    of_left = " on the left, seen" in document["audit"]["points"][0]["event"]
    return {"runs": left if of_left else right, "other_runs": right if of_left else left}


def test_certificates_of_halves_are_valid_as_halves(genuine):
    halves = {**turned(genuine, 50, 31), "hits": 29, "alarms": 1}
    thirds = {**turned(genuine, 66, 41), "hits": 38, "alarms": 1}
    for ending, right, other in (("half", halves, thirds), ("results", thirds, halves)):
        assert judged(counted(genuine, ENDING + ending, **right)) == "REFUTED"
        with pytest.raises(Rejected, match="the counts are of other results"):
            judged(counted(genuine, ENDING + ending, **other))


@pytest.mark.parametrize(
    "event",
    [
        "score >= 1.0 on the right, not  on the left, seen {hits} of {runs} against {alarms} of {other_runs}",
        "score >= 1.0 on the {0}, seen at last, seen {hits} of {runs} against {alarms} of {other_runs}",
        "score >= one on the {0}, seen {hits} of {runs} against {alarms} of {other_runs}",
    ],
)
def test_the_event_is_the_sentence_that_the_program_writes(genuine, event):
    assert judged(counted(genuine, ENDING + "results")) == "REFUTED"
    with pytest.raises(Rejected, match="which it cannot be"):
        judged(counted(genuine, ENDING + "results", event))


@pytest.mark.parametrize(
    "ending", ["", ", Monte Carlo on all results", " half", ENDING + "third", ENDING + "results half"]
)
def test_the_attack_is_the_sentence_that_the_program_writes(genuine, ending):
    with pytest.raises(Rejected, match="the attack is not that of the two files"):
        judged(counted(genuine, ending))


ROWS = {"left": [[0.0]], "right": [[1.0]]}


@pytest.mark.parametrize("attack", [None, "black box: x"])
@pytest.mark.parametrize("source", [None, "code of the claim's author"])
@pytest.mark.parametrize("sides", [{}, {"left": [[0.0]]}, ROWS], ids=["files", "one file", "rows"])
def test_by_whatever_a_certificate_is_of_results_drawn_elsewhere_it_is_by_all(genuine, attack, source, sides):
    """Only one that says it nowhere is of another attack."""
    for kept in (True, False):
        made = deepcopy(genuine)
        made["audit"]["attack"] = attack or made["audit"]["attack"]
        made["subject"]["source"] = source or made["subject"]["source"]
        made["audit"]["witness"] |= sides
        if not kept:
            made["hazards"] = [each for each in made["hazards"] if "not seen here" not in each]
        genuine_one = attack is None and source is None and not sides and kept
        other_kind = attack is not None and source is not None and sides is ROWS and not kept
        if genuine_one or other_kind:
            assert judged(made) == "REFUTED"
        else:
            with pytest.raises(Rejected):
                judged(made)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("audit", "witness", "left", "file"), {"x": 1}),
        (("audit", "witness", "left", "file"), 7),
        (("audit", "witness", "right", "file"), "a\u202e.csv"),
        (("audit", "witness", "right", "results"), True),
        (("audit", "witness", "left", "rows"), 3),
        (("audit", "witness", "unit"), 1),
        (("environment", "time zone"), "\x1b[31mUTC"),
        (("environment", "time zone"), "UTC\n"),
        (("environment", "\x1b[31m"), "UTC"),
        (("environment", "time zone"), "U" * 256),
    ],
)
def test_names_and_zones_are_texts_that_show_as_they_are(genuine, path, value):
    made = deepcopy(genuine)
    place = made
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(Rejected):
        judged(made)


@pytest.mark.parametrize(
    "zone", ["", "+03/-03", "Westeuropäische Zeit", "Heure d’été (Paris)", "中国标准时间"]
)
def test_every_zone_of_a_machine_is_a_text(genuine, zone):
    made = deepcopy(genuine)
    made["environment"]["time zone"] = zone
    assert judged(made) == "REFUTED"
