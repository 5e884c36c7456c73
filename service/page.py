"""The OpenAPI document of the service, and the page that describes its requests from it."""

from html import escape
from typing import Any

import msgspec

from audits.reports.review import report
from dpaccount import __version__
from dpaccount.ledger.journal.log import log
from dpaccount.ledger.ledger import Ledger
from service.desk import ASKED, Asked, ServedCharge

OTHERS = {"log": log, "report": report}  #: what is asked of a ledger and is no method of `Ledger`


class ErrorAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why not, in one sentence; `charge` is what was refused."""

    error: str
    kind: str | None = None
    charge: ServedCharge | None = None


def openapi() -> Any:
    """Return the document: requests by the methods of `Ledger`, structures of members and answers."""
    kinds = [*(one.members for one in ASKED), *(one.answer for one in ASKED), ErrorAnswer]
    wholes, parts = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    paths: dict[str, Any] = {}
    for place, one in enumerate(ASKED):
        path = f"/v1/{one.path.replace(':path', '')}"
        asked = parts[wholes[place]["$ref"].rpartition("/")[2]]
        paths.setdefault(path, {})[one.method.lower()] = _operation(
            one, asked, wholes[place], wholes[len(ASKED) + place], wholes[-1]
        )
    return {
        "openapi": "3.1.0",
        "info": {"title": "dpaccount serve", "version": __version__},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": parts,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(one: Asked, asked: Any, whole: Any, answer: Any, error: Any) -> Any:
    says = (OTHERS.get(one.call) or getattr(Ledger, one.call)).__doc__ or ""
    parameters = [{"name": "key", "in": "path", "required": True, "schema": {"type": "string"}}]
    told: Any = {"operationId": one.call, "summary": says.partition("\n")[0].replace("`", "")}
    told["parameters"] = parameters if "{" in one.path else []
    if one.method == "GET":
        needed = asked.get("required", [])
        told["parameters"] += [
            {"name": name, "in": "query", "required": name in needed, "schema": schema}
            for name, schema in asked["properties"].items()
        ]
    else:
        told["requestBody"] = {"required": True, "content": {"application/json": {"schema": whole}}}
    answers = {"200": ("done", answer), "default": ("not done", error)}
    told["responses"] = {
        status: {"description": text, "content": {"application/json": {"schema": schema}}}
        for status, (text, schema) in answers.items()
    }
    return told


def page(document: Any) -> str:
    """Return the page."""
    lines = ["<!doctype html><html lang=en><meta charset=utf-8><title>dpaccount serve</title>"]
    lines += [
        "<h1>Requests</h1><p>With <code>Authorization: Bearer TOKEN</code>. <a href=/openapi.json>OpenAPI</a>"
    ]
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            members = {one["name"]: one["required"] for one in told["parameters"]}
            if "requestBody" in told:
                name = told["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
                asked = document["components"]["schemas"][name]
                members |= {each: each in asked.get("required", []) for each in asked["properties"]}
            words = " ".join(name if needed else f"[{name}]" for name, needed in members.items())
            lines.append(
                f"<h2>{method.upper()} {escape(path)}</h2><p>{escape(told['summary'])}<p><code>{words}</code>"
            )
    return "\n".join(lines)
