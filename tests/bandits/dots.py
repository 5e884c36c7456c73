"""The script that draws the pictures of docs/, for tests of their tables."""

import importlib.util


def drawn_dots(root):
    spec = importlib.util.spec_from_file_location("draw_dots", root / "docs" / "draw_dots.py")
    draw = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(draw)
    return draw
