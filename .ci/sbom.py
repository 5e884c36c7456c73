"""Writes what users install with the wheel: a bill of materials (CycloneDX 1.6), and third parties' licences.

Reads the packages that the locks name from the environment in which it runs, `.venv` of `make wheel`.
"""

import hashlib
import json
import re
import sys
import uuid
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

LICENCE = re.compile(r"(licen[cs]e|copying|notice|authors|copyright)", re.IGNORECASE)


def named(name: str) -> str:
    """Return a distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(*files: Path) -> dict[str, str]:
    """Return the version of each package that lock files name."""
    every = "\n".join(file.read_text() for file in files)
    return {named(name): version for name, version in re.findall(r"^([\w.-]+)==(\S+)", every, re.MULTILINE)}


def licence_of(held: metadata.PackageMetadata) -> str:
    """Return a package's licence as it states it: an SPDX expression, a name, or the classifiers."""
    stated = held.get("License-Expression") or held.get("License") or ""
    classified = [
        c.rpartition(" :: ")[2] for c in held.get_all("Classifier") or () if c.startswith("License ::")
    ]
    return next(iter(stated.strip().splitlines()), "") or ", ".join(classified) or "not stated"


def bill(wheel: Path, packages: dict[str, str]) -> dict[str, Any]:
    """Return the bill of materials of a wheel and the packages that users install with it."""
    name, version = wheel.name.split("-")[:2]
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    refs = {package: f"pkg:pypi/{package}@{at}" for package, at in packages.items()}
    own = f"pkg:pypi/{name}@{version}"
    needed = {own: sorted(refs.values())}
    components = []
    for package, ref in refs.items():
        held = metadata.distribution(package)
        if held.version != packages[package]:
            raise SystemExit(
                f"{package} is {held.version}, the lock says {packages[package]}; run make setup"
            )
        uses = {named(Requirement(each).name) for each in held.requires or () if "extra ==" not in each}
        needed[ref] = sorted(refs[each] for each in uses & refs.keys())
        licences = [{"license": {"name": licence_of(held.metadata)}}]
        parts = {"name": package, "version": packages[package], "purl": ref, "licenses": licences}
        components.append({"type": "library", "bom-ref": ref, **parts})
    wheel_of = {"type": "application", "bom-ref": own, "name": name, "version": version, "purl": own}
    wheel_of |= {"hashes": [{"alg": "SHA-256", "content": digest}]}  # type: ignore[dict-item]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{own} {digest}')}",
        "version": 1,
        "metadata": {"component": wheel_of},
        "components": components,
        "dependencies": [{"ref": ref, "dependsOn": uses} for ref, uses in needed.items()],
    }


def notices(packages: dict[str, str]) -> str:
    """Return each package's licence, with the text of its licence files."""
    parts = []
    for package, version in packages.items():
        held = metadata.distribution(package)
        files = [each for each in held.files or () if ".dist-info" in str(each) and LICENCE.search(each.name)]
        texts = [
            path.read_text(errors="replace") for each in files if (path := Path(str(each.locate()))).is_file()
        ]
        parts.append("\n\n".join([f"{package} {version}: {licence_of(held.metadata)}", *texts]))
    return f"\n\n{'=' * 110}\n\n".join(parts) + "\n"


def main(*locks: str) -> None:
    """Write the two files beside the wheel in dist."""
    folder, packages = Path("dist"), dict(sorted(locked(*map(Path, locks)).items()))
    wheel = max(folder.glob("dpaccount-*.whl"), key=lambda path: path.stat().st_mtime)
    (folder / f"{wheel.stem}.cdx.json").write_text(json.dumps(bill(wheel, packages), indent=1) + "\n")
    (folder / "THIRD-PARTY-NOTICES.txt").write_text(notices(packages))


if __name__ == "__main__":
    main(*sys.argv[1:])
