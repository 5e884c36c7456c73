"""`dpaccount.certify`, `audit` and `check`: the commands of these names as Python functions.

They return what the commands print with ``--json``, and write the same files.  Verdicts are return
values: only invalid input raises (`dpaccount.errors.InputError`).
"""

import logging
import warnings
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from audits import consistency
from audits.api import dispatch
from audits.api.arguments import DATA, Arguments, terms_of
from audits.api.cores import cores
from audits.api.requests import OTHER_CODE, Certify
from audits.attack.runs import silent
from audits.claim import Claim, output_folder, read_claim
from dpaccount import checker
from dpaccount.documents import html_table, read_bytes
from dpaccount.errors import InputError
from dpaccount.exact import Exact
from dpaccount.plan.events import Plan


class CertificateContent(dict[str, Any]):
    """A certificate as `certificate.json` has it; printed, and in a notebook, its verdict."""

    def __str__(self) -> str:
        """Return what is promised, proved, tested and attacked, as the terminal shows it."""
        from audits.certificate.summary import summary

        return summary(self, self["digest"])

    def _repr_html_(self) -> str:
        """Return what is promised, proved, tested and attacked, under the verdict."""
        from audits.certificate.summary import parts_of

        return html_table((), parts_of(self), f"{self['verdict']}: {self['claim']['name']}")


def certify(
    claim: str | Path,
    *,
    out: str | Path | None = None,
    quick: bool = False,
    require: str | Path | None = None,
    allow_code: bool = True,
    jobs: int | None = None,
) -> dict[str, Any]:
    """Prove, test and attack the claim in a TOML file; write and return its certificate.

    No data are read and nothing is charged (`release_file` does both).  `out` is a folder (default
    certificates/NAME), `quick` reduces the audit's runs tenfold, `require` is a policy to be met (else
    `InputError`, after the files are written).  Without `allow_code`, only catalogued mechanisms are run;
    `jobs` is the number of processes.
    """
    policy = None if require is None else Path(require)
    question = Certify(Path(claim), quick, policy=policy, jobs=jobs or cores(), allow_code=allow_code)
    return certified(question, out)


def release_file(
    claim: str | Path,
    *,
    out: str | Path | None = None,
    quick: bool = False,
    again: bool = False,
    require: str | Path | None = None,
    allow_code: bool = True,
    jobs: int | None = None,
) -> dict[str, Any]:
    """Certify a claim that names its data, charge its ledger, and run it once; return the certificate.

    Repeating the call returns the same release and charges nothing; `again` makes and charges a new
    one. `claim`, `out`, `quick`, `require`, `allow_code` and `jobs` are those of `certify`. Raises
    `BudgetError` if the ledger has no room.
    """
    if read_claim(Path(claim)).data_file is None:
        raise InputError("nothing to release from", "name a file and a ledger in [data]", claim)
    policy = None if require is None else Path(require)
    question = Certify(Path(claim), quick, again, policy, jobs or cores(), allow_code, release=True)
    return certified(question, out)


def certified(
    question: Certify, out: str | Path | None, claim: Claim | None = None, names: Sequence[str] = ()
) -> CertificateContent:
    """Return the certificate that answers a request, once its files are written to `out`.

    `claim` is the claim in place of the one in the file; `names` are files to be written later.
    """
    from audits.certificate.folder import check_outputs, held, write_all

    asked = claim or read_claim(question.claim)
    folder = output_folder(asked.name, out)
    check_outputs(asked, folder, names)
    progress = logging.getLogger("dpaccount").info  # at the level INFO, which most programs do not show
    done = dispatch.certify(replace(question, held=held(folder)), progress, claim)
    write_all(done.certificate, folder, question.claim)
    if done.other_code:
        warnings.warn(OTHER_CODE, stacklevel=3)
    if done.broken:
        raise InputError(f"the policy is not met: {'; '.join(done.broken)}", "see the certificate")
    return CertificateContent(done.certificate)


def audit(  # noqa: PLR0913  # keywords, each documented
    subject: str | Callable[..., Any],
    epsilon: Exact | None = None,
    delta: Exact | None = None,
    *,
    rho: Exact | None = None,
    mu: Exact | None = None,
    points: Sequence[tuple[Exact, Exact]] | None = None,
    renyi: Sequence[tuple[Exact, Exact]] | None = None,
    plan: Plan | None = None,
    trials: int | None = None,
    confidence: Exact | None = None,
    seed: int | None = None,
    seconds: Exact | None = None,
    jobs: int | None = None,
    relation: str | None = None,
    radius: Exact | None = None,
    early: bool = False,
    allow_code: bool = True,
    **data: object,
) -> dict[str, Any]:
    """Attack a subject by name, or a function of an importable module; return a lower bound on its ε.

    (`epsilon`, `delta`) is the claim, or one of `rho` (zCDP), `mu` (Gaussian DP), `points` (ε, δ) that
    all hold, `renyi` points (order, ε), and `plan`, whose whole privacy curve is claimed.
    The pair under attack gets at most `trials` runs (default
    20000) and `seconds` of processor time (default 60, for your own code), in `jobs` processes;
    `confidence` is that of the lower bound (default 0.95); `seed` is that of all randomness;
    `early` stops at the first refutation; without `allow_code`, only catalogued subjects are run.

    For your own function describe the data: `shape` (rows, or rows and columns), `low`, `high` and
    `dtype` ("float" or "int") of an array, or `columns` as in a claim's ``[subject.data]`` (a
    dictionary, or the path of a TOML file); `relation` and `radius`; and optionally a pair of
    neighbours `left`, `right`.  Raises `InputError` for arguments that are missing or invalid.
    """
    said = {**locals()}  # all arguments by name
    for key in data.keys() - set(DATA):
        known = sorted({*said, *DATA} - {"data"})
        raise InputError(f"audit has no argument {key!r}", f"known: {', '.join(known)}")
    name = subject if isinstance(subject, str) else f"{subject.__module__}:{subject.__qualname__}"
    question = Arguments.read({**said, "terms": terms_of(data)}).request(name)
    answer: dict[str, Any] = to_builtins(dispatch.audit(question, silent))
    return answer


def check(certificate: str | Path, *, at: date | None = None) -> dict[str, Any]:
    """Re-derive every step of a certificate with the independent checker.

    Return ``{"valid", "verdict", "said"}``: for an invalid certificate `verdict` is None and `said`
    the reason.  It must not have expired on the day `at`.  Raises `InputError` if the file is not a
    certificate.
    """
    raw = read_bytes(Path(certificate))
    try:
        verdict, sentence = consistency.examined(raw, at)
    except checker.Unreadable as why:
        raise InputError(str(why), "give a certificate", certificate) from None
    except checker.Rejected as why:
        return {"valid": False, "verdict": None, "said": str(why)}
    return {"valid": True, "verdict": verdict, "said": sentence}
