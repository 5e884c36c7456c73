"""Recompute a ledger from its raw rows, by nothing of the package: ``python recount.py FILE``.

Checks the chain, the order of the entries, the head, keys, the trees of totals against one number per unit (of the
ledger's life, the period, the year, every scope), the register, the budget and caps (of `pure` and `approximate`
exactly; of others in 60 digits), that every mark and release has its charge, that no part has two values
and none of a reservation is drawn or returned twice.  Prints one JSON line of what it found; exits 1 where anything is wrong.
"""

import datetime
import hashlib
import json
import sqlite3
import sys
from decimal import Decimal, getcontext
from fractions import Fraction

getcontext().prec = 60
ARRANGED = ("scope", "cohort", "reset", "forfeit", "clock", "grant", "request", "approval")
STAMPED = ("time", "salt", "role", "server", "by")  # what a request for an entry leaves out
WIDTHS = {"approximate": 2, "approximate-zcdp": 2, "either": 3}  # numbers that a measure adds up, if several


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sha(data):
    return hashlib.sha256(data).hexdigest()


def check(holds, what):
    if not holds:
        raise SystemExit(f"wrong: {what}")


def entries(database):
    before = "dpaccount/ledger/2"
    rows = database.execute(
        "SELECT number, kind, key, about, body, root, digest FROM entries ORDER BY number"
    )
    for place, (*members, digest) in enumerate(rows):
        check(members[0] == place, f"entry {place} is missing")
        check(digest == "sha256:" + sha(canonical([before, *members])), f"digest of entry {place}")
        before = digest
        yield (*members, digest)


def levels(changes, width):
    """Return what units have spent, as (first unit, amounts) in order."""
    level, steps = [Fraction(0)] * width, []
    for unit in sorted(changes):
        level = [a + b for a, b in zip(level, changes[unit], strict=True)]
        steps.append((unit, level))
    return steps


def spent_in(area, height, index):
    """Return where a node is stored: of the life's tree (area None) above zero, of another tree below."""
    if area is None:
        return 2 ** (63 - height) + index
    return -(area * 2**43 + 2 ** (42 - height) + index)


def tree_levels(area, root, nodes, width, seen):
    """Return the same from a tree, checking every digest and peak on the way; its nodes go to `seen`."""
    height, everyone, mark, peak, digest = root.split("|")
    numbers = lambda text: [Fraction(word) for word in text.split()]  # noqa: E731
    plus = lambda *all_: [sum(column) for column in zip(*all_, strict=True)]  # noqa: E731
    steps = []

    def walk(index, height, low, level, digest, peak):
        if not digest:
            check(not any(peak), f"peak over level units at {low}")
            steps.append((low, level))
            return
        node = spent_in(area, height, index)
        seen.add(node)
        check(sha(nodes[node].encode()) == digest, f"digest of node {node}")
        parts = nodes[node].split("|")
        halves = [(numbers(a), numbers(b), c) for a, b, c in (parts[:3], parts[3:])]
        tops = [plus(a, b) for a, b, _ in halves]
        check(peak == [max(pair) for pair in zip(*tops, strict=True)], f"peak of node {node}")
        for side, (more, top, below) in enumerate(halves):
            walk(2 * index + side, height - 1, low + side * 2 ** (height - 1), plus(level, more), below, top)

    base = plus(numbers(everyone), numbers(mark))
    walk(0, int(height), 0, base, digest, numbers(peak))
    steps.append((2 ** int(height), numbers(everyone)))
    return steps


def records(digest, nodes, seen):
    """Return the register that a digest stands for, checking every digest on the way, and every place."""
    by_name = {}

    def row(number, digest):
        seen.add(number)
        check(sha(nodes[number].encode()) == digest, f"digest of node {number}")
        below = json.loads(nodes[number])
        check(any(below), f"node {number} holds nothing")
        return below

    check(not digest or digest.startswith("records/2:"), "records of another kind")
    for group, within in enumerate(row(-1, digest.removeprefix("records/2:")) if digest else ()):
        for place, under in enumerate(row(-2 - group, within) if within else ()):
            for name, value in (row(-34 - 32 * group - place, under) if under else {}).items():
                first, second = hashlib.sha256(name.encode()).digest()[:2]
                check((first % 32, second % 32) == (group, place), f"{name} is in another place")
                check(value.pop("kind") == name.split()[0], f"{name} is a record of another kind")
                by_name[name] = value
    return by_name


def at(steps, unit, width):
    spent = [Fraction(0)] * width
    for first, level in steps:
        if first > unit:
            break
        spent = level
    return spent


def phi(x):
    """Return the normal distribution function in 60 digits, by its series."""
    if abs(x) > 100:  # 10**-2000 from 0 or 1, where the series is beyond what numbers hold
        return Decimal(int(x > 0))
    term = total = x
    n = 0
    while abs(term) > Decimal(10) ** -55:
        n += 1
        term = term * x * x / (2 * n + 1)
        total += term
    pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
    return Decimal(1) / 2 + total * (-x * x / 2).exp() / (2 * pi).sqrt()


def fits(measure, spent, epsilon, delta):
    if measure == "either":
        shares = (("pure", spent[2], 0), ("gdp", spent[0], delta / 2), ("zcdp", spent[1], delta / 2))
        known = [one for one in shares if one[1] < 10**9]  # what stands for no bound
        return any(fits(name, [amount], epsilon, share) for name, amount, share in known)
    if measure == "approximate-zcdp":
        return spent[1] <= delta / 2 and fits("zcdp", spent[:1], epsilon, delta / 2)
    if measure in ("pure", "approximate"):
        return spent[0] <= epsilon and (len(spent) == 1 or spent[1] <= delta)
    total = Decimal(spent[0].numerator) / Decimal(spent[0].denominator)
    eps, most = (Decimal(one.numerator) / Decimal(one.denominator) for one in (epsilon, delta))
    if total == 0:
        return True
    if measure == "gdp":
        mu = total.sqrt()
        return phi(-eps / mu + mu / 2) - eps.exp() * phi(-eps / mu - mu / 2) <= most
    # zcdp: some order proves it, of a grid that is refined around its best one while none does
    log = lambda order: (order - 1) * (order * total - eps) + (order - 1) * (1 - 1 / order).ln() - order.ln()  # noqa: E731
    orders = [1 + Decimal("1.02") ** number / 20 for number in range(900)]  # a small ε takes large ones
    for digits in range(2, 14):
        if any(log(order) <= most.ln() for order in orders):
            return True
        best, step = min(orders, key=log) - 1, Decimal(10) ** -digits
        orders = [1 + best * (1 + number * step) for number in range(-10, 11)]
    return False


def add(changes, steps, times, width):
    """Let units spend so many times what the steps say."""
    before = [Fraction(0)] * width
    for first, text in steps:
        spent = [Fraction(word) for word in text.split()]
        known = changes.setdefault(first, [Fraction(0)] * width)
        changes[first] = [a + times * (b - c) for a, b, c in zip(known, spent, before, strict=True)]
        before = spent


def numbers_in(ranges):
    numbers_listed = [number for first, last in ranges for number in range(first, last + 1)]
    check(len(numbers_listed) == len(set(numbers_listed)) > 0, "no ranges")
    return numbers_listed


class Books:
    """What the entries come to, counted in the plainest way."""

    def __init__(self, budget):
        self.budget, self.width = budget, WIDTHS.get(budget["measure"], 1)
        self.life, self.period, self.year, self.label, self.resets = {}, {}, {}, None, 0
        self.reset_entry = None
        self.scopes, self.cohorts, self.reserved = {}, {}, {}
        self.grants, self.people, self.requests = set(), None, {}  # (person, right, scope, until); by entry
        self.latest, self.writer = "", ""  # day of an entry by one of them; the role that may name people

    def fits(self):
        capped = "life_epsilon" in self.budget
        names = ("period_epsilon", "period_delta") if capped else ("epsilon", "delta")
        self._fit(self.period, *(self.budget[name] for name in names), "the budget")
        if capped:
            self._fit(self.life, self.budget["life_epsilon"], self.budget["life_delta"], "the life cap")
        for name, scope in self.scopes.items():
            self._fit(scope["spent"], scope["epsilon"], scope["delta"], name)

    def _fit(self, changes, epsilon, delta, what):
        peaks = [total for _, total in levels(changes, self.width)] or [[Fraction(0)] * self.width]
        check(all(min(total) >= 0 for total in peaks), f"{what}: a total below nothing")
        top = [max(column) for column in zip(*peaks, strict=True)]
        measure, limits = self.budget["measure"], (Fraction(epsilon), Fraction(delta))
        within = fits(measure, top, *limits)
        if not within and measure == "either":  # some units may fit in one measure, some in another
            within = all(fits(measure, total, *limits) for total in peaks)
        check(within, f"beyond {what}")

    def lineage(self, scope):
        words = scope.split("/") if scope else []
        return [self.scopes["/".join(words[: n + 1])] for n in range(len(words))]

    def may(self, who, right, scope=None):
        """Say whether somebody has a right in a scope; in a ledger without rights everybody has."""
        words = scope.split("/") if scope else []
        places = ["", *("/".join(words[: n + 1]) for n in range(len(words)))]
        return self.people is None or any(
            (one, may) == (who, right) and where in places and self.latest <= (until or "9999")
            for one, may, where, until in self.grants
        )

    def approved(self, who, kind, facts):
        """Use up the approval of a request for an entry, which must be just as it is."""
        plain = lambda all_: {one: all_[one] for one in all_ if one not in STAMPED and all_[one] is not None}  # noqa: E731
        found = [
            number
            for number, one in self.requests.items()
            if (one["asks"], one["who"]) == (kind, who) and plain(one["facts"]) == plain(facts)
        ]
        check(len(found) == 1, f"{who} did not ask")
        check(self.holder(self.requests.pop(found[0]), facts), f"{who} had no approval")

    def allowed(self, number, kind, facts, body):
        """Check that who made an entry might."""
        who, role = facts.get("by") or facts.get("role"), facts.get("role")
        if self.people is not None and kind in ("charge", "reservation", "rounds", "return", *ARRANGED):
            serves = role in (None, self.writer, who) or self.may(role, "serve")
            check(who and serves, f"entry {number} by nobody")
            self.latest = max(self.latest, facts["time"][:10])
        if kind in ("charge", "reservation") and not self.may(who, "charge", facts.get("scope")):
            check(self.may(who, "request", facts.get("scope")), f"{who} may not charge")
            self.approved(who, kind, facts)
        if kind in ("rounds", "return") and self.people is not None:
            reserved = self.reserved[facts["reservation"]]["facts"]
            own = (reserved.get("by") or reserved.get("role")) in (None, who)
            own = own and any(self.may(who, one, reserved.get("scope")) for one in ("charge", "request"))
            check(own or (kind == "return" and self.may(who, "arrange")), "parts of another")
        if kind in ("scope", "cohort", "reset", "forfeit", "clock", "grant"):
            check(self.may(who, "arrange"), f"{who} may not arrange")
        if (
            self.people is not None
            and kind in ("reset", "scope", "clock", "grant")
            and self.takes_two(kind, facts)
        ):
            self.approved(who, kind, facts)
        {"grant": self.grant, "approval": self.approval}.get(kind, lambda *_: None)(facts, who)
        if kind == "request":
            charges = facts["asks"] in ("charge", "reservation")
            scope = facts["facts"].get("scope") if charges else None
            check(self.may(who, "request" if charges else "arrange", scope), "a request by nobody")
            more = {"who": who, "charges": charges, "scope": scope, "body": body, "approved": "", "until": ""}
            self.requests[number] = {**facts, **more}

    def holder(self, asked, facts):
        """Say whether a request is approved by somebody who still may, and not for too long."""
        day = facts["time"][:10] if asked["asks"] == "clock" else self.latest
        right, lasts = "approve" if asked["charges"] else "arrange", day <= (asked["until"] or "9999")
        return bool(asked["approved"]) and lasts and self.may(asked["approved"], right, asked["scope"])

    def drop(self, concerned):
        """Let approvals that have an end, and are of what an entry changed, count no more."""
        for one in self.requests.values():
            if one["until"] and concerned(one):
                one["approved"] = one["until"] = ""

    def approval(self, facts, who):
        asked = self.requests[facts["request"]]
        same = asked["who"] == who
        able = self.may(who, "approve" if asked["charges"] else "arrange", asked["scope"])
        again = facts["approved"] and self.holder(asked, facts)
        check(not again and (able or same) and not (same and facts["approved"]), "an approval")
        asked["approved"], asked["until"] = who, facts.get("until", "")
        if asked["until"]:
            first, last = (datetime.date.fromisoformat(day) for day in (facts["time"][:10], asked["until"]))
            check(facts["approved"] and 0 <= (last - first).days <= 366, "the end of an approval")
        if not facts["approved"]:
            del self.requests[facts["request"]]

    def takes_two(self, kind, facts):
        if kind == "scope":
            old = self.scopes.get(facts["scope"])
            return bool(old) and any(
                one in old and facts.get(one) is not None and Fraction(facts[one]) > Fraction(old[one])
                for one in ("epsilon", "delta", "charge_epsilon")
            )
        if kind == "clock":
            return bool(self.ahead(facts)) or self.latest > facts["time"][:10]
        new = facts["may"] if kind == "grant" else []
        had = {
            may
            for who, may, where, until in self.grants
            if (who, where) == (facts.get("person"), facts.get("scope"))
            and (until or "9999") >= (facts.get("until") or "9999")
        }
        return kind == "reset" or (len(self.people) > 1 and not set(new) <= had)

    def grant(self, facts, _):
        who, may, scope = facts["person"], facts["may"], facts["scope"]
        gone = {
            one for one in self.grants
            if one[0] == who and scope in ("*", one[2]) and (not may or one[1] in may)
        }  # fmt: skip
        ended = any(one[0] == who and one[3] and one[3] < self.latest for one in self.grants)
        check(may or gone, "nothing was revoked")
        self.grants = (self.grants - gone) | {(who, one, scope, facts["until"]) for one in may}
        now = {one[0] for one in self.grants if one[1] == "arrange"}
        if gone or ended:
            self.drop(lambda one: who in (one["who"], one["approved"], one["facts"].get("person")))
        check(now and len(now) >= min(2, len(self.people or ())), "nobody who may arrange")
        if self.people is None and facts.get("by") not in (None, facts.get("role")):
            self.writer = facts.get("role") or ""
        self.people, self.latest = now, facts["time"][:10]
        if not may:
            self.requests = {number: one for number, one in self.requests.items() if one["who"] != who}

    def calendar(self, every, facts):
        day = datetime.date.fromisoformat(facts["time"][:10])
        monday = day - datetime.timedelta(days=day.weekday())
        return {"day": day, "week": monday, "month": day.replace(day=1), "year": day.replace(month=1, day=1)}[
            every
        ]

    def ahead(self, facts):
        """Return the scopes whose week, month or year a clock that was ahead began, and "" for the whole year."""
        year = [""] if self.label is not None and self.label > int(facts["time"][:4]) else []
        renewing = {name: one for name, one in self.scopes.items() if one["every"]}
        return year + [
            name for name, one in renewing.items() if one["began"] > self.calendar(one["every"], facts)
        ]

    def clock(self, facts):
        """Bring back what is ahead of this time; what was spent counts in it, and the year is the whole life."""
        ahead, day = self.ahead(facts), facts["time"][:10]
        check(facts.get("reason") or not (ahead or self.latest > day), "periods that are set right unsaid")
        for name in ahead:
            if name:
                self.scopes[name]["began"] = self.calendar(self.scopes[name]["every"], facts)
            else:
                self.label, self.whole_life = int(day[:4]), True
        self.latest = min(self.latest, day)

    def renew(self, name, facts):
        """Begin a week, month or year of a scope and of those above it, where the entry is the first of one."""
        words = name.split("/") if name else []
        for above in ("/".join(words[: n + 1]) for n in range(len(words))):
            scope = self.scopes.get(above, {"every": ""})
            if scope["every"] and (now := self.calendar(scope["every"], facts)) > scope["began"]:
                scope.update(began=now, spent={})
                self.drop(lambda one: one["asks"] == "clock")
                for other, steps, left in self.open_parts():
                    if f"{other}/".startswith(f"{above}/"):
                        add(scope["spent"], steps, left, self.width)

    def one(self, facts, parts):
        """Check that one charge, or a reservation of these parts, is within the caps for one in its scopes."""
        capped = [
            (one["charge_epsilon"], one["delta"])
            for one in self.lineage(facts.get("scope"))
            if one.get("charge_epsilon")
        ]
        changes = {}
        for count, steps in parts if capped else ():
            add(changes, steps, count, self.width)
        for epsilon, delta in capped:
            for _, spent in levels(changes, self.width):
                check(
                    fits(self.budget["measure"], spent, Fraction(epsilon), Fraction(delta)),
                    "beyond the cap for one charge",
                )

    def spend(self, facts, steps, times):
        trees = [self.life, self.period, *(one["spent"] for one in self.lineage(facts.get("scope")))]
        for changes in [*trees, *([self.year] if self.label is not None else [])]:
            add(changes, steps, times, self.width)

    def open_parts(self):
        """Yield what can still be drawn: the scope, what a part costs, and how many of them."""
        for reserved in self.reserved.values():
            before = 0
            for count, steps in reserved["facts"]["parts"]:
                left = sum(before < part <= before + count for part in reserved["open"])
                yield reserved["facts"].get("scope"), steps, left
                before += count

    def turn_year(self, facts):
        year = int(facts["time"][:4])
        if self.label is not None and year > self.label:
            self.label, self.year = year, {}
            self.whole_life = False
            for _, steps, left in self.open_parts():
                add(self.year, steps, left, self.width)

    def charge(self, facts):
        self.turn_year(facts)
        self.renew(facts.get("scope"), facts)
        if "digest" in facts:  # else what was lost
            self.one(facts, [(1, facts["steps"])])
        self.spend(facts, facts["steps"], 1)
        if facts.get("cohort"):
            units = self.cohorts[facts["cohort"]]["units"]
            check(facts["units"] == units, "a cohort of other units")
            ends = [first for first, _ in facts["steps"][1:]] + [2**63]
            for (first, text), after in zip(facts["steps"], ends, strict=True):
                inside = any(low <= first and after - 1 <= high for low, high in units)
                check(inside or not any(map(Fraction, text.split())), "a charge beyond its cohort")
            self.cohorts[facts["cohort"]]["charged"] = True

    def reserve(self, number, facts, body):
        self.turn_year(facts)
        total = sum(count for count, _ in facts["parts"])
        check(total <= 10**6, "too many parts to count")
        self.renew(facts.get("scope"), facts)
        self.one(facts, facts["parts"])
        for count, steps in facts["parts"]:
            self.spend(facts, steps, count)
        self.reserved[number] = {"facts": facts, "open": set(range(1, total + 1)), "body": sha(body.encode())}

    def take(self, facts):
        self.turn_year(facts)
        reserved = self.reserved[facts["reservation"]]
        self.renew(reserved["facts"].get("scope"), facts)
        for part in numbers_in(facts["parts"]):
            check(part in reserved["open"], f"part {part} was drawn or returned before")
            reserved["open"].remove(part)
        return reserved

    def give_back(self, facts):
        self.fits()
        taken, before, reserved = numbers_in(facts["parts"]), 0, self.take(facts)
        for count, steps in reserved["facts"]["parts"]:
            back = sum(before < part <= before + count for part in taken)
            self.spend(reserved["facts"], steps, -back)
            before += count

    def scope(self, facts):
        self.fits()
        name = facts["scope"]
        self.lineage(name.rpartition("/")[0])
        self.renew(name, facts)
        every = {"never": ""}.get(facts.get("every"), facts.get("every"))
        began = self.calendar(every, facts) if every else None
        new = {"area": 3 + len(self.scopes), "spent": {}, "every": every or "", "began": began}
        if name in self.scopes:
            self.drop(lambda one: one["asks"] == "scope" and one["facts"]["scope"] == name)
        known = self.scopes.setdefault(name, new)
        known.update(epsilon=facts["epsilon"], delta=facts["delta"])
        if facts.get("charge_epsilon") is not None:
            known["charge_epsilon"] = facts["charge_epsilon"]
        check(every in (None, known["every"]), f"how often {name} renews was changed")
        self.fits()

    def cohort(self, facts):
        known = self.cohorts.get(facts["cohort"])
        charged, grows = known is not None and known["charged"], facts.get("grows", False)
        if charged:
            check(known.get("grows") and grows, "a charged cohort was changed")
            check(set(numbers_in(known["units"])) <= set(numbers_in(facts["units"])), "a cohort shrank")
        new = {"units": facts["units"], "charged": charged}
        self.cohorts[facts["cohort"]] = new | ({"grows": True} if grows else {})

    def reset(self, number, facts):
        self.turn_year(facts)
        self.fits()
        if self.label is None:
            self.label, self.whole_life = int(facts["time"][:4]), True
        self.resets, self.reset_entry, self.period = self.resets + 1, number, {}
        self.drop(lambda one: one["asks"] == "reset")
        for scope in self.scopes.values():
            scope["spent"] = {}
        for name, steps, left in self.open_parts():
            for changes in [self.period, *(one["spent"] for one in self.lineage(name))]:
                add(changes, steps, left, self.width)

    def forfeit(self, facts):
        self.charge(facts)
        for reserved in self.reserved.values():
            if reserved["open"]:
                self.renew(reserved["facts"].get("scope"), facts)
        for reserved in self.reserved.values():
            reserved["open"] = set()

    def agree(self, root, nodes):
        """Check that the stored trees and the register say all of this, and nothing more."""
        self.fits()
        seen, parts = set(), root.split("|")
        stored = records(parts[5] if len(parts) == 6 else "", nodes, seen)
        top = self._same(None, "|".join(parts[:5]), nodes, self.life, seen)
        if self.resets:
            period, year = stored.pop("period"), stored.pop("year")
            check((period["number"], period["entry"]) == (self.resets, self.reset_entry), "period")
            self._same(1, period["root"], nodes, self.period, seen)
            check(year["year"] == self.label and (year["root"] is None) == self.whole_life, "year")
            if year["root"] is not None:
                self._same(2, year["root"], nodes, self.year, seen)
        people = {"latest": "", **stored.pop("rights", {"grants": [], "writer": ""})}
        check(
            (people["writer"], people["latest"]) == (self.writer, self.latest),
            "who writes, and the latest day",
        )
        held = people["grants"]
        granted = [tuple(map(one.get, ("person", "may", "scope", "until"))) for one in held]
        check(len(granted) == len(set(granted)) and set(granted) == self.grants, "rights")
        asked = [stored.pop(name) for name in list(stored) if name.startswith("asked ")]
        waiting = [
            (number, sha(one["body"].encode()), one["who"], one["approved"], one["until"])
            for number, one in self.requests.items()
        ]
        kept = [(*map(one.get, ("entry", "body", "by", "approved")), one.get("until", "")) for one in asked]
        check(sorted(kept) == sorted(waiting), "requests")
        check(stored.pop("scopes", {"count": 0}) == {"count": len(self.scopes)}, "number of scopes")
        for name, scope in self.scopes.items():
            record = stored.pop(f"scope {name}")
            check(all(record[key] == scope[key] for key in ("area", "epsilon", "delta")), name)
            check(record.get("every", "") == scope["every"], f"how often {name} renews")
            check(
                record.get("charge_epsilon", "") == scope.get("charge_epsilon", ""),
                f"what one charge in {name} may cost",
            )
            stale = record["period"] != self.resets
            check(not stale or not any(map(any, scope["spent"].values())), f"{name} of an earlier period")
            if not stale:
                self._same(record["area"], record["root"], nodes, scope["spent"], seen)
        for name, cohort in self.cohorts.items():
            check(stored.pop(f"cohort {name}") == cohort, name)
        for number, reserved in self.reserved.items():
            record = stored.pop(f"reservation {number}", {"open": []})
            check(
                {*(numbers_in(record["open"]) if record["open"] else ())} == reserved["open"],
                f"open of {number}",
            )
            check(record.get("body", reserved["body"]) == reserved["body"], f"body of {number}")
        check(not stored, f"records that nobody made: {sorted(stored)}")
        check(seen == set(nodes), "nodes that belong to no tree")
        return top

    def _same(self, area, root, nodes, changes, seen):
        width = self.width
        steps, tree = levels(changes, width), tree_levels(area, root, nodes, width, seen)
        units = sorted({max(first, 1) for first, _ in [*steps, *tree]} | {2**63 - 2})
        totals = [at(steps, unit, width) for unit in units]
        check(totals == [at(tree, unit, width) for unit in units], f"totals of area {area}")
        return [max(column) for column in zip(*totals, strict=True)]


def recount(file):
    database = sqlite3.connect(f"file:{file}?mode=rw", uri=True)
    database.execute("BEGIN")
    [(kind, last, head)] = database.execute("SELECT format, last, head FROM ledger")
    check(kind == "dpaccount/ledger/2", "format")
    nodes = dict(database.execute("SELECT node, body FROM nodes"))
    books, counts, keys, drawn, values, kinds = None, {}, {}, set(), {}, {}
    number, digest, root = -1, "", ""
    for entry in entries(database):
        number, kind, key, about, body, root, digest = entry
        facts = json.loads(body)
        counts[kind] = counts.get(kind, 0) + 1
        longer = kind in ("charge", "reservation", "forfeit", "request", "release")
        check(longer or len(body) <= 4_194_304, f"entry {number} is too long")
        kinds[number] = kind
        if books is not None:
            if kind in ("clock", "grant", "request", "approval"):
                books.turn_year(facts)
            books.allowed(number, kind, facts, body)
        if kind == "budget":
            books = Books(facts)
        elif kind in ("charge", "reservation"):
            check(key is None or key not in keys, f"key {key} twice")
            keys[key or f"#{number}"] = number
            books.charge(facts) if kind == "charge" else books.reserve(number, facts, body)
        elif kind == "rounds":
            books.take(facts)
        elif kind in ("return", "scope", "cohort", "forfeit"):
            acts = {"return": books.give_back, "scope": books.scope, "cohort": books.cohort}
            {**acts, "forfeit": books.forfeit}[kind](facts)
        elif kind == "clock":
            books.clock(facts)
        elif kind == "reset":
            books.reset(number, facts)
        elif kind == "drawing":
            check(kinds[about] in ("charge", "drawing"), f"mark {number} of nothing")
            check(about not in drawn, f"{about} marked twice")
            drawn.add(about)
        elif kind == "release":
            check(kinds[about] in ("charge", "drawing"), f"release {number} of nothing")
            check(about not in values, f"two releases of {about}")
            values[about] = body
        else:
            check(kind in ("refusal", "grant", "request", "approval"), f"entry {number} of an unknown kind")
    check((last, head) == (number, digest), "head")
    top = books.agree(root, nodes)
    return {"counts": counts, "keys": keys, "last": last, "head": head, "peak": [str(one) for one in top]}


if __name__ == "__main__":
    print(json.dumps(recount(sys.argv[1])))
