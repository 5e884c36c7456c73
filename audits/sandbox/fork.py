"""Runs code in forks of this process, so that nothing it keeps in memory reaches other code.

In a real run a subject's reader sees the private rows and its report sees the release; some runs of property
tests start from the current state of this process.  A cache of a module or a class attribute that they fill
ends with the fork.
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

from audits.sandbox.outcomes import read_frame, write_frame
from dpaccount.errors import POSIX_ONLY, DpaccountError, InputError


class NoAnswer(InputError):  # noqa: N818
    """The process ended without an answer."""


class Fork:
    """A fork of this process, made at once, that applies `work` to one question from `ask`, and ends.

    Questions and answers must be MessagePack values.  It inherits open files only with `files`.  Its standard
    output and error go to the file descriptor `output`, if not negative.  Use it in a ``with`` block.
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
        """End the fork."""
        os.kill(self._child, signal.SIGKILL)
        os.waitpid(self._child, 0)
        for stream in (self._questions, self._answers):
            with suppress(BrokenPipeError):  # unsent data is discarded
                stream.close()

    def ask(self, question: object = None) -> Any:
        """Return the answer; raises `InputError` if `work` raised our error, `NoAnswer` if the fork ended."""
        try:
            write_frame(self._questions, question)
            kind, answer = read_frame(self._answers)
        # the fork ended, or wrote something that is no answer
        except (EOFError, OSError, ValueError, TypeError, RecursionError, MsgspecError):
            raise NoAnswer("the subject's code ended its process; let it return") from None
        if kind == "error":
            raise InputError(answer)
        return answer


def in_fork(call: Callable[[], object], output: int = -1) -> Any:
    """Return the result of `call` in a fork that inherits open files; raises like `Fork.ask`."""
    with Fork(lambda _: call(), files=True, output=output) as child:
        return child.ask()


def _flush() -> None:
    """Flush standard output and error, including the buffers of C libraries."""
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with suppress(AttributeError, OSError, ValueError):  # there is none, or it is closed
            stream.flush()  # type: ignore[union-attr]
    ctypes.CDLL(None).fflush(None)


def _close_all_but(*kept: int) -> None:
    """Close inherited files other than standard streams: a fork would share the parent's file locks."""
    ends = [2, *sorted(kept), os.sysconf("SC_OPEN_MAX")]
    for before, after in pairwise(ends):
        os.closerange(before + 1, after)


def _answer(work: Callable[[Any], object], inbox: int, outbox: int) -> None:
    """Answer one question in the fork, and end it without running the parent's exit handlers."""
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
