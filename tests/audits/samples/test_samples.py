"""Samples drawn elsewhere: their bound, its error, the formats, and what is refused."""

import json
from fractions import Fraction as F  # noqa: N817
from itertools import product

import numpy as np
import pytest

from audits import consistency
from audits.attack.runs import Challenge
from audits.certificate.document import seal
from audits.samples.reading import read_samples
from audits.samples.two_samples import _chance_of_alike, compare
from audits.tradeoff import MuClaim
from dpaccount import checker
from tests.depth import deep


def gaussian(runs, shift, seed):
    return np.round((shift + np.random.default_rng(seed).normal(size=runs)) * 1024) / 1024


def write(path, values):
    values = np.asarray(values)
    if path.suffix == ".npy":
        np.save(path, values)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(value) + "\n" for value in values.tolist()))
    elif path.suffix == ".parquet":
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table({"value": values}), path)
    else:
        path.write_text("value\n" + "".join(f"{value!r}\n" for value in values.tolist()))
    return path


@deep
@pytest.mark.parametrize("ending", ["csv", "jsonl", "npy", "parquet"])
def test_every_format_gives_the_same_bound(dpaccount, tmp_path, ending):
    for name, shift in (("a", 0.0), ("b", 2.0)):
        write(tmp_path / f"{name}.{ending}", gaussian(2000, shift, ord(name)))
    code, out, _ = dpaccount("audit", "--samples", f"a.{ending}", f"b.{ending}", "--mu", "1", "--json")
    answer = json.loads(out)
    assert (code, answer["verdict"], answer["runs"]) == (1, "REFUTED", 4000)
    assert 1.4 < answer["mu_lower"] < 2
    assert "saw neither the code nor the datasets" in answer["witness"]["findings"][0]
    assert answer["witness"]["samples"]["left"]["results"] == 2000


def stored(path, rows):
    """Write rows of cells; a NumPy array with a text holds texts."""
    if path.suffix == ".csv":
        names = ",".join(f"c{k}" for k in range(len(rows[0])))
        path.write_text("\n".join([names, *(",".join(map(str, row)) for row in rows)]))
    elif path.suffix == ".jsonl":
        results = [row[0] if len(row) == 1 else {f"c{k}": cell for k, cell in enumerate(row)} for row in rows]
        path.write_text("".join(json.dumps(result) + "\n" for result in results))
    elif path.suffix == ".npy":
        np.save(path, np.array(rows))
    else:
        import pyarrow as pa
        from pyarrow import parquet

        columns = [np.array(column).tolist() for column in zip(*rows, strict=True)]
        parquet.write_table(pa.table({f"c{k}": column for k, column in enumerate(columns)}), path)
    return path


def gaps(every, *, left=0.0, right=2.0):
    """Return two sets of numbers of which one in so many is missing; a left one always is."""
    sides = [[[x] for x in gaussian(200, shift, int(shift) + 3).tolist()] for shift in (left, right)]
    for rows in sides if every else ():
        rows[::every] = [["none"]] * len(rows[::every])
    sides[0][5] = ["none"]
    return sides


def pairs(missing):
    """Return two sets of a number and a text; a number may be missing."""
    made = []
    for side in (0, 1):
        rng = np.random.default_rng(side)
        numbers, words = rng.normal(size=200).tolist(), rng.choice(["yes", "no"], 200, p=[0.8, 0.2])
        made.append([[x, str(word if side else "yes")] for x, word in zip(numbers, words, strict=True)])
        made[-1][:missing] = [["missing", word] for _, word in made[-1][:missing]]
    return made


@pytest.mark.parametrize(
    "sides",
    [gaps(0), gaps(20), gaps(2, right=0.1), [[["yes"]] * 200, [["yes"], ["no"]] * 100], pairs(0)],
    ids=["one text", "some missing", "half missing", "texts", "two columns"],
)
def test_the_same_results_have_the_same_bound_in_every_format(tmp_path, sides):
    """A cell is a number or a text by itself, whatever else its column holds."""
    found = {}
    for ending in ("csv", "jsonl", "npy", "parquet"):
        paths = [stored(tmp_path / f"{k}.{ending}", rows) for k, rows in enumerate(sides)]
        compared = compare(*read_samples(*paths), Challenge(F(1, 10), F(0), 400, F(1, 20), 0))
        found[ending] = compared.reached, compared.leaked
    assert len(set(found.values())) == 1, found
    assert found["csv"][0].epsilon_lower > 0.4 or sides[1][0][0] == "none"


def test_a_text_in_a_column_of_numbers_moves_no_other_cell(tmp_path):
    bounds = []
    for missing in (0, 4):
        for ending in ("csv", "npy", "parquet"):
            paths = [stored(tmp_path / f"{k}.{ending}", rows) for k, rows in enumerate(pairs(missing))]
            left, right = read_samples(*paths)
            bounds.append(compare(left, right, Challenge(F(1, 10), F(0), 400, F(1, 20), 0)).reached)
            assert {len(each.numbers) for each in [*left.results, *right.results]} == {1}
            assert {len(each.labels) for each in right.results} == {1 + (missing > 0)}
    assert len(set(bounds)) == 1


@pytest.mark.parametrize("more", [[], [7]])
@pytest.mark.parametrize(("repeated", "code"), [(0, 3), (2, 3), (100, 0)])
def test_of_unique_texts_nothing_was_measured(dpaccount, tmp_path, repeated, code, more):
    """Nor was it if few repeat: those alone could have shown something."""
    for name in "ab":
        rows = [[f"{name}{k:03}"] for k in range(200)]
        rows[:repeated] = [["missing"]] * repeated
        stored(tmp_path / f"{name}.csv", [[*row, *more] for row in rows])
    found, out, _ = dpaccount("audit", "--samples", "a.csv", "b.csv", "--epsilon", "1", "--json")
    answer = json.loads(out)
    assert (found, answer["verdict"]) == (code, "NOT REFUTED" if code == 0 else "NOT ATTACKED")
    assert ("unique texts" in answer["witness"]["findings"][-1]) == (code == 3)
    assert (answer["epsilon_power"] == 0) == (repeated < 3)


TRUE_POINTS = ["--points", "4.3772:1e-5,1:.127,0:.383"]


@pytest.mark.parametrize("words", [["--points", "9:0,1:.05"], ["--renyi", "1.5:.3"]])
def test_a_list_is_refuted_where_one_point_is(dpaccount, tmp_path, words):
    for name, shift in (("a", 0.0), ("b", 1.5)):
        write(tmp_path / f"{name}.npy", gaussian(2000, shift, ord(name)))
    code, out, _ = dpaccount("audit", "--samples", "a.npy", "b.npy", *words, "--json")
    answer = json.loads(out)
    assert (code, answer["verdict"]) == (1, "REFUTED")
    if words[0] == "--points":
        assert (answer["epsilon_claimed"], answer["delta"]) == ("1", "0.05")
        assert 1 < answer["epsilon_lower"] < 9
    else:
        assert 0 < answer["excess_lower"] < 1.5 * 1.5**2 / 2 - 0.3


@pytest.mark.statistical(0.05)  # one sound claim
@pytest.mark.parametrize(
    "words",
    [
        ["--mu", "1"],
        ["--epsilon", "4.38", "--delta", "1e-5"],
        ["--rho", ".5"],
        TRUE_POINTS,
        ["--renyi", "2:1,8:4"],
    ],
)
def test_sound_claims_are_not_refuted(dpaccount, tmp_path, words):
    for name, shift in (("a", 0.0), ("b", 1.0)):
        write(tmp_path / f"{name}.csv", gaussian(2000, shift, ord(name)))
    code, out, _ = dpaccount("audit", "--samples", "a.csv", "b.csv", *words, "--json")
    answer = json.loads(out)
    assert (code, answer["verdict"], answer["refuted"]) == (0, "NOT REFUTED", False)


@deep
@pytest.mark.statistical(1e-3)
def test_a_bound_is_rarely_above_the_truth(tmp_path):
    wrong, runs = 0, 100
    for seed in range(runs):
        paths = [write(tmp_path / f"{side}.npy", gaussian(300, side, 2 * seed + side)) for side in (0, 1)]
        found = compare(
            *read_samples(*paths), Challenge(F(1), F(0), 600, F(1, 20), seed, curve=MuClaim(F(1)))
        )
        wrong += MuClaim(F(1)).lower(found.reached.power, found.reached.false_alarm) > 1
    assert wrong / runs <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)


@deep
@pytest.mark.statistical(0.01)  # one in seven of so few samples has too few rare results
@pytest.mark.parametrize("mark", ["one", "each its own"])
def test_rare_results_that_one_side_never_has_are_shown(dpaccount, tmp_path, mark):
    """Of 2,000 results some 80: with 95 % confidence ln(.033/.0025) may be shown."""
    shown = []
    for seed in range(8):
        left, right = (np.random.default_rng([seed, side]).geometric(0.6, 2000) for side in (0, 1))
        rare = np.flatnonzero(np.random.default_rng(seed).random(2000) < 0.04)
        left[rare] = 1000 + np.arange(len(rare)) * (mark != "one")
        for name, values in (("a", left), ("b", right)):
            write(tmp_path / f"{name}.npy", values)
        _, out, _ = dpaccount("audit", "--samples", "a.npy", "b.npy", "--epsilon", "1", "--json")
        shown.append(json.loads(out)["epsilon_lower"])
    assert sum(lower > 2.1 for lower in shown) >= 6, shown


def test_rows_of_several_columns_and_texts_are_compared(dpaccount, tmp_path):
    rng = np.random.default_rng(1)
    for name, share in (("a", 0.9), ("b", 0.3)):
        rows = [f"{rng.normal()},{'yes' if rng.random() < share else 'not'}" for _ in range(400)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["x,says", *rows]))
    code, out, _ = dpaccount("audit", "--samples", "a.csv", "b.csv", "--epsilon", ".2", "--json")
    assert code == 1
    assert "says" in json.loads(out)["witness"]["score"]


def test_numbers_are_compared_as_numbers_however_they_are_written(dpaccount, tmp_path):
    coins = np.random.default_rng(1).integers(0, 2, (2, 400))
    (tmp_path / "a.csv").write_text("\n".join(map(str, coins[0])))
    (tmp_path / "b.csv").write_text("\n".join(f"{coin}.0" for coin in coins[1]))
    tenths = coins / 10
    (tmp_path / "c.csv").write_text("\n".join(map(str, tenths[0])))
    (tmp_path / "d.csv").write_text("\n".join(f"{tenth:.17g}" for tenth in tenths[1]))
    for pair in (("a.csv", "b.csv"), ("c.csv", "d.csv")):
        code, out, _ = dpaccount("audit", "--samples", *pair, "--epsilon", "1", "--json")
        assert (code, json.loads(out)["verdict"]) == (0, "NOT REFUTED")


@pytest.mark.parametrize("ending", ["csv", "npy", "parquet"])
def test_different_numbers_that_are_one_double_are_refused(dpaccount, tmp_path, ending):
    for name, result in (("a", 2**53), ("b", 2**53 + 1)):  # each result reveals its side
        write(tmp_path / f"{name}.{ending}", np.full(400, result))
    words = ["audit", "--samples", f"a.{ending}", f"b.{ending}", "--epsilon", "1", "--json"]
    code, out, err = dpaccount(*words)
    assert (code, out) == (2, "")
    assert "has different numbers that are one double" in err


def test_few_results_attack_nothing(dpaccount, tmp_path):
    for name, shift in (("a", 0.0), ("b", 100.0)):
        write(tmp_path / f"{name}.csv", gaussian(20, shift, 1))
    code, out, _ = dpaccount("audit", "--samples", "a.csv", "b.csv", "--epsilon", "5", "--json")
    assert (code, json.loads(out)["verdict"]) == (3, "NOT ATTACKED")


@pytest.mark.parametrize(("ending", "name"), [("csv", "a"), ("npy", "copy"), ("csv", "turned")])
def test_one_sample_given_twice_in_whatever_order_is_no_attack(dpaccount, tmp_path, ending, name):
    results = gaussian(200, 0.0, 1)
    for each in {"a", name}:
        write(tmp_path / f"{each}.{ending}", results[::-1] if each == "turned" else results)
    words = ["audit", "--samples", f"a.{ending}", f"{name}.{ending}", "--epsilon", "1", "--json"]
    code, out, err = dpaccount(*words)
    assert (code, out) == (2, "")
    assert "hold the same results" in err


def test_the_chance_of_the_same_results_is_that_of_a_multinomial():
    for counts in ((2, 1), (1, 1, 1), (3, 2)):
        n, kinds = sum(counts), range(len(counts))
        alike = [draw for draw in product(kinds, repeat=n) if all(draw.count(k) == counts[k] for k in kinds)]
        chance = sum(np.prod([counts[k] / n for k in draw]) for draw in alike)
        assert _chance_of_alike(counts) == pytest.approx(chance)


@pytest.mark.parametrize("values", [[1] * 400, [0, 1] * 4, [0] * 399 + [1]])
def test_files_that_are_alike_by_chance_are_compared(dpaccount, tmp_path, values):
    for name in "ab":
        write(tmp_path / f"{name}.csv", np.array(values))
    code, out, _ = dpaccount("audit", "--samples", "a.csv", "b.csv", "--epsilon", ".1", "--json")
    assert code in (0, 3)
    assert json.loads(out)["refuted"] is False


GOOD = "value\n" + "1\n" * 20


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        (GOOD, "value\n", "no results of this side"),
        (GOOD, "", "no results of this side"),
        (GOOD, "value\n" + "nan\n" * 20, "line 2 of 'value' is NaN"),
        (GOOD, "other\n" + "1\n" * 20, "has the columns value and b.csv other"),
        (GOOD, "value,more\n" + "1,2\n" * 20, "has the columns value and b.csv value, more"),
        (GOOD, "value\n1\n", "1 results are too few"),
        (GOOD, "value\n1\n1,2\n", "line 3 has 2 cells"),
        (GOOD, "value,value\n1,2\n", "two columns are called 'value'"),
        (GOOD, "value,w\n1,\n", "line 2 has no 'w'"),
    ],
)
def test_samples_that_cannot_be_compared_are_refused(dpaccount, tmp_path, left, right, said):
    (tmp_path / "a.csv").write_text(left)
    (tmp_path / "b.csv").write_text(right)
    code, out, err = dpaccount("audit", "--samples", "a.csv", "b.csv", "--epsilon", "1", "--json")
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize("begin", ["", "\ufeff"])
@pytest.mark.parametrize("line", ["\n", "\r\n"])
def test_a_byte_order_mark_is_no_result_and_a_text_may_hold_line_breaks(tmp_path, ending, begin, line):
    texts = [f"a{mark}b" for mark in "\u2028\u2029\x85\x0b\x1c"]
    results = [text if ending == "csv" else json.dumps(text, ensure_ascii=False) for text in texts]
    for name, last in (("a", ""), ("b", line)):
        head = f"value{line}" if ending == "csv" else ""
        (tmp_path / f"{name}.{ending}").write_bytes(f"{begin}{head}{line.join(results)}{last}".encode())
    for side in read_samples(tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"):
        assert [result.labels for result in side.results] == [(text,) for text in texts]


@pytest.mark.parametrize(
    ("name", "raw", "said"),
    [
        ("b.jsonl", b"1\n{\n", "line 2 is no JSON"),
        ("b.jsonl", b"1\n\n{\n", "line 3 is no JSON"),
        ("b.jsonl", b"1\nnull\n", "line 2 holds no result"),
        ("b.jsonl", b"1\n[NaN, 1]\n", "line 2 is NaN"),
        ("b.npy", b"no array", "no array can be read"),
        ("b.parquet", b"no table", "no Parquet file"),
        ("b.txt", b"1", "no known format"),
        ("b.csv", b"\xff\xfe", "not UTF-8"),
        ("absent.csv", None, "No such file"),
    ],
)
def test_files_that_cannot_be_read_are_refused(dpaccount, tmp_path, name, raw, said):
    (tmp_path / "a.csv").write_text(GOOD)
    if raw is not None:
        (tmp_path / name).write_bytes(raw)
    code, out, err = dpaccount("audit", "--samples", "a.csv", name, "--epsilon", "1", "--json")
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(
    "words",
    [
        ["--samples", "a.csv"],
        ["--samples", "a.csv", "a.csv"],
        ["--samples", "a.csv", "a.csv", "--epsilon", "1", "--trials", "10"],
        ["--samples", "a.csv", "a.csv", "--epsilon", "1", "--one-run", "a.csv"],
        ["--samples", "a.csv", "a.csv", "--epsilon", "1", "--rho", "1"],
        ["f:g", "--samples", "a.csv", "a.csv", "--epsilon", "1"],
    ],
)
def test_options_that_do_not_go_together_are_refused(dpaccount, tmp_path, words):
    (tmp_path / "a.csv").write_text(GOOD)
    assert dpaccount("audit", *words, "--json")[:2] == (2, "")


# ------------------------------------------------------------------ a certificate


CLAIM = """schema = "dpaccount/claim/1"
name = "spark-job"
[guarantee]
model = "central"
unit = "one person"
relation = "replace-one"
epsilon = 1.0
[subject]
use = "jobs.spark:totals"
"""


def test_a_certificate_says_that_nobody_here_saw_the_code(dpaccount, tmp_path):
    (tmp_path / "claim.toml").write_text(CLAIM)
    for name, shift in (("a", 0.0), ("b", 3.0), ("c", 0.2)):
        write(tmp_path / f"{name}.npy", gaussian(1000, shift, ord(name)))
    for other, code, verdict in (("b", 1, "REFUTED"), ("c", 3, "UNPROVEN")):
        words = ["--samples", "a.npy", f"{other}.npy", "--claim", "claim.toml", "--certificate", "out.json"]
        assert dpaccount("audit", *words)[0] == (code == 1)
        assert dpaccount("check", "out.json")[0] == code
        document = json.loads((tmp_path / "out.json").read_text())
        assert document["verdict"] == verdict
        assert document["audit"]["witness"]["left"]["results"] == 1000
        (said,) = (each for each in document["hazards"] if "were not seen here" in each)
        halves = json.loads(json.dumps(document))
        halves["audit"]["attack"] = halves["audit"]["attack"].replace("results", "half")
        document["hazards"].remove(said)
        for forged in (document, halves):
            with pytest.raises(checker.Rejected):
                consistency.judged(json.dumps(seal(forged)).encode())


@pytest.mark.parametrize(("left", "right"), [(8, 8), (9, 14), (16, 11), (12, 100), (15, 13)])
def test_the_checker_knows_how_many_results_choose_the_event(dpaccount, tmp_path, left, right):
    (tmp_path / "claim.toml").write_text(CLAIM)
    for name, size, shift in (("a", left, 0.0), ("b", right, 9.0)):
        write(tmp_path / f"{name}.npy", gaussian(size, shift, size))
    words = ["--samples", "a.npy", "b.npy", "--claim", "claim.toml", "--certificate", "out.json"]
    code, _, err = dpaccount("audit", *words)
    assert code in (0, 1, 3), err  # 3: so few show nothing
    assert dpaccount("check", "out.json")[0] == (1 if code == 1 else 3)


@pytest.mark.parametrize(
    "words",
    [
        ["--certificate", "out.json", "--epsilon", "1"],
        ["--certificate", "out.json", "--claim", "claim.toml", "--epsilon", "1"],
        ["--certificate", "out.json", "--claim", "claim.toml", "--mu", "1"],
        ["--claim", "claim.toml", "--trials", "100"],
        ["--claim", "absent.toml"],
    ],
)
def test_a_certificate_is_about_a_claim_in_a_file(dpaccount, tmp_path, words):
    (tmp_path / "claim.toml").write_text(CLAIM)
    for name in "ab":
        write(tmp_path / f"{name}.npy", gaussian(100, 0.0, ord(name)))
    code, out, err = dpaccount("audit", "--samples", "a.npy", "b.npy", *words, "--json")
    assert (code, out, err.count("error: ")) == (2, "", 1)
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize("output", ["a.npy", "b.npy", "claim.toml", "link"])
def test_a_certificate_replaces_no_file_that_is_read(dpaccount, tmp_path, output):
    (tmp_path / "claim.toml").write_text(CLAIM)
    for name in "ab":
        write(tmp_path / f"{name}.npy", gaussian(100, 0.0, ord(name)))
    (tmp_path / "link").symlink_to("a.npy")
    held = {path: path.read_bytes() for path in tmp_path.iterdir()}
    words = ["--samples", "a.npy", "b.npy", "--claim", "claim.toml", "--certificate", output]
    code, out, err = dpaccount("audit", *words, "--json")
    assert (code, out, err.count("error: ")) == (2, "", 1)
    assert "reads this file" in err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == held


def test_a_function_has_its_certificate_from_certify(dpaccount):
    code, out, err = dpaccount("audit", "fixed-seed", "--epsilon", "1", "--certificate", "out.json")
    assert (code, out) == (2, "")
    assert "certify" in err
