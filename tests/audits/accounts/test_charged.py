"""Charges of plans carry certificates: the entry names one, and the ledger is compared with the document."""

import json
from fractions import Fraction

import pytest

from audits.accounts.certificate import certificate, seal
from audits.accounts.charged import compared
from dpaccount.accounting.accountant import Accountant
from dpaccount.documents import Place
from dpaccount.ledger.ledger import Ledger
from dpaccount.plan.events import Gaussian, Plan
from dpaccount.plan.plan_file import read_plan
from tests.depth import deep

URL = "sqlite:///team.db"
PLAN = {
    "schema": "dpaccount/events/1",
    "relation": "replace-one",
    "events": [{"event": "gaussian", "sigma": 20, "cover": [1, 5]}, {"event": "gdp", "mu": "1/30"}],
}
DELTA = Fraction(1, 10**6)


@pytest.fixture
def team(dpaccount, tmp_path):
    budget = [
        "--epsilon",
        1,
        "--delta",
        "1e-6",
        "--unit",
        "person",
        "--relation",
        "replace-one",
        "--measure",
        "gdp",
    ]
    assert dpaccount("ledger", "init", URL, *budget)[0] == 0
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    return tmp_path


def made(plan, *, delta=DELTA, group=1):
    tight = Accountant(read_plan(Place(plan, "plan")), group).epsilon(delta)
    return certificate(plan, tight.as_json(), delta=delta, group=group)


def charged(dpaccount, *words):
    code, out, err = dpaccount("ledger", "charge", URL, "plan.json", *words, "--json")
    return code, json.loads(out), err


@deep
def test_a_charge_names_what_confirms_its_cost(dpaccount, team):
    code, answer, _ = charged(dpaccount, "--certificate", "cost.json")
    document = json.loads((team / "cost.json").read_text())
    assert (code, answer["certificate"]) == (0, document["digest"])
    assert answer["confirmed"] == document["confirmed"]
    assert document["question"] == {"delta": "1e-06"}
    assert Fraction(document["confirmed"]["upper"]) <= Fraction(str(answer["epsilon"]["upper"])) * Fraction(
        10001, 10000
    )
    assert dpaccount("check", "cost.json")[0] == 0
    for command in (["log"], ["report"]):
        assert document["digest"] in dpaccount("ledger", *command, URL, "--json")[1]
    [line] = [each for each in json.loads(dpaccount("ledger", "log", URL, "--json")[1]) if each["entry"] == 1]
    assert line["confirmed"] == document["confirmed"]["upper"]
    code, out, _ = dpaccount("ledger", "verify", URL, "--certificate", "cost.json", "--json")
    assert code == 0
    [found] = json.loads(out)["certificates"]
    assert (found["entries"], found["wrong"]) == ([1], None)


def test_charges_of_a_scope_and_of_a_cohort_are_found_too(dpaccount, team):
    dpaccount("ledger", "scope", URL, "ada", "--epsilon", 1)
    dpaccount("ledger", "cohort", URL, "adults", "1-5", "8-9")
    for words in (["--scope", "ada"], ["--cohort", "adults"], ["--scope", "ada", "--cohort", "adults"], []):
        assert charged(dpaccount, *words, "--certificate", "cost.json")[0] == 0
    [found] = compared(URL, [team / "cost.json"])
    assert (found["entries"], found["wrong"]) == ([3, 4, 5, 6], None)


def test_a_plan_of_which_the_entry_keeps_the_digest_alone_is_compared_too(dpaccount, team):
    events = [{"event": "gaussian", "sigma": 90, "cover": [k, k]} for k in range(1, 61)]
    (team / "plan.json").write_text(json.dumps({**PLAN, "events": events}))
    assert charged(dpaccount, "--certificate", "cost.json")[0] == 0
    assert compared(URL, [team / "cost.json"])[0]["wrong"] is None


def test_what_was_charged_before_keeps_what_its_entry_names(dpaccount, team):
    assert "certificate" not in charged(dpaccount, "--key", "a")[1]
    _, again, _ = charged(dpaccount, "--key", "a", "--certificate", "cost.json")
    assert again["already_charged"]
    assert "certificate" not in again
    assert "no charge" in compared(URL, [team / "cost.json"])[0]["wrong"]
    assert (
        "no charge"
        in json.loads(dpaccount("ledger", "verify", URL, "--certificate", "cost.json", "--json")[1])[
            "certificates"
        ][0]["wrong"]
    )


def named(team, document, *, says=None):
    """Charge a plan by naming any certificate, as a careless or dishonest program can; compare."""
    file = team / f"{len(list(team.iterdir()))}.json"
    file.write_text(json.dumps(document))
    plan = Plan("replace-one", [Gaussian(sigma=20, cover=(1, 5)), Gaussian(sigma=30)])
    with Ledger.open(URL) as ledger:
        ledger.charge_plan(
            plan, "p", certificate=(document["digest"], says or document["confirmed"]["upper"])
        )
    return compared(URL, [file])[0]["wrong"]


CHARGED = {**PLAN, "events": [PLAN["events"][0], {"event": "gaussian", "sigma": 30}]}


def test_a_certificate_of_another_plan_or_question_is_refused_in_words(team):
    assert named(team, made(CHARGED)) is None
    cheaper = {**CHARGED, "events": CHARGED["events"][:1]}
    assert named(team, made(cheaper)).endswith("charged another plan")
    for changed in ({"sigma": 21}, {"cover": [1, 6]}, {"count": 2}):
        other = {**CHARGED, "events": [{**CHARGED["events"][0], **changed}, CHARGED["events"][1]]}
        assert named(team, made(other)).endswith("charged another plan"), changed
    assert named(team, made({**CHARGED, "relation": "add-remove"})).endswith("charged another plan")
    assert (
        named(team, made(CHARGED, delta=Fraction(1, 10**5)))
        == "it answers at another delta than the ledger's"
    )
    assert "one unit" in named(team, made(CHARGED, group=2))


def test_another_epsilon_and_a_damaged_document_are_refused(team):
    document = made(CHARGED)
    body = {key: value for key, value in document.items() if key != "digest"}
    forged = seal({**body, "confirmed": {"upper": "0.231"}})
    assert named(team, forged).startswith("step 0")
    assert "digest" in named(team, {**document, "tight": {"lower": None, "upper": 3}})
    assert named(team, document, says="0.01").endswith("names it with another epsilon")


def test_an_entry_that_names_the_certificate_of_another_charge_is_named_itself(team):
    """Whoever may charge may name any, through a service, too: the sentence says whose entry is at fault."""
    document = made(CHARGED)
    assert named(team, document) is None
    with Ledger.open(URL) as ledger:
        asked = Plan("replace-one", [Gaussian(sigma=99)]), "p"
        ledger.charge_plan(*asked, by="eve", certificate=(document["digest"], document["confirmed"]["upper"]))
    (team / "named.json").write_text(json.dumps(document))
    [found] = compared(URL, [team / "named.json"])
    assert found["entries"] == [1, 2]
    assert found["wrong"] == "entry 2 by 'eve' names it, and charged another plan"


def test_what_is_no_certificate_of_a_plan_is_an_error_and_not_a_verdict(dpaccount, team):
    code, out, err = dpaccount("ledger", "verify", URL, "--certificate", "plan.json")
    assert (code, out) == (2, "")
    assert "not the certificate of a plan" in err
    code, _, err = dpaccount("ledger", "verify", URL, "--certificate", "none.json")
    assert code == 2


def test_nothing_is_charged_or_written_for_another_relation(dpaccount, team):
    (team / "plan.json").write_text(json.dumps({**PLAN, "relation": "add-remove"}))
    code, out, err = dpaccount("ledger", "charge", URL, "plan.json", "--certificate", "cost.json")
    assert (code, out) == (2, "")
    assert "under add-remove" in err
    assert not (team / "cost.json").exists()


@deep
def test_a_charge_of_which_nothing_is_confirmed_names_nothing_and_says_why(dpaccount, team):
    table = {"event": "zcdp", "rho": "1e-9"}
    many = [{**table, "rho": f"1/{10**300 + 2 * k + 1}"} for k in range(400)]
    (team / "plan.json").write_text(json.dumps({**PLAN, "events": many}))
    _, answer, _ = charged(dpaccount, "--dry-run", "--certificate", "cost.json")
    assert answer["confirmed"]["upper"] is None
    assert answer["confirmed"]["why"]
    assert "certificate" not in answer
