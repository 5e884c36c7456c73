"""Later editions of a study: earlier statistics are unchanged; added ones are proved and charged.

An edition names the digest of the certificate that it follows.  The ledger that paid has stored that
certificate and all earlier ones.
"""

import json
from typing import Any

from audits import consistency
from dpaccount.documents import Place, canonical
from dpaccount.errors import InputError
from dpaccount.ledger.ledger import Ledger
from mechanisms.statistics.statistic import SPLITTING, check_names
from mechanisms.table.columns import FILE_WORDS, word

OPENING = "opening"  #: the key, in a stored release, of the secret that keys the data's digest
#: keys of ``[data]`` that all editions share
SAME = ("schema", "file", "id", "rows", "max_rows", "public", "separator", "encoding")
DECLARED = ("columns", "derived", "join")  #: keys of ``[data]`` to which an edition may add members

Document = dict[str, Any]


def kept_before(url: str, digest: str) -> tuple[Document, ...]:
    """Return the stored certificate with this digest and those that it follows, the first edition first.

    Raises `InputError` if the ledger has no such release, or if the checker rejects it.
    """
    documents: list[Document] = []
    with Ledger.open(url) as ledger:
        while digest:
            body = ledger.release_with(digest)
            if body is None:
                raise InputError(
                    f"the ledger kept no release {digest[:19]}…", "give that of a certificate of it"
                )
            why = consistency.refused({k: v for k, v in body.items() if k != OPENING})
            if why is not None:
                raise InputError(f"the ledger kept a release that is not valid ({why})", "see ledger verify")
            documents.append(body)
            digest = body["claim"].get("follows", "")
    return tuple(reversed(documents))


def added(place: Place, written: Document, earlier: tuple[Document, ...]) -> list[Any]:
    """Return the statistics that a study adds to those that earlier editions released.

    `place` has the study as a claim, and `written` the same as in a certificate.  Raises `InputError`
    for an edition that changes or leaves out what was published, is of other data, or adds nothing.
    """
    last, now = earlier[-1]["claim"], json.loads(canonical(written))
    edition = place.child("edition").value
    identity = last["name"], last["subject"]["use"], last.get("edition", 1) + 1
    name = now["name"] if edition == 2 else f"{now['name']}.{edition - 1}"
    if identity != (name, now["subject"]["use"], edition):
        raise place.wrong(
            f"it follows edition {identity[2] - 1} of {last['name']}", "give the digest of the one before"
        )
    data, before = now["data"], last["data"]
    changed = [
        f"guarantee.{key}" for key in ("unit", "relation") if now["guarantee"][key] != last["guarantee"][key]
    ]
    said = {key: word(place.child("data"), key) for key in FILE_WORDS}
    changed += [f"data.{said.get(key, key)}" for key in SAME if data.get(key) != before.get(key)]
    for key in DECLARED:
        others = [name for name, each in before.get(key, {}).items() if data.get(key, {}).get(name) != each]
        changed += [f"data.{key}.{name}" for name in others]
    if changed:
        raise place.wrong(
            f"edition {edition} changes {changed[0]}", f"leave it as edition {edition - 1} has it"
        )
    by_name = {each.get("name"): each for each in now["subject"]["parameters"]["statistic"]}
    released = [one for each in earlier for one in each["claim"]["subject"]["parameters"]["statistic"]]
    for one in released:
        if one["name"] not in by_name or _bare(by_name[one["name"]]) != _bare(one):
            what = "changes" if one["name"] in by_name else "leaves out"
            raise place.wrong(
                f"edition {edition} {what} {one['name']!r}, which is published", "list it as it was"
            )
    check_names([str(name) for name in by_name])
    known = {one["name"] for one in released}
    listed = place.value["subject"]["parameters"]["statistic"]
    new = [each for each in listed if each.get("name") not in known]
    if not new or len(listed) > len(by_name):
        raise place.wrong(f"edition {edition} adds no statistic", "add one, each with a name of its own")
    return new


def _bare(statistic: Document) -> Document:
    return {key: value for key, value in statistic.items() if key not in SPLITTING}
