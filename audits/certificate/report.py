"""The certificate as one self-contained HTML page for a reader who is not a programmer."""

import math
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

WORDS = {
    "CERTIFIED": "The claim is proved, and no attack contradicted it.",
    "REFUTED": "The claim, its proof or one of its assumptions is false: a witness is given below.",
    "UNPROVEN": "Neither proved nor refuted.",
}


def html(certificate: dict[str, Any]) -> str:
    """Return the page; all text is escaped, and its policy forbids scripts and anything from outside."""
    pages = Environment(
        loader=PackageLoader("audits"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    page = pages.get_template("report.html")
    return page.render(c=certificate, words=WORDS[certificate["verdict"]], picture=picture(certificate))


def picture(certificate: dict[str, Any]) -> dict[str, Any] | None:
    """Return bar lengths (percent of the widest) for ε: claimed, proved, and what the attack reached."""
    bars = [("claimed", certificate["guarantee"]["epsilon"])]
    if certificate["proved"]["epsilon"] is not None:
        bars.append(("proved, at most", certificate["proved"]["epsilon"]["upper"]))
    if certificate["audit"] is not None:
        bars.append(("attack shows, at least", certificate["audit"]["epsilon_lower"]))
    numbers = [(label, float(value)) for label, value in bars]
    finite = [value for _, value in numbers if math.isfinite(value)]
    widest = max(finite, default=0.0) or 1.0
    rows = [
        {
            "label": label,
            "value": f"{value:.6g}",
            "length": round(360 * min(value, widest) / widest, 1),
            "y": 30 * i,
        }
        for i, (label, value) in enumerate(numbers)
    ]
    return {"rows": rows, "height": 30 * len(rows)}
