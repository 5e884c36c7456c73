"""What is read of a table: the columns that parameters name, or that the statistics of a study do."""

from typing import Any

from ..documents import brief, ensure, text

Table = dict[str, Any]
NAMING = ("column", "columns", "by", "bins")  # parameters that say what is read of a table
STUDY = "study"  # the subject whose parameters list statistics


def check_read(asked: Table, held: Table, columns: Table, steps: list[Table]) -> None:
    """Verify that what is read of a table is declared, and that a study lists what its proof is about."""
    if asked["use"] == STUDY:
        check_study(asked, steps, columns)
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
