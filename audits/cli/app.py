"""The command line.  Every command imports what it needs when it runs, so that starting is quick.

Exit codes: 0 done and it holds, 1 it does not hold, 2 the request is wrong, 3 not proved or not attacked.
"""

import os
import sys
from typing import Annotated, Any, cast

from cyclopts import App, CycloptsError, MissingArgumentError

import dpaccount
from audits.cli import accounting, attacks, certificates, ledger, reports, training, work
from audits.cli.options import one_of
from dpaccount.errors import DpaccountError
from dpaccount.extensions import COMMANDS, extension, loaded

app = App(
    name="dpaccount",
    help="Privacy accounting with proofs, audits and certificates that anyone can re-check.",
    version=dpaccount.__version__,
)
ledger_app = App(name="ledger", help="The durable budget ledger: charges before noise.")
app.command(ledger_app)  # commands are named in this order where one is unknown
work_app = App(name="work", help="Stored results of long work, so that none is repeated.")
app.command(accounting.account)
app.command(accounting.calibrate)
app.command(training.sgd)
app.command(training.import_plan, name="import")
app.command(certificates.certify)
app.command(certificates.plan)
app.command(certificates.release)
app.command(certificates.check)
app.command(certificates.sign)
app.command(reports.report)
app.command(reports.diff)
app.command(attacks.audit)
app.command(attacks.sensitivity)
app.command(attacks.trace)
app.command(work_app)
work_app.command(work.work_list, name="list")
work_app.command(work.work_prune, name="prune")
app.command(attacks.list_subjects, name="list")
app.command(certificates.schema)
ledger_app.command(ledger.init)
ledger_app.command(ledger.charge)
ledger_app.command(ledger.reserve)
ledger_app.command(ledger.use)
ledger_app.command(ledger.release)
ledger_app.command(ledger.scope)
ledger_app.command(ledger.cohort)
ledger_app.command(ledger.reset)
ledger_app.command(ledger.forfeit)
ledger_app.command(reports.show_ledger, name="show")
ledger_app.command(reports.ledger_log, name="log")
ledger_app.command(reports.ledger_report, name="report")
ledger_app.command(ledger.verify)
ledger_app.command(ledger.repair)
ledger_app.command(ledger.checkpoint)
ledger_app.command(ledger.export)
ledger_app.command(ledger.import_ledger, name="import")
ledger_app.command(ledger.grant)

HELP = ("", "--help", "-h", "completion")  #: first words that show every command


def add_commands(first: str = "") -> None:
    """Add the command that another package has, if it is the `first` word, or all of them for help.

    A command of ours is never replaced, and needs no entry points.
    """
    known = set(app)
    if first not in HELP and (first in known or first == "--version"):
        return
    asked = extension(COMMANDS, first)
    if asked is not None:
        app.command(asked.load(), name=asked.name)
        return
    for each, command in loaded(COMMANDS):
        if each.name not in known:
            app.command(command, name=each.name)


#: Earlier names of commands and, by command, of options: they work, and help does not show them.
_EARLIER_COMMANDS = {("subjects",): ("list",), ("ledger", "draw"): ("ledger", "use")}
_EARLIER_OPTIONS = {
    "certify": {"--require": "--policy", "--no-code": "--catalogue-only"},
    "release": {"--again": "--new-release", "--require": "--policy", "--no-code": "--catalogue-only"},
    "curate": {"--again": "--new-release", "--longer": "--out-of-bounds"},
    "audit": {"--early": "--stop-early", "--no-code": "--catalogue-only"},
    "sensitivity": {"--no-code": "--catalogue-only"},
    "check": {"--at": "--valid-on"},
}


def _current(words: list[str]) -> list[str]:
    """Return a command line with the names of today, ``--option=value`` included."""
    for earlier, today in _EARLIER_COMMANDS.items():
        if tuple(words[: len(earlier)]) == earlier:
            words = [*today, *words[len(earlier) :]]
    renamed = _EARLIER_OPTIONS.get(words[0], {}) if words else {}

    def current(word: str) -> str:
        option, equals, value = word.partition("=")
        return renamed.get(option, option) + equals + value

    return [current(word) for word in words]


@app.command
def completion(shell: Annotated[str, one_of("bash", "zsh", "fish")]) -> int:
    """Print a script that completes commands, options and their values in a shell.

    Example: `dpaccount completion bash > ~/.local/share/bash-completion/completions/dpaccount`

    For zsh write it as _dpaccount into a folder of $fpath, for fish into
    ~/.config/fish/completions/dpaccount.fish.

    Parameters
    ----------
    shell
        The shell.
    """
    sys.stdout.write(app.generate_completion(prog_name="dpaccount", shell=cast(Any, shell)))
    return 0


#: Modules that the core does without, and the extra that brings each.
EXTRA = {
    "opendp": "noise",
    "hypothesis": "audit",
    "jinja2": "audit",
    "markupsafe": "audit",
    "joblib": "audit",
    "cloudpickle": "audit",
    "threadpoolctl": "audit",
    "cryptography": "audit",
    "matplotlib": "plot",
    "psycopg": "postgres",
    "pyarrow": "tables",
    "distributed": "distributed",
    "fsspec": "remote",
    "pandas": "frames",
    "polars": "frames",
}


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code; errors are one line on standard error."""
    words = sys.argv[1:] if arguments is None else arguments
    sys.exit(run(words))


def _usage_error(error: CycloptsError) -> str:
    """Return what is wrong with a command line, and where its help is."""
    wrong = " ".join(str(error).split())
    if not wrong.endswith("..."):
        wrong = wrong.removesuffix(".")
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        wrong = f"{error.keyword} needs a value" if error.keyword else f"{error.argument.name} is missing"
    return f"{wrong}; see {' '.join(['dpaccount', *(error.command_chain or ())])} --help"


def run(words: list[str]) -> int:  # noqa: PLR0911
    """Run a command; return its exit code."""
    try:
        words = _current(words)
        add_commands(words[0] if words else "")
        result = app(words, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        return _failed(_usage_error(error), 2)
    except DpaccountError as error:
        return _failed(str(error), error.exit_code)
    except BrokenPipeError:
        return 1
    except OSError as error:
        where = f"{error.filename}: " if isinstance(error.filename, str) else ""
        right = "see to it, and give the command again"
        return _failed(f"{where}{error.strerror or 'the system refused'}; {right}", 2)
    except UnicodeEncodeError:
        return _failed("a name or a text is not UTF-8; give it in UTF-8", 2)
    except RecursionError:
        return _failed("the input is nested too deeply; at most 64 levels are read", 2)
    except (OverflowError, MemoryError):
        return _failed("a number or a size is beyond what can be computed; use a more moderate one", 2)
    except Exception as error:
        lacking = _lacking(error)
        if lacking is not None:
            return _failed(lacking, 2)
        if "DPACCOUNT_DEBUG" in os.environ:
            raise
        return _failed(f"internal error, {type(error).__name__}: {error}; please report it as a defect", 70)
    except KeyboardInterrupt:
        return _failed("interrupted; give the command again", 130)
    return result if isinstance(result, int) else 0


def _lacking(error: Exception) -> str | None:
    """Return the line about an extra that is needed and not installed; None for other errors."""
    module = (getattr(error, "name", None) or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or module not in EXTRA:
        return None
    return f"{module} is not installed, which this needs; pip install 'dpaccount[{EXTRA[module]}]'"


def _failed(message: str, code: int) -> int:
    plain = "".join(c if c.isprintable() else " " for c in message)
    sys.stderr.write(f"error: {plain}\n")
    return code
