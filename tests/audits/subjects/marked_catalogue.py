"""Certify a claim with marks in the files of a catalogued class, and print its verdict, files not marked, and the lines left.

python -m tests.audits.subjects.marked_catalogue CLAIM OUT FILE...
"""

import importlib.machinery
import json
import sys
from pathlib import Path

from audits.subjects import marks


def main(claim, out, *files):
    """Mark the files before anything imports them."""
    loader = importlib.machinery.SourceFileLoader
    kept, own = loader.get_code, {Path(each).resolve() for each in files}

    def get_code(self, name):
        path = Path(self.get_filename(name)).resolve()
        if path not in own:
            return kept(self, name)
        own.remove(path)
        return marks.marked(path.read_bytes(), str(path), path.name) or kept(self, name)

    loader.get_code = get_code
    from audits.api.functions import certify

    done = certify(Path(claim), out=Path(out), quick=True, jobs=1)
    lines = [each for each in done["hazards"] if each.startswith(marks.NO_TEST)]
    print(json.dumps([done["verdict"], [*map(str, own)], lines]))


if __name__ == "__main__":
    main(*sys.argv[1:])
