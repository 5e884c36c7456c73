"""`curate`, and a modeler's `ask` and `tell`: what is handed out, what it says, and what is refused."""

import json
import os
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from audits import consistency
from audits.certificate.document import unsealed
from audits.claim import read_claim
from audits.cli import answers, run
from dpaccount.errors import InputError
from papers.kharkovskii import published_certificate as published
from papers.kharkovskii.curate import Order, _out_of_bounds, _validated_numbers, curate
from papers.kharkovskii.po_curator import PoCurator
from tests.depth import deep

UNIT = "one row moves by at most one unit"
SOUND = {"use": "k-norm", "rate": 2, "bits": 8}
BROKEN = {"use": "po-curator", "dimension": 1}


def claim(folder, rows=8, name="rows", epsilon=3, delta=0, unit=f'unit = "{UNIT}"', **subject):
    use = subject.pop("use")
    lines = [f"{key} = {value}" for key, value in {"radius": 25, **subject}.items()]
    column = '{type = "number", low = -25, high = 25}'
    path = folder / f"{name}.toml"
    path.write_text(
        f'schema = "dpaccount/claim/1"\nname = "{name}"\n'
        f'[guarantee]\nmodel = "central"\n{unit}\nrelation = "bounded-row"\nradius = 1\n'
        f"epsilon = {epsilon}\ndelta = {delta}\n"
        f'[subject]\nuse = "{use}"\n[subject.parameters]\ncolumns = ["a", "b"]\n' + "\n".join(lines) + "\n"
        f"[audit]\ntrials = 60\n[data]\nrows = {rows}\n[data.columns]\na = {column}\nb = {column}\n"
    )
    return path


def table(folder, rows=8, name="in.csv", cells=None):
    """Write rows that have no noise; `cells` replaces the first row."""
    data = np.random.default_rng(1).uniform(-9, 9, size=(rows, 2)).round(3)
    lines = [",".join(map(str, row)) for row in data.tolist()]
    if cells is not None:
        lines[0] = cells
    (folder / name).write_text("a,b\n" + "\n".join(lines) + "\n")
    return folder / name


def ledger(folder):
    url = f"sqlite:///{folder}/budget.db"
    words = ["--epsilon", "9", "--delta", "0", "--unit", UNIT, "--relation", "bounded-row, radius 1"]
    assert run(["ledger", "init", url, *words, "--measure", "pure"]) == 0
    return url


def charges(url):
    return answers.show(url)["entries"]


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """One certified claim for the whole file: nothing is released by making it."""
    folder = tmp_path_factory.mktemp("certified")
    path = claim(folder, **SOUND)
    assert run(["certify", str(path), "--out", str(folder / "made"), "--jobs", "1"]) == 0
    return path, folder / "made" / "certificate.json"


def hand_out(within, certified, target="out.csv", **more):
    path, standing = certified
    return curate(Order(path, within / "in.csv", within / target, more.pop("url"), standing, **more))


@deep
def test_what_is_handed_out_is_charged_once_and_the_checker_takes_its_certificate(tmp_path, certified):
    data, url = np.loadtxt(table(tmp_path), delimiter=",", skiprows=1), ledger(tmp_path)
    made = hand_out(tmp_path, certified, url=url)
    again = hand_out(tmp_path, certified, "again.csv", url=url)
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "again.csv").read_bytes()
    assert charges(url) == 1
    shown = np.loadtxt(tmp_path / "out.csv", delimiter=",", skiprows=1)
    assert np.array_equal(shown, made.rows)
    assert np.array_equal(made.rows, again.rows)
    assert (shown != data).all()  # no row stays as it is
    assert consistency.judged(json.dumps(made.certificate).encode())[0] == "CERTIFIED"
    facts = json.loads((tmp_path / "out.csv.json").read_text())
    assert facts["noise_variance"] == pytest.approx(3 / 4)
    assert facts["outputs"] == "in the clear: not protected"
    assert any(text.startswith("Not protected: outputs") for text in made.certificate["hazards"])
    assert any("A row that is replaced" in text for text in made.certificate["hazards"])


@deep
def test_rows_beyond_the_norm_are_clipped_and_counted_or_refused(tmp_path, certified):
    table(tmp_path, cells="24,24"), (url := ledger(tmp_path))
    with pytest.raises(InputError, match="1 rows are longer than radius = 25"):
        hand_out(tmp_path, certified, url=url, out_of_bounds="refuse")
    assert not list(tmp_path.glob("out*"))
    assert hand_out(tmp_path, certified, url=url).clipped == 1


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ("1", "line 2 has 1 cells"),
        ("nan,1", "no finite number"),
        ("x,1", "no finite number"),
        ("1,2,3", "line 2 has 3"),
    ],
)
@deep
def test_a_table_that_is_none_is_refused_and_nothing_is_written_or_charged(tmp_path, certified, cells, said):
    table(tmp_path, cells=cells), (url := ledger(tmp_path))
    with pytest.raises(InputError, match=said):
        hand_out(tmp_path, certified, url=url)
    assert not list(tmp_path.glob("out*"))
    assert charges(url) == 0


@deep
def test_again_hands_out_a_new_release_and_charges_it(tmp_path, certified, capsys):
    table(tmp_path), (url := ledger(tmp_path))
    words = ["curate", str(tmp_path / "in.csv"), "--claim", str(certified[0]), "--ledger", url]
    words += ["--certificate", str(certified[1]), "--out", str(tmp_path / "made")]
    for name in ("one.csv", "two.csv", "new.csv"):
        assert run([*words, str(tmp_path / name), *(["--again"] if name == "new.csv" else [])]) == 0
    one, two, new = ((tmp_path / f"{name}.csv").read_bytes() for name in ("one", "two", "new"))
    assert one == two != new
    assert charges(url) == 2
    capsys.readouterr()
    other = f"sqlite:///{tmp_path}/other.db"
    counted = ["--epsilon", "9", "--unit", "one patient", "--relation", "bounded-row, radius 1"]
    assert run(["ledger", "init", other, *counted, "--delta", "0", "--measure", "pure"]) == 0
    words[words.index(url)], words[-1] = other, str(tmp_path / "elsewhere")
    assert run([*words, str(tmp_path / "patients.csv")]) == 2
    assert "its ledger's 'one patient'; give both the same text" in capsys.readouterr().err
    assert charges(other) == 0
    assert not (tmp_path / "patients.csv").exists()
    kept = json.loads((tmp_path / "made" / "certificate.json").read_text())
    assert np.array_equal(
        kept["release"]["report"]["rows"], np.loadtxt(tmp_path / "new.csv", delimiter=",", skiprows=1)
    )


@deep
@pytest.mark.parametrize("failing", ["out.csv", "out.csv.json", "made"])
def test_nothing_half_written_stays_and_what_is_charged_is_kept(tmp_path, certified, monkeypatch, failing):
    table(tmp_path), (url := ledger(tmp_path))
    link, folder = os.link, tmp_path / "made"

    def full(source, target):
        if Path(target).name == failing:
            raise OSError(28, "No space left on device")
        link(source, target)

    if failing == "made":
        folder.write_text("no folder")
    monkeypatch.setattr(os, "link", full)
    with pytest.raises(InputError, match=r"No space left|made: "):
        hand_out(tmp_path, certified, url=url, folder=folder)
    monkeypatch.setattr(os, "link", link)
    assert not [file.name for file in tmp_path.iterdir() if "out.csv" in file.name]
    assert charges(url) == 1
    folder.unlink() if failing == "made" else None
    hand_out(tmp_path, certified, url=url, folder=folder)
    assert charges(url) == 1
    assert (tmp_path / "out.csv").exists()
    assert (tmp_path / "out.csv.json").exists()
    assert (folder / "certificate.json").exists()


@deep
def test_a_claim_that_leaves_the_noise_open_gets_one_with_its_reason(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source, path, chosen = table(tmp_path), claim(tmp_path, delta=1e-5, use="row-noise"), "k-norm"
    assert run(["certify", str(path), "--jobs", "1"]) == 0
    url = f"sqlite:///{tmp_path}/budget.db"
    words = ["--epsilon", "9", "--delta", "0.001", "--unit", UNIT, "--relation", "bounded-row, radius 1"]
    assert run(["ledger", "init", url, *words, "--measure", "approximate"]) == 0
    capsys.readouterr()
    assert run(["curate", str(source), "out.csv", "--claim", str(path), "--ledger", url, "--json"]) == 0
    shown = capsys.readouterr()
    why = read_claim(path).because
    assert f"noise: {chosen}, because {why}" in shown.err
    assert "per number" in why
    made = json.loads(Path(json.loads(shown.out)["certificate"]).read_text())
    assert made["claim"]["subject"]["use"] == chosen
    assert made["claim"]["subject"]["parameters"]["rate"] > 2.9
    assert f"The claim left the noise open, and public numbers chose it: {why}." in made["hazards"]
    assert json.loads((tmp_path / "out.csv.json").read_text())["noise_chosen"] == why
    assert run(["check", json.loads(shown.out)["certificate"]]) == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("radius = 25", ""), "'radius' is missing"),
        (('columns = ["a", "b"]', ""), "give column or columns"),
        (("[data]", "[ignored]"), "unknown key"),
        (("radius = 25", "radius = 25\nrate = 2"), "unknown key"),
        (("epsilon = 3", "epsilon = 0"), "needed epsilon > 0"),
    ],
)
def test_an_open_claim_that_says_too_little_or_too_much_is_refused(tmp_path, change, said):
    path = claim(tmp_path, use="row-noise")
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(InputError, match=said):
        read_claim(path)


@deep
def test_the_noise_that_is_chosen_differs_with_the_claim(tmp_path):
    path = claim(tmp_path, use="row-noise", delta=1e-5, epsilon=20)
    assert read_claim(path).use == "k-norm"
    wide = ", ".join(f'"c{k}"' for k in range(20))
    text = path.read_text().replace('"a", "b"', wide)
    column = '{type = "number", low = -25, high = 25}'
    path.write_text(
        text.split("[data.columns]")[0]
        + "[data.columns]\n"
        + "\n".join(f"c{k} = {column}" for k in range(20))
    )
    found = read_claim(path)
    assert (found.use, "at d = 20" in found.because) == ("gaussian-rows", True)
    assert found.parameters.value["sigma"] > 0


def test_the_published_curator_is_listed_and_certifies_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["subjects", "po-curator", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert "published" in json.dumps(listed)
    assert run(["certify", str(claim(tmp_path, 40, delta=1e-5, **BROKEN)), "--json"]) == 3
    assert "kharkovskii-theorem1" in capsys.readouterr().out


@deep
def test_a_table_of_another_size_is_refused(tmp_path, certified):
    table(tmp_path, rows=9), (url := ledger(tmp_path))
    with pytest.raises(InputError, match="found 9 rows; the claim declares 8"):
        hand_out(tmp_path, certified, url=url)
    assert not list(tmp_path.glob("out*"))


@deep
def test_no_file_is_replaced(tmp_path, certified):
    table(tmp_path), (url := ledger(tmp_path))
    for name in ("out.csv", "out.csv.json"):
        (tmp_path / name).write_text("mine")
        with pytest.raises(InputError, match="is there already"):
            hand_out(tmp_path, certified, url=url)
        assert (tmp_path / name).read_text() == "mine"
        (tmp_path / name).unlink()


def test_a_single_column_is_looked_at_like_several(tmp_path):
    """Else a cell that is no number would count as the least one, and no row as beyond the norm."""
    path, source = claim(tmp_path, **SOUND), table(tmp_path, cells="nan,1")
    path.write_text(path.read_text().replace('columns = ["a", "b"]', 'column = "a"'))
    with pytest.raises(InputError, match="line 2 holds a cell that is no finite number"):
        _validated_numbers(source, read_claim(path))
    assert _validated_numbers(table(tmp_path), read_claim(path)).shape == (8, 1)


def test_a_folder_that_is_not_there_and_two_ledgers_are_refused_before_anything_is_charged(tmp_path):
    path, source = claim(tmp_path, **SOUND), table(tmp_path)
    with pytest.raises(InputError, match="nowhere is no folder"):
        curate(Order(path, source, tmp_path / "nowhere" / "out.csv", "sqlite:///a.db"))
    named = 'file = "in.csv"\nledger = "sqlite:///b.db"\n'
    path.write_text(path.read_text().replace("[data]\n", f"[data]\n{named}"))
    with pytest.raises(InputError, match="names the ledger that pays; leave --ledger out"):
        curate(Order(path, source, tmp_path / "out.csv", "sqlite:///a.db"))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["in.csv", "rows.toml"]


@deep
def test_without_a_certificate_a_ledger_or_a_unit_nothing_is_handed_out(tmp_path, certified, capsys):
    table(tmp_path)
    path, _ = certified
    words = ["curate", str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), "--claim"]
    assert run([*words, str(path)]) == 2
    assert "--ledger is missing" in capsys.readouterr().err
    assert (
        run([*words, str(path), "--ledger", "sqlite:///x.db", "--certificate", str(tmp_path / "no.json")])
        == 2
    )
    assert "certify the claim first" in capsys.readouterr().err
    bare = claim(tmp_path, name="bare", unit="", **SOUND)
    assert run([*words, str(bare), "--ledger", "sqlite:///x.db"]) == 2
    assert "'unit' is missing" in capsys.readouterr().err
    other = claim(tmp_path, name="other", rows=9, **SOUND)
    with pytest.raises(InputError, match="another claim"):
        curate(Order(other, tmp_path / "in.csv", tmp_path / "out.csv", "sqlite:///x.db", certified[1]))
    assert not list(tmp_path.glob("out*"))


# ------------------------------------------------------------------ as published


@deep
def test_the_published_transform_is_refused_then_refuted_and_marked(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, source = claim(tmp_path, 2000, epsilon=5, delta=1e-5, **BROKEN), table(tmp_path, 2000)
    words = ["curate", str(source), str(tmp_path / "out.csv"), "--claim", str(path)]
    assert run(words) == 2
    assert "protects nobody" in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()
    assert run([*words, "--published-unsound", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] == "REFUTED"
    text = Path(answer["certificate"]).read_text()
    assert run(["check", answer["certificate"]]) == 1
    assert "valid: REFUTED" in capsys.readouterr().out
    assert (tmp_path / "out.csv").read_text().startswith("not_private_1\n")
    # the file's own rows enter no certificate: it is the same whatever they are
    assert not any(cell in text for cell in source.read_text().replace("\n", ",").split(",") if len(cell) > 5)
    assert json.loads((tmp_path / "out.csv.json").read_text())["verdict"] == "REFUTED"


@deep
def test_the_test_of_column_spaces_tells_all_runs_apart_at_ten_thousand_rows(tmp_path):
    path = claim(tmp_path, 10_000, delta=1e-5, use="po-curator", dimension=10)
    held, out = published._scores(PoCurator(10_000, 2, 10), (3.0, 1e-5), 1)
    assert held.min() > 12
    assert out.max() < 5
    document = unsealed(published.refuted(read_claim(path), PoCurator(10_000, 2, 10)))
    assert (document["verdict"], document["audit"]["points"][0]["alarms"]) == ("REFUTED", 0)


def test_a_sound_curator_is_not_refuted_by_that_test(monkeypatch):
    """Noise on rows leaves the column space whatever the data: the test is of the transform, not of itself."""

    def noisy(found, columns, rng):
        return found.rows @ rng.normal(size=(2, columns)) + rng.normal(size=(len(found.rows), columns))

    monkeypatch.setattr("papers.kharkovskii.published.LiftedRows.projected", noisy)
    held, out = published._scores(PoCurator(300, 2, 3), (3.0, 1e-5), 1)
    assert max(held.max(), out.max()) < published.MIN_DIGITS_INSIDE


@pytest.mark.parametrize(
    ("change", "said"),
    [({"rows": 3}, "another case of the theorem"), ({"epsilon": 0.01}, "beyond every singular value")],
)
def test_what_the_published_transform_cannot_be_run_on(tmp_path, change, said):
    rows = change.pop("rows", 500)
    path, source = claim(tmp_path, rows, delta=1e-5, **{**BROKEN, **change}), table(tmp_path, rows)
    with pytest.raises(InputError, match=said):
        curate(Order(path, source, tmp_path / "out.csv", unsound=True))
    assert not list(tmp_path.glob("out*"))


@deep
def test_the_switch_is_for_the_published_transform_alone(tmp_path, certified):
    table(tmp_path)
    with pytest.raises(InputError, match="goes with a claim about po-curator"):
        hand_out(tmp_path, certified, url=None, unsound=True)


# ------------------------------------------------------------------ the modeler


@deep
def test_two_parties_exchange_files_alone(tmp_path, certified, capsys):
    table(tmp_path)
    hand_out(tmp_path, certified, url=ledger(tmp_path))
    state = str(tmp_path / "model.state")
    capsys.readouterr()
    asked = []
    for t in range(8):
        begin = ["--table", str(tmp_path / "out.csv"), "--seed", "5"] if t == 0 else []
        assert run(["ask", state, *begin]) == 0
        asked.append(capsys.readouterr().out.strip())
        assert run(["ask", state]) == 0
        assert capsys.readouterr().out.strip() == asked[-1]
        assert run(["tell", state, asked[-1], str(-t / 3)]) == 0
        capsys.readouterr()
    assert sorted(map(int, asked)) == list(range(8))
    assert run(["ask", state]) == 2
    assert "all 8 rows have been asked" in capsys.readouterr().err


@deep
def test_a_modeler_refuses_what_is_not_its_own_and_keeps_its_file(tmp_path, certified, capsys):
    table(tmp_path)
    url = ledger(tmp_path)
    hand_out(tmp_path, certified, url=url)
    state = tmp_path / "model.state"
    assert run(["ask", str(state), "--table", str(tmp_path / "out.csv")]) == 0
    assert run(["tell", str(state), "3", "1.5"]) == 0
    before = state.read_bytes()
    table(tmp_path, name="more.csv", cells="1,1")
    curate(Order(certified[0], tmp_path / "more.csv", tmp_path / "two.csv", url, certified[1]))
    capsys.readouterr()
    for words, said in (
        (["tell", str(state), "3", "1"], "a row is asked once"),
        (["tell", str(state), "8", "1"], "numbered 0 to 7"),
        (["tell", str(state), "2", "nan"], "VALUE"),
        (["ask", str(state), "--table", str(tmp_path / "two.csv")], "state of another table"),
        (["ask", str(state), "--table", str(tmp_path / "in.csv")], "the facts beside it"),
        (["ask", str(state), "--end"], "about people"),
        (["ask", str(certified[0])], "--state is missing"),
    ):
        assert run(words) == 2, words
        assert said in capsys.readouterr().err
        assert state.read_bytes() == before
    (tmp_path / "out.csv").write_text((tmp_path / "out.csv").read_text().replace("1", "2", 1))
    assert run(["ask", str(state)]) == 2
    assert "fetch both again" in capsys.readouterr().err
    state.write_bytes(before.replace(b"1.5", b"2.5"))
    assert run(["ask", str(state), "--table", str(tmp_path / "two.csv")]) == 2
    assert "is damaged" in capsys.readouterr().err


@deep
def test_outputs_may_be_looked_for_at_their_least(tmp_path):
    from bandits.outsourced_optimisation.saved import Settings, opened

    points = np.stack([np.linspace(-5, 5, 60)] * 2, axis=1)
    (tmp_path / "t.csv").write_text("z1,z2\n" + "\n".join(f"{a!r},{b!r}" for a, b in points.tolist()) + "\n")
    import hashlib

    digest = hashlib.sha256((tmp_path / "t.csv").read_bytes()).hexdigest()
    (tmp_path / "t.csv.json").write_text(json.dumps({"sha256": digest, "noise_variance": 0.01}))
    best = []
    for t in range(15):
        with opened(
            tmp_path / "m.state", tmp_path / "t.csv" if t == 0 else None, Settings(smallest=True)
        ) as one:
            index = one.ask()
            best.append(float(((points[index] - 2) ** 2).sum()))
            one.tell(index, best[-1])
    assert min(best) < 0.2
    assert Fraction(one.answered) == 15


def test_cells_beyond_the_declared_bounds_count_as_clipped_like_rows_beyond_the_norm(tmp_path):
    """They are moved to the bound on reading: whoever asks for a refusal must not get them moved unsaid."""
    path = claim(tmp_path, **SOUND)
    path.write_text(path.read_text().replace("low = -25, high = 25", "low = -9, high = 9"))
    read = read_claim(path)
    for cells, beyond in (("9,-9", 0), ("20,1", 1), ("1,-9.5", 1)):
        source = table(tmp_path, cells=cells)
        order = Order(path, source, tmp_path / "out.csv", out_of_bounds="refuse")
        if not beyond:
            assert _out_of_bounds(order, read, _validated_numbers(source, read), 25.0) == 0
            continue
        with pytest.raises(InputError, match="1 rows are longer than radius = 25, or beyond low or high"):
            _out_of_bounds(order, read, _validated_numbers(source, read), 25.0)
        assert (
            _out_of_bounds(replace(order, out_of_bounds="clip"), read, _validated_numbers(source, read), 25.0)
            == 1
        )
