"""Write made-up visits to a clinic: 400 patients, one to six rows each, in the order of their days."""

import csv
import random
from pathlib import Path

PATIENTS = 400


def main(path: Path) -> None:
    """Write the table, the same every time."""
    rng = random.Random(7)
    visits = []
    for patient in range(PATIENTS):
        age, city = rng.randint(1, 95), rng.choices(["north", "south", "abroad"], [5, 3, 1])[0]
        for _ in range(rng.randint(1, 6)):
            minutes = round(min(rng.gammavariate(2.5, 8), 200), 1)
            visits.append([f"p{patient:04d}", rng.randint(1, 365), age, city, minutes if rng.random() < 0.95 else ""])
    visits.sort(key=lambda visit: visit[1])
    with path.open("w", newline="") as file:
        written = csv.writer(file, lineterminator="\n")
        written.writerow(["patient", "day", "age", "city", "minutes"])
        written.writerows(visits)


if __name__ == "__main__":
    main(Path(__file__).with_name("visits.csv"))
