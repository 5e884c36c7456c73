"""Tables of text for a terminal, and a ledger's balances and log as such tables.

They are apart from the pages of reports, so that a command that prints them imports none of those.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from dpaccount.documents import plain, text_table
from dpaccount.exact import in_digits, to_digits
from dpaccount.ledger.entry import APPROVAL, CERTIFIED, REFUSAL
from dpaccount.schemas.ledgers import MOST_MORE

Report = dict[str, Any]
LONGEST_KEY = 20  #: characters of a key that is shown
NAMES = {"epsilon": "ε", "delta": "δ", "mu_squared": "μ²", "rho": "ρ", "pure": "pure ε"}  #: of amounts
#: fields of a log entry that are shown after its amounts
NOTED = ("by", "role", "scope", "cohort", "parts", "about")
#: what people write themselves, in a log entry and in a request: quoted, apart from what the ledger says
WRITTEN = ("person", "purpose", "reason", *CERTIFIED, "key")
IN_THEIR_WORDS = "in their words"
SAID = {"drawing": "noise drawn", "release": "result stored", "about": "for entry"}
BAR = 10  #: characters of a bar for a whole cap


def shown(report: Report) -> str:
    """Return the result of `Ledger.show` for a terminal: a row for each scope, the whole ledger first."""
    budget = report["budget"]
    whole = {**report, "scope": "(all)", "cap": budget}
    rows = [scope_row(each) for each in (whole, *report["scopes"])]
    head = ["scope", "cap", "spent", "left", "", "most-exposed unit"]
    about = f"{budget['dataset']}: " if "dataset" in budget else ""
    about += f"{budget['unit']}, under {budget['relation']}, measure: {budget['measure']}"
    counted = f"charges {report['entries']}, refused {report['refused']}, resets {report['resets']}"
    said = [plain(about), text_table(head, rows), report["explained"], *_people(report)]
    return "\n".join([*said, f"{counted}; head {report['head']}"])


def _people(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield what people may do, a line each, and a table of what they ask for."""
    for one in report.get("people", ()):
        where = f" in {one['scope']}" * bool(one["scope"]) + f" until {one['until']}" * bool(one["until"])
        yield plain(f"{one['person']} may {one['may']}{where}")
    asked = [
        [
            str(one["entry"]),
            one["by"],
            wanted(one["asks"], one["wants"]),
            f"approved by {one['approved']}" if one["approved"] else "waits for an approval",
            quoted(one["wants"]),
        ]
        for one in report.get("requests", ())
    ]
    if asked:
        yield text_table(["entry", "who", "asks for", "approval", IN_THEIR_WORDS], asked)


def wanted(kind: str, wants: Mapping[str, Any]) -> str:
    """Return what a request asks for, amounts first, without what who asks has written."""
    names = [name for name in dict.fromkeys(["epsilon", "delta", *wants]) if name in wants]
    ours = {name: in_digits(wants[name], 4, up=True).strip("[]") for name in names if name not in WRITTEN}
    said = (f"{NAMES.get(name, name)} {text}" for name, text in ours.items())
    return ", ".join([kind, *said])


def quoted(facts: Mapping[str, Any], names: Iterable[str] = WRITTEN) -> str:
    """Return what people have written, each text in quotes that it cannot end."""
    texts = ((name, str(facts[name])) for name in names if facts.get(name) is not None)
    return ", ".join(f"{name} {json.dumps(text, ensure_ascii=False)}" for name, text in texts)


def logged(lines: list[Report]) -> str:
    """Return a ledger's log for a terminal: a row for each entry, amounts rounded up."""
    return text_table(LOG_HEAD, [log_row(line) for line in lines])


LOG_HEAD = ("entry", "time (UTC)", "kind", "charged", "units", "details", IN_THEIR_WORDS)


def log_row(line: Report) -> list[str]:
    """Return entry, time, kind, amounts, units and details of a line of the log, and what people wrote."""
    spends = (line["spends"] or {}).items()
    ours = [*NOTED, *(["reason"] if line["kind"] in (APPROVAL, REFUSAL) else [])]
    words = [f"{SAID.get(name, name)} {line[name]}" for name in ours if line[name] is not None]
    key = line["key"] and str(line["key"])
    key = key[:LONGEST_KEY] + "…" if key and len(key) > LONGEST_KEY else key
    covered = "all" if line["first"] is None else f"{line['first']} to {line['last']}"
    return [
        str(line["entry"]),
        str(line["time"] or "")[:16].replace("T", " "),
        str(SAID.get(line["kind"], line["kind"])),
        ", ".join(f"{NAMES.get(name, name)} {_up(amount)}" for name, amount in spends),
        covered if spends else "",
        ", ".join(words),
        quoted({**line, "key": key}, [name for name in WRITTEN if name not in ours]),
    ]


def _up(amount: float | str) -> str:
    return amount if isinstance(amount, str) else to_digits(amount, up=True, digits=6)


def share_spent(scope: Mapping[str, Any]) -> float:
    """Return the spent share of a scope's ε, or of its δ if that adds up and less of it is left."""
    spent, cap = scope["spent"], scope["cap"]
    share = float(spent["epsilon"]["upper"]) / max(float(Fraction(cap["epsilon"])), 1e-300)
    if not float(spent.get("delta", 0)):
        return share
    half = 2 if "rho" in spent else 1  # beside zCDP
    return max(share, half * float(spent["delta"]) / float(Fraction(cap["delta"])))


def scope_row(each: Report) -> list[str]:
    """Return name, cap, what is spent and left, a bar of it, and the most-exposed unit of a scope."""
    cap, unit = each["cap"], each["worst_unit"]
    spent, left = _ends(each["spent"], up=True), _ends(each["remaining"], up=False)
    limit = f"ε {cap['epsilon']}" + (f", δ {cap['delta']}" if cap.get("delta") not in (None, "0") else "")
    unspent = each["spent"]["epsilon"]["upper"] == 0 and not each["spent"].get("delta")
    if unspent and "life_remaining" not in each:
        left = limit  # as it was given: rounded down it would seem less
    limit += renewing(each)
    share = share_spent(each)
    full = min(math.ceil(share * BAR), BAR) if share > 0 else 0
    return [
        each["scope"],
        limit,
        spent,
        left,
        "█" * full + "░" * (BAR - full),
        "all" if unit is None else str(unit),
    ]


def renewing(scope: Mapping[str, object]) -> str:
    """Return how often the cap of a scope renews, which period this is, and the cap of one charge; or ""."""
    often = f" a {scope['every']} ({scope['period']})" if "every" in scope else ""
    return often + (f"; one charge: ε {scope['charge_epsilon']}" if "charge_epsilon" in scope else "")


def _ends(amounts: Report, *, up: bool) -> str:
    """Return ε and δ to four digits: of what is spent rounded up, of what is left rounded down.

    If no lower end is known of the ε that is left, these are the measure's amounts.
    """
    epsilon = amounts["epsilon"]["upper" if up else "lower"]
    if epsilon is None:
        epsilon = alone_costs(amounts)
    parts = [("ε", epsilon)]
    if "delta" in amounts and "rho" not in amounts:  # approximate zCDP has no δ that belongs to this ε
        parts.append(("δ", amounts["delta"]))
    if epsilon is None:
        parts = [(NAMES[name], amount) for name, amount in amounts.items() if name != "epsilon"]
    return ", ".join(f"{name} {to_digits(value, up=up, digits=4)}" for name, value in parts)


def explained(shown: Report) -> str:
    """Return in words how what is spent, what is left and the budget relate."""
    measure, limit = shown["budget"]["measure"], shown["budget"]["epsilon"]
    spent = in_digits(shown["spent"]["epsilon"]["upper"], 4, up=True)
    sums = {
        "gdp": "μ² adds up, ε does not",
        "zcdp": "ρ adds up",
        "approximate-zcdp": "ρ and δ add up",
        "either": "μ², ρ and ε each add up",
        "approximate": "ε and δ add up",
    }.get(measure, "ε adds up")
    more = f"another charge of {room(shown['remaining'])} fits"
    sentence = f"charges cost ε {spent} of {limit}, and {more} ({sums})"
    capped = _again(**shown["more_like_last"]) if "more_like_last" in shown else ""
    if "life_remaining" in shown:
        most, late = (shown["budget"][f"life_{name}"] for name in ("epsilon", "delta"))
        at = f" at δ {late}" if late != shown["budget"]["delta"] else ""
        left = room(shown["life_remaining"])
        capped += f"; in its whole life a unit loses at most ε {most}{at}, of which {left} is left"
    if not shown["resets"]:
        return sentence + capped
    life = in_digits(shown["life"]["epsilon"]["upper"], 4, up=True)
    late = f" and δ {in_digits(shown['life']['delta'], 4, up=True)}" if measure == "approximate" else ""
    at = late or f" at δ {shown['budget'].get('life_delta', shown['budget']['delta'])}"
    of_life = f"over the ledger's life they cost ε {life}{at}, which is the guarantee"
    return f"since the last reset, {sentence}; {of_life}{capped}"


def _again(entry: int, charges: int) -> str:
    """Return how many charges like the last one fit, as the end of a sentence."""
    many = "no more charge" if not charges else f"{charges:,} more charge{'s' * (charges > 1)}"
    least = "at least " if charges >= MOST_MORE else ""
    return f"; {least}{many} like entry {entry} fit{'s' * (charges < 2)}"


def room(remaining: Report) -> str:
    """Return as text the cost up to which another charge fits every unit, rounded down."""
    left = {name: in_digits(amount, 4, up=False) for name, amount in remaining.items()}
    epsilon = in_digits(remaining["epsilon"]["lower"], 4, up=False)
    if "pure" in left:
        return f"μ² {left['mu_squared']}, or ρ {left['rho']}, or pure ε {left['pure']}"
    first = f"ε {epsilon}"
    if "rho" in left:
        alone = alone_costs(remaining)
        first = f"ρ {left['rho']}" + (f", by itself ε {in_digits(alone, 4, up=False)}," if alone else "")
    return f"{first} and δ {left['delta']}" if "delta" in left else first


def alone_costs(remaining: Mapping[str, Any]) -> float | None:
    """Return the ε at the budget's δ that a ledger counts for ρ that is left, as the only charge; or None.

    Not for approximate zCDP, where δ is spent, too.
    """
    upper = remaining["epsilon"]["upper"]
    known = "rho" in remaining and "delta" not in remaining and isinstance(upper, float)
    return upper * (1 - 1e-9) if known else None  # the ε that the ledger counts is known to 1e-12
