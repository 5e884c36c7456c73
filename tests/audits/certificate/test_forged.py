"""Genuine certificates of every kind, each member deleted, swapped, perturbed or taken from another one.

The forger is honest about digests: steps are chained anew, evidence follows its step, the hazards are those that
the forged document must say, a guarantee, the parameters and the attacked point are changed in both places, and
the whole is sealed.  What stays accepted is free: nothing else in the document says it, and `FREE` says why.
"""

import contextlib
import copy
import json
import random
import re

import pytest

from audits import consistency
from audits.certificate import release
from audits.certificate.document import seal, unsealed
from audits.certificate.make import AuditBudget, certify
from audits.claim import read_claim
from audits.consistency import verdict as of_verdict
from audits.subjects.catalogue import subject_of
from dpaccount import checker
from dpaccount.checker import conversions
from dpaccount.ledger.ledger import init
from tests.audits.certificate.test_tables import claim_on, table
from tests.conftest import ROOT
from tests.depth import deep
from tests.dpaccount.checker.test_forgeries import accepted, memory, same, wrong

#: Members that one document says once, by their paths, and why each is free.
FREE = {
    r"claim/name": "whose claim it is",
    r"(claim/)?guarantee/unit": "what a unit is called, without a ledger; a hazard leaves it to the reader",
    r"claim/audit(/trials)?": "more runs than were made: slow ones are fewer",
    r"claim/data/(file|ledger|scope)": "where data and ledger are",
    r"claim/data/public": "the author's word, with its hazard",
    r"claim/data/id": "the name of the column that says whose a row is, with its hazard",
    r"claim/data/columns": "those that parameters narrow, or nobody reads",
    r"claim/data/columns/[^/]+(/.*)?": "of columns that nothing reads; of others their defaults, with a hazard",
    r"(claim/)?subject/parameters(/.*)?": "what a class makes of its own parameters is not in the document",
    r"subject/source": "a citation",
    r"subject/code": "of which code; a hazard says so, and a release names the same",
    r"subject/status": "the author's word: what is not sound is a hazard",
    r"proved/epsilon/lower": "any lower end that holds",
    r"proved/derivation/\d+/with/because": "where the evidence is, which repeats it",
    r"sensitivity/\d+/(examples|source)": "of a hypothesis that is tested by itself",
    r"sensitivity/\d+/worst": "any movement above 0 and within the bound",
    r"audit/attack": "a name",
    r"audit/quick": "false where fewer runs were made than asked for: slow ones",
    r"audit/distance": "how far the pair is apart, of which the counts say more",
    r"audit/points/\d+/event": "the threshold; its counts are compared",
    r"audit/points/\d+/(power|false_alarm)": "ends that the counts support, also weaker ones",
    r"audit/points/\d+/(hits|alarms)": "counts that leave the limits standing, with their words",
    r"audit/points/\d+/delta": "of the proof, a larger one",
    r"audit/points/\d+": "the same limits, attacked otherwise",
    r"audit/witness(/.*)?": "which pair of made-up datasets of at most that size",
    r"proved/derivation/\d+/with/(grid|covers/.*)": "other noise and covers that cost the same",
    r"proved/replace_one": "null says less, and a hazard says so",
    r"release/(data|ledger_head|ledger_entry)": "which data and ledger; a hazard says so",
    r"release/report(/.*)?": "what was released",
    r"release/evaluation.*": "figures of public data",
    r"release/budget/before(/.*)?": "less: others may have charged between the readings",
    r"release/budget/(delta|measure)": "another in which the same figures follow",
    r"release/budget/(after|rest)/(lower|upper)": "its other end, a rounding away",
    r"release/budget/left(/.*)?": "amounts within the budget: others may have charged, too; or none, as earlier",
    r"subject/own_epsilon": "of some subjects earlier versions did not say it",
    r"release/budget": "as earlier versions wrote it",
    r"release": "the same certificate without its release",
    r"environment.*": "versions",
    r"hazards(/\d+)?": "findings, after those that must stand first",
    r"created": "when, no later than the last day of the claim",
}


#: Members of a table's certificates that are compared all the same, but for parameters that are left out.
COMPARED = {
    "persons": r"subject/parameters/(rows|cells|column|relation|persons|max_rows)|claim/data/columns(/city(?!/missing).*)?",
    "rows": r"subject/parameters/(rows|column|relation|low|high)|claim/data/columns(/y(?!/missing).*)?",
}


def certified(path, **how):
    claim = read_claim(path)
    return claim, *certify(claim, subject_of(claim), AuditBudget(quick=True, **how))


def released(path):
    claim, certificate, proved = certified(path)
    subject = subject_of(claim)
    due = release.read(release.identify(claim, subject), subject)
    return release.make(release.find_run(due, again=False), proved, certificate)[0]


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """Genuine certificates: a table of persons, one of rows, both released; a mechanism."""
    folder = tmp_path_factory.mktemp("genuine")
    table(folder)
    init(
        f"sqlite:///{folder}/t.db",
        epsilon=9,
        delta="1e-3",
        unit="one row",
        relation="replace-one",
        measure="approximate",
    )
    about = 'id = "who"\nmax_rows = 2\n'
    read = 'column = "city"\nsigma = 8'
    persons = released(claim_on(folder, "histogram", read, rows=32, about=about, epsilon=3))
    rows = released(claim_on(folder, "clipped-mean", 'column = "y"', epsilon=3, name="mean"))
    simple = certified(ROOT / "examples/mechanisms/binary-tree.toml")[1]
    made = {"persons": persons, "rows": rows, "simple": seal(unsealed(simple))}
    return {name: json.loads(json.dumps(each)) for name, each in made.items()}


def at(document, path):
    for key in path:
        document = document[key]
    return document


def put(document, path, value):
    """Return the document with one member changed, or `GONE`."""
    new = copy.deepcopy(document)
    place = at(new, path[:-1])
    if value is GONE:
        del place[path[-1]]
    else:
        place[path[-1]] = copy.deepcopy(value)
    return new


GONE = object()
LONG = 12  # members of a list that are all tried


def fitting(new, document):
    """Make all that the forger knows consistent again: copies, digests, hazards, seal."""
    for part in ("derivation", "refutation"):
        chained(new, document, part)
    with contextlib.suppress(Exception):  # a forgery of any shape
        own = document["hazards"][len(consistency.hazards_of(document)) :]
        if new["hazards"] == document["hazards"]:
            new["hazards"] = [*consistency.hazards_of(new), *own]
        for point in new["audit"]["points"]:
            counts_of = "seen {hits} of {runs} against {alarms} of {other_runs}".format(**point)
            point["event"] = re.sub(r"seen \S+ of \S+ against \S+ of \S+$", counts_of, point["event"])
    body = {name: value for name, value in new.items() if name not in ("digest", "signature")}
    return {**new, "digest": checker.digest(body)}


def chained(new, document, part):
    with contextlib.suppress(Exception):  # a forgery of any shape
        steps = new["proved"][part]
        old = [step["digest"] for step in document["proved"][part]]
        for step in steps:
            body = {"rule": step["rule"], "with": step["with"], "gives": step["gives"]}
            step["digest"] = checker.digest({**body, "from": [steps[k]["digest"] for k in step["from"]]})
        moved = dict(zip(old, (step["digest"] for step in steps), strict=True))
        for entry in new["sensitivity"]:
            entry["step"] = moved.get(entry["step"], entry["step"])


#: places that say the same, of which a forger changes both
TWICE = [
    (("claim", "guarantee"), ("guarantee",)),
    (("claim", "subject", "parameters"), ("subject", "parameters")),
]


def changed(document, path, value):
    """Yield the forgeries of one change: there alone, and where the same stands too."""
    yield fitting(put(document, path, value), document)
    for one, two in TWICE:
        for here, there in ((one, two), (two, one)):
            if path[: len(here)] == here and len(path) > len(here):
                try:
                    both = put(put(document, path, value), (*there, *path[len(here) :]), value)
                except (KeyError, IndexError, TypeError):
                    continue
                yield fitting(both, document)


def members(value, path=()):
    """Yield every member with its path; of a long list the first ones and the last."""
    if isinstance(value, dict | list):
        for key, member in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(value, dict) or key < LONG or key == len(value) - 1:
                yield (*path, key), member
                yield from members(member, (*path, key))


def mutations(name, documents, rng):
    """Yield (path, what was done, value) for every member at every level."""
    document = documents[name]
    for path, member in members(
        {k: v for k, v in document.items() if k not in ("digest", "signature", "schema")}
    ):
        if path[-1] == "digest" and path[0] == "proved":
            continue
        yield path, "deleted", GONE
        place = at(document, path[:-1])
        siblings = list(place.values()) if isinstance(place, dict) else place
        others = [each for each in siblings if not same(each, member)]
        for other in rng.sample(others, min(2, len(others))):
            yield path, "swapped", other
        for other in (each for title, each in documents.items() if title != name):
            try:
                foreign = at(other, path)
            except (KeyError, IndexError, TypeError):
                continue
            if not same(foreign, member):
                yield path, "transplanted", foreign
        if not isinstance(member, dict | list) or not member:
            for other in near(member):
                yield path, "perturbed", other


def near(value):
    """Return other values of the same type, and a few of others."""
    yield from rng_sample(wrong(value), 4)
    match value:
        case bool():
            yield not value
        case int():
            yield from (value + 1, value - 1, 2 * value, 0, 10**30)
        case float():
            yield from (value * 1.01 + 0.01, value / 2, -value, 0.0, 1e30)
        case str() if re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?(/\d+)?", value):
            yield from ("0", f"1{value}", f"{value}1", "1/3")
        case str():
            yield from (f"{value} too", "")


def rng_sample(values, count):
    return values if len(values) <= count else values[:: max(len(values) // count, 1)]


def free(document, path, how):
    name = "/".join(map(str, path))
    left_out = how == "deleted" and name.startswith("subject/parameters/")
    compared = re.fullmatch(COMPARED.get(document, ""), name) and not left_out
    return not compared and any(re.fullmatch(pattern, name) for pattern in FREE)


def equal(a, b):
    """Say whether two members are the same number, written in two ways."""
    try:
        return float(a) == float(b) and bool not in (type(a), type(b))
    except (TypeError, ValueError, OverflowError):
        return False


@pytest.fixture(autouse=True)
def remembered(monkeypatch):
    """Remember the two costly decisions, which depend on their arguments alone."""
    for module, name in ((conversions, "implies"), (of_verdict, "implies"), (of_verdict, "binomial_tail")):
        monkeypatch.setattr(module, name, memory(getattr(module, name)))


@deep
@pytest.mark.parametrize("name", ["persons", "rows", "simple"])
def test_every_member_is_compared_or_free(documents, name, depth):
    is_compared_or_free(documents, name, depth.seed(1))


def is_compared_or_free(documents, name, seed=1):
    """Try every forgery of one member of a document, others' members included: what is accepted is free."""
    document = documents[name]
    assert accepted(document)
    tried, missed = 0, {}
    for path, how, value in mutations(name, documents, random.Random(seed)):
        for forged in changed(document, path, value):
            if forged == document:
                continue
            tried += 1
            same_number = equal(value, at(document, path))
            if accepted(forged) and not free(name, path, how) and not same_number:
                missed.setdefault("/".join(map(str, path)), []).append((how, value))
    assert tried > 1000
    assert missed == {}


COLUMNS = ("claim", "data", "columns")
HELD, SAID, BUDGET = ("subject", "parameters"), ("claim", "subject", "parameters"), ("release", "budget")
NONE_SEEN = [(("audit", "points", 0, name), 0) for name in ("hits", "alarms", "power")]


def entries(document, **members):
    return [
        (("sensitivity", k, name), value)
        for k in range(len(document["sensitivity"]))
        for name, value in members.items()
    ]


#: kinds of contradiction: what the forger writes in a table of persons, and why it is refused
KINDS = {
    "nothing moved": (lambda d: entries(d, worst="0"), "nothing moved"),
    "no columns": (lambda _: [(COLUMNS, GONE)], "declares its columns"),
    "no table": (
        lambda _: [(("claim", "data", n), GONE) for n in ("columns", "rows", "id", "max_rows")],
        "is not declared",
    ),
    "an empty table": (lambda _: [(COLUMNS, {})], "a table has columns"),
    "no id": (lambda _: [(("claim", "data", "id"), GONE)], "max_rows goes with id"),
    "one row a person": (
        lambda _: [(("claim", "data", n), GONE) for n in ("id", "max_rows")],
        "not the table's",
    ),
    "another max_rows": (lambda _: [(("claim", "data", "max_rows"), 3)], "not the table's"),
    "another max_rows twice": (
        lambda _: [(("claim", "data", "max_rows"), 4), ((*HELD, "max_rows"), 4), ((*HELD, "rows"), 128)],
        "are proved",
    ),
    "other rows": (lambda _: [(("claim", "data", "rows"), 33)], "not the table's"),
    "fewer rows, everywhere": (
        lambda _: [(("claim", "data", "rows"), 3), ((*HELD, "rows"), 6), ((*HELD, "persons"), 3)],
        "more rows than the table",
    ),
    "low above high": (lambda _: [((*COLUMNS, "x", "low"), 7)], "in a wrong order"),
    "too few values": (lambda _: [((*COLUMNS, "city", "values"), ["north"])], "cells"),
    "a value twice": (lambda _: [((*COLUMNS, "city", "values"), ["north", "north"])], "each value once"),
    "no values": (lambda _: [((*COLUMNS, "city", "values"), [])], "each value once"),
    "a default of no value": (lambda _: [((*COLUMNS, "city", "missing"), "east")], "as its default"),
    "a column that nobody declares": (
        lambda _: [((*HELD, "column"), "town"), ((*SAID, "column"), "town")],
        "not declared",
    ),
    "nothing attacked": (
        lambda d: (
            [
                (("audit", "points", k, name), value)
                for k in range(len(d["audit"]["points"]))
                for name, value in {
                    "hits": 0,
                    "alarms": 0,
                    "power": 0.0,
                    "false_alarm": 1.0,
                    "epsilon_lower": 0.0,
                }.items()
            ]
            + [(("audit", "epsilon_lower"), 0.0)]
        ),
        "no audit of any event",
    ),
    "made too late": (
        lambda _: [(("claim", "governance"), {"valid_until": "2026-01-01"})],
        "after the last day",
    ),
    "spent less": (lambda d: [((*BUDGET, "before"), d["release"]["budget"]["rest"])], "less is spent"),
    "nothing spent": (
        lambda d: [((*BUDGET, "after"), d["release"]["budget"]["before"])],
        "nothing was spent",
    ),
    "more left than there was": (
        lambda _: [((*BUDGET, "rest"), {"lower": 99.0, "upper": 99.0})],
        "than the whole",
    ),
    "more left than is": (lambda _: [((*BUDGET, "rest"), {"lower": 8.5, "upper": 8.5})], "not the whole"),
    "more delta left": (lambda _: [((*BUDGET, "left"), {"delta": 0.5})], "more delta is left"),
    "more μ² left": (lambda _: [((*BUDGET, "left"), {"mu_squared": 1e4})], "more mu_squared is left"),
    "more ρ left": (lambda _: [((*BUDGET, "left"), {"rho": 1e4})], "more rho is left"),
    "more pure ε left": (lambda _: [((*BUDGET, "left"), {"pure": 1e4})], "more pure is left"),
    "another unit": (lambda _: [((*BUDGET, "unit"), "a household")], "counts"),
    "another measure": (lambda _: [((*BUDGET, "measure"), "zcdp")], "lower end"),
    "a measure without a bound": (lambda _: [((*BUDGET, "measure"), "gdp")], "no ledger in"),
    "an unknown measure": (lambda _: [((*BUDGET, "measure"), "bits")], "no known measure"),
    "no delta": (lambda _: [((*BUDGET, "delta"), "0")], "delta"),
}


@deep
@pytest.mark.parametrize("kind", KINDS)
def test_what_contradicts_itself_is_refused(documents, kind):
    document, (edits, reason) = documents["persons"], KINDS[kind]
    new = document
    for path, value in edits(document):
        new = put(new, path, value)
    with pytest.raises(checker.Rejected, match=reason):
        consistency.judged(json.dumps(fitting(new, document)).encode())


@deep
def test_bounds_are_those_of_the_proof(documents):
    """A column that reaches to 1e14, or parameters that say so, where the proof clips rows at 1/2."""
    document = documents["rows"]
    far = [((*COLUMNS, "y", "high"), 1e14)]
    for edits, reason in (
        (far, "is not the table's"),
        ([*far, ((*HELD, "high"), 1e14)], "low and high are not those of the proof"),
        ([((*SAID, "high"), 1e14), ((*HELD, "high"), 1e14)], "low and high are not those of the proof"),
        ([((*COLUMNS, "y", "high"), 1e30)], "in a wrong order"),
    ):
        new = document
        for path, value in edits:
            new = put(new, path, value)
        with pytest.raises(checker.Rejected, match=reason):
            consistency.judged(json.dumps(fitting(new, document)).encode())
