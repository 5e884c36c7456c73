"""JSON schemas (draft 2020-12) of the files that are written, and of what is printed with ``--json``."""

import json
from importlib.resources import files
from typing import Any

Schema = dict[str, Any]
PARTS = ("exact", "bound", "enclosure", "digest", "step", "amounts", "subject")  #: none a document


def schemas() -> dict[str, Schema]:
    """Return the schema of every kind of document, each complete by itself."""
    folder = files("dpaccount.schemas")
    answers = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    certificate = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    parts = {name: part for name, part in answers["$defs"].items() if name in PARTS}
    found = {name: _complete(name, answers, parts) for name in answers["$defs"] if name not in PARTS}
    return {"certificate": certificate, **found}


def _complete(name: str, answers: Schema, parts: Schema) -> Schema:
    return {
        "$schema": answers["$schema"],
        "$id": f"dpaccount/{name}",
        **answers["$defs"][name],
        "$defs": parts,
    }


def printed(schema: Schema) -> str:
    """Return a schema as it is printed."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
