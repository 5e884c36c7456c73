"""Studies from one file: the plan, one charge and its release, tables, and refusals before anything is charged."""

import csv
import json
from fractions import Fraction

import numpy as np
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

from audits.certificate import make
from audits.claim import read_claim
from audits.reports.tables import numbers
from audits.sandbox import table_parts
from audits.studies import results
from audits.subjects.catalogue import BoundClaim, find, subject_of
from dpaccount import checker
from dpaccount.errors import InputError
from dpaccount.proof import point
from dpaccount.schemas.claim import PlannedStatistic, StatisticNoise, StudyPlan, StudyTotal
from mechanisms.table.totals import TablePart
from tests.depth import deep
from tests.looped import looped

HEAD = """
schema = "dpaccount/study/1"
name = "s"
[guarantee]
unit = "one patient"
relation = "replace-one"
epsilon = 1
delta = 1e-6
[data]
file = "a.csv"
ledger = "sqlite:///b.db"
rows = 600
[data.columns]
ward = { type = "category", values = ["A", "B"] }
age = { type = "integer", low = 0, high = 110 }
x = { type = "number", low = -3, high = 60 }
seen = { type = "boolean" }
note = { type = "text" }
big = { type = "integer", low = 0, high = 100000 }
low = { type = "category", values = ["A", "B"] }
[audit]
trials = 60
"""
COUNT = 'name = "n"\nwhat = "count"\n'
GROUPED = 'name = "g"\nwhat = "mean"\ncolumn = "x"\nby = ["seen"]'
UNKNOWN = 'name = "g"\nwhat = "median"\ncolumn = "x"'  #: an interval of no known width: Gaussian noise
#: what every key of a statistic is said in, with a word that the released table shows
EVERY = {
    "count": 'by = ["ward", "seen"]\nwhere = "age >= 18"',
    "histogram": 'column = "age"\nbins = [0, 50, 110]\nshare = 2',
    "top": 'column = "ward"\nk = 1',
    "sum": 'column = "x"\nby = ["ward"]\naccuracy = 20000',
    "mean": 'column = "x"',
    "ratio": 'column = "x"\nper = "age"\nby = ["seen"]',
    "variance": 'column = "x"',
    "stddev": 'column = "x"\nby = ["seen"]',
    "median": 'column = "age"\nepsilon = 0.2',
    "quantile": 'column = "x"\nby = ["seen"]\nq = [0.1, 0.9]\nmethod = "levels"',  # the other method is in `test_python`
    "regression": 'column = "x"\non = ["age"]',
}

#: of what follows from a study's guarantee; both are run where a wanted accuracy is released
WORDS = [{"law": "laplace", "relation": "add-remove"}, {"law": "gaussian", "relation": "replace-one"}]


def statistics(*tables):
    return "".join(f"[[statistic]]\n{each}\n" for each in tables)


def stat(what, said="", name="n"):
    return f'name = "{name}"\nwhat = "{what}"\n{said}'


def every():
    return statistics(*(f'name = "the {what}"\nwhat = "{what}"\n{said}' for what, said in EVERY.items()))


@pytest.fixture
def study(tmp_path):
    """Write a study; return its path."""

    def write(said, head=HEAD):
        (tmp_path / "study.toml").write_text(head + said)
        return tmp_path / "study.toml"

    return write


@pytest.fixture
def data(tmp_path, dpaccount):
    """A table of 600 rows, and a ledger with room."""
    rng = np.random.default_rng(1)
    with (tmp_path / "a.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["who", "ward", "age", "x", "seen", "note", "big", "low"])
        for row in range(600):
            cells = [rng.choice(["A", "B", "C"]), rng.integers(0, 111), round(rng.uniform(-3, 60), 2)]
            lines.writerow([f"p{row // 2}", *cells, rng.choice(["true", "false"]), "…", 3, "A"])
    terms = ("--epsilon", 2, "--delta", "1e-5", "--unit", "one patient", "--relation", "replace-one")
    assert dpaccount("ledger", "init", "sqlite:///b.db", *terms, "--measure", "approximate")[0] == 0


def spent(dpaccount):
    return json.loads(dpaccount("ledger", "show", "sqlite:///b.db", "--json")[1])["spent"]


# ------------------------------------------------------------------ plans


def test_every_key_of_a_statistic_is_planned(dpaccount, study):
    path = study(every())
    code, out, err = dpaccount("plan", path, "--json")
    missing = path.with_name("a.csv")
    assert (code, err) == (0, f"note: {missing}: no such file or folder; a release needs it\n")
    missing.touch()
    assert dpaccount("plan", path, "--json")[1:] == (out, "")
    found = json.loads(out)
    assert found["total"] == {"epsilon": 1.0, "delta": 1e-6}
    assert [each["name"] for each in found["statistics"]] == [f"the {what}" for what in EVERY]
    said = set(" ".join(EVERY.values()).replace("\n", " ").split())
    assert {"by", "where", "bins", "share", "k", "accuracy", "epsilon", "q", "on", "per", "column"} <= said
    by_name = {each["name"].removeprefix("the "): each for each in found["statistics"]}
    assert all(0 < each["epsilon"] < 1 for each in by_name.values())
    assert by_name["sum"]["half_width"] <= 20000
    assert by_name["histogram"]["noise"]["scales"]["count"] < by_name["count"]["noise"]["scales"]["count"]
    for name in ("median", "quantile", "ratio", "stddev", "regression"):
        assert by_name[name]["half_width"] is None


def test_a_plan_reads_no_data_and_charges_nothing(dpaccount, study):
    """There is no table and no ledger here."""
    code, out, _ = dpaccount("plan", study(every()))
    assert code == 0
    assert "nothing is charged" in out
    assert len(max(out.splitlines(), key=len)) <= 100


def test_what_is_planned_is_what_is_proved_and_drawn(study):
    """The noise of the plan is that of the subject's theorem, and the total is met but hardly missed."""
    from dpaccount.proof import write

    claim = read_claim(study(every()))
    subject = subject_of(claim)
    theorem = subject.proof(claim.guarantee.delta)
    assert 0.99 < point(theorem)[0] <= 1
    drawn = [step["with"] for step in write(theorem) if "variance" in step["with"]]
    scales = {draw.key: scale for draw, scale in zip(subject.draws, subject.scales, strict=True)}
    assert {each["key"]: each["variance"] for each in drawn} == {k: str(s**2) for k, s in scales.items()}
    planned = {
        f"{each.name}/{part}": scale
        for each in results.plan(claim).statistics
        for part, scale in each.noise.scales.items()
    }
    assert planned.keys() == scales.keys()
    assert all(planned[key] == pytest.approx(float(scales[key])) for key in planned if key.endswith("count"))


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("delta", ["1e-6", "0"])
def test_a_wanted_accuracy_is_that_of_what_is_released(study, relation, delta):
    """By the released half-widths: of counts as integers, of sums with what is rounded."""
    from dpaccount.noise.proved import Proved
    from dpaccount.noise.receipt import rehearse
    from dpaccount.noise.samplers import Rehearsal

    head = HEAD.replace("1e-6", delta).replace('"replace-one"', f'"{relation}"')
    said = statistics(
        COUNT + "accuracy = 31.4",
        'name = "t"\nwhat = "sum"\ncolumn = "x"\naccuracy = 2000',
        'name = "h"\nwhat = "histogram"\ncolumn = "ward"',
    )
    claim = read_claim(study(said, head))
    subject = subject_of(claim)
    rows = np.column_stack([np.ones(600), np.zeros(600), np.linspace(-3, 60, 600)])
    view = subject.play(rows, rehearse(Proved(subject.proof(claim.guarantee.delta)), Rehearsal(1)), 0)
    for name, planned in zip(("n", "t", "h"), results.plan(claim).statistics, strict=True):
        ends = subject.accuracy(view)[name]
        half = (np.array(ends["high"]) - np.array(ends["low"])).max() / 2
        assert half <= planned.half_width * (1 + 1e-9)
        assert half <= {"n": 31.4, "t": 2000, "h": np.inf}[name]
        assert half >= planned.half_width * 0.9 - 1


KEYED = 'name = "k"\nwhat = "count"\nby = ["note"]'
REST = 'name = "rest"\nwhat = "histogram"\ncolumn = "ward"'


@deep(quick_every=4)
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize(
    ("law", "asked"),
    [
        ("laplace", (COUNT, stat("sum", 'column = "x"', "t"), stat("median", 'column = "x"', "m"))),
        ("gaussian", (COUNT, GROUPED, stat("variance", 'column = "x"', "v"))),
        (None, (COUNT, GROUPED, KEYED)),
    ],
)
@pytest.mark.parametrize(
    "units", ["rows = 600", 'unit_column = "who"\nmax_units = 300\nmax_contributions = 2']
)
def test_a_statistic_costs_alone_what_it_asks_for(study, relation, law, asked, units):
    """At most, and hardly less, by the theorem of it alone; what names none gets the rest."""
    wanted = [Fraction(k, 20) for k in range(3, 3 + len(asked))]
    said = [f"{each}\nepsilon = {float(epsilon)}" for each, epsilon in zip(asked, wanted, strict=True)]
    head = HEAD.replace('"replace-one"', f'"{relation}"').replace("rows = 600", units)
    head = head if law is None else head.replace("[guarantee]", f'law = "{law}"\n[guarantee]')
    claim = read_claim(study(statistics(*said, REST), head))
    found = results.plan(claim).statistics
    slack = 0.5 if law is None else 0.95  # beside values that nobody listed a row's δ is a part of the total
    for each, epsilon in zip(found, wanted, strict=False):
        assert slack * epsilon < each.epsilon <= float(epsilon)
    assert found[-1].epsilon > 0
    assert Fraction(9, 10) < point(subject_of(claim).proof(claim.guarantee.delta))[0] <= 1


def test_what_is_asked_for_beside_values_that_nobody_listed_is_left_for_it(study):
    head = HEAD.replace("epsilon = 1\n", "epsilon = 4\n")
    first, second = results.plan(
        read_claim(study(statistics(KEYED, GROUPED + "\nepsilon = 3"), head))
    ).statistics
    assert 0.9 < first.epsilon <= 1
    assert 2 < second.epsilon <= 3


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_the_law_is_the_one_that_a_study_names(study, law):
    """The automatic choice is the other one here, for 1 and for 12 statistics."""
    many = 12 if law == "laplace" else 1
    said = statistics(*(COUNT.replace('"n"', f'"n{k}"') for k in range(many)))
    for head in (HEAD, HEAD.replace("[guarantee]", f'law = "{law}"\n[guarantee]')):
        claim = read_claim(study(said, head.replace('"replace-one"', '"add-remove"')))
        assert (subject_of(claim).law == law) is ("law" in head.split("[guarantee]")[0])
        assert {each.noise.law for each in results.plan(claim).statistics} == {subject_of(claim).law}


@deep(quick_every=4)
@pytest.mark.parametrize("by", ["", '\nby = ["seen"]'])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_variance_and_values_that_nobody_listed_take_an_accuracy(study, relation, by):
    """A hundredth less noise is not needed for it; narrower intervals need more of the total."""
    head = HEAD.replace('"replace-one"', f'"{relation}"').replace("rows = 600", "rows = 60000")
    costs = []
    for times in (1, 2):
        variance = stat("variance", f'column = "x"{by}\naccuracy = {30 * times}', "v")
        claim = read_claim(study(statistics(variance, f"{KEYED}\naccuracy = {100 * times}", REST), head))
        found = results.plan(claim).statistics
        assert 0.98 * 30 * times < found[0].half_width <= 30 * times
        assert 0.95 * 100 * times < found[1].half_width <= 100 * times
        costs.append([each.epsilon for each in found])
    assert [more > less for more, less in zip(*costs, strict=True)] == [True, True, False]


@deep
def test_what_is_said_to_be_reachable_is(dpaccount, study):
    """Accuracies beyond the total: the sentence has some with which the plan is made."""
    other = 'name = "m"\nwhat = "mean"\ncolumn = "x"\naccuracy = 0.1'
    for rest in ((), ('name = "h"\nwhat = "histogram"\ncolumn = "ward"',)):
        code, out, err = dpaccount("plan", study(statistics(COUNT + "accuracy = 1", other, *rest)))
        assert (code, out, len(err.splitlines())) == (2, "", 1)
        reached = dict(part.split(" ± ") for part in err.strip().partition("ask for ")[2].split(", "))
        easier = statistics(COUNT + f"accuracy = {reached['n']}", other.replace("0.1", reached["m"]), *rest)
        assert dpaccount("plan", study(easier))[0] == 0
        near = statistics(
            COUNT + f"accuracy = {float(reached['n']) * 0.97}",
            other.replace("0.1", str(float(reached["m"]) * 0.97)),
            *rest,
        )
        assert rest or dpaccount("plan", study(near))[0] == 2
    keyed = f"{KEYED}\naccuracy = 1"
    for rest in ((REST,), (REST, COUNT + "epsilon = 0.8")):  # the second leaves less than an equal share
        err = dpaccount("plan", study(statistics(keyed, *rest)))[2]
        easier = keyed.replace("accuracy = 1", f"accuracy = {err.strip().rpartition('k ± ')[2]}")
        assert dpaccount("plan", study(statistics(easier, *rest)))[0] == 0


def test_more_noise_for_less_share(study):
    head = HEAD.replace("[guarantee]", 'law = "gaussian"\n[guarantee]')
    for share in (1, 2, 5):
        every = statistics(COUNT + f"share = {share}", COUNT.replace('"n"', '"m"'), GROUPED)
        found = results.plan(read_claim(study(every, head)))
        first, second, _ = (each.noise.scales["count"] for each in found.statistics)
        assert second / first == pytest.approx(share**0.5, rel=1e-4)


@deep
def test_a_smaller_total_has_more_noise(study):
    """Monotone in ε, in δ and in how many rows of a person count."""

    def noise(epsilon="1", delta="1e-6", more=""):
        head = HEAD.replace("epsilon = 1", f"epsilon = {epsilon}").replace("1e-6", delta)
        head = head.replace("rows = 600", "rows = 600\n" + more)
        return (
            results.plan(read_claim(study(statistics(COUNT, UNKNOWN), head)))
            .statistics[0]
            .noise.scales["count"]
        )

    assert noise("0.5") > noise("1") > noise("2")
    assert noise(delta="1e-9") > noise(delta="1e-6") > noise(delta="1e-3")
    several = [noise(more=f'unit_column = "who"\nmax_contributions = {many}') for many in (1, 2, 3)]
    assert several[1] == pytest.approx(2 * several[0], rel=2e-3)
    assert several[2] == pytest.approx(3 * several[0], rel=2e-3)


FEW = (COUNT, *(f'name = "{what}"\nwhat = "{what}"\ncolumn = "x"' for what in ("sum", "mean")))
BY_WARD = COUNT.replace('"n"', '"w"') + 'by = ["ward"]'


@deep(quick_every=5)
@pytest.mark.parametrize(
    ("said", "law", "widths"),
    [
        ((COUNT,), "laplace", [3]),
        ((*FEW, BY_WARD), "laplace", [12, 719, 3.08, 15]),  # with Gaussian noise 16.6, 994, 2.82, 19
        ([COUNT.replace('"n"', f'"n{k}"') for k in range(12)], "gaussian", [28.7] * 12),  # else 36
        ((COUNT + "accuracy = 4",), "laplace", [4]),  # with Gaussian noise 8.3 is the least
        ((COUNT, GROUPED), "laplace", [6, 3.64]),
        ((COUNT, UNKNOWN), "gaussian", [11.71]),
    ],
)
def test_few_statistics_get_laplace_noise_and_spend_no_delta(study, said, law, widths):
    """Where the noise of every one may be Laplace, and is narrower on average; data play no part."""
    claim = read_claim(study(statistics(*said), HEAD.replace('"replace-one"', '"add-remove"')))
    found = results.plan(claim).statistics
    assert {each.noise.law for each in found} == {law}
    for each, width in zip(found, widths, strict=False):
        assert each.half_width == pytest.approx(width, rel=0.01)
    assert point(subject_of(claim).proof(claim.guarantee.delta))[1] == (
        0 if law == "laplace" else Fraction("1e-6")
    )


# ------------------------------------------------------------------ releases


@pytest.fixture
def released(dpaccount, study, data, monkeypatch):
    """Release every kind of statistic, with few examples of each hypothesis."""
    monkeypatch.setattr(make, "EXAMPLES", 3)

    def run(said, *options):
        return dpaccount("release", study(said), "--quick", "--jobs", 1, *options)

    return run


@deep
@pytest.mark.statistical(0.05)  # the noise is secure: an interval misses a count in one of twenty statistics
def test_a_study_is_released_once(dpaccount, released, tmp_path):
    code, out, err = released(every(), "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["verdict"] == "CERTIFIED"
    assert found["proved"]["epsilon"]["upper"] <= 1
    assert set(found["statistics"]) == {f"the {what}" for what in EVERY}
    assert spent(dpaccount)["epsilon"]["upper"] <= 1 + 1e-9
    folder = tmp_path / "certificates" / "s"
    for what in EVERY:
        rows = found["statistics"][f"the {what}"]["rows"]
        with (folder / f"the-{what}.csv").open(newline="") as file:
            table = list(csv.DictReader(file))
        assert [list(row) for row in table] == [list(row) for row in rows]
        assert [row["estimate"] for row in table] == [str(row["estimate"]) for row in rows]
        for row in rows:
            assert row["low"] is None or row["low"] <= row["estimate"] <= row["high"]
    ranks = [(row["seen"], row["q"]) for row in found["statistics"]["the quantile"]["rows"]]
    assert ranks == [("false", "0.1"), ("false", "0.9"), ("true", "0.1"), ("true", "0.9")]
    assert list(found["statistics"]["the count"]["rows"][0]) == ["ward", "seen", "estimate", "low", "high"]
    code, again, err = released(every(), "--json", "--partitions", 3)
    assert (code, json.loads(again)["statistics"]) == (0, found["statistics"])
    assert spent(dpaccount)["epsilon"]["upper"] <= 1 + 1e-9
    code, shown, _ = dpaccount("check", folder / "certificate.json", "--json")
    assert (code, json.loads(shown)["valid"]) == (0, True)
    left = "the intervals of 'the ratio', 'the median', 'the quantile', 'the regression'"
    assert left in dpaccount("check", folder / "certificate.json")[1]
    assert left in (folder / "report.html").read_text().replace("&#39;", "'").replace("&#x27;", "'")
    for term, number, why in (("epsilon", "0.1", "costs more"), ("accuracy", "200", "less accurate")):
        forged = json.loads((folder / "certificate.json").read_text())
        for listed in (forged["claim"]["subject"], forged["subject"]):
            for each in (
                one for key in ("statistic", "statistics") for one in listed["parameters"].get(key, [])
            ):
                if each.get(term) is not None:
                    each[term] = number
        body = {member: each for member, each in forged.items() if member not in ("digest", "signature")}
        (folder / "forged.json").write_text(json.dumps({**forged, "digest": checker.digest(body)}))
        code, shown, _ = dpaccount("check", folder / "forged.json")
        assert (code, why in shown) == (1, True), shown


@deep
def test_several_rows_a_person_and_the_names_of_editions(dpaccount, released, study, tmp_path):
    """`unit_column`, `max_contributions`, `max_units`, which certificates call by their earlier names."""
    names = 'unit_column = "who"\nmax_contributions = 2\nmax_units = 300'
    said = statistics(COUNT + 'by = ["ward"]', 'name = "m"\nwhat = "mean"\ncolumn = "x"')
    study(said, HEAD.replace("rows = 600", names))
    code, out, err = dpaccount("release", tmp_path / "study.toml", "--quick", "--json", "--jobs", 1)
    assert code == 0, err
    held = json.loads((tmp_path / "certificates/s/certificate.json").read_text())
    assert {key: held["claim"]["data"][key] for key in ("id", "max_rows", "rows")} == {
        "id": "who",
        "max_rows": 2,
        "rows": 300,
    }
    assert sum(row["estimate"] for row in json.loads(out)["statistics"]["n"]["rows"]) > 0


@deep
def test_nothing_is_charged_by_a_dry_run(dpaccount, released, monkeypatch):
    code, out, err = released(statistics(COUNT), "--dry-run", "--json")
    assert code == 0, err
    assert json.loads(out)["release"] is None
    assert spent(dpaccount)["epsilon"]["upper"] == 0


@deep
def test_a_folder_has_the_tables_of_its_certificate_alone(dpaccount, released, tmp_path):
    """A renamed statistic leaves no table; `certify` leaves the certificate of a release."""
    assert released(statistics(COUNT))[0] == 0
    renamed = statistics(COUNT.replace('"n"', '"byc"'))
    code, _, err = released(renamed)
    assert (code, "holds another release" in err) == (2, True)
    assert released(renamed, "--new-release")[0] == 0
    folder = tmp_path / "certificates" / "s"
    assert [each.name for each in folder.glob("*.csv")] == ["byc.csv"]
    held = (folder / "certificate.json").read_bytes()
    code, _, err = dpaccount("certify", tmp_path / "study.toml", "--quick", "--jobs", 1)
    assert code == 0
    assert "certificates/s/certificate.json has a release, and stays as it is" in err
    assert (folder / "certificate.json").read_bytes() == held
    assert json.loads((folder / "unreleased" / "certificate.json").read_text())["release"] is None


OF_PERSONS = 'unit_column = "who"\nmax_contributions = 2\nmax_units = 300'


def counted_in(kind, units, folder):
    """Write the head of a study of the table as this kind of file, whose rows are units or persons'."""
    if kind == "parquet":
        pq.write_table(arrow_csv.read_csv(folder / "a.csv"), folder / "a.parquet")
    return HEAD.replace("a.csv", f"a.{kind}").replace("rows = 600", units)


@deep(quick_every=4)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("units", ["rows = 600", OF_PERSONS])
@pytest.mark.parametrize("partitions", [1, 3])
def test_a_plain_count_reads_no_column_and_sums_all_rows(study, data, tmp_path, kind, units, partitions):
    claim = read_claim(study(statistics(COUNT), counted_in(kind, units, tmp_path)))
    made_by = find(claim.use).made_by
    parts = [TablePart(number, partitions, bytes(32)) for number in range(partitions)]
    found = [table_parts.part_totals(BoundClaim(claim, made_by), part) for part in parts]
    assert sum(sums[0] for sums, *_ in found) == 600
    assert sum(units for _, units, _ in found) == (300 if units == OF_PERSONS else 600)


@deep
@pytest.mark.parametrize(
    ("kind", "units", "delta"),
    [
        ("csv", "rows = 600", "0"),
        ("csv", OF_PERSONS, "1e-6"),
        ("parquet", "rows = 600", "1e-6"),
        ("parquet", OF_PERSONS, "0"),
    ],
)
def test_a_plain_count_is_released(dpaccount, released, tmp_path, kind, units, delta):
    """The noise has a standard deviation below 30: beyond 300 is no false alarm in any lifetime."""
    head = counted_in(kind, units, tmp_path).replace("1e-6", delta)
    (tmp_path / "study.toml").write_text(head + statistics(COUNT))
    code, out, err = dpaccount("release", tmp_path / "study.toml", "--quick", "--json", "--jobs", 1)
    assert code == 0, err
    (row,) = json.loads(out)["statistics"]["n"]["rows"]
    assert abs(row["estimate"] - 600) < 300


# ------------------------------------------------------------------ refusals


REFUSED = [
    (COUNT + "accuracy = 0.001", "the accuracies need more than the total; raise"),
    (stat("sum", 'column = "x"\naccuracy = 1e-15'), "or ask for n ± "),
    (COUNT + "accuracy = 0", "n has 0 or less as its accuracy"),
    (COUNT + "accuracy = 1e400", "n has a bad accuracy"),
    (COUNT + "share = -1", "n has 0 or less as its share"),
    (COUNT + "share = 1e-400", "n has a bad share"),
    (COUNT + "share = 1\naccuracy = 300", "both share and accuracy are given"),
    (COUNT + 'where = "age >= note"', "note is a text, which has no arithmetic"),
    (COUNT + 'where = "age >= median"', "'median' is no declared column; a threshold is a number or a declared value"),
    (COUNT + 'where = "weight >= 3"', "'weight' is no declared column"),
    (COUNT + "where = \"ward == 'Z'\"", "ward is compared with 'Z'; known: 'A', 'B'"),
    (COUNT + "where = \"note == 'a'\"", "note is compared with 'a'"),
    (COUNT + 'where = ""', "the condition is empty"),
    (COUNT + 'where = "age"', "'age' is no comparison"),
    (COUNT + 'where = "__import__(\'os\')"', "'__import__' is no declared column"),
    (COUNT + f'where = "{"-" * 900}1 < age"', "has too many parts"),
    (COUNT + f'where = "{"(" * 300}seen{")" * 300}"', "is no condition"),
    (COUNT + 'where = "age < 1e999"', "beyond 1e300"),
    (COUNT + 'by = ["note", "big"]', "n is grouped, but big has more than 10000 values"),
    (COUNT + 'by = ["x", "note"]', "n is grouped, but x has no cells"),
    (COUNT + 'by = ["note"]\naccuracy = 3', "or ask for n ± "),
    (COUNT + 'by = ["note"]\nepsilon = 2', "need more than the total; lower the epsilons"),
    (COUNT + "epsilon = 2", "need more than the total; lower the epsilons, or raise the guarantee's"),
    (COUNT + "epsilon = 0.9\n[[statistic]]\n" + stat("sum", 'column = "x"\nepsilon = 0.9', "t"), "need more than the total"),
    (COUNT + "epsilon = 0", "n has 0 or less as its epsilon"),
    (COUNT + "epsilon = 0.5\naccuracy = 300", "both accuracy and epsilon are given; give one of them"),
    (stat("top", 'column = "note"'), "give k, from 1 to its 10000 cells"),
    (stat("top", 'column = "note"\nk = 2\nby = ["ward"]'), "note has no cells"),
    (stat("mean", 'column = "x"\nby = ["note"]'), "n is grouped, but note has no cells"),
    (COUNT + 'by = ["note"]\nbins = [0, 1]', "bins are for a histogram or top"),
    (stat("top", 'column = "note"\nk = 2\nbins = [0, 1]'), "unlisted values; leave bins out"),
    (COUNT + 'by = ["big"]', "n is grouped, but big has more than 10000 values"),
    (COUNT + 'by = ["ward", "ward"]', "at most 3, each once"),
    (COUNT + 'by = ["ward", "age", "seen", "low"]', "at most 3, each once"),
    (COUNT + 'by = "ward"', "give a list"),
    (COUNT + 'by = ["low"]', "n has the column 'low' beside its 'low'"),
    (COUNT + 'column = "x"', "leave column out"),
    (COUNT + "bins = [0, 1]", "bins are for a histogram or top"),
    (COUNT + "foo = 1", "unknown key 'foo'"),
    (stat("max"), "unknown value 'max'"),
    (stat("mean"), "name its column"),
    (stat("mean", 'column = "weight"'), "no column 'weight' is declared"),
    (stat("mean", 'column = "ward"'), "a mean of ward, a category"),
    (stat("histogram", 'column = "note"'), "note has no cells"),
    (stat("histogram", 'column = "x"'), "x has no cells; give bins"),
    (stat("histogram", 'column = "ward"\nby = ["ward"]'), "n is a histogram of ward by ward"),
    (stat("histogram", 'column = "age"\nbins = [2, 1]'), "bins do not rise"),
    (stat("histogram", 'column = "age"\nbins = [0, 1e400]'), "is out of range"),
    (stat("histogram", 'column = "age"\nby = ["ward", "seen"]\nbins = ' + str(list(range(9000)))), "groups"),
    (stat("top", 'column = "ward"'), "give k"),
    (stat("top", 'column = "ward"\nk = 3'), "give k, from 1 to its 2 cells"),
    (stat("quantile", 'column = "x"'), "give q between 0 and 1"),
    (stat("median", 'column = "x"\nq = 0.3'), "q is for a quantile"),
    (stat("quantile", 'column = "x"\nq = []'), "give q between 0 and 1"),
    (stat("quantile", 'column = "x"\nq = [0.5, 1]'), "give q between 0 and 1"),
    (stat("quantile", 'column = "x"\nq = [0.9, 0.1]'), "does not rise"),
    (stat("quantile", 'column = "x"\nq = [0.1, 0.1]'), "does not rise"),
    (stat("quantile", 'column = "x"\nq = "many"'), "q"),
    (stat("quantile", 'column = "x"\nq = [0.1, 0.9]\nmethod = "exponential"'), "leave method out"),
    (stat("median", 'column = "x"\naccuracy = 1'), "whose interval depends on the data; give an epsilon or a share"),
    (stat("regression", 'column = "x"\non = ["age"]\naccuracy = 1'), "whose interval depends on the data; give"),
    (stat("regression", 'column = "x"\non = ["x"]'), "other columns, without by"),
    ('name = "../n"\nwhat = "count"', "a statistic is named '../n'"),
    ('name = "accuracy"\nwhat = "count"', "a statistic is called 'accuracy'"),
    (f'name = "a{"語" * 99}"\nwhat = "count"', "is too long for a file"),
    ("name = 3\nwhat = 'count'", "give a string"),
    (COUNT + "[[statistic]]\n" + COUNT, "two statistics are called 'n'"),
    (stat("count").replace('"n"', '"a b"') + "[[statistic]]\n" + stat("count").replace('"n"', '"a-b"'), "would be one file"),
    (stat("count") + "[[statistic]]\n" + stat("count").replace('"n"', '"N"'), "would be one file"),
]  # fmt: skip
HEADS = [
    ("epsilon = 1", "epsilon = 0", "the total is out of range"),
    ("epsilon = 1", "epsilon = 1e400", "the total is out of range"),
    ("epsilon = 1", "epsilon = 1000", "no Gaussian noise is proved to meet this total"),
    ("delta = 1e-6", "delta = 1e-300", "no Gaussian noise is proved to meet this total"),
    ("delta = 1e-6", "delta = 1", "the total is out of range"),
    ('relation = "replace-one"', 'relation = "bounded-row"\nradius = 1', "known: replace-one, add-remove"),
    ("rows = 600", "rows = 600\nmax_units = 600", "both max_units and rows are given"),
    ("rows = 600", "rows = 600\nmax_contributions = 2", "max_contributions goes with id"),
    ("rows = 600", 'max_units = 1000000000\nunit_column = "who"\nmax_contributions = 1000', "n/count has noise of"),
    ("[guarantee]", '[guarantee]\nmodel = "local"', "a study's is central"),
    ("[guarantee]", 'law = "laplace"\n[guarantee]', "unlisted values need Gaussian noise; leave law out"),
    ("[guarantee]", 'law = "normal"\n[guarantee]', "unknown value 'normal'"),
    ("delta = 1e-6", "delta = 0", "n counts unlisted values; give the guarantee a delta > 0"),
    ('name = "s"', 'name = "s"\nfoo = 1', "unknown key 'foo'"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "why"), REFUSED)
def test_a_wrong_statistic_is_one_sentence(dpaccount, study, said, why):
    path = study(f"[[statistic]]\n{said}")
    with pytest.raises(InputError) as error:
        results.plan(read_claim(path))
    assert why in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("old", "new", "why"), HEADS)
def test_a_wrong_head_is_one_sentence(study, old, new, why):
    assert old in HEAD
    by = '\nby = ["note"]' if "unlisted values" in why else ""
    more = [UNKNOWN] if "Gaussian" in why or "noise of" in why else []
    with pytest.raises(InputError) as error:
        results.plan(read_claim(study(statistics(COUNT + by, *more), HEAD.replace(old, new, 1))))
    assert why in str(error.value)


@pytest.mark.parametrize("what", ["variance", "regression", "sum", "mean"])
def test_pure_privacy_has_laplace_noise_for_several_sums_of_numbers(study, what):
    more = 'on = ["age"]' if what == "regression" else 'by = ["ward"]'
    path = study(statistics(stat(what, f'column = "x"\n{more}')), HEAD.replace("1e-6", "0"))
    (planned,) = results.plan(read_claim(path)).statistics
    assert planned.noise.law == "laplace"
    assert planned.epsilon <= 1


def test_a_refused_study_charges_nothing(dpaccount, study, data):
    path = study(statistics(COUNT, COUNT))
    for command in ("plan", "release", "certify"):
        code, out, err = dpaccount(command, path, "--json")
        assert (code, out) == (2, "")
        assert err.splitlines()[-1].startswith(f"error: {path}: two statistics")
    assert spent(dpaccount)["epsilon"]["upper"] == 0


def test_what_is_no_study_is_refused(dpaccount, study):
    path = study("", "schema = 'dpaccount/study/1'\nname = 's'\nstatistic = []\n[guarantee]\n[data]\n")
    assert "no statistic; give one [[statistic]] or more" in dpaccount("plan", path)[2]
    path = study("", HEAD[: HEAD.index("[data]")] + statistics(COUNT))
    assert "the key 'data' is missing" in dpaccount("plan", path)[2]
    assert (
        "no such file" in dpaccount("plan", "none.toml")[2].lower() or dpaccount("plan", "none.toml")[0] == 2
    )


# ------------------------------------------------------------------ text


def test_text_shows_no_number_to_fewer_digits_than_it_has():
    row = {"estimate": 1234567.0, "low": 1234567.0, "high": 1234567.0}
    assert numbers(row) == ["1234567", "1234567 … 1234567"]


def test_counts_are_shown_as_whole_numbers():
    row = {"estimate": 212.0, "low": 208.0, "high": 216.0}
    assert numbers(row) == ["212", "208 … 216"]
    assert numbers({**row, "low": 208.25}) == ["212.0", "208.2 … 216.0"]


@looped("half", [0.004, 0.3, 7, 4_000, 3e6])
def test_ends_are_rounded_outwards_and_estimates_to_the_noise(half):
    row = {"estimate": 22916.123, "low": 22916.123 - half, "high": 22916.123 + half}
    estimate, ends = numbers(row)
    low, high = map(float, ends.split(" … "))
    assert low <= row["low"] <= row["high"] <= high
    assert abs(float(estimate) - row["estimate"]) <= half / 10


def test_a_plan_says_of_what_groups_a_width_is():
    noise = StatisticNoise("gaussian", {"sum": 3.0})
    plan = StudyPlan("s", StudyTotal(1, 1e-6), [PlannedStatistic("m", noise, 0.5, 1.25, 40, None)])
    assert "1.3 for 40 rows" in str(plan)


@pytest.mark.parametrize("column", ["note", "ward"])
def test_a_plan_refuses_no_size(study, column):
    """Each row counts by itself, also by values that nobody listed: tests take few rows."""
    head = HEAD.replace("rows = 600", "rows = 4000000").replace("epsilon = 1\n", "epsilon = 1.5\n")
    claim = read_claim(study(statistics(COUNT + f'by = ["{column}"]'), head))
    assert results.plan(claim).statistics
