"""JSON schemas (draft 2020-12) of the files that are written, and of what is printed with ``--json``."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final

from msgspec.json import schema_components

from dpaccount.extensions import SCHEMAS, loaded, warn
from dpaccount.schemas import costs, ledgers, results
from dpaccount.schemas.certificate import Certificate
from dpaccount.schemas.claim import ClaimFile, FirstStudyFile, StudyFile, StudyPlan, StudyRelease
from dpaccount.schemas.fields import one_of

Schema = dict[str, Any]
DRAFT = "https://json-schema.org/draft/2020-12/schema"
FILES: Final[Mapping[str, Any]] = {
    "certificate/1": Certificate,
    "claim/1": ClaimFile,
    "study/2": (StudyFile, FirstStudyFile),
    "study-plan/1": StudyPlan,
    "study-release/1": StudyRelease,
}
#: structures by the kind of document; one of several where there is a tuple
ANSWERS: Final[dict[str, Any]] = {
    "account": costs.Account,
    "account-certificate": costs.AccountCertificate,
    "audit": results.AuditAnswer,
    "calibration": Annotated[costs.CalibrationAnswer, one_of("event", "at")],
    "check": results.Check,
    "derivation": results.Derivation,
    "diff": results.Diff,
    "dp-event": costs.ForeignPlan,
    "events": costs.EventsFile,
    "kept-work": results.KeptWork,
    "ledger": ledgers.LedgerAnswer,
    "ledger-charge": ledgers.ChargeAnswer,
    "ledger-checkpoint": ledgers.Checkpoint,
    "ledger-export": (ledgers.ExportHead, ledgers.ExportedEntry),
    "ledger-log": list[ledgers.LoggedEntry],
    "ledger-repair": ledgers.Repair,
    "ledger-report": ledgers.LedgerReport,
    "ledger-verify": ledgers.Verification,
    "notification": ledgers.Notification,
    "one-run-certificate": results.OneRunCertificate,
    "release": results.ReleaseAnswer,
    "sensitivity": results.SensitivityAnswer,
    "sgd": (costs.SgdRun, costs.CorrelatedRun),
    "signature": results.SignedMessage,
    "subjects": (results.DescribedEntry, list[results.DescribedEntry]),
    "trace": results.Trace,
}


@cache
def schemas() -> dict[str, Schema]:
    """Return the schema of every kind of document, each complete by itself.

    That of a file is named with its version; an entry point of another package is named in the same way.
    """
    kinds = {**FILES, **ANSWERS}
    made = {name.partition("/")[0]: _made_of(name, kind) for name, kind in kinds.items()}
    # Ours are made first: no other package may take a name of ours.
    for each, kind in loaded(SCHEMAS):
        try:
            made.setdefault(each.name.partition("/")[0], _made_of(each.name, kind))
        except Exception as error:  # of a structure that anybody wrote
            warn(each.broken(error))
    return made


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
