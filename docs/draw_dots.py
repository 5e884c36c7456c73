"""Draw docs/local-privacy.svg and docs/contextual.svg, each from a table of its page: numbers as dots.

usage: python docs/draw_dots.py
"""

import re
from dataclasses import dataclass
from html import escape
from math import log10
from pathlib import Path

FOLDER = Path(__file__).parent
TOP = 46
LEAST = 0.005  #: at the left edge; the axis is logarithmic


@dataclass(frozen=True)
class Dots:
    """A table of a page, by its heading, and how it is drawn: dots from `left` to `right`, up to `most`."""

    page: str
    picture: str
    heading: str
    columns: str  #: how the heading of a column reads, {} being that of the table
    axis: str
    colours: tuple[str, ...]
    left: int
    right: int
    step: int  #: from row to row
    legend: int  #: from column to column
    most: float
    ticks: tuple[float, ...]

    def table(self) -> tuple[list[str], dict[str, list[float]]]:
        """Return the columns (ε), and each algorithm's numbers; what follows one in its cell is left out."""
        text = (FOLDER / self.page).read_text(encoding="utf-8")
        lines = text[text.index(self.heading) :].split("\n\n", maxsplit=1)[0].splitlines()
        cells = [[cell.strip().strip("*") for cell in line.strip("|").split("|")] for line in lines]
        return [self.columns.format(name) for name in cells[0][1:]], {
            row[0].replace("`", ""): [float(re.match(r"[\d.]+", cell)[0]) for cell in row[1:]]
            for row in cells[2:]
        }

    def across(self, number: float) -> float:
        """Return how far to the right a number stands."""
        share = log10(max(number, LEAST) / LEAST) / log10(self.most / LEAST)
        return self.left + (self.right - self.left) * share

    def drawing(self) -> str:
        """Return the picture."""
        columns, rows = self.table()
        width, height = self.right + 30, TOP + self.step * len(rows) + 40
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            'font-family="sans-serif" font-size="13">',
            f'<rect width="{width}" height="{height}" fill="white"/>',
        ]
        for tick in self.ticks:
            x = self.across(tick)
            parts.append(f'<path d="M{x:.1f} {TOP - 8}V{height - 34}" stroke="#ddd"/>')
            parts.append(f'<text x="{x:.1f}" y="{height - 18}" text-anchor="middle">{tick:g}</text>')
        middle = (self.left + self.right) / 2
        parts.append(f'<text x="{middle}" y="{height - 3}" text-anchor="middle">{self.axis}</text>')
        for place, (column, colour) in enumerate(zip(columns, self.colours, strict=True)):
            x = self.left + self.legend * place
            parts.append(f'<circle cx="{x}" cy="18" r="5" fill="{colour}"/>')
            parts.append(f'<text x="{x + 10}" y="22">{escape(column)}</text>')
        for number, (name, values) in enumerate(rows.items()):
            y = TOP + self.step * number + 8
            parts.append(f'<text x="{self.left - 14}" y="{y + 4}" text-anchor="end">{escape(name)}</text>')
            parts += [
                f'<circle cx="{self.across(value):.1f}" cy="{y}" r="5" fill="{colour}"/>'
                for value, colour in zip(values, self.colours, strict=True)
            ]
        return "\n".join([*parts, "</svg>", ""])


LOCAL_PRIVACY = Dots(
    page="local-bandits.md",
    picture="local-privacy.svg",
    heading="| share of uniform play's regret: median (mean) |",
    columns="{}",
    axis="median regret over that of uniform play (logarithmic)",
    colours=("#1b6ca8", "#3a9d5d", "#c8553d"),
    left=230,
    right=640,
    step=26,
    legend=110,
    most=1.3,
    ticks=(0.005, 0.01, 0.03, 0.1, 0.3, 1.0),
)
CONTEXTUAL = Dots(
    page="contextual.md",
    picture="contextual.svg",
    heading="| error, ε = |",
    columns="ε = {}",
    axis="mean error, T = 1024 (logarithmic)",
    colours=("#7b3294", "#c8553d", "#1b6ca8", "#3a9d5d", "#d9a404"),
    left=290,
    right=720,
    step=24,
    legend=84,
    most=2.0,
    ticks=(0.01, 0.03, 0.1, 0.3, 1.0),
)

if __name__ == "__main__":
    for dots in (LOCAL_PRIVACY, CONTEXTUAL):
        (FOLDER / dots.picture).write_text(dots.drawing(), encoding="utf-8")
