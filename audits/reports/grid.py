"""Aligned tables for a terminal."""

import io

from dpaccount.checker import plain

TERMINAL_WIDTH = 100  #: columns of a terminal that a table may take


def grid(head: list[str], rows: list[list[str]]) -> str:
    """Return rows of text under a head, aligned; control characters in cells are escaped."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    drawn = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in head:
        drawn.add_column(plain(name), overflow="fold")
    for row in rows:
        drawn.add_row(*map(plain, row))
    out = io.StringIO()
    Console(file=out, width=TERMINAL_WIDTH, highlight=False, markup=False, no_color=True).print(drawn)
    return "\n".join(line.rstrip() for line in out.getvalue().strip("\n").split("\n"))
