"""`certify`, `release`, `check`, `sign` and `schema`: certificates made, checked and signed."""

import json
import os
import sys
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from audits.cli.options import (
    EXIT_CODES,
    CatalogueOnly,
    File,
    Flag,
    Folder,
    Json,
    Name,
    Url,
    Whole,
    day,
    next_step,
    one_of,
    reporting,
    say,
    show,
    whole,
)
from dpaccount.checker.accounting import EXIT
from dpaccount.checker.certificate import signature_of
from dpaccount.checker.derivation import in_words
from dpaccount.documents import read_bytes, writing
from dpaccount.errors import InputError

if TYPE_CHECKING:
    from audits.api.requests import Certify, CertifyResult
    from audits.claim import Claim


@dataclass(frozen=True)
class CertifyOptions:
    """The options that `certify` and `release` share."""

    quick: Flag = False
    """Cut the audit's runs tenfold; the certificate says so."""
    policy: File | None = None
    """A policy file; exit 1 if it is not met."""
    catalogue_only: CatalogueOnly = False
    jobs: Whole = None
    """Processes (default: the number of cores); no result depends on it."""
    partitions: Whole = None
    """Number of parts in which the table is summed, by person, --jobs at a time: less memory for
    each (default 1)."""
    work: Folder | None = None
    """A folder that keeps the exact totals of finished parts, and until the end the rows of each of
    --partitions, as private as the table: the same command resumes there after it was killed."""
    by_file: Flag = False
    """Sum file by file: each file of the folder must have all rows of its people. The certificate
    names what is trusted; a person in two files is refused."""
    engine: Annotated[str, one_of("dask", "other")] | None = None
    """What sums the parts: dask (on the workers of --scheduler), or other (parts summed elsewhere
    and left in --work; docs/engines.md). Default: local processes."""
    scheduler: Url | None = None
    """The address of a dask scheduler, such as tcp://host:8786."""

    def question(self, claim: Path, *, release: bool = False, again: bool = False) -> "Certify":
        """Return the request; raises `InputError` for what does not go together."""
        from audits.api.cores import cores
        from audits.api.requests import Certify
        from audits.sandbox.table_parts import TableWork

        other = self.engine == "other"
        if (self.engine == "dask") != (self.scheduler is not None):
            raise InputError("--engine dask and --scheduler go together", "give both or neither")
        if other and (self.work is None or self.by_file or self.partitions is not None):
            raise InputError("--engine other has parts of its own", "give it --work alone")
        parts = whole(self.partitions, "--partitions", 1, MOST_PARTITIONS) or 1
        jobs, allowed = whole(self.jobs, "--jobs") or cores(), not self.catalogue_only
        if self.by_file and self.partitions is not None:
            raise InputError("--by-file and --partitions are both given", "give one")
        work = TableWork(jobs, parts, self.work, self.scheduler, self.by_file, other)
        return Certify(claim, self.quick, again, self.policy, jobs, allowed, work, release)


MOST_PARTITIONS = 10_000
UNSAID = CertifyOptions()  #: nothing said
Options = Annotated[CertifyOptions, Parameter(name="*")]


def certify(
    claim: File,
    *,
    out: Folder | None = None,
    dry_run: Flag = False,
    options: Options = UNSAID,
    json_: Json = False,
) -> int:
    """Prove, test and attack a claim; print CERTIFIED, REFUTED or UNPROVEN and write the certificate.

    No data are read and nothing is charged: `dpaccount release` does that.

    Example: `dpaccount certify examples/mechanisms/histogram.toml --quick`

    Parameters
    ----------
    claim
        A TOML file of schema dpaccount/claim/1.
    out
        Folder for certificate.json, report.html, junit.xml and results.sarif (default certificates/NAME).
    dry_run
        Print what the certificate would say, and write no file.
    """
    from audits.certificate.summary import summary
    from audits.claim import read_claim

    question, asked = options.question(claim), read_claim(claim)
    if dry_run:
        done, path = _answered(question, asked), Path("no file is written")
    else:
        done, path = _certified(question, asked, out)
    show(done.certificate, json_, lambda document: summary(document, path))
    if "file" in done.certificate["claim"].get("data", {}) and not dry_run:
        next_step(f"dpaccount release {claim}")
    return 1 if done.broken else EXIT_CODES[done.certificate["verdict"]]


def _certified(question: "Certify", asked: "Claim", out: Path | None) -> tuple["CertifyResult", Path]:
    """Certify, write the certificate's files, and say what a reader should know; return its path too."""
    from msgspec.structs import replace

    from audits.api.requests import OTHER_CODE
    from audits.certificate.folder import check_outputs, held, write_all
    from audits.claim import output_folder
    from audits.reports.standards import annotation

    if out is not None:
        with writing(out):  # a folder that cannot be written is refused before the work
            pass
    check_outputs(asked, folder := output_folder(asked.name, out))
    done = _answered(replace(question, held=held(folder)), asked)
    path = write_all(done.certificate, folder, question.claim)
    if path.parent != folder:
        say(f"{folder / 'certificate.json'} has a release, and stays as it is")
    say(f"also written next to {path}: report.html (for people), junit.xml and results.sarif (for CI)")
    if os.environ.get("GITHUB_ACTIONS") == "true":
        say(annotation(done.certificate, question.claim.as_posix()))
    if done.reprinted:
        say("run on this data before: printed again, nothing drawn or charged (--new-release makes another)")
    if done.other_code:
        say(f"warning: {OTHER_CODE}")
    return done, path


def _answered(question: "Certify", asked: "Claim") -> "CertifyResult":
    """Certify, and say which rules of a policy are broken; no file is written."""
    from audits.api import dispatch

    with reporting() as report, redirect_stdout(sys.stderr):  # a subject may print
        done = dispatch.certify(question, report, asked)
    for each in done.broken:
        say(f"policy: {each}")
    return done


def release(
    claim: File,
    *,
    out: Folder | None = None,
    yes: Flag = False,
    dry_run: Flag = False,
    new_release: Flag = False,
    options: Options = UNSAID,
    json_: Json = False,
) -> int:
    """Certify a claim, charge its ledger, run it on its data, and write the release.

    It first states what it will charge; on a terminal, it asks.  It also writes release.json, and for
    numbers a table (release.csv) and a plot with error bars (release.svg).  Run again, the command
    prints the same release and charges nothing.

    Example: `dpaccount release cities.toml --out releases/cities`

    Parameters
    ----------
    claim
        A TOML file of schema dpaccount/claim/1 or dpaccount/study/2 that names its data.
    out
        Folder for the release and the certificate (default certificates/NAME).
    yes
        Do not ask before charging.
    dry_run
        Certify and report what would be charged; read no data and charge nothing.
    new_release
        Make a new, charged release.
    """
    from msgspec import to_builtins

    from audits.certificate.folder import check_outputs
    from audits.certificate.release_files import FILES, answer, write_release
    from audits.certificate.summary import summary
    from audits.claim import output_folder, read_claim
    from audits.reports.tables import is_study, study_of
    from audits.sandbox.private_data import on_disk
    from audits.studies import results
    from audits.studies.results import release_as_text as study_tables

    asked = read_claim(claim)
    if asked.data_file is None:
        raise InputError("nothing to release from", "name a file and a ledger in [data]", claim)
    if is_study(asked):
        study_of(asked)  # faults of the study come before what it would charge
    names = results.file_names(asked) if is_study(asked) else FILES
    check_outputs(asked, output_folder(asked.name, out), names)
    if dry_run:
        _says_charge(asked, again=True)  # reads no data
        return certify(claim, out=out, options=options, json_=json_)
    with on_disk(asked) as one_reading:  # the announced charge is for the data that are released
        if _says_charge(one_reading, again=new_release) and not (yes or agreed()):
            say("nothing is charged")
            return 1
        question = options.question(claim, release=True, again=new_release)
        done, path = _certified(question, one_reading, out)
    if is_study(asked):
        tables = results.written_release(asked, done.certificate, path.parent)
        show(to_builtins(tables), json_, lambda _: study_tables(done.certificate, tables))
    else:
        released = answer(done.certificate, path)
        write_release(released, path.parent)
        show(released, json_, lambda _: summary(done.certificate, path.parent / "release.json"))
    next_step(f"open {path.parent / 'report.html'}, or dpaccount check {path}")
    return 1 if done.broken else EXIT_CODES[done.certificate["verdict"]]


def _says_charge(claim: "Claim", *, again: bool) -> bool:
    """Say what a release charges in its ledger's measure, and what the ledger has left.

    Return False, and say no cost, where the release is kept or paid, unless it is made `again`.
    Raises `InputError` for a ledger that is not there or counts another unit, and `RefusedError`
    where a new release does not fit.
    """
    from audits.api.dispatch import runs_apart
    from audits.certificate import make, release
    from audits.certificate.summary import cost_of
    from audits.reports.terminal import room
    from audits.subjects.catalogue import subject_of

    with release.paying_ledger(claim) as ledger:
        shown = ledger.show()
        left = f"the ledger has {room(shown['remaining'])} left"
        start = f"a new release of {claim.name} charges"
        if runs_apart(claim.use):  # its proof is run in a sandbox alone
            say(f"{start} what its proof costs in the measure {ledger.budget.measure.name}; {left}")
            return True
        subject = subject_of(claim)
        if shown["entries"] and not again and (identified := release.identify(claim, subject)):
            run = release.find_run(identified, again=False)
            if run.certificate or run.charged:
                return False
        proved = make.proof_of(claim, subject)
        if isinstance(proved, str):
            say(f"{start} nothing, as nothing is proved; {left}")
            return True
        asked = proved.theorem, claim.name, proved.units
        charge = ledger.charge_theorem(*asked, scope=claim.scope, dry_run=True)
        say(f"{start} at most {cost_of(charge)}; {left}")
        return True


def agreed() -> bool:
    """Ask on a terminal whether to go on; without a terminal, the command was the answer."""
    if not sys.stdin.isatty():
        return True
    sys.stderr.write("charge it? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def check(
    certificate: File,
    *,
    valid_on: Annotated[str | None, Parameter(metavar="DATE")] = None,
    key: File | None = None,
    derivation: Flag = False,
    rules: Flag = False,
    verified: Flag = False,
    json_: Json = False,
) -> int:
    """Re-verify a certificate with the independent checker: every step, digest and the verdict.

    Exit code: 0 valid and CERTIFIED, 1 not valid or REFUTED, 3 UNPROVEN, 2 no certificate at all.
    For a certificate of account: 0 if it confirms the upper bound, else 1; of audit-one-run: 1 or 3.

    Example: `dpaccount check certificate.json --rules`

    Parameters
    ----------
    certificate
        A certificate.json.
    valid_on
        A date, YYYY-MM-DD, on which the certificate must still be valid.
    key
        The Ed25519 public key (PEM) of the signature that it must have.
    derivation
        The file is a bare derivation; exit 0 if every step is confirmed.
    rules
        List the rules that the proof uses, and the checker's files to read.
    verified
        Also ask the checker extracted from the Coq proofs (`make checker` builds it); a bare derivation
        then needs no --derivation.  Says whether a theorem confirms the answer, and each checker's digest.
    """
    from audits import consistency
    from dpaccount import checker

    today = day(valid_on, "--valid-on")
    if derivation and key is not None:
        raise InputError("a bare derivation is not signed", "leave --key or --derivation out")
    raw, verdict = read_bytes(certificate), None
    derivation = derivation or (verified and _is_derivation(raw))
    signature = None if derivation else "not looked at"
    try:
        verdict, sentence = consistency.examined(raw, today, derivation=derivation)
    except checker.Unreadable as why:
        raise InputError(f"{checker.plain(str(certificate))}: {why}", "give a certificate") from None
    except checker.Rejected as why:
        sentence = str(why)
    if verdict is not None and not derivation:
        wrong, signature = _signature(raw, key)
        verdict, sentence = (verdict, sentence) if wrong is None else (None, wrong)
    answer = {
        "schema": "dpaccount/check/1",
        "valid": verdict is not None,
        "verdict": verdict,
        "said": sentence,
        "signature": signature,
        **(consistency.to_read(raw) if rules and verdict is not None else {}),
    }
    if verified:
        from audits.reports.verified import followed

        third = followed(raw, verdict)
        answer |= asdict(third)
        if third.rejected is not None:
            verdict, sentence = None, f"the verified checker says {third.rejected}"
            answer |= {"valid": False, "verdict": None, "said": sentence, "standing": None}
    show(answer, json_, _checked)
    return 1 if verdict is None else EXIT[verdict]


def _is_derivation(raw: bytes) -> bool:
    """Return whether a file is declared as a bare derivation."""
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get("schema") == "dpaccount/derivation/1"


def _checked(answer: dict[str, Any]) -> str:
    signed = f", {answer['signature']}" if answer["valid"] and answer["signature"] else ""
    listed = f"\n{in_words(answer).rstrip()}" if "rules" in answer else ""
    if answer["valid"] and "standing" in answer:
        from audits.reports.verified import STANDINGS

        if answer["steps"]:
            claim = ", and the claim" if answer["verdict"] == "CERTIFIED" else ""
            listed += (
                f"\nverified checker: {answer['steps']} steps follow{claim}"
                f"\nproved by machine: {', '.join(answer['proved_by_machine']) or 'none'}"
                f"\nassumed statements: {', '.join(answer['assumed']) or 'none'}"
                f"\nrules proved on paper only: {', '.join(answer['on_paper']) or 'none'}"
            )
        listed += f"\nstanding: {STANDINGS[answer['standing']]}"
        listed += "".join(f"\n{name} {digest}" for name, digest in answer["programs"].items())
    return f"{'valid' if answer['valid'] else 'invalid'}: {answer['said']}{signed}{listed}"


def _signature(raw: bytes, key: Path | None) -> tuple[str | None, str]:
    """Return what is wrong with a valid certificate's signature, or None, and what can be said of it."""
    if key is None:
        return None, signature_of(raw)
    from audits.certificate.sign import problem

    document = {"signature": None, **json.loads(raw)}
    if (wrong := problem(document, key)) is not None:
        return wrong, "not valid"
    return None, f"signed by {document['signature']['key']} on {document['signature']['signed']}"


def sign(certificate: File, *, key: File, json_: Json = False) -> int:
    """Sign a valid certificate in place with an Ed25519 private key (PEM, unencrypted).

    Example: `dpaccount sign certificate.json --key private.pem`

    `openssl genpkey -algorithm ed25519 -out private.pem` makes a key, and
    `openssl pkey -in private.pem -pubout -out public.pem` its public half.

    Parameters
    ----------
    certificate
        A certificate.json; the signature is written into it.
    key
        An Ed25519 private key (PEM, unencrypted).
    """
    from audits.certificate.sign import sign as signed

    show(signed(certificate, key), json_, lambda answer: f"signed by {answer['key']}: {certificate}")
    return 0


def schema(name: Name, *, json_: Json = False) -> int:
    """Print the JSON schema of a file, or of a command's output with --json.

    Example: `dpaccount schema certificate`

    Parameters
    ----------
    name
        The kind of document: certificate, account, audit, ledger, ... (an unknown one lists them
        all).
    """
    from dpaccount.schemas.catalogue import printed, schemas

    known = schemas()
    if name not in known:
        raise InputError(f"unknown schema {name[:60]!r}", f"known: {', '.join(sorted(known))}")
    sys.stdout.write(printed(known[name]))
    return 0
