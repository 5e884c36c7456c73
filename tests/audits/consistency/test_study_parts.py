"""A study's numbers: each alone, changed in the direction that flatters, makes the certificate invalid."""

import copy
import json
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import to_builtins

from audits.certificate.document import describe_subject
from audits.consistency.formulas import every_column
from audits.consistency.releases import check_shares, check_study_release, unchecked
from audits.consistency.studies import check_draws, check_read
from dpaccount.checker.certificate.releases import check_parts
from dpaccount.checker.derivation import conclusions
from dpaccount.checker.documents import Rejected
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import write
from mechanisms.noisy_statistics import planned
from mechanisms.statistics.statistic import Statistic
from mechanisms.table.bind_columns import Promise
from mechanisms.table.cells import numbers_of
from mechanisms.table.columns import Column
from mechanisms.table.user_level import named
from tests.depth import deep, examples
from tests.looped import looped

WARD = Column("ward", "category", values=("A", "B"))
X = Column("x", "number", Fraction(-10), Fraction(30))
AGE = Column("age", "integer", Fraction(0), Fraction(110), missing=Fraction(40))
SEEN = Column("seen", "boolean")
NOTE = Column("note", "text", length=6)
DECLARED = {
    "ward": {"type": "category", "values": ["A", "B"]},
    "x": {"type": "number", "low": -10, "high": 30},
    "age": {"type": "integer", "low": 0, "high": 110, "missing": 40},
    "seen": {"type": "boolean"},
    "note": {"type": "text", "length": 6},
}
PURE = (
    Statistic("n", "count", by=(WARD,), accuracy=Fraction(60)),
    Statistic("some", "count", where="age > 30", declared=(AGE,), epsilon=Fraction("0.2")),
    Statistic("cells", "histogram", SEEN, share=Fraction(2)),
    Statistic("total", "sum", X, accuracy=Fraction(4000)),
    Statistic("mean x", "mean", X, share=Fraction(3)),
    Statistic("mean of some", "mean", AGE, where="seen", declared=(SEEN,)),
)
MORE = (
    Statistic("totals", "sum", X, by=(WARD,), epsilon=Fraction("0.3")),
    Statistic("means", "mean", AGE, by=(SEEN, WARD), accuracy=Fraction(30)),
    Statistic("spread", "variance", X),
    Statistic("spreads", "variance", X, by=(WARD,), epsilon=Fraction("0.3")),
    Statistic("half", "median", AGE, epsilon=Fraction("0.1")),
    Statistic("line", "regression", X, on=(AGE,)),
    Statistic("two", "quantile", X, by=(WARD,), q=(Fraction(1, 4), Fraction(3, 4))),
)
UNLISTED = (
    Statistic("notes", "count", by=(NOTE,), epsilon=Fraction("0.5")),
    Statistic("notes of wards", "count", by=(NOTE, WARD)),
    Statistic("best", "top", NOTE, k=2, share=Fraction(2)),
)
CHOSEN = (
    Statistic("half", "median", AGE, method="exponential", epsilon=Fraction("0.2")),
    Statistic("most", "quantile", X, q=(Fraction(9, 10),), method="exponential", share=Fraction(2)),
    Statistic("other", "quantile", X, q=(Fraction(1, 4),), method="exponential"),
    Statistic(
        "seen", "median", AGE, where="seen", declared=(SEEN,), method="exponential", accuracy=Fraction(90)
    ),
    Statistic("tenths", "quantile", X, q=(Fraction(1, 10),), by=(WARD,), method="exponential"),
)
SPREADS = (
    Statistic("deviation", "stddev", X, by=(SEEN,)),
    Statistic("quotient", "ratio", X, by=(WARD,), per=AGE),
)
STUDIES = {
    "pure": (PURE, "laplace", Fraction(0)),
    "sums": (MORE, "laplace", Fraction(0)),
    "spreads": (SPREADS + MORE[:2], "gaussian", Fraction(1, 10**6)),
    "pure spreads": (SPREADS + MORE[:2], "laplace", Fraction(0)),
    "laplace": (PURE, "laplace", Fraction(1, 10**6)),
    "gaussian": (PURE + MORE, "gaussian", Fraction(1, 10**6)),
    "chosen": (CHOSEN, "gaussian", Fraction(1, 10**6)),
    "chosen too": (CHOSEN + PURE[:3], "laplace", Fraction(1, 10**6)),
    "beside noise": (CHOSEN + MORE[:2], "gaussian", Fraction(1, 10**6)),
    "unlisted": (UNLISTED + PURE[:2] + MORE[:2], None, Fraction(1, 10**6)),
}
CASES = [
    (name, relation, rows)
    for name in STUDIES
    for relation in ("replace-one", "add-remove")
    for rows in (1, 2)
]


def listed(what):
    """Return a statistic as a claim lists it."""
    texts = {
        "where": what.where,
        "method": what.method,
        "k": what.k,
        "column": what.column and what.column.name,
        "per": what.per and what.per.name,
    }
    own = "accuracy" if what.accuracy else "epsilon" if what.epsilon else "share"  # a claim states one
    exact = {"q": what.q[0] if what.q else None, own: getattr(what, own)}
    lists = {key: [each.name for each in getattr(what, key)] for key in ("by", "on")}
    lists |= {"q": list(map(float, what.q))} if len(what.q) > 1 else {}
    terms = {key: float(each) for key, each in exact.items() if each is not None} | texts | lists
    return {"name": what.name, "what": what.what, **{key: each for key, each in terms.items() if each}}


def rehearsed(name, relation, max_rows, seed=0, units=2000, total=3, cells=None):
    """Return the parts of a certificate that are about a study's numbers, of a rehearsed release.

    With other `cells` wanted accuracies and ε are left out, which few rows do not allow.
    """
    statistics, law, delta = STUDIES[name]
    if cells is not None:
        statistics = tuple(replace(each, accuracy=None, epsilon=None) for each in statistics)
    whole, _ = planned(statistics, units, max_rows, Promise(relation, Fraction(total), delta), law)
    study = named(whole)
    claim = SimpleNamespace(table=None, use="noisy-statistics", written={"subject": {}})
    held = to_builtins(describe_subject(claim, whole))["parameters"]
    proof = whole.proof(delta)
    rng = np.random.default_rng(seed)
    rows = units * max_rows
    codes = {
        "age": rng.integers(20, 90, rows),
        "note": rng.choice(numbers_of(["a", "b", "c"], 6)[:, 0], rows),
        "seen": rng.integers(0, 2, rows),
        "ward": rng.integers(0, 2, rows),
        "x": rng.normal(12, 5, rows),
        **({} if cells is None else {"x": rng.choice(cells, rows), "age": np.abs(rng.choice(cells, rows))}),
    }
    data = np.column_stack([np.ones(rows), *(codes[column.name] for column in study.columns)])
    proved = Proved(study.proof(delta))
    view = study.play(data[:rows], rehearse(proved, Rehearsal(seed)), 0)
    return json.loads(
        json.dumps(
            {
                "claim": {
                    "subject": {
                        "use": "noisy-statistics",
                        "parameters": {"statistic": [listed(what) for what in statistics]},
                    },
                    "data": {"columns": DECLARED},
                },
                "subject": {"use": "noisy-statistics", "parameters": held},
                "proved": {"derivation": write(proof)},
                "release": {"report": {**study.report(view), "accuracy": study.accuracy(view)}},
            }
        )
    )


def check(document, facts=None):
    """Do what the checker does about a study's numbers; `facts` are what the steps prove, if known."""
    asked, held = document["claim"]["subject"], document["subject"]["parameters"]
    steps = document["proved"]["derivation"]
    check_read(asked, held, every_column(document["claim"]["data"]), steps)
    check_parts(document, facts or conclusions(steps))
    check_shares(document)
    check_study_release(document)


@deep
@pytest.mark.parametrize(("name", "relation", "max_rows"), CASES)
def test_what_the_product_plans_and_releases_is_valid(name, relation, max_rows):
    check(rehearsed(name, relation, max_rows))


@deep
@pytest.mark.parametrize(("name", "relation", "max_rows"), CASES)
@examples(6, 6)
@given(
    seed=st.integers(0, 10**6),
    units=st.integers(3, 300),
    total=st.sampled_from([Fraction(1, 100), 1, 8, 100]),
    cells=st.lists(st.sampled_from([-10, -9, 0, 9.5, 29, 30]), min_size=1, max_size=3),
)
def test_what_is_released_of_few_rows_is_valid(name, relation, max_rows, seed, units, total, cells):
    """Also with noise of less than a row, with much more than there are rows, and of means at their bounds."""
    try:
        document = rehearsed(name, relation, max_rows, seed, units, total, cells)
    except InputError:
        assume(False)
    check(document)


# ------------------------------------------------------------------ every number alone


def leaves(value, path=()):
    """Yield the path of every number, written as such or as text, within a document."""
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(each, (*path, key))
    elif type(value) in (int, float):
        yield path
    elif isinstance(value, str):
        try:
            Fraction(value)
        except (ValueError, ZeroDivisionError):
            return
        yield path


def at(document, path):
    for key in path:
        document = document[key]
    return document


def put(document, path, value):
    """Return the document with another value at a path; the rest is shared."""
    if not path:
        return value
    other = copy.copy(document)
    other[path[0]] = put(document[path[0]], path[1:], value)
    return other


def times(value, factor):
    """Return a number times a factor, in the form that it has."""
    if isinstance(value, str):
        return str(Fraction(value) * Fraction(factor))
    return type(value)(value * factor) if type(value) is float else round(value * factor)


def flattering(document, path):
    """Yield other values of a number, all of which make the statistic look better than it is."""
    value, (top, *rest) = at(document, path), path
    if top == "release":
        report = document["release"]["report"]
        if rest[1] != "accuracy":
            around = report["accuracy"][rest[1]]
            low, high = (around[end][rest[2]] for end in ("low", "high"))
            yield from (value + share * (end - value) for end in (low, high) for share in (0.5, 1))
        elif rest[-1] == "level":
            yield 0.99
        elif rest[-1] == "ranks":
            yield from (value * share for share in (0.5, 0.99))
        else:
            yield value + 0.5 * (report[rest[2]][rest[4]] - value)
    elif rest[-1] == "share":
        yield from (times(value, factor) for factor in (0.5, 2))
    elif rest[-1] in ("epsilon", "accuracy"):
        yield from (times(value, factor) for factor in (0.5, 0.99))
    else:  # noise, bounds, sizes: more or less, by a lot or a little
        yield from (times(value, factor) for factor in (0.5, 2))
        yield str(Fraction(value) + 1) if isinstance(value, str) else value + 1


def numbers_of_statistics(document):
    """Yield the paths of all numbers that say something of a study's statistics."""
    for path in leaves(document):
        if (
            path[0] == "release"
            or path[:2] == ("subject", "parameters")
            or path[:4] == ("claim", "subject", "parameters", "statistic")
        ):
            yield path


#: Numbers that this part of the document does not follow from, by statistic or by member, and why.
def is_free(path, document):
    """Return whether a number is one that the checker says it does not derive, or that others check."""
    if path[0] == "release":
        name = path[3] if path[2] == "accuracy" else path[2]
        of = next(e for e in document["subject"]["parameters"]["statistics"] if e["name"] == name)
        if of.get("method") == "exponential":  # it may be any candidate
            return path[2] != "accuracy"
        what = of["what"]
        not_derived = what in ("median", "quantile", "ratio", "regression", "variance", "stddev")
        assert not not_derived or repr(name) in unchecked(document)
        return not_derived and path[-1] != "level"
    held = path[2] if path[0] == "subject" else ""
    return held in ("rows", "persons", "max_rows", "bits")  # compared with the declared table


@deep
@pytest.mark.parametrize(("name", "relation", "max_rows"), CASES)
def test_each_number_changed_alone_is_not_valid(name, relation, max_rows):
    document = rehearsed(name, relation, max_rows)
    check(document)
    facts = conclusions(document["proved"]["derivation"])
    passed, tried = [], set()
    for path in numbers_of_statistics(document):
        if is_free(path, document):
            continue
        for value in flattering(document, path):
            other = put(document, path, value)
            if other == document:
                continue
            tried.add(path)
            try:
                check(other, facts)
            except Rejected:
                continue
            passed.append((path, at(document, path), value))
    assert not passed, "\n".join(map(str, passed))
    assert len(tried) > 30


@looped(
    ("path", "value"),
    [
        (("release", "report", "accuracy", "half", "low"), [40.0]),
        (("release", "report", "half"), [111.0]),
        (("release", "report", "half"), [40.0]),  # between two candidates
        (("release", "report", "half"), [float("nan")]),
        (("release", "report", "half"), [40.0, 41.0]),
        (("release", "report", "accuracy", "half", "ranks"), None),
        (("release", "report", "accuracy", "half", "ranks"), 1.0),
        (("subject", "parameters", "statistics", 0, "method"), "levels"),
        (("subject", "parameters", "statistics", 0, "method"), "other"),
        (("claim", "subject", "parameters", "statistic", 0, "method"), "levels"),
        (("claim", "subject", "parameters", "statistic", 0, "epsilon"), 0.1),
        (("subject", "parameters", "scales", 0), "0.5"),
    ],
)
@looped("relation", ["replace-one", "add-remove"])
def test_a_choice_that_is_told_otherwise_is_refused(path, value, relation):
    document = rehearsed("chosen", relation, 1)
    check(document)
    with pytest.raises((Rejected, TypeError)):
        check(put(document, path, value))


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_choice_with_half_the_movement_is_refused(relation):
    """All numbers of a proof with half the range agree with one another, but not with the statistic."""
    document = rehearsed("chosen", relation, 1)
    steps = document["proved"]["derivation"]
    for k, step in enumerate(steps):
        if step["rule"] == "assume_range":
            given = step["with"]
            other = put(document, ("proved", "derivation", k, "with", "width"), times(given["width"], 0.5))
            held = other["subject"]["parameters"]
            with pytest.raises(Rejected, match="further than is assumed"):
                check_draws(held, other["proved"]["derivation"])


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_deviation_is_never_negative_and_quantiles_of_a_group_rise(relation):
    """Squares hide a sign; and ranks that rise have quantiles that do, whose intervals nothing else checks."""
    document = rehearsed("spreads", relation, 1)
    check(document)
    report = document["release"]["report"]
    for places in (["estimate"], ["low"], ["high"], ["estimate", "low", "high"]):
        forged = json.loads(json.dumps(document))
        lists = {"estimate": forged["release"]["report"]["deviation"]}
        lists |= {end: forged["release"]["report"]["accuracy"]["deviation"][end] for end in ("low", "high")}
        for place in places:
            lists[place][0] = -lists[place][0]
        with pytest.raises(Rejected):
            check(forged)
    assert min(report["deviation"]) > 0
    document = rehearsed("sums", relation, 1)
    check(document)
    two = document["release"]["report"]["two"]
    around = document["release"]["report"]["accuracy"]["two"]
    for values in (two, around["low"], around["high"]):
        values[0], values[1] = values[1], values[0]
    assert two[0] > two[1]
    with pytest.raises(Rejected):
        check(document)
