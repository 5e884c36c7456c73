"""What the program answers to a fixed set of questions, kept so that a change of code shows what it changes.

    make corpus              compare every section with what is kept; a difference ends with exit 1
    make corpus KEEP=1       keep what the program says now
    python tests/corpus/corpus.py accounts --part 3/12      one share of a section's questions

Inputs are kept beside answers: plans, claims, wrong requests. Long answers are kept as digests. What may differ
between two machines or two commits is left out: seconds, dates, digests of code, versions. Every answer is made
in a process of its own or with empty caches, so that it does not depend on those before it.

Digits of `account` may change with a method. Two enclosures of one number must still overlap: where they do not,
one of them is false, and nothing is kept.
"""

import argparse
import contextlib
import difflib
import functools
import gc
import hashlib
import io
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
KEPT = Path(__file__).parent / "kept"
JOBS = 2
Answers = dict[str, Any]


def printed(*words: str, text: str = "") -> tuple[int, str, str]:
    """Return the exit code of a command, what it prints and what it says, with empty caches."""
    from audits import cli

    forget()
    out, err, before = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO(), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode()))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.run(list(words))
    finally:
        sys.stdin = before
    out.flush()
    return code, out.buffer.getvalue().decode(), err.getvalue()  # type: ignore[attr-defined]


def forget() -> None:
    """Empty all caches of functions: a warm one lets a method of `account` go further."""
    for each in gc.get_objects():
        if isinstance(each, functools._lru_cache_wrapper):
            each.cache_clear()


def digest(value: object) -> str:
    """Return the digest of a value as JSON, of other objects as text."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:32]


# ------------------------------------------------------------------ sections


def plans() -> dict[str, Any]:
    """Return the questions of `account` by their names: plans of every kind of event."""
    questions = [json.loads(line) for line in (KEPT / "plans.jsonl").read_text().splitlines()]
    return {question["name"]: question for question in questions}


def account(question: dict[str, Any]) -> Any:
    """Return the answer of `account` without seconds."""
    words = [f"--{key}={question[key]}" for key in ("delta", "epsilon", "group") if key in question]
    code, out, err = printed("account", "-", "--json", *words, text=json.dumps(question["plan"]))
    found = json.loads(out) if out else err
    if isinstance(found, dict):
        del found["seconds"]
    return [code, found]


def derivations() -> Answers:
    """Digests of the derivations of all catalogued subjects as their classes stand in the examples."""
    from fractions import Fraction

    from audits.subjects.catalogue import entries, example_values
    from dpaccount.proof import write

    found = {}
    for entry in entries():
        theorem = entry.made_by(**example_values(entry.made_by)).proof(Fraction(1, 10**6))
        found[entry.name] = digest(write(theorem))
    return found


def rehearsals() -> Answers:
    """Digests of what all catalogued mechanisms show under a seed, on a made-up dataset."""
    from fractions import Fraction

    from audits.datasets.bases import dataset
    from audits.subjects.catalogue import example_values, find
    from dpaccount.noise.proved import Proved
    from dpaccount.noise.receipt import rehearse
    from dpaccount.noise.samplers import Rehearsal
    from mechanisms.subject.isolation import played
    from tests.mechanisms.catalogued import mechanisms

    found = {}
    for each in (*mechanisms(), find("arm-means")):
        subject = each.made_by(**example_values(each.made_by))
        proved = Proved(subject.proof(Fraction(1, 10**6)))
        view = played(subject, dataset(subject.domain(), "uniform", 1), rehearse(proved, Rehearsal(1)), 0)
        shown = {
            name: getattr(value, "tolist", lambda value=value: value)() for name, value in view.public.items()
        }
        found[each.name] = digest(shown)
    return found


def claims() -> dict[str, str]:
    """Return all example claims of mechanisms by their names, which are paths."""
    paths = (str(path.relative_to(ROOT)) for path in (ROOT / "examples" / "mechanisms").glob("*.toml"))
    return {path: path for path in paths}


#: members of a certificate that another commit, day or machine changes
VARYING = ("created", "date", "environment", "digest", "certificate", "signature", "code", "files", "time")


def certificate(claim: str) -> Any:
    """Return the digests of the members of a claim's certificate."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "claim.toml"
        copy.write_text((ROOT / claim).read_text())
        code, out, err = printed("certify", str(copy), "--json", "--quick")
    if not out:
        return [code, err.replace(folder, "")]
    found = without(json.loads(out))
    return [code, found["verdict"], {name: digest(value) for name, value in sorted(found.items())}]


def without(value: Any) -> Any:
    """Return a document without what varies."""
    if isinstance(value, dict):
        return {
            name: without(each)
            for name, each in value.items()
            if name not in VARYING and not (name == "source" and str(each).startswith("sha256:"))  # of code
        }
    return [without(each) for each in value] if isinstance(value, list) else value


def figures() -> dict[str, str]:
    """Return the papers' tables and figures by their names; without two that choose algorithms for minutes."""
    from papers import reproduce

    long = ("dubey2021-figure1", "dubey2021-figure2")
    return {each.name: each.name for each in reproduce.reproductions() if each.name not in long}


def reproduction(name: str) -> Any:
    """Return the digest of a short answer without seconds, in whatever order its rows are."""
    code, out, err = printed("reproduce", name, "--trials=2", "--rounds=32", "--jobs=1", "--json")
    found = json.loads(out) if out else {"rows": [], "seconds": err}
    del found["seconds"]
    found["rows"].sort(key=json.dumps)
    return [code, digest(found)]


def ledgers() -> Answers:
    """What scripted ledgers export, without times and digests, and how they answer."""
    scripts = json.loads((KEPT / "scripts.json").read_text())
    return {name: ledger(commands) for name, commands in scripts.items()}


def ledger(commands: list[list[str]]) -> Any:
    """Run `ledger` commands on a new file; return their exit codes and sentences, and the exported entries."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.json"
        file = f"sqlite:///{folder}/budget.db"
        said = []
        for words in commands:
            plan.write_text(words[-1] if words[-1].startswith("{") else "")
            rest = [str(plan) if word.startswith("{") else word for word in words[1:]]
            code, _, err = printed("ledger", words[0], file, *rest)
            said.append([code, err.replace(folder, "") if code else ""])
        _, out, _ = printed("ledger", "export", file)
        entries = [json.loads(line) for line in out.splitlines()[1:]]
    for entry in entries:
        for name in ("digest", "root"):
            entry.pop(name, None)
        entry["body"] = re.sub(
            r'"(time|head|place|process|salt|digest)":"[^"]*"', r'"\1":""', str(entry["body"])
        )
    return [said, entries]


def helps() -> Answers:
    """The help of every command."""
    from audits.cli.app import add_commands, app

    add_commands()
    found = {}
    os.environ["COLUMNS"] = "100"
    for words in commands(app):
        _, out, err = printed(*words, "--help")
        found[" ".join(words)] = (out + err).splitlines()
    return found


def commands(app: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command."""
    for name in sorted(app):
        if not name.startswith("-"):
            yield (*before, name)
            with contextlib.suppress(TypeError):
                yield from commands(app[name], (*before, name))


def refusals() -> Answers:
    """Exit codes and sentences of wrong requests."""
    requests = json.loads((KEPT / "requests.json").read_text())
    found = {}
    for words, text in requests:
        code, out, err = printed(*words, text=text)
        found[" ".join(words) + (" < " + text if text else "")] = [code, re.sub(r"seconds .*", "", out), err]
    return found


#: questions by their names, and what answers one
LONG: dict[str, tuple[Callable[[], dict[str, Any]], Callable[[Any], Any]]] = {
    "accounts": (plans, account),
    "certificates": (claims, certificate),
    "reproductions": (figures, reproduction),
}
#: all answers at once
SHORT: dict[str, Callable[[], Answers]] = {
    section.__name__: section for section in (derivations, rehearsals, ledgers, helps, refusals)
}


def answers(section: str, names: set[str] | None = None) -> Answers:
    """Return the answers of a section; those of some questions in this process, of all in two."""
    if section in SHORT:
        return SHORT[section]()
    questions, answer = LONG[section]
    asked = {name: each for name, each in questions().items() if names is None or name in names}
    if names is not None:
        return dict(zip(asked, map(answer, asked.values()), strict=True))
    with ProcessPoolExecutor(JOBS) as pool:
        return dict(zip(asked, pool.map(answer, asked.values(), chunksize=4), strict=True))


def share(section: str, part: int, of: int) -> set[str]:
    """Return the names of one share of a section's questions, with those that are kept and asked no longer."""
    kept = (KEPT / f"{section}.jsonl").read_text().splitlines()
    names = {*LONG[section][0](), *(name_of(line) for line in kept)}
    return {*sorted(names)[part::of]}


# ------------------------------------------------------------------ keep and compare


def lines(found: Answers) -> list[str]:
    """Return answers as lines of text, one each."""
    return [json.dumps({name: found[name]}, ensure_ascii=False) for name in sorted(found)]


def name_of(line: str) -> str:
    """Return the name of the question that a line answers."""
    (name,) = json.loads(line)
    return name


def contradictions(before: list[str], now: list[str]) -> list[str]:
    """Return the names of answers in which two enclosures of one number do not overlap."""
    old, new = (dict(item for line in each for item in json.loads(line).items()) for each in (before, now))
    return [name for name in old.keys() & new.keys() if apart(old[name], new[name])]


def apart(old: Any, new: Any) -> bool:
    """Say whether enclosures at one place of two documents do not overlap."""
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and any(map(apart, old, new))
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return False
    if old.keys() == new.keys() == {"lower", "upper"}:
        return max(least(old), least(new)) > min(float(old["upper"]), float(new["upper"]))
    return any(apart(old[name], new[name]) for name in old.keys() & new.keys())


def least(enclosure: dict[str, Any]) -> float:
    """Return the lower end, 0 where none is known."""
    return float(enclosure["lower"] or 0)


def main() -> int:
    """Compare the sections that are named (all: none named), or keep them."""
    parser = argparse.ArgumentParser(description="Compare the program's answers with those that are kept.")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join((*LONG, *SHORT)))
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--part", metavar="K/N", help=f"the Kth of N shares of one of {', '.join(LONG)}")
    given = parser.parse_args()
    os.chdir(ROOT)
    # every x86 processor adds floats in the same order; set before NumPy is there, and never by an import of
    # this file: a test's workers would get it and differ from their own process
    os.environ["OPENBLAS_CORETYPE"] = "Haswell"
    changed = 0
    for name in given.sections or (*LONG, *SHORT):
        part, of = map(int, given.part.split("/")) if given.part else (1, 1)
        names = share(name, part - 1, of) if given.part else None
        file, now = KEPT / f"{name}.jsonl", lines(answers(name, names))
        whole = file.read_text().splitlines()
        before = [line for line in whole if names is None or name_of(line) in names]
        false = contradictions(before, now)
        if given.keep and not false:
            kept = sorted([*(line for line in whole if line not in before), *now], key=name_of)
            file.write_text("".join(f"{line}\n" for line in kept))
            print(f"{name}: kept {len(now)}")
            continue
        for line in difflib.unified_diff(before, now, name, f"{name} now", lineterm="", n=0):
            print(line[:400])
        differ = len(set(before) ^ set(now))
        changed += differ
        print(f"{name}: {len(now)} answers, {differ} lines differ")
        if false:
            print(f"{name}: the enclosures before and now do not overlap: {', '.join(sorted(false))}")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
