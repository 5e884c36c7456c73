"""Which files of tests a change reaches, nearest first.

    python -m tests.reach             since the base of the change, with what is not committed yet
    python -m tests.reach --run       run them for half a minute: `make test CHANGED=1`
    python -m tests.reach --packages  those whose answers depend on which packages are installed (.ci/core)
    python -m tests.reach --state     a digest of the files of the project

First the tests that changed; then those that bear the name of a changed module, those of its folder, those that
import it; last those that bear the name of a module that imports it.
"""

import argparse
import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
GIT = shutil.which("git") or "git"
SECONDS = 25  #: no item begins later; a run ends within half a minute
TOPS = ("dpaccount", "mechanisms", "audits", "bandits", "papers", "service", "benchmarks", "examples")


def git(*words: str) -> str:
    """Return what git says."""
    done = subprocess.run(
        [GIT, "-c", "core.quotepath=off", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"error: git {words[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def changed_since(ref: str) -> list[str]:
    """Return the files that differ from a commit, with those that git does not know yet."""
    new = git("ls-files", "--others", "--exclude-standard").splitlines()
    return sorted({*git("diff", "--name-only", "--no-renames", ref).splitlines(), *new})


def state() -> str:
    """Return a digest of the files of the project; of a tree without changes, git's own."""
    tree = git("rev-parse", "HEAD^{tree}")[:12]
    if not git("status", "--porcelain", "--untracked-files=all"):
        return tree
    files = changed_since("HEAD")
    content = [(ROOT / file).read_bytes() if (ROOT / file).is_file() else None for file in files]
    return tree + "+" + hashlib.sha256(repr((files, content)).encode()).hexdigest()[:8]


def base() -> str:
    """Return the commit that a change began at.

    Where the branch has landed it is the last commit that is four hours older than HEAD: no change takes longer.
    """
    if "BASE" in os.environ:
        return git("rev-parse", os.environ["BASE"])
    head, time = git("log", "-1", "--format=%H %ct").split()
    landed = subprocess.run(
        [GIT, "merge-base", "origin/main", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    if landed and landed != head:
        return landed
    before = git("rev-list", "-1", f"--before={int(time) - 4 * 3600}", "HEAD")
    return before or git("rev-list", "--max-parents=0", "HEAD").splitlines()[-1]


def module_of(file: str) -> str:
    """Return the name by which a file is imported."""
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def imports() -> dict[str, set[str]]:
    """Return the modules that each file of Python imports, in functions too; names of a module count as modules."""
    paths = [path for top in (*TOPS, "tests") for path in sorted((ROOT / top).rglob("*.py"))]
    files = {path.relative_to(ROOT).as_posix(): path for path in (*sorted(ROOT.glob("*.py")), *paths)}
    return {file: set(_imports(file, ast.parse(path.read_text()))) for file, path in files.items()}


def _imports(file: str, tree: ast.Module) -> Iterator[str]:
    package = module_of(file).split(".") if file.endswith("__init__.py") else module_of(file).split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{each.name}" for each in node.names)


def is_test(file: str) -> bool:
    """Return whether pytest collects a file."""
    return file.startswith("tests/") and Path(file).name.startswith("test_") and file.endswith(".py")


def mirrored(file: str) -> tuple[list[str], list[str]]:
    """Return the tests that bear a module's name, and the others of the folder that mirrors the module's."""
    path = Path(file)
    folder = Path("tests", *(part for part in path.parent.parts if part not in ("tests", "planted")))
    while folder != Path("tests") and not (ROOT / folder).is_dir():
        folder = folder.parent
    if folder == Path("tests"):
        return [], []
    names = sorted(each.relative_to(ROOT).as_posix() for each in (ROOT / folder).glob("test_*.py"))
    own = [name for name in names if Path(name).stem.startswith(f"test_{path.stem.strip('_')}")]
    return own, [name for name in names if name not in own]


def naming(file: str) -> list[str]:
    """Return the tests that name a file, or the folder of an example or a document."""
    path = Path(file)
    folder = path.parent.name or path.name
    names = (f'"{path.name}', f"/{path.name}", f'"{folder}"', f"/{folder}")
    return [
        test
        for test in imports()
        if is_test(test) and any(name in (ROOT / test).read_text() for name in names)
    ]


def reached(changed: Iterable[str]) -> list[str]:
    """Return the files of tests that a change reaches, nearest first."""
    files = list(changed)
    code = [file for file in files if file.endswith(".py")]
    importers = {
        file: [other for other, modules in imports().items() if module_of(file) in modules] for file in code
    }
    ranks = [
        [file for file in files if is_test(file)],
        [test for file in files for test in mirrored(file)[0]],
        [test for file in files if not is_test(file) for test in mirrored(file)[1]],
        [test for file in code for test in importers[file] if is_test(test)],
        [test for file in code for other in importers[file] for test in mirrored(other)[0]],
        [test for file in files if file not in code or file.startswith("examples/") for test in naming(file)],
    ]
    return [
        file for file in dict.fromkeys(test for rank in ranks for test in rank) if (ROOT / file).is_file()
    ]


def asking_what_is_installed() -> list[str]:
    """Return the tests of the core that run a command, or import a module that reads entry points or one above it."""
    readers = {"dpaccount.extensions", "dpaccount_packages", "audits.cli"}
    readers |= {module_of(file) for file, modules in imports().items() if "dpaccount.extensions" in modules}
    # helpers of tests import them for tests
    helpers = {
        module_of(file) for file, modules in imports().items() if file[:6] == "tests/" and modules & readers
    }
    tests = [
        file for file in imports() if is_test(file) and not file.startswith(("tests/bandits", "tests/papers"))
    ]
    command = re.compile(r"def test_\w+\([^)]*\bdpaccount\b")
    return [
        test
        for test in tests
        if imports()[test] & (readers | helpers)
        or any(module.startswith("audits.cli.") for module in imports()[test])
        or command.search((ROOT / test).read_text())
    ]


def main() -> int:
    """Print the files, or run them."""
    parser = argparse.ArgumentParser(description="Which files of tests a change reaches.")
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--packages", action="store_true")
    parser.add_argument("--state", action="store_true")
    asked = parser.parse_args()
    if asked.state:
        sys.stdout.write(f"{state()}\n")
        return 0
    files = asking_what_is_installed() if asked.packages else reached(changed_since(base()))
    if not asked.run:
        sys.stdout.write("".join(f"{file}\n" for file in files))
        return 0
    all_files = [file for file in imports() if is_test(file)]
    sys.stdout.write(
        f"{len(files)} of {len(all_files)} files of tests are near the change; make test runs all\n"
    )
    if not files:
        return 0
    command = [sys.executable, "-m", "pytest", "-n", "2", "-q", "--seconds", str(SECONDS), *files]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
