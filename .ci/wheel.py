"""Puts four of our packages into a folder of their own in a wheel (see dpaccount_packages.py)."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Packages(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the packages to a wheel; an editable installation finds them next to `dpaccount`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Say where files go."""
        if version == "standard":
            folder = "dpaccount_packages"
            build_data["force_include"] |= {
                **{name: f"{folder}/{name}" for name in ("mechanisms", "audits", "bandits", "papers")},
                "dpaccount_packages.py": f"{folder}/__init__.py",
            }
