"""Later editions of a study: what was published stays, is not charged again, and is not changed."""

import json

import pytest

from audits.certificate import make
from audits.claim import read_claim
from audits.editions import added
from dpaccount.documents import Place, canonical, parse_toml
from dpaccount.errors import InputError
from tests.audits.studies.test_studies import COUNT, HEAD, data, spent, statistics, study  # noqa: F401
from tests.depth import deep

FIRST = (
    COUNT + 'by = ["ward"]\nwhere = "age > 17"',
    'name = "h"\nwhat = "histogram"\ncolumn = "older"\nbins = [0, 5, 99]',
)
NEW = 'name = "m"\nwhat = "mean"\ncolumn = "x"'
DERIVED = '[data.derived]\nolder = "min(age + 1, 99)"\n[audit]'
ONE = HEAD.replace("[audit]", DERIVED)
TWO = ONE.replace('name = "s"', 'name = "s"\nedition = 2\nfollows = "{}"').replace(
    "epsilon = 1\n", "epsilon = 0.5\n"
)


def asked(study, said, head):  # noqa: F811
    """Return a study as the claim that it is, before it is told apart from what it follows."""
    claim = read_claim(study(said, head))
    raw = parse_toml((study(said, head)).read_text(), "study.toml").value
    subject = {"parameters": {"statistic": raw["statistic"]}}
    document = {"subject": subject, "data": raw["data"]}
    return claim, lambda edition: Place({"edition": edition, **document}, "study.toml", toml=True)


def continued(study, said, head=ONE, edition=2, name="s"):  # noqa: F811
    """Return the statistics that a later edition adds to `FIRST`."""
    earlier = json.loads(canonical(read_claim(study(statistics(*FIRST), ONE)).written)) | {"name": name}
    claim, place = asked(study, said, head)
    return added(place(edition), claim.written, ({"claim": earlier},))


def test_what_is_new_is_added_and_shares_may_change(study):  # noqa: F811
    """In any order; columns may be added too."""
    assert [each["name"] for each in continued(study, statistics(*FIRST, NEW))] == ["m"]
    more = ONE.replace("[data.derived]", 'late = { type = "boolean" }\n[data.derived]\nhalf = "x / 2"')
    other = statistics(NEW, FIRST[1] + "\nshare = 9", FIRST[0] + "\naccuracy = 90", NEW.replace('"m"', '"o"'))
    assert [each["name"] for each in continued(study, other, more)] == ["m", "o"]


CHANGED = [
    (statistics(*FIRST), "edition 2 adds no statistic"),
    (statistics(*FIRST, NEW, NEW), "edition 2 adds no statistic; add one, each with a name of its own"),
    (statistics(FIRST[0], NEW), "edition 2 leaves out 'h', which is published; list it as it was"),
    (statistics(FIRST[0].replace("17", "18"), FIRST[1], NEW), "edition 2 changes 'n', which is published"),
    (statistics(FIRST[0].replace("ward", "seen"), FIRST[1], NEW), "edition 2 changes 'n'"),
    (statistics(FIRST[0], FIRST[1].replace("5", "6"), NEW), "edition 2 changes 'h'"),
    (statistics(FIRST[0], FIRST[1].replace("older", "age"), NEW), "edition 2 changes 'h'"),
    (statistics(*FIRST, NEW.replace('"m"', '"N"')), "'n' and 'N' would be one file"),
]
HEADS = [
    ("high = 110", "high = 111", "edition 2 changes data.columns.age; leave it as edition 1 has it"),
    ("min(age + 1, 99)", "min(age + 1, 98)", "edition 2 changes data.derived.older"),
    ('low = { type = "category", values = ["A", "B"] }\n', "", "edition 2 changes data.columns.low"),
    ("rows = 600", "rows = 601", "edition 2 changes data.rows"),
    ("rows = 600", "max_units = 601", "edition 2 changes data.max_units"),
    ("rows = 600", 'rows = 600\nid = "who"', "edition 2 changes data.id"),
    ("rows = 600", 'max_units = 600\nunit_column = "who"', "edition 2 changes data.unit_column"),
    ('file = "a.csv"', 'file = "c.csv"', "edition 2 changes data.file"),
    ('file = "a.csv"', 'file = "a.csv"\nseparator = ";"', "edition 2 changes data.separator"),
    ('file = "a.csv"', 'file = "a.csv"\nencoding = "cp1252"', "edition 2 changes data.encoding"),
    ('"replace-one"', '"add-remove"', "edition 2 changes guarantee.relation"),
    ('"one patient"', '"one visit"', "edition 2 changes guarantee.unit"),
    ('name = "s"', 'name = "t"', "it follows edition 1 of s; give the digest of the one before"),
]


@pytest.mark.parametrize(("said", "why"), CHANGED)
def test_what_was_published_is_not_changed(study, said, why):  # noqa: F811
    with pytest.raises(InputError) as error:
        continued(study, said)
    assert why in str(error.value)


@pytest.mark.parametrize(("old", "new", "why"), HEADS)
def test_an_edition_is_of_the_same_data_and_guarantee(study, old, new, why):  # noqa: F811
    assert old in ONE
    with pytest.raises(InputError) as error:
        continued(study, statistics(*FIRST, NEW), ONE.replace(old, new, 1))
    assert why in str(error.value)


def test_editions_follow_one_another(study):  # noqa: F811
    for edition, name in ((3, "s"), (2, "s.2"), (3, "s.2")):
        with pytest.raises(InputError, match="it follows edition 1 of"):
            continued(study, statistics(*FIRST, NEW), edition=edition, name=name)


@pytest.mark.parametrize(
    "key", ["edition = 2", f'follows = "sha256:{"0" * 64}"', f'edition = 1\nfollows = "sha256:{"0" * 64}"']
)
def test_an_edition_says_its_number_and_what_it_follows(study, key):  # noqa: F811
    with pytest.raises(InputError) as error:
        read_claim(study(statistics(*FIRST, NEW), ONE.replace('name = "s"', f'name = "s"\n{key}')))
    assert "give both edition and follows" in str(error.value) or "it must be in [2, 1000]" in str(
        error.value
    )


@deep
def test_three_editions_are_released(dpaccount, study, data, monkeypatch, tmp_path):  # noqa: F811
    """Each keeps what was released, and charges what it adds; a refused one charges nothing."""
    monkeypatch.setattr(make, "EXAMPLES", 3)

    def run(said, head):
        return dpaccount("release", study(said, head), "--quick", "--jobs", 1, "--json")

    def digest(folder):
        return json.loads((tmp_path / "certificates" / folder / "certificate.json").read_text())["digest"]

    code, out, err = run(statistics(*FIRST), ONE)
    assert code == 0, err
    first = json.loads(out)["statistics"]
    before, two = spent(dpaccount)["epsilon"]["upper"], TWO.replace("{}", digest("s"))
    for said, head, why in (
        (statistics(FIRST[0], FIRST[1].replace("5", "6"), NEW), two, "edition 2 changes 'h'"),
        (
            statistics(*FIRST, NEW),
            TWO.replace("{}", "sha256:" + "0" * 64),
            "the ledger kept no release sha256:000000000000…",
        ),
        (statistics(*FIRST), two, "adds no statistic"),
    ):
        code, out, err = run(said, head)
        assert (code, out, len(err.splitlines())) == (2, "", 1)
        assert why in err
    assert spent(dpaccount)["epsilon"]["upper"] == before
    code, out, err = run(statistics(*FIRST, NEW), two)
    assert code == 0, err
    second = json.loads(out)["statistics"]
    assert {name: second[name] for name in first} == first
    assert list(second) == ["n", "h", "m"]
    assert json.loads(out)["earlier"] == dict.fromkeys(first, digest("s"))
    after = spent(dpaccount)["epsilon"]["upper"]
    assert 0.49 < after - before <= 0.5
    assert run(statistics(*FIRST, NEW), two)[1] == out
    assert spent(dpaccount)["epsilon"]["upper"] == after
    path = tmp_path / "certificates" / "s.2" / "certificate.json"
    assert dpaccount("check", path)[0] == 0
    assert any(
        f"follows the release {digest('s')}" in said for said in json.loads(path.read_text())["hazards"]
    )
    assert (path.parent / "n.csv").read_text() == (tmp_path / "certificates" / "s" / "n.csv").read_text()

    three = (
        two.replace(digest("s"), digest("s.2")).replace("edition = 2", "edition = 3").replace("0.5", "0.3")
    )
    last = NEW.replace('"m"', '"o"').replace("mean", "sum")
    code, out, err = run(statistics(last, *FIRST, NEW), three)
    assert code == 0, err
    third = json.loads(out)["statistics"]
    assert {name: third[name] for name in second} == second
    (tmp_path / "a.csv").write_text((tmp_path / "a.csv").read_text().replace("p1,", "p0,", 1))
    spending = spent(dpaccount)["epsilon"]["upper"]
    code, out, err = run(statistics(*FIRST, NEW, last.replace('"o"', '"p"')), two)
    assert (code, out) == (2, "")
    assert "the data changed since s was released" in err
    assert spent(dpaccount)["epsilon"]["upper"] == spending
