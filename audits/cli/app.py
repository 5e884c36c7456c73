"""The command line.  Every command imports what it needs when it runs, so that starting is quick.

Exit codes: 0 done and it holds, 1 it does not hold, 2 the request is wrong, 3 not proved or not attacked.
"""

import os
import sys
from collections.abc import Mapping
from typing import Annotated, Any, cast

from cyclopts import App, CycloptsError, Group, MissingArgumentError

import dpaccount
from audits.cli.options import one_of
from dpaccount.errors import DpaccountError

app = App(
    name="dpaccount",
    usage="Usage: dpaccount [--version] COMMAND",
    help="Privacy accounting with proofs, audits and certificates that anyone can re-check.",
    version=dpaccount.__version__,
    version_format="plaintext",
)
# Every command has them, so help lists what differs.
for flag in ("--help", "-h", "--version"):
    app[flag].show = False
ledger_app = App(name="ledger", help="The durable budget ledger: charges before noise.")
work_app = App(name="work", help="Stored results of long work, so that none is repeated.")
#: Commands by what a person wants to do, the usual ones first: help shows them in this order.  A command is
#: the place of its function, which is imported when the command is run and for help, or an app of its own.
BUILT_IN: dict[str, dict[str, str | App]] = {
    "Publish": {
        "new": "studies:new",
        "sql": "studies:sql",
        "release": "certificates:release",
        "certify": "certificates:certify",
        "plan": "studies:plan",
        "look": "studies:look",
        "study": "studies:study",
        "list": "attacks:list_subjects",
        "examples": "studies:examples",
    },
    "Train": {"sgd": "costs:sgd", "import": "costs:import_plan"},
    "Attack": {
        "audit": "attacks:audit",
        "audit-curve": "attacks:audit_curve",
        "audit-program": "attacks:audit_program",
        "audit-samples": "attacks:audit_samples",
        "audit-one-run": "attacks:audit_one_run",
        "sensitivity": "attacks:sensitivity",
        "trace": "attacks:trace",
    },
    "Budget": {
        "account": "costs:account",
        "calibrate": "costs:calibrate",
        "ledger": ledger_app,
    },
    "Check": {
        "check": "certificates:check",
        "report": "reports:report",
        "diff": "reports:diff",
        "sign": "certificates:sign",
        "schema": "certificates:schema",
        "completion": "app:completion",
    },
    "Research": {"work": work_app},
}
OF_OTHERS = "Other packages"  #: the group of commands that other distributions add; ours are of research
LEDGER_COMMANDS = {
    "init": "ledger:init",
    "charge": "ledger:charge",
    "show": "reports:show_ledger",
    "log": "reports:ledger_log",
    "report": "reports:ledger_report",
    "reserve": "ledger:reserve",
    "use": "ledger:use",
    "release": "ledger:release",
    "scope": "ledger:scope",
    "cohort": "ledger:cohort",
    "reset": "ledger:reset",
    "clock": "ledger:clock",
    "verify": "ledger:verify",
    "checkpoint": "ledger:checkpoint",
    "export": "ledger:export",
    "import": "ledger:import_ledger",
    "repair": "ledger:repair",
    "forfeit": "ledger:forfeit",
    "grant": "ledger:grant",
    "revoke": "ledger:revoke",
    "approve": "ledger:approve",
}
WORK_COMMANDS = {"list": "work:work_list", "prune": "work:work_prune"}


def register(to: App, commands: Mapping[str, str | App], group: Group | None = None) -> None:
    """Add commands to an app, in this order, under a group of its help."""
    for place, (name, command) in enumerate(commands.items()):
        if isinstance(command, App):
            command.group, command.sort_key = group or (), place
            to.command(command)
        else:
            to.command(f"audits.cli.{command}", name=name, group=group, sort_key=place)


register(ledger_app, LEDGER_COMMANDS)
register(work_app, WORK_COMMANDS)
HELP_GROUPS = {title: Group(title, sort_key=number) for number, title in enumerate([*BUILT_IN, OF_OTHERS])}
for title, commands in BUILT_IN.items():
    register(app, commands, HELP_GROUPS[title])


def load(words: list[str]) -> None:
    """Import the commands that help will list, which names each one's purpose; none where one is run."""
    of = app
    for word in words:
        if word not in ("--help", "-h"):
            if word not in of or of[word].default_command:
                return
            of = of[word]
    for name in of:
        of[name]


HELP = ("", "--help", "-h", "completion")  #: first words that show every command


def add_commands(first: str = "") -> None:
    """Add the command that another package has, if it is the `first` word, or all of them for help.

    A command of ours is never replaced, and needs no entry points.
    """
    known = set(app)
    if first not in HELP and (first in known or first == "--version"):
        return
    from dpaccount.extensions import COMMANDS, extension, loaded, warn

    asked = extension(COMMANDS, first)
    for each, command in loaded(COMMANDS) if asked is None else [(asked, asked.load())]:
        if each.name in known:
            continue
        ours = "Budget" if each.package == "service" else "Research"
        group = HELP_GROUPS[ours if each.ours else OF_OTHERS]
        try:
            if isinstance(command, App):
                command.group = group
                app.command(command, name=each.name)
            else:
                app.command(command, name=each.name, group=group)
            app[each.name].help  # noqa: B018 - read from its docstring, which is as anybody wrote it
        except Exception as error:
            if each.name in app:
                del app[each.name]
            warn(each.broken(error))


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
    "sqlglot": "sql",
    "duckdb": "sql",
    "distributed": "distributed",
    "fsspec": "remote",
    "pandas": "frames",
    "polars": "frames",
    "starlette": "service",
    "uvicorn": "service",
    "jwt": "service",
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
        load(words)
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
        # Python holds bytes of a path that are no text as surrogates, which no output takes.
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
    # An error may quote a file: what is not printable could move the cursor of a terminal.
    plain = "".join(c if c.isprintable() else " " for c in message)
    sys.stderr.write(f"error: {plain}\n")
    return code
