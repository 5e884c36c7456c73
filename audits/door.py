"""`dpaccount.certify`, `audit` and `check` from Python: what the commands of these names do, as functions.

They return what the commands print with ``--json``, and write what the commands write.  Verdicts are values
here: only a wrong request raises (`dpaccount.errors.InputError`).
"""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from audits.cli.options import cores
from audits.cli.questions import AuditOptions
from audits.tasks import ask
from audits.tasks.messages import Certify
from dpaccount import checker
from dpaccount.documents import read_bytes
from dpaccount.errors import InputError
from dpaccount.exact import Exact, as_exact, shown


def _quiet(what: str) -> None:
    """Say nothing of the progress."""


def certify(
    claim: str | Path,
    *,
    out: str | Path | None = None,
    quick: bool = False,
    again: bool = False,
    require: str | Path | None = None,
    allow_code: bool = True,
    jobs: int | None = None,
) -> dict[str, Any]:
    """Prove, test and attack the claim in a TOML file; return its certificate, written to `out` too.

    `out` is a folder (default certificates/NAME), `quick` cuts the audit's runs tenfold, `again` makes a new,
    charged release, `require` is a policy that must be met (else `InputError`, after the files are written).
    """
    from audits.certificate.files import write_all

    policy = None if require is None else Path(require)
    question = Certify(Path(claim), quick, again, policy, jobs or cores(), allow_code)
    done = ask.certify(question, _quiet)
    name = done.certificate["claim"]["name"]
    write_all(done.certificate, Path("certificates") / name if out is None else Path(out), Path(claim))
    if done.broken:
        raise InputError(f"the policy is not met: {'; '.join(done.broken)}", "see the certificate")
    return done.certificate


def audit(
    subject: str | Callable[..., Any], epsilon: Exact, delta: Exact = 0, **options: object
) -> dict[str, Any]:
    """Attack a subject by name, or a function of an importable module; return a lower bound on its ε.

    `options` are those of ``dpaccount audit`` by their names, such as ``shape="20"``, ``low=0``, ``high=3``,
    ``trials=20000``, ``seed=1``.  Raises `InputError` for what is missing or wrong.
    """
    known = set(AuditOptions.__dataclass_fields__) - {"claim", "epsilon", "delta"}
    for key in options.keys() - known:
        raise InputError(f"audit has no option {key!r}", f"known: {', '.join(sorted(known))}")
    said = {key: each if isinstance(each, bool) else _text(each) for key, each in options.items()}
    if "columns" in said:
        said["columns"] = Path(str(said["columns"]))  # type: ignore[assignment]
    promise = {"epsilon": shown(as_exact(epsilon)), "delta": shown(as_exact(delta))}
    name = subject if isinstance(subject, str) else f"{subject.__module__}:{subject.__qualname__}"
    return ask.audit(AuditOptions(**promise, **said).question(name), _quiet)  # type: ignore[arg-type]


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def check(certificate: str | Path, *, at: date | None = None) -> dict[str, Any]:
    """Infer every step of a certificate again with the independent checker.

    Return ``{"valid", "verdict", "said"}``: `verdict` is None where it is not valid, and `said` why.  `at` is
    a day on which it must not be expired.  Raises `InputError` for what is no certificate at all.
    """
    raw = read_bytes(Path(certificate))
    try:
        verdict, said = checker.judged(raw, at)
    except checker.Unreadable as why:
        raise InputError(str(why), "give a certificate", certificate) from None
    except checker.Rejected as why:
        return {"valid": False, "verdict": None, "said": str(why)}
    return {"valid": True, "verdict": verdict, "said": said}
