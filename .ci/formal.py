"""Build the proofs of formal, name what each rests on, and write which rule is proved.

usage: python .ci/formal.py          (what `make formal` runs)

Fails on anything that is left open, and on an axiom that neither the real numbers of Coq's library need nor
Assumed.v states.  Writes formal/rules.toml, the table of docs/formal.md, what reports say of rules, and
the extracted checker.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FORMAL = ROOT / "formal"
STATUSES = ROOT / "audits" / "reports" / "proved_by_machine.json"  #: what reports say of rules
BUILD = ROOT / "build" / "formal"
NEEDED = "coq libcoq-coquelicot libcoq-interval ocaml-findlib libzarith-ocaml-dev"
OPEN = re.compile(
    r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjecture|bypass_check"
    r"|Unset\s+(?:Guard|Positivity|Universe)\s+Checking)\b"
)
#: what no proof needs: files that are not read here, plugins, and programs in the place of definitions
HIDDEN = re.compile(
    r"^\s*(?:Load|Declare\s+(?:ML|Module)|(?:Require\s+)?(?:Import\s+)?Extraction|Extract)\b", re.M
)
#: what it means that a rule is sound, by the definitions that a reader reads
PIN = """Check (eq_refl : DP.core.Sound.sound_rule = fun name => forall s, DP.core.Sound.rule_of s = name ->
  forall W found n, DP.Definitions.lawful W -> Forall (DP.Definitions.holds W) found ->
  Forall DP.core.Sound.well_made found -> DP.check.Follow.follow s found = Some n ->
  DP.Meaning.takes_for_granted W s found n -> DP.Definitions.holds W n /\\ DP.core.Sound.well_made n)."""
#: what Coq's classical reals rest on, and that functions with equal values are equal
CLASSICAL = {
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "functional_extensionality_dep",
    "Classical_Prop.classic",
    "classic",
    "sig_forall_dec",
    "sig_not_dec",
}
THEOREM = re.compile(r"^\s*(?:Theorem|Corollary)\s+(\w+)", re.M)
MODULE = re.compile(r"^Module .*?^End \w+\.", re.M | re.S)
SOUND = re.compile(r"^Theorem\s+(\w+_sound)\s*:\s*sound_rule\s+\"(\w+)\"\s*\.", re.M)
BEGIN, END = "<!-- table of rules -->", "<!-- end of the table -->"


def without_comments(text: str) -> str:
    """Return Coq source without comments, which nest."""
    out, depth = [], 0
    for part in re.split(r'("(?:[^"]|"")*"|\(\*|\*\))', text):  # texts are texts in comments too
        depth += (part == "(*") - (part == "*)")
        if depth == 0 and part != "*)":
            out.append(part)
    return "".join(out)


def sources() -> dict[str, str]:
    """Return every source, by its path from formal, without comments."""
    return {
        file.relative_to(FORMAL).as_posix(): without_comments(file.read_text())
        for file in sorted(FORMAL.rglob("*.v"))
    }


def left_open(texts: dict[str, str]) -> list[str]:
    """Return where something is left open or assumed outside Assumed.v."""
    return [
        f"{name}: {match[1]}"
        for name, text in texts.items()
        for match in OPEN.finditer(text)
        if not (name == "Assumed.v" and match[1] == "Axiom")
    ] + [
        f"{name}: {match[0].strip()}"
        for name, text in texts.items()
        for match in HIDDEN.finditer(text)
        if name != "check/Extract.v"
    ]


def rules(texts: dict[str, str]) -> list[str]:
    """Return the names of all rules, as Sound.v lists them."""
    body = re.search(r"Definition rule_of.*?end%string", texts["core/Sound.v"], re.S)
    if body is None:
        raise SystemExit("error: core/Sound.v should define rule_of")
    return re.findall(r'=> "(\w+)"', body[0])


def proofs(texts: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Return for each rule with a theorem of soundness its name and file."""
    found: dict[str, tuple[str, str]] = {}
    for name, text in texts.items():
        for theorem, rule in SOUND.findall(text):
            if rule in found or theorem != f"{rule}_sound":
                raise SystemExit(f"error: {theorem} in {name} should be the only {rule}_sound")
            found[rule] = (theorem, name)
    return found


def module(name: str) -> str:
    """Return the logical name of a file."""
    return "DP." + name.removesuffix(".v").replace("/", ".")


def run(*command: str, cwd: Path = FORMAL) -> str:
    """Run a command and return what it prints, or end with it."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stdout.write(done.stdout[-3000:])
        raise SystemExit(f"error: {' '.join(command[:2])} failed\n{done.stderr[-3000:]}")
    return done.stdout


def compiled(texts: dict[str, str]) -> None:
    """Compile all sources, two at a time unless JOBS says otherwise."""
    (FORMAL / ".Makefile.coq.d").unlink(missing_ok=True)
    (FORMAL / "check" / "Extract.vo").unlink(missing_ok=True)  # its files may be gone: extract them again
    run("coq_makefile", "-Q", ".", "DP", *texts, "-o", "Makefile.coq")
    run("make", "-f", "Makefile.coq", f"-j{os.environ.get('JOBS', '2')}")


def axioms(texts: dict[str, str], proved: dict[str, tuple[str, str]]) -> dict[str, set[str]]:
    """Ask Coq what every theorem rests on, and that every theorem of soundness says what it should."""
    BUILD.mkdir(parents=True, exist_ok=True)
    outside = {name: MODULE.sub("", text) for name, text in texts.items()}
    names = [f"{module(name)}.{t}" for name, text in outside.items() for t in THEOREM.findall(text)]
    lines = [f"Require {module(name)}." for name in texts if name != "check/Extract.v"]
    for rule, (theorem, name) in proved.items():
        lines.append(f'Check ({module(name)}.{theorem} : DP.core.Sound.sound_rule "{rule}"%string).')
    lines += [PIN, 'Check "start"%string.']
    lines.insert(0, "Require Import String List.")
    lines += [f'Print Assumptions {name}.\nCheck "end of {name}"%string.' for name in names]
    (BUILD / "Audit.v").write_text("\n".join(lines) + "\n")
    said = run("coqc", "-Q", str(FORMAL), "DP", "Audit.v", cwd=BUILD)
    found, start = {}, said.index('"start"%string')
    for name in names:
        at = said.index(f'\n"end of {name}"', start)
        part, start = said[start:at].partition(": string\n")[2].strip(), at
        if part == "Closed under the global context":
            found[name] = set()
        elif part.startswith("Axioms:"):
            listed = part.removeprefix("Axioms:")
            found[name] = set(re.findall(r"^([\w.]+)\s*:", listed, re.M))
            if len(found[name]) != len(re.findall(r"^[^\s\"]", listed, re.M)):
                raise SystemExit(f"error: what {name} rests on could not be read")
        else:
            raise SystemExit(f"error: what {name} rests on could not be read")
    return found


def table(texts: dict[str, str], found: dict[str, set[str]]) -> list[dict[str, str]]:
    """Return a row for every rule: its status, theorem, file and reason."""
    proved = proofs(texts)
    rows = []
    for rule in rules(texts):
        row = {"name": rule, "status": "inferred", "theorem": "", "file": "", "reason": "no proof yet"}
        if rule in proved:
            theorem, file = proved[rule]
            beyond = sorted(found[f"{module(file)}.{theorem}"] - CLASSICAL)
            status = "assumed" if beyond else "defined" if rule.startswith("assume_") else "proved"
            reason = f"rests on {', '.join(b.rpartition('.')[2] for b in beyond)}" if beyond else ""
            row |= {"status": status, "theorem": theorem, "file": file, "reason": reason}
        rows.append(row)
    return rows


def as_json(rows: list[dict[str, str]]) -> str:
    """Return each rule's status and what it assumes, as audits/reports/proved_by_machine.json holds them."""
    known = {row["name"]: {"status": row["status"], "assumes": assumes(row)} for row in rows}
    return "{\n" + ",\n".join(f' "{name}": {json.dumps(says)}' for name, says in known.items()) + "\n}\n"


def assumes(row: dict[str, str]) -> list[str]:
    """Return the statements of Assumed.v that a rule rests on."""
    return row["reason"].removeprefix("rests on ").split(", ") if row["status"] == "assumed" else []


def as_toml(rows: list[dict[str, str]]) -> str:
    """Return the rows as formal/rules.toml holds them."""
    head = "# Written by `make formal` from the Coq sources.\n"
    return head + "".join(
        "\n[[rule]]\n" + "".join(f'{key} = "{value}"\n' for key, value in row.items()) for row in rows
    )


def as_markdown(rows: list[dict[str, str]]) -> str:
    """Return the rows as docs/formal.md shows them: a line for each status and set of assumptions."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        groups.setdefault((row["status"], ", ".join(assumes(row))), []).append(f"`{row['name']}`")
    lines = ["| status | rules | rests on |", "| --- | --- | --- |"]
    for (status, rests), names in groups.items():
        known = status in ("defined", "proved") and f"{len(names)} of {len(rows)}"
        lines.append(f"| {status} | {known or ', '.join(names)} | {rests or '–'} |")
    return "\n".join(lines) + "\n"


def with_table(page: str, rows: list[dict[str, str]]) -> str:
    """Return a page with the table between its marks."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{as_markdown(rows)}\n{END}{rest.partition(END)[2]}"


def extracted() -> None:
    """Compile the extracted checker."""
    names = ("whole.ml", "checker.mli", "checker.ml", "driver.ml")
    run(
        "ocamlfind",
        "ocamlopt",
        "-O3",
        "-package",
        "zarith",
        "-linkpkg",
        *names,
        "-o",
        "checker",
        cwd=FORMAL / "check",
    )


def main() -> None:
    """Build, audit, write the table."""
    if shutil.which("coqc") is None or shutil.which("ocamlfind") is None:
        raise SystemExit(f"error: the proofs need Coq 8.16 or later; apt-get install {NEEDED}")
    texts = sources()
    if open_ := left_open(texts):
        raise SystemExit("error: left open: " + "; ".join(open_))
    compiled(texts)
    found = axioms(texts, proofs(texts))
    assumed = set(re.findall(r"^Axiom\s+(\w+)", texts["Assumed.v"], re.M))
    for name, rests in found.items():
        beyond = rests - CLASSICAL
        print(f"{name}: {', '.join(sorted(rests)) or 'closed'}")
        if unknown := {b for b in beyond if b.rpartition(".")[2] not in assumed}:
            raise SystemExit(
                f"error: {name} rests on {', '.join(sorted(unknown))}, which Assumed.v does not say"
            )
    rows = table(texts, found)
    (FORMAL / "rules.toml").write_text(as_toml(rows))
    STATUSES.write_text(as_json(rows))
    page = ROOT / "docs" / "formal.md"
    page.write_text(with_table(page.read_text(), rows))
    extracted()
    counts = {s: sum(r["status"] == s for r in rows) for s in ("defined", "proved", "assumed", "inferred")}
    print("rules: " + ", ".join(f"{n} {s}" for s, n in counts.items()))


if __name__ == "__main__":
    main()
