"""A command that makes up a table of stays, and a part of reports that quotes a note."""

from pathlib import Path

import numpy as np

import dpaccount  # noqa: F401 - first: it finds the other packages of its wheel
from audits.reports.sections import Block, Section


def clinic_table(output: Path, *, rows: int = 20, seed: int = 1) -> int:
    """Write a made-up table of stays, to rehearse a release on.

    Example: `dpaccount clinic-table stays.csv --rows 20`

    Parameters
    ----------
    output
        Where to write the CSV.
    rows
        How many stays.
    seed
        The seed of what is made up.
    """
    days = np.random.default_rng(seed).integers(1, 15, rows)
    output.write_text("days\n" + "".join(f"{each}\n" for each in days))
    return 0


def clinic_note(file: Path) -> Section:
    """Return the section that `dpaccount report certificate.json --part clinic-note=FILE` adds."""
    return Section("Note of the clinic", "clinic-note", (Block("text", (file.read_text(),)),))
