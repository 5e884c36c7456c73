"""Recompute a ledger from its raw rows, by nothing of the package: ``python recount.py FILE``.

Checks the chain, the order of the entries, the head, keys, the tree of totals against one number per unit, the
budget (of `pure` and `approximate` exactly; of others in 60 digits), that every mark and release has
its charge, and that no part has two values.  Prints one JSON line of what it found; exits 1 where anything is wrong.
"""

import hashlib
import json
import sqlite3
import sys
from decimal import Decimal, getcontext
from fractions import Fraction

getcontext().prec = 60


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
    for place, (*said, digest) in enumerate(rows):
        check(said[0] == place, f"entry {place} is missing")
        check(digest == "sha256:" + sha(canonical([before, *said])), f"digest of entry {place}")
        before = digest
        yield (*said, digest)


def levels(changes, width):
    """Return what units have spent, as (first unit, amounts) in order."""
    level, found = [Fraction(0)] * width, []
    for unit in sorted(changes):
        level = [a + b for a, b in zip(level, changes[unit], strict=True)]
        found.append((unit, level))
    return found


def tree_levels(root, nodes, width):
    """Return the same from the tree, checking every digest and peak on the way, and that no node is left over."""
    height, everyone, mark, peak, digest = root.split("|")
    numbers = lambda text: [Fraction(word) for word in text.split()]  # noqa: E731
    plus = lambda *all_: [sum(column) for column in zip(*all_, strict=True)]  # noqa: E731
    found, seen = [], set()

    def walk(node, height, low, level, digest, peak):
        if not digest:
            check(not any(peak), f"peak over level units at {low}")
            found.append((low, level))
            return
        seen.add(node)
        check(sha(nodes[node].encode()) == digest, f"digest of node {node}")
        parts = nodes[node].split("|")
        halves = [(numbers(a), numbers(b), c) for a, b, c in (parts[:3], parts[3:])]
        tops = [plus(a, b) for a, b, _ in halves]
        check(peak == [max(pair) for pair in zip(*tops, strict=True)], f"peak of node {node}")
        for side, (more, top, below) in enumerate(halves):
            walk(2 * node + side, height - 1, low + side * 2 ** (height - 1), plus(level, more), below, top)

    base = plus(numbers(everyone), numbers(mark))
    walk(2 ** (63 - int(height)), int(height), 0, base, digest, numbers(peak))
    check(seen == set(nodes), "nodes that belong to no tree")
    found.append((2 ** int(height), numbers(everyone)))
    return found


def at(steps, unit, width):
    spent = [Fraction(0)] * width
    for first, level in steps:
        if first > unit:
            break
        spent = level
    return spent


def phi(x):
    """Return the normal distribution function in 60 digits, by its series."""
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
    if measure in ("pure", "approximate"):
        return spent[0] <= epsilon and (len(spent) == 1 or spent[1] <= delta)
    total = Decimal(spent[0].numerator) / Decimal(spent[0].denominator)
    eps, most = (Decimal(one.numerator) / Decimal(one.denominator) for one in (epsilon, delta))
    if total == 0:
        return True
    if measure == "gdp":
        mu = total.sqrt()
        return phi(-eps / mu + mu / 2) - eps.exp() * phi(-eps / mu - mu / 2) <= most
    # zcdp: some order of a fine grid proves it
    for step in range(1, 4000):
        order = 1 + Decimal(step) / 20
        log = (order - 1) * (order * total - eps) + (order - 1) * (1 - 1 / order).ln() - order.ln()
        if log <= most.ln():
            return True
    return False


def recount(file):
    database = sqlite3.connect(f"file:{file}?mode=rw", uri=True)
    database.execute("BEGIN")
    [(kind, last, head)] = database.execute("SELECT format, last, head FROM ledger")
    check(kind == "dpaccount/ledger/2", "format")
    nodes = dict(database.execute("SELECT node, body FROM nodes"))
    budget, width, changes, counts, keys = None, 1, {}, {}, {}
    drawn, values, number, digest, root = set(), {}, -1, "", ""
    kinds = {}
    for entry in entries(database):
        number, kind, key, about, body, root, digest = entry
        facts = json.loads(body)
        counts[kind] = counts.get(kind, 0) + 1
        kinds[number] = kind
        if kind == "budget":
            budget, width = facts, {"approximate": 2, "either": 3}.get(facts["measure"], 1)
        elif kind == "charge":
            check(key is None or key not in keys, f"key {key} twice")
            keys[key or f"#{number}"] = number
            before = [Fraction(0)] * width
            for first, text in facts["steps"]:
                spent = [Fraction(word) for word in text.split()]
                change = [a - b for a, b in zip(spent, before, strict=True)]
                known = changes.setdefault(first, [Fraction(0)] * width)
                changes[first] = [a + b for a, b in zip(known, change, strict=True)]
                before = spent
        elif kind == "drawing":
            check(kinds[about] in ("charge", "drawing"), f"mark {number} of nothing")
            check(about not in drawn, f"{about} marked twice")
            drawn.add(about)
        elif kind == "release":
            check(kinds[about] in ("charge", "drawing"), f"release {number} of nothing")
            check(about not in values, f"two releases of {about}")
            values[about] = body
    check((last, head) == (number, digest), "head")
    steps, tree = levels(changes, width), tree_levels(root, nodes, width)
    units = sorted({max(first, 1) for first, _ in [*steps, *tree]} | {2**63 - 2})
    totals = [at(steps, unit, width) for unit in units]
    check(totals == [at(tree, unit, width) for unit in units], "totals")
    epsilon, delta = Fraction(budget["epsilon"]), Fraction(budget["delta"])
    peaks = {tuple(total) for total in totals} or {(Fraction(0),) * width}
    top = [max(column) for column in zip(*peaks, strict=True)]
    within = fits(budget["measure"], top, epsilon, delta)
    if not within and budget["measure"] == "either":  # some units may fit in one measure, some in another
        within = all(fits("either", total, epsilon, delta) for total in peaks)
    check(within, "beyond the budget")
    check(all(min(total) >= 0 for total in totals), "a total below nothing")
    return {"counts": counts, "keys": keys, "last": last, "head": head, "peak": [str(one) for one in top]}


if __name__ == "__main__":
    print(json.dumps(recount(sys.argv[1])))
