"""Every published schema of bandits and papers is that of a document which a command really writes or prints."""

import io
import re
import shutil
import tomllib

from dpaccount.extensions import SCHEMAS, extensions
from dpaccount.schemas.catalogue import schemas
from tests.audits.cli.test_schemas import are_of, document_of, printed
from tests.bandits.test_sessions import CLAIM, CONTEXT
from tests.depth import deep

REHEARSED = ("--state", "people.state", "--rehearse", 1, "--json")
WORDS = (
    ("ask", "people.toml", *REHEARSED, "--context", "one.json"),
    ("tell", "people.toml", 1, 0.5, *REHEARSED),
    ("ask", "people.toml", *REHEARSED, "--end"),
    ("curate", "field.csv", "out.csv", "--claim", "published.toml", "--published-unsound", "--json"),
    ("ask", "model.state", "--table", "out.csv", "--json"),
    ("reproduce", "kharkovskii2020-figure2c", "--trials", 2, "--rounds", 32, "--jobs", 1, "--json"),
    ("run", "experiment.toml", "--jobs", 1, "--json"),
    ("claims", "dubey-lemma2", "--json"),
)


def documents(dpaccount, monkeypatch, tmp_path, root):
    """Yield (kind, document) of everything that is written or printed."""
    (tmp_path / "people.toml").write_text(CLAIM)
    (tmp_path / "one.json").write_text(CONTEXT)
    for file in ("field.csv", "published.toml"):
        shutil.copy(root / "examples" / "outsourced" / file, tmp_path)
    experiment = (root / "examples" / "experiments" / "people.toml").read_text()
    (tmp_path / "experiment.toml").write_text(
        experiment.replace("512", "32").replace("trials = 10", "trials = 2")
    )
    yield "experiment", tomllib.loads(experiment)
    yield from printed(dpaccount, WORDS)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"ask": 1, "tell": 2}\n')))
    yield "session-error", document_of(dpaccount("session", "people.toml", "--state", "s", "--rehearse", 1))
    row = document_of(dpaccount("ask", "model.state", "--json"))["index"]
    yield "answered", document_of(dpaccount("tell", "model.state", row, 1, "--json"))


@deep
def test_every_schema_is_that_of_a_real_document(dpaccount, monkeypatch, tmp_path, root):
    kinds = {each.name.partition("/")[0] for each in extensions(SCHEMAS) if each.ours}
    are_of(documents(dpaccount, monkeypatch, tmp_path, root), kinds)


@deep
def test_every_format_that_a_program_reads_has_a_schema_or_is_toml_or_private(root):
    """docs/formats.md lists all formats; those that others read as JSON have a schema."""
    page = (root / "docs" / "formats.md").read_text()
    named = set(re.findall(r"dpaccount/([a-z-]+)/\d", page.partition("## claim")[0]))
    toml, own = (
        {"policy"},
        {"bandit-state", "outsourced-table", "totals", "kept-runs"},
    )  # own: read by this program alone
    assert named - toml - own <= set(schemas()) | {"ledger"}
    assert {"ledger-export", "ledger-checkpoint"} <= set(schemas())
