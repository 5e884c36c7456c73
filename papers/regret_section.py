"""Regret over rounds with bands: the curves that `dpaccount reproduce --out` writes, in a report."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path

from audits.reports.pictures import LEFT, Dot, axes, line, place, svg
from audits.reports.sections import Section, picture_block, table_block
from dpaccount.documents import plain, read_bytes
from dpaccount.errors import InputError

HEAD = ["cell", "round", "mean", "standard_error"]
MAX_CURVES = 6  #: curves of one picture
MAX_NAME_LENGTH = 100  #: characters of a curve's name
MAX_COORDINATE = 10**12  #: of a round or a regret
CAPTION = (
    "Regret by round, with bands of two standard errors: rehearsals on made-up people with simulated noise,"
    " from a file beside this certificate, which neither it nor its checker vouches for. None is a release."
)


@dataclass(frozen=True)
class Curve:
    """Mean regret of one bandit after some rounds, and its standard error."""

    name: str
    rounds: tuple[int, ...]
    means: tuple[float, ...]
    errors: tuple[float, ...]


def section(path: Path) -> Section:
    """Return the section of a report that a file of curves makes."""
    curves = read_curves(path)
    head = ("cell", "rounds", "regret ± two standard errors")
    last = [
        (each.name, str(each.rounds[-1]), f"{each.means[-1]:.4g} ± {2 * each.errors[-1]:.2g}")
        for each in curves
    ]
    shown = (picture_block(picture(curves), CAPTION), table_block(last, head))
    return Section("Regret in rehearsals", "regret", shown)


def read_curves(path: Path) -> list[Curve]:
    """Return the curves of a file; raises `InputError` for a file that is not one of curves."""
    try:
        lines = list(csv.reader(read_bytes(path).decode().splitlines(), strict=True))
    except (UnicodeDecodeError, csv.Error):
        raise _not_curves(path, "it is no CSV") from None
    if not lines or lines[0] != HEAD:
        raise _not_curves(path, f"its first line is not {','.join(HEAD)}")
    points_by_name: dict[str, list[tuple[int, float, float]]] = {}
    for number, text in enumerate(lines[1:], 2):
        name, point = _point(path, number, text)
        points_by_name.setdefault(name, []).append(point)
    if not 1 <= len(points_by_name) <= MAX_CURVES:
        what = f"it has {len(points_by_name)} cells, and a picture 1 to {MAX_CURVES}"
        raise _not_curves(path, f"{what}: keep its first line and those of the cells to show")
    return [_curve(path, name, points) for name, points in points_by_name.items()]


def _point(path: Path, number: int, line: list[str]) -> tuple[str, tuple[int, float, float]]:
    try:
        name, at, mean, error = line
        point = int(at), float(mean), float(error)
    except ValueError:
        raise _not_curves(path, f"line {number} has no round, mean and standard error") from None
    if not (
        1 <= point[0] <= MAX_COORDINATE
        and abs(point[1]) <= MAX_COORDINATE
        and 0 <= point[2] <= MAX_COORDINATE
    ):
        raise _not_curves(path, f"line {number} has no round, mean and standard error")
    # Nobody vouches for the file, and a report shows its names.
    return plain(name)[:MAX_NAME_LENGTH], point


def _curve(path: Path, name: str, points: Sequence[tuple[int, float, float]]) -> Curve:
    rounds, means, errors = zip(*points, strict=True)
    if len(rounds) < 2 or any(after <= before for before, after in pairwise(rounds)):
        raise _not_curves(path, f"the rounds of {name!r} do not rise, or are fewer than two")
    return Curve(name, rounds, means, errors)


def _not_curves(path: Path, why: str) -> InputError:
    return InputError(str(why), "give curves.csv of `dpaccount reproduce NAME --out FOLDER`", path)


def picture(curves: Sequence[Curve]) -> str:
    """Return the curves with their bands as SVG."""
    drawn = [(each.name, _dots(each, 0), _dots(each, 2) + _dots(each, -2)[::-1]) for each in curves]
    return _banded(drawn, "round", "regret")


def _dots(curve: Curve, errors: float) -> list[Dot]:
    """Return the curve at this many standard errors above its means."""
    points = zip(curve.rounds, curve.means, curve.errors, strict=True)
    return [(float(at), mean + errors * error) for at, mean, error in points]


def _banded(curves: Sequence[tuple[str, list[Dot], list[Dot]]], right: str, up: str) -> str:
    """Return named curves, each with the outline of its band, on scales that hold all of them and zero."""
    dots = [dot for _, path, band in curves for dot in (*path, *band)]
    most, high = max(dot[0] for dot in dots), max(0.0, *(dot[1] for dot in dots))
    low = min(0.0, *(dot[1] for dot in dots))
    span = (high - low) or 1.0

    def at(dot: Dot) -> Dot:
        return place(dot[0] / most, (high - dot[1]) / span)

    ticks = [(at((0, low + span * j / 4))[1], f"{low + span * j / 4:.3g}") for j in range(5)]
    parts = [axes(right, up, most, ticks)]
    for j, (name, path, band) in enumerate(curves):
        outline = " L".join(f"{x:.1f} {y:.1f}" for x, y in map(at, band))
        parts.append(f'<path class="curve{j} band" d="M{outline}Z"/>')
        parts.append(line([at(dot) for dot in path], f"curve{j}"))
        y = 22 + 18 * j
        parts.append(f'<path class="curve{j}-line" d="M{LEFT + 12} {y - 4}h22"/>')
        parts.append(f'<text x="{LEFT + 40}" y="{y}">{escape(name)}</text>')
    return svg(parts, f"{up} by {right}: {', '.join(name for name, *_ in curves)}", ())
