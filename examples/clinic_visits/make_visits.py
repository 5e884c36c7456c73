"""Write made-up visits to a clinic: 400 patients, one to six rows each, in the order of their days."""

import csv
from pathlib import Path

import numpy as np

PATIENTS = 400


def visits_of(patient: int, rng: np.random.Generator) -> list[list[object]]:
    """Return the rows of one patient: day, age, city, minutes, of which some are missing."""
    age, city = int(rng.integers(1, 96)), rng.choice(["north", "south", "abroad"], p=[0.55, 0.34, 0.11])
    days = rng.integers(1, 366, size=rng.integers(1, 7))
    minutes = [round(float(m), 1) if rng.random() < 0.95 else "" for m in rng.gamma(2.5, 8, len(days))]
    return [[f"p{patient:04d}", int(day), age, str(city), m] for day, m in zip(days, minutes, strict=True)]


def main(path: Path) -> None:
    """Write the table, the same every time."""
    rng = np.random.default_rng(7)
    visits = [visit for patient in range(PATIENTS) for visit in visits_of(patient, rng)]
    with path.open("w", newline="") as file:
        written = csv.writer(file, lineterminator="\n")
        written.writerow(["patient", "day", "age", "city", "minutes"])
        written.writerows(sorted(visits, key=lambda visit: visit[1]))


if __name__ == "__main__":
    main(Path(__file__).with_name("visits.csv"))
