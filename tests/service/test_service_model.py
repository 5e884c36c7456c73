"""Random histories of persons who ask a service, against a plain model: statuses, entries, and what each is told."""

import random
from fractions import Fraction

import pytest

from dpaccount.ledger.journal.verify import verify
from tests.depth import deep
from tests.dpaccount.ledger.conftest import VALID, plan, recounted

UNITS = range(1, 5)
CAPS = {None: 1000, "team": 900, "team/eve": 500}  #: thousandths of ε, as the fixture makes them
PEOPLE = ("ada", "bob", "eve", "officer", "chief")
ARRANGERS = ("officer", "chief")


EVE = ("team/eve",)  #: what eve's token is for


def above(scope):
    return [None, *(one for one in CAPS if scope and one and f"{scope}/".startswith(f"{one}/"))]


class Model:
    """What a ledger and its service should hold, in the plainest way; each method returns a status and new entries."""

    def __init__(self):
        self.spent = {(scope, unit): 0 for scope in CAPS for unit in UNITS}
        self.charges, self.last = {}, None  # by key: who, what, kind, open parts; the last entry if a refusal
        self.kept, self.marks = {}, {}  # by key
        self.grants, self.asked = None, {}  # rights, and what waits for whose approval
        self.cohort = None

    def may(self, who, right, scope=None):
        places = {"", *(one for one in above(scope) if one)}
        return self.grants is None or any((who, right, place) in self.grants for place in places)

    def charge(self, who, what, key, *, dry):  # noqa: C901, PLR0911 - each line a rule
        path, size, cover, scope, cohort = what
        if who == "eve" and scope not in EVE:
            return 403, []
        if cohort and self.cohort is None:
            return 400, []
        units = [*UNITS[:2]] if cohort else [one for one in UNITS if cover[0] <= one <= cover[1]]
        if key in self.charges:
            owner, before, _, _ = self.charges[key]
            free = self.may(who, "charge", scope) or self.may(who, "request", scope)
            return (200 if (owner, before) == (who, what) and free else 409), []
        charges, asks = self.may(who, "charge", scope), self.may(who, "request", scope)
        over = any(self.spent[one, unit] + size > CAPS[one] for one in above(scope) for unit in units)
        if not (charges or asks):
            return 409, [] if dry else self.refusal(who, what, key, "no right")
        if over:
            return 409, self.refusal(who, what, key, "limit")
        if not charges:
            state = self.asked.get((who, what))
            if state != "approved":
                if dry:
                    return 409, []
                if state is None:
                    self.asked[who, what] = "waits"
                    self.last = None
                    return 409, ["request"]
                return 409, self.refusal(who, what, key, "waits")
            if not dry:
                del self.asked[who, what]
        if dry:
            return 200, []
        for one in above(scope):
            for unit in units:
                self.spent[one, unit] += size
        parts = {1, 2, 3} if path == "reservations" else None
        if key is not None:
            self.charges[key] = who, what, path, parts
        self.last = None
        return 200, ["charge" if parts is None else "reservation"]

    def refusal(self, *what):
        again, self.last = self.last == what and what[2] is not None, what
        return [] if again else ["refusal"]

    def own(self, who, key, *, returns=False):
        """Return a status other than 200 for who may not use a charge."""
        if key not in self.charges:
            return 400
        owner, what, _, _ = self.charges[key]
        if owner != who and not (returns and who in ARRANGERS):
            return 403
        return 403 if who == "eve" and what[3] not in EVE else 200

    def parts(self, who, key, kind, part):
        if (status := self.own(who, key, returns=kind == "return")) != 200:
            return status, []
        owner, what, path, left = self.charges[key]
        if path != "reservations":
            return 400, []
        if part not in left:
            return 409, []
        arranges = kind == "return" and self.may(who, "arrange")
        uses = owner == who and (self.may(who, "charge", what[3]) or self.may(who, "request", what[3]))
        if self.grants is not None and not (arranges or uses):
            return 409, []
        left.remove(part)
        if kind == "return":
            for one in above(what[3]):
                for unit in UNITS:
                    if what[2][0] <= unit <= what[2][1]:
                        self.spent[one, unit] -= what[1] // 3
        self.last = None
        return 200, [kind if kind == "return" else "rounds"]

    def keep(self, who, key, body):
        if (status := self.own(who, key)) != 200:
            return status, []
        if self.charges[key][2] == "reservations":
            return 400, []
        if key in self.kept:
            return (200 if self.kept[key] == body else 409), []
        self.kept[key], self.last = body, None
        return 200, ["release"]

    def mark(self, who, key, run):
        if (status := self.own(who, key)) != 200:
            return status, []
        if self.charges[key][2] == "reservations":
            return 400, []
        if key in self.marks or key in self.kept:
            return (200 if self.marks.get(key) == run else 409), []
        self.marks[key], self.last = run, None
        return 200, ["drawing"]


class History:
    """Acts of persons by one die: each asks the service, and returns its answer and what the model says of it."""

    def __init__(self, served, seed):
        _, served.secrets["chief"] = served.tokens.add("chief", None, None, arrange=True)
        self.dice, self.model, self.ask = random.Random(seed), Model(), served.ask
        self.keys, self.requests, self.seen = [f"k{n}" for n in range(25)], [], 2

    def new(self):
        """Return the kinds of the entries since the last look."""
        lines = self.ask("GET", f"/v1/log?after={self.seen}", person="officer")[1]["entries"]
        self.seen += len(lines)
        return [one["kind"] for one in lines]

    def govern(self):
        """Give rights: from then on bob asks, and chief approves."""
        given = [("officer", "arrange", ""), ("ada", "charge", ""), ("bob", "request", "team")]
        given += [("eve", "charge", "team/eve"), ("chief", "approve", ""), ("chief", "arrange", "")]
        for person, may, scope in given:
            body = {"person": person, "may": [may], **({"scope": scope} if scope else {})}
            assert self.ask("POST", "/v1/grant", body, "officer")[0] == 200
        self.model.grants, self.model.last = set(given), None
        assert self.new() == 6 * ["grant"]

    def drawn(self):
        """Return a person and a key, mostly of a charge and who made it."""
        who, key, charges = self.dice.choice(PEOPLE), self.dice.choice(self.keys), self.model.charges
        if charges and self.dice.random() < 0.7:
            key = self.dice.choice([*charges])
            who = self.dice.choice([who, charges[key][0], charges[key][0]])
        return who, key

    def charge(self):
        who, key = self.drawn()
        cover = self.dice.choice([(1, 4), (1, 1), (2, 3), (4, 4)])
        path, cohort = self.dice.choice([("charges", None)] * 3 + [("reservations", None), ("charges", "c")])
        size = 3 * self.dice.choice([1, 5, 10, 20, 130])
        scope = self.dice.choice([None, "team", "team/eve", "team/eve"])
        key = self.dice.choice([key, *self.keys, *([] if path == "reservations" else [None, None])])
        what = (path, size, None if cohort else cover, scope, cohort)
        self.requests.append((who, key, what, self.dice.random() < 0.25))
        return self.asked(*self.requests[-1])

    def again(self):
        return (
            self.asked(*self.dice.choice([*self.requests, *self.requests[-1:] * 9]))
            if self.requests
            else None
        )

    def asked(self, who, key, what, dry):
        path, size, cover, scope, cohort = what
        parts = 3 if path == "reservations" else 1
        body = {"purpose": "x", "key": key, "scope": scope, "dry_run": dry}
        body["plan"] = plan(Fraction(size, parts * 1000), cover).as_json()
        body |= {"cohort": cohort} if cohort else {"rounds": parts} if parts > 1 else {}
        got = self.ask("POST", f"/v1/{path}", body, who)
        if "charge" in got[1] and who not in ARRANGERS:
            assert "bring unit" not in got[1]["error"] + got[1]["charge"]["reason"]
        return got, self.model.charge(who, what, key, dry=dry)

    def parts(self):
        who, key = self.drawn()
        kind, part = self.dice.choice(["rounds", "return"]), self.dice.choice([1, 2, 3])
        body = {"parts": [[part, part]], "run": f"run {self.seen}"}
        got = self.ask("POST", f"/v1/reservations/{key}/{kind}", body, who)
        return got, self.model.parts(who, key, kind, part)

    def keep(self):
        who, key = self.drawn()
        body = {"a": self.dice.choice([1, 2])}
        got = self.ask("PUT", "/v1/release", {"key": key, "body": body}, who)
        return got, self.model.keep(who, key, body)

    def mark(self):
        (who, key), run = self.drawn(), self.dice.choice(["run 1", "run 2"])
        lines = self.ask("GET", "/v1/log", person="officer")[1]["entries"]
        charged = [one["entry"] for one in lines if one["key"] == key and "re" not in one["kind"][:3]]
        reserved = [one["entry"] for one in lines if one["key"] == key and one["kind"] == "reservation"]
        body = {"entry": [*charged, *reserved, 10**6][0], "draws": [1, 1], "run": run}
        return self.ask("POST", "/v1/marks", body, who), self.model.mark(who, key, run)

    def cohort(self):
        who, _ = self.drawn()
        if self.model.cohort is not None:
            return None
        got = self.ask("POST", "/v1/cohort", {"name": "c", "units": [[1, 2]]}, who)
        if who not in ARRANGERS:
            return got, (403, [])
        self.model.cohort, self.model.last = True, None
        return got, (200, ["cohort"])

    def approve(self):
        waiting = [one for one, state in self.model.asked.items() if state == "waits"]
        if not waiting:
            return None
        who = self.dice.choice([*PEOPLE, "chief", "chief"])
        listed = self.ask("GET", "/v1/show", person="officer")[1]["requests"]
        number = min(one["entry"] for one in listed if not one["approved"])
        got = self.ask("POST", "/v1/approval", {"request": number}, who)
        if who != "chief":
            return got, (403 if who == "eve" else 409, [])
        self.model.asked[waiting[0]], self.model.last = "approved", None
        return got, (200, ["approval"])


@deep
@pytest.mark.parametrize("seed", range(3))
def test_whatever_persons_ask_the_service_does_what_the_plain_model_says(served, seed, depth):
    history = History(served, depth.seed(seed))
    acts = [history.charge] * 6 + [history.again] * 3 + [history.parts] * 3
    acts += [history.keep, history.mark] * 2 + [history.cohort, history.approve]
    for turn in range(150):
        if turn == 60 and seed % 2:
            history.govern()
        done = history.dice.choice(acts)()
        if done is not None:
            got, expected = done
            assert (got[0], history.new()) == expected, (turn, got)
    assert verify(served.ledger) == VALID
    assert recounted(served.ledger)
