"""JSON schemas (draft 2020-12) of the files that are written, and of what is printed with ``--json``."""

import json
from importlib.resources import files
from typing import Any

from msgspec.json import schema_components

from dpaccount.schemas.certificate import Certificate
from dpaccount.schemas.claim import ClaimFile
from dpaccount.schemas.experiment import ExperimentFile
from dpaccount.schemas.study import StudyFile, StudyPlan, StudyRelease

Schema = dict[str, Any]
DRAFT = "https://json-schema.org/draft/2020-12/schema"
#: none a document
PARTS = ("exact", "bound", "enclosure", "digest", "step", "amounts", "subject", "confirmed")
STRUCTURES = {
    "certificate": Certificate,
    "claim": ClaimFile,
    "experiment": ExperimentFile,
    "study": StudyFile,
    "study-plan": StudyPlan,
    "study-release": StudyRelease,
}


def schemas() -> dict[str, Schema]:
    """Return the schema of every kind of document, each complete by itself."""
    text = (files("dpaccount.schemas") / "answers.json").read_text(encoding="utf-8")
    answers = json.loads(text)["$defs"]
    parts = {name: part for name, part in answers.items() if name in PARTS}
    made = {name: _made_of(name, kind) for name, kind in STRUCTURES.items()}
    whole = answers.keys() - parts.keys()
    return {**made, **{name: _complete(name, answers[name], parts) for name in sorted(whole)}}


def _made_of(name: str, kind: type) -> Schema:
    _, parts = schema_components([kind])
    return _complete(f"{name}/1", parts.pop(kind.__name__), parts)


def _complete(name: str, schema: Schema, parts: dict[str, Schema]) -> Schema:
    return {"$schema": DRAFT, "$id": f"dpaccount/{name}", **schema, "$defs": parts}


def printed(schema: Schema) -> str:
    """Return a schema as it is printed."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
