"""A bandit's run over a whole dataset that can be stopped anywhere and resumed.

What a learner knows is a function of people's records, public coins and what was released.  So a run that
starts again plays the same rounds, reads back what was released, and draws only what is new.  The state file
names the run and its charge; it holds no record.
"""

from pathlib import Path

from bandits.learning.releases import SECURE, charged, configuration, proof_of, same_run
from bandits.learning.state import STATE
from dpaccount.ledger.ledger import Ledger
from dpaccount.work.journal import Journal
from mechanisms.subject import Rows, Subject, View


def play(
    subject: Subject, data: Rows, ledger: Ledger, file: Path, coins: int = 0, *, scope: str | None = None
) -> View:
    """Begin the run that `file` names, or take it up again; return all that it shows.

    `data` has every person's record, those of earlier rounds unchanged.  The whole run's proof is charged
    before its first release, and must fit the ledger's `scope`, too.  Raises `InputError`, before any charge,
    for data of a wrong shape and for a state file that is damaged, of another version, of another bandit,
    parameter, coin or ledger; `RefusedError` if the ledger has no room.
    """
    domain = subject.domain()
    domain.admit(data, subject.relation)
    theorem = proof_of(subject)
    ours = configuration(subject, theorem, coins, SECURE, "a dataset")
    journal = Journal(file, ours, STATE)
    try:
        same_run(journal.head, ours)
        return subject.play(domain.clamped(data), charged(journal, theorem, ledger, scope), coins)
    finally:
        journal.close()
