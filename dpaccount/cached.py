"""Properties that are computed once, without a lock."""

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

T = TypeVar("T")


class cached_property(functools.cached_property[T]):  # noqa: N801 - it stands for that one
    """The standard library's, which up to Python 3.11 computes under a lock that all instances share.

    A process that is forked while another thread computes would inherit the lock, for ever held.  Two
    threads may compute the same twice.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        super().__init__(compute)
        self.lock = nullcontext()
