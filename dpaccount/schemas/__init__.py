"""JSON schemas (draft 2020-12) of the files that are written, and of what is printed with ``--json``."""

import json
from typing import Any

from msgspec.json import schema_components

from dpaccount.schemas.answers import ANSWERS
from dpaccount.schemas.certificate import Certificate
from dpaccount.schemas.claim import ClaimFile
from dpaccount.schemas.experiment import ExperimentFile
from dpaccount.schemas.study import StudyFile, StudyPlan, StudyRelease

Schema = dict[str, Any]
DRAFT = "https://json-schema.org/draft/2020-12/schema"
FILES = {
    "certificate": Certificate,
    "claim": ClaimFile,
    "experiment": ExperimentFile,
    "study": StudyFile,
    "study-plan": StudyPlan,
    "study-release": StudyRelease,
}


def schemas() -> dict[str, Schema]:
    """Return the schema of every kind of document, each complete by itself."""
    files = {name: _made_of(f"{name}/1", kind) for name, kind in FILES.items()}
    return {**files, **{name: _made_of(name, kind) for name, kind in ANSWERS.items()}}


def _made_of(name: str, kind: Any) -> Schema:
    """Return the schema of a structure, or of any of several."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    wholes, parts = schema_components(kinds)
    schema: Schema = {"anyOf": list(wholes)} if len(wholes) > 1 else wholes[0]
    if "$ref" in schema:  # the structure itself, which no part refers to
        schema = {**parts.pop(schema.pop("$ref").rpartition("/")[2]), **schema}
    return {"$schema": DRAFT, "$id": f"dpaccount/{name}", **schema, "$defs": parts}


def printed(schema: Schema) -> str:
    """Return a schema as it is printed."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
