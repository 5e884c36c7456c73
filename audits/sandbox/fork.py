"""Code in forks of this process: what it keeps in memory ends with its process, and no other part sees it.

Of a real run a subject's reader meets the rows as they are, and its report what was released; of the property
tests some runs start from what this process has done so far.  A module's cache, a class's list or an
attribute that one of them fills ends with its fork.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from types import TracebackType
from typing import Any

from msgspec import MsgspecError

from audits.sandbox.frames import read_frame, write_frame
from dpaccount.errors import POSIX_ONLY, DpaccountError, InputError


class NoAnswer(InputError):  # noqa: N818
    """The process ended without an answer."""


class Fork:
    """A fork of this process, made now, that does `work` on what `ask` sends it later, and ends.

    Questions and answers are what MessagePack can hold.  It has no files of this process open, unless
    `files`.  What it writes to standard output and error goes to the file descriptor `output`, if there is
    one.  Use it in a ``with`` block.
    """

    def __init__(self, work: Callable[[Any], object], *, files: bool = False, output: int = -1) -> None:
        if not hasattr(os, "fork"):
            raise InputError(POSIX_ONLY.format("forks"))
        inbox, questions = os.pipe()
        answers, outbox = os.pipe()
        _flush()
        self._child = os.fork()
        if self._child == 0:
            if files:
                os.close(questions)
                os.close(answers)
            else:
                _close_all_but(inbox, outbox)
            if output >= 0:
                os.dup2(output, 1)
                os.dup2(output, 2)
            _answer(work, inbox, outbox)
        os.close(inbox)
        os.close(outbox)
        self._questions, self._answers = os.fdopen(questions, "wb"), os.fdopen(answers, "rb")

    def __enter__(self) -> "Fork":
        """Return the fork."""
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """End the fork: it has answered, or is not asked any more."""
        os.kill(self._child, signal.SIGKILL)
        os.waitpid(self._child, 0)
        for stream in (self._questions, self._answers):
            with suppress(BrokenPipeError):  # what it was never sent
                stream.close()

    def ask(self, question: object = None) -> Any:
        """Return the answer; raises `InputError` with what `work` raised, `NoAnswer` where it ended."""
        try:
            write_frame(self._questions, question)
            kind, answer = read_frame(self._answers)
        except (
            EOFError,
            OSError,
            ValueError,
            TypeError,
            RecursionError,
            MsgspecError,
        ):  # ended, or no answer of ours
            raise NoAnswer("the subject's code ended its process; let it return") from None
        if kind == "error":
            raise InputError(answer)
        return answer


def apart(call: Callable[[], object], output: int = -1) -> Any:
    """Return what `call` returns in a fork with all that this process has open; raises as `Fork.ask` does."""
    with Fork(lambda _: call(), files=True, output=output) as child:
        return child.ask()


def _flush() -> None:
    """Write what this process has buffered for standard output and error, that of libraries in C included."""
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with suppress(AttributeError, OSError, ValueError):  # there is none, or it is closed
            stream.flush()  # type: ignore[union-attr]
    ctypes.CDLL(None).fflush(None)


def _close_all_but(*kept: int) -> None:
    """Close what the parent has open beyond its standard streams: a lock on a file would be held here too."""
    ends = [2, *sorted(kept), os.sysconf("SC_OPEN_MAX")]
    for before, after in pairwise(ends):
        os.closerange(before + 1, after)


def _answer(work: Callable[[Any], object], inbox: int, outbox: int) -> None:
    """Answer one question in the fork, and end it without the clean-up that belongs to its parent."""
    try:
        with os.fdopen(inbox, "rb") as questions, os.fdopen(outbox, "wb") as answers:
            try:
                answer = ["done", work(read_frame(questions))]
            except DpaccountError as error:
                answer = ["error", str(error)]
            _flush()
            write_frame(answers, answer)
    finally:
        os._exit(0)
