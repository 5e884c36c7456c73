"""What is read of a table: the columns that parameters name, or that the statistics of a study do."""

from fractions import Fraction
from typing import Any

from ..documents import Rejected, brief, ensure, text
from ..intervals import number
from .derived import check_joined
from .shapes import exact_of

Table = dict[str, Any]
NAMING = ("column", "columns", "by", "bins")  # parameters that say what is read of a table
STUDY = "noisy-statistics"  # the subject whose parameters list statistics
# By kind of statistic and draw: squares of how far a row that comes or goes moves the sums at least, and one
# that is replaced; and in how many cells it is.
LEAST: dict[tuple[str, str], tuple[Fraction, Fraction, int]] = {
    ("median", "count"): (Fraction(5), Fraction(10), 5),
    ("quantile", "count"): (Fraction(5), Fraction(10), 5),
    ("sum", "sum"): (Fraction(1), Fraction(1), 0),
    ("mean", "sum"): (Fraction(1), Fraction(4), 0),
    ("variance", "moments"): (Fraction(41, 25), Fraction(4), 0),
    ("regression", "moments"): (Fraction(1), Fraction(2), 0),
}
COUNTED = (Fraction(1), Fraction(2), 1)  # all other draws


def check_read(asked: Table, held: Table, columns: Table, steps: list[Table]) -> None:
    """Verify that what is read of a table is declared, and that a study lists what its proof is about."""
    if asked["use"] == STUDY:
        if columns or asked.get("parameters"):  # else it reads nothing: the study of its defaults
            check_study(asked, steps, columns)
            check_described(asked["parameters"]["statistic"], held, columns)
        check_draws(held, steps)
    else:
        check_named(asked, held, columns)


def check_named(asked: Table, held: Table, columns: Table) -> None:
    """Verify that the columns that parameters name are declared, and the same for claim and subject."""
    said, own = asked.get("parameters", {}), ":" in asked["use"]
    ensure(not {"column", "columns"} <= said.keys(), "column and columns are not both given")
    named = [said[key] for key in ("column", "by", "arm") if type(said.get(key)) is str]
    named = [] if own and not columns else named  # a class of one's own may read files by itself
    named += said["columns"] if type(said.get("columns")) is list else []
    ensure(all(name in columns for name in named), f"a column among {brief(named)} is not declared")
    ensure(own or not columns or named != [], "no column of the table is read")
    alone = [key for key in NAMING if type(held.get(key)) in (str, list) and key not in said]
    ensure(own or alone == [], f"the parameter {brief(alone)} is the claim's to say")


def check_study(asked: Table, steps: list[Table], columns: Table) -> None:
    """Verify that statistics have different names, read declared columns, and are those that draw noise."""
    listed = asked.get("parameters", {}).get("statistic", [])
    ensure(type(listed) is list and listed != [], "a study lists its statistics")
    names = []
    for each in listed:
        ensure(type(each) is dict, "a statistic is a table")
        names.append(text(each.get("name")))
        read = [each["column"]] if "column" in each else []
        for several in ("by", "on"):
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
    ensure(type(described) is list and len(described) == len(listed), "other statistics are described")
    for said, found in zip(listed, described if type(described) is list else [], strict=True):
        about = f"the statistic {brief(said['name'])}"
        ensure(type(found) is dict, f"{about} is described by a table")
        for key in ("name", "what", "where", "k"):
            same = found.get(key) == said.get(key, "" if key == "where" else None)
            ensure(same, f"{about} has another {key} than the claim lists")
        read = [found[key] for key in ("column",) if found.get(key) is not None]
        named = [said["column"]] if "column" in said else []
        same = [each.get("name") for each in tables_of(read)] == named
        ensure(same, f"{about} has another column than the claim lists")
        for key in ("by", "on"):
            several = tables_of(found.get(key))
            same = [each.get("name") for each in several] == said.get(key, [])
            ensure(same, f"{about} has another {key} than the claim lists")
            read += several
        for each in tables_of([*read, *tables_of(found.get("declared"))]):
            ensure(is_declared(each, columns), f"{about} describes a column otherwise than it is declared")
        edges = [[exact_of(edge, "bins") for edge in given.get("bins", [])] for given in (said, found)]
        rank = [None if given.get("q") is None else exact_of(given["q"], "q") for given in (said, found)]
        ensure(edges[0] == edges[1] and rank[0] == rank[1], f"{about} has other bins, or another q")


def tables_of(value: Any) -> list[Table]:
    """Return a list of tables; rejects anything else."""
    if type(value) is not list or any(type(each) is not dict for each in value):
        raise Rejected("columns are described by a list of tables")
    return value


def is_declared(found: Table, columns: Table) -> bool:
    """Return whether a described column is one that the claim declares, or derives."""
    said, of = columns.get(text(found.get("name")), {}), tables_of(found.get("of", []))
    ends = [[exact_of(given.get(end) or 0, end) for end in ("low", "high")] for given in (said, found)]
    kind = found.get("kind") == said.get("type") and ends[0] == ends[1]
    made = found.get("formula") == said.get("formula") and [one.get("name") for one in of] == said.get(
        "of", []
    )
    same = kind and made and all(is_declared(one, columns) for one in of)
    if same:
        check_joined(found, columns)
    return same and (found.get("values"), found.get("other")) == (
        said.get("values", []),
        said.get("other", False),
    )


def check_draws(held: Table, steps: list[Table]) -> None:
    """Verify that a row moves each draw as far at least as its kind of sums is moved, and its noise."""
    kinds = {each["name"]: each["what"] for each in held["statistics"]}
    drawn, scales = [step["with"] for step in steps if "key" in step["with"]], []
    for each in drawn:
        name, _, part = text(each["key"]).rpartition("/")
        come, replaced, cells = LEAST.get((kinds[name], part), COUNTED)
        about = [step for step in steps if step["with"].get("query") == each["key"]]
        moves = [step["with"] for step in about]
        far = [number(given["radius"]) ** 2 >= come for given in moves if "radius" in given]
        far += [number(given["reach"]) ** 2 >= replaced for given in moves if "reach" in given]
        lists = [step["with"].get("most", 1) for step in about if step["rule"] == "assume_cell"]
        far += [(exact_of(most, "most") or 0) >= cells for most in lists]
        far += [number(given["high"]) - number(given["low"]) >= 1 for given in moves if "low" in given]
        ensure(far != [] and all(far), f"a row moves {brief(each['key'])} further than is assumed")
        scales.append(number(each["variance"]) if "variance" in each else number(each["scale"]) ** 2)
    listed = held.get("scales", [])
    squares = [(exact_of(each, "scales") or Fraction(0)) ** 2 for each in listed]
    ensure(sorted(squares) == sorted(scales), "other noise is listed than the proof draws")
    shown = [each["threshold"] for each in drawn if "threshold" in each]
    ensure(held.get("thresholds", []) == shown, "other thresholds are listed than the proof has")
