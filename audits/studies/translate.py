"""A study of the first schema in the words of the second one, and what then means something else."""

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from audits.claim import claim_at
from dpaccount.documents import parse_toml, read_bytes
from dpaccount.errors import InputError
from dpaccount.schemas.claim import FIRST_STUDY_SCHEMA, STUDY_SCHEMA
from mechanisms.statistics.joins import JoinedColumn
from mechanisms.table.columns import Column

SCHEMA_LINE = re.compile(rf"(?m)^(\ufeff?\s*schema\s*=\s*)([\"']){re.escape(FIRST_STUDY_SCHEMA)}\2")


def translated(path: Path) -> tuple[str, list[str]]:
    """Return a study's file in schema 2, and a sentence for each change of its meaning.

    Raises `InputError` for another schema, for an edition, which keeps that of the study that it follows, and
    for what schema 2 refuses.
    """
    raw = read_bytes(path)
    place = parse_toml(raw, str(path))
    if "follows" in place.value:
        raise InputError(
            "an edition keeps the schema of the study that it follows", "begin another study", path
        )
    table = claim_at(place, path).table
    if place.value["schema"] != FIRST_STUDY_SCHEMA or table is None:
        right = f'give a file with schema = "{FIRST_STUDY_SCHEMA}"'
        raise InputError("this is no study of schema 1", right, path)
    text = raw.decode("utf-8")
    if len(SCHEMA_LINE.findall(text)) != 1:
        right = f'write schema = "{FIRST_STUDY_SCHEMA}" on a line, once'
        raise InputError("the line of the schema is not found", right, path)
    claim_at(replace(place, value={**place.value, "schema": STUDY_SCHEMA}), path)
    columns = (*table.columns, *(column for column in table.derived if isinstance(column, JoinedColumn)))
    changes = [change for column in columns if (change := _change(column)) is not None]
    if any(column.kind == "category" for column in table.columns):
        changes.append("a category's cell is compared as text, then as a number: 2.50 is 2.5")
    if table.identity is not None:
        changes.append(
            f"which {table.max_rows} rows of a unit count, where it has more: by a digest of their cells,"
            " no longer by their order in the file"
        )
    return SCHEMA_LINE.sub(rf"\g<1>\g<2>{STUDY_SCHEMA}\g<2>", text), changes


def _change(column: Column) -> str | None:
    low = column.low or Fraction(0)
    if column.missing is not None:
        return None
    if column.kind == "category":
        before = "as other" if column.other else "as none of the values"
    elif column.kind == "boolean":
        before = "as false"
    else:
        before = "as an empty text" if column.kind == "text" else f"as {column.written(low)}"
    return f"{column.name}: a missing cell is left out; before it counted {before}"
