"""Every published schema of the core is that of a document which a command really writes or prints."""

import json
import shutil
import tomllib

import pytest

from audits.certificate import files, sign
from dpaccount.schemas.catalogue import ANSWERS, FILES
from tests.audits.certificate.test_sign import keys
from tests.audits.cli.test_schemas import RECEIVED, answers
from tests.documents import kind_of, wrong

WORDS = (  # after those of test_schemas
    ("audit", "laplace-sum", "--epsilon", 1, "--trials", 20, "--store", "work.db", "--json"),
    ("work", "list", "--store", "work.db", "--json"),
)


def documents(dpaccount, tmp_path, root):
    """Yield (kind, document) of everything that is written or printed."""
    yield from answers(dpaccount, tmp_path)
    yield from printed(dpaccount, WORDS)
    private, _ = keys(tmp_path, "one")
    yield "ledger-checkpoint", document_of(dpaccount("ledger", "checkpoint", "l.db", "--key", private))
    yield "ledger-repair", document_of(dpaccount("ledger", "repair", "l.db", "--json"))
    yield "ledger-export", json.loads(dpaccount("ledger", "export", "l.db")[1].splitlines()[0])
    yield "dp-event", document_of(dpaccount("import", "events", "plan.json"))
    for name, file in (("events", "plan.json"), ("derivation", "d.json")):
        yield name, json.loads((tmp_path / file).read_text())
    yield from of_a_study(dpaccount, tmp_path, root)
    assert dpaccount("account", "plan.json", "--delta", "1e-5", "--certificate", "cost.json")[0] == 0
    yield "account-certificate", json.loads((tmp_path / "cost.json").read_text())
    (tmp_path / "canaries.csv").write_text("included,score\n" + "0,1\n1,2\n" * 20)
    dpaccount("audit", "--one-run", "canaries.csv", "--mu", 1, "--certificate", "one.json")
    yield "one-run-certificate", json.loads((tmp_path / "one.json").read_text())
    (tmp_path / "count.py").write_text("def count(data, rng):\n    return data.sum() + rng.laplace(0, 3)\n")
    words = ("trace", "count:count", "--epsilon", 1, "--shape", 5, "--low=0", "--high=3", "--json")
    yield "trace", json.loads(dpaccount(*words)[1])
    yield "certificate", RECEIVED
    yield "claim", RECEIVED["claim"]
    yield "signature", json.loads(sign._message(RECEIVED, "2026-01-01T00:00:00Z"))
    yield "release", files.answer(RECEIVED, tmp_path)


def printed(dpaccount, commands):
    """Yield (kind, document) of what these commands print."""
    for words in commands:
        code, out, err = dpaccount(*words)
        assert code in (0, 1, 3), (words, err)
        document = json.loads(out)
        yield kind_of(document, words), document


def of_a_study(dpaccount, tmp_path, root):
    """Yield a study with one statistic, its plan and its release."""
    shutil.copy(root / "examples" / "clinic_visits" / "visits.csv", tmp_path)
    text = (root / "examples" / "clinic_visits" / "study.toml").read_text()
    (tmp_path / "study.toml").write_text("[[statistic]]".join(text.split("[[statistic]]")[:2]))
    yield "study", tomllib.loads(text)
    yield "study-plan", document_of(dpaccount("plan", "study.toml", "--json"))
    budget = ("--epsilon", 2, "--delta", "1e-6", "--unit", "one patient", "--relation", "replace-one")
    assert dpaccount("ledger", "init", "sqlite:///visits.db", *budget, "--measure", "approximate")[0] == 0
    yield "study-release", document_of(dpaccount("release", "study.toml", "--quick", "--jobs", 1, "--json"))


def document_of(result):
    code, out, err = result
    assert code == 0, err
    return json.loads(out)


@pytest.mark.slow
def test_every_schema_is_that_of_a_real_document(dpaccount, tmp_path, root):
    are_of(documents(dpaccount, tmp_path, root), {*FILES, *ANSWERS})


def are_of(documents, kinds):
    """Hold documents against their schemas; some are of each of these kinds."""
    met = set()
    for name, document in documents:
        assert not wrong(name, document), name
        met.add(name)
    assert kinds - met == set()
