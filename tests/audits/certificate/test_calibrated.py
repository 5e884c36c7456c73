"""Claims that say an ε or an accuracy in place of their noise, or neither."""

import json
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.certificate.document import certificate_of
from audits.claim import claim_at
from audits.reports.words import missing
from audits.subjects import catalogue
from audits.subjects.calibrated import half_width, noise_of
from audits.subjects.catalogue import subject_made, subject_of
from dpaccount.documents import Place
from dpaccount.errors import InputError, RuleError
from dpaccount.exact import as_exact
from dpaccount.noise.proved import Proved
from dpaccount.proof import point
from dpaccount.schemas.certificate import DescribedSubject
from mechanisms.count import Count
from mechanisms.subject import View
from mechanisms.table.user_level import named
from tests.depth import deep, examples, parts

CLASSES = [each for each in catalogue.entries() if noise_of(each.made_by)]
#: mechanisms with Gaussian noise, which is never pure
PURE = (
    "count",
    "count-by-group",
    "clipped-mean",
    "laplace-sum",
    "laplace-vector",
    "quantiles",
    "sparse-vector",
    "exponential",
    "k-norm",
    "permute-and-flip",
    "quantile",
)
ACCURATE = (
    "count",
    "count-by-group",
    "histogram",
    "gaussian-sum",
    "laplace-sum",
    "laplace-vector",
    "linear-queries",
    "clipped-mean",
)


def claim(use, total, delta, data=None, relation="replace-one", **parameters):
    examples = {} if data else catalogue.example_values(catalogue.find(use).made_by)
    guarantee = {
        "model": "central",
        "unit": "one row",
        "relation": relation,
        "epsilon": total,
        "delta": delta,
    }
    document = {
        "schema": "dpaccount/claim/1",
        "name": "c",
        "guarantee": guarantee,
        "subject": {"use": use, "parameters": {**examples, **parameters}},
        **({"data": data} if data else {}),
    }
    return claim_at(Place(document, "c.toml", toml=True), Path("c.toml"))


def proved(subject, delta):
    return point(subject.proof(delta))[0]


def less(subject):
    """Return the subject with a thousandth less noise; of two noises, both."""
    share = Fraction(1023, 1024)
    noises = dict.fromkeys(("scale", "sigma", "count_scale", "threshold_scale"), share) | {"rate": 1 / share}
    return type(subject)(
        **{
            name: Fraction(round(value * noises[name] * 2**24), 2**24) if name in noises else value
            for name, value in catalogue.values_of(subject).items()
        }
    )


EPSILONS = st.fractions(Fraction(1, 10), 4, max_denominator=1000)
DELTAS = st.sampled_from([Fraction(1, 10**6), Fraction(1, 1000)])


@deep
@parts(12)
@examples(6, 6)
@given(st.sampled_from([each.name for each in CLASSES]), EPSILONS, DELTAS, st.booleans())
def test_the_proved_epsilon_is_at_most_the_asked_one_and_no_less_noise_meets_it(use, epsilon, delta, own):
    asked = {"epsilon": epsilon} if own else {}
    if use == "stable-histogram":  # a low threshold needs little noise, with which a small ε is not met
        asked["threshold"] = 1000
    subject = subject_of(claim(use, epsilon * 2 if own else epsilon, delta, **asked))
    assert Fraction(99, 100) * epsilon < proved(subject, delta) <= epsilon
    assert proved(less(subject), delta) > epsilon * Fraction(999, 1000)


@deep
def test_every_class_with_noise_takes_an_epsilon():
    assert Counter(each.layer for each in CLASSES)["mechanisms"] > 20
    for each in CLASSES:
        delta = Fraction(0) if each.name in PURE else Fraction(1, 10**6)
        assert proved(subject_of(claim(each.name, 2, delta, epsilon=1)), delta) <= 1


OTHERS = [each.name for each in catalogue.entries() if not noise_of(each.made_by)]


@deep
@pytest.mark.parametrize("epsilon", [Fraction(37, 100), Fraction(2)])
def test_no_claim_of_the_catalogue_has_a_default_noise(epsilon):
    """What says no noise is proved at the guarantee and hardly below; the last test is of the others."""
    for use in set(OTHERS) - {"noisy-statistics"}:  # a study's follows from its total
        least = proved(subject_of(claim(use, epsilon, Fraction(1, 10**6))), Fraction(1, 10**6))
        assert Fraction(99, 100) * epsilon < least <= epsilon, use


def test_a_claim_keeps_the_epsilon_of_its_own_that_it_says():
    kept = subject_of(claim("randomised-response", 2, 0, epsilon=Fraction(1, 2)))
    assert (kept.epsilon, subject_of(claim("randomised-response", 2, 0)).epsilon) == (Fraction(1, 2), 2)


@deep
@examples(8, 24)
@given(
    st.sampled_from([use for use in ACCURATE if use != "clipped-mean"]),
    st.fractions(8, 4000, max_denominator=10),
)
def test_intervals_are_within_the_accuracy_and_less_noise_is_not_needed(use, accuracy):
    delta = Fraction(1, 10**6)
    subject = subject_of(claim(use, 1000, delta, accuracy=accuracy))
    width = half_width(subject, delta)
    assert width <= accuracy
    assert width >= accuracy * Fraction(99, 100) - 1  # counts have steps


TABLE = {
    "rows": 400, "id": "patient", "max_rows": 3,
    "columns": {"city": {"type": "category", "values": ["a", "b"]}, "age": {"type": "number", "low": 0, "high": 110}, "seen": {"type": "boolean"}},
}  # fmt: skip


@examples(8, 24)
@given(st.fractions(Fraction(1, 100), Fraction(49, 100), max_denominator=1000))
def test_a_mean_whose_intervals_may_end_at_a_bound_takes_an_accuracy(accuracy):
    """Clipping at a bound only narrows an interval; the widest is that of a mean in the middle."""
    delta = Fraction(1, 10**6)
    subject = subject_of(claim("clipped-mean", 1000, delta, accuracy=accuracy))
    assert Fraction(99, 100) * accuracy < half_width(subject, delta) <= accuracy
    for mean in (0, 0.3, 0.5, 0.9, 1):
        released = View(public={"mean": np.array([mean]), "count": np.array([subject.rows])})
        interval = subject.accuracy(released)["mean"]
        assert (interval["high"][0] - interval["low"][0]) / 2 <= accuracy


@deep
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_noise_on_a_table_follows_for_persons_of_several_rows(relation):
    delta = Fraction(1, 10**6)
    for use, said in (("histogram", {"column": "city"}), ("clipped-mean", {"column": "age"})):
        for asked in ({}, {"epsilon": Fraction(1, 2)}):
            subject = subject_of(claim(use, 1, delta, TABLE, relation, **said, **asked))
            assert Fraction(99, 100) < proved(subject, delta) / asked.get("epsilon", 1) <= 1
    mean = named(subject)
    assert relation == "replace-one" or mean.count_scale == mean.scale / 55


def test_what_cannot_be_met_is_refused_with_what_can():
    delta = Fraction(1, 10**6)
    for use, said, right in (
        ("count", {"epsilon": 2}, "above the guarantee's epsilon"),
        (
            "count",
            {"epsilon": 1, "scale": 3},
            "two of scale, epsilon and accuracy are given; give one of them",
        ),
        ("count", {"epsilon": 1, "accuracy": 3}, "give one of them"),
        ("count", {"epsilon": 0}, "out of range"),
        ("count", {"accuracy": Fraction(1, 100)}, "needs more than .* or ask for 3 or more"),
        ("clipped-mean", {"accuracy": 8}, "the bounds of the values give it with any noise; ask for less"),
        ("quantiles", {"accuracy": 3}, "depends on the data; give epsilon"),
        ("sparse-vector", {"accuracy": 3}, "depends on the data; give epsilon"),
        ("exponential", {"accuracy": 3}, "depends on the data; give epsilon"),
    ):
        with pytest.raises(InputError, match=right):
            subject_of(claim(use, 1, delta, **said))
    with pytest.raises(InputError, match="depends on the data"):  # its number of rows is private
        subject_of(claim("clipped-mean", 1, 0, TABLE, "add-remove", column="age", accuracy=1))
    reached = subject_of(claim("count", 1, delta, accuracy=3))
    assert proved(reached, delta) <= 1
    with pytest.raises(InputError, match="no sigma is proved to meet it"):
        subject_of(claim("histogram", 1, 0, epsilon=1))
    with pytest.raises(RuleError):  # the claim stays unproved
        subject_of(claim("histogram", 1, 0)).proof(Fraction(0))
    assert subject_of(claim("count", 1, delta, scale=7)).scale == 7


@dataclass(frozen=True)
class OwnCount(Count):
    """A user's own class, whose noise is its own affair."""


def test_the_noise_of_a_class_of_ones_own_does_not_follow_from_the_claim():
    assert subject_made(claim("x:y", 1, 0, TABLE, column="seen"), OwnCount).mechanism.scale == 2
    with pytest.raises(InputError, match="unknown key 'epsilon'"):
        subject_made(claim("x:y", 1, 0, TABLE, column="seen", epsilon=1), OwnCount)


@deep
def test_a_certificate_has_what_was_asked_and_the_noise(tmp_path, dpaccount):
    (tmp_path / "c.toml").write_text(
        'schema = "dpaccount/claim/1"\nname = "c"\n[guarantee]\nmodel = "central"\nunit = "one row"\n'
        'relation = "replace-one"\nepsilon = 1\n[subject]\nuse = "count"\n'
        "[subject.parameters]\nrows = 20\nepsilon = 0.25\n[audit]\ntrials = 100\n"
    )
    code, said = dpaccount("certify", tmp_path / "c.toml", "--out", tmp_path, "--json")[:2]
    certificate = json.loads(said)
    assert (code, certificate["verdict"]) == (0, "CERTIFIED")
    assert certificate["proved"]["epsilon"]["upper"] == 0.25
    assert (
        certificate["subject"]["parameters"] | {"epsilon": 0.25, "scale": "4"}
        == certificate["subject"]["parameters"]
    )
    assert dpaccount("check", tmp_path / "certificate.json")[0] == 0


SUBJECT = DescribedSubject("count", "mechanisms", "ours", "sound", {}, "of this test")
PROMISE = {"model": "central", "unit": "a row", "relation": "replace-one", "delta": 0}


def certified(proved, promised, path):
    """Return the certificate of a count with Laplace noise of the proved ε, as plain values."""
    document = {"schema": "dpaccount/claim/1", "name": "exact", "subject": {"use": "count"}}
    claim = claim_at(Place({**document, "guarantee": {**PROMISE, "epsilon": promised}}, "", ""), path)
    theorem = Count(scale=1 / proved, rows=20).proof(Fraction(0))
    return certificate_of(claim, SUBJECT, Proved(theorem), None)


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_a_claim_of_exactly_the_proved_decimal_is_met_and_less_is_not(tmp_path, digits):
    for tenth in range(1, 100, 7):
        exact = Fraction(tenth, 10**digits)
        whole = certified(exact, str(float(exact)), tmp_path / "a.toml")
        assert (whole.verdict, as_exact(whole.proved.epsilon.upper)) == ("CERTIFIED", exact)
        less = certified(exact, str(float(exact - Fraction(1, 10**12))), tmp_path / "a.toml")
        assert (less.verdict, as_exact(less.proved.epsilon.upper)) == ("UNPROVEN", exact)


def test_what_no_number_of_a_document_states_is_rounded_up_and_not_met(tmp_path):
    for exact in (Fraction(1, 3), Fraction(2, 7)):
        document = certified(exact, str(exact), tmp_path / "a.toml")
        upper = document.proved.epsilon.upper
        assert exact < as_exact(upper) <= exact + Fraction(1, 10**9)
        assert document.verdict == "UNPROVEN"
        facts = {"guarantee": {**PROMISE, "epsilon": str(exact)}}
        proved = {
            "epsilon": {"upper": upper},
            "delta": 0,
            "derivation": [{"gives": [0, 0, 0, "replace-one", "central"]}],
        }
        [sentence] = missing({**facts, "proved": proved})
        assert f"above the claim's {exact}" in sentence
