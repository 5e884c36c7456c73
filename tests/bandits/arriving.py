"""People who arrive at a session, in a process that is to be killed: `python arriving.py FOLDER PEOPLE BANDIT`.

The same people arrive in the same order, whoever of them was served before.  Each value that anybody is
shown is written to `seen`, line by line, so that a value that changes after a kill is noticed.
"""

import json
import sys
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path

import numpy as np

from bandits.learning.session import Session
from bandits.moment_gp_ucb import MomentGpUcb
from bandits.phased_gp_ucb import PhasedGpUcb
from dpaccount.errors import InputError
from dpaccount.ledger.ledger import Ledger
from dpaccount.ledger.streamed_receipt import ResumableReceipt

WIDE = {"candidates": 3, "size": 6, "nodes_per_axis": 3, "sigma": Fraction(8)}
BANDITS = {
    "rows": lambda people: MomentGpUcb(rounds=people, refresh=4, **WIDE),
    "tree": lambda people: MomentGpUcb(rounds=people, refresh=4, stream="tree", **WIDE),
    "phases": lambda people: PhasedGpUcb(rounds=people, **WIDE),
}
LAGS = (0, 0, 1, 2, 9, None)  #: how many people come before somebody answers; None never does


def schedule(people):
    """Return what happens, in order: ("ask", person, context) and ("tell", person, reward)."""
    rng = np.random.default_rng(11)
    answers, events = {}, []
    for person in range(1, people + 1):
        events.append(("ask", person, rng.uniform(-1.4, 1.4, (3, 2))))
        lag, reward = LAGS[rng.integers(len(LAGS))], float(rng.normal(0.5, 1))
        if lag is not None:
            answers.setdefault(person + lag, []).append(("tell", person, reward))
        events += answers.pop(person, [])
    return events


def arrive(session, people, say=lambda *_: None):
    """Serve everybody who was not served before."""
    for what, person, brought in schedule(people):
        if what == "ask":
            if session.asked < person:
                session.ask(brought)
            say("ticket", person, session.ticket(person).action)
        else:
            try:
                session.tell(person, brought)
            except InputError as error:
                if "has its answer" not in str(error):
                    raise
    return session.result()


def main(folder, people, bandit):
    """Go on with the session in `folder`: secure where there is a ledger; write what it shows to `result`."""
    subject = BANDITS[bandit](people)
    with (folder / "seen").open("a") as seen:

        def say(*shown):
            seen.write(json.dumps(shown) + "\n")
            seen.flush()

        def watched(self, *asked, drawn=ResumableReceipt._answer):
            value = drawn(self, *asked)
            say("part", [str(asked[1]), asked[2]], value.tolist())
            return value

        ResumableReceipt._answer = watched
        secure = (folder / "budget.db").exists()
        with Ledger.open(f"sqlite:///{folder}/budget.db") if secure else nullcontext() as ledger:
            file = folder / "state"
            with (
                Session.open(subject, ledger, file)
                if secure
                else Session.rehearse(subject, file, 3) as session
            ):
                view = arrive(session, people, say)
    (folder / "draft").write_bytes(view.own["action"].tobytes())
    (folder / "draft").replace(folder / "result")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
