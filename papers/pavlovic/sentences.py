"""Compares predictions from a released function with those of mechanisms, by the rows of our table."""

from typing import Any

from papers.reproduction import Sentence

Rows = list[dict[str, Any]]
MECHANISM, RELEASE = "usca", "function-release"


def better_from(rows: Rows) -> list[Sentence]:
    """Judge from how many predictions on a released function errs less than the best mechanism."""
    judged = []
    for kernel in dict.fromkeys(row["kernel"] for row in rows):
        mine = [row for row in rows if row["kernel"] == kernel]
        uses = sorted({row["predictions"] for row in mine})
        pairs = [(n, _least(mine, n, MECHANISM), _least(mine, n, RELEASE)) for n in uses]
        wins = [n for n, mechanism, release in pairs if release < mechanism]
        first = next((n for n in wins if all(each in wins for each in uses if each >= n)), None)
        numbers = ", ".join(f"J = {n}: {m:.4f} and {r:.4f}" for n, m, r in pairs)
        statement = f"{kernel}: the best release errs less than the best mechanism from J = 2 on, or before"
        whence = "never" if first is None else f"from J = {first} on"
        judged.append(Sentence(statement, "ours", first is not None and first <= 2, f"{whence}; {numbers}"))
    return judged


def _least(rows: Rows, predictions: int, name: str) -> float:
    wanted = (r for r in rows if r["predictions"] == predictions and r["algorithm"].startswith(name))
    return min(float(row["value"]) for row in wanted)
