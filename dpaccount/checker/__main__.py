"""Re-check a certificate, or a bare derivation, without trusting the program that wrote it.

usage: python3 -I -S checker FILE [--at YYYY-MM-DD] [--derivation] [--rules]

`checker` is this folder, or one zip file of it.  Exit 0: the claim follows from the derivation.  1: it does
not, with the first thing that fails, or the document states a refutation.  3: the document states that the
claim is unproven.  2: not a JSON object of this schema.  Tests, attacks, what is read of a table, intervals
and signatures are not looked at: `dpaccount check` does that.  With --derivation FILE is a bare derivation;
exit 0: every step follows.  With --rules the rules that a document rests on are listed, and files to read.
"""

import sys

if not __package__:  # run as a folder or zip file: a package of its own, off the path of the standard library
    here = __file__[: -len("/__main__.py")]
    sys.path[:] = [place for place in sys.path if place.rstrip("/\\") != here]
    __package__, __spec__ = "checker", None
    sys.modules[__package__] = type(sys)(__package__)
    sys.modules[__package__].__path__ = [here]

import io
from datetime import date

from .accounting import EXIT, examined, to_read
from .certificate import signature_of
from .derivation import in_words
from .documents import MAX_BYTES, Rejected, Unreadable, plain

USAGE = "usage: checker FILE [--at YYYY-MM-DD] [--derivation] [--rules]"


def main(arguments: list[str]) -> int:
    """Run the command line; return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    options = {word for word in arguments if word in ("--derivation", "--rules")}
    rest, at = [word for word in arguments if word not in options], None
    if len(rest) == 3 and rest[1] == "--at":
        try:
            at = date.fromisoformat(rest[2])
        except ValueError:
            return refuse(f"{rest[2]!r} is not a date; write YYYY-MM-DD")
    elif len(rest) != 1:
        return refuse(f"wrong arguments; {USAGE}")
    try:
        return show(rest[0], at, options)
    except OSError as why:
        return refuse(f"{plain(rest[0])}: {why.strerror or 'unreadable'}; give the path of a certificate")
    except (Unreadable, ValueError, MemoryError, RecursionError) as why:
        return refuse(f"{plain(rest[0])}: {plain(str(why))}; give a certificate")
    except Rejected as why:
        sys.stdout.write(f"invalid: {why}\n")
        return 1


def show(name: str, at: date | None, options: set[str]) -> int:
    """Check a file and print what was confirmed; return the exit code."""
    with open(name, "rb") as file:  # noqa: PTH123
        raw = file.read(MAX_BYTES + 1)
    bare = "--derivation" in options
    verdict, confirmed = examined(raw, at, derivation=bare)
    sys.stdout.write(f"valid: {confirmed}" + ("\n" if bare else f", {signature_of(raw)}\n"))
    if "--rules" in options:
        sys.stdout.write(in_words(to_read(raw)))
    return EXIT[verdict]


def refuse(why: str) -> int:
    """Print why nothing was checked; return the exit code."""
    sys.stderr.write(f"error: {why}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
