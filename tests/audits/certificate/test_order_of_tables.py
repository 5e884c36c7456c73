"""Tables of TOML and JSON have no order: shuffling them changes no claim, verdict, digest, release or cost."""

import json
import random
import tomllib

import pytest
from msgspec.structs import replace as changed

from audits import consistency
from audits.certificate import release
from audits.certificate.document import describe_subject, seal, unsealed
from audits.certificate.make import AuditBudget, certify
from audits.claim import claim_at
from audits.subjects.catalogue import entries, find, on_table, subject_of
from dpaccount.documents import Place, canonical, parse_json, parse_toml, read_bytes
from dpaccount.extensions import SUBJECTS, extension
from dpaccount.ledger.ledger import Ledger, init
from dpaccount.plan.plan_file import read_plan
from tests.audits.certificate.test_tables import claim_on, table
from tests.conftest import ROOT
from tests.depth import deep

NAMES = {entry.name for entry in entries()}


def installed(path):
    """Return whether a file of an example is a claim, about a subject that is there or code of its own."""
    content = tomllib.loads(path.read_text())
    use = content["subject"]["use"] if content.get("schema") == "dpaccount/claim/1" else ""
    return ":" in use or use in NAMES or extension(SUBJECTS, use) is not None


CLAIMS = sorted(filter(installed, ROOT.glob("examples/**/*.toml")))


def shuffled(value, rng):
    """Return a parsed document with the keys of all its tables in another order."""
    if isinstance(value, dict):
        names = list(value)
        rng.shuffle(names)
        return {name: shuffled(value[name], rng) for name in names}
    return [shuffled(each, rng) for each in value] if isinstance(value, list) else value


def orders(content, seeds=range(4)):
    """Return a document as it is, sorted, reversed and in random orders."""
    yield content
    yield json.loads(json.dumps(content, sort_keys=True, default=str))
    yield from (shuffled(content, random.Random(seed)) for seed in seeds)


def in_order(path, seed):
    """Return the claim in a file, its tables shuffled by this seed; None: as they are written."""
    content = parse_toml(read_bytes(path), str(path)).value
    new = content if seed is None else shuffled(content, random.Random(seed))
    return claim_at(Place(new, str(path), toml=True), path)


@deep
@pytest.mark.parametrize("path", CLAIMS, ids=lambda path: path.stem)
def test_a_claim_is_the_same_in_every_order(path, depth):
    first, *others = (in_order(path, seed) for seed in (None, *map(depth.seed, range(6))))
    for other in others:
        assert other == first  # what it says, with parameters, table and bounds
        assert canonical(other.written) == canonical(first.written)
        if ":" not in first.use and first.use not in ("row-noise", "po-curator"):
            assert describe_subject(other, subject_of(other)) == describe_subject(first, subject_of(first))
        if first.table is not None and ":" not in first.use and first.use != "row-noise":
            (_, one), (_, two) = (on_table(claim, find(first.use).made_by) for claim in (first, other))
            assert (one.names, one.default, one.labels) == (two.names, two.default, two.labels)


@deep
@pytest.mark.parametrize(
    ("use", "read"), [("histogram", 'column = "city"'), ("gaussian-sum", 'columns = ["y", "x"]\nby = "city"')]
)
def test_verdict_digest_and_release_are_the_same_in_every_order(tmp_path, use, read):
    table(tmp_path)
    path = claim_on(tmp_path, use, read)
    url = f"sqlite:///{tmp_path}/t.db"
    init(url, epsilon=1000, delta="1e-3", unit="one row", relation="replace-one", measure="approximate")
    sealed, released = set(), []
    for seed in range(4):
        claim = in_order(path, seed)
        subject = subject_of(claim)
        certificate, proved = certify(claim, subject, AuditBudget(quick=True))
        assert certificate.verdict == "CERTIFIED"
        certificate = changed(certificate, created="2026-01-01T00:00:00Z")
        sealed.add(seal(unsealed(certificate))["digest"])
        due = release.prepare(claim, subject)
        run = release.find_run(due, again=False)
        assert (run.certificate is None) == (seed == 0)
        released.append(run.certificate or release.make(run, proved, certificate)[0])
        for document in orders(released[-1]):
            assert consistency.judged(json.dumps(document).encode())[0] == "CERTIFIED"
    assert len(sealed) == 1
    assert all(each == released[0] for each in released)
    with Ledger.open(url) as ledger:
        assert ledger.show()["entries"] == 1  # one charge


def test_a_plan_is_the_same_in_every_order():
    gaussian = {"event": "gaussian", "sigma": 4, "sensitivity": 2, "count": 3}
    sample = {"event": "poisson_subsampled", "rate": "1/9", "of": gaussian, "count": 5, "cover": [2, 9]}
    events = [
        {**gaussian, "cover": [1, 8]},
        sample,
        {"event": "sequence", "of": [{"event": "pure", "epsilon": 1}, sample["of"]]},
        {"event": "tree", "rounds": 9, "sigma": 3, "start": 4, "sensitivity": 1},
        {"event": "rdp", "points": [[2, 1], [3, 2]], "cover": [1, 1]},
    ]
    plan = {"schema": "dpaccount/events/1", "relation": "add-remove", "events": events}
    read = [read_plan(parse_json(json.dumps(each), "plan")) for each in orders(plan)]
    assert all(each == read[0] for each in read)
