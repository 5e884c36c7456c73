"""Structures of the files that are written, and of what is printed with ``--json``."""
