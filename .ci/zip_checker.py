"""Write the checker as one zip file that Python runs, the same for the same sources, and print its SHA-256.

usage: python .ci/zip_checker.py FILE
"""

import hashlib
import sys
import zipfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "dpaccount" / "checker"


def main(target: Path) -> None:
    """Write every source in the order of its name, dated as zip files begin to count."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as file:
        for source in sorted(FOLDER.rglob("*.py"), key=lambda path: path.relative_to(FOLDER).as_posix()):
            entry = zipfile.ZipInfo(source.relative_to(FOLDER).as_posix(), (1980, 1, 1, 0, 0, 0))
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            file.writestr(entry, source.read_bytes())
    print(f"{hashlib.sha256(target.read_bytes()).hexdigest()}  {target}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
