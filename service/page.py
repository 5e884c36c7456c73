"""The OpenAPI document of the service, and the page that lists its requests."""

from html import escape
from typing import Any

from msgspec import Struct
from msgspec.json import schema_components

from dpaccount import __version__
from dpaccount.ledger.journal import log
from dpaccount.ledger.ledger import Ledger
from service.desk import ASKED, ServedCharge


class ErrorAnswer(Struct, frozen=True, omit_defaults=True):
    """Why not, in one sentence; `charge` is what was refused."""

    error: str
    kind: str | None = None
    charge: ServedCharge | None = None


def openapi() -> Any:
    """Return the document: requests by the methods of `Ledger`, structures of members and answers."""
    kinds = [ErrorAnswer, *(kind for one in ASKED for kind in (one.members, one.answer))]
    (error, *wholes), parts = schema_components(kinds, ref_template="#/components/schemas/{name}")
    paths: dict[str, Any] = {}
    for one, asked, answer in zip(ASKED, wholes[::2], wholes[1::2], strict=True):
        members = parts[asked["$ref"].rpartition("/")[2]]["properties"] if one.method == "GET" else {}
        named = [("key", "path", {"type": "string"})] if "{" in one.path else []
        named += [(name, "query", schema) for name, schema in members.items()]
        says = str(getattr(Ledger, one.call, log.page).__doc__).partition("\n")[0].replace("`", "")
        told = paths.setdefault(f"/v1/{one.path.replace(':path', '')}", {})[one.method.lower()] = {
            "operationId": one.call,
            "summary": says,
            "parameters": [
                {
                    "name": name,
                    "in": place,
                    "required": place == "path" or name in one.needs,
                    "schema": schema,
                }
                for name, place, schema in named
            ],
            "responses": {"200": _content("done", answer), "default": _content("not done", error)},
        }
        if one.method != "GET":
            told["requestBody"] = {"required": True, **_content("what is asked", asked)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "dpaccount serve", "version": __version__},
        "security": [{"token": []}],
        "paths": paths,
        "components": {"schemas": parts, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def page(paths: Any) -> str:
    """Return the page, of the paths of the document."""
    lines = ["<!doctype html><html lang=en><meta charset=utf-8><title>dpaccount serve</title>"]
    lines += ["<p>With <code>Authorization: Bearer TOKEN</code>. <a href=/openapi.json>OpenAPI</a>"]
    for one in ASKED:
        path = f"/v1/{one.path.replace(':path', '')}"
        members = " ".join([*one.needs.split(), *(f"[{name}]" for name in one.may.split())])
        says = escape(paths[path][one.method.lower()]["summary"])
        lines += [f"<h2>{one.method} {path}</h2><p>{says}<p><code>{members}</code>"]
    return "\n".join(lines)


def _content(what: str, schema: Any) -> Any:
    return {"description": what, "content": {"application/json": {"schema": schema}}}
