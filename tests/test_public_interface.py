"""docs/public-interface.md names what stays, and all of it is there."""

import re
from types import ModuleType

import pytest

import dpaccount
import dpaccount.proof
import mechanisms
from dpaccount import errors


@pytest.fixture
def sections(root):
    """Return the page's sections: heading → text."""
    page = (root / "docs" / "public-interface.md").read_text()
    return {part.partition("\n")[0]: part for part in page.split("\n## ")[1:]}


def named(section):
    return set(re.findall(r"`([A-Za-z_][A-Za-z_0-9]*)`", section.partition("\n")[2]))


def test_the_page_names_every_public_name_and_no_other(sections):
    proof = {
        name
        for name, value in vars(dpaccount.proof).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert named(sections["`dpaccount`"]) == set(dpaccount.__all__)
    assert named(sections["`mechanisms`, for authors of mechanisms"]) == set(mechanisms.__all__)
    assert named(sections["`dpaccount.proof`, the rules"]) == proof


def test_every_public_name_can_be_imported():
    for module in (dpaccount, mechanisms):
        for name in module.__all__:
            assert getattr(module, name) is not None, name
        with pytest.raises(AttributeError):
            module.no_such_name  # noqa: B018


def test_exit_codes_are_those_of_the_errors(sections):
    rows = re.findall(r"^\| (\d) \| .* \|$", sections["Exit codes"], re.MULTILINE)
    assert rows == ["0", "1", "2", "3"]
    assert (errors.BudgetError.exit_code, errors.InputError.exit_code, errors.RuleError.exit_code) == (
        1,
        2,
        3,
    )


def test_the_documents_have_schemas(sections, root):
    formats = (root / "docs" / "formats.md").read_text()
    named = re.findall(r"`(dpaccount/[a-z-]+/\d)`", sections["Documents"])
    assert {"dpaccount/study/1", "dpaccount/study-plan/1"} <= set(named)
    for schema in named:
        assert schema in formats, schema
