"""Reports of certificates that were made elsewhere: complete, inert, rounded to the attacker's side."""

import copy
import json
import math
import random
import re
from fractions import Fraction
from html.parser import HTMLParser
from math import exp
from pathlib import Path
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Meta

from audits import cli
from audits.certificate.document import seal
from audits.consistency import hazards
from audits.reports import page, pictures, standards
from audits.reports.compare import differences
from audits.reports.sections import explained, sections
from audits.reports.tables import LABELS, definition, released_tables
from audits.reports.verified import programs
from audits.reports.words import (
    MAX_CHARACTERS,
    attacked,
    declared,
    hidden_change,
    observed,
    odds,
    outcome,
    promise,
    rule_summary,
    step_text,
    what_it_means,
)
from dpaccount.accounting.accountant import Accountant
from dpaccount.plan.events import Approximate, Gdp, Pure, Zcdp
from dpaccount.schemas.certificate import Certificate
from dpaccount.schemas.fields import Absent
from mechanisms.statistics.statistic import Statistic
from mechanisms.table.columns import Column
from tests.depth import deep, examples
from tests.looped import looped

RECEIVED = Path(__file__).with_name("received.json")
TITLES = (
    "In plain words", "What is promised", "Pictures", "Proof", "Attack", "Budget", "Accountability",
    "Points of NIST SP 800-226", "Limits and hazards", "This document", "Sign-off", "What is not covered",
    "How to verify this",
)  # fmt: skip
VOID = {"meta", "rect", "circle", "path", "br"}


@pytest.fixture
def certificate():
    return json.loads(RECEIVED.read_text())


class Page(HTMLParser):
    """Reads a page strictly: every tag is closed in turn; keeps texts, tags and attributes."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


def test_a_received_certificate_alone_is_reported_whole(certificate):
    shown = Page(page.html(certificate))
    for title in TITLES:
        assert title in shown.text
    for words in (certificate["digest"], certificate["guarantee"]["unit"], *certificate["hazards"]):
        assert words in shown.text
    for step in certificate["proved"]["derivation"]:
        assert rule_summary(step["rule"]).replace("`", "") in shown.text
    for key, about in standards.GOVERNANCE.items():
        assert f"{key.replace('_', ' ')} ({about})" in shown.text
    assert shown.tags.count("svg") == 2


NOTED = {
    **{"epsilon": "3", "delta": "1e-06", "relation": "replace-one", "unit": "person", "measure": "gdp"},
    **{"before": {"lower": 0.40001, "upper": 0.40002}, "after": {"lower": 1.9, "upper": 1.99999991}},
    "rest": {"lower": 0.98765432, "upper": 0.99},
}
RELEASE = {
    **{"report": {"sum": [3.5]}, "ledger_entry": 7, "ledger_head": "sha256:" + "1" * 64, "noise": "secure"},
    **{"data": "sha256:" + "d" * 64, "code": "sha256:" + "c" * 64, "evaluation": None, "budget": NOTED},
}


def released(certificate):
    certificate["claim"]["data"] = {"file": "rows.csv", "ledger": "sqlite:///team.db"}
    certificate["release"] = dict(RELEASE)
    return certificate


@deep
def test_budget_before_after_and_rest_come_from_the_certificate_alone(certificate):
    """Rounded to the safe side: what is spent up, what remains down."""
    text = Page(page.html(released(certificate))).text
    for words in (
        "ε = 3 at δ = 1e-06 for each unit, person (replace-one, measure: gdp)",
        *("Spent before this release", "ε ≤ 0.40002", "Spent after it", "ε ≤ 2"),
        *("Left after it", "another charge of ε 0.9876 fits", "sha256:" + "1" * 64, "sqlite:///team.db"),
    ):
        assert words in text, words
    assert "give the ledger" not in text
    del certificate["release"]["budget"]  # of an earlier version
    assert "unknown; give the ledger with --ledger URL" in Page(page.html(certificate)).text
    endless = {"lower": None, "upper": "inf"}
    certificate["release"]["budget"] = {**NOTED, "after": endless, "rest": endless}
    assert "without a bound" in Page(page.html(certificate)).text


@pytest.mark.parametrize(
    ("left", "fits"),
    [
        ({"delta": 1e-6}, "ε 0.9876 and δ 1e-06"),
        ({"rho": 0.123456, "delta": 4.99999e-7}, "ρ 0.1234 and δ 4.999e-07"),
        ({"mu_squared": 0.19, "rho": 0.08, "pure": 0.4}, "μ² 0.19, or ρ 0.08, or pure ε 0.4"),
    ],
)
def test_every_amount_that_is_left_is_said(certificate, left, fits):
    """Also where the ledger's measure has no ε of its own; rounded down, and decimals as they are written."""
    budget = released(certificate)["release"]["budget"] = {**NOTED, "left": left}
    if "rho" in left:
        budget["rest"], fits = (
            {"lower": None, "upper": 2.51137},
            f"{fits} fits (on its own, ε ≤ 2.5114 at δ = 1e-06)",
        )
    assert f"another charge of {fits}" in Page(page.html(certificate)).text
    del budget["left"]  # of an earlier version
    budget["rest"] = {"lower": None, "upper": "inf"}
    assert "not known" in Page(page.html(certificate)).text


ASKED = {  # by a reviewer, of a report
    "what the promise is, and what not": ("The promise is", "does not promise", "right at most"),
    "assumptions as sentences": (
        "A search ran the code on pairs of synthetic neighbouring datasets",
        "it proves none",
        "no counterexample found",
    ),
    "the budget": ("Spent before this release", "Left after it", "Head after the charge"),
    "who answers": (
        "owner (who is accountable for the release)",
        "valid until (when this expires)",
        "not stated",
    ),
    "what the attack could have seen": ("An attack shows less than is proved", "half the noise"),
    "digests of data and code": (
        "Digest of the data",
        "sha256:" + "d" * 64,
        "Digest of the mechanism's code",
    ),
    "signature and sign-off": ("Signature", "Reviewer", "Approver"),
}


@pytest.mark.parametrize("asked", ASKED)
def test_what_a_reviewer_asked_for_is_on_the_page(certificate, asked):
    text = Page(page.html(released(certificate))).text
    for words in ASKED[asked]:
        assert words in text, words
    for step in certificate["proved"]["derivation"]:  # sentences, and JSON only where it is opened
        assert f"{step['rule']}: " in text


def test_page_one_says_whose_rows_count_which_code_it_is_and_who_is_trusted(certificate):
    certificate = released(certificate)
    certificate["claim"]["data"] |= {"id": "person", "max_rows": 3, "rows": 40}
    certificate["hazards"].append("Which values of person occur is public.")
    first = page.html(certificate).partition("What is promised</h2>")[0]
    for words in (
        *("(at most 3 rows of a unit are used; 40 units declared)", certificate["subject"]["code"]),
        *("You must trust", "Anyone can rewrite an unsigned document", certificate["created"]),
        "Which values of person occur is public.",
    ):
        assert words in first
    assert hazards.HAZARDS[0] not in first


def test_page_one_says_who_paid_which_change_is_hidden_and_how_to_verify(certificate):
    certificate = released(certificate)
    last = certificate["proved"]["derivation"][-1]["gives"]
    for units, public, words in (
        (None, False, ("every unit: entry 7 of sqlite:///team.db", "keyed: only the ledger's holder")),
        ([3, 9], True, ("units 3 to 9: entry 7", "the file's own")),
        ([1, 2**63], True, ("every unit: entry 7", "the file's own")),  # a departure may read anyone
    ):
        last[5] = units
        certificate["claim"]["data"]["public"] = public
        first = Page(page.html(certificate)).text.partition("Sign-off")[0]
        for each in (
            *words,
            "replaced by any other data",
            "How to verify this",
            certificate["digest"],
            *programs().values(),
        ):
            assert each in first, each


def test_a_page_is_self_contained_and_can_be_walked(certificate):
    text = page.html(certificate)
    shown = Page(text)
    assert "script" not in shown.tags
    assert not {"link", "img", "iframe", "object", "form"} & set(shown.tags)
    assert "default-src 'none'" in text
    assert all(
        not value.startswith(("http", "//", "data:"))
        for key, value in shown.attributes
        if key in ("src", "href")
    )
    anchors = {value for key, value in shown.attributes if key == "id"}
    links = {value.removeprefix("#") for key, value in shown.attributes if key == "href"}
    assert links
    assert links <= anchors
    named = {value for key, value in shown.attributes if key == "aria-labelledby"}
    assert named <= anchors
    assert "@media print" in text
    assert "prefers-color-scheme: dark" in text
    assert '<html lang="en">' in text


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'`|*[a](b)"


def test_markup_in_a_claim_is_inert(certificate):
    certificate["claim"]["governance"] = {"purpose": HOSTILE, "owner": HOSTILE, HOSTILE: HOSTILE}
    certificate["guarantee"]["unit"] = HOSTILE
    certificate["claim"]["name"] = HOSTILE
    shown = Page(page.html(certificate))
    assert not {"script", "img"} & set(shown.tags)
    assert not any(key.startswith("on") for key, _ in shown.attributes)
    assert HOSTILE in shown.text
    text = page.markdown(certificate)
    assert "<script" not in text.replace("\\<script", "")
    assert re.search(r"(?<!\\)\[a\]", text) is None
    lines = page.registry(json.loads(RECEIVED.read_text())).count("\n")
    assert page.registry(certificate).count("\n") == lines  # a text cannot begin another line


@deep
@examples(100, 250)
@given(
    st.fractions(min_value=0, max_value=50, max_denominator=1000),
    st.fractions(min_value=0, max_value=Fraction(99, 100), max_denominator=10**6),
)
def test_what_an_attacker_can_do_is_never_understated(epsilon, delta):
    known = Accountant(Approximate(epsilon=epsilon, delta=delta)).risk(rates=["0.001"])
    right, power, sure = (float(text) for text in re.findall(r"at most (\d[\d.e+-]*)", " ".join(odds(known))))
    growth = exp(epsilon)
    assert float(right) / 100 >= min(1, (growth + float(delta)) / (1 + growth)) * (1 - 1e-12)
    most = min(1, growth * 0.001 + float(delta), 1 - (1 - float(delta) - 0.001) / growth)
    assert float(power) / 100 >= most * (1 - 1e-12)
    assert float(sure) / 100 >= most / (most + 0.001) * (1 - 1e-12)
    assert float(right) / 100 <= (growth + float(delta)) / (1 + growth) * 1.001 + 1e-3


def test_the_known_odds():
    """ε = ln 3: three in four, as everybody is taught (δ = 0)."""
    words = " ".join(odds(Accountant(Pure(epsilon="1.098612288668109692")).risk()))
    assert "at most 75.01 %" in words or "at most 75 %" in words


def test_an_unproved_claim_is_called_so(certificate):
    certificate["proved"] = {
        "epsilon": None,
        "delta": None,
        "derivation": [],
        "tight": None,
        "reason": "no proof",
    }
    certificate["verdict"] = "UNPROVEN"
    assert "claimed, and not proved" in " ".join(what_it_means(certificate))
    assert "No proof: no proof." in Page(page.html(certificate)).text
    certificate["audit"] = None
    assert "No attack was run" in Page(page.html(certificate)).text


@pytest.mark.parametrize(
    ("curve", "event"),
    [
        (["pure", "1/2"], Pure(epsilon="1/2")),
        (["gdp", "1/4"], Gdp(mu="1/2")),
        (["zcdp", "1/8"], Zcdp(rho="1/8")),
        (["renyi", ["2", "1/4"]], Approximate(epsilon=1, delta="1e-6")),
    ],
)
def test_rates_are_those_of_the_curve_that_is_proved(certificate, curve, event):
    """And not of one point of it: where no event has the curve, the point alone is explained."""
    certificate["proved"] |= {"epsilon": {"lower": None, "upper": 1}, "delta": "1e-6"}
    certificate["proved"]["derivation"][-1]["gives"] = ["Private", "q", curve, "replace-one", "central", None]
    certificate["sensitivity"] = []
    known, exact = attacked(certificate), Accountant(event)
    assert float(known.advantage.upper) == pytest.approx(exact.delta(0).upper_float, rel=1e-9)
    for rate in ("0.001", "0.1"):
        assert known.true_positives(rate) <= exact.risk().true_positives(rate) * Fraction(1001, 1000)


def test_what_is_claimed_alone_is_explained_as_claimed(certificate):
    certificate["guarantee"] |= {"epsilon": "2", "delta": "1e-6"}
    certificate["proved"]["epsilon"] = None
    point = Accountant(Approximate(epsilon=2, delta="1e-6"))
    assert attacked(certificate).advantage.upper == pytest.approx(point.delta(0).upper, rel=1e-9)


def test_an_infinite_epsilon_promises_nothing(certificate):
    certificate["proved"]["epsilon"] = {"lower": None, "upper": "inf"}
    certificate["guarantee"]["epsilon"] = "inf"
    assert what_it_means(certificate) == [
        "No finite ε is claimed or proved: an attacker may learn everything."
    ]
    Page(page.html(certificate))


def long_sentences(texts, most=25):
    """Return the sentences of more words; numbers, signs and names of code are words, too."""
    sentences = [each for text in texts for each in re.split(r"(?<=[.:;!?])\s+", text)]
    return [each for each in sentences if len(each.split()) > most]


@pytest.mark.parametrize("verdict", ["CERTIFIED", "REFUTED", "UNPROVEN"])
def test_no_sentence_of_page_one_or_of_the_attack_is_long(certificate, verdict):
    certificate["verdict"] = verdict
    released(certificate)
    for model in ("central", "joint", "local"):
        for relation in ("replace-one", "add-remove", "bounded-row"):
            certificate["guarantee"] |= {"model": model, "relation": relation, "radius": 0.5}
            blocks = [block for each in sections(certificate) if each.first for block in each.blocks]
            texts = [line for block in blocks if block.kind in ("text", "list") for line in block.lines]
            assert long_sentences([*texts, *explained(certificate)]) == []
    assert (
        long_sentences([*hazards.HAZARDS, *hazards.UNPROVED_HAZARDS, hazards.UNSEEN, hazards.SAME_PROOF])
        == []
    )
    assert long_sentences(["word " * 26]) != []


STUDY = {
    **{"schema": "dpaccount/claim/1", "name": "s"},
    "guarantee": {
        "model": "central", "unit": "row", "relation": "replace-one", "epsilon": 1, "delta": 1e-06
    },
    "data": {
        "file": "a.csv", "ledger": "sqlite:///b.db", "rows": 60,
        "columns": {"ward": {"type": "category", "values": ["<i>A", "B"]}},
    },
    "subject": {
        "use": "noisy-statistics",
        "parameters": {"statistic": [{"name": "by ward", "what": "count", "by": ["ward"]}]},
    },
}  # fmt: skip


def test_what_was_published_is_a_chart_and_a_table_with_ends_rounded_outwards(certificate):
    released(certificate)["claim"] = STUDY
    ends = {"low": [10.123456, -3.1], "high": [14.456789, 1.2], "level": 0.95, "of": "counts"}
    certificate["release"]["report"] = {"by ward": [12.34567, -1.0], "accuracy": {"by ward": ends}}
    (first, second) = released_tables(certificate)[0].rows
    assert first == ["<i>A", "12.3", "10.1 … 14.5"]
    assert (first[1].exact, second[2]) == ("12.34567", "-3.2 … 1.2")  # the double is below -3.1
    text = page.html(certificate)
    assert 'title="10.123456 … 14.456789"' in text
    assert "<i>A" not in text
    assert Page(text).tags.count("svg") == 3
    certificate["claim"] = {**STUDY, "subject": {"use": "histogram"}}  # without labels, by its numbers
    assert [row[0] for row in released_tables(certificate)[0].rows] == ["0", "1"]
    certificate["release"]["report"] = {"best_arm": "b", "order": ["b", "a"]}
    [best, order] = released_tables(certificate)[0].rows
    assert best == ["best arm", "b"]
    assert order == [LABELS["order"], "b > a"]


@pytest.mark.parametrize(
    ("use", "head"),
    [("arm-means", "95% interval of noise and sampling"), ("own:Means", "interval that the code reports")],
)
def test_an_interval_is_called_what_it_covers_and_lone_numbers_are_together(certificate, use, head):
    released(certificate)["claim"] = {**STUDY, "subject": {"use": use}}
    means = {"a": {"mean": 0.5, "low": 0.4, "high": 0.6}}
    certificate["release"]["report"] = {"value": 0.25, "value_noise_sd": 0.01, "means": means}
    lone, arms = released_tables(certificate)
    assert lone.rows == [["value", "0.25"], ["value noise (standard deviation)", "0.01"]]
    assert arms.head == ["", "estimate", head]


@given(st.floats(-1e9, 1e9), st.floats(0, 1e9))
def test_ticks_are_few_round_numbers_within(low, wide):
    high = low + wide
    ticks = pictures._ticks(low, high)
    assert 1 <= len(ticks) <= 12
    assert ticks == sorted(ticks)
    slack = (high - low) * 1e-6 + 1e-6 * abs(low) + 1e-299
    assert all(low - slack <= tick <= high + slack for tick in ticks)


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1e6)), min_size=1, max_size=30))
def test_bars_stay_within_their_frame(ends):
    bars = [pictures.Bar("w" * 40, low, low + wide, low) for low, wide in ends]
    for picture in (pictures.strips(bars, "x"), pictures.strips(bars, "x", 2e6)):
        across = [float(each) for each in re.findall(r'(?:[MH]| c?x=")(-?[\d.]+)', picture)]
        assert all(0 <= each <= 640 for each in across)
        assert "nan" not in picture


@pytest.mark.parametrize("model", ["central", "joint", "local"])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove", "bounded-row"])
def test_every_promise_is_worded(certificate, model, relation):
    certificate["guarantee"] |= {"model": model, "relation": relation, "radius": 0.5}
    sentences = [*promise(certificate), hidden_change(certificate["guarantee"])]
    assert len(sentences) == 4
    assert "{" not in " ".join(sentences)


@deep
def test_half_the_noise_would_have_been_seen_with_enough_runs(certificate):
    """The expectation grows with the runs, and is above the claim where they are many and the claim is tight."""
    twin = copy.deepcopy(certificate)
    point = twin["audit"]["points"][0]
    point |= {"runs": 10**6, "other_runs": 10**6, "limit": "0.2"}
    few, many = explained(certificate)[-1], explained(twin)[-1]
    shown = [float(re.search(r"about ε = ([\d.]+)", sentence)[1]) for sentence in (few, many)]
    assert shown[0] < shown[1]
    assert "would have refuted the claim" in many
    del twin["audit"]["distance"]
    assert "is unknown" in explained(twin)[-1]


def test_the_registry_and_nist_are_complete_or_say_so(certificate):
    text = page.registry(certificate)
    for key in (
        "data_curator",
        "intended_use",
        "data_product",
        "flavor",
        "unit_of_privacy",
        "model",
        "justification",
        "unit_in_detail",
        "post_processing",
        "security",
    ):
        assert re.search(rf"^  {key}: \S", text, re.MULTILINE)
    assert text.count('"not stated"') >= 4
    for line in text.splitlines():  # YAML whose values are JSON: any reader of YAML takes it
        key, _, value = line.partition(": ")
        assert value == "" or json.loads(value) is not None
        assert key.strip().rstrip(":").replace("_", "").isalnum()
    assert all(answer for _, answer in standards.nist(certificate))
    assert 'data_domain: "not stated"' in text
    certificate["claim"]["governance"] = {"curator": "the clinic"}
    certificate["claim"]["data"] = {"columns": {"age": {"type": "number"}}}
    stated = page.registry(certificate)
    assert 'data_curator: "the clinic"' in stated
    assert '"type' in json.loads(re.search("data_domain: (.*)", stated)[1])


def test_nothing_is_said_of_a_proof_that_is_not_there(certificate):
    certificate["proved"] = {"epsilon": None, "delta": None, "derivation": [], "reason": "a plain function"}
    certificate["sensitivity"] = []
    said = "\n".join([*(answer for _, answer in standards.nist(certificate)), page.registry(certificate)])
    for untrue in (
        "integer samplers",
        "re-derived",
        "checked derivation",
        "nothing is assumed",
        "as a whole",
    ):
        assert untrue not in said
    assert not any("Nothing is assumed" in str(each) for each in sections(certificate))


def test_every_key_of_the_page_is_one_that_reports_list(root):
    page_text = (root / "docs" / "reports.md").read_text().partition("| key |")[2]
    named = {
        key for line in page_text.splitlines() for key in re.findall("`([a-z_]+)`", line.split(" | ")[0])
    }
    assert named == set(standards.GOVERNANCE)


@pytest.mark.parametrize(("delta", "units"), [("1e-06", "1,000,000"), ("3/1000000", "333,334"), ("1", "1")])
def test_a_delta_says_for_how_many_it_is(certificate, delta, units):
    """Publishing one of n rows, picked at random, is (0, 1/n)-private: δ must be below that."""
    certificate["proved"]["delta"] = delta
    assert f"For {units} or more units, this δ would be too large" in what_it_means(certificate)[-1]
    certificate["proved"]["delta"] = "0"
    assert "or more units" not in " ".join(what_it_means(certificate))


class WithContact(Certificate, frozen=True, kw_only=True):
    contact: Annotated[str, Meta(title="Whom to ask")] | Absent = UNSET
    note: str | Absent = UNSET


def test_a_member_with_a_title_is_shown_under_it(certificate, monkeypatch):
    def rows():
        return {s.anchor: s for s in sections(certificate)}["document"].blocks[0].rows

    assert rows()[:2] == (("Created", certificate["created"]), ("Digest", certificate["digest"]))
    monkeypatch.setattr("audits.reports.sections.Certificate", WithContact)
    assert ("Whom to ask", "not stated") in rows()
    certificate |= {"contact": "the clinic", "note": "unseen"}
    assert ("Whom to ask", "the clinic") in rows()
    assert "unseen" not in str(rows())


def test_governance_takes_any_text(certificate):
    certificate["claim"]["governance"] = {"purpose": "teaching", "ward": "three"}
    rows = standards.governance(certificate)
    assert ("ward", "three") in {s.anchor: s for s in sections(certificate)}["governance"].blocks[0].rows
    assert rows["purpose"] == "teaching"
    assert rows["ward"] == "three"
    assert rows["owner"] == "not stated"


@pytest.mark.parametrize(
    ("epsilon", "delta", "shown"),
    [(2.5, 1e-6, 0.0), (0, 0, 0.0), ("inf", 0.5, 8.5), (1e6, 1e-300, 3.25), (1, 1, 0)],
)
def test_pictures_stay_within_their_frame(certificate, epsilon, delta, shown):
    certificate["guarantee"] |= {"epsilon": epsilon, "delta": delta}
    certificate["audit"]["points"][0]["epsilon_lower"] = shown
    for picture in (pictures.profile(certificate), pictures.trade_off(certificate)):
        assert "nan" not in picture
        assert "inf" not in picture
        for key, most in (("x", 640), ("cx", 640), ("y", 300), ("cy", 300)):
            positions = [float(value) for value in re.findall(rf' {key}="([^"]+)"', picture)]
            assert all(0 <= value <= most for value in positions), (key, positions)
        for x, y in re.findall(r"[ML]([\d.-]+) ([\d.-]+)", picture):
            assert 0 <= float(x) <= 640
            assert 0 <= float(y) <= 300


@deep
@given(st.floats(0.1, 5), st.lists(st.floats(0, 0.999), min_size=2, max_size=5, unique=True))
def test_the_line_between_what_is_proved_is_proved(most, parts):
    """Randomised response, whose δ is linear in e^ε: no chord lies below its curve."""
    curve = lambda epsilon: math.log10((exp(most) - exp(epsilon)) / (1 + exp(most)))  # noqa: E731
    path = [(most * part, curve(most * part)) for part in sorted(parts)]
    drawn = pictures._chords(path)
    assert set(path) <= set(drawn)
    for epsilon, height in drawn:
        assert height >= curve(epsilon) - 1e-6


def test_continuous_integration_is_told(certificate):
    certificate["verdict"] = "REFUTED"
    certificate["claim"]["name"] = "a"
    certificate["sensitivity"][0]["counterexample"] = {"wrong": "50 %\n::warning::no"}
    log = json.loads(standards.sarif(certificate, "claims/a.toml"))
    (result,) = log["runs"][0]["results"]
    assert (log["version"], result["level"]) == ("2.1.0", "error")
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "claims/a.toml"
    line = standards.annotation(certificate, "claims/a,b.toml")
    assert line.startswith("::error file=claims/a%2Cb.toml::REFUTED a: ")
    assert "\n" not in line
    assert "50 %25%0A" in line


# ------------------------------------------------------------------ two certificates, and a folder


def test_what_differs_is_said_and_nothing_else(certificate):
    assert differences(certificate, certificate) == []
    other = copy.deepcopy(certificate)
    other["guarantee"]["epsilon"] = 1.5
    other["subject"]["parameters"]["sigma"] = "8"
    other["claim"]["governance"] = {"owner": "A"}
    other["hazards"] = other["hazards"][1:]
    other["sensitivity"][0]["status"] = "accepted"
    sentences = differences(certificate, other)
    assert len(sentences) == 5
    assert "The claimed epsilon went from 2.5 to 1.5: the promise is stronger in it." in sentences
    assert "Parameter sigma was '4' and is '8'." in sentences
    assert differences(other, certificate)[0].endswith("weaker in it.")


@deep
def test_the_commands(certificate, tmp_path, capsys):
    first = tmp_path / "a" / "certificate.json"
    first.parent.mkdir()
    first.write_bytes(RECEIVED.read_bytes())
    assert cli.run(["report", str(first)]) == 0
    assert capsys.readouterr().out == f"{first.with_name('report.html')}\n"
    for kind, word in (("--md", "# CERTIFIED"), ("--registry", "tier1:"), ("--nist", "Unit of privacy")):
        assert cli.run(["report", str(first), kind]) == 0
        assert word in capsys.readouterr().out
    assert cli.run(["report", str(first), "--pdf-ready", "--output", str(tmp_path / "paper.html")]) == 0
    assert "<details open>" in (tmp_path / "paper.html").read_text()
    second = tmp_path / "b" / "certificate.json"
    second.parent.mkdir()
    certificate["claim"]["governance"] = {"owner": "B"}
    second.write_text(json.dumps(seal(certificate)))
    capsys.readouterr()
    assert cli.run(["diff", str(first), str(first)]) == 0
    assert capsys.readouterr().out == "no difference\n"
    assert cli.run(["diff", str(first), str(second), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["differences"] == [
        "Governance owner was 'not stated' and is 'B'."
    ]
    assert cli.run(["report", str(tmp_path)]) == 0
    listed = (tmp_path / "index.html").read_text()
    assert listed.count("CERTIFIED") >= 2
    assert 'href="a/report.html"' in listed
    assert 'href="b/certificate.json"' in listed


def test_a_forged_certificate_is_reported_as_not_valid(certificate, tmp_path, capsys):
    certificate["guarantee"]["epsilon"] = 0.1
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(certificate))
    assert cli.run(["report", str(file)]) == 0
    assert "NOT VALID" in capsys.readouterr().err
    assert "Nothing below can be relied on" in (tmp_path / "report.html").read_text()
    assert cli.run(["report", str(file), "--md"]) == 0
    assert capsys.readouterr().out.startswith("# NOT VALID")
    assert cli.run(["report", str(tmp_path), "--output", str(tmp_path / "i.html")]) == 0
    assert "NOT VALID" in (tmp_path / "i.html").read_text()


def places(value, at=()):
    """Yield where every value of a document stands."""
    yield at
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, member in members:
        yield from places(member, (*at, key))


STRANGE = (None, True, -1, 1e308, "", "inf", "1/0", HOSTILE, [], {}, [[]], {"": None})


@deep
def test_a_document_that_is_changed_anywhere_is_reported_or_refused_in_a_line(
    certificate, tmp_path, capsys, depth
):
    """Whatever one value becomes, or where one is missing: no report breaks."""
    file, text = tmp_path / "certificate.json", RECEIVED.read_text()
    dice = random.Random(depth.seed(19))
    every = [at for at in places(certificate) if at]
    for at in dice.sample(every, 90):
        changed = json.loads(text)
        inside = changed
        for key in at[:-1]:
            inside = inside[key]
        inside[at[-1]] = dice.choice(STRANGE)
        if dice.random() < 0.2:
            del inside[at[-1]]
        file.write_text(json.dumps(seal(changed) if dice.random() < 0.5 else changed))
        for words in (
            ["report", str(file), dice.choice(["--html", "--md", "--registry", "--nist"])],
            ["diff", str(RECEIVED), str(file)],
        ):
            code = cli.run(words)
            err = capsys.readouterr().err
            assert code in (0, 1, 2), (at, words, err)
            assert err.count("\n") <= 1


@pytest.mark.parametrize(
    "words",
    [
        ["report"],
        ["report", "none.json"],
        ["report", "x.json", "--md", "--nist"],
        ["report", "x", "--format", "pdf"],
    ],
)
def test_a_wrong_request_is_one_line(words, capsys):
    assert cli.run(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize("kind", ["--html", "--md", "--registry", "--nist"])
def test_no_text_of_a_certificate_moves_a_cursor_or_begins_a_line(
    certificate, tmp_path, capsys, kind, sealed
):
    """A valid one may say anything of its source: it had cleared the screen, or answered a point of NIST itself."""
    certificate["subject"]["source"] = "mean.py\nProof: \x1b[2J\u202e\x7fread by nobody"
    certificate["subject"]["parameters"]["a\nb\x1b[2J"] = "\u2028"
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(seal(certificate) if sealed else certificate))
    assert cli.run(["report", str(file), kind]) == 0
    output = capsys.readouterr().out
    text = file.with_name("report.html").read_text() if kind == "--html" else output
    assert all(c.isprintable() or c == "\n" for c in text)
    assert sum(line.startswith("Proof: ") for line in text.splitlines()) == (kind == "--nist")


def test_statistics_and_columns_of_a_study_are_tables(certificate):
    """A row each, as the author wrote them, and no path of names for each of their members."""
    statistics = [
        {"name": "n", "what": "count", "by": ["ward", "sex"]},
        {"name": "m", "what": "mean", "column": "x"},
    ]
    certificate["claim"]["subject"] = {"use": "noisy-statistics", "parameters": {"statistic": statistics}}
    certificate["claim"]["data"] = {
        "columns": {"x": {"type": "number", "high": 3}},
        "derived": {"z": "x + 1"},
    }
    certificate["subject"]["parameters"] = {
        "statistic": statistics,
        "statistics": statistics,
        "law": "laplace",
    }
    text = page.markdown(certificate).partition("## What is promised")[2].partition("\n## ")[0]
    assert "| n | count | ward, sex |  |" in text
    assert "| m | mean |  | x |" in text
    assert "| x | number | 3 |  |" in text
    assert "| z |  |  | x + 1 |" in text
    assert "Parameter law" in text
    assert "Parameter statistic" not in text


X, Y = (Column(name, "number", Fraction(0), Fraction(9)) for name in "xy")
GROUP = Column("g", "category", values=("a", "b", "c"))


@looped(
    ("more", "words"),
    [
        ({"what": "count", "where": "x >= 1"}, "number of rows where x >= 1"),
        ({"what": "mean", "column": X, "by": (GROUP,)}, "mean of x by g"),
        ({"what": "quantile", "column": X, "q": (Fraction(9, 10),)}, "0.9 quantile of x"),
        ({"what": "median", "column": X}, "median of x"),
        ({"what": "histogram", "column": GROUP}, "number of rows by g"),
        ({"what": "top", "column": GROUP, "k": 2}, "the 2 most frequent values of g"),
        ({"what": "regression", "column": X, "on": (Y,)}, "linear regression of x on y"),
    ],
)
def test_page_one_says_what_a_statistic_is_whatever_its_name(more, words):
    assert definition(Statistic("any name", **more, declared=(X,))) == words


@looped(
    ("value", "words"),
    [
        ("l1 1", "ℓ1 norm at most 1"),
        ("l2-squared 268418043/67108864; range 2", "squared ℓ2 norm at most 3.9998; range at most 2"),
        ("at most 1414213563/1000000000", "at most 1.4143"),
        ("contributions: cell", "contributions: cell"),
    ],
)
def test_declared_bounds_are_rounded_up(value, words):
    assert declared(value) == words


def test_what_was_observed_is_no_square_and_an_outcome_says_what_was_not_tested():
    entry = {
        "rule": "assume_ball",
        "query": "sum",
        "worst": "9/4",
        "status": "tested",
        "counterexample": None,
    }
    assert (observed(entry), outcome(entry, {})) == ("1.5", "no counterexample found")
    assert observed({**entry, "rule": "assume_numbers", "worst": "9"}) == "9"
    assert outcome({**entry, "status": "untested"}, {}) == "not tested"
    accepted = {"assume": {"assume_ball sum": "our paper"}}
    assert outcome({**entry, "status": "accepted"}, accepted).endswith("Reason given: our paper")
    assert outcome({**entry, "counterexample": {"wrong": "moves by 2"}}, {}) == "false: moves by 2"


def test_a_step_names_every_value_of_its_conclusion_and_cuts_only_long_ones(certificate):
    for step in certificate["proved"]["derivation"]:
        text = step_text(step)
        for value in (*step["with"].values(), *step["gives"][1:]):
            written = value if isinstance(value, str) else json.dumps(value)
            assert value is None or f": {written[:MAX_CHARACTERS]}" in text
    assert "  observer: central" in text.splitlines()
    step["gives"] = ["Unheard", "x" * 1000]
    assert step_text(step).splitlines()[-1] == f"  1: {'x' * MAX_CHARACTERS} … (in full in the certificate)"


def test_the_attacked_pair_is_no_counterexample_and_all_its_runs_are_accounted_for(certificate):
    shown = next(each for each in sections(certificate) if each.title == "Attack").blocks
    assert not [row for row in shown[-1].rows if "wrong" in row[0]]
    assert "96 runs on one dataset and 94 on a synthetic neighbour (10 more runs" in shown[0].lines[0]
