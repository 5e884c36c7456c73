"""What a study draws, reads and reports, against forgeries of each and against the product's own."""

import functools
import json
import math
from contextlib import nullcontext
from dataclasses import replace
from datetime import date
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

from audits.certificate.document import describe_subject
from audits.consistency.formulas import every_column, where_reads
from audits.consistency.releases import check_reported, check_shown, check_widths, unchecked
from audits.consistency.studies import check_draws, check_read, least_moves
from audits.subjects import sources
from dpaccount.checker.documents import Rejected
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from dpaccount.noise.receipt import rehearse
from dpaccount.noise.samplers import Rehearsal
from dpaccount.proof import write
from mechanisms import noisy_statistics
from mechanisms.noisy_statistics import NoisyStatistics
from mechanisms.statistics.draws import draws as product_draws
from mechanisms.statistics.draws import root
from mechanisms.statistics.expressions import condition
from mechanisms.statistics.statistic import Statistic
from mechanisms.table.columns import Column
from tests.depth import examples
from tests.looped import looped

digest_of_code = functools.cache(sources.digest_of_code)


@pytest.fixture(autouse=True)
def one_code(monkeypatch):
    """Read the code once: it does not change while this runs."""
    monkeypatch.setattr(sources, "digest_of_code", digest_of_code)


WARD, ONE = Column("ward", "category", values=("A", "B")), Column("ward", "category", values=("A",))
X, Y, FLAG = (
    Column("x", "number", Fraction(-10), Fraction(10)),
    Column("y", "integer", Fraction(1), Fraction(4)),
    Column("b", "boolean"),
)
NOTE = Column("note", "text", length=6)
KINDS = (
    Statistic("n", "count"),
    Statistic("some", "count", by=(FLAG, Y), where="x > 3", declared=(X,)),
    Statistic("cells", "histogram", X, bins=(Fraction(0), Fraction(1), Fraction(4)), by=(WARD,)),
    Statistic("best", "top", WARD, k=1),
    *(Statistic(f"{w} {c.name}", w, c) for w in ("sum", "mean", "median") for c in (X, Y, FLAG)),
    *(Statistic(f"{w} by", w, X, by=(WARD,)) for w in ("sum", "mean", "variance", "median")),
    *(Statistic(f"{w} of one", w, Y, by=(ONE,)) for w in ("sum", "mean", "variance")),
    *(Statistic(f"{w} of some", w, X, where="b", declared=(FLAG,)) for w in ("sum", "mean", "variance")),
    Statistic("spread", "variance", X),
    *(Statistic(f"deviation{len(by)}", "stddev", X, by=by) for by in ((), (WARD,))),
    *(Statistic(f"ratio{len(by)}", "ratio", X, by=by, per=Y) for by in ((), (ONE,), (WARD, FLAG))),
    Statistic("high", "quantile", X, q=(Fraction(9, 10),)),
    Statistic("line", "regression", X, on=(Y, FLAG)),
    Statistic("texts", "count", by=(NOTE,)),
    Statistic("texts of wards", "count", by=(WARD, NOTE, FLAG)),
    Statistic("top text", "top", NOTE, k=2),
)
MADE = [(relation, law) for relation in ("replace-one", "add-remove") for law in ("gaussian", "laplace")]


def drawn(statistics, relation="replace-one", law="gaussian", cls=NoisyStatistics, **more):
    """Return what the checker is given of a study that is made without a claim: parameters and steps."""
    exact = more.get("exact_rows", relation == "replace-one")
    every = [draw for what in statistics for draw in product_draws(what, known=exact and what.is_whole)]
    thresholds = (900,) * sum(bool(each.unlisted) for each in statistics)
    scales = tuple(Fraction(40) for _ in every)
    study = cls(tuple(statistics), scales, law, 100, relation, exact, thresholds)
    claim = SimpleNamespace(table=None, use="noisy-statistics", written={"subject": {}})
    held = to_builtins(describe_subject(claim, study))["parameters"]
    delta = Fraction(0) if law == "laplace" else Fraction(1, 10**6)
    return json.loads(json.dumps([held, write(study.proof(delta))]))


@looped(("relation", "law"), MADE)
def test_draws_of_every_kind_are_those_of_the_product(relation, law):
    """Of each statistic alone: its keys, their sizes and how far a row moves each, by either program."""
    checked = 0
    for what in KINDS:
        try:
            held, steps = drawn([what], relation, law)
        except InputError:
            assert law == "laplace"
            continue
        check_draws(held, steps)
        exact = held["exact_rows"]
        right = product_draws(what, known=exact and what.is_whole)
        least = least_moves(held["statistics"][0], exact=exact)
        assert [(move.key, move.size, move.cells) for move in least] == [
            (draw.key, draw.size, draw.cells) for draw in right
        ]
        for move, draw in zip(least, right, strict=True):
            margin = Fraction(1, 10**4)
            assert move.come <= draw.norm**2 <= move.come + margin * 4
            if move.size:
                assert move.replaced <= draw.reach**2 <= move.replaced + margin * 4
                assert move.interval == draw.interval
        checked += 1
    assert checked >= 12
    if law == "gaussian":
        check_draws(*drawn(KINDS, relation, law))


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_a_law_that_a_claim_names_is_the_noises(law):
    held, steps = drawn(KINDS[:1], law=law)
    for named in (law, None, {"gaussian": "laplace", "laplace": "gaussian"}[law]):
        parameters = {"statistic": [{"name": "n", "what": "count"}]} | ({"law": named} if named else {})
        asked = {"use": "noisy-statistics", "parameters": parameters}
        if named in (law, None):
            check_read(asked, held, {}, steps)
        else:
            with pytest.raises(Rejected, match="the noise is of another law"):
                check_read(asked, held, {}, steps)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_the_noise_is_of_a_law_that_is_known(law):
    """Of any other word the draws would be read as one law's, and the widths as another's."""
    held, steps = drawn(KINDS[:1], law=law)
    check_draws(held, steps)
    for other in (law.capitalize(), "", None, [law]):
        with pytest.raises(Rejected):
            check_draws({**held, "law": other}, steps)


def shrunk(**changes):
    """Return a study whose draws are forged: of each kind of statistic what its function makes of them."""
    honest_draws = product_draws

    def forged(what, *, known):
        honest = honest_draws(what, known=known)
        return changes[what.what](honest) if what.what in changes else honest

    return forged


def renamed(draw, part, **more):
    return replace(draw, key=draw.key.rpartition("/")[0] + part, **more)


ROOT2 = root(Fraction(2))
FORGED_DRAWS = [
    (Statistic("s", "sum", X), lambda d: (replace(d[0], reach=Fraction(1)),)),
    (Statistic("s", "sum", X), lambda d: (replace(d[0], reach=Fraction(199, 100)),)),
    (Statistic("s", "sum", Y, by=(WARD,)), lambda d: (replace(d[0], reach=Fraction(1)),)),
    (Statistic("s", "sum", X), lambda d: (renamed(d[0], "/x", reach=ROOT2),)),
    (Statistic("s", "sum", X, by=(WARD,)), lambda d: (replace(d[0], size=1),)),
    (Statistic("s", "mean", X, by=(WARD,)), lambda d: d[:1]),
    (Statistic("s", "mean", X, by=(WARD,)), lambda d: (renamed(d[0], "/x", reach=ROOT2),)),
    (Statistic("s", "mean", X), lambda d: (replace(d[0], reach=Fraction(1)),)),
    (Statistic("s", "variance", X, where="b", declared=(FLAG,)), lambda d: d[:1]),
    (Statistic("s", "variance", X), lambda d: (replace(d[0], reach=Fraction(3, 2)),)),
    (Statistic("s", "stddev", X), lambda d: (replace(d[0], reach=Fraction(3, 2)),)),
    (Statistic("s", "ratio", X, per=Y), lambda d: d[:1]),
    (Statistic("s", "ratio", X, per=Y), lambda d: (d[0], replace(d[1], reach=Fraction(1, 2)))),
    (Statistic("s", "ratio", X, per=Y), lambda d: (replace(d[0], reach=Fraction(1)), d[1])),
    (Statistic("s", "ratio", X, per=Y, by=(WARD,)), lambda d: (d[0], renamed(d[1], "/count"))),
    (Statistic("s", "median", X), lambda d: (renamed(d[0], "/cells", reach=ROOT2, cells=1),)),
    (Statistic("s", "quantile", X, q=(Fraction(1, 2),)), lambda d: (replace(d[0], reach=ROOT2, cells=1),)),
    (Statistic("s", "regression", X, on=(Y,)), lambda d: (replace(d[0], reach=Fraction(99, 100)),)),
    (Statistic("s", "count"), lambda d: (*d, renamed(d[0], "/more"))),
    (Statistic("s", "count"), lambda d: (replace(d[0], reach=Fraction(99, 100)),)),
    (Statistic("s", "count", by=(WARD,)), lambda d: (replace(d[0], reach=Fraction(1)),)),
]  # fmt: skip


@pytest.mark.parametrize("forged", FORGED_DRAWS, ids=range(len(FORGED_DRAWS)))
def test_a_study_that_draws_otherwise_is_refused(monkeypatch, forged):
    """Each is proved of its own draws, so that only the statistic tells."""
    what, forge = forged
    check_draws(*drawn([what]))
    monkeypatch.setattr(noisy_statistics, "draws", shrunk(**{what.what: forge}))
    study_draws = noisy_statistics.draws(what, known=what.is_whole)
    monkeypatch.setitem(globals(), "product_draws", lambda what, *, known: study_draws)
    held, steps = drawn([what])
    with pytest.raises(Rejected):
        check_draws(held, steps)


def normed(*l1, **more):
    """Return a forgery of the first draw: of these norms in l1, by a row and by a replaced one."""
    return lambda d: (replace(d[0], l1=tuple(map(Fraction, l1)) or None, **more), *d[1:])


FORGED_LAPLACE = [
    (Statistic("s", "sum", X, by=(WARD,)), normed("1/2", 1)),
    (Statistic("s", "sum", X, by=(WARD,)), normed("199/200", "199/100")),
    (Statistic("s", "sum", X, by=(WARD,)), normed(cells=1)),
    (Statistic("s", "sum", X, by=(WARD,)), normed(interval=(Fraction(-1), Fraction(1)))),
    (Statistic("s", "mean", X, by=(WARD,)), normed("1/2", 1)),
    (Statistic("s", "mean", X, by=(WARD,)), normed(cells=1)),
    (Statistic("s", "mean", X), normed(1, 2, interval=None)),
    (Statistic("s", "variance", X), normed("179/100", "275/100")),
    (Statistic("s", "variance", X, by=(WARD,)), normed("179/100", "359/100")),
    (Statistic("s", "variance", X), normed(cells=2)),
    (Statistic("s", "stddev", X), normed("179/100", "275/100")),
    (Statistic("s", "ratio", X, by=(WARD,), per=Y), normed("199/200", "199/100")),
    (Statistic("s", "ratio", X, per=Y), normed(1, 2, interval=None)),
    (Statistic("s", "variance", X), normed(interval=(Fraction(-1), Fraction(1)))),
    (Statistic("s", "regression", X, on=(Y,)), normed("199/100", "199/100")),
    (Statistic("s", "regression", X, on=(Y,)), normed(cells=1)),
    (Statistic("s", "count"), normed(1, 2)),
    (Statistic("s", "median", X), normed(5, 10)),
]


@looped("relation", ["replace-one", "add-remove"])
@looped("forged", FORGED_LAPLACE)
def test_laplace_noise_of_less_movement_or_by_another_rule_is_refused(relation, forged):
    """A norm in l1 of less than a row's, cells or a clipped number for it, and it for these."""
    what, forge = forged
    check_draws(*drawn([what], relation, "laplace"))
    with pytest.MonkeyPatch.context() as forging:
        forging.setattr(noisy_statistics, "draws", shrunk(**{what.what: forge}))
        forging.setitem(globals(), "product_draws", noisy_statistics.draws)
        held, steps = drawn([what], relation, "laplace")
    with pytest.raises(Rejected, match=r"further than is assumed|by another rule"):
        check_draws(held, steps)


def test_texts_are_not_counted_as_if_they_were_listed():
    """With Gaussian noise and no threshold every text in use would be shown."""
    for what in (Statistic("s", "count", by=(NOTE,)), Statistic("s", "top", NOTE, k=2)):
        held, steps = drawn([replace(what, by=(WARD,)) if what.by else replace(what, column=WARD)])
        text_of = drawn([what])[0]["statistics"]
        with pytest.raises(Rejected, match="need other draws"):
            check_draws({**held, "statistics": text_of}, steps)


def other_scales(held, steps):
    held["scales"].reverse()


def not_exact(held, steps):
    held["exact_rows"] = not held["exact_rows"]


def other_relation(held, steps):
    held["relation"] = "add-remove"


def other_law(held, steps):
    held["law"] = "laplace"


def sampled(held, steps):
    steps.append({"rule": "parallel", "with": {}, "from": [0]})


def twice(held, steps):
    steps.append(next(step for step in steps if step["rule"] == "fine_gaussian"))


@looped("forge", [other_scales, not_exact, other_relation, other_law, sampled, twice])
def test_parameters_are_those_of_the_draws(forge):
    held, steps = drawn([Statistic("n", "count"), Statistic("m", "mean", X, by=(WARD,))])
    held["scales"][0] = "41"
    for step in steps:
        if step["with"].get("key") == "n/count":
            step["with"]["variance"] = str(41**2)
    check_draws(held, steps)
    forge(held, steps)
    with pytest.raises(Rejected):
        check_draws(held, steps)


# ------------------------------------------------------------------ conditions

DECLARED = {
    "age": {"type": "integer", "low": 0, "high": 110},
    "ward": {"type": "category", "values": ["A", "B"], "other": True},
    "day": {"type": "date", "low": 1, "high": 9},
    "seen": {"type": "boolean"},
    "note": {"type": "text"},
}
CONDITIONS = [
    "age >= 18 and not (ward == 'A' or 3 < age <= 2.5)", "seen", "not seen", "seen == true", "True != seen",
    "'2024-02-29' <= day", "ward != 'other'", "-3 < age", "  age < 1e299 ", "",
    "age >= age", "age + 1 > 2", "age > --3", "seen == (day - day)",
]  # fmt: skip
NO_CONDITIONS = [
    "age > median(age)", "age == open('x') and seen", "median(age) < age < 3", "age", "1 < 2",
    "ward < 'B'", "ward == 'Z'", "note == 'a'", "seen == 1", "seen > false", "age == true", "age == 'A'",
    "day > 3", "day > '2024-02-30'", "weight > 3", "age in [1]", "age is 3", "-seen", "-true == seen",
    "age > 3 if seen else seen", "(lambda: seen)()", "age > 1e999", "age < 1e300", "age >", "~seen", "seen.any()", "[seen]",
    "age > 3j", "age > None", "age > -'3'", "age > --'3'", "seen and 'A'", "age > (n := 3)", "(" * 300 + "seen" + ")" * 300,
    " or ".join(["seen"] * 300), "seen" + " " * 1000, 3, None,
]  # fmt: skip


def columns_of_the_product():
    days = date(2000, 1, 1).toordinal(), date(2030, 1, 1).toordinal()
    return (
        Column("age", "integer", Fraction(0), Fraction(110)),
        Column("ward", "category", values=("A", "B"), other=True),
        Column("day", "date", Fraction(days[0]), Fraction(days[1])),
        Column("seen", "boolean"),
        Column("note", "text"),
    )


@looped("formula", CONDITIONS)
def test_conditions_are_those_of_the_product(formula):
    read = where_reads(formula, DECLARED)
    assert formula.strip() == "" or tuple(read) == condition(formula, columns_of_the_product())[0]


@looped("formula", NO_CONDITIONS)
def test_what_is_no_condition_is_refused_by_both(formula):
    with pytest.raises(Rejected):
        where_reads(formula, DECLARED)
    if isinstance(formula, str):
        with pytest.raises(InputError):
            condition(formula, columns_of_the_product())


@looped("formula", ["age > median(age)", "seen and age", "not median(age)", "age == open('x') and seen"])
def test_a_derived_condition_is_of_one_row(formula):
    with pytest.raises(Rejected):
        every_column({"columns": DECLARED, "derived": {"zz": formula}})


# ------------------------------------------------------------------ what is reported

SHOWN = (
    *(each for each in KINDS if each.what in ("count", "histogram", "top", "sum")),
    Statistic("none", "count", where="x > 9", declared=(X,)),
    Statistic("debts", "sum", Column("d", "number", Fraction(-9), Fraction(-1)), by=(WARD,)),
)


def reported(law, relation, seed, kinds):
    """Return a study's parameters and what a rehearsal of it on 80 rows reports, as a certificate has them."""
    every = [draw for what in kinds for draw in product_draws(what, known=False)]
    scales, shown = tuple(Fraction(k % 3 + 2) for k in range(len(every))), [w for w in kinds if w.unlisted]
    study = NoisyStatistics(kinds, scales, law, 100, relation, False, (30,) * len(shown))
    claim = SimpleNamespace(table=None, use="noisy-statistics", written={"subject": {}})
    held = to_builtins(describe_subject(claim, study))["parameters"]
    proved = Proved(study.proof(Fraction(0) if law == "laplace" else Fraction(1, 100)))
    rows = np.random.default_rng(seed).uniform(-1, 12, (80, len(study.domain().low))).round()
    rows[:, 0] = 1
    view = study.play(rows, rehearse(proved, Rehearsal(seed)), 0)
    return json.loads(json.dumps([held, {**study.report(view), "accuracy": study.accuracy(view)}]))


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@examples(8, 40)
@given(seed=st.integers(0, 10**6))
def test_intervals_of_the_product_are_wide_enough_and_narrower_ones_are_not(law, relation, seed):
    """Of every statistic by itself: a tenth narrower, or of another level, or beside its number."""
    kinds = tuple(w for w in SHOWN if law == "gaussian" or not w.unlisted)
    kinds = tuple(w for w in kinds if law == "gaussian" or w.what != "sum" or w.groups == 1)
    held, report = reported(law, relation, seed, kinds)
    check_widths(report, held)
    check_shown(report, held)
    seen = 0
    for name, around in report["accuracy"].items():
        values = report[name]
        ends = list(zip(values, around["low"], around["high"], strict=True))
        telling = [k for k, (found, _, high) in enumerate(ends) if high - found > 15 or "sum" in name]
        if not telling or (values[telling[0]] <= 0 and "sum" not in name):
            continue
        seen += 1
        near = {
            "low": [f - 0.9 * (f - a) for f, a, _ in ends],
            "high": [f + 0.9 * (b - f) for f, _, b in ends],
        }
        apart = {"low": [b + 1 for b in around["high"]], "high": [b + 99 for b in around["high"]]}
        above = {"low": [f for f, _, _ in ends], "high": [f + 2 * (b - f) for f, _, b in ends]}
        below = {"low": [f - 2 * (b - f) for f, _, b in ends], "high": values}
        for forged in (
            near,
            apart,
            *((above, below) if "sum" in name or values[telling[0]] > 15 else ()),
            {"level": 0.999},
            {"low": around["low"][1:]},
            {"high": [None] * len(ends)},
        ):
            other = {**report, "accuracy": {**report["accuracy"], name: {**around, **forged}}}
            with pytest.raises(Rejected):
                check_widths(other, held)
    assert seen >= 3


@pytest.mark.parametrize(("law", "least"), [("laplace", 120), ("gaussian", 78)])
def test_an_interval_of_a_count_reaches_as_far_to_either_side(law, least):
    """At scale 40 noise is beyond 120, or rounds beyond 78, in 5 of 100 runs at most."""
    held, _ = drawn([Statistic("n", "count")], law=law)

    def passes(low, high):
        around = {
            "low": [low],
            "high": [high],
            "level": 0.95,
            "of": "the count of clipped numbers without noise",
        }
        try:
            check_widths({"n": [1000], "accuracy": {"n": around}}, held)
        except Rejected:
            return False
        return True

    assert passes(1000 - least, 1000 + least)
    assert not passes(1001 - least, 999 + least)
    assert not passes(1000, 1000 + 2 * least)
    assert not passes(1000 - 2 * least, 1000)


@looped(
    ("what", "values", "low", "high", "fine"),
    [
        ("median", [20], [1], [49], True),
        ("median", [20, 30], [1, 1], [49, 49], False),
        ("median", [], [], [], False),
        ("median", [20], [1], [51], False),
        ("median", [-2], [-3], [49], False),
        ("median", [20], [21], [49], False),
        ("regression", [2, 3], [1, None], [9, None], True),
        ("regression", [2], [1], [9], False),
        ("count", [900], [700], [1100], True),
        ("count", [-5], [-5], [-5], False),
        ("count", [900, 900], [700, 700], [1100, 1100], False),
    ],
)
def test_only_numbers_that_a_release_can_show_are_valid(what, values, low, high, fine):
    """As many as there are groups or terms, within the column, of no fewer than 0 rows."""
    y, x = (Column(name, "number", Fraction(0), Fraction(50)) for name in "yx")
    on = (x,) if what == "regression" else ()
    held, _ = drawn([Statistic("n", what, column=None if what == "count" else y, on=on)])
    around = {"low": low, "high": high, "level": 0.95, "of": f"the {what} of clipped numbers without noise"}
    with nullcontext() if fine else pytest.raises(Rejected):
        check_widths({"n": values, "accuracy": {"n": around}}, held)


def test_ends_that_do_not_follow_are_named():
    """Those of a count of 0 and of a mean at a bound of its column; and sizes of groups that are private."""
    some = [Statistic("n", "count"), Statistic("m", "mean", X, where="x > 9", declared=(X,))]
    held, _ = drawn(some)
    document = {"subject": {"use": "noisy-statistics", "parameters": held}}

    def named(count, mean):
        return unchecked({**document, "release": {"report": {"n": [count], "m": [mean]}}})

    at_bound = "the end of an interval at a bound, in"
    assert named(3, 1) == "the private group sizes behind the intervals of 'm'"
    assert f"{at_bound} 'n'" in named(0, 1)
    assert f"{at_bound} 'm'" in named(3, float(X.high))
    assert f"{at_bound} 'n', 'm'" in named(0, float(X.low))


def test_a_release_reports_what_is_listed():
    described = drawn([Statistic("n", "count"), Statistic("t", "count", by=(NOTE,))])[0]["statistics"]
    ends = {"low": [0], "high": [1], "level": 0.95, "of": "words"}
    fine = {"n": [1], "t": [2], "t/texts": ["a"], "accuracy": {"n": ends, "t": ends}}
    check_reported(fine, described)
    for other in (
        {**fine, "A": [999.0]}, {**fine, "n/texts": ["a"]}, {k: v for k, v in fine.items() if k != "n"},
        {**fine, "labels": {}}, {**fine, "accuracy": {"A": ends}}, {**fine, "accuracy": {"n": {**ends, "A": 1}, "t": ends}},
        {**fine, "accuracy": [1]}, {**fine, "accuracy": {"n": [1]}},
        {**fine, "accuracy": {"n": ends}}, {k: v for k, v in fine.items() if k != "accuracy"},
    ):  # fmt: skip
        with pytest.raises(Rejected):
            check_reported(other, described)


def test_unlisted_values_are_reported_with_counts_that_reach_the_threshold():
    held, _ = drawn([Statistic("n", "count"), Statistic("t", "count", by=(NOTE, WARD))])
    pairs = [["a", "A"], ["b", "B"]]
    fine = {"n": [1], "t": [900, 901.0], "t/texts": pairs}
    for report in (fine, {**fine, "t": [], "t/texts": []}):
        check_shown(report, held)
    for other in (
        {"t": [900, 899]}, {"t": [1, 901]}, {"t": [900]}, {"t/texts": []}, {"t/texts": [*pairs, ["c", "A"]]},
        {"t": "90"}, {"t": [900, -901]},
    ):  # fmt: skip
        with pytest.raises(Rejected):
            check_shown({**fine, **other}, held)


def test_a_row_moves_the_sums_of_a_variance_as_far_as_is_derived():
    """On a grid of numbers in [−1, 1]: in l2 and l1, added and replaced, in one group and from one to another."""
    weight = 8 / 5
    rows = [(z, weight * (z * z - 0.5)) for z in (k / 400 for k in range(-400, 401))]
    apart = [(abs(a - c), abs(b - d)) for a, b in rows for c, d in rows[::5]]
    far, sums = (max(f(*pair) for pair in apart) for f in (lambda a, b: a * a + b * b, lambda a, b: a + b))
    for by in ([], [{"name": "g", "kind": "boolean"}]):
        held = {"name": "v", "what": "variance", "by": by, "column": {"name": "x", "kind": "boolean"}}
        move = least_moves(held, exact=not by)[0]
        assert math.isclose(max(a * a + b * b for a, b in rows), move.come)
        assert math.isclose(max(abs(a) + abs(b) for a, b in rows), move.l1[0])
        both = 2 if by else 0  # the rows may be of two groups
        assert math.isclose(max(far, both * move.come), move.replaced)
        assert math.isclose(max(sums, both * move.l1[0]), move.l1[1], rel_tol=1e-5)
