"""The documents about mechanisms are true: their code runs, and what they list is what there is."""

import contextlib
import doctest
import io
import math
import re

import pytest

from audits.subjects.catalogue import entries
from benchmarks import continual
from mechanisms.continual import factors
from tests.depth import deep
from tests.mechanisms.catalogued import OF_BANDITS


def blocks(text, language):
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@deep
def test_adding_a_mechanism_takes_the_two_files_that_are_described(root, copy_of):
    """The page followed literally, in a copy of the project."""
    page = (root / "docs" / "add-a-mechanism.md").read_text()
    copy = copy_of("mechanisms", "tests")
    files = copy.write(page)
    assert files == ["mechanisms/count_above.py", "tests/planted/count_above_twin.py"]
    done = copy.follow(page)
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 14
    (claim,) = copy.blocks(page, "toml")
    (copy.folder / "claim.toml").write_text(claim)
    done = copy.run(["-m", "dpaccount", "certify", "claim.toml", "--quick", "--jobs", "1"])
    assert done.stdout.startswith("CERTIFIED  count-above"), done.stderr[-3000:]
    # without the twin the contract fails
    (copy.folder / files[1]).unlink()
    done = copy.run(
        ["-m", "pytest", "-q", "--deep", "tests/mechanisms/test_contract.py", "-k", "twin and count"]
    )
    assert done.returncode == 1
    assert "plant a broken count-above" in done.stdout


def test_the_example_of_the_page_runs(root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, *_ = blocks((root / "docs" / "mechanisms.md").read_text(), "python")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})  # noqa: S102  # the page's own example
    assert 0 <= float(printed.getvalue().strip(" []\n")) <= 1


def test_the_examples_of_the_page_print_what_it_says(root):
    page = str(root / "docs" / "mechanisms.md")
    failed, tried = doctest.testfile(page, module_relative=False, encoding="utf-8")
    assert tried >= 5
    assert failed == 0


def test_the_table_lists_every_mechanism_and_no_other(root):
    text = (root / "docs" / "mechanisms.md").read_text()
    table = text[text.index("| name |") : text.index("## Use a mechanism")].strip().splitlines()
    named = {name for row in table[2:] for name in re.findall(r"`([a-z-]+)`", row.split("|")[1])}
    assert (
        named
        == {entry.name for entry in entries() if entry.layer == "mechanisms"} | {"arm-means"} | OF_BANDITS
    )


QUICK = ["7.072", "5.387", "4.376", "3.243", "3.189", "3.084", "3.110", "2.669"]


@pytest.mark.parametrize("figure", [*QUICK, pytest.param("2.524", marks=deep)])
def test_stated_errors_are_computed_elsewhere_and_the_same(figure, root):
    def times(error, squared):
        return f"{error * math.sqrt(squared):.3f}"

    weights = factors.sqrt_toeplitz(1024)
    figures = {
        times(continual.tree_error(1024, 10, refined=False), 10),
        times(continual.tree_error(1024, 10, refined=True), 10),
        *(
            times(continual.toeplitz_error(weights[:b], 1024), continual.column_squared(weights[:b]))
            for b in (64, 256, 1024)
        ),
        times(continual.toeplitz_error(weights, 256), continual.column_squared(weights[:256])),
    }
    for count in (3, 6):
        column = continual.buffered_column(factors.buffers(1024, count), 1024)
        figures.add(times(continual.toeplitz_error(column, 1024), (column**2).sum()))
    if figure == "2.524":
        best = factors.optimal(256)
        figures.add(times(continual.factor_error(best), continual.longest_column_squared(best)))
    assert figure in figures
    assert figure in (root / "docs" / "mechanisms.md").read_text()
