"""A study's certificate: what it lists, what it describes, and what is proved and drawn are of one study."""

import json
import tomllib
from fractions import Fraction
from types import SimpleNamespace

import pytest
from msgspec import to_builtins

from audits.certificate.document import describe_subject
from audits.claim import read_claim
from audits.consistency.agreement import check_table
from audits.consistency.formulas import every_column
from audits.consistency.studies import check_read
from audits.subjects.catalogue import subject_of
from dpaccount.checker.documents import Rejected
from dpaccount.proof import write
from mechanisms.noisy_statistics import NoisyStatistics
from tests.audits.studies.test_studies import HEAD, every, statistics
from tests.dpaccount.checker.made import HONEST, copied
from tests.looped import looped

PURE = statistics(
    'name = "n"\nwhat = "count"',
    'name = "m"\nwhat = "mean"\ncolumn = "x"',
    'name = "q"\nwhat = "median"\ncolumn = "x"',
)


DERIVED = statistics(
    'name = "n"\nwhat = "count"\nby = ["year", "grown"]\nwhere = "doubled < 99 and day > \'2020-03-01\'"',
    'name = "m"\nwhat = "mean"\ncolumn = "doubled"\nby = ["ages"]',
    'name = "q"\nwhat = "median"\ncolumn = "doubled"',
    'name = "beds"\nwhat = "sum"\ncolumn = "beds"',
    'name = "notes"\nwhat = "count"\nby = ["note"]',
    'name = "most"\nwhat = "top"\ncolumn = "note"\nk = 3\nshare = 2',
)
FORMULAS = """
day = { type = "date", low = "2020-01-01", high = "2022-12-31" }
[data.join.wards]
file = "wards.csv"
key = "ward"
columns = { beds = { type = "integer", low = 0, high = 40, missing = 7 } }
[data.derived]
doubled = "age * 2 + x"
ages = "bins(age, 0, 18, 110)"
grown = "age >= 18"
year = "year(day)"
[audit]"""


STUDIES = ["replace-one", "add-remove", "pure", "derived", "replace-one persons", "add-remove persons"]
STUDIES += ["derived persons", "derived replace-one persons"]


@pytest.fixture(scope="module", params=STUDIES)
def honest(request, tmp_path_factory):
    """Return what the checker is given of a study: the claim's subject, the described one, data, steps."""
    pure = request.param == "pure"
    head = HEAD if "replace-one" in request.param else HEAD.replace('"replace-one"', '"add-remove"')
    if "persons" in request.param:
        head = head.replace("rows = 600", 'rows = 600\nid = "who"\nmax_rows = 2')
    if "derived" in request.param:
        text = head.replace("[audit]", FORMULAS) + DERIVED
    else:
        text = (head.replace("1e-6", "0") if pure else head) + (PURE if pure else every())
    path = tmp_path_factory.mktemp("study") / "study.toml"
    path.write_text(text)
    path.with_name("wards.csv").write_text("ward,beds\nA,9\nB,40\n")
    claim, document = read_claim(path), tomllib.loads(text)
    subject = subject_of(claim)
    held = to_builtins(describe_subject(claim, subject))["parameters"]
    asked = {"use": "noisy-statistics", "parameters": {"statistic": document["statistic"]}}
    steps = write(subject.proof(claim.guarantee.delta))
    return json.loads(json.dumps([asked, held, document["data"], steps]))


def check(document):
    asked, held, data, steps = document
    check_read(asked, held, every_column(data), steps)


def test_an_honest_study_is_accepted(honest):
    check(honest)


def test_a_study_without_a_table_reads_none():
    """That of the defaults, as in the example: its noise is checked, and there is nothing to list."""
    subject = NoisyStatistics()
    held = to_builtins(
        describe_subject(
            SimpleNamespace(table=None, use="noisy-statistics", written={"subject": {}}), subject
        )
    )["parameters"]
    steps = json.loads(json.dumps(write(subject.proof(Fraction(1, 10**6)))))
    check_read({"use": "noisy-statistics"}, held, {}, steps)
    with pytest.raises(Rejected, match="other noise is listed"):
        check_read({"use": "noisy-statistics"}, held | {"scales": ["8", "9"]}, {}, steps)


def statistic(document, what):
    """Return a statistic as listed and as described, None where it is not there."""
    listed, described = document[0]["parameters"]["statistic"], document[1]["statistics"]
    return next(((a, b) for a, b in zip(listed, described, strict=True) if a["what"] == what), None)


def change(what, which, key, value):
    """Return a forgery of one key of a statistic of a kind, as listed (0) or as described (1)."""

    def forge(document):
        held = statistic(document, what)
        if held is None:
            return False
        held[which][key] = value(held[which].get(key)) if callable(value) else value
        return True

    return forge


def alike(what, **terms):
    """Return a forgery of what a statistic is, the same as listed and as described."""

    def forge(document):
        held = statistic(document, what)
        for each in held or ():
            each.update(terms)
        return held is not None

    return forge


def told(key, value):
    """Return a forgery of one more parameter of the study, or one more member of a column."""

    def forge(document):
        (document[1] if key == "epsilon" else statistic(document, "mean")[1]["column"])[key] = value
        return True

    return forge


def steps_of(rule, key, value):
    """Return a forgery of what some steps of the proof say."""

    def forge(document):
        some = [step["with"] for step in document[3] if step["rule"] == rule and key in step["with"]]
        for each in some:
            each[key] = value
        return bool(some)

    return forge


def scales(document):
    document[1]["scales"][0] = "7"
    return True


def thresholds(document):
    if not document[1].get("thresholds"):
        return False
    document[1]["thresholds"][0] -= 1
    return True


def bounds(document):
    document[2]["columns"]["x"]["high"] = 600
    return True


def formula(name, value):
    """Return a forgery of a derived column in the claim."""

    def forge(document):
        if name not in document[2].get("derived", {}):
            return False
        document[2]["derived"][name] = value
        return True

    return forge


def table(key, value):
    """Return a forgery of a joined table in the claim."""

    def forge(document):
        if "join" not in document[2]:
            return False
        document[2]["join"]["wards"][key] = value
        return True

    return forge


def of_group(key, value):
    """Return a forgery of how the groups of a mean are described."""

    def forge(document):
        held = statistic(document, "mean")
        if held is None or not held[1]["by"]:
            return False
        held[1]["by"][0][key] = value(held[1]["by"][0][key]) if callable(value) else value
        return True

    return forge


def dropped(document):
    return bool(document[0]["parameters"]["statistic"].pop())


def described_less(document):
    return bool(document[1]["statistics"].pop())


FORGED = [
    change("count", 0, "where", "age >= 99"),
    change("count", 1, "where", "age >= 99"),
    change("count", 0, "by", ["ward"]),
    change("count", 0, "name", "other"),
    change("histogram", 0, "bins", [0, 1, 110]),
    change("histogram", 0, "column", "big"),
    change("top", 0, "k", 2),
    change("mean", 0, "what", "sum"),
    change("mean", 1, "what", "sum"),
    change("mean", 0, "column", "age"),
    change("mean", 1, "column", lambda column: {**column, "high": "6000"}),
    change("mean", 1, "column", lambda column: [column]),
    change("quantile", 0, "q", 0.5),
    change("regression", 0, "on", ["seen"]),
    change("median", 0, "column", "age2"),
    steps_of("assume_lipschitz", "reach", "1/2"),
    steps_of("assume_ball", "radius", "1/2"),
    steps_of("assume_cell", "most", 0),
    steps_of("assume_clipped", "high", "-1/2"),
    steps_of("fine_gaussian", "variance", "1/7"),
    steps_of("laplace", "scale", "1/7"),
    steps_of("fine_gaussian", "key", "other/count"),
    table("key", "low"),
    table("key", "age"),
    table("columns", {"beds": {"type": "integer", "low": 0, "high": 41}}),
    table("columns", {"x": {"type": "integer", "low": 0, "high": 40}}),
    table("columns", {"beds": {"type": "number", "low": 0, "high": 40}}),
    change("sum", 1, "column", lambda column: {**column, "found": [9, 41, 7]} if "found" in column else 0),
    change("sum", 1, "column", lambda column: {**column, "found": [9, 40]} if "found" in column else 0),
    change("sum", 1, "column", lambda column: {**column, "found": [9, 3.5, 7]} if "found" in column else 0),
    change("sum", 1, "column", lambda column: {**column, "found": None} if "found" in column else 0),
    change("sum", 1, "column", lambda column: {**column, "found": [9, 7, "inf"]} if "found" in column else 0),
    change("mean", 1, "column", lambda column: {**column, "found": [1]}),
    formula("doubled", "age * 3 + x"),
    formula("doubled", "age * 2 + x + 0"),
    formula("ages", "bins(age, 0, 19, 110)"),
    formula("grown", "age >= 19"),
    formula("year", "month(day)"),
    of_group("values", ["[0, 18)", "[18, 111]"]),
    of_group("formula", "bins(age, 0, 17, 110)"),
    of_group("of", lambda of: [{**of[0], "high": "99"}]),
    of_group("of", []),
    of_group("kind", "integer"),
    change("mean", 1, "column", lambda column: {**column, "formula": "age * 2 - x"}),
    alike("count", q=0.9),
    alike("count", k=3),
    alike("count", accuracy=1, epsilon=0.9),
    alike("count", share=2, epsilon=0.9),
    alike("count", share=0),
    alike("count", note="of all households"),
    alike("count", bins=[0, 1]),
    alike("histogram", bins=[110, 50, 18, 0]),
    alike("median", q=0.9),
    alike("quantile", q=2),
    alike("quantile", q=[]),
    alike("quantile", q=[0.9, 0.1]),
    alike("quantile", q=[0.1, 0.9], method="exponential"),
    change("quantile", 0, "q", [0.5, 0.9]),
    change("quantile", 1, "q", ["1/2", "9/10"]),
    alike("top", k="nan"),
    change("count", 1, "half_width", 1),
    told("epsilon", 0.01),
    told("unit", "household"),
    steps_of("stable_histogram", "threshold", 2),
    thresholds,
    scales,
    bounds,
    dropped,
    described_less,
]


def test_nothing_that_is_forged_is_accepted(honest):
    """Each in whichever of the studies it can be made, and each in one."""
    forgeries = 0
    for forge in FORGED:
        document = copied(honest)
        if forge(document):
            forgeries += 1
            with pytest.raises((Rejected, KeyError)):
                check(document)
    assert forgeries >= 10


def test_a_median_counts_in_five_cells(honest):
    """Its rows are in a cell of every level: one of a histogram would be too little."""
    document = copied(honest)
    done = False
    for step in document[3]:
        if step["with"].get("query") in ("the median/count", "q/count"):
            for key, less in (("reach", "1414213563/1000000000"), ("radius", "1"), ("most", 1)):
                if key in step["with"] and step["rule"] != "assume_numbers":
                    step["with"][key], done = less, True
    assert done
    with pytest.raises(Rejected, match="further than is assumed"):
        check(document)


@looped(
    ("more", "why"),
    [
        ({"edition": 2, "follows": "sha256:" + "0" * 64}, "a later edition is of a study"),
        ({"edition": 2}, "a later edition is of a study"),
        ({"follows": "sha256:" + "0" * 64}, "a later edition is of a study"),
        ({"data": {"file": "a.csv", "ledger": "sqlite:///b.db", "derived": {"d": "age"}}}, "are a study's"),
        ({"data": {"file": "a.csv", "ledger": "sqlite:///b.db", "join": {}}}, "are a study's"),
    ],
)
def test_editions_and_derived_columns_are_of_studies_alone(more, why):
    document = json.loads(json.dumps(HONEST))
    document["claim"] |= more
    with pytest.raises(Rejected, match=why):
        check_table(document)


def test_an_edition_of_a_study_is_the_second_at_least():
    document = json.loads(json.dumps(HONEST))
    document["claim"] |= {"edition": 1, "follows": "sha256:" + "0" * 64}
    document["claim"]["subject"]["use"] = "noisy-statistics"
    with pytest.raises(Rejected, match="a later edition is of a study"):
        check_table(document)


def test_a_where_names_what_is_described(honest):
    """A column that it reads, or does not, is described."""
    document = copied(honest)
    held = statistic(document, "count")
    if not held[1]["where"]:
        return
    held[1]["declared"].append({**held[1]["declared"][0]})
    with pytest.raises(Rejected, match="where of other columns"):
        check(document)
