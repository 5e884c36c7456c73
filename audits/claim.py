"""Claims: the guarantee promised for a subject, with its data and audit settings, read from TOML."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpaccount.documents import Place, canonical, mapped, parse_json, parse_toml, read_bytes
from dpaccount.errors import InputError
from dpaccount.exact import json_number, read_exact
from dpaccount.extensions import PARAMETERS, SUBJECTS, Extension, extension, extensions, home_of
from dpaccount.relation import RELATION_CLASSES, Observer, check_radius, stated
from dpaccount.schemas import claim as tables
from dpaccount.schemas.fields import keys
from mechanisms.statistics.expressions import derived_columns
from mechanisms.statistics.joins import joined_columns
from mechanisms.table.columns import DIALECT, FILE_WORDS, Table, word
from mechanisms.table.reading import Remote, Source, check_dialect, one_file

NAME = re.compile(tables.CLAIM_NAME, re.ASCII)
MODELS = tuple(Observer)
STUDY = "noisy-statistics"  #: the subject of a study
STUDY_KEYS = ("derived", "join", "schema")  #: keys of ``[data]`` that only a study has
STUDY_SCHEMAS = (tables.FIRST_STUDY_SCHEMA, tables.STUDY_SCHEMA)
STUDY_TRIALS = 2000  #: default runs of the attack on a study
NO_DATA = (None, None, False, None)
RELATIONS = tuple(RELATION_CLASSES)


@dataclass(frozen=True)
class Guarantee:
    """The promised (ε, δ) for neighbouring datasets under `relation`; `model` is the observer."""

    model: str
    unit: str
    relation: str
    epsilon: Fraction
    delta: Fraction
    radius: Fraction | None

    @property
    def neighbours(self) -> str:
        """Return the adjacency relation as proofs write it, with its radius if it has one."""
        return str(stated(self.relation, self.radius))


@dataclass(frozen=True)
class AuditPlan:
    """Attack settings: runs a dataset, family-wise confidence, seconds for user code, seed.

    `refuse`: nothing is proved of code with lines that no test covers.
    """

    trials: int = 20_000
    confidence: Fraction = Fraction(19, 20)
    seconds: Fraction = Fraction(60)
    seed: int = 1
    refuse: bool = False


@dataclass(frozen=True)
class Claim:
    """A parsed claim; `written` is the source document with numbers as in JSON."""

    path: Path
    name: str
    guarantee: Guarantee
    use: str
    parameters: Place | None
    data_shape: Place | None
    examples: Path | None  #: a public or synthetic table, whose neighbours are tested too
    data_file: Source | None
    ledger: str | None
    public_data: bool  #: data declared public, so runs may be evaluated
    table: Table | None  #: the table that the claim declares for its data file
    audit: AuditPlan
    accepted: frozenset[str]  #: assumptions without a test that the claim accepts, as "rule query"
    written: dict[str, Any]
    because: str | None = None  #: the reason for the chosen noise, if the file left it open
    scope: str | None = None  #: the ledger's scope to which a release is charged
    #: the editions that a study follows, with the certificates that the ledger kept
    earlier: tuple[tuple["Claim", dict[str, Any]], ...] = ()

    def paid_by(self, ledger: str | None) -> str | None:
        """Return the ledger to charge; raises `InputError` if the claim names one, too."""
        if self.ledger is not None and ledger is not None:
            raise InputError(f"{self.path} names the ledger that pays", "leave --ledger out")
        return ledger if self.ledger is None else self.ledger

    def has_input(self, path: Path) -> bool:
        """Return whether a path is a file that the claim reads, its ledger, or within its data."""
        known = [self.path, self.data_file, self.examples]
        known += [self.path.parent / name for name in _files_in(self.written) if "://" not in name]
        if self.ledger is not None and self.ledger.startswith("sqlite:///"):
            known.append(Path(self.ledger.removeprefix("sqlite:///")))
        return any(_is_within(path, each) for each in known if isinstance(each, Path))

    def check_in_force(self) -> None:
        """Raise `InputError` if the claim has expired (its last day, in UTC, is past)."""
        until = self.written.get("governance", {}).get("valid_until")
        if until is not None and date.fromisoformat(until[:10]) < datetime.now(UTC).date():
            raise InputError(
                f"the claim is valid until {until[:10]}, which is past", "give a later day", self.path
            )


def output_folder(name: str, out: str | Path | None = None) -> Path:
    """Return the folder of a claim's certificate: `out`, or by default certificates/NAME."""
    return Path("certificates") / name if out is None else Path(out)


def read_claim(path: Path) -> Claim:
    """Return the claim in a TOML file; raises `InputError` naming what is unknown or out of range."""
    place = parse_toml(read_bytes(path), str(path))
    claim = claim_at(place, path)
    registered = _registered(claim.use)
    # a user's own class is code that only a worker loads
    choose = getattr(registered.load(), "completed", None) if registered and registered.ours else None
    if choose is None:
        return claim
    subject, because = choose(claim)
    chosen = claim_at(Place({**place.value, "subject": subject}, place.file, toml=True), claim.path)
    return replace(chosen, because=because)


def _registered(use: str) -> Extension | None:
    """Return the entry point of a subject's name, if it is none of a user's own code or of a file of ours."""
    if NAME.fullmatch(use) is None or "." in use or home_of(use) is not None:
        return None
    return extension(SUBJECTS, use)


def spelled(use: str) -> str:
    """Return a subject's name, as ``package.module:name`` where another distribution registers it.

    The claim then names the package that the code is from, and the code is treated as a user's own.
    """
    registered = _registered(use)
    return use if registered is None or registered.ours else registered.value


def claim_at(place: Place, path: Path, ledger_url: str | None = None) -> Claim:
    """Return the claim in a parsed document; `ledger_url` is the full URL of its ledger, if known."""
    lists = isinstance(place.value, dict) and place.value.get("schema") in STUDY_SCHEMAS
    if (
        not lists and isinstance(place.value, dict) and "schema" in place.value
    ):  # before what another one lacks
        place.child("schema").text(tables.SCHEMA, *STUDY_SCHEMAS)
    place = _completed(_of_study(of_query(_with_schema(place), path)) if lists else place, path)
    needed, optional = keys(tables.ClaimFile)
    top = place.table(("schema", *needed), optional)
    top["schema"].text(tables.SCHEMA)
    name = top["name"].text()
    if NAME.fullmatch(name) is None:
        raise top["name"].wrong(f"the name {name[:70]!r} is not allowed", f"names match {NAME.pattern}")
    subject = top["subject"].table(*keys(tables.SubjectTable))
    data = top["data"].value if "data" in top else {}
    more = STUDY_KEYS if subject["use"].value == STUDY else ()
    file, ledger, public, table = _data(top["data"], path, more) if "data" in top else NO_DATA
    for texts in ("governance", "assume"):
        if texts in top:
            _check_texts(top[texts])
    if "governance" in top and "valid_until" in top["governance"].value:
        _check_day(top["governance"].child("valid_until"))
    claim = Claim(
        path=path,
        name=name,
        guarantee=_guarantee(top["guarantee"]),
        use=subject["use"].text(),
        parameters=replace(subject["parameters"], at="") if lists else subject.get("parameters"),
        data_shape=subject.get("data"),
        examples=inside(path.parent, subject["examples"]) if "examples" in subject else None,
        data_file=file,
        ledger=ledger,
        public_data=public,
        table=table,
        audit=_audit(top["audit"]) if "audit" in top else AuditPlan(),
        accepted=frozenset(top["assume"].value if "assume" in top else ()),
        written=_written(place.value),
        scope=top["data"].child("scope").text() if "scope" in data else None,
    )
    if "edition" not in top and "follows" not in top:
        return claim
    if claim.use != STUDY or ledger is None or not {"edition", "follows"} <= top.keys():
        raise place.wrong("a later edition is of a study that was released", "give both edition and follows")
    top["edition"].integer(2, 1000)
    paying = replace(claim, ledger=ledger_url or claim.ledger)
    return _continued(paying, place, top["follows"]) if lists else claim


def _continued(claim: Claim, place: Place, follows: Place) -> Claim:
    """Return a later edition of a study: a claim about the statistics that it adds."""
    from audits.editions import added, kept_before  # few claims need a ledger

    with follows.placing():
        documents = kept_before(str(claim.ledger), follows.text())
    new = added(place, claim.written, documents)
    parameters = {**place.value["subject"]["parameters"], "statistic": new}
    name, subject = f"{claim.name}.{place.value['edition']}", {"use": STUDY, "parameters": parameters}
    later = claim_at(replace(place, value={**place.value, "name": name, "subject": subject}), claim.path)
    before = [parse_json(canonical(each["claim"]), str(claim.path)) for each in documents]
    claims = [claim_at(each, claim.path) for each in before]
    bare, first, table = later.parameters and replace(later.parameters, at=""), claims[0].table, later.table
    if table is not None and first is not None:  # rows are chosen by the columns of the first
        table = replace(table, first=first.names)
    earlier = tuple(zip(claims, documents, strict=True))
    return replace(later, parameters=bare, table=table, earlier=earlier)


def of_query(place: Place, path: Path) -> Place:
    """Return a study with the statistics and derived columns that a SELECT in its ``[data]`` asks for."""
    data = place.value.get("data")
    if not isinstance(data, dict) or "query" not in data:
        return place
    from mechanisms.table.database import names_of

    try:
        from mechanisms.statistics.select import compiled
    except ModuleNotFoundError as error:
        raise InputError(f"{error.name} reads the query", "pip install 'dpaccount[sql]'", path) from None

    if "statistic" in place.value:
        raise place.child("statistic").wrong("data has a query, too", "give one of them")
    bare = replace(place, value={**place.value, "data": {k: v for k, v in data.items() if k != "query"}})
    # A column's cells are those of the study's schema.
    read = bare if "schema" in data else _with_schema(bare)
    file, *_, table = _data(_completed(read, path).child("data"), path, STUDY_KEYS)
    query = place.child("data").child("query")
    if table is None:
        raise query.wrong("no column is declared", "declare those of the query in [data.columns]")
    with query.placing():
        asked = compiled(query.text(), table, (*names_of(file), str(place.value.get("name", ""))))
    derived = {**data.get("derived", {}), **asked.derived}
    kept = {**bare.value["data"], **({"derived": derived} if derived else {})}
    return replace(place, value={**place.value, "statistic": asked.statistics, "data": kept})


def _with_schema(place: Place) -> Place:
    """Return a study that says in its ``[data]``, as certificates do, which meaning its cells have."""
    data = place.value.get("data")
    if isinstance(data, dict) and "schema" in data:
        key = place.child("data").child("schema")
        raise key.wrong("the key 'schema' is unknown", "it belongs at the top")
    if place.value["schema"] == tables.FIRST_STUDY_SCHEMA or not isinstance(data, dict):
        return place
    return replace(place, value={**place.value, "data": {**data, "schema": 2}})


def _of_study(place: Place) -> Place:
    """Return a study's document as that of a claim about `STUDY`, with the statistics as parameters."""
    needed, optional = keys(tables.StudyFile)
    top = place.table(("schema", *needed), optional)
    if "statistic" not in top or not list(top["statistic"].items()):
        raise place.wrong("no statistic", "give one [[statistic]] or more, or a query in [data]")
    kept = {key: value for key, value in place.value.items() if key not in ("schema", "statistic", "law")}
    if isinstance(kept["guarantee"], dict):
        kept["guarantee"] = {"model": "central", **kept["guarantee"]}
    parameters = {key: place.value[key] for key in ("statistic", "law") if key in place.value}
    subject = {"use": STUDY, "parameters": parameters}
    plan = {"audit": {"trials": STUDY_TRIALS}} if "audit" not in kept else {}
    return Place({"schema": tables.SCHEMA, **kept, "subject": subject, **plan}, place.file, toml=True)


def _completed(place: Place, path: Path) -> Place:
    """Return a claim with the digests of its public files.

    Raises `InputError` if a public file is the private one, or has another digest than the claim's.
    """
    if not isinstance(place.value, dict):
        return place
    # With the digest in the claim, another public file makes another claim.
    value = dict(place.value)
    if isinstance(value.get("subject"), dict):
        value["subject"] = _completed_subject(place.child("subject"), path, _private(place, path))
    if isinstance(value.get("data"), dict) and isinstance(value["data"].get("join"), dict):
        joined, private = place.child("data").child("join"), _private(place, path)
        members = {name: _joined(joined.child(name), path, private) for name in joined.value}
        value["data"] = {**value["data"], "join": members}
    return replace(place, value=value)


def _completed_subject(subject: Place, path: Path, private: Source | None) -> dict[str, Any]:
    """Return the table of a subject, with the digests of the files that its parameters name."""
    completed = dict(subject.value)
    if isinstance(completed.get("use"), str):
        completed["use"] = spelled(completed["use"])
    parameters = completed.get("parameters")
    for key, given in parameters.items() if isinstance(parameters, dict) else ():
        # a user's own class may have another parameter of such a name
        registered = extension(PARAMETERS, key) if isinstance(given, dict) else None
        if registered is not None and (registered.ours or _beside(registered, completed["use"])):
            digested = _with_digests(registered.load(), subject.child("parameters").child(key), path, private)
            completed["parameters"] = {**completed["parameters"], key: digested}
    return completed


def _beside(parameter: Extension, use: object) -> bool:
    """Return whether a parameter's package has the subject too, so that its code is meant."""
    mine = (each for each in extensions(SUBJECTS) if each.distribution == parameter.distribution)
    return any(each.value == use for each in mine)


def _joined(join: Place, path: Path, private: Source | None) -> dict[str, Any]:
    """Return the table of a join with the digest of its public file."""
    given = join.table(*keys(tables.JoinTable))
    source = _source(path.parent, given["file"])
    if private is not None and _is_within(source, private):
        raise given["file"].wrong("this is the data file itself", "name a public table")
    digest = one_file(source).digest()
    if "digest" in given and given["digest"].text() != digest:
        raise given["digest"].wrong(f"the table's digest is {digest}", "give that one, or the table meant")
    return {**join.value, "digest": digest}


def _with_digests(kind: Any, given: Place, path: Path, private: Source | None) -> Any:
    """Return a parameter that is a table with the digests of its public files."""
    for named in kind.files_named(given):
        if private is not None and _is_within(inside(path.parent, named), private):
            raise named.wrong("this is the data file itself", "name a file of public points")
    return kind.as_claimed(given)


def _private(place: Place, path: Path) -> Source | None:
    """Return the file or folder of a claim's data, if it names one."""
    data = place.value.get("data") if isinstance(place.value, dict) else None
    named = isinstance(data, dict) and isinstance(data.get("file"), str)
    return _source(path.parent, place.child("data").child("file")) if named else None


def _files_in(value: Any) -> Iterator[str]:
    """Yield every `file` in a claim as it is written."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        if key == "file" and isinstance(inner, str):
            yield inner
        yield from _files_in(inner)


def _is_within(source: Source, private: Source) -> bool:
    """Return whether a file is the private file, in the private folder at any depth, or a link to it."""
    if isinstance(source, Remote) or isinstance(private, Remote):
        return f"{source}/".startswith(f"{private}".rstrip("/") + "/") and type(source) is type(private)
    if private.resolve() in (source.resolve(), *source.resolve().parents):
        return True
    known = private.rglob("*") if private.is_dir() else [private]
    return source.exists() and any(each.exists() and source.samefile(each) for each in known)


def _guarantee(place: Place) -> Guarantee:
    table = place.table(*keys(tables.GuaranteeTable))
    relation = table["relation"].text(*RELATIONS)
    with place.placing():
        check_radius(relation, given="radius" in table)
    return Guarantee(
        model=table["model"].text(*MODELS),
        unit=table["unit"].text(),
        relation=relation,
        epsilon=table["epsilon"].real(least=0),
        delta=table["delta"].real(least=0, most=1) if "delta" in table else Fraction(0),
        radius=table["radius"].positive() if "radius" in table else None,
    )


def _audit(place: Place) -> AuditPlan:
    table = place.table(*keys(tables.AuditTable))
    plan = AuditPlan()
    confidence = table["confidence"].real(0, 1) if "confidence" in table else plan.confidence
    if not 0 < confidence < 1:
        raise table["confidence"].wrong("the confidence must lie strictly between 0 and 1", "0.95 is usual")
    return AuditPlan(
        trials=table["trials"].integer(10, 10**7) if "trials" in table else plan.trials,
        confidence=confidence,
        seconds=table["seconds"].positive() if "seconds" in table else plan.seconds,
        seed=table["seed"].integer(0, 2**63 - 1) if "seed" in table else plan.seed,
        refuse="uncovered" in table and table["uncovered"].text("name", "refuse") == "refuse",
    )


def _data(
    place: Place, claim: Path, more: tuple[str, ...]
) -> tuple[Source | None, str | None, bool, Table | None]:
    """Return the file, the ledger, whether the file is public, and the declared table, if any.

    `more` are the keys that a study may have there.  A claim about all tables with its columns names neither
    file nor ledger: `dpaccount curate` gets them.
    """
    declared = isinstance(place.value, dict) and "columns" in place.value
    about_any = declared and not {"file", "ledger", "scope"} & place.value.keys()
    needed = () if about_any else ("file", "ledger")
    words = [word(place, kept) for kept in FILE_WORDS] if declared else []
    given = place.table(needed, ("scope", "public", "columns", *(DIALECT if declared else ()), *words, *more))
    public = "public" in given and given["public"].flag()
    table = None
    if declared:
        from mechanisms.table.spelling import read_file_table  # `list` reads no claim

        table = read_file_table(place)
    if table is not None and "join" in given:
        source_of = lambda file: _source(claim.parent, file)  # noqa: E731
        table = replace(table, derived=joined_columns(given["join"], table.columns, source_of))
    if table is not None and "derived" in given:
        derived = derived_columns(given["derived"], table.every)
        table = replace(table, derived=(*table.derived, *derived))
    if about_any:
        return None, None, public, table
    file = _source(claim.parent, given["file"])
    if table is not None:
        check_dialect(one_file(file), table.dialect)
    url = given["ledger"].text()
    if url.startswith("sqlite:///"):
        written = Place(url.removeprefix("sqlite:///"), place.file, given["ledger"].at, toml=True)
        url = f"sqlite:///{inside(claim.parent, written).absolute()}"  # the working directory may change
    return file, url, public, table


def _source(folder: Path, place: Place) -> Source:
    """Return what a URL at `place` names, else the path inside of `folder`."""
    text = place.text()
    if "://" not in text:
        return inside(folder, place)
    from mechanisms.table.database import named_by  # `list` reads no claim

    with place.placing():
        return named_by(text, folder)


#: Keys of a claim that hold real numbers, which may be written as text.
REAL = {"guarantee": ("epsilon", "delta", "radius"), "audit": ("confidence", "seconds")}


def _written(claim: dict[str, Any]) -> Any:
    """Return a valid claim for its certificate: all numbers as in JSON, and the password left out."""
    numbers = {name: _numbers_in(claim[name], keys) for name, keys in REAL.items() if name in claim}
    data = claim.get("data")
    if isinstance(data, dict) and "columns" in data:
        columns = {
            name: column if column["type"] == "date" else _numbers_in(column, ("low", "high"))
            for name, column in data["columns"].items()
        }
        kept = {said: each for each, said in FILE_WORDS.items()}
        data = {kept.get(key, key): value for key, value in data.items()} | {"columns": columns}
    if isinstance(data, dict) and "ledger" in data:
        data = {**data, "ledger": _without_secrets(str(data["ledger"]))}
    return as_written({**claim, **numbers, **({} if data is None else {"data": data})})


def _without_secrets(url: str) -> str:
    """Return a ledger's URL without a password, and without what is not where a URL has it: it may be one."""
    from dpaccount.ledger.stores.place import SCHEMES  # most claims name no ledger

    # A password may stand where none belongs, so that what does not parse is left out whole.
    scheme, separator, rest = url.partition("://")
    if scheme not in SCHEMES:
        return url if scheme == "sqlite" or (not separator and url.endswith(".db")) else "***"
    login, at, where = rest.rpartition("@")
    user, colon, _ = login.partition(":")
    place, mark, query = where.partition("?")
    if not _USER.fullmatch(user) or re.search("[/?#]", login) or not _PLACE.fullmatch(place):
        return f"{scheme}://***"
    known = [pair if _OPTION.fullmatch(pair) else "***" for pair in query.split("&")]
    return f"{scheme}://{user}{':***' if colon else ''}{at}{place}{mark}{'&'.join(known)}"


_PLACE = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[\w.%-]*)(:[0-9]+)?/[\w.%-]*", re.ASCII)  #: host, port, database
_USER = re.compile("([\\w.-]|%40)*", re.ASCII)
_OPTION = re.compile(r"(ledger|witness|ssl(mode|rootcert|cert|key))=[\w./%+-]*", re.ASCII)


def _numbers_in(table: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    texts = {key: table[key] for key in keys if isinstance(table.get(key), str)}
    return {**table, **{key: read_exact(text) for key, text in texts.items()}}


def inside(folder: Path, place: Place) -> Path:
    """Return the path written at `place`, relative to `folder`; refuses paths outside of it."""
    text = place.text()
    if not text or "\0" in text:
        raise place.wrong("an empty path", f"name a file inside {folder}")
    path = (folder / text).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise place.wrong(f"{text[:60]!r} leaves the claim's directory", "name a file inside it")
    return folder / text


def _check_texts(place: Place) -> None:
    if not isinstance(place.value, dict):
        raise place.wrong("this is not a table of texts", 'give keys with text, such as owner = "…"')
    for key in place.value:
        place.child(key).text()


def _check_day(place: Place) -> None:
    try:
        date.fromisoformat(place.text()[:10])
    except ValueError:
        raise place.wrong(f"{place.text()[:40]!r} is no date", "write YYYY-MM-DD") from None


def as_written(value: Any) -> Any:
    """Serialise a parsed document for JSON: numbers as doubles if exact, else as text."""
    return mapped(_number_as_written, value)


def _number_as_written(value: Any) -> Any:
    if isinstance(value, Fraction):
        return json_number(value, whole=0)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63:
        return str(value)
    return value
