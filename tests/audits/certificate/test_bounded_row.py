"""Certificates of rows that move by a radius: what they say, and no edit of it that holds."""

import copy
import json
import math
import re
from fractions import Fraction

import pytest

from audits import consistency
from audits.certificate import make
from audits.certificate.document import seal, unsealed
from audits.certificate.make import AuditBudget, certify
from audits.certificate.summary import summary
from audits.claim import read_claim
from audits.hypothesis_tests import search
from audits.reports.page import markdown
from audits.subjects.catalogue import subject_of
from dpaccount import checker
from dpaccount.errors import InputError
from dpaccount.exact import printed
from dpaccount.ledger.ledger import Ledger, init
from tests.depth import deep
from tests.mechanisms.catalogued import mechanisms

CLAIM = """
schema = "dpaccount/claim/1"
name = "rows"
[guarantee]
model = "central"
unit = "a row"
relation = "{relation}"
{radius}
epsilon = {epsilon}
delta = 1e-6
[subject]
use = "{use}"
[subject.parameters]
rows = 3
{more}
[audit]
trials = 60
"""


def claimed(folder, relation="bounded-row", radius=0.5, epsilon=2.0, use="gaussian-rows", more=""):
    path = folder / "claim.toml"
    said = f"radius = {radius}" if radius else ""
    path.write_text(CLAIM.format(relation=relation, radius=said, epsilon=epsilon, use=use, more=more))
    return read_claim(path)


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    claim = claimed(tmp_path_factory.mktemp("claims"))
    with pytest.MonkeyPatch.context() as few:
        few.setattr(make, "EXAMPLES", 16)
        few.setattr(search, "WORK", 0)
        few.setattr(search, "LEAST", 240)
        certificate, _ = certify(claim, subject_of(claim), AuditBudget())
    return seal(unsealed(certificate))


def refused(document):
    with pytest.raises(checker.Rejected) as why:
        consistency.judged(json.dumps(seal(document)).encode())
    return str(why.value)


def edited(document, place, value):
    other = copy.deepcopy(document)
    *path, last = place
    inner = other
    for key in path:
        inner = inner[key]
    inner[last] = value
    return other


@deep
@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (
            "radius",
            0.25,
            "the proof is for bounded-row, radius 1/2, the claim for bounded-row, radius 1/4 (relation"
            " in the claim)",
        ),
        ("model", "joint", "the proof is for central, the claim for joint (model in the claim)"),
        ("epsilon", 1.0, "ε ≤ "),
        ("delta", 1e-9, "δ = 1e-06 is proved, above the claim's 1e-09"),
    ],
)
def test_what_the_proof_lacks_for_the_claim_is_named(document, key, value, said):
    assert "missing" not in summary(document, "here")
    short = edited(document, ("guarantee", key), value)
    assert f"  missing   {said}" in summary(short, "here")
    assert said[1:] in markdown(short)


@deep
def test_it_certifies_the_radius_and_says_what_a_replaced_row_costs(document):
    assert document["verdict"] == "CERTIFIED"
    assert consistency.judged(json.dumps(document).encode())
    final, beside = (part["derivation"][-1]["gives"] for part in (document["proved"], said(document)))
    assert final[3] == "bounded-row, radius 1/2"
    assert beside[3] == "replace-one"
    assert said(document)["epsilon"]["upper"] > 2 * document["proved"]["epsilon"]["upper"]
    assert {entry["relation"] for entry in document["sensitivity"]} == {"bounded-row, radius 1/2"}
    words = "\n".join(document["hazards"])
    assert "moves by at most 0.5 in the l2 norm, in the data's own coordinates" in words
    assert "the radius is 0.25 of it" in words
    assert f"epsilon <= {said(document)['epsilon']['upper']}" in words
    shown = summary(document, "here")
    assert "bounded-row by at most 0.5" in shown
    assert "if a row is replaced by any other" in shown
    for each in (document["proved"], said(document)):
        (digits,) = {
            text
            for text in re.findall(r"ε ≤ (\S+)", shown)
            if math.isclose(float(text), each["epsilon"]["upper"])
        }
        assert 0 <= Fraction(digits) - Fraction(repr(each["epsilon"]["upper"])) < Fraction(1, 10**8)
        assert len(digits) <= 11


def said(document):
    return document["proved"]["replace_one"]


def without(document, name):
    return {k: v for k, v in document["proved"].items() if k != name}


@deep
def test_what_is_said_of_a_replaced_row_is_checked(document):
    beside = ("proved", "replace_one")
    cheaper = {"lower": None, "upper": said(document)["epsilon"]["upper"] / 2}
    bare = edited(document, ("proved",), without(document, "replace_one"))
    assert "goes with the proof" in refused(with_hazards(bare))
    assert "below what" in refused(with_hazards(edited(document, (*beside, "epsilon"), cheaper)))
    main = {name: document["proved"][name] for name in ("epsilon", "delta", "derivation")}
    assert "replaced rows" in refused(with_hazards(edited(document, beside, main)))
    steps = copy.deepcopy(said(document)["derivation"])
    steps[0]["with"]["reach"] = "1/9"
    assert refused(edited(document, (*beside, "derivation"), steps))
    assert "not listed first" in refused(edited(document, beside, None))
    nothing = edited(document, beside, None)
    assert consistency.judged(json.dumps(seal(with_hazards(nothing))).encode())


def with_hazards(document):
    few = [said for said in document["hazards"] if said.startswith("The attack's runs could have shown")]
    return {**document, "hazards": [*consistency.hazards_of(document), *few]}


@deep
def test_another_noise_or_more_assumptions_beside_are_refused(document):
    from fractions import Fraction

    from dpaccount.noise.proved import Proved
    from dpaccount.proof import point
    from mechanisms.gaussian_rows import GaussianRows

    for other in (GaussianRows(rows=3, sigma=Fraction(99)), GaussianRows(rows=3, radius=Fraction(1, 9))):
        proved = Proved(other.replaced(Fraction(1, 10**6)))
        upper = printed(point(proved.theorem)[0], up=True)
        beside = {"epsilon": {"lower": None, "upper": upper}, "delta": 1e-6, "derivation": proved.steps}
        why = refused(with_hazards(edited(document, ("proved", "replace_one"), beside)))
        assert "draws its noise" in why or "assumes more" in why


@deep
def test_the_radius_is_part_of_the_promise(document):
    for radius in (1, 0.25):
        other = edited(document, ("guarantee", "radius"), radius)
        other = edited(other, ("claim", "guarantee", "radius"), radius)
        assert "unit is not the radius" in refused(with_hazards(other))
        other = edited(other, ("subject", "parameters", "unit"), radius)
        assert "the derivation is for bounded-row, radius 1/2" in refused(with_hazards(other))
    for relation in ("replace-one", "add-remove"):
        promise = {k: v for k, v in document["guarantee"].items() if k != "radius"} | {"relation": relation}
        other = edited(edited(document, ("guarantee",), promise), ("claim", "guarantee"), promise)
        assert refused(with_hazards(other))
        other = edited(other, ("subject", "parameters", "unit"), "0")
        if relation == "add-remove":
            other = edited(other, ("audit", "witness", "right"), None)
        other = edited(other, ("proved",), without(document, "replace_one"))
        assert "the derivation is for bounded-row" in refused(with_hazards(other))


def test_a_claim_on_rows_that_move_takes_no_subject_of_replaced_ones(tmp_path):
    """Its attack would use pairs that are no neighbours: what they beat is another claim."""
    claim = claimed(tmp_path, use="gaussian-sum")
    with pytest.raises(InputError, match="about replace-one, the claim about bounded-row, radius 1/2"):
        certify(claim, subject_of(claim), AuditBudget())


def test_a_claim_says_how_far_rows_move_and_a_parameter_may_not_say_else(tmp_path):
    assert subject_of(claimed(tmp_path)).relation == "bounded-row, radius 1/2"
    assert subject_of(claimed(tmp_path, "replace-one", None)).relation == "replace-one"
    with pytest.raises(InputError, match="unit follows from the guarantee: 1/2"):
        subject_of(claimed(tmp_path, more="unit = 2"))


def test_a_ledger_of_one_radius_takes_no_other(tmp_path):
    url = f"sqlite:///{tmp_path}/rows.db"
    init(url, epsilon=10, delta=0, unit="row", relation="bounded-row, radius 1/2", measure="pure")
    subject = subject_of(claimed(tmp_path, use="k-norm"))
    with Ledger.open(url) as ledger:
        assert ledger.charge(subject.proof(0), "once", key="a")
        for other in (0.3, None):
            claim = claimed(tmp_path, "bounded-row" if other else "replace-one", other, use="k-norm")
            with pytest.raises(InputError, match="ledger under bounded-row, radius 1/2"):
                ledger.charge(subject_of(claim).proof(0), "again", key="b")
    for bad in ("bounded-row", "bounded-row, radius 0", "bounded-row, radius 2/4", "bounded-row, radius x"):
        with pytest.raises(InputError, match="unknown relation"):
            init(f"sqlite:///{tmp_path}/{len(bad)}.db", epsilon=1, delta=0, unit="row", relation=bad)


TABLE = """
[data]
rows = 3
[data.columns]
a = {{type = "{kind}"{bounds}}}
b = {{type = "number", low = -9, high = 9}}
"""


@pytest.mark.parametrize(
    ("kind", "bounds", "named"),
    [
        ("integer", ", low = -9, high = 9", 'columns = ["a", "b"]'),
        ("boolean", "", 'columns = ["a", "b"]'),
        ("integer", ", low = 0, high = 2", 'columns = ["b"]\nby = "a"'),
        ("category", ', values = ["x", "y"]', 'columns = ["b"]\nby = "a"'),
    ],
)
def test_a_column_whose_codes_jump_moves_by_no_distance(tmp_path, kind, bounds, named):
    """A cell of 3.001 in a column of integers counts as its least: 0.001 further in the file is far in the row."""
    path = tmp_path / "claim.toml"
    for what in (kind, "number"):
        wide = ", low = -9, high = 9" if what == "number" else bounds
        names = 'columns = ["a", "b"]' if what == "number" else named
        said = CLAIM.format(relation="bounded-row", radius="radius = 1", epsilon=9, use="k-norm", more=names)
        path.write_text(said.replace("rows = 3\n", "") + TABLE.format(kind=what, bounds=wide))
        if what == "number":
            assert subject_of(read_claim(path)).relation == "bounded-row, radius 1"
        else:
            with pytest.raises(InputError, match=f"a is of type {kind}, which does not move by a distance"):
                subject_of(read_claim(path))


def test_rows_that_come_and_go_are_not_taken_for_rows_that_move(tmp_path):
    path = tmp_path / "claim.toml"
    said = CLAIM.format(
        relation="add-remove", radius="", epsilon=9, use="k-norm", more='columns = ["a", "b"]'
    )
    column = TABLE.format(kind="number", bounds=", low = -9, high = 9")
    path.write_text(said.replace("rows = 3\n", "") + column)
    with pytest.raises(InputError, match="k-norm is about replace-one"):
        subject_of(read_claim(path))


MAPPED = {"fixed-map"} & {entry.name for entry in mechanisms()}


@deep
@pytest.mark.parametrize("use", ["gaussian-rows", *MAPPED])
def test_rows_of_a_large_ball_are_certified_though_nothing_is_proved_of_a_replaced_one(
    tmp_path, monkeypatch, use
):
    """Of far rows the nearly Gaussian curve proves nothing, and a key has one law: the certificate says so."""
    claim = claimed(tmp_path, radius=1, epsilon=40, use=use, more="radius = 25\nsigma = 1.5")
    monkeypatch.setattr(make, "EXAMPLES", 16)
    certificate, _ = certify(claim, subject_of(claim), AuditBudget())
    document = seal(unsealed(certificate))
    assert document["verdict"] == "CERTIFIED"
    assert said(document) is None
    assert "Nothing is proved if a row is replaced" in "\n".join(document["hazards"])
    assert consistency.judged(json.dumps(document).encode())


@pytest.mark.parametrize(
    ("said", "because"),
    [
        ('columns = ["a", "a"]', "a is named twice"),
        ('columns = ["b", "a", "b"]', "b is named twice"),
        ('columns = ["a", "b"]\nID', "a says whose a row is"),
    ],
)
def test_a_row_that_moves_by_a_unit_in_the_file_moves_by_no_more_where_it_is_read(tmp_path, said, because):
    """A column that is read twice moves √2 as far; one that is an identity moves a row to another place."""
    path, wide = tmp_path / "claim.toml", ", low = -9, high = 9"
    names, _, whose = said.partition("\n")
    text = CLAIM.format(relation="bounded-row", radius="radius = 1", epsilon=9, use="k-norm", more=names)
    declared = TABLE.format(kind="number", bounds=wide).replace(
        "[data]", '[data]\nid = "a"' if whose else "[data]"
    )
    path.write_text(text.replace("rows = 3\n", "") + declared)
    with pytest.raises(InputError, match=because):
        subject_of(read_claim(path))
