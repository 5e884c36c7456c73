"""The files of an outcome, which replace those of a former one all at once."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpaccount.documents import sync_folder, writing
from dpaccount.errors import InputError, posix_module


@contextmanager
def replacing(folder: Path, *names: str) -> Iterator[Path]:
    """Give an empty folder for new files, which then replace all files of these `names` in `folder`.

    The last name is that of the summary: it is removed first and written last, so that a folder that has
    one holds files of one run.  A failure, such as a full disk, is an `InputError` naming the folder; it
    leaves the former files as they were, or no summary if a file could not be replaced.
    """
    with writing(folder):
        for name in names:
            if (folder / name).is_dir():
                raise InputError("this is a folder", "move it: a file is to be written here", folder / name)
        new = Path(tempfile.mkdtemp(dir=folder, prefix=".new-"))
        try:
            yield new
            for file in new.iterdir():
                with file.open("rb") as written:
                    os.fsync(written.fileno())
            with _alone(folder):  # or files of two runs that end at once would be mixed
                (folder / names[-1]).unlink(missing_ok=True)
                for name in names:
                    if (new / name).exists():
                        (new / name).replace(folder / name)
                    else:  # a former file would pass for one of this run
                        (folder / name).unlink(missing_ok=True)
                sync_folder(folder)
        finally:
            shutil.rmtree(new, ignore_errors=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the lock on a folder, once those who hold it are done; closing it unlocks."""
    fcntl = posix_module("fcntl")
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
