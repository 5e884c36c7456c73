"""What the statistics of a study read and draw: which keys, by which law, and how far a row moves each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from audits.consistency.formulas import check_joined, where_reads
from dpaccount.checker.certificate.shapes import exact_of
from dpaccount.checker.certificate.tables import ORDERED
from dpaccount.checker.derivation import NOISE
from dpaccount.checker.documents import Rejected, brief, ensure, integer, text
from dpaccount.checker.intervals import number
from dpaccount.checker.relation import ADDED, REPLACED

Table = dict[str, Any]
Interval = tuple[Fraction, Fraction]
TREE, LEVELS = sum(4**level for level in range(1, 6)), 5  # cells for a quantile, and of how many a row is one
SQUARE = Fraction(8, 5)  # the weight w of a variance's sums of (z, w(z² − ½)), z in [−1, 1]
ULPS = Fraction(1, 2**50)  # of a column's bounds: more than rounding adds to a number between them
OF_CELLS, SPREADS = ("histogram", "top"), ("variance", "stddev")
OF_NUMBERS = ("sum", "mean", "ratio", *SPREADS, "median", "quantile", "regression")
#: From a draw down to what is assumed of a row: Gaussian noise by relation, others by what is summed.
GAUSSIAN = {
    REPLACED: ("fine_gaussian", "moved", "assume_lipschitz"),
    ADDED: ("fine_gaussian", "linear", "assume_ball"),
}
OF_COUNTS, OF_ONE_NUMBER = ("laplace", "linear", "assume_cell"), ("laplace", "linear", "assume_clipped")
OF_SUMS, UNLISTED = ("laplace", "assume_l1"), ("stable_histogram", "assume_cell")
CHOSEN = ("exponential", "assume_range")
CHAINS = (*GAUSSIAN.values(), OF_COUNTS, OF_ONE_NUMBER, OF_SUMS, UNLISTED, CHOSEN)
RULES = {rule for chain in CHAINS for rule in chain}
RULES |= {"assume_numbers", "assume_view", "assume_persons", "compose", "post_process", "group"}
RULES |= {"persons", "replace_one", "to_approximate", "to_gdp", "to_near_gdp", "to_pure"}


@dataclass(frozen=True)
class LeastMove:
    """Least movement of a key's sums by a row: squared l2 norms if it is added, and if replaced.

    It is in `cells` of the `size` sums, or one number in `interval`, or of the norms `l1` if it is added and
    if replaced.  With a `choice` it is the square of how far the range of scores moves, in ranks,
    of which a score's unit is one part in `choice`.
    """

    key: str
    size: int
    come: Fraction
    replaced: Fraction
    cells: int = 0
    interval: Interval | None = None
    choice: int = 0
    l1: Interval = (Fraction(0), Fraction(0))


def maybe(value: object, name: str) -> Fraction | None:
    """Read a finite number that may be missing, None."""
    exact = None if value is None else exact_of(value, name)
    ensure(value is None or exact is not None, f"{name} should be finite")
    return exact


def counted(name: str, size: int, cells: int = 1) -> LeastMove:
    """Return how far a row moves the counts of `size` cells if it is counted in `cells` of them."""
    ensure(size > 0, f"{brief(name)} has no cells")
    one = (Fraction(0), Fraction(1)) if size == 1 else None
    return LeastMove(f"{name}/count", size, Fraction(cells), Fraction(min(2 * cells, size)), cells, one)


def unlisted(held: Mapping[str, Any]) -> bool:
    """Return whether a statistic counts rows by unlisted values; reject texts anywhere else."""
    by, column = held.get("by", []), held.get("column")
    top = held["what"] == "top" and not by and column is not None
    keys: list[Any] = by if held["what"] == "count" else [column] if top else []
    free = sum(each["kind"] == "text" for each in keys)
    texts = [each for each in (*by, *held.get("on", []), column) if each and each["kind"] == "text"]
    ensure(len(texts) == free, f"{brief(held['name'])} reads a text where others are listed")
    return free > 0


def names_of(held: Table) -> list[str]:
    """Return what a release of a described statistic reports."""
    return [held["name"], *([f"{held['name']}/texts"] if unlisted(held) else [])]


def chosen(held: Mapping[str, Any]) -> bool:
    """Return whether the exponential mechanism chooses a described quantile."""
    return bool(held.get("method", "") == "exponential")


def is_choice(value: object, low: Fraction, high: Fraction) -> bool:
    """Return whether a number is one of 4^LEVELS + 1 equally spaced candidates from `low` to `high`."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        return False
    step, off = (high - low) / 4**LEVELS, Fraction(value) - low
    return abs(off - round(off / step) * step) <= ULPS * max(abs(low), abs(high))


def labels(column: Mapping[str, Any]) -> int:
    """Return how many cells a described column has."""
    if column["kind"] == "integer":
        low, high = ends(column)
        return int(high - low) + 1
    listed = 2 if column["kind"] == "boolean" else len(column["values"]) + (column["other"] is True)
    ensure(column["kind"] in ("boolean", "category"), f"{brief(column['name'])} has no cells")
    return listed


def ends(column: Mapping[str, Any]) -> Interval:
    """Return the least and the largest code of a described column of numbers."""
    if column["kind"] == "boolean":
        return Fraction(0), Fraction(1)
    ensure(column["kind"] in ("number", "integer"), f"{brief(column['name'])} is no number")
    low, high = (Fraction(float(exact_of(column[end], end) or 0)) for end in ("low", "high"))
    return low, high


def least_moves(held: Mapping[str, Any], *, exact: bool) -> list[LeastMove]:
    """Return what a described statistic draws; `exact`: the number of a table's rows is public."""
    name, what, by = held["name"], held["what"], held.get("by", [])
    if unlisted(held):
        return [LeastMove(f"{name}/keys", 0, Fraction(1), Fraction(2), 1)]
    groups = 1
    for each in by:
        groups *= labels(each)
    if what in ("count", *OF_CELLS):
        bins = held.get("bins", [])
        cells = 1 if what == "count" else len(bins) - 1 if bins else labels(held["column"])
        return [counted(name, groups * cells)]
    ensure(what in OF_NUMBERS, f"{brief(what)} is no statistic")
    low, high = ends(held["column"])
    if what in ("median", "quantile") and chosen(held):
        q, *others = ranks_of(held) or [Fraction(1, 2)]
        ensure(0 < q < 1 and others == [], f"{brief(name)} is of no rank, or of several")
        come, size = 2 * max(q, 1 - q), groups * 4**LEVELS
        replaced = 2 * come if groups > 1 else Fraction(2)
        return [LeastMove(f"{name}/choice", size, come**2, replaced**2, 1, None, q.denominator)]
    if what in ("median", "quantile"):
        return [counted(name, groups * TREE, LEVELS)]
    one, four = Fraction(1), Fraction(4)
    if what == "regression":
        numbers = len([ends(each) for each in held["on"]]) + 2
        ensure(not by, "a regression has no groups")
        size, l1 = numbers * (numbers + 1) // 2, Fraction(numbers + 1, 2)
        return [LeastMove(f"{name}/moments", size, l1 / numbers, one, l1=(l1, l1))]
    if what in ("sum", "ratio"):
        summed = [summed_moves(f"{name}/sum", (low, high), groups)]
        if what == "ratio":
            ensure(ends(held["per"])[0] >= 0, f"{brief(name)} is per what may be negative")
            summed.append(summed_moves(f"{name}/per", ends(held["per"]), groups))
        return summed
    needed = [held["column"], *held.get("on", [])]  # a row without a number there is of no group
    every = not any(each.get("gaps", False) for each in needed)
    known = exact and not by and held.get("where", "").strip() == "" and every
    rest = [] if known else [counted(name, groups)]
    if what in SPREADS:
        # A row adds (z, w(z² − ½)), whose norms are largest at z = ±1.  Two rows of a group are at most 2
        # apart in l2, as z is, and in l1 u(1 + w(2 − u)) where z is u apart: at most at u = (1 + 2w)/2w.
        w, norm = SQUARE, 1 + SQUARE / 2
        norms = norm, (1 + 2 * w) ** 2 / (4 * w) if groups == 1 else 2 * norm
        return [LeastMove(f"{name}/moments", 2 * groups, 1 + (w / 2) ** 2, four, l1=norms), *rest]
    near = (-one, one) if groups == 1 else None
    return [LeastMove(f"{name}/sum", groups, one, four, 0, near, l1=(one, 2 * one)), *rest]


def summed_moves(key: str, bounds: Interval, groups: int) -> LeastMove:
    """Return how far a row moves the sums of numbers between bounds, by group."""
    (low, high), one = bounds, Fraction(1)
    most = max(abs(low), abs(high))
    ensure(most > 0, f"{brief(key)} sums nothing but 0")
    far = max(((high - low) / most) ** 2, Fraction(2) if groups > 1 else one)
    near = (min(low, Fraction(0)) / most, max(high, Fraction(0)) / most) if groups == 1 else None
    return LeastMove(key, groups, one, far, 0, near, l1=(one, 2 * one))


def check_draws(held: Table, steps: list[Table]) -> None:
    """Verify that a study draws what its statistics need and nothing else, with the noise that is listed.

    A row's number is public where each is replaced, and no person has several.
    """
    relation, drawn = held["relation"], [step for step in steps if step["rule"] in NOISE]
    ensure(relation in (REPLACED, ADDED), "rows of a study are replaced, or come and go")
    ensure(held["law"] in ("gaussian", "laplace"), f"{brief(held['law'])} is no law of a study's noise")
    exact = relation == REPLACED and all(step["rule"] != "assume_persons" for step in steps)
    ensure(held["exact_rows"] is exact, "the number of rows is public otherwise than exact_rows says")
    # Others, such as parallel composition, would charge a row for fewer draws than it enters.
    other = sorted({step["rule"] for step in steps} - RULES)
    ensure(other == [], f"the proof of a study has no {', '.join(other)}")
    by_key = {text(step["with"]["key"]): step for step in drawn}
    least = [move for each in held["statistics"] for move in least_moves(each, exact=exact)]
    same = len(by_key) == len(drawn) == len(least) and {move.key for move in least} == by_key.keys()
    ensure(same, "the statistics that are listed need other draws than the proof has")
    ensure(len(held["scales"]) == len(least), "other noise is listed than the proof draws")
    shown = [by_key[move.key]["with"].get("threshold") for move in least if move.size == 0]
    ensure(held.get("thresholds", []) == shown, "other thresholds are listed than the proof has")
    for move, scale in zip(least, held["scales"], strict=True):
        check_draw(move, by_key[move.key], steps, held)
        given, listed = by_key[move.key]["with"], exact_of(scale, "scales") or Fraction(0)
        if move.choice:
            noise = 1 / (number(given["rate"]) * move.choice) ** 2
        else:
            noise = number(given["variance"]) if "variance" in given else number(given["scale"]) ** 2
        ensure(listed > 0 and noise == listed**2, "other noise is listed than the proof draws")


def check_draw(move: LeastMove, step: Table, steps: list[Table], held: Table) -> None:
    """Verify by which law a key is drawn, and that a row moves it no further than is assumed."""
    relation, gaussian = held["relation"], held["law"] == "gaussian"
    right: tuple[str, ...] = OF_ONE_NUMBER if move.interval is not None else OF_COUNTS
    if move.choice:
        right = CHOSEN
    elif move.size == 0:
        right = UNLISTED
    elif gaussian:
        right = GAUSSIAN[relation]
    elif move.interval is None and move.l1[0] > 0:
        right = OF_SUMS
    rules, bottom = [step["rule"]], step
    while not bottom["rule"].startswith("assume_"):
        bottom = steps[bottom["from"][0]]
        rules.append(bottom["rule"])
    ensure(tuple(rules) == right, f"{brief(move.key)} is drawn by another rule than its kind of sums")
    given, of = bottom["with"], REPLACED if "reach" in bottom["with"] else bottom["with"]["relation"]
    same = given["query"] == move.key and of == (ADDED if move.size == 0 else relation)
    ensure(same, f"the noise of {brief(move.key)} rests on another query, or on other neighbours")
    ensure(enough(move, given), f"a row moves {brief(move.key)} further than is assumed")
    limits = [integer(steps[k]["with"]["most"]) for k in step["from"][1:]]
    ensure(all(most >= move.size for most in limits), f"{brief(move.key)} is of more numbers than is assumed")


def enough(move: LeastMove, given: Table) -> bool:
    """Return whether the assumed movement of a row covers its actual movement."""
    if move.choice:
        far = move.come if given["relation"] == ADDED else move.replaced
        return number(given["width"]) >= 0 and number(given["width"]) ** 2 >= far * move.choice**2
    if "width" in given:
        return number(given["width"]) >= move.l1[given["relation"] != ADDED] > 0
    if "reach" in given:
        return number(given["reach"]) >= 0 and number(given["reach"]) ** 2 >= move.replaced
    if "radius" in given:
        return number(given["radius"]) ** 2 >= move.come
    if "low" in given:
        low, high = move.interval or (Fraction(0), Fraction(-1))
        return low < high and number(given["low"]) <= low and number(given["high"]) >= high
    if move.cells == 0:
        raise Rejected(f"{brief(move.key)} is a sum of numbers, and not of counts")
    return integer(given.get("most", 1)) >= move.cells


READ, SEVERAL = ("column", "per", "by", "on"), ("by", "on")  # keys that name columns, and lists of columns
ONLY_OF = {"q": ("quantile",), "k": ("top",), "bins": ("histogram", "top"), "on": ("regression",)}
ONLY_OF |= {"method": ("median", "quantile"), "per": ("ratio",)}
SPLITTING = ("share", "accuracy", "epsilon")  # ways to state a statistic's part of the total
LISTED = {"name", "what", "where", "column", "by", *ONLY_OF, *SPLITTING}
COLUMN = {"name", "kind", "low", "high", "values", "other", "missing", "length", "formula", "of", "found"}
COLUMN |= {"gaps", "schema"}
STUDIED = {"statistic", "law", "statistics", "scales", "rows", "relation", "exact_rows", "thresholds"}
STUDIED |= {"persons", "max_rows"}


def check_read(asked: Table, held: Table, columns: Table, steps: list[Table]) -> None:
    """Verify that a study lists what its proof is about, of columns as they are declared."""
    if columns or asked.get("parameters"):  # else it reads nothing: the study of its defaults
        check_study(asked, steps, columns)
        check_described(asked["parameters"]["statistic"], held, columns)
        ensure(asked["parameters"].get("law", held["law"]) == held["law"], "the noise is of another law")
    check_draws(held, steps)


def check_study(asked: Table, steps: list[Table], columns: Table) -> None:
    """Verify that statistics have different names, read declared columns, and are those that draw noise."""
    listed = asked.get("parameters", {}).get("statistic", [])
    ensure(type(listed) is list and listed != [], "a study lists its statistics")
    names = []
    for each in listed:
        ensure(type(each) is dict, "a statistic is a table")
        names.append(text(each.get("name")))
        read = [each[key] for key in ("column", "per") if key in each]
        for several in SEVERAL:
            ensure(type(each.get(several, [])) is list, f"{several} lists columns")
            read += each.get(several, [])
        known = all(type(name) is str and name in columns for name in read)
        ensure(known, f"the statistic {brief(names[-1])} reads a column that is not declared")
    drawn = {text(step["with"]["key"]).rpartition("/")[0] for step in steps if "key" in step["with"]}
    ensure(len(set(names)) == len(names), "two statistics have one name")
    ensure(drawn == set(names), "other statistics are listed than the proof draws noise for")


def check_described(listed: list[Table], held: Table, columns: Table) -> None:
    """Verify that the statistics of the subject are those of the claim, of columns as they are declared."""
    described = held.get("statistics")
    ensure(held.keys() <= STUDIED, f"a study has no parameters {brief(sorted(held.keys() - STUDIED))}")
    ensure(type(described) is list and len(described) == len(listed), "other statistics are described")
    for claim, own in zip(listed, described if type(described) is list else [], strict=True):
        about = f"the statistic {brief(claim['name'])}"
        ensure(type(own) is dict, f"{about} is described by a table")
        check_terms(claim, about)
        ensure(own.keys() <= {*LISTED, "declared"}, f"{about} is described by more than a statistic has")
        for key in ("name", "what", "where", "k", "method"):
            empty = "" if key in ("where", "method") else None
            same = own.get(key, "" if key == "method" else None) == claim.get(key, empty)
            ensure(same, f"{about} has another {key} than the claim lists")
        for key in READ:
            named = claim.get(key, [])
            same = [each.get("name") for each in read_as(own, key)] == (
                [named] if type(named) is str else named
            )
            ensure(same, f"{about} has another {key} than the claim lists")
        read = [each for key in READ for each in read_as(own, key)]
        for each in tables_of([*read, *tables_of(own.get("declared"))]):
            ensure(is_declared(each, columns), f"{about} describes a column otherwise than it is declared")
        tested = [each.get("name") for each in tables_of(own.get("declared"))]
        ensure(
            tested == where_reads(claim.get("where", ""), columns), f"{about} has a where of other columns"
        )
        edges = [[exact_of(edge, "bins") for edge in given.get("bins", [])] for given in (claim, own)]
        ensure(edges[0] == edges[1], f"{about} has other bins than the claim lists")
        ensure(ranks_of(own) == ranks_of(claim), f"{about} has another q than the claim lists")
        for key in ("share", "accuracy", "epsilon"):
            both = [maybe(given.get(key), key) for given in (claim, own)]
            both[0] = Fraction(1) if key == "share" and both[0] is None else both[0]
            ensure(both[0] == both[1], f"{about} has another {key} than the claim lists")


def read_as(own: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    """Return the columns that a described statistic reads as its `key`."""
    given = own.get(key, [] if key in SEVERAL else None)
    return tables_of(given if key in SEVERAL else [] if given is None else [given])


def check_terms(claim: Table, about: str) -> None:
    """Verify that a listed statistic has only what its kind takes, and one part of the total."""
    ensure(claim.keys() <= LISTED, f"{about} lists more than a statistic has")
    right = all(claim["what"] in kinds for key, kinds in ONLY_OF.items() if key in claim)
    ensure(right and len(claim.keys() & set(SPLITTING)) <= 1, f"{about} lists what does not go together")
    ensure(all(maybe(claim[key], key) for key in SPLITTING if key in claim), f"{about} has a part of 0")
    known = claim.get("method", "levels") in ("levels", "exponential")
    ensure(known, f"{about} has an unknown method")
    if claim["what"] == "quantile":
        ranks = ranks_of(claim)
        good = ranks != [] and all(0 < rank < 1 for rank in ranks) and ranks == sorted(set(ranks))
        ensure(good, f"{about} has no q between 0 and 1, or several that do not rise")
    if claim["what"] == "top":
        ensure(integer(claim.get("k")) >= 1, f"{about} has no k of 1 or more")
    edges = [float(maybe(edge, "bins") or 0) for edge in claim.get("bins", [])]
    ensure(all(low < high for low, high in pairwise(edges)), f"{about} has bins that do not rise")


def ranks_of(statistic: Mapping[str, Any]) -> list[Fraction]:
    """Return the ranks that a quantile states: one, or a list of them."""
    given = statistic.get("q")
    listed = given if type(given) is list else [] if given is None else [given]
    return [maybe(each, "q") or Fraction(0) for each in listed]


def tables_of(value: Any) -> list[Table]:
    """Return a list of tables; rejects anything else."""
    if type(value) is not list or any(type(each) is not dict for each in value):
        raise Rejected("columns are described by a list of tables")
    return value


#: members of a column that a claim and a subject state alike, or both leave out
ALIKE: tuple[tuple[str, Any], ...] = (
    ("values", []),
    ("other", False),
    ("length", None),
    ("gaps", False),
    ("schema", 1),
)


def is_declared(own: Table, columns: Table) -> bool:
    """Return whether a described column is one that the claim declares, or derives."""
    claim, of = columns.get(text(own.get("name")), {}), tables_of(own.get("of", []))
    ends = [[exact_of(given.get(end) or 0, end) for end in ("low", "high")] for given in (claim, own)]
    kind = own.get("kind") == claim.get("type") and ends[0] == ends[1]
    same_source = own.get("formula") == claim.get("formula") and [one.get("name") for one in of] == claim.get(
        "of", []
    )
    same = own.keys() <= COLUMN and kind and same_source and all(is_declared(one, columns) for one in of)
    if same:
        check_joined(own, columns)
    listed, described = ([each.get(key, empty) for key, empty in ALIKE] for each in (claim, own))
    cells = [each.get("missing") for each in (claim, own)]
    if all(type(cell) in (int, float, str) for cell in cells) and own.get("kind") in ORDERED:
        cells = [exact_of(cell, "missing") for cell in cells]
    of_one_type = [*map(type, listed)] == [*map(type, described)]
    return same and listed == described and of_one_type and cells[0] == cells[1]
