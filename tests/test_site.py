"""The site's pages run: their Python, their commands with what they print, the tutorials; pictures are what is drawn today."""

import doctest
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

import dpaccount
from audits.cli.app import add_commands, app
from tests.depth import deep

ROOT_PAGES = (
    "index", "studies", "ledger", "tutorial-review", "claims", "ci",
)  # fmt: skip
TUTORIALS = ("tutorial-bandit", "tutorial-training", "tutorial-release")


def loaded(root, name):
    """Return a script of docs/ as a module."""
    spec = importlib.util.spec_from_file_location(name, root / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def commands(page):
    """Yield every command of the page's shell blocks with its expected exit code; here-documents stay whole."""
    for block in re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        for found in re.finditer(r"^cat > .*?^END\n|^.+\n", block, re.DOTALL | re.MULTILINE):
            yield from (part for part in [found[0]] if not part.startswith("pip "))


def single(page):
    """Yield the commands, a line each where they are no here-document."""
    for part in commands(page):
        if part.startswith("cat > "):
            yield part, 0
            continue
        for line in part.splitlines():
            code = re.search(r"# exit (\d)$", line)
            yield line, int(code[1]) if code else 0


@deep
def test_every_command_of_every_page_is_one_that_is_taken(root):
    taken = 0
    add_commands()  # of all packages
    for page in (root / "docs").glob("*.md"):
        for line, _ in single(page.read_text().replace("\\\n", " ")):
            if line.startswith("dpaccount "):
                words = shlex.split(line, comments=True)[1:]
                words = words[: min((words.index(sign) for sign in "<>" if sign in words), default=None)]
                app.parse_args(words, exit_on_error=False, print_error=False)
                taken += 1
    assert taken > 100


@deep
@pytest.mark.parametrize("name", ["index", "claims"])
def test_python_of_a_page_runs(root, name):
    found = doctest.testfile(str(root / "docs" / f"{name}.md"), module_relative=False)
    assert (found.failed, found.attempted > 2) == (0, True)


@deep
@pytest.mark.parametrize("name", ROOT_PAGES)
def test_the_commands_of_a_page_do_what_it_says(root, tmp_path, name):
    """Each is run in one folder, which has the examples, a certificate and the checker, as its reader's has."""
    page = (root / "docs" / f"{name}.md").read_text()
    shutil.copytree(
        root / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("*.db*", "certificates")
    )
    shutil.copytree(root / "dpaccount" / "checker", tmp_path / "dpaccount" / "checker")
    for place in (tmp_path, tmp_path / "certificates" / "histogram"):
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / "tests" / "audits" / "reports" / "received.json", place / "certificate.json")
    tool = tmp_path / "bin" / "dpaccount"
    tool.parent.mkdir()
    tool.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c "from audits.cli import main; main()" "$@"\n'
    )
    tool.chmod(0o755)
    path = os.pathsep.join((str(tool.parent), os.environ["PATH"]))
    paths = os.pathsep.join((str(tmp_path), str(root)))
    folder, said = tmp_path, ""
    for command, code in single(page):
        if command.startswith("cd "):
            folder /= command[3:]
            continue
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=folder,
            env={**os.environ, "PATH": path, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, (command, done.stdout, done.stderr)
        said += done.stdout
    for block in re.findall(r"^```text\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            assert line in said, line


@deep
@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_runs_and_says_what_its_text_says(root, name, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(root))
    done = subprocess.run(
        [sys.executable, root / "docs" / "notebooks.py", root / "docs" / f"{name}.ipynb"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown = done.stdout
    expected = {
        "tutorial-training": ("14063", "2.381689727 (±9e-10)", "sigma 1.224175550096", "shuffled pass", "data:image/svg+xml"),
        "tutorial-bandit": ("(449, True)", "(600, 50, 53)", "call     501  0.709  0.535", "(0.7, 'call')"),
        "tutorial-release": ("REFUTED ε is at least", "CERTIFIED 1.0", "\nTrue\n", "'valid': True", "'valid': False", "'upper': 1.0"),
    }[name]  # fmt: skip
    assert [part for part in expected if part not in shown] == []


@deep
@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_stores_no_output(root, tmp_path, name):
    notebooks, file = loaded(root, "notebooks"), root / "docs" / f"{name}.ipynb"
    kinds = [kind for kind, _ in notebooks.cells(file)]
    assert kinds.count("code") > 5
    stored = json.loads(file.read_text())
    next(cell for cell in stored["cells"] if cell["cell_type"] == "code")["outputs"] = [{"text": "2"}]
    (tmp_path / "stored.ipynb").write_text(json.dumps(stored))
    with pytest.raises(ValueError, match="holds outputs"):
        notebooks.cells(tmp_path / "stored.ipynb")


@deep
def test_a_failing_cell_ends_a_tutorial(root, tmp_path):
    cell = {"cell_type": "code", "source": ["1 / 0"], "outputs": [], "execution_count": None}
    (tmp_path / "broken.ipynb").write_text(json.dumps({"cells": [cell]}))
    with pytest.raises(ZeroDivisionError):
        loaded(root, "notebooks").run(tmp_path / "broken.ipynb")


@deep
def test_the_pictures_are_what_is_drawn_today(root):
    """In a process of its own: a picture follows Matplotlib's settings, which other tests may have set."""
    code = "import json, runpy; print(json.dumps(runpy.run_path('docs/draw_pictures.py')['drawn']()))"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    stale = [
        name
        for name, text in json.loads(done.stdout).items()
        if (root / "docs" / "pictures" / name).read_text() != text
    ]
    assert stale == [], "run: python docs/draw_pictures.py"


@deep
def test_every_public_name_is_in_the_reference(root):
    page = (root / "docs" / "reference.md").read_text()
    listed = set(re.findall(r"(?:^::: .*\.|^ +- |^ +heading: )(\w+)$", page, re.MULTILINE))
    assert set(dpaccount.__all__) - {"events", "DpaccountError"} <= listed
    assert "errors" in listed  # all of them


@deep
def test_every_page_is_on_the_site(root):
    listed = set(re.findall(r": (\S+\.(?:md|ipynb))$", (root / "mkdocs.yml").read_text(), re.MULTILINE))
    assert listed == {file.name for kind in ("*.md", "*.ipynb") for file in (root / "docs").glob(kind)}


def searched(page, word):
    """Return what a browser's page shows that was opened from a folder with a question."""
    words = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom"]
    address = f"{page.as_uri()}?q={word}"
    return subprocess.run(
        [shutil.which("chromium"), *words, address], capture_output=True, text=True, check=True, timeout=120
    ).stdout


@deep
def test_a_link_that_leads_nowhere_ends_the_build(root, tmp_path):
    """The site's own settings, on two pages of which one is wrong in three ways."""
    (tmp_path / "docs").mkdir()
    for name in ("site_hooks.py", "notebooks.py", "docstring_examples.py", "iframe-worker.js"):
        shutil.copy(root / "docs" / name, tmp_path / "docs")
    settings = (root / "mkdocs.yml").read_text()
    (tmp_path / "mkdocs.yml").write_text(settings[: settings.index("nav:\n")])
    page = tmp_path / "docs" / "index.md"
    for text, code in (("# One\n\n[itself](#one)\n", 0), ("# One\n\n[no file](two.md)\n", 1), ("# One\n\n[no place](#two)\n", 1), ("# One\n\n::: dpaccount.nothing\n", 1)):  # fmt: skip
        page.write_text(text)
        done = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, (text, done.stderr)
        if code == 0:
            built = tmp_path / "build" / "site" / "index.html"
            assert "unpkg.com" not in built.read_text()  # no script is loaded from elsewhere
            if shutil.which("chromium"):
                assert "1 matching document" in searched(built, "itself")
                assert "No matching documents" in searched(built, "nothing")
