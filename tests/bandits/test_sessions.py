"""`dpaccount ask` and `tell`: tickets for who arrives, paid before anybody is served."""

import io
import json
import shutil
from fractions import Fraction
from functools import partial
from types import SimpleNamespace

import pytest

from audits.certificate.document import seal
from audits.claim import Claim
from bandits.cli.commands import SessionOptions
from bandits.moment_gp_ucb import MomentGpUcb
from dpaccount.errors import InputError
from dpaccount.ledger.ledger import Ledger
from dpaccount.ledger.ledger import init as make
from tests.depth import deep
from tests.documents import kind_of, wrong

CLAIM = """
schema = "dpaccount/claim/1"
name = "people"
[guarantee]
model = "joint"
unit = "person"
relation = "replace-one"
epsilon = 1.0
delta = 1e-6
[subject]
use = "moment-gp-ucb"
[subject.parameters]
rounds = 6
candidates = 2
size = 3
nodes_per_axis = 2
refresh = 2
[audit]
trials = 60
"""
CONTEXT = "[[0.5, 0.5], [-1, 1]]"


@pytest.fixture
def claim(tmp_path):
    (tmp_path / "claim.toml").write_text(CLAIM)
    (tmp_path / "one.json").write_text(CONTEXT)
    return tmp_path / "claim.toml"


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """Return the claim's certificate."""
    from audits.cli.app import run

    folder = tmp_path_factory.mktemp("certified")
    (folder / "claim.toml").write_text(CLAIM)
    assert run(["certify", str(folder / "claim.toml"), "--out", str(folder / "out"), "--jobs", "1"]) == 0
    return folder / "out" / "certificate.json"


def answer(result):
    code, out, err = result
    assert code == 0, err
    return json.loads(out)


def refused(result, said, code=2):
    assert result[:2] == (code, ""), result
    assert result[2].splitlines()[-1].startswith("error: ")
    assert said in result[2], result[2]


@deep
def test_a_rehearsal_asks_and_tells(dpaccount, claim):
    rest = (claim, "--state", "people.state", "--rehearse", 1, "--json")
    for number in (1, 2, 3):
        ticket = answer(dpaccount("ask", *rest, "--context", "one.json"))
        assert ticket["ticket"] == number
        assert ticket["action"] in (0, 1)
        assert ticket["releasable"] is False
        assert answer(dpaccount("ask", *rest, "--ticket", number)) == ticket
    assert answer(dpaccount("tell", claim, 3, "nan", *rest[1:]))["counts"] is True
    assert answer(dpaccount("tell", claim, 1, "-5", *rest[1:]))["counts"] is True  # late, in the next batch
    refused(dpaccount("tell", claim, 3, 1, *rest[1:]), "ticket 3 has its answer")
    refused(dpaccount("tell", claim, 4, 1, *rest[1:]), "ticket 4 was never given")
    refused(dpaccount("tell", claim, 2, "good", *rest[1:]), "REWARD is no number")
    refused(dpaccount("ask", *rest), "4 numbers")
    refused(dpaccount("ask", *rest, "--context", "claim.toml"), "claim.toml: this is no JSON")
    refused(dpaccount("ask", *rest, "--context", "one.json", "--end"), "give one of them")
    assert answer(dpaccount("ask", *rest, "--end")) == {
        "schema": "dpaccount/session/1",
        "people": 3,
        "slots": 6,
        "releasable": False,
        "public": {},
    }
    refused(dpaccount("ask", *rest, "--context", "one.json"), "has ended")


def by_lines(dpaccount, monkeypatch, state, *requests):
    """Return the answers to lines of JSON, each of which follows its schema."""
    text = "".join(each if isinstance(each, str) else json.dumps(each) + "\n" for each in requests)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    code, out, err = dpaccount("session", "claim.toml", "--state", state, "--rehearse", 1)
    assert code == 0, err
    found = [json.loads(line) for line in out.splitlines()]
    for each in found:
        assert not wrong(kind_of(each), each)
    return found


def events(file):
    """Return the events of a state file without what tells it from others."""
    return [{**json.loads(line), "digest": None} for line in file.read_text().splitlines()[1:]]


@deep
def test_a_session_by_lines_is_that_of_single_commands_wherever_it_is_resumed(dpaccount, claim, monkeypatch):
    """The same requests, all by lines but for one; and the state files have the same events."""
    context, rest = json.loads(CONTEXT), ("claim.toml", "--rehearse", 1, "--json", "--state")
    requests = [{"ask": context}, {"ask": context}, {"ask": context}, {"tell": 2, "reward": 0.25}]
    requests += [{"tell": 3, "reward": -5}, {"ticket": 2}, {"ask": context}, {"end": True}]

    def alone(state, request):
        if "ask" in request:
            return answer(dpaccount("ask", *rest, state, "--context", "one.json"))
        if "tell" in request:
            return answer(
                dpaccount("tell", "claim.toml", request["tell"], request["reward"], *rest[1:], state)
            )
        return answer(dpaccount("ask", *rest, state, *(["--end"] if "end" in request else ["--ticket", 2])))

    singly = [alone("one", request) for request in requests]
    assert by_lines(dpaccount, monkeypatch, "two", *requests) == singly
    for place in range(0, len(requests), 3):
        before, after = requests[:place], requests[place + 1 :]
        state = f"at {place}"
        found = by_lines(dpaccount, monkeypatch, state, *before) if before else []
        found.append(alone(state, requests[place]))
        assert found + by_lines(dpaccount, monkeypatch, state, *after) == singly
        assert events(claim.parent / state) == events(claim.parent / "one")


def test_a_wrong_line_is_answered_and_changes_nothing(dpaccount, claim, monkeypatch):
    first = by_lines(dpaccount, monkeypatch, "s", {"ask": json.loads(CONTEXT)})
    before = (claim.parent / "s").read_bytes()
    lines = [
        ("\n", "one JSON document"),
        ('{"ask": null\n', "one JSON document"),
        ([], "no request"),
        ({"ask": None, "end": True}, "no request"),
        ({"begin": True}, "no request"),
        ({"ask": None}, "4 numbers"),
        ({"ask": [[None, None], [None, None]]}, "no candidate is on offer"),
        ({"tell": 1}, "reward"),
        ({"tell": 1, "reward": []}, "a reward is one number"),
        ({"tell": 1, "reward": [1, 2]}, "a reward is one number"),
        ({"tell": 1, "reward": True}, "a boolean"),
        ({"tell": 1, "reward": "much"}, "much"),
        ('{"tell": 1, "reward": NaN}\n', "NaN is not a number"),
        ('{"tell": 1, "tell": 1, "reward": 0}\n', "twice"),
        ('{"tell": 1e5000, "reward": 0}\n', "out of range"),
        ({"tell": 2, "reward": 0}, "was never given"),
        ({"tell": 1, "reward": 0, "late": True}, "late"),
        ({"public": False}, "write true"),
        ({"end": 1}, "true or false"),
        ({"ticket": 1.5}, "not whole"),
    ]
    found = by_lines(dpaccount, monkeypatch, "s", *(line for line, _ in lines), {"ticket": 1})
    for (line, said), each in zip(lines, found, strict=False):
        assert said in each["error"], (line, each)
    assert found[-1] == first[0]
    assert (claim.parent / "s").read_bytes() == before
    assert by_lines(dpaccount, monkeypatch, "s", {"tell": 1, "reward": None})[0]["counts"] is False


def test_devices_bits_come_by_the_block(dpaccount, tmp_path, monkeypatch):
    """A shuffler's line; neither a reward by itself nor anything but 0 and 1 is taken for a bit."""
    law = 'law = "shuffled"\nepsilon = 1\ndelta = "1/100"'
    claim = CLAIM.partition("[subject.parameters]")[0].replace("moment-gp-ucb", "arm-phases")
    claim = claim.replace("joint", "central").replace("1e-6", '"1/100"')
    (tmp_path / "claim.toml").write_text(
        f"{claim}[subject.parameters]\nrounds = 20\narms = 2\nblock = 10\n{law}\n"
    )
    right = {"bits": [0, 0, 0, 1, 1, 0, 1, 0, 1, 1]}
    wrong_ones = [{"bits": [0] * 9 + [2]}, {"bits": [0] * 9 + [0.5]}, {"bits": 5}, {"bits": [1] * 9}]
    requests = [*[{"ask": None}] * 10, *wrong_ones, {"tell": 1, "reward": 1}, right, {"ask": None}]
    found = by_lines(dpaccount, monkeypatch, "s", *requests, {"end": True})
    said = ("in [0, 1]", "not whole", "give a list", "9 bits", "by itself")
    for part, each in zip(said, found[10:15], strict=True):
        assert part in each["error"]
    assert found[15] == {"schema": "dpaccount/told/1", "ticket": None, "counts": True}
    assert (found[16]["ticket"], found[17]["public"]["sums"]) == (11, [5])


def test_what_fails_in_a_step_ends_the_lines(dpaccount, claim, monkeypatch):
    """After a release that failed nobody is served by what memory holds; the state is as the file has it."""
    context = json.loads(CONTEXT)

    def fails(*_):
        raise InputError("the ledger is gone")

    with monkeypatch.context() as patch:
        patch.setattr("bandits.learning.session.Session._close_batch", fails)
        lines = "".join(json.dumps({"ask": context}) + "\n" for _ in range(6))
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
        code, out, err = dpaccount("session", claim, "--state", "s", "--rehearse", 1)
    assert (code, len(out.splitlines())) == (2, 2)
    assert "the ledger is gone" in err
    assert [each["ticket"] for each in by_lines(dpaccount, monkeypatch, "s", {"ask": context})] == [3]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b" " * (2**20 + 1))))
    refused(dpaccount("session", claim, "--state", "s", "--rehearse", 1), "more than 1048576 bytes")


def test_real_people_need_a_certificate_and_a_ledger(dpaccount, claim, tmp_path):
    refused(dpaccount("ask", claim, "--state", "s"), "certify the claim first")
    (tmp_path / "c.json").write_text("{}")
    refused(dpaccount("ask", claim, "--state", "s", "--certificate", "c.json"), "c.json: ")
    rehearsed = ("--state", "s", "--rehearse", 1, "--ledger", "sqlite:///b.db")
    refused(dpaccount("ask", claim, *rehearsed), "leave --ledger and --scope, or --rehearse, out")
    rehearsed = ("--state", "s", "--rehearse", 1, "--scope", "team")
    refused(dpaccount("ask", claim, *rehearsed), "leave --ledger and --scope, or --rehearse, out")
    assert not (tmp_path / "s").exists()


def paid(tmp_path, options, **said):
    """Serve nobody by a claim that says this of its data; return what the scope team spent of each ledger."""
    init = {
        "epsilon": 9,
        "delta": "1e-5",
        "unit": "person",
        "relation": "replace-one",
        "measure": "approximate",
    }
    urls = [f"sqlite:///{tmp_path}/{name}.db" for name in ("x", "y")]
    for url in urls:
        make(url, **init)
        with Ledger.open(url) as ledger:
            ledger.set_scope("team", 9, "1e-5")
            ledger.set_scope("other", 9, "1e-5")
    guarantee = SimpleNamespace(unit="person", delta=Fraction(1, 10**6))
    claim = SimpleNamespace(path="claim.toml", guarantee=guarantee, **{"ledger": None, "scope": None, **said})
    claim.paid_by = partial(Claim.paid_by, claim)
    bandit = MomentGpUcb(rounds=6, candidates=2, size=3, nodes_per_axis=2, refresh=2)
    with options.paid(claim, bandit, 0, options.state):
        pass
    spent = []
    for url in urls:
        with Ledger.open(url) as ledger:
            by_name = {one["scope"]: one["spent"]["epsilon"]["upper"] for one in ledger.show()["scopes"]}
            spent.append((ledger.show()["spent"]["epsilon"]["upper"] > 0, by_name["team"] > 0))
    return spent


@deep
@pytest.mark.parametrize(
    ("named", "said", "spent"),
    [
        ({"ledger": "y"}, {}, [(False, False), (True, False)]),
        ({"ledger": "y"}, {"scope": "team"}, [(False, False), (True, True)]),
        ({"ledger": "y", "scope": "team"}, {}, [(False, False), (True, True)]),
        ({"ledger": "y", "scope": "team"}, {"scope": "team"}, [(False, False), (True, True)]),
        ({}, {"ledger": "x", "scope": "team"}, [(True, True), (False, False)]),
        ({}, {"scope": "team"}, "--ledger is missing"),
        ({"ledger": "y"}, {"ledger": "x"}, "claim.toml names the ledger that pays; leave --ledger out"),
        ({"ledger": "y", "scope": "other"}, {"scope": "team"}, "is charged in the scope team"),
        ({"ledger": "y", "scope": ""}, {}, "'' is no name"),
        ({"ledger": "y", "scope": ""}, {"scope": "team"}, "is charged in the scope team"),
    ],
)
def test_the_ledger_and_the_scope_are_the_claims_or_named(tmp_path, named, said, spent):
    at = {
        name: f"sqlite:///{tmp_path}/{value}.db" if name == "ledger" else value
        for name, value in named.items()
    }
    said = {
        name: f"sqlite:///{tmp_path}/{value}.db" if name == "ledger" else value
        for name, value in said.items()
    }
    options = SessionOptions(state=tmp_path / "people.state", **at)
    if isinstance(spent, list):
        assert paid(tmp_path, options, **said) == spent
    else:
        with pytest.raises(InputError, match=spent):
            paid(tmp_path, options, **said)


@deep
def test_a_session_is_paid_once_and_only_as_it_was_certified(dpaccount, claim, tmp_path, certified):
    init = "ledger init sqlite:///b.db --epsilon 1 --delta 1e-6 --unit person --relation replace-one"
    assert dpaccount(*init.split(), "--measure", "approximate")[0] == 0
    shutil.copy(certified, tmp_path / "c.json")
    rest = ("--state", "s", "--certificate", "c.json", "--json")
    refused(dpaccount("ask", claim, *rest, "--context", "one.json"), "--ledger is missing")
    rest = (*rest, "--ledger", "sqlite:///b.db")
    refused(
        dpaccount("ask", claim, *rest, "--scope", "team", "--context", "one.json"), "there is no scope team"
    )
    for number in range(1, 7):
        assert answer(dpaccount("ask", claim, *rest, "--context", "one.json"))["ticket"] == number
        assert answer(dpaccount("tell", claim, number, 1, *rest))["counts"] is True
    assert answer(dpaccount("ask", claim, *rest, "--end"))["releasable"] is True
    with Ledger.open("sqlite:///b.db") as ledger:
        assert ledger.show()["entries"] == 1
        assert ledger.verify()["valid"]
    second = ("--state", "other", *rest[2:])
    refused(dpaccount("ask", claim, *second, "--context", "one.json"), "beyond the budget", 1)
    claim.write_text(CLAIM.replace("refresh = 2", "refresh = 3"))
    refused(dpaccount("ask", claim, *rest, "--context", "one.json"), "about another claim")


@deep
def test_real_people_are_not_served_by_a_certificate_that_has_expired(dpaccount, claim):
    until = '[governance]\nvalid_until = "{}"\n'
    claim.write_text(CLAIM + until.format("2020-01-01"))
    refused(dpaccount("certify", claim, "--out", "out"), "until 2020-01-01")
    claim.write_text(CLAIM + until.format("2999-01-01"))
    assert dpaccount("certify", claim, "--out", "out", "--jobs", "1")[0] == 0
    file = claim.parent / "out" / "certificate.json"  # as it was made years ago
    older = json.loads(file.read_text().replace("2999-01-01", "2020-01-01"))
    file.write_text(json.dumps(seal({**older, "created": "2020-01-01T00:00:00Z"})))
    claim.write_text(CLAIM + until.format("2020-01-01"))
    rest = ("--state", "s", "--certificate", "out/certificate.json", "--ledger", "sqlite:///b.db")
    refused(dpaccount("ask", claim, *rest, "--context", "one.json"), "valid until 2020-01-01")
