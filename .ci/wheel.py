"""Puts four of our packages, and the examples, into a folder of a wheel (see dpaccount_packages.py)."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Packages(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the packages to a wheel; an editable installation finds them next to `dpaccount`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Say where files go."""
        if version == "standard":
            folder = "dpaccount_packages"
            build_data["force_include"] |= {
                **{
                    name: f"{folder}/{name}"
                    for name in ("mechanisms", "audits", "bandits", "papers", "service")
                },
                "dpaccount_packages.py": f"{folder}/__init__.py",
                **{str(file): f"{folder}/{file}" for file in Path("examples").rglob("*") if shipped(file)},
            }


def shipped(file: Path) -> bool:
    """Return whether a file is of an example, and nothing that a run of it left: a ledger, a release."""
    left = {"__pycache__", "certificates"} & {*file.parts} or ".db" in file.name
    return file.is_file() and not left
