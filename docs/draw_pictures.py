"""Draws the pictures in docs/pictures that follow from numbers alone: `python docs/draw_pictures.py`."""

import json
import re
import tempfile
from pathlib import Path

from audits.reports import pictures
from dpaccount import Accountant, Gaussian, Laplace
from dpaccount.accounting.profile import write_profile
from dpaccount.accounting.training import Training, curve_svg

HERE = Path(__file__).parent
CERTIFICATE = HERE.parent / "tests" / "audits" / "reports" / "received.json"
REPORT = HERE.parent / "audits" / "templates" / "report.html"


def drawn() -> dict[str, str]:
    """Return every picture by its file's name."""
    run = Training(examples=60000, batch=256, sigma="1.1", steps=14063)
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "profile.svg"
        write_profile(Accountant([Gaussian(sigma=4, count=10), Laplace(scale=10)]), profile)
        certificate = json.loads(CERTIFICATE.read_text(encoding="utf-8"))
        return {
            "training.svg": curve_svg(run.curve("1e-5", points=24), "1e-5"),
            "profile.svg": profile.read_text(encoding="utf-8"),
            "claim-proof-attack.svg": alone(pictures.profile(certificate)),
            "trade-off.svg": alone(pictures.trade_off(certificate)),
        }


def alone(picture: str) -> str:
    """Return a report's picture with the report's own style, light, as a file of its own."""
    text = REPORT.read_text(encoding="utf-8")
    (names,) = re.findall(r":root { color-scheme: light dark; (.*?) }", text)
    rules = "".join(re.findall(r"^(?:svg text|\.axis|\.proof-line).*$|svg text {[^}]*}", text, re.MULTILINE))
    style = f"<style>svg {{ {names} background: #fff; }} {rules}</style>"
    head, rest = picture.split(">", 1)
    return f'{head} xmlns="http://www.w3.org/2000/svg">{style}{rest}\n'


if __name__ == "__main__":
    for name, text in drawn().items():
        (HERE / "pictures" / name).write_text(text, encoding="utf-8")
