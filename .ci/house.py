"""Measure the code's structure, and how long its users wait, against the limits of house.toml: `make house`.

A measure above its limit ends with exit code 1. How many lines each package has is printed, and not limited.
"""

import argparse
import ast
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import tokenize
import tomllib
from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # what a measure needs of ours is imported in it
TOPS = ("dpaccount", "mechanisms", "audits", "bandits", "papers")
CONSTANT = re.compile(r"[A-Z][A-Z0-9_]*")
#: constants with one meaning in every file: the claims or figures of a module, a document's schema, a type
CONVENTIONS = {"CLAIMS", "SCHEMA", "T"}


@lru_cache
def product() -> dict[Path, str]:
    """Return the text of every file of the product."""
    return {file: file.read_text() for top in TOPS for file in sorted((ROOT / top).rglob("*.py"))}


@lru_cache
def trees() -> dict[Path, ast.Module]:
    """Return the syntax tree of every file of the product."""
    return {file: ast.parse(text) for file, text in product().items()}


def lines(folder: str) -> int:
    """Return the number of lines of Python in a folder."""
    return sum(len(file.read_text().splitlines()) for file in (ROOT / folder).rglob("*.py"))


def code_lines(folder: str) -> int:
    """Return the number of lines of a folder that hold code: no comment, docstring or blank line."""
    return sum(len(_code(file.read_text())) for file in (ROOT / folder).rglob("*.py"))


def _code(text: str) -> set[int]:
    said = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    nothing = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    return {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in nothing
        for line in range(token.start[0], token.end[0] + 1)
    } - said


def module_of(file: Path) -> str:
    """Return the name by which a file of the product is imported."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(file: Path) -> dict[str, tuple[str, str]]:
    """Return what a file calls the names that it imports: each one's module and its name there."""
    package = module_of(file) if file.name == "__init__.py" else module_of(file).rpartition(".")[0]
    found = {}
    for node in ast.walk(trees()[file]):
        if isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            found |= {each.asname or each.name: (module, each.name) for each in node.names}
    return found


def loose_dicts() -> int:
    """Return how often the product says `dict[str, Any]`, by that name or by a name given to it.

    A name counts where it is imported from the module that gave it: a class of the same name elsewhere
    is none.
    """
    loose = ast.dump(ast.parse("dict[str, Any]", mode="eval").body)
    called = {
        (module_of(file), target.id)
        for file, tree in trees().items()
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.dump(node.value) == loose
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    total = 0
    for file, tree in trees().items():
        here = {name for module, name in called if module == module_of(file)}
        here |= {name for name, place in imported(file).items() if place in called}
        total += sum(
            isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in here
            for node in ast.walk(tree)
        )
    return total + sum(text.count("dict[str, Any]") for text in product().values())


def constants(node: ast.stmt) -> list[str]:
    """Return the names of constants that a statement assigns, one or several at once."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
    each = [one for target in targets for one in getattr(target, "elts", [target])]
    return [one.id for one in each if isinstance(one, ast.Name) and CONSTANT.fullmatch(one.id)]


def scattered_constants() -> int:
    """Return how many names of constants are defined in more than three files."""
    places = defaultdict(set)
    for file, tree in trees().items():
        for node in tree.body:
            for name in constants(node):
                places[name].add(file)
    return sum(len(files) > 3 for name, files in places.items() if name not in CONVENTIONS)


def most_options() -> int:
    """Return how many options the command with most of them has, and its arguments."""
    from audits.cli.app import app  # the table of all commands, which imports those that are asked for

    def most(of: Any) -> int:
        inner = [of[name] for name in of if not name.startswith("-")]
        return max(map(most, inner)) if inner else len(of.assemble_argument_collection())

    return most(app)


def files_that_name(*words: str) -> int:
    """Return how many files of the product contain one of the words."""
    pattern = re.compile("|".join(words))
    return sum(bool(pattern.search(text)) for text in product().values())


INIT = "ledger init sqlite:///{} --epsilon 1 --delta 1e-6 --unit person --relation replace-one"
#: what each command is given, in a folder with a ledger, an account of a plan and a study
COMMANDS = {
    "--version": "--version",
    "ledger init": INIT.format("new.db"),
    "ledger charge": "ledger charge sqlite:///ledger.db plan.json --purpose a-mean",
    "account": "account plan.json --delta 1e-6",
    "check": "check account.json",
    "list": "list",
    "plan": f"plan {ROOT / 'examples' / 'clinic_visits' / 'study.toml'}",
}
PLAN = """{"schema": "dpaccount/events/1", "relation": "replace-one",
 "events": [{"event": "gaussian", "sigma": 100}]}"""
START = "import dpaccount_packages; dpaccount_packages.command()"
COUNTED = f"""
import atexit, sys
def said():
    names = [name for name in sys.modules if name.partition(".")[0] in {TOPS!r}]
    sys.stderr.write(f"modules {{len(names)}}\\n")
atexit.register(said)
{START}
"""


def modules_of(command: str) -> int:
    """Return how many modules of ours a command imports."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        done = run(COUNTED, COMMANDS[command], folder)
    if "modules" not in done.stderr:
        raise SystemExit(f"the modules of `dpaccount {command}` could not be counted:\n{done.stderr}")
    return int(done.stderr.split()[-1])


def times_a_start(command: str) -> float:
    """Return how many starts of Python that does nothing a command takes: the least of five, in turn."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        waits: dict[str, list[float]] = {"pass": [], START: []}
        for _ in range(5):
            for code, words in (("pass", ""), (START, COMMANDS[command])):
                begun = time.perf_counter()
                run(code, words, folder)
                waits[code].append(time.perf_counter() - begun)
    return min(waits[START]) / min(waits["pass"])


def prepare(folder: str) -> None:
    """Make what the commands are given."""
    Path(folder, "plan.json").write_text(PLAN)
    run(START, INIT.format("ledger.db"), folder)
    run(START, "account plan.json --delta 1e-6 --certificate account.json", folder)


def run(code: str, words: str, folder: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder."""
    command = [sys.executable, "-c", code, *shlex.split(words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode:
        raise SystemExit(f"`dpaccount {words}` could not be measured:\n{done.stderr}")
    return done


def collection() -> float:
    """Return the processor seconds that it takes to collect the quick run, in the limits' seconds.

    It is the least of two: the first one may have compiled the tests.
    """
    from tests.seconds import LOOP, loop, processor_seconds

    words = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider"]
    kept = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}
    taken = []
    for _ in range(2):
        before = processor_seconds() - time.process_time()
        subprocess.run(words, cwd=ROOT, env=kept, capture_output=True, check=True)
        taken.append(processor_seconds() - time.process_time() - before)
    return min(taken) * LOOP / min(loop() for _ in range(3))


def quick_run() -> float | None:
    """Return what the whole quick run on these files took, in the limits' seconds; None where none was."""
    file = ROOT / "build" / "quick_run.json"
    found = json.loads(file.read_text()) if file.exists() else {}
    words = [sys.executable, "-m", "tests.reach", "--state"]
    state = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    return float(found["seconds"]) if found.get("state") == state else None


MODULES = ("ledger init", "ledger charge", "account", "check", "list")
STARTS = ("--version", "account", "plan", "check", "ledger charge")
MEASURES: dict[str, Callable[[], float | None]] = {
    "dict[str, Any]": loose_dicts,
    "constants defined in more than 3 files": scattered_constants,
    "files that name the relation bounded-row": lambda: files_that_name("BOUNDED_ROW", "bounded-row"),
    "options of one command": most_options,
    "lines of code of the trusted checker": partial(code_lines, "dpaccount/checker"),
    **{f"modules imported by {command}": partial(modules_of, command) for command in MODULES},
    "seconds of the quick run": quick_run,
    "seconds of its collection": collection,
    **{f"starts of Python that {command} takes": partial(times_a_start, command) for command in STARTS},
}
LIMITS = ROOT / ".ci" / "house.toml"


def main() -> int:
    """Print each measure with its limit; return 1 where one is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(MEASURES), default=list(MEASURES))
    asked = parser.parse_args()
    limits, above = tomllib.loads(LIMITS.read_text()), []
    for name in asked.only:
        value, most = MEASURES[name](), limits[name]
        over = value is not None and value > most
        number = "not measured" if value is None else f"{value:.4g}"
        sys.stdout.write(f"{name:<42} {number:>12} {most:>9}  {'above its limit' if over else ''}\n")
        above += [name] if over else []
    for top in (*TOPS, "service", "tests") if asked.only == list(MEASURES) else ():
        sys.stdout.write(f"{f'lines of {top}':<42} {lines(top):>12}\n")
    if above:
        sys.stdout.write(f"above the limits of .ci/house.toml: {', '.join(above)}; lower them\n")
    return bool(above)


if __name__ == "__main__":
    sys.exit(main())
