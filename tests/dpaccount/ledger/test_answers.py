"""The answers of `dpaccount ledger` and how its commands end."""

import json
from fractions import Fraction

import pytest

from dpaccount.documents import parse_json
from dpaccount.errors import InputError, LedgerError
from dpaccount.ledger import answers

BUDGET = {"epsilon": Fraction(1), "delta": Fraction(1, 10**6), "unit": "person", "relation": "replace-one"}


def place(*events, relation="replace-one"):
    document = {"schema": "dpaccount/events/1", "relation": relation, "events": list(events)}
    return parse_json(json.dumps(document), "events.json")


GAUSSIAN = {"event": "gaussian", "sigma": 10}
TIGHT = {"event": "gaussian", "sigma": 4.22467889}


def test_a_charge_answers_as_the_contract_prints_it(url):
    made = answers.init(url, **BUDGET)
    assert made == answers.show(url)
    answer = answers.charge(url, place(TIGHT))
    assert set(answer) == {"accepted", "entry", "head", "epsilon"}
    assert (answer["accepted"], answer["entry"], answers.exit_code(answer)) == (True, 1, 0)
    # the least standard deviation of (1, 10⁻⁶) at sensitivity 1 (Balle & Wang 2018)
    assert answer["epsilon"]["lower"] <= answer["epsilon"]["upper"] <= 1
    assert answer["epsilon"]["lower"] == pytest.approx(1, abs=1e-9)
    shown = answers.show(url)
    assert set(shown) == {"budget", "spent", "remaining", "worst_unit", "entries", "refused", "head"}
    assert shown["head"] == answer["head"]
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown
    assert answers.verify(url) == {"valid": True, "first_bad": None}
    assert answers.exit_code(answers.verify(url)) == answers.exit_code(shown) == 0


def test_a_refused_charge_is_an_answer(url):
    answers.init(url, **BUDGET)
    said: list[str] = []
    answer = answers.charge(url, place({**GAUSSIAN, "sigma": 1}), say=said.append)
    assert (answer["accepted"], answer["entry"], answers.exit_code(answer)) == (False, 1, 1)
    assert len(said) == 1
    assert said[0].endswith("nothing was charged and no noise was drawn")
    shown = answers.show(url)
    assert (shown["entries"], shown["refused"], shown["head"]) == (0, 1, answer["head"])


def test_a_charge_without_a_bound_is_refused(url):
    answers.init(url, **BUDGET)
    said: list[str] = []
    answer = answers.charge(url, place(GAUSSIAN, {"event": "zcdp", "rho": 0.1}), say=said.append)
    assert answer["accepted"] is False
    assert answer["epsilon"] == {"lower": None, "upper": "inf"}
    assert "a ledger in zcdp takes it" in said[0]
    answer = answers.charge(
        url, place({"event": "approximate", "epsilon": 0.1, "delta": 1e-9}, GAUSSIAN), say=said.append
    )
    assert "prove it at one (ε, δ)" in said[1]


def test_the_remaining_epsilon_can_be_spent(url):
    answers.init(url, **{**BUDGET, "delta": Fraction(0)}, measure="pure")
    answers.charge(url, place({"event": "pure", "epsilon": 0.7}))
    left = answers.show(url)["remaining"]["epsilon"]["lower"]
    assert answers.charge(url, place({"event": "pure", "epsilon": left}))["accepted"]
    assert not answers.charge(url, place({"event": "pure", "epsilon": 1e-300}))["accepted"]


def test_keys_and_dry_runs(url):
    answers.init(url, **BUDGET)
    dry = answers.charge(url, place(GAUSSIAN), key="a", dry_run=True)
    assert (dry["accepted"], dry["entry"]) == (True, None)
    first = answers.charge(url, place(GAUSSIAN), key="a")
    again = answers.charge(url, place(GAUSSIAN), key="a")
    assert first == again
    with pytest.raises(LedgerError, match="use a new key"):
        answers.charge(url, place({**GAUSSIAN, "sigma": 11}), key="a")


def test_wrong_requests_have_no_answer(url):
    answers.init(url, **BUDGET)
    with pytest.raises(InputError, match="add-remove"):
        answers.charge(url, place(GAUSSIAN, relation="add-remove"))
    with pytest.raises(InputError, match=r"events\.json"):
        answers.charge(url, place({"event": "gaussian", "sigma": 0}))
    assert answers.show(url)["refused"] == 0


@pytest.mark.parametrize("sigma", ["1e-5000", "1e5000", "1e-300"])
@pytest.mark.parametrize("measure", ["gdp", "zcdp"])
def test_extreme_numbers_end_in_an_answer(url, sigma, measure):
    answers.init(url, **BUDGET, measure=measure)
    text = (
        '{"schema":"dpaccount/events/1","relation":"replace-one","events":[{"event":"gaussian","sigma":%s}]}'
    )
    answer = answers.charge(url, parse_json(text % sigma, "events.json"))
    assert answer["accepted"] == (sigma == "1e5000")
    assert answers.verify(url)["valid"]
    answers.show(url)
