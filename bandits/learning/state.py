"""The state file of a bandit or a modeler: a `Journal` of what people told it."""

from typing import Final

from dpaccount.work.journal import JournalKind

SCHEMA: Final = "dpaccount/bandit-state/2"
STATE: Final = JournalKind(
    SCHEMA,
    ("give a state file in a folder that can be written", "give a state file that can be read and written"),
    busy=("{file} is open in another process", "let that end"),
    damaged=("the state file {name} is damaged", "restore it, or begin a new run in another"),
    other=("the state file {name} is of version {found}", f"this program reads {SCHEMA}"),
    exposed=("{file} can be read by others and holds what people told", "chmod 600 it"),
)
