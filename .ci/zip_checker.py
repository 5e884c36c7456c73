"""Write the checker as one zip file that Python runs, the same for the same sources, and print its SHA-256.

usage: python .ci/zip_checker.py FILE
"""

import hashlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from audits.reports.verified import zipped

if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(zipped())
    print(f"{hashlib.sha256(target.read_bytes()).hexdigest()}  {target}")
