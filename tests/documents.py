"""Documents that the program writes or prints, held against its published schemas by an independent validator."""

import functools
import json

import jsonschema

from dpaccount.schemas.catalogue import schemas

LEDGER = {
    "init": "ledger",
    "show": "ledger",
    "charge": "ledger-charge",
    "verify": "ledger-verify",
    "repair": "ledger-repair",
}
LEDGER |= {"log": "ledger-log", "import": "ledger"}


@functools.cache
def validator(name):
    """Return the validator of a kind of document, whose schema is valid itself."""
    schema = schemas()[name]
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def wrong(name, document):
    """Return what an independent validator finds wrong."""
    return [f"{error.json_path}: {error.message[:200]}" for error in validator(name).iter_errors(document)]


def kind_of(document, words=()):
    """Return the kind of a document by what it says of itself, or by the command that printed it."""
    if isinstance(document, dict) and "schema" in document:
        return document["schema"].split("/")[1]
    return LEDGER.get(words[1], words[1]) if words[:1] == ["ledger"] else words[0]


def follows_its_schema(words, text):
    """Refuse an answer with --json that is not what its schema says."""
    document = json.loads(text)
    each = document if words[0] == "claims" and isinstance(document, list) else [document]
    for one in each:
        name = kind_of(one, words)
        assert name in schemas(), (
            f"{words} prints JSON without a schema: add {name} to ANSWERS of dpaccount/schemas"
        )
        assert not wrong(name, one), (words, wrong(name, one))
