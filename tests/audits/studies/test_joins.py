"""Studies with columns of public tables: many to one, by declared keys, each table by its digest."""

import hashlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits import claim as claim_module
from audits.certificate import make
from audits.claim import read_claim
from audits.studies import results
from dpaccount.errors import InputError
from mechanisms.statistics.expressions import code_of
from mechanisms.table.reading import Remote
from tests.audits.studies.test_studies import COUNT, HEAD, data, statistics, study  # noqa: F401
from tests.depth import deep, examples

JOIN = """
[data.join.wards]
file = "wards.csv"
key = "ward"
[data.join.wards.columns]
beds = { type = "integer", low = 0, high = 40, missing = 7 }
side = { type = "category", values = ["east", "west"], missing = "west" }
[data.derived]
crowd = "x / max(beds, 1)"
[audit]"""
SAID = statistics(COUNT + 'by = ["side"]\nwhere = "beds > 3"', 'name = "m"\nwhat = "mean"\ncolumn = "crowd"')
WARDS = "ward,beds,side\nA,10,east\nB,20,north\nZ,3,east\n"


@pytest.fixture
def joined(study, tmp_path):  # noqa: F811
    """Write a study that joins a table of wards; return its path."""

    def write(wards=WARDS, said=SAID, old="", new=""):
        (tmp_path / "wards.csv").write_text(wards)
        assert old in JOIN
        return study(said, HEAD.replace("[audit]", JOIN.replace(old, new)))

    return write


def test_each_row_gets_the_columns_of_its_key(dpaccount, joined):
    """An undeclared value is none; a declared key that the table lacks has what is declared as missing."""
    found = results.study_of(read_claim(joined()))
    assert [each.name for each in found.columns] == ["ward", "x"]
    beds, side = found.statistics[0].declared[0], found.statistics[0].by[0]
    codes = {"ward": np.array([0.0, 1.0, -1.0])}
    assert code_of(beds, codes).tolist() == [10, 20, 7]
    assert code_of(side, codes).tolist() == [0, 1, 1]
    lacking = results.study_of(read_claim(joined("side,beds,ward\neast,99,A\n"))).statistics[0].declared[0]
    assert code_of(lacking, codes).tolist() == [40, 7, 7]
    assert dpaccount("plan", joined())[0] == 0


@deep
@examples(20)
@given(st.permutations("ABCDEF"), st.lists(st.integers(0, 40), min_size=6, max_size=6), st.integers(0, 6))
def test_a_join_is_that_of_python(tmp_path_factory, keys, beds, many):
    """By a dictionary; the order of a public table's rows is none of its facts."""
    folder = tmp_path_factory.mktemp("join")
    table = dict(zip(keys[:many], beds, strict=False))
    (folder / "wards.csv").write_text(
        "ward,beds,side\n" + "".join(f"{k},{v},east\n" for k, v in table.items())
    )
    declared = HEAD.replace("[audit]", JOIN).replace('values = ["A", "B"]', 'values = ["A", "B", "C"]', 1)
    (folder / "study.toml").write_text(declared + SAID)
    column = results.study_of(read_claim(folder / "study.toml")).statistics[0].declared[0]
    right = [table.get(key, 7) for key in "ABC"]
    assert code_of(column, {"ward": np.array([0.0, 1.0, 2.0, -1.0])}).tolist() == [*right, 7]


def test_the_digest_of_the_table_is_the_claims(joined, tmp_path):
    """Another table is another claim; one whose digest is written is held to it."""
    held = read_claim(joined()).written["data"]["join"]["wards"]["digest"]
    assert held == f"sha256:{hashlib.sha256(WARDS.encode()).hexdigest()}"
    same = 'key = "ward"\ndigest = "{}"'
    assert (
        read_claim(joined(old='key = "ward"', new=same.format(held))).written == read_claim(joined()).written
    )
    assert read_claim(joined(WARDS + "C,1,east\n")).written != read_claim(joined()).written
    with pytest.raises(InputError, match="the table's digest is sha256:"):
        read_claim(joined(WARDS + "C,1,east\n", old='key = "ward"', new=same.format(held)))


REFUSED = [
    (WARDS + "A,11,west\n", "", "", "the table has the key 'A' twice; keep one row for each key"),
    (WARDS, ", missing = 7", "", "the table has no row for other values of ward; declare what beds is"),
    ("ward,beds,side\nA,1,east\n", ", missing = 7", "", "the table has no row for 'B' of ward"),
    ("ward,beds,side\nA,1,east\n", ', missing = "west"', "", "no row for 'B' of ward; declare what side is"),
    ("ward,side\nA,east\n", "", "", "no column beds"),
    (WARDS, '"wards.csv"', '"rooms.csv"', "rooms.csv: No such file"),
    (WARDS, '"wards.csv"', '"a.csv"', "this is the data file itself; name a public table"),
    (WARDS, '"wards.csv"', '"./../p/../a.csv"', "leaves the claim's directory"),
    (WARDS, '"wards.csv"', '"../wards.csv"', "leaves the claim's directory"),
    (WARDS, 'key = "ward"', 'key = "age"', "the key is no declared category"),
    (WARDS, 'key = "ward"', 'key = "note"', "the key is no declared category"),
    (WARDS, "beds =", "age =", "age is declared twice"),
    (WARDS, "crowd =", "beds =", "beds is declared too"),
    (WARDS, 'side = { type = "category", values = ["east", "west"], missing = "west" }', 'side = { type = "text" }', "side is text"),
    (WARDS, 'key = "ward"', 'key = "ward"\nhow = "left"', "unknown key 'how'"),
]  # fmt: skip


@pytest.mark.parametrize(("wards", "old", "new", "why"), REFUSED)
def test_a_join_that_cannot_be_is_one_sentence(dpaccount, joined, wards, old, new, why):
    code, out, err = dpaccount("plan", joined(wards, old=old, new=new))
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert why in err


@deep
def test_a_joined_study_is_released_and_checked(dpaccount, joined, data, monkeypatch, tmp_path):  # noqa: F811
    monkeypatch.setattr(make, "EXAMPLES", 3)
    code, out, err = dpaccount("release", joined(), "--quick", "--jobs", 1, "--json")
    assert code == 0, err
    assert [row["side"] for row in json.loads(out)["statistics"]["n"]["rows"]] == ["east", "west"]
    path = tmp_path / "certificates" / "s" / "certificate.json"
    assert dpaccount("check", path)[0] == 0
    said = json.loads(path.read_text())["hazards"]
    assert "The claim states that these joined tables are public: wards." in said
    assert dpaccount("release", joined(), "--quick", "--jobs", 1, "--json")[1] == out


def test_the_data_file_is_no_public_table_by_any_name(joined, tmp_path):
    """A hard link, a link, and the same URL: its cells would stand in the certificate."""
    (tmp_path / "a.csv").touch()
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "a.csv")
    (tmp_path / "soft.csv").symlink_to(tmp_path / "a.csv")
    for name in ("hard.csv", "soft.csv"):
        with pytest.raises(InputError, match="this is the data file itself"):
            read_claim(joined(old='"wards.csv"', new=f'"{name}"'))
    private = Remote("memory://all/p.csv")
    for said in ("memory://all/p.csv", "memory://all", "memory://all/"):
        assert claim_module._is_within(private, Remote(said))
    assert not claim_module._is_within(private, Remote("memory://al"))
    assert not claim_module._is_within(tmp_path / "a.csv", private)
