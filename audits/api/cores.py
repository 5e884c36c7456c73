"""The number of processes that a request uses by default."""

import os

MAX_CORES = 8


def cores() -> int:
    """Return the number of processors that this process may use, at most `MAX_CORES`."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(usable or 1, MAX_CORES)
