"""`report`, `diff` and what a ledger says: certificates that were made here or received, for people."""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from audits.cli.options import File, Flag, Json, LedgerUrl, Name, Text, Url, day, one_of, say, show, watching
from dpaccount.documents import OPEN, OWN, atomically, check_output, using
from dpaccount.errors import DpaccountError, InputError

if TYPE_CHECKING:
    from audits.reports.sections import Section

OF_LEDGERS = ("html", "json", "csv")
FORMATS = ("html", "md", "pdf-ready", "registry", "nist")


def report(  # noqa: PLR0913 - options
    *files: File,
    format_: Annotated[str, one_of(*FORMATS)] = "html",
    html: Flag = False,
    md: Flag = False,
    pdf_ready: Flag = False,
    registry: Flag = False,
    nist: Flag = False,
    ledger: Url | None = None,
    part: Annotated[list[str] | None, Parameter(metavar="NAME=FILE", negative="")] = None,
    regret: Annotated[File | None, Parameter(show=False)] = None,
    output: File | None = None,
) -> int:
    """Write a report of certificates: an HTML page next to each, or text on standard output.

    Example: `dpaccount report certificate.json --md`

    Without a format it writes report.html next to the certificate; `dpaccount report FOLDER` writes
    an index of all certificates below it. Nothing that a certificate names is imported or read.

    Parameters
    ----------
    files
        certificate.json files, or one folder of them.
    format_
        html (a page), md (Markdown), pdf-ready (a page with every step open, to print), registry (the fields
        of the OpenDP deployments registry, as YAML), nist (the points of NIST SP 800-226).
    html
        The same as --format html.
    md
        The same as --format md.
    pdf_ready
        The same as --format pdf-ready.
    registry
        The same as --format registry.
    nist
        The same as --format nist.
    ledger
        The URL of the ledger that was charged, to report what is spent and left today.
    part
        A section that another package makes of a file, such as regret=curves.csv of `dpaccount
        reproduce`: regret over rounds with its bands; may be repeated.
    output
        Where to write (default: pages next to the certificate, text on standard output).
    """
    kind = _kind(
        format_, {"html": html, "md": md, "pdf-ready": pdf_ready, "registry": registry, "nist": nist}
    )
    if not files:
        raise InputError("no certificate is named", "give certificate.json files or a folder of them")
    if any(file.is_dir() for file in files):
        return _index(files, output)
    if output is not None and len(files) > 1:
        raise InputError("--output takes one certificate", "leave it out for several")
    check_output(output, *files)
    named = [*(part or ()), *([] if regret is None else [f"regret={regret}"])]
    if named and kind in ("registry", "nist"):
        option = "--part" if part else "--regret"
        raise InputError(f"{option} is drawn on pages, and --format is {kind}", "leave one of them out")
    today = None
    if ledger is not None:
        from audits.cli import answers

        today = answers.show(ledger)
    text_of = partial(_text, kind, today, [_part(each, output) for each in named])
    for file in files:
        _one(file, kind, text_of, output)
    return 0


def show_ledger(url: LedgerUrl, *, json_: Json = False) -> int:
    """Print the budget, what the worst unit has spent, and what remains.

    Example: `dpaccount ledger show sqlite:///team.db`
    """
    from audits.cli import answers
    from audits.reports.terminal import shown

    show(answers.show(url), json_, shown)
    return 0


def ledger_log(
    url: LedgerUrl,
    *,
    since: Text | None = None,
    until: Text | None = None,
    by: Text | None = None,
    scope: Name | None = None,
    csv: Flag = False,
    json_: Json = False,
) -> int:
    """Print every entry: what it is, who charged it and why, what it spends, why it was refused.

    Example: `dpaccount ledger log sqlite:///team.db --since 2026-01-01 --by alice --csv`

    Parameters
    ----------
    since
        Only entries from this day on (UTC), YYYY-MM-DD.
    until
        Only entries up to this day.
    by
        Only what this person, team or program did.
    scope
        Only what was charged to this scope, or below it.
    csv
        Print CSV.
    """
    from audits.reports.log import LogFilter, log, table
    from audits.reports.terminal import logged

    entries = log(url, LogFilter(day(since, "--since"), day(until, "--until"), by, scope))
    if csv and not json_:
        sys.stdout.write(table(entries))
    else:
        show(entries, json_, logged)
    return 0


def ledger_report(  # noqa: PLR0913 - options
    url: LedgerUrl,
    *,
    output: Annotated[File | None, Parameter(name=["--output", "-o"])] = None,
    format_: Annotated[str, one_of(*OF_LEDGERS)] = "html",
    since: Text | None = None,
    until: Text | None = None,
    by: Text | None = None,
    scope: Name | None = None,
    replay: Flag = False,
    json_: Json = False,
) -> int:
    """Report what was spent, reserved, refused, what is left, and whether the chain is valid.

    Exit code: 0 if the chain is valid, 1 if it is not.  What is spent and left is always of the whole ledger.

    Example: `dpaccount ledger report sqlite:///team.db --since 2026-01-01 --until 2026-03-31 -o report.html`

    Parameters
    ----------
    output
        Where to write (default: standard output).
    format_
        html (a page), json, csv (a row for each value).
    since
        List only entries from this day on (UTC), YYYY-MM-DD.
    until
        List only entries up to this day.
    by
        List only what this person, team or program did.
    scope
        List only what was charged to this scope, or below it.
    replay
        Recompute totals, too, if the ledger has more than 200,000 entries.
    """
    from audits.reports import of_ledger
    from audits.reports.log import LogFilter
    from audits.reports.review import report as reported
    from dpaccount.ledger.stores.place import Address, address

    place = address(url)
    check_output(output, place.witness)
    if isinstance(place, Address):  # and the logs of SQLite beside the file
        check_output(output, *(f"{place.resolved}{log}" for log in ("", "-wal", "-shm")))
    only = LogFilter(day(since, "--since"), day(until, "--until"), by, scope)
    kind = "json" if json_ else format_
    if kind == "html" and output is None and sys.stdout.isatty():
        right = "give --output report.html, or see ledger show"
        raise InputError("a page is not for a terminal", right)
    with watching():
        report = reported(url, replay=True if replay else None, only=only)
    report["nist"] = of_ledger.nist(report)
    text = of_ledger.table(report) if kind == "csv" else json.dumps(report, ensure_ascii=False) + "\n"
    if kind == "html":
        # The page calls a ledger by the name of its file or database: a URL has folders, or a password.
        text = of_ledger.html(report, url.partition("?")[0].rpartition("/")[2])
    if output is None:
        sys.stdout.write(text)
    else:
        _write(output, text, mode=OWN)  # as the ledger's own file
    return 0 if report["replay"]["valid"] else 1


def _kind(stated: str, flags: dict[str, bool]) -> str:
    asked = [name for name, on in flags.items() if on]
    if len(asked) > 1:
        raise InputError(
            f"{' and '.join(f'--{name}' for name in asked)} ask for two formats", "give one of them"
        )
    return asked[0] if asked else stated


def _part(text: str, output: Path | None) -> "Section":
    """Return the section that NAME=FILE asks for."""
    from dpaccount.extensions import REPORTS, extension, extensions

    name, equals, file = text.partition("=")
    check_output(output, file)
    made_by = extension(REPORTS, name) if equals else None
    if made_by is None:
        known = ", ".join(each.name for each in extensions(REPORTS)) or "none"
        raise InputError(f"--part has {text[:60]!r}", f"write NAME=FILE; the names are: {known}")
    from audits.reports.sections import Section

    make = made_by.load()
    try:
        section = make(Path(file))
    except (DpaccountError, OSError):
        raise
    except (Exception, SystemExit) as error:  # of code that anybody wrote
        raise InputError(made_by.broken(error), "mend or remove that package") from None
    if not isinstance(section, Section):
        raise InputError(made_by.broken("it made no section"), "mend or remove that package")
    return section


def _one(file: Path, kind: str, text_of: Callable[[dict[str, Any]], str], output: Path | None) -> None:
    from audits.reports import page
    from audits.reports.compare import read_certificate, unbroken

    certificate, checked = read_certificate(file)
    with unbroken(file, checked):
        text = text_of(certificate)
    as_page = kind in ("html", "pdf-ready")
    if not checked.startswith("valid"):
        say(f"{file}: {checked}")
        text = _warned(text, checked) if as_page else f"# {page.one_line(checked)}\n{text}"
    if as_page:
        _write(output or file.with_name("report.html"), text)
    elif output is None:
        sys.stdout.write(text)
    else:
        _write(output, text)


def _text(
    kind: str, ledger: dict[str, Any] | None, added: list["Section"], certificate: dict[str, Any]
) -> str:
    from audits.reports import page, standards

    if kind == "md":
        return page.markdown(certificate, ledger, added)
    if kind == "registry":
        return page.registry(certificate)
    if kind == "nist":
        return "".join(f"{point}: {answer}\n" for point, answer in standards.nist(certificate))
    return page.html(certificate, ledger, added, unfolded=kind == "pdf-ready")


def _warned(text: str, checked: str) -> str:
    """Return a page that says on top that its certificate is not valid."""
    from html import escape

    warning = f'<p role="alert"><strong>{escape(checked)}. Nothing below can be relied on.</strong></p>'
    # On top: all that follows reads as if it were confirmed.
    return text.replace("<header>", f"<header>{warning}", 1)


def _index(files: tuple[Path, ...], output: Path | None) -> int:
    from audits.reports import page
    from audits.reports.compare import listed

    if len(files) != 1:
        raise InputError("a folder must be given alone", "give one folder, or certificate.json files")
    _write(output or files[0] / "index.html", page.index(listed(files[0])))
    return 0


def _write(path: Path, text: str, *, mode: int = OPEN) -> None:
    with using(path, "name a file in a writable folder"):
        atomically(path, text, mode=mode)
    sys.stdout.write(f"{path}\n")


def diff(old: File, new: File, *, json_: Json = False) -> int:
    """Describe in words how two certificates differ.

    Exit code: 0 if nothing differs, 1 if something does or one of them is not valid.

    Example: `dpaccount diff last.json this.json`

    Parameters
    ----------
    old
        A certificate.json.
    new
        The certificate.json to compare it with.
    """
    from audits.reports.compare import differences, read_certificate, unbroken
    from dpaccount.schemas.results import Diff

    (before, first), (after, second) = read_certificate(old), read_certificate(new)
    changes = [
        f"{file}: {checked}"
        for file, checked in ((old, first), (new, second))
        if not checked.startswith("valid")
    ]
    whole = next((checked for checked in (first, second) if not checked.startswith("valid")), first)
    with unbroken(new, whole):
        changes += differences(before, after)
    show(
        Diff(str(old), str(new), changes),
        json_,
        lambda checked: "\n".join(checked["differences"]) or "no difference",
    )
    return 1 if changes else 0
