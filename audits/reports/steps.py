"""A step of a proof as lines of text: its parameters, and its conclusion by the names of its fields."""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args

from dpaccount.proof import Judgement

FIELDS = {kind.__name__: [each.name for each in fields(kind)] for kind in get_args(Judgement)}
MAX_CHARACTERS = 300  #: of a value on a page; all of it is in the certificate


def step_text(step: Mapping[str, Any]) -> str:
    """Return a step's parameters and its conclusion, one value a line; long values are cut."""
    kind, *values = step["gives"]
    names = FIELDS.get(kind, ())
    if len(names) != len(values):  # a judgement of another version
        names = [str(number) for number in range(1, len(values) + 1)]
    given = [f"{name}: {_written(value)}" for name, value in step["with"].items()]
    concluded = [
        f"  {name}: {_written(value)}" for name, value in zip(names, values, strict=True) if value is not None
    ]
    return "\n".join([*given, f"conclusion: {kind}", *concluded])


def _written(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]} … (in full in the certificate)"
