"""Write field.csv: 400 points of a made-up field, with the output that the curator would answer."""

import csv
import sys
from pathlib import Path

import numpy as np

import dpaccount  # noqa: F401 (it finds the package bandits)
from papers.kharkovskii.fields import gaussian_field


def main(target: Path) -> None:
    """Write x, y and output of every 25th point."""
    field = gaussian_field(seed=1)
    chosen = np.arange(0, len(field.points), 25)
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["x", "y", "output"])
        for point, value in zip(field.points[chosen], field.values[chosen], strict=True):
            writer.writerow([f"{point[0]:.4f}", f"{point[1]:.4f}", f"{value:.4f}"])


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("field.csv"))
