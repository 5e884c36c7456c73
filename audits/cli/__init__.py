"""The command line: `main` is what the installed command runs."""

from audits.cli.app import main, run

__all__ = ["main", "run"]
