"""The checker carried elsewhere: as a folder and as one zip file it runs on the standard library alone."""

import ast
import inspect
import json
import shutil
import subprocess
import sys

import pytest

from tests.dpaccount.checker.made import HONEST, UNPROVEN, derivation, edited, refuted, sealed


@pytest.fixture
def carried(tmp_path, root):
    """A directory without the project that holds the folder and the zip file."""
    shutil.copytree(root / "dpaccount" / "checker", tmp_path / "folder", ignore=lambda *_: ["__pycache__"])
    zipped(root, tmp_path / "dpaccount-checker.zip")
    return tmp_path


def zipped(root, target):
    subprocess.run([sys.executable, str(root / ".ci" / "zip_checker.py"), str(target)], check=True)


def run(where, program, *arguments):
    command = [sys.executable, "-I", "-S", "-W", "error", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=where)
    return done.returncode, done.stdout, done.stderr


def test_folder_and_zip_file_say_the_same_with_the_same_exit_code(carried):
    files = {
        "certified.json": (HONEST, 0),
        "refuted.json": (refuted(), 1),
        "unproven.json": (sealed(edited(UNPROVEN, (("audit",), None))), 3),
        "forged.json": (edited(HONEST, (("guarantee", "epsilon"), 1)), 1),
        "nothing.json": ([], 2),
    }
    for name, (document, code) in files.items():
        (carried / name).write_text(json.dumps(document))
        results = [run(carried, program, name, "--rules") for program in ("folder", "dpaccount-checker.zip")]
        assert results[0] == results[1]
        assert results[0][0] == code
    for program in ("folder", "dpaccount-checker.zip"):
        assert run(carried, program)[0] == 2
    for program in ("./folder/", "folder/__main__.py", str(carried / "folder"), "./dpaccount-checker.zip"):
        assert run(carried, program, "unproven.json")[0] == 3


def test_the_reading_list_names_rules_and_files_where_they_stand(carried):
    (carried / "d.json").write_text(json.dumps({"schema": "dpaccount/derivation/1", "steps": derivation()}))
    code, out, _ = run(carried, "dpaccount-checker.zip", "d.json", "--derivation", "--rules")
    assert code == 0
    listed = [line.split() for line in out.splitlines() if line.startswith("  ")]
    rules = {name: place[0].split(":") for name, *place in listed if ":" in place[0]}
    assert set(rules) == {step["rule"] for step in derivation()}
    for name, (file, line) in rules.items():
        following = (carried / "folder" / file).read_text().splitlines()[int(line) - 1 :]
        assert following[0].startswith("@")
        assert f"def {name}(" in "\n".join(following[:3])
    core = {name: int(lines) for name, lines, *_ in listed if name not in rules}
    assert {"documents.py", "intervals.py", "facts.py", "derivation.py"} <= set(core)
    assert not any("/" in name for name in core)  # nothing of certificates
    for name, lines in core.items():
        assert len((carried / "folder" / name).read_text().splitlines()) == lines


def test_nothing_of_ours_comes_before_the_standard_library(carried):
    names = {file.stem for file in (carried / "folder").rglob("*.py")} - {"__init__", "__main__"}
    assert not names & sys.stdlib_module_names
    for module in ("json", "decimal", "fractions", "numbers"):
        (carried / "folder" / f"{module}.py").write_text("raise SystemExit(7)\n")
    (carried / "c.json").write_text(json.dumps(HONEST))
    assert run(carried, "folder", "c.json")[0] == 0


def test_the_zip_file_is_the_same_from_the_same_sources(carried, root):
    zipped(root, carried / "again" / "checker.zip")
    again = (carried / "again" / "checker.zip").read_bytes()
    assert again == (carried / "dpaccount-checker.zip").read_bytes()


def test_a_rule_stands_on_a_quarter_of_a_screen():
    from dpaccount.checker.derivation import RULES

    for name, declared in RULES.items():
        tree = ast.parse(inspect.getsource(declared.source)).body[0]
        assert tree.end_lineno - tree.lineno < 20, name
