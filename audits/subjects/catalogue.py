"""Finds subjects: catalogued ones by file name, functions to attack by a table; makes them for a claim."""

import dataclasses
import importlib
import json
import pkgutil
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from audits.claim import NAME, Claim, spelled
from audits.datasets.shape import Described, Shape
from audits.subjects import broken
from audits.subjects.calibrated import TARGETS, noise_of, with_noise
from dpaccount.documents import Place
from dpaccount.errors import InputError
from dpaccount.extensions import PARAMETERS, SUBJECTS, catalogues, extension, home_of, loaded, warn
from dpaccount.relation import ADD_REMOVE, REPLACE_ONE
from dpaccount_packages import folders, is_ours
from mechanisms.subject import EXAMPLE, Subject
from mechanisms.table.bind_columns import KEYS as TABLE_KEYS
from mechanisms.table.bind_columns import Promise, bind
from mechanisms.table.columns import Table
from mechanisms.table.rows import Reading
from mechanisms.table.user_level import ByPerson, by_person, named, relations_of

if TYPE_CHECKING:
    from audits.subjects.code import Code


@dataclass(frozen=True)
class ListedFunction:
    """A function to attack, the data and the (ε, δ) that it claims, and whether that holds."""

    function: Callable[..., Any]
    shape: Shape
    status: str
    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(0)

    @property
    def name(self) -> str:
        """Return the name in claims and lists."""
        return self.function.__name__.replace("_", "-")

    def on(self, relation: str) -> Described:
        """Return the data; raises `InputError` where the function is about another relation."""
        if relation != self.shape.relation:
            raise InputError(f"{self.name} is about {self.shape.relation}", "say that as the relation")
        return Described(self.shape)

    @property
    def code(self) -> "Code":
        """Return the function as a worker imports it."""
        from audits.subjects.code import Code  # a list runs none of them

        return Code(f"{self.function.__module__}:{self.function.__name__}", ())

    @property
    def source(self) -> str:
        """Return what it does and whose mistake it is: the first line of its docstring."""
        return str(self.function.__doc__).splitlines()[0]

    def claimed(self) -> str:
        """Return the claim and its data in words."""
        shape = self.shape
        size = f"{shape.rows}" if shape.columns is None else f"{shape.rows},{shape.columns}"
        kind = "int" if shape.integer else "float"
        data = f"shape {size} in [{min(shape.low):g}, {max(shape.high):g}] ({kind})"
        return f"epsilon {float(self.epsilon):g}, delta {float(self.delta):g}, {shape.relation}, {data}"


def described(
    rows: int,
    columns: int | None = None,
    low: float = 0.0,
    high: float = 1.0,
    *,
    integer: bool = True,
    relation: str = "replace-one",
) -> Shape:
    """Return the shape of datasets with the same bounds in every column."""
    width = columns or 1
    return Shape(rows, columns, (low,) * width, (high,) * width, integer, relation)


TABLE = (
    ListedFunction(broken.svt_1, described(10, 10), "sound"),
    ListedFunction(broken.svt_5, described(10, 10), "broken"),
    ListedFunction(broken.geometric_count, described(10), "sound"),
    ListedFunction(broken.fixed_seed, described(10), "broken"),
    ListedFunction(broken.floating_laplace, described(10, integer=False), "broken"),
    ListedFunction(broken.histogram_half, described(20, high=3.0), "broken"),
)


def function_named(name: str) -> ListedFunction | None:
    """Return the function of this name, or None."""
    return next((each for each in TABLE if each.name == name), None)


CLIPS = ("low", "high", "radius", "reward")  #: parameters that a table gives and a claim may narrow
#: parameter of a class whose neighbours' rows move so far; a claim says it as its radius
RADIUS_PARAMETER = "unit"


@dataclass(frozen=True)
class CatalogueEntry:
    """A catalogued subject: its name, layer and class."""

    name: str
    layer: str
    made_by: type[Any]

    def parameters(self) -> dict[str, dict[str, object]]:
        """Return each parameter's type and default, as `dpaccount list` prints them.

        One without a default has an `example` instead, if its class names one.
        """
        return {
            field.name: {"type": _type_name(hint), "default": _default(field), **_example(field)}
            for field, hint in _fields(self.made_by)
        }


def entries() -> Iterator[CatalogueEntry]:
    """Yield all catalogued subjects: every module of a package whose one class is named after the file."""
    for layer in catalogues():
        for info in sorted(pkgutil.iter_modules([folders()[layer]]), key=lambda module: module.name):
            entry = None if info.ispkg else _entry(layer, info.name)
            if entry is not None:
                yield entry


def _entry(layer: str, module_name: str) -> CatalogueEntry | None:
    module = importlib.import_module(f"{layer}.{module_name}")
    made_by = getattr(module, "".join(part.capitalize() for part in module_name.split("_")), None)
    # a folder holds what several share; a project's namespace may hold a file of this name
    if hasattr(module, "__path__") or not is_ours(module.__name__):
        return None
    if made_by is None or not hasattr(made_by, "proof") or not hasattr(made_by, "status"):
        return None
    return CatalogueEntry(module_name.replace("_", "-"), layer, made_by)


def _registered() -> Iterator[CatalogueEntry]:
    """Yield our subjects whose class an entry point names."""
    for each, made_by in loaded(SUBJECTS):
        if each.ours and hasattr(made_by, "status"):
            yield CatalogueEntry(each.name, each.package, made_by)


def find(name: str) -> CatalogueEntry:
    """Return a catalogued subject; raises `InputError` with the known names."""
    found = _found(name)
    if found is not None:
        return found
    names = ", ".join(entry.name for entry in entries())
    raise InputError(f"unknown subject {name[:70]!r}", f"known: {names}, or package.module:name of your own")


def _found(name: str) -> CatalogueEntry | None:
    """Return a catalogued subject, or None; what other packages add is users' own code."""
    if NAME.fullmatch(name) is None or "." in name:  # a dot would name a package to import
        return None
    layer = home_of(name)
    if layer is not None:
        match = _entry(layer, name.replace("-", "_"))
        return match if match is not None and match.name == name else None
    # What another package registers is never taken for ours: its code runs as a user's own.
    registered = extension(SUBJECTS, name)
    if registered is None or not registered.ours:
        return None
    made_by = registered.load()
    return CatalogueEntry(name, registered.package, made_by) if hasattr(made_by, "status") else None


def listed(name: str | None) -> list[dict[str, Any]] | dict[str, Any]:
    """Return what `dpaccount list` prints: all, or the one of this name."""
    if name is None:
        ours = map(_listed_class, (*entries(), *_registered()))
        return [*ours, *_of_others(), *map(_listed_function, TABLE)]
    if (function := function_named(name)) is not None:
        return _listed_function(function)
    others = _of_others() if spelled(name) != name else ()
    return next((each for each in others if each["name"] == name), None) or _listed_class(find(name))


def _of_others() -> Iterator[dict[str, Any]]:
    """Yield what other packages add; a class that does not say of itself what `list` prints is warned of."""
    for each, made_by in loaded(SUBJECTS):
        if each.ours or spelled(each.name) != each.value:  # of two with one name, ours counts
            continue
        try:
            described = _listed_class(CatalogueEntry(each.name, each.package, made_by))
            json.dumps(described)
        except Exception as error:  # of code that anybody wrote
            warn(each.broken(error))
        else:
            yield described


def _listed_class(entry: CatalogueEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "layer": entry.layer,
        "parameters": entry.parameters(),
        "source": entry.made_by.source,
        "status": entry.made_by.status,
    }


def _listed_function(function: ListedFunction) -> dict[str, Any]:
    return {
        "name": function.name,
        "layer": "audits",
        "parameters": {},
        "source": f"{function.source}  Claims {function.claimed()}.",
        "status": function.status,
    }


def subject_of(claim: Claim) -> Subject:
    """Return the catalogued subject that a claim names, with its parameters."""
    return subject_made(claim, find(claim.use).made_by)


def subject_made(claim: Claim, made_by: type) -> Subject:
    """Return an instance of the class with the claim's parameters, and what follows from its table."""
    if claim.table is not None:
        return on_table(claim, made_by)[0]
    subject = _noisy(claim, make(made_by, claim.parameters, given=_unit(claim, made_by)))
    if claim.data_shape is not None:
        raise claim.data_shape.wrong(
            "a subject with a domain of its own takes no data shape", "leave this table out"
        )
    return subject


def on_table(claim: Claim, made_by: type) -> tuple[Subject, Reading]:
    """Return a claim's subject on its declared table, and how it reads that table.

    A class may say by `on_table` how it does; else its `reads` does.  Where several rows of a person
    count, the mechanism gets every person's rows, and the subject is that of persons.
    """
    table, promise, place = claim.table, claim.guarantee, claim.parameters or Place({}, str(claim.path))
    if table is None:
        raise InputError("no table is declared", "give [data.columns]", claim.path)
    if claim.data_shape is not None:
        raise claim.data_shape.wrong("the table is declared already", "leave [subject.data] out")
    own = getattr(made_by, "on_table", None)
    if own is not None:
        _check_frozen(made_by)
        promised = Promise(promise.relation, promise.epsilon, promise.delta)
        return own(table, place, promised)
    known = relations_of(made_by)
    comes_and_goes = promise.relation == REPLACE_ONE and known == (ADD_REMOVE,)
    if table.max_rows > 1 or comes_and_goes:
        of_persons, reading = by_person(made_by, place, table, promise.relation, make)
        return _noisy(claim, of_persons), reading
    unit = _unit(claim, made_by)
    if promise.relation not in known and not (unit and promise.radius is not None):
        raise InputError(
            f"{claim.use} is about {', '.join(known)}", "say that as the guarantee's relation", claim.path
        )
    given, reading = bind(made_by, place, table, table.rows, promise.relation)
    if promise.radius is not None:
        _check_measured(claim, table, reading)
    subject = make(made_by, place, given={**given, **unit})
    if (width := len(subject.domain().low)) != len(reading.default):
        raise InputError(f"{claim.use} takes rows of {width} numbers", "name so many columns", claim.path)
    return _noisy(claim, subject), reading


def _noisy(claim: Claim, subject: Subject) -> Subject:
    """Return a claim's subject with its noise; that of a user's own class is what the class says."""
    return with_noise(claim, subject) if is_catalogued(type(named(subject))) else subject


def _check_measured(claim: Claim, table: Table, reading: Reading) -> None:
    """Refuse columns whose codes jump or count twice: what is near in the file would be further in a row."""
    for name in reading.names:
        if reading.names.count(name) > 1:
            raise InputError(
                f"{name} is named twice, and would move a row further", "name it once", claim.path
            )
        if name == table.identity:
            raise InputError(f"{name} says whose a row is, so it does not move", "leave it out", claim.path)
        if (kind := table.column(name).kind) != "number":
            raise InputError(
                f"{name} is of type {kind}, which does not move by a distance",
                f"{claim.guarantee.relation} reads columns of type number",
                claim.path,
            )


def _unit(claim: Claim, made_by: type) -> dict[str, object]:
    """Return how far a neighbour's row moves, if a class of ours has it, not a user's own."""
    ours = (base for base in made_by.__mro__ if is_ours(base.__module__))
    known = any(RADIUS_PARAMETER in vars(base).get("__annotations__", {}) for base in ours)
    return {RADIUS_PARAMETER: claim.guarantee.radius or Fraction(0)} if known else {}


def make(
    made_by: type,
    parameters: Place | None,
    *,
    examples: bool = False,
    given: Mapping[str, object] = MappingProxyType({}),
) -> Subject:
    """Return the subject with parameters read exactly; unknown ones and wrong types are `InputError`.

    With `examples` the parameters that have no default take their example values: for synthetic
    data.  What is `given` by a table is not repeated, except bounds, and keys about the table
    are left out.
    """
    _check_frozen(made_by)
    fields = {field.name: hint for field, hint in _fields(made_by)}
    about = TABLE_KEYS if given.keys() - {RADIUS_PARAMETER} else ()
    # the noise then follows from them; that of a user's own class is what the class says
    targets = TARGETS if noise_of(made_by) and is_catalogued(made_by) else ()
    members = {} if parameters is None else parameters.table((), (*fields, *about, *targets))
    apart = (*about, *targets)
    values = {name: _value_at(place, fields[name]) for name, place in members.items() if name not in apart}
    for name, value in given.items():
        if name in values and name not in CLIPS and values[name] != value:
            source = "guarantee" if name == RADIUS_PARAMETER else "table"
            raise members[name].wrong(f"{name} follows from the {source}: {value}", "leave it out")
    values = {**given, **values}
    where = None if parameters is None else parameters.where
    if examples:
        values = {**example_values(made_by), **values}
    unsaid = [name for name in required(made_by) if name not in values]
    if unsaid:
        names = ", ".join(unsaid)
        raise InputError(f"{name_of(made_by)} has no default for {names}", "say them as parameters", where)
    try:
        subject: Subject = made_by(**values)
    except InputError as error:
        raise error if where is None else error.inside(where) from None
    except (Exception, SystemExit) as error:
        raise InputError(
            f"making {made_by.__name__} raises {type(error).__name__}: {error}", "fix it"
        ) from None
    return subject


def required(made_by: type) -> list[str]:
    """Return the parameters that have no default: a claim and a release must say them."""
    missing = dataclasses.MISSING
    fields = (field for field, _ in _fields(made_by))
    return [f.name for f in fields if f.default is missing and f.default_factory is missing]


def example_values(made_by: type) -> dict[str, object]:
    """Return the example values that a class names for parameters without a default."""
    return {field.name: field.metadata[EXAMPLE] for field, _ in _fields(made_by) if EXAMPLE in field.metadata}


def _check_frozen(made_by: type) -> None:
    """Refuse a class whose instances can be changed: what is proved must be what is run."""
    settings = vars(made_by).get("__dataclass_params__")
    if settings is None or not settings.frozen:
        name = made_by.__name__
        raise InputError(f"{name} may change between proof and run", "declare it @dataclass(frozen=True)")


def _value_at(place: Place, hint: Any) -> object:
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if Fraction in kinds:
        return _moderate(place)
    if bool in kinds:
        return place.flag()
    if int in kinds:
        return place.integer(-(10**6), 10**6)
    if typing.get_origin(hint) is tuple:
        raise place.wrong("this follows from a table", "declare [data.columns], and name its columns")
    for reader in _readers(kinds):
        return reader.read(place)
    return place.text()


def _readers(kinds: tuple[Any, ...]) -> Iterator[Any]:
    """Yield what reads a parameter that is a table of its own kind, such as public points."""
    if not {Fraction, bool, int, str}.intersection(kinds):
        yield from (each for _, each in loaded(PARAMETERS) if getattr(each, "KIND", None) in kinds)


def _moderate(place: Place) -> Fraction:
    """Return a number that floating point can work with on the simulation's side."""
    value = place.real()
    if value and not Fraction(1, 10**15) <= abs(value) <= 10**15:
        raise place.wrong("a parameter this large or small", "use magnitudes from 1e-15 to 1e15")
    return value


def _fields(made_by: type) -> list[tuple[dataclasses.Field[Any], Any]]:
    if not dataclasses.is_dataclass(made_by):
        return []
    hints = typing.get_type_hints(made_by)
    return [(field, hints[field.name]) for field in dataclasses.fields(made_by) if field.init]


def _type_name(hint: Any) -> str:
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if typing.get_origin(hint) is tuple:
        return "of a table"
    names = {Fraction: "number", int: "integer", str: "text", bool: "flag"}
    known = next((names[kind] for kind in kinds if kind in names), None)
    return known or ("table" if any(_readers(kinds)) else "text")


def _default(field: dataclasses.Field[Any]) -> object:
    value = field.default
    of_tables = isinstance(value, tuple) and not all(isinstance(each, str) for each in value)
    if value is dataclasses.MISSING or of_tables:  # what follows from tables is not shown
        return None
    return str(value) if isinstance(value, Fraction) else value


def _example(field: dataclasses.Field[Any]) -> dict[str, object]:
    example = field.metadata.get(EXAMPLE)
    return {} if example is None else {EXAMPLE: str(example) if isinstance(example, Fraction) else example}


def values_of(subject: Subject) -> dict[str, object]:
    """Return every parameter in force, by name; of a mechanism for persons, its own and how many count."""
    if isinstance(subject, ByPerson):
        own = {"persons": subject.rows, "max_rows": subject.max_rows}
        return {**values_of(subject.mechanism), **own}
    names = CatalogueEntry("", "", type(subject)).parameters()
    return {name: getattr(subject, name) for name in names}


def is_catalogued(made_by: type) -> bool:
    """Return whether a class is catalogued; a subclass of a catalogued class is not."""
    found = _found(name_of(made_by)) if is_ours(made_by.__module__) else None
    return found is not None and found.made_by is made_by


def name_of(made_by: type) -> str:
    """Return the name of the file that defines a subject's class, with hyphens."""
    return made_by.__module__.rpartition(".")[2].replace("_", "-")


# ------------------------------------------------------------------ a claim with its class


@dataclass(frozen=True)
class BoundClaim:
    """A claim and the class that its subject is made by."""

    claim: Claim
    made_by: type

    @classmethod
    def of(cls, claim: Claim, subject: Subject) -> "BoundClaim":
        """Return the claim bound to the class of its subject, or of the mechanism below one for persons."""
        return cls(claim, type(named(subject)))

    def subject(self) -> Subject:
        """Return a new instance, made from the claim.

        Never one that was used before: the instance that is proved never sees the file, and the one that
        reports sees only the view, so that no state of an instance can carry data to a report.
        """
        return subject_made(self.claim, self.made_by)

    @cached_property
    def reading(self) -> Reading:
        """Return how the mechanism reads the claim's table; it follows from declarations alone."""
        return on_table(self.claim, self.made_by)[1]

    def __getstate__(self) -> dict[str, object]:
        """Return what travels to a worker, which makes the rest again: readers of columns are closures."""
        return {"claim": self.claim, "made_by": self.made_by}
