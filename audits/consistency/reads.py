"""Columns read from a table: those named by parameters, or by the statistics of a study."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

from audits.consistency.draws import check_draws, maybe
from audits.consistency.formulas import check_joined, where_reads
from dpaccount.checker.certificate.shapes import exact_of
from dpaccount.checker.certificate.tables import ORDERED
from dpaccount.checker.documents import Rejected, brief, ensure, integer, text

Table = dict[str, Any]
ONLY_OF = {"q": ("quantile",), "k": ("top",), "bins": ("histogram", "top"), "on": ("regression",)}
ONLY_OF |= {"method": ("median", "quantile")}
SPLITTING = ("share", "accuracy", "epsilon")  # ways to state a statistic's part of the total
LISTED = {"name", "what", "where", "column", "by", *ONLY_OF, *SPLITTING}
COLUMN = {"name", "kind", "low", "high", "values", "other", "missing", "length", "formula", "of", "found"}
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
        read = [own[key] for key in ("column",) if own.get(key) is not None]
        named = [claim["column"]] if "column" in claim else []
        same = [each.get("name") for each in tables_of(read)] == named
        ensure(same, f"{about} has another column than the claim lists")
        for key in ("by", "on"):
            several = tables_of(own.get(key))
            same = [each.get("name") for each in several] == claim.get(key, [])
            ensure(same, f"{about} has another {key} than the claim lists")
            read += several
        for each in tables_of([*read, *tables_of(own.get("declared"))]):
            ensure(is_declared(each, columns), f"{about} describes a column otherwise than it is declared")
        read = [each.get("name") for each in tables_of(own.get("declared"))]
        ensure(read == where_reads(claim.get("where", ""), columns), f"{about} has a where of other columns")
        edges = [[exact_of(edge, "bins") for edge in given.get("bins", [])] for given in (claim, own)]
        ensure(edges[0] == edges[1], f"{about} has other bins than the claim lists")
        for key in ("q", "share", "accuracy", "epsilon"):
            both = [maybe(given.get(key), key) for given in (claim, own)]
            both[0] = Fraction(1) if key == "share" and both[0] is None else both[0]
            ensure(both[0] == both[1], f"{about} has another {key} than the claim lists")


def check_terms(claim: Table, about: str) -> None:
    """Verify that a listed statistic has only what its kind takes, and one part of the total."""
    ensure(claim.keys() <= LISTED, f"{about} lists more than a statistic has")
    right = all(claim["what"] in kinds for key, kinds in ONLY_OF.items() if key in claim)
    ensure(right and len(claim.keys() & set(SPLITTING)) <= 1, f"{about} lists what does not go together")
    ensure(all(maybe(claim[key], key) for key in SPLITTING if key in claim), f"{about} has a part of 0")
    known = claim.get("method", "levels") in ("levels", "exponential")
    ensure(known, f"{about} has an unknown method")
    if claim["what"] == "quantile":
        ensure(0 < (maybe(claim.get("q"), "q") or 0) < 1, f"{about} has no q between 0 and 1")
    if claim["what"] == "top":
        ensure(integer(claim.get("k")) >= 1, f"{about} has no k of 1 or more")
    edges = [float(maybe(edge, "bins") or 0) for edge in claim.get("bins", [])]
    ensure(all(low < high for low, high in pairwise(edges)), f"{about} has bins that do not rise")


def tables_of(value: Any) -> list[Table]:
    """Return a list of tables; rejects anything else."""
    if type(value) is not list or any(type(each) is not dict for each in value):
        raise Rejected("columns are described by a list of tables")
    return value


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
    listed, described = (
        [each.get(key, empty) for key, empty in (("values", []), ("other", False), ("length", None))]
        for each in (claim, own)
    )
    cells = [each.get("missing") for each in (claim, own)]
    if all(type(cell) in (int, float, str) for cell in cells) and own.get("kind") in ORDERED:
        cells = [exact_of(cell, "missing") for cell in cells]
    return same and listed == described and cells[0] == cells[1]
