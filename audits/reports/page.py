"""A certificate as one self-contained page, as Markdown, or as the YAML of a registry, all for people."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from audits.reports.sections import Block, Section, sections
from audits.reports.standards import SILENT, arithmetic, governance, of_persons, steps_of
from audits.reports.words import CertifyResult


def html(
    certificate: CertifyResult,
    ledger: Mapping[str, Any] | None = None,
    added: Sequence[Section] = (),
    *,
    unfolded: bool = False,
) -> str:
    """Return the page; all text is escaped, and its policy forbids scripts and anything from outside.

    `added` are sections of other packages.  `unfolded`: every step of the proof is open, for paper.
    """
    parts = sections(certificate, ledger, added)
    return of_sections(certificate["verdict"], certificate["claim"]["name"], parts, unfolded=unfolded)


def of_sections(verdict: str, name: str, parts: list[Section], *, unfolded: bool = False) -> str:
    """Return a page of sections, below a verdict and a name."""
    certificate = {"verdict": verdict, "claim": {"name": name}}
    return _templates().get_template("report.html").render(c=certificate, sections=parts, open=unfolded)


def _templates() -> Environment:
    """Return the templates of pages, which escape all text, and of the registry, which quotes it."""
    pages = Environment(
        loader=PackageLoader("audits"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    pages.filters |= {"words": _words, "json": _quoted}
    return pages


def _words(text: str) -> Markup:
    """Return a text escaped, with names of code set as code and numbers that no line end breaks."""
    escaped = re.sub(r"`([\w .-]+)`", r"<code>\1</code>", str(escape(text)))
    return Markup(re.sub(r"\b\d[\d.]*e-\d+\b", r'<span class="figure">\g<0></span>', escaped))  # noqa: S704 - escaped above


def _quoted(value: object) -> Markup:
    """Return a value as in JSON, which YAML reads."""
    # JSON escapes line ends: no text of a claim may begin another field.
    return Markup(json.dumps(value, ensure_ascii=False))  # noqa: S704 - no page takes it


def index(entries: list[dict[str, str]]) -> str:
    """Return the page of a folder of certificates, a line each."""
    return _templates().get_template("index.html").render(entries=entries)


def registry(certificate: CertifyResult) -> str:
    """Return the fields of OpenDP's registry in YAML, tier by tier; texts are quoted as in JSON."""
    steps, columns = steps_of(certificate), certificate["claim"].get("data", {}).get("columns")
    fields = {
        "stated": governance(certificate),
        "domain": json.dumps(columns, ensure_ascii=False) if columns else SILENT,
        "of_persons": of_persons(certificate),
        "arithmetic": arithmetic(steps),
        "steps": steps,
        "silent": SILENT,
    }
    return _templates().get_template("registry.yaml").render(c=certificate, **fields) + "\n"


def markdown(
    certificate: CertifyResult, ledger: Mapping[str, Any] | None = None, added: Sequence[Section] = ()
) -> str:
    """Return the same as Markdown, without the pictures."""
    parts = [f"# {certificate['verdict']}: {_plain(certificate['claim']['name'])}"]
    for section in sections(certificate, ledger, added):
        blocks = [text for text in map(_block, section.blocks) if text]
        if blocks:
            parts += [f"## {section.title}", *blocks]
    return "\n\n".join(parts) + "\n"


def _block(block: Block) -> str:
    if block.kind == "text":
        return "\n\n".join(map(_plain, block.lines))
    if block.kind == "list":
        return "\n".join(f"- {_plain(line)}" for line in block.lines)
    if block.kind == "steps":
        return "\n".join(f"- {_plain(step)}" for step, _ in block.rows)
    if block.kind == "picture":
        return ""
    head = block.head or ("", "")
    rows = [head, ("---",) * len(head), *block.rows]
    return "\n".join(f"| {' | '.join(_plain(cell) for cell in row)} |" for row in rows)


def one_line(text: str) -> str:
    """Return a text without line ends or control characters."""
    return "".join(c if c.isprintable() else " " for c in text)


def _plain(text: str) -> str:
    """Return a text in one line in which nothing of a claim's words is markup."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", " ".join(str(text).split()))
