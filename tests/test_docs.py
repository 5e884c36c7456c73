"""The documents are true: their examples run, their links exist, their tables are complete."""

import doctest
import importlib
import importlib.util
import inspect
import json
import re

import pytest

from audits import cli
from dpaccount import proof
from tests.looped import looped

FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
WORDS = re.compile(r"\b(issue tracker|Claude|/work/|shared/|helper session)\b")


def documents(root):
    return [root / "README.md", root / "CHANGELOG.md", *sorted((root / "docs").glob("*.md"))]


#: words of the text of docs/*.md, and of a how-to guide; lines of README.md
MOST_WORDS, MOST_OF_A_GUIDE, MOST_LINES = 35_000, 600, 120
#: words with everything: signs of tables and formulas, and code
MOST_WITH_CODE = 47_000


def words(text, *, code=False):
    """Return how many words a page has: with a letter or a digit and outside code blocks, or all of them."""
    if code:
        return len(text.split())
    return sum(any(map(str.isalnum, word)) for word in FENCED.sub("", text).split())


def guides(root):
    """Return the how-to guides, as the site's navigation lists them."""
    section = (
        (root / "mkdocs.yml").read_text().partition("- How-to guides:\n")[2].partition("- Reference:")[0]
    )
    return re.findall(r": (\S+\.md)$", section, re.MULTILINE)


def test_words_are_counted_outside_code():
    assert words("| a | b² |\n\n```sh\ndpaccount plan\n```\nthe end −\n") == 4
    assert words("| a |\n\n```sh\ndpaccount plan\n```\n", code=True) == 7


def test_documents_stay_short(root):
    pages = {file.name: file.read_text() for file in (root / "docs").glob("*.md")}
    assert sum(words(text) for text in pages.values()) <= MOST_WORDS
    assert sum(words(text, code=True) for text in pages.values()) <= MOST_WITH_CODE
    assert len(guides(root)) > 30
    long = {name: words(pages[name]) for name in guides(root) if words(pages[name]) > MOST_OF_A_GUIDE}
    assert long == {}
    assert len((root / "README.md").read_text().splitlines()) <= MOST_LINES


def test_links_lead_somewhere(root):
    for document in documents(root):
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            if not target.startswith("http"):
                assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_events_of_the_readme_are_accounted(root, tmp_path, capsys):
    blocks = re.findall(
        r"```json\n(\{\"schema\": \"dpaccount/events/1\".*?)```", (root / "README.md").read_text(), re.DOTALL
    )
    assert blocks
    for block in blocks:
        file = tmp_path / "events.json"
        file.write_text(block)
        assert cli.run(["account", str(file), "--delta", "1e-5", "--json"]) == 0
        bounds = json.loads(capsys.readouterr().out)["epsilon"]
        assert 0 < bounds["lower"] <= bounds["upper"]


def rules_of(family):
    """Yield the public functions of a file of the kernel that make theorems."""
    module = importlib.import_module(f"dpaccount.proof.{family}")
    for name, function in inspect.getmembers(module, inspect.isfunction):
        made = inspect.signature(function).return_annotation
        if function.__module__ == module.__name__ and made is proof.Theorem and not name.startswith("_"):
            yield name


@pytest.fixture
def writer(root):
    """Return the script that writes docs/rules.md."""
    spec = importlib.util.spec_from_file_location("write_rules", root / "docs" / "write_rules.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_rules_that_are_not_proved_in_coq_are_named(writer, monkeypatch):
    rows = [*writer.ROWS, {"name": "new", "status": "inferred"}, {"name": "other", "status": "assumed"}]
    assert "proved in Coq ([formal.md](formal.md)). The 21 hypotheses" in writer.by_machine()
    monkeypatch.setattr(writer, "ROWS", rows)
    assert "; on assumptions: `other`; on paper only: `new`. The 21 hypotheses" in writer.by_machine()


def test_the_page_of_rules_is_what_the_kernel_says(root, writer):
    """Every rule stands in the door's signature, with its family, and docs/rules.md is written from it."""
    said = {(family, name) for family, name, _ in writer.signature() if family in writer.FAMILIES}
    assert said == {(family, name) for family in writer.FAMILIES for name in rules_of(family)}
    assert len(said) == 62
    assert all(re.match(r"R\d+", writer.rule_row(name, "")[2:]) for _, name in said)
    assert (root / "docs" / "rules.md").read_text() == writer.page(), "run: python docs/write_rules.py"


def test_the_examples_of_the_rules_run(root):
    failed, tried = doctest.testfile(str(root / "docs" / "proofs.md"), module_relative=False)
    assert (failed, tried > 15) == (0, True)


def test_readme_shows_what_the_command_prints(root):
    """The block on the first screen has the lines that `certify` prints today."""
    text = (root / "README.md").read_text()
    for word in (
        "CERTIFIED  plan-finder",
        "promised",
        "proved",
        "tested",
        "attacked",
        "released",
        "evaluated",
    ):
        assert word in text[:2600], word


def test_commands_of_the_readme_exist(root):
    for command in re.findall(r"\.venv/bin/dpaccount (\w+)(?: (\w+))?", (root / "README.md").read_text()):
        words = [command[0], command[1], "--help"] if command[0] == "ledger" else [command[0], "--help"]
        assert cli.run(words) == 0


@looped("folder", ["dpaccount", "mechanisms", "audits", "bandits", "papers", "docs", "examples", "tests"])
def test_nothing_speaks_of_how_it_was_made(root, folder):
    for file in sorted((root / folder).rglob("*")):
        if file.suffix in (".py", ".md", ".toml", ".html") and file.name != "test_docs.py":
            assert WORDS.search(file.read_text()) is None, file


def test_every_file_format_is_described(root):
    said = set(re.findall(r"`(dpaccount/[a-z-]+/1)`", (root / "docs" / "formats.md").read_text()))
    used = set()
    for folder in ("dpaccount", "mechanisms", "audits", "bandits", "papers"):
        for file in (root / folder).rglob("*.py"):
            used |= set(re.findall(r"\bdpaccount/[a-z-]+/1\b", file.read_text()))
    assert used
    assert used <= said, used - said
