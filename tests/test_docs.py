"""The documents are true: their examples run, their links exist, their tables are complete."""

import ast
import doctest
import importlib.util
import json
import re
import tomllib

import pytest
import yaml

from audits import cli
from dpaccount.checker.derivation import RULES
from tests.depth import deep
from tests.looped import looped

WORDS = re.compile(r"\b(issue tracker|Claude|/work/|shared/|helper session)\b")


def documents(root):
    return [root / "README.md", root / "CHANGELOG.md", *sorted((root / "docs").glob("*.md"))]


#: words of the tab for research and proofs, and of all other tabs together; lines of README.md.  They only fall
RESEARCH = "Research and proofs"
MOST_OF_RESEARCH, MOST_ELSEWHERE, MOST_LINES = 20_000, 25_600, 120  # 1,600 moved here from CONTRIBUTING.md
TABS = ["Start", "Publish", "Train", "Audit", "Budget", "Check", RESEARCH]


def words(text):
    """Return how many words a page has; signs of tables and formulas count, and so does code."""
    return len(text.split())


def tabs(root):
    """Return the Markdown pages of each tab of the site's navigation."""
    nav = (root / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    parts = re.split(r"^  - (.+):$", nav, flags=re.MULTILINE)[1:]
    return {
        tab: re.findall(r": (\S+\.md)$", pages, re.MULTILINE)
        for tab, pages in zip(parts[::2], parts[1::2], strict=True)
    }


def test_all_that_stands_on_a_page_counts():
    assert words("| a |\n\n```sh\ndpaccount plan\n```\n") == 7


def test_documents_stay_short(root):
    found = tabs(root)
    assert list(found) == TABS
    pages = {file.name for file in (root / "docs").glob("*.md")}
    assert sorted(pages) == sorted(name for names in found.values() for name in names)
    counts = {
        tab: sum(words((root / "docs" / name).read_text()) for name in names) for tab, names in found.items()
    }
    research = counts.pop(RESEARCH)
    assert research <= MOST_OF_RESEARCH, research
    assert sum(counts.values()) <= MOST_ELSEWHERE, counts
    assert len((root / "README.md").read_text().splitlines()) <= MOST_LINES


BLOCK = re.compile(r"^( *)```(yaml|toml|json|python)[^\n]*\n(.*?)^\1```", re.M | re.S)
READERS = {"yaml": yaml.safe_load, "toml": tomllib.loads, "json": json.loads}


def read_as(language, text):
    """Read a block in its language; of Python a session of doctest, too."""
    if language != "python":
        return READERS[language](text)
    examples = doctest.DocTestParser().get_examples(text) if ">>>" in text else []
    return [ast.parse(example.source) for example in examples] or ast.parse(text)


def test_every_block_of_a_page_can_be_read_in_its_language(root):
    pages = [*documents(root), root / "CONTRIBUTING.md", *root.glob("tests/**/README.md")]
    blocks = [(page.name, *found) for page in pages for found in BLOCK.findall(page.read_text())]
    assert {language for _, _, language, _ in blocks} == {"python", *READERS}
    wrong = []
    for page, indent, language, text in blocks:
        try:
            read_as(language, text.replace(f"\n{indent}", "\n").removeprefix(indent))
        except Exception as error:  # each reader has errors of its own
            wrong.append((page, language, str(error)))
    assert wrong == []


def test_a_block_that_is_none_is_found():
    for language, text in (
        ("yaml", "a:\n  - b: 1\n      - c: 2"),
        ("json", "{"),
        ("python", ">>> f(\n"),
        ("toml", "a ="),
    ):
        with pytest.raises(Exception, match=r"."):
            read_as(language, text)


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
    """Return the rules that a file of the checker states."""
    return {name for name, rule in RULES.items() if rule.source.__module__ == f"dpaccount.checker.{family}"}


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
    assert {name for _, name in said} == set(RULES)
    assert all(re.match(r"R\d+", writer.rule_row(name, "")[2:]) for _, name in said)
    assert (root / "docs" / "rules.md").read_text() == writer.page(), "run: python docs/write_rules.py"


def test_the_examples_of_the_rules_run(root):
    failed, tried = doctest.testfile(str(root / "docs" / "proofs.md"), module_relative=False)
    assert (failed, tried > 12) == (0, True)


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


@deep
def test_commands_of_the_readme_exist(root):
    for command in re.findall(r"\.venv/bin/dpaccount (\w+)(?: (\w+))?", (root / "README.md").read_text()):
        words = [command[0], command[1], "--help"] if command[0] == "ledger" else [command[0], "--help"]
        assert cli.run(words) == 0


@looped(
    "folder",
    ["dpaccount", "mechanisms", "audits", "bandits", "papers", "service", "docs", "examples", "tests"],
)
def test_nothing_speaks_of_how_it_was_made(root, folder):
    for file in sorted((root / folder).rglob("*")):
        if file.suffix in (".py", ".md", ".toml", ".html") and file.name != "test_docs.py":
            assert WORDS.search(file.read_text()) is None, file


def test_every_file_format_is_described(root):
    said = set(re.findall(r"`(dpaccount/[a-z-]+/1)`", (root / "docs" / "formats.md").read_text()))
    used = set()
    for folder in ("dpaccount", "mechanisms", "audits", "bandits", "papers", "service"):
        for file in (root / folder).rglob("*.py"):
            used |= set(re.findall(r"\bdpaccount/[a-z-]+/1\b", file.read_text()))
    assert used
    assert used <= said, used - said
