"""Certificates of a session and of rows that a curator hands out, forged as all others are."""

import json
import shutil

import pytest

from audits.certificate.document import seal, unsealed
from audits.certificate.folder import write_all
from dpaccount.ledger.ledger import init
from papers.kharkovskii.curate import Order, curate
from tests.audits.certificate import test_forged as made
from tests.conftest import ROOT
from tests.depth import deep

remembered, core = made.remembered, made.documents


@pytest.fixture(scope="module")
def documents(core, tmp_path_factory):
    """Genuine certificates: the core's, of a session, and of rows that are handed out."""
    folder = tmp_path_factory.mktemp("handed-out")
    url = f"sqlite:///{folder}/field.db"
    unit, bounded = "a point moves by at most one unit", "bounded-row, radius 1"
    init(url, epsilon=6, delta=0, unit=unit, relation=bounded, measure="pure")
    shutil.copytree(ROOT / "examples" / "outsourced", folder / "outsourced")
    field, few = folder / "outsourced" / "claim.toml", folder / "outsourced" / "field.csv"
    field.write_text(field.read_text().replace("rows = 400", "rows = 20"))
    few.write_text("".join(few.read_text().splitlines(keepends=True)[:21]))
    write_all(seal(unsealed(made.certified(field)[1])), folder / "field")
    order = Order(field, few, folder / "z.csv", url, folder / "field" / "certificate.json")
    session = made.certified(ROOT / "examples/contextual_release/claim.toml")[1]
    more = {"curated": curate(order).certificate, "session": seal(unsealed(session))}
    return core | json.loads(json.dumps(more))


@deep
@pytest.mark.parametrize("name", ["persons", "rows", "curated", "session", "simple"])
def test_every_member_is_compared_or_free(documents, name):
    """Those of the core again: a forger may take members from these, too."""
    made.is_compared_or_free(documents, name)
