"""The audit of a class measures what is shown: a score of the releases stands only where these say it all."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.api.arguments import Arguments
from audits.api.on_subject import audit_subject
from audits.certificate import make
from audits.certificate.make import AuditBudget, silent
from audits.hypothesis_tests.search import gather
from audits.hypothesis_tests.smoke_test import runs_at_all, void
from audits.sandbox.outcomes import of_value
from audits.subjects.marks import NOT_RECORDED
from dpaccount.errors import InputError
from dpaccount.noise.proved import Proved
from mechanisms.subject import View
from tests.depth import deep
from tests.loading import import_subject

DELTA = Fraction(0)


Shows = import_subject("showing:Shows", [str(Path(__file__).parents[2] / "planted")])


def audited(what):
    question = Arguments(epsilon=Fraction(1, 2), trials=Fraction(200)).request("laplace-sum")
    return audit_subject(question, Shows(what=what), AuditBudget(), silent)


def now_and_then(exact, draw):
    if int(exact[0]) % 3:
        raise ValueError("unlucky")
    return {"sum": draw()}


LEAKS = {
    "exact": (lambda exact, draw: {"sum": exact}, "REFUTED"),
    "beside the noise": (lambda exact, draw: {"sum": draw(), "exact": exact}, "REFUTED"),
    "before the noise": (lambda exact, draw: {"exact": exact, "sum": draw()}, "REFUTED"),
    "as text": (lambda exact, draw: {"sum": draw(), "exact": np.array(str(exact[0]))}, "NOT ATTACKED"),
    "by its type": (lambda exact, draw: {"sum": draw(), "t": np.zeros(1, f"i{8 >> (exact[0] % 2)}")}, None),
    "after a draw": (lambda exact, draw: [draw(), {"sum": exact}][1], "REFUTED"),
    "by failing": (now_and_then, "NOT ATTACKED"),
    "nothing drawn": (lambda exact, draw: {"sum": np.array([7])}, "NOT ATTACKED"),
}


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr("audits.api.on_subject.EXAMPLES", 25)
    assert make.EXAMPLES > 25


@deep
@pytest.mark.parametrize("name", LEAKS)
def test_an_audit_of_a_class_that_shows_more_than_its_releases_is_never_green(name):
    what, verdict = LEAKS[name]
    answer = audited(what)
    assert answer.verdict in ({verdict} if verdict else {"REFUTED", "NOT ATTACKED"})
    assert answer.witness.findings
    assert answer.epsilon_power == answer.epsilon_lower or answer.verdict == "REFUTED"


@deep
def test_runs_that_fail_now_and_then_are_counted():
    said = " ".join(audited(now_and_then).witness.findings)
    assert "ValueError: unlucky (" in said
    assert "runs fail)" in said


@deep
@pytest.mark.parametrize(
    "what",
    [lambda exact, draw: {"sum": draw()}, lambda exact, draw: [draw(), {"done": np.array([1])}][1]],
    ids=["noisy", "constant"],
)
def test_an_audit_of_a_sound_class_is_green_and_says_what_it_could_have_shown(what):
    answer = audited(what)
    assert (answer.verdict, answer.witness.findings) == (
        "NOT REFUTED",
        [NOT_RECORDED],
    )  # it has no file
    assert answer.epsilon_power > 0.5


# ------------------------------------------------------------------ what shows no value


VOID = {
    "nan": {"sum": np.array([np.nan])},
    "none": {"sum": np.array([None])},
    "both": {"sum": np.array([None, float("nan")], dtype=object), "n": np.array(np.nan)},
    "no time": {"when": np.array(["NaT"], dtype="datetime64[s]")},
    "no array": {},
}


@pytest.mark.parametrize("name", VOID)
@deep
def test_a_class_that_shows_no_value_on_any_run_is_a_wrong_request(name):
    subject = Shows(what=lambda exact, draw: [draw(), VOID[name]][1])
    theorem = subject.proof(DELTA)
    for asked in (
        lambda: gather(subject, Proved(theorem), examples=10, seed=1, files=[]),
        lambda: audited(subject.what),
        lambda: runs_at_all(subject, Proved(theorem)),
    ):
        with pytest.raises(InputError, match="shows no value, but for NaN or None"):
            asked()


@deep
def test_a_class_that_shows_a_value_on_some_runs_is_judged():
    subject = Shows(what=lambda exact, draw: {"sum": draw() if exact[0] % 2 else np.array([np.nan])})
    found, _ = gather(subject, Proved(subject.proof(DELTA)), examples=20, seed=1, files=[])
    assert any(each.status == "refuted" for each in found)


VALUES = st.sampled_from([1.0, 0.0, float("nan"), None, float("inf")])


@deep
@given(st.lists(VALUES, max_size=4))
def test_a_view_is_void_where_an_outcome_is(values):
    """A class and a function are judged alike."""
    array = np.array(values, dtype=object)
    assert void(View(public={"x": array})) == of_value(array).void
    plain = [np.nan if value is None else value for value in values]
    assert void(View(public={"x": np.array(plain)})) == of_value(np.array(plain)).void
