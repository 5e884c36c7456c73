"""The data of a function under attack, as the claim, the catalogue or the options describe them."""

from audits.api.requests import Audit
from audits.claim import Claim, read_claim
from audits.datasets.described import read_data
from audits.datasets.shape import Described, Neighbourhood
from audits.subjects.catalogue import function_named
from dpaccount.errors import InputError


def data_asked(question: Audit) -> Described:
    """Return the function's data as described by the claim's file, the catalogue or the options."""
    if question.claim is not None:
        return data_of(read_claim(question.claim))
    catalogued = function_named(question.use)
    if catalogued is not None:
        return catalogued.on(question.relation or "replace-one")
    return described_by(question.use, question.data)


def data_of(claim: Claim) -> Described:
    """Return the data of a claim, or of a catalogued function; raises `InputError` if none are declared."""
    catalogued = function_named(claim.use)
    if catalogued is not None:
        if claim.parameters is not None or claim.data_shape is not None:
            raise InputError(f"{claim.use} has data of its own", "leave [subject.data] out", claim.path)
        return catalogued.on(claim.guarantee.relation)
    if claim.parameters is not None:
        raise claim.parameters.wrong("a plain function takes no parameters", "leave this table out")
    if claim.data_file is not None:
        raise InputError(f"{claim.use} reads no data file", "leave [data] out", claim.path)
    if claim.examples is not None:
        raise InputError("examples are for classes", "give a plain function left and right", claim.path)
    if claim.data_shape is None:
        what = f"{claim.use} is a plain function"
        raise InputError(what, "describe its data in [subject.data]", claim.path)
    return read_data(claim.data_shape, claim.guarantee.relation, claim.guarantee.radius)


def described_by(use: str, data: Described | None) -> Described:
    """Return the data that the options describe; raises `InputError` if there is no description."""
    if data is None:
        raise InputError(
            f"{use} is a plain function", "describe its data by --shape, --low, --high (or by --columns FILE)"
        )
    return data


def check_reaches(shape: Neighbourhood) -> None:
    """Raise `InputError` for data frames, which are not sent to another interpreter."""
    if shape.layout is not None and shape.layout.form in ("pandas", "polars"):
        raise InputError(f'as = "{shape.layout.form}" does not reach another interpreter', 'say as = "dict"')
