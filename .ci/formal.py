"""Build the proofs of formal, name what each rests on, and write which rule is proved.

usage: python .ci/formal.py                    (what `make formal` runs)
       python .ci/formal.py --program FILE     (what `make checker` runs: only the extracted checker)

Fails on anything that is left open, and on an axiom that neither the real numbers of Coq's library need nor
Assumed.v states.  Writes formal/rules.toml, the table of docs/formal.md, what reports say of rules, and
the extracted checker.

FORMAL_CACHE names a folder of compiled files, each under a digest of all that it depends on.  Coq believes
compiled files, so anyone who can write to that folder can make an unproved statement pass.  Without it,
compiled files beside the sources are removed and everything is compiled; .ci/run uses one only if it is set.
"""

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
FORMAL = ROOT / "formal"
STATUSES = ROOT / "audits" / "reports" / "proved_by_machine.json"  #: what reports say of rules
BUILD = ROOT / "build" / "formal"
NEEDED = "coq libcoq-coquelicot libcoq-interval ocaml-findlib libzarith-ocaml-dev libgmp-dev"
EXTRACT = "check/Extract.v"  #: writes files, so that nothing is kept of it
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
    "Classical_Prop.classic",
}
THEOREM = re.compile(r"^\s*(?:Theorem|Corollary)\s+(\w+)", re.M)
MODULE = re.compile(r"^Module .*?^End \w+\.", re.M | re.S)
SOUND = re.compile(r"^Theorem\s+(\w+_sound)\s*:\s*sound_rule\s+\"(\w+)\"\s*\.", re.M)
TABLE = ("<!-- table of rules -->", "<!-- end of the table -->")
READING = ("<!-- what to read -->", "<!-- end of what to read -->")
MOST_READ = 1500  #: lines
#: what the theorems on rules, certificates and accounts say, is said here: files, or definitions of one
READ: dict[str, str] = {
    "base/Laws.v": "test law point bind image same each",
    "base/Sums.v": "total usum summable proportional",
    "base/Normal.v": "phi Phi",
    "Facts.v": "",
    "Definitions.v": "",
    "Steps.v": "",
    "Meaning.v": "",
    "core/Sound.v": "sound sound_rule",
    "core/RowsOfPersons.v": "rows_of_persons",
    "core/Reader.v": "tables tables_of_rows tables_of_persons tables_of seen quiet complete steadfast",
    "check/Claim.v": "exact claim relation_in most_rows_in subject_named claim_in",
    "check/Certificate.v": "derivation point_of",
    "core/Certificates.v": "counts_rows_as_claimed meets reader_learns_at_most check_certificate_sound",
    "account/Kinds.v": "",
    "account/Plan.v": "",
    "account/Document.v": "",
    "account/Check.v": "check_account_sound",
    "account/Transcript.v": "said quiet_between transcript_private",
}
STATED = (
    r"^ *(?:Program )?(?:Definition|Fixpoint|Inductive|Record|Theorem) %s\b"
    r".*?(?=\n *\n|\n *Proof|\n *Next|\n*\Z)"
)


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
        if name != EXTRACT
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


def run(*command: str, cwd: Path | None = None) -> str:
    """Run a command, in formal unless told otherwise, and return what it prints, or end with it."""
    done = subprocess.run(command, cwd=cwd or FORMAL, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stdout.write(done.stdout[-3000:])
        raise SystemExit(f"error: {' '.join(command[:2])} failed\n{done.stderr[-3000:]}")
    return done.stdout


def keys(texts: dict[str, str]) -> dict[str, str]:
    """Return for each source a digest of all that its compiled file depends on.

    That is the source, those that it requires, and Coq: its version, and its libraries by size and date.
    """
    where = Path(run("coqc", "-where").strip())
    files = [(file, file.stat()) for file in sorted(where.rglob("*.vo"))]
    coq = run("coqc", "--version") + "".join(f"{file} {of.st_size} {of.st_mtime_ns}\n" for file, of in files)
    needs = {}
    for line in run("coqdep", "-Q", ".", "DP", *texts).splitlines():
        made, _, needed = line.partition(": ")
        if made.partition(" ")[0].endswith(".vo"):
            needs[made.partition(" ")[0][:-1]] = [f[:-1] for f in needed.split() if f[:-1] in texts]

    @functools.cache
    def key(name: str) -> str:
        parts = [coq, name, (FORMAL / name).read_text(), *map(key, needs[name])]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    return {name: key(name) for name in texts}


def compiled(texts: dict[str, str], cache: Path | None, target: str = "all") -> None:
    """Compile the sources that `cache` has no compiled file of, two at a time unless JOBS says otherwise."""
    known, now = keys(texts) if cache else {}, time.time()
    for stale in FORMAL.rglob("*.vo"):  # of sources that are gone, too: Coq finds those that are required
        stale.unlink()
    for name in texts:
        if cache and name != EXTRACT and (kept := cache / known[name]).exists():
            made = FORMAL / f"{name}o"
            shutil.copyfile(kept, made)
            os.utime(made, (now, now))  # one date for all: make finds none older than what it requires
    (FORMAL / ".Makefile.coq.d").unlink(missing_ok=True)
    run("coq_makefile", "-Q", ".", "DP", *texts, "-o", "Makefile.coq")
    run("make", "-f", "Makefile.coq", f"-j{os.environ.get('JOBS', '2')}", target)
    if cache and keys(texts) == known:  # else a source was changed meanwhile
        cache.mkdir(parents=True, exist_ok=True)
        for name, key in known.items():
            if name != EXTRACT and (made := FORMAL / f"{name}o").exists() and not (cache / key).exists():
                shutil.copyfile(made, cache / f"{key}.{os.getpid()}")
                (cache / f"{key}.{os.getpid()}").replace(cache / key)


def axioms(texts: dict[str, str], proved: dict[str, tuple[str, str]]) -> dict[str, set[str]]:
    """Ask Coq what every theorem rests on, and that every theorem of soundness says what it should.

    It is asked of all at once, and of one after the other only if that names an axiom beyond CLASSICAL: then
    each has its own axioms here, else those of all.
    """
    outside = {name: MODULE.sub("", text) for name, text in texts.items()}
    names = [f"{module(name)}.{t}" for name, text in outside.items() for t in THEOREM.findall(text)]
    lines = ["Require Import String List."]
    lines += [f"Require {module(name)}." for name in texts if name != EXTRACT]
    for rule, (theorem, name) in proved.items():
        lines.append(f'Check ({module(name)}.{theorem} : DP.core.Sound.sound_rule "{rule}"%string).')
    lines += [PIN, f"Definition all_theorems := ({', '.join('@' + name for name in names)})."]
    together = asked(lines, ["all_theorems"])["all_theorems"]
    return dict.fromkeys(names, together) if together <= CLASSICAL else asked(lines, names)


def asked(lines: list[str], names: list[str]) -> dict[str, set[str]]:
    """Return which axioms each of the names rests on, after these lines of Coq."""
    BUILD.mkdir(parents=True, exist_ok=True)
    lines = [*lines, 'Check "start"%string.']
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


def refuse_unstated(texts: dict[str, str], found: dict[str, set[str]]) -> None:
    """End where a theorem rests on an axiom beyond CLASSICAL that Assumed.v does not state."""
    stated = re.findall(r"^Axiom\s+(\w+)", texts["Assumed.v"], re.M)
    known = CLASSICAL.union(*({f"Assumed.{name}", f"DP.Assumed.{name}"} for name in stated))
    for name, rests in found.items():
        if unknown := sorted(rests - known):
            raise SystemExit(f"error: {name} rests on {', '.join(unknown)}, which Assumed.v does not say")


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


def to_read() -> dict[str, int]:
    """Return the number of lines of each file to read, or of the definitions that are named of it."""
    found = {}
    for file, names in READ.items():
        text = (FORMAL / file).read_text()
        parts = [re.search(STATED % name, text, re.M | re.S) for name in names.split()]
        if None in parts:
            raise SystemExit(f"error: {file} should define {names}")
        found[file] = sum(part[0].count("\n") + 1 for part in parts if part) or len(text.splitlines())
    return found


def as_reading() -> str:
    """Return what a reader must read, as docs/formal.md says it."""
    lines = to_read()
    if sum(lines.values()) > MOST_READ:
        raise SystemExit(f"error: there are {sum(lines.values())} lines to read, more than {MOST_READ}")
    whole = [f"`{file}` {lines[file]}" for file, names in READ.items() if not names]
    parts = [
        f"`{file}` ({', '.join(f'`{name}`' for name in names.split())})"
        for file, names in READ.items()
        if names
    ]
    said = f"{sum(lines.values())} lines: {', '.join(whole)}; definitions of {', '.join(parts)}."
    return textwrap.fill(said, 140, break_long_words=False, break_on_hyphens=False) + "\n"


def with_table(page: str, rows: list[dict[str, str]]) -> str:
    """Return a page with the table, and what to read, between their marks."""
    for (begin, end), text in ((TABLE, as_markdown(rows)), (READING, as_reading())):
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}\n\n{text}\n{end}{rest.partition(end)[2]}"
    return page


def extracted(*targets: Path) -> None:
    """Compile the extracted checker: the same bytes for the same sources and tools, in any folder.

    On Linux it is static, so that it runs on every machine of this kind.
    """
    names = ("whole.ml", "checker.mli", "checker.ml", "driver.ml")
    static = "-static " if sys.platform == "linux" else ""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            shutil.copy(FORMAL / "check" / name, folder)
        flags = ("-O3", "-package", "zarith", "-linkpkg", "-ccopt", f"{static}-s")
        run("ocamlfind", "ocamlopt", *flags, *names, "-o", "checker", cwd=Path(folder))
        for target in targets:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)  # it may be running
            shutil.copy(Path(folder) / "checker", target)


def missing() -> str | None:
    """Return what to install, if something that is needed is not there."""
    tools = [tool for tool in ("coqc", "ocamlfind", "gcc") if shutil.which(tool) is None]
    if not tools and sys.platform == "linux":
        found = run("gcc", "-print-file-name=libgmp.a", cwd=ROOT).strip()
        tools = [] if Path(found).is_file() else ["libgmp.a"]
    return f"{', '.join(tools)} not found; apt-get install {NEEDED}" if tools else None


def write_program(target: Path) -> None:
    """Write the extracted checker alone: definitions are compiled, no other proof is checked again."""
    if without := missing():
        raise SystemExit(
            f"error: only the ZIP file was written, as {target.name} needs Coq and OCaml: {without}"
        )
    compiled(sources(), cache_folder(), EXTRACT + "o")
    extracted(target)
    print(f"{hashlib.sha256(target.read_bytes()).hexdigest()}  {target}")


def cache_folder() -> Path | None:
    """Return the folder that FORMAL_CACHE names."""
    return Path(named).resolve() if (named := os.environ.get("FORMAL_CACHE")) else None


def main() -> None:
    """Build, audit, write the table."""
    if without := missing():
        raise SystemExit(f"error: the proofs need Coq 8.16 or later: {without}")
    texts = sources()
    if open_ := left_open(texts):
        raise SystemExit("error: left open: " + "; ".join(open_))
    compiled(texts, cache_folder())
    found = axioms(texts, proofs(texts))
    refuse_unstated(texts, found)
    for rests in sorted({tuple(sorted(rests)) for rests in found.values()}):
        among = [name for name in found if tuple(sorted(found[name])) == rests]
        said = ", ".join(among) if set(rests) - CLASSICAL else f"{len(among)} theorems"
        print(f"{said}: {', '.join(rests) or 'closed'}")
    rows = table(texts, found)
    (FORMAL / "rules.toml").write_text(as_toml(rows))
    STATUSES.write_text(as_json(rows))
    page = ROOT / "docs" / "formal.md"
    page.write_text(with_table(page.read_text(), rows))
    extracted(FORMAL / "check" / "checker")
    counts = {s: sum(r["status"] == s for r in rows) for s in ("defined", "proved", "assumed", "inferred")}
    print("rules: " + ", ".join(f"{n} {s}" for s, n in counts.items()))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--program"]:
        write_program(Path(sys.argv[2]))
    else:
        main()
