"""The two errors of a trapezoid rule along a line: each must be in the balls that it returns."""

from flint import arb

from dpaccount.numerics.fourier.shifted_line import ShiftedLine
from dpaccount.numerics.intervals import precision


def assert_both_matter(law, monkeypatch):
    """Check that rough rules enclose a fine one, and that one no longer does without either error term."""
    with precision(200):
        fine = ShiftedLine.real(law).total()
    with precision(60):
        lines = [ShiftedLine.at(law, (step, 0.0, 3.0), depth) for step, depth in ((1.4, 40.0), (0.3, 1.0))]
        assert all(line.total().overlaps(fine) for line in lines)
        monkeypatch.setattr(type(law), "tails", lambda *_: arb(0))
        assert not lines[1].total().overlaps(fine)
        monkeypatch.setattr(ShiftedLine, "_kappa", lambda *_: arb(0))
        assert not lines[0].total().overlaps(fine)
