"""The claim of a certificate, decided by the checker extracted from the proofs and by the Python checker.

Forged claims are sealed again with right digests, so that digests alone tell nothing.
"""

import contextlib
import json
import random
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from audits.certificate import make
from audits.hypothesis_tests import search
from dpaccount import checker
from dpaccount.checker import Rejected
from dpaccount.checker.certificate import judged
from tests.depth import deep
from tests.dpaccount.checker.made import DROP, certificate, edited, sealed, step
from tests.formal.damaged import forged, honest_digests
from tests.formal.test_agreement import BUILT, CHECKER
from tests.looped import looped

EXAMPLES = Path(__file__).parents[2] / "examples"
pytestmark = BUILT
RELATIONS = ("replace-one", "add-remove", "bounded-row")
NUMBERS = [
    0,
    1,
    2,
    3,
    1.5,
    2.5,
    1e-9,
    0.1,
    "2",
    "3/2",
    "1e-1",
    "2e0",
    "+2",
    ".5",
    "2.",
    "4/2",
    "inf",
    "x",
    -1,
    None,
    True,
    10**30,
]


def extracted(*documents):
    """Return what the extracted checker prints on each document."""
    lines = "".join(json.dumps(document) + "\n" for document in documents)
    done = subprocess.run(
        [CHECKER, "--certificates"], input=lines, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def python(document):
    """Return why the Python checker does not find the claim to follow, or None."""
    try:
        judged(json.dumps(document).encode())
    except (Rejected, checker.Unreadable) as why:
        return str(why)
    return None


# ------------------------------------------------------------------ four honest claims


def two_counts(steps, relation, *, rows=None):
    step(steps, "assume_ball", [], query="sum", radius="1/2", relation=relation, because="movement")
    step(steps, "linear", [0])
    step(steps, "gaussian", [1], variance="100", key="noise")
    step(steps, "gaussian", [1], variance="100", key="other")
    step(steps, "compose", [2, 3])
    step(
        steps,
        "assume_view",
        [],
        query="clinic",
        audience="everyone",
        releases=["noise", "other"],
        because="v",
    )
    step(steps, "post_process", [4, 5])


def of_rows():
    steps = []
    two_counts(steps, "replace-one")
    step(steps, "to_approximate", [6], epsilon="1", delta="1/10")
    return claimed(steps, "replace-one", 1)


def of_persons(relation="replace-one", rows="add-remove", most=3):
    """Persons are replaced, their rows leave and come: twice as many steps as a person has rows."""
    size, steps = most * (1 + (relation != rows)), []
    two_counts(steps, rows)
    step(steps, "group", [6], size=size)
    step(steps, "to_approximate", [7], epsilon="2", delta="1/10")
    given = {"relation": relation, "rows": rows, "most": size}
    step(steps, "assume_persons", [], query="clinic", because="p", **given)
    step(steps, "persons", [8, 9])
    return claimed(steps, relation, 2, max_rows=most, id="patient")


def of_moving_rows():
    """Rows move by a radius, and a second proof says what holds of one that is replaced."""
    proofs = []
    for radius, rule in (({"radius": "1/2"}, "1"), ({}, "3")):
        steps = []
        given = {"factor": "1", "slack": "0", "reach": "2"}
        step(steps, "assume_lipschitz", [], query="sum", because="movement", **given)
        step(steps, "moved", [0], **radius)
        step(steps, "gaussian", [1], variance="4", key="noise")
        step(steps, "to_approximate", [2], epsilon=rule, delta="1/10")
        step(steps, "assume_view", [], query="clinic", audience="everyone", releases=["noise"], because="v")
        step(steps, "post_process", [3, 4])
        proofs.append(steps)
    columns = {"x": {"type": "number", "low": 0, "high": 1}, "y": {"type": "number", "low": 0, "high": 1}}
    document = claimed(proofs[0], "bounded-row", 1, columns=columns)
    other = {"epsilon": {"lower": None, "upper": 3}, "delta": "1/10", "derivation": proofs[1]}
    return forge(
        document,
        ("proved.replace_one", other),
        ("*.radius", 0.5),
        ("claim.subject.parameters", {"columns": ["x", "y"]}),
        ("subject.parameters", {"columns": ["x", "y"]}),
    )


def claimed(steps, relation, epsilon, **data):
    """Return a certificate of a class of one's own; the Python checker asks for no more than the claim there."""
    table = {"rows": 400, "columns": {"x": {"type": "number", "low": 0, "high": 1}}, **data}
    held = {"persons": 400, "max_rows": data["max_rows"]} if "max_rows" in data else {}
    document = certificate(steps)
    return forge(
        document,
        *(("*.relation", relation), ("*.epsilon", epsilon), ("claim.data", table)),
        *(("claim.subject", {"use": "lab.clinic:Clinic"}), ("subject.use", "lab.clinic:Clinic")),
        *(("subject.parameters", held), ("proved.epsilon.upper", epsilon)),
    )


def forge(document, *edits):
    """Return a copy with these members, sealed; * is the guarantee and that of the claim."""
    for name, value in edits:
        places = [name.replace("*", of) for of in ("guarantee", "claim.guarantee")] if "*" in name else [name]
        paths = [tuple(int(key) if key.isdigit() else key for key in place.split(".")) for place in places]
        document = edited(document, *((path, value) for path in paths))
    for proof in (document["proved"], document["proved"].get("replace_one") or {}):
        with contextlib.suppress(KeyError, TypeError, IndexError, AttributeError, ValueError):
            honest_digests(proof.get("derivation", []))
    return sealed(document)


ROWS, PERSONS, MOVING = of_rows(), of_persons(), of_moving_rows()
HONEST = {
    "rows": ROWS,
    "persons": PERSONS,
    "moving rows": MOVING,
    "persons, rows replaced": of_persons(rows="replace-one"),
    "persons leave": of_persons("add-remove"),
    "a sealed one": certificate(),
}


@looped("name", HONEST)
def test_both_accept_an_honest_claim(name):
    assert python(HONEST[name]) is None
    assert extracted(HONEST[name])[0].startswith("valid: the claim follows: ")


# ------------------------------------------------------------------ forged claims


def altered(document, at, change):
    """Return the document with other steps there, whose conclusions are inferred again."""
    proof = document["proved"] if at == "proved" else document["proved"]["replace_one"]
    again = []
    for each in change([{**each, "with": dict(each["with"])} for each in proof["derivation"]]):
        step(again, each["rule"], each["from"], **each["with"])
    return forge(document, (f"{at}.derivation", again))


def given(document, at="proved", **witnesses):
    """Return the document with other witnesses of some rules."""

    def change(steps):
        return [{**each, "with": each["with"] | witnesses.get(each["rule"], {})} for each in steps]

    return altered(document, at, change)


def without(*rules):
    """Return a change that takes steps out; what rested on one rests on its first premise."""

    def change(steps):
        kept, new = [], {}
        for k, each in enumerate(steps):
            before = [new[b] for b in each["from"]]
            out = each["rule"] in rules
            new[k] = before[0] if out and before else len(kept)
            kept += [] if out else [{**each, "from": before}]
        return kept

    return change


def one_key(steps):
    """Name the second noise as the first, which is drawn with another variance."""
    steps[3]["with"] |= {"key": "noise", "variance": "200"}
    steps[5]["with"]["releases"] = ["noise"]
    return steps


OTHER = ("subject.name", "ward"), ("subject.use", "lab.ward:Ward")
FORGED = {
    "another unit than the claim's": forge(ROWS, ("guarantee.unit", "a household")),
    "rows come and go": forge(ROWS, ("*.relation", "add-remove")),
    "rows are replaced by any": forge(MOVING, ("*.relation", "replace-one"), ("*.radius", DROP)),
    "a radius for none": forge(ROWS, ("*.relation", "bounded-row"), ("*.radius", 1)),
    "a radius beside another relation": forge(ROWS, ("*.radius", 1)),
    "a larger radius": forge(MOVING, ("*.radius", 0.75)),
    "a radius of 0": forge(MOVING, ("*.radius", 0)),
    "a column that is read twice": forge(MOVING, ("claim.subject.parameters", {"columns": ["x", "x"]})),
    "a column of texts": forge(MOVING, ("claim.data.columns.x", {"type": "text"})),
    "joint": forge(ROWS, ("*.model", "joint")),
    "local": forge(ROWS, ("*.model", "local")),
    "a smaller epsilon": forge(ROWS, ("*.epsilon", 0.5)),
    "a smaller epsilon, as proved": forge(ROWS, ("*.epsilon", 0.5), ("proved.epsilon.upper", 0.5)),
    "less is said to be proved": forge(ROWS, ("proved.epsilon.upper", 0.5)),
    "a smaller epsilon of the claim alone": forge(ROWS, ("claim.guarantee.epsilon", 0.5)),
    "a smaller delta": forge(ROWS, ("*.delta", 0.01)),
    "a smaller delta, as proved": forge(ROWS, ("*.delta", 0.01), ("proved.delta", "1/100")),
    "no delta": forge(ROWS, ("*.delta", 0)),
    "persons for rows": forge(ROWS, ("claim.data.id", "patient"), ("claim.data.max_rows", 3)),
    "rows for persons": forge(PERSONS, ("claim.data.max_rows", DROP)),
    "persons with one row more": forge(
        PERSONS, ("claim.data.max_rows", 4), ("subject.parameters.max_rows", 4)
    ),
    "persons with half a row": forge(PERSONS, ("claim.data.max_rows", "7/2")),
    "a group as large as the claim has none": forge(HONEST["persons leave"], ("*.relation", "replace-one")),
    "rows leave, and none come": given(PERSONS, group={"size": 3}, assume_persons={"most": 3}),
    "no step to persons": altered(PERSONS, "proved", without("persons", "assume_persons")),
    "rows counted as groups": altered(PERSONS, "proved", without("persons", "assume_persons", "group")),
    "another subject": forge(ROWS, *OTHER, ("claim.subject.use", "lab.ward:Ward")),
    "a subject of another name": forge(ROWS, OTHER[0]),
    "another subject of the claim alone": forge(ROWS, ("claim.subject.use", "lab.ward:Ward")),
    "a key that the view does not name": given(ROWS, assume_view={"releases": ["noise"]}),
    "one key for two draws": altered(ROWS, "proved", one_key),
    "what the subject shows is not proved": altered(ROWS, "proved", without("post_process", "assume_view")),
    "no point": altered(ROWS, "proved", without("to_approximate")),
    "no derivation": forge(ROWS, ("proved.derivation", [])),
    "no proof": forge(ROWS, ("proved.derivation", []), ("proved.epsilon", None), ("proved.delta", None)),
    "another key where a row is replaced": given(
        MOVING, "proved.replace_one", gaussian={"key": "other"}, assume_view={"releases": ["other"]}
    ),
    "less is said of a row that is replaced": forge(MOVING, ("proved.replace_one.epsilon.upper", 1)),
    "for a row that is replaced, a radius": forge(
        MOVING, ("proved.replace_one.derivation", MOVING["proved"]["derivation"])
    ),
}


@looped("name", FORGED)
def test_both_refuse_a_forged_claim(name):
    (said,) = extracted(FORGED[name])
    assert said.startswith("invalid: ")
    assert "digest" not in said
    assert python(FORGED[name]) is not None


def test_a_file_is_judged_as_a_line_is(tmp_path):
    for document, code in ((ROWS, 0), (FORGED["joint"], 1), ({"schema": "dpaccount/derivation/1"}, 2)):
        path = tmp_path / "certificate.json"
        path.write_text(json.dumps(document))
        done = subprocess.run([CHECKER, "--certificate", path], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout.splitlines()) == (code, extracted(document))


def test_what_was_changed_without_a_seal_is_told_by_its_digest():
    changed = edited(ROWS, (("guarantee", "epsilon"), 3), (("claim", "guarantee", "epsilon"), 3))
    assert extracted(changed) == ["invalid: the certificate's digest does not match"]


# ------------------------------------------------------------------ random forgeries

#: why the Python checker alone refuses a certificate: not because its claim would not follow
STRICTER = {
    "columns and persons of a claim's table": r"a column among .* is not declared|persons are of the parameters",
    "more is said to be proved than is needed": r"epsilon\.upper is above|proved\.delta is not the derivation's",
    "steps that the last one does not rest on": r"holds a step that (its last one does not rest on|it does not need)",
    "hypotheses of one proof alone": r"the second proof assumes more of the code, or less",
}


def mutated(rng, document):
    """Return a document with one or two edits of its claim or of what is said to be proved."""
    edits = []
    for _ in range(rng.choice((1, 1, 2))):
        place = rng.choice(
            ("*", "*", "*", "one", "rows", "read", "subject", "upper", "delta", "steps", "steps", "second")
        )
        star = "*" if place == "*" else rng.choice(("guarantee", "claim.guarantee"))
        number = rng.choice(NUMBERS)
        if place in ("*", "one"):
            name = rng.choice(("model", "relation", "relation", "epsilon", "delta", "radius", "unit"))
            value = {
                "model": rng.choice(("central", "joint", "local", "all")),
                "relation": rng.choice(RELATIONS),
                "unit": "x",
            }
            edits.append((f"{star}.{name}", value.get(name, number)))
        elif place == "rows":
            edits.append(("claim.data.max_rows", rng.choice([*NUMBERS, 1, 2, 3, 3, 4, 6])))
        elif place == "read":
            names = {"columns": rng.choice((["x"], ["x", "y"], ["y", "y"], ["x", "z"], ["patient"], "x", 2))}
            kind = rng.choice(("number", "number", "integer", "text", "boolean"))
            bounds = {"low": 0, "high": 1} if kind in ("number", "integer") else {}
            edits += [("claim.subject.parameters", names), ("subject.parameters", names)]
            edits.append(("claim.data.columns.x", {"type": kind, **bounds}))
        elif place == "subject":
            name = rng.choice(("subject.name", "subject.use", "claim.subject.use"))
            edits.append(
                (name, rng.choice(("clinic", "lab.ward:Ward", "a_b.c_d:E", "clinic:C", "lab.clinic:D")))
            )
        elif place in ("upper", "delta"):
            edits.append((f"proved.{'epsilon.upper' if place == 'upper' else 'delta'}", number))
        else:
            second = place == "second" and "replace_one" in document["proved"]
            at = "proved.replace_one" if second else "proved"
            steps = document["proved"]["replace_one"] if second else document["proved"]
            edits.append((f"{at}.derivation", forged(rng, steps["derivation"])))
    return forge(document, *edits)


@deep
@pytest.mark.parametrize("seed", range(6))
def test_both_decide_alike_on_random_forgeries(seed):
    """400 a seed; where the Python checker alone refuses, its reason is one of those above."""
    rng, met = random.Random(f"claims {seed}"), Counter()
    documents = [mutated(rng, rng.choice(list(HONEST.values())[:-1])) for _ in range(400)]
    for document, said in zip(documents, extracted(*documents), strict=True):
        why, follows = python(document), said.startswith("valid: ")
        if why is not None and follows:
            (reason,) = [name for name, words in STRICTER.items() if re.search(words, why)]
            met[reason] += 1
        else:
            assert follows == (why is None), (why, said)
            met[follows] += 1
    assert met[True] > 40
    assert met[False] > 200
    assert len(met) > 3


# ------------------------------------------------------------------ certificates as they are made


@deep
@pytest.mark.parametrize(
    ("claim", "follows"),
    [
        ("plan_finder/claim.toml", "(1, 1/1000000), replace-one, joint, of rows; 8 steps"),
        ("contextual_release/claim.toml", "(1, 1/1000000), replace-one, joint, of rows; 9 steps"),
        (
            "clinic_visits/study.toml",
            "(3/2, 1/10000000), replace-one, central, of persons with at most 3 rows; 35 steps",
        ),
    ],
)
def test_the_claims_of_examples_follow(dpaccount, monkeypatch, claim, follows):
    """Their hypotheses are tried on few tables here: no claim follows from tests."""
    for of, name, few in ((make, "EXAMPLES", 16), (search, "WORK", 0), (search, "LEAST", 240)):
        monkeypatch.setattr(of, name, few)
    dpaccount("certify", EXAMPLES / claim, "--quick", "--out", "made")
    document = json.loads(Path("made/certificate.json").read_text())
    assert extracted(document) == [f"valid: the claim follows: {follows}"]
    assert document["verdict"] == "CERTIFIED"
    assert dpaccount("check", "made/certificate.json", "--verified")[0] == 0
