"""The command `account` as its contract states it: what is read, what is refused and how, what is printed."""

import csv
import io
import json
import math
from fractions import Fraction
from types import SimpleNamespace

import pytest

from audits import cli
from tests.depth import deep

GAUSS = '{"event":"gaussian","sigma":1}'
SAMPLE = '{"event":"gaussian","sigma":2}'


def plan(*events, relation="replace-one"):
    listed = ",".join(events)
    return f'{{"schema":"dpaccount/events/1","relation":"{relation}","events":[{listed}]}}'


@pytest.fixture
def account(capsys, tmp_path, monkeypatch):
    """Run the command on a document; return (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def run(document, *words):
        raw = document if isinstance(document, bytes) else document.encode()
        (tmp_path / "plan.json").write_bytes(raw)
        code = cli.run(["account", "plan.json", *words])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def answer(result):
    code, out, err = result
    assert (code, err) == (0, "")
    return json.loads(out, parse_constant=pytest.fail)


def refused(result, *words):
    """Exit 2, nothing on standard output, one line `error: what is wrong; what would be right`."""
    code, out, err = result
    assert (code, out) == (2, ""), result
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert ";" in err
    for word in words:
        assert word in err, (word, err)


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("", ["plan.json", "line 1"]),
        ("[]", ["plan.json", "a table"]),
        ("null", ["plan.json"]),
        (plan(GAUSS) + " x", ["line 1", "Extra data"]),
        (plan(GAUSS) * 2, ["Extra data"]),
        (b"\xef\xbb\xbf" + plan(GAUSS).encode(), ["BOM"]),
        (plan(GAUSS).encode("utf-16"), ["not UTF-8"]),
        (b'{"schema":"\xff"}', ["byte 11", "not UTF-8"]),
        (b'{"schema":"\\ud800"}', ["surrogate"]),
        ("[" * 100_000 + "]" * 100_000, ["nested too deeply", "64"]),
        (plan("[" * 64 + "]" * 64), ["nested too deeply", "64"]),
        (plan(GAUSS).replace("events/1", "events/2"), ["/schema"]),
        ('{"schema":"dpaccount/events/1","events":[]}', ["relation"]),
        (plan(GAUSS, relation="bounded-row"), ["/relation", "replace-one, add-remove"]),
        (plan(GAUSS).replace('"events":', '"event":'), ["unknown key 'event'"]),
        (plan(GAUSS)[:-1] + ',"note":1}', ["unknown key 'note'"]),
        (plan('{"event":"gaussian","sigma":1,"sigma":2}'), ["'sigma' appears twice"]),
        (plan('{"event":"gaussian","sigma":NaN}'), ["NaN"]),
        (plan('{"event":"gaussian","sigma":Infinity}'), ["Infinity"]),
        (plan('{"event":"gaussian","sigma":-Infinity}'), ["Infinity"]),
        (plan('{"event":"gaussian","sigma":1e5001}'), ["exponent", "5000"]),
        (plan('{"event":"gaussian","sigma":1e-5001}'), ["exponent", "5000"]),
        (plan('{"event":"gaussian","sigma":1e100000000}'), ["exponent", "5000"]),
        (plan('{"event":"gaussian","sigma":1.%s}' % ("1" * 399)), ["401 characters", "400"]),
        (plan('{"event":"gaussian","sigma":%s}' % ("1" * 401)), ["401 characters", "400"]),
    ],
)
def test_documents(account, document, words):
    refused(account(document, "--delta", "1e-5", "--json"), *words)
    refused(account(document, "--delta", "1e-5"), *words)


@deep(quick_every=2)
@pytest.mark.parametrize(
    ("event", "words"),
    [
        ('{"event":"gauss","sigma":1}', ["/events/0/event", "unknown"]),
        ('{"sigma":1}', ["/events/0", "'event' is missing"]),
        ("3", ["/events/0", "a table"]),
        ('{"event":"gaussian"}', ["/events/0", "'sigma' is missing"]),
        ('{"event":"gaussian","sigma":0}', ["/events/0/sigma", "above 0"]),
        ('{"event":"gaussian","sigma":-1}', ["/events/0/sigma", "above 0"]),
        ('{"event":"gaussian","sigma":"one"}', ["/events/0/sigma", "not a finite decimal"]),
        ('{"event":"gaussian","sigma":true}', ["/events/0/sigma", "a boolean"]),
        ('{"event":"gaussian","sigma":null}', ["/events/0/sigma", "null"]),
        ('{"event":"gaussian","sigma":1,"sensitivity":-1}', ["/events/0/sensitivity"]),
        ('{"event":"gaussian","sigma":1,"noise":1}', ["/events/0", "unknown key 'noise'"]),
        ('{"event":"gaussian","sigma":1,"count":0}', ["/events/0/count", "at least 1"]),
        ('{"event":"gaussian","sigma":1,"count":-1}', ["/events/0/count"]),
        ('{"event":"gaussian","sigma":1,"count":1.5}', ["/events/0/count", "not whole"]),
        ('{"event":"gaussian","sigma":1,"count":true}', ["/events/0/count", "a boolean"]),
        ('{"event":"gaussian","sigma":1,"count":"3"}', ["/events/0/count", "a string"]),
        ('{"event":"gaussian","sigma":1,"cover":[2,1]}', ["/events/0/cover", "first <= last"]),
        ('{"event":"gaussian","sigma":1,"cover":[0,1]}', ["/events/0/cover/0", "at least 1"]),
        ('{"event":"gaussian","sigma":1,"cover":[1,1.5]}', ["/events/0/cover/1", "not whole"]),
        ('{"event":"gaussian","sigma":1,"cover":[1,2,3]}', ["/events/0/cover"]),
        ('{"event":"gaussian","sigma":1,"cover":7}', ["/events/0/cover", "a list"]),
        ('{"event":"laplace","scale":0}', ["/events/0/scale"]),
        ('{"event":"laplace","sigma":1}', ["unknown key 'sigma'"]),
        ('{"event":"discrete_laplace","scale":1,"sensitivity":0.5}', ["/events/0/sensitivity", "not whole"]),
        ('{"event":"discrete_gaussian","sigma":1,"sensitivity":0.5}', ["/events/0/sensitivity", "not whole"]),
        ('{"event":"discrete_gaussian","sigma":1,"dimension":0}', ["/events/0/dimension"]),
        ('{"event":"randomized_response","epsilon":1,"k":1}', ["/events/0/k", "at least 2"]),
        ('{"event":"randomized_response","epsilon":-1}', ["/events/0/epsilon"]),
        ('{"event":"exponential","epsilon":-1}', ["/events/0/epsilon"]),
        ('{"event":"bounded_range","eta":-1}', ["/events/0/eta"]),
        ('{"event":"permute_and_flip","eta":1}', ["unknown key 'eta'"]),
        ('{"event":"pure","epsilon":-0.1}', ["/events/0/epsilon", "at least 0"]),
        ('{"event":"approximate","epsilon":1,"delta":1.5}', ["/events/0/delta", "[0, 1]"]),
        ('{"event":"approximate","epsilon":1}', ["'delta' is missing"]),
        ('{"event":"zcdp","rho":-1}', ["/events/0/rho"]),
        ('{"event":"gdp","mu":-1}', ["/events/0/mu"]),
        ('{"event":"rdp","points":[[1,2]]}', ["/events/0/points/0/0", "above 1"]),
        ('{"event":"rdp","points":[[2,-2]]}', ["/events/0/points/0/1"]),
        ('{"event":"rdp","points":[[2]]}', ["/events/0/points/0"]),
        ('{"event":"rdp","points":[]}', ["/events/0/points", "at least one"]),
        ('{"event":"poisson_subsampled","rate":0.5,"of":%s}', ["under replace-one", "add-remove"]),
        ('{"event":"sequence","of":[{"event":"poisson_subsampled","rate":0.5,"of":%s}]}', ["/events/0/of/0"]),
        (
            '{"event":"sampled_without_replacement","size":3,"population":2,"of":%s}',
            ["/events/0/size", "exceeds"],
        ),
        ('{"event":"sampled_without_replacement","size":0,"population":2,"of":%s}', ["/events/0/size"]),
        ('{"event":"sampled_without_replacement","size":1.5,"population":2,"of":%s}', ["/events/0/size"]),
        ('{"event":"sequence"}', ["'of' is missing"]),
        ('{"event":"sequence","of":%s}', ["/events/0/of", "a list"]),
        (
            '{"event":"sequence","of":[{"event":"gaussian","sigma":1,"cover":[1,2]}]}',
            ["/events/0/of/0", "cover"],
        ),
        ('{"event":"sequence","of":[{"event":"tree","rounds":4,"sigma":1}]}', ["/events/0/of/0", "tree"]),
        (
            '{"event":"sequence","of":[{"event":"matrix_factorisation","rounds":4,"sigma":1}]}',
            ["/events/0/of/0", "matrix_factorisation"],
        ),
        ('{"event":"tree","rounds":4,"sigma":1,"cover":[1,4]}', ["unknown key 'cover'"]),
        ('{"event":"tree","rounds":0,"sigma":1}', ["/events/0/rounds"]),
        ('{"event":"tree","rounds":4,"sigma":1,"start":0}', ["/events/0/start"]),
        ('{"event":"matrix_factorisation","rounds":4,"sigma":1,"cover":[1,4]}', ["unknown key 'cover'"]),
        ('{"event":"matrix_factorisation","rounds":4,"sigma":1,"kind":"honaker"}', ["/events/0/kind"]),
    ],
)
def test_events(account, event, words):
    refused(account(plan(event.replace("%s", GAUSS)), "--delta", "1e-5", "--json"), "plan.json", *words)


@pytest.mark.parametrize(
    "event",
    [
        '{"event":"randomized_response","epsilon":1}',
        '{"event":"sampled_without_replacement","size":1,"population":2,"of":%s}'.replace("%s", GAUSS),
        '{"event":"sequence","of":[{"event":"randomized_response","epsilon":1}]}',
    ],
)
def test_what_add_remove_does_not_know(account, event):
    refused(account(plan(event, relation="add-remove"), "--delta", "1e-5"), "add-remove", "replace-one")


def test_poisson_is_read_under_add_remove(account):
    event = '{"event":"poisson_subsampled","rate":%s,"of":%s}'
    for wrong in ("2", "-0.1", '"0,1"', '"1/0"', '"3/2"'):
        refused(account(plan(event % (wrong, GAUSS), relation="add-remove"), "--delta", "1e-5"), "/rate")
    listed = event % ("0.5", f"[{GAUSS}]")
    refused(account(plan(listed, relation="add-remove"), "--delta", "1e-5"), "/of", "a table")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--delta", "1e-5", "--epsilon", "1"], ["--delta", "--epsilon"]),
        (["--delta", "1.1"], ["--delta", "[0, 1]"]),
        (["--delta=-0.1"], ["--delta"]),
        (["--delta", "nan"], ["--delta"]),
        (["--delta", ""], ["--delta"]),
        (["--delta", "1e-5001"], ["--delta", "5000"]),
        (["--epsilon", "inf"], ["--epsilon"]),
        (["--epsilon=-1"], ["--epsilon"]),
        (["--delta", "1e-5", "--gap", "0"], ["--gap"]),
        (["--delta", "1e-5", "--gap", "x"], ["--gap"]),
        (["--delta", "1e-5", "--group", "0"], ["--group"]),
        (["--delta", "1e-5", "--group", "1.5"], ["--group"]),
        (["--delta", "1e-5", "--profile", "p.png"], ["--profile", ".csv or .svg"]),
        (["--delta", "1e-5", "--profile", "none/p.csv"], ["--profile"]),
        (["--beta", "1"], ["--beta"]),
    ],
)
def test_options(account, options, words):
    refused(account(plan(GAUSS), *options, "--json"), *words)


def test_files_that_cannot_be_read(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("none.json", ".", "a\0b"):
        code = cli.run(["account", name, "--delta", "1e-5"])
        out, err = capsys.readouterr()
        refused((code, out, err))
    monkeypatch.setattr("dpaccount.documents.MAX_BYTES", 10)
    (tmp_path / "plan.json").write_text(plan(GAUSS))
    code = cli.run(["account", "plan.json", "--delta", "1e-5"])
    refused((code, *capsys.readouterr()), "more than")


# ------------------------------------------------------------------ what is answered


def test_an_epsilon(account):
    found = answer(account(plan(GAUSS), "--delta", "1e-5", "--json"))
    assert list(found) == ["schema", "delta", "epsilon", "worst_unit", "method", "zcdp", "gdp", "seconds"]
    assert (found["schema"], found["delta"], found["worst_unit"]) == ("dpaccount/account/1", "1e-05", None)
    assert found["epsilon"]["lower"] <= 4.377178095681225 <= found["epsilon"]["upper"]
    assert Fraction(repr(found["epsilon"]["lower"])) <= Fraction("4.377178095681224627650116")
    assert Fraction(repr(found["epsilon"]["upper"])) >= Fraction("4.377178095681224627650116")
    assert (found["zcdp"], found["gdp"]) == (0.5, 1.0)


def test_a_delta(account):
    found = answer(account(plan(GAUSS), "--epsilon", "1", "--json"))
    assert found["epsilon"] == "1"
    assert found["delta"]["lower"] <= 0.126936737507 <= found["delta"]["upper"] * (1 + 1e-11)


@deep
def test_the_summary(account):
    found = answer(account(plan(GAUSS, '{"event":"laplace","scale":2}'), "--json"))
    assert found["pure"] is None
    assert [point["delta"] for point in found["epsilons"]] == ["1e-05", "1e-06", "1e-08", "1e-10"]
    uppers = [point["epsilon"]["upper"] for point in found["epsilons"]]
    assert uppers == sorted(uppers)
    assert found["zcdp"] == 0.625
    only = answer(account(plan('{"event":"laplace","scale":2,"count":3}'), "--json"))
    assert only["pure"] == 1.5
    text = account(plan('{"event":"laplace","scale":2,"count":3}'))
    assert text[0] == 0
    assert "pure" in text[1]
    assert "1.5" in text[1]


def test_for_a_person(account):
    code, out, err = account(plan(GAUSS), "--delta", "1e-5")
    assert (code, err) == (0, "")
    assert "[4.377178, 4.3771781]" in out  # eight digits, ends rounded outwards
    assert "{" not in out


@pytest.mark.parametrize(
    ("event", "options", "key", "bounds"),
    [
        (GAUSS, ["--delta", "0"], "epsilon", ("inf", "inf")),
        (GAUSS, ["--delta", "1"], "epsilon", (0.0, 0.0)),
        ('{"event":"approximate","epsilon":0,"delta":1}', ["--delta", "0.5"], "epsilon", ("inf", "inf")),
        ('{"event":"pure","epsilon":2,"count":3}', ["--delta", "0"], "epsilon", (6.0, 6.0)),
        ('{"event":"pure","epsilon":2}', ["--epsilon", "2"], "delta", (0.0, 0.0)),
        ('{"event":"gaussian","sigma":1,"sensitivity":0}', ["--delta", "0"], "epsilon", (0.0, 0.0)),
        ('{"event":"sequence","of":[]}', ["--delta", "0"], "epsilon", (0.0, 0.0)),
        ('{"event":"pure","epsilon":0,"count":1e18}', ["--epsilon", "0"], "delta", (0.0, 0.0)),
    ],
)
def test_ends_are_exact(account, event, options, key, bounds):
    found = answer(account(plan(event), *options, "--json"))[key]
    assert (found["lower"], found["upper"]) == bounds


def test_nothing_costs_nothing(account):
    for options in (["--delta", "0"], ["--epsilon", "0"], []):
        found = answer(account(plan(), *options, "--json"))
        assert (found["zcdp"], found["gdp"], found["worst_unit"]) == (0.0, 0.0, None)


@pytest.mark.parametrize(
    ("event", "low", "high"),
    [
        ('{"event":"gaussian","sigma":1e-200}', "4.99E+399", "5.01E+399"),
        ('{"event":"pure","epsilon":1e301}', "9.99E+300", "1.01E+301"),
        ('{"event":"gaussian","sigma":1e-5000}', "4.99E+9999", "5.01E+9999"),
    ],
)
def test_beyond_doubles_bounds_are_decimal_strings(account, event, low, high):
    found = answer(account(plan(event), "--delta", "1e-5", "--json"))["epsilon"]
    assert isinstance(found["lower"], str)
    assert isinstance(found["upper"], str)
    assert Fraction(low) < Fraction(found["lower"]) <= Fraction(found["upper"]) < Fraction(high)


def test_below_doubles_too(account):
    found = answer(account(plan(GAUSS), "--epsilon", "60", "--json"))["delta"]
    assert isinstance(found["lower"], str)
    assert 0 < Fraction(found["lower"]) <= Fraction(found["upper"]) < Fraction(1, 10**300)


@pytest.mark.parametrize("count", ["1e18", "1000000000000000000", "100.0", "1E2"])
def test_integers_may_be_spelled_otherwise(account, count):
    found = answer(
        account(
            plan('{"event":"gaussian","sigma":1e9,"count":%s,"cover":[1.0,1e3]}'.replace("%s", count)),
            "--delta",
            "1e-5",
            "--json",
        )
    )
    assert found["worst_unit"] == 1
    mu = math.sqrt(float(count)) / 1e9
    assert math.isclose(found["gdp"], mu, rel_tol=1e-12)


def test_long_numbers_are_read_to_the_last_digit(account):
    """Four hundred characters: 1 + 10^-398 is not 1."""
    close = '{"event":"pure","epsilon":1.%s1}' % ("0" * 397)
    found = answer(account(plan(close), "--delta", "0", "--json"))["epsilon"]
    assert found["lower"] == 1.0
    assert found["upper"] == math.nextafter(1.0, 2.0)


def test_covers_and_the_worst_unit(account):
    events = (
        '{"event":"gaussian","sigma":4,"count":100,"cover":[1,512]}',
        '{"event":"laplace","scale":10,"cover":[513,1024]}',
    )
    found = answer(account(plan(*events), "--delta", "1e-5", "--json"))
    alone = answer(account(plan(events[0]), "--delta", "1e-5", "--json"))
    assert found["worst_unit"] == 1
    assert found["epsilon"] == alone["epsilon"]
    assert answer(
        account(plan('{"event":"tree","rounds":100,"sigma":9,"start":7}'), "--delta", "1e-5", "--json")
    )["worst_unit"] in range(7, 107)


@deep
@pytest.mark.parametrize(
    "event",
    [
        '{"event":"zcdp","rho":0.1}',
        '{"event":"rdp","points":[[4,0.1],[16,0.5]]}',
        '{"event":"exponential","epsilon":0.5}',
        '{"event":"bounded_range","eta":0.5,"count":3}',
        '{"event":"sampled_without_replacement","size":1,"population":8,"of":{"event":"pure","epsilon":1}}',
        '{"event":"discrete_gaussian","sigma":5,"dimension":3}',
    ],
)
def test_lower_is_null_where_only_upper_bounds_are_known(account, event):
    found = answer(account(plan(event), "--delta", "1e-5", "--json"))["epsilon"]
    assert found["lower"] is None
    assert found["upper"] > 0


@pytest.mark.parametrize(
    "event",
    [
        '{"event":"laplace","scale":3,"count":4}',
        '{"event":"discrete_laplace","scale":3}',
        '{"event":"discrete_gaussian","sigma":5}',
        '{"event":"randomized_response","epsilon":0.5,"k":5,"count":4}',
        '{"event":"permute_and_flip","epsilon":0.5}',
        '{"event":"approximate","epsilon":0.5,"delta":1e-7}',
        '{"event":"gdp","mu":0.4}',
        '{"event":"matrix_factorisation","rounds":50,"sigma":9}',
        '{"event":"tree","rounds":50,"sigma":9,"count":2}',
        '{"event":"sequence","of":[{"event":"pure","epsilon":0.1},{"event":"gdp","mu":0.1}],"count":5}',
    ],
)
def test_everything_else_is_enclosed_to_a_millionth(account, event):
    found = answer(account(plan(event), "--delta", "1e-5", "--json"))["epsilon"]
    assert found["upper"] - found["lower"] <= 1e-6 * max(1, found["upper"])


def test_gap(account):
    mixed = (GAUSS, '{"event":"laplace","scale":3,"count":2}', '{"event":"laplace","scale":4}')
    for gap in ("1e-3", "1e-12"):
        found = answer(account(plan(*mixed), "--delta", "1e-5", "--gap", gap, "--json"))["epsilon"]
        assert found["upper"] - found["lower"] <= float(gap) * max(1, found["upper"])


@deep
def test_a_gap_that_is_not_reached_is_remarked_upon(account):
    known = '{"event":"gaussian","sigma":5}'
    bound = plan('{"event":"zcdp","rho":0.05}', known)
    note = "note: --gap does not apply: no lower end is known\n"
    assert account(bound, "--delta", "1e-6", "--gap", "1e-2")[::2] == (0, note)
    unequal = plan(
        '{"event":"laplace","scale":3}', '{"event":"laplace","scale":3.1}', '{"event":"pure","epsilon":0.2}'
    )
    err = account(unequal, "--epsilon", "0.1", "--gap", "1e-12", "--work", "0.1")[2]
    assert err.startswith("note: --gap is not reached: upper - lower is ")
    assert account(plan(known), "--gap", "1e-9", "--json")[2] == ""


def test_group(account):
    found = answer(account(plan(GAUSS), "--delta", "1e-5", "--group", "2", "--json"))
    twice = answer(account(plan('{"event":"gaussian","sigma":0.5}'), "--delta", "1e-5", "--json"))
    assert found["epsilon"] == twice["epsilon"]
    assert (found["zcdp"], found["gdp"]) == (2.0, 2.0)


@deep
def test_profile(account, tmp_path):
    answer(account(plan(GAUSS), "--delta", "1e-5", "--profile", "p.csv", "--json"))
    rows = list(csv.reader(io.StringIO((tmp_path / "p.csv").read_text())))
    assert rows[0] == ["epsilon", "delta_lower", "delta_upper"]
    assert float(rows[1][1]) <= 0.38292492254802624 <= float(rows[1][2])
    answer(account(plan(GAUSS), "--delta", "1e-5", "--profile", "p.svg", "--json"))
    assert "<svg" in (tmp_path / "p.svg").read_text()


def test_standard_input(capsys, monkeypatch):
    for text, code in ((plan(GAUSS), 0), ("{", 2)):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
        assert cli.run(["account", "-", "--delta", "1e-5", "--json"]) == code
        out, err = capsys.readouterr()
        assert bool(out) == (code == 0)
        assert ("error: -" in err) == (code == 2)


def test_a_whole_sample_is_no_sample(account):
    whole = '{"event":"poisson_subsampled","rate":1,"of":%s}'.replace("%s", GAUSS)
    found = answer(account(plan(whole, relation="add-remove"), "--delta", "1e-5", "--json"))
    plain = answer(account(plan(GAUSS, relation="add-remove"), "--delta", "1e-5", "--json"))
    assert {k: found[k] for k in ("epsilon", "zcdp", "gdp")} == {
        k: plain[k] for k in ("epsilon", "zcdp", "gdp")
    }
    none = '{"event":"poisson_subsampled","rate":0,"of":%s}'.replace("%s", GAUSS)
    assert (
        answer(account(plan(none, relation="add-remove"), "--delta", "0", "--json"))["epsilon"]["upper"]
        == 0.0
    )


def test_a_file_names_no_code(account, tmp_path):
    """Nothing in the file is imported or run: a `use` key is an unknown key."""
    (tmp_path / "evil.py").write_text("raise SystemExit('run')")
    refused(
        account(plan('{"event":"gaussian","sigma":1,"use":"evil:x"}'), "--delta", "1e-5"), "unknown key 'use'"
    )


# ------------------------------------------------------------------ calibrate


def calibrated(capsys, *words):
    code = cli.run(["calibrate", *words, "--json"])
    out, err = capsys.readouterr()
    return code, out, err


def test_calibration_answers(capsys):
    found = answer(
        calibrated(
            capsys, "gaussian", "--sensitivity", "1", "--count", "1", "--epsilon", "1", "--delta", "1e-5"
        )
    )
    assert list(found) == ["schema", "event", "parameter", "value", "proved", "seconds"]
    assert (found["schema"], found["parameter"]) == ("dpaccount/calibration/1", "sigma")
    assert found["value"].startswith("3.7306316")
    assert found["proved"]["delta"] == "1e-05"
    assert found["proved"]["epsilon"]["upper"] <= 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gaussian", "--epsilon", "1"], "--delta"),
        (["gaussian", "--delta", "1e-5"], "--epsilon"),
        (["gaussian", "--epsilon=-1", "--delta", "1e-5"], "epsilon"),
        (["gaussian", "--epsilon", "nan", "--delta", "1e-5"], "--epsilon"),
        (["gaussian", "--epsilon", "1", "--delta", "1e-5", "--count", "0"], "--count"),
        (["gaussian", "--epsilon", "1", "--delta", "1e-5", "--sensitivity=-1"], "sensitivity"),
        (["discrete_laplace", "--epsilon", "1", "--delta", "1e-5", "--sensitivity", "1.5"], "sensitivity"),
    ],
)
def test_calibration_refuses(capsys, words, message):
    refused(calibrated(capsys, *words), message)
